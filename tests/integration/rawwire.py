"""Frames by hand, for tests that attack: what no command of ours would send.

    pb = messages()                          # the schema's messages, as Python classes
    p = Peer.local(c.port, uid=65534)        # the controller's local socket, as that user
    p.hello(c)                               # version and peer credentials
    p.send("job-submit", pb.SubmitRequest(job=pb.JobRecord(name="x")))
    flags, message = p.call("query-config", pb.Empty())

Operations go by the names of src/wire/ops.h, which is read here; nothing is checked before it is sent.

Over TCP both ends prove themselves (src/wire/auth/handshake.h), which is made here a second time, from the header:

    p = Peer.tcp(port)
    p.login_key(key_file, uid=0)             # as who has the cluster's key
    p.login_token(token)                     # by a token of scontrol token
    p.login_step(step_reply, "node1")        # to slurmd, by what the controller gave for a step

Frames are sealed from then on, as they must be; send_bytes() sends what it is given."""

import array
import base64
import functools
import hashlib
import hmac
import importlib
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REPLY, MORE, ERROR, ONEWAY = 1, 2, 4, 8
HEADER = struct.Struct("<4sHHIIII")  # frame.h: magic, version, op, flags, id, deadline_ms, length
VERSION = int(re.search(r"#define WIRE_VERSION (\d+)u", (ROOT / "src/wire/frame.h").read_text()).group(1))


@functools.cache
def operations():
    """Name -> (number, request message, reply message, most bytes of a request) as ops.h says."""
    rows = re.findall(r"X\(OP_\w+, (\d+), \"([\w-]+)\", (\w+), (\w+),\s*([^)]+)\)", (ROOT / "src/wire/ops.h").read_text())
    size = {"WIRE_KIB": 1024, "WIRE_MIB": 1024 * 1024}
    camel = lambda name: "".join(word.capitalize() for word in name.split("_"))
    return {name: (int(number), camel(request), camel(reply), int(limit.split(" * ")[0]) * size[limit.split(" * ")[1]])
            for number, name, request, reply, limit in rows}


@functools.cache
def messages():
    """All messages and enums of proto/ as attributes of one object."""
    folder = tempfile.mkdtemp(prefix="penstock-pb-")
    try:
        protos = sorted((ROOT / "proto").glob("*.proto"))
        subprocess.run(["protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}", *map(str, protos)], check=True)
        sys.path.insert(0, folder)
        found = type("messages", (), {})()
        for path in protos:
            module = importlib.import_module(path.stem + "_pb2")
            for name in vars(module):
                if not name.startswith("_") and name != "DESCRIPTOR":
                    setattr(found, name, getattr(module, name))
        return found
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        subprocess.run(["rm", "-rf", folder], check=False)


@functools.cache
def error_names():
    """Number -> name of src/wire/errors.h, as "access-denied"."""
    rows = re.findall(r"X\((\w+), (\d+),", (ROOT / "src/wire/errors.h").read_text())
    return {int(number): re.sub("^(ESLURM|EPST|SLURM)_", "", name).lower().replace("_", "-") for name, number in rows}


@functools.cache
def access_rows():
    """Operation -> {"slurmctld": role, ..., "ways": {...}, "frames": {...}} as access.def says."""
    text = (ROOT / "src/wire/access.def").read_text()
    symbols = dict(re.findall(r"X\((OP_\w+), \d+, \"([\w-]+)\"", (ROOT / "src/wire/ops.h").read_text()))
    rows = {}
    for row in re.findall(r"^ACCESS\((OP_\w+, .*)\)", text, re.M):
        op, *roles, ways, frames = [word.strip() for word in row.split(",")]
        rows[symbols[op]] = dict(zip(["slurmctld", "slurmdbd", "slurmd", "step", "command"], roles)) | {
            "ways": {"LOCAL", "KEY", "TOKEN"} if ways == "ANY_WAY" else set(ways.split(" | ")), "frames": set(frames.split(" | "))}
    return rows


def frame(op, body=b"", flags=0, id=1, version=VERSION, deadline_ms=0, length=None, magic=b"PSTK"):
    """The bytes of a frame; op a name or a number, body a message or bytes."""
    op = operations()[op][0] if isinstance(op, str) else op
    body = body if isinstance(body, bytes) else body.SerializeToString()
    return HEADER.pack(magic, version, op, flags, id, deadline_ms, len(body) if length is None else length) + body


def connect_as(uid, gid, connect):
    """A socket that a child with these ids connected: the kernel vouches for them from then on."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            s = connect()
            theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
            status = 0
        finally:
            os._exit(status)
    theirs.close()
    _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    ours.close()
    os.waitpid(child, 0)
    if not ancillary:
        raise ConnectionError("the child could not connect")
    return socket.socket(fileno=struct.unpack("i", ancillary[0][2][:4])[0])


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def field(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(data)) + data


def handshake(server_nonce, hello):
    """The bytes that both proofs cover."""
    return (b"PSTK handshake 2\0" + server_nonce + hello.nonce +
            struct.pack("<IIII", hello.method, hello.version, hello.uid, hello.gid) + field(hello.cluster) +
            field(hello.service) + field(hello.name) + field(hello.key_id) + field(hello.token) +
            (field(hello.act_as) if hello.act_as else b"") +
            (field("identity") + field(hello.identity) if hello.identity else b""))


def derive(secret, label, data):
    return mac(secret, label.encode().ljust(16, b"\0"), data)


class Peer:
    def __init__(self, sock, timeout=15):
        self.sock, self.id, self.version = sock, 0, VERSION
        self.seal_in = self.seal_out = None  # [key, number of the next frame]
        sock.settimeout(timeout)

    @classmethod
    def local(cls, port, uid=None, gid=None, **kwargs):
        """On the controller's abstract socket, as uid (None: as we are)."""
        def connect():
            s = socket.socket(socket.AF_UNIX)
            s.connect(f"\0penstock/ctld/{port}".encode())
            return s
        sock = connect() if uid is None else connect_as(uid, uid if gid is None else gid, connect)
        return cls(sock, **kwargs)

    @classmethod
    def tcp(cls, port, host="127.0.0.1", **kwargs):
        peer = cls(socket.create_connection((host, port)), **kwargs)
        peer.send_bytes(b"PST\n")
        return peer

    @classmethod
    def tcp_key(cls, port, key_file, uid, **kwargs):
        p = cls.tcp(port)
        p.login_key(key_file, uid, **kwargs)
        return p

    @classmethod
    def tcp_jwt(cls, port, token, **kwargs):
        p = cls.tcp(port)
        p.login_token(token, **kwargs)
        return p

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send(self, op, body=b"", flags=0, **header):
        """Send a frame; gives the id it carries."""
        self.id += 1
        header.setdefault("id", self.id)
        header.setdefault("version", self.version)
        self.send_bytes(self.sealed(frame(op, body, flags, **header)))
        return header["id"]

    def sealed(self, data):
        """A frame with the tag behind it that the connection asks for."""
        return data + self.tag(self.seal_out, data) if self.seal_out else data

    @staticmethod
    def tag(seal, data):
        number = seal[1]
        seal[1] += 1
        return mac(seal[0], struct.pack("<Q", number), data)[:16]

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise ConnectionError(f"closed after {len(data)} of {count} bytes")
            data += more
        return data

    def recv(self):
        """The next frame: (op, flags, id, body bytes)."""
        header = self.read_exactly(HEADER.size)
        _, _, op, flags, id, _, length = HEADER.unpack(header)
        body = self.read_exactly(length)
        if self.seal_in:
            assert self.read_exactly(16) == self.tag(self.seal_in, header + body), "the server's tag"
        return op, flags, id, body

    def closed(self):
        """Read until the other end closes; False when it does not within the timeout."""
        try:
            while self.sock.recv(65536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True

    def hello(self, cluster="test"):
        """Over a local socket: read the challenge, say who we are by the kernel's word; gives the uid established."""
        pb = messages()
        op, _, _, _ = self.recv()
        assert op == operations()["challenge"][0]
        self.send("hello", pb.Hello(version=self.version, method=pb.AUTH_PEERCRED, cluster=cluster, program="test"))
        return self.answer("hello")[1].uid

    def greet(self, secret, method, service="slurmctld", cluster="test", name="", key_id="", token=b"", uid=0, gid=0, identity=b"",
              act_as=""):
        """Over TCP: prove that we know the secret, and see that the server does."""
        pb = messages()
        op, _, _, body = self.recv()
        assert op == operations()["challenge"][0]
        nonce = pb.Challenge.FromString(body).nonce
        hello = pb.Hello(version=self.version, method=method, uid=uid, gid=gid, nonce=os.urandom(32), service=service,
                         cluster=cluster, key_id=key_id, token=token, program="test")
        if name:
            hello.name = name
        if identity:
            hello.identity = identity
        if act_as:
            hello.act_as = act_as
        data = handshake(nonce, hello)
        hello.proof = derive(secret, "client proof", data)
        flags, reply = self.call("hello", hello)
        if flags & ERROR:
            raise PermissionError(reply.text or reply.code)
        assert reply.proof == derive(secret, "server proof", data), "the server does not prove itself"
        self.seal_out = [derive(secret, "to server", data), 0]
        if method != pb.AUTH_STEP:
            self.seal_in = [derive(secret, "to client", data), 0]
        return reply.uid

    def login_key(self, key_file, uid=0, gid=None, **kwargs):
        """As whom the holder of the cluster's key says to be."""
        key_id, _, secret = Path(key_file).read_text().split()[0].partition(":")
        return self.greet(mac(bytes.fromhex(secret), b"PSTK hello 2\0"), messages().AUTH_KEY, key_id=key_id, uid=uid,
                          gid=uid if gid is None else gid, **kwargs)

    def login_token(self, token, **kwargs):
        """By a token; its signature is the secret and stays here."""
        shown, _, signature = token.rpartition(".")
        secret = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        return self.greet(secret, messages().AUTH_JWT, token=shown.encode(), **kwargs)

    def login_step(self, reply, node, **kwargs):
        """To slurmd, with a StepReply; the next frame is sealed, then nothing is."""
        return self.greet(reply.launch_key, messages().AUTH_STEP, service="slurmd", name=node,
                          key_id=reply.credential.key_id, token=reply.credential.mac, uid=os.getuid(), **kwargs)

    def answer(self, op):
        """The reply to come, unpacked: (flags, message); an Error is a message too."""
        _, flags, _, body = self.recv()
        pb = messages()
        message = pb.Error() if flags & ERROR else getattr(pb, operations()[op][2])()
        message.ParseFromString(body)
        return flags, message

    def call(self, op, body=b"", flags=0, **header):
        self.send(op, body, flags, **header)
        return self.answer(op)
