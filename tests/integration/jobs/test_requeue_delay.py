"""How long a requeued job waits where SchedulerParameters says nothing: as long as a credential lives (AuthInfo=cred_expire)."""

import re

import pytest

from conftest import wait_until

CONF = "SchedulerParameters=batch_sched_delay=0\nAuthInfo=cred_expire=900\nRequeueExit=101\nRequeueExitHold=102"


@pytest.fixture
def waits(make_cluster):
    c = make_cluster(start=False, nodes=1, conf=CONF)
    c.write_conf(re.sub(r"SchedulerParameters=requeue_delay=\d+\n", "", c.conf_text()))
    return c.start()


def delay(c, job):
    """Seconds from the requeue to the next beginning."""
    wait_until(lambda: c.run("squeue", "-h", "-j", job, "-o", "%T %r").out == "PENDING BeginTime\n", "it waits for its time")
    begin, queued = (int(c.run("squeue", "-h", "-j", job, "-o", f, env={"SLURM_TIME_FORMAT": "%s"}).out) for f in ("%S", "%V"))
    return begin - queued


def test_requeue_by_command(waits):
    job = waits.sbatch("--requeue", wrap="sleep 1000")
    waits.wait_state(job, "RUNNING")
    waits.run("scontrol", "requeue", job)
    assert 899 <= delay(waits, job) <= 902


def test_requeue_by_exit_code(waits):
    """It ran dozens of times a second."""
    job = waits.sbatch("--requeue", wrap="exit 101")
    assert 899 <= delay(waits, job) <= 902
    assert waits.job(job)["Restarts"] == "1"
