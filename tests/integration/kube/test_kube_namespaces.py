"""penstock-operator with --namespaces: each is listed and watched by itself, and what is elsewhere is nobody's."""

import base64
import subprocess

import pytest
from conftest import program, wait_until

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given


def make_cluster(op, namespace, name):
    """A Controller and a NodeSet of one worker there."""
    def make(plural, kind, called, **spec):
        meta = {"name": called, "namespace": namespace}
        op.api.create(plural, {"apiVersion": "operator.penstock/v1beta1", "kind": kind, "metadata": meta, "spec": spec})
    for secret, key in (("slurm", "slurm.key"), ("jwt", "jwt.key")):
        data = {key: base64.b64encode(b"k" * 32).decode()}
        op.api.create("secrets", {"metadata": {"name": secret, "namespace": namespace}, "data": data})
    make("controllers", "Controller", "c", clusterName=f"of-{namespace}", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
         jwtKeyRef={"name": "jwt", "key": "jwt.key"})
    make("nodesets", "NodeSet", name, controllerRef={"name": "c"}, replicas=1)


def pods(op, namespace):
    return sorted(p["metadata"]["name"] for p in op.api.all("pods") if p["metadata"]["namespace"] == namespace)


def test_several_namespaces(op):
    """Rights end at the namespaces: whoever asks for all is refused here."""
    op.kill()
    for path in ("/v1/pods?", "/v1/secrets?", "/v1/configmaps?", "/v1beta1/nodesets?", "/v1beta1/controllers?", "/v1/statefulsets?"):
        op.api.fault(403, "GET", path, times=10000)
    op.start("--namespaces", "default, team,,default")
    for namespace, name in (("team", "t"), ("other", "o")):
        make_cluster(op, namespace, name)
    op.set(replicas=1)
    wait_until(lambda: op.status().get("availableReplicas") == 1 and op.condition("Ready")["status"] == "True", "one is ready")
    assert pods(op, "default") == ["w-0"]
    wait_until(lambda: pods(op, "team") == ["t-0"], "a worker of the other namespace")
    assert op.api.get("configmaps", "c-config", namespace="team")["data"]["slurm.conf"].startswith("ClusterName=of-team\n")
    op.api.patch("nodesets", "t", {"spec": {"replicas": 3}}, namespace="team")
    wait_until(lambda: pods(op, "team") == ["t-0", "t-1", "t-2"], "its watch is told of changes")
    assert pods(op, "other") == [] and "status" not in op.api.get("nodesets", "o", namespace="other")
    assert len([f for f in op.api.faults if f[0] == 403]) == 60000, "nobody asked for all"


@pytest.mark.parametrize("words, text", [("a,Team_1", "--namespaces: 'Team_1' is no name of Kubernetes"), ("a,../b", "'../b' is no name")])
def test_names_that_are_none(words, text):
    done = subprocess.run([program("penstock-operator"), "--namespaces", words], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and text in done.stderr
