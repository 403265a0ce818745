"""The end of a step as its user reads it: refused, cancelled, out of time, with a node that does not answer."""

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager

from conftest import processes_of, wait_until


def daemon_of(c, step, node):
    """The step daemon of `step` on `node`."""
    for pid, command in processes_of(c.dir):
        try:
            if command.startswith(f"slurmstepd: [{step}]") and f"/spool/{node}/" in os.readlink(f"/proc/{pid}/cwd"):
                return pid
        except FileNotFoundError:
            continue  # it has just ended
    return None


@contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def srun_ready(c, name="up", count=1):
    wait_until(lambda: len(list(c.work.glob(f"{name}*"))) == count, "the tasks run")


def test_refused_launch(make_cluster):
    """A step daemon that cannot start anything says why, once, and srun has nothing to add; also where there is a
    TaskEpilog, for which the stream of a task is kept."""
    c = make_cluster(nodes=1, start=False, conf="TaskEpilog=/bin/true")
    c.daemon_env_change["PENSTOCK_FAILPOINT"] = "stepd-start:1+"
    c.start()
    done = c.run("srun", "-n2", "true", check=False)
    assert done.rc == 1
    assert done.err.splitlines()[0] == ("srun: error: tasks 0-1 launch failed: Could not start a process: "
                                        "Resource temporarily unavailable"), done.err
    assert "Connection to node" not in done.err and "Broken pipe" not in done.err, done.err


def test_task_fails_while_others_start(make_cluster, folder):
    """The others end as tasks do that run: srun told a failed launch, and waited for the last task for ever."""
    prolog = folder / "prolog"
    prolog.write_text("#!/bin/sh\n[ $SLURM_PROCID = 0 ] || touch waits\n"
                      "[ $SLURM_PROCID = 0 ] || while [ -e hold ]; do sleep 0.02; done\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"TaskProlog={prolog}\nTaskEpilog=/bin/true")
    hold = c.work / "hold"
    hold.touch()
    step = c.popen("srun", "-n3", "-K", "bash", "-c", "test $SLURM_PROCID = 0 && exit 2; sleep 1000", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    _, said = step.communicate(timeout=60)
    assert step.returncode == 143, said
    assert sorted(re.findall(r"tasks? (\S+): Terminated", said)) in (["1", "2"], ["1-2"]), said
    assert "task 0: Exited with exit code 2" in said and "launch failed" not in said, said
    (c.work / "waits").unlink(missing_ok=True)
    step = c.popen("srun", "-n2", "sleep", "1000", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: (c.work / "waits").exists(), "a task is in its prolog")
    step.send_signal(signal.SIGINT)
    step.send_signal(signal.SIGTERM)  # whoever ends srun ends its tasks at once: as a second Ctrl-C
    _, said = step.communicate(timeout=60)
    assert "forcing job termination" in said and "Timed out" not in said, said
    hold.unlink()


def test_srun_ends_before_its_node_answers(make_cluster, folder):
    """The tasks of an srun that was told to end before the node took the step are ended as soon as the node has it: srun
    forgot them, and gave the node up when all time was over."""
    prolog = folder / "prolog"
    prolog.write_text("#!/bin/sh\nwhile [ -e hold ]; do sleep 0.02; done\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"TaskProlog={prolog}")
    (c.work / "hold").touch()
    job = c.sbatch(wrap="sleep 1000")
    wait_until(lambda: c.job(job)["JobState"] == "RUNNING", "the job runs")
    told = c.work / "told"
    with stopped(c.slurmds["node1"].pid), told.open("w") as err:
        step = c.popen("srun", "-v", f"--jobid={job}", "--overlap", "sleep", "1000", stderr=err)
        wait_until(lambda: "CpuBindType=" in told.read_text(), "srun is about to dial the node")
        step.send_signal(signal.SIGTERM)
    step.wait(timeout=60)
    said = told.read_text()
    assert "forcing job termination" in said and "Timed out" not in said and "no answer" not in said, said
    assert f"STEP {job}.0 ON node1 CANCELLED" in said, said


def test_step_ends_in_the_moment_its_prolog_does(make_cluster, folder):
    """The order to end comes together with the end of TaskProlog: the task does not begin.  It did, and as the step had sent
    its SIGTERM before, nothing but the end of KillWait ended it."""
    prolog = folder / "prolog"
    prolog.write_text("#!/bin/sh\n[ $SLURM_PROCID = 0 ] || exit 0\ntouch waits\nwhile [ -e hold ]; do sleep 0.02; done\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=2, conf=f"TaskProlog={prolog}\nKillWait=60")
    hold, told = c.work / "hold", c.work / "told"
    hold.touch()
    script = "[ $SLURM_PROCID = 0 ] || { while [ ! -e fail ]; do sleep 0.02; done; exit 2; }; touch ran; sleep 1000"
    with told.open("w") as err:
        step = c.popen("srun", "-N2", "-n2", "-K", "bash", "-c", script, stderr=err)
    wait_until(lambda: (c.work / "waits").exists(), "a task is in its prolog")
    with stopped(daemon_of(c, "1.0", "node1")):
        hold.unlink()
        wait_until(lambda: not any(str(prolog) in command for _, command in processes_of(c.dir)), "the prolog has ended")
        (c.work / "fail").touch()
        wait_until(lambda: "Terminating StepId=1.0" in told.read_text(), "srun has ended the step")
    step.wait(timeout=60)
    assert "node1: task 0: Terminated" in told.read_text(), told.read_text()
    assert not (c.work / "ran").exists()


def test_step_tells_its_end_through_srun(make_cluster):
    """The script is gone at once; its srun stays until the first node of the step has told of the end, which no other does."""
    c = make_cluster(nodes=2, conf="KillWait=60")
    job = c.sbatch("-N2", wrap="echo $$ >shell; srun bash -c 'touch up-$SLURM_NODEID; exec sleep 1000'")
    srun_ready(c, "up-", 2)
    shell = int((c.work / "shell").read_text())
    with stopped(daemon_of(c, f"{job}.0", "node1")):
        c.run("scancel", job)
        wait_until(lambda: not os.path.exists(f"/proc/{shell}"), "the script was ended")
        wait_until(lambda: "srun: error: node2: task 1: Terminated" in c.out(job), "the node that answers has told its end")
        assert f"STEP {job}.0" not in c.out(job)
    wait_until(lambda: re.search(rf"error: \*\*\* STEP {job}\.0 ON node1 CANCELLED AT \S+ DUE ", c.out(job)),
               "srun passes on what the first node says")
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    assert f"STEP {job}.0 ON node2" not in c.out(job)


def test_script_is_told_first(make_cluster):
    """As long as the script's node has not told the script, the other nodes let their tasks be, for some seconds."""
    c = make_cluster(nodes=2, conf="KillWait=60")
    task = "trap 'date +%s.%N >told; exit 0' TERM; touch up; while :; do sleep 0.1; done"
    job = c.sbatch("-N2", wrap=f"setsid srun -N1 -w node2 bash -c \"{task}\"")
    srun_ready(c)
    with stopped(c.slurmds["node1"].pid):
        asked = time.time()
        c.run("scancel", job)
        wait_until(lambda: (c.work / "told").exists() and (c.work / "told").read_text(), "the step is ended all the same",
                   60)
        assert float((c.work / "told").read_text()) - asked > 3
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def test_node_without_answer_delays_the_end_by_kill_wait(make_cluster):
    c = make_cluster(nodes=2, conf="KillWait=2\nMessageTimeout=2")
    job = c.sbatch("-N2", wrap="srun bash -c 'touch up-$SLURM_NODEID; exec sleep 1000'")
    srun_ready(c, "up-", 2)
    with stopped(daemon_of(c, f"{job}.0", "node2")):
        c.run("scancel", job)
        wait_until(lambda: daemon_of(c, f"{job}.batch", "node1") is None, "the batch step is over", 30)
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def test_srun_gives_up_a_node_without_answer(make_cluster):
    c = make_cluster(nodes=2, conf="KillWait=2\nMessageTimeout=2")
    # a step daemon tells of its tasks' start before it brings their output
    with open(c.work / "told", "w") as told:
        srun = c.popen("srun", "-N2", "bash", "-c", "echo up; exec sleep 1000", stdout=told, stderr=subprocess.PIPE)
    wait_until(lambda: (c.work / "told").read_text() == "up\nup\n", "srun knows that both run")
    step = c.run("squeue", "-s", "-h", "-o", "%i").out.split()[0]
    with stopped(daemon_of(c, step, "node2")):
        c.run("scancel", step.split(".")[0])
        _, err = srun.communicate(timeout=60)
    assert "srun: error: Timed out waiting for job step to complete\n" in err
    assert "srun: error: Connection to node node2 lost: no answer\n" in err
    assert f"STEP {step} ON node1 CANCELLED AT" in err
    assert srun.returncode != 0


def test_output_that_does_not_end(make_cluster):
    """EioTimeout: what a task leaves behind holds its output open, here since nothing of the step can be killed."""
    c = make_cluster(start=False, nodes=1, conf="EioTimeout=2\nUnkillableStepTimeout=60\nKillWait=0")
    c.daemon_env_change["PENSTOCK_FAILPOINT"] = "stepd-no-kill:1+"
    c.start()
    loop = "while [ -d . ] && [ ! -e go ]; do read -t 0.1 x <> <(:); done"
    done = c.run("srun", "bash", "-c", f"({loop}) & echo first; exit 3", check=False)
    assert (done.rc, done.out) == (3, "first\n")
    assert "output has not ended 2 seconds after the last task; srun leaves it" in done.err
    (c.work / "go").touch()


def test_tasks_of_a_node(make_cluster):
    """MaxTasksPerNode, of each node of a step."""
    c = make_cluster(nodes=2, conf="MaxTasksPerNode=3")
    assert sorted(c.run("srun", "-N2", "-n6", "-O", "-l", "echo", "x").out.split("\n")[:-1]) == [f"{i}: x" for i in range(6)]
    assert "Task count specification invalid" in c.run("srun", "-N2", "-n8", "-O", "true", check=False).err
    assert "Task count specification invalid" in c.run("srun", "-N1", "-n4", "true", check=False).err
