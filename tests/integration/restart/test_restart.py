"""Daemons that are stopped, restarted and killed while jobs run: nothing acknowledged is lost, nothing
runs twice, and exit codes are the true ones."""

import re
import signal
import time

import pytest

from conftest import wait_until


def ready_job(cluster, *options, end="exit 3"):
    """A job that waits for the file `go`, then ends."""
    job = cluster.sbatch(*options, script="echo start >> runs-$SLURM_JOB_ID\nwhile [ ! -e go ]; do sleep 0.05; done\n"
                         + end)
    cluster.wait_state(job, "RUNNING")
    wait_until(lambda: (cluster.work / f"runs-{job}").exists(), f"job {job} has started")
    return job


def let_go(cluster):
    (cluster.work / "go").touch()


def runs(cluster, job):
    return (cluster.work / f"runs-{job}").read_text().count("start")


def test_a_restart_leaves_priorities_of_jobs_that_started(cluster):
    """0 would say that they are held.  Running ones and ended ones."""
    running, ended = ready_job(cluster), cluster.sbatch(wrap="true")
    cluster.wait_end(ended)
    before = [cluster.job(job)["Priority"] for job in (running, ended)]
    cluster.restart_ctld()
    assert [cluster.job(job)["Priority"] for job in (running, ended)] == before
    assert "0" not in before
    assert all(cluster.job(job)["LastSchedEval"] == cluster.job(job)["StartTime"] for job in (running, ended))
    let_go(cluster)


def test_a_wide_job_keeps_its_place_while_nodes_come_back_after_a_restart(make_cluster):
    """Nodes that have not registered yet are no lost nodes: smaller jobs behind it do not take those that have."""
    c = make_cluster(nodes=3, conf="SchedulerParameters=bf_interval=1\n")
    running = ready_job(c, "-w", "node1", "-n1", "-t", "10")
    wide = c.sbatch("-N3", "--exclusive", "-t", "5", wrap="true")
    small = c.sbatch("-n1", "-t", "60", wrap="sleep 1000")
    wait_until(lambda: [c.job(j)["Reason"] for j in (wide, small)] == ["Resources", "Priority"], "both wait")
    late = c.slurmds["node3"]
    late.process.send_signal(signal.SIGSTOP)
    try:
        c.kill_ctld()
        c.start_ctld()
        wait_until(lambda: (c.dir / "log" / "slurmctld.log").read_text().count("node node2: registered") == 2,
                   "node2 is back")
        assert c.state(small) == "PENDING"
    finally:
        late.process.send_signal(signal.SIGCONT)
    wait_until(lambda: [c.job(j)["Reason"] for j in (wide, small)] == ["Resources", "Priority"], "both wait again")
    assert c.state(small) == "PENDING" and c.state(running) == "RUNNING"
    let_go(c)
    assert c.wait_end(wide)["JobState"] == "COMPLETED"


def test_a_node_that_does_not_come_back_holds_nobody_up_for_long(make_cluster):
    c = make_cluster(nodes=2)
    c.slurmds["node2"].kill()
    c.kill_ctld()
    c.start_ctld()
    job = c.sbatch("-w", "node1", wrap="true")
    assert c.wait_end(job, timeout=30)["JobState"] == "COMPLETED"


def test_controller_restart_with_jobs(cluster):
    running, held = ready_job(cluster), cluster.sbatch("-H", wrap="true")
    cluster.restart_ctld()
    assert cluster.state(running) == "RUNNING"
    assert cluster.job(held)["Reason"] == "JobHeldUser"
    let_go(cluster)
    assert cluster.wait_end(running)["ExitCode"] == "3:0"
    assert runs(cluster, running) == 1
    cluster.run("scontrol", "release", held)
    assert cluster.wait_end(held)["JobState"] == "COMPLETED"


def test_controller_killed_with_jobs(cluster):
    jobs = [ready_job(cluster, end=f"exit {code}") for code in (0, 5)]
    cluster.kill_ctld()
    cluster.start_ctld()
    assert [cluster.state(j) for j in jobs] == ["RUNNING", "RUNNING"]
    let_go(cluster)
    assert [cluster.wait_end(j)["ExitCode"] for j in jobs] == ["0:0", "5:0"]
    assert [runs(cluster, j) for j in jobs] == [1, 1]


def test_job_ends_while_the_controller_is_dead(cluster):
    job = ready_job(cluster, end="echo end; exit 9")
    cluster.kill_ctld()
    let_go(cluster)
    wait_until(lambda: "end" in cluster.out(job), "the script has ended")
    cluster.start_ctld()
    record = cluster.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("FAILED", "9:0")
    assert cluster.wait_sacct(job, "FAILED") == ["FAILED", "9:0"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_node_daemon_restart_with_a_job(cluster, how):
    job = ready_job(cluster)
    old = cluster.slurmds["node1"]
    if how == signal.SIGKILL:
        old.kill()
    else:
        assert old.stop() == 0
    cluster.start_slurmd("node1")
    cluster.wait_nodes("mixed", ["node1"])
    assert cluster.state(job) == "RUNNING"
    let_go(cluster)
    assert cluster.wait_end(job)["ExitCode"] == "3:0"
    assert runs(cluster, job) == 1


def test_job_ends_while_its_node_daemon_is_dead(cluster):
    job = ready_job(cluster, end="echo end; exit 11")
    cluster.slurmds["node1"].kill()
    let_go(cluster)
    wait_until(lambda: "end" in cluster.out(job), "the script has ended")
    cluster.start_slurmd("node1")
    record = cluster.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("FAILED", "11:0")
    assert runs(cluster, job) == 1


def test_everything_killed_at_once(cluster):
    job = ready_job(cluster, "-N3", end="exit 13")
    cluster.kill_ctld()
    for daemon in cluster.slurmds.values():
        daemon.kill()
    cluster.start_ctld()
    for name in cluster.node_names:
        cluster.start_slurmd(name)
    cluster.wait_nodes("mixed")
    assert cluster.state(job) == "RUNNING"
    let_go(cluster)
    assert cluster.wait_end(job)["ExitCode"] == "13:0"
    assert runs(cluster, job) == 1


def test_step_output_survives_the_node_daemon(cluster):
    """srun speaks to the step daemon; slurmd may come and go."""
    job = cluster.sbatch("-N2", "-n2", script="srun -l bash -c 'echo on; while [ ! -e go ]; do sleep 0.05; done; "
                         "echo off; exit 4'; echo rc=$?")
    wait_until(lambda: (cluster.work / f"slurm-{job}.out").exists() and cluster.out(job).count("on") == 2, "steps run")
    cluster.slurmds["node2"].kill()
    cluster.start_slurmd("node2")
    cluster.wait_nodes("mixed", ["node2"])
    let_go(cluster)
    cluster.wait_end(job)
    assert cluster.out(job).count("off") == 2
    assert "rc=4" in cluster.out(job)


def test_job_numbers_go_on_after_a_kill(cluster):
    before = [cluster.sbatch("-H", wrap="true") for _ in range(5)]
    cluster.kill_ctld()
    cluster.start_ctld()
    after = cluster.sbatch("-H", wrap="true")
    assert after > max(before)
    assert sorted(map(int, cluster.run("squeue", "-h", "-o", "%i").stdout.split())) == sorted([*before, after])


def test_commands_wait_for_a_controller_that_comes_back(cluster):
    job = cluster.sbatch("-H", wrap="true")
    cluster.kill_ctld()
    p = cluster.popen("squeue", "-h", "-o", "%i", stdout=-1)
    time.sleep(0.3)  # let it find nobody; either order is right
    cluster.start_ctld()
    out, _ = p.communicate(timeout=30)
    assert out == f"{job}\n"


def test_lost_node_goes_down_and_comes_back(make_cluster):
    cluster = make_cluster(conf="SlurmdTimeout=2")
    job = cluster.sbatch("-w", "node2", "--no-requeue", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    cluster.slurmds["node2"].kill()
    wait_until(lambda: re.search(r"^node2 down", cluster.run("sinfo", "-h", "-N", "-o", "%N %T").stdout, re.M),
               "node2 is down", 30)
    assert cluster.wait_end(job)["JobState"] == "NODE_FAIL"
    cluster.start_slurmd("node2")
    cluster.wait_nodes("idle", ["node2"])
    assert cluster.wait_end(cluster.sbatch("-w", "node2", wrap="true"))["JobState"] == "COMPLETED"


def test_replayed_state_equals_the_live_one(cluster):
    for i in range(5):
        cluster.sbatch("--array=0-2", wrap=f"exit {i % 2}")
    wait_until(lambda: not cluster.run("squeue", "-h").stdout, "all jobs are over", 60)

    def equal():
        live = cluster.run("penstock", "ping", "--hash").stdout
        return live == cluster.run("penstock", "journal", "hash", cluster.dir / "state").stdout and live
    assert wait_until(equal, "live and replayed state are equal").startswith("lsn ")
    assert cluster.run("penstock", "journal", "verify", cluster.dir / "state").stdout.splitlines()[-1].startswith("clean")
