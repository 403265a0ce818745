"""penstock-operator without penstock-webhook: fields that may not change are guarded all the same."""

from conftest import wait_until

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given

KEYS = {"slurmKeyRef": {"name": "slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "jwt", "key": "jwt.key"}}


def conf(op, name="c"):
    return (op.api.get("configmaps", f"{name}-config") or {"data": {"slurm.conf": ""}})["data"]["slurm.conf"]


def events(op, name):
    return [e["message"] for e in op.api.all("events") if e["reason"] == "FieldChanged" and e["involvedObject"]["name"] == name]


def test_a_cluster_keeps_its_name(op):
    """Nothing is made of the change, also by an operator that starts anew; what else is changed with it waits; it is told once."""
    op.set(replicas=1)
    op.ready(1)
    before = conf(op)
    assert "ClusterName=test\n" in before
    op.api.patch("controllers", "c", {"spec": {"clusterName": "other", "extraConf": "MaxNodeCount=77"}})
    wait_until(lambda: op.condition("Ready", "controllers", "c").get("reason") == "FieldChanged", "the condition says so")
    assert op.condition("Degraded", "controllers", "c")["message"] == "spec.clusterName: cannot be changed"
    op.kill()
    op.start()
    op.kubelet.wait_quiet(1)
    assert conf(op) == before and op.pods() == ["w-0"]
    wait_until(lambda: events(op, "c"), "an event says so")
    assert events(op, "c") == ["spec.clusterName: cannot be changed"]
    op.api.patch("controllers", "c", {"spec": {"clusterName": "test"}})
    wait_until(lambda: "MaxNodeCount=77\n" in conf(op), "what may change is made")
    wait_until(lambda: op.condition("Degraded", "controllers", "c")["status"] == "False", "all is well")
    assert op.pods() == ["w-0"]


def test_workers_keep_their_keys(op):
    """A Controller whose key is another one's gives its workers nothing new."""
    op.set(replicas=1)
    op.ready(1)
    was = op.api.get("pods", "w-0")["metadata"]["uid"]
    op.api.patch("controllers", "c", {"spec": {"slurmKeyRef": {"name": "jwt"}}})
    wait_until(lambda: op.condition("Ready", "controllers", "c").get("reason") == "FieldChanged", "the condition says so")
    op.change(extraConf="Weight=7")
    op.kubelet.wait_quiet(1)
    assert op.api.get("pods", "w-0")["metadata"]["uid"] == was
    op.api.patch("controllers", "c", {"spec": {"slurmKeyRef": {"name": "slurm"}}})
    wait_until(lambda: op.pods() == ["w-0"] and op.api.get("pods", "w-0")["metadata"]["uid"] != was, f"it is replaced {op.log()}", 60)


def test_a_new_controller_of_the_name_is_free(op):
    op.make("controllers", "Controller", "n", clusterName="one", **KEYS)
    wait_until(lambda: "ClusterName=one\n" in conf(op, "n"), "it is made")
    op.api.delete("controllers", "n")
    op.make("controllers", "Controller", "n", clusterName="two", **KEYS)
    wait_until(lambda: "ClusterName=two\n" in conf(op, "n"), "the new one is made")


def test_workers_keep_their_claims_and_controller(op):
    """Also when the template changes with it, so that a new revision would be made, and by an operator that starts anew."""
    op.set(replicas=1)
    op.ready(1)
    was = op.api.get("pods", "w-0")["metadata"]["uid"]
    op.change(volumeClaimTemplates=[{"metadata": {"name": "scratch"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}], extraConf="Weight=7")
    wait_until(lambda: op.condition("Ready").get("reason") == "FieldChanged", "the condition says so")
    assert op.condition("Degraded")["message"] == "spec.volumeClaimTemplates: cannot be changed"
    op.kill()
    op.start()
    op.kubelet.wait_quiet(1)
    assert op.api.get("pods", "w-0")["metadata"]["uid"] == was and not op.api.all("persistentvolumeclaims")
    wait_until(lambda: events(op, "w"), "an event says so")
    op.change(volumeClaimTemplates=None)
    wait_until(lambda: op.pods() == ["w-0"] and op.api.get("pods", "w-0")["metadata"]["uid"] != was, f"it is replaced {op.log()}", 60)
    op.change(controllerRef={"name": "other"})
    wait_until(lambda: op.condition("Degraded").get("message") == "spec.controllerRef: cannot be changed", "the condition says so")
    assert op.pods() == ["w-0"]


def test_a_token_keeps_its_key(op):
    op.make("tokens", "Token", "t", username="root", jwtKeyRef={"name": "jwt", "key": "jwt.key"}, lifetime="1h")
    wait_until(lambda: op.api.get("secrets", "t-jwt-root"), "the token is made")
    before = op.api.get("secrets", "t-jwt-root")["data"]
    op.api.patch("tokens", "t", {"spec": {"jwtKeyRef": {"name": "slurm", "key": "slurm.key"}}})
    wait_until(lambda: op.condition("Ready", "tokens", "t").get("reason") == "FieldChanged", "the condition says so")
    wait_until(lambda: events(op, "t") == ["spec.jwtKeyRef: cannot be changed"], "an event says so")
    assert op.api.get("secrets", "t-jwt-root")["data"] == before
    op.api.delete("tokens", "t")
    op.make("tokens", "Token", "t", username="root", jwtKeyRef={"name": "slurm", "key": "slurm.key"}, lifetime="1h")
    wait_until(lambda: op.condition("Ready", "tokens", "t").get("reason") == "Issued", "another of the name is free")
