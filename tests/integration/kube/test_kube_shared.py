"""penstock-bridge on a real kube-apiserver, on nodes that slurmd and a kubelet share: gangs are bound whole whenever the bridge dies, and
jobs of Slurm and pods never want more than a node has."""

import os
import random
import threading
from collections import Counter

import pytest
from conftest import wait_until
from pooloracle import PoolOracle
from realapi import RealApi
from realserver import Refused, missing
from manifests import documents
from restd import Restd
from test_kube_bridge import JOB, Bridge
from test_kube_pool import CLUSTER, NODES, SHARED, make_gang, remove  # noqa: F401  CLUSTER is a fixture's
from test_kube_real import BRIDGE, defined, server  # noqa: F401  names of fixtures

from apiserver import Refusal

KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
AT_ONCE = 40  # pods; with more the last ones would wait for minutes
ROUNDS = int(os.environ.get("PENSTOCK_POOL", "30"))

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is one")


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as rest:
        yield rest


class RealBridge(Bridge):
    def __init__(self, server, c, rest, folder):  # noqa: F811
        super().__init__(c, rest, folder)
        self.api, self.nodes = RealApi(server, BRIDGE), NODES

    def __enter__(self):
        super().__enter__()
        for name in NODES:
            self.api.patch("nodes", name, {"spec": {"taints": None}})  # as the node's controller does once it is ready
        return self


class Kubelets:
    """Tells the oracle what runs: a pod from the start of its containers, some time after it was bound, until they have ended."""

    def __init__(self, b, oracle, seed):
        self.b, self.oracle, self.rng, self.stop = b, oracle, random.Random(seed), threading.Event()
        self.started, self.ran, self.trouble = {}, {}, None  # uid -> node; uid -> (gang, job, node)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        assert not self.trouble, self.trouble

    def run(self):
        try:
            while not self.stop.wait(0.05):
                for pod in self.b.api.all("pods"):
                    if pod["spec"].get("nodeName") and self.rng.random() < 0.5:
                        self.see(pod)
        except Exception as trouble:  # shown by the test
            self.trouble = trouble

    def see(self, pod):
        meta = pod["metadata"]
        uid, name, over = meta["uid"], meta["name"], pod["status"]["phase"] in ("Succeeded", "Failed")
        try:
            if over:
                if not meta.get("finalizers"):
                    self.b.api.delete("pods", name, gracePeriodSeconds=0)
            elif meta.get("deletionTimestamp"):
                self.end(uid, name, "Failed")
            elif uid not in self.started:
                self.begin(pod)
            elif self.rng.random() < 0.3:
                self.end(uid, name, "Succeeded")
        except Refusal as refusal:
            assert refusal.code in (404, 409), refusal  # it has gone meanwhile

    def begin(self, pod):
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        alone = "exclusive" not in "".join(meta.get("annotations") or {})
        self.oracle.come(node, f"pod {meta['uid']}", int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]), alone)
        self.started[meta["uid"]] = node
        self.ran[meta["uid"]] = (meta["labels"]["leaderworkerset.sigs.k8s.io/group-key"], meta["labels"][JOB], node)

    def end(self, uid, name, phase):
        if uid in self.started:
            self.oracle.go(self.started[uid], f"pod {uid}")
        self.b.end(name, phase)


@pytest.fixture
def pool(defined, shared, rest, tmp_path):  # noqa: F811
    for one in documents("bridge.yaml"):
        try:
            defined.create(defined.path_of(one), one)
        except Refused as error:
            assert error.code == 409, error
    with PoolOracle(dict.fromkeys(NODES, 4)) as oracle, RealBridge(defined, shared, rest, tmp_path) as b:
        with Kubelets(b, oracle, 6) as kubelets:
            yield oracle, b, kubelets


def settle(b, rounds):
    wait_until(lambda: not b.api.all("pods"), "all pods ran and are gone", 60 + 3 * rounds)
    wait_until(lambda: not b.c.run("squeue", "-h").out, "no job is left", 60)


def test_gangs_are_bound_whole(pool):
    """KILLS kills of the bridge at random moments: each gang has one job, and a node for each pod."""
    oracle, b, kubelets = pool
    rng, sizes = random.Random(9), {}
    for i in range(KILLS):
        size = rng.randint(2, 4)
        sizes[f"p{i}"] = size
        wait_until(lambda: len(b.api.all("pods")) < AT_ONCE, "those before have their turn", 120)
        list(make_gang(b, i, size, "1", {}))
        threading.Event().wait(rng.uniform(0.02, 0.4))  # the moment is what is random
        b.kill()
        b.start()
    settle(b, KILLS)
    jobs, nodes = {}, {}
    for gang, job, node in kubelets.ran.values():
        jobs.setdefault(gang, set()).add(job)
        nodes.setdefault(gang, []).append(node)
    wrong = [gang for gang, size in sizes.items() if len(jobs.get(gang, ())) != 1 or not len(set(nodes[gang])) == len(nodes[gang]) == size]
    assert not wrong, {gang: (sizes[gang], jobs.get(gang), nodes.get(gang)) for gang in wrong[:5]}
    assert not oracle.wrong, oracle.wrong[:3]
    print(f"{KILLS} kills, {len(sizes)} gangs of {sum(sizes.values())} pods, none bound in part or twice")


def test_a_shared_pool(pool):
    """Gangs and scripts of random sizes, pods deleted, scripts and jobs of pods cancelled, the bridge killed: at no moment a node has too
    much."""
    oracle, b, kubelets = pool
    rng, gangs, scripts, did = random.Random(5), [], [], Counter()
    for i in range(ROUNDS):
        cpus, alone = rng.randint(1, 3), rng.random() < 0.1
        scripts.append(b.c.run("sbatch", "--parsable", "-o", "/dev/null", "-c", cpus, *(["--exclusive"] if alone else []),
                               input=oracle.script(cpus, rng.uniform(0, 1), alone)).out.strip())
        notes = {**SHARED} if rng.random() < 0.8 else {}
        gangs.append([pod["metadata"]["name"] for pod in make_gang(b, i, rng.randint(1, 3), str(rng.randint(1, 3)), notes)])
        if rng.random() < 0.2:
            b.c.run("scancel", rng.choice(scripts), check=False)
            did["scripts cancelled"] += 1
        if rng.random() < 0.2:
            remove(b, rng.choice(gangs))
            did["gangs deleted"] += 1
        if rng.random() < 0.2 and (bound := [pod["metadata"]["labels"] for pod in b.api.all("pods") if pod["spec"].get("nodeName")]):
            b.c.run("scancel", rng.choice(bound)[JOB], check=False)
            did["jobs of gangs cancelled"] += 1
        if rng.random() < 0.1:
            b.kill()
            b.start()
            did["kills"] += 1
    settle(b, ROUNDS)
    assert not oracle.wrong, oracle.wrong[:3]
    print(f"{oracle.events} events, {oracle.together} with pods and jobs on one node; {dict(did)}")
    assert oracle.together >= ROUNDS // 10, f"{oracle.events} events, {oracle.together} with both on one node"
