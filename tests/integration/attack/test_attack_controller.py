"""Whoever answers where slurmctld should, whoever passes on what was said to him, whoever changes what he carries.

None of them has the cluster's key.  Before both ends proved themselves the first had a script running as root on
every node, the second was root at slurmdbd, the third drained a node by one changed byte."""

import base64
import os
import pwd
import re
import socket
import threading

import pytest

import rawwire
from accounting import Dbd, storage_of
from conftest import wait_until
from rawwire import ERROR, ONEWAY, REPLY, Peer, frame, messages, operations

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the prize is to be root")


class Impostor:
    """Listens on a port of somebody else's and speaks with each caller in a thread of its own."""

    def __init__(self, port, speak):
        self.socket = socket.create_server(("127.0.0.1", port))
        self.speak, self.calls, self.seen = speak, 0, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                caller, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(Peer(caller),), daemon=True).start()

    def one(self, peer):
        try:
            assert peer.read_exactly(4) == b"PST\n", "the caller knocks"
            self.speak(self, peer)
        except (OSError, AssertionError):
            pass  # the caller has left
        finally:
            self.calls += 1
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)  # ends accept() in the other thread, which would keep the port
        self.socket.close()


def challenge(nonce):
    return frame("challenge", messages().Challenge(min_version=1, max_version=rawwire.VERSION, nonce=nonce), flags=ONEWAY)


def launch(node, mark):
    """A batch script for the node, as root."""
    pb = messages()
    group = pb.AllocGroup(nodes=1, cpus=1, tasks=1)
    job = pb.JobRecord(job_id=666, db_id=666, uid=0, gid=0, user_name="root", name="x", work_dir="/", std_out="/dev/null",
                       alloc=pb.Alloc(nodes=node, node_ids=[0], groups=[group]))
    return pb.LaunchBatch(job=pb.JobOnNode(job=job, run_id=666, node_name=node, node_index=0, cpus=1, cluster_name="test"),
                          script=f"#!/bin/sh\nid -u > {mark}\n".encode(), environment=b"PATH=/usr/bin:/bin\0")


@pytest.mark.parametrize("proof", ["none", "made up", "its own"])
def test_who_holds_the_port_is_not_the_controller(cluster, proof):
    """slurmctld restarts; a user takes its port, welcomes slurmd and has it launch a script as root."""
    mark = cluster.dir / "pwned"
    cluster.kill_ctld()

    def speak(impostor, peer):
        pb = messages()
        peer.send_bytes(challenge(os.urandom(32)))
        _, _, id, body = peer.recv()
        hello = pb.Hello.FromString(body)
        reply = pb.HelloReply(uid=0, cluster="test")
        if proof != "none" and "proof" in pb.HelloReply.DESCRIPTOR.fields_by_name:
            reply.proof = os.urandom(32) if proof == "made up" else hello.proof
        peer.send_bytes(frame("hello", reply, flags=REPLY, id=id))
        op, _, id, _ = peer.recv()  # its registration
        impostor.seen.append(op)
        peer.send_bytes(frame("node-register", pb.NodeRegisterReply(node_id=0, heartbeat_s=30), flags=REPLY, id=id))
        peer.send_bytes(frame("launch-batch", launch("node1", mark), flags=ONEWAY))
        wait_until(mark.exists, "the script runs", 3)

    with Impostor(cluster.port, speak) as impostor:
        wait_until(lambda: impostor.calls >= 6 or mark.exists(), "every node has tried again", 30)
        assert not mark.exists(), "a stranger's script ran as uid " + mark.read_text()
        assert not impostor.seen, "a node spoke to who did not prove himself"
    cluster.start_ctld()
    cluster.wait_nodes()


def test_a_command_refuses_who_does_not_prove_himself(make_cluster):
    """A command that has no local socket to go by says nothing to the holder of the port: no script, no environment."""
    cluster = make_cluster(nodes=1)
    cluster.kill_ctld()

    def speak(impostor, peer):
        pb = messages()
        peer.send_bytes(challenge(os.urandom(32)))
        _, _, id, _ = peer.recv()
        peer.send_bytes(frame("hello", pb.HelloReply(uid=0, cluster="test"), flags=REPLY, id=id))
        impostor.seen.append(peer.recv()[0])

    with Impostor(cluster.port, speak) as impostor:
        done = cluster.run("sbatch", "--wrap", "true", env={"SECRET": "x"}, check=False, timeout=60)
        assert done.rc == 1 and "does not prove itself" in done.err, done.err
        assert not impostor.seen
    cluster.start_ctld()
    cluster.wait_nodes()


def test_a_hello_is_not_passed_on(cluster, folder):
    """Who holds slurmctld's port passes slurmd's Hello on to slurmdbd: the nonce, the answer, everything."""
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), cluster.dir / "etc" / "slurm.key").start()
    answers = []
    cluster.kill_ctld()

    def speak(impostor, peer):
        with Peer.tcp(dbd.port) as to:
            _, _, _, body = to.recv()
            peer.send_bytes(frame("challenge", body, flags=ONEWAY))
            _, _, id, body = peer.recv()
            to.send_bytes(frame("hello", body, id=id))
            op, flags, _, body = to.recv()
            answers.append(flags)
            assert op == operations()["hello"][0]

    try:
        with Impostor(cluster.port, speak) as impostor:
            wait_until(lambda: impostor.calls >= 3 and len(answers) >= 3, "Hellos were passed on", 30)
        assert set(answers) == {REPLY | ERROR}, "slurmdbd let somebody in on another's Hello"
    finally:
        dbd.stop()
    cluster.start_ctld()
    cluster.wait_nodes()


def key_of(cluster):
    return cluster.dir / "etc" / "slurm.key"


def test_login_by_hand(c):
    """The handshake as the header describes it, made a second time: with the key, and not without."""
    pb = messages()
    with Peer.tcp(c.port) as p:
        assert p.login_key(key_of(c), uid=12345) == 12345
        flags, _ = p.call("ping", pb.PingRequest())
        assert flags == REPLY
        flags, error = p.call("shutdown", pb.ShutdownRequest())
        assert flags == REPLY | ERROR and error.code
    for wrong in ({"service": "slurmdbd"}, {"cluster": "other"}):
        with Peer.tcp(c.port) as p, pytest.raises(PermissionError):
            p.login_key(key_of(c), **wrong)
    stranger = c.work / "key"
    stranger.write_text(key_of(c).read_text().split(":")[0] + ":" + "ab" * 32 + "\n")
    with Peer.tcp(c.port) as p, pytest.raises(PermissionError):
        p.login_key(stranger)


def test_root_acts_for_a_user_over_tcp_too(c):
    """Whoever asks for another user's rights gets these or none: with the key, root remained root and nobody said so."""
    games = pwd.getpwnam("games").pw_uid
    with Peer.tcp(c.port) as p:
        assert p.login_key(key_of(c), uid=0, act_as="games") == games
        flags, error = p.call("shutdown", messages().ShutdownRequest())
        assert flags == REPLY | ERROR and error.code
    for wrong in ({"uid": games, "act_as": "root"}, {"uid": 0, "act_as": "no-such-user"}):
        with Peer.tcp(c.port) as p, pytest.raises(PermissionError):
            p.login_key(key_of(c), **wrong)


@pytest.mark.parametrize("change", ["a byte", "repeated", "left out", "made up"])
def test_frames_cannot_be_changed_on_the_way(c, change):
    """root's connection over TCP goes through somebody's hands after the login."""
    pb = messages()
    drain = lambda node: pb.NodeUpdateRequest(nodes=node, set=pb.NodeRecord(comment="changed"))
    with Peer.tcp(c.port) as p:
        p.login_key(key_of(c))
        first, second = (p.sealed(frame("node-update", drain(n), id=i)) for i, n in enumerate(["node1", "node2"], 1))
        if change == "a byte":
            first = first.replace(b"node1", b"node3")
        p.send_bytes({"a byte": first, "repeated": first + first, "left out": second,
                      "made up": frame("node-update", drain("node3")) + os.urandom(16)}[change])
        assert p.closed(), "the connection stays open"
    shown = c.run("scontrol", "-o", "show", "node").out
    assert "changed" not in re.sub(r"NodeName=node1 .*", "", shown)
    assert ("changed" in shown) == (change == "repeated")  # the first of the two was true
    c.run("scontrol", "update", f"nodename={','.join(c.node_names)}", "comment=")


@pytest.fixture
def granted(c):
    """A step that a user was granted, as the controller tells him: the credential and its key."""
    pb = messages()
    job = c.sbatch("-n1", wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    with Peer.local(c.port) as p:
        p.hello()
        flags, reply = p.call("step-create", pb.StepCreateRequest(job_id=job, spec=pb.StepSpec(num_tasks=1, overlap=True)))
        assert flags == REPLY, reply
        node = reply.nodes[0].name
        yield reply, node, c.node_ports[c.node_names.index(node)]
    c.run("scancel", str(job))


def launch_step(reply, node, mark):
    pb = messages()
    return pb.LaunchStep(credential=reply.credential, node_name=node, node_index=0, argv=["/usr/bin/touch", str(mark)],
                         environment=b"PATH=/usr/bin:/bin\0", work_dir="/", task_ids=[0])


def test_a_credential_alone_starts_nothing(c, granted):
    """Seen on its way, say by who held a node's port: without the key that came with it, it is worth nothing."""
    reply, node, port = granted
    mark = c.work / "stolen"
    body = launch_step(reply, node, mark)
    with Peer.tcp(port) as p:  # as anybody could before
        p.recv()
        p.send("launch-step", body)
        assert p.closed()
    with Peer.tcp(port) as p, pytest.raises(PermissionError):
        p.login_step(messages().StepReply(credential=reply.credential, launch_key=os.urandom(32)), node)
    other = next(n for n in c.node_names if n != node)
    with Peer.tcp(port) as p, pytest.raises(PermissionError):
        p.login_step(reply, other)  # a proof made for another node
    with Peer.tcp(port) as p, pytest.raises(PermissionError):
        p.login_step(reply, node, act_as="games")  # a step acts for nobody
    assert not mark.exists()
    with Peer.tcp(port) as p:  # and the same request of the one whose step it is
        p.login_step(reply, node)
        p.send("launch-step", body)
        wait_until(mark.exists, "the step runs")


def test_the_request_cannot_be_exchanged(c, granted):
    """Who carries the connection puts another program behind the proof."""
    reply, node, port = granted
    mark = c.work / "exchanged"
    with Peer.tcp(port) as p:
        p.login_step(reply, node)
        p.send_bytes(frame("launch-step", launch_step(reply, node, mark)) + os.urandom(16))
        assert p.closed() and not mark.exists()


def test_another_credential_than_proved(c, granted):
    reply, node, port = granted
    mark = c.work / "other"
    forged = messages().StepReply.FromString(reply.SerializeToString())
    forged.credential.mac = os.urandom(32)
    with Peer.tcp(port) as p:
        p.login_step(reply, node)
        p.send("launch-step", launch_step(forged, node, mark))
        p.closed()
    assert not mark.exists()


# ---- tokens ----------------------------------------------------------------------------------------

def token_cluster(make_cluster, conf):
    c = make_cluster(nodes=1, conf=conf)
    return c, c.run("scontrol", "token", "lifespan=600").out.strip().partition("=")[2]


def test_a_token_is_not_sent(make_cluster):
    """Whoever listens where the controller should be learns nothing to be the user with."""
    c, token = token_cluster(make_cluster, "AuthAltTypes=auth/jwt")
    with Peer.tcp(c.port) as p:
        assert p.login_token(token) == os.getuid()
        assert p.call("ping", messages().PingRequest())[0] == REPLY
    assert c.run("squeue", "-h", env={"SLURM_JWT": token}).rc == 0
    heard = []

    def speak(impostor, peer):
        peer.send_bytes(challenge(os.urandom(32)))
        heard.append(peer.recv()[3])

    c.kill_ctld()
    with Impostor(c.port, speak) as impostor:
        c.run("squeue", env={"SLURM_JWT": token}, check=False, timeout=60)
        wait_until(lambda: impostor.calls, "the command has tried")
    c.start_ctld()
    signature = token.rpartition(".")[2].encode()
    assert any(token.partition(".")[0].encode() in body for body in heard)
    assert not any(signature in body for body in heard), "the signature was sent"


def test_tokens_only_where_they_are_configured(make_cluster):
    c, token = token_cluster(make_cluster, "")
    done = c.run("squeue", env={"SLURM_JWT": token}, check=False, timeout=60)
    assert done.rc == 1 and "nvalid authentication credential" in done.err
    c.extra_conf = "AuthAltTypes=auth/jwt"
    c.write_conf()
    c.run("scontrol", "reconfigure")
    assert c.run("squeue", env={"SLURM_JWT": token}).rc == 0


def test_keys_are_read_again_on_reconfigure(make_cluster):
    """A new key first, the old one behind it; then the new one alone: tokens of the old end, nodes stay."""
    c, old = token_cluster(make_cluster, "AuthAltTypes=auth/jwt")
    key = key_of(c)
    first = key.read_text()
    new = "k2:" + os.urandom(32).hex() + "\n"
    key.write_text(new + first)
    c.run("scontrol", "reconfigure")
    fresh = c.run("scontrol", "token").out.strip().partition("=")[2]
    assert base64.urlsafe_b64decode(fresh.split(".")[0] + "==").find(b'"k2"') > 0
    for token in (old, fresh):
        assert c.run("squeue", env={"SLURM_JWT": token}).rc == 0
    wait_until(lambda: c.run("srun", "true", check=False).rc == 0, "the node has the new key")
    key.write_text(new)
    c.run("scontrol", "reconfigure")
    assert c.run("squeue", env={"SLURM_JWT": fresh}).rc == 0
    assert c.run("squeue", env={"SLURM_JWT": old}, check=False, timeout=60).rc == 1
    key.write_text("rubbish\n")
    assert "slurm.key" in c.run("scontrol", "reconfigure", check=False).err
    assert c.run("squeue", env={"SLURM_JWT": fresh}).rc == 0
    key.write_text(new)
