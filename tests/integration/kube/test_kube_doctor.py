"""penstock kube doctor: what it finds in a cluster of an API server of the tests."""

import base64
import json
import subprocess
import time

import pytest
from conftest import program, wait_until

from apiserver import ApiServer
from manifests import documents
from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given


def run_kube(*args):
    return subprocess.run([program("penstock"), "kube", *map(str, args)], capture_output=True, text=True, timeout=60)


def doctor(kubeconfig, *args):
    done = run_kube("doctor", "-k", kubeconfig, "--json", *args)
    return done.returncode, json.loads(done.stdout)


def found(report, check, result):
    return [c["text"] for c in report["checks"] if (c["check"], c["result"]) == (check, result)]


@pytest.fixture
def api(tmp_path):
    with ApiServer() as api:
        api.path = api.kubeconfig(tmp_path / "kubeconfig")
        api.create("nodes", {"metadata": {"name": "k1"}, "spec": {}, "status": {
            "nodeInfo": {"kubeletVersion": "v1.33.1"}, "conditions": [{"type": "Ready", "status": "True"}]}})
        api.create("deployments", {"metadata": {"name": "penstock-operator", "namespace": "penstock-operator"},
                                   "spec": {"replicas": 1}, "status": {"availableReplicas": 1}})
        yield api


def test_a_good_cluster(api):
    status, report = doctor(api.path)
    assert (status, report["result"]) == (0, "ok"), report
    assert {c["check"] for c in report["checks"]} == {"server", "identity", "clock", "kinds", "nodes", "operator", "rights"}
    assert found(report, "identity", "ok") == ["the API server knows us as tester"]
    done = run_kube("doctor", "-k", api.path)
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "ok       server    Kubernetes 1.33 answers"


def test_rights_are_those_of_the_manifest(api):
    status, _ = doctor(api.path)
    wanted = {(verb, group, resource) for d in documents("operator.yaml") if d["kind"] in ("ClusterRole", "Role") for rule in d["rules"]
              for verb in rule["verbs"] for group in rule["apiGroups"] for resource in rule["resources"]}
    assert status == 0 and {review[2:] for review in api.reviews} == wanted
    assert {review[0] for review in api.reviews} == {"system:serviceaccount:penstock-operator:penstock-operator"}
    assert {review[1] for review in api.reviews if review[4] == "leases"} == {"penstock-operator"}
    api.denied.add(("delete", "", "pods"))
    status, report = doctor(api.path)
    assert status == 1 and found(report, "rights", "failure") == [
        "service account penstock-operator of penstock-operator may not delete pods of the core group: kubectl apply -f "
        "deploy/kubernetes/operator.yaml"]
    assert not found(report, "rights", "ok")


def old_clock(seconds):
    return lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def change_kubelet(api):
    api.patch("nodes", "k1", {"status": {"nodeInfo": {"kubeletVersion": "v1.28.9"}}}, sub="status")


@pytest.mark.parametrize("spoil,check,result,text", [
    (lambda api: setattr(api, "minor", "28+"), "server", "failure", "Kubernetes 1.28 is too old"),
    (lambda api: setattr(api, "clock", old_clock(-20)), "clock", "warning", "ahead of"),
    (lambda api: setattr(api, "clock", old_clock(90)), "clock", "failure", "behind"),
    (lambda api: api.missing.add("tokens"), "kinds", "failure", "operator.penstock/v1beta1 has 5 of 6 kinds"),
    (lambda api: api.delete("deployments", "penstock-operator", "penstock-operator"), "operator", "failure", "there is no Deployment"),
    (lambda api: api.patch("nodes", "k1", {"spec": {"unschedulable": True}}), "nodes", "failure", "0 of 1 nodes"),
    (change_kubelet, "nodes", "failure", "the kubelet of k1 is v1.28.9"),
    (lambda api: api.fault("500", "GET", "/nodes"), "nodes", "failure", "500"),
    (lambda api: api.fault("json", "GET", "/nodes"), "nodes", "failure", "no answer"),
    (lambda api: api.forbidden.add("nodes"), "nodes", "note", "you may not see it"),
    (lambda api: api.forbidden.add("subjectaccessreviews"), "rights", "note", "you may not see it"),
    (lambda api: api.create("leases", {"metadata": {"name": "penstock-operator", "namespace": "penstock-operator"}, "spec": {
        "holderIdentity": "x", "renewTime": "2020-01-01T00:00:00.000000Z"}}), "operator", "failure", "no operator acts"),
    (lambda api: api.create("nodesets", {"metadata": {"name": "w", "namespace": "default"}, "spec": {"controllerRef": {"name": "c"}}}),
     "objects", "failure", "NodeSet default/w: the operator has not looked at it"),
    (lambda api: api.create("restapis", {"metadata": {"name": "r", "namespace": "default"}, "spec": {}}),
     "reach", "failure", "slurmrestd of RestApi default/r does not answer: 503"),
])
def test_what_is_wrong_is_said(api, spoil, check, result, text):
    spoil(api)
    status, report = doctor(api.path)
    assert any(text in one for one in found(report, check, result)), report
    assert status == (1 if any(c["result"] == "failure" for c in report["checks"]) else 0)
    assert result != "failure" or status == 1


def test_nobody_answers(tmp_path):
    with ApiServer() as api:
        api.kubeconfig(tmp_path / "kubeconfig")
    status, report = doctor(tmp_path / "kubeconfig")
    assert status == 1 and [c["check"] for c in report["checks"]] == ["server"]
    assert "no answer" in report["checks"][0]["text"]


def test_a_wrong_token(tmp_path):
    with ApiServer(token="right") as api:
        api.kubeconfig(tmp_path / "kubeconfig")
        text = (tmp_path / "kubeconfig").read_text()
        (tmp_path / "kubeconfig").write_text(text.replace("right", "wrong"))
        status, report = doctor(tmp_path / "kubeconfig")
    assert status == 1 and "does not believe who we are" in report["checks"][0]["text"]


@pytest.mark.parametrize("args,status,text", [
    ([], 2, "a command is wanted: doctor, wait-pods JOB"),
    (["docter"], 2, "the commands are doctor, and wait-pods with a job's number"),
    (["doctor", "more"], 2, "the commands are doctor, and wait-pods with a job's number"),
    (["doctor", "--namespace", "../x"], 2, "--namespace: '../x' is no name of Kubernetes"),
    (["doctor", "-k", "/nowhere/kubeconfig"], 1, "/nowhere/kubeconfig: No such file or directory"),
    (["doctor", "--nonsense"], 2, "Usage: penstock kube doctor"),
    (["wait-pods"], 2, "wait-pods with a job's number"),
    (["wait-pods", "7x"], 2, "wait-pods with a job's number"),
    (["wait-pods", "--limit", "0", "7"], 2, "--limit: '0' is no number of 1 to 86400"),
])
def test_command_lines(args, status, text):
    done = run_kube(*args)
    assert done.returncode == status and text in done.stderr and not done.stdout


def test_a_cluster_that_runs(op):
    """The operator has made tokens and slurmrestd: the doctor finds both good."""
    op.make("restapis", "RestApi", "r", controllerRef={"name": "c"})
    op.make("tokens", "Token", "t", username="root", jwtKeyRef={"name": "jwt", "key": "jwt.key"}, lifetime="1h")
    wait_until(lambda: op.condition("Ready", "tokens", "t")["status"] == "True", "a token")
    op.api.services["r-restapi:6820"] = op.url
    _, report = doctor(op.folder / "kubeconfig")
    assert found(report, "reach", "ok") == ["slurmrestd of RestApi default/r answers"]
    assert any(text.startswith("the token in Secret default/t-jwt-root is good for ") for text in found(report, "tokens", "ok"))
    assert any(text.startswith("Controller default/c: ") for text in found(report, "objects", "warning")), report
    op.kill()
    op.api.patch("secrets", "t-jwt-root", {"data": {"SLURM_JWT": base64.b64encode(b"SLURM_JWT=no").decode()}})
    _, report = doctor(op.folder / "kubeconfig")
    assert found(report, "tokens", "failure") == ["Secret default/t-jwt-root has no token at key SLURM_JWT: the Token's status says why"]


def make_bound(api, phase):
    api.create("pods", {"metadata": {"name": "a", "namespace": "default", "labels": {"scheduler.slinky.slurm.net/slurm-jobid": "7"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]}})
    api.store.bind("default", "a", {"target": {"kind": "Node", "name": "k1"}})
    api.patch("pods", "a", {"status": {"phase": phase}}, sub="status")


def test_pods_that_are_waited_for(tmp_path):
    """It ends with the last pod of the job, not while nobody answers, and not for ever."""
    with ApiServer() as server:
        config = server.kubeconfig(tmp_path / "config")
        assert run_kube("wait-pods", "-k", config, "7").returncode == 0
        make_bound(server, "Running")
        late = run_kube("wait-pods", "-k", config, "--limit", "1", "7")
        assert late.returncode == 1 and "pods of job 7 are there yet" in late.stderr
        assert run_kube("wait-pods", "-k", config, "--limit", "1", "77").returncode == 0
        server.delete("pods", "a")
        waiting = subprocess.Popen([program("penstock"), "kube", "wait-pods", "-k", str(config), "7"])
        before = server.requests
        wait_until(lambda: server.requests >= before + 2, "it has asked twice")
        assert waiting.poll() is None  # its containers have not ended
        server.fault("500", "GET", "/pods")
        server.fault("json", "GET", "/pods")
        wait_until(lambda: not server.faults, "it is not answered")
        assert waiting.poll() is None
        server.patch("pods", "a", {"status": {"phase": "Failed"}}, sub="status")
        assert waiting.wait(30) == 0
