"""penstock-bridge: devices of classes (DRA), of nodes whose slices tell CPUs, GPUs and channels of ComputeDomains."""

import pytest
from conftest import wait_until
from restd import Restd

from test_kube_bridge import JOB, LABEL, NODE, OPTION, PARTITIONS, Bridge

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=12\nAuthAltTypes=auth/jwt\nGresTypes=gpu\nNodeSet=k8s Feature=k8s\nPartitionName=k8s Nodes=k8s"}
CLASS = "deviceclass.resource.kubernetes.io/"
CHANNELS, CHANNEL_CLASS = "compute-domain.nvidia.com", "compute-domain-default-channel.nvidia.com"
SHARED = {OPTION + "exclusive": "false"}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as rest:
        yield rest


def slice_of(b, node, driver, devices, generation=1, count=1, part=0):
    return b.api.create("resourceslices", {"metadata": {"name": f"{node}-{driver}-{generation}-{part}"}, "spec": {
        "driver": driver, "nodeName": node, "pool": {"name": node, "generation": generation, "resourceSliceCount": count},
        "devices": devices}})


def gpus(n, first=0):
    return [{"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"u{i}"}}} for i in range(first, first + n)]


def cpus(cores, threads=2):
    """As Linux numbers them: the second threads behind all first ones."""
    return [{"name": f"cpu{t * cores + c:03}", "attributes": {
        "dra.cpu/cpuID": {"int": t * cores + c}, "dra.cpu/coreID": {"int": c}, "dra.cpu/socketID": {"int": 0}}}
            for t in range(threads) for c in range(cores)]


def channel():
    return [{"name": "daemon-0", "attributes": {"type": {"string": "daemon"}, "id": {"int": 0}}},
            {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}]


@pytest.fixture
def bridge(shared, rest, tmp_path):
    with Bridge(shared, rest, tmp_path) as b:
        for i in range(1, 9):
            b.api.delete("nodes", f"ext{i}")
        for name in ("dra.cpu", "gpu.nvidia.com", "gpu.example.com", CHANNEL_CLASS):
            b.api.create("deviceclasses", {"metadata": {"name": name}, "spec": {}})
        for name in ("d1", "d2"):
            slice_of(b, name, "gpu.nvidia.com", [*gpus(4), {"name": "gpu-0-mig-1", "attributes": {"type": {"string": "mig"}}}])
            slice_of(b, name, "dra.cpu", cpus(4))
            b.api.create("nodes", {"metadata": {"name": name, "labels": {LABEL: "", "host": name},
                                                                  "annotations": {PARTITIONS: "k8s"}},
                                   "status": {"capacity": {"cpu": "8", "memory": "4Gi"}}})
        wait_until(lambda: all(slurm_node(b, n) for n in ("d1", "d2")), "the nodes are made")
        yield b
        for pod in b.api.all("pods"):
            b.api.delete("pods", pod["metadata"]["name"], gracePeriodSeconds=0)
        wait_until(lambda: not b.jobs(), "no job is left")
        for name in ("d1", "d2"):
            b.api.delete("nodes", name)
        wait_until(lambda: not any(slurm_node(b, n) for n in ("d1", "d2")), "the nodes are gone")


def slurm_node(b, name):
    nodes = b.rest.get(f"node/{name}")[1].get("nodes")
    return nodes[0] if nodes else None


def asks(name="c", memory="64Mi", **classes):
    limits = {CLASS + k.replace("_", "."): str(v) for k, v in classes.items()}
    return {"name": name, "image": "i", "resources": {"requests": {"memory": memory, **limits}, "limits": limits}}


def claims(b, pod=None):
    found = [c for c in b.api.all("resourceclaims") if c["metadata"].get("annotations")]
    return [c for c in found if not pod or c["metadata"]["ownerReferences"][0]["name"] == pod]


def devices(claim, request):
    return [r["device"] for r in claim["status"]["allocation"]["devices"]["results"] if r["request"] == request]


def told(b, name):
    return next(((c["reason"], c["message"]) for c in b.get(name)["status"].get("conditions", []) if c["type"] == "PodScheduled"), ("", ""))


def test_a_node_is_made_of_its_slices(bridge):
    node = slurm_node(bridge, "d1")
    assert (node["cpus"], node["threads"], node["cores"], node["gres"]) == (8, 2, 4, "gpu:gpu.nvidia.com:4")
    assert "DRAIN" not in node["state"]


def test_gpus_and_cpus(bridge):
    """Two pods on one node have GPUs and cores of their own, which their claims name."""
    node = "d2"
    bridge.pod("a", notes=SHARED, nodeSelector={"host": node}, containers=[asks(gpu_nvidia_com=2, dra_cpu=3)])
    bridge.bound("a")
    bridge.pod("b", notes=SHARED, nodeSelector={"host": node}, containers=[asks(gpu_nvidia_com=2, dra_cpu=4)])
    bridge.bound("b")
    one, = claims(bridge, "a")
    meta, spec, status = one["metadata"], one["spec"], one["status"]
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert meta["ownerReferences"][0] == {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": bridge.get("a")["metadata"]["uid"],
                                          "controller": True, "blockOwnerDeletion": True}
    by_name = {r["name"]: r["exactly"] for r in spec["devices"]["requests"]}
    assert by_name["gpu"]["deviceClassName"] == "gpu.nvidia.com" and by_name["gpu"]["count"] == 2
    assert by_name["gpu"]["selectors"] == [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].name in ['gpu-0','gpu-1']"}}]
    assert by_name["cpu"]["selectors"] == [{"cel": {"expression": "device.attributes['dra.cpu'].cpuID in [0,4,1,5]"}}]
    assert devices(one, "gpu") == ["gpu-0", "gpu-1"] and devices(one, "cpu") == ["cpu000", "cpu004", "cpu001", "cpu005"]
    assert status["reservedFor"] == [{"resource": "pods", "name": "a", "uid": bridge.get("a")["metadata"]["uid"]}]
    assert status["allocation"]["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    assert bridge.get("a")["status"]["extendedResourceClaimStatus"] == {"resourceClaimName": meta["name"], "requestMappings": [
        {"containerName": "c", "requestName": r, "resourceName": CLASS + c} for c, r in (("gpu.nvidia.com", "gpu"), ("dra.cpu", "cpu"))]}
    other, = claims(bridge, "b")
    assert devices(other, "gpu") == ["gpu-2", "gpu-3"] and devices(other, "cpu") == ["cpu002", "cpu006", "cpu003", "cpu007"]
    bridge.end("a")
    wait_until(lambda: not claims(bridge, "a"), "its claim goes")
    assert claims(bridge, "b")


def test_an_exclusive_job_claims_what_is_asked(bridge):
    bridge.pod("a", containers=[asks("x", gpu_nvidia_com=1), asks("y", dra_cpu=2)])
    bridge.bound("a")
    one, = claims(bridge)
    assert devices(one, "gpu") == ["gpu-0"] and devices(one, "cpu") == ["cpu000", "cpu004"]
    maps = bridge.get("a")["status"]["extendedResourceClaimStatus"]["requestMappings"]
    assert [(m["containerName"], m["requestName"]) for m in maps] == [("x", "gpu"), ("y", "cpu")]


def test_what_cannot_be_claimed(bridge):
    bridge.pod("two", containers=[asks("x", gpu_nvidia_com=1), asks("y", gpu_nvidia_com=1)])
    bridge.pod("many", containers=[asks(dra_cpu=33)])
    bridge.pod("half", containers=[asks(gpu_nvidia_com="500m")])
    bridge.pod("other", containers=[asks(nic_example_com=1)])
    bridge.pod("missing", containers=[asks(gpu_amd_com=1)])
    bridge.pod("claim", resourceClaims=[{"name": "x", "resourceClaimName": "mine"}])
    for name, why in (("two", "one container"), ("many", "0 to 32"), ("half", "0 to 32"), ("other", "are known"),
                      ("claim", "that name a template")):
        wait_until(lambda: told(bridge, name)[0] == "SlurmNotSupported" and why in told(bridge, name)[1], f"{name}: {told(bridge, name)}")
    wait_until(lambda: told(bridge, "missing") == ("SlurmWaitingForDevices", "there is no DeviceClass gpu.amd.com"), "it is told")
    assert not bridge.jobs() and not claims(bridge)


def test_a_class_that_comes_later(bridge):
    bridge.pod("a", containers=[asks(gpu_later_com=1)])
    wait_until(lambda: told(bridge, "a")[0] == "SlurmWaitingForDevices", "it waits")
    bridge.api.create("deviceclasses", {"metadata": {"name": "gpu.later.com"}, "spec": {}})
    wait_until(lambda: "have not the volumes or devices" in told(bridge, "a")[1], "the class is known, and no node has such devices")


def test_a_name_that_somebody_else_has(bridge):
    """Whoever can make claims cannot have devices of others put into theirs."""
    bridge.api.fault("500", method="POST", path="/resourceclaims", times=2)
    bridge.pod("a", containers=[asks(gpu_nvidia_com=1)])
    uid = bridge.get("a")["metadata"]["uid"]
    name = f"a-extended-resources-{uid[:8]}"
    bridge.api.create("resourceclaims", {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": {"requests": []}}})
    wait_until(lambda: "somebody else's" in told(bridge, "a")[1], "it is told", 30)
    assert not bridge.node("a") and bridge.api.get("resourceclaims", name).get("status") is None
    bridge.api.delete("resourceclaims", name)
    bridge.bound("a", timeout=30)


def test_killed_between_claim_and_binding(bridge):
    """Each step is found as it is: one claim, whatever was lost."""
    for i, fault in enumerate((("POST", "/resourceclaims"), ("PATCH", "/status"), ("POST", "/binding"))):
        bridge.api.fault("cut-after", method=fault[0], path=fault[1])
        bridge.pod(f"p{i}", notes=SHARED, containers=[asks(gpu_nvidia_com=1)])
        bridge.bound(f"p{i}", timeout=30)
        bridge.kill()
        bridge.start()
        assert len(claims(bridge, f"p{i}")) == 1
    held = {(bridge.node(f"p{i}"), *devices(claims(bridge, f"p{i}")[0], "gpu")) for i in range(3)}
    assert len(held) == 3, held


def test_a_slice_that_is_not_whole(bridge):
    """A pool of which a slice is missing has no devices yet."""
    bridge.api.create("nodes", {"metadata": {"name": "d3", "labels": {LABEL: ""}, "annotations": {PARTITIONS: "k8s"}},
                                "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
    slice_of(bridge, "d3", "gpu.example.com", gpus(1), count=2)
    wait_until(lambda: slurm_node(bridge, "d3"), "the node is made")
    assert slurm_node(bridge, "d3")["gres"] == ""
    slice_of(bridge, "d3", "gpu.example.com", gpus(1, 1), count=2, part=1)
    wait_until(lambda: (slurm_node(bridge, "d3") or {}).get("gres") == "gpu:gpu.example.com:2", "it has both", 30)
    bridge.api.delete("resourceslices", "d3-gpu.example.com-1-0")  # the driver restarts
    bridge.api.patch("nodes", "d3", {"metadata": {"annotations": {PARTITIONS: "k8s,more"}}})
    wait_until(lambda: "more" in slurm_node(bridge, "d3")["features"], "it has been looked at")
    assert slurm_node(bridge, "d3")["gres"] == "gpu:gpu.example.com:2"
    bridge.api.delete("nodes", "d3")
    wait_until(lambda: not slurm_node(bridge, "d3"), "it is gone")


def channel_pod(b, name, rank, claimed=True):
    label = "leaderworkerset.sigs.k8s.io/"
    b.pod(name, {label + "group-key": "g", label + "name": "g", label + "group-index": "0", label + "worker-index": str(rank)},
          {label + "size": "2"}, resourceClaims=[{"name": "ch", "resourceClaimTemplateName": "domain-channel"}])
    if claimed:
        claim_channel(b, name)


def claim_channel(b, name):
    """As the controller of claims does."""
    uid = b.get(name)["metadata"]["uid"]
    b.api.create("resourceclaims", {"metadata": {"name": f"{name}-ch", "namespace": "default", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}]}, "spec": {"devices": {
            "requests": [{"name": "channel", "exactly": {"deviceClassName": CHANNEL_CLASS, "allocationMode": "ExactCount", "count": 1}}],
            "config": [{"requests": ["channel"], "opaque": {"driver": CHANNELS, "parameters": {"domainID": "1"}}}]}}})
    b.api.patch("pods", name, {"status": {"resourceClaimStatuses": [{"name": "ch", "resourceClaimName": f"{name}-ch"}]}}, sub="status")


def test_channels_of_a_compute_domain(bridge):
    """A gang in a ComputeDomain: each node's channel, with the domain's configuration; nodes without a channel are excluded."""
    bridge.api.create("nodes", {"metadata": {"name": "d3", "labels": {LABEL: ""}, "annotations": {PARTITIONS: "k8s"}},
                                "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
    wait_until(lambda: slurm_node(bridge, "d3"), "the node is made")
    channel_pod(bridge, "g-0", 0)
    channel_pod(bridge, "g-1", 1, claimed=False)
    wait_until(lambda: told(bridge, "g-1") == ("SlurmWaitingForDevices", "no claim of the template domain-channel is made yet"), "it is told")
    assert not bridge.jobs()
    slice_of(bridge, "d1", CHANNELS, channel())
    slice_of(bridge, "d3", CHANNELS, channel())
    claim_channel(bridge, "g-1")
    bridge.bound("g-0", "g-1", timeout=30)
    assert {bridge.node("g-0"), bridge.node("g-1")} == {"d1", "d3"}
    for name in ("g-0", "g-1"):
        status = bridge.api.get("resourceclaims", f"{name}-ch")["status"]
        assert status["allocation"]["devices"] == {
            "results": [{"request": "channel", "driver": CHANNELS, "pool": bridge.node(name), "device": "channel-0"}],
            "config": [{"source": "FromClaim", "requests": ["channel"], "opaque": {"driver": CHANNELS, "parameters": {"domainID": "1"}}}]}
        assert status["reservedFor"][0]["name"] == name and bridge.get(name)["metadata"]["annotations"][NODE] == bridge.node(name)
    assert bridge.get("g-0")["metadata"]["labels"][JOB] == bridge.get("g-1")["metadata"]["labels"][JOB]
    for name in ("g-0", "g-1"):
        bridge.api.delete("pods", name, gracePeriodSeconds=0)
    wait_until(lambda: not bridge.jobs(), "the job ends")
    bridge.api.delete("nodes", "d3")
    wait_until(lambda: not slurm_node(bridge, "d3"), "it is gone")


def template_pod(b, name, requests, *containers, **spec):
    """A pod that names a template, and its claim, as the controller of claims makes it."""
    b.pod(name, notes=SHARED, resourceClaims=[{"name": "dev", "resourceClaimTemplateName": "t"}],
          containers=list(containers) or [{"name": "c", "image": "i"}], **spec)
    b.api.create("resourceclaims", {"metadata": {"name": f"{name}-dev", "namespace": "default", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": b.get(name)["metadata"]["uid"], "controller": True}]}, "spec": {
            "devices": {"requests": requests, "config": [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {}}}]}}})
    b.api.patch("pods", name, {"status": {"resourceClaimStatuses": [{"name": "dev", "resourceClaimName": f"{name}-dev"}]}}, sub="status")


def request(name, device_class, **more):
    return {"name": name, "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", **more}}


def test_claims_of_templates(bridge):
    """GPUs and CPUs of a claim that Kubernetes made are counted by Slurm, and no two pods are given the same."""
    where = {"nodeSelector": {"host": "d1"}}
    two = [request("g", "gpu.nvidia.com", count=1), request("more", "gpu.nvidia.com", count=1), request("c", "dra.cpu", count=3)]
    template_pod(bridge, "a", two, **where)
    bridge.bound("a", timeout=30)
    template_pod(bridge, "b", [request("g", "gpu.nvidia.com", count=1)], asks(gpu_nvidia_com=1, dra_cpu=2), **where)
    bridge.bound("b", timeout=30)
    status = bridge.api.get("resourceclaims", "a-dev")["status"]
    results = status["allocation"]["devices"]["results"]
    assert [(r["request"], r["driver"], r["pool"], r["device"]) for r in results] == [
        ("g", "gpu.nvidia.com", "d1", "gpu-0"), ("more", "gpu.nvidia.com", "d1", "gpu-1"),
        *(("c", "dra.cpu", "d1", f"cpu{i:03}") for i in (0, 4, 1))]
    assert status["allocation"]["devices"]["config"][0]["source"] == "FromClaim"
    assert status["reservedFor"] == [{"resource": "pods", "name": "a", "uid": bridge.get("a")["metadata"]["uid"]}]
    own, = claims(bridge, "b")
    assert devices(own, "gpu") == ["gpu-2"] and devices(own, "cpu") == ["cpu002", "cpu006"]
    assert devices(bridge.api.get("resourceclaims", "b-dev"), "g") == ["gpu-3"]
    assert bridge.c.run("squeue", "-h", "-p", "k8s", "-o", "%b").out.split() == ["gres/gpu:gpu.nvidia.com=2"] * 2
    template_pod(bridge, "c", [request("g", "gpu.nvidia.com")], **where)  # all four are held
    wait_until(lambda: told(bridge, "c")[0] == "SlurmPending", f"it waits: {told(bridge, 'c')}", 30)
    assert not bridge.node("c") and "status" not in bridge.api.get("resourceclaims", "c-dev")
    bridge.end("a")
    bridge.api.delete("pods", "a", gracePeriodSeconds=0)
    bridge.bound("c", timeout=30)
    assert devices(bridge.api.get("resourceclaims", "c-dev"), "g") in (["gpu-0"], ["gpu-1"])


def test_claims_of_templates_that_cannot_be_given(bridge):
    cases = {"alternatives": ({"name": "g", "firstAvailable": [{"name": "x", "deviceClassName": "gpu.nvidia.com"}]}, "exactly"),
             "chosen": (request("g", "gpu.nvidia.com", selectors=[{"cel": {"expression": "true"}}]), "selectors"),
             "part": (request("g", "mig.nvidia.com"), "mig.nvidia.com"),
             "all": ({"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}}, "allocationMode")}
    for name, (ask, why) in cases.items():
        template_pod(bridge, name, [ask])
        wait_until(lambda: told(bridge, name)[0] == "SlurmNotSupported" and why in told(bridge, name)[1], f"{name}: {told(bridge, name)}")
    assert not bridge.jobs()
