"""The cluster as it was (penstock journal at), and who changed it (penstock journal audit): both read the files of a
controller that runs, and change nothing."""

import json
import os
import pwd
import re
import threading
import time
from datetime import datetime
from pathlib import Path

from conftest import wait_until


def last_lsn(c):
    return int(c.run("penstock", "journal", "dump", str(c.dir / "state")).out.splitlines()[-1].split(",")[0].split(":")[1])


def at(c, when, *command, check=True):
    return c.run("penstock", "journal", "at", str(when), "--", *command, check=check)


def files(c):
    """The files of StateSaveLocation and of its journal: names, sizes, times of change.  The accounting database follows by
    itself."""
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in (c.dir / "state").rglob("*")
                  if not p.name.startswith("accounting"))


def settled(c):
    """The last record, once nothing is written any more."""
    seen = []

    def quiet():
        seen.append(files(c))
        return len(seen) > 1 and seen[-1] == seen[-2]
    wait_until(quiet, "the log is quiet")
    return last_lsn(c)


def test_the_cluster_as_it_was(cluster):
    c = cluster
    running, waiting = c.sbatch("-n1", wrap="sleep 60"), c.sbatch("-H", wrap="true")
    c.wait_state(running, "RUNNING")
    lsn, shown = last_lsn(c), c.run("squeue", "-h", "-o", "%i %t %N").out
    c.run("scancel", running, waiting)
    c.wait_end(running)
    c.run("scontrol", "update", f"nodename={c.node_names[0]}", "state=drain", "reason=later")
    assert sorted(at(c, lsn, "squeue", "-h", "-o", "%i %t %N").out.splitlines()) == sorted(shown.splitlines())
    done = at(c, lsn, "scontrol", "show", "job", running)
    assert "JobState=RUNNING" in done.out
    assert re.fullmatch(rf"penstock: the cluster as of [-\dT:]+, record {lsn}\n", done.err)
    assert "drain" not in at(c, lsn, "sinfo", "-h", "-N", "-o", "%N %T").out
    assert "drain" in c.run("sinfo", "-h", "-N", "-o", "%N %T").out


def test_times_count_to_the_moment(cluster):
    c = cluster
    job = c.sbatch("-n1", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    lsn, began = last_lsn(c), time.monotonic()
    wait_until(lambda: time.monotonic() - began > 3, "three seconds are over")
    assert c.run("squeue", "-h", "-o", "%M").out.strip() not in ("0:00", "0:01")
    assert at(c, lsn, "squeue", "-h", "-o", "%M").out.strip() in ("0:00", "0:01")
    now = datetime.now().strftime("%Y-%m-%dT%H:%M:%S")
    assert at(c, now, "squeue", "-h", "-o", "%i").out.strip() == str(job)


def test_nothing_changes(cluster):
    c = cluster
    job = c.sbatch("-H", wrap="true")
    lsn = settled(c)
    before = files(c)
    sentence = "this shows the cluster as it was: nothing can be changed or computed"
    for command in (("scancel", job), ("sbatch", "--wrap", "true"), ("scontrol", "hold", job), ("scontrol", "reconfigure"),
                    ("scontrol", "shutdown"), ("scontrol", "update", f"nodename={c.node_names[0]}", "state=drain", "reason=x"), ("sacct",)):
        done = at(c, lsn, *map(str, command), check=False)
        assert done.rc != 0 and sentence in done.err, (command, done)
    assert files(c) == before
    assert c.state(job) == "PENDING"
    assert not [p for p in Path("/tmp").glob("penstock-past-*") if p.stat().st_uid == os.getuid()]


def test_exit_codes_and_sentences(cluster):
    c = cluster
    lsn = last_lsn(c)
    assert at(c, lsn, "sh", "-c", "exit 7", check=False).rc == 7
    for when, words in ((lsn + 100000, "has no record"), ("2020-01-01", "reaches back to record 1 of 20"),
                        ("now+1hour", "is still to come"), ("soonish", "soonish")):
        done = at(c, when, "true", check=False)
        assert done.rc == 1 and words in done.err and len(done.err.splitlines()) == 1, (when, done)
    assert c.run("penstock", "journal", "at", "5", check=False).rc == 2
    assert "command not found" in at(c, lsn, "sh", "-c", "nope-nope", check=False).err.replace("not found", "command not found")


def test_who_did_what(cluster):
    c = cluster
    job = c.sbatch("-H", wrap="true")
    c.run("scontrol", "update", f"jobid={job}", "timelimit=7")
    c.run("scancel", job)
    c.wait_end(job)
    lines = c.run("penstock", "journal", "audit", "--job", str(job)).out.splitlines()
    user = pwd.getpwuid(os.getuid()).pw_name
    assert [line.split()[2:5] for line in lines] == [[user, "local", op] for op in ("job-submit", "job-update", "job-action")]
    assert '"time_limit_min":7' in lines[1]
    out = c.run("penstock", "journal", "audit", "--json", "--op", "job-update", "--user", user).out
    told = [json.loads(line) for line in out.splitlines()]
    assert told[-1]["events"][0]["set"]["time_limit_min"] == 7 and told[-1]["uid"] == os.getuid()
    assert c.run("penstock", "journal", "audit", "--user", "4294000001").out == ""
    assert c.run("penstock", "journal", "audit", "--until", "2020-01-01").out == ""
    assert f"job={job}" in c.run("penstock", "journal", "audit", "--from", "now-1hour").out


def test_the_address_is_told(make_cluster):
    c = make_cluster(conf="AuthAltTypes=auth/jwt\n")
    token = c.run("scontrol", "token", "lifespan=600").out.partition("=")[2].strip()
    held = c.sbatch("-H", wrap="true", env={"SLURM_JWT": token})
    assert c.run("penstock", "journal", "audit", "--job", str(held)).out.split()[3] == "127.0.0.1"


def test_many_jobs_in_turns_keep_their_asker(cluster):
    """A request that goes over many jobs is carried out in parts."""
    c = cluster
    c.sbatch("-H", "--array=0-900", wrap="true")
    c.run("scancel", "-u", pwd.getpwuid(os.getuid()).pw_name)
    wait_until(lambda: not c.run("squeue", "-h").out, "all are gone")
    ended = [line for line in c.run("penstock", "journal", "audit", "--all").out.splitlines() if " job-end " in line]
    assert ended and all(line.split()[4] == "job-action" for line in ended)


def test_backup_under_load_and_restore_elsewhere(cluster):
    c = cluster
    running = c.sbatch("-n1", wrap="sleep 120")
    c.wait_state(running, "RUNNING")
    stop = threading.Event()

    def submit():
        while not stop.is_set():
            c.sbatch("-H", "--comment", "a b", wrap="true")
    load = threading.Thread(target=submit)
    load.start()
    try:
        wait_until(lambda: len(c.run("squeue", "-h").out.splitlines()) > 20, "there is load")
        saved = c.dir / "saved"
        done = c.run("penstock", "backup", str(saved))
        assert re.fullmatch(rf"penstock: {saved}: \d+ files, the log up to record \d+\n", done.err)
        wait_until(lambda: last_lsn(c) > int(done.err.split()[-1]), "the controller goes on meanwhile")
    finally:
        stop.set()
        load.join()
    assert not [p for p in saved.rglob("*") if p.is_file() and p.name != "slurmctld.pub" and p.stat().st_mode & 0o77]
    fields = ("squeue", "-h", "-a", "-o", "%i %t %u %j %k %N")
    record = done.err.split()[-1]
    then = c.run("penstock", "journal", "at", record, "--state", str(saved), "--", *fields).out
    assert then == at(c, record, *fields).out and len(then.splitlines()) > 20
    assert c.run("penstock", "backup", str(saved), check=False).rc == 1  # it is not empty
    c.kill_ctld()
    # elsewhere: another folder, with the configuration that names it
    elsewhere = c.dir / "elsewhere"
    c.conf.write_text(re.sub(r"(?m)^StateSaveLocation=.*$", f"StateSaveLocation={elsewhere}", c.conf.read_text()))
    assert "record " + record in c.run("penstock", "restore", str(saved)).err
    again = c.run("penstock", "restore", str(saved), check=False)
    assert again.rc == 1 and "it must be empty, or not be there" in again.err
    c.start_ctld()
    wait_until(lambda: c.state(running) == "RUNNING", "the job's node has come")
    assert sorted(c.run(*fields).out.splitlines()) == sorted(then.splitlines())
    assert c.sacct("-n", "-X", "-j", str(running), "-o", "JobID")
    fresh = c.sbatch("-n1", wrap="true")
    c.wait_end(fresh)


def test_a_damaged_backup_is_refused(cluster):
    c = cluster
    c.sbatch("-H", wrap="true")
    saved, target = c.dir / "saved", c.dir / "target"
    c.run("penstock", "backup", str(saved))
    log = next((saved / "state" / "journal").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[-20] ^= 1
    log.write_bytes(data)
    done = c.run("penstock", "restore", "--state", str(target), str(saved), check=False)
    assert done.rc == 1 and "its checksum differs" in done.err and len(done.err.splitlines()) == 1
    assert not list(c.dir.glob("target*"))
