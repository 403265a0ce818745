"""Preemption by partition: who goes, how, what is seen of it, and that it outlives the controller."""

import os
import re
import signal
from datetime import datetime

import pytest

from conftest import wait_until

BASE = ("KillWait=1\nPreemptType=preempt/partition_prio\nPreemptMode={mode}\n{more}\n"
        "PartitionName=low Nodes=ALL PriorityTier=1 {low}\nPartitionName=mid Nodes=ALL PriorityTier=5\n"
        "SchedulerParameters=requeue_delay={delay}")


@pytest.fixture
def preempting(make_cluster):
    def make(mode="REQUEUE", more="", low="", delay=60, nodes=2):
        return make_cluster(nodes=nodes, partition="PriorityTier=10",
                            conf=BASE.format(mode=mode, more=more, low=low, delay=delay))
    return make


def running(c, *options, wrap="sleep 1000"):
    job = c.sbatch(*options, "-t10", wrap=wrap)
    c.wait_state(job, "RUNNING")
    return job


def test_the_reason_outlives_the_connection(preempting):
    """A slurmd that was away when its job had to go says why when it is back; so it does of a time limit."""
    c = preempting(mode="CANCEL", more="SlurmdTimeout=60")
    low = running(c, "-plow", "-wnode2", "--exclusive", wrap="touch up; sleep 1000")
    wait_until(lambda: (c.work / "up").exists(), "the script runs")
    os.kill(c.slurmds["node2"].pid, signal.SIGSTOP)
    c.sbatch("-wnode2", "--exclusive", "-t10", wrap="true")
    c.wait_state(low, "COMPLETING")
    c.slurmds["node2"].kill()
    c.start_slurmd("node2")
    wait_until(lambda: "DUE TO PREEMPTION ***" in c.out(low), "the job is told why")


def states(c, *jobs):
    return [c.state(job) for job in jobs]


def test_transcript(preempting):
    """The preemption part of transcript 27."""
    c = preempting()
    low = running(c, "-plow", "-wnode1", "--exclusive", "-Jlowjob")
    lownorq = running(c, "-plow", "-wnode2", "--exclusive", "--no-requeue", "-Jlownorq")
    hi1 = running(c, "-wnode1", "--exclusive", "-Jhi1")
    hi2 = running(c, "-wnode2", "--exclusive", "-Jhi2")
    out = c.run("squeue", "-t", "all", "-o", "%i %j %P %T %R", "-n", "lowjob,lownorq,hi1,hi2").out
    assert sorted(out.splitlines()) == sorted([
        "JOBID NAME PARTITION STATE NODELIST(REASON)", f"{hi1} hi1 main RUNNING node1", f"{hi2} hi2 main RUNNING node2",
        f"{low} lowjob low PENDING (BeginTime)", f"{lownorq} lownorq low PREEMPTED node2"])
    text = c.run("scontrol", "show", "job", low).out
    assert "   JobState=PENDING Reason=BeginTime Dependency=(null)\n" in text
    assert "   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0\n" in text
    assert "PreemptTime" not in text
    text = c.run("scontrol", "show", "job", lownorq).out
    assert "   JobState=PREEMPTED Reason=None Dependency=(null)\n" in text
    assert "   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15\n" in text
    assert re.search(r"\n   PreemptEligibleTime=\d{4}-\S+ PreemptTime=\d{4}-\S+\n", text)
    for job, node in (low, "node1"), (lownorq, "node2"):
        assert re.search(rf"^\[\S+\] error: \*\*\* JOB {job} ON {node} CANCELLED AT \S+ DUE TO PREEMPTION \*\*\*$",
                         c.out(job), re.M)
    c.wait_sacct(lownorq, "PREEMPTED")
    wait_until(lambda: [r[0] for r in c.sacct("-D", "-X", "-j", low, "-o", "state")] == ["PREEMPTED", "PENDING"],
               "both runs are in accounting")
    assert c.sacct("-D", "-X", "-j", f"{low},{lownorq}", "-o", "jobid,state,exitcode")[:2] == [
        [str(low), "PREEMPTED", "0:0"], [str(lownorq), "PREEMPTED", "0:0"]]
    log = c.logs("slurmctld")
    assert f"job {hi1}: preempts 1 of 2 candidates for node1: job {low} (requeued)" in log
    assert f"job {hi2}: preempts 1 of 1 candidates for node2: job {lownorq} (cancelled)" in log


def test_who_cannot_be_queued_again_is_spared(preempting):
    """Among equals a --no-requeue job goes last: it would be lost; scontrol update tells the scheduler, too."""
    c = preempting(nodes=3)
    first = running(c, "-plow", "-wnode1", "-n4")
    again = running(c, "-plow", "-wnode2", "-n4")
    lost = running(c, "-plow", "-wnode3", "-n4", "--no-requeue")
    c.run("scontrol", "update", f"JobId={again}", "Requeue=0")
    high = running(c, "-N1", "-n4")
    assert c.job(high)["NodeList"] == "node1"
    assert states(c, first, again, lost) == ["PENDING", "RUNNING", "RUNNING"]


def test_least_disturbance(preempting):
    """Of those that would do, the one of lowest tier; nobody who does not help; none of the same tier."""
    c = preempting("CANCEL", nodes=3)
    mid = running(c, "-pmid", "-wnode1", "-n4")
    two = running(c, "-plow", "-wnode2", "-n2"), running(c, "-plow", "-wnode2", "-n2")
    one = running(c, "-plow", "-wnode3", "-n4")
    high = running(c, "-N1", "-n4")
    assert c.job(high)["NodeList"] == "node3"
    assert states(c, mid, *two, one) == ["RUNNING", "RUNNING", "RUNNING", "PREEMPTED"]
    other = running(c, "-N1", "-n2")
    assert c.job(other)["NodeList"] == "node2"
    assert sorted(states(c, mid, *two)) == ["PREEMPTED", "RUNNING", "RUNNING"]
    last = running(c, "-wnode1", "-n4")
    equal = c.sbatch("-wnode1", "-n4", "-t10", wrap="true")
    wait_until(lambda: c.job(equal)["Reason"] == "Resources", "it waits")
    assert states(c, last, mid) == ["RUNNING", "PREEMPTED"]


def test_grace(preempting):
    """SIGTERM comes at once, the end when the grace is over, also with another controller."""
    c = preempting("CANCEL", low="GraceTime=6", nodes=1)
    low = c.sbatch("-plow", "-n4", "-t10", script="trap 'echo warned' TERM\necho ready\nfor i in {1..100}; do sleep 0.2; done")
    c.wait_state(low, "RUNNING")
    wait_until(lambda: (c.work / f"slurm-{low}.out").exists() and "ready" in c.out(low), "the script is on its way")
    high = c.sbatch("-n4", "-t10", wrap="sleep 1000")
    wait_until(lambda: "warned" in c.out(low), "it is warned")
    late = c.sbatch("-n1", "-t1", wrap="true")
    assert states(c, low, high) == ["RUNNING", "PENDING"]
    assert c.job(low)["PreemptTime"] != "None"
    assert c.run("squeue", "-h", "-j", low, "-O", "PreemptTime").out.strip() == c.job(low)["PreemptTime"]
    assert c.run("squeue", "-h", "-j", late, "-O", "PreemptTime").out.strip() == "N/A"
    c.kill_ctld()
    c.start_ctld()
    assert states(c, low, high, late) == ["RUNNING", "PENDING", "PENDING"]
    c.wait_state(high, "RUNNING")
    assert c.state(low) == "PREEMPTED"
    assert "DUE TO PREEMPTION" in c.out(low)


def test_ends_in_its_grace(preempting):
    c = preempting(low="GraceTime=100", nodes=1)
    low = running(c, "-plow", "-n4", wrap="exec sleep 1000")
    high = running(c, "-n4")
    assert states(c, low, high) == ["PENDING", "RUNNING"]
    assert c.job(low)["Restarts"] == "1"


def test_suspend(preempting):
    """The victim stops and goes on when the preemptor has ended; nobody else gets its CPUs; so after a crash."""
    c = preempting("SUSPEND,GANG", nodes=1)
    assert "PreemptMode=GANG,SUSPEND" in c.run("scontrol", "show", "partition", "low").out
    low = running(c, "-plow", "-n3")
    high = running(c, "-n4")
    also = c.sbatch("-plow", "-n1", "-t10", wrap="true")
    assert states(c, low, also) == ["SUSPENDED", "PENDING"]
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes("allocated")
    assert states(c, low, high, also) == ["SUSPENDED", "RUNNING", "PENDING"]
    c.run("scancel", high)
    c.wait_state(low, "RUNNING")
    c.wait_end(also)
    assert c.state(low) == "RUNNING"


def test_exempt(preempting):
    c = preempting("CANCEL", more="PreemptExemptTime=00:00:05", low="", nodes=1)
    low = running(c, "-plow", "-n4")
    high = c.sbatch("-n4", "-t10", wrap="sleep 1000")
    wait_until(lambda: c.job(high)["Reason"] == "Resources", "it waits")
    assert c.state(low) == "RUNNING"
    job = c.job(low)
    assert job["PreemptEligibleTime"] > job["StartTime"]
    c.wait_state(high, "RUNNING")
    assert c.state(low) == "PREEMPTED"


def test_exempt_of_a_qos(make_cluster):
    """A QOS has seconds of its own; the job says until when it is safe, and is."""
    c = make_cluster(nodes=1, conf="KillWait=1\nPreemptType=preempt/qos\nPreemptMode=CANCEL\nPreemptExemptTime=01:00:00")
    for words in (["low", "preemptexempttime=00:00:04"], ["high", "preempt=low"]):
        c.run("sacctmgr", "-i", "add", "qos", *words)
    c.run("sacctmgr", "-i", "add", "account", "acc")
    c.run("sacctmgr", "-i", "add", "user", "root", "account=acc", "qos=low,high,normal")
    assert c.run("sacctmgr", "-nP", "show", "qos", "low", "format=preemptexempttime").out == "00:00:04\n"
    low = running(c, "-Aacc", "--qos=low", "-n4")
    high = c.sbatch("-Aacc", "--qos=high", "-n4", "-t10", wrap="sleep 1000")
    safe, began = (datetime.fromisoformat(c.job(low)[key]) for key in ("PreemptEligibleTime", "StartTime"))
    assert (safe - began).seconds == 4
    c.wait_state(high, "RUNNING")
    assert c.state(low) == "PREEMPTED"
    assert datetime.fromisoformat(c.job(low)["EndTime"]) >= safe


@pytest.mark.parametrize("mode, state", [("CANCEL", "PREEMPTED"), ("REQUEUE", "PENDING")])
def test_suspended_by_hand(preempting, mode, state):
    """A suspended job keeps its memory; a job of a higher tier that needs that sends it away like one that runs."""
    c = preempting(mode, nodes=1)
    low = running(c, "-plow", "-n1", "--mem=1500")
    c.run("scontrol", "suspend", low)
    high = running(c, "-n1", "--mem=1500", wrap="sleep 1000")
    c.wait_state(low, state)
    assert c.state(high) == "RUNNING"
    c.run("scancel", high)
    if mode == "REQUEUE":
        c.run("scontrol", "update", f"jobid={low}", "starttime=now")
        c.wait_state(low, "RUNNING")


def test_off(preempting):
    c = preempting("CANCEL", low="PreemptMode=OFF", nodes=1)
    low = running(c, "-plow", "-n4")
    high = c.sbatch("-n4", "-t10", wrap="true")
    wait_until(lambda: c.job(high)["Reason"] == "Resources", "it waits")
    assert c.run("sinfo", "-h", "-p", "low", "-O", "PreemptMode").out.strip() == "OFF"
    assert c.state(low) == "RUNNING"


def test_backfill_preempts(preempting):
    """Behind a head that waits for what it may not preempt, others still send away whom they may."""
    c = preempting()
    equal = running(c, "-wnode1", "--exclusive")
    low = running(c, "-plow", "-wnode2", "--exclusive")
    head = c.sbatch("-wnode1", "--exclusive", "-t10", wrap="sleep 1000")
    behind = c.sbatch("-N1", "-n1", "-t5", wrap="sleep 1000")
    c.wait_state(behind, "RUNNING")
    assert states(c, equal, head, low) == ["RUNNING", "PENDING", "PENDING"]


def test_explain(preempting):
    """Whom a job may preempt, who will go, and why others stay."""
    c = preempting(low="GraceTime=300")
    equal = running(c, "-wnode1", "--exclusive")
    low = running(c, "-plow", "-wnode2", "--exclusive", wrap="trap '' TERM; touch deaf; while :; do sleep 1; done")
    wait_until(lambda: (c.work / "deaf").exists(), "it hears no SIGTERM")
    first = c.sbatch("-wnode1", "--exclusive", "-t10", wrap="sleep 1000")
    wait_until(lambda: c.job(first)["Reason"] == "Resources", "it is looked at")
    assert "It may preempt none of the 2 jobs there: 1 does not rank below it" not in explain(c, first)
    assert "but would not fit without them either: 1 does not rank below it." in explain(c, first)
    claims = c.sbatch("-wnode2", "--exclusive", "-t10", "-p", "mid", wrap="sleep 1000")
    wait_until(lambda: "PreemptTime=2" in c.run("scontrol", "show", "job", low).out, "it is told to go")
    assert f"It preempts job {low} (requeued) and starts when it has gone." in explain(c, claims)
    last = c.sbatch("-p", "low", "-N2", "--exclusive", "-t10", wrap="sleep 1000")
    wait_until(lambda: c.job(last)["Reason"] != "None", "it is looked at")
    assert re.search(r"It may preempt none of the \d jobs there: .*does not rank below it.*1 ends anyway",
                     explain(c, last))
    assert c.state(equal) == "RUNNING"


def explain(c, job):
    return c.run("scontrol", "explain", job).out
