"""Daemons killed or stopped in every phase of a job's life: true exit codes, nothing lost, nothing twice.

`test_restart.py` has the plain cases; here a matrix of who is ended, how, and when."""

import os
import re
import signal

import pytest

from conftest import processes_of, wait_until

HOW = [signal.SIGTERM, signal.SIGKILL]
TICKS = "n=0; while [ ! -e go ]; do sleep 0.05; done"


def end_ctld(c, how):
    if how == signal.SIGKILL:
        c.kill_ctld()
    else:
        assert c.ctld.stop() == 0


def end_slurmd(c, name, how):
    if how == signal.SIGKILL:
        c.slurmds[name].kill()
    else:
        assert c.slurmds[name].stop() == 0


def restart_slurmds(c):
    for name, daemon in c.slurmds.items():
        if not daemon.alive():
            c.start_slurmd(name)
    wait_until(lambda: not re.search(r"\*", c.run("sinfo", "-h", "-N", "-o", "%t").out), "all nodes answer")


def marker(c, code):
    """A script that notes that it ran, waits for `go` and exits with the code."""
    return f"echo run >> ran-$SLURM_JOB_ID\n{TICKS}\nexit {code}"


def runs(c, job):
    path = c.work / f"ran-{job}"
    return path.read_text().count("run") if path.exists() else 0


def started(c, *jobs):
    for job in jobs:
        wait_until(lambda: runs(c, job) == 1, f"job {job} runs")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("who", ["slurmctld", "slurmd", "both"])
def test_matrix_of_batch_jobs(cluster, who, how):
    """Pending, running on one and on many nodes, ending while the daemon is away, ended before."""
    over = cluster.sbatch(script="echo run >> ran-$SLURM_JOB_ID; exit 21")
    assert cluster.wait_end(over)["ExitCode"] == "21:0"
    one, many = cluster.sbatch("-w", "node1", "-n1", script=marker(cluster, 3)), cluster.sbatch("-N3", "-n3", script=marker(cluster, 4))
    quick = cluster.sbatch("-w", "node1", "-n1", script="echo run >> ran-$SLURM_JOB_ID\nwhile [ ! -e quick ]; do sleep 0.05; done\n"
                           "echo last; exit 5")
    started(cluster, one, many, quick)
    held = cluster.sbatch("-H", script=marker(cluster, 6))
    waits = cluster.sbatch("-d", f"afterany:{one}", script=marker(cluster, 7))
    if who != "slurmd":
        end_ctld(cluster, how)
    if who != "slurmctld":
        for name in cluster.node_names:
            end_slurmd(cluster, name, how)
    (cluster.work / "quick").touch()
    wait_until(lambda: "last" in cluster.out(quick), "the quick one has ended")
    if who != "slurmd":
        cluster.start_ctld()
    restart_slurmds(cluster)
    assert cluster.wait_end(quick)["ExitCode"] == "5:0"
    assert [cluster.state(j) for j in (one, many, held, waits)] == ["RUNNING", "RUNNING", "PENDING", "PENDING"]
    (cluster.work / "go").touch()
    assert cluster.wait_end(one)["ExitCode"] == "3:0"
    assert cluster.wait_end(many)["ExitCode"] == "4:0"
    assert cluster.wait_end(waits)["ExitCode"] == "7:0"
    cluster.run("scontrol", "release", held)
    assert cluster.wait_end(held)["ExitCode"] == "6:0"
    assert [runs(cluster, j) for j in (over, one, many, quick, held, waits)] == [1] * 6
    for job, code in ((over, "21:0"), (one, "3:0"), (many, "4:0"), (quick, "5:0"), (held, "6:0"), (waits, "7:0")):
        assert cluster.wait_sacct(job, "FAILED") == ["FAILED", code]
    cluster.wait_nodes()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("who", ["slurmctld", "slurmd", "both"])
def test_srun_lives_through_it(cluster, who, how):
    """The command, its output and its exit code; interactive and in a batch job."""
    p = cluster.popen("srun", "-N2", "-n2", "-l", "bash", "-c", f"echo on; {TICKS}; echo off; exit $((SLURM_PROCID + 8))",
                      stdout=-1, stderr=-1)
    job = cluster.sbatch("-w", "node3", "-n2", script=f"srun -n2 bash -c 'echo on; {TICKS}; exit 9'\necho rc=$?")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and cluster.out(job).count("on") == 2, "its step runs")
    assert sorted(p.stdout.readline() for _ in range(2)) == ["0: on\n", "1: on\n"]
    if who != "slurmd":
        end_ctld(cluster, how)
    if who != "slurmctld":
        for name in cluster.node_names:
            end_slurmd(cluster, name, how)
    (cluster.work / "half").touch()
    if who != "slurmd":
        cluster.start_ctld()
    restart_slurmds(cluster)
    (cluster.work / "go").touch()
    out, err = p.communicate(timeout=40)
    assert sorted(out.splitlines()) == ["0: off", "1: off"], err
    assert p.returncode == 9, err
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert "rc=9\n" in cluster.out(job)
    cluster.wait_nodes()

    def steps():
        rows = {r[0]: r[1:] for r in cluster.sacct("-j", str(job), "-o", "JobID,State,ExitCode")}
        return rows.get(f"{job}.0") == ["FAILED", "9:0"] and rows
    assert wait_until(steps, "accounting has the step")[str(job)] == ["COMPLETED", "0:0"]


def test_all_ends_while_slurmd_is_away(cluster):
    """The script's end is told last: what became of its step is kept."""
    job = cluster.sbatch("-w", "node3", script="srun bash -c 'echo on; until [ -e away ]; do sleep 0.05; done; exit 9'\necho rc=$?")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "on" in cluster.out(job), "its step runs")
    end_slurmd(cluster, "node3", signal.SIGKILL)
    (cluster.work / "away").touch()
    wait_until(lambda: "rc=9\n" in cluster.out(job), "the script has ended")
    wait_until(lambda: not any(command.startswith("slurmstepd") for _, command in processes_of(cluster.dir)), "no step daemon is left")
    restart_slurmds(cluster)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    wait_until(lambda: ["FAILED", "9:0"] in [row[1:] for row in cluster.sacct("-j", str(job), "-o", "JobID,State,ExitCode")],
               "accounting has the step")


@pytest.mark.parametrize("how", HOW)
def test_arrays(cluster, how):
    job = cluster.sbatch("--array=0-19%6", "-o", "/dev/null",
                         script="echo run >> ran-$SLURM_ARRAY_TASK_ID\nsleep 0.1\nexit $((SLURM_ARRAY_TASK_ID % 4))")
    for _ in range(3):
        before = len(list(cluster.work.glob("ran-*")))
        wait_until(lambda: len(list(cluster.work.glob("ran-*"))) > before, "tasks start")
        end_ctld(cluster, how)
        cluster.start_ctld()
    wait_until(lambda: not cluster.run("squeue", "-h").out, "the array is over", 60)
    assert {p.name: p.read_text() for p in cluster.work.glob("ran-*")} == {f"ran-{i}": "run\n" for i in range(20)}
    rows = wait_until(lambda: len(r := cluster.sacct("-X", "-j", str(job), "-o", "JobID,State,ExitCode")) == 20 and r, "20 rows")
    assert {r[0]: r[2] for r in rows} == {f"{job}_{i}": f"{i % 4}:0" for i in range(20)}


def test_kills_during_submission(cluster):
    """Jobs are submitted while the controller is killed: every number that was told is there, each ran once."""
    told = []
    for round_ in range(4):
        waiting = [cluster.popen("sbatch", "--parsable", "--wrap", "echo run >> ran-$SLURM_JOB_ID", stdout=-1, stderr=-1)
                   for _ in range(8)]
        if round_ % 2:
            waiting[0].wait(30)
        cluster.kill_ctld()
        cluster.start_ctld()
        for p in waiting:
            out, _ = p.communicate(timeout=40)
            if p.returncode == 0:
                told.append(int(out))
    assert len(told) == len(set(told)) and told
    wait_until(lambda: not cluster.run("squeue", "-h").out, "all are over", 40)
    for job in told:
        assert runs(cluster, job) == 1, job
        assert cluster.wait_sacct(job, "COMPLETED") == ["COMPLETED", "0:0"]
    assert all(p.read_text() == "run\n" for p in cluster.work.glob("ran-*"))


@pytest.mark.parametrize("how", HOW)
def test_cancel_outlives_the_controller(cluster, how):
    stubborn = cluster.sbatch(script="trap '' TERM; echo run >> ran-$SLURM_JOB_ID; while :; do sleep 0.1; done")
    started(cluster, stubborn)
    cluster.run("scancel", stubborn)
    end_ctld(cluster, how)
    cluster.start_ctld()
    assert cluster.wait_end(stubborn)["JobState"] == "CANCELLED"
    cluster.wait_nodes()
    assert cluster.wait_sacct(stubborn, "CANCELLED")


def test_cancel_while_the_node_daemon_is_away(cluster):
    job = cluster.sbatch("-w", "node2", script=marker(cluster, 0))
    started(cluster, job)
    cluster.slurmds["node2"].kill()
    cluster.run("scancel", job)
    assert cluster.state(job) in ("CANCELLED", "COMPLETING")
    cluster.start_slurmd("node2")
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    cluster.wait_nodes()


def test_requeue_and_suspend_outlive_the_controller(cluster):
    sleeper = cluster.sbatch("-w", "node1", "--requeue", script="echo run >> ran-$SLURM_JOB_ID\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000")
    frozen = cluster.sbatch("-w", "node2", script=marker(cluster, 4))
    started(cluster, sleeper, frozen)
    cluster.run("scontrol", "suspend", frozen)
    cluster.run("scontrol", "requeue", sleeper)
    cluster.kill_ctld()
    cluster.start_ctld()
    assert cluster.state(frozen) == "SUSPENDED"
    wait_until(lambda: cluster.job(sleeper)["Restarts"] == "1", "it is requeued")
    cluster.run("scontrol", "update", f"jobid={sleeper}", "starttime=now", check=False)
    cluster.run("scontrol", "resume", frozen)
    (cluster.work / "go").touch()
    assert cluster.wait_end(frozen)["ExitCode"] == "4:0"
    assert cluster.wait_end(sleeper, timeout=150)["ExitCode"] == "0:0"
    assert (runs(cluster, sleeper), runs(cluster, frozen)) == (2, 1)


def test_salloc_lives_through_it(cluster):
    p = cluster.popen("salloc", "-N2", "bash", "-c", f"echo on; {TICKS}; srun -l hostname | wc -l; exit 3", stdout=-1, stderr=-1)
    assert p.stdout.readline() == "on\n"
    cluster.kill_ctld()
    cluster.start_ctld()
    (cluster.work / "go").touch()
    out, err = p.communicate(timeout=40)
    assert (out, p.returncode) == ("2\n", 3), err
    wait_until(lambda: not cluster.run("squeue", "-h").out, "the allocation is given back")


@pytest.mark.parametrize("requeue", [True, False])
def test_node_lost_for_good(make_cluster, requeue):
    c = make_cluster(nodes=3, conf="SlurmdTimeout=1\nMessageTimeout=1")
    job = c.sbatch("-w", "node2", "--requeue" if requeue else "--no-requeue",
                   script="echo run >> ran-$SLURM_JOB_ID\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000")
    other = c.sbatch("-w", "node1", script=marker(c, 0))
    started(c, job, other)
    c.slurmds["node2"].kill()
    if requeue:
        wait_until(lambda: c.job(job)["Restarts"] == "1", "it is requeued", 30)
        assert runs(c, job) == 1
    else:
        record = c.wait_end(job, timeout=30)
        assert (record["JobState"], record["Reason"]) == ("NODE_FAIL", "NodeDown")
        assert c.wait_sacct(job, "NODE_FAIL")[0] == "NODE_FAIL"
    assert c.state(other) == "RUNNING"
    assert re.search(r"^node2 down", c.run("sinfo", "-h", "-N", "-o", "%N %T").out, re.M)
    (c.work / "go").touch()
    assert c.wait_end(other)["JobState"] == "COMPLETED"
    c.start_slurmd("node2")
    c.wait_nodes()  # and what was left of the old run is gone
    if requeue:
        c.run("scontrol", "update", f"jobid={job}", "starttime=now", check=False)
        assert c.wait_end(job, timeout=150)["JobState"] == "COMPLETED"
        assert runs(c, job) == 2


def test_stepd_killed(cluster):
    """The step daemon dies: the job does not stay for ever, and none of its processes does."""
    job = cluster.sbatch("-w", "node1", "--no-requeue", script="echo on; sleep 1000")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and "on" in cluster.out(job), "it runs")
    for pid, command in processes_of(cluster.dir):
        if "slurmstepd" in command:
            os.kill(pid, signal.SIGKILL)
    assert cluster.wait_end(job)["JobState"] in ("FAILED", "NODE_FAIL")
    cluster.wait_nodes()
    wait_until(lambda: not [cmd for _, cmd in processes_of(cluster.dir) if cmd.startswith("sleep 1000")], "its processes are gone")
