"""Nodes that slurmd and a kubelet share: jobs of Slurm and pods there never want more than a node has."""

import os
import random
import threading

import pytest
from conftest import wait_until
from test_kube_bridge import JOB, OPTION, Bridge, rest  # noqa: F401  names of fixtures

from apiserver import Refusal
from pooloracle import PoolOracle

CLUSTER = {"nodes": 4, "cpus": 4, "conf": "AuthAltTypes=auth/jwt\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                                          "PartitionName=k8s Nodes=node[1-4] OverSubscribe=NO"}
NODES = [f"node{i}" for i in range(1, 5)]
SHARED = {OPTION + "exclusive": "false"}
ROUNDS = int(os.environ.get("PENSTOCK_POOL", "30"))


@pytest.fixture(scope="module")
def external(shared):
    return shared


@pytest.fixture
def pool(external, rest, tmp_path):  # noqa: F811
    with PoolOracle(dict.fromkeys(NODES, 4)) as oracle, Bridge(external, rest, tmp_path) as b:
        for node in NODES:
            b.api.create("nodes", {"metadata": {"name": node}})
        oracle.follow(b.api)
        yield oracle, b


class Kubelets:
    """Pods that are bound run for some time and end well; those that are deleted end some time later."""

    def __init__(self, b, seed):
        self.b, self.rng, self.stop = b, random.Random(seed), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def run(self):
        while not self.stop.wait(0.05):
            for pod in self.b.api.all("pods"):
                meta, name = pod["metadata"], pod["metadata"]["name"]
                if not pod["spec"].get("nodeName") or self.rng.random() > 0.2:
                    continue
                try:
                    if pod["status"]["phase"] == "Pending":
                        self.b.end(name, "Failed" if meta.get("deletionTimestamp") else "Succeeded")
                    elif not meta.get("finalizers"):
                        self.b.api.delete("pods", name, gracePeriodSeconds=0)
                except Refusal:
                    pass  # it has gone meanwhile


def test_the_oracle_sees_what_is_wrong(pool, external):
    """Somebody binds a pod to a node that a job has: the fault that the oracle is there for."""
    oracle, b = pool
    job = int(external.run("sbatch", "--parsable", "-w", "node1", "-c", "3", input=oracle.script(3, 60)).out)
    wait_until(lambda: oracle.there["node1"], "the script has begun")
    b.pod("a", notes=SHARED, cpu="2", nodeSelector={"no": "where"})
    assert not oracle.wrong
    b.api.store.bind("default", "a", {"target": {"kind": "Node", "name": "node1"}})
    assert len(oracle.wrong) == 1 and "node1 has 4 CPUs" in oracle.wrong[0], oracle.wrong
    b.end("a")
    external.run("scancel", str(job))


def test_a_shared_pool(pool, external):
    """Gangs and scripts of random sizes, pods deleted, scripts and jobs of pods cancelled, the bridge killed: at no event a node has too
    much."""
    oracle, b = pool
    rng, gangs, scripts = random.Random(5), [], []
    with Kubelets(b, 6):
        for i in range(ROUNDS):
            cpus, alone = rng.randint(1, 3), rng.random() < 0.1
            scripts.append(external.run("sbatch", "--parsable", "-o", "/dev/null", "-c", cpus, *(["--exclusive"] if alone else []),
                                        input=oracle.script(cpus, rng.uniform(0, 0.5), alone)).out.strip())
            notes = {**SHARED} if rng.random() < 0.8 else {}
            gangs.append([pod["metadata"]["name"] for pod in make_gang(b, i, rng.randint(1, 3), str(rng.randint(1, 3)), notes)])
            if rng.random() < 0.2:
                external.run("scancel", rng.choice(scripts), check=False)
            if rng.random() < 0.2:
                remove(b, rng.choice(gangs))
            if rng.random() < 0.2 and (bound := [pod["metadata"]["labels"] for pod in b.api.all("pods") if pod["spec"].get("nodeName")]):
                external.run("scancel", rng.choice(bound)[JOB], check=False)
            if rng.random() < 0.1:
                b.kill()
                b.start()
        wait_until(lambda: not [p for p in b.api.all("pods")], "all pods ran and are gone", 60 + 2 * ROUNDS)
        wait_until(lambda: not external.run("squeue", "-h").out, "no job is left", 60)
    assert not oracle.wrong, oracle.wrong[:3]
    print(f"{oracle.events} events, {oracle.together} with pods and jobs on one node")
    assert oracle.together >= ROUNDS // 10, f"{oracle.events} events, {oracle.together} with both on one node"


def make_gang(b, i, size, cpu, notes):
    lead = "leaderworkerset.sigs.k8s.io/"
    for k in range(size):
        labels = {lead + "group-key": f"p{i}", lead + "name": f"p{i}", lead + "group-index": "0", lead + "worker-index": str(k)}
        yield b.pod(f"p{i}-{k}", labels, {lead + "size": str(size), **notes}, cpu=cpu)


def remove(b, names):
    """All of a gang: with fewer pods it would wait for ever."""
    for name in names:
        try:
            b.api.delete("pods", name)
        except Refusal:
            pass  # it has ended
