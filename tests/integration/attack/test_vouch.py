"""Nodes without the cluster's key: steps reach them, commands there have an identity, and root there is no more than its users."""

import ctypes
import os
import pwd
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from conftest import SLOW, Daemon, free_ports, program, wait_until
from rawwire import ERROR, Peer, mac, messages
from test_node_keys import Pair, controller_key, wait_learnt

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="daemons run as root, the commands as others")
OWNER, OTHER, OPERATOR = "games", "nobody", "news"


class Forward:
    """A port of another number that leads to the controller: no local socket has its name, as on another host."""

    def __init__(self, port, host="127.0.0.1", at=None):
        self.host, self.port, self.to, self.conns = host, at or free_ports(1)[0], port, []
        self.listener = socket.create_server((host, self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection((self.host, self.to))
            except OSError:
                near.close()
                continue
            self.conns += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    def copy(self, a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.conns:
            s.close()


class Site:
    """Two nodes that prove themselves with their own keys alone; conf is slurm.conf as their hosts have it."""

    def __init__(self, c):
        self.c = c
        c.start()
        c.work.chmod(0o777)
        wait_learnt(c)
        self.forwards = self.doors()
        self.folder = c.dir / "node-etc"
        self.folder.mkdir()
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(c.conf.read_text().replace(f"SlurmctldPort={c.port}", f"SlurmctldPort={self.forwards[0].port}"))
        shutil.copy(c.dir / "state/slurmctld.pub", self.folder / "slurmctld.pub")
        for node in c.node_names:
            assert c.slurmds[node].stop() == 0
        c.conf, whole = self.conf, c.conf
        for node in c.node_names:
            c.start_slurmd(node)
        c.conf = whole
        self.restart_controllers()
        c.wait_nodes()
        assert not (self.folder / "slurm.key").exists()

    def doors(self):
        return [Forward(self.c.port)]

    def restart_controllers(self):
        self.c.restart_ctld()

    def close(self):
        """The daemons end while the nodes still reach the controller, or a job's end would not reach its nodes."""
        problems = self.c.stop()
        for forward in self.forwards:
            forward.close()
        return problems

    def on(self, host, user, *words, env=None):
        """A command of that user on the host of that daemon."""
        env = self.c.env | {"USER": user, "SLURM_CONF": str(self.conf), **self.c.sack(host), **(env or {})}
        return subprocess.run(["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", *map(str, words)],
                              cwd=self.c.work, env=env, text=True, capture_output=True, timeout=40 * SLOW)

    def submit(self, user, node, wrap="sleep 300"):
        done = subprocess.run(["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", "sbatch", "--parsable", "-w", node,
                               "-n1", "-o", self.c.work / "out-%j", "--wrap", wrap], cwd=self.c.work,
                              env=self.c.env | {"USER": user, **self.c.sack(f"slurmd-{node}")}, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)


@pytest.fixture
def make_site(make_cluster):
    made = []

    def make(nodes=2, conf=""):
        c = make_cluster(start=False, nodes=nodes, conf="PinNodeKeys=yes\nTreeWidth=2\n" + conf)
        for path in (c.dir.parent, c.dir):
            path.chmod(0o755)
        made.append(Site(c))
        return made[-1]
    yield make
    problems = [p for s in made for p in s.close()]
    assert not problems, problems


@pytest.fixture
def site(make_site):
    return make_site()


# ---- it works ------------------------------------------------------------------------------------

def test_steps_reach_nodes_without_the_clusters_key(make_site):
    """srun, its relays, sattach, sstat and sbcast: with a key that the controller derives for each node."""
    site = make_site(nodes=7)  # more than TreeWidth: relays
    c = site.c
    assert sorted(c.run("srun", "-N7", "--ntasks-per-node=1", "sh", "-c", "echo $SLURMD_NODENAME").out.split()) == sorted(c.node_names)
    srun = c.popen("srun", "-N2", "sleep", "300")
    job = wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-o", "%i").out.strip(), "the step runs")
    wait_until(lambda: f"{job}.0" in c.run("sstat", "-n", "-P", "-j", f"{job}.0", "-o", "JobID,NTasks", check=False).out, "sstat answers")
    assert "sleep" not in c.run("sattach", "--layout", f"{job}.0").out
    (c.work / "blob").write_bytes(os.urandom(200000))
    c.run("salloc", "-N1", "sbcast", c.work / "blob", c.work / "copy")
    assert (c.work / "copy").read_bytes() == (c.work / "blob").read_bytes()
    c.run("scancel", job)
    srun.wait(20 * SLOW)
    log = "".join((c.dir / f"log/slurmd-{n}.log").read_text() for n in c.node_names)
    assert "refused" not in log


def test_commands_on_a_node_have_the_identity_of_its_users(site):
    """A user with a job on the node: squeue, sbatch, scancel and a step of his job work there, as himself."""
    c = site.c
    job = site.submit(OWNER, "node1", f"export SLURM_CONF={site.conf}; srun -n1 id -un && squeue -h -j $SLURM_JOB_ID -o %u:%i > {c.work}/seen; sleep 300")
    wait_until(lambda: (c.work / "seen").exists() and (c.work / "seen").read_text().strip(), "the job has asked")
    assert (c.work / "seen").read_text().strip() == f"{OWNER}:{job}"
    wait_until(lambda: (c.work / f"out-{job}").read_text().strip() == OWNER, "its own step ran")
    done = site.on("slurmd-node1", OWNER, "sbatch", "--parsable", "-w", "node2", "-o/dev/null", "--wrap", "true")
    assert done.returncode == 0, done.stderr
    assert site.on("slurmctld", OTHER, "squeue", "-h", "-t", "all", "-o", "%u", "-j", done.stdout.strip()).stdout.strip() == OWNER
    assert site.on("slurmd-node1", OWNER, "scancel", job).returncode == 0
    c.wait_end(job)
    wait_until(lambda: site.on("slurmd-node1", OWNER, "squeue", "-h").returncode != 0, "without a job the node vouches no more")


def test_a_host_with_the_clusters_key_vouches_for_all(site):
    """The controller's own socket, as sackd's on a login node: every user, and root as root."""
    for user in (OWNER, OTHER):
        done = site.on("slurmctld", user, "sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true")
        assert done.returncode == 0, done.stderr
        assert site.on("slurmctld", user, "squeue", "-h", "-o", "%u", "-j", done.stdout.strip()).stdout.strip() == user
    assert site.on("slurmctld", OTHER, "scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=x").returncode != 0
    assert site.on("slurmctld", "root", "scontrol", "update", "NodeName=node1", "Weight=3").returncode == 0


def test_sackd_vouches_on_a_login_host(make_site):
    """sackd with slurm.jwks: commands of every user of its host, with a key that only root there reads."""
    site = make_site(nodes=1, conf="SlurmctldParameters=enable_configless\n")
    c = site.c
    env = {**c.env, "RUNTIME_DIRECTORY": f"{c.dir}/run/login"}
    c.slurmds["login"] = Daemon("sackd", [program("sackd"), "-D", "--conf-server", f"127.0.0.1:{c.port}", "--key-file",
                                          str(c.dir / "etc/slurm.key")], c.dir / "log" / "sackd", env)
    wait_until(lambda: (c.dir / "run/login/sack.socket").exists(), "sackd vouches")
    for user in (OWNER, OTHER):
        done = site.on("login", user, "sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true")
        assert done.returncode == 0, done.stderr
        assert site.on("login", user, "squeue", "-h", "-o", "%u", "-j", done.stdout.strip()).stdout.strip() == user
    assert site.on("login", OTHER, "cat", c.dir / "etc/slurm.key").returncode != 0


# ---- an attacker ---------------------------------------------------------------------------------

def vouched(site, node, uid, by=None, service="slurmctld", gid=None):
    """A connection that root on a node makes with its key: any uid is claimed, and any group."""
    c, pb = site.c, messages()
    pair = by or Pair.of_node(c, node)
    secret = secret_of(pair, controller_key(c), b"PSTK node vouch 1\0")
    p = Peer.tcp(c.port)
    p.greet(secret, pb.AUTH_VOUCH, uid=uid, gid=uid if gid is None else gid, token=pair.public, service=service)
    return p


def secret_of(pair, public, label):
    theirs, ours, shared = (ctypes.create_string_buffer(32) for _ in range(3))
    assert pair.lib.crypto_sign_ed25519_pk_to_curve25519(theirs, public) == 0
    assert pair.lib.crypto_sign_ed25519_sk_to_curve25519(ours, pair.secret) == 0
    assert pair.lib.crypto_scalarmult_curve25519(shared, ours, theirs) == 0
    return mac(shared.raw, label)


def uid_of(user):
    return pwd.getpwnam(user).pw_uid


def test_root_on_a_node_is_its_users_and_nobody_else(site):
    """With the node's key he claims any uid: only users who have a job on this very node are believed."""
    pb = messages()
    job = site.submit(OWNER, "node1")
    site.c.wait_state(job, "RUNNING")
    for node, user in (("node1", "root"), ("node1", OTHER), ("node2", OWNER), ("node2", "root")):
        with pytest.raises(PermissionError):
            vouched(site, node, uid_of(user))
    with pytest.raises(PermissionError):
        vouched(site, "node1", uid_of(OWNER), by=Pair(os.urandom(32)))  # a key of no node
    with pytest.raises(PermissionError):
        vouched(site, "node1", 0xFFFFFFFF)
    with vouched(site, "node1", uid_of(OWNER)) as p:  # what he has anyway: the user's processes
        flags, _ = p.call("query-jobs", pb.QueryRequest())
        assert not flags & ERROR
        for op, body in (("token", pb.TokenRequest()), ("node-register", pb.NodeRegister(node=pb.NodeRecord(name="node1"))),
                         ("node-report", pb.NodeReport()), ("node-update", pb.NodeUpdateRequest(nodes="node1")), ("shutdown", pb.Empty())):
            flags, answer = p.call(op, body)
            assert flags & ERROR and answer.code in (2002, 2010), (op, answer)
        site.c.run("scancel", job)
        site.c.wait_end(job)
        wait_until(lambda: p.call("query-jobs", pb.QueryRequest())[0] & ERROR, "the open connection ends with the job")


def test_a_node_gives_its_users_no_group(site):
    """Root there claims group 0 for a user of the node: what the user submits has the group that he has, or one of his."""
    pb, pw = messages(), pwd.getpwnam(OWNER)
    job = site.submit(OWNER, "node1")
    site.c.wait_state(job, "RUNNING")
    for gid in (0, 42, 0xFFFFFFFF, pw.pw_gid):
        with vouched(site, "node1", pw.pw_uid, gid=gid) as p:
            flags, reply = p.call("job-submit", pb.SubmitRequest(
                job=pb.JobRecord(name="x", batch=True, work_dir="/tmp", num_tasks=1, command="x"), script=b"#!/bin/sh\n", hold=True))
            assert not flags & ERROR, reply
        assert site.c.job(reply.job_id)["GroupId"].endswith(f"({pw.pw_gid})"), gid
        site.c.run("scancel", str(reply.job_id))
    site.c.run("scancel", job)
    site.c.wait_end(job)


def test_no_node_vouches_for_whom_others_depend_on(make_site):
    """An operator and a coordinator with a job on the node: the node may not vouch, from the moment that they have the right."""
    site = make_site(conf="AccountingStorageEnforce=associations\n")
    c = site.c
    c.run("sacctmgr", "-i", "add", "account", "physics")
    for user in (OWNER, OPERATOR, OTHER):
        c.run("sacctmgr", "-i", "add", "user", user, "account=physics")
    jobs = [site.submit(user, "node1") for user in (OWNER, OPERATOR, OTHER)]
    for job in jobs:
        c.wait_state(job, "RUNNING")
    for user in (OWNER, OPERATOR, OTHER):
        vouched(site, "node1", uid_of(user)).close()
    c.run("sacctmgr", "-i", "modify", "user", OPERATOR, "set", "adminlevel=operator")
    c.run("sacctmgr", "-i", "add", "coordinator", "account=physics", f"names={OTHER}")

    def refused(user):
        try:
            vouched(site, "node1", uid_of(user)).close()
        except PermissionError:
            return True
        return False
    for user in (OPERATOR, OTHER):
        wait_until(lambda: refused(user), f"no word for {user} any more")
    vouched(site, "node1", uid_of(OWNER)).close()
    c.run("sacctmgr", "-i", "modify", "account", "physics", "set", "flags=usersarecoords")
    wait_until(lambda: refused(OWNER), "all users of the account coordinate it")
    c.run("sacctmgr", "-i", "modify", "account", "physics", "set", "flags=nousersarecoords")
    wait_until(lambda: not refused(OWNER), "they do not any more")
    c.run("scancel", *jobs)
    for job in jobs:
        c.wait_end(job)


def ask(path, hello, nonce=None, raw=None):
    """What the daemon at the socket says; None: it hangs up."""
    pb = messages()
    data = pb.VouchRequest(hello=hello, server_nonce=os.urandom(32) if nonce is None else nonce).SerializeToString() if raw is None else raw
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(str(path))
        s.sendall(data if raw is not None else struct.pack("<I", len(data)) + data)
        got = b""
        while chunk := s.recv(65536):
            got += chunk
    return pb.VouchReply.FromString(got[4:]) if got else None


def test_the_socket_gives_proofs_for_the_caller_alone(site):
    """Whatever uid a caller claims, the kernel's is proved; for other services, methods and lengths nothing is."""
    pb, c = messages(), site.c
    path = c.dir / "run/slurmd-node1/sack.socket"
    good = dict(version=1, method=pb.AUTH_VOUCH, service="slurmctld", nonce=os.urandom(32))
    assert ask(path, pb.Hello(uid=1234, gid=1234, **good)).uid == 0, "the kernel says that we are root"
    assert "alone" in ask(path, pb.Hello(**{**good, "service": "slurmdbd"})).refused
    assert "alone" in ask(path, pb.Hello(**{**good, "service": "slurmd"})).refused
    assert "no other method" in ask(path, pb.Hello(**{**good, "method": pb.AUTH_KEY})).refused
    assert "no other method" in ask(path, pb.Hello(**{**good, "method": pb.AUTH_NODE})).refused
    assert "incomplete" in ask(path, pb.Hello(**{**good, "nonce": b"x"})).refused
    assert "incomplete" in ask(path, pb.Hello(**good), nonce=b"short").refused
    assert "incomplete" in ask(path, None, raw=struct.pack("<I", 5) + b"\xff" * 5).refused
    assert ask(path, None, raw=struct.pack("<I", 1 << 30)) is None
    script = f"""import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r})
data = bytes.fromhex({pb.VouchRequest(hello=pb.Hello(uid=0, gid=0, **good), server_nonce=os.urandom(32)).SerializeToString().hex()!r})
s.sendall(struct.pack("<I", len(data)) + data); print(s.recv(65536)[4:].hex())"""
    done = site.on("slurmd-node1", OTHER, "/usr/bin/python3", "-c", script)
    assert pb.VouchReply.FromString(bytes.fromhex(done.stdout)).uid == uid_of(OTHER), done.stderr


def test_a_crowd_at_the_socket_stops_nobody_else(site):
    """A user who holds connections and says nothing has 16 of 64 places; another one is answered meanwhile."""
    pb, c = messages(), site.c
    path = c.dir / "run/slurmctld/sack.socket"
    held = subprocess.Popen(["setpriv", f"--reuid={OTHER}", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c", f"""
import socket, sys
s = [socket.socket(socket.AF_UNIX) for _ in range(100)]
for x in s: x.connect({str(path)!r})
print("held", flush=True); sys.stdin.read()"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert held.stdout.readline() == "held\n"
        begun = time.monotonic()
        reply = ask(path, pb.Hello(version=1, method=pb.AUTH_VOUCH, service="slurmctld", nonce=os.urandom(32)))
        assert reply.uid == 0 and len(reply.proofs) == 128
        assert time.monotonic() - begun < 4 * SLOW
    finally:
        held.stdin.close()
        held.wait()


def test_proofs_are_for_one_challenge_and_one_uid(site):
    """Proofs of the socket are of no use at another connection, nor under another uid."""
    pb, c = messages(), site.c
    path = c.dir / "run/slurmctld/sack.socket"

    def login(other_nonce=False, uid=None):
        with Peer.tcp(c.port) as p:
            _, _, _, body = p.recv()
            challenge = pb.Challenge.FromString(body)
            hello = pb.Hello(version=challenge.max_version, method=pb.AUTH_VOUCH, service="slurmctld", cluster="test", nonce=os.urandom(32))
            reply = ask(path, hello, nonce=os.urandom(32) if other_nonce else challenge.nonce)
            hello.uid, hello.gid, hello.key_id = reply.uid if uid is None else uid, reply.gid, reply.key_id
            hello.proof = reply.proofs[:32]
            p.send("hello", hello)
            _, flags, _, _ = p.recv()
            return bool(flags & ERROR)
    assert not login()
    assert login(other_nonce=True)
    assert login(uid=uid_of(OTHER))


def test_a_launch_key_is_for_one_node_and_one_credential(site):
    """What a command got for node1 opens nothing at node2, also for who relays it; the cluster's key opens neither."""
    pb, c = messages(), site.c
    job = c.sbatch("-N2", wrap="sleep 300")
    c.wait_state(job, "RUNNING")
    with Peer.local(c.port, uid=0) as p:
        p.hello()
        flags, reply = p.call("access", pb.AccessRequest(id=str(job), purpose=pb.CRED_BCAST))
        assert not flags & ERROR, reply
    keys = {n.name: n.launch_key for n in reply.nodes}
    assert len(set(keys.values())) == 2 and all(len(k) == 32 for k in keys.values())

    def greet(node, key, kid=":node"):
        p = Peer.tcp(c.node_ports[c.node_names.index(node)])
        p.greet(key, pb.AUTH_STEP, key_id=kid, token=reply.credential.mac, service="slurmd", name=node)
        p.close()
    for node in keys:
        greet(node, keys[node])
    for node, key, kid in (("node2", keys["node1"], ":node"), ("node1", os.urandom(32), ":node"),
                           ("node1", reply.launch_key, reply.credential.key_id), ("node1", reply.launch_key, ":node")):
        with pytest.raises(PermissionError):
            greet(node, key, kid)
    c.run("scancel", job)
