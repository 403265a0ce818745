"""sreport: reports from made-up sums in a store of slurmdbd, columns, times, and what it refuses."""

import os
import re
import sqlite3
import subprocess
import time

import pytest

from accounting import Dbd, storage_of
from conftest import program, wait_until

HOUR = 3600
DAY0 = 1635724800  # 2021-11-01T00:00:00 UTC
RULE = "-" * 80
TRES = {"cpu": 1, "mem": 2, "energy": 3, "node": 4}


def resv_record(number, name, flags, nodes, tres):
    """ReservationRecord: fields 1 and 5 are numbers below 128, the others short texts."""
    texts = {2: name, 6: nodes}
    out = bytes([1 << 3, number, 5 << 3, flags])
    for field, text in texts.items():
        out += bytes([field << 3 | 2, len(text)]) + text.encode()
    return out + bytes([12 << 3 | 2, len(tres)]) + tres.encode()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """slurmdbd with one cluster's hours of one day: al1ce and b0b in chem, car0l in phys and chem."""
    folder = tmp_path_factory.mktemp("sreport")
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key")
    dbd.start()
    dbd.stop()
    db = sqlite3.connect(folder / "acct.db")
    db.execute("INSERT INTO sources VALUES(0,'demo','x',0,0,?,?)", (0, (DAY0 + 5 * HOUR) * 10**6))
    who = [(1, "chem", 2001, "al1ce", "w1", "normal"), (2, "chem", 2002, "b0b", "", "high"),
           (3, "phys", 2003, "car0l", "", "normal"), (4, "chem", 2003, "car0l", "", "normal")]
    for row in who:
        db.execute("INSERT INTO usage_keys VALUES(?,0,?,?,?,?,?,0)", row)
    cpu = {1: 600, 2: 1200, 3: 36000, 4: 60}  # seconds an hour
    for hour in range(3):
        for key, secs in cpu.items():
            db.execute("INSERT INTO usage_sums VALUES(0,0,?,?,?,?)", (DAY0 + hour * HOUR, key, TRES["cpu"], secs))
        db.execute("INSERT INTO usage_sums VALUES(0,0,?,1,?,?)", (DAY0 + hour * HOUR, TRES["energy"], 7))
        db.execute("INSERT INTO usage_sums VALUES(0,0,?,1,?,?)", (DAY0 + hour * HOUR, TRES["mem"], 6000))
        db.execute("INSERT INTO usage_cluster VALUES(0,0,?,?,64,?,?,?,?,?,0)",
                   (DAY0 + hour * HOUR, TRES["cpu"], 37860, 3600, 1800, 187140 - 60, 60))
    db.execute("INSERT INTO reservations VALUES(0,7,?,?,2,'dlc',?)",
               (DAY0 * 10**6, (DAY0 + 2 * HOUR) * 10**6, resv_record(7, "dlc", 0b11, "n[1-2]", "cpu=8,license/x=2")))
    db.execute("INSERT INTO usage_resv VALUES(0,?,7,?,1,7200)", (DAY0 + HOUR, DAY0 * 10**6))
    db.commit()
    db.close()
    conf = folder / "slurm.conf"
    conf.write_text("ClusterName=demo\nSlurmctldHost=localhost\nAccountingStorageType=accounting_storage/slurmdbd\n"
                    f"AccountingStoragePort={dbd.port}\n")
    dbd.start()
    yield conf
    dbd.stop()


@pytest.fixture
def sreport(store):
    def run(*argv, rc=0, stdin=None, when=("start=2021-11-01T00:00:00", "end=2021-11-01T02:30:00")):
        env = {**os.environ, "SLURM_CONF": str(store), "TZ": "UTC"}
        done = subprocess.run([program("sreport"), *argv, *when], env=env, capture_output=True, text=True, input=stdin,
                              timeout=30)
        assert done.returncode == rc, done.stdout + done.stderr
        return done
    return run


def table(text):
    """Rows below the rules, without the last blank."""
    return [line for line in text.split(RULE + "\n")[-1].splitlines()]


def test_account_by_user(sreport):
    out = sreport("cluster", "AccountUtilizationByUser").stdout
    assert out.splitlines()[:4] == [
        RULE, "Cluster/Account/User Utilization 2021-11-01T00:00:00 - 2021-11-01T02:59:59 (10800 secs)",
        "Usage reported in CPU Minutes", RULE]
    rows = table(out)
    assert rows[0] == "  Cluster         Account     Login     Proper Name     Used   Energy "
    assert rows[1] == "--------- --------------- --------- --------------- -------- -------- "
    assert [row.split() for row in rows[2:]] == [
        ["demo", "root", "1893", "21"], ["demo", "chem", "93", "21"], ["demo", "chem", "al1ce", "30", "21"],
        ["demo", "chem", "b0b", "60", "0"], ["demo", "chem", "car0l", "3", "0"], ["demo", "phys", "1800", "0"],
        ["demo", "phys", "car0l", "1800", "0"]]
    assert rows[2] == "     demo            root                               1893       21 "
    tree = table(sreport("cluster", "AccountUtilizationByUser", "tree").stdout)
    assert tree[0] == "  Cluster Account                  Login     Proper Name     Used   Energy "
    assert tree[3] == "     demo  chem                                                93       21 "
    assert tree[4] == "     demo   chem" + "al1ce".rjust(24) + "30".rjust(25) + "21".rjust(9) + " "


def test_other_reports(sreport):
    def rows(*argv):
        return table(sreport("-nP", *argv).stdout)
    assert rows("cluster", "UserUtilizationByAccount") == [
        "demo|car0l||phys|1800|0", "demo|b0b||chem|60|0", "demo|al1ce||chem|30|21", "demo|car0l||chem|3|0"]
    assert rows("cluster", "AccountUtilizationByQOS", "accounts=chem") == [
        "demo|chem|high|60|0", "demo|chem|normal|33|21"]
    assert rows("cluster", "WCKeyUtilizationByUser", "format=wckey,login,used")[:2] == ["*||1863", "*|b0b|60"]
    assert rows("cluster", "UserUtilizationByWckey") == ["demo|car0l||*|1803", "demo|b0b||*|60", "demo|al1ce||w1|30"]
    assert rows("user", "top", "topcount=1", "group") == ["demo|car0l||chem,phys|1803|0"]
    assert rows("user", "top", "users=2002") == ["demo|b0b||chem|60|0"]
    assert rows("-T", "cpu,mem", "cluster", "User", "users=2001") == ["demo|al1ce||chem|cpu|30",
                                                                      "demo|al1ce||chem|mem|300"]
    assert rows("-T", "ALL", "user", "top", "users=2001", "format=login,tresname,used") == [
        "al1ce|cpu|30", "al1ce|mem|300", "al1ce|energy|0"]
    assert rows("-t", "percent", "user", "top", "users=2002") == ["demo|b0b||chem|0.52%|0"]
    assert rows("-t", "hourper", "user", "top", "users=2002") == ["demo|b0b||chem|1(0.52%)|0"]
    assert rows("-M", "other", "user", "top") == []


def test_whole_hours(sreport):
    """An hour that has begun by the end counts; one that begins with it does not."""
    def head(*when):
        return sreport("user", "top", when=when).stdout.splitlines()[1]
    assert head("start=2021-11-01", "end=2021-11-02").endswith("2021-11-01T00:00:00 - 2021-11-01T23:59:59 (86400 secs)")
    assert head("start=2021-11-01", "end=2021-11-01T02:00:01").endswith("- 2021-11-01T02:59:59 (10800 secs)")
    began, lines, ended = time.time(), [head("start=2021-11-01", end) for end in ("end=now", "end=now+400days")], time.time()
    last = {time.strftime("- %Y-%m-%dT%H:59:59", time.gmtime(at)) for at in (began - 1, ended)}  # no hour to come
    assert {line[line.index("- "):].partition(" (")[0] for line in lines} <= last, lines
    assert head().endswith("T00:59:59 (90000 secs)")  # yesterday and an hour, as the incumbent reports


def test_utilization(sreport):
    rows = table(sreport("cluster", "utilization").stdout)
    assert rows == [
        "  Cluster Allocate     Down PLND Dow     Idle  Planned Reported ",
        "--------- -------- -------- -------- -------- -------- -------- ",
        "     demo     1893      180       90     9354        3    11520 "]
    text = sreport("-t", "hourper", "-T", "cpu,mem", "cluster", "utilization").stdout
    assert "Usage reported in TRES Hours/Percentage of Total" in text
    assert table(text)[0] == ("  Cluster      TRES Name         Allocated              Down         PLND Down"
                              "              Idle           Planned          Reported ")
    assert table(text)[2].split() == ["demo", "cpu", "32(16.43%)", "3(1.56%)", "2(0.78%)", "156(81.20%)", "0(0.03%)",
                                      "192(100.00%)"]
    # one hour, and none
    out = sreport("-nP", "cluster", "util", when=("start=2021-11-01T01:00:00", "end=2021-11-01T01:10:00")).stdout
    assert out == "demo|631|60|30|3118|1|3840\n"
    assert not sreport("-nP", "cluster", "util", when=("start=2021-12-01", "end=2021-12-02")).stdout


def test_command_line(sreport):
    def err(*argv, table=False):
        done = sreport(*argv, rc=1, when=())
        assert bool(done.stdout) == table
        return done.stderr
    assert err("nosuch") == "invalid keyword: nosuch\n"
    for two in (("-M", "demo", "--local"), ("-a", "-M", "demo"), ("-a", "--local")):
        assert err(*two, "user", "top") == "Only one cluster option can be used (--all_clusters OR --cluster OR --local)\n"
    assert err("cluster", "nosuch").startswith(
        'Not valid report nosuch\nValid cluster reports are, "AccountUtilizationByUser", ')
    for report, word in (("cluster utilization", "nosuch=1"), ("cluster utilization", "users=b0b"), ("user top", "jobs=1"),
                         ("job sizesbyaccount", "topcount=1"), ("reservation utilization", "accounts=chem"),
                         ("cluster accountutilizationbyuser", "gid=1"), ("cluster userutilizationbyaccount", "wckeys=w")):
        want = f" Unknown condition: {word}\nUse keyword set to modify value\n"
        assert err(*report.split(), word, table=True) == want, (report, word)
    assert err("cluster", "userutilizationbywckey", "users=b0b", table=True) == " Unknown condition: users=b0b\n"
    assert sreport("-nP", "cluster", "utilization", "nosuch").stdout == ""  # a word alone names a cluster
    assert sreport("-nP", "cluster", "utilization", "demo").stdout.startswith("demo|")
    assert err("cluster", "utilization", "format=nosuch", table=True) == " Unknown field 'nosuch'\n"
    assert sreport("-t", "weeks", "user", "top", when=()).stderr == "unknown time format weeks\n"
    done = sreport("cluster", "utilization", "start=foo", when=())
    assert done.stderr == "Invalid time specification (pos=0): foo\n"
    assert "Cluster Utilization" in done.stdout
    assert sreport(when=(), stdin="").stdout == "sreport: \n"
    said = sreport(when=(), stdin="parsable2\nuser top start=2021-11-01 end=2021-11-01T02:01 users=2002\n!!\nexit\n")
    assert said.stdout.count("demo|b0b||chem|60|0\n") == 2
    assert "cluster Utilization" in sreport("help", when=()).stdout


def message(**fields):
    """An encoded record: f<number>=value, integers and texts."""
    def varint(n):
        out = bytearray()
        while n > 0x7f:
            out.append(n & 0x7f | 0x80)
            n >>= 7
        return bytes(out) + bytes([n])
    out = b""
    for name, value in fields.items():
        number = int(name[1:])
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value.encode()
    return out


def old_job(folder, past):
    """A store with one job that ended 20 minutes behind `past`, and a day's events before it."""
    start = past + 600
    db = sqlite3.connect(folder / "acct.db")
    db.execute("INSERT INTO sources VALUES(0,'demo','x',0,0,?,0)", ((past + 2 * HOUR) * 1000000,))
    db.execute("INSERT INTO events VALUES(0,'',?,?,0,NULL,NULL,'cpu=10',NULL)", (past * 1000000, 2**63 - 1))
    record = message(f1=1, f5=2001, f7="al1ce", f10="chem", f30=3, f50=start * 1000000, f51=start * 1000000,
                     f53=start * 1000000, f54=(start + 1200) * 1000000, f186="cpu=6", f187="cpu=6")
    db.execute("INSERT INTO jobs VALUES(1,1,NULL,NULL,2001,3,?,?,?,?,'p','n','chem','q','n1',?)",
               (start * 1000000, start * 1000000, start * 1000000, (start + 1200) * 1000000, record))
    db.commit()
    db.close()


def jobs_left(folder):
    db = sqlite3.connect(folder / "acct.db")
    try:
        return db.execute("SELECT count(*) FROM jobs").fetchone()[0]
    finally:
        db.close()


@pytest.mark.parametrize("ends", [0, 3])
def test_archive_script(folder, ends):
    """ArchiveScript keeps old records in place of our files, and what it did not keep stays."""
    script, told = folder / "keep.sh", folder / "told"
    script.write_text(f"#!/bin/sh\nenv > {told}.part\nmv {told}.part {told}\nexit {ends}\n")
    script.chmod(0o700)
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key",
              conf=f"PurgeJobAfter=24hours\nArchiveJobs=yes\nArchiveDir={folder}\nArchiveScript={script}")
    dbd.start()
    dbd.stop()
    told.unlink(missing_ok=True)
    old_job(folder, 1604188800)
    dbd.start()
    try:
        wait_until(told.exists, "the script is started", 40)
        env = told.read_text().splitlines()
        assert "SLURM_ARCHIVE_JOBS=1" in env and "SLURM_ARCHIVE_STEPS=0" in env
        assert any(re.fullmatch(r"SLURM_ARCHIVE_LAST_JOB=\d+", line) for line in env)
        if ends:
            wait_until(lambda: f"{script} failed with exit code {ends}, nothing is purged" in dbd.log.read_text(), "it says so", 30)
            assert jobs_left(folder) == 1
        else:
            wait_until(lambda: jobs_left(folder) == 0, "what was kept goes", 30)
    finally:
        dbd.stop()
    assert not list(folder.glob("demo_job_archive_*"))


def test_rolled_up_by_slurmdbd(folder):
    """The daemon sums up what is complete, and purges what is too old."""
    past = 1604188800  # 2020-11-01T00:00:00 UTC
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key",
              conf=f"PurgeJobAfter=24hours\nArchiveJobs=yes\nArchiveDir={folder}")
    dbd.start()
    dbd.stop()
    old_job(folder, past)
    conf = folder / "slurm.conf"
    conf.write_text("ClusterName=demo\nSlurmctldHost=localhost\nAccountingStorageType=accounting_storage/slurmdbd\n"
                    f"AccountingStoragePort={dbd.port}\n")
    env = {**os.environ, "SLURM_CONF": str(conf), "TZ": "UTC"}

    def report(*argv):
        done = subprocess.run([program("sreport"), "-nP", *argv, "start=2020-11-01", "end=2020-11-01T01:59"], env=env,
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout
    dbd.start()
    try:
        wait_until(lambda: report("cluster", "utilization"), "usage is summed up", 30)
        assert report("cluster", "utilization") == "demo|120|0|0|1080|0|1200\n"
        assert report("user", "top", "format=login,account,used") == "al1ce|chem|120\n"
        wait_until(lambda: list(folder.glob("demo_job_archive_*")), "old jobs are archived", 30)
        out = subprocess.run([program("sacct"), "-anX", "-S", "2020-01-01"], env=env, capture_output=True, text=True)
        assert (out.returncode, out.stdout) == (0, "")
    finally:
        dbd.stop()


def test_reservations(sreport):
    rows = table(sreport("reservation", "utilization").stdout)
    assert rows[0] == ("  Cluster      Name               Start                 End      TRES Name            Allocated"
                       "                 Idle ")
    assert [row.split() for row in rows[2:]] == [
        ["demo", "dlc", "2021-11-01T00:00:00", "2021-11-01T02:00:00", "cpu", "120", "840"],
        ["demo", "dlc", "2021-11-01T00:00:00", "2021-11-01T02:00:00", "license/x", "0", "240"]]
    out = sreport("-nP", "-T", "cpu", "-t", "percent", "reservation", "utilization", "names=dlc", "nodes=n2",
                  "format=name,allocated,idle,trescount,flags,nodes,totaltime").stdout
    assert out == "dlc|12.50%|87.50%|8|MAINT,FLEX|n[1-2]|100.00%\n"
    # of one hour alone
    out = sreport("-nP", "-T", "cpu", "reservation", "utilization", "format=allocated,idle",
                  when=("start=2021-11-01T01:00:00", "end=2021-11-01T01:30:00")).stdout
    assert out == "120|360\n"
    assert sreport("-nP", "reservation", "utilization", "nodes=n3").stdout == ""
    assert sreport("-nP", "reservation", "utilization", "names=other").stdout == ""


def test_reserved_is_planned(sreport):
    out = sreport("-nP", "cluster", "utilization", "format=planned,reserved").stdout
    assert out.strip() and len(set(out.strip().split("|"))) == 1
