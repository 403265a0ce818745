"""Attacks with a credential that the controller gave: used again, used after its job, used for processes without end.

Frames are made by hand: no command of ours sends a credential twice."""
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import let_in, processes_of, program, wait_until
from rawwire import ERROR, Peer, messages
from test_cgroup import places, running

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as another user")
UID = 65534


@pytest.fixture
def c(make_cluster):
    c = make_cluster(nodes=1)
    let_in(c.dir)
    c.work.chmod(0o777)
    return c


def job_of_user(c, *words):
    """An ordinary user's job that runs."""
    done = subprocess.run(["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", program("sbatch"), "-n1",
                           "-o/dev/null", *(words or ["--wrap", "sleep 600"])], cwd=c.work, env=c.env, text=True,
                          capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr
    job = int(done.stdout.split()[-1])
    c.wait_state(job, "RUNNING")
    return job


GIVEN = {}  # MAC of a credential -> the reply that it came with: its key is there


def credential(c, job):
    """What the controller gives srun for a step, and the step's number."""
    pb = messages()
    with Peer.local(c.port, uid=UID) as p:
        assert p.hello() == UID
        flags, reply = p.call("step-create", pb.StepCreateRequest(job_id=job, spec=pb.StepSpec(num_tasks=1, overlap=True)))
        assert not flags & ERROR, reply
    GIVEN[reply.credential.mac] = reply
    return reply.credential, reply.step.step_id


def to_slurmd(c, cred):
    """As the user whom the credential was given."""
    p = Peer.tcp(c.node_ports[0])
    p.login_step(GIVEN[cred.mac], c.node_names[0])
    return p


def launch(c, cred, *argv):
    """The launch as srun would send it: None, or why it was refused."""
    pb = messages()
    with to_slurmd(c, cred) as p:
        flags, reply = p.call("launch-step", launch_message(c, cred, *argv))
        return reply.text if flags & ERROR else None if p.closed() else "the step did not end"


def launch_message(c, cred, *argv):
    return messages().LaunchStep(credential=cred, node_name=c.node_names[0], node_index=0, argv=argv, work_dir=str(c.work),
                                 environment=b"PATH=/usr/bin:/bin\0", task_ids=[0], std_out=str(c.work / "out.%s.%t"),
                                 std_err="none", std_in="none")


def restart_by_kill(c):
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    c.start_slurmd("node1")

    def listens():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", c.node_ports[0])) == 0
    wait_until(listens, "slurmd is back")


def relays(c):
    return [pid for pid, command in processes_of(c.dir) if command.startswith("slurmstepd relay")]


def open_relay(c, cred):
    """A relay that waits for ever: the node that it is for does not answer.  Gives the connection and the refusal."""
    pb = messages()
    p = to_slurmd(c, cred)
    node = pb.RelayNode(number=0, name="far", addr="127.0.0.1", port=SILENT.getsockname()[1], node_index=0, task_ids=[0])
    flags, reply = p.call("relay", pb.RelayOpen(launch=launch_message(c, cred, "true"), nodes=[node], width=2,
                                                timeout_ms=600000, cluster="test"))
    return p, (reply.text if flags & ERROR else None)


SILENT = socket.socket()
SILENT.bind(("127.0.0.1", 0))
SILENT.listen(1)


def test_credential_of_a_cancelled_job(c):
    """Kept unused until the job is cancelled and slurmd has forgotten: the step ran on the idle node."""
    job = job_of_user(c)
    cred, _ = credential(c, job)
    c.run("scancel", job)
    c.wait_end(job)
    assert launch(c, cred, "true") == "Job credential revoked"
    restart_by_kill(c)
    assert launch(c, cred, "true") == "Job credential revoked"
    assert c.run("squeue", "-h").out == "" and not list(c.work.iterdir())


def test_credential_of_an_earlier_run(make_cluster):
    """The job lost its node and runs there again at once, with its old number: the credential of the lost run still
    lives, and starts nothing."""
    c = make_cluster(nodes=1, conf="SlurmctldParameters=enable_expedited_requeue\nSlurmdTimeout=300")
    let_in(c.dir)
    c.work.chmod(0o777)
    job = job_of_user(c, "--requeue=expedite", "--wrap", "exec sleep 600")
    old, _ = credential(c, job)
    sluid = c.run("squeue", "-h", "-j", job, "-o", "%s").out
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    for pid, command in processes_of(c.dir):
        if command.startswith("slurmstepd"):
            os.kill(pid, signal.SIGKILL)
    c.start_slurmd("node1", "-b")
    wait_until(lambda: (r := c.job(job))["JobState"] == "RUNNING" and r["Restarts"] == "1", "it runs again")
    assert c.run("squeue", "-h", "-j", job, "-o", "%s").out != sluid
    assert launch(c, old, "true") == "Job credential revoked"
    new, _ = credential(c, job)
    assert launch(c, new, "true") is None


def test_used_credential_after_a_kill(c):
    job = job_of_user(c)
    cred, step = credential(c, job)
    out = c.work / f"out.{step}.0"
    assert launch(c, cred, "echo", "first") is None
    wait_until(lambda: out.exists() and out.read_text() == "first\n", "the step has run")
    wait_until(lambda: not any("[%d.%d]" % (job, step) in command for _, command in processes_of(c.dir)), "... and ended")
    assert launch(c, cred, "echo", "second") == "Job credential was used before"
    restart_by_kill(c)
    assert launch(c, cred, "echo", "second") == "Job credential was used before"
    assert out.read_text() == "first\n"


def test_lost_spool(c):
    """Nothing is known of what was used and revoked: what was signed before is refused, new ones are taken."""
    job = job_of_user(c)
    cred, _ = credential(c, job)
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: time.time() - (c.dir / "log" / "slurmd-node1.log").stat().st_mtime > 1.5, "a second has passed")
    c.slurmds["node1"].kill()
    (c.dir / "spool" / "node1" / "credentials").unlink()
    restart_by_kill(c)
    assert "older than what this node knows" in launch(c, cred, "true")
    c.wait_nodes()
    assert c.run("srun", "echo", "new").out == "new\n"


def test_cred_expire(make_cluster):
    """AuthInfo=cred_expire was taken and had no effect."""
    c = make_cluster(nodes=1, conf="AuthInfo=cred_expire=1")
    for folder in (c.dir.parent, c.dir):
        folder.chmod(0o755)
    c.work.chmod(0o777)
    job = job_of_user(c)
    cred, _ = credential(c, job)
    body = messages().StepCredential.FromString(cred.credential)
    assert body.expires_us - time.time() * 1e6 <= 1e6
    wait_until(lambda: time.time() * 1e6 > body.expires_us, "its time is over")
    assert launch(c, cred, "true") == "Job credential expired"


def test_relays_of_one_credential(c):
    """60 processes that nobody counted, from one credential."""
    job = job_of_user(c)
    cred, _ = credential(c, job)
    peers = [open_relay(c, cred) for _ in range(8)]
    assert [why for _, why in peers] == [None] + ["Job credential was used before"] * 7
    assert len(relays(c)) == 1
    c.run("scancel", job)
    wait_until(lambda: not relays(c), "nothing outlives the job", 15)
    for p, _ in peers:
        p.close()


def test_relays_end_with_their_job(c):
    """They do while their connections stay open, also when slurmd was killed meanwhile."""
    job = job_of_user(c)
    peers = [open_relay(c, credential(c, job)[0]) for _ in range(3)]
    assert [why for _, why in peers] == [None] * 3 and len(relays(c)) == 3
    for pid in relays(c):
        assert f"Uid:\t{UID}\t{UID}" in Path(f"/proc/{pid}/status").read_text()
    restart_by_kill(c)
    assert len(relays(c)) == 3
    peers.append(open_relay(c, credential(c, job)[0]))
    assert len(relays(c)) == 4
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: not relays(c), "nothing outlives the job", 15)
    wait_until(lambda: not list((c.dir / "spool" / "node1").glob("proc.*")), "they are forgotten")
    for p, _ in peers:
        p.close()


@pytest.mark.parametrize("place", places())
def test_relays_are_in_the_job(place):
    """They were in slurmd's cgroup: what sbcast writes to a tmpfs counted as slurmd's memory."""
    with running(*place) as m:
        m.work.chmod(0o777)
        job = job_of_user(m)
        p, why = open_relay(m, credential(m, job)[0])
        assert why is None
        folder = m.folders(job)[0].name
        m.seen.add(folder)
        (pid,) = relays(m)
        text = Path(f"/proc/{pid}/cgroup").read_text()
        assert f"/{folder}/step_relay{pid}/" in text, text
        m.run("scancel", job)
        wait_until(lambda: not relays(m), "nothing outlives the job", 15)
        wait_until(lambda: not any(path.name == folder for path in place[1].rglob("job_*")), "its cgroups are gone", 10)
        p.close()


def test_transfer_ends_with_its_job(c):
    """sbcast's process, whose sender falls silent."""
    pb = messages()
    job = job_of_user(c)
    with Peer.local(c.port, uid=UID) as p:
        p.hello()
        flags, reply = p.call("access", pb.AccessRequest(id=str(job), purpose=pb.CRED_BCAST))
        assert not flags & ERROR, reply
    GIVEN[reply.credential.mac] = reply
    sender = to_slurmd(c, reply.credential)
    flags, answer = sender.call("bcast-open", pb.BcastOpen(credential=reply.credential, node_name="node1",
                                                           path=str(c.work / "file"), mode=0o600))
    assert not flags & ERROR, answer
    transfers = lambda: [pid for pid, command in processes_of(c.dir) if command.startswith("slurmstepd bcast")]
    assert len(transfers()) == 1
    c.run("scancel", job)
    wait_until(lambda: not transfers(), "nothing outlives the job", 15)
    sender.close()
