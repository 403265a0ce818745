"""A whole cluster in pods on a real kube-apiserver, as penstock-operator and Kubernetes' controllers make it, each container a real
process: slurmctld, slurmrestd, workers.  Pods of slurmctld are ended again and again under load, and no job is lost."""

import base64
import os
import shutil
from pathlib import Path

import pytest
from conftest import Daemon, program, wait_until
from etcds import Etcd, have_etcd
from podhost import can_isolate, is_ready
from realapi import RealApi
from realhost import Login, RealHost
from realserver import missing
from storm import Load, Witness
from test_kube_managed import server  # noqa: F401  the name of a fixture
from test_kube_real import OPERATOR, refusals

KILLS = int(os.environ.get("PENSTOCK_POD_KILLS", "6"))
WORKERS = int(os.environ.get("PENSTOCK_POD_WORKERS", "3"))
ACTIVE = "controller.slinky.slurm.net/active"
GROUP = "operator.penstock"
CONF = ("CommunicationParameters=NoCtldInAddrAny\nProctrackType=proctrack/linuxproc\nMaxNodeCount=20\nMinJobAge=100000\n"
        "MaxJobCount=1000000\n")

pytestmark = [
    pytest.mark.skipif(bool(missing(manager=True)), reason=missing(manager=True) or "there is one"),
    pytest.mark.skipif(not (have_etcd() and can_isolate()), reason="etcd and namespaces of root are needed")]


class Site:
    """A Controller with its workers and slurmrestd, and the operator that makes them."""

    def __init__(self, server, folder, backups):
        self.api, self.dir, self.replicas = RealApi(server, OPERATOR), folder, backups + 1
        self.host = RealHost(self.api, folder, replicas=self.replicas, workers=WORKERS)
        self.etcd, self.operator, self.login = None, None, Login(self.host)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        for name, where in (("slurm", "slurm.key"), ("jwt", "jwt.key")):
            data = {where: base64.b64encode(b"k" * 32).decode()}
            self.api.create("secrets", {"metadata": {"name": name, "namespace": "default"}, "data": data})
        self.api.create("configmaps", {"metadata": {"name": "more", "namespace": "default"},
                                       "data": {"cgroup.conf": "CgroupPlugin=disabled\n"}})
        self.host.__enter__()
        self.operator = Daemon("penstock-operator", [
            program("penstock-operator"), "-vv", "-k", str(self.api.kubeconfig(self.dir / "kubeconfig")), "--rest-url",
            f"http://{self.host.net}.2:6820", "--slurm-user", "root", "--image", "penstock"], self.dir / "operator.log", os.environ)
        ha = {}
        if self.replicas > 1:
            (self.dir / "etcd").mkdir()
            self.etcd = Etcd(self.dir / "etcd").start()
            ha = {"ha": {"enabled": True, "backups": self.replicas - 1, "etcd": {"endpoints": self.etcd.endpoints}}}
        self.make("controllers", "Controller", "h", clusterName="pods", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
                  jwtKeyRef={"name": "jwt", "key": "jwt.key"}, configFileRefs=[{"name": "more"}], extraConf=CONF, **ha)
        self.make("restapis", "RestApi", "r", controllerRef={"name": "h"})
        self.make("nodesets", "NodeSet", "w", controllerRef={"name": "h"}, replicas=WORKERS,
                  partition={"enabled": True, "config": "Default=YES MaxTime=INFINITE State=UP"})
        self.wait("slurmctld's pods are ready", self.all_ready, 120)
        self.wait("workers are ready", self.workers_ready, 120)

    def __exit__(self, *_):
        ended = self.operator.stop()
        self.host.__exit__()
        self.api.__exit__()
        if self.etcd:
            self.etcd.stop()
        log = (self.dir / "operator.log.stderr").read_text()
        assert ended == 0 and not refusals(log), refusals(log) or log[-3000:]

    def make(self, plural, kind, name, **spec):
        self.api.create(plural, {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
                                 "spec": spec})

    def wait(self, what, condition, seconds=90):
        try:
            return wait_until(lambda: self.host.trouble or condition(), what, seconds)
        except pytest.fail.Exception:
            print(self.host.log(), *[p.read_text()[-4000:] for p in self.dir.glob("h-controller-*.stderr")])
            for plural in ("controllers", "statefulsets", "pods", "events"):
                for one in self.api.all(plural):
                    print(plural, one["metadata"]["name"], one.get("status"), one.get("message"))
            raise

    def controllers(self):
        return [p for p in self.api.all("pods") if p["metadata"]["name"].startswith("h-controller-")]

    def all_ready(self):
        pods = self.controllers()
        return len(pods) == self.replicas and all(is_ready(p) and not p["metadata"].get("deletionTimestamp") for p in pods) and \
            self.condition("controllers", "h") == "True"

    def workers_ready(self):
        return self.condition("nodesets", "w") == "True" and self.login.run(
            "sinfo", "-h", "-p", "w", "-t", "idle", "-o", "%D", check=False).out.strip() == str(WORKERS)

    def condition(self, plural, name):
        said = self.api.get(plural, name).get("status", {}).get("conditions", [])
        return next((c["status"] for c in said if c["type"] == "Ready"), None)

    def active(self):
        return next((p for p in self.controllers() if p["metadata"]["labels"].get(ACTIVE) == "true"), None)

    def state(self, job):
        return self.login.run("scontrol", "-o", "show", "job", job).out


class Submitters(Load):
    """Where slurmctld dies, a submission may be refused; what was acknowledged must run."""

    def run(self):
        self.refused = []
        try:
            while not self.stop.wait(self.pause_s):
                script = self.witness.oracle.script(1, f"{self.rng.uniform(0, 2):.2f}")
                done = self.c.run("sbatch", "--parsable", "-o", "/dev/null", input=script, check=False)
                if done.rc == 0:
                    self.jobs.append(done.out.strip())
                else:
                    self.refused.append(done.err)
        except Exception as trouble:  # shown by the test
            self.trouble = trouble


@pytest.fixture
def site(request, server):  # noqa: F811
    folder = Path(f"/tmp/penstock-cluster-{os.getpid()}")  # names of sockets have room here
    folder.mkdir(mode=0o755)
    try:
        with Site(server, folder, request.param) as site:
            yield site
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("site", [0, 1], indirect=True, ids=["alone", "two-and-etcd"])
def test_pods_of_slurmctld_are_ended(site):
    """KILLS times, with grace and without, and the process alone: all that was acknowledged runs once, the long job does not notice.
    Of two the other one serves while the pod is not there."""
    long = site.login.run("sbatch", "--parsable", "--wrap", "sleep 3600").out.strip()
    site.wait("the long job runs", lambda: "JobState=RUNNING" in site.state(long))
    led = set()
    with Witness(site.api, site.host.workers) as witness, Submitters(site.login, witness) as load:
        load.begin()
        for i in range(KILLS):
            pod = site.wait("one leads", site.active) if site.replicas > 1 else site.controllers()[0]
            meta, count = pod["metadata"], len(load.jobs)
            led.add(meta["name"])
            site.host.held = meta["name"] if site.replicas > 1 else None  # it does not come back before the other one serves
            if i % 3 == 2:
                site.host.procs[meta["uid"]][0].process.kill()
            else:
                site.api.delete("pods", meta["name"], **({"gracePeriodSeconds": 0} if i % 3 else {}))
            if site.replicas > 1:
                site.wait("the other one leads", lambda m=meta: (site.active() or pod)["metadata"]["name"] != m["name"])
            site.wait("jobs are taken again", lambda n=count: len(load.jobs) > n)
            site.host.held = None
            site.wait("all pods are ready again", site.all_ready)
        jobs = load.judge()
    print(f"{KILLS} times, {jobs} jobs, {len(load.refused)} refused, {len(led)} led")
    told = site.state(long)
    assert "JobState=RUNNING" in told and "Restarts=0" in told, told
    assert len(led) == site.replicas and jobs >= KILLS and not witness.ended, witness.ended
    assert not [name for name, _ in site.host.lost if not name.startswith("h-controller-")], site.host.lost
    site.login.run("scancel", long)
