"""A step whose srun was killed before it reached a node: it ends when nothing can start it any more."""

import signal

from conftest import program, wait_until

CLUSTER = {"nodes": 2, "conf": "AuthInfo=cred_expire=1\nKillWait=1\nSlurmdTimeout=60"}


def steps(c, job):
    return c.run("squeue", "-s", "-h", "-j", job, "-o", "%i").out.split()


def test_srun_killed_before_the_launch(c):
    job = c.sbatch("-N2", wrap="touch on; sleep 1000")
    wait_until(lambda: (c.work / "on").exists(), "the script runs")  # a job that did not get so far is requeued
    for slurmd in c.slurmds.values():
        slurmd.kill()
    srun = c.popen(program("srun"), f"--jobid={job}", "--overlap", "-N2", "true")
    wait_until(lambda: f"{job}.0" in steps(c, job), "the step is made")
    srun.send_signal(signal.SIGKILL)
    srun.wait()
    for name in c.slurmds:
        c.start_slurmd(name)
    assert f"{job}.0" in steps(c, job)
    wait_until(lambda: f"{job}.0" not in steps(c, job), "the step is over", 30)
    assert c.state(job) == "RUNNING"
    assert c.run("srun", f"--jobid={job}", "--overlap", "-N2", "echo", "next").out == "next\nnext\n"


def test_a_step_that_runs_is_left_alone(c):
    """Its nodes are asked too, and have it."""
    job = c.sbatch("-N2", script="srun -N2 sleep 9\necho $?")
    c.wait_end(job, timeout=40)
    assert c.out(job) == "0\n"
