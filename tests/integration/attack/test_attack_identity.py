"""Attacks on names: contents and accounts that collide under a 64-bit hash must not stand for each other.

Scripts and environments were kept under the XXH3-64 of their bytes, the first to come under a hash for all.  XXH3 is no
cryptographic hash, and what follows finds, for any script of somebody else's that is long enough, another one of
the attacker's with the same hash: he submits it first, held, and the victim's job runs it with the victim's rights."""

import ctypes
import os
import pwd
import struct
import subprocess

import pytest

from conftest import program, wait_until
from rawwire import Peer, messages

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the attacker is another user")
NOBODY, VICTIM = 65534, pwd.getpwnam("games").pw_uid

# The public constant that XXH3 mixes its input with (xxhash.h).
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364")
STRIPE = 64
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def words(data):
    return struct.unpack(f"<{len(data) // 8}Q", data)


def hash_of(data):
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    return function(data, len(data))


def accumulate(data, stripes):
    """What XXH3 has added to its eight lanes after so many stripes of its first block.

    For each lane i: key = data ^ secret;  lane[i] += low32(key) * high32(key);  lane[i ^ 1] += data."""
    lanes = [0] * 8
    for n in range(stripes):
        secret = words(SECRET[8 * n:8 * n + STRIPE])
        for i, value in enumerate(words(data[STRIPE * n:STRIPE * (n + 1)])):
            key = value ^ secret[i]
            lanes[i] = (lanes[i] + (key & MASK32) * (key >> 32)) & MASK64
            lanes[i ^ 1] = (lanes[i ^ 1] + value) & MASK64
    return lanes


def forge(victim, payload):
    """Bytes of the victim's length and hash that begin with payload.

    After the payload come two stripes that bring the lanes to where the victim's bytes have them by then; from there
    on the bytes are the victim's own.  For each lane, in one of the two the low half of the word is the secret's, in
    the other the high half: one factor of the product is 0, so only the words themselves are added, to their
    neighbour.  The halves that are left can be chosen, and together make any sum of 64 bits."""
    at = len(payload) // STRIPE
    assert len(payload) == at * STRIPE and (at + 3) * STRIPE <= len(victim) and at + 2 <= 16
    want, have = accumulate(victim, at + 2), accumulate(payload, at)
    secrets = words(SECRET[8 * at:8 * at + STRIPE]), words(SECRET[8 * at + 8:8 * at + 8 + STRIPE])
    stripes = [0] * 8, [0] * 8
    for lane in range(8):
        target, i = (want[lane] - have[lane]) & MASK64, lane ^ 1
        a = 1 if 0 in struct.pack("<Q", secrets[1][i])[4:] else 0  # a script has no NUL
        low, high = secrets[a][i] & MASK32, secrets[1 - a][i] >> 32
        free_low = (target - low) & MASK32
        free_high = ((target - low - free_low >> 32) - high) & MASK32
        stripes[a][i] = free_high << 32 | low
        stripes[1 - a][i] = high << 32 | free_low
    return payload + struct.pack("<16Q", *stripes[0], *stripes[1]) + victim[(at + 2) * STRIPE:]


def forge_text(victim, payload, end, without=(b"\0", b"\r\n")):
    """The same, with a payload filled up by numbers until the forged stripes hold nothing that is refused."""
    for number in range(1000):
        text = payload + b"%04d" % number
        text += b"x" * (-(len(text) + len(end)) % STRIPE) + end
        forged = forge(victim, text)
        if not any(word in forged[len(text):len(text) + 2 * STRIPE] for word in without):
            assert forged != victim and len(forged) == len(victim) and hash_of(forged) == hash_of(victim)
            return forged
    raise AssertionError("every number gives something unwanted")


HONEST = b"#!/bin/sh\n" + b"# The site's script for everybody, which everybody can read.\n" * 10 + b"echo honest work\nid -u\n"


def test_the_forgery_is_one():
    """What the attacks below begin with: lengths around blocks, against libxxhash."""
    for victim in (HONEST, HONEST * 3, HONEST[:384], HONEST[:321]):
        forge_text(victim, b"#!/bin/sh\necho stolen\nexit 0\n#", b"\n")


@pytest.fixture
def site(folder, make_cluster):
    folder.chmod(0o755)
    c = make_cluster(nodes=1, conf="AccountingStoreFlags=job_script,job_env")
    c.work.chmod(0o777)
    return c


def submit_as(c, uid, script):
    path = c.work / f"job-{uid}.sh"
    path.write_bytes(script)
    path.chmod(0o644)
    done = subprocess.run([program("sbatch"), "--parsable", f"--output={c.work}/out-%j", *(["--hold"] if uid == NOBODY else []), str(path)],
                          env=c.env, cwd=c.work, capture_output=True, text=True, timeout=60, user=uid, group=uid, extra_groups=[])
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_forged_script_does_not_run_as_its_victim(site):
    """nobody's script with the hash of the one that the victim submits; the victim's job printed `stolen` and his uid."""
    c = site
    forged = forge_text(HONEST, b"#!/bin/sh\necho stolen\nid -u\nexit 0\n#", b"\n")
    attackers = submit_as(c, NOBODY, forged)
    job = submit_as(c, VICTIM, HONEST)
    c.wait_end(job)
    assert (c.work / f"out-{job}").read_text() == f"honest work\n{VICTIM}\n"
    assert subprocess.run([program("scontrol"), "write", "batch_script", str(job), "-"], env=c.env, capture_output=True,
                          check=True).stdout.startswith(HONEST)
    # After a restart too, from the log and from a snapshot, and in the accounting store.
    later = submit_as(c, VICTIM, HONEST)
    c.restart_ctld()
    c.wait_end(later)
    assert (c.work / f"out-{later}").read_text() == f"honest work\n{VICTIM}\n"
    wait_until(lambda: "honest work" in c.run("sacct", "-B", "-j", str(later)).out, "the victim's own script in the store", 30)
    stored = subprocess.run([program("sacct"), "-B", "-j", f"{attackers}"], env=c.env, capture_output=True, check=True).stdout
    assert b"echo stolen" in stored and b"echo stolen" not in c.run("sacct", "-B", "-j", f"{job},{later}").out.encode()


def test_a_forged_script_does_not_run_as_root(site):
    c = site
    submit_as(c, NOBODY, forge_text(HONEST, b"#!/bin/sh\necho stolen\nid -u\nexit 0\n#", b"\n"))
    job = submit_as(c, 0, HONEST)
    c.wait_end(job)
    assert (c.work / f"out-{job}").read_text() == "honest work\n0\n"


def test_a_forged_environment_is_not_the_victims(site):
    """The same with environments: an attacker's PATH or LD_PRELOAD would make any script his."""
    c, pb = site, messages()
    honest = b"".join(b"SITE_VARIABLE_%02d=of the victim\0" % n for n in range(40)) + b"PATH=/usr/bin:/bin\0"
    forged = forge_text(honest, b"PATH=/tmp/evil:/usr/bin:/bin\0WHOSE=stolen\0X=", b"\0Y=")
    script = b"#!/bin/sh\necho \"$WHOSE $SITE_VARIABLE_00\"\n"

    def submit(uid, environment, name):
        job = pb.JobRecord(name=name, batch=True, work_dir=str(c.work), std_out=f"{c.work}/{name}", min_nodes=1, num_tasks=1)
        with Peer.local(c.port, uid=uid) as p:
            assert p.hello() == uid
            flags, reply = p.call("job-submit", pb.SubmitRequest(job=job, script=script, environment=environment, hold=uid == NOBODY))
            assert not flags & 4, reply
            return reply.job_id

    submit(NOBODY, forged, "attackers")
    job = submit(VICTIM, honest, "victims")
    c.wait_end(job)
    assert (c.work / "victims").read_text() == " of the victim\n"
