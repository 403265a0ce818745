"""A second slurmdbd that takes over and gives back, and a second database server."""

import shutil
import socket
import subprocess

import pytest

from accounting import Dbd, MariaDB, conf_of, differences, storage_of
from conftest import program, wait_until

HOSTS = ("127.0.0.1", "127.0.0.2")


class One(Dbd):
    """The first (0) or the second (1) of two; each at an address of its own."""

    def __init__(self, which, folder, storage, key, port=None):
        super().__init__(folder / f"dbd{which}", storage, key, port)
        self.host = HOSTS[which]
        self.conf.write_text(self.conf.read_text().replace(
            "DbdHost=localhost", f"DbdHost={HOSTS[0]}\nDbdBackupHost={HOSTS[1]}\nDbdAddr={self.host}"))

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex((self.host, self.port)) == 0

    def begin(self):
        """As start(), but it may have to stand by."""
        self.log.unlink(missing_ok=True)
        listens, self.listens = self.listens, lambda: self.logged("is running") or self.logged("standing by")
        try:
            return self.start()
        finally:
            self.listens = listens

    def logged(self, text):
        return self.log.exists() and text in self.log.read_text()


@pytest.fixture(params=["sqlite", "mysql"])
def pair(request, folder, make_cluster):
    """Both daemons on one database, and a cluster that knows both."""
    db = MariaDB(folder / "my").start() if request.param == "mysql" else None
    storage, key = storage_of(request.param, folder, db), folder / "c0" / "etc" / "slurm.key"
    first = One(0, folder, storage, key)
    second = One(1, folder, storage, key, first.port)
    c = make_cluster(start=False, conf=conf_of(first).replace(
        "AccountingStorageHost=localhost", f"AccountingStorageHost={HOSTS[0]}\nAccountingStorageBackupHost={HOSTS[1]}"))
    try:
        first.start()
        second.begin()
        c.start()
        yield c, first, second, db
    finally:
        c.stop()
        for dbd in (first, second):
            dbd.stop()
        if db:
            db.stop()


def run_jobs(c, n):
    job = c.sbatch(f"--array=1-{n}", "--output=/dev/null", wrap="true")
    wait_until(lambda: not c.run("squeue", "-h").out, "jobs are over", 60)
    return job


def test_takes_over_and_gives_back(pair):
    c, first, second, _ = pair
    assert second.logged("standing by") and not second.listens()
    run_jobs(c, 5)
    wait_until(lambda: not differences(c), "all is stored by the first", 60)
    first.kill()
    run_jobs(c, 5)
    wait_until(second.listens, "the second takes over", 60)
    wait_until(lambda: not differences(c), "all is stored by the second", 60)
    assert c.run("sacctmgr", "ping").out == f"slurmdbd(primary) at {HOSTS[0]} is DOWN\n" \
                                            f"slurmdbd(backup) at {HOSTS[1]} is UP\n"
    c.run("sacctmgr", "-i", "add", "account", "physics")
    wait_until(lambda: "physics" in c.run("scontrol", "show", "assoc_mgr", "flags=assoc").out, "the controller hears of it",
               60)
    first.begin()
    wait_until(first.listens, "the first works again", 60)
    assert second.logged("the other slurmdbd is there: standing by") and not second.listens()
    c.run("sacctmgr", "-i", "add", "account", "chemistry")
    run_jobs(c, 5)
    wait_until(lambda: not differences(c), "all is stored by the first again", 60)
    wait_until(lambda: "chemistry" in c.run("scontrol", "show", "assoc_mgr", "flags=assoc").out,
               "the controller hears of it", 60)
    accounts = c.run("sacctmgr", "-nP", "list", "account", "format=account").out.split()
    assert {"physics", "chemistry"} <= set(accounts)


def test_second_alone(pair):
    """It works without the first ever having been there, and ends as the first does."""
    c, first, second, db = pair
    first.stop()
    second.stop()
    second.begin()
    wait_until(second.listens, "the second works", 60)
    run_jobs(c, 3)
    wait_until(lambda: not differences(c), "all is stored", 60)
    if db:  # a server that goes takes the locks with it: whoever asks first works then, and the first in the end
        first.begin()
        db.kill()
        db.start()
        wait_until(lambda: first.listens() and not second.listens(), "the first works", 60)
        run_jobs(c, 3)
        wait_until(lambda: not differences(c), "all is stored", 60)


def test_neither(folder):
    """A host that is neither of both is told so."""
    dbd = One(0, folder, storage_of("sqlite", folder), folder / "slurm.key")
    dbd.conf.write_text(dbd.conf.read_text().replace(HOSTS[0], "198.51.100.1").replace(HOSTS[1], "198.51.100.2")
                        .replace("DbdAddr=198.51.100.1\n", ""))
    done = subprocess.run([program("slurmdbd"), "-D", "-f", str(dbd.conf)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "is neither DbdHost=198.51.100.1 nor DbdBackupHost=198.51.100.2" in done.stderr


def test_backup_server(folder, make_cluster):
    """StorageBackupHost: used when the first server is away at the start, and when it goes away later."""
    one, two = MariaDB(folder / "my").start(), None
    storage = [*storage_of("mysql", folder, one), f"StorageBackupHost={folder}/my2/s"]
    dbd = Dbd(folder / "dbd", storage, folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(start=False, conf=conf_of(dbd))
    try:
        dbd.start()
        c.start()
        run_jobs(c, 3)
        wait_until(lambda: not differences(c), "all is stored", 60)
        one.stop()
        (folder / "my2").mkdir()
        shutil.copytree(one.data, folder / "my2" / "data")  # what replication would have brought
        run_jobs(c, 3)
        two = MariaDB(folder / "my2").start()
        wait_until(lambda: dbd.log.read_text().count("is running") == 2, "the other server is found", 60)
        wait_until(lambda: not differences(c), "all is stored by the other server", 60)
        dbd.stop()
        dbd.start()
        run_jobs(c, 3)
        wait_until(lambda: not differences(c), "all is stored after a new start", 60)
    finally:
        c.stop()
        dbd.stop()
        one.stop()
        if two:
            two.stop()
