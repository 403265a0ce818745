"""slurmdbd about itself: ping, configuration, statistics; what a new configuration changes; its password; its end."""

import os
import sqlite3
import subprocess

import pytest

from accounting import Dbd, MariaDB, storage_of
from conftest import program, wait_until

ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="asks as somebody else")


class Site:
    """slurmdbd and a slurm.conf that names it; no controller."""

    def __init__(self, folder, storage=None, conf="", more=""):
        folder.chmod(0o755)
        self.folder = folder
        self.dbd = Dbd(folder / "dbd", storage or storage_of("sqlite", folder), folder / "slurm.key", conf=conf)
        self.conf = folder / "slurm.conf"
        self.conf.write_text("ClusterName=test\nSlurmctldHost=localhost\n"
                             "AccountingStorageType=accounting_storage/slurmdbd\n"
                             f"AccountingStoragePort={self.dbd.port}\n{more}")

    def __enter__(self):
        self.dbd.start()
        return self

    def __exit__(self, *exc):
        self.dbd.stop()

    def run(self, *argv, rc=0, user=None):
        done = subprocess.run([program(argv[0]), *argv[1:]], capture_output=True, text=True, timeout=60, user=user,
                              env={**os.environ, "SLURM_CONF": str(self.conf), "TZ": "UTC"})
        assert done.returncode == rc, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def site(folder):
    with Site(folder) as s:
        yield s


def keys(text):
    return {line.split("=", 1)[0].strip(): line.split("=", 1)[1].strip() for line in text.splitlines() if "=" in line}


def test_ping(folder):
    with Site(folder, more="AccountingStorageBackupHost=127.0.0.1\n") as s:
        assert s.run("sacctmgr", "ping") == ("slurmdbd(primary) at localhost is UP\n"
                                             "slurmdbd(backup) at 127.0.0.1 is UP\n")
        assert s.run("sacctmgr", "--json", "ping").count('"responding": true') == 2
    said = s.run("sacctmgr", "ping", rc=1)
    assert said.startswith("slurmdbd(primary) at localhost is DOWN\nslurmdbd(backup) at 127.0.0.1 is DOWN\n")
    assert "failed to open persistent connection to host:localhost:" in said


def test_configuration(folder):
    with Site(folder, conf="PurgeJobAfter=12months\nStoragePass=hidden\nArchiveDir=/tmp") as s:
        out = s.run("sacctmgr", "list", "config")
        head, _, mine = out.partition("\nSlurmDBD configuration:\n")
        assert keys(head)["ClusterName" if "ClusterName" in keys(head) else "AccountingStorageType"]
        found = keys(mine)
        assert (found["PurgeJobAfter"], found["DbdPort"]) == ("12 months", str(s.dbd.port))
        assert (found["ArchiveJobs"], found["CommitDelay"], found["DbdBackupHost"]) == ("no", "0", "(null)")
        assert "hidden" not in out and "StoragePass" not in found  # as in recording 70


def test_statistics(site):
    site.run("sacctmgr", "list", "account")
    wait_until(lambda: "Internal DBD rollup last ran" in site.run("sacctmgr", "list", "stats"), "a roll-up has run", 30)
    out = site.run("sacctmgr", "list", "stats")
    assert "Total cycles: " in out and "Mean cycle: " in out
    assert "acct-list" in out and "count:" in out
    site.run("sacctmgr", "clear", "stats")
    assert "acct-list" not in site.run("sacctmgr", "list", "stats")


@ROOT_ONLY
def test_statistics_are_an_administrators(site):
    for words in (("list", "stats"), ("clear", "stats")):
        said = site.run("sacctmgr", *words, rc=1, user="nobody")
        assert said.endswith("_stats: RC:2002 Your user doesn't have privilege to perform this action\n")
    site.run("sacctmgr", "-i", "add", "cluster", "test")
    site.run("sacctmgr", "-i", "add", "account", "staff")
    site.run("sacctmgr", "-i", "add", "user", "nobody", "account=staff", "adminlevel=operator")
    site.run("sacctmgr", "list", "stats", rc=1, user="nobody")
    site.run("sacctmgr", "-i", "modify", "user", "nobody", "set", "adminlevel=admin")
    assert "by message type" in site.run("sacctmgr", "list", "stats", user="nobody")


@ROOT_ONLY
def test_reconfigure(site):
    """Who sees what changes without a new start; what cannot be read changes nothing."""
    site.dbd.stop()  # its tables are there
    db = sqlite3.connect(site.folder / "acct.db")
    db.execute("INSERT INTO sources VALUES(0,'test','x',0,0,0,0)")
    for run in (1, 2):
        db.execute("INSERT INTO jobs VALUES(?,?,NULL,NULL,?,3,1,1,2,3,'p','n','a','q','n1',?)",
                   (run, run, run, bytes([0x08, run, 0x28, run])))
    db.commit()
    db.close()
    site.dbd.start()
    ask = ["sacct", "-a", "-nX", "-S", "1970-01-01", "-o", "jobid"]
    assert site.run(*ask, user=1).split() == ["1", "2"]
    text = site.dbd.conf.read_text()
    site.dbd.conf.write_text(text + "PrivateData=jobs\nMaxQueryTimeRange=1-0\n")
    site.run("sacctmgr", "reconfigure")
    ask[4] = "now-1hour"
    wait_until(lambda: "Too wide of a date range" in site.run("sacct", "-a", "-nX", "-S", "1970-01-01", user=1, rc=1),
               "the range is limited", 30)
    assert site.run("sacct", "-a", "-nX", "-j", "1,2", "-o", "jobid", user=1).split() == ["1"]
    assert site.run(*ask, user=1) == ""
    assert site.run("sacct", "-a", "-nX", "-S", "1970-01-01", "-o", "jobid").split() == ["1", "2"]  # an administrator
    assert keys(site.run("sacctmgr", "list", "config").partition("SlurmDBD")[2])["PrivateData"] == "jobs"
    site.dbd.conf.write_text(text + "PurgeJobAfter=soon\n")
    site.run("sacctmgr", "reconfigure")
    wait_until(lambda: "stays what it was" in site.dbd.log.read_text(), "it says so", 30)
    assert site.run("sacct", "-a", "-nX", "-j", "1,2", "-o", "jobid", user=1).split() == ["1"]


@ROOT_ONLY
def test_rights(site):
    assert "Access/permission denied" in site.run("sacctmgr", "-i", "shutdown", user=1, rc=1)
    assert site.run("sacctmgr", "reconfigure", user=1) == ""  # as Slurm's: it says nothing, and did nothing
    assert site.dbd.daemon.alive()


def test_shutdown(site):
    site.run("sacctmgr", "-i", "shutdown")
    wait_until(lambda: not site.dbd.daemon.alive(), "slurmdbd ends", 30)


def test_password_script(folder):
    db = MariaDB(folder / "my").start()
    script = folder / "pass.sh"
    try:
        db.sql("CREATE USER acct@localhost IDENTIFIED BY 'open sesame'; GRANT ALL ON *.* TO acct@localhost", "mysql")
        storage = [line for line in storage_of("mysql", folder, db) if not line.startswith("StorageUser")]
        storage += ["StorageUser=acct", f"StoragePassScript={script}"]
        for body, wrong in (("echo open sesame", None),
                            ('echo "TOKEN=open sesame"; test "$SLURM_STORAGE_USER" = acct'
                             ' -a -n "$SLURM_STORAGE_HOSTNAME"', None), ("echo wrong", "Access denied"), ("exit 3", "failed"),
                            ("true", "printed no password")):
            script.write_text(f"#!/bin/sh\n{body}\n")
            script.chmod(0o700)
            s = Site(folder, storage)
            if wrong is None:
                with s:
                    assert "Cluster" in s.run("sacctmgr", "list", "cluster")
                continue
            done = subprocess.run([program("slurmdbd"), "-D", "-f", str(s.dbd.conf)], capture_output=True, text=True,
                                  timeout=60)
            assert done.returncode == 1 and wrong in done.stderr
    finally:
        db.stop()
