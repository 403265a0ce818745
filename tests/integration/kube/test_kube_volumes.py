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


def local(b, name, node, size="10Gi", cls="static"):
    """A volume that somebody made on the node."""
    b.api.create("persistentvolumes", {"metadata": {"name": name}, "status": {"phase": "Available"}, "spec": {
        "storageClassName": cls, "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}})


def small(b, name, size="1Gi", cls="static"):
    b.api.create("persistentvolumeclaims", {"metadata": {"name": name, "namespace": "default"}, "spec": {
        "storageClassName": cls, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})


def given(b):
    """Volumes to the claims that they were given to."""
    return {v["metadata"]["name"]: v["spec"]["claimRef"]["name"] for v in b.api.all("persistentvolumes") if v["spec"].get("claimRef")}


def finish(b, volume):
    """As the volume controller does when it finds a volume that names a claim."""
    name = b.api.get("persistentvolumes", volume)["spec"]["claimRef"]["name"]
    b.api.patch("persistentvolumeclaims", name, {"metadata": {"annotations": {BOUND: "yes"}}, "spec": {"volumeName": volume}})


@pytest.fixture
def disks(bridge):
    for i in range(1, 9):
        bridge.api.patch("nodes", f"ext{i}", {"metadata": {"labels": {"kubernetes.io/hostname": f"ext{i}"}}})
    bridge.api.create("storageclasses", {"metadata": {"name": "static"}, "provisioner": "kubernetes.io/no-provisioner",
                                         "volumeBindingMode": "WaitForFirstConsumer"})
    return bridge


def test_a_volume_that_is_there(disks):
    """The smallest that does, on a node that has one, given to the claim before the pod is bound."""
    local(disks, "big", "ext3", "50Gi")
    local(disks, "little", "ext3", "5Gi")
    local(disks, "tiny", "ext6", "1Mi")
    small(disks, "data")
    disks.pod("a", volumes=wants("data"))
    wait_until(lambda: given(disks), "one is given")
    volume, claimed = disks.api.get("persistentvolumes", "little"), disks.api.get("persistentvolumeclaims", "data")
    assert given(disks) == {"little": "data"} and volume["spec"]["claimRef"]["uid"] == claimed["metadata"]["uid"]
    assert volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    disks.kill()
    disks.start()
    assert not disks.node("a")
    finish(disks, "little")
    disks.bound("a")
    assert disks.node("a") == "ext3" and given(disks) == {"little": "data"} and not selected(disks, "data")


def test_volumes_of_a_gang_and_no_more(disks):
    """Each pod of a gang gets its own; the next one waits, and is told."""
    local(disks, "v2", "ext2")
    local(disks, "v7", "ext7")
    for i in range(3):
        small(disks, f"d{i}")
    label = "leaderworkerset.sigs.k8s.io/"
    for i in range(2):
        disks.pod(f"g-{i}", {label + "group-key": "g", label + "name": "g", label + "group-index": "0", label + "worker-index": str(i)},
                  {label + "size": "2"}, volumes=wants(f"d{i}"))
    wait_until(lambda: len(given(disks)) == 2, "both are given")
    disks.pod("late", volumes=wants("d2"))
    wait_until(lambda: reason(disks, "late") == "SlurmWaitingForVolumes", "it is told")
    finish(disks, "v2")
    finish(disks, "v7")
    disks.bound("g-0", "g-1")
    assert {disks.node("g-0"), disks.node("g-1")} == {"ext2", "ext7"} and not disks.node("late")
    local(disks, "v5", "ext5")
    wait_until(lambda: given(disks).get("v5") == "d2", "the new one is given")
    finish(disks, "v5")
    disks.bound("late")
    assert disks.node("late") == "ext5"


def test_a_volume_before_one_is_made(disks):
    """Where a class makes volumes, one that is there is taken first."""
    local(disks, "here", "ext4", cls="late")
    small(disks, "data", cls="late")
    disks.pod("a", nodeSelector={"kubernetes.io/hostname": "ext4"}, volumes=wants("data"))
    wait_until(lambda: given(disks) == {"here": "data"}, "it is given")
    finish(disks, "here")
    disks.bound("a")
    small(disks, "more", cls="late")
    disks.pod("b", nodeSelector={"kubernetes.io/hostname": "ext5"}, volumes=wants("more"))
    assert wait_until(lambda: selected(disks, "more"), "one is made") == "ext5"


def test_a_volume_that_is_set_aside(disks):
    """A volume that names its claim is bound by Kubernetes, not by us."""
    local(disks, "mine", "ext8")
    disks.api.patch("persistentvolumes", "mine", {"spec": {"claimRef": {"namespace": "default", "name": "data"}}})
    small(disks, "data")
    disks.pod("a", volumes=wants("data"))
    wait_until(lambda: reason(disks, "a") == "SlurmWaitingForVolumes", "it is told")
    assert not disks.jobs()
    finish(disks, "mine")
    disks.bound("a")
    assert disks.node("a") == "ext8"


def test_other_devices(bridge):
    """A device that slurmctld does not count is only where the node has it."""
    for i in (3, 6):
        bridge.api.patch("nodes", f"ext{i}", {"status": {"allocatable": {"x.com/nic": "2"}}}, sub="status")
    bridge.pod("a", containers=[{"name": "c", "image": "i", "resources": {"limits": {"x.com/nic": "2", "cpu": "1", "memory": "64Mi"}}}])
    bridge.pod("b", containers=[{"name": "c", "image": "i", "resources": {"limits": {"x.com/nic": "1", "cpu": "1", "memory": "64Mi"}}}])
    bridge.bound("a", "b")
    assert {bridge.node("a"), bridge.node("b")} == {"ext3", "ext6"}
