"""sacctmgr with slurmdbd: changes reach the controller, also those it missed; with SQLite and MariaDB."""

from conftest import wait_until
from test_slurmdbd import site  # noqa: F401


def mgr(c, *words, check=True):
    return c.run("sacctmgr", *words, check=check)


def in_log(c, account):
    folder = next(path for path in c.dir.rglob("journal") if path.is_dir())
    return any(account.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_changes_reach_the_controller(site):  # noqa: F811
    c, dbd = site.cluster, site.dbd
    wait_until(lambda: c.run("sacctmgr", "-nP", "list", "cluster", "format=cluster", check=False).out.strip() == "test",
               "the cluster has registered itself")
    assert mgr(c, "ping").out.startswith("slurmdbd(primary) at ")
    mgr(c, "-i", "add", "account", "science", "maxsubmitjobs=1")
    mgr(c, "-i", "add", "user", "root", "account=science")
    dump = mgr(c, "-nP", "list", "assoc").out
    assert "test|science|root|" in dump

    # the controller is away for a change, then slurmdbd
    c.kill_ctld()
    mgr(c, "-i", "add", "account", "late")
    c.start_ctld()
    assert "late" in mgr(c, "-nP", "list", "account", "format=account").out

    # what it was told is in its log
    wait_until(lambda: in_log(c, "science") and in_log(c, "late"), "the controller knows the accounts")
    assert not in_log(c, "never")
    dbd.kill()
    done = mgr(c, "-i", "add", "account", "never", check=False)
    assert done.rc == 1 and "Sending PersistInit msg: Connection refused" in done.err
    dbd.start()
    wait_until(lambda: "late" in mgr(c, "-nP", "list", "account", "format=account", check=False).out, "slurmdbd is back")
    assert mgr(c, "-nP", "list", "assoc", "account=science").out.count("\n") == 2
    mgr(c, "-i", "add", "account", "after")
    wait_until(lambda: in_log(c, "after"), "the controller follows again", 30)
    assert c.run("sacctmgr", "show", "cluster").rc == 0
