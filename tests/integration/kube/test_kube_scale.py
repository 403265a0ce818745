"""Workers that go up and down under load on a real kube-apiserver, with a slurmd in each, while the operator is killed."""

import os
import random
import threading

import pytest
from conftest import wait_until
from kubelet import WORKER, Kubelet
from manifests import documents
from operated import CLUSTER as OPERATED, Operator, rest  # noqa: F401  names of fixtures
from realapi import RealApi
from realserver import Refused, missing
from test_kube_real import OPERATOR, defined, server  # noqa: F401  names of fixtures

MOST = int(os.environ.get("PENSTOCK_SCALE", "10"))  # workers; 50: as the project promises
KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
CLUSTER = {**OPERATED, "conf": OPERATED["conf"].replace("MaxNodeCount=30", f"MaxNodeCount={MOST + 10}")}

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is one")


class RealOperator(Operator):
    def __init__(self, server, c, rest, folder):  # noqa: F811
        super().__init__(c, rest, folder)
        self.api = RealApi(server, OPERATOR)
        self.kubelet = Kubelet(self.api, c, nodes=MOST)

    def workers(self):
        """Kubernetes' own controllers make pods too."""
        return [p for p in self.api.all("pods") if p["metadata"]["labels"].get(WORKER[0]) == WORKER[1]]

    def pods(self):
        return [p["metadata"]["name"] for p in self.workers() if not p["metadata"].get("deletionTimestamp")]


@pytest.fixture
def op(defined, shared, rest, tmp_path):  # noqa: F811
    for one in documents("operator.yaml"):
        try:
            defined.create(defined.path_of(one), one)
        except Refused as error:
            assert error.code == 409, error
    with RealOperator(defined, shared, rest, tmp_path) as operator:
        yield operator


def test_up_and_down_under_load(op):
    """3, MOST, 2 workers: no job is lost, run twice or ended, whenever the operator dies; `op` sees that no pod with a job was ended."""
    rng, stop, jobs = random.Random(11), threading.Event(), []

    def load():
        while not stop.wait(0.2):
            work = f"sleep {rng.uniform(0, 2):.2f}"
            jobs.append(op.c.run("sbatch", "--parsable", "-p", "w", "-o", "/dev/null", "--wrap", work).out.strip())

    op.set(replicas=3)
    op.ready(3, 60)
    thread, kills = threading.Thread(target=load, daemon=True), 0
    thread.start()
    try:
        for count in (MOST, 2):
            op.change(replicas=count)
            for _ in range(KILLS // 2):
                stop.wait(rng.uniform(0.05, 1))  # the moment is what is random
                op.kill()
                op.start()
                kills += 1
            op.ready(count, 60 + 6 * MOST)
    finally:
        stop.set()
        thread.join()
    wait_until(lambda: not op.c.run("squeue", "-h", "-t", "PD,R,CG").out, "all jobs ran", 60 + len(jobs))
    states = [op.c.state(job) for job in jobs]
    assert states == ["COMPLETED"] * len(jobs), dict(zip(jobs, states))
    assert not any("Restarts=0" not in op.c.run("scontrol", "show", "job", job).out for job in jobs), "none was run twice"
    print(f"{len(jobs)} jobs, {kills} kills, 3 to {MOST} to 2 workers")
    op.change(replicas=0)
    wait_until(lambda: not op.pods(), f"no worker is left {op.pods()}", 60)
