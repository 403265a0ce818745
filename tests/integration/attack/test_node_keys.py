"""Root on one node: he has the cluster's key, the node's own key, the configuration.  What can he do to others?

Before nodes had keys of their own and the controllers one that nobody else has, the answer was: everything."""

import ctypes
import os
import shutil
import time

import pytest

import rawwire
from conftest import SLOW, wait_until
from rawwire import ERROR, ONEWAY, REPLY, Peer, frame, mac, messages
from test_attack_controller import Impostor, challenge, launch

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the attacker is root on his node")


@pytest.fixture
def cluster(make_cluster):
    return make_cluster(nodes=3, conf="PinNodeKeys=yes")


def cluster_key(cluster):
    """(name, bytes) of the key that every node has."""
    kid, text = (cluster.dir / "etc" / "slurm.key").read_text().split("\n")[0].split(":")
    return kid, bytes.fromhex(text)


def controller_key(cluster):
    return bytes.fromhex((cluster.dir / "state" / "slurmctld.pub").read_text().strip().split(":")[1])


class Pair:
    """An Ed25519 pair of a file `ed25519-seed:HEX`, by libsodium."""

    def __init__(self, seed):
        self.lib = ctypes.CDLL("libsodium.so.23")
        self.public, self.secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        assert self.lib.crypto_sign_ed25519_seed_keypair(self.public, self.secret, seed) == 0
        self.public = self.public.raw

    @classmethod
    def of_node(cls, cluster, node):
        return cls(bytes.fromhex((cluster.dir / f"spool/{node}/node-{node}.key").read_text().strip().split(":")[1]))

    def secret_with(self, public, purpose=b"PSTK node hello 1\0"):
        theirs, ours, shared = (ctypes.create_string_buffer(32) for _ in range(3))
        assert self.lib.crypto_sign_ed25519_pk_to_curve25519(theirs, public) == 0
        assert self.lib.crypto_sign_ed25519_sk_to_curve25519(ours, self.secret) == 0
        assert self.lib.crypto_scalarmult_curve25519(shared, ours, theirs) == 0
        return mac(shared.raw, purpose)

    def sign(self, data):
        signature = ctypes.create_string_buffer(64)
        message = b"PSTK credential 1\0" + data
        assert self.lib.crypto_sign_ed25519_detached(signature, None, message, ctypes.c_ulonglong(len(message)), self.secret) == 0
        return signature.raw


def as_node(cluster, pair, with_key=False):
    """A connection to slurmctld proved with the key of a node, and with the cluster's if that is wanted."""
    secret, kid = pair.secret_with(controller_key(cluster)), ""
    if with_key:
        kid, shared = cluster_key(cluster)
        secret = mac(secret, mac(shared, b"PSTK hello 2\0"))
    p = Peer.tcp(cluster.port)
    p.greet(secret, messages().AUTH_NODE, key_id=kid, token=pair.public)
    return p


def wait_learnt(cluster):
    for node in cluster.node_names:
        wait_until((cluster.dir / f"spool/{node}/slurmctld.pub").exists, f"{node} knows the controller's key")


def forged_launch(cluster, node, mark, signature=None):
    """slurmd's answer to a launch as root that only the cluster's key vouches for."""
    pb = messages()
    kid, key = cluster_key(cluster)
    alloc = pb.Alloc(nodes=node, node_ids=[1], groups=[pb.AllocGroup(nodes=1, cpus=1, tasks=1)])
    data = pb.StepCredential(job_id=77, step_id=0, run_id=77, uid=0, gid=0, user_name="root", gids=[0],
                             expires_us=int((time.time() + 120) * 1e6), cluster_name="test", home="/", shell="/bin/sh",
                             step=pb.StepRecord(job_id=77, step_id=0, num_tasks=1, alloc=alloc),
                             job=pb.JobRecord(job_id=77, db_id=77, uid=0, gid=0, user_name="root", alloc=alloc)).SerializeToString()
    code = mac(key, data)
    credential = pb.SignedCredential(credential=data, key_id=kid, mac=code)
    if signature:
        credential.signature = signature(data + code)
    reply = pb.StepReply(credential=credential, launch_key=mac(key, b"PSTK launch key 1\0", code))
    p = Peer.tcp(cluster.node_ports[cluster.node_names.index(node)])
    p.login_step(reply, node)
    p.seal_in = None  # the answer to the one request is plain
    flags, answer = p.call("launch-step", pb.LaunchStep(credential=credential, node_name=node, node_index=0, task_ids=[0],
                                                        argv=["/usr/bin/touch", str(mark)], work_dir="/", environment=b"PATH=/usr/bin\0"))
    if signature is None or flags & ERROR:
        p.close()
        return flags, answer
    wait_until(mark.exists, "the launch runs")
    p.close()
    return flags, answer


def test_a_credential_needs_the_controllers_signature(cluster):
    """The cluster's key signs a launch on another node.  Neither that nor the signature of a node starts anything."""
    wait_learnt(cluster)
    mark = cluster.dir / "pwned"
    for signature in (None, Pair.of_node(cluster, "node1").sign, lambda data: bytes(64)):
        flags, answer = forged_launch(cluster, "node2", mark, signature)
        assert flags & ERROR and "not signed with the controller's key" in answer.text, answer
    assert not mark.exists()
    assert cluster.run("srun", "-w", "node2", "hostname").out.strip(), "the controller's own credentials are taken"
    # The same bytes with the signature of the controllers are launched: the signature is what was missing.
    seed = (cluster.dir / "state" / "slurmctld.key").read_text().strip().split(":")[1]
    flags, answer = forged_launch(cluster, "node2", mark, Pair(bytes.fromhex(seed)).sign)
    assert not flags & ERROR and mark.exists(), answer


def test_the_clusters_key_is_no_other_node(cluster):
    """Who has the cluster's key cannot register as a node that has a key of its own."""
    pb = messages()
    wait_learnt(cluster)
    with Peer.tcp_key(cluster.port, cluster.dir / "etc" / "slurm.key", 0) as p:
        flags, answer = p.call("node-register", pb.NodeRegister(node=pb.NodeRecord(name="node2"), node_key=os.urandom(32)))
        assert flags & ERROR and "node node2 has a key of its own" in answer.text, answer
    mine = Pair.of_node(cluster, "node1")
    for with_key in (False, True):
        with as_node(cluster, mine, with_key) as p:
            flags, answer = p.call("node-register", pb.NodeRegister(node=pb.NodeRecord(name="node2")))
            assert flags & ERROR and "this is the key of node node1, not of node2" in answer.text, answer
    stranger = Pair(os.urandom(32))
    with as_node(cluster, stranger, True) as p:  # a new key with the cluster's
        flags, answer = p.call("node-register", pb.NodeRegister(node=pb.NodeRecord(name="node2")))
        assert flags & ERROR and "node node2 has another key" in answer.text, answer
    with pytest.raises(PermissionError):
        as_node(cluster, stranger)
    job = cluster.sbatch("-w", "node2", wrap="true")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_a_node_describes_no_other(make_cluster):
    """slurmd -Z of one node makes no second node and changes none: whose key it is is asked first."""
    cluster, pb = make_cluster(nodes=1, conf="MaxNodeCount=8\nPinNodeKeys=yes"), messages()
    wait_learnt(cluster)
    cluster.run("scontrol", "create", "NodeName=dyn1", "CPUs=4", "RealMemory=500", "State=CLOUD")
    shown = lambda: cluster.run("scontrol", "-o", "show", "node", "dyn1").out.split(" OS=")[0]
    before, mine = shown(), Pair.of_node(cluster, "node1")
    for name in ("dyn1", "dyn2"):
        for with_key in (False, True):
            with as_node(cluster, mine, with_key) as p:
                flags, answer = p.call("node-register", pb.NodeRegister(
                    node=pb.NodeRecord(name=name), node_line=f"NodeName={name} CPUs=1 NodeAddr=192.0.2.66"))
                assert flags & ERROR and f"this is the key of node node1, not of {name}" in answer.text, answer
    assert shown() == before and "CPUTot=4" in before
    assert "dyn2" not in cluster.run("scontrol", "show", "node").out


def test_a_node_that_tells_of_very_much(cluster):
    """Whatever a node says that it has, the controller answers others meanwhile."""
    wait_learnt(cluster)
    pb, job0 = messages(), 0xffff0000
    told = [pb.RunningStep(job_id=job0 + i, step_id=0, run_id=i) for i in range(60000)]
    assert cluster.slurmds["node1"].stop() == 0  # it would come back, and this connection would end
    with as_node(cluster, Pair.of_node(cluster, "node1")) as p:
        begun = time.monotonic()
        flags, answer = p.call("node-register", pb.NodeRegister(
            node=pb.NodeRecord(name="node1", cpus=1), running=told, jobs=told,
            ended=[pb.StepEnd(job_id=job0 + i, step_id=1, run_id=i) for i in range(60000)]))
        assert time.monotonic() - begun < 5 * SLOW
    cluster.run("squeue")


def test_a_nodes_key_gives_no_users_rights(cluster):
    """The key of a node is for registering and reporting: it reads no job, ends none, and is not root."""
    pb = messages()
    wait_learnt(cluster)
    job = cluster.sbatch("-w", "node2", wrap="sleep 60")
    cluster.wait_state(job, "RUNNING")
    with as_node(cluster, Pair.of_node(cluster, "node1")) as p:
        for op, body in (("query-jobs", pb.QueryRequest()), ("query-script", pb.JobIdRequest()), ("token", pb.TokenRequest(user="root")),
                         ("job-action", pb.JobActionRequest()), ("node-update", pb.NodeUpdateRequest(nodes="node2")),
                         ("reconfigure", pb.Empty()), ("conf-fetch", pb.ConfRequest()), ("access", pb.AccessRequest())):
            flags, answer = p.call(op, body)
            assert flags & ERROR and answer.code == 2002, (op, answer)
        # A report about a job of another node changes nothing.
        flags, answer = p.call("node-report", pb.NodeReport(clean=[pb.RunningStep(job_id=job, run_id=job)]))
        assert flags & ERROR
    assert cluster.state(job) == "RUNNING"
    cluster.run("scancel", str(job))
    cluster.wait_end(job)


def test_who_has_the_clusters_key_is_not_the_controller(cluster):
    """slurmctld restarts; who holds its port and has the cluster's key gives the nodes no orders."""
    wait_learnt(cluster)
    mark = cluster.dir / "pwned"
    kid, key = cluster_key(cluster)
    cluster.kill_ctld()

    def speak(impostor, peer):
        pb = messages()
        nonce = os.urandom(32)
        peer.send_bytes(challenge(nonce))
        _, _, id, body = peer.recv()
        hello = pb.Hello.FromString(body)
        impostor.seen.append(hello.method)
        secret = mac(key, b"PSTK hello 2\0")
        proof = rawwire.derive(secret, "server proof", rawwire.handshake(nonce, hello))
        peer.send_bytes(frame("hello", pb.HelloReply(uid=0, cluster="test", proof=proof), flags=REPLY, id=id))
        peer.send_bytes(frame("launch-batch", launch("node1", mark), flags=ONEWAY))
        peer.closed()

    with Impostor(cluster.port, speak) as impostor:
        wait_until(lambda: impostor.calls >= 6 or mark.exists(), "every node has tried again", 30)
        assert not mark.exists()
        assert set(impostor.seen) == {messages().AUTH_NODE}, "a node falls back to the cluster's key"
    cluster.start_ctld()
    cluster.wait_nodes()


def test_nodes_without_the_clusters_key(make_cluster):
    """The mode for sites that trust no node: the key stays with the controllers, batch jobs run all the same."""
    cluster = make_cluster(nodes=2, conf="PinNodeKeys=yes")
    wait_learnt(cluster)
    own = cluster.dir / "node-etc"
    own.mkdir()
    shutil.copy(cluster.conf, own / "slurm.conf")
    for node in cluster.node_names:
        assert cluster.slurmds[node].stop() == 0
    conf, cluster.conf = cluster.conf, own / "slurm.conf"
    for node in cluster.node_names:
        cluster.start_slurmd(node)
    cluster.conf = conf
    cluster.restart_ctld()
    cluster.wait_nodes()
    assert not (own / "slurm.key").exists()
    job = cluster.sbatch("-N2", wrap="hostname")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_a_node_that_was_installed_anew(make_cluster):
    """Its new key is refused with a sentence until an administrator forgets the old one."""
    cluster = make_cluster(nodes=1, conf="PinNodeKeys=yes")
    wait_learnt(cluster)
    assert cluster.slurmds["node1"].stop() == 0
    for path in (cluster.dir / "spool/node1").glob("*.key"):
        path.unlink()
    cluster.start_slurmd("node1")
    log = cluster.dir / "log/slurmd-node1.log"
    sentence = "node node1 has another key (scontrol update NodeName=node1 NodeKey= forgets it)"
    wait_until(lambda: sentence in log.read_text(), "slurmd says why it is refused")
    assert "64 hexadecimal digits" in cluster.refused("scontrol", "update", "NodeName=node1", "NodeKey=abc")
    cluster.run("scontrol", "update", "NodeName=node1", "NodeKey=")
    told = "node node1: the controller knows this node by its key"
    wait_until(lambda: (cluster.dir / "log/slurmctld.log").read_text().count(told) == 2, "the new key is bound")
    cluster.restart_ctld()  # the new one is bound, durably
    cluster.wait_nodes()
    with Peer.tcp_key(cluster.port, cluster.dir / "etc" / "slurm.key", 0) as p:
        flags, _ = p.call("node-register", messages().NodeRegister(node=messages().NodeRecord(name="node1")))
        assert flags & ERROR


def test_without_pinning_a_node_may_be_installed_anew(make_cluster):
    """Nodes whose disk is empty at each boot, and machines of a cloud, have another key each time."""
    cluster = make_cluster(nodes=2)
    wait_learnt(cluster)
    assert cluster.slurmds["node1"].stop() == 0
    shutil.rmtree(cluster.dir / "spool/node1")
    (cluster.dir / "spool/node1").mkdir()
    cluster.start_slurmd("node1")
    told = "node node1: the controller knows this node by its key"
    wait_until(lambda: (cluster.dir / "log/slurmctld.log").read_text().count(told) == 2, "the new key is bound")
    cluster.restart_ctld()
    cluster.wait_nodes()
    assert cluster.run("srun", "-w", "node1", "hostname").out.strip()
    with as_node(cluster, Pair(os.urandom(32)), True) as p:  # the log says what the key was
        flags, answer = p.call("node-register", messages().NodeRegister(node=messages().NodeRecord(name="node9")))
        assert flags & ERROR


def test_without_pinning_controllers_may_lose_their_state(make_cluster):
    """New controllers have another key: nodes that prove themselves with the cluster's key learn it."""
    cluster = make_cluster(nodes=2)
    wait_learnt(cluster)
    before = controller_key(cluster)
    cluster.kill_ctld()
    shutil.rmtree(cluster.dir / "state")
    (cluster.dir / "state").mkdir()
    cluster.start_ctld()
    cluster.wait_nodes()
    assert controller_key(cluster) != before
    for node in cluster.node_names:
        spool = cluster.dir / f"spool/{node}/slurmctld.pub"
        wait_until(lambda: spool.read_text() == (cluster.dir / "state/slurmctld.pub").read_text(), f"{node} knows the new key")
    assert cluster.run("srun", "-N2", "hostname").out.strip()
    flags, answer = forged_launch(cluster, "node2", cluster.dir / "pwned")
    assert flags & ERROR and "not signed with the controller's key" in answer.text, answer
