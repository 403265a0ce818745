"""Keys of slurmdbd.conf that change what slurmdbd does with accounts, records and controllers."""

import os
import socket
import subprocess

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import Daemon, program, wait_until
from test_slurmdbd_control import ROOT_ONLY, Site


def test_no_default_account(folder):
    """AllowNoDefAcct: the default account may be cleared and taken away."""
    def setup(s):
        s.run("sacctmgr", "-i", "add", "cluster", "test")
        for account in ("one", "two"):
            s.run("sacctmgr", "-i", "add", "account", account)
            s.run("sacctmgr", "-i", "add", "user", "daemon", f"account={account}")

    def default(s):
        return s.run("sacctmgr", "-nP", "list", "user", "daemon", "format=defaultaccount").strip()
    with Site(folder) as s:
        setup(s)
        assert default(s) == "one"
        s.run("sacctmgr", "-i", "modify", "user", "daemon", "set", "defaultaccount=", rc=1)
        s.run("sacctmgr", "-i", "delete", "user", "daemon", "account=one", rc=1)
        assert default(s) == "one"
        s.dbd.conf.write_text(s.dbd.conf.read_text() + "AllowNoDefAcct=yes\n")
        s.run("sacctmgr", "reconfigure")
        wait_until(lambda: s.dbd.log.read_text().count(" again; the port") == 1, "the configuration is read", 30)
        s.run("sacctmgr", "-i", "modify", "user", "daemon", "set", "defaultaccount=")
        assert default(s) == ""
        s.run("sacctmgr", "-i", "modify", "user", "daemon", "set", "defaultaccount=two")
        s.run("sacctmgr", "-i", "delete", "user", "daemon", "account=two")
        assert "one" in s.run("sacctmgr", "-nP", "list", "assoc", "user=daemon", "format=account")


def test_absolute_resources(folder):
    """AllResourcesAbsolute: what is added then is shared by counts."""
    def shared(s, name):
        return s.run("sacctmgr", "-nP", "list", "resource", name, "withclusters", "format=name,count,allocated,flags").split()
    with Site(folder, conf="AllResourcesAbsolute=yes") as s:
        s.run("sacctmgr", "-i", "add", "cluster", "test")
        s.run("sacctmgr", "-i", "add", "resource", "matlab", "server=s", "count=500", "cluster=test", "allowed=300")
        assert "Absolute" in shared(s, "matlab")[0]
        s.run("sacctmgr", "-i", "modify", "resource", "matlab", "set", "allowed=501", "cluster=test", rc=1)


def test_default_qos(folder):
    """DefaultQOS: new clusters have these in place of normal, made when they are not there; a cluster that is told its own
    has that."""
    def qos(s, cluster):
        return s.run("sacctmgr", "-nP", "list", "assoc", f"cluster={cluster}", "format=user,qos").splitlines()
    with Site(folder) as s:
        s.run("sacctmgr", "-i", "add", "cluster", "old")
        s.dbd.stop()
        s.dbd.conf.write_text(s.dbd.conf.read_text() + "DefaultQOS=Standby,normal\n")
        s.dbd.start()
        assert "standby|Added as default" in s.run("sacctmgr", "-nP", "list", "qos", "format=name,description")
        s.run("sacctmgr", "-i", "add", "cluster", "new")
        s.run("sacctmgr", "-i", "add", "cluster", "own", "set", "qos=normal")
        assert qos(s, "new") == ["|normal,standby", "root|normal,standby"]
        assert qos(s, "old") == qos(s, "own") == ["|normal", "root|normal"]
        s.dbd.stop()
        s.dbd.start()
        assert s.run("sacctmgr", "-nP", "list", "qos", "format=name").split() == ["normal", "standby"]


def test_debug_flags(folder):
    """Statements of the kinds named and requests are logged; a flag that there is not is refused."""
    with Site(folder, conf="DebugFlags=DB_EVENT") as s:
        s.run("sacctmgr", "-i", "add", "cluster", "test")
        s.run("sacctmgr", "-nP", "list", "event", "all_clusters")
        log = s.dbd.log.read_text()
        assert "DB_EVENT: " in log and "FROM events" in log and "FROM entities" not in log and "AuditRPCs" not in log
        text = s.dbd.conf.read_text()
        s.dbd.conf.write_text(text.replace("DB_EVENT", "AuditRPCs,db_assoc,Network,Protocol"))
        s.run("sacctmgr", "reconfigure")
        wait_until(lambda: s.dbd.log.read_text().count(" again; the port") == 1, "the configuration is read", 30)
        s.run("sacctmgr", "-i", "add", "account", "one")
        log = s.dbd.log.read_text()
        assert "DB_ASSOC: REPLACE INTO entities" in log and f"AuditRPCs: acct-admin uid={os.getuid()} addr=local" in log
        assert f" opened: addr=local uid={os.getuid()} program=" in log and " in: acct-admin request, " in log
        s.dbd.conf.write_text(text.replace("DB_EVENT", "DB_EVENTS"))
        s.run("sacctmgr", "reconfigure")
        wait_until(lambda: "DebugFlags=DB_EVENTS is not a flag" in s.dbd.log.read_text(), "it says so", 30)


@ROOT_ONLY
def test_no_coordinators(folder):
    """DisableCoordDBD: who coordinates an account has no right by that."""
    with Site(folder) as s:
        s.run("sacctmgr", "-i", "add", "cluster", "test")
        s.run("sacctmgr", "-i", "add", "account", "one")
        s.run("sacctmgr", "-i", "add", "user", "daemon", "account=one")
        s.run("sacctmgr", "-i", "add", "coordinator", "names=daemon", "account=one")
        s.run("sacctmgr", "-i", "add", "user", "bin", "account=one", user=1)  # daemon's number
        s.dbd.stop()
        s.dbd.conf.write_text(s.dbd.conf.read_text() + "DisableCoordDBD=yes\n")
        s.dbd.start()
        s.run("sacctmgr", "-i", "add", "user", "games", "account=one", user=1, rc=1)
        assert "games" not in s.run("sacctmgr", "-nP", "list", "user")


@ROOT_ONLY
def test_private_accounts(folder):
    """PrivateData: accounts and users of others are not told by slurmdbd either."""
    with Site(folder) as s:
        s.run("sacctmgr", "-i", "add", "cluster", "test")
        for name in ("one", "two"):
            s.run("sacctmgr", "-i", "add", "account", name)
        s.run("sacctmgr", "-i", "add", "user", "daemon", "account=one")
        s.run("sacctmgr", "-i", "add", "user", "bin", "account=two")

        def seen(what):
            return s.run("sacctmgr", "-nP", "list", what, f"format={what}", user=1).split()
        assert "two" in seen("account") and "bin" in seen("user")
        s.dbd.conf.write_text(s.dbd.conf.read_text() + "PrivateData=accounts,users\n")
        s.run("sacctmgr", "reconfigure")
        wait_until(lambda: "two" not in seen("account"), "others' accounts are hidden", 30)
        assert seen("account") == ["one"] and seen("user") == ["daemon"]


@pytest.fixture
def keyed(folder, make_cluster):
    """A function that starts a cluster with a slurmdbd that has these lines in its configuration."""
    made = []

    def start(conf):
        dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key", conf=conf)
        c = make_cluster(start=False, nodes=1, conf=conf_of(dbd))
        made.extend((c, dbd))
        dbd.start()
        c.start()
        return c, dbd
    yield start
    for thing in made:
        thing.stop()


def test_commit_delay(keyed):
    """Controllers gather records so long, as they are told when they register."""
    c, dbd = keyed("CommitDelay=3600")
    job = c.sbatch("--hold", wrap="true")
    c.run("scancel", str(job))
    wait_until(lambda: "CANCELLED" in c.run("scontrol", "show", "job", str(job)).out, "it is cancelled")
    assert c.sacct("-X", "-j", str(job), "-o", "JobID") == []
    dbd.stop()
    dbd.conf.write_text(dbd.conf.read_text().replace("CommitDelay=3600", "CommitDelay=1"))
    dbd.start()
    c.restart_ctld()
    c.wait_sacct(job, "CANCELLED")


def test_track_down(keyed):
    """An event for the time without a controller, as far as slurmdbd saw it."""
    c, _ = keyed("TrackSlurmctldDown=yes")

    def events():
        out = c.run("sacctmgr", "-nP", "list", "event", "all_clusters", "start=1970-01-02", "format=nodename,start,end,reason").out
        return [line.split("|") for line in out.splitlines() if "disconnect" in line]
    c.wait_end(c.sbatch(wrap="true"))
    c.wait_sacct(1, "COMPLETED")
    assert events() == []
    has = c.run("sacctmgr", "-nP", "list", "event", "event=cluster", "format=nodecount,cpucount,clusternodes,tres").out.split("|")
    assert has[0] == str(len(c.node_names)) and has[3].startswith(f"cpu={has[1]},mem=")
    c.kill_ctld()
    wait_until(lambda: [e[2] for e in events()] == ["Unknown"], "the event begins", 60)
    c.start_ctld()
    wait_until(lambda: events() and events()[0][2] != "Unknown", "the event ends", 60)
    (node, start, end, reason), = events()
    assert node == "" and reason == "slurmctld disconnect" and start <= end  # it may be within a second


# A /dev of its own, with /dev/log: a socket in the folder $0.
OWN_DEV = """set -e
mkdir "$0/dev"; mount --rbind /dev "$0/dev"; mount -t tmpfs none /dev
for n in null zero full random urandom tty; do touch /dev/$n; mount --bind "$0/dev/$n" /dev/$n; done
ln -s "$0/log" /dev/log
exec "$@"
"""


@pytest.mark.skipif(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
                    reason="mounts of one's own need root")
def test_system_log(folder):
    """DebugLevelSyslog: errors and more go to /dev/log too."""
    folder.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(folder / "log"))
        log.settimeout(30)
        dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key", conf="DebugLevelSyslog=info")
        dbd.daemon = Daemon("slurmdbd", ["unshare", "-m", "bash", "-c", OWN_DEV, str(folder), program("slurmdbd"), "-D", "-f",
                                         str(dbd.conf)], dbd.dir / "slurmdbd", {**os.environ, "TZ": "UTC"})
        try:
            line = log.recv(4096).decode()
        finally:
            dbd.stop()
        assert line.startswith("<30>slurmdbd[")
