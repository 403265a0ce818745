"""penstock-bridge: the taint of nodes that Slurm has, too (managedNodeTaint)."""

from conftest import wait_until
from test_kube_bridge import CLUSTER, LABEL, Bridge, external, rest  # noqa: F401  names of fixtures

TAINT = {"key": "slinky.slurm.net/managed-node", "value": "slurm-bridge-scheduler", "effect": "NoExecute"}
OTHER = {"key": "theirs", "value": "x", "effect": "NoSchedule"}


def taints(b, node):
    return b.api.get("nodes", node).get("spec", {}).get("taints", [])


def test_nodes_that_both_have(external, rest, tmp_path):
    """They get the taint, and lose it with their node in Slurm; taints of others stay; pods get the toleration before they are bound."""
    with Bridge(external, rest, tmp_path, rules="managedNodeTaint: true\n") as b:
        wait_until(lambda: all(taints(b, f"ext{i}") == [TAINT] for i in range(1, 9)), "Slurm's nodes have it")
        b.api.create("nodes", {"metadata": {"name": "stranger"}, "spec": {"taints": [OTHER]}})
        b.api.create("nodes", {"metadata": {"name": "both1", "labels": {LABEL: ""}}, "spec": {"taints": [OTHER]},
                               "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
        wait_until(lambda: taints(b, "both1") == [OTHER, TAINT], f"a node that is made in Slurm gets it {taints(b, 'both1')}")
        assert taints(b, "stranger") == [OTHER]
        b.pod("a", tolerations=[{"key": "k", "operator": "Exists"}])
        b.bound("a")
        tolerations = b.get("a")["spec"]["tolerations"]
        assert tolerations[0] == {"key": "k", "operator": "Exists"} and {**TAINT, "operator": "Equal"} in tolerations
        b.api.patch("nodes", "both1", {"metadata": {"labels": {LABEL: None}}})
        wait_until(lambda: taints(b, "both1") == [OTHER], "it goes with the node in Slurm")


def test_silence_changes_no_taint(external, rest, tmp_path):
    """While slurmrestd is away nobody knows whose a node is."""
    with Bridge(external, rest, tmp_path, rules="managedNodeTaint: true\n") as b:
        wait_until(lambda: taints(b, "ext1") == [TAINT], "Slurm's nodes have it")
        b.kill()
        assert rest.daemon.stop() == 0
        b.start()
        b.api.create("nodes", {"metadata": {"name": "new"}})
        wait_until(lambda: "the list of nodes failed" in (tmp_path / "bridge.log.stderr").read_text(), "it asks, and is not answered")
        assert all(taints(b, f"ext{i}") == [TAINT] for i in range(1, 9)) and not taints(b, "new")
        rest.start()
        b.pod("a")
        b.bound("a", timeout=40)


def test_without_the_key_nothing_is_tainted(external, rest, tmp_path):
    with Bridge(external, rest, tmp_path) as b:
        b.api.create("nodes", {"metadata": {"name": "both2", "labels": {LABEL: ""}}, "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
        wait_until(lambda: external.run("scontrol", "show", "node", "both2", check=False).rc == 0, "it is made")
        b.pod("a")
        b.bound("a")
        assert not any(taints(b, n["metadata"]["name"]) for n in b.api.all("nodes")) and not b.get("a")["spec"].get("tolerations")
        b.api.delete("nodes", "both2")
        wait_until(lambda: external.run("scontrol", "show", "node", "both2", check=False).rc != 0, "it goes")
