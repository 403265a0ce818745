"""Who may ask what: every operation of wire/ops.h, by everybody, over every transport, of all three daemons.

access_matrix.txt holds the answers that are expected, a row an operation (and rows for single requests that rights
hang on); REQUESTS holds a well-formed request for each.  An operation without both fails.  Frames are made by hand
(rawwire.py), so that no command of ours stands between the asker and the daemon."""

import base64
import hashlib
import hmac
import json
import os
import pwd
import re
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import Cluster, wait_until
from rawwire import ERROR, MORE, ONEWAY, REPLY, Peer, access_rows, error_names, messages, operations
from test_private import as_user

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as other users")
TABLE = Path(__file__).with_name("access_matrix.txt")
# Who asks: nobody yet (before login), the owner of the jobs, another user of his account, who coordinates it, an
# operator and an administrator of accounting, root.  Nodes are root with the key over TCP.
USERS = {"owner": "games", "other": "nobody", "coord": "mail", "operator": "news", "admin": "backup", "root": "root"}
UIDS = {role: pwd.getpwnam(user).pw_uid for role, user in USERS.items()}
SERVERS = ("slurmctld", "slurmdbd", "slurmd")


def table(server):
    """Row -> {column: word} of a daemon's part of the matrix."""
    part = re.split(r"^== (\w+)\n", TABLE.read_text(), flags=re.M)
    text = dict(zip(part[1::2], part[2::2]))[server]
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {line[0]: dict(zip(lines[0][1:], line[1:])) for line in lines[1:]}


def requests(s):
    """Row of the matrix -> (message, what root does before it).  Of operations that are not here the request is empty."""
    pb, job, waits, owner = messages(), s.job, s.waits, UIDS["owner"]
    nothing = pb.Empty()
    plain = pb.JobRecord(name="x", num_tasks=1, work_dir="/tmp")
    hold = lambda: s.root_call("job-action", pb.JobActionRequest(verb=pb.VERB_HOLD, ids=[str(waits)]))
    update = lambda **fields: pb.JobUpdateRequest(ids=[str(waits)], set=pb.JobRecord(**fields))
    return {
        "hello": (pb.Hello(version=1, method=pb.AUTH_KEY), None),  # proves nothing
        "job-submit": (pb.SubmitRequest(job=plain, script=b"#!/bin/sh\n", test_only=True), None),
        "job-submit/as-root": (pb.SubmitRequest(job=plain, script=b"#!/bin/sh\n", hold=True, uid=0, gid=0), None),
        "job-wait": (pb.JobWaitRequest(job_id=job, until_started=True), None),
        "job-action": (pb.JobActionRequest(verb=pb.VERB_NOTIFY, ids=[str(job)], message="told"), None),
        "job-action/signal": (pb.JobActionRequest(verb=pb.VERB_SIGNAL, ids=[f"{job}.batch"], signal=18), None),
        "job-action/suspend": (pb.JobActionRequest(verb=pb.VERB_SUSPEND, ids=[str(waits)]), None),
        "job-action/release": (pb.JobActionRequest(verb=pb.VERB_RELEASE, ids=[str(waits)]), hold),
        "job-action/top": (pb.JobActionRequest(verb=pb.VERB_TOP, ids=[str(waits)]), hold),
        "job-update": (update(comment="said"), None),
        "job-update/clear-hold": (pb.JobUpdateRequest(ids=[str(waits)], clear=[37]), hold),
        "job-update/clear-account": (pb.JobUpdateRequest(ids=[str(s.spare)], clear=[10]), lambda: s.root_call(
            "job-update", pb.JobUpdateRequest(ids=[str(s.spare)], set=pb.JobRecord(account="physics")))),
        "job-update/clear-memory": (pb.JobUpdateRequest(ids=[str(s.spare)], clear=[75]), lambda: s.root_call(
            "job-update", pb.JobUpdateRequest(ids=[str(s.spare)], set=pb.JobRecord(mem_per_node_mib=100)))),
        "job-update/nice": (update(nice=-5), None),
        "job-update/std-out": (update(std_out="/tmp/elsewhere"), None),
        "job-update/admin-comment": (update(admin_comment="x"), None),
        "job-update/of-root": (pb.JobUpdateRequest(ids=[str(s.roots)], set=pb.JobRecord(comment="x")), None),
        "step-create": (pb.StepCreateRequest(job_id=waits), None),
        "step-create/no-allocate": (pb.StepCreateRequest(no_allocate=True, spec=pb.StepSpec(nodelist="node1")), None),
        "het-step-create": (pb.HetStepRequest(job_id=job), None),
        "steps-wait": (pb.StepsWaitRequest(id=str(job)), None),
        "access": (pb.AccessRequest(id=f"{job}.batch", purpose=pb.CRED_ATTACH), None),
        "access/stat": (pb.AccessRequest(id=f"{job}.batch", purpose=pb.CRED_STAT), None),
        "access/output": (pb.AccessRequest(id=str(job), purpose=pb.CRED_OUTPUT), None),
        "access/bcast": (pb.AccessRequest(id=str(job), purpose=pb.CRED_BCAST), None),
        "access/nodes": (pb.AccessRequest(nodes="node1", purpose=pb.CRED_BCAST), None),
        "crontab-get": (pb.CrontabGetRequest(uid=owner), None),
        "crontab-set": (pb.CrontabSetRequest(uid=owner), None),
        "crontab-set/of-root": (pb.CrontabSetRequest(uid=0), None),
        "trigger-set": (pb.TriggerRecord(program="relative", events=1), None),
        "trigger-clear": (pb.TriggerRecord(trigger_id=999), None),
        "query-script": (pb.JobIdRequest(job_id=job), None),
        "query-explain": (pb.ExplainRequest(job_id=job), None),
        "query-diag": (pb.DiagRequest(), None),
        "query-diag/reset": (pb.DiagRequest(reset=True), None),
        "query-acct": (pb.AcctFilter(job_ids=[job]), None),
        "usage": (pb.UsageRequest(kind=pb.USAGE_CLUSTER, start_s=0, end_s=3600), None),
        "archive": (pb.ArchiveRequest(directory="relative"), None),
        "acct-admin": (pb.AcctAdminRequest(dry_run=True, ops=[pb.AcctOp(verb=pb.ACCT_ADD, entity=pb.ACCT_ACCOUNT,
                                                                         where=pb.AcctCond(names=["new"]))]), None),
        "acct-list": (pb.AcctListRequest(entity=pb.ACCT_ACCOUNT), None),
        "acct-blob": (pb.AcctBlobRequest(cluster="test", job_id=job), None),
        "acct-changes": (pb.AcctChanges(), None),
        "acct-follow": (pb.AcctFollowRequest(), None),
        "dbd-register": (pb.DbdRegister(), None),
        "dbd-feed": (pb.DbdFeed(cluster="unheard"), None),
        "usage-reset": (pb.UsageResetRequest(assoc_ids=[999999]), None),
        "node-update": (pb.NodeUpdateRequest(nodes="nosuch"), None),
        "node-reboot": (pb.NodeRebootRequest(nodes="nosuch"), None),
        "node-create": (pb.NodeCreateRequest(line="NodeName=new State=DOWN"), None),
        "node-delete": (pb.NodeDeleteRequest(nodes="nosuch"), None),
        "partition-update": (pb.PartUpdateRequest(name="nosuch"), None),
        "reservation-update": (pb.ResvRequest(create=True), None),
        "debug": (pb.DebugRequest(level="loud"), None),
        "shutdown": (b"\x0a\x7f", None),  # malformed: whoever is let in is told that, nobody else's is looked at
        "token": (pb.TokenRequest(), None),
        "token/of-root": (pb.TokenRequest(user="root"), None),
        "node-register": (pb.NodeRegister(node=pb.NodeRecord(name="nosuch")), None),
        "node-report": (pb.NodeReport(), None),
    }, nothing


def token_of(key, user):
    part = lambda data: base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=")
    now = int(time.time())
    text = part({"alg": "HS256", "typ": "JWT"}) + b"." + part({"iat": now, "exp": now + 600, "sun": user})
    return (text + b"." + base64.urlsafe_b64encode(hmac.new(key, text, hashlib.sha256).digest()).rstrip(b"=")).decode()


class Site:
    """A cluster with all who ask, and slurmdbd beside it with a store of its own."""

    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self.dir.chmod(0o755)
        self.c = Cluster(self.dir, nodes=1, conf="ScronParameters=enable\nAuthAltTypes=auth/jwt")
        self.key_file = self.dir / "etc" / "slurm.key"
        self.key = os.urandom(32)
        self.key_file.write_text(f"k1:{self.key.hex()}\n")
        self.key_file.chmod(0o600)
        self.dbd = Dbd(self.dir / "dbd", storage_of("sqlite", self.dir), self.key_file, conf="AuthAltTypes=auth/jwt")
        self.peers = {}

    def start(self):
        c = self.c.start()
        self.dbd.start()
        c.work.chmod(0o777)
        mgr = lambda *words: c.run("sacctmgr", "-i", *words)
        mgr("add", "account", "physics")
        mgr("add", "account", "chem")
        mgr("add", "user", ",".join(USERS[role] for role in ("owner", "other", "coord")), "account=physics")
        mgr("add", "coordinator", "account=physics", f"names={USERS['coord']}")
        mgr("add", "user", USERS["operator"], "account=chem", "adminlevel=operator")
        mgr("add", "user", USERS["admin"], "account=chem", "adminlevel=admin")
        submit = lambda *words: int(as_user(c, USERS["owner"], "sbatch", "--parsable", "-o/dev/null", "-Aphysics", *words).stdout)
        self.job = submit("-n1", "--wrap", "trap : CONT; while sleep 1000; do :; done")
        c.wait_state(self.job, "RUNNING")
        self.waits, self.spare = (submit("-H", "-n1", f"-dafterany:{self.job}", "--wrap", "true") for _ in range(2))
        self.roots = c.sbatch("-H", wrap="true")
        return self

    def stop(self):
        for peer in self.peers.values():
            peer.close()
        self.dbd.stop()
        problems = self.c.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
        assert not problems, problems

    def port(self, server):
        return {"slurmctld": self.c.port, "slurmdbd": self.dbd.port, "slurmd": self.c.node_ports[0]}[server]

    def connect(self, server, role, way):
        port = self.port(server)
        if role == "before":
            p = Peer.tcp(port) if way != "local" else Peer.local(port, uid=UIDS["other"])
            p.recv()  # the challenge
            return p
        if way == "local":
            p = Peer.local(port, uid=UIDS[role])
            p.hello("test" if server == "slurmctld" else "")
            return p
        cluster = "" if server == "slurmdbd" else "test"
        there = {"cluster": cluster, "service": server, "name": "node1" if server == "slurmd" else ""}
        if way == "key":
            return Peer.tcp_key(port, self.key_file, UIDS[role], **there)
        return Peer.tcp_jwt(port, token_of(self.key, USERS[role]), **there)

    def ask(self, server, role, way, op, message):
        """One word for what came back."""
        at = (server, role, way)
        if at not in self.peers or role == "before":
            self.peers[at] = self.connect(*at)
        p = self.peers[at]
        p.sock.settimeout(20)
        frames = access_rows()[op]["frames"]
        try:
            sent = p.send(op, message, flags=0 if "Q" in frames else ONEWAY)
            while True:
                got, flags, id, body = p.recv()
                if flags & REPLY and id == sent:
                    break
            if role == "before":
                p.close()
            while flags & MORE and op not in ("watch", "acct-follow", "job-wait", "job-submit"):
                _, flags, _, _ = p.recv()
        except ConnectionError:
            p.close()
            del self.peers[at]
            return "closed"
        if op in ("watch", "acct-follow", "job-wait", "job-submit", "hello"):
            self.peers.pop(at).close()
        return self.word(op, flags, body)

    def word(self, op, flags, body):
        pb = messages()
        if flags & ERROR:
            answer = pb.Error()
            answer.ParseFromString(body)
            code = answer.code
            if "does not serve" in answer.text:
                return "-"
        else:
            answer = getattr(pb, operations()[op][2])()
            answer.ParseFromString(body)
            code = next((r.code for r in getattr(answer, "results", []) if getattr(r, "code", 0)), 0)
        return "ok" if code == 0 else error_names().get(code, str(code))

    def root_call(self, op, message):
        with self.connect("slurmctld", "root", "local") as p:
            return p.call(op, message)


@pytest.fixture(scope="module")
def site():
    s = Site()
    try:
        yield s.start()
    finally:
        s.stop()


def test_every_operation_has_its_rows():
    """A new operation of ops.h needs a row of access.def (the build says so), of the matrix, and a request."""
    ops = set(operations())
    assert set(access_rows()) == ops
    for server in SERVERS:
        rows = table(server)
        assert {row.split("/")[0] for row in rows} == ops, (server, {row.split("/")[0] for row in rows} ^ ops)
        for op in ops:
            served = access_rows()[op][server] not in ("NONE", "CONTROLLER")
            assert served == (rows[op]["root"] not in ("-", "closed")), f"{server}: {op} and access.def"


@pytest.mark.parametrize("way", ["local", "key", "token"])
@pytest.mark.parametrize("server", SERVERS)
def test_matrix(site, server, way):
    """Every row of the matrix by everybody; what differs over a token is in its last column."""
    if server == "slurmd" and way == "local":
        pytest.skip("slurmd has no local socket")
    if server == "slurmd" and way == "token":
        with pytest.raises(PermissionError):  # at the door: tokens are for slurmctld and slurmdbd
            site.connect(server, "root", way)
        return
    made, nothing = requests(site)
    wrong = []
    for row, expected in table(server).items():
        op = row.split("/")[0]
        message, prepare = made.get(row, (nothing, None))
        for role in ("before", *USERS):
            if prepare and server == "slurmctld" and role != "before":
                prepare()
            want = expected[role]
            if way == "token" and role != "before" and expected["token"] != "same":
                want = expected["token"]
            if want == "stops":
                continue  # it would: what others get shows who may
            got = site.ask(server, role, way, op, message)
            if got != want:
                wrong.append(f"{server} {way} {row}: {role} gets {got}, not {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("server", ["slurmctld", "slurmd"])
def test_other_clusters(site, server):
    """A node of another cluster has another key, or says another cluster's name: it is nobody, and hears nothing."""
    other = site.dir / "other.key"
    other.write_text(f"k1:{os.urandom(32).hex()}\n")
    for key, cluster in ((other, "test"), (site.key_file, "elsewhere")):
        with pytest.raises(PermissionError):
            Peer.tcp_key(site.port(server), key, 0, cluster=cluster, service=server, name="node1" if server == "slurmd" else "")


def test_flags(site):
    """A frame that makes no sense for its operation ends the connection: nobody unpacks it as something else."""
    for op, row in access_rows().items():
        kinds = {0: "Q", ONEWAY: "W", REPLY: "R", REPLY | MORE: "M"}
        for flags in range(32):
            if kinds.get(flags) in ("Q", "W") and kinds[flags] in row["frames"]:
                continue
            with site.connect("slurmctld", "root", "local") as p:
                p.send(op, b"", flags=flags)
                assert p.closed(), f"{op} with flags {flags}"
    assert site.c.ctld.alive()


def test_refused_before_it_is_read(site):
    """What an ordinary user may not ask is refused by its header: its body is neither unpacked nor waited for."""
    for op in ("acct-changes", "node-register", "node-report", "node-update", "shutdown", "reconfigure"):
        with site.connect("slurmctld", "other", "local") as p:
            flags, answer = p.call(op, b"\x0a\x7fmalformed")
            assert flags & ERROR and error_names()[answer.code] in ("access-denied", "user-id-missing"), (op, answer)
    with site.connect("slurmctld", "other", "local") as p:
        p.send_bytes(b"")
        p.send("node-report", b"", length=16 << 20)  # and no body behind it
        flags, answer = p.answer("node-report")
        assert error_names()[answer.code] == "access-denied"


def test_reports_count_for_ones_own_node(site):
    """A connection that registered as one node is that node until it ends."""
    pb = messages()
    with site.connect("slurmctld", "root", "key") as p:
        flags, answer = p.call("node-report", pb.NodeReport(drain_reason="forged"))
        assert flags & ERROR and error_names()[answer.code] == "invalid-node-name"
    wait_until(lambda: "forged" not in site.c.run("scontrol", "show", "node").out, "no node is drained")
