"""What one ordinary user can take from the others: connections, memory, the log, places at the accounting store.

Nothing here is timed: connections, bytes, lines and answers are counted.  The attacks themselves are in attacks.py."""

import os
import re
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import attacks
from attacks import MIB, Attacker
from conftest import SANITIZED, SLOW, Cluster, Daemon, program, wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as other users")
NOBODY, OTHER = 65534, "games"
FILES = 600  # descriptors that slurmctld may have, so that few connections are many
ROOM = 100 * MIB


def as_other(c, *words):
    return subprocess.run(["setpriv", f"--reuid={OTHER}", "--regid=nogroup", "--clear-groups", *map(str, words)], cwd=c.work,
                          env=c.env | {"USER": OTHER}, text=True, capture_output=True, timeout=60 * SLOW)


def answers(c):
    """Another user's job runs."""
    done = as_other(c, program("srun"), "-n1", "true")
    return done.returncode == 0 or done.stderr


def rss(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024


@pytest.fixture
def site():
    """A cluster whose slurmctld has few descriptors."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    folder.chmod(0o755)
    c = Cluster(folder, nodes=1, cpus=64, conf="MaxJobCount=100000")
    c.ctld = Daemon("slurmctld", ["prlimit", f"--nofile={FILES}", program("slurmctld"), "-D", "-f", str(c.conf)],
                    folder / "log" / "slurmctld", {**c.env, **c.daemon_env_change})
    wait_until(c.up, "slurmctld answers")
    for name in c.node_names:
        c.start_slurmd(name)
    c.wait_nodes()
    c.work.chmod(0o777)
    try:
        yield c
    finally:
        problems = c.stop()
        if problems:
            print(c.logs(""))
        shutil.rmtree(folder, ignore_errors=True)
        assert not problems, problems


@pytest.mark.parametrize("tcp", [False, True], ids=["local", "tcp"])
def test_connections_before_login(site, tcp):
    """Connections that say nothing are few, whatever comes: others find a place."""
    with Attacker(NOBODY, attacks.idle_unknown, site.port, FILES + 100, tcp) as a:
        for _ in range(3):
            a.go()
            assert a.go() <= FILES // 4
            assert answers(site) is True


def test_connections_after_login(site):
    """One user does not get all the connections, nor keep anybody from having one."""
    with Attacker(NOBODY, attacks.idle_users, site.port, FILES + 100) as a:
        a.go()
        assert answers(site) is True
        assert a.go() <= FILES // 3
        assert site.run("scontrol", "ping").returncode == 0


def test_one_too_many_is_told(site):
    """Who has too many connections reads why his next request is refused."""
    pb = attacks.messages()
    peers = []
    for _ in range(FILES // 8 + 2):
        peers.append(attacks.Peer.local(site.port, NOBODY))
        peers[-1].hello()
    flags, error = peers[-1].call("query-config", pb.Empty())
    assert flags & attacks.ERROR and "too many connections" in error.text
    flags, _ = peers[0].call("query-config", pb.Empty())
    assert not flags & attacks.ERROR
    peers[1].close()  # makes room for one
    def let_in():
        with attacks.Peer.local(site.port, NOBODY) as late:
            late.hello()
            return not late.call("query-config", pb.Empty())[0] & attacks.ERROR
    wait_until(let_in, "one more is let in")
    for p in peers:
        p.close()


def test_readers_that_do_not_read(site):
    """Answers that nobody reads are held up to a share of their user, then he is cut off."""
    quiet = rss(site.ctld.pid)
    with Attacker(NOBODY, attacks.deaf_readers, site.port, 40, 12) as a:
        assert a.go()["asked"] > 100
        assert answers(site) is True
        assert SANITIZED or rss(site.ctld.pid) - quiet < ROOM  # a sanitizer keeps what was freed


def test_large_scripts(site):
    """An environment is no larger than a script, and what a user's jobs keep fits into memory."""
    with Attacker(NOBODY, attacks.large_jobs, site.port, 1, 4 * MIB, 7 * MIB) as a:
        done = a.go()
        assert done["accepted"] == 0 and done["why"].startswith("2012 ")
    quiet = rss(site.ctld.pid)
    with Attacker(NOBODY, attacks.large_jobs, site.port, 60, 4 * MIB - 100) as a:
        done = a.go()
        assert 8 <= done["accepted"] <= 10
        assert "40 MiB of scripts and environments" in done["why"]
        assert SANITIZED or rss(site.ctld.pid) - quiet < ROOM  # a sanitizer keeps what was freed
    assert answers(site) is True
    wrap = ("--hold", "-n1", "-o/dev/null", "--wrap", "true")
    assert as_other(site, program("sbatch"), *wrap).returncode == 0
    # What the user has ended makes room again.
    subprocess.run(["setpriv", f"--reuid={NOBODY}", "--clear-groups", program("scancel"), "-u", "nobody"], env=site.env, check=True)
    site.run("scontrol", "ping")


def test_submit_line_and_options(site):
    """max_submit_line_size and max_script_size hold as the site sets them."""
    pb = attacks.messages()
    site.write_conf(site.conf_text().replace("requeue_delay=2", "requeue_delay=2,max_script_size=1000,max_submit_line_size=200"))
    site.run("scontrol", "reconfigure")
    with attacks.Peer.local(site.port, NOBODY) as p:
        p.hello()
        def submit(script, line):
            job = pb.JobRecord(name="x", batch=True, work_dir="/tmp", num_tasks=1, submit_line=line, command="x")
            flags, reply = p.call("job-submit", pb.SubmitRequest(job=job, script=b"#!/bin/sh\n".ljust(script, b"#"), hold=True))
            return reply.code if flags & attacks.ERROR else 0
        assert submit(1000, "x" * 200) == 0
        assert submit(1001, "x" * 200) == 2012
        assert submit(1000, "x" * 201) == 2012


def test_half_requests(site):
    """Requests that are never whole count for their user too."""
    quiet = rss(site.ctld.pid)
    with Attacker(NOBODY, attacks.half_frames, site.port, 40, "job-submit", 12 * MIB, False) as a:
        a.go()
        assert answers(site) is True
        assert rss(site.ctld.pid) - quiet < ROOM


def test_half_launches(site):
    """slurmd takes launches before it knows who sends them, but not from one address all its memory."""
    slurmd = site.slurmds["node1"].pid
    quiet = rss(slurmd)
    with Attacker(NOBODY, attacks.half_frames, site.node_ports[0], 40, "launch-step", 15 * MIB, True) as a:
        a.go()
        assert rss(slurmd) - quiet < ROOM
        assert answers(site) is True


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd"])
def test_log(site, daemon):
    """Lines that a peer can cause are some, and then a number."""
    log = site.dir / "log" / ("slurmctld.log" if daemon == "slurmctld" else "slurmd-node1.log")
    before = log.stat().st_size
    with Attacker(NOBODY, attacks.garbage, site.port if daemon == "slurmctld" else site.node_ports[0], 2000, True) as a:
        a.go()
    text = log.read_text()[before:]
    assert text.count("peer does not speak the protocol addr") < 200
    assert len(text) < 64 * 1024
    wait_until(lambda: "lines of this kind were not logged: connection closed" in log.read_text(), "how many is told", 30)


def test_accounting(site):
    """One user's questions do not take every place at the accounting store."""
    with Attacker(NOBODY, attacks.deaf_accounting, site.port, 12, 30) as a:
        a.go()
        done = as_other(site, program("sacct"), "-n")
        assert done.returncode == 0, done.stderr


def test_input_that_no_task_reads(site):
    """Input waits once for all the tasks of a step, not a copy for each."""
    job = site.sbatch("-n64", "--mem=100", "-o/dev/null", "--wrap", "sleep 1000 | srun -n64 sleep 1000", "--uid=nobody")
    wait_until(lambda: f"{job}.0" in site.run("squeue", "-h", "-s", "-o", "%i").out, "the step runs")
    def step_daemons():
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "comm").read_text().startswith("slurmstepd") \
                        and str(site.dir) in os.readlink(entry / "cwd"):
                    found[int(entry.name)] = rss(int(entry.name))
            except (OSError, AttributeError):
                pass
        return found
    wait_until(lambda: len(step_daemons()) >= 2, "the step daemons are there")
    quiet = step_daemons()
    sattach = subprocess.Popen(["setpriv", "--reuid=nobody", "--clear-groups", program("sattach"), f"{job}.0"], env=site.env,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pipe, sent = sattach.stdin.fileno(), 0
    os.set_blocking(pipe, False)
    while sent < 64 * MIB and select.select([], [pipe], [], 2)[1]:
        sent += os.write(pipe, bytes(65536))  # as long as anybody takes it
    grown = {pid: size - quiet.get(pid, size) for pid, size in step_daemons().items()}
    assert sent > MIB
    assert max(grown.values()) < 16 * MIB, (sent, grown)
    sattach.kill()
    sattach.wait()
    sattach.stdin.close()
    site.run("scancel", job)
    site.wait_state(job, "CANCELLED")
