"""Jobs that share CPUs take turns (PreemptMode=GANG): real processes are stopped and go on, slice by slice."""

import re
import time
from pathlib import Path

import pytest

from conftest import is_stopped, wait_until

# Every 0.05 s a line; the first is the script's number.
TICKS = "echo $$ > ticks.$SLURM_JOB_ID; while :; do echo x >> ticks.$SLURM_JOB_ID; sleep 0.05; done"
SLICE = 5


@pytest.fixture
def sharing(make_cluster):
    def make(mode="GANG", ways="FORCE:3", more="", partition="", nodes=1):
        return make_cluster(nodes=nodes, partition=f"OverSubscribe={ways} {partition}",
                            conf=f"SchedulerTimeSlice={SLICE}\nPreemptMode={mode}\nKillWait=1\n{more}\n"
                                 "PreemptParameters=suspend_grace_time=0")
    return make


def ticks(c, job):
    """Number of the script's process, and how far it came."""
    path = Path(c.work) / f"ticks.{job}"
    lines = path.read_text().split() if path.exists() else []
    return (int(lines[0]), len(lines)) if lines else (0, 0)


def stopped(c, job):
    pid = ticks(c, job)[0]
    return bool(pid) and is_stopped(pid)


def states(c, *jobs):
    """Of one moment."""
    rows = dict(line.split() for line in c.run("squeue", "-h", "-t", "all", "-o", "%i %t").out.splitlines())
    return [rows.get(str(job), "gone") for job in jobs]


def turn_of(c, job, *others):
    """Wait until it is its turn; at every look exactly one of them runs."""
    def looks():
        seen = states(c, job, *others)
        assert sorted(seen) == ["R"] + ["S"] * len(others), f"{seen} {c.logs('slurm')}"
        return seen[0] == "R"
    wait_until(looks, f"it is the turn of {job}", timeout=SLICE * (len(others) + 1) + 20)


def goes_on(c, job):
    before = ticks(c, job)[1]
    wait_until(lambda: ticks(c, job)[1] > before, f"the processes of {job} run")


def test_turns(sharing):
    """Two on the same CPUs: one runs, the other is stopped; the next slice it is the other way round; so after a crash of
    the controller; a cancelled one leaves, and who is alone runs on."""
    c = sharing()
    a = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: ticks(c, a)[1], "the first runs")
    b = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: states(c, b) != ["PD"], "the second has started")
    assert c.job(a)["NodeList"] == c.job(b)["NodeList"] == "node1"
    turn_of(c, b, a)
    wait_until(lambda: stopped(c, a), "the first is stopped")
    goes_on(c, b)
    job = c.job(a)
    assert job["JobState"] == "SUSPENDED" and job["SuspendTime"] != "None"
    assert int(job["SecsPreSuspend"]) >= 0
    assert re.search(rf"^ *{a} .* S .*node1$", c.run("squeue").out, re.M)
    turn_of(c, a, b)
    wait_until(lambda: stopped(c, b), "the second is stopped")
    goes_on(c, a)
    c.kill_ctld()
    c.start_ctld()
    turn_of(c, b, a)
    wait_until(lambda: stopped(c, a), "the first is stopped again")
    turn_of(c, a, b)
    goes_on(c, a)
    c.run("scancel", a)
    wait_until(lambda: states(c, b) == ["R"], "the second has the CPUs for itself")
    goes_on(c, b)
    times = c.job(b)
    assert seconds(times["EndTime"]) - seconds(times["StartTime"]) > 600, "the time limit counts only what it ran"
    c.run("scancel", b)
    c.wait_sacct(b, "CANCELLED")
    (suspended,), = c.sacct("-X", "-j", b, "-o", "suspended")
    assert suspended != "00:00:00"


def seconds(text):
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))


def test_three_and_one_beside(sharing):
    """Three on one node each get their turn, a job elsewhere is never stopped, one that is queued again leaves the row."""
    c = sharing(nodes=2)
    free = c.sbatch("-wnode2", "-n4", "-t10", wrap=TICKS)
    c.wait_state(free, "RUNNING")
    jobs = [c.sbatch("-wnode1", "-n4", "-t10", wrap=TICKS) for _ in range(3)]
    wait_until(lambda: "PD" not in states(c, *jobs), "all three have started")
    for job in jobs:
        turn_of(c, job, *[other for other in jobs if other != job])
        goes_on(c, job)
        assert states(c, free) == ["R"]
    c.run("scontrol", "requeue", jobs[0])
    wait_until(lambda: states(c, jobs[0]) == ["PD"], "it is queued again")
    turn_of(c, jobs[2], jobs[1])
    turn_of(c, jobs[1], jobs[2])
    assert states(c, free) == ["R"]


def test_steps_wait(sharing):
    """A step of a job that has no turn starts with its next; memory stays held."""
    c = sharing(ways="FORCE:2")
    a = c.sbatch("-n4", "--mem=1000", "-t10", wrap=TICKS)
    wait_until(lambda: ticks(c, a)[1], "the first runs")
    b = c.sbatch("-n4", "--mem=1000", "-t10", wrap="srun -n4 bash -c 'echo task >> done'; sleep 1000")
    wait_until(lambda: states(c, b) != ["PD"], "the second has started")
    big = c.sbatch("-n1", "--mem=1500", "-t10", wrap="true")
    wait_until(lambda: (c.work / "done").exists() and (c.work / "done").read_text() == "task\n" * 4,
               "its step ran", timeout=SLICE * 2 + 30)
    assert sorted(states(c, a, b)) == ["R", "S"]
    assert states(c, big) == ["PD"]


def test_operator(sharing):
    """Suspended by an operator a job takes no turns, its CPUs are free for others, and it comes back into its turn."""
    c = sharing(ways="FORCE:2")
    a = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: ticks(c, a)[1], "the first runs")
    b = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: states(c, b) != ["PD"], "the second has started")
    third = c.sbatch("-n4", "-t10", wrap=TICKS)
    turn_of(c, b, a)
    assert "Requested operation is presently disabled" in c.refused("scontrol", "resume", a)
    assert c.run("scontrol", "suspend", a).rc == 0
    wait_until(lambda: states(c, third) != ["PD"], "a third has started")
    turn_of(c, third, b)
    turn_of(c, b, third)
    assert states(c, a) == ["S"]
    assert c.run("scontrol", "resume", a).rc == 0
    turn_of(c, a, b, third)
    goes_on(c, a)


def test_preempted_take_turns_again(sharing):
    """SUSPEND,GANG: whoever takes turns makes room for a higher tier together, and goes on by itself, in turns."""
    c = sharing(mode="SUSPEND,GANG", ways="NO", partition="PriorityTier=10",
                more="PreemptType=preempt/partition_prio\nPartitionName=low Nodes=ALL PriorityTier=1 OverSubscribe=FORCE:2")
    assert "PreemptMode=GANG,SUSPEND" in c.run("scontrol", "show", "partition", "low").out
    a, b = (c.sbatch("-plow", "-n4", "-t10", wrap=TICKS) for _ in range(2))
    wait_until(lambda: "PD" not in states(c, a, b), "both have started")
    turn_of(c, b, a)
    high = c.sbatch("-n4", "-t10", wrap=TICKS)
    c.wait_state(high, "RUNNING")
    assert states(c, a, b) == ["S", "S"]
    wait_until(lambda: stopped(c, a) and stopped(c, b), "both are stopped")
    goes_on(c, high)
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes("allocated")
    assert states(c, a, b, high) == ["S", "S", "R"]
    c.run("scancel", high)
    wait_until(lambda: sorted(states(c, a, b)) == ["R", "S"], "one goes on")
    turn_of(c, a, b)
    turn_of(c, b, a)
    goes_on(c, b)


def test_gang_ends_with_the_configuration(sharing):
    """Without GANG those that share CPUs run at the same time; with it again they take turns."""
    c = sharing(ways="FORCE:2")
    a, b = (c.sbatch("-n4", "-t10", wrap=TICKS) for _ in range(2))
    wait_until(lambda: sorted(states(c, a, b)) == ["R", "S"], "they take turns")
    text = c.conf.read_text()
    c.write_conf(text.replace("PreemptMode=GANG", "PreemptMode=OFF"))
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: states(c, a, b) == ["R", "R"], "both run")
    goes_on(c, a)
    goes_on(c, b)
    c.write_conf(text)
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: sorted(states(c, a, b)) == ["R", "S"], "they take turns again")
    turn_of(c, a, b)
    turn_of(c, b, a)


def test_suspend_grace_time(make_cluster):
    """Until it is over a job that heeds SIGTSTP may go on."""
    c = make_cluster(nodes=1, conf="PreemptParameters=suspend_grace_time=600")
    job = c.sbatch("-t10", script=f"trap 'echo warned' TSTP\n{TICKS}")
    wait_until(lambda: ticks(c, job)[1], "it runs")
    assert c.run("scontrol", "suspend", job).rc == 0
    wait_until(lambda: "warned" in c.out(job), "it is told")
    goes_on(c, job)
    assert states(c, job) == ["S"]
    text = c.conf.read_text()
    c.write_conf(text.replace("grace_time=600", "grace_time=0"))
    assert c.run("scontrol", "reconfigure").rc == 0
    assert c.run("scontrol", "resume", job).rc == 0


def test_slurmd_restarts(sharing):
    """What a node missed while its slurmd was away it is told when that is back."""
    c = sharing(ways="FORCE:2")
    a = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: ticks(c, a)[1], "the first runs")
    b = c.sbatch("-n4", "-t10", wrap=TICKS)
    wait_until(lambda: ticks(c, b)[1], "the second was there")
    turn_of(c, a, b)
    wait_until(lambda: stopped(c, b), "the second is stopped")
    c.slurmds["node1"].kill()
    turn_of(c, b, a)
    c.start_slurmd("node1")
    wait_until(lambda: stopped(c, a) or states(c, a) == ["R"], "the first is stopped now")
    turn_of(c, b, a)
    goes_on(c, b)
