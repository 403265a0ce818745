"""Job arrays: the syntax of indexes, how they are listed, throttled, changed, cancelled and accounted."""

import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1\nMaxArraySize=1001"}


def ids(c, job, *options, column="%i"):
    return c.run("squeue", "-h", "-j", job, "-o", column, *options).out.split()


def gone(c, timeout=20):
    wait_until(lambda: not c.run("squeue", "-h").out, "the queue is empty", timeout)


def task_job(c, task):
    return dict(re.findall(r"(?:^|\s)(\w+)=(\S*)", c.run("scontrol", "-o", "show", "job", task).out.splitlines()[0]))


@pytest.mark.parametrize("spec,shown", [
    ("0-3", "[0-3]"), ("1,3,5", "[1,3,5]"), ("1,3,5-9:2,20", "[1,3,5,7,9,20]"), ("7", "[7]"), ("0-15:4", "[0-12:4]"),
    ("0-7%2", "[0-7%2]"), ("3,1,2", "[1-3]"), ("1,1,2", "[1-2]"), ("0-1000", "[0-1000]"), ("10-20:3%1", "[10,13,16,19%1]"),
    ("5-5", "[5]"), ("1-3%0", "[1-3]")])
def test_indexes(c, spec, shown):
    job = c.sbatch("-H", "--array", spec, wrap="true")
    assert ids(c, job) == [f"{job}_{shown}"]


@pytest.mark.parametrize("spec", ["5-1", "a", "1-", "-3", "1-5000", "1001", "1-3:0", "1 2", "0x3", "1-3-5",
                                  "4294967296", "1-3:x", "[1-3"])
def test_bad_indexes(c, spec):
    err = c.refused("sbatch", f"--array={spec}", "--wrap", "true")
    assert err == "sbatch: error: Batch job submission failed: Invalid job array specification\n"
    assert c.run("squeue", "-h").out == ""


@pytest.mark.parametrize("spec, shown", [("1-3%x", "1-3"), ("1-3%-1", "1-3"), ("1-3%2x", "1-3%2")])
def test_a_throttle_is_read_as_far_as_it_is_one(c, spec, shown):
    c.run("sbatch", "-H", f"--array={spec}", "--wrap", "true")
    assert c.run("squeue", "-h", "-o", "%K").out.strip("[]\n") == shown


def test_every_task_runs_once_with_its_environment(c):
    job = c.sbatch("--array=0-23", wrap="echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT "
                   "$SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP; exit $((SLURM_ARRAY_TASK_ID % 3))")
    gone(c)
    for i in range(24):
        assert (c.work / f"slurm-{job}_{i}.out").read_text() == f"{job} {i} 24 0 23 1\n"
    rows = {r[0]: r[1:] for r in c.sacct("-X", "-j", str(job), "-o", "JobID,State,ExitCode")}
    assert rows == {f"{job}_{i}": ["FAILED" if i % 3 else "COMPLETED", f"{i % 3}:0"] for i in range(24)}


def test_task_numbers_differ_and_raw_ids_are_shown(c):
    job = c.sbatch("--array=1-4", wrap="echo $SLURM_JOB_ID")
    gone(c)
    raw = {(c.work / f"slurm-{job}_{i}.out").read_text().strip() for i in range(1, 5)}
    assert len(raw) == 4 and str(job) in raw
    rows = c.sacct("-X", "-j", str(job), "-o", "JobID,JobIDRaw")
    assert {r[1] for r in rows} == raw
    assert [r[0] for r in rows] == [f"{job}_{i}" for i in range(1, 5)]


def test_listing_of_pending_and_running(c):
    job = c.sbatch("--array=0-7%2", "-J", "arr", wrap="sleep 1000")
    wait_until(lambda: ids(c, job, "-t", "R") != [] and len(ids(c, job, "-t", "R")) == 2, "two tasks run")
    assert ids(c, job) == [f"{job}_[2-7%2]", *ids(c, job, "-t", "R")]
    assert sorted(ids(c, job, "-t", "R")) == [f"{job}_0", f"{job}_1"]
    assert ids(c, job, "-r", "-t", "PD") == [f"{job}_{i}" for i in range(2, 8)]
    assert ids(c, job, "-t", "PD", column="%r") == ["JobArrayTaskLimit"]
    assert c.run("squeue", "-h", "-j", f"{job}_3", "-o", "%i %T %r").out == f"{job}_3 PENDING JobArrayTaskLimit\n"
    lines = c.run("squeue", "-o", "%i %A %F %K %T %R", "-t", "PD").out.splitlines()
    assert lines == ["JOBID JOBID ARRAY_JOB_ID ARRAY_TASK_ID STATE NODELIST(REASON)",
                     f"{job}_[2-7%2] {job} {job} 2-7%2 PENDING (JobArrayTaskLimit)"]
    text = c.run("scontrol", "show", "job", job).out
    assert text.startswith(f"JobId={job} ArrayJobId={job} ArrayTaskId=2-7%2 ArrayTaskThrottle=2 JobName=arr\n")
    assert text.count("JobId=") == 6  # three records, each with JobId and ArrayJobId
    assert f"StdOut={c.work}/slurm-{job}_4294967294.out" in text
    assert f"StdOut={c.work}/slurm-{job}_0.out" in text
    assert task_job(c, f"{job}_6")["ArrayTaskId"] == "6"
    c.refused("squeue", "-j", f"{job}_[2-4]")


def test_throttle_is_kept_and_can_be_changed(c):
    job = c.sbatch("--array=0-5%1", wrap="sleep 1000")
    wait_until(lambda: len(ids(c, job, "-t", "R")) == 1, "one task runs")
    c.run("scontrol", "update", f"jobid={job}", "arraytaskthrottle=3")
    wait_until(lambda: len(ids(c, job, "-t", "R")) == 3, "three tasks run")
    assert ids(c, job, "-t", "PD") == [f"{job}_[3-5%3]"]
    c.run("scontrol", "update", f"jobid={job}", "arraytaskthrottle=0")
    wait_until(lambda: len(ids(c, job, "-t", "R")) == 6, "all run")


def test_hold_and_release_of_one_task(c):
    job = c.sbatch("--array=0-3%1", wrap="while [ ! -e go ]; do sleep 0.05; done")
    wait_until(lambda: ids(c, job, "-t", "R") == [f"{job}_0"], "the first task runs")
    c.run("scontrol", "hold", f"{job}_2")
    record = task_job(c, f"{job}_2")
    assert (record["Reason"], record["Priority"]) == ("JobHeldUser", "0") or record["Reason"] == "JobHeldAdmin"
    (c.work / "go").touch()
    wait_until(lambda: ids(c, job) == [f"{job}_2"], "the others are over")
    c.run("scontrol", "release", f"{job}_2")
    gone(c)
    assert sorted(p.name for p in c.work.glob("slurm-*")) == [f"slurm-{job}_{i}.out" for i in range(4)]


def test_hold_of_what_is_held_changes_nothing(c):
    """A task of an array that is held stays in its record; the first change that makes it differ takes it out."""
    job = c.sbatch("-H", "--array=7,9-10", wrap="true")
    c.run("scontrol", "uhold", f"{job}_7")
    assert ids(c, job) == [f"{job}_[7,9-10]"]
    c.run("scontrol", "update", f"JobId={job}_7", "Name=seven")
    assert sorted(ids(c, job)) == [f"{job}_7", f"{job}_[9-10]"]
    c.run("scancel", job)


def test_cancel_of_tasks(c):
    job = c.sbatch("-H", "--array=0-9", wrap="true")
    c.run("scancel", f"{job}_[5-6]")
    c.run("scancel", f"{job}_4")
    assert ids(c, job) == [f"{job}_[0-3,7-9]"]
    c.run("scancel", f"{job}_[0-2,9]", f"{job}_7")
    assert ids(c, job, "-r") == [f"{job}_3", f"{job}_8"]
    c.refused("scontrol", "show", "job", f"{job}_4")  # it leaves no record, as with Slurm
    c.run("scancel", job)
    assert ids(c, job) == []
    c.run("scancel", f"{job}_99")
    states = {r[1].split()[0] for r in c.sacct("-X", "-j", str(job), "-o", "JobID,State")}
    assert states == {"CANCELLED"}


def records(c, job):
    """The records that hold the array's tasks: "TASKS Nice=N" in order."""
    return sorted(" ".join(re.search(r"ArrayTaskId=(\S+).* (Nice=\d+)", line).groups())
                  for line in c.run("scontrol", "-o", "show", "job", str(job)).stdout.splitlines())


def test_a_range_of_a_huge_array_is_one_change(c):
    job = c.sbatch("-H", "--array=0-1000", wrap="true")
    c.run("scontrol", "update", f"jobid={job}_[100-900]", "nice=7", "timelimit=3")
    assert records(c, job) == ["0-99,901-1000 Nice=0", "100-900 Nice=7"]
    assert ids(c, job, column="%i:%y") == [f"{job}_[0-1000]:0"]  # one line, as long as all wait
    c.run("scontrol", "hold", f"{job}_[200-300]")
    c.run("scancel", f"{job}_[250-2000]")
    assert records(c, job) == ["0-99 Nice=0", "100-199 Nice=7", "200-249 Nice=7"]
    assert ids(c, job) == [f"{job}_[0-249]"]
    assert len(ids(c, job, "-r")) == 250
    c.restart_ctld()
    assert len(ids(c, job, "-r")) == 250
    c.run("scontrol", "release", f"{job}_0")
    wait_until(lambda: len(ids(c, job, "-r")) == 249, "one task ran")


def test_cancel_of_a_running_array(c):
    job = c.sbatch("--array=0-30", wrap="sleep 1000")
    wait_until(lambda: len(ids(c, job, "-t", "R")) == 16, "every CPU is used")
    c.run("scancel", job)
    gone(c)
    c.wait_nodes()
    rows = c.sacct("-X", "-j", str(job), "-o", "JobID,State")
    ended = wait_until(lambda: (r := c.sacct("-X", "-j", str(job), "-o", "JobID,State")) and
                       all(x[1].startswith("CANCELLED") for x in r) and r, "accounting follows")
    assert ended and rows


def test_long_index_lists_are_cut(c):
    job = c.sbatch("-H", "--array=1,3,5-9:2,20", wrap="true")
    assert c.run("squeue", "-h", "-o", "%i", env={"SLURM_BITSTR_LEN": "8"}).out == f"{job}_[1,3,...]\n"
    many = ",".join(str(i * i) for i in range(1, 30)) + ",900,902,905,907"
    job = c.sbatch("-H", f"--array={many}", wrap="true")
    shown = c.run("squeue", "-h", "-j", job, "-o", "%i").out.strip()
    assert shown == f"{job}_[{many}]"[:31]
    tasks = c.run("squeue", "-h", "-j", job, "-o", "%K").out.strip()
    assert len(tasks) == 63 and tasks == many[:60] + "..."
    everything = c.run("squeue", "-h", "-j", job, "-o", "%i", env={"SLURM_BITSTR_LEN": "0"}).out.strip()
    assert everything == f"{job}_[{many}]"


def test_each_task_has_its_own_output(c):
    job = c.sbatch("--array=12-13", "-o", "x.%b.%a.%A_%3a", wrap="echo out; echo err >&2")
    gone(c)
    assert sorted(p.name for p in c.work.iterdir()) == [f"x.2.12.{job}_012", f"x.3.13.{job}_013"]
    assert (c.work / f"x.2.12.{job}_012").read_text() == "out\nerr\n"


def test_update_of_all_tasks(c):
    job = c.sbatch("-H", "--array=0-3", "-t", "10", wrap="true")
    c.run("scontrol", "update", f"jobid={job}", "timelimit=3", "comment=all")
    assert {task_job(c, f"{job}_{i}")["TimeLimit"] for i in range(4)} == {"00:03:00"}
    c.run("scontrol", "update", f"jobid={job}_2", "timelimit=4")
    assert [task_job(c, f"{job}_{i}")["TimeLimit"] for i in range(4)] == ["00:03:00"] * 2 + ["00:04:00", "00:03:00"]


def test_requeue_of_one_task(c):
    job = c.sbatch("--array=0-2", "--requeue", script='echo run >> "runs-$SLURM_ARRAY_TASK_ID"\nwhile [ ! -e go ]; do '
                   'sleep 0.05; done')
    wait_until(lambda: len(list(c.work.glob("runs-*"))) == 3, "all run")
    c.run("scontrol", "requeue", f"{job}_1")
    (c.work / "go").touch()
    wait_until(lambda: ids(c, job) in ([f"{job}_1"], []), "the others are over")
    gone(c, 60)
    assert [(c.work / f"runs-{i}").read_text().count("run") for i in range(3)] == [1, 2, 1]


def test_requeue_of_tasks_that_were_cancelled_in_hold(c):
    """They never ran: the hold given at submission is theirs again, as it is of a job that is no array."""
    job = c.sbatch("-H", "--array=0-1", "-o", "/dev/null", wrap="true")
    c.run("scancel", str(job))
    c.run("scontrol", "requeue", str(job))
    assert {(task_job(c, f"{job}_{i}")["Priority"], task_job(c, f"{job}_{i}")["Reason"]) for i in range(2)} == {("0", "JobHeldUser")}


def test_many_tasks_end_in_order_of_need(c):
    """A thousand short tasks: none lost, none twice."""
    job = c.sbatch("--array=0-299", "-o", "/dev/null", wrap="echo x >> $SLURM_ARRAY_TASK_ID.ran")
    gone(c, 120)
    assert sorted(int(p.stem) for p in c.work.glob("*.ran")) == list(range(300))
    assert {p.read_text() for p in c.work.glob("*.ran")} == {"x\n"}
    assert len(c.sacct("-X", "-j", str(job), "-o", "JobID")) == 300


@pytest.mark.parametrize("script, rc", [
    ("if [ $SLURM_ARRAY_TASK_ID = 1 ]; then wait_for go; exit 9; fi; exit 2", 9),
    ("if [ $SLURM_ARRAY_TASK_ID = 1 ]; then wait_for go; kill -9 $$; fi; exit 0", 1),
    ("if [ $SLURM_ARRAY_TASK_ID = 2 ]; then exit 4; fi; if [ $SLURM_ARRAY_TASK_ID = 1 ]; then wait_for go; fi; exit 0", 4),
])
def test_wait_ends_with_the_last_task_and_the_highest_code(c, script, rc):
    """The task that has the array's own number ended sbatch --wait, with its own code, while others ran."""
    waiting = "wait_for() { while [ ! -e $1 ]; do sleep 0.05; done; }; "
    p = c.popen("sbatch", "-W", "-J", "waited", "-a", "1-3", "-o", "/dev/null", "--wrap", waiting + script)
    wait_until(lambda: c.run("squeue", "-h", "-n", "waited", "-r", "-o", "%K").out == "1\n", "one task is left", 20)
    c.kill_ctld()  # sbatch asks the next controller again
    c.start_ctld()
    wait_until(lambda: c.run("squeue", "-h", "-n", "waited", "-r", "-o", "%K %T").out == "1 RUNNING\n", "it runs", 20)
    assert p.poll() is None
    (c.work / "go").touch()
    try:
        assert p.wait(30) == rc
    finally:
        (c.work / "go").unlink()
    wait_until(lambda: not c.run("squeue", "-h", "-n", "waited").out, "all have ended")


def test_top_means_the_tasks_that_wait(c):
    """The number of an array is that of what waits of it, whatever runs (22.05; it was refused for the task that runs)."""
    job = c.sbatch("-o", "/dev/null", "-a", "1-3%1", wrap="sleep 60")
    c.wait_state(f"{job}_1", "RUNNING")
    done = c.run("scontrol", "top", job, check=False)
    assert (done.rc, done.err) == (0, "")
    c.run("scancel", job)


def test_waiting_tasks_that_are_named_are_not_suspended(c):
    """All tasks that wait in one record are told."""
    job = c.sbatch("-H", "-a1-4", wrap="true")
    for verb, tasks in (("resume", "[1-2]"), ("resume", "1"), ("suspend", "[2,4]")):
        assert c.refused("scontrol", verb, f"{job}_{tasks}") == f"{job}_[1-4]: Job is pending execution\n"
    c.run("scontrol", "release", f"{job}_3")
    assert c.refused("scontrol", "suspend", f"{job}_[1-2]") == f"{job}_[1-2,4]: Job is pending execution\n"
    c.run("scancel", str(job))
