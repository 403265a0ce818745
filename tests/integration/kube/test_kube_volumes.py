"""penstock-bridge: pods with claims and devices, on an API server that binds claims as the volume controllers do."""

import pytest
from conftest import wait_until
from restd import Restd

from test_kube_bridge import CLUSTER, Bridge, external  # noqa: F401  the cluster that the fixtures are given

SELECTED = "volume.kubernetes.io/selected-node"
BOUND = "pv.kubernetes.io/bind-completed"


@pytest.fixture(scope="module")
def rest(external):  # noqa: F811
    with Restd(external) as rest:
        yield rest


@pytest.fixture
def bridge(external, rest, tmp_path):  # noqa: F811
    with Bridge(external, rest, tmp_path) as b:
        for i in range(1, 9):
            b.api.patch("nodes", f"ext{i}", {"metadata": {"labels": {"zone": "a" if i < 5 else "b"}}})
        b.api.create("storageclasses", {"metadata": {"name": "late"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"})
        b.api.create("storageclasses", {"metadata": {"name": "zonal"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer",
                                        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]})
        yield b


def claim(b, name, cls):
    b.api.create("persistentvolumeclaims", {"metadata": {"name": name, "namespace": "default"}, "spec": {"storageClassName": cls}})


def bind(b, name, zone=None):
    """As a provisioner and the volume controller do."""
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "In", "values": [zone]}]}]}}} if zone else {}
    b.api.create("persistentvolumes", {"metadata": {"name": f"pv-{name}"},
                                       "spec": {"claimRef": {"namespace": "default", "name": name}, **affinity}})
    b.api.patch("persistentvolumeclaims", name, {"metadata": {"annotations": {BOUND: "yes"}}, "spec": {"volumeName": f"pv-{name}"}})


def wants(*names):
    return [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(names)]


def selected(b, name):
    return b.api.get("persistentvolumeclaims", name)["metadata"].get("annotations", {}).get(SELECTED)


def reason(b, name):
    return next((c["reason"] for c in b.get(name)["status"].get("conditions", []) if c["type"] == "PodScheduled"), None)


def test_a_bound_volume_says_where(bridge):
    claim(bridge, "data", "late")
    bind(bridge, "data", "b")
    bridge.pod("a", volumes=wants("data"))
    bridge.bound("a")
    assert bridge.node("a") in ("ext5", "ext6", "ext7", "ext8")


def test_a_claim_that_is_not_there_yet(bridge):
    bridge.pod("a", volumes=wants("data"))
    wait_until(lambda: reason(bridge, "a") == "SlurmWaitingForVolumes", "it is told")
    assert not bridge.jobs()
    claim(bridge, "data", "other")
    bridge.api.create("storageclasses", {"metadata": {"name": "other"}, "provisioner": "x", "volumeBindingMode": "Immediate"})
    assert not bridge.jobs()
    bind(bridge, "data")
    bridge.bound("a")


def test_a_volume_is_made_for_the_node(bridge):
    """A gang's volumes are all made before the first pod is bound."""
    for i in range(2):
        claim(bridge, f"d{i}", "zonal")
    label = "leaderworkerset.sigs.k8s.io/"
    for i in range(2):
        bridge.pod(f"g-{i}", {label + "group-key": "g", label + "name": "g", label + "group-index": "0", label + "worker-index": str(i)},
                   {label + "size": "2"}, volumes=wants(f"d{i}"))
    wait_until(lambda: selected(bridge, "d0") and selected(bridge, "d1"), "nodes are chosen")
    chosen = [selected(bridge, f"d{i}") for i in range(2)]
    assert chosen[0] != chosen[1] and set(chosen) < {"ext5", "ext6", "ext7", "ext8"}
    bind(bridge, "d0", "b")
    wait_until(lambda: reason(bridge, "g-0") == "SlurmWaitingForVolumes", "it is told")
    bridge.kill()
    bridge.start()
    assert not bridge.node("g-0") and not bridge.node("g-1")
    bind(bridge, "d1", "b")
    bridge.bound("g-0", "g-1")
    assert [bridge.node(f"g-{i}") for i in range(2)] == chosen


def test_a_volume_that_cannot_be_made(bridge):
    """The provisioner takes the node away: another one is tried, and the first job's nodes are free."""
    claim(bridge, "data", "late")
    bridge.pod("a", volumes=wants("data"))
    first = wait_until(lambda: selected(bridge, "data"), "a node is chosen")
    job = bridge.job("a")
    bridge.api.patch("persistentvolumeclaims", "data", {"metadata": {"annotations": {SELECTED: None}}})
    second = wait_until(lambda: (lambda s: s if s not in (None, first) else None)(selected(bridge, "data")), "another one is", 30)
    bridge.c.wait_state(job, "CANCELLED")
    bind(bridge, "data")
    bridge.bound("a")
    assert bridge.node("a") == second


def test_a_volume_in_another_place(bridge):
    """What was made cannot be reached from the node: the pod goes where it can."""
    claim(bridge, "data", "late")
    bridge.pod("a", volumes=wants("data"))
    first = wait_until(lambda: selected(bridge, "data"), "a node is chosen")
    zone = "b" if first in ("ext1", "ext2", "ext3", "ext4") else "a"
    bind(bridge, "data", zone)
    bridge.bound("a", timeout=30)
    assert bridge.api.get("nodes", bridge.node("a"))["metadata"]["labels"]["zone"] == zone


def test_static_volumes_are_refused(bridge):
    bridge.api.create("storageclasses", {"metadata": {"name": "static"}, "provisioner": "kubernetes.io/no-provisioner",
                                         "volumeBindingMode": "WaitForFirstConsumer"})
    claim(bridge, "data", "static")
    bridge.pod("a", volumes=wants("data"))
    wait_until(lambda: reason(bridge, "a") == "SlurmNotSupported", "it is told")
    assert not bridge.jobs()


def test_other_devices(bridge):
    """A device that slurmctld does not count is only where the node has it."""
    for i in (3, 6):
        bridge.api.patch("nodes", f"ext{i}", {"status": {"allocatable": {"x.com/nic": "2"}}}, sub="status")
    bridge.pod("a", containers=[{"name": "c", "image": "i", "resources": {"limits": {"x.com/nic": "2", "cpu": "1", "memory": "64Mi"}}}])
    bridge.pod("b", containers=[{"name": "c", "image": "i", "resources": {"limits": {"x.com/nic": "1", "cpu": "1", "memory": "64Mi"}}}])
    bridge.bound("a", "b")
    assert {bridge.node("a"), bridge.node("b")} == {"ext3", "ext6"}
