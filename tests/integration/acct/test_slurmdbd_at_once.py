"""What a command did is seen by the next one, though slurmdbd stands between them: a limit that was set holds for the
next job, and a job is in sacct once sbatch has answered.  A controller that does not answer holds nobody up for long."""

import signal
import subprocess
import time

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import SLOW

TIMES = 12


@pytest.fixture
def site(folder, make_cluster):
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(nodes=1, start=False, conf=conf_of(dbd) + "\nAccountingStorageEnforce=limits\nTrackWCKey=yes")
    dbd.start()
    c.start()
    for words in (["account", "a"], ["user", "root", "account=a"]):
        c.run("sacctmgr", "-i", "add", *words)
    yield c, dbd
    problems = c.stop()
    dbd.stop()
    assert not problems, problems


def test_job_is_in_sacct(site):
    c, _ = site
    for _ in range(TIMES):
        job = c.sbatch("-H", "-A", "a", "-o", "/dev/null", wrap="true")
        assert c.sacct("-X", "-j", str(job), "-o", "JobID,State") == [[str(job), "PENDING"]]
    done = c.run("sbatch", "--parsable", "--wait", "-A", "a", "-o", "/dev/null", "--wrap", "exit 3", check=False)
    assert done.rc == 3 and c.sacct("-X", "-j", done.out.strip(), "-o", "State,ExitCode") == [["FAILED", "3:0"]]


def test_limit_holds(site):
    c, _ = site
    for i in range(TIMES):
        c.run("sacctmgr", "-i", "modify", "user", "root", "where", "account=a", "set", "maxsubmit=0")
        assert "AssocMaxSubmitJobLimit" in c.refused("sbatch", "-H", "-A", "a", "--wrap", "true")
        c.run("sacctmgr", "-i", "modify", "user", "root", "where", "account=a", "set", "maxsubmit=-1")
        c.sbatch("-H", "-A", "a", "-o", "/dev/null", wrap="true")


def spent(c, *argv):
    begin = time.monotonic()
    c.run(*argv)
    return time.monotonic() - begin


def test_controller_stands_still(site):
    """The answer waits for the controller; one that does not come is waited for once."""
    c, _ = site
    change = ("sacctmgr", "-i", "modify", "user", "root", "where", "account=a", "set")
    c.ctld.process.send_signal(signal.SIGSTOP)
    try:
        waits = c.popen(*change, "maxjobs=1", stdout=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0.5)
        assert waits.wait(20 * SLOW) == 0
        assert spent(c, *change, "maxjobs=2") < 1.5 * SLOW
        assert spent(c, "sacct") < 0.9 * SLOW
    finally:
        c.ctld.process.send_signal(signal.SIGCONT)
    job = c.sbatch("-H", "-A", "a", "-o", "/dev/null", wrap="true")
    c.run(*change, "maxjobs=0")
    c.run("scontrol", "release", str(job))
    c.wait_state(job, "PENDING")
    assert c.sacct("-X", "-j", str(job), "-o", "JobID") == [[str(job)]]


def test_questions_wait_a_second(site):
    c, _ = site
    c.ctld.process.send_signal(signal.SIGSTOP)
    try:
        assert 0.5 < spent(c, "sacct") < 5 * SLOW
        assert spent(c, "sacct") < 0.9 * SLOW
    finally:
        c.ctld.process.send_signal(signal.SIGCONT)


def test_key_of_another_cluster(site):
    """A cluster that goes takes no user's default WCKey of the others."""
    c, _ = site
    c.run("sacctmgr", "-i", "add", "cluster", "other")
    for cluster in ("test", "other"):
        c.run("sacctmgr", "-i", "add", "user", "root", "wckeys=w1,w2", "defaultwckey=w2", f"cluster={cluster}")

    def default():
        return c.run("sacctmgr", "-nP", "list", "user", "root", "format=defaultwckey").out
    assert default() == "w2\n"
    c.run("sacctmgr", "-i", "delete", "cluster", "other")
    assert default() == "w2\n"
    c.run("sacctmgr", "-i", "delete", "user", "root", "wckey=w2")
    assert default() == "\n"
