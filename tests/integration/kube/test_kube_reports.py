"""Reports about other operators, each by its number: what docs/kubernetes-fields.md lists and no other file shows."""

import re
import signal

from conftest import free_ports, wait_until

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given


def test_op_239_slurmctld_that_flaps(op):
    """slurmctld is killed in the middle of each change: no wait outlives it."""
    op.set(replicas=1)
    op.ready(1)
    for count in (2, 3, 1):
        op.c.kill_ctld()
        op.change(replicas=count)
        op.c.start_ctld()
    op.change(replicas=3)
    op.ready(3, 60)
    op.change(replicas=1)
    wait_until(lambda: len(op.pods()) == 1, f"it scales in {op.log()}", 60)


def test_op_239_a_slurmrestd_that_hangs(op):
    """It takes connections and answers nothing: workers are made all the same, and nothing is left over when it goes on."""
    op.set(replicas=1)
    op.ready(1)
    op.rest.daemon.process.send_signal(signal.SIGSTOP)
    try:
        op.change(replicas=2)
        op.set("other", replicas=1)
        wait_until(lambda: len(op.pods()) == 3 and all(p["status"].get("phase") == "Running" for p in op.api.all("pods")),
                   f"workers are made {op.pods()} {op.log()}")
        op.change(replicas=0)
        op.kubelet.wait_quiet(1)
        assert len(op.pods()) == 3, "nothing is known: nothing goes"
    finally:
        op.rest.daemon.process.send_signal(signal.SIGCONT)
    wait_until(lambda: op.pods() == ["other-0"], f"it goes on {op.log()}", 60)
    wait_until(lambda: op.status(name="other").get("availableReplicas") == 1, f"the other one is there {op.log()}", 60)


def test_op_249_250_pods_that_are_gone_already(op):
    """Changes of pods are told that there is no such pod, as when a watch is late: the update goes on, and every node is free after it."""
    op.set(replicas=3, updateStrategy={"rollingUpdate": {"maxUnavailable": 1}})
    op.ready(3)
    first = {p["metadata"]["uid"] for p in op.api.all("pods")}
    op.api.fault(404, "PATCH", "/pods/", times=6)
    op.api.fault(404, "DELETE", "/pods/", times=2)
    op.change(slurmd={"image": "penstock:2"})

    def updated():
        return not first & {p["metadata"]["uid"] for p in op.api.all("pods")} and op.condition("Ready")["status"] == "True"
    wait_until(updated, f"all are new {op.log()}", 60)
    wait_until(lambda: all(op.slurm(n)["state"] == ["IDLE", "DYNAMIC_NORM"] and not op.slurm(n)["reason"] for n in op.pods()),
               f"each is free: {[(op.slurm(n)['state'], op.slurm(n)['reason']) for n in op.pods()]}", 30)
    assert not op.api.faults, "each was met"
    assert {("w-0", 0), ("w-1", 0), ("w-2", 0)} <= set(op.kubelet.hooks), "pods that ended said to Slurm that their nodes are down"


def test_op_262_an_empty_word_takes_nothing_with_it(op):
    """What stands behind an empty Topology= in --conf counts, whoever wrote it."""
    op.c.start_slurmd("v-0", "-Z", "--conf", f"Features=w Topology= CoreSpecCount=1 MemSpecLimit=100 CPUs=2 RealMemory=500 "
                                             f"Port={free_ports(1)[0]}")
    op.kubelet.slurmds["v-0"] = "v-0"
    wait_until(lambda: "IDLE" in (op.slurm("v-0") or {"state": []})["state"], "it registers")
    shown = op.c.run("scontrol", "show", "node", "v-0").out
    assert re.search(r"\bCoreSpecCount=1\b", shown) and re.search(r"\bMemSpecLimit=100\b", shown) and "Topology=" not in shown, shown
    assert "INVALID_REG" not in op.slurm("v-0")["state"]
    op.set(replicas=1, extraConf="Topology= CoreSpecCount=1")
    wait_until(lambda: op.pods() or op.condition("Ready").get("reason") == "InvalidSpec", "it is seen")
    assert not op.pods() and op.condition("Ready")["message"] == "spec.extraConf: 'Topology=' is not Key=Value"
