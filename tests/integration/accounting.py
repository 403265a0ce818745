"""Accounting daemons for tests: a MariaDB server of the test's own, and slurmdbd in front of it.

A data folder is made once a session (mariadb-install-db takes seconds) and copied for each server.  Servers
listen on a socket in their folder alone."""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import SLOW, Daemon, free_ports, program, wait_until

TEMPLATE = None


def server_program(name):
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/libexec")
    if not path:
        pytest.fail(f"{name} is not installed: see tools/packages.txt")
    return path


def template():
    """A data folder as mariadb-install-db makes it."""
    global TEMPLATE
    if TEMPLATE is None:
        folder = tempfile.mkdtemp(prefix="penstock-mariadb-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        data = Path(folder) / "data"
        done = subprocess.run([server_program("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
                               "--auth-root-authentication-method=normal", "--skip-test-db", f"--user={user()}"],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "TMPDIR": folder})
        assert done.returncode == 0, done.stdout + done.stderr
        TEMPLATE = data
    return TEMPLATE


def user():
    return subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()


class MariaDB:
    def __init__(self, folder):
        self.dir = Path(folder)
        self.dir.mkdir(exist_ok=True)
        self.data, self.socket, self.process = self.dir / "data", self.dir / "s", None
        if not self.data.exists():
            shutil.copytree(template(), self.data)

    def start(self, *options):
        argv = [server_program("mariadbd"), "--no-defaults", f"--datadir={self.data}", f"--user={user()}",
                f"--socket={self.socket}", f"--pid-file={self.dir}/pid", f"--tmpdir={self.dir}", "--skip-networking",
                "--innodb-buffer-pool-size=64M", "--performance-schema=OFF", *options]
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        wait_until(self.answers, "the database server answers", 30)
        return self

    def answers(self):
        assert self.process.poll() is None, (self.dir / "log").read_text()[-3000:]
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(str(self.socket))
                return bool(s.recv(1))
            except OSError:
                return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
        self.process = None

    def sql(self, text, database="slurm_acct_db"):
        done = subprocess.run([server_program("mariadb"), "--no-defaults", "-S", str(self.socket), "-u", "root", "-NB",
                               "-e", text, database], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{text[:500]}: {done.stderr}"
        return [line.split("\t") for line in done.stdout.splitlines()]


class Dbd:
    """slurmdbd in a folder of its own, outside of the clusters', with their key file."""

    def __init__(self, folder, storage, key, port=None, conf=""):
        self.dir, self.port = Path(folder), port or free_ports(1)[0]
        self.dir.mkdir(exist_ok=True)
        self.conf, self.log = self.dir / "slurmdbd.conf", self.dir / "slurmdbd.log"
        self.daemon = None
        self.conf.write_text("\n".join([
            "DbdHost=localhost", f"DbdPort={self.port}", f"SlurmUser={user()}", f"LogFile={self.log}",
            f"PidFile={self.dir}/slurmdbd.pid", f"AuthInfo=keyfile={key}", "DebugLevel=debug", *storage,
            conf]) + "\n")
        self.conf.chmod(0o600)

    def start(self):
        self.daemon = Daemon("slurmdbd", [program("slurmdbd"), "-D", "-f", str(self.conf)], self.dir / "slurmdbd",
                             {**os.environ, "TZ": "UTC"})
        wait_until(lambda: not self.daemon.alive() or self.listens(), "slurmdbd listens", 20)
        assert self.daemon.alive(), (self.dir / "slurmdbd.stderr").read_text()
        return self

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        self.daemon.kill()

    def stop(self):
        if self.daemon and self.daemon.alive():
            assert self.daemon.stop() == 0
        self.daemon = None


def storage_of(engine, folder, database=None):
    if engine == "sqlite":
        return ["StorageType=accounting_storage/sqlite", f"StorageLoc={folder}/acct.db"]
    return ["StorageType=accounting_storage/mysql", f"StorageHost={database.socket}", "StorageUser=root"]


def conf_of(dbd):
    return f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n" \
           f"AccountingStoragePort={dbd.port}"


# ---- the journal as what accounting must hold --------------------------------------------------------

def journal(state):
    """Transactions of a controller's journal, in order."""
    done = subprocess.run([program("penstock"), "journal", "dump", str(state)], capture_output=True, text=True,
                          check=True, timeout=300)
    for line in done.stdout.splitlines():
        yield json.loads(line).get("transaction", {})


def runs_of(state):
    """{run: record} and {(run, step)}: what the journal says was."""
    runs, current, steps = {}, {}, set()
    for tx in journal(state):
        for event in tx.get("events", []):
            if "job_put" in event:
                rec = dict(event["job_put"])
                current[rec["job_id"]] = runs[rec["db_id"]] = rec
            elif "job_patch" in event:
                patch = event["job_patch"]
                rec, change = current[patch["job_id"]], patch.get("set", {})
                if "db_id" in change and change["db_id"] != rec["db_id"]:
                    rec = dict(rec)
                    current[patch["job_id"]] = runs[change["db_id"]] = rec
                rec.update(change)
                for name in patch.get("clear", []):
                    rec.pop(name, None)
            elif "step_put" in event:
                step = event["step_put"]
                steps.add((step.get("job_db_id", current[step["job_id"]]["db_id"]), step["step_id"]))
    return runs, steps


def second(us):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 1000000)) if us else None


def differences(cluster):
    """What sacct shows that the journal does not say, and the other way round; [] when they agree.  For jobs
    that were never requeued and are over."""
    runs, steps = runs_of(cluster.dir / "state")
    want = {run: (rec["job_id"], rec["state"].removeprefix("JOB_"), second(rec.get("start_us")),
                  second(rec.get("end_us"))) for run, rec in runs.items()
            if "start_us" in rec or not rec.get("array_tasks")}
    run_of = {rec["sluid"]: run for run, rec in runs.items()}
    got, problems, got_steps = {}, [], 0
    # With states and an end it tells of jobs as well that ended before they were eligible.
    for sluid, job, state, start, end in cluster.sacct("-D", "-S", "1970-01-02", "-E", "now", "-s", "CA,CD,DL,F,NF,OOM,PR,TO",
                                                       "-o", "SLUID,JobIDRaw,State,Start,End"):
        if "." in job:
            got_steps += 1
            continue
        run = run_of.get(sluid, sluid)
        if run in got:
            problems.append(f"run {run} twice")
        got[run] = (int(job), state.split(" ")[0], start, end)
    for run in sorted(want.keys() | got.keys(), key=str):
        a, b = want.get(run), got.get(run)
        if a is None or b is None or a[:2] != b[:2] or (a[2] and a[2] != b[2]) or a[3] != b[3]:
            problems.append(f"run {run}: journal {a}, sacct {b}")
    if got_steps != len(steps):
        problems.append(f"{len(steps)} steps in the journal, {got_steps} shown")
    return problems


class Sites:
    """Clusters of one slurmdbd and one key, running."""

    def __init__(self, folder, make_cluster, names, conf="", **options):
        key = folder / "c0" / "etc" / "slurm.key"
        self.dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), key)
        more = conf_of(self.dbd) + f"\nAuthInfo=keyfile={key}\n{conf}"
        self.list = [make_cluster(nodes=1, start=False, conf=more, **options) for _ in names]
        for c, name in zip(self.list, names):
            c.write_conf(c.conf_text().replace("ClusterName=test", f"ClusterName={name}"))
        self.prepare()
        self.dbd.start()
        for c in self.list:
            c.start()
        one = self.list[0]
        wait_until(lambda: len([line for line in one.run("sacctmgr", "-nP", "list", "cluster", "format=cluster,controlport").out.split()
                                if not line.endswith("|0")]) == len(names), "all clusters are registered")

    def prepare(self):
        """Before any daemon starts."""

    def stop(self):
        for c in self.list:
            c.stop()
        self.dbd.stop()
