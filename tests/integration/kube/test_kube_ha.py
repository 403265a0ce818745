"""penstock-operator: slurmctld pods without a folder that all have.  Their log is in a real etcd, and they are real processes."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from conftest import SLOW, free_ports, wait_until
from etcds import Etcd, have_etcd

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given
from manifests import documents
from podhost import PodHost, can_isolate

ACTIVE = "controller.slinky.slurm.net/active"
KILLS = int(os.environ.get("PENSTOCK_POD_KILLS", "20"))
CONF = ("CommunicationParameters=NoCtldInAddrAny\nSlurmctldLease=1500\nProctrackType=proctrack/linuxproc\n"
        "PartitionName=w Nodes=ALL Default=YES MaxTime=INFINITE\nMaxNodeCount=20\n")
real = pytest.mark.skipif(not (have_etcd() and can_isolate()), reason="etcd and namespaces of root are needed")


def controller(op, ha, **spec):
    return op.make("controllers", "Controller", "h", **{
        "clusterName": "pods", "slurmKeyRef": {"name": "slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "jwt", "key": "jwt.key"},
        "ha": {"enabled": True, "backups": 2, "etcd": ha}, "configFileRefs": [{"name": "more"}], **spec})


def degraded(op):
    return op.condition("Degraded", "controllers", "h").get("message", "")


def made(op):
    return op.api.get("statefulsets", "h-controller")


def test_what_the_log_in_etcd_needs(op):
    """Refusals say what is wrong; no pods before what they mount is there."""
    controller(op, {"endpoints": ["etcd:2379"]})
    wait_until(lambda: "'etcd:2379' is no http://HOST:PORT" in degraded(op), degraded(op))
    for ha, says in (({"endpoints": ["http://a:1,nocompact"]}, "is no http://HOST:PORT"),
                     ({"endpoints": ["http://a:1"], "prefix": "a b"}, "letters, digits"),
                     ({"prefix": "ok", "user": "u"}, "its password is wanted"),
                     ({"user": "u\nJournalType=file", "secretRef": {"name": "etcd"}}, "ha.etcd.user: no blanks")):
        op.api.patch("controllers", "h", {"spec": {"ha": {"etcd": ha}}})
        wait_until(lambda says=says: says in degraded(op), f"{says}: {degraded(op)}")
    op.api.patch("controllers", "h", {"spec": {"ha": {"etcd": {"user": "u"}}}})
    wait_until(lambda: "there is no such Secret" in op.condition("Ready", "controllers", "h").get("message", ""), "the Secret is missed")
    assert not made(op)
    op.api.create("secrets", {"metadata": {"name": "etcd", "namespace": "default"}, "data": {"ca.crt": "eA==", "tls.crt": "eA=="}})
    wait_until(lambda: "tls.crt and tls.key go together" in op.condition("Ready", "controllers", "h").get("message", ""), "half a pair")
    op.api.patch("secrets", "etcd", {"data": {"tls.key": "eA==", "password": "eA=="}})
    spec = wait_until(lambda: made(op), f"the pods are wanted {op.log()}")["spec"]
    assert spec["replicas"] == 3 and spec["podManagementPolicy"] == "Parallel"
    assert [c["metadata"]["name"] for c in spec["volumeClaimTemplates"]] == ["statesave"]
    conf = op.api.get("configmaps", "h-config")["data"]["slurm.conf"].splitlines()
    assert "JournalType=etcd" in conf
    assert ("JournalParameters=endpoints=http://a:1,prefix=ok,identity=/etc/penstock/identity/slurmctld.key,cacert=/etc/penstock/etcd/ca.crt,"
            "cert=/etc/penstock/etcd/tls.crt,key=/etc/penstock/etcd/tls.key,user=u,passwordfile=/etc/penstock/etcd/password") in conf
    volumes = {v["name"]: v for v in spec["template"]["spec"]["volumes"]}
    assert volumes["etcd"]["secret"]["secretName"] == "etcd" and volumes["identity"]["secret"]["secretName"] == "h-controller-identity"
    assert op.api.get("poddisruptionbudgets", "h-controller")["spec"]["maxUnavailable"] == 1
    key = op.api.get("secrets", "h-controller-identity")
    assert key["immutable"] and not key["metadata"].get("ownerReferences")
    op.api.delete("controllers", "h")
    wait_until(lambda: not made(op), "the pods go")
    assert op.api.get("secrets", "h-controller-identity")["data"] == key["data"]  # nodes know it


def test_the_example_is_taken(op):
    """deploy/kubernetes/ha.yaml: the Controller's etcd is the one beside it."""
    *others, one = documents("ha.yaml")
    members = next(o for o in others if o["kind"] == "StatefulSet")
    urls = [f"http://etcd-{i}.{members['spec']['serviceName']}:2379" for i in range(members["spec"]["replicas"])]
    assert one["spec"]["ha"]["etcd"]["endpoints"] == urls
    assert all(url.replace("2379", "2380") in members["spec"]["template"]["spec"]["containers"][0]["command"][-1] for url in urls)
    op.api.create("controllers", {**one, "metadata": {"name": "slurm", "namespace": "default"}})
    spec = wait_until(lambda: op.api.get("statefulsets", "slurm-controller"), "the pods are wanted")["spec"]
    conf = op.api.get("configmaps", "slurm-config")["data"]["slurm.conf"]
    assert spec["replicas"] == 3 and f"JournalParameters=endpoints={';'.join(urls)},prefix=penstock/default/slurm,identity=" in conf


class Site:
    """A Controller of three pods and its etcd, a node with a job, and somebody who submits all the time."""

    def __init__(self, op, folder, host, etcd):
        self.op, self.dir, self.host, self.etcd = op, folder, host, etcd
        self.jobs, self.refused, self.going = [], [], False
        self.thread = threading.Thread(target=self.submit, daemon=True)

    def active(self):
        return next((p for p in self.op.api.all("pods") if p["metadata"].get("labels", {}).get(ACTIVE) == "true"), None)

    def all_ready(self):
        return self.op.condition("Ready", "controllers", "h")["status"] == "True"

    def wait(self, what, condition, seconds=60):
        try:
            return wait_until(lambda: self.host.trouble or condition(), what, seconds)
        except pytest.fail.Exception:
            print(self.host.log(), self.op.log())
            raise

    def sbatch(self, *options):
        done = self.host.login("sbatch", "--parsable", "-o", "/dev/null", *options)
        return int(done.stdout) if done.returncode == 0 else done.stderr

    def submit(self):
        while self.going:
            job = self.sbatch("-H", "--wrap", "true")
            (self.jobs if isinstance(job, int) else self.refused).append(job)

    def begin(self):
        self.going = True
        self.thread.start()

    def end(self):
        self.going = False
        self.thread.join()

    def queue(self):
        return self.host.login("squeue", "-h", "-o", "%i %T").stdout.split("\n")

    def hold_to_answers(self, *others):
        """Each job that was acknowledged is there once; one whose answer was lost with a controller may be, too."""
        queue = [int(line.split()[0]) for line in self.queue() if line]
        assert len(set(self.jobs)) == len(self.jobs)
        assert len(set(queue)) == len(queue) and not {*others, *self.jobs} - set(queue), "an acknowledged job is lost, or there twice"
        assert len(queue) - len(others) - len(self.jobs) <= len(self.refused), f"more jobs than submissions: {self.refused}"


@pytest.fixture
def site(op):
    folder = Path(f"/tmp/penstock-pods-{os.getpid()}")  # names of sockets have room here
    folder.mkdir(mode=0o755)
    (folder / "etcd").mkdir()
    etcd = Etcd(folder / "etcd").start()
    op.api.create("configmaps", {"metadata": {"name": "more", "namespace": "default"}, "data": {"cgroup.conf": "CgroupPlugin=disabled\n"}})
    try:
        with PodHost(op.api, folder) as host:
            s = Site(op, folder, host, etcd)
            controller(op, {"endpoints": etcd.endpoints}, extraConf=CONF)
            s.wait("all pods are ready", s.all_ready, 60)
            s.wait("one leads", s.active)
            host.start_worker(free_ports(1)[0])
            s.wait("the node is there", lambda: host.login("sinfo", "-h", "-o", "%t").stdout.split() == ["idle"])
            yield s
            s.going = False
            host.login("scancel", "-u", "root")
    finally:
        etcd.stop()
        shutil.rmtree(folder, ignore_errors=True)


@real
def test_the_active_pod_is_deleted_again_and_again(site):
    """Nothing acknowledged is lost, whether the pod may end itself or not; the job on the node does not notice."""
    running = site.sbatch("--wrap", "sleep 3600")
    site.wait("the job runs", lambda: f"{running} RUNNING" in site.queue())
    site.begin()
    led = []
    for i in range(KILLS):
        before = site.wait("one leads", site.active)["metadata"]
        count = len(site.jobs)
        led.append(before["name"])
        site.host.holds = i % 4 > 1  # else the pod is often back before the others may go on
        site.op.api.delete("pods", before["name"], **({"gracePeriodSeconds": 0} if i % 2 else {}))
        site.wait(f"another pod leads after {i + 1}", lambda b=before: (site.active() or {"metadata": b})["metadata"]["uid"] != b["uid"])
        site.wait("jobs are taken again", lambda n=count: len(site.jobs) > n)
        site.host.holds = False
        site.wait("all pods are ready again", site.all_ready)
    site.end()
    site.hold_to_answers(running)
    assert len(site.jobs) >= KILLS and len(set(led)) > 1
    told = site.host.login("scontrol", "show", "job", str(running)).stdout
    assert "JobState=RUNNING" in told and "Restarts=0" in told, told
    assert site.host.lost == [], site.host.log()


@real
def test_a_change_of_the_pods_replaces_one_at_a_time(site):
    site.begin()
    before = {p["metadata"]["name"]: p["metadata"]["uid"] for p in site.op.api.all("pods")}
    site.op.api.patch("controllers", "h", {"spec": {"slurmctld": {"env": [{"name": "SLURMCTLD_OPTIONS", "value": "-v"}]}}})
    least = []

    def replaced():
        least.append(sum(any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))
                         for p in site.op.api.all("pods") if not p["metadata"].get("deletionTimestamp")))
        now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in site.op.api.all("pods")}
        return len(now) == 3 and not set(now.values()) & set(before.values()) and site.all_ready()
    site.wait("all are new", replaced, 120)
    site.end()
    assert site.host.replaced == ["h-controller-2", "h-controller-1", "h-controller-0"] and min(least) >= 2
    site.hold_to_answers()
    assert site.jobs


@real
def test_a_pod_with_an_empty_disk_and_a_dead_member(site):
    """The log, and who the controllers are, is in no pod."""
    first = site.sbatch("-H", "--wrap", "true")
    site.etcd.kill(site.etcd.leader())
    before = {p["metadata"]["uid"] for p in site.op.api.all("pods")}
    site.host.disks_last = False
    for pod in site.op.api.all("pods"):
        site.op.api.delete("pods", pod["metadata"]["name"], gracePeriodSeconds=0)
    site.wait("all are other ones", lambda: len(site.host.procs) == 3 and not before & set(site.host.procs))
    site.wait("the queue is there again", lambda: f"{first} PENDING" in site.queue(), 90)
    site.wait("the node obeys them", lambda: site.host.login("sinfo", "-h", "-o", "%t").stdout.split() == ["idle"])
    second = site.wait("a job runs", lambda: isinstance(job := site.sbatch("--wrap", "true"), int) and job)
    site.wait("it ends", lambda: str(second) not in " ".join(site.queue()))
