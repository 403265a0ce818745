"""Our client, definitions, roles and operator on a real kube-apiserver: what the API server of the tests may be too kind about."""

import base64

import pytest
from conftest import Daemon, program, wait_until
from manifests import documents
from realserver import RealServer, Refused, missing
from restd import Restd
from test_kube_client import Probe, pod, probe_program  # noqa: F401  a fixture

OPERATOR = "system:serviceaccount:penstock-operator:penstock-operator"
BRIDGE = "system:serviceaccount:slurm-bridge:penstock-bridge"
PODS = "/api/v1/namespaces/default/pods"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
SETS = "/apis/operator.penstock/v1beta1/namespaces/default/nodesets"
FILES = ("operator.yaml", "bridge.yaml", "login.yaml", "cluster.yaml", "webhook.yaml")  # the webhook last: it is asked from then on

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=12\nAuthAltTypes=auth/jwt\nPartitionName=k8s Nodes=ext[1-4]"}  # slurmctld's, for the bridge

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is one")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RealServer(tmp_path_factory.mktemp("server"), (OPERATOR, BRIDGE)) as server:
        yield server


@pytest.fixture(scope="module")
def defined(server):
    """The server, with our kinds."""
    for one in documents("crds.yaml"):
        server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
    for one in documents("crds.yaml"):
        wait_until(lambda: established(server, one["metadata"]["name"]), f"{one['metadata']['name']} is established", 60)
    wait_until(lambda: served(server), "they are served", 60)
    return server


def established(server, name):
    conditions = server.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")["status"].get("conditions", [])
    assert not any(c["type"] == "NonStructuralSchema" and c["status"] == "True" for c in conditions), conditions
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def served(server):
    answer = server.get("/apis/operator.penstock/v1beta1")
    return answer and len([r for r in answer["resources"] if "/" not in r["name"]]) == 6


@pytest.fixture
def probe(server, probe_program, tmp_path):  # noqa: F811
    started, config = [], server.kubeconfig(tmp_path / "config")

    def begin(*words):
        started.append(Probe(probe_program, config, *words))
        return started[-1]
    yield begin
    for one in started:
        one.stop()
    for one in server.items(PODS):
        server.delete(f"{PODS}/{one['metadata']['name']}?gracePeriodSeconds=0")
    wait_until(lambda: not server.items(PODS), "no pod is left")


def test_every_change_of_pods(server, probe):
    for i in range(25):
        server.create(PODS, pod(f"p{i:02}"))
    one = probe("watch", "10")
    one.wait("synced", "25")
    server.patch(f"{PODS}/p03", {"metadata": {"labels": {"a": "b"}}})
    server.delete(f"{PODS}/p04?gracePeriodSeconds=0")
    one.wait("changed", "p03")
    one.wait("deleted", "p04")
    assert sorted(one.names("added")) == [f"p{i:02}" for i in range(25)]


def test_changes_at_once(server, probe):
    server.create(PODS, pod("a", annotations={"x/other": "kept"}))
    one = probe("count", "a", "5")
    wait_until(lambda: len(one.lines) == 5, "five answers", 60)
    assert [words[0] for words in one.lines] == ["200"] * 5, one.lines
    assert server.get(f"{PODS}/a")["metadata"]["annotations"] == {"x/other": "kept", "x/n": "5"}


def test_a_lease_has_one_holder(server, probe):
    first = probe("lease", "l", "one")
    first.wait("held")
    second = probe("lease", "l", "two")
    first.stop()
    second.wait("held")
    lease = server.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/l")["spec"]
    assert (lease["holderIdentity"], lease["leaseTransitions"]) == ("two", 1)


def test_what_we_deploy_is_accepted(defined):
    """Each object of deploy/kubernetes, with no field that the server does not know."""
    refused = []
    for file in FILES:
        for one in documents(file):
            try:
                defined.create(defined.path_of(one), one)
            except Refused as error:
                if error.code != 409:
                    refused.append((file, one["kind"], one["metadata"]["name"], str(error)))
    for kind in ("validating", "mutating"):  # nobody answers for the webhook here
        for one in defined.items(f"{HOOKS}/{kind}webhookconfigurations"):
            defined.delete(f"{HOOKS}/{kind}webhookconfigurations/{one['metadata']['name']}")
    assert not refused


def test_wrong_values_are_refused(defined):
    """The definitions hold what the operator could not act on."""
    for spec in ({"replicas": -1}, {"replicas": "three"}, {"scalingMode": "Sometimes"}):
        with pytest.raises(Refused) as error:
            defined.create(SETS, nodeset("wrong", **spec))
        assert error.value.code in (400, 422), (spec, error.value)


def nodeset(name, **spec):
    return {"apiVersion": "operator.penstock/v1beta1", "kind": "NodeSet", "metadata": {"name": name, "namespace": "default"},
            "spec": {"controllerRef": {"name": "real"}, **spec}}


@pytest.fixture
def operator(defined, tmp_path):
    """penstock-operator with the rights of its service account and no more."""
    for one in documents("operator.yaml"):
        try:
            defined.create(defined.path_of(one), one)
        except Refused as error:
            assert error.code == 409, error
    for name, where in (("real-slurm", "slurm.key"), ("real-jwt", "jwt.key")):
        defined.create("/api/v1/namespaces/default/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {
            where: base64.b64encode(b"k" * 32).decode()}})
    defined.create(SETS.replace("nodesets", "controllers"), {
        "apiVersion": "operator.penstock/v1beta1", "kind": "Controller", "metadata": {"name": "real", "namespace": "default"},
        "spec": {"clusterName": "real", "slurmKeyRef": {"name": "real-slurm", "key": "slurm.key"},
                 "jwtKeyRef": {"name": "real-jwt", "key": "jwt.key"}}})
    daemon = Daemon("penstock-operator", [
        program("penstock-operator"), "-vv", "-k", str(defined.kubeconfig(tmp_path / "config", OPERATOR)), "--rest-url",
        "http://127.0.0.1:1", "--slurm-user", "root", "--image", "penstock"], tmp_path / "operator.log", None)
    yield daemon
    log = (tmp_path / "operator.log.stderr").read_text()
    assert daemon.stop() == 0, log[-3000:]
    assert not refusals(log)


def refusals(log):
    """What the server refused: for want of a right, or as no valid object."""
    return [line for line in log.splitlines() if "the API server: 403" in line or "the API server: 422" in line or " is forbidden" in line]


def test_a_cluster_is_made(defined, operator):
    """slurmctld's StatefulSet, its Service and configuration, and the workers' pods pass the real validation; slurmrestd that does
    not answer deletes nothing."""
    defined.create(SETS, nodeset("w", replicas=3))
    apps, core = "/apis/apps/v1/namespaces/default", "/api/v1/namespaces/default"

    def workers():
        return sorted(p["metadata"]["name"] for p in defined.items(PODS)
                      if p["metadata"].get("labels", {}).get("app.kubernetes.io/instance") == "w")
    wait_until(lambda: workers() == ["w-0", "w-1", "w-2"], "the workers are made", 60)
    wait_until(lambda: defined.items(f"{apps}/statefulsets"), "slurmctld's StatefulSet", 60)
    assert defined.items(f"{core}/services") and defined.items(f"{core}/configmaps")
    wait_until(lambda: defined.get(f"{SETS}/w").get("status", {}).get("replicas") == 3, "the status is written", 60)
    scale = defined.get(f"{SETS}/w/scale")
    assert scale["spec"]["replicas"] == 3 and scale["status"]["selector"]
    defined.patch(f"{SETS}/w/scale", {"spec": {"replicas": 4}})
    wait_until(lambda: workers() == ["w-0", "w-1", "w-2", "w-3"], "the scale subresource acts", 60)

    def uids():
        return sorted(p["metadata"]["uid"] for p in defined.items(PODS) if p["metadata"]["labels"]["app.kubernetes.io/instance"] == "w")
    for name in workers():  # as a scheduler and a kubelet do; pods that never ran hold no job, and may go
        defined.ask("POST", f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                        "target": {"kind": "Node", "name": "somewhere"}})
        defined.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
    before = uids()
    changed = defined.patch(f"{SETS}/w/scale", {"spec": {"replicas": 1}})
    wait_until(lambda: seen(defined.get(f"{SETS}/w"), changed), "the operator has seen that fewer are wanted", 60)
    assert uids() == before


def seen(nodeset, scale):
    """Has the operator judged the set since the scale was changed, and said that it does not know whether workers are drained?"""
    status = nodeset["status"]
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")
    return status["desired"] == scale["spec"]["replicas"] == 1 and ready["reason"] == "SlurmUnknown"


@pytest.fixture
def bridge(defined, shared, tmp_path):
    """penstock-bridge with the rights of its service account and no more, four nodes, and a slurmctld that knows them."""
    shared.run("scontrol", "create", "nodename=ext[1-4]", "cpus=4", "realmemory=1000", "state=external")
    for one in documents("bridge.yaml"):
        try:
            defined.create(defined.path_of(one), one)
        except Refused as error:
            assert error.code == 409, error
    for i in range(1, 5):
        defined.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"ext{i}"}})
        defined.patch(f"/api/v1/nodes/ext{i}", {"spec": {"taints": None}})  # as the node's controller does once it is ready
    with Restd(shared) as rest:
        (tmp_path / "token").write_text(rest.token("root"))
        (tmp_path / "config.yaml").write_text(f"slurmRestApi: http://127.0.0.1:{rest.port}\npartition: k8s\n")
        daemon = Daemon("penstock-bridge", [program("penstock-bridge"), "-vv", "-f", str(tmp_path / "config.yaml"), "-k",
                                            str(defined.kubeconfig(tmp_path / "config", BRIDGE))],
                        tmp_path / "bridge.log", {**shared.env, "SLURM_JWT_FILE": str(tmp_path / "token")})
        yield daemon
        log = (tmp_path / "bridge.log.stderr").read_text()
        assert daemon.stop() == 0, log[-3000:]
        assert not refusals(log)


def worker(name, i, size):
    """A pod of a gang, as LeaderWorkerSet labels them."""
    label = "leaderworkerset.sigs.k8s.io/"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"{name}-{i}", "namespace": "default", "annotations": {label + "size": str(size)},
        "labels": {label + "group-key": name, label + "name": name, label + "group-index": "0", label + "worker-index": str(i)}},
        "spec": {"schedulerName": "slurm-bridge-scheduler", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}}


def test_a_gang_is_bound(defined, bridge, shared):
    """Four pods become one job, are bound by the real binding, and their job ends with them."""
    for i in range(4):
        defined.create(PODS, worker("g", i, 4))

    def get(i):
        return defined.get(f"{PODS}/g-{i}")
    wait_until(lambda: all(get(i)["spec"].get("nodeName") for i in range(4)), "all are bound", 60)
    assert len({get(i)["spec"]["nodeName"] for i in range(4)}) == 4
    job, = {get(i)["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"] for i in range(4)}
    assert shared.run("squeue", "-h", "-j", job, "-o", "%T %D").out == "RUNNING 4\n"
    for i in range(4):
        defined.patch(f"{PODS}/g-{i}/status", {"status": {"phase": "Succeeded"}})
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "the job ends", 60)
    wait_until(lambda: not any(get(i)["metadata"].get("finalizers") for i in range(4)), "the pods are let go", 60)
    defined.create(PODS, worker("h", 0, 1))
    wait_until(lambda: defined.get(f"{PODS}/h-0")["spec"].get("nodeName"), "the next is bound", 60)
    defined.delete(f"{PODS}/h-0?gracePeriodSeconds=0")
    wait_until(lambda: not defined.get(f"{PODS}/h-0"), "it goes", 60)
    wait_until(lambda: not shared.run("squeue", "-h", "-p", "k8s").out, "and its job", 60)
