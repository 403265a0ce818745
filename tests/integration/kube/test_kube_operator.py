"""penstock-operator: a cluster in pods of an API server, with a real slurmctld, slurmrestd and slurmds.

Numbers in names of tests are those of reports about operators of this kind that deleted pods with jobs in them, stood
still, or undid what an administrator had done."""

import base64
import hashlib
import json
import os
import random
import time

import pytest
from conftest import wait_until

from kubelet import tell_soak
from manifests import documents
from operated import CLUSTER, OURS, PREFIX, op, rest  # noqa: F401  the cluster that the fixtures are given

KILLS, SEED = int(os.environ.get("PENSTOCK_KILLS", "50")), int(os.environ.get("PENSTOCK_SEED", "0"))


def test_scale_out_and_in(op):
    op.set(replicas=3)
    op.ready(3)
    assert op.pods() == ["w-0", "w-1", "w-2"] and op.slurm("w-1")["features"] == ["w"]
    info = json.loads(wait_until(lambda: op.slurm("w-2")["comment"], "the node says whose it is"))
    assert (info["podName"], info["nodeSetName"]) == ("w-2", "w")
    wait_until(lambda: any(c["type"] == "SlurmNodeStateIdle" for c in op.api.get("pods", "w-0")["status"]["conditions"]), "a condition")
    busy = op.job("w-2")
    wait_until(lambda: op.api.get("pods", "w-2")["metadata"]["labels"].get(PREFIX + "pod-protect") == "true", "it is protected")
    wait_until(lambda: PREFIX + "pod-deadline" in op.api.get("pods", "w-2")["metadata"]["annotations"], "it has a deadline")
    op.change(replicas=1)
    wait_until(lambda: op.pods() == ["w-2"], "idle ones go first")
    assert op.c.state(busy) == "RUNNING" and op.slurm("w-2")["reason"] == ""
    op.change(replicas=0)
    wait_until(lambda: "DRAIN" in op.slurm("w-2")["state"], "the last is drained")
    assert op.slurm("w-2")["reason"] == OURS + "Pod (default/w-2) is pending termination for scale-in"
    op.kubelet.wait_quiet(1)
    assert op.pods() == ["w-2"]
    op.change(replicas=1)
    wait_until(lambda: "DRAIN" not in op.slurm("w-2")["state"], "it may stay, and is let go")
    op.change(replicas=0)
    op.c.run("scancel", str(busy))
    wait_until(lambda: not op.pods(), "it goes when its job has ended")


def test_79_unknown_is_not_drained(op):
    """slurmrestd is away: pods are neither deleted nor drained, and go when it is back."""
    op.set(replicas=2)
    op.ready(2)
    busy = op.job("w-1")
    op.rest.daemon.stop()
    try:
        op.change(replicas=0)
        wait_until(lambda: op.condition("Ready").get("reason") == "SlurmUnknown", "the status says so")
        op.kubelet.wait_quiet(1.5)
        assert op.pods() == ["w-0", "w-1"]
    finally:
        op.rest.start()
    wait_until(lambda: op.pods() == ["w-1"], "the idle one goes", 20)
    assert op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
    wait_until(lambda: not op.pods(), "the other one follows")


def test_slurmctld_is_away_while_slurmrestd_stays(op):
    """The stream of slurmrestd goes on: the set says that nothing is known, and of whom; nothing is deleted; then all is well again."""
    def told(words):
        return [e for e in op.api.all("events") if e["reason"] == words[0] and words[1] in e["message"]]
    op.set(replicas=2)
    op.ready(2)
    busy = op.job("w-1")
    op.c.kill_ctld()
    try:
        wait_until(lambda: op.condition("Ready").get("reason") == "SlurmUnknown", "the status says so", 30)
        sentence = "slurmrestd answers, slurmctld does not: no worker is drained or deleted meanwhile"
        assert (op.condition("Ready")["message"], op.condition("Ready")["status"]) == (sentence, "False")
        wait_until(lambda: told(("SlurmUnknown", sentence)), "an event says so")
        assert told(("SlurmUnknown", sentence))[0]["type"] == "Warning"
        op.change(replicas=0)
        op.kubelet.wait_quiet(1.5)
        assert op.pods() == ["w-0", "w-1"]
        op.change(replicas=2)
    finally:
        op.c.start_ctld()
    wait_until(lambda: op.condition("Ready")["status"] == "True", "it is known again", 30)
    assert op.pods() == ["w-0", "w-1"] and op.c.state(busy) == "RUNNING"
    wait_until(lambda: told(("AsDesired", "2 of 2")), "that is told, too")
    op.c.run("scancel", str(busy))
    op.c.wait_state(busy, "CANCELLED")


def test_another_clusters_slurmrestd_says_nothing(op):
    """It has none of our nodes; that is no reason to delete a worker."""
    op.make("controllers", "Controller", "d", slurmKeyRef={"name": "slurm", "key": "slurm.key"}, jwtKeyRef={"name": "jwt", "key": "jwt.key"})
    op.make("nodesets", "NodeSet", "v", controllerRef={"name": "d"}, replicas=1)
    wait_until(lambda: op.status(name="v").get("readyReplicas") == 1, "it runs")
    op.api.patch("nodesets", "v", {"spec": {"replicas": 0}})
    wait_until(lambda: "another cluster's" in op.log(), "it is noticed")
    wait_until(lambda: "another cluster" in op.condition("Ready", name="v")["message"], "and told")
    op.kubelet.wait_quiet(1.5)
    assert op.pods() == ["v-0"] and op.condition("Ready", name="v")["reason"] == "SlurmUnknown"


def test_another_controller_is_not_asked(op):
    op.set(replicas=1)
    op.ready(1)
    op.make("controllers", "Controller", "d", clusterName="test", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
            jwtKeyRef={"name": "jwt", "key": "jwt.key"})
    op.change(replicas=0, controllerRef={"name": "d"})
    wait_until(lambda: op.condition("Ready").get("reason") == "FieldChanged", "it is said")
    op.kubelet.wait_quiet(1)
    assert op.pods() == ["w-0"]
    op.change(controllerRef={"name": "c"})
    wait_until(lambda: not op.pods(), "back again, it goes on")


def test_two_operators_and_a_lease(op):
    op.kill()
    op.start("-l", "default")
    op.set(replicas=1)
    op.ready(1)
    op.kill()
    op.start("-l", "default")
    op.change(replicas=2)
    op.ready(2, 40)


def test_an_operator_that_ends_gives_its_lease_back(op):
    def spec():
        return (op.api.get("leases", "penstock-operator") or {}).get("spec", {})
    op.kill()
    op.start("-l", "default")
    op.set(replicas=1)
    op.ready(1)
    assert spec()["holderIdentity"] and op.daemon.stop() == 0
    assert spec()["holderIdentity"] == "" and spec()["leaseDurationSeconds"] == 1, spec()
    op.start("-l", "default")
    wait_until(lambda: spec()["holderIdentity"], "the next one holds it", 5)
    op.change(replicas=2)
    op.ready(2)


def test_239_flapping_slurmrestd_does_not_stop_work(op):
    op.set(replicas=1)
    op.ready(1)
    for i in range(3):
        op.rest.daemon.stop()
        op.change(replicas=2 + i % 2)
        op.rest.start()
    op.change(replicas=3)
    op.ready(3, 40)


def test_250_rolling_update_ends_and_nodes_are_free(op):
    op.set(replicas=3, updateStrategy={"rollingUpdate": {"maxUnavailable": 1}})
    op.ready(3)
    first = {p["metadata"]["uid"] for p in op.api.all("pods")}
    busy = op.job("w-0")
    op.change(slurmd={"image": "penstock:2"})
    least = []

    def updated():
        pods = op.api.all("pods")
        least.append(sum(1 for p in pods if p["status"].get("phase") == "Running" and not p["metadata"].get("deletionTimestamp")))
        return sum(p["metadata"]["uid"] not in first and p["status"].get("phase") == "Running" for p in pods) == 2
    wait_until(updated, "two are new", 30)
    assert op.c.state(busy) == "RUNNING" and min(least) >= 2
    op.c.run("scancel", str(busy))
    wait_until(lambda: op.status().get("updatedReplicas") == 3 and op.condition("Ready")["status"] == "True", "all are new", 30)
    wait_until(lambda: all(op.slurm(n)["state"] == ["IDLE", "DYNAMIC_NORM"] for n in op.pods()),
               f"none is drained: {[op.slurm(n)['state'] for n in op.pods()]}", 20)
    assert len([r for r in op.api.all("controllerrevisions")]) == 1


def test_229_a_bad_image_costs_no_more_than_the_budget(op):
    op.set(replicas=3, updateStrategy={"rollingUpdate": {"maxUnavailable": 1}})
    op.ready(3)
    op.change(slurmd={"image": "bad"})
    wait_until(lambda: any(p["spec"]["containers"][0]["image"] == "bad" for p in op.api.all("pods")), "one is new")
    op.kubelet.wait_quiet(1.5)
    assert sum(p["status"].get("phase") == "Running" for p in op.api.all("pods")) == 2
    assert sum("DRAIN" in op.slurm(n)["state"] for n in op.pods() if op.slurm(n)) <= 1
    op.change(slurmd={"image": "good"})
    wait_until(lambda: op.status().get("updatedReplicas") == 3 and op.status().get("readyReplicas") == 3, "it is mended", 30)


def test_74_namespace_made_anew(op):
    op.set(replicas=1)
    op.ready(1)
    old = op.api.get("nodesets", "w")["metadata"]["uid"]
    for plural in ("nodesets", "controllers"):
        op.api.delete(plural, "w" if plural == "nodesets" else "c")
    wait_until(lambda: not op.api.all("pods"), "its pods are gone with it")
    op.make("controllers", "Controller", "c", clusterName="test", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
            jwtKeyRef={"name": "jwt", "key": "jwt.key"})
    op.set(replicas=2)
    op.ready(2)
    assert op.api.get("nodesets", "w")["metadata"]["uid"] != old


def test_152_sets_share_one_service_and_budget(op):
    op.set("a", replicas=1)
    op.set("b", replicas=1)
    wait_until(lambda: len(op.pods()) == 2 and all(op.status(name=n).get("readyReplicas") == 1 for n in "ab"), "both are there")
    for plural, name in (("services", "slurm-workers-c"), ("poddisruptionbudgets", "slurm-workers-pdb-c")):
        one = op.api.get(plural, name)
        assert [r["kind"] for r in one["metadata"]["ownerReferences"]] == ["Controller"]
        version = one["metadata"]["resourceVersion"]
        op.kubelet.wait_quiet(0.5)
        assert op.api.get(plural, name)["metadata"]["resourceVersion"] == version


def test_262_no_empty_words(op):
    op.set(replicas=1, extraConf="Gres=gpu:1 weight=3")
    wait_until(op.pods, "there is one")
    conf = op.api.all("pods")[0]["spec"]["containers"][0]["args"][-1]
    assert conf == "'Features=w Gres=gpu:1 Weight=3'"


def test_3_133_an_administrators_drain_stays(op):
    op.set(replicas=1)
    op.ready(1)
    node = op.api.get("pods", "w-0")["spec"]["nodeName"]
    op.c.run("scontrol", "update", "nodename=w-0", "state=drain", "reason=disk")
    wait_until(lambda: any(c["type"] == "SlurmNodeStateDrain" and c["message"] == "disk"
                           for c in op.api.get("pods", "w-0")["status"]["conditions"]), "Kubernetes shows it")
    op.api.patch("nodes", node, {"spec": {"unschedulable": True}})
    op.kubelet.wait_quiet(0.5)
    op.api.patch("nodes", node, {"spec": {"unschedulable": None}})
    op.kubelet.wait_quiet(0.5)
    assert op.slurm("w-0")["reason"] == "disk" and "DRAIN" in op.slurm("w-0")["state"]
    op.c.run("scontrol", "update", "nodename=w-0", "state=resume")
    wait_until(lambda: not any(c["type"] == "SlurmNodeStateDrain" for c in op.api.get("pods", "w-0")["status"]["conditions"]), "gone")


def test_cordon_is_a_drain(op):
    op.set(replicas=1)
    op.ready(1)
    node = op.api.get("pods", "w-0")["spec"]["nodeName"]
    op.api.patch("nodes", node, {"spec": {"unschedulable": True}, "metadata": {"annotations": {PREFIX + "node-cordon-reason": "new\tfans"}}})
    wait_until(lambda: op.slurm("w-0")["reason"] == OURS + "new fans", "it is drained with the reason")
    wait_until(lambda: op.api.get("pods", "w-0")["metadata"]["annotations"].get(PREFIX + "pod-cordon") == "true", "its pod is marked")
    op.api.patch("nodes", node, {"spec": {"unschedulable": None}})
    wait_until(lambda: "DRAIN" not in op.slurm("w-0")["state"], "uncordoned, it is let go")
    wait_until(lambda: not any(c["type"] == "SlurmNodeStateDrain" for c in op.api.get("pods", "w-0")["status"]["conditions"]), "and shown so")
    op.api.patch("pods", "w-0", {"metadata": {"annotations": {PREFIX + "pod-cordon": "true"}}})
    wait_until(lambda: op.slurm("w-0")["reason"] == OURS + "Pod (default/w-0) was cordoned", "a pod's mark drains, too")


def test_features_follow_the_node(op):
    op.set(replicas=1)
    op.ready(1)
    node = op.api.get("pods", "w-0")["spec"]["nodeName"]
    op.api.patch("nodes", node, {"metadata": {"annotations": {"features.slinky.slurm.net/spec": "fast,red"}}})
    wait_until(lambda: op.slurm("w-0")["features"] == ["w", "k8s/fast", "k8s/red"], f"they are there {op.slurm('w-0')['features']}")


def test_daemon_mode(op):
    op.set(scalingMode="DaemonSet", template={"spec": {"nodeSelector": {"pool": "x"}}})
    wait_until(lambda: op.condition("Ready")["status"] == "True" and op.status()["desired"] == 0, "no node is wanted")
    for name in ("k1", "k2"):
        op.api.patch("nodes", name, {"metadata": {"labels": {"pool": "x"}}})
    wait_until(lambda: op.status().get("readyReplicas") == 2, "a pod a node")
    assert sorted(p["spec"]["nodeName"] for p in op.api.all("pods")) == ["k1", "k2"] and op.slurm("k1")
    busy = op.job("k2")
    op.api.patch("nodes", "k2", {"metadata": {"labels": {"pool": "y"}}})
    wait_until(lambda: "DRAIN" in op.slurm("k2")["state"], "it is drained first")
    assert op.c.state(busy) == "RUNNING" and len(op.pods()) == 2
    op.c.run("scancel", str(busy))
    wait_until(lambda: len(op.pods()) == 1, "then its pod goes")


def test_nothing_is_asked_when_nothing_changes(op):
    op.set(replicas=2)
    op.ready(2)
    op.kubelet.wait_quiet(1)
    counts = dict(op.api.counts)
    op.kubelet.wait_quiet(3)
    new = {k: v - counts.get(k, 0) for k, v in op.api.counts.items() if v != counts.get(k, 0) and not k.endswith("watch")}
    assert not new, f"{new} {op.log()}"


def test_events_tell_what_happens(op):
    def told(name):
        return {(e["reason"], e["message"]) for e in op.api.all("events") if e["involvedObject"]["name"] == name}
    op.set(replicas=2)
    op.ready(2)
    assert {("SuccessfulCreate", "Pod w-0: done"), ("SuccessfulCreate", "Pod w-1: done")} <= told("w")
    op.change(replicas=1)
    wait_until(lambda: ("ScaleIn", "Pod w-1 is deleted: its node is drained") in told("w"), f"{told('w')}")
    assert ("SlurmNodeDrain", f"Slurm node w-1: DRAIN, {OURS}Pod (default/w-1) is pending termination for scale-in") in told("w-1")
    wait_until(lambda: ("SuccessfulDelete", "Pod w-1: done") in told("w"), f"{told('w')}")
    op.make("restapis", "RestApi", "r", controllerRef={"name": "no"})
    wait_until(lambda: ("ControllerRefFailed", "spec.controllerRef: there is no such Controller") in told("r"), f"{told('r')}")
    op.change(replicas=-1)
    wait_until(lambda: any(reason == "InvalidSpec" for reason, _ in told("w")), f"{told('w')}")
    assert all(e["type"] == "Warning" for e in op.api.all("events") if e["reason"] in ("InvalidSpec", "ControllerRefFailed", "SyncFailed"))
    assert len(op.api.all("events")) < 40


def test_faults_of_the_server(op):
    for what in ("409", "500", "cut", "cut-after", "409"):
        op.api.fault(what, "PATCH")
        op.api.fault(what, "POST", times=2)
    op.set(replicas=3)
    op.api.cut_watches(hard=True)
    op.ready(3, 40)
    op.api.store.compact()
    op.api.cut_watches()
    for what in ("409", "500", "cut-after"):
        op.api.fault(what, "DELETE")
    op.change(replicas=1)
    op.ready(1, 40)


@pytest.mark.parametrize("turn", range(max(KILLS // 50, 1)))
def test_killed_at_any_moment(op, turn):
    """Fifty kills while the number of workers goes up and down, and a job runs in one of them.  PENSTOCK_KILLS=1000: twenty times over."""
    dice = random.Random(11 + SEED + turn)
    op.set(replicas=2)
    op.ready(2)
    busy = op.job("w-0")
    for _ in range(50):
        op.change(replicas=dice.randrange(1, 5), slurmd={"image": f"penstock:{dice.randrange(3)}"})
        time.sleep(dice.random() * 0.15)  # a moment that nobody chooses
        op.kill()
        op.start()
    assert op.c.state(busy) == "RUNNING"
    op.change(replicas=3)
    wait_until(lambda: len(op.pods()) == 3 and op.status().get("readyReplicas") == 3, f"it converges {op.log()}", 60)
    assert op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
    op.ready(3, 60)
    assert len(op.api.all("pods")) == 3
    tell_soak("operator", kills=50, workers=len(op.kubelet.hooks), with_a_job=len(op.kubelet.killed))


def test_controller_objects(op):
    wait_until(lambda: op.api.get("statefulsets", "c-controller") and op.api.get("configmaps", "c-config"), "both are made")
    conf = op.api.get("configmaps", "c-config")["data"]
    assert "SlurmctldHost=c-controller-0(c-controller-0.c-controller-internal.default)\n" in conf["slurm.conf"]
    assert conf["cgroup.conf"] == "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
    template = op.api.get("statefulsets", "c-controller")["spec"]["template"]
    op.set(replicas=0, partition={"enabled": True, "config": "State=UP"})
    wait_until(lambda: "PartitionName=w Nodes=w State=UP\n" in op.api.get("configmaps", "c-config")["data"]["slurm.conf"], "it is listed")
    assert op.api.get("statefulsets", "c-controller")["spec"]["template"] == template  # no restart
    op.api.patch("statefulsets", "c-controller", {"status": {"readyReplicas": 1, "updatedReplicas": 1, "observedGeneration": 9}}, sub="status")
    wait_until(lambda: op.condition("Ready", "controllers", "c")["status"] == "True", "it is ready")
    op.api.patch("services", "c-controller", {"spec": {"ports": None}})
    wait_until(lambda: op.api.get("services", "c-controller")["spec"].get("ports"), "what was taken away is put back")


def test_keys_are_made_once(op):
    op.make("controllers", "Controller", "k")
    made = wait_until(lambda: op.api.get("secrets", "k-auth-jwt"), "a key is made")
    assert len(base64.b64decode(made["data"]["jwt.key"])) == 64 and op.api.get("secrets", "k-auth-slurm")
    op.api.delete("controllers", "k")
    op.make("controllers", "Controller", "k", extraConf="MaxNodeCount=3")
    wait_until(lambda: "MaxNodeCount=3" in (op.api.get("configmaps", "k-config") or {"data": {"slurm.conf": ""}})["data"]["slurm.conf"], "anew")
    assert op.api.get("secrets", "k-auth-jwt")["data"] == made["data"]


def test_what_is_wrong_is_said(op):
    op.set(replicas=-1)
    wait_until(lambda: op.condition("Degraded")["status"] == "True", "it is said")
    assert op.condition("Degraded")["message"] == "spec.replicas: -1 is not between 0 and 100000" and not op.pods()
    op.api.create("configmaps", {"metadata": {"name": "x-config", "namespace": "default"}, "data": {"mine": "1"}})
    op.make("controllers", "Controller", "x")
    wait_until(lambda: "belongs to another" in op.condition("Degraded", "controllers", "x").get("message", ""), "it is said")
    assert op.api.get("configmaps", "x-config")["data"] == {"mine": "1"}


def test_other_group_unchanged(op):
    """Manifests of slinky.slurm.net are served, with fields that we do not know; keys must be named there."""
    op.make("controllers.slinky.slurm.net", "Controller", "s", group="slinky.slurm.net", ours="no")
    wait_until(lambda: "slurmKeyRef" in op.condition("Degraded", "controllers.slinky.slurm.net", "s").get("message", ""), "it is said")
    op.api.patch("controllers.slinky.slurm.net", "s", {"spec": {"slurmKeyRef": {"name": "slurm", "key": "slurm.key"},
                                                             "jwtKeyRef": {"name": "jwt", "key": "jwt.key"}}})
    wait_until(lambda: op.api.get("statefulsets", "s-controller"), "it is made")
    assert op.api.get("controllers.slinky.slurm.net", "s")["spec"]["ours"] == "no"
    template = op.api.get("statefulsets", "s-controller")["spec"]["template"]
    assert "slinky.slurm.net/slurm-config-hash" in template["metadata"]["annotations"]


def test_restapi_accounting_token(op):
    op.make("restapis", "RestApi", "r", controllerRef={"name": "c"})
    args = wait_until(lambda: op.api.get("deployments", "r-restapi"), "it is made")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["-s", "openapi/slurmctld", "0.0.0.0:6820"]
    assert wait_until(lambda: op.api.get("services", "r-restapi"), "its service is made")["spec"]["ports"][0]["port"] == 6820
    op.make("tokens", "Token", "t", username="root", jwtKeyRef={"name": "jwt", "key": "jwt.key"}, lifetime="1h")
    secret = wait_until(lambda: op.api.get("secrets", "t-jwt-root"), "a token is made")
    token = base64.b64decode(secret["data"]["SLURM_JWT"]).decode()
    assert op.rest.raw("GET", "/slurm/v0.0.45/ping/", headers={"X-SLURM-USER-TOKEN": token})[0] == 200
    wait_until(lambda: op.status("tokens", "t").get("issuedAt"), "the status says when")
    op.make("accountings", "Accounting", "a", storageConfig={"host": "db", "passwordKeyRef": {"name": "pw", "key": "password"}})
    wait_until(lambda: op.condition("Ready", "accountings", "a").get("reason") == "KeyMissing", "the password is missing")
    op.api.create("secrets", {"metadata": {"name": "pw", "namespace": "default"}, "data": {"password": base64.b64encode(b"p#w").decode()}})
    secret = wait_until(lambda: op.api.get("secrets", "a-accounting"), "it is made")
    assert "StoragePass=p\\#w\n" in base64.b64decode(secret["data"]["slurmdbd.conf"]).decode()
    wait_until(lambda: op.api.get("statefulsets", "a-accounting"), "and its daemon")


def test_token_secrets(op):
    """A Secret of somebody else is never overwritten, and a token is its user's."""
    op.api.create("secrets", {"metadata": {"name": "theirs", "namespace": "default"}, "data": {"SLURM_JWT": "eA=="}})
    ref = {"name": "jwt", "key": "jwt.key"}
    op.make("tokens", "Token", "thief", username="root", jwtKeyRef=ref, secretRef={"name": "theirs", "key": "SLURM_JWT"})
    wait_until(lambda: op.condition("Degraded", "tokens", "thief").get("reason") == "SyncFailed", "it is refused")
    assert "belongs to another" in op.condition("Degraded", "tokens", "thief")["message"]
    assert op.api.get("secrets", "theirs")["data"] == {"SLURM_JWT": "eA=="}
    op.make("tokens", "Token", "t", username="root", jwtKeyRef=ref, secretRef={"name": "s", "key": "SLURM_JWT"})
    root = wait_until(lambda: op.api.get("secrets", "s"), "a token is made")["data"]["SLURM_JWT"]
    op.api.patch("tokens", "t", {"spec": {"username": "nobody"}})
    token = wait_until(lambda: (lambda s: s != root and s)(op.api.get("secrets", "s")["data"]["SLURM_JWT"]), "one of the other user")
    claims = base64.b64decode(token).decode().split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sun"] == "nobody"
    op.api.patch("secrets", "s", {"immutable": True})
    op.api.patch("tokens", "t", {"spec": {"username": "root"}})
    wait_until(lambda: op.condition("Ready", "tokens", "t").get("reason") == "SecretImmutable", "it says so")


def test_example(op):
    """The cluster of deploy/kubernetes is made as it stands."""
    for one in documents("cluster.yaml"):
        plural = {"Controller": "controllers", "RestApi": "restapis", "NodeSet": "nodesets", "Token": "tokens"}[one["kind"]]
        one["metadata"]["namespace"] = "default"
        op.api.create(plural, one)
    wait_until(lambda: op.pods() == ["worker-0", "worker-1"], "workers")
    wait_until(lambda: op.api.get("statefulsets", "slurm-controller") and op.api.get("deployments", "slurm-restapi"), "daemons")
    wait_until(lambda: op.condition("Ready", "tokens", "nobody")["status"] == "True", "a token")
    made = op.api.get("statefulsets", "slurm-controller")
    notes = made["spec"]["template"]["metadata"]["annotations"]
    for name in ("jwt", "slurm"):  # of the bytes, as others take it
        (coded,) = op.api.get("secrets", f"slurm-auth-{name}")["data"].values()
        assert notes[f"slinky.slurm.net/{name}-key-hash"] == hashlib.sha256(base64.b64decode(coded)).hexdigest()
    assert made["metadata"]["generation"] == 1  # the keys were there before it
