"""TaskProlog and the process of its task, which exists while the script runs: SLURM_TASK_PID."""

import os
import signal

import pytest

from conftest import processes_of, wait_until

CLUSTER = {"nodes": 1, "cpus": 4}
SCRIPT = """#!/bin/bash
{more}
[ -d /proc/$SLURM_TASK_PID ] && echo print prolog $SLURM_PROCID $SLURM_TASK_PID
echo export FROM_PROLOG=$SLURM_PROCID
"""


@pytest.fixture
def script(c):
    def make(more=""):
        path = c.work / "taskprolog"
        path.write_text(SCRIPT.format(more=more))
        path.chmod(0o755)
        return str(path)
    return make


def daemons(c):
    return [pid for pid, command in processes_of(c.dir) if command.startswith("slurmstepd:")]


def children(pid):
    try:
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def numbers(text, word):
    return dict(line.split()[1:] for line in text.splitlines() if line.startswith(f"{word} "))


def test_number_of_each_task(c, script):
    """The process that a script is told is the one that its task then is; what the script prints and exports holds."""
    done = c.run("srun", "-n3", f"--task-prolog={script()}", "bash", "-c", "echo task $FROM_PROLOG $$; echo $SLURM_TASK_PID >&2")
    told = numbers(done.out, "prolog")
    assert set(told) == {"0", "1", "2"} and told == numbers(done.out, "task")
    assert sorted(done.err.split()) == sorted(told.values())


def test_script_of_a_job(make_cluster, folder):
    path = folder / "taskprolog"
    path.write_text(SCRIPT.format(more=""))
    path.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"TaskProlog={path}")
    job = c.sbatch(wrap="echo task $FROM_PROLOG $$")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert numbers(c.out(job), "prolog") == numbers(c.out(job), "task")


@pytest.mark.parametrize("more", ["exit 3", "kill -9 $$"])
def test_refused_task(c, script, more):
    """No task runs, and the process that waited for it is gone."""
    done = c.run("srun", f"--task-prolog={script(more)}", "echo", "never", check=False)
    assert "never" not in done.out and done.rc != 0
    wait_until(lambda: not daemons(c), "the step daemon has ended")


def test_missing_program(c, script):
    """That a program is not there is told as without a script."""
    done = c.run("srun", f"--task-prolog={script()}", "/no/such/program", check=False)
    assert done.rc == 2 and "execve(): /no/such/program: No such file or directory" in done.err


def test_program_that_never_ends_its_script(c, script):
    """A step that is cancelled in its script leaves nothing; one whose waiting process was killed makes another."""
    gate = c.work / "gate"
    prolog = script(f"touch {c.work}/begun; until test -e {gate}; do sleep 0.05; done")
    step = c.popen("srun", "-J", "stuck", f"--task-prolog={prolog}", "echo", "never", stdout=-1, stderr=-1)
    wait_until(lambda: (c.work / "begun").exists(), "the script runs")
    c.run("scancel", "-n", "stuck")
    assert "never" not in step.communicate(timeout=60)[0]
    wait_until(lambda: not daemons(c), "the step daemon has ended")

    (c.work / "begun").unlink()
    step = c.popen("srun", f"--task-prolog={prolog}", "bash", "-c", "echo task $SLURM_PROCID $$ $SLURM_TASK_PID",
                   stdout=-1, stderr=-1)
    wait_until(lambda: (c.work / "begun").exists(), "the script runs")
    waiting = [pid for daemon in daemons(c) for pid in children(daemon) if pid in daemons(c)]
    assert len(waiting) == 1
    os.kill(waiting[0], signal.SIGKILL)
    gate.touch()
    out, err = step.communicate(timeout=60)
    pids = [line.split()[2:] for line in out.splitlines() if line.startswith("task ")]
    assert step.returncode == 0 and pids and pids[0][0] == pids[0][1] != str(waiting[0]), (out, err)
