"""slurmrestd's own https://: its certificate, whatever TLSType is, and who gets in."""

import http.client
import json
import os
import socket
import ssl
import subprocess

import pytest

from conftest import Daemon, free_ports, let_in, program, wait_until
from pki import Authority

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="slurmrestd becomes another user, who has the key")
USER = "daemon"


@pytest.fixture
def pki(tmp_path):
    return Authority(tmp_path / "pki")


def own(path):
    import pwd
    os.chown(path, pwd.getpwnam(USER).pw_uid, 0)


@pytest.fixture
def served(make_cluster, pki):
    """A cluster without TLSType, whose slurmrestd speaks TLS."""
    c = make_cluster(nodes=1, conf="AuthAltTypes=auth/jwt\n")
    etc = c.conf.parent
    pki.pair(etc, "restd")
    own(etc / "restd_cert_key.pem")
    let_in(etc)
    c.rest_port = free_ports(1)[0]
    daemon = start(c)
    wait_until(lambda: not daemon.alive() or listens(c), "slurmrestd listens")
    assert daemon.alive(), (c.dir / "log" / "slurmrestd.stderr").read_text()
    yield c
    assert daemon.stop() == 0


def argv(c, *options):
    return [program("slurmrestd"), "-f", str(c.conf), "-u", USER, *options, f"https://127.0.0.1:{c.rest_port}"]


def start(c, *options):
    return Daemon("slurmrestd", argv(c, *options), c.dir / "log" / "slurmrestd", c.env)


def listens(c):
    try:
        with socket.create_connection(("127.0.0.1", c.rest_port), 5):
            return True
    except OSError:
        return False


def context(pki):
    trust = ssl.create_default_context(cafile=pki.cert)
    trust.check_hostname = False
    return trust


def ask(c, pki, path, token=None, method="GET", body=None):
    conn = http.client.HTTPSConnection("127.0.0.1", c.rest_port, timeout=30, context=context(pki))
    headers = {"X-SLURM-USER-TOKEN": token} if token else {}
    conn.request(method, path, body=body, headers={**headers, "Content-Type": "application/json"} if body else headers)
    answer = conn.getresponse()
    text = answer.read()
    conn.close()
    return answer.status, text


def token(c):
    return c.run("scontrol", "token").out.strip().partition("=")[2]


def test_requests(served, pki):
    c = served
    status, text = ask(c, pki, "/slurm/v0.0.45/ping/", token(c))
    assert status == 200 and json.loads(text)["pings"][0]["responding"]
    job = {"name": "x", "environment": ["A=b"], "current_working_directory": str(c.work)}
    body = json.dumps({"script": "#!/bin/sh\n#" + "x" * 300000 + "\n", "job": job})
    status, text = ask(c, pki, "/slurm/v0.0.45/job/submit", token(c), "POST", body)
    assert status == 200, text
    c.wait_end(json.loads(text)["job_id"])
    status, text = ask(c, pki, "/openapi/v3", token(c))  # a long answer comes whole
    assert status == 200 and "paths" in json.loads(text)


def test_a_plain_end_is_nobody(served, pki):
    """Inside the daemon the encrypted connection ends in a local socket of its own user: that is no identity."""
    status, text = ask(served, pki, "/slurm/v0.0.45/jobs/")
    assert status == 401, text


def test_many_at_once(served, pki):
    c, word = served, token(served)
    conns = [http.client.HTTPSConnection("127.0.0.1", c.rest_port, timeout=60, context=context(pki)) for _ in range(40)]
    for conn in conns:
        conn.request("GET", "/slurm/v0.0.45/ping/", headers={"X-SLURM-USER-TOKEN": word})
    assert [conn.getresponse().status for conn in conns] == [200] * 40
    for conn in conns:
        conn.close()


def test_refused(served, pki, tmp_path):
    c = served
    with socket.create_connection(("127.0.0.1", c.rest_port), 10) as s:  # plain
        s.sendall(b"GET /slurm/v0.0.45/ping/ HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b""
        try:
            while piece := s.recv(1000):
                said += piece
        except ConnectionResetError:
            pass
        assert b"HTTP" not in said
    with pytest.raises(ssl.SSLCertVerificationError):  # the caller's trust is another
        ask(c, Authority(tmp_path / "stranger", "stranger"), "/slurm/v0.0.45/ping/")
    old = context(pki)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", c.rest_port), 10) as s, pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(s)
    assert ask(c, pki, "/slurm/v0.0.45/ping/", token(c))[0] == 200
    idle = [socket.create_connection(("127.0.0.1", c.rest_port), 10) for _ in range(20)]  # say nothing
    assert ask(c, pki, "/slurm/v0.0.45/ping/", token(c))[0] == 200
    for s in idle:
        s.close()


@pytest.mark.parametrize("spoil,words", [
    (lambda etc: (etc / "restd_cert.pem").unlink(), "restd_cert.pem cannot be read"),
    (lambda etc: (etc / "restd_cert_key.pem").chmod(0o644), "can be read by others"),
    (lambda etc: (etc / "restd_cert.pem").write_text("x"), "restd_cert.pem holds no certificate"),
])
def test_bad_files(make_cluster, pki, spoil, words):
    c = make_cluster(nodes=1, start=False)
    pki.pair(c.conf.parent, "restd")
    own(c.conf.parent / "restd_cert_key.pem")
    let_in(c.conf.parent)
    c.rest_port = free_ports(1)[0]
    spoil(c.conf.parent)
    done = subprocess.run(argv(c), env=c.env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_files_that_are_named(make_cluster, pki, tmp_path):
    c = make_cluster(nodes=1, conf="AuthAltTypes=auth/jwt\n"
                     f"TLSParameters=restd_cert_file={tmp_path}/a.pem,restd_cert_key_file={tmp_path}/b.pem\n")
    pki.pair(tmp_path, "x")
    (tmp_path / "x_cert.pem").rename(tmp_path / "a.pem")
    (tmp_path / "x_cert_key.pem").rename(tmp_path / "b.pem")
    own(tmp_path / "b.pem")
    let_in(tmp_path)
    let_in(c.conf.parent)
    c.rest_port = free_ports(1)[0]
    daemon = start(c)
    wait_until(lambda: not daemon.alive() or listens(c), "slurmrestd listens")
    assert ask(c, pki, "/slurm/v0.0.45/ping/", token(c))[0] == 200
    assert daemon.stop() == 0
