"""Signals to srun and salloc, as the incumbent answers them (recording 43): how a step ends, what is said, the exit code."""

import os
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 1, "conf": "KillWait=5"}
ABORTED = (r"srun: forcing job termination\n"
           r"srun: Job step aborted: Waiting up to 7 seconds for job step to finish\.\n"
           r"\[\S+\] error: \*\*\* STEP \d+\.0 ON node1 CANCELLED AT \S+ DUE to SIGNAL Killed \*\*\*\n")
KILLED = r"srun: error: node1: tasks 0-1: Killed\n"
STATUS = r"srun: interrupt \(one more within 1 sec to abort\)\nsrun: StepId=\d+\.0 tasks 0-1: running\n"


def started(c, *argv):
    p = c.popen(*argv, stdin=-3, stdout=-1, stderr=-1, start_new_session=True)
    wait_until(lambda: (c.work / "on").exists(), "the command runs")
    (c.work / "on").unlink()
    return p


def step(c, *options, script="touch on; sleep 20"):
    p = started(c, "srun", "-n2", *options, "bash", "-c", script)
    wait_until(lambda: c.run("squeue", "-s", "-h", "-o", "%i").out.count(".0"), "the step is known")
    time.sleep(0.5)  # until each of the two tasks sleeps
    return p


def end(p, timeout=10):
    out, err = p.communicate(timeout=timeout)
    return p.returncode, out, err


# sub-1.22: SIGTERM, SIGHUP and SIGQUIT kill the step at once; sub-5.10: SIGQUIT says so
@pytest.mark.parametrize("sig,first", [(signal.SIGTERM, ""), (signal.SIGHUP, ""), (signal.SIGQUIT, "srun: Quit\n")])
def test_killed_at_once(c, sig, first):
    p = step(c, script="trap '' TERM; touch on; sleep 20")
    p.send_signal(sig)
    rc, _, err = end(p)
    assert rc == 137 and re.fullmatch(re.escape(first) + ABORTED + KILLED, err), err


# sub-1.22: a second Ctrl-C within a second, or --quit-on-interrupt
@pytest.mark.parametrize("options", [[], ["--quit-on-interrupt"]])
def test_interrupted_twice(c, options):
    p = step(c, *options)
    p.send_signal(signal.SIGINT)
    if not options:
        assert re.fullmatch(STATUS, p.stderr.readline() + p.stderr.readline())
        p.send_signal(signal.SIGINT)
    rc, _, err = end(p)
    assert rc == 130 and re.fullmatch(r"srun: sending Ctrl-C to StepId=\d+\.0\n" + ABORTED, err), err


# sub-1.22: tasks that ignore SIGINT are killed
@pytest.mark.parametrize("options", [[], ["--quit-on-interrupt"]])
def test_interrupted_twice_and_ignored(c, options):
    p = step(c, *options, script="trap '' INT; touch on; sleep 20")
    p.send_signal(signal.SIGINT)
    if not options:
        assert re.fullmatch(STATUS, p.stderr.readline() + p.stderr.readline())
        p.send_signal(signal.SIGINT)
    rc, _, err = end(p)
    assert re.fullmatch(r"srun: sending Ctrl-C to StepId=\d+\.0\n" + ABORTED + f"({KILLED})?", err), err
    assert rc == 137


# sub-1.23: -X passes it on to the tasks
def test_interrupt_passed_on(c):
    p = step(c, "-X")
    p.send_signal(signal.SIGINT)
    rc, _, err = end(p)
    assert rc == 130
    assert re.fullmatch(r"srun: sending Ctrl-C to StepId=\d+\.0\nsrun: error: node1: tasks 0-1: Interrupt\n", err), err


# sub-1.25: SIGALRM is nothing to srun
def test_alarm(c):
    p = step(c, script="touch on; sleep 1.5")
    p.send_signal(signal.SIGALRM)
    assert end(p) == (0, "", "")


# sub-1.26, sub-1.28, life-3.4: SIGTERM and SIGINT give the allocation back, and the command ends when it likes
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_salloc_gives_back(c, sig):
    p = started(c, "salloc", "-n1", "bash", "-c", "trap '' INT; touch on; sleep 2; echo end")
    p.send_signal(sig)
    wait_until(lambda: not c.run("squeue", "-h", "-t", "R").out, "the job ends", 1.5)
    rc, out, err = end(p)
    assert (rc, out) == (0, "end\n")
    assert re.search(r"\nsalloc: Job allocation \d+ has been revoked\.\n$", err), err
    assert "Relinquishing" not in err


# sub-1.27: SIGHUP to salloc and its command
def test_salloc_hangup(c):
    p = started(c, "salloc", "-n1", "bash", "-c", "touch on; sleep 20")
    p.send_signal(signal.SIGHUP)
    rc, _, err = end(p)
    assert rc in (0, 1) and re.search(r"\nsalloc: Relinquishing job allocation \d+\n$", err), err


# sub-5.9, life-3.7: Ctrl-C of those who wait; res-7.50: SIGINT to salloc without a terminal
@pytest.mark.parametrize("command,terminal,said", [
    ("srun", True, r"srun: Job allocation \d+ has been revoked\n"),
    ("srun", False, r"srun: Job allocation \d+ has been revoked\n"),
    ("salloc", True, r"salloc: Job aborted due to signal\nsalloc: Job allocation \d+ has been revoked\.\n"),
    ("salloc", False, r"salloc: Job aborted due to signal\n")])
def test_interrupted_while_waiting(c, command, terminal, said):
    master, slave = os.openpty()
    p = c.popen(command, "-H", "true", stdin=slave if terminal else -3, stdout=-1, stderr=-1, start_new_session=True)
    os.close(slave)
    wait_until(lambda: c.run("squeue", "-h", "-o", "%T").out == "PENDING\n", "it waits")
    time.sleep(0.5)  # until it says so
    p.send_signal(signal.SIGINT)
    rc, _, err = end(p)
    os.close(master)
    assert rc == 1 and re.search(r"queued and waiting for resources\n" + said + "$", err), err
    wait_until(lambda: not c.run("squeue", "-h").out, "no job is left")


def read_all(master):
    """What was written to the terminal, which nobody has open any more."""
    said = b""
    try:
        while piece := os.read(master, 4096):
            said += piece
    except OSError:  # that is how Linux says so
        pass
    os.close(master)
    return said.decode()


# life-3.6: Ctrl-C at a terminal ends the command, with INT at its default even where salloc has it ignored
@pytest.mark.parametrize("ignored", ["", "trap '' INT; "])
def test_interrupted_at_a_terminal(c, ignored):
    master, slave = os.openpty()
    p = subprocess.Popen(["setsid", "-c", "-w", "bash", "-c", ignored + "exec salloc -n1 sh -c 'touch on; exec sleep 20'"],
                         cwd=c.work, env=c.env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    wait_until(lambda: (c.work / "on").exists(), "the command runs")
    (c.work / "on").unlink()
    os.write(master, b"\x03")
    assert p.wait(10) == 0
    said = read_all(master).replace("\r", "")
    assert re.search(r"are ready for job\n(\^C)?salloc: Relinquishing job allocation \d+\n$", said), said
