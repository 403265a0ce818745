"""Tokens that others make: with a key that a portal shares with us (jwt_key=), and with keys of an issuer of whom we
know the public ones (jwks=).  The openssl command and Python's hmac make the tokens."""

import base64
import hashlib
import hmac
import http.client
import json
import subprocess
import threading
import time

import pytest

from conftest import wait_until
from restd import Restd, V

CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt\nMetricsType=metrics/openmetrics\nPrivateData=jobs"}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*argv, **kwargs):
    return subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True, **kwargs).stdout


class Issuer:
    """An RSA key and a P-256 key, and the set that tells their public halves."""

    def __init__(self, folder, name):
        self.name = name
        self.rsa, self.ec = folder / f"{name}-rsa.pem", folder / f"{name}-ec.pem"
        openssl("genrsa", "-out", self.rsa, 2048)
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.ec)

    def keys(self):
        modulus = bytes.fromhex(openssl("rsa", "-in", self.rsa, "-noout", "-modulus").decode().split("=")[1])
        point = openssl("ec", "-in", self.ec, "-pubout", "-outform", "DER")[-64:]
        return [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": f"{self.name}-rsa", "n": b64(modulus), "e": "AQAB"},
                {"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": f"{self.name}-ec", "x": b64(point[:32]), "y": b64(point[32:])}]

    def token(self, user, kind="RS256", life=600, claim="sun", **more):
        rsa = kind == "RS256"
        text = head_and_claims({"alg": kind, "kid": f"{self.name}-{'rsa' if rsa else 'ec'}"}, claim, user, life, more)
        signature = openssl("dgst", "-sha256", "-sign", self.rsa if rsa else self.ec, input=text.encode())
        return f"{text}.{b64(signature if rsa else raw_of_der(signature))}"


def head_and_claims(head, claim, user, life, more=()):
    now = int(time.time())
    return ".".join(b64(json.dumps(part).encode()) for part in (head, {"iat": now, "exp": now + life, claim: user, **dict(more)}))


def raw_of_der(der):
    """r and s of 32 bytes each."""
    length = der[3]
    r, s = der[4:4 + length], der[4 + length + 2:]
    return b"".join(n.lstrip(b"\0").rjust(32, b"\0") for n in (r, s))


def of_key(key, user, life=600):
    text = head_and_claims({"alg": "HS256", "typ": "JWT"}, "sun", user, life)
    return f"{text}.{b64(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


@pytest.fixture
def configure(shared):
    """Sets AuthAltParameters, and takes the line away again."""
    before = shared.conf.read_text()

    def set_parameters(line):
        shared.conf.write_text(before + f"AuthAltParameters={line}\n")
        return shared.run("scontrol", "reconfigure", check=False)

    yield set_parameters
    shared.conf.write_text(before)
    shared.run("scontrol", "reconfigure")


def status_of(rest, token, path=f"/slurm/{V}/jobs/"):
    return rest.raw("GET", path, headers={"X-SLURM-USER-TOKEN": token})[0]


def submit(rest, token, **more):
    body = {"job": {"name": "tok", "current_working_directory": "/tmp", "environment": ["PATH=/bin:/usr/bin"],
                    "standard_output": "/dev/null", **more}, "script": "#!/bin/sh\nid -un\n"}
    status, _, text = rest.raw("POST", f"/slurm/{V}/job/submit", json.dumps(body),
                               {"X-SLURM-USER-TOKEN": token, "Content-Type": "application/json"})
    return status, json.loads(text)


def owner_of(shared, job):
    return shared.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%u").out.strip()


def metrics_status(shared, token):
    conn = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=30)
    try:
        conn.request("GET", "/metrics/jobs", headers={"Authorization": f"Bearer {token}"})
        return conn.getresponse().status
    finally:
        conn.close()


@pytest.mark.parametrize("kind", ["RS256", "ES256"])
def test_public_keys(shared, configure, tmp_path, kind):
    issuer, stranger = Issuer(tmp_path, "idp"), Issuer(tmp_path, "idp2")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": issuer.keys()}))
    assert configure(f"jwks={jwks}").returncode == 0
    with Restd(shared) as rest:
        status, answer = submit(rest, issuer.token("bin", kind))
        assert status == 200, answer
        assert owner_of(shared, answer["job_id"]) == "bin"
        assert status_of(rest, issuer.token("bin", kind)) == 200
        assert status_of(rest, stranger.token("bin", kind)) == 511
        assert status_of(rest, issuer.token("bin", kind, life=-5)) == 511
        assert status_of(rest, issuer.token("no-such-user", kind)) == 511
        assert status_of(rest, issuer.token("bin", kind, claim="email")) == 511
    assert metrics_status(shared, issuer.token("root", kind)) == 200
    assert metrics_status(shared, issuer.token("bin", kind)) == 403
    assert metrics_status(shared, stranger.token("root", kind)) == 401


def test_no_tokens_are_made_with_an_issuer(shared, configure, tmp_path):
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": Issuer(tmp_path, "idp").keys()}))
    own = shared.run("scontrol", "token", "username=bin").out.strip().split("=", 1)[1]
    assert configure(f"jwks={jwks}").returncode == 0
    made = shared.run("scontrol", "token", check=False)
    assert made.returncode != 0 and "issuer" in made.stderr
    with Restd(shared) as rest:
        assert status_of(rest, own) == 511  # the cluster's own key makes none any more


def test_keys_change_without_a_gap(shared, configure, tmp_path):
    old, new = Issuer(tmp_path, "old"), Issuer(tmp_path, "new")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": old.keys()}))
    assert configure(f"jwks={jwks}").returncode == 0
    with Restd(shared) as rest:
        assert (status_of(rest, old.token("bin")), status_of(rest, new.token("bin"))) == (200, 511)
        jwks.write_text(json.dumps({"keys": old.keys() + new.keys()}))
        shared.run("scontrol", "reconfigure")
        assert (status_of(rest, old.token("bin")), status_of(rest, new.token("bin"))) == (200, 200)
        jwks.write_text(json.dumps({"keys": new.keys()}))
        shared.run("scontrol", "reconfigure")
        # another token than before: slurmrestd keeps a connection that was believed for half a minute
        assert (status_of(rest, old.token("bin", life=700)), status_of(rest, new.token("bin"))) == (511, 200)


class Portal:
    """Submissions as fast as four callers can, each with the token that is current when it begins."""

    def __init__(self, rest, token):
        self.rest, self.token, self.ends, self.done = rest, token, [], threading.Event()
        self.last = [None] * 4
        self.threads = [threading.Thread(target=self.submit, args=(i,)) for i in range(len(self.last))]
        for t in self.threads:
            t.start()

    def submit(self, which):
        while not self.done.is_set():
            token = self.token
            self.ends.append((token, submit(self.rest, token)[0]))
            self.last[which] = token

    def use(self, token):
        """From now on this one; back when no submission with another one is on its way."""
        self.token = token
        wait_until(lambda: set(self.last) == {token}, "the new token is used by all", 60)

    def end(self):
        self.done.set()
        for t in self.threads:
            t.join()
        return self.ends


def test_keys_change_under_load(shared, configure, tmp_path):
    """An issuer's new keys come and its old ones go while a portal submits and a step runs: no submission fails."""
    old, new = Issuer(tmp_path, "before"), Issuer(tmp_path, "after")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": old.keys()}))
    assert configure(f"jwks={jwks}").returncode == 0
    step = shared.popen("srun", "--overlap", "-n1", "--mem=1", "sleep", "600")
    job = wait_until(lambda: shared.run("squeue", "-h", "-s", "-o", "%i").out.strip(), "the step runs")
    with Restd(shared) as rest:
        load = Portal(rest, old.token("bin"))
        try:
            for keys, token in ((old.keys() + new.keys(), new.token("bin")), (new.keys(), new.token("bin", "ES256"))):
                wait_until(lambda n=len(load.ends): len(load.ends) >= n + 50, "the load goes on", 60)
                jwks.write_text(json.dumps({"keys": keys}))
                shared.run("scontrol", "reconfigure")
                load.use(token)
            assert status_of(rest, old.token("bin", life=701)) == 511
            assert job in shared.run("squeue", "-h", "-s", "-o", "%i").out
        finally:
            ends = load.end()
    assert [e for e in ends if e[1] != 200] == []
    assert len(ends) >= 100 and len({token for token, _ in ends}) == 3
    shared.run("scancel", job.partition(".")[0])
    step.wait(60)
    shared.run("scancel", "-u", "bin", check=False)


def test_a_broken_set_changes_nothing(shared, configure, tmp_path):
    issuer = Issuer(tmp_path, "idp")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": issuer.keys()}))
    assert configure(f"jwks={jwks}").returncode == 0
    jwks.write_text('{"keys": [{"kty": "RSA", "n": "AA", "e": "AQAB"}]}')
    refused = shared.run("scontrol", "reconfigure", check=False)
    assert refused.returncode != 0 and str(jwks) in refused.stderr and "2048" in refused.stderr
    with Restd(shared) as rest:
        assert status_of(rest, issuer.token("bin")) == 200


def test_claims(shared, configure, tmp_path):
    issuer = Issuer(tmp_path, "idp")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": issuer.keys()}))
    who = {"uid": 2, "gid": 2, "id": {"name": "bin", "gecos": "", "dir": "/", "shell": "/bin/sh", "gids": [2]}}
    assert configure(f"jwks={jwks},userclaimfield=preferred").returncode == 0
    with Restd(shared) as rest:
        status, answer = submit(rest, issuer.token("bin", claim="preferred"))
        assert status == 200 and owner_of(shared, answer["job_id"]) == "bin"
        assert status_of(rest, issuer.token("bin")) == 511
        assert configure(f"jwks={jwks},use_jwt_client_ids_only").returncode == 0
        assert status_of(rest, issuer.token("somebody", **who)) == 200
        assert status_of(rest, issuer.token("bin")) == 511
        assert status_of(rest, issuer.token("bin", **{**who, "uid": -1})) == 511


def test_a_name_makes_no_administrator(shared, configure, tmp_path):
    """An issuer numbers its users; the one whom it calls root is not root for the pages of the controller's port."""
    issuer = Issuer(tmp_path, "idp")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": issuer.keys()}))
    assert configure(f"jwks={jwks},use_jwt_client_ids").returncode == 0

    def asked(uid):
        who = {"uid": uid, "gid": uid, "id": {"name": "root", "gecos": "", "dir": "/", "shell": "/bin/sh", "gids": [uid]}}
        conn = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=30)
        conn.request("GET", "/readyz?verbose", headers={"X-SLURM-USER-TOKEN": issuer.token("root", **who)})
        status = conn.getresponse().status
        conn.close()
        return status
    assert (asked(0), asked(4711)) == (200, 401)


def test_key_of_a_portal(shared, configure, tmp_path):
    key = shared.dir / "etc" / "jwt.key"
    key.write_bytes(bytes(range(200)))
    key.chmod(0o600)
    assert configure(f"jwt_key={key}").returncode == 0
    with Restd(shared) as rest:
        status, answer = submit(rest, of_key(bytes(range(200)), "bin"))
        assert status == 200 and owner_of(shared, answer["job_id"]) == "bin"
        assert status_of(rest, of_key(bytes(range(199)), "bin")) == 511
        made = shared.run("scontrol", "token", "username=bin").out.strip().split("=", 1)[1]
        assert status_of(rest, made) == 200
    key.chmod(0o644)
    refused = shared.run("scontrol", "reconfigure", check=False)
    assert refused.returncode != 0 and "others have access" in refused.stderr


def test_commands_take_tokens_of_an_issuer(shared, configure, tmp_path):
    issuer = Issuer(tmp_path, "idp")
    jwks = shared.dir / "etc" / "jwks.json"
    jwks.write_text(json.dumps({"keys": issuer.keys()}))
    assert configure(f"jwks={jwks}").returncode == 0
    done = shared.run("sbatch", "-o", "/dev/null", "--wrap", "true", env={"SLURM_JWT": issuer.token("bin")})
    assert owner_of(shared, done.out.split()[-1]) == "bin"
    refused = shared.run("squeue", env={"SLURM_JWT": issuer.token("bin", life=-5)}, check=False)
    assert refused.returncode == 1 and "expired" in refused.stderr
