"""Workers under load on a real kube-apiserver with Kubernetes' own controllers, a slurmd in each: they scale, roll and drain while the
operator is killed and slurmrestd is away.  No pod with a job in it is ever ended, and all comes to what is wanted."""

import os
import random
import time

import pytest
from conftest import wait_until
from operated import OURS, PREFIX, rest  # noqa: F401  the name of a fixture
from realserver import missing
from storm import Load, Witness, kubectl
from test_kube_managed import server  # noqa: F401  the name of a fixture
from test_kube_scale import CLUSTER as SCALED, MOST, RealOperator

KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
AWAY_S = float(os.environ.get("PENSTOCK_AWAY", "10"))
CLUSTER = {**SCALED, "conf": SCALED["conf"] + "\nMinJobAge=100000\nMaxJobCount=1000000"}  # jobs are counted at the end

pytestmark = pytest.mark.skipif(bool(missing(manager=True)), reason=missing(manager=True) or "there is one")


@pytest.fixture
def op(server, shared, rest, tmp_path):  # noqa: F811
    with RealOperator(server, shared, rest, tmp_path) as operator:
        yield operator


@pytest.fixture
def under_load(op):
    with Witness(op.api, [f"w-{i}" for i in range(MOST + 5)]) as witness, Load(op.c, witness) as load:
        yield witness, load


def uids(op):
    return {p["metadata"]["uid"] for p in op.workers()}


def uid_of(op, name):
    """None: between one pod of the name and the next."""
    return (op.api.get("pods", name) or {"metadata": {"uid": None}})["metadata"]["uid"]


def drained(op, ours):
    """Workers that are drained by the operator, or by others."""
    nodes, there = op.rest.get("nodes")[1]["nodes"], op.pods()
    return sorted(n["name"] for n in nodes if n["name"] in there and "DRAIN" in n["state"] and n["reason"].startswith(OURS) == ours)


def converged(op, count):
    op.ready(count, 60 + 6 * MOST)
    wait_until(lambda: op.status().get("updatedReplicas") == count, f"all are as they should be {op.status()}", 60 + 6 * MOST)
    wait_until(lambda: not drained(op, True), f"no drain of ours is left {drained(op, True)}", 60)


class Storm:
    """One wish after the other, whatever became of the last."""

    def __init__(self, op, folder, seed):
        self.op, self.folder, self.rng, self.drains = op, folder, random.Random(seed), []
        self.counts = dict.fromkeys(("scale", "roll", "cordon", "kubectl drain", "scontrol"), 0)

    def blow(self):
        what = self.rng.choice(list(self.counts))
        self.counts[what] += 1
        if what == "scale":
            self.op.change(replicas=self.rng.randint(2, MOST))
        elif what == "roll":
            self.op.change(slurmd={"image": f"penstock:{self.rng.randint(1, 1000)}"})
        elif what == "scontrol":
            state = self.rng.choice(["drain", "resume"])
            self.op.c.run("scontrol", "update", f"nodename=w-{self.rng.randrange(MOST)}", f"state={state}", "reason=mine", check=False)
        else:
            self.cordon(what == "kubectl drain")

    def cordon(self, drain):
        node = self.rng.choice(self.op.kubelet.names)
        if self.op.api.get("nodes", node)["spec"].get("unschedulable"):
            self.op.api.patch("nodes", node, {"spec": {"unschedulable": None}})
        elif not drain:
            self.op.api.patch("nodes", node, {"spec": {"unschedulable": True}})
        else:
            self.drains = [d for d in self.drains if d.poll() is None]
            self.drains.append(kubectl(self.op.api.server, self.folder, "drain", node, "--delete-emptydir-data", "--timeout=5s"))

    def calm(self):
        for one in self.drains:
            one.communicate()
        for node in self.op.kubelet.names:
            self.op.api.patch("nodes", node, {"spec": {"unschedulable": None}})
        for node in drained(self.op, False):
            self.op.c.run("scontrol", "update", f"nodename={node}", "state=resume")


def test_killed_while_all_changes(op, under_load, tmp_path):
    """KILLS kills of the operator at random moments."""
    witness, load = under_load
    op.set(replicas=3, updateStrategy={"rollingUpdate": {"maxUnavailable": 2}})
    op.ready(3, 60)
    load.begin()
    storm = Storm(op, tmp_path, 3)
    for _ in range(KILLS):
        storm.blow()
        time.sleep(storm.rng.uniform(0.02, 0.6))  # the moment is what is random
        op.kill()
        op.start()
    storm.calm()
    op.change(replicas=3)
    converged(op, 3)
    jobs = load.judge()
    print(f"{KILLS} kills, {jobs} jobs, {len(witness.ended)} workers ended of which {witness.evicted} were evicted, "
          f"{len(witness.wrong)} with a job in them; {storm.counts}")
    assert len(witness.ended) >= KILLS // 10 and jobs >= KILLS // 10


def test_slurmrestd_away(op, under_load):
    """For AWAY_S seconds all is wanted at once: nothing is deleted, evicted, drained or let go; afterwards all of it is done."""
    witness, load = under_load
    op.set(replicas=4)
    op.ready(4, 60)
    load.begin()
    op.c.run("scontrol", "update", "nodename=w-3", "state=drain", "reason=mine")
    node = op.api.get("pods", "w-2")["spec"]["nodeName"]
    op.api.patch("nodes", node, {"spec": {"unschedulable": True}})
    wait_until(lambda: (drained(op, True), drained(op, False)) == (["w-2"], ["w-3"]), "two are drained", 60)
    before = uids(op)
    op.rest.daemon.stop()
    try:
        op.change(replicas=1, slurmd={"image": "penstock:2"})
        op.api.patch("nodes", node, {"spec": {"unschedulable": None}})
        op.api.patch("nodes", op.api.get("pods", "w-1")["spec"]["nodeName"], {"spec": {"unschedulable": True}})
        wait_until(lambda: op.condition("Ready").get("reason") == "SlurmUnknown", "the status says so", 30)
        end, told = time.monotonic() + AWAY_S, 0
        while time.monotonic() < end:
            op.kill()  # one that knows nothing does nothing either
            op.start()
            op.kubelet.wait_quiet(min(AWAY_S / 4, 15))
            told += 1
            assert uids(op) == before and not witness.ended, op.log()
            said = dict(line.split("|") for line in op.c.run("sinfo", "-h", "-N", "-p", "w", "-o", "%N|%E").out.splitlines())
            assert (said["w-0"], said["w-1"], said["w-3"]) == ("none", "none", "mine") and said["w-2"].startswith(OURS), said
        # Before anybody can look: who resumes a worker that is just being deleted as a drained one has its next job ended.
        op.c.run("scontrol", "update", "nodename=w-3", "state=resume")
    finally:
        op.rest.start()
    for name in op.kubelet.names:
        op.api.patch("nodes", name, {"spec": {"unschedulable": None}})
    converged(op, 1)
    print(f"away {AWAY_S:.0f} s, {told} operators, {load.judge()} jobs")


def test_a_rolling_change_under_load(op, under_load):
    """Never more than maxUnavailable are missing, and each worker goes after its jobs."""
    witness, load = under_load
    count = max(MOST // 2, 4)
    op.set(replicas=count, updateStrategy={"rollingUpdate": {"maxUnavailable": 2}})
    op.ready(count, 60 + 6 * MOST)
    load.begin()
    before, least = uids(op), []
    for image in ("penstock:2", "penstock:3"):
        op.change(slurmd={"image": image})

        def rolled():
            least.append(op.status().get("availableReplicas", 0))
            images = [p["spec"]["containers"][0]["image"] for p in op.workers()]
            return images == [image] * count and op.status().get("availableReplicas") == count
        wait_until(rolled, f"all have {image} {op.log()}", 60 + 10 * count)
    assert not uids(op) & before and min(least) >= count - 2, least
    converged(op, count)
    jobs = load.judge()
    print(f"{jobs} jobs, {len(witness.ended)} workers made anew, never fewer than {min(least)} of {count}")


def test_kubectl_drains_a_node(op, under_load, tmp_path):
    """kubectl waits for the worker's jobs, then the worker goes elsewhere; uncordoned, the node may have one again."""
    witness, load = under_load
    op.set(replicas=3)
    op.ready(3, 60)
    load.begin()
    busy = op.job("w-1")
    wait_until(lambda: op.api.get("pods", "w-1")["metadata"]["labels"].get(PREFIX + "pod-protect") == "true", "it is protected")
    pod = op.api.get("pods", "w-1")
    node = pod["spec"]["nodeName"]
    drain = kubectl(op.api.server, tmp_path, "drain", node, "--delete-emptydir-data", "--timeout=120s")
    wait_until(lambda: drained(op, True) == ["w-1"], "its Slurm node is drained", 30)
    op.kubelet.wait_quiet(6)  # kubectl asks every five seconds
    assert drain.poll() is None and op.api.get("pods", "w-1")["metadata"]["uid"] == pod["metadata"]["uid"] and op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
    said = drain.communicate(timeout=150)[0]
    assert drain.returncode == 0 and "evicting pod default/w-1" in said and "disruption budget" in said, said
    wait_until(lambda: uid_of(op, "w-1") not in (None, pod["metadata"]["uid"]), "it is made anew", 60)
    op.ready(3, 60)
    assert op.api.get("pods", "w-1")["spec"]["nodeName"] != node
    converged(op, 3)
    print(f"{load.judge()} jobs, {witness.evicted} evicted")
    assert witness.evicted == 1


def test_scontrol_drains_a_node(op, under_load):
    """An administrator's drain stands while the set rolls and the operator dies; jobs go elsewhere."""
    witness, load = under_load
    op.set(replicas=3, updateStrategy={"rollingUpdate": {"maxUnavailable": 2}})  # the drained one is one of them
    op.ready(3, 60)
    load.begin()
    busy = op.job("w-0")
    op.c.run("scontrol", "update", "nodename=w-0", "state=drain", "reason=disk")
    uid = uid_of(op, "w-0")
    for image in ("penstock:2", "penstock:3"):
        op.change(slurmd={"image": image})
        op.kill()
        op.start()
    wait_until(lambda: sum(p["spec"]["containers"][0]["image"] == "penstock:3" for p in op.workers()) >= 2, "the others roll", 120)
    assert uid_of(op, "w-0") == uid and op.slurm("w-0")["reason"] == "disk" and op.c.state(busy) == "RUNNING"
    op.c.run("scancel", str(busy))
    wait_until(lambda: uid_of(op, "w-0") not in (None, uid), "it is replaced after its job", 60)
    op.c.run("scontrol", "update", "nodename=w-0", "state=resume", check=False)
    converged(op, 3)
    print(f"{load.judge()} jobs")
