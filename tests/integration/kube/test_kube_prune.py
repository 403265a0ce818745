"""penstock-operator: records of Slurm whose pod and node of Kubernetes are gone."""

from conftest import wait_until

import operated
from operated import OURS, op, rest  # noqa: F401  fixtures

CLUSTER = {**operated.CLUSTER, "conf": operated.CLUSTER["conf"] + "\nSlurmdTimeout=5"}


def told(op):
    return [e["message"] for e in op.api.all("events") if e["reason"] == "DefunctSlurmNodePruned"]


def test_records_of_nodes_that_are_gone(op):
    """The node k3 vanishes, k2 only loses its label: k2's record stays, k3's goes once its pod has ended."""
    op.set(scalingMode="DaemonSet", template={"spec": {"nodeSelector": {"pool": "x"}}})
    for name in ("k1", "k2", "k3"):
        op.api.patch("nodes", name, {"metadata": {"labels": {"pool": "x"}}})
    wait_until(lambda: op.status().get("readyReplicas") == 3, "a pod a node")
    wait_until(lambda: all(op.slurm(n)["comment"] for n in ("k1", "k2", "k3")), "records say whose they are")
    busy = op.job("k1")
    op.api.patch("nodes", "k2", {"metadata": {"labels": {"pool": "y"}}})
    op.api.delete("nodes", "k3")
    wait_until(lambda: len(op.pods()) == 1, f"two pods go {op.log()}", 30)
    wait_until(lambda: all("DOWN" in op.slurm(n)["state"] and op.slurm(n)["reason"] == OURS + "Pod is terminating" for n in ("k2", "k3")),
               f"their pods said that they end {[op.slurm(n) for n in ('k2', 'k3')]}", 60)
    op.kubelet.wait_quiet(0.5)
    assert op.slurm("k3"), "Never: nothing is pruned"
    op.rest.daemon.stop()
    try:
        op.change(pruneSlurmNodeRecords="NodeNotFound")
        wait_until(lambda: op.condition("Ready").get("reason") == "SlurmUnknown", "Slurm is not known")
        op.kubelet.wait_quiet(0.5)
        assert not told(op)
    finally:
        op.rest.start()
    wait_until(lambda: op.slurm("k3") is None, f"the record goes {op.log()}", 30)
    wait_until(lambda: told(op) == ["Slurm node k3: its pod and its node are gone"], "it is told")
    assert op.slurm("k2") and op.slurm("k1") and op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
