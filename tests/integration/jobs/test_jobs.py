"""Batch jobs from submission to the end: output, exit codes, arrays, dependencies, holds, limits."""

import re
import time

import pytest

from conftest import wait_until


def test_output_and_environment(cluster):
    job = cluster.sbatch("-J", "hello", script='echo "out $1 $SLURM_JOB_ID $SLURM_JOB_NAME"; echo err >&2; pwd',
                         args=["one"])
    record = cluster.wait_end(job)
    assert record["JobState"] == "COMPLETED" and record["ExitCode"] == "0:0"
    assert cluster.out(job) == f"out one {job} hello\nerr\n{cluster.work}\n"
    assert cluster.wait_sacct(job, "COMPLETED") == ["COMPLETED", "0:0"]


def test_output_files_by_pattern(cluster):
    job = cluster.sbatch("-o", "o-%j-%x-%u.txt", "-e", "e-%A.txt", "-J", "pat", wrap="echo a; echo b >&2")
    cluster.wait_end(job)
    out = list(cluster.work.glob(f"o-{job}-pat-*.txt"))
    assert len(out) == 1 and out[0].read_text() == "a\n"
    assert (cluster.work / f"e-{job}.txt").read_text() == "b\n"


def test_open_mode_append(cluster):
    (cluster.work / "log.txt").write_text("old\n")
    cluster.wait_end(cluster.sbatch("-o", "log.txt", "--open-mode=append", wrap="echo new"))
    assert (cluster.work / "log.txt").read_text() == "old\nnew\n"
    cluster.wait_end(cluster.sbatch("-o", "log.txt", "--open-mode=truncate", wrap="echo newer"))
    assert (cluster.work / "log.txt").read_text() == "newer\n"


@pytest.mark.parametrize("command,code", [("exit 3", "3:0"), ("exit 255", "255:0"), ("kill -9 $$", "0:9"),
                                          ("kill -SEGV $$", "0:11")])
def test_failures_are_told(cluster, command, code):
    job = cluster.sbatch(script=command)
    record = cluster.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("FAILED", code)
    reason = "NonZeroExitCode" if code.endswith(":0") else "RaisedSignal"
    assert record["Reason"].startswith(reason)
    assert cluster.wait_sacct(job, "FAILED") == ["FAILED", code]


def test_sbatch_wait_hands_the_exit_code_on(cluster):
    assert cluster.run("sbatch", "-W", "--wrap", "exit 4", check=False).returncode == 4
    assert cluster.run("sbatch", "--wait", "--wrap", "true").returncode == 0


def test_parsable(cluster):
    assert re.fullmatch(r"\d+\n", cluster.run("sbatch", "--parsable", "--wrap", "true").stdout)


def test_script_directives_and_precedence(cluster):
    script = cluster.script("#SBATCH -J from-script\n#SBATCH -n 2 --comment='two words'\n"
                            "echo $SLURM_JOB_NAME $SLURM_NTASKS")
    job = int(cluster.run("sbatch", "--parsable", "-J", "from-line", script,
                          env={"SBATCH_JOB_NAME": "from-env"}).stdout)
    record = cluster.wait_end(job)
    assert record["Comment"] == "two words"
    assert cluster.out(job) == "from-line 2\n"


def test_environment_is_exported(cluster):
    job = cluster.sbatch("--export=ALL,B=2", wrap="echo $A $B", env={"A": "1"})
    cluster.wait_end(job)
    assert cluster.out(job) == "1 2\n"
    job = cluster.sbatch("--export=NONE", wrap="echo [$A]", env={"A": "1"})
    cluster.wait_end(job)
    assert cluster.out(job) == "[]\n"


def test_queue_order_and_visibility(cluster):
    """A job is in squeue by the time sbatch returns."""
    for _ in range(10):
        job = cluster.sbatch("-H", wrap="true")
        assert cluster.run("squeue", "-h", "-j", job, "-o", "%i").stdout == f"{job}\n"


# ---- arrays --------------------------------------------------------------------------------------

def test_array(cluster):
    job = cluster.sbatch("--array=0-7", "-o", "a-%A-%a.txt", wrap="echo $SLURM_ARRAY_TASK_ID of "
                         "$SLURM_ARRAY_TASK_COUNT, $SLURM_ARRAY_JOB_ID; exit $((SLURM_ARRAY_TASK_ID == 5))")
    wait_until(lambda: not cluster.run("squeue", "-h").stdout, "the array is over", 30)
    for task in range(8):
        assert (cluster.work / f"a-{job}-{task}.txt").read_text() == f"{task} of 8, {job}\n"
    rows = wait_until(lambda: (r := cluster.sacct("-X", "-j", str(job), "-o", "JobID,State,ExitCode")) and
                      len(r) == 8 and all(row[1] not in ("PENDING", "RUNNING", "COMPLETING") for row in r) and r,
                          "accounting has 8 tasks that ended")
    states = {row[0]: row[1:] for row in rows}
    assert states[f"{job}_5"] == ["FAILED", "1:0"]
    assert all(states[f"{job}_{t}"] == ["COMPLETED", "0:0"] for t in range(8) if t != 5)


def test_sbatch_wait_for_an_array(cluster):
    """It returns when the last task is over, with the highest exit code."""
    done = cluster.run("sbatch", "-W", "--array=0-3", "--wrap",
                       "sleep 0.$SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID", check=False)
    assert done.returncode == 3
    assert cluster.run("squeue", "-h").stdout == ""


def test_array_throttle(cluster):
    job = cluster.sbatch("--array=1-6%2", wrap="sleep 0.3")

    def running():
        return len(cluster.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.split())
    most = 0

    def over():
        nonlocal most
        most = max(most, running())
        return not cluster.run("squeue", "-h").stdout
    wait_until(over, "the array is over", 30)
    assert most == 2
    assert len(cluster.sacct("-X", "-j", str(job), "-o", "JobID")) == 6


def test_array_cancel_of_some(cluster):
    job = cluster.sbatch("--array=0-9", "-H", wrap="true")
    cluster.run("scancel", f"{job}_[2-4]", f"{job}_7")
    left = cluster.run("squeue", "-h", "-r", "-j", job, "-o", "%K").stdout.split()
    assert sorted(map(int, left)) == [0, 1, 5, 6, 8, 9]
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%i").stdout == f"{job}_[0-1,5-6,8-9]\n"


# ---- dependencies --------------------------------------------------------------------------------

def test_dependencies(cluster):
    first = cluster.sbatch("-H", wrap="exit 1")
    after_ok = cluster.sbatch("-d", f"afterok:{first}", wrap="true")
    after_any = cluster.sbatch("-d", f"afterany:{first}", wrap="echo ran")
    after_not = cluster.sbatch("-d", f"afternotok:{first}", wrap="echo ran")
    assert cluster.job(after_ok)["Reason"] == "Dependency"
    cluster.run("scontrol", "release", first)
    assert cluster.wait_end(after_any)["JobState"] == "COMPLETED"
    assert cluster.wait_end(after_not)["JobState"] == "COMPLETED"
    record = cluster.wait_state(after_ok, "PENDING")
    wait_until(lambda: cluster.job(after_ok)["Reason"] == "DependencyNeverSatisfied", "the reason is told")
    assert record["JobState"] == "PENDING"


def test_kill_on_invalid_dependency(cluster):
    first = cluster.sbatch("-H", wrap="exit 1")
    second = cluster.sbatch("-d", f"afterok:{first}", "--kill-on-invalid-dep=yes", wrap="true")
    cluster.run("scontrol", "release", first)
    assert cluster.wait_end(second)["JobState"] == "CANCELLED"


def test_singleton(cluster):
    jobs = [cluster.sbatch("-J", "one", "-d", "singleton", wrap="date +%s%N; sleep 0.2; date +%s%N")
            for _ in range(3)]
    for job in jobs:
        cluster.wait_end(job)
    spans = sorted(tuple(map(int, cluster.out(job).split())) for job in jobs)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


# ---- hold, cancel, limit, requeue -------------------------------------------------------------------

def test_hold_and_release(cluster):
    job = cluster.sbatch("-H", wrap="true")
    record = cluster.job(job)
    assert record["JobState"] == "PENDING" and record["Reason"] == "JobHeldUser"
    cluster.run("scontrol", "release", job)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_cancel_pending(cluster):
    job = cluster.sbatch("-H", wrap="true")
    cluster.run("scancel", job)
    assert cluster.state(job) == "CANCELLED"
    assert not (cluster.work / f"slurm-{job}.out").exists()


def test_cancel_running_ends_every_process(cluster):
    job = cluster.sbatch("-N3", script="srun sleep 1000 & sleep 1000 & wait")
    wait_until(lambda: cluster.run("squeue", "-h", "-s", "-j", job).stdout.count("sleep") == 1, "its step runs")
    cluster.run("scancel", job)
    record = cluster.wait_end(job)
    assert record["JobState"] == "CANCELLED"
    cluster.wait_nodes()
    assert re.search(rf"error: \*\*\* JOB {job} ON node1 CANCELLED AT ", cluster.out(job))


def test_signal_is_delivered(cluster):
    job = cluster.sbatch(script='trap "echo got it; exit 0" USR1; echo ready; while :; do sleep 0.05; done')
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "ready" in cluster.out(job), "it is ready")
    cluster.run("scancel", "-b", "-s", "USR1", job)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert "got it" in cluster.out(job)


def test_stubborn_job_is_killed(cluster):
    job = cluster.sbatch(script='trap "" TERM INT; echo ready; while :; do sleep 0.1; done')
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "ready" in cluster.out(job), "it is ready")
    start = time.monotonic()
    cluster.run("scancel", job)
    cluster.wait_nodes()
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    assert time.monotonic() - start >= 1.5  # KillWait is 2 s


def test_time_limit(make_cluster):
    """Limits are minutes; OverTimeLimit and the like are not: an update sets a limit already passed."""
    cluster = make_cluster()
    job = cluster.sbatch("-t", "1", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    # The shortest limit is a minute, so this test takes one.
    record = cluster.wait_end(job, timeout=90)
    assert record["JobState"] == "TIMEOUT"
    assert "DUE TO TIME LIMIT" in cluster.out(job)
    assert cluster.wait_sacct(job, "TIMEOUT")[0] == "TIMEOUT"


def test_requeue(cluster):
    job = cluster.sbatch("--requeue", script="echo run $SLURM_RESTART_COUNT\n"
                         "[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "run" in cluster.out(job), "it runs")
    cluster.run("scontrol", "requeue", job)
    # An earlier time of eligibility is kept off for a moment; releasing is not needed.
    record = cluster.wait_state(job, "COMPLETED", timeout=150)
    assert record["Restarts"] == "1"


def test_requeuehold(cluster):
    job = cluster.sbatch("--requeue", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "requeuehold", job)
    wait_until(lambda: cluster.state(job) == "PENDING", "it is back in the queue")
    assert cluster.job(job)["Reason"] == "job_requeued_in_held_state"


def test_suspend_and_resume(cluster):
    """TSTP comes first and STOP two seconds later, so that a job can prepare."""
    job = cluster.sbatch(script="while [ ! -e go ]; do echo x; sleep 0.05; done")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "x" in cluster.out(job), "it runs")
    cluster.run("scontrol", "suspend", job)
    assert cluster.state(job) == "SUSPENDED"

    def stands_still():
        before = cluster.out(job)
        time.sleep(0.5)
        return before == cluster.out(job)
    wait_until(stands_still, "it stands still")
    assert cluster.state(job) == "SUSPENDED"
    cluster.run("scontrol", "resume", job)
    length = len(cluster.out(job))
    wait_until(lambda: len(cluster.out(job)) > length, "it goes on")
    (cluster.work / "go").touch()
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_update(cluster):
    job = cluster.sbatch("-H", wrap="true")
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=30", "JobName=renamed", "Comment=hello",
                "NumNodes=2")
    record = cluster.job(job)
    assert (record["TimeLimit"], record["JobName"], record["Comment"]) == ("00:30:00", "renamed", "hello")


def test_hold_many_with_one_command(cluster):
    jobs = [cluster.sbatch("-H", wrap="true") for _ in range(5)]
    cluster.run("scontrol", "release", ",".join(map(str, jobs)))
    for job in jobs:
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_begin_time(cluster):
    job = cluster.sbatch("--begin=now+1hour", wrap="true")
    wait_until(lambda: cluster.job(job)["Reason"] == "BeginTime", "the reason is told")
    assert cluster.state(job) == "PENDING"


def test_resources_are_not_oversubscribed(cluster):
    jobs = [cluster.sbatch("-N1", "-n3", wrap="date +%s%N; sleep 0.2; date +%s%N") for _ in range(6)]
    for job in jobs:
        cluster.wait_end(job)
    events = []
    for job in jobs:
        start, end = map(int, cluster.out(job).split())
        events += [(start, 1), (end, -1)]
    running = most = 0
    for _, change in sorted(events):
        running += change
        most = max(most, running)
    assert most <= 3  # three nodes of four CPUs; each job has three on one node


def test_immediate_visibility_in_accounting(cluster):
    job = cluster.sbatch("-H", wrap="true")
    rows = wait_until(lambda: cluster.sacct("-X", "-j", str(job), "-o", "JobID,State"), "sacct knows it")
    assert rows == [[str(job), "PENDING"]]


def test_a_partition_named_again_and_again(cluster):
    """It is shown as it was asked for, unless the list is long, and the job starts once."""
    name = cluster.run("sinfo", "-h", "-o", "%R").out.split()[0]
    job = cluster.sbatch("-H", "-p", ",".join([name] * 5000), wrap="true")
    shown = cluster.job(job)["Partition"].split(",")
    assert set(shown) == {name} and 1 < len(shown) <= 64
    cluster.run("scontrol", "release", str(job))
    ended = cluster.wait_end(job)
    assert (ended["JobState"], ended["Partition"], ended["Restarts"]) == ("COMPLETED", name, "0")
