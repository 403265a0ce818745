"""penstock-bridge: nodes that are drained, by either side, are told on Kubernetes' node, and on pods that could be there."""

from conftest import wait_until
from test_kube_bridge import CLUSTER, LABEL, PARTITIONS, bridge, external, rest  # noqa: F401  names of fixtures


def told(b, kind, name, reason):
    """What events of an object say, the last one last."""
    return [e["message"] for e in b.api.all("events") if e["reason"] == reason and
            (e["involvedObject"]["kind"], e["involvedObject"]["name"]) == (kind, name)]


def why(b, name):
    return next((c["message"] for c in b.get(name).get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"), "")


def test_drained_in_slurm(bridge, external):
    """The pod that waits for the node says so; others do not; all is well again with the node."""
    external.run("scontrol", "update", "nodename=ext[2-8]", "state=down", "reason=elsewhere")
    try:
        bridge.api.patch("nodes", "ext1", {"metadata": {"labels": {"kubernetes.io/hostname": "ext1"}}})
        bridge.pod("first", cpu="4")
        bridge.bound("first")
        bridge.pod("there", nodeSelector={"kubernetes.io/hostname": "ext1"})
        wait_until(lambda: why(bridge, "there").startswith("Slurm job "), "it waits")
        assert "drained" not in why(bridge, "there")
        external.run("scontrol", "update", "nodename=ext1", "state=drain", "reason=a fan")
        wait_until(lambda: told(bridge, "Node", "ext1", "SlurmNodeDrain"), "the node is told within seconds", 10)
        assert told(bridge, "Node", "ext1", "SlurmNodeDrain")[0].startswith("Slurm node ext1 is drained: a fan")
        assert told(bridge, "Node", "ext1", "SlurmNodeDrain")[0].endswith("; jobs that are there run on")
        wait_until(lambda: "; drained in Slurm: ext1 (a fan" in why(bridge, "there"), f"and the pod {why(bridge, 'there')}", 10)
        assert any("; drained in Slurm: ext1 (a fan" in text for text in told(bridge, "Pod", "there", "SlurmPending"))
        assert not told(bridge, "Node", "ext2", "SlurmNodeDrain") and not bridge.get("first")["metadata"].get("deletionTimestamp")
        external.run("scontrol", "update", "nodename=ext1", "state=resume")
        wait_until(lambda: told(bridge, "Node", "ext1", "SlurmNodeFreed") == ["Slurm node ext1 is not drained any more"], "it is told", 10)
        wait_until(lambda: "drained" not in why(bridge, "there"), "the pod, too", 10)
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
