"""penstock-bridge: what pods say of single nodes, by kubernetes.io/hostname: affinity, anti-affinity, spread; pods that
fit nowhere; nodes that are drained, by either side, told on Kubernetes' node, and on pods that could be there."""

from collections import Counter

import pytest
from conftest import wait_until

from test_kube_bridge import CLUSTER, LABEL, OPTION, PARTITIONS, external  # noqa: F401  names of fixtures
from test_kube_near import REQUIRED, away, bridge, gang, rest, submitted, term  # noqa: F401  names of fixtures
from test_kube_volumes import reason

HOST = "kubernetes.io/hostname"


def on(operator, *names):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": HOST, "operator": operator, "values": list(names)}]}]}}}


def by_name(*names):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": list(names)}]}]}}}


def excluded(b, name):
    text = b.c.run("scontrol", "show", "job", str(b.job(name)), "-o").out
    return next(w.partition("=")[2] for w in text.split() if w.startswith("ExcNodeList="))


def message(b, name):
    return next((c["message"] for c in b.get(name).get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"), "")


@pytest.mark.parametrize("affinity, nodes, out", [
    (on("In", "ext3", "ext5"), {"ext3", "ext5"}, "ext[1-2,4,6-8]"), (by_name("ext4"), {"ext4"}, "ext[1-3,5-8]"),
    (on("NotIn", *(f"ext{i}" for i in range(1, 8))), {"ext8"}, "ext[1-7]")])
def test_the_job_asks_for_nodes_that_fit(bridge, affinity, nodes, out):
    bridge.pod("a", affinity=affinity)
    bridge.bound("a")
    assert bridge.node("a") in nodes and excluded(bridge, "a") == out


def test_replicas_apart(bridge):
    """As many as there are nodes, at once: each has a node of its own, and hardly a job is made twice; one more waits, and says why."""
    before = submitted(bridge)
    for i in range(8):
        bridge.pod(f"r{i}", {"app": "r"}, {OPTION + "exclusive": "false"}, affinity=away(term("r", HOST)))
    bridge.bound(*(f"r{i}" for i in range(8)), timeout=60)
    assert len({bridge.node(f"r{i}") for i in range(8)}) == 8
    assert submitted(bridge) - before <= 10
    bridge.pod("late", {"app": "r"}, {OPTION + "exclusive": "false"}, affinity=away(term("r", HOST)))
    wait_until(lambda: reason(bridge, "late") == "SlurmWaitingForPods", f"it is told {message(bridge, 'late')}")
    free = bridge.node("r5")
    bridge.end("r5")
    bridge.bound("late", timeout=30)
    assert bridge.node("late") == free


def test_replicas_spread(bridge):
    """Over single nodes, at once: none has two before each has one."""
    rule = [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "t"}}}]
    before = submitted(bridge)
    for i in range(16):
        bridge.pod(f"t{i}", {"app": "t"}, {OPTION + "exclusive": "false"}, topologySpreadConstraints=rule)
    bridge.bound(*(f"t{i}" for i in range(16)), timeout=90)
    assert set(Counter(bridge.node(f"t{i}") for i in range(16)).values()) == {2}
    assert submitted(bridge) - before <= 20


def test_a_busy_node_is_no_trap(bridge):
    """A node that is free of such pods, and full of others, keeps no pod waiting while others are free."""
    for i in range(1, 8):
        bridge.pod(f"full{i}", cpu="4", nodeSelector={HOST: f"ext{i}"})
    bridge.bound(*(f"full{i}" for i in range(1, 8)), timeout=30)
    bridge.pod("one", {"app": "b"}, affinity=away(term("b", HOST)))
    bridge.bound("one", timeout=4)
    assert bridge.node("one") == "ext8"


def test_a_planned_node_of_another_partition(bridge):
    """The node that is best for one of several is none of the job's partition: it is made for others."""
    bridge.api.create("nodes", {"metadata": {"name": "node1", "labels": {HOST: "node1"}}})
    for i in range(1, 9):
        bridge.pod(f"first{i}", None, {OPTION + "exclusive": "false"}, nodeSelector={HOST: f"ext{i}"})
    bridge.bound(*(f"first{i}" for i in range(1, 9)), timeout=30)
    for i in range(3):
        bridge.pod(f"p{i}", {"app": "p"}, {OPTION + "exclusive": "false"}, affinity=away(term("p", HOST)))
    bridge.bound(*(f"p{i}" for i in range(3)), timeout=10)
    assert len({bridge.node(f"p{i}") for i in range(3)} - {"node1"}) == 3
    assert not [e for e in bridge.api.all("events") if e["reason"] == "SlurmRefused"]


def test_a_pod_that_fits_nowhere(bridge):
    """It says why, by kinds of reasons, and has no job; when a node comes that fits it is placed."""
    before = submitted(bridge)
    bridge.api.patch("nodes", "ext1", {"spec": {"unschedulable": True}})
    bridge.api.patch("nodes", "ext2", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    bridge.pod("a", nodeSelector={HOST: "nowhere"})
    wait_until(lambda: reason(bridge, "a") == "SlurmNoNode", f"it is told {message(bridge, 'a')}")
    assert message(bridge, "a") == ("None of 8 nodes fits: 1 is cordoned, 1 has a taint that is not tolerated, "
                                    "6 are not those of nodeSelector and node affinity")
    bridge.pod("b", affinity=on("In", "ext1", "ext2"))
    wait_until(lambda: reason(bridge, "b") == "SlurmNoNode", f"it is told {message(bridge, 'b')}")
    names = gang(bridge, "g", 3, affinity=on("In", "ext4", "ext5"))
    wait_until(lambda: reason(bridge, names[0]) == "SlurmNoNode", f"it is told {message(bridge, names[0])}")
    assert message(bridge, names[0]).startswith("2 of 8 nodes fit, and the group needs 3: 1 is cordoned, 1 has a taint")
    assert submitted(bridge) == before
    bridge.api.patch("nodes", "ext2", {"spec": {"taints": None}})
    bridge.bound("b", timeout=30)
    assert bridge.node("b") == "ext2"
    bridge.api.patch("nodes", "ext8", {"metadata": {"labels": {HOST: "nowhere"}}})
    bridge.bound("a", timeout=30)
    assert bridge.node("a") == "ext8"
    bridge.api.patch("nodes", "ext1", {"spec": {"unschedulable": None}})


def told(b, kind, name, reason):
    """What events of an object say, the last one last."""
    return [e["message"] for e in b.api.all("events") if e["reason"] == reason and
            (e["involvedObject"]["kind"], e["involvedObject"]["name"]) == (kind, name)]


def test_drained_in_slurm(bridge, external):
    """The pod that waits for the node says so; others do not; all is well again with the node."""
    external.run("scontrol", "update", "nodename=ext[2-8]", "state=down", "reason=elsewhere")
    try:
        bridge.api.patch("nodes", "ext1", {"metadata": {"labels": {"kubernetes.io/hostname": "ext1"}}})
        bridge.pod("first", cpu="4")
        bridge.bound("first")
        bridge.pod("there", nodeSelector={"kubernetes.io/hostname": "ext1"})
        wait_until(lambda: message(bridge, "there").startswith("Slurm job "), "it waits")
        assert "drained" not in message(bridge, "there")
        external.run("scontrol", "update", "nodename=ext1", "state=drain", "reason=a fan")
        wait_until(lambda: told(bridge, "Node", "ext1", "SlurmNodeDrain"), "the node is told within seconds", 10)
        assert told(bridge, "Node", "ext1", "SlurmNodeDrain")[0].startswith("Slurm node ext1 is drained: a fan")
        assert told(bridge, "Node", "ext1", "SlurmNodeDrain")[0].endswith("; jobs that are there run on")
        wait_until(lambda: "; drained in Slurm: ext1 (a fan" in message(bridge, "there"), f"and the pod {message(bridge, 'there')}", 10)
        assert any("; drained in Slurm: ext1 (a fan" in text for text in told(bridge, "Pod", "there", "SlurmPending"))
        assert not told(bridge, "Node", "ext2", "SlurmNodeDrain") and not bridge.get("first")["metadata"].get("deletionTimestamp")
        external.run("scontrol", "update", "nodename=ext1", "state=resume")
        wait_until(lambda: told(bridge, "Node", "ext1", "SlurmNodeFreed") == ["Slurm node ext1 is not drained any more"], "it is told", 10)
        wait_until(lambda: "drained" not in message(bridge, "there"), "the pod, too", 10)
        bridge.end("first")
        bridge.bound("there")
    finally:
        external.run("scontrol", "update", "nodename=ext[2-8]", "state=resume")


def test_cordoned_in_kubernetes(bridge, external):
    """Cordoned, the external node is drained by the bridge: that is told, and that it is let go."""
    bridge.api.create("nodes", {"metadata": {"name": "own1", "labels": {LABEL: ""}, "annotations": {PARTITIONS: "k8s"}},
                                "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
    wait_until(lambda: "EXTERNAL" in external.run("scontrol", "show", "node", "own1", check=False).out, "it is made")
    bridge.api.patch("nodes", "own1", {"spec": {"unschedulable": True}})
    wait_until(lambda: told(bridge, "Node", "own1", "SlurmNodeDrain"), "the drain is told", 10)
    assert told(bridge, "Node", "own1", "SlurmNodeDrain") == [
        "Slurm node own1 is drained: slurm-bridge: Corresponding Kubernetes node (own1) is unschedulable"]
    bridge.kill()  # one that begins later knows what it is, too
    bridge.start()
    bridge.api.patch("nodes", "own1", {"spec": {"unschedulable": None}})
    wait_until(lambda: told(bridge, "Node", "own1", "SlurmNodeFreed") == ["Slurm node own1 is not drained any more"], "and its end", 20)
    bridge.api.delete("nodes", "own1")
    wait_until(lambda: "NodeName" not in external.run("scontrol", "show", "node", "own1", check=False).out, "it goes")
