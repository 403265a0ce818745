"""Several controllers with one StateSaveLocation: who leads, who stands by, and what becomes of jobs meanwhile."""

import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime

import pytest
from conftest import SLOW, Daemon, program, wait_until
from controllers import Controllers


@pytest.fixture
def make(folder):
    made = []

    def build(**options):
        path = folder / f"c{len(made)}"
        path.mkdir()
        options.setdefault("nodes", 1)
        options.setdefault("lease_ms", int(1500 * SLOW))
        made.append(Controllers(path, **options))
        return made[-1].start()
    yield build
    problems = [p for c in made for p in c.stop()]
    for c in made if problems else []:
        print(c.logs(""))
    assert not problems, problems


def http(c, number, path):
    """(status, location)"""
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args):
            return None
    try:
        with urllib.request.build_opener(Stay).open(f"http://127.0.0.{number}:{c.port}{path}", timeout=10) as r:
            return r.status, None
    except urllib.error.HTTPError as e:
        return e.code, e.headers.get("Location")


def ran_once(c, job):
    c.wait_end(job)
    record = c.job(job)
    assert record["JobState"] == "COMPLETED" and record["Restarts"] == "0", record
    assert (c.work / "ran").read_text().split().count(str(job)) == 1


def test_standby_answers_pings_alone(make):
    c = make()
    assert c.run("scontrol", "ping").out == "Slurmctld(primary) at ctl1 is UP\nSlurmctld(backup) at ctl2 is UP\n"
    told = c.refused("squeue", env=c.only("ctl2"))
    assert "Slurm backup controller in standby mode" in told
    assert http(c, 1, "/readyz")[0] == 204 and http(c, 2, "/readyz")[0] == 500
    assert http(c, 2, "/livez")[0] == 204
    assert http(c, 2, "/metrics/jobs") == (303, f"http://127.0.0.1:{c.port}/metrics/jobs")
    assert c.run("squeue", "-h").out == ""  # the active one is found by itself
    c.ctlds["ctl2"].kill()
    done = c.run("scontrol", "ping", check=False)
    assert (done.rc, done.out) == (0, "Slurmctld(primary) at ctl1 is UP\nSlurmctld(backup) at ctl2 is DOWN\n")
    assert '"primary": false' in c.run("scontrol", "ping", "--json").out


def test_killed_and_back(make):
    c = make()
    running = c.sbatch("--wrap", f"echo $SLURM_JOB_ID >> ran; srun sleep {4 * SLOW}")
    c.wait_state(running, "RUNNING")
    for _ in range(5):
        c.sbatch("-n4", "--wrap", "echo $SLURM_JOB_ID >> ran")
    wait_until(lambda: c.told_durable() > 10, "the standby is told of the log")
    c.ctlds["ctl1"].kill()
    later = int(wait_until(lambda: c.run("sbatch", "--parsable", "--wrap", "echo $SLURM_JOB_ID >> ran", check=False).out,
                           "a job is accepted again", 30))
    assert later == running + 6
    assert c.active() == "ctl2"
    assert re.search(r"taking control: term 2, after ctl1; [1-9]\d* records are known", c.ctld_log("ctl2"))
    for job in range(running, later + 1):
        ran_once(c, job)
    c.start_one("ctl1")  # the first in the list gets control back
    c.wait_active("ctl1")
    assert "giving up control for ctl1" in c.ctld_log("ctl2")
    wait_until(lambda: c.pings() == {"ctl1": True, "ctl2": True}, "both answer")
    last = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    assert last == later + 1
    ran_once(c, last)
    ran_once(c, later)


class Submitter(threading.Thread):
    """Asks one controller alone, again and again, and keeps what it acknowledged."""

    def __init__(self, c, number, host):
        super().__init__()
        self.c, self.number, self.host, self.over, self.acknowledged = c, number, host, threading.Event(), {}

    def run(self):
        count = 0
        while not self.over.is_set():
            tag = f"s{self.number}-{count}"
            count += 1
            done = self.c.run("sbatch", "--parsable", "-H", "-J", tag, "--wrap", "true", check=False, env=self.c.only(self.host))
            if done.rc == 0:
                self.acknowledged[tag] = int(done.out)


def sleep_through_lease(c, submitters=4):
    """Freeze the active controller under load until the other leads, wake it up; what is lost of its answers."""
    threads = [Submitter(c, i, "ctl1") for i in range(submitters)]
    for t in threads:
        t.start()
    wait_until(lambda: all(t.acknowledged for t in threads), "submissions come in", 30)
    c.freeze("ctl1")
    wait_until(lambda: "in control, term 2" in c.ctld_log("ctl2"), "ctl2 takes over", 30)
    extra = [int(c.run("sbatch", "--parsable", "-H", "-J", f"other-{i}", "--wrap", "true", env=c.only("ctl2")).out)
             for i in range(10)]
    c.thaw("ctl1")
    deadline = time.monotonic() + 2 * SLOW  # what it would answer late, it answers now
    while time.monotonic() < deadline:
        time.sleep(0.1)
    for t in threads:
        t.over.set()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    rows = [line.split() for line in c.run("squeue", "-h", "-t", "all", "-o", "%i %j", env=c.only("ctl2")).out.splitlines()]
    found = {}
    for job, tag in rows:
        found.setdefault(tag, []).append(int(job))
    told = {tag: job for t in threads for tag, job in t.acknowledged.items()}
    told.update({f"other-{i}": job for i, job in enumerate(extra)})
    return [f"{tag} was acknowledged as {job}, and there is {found.get(tag)}" for tag, job in told.items()
            if found.get(tag) != [job]]


def test_sleeper_acknowledges_nothing(make):
    c = make()
    assert sleep_through_lease(c) == []
    wait_until(lambda: "term 1 is over" in c.ctld_log("ctl1"), "the sleeper knows")
    wait_until(lambda: c.pings() == {"ctl1": True, "ctl2": True}, "the sleeper stands by")
    assert c.active() == "ctl2"
    job = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    ran_once(c, job)


def test_check_finds_a_deaf_sleeper(make):
    """The same with a controller that does not notice the end of its term: the check must see it."""
    c = make()
    c.ctlds["ctl1"].stop()
    c.wait_active("ctl2")
    c.start_one("ctl1", env={"PENSTOCK_FAILPOINT": "journal.term.ignored:1+"})
    wait_until(lambda: c.ctld_log("ctl1").count("in control, term") == 2, "ctl1 leads again", 30)
    threads = [Submitter(c, i, "ctl1") for i in range(2)]
    for t in threads:
        t.start()
    wait_until(lambda: all(t.acknowledged for t in threads), "submissions come in", 30)
    c.freeze("ctl1")
    wait_until(lambda: c.ctld_log("ctl2").count("in control, term") == 2, "ctl2 takes over", 30)
    before = {tag for t in threads for tag in t.acknowledged}
    c.thaw("ctl1")
    wait_until(lambda: {tag for t in threads for tag in t.acknowledged} - before, "the sleeper acknowledges", 30)
    for t in threads:
        t.over.set()
    for t in threads:
        t.join(60)
    known = set(c.run("squeue", "-h", "-t", "all", "-o", "%j", env=c.only("ctl2")).out.split())
    lost = {tag for t in threads for tag in t.acknowledged} - known
    c.ctlds["ctl1"].kill()
    assert lost, "what a deposed controller acknowledged is not in the log that counts"


def test_scontrol_takeover(make, folder):
    on, off = folder / "on", folder / "off"
    for path in (on, off):
        path.write_text(f"#!/bin/sh\necho x >> {path}.ran\n")
        path.chmod(0o755)
    c = make(controllers=3, conf=f"SlurmctldPrimaryOnProg={on}\nSlurmctldPrimaryOffProg={off}", lease_ms=30000)
    running = c.sbatch("--wrap", f"echo $SLURM_JOB_ID >> ran; srun sleep {3 * SLOW}")
    c.wait_state(running, "RUNNING")
    wait_until(lambda: (folder / "on.ran").exists(), "the program of the first ran")
    assert c.refused("scontrol", "takeover", "7") == "takeover: invalid backup controller index (7)\n"
    began = time.monotonic()
    c.run("scontrol", "takeover")
    assert time.monotonic() - began < 20 * SLOW  # the lease of 30 s is not waited for
    assert c.active() == "ctl2"
    wait_until(lambda: c.pings() == {"ctl1": True, "ctl2": True, "ctl3": True}, "all answer")
    assert "Slurmctld(backup2) at ctl3 is UP" in c.run("scontrol", "ping").out
    c.run("scontrol", "takeover", "2")
    assert c.active() == "ctl3"
    wait_until(lambda: (folder / "on.ran").read_text() == "x\n" * 3 and (folder / "off.ran").read_text() == "x\n" * 2,
               "the programs ran")
    ran_once(c, running)
    ran_once(c, c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran"))
    c.run("scontrol", "takeover", "2")  # it leads already


def test_three_one_after_the_other(make):
    c = make(controllers=3)
    jobs = [c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")]
    for dead, heir in (("ctl1", "ctl2"), ("ctl2", "ctl3")):
        c.ctlds[dead].kill()
        c.wait_active(heir, 30)
        jobs.append(c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran"))
    for job in jobs:
        ran_once(c, job)
    assert jobs == [1, 2, 3]


def test_triggers_of_controllers(make, folder):
    program = folder / "told"
    program.write_text(f'#!/bin/sh\necho "$1" >> {folder}/events\n')
    program.chmod(0o755)
    c = make()
    for event in ("primary_slurmctld_failure", "backup_slurmctld_assumed_control", "backup_slurmctld_failure",
                  "backup_slurmctld_resumed_operation", "primary_slurmctld_resumed_control"):
        c.run("strigger", "--set", f"--{event}", "-p", str(program))

    def told(event):
        path = folder / "events"
        wait_until(lambda: path.exists() and event in path.read_text().split(), event, 30)
    c.ctlds["ctl2"].kill()
    told("backup_slurmctld_failure")
    c.start_one("ctl2")
    told("backup_slurmctld_resumed_operation")
    c.ctlds["ctl1"].kill()
    told("primary_slurmctld_failure")
    told("backup_slurmctld_assumed_control")
    c.wait_active("ctl2")
    c.start_one("ctl1")
    told("primary_slurmctld_resumed_control")


def test_one_line_is_left(make):
    """A site goes back to one controller: its log goes on in terms."""
    c = make()
    c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    for daemon in c.ctlds.values():
        assert daemon.stop() == 0
    c.conf.write_text(re.sub(r"^SlurmctldHost=ctl2.*\n", "", c.conf_text(), flags=re.M))
    c.ctlds["ctl1"] = c.ctld = type(c.ctld)("slurmctld-ctl1", [*c.ctld.process.args], c.dir / "log" / "slurmctld-ctl1", c.env)
    wait_until(lambda: c.run("squeue", "-h", "-t", "all", check=False).out, "the job is known", 30)
    ran_once(c, 1)
    assert isinstance(c.sbatch("--wrap", "true"), int)
    assert subprocess.run([*c.ctld.process.args[:1], "--check", "-f", str(c.conf)], capture_output=True).returncode == 0


def test_a_standby_answers_queries_with_their_age(make):
    c = make(lease_ms=120000)  # nobody leads for a while
    held = c.sbatch("-H", "--wrap", "true", "--comment", "kept")
    shown = {command: c.run(*command.split()).out for command in
             ("squeue -h -o %i|%t|%k", "sinfo -h -o %P|%D", f"scontrol -o show job {held}", "scontrol show config")}
    wait_until(lambda: "kept" in shown["squeue -h -o %i|%t|%k"], "the job is shown")
    alone = c.only("ctl2")
    lsn = c.run("penstock", "journal", "dump", str(c.dir / "state")).out.count("\n")
    wait_until(lambda: c.told_durable() == lsn, "the standby can know it")
    c.ctlds["ctl1"].kill()
    wait_until(lambda: "kept" in c.run("squeue", "-h", "-o", "%k", check=False).out, "the standby knows it", 30)
    for command, before in shown.items():
        done = c.run(*command.split())
        assert re.fullmatch(command.split()[0] + r": answer of the standby ctl2, \d+ s old\n", done.err), done
        if "config" not in command:  # it tells the time
            assert done.out == before
    told = json.loads(c.run("squeue", "--json").out)
    assert [w["description"].startswith("answer of the standby ctl2, ") for w in told["warnings"]] == [True]
    # who has not said that this will do is refused, and so is every change
    assert "Slurm backup controller in standby mode" in c.refused("squeue", env=alone)
    assert "Slurm backup controller in standby mode" in c.refused("scontrol", "release", held)
    c.start_one("ctl1")
    c.wait_active("ctl1")
    assert c.run("squeue", "-h", "-o", "%i").err == ""


def start_without_files(c, program_name, name, address, *options):
    """A daemon that knows that controller alone, and no file but the key."""
    run = c.dir / "run" / name
    run.mkdir(exist_ok=True)
    env = {k: v for k, v in {**c.env, **c.daemon_env_change}.items() if k != "SLURM_CONF"}
    daemon = Daemon(f"{program_name}-{name}", [program(program_name), "-D", *options, "--conf-server", f"{address}:{c.port}"],
                    c.dir / f"log/{program_name}-{name}",
                    {**env, "RUNTIME_DIRECTORY": str(run), "SLURM_SACK_KEY": str(c.conf.parent / "slurm.key")})
    c.slurmds[name] = daemon
    return daemon


def test_node_without_files_asks_a_standby(make):
    """It asks on until that controller has control, or another one answers at the address."""
    c = make(nodes=2, conf="SlurmctldParameters=enable_configless\n")
    c.slurmds["node2"].stop()
    node = start_without_files(c, "slurmd", "node2", "127.0.0.2", "-N", "node2")
    said = c.dir / "log/slurmd-node2.stderr"
    wait_until(lambda: not node.alive() or "in standby mode; " in said.read_text(), "it is told that this one stands by", 30)
    assert node.alive(), said.read_text()
    c.run("scontrol", "takeover")
    c.wait_active("ctl2")
    assert c.run("srun", "-w", "node2", "hostname").rc == 0


def test_controller_that_a_reconfigure_adds(make):
    """Daemons that began with one controller go on with another that was added since, without a restart."""
    c = make(controllers=1, nodes=2, conf="SlurmctldParameters=enable_configless\n")
    c.slurmds["node2"].stop()
    start_without_files(c, "slurmd", "node2", "127.0.0.1", "-N", "node2")
    kept = c.dir / "spool/node2/conf-cache/current/slurm.conf"
    wait_until(lambda: kept.exists(), "node2 has the configuration with one controller", 30)
    c.hosts.append("ctl2")
    c.write_conf()
    c.run("scontrol", "reconfigure")
    for name in c.node_names:
        wait_until(lambda: "configuration read again" in (c.dir / f"log/slurmd-{name}.log").read_text(), f"{name} has it")
    c.start_one("ctl2")
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30)
    c.wait_nodes()
    job = c.sbatch("-N2", "--wrap", "srun sh -c 'echo $SLURM_JOB_ID $SLURMD_NODENAME >> ran'")
    c.wait_end(job, 40)
    assert c.job(job)["JobState"] == "COMPLETED"
    assert sorted((c.work / "ran").read_text().split("\n"))[1:] == [f"{job} node1", f"{job} node2"]


def test_login_node_follows_an_added_controller(make):
    """sackd that was told of one controller gets the configuration from the other, which it was not told of."""
    c = make(controllers=1, nodes=1, conf="SlurmctldParameters=enable_configless\n")
    kept = c.dir / "run/login/conf/slurm.conf"
    start_without_files(c, "sackd", "login", "127.0.0.1")
    wait_until(lambda: kept.exists(), "sackd has the configuration", 30)
    c.hosts.append("ctl2")
    c.write_conf()
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "SlurmctldHost=ctl2" in kept.read_text(), "sackd knows the other one", 30)
    c.start_one("ctl2")
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30)
    c.write_conf(c.conf_text() + "MaxArraySize=77\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "MaxArraySize=77" in kept.read_text(), "sackd follows it", 40)


def test_takeover_refuses_nobody(make):
    """Control goes to and fro in order while clients submit: what the one leaves to the other is asked again, and taken once."""
    c = make(controllers=3)
    stop, said, lock = threading.Event(), [], threading.Lock()

    def submit(number):
        count = 0
        while not stop.is_set():
            tag = f"t{number}-{count}"
            done = c.run("sbatch", "--parsable", "--hold", "-J", tag, "--wrap", "true", check=False)
            with lock:
                said.append((tag, done.rc, done.out.strip(), done.err))
            count += 1
    threads = [threading.Thread(target=submit, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    try:
        for index, host in [(1, "ctl2"), (2, "ctl3")] * 3:
            done = len(said)
            wait_until(lambda: len(said) > done + 8, "jobs are submitted")
            c.run("scontrol", "takeover", str(index))
            wait_until(lambda: c.active_log() == host, f"{host} leads", 30)
            wait_until(lambda: all(c.pings().values()), "the others stand by", 30)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not [line for line in said if line[1] != 0]
    listed = dict(line.split("|") for line in c.run("squeue", "-h", "-o", "%j|%i").out.splitlines())
    assert listed == {tag: job for tag, _, job, _ in said}


@pytest.mark.parametrize("request_number, argv", [
    (1, ["srun", "-n1", "sh", "-c", "echo $SLURM_JOB_ID >> ran"]),
    (2, ["sbatch", "-W", "--wrap", "srun sh -c 'echo $SLURM_JOB_ID >> ran'"])], ids=["allocation", "step"])
def test_request_moves_with_control(folder, request_number, argv):
    """What a controller has left to the next one is asked for again, and done once."""
    c = Controllers(folder, lease_ms=int(1500 * SLOW))
    c.daemon_env_change["PENSTOCK_FAILPOINT"] = f"ctld.request.moved:{request_number}"
    try:
        c.start()
        c.run(*argv)
        assert len((c.work / "ran").read_text().split()) == 1
    finally:
        problems = c.stop()
    assert not problems, problems


class Silent:
    """A server that takes connections and says nothing, as a process that stands still."""

    def __init__(self):
        self.server = socket.create_server(("0.0.0.0", 0))
        self.port, self.taken = self.server.getsockname()[1], []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                self.taken.append(self.server.accept()[0])
            except OSError:
                return  # closed

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        for s in (self.server, *self.taken):
            s.close()


def test_gives_up_control_beside_a_silent_slurmdbd(make):
    """Neither the thread that feeds slurmdbd nor the one that follows it is waited for, whichever host they try."""
    def both_wait():
        before = len(dbd.taken)
        wait_until(lambda: len(dbd.taken) >= before + 2, "both wait for a word", 60)

    dbd = Silent()
    try:
        c = make(conf="AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.8\n"
                      f"AccountingStorageBackupHost=127.0.0.9\nAccountingStoragePort={dbd.port}")
        both_wait()
        c.run("scontrol", "takeover")
        wait_until(lambda: "stands by" in c.ctld_log("ctl1"), "it stands by", 60)
        began, ended = (datetime.fromisoformat(next(line for line in c.ctld_log("ctl1").splitlines() if words in line)[1:24])
                        for words in ("giving up control for ctl2", " stands by"))
        assert (ended - began).total_seconds() < 3 * SLOW
        wait_until(lambda: c.active() == "ctl2", "the second leads", 60)
        both_wait()
        began = time.monotonic()
        c.ctlds["ctl2"].stop()
        assert time.monotonic() - began < 3 * SLOW
    finally:
        dbd.close()
