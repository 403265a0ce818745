"""What an enemy sends to slurmrestd: requests that are none, tokens that are not good, bodies that cannot be meant.

Each has one answer from 400 on (or the connection ends), changes nothing, and leaves both daemons alive."""

import base64
import gzip
import hashlib
import hmac
import json
import socket
import threading
import time

import pytest

from conftest import wait_until
from restd import Restd, V

CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt"}
PATH = f"/slurm/{V}/ping"
SUBMIT = f"/slurm/{V}/job/submit"
SCRIPT = "#!/bin/sh\ntrue\n"


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


@pytest.fixture(autouse=True)
def unharmed(rest, shared):
    """Nothing changed, and all live."""
    before = shared.run("squeue", "-h", "-t", "all").out, shared.run("sinfo", "-h", "-o", "%N %T %c").out
    yield
    assert (shared.run("squeue", "-h", "-t", "all").out, shared.run("sinfo", "-h", "-o", "%N %T %c").out) == before
    assert rest.daemon.alive() and rest.get("ping")[0] == 200


def send(rest, data, half_close=True):
    """(status or None, all that came) of raw bytes."""
    with socket.create_connection(("127.0.0.1", rest.port), timeout=20) as s:
        try:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            got = b"".join(iter(lambda: s.recv(65536), b""))
        except OSError:  # it has closed the connection already
            got = b""
    return (int(got.split()[1]) if got.startswith(b"HTTP/1.") else None), got


def head(rest, line=f"GET {PATH} HTTP/1.1", *more):
    return "\r\n".join((line, "Host: x", f"X-SLURM-USER-TOKEN: {rest.token('root')}", *more, "", "")).encode()


# ---- requests that are none ------------------------------------------------------------------------

@pytest.mark.parametrize("line, status", [
    ("GET", None), ("GET /", None), ("GET  HTTP/1.1", 400), (f"GET {PATH}", None), (f"get {PATH} HTTP/1.1", 404),
    (f"FETCH {PATH} HTTP/1.1", 404), (f"PATCH {PATH} HTTP/1.1", 404), (f"OPTIONS {PATH} HTTP/1.1", 404),
    (f"TRACE {PATH} HTTP/1.1", 404), (f"CONNECT {PATH} HTTP/1.1", 404), (f"HEAD {PATH} HTTP/1.1", 404),
    (f"GET {PATH} HTTP/9.9", None), (f"GET {PATH} FTP/1.1", None), (f"GET {PATH} HTTP/1.1 x", None),
    (f"GET /slurm/{V}/../../etc/passwd HTTP/1.1", 404), (f"GET /slurm/{V}/%2e%2e/ping HTTP/1.1", 404),
    (f"GET /slurm/{V}/ping%00 HTTP/1.1", 404), (f"GET /slurm/{V}/ping%2 HTTP/1.1", 404), (f"GET /slurm/{V}/p%69ng%zz HTTP/1.1", 404),
    (f"GET /slurm/{V}/%25%32%65 HTTP/1.1", 404), ("GET /openapi/../openapi HTTP/1.1", 404), ("GET /openapi/v3/ HTTP/1.1", 404),
    (f"GET {PATH}?a=%zz HTTP/1.1", 400), (f"GET {PATH}?a=%00 HTTP/1.1", 400), (f"GET {PATH}?{'&'.join('a=1' for _ in range(300))} HTTP/1.1",
                                                                           400),
    (f"GET http://other{PATH} HTTP/1.1", 404), ("GET * HTTP/1.1", 404), (f"GET \\slurm\\{V}\\ping HTTP/1.1", 404),
])
def test_request_lines(rest, line, status):
    got, text = send(rest, head(rest, line))
    assert (got is None or got >= 400) if status is None else got == status, text[:300]
    assert got is None or got < 500 or got == 505


@pytest.mark.parametrize("data", [
    b"", b"\r\n\r\n", b"\x00" * 1000, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"A" * 200000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000, b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: " + b"h" * 200000 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n: nothing\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", b"GET / HTTP/1.1\rHost: x\r\r", b"\xff\xfe" * 500,
    b"PSTK\x00\x00\x00\x00\x00\x00\x00\x00"])
def test_garbage(rest, data):
    status, _ = send(rest, data)
    assert status is None or 400 <= status < 500 or status == 505


@pytest.mark.parametrize("headers, body", [
    (["Content-Length: 10", "Content-Length: 20"], b"{}"), (["Content-Length: -1"], b"{}"), (["Content-Length: ten"], b"{}"),
    (["Content-Length: 99999999999999999999"], b"{}"), (["Content-Length: 2", "Transfer-Encoding: chunked"], b"0\r\n\r\n"),
    (["Transfer-Encoding: chunked"], b"zz\r\n{}\r\n0\r\n\r\n"), (["Transfer-Encoding: chunked"], b"fffffffffffffffff\r\n{}"),
    (["Content-Length: 100"], b"{}"), (["Content-Length: 2", "Content-Type: text/html"], b"{}"),
    (["Content-Length: 2", "Content-Type: application/json"], b"{]"), (["Content-Length : 2"], b"{}"),
    (["Transfer-Encoding: gzip"], b"{}"), (["Content-Length: 2", "Content-Encoding: gzip"], b"{]"), (["Content-Length: 0"], b""), ([], b"")])
def test_bodies_on_their_way(rest, headers, body):
    status, text = send(rest, head(rest, f"POST {SUBMIT} HTTP/1.1", *headers) + body)
    assert status is None or 400 <= status < 500, text[:300]


def test_no_second_request_is_smuggled(rest):
    """What two readers could cut differently has no second answer."""
    inner = head(rest).decode()
    for headers in (["Content-Length: 4", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 4"]):
        status, text = send(rest, head(rest, f"POST {SUBMIT} HTTP/1.1", *headers) + b"0\r\n\r\n" + inner.encode())
        assert b'"pings"' not in text
    for lengths in ((2, 400), (400, 2)):
        headers = [f"Content-Length: {n}" for n in lengths]
        status, text = send(rest, head(rest, f"POST {SUBMIT} HTTP/1.1", *headers) + b"{}" + inner.encode())
        assert b'"pings"' not in text and text.count(b"HTTP/1.1 ") == 1, text[:300]


def test_pipelined(rest):
    status, text = send(rest, head(rest) * 3 + head(rest, f"GET {PATH} HTTP/1.1", "Connection: close"), half_close=False)
    assert status == 200 and text.count(b'"pings"') == 4


# ---- tokens ----------------------------------------------------------------------------------------

def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def forged(key, header, claims):
    text = f"{b64(header)}.{b64(claims)}"
    return f"{text}.{b64(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


NOW = int(time.time())
GOOD = {"sun": "root", "exp": NOW + 600, "iat": NOW}
TOKENS = {
    "none": f"{b64({'alg': 'none'})}.{b64(GOOD)}.", "None": f"{b64({'alg': 'None', 'typ': 'JWT'})}.{b64(GOOD)}.x",
    "other key": forged(b"x" * 32, {"alg": "HS256", "typ": "JWT"}, GOOD), "empty key": forged(b"", {"alg": "HS256"}, GOOD),
    "RS256": forged(b"x" * 32, {"alg": "RS256"}, GOOD), "ES256": forged(b"", {"alg": "ES256", "kid": "k1"}, GOOD),
    "no user": forged(b"x", {"alg": "HS256"}, {"exp": NOW + 600}), "no claims": f"{b64({'alg': 'HS256'})}..", "one part": "abc", "dots": "...",
    "four parts": "a.b.c.d", "spaces": "a b c", "long": "a." * 4000, "20 KB": "x" * 20000, "kid of a path": forged(
        b"x", {"alg": "HS256", "kid": "../../etc/passwd"}, GOOD), "deep header": f"{b64(b'[' * 3000)}.{b64(GOOD)}.x",
    "not base64": "!!!.???.###", "high bytes": "\xff\xfe.\xff.\xff", "quote": '";DROP TABLE jobs;--', "header end": "a\tb",
}


@pytest.mark.parametrize("name", TOKENS)
def test_tokens(rest, name):
    text = head(rest).decode().replace(rest.token("root"), TOKENS[name]).replace(PATH, f"/slurm/{V}/jobs")
    status, answer = send(rest, text.encode("latin-1") if name == "high bytes" else text.encode())
    assert status in (400, 401, 413, 431, 511, None), answer[:300]
    assert b"root" not in answer.replace(b'"user": "root"', b"").replace(b'"group": "root"', b"")


def test_changed_tokens(rest):
    """A good token with one change anywhere."""
    good = rest.token("root")
    for at in range(0, len(good), max(1, len(good) // 25)):
        bad = good[:at] + ("A" if good[at] != "A" else "B") + good[at + 1:]
        status, _, text = rest.raw("GET", f"/slurm/{V}/jobs", headers={"X-SLURM-USER-TOKEN": bad})
        assert status == 511, (at, text)


def test_an_expired_token(rest, shared):
    token = shared.run("scontrol", "token", "username=root", "lifespan=1").out.strip().split("=", 1)[1]
    wait_until(lambda: rest.raw("GET", f"/slurm/{V}/jobs", headers={"X-SLURM-USER-TOKEN": token})[0] == 511, "the token has run out", 60)


def test_who_is_named(rest):
    for name in ("root", "nosuchuser", "bin\tx", "../root", "0", "x" * 5000):
        status, _, text = rest.raw("GET", f"/slurm/{V}/jobs", headers={"X-SLURM-USER-TOKEN": rest.token("bin"), "X-SLURM-USER-NAME": name})
        assert status == 511, (name, text)


def test_no_token_in_the_log(rest):
    log = (rest.c.dir / "log" / "slurmrestd.log.stderr").read_text()
    assert not any(token in log or token.split(".")[2] in log for token in rest.tokens.values())


# ---- bodies ----------------------------------------------------------------------------------------

HERE = '"current_working_directory": "/tmp", "environment": ["A=b"]'


@pytest.mark.parametrize("body, status", [
    ("", 422),
    ("null", 422), ("5", 422), ('"text"', 422), ("[]", 422), ("{}", 422), ("true", 422), ("{", 400), ("}", 400), ("{'a': 1}", 400),
    ('{"a": 1,}', 400), ('{"a": NaN}', 400), ('{"a": Infinity}', 400), ('{"a": 1e999}', 400), ('{"a": 99999999999999999999}', 400),
    ('{"a": "\\u0000"}', 400), ('{"a": "\\ud800"}', 400), ('{"a": 1, "a": 2}', 400), ("[" * 100 + "]" * 100, 400),
    ('{"a":' * 50 + "1" + "}" * 50, 400),
    ("{}{}", 400), ("\ufeff{}", 400), ('{"job": null, "script": "x"}', 422), ('{"job": [], "script": "x"}', 422),
    ('{"jobs": {}, "script": "x"}', 422), ('{"jobs": [null], "script": "x"}', 422), ('{"jobs": [5], "script": "x"}', 422),
    ('{"script": 5, "job": {%s, "tasks": -1}}' % HERE, 422), ('{"script": ["x"], "job": {%s}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "tasks": 1e300}}' % HERE, 422), ('{"script": "x", "job": {%s, "tasks": {}}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "nodes": "1-999999999999"}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "array": "0-99999999"}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "name": "a\\nb"}}' % HERE, 422), ('{"script": "x", "job": {%s, "comment": "\\u001b[2J"}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "account": "a\\tb"}}' % HERE, 422), ('{"script": "x", "job": {%s, "mail_user": "-oQ/tmp"}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "required_nodes": ["n[1-99999999]"]}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "required_nodes": "./file"}}' % HERE, 422), ('{"script": "x", "job": {%s, "priority": -1}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "time_limit": {"set": true, "number": -5}}}' % HERE, 422),
    ('{"script": "x", "job": {"current_working_directory": "/tmp\\nx", "environment": ["A=b"]}}', 422),
    ('{"script": "x", "job": {"current_working_directory": "/tmp", "environment": [""]}}', 422),
    ('{"script": "x", "job": {"current_working_directory": "/tmp", "environment": {"A": ["b"]}}}', 422),
    ('{"script": "x", "job": {%s, "user_id": "0", "group_id": "nobody"}}' % HERE, 422),
    ('{"script": "x", "job": {%s, "dependency": "x:1"}}' % HERE, 422),
])
def test_json(rest, body, status):
    got, answer = rest.post("job/submit", body.encode("utf-8", "surrogatepass"))
    assert got == status, answer


@pytest.mark.parametrize("body", [
    "a: &x [1]\nb: *x\n", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "- [" * 200, "!!python/object/apply:os.system ['true']\n", "a: 1\na: 2\n",
    "%YAML 9.9\n---\na: b\n", "{a: b", "\t- x\n  y", "? [a]\n: b\n", "a: \"\\0\"\n", "---\na: 1\n---\nb: 2\n"])
def test_yaml(rest, body):
    status, answer = rest.post("job/submit", body, Content_Type="application/x-yaml")
    assert status in (400, 422), answer


def test_a_large_body(rest):
    status, answer = rest.post("job/submit", b'{"script": "' + b"x" * (17 << 20) + b'"}')
    assert (status, answer) == (413, "The body is larger than 16 MiB")


def memory_mib(rest):
    with open(f"/proc/{rest.daemon.pid}/status") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("VmRSS:"))


def test_strangers_have_no_large_bodies(rest):
    """What a caller without a good token sends is not kept: 40 of them, 8 MiB each, who do not end their requests."""
    text = head(rest, f"POST {SUBMIT} HTTP/1.1", f"Content-Length: {8 << 20}").decode()
    text = text.replace(rest.token("root"), TOKENS["other key"]).encode()
    before, socks = memory_mib(rest), []
    try:
        for _ in range(40):
            socks.append(socket.create_connection(("127.0.0.1", rest.port), timeout=60))
            socks[-1].sendall(text + b" " * ((8 << 20) - 1))
        assert memory_mib(rest) - before < 120
        socks[0].sendall(b" ")
        answer = socks[0].recv(65536)
        assert answer.startswith(b"HTTP/1.1 511 ") and b'"errors"' in answer, answer[:200]
    finally:
        for s in socks:
            s.close()
    status, answer = rest.post("job/submit", b" " * (1 << 20) + b"{}")
    assert status == 422 and answer["errors"], "a caller with a good token may send it"


def test_documents_that_are_not_read(rest):
    """Strangers ask for the document of the API on 60 connections and read nothing of it: it is there once."""
    text = head(rest, "GET /openapi.json HTTP/1.1").decode().replace(rest.token("root"), TOKENS["other key"]).encode()
    size = len(rest.raw("GET", "/openapi.json", headers={"X-SLURM-USER-TOKEN": TOKENS["other key"]})[2])
    before, socks = memory_mib(rest), []
    try:
        for _ in range(60):
            socks.append(socket.create_connection(("127.0.0.1", rest.port), timeout=60))
            socks[-1].sendall(text)
            assert socks[-1].recv(12) == b"HTTP/1.1 200"
        assert memory_mib(rest) - before < max(20, 20 * size >> 20), size
    finally:
        for s in socks:
            s.close()


def test_a_body_without_end(rest):
    """What is too large is read on, so that its sender reads why, but not for ever."""
    text = head(rest, f"POST {SUBMIT} HTTP/1.1", "Transfer-Encoding: chunked").decode().replace(rest.token("root"), TOKENS["other key"])
    piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    with socket.create_connection(("127.0.0.1", rest.port), timeout=60) as s:
        s.sendall(text.encode())
        with pytest.raises(OSError):
            for _ in range(120):
                s.sendall(piece)


def test_strangers_have_no_large_values(rest):
    """Some KiB of gzip that become 16 MiB of empty objects, and as many plain ones as fit: for callers alone whom a daemon believes."""
    many = b"[" + b"{}," * ((16 << 20) // 3 - 10) + b"{}]"
    plain = b"[" + b"{}," * 80_000 + b"{}]"
    before = memory_mib(rest)
    for body, more in ((gzip.compress(many), {"Content-Encoding": "gzip"}), (plain, {})):
        for kind in ("application/json", "application/x-yaml"):
            status, _, answer = rest.raw("POST", SUBMIT, body, {"X-SLURM-USER-TOKEN": TOKENS["other key"], "Content-Type": kind} | more)
            assert status == 511 and json.loads(answer)["errors"], (status, answer)
    assert memory_mib(rest) - before < 60
    # who is believed may send much, not everything
    assert rest.post("job/submit", plain)[0] == 422
    assert rest.post("job/submit", gzip.compress(many), Content_Encoding="gzip") == (413, "The body has too many values")
    assert rest.post("job/submit", many, Content_Type="application/x-yaml") == (413, "The body has too many values")


@pytest.mark.parametrize("path", [
    "job/0", "job/-1", "job/x", "job/1.0", "job/1,2", "job/1_[1-99999999]", "job/99999999999999", "job/%0a", "job/+", "node/a%0ab", "node/[1-9]",
    "node/..", "partition/%ff", "reservation/x", "resources/x", "resources/0", "job/1/requeue"])
def test_names_in_paths(rest, path):
    for method in ("GET", "DELETE", "POST"):
        status, answer = rest.ask(method, path, {} if method == "POST" else None)
        assert 200 <= status < 500, (method, answer)
        told = isinstance(answer, dict) and (answer["errors"] or answer["warnings"] or answer.get("status"))
        assert status >= 400 or not isinstance(answer, dict) or told, (method, answer)



def test_others_rights(rest, shared):
    """A user without rights changes nothing."""
    for path, body in (("node/node1", {"state": ["DRAIN"], "reason": "x"}), ("nodes/", {"name": "node1", "weight": 7}),
                       ("partitions/", {"partitions": [{"name": "main", "maximums": {"time": 1}}]}),
                       ("partitions/", {"partitions": [{"name": "mine", "nodes": {"configured": "node1"}}]}),
                       ("reservation", {"name": "r", "start_time": NOW + 5000, "duration": 10, "users": ["bin"], "node_list": ["node1"]}),
                       ("job/submit", {"script": SCRIPT, "job": {"current_working_directory": "/tmp", "environment": ["A=b"], "user_id": "0"}})):
        status, answer = rest.post(path, body, user="bin")
        assert status >= 400 and answer["errors"], (path, answer)
    assert rest.get("reconfigure", user="bin")[0] >= 400
    assert rest.delete("partition/main", user="bin")[0] >= 400
    assert "mine" not in shared.run("scontrol", "-a", "show", "partition").out


# ---- many, slow, gone ------------------------------------------------------------------------------

def test_many_connections(rest):
    """More than there may be: those within the limit are served, the others wait or end."""
    socks = []
    try:
        for _ in range(200):
            socks.append(socket.create_connection(("127.0.0.1", rest.port), timeout=20))
        for s in socks[:20]:
            s.sendall(head(rest))
            assert s.recv(12) == b"HTTP/1.1 200"
    finally:
        for s in socks:
            s.close()
    wait_until(lambda: rest.get("ping")[0] == 200, "it serves again")


def test_slow_and_gone(rest, shared):
    """Half a request, an answer that nobody reads, one that is cut off: others are served meanwhile."""
    half = [socket.create_connection(("127.0.0.1", rest.port), timeout=20) for _ in range(30)]
    unread = [socket.create_connection(("127.0.0.1", rest.port), timeout=20) for _ in range(20)]
    try:
        for s in half:
            s.sendall(head(rest)[:-10])
        for s in unread:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.sendall(head(rest, "GET /openapi HTTP/1.1") * 3)
        assert rest.get("jobs/")[0] == 200
        for s in unread[:10]:
            s.recv(100)
            s.close()
        assert rest.get("nodes/")[0] == 200
    finally:
        for s in half + unread:
            s.close()


def test_at_once(rest):
    """Good and bad from many threads."""
    wrong = []

    def loop(i):
        for _ in range(20):
            if rest.get("ping")[0] != 200 or rest.post("job/submit", "{")[0] != 400 or send(rest, b"GET / nonsense\r\n\r\n")[0] == 200:
                wrong.append(i)

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
