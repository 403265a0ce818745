"""salloc: messages, exit codes, waiting, cancelling, signals, steps within."""

import re
import signal
import subprocess
import sys

import pytest

from conftest import program, wait_until
from test_srun import run_in_terminal

CLUSTER = {"nodes": 4, "conf": "KillWait=1"}


def block(c):
    job = c.sbatch("-N4", "--exclusive", "-J", "blocker", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    return job


def test_messages(c):
    done = c.run("salloc", "-N2", "bash", "-c", "echo $SLURM_JOB_ID $SLURM_JOB_NODELIST")
    job, nodes = done.out.split()
    assert nodes == "node[1-2]"
    assert done.err == (f"salloc: Granted job allocation {job}\nsalloc: Nodes node[1-2] are ready for job\n"
                        f"salloc: Relinquishing job allocation {job}\n")
    assert c.wait_end(job)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("command,rc,state", [("true", 0, "COMPLETED"), ("false", 1, "COMPLETED|FAILED"),
                                              ("exit 9", 9, "COMPLETED|FAILED"), ("kill -9 $$", 0, "COMPLETED|FAILED|CANCELLED")])
def test_exit_codes(c, command, rc, state):
    done = c.run("salloc", "-n2", "bash", "-c", command, check=False)
    assert done.rc == rc, done.err
    job = re.search(r"Granted job allocation (\d+)", done.err).group(1)
    assert c.wait_end(job)["JobState"] in state.split("|")


def test_quiet(c):
    done = c.run("salloc", "-Q", "-n1", "echo", "quiet")
    assert (done.out, done.err) == ("quiet\n", "")


def test_missing_command(c):
    done = c.run("salloc", "nosuchcmd", check=False)
    assert done.rc == 1 and 'Unable to find command "nosuchcmd"' in done.err
    assert re.search(r"salloc: Relinquishing job allocation \d+\n$", done.err)
    wait_until(lambda: not c.run("squeue", "-h").out, "the allocation is given back")


def test_no_shell(c):
    done = c.run("salloc", "--no-shell", "-n1", "-t", "5", "-J", "noshell")
    assert re.fullmatch(r"salloc: Granted job allocation \d+\nsalloc: Nodes node1 are ready for job\n", done.err)
    job = done.err.split()[4]
    assert c.run("squeue", "-h", "-o", "%i %j %T").out == f"{job} noshell RUNNING\n"
    assert c.run("srun", f"--jobid={job}", "echo", "in").out == "in\n"
    c.run("scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def test_environment(c):
    done = c.run("salloc", "-N2", "-n3", "-c2", "-J", "env", "bash", "-c", "env | grep ^SLURM_ | sort")
    env = dict(line.split("=", 1) for line in done.out.splitlines())
    wanted = {"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NNODES": "2", "SLURM_NTASKS": "3", "SLURM_CPUS_PER_TASK": "2",
              "SLURM_JOB_CPUS_PER_NODE": "4,2", "SLURM_TASKS_PER_NODE": "2,1", "SLURM_JOB_NUM_NODES": "2",
              "SLURM_SUBMIT_DIR": str(c.work), "SLURM_JOB_NAME": "env", "SLURM_JOB_PARTITION": "main",
              "SLURM_CLUSTER_NAME": "test"}
    assert {k: env.get(k) for k in wanted} == wanted
    assert env["SLURM_JOB_ID"] == env["SLURM_JOBID"]


def test_steps_get_the_allocation(c):
    done = c.run("salloc", "-N4", "bash", "-c", "srun -l printenv SLURMD_NODENAME | sort; srun -n1 -N1 false; echo rc=$?")
    assert done.out == "0: node1\n1: node2\n2: node3\n3: node4\nrc=1\n"


def test_waiting_and_allocated(c):
    job = block(c)
    p = c.popen("salloc", "-N1", "echo", "got it", stdout=-1, stderr=-1)
    waits = re.fullmatch(r"salloc: Pending job allocation (\d+)\n", p.stderr.readline()).group(1)
    assert p.stderr.readline() == f"salloc: job {waits} queued and waiting for resources\n"
    c.run("scancel", job)
    out, err = p.communicate(timeout=30)
    assert (out, p.returncode) == ("got it\n", 0)
    assert err == (f"salloc: job {waits} has been allocated resources\nsalloc: Granted job allocation {waits}\n"
                   f"salloc: Nodes node1 are ready for job\nsalloc: Relinquishing job allocation {waits}\n")


def test_cancelled_while_it_waits(c):
    block(c)
    p = c.popen("salloc", "-J", "waits", "true", stderr=-1)
    waits = p.stderr.readline().split()[-1]
    p.stderr.readline()
    c.run("scancel", waits)
    _, err = p.communicate(timeout=20)
    assert err == (f"salloc: Job has been cancelled\nsalloc: Job allocation {waits} has been revoked.\n"
                   "salloc: error: Job submit/allocate failed: Job/step already completing or completed\n")
    assert p.returncode == 1


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_while_it_waits(c, sig):
    block(c)
    p = c.popen("salloc", "-J", "waits", "true", stderr=-1, start_new_session=True)
    p.stderr.readline(), p.stderr.readline()
    p.send_signal(sig)
    p.communicate(timeout=20)
    assert p.returncode != 0
    wait_until(lambda: c.run("squeue", "-h", "-o", "%j").out == "blocker\n", "no job is left")


def test_killed_salloc_keeps_the_allocation(c):
    """InactiveLimit is off by default: a dead salloc's job lives until somebody cancels it."""
    p = c.popen("salloc", "bash", "-c", "echo $SLURM_JOB_ID; read x", stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    job = p.stdout.readline().strip()
    p.kill()
    p.communicate(timeout=20)
    assert c.run("srun", f"--jobid={job}", "echo", "in").out == "in\n"
    c.run("scancel", job)
    c.wait_end(job)


def test_inactive_limit(make_cluster):
    """InactiveLimit: the job of a dead salloc ends once no step runs in it; a batch job has no client to lose."""
    c = make_cluster(nodes=2, conf="InactiveLimit=2\nKillWait=1")
    batch = c.sbatch(wrap="sleep 1000")
    p = c.popen("salloc", "bash", "-c", "echo $SLURM_JOB_ID; read x", stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    job = p.stdout.readline().strip()
    p.kill()
    p.communicate(timeout=20)
    record = c.wait_end(job)
    assert (record["JobState"], record["Reason"]) == ("TIMEOUT", "InactiveLimit")
    p = c.popen("salloc", "bash", "-c", "echo $SLURM_JOB_ID; srun sleep 1000 >/dev/null 2>&1 & read x", stdin=-1, stdout=-1,
                stderr=subprocess.DEVNULL)
    job = p.stdout.readline().strip()
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "the step runs")
    p.kill()
    p.communicate(timeout=20)
    later = c.popen("salloc", "bash", "-c", "echo $SLURM_JOB_ID; read x", stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    ended = later.stdout.readline().strip()
    later.kill()
    later.communicate(timeout=20)
    assert c.wait_end(ended)["Reason"] == "InactiveLimit"
    assert c.state(job) == "RUNNING" and c.state(batch) == "RUNNING"
    c.run("scancel", f"{job}.0")
    assert c.wait_end(job)["Reason"] == "InactiveLimit"


def test_a_request_that_no_node_can_meet_uses_up_a_number(c):
    refused = "salloc: error: Job submit/allocate failed: Requested node configuration is not available\n"
    before = c.sbatch("-H", wrap="true")
    done = c.run("salloc", "-c999", "true", check=False)
    assert (done.rc, done.err.endswith(f"{refused}salloc: Job allocation {before + 1} has been revoked.\n")) == (1, True)
    done = c.run("salloc", "--no-shell", "-c999", check=False)
    assert (done.rc, done.err.endswith(refused)) == (1, True)
    done = c.run("salloc", "-p", "nosuch", "true", check=False)
    assert (done.rc, "revoked" in done.err) == (1, False)
    after = c.sbatch("-H", wrap="true")
    assert after == before + 3
    c.run("scancel", str(before), str(after))


@pytest.mark.parametrize("option", [[], ["-K"], ["--kill-command=USR1"]])
def test_revoked_while_the_command_runs(c, option):
    """It is told; with --kill-command it gets a signal, too."""
    p = c.popen("salloc", *option, "bash", "-c", "trap 'exit 6' TERM; trap 'exit 7' USR1; echo $SLURM_JOB_ID\n"
                "while read -t 0.05 x; [ $? != 1 ]; do :; done; exit 5", stdin=-1, stdout=-1, stderr=-1)
    job = p.stdout.readline().strip()
    assert "Granted" in p.stderr.readline() and "ready for job" in p.stderr.readline()
    c.run("scancel", job)
    assert p.stderr.readline() == f"salloc: Job allocation {job} has been revoked.\n"
    _, err = p.communicate("" if not option else None, timeout=20)
    assert p.returncode == {"": 5, "-K": 6}.get("".join(option), 7)
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def test_begin_and_immediate(c):
    block(c)
    err = c.refused("salloc", "-I", "-N4", "true")
    assert "salloc: error: " in err
    wait_until(lambda: c.run("squeue", "-h", "-o", "%j").out == "blocker\n", "no job is left")


def test_never_at_once(c):
    """A request that no node can ever serve was a job for a moment: salloc tells its number."""
    before = c.sbatch("-H", wrap="true")
    every_cpu = "-n" + c.run("sinfo", "-h", "-o", "%C").out.strip().split("/")[-1]
    err = c.refused("salloc", "-I", every_cpu, "-x", "node1", "true")
    assert err == ("salloc: error: Job submit/allocate failed: Requested node configuration is not available\n"
                   f"salloc: Job allocation {before + 1} has been revoked.\n")
    assert c.refused("salloc", every_cpu, "-x", "node1", "true") == err.replace(str(before + 1), str(before + 2))
    assert "revoked" not in c.refused("srun", "-I", every_cpu, "-x", "node1", "true")
    assert c.sbatch("-H", wrap="true") == before + 4


def test_chdir(c):
    assert c.run("salloc", "-D", "/usr", "pwd").out == "/usr\n"


def test_interactive_shell_is_the_users(c):
    done = c.run("salloc", "-n1", input="echo shell $SLURM_JOB_ID\nexit 4\n", check=False, env={"SHELL": "/bin/bash"})
    job = re.search(r"Granted job allocation (\d+)", done.err).group(1)
    assert done.out == f"shell {job}\n" and done.rc == 4


def test_interactive_step(make_cluster):
    """The shell runs on the first node, has the terminal, holds nothing of the allocation, and is a step of its own."""
    c = make_cluster(nodes=2, conf="LaunchParameters=use_interactive_step")
    c.env.update(SHELL="/bin/sh", PS1="ready> ")
    text, rc = run_in_terminal(c, [program("salloc"), "-N2", "-n2"],
                               [(b"ready> ", b"tty; echo on $SLURMD_NODENAME; srun -l echo task; "
                                            b"sattach --layout $SLURM_JOB_ID.interactive; exit 7\r")])
    assert rc == 7, text
    assert "/dev/pts/" in text and "on node1\r\n" in text and "0: task\r\n" in text and "1: task\r\n" in text, text
    assert "Node 0 (node1), 1 task(s): 0" in text
    job = c.run("sacct", "-nXP", "-o", "JobID").out.split()[-1]
    rows = wait_until(lambda: (r := c.sacct("-j", job, "-o", "JobID,State,ExitCode")) and
                      all(x[1] not in ("RUNNING", "PENDING") for x in r) and len(r) == 3 and r, "accounting has the steps")
    assert rows[1] == [f"{job}.interactive", "FAILED", "7:0"] and rows[2] == [f"{job}.0", "COMPLETED", "0:0"]


def test_a_caller_that_ignores_sigchld(c):
    """An ignored SIGCHLD is inherited; with it the end of the command could not be waited for, and 0 came for every status."""
    caller = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    assert c.run(sys.executable, "-c", caller, program("salloc"), "-n1", "bash", "-c", "exit 3", check=False).rc == 3


def test_what_comes_too_late_for_a_step(c):
    """A step begins at once: that --begin means nothing in an allocation is said."""
    told = "srun: error: --begin is ignored because nodes are already allocated.\n"
    assert c.run("salloc", "-Q", "srun", "--begin=now+1hour", "true").err == told
    assert c.run("salloc", "-Q", "srun", "true").err == ""
