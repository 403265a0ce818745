"""slurm.jwks as people configure it: several keys with names, one that signs, expiry; and rotation that no command notices."""

import base64
import json
import os
import subprocess
import threading
import time

import pytest

from conftest import SLOW, program, wait_until
from rawwire import Peer
from test_vouch import Forward

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="daemons run as root")
RATE, SECONDS = 100, 6


def key(kid, **more):
    return {"alg": "HS256", "kty": "oct", "kid": kid, "k": base64.urlsafe_b64encode((kid * 32).encode()[:32]).decode().rstrip("="), **more}


def write(c, *keys, name="slurm.jwks", mode=0o600):
    path = c.dir / "etc" / name
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"keys": keys}))
    new.chmod(mode)
    new.rename(path)
    return path


def names(c):
    """The file's keys that slurmctld takes, asked as root over TCP."""
    taken = []
    for kid in ("a", "b", "c"):
        with Peer.tcp(c.port) as p:
            from rawwire import mac, messages
            try:
                p.greet(mac((kid * 32).encode()[:32], b"PSTK hello 2\0"), messages().AUTH_KEY, key_id=kid)
                taken.append(kid)
            except PermissionError:
                pass
    return "".join(taken)


@pytest.fixture
def cluster(make_cluster):
    c = make_cluster(start=False, nodes=2)
    write(c, key("a"))
    c.start()
    assert not (c.dir / "etc/slurm.key").exists(), "slurm.jwks takes its place"
    return c


class Submitters:
    """RATE submissions a second by the network, as a host that has no key of its own makes them."""

    def __init__(self, c):
        self.c, self.forward, self.ends = c, Forward(c.port), []
        folder = c.dir / "login-etc"
        folder.mkdir()
        (folder / "slurm.conf").write_text(c.conf.read_text().replace(f"SlurmctldPort={c.port}", f"SlurmctldPort={self.forward.port}"))
        self.env = c.env | {"SLURM_CONF": str(folder / "slurm.conf"), **c.sack("slurmctld")}
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.submit, args=(i,)) for i in range(4)]
        for t in self.threads:
            t.start()

    def submit(self, which):
        at = time.monotonic() + which / RATE
        while not self.over.is_set():
            done = subprocess.run([program("sbatch"), "--parsable", "-H", "-o/dev/null", "--wrap", "true"], env=self.env, cwd="/",
                                  text=True, capture_output=True)
            self.ends.append((done.returncode, done.stderr))
            at += 4 / RATE
            self.over.wait(max(0, at - time.monotonic()))

    def end(self):
        self.over.set()
        for t in self.threads:
            t.join()
        self.forward.close()
        return self.ends


def test_rotation_fails_no_command(cluster):
    """A key is added, signs, and the old one goes, while 100 jobs a second are submitted and steps are launched."""
    c = cluster
    long = c.popen("srun", "-N2", "--overlap", "sleep", "600")
    job = wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-o", "%i").out.strip(), "the step runs")
    begun = time.monotonic()
    load = Submitters(c)
    try:
        for keys, taken in (([key("a"), key("b")], "ab"), ([key("a"), key("b", use="default")], "ab"), ([key("b")], "b")):
            write(c, *keys)
            c.run("scontrol", "reconfigure")
            wait_until(lambda: names(c) == taken, f"slurmctld takes {taken}")
            assert len(c.run("srun", "-N2", f"--jobid={job}", "--overlap", "hostname").out.split()) == 2
            assert f"{job}.0" in c.run("sstat", "-n", "-P", "-j", f"{job}.0", "-o", "JobID").out
            time.sleep(max(0, begun + SECONDS / 3 - time.monotonic()) / 3)
        wait_until(lambda: time.monotonic() - begun >= SECONDS, "the time is over")
    finally:
        ends = load.end()
        rate = len(ends) / (time.monotonic() - begun)
    assert not [e for e in ends if e[0]], [e for e in ends if e[0]][:3]
    assert len(ends) >= 100, len(ends)
    print(f"{len(ends)} submissions, {rate:.0f} a second")
    c.run("scancel", job)
    long.wait(20 * SLOW)


def test_an_expired_key_signs_and_opens_nothing(make_cluster):
    c = make_cluster(start=False, nodes=1)
    write(c, key("a", exp=int(time.time()) - 10), key("b", exp=int(time.time()) + 8), key("c"))
    c.start()
    assert names(c) == "bc"
    assert c.run("srun", "hostname").out.strip()
    wait_until(lambda: names(c) == "c", "the second one expires without a reconfiguration", 20)
    assert c.run("srun", "hostname").out.strip()


@pytest.mark.parametrize("keys, words", [
    ([{**key("a"), "kty": "RSA"}], 'key 1: kty has to be "oct" and alg "HS256"'),
    ([key("a"), key("a")], 'key 2: kid "a" is there twice'),
    ([key("a", use="default"), key("b", use="default")], 'key 2: use="default" is there twice'),
    ([{**key("a"), "k": "c2hvcnQ"}], "key 1: k has to be 16 bytes or more in base64"),
    ([key("a b")], "key 1: kid has to be a name"),
    ([key("a", exp="soon")], "key 1: exp has to be seconds since 1970"),
    ([key("a", exp=1)], "every key of it has expired"),
    ([], '"keys" has to be a list of 1 to 8 keys'),
])
def test_a_wrong_file_changes_nothing(shared_jwks, keys, words):
    c = shared_jwks
    write(c, *keys)
    assert words in c.refused("scontrol", "reconfigure")
    assert names(c) == "a"


@pytest.fixture(scope="module")
def shared_jwks(request):
    from conftest import Cluster
    import shutil
    import tempfile
    from pathlib import Path
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    c = Cluster(folder, nodes=1)
    write(c, key("a"))
    try:
        yield c.start()
    finally:
        problems = c.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert not problems, problems


def test_a_file_that_others_may_read_is_refused(shared_jwks):
    write(shared_jwks, key("b"), mode=0o604)
    assert "must be 600" in shared_jwks.refused("scontrol", "reconfigure")
    write(shared_jwks, key("a"))
    shared_jwks.run("scontrol", "reconfigure")


def test_a_key_of_any_bytes(make_cluster):
    """slurm.key as dd makes it from /dev/random."""
    c = make_cluster(start=False, nodes=2)
    path = c.dir / "etc/slurm.key"
    path.write_bytes(os.urandom(1024))
    path.chmod(0o600)
    c.start()
    assert len(c.run("srun", "-N2", "hostname").out.split()) == 2
