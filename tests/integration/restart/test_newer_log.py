"""The log of a newer release: refused with a sentence and left alone, and made readable again by `penstock journal downgrade`.
A newer release is played by hand: its level in the headers of files, a field and an event that this release does not know."""

import ctypes
import json
import re
import struct
import subprocess

import pytest
from conftest import ROOT, SLOW, program, wait_until
from controllers import Controllers
from etcds import Etcd, EtcdControllers, have_etcd
from rawwire import messages
from streams import StreamControllers
from test_old_state import append_record, hashes

FIELD, EVENT = 4090, 4091  # numbers that no release has


def own_level():
    text = (ROOT / "src" / "journal" / "format.h").read_text()
    return int(re.search(r"#define LOG_LEVEL (\d+)u", text)[1])


def hash_of(data):
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    return function(data, len(data))


def set_level(path, level):
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 6, level)
    struct.pack_into("<Q", data, 24, hash_of(bytes(data[:24])))
    path.write_bytes(data)


def level_of(path):
    return struct.unpack_from("<H", path.read_bytes(), 6)[0]


def varint(n):
    out = b""
    while n > 0x7f:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def bytes_field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def newer_records(c, job):
    """What the newer release wrote: the job gets a comment and a field of its own, and something of a new kind happens."""
    pb = messages()
    patch = pb.JobPatch(job_id=job, set=pb.JobRecord(comment="from the newer release"))
    changed = bytes_field(2, patch.set.SerializeToString() + bytes_field(FIELD, b"new"))  # 2: set
    event = bytes_field(3, varint(1 << 3) + varint(job) + changed)                          # 3: job_patch
    return (bytes_field(2, event), bytes_field(2, bytes_field(EVENT, b"a new kind")))       # 2: events of a Transaction


def journal_of(c, state="state"):
    return c.dir / state / "journal"


def play_newer(c, *payloads, state="state"):
    """The log as a newer release leaves it, ended by a kill."""
    for payload in payloads:
        append_record(max(journal_of(c, state).glob("*.log")), payload)
    for path in [*journal_of(c, state).glob("*.log"), *journal_of(c, state).glob("*.snap")]:
        set_level(path, own_level() + 1)


def newer_term(data):
    """The record of a term, as the newer release writes it."""
    data = bytearray(data)
    struct.pack_into("<I", data, 44, own_level() + 1)
    struct.pack_into("<Q", data, len(data) - 8, hash_of(bytes(data[:-8])))
    return bytes(data)


def journal(c, *argv, check=True, state="state"):
    done = subprocess.run([program("penstock"), "journal", *argv, str(c.dir / state)], env=c.env, capture_output=True, text=True)
    assert not check or done.returncode == 0, done
    return done


def contents(c):
    return {p.name: p.read_bytes() for p in journal_of(c).iterdir() if p.is_file() and p.name != "lock"}


def test_newer_log_is_refused_and_left_alone(make_cluster):
    c = make_cluster(nodes=1)
    c.sbatch("--hold", wrap="true")
    c.kill_ctld()
    play_newer(c)
    before = contents(c)
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(c.conf)], env=c.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "a newer release wrote it: start that release again" in done.stderr + c.logs("slurmctld")
    for verb in ("repair", "hash", "dump"):
        told = journal(c, verb, check=False)
        assert told.returncode == 1 and "newer release" in told.stderr, told
    assert "newer release" in journal(c, "verify", check=False).stdout
    assert contents(c) == before
    for path in journal_of(c).glob("*.log"):
        set_level(path, own_level())
    c.start_ctld()


def test_downgrade_keeps_jobs(make_cluster):
    c = make_cluster(nodes=1)
    held = c.sbatch("--hold", wrap="echo ran")
    other = c.sbatch("--hold", "--comment=mine", wrap="true")
    c.kill_ctld()
    play_newer(c, *newer_records(c, held))
    before = contents(c)
    told = journal(c, "downgrade", "--dry-run").stdout
    assert re.search(rf"unknown here, dropped: field {FIELD} of pst.JobRecord, 1 times, first in record \d+\n", told), told
    assert re.search(rf"unknown here, dropped: events of kind {EVENT}, 1 times, first in record \d+\n", told), told
    assert contents(c) == before
    again = journal(c, "downgrade").stdout
    assert again.startswith(told) and "is written again; the old one is in newer-" in again, again
    kept = {p.name: p.read_bytes() for p in journal_of(c).glob("newer-*/*")}
    assert kept and all(before[name] == data for name, data in kept.items())
    assert "nothing was changed" in journal(c, "downgrade").stdout
    records = [json.loads(line) for line in journal(c, "dump").stdout.splitlines()]
    assert [r["lsn"] for r in records] == list(range(1, len(records) + 1)) and records[-1]["transaction"] == {}
    c.start_ctld()
    assert c.job(held)["Comment"] == "from the newer release" and c.job(other)["Comment"] == "mine"
    live, replayed = hashes(c)
    assert live == replayed
    c.wait_nodes()
    c.run("scontrol", "release", str(held))
    c.wait_end(held)
    assert c.state(held) == "COMPLETED"


def test_downgrade_refuses_a_running_controller(make_cluster):
    c = make_cluster(nodes=1)
    done = journal(c, "downgrade", check=False)
    assert done.returncode == 1 and "in use by another process" in done.stderr, done
    assert journal(c, "downgrade", "--dry-run").stdout == ""


def test_what_does_not_fit_stops_the_downgrade(make_cluster):
    """Without what is unknown the log would not hold: nothing is changed."""
    pb = messages()
    c = make_cluster(nodes=1)
    c.kill_ctld()
    orphan = pb.Transaction(events=[pb.Event(job_patch=pb.JobPatch(job_id=77, set=pb.JobRecord(comment="of nobody")))])
    play_newer(c, orphan.SerializeToString())
    before = contents(c)
    done = journal(c, "downgrade", check=False)
    assert done.returncode == 1
    assert re.search(r"without what this release does not know, record \d+ cannot be applied: job 77: changed but unknown",
                     done.stderr), done
    assert contents(c) == before
    for path in journal_of(c).glob("*.log"):
        path.unlink()
    c.start_ctld()


def test_standby_of_an_older_release_stands_aside(folder):
    """The newer release leads: the older one neither stands by nor asks for control, and says why; after the way back it leads."""
    c = Controllers(folder, nodes=1).start()
    try:
        job = c.sbatch("--hold", "--wrap", "true")
        for host in c.hosts:
            c.ctlds[host].kill()
        play_newer(c)
        newest = max(journal_of(c).glob("*.term"))
        newest.write_bytes(newer_term(newest.read_bytes()))
        daemon = c.start_one("ctl2", timeout=None)
        wait_until(lambda: "standing by without the log: the log is that of a newer release, with which ctl1 took term 1: "
                   "update this host as well" in c.ctld_log("ctl2"), "the older release says why")
        wait_until(lambda: c.pings()["ctl2"], "it answers pings")
        told = c.refused("squeue")
        assert "slurm_load_jobs error" in told, told
        assert "taking control: term 2" not in c.ctld_log("ctl2") and daemon.alive()
        daemon.stop()
        journal(c, "downgrade")
        c.start_ctld()
        assert c.job(job)["JobState"] == "PENDING"
    finally:
        problems = c.stop()
    assert not problems, problems


def stop_newer(c, job):
    """All controllers end, and the witness; what each has on its disk is the newer release's."""
    wait_until(lambda: re.search(r"ctl2: stands by, .*, 0 behind, in sync", c.run("penstock", "ping", "--all", check=False).out),
               "ctl2 has everything", 20 * SLOW)
    for host in c.hosts:
        c.ctlds[host].kill()
    c.witness.stop()
    for host in c.hosts:
        play_newer(c, *newer_records(c, job), state=f"state-{host}")
    path = c.dir / "witness" / "witness"
    data = bytearray(path.read_bytes())
    data[744:1256] = newer_term(data[744:1256])  # of the lease
    struct.pack_into("<Q", data, 1272, hash_of(bytes(data[:1272])))
    path.write_bytes(data)


def test_log_that_is_sent_is_taken_back(folder):
    """Each controller's log, and the witness's record; a controller with an empty disk gets a copy."""
    c = StreamControllers(folder, nodes=1, controllers=3, lease_ms=int(1500 * SLOW)).start()
    try:
        c.wait_in_sync(*c.hosts)
        job = c.sbatch("--hold", "--wrap", "true")
        stop_newer(c, job)
        for host in ("ctl1", "ctl2"):
            assert "is written again" in journal(c, "downgrade", state=f"state-{host}").stdout
        c.wipe("ctl3")
        c.start_witness()
        daemon = c.start_one("ctl1", timeout=None)
        wait_until(lambda: "standing by without the log: the log is that of a newer release" in c.ctld_log("ctl1"), "ctl1 says why")
        daemon.stop()
        c.witness.stop()
        lower = ["penstock", "witness", "-f", str(c.conf), "--state", str(c.dir / "witness"), "--downgrade"]
        assert c.run(*lower).out == "controllers of this release may go on after term 1\n"
        assert "nothing was changed" in c.run(*lower).out
        c.start_witness()
        for host in c.hosts:
            c.start_one(host)
        c.wait_active("ctl1", 30 * SLOW)
        c.wait_in_sync(*c.hosts)
        assert c.job(job)["Comment"] == "from the newer release"
        c.ctlds["ctl1"].kill()
        c.wait_active("ctl2", 30 * SLOW)
        assert c.job(job)["Comment"] == "from the newer release"
        assert not list(journal_of(c, "state-ctl2").glob("replaced-*"))  # it had the same log
    finally:
        problems = c.stop()
    assert not problems, problems


@pytest.mark.skipif(not have_etcd(), reason="etcd is not installed")
def test_copy_of_a_log_in_etcd_is_not_taken_back(folder):
    (folder / "etcd").mkdir()
    (folder / "cluster").mkdir()
    etcd = Etcd(folder / "etcd", members=1).start()
    try:
        c = EtcdControllers(folder / "cluster", etcd, nodes=1, controllers=1).start()
        problems = c.stop()
        play_newer(c, state="state-ctl1")
        before = {p.name: p.read_bytes() for p in journal_of(c, "state-ctl1").iterdir() if p.is_file()}
        done = journal(c, "downgrade", check=False, state="state-ctl1")
        assert done.returncode == 1 and "is a copy of a log in etcd, which cannot be taken back" in done.stderr, done
        assert {p.name: p.read_bytes() for p in journal_of(c, "state-ctl1").iterdir() if p.is_file()} == before
    finally:
        etcd.stop()
    assert not problems, problems
