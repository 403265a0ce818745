"""Ours beside kube-controller-manager on a real kube-apiserver: webhooks over HTTPS, owners and what they own, budgets, autoscalers, and
pods that Kubernetes' own controllers make."""

import base64
import os
import signal
from contextlib import contextmanager

import pytest
from conftest import Daemon, program, wait_until
from manifests import documents
from operated import PREFIX
from realserver import RealServer, Refused, SERVICE_IP, missing
from restd import Restd
from test_kube_real import BRIDGE, CLUSTER, OPERATOR, PODS, SETS, established, nodeset, refusals, served

WEBHOOK = "system:serviceaccount:penstock-operator:penstock-webhook"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CORE, APPS, BATCH = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
RESOURCE = "/apis/resource.k8s.io/v1"
CONTROLLERS = SETS.replace("nodesets", "controllers")
CLASS = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
CLUSTER = {**CLUSTER, "conf": "MaxNodeCount=12\nAuthAltTypes=auth/jwt\nGresTypes=gpu\nNodeSet=k8s Feature=k8s\nPartitionName=k8s Nodes=k8s"}
SCHEDULER = "slurm-bridge-scheduler"

pytestmark = pytest.mark.skipif(bool(missing(manager=True)), reason=missing(manager=True) or "there is one")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RealServer(tmp_path_factory.mktemp("managed"), (OPERATOR, BRIDGE, WEBHOOK), manager=True,
                    flags=("--feature-gates=DRAExtendedResource=true",)) as server:
        for one in documents("crds.yaml"):
            server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
        for one in documents("crds.yaml"):
            wait_until(lambda: established(server, one["metadata"]["name"]), f"{one['metadata']['name']} is established", 60)
        wait_until(lambda: served(server), "they are served", 60)
        for file in ("operator.yaml", "bridge.yaml", "webhook.yaml"):
            for one in documents(file):
                if one["kind"] not in ("Deployment", "Token") and not one["kind"].endswith("WebhookConfiguration"):
                    if one["kind"] == "Service":
                        one["spec"]["clusterIP"] = SERVICE_IP
                    server.create(server.path_of(one), one)
        yield server


# ---- webhooks

@contextmanager
def hooked(server, folder, config):
    """penstock-webhook with the rights of its service account, at the address of its Service."""
    for one in documents("webhook.yaml"):
        if one["kind"].endswith("WebhookConfiguration"):
            server.create(server.path_of(one), one)
    (folder / "bridge.yaml").write_text(config)
    daemon = Daemon("penstock-webhook", [
        program("penstock-webhook"), "-v", "-k", str(server.kubeconfig(folder / "config", WEBHOOK)), "--listen", f"{SERVICE_IP}:443",
        "-f", str(folder / "bridge.yaml")], folder / "webhook.log", dict(os.environ))
    try:
        yield daemon
    finally:
        for kind in ("validating", "mutating"):
            server.delete(f"{HOOKS}/{kind}webhookconfigurations/penstock-webhook")
        log = (folder / "webhook.log.stderr").read_text()
        assert (daemon.stop() if daemon.alive() else 0) == 0, log[-3000:]
    assert not refusals(log)


@pytest.fixture
def webhook(server, tmp_path):
    with hooked(server, tmp_path, next(d for d in documents("webhook.yaml") if d["kind"] == "ConfigMap")["data"]["bridge.yaml"]) as daemon:
        yield daemon


def test_namespaces_by_their_labels(server, tmp_path):
    """The API server applies the selector that the webhook told it, without a word of ours to the new namespace."""
    with hooked(server, tmp_path, "managedNamespaceSelector:\n  matchLabels: {slurm: 'yes'}\n"):
        wait_until(lambda: bundled(server), "the bundles are told", 60)
        wait_until(lambda: answers(server), "the API server trusts it", 60)
        for name, labels in (("mine", {"slurm": "yes"}), ("other", {})):
            server.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})

        def scheduler(namespace):
            return server.ask("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod("p"))["spec"]["schedulerName"]
        wait_until(lambda: scheduler("mine") == SCHEDULER, "pods of the namespace are changed", 60)
        assert scheduler("other") == "default-scheduler"


def bundled(server):
    hooks = [h for kind in ("validating", "mutating") for h in server.get(f"{HOOKS}/{kind}webhookconfigurations/penstock-webhook")["webhooks"]]
    return all(h["clientConfig"].get("caBundle") for h in hooks)


def answers(server):
    """The API server uses a bundle some moments after it is stored: until then it trusts nobody, and calls fail."""
    try:
        server.ask("POST", SETS + "?dryRun=All", nodeset("probe"))
    except Refused as error:
        assert error.code == 500 and "failed calling webhook" in str(error), error
        return False
    return True


def pod(name, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}], **spec}}


def test_webhooks_over_https(server, webhook):
    """The API server asks it by its Service, with the certificate that it made and told; nothing is written while it is away."""
    wait_until(lambda: bundled(server), "the bundles are told", 60)
    wait_until(lambda: answers(server), "the API server trusts it", 60)
    for spec, why in (({"controllerRef": {"name": ""}}, "controllerRef"), ({"scalingMode": "Sometimes"}, "scalingMode")):
        with pytest.raises(Refused) as error:
            server.create(SETS, {**nodeset("wrong"), "spec": {**nodeset("wrong")["spec"], **spec}})
        assert error.value.code in (400, 403, 422) and why in str(error.value), (spec, str(error.value))
    server.create(SETS, nodeset("hooked", replicas=0))
    with pytest.raises(Refused) as error:
        server.patch(f"{SETS}/hooked", {"spec": {"controllerRef": {"name": "other"}}})
    assert "admission webhook" in str(error.value) and "controllerRef" in str(error.value)
    server.delete(f"{SETS}/hooked")
    ours = "/api/v1/namespaces/slurm-bridge/pods"
    made = server.create(ours, pod("p"))
    assert made["spec"]["schedulerName"] == SCHEDULER
    assert {"key": "slinky.slurm.net/managed-node", "operator": "Equal", "value": SCHEDULER, "effect": "NoExecute"} in made["spec"]["tolerations"]
    with pytest.raises(Refused) as error:
        server.create(ours, {**pod("q"), "metadata": {"name": "q", "labels": {"scheduler.slinky.slurm.net/slurm-jobid": "1"}}})
    assert "is the bridge's own" in str(error.value)
    with pytest.raises(Refused) as error:
        server.ask("PATCH", f"{ours}/p/resize", {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}},
                   "application/strategic-merge-patch+json")
    assert "cannot be resized" in str(error.value)
    server.delete(f"{ours}/p?gracePeriodSeconds=0")
    assert server.create(PODS, pod("elsewhere"))["spec"]["schedulerName"] == "default-scheduler"
    server.delete(f"{PODS}/elsewhere?gracePeriodSeconds=0")
    assert webhook.stop() == 0
    with pytest.raises(Refused) as error:
        server.create(SETS, nodeset("nobody"))
    assert "failed calling webhook" in str(error.value)


# ---- the operator

@pytest.fixture(scope="module")
def operator(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("operator")
    for name, where in (("real-slurm", "slurm.key"), ("real-jwt", "jwt.key")):
        server.create(f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {
            where: base64.b64encode(b"k" * 32).decode()}})
    server.create(CONTROLLERS, {
        "apiVersion": "operator.penstock/v1beta1", "kind": "Controller", "metadata": {"name": "real", "namespace": "default"},
        "spec": {"clusterName": "real", "slurmKeyRef": {"name": "real-slurm", "key": "slurm.key"},
                 "jwtKeyRef": {"name": "real-jwt", "key": "jwt.key"}}})
    daemon = Daemon("penstock-operator", [
        program("penstock-operator"), "-vv", "-k", str(server.kubeconfig(folder / "config", OPERATOR)), "--rest-url",
        "http://127.0.0.1:1", "--slurm-user", "root", "--image", "penstock"], folder / "operator.log", None)
    yield daemon
    log = (folder / "operator.log.stderr").read_text()
    assert daemon.stop() == 0, log[-3000:]
    assert not refusals(log)


def workers(server, name):
    return sorted(p["metadata"]["name"] for p in server.items(PODS)
                  if p["metadata"].get("labels", {}).get("app.kubernetes.io/instance") == name)


def run(server, name):
    """As a scheduler and a kubelet do."""
    server.ask("POST", f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                   "target": {"kind": "Node", "name": "somewhere"}})
    server.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})


def test_the_statefulset_controller_makes_slurmctld(server, operator):
    wait_until(lambda: server.get(f"{PODS}/real-controller-0"), "the pod of slurmctld is made", 60)


def test_an_autoscaler_scales_a_set(server, operator):
    """A HorizontalPodAutoscaler finds the set's scale subresource, and its bounds act without metrics."""
    server.create(SETS, nodeset("hpa", replicas=1))
    wait_until(lambda: workers(server, "hpa") == ["hpa-0"], "a worker is made", 60)
    scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    server.create(scalers, {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "hpa"}, "spec": {
        "scaleTargetRef": {"apiVersion": "operator.penstock/v1beta1", "kind": "NodeSet", "name": "hpa"}, "minReplicas": 3, "maxReplicas": 5,
        "metrics": [{"type": "External", "external": {"metric": {"name": "slurm_partition_jobs_pending"},
                                                      "target": {"type": "Value", "value": "1"}}}]}})
    wait_until(lambda: workers(server, "hpa") == ["hpa-0", "hpa-1", "hpa-2"], "it has the autoscaler's least", 60)
    assert server.get(f"{SETS}/hpa")["spec"]["replicas"] == 3
    wait_until(lambda: any(c["type"] == "AbleToScale" and c["status"] == "True" for c in server.get(f"{scalers}/hpa")["status"]["conditions"]),
               "it says that it can scale", 60)
    server.delete(f"{scalers}/hpa")


def test_an_eviction_waits_for_the_budget(server, operator):
    """A worker is in the budget that forbids evictions from its making on; without the mark, as once it is drained, it may go."""
    budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/slurm-workers-pdb-real"
    server.create(SETS, nodeset("evict", replicas=1))
    wait_until(lambda: workers(server, "evict") == ["evict-0"], "the worker is made", 60)
    run(server, "evict-0")
    selector = server.get(budget)["spec"]["selector"]["matchLabels"]
    mark = PREFIX + "pod-protect"
    assert selector.items() <= server.get(f"{PODS}/evict-0")["metadata"]["labels"].items() and mark in selector
    wait_until(lambda: server.get(budget).get("status", {}).get("expectedPods"), "the budget counts it", 60)
    assert server.get(budget)["status"]["disruptionsAllowed"] == 0

    def evict():
        server.ask("POST", f"{PODS}/evict-0/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evict-0"},
                                                         "deleteOptions": {"gracePeriodSeconds": 0}})
    with pytest.raises(Refused) as error:
        evict()
    assert error.value.code == 429, error.value
    before = server.get(f"{PODS}/evict-0")["metadata"]["uid"]
    server.patch(f"{PODS}/evict-0", {"metadata": {"labels": {mark: None}}})
    evict()
    wait_until(lambda: (server.get(f"{PODS}/evict-0") or {"metadata": {"uid": before}})["metadata"]["uid"] != before, "it is made anew", 60)


def test_no_eviction_while_a_set_shrinks(server, operator):
    """Kubernetes counts a budget by what the set asks for: a set that is to shrink leaves some over, and which ones the operator says."""
    budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/slurm-workers-pdb-real"
    names = ["shrink-0", "shrink-1", "shrink-2"]
    server.create(SETS, nodeset("shrink", replicas=3))
    wait_until(lambda: workers(server, "shrink") == names, "the workers are made", 60)
    for name in names:
        run(server, name)
    wait_until(lambda: server.get(budget).get("status", {}).get("expectedPods", 0) >= 3, "the budget counts them", 60)
    operator.process.send_signal(signal.SIGSTOP)
    try:
        server.patch(f"{SETS}/shrink", {"spec": {"replicas": 1}})
        server.patch(f"{PODS}/shrink-2/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
        wait_until(lambda: server.get(budget)["status"]["currentHealthy"] == 2, "the budget is counted anew", 60)
        for name in names:
            with pytest.raises(Refused) as error:
                server.ask("POST", f"{PODS}/{name}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
            assert error.value.code == 429, name
    finally:
        operator.process.send_signal(signal.SIGCONT)
    server.delete(f"{SETS}/shrink")
    for name in names:
        server.delete(f"{PODS}/{name}?gracePeriodSeconds=0")


def test_what_is_owned_goes_with_its_owner(server, operator):
    """The garbage collector finds by owner references all that was made."""
    server.create(SETS, nodeset("gone", replicas=2))
    wait_until(lambda: workers(server, "gone") == ["gone-0", "gone-1"], "the workers are made", 60)
    revisions = f"{APPS}/controllerrevisions"
    assert any(r["metadata"]["name"].startswith("gone-") for r in server.items(revisions))
    server.delete(f"{SETS}/gone")
    wait_until(lambda: not workers(server, "gone"), "its pods go", 90)
    wait_until(lambda: not any(r["metadata"]["name"].startswith("gone-") for r in server.items(revisions)), "and its revisions", 60)
    for one in server.items(SETS):
        server.delete(f"{SETS}/{one['metadata']['name']}")
    server.delete(f"{CONTROLLERS}/real")
    for path in (f"{APPS}/statefulsets", f"{CORE}/configmaps", f"{CORE}/services", budgets()):
        wait_until(lambda: not [o for o in server.items(path) if owned(o, "Controller")], f"nothing of {path} is left", 90)
    assert {s["metadata"]["name"] for s in server.items(f"{CORE}/secrets")} >= {"real-slurm", "real-jwt"}  # the user's own


def budgets():
    return "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def owned(obj, kind):
    return any(r["kind"] == kind for r in obj["metadata"].get("ownerReferences", []))


# ---- the bridge

@pytest.fixture(scope="module")
def bridge(server, shared, tmp_path_factory):
    """penstock-bridge with the rights of its service account; nodes that it makes in slurmctld, with GPUs and channels."""
    folder = tmp_path_factory.mktemp("bridge")
    for name in ("gpu.nvidia.com", CHANNEL_CLASS):
        server.create(f"{RESOURCE}/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
                                                    "spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    for i in range(1, 4):
        name = f"k{i}"
        server.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"scheduler.slinky.slurm.net/external-node": ""},
            "annotations": {"scheduler.slinky.slurm.net/external-node-partitions": "k8s"}}})
        server.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
        server.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": {"cpu": "4", "memory": "2Gi"}}})
        for driver, devices in (("gpu.nvidia.com", [(f"gpu-{k}", {"type": {"string": "gpu"}}) for k in range(2)]),
                                ("compute-domain.nvidia.com", [("channel-0", {"type": {"string": "channel"}, "id": {"int": 0}})])):
            server.create(f"{RESOURCE}/resourceslices", {
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{name}-{driver}"}, "spec": {
                    "driver": driver, "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": n, "attributes": a} for n, a in devices]}})
    with Restd(shared) as rest:
        (folder / "token").write_text(rest.token("root"))
        (folder / "config.yaml").write_text(f"slurmRestApi: http://127.0.0.1:{rest.port}\npartition: k8s\n")
        daemon = Daemon("penstock-bridge", [program("penstock-bridge"), "-vv", "-f", str(folder / "config.yaml"), "-k",
                                            str(server.kubeconfig(folder / "config", BRIDGE))],
                        folder / "bridge.log", {**shared.env, "SLURM_JWT_FILE": str(folder / "token")})
        wait_until(lambda: shared.run("sinfo", "-h", "-p", "k8s", "-o", "%D %G").out == "3 gpu:gpu.nvidia.com:2\n", "nodes are made", 60)
        yield daemon
        log = (folder / "bridge.log.stderr").read_text()
        assert daemon.stop() == 0, log[-3000:]
        assert not refusals(log)


def template(labels, **spec):
    return {"metadata": {"labels": labels}, "spec": {"schedulerName": SCHEDULER, "restartPolicy": "Never", "containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}], **spec}}


def bound(server, label):
    return [p for p in server.items(f"{PODS}?labelSelector={label}") if p["spec"].get("nodeName") and not p["metadata"].get("deletionTimestamp")]


def job_of(pod_):
    return pod_["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"]


def test_pods_of_a_job(server, bridge, shared):
    """The job controller makes pods, which are placed; when they have succeeded the Job is complete, and nothing is left in Slurm."""
    server.create(f"{BATCH}/jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {
        "name": "two", "annotations": {"slurmjob.slinky.slurm.net/timelimit": "30"}},
        "spec": {"completions": 2, "parallelism": 2, "template": template({"app": "two"})}})
    wait_until(lambda: len(bound(server, "app=two")) == 2, "both are bound", 60)
    for one in bound(server, "app=two"):
        assert "TimeLimit=00:30:00" in shared.run("scontrol", "show", "job", job_of(one)).out
        server.patch(f"{PODS}/{one['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
    wait_until(lambda: server.get(f"{BATCH}/jobs/two")["status"].get("succeeded") == 2, "the Job is complete", 90)
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "no job is left", 60)
    server.delete(f"{BATCH}/jobs/two?propagationPolicy=Background")
    wait_until(lambda: not server.items(f"{PODS}?labelSelector=app=two"), "the pods go", 60)


def test_pods_of_a_replicaset(server, bridge, shared):
    """A job that is cancelled ends its pod, and the replica set's next pod is another job."""
    spec = template({"app": "rs"})
    spec["spec"]["restartPolicy"] = "Always"
    server.create(f"{APPS}/replicasets", {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "rs"}}, "template": spec}})
    first, = wait_until(lambda: bound(server, "app=rs"), "it is bound", 60)
    shared.run("scancel", job_of(first))
    wait_until(lambda: (server.get(f"{PODS}/{first['metadata']['name']}") or {"metadata": {"deletionTimestamp": "gone"}})["metadata"].get(
        "deletionTimestamp"), "its pod is deleted", 60)
    server.ask("DELETE", f"{PODS}/{first['metadata']['name']}?gracePeriodSeconds=0")  # as its kubelet does
    second = wait_until(lambda: [p for p in bound(server, "app=rs") if p["metadata"]["uid"] != first["metadata"]["uid"]],
                        "the next is bound", 90)
    assert job_of(second[0]) != job_of(first)
    server.delete(f"{APPS}/replicasets/rs?propagationPolicy=Background")
    wait_until(lambda: kubelet_ends(server, "app=rs"), "the pods go", 60)
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "no job is left", 60)


def kubelet_ends(server, label):
    left = server.items(f"{PODS}?labelSelector={label}")
    for one in left:
        if one["metadata"].get("deletionTimestamp"):
            try:
                server.ask("DELETE", f"{PODS}/{one['metadata']['name']}?gracePeriodSeconds=0")
            except Refused as error:
                assert error.code == 404, error
    return not left


def test_devices_of_a_class(server, bridge, shared):
    """The real server takes the claim, its allocation and the pod's word of it; the claim goes when the pod is over."""
    limits = {CLASS: "1"}
    server.create(PODS, pod("dra", schedulerName=SCHEDULER, containers=[{"name": "c", "image": "i", "resources": {
        "requests": {"cpu": "1", "memory": "64Mi", **limits}, "limits": limits}}]))
    wait_until(lambda: server.get(f"{PODS}/dra")["spec"].get("nodeName"), "it is bound", 60)
    one = server.get(f"{PODS}/dra")
    name = one["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    claim = server.get(f"{RESOURCE}/namespaces/default/resourceclaims/{name}")
    result, = claim["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == ("gpu.nvidia.com", one["spec"]["nodeName"], "gpu-0")
    assert claim["status"]["reservedFor"][0]["uid"] == one["metadata"]["uid"]
    server.patch(f"{PODS}/dra/status", {"status": {"phase": "Succeeded"}})
    wait_until(lambda: not server.get(f"{RESOURCE}/namespaces/default/resourceclaims/{name}"), "the claim goes", 60)
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "no job is left", 60)
    server.delete(f"{PODS}/dra?gracePeriodSeconds=0")


def test_channels_of_a_compute_domain(server, bridge, shared):
    """Claims that the claim controller makes of a template, given for a gang of three."""
    server.create(f"{RESOURCE}/namespaces/default/resourceclaimtemplates", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "domain"}, "spec": {"spec": {"devices": {
            "requests": [{"name": "channel", "exactly": {"deviceClassName": CHANNEL_CLASS}}],
            "config": [{"requests": ["channel"], "opaque": {"driver": "compute-domain.nvidia.com", "parameters": {
                "apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig", "domainID": "1"}}}]}}}})
    label = "leaderworkerset.sigs.k8s.io/"
    for i in range(3):
        one = pod(f"cd-{i}", schedulerName=SCHEDULER, resourceClaims=[{"name": "ch", "resourceClaimTemplateName": "domain"}])
        one["metadata"].update(labels={label + "group-key": "cd", label + "name": "cd", label + "group-index": "0", "app": "cd",
                                       label + "worker-index": str(i)}, annotations={label + "size": "3"})
        server.create(PODS, one)
    wait_until(lambda: len(bound(server, "app=cd")) == 3, "all are bound", 90)
    for one in bound(server, "app=cd"):
        name = one["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        status = server.get(f"{RESOURCE}/namespaces/default/resourceclaims/{name}")["status"]
        assert status["allocation"]["devices"]["results"][0]["pool"] == one["spec"]["nodeName"]
        assert status["allocation"]["devices"]["config"][0]["source"] == "FromClaim"
    for i in range(3):
        server.delete(f"{PODS}/cd-{i}?gracePeriodSeconds=0")
    wait_until(lambda: not server.items(f"{PODS}?labelSelector=app=cd"), "the pods go", 60)
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "no job is left", 60)
