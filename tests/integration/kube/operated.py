"""A penstock-operator beside a real cluster, an API server of the tests and a kubelet of theirs: fixtures `op` and `rest`.

    from operated import CLUSTER, op, rest  # noqa: F401  names of fixtures"""

import base64
import os

import pytest
from conftest import Daemon, program, wait_until
from restd import Restd

from apiserver import ApiServer
from kubelet import Kubelet
from manifests import forbidden

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=30\nAuthAltTypes=auth/jwt\nNodeSet=w Feature=w\nPartitionName=w Nodes=w MaxTime=INFINITE\n"
                               "SlurmctldParameters=enable_configless"}
GROUP = "operator.penstock"
PREFIX = "nodeset.slinky.slurm.net/"
OURS = "slurm-operator: "


@pytest.fixture(scope="module")
def rest(shared):
    key = shared.dir / "state" / "jwt_hs256.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    shared.run("scontrol", "reconfigure")
    with Restd(shared) as rest:
        yield rest


class Operator:
    def __init__(self, c, rest, folder):
        self.c, self.rest, self.folder = c, rest, folder
        self.api, self.daemon = ApiServer(), None
        self.kubelet = Kubelet(self.api, c)
        self.url = f"http://127.0.0.1:{rest.port}"

    def __enter__(self):
        self.api.__enter__()
        self.api.kubeconfig(self.folder / "kubeconfig")
        self.kubelet.__enter__()
        key = (self.c.dir / "state" / "jwt_hs256.key").read_bytes()
        for name, where, data in (("slurm", "slurm.key", b"k" * 32), ("jwt", "jwt.key", key)):
            self.api.create("secrets", {"metadata": {"name": name, "namespace": "default"},
                                        "data": {where: base64.b64encode(data).decode()}})
        self.make("controllers", "Controller", "c", clusterName="test", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
                  jwtKeyRef={"name": "jwt", "key": "jwt.key"})
        self.start()
        return self

    def start(self, *options):
        self.daemon = Daemon("penstock-operator", [
            program("penstock-operator"), "-vv", "-k", str(self.folder / "kubeconfig"), "--rest-url", self.url, "--slurm-user", "root",
            "--image", "penstock", *options], self.folder / "operator.log", self.c.env)

    def kill(self):
        assert self.daemon.alive(), self.log()
        self.daemon.process.kill()
        self.daemon.process.wait()

    def log(self):
        return (self.folder / "operator.log.stderr").read_text()[-3000:]

    def __exit__(self, *_):
        if self.daemon.alive():
            assert self.daemon.stop() == 0, self.log()
        self.kubelet.__exit__()
        self.api.__exit__()
        assert not self.kubelet.killed, f"pods with jobs in them were ended: {self.kubelet.killed}"
        assert not forbidden(self.api.asked), "deploy/kubernetes/operator.yaml does not allow this"

    def make(self, plural, kind, name, group=GROUP, **spec):
        return self.api.create(plural, {"apiVersion": f"{group}/v1beta1", "kind": kind,
                                        "metadata": {"name": name, "namespace": "default"}, "spec": spec})

    def set(self, name="w", **spec):
        return self.make("nodesets", "NodeSet", name, controllerRef={"name": "c"}, **spec)

    def change(self, **spec):
        self.api.patch("nodesets", "w", {"spec": spec})

    def pods(self):
        return [p["metadata"]["name"] for p in self.api.all("pods") if not p["metadata"].get("deletionTimestamp")]

    def status(self, plural="nodesets", name="w"):
        return self.api.get(plural, name).get("status", {})

    def condition(self, kind, plural="nodesets", name="w"):
        return next((c for c in self.status(plural, name).get("conditions", []) if c["type"] == kind), {"status": None})

    def ready(self, count, timeout=20.0):
        wait_until(lambda: len(self.pods()) == count and self.status().get("availableReplicas") == count and
                   self.condition("Ready")["status"] == "True", f"{count} are ready: {self.pods()} {self.log()}", timeout)

    def slurm(self, name):
        nodes = self.rest.get(f"node/{name}")[1].get("nodes")
        return nodes[0] if nodes else None

    def job(self, node, seconds=600):
        job = int(self.c.run("sbatch", "--parsable", "-p", "w", "-w", node, "-t", str(seconds // 60), "--wrap",
                             f"sleep {seconds}").out)
        self.c.wait_state(job, "RUNNING")
        return job


@pytest.fixture
def op(shared, rest, tmp_path):
    with Operator(shared, rest, tmp_path) as o:
        yield o
