"""SchedulerParameters that hold the scheduler or a submission back: defer, sched_min_interval, max_array_tasks."""

import re
import time
from datetime import datetime

import pytest

from conftest import wait_until


def start_with(make_cluster, words):
    c = make_cluster(start=False, nodes=2)
    c.write_conf(c.conf_text().replace("SchedulerParameters=requeue_delay=2", "SchedulerParameters=requeue_delay=2" + words))
    return c.start()


def waited(c, job):
    """Seconds between submission and start, as the controller tells."""
    record = c.wait_state(job, "RUNNING", "COMPLETED")
    submit, start = (datetime.fromisoformat(record[key]) for key in ("SubmitTime", "StartTime"))
    return (start - submit).total_seconds()


def cycles(c):
    """Quick passes of the scheduler so far."""
    return int(re.search(r"Main schedule statistics.*?Total cycles:\s+(\d+)", c.run("sdiag").out, re.S).group(1))


def test_defer(make_cluster):
    """A new job alone starts no pass; the pass comes within three seconds, or with the next other change."""
    c = start_with(make_cluster, ",defer")
    assert waited(c, c.sbatch(wrap="sleep 100")) >= 2
    job = c.sbatch(wrap="sleep 100")
    c.run("scontrol", "update", "NodeName=node2", "Comment=changed", "Weight=7")
    assert waited(c, job) < 2


@pytest.mark.parametrize("words, most", [("", None), (",sched_min_interval=3000000", 3)])
def test_sched_min_interval(make_cluster, words, most):
    """There is so much time between two passes; without it each of these jobs brings at least one."""
    c = start_with(make_cluster, words)
    before, began = cycles(c), time.monotonic()
    for _ in range(8):
        job = c.sbatch(wrap="true")
        time.sleep(0.1)  # no condition: the jobs come one after another
    passes, elapsed = cycles(c) - before, time.monotonic() - began
    assert passes <= elapsed / most + 1 if most else passes >= 8
    wait_until(lambda: c.state(job) == "COMPLETED", "the last job has run")


def test_sched_min_interval_of_an_array(make_cluster):
    """The tasks of an array that have room start together, not one in each interval."""
    c = start_with(make_cluster, ",sched_min_interval=10000000")
    job = c.sbatch("--array=1-3", wrap="sleep 100")

    def running():
        return c.run("squeue", "-h", "-r", "-t", "R", "-j", job, "-o", "%i").out.split()

    wait_until(running, "the first one runs", timeout=30)
    wait_until(lambda: len(running()) == 3, "all run", timeout=5)


def test_max_array_tasks(make_cluster):
    """An array has at most so many tasks, whatever their numbers."""
    c = start_with(make_cluster, ",max_array_tasks=3")
    c.sbatch("-H", "--array=0,500,900", wrap="true")
    err = c.refused("sbatch", "-H", "--array=1-4", "--wrap", "true")
    assert err == "sbatch: error: Batch job submission failed: Invalid job array specification\n"


def test_defer_batch(make_cluster):
    """As defer, of batch jobs alone: a waiting salloc has its nodes at once."""
    c = start_with(make_cluster, ",defer_batch")
    assert waited(c, c.sbatch(wrap="sleep 100")) >= 2
    began = time.monotonic()
    c.run("salloc", "true")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("option, word", [("-C", "constraint"), ("--prefer", "prefer")])
def test_features_that_nodes_may_bring(make_cluster, option, word):
    """ignore_constraint_validation, ignore_prefer_validation: a feature that no node has is no mistake."""
    c = start_with(make_cluster, "")
    assert "Invalid" in c.refused("sbatch", option, "later&new", "--wrap", "true")
    c.write_conf(c.conf.read_text().replace("SchedulerParameters=", f"SchedulerParameters=ignore_{word}_validation,"))
    c.run("scontrol", "reconfigure")
    job = c.sbatch(option, "later&new", wrap="true")
    assert "Invalid" in c.refused("sbatch", option, "later&&(", "--wrap", "true")
    if word == "constraint":
        wait_until(lambda: c.job(job)["Reason"] == "BadConstraints", "no node has it")
        c.run("scontrol", "update", "NodeName=node2", "AvailableFeatures=later,new", "ActiveFeatures=later,new")
        assert c.wait_state(job, "COMPLETED")["NodeList"] == "node2"
    else:
        c.wait_state(job, "COMPLETED")


def test_disable_hetjob_steps(make_cluster):
    c = start_with(make_cluster, ",disable_hetjob_steps")
    job = c.sbatch("-N1", ":", "-N1", script="srun --het-group=0,1 true; srun --het-group=1 echo one of them")
    c.wait_end(job)
    assert "disable_hetjob_steps" in c.out(job) and "one of them" in c.out(job)


@pytest.mark.parametrize("rule, other, first", [("min", 1500, False), ("min", 900, True), ("avg", 1900, True), ("avg", 2100, False),
                                                ("max", 2900, True)])
def test_bf_hetjob_prio(make_cluster, rule, other, first):
    """Components of priorities 3000 and 1000 stand where the rule says; a job of two nodes stands before or behind them."""
    c = start_with(make_cluster, f",bf_hetjob_prio={rule}")
    both = ("-N2", "--exclusive", "-o", "/dev/null")
    running = c.sbatch(*both, wrap="sleep 300")
    c.wait_state(running, "RUNNING")
    plain = c.sbatch(*both, f"--priority={other}", wrap="sleep 300")
    one = ("-N1", "--exclusive")
    het = c.sbatch("-o", "/dev/null", "--priority=3000", *one, ":", "--priority=1000", *one, wrap="sleep 300")
    c.run("scancel", str(running))
    c.wait_state(het if first else plain, "RUNNING")
    assert c.state(plain if first else het) == "PENDING"
