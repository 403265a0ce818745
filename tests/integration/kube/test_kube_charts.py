"""deploy/charts as Helm's engine renders them, and deploy/kubernetes with kubectl's kustomize.

The rendered charts are tests/golden/charts, which tests/charts/run holds against the charts: the operator's kinds are valid, the
rights are those of the manifests, and the operator makes what the cluster says."""

import base64
import os
import shutil
import subprocess

import pytest
import yaml
from conftest import Daemon, ROOT, program, wait_until

from apiserver import ApiServer
from manifests import documents
from test_kube_manifests import fields, kinds
from test_kube_webhook import Webhook

GOLDEN = ROOT / "tests/golden/charts"


def rendered(name):
    with open(GOLDEN / f"{name}.yaml", encoding="utf-8") as f:
        return [d for d in yaml.safe_load_all(f) if d]


def rules(objects, kind="ClusterRole", name=None):
    found = [r for d in objects if d["kind"] == kind and name in (None, d["metadata"]["name"]) for r in d["rules"]]
    return sorted((tuple(r["apiGroups"]), tuple(r["resources"]), tuple(r["verbs"])) for r in found)


def one(objects, kind, name):
    return next(d for d in objects if (d["kind"], d["metadata"]["name"]) == (kind, name))


def test_values_and_schemas():
    done = subprocess.run(["/usr/bin/python3", ROOT / "tools/gen-chart-schema", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("chart,file,name", [("operator", "operator.yaml", "penstock-operator"), ("operator", "webhook.yaml", "penstock-webhook"),
                                             ("bridge", "bridge.yaml", "penstock-bridge")])
def test_rights_are_those_of_the_manifests(chart, file, name):
    made, written = rendered(chart), documents(file)
    assert rules(made, name=name) == rules(written, name=name) != []
    for role in (name, f"{name}-lease"):
        assert rules(made, "Role", role) == rules(written, "Role", role)


@pytest.mark.parametrize("chart,file,name", [("operator", "operator.yaml", "penstock-operator"), ("operator-pods", "webhook.yaml", "penstock-webhook"),
                                             ("bridge", "bridge.yaml", "penstock-bridge")])
def test_pods_are_confined_as_in_the_manifests(chart, file, name):
    made, written = (one(d, "Deployment", name)["spec"]["template"]["spec"] for d in (rendered(chart), documents(file)))
    for spec in (made, written):
        container = spec["containers"][0]
        assert spec["securityContext"]["runAsNonRoot"] and container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert made["securityContext"] == written["securityContext"]
    assert made["containers"][0].get("volumeMounts") == written["containers"][0].get("volumeMounts")


def test_a_namespace_alone():
    made = rendered("operator-full")
    assert rules(made, name="slurm-operator") == [(("",), ("nodes",), ("list", "watch"))]
    role = one(made, "Role", "slurm-operator")
    assert role["metadata"]["namespace"] == "slurm" and len(role["rules"]) > 8
    command = one(made, "Deployment", "slurm-operator")["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command == ["penstock-operator", "--image=mine/slurm", "--slurm-user=slurm", "--namespaces=slurm",
                       "--patience=60", "--propagated-node-conditions=GpuBroken,NicBroken", "-vv"]
    assert one(made, "Certificate", "slurm-webhook") and not [d for d in made if d["kind"] == "Secret"]


def test_several_namespaces():
    """A Role and its binding in each, once; the ClusterRole is for nodes."""
    made = rendered("operator-pods")
    assert rules(made, name="penstock-operator", kind="ClusterRole") == [(("",), ("nodes",), ("list", "watch"))]
    for kind in ("Role", "RoleBinding"):
        there = [d["metadata"]["namespace"] for d in made if (d["kind"], d["metadata"]["name"]) == (kind, "penstock-operator")]
        assert there == ["slurm", "team-a"]
    everywhere = rules(rendered("operator"), name="penstock-operator")
    for d in made:
        if (d["kind"], d["metadata"]["name"]) == ("Role", "penstock-operator"):
            assert sorted(rules([d], "Role") + [(("",), ("nodes",), ("list", "watch"))]) == everywhere
    command = one(made, "Deployment", "penstock-operator")["spec"]["template"]["spec"]["containers"][0]["command"]
    assert "--namespaces=slurm,team-a" in command


def test_cluster_objects_are_let_in(tmp_path):
    """Every object of our kinds has known fields, and penstock-webhook has nothing against it."""
    with ApiServer() as api, Webhook(api, tmp_path).start() as hook:
        hook.ready()
        for name in ("cluster", "cluster-full", "cluster-slinky"):
            ours = [d for d in rendered(name) if d["apiVersion"].split("/")[0] in ("operator.penstock", "slinky.slurm.net")]
            assert len(ours) >= 2
            for obj in ours:
                schema = kinds()[obj["kind"]]["versions"][0]["schema"]["openAPIV3Schema"]
                unknown = [key for key in obj["spec"] if not fields(schema, f"spec.{key}")]
                assert not unknown, (name, obj["kind"], unknown)
                response = hook.review("/validate-operator-penstock-v1beta1-kinds", obj)
                assert response["allowed"], (name, obj["kind"], response)


def test_names_of_a_cluster():
    """The names that others look for: <release>, <release>-worker-<key>, <release>-login-<key>, hosts <key>-0."""
    made = rendered("cluster-full")
    assert {(d["kind"], d["metadata"]["name"]) for d in made if d["apiVersion"].startswith("operator.")} == {
        ("Controller", "slurm"), ("RestApi", "slurm"), ("Accounting", "slurm"), ("Token", "slurm-bridge"), ("LoginSet", "slurm-login-main"),
        ("NodeSet", "slurm-worker-cpu"), ("NodeSet", "slurm-worker-some"), ("NodeSet", "slurm-worker-gpu"), ("NodeSet", "slurm-worker-each")}
    assert one(made, "NodeSet", "slurm-worker-gpu")["spec"]["template"]["spec"]["hostname"] == "gpu-"
    assert "PartitionName=long Nodes=cpu,gpu,slurm-worker-each MaxTime=10-0" in one(made, "Controller", "slurm")["spec"]["extraConf"]


def test_aicr_1737_files_of_others_are_named():
    """A ConfigMap that a topology service writes is named, and none of the chart's: an upgrade has nothing to take back."""
    made = rendered("cluster-full")
    assert one(made, "Controller", "slurm")["spec"]["configFileRefs"] == [{"name": "slurm-config-extra"}, {"name": "topology"}]
    assert "topology" not in {d["metadata"]["name"] for d in made}


def test_jobs_of_gpus_are_told():
    """Workers that ask for GPUs have the folder in which slurmd writes whose they are; scripts of the site are no part of it."""
    made = rendered("cluster-full")
    assert "SlurmdParameters=l3cache_as_socket,gpu_job_map=/run/gpu-jobs\n" in one(made, "Controller", "slurm")["spec"]["extraConf"]
    folders = {}
    for d in made:
        if d["kind"] == "NodeSet":
            volumes = d["spec"].get("template", {}).get("spec", {}).get("volumes", [])
            mounts = d["spec"]["slurmd"].get("volumeMounts", [])
            assert [v["name"] for v in volumes] == [m["name"] for m in mounts]
            folders[d["metadata"]["name"]] = [v["hostPath"]["path"] for v in volumes] + [m["mountPath"] for m in mounts]
    assert {n: f for n, f in folders.items() if f} == {"slurm-worker-gpu": ["/run/gpu-jobs", "/run/gpu-jobs"]}


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl, whose kustomize is asked, is not installed")
def test_kustomize():
    done = subprocess.run(["kubectl", "kustomize", ROOT / "deploy/kubernetes"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    made = [d for d in yaml.safe_load_all(done.stdout) if d]
    want = [d for file in ("crds.yaml", "operator.yaml", "webhook.yaml") for d in documents(file)]
    names = sorted((d["kind"], d["metadata"]["name"]) for d in want)
    assert sorted((d["kind"], d["metadata"]["name"]) for d in made) == names


def test_the_operator_makes_the_cluster(tmp_path):
    """Without any slurmrestd: services, sets and slurm.conf are made of what the chart renders."""
    with ApiServer() as api:
        api.kubeconfig(tmp_path / "kubeconfig")
        for name, key, value in (("tokens", "jwt.key", b"j" * 32), ("mariadb-password", "password", b"secret")):
            api.create("secrets", {"metadata": {"name": name, "namespace": "slurm-system"},
                                   "data": {key: base64.b64encode(value).decode()}})
        for obj in rendered("cluster-full"):
            if obj["kind"] == "PriorityClass":
                continue
            obj["metadata"].setdefault("namespace", "slurm-system")
            if obj["kind"] == "Secret":
                obj["data"] = {k: base64.b64encode(v.encode()).decode() for k, v in obj.pop("stringData").items()}
            plural = {"Accounting": "accountings", "RestApi": "restapis"}.get(obj["kind"], obj["kind"].lower() + "s")
            api.create(plural, obj)
        daemon = Daemon("penstock-operator", [program("penstock-operator"), "-v", "-k", str(tmp_path / "kubeconfig")], tmp_path / "operator.log",
                        dict(os.environ))
        try:
            conf = wait_until(lambda: (api.get("configmaps", "slurm-config", "slurm-system") or {}).get("data", {}).get("slurm.conf"), "slurm.conf")
            for service in ("slurm-controller", "slurm-restapi", "slurm-accounting", "slurm-login-main", "slurm-workers-slurm"):
                wait_until(lambda s=service: api.get("services", s, "slurm-system"), f"service {service}")
            pods = ("cpu-0", "gpu-0", "gpu-1", "gpu-2", "some-0")
            found = wait_until(lambda: len(made := [p for p in api.all("pods") if p["spec"].get("hostname")]) >= len(pods) and made, "pods")
            assert sorted(p["spec"]["hostname"] for p in found) == sorted(pods)
        finally:
            assert daemon.stop() == 0
        lines = conf.splitlines()
        sets = {line.split()[0].partition("=")[2] for line in lines if line.startswith("NodeSet=")}
        named = next(line for line in lines if line.startswith("PartitionName=long")).split()[1].partition("=")[2].split(",")
        assert set(named) <= sets, (named, sets)
        assert "ClusterName=prod" in lines and "GresTypes=gpu" in lines
