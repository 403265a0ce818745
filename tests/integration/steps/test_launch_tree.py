"""Steps on many nodes: srun reaches them through relays, in a tree of TreeWidth."""

import os
import re
import signal
import subprocess

import pytest

from conftest import is_free, processes_of, wait_until

NODES = 12
CLUSTER = {"nodes": NODES, "cpus": 2, "conf": "TreeWidth=2\nKillWait=2\nMessageTimeout=5"}  # a tree from 9 nodes on


def relays(c):
    return [pid for pid, cmd in processes_of(c.dir) if cmd.startswith("slurmstepd relay")]


def start(c, *argv, **kwargs):
    return c.popen("srun", f"-N{NODES}", *argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def end(p, timeout=60):
    out, err = p.communicate(timeout=timeout)
    return p.returncode, out, err


def running(c, p, text="on", n=NODES):
    """Read until every task has said so."""
    for _ in range(n):
        assert p.stdout.readline().strip() == text


def test_every_task_runs_once(c):
    done = c.run("srun", f"-N{NODES}", f"-n{2 * NODES}", "-l", "bash", "-c", "echo $SLURMD_NODENAME $SLURM_NODEID")
    lines = dict(line.strip().split(": ") for line in done.out.splitlines())
    assert lines == {str(i): f"node{i // 2 + 1} {i // 2}" for i in range(2 * NODES)}


def test_a_small_step_has_no_relay(c):
    wait_until(lambda: not relays(c), "those of the step before have ended")
    p = c.popen("srun", "-N8", "bash", "-c", "echo on; read x", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
    running(c, p, n=8)
    assert relays(c) == []
    assert p.communicate("x\n")[0] == ""


def test_few_connections(c):
    p = start(c, "bash", "-c", "echo on; read x", stdin=subprocess.PIPE)
    running(c, p)
    assert len(relays(c)) >= 2
    sockets = [os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")]
    assert len([s for s in sockets if s.startswith("socket:")]) <= 3  # the controller and two relays
    assert end_with(p, "x\n") == (0, "", "")
    wait_until(lambda: not relays(c), "the relays have ended")


def end_with(p, text):
    out, err = p.communicate(text, timeout=60)
    return p.returncode, out, err


def test_output_is_whole(c):
    done = c.run("srun", f"-N{NODES}", "bash", "-c", "seq 1 20000")
    assert sum(map(int, done.out.split())) == NODES * 20000 * 20001 // 2


def test_input_goes_to_all_and_to_one(c):
    text = "".join(f"{i}\n" for i in range(30000))
    done = c.run("srun", f"-N{NODES}", "bash", "-c", "md5sum", input=text)
    assert len(done.out.splitlines()) == NODES and len(set(done.out.splitlines())) == 1
    assert c.run("srun", f"-N{NODES}", "-l", "-i", "10", "cat", input="x\n").out == "10: x\n"


def test_exit_codes(c):
    done = c.run("srun", f"-N{NODES}", "bash", "-c", "exit $SLURM_PROCID", check=False)
    assert done.rc == NODES - 1
    assert f"srun: error: node{NODES}: task {NODES - 1}: Exited with exit code {NODES - 1}" in done.err


def test_signals_reach_every_task(c):
    p = start(c, "bash", "-c", "trap 'echo got; exit 0' USR1; echo on; while :; do sleep 0.05; done")
    running(c, p)
    p.send_signal(signal.SIGUSR1)
    rc, out, err = end(p)
    assert (rc, out) == (0, "got\n" * NODES), err


def test_srun_killed_leaves_nothing(c):
    p = start(c, "bash", "-c", "echo on; exec sleep 1000")
    running(c, p)
    p.kill()
    p.communicate()
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is gone", 60)
    wait_until(lambda: not relays(c), "the relays have ended")


@pytest.mark.parametrize("name", ["node1", "node7", f"node{NODES}"])
def test_a_node_that_cannot_be_reached(c, name):
    """Whether it would have run a relay or only its own tasks: the launch fails and says on which node."""
    job = c.sbatch(f"-N{NODES}", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.slurmds[name].kill()
    c.ended.append(c.slurmds[name])
    try:
        p = start(c, f"--jobid={job}", "--overlap", "bash", "-c", "exec sleep 1000")
        rc, _, err = end(p, 30)
        said = re.search(rf"^srun: error: Task launch for StepId=\d+\.0 failed on node {name}: (.*)$", err, re.M)
        assert said, err
        assert re.findall("^srun: error: Application launch failed: (.*)$", err, re.M) == [said.group(1)], err
        # A child of the slurmd that was killed may hold its port a moment longer.
        assert rc == 1001 % 256 or said.group(1) != "Communication connection failure" and rc, err
        assert len(re.findall("Task launch for", err)) == 1, err
        assert re.search(r"^srun: Terminating StepId=\d+\.0$", err, re.M), err
    finally:
        c.start_slurmd(name)


def test_a_step_that_no_node_takes_exits_with_the_number_of_the_error(c):
    job = c.sbatch("-N1", "-w", "node2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.slurmds["node2"].kill()
    c.ended.append(c.slurmds["node2"])
    try:
        port = c.node_ports[c.node_names.index("node2")]
        wait_until(lambda: is_free(port), "its port is closed")
        done = c.run("srun", f"--jobid={job}", "--overlap", "true", check=False)
        assert done.rc == 1001 % 256 and "node2: Communication connection failure\n" in done.err, done.err
    finally:
        c.start_slurmd("node2")


def test_a_relay_that_dies_ends_the_step(c):
    p = start(c, "bash", "-c", "echo on; exec sleep 1000")
    running(c, p)
    os.kill(relays(c)[0], signal.SIGKILL)
    rc, _, err = end(p)
    assert rc != 0
    assert re.search(r"^srun: error: Connection to node node\d+ lost: ", err, re.M), err


def test_treewidth(c):
    """TreeWidth says 2: the option says otherwise, for few nodes and for many."""
    script = ("bash", "-c", "echo on; read x; echo $SLURM_NODEID")
    for width, least, most in (("off", 0, 0), (str(NODES), 0, 0), ("3", 3, NODES)):
        wait_until(lambda: not relays(c), "those of the step before have ended")
        p = start(c, f"--treewidth={width}", *script, stdin=subprocess.PIPE)
        running(c, p)
        assert least <= len(relays(c)) <= most, width
        rc, out, _ = end_with(p, "x\n")
        assert rc == 0 and sorted(map(int, out.split())) == list(range(NODES))
    for option, env in (("--treewidth=2", {}), ("--threads=2", {}), ("-T2", {}), ("-N4", {"SLURM_THREADS": "2"})):
        few = c.popen("srun", "-N4", option, *script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                      env=env)
        running(c, few, n=4)
        assert relays(c), "four nodes are more than two"
        assert end_with(few, "x\n")[0] == 0
        wait_until(lambda: not relays(c), "those of the step before have ended")
    assert c.run("srun", "--treewidth=0", "true").rc == 0, "0 is as if nothing was said"
    for word in ("x", "65534", "-1"):
        assert "treewidth" in c.refused("srun", f"--treewidth={word}", "true")


def test_no_kill_has_a_connection_to_each_node(c):
    wait_until(lambda: not relays(c), "those of the step before have ended")
    p = start(c, "-k", "bash", "-c", "echo on; read x; echo $SLURM_NODEID", stdin=subprocess.PIPE)
    running(c, p)
    assert relays(c) == []
    step = [pid for pid, cmd in processes_of(c.dir) if re.match(r"slurmstepd: \[\d+\.0\]", cmd)
            and os.readlink(f"/proc/{pid}/cwd").startswith(f"{c.dir}/spool/node5/")]
    os.kill(step[0], signal.SIGKILL)
    assert re.match(r"srun: error: Connection to node node5 lost: ", p.stderr.readline())
    _, out, _ = end_with(p, "x\n")
    assert sorted(map(int, out.split())) == [i for i in range(NODES) if i != 4]
