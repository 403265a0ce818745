"""srun -Z, --no-allocate: tasks on named nodes, of which no job knows.  Root and SlurmUser alone."""
import os
import re
import signal
import subprocess

import pytest

from conftest import let_in, processes_of, program, wait_until
from rawwire import ERROR, Peer, messages

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the option is root's alone, and it acts as another user")
UID = 65534
FIRST = 0xffff0000


@pytest.fixture
def c(make_cluster):
    c = make_cluster(nodes=2)
    let_in(c.dir)
    return c


def as_user(c, *words):
    done = subprocess.run(["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *words], cwd="/", env=c.env,
                          text=True, capture_output=True, timeout=60)
    return done.returncode, done.stderr


def sleeps(c):
    return [pid for pid, command in processes_of(c.dir) if re.match(r"(/\S+/)?sleep 600", command)]


def test_tasks_without_a_job(c):
    """Also on nodes that jobs fill; nothing is left behind, on the nodes or in the queue."""
    blocker = c.run("sbatch", "--parsable", "-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600").out.strip()
    c.wait_state(blocker, "RUNNING")
    done = c.run("srun", "-Z", "-w", "node[1-2]", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_JOB_ID $(id -u)",
                 env={"SLURM_JOB_ID": blocker})
    rows = sorted(line.split() for line in done.out.splitlines())
    assert [row[:2] + row[3:] for row in rows] == [["0", "node1", "0"], ["1", "node2", "0"]]
    assert rows[0][2] == rows[1][2] and int(rows[0][2]) >= FIRST
    assert done.err == "srun: do not allocate resources\n"
    assert c.run("squeue", "-h", "-o", "%i").out.split() == [blocker]
    assert sorted(c.run("srun", "-Z", "-w", "node2", "-n3", "-l", "echo", "x").out.splitlines()) == ["0: x", "1: x", "2: x"]
    c.refused("srun", "-Q", "-Z", "-w", "node1", "sh", "-c", "exit 7", rc=7)
    c.run("scancel", blocker)
    wait_until(lambda: c.litter() == [], "nothing is left on the nodes")


def test_interrupted(c):
    srun = subprocess.Popen([program("srun"), "-Z", "-w", "node1", "sleep", "600"], cwd=c.work, env=c.env,
                            stderr=subprocess.PIPE, text=True)
    wait_until(lambda: sleeps(c), "the task runs")
    srun.send_signal(signal.SIGTERM)
    srun.communicate(timeout=60)
    wait_until(lambda: not sleeps(c), "the task has ended")


def test_srun_is_killed(c):
    """Nobody else could end the tasks: they go with their srun."""
    srun = subprocess.Popen([program("srun"), "-Z", "-w", "node1", "sleep", "600"], cwd=c.work, env=c.env)
    wait_until(lambda: sleeps(c), "the task runs")
    srun.kill()
    srun.wait()
    wait_until(lambda: not sleeps(c), "the task has ended")
    wait_until(lambda: c.litter() == [], "nothing is left on the node")


def test_step_outlives_the_daemons(c):
    """slurmctld and slurmd start again while the step runs: it is no stray, and is gone afterwards."""
    srun = subprocess.Popen([program("srun"), "-Q", "-Z", "-w", "node1", "sh", "-c", "sleep 600 & until test -e go; do "
                             "sleep 0.1; done; kill %1; echo done"], cwd=c.work, env=c.env, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: sleeps(c), "the task runs")
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    c.slurmds["node1"].kill()
    c.start_slurmd("node1")
    c.wait_nodes()
    assert sleeps(c)
    (c.work / "go").touch()
    assert srun.communicate(timeout=60)[0] == "done\n" and srun.returncode == 0
    wait_until(lambda: c.litter() == [], "nothing is left on the node")


def test_refusals(c):
    assert c.refused("srun", "-Z", "true") == "srun: error: must specify a node list with -Z, --no-allocate.\n"
    assert "Invalid node name specified" in c.refused("srun", "-Z", "-w", "nosuch", "true")
    assert "takes one command" in c.refused("srun", "-Z", "-w", "node1", "true", ":", "true")
    assert "cannot be used with --bcast" in c.refused("srun", "-Z", "-w", "node1", "--bcast", "true")
    assert "as the caller" in c.refused("srun", "-Z", "-w", "node1", "--uid=65534", "true")
    assert as_user(c, program("srun"), "-Z", "true") == (1, "srun: error: must specify a node list with -Z, --no-allocate.\n")
    code, err = as_user(c, program("srun"), "-Z", "-w", "node1", "true")
    assert code == 1 and "Use of --no-allocate is allowed only for root and SlurmUser(" in err


def test_attack_by_hand(c):
    """Without our srun: the controller signs nothing for users, whichever job or step they name, and what it signed
    for root is of no use to them."""
    pb = messages()
    spec = pb.StepSpec(num_tasks=1, nodelist="node1", name="x")
    with Peer.local(c.port, uid=UID) as p:
        assert p.hello() == UID
        for job in (None, 0, 1, FIRST, 0xffffffff):
            request = pb.StepCreateRequest(no_allocate=True, spec=spec)
            if job is not None:
                request.job_id = job
            flags, reply = p.call("step-create", request)
            assert flags & ERROR and reply.code == 2002, reply
        flags, reply = p.call("step-create", pb.StepCreateRequest(job_id=FIRST, spec=spec))
        assert flags & ERROR, reply
    with Peer.local(c.port, uid=0) as p:
        p.hello()
        for nodes in ("", "nosuch", "node[1-2", "node[1-65000]", "node1,nosuch"):
            flags, reply = p.call("step-create", pb.StepCreateRequest(no_allocate=True, spec=pb.StepSpec(nodelist=nodes)))
            assert flags & ERROR, nodes
        flags, reply = p.call("step-create", pb.StepCreateRequest(no_allocate=True))
        assert flags & ERROR, reply
        flags, reply = p.call("step-create", pb.StepCreateRequest(no_allocate=True, spec=spec))
        assert not flags & ERROR and reply.job.uid == 0 and reply.job.job_id >= FIRST
        assert [n.name for n in reply.nodes] == ["node1"]
