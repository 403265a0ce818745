"""slurmdbd when the network to its database goes silent: nothing is refused and nothing answers."""

import socket
import threading
import time
from contextlib import suppress

import pytest

from accounting import Dbd, MariaDB, conf_of, differences
from conftest import wait_until

ENDS_S = 20  # of which 5 are slurmdbd's patience


class Line:
    """A way to the server; `silent`: what is sent stays where it is, and who comes anew is let in and never heard."""

    def __init__(self, path, to):
        self.path, self.to, self.silent, self.pairs = path, to, threading.Event(), []
        self.asked = threading.Event()  # in silence
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError):  # closed: the end
            while True:
                ours, _ = self.listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(str(self.to))
                self.pairs += [ours, theirs]
                for a, b in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, a, b):
        with suppress(OSError):
            while True:
                data = a.recv(65536)
                if not data:
                    break
                if self.silent.is_set():
                    self.asked.set()
                    return  # with all that comes later
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)

    def close(self):
        for s in (self.listener, *self.pairs):
            s.close()


def ends(dbd):
    """How long slurmdbd takes to end when it is told to."""
    began = time.monotonic()
    dbd.daemon.process.terminate()
    wait_until(lambda: not dbd.daemon.alive(), "slurmdbd ends", 60)
    return time.monotonic() - began


@pytest.fixture
def site(folder, make_cluster):
    db = MariaDB(folder / "my").start()
    line = Line(folder / "line", db.socket)
    storage = ["StorageType=accounting_storage/mysql", f"StorageHost={line.path}", "StorageUser=root"]
    dbd = Dbd(folder / "dbd", storage, folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(start=False, conf=conf_of(dbd))
    try:
        yield c, dbd, db, line
    finally:
        c.stop()
        if dbd.daemon and dbd.daemon.alive():
            dbd.kill()
        line.close()
        db.stop()


def run_jobs(c):
    c.sbatch("--array=1-5", "--output=/dev/null", wrap="true")
    wait_until(lambda: not c.run("squeue", "-h").out, "jobs are over", 60)


def test_stop(site):
    """A stop ends it in seconds while threads wait for the database, and nothing that was answered is lost."""
    c, dbd, db, line = site
    dbd.start()
    c.start()
    run_jobs(c)
    wait_until(lambda: not differences(c), "all is stored", 60)
    c.run("sacctmgr", "-i", "add", "account", "physics")
    line.silent.set()
    run_jobs(c)
    asked = [c.popen("sacct", "-n"), c.popen("sacctmgr", "-i", "add", "account", "chemistry")]
    assert line.asked.wait(30)
    assert ends(dbd) < ENDS_S
    assert dbd.daemon.process.returncode == 0
    assert "the database has not answered for 5 seconds" in dbd.log.read_text()
    for one in asked:
        one.kill()
        one.wait()
    dbd.conf.write_text(dbd.conf.read_text().replace(str(line.path), str(db.socket)))
    dbd.start()
    wait_until(lambda: not differences(c), "all is stored", 60)
    assert "physics" in c.run("sacctmgr", "-nP", "list", "account", "format=account").out


def test_stop_while_it_asks_whose_turn_it_is(site):
    """The main thread itself waits."""
    c, dbd, db, line = site
    dbd.conf.write_text(dbd.conf.read_text() + f"StorageBackupHost={dbd.dir}/none\n")
    dbd.start()
    line.silent.set()
    assert line.asked.wait(30)
    assert ends(dbd) < ENDS_S
    assert dbd.daemon.process.returncode == 0


def test_stop_while_it_starts(site):
    """No table can be made; it waits for that."""
    c, dbd, db, line = site
    served, dbd.listens = dbd.listens, lambda: dbd.log.exists()
    line.silent.set()
    dbd.start()
    assert ends(dbd) < ENDS_S
    assert dbd.daemon.process.returncode == 0


def test_other_server(site, folder):
    """A server that goes silent is left for StorageBackupHost, by threads that wait for it, too."""
    c, dbd, db, line = site
    dbd.conf.write_text(dbd.conf.read_text() + f"StorageBackupHost={db.socket}\n")
    dbd.start()
    c.start()
    run_jobs(c)
    wait_until(lambda: not differences(c), "all is stored", 60)
    line.silent.set()
    run_jobs(c)
    wait_until(lambda: dbd.log.read_text().count("is running") == 2, "the other server is found", 90)
    wait_until(lambda: not differences(c), "all is stored", 60)
