"""State that an older release left: the journal and the accounting store of tests/golden/before-digests (its README says
what is in them), and states that mix old names with new ones."""

import ctypes
import gzip
import hashlib
import os
import shutil
import struct
import subprocess

import pytest

from conftest import ROOT, program, wait_until
from rawwire import ERROR, Peer, messages
from test_attack_identity import HONEST, VICTIM, submit_as

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="jobs of several users")
OLD = ROOT / "tests" / "golden" / "before-digests"


@pytest.fixture
def site(folder, make_cluster):
    folder.chmod(0o755)
    c = make_cluster(start=False, nodes=1, conf="AccountingStoreFlags=job_script,job_env")
    c.work.chmod(0o777)
    (c.dir / "state" / "journal").mkdir(mode=0o700)
    shutil.copy(OLD / "journal.log", c.dir / "state" / "journal" / "0000000000000001.log")
    (c.dir / "state" / "accounting.sqlite").write_bytes(gzip.decompress((OLD / "accounting.sqlite.gz").read_bytes()))
    return c.start()


def script_of(c, job):
    return subprocess.run([program("scontrol"), "write", "batch_script", str(job), "-"], env=c.env, capture_output=True,
                          check=True).stdout


def stored(c, job, what="-B"):
    return subprocess.run([program("sacct"), what, "-j", str(job)], env=c.env, capture_output=True, check=True).stdout


def hashes(c):
    """Of the live state and of a replay of its log, at the same lsn."""
    live = c.run("penstock", "ping", "--hash").out.split()
    c.kill_ctld()
    replayed = c.run("penstock", "journal", "hash", str(c.dir / "state")).out.split()
    c.start_ctld()
    return live[live.index("hash") + 1], replayed[replayed.index("hash") + 1]


def test_old_jobs_keep_what_they_had(site):
    c = site
    assert [c.job(n)["JobState"] for n in (1, 2, 4)] == ["PENDING"] * 3
    assert script_of(c, 4).startswith(b"#!/bin/sh\necho \"late")
    assert script_of(c, 1) == script_of(c, 2)  # as that release decided: the victim's own bytes are nowhere
    c.run("scontrol", "update", "jobid=4", f"StdOut={c.work}/late")
    c.run("scontrol", "release", "3,4")
    c.wait_end(4)
    c.wait_end(3)
    assert (c.work / "late").read_text() == "late late\n"
    assert [c.state(f"3_{n}") for n in (1, 2, 3)] == ["COMPLETED"] * 3


def test_new_jobs_do_not_meet_old_names(site):
    """Job 1's script has the hash of HONEST, in the log and in the store; a new HONEST is itself, whatever was there."""
    c = site
    job = submit_as(c, VICTIM, HONEST)
    again = submit_as(c, VICTIM, HONEST)
    for n in (job, again):
        c.wait_end(n)
        assert (c.work / f"out-{n}").read_text() == f"honest work\n{VICTIM}\n"
        wait_until(lambda: b"honest work" in stored(c, n), "the new script in the store", 30)
    assert b"echo stolen" in script_of(c, 1) and b"echo stolen" in stored(c, 1)
    assert b"WHO=late" in stored(c, 4, "--env-vars")
    live, replayed = hashes(c)
    assert live == replayed
    assert b"echo stolen" in script_of(c, 1) and script_of(c, again).startswith(HONEST)
    c.run("scancel", "1", "2")
    c.wait_end(2)
    last = submit_as(c, VICTIM, HONEST)
    c.wait_end(last)
    assert (c.work / f"out-{last}").read_text() == f"honest work\n{VICTIM}\n"


def test_snapshot_of_both(site):
    """A snapshot holds old names and digests, large scripts too; what is younger than it follows from the log."""
    c, pb = site, messages()
    with Peer.local(c.port) as p:
        p.hello()
        for n in range(17):  # so much that a snapshot is due
            job = pb.JobRecord(name="large", batch=True, work_dir="/tmp", std_out="/dev/null", min_nodes=1, num_tasks=1)
            script = b"#!/bin/sh\n# %d\n" % n + b"x" * (4 << 20)
            flags, reply = p.call("job-submit", pb.SubmitRequest(job=job, script=script[:4 << 20], hold=True))
            assert not flags & ERROR, reply
    wait_until(lambda: list((c.dir / "state" / "journal").glob("*.snap")), "a snapshot", 60)
    live, replayed = hashes(c)
    assert live == replayed
    assert script_of(c, 1) == script_of(c, 2) and script_of(c, 4).startswith(b"#!/bin/sh\necho \"late")
    assert script_of(c, reply.job_id).startswith(b"#!/bin/sh\n# 16\n")


def append_record(log, payload):
    """A record behind the last one, as src/journal/format.h says: length, flags, lsn, hash; payload, padded to 8."""
    seeded = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    seeded.restype, seeded.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    data, at, flags, lsn = log.read_bytes(), 32, 0, 0
    while at + 24 <= len(data) and struct.unpack_from("<I", data, at)[0]:
        length, flags, lsn, _ = struct.unpack_from("<IIQQ", data, at)
        at += 24 + (length + 7) // 8 * 8
    head = struct.pack("<IIQ", len(payload), flags & 0xff, lsn + 1)
    hash = seeded(payload, len(payload), seeded(head, 16, 0))
    log.write_bytes(data[:at] + head + struct.pack("<Q", hash) + payload + bytes(-len(payload) % 8))


def test_bytes_that_are_not_their_name(site):
    """A log put together by hand has other bytes under a script's digest: they are not run for it."""
    c, pb = site, messages()
    c.kill_ctld()
    blob = pb.Blob(digest=hashlib.sha256(HONEST).digest(), data=b"#!/bin/sh\necho stolen\n")
    append_record(max((c.dir / "state" / "journal").glob("*.log")),
                  pb.Transaction(time_us=1795381282000000, events=[pb.Event(blob_put=blob)]).SerializeToString())
    c.start_ctld()
    (c.work / "whole.sh").write_bytes(HONEST)
    said = c.refused("sbatch", str(c.work / "whole.sh"))
    assert "holds something else under the name of this job's script" in said
