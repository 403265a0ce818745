"""Attacks that make a daemon wait: files without another end, prologs that do not end, names that are taken.

Whoever may submit a job chooses what its step daemon opens and starts.  None of it may keep the daemon from being
told to end, or keep others from the node."""
import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from conftest import processes_of, wait_until
from rawwire import Peer, connect_as

CLUSTER = {"nodes": 1, "conf": "UnkillableStepTimeout=3"}


def fifo(c, name="fifo"):
    path = c.work / name
    os.mkfifo(path)
    return path


def others_run(c):
    """Somebody else's step on the same node."""
    assert c.run("srun", "echo", "hello", timeout=10).out == "hello\n"


def step_daemons(c):
    return [pid for pid, command in processes_of(c.dir) if command.startswith("slurmstepd: [")]


def ends_soon(c, job):
    """Cancelled, and nothing of it left, before any time limit of the node's could have helped."""
    begun = time.monotonic()
    c.run("scancel", job)
    wait_until(lambda: c.state(job) == "CANCELLED" and not step_daemons(c), "the job and its daemon are gone", 8)
    return time.monotonic() - begun


@pytest.mark.parametrize("option", ["-o", "-e", "-i"])
def test_batch_fifo_without_other_end(c, option):
    """sbatch -o FIFO: the step daemon waited in open(2) for a reader, for ever, deaf to everything."""
    job = c.sbatch("-o", "none", option, fifo(c), wrap="sleep 600")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: step_daemons(c), "its daemon is there")
    others_run(c)
    ends_soon(c, job)
    others_run(c)
    assert "Reason=Kill task failed" not in c.run("scontrol", "show", "node").out


@pytest.mark.parametrize("option", ["-o", "-e", "-i"])
def test_step_fifo_without_other_end(c, option):
    """A pattern of tasks is opened on the node."""
    fifo(c, "fifo.0")
    step = c.popen("srun", "-J", "attack", option, c.work / "fifo.%t", "sleep", "600", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: step_daemons(c), "the step's daemon is there")
    others_run(c)
    job = c.run("squeue", "-h", "-n", "attack", "-o", "%A").out.strip()
    ends_soon(c, job)
    step.communicate(timeout=20)
    assert step.returncode != 0


def test_pattern_and_open_mode(c):
    """A FIFO per task, in append mode: task 0 runs already while the other's file waits."""
    name = fifo(c, "out.1")
    step = c.popen("srun", "-n2", "--open-mode=append", "-o", c.work / "out.%t", "sh", "-c", "echo $SLURM_PROCID",
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: (c.work / "out.0").exists() and (c.work / "out.0").read_text() == "0\n", "task 0 has run")
    assert name.read_text() == "1\n"
    step.communicate(timeout=20)
    assert step.returncode == 0


def test_fifo_with_a_late_reader(c):
    """What users of a FIFO expect: the script starts when somebody reads, and every byte arrives."""
    name = fifo(c)
    job = c.sbatch("-o", name, wrap="seq 100000")
    c.wait_state(job, "RUNNING")
    assert name.read_text().split() == [str(i + 1) for i in range(100000)]
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_fifo_with_a_late_writer(c):
    name = fifo(c)
    job = c.sbatch("-i", name, wrap="cat")
    c.wait_state(job, "RUNNING")
    name.write_text("from afar\n")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(job) == "from afar\n"


def filled(fifo):
    """A FIFO holds 64 KiB."""
    return int.from_bytes(fcntl.ioctl(fifo, termios.FIONREAD, bytes(4)), sys.byteorder) >= 60 << 10


def test_full_fifo(c):
    """Its reader reads nothing: the line that tells of the end must not wait in the step daemon."""
    name = fifo(c)
    reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    job = c.sbatch("-o", name, wrap="yes")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: filled(reader), "it is full")
    ends_soon(c, job)
    os.close(reader)


def test_time_limit(c):
    """The time limit ends what waits to begin, as it ends what runs."""
    name = fifo(c)
    job = c.sbatch("-o", name, "-t", "0:03", wrap="true")
    c.wait_state(job, "TIMEOUT", "CANCELLED", timeout=90)
    wait_until(lambda: not step_daemons(c), "its daemon is gone", 8)


def test_socket_and_directory(c):
    """Neither can be opened: a sentence, and no waiting."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(c.work / "sock"))
        (c.work / "folder.0").mkdir()
        (c.work / "sock.0").symlink_to("sock")
        for name in ("sock", "folder"):
            done = c.run("srun", "-o", c.work / f"{name}.%t", "true", check=False, timeout=10)
            assert done.rc != 0 and done.err == "srun: error: task 0 launch failed: Slurmd could not connect IO\n"


def test_files_of_the_step_daemon(c):
    """/proc/self of a name is the step daemon, which opens it: where that lies in memory is not the user's."""
    done = c.run("sbatch", "--wait", "-i", "/proc/self/maps", "-o", c.work / "seen", "--wrap", "cat; echo over", check=False, timeout=30)
    seen = (c.work / "seen").read_bytes() if (c.work / "seen").exists() else b""
    assert done.rc != 0 and b"heap" not in seen and b"over" not in seen, seen[:300]


def test_lease(c):
    """A lease makes whoever opens the file wait for its holder, lease-break-time (45 s) long."""
    path = c.work / "leased"
    path.touch()
    with open(path) as held:
        old = signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        job = c.sbatch("-o", path, wrap="sleep 600")
        c.wait_state(job, "RUNNING")
        others_run(c)
        ends_soon(c, job)
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        signal.signal(signal.SIGIO, old)


@pytest.mark.parametrize("command", ["srun", "sbatch"])
def test_lease_on_the_program(c, command):
    """The kernel makes whoever starts a program wait for the holder of a lease on it: the daemon waited too, was taken for
    hung when its job was cancelled, and the node was drained."""
    program = c.work / "program"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o700)
    held = os.open(program, os.O_RDWR)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    try:
        if command == "srun":
            step = c.popen("srun", "-J", "attack", program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        else:
            c.run("sbatch", "-J", "attack", input=f"#!{program}\n")
        wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-n", "attack", "-o", "%A").out.strip(), "it runs")
        job = c.run("squeue", "-h", "-n", "attack", "-o", "%A").out.strip()
        wait_until(lambda: step_daemons(c), "its daemon is there")
        others_run(c)
        assert ends_soon(c, job) < 8
        if command == "srun":
            step.communicate(timeout=20)
        others_run(c)
        assert "Reason=Kill task failed" not in c.run("scontrol", "show", "node").out
    finally:
        os.close(held)


@pytest.mark.parametrize("body", ["sleep 600", "exec >&-; sleep 600"])
def test_task_prolog_that_does_not_end(c, body):
    """srun --task-prolog is a program of the user's; closing its output made the daemon wait without any limit."""
    prolog = c.script(body, "prolog.sh")
    prolog.chmod(0o755)
    step = c.popen("srun", "-J", "attack", f"--task-prolog={prolog}", "true", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: any("sleep 600" in command for _, command in processes_of(c.dir)), "the prolog runs")
    others_run(c)
    ends_soon(c, c.run("squeue", "-h", "-n", "attack", "-o", "%A").out.strip())
    step.communicate(timeout=20)
    assert step.returncode != 0


def test_task_prolog_that_prints_much(c):
    """Its lines go to the step's own pipe, whose only reader is the daemon that writes them."""
    prolog = c.script("for i in $(seq 3000); do echo print $i a line of some length for the task to show; done", "prolog.sh")
    prolog.chmod(0o755)
    done = c.run("srun", f"--task-prolog={prolog}", "echo", "done", timeout=20)
    assert done.out.endswith("done\n") and done.out.startswith("1 a line")


@pytest.fixture
def lone(make_cluster, folder):
    """A cluster whose node may be drained; its UnkillableStepProgram writes down for which job it was called."""
    tools = folder / "tools"
    tools.mkdir()
    program = tools / "unkillable"
    program.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID $SLURM_STEP_ID >> {tools}/called\n")
    program.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"UnkillableStepTimeout=2\nUnkillableStepProgram={program}")
    c.called = tools / "called"
    return c


def hangs(c, job):
    """The job's daemon, which does nothing from now on."""
    pid = wait_until(lambda: step_daemons(c), "its daemon is there")[0]
    wait_until(lambda: any("sleep 600" in command and not command.startswith("slurmstepd") for _, command in
                           processes_of(c.dir)), "its script runs")
    os.kill(pid, signal.SIGSTOP)
    return pid


@pytest.mark.parametrize("restart", [False, True])
def test_step_daemon_that_hangs(lone, restart):
    """UnkillableStepTimeout was kept by the daemon alone: one that hangs kept its job COMPLETING for ever."""
    job = lone.sbatch(wrap="sleep 600")
    lone.wait_state(job, "RUNNING")
    pid = hangs(lone, job)
    if restart:
        lone.slurmds["node1"].kill()
        lone.ended.append(lone.slurmds["node1"])
        lone.start_slurmd("node1")
        wait_until(lambda: "found a running step" in lone.logs("slurmd-node1"), "slurmd knows it again")
    lone.run("scancel", job)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the daemon is killed", 25)
    assert lone.wait_end(job)["JobState"] == "CANCELLED"
    wait_until(lambda: lone.called.exists() and lone.called.read_text().startswith(f"{job} "), "the program is told")
    wait_until(lambda: "Reason=Kill task failed" in lone.run("scontrol", "show", "node", "node1").out, "the node drains")
    wait_until(lambda: not any("sleep 600" in command for _, command in processes_of(lone.dir)), "nothing is left")


def test_step_daemon_that_answers(lone):
    """One that ends its step slowly, but says so, is left alone."""
    lone.conf.write_text(lone.conf.read_text().replace("KillWait=2", "KillWait=12"))
    lone.run("scontrol", "reconfigure")
    job = lone.sbatch(wrap="trap '' TERM; touch trapped; while :; do sleep 0.1; done")
    wait_until(lambda: (lone.work / "trapped").exists(), "the script hears no SIGTERM")
    begun = time.monotonic()
    lone.run("scancel", job)
    wait_until(lambda: not step_daemons(lone), "its daemon has ended", 30)
    assert time.monotonic() - begun > 11 and not lone.called.exists()
    assert "Reason=" not in lone.run("scontrol", "show", "node", "node1").out


@pytest.mark.skipif(os.getuid() != 0, reason="acts as another user")
def test_name_that_is_taken(make_cluster):
    """A user who holds the abstract socket's name kept slurmctld from starting."""
    c = make_cluster(start=False, nodes=1)
    taken = connect_as(65534, 65534, lambda: bound(f"\0penstock/ctld/{c.port}"))
    c.start()
    assert f"the local socket for port {c.port} is held by process" in c.logs("slurmctld")
    assert " of user 65534:" in c.logs("slurmctld")
    assert c.run("srun", "echo", "over TCP").out == "over TCP\n"
    taken.close()
    wait_until(lambda: "is free again, and ours" in c.logs("slurmctld"), "the name is taken back", 25)
    with Peer.local(c.port, uid=65534) as p:
        assert p.hello() == 65534


def bound(name):
    s = socket.socket(socket.AF_UNIX)
    s.bind(name.encode())
    s.listen(4096)  # commands that wait for the controller fill a short queue, which nobody empties
    return s


def test_where_programs_of_the_site_start(make_cluster, folder):
    """Root's programs start where the incumbent's do, in the log's folder: not where somebody started the daemon,
    and not where others can put files."""
    tools = folder / "tools"
    tools.mkdir()
    names = ["Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld", "MailProg", "HealthCheckProgram"]
    for name in names:
        (tools / name).write_text(f"#!/bin/sh\nreadlink /proc/$$/cwd > {tools}/{name}.at\n")
        (tools / name).chmod(0o755)
    lines = "\n".join(f"{name}={tools}/{name}" for name in names)
    c = make_cluster(nodes=1, conf=f"{lines}\nHealthCheckInterval=1")
    c.wait_end(c.sbatch("--mail-type=END", wrap="true"))
    for name in names:
        at = tools / f"{name}.at"
        wait_until(lambda: at.exists() and at.read_text(), f"{name} has run")
        assert at.read_text() == f"{c.dir}/log\n", name
    (c.dir / "log").chmod(0o777)
    c.slurmds["node1"].stop()
    c.start_slurmd("node1")
    (tools / "Prolog.at").unlink()
    c.wait_nodes()
    c.wait_end(c.sbatch(wrap="true"))
    assert (tools / "Prolog.at").read_text() == f"{c.dir}/spool/node1\n"
