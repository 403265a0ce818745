"""The first registration of a node: it knows who signs credentials before the first job may start on it."""

import os

import pytest

import rawwire
from conftest import wait_until
from rawwire import ERROR, REPLY, Peer, frame, mac, messages
from test_attack_controller import Impostor, challenge
from test_node_keys import Pair, cluster_key, controller_key

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="nodes run as root")


@pytest.fixture
def cluster(make_cluster):
    """One node, whose slurmd the test starts."""
    cluster = make_cluster(start=False, nodes=1)
    cluster.start_ctld()
    return cluster


def state(cluster):
    return cluster.run("sinfo", "-h", "-N", "-o", "%T").out.strip().rstrip("*")


def test_who_does_not_know_the_key_is_not_in(cluster):
    """slurmctld teaches its key first: until the node says that it knows the key no job can start there."""
    pb = messages()
    machine = pb.NodeRecord(name="node1", cpus=4, boards=1, sockets=1, cores_per_socket=4, threads_per_core=1,
                            real_memory_mib=1 << 20, launch_keys=True)
    pair, ours = Pair(os.urandom(32)), controller_key(cluster)
    before = state(cluster)
    with Peer.tcp_key(cluster.port, cluster.dir / "etc" / "slurm.key", 0) as p:
        for known in (b"", Pair(os.urandom(32)).public):
            flags, answer = p.call("node-register", pb.NodeRegister(node=machine, node_key=pair.public, controller_key=known))
            assert not flags & ERROR, answer
            assert answer.learn_first and answer.controller_key == ours and not answer.HasField("node_id")
            flags, answer = p.call("node-report", pb.NodeReport(cpu_load_centi=1))
            assert flags & ERROR and "has not registered" in answer.text, answer
            assert state(cluster) == before != "idle"
        flags, answer = p.call("node-register", pb.NodeRegister(node=machine, node_key=pair.public, controller_key=ours))
        assert not flags & ERROR and not answer.learn_first and answer.HasField("node_id"), answer
        wait_until(lambda: state(cluster) == "idle", "the node is in")


class Teacher:
    """A controller that has the cluster's key and a pair of its own, and lets a node register twice."""

    def __init__(self, cluster):
        self.cluster, self.pair, self.told = cluster, Pair(os.urandom(32)), []
        self.opened = None

    def __call__(self, impostor, peer):
        pb = messages()
        nonce = os.urandom(32)
        peer.send_bytes(challenge(nonce))
        _, _, id, body = peer.recv()
        hello = pb.Hello.FromString(body)
        secret, data = mac(cluster_key(self.cluster)[1], b"PSTK hello 2\0"), rawwire.handshake(nonce, hello)
        proof = rawwire.derive(secret, "server proof", data)
        peer.send_bytes(frame("hello", pb.HelloReply(uid=0, cluster="test", proof=proof), flags=REPLY, id=id))
        peer.seal_out = [rawwire.derive(secret, "to client", data), 0]
        peer.seal_in = [rawwire.derive(secret, "to server", data), 0]
        while len(self.told) < 2:
            op, _, id, body = peer.recv()
            if op != rawwire.operations()["node-register"][0]:
                continue
            self.told.append(pb.NodeRegister.FromString(body))
            if len(self.told) == 1:
                peer.send("node-register", pb.NodeRegisterReply(controller_key=self.pair.public, learn_first=True), REPLY, id=id)
            else:
                self.opened = self.launch_key_opens()

    def launch_key_opens(self):
        """Does slurmd let in who has the launch key of its own key, now?"""
        pb = messages()
        name = os.urandom(32)  # a credential's MAC; whether there is such a credential slurmd asks later
        shared = self.pair.secret_with(self.told[1].node_key, b"PSTK node launch 1\0")
        try:
            with Peer.tcp(self.cluster.node_ports[0]) as p:
                p.greet(mac(shared, name), pb.AUTH_STEP, service="slurmd", name="node1", key_id=":node", token=name)
                return True
        except PermissionError as e:
            return str(e)


def test_a_node_takes_the_key_before_it_registers_again(cluster):
    """When slurmd tells that it knows the controllers it takes launch keys already, and keeps their key on its disk."""
    cluster.kill_ctld()
    teacher = Teacher(cluster)
    with Impostor(cluster.port, teacher):
        cluster.start_slurmd("node1")
        wait_until(lambda: teacher.opened is not None, "the node registers twice")
    first, second = teacher.told
    assert first.HasField("controller_key") and first.controller_key == b"" and len(first.node_key) == 32
    assert second.controller_key == teacher.pair.public and second.node_key == first.node_key
    assert teacher.opened is True
    assert teacher.pair.public.hex() in (cluster.dir / "spool/node1/slurmctld.pub").read_text()


@pytest.mark.parametrize("bound", [False, True])
def test_a_node_that_cannot_keep_the_key(cluster, bound):
    """It is in all the same, goes by the cluster's key, and its steps are launched; later it learns."""
    kept = cluster.dir / "spool/node1/slurmctld.pub"

    def said(words, times):
        wait_until(lambda: cluster.logs("slurmd-node1.log").count(words) == times, f"slurmd says: {words}")

    if bound:  # slurmctld knows the node's key, and that the node makes launch keys of that
        cluster.start_slurmd("node1")
        said("registered with the controller", 1)
        assert cluster.slurmds["node1"].stop() == 0
        kept.unlink()
    cluster.kill_ctld()
    cluster.start_slurmd("node1")
    said("started for node node1", 1 + bound)
    kept.mkdir()
    cluster.start_ctld()
    said("registered with the controller", 1 + bound)
    said("cannot keep the controller's key", 1)
    assert cluster.run("srun", "echo", "in").out == "in\n"
    kept.rmdir()
    cluster.restart_ctld()
    wait_until(kept.exists, "the node keeps the key")
    said("registered with the controller", 2 + bound)
    assert cluster.run("srun", "echo", "in").out == "in\n"
