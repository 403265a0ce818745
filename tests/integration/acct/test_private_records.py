"""PrivateData of slurmdbd.conf: jobs, usage and users that operators and coordinators see, and nobody else.

alice works in physics, bob in lab, carol coordinates the account above his and has run nothing."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import SLOW, Cluster, program, wait_until
from people import HAVE_PEOPLE, as_user

pytestmark = pytest.mark.skipif(not HAVE_PEOPLE, reason="only root can have users of the tests' own")
SIZES = ("sreport", "-nP", "job", "sizesbyaccount", "flatview", "printjobcount", "start=now-2hours", "end=now+1hour")


class Hidden:
    def __init__(self, c, dbd):
        self.c, self.dbd, self.text = c, dbd, dbd.conf.read_text()

    def ask(self, who, *words):
        how, env = as_user(who)
        done = subprocess.run([program(words[0]), *words[1:]], capture_output=True, text=True, timeout=60 * SLOW, cwd="/",
                              env={**self.c.env, **env}, **how)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.split())

    def users(self, who, *words):
        """Whose jobs sacct tells."""
        return sorted(set(self.ask(who, "sacct", "-aXnP", "-o", "user", *words)))

    def hide(self, what):
        """slurmdbd reads its configuration again."""
        said = self.dbd.log.read_text().count(" again; the port")
        self.dbd.conf.write_text(self.text + (f"PrivateData={what}\n" if what else ""))
        self.c.run("sacctmgr", "reconfigure")
        wait_until(lambda: self.dbd.log.read_text().count(" again; the port") > said, "the configuration is read", 30)


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    folder.chmod(0o755)
    (folder / "c").mkdir()
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c" / "etc" / "slurm.key")
    c = Cluster(folder / "c", nodes=1, conf=conf_of(dbd) + "\nAccountingStorageEnforce=associations")
    try:
        dbd.start()
        c.start()
        for words in ("account physics", "account chem", "account lab parent=chem", "user alice account=physics",
                      "user bob account=lab", "user carol account=chem", "coordinator account=chem names=carol"):
            c.run("sacctmgr", "-i", "add", *words.split())
        for user in ("alice", "bob"):
            job = c.run("sbatch", "--parsable", f"--uid={user}", "-o", "/dev/null", "-D", "/", "--wrap=true").out.strip()
            c.wait_end(job)
            c.wait_sacct(job, "COMPLETED")
        yield Hidden(c, dbd)
    finally:
        c.stop()
        dbd.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def shown(site):
    """Everything is told again afterwards."""
    yield site
    site.c.run("sacctmgr", "-i", "modify", "user", "alice", "set", "adminlevel=none")
    site.hide("")


def test_coordinator_sees_jobs_of_his_accounts(shown):
    """Also those of accounts below, whether he names the account or not; others see their own."""
    assert shown.users("alice") == shown.users("carol") == ["alice", "bob"]
    shown.hide("jobs")
    assert shown.users("alice") == ["alice"] and shown.users("bob") == ["bob"] and shown.users("root") == ["alice", "bob"]
    assert shown.users("carol") == shown.users("carol", "-A", "lab") == ["bob"]
    assert shown.users("carol", "-A", "physics") == shown.users("carol", "-u", "alice") == []
    assert shown.users("alice", "-u", "bob") == shown.users("alice", "-A", "lab") == []


def test_operator_sees_jobs_of_all(shown):
    """From the moment on in which he is one."""
    shown.hide("jobs,usage")
    assert shown.users("alice") == ["alice"]
    shown.c.run("sacctmgr", "-i", "modify", "user", "alice", "set", "adminlevel=operator")
    assert shown.users("alice") == shown.users("alice", "-A", "lab,physics") == ["alice", "bob"]


def test_usage_of_others(shown):
    """An account's usage is for those in it, its coordinators and operators."""
    def accounts(who):
        return [line.split("|")[1] for line in shown.ask(who, *SIZES)]
    assert accounts("alice") == accounts("carol") == ["lab", "physics"]
    shown.hide("usage")
    assert accounts("alice") == ["physics"] and accounts("bob") == ["lab"] and accounts("carol") == ["lab"]
    shown.c.run("sacctmgr", "-i", "modify", "user", "alice", "set", "adminlevel=operator")
    assert accounts("alice") == ["lab", "physics"]


def test_coordinator_sees_associations_of_his_accounts(shown):
    """And himself alone among the users."""
    shown.hide("users")
    listed = ("sacctmgr", "-nP", "list", "user", "format=user")
    assert shown.ask("carol", *listed) == ["carol"] and shown.ask("bob", *listed) == ["bob"]
    listed = ("sacctmgr", "-nP", "list", "assoc", "format=account,user")
    assert shown.ask("carol", *listed) == ["chem|", "chem|carol", "lab|", "lab|bob"]
    assert shown.ask("bob", *listed) == ["lab|bob"]


def test_reservations_are_for_operators(shown):
    """Those of slurmdbd; scontrol shows what slurm.conf leaves open."""
    listed = ("sacctmgr", "-nP", "list", "reservation", "format=name")
    shown.c.run("scontrol", "create", "reservation=hers", "starttime=now", "duration=10", "users=alice", "nodecnt=1")
    wait_until(lambda: shown.ask("bob", *listed) == ["hers"], "accounting knows of it")
    shown.hide("reservations")
    assert shown.ask("bob", *listed) == [] and shown.ask("root", *listed) == ["hers"]
    shown.c.run("scontrol", "delete", "reservation=hers")
