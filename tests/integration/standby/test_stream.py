"""Controllers that send their log to one another (JournalType=stream), each with a disk of its own, and a witness."""

import os
import re
import socket
import time

import pytest
from conftest import SLOW, wait_until
from streams import StreamControllers
from test_standby import sleep_through_lease


@pytest.fixture
def make(folder):
    made = []

    def build(**options):
        path = folder / f"c{len(made)}"
        path.mkdir()
        options.setdefault("nodes", 1)
        options.setdefault("lease_ms", int(1500 * SLOW))
        options.setdefault("patience_ms", int(1000 * SLOW))
        made.append(StreamControllers(path, **options))
        c = made[-1].start()
        c.wait_in_sync(*c.hosts)
        return c
    yield build
    problems = [p for c in made for p in c.stop()]
    for c in made if problems else []:
        print(c.logs(""))
    assert not problems, problems


def ran_once(c, job):
    c.wait_end(job)
    record = c.job(job)
    assert record["JobState"] == "COMPLETED" and record["Restarts"] == "0", record
    assert (c.work / "ran").read_text().split().count(str(job)) == 1


def accepted(c, what="a job is accepted", timeout=30):
    return int(wait_until(lambda: c.run("sbatch", "--parsable", "-H", "--wrap", "true", check=False).out, what, timeout * SLOW))


def queued(c, **options):
    return sorted(int(i) for i in c.run("squeue", "-h", "-o", "%i", **options).out.split())


def test_active_is_killed_and_back(make):
    c = make()
    running = c.sbatch("--wrap", f"echo $SLURM_JOB_ID >> ran; srun sleep {4 * SLOW}")
    c.wait_state(running, "RUNNING")
    jobs = [c.sbatch("-n4", "--wrap", f"echo $SLURM_JOB_ID >> ran; : {'x' * 200}") for _ in range(5)]
    c.ctlds["ctl1"].kill()
    later = int(wait_until(lambda: c.run("sbatch", "--parsable", "--wrap", "echo $SLURM_JOB_ID >> ran", check=False).out,
                           "a job is accepted again", 30 * SLOW))
    assert later == jobs[-1] + 1 and c.active() == "ctl2"
    assert c.record()[1:] == ("ctl2", ["ctl2"])
    assert not (c.dir / "state" / "journal").exists()
    for job in [running, *jobs, later]:
        ran_once(c, job)  # scripts came with the log
    c.start_one("ctl1")
    c.wait_active("ctl1", 30 * SLOW)  # the first in the list gets control back, once it is in sync
    c.wait_in_sync("ctl1", "ctl2")
    last = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    assert last == later + 1
    ran_once(c, last)


def test_standby_is_killed(make):
    c = make()
    before = c.sbatch("-H", "--wrap", "true")
    c.ctlds["ctl2"].kill()
    assert accepted(c) == before + 1  # a batch waits for it, for its patience
    assert c.record()[2] == ["ctl1"] and c.active() == "ctl1"
    more = [c.sbatch("-H", "--wrap", "true") for _ in range(20)]
    c.start_one("ctl2")
    c.wait_in_sync("ctl1", "ctl2")
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    assert queued(c) == [before, before + 1, *more]


def test_who_is_not_in_sync_does_not_lead(make):
    c = make()
    c.ctlds["ctl2"].kill()
    job = accepted(c)
    c.wait_in_sync("ctl1")
    c.ctlds["ctl1"].kill()
    c.start_one("ctl2")
    wait_until(lambda: "has term 1" in c.ctld_log("ctl2"), "ctl2 has seen the record", 20 * SLOW)
    seen = time.monotonic()
    while time.monotonic() - seen < 3 * c.lease_ms / 1000:  # far beyond the lease
        assert c.active() is None
        time.sleep(0.2)
    assert c.record()[1] == "ctl1"
    c.start_one("ctl1")
    wait_until(lambda: c.active() == "ctl1", "ctl1 leads again", 30 * SLOW)
    assert queued(c) == [job]


def test_sleeper_acknowledges_nothing(make):
    c = make()
    assert sleep_through_lease(c) == []
    wait_until(lambda: "term 1 is over" in c.ctld_log("ctl1"), "the sleeper knows", 20 * SLOW)
    wait_until(lambda: c.pings() == {"ctl1": True, "ctl2": True}, "the sleeper stands by", 20 * SLOW)
    assert c.active() == "ctl2"
    c.wait_in_sync("ctl1", "ctl2")
    c.ctlds["ctl2"].kill()
    c.wait_active("ctl1", 30 * SLOW)


def test_tail_that_nobody_acknowledged(make):
    c = make(patience_ms=60000)
    kept = c.sbatch("-H", "--wrap", "true")
    c.only("ctl1")
    c.ctlds["ctl2"].kill()  # in sync, and it will be waited for: a batch of ctl1 is on its own disk alone
    done = c.run("sbatch", "--parsable", "-H", "-J", "nobody-has-it", "--wrap", "true", check=False, timeout=60,
                 env={**c.only("ctl1"), "SLURM_CONF": str(c.impatient("ctl1"))})
    assert done.rc != 0
    c.ctlds["ctl1"].kill()
    c.start_one("ctl2")
    c.wait_active("ctl2", 30 * SLOW)
    other = accepted(c)
    c.start_one("ctl1")
    c.wait_in_sync("ctl1", "ctl2")
    aside = list(c.journal("ctl1").glob("unacknowledged-*"))
    assert len(aside) == 1 and list(aside[0].glob("*.log"))
    assert "which nobody has acknowledged" in c.ctld_log("ctl1")
    c.wait_active("ctl1", 30 * SLOW)
    assert queued(c) == sorted([kept, other])
    assert "nobody-has-it" not in c.run("squeue", "-h", "-o", "%j").out


def test_witness_is_away(make):
    c = make()
    before = c.sbatch("-H", "--wrap", "true")
    c.witness.kill()
    until = time.monotonic() + 3 * c.lease_ms / 1000
    count = 0
    while time.monotonic() < until:  # all of the set answer: no lease is lost
        assert accepted(c) == before + 1 + count
        count += 1
    assert c.active() == "ctl1" and "is over" not in c.ctld_log("ctl1")
    c.start_witness()
    assert c.record()[1:] == ("ctl1", ["ctl1", "ctl2"])
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    assert len(queued(c)) == count + 1


def test_witness_and_standby_are_away(make):
    c = make()
    kept = c.sbatch("-H", "--wrap", "true")
    c.witness.kill()
    c.ctlds["ctl2"].kill()
    wait_until(lambda: "term 1 is over" in c.ctld_log("ctl1"), "ctl1 stands by: it cannot know", 30 * SLOW)
    c.start_witness()
    wait_until(lambda: c.active() == "ctl1", "ctl1 leads again", 30 * SLOW)
    accepted(c)
    assert c.record()[2] == ["ctl1"]
    assert kept in queued(c)


def test_all_are_killed(make):
    c = make(controllers=3)
    jobs = [c.sbatch("-H", "--wrap", "true") for _ in range(10)]
    for host in c.hosts:
        c.ctlds[host].kill()
    c.witness.kill()
    c.start_witness()
    for host in reversed(c.hosts):
        c.start_one(host)
    wait_until(lambda: c.active(), "somebody leads", 40 * SLOW)
    assert queued(c) == jobs
    c.wait_in_sync(*c.hosts, timeout=60 * SLOW)


def test_a_disk_is_lost(make):
    c = make()
    jobs = [c.sbatch("-H", "--wrap", "true") for _ in range(5)]
    c.ctlds["ctl2"].kill()
    c.wipe("ctl2")
    c.start_one("ctl2")  # the same host, with another log
    c.wait_in_sync("ctl1", "ctl2")
    jobs.append(accepted(c))
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    assert queued(c) == jobs


def test_scontrol_takeover(make):
    c = make()
    c.run("scontrol", "takeover", "1", timeout=60)
    assert c.active() == "ctl2"
    c.wait_in_sync("ctl1", "ctl2")
    assert re.search(r"giving up control for ctl2", c.ctld_log("ctl1"))


def test_log_of_one_controller_goes_on(make):
    """A folder that was a single controller's, or was shared, keeps its log; the others get it."""
    c = make(controllers=1)
    jobs = [c.sbatch("-H", "--wrap", "true") for _ in range(5)]
    c.ctlds["ctl1"].stop()
    (c.journal("ctl1") / "stream.id").unlink()  # as a log that no other controller has seen
    c.witness.stop()
    (c.dir / "witness" / "witness").unlink()
    c.run("penstock", "witness", "-f", str(c.conf), "--state", str(c.dir / "witness"), "--new", "ctl1")
    c.start_witness()
    c.start_one("ctl1")
    c.wait_active("ctl1", 30 * SLOW)
    assert queued(c) == jobs and c.record()[0] > 1  # a later term than those of the log


def test_told_by_sdiag(make):
    c = make()
    wait_until(lambda: re.search(r"Log sent to standbys\n\tWitness: answers\n\tFailed tries: 0\n\tctl2: in sync, lag \d+ bytes",
                                 c.run("sdiag", "-v").out), "sdiag tells of ctl2", 20 * SLOW)
    c.ctlds["ctl2"].kill()
    c.wait_in_sync("ctl1")
    assert re.search(r"\tctl2: does not follow, lag \d+ bytes, \d+ ms: .", c.run("sdiag", "-v").out)


def test_told_by_ping(make):
    """Who leads and who is in sync; the lines that programs read stay as they are."""
    c = make()
    active, other = (r"active, term 1, record \d+", r"stands by, term 1, record \d+, \d+ behind, in sync")
    wait_until(lambda: re.fullmatch(rf"ctl1: {active}\nctl2: {other}\n", c.run("penstock", "ping", "--all", check=False).out),
               "ping tells of both", 20 * SLOW)
    up = [f"Slurmctld({rank}) at {host} is UP\n" for rank, host in (("primary", "ctl1"), ("backup", "ctl2"))]
    assert c.run("scontrol", "ping").out == "".join(up)
    assert re.fullmatch(rf"{re.escape(up[0])}   {active}\n{re.escape(up[1])}   {other}\n", c.run("scontrol", "-d", "ping").out)
    c.freeze("ctl1")
    c.ctlds["ctl2"].kill()
    done = c.run("penstock", "ping", "--all", check=False)
    assert done.rc == 1 and done.out == "ctl1: does not answer\nctl2: does not answer\n"
    c.thaw("ctl1")
    c.start_one("ctl2")


def test_oldest_of_what_was_put_aside_goes(make):
    c = make()
    kept = c.sbatch("-H", "--wrap", "true")
    for i in range(9):  # as nine returns of a controller would leave them
        (c.journal("ctl2") / f"unacknowledged-2026010{i + 1}T000000Z").mkdir()
    c.ctlds["ctl2"].kill()
    c.wait_in_sync("ctl1")
    (c.journal("ctl2") / "stream.id").unlink()  # as another log: it is replaced
    c.start_one("ctl2")
    c.wait_in_sync("ctl1", "ctl2")
    aside = sorted(p.name for p in c.journal("ctl2").glob("unacknowledged-*"))
    assert aside == [f"unacknowledged-2026010{i + 1}T000000Z" for i in range(1, 9)]
    assert len(list(c.journal("ctl2").glob("replaced-*"))) == 1
    wait_until(lambda: re.search(r"\tctl2: in sync, .*, 9 logs put aside \(\d+ bytes\)\n\tLogs put aside here: 0 \(0 bytes\)\n",
                                 c.run("sdiag", "-v").out), "sdiag counts them", 20 * SLOW)
    assert queued(c) == [kept]


def test_another_key_does_not_follow(make):
    c = make()
    c.ctlds["ctl2"].kill()
    c.wait_in_sync("ctl1")
    (c.dir / "state-ctl2" / "slurmctld.key").unlink()
    c.copy_key = lambda host: None
    c.start_one("ctl2")
    wait_until(lambda: "slurmctld.key of ctl2 is another" in c.run("sdiag", "-v").out, "sdiag says why", 20 * SLOW)
    assert c.record()[2] == ["ctl1"]
    accepted(c)


def test_encrypted(make):
    """Controllers and the witness speak TLS to one another where all daemons do."""
    c = make(conf="TLSType=tls/auto")
    job = c.sbatch("-H", "--wrap", "true")
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    assert queued(c) == [job]
    with socket.create_connection(("127.0.0.100", c.witness_port), timeout=10) as plain:
        plain.sendall(b"\0" * 64)
        try:
            said = plain.recv(4096)
        except ConnectionResetError:
            said = b""
        assert b"PSTK" not in said  # to who does not, the witness says nothing


def test_witness_command(make, folder):
    c = make()
    state = ["-f", str(c.conf), "--state", str(c.dir / "witness")]
    assert "has a record already: term 1" in c.run("penstock", "witness", *state, "--new", "ctl1", check=False).err
    other = ["-f", str(c.conf), "--state", str(folder / "none")]
    done = c.run("penstock", "witness", *other, "--check", check=False)
    assert done.rc == 1 and "No such file or directory" in done.err
    assert "no SlurmctldHost has this name" in c.run("penstock", "witness", *other, "--new", "ctl9", check=False).err
    assert c.run("penstock", "witness", "--check", check=False).rc == 2
    record = c.dir / "witness" / "witness"
    c.witness.stop()
    sound = record.read_bytes()
    record.write_bytes(sound[:40] + bytes([sound[40] ^ 1]) + sound[41:])
    assert "is damaged" in c.run("penstock", "witness", *state, "--check", check=False).err
    record.write_bytes(sound)
    c.start_witness()
    assert os.stat(record).st_mode & 0o777 == 0o600
    assert c.record()[0] == 1
