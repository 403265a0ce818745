"""penstock-operator: where workers are, what goes with them, and how many there are."""

from conftest import wait_until

from operated import CLUSTER, PREFIX, op, rest  # noqa: F401  the cluster that the fixtures are given

CLAIM = [{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]


def claims(op):
    return sorted(c["metadata"]["name"] for c in op.api.all("persistentvolumeclaims"))


def place(op, name):
    return (op.api.get("pods", name) or {"spec": {}})["spec"].get("nodeName")


def test_pinned_workers_go_back(op):
    """The node of an ordinal is kept in the status, over scaling in and out, and over an operator that is killed."""
    op.set(replicas=3, pinToNode=True)
    op.ready(3)
    wait_until(lambda: len(op.status().get("ordinalToNode", {})) == 3, "they are noted")
    before = {n: place(op, n) for n in op.pods()}
    assert op.status()["ordinalToNode"] == {n[2:]: node for n, node in before.items()}
    op.change(replicas=0)
    wait_until(lambda: not op.api.all("pods"), f"all are gone {op.log()}", 30)
    op.kill()
    op.start()
    op.change(replicas=3)
    op.ready(3)
    assert {n: place(op, n) for n in op.pods()} == before
    op.change(replicas=2)
    op.ready(2)
    op.api.delete("nodes", before["w-2"])
    wait_until(lambda: "2" not in op.status()["ordinalToNode"], "a pin goes with its node")
    op.change(replicas=3)
    op.ready(3)
    assert place(op, "w-2") not in (None, before["w-2"])


def test_claims_go_with_their_workers(op):
    op.set(replicas=3, volumeClaimTemplates=CLAIM, persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"})
    op.ready(3)
    assert claims(op) == ["d-w-0", "d-w-1", "d-w-2"]
    busy = op.job("w-1")
    op.api.fault("409", "PATCH", "persistentvolumeclaims")
    op.api.fault("500", "PATCH", "persistentvolumeclaims")
    op.change(replicas=1)
    wait_until(lambda: op.pods() == ["w-1"], f"idle ones go {op.log()}", 30)
    wait_until(lambda: claims(op) == ["d-w-1"], "and their claims")
    op.change(replicas=0)
    wait_until(lambda: op.api.get("persistentvolumeclaims", "d-w-1")["metadata"].get("ownerReferences"), "it is to go with its pod")
    op.change(replicas=1)
    wait_until(lambda: not op.api.get("persistentvolumeclaims", "d-w-1")["metadata"].get("ownerReferences"), "it stays with it again")
    assert op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
    op.change(slurmd={"image": "penstock:2"})
    wait_until(lambda: op.status().get("updatedReplicas") == 1 and op.status().get("availableReplicas") == 1, "it is made anew", 30)
    assert claims(op) == ["d-w-1"] or "d-w-1" in claims(op), "an update keeps the data"


def test_claims_that_are_others_stay(op):
    """A claim of the name that was there before is used, and neither owned nor deleted."""
    for owner in ([], [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u", "controller": True}]):
        name = "d-w-1" if owner else "d-w-0"
        if owner:
            made = op.api.create("pods", {"metadata": {"name": "x", "namespace": "default", "labels": {}}, "spec": {"containers": [{}]}})
            owner[0]["uid"] = made["metadata"]["uid"]
        op.api.create("persistentvolumeclaims", {"metadata": {"name": name, "namespace": "default", "ownerReferences": owner,
                                                              "labels": {"app.kubernetes.io/instance": "w"} if owner else {}}, "spec": {}})
    op.set(replicas=2, volumeClaimTemplates=CLAIM, persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})
    wait_until(lambda: op.status().get("availableReplicas") == 2, f"both are there {op.log()}")
    wait_until(lambda: any(e["reason"] == "ConflictingController" for e in op.api.all("events")), "it is told")
    op.change(replicas=0)
    wait_until(lambda: not [n for n in op.pods() if n != "x"], "the workers go", 30)
    assert claims(op) == ["d-w-0", "d-w-1"]
    op.api.delete("nodesets", "w")
    op.kubelet.wait_quiet(0.3)
    assert claims(op) == ["d-w-0", "d-w-1"]


def test_a_claim_that_is_missing_is_made_again(op):
    op.set(replicas=1, volumeClaimTemplates=CLAIM)
    op.ready(1)
    op.api.delete("persistentvolumeclaims", "d-w-0")
    op.change(minReadySeconds=0, revisionHistoryLimit=1)
    wait_until(lambda: claims(op) == ["d-w-0"], "it is there again")


def test_workers_for_jobs_that_wait(op):
    """From the fewest workers to as many as jobs would start on, and back when they are idle."""
    op.set(replicas=0, autoscale={"minReplicas": 1, "maxReplicas": 3, "idleSeconds": 2})
    op.ready(1)
    jobs = [int(op.c.run("sbatch", "--parsable", "-p", "w", "-c", "2", "--wrap", "sleep 600").out) for _ in range(2)]
    for job in jobs:
        wait_until(lambda: op.c.state(job) == "RUNNING", f"it starts: {op.c.run('squeue', '-o', '%i %T %r').out} {op.log()}", 30)
    assert len(op.pods()) == 2 and op.api.get("nodesets", "w")["spec"]["replicas"] == 2
    more = int(op.c.run("sbatch", "--parsable", "-p", "w", "-c", "2", "-a", "1-5", "--wrap", "sleep 600").out)
    wait_until(lambda: len(op.pods()) == 3, "no more than the most")
    op.kubelet.wait_quiet(1)
    assert len(op.pods()) == 3
    op.c.run("scancel", str(more), str(jobs[0]))
    wait_until(lambda: op.api.get("nodesets", "w")["spec"]["replicas"] == 1, f"idle ones go {op.log()}", 40)
    wait_until(lambda: len(op.pods()) == 1, "and their pods", 30)
    assert op.c.state(jobs[1]) == "RUNNING"
    op.c.run("scancel", str(jobs[1]))
    wait_until(lambda: op.slurm(op.pods()[0])["state"][0] == "IDLE", "the last is idle", 40)
    held = int(op.c.run("sbatch", "--parsable", "-p", "w", "-H", "-N", "1", "--wrap", "true").out)
    op.kubelet.wait_quiet(3)
    assert len(op.pods()) == 1, "the fewest stay; a job that is held would not start"
    op.c.run("scancel", str(held))
    assert {"ScaledOut", "ScaledIn"} <= {e["reason"] for e in op.api.all("events")}


def test_an_hpa_finds_what_it_needs(op):
    """replicas and a selector that selects the set's pods, at the scale subresource."""
    op.set(replicas=1)
    op.ready(1)
    scale = op.api.store.scale("nodesets", "default", "w", None)
    assert scale["spec"]["replicas"] == scale["status"]["replicas"] == 1
    wanted = dict(word.split("=") for word in scale["status"]["selector"].split(","))
    assert [p["metadata"]["name"] for p in op.api.all("pods") if wanted.items() <= p["metadata"]["labels"].items()] == ["w-0"]
    op.api.store.scale("nodesets", "default", "w", {"spec": {"replicas": 2}})
    op.ready(2)
    assert PREFIX + "pod-index" in op.api.get("pods", "w-1")["metadata"]["labels"]


def test_features_are_named_once(op):
    """In order, with the set's own name, whichever key of extraConf says them."""
    op.set(replicas=1, extraConf="Feature=fast,w Weight=3 Features=big,fast")
    pod = wait_until(lambda: op.api.get("pods", "w-0"), "it is made")
    args = pod["spec"]["containers"][0]["args"]
    assert args[args.index("--conf") + 1] == "'Features=big,fast,w Weight=3'"
