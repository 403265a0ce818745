"""slurmrestd beside a test's cluster: started as a user without rights, asked over HTTP with tokens.

    with Restd(cluster) as rest:
        status, answer = rest.get("/slurm/v0.0.45/jobs/")          # as root, by a token
        rest.post("/slurm/v0.0.45/job/submit", {...}, user="bin")
"""

import functools
import http.client
import json
import os
import pwd
import socket
import subprocess

from conftest import Daemon, free_ports, let_in, program, wait_until
from rawwire import ERROR, Peer, messages

V = "v0.0.45"
MANY, FEW = 400, 50  # of long lists the ends are looked at
MAY_BE_NULL = {"job_resources", "results"}  # so recorded


def is_listening(path):
    """At a UNIX socket: its name is there before anybody listens."""
    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect_ex(str(path)) == 0


class Restd:
    def __init__(self, cluster, *options, address=None, user="daemon", env=None):
        self.c = cluster
        self.port = free_ports(1)[0]
        self.user = user
        self.argv = [program("slurmrestd"), "-f", str(cluster.conf), *(["-u", user] if user else []), *options,
                     address or f"127.0.0.1:{self.port}"]
        self.env = {**cluster.env, **(env or {})}
        self.tokens = {}
        self.daemon = None

    def __enter__(self):
        let_in(self.c.dir / "etc")
        self.start()
        return self

    def start(self):
        self.daemon = Daemon("slurmrestd", self.argv, self.c.dir / "log" / "slurmrestd.log", self.env)
        wait_until(self.listens, "slurmrestd listens")

    def __exit__(self, *_):
        assert self.daemon.stop() == 0

    def listens(self):
        assert self.daemon.alive(), (self.c.dir / "log" / "slurmrestd.log.stderr").read_text()
        try:
            return self.raw("GET", "/nosuch")[0] == 404
        except OSError:
            return False

    def token(self, user):
        if user not in self.tokens:
            out = self.c.run("scontrol", "token", f"username={user}", "lifespan=6000").out
            self.tokens[user] = out.strip().split("=", 1)[1]
        return self.tokens[user]

    def raw(self, method, path, body=None, headers=None):
        """(status, headers, text)"""
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            conn.request(method, path, body=body, headers=headers or {})
            answer = conn.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            conn.close()

    def ask(self, method, path, body=None, user="root", **headers):
        """(status, the answer as an object)"""
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        headers["X-SLURM-USER-TOKEN"] = self.token(user)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        path = path if path.startswith("/") else f"/slurm/{V}/{path}"
        status, got, text = self.raw(method, path, body, headers)
        answer = json.loads(text) if text and got.get("Content-Type") == "application/json" else text
        if status == 200 and isinstance(answer, dict):
            assert departures(method, path, answer) == [], (method, path)
        return status, answer

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    def delete(self, path, **options):
        return self.ask("DELETE", path, **options)


def token_reply(c, who, **request):
    """What slurmctld's local socket answers to a user."""
    pb = messages()
    who = pwd.getpwnam(who)
    with Peer.local(c.port, who.pw_uid, who.pw_gid) as peer:
        peer.hello()
        flags, answer = peer.call("token", pb.TokenRequest(**request))
    return (None, answer) if flags & ERROR else (answer, None)


def word_of(c, user, **request):
    """A word that signs a browser in as the user, once."""
    reply, _ = token_reply(c, user, as_word=True, **request)
    assert reply.token == ""  # the token waits for whoever brings the word
    return reply.word


def run_once(cluster, text, *options, env=None):
    """What slurmrestd answers to HTTP on its standard input."""
    return subprocess.run([program("slurmrestd"), "-f", str(cluster.conf), *options], input=text, capture_output=True, text=True,
                          timeout=30, env={**cluster.env, "SLURMRESTD_SECURITY": "disable_user_check", **(env or {}),
                                           "PATH": os.environ["PATH"]})


@functools.cache
def published():
    """The document of everything that slurmrestd serves."""
    done = subprocess.run([program("slurmrestd"), "--generate-openapi-spec"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def departures(method, path, answer):
    """Where an answer does not keep to the document.  What is ours is not in it, nor what fields= and pages leave out and add."""
    path, _, query = path.partition("?")
    known = published()["paths"]
    row = next((known[p] for p in known if fits(p, path) and method.lower() in known[p]), None)
    if not row or "/jobs/state" in path or any(word in query for word in ("fields=", "limit=", "cursor=")):
        return []  # jobs/state/ is published with the answer of jobs/, and recorded with less
    schema = row[method.lower()]["responses"]["200"]["content"]["application/json"]["schema"]
    return list(problems(published(), schema, answer, "#", whole=not answer.get("errors") and not answer.get("warnings")))


def problems(document, schema, value, place, whole=True):
    """What in value does not keep to the schema.  whole: what is required is there."""
    if "$ref" in schema:
        yield from problems(document, document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], value, place, whole)
    elif schema["type"] == "object":
        if not isinstance(value, dict):
            yield f"{place}: {value!r} is no object"
            return
        for key in schema.get("required", []):
            if whole and "/" not in key and key not in value:
                yield f"{place}: no {key}"
        for key, inner in value.items():
            if key not in schema["properties"]:
                yield f"{place}: {key} is not in the schema"
            elif inner is not None or key not in MAY_BE_NULL:
                yield from problems(document, schema["properties"][key], inner, f"{place}/{key}")
    elif schema["type"] == "array":
        if not isinstance(value, list):
            yield f"{place}: {value!r} is no list"
            return
        for i, inner in enumerate(value if len(value) < MANY else value[:FEW] + value[-FEW:]):
            yield from problems(document, schema["items"], inner, f"{place}/{i}")
    elif not isinstance(value, {"string": str, "boolean": bool, "integer": int, "number": (int, float)}[schema["type"]]) or (
            schema["type"] == "integer" and isinstance(value, bool)):
        yield f"{place}: {value!r} is no {schema['type']}"
    elif value not in schema.get("enum", [value]):
        yield f"{place}: {value!r} is none of the words"


def check(rest, document, path, **options):
    """The answer, which keeps to the OpenAPI document."""
    path = path if path.startswith("/") else f"/slurm/{V}/{path}"
    status, answer = rest.get(path, **options)
    known = document["paths"]
    op = next(p for p in known if fits(p, path.split("?")[0]) and "get" in known[p])
    schema = known[op]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert list(problems(document, schema, answer, "#")) == [], path
    return answer


def fits(pattern, path):
    want, have = pattern.strip("/").split("/"), path.strip("/").split("/")
    return len(want) == len(have) and all(w == h or w.startswith("{") for w, h in zip(want, have))
