"""Limits: time, memory, counts, partitions; why a job waits; backfill."""

import getpass
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "partition": "DefaultTime=10",
           "conf": "KillWait=1\nMaxArraySize=20\nLicenses=matlab:4\n"
                   "SchedulerParameters=bf_interval=1\nEnforcePartLimits=NO\n"
                   "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1"}
UNAVAILABLE = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"


@pytest.fixture(scope="module", autouse=True)
def parts(shared):
    for line in ("small nodes=node[1-2] maxtime=30 maxnodes=1", "two nodes=node[3-4] minnodes=2",
                 "closed nodes=node4 state=down"):
        shared.run("scontrol", "create", *f"partitionname={line}".split())


def reason(c, job, *wanted):
    return wait_until(lambda: (r := c.run("squeue", "-h", "-j", job, "-o", "%r").out.strip()) in wanted and r,
                      f"job {job} waits for {wanted}")


def fill(c, *options, nodes=4):
    job = c.sbatch(f"-N{nodes}", "--exclusive", *options, wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    return job


# ---- why jobs wait ---------------------------------------------------------------------------------

def test_resources_and_priority(c):
    fill(c, "-t", "60")
    first, second = c.sbatch("-N4", wrap="true"), c.sbatch("-N4", wrap="true")
    reason(c, first, "Resources")
    reason(c, second, "Priority")


def test_part_limits(c):
    reason(c, c.sbatch("-p", "small", "-t", "50", wrap="true"), "PartitionTimeLimit")
    reason(c, c.sbatch("-p", "small", "-N2", wrap="true"), "PartitionNodeLimit")
    reason(c, c.sbatch("-p", "two", "-N1", wrap="true"), "PartitionNodeLimit")
    reason(c, c.sbatch("-p", "closed", wrap="true"), "PartitionDown")
    reason(c, c.sbatch("-N9", "-n9", wrap="true"), "PartitionNodeLimit")
    reason(c, c.sbatch("-n", "100000", wrap="true"), "PartitionConfig")
    assert c.refused("sbatch", "--test-only", "-N9", "-n9", "--wrap", "true") == \
        "allocation failure: Requested node configuration is not available\n"


def test_dependency_begin_held(c):
    held = c.sbatch("-H", wrap="true")
    reason(c, held, "JobHeldUser")
    reason(c, c.sbatch("-d", f"afterok:{held}", wrap="true"), "Dependency")
    reason(c, c.sbatch("--begin=now+1hour", wrap="true"), "BeginTime")


def test_drained_node(c):
    c.run("scontrol", "update", "nodename=node3", "state=drain", "reason=x")
    try:
        job = c.sbatch("-w", "node3", wrap="true")
        wait_until(lambda: c.job(job)["Reason"].startswith("ReqNodeNotAvail"), "the reason is told")
        assert c.state(job) == "PENDING"
    finally:
        c.run("scontrol", "update", "nodename=node3", "state=resume")
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_licenses(c):
    first = c.sbatch("-L", "matlab:3", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    second = c.sbatch("-L", "matlab:2", wrap="true")
    reason(c, second, "Licenses")
    third = c.sbatch("-L", "matlab", wrap="true")
    c.run("scancel", first)
    assert c.wait_end(second)["JobState"] == "COMPLETED"
    assert c.wait_end(third)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("spec", ["nosuch:1", "matlab:100"])
def test_licenses_that_are_not_there(c, spec):
    assert c.refused("sbatch", "-L", spec, "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Invalid license specification\n")


# ---- what can never be -----------------------------------------------------------------------------

@pytest.mark.parametrize("options,first", [
    (["-c", "17"], "sbatch: error: CPU count per node can not be satisfied\n"),
    (["--mem=17000"], "sbatch: error: Memory specification can not be satisfied\n"),
    (["--mem-per-cpu=20000"], "sbatch: error: Memory specification can not be satisfied\n"),
    (["--ntasks-per-node=100", "-N1"], "sbatch: error: CPU count per node can not be satisfied\n"),
    (["--threads-per-core=4"], "sbatch: error: Socket, core and/or thread specification can not be satisfied\n"),
    (["--tmp=99999999"], "sbatch: error: Temporary disk specification can not be satisfied\n")])
def test_never(c, options, first):
    assert c.refused("sbatch", *options, "--wrap", "true") == first + UNAVAILABLE


def test_enforced_partition_limits(make_cluster):
    c = make_cluster(nodes=2, conf="EnforcePartLimits=ALL", partition="MaxTime=30 MaxNodes=1")
    assert "time limit" in c.refused("sbatch", "-t", "50", "--wrap", "true").lower()
    c.refused("sbatch", "-N2", "-n2", "--wrap", "true")
    assert c.wait_end(c.sbatch("-t", "20", wrap="true"))["JobState"] == "COMPLETED"


# ---- time ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text,shown", [("5", "00:05:00"), ("1:30", "00:02:00"), ("1:00:00", "01:00:00"),
                                        ("2-3", "2-03:00:00"), ("1-02:03", "1-02:03:00"), ("1-02:03:04", "1-02:04:00"),
                                        ("0:05", "00:01:00"), ("UNLIMITED", "UNLIMITED"), ("infinite", "UNLIMITED")])
def test_time_forms(c, text, shown):
    assert c.job(c.sbatch("-H", "-t", text, wrap="true"))["TimeLimit"] == shown


def test_default_time(c):
    assert c.job(c.sbatch("-H", wrap="true"))["TimeLimit"] == "00:10:00"
    assert c.job(c.sbatch("-H", "-p", "small", wrap="true"))["TimeLimit"] == "00:30:00"


def test_time_limits(c):
    """A minute is the shortest limit: all that has to do with it happens in this minute."""
    batch = c.sbatch("-w", "node1", "-t", "1", script='trap "echo TERM" TERM\nwhile :; do sleep 0.05; done')
    steps = c.sbatch("-N2", "-w", "node[2-3]", "-t", "1", wrap="srun -l sleep 1000; echo rc=$?")
    step = c.sbatch("-w", "node4", "-n1", "-t", "30", wrap="srun -t 1 sleep 1000; echo rc=$?")
    later = c.sbatch("-w", "node4", "-n1", "-t", "1", wrap="sleep 1000")
    c.wait_state(later, "RUNNING")
    c.run("scontrol", "update", f"jobid={later}", "timelimit=30")
    late = c.sbatch("-N4", "--exclusive", "--deadline=now+65", "-t", "1", wrap="true")
    for job in (batch, steps):
        record = c.wait_end(job, timeout=75)
        assert (record["JobState"], record["Reason"]) == ("TIMEOUT", "TimeLimit"), job
        assert "00:01:00" <= record["RunTime"] <= "00:01:20"
        assert re.search(rf"error: \*\*\* JOB {job} ON node\d CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*",
                         wait_until(lambda: "TIME LIMIT" in (t := c.out(job)) and t, "it is told"))
        assert c.wait_sacct(job, "TIMEOUT") == ["TIMEOUT", "0:0"]  # life-12.2
    wait_until(lambda: "TERM\n" in c.out(batch), "the script was asked to end first")
    assert c.sacct("-j", f"{steps}.batch", "-o", "State,ExitCode") == [["CANCELLED", "0:15"]]
    wait_until(lambda: re.search(rf"STEP {steps}\.0 ON node2 CANCELLED AT \S+ DUE T?t?[oO] ", c.out(steps)),
               "srun passes on what the first node says")
    assert c.wait_end(late)["JobState"] == "DEADLINE"
    assert c.wait_end(step)["JobState"] == "COMPLETED"
    assert re.search(rf"STEP {step}\.0 ON node4 CANCELLED AT \S+ DUE TO TIME LIMIT", c.out(step))
    assert re.search(r"rc=[1-9]", c.out(step))
    assert c.state(later) == "RUNNING"


# ---- counts ----------------------------------------------------------------------------------------

def test_max_array_size(c):
    assert c.refused("sbatch", "--array=0-20", "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Invalid job array specification\n")
    c.sbatch("-H", "--array=0-19", wrap="true")


def test_max_job_count(make_cluster):
    c = make_cluster(nodes=1, conf="MaxJobCount=5\nMinJobAge=2")
    jobs = [c.sbatch("-H", wrap="true") for _ in range(5)]
    done = c.run("sbatch", "--wrap", "true", check=False, timeout=90)
    assert done.rc == 1 and "Batch job submission failed" in done.err
    assert len(c.run("squeue", "-h", "-o", "%i").out.split()) == 5
    c.run("scancel", *jobs)
    wait_until(lambda: c.run("sbatch", "-H", "--wrap", "true", check=False).rc == 0, "there is room again", 30)


def test_tasks_of_arrays_count_as_jobs(make_cluster):
    c = make_cluster(nodes=1, conf="MaxJobCount=6\nMinJobAge=300")
    array = c.sbatch("-H", "--array=1-4", wrap="true")
    assert "MaxJobCount limit reached" in c.refused("sbatch", "-H", "--array=1-3", "--wrap", "true")
    c.sbatch("-H", "--array=1-2", wrap="true")
    assert "MaxJobCount limit reached" in c.refused("sbatch", "-H", "--wrap", "true")
    c.restart_ctld()
    assert "MaxJobCount limit reached" in c.refused("sbatch", "-H", "--wrap", "true")
    c.run("scontrol", "update", f"JobId={array}_3", "TimeLimit=5")  # a record of its own: still one job
    assert "MaxJobCount limit reached" in c.refused("sbatch", "-H", "--wrap", "true")
    c.run("scontrol", "release", array)
    wait_until(lambda: not c.run("squeue", "-h", "-j", array).out, "the array ends")
    assert "MaxJobCount limit reached" in c.refused("sbatch", "-H", "--wrap", "true")  # for MinJobAge they are known


# ---- memory ----------------------------------------------------------------------------------------

def test_memory_is_not_overcommitted(c):
    jobs = [c.sbatch("-w", "node1", "-n1", "--mem=900", wrap="sleep 1000") for _ in range(3)]
    wait_until(lambda: [c.state(j) for j in jobs].count("RUNNING") == 2, "two fit into 2000 MB")
    waits = next(j for j in jobs if c.state(j) == "PENDING")
    reason(c, waits, "Resources", "Priority")
    assert re.search(r"AllocMem=1800\b", c.run("scontrol", "show", "node", "node1").out)


def test_memory_forms(c):
    for option, key, shown in (("--mem=1G", "MinMemoryNode", "1G"), ("--mem-per-cpu=512K", "MinMemoryCPU", "1M"),
                               ("--mem=1500", "MinMemoryNode", "1500M"), ("--mem=0", "MinMemoryNode", "0")):
        assert c.job(c.sbatch("-H", option, wrap="true"))[key] == shown, option


def test_exclusive_means_alone(c):
    first = c.sbatch("-w", "node1", "--exclusive", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    second = c.sbatch("-w", "node1", wrap="true")
    reason(c, second, "Resources", "Priority")
    assert c.job(first)["NumCPUs"] == "4"


# ---- backfill --------------------------------------------------------------------------------------

def test_backfill_starts_a_short_job_around_a_blocked_big_one(c):
    runs = c.sbatch("-N3", "--exclusive", "-t", "30", wrap="sleep 1000")
    c.wait_state(runs, "RUNNING")
    big = c.sbatch("-N4", "--exclusive", "-t", "30", "--priority=1000000", wrap="true")
    reason(c, big, "Resources")
    long = c.sbatch("-N1", "-t", "60", wrap="touch long")
    short = c.sbatch("-N1", "-t", "5", wrap="touch short")
    assert c.wait_end(short)["JobState"] == "COMPLETED"
    assert c.state(long) == c.state(big) == "PENDING"
    start = c.run("squeue", "-h", "-j", big, "-o", "%S").out.strip()
    assert start != "N/A" and start == c.run("squeue", "-h", "-j", runs, "-o", "%e").out.strip()
    c.run("scancel", runs)
    assert c.wait_end(big)["JobState"] == "COMPLETED"
    assert c.wait_end(long)["JobState"] == "COMPLETED"


def test_priority_order(c):
    blocker = fill(c)
    jobs = [c.sbatch("-N4", "--exclusive", f"--priority={p}", wrap="echo $SLURM_JOB_NAME >> order") for p in (10, 30, 20)]
    names = dict(zip(jobs, "acb"))
    for job, name in names.items():
        c.run("scontrol", "update", f"jobid={job}", f"name={name}")
    c.run("scancel", blocker)
    for job in jobs:
        c.wait_end(job)
    ended = [c.job(j)["StartTime"] for j in (jobs[1], jobs[2], jobs[0])]
    assert ended == sorted(ended)
    assert len((c.work / "order").read_text().split()) == 3


def test_nice_lowers(make_cluster):
    c = make_cluster(nodes=1, conf="PriorityWeightPartition=1000")
    blocker = c.sbatch("--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    nice, plain = c.sbatch("--nice=100", wrap="true"), c.sbatch(wrap="true")
    reason(c, plain, "Resources")
    reason(c, nice, "Priority")
    assert int(c.job(plain)["Priority"]) == int(c.job(nice)["Priority"]) + 100
    c.run("scancel", blocker)
    assert c.wait_end(plain)["StartTime"] <= c.wait_end(nice)["StartTime"]


def test_partition_whose_qos_is_missing(make_cluster):
    """Nobody runs without the limits that the partition is meant to have."""
    c = make_cluster(nodes=1, partition="QOS=partqos", conf="AccountingStorageEnforce=associations,limits,qos")
    me = getpass.getuser()
    c.run("sacctmgr", "-i", "add", "account", "a")
    c.run("sacctmgr", "-i", "add", "user", me, "account=a")
    assert c.refused("sbatch", "--wrap", "true") == \
        "sbatch: error: Batch job submission failed: Invalid qos specification\n"
    c.run("sacctmgr", "-i", "add", "qos", "partqos")
    c.wait_state(c.sbatch(wrap="true"), "COMPLETED")
