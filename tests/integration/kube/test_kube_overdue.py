"""What the operator says of what does not come or does not go (penstock-operator --patience)."""

import re

import pytest
from conftest import wait_until
from test_kube_controllers import held, resv, schedule

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given

LATE = "ProgressDeadlineExceeded"


@pytest.fixture
def hasty(op):
    op.kill()
    op.start("--patience", "2")
    return op


def late(op, plural="nodesets", name="w"):
    """What both conditions say, when they say that it takes too long."""
    ready, goes_on = op.condition("Ready", plural, name), op.condition("Progressing", plural, name)
    return ready["message"] if {ready.get("reason"), goes_on.get("reason")} == {LATE} and goes_on["status"] == "False" else ""


def told(op, reason):
    return [(e["type"], e["message"]) for e in op.api.all("events") if e["reason"] == reason and e["involvedObject"]["name"] == "w"]


def test_a_worker_that_does_not_start(hasty):
    hasty.set(replicas=1, slurmd={"image": "bad"})
    said = wait_until(lambda: late(hasty), f"it is told {hasty.log()}")
    made = hasty.api.get("pods", "w-0")["metadata"]["creationTimestamp"]
    assert said == f"Pod w-0 has not started since {made}" and hasty.condition("Ready")["status"] == "False"
    assert told(hasty, LATE) == [("Warning", said)]
    hasty.change(slurmd={"image": "good"})
    hasty.ready(1)
    wait_until(lambda: hasty.condition("Progressing")["reason"] == "AsDesired", "all is well")


def test_a_worker_without_a_node(hasty):
    hasty.set(replicas=5)  # there are four
    # Any of the five may be the one; on a busy machine others are late for a moment, too.
    wait_until(lambda: re.match(r"Pod w-\d has no node since ", late(hasty) or ""), f"it is told {hasty.log()}", 40)
    hasty.api.create("nodes", {"metadata": {"name": "k5"}, "spec": {}, "status": {}})
    hasty.ready(5)


def test_a_controller_that_does_not_start(hasty):
    wait_until(lambda: late(hasty, "controllers", "c") == "0 of 1 pods of c-controller are ready", f"it is told {hasty.log()}")
    hasty.kill()
    hasty.start()  # one with more patience, which knows what was said
    hasty.kubelet.wait_quiet(1)
    assert late(hasty, "controllers", "c")
    hasty.api.patch("statefulsets", "c-controller", {"status": {"readyReplicas": 1, "updatedReplicas": 1, "observedGeneration": 9}}, sub="status")
    wait_until(lambda: hasty.condition("Progressing", "controllers", "c")["reason"] == "AsDesired", "it is there")


def test_a_set_whose_reservation_nobody_deletes(hasty):
    """slurmrestd is away for good: the set goes nevertheless, and it is told what may be left."""
    hasty.set(replicas=1, updateStrategy=schedule(7200))
    hasty.ready(1)
    wait_until(lambda: resv(hasty) and held(hasty), f"the reservation is made {hasty.log()}", 40)
    hasty.rest.daemon.stop()
    try:
        hasty.api.delete("nodesets", "w")
        wait_until(lambda: not hasty.api.get("nodesets", "w"), f"the set goes {hasty.log()}", 40)
        assert told(hasty, "ReservationLeft") == [("Warning", "Reservation SlurmOperatorMaint-w may be there yet: slurmrestd has not said "
                                                              "that it is deleted")]
    finally:
        hasty.rest.start()
    hasty.c.run("scontrol", "delete", "reservation=SlurmOperatorMaint-w")


def test_a_set_that_is_not_valid_goes(op):
    """Nobody need repair what is to go: its reservation goes, and then the set."""
    op.set(replicas=1, updateStrategy=schedule(7200))
    op.ready(1)
    wait_until(lambda: resv(op) and held(op), f"the reservation is made {op.log()}", 40)
    op.change(replicas=-1)
    wait_until(lambda: op.condition("Ready").get("reason") == "InvalidSpec", "it is refused")
    op.api.delete("nodesets", "w")
    wait_until(lambda: not op.api.get("nodesets", "w"), f"the set goes {op.log()}", 40)
    assert resv(op) is None


@pytest.mark.parametrize("said", ["0", "86401", "ten", "-1", ""])
def test_command_lines(shared, said):
    done = shared.run("penstock-operator", f"--patience={said}", check=False)
    assert (done.rc, done.err) == (2, f"penstock-operator: --patience: '{said}' is no number of 1 to 86400\n")
