"""slurmdbd with SQLite and with MariaDB: jobs through it, and everything killed under load."""

import os
import pwd
import subprocess
import time

import pytest

from accounting import Dbd, MariaDB, conf_of, differences, storage_of
from conftest import BUILD, program, wait_until

ENGINES = ["sqlite", "mysql"]
JOBS = int(os.environ.get("PENSTOCK_ACCOUNTING_JOBS", "1000"))  # make test-accounting: many more
LARGE = f"\nMaxArraySize={JOBS + 1001}\nMaxJobCount={JOBS + 20000}"


class Progress:
    """A line every ten seconds of what takes many minutes (pytest -s shows them)."""

    def __init__(self, what):
        self.what, self.begin, self.told = what, time.monotonic(), time.monotonic()

    def tell(self, text):
        if JOBS >= 10000 and time.monotonic() - self.told >= 10:
            self.told = time.monotonic()
            print(f"{self.what}: {text}, {self.told - self.begin:.0f} s", flush=True)


class Site:
    """A database, slurmdbd and a cluster."""

    def __init__(self, engine, folder, make_cluster, **options):
        self.db = MariaDB(folder / "my").start() if engine == "mysql" else None
        key = folder / "c0" / "etc" / "slurm.key"
        self.dbd = Dbd(folder / "dbd", storage_of(engine, folder, self.db), key)
        self.make, self.options = make_cluster, options

    def __enter__(self):
        self.cluster = self.make(start=False, conf=conf_of(self.dbd) + LARGE, **self.options)
        self.cluster.start()
        self.dbd.start()
        return self

    def __exit__(self, *exc):
        problems = self.cluster.stop()
        self.dbd.stop()
        if self.db:
            self.db.stop()
        assert not problems, problems

    def settled(self):
        """Wait until sacct shows what the journal says."""
        found, progress = [], Progress("comparing")

        def same():
            all_of_them = differences(self.cluster)
            progress.tell(f"{len(all_of_them)} records differ")
            found[:] = all_of_them[:10]
            return not found
        try:
            wait_until(same, "accounting has everything", 60 + JOBS / 100)
        finally:
            assert not found, found


@pytest.fixture(params=ENGINES)
def site(request, folder, make_cluster):
    with Site(request.param, folder, make_cluster) as s:
        yield s


def test_jobs(site):
    c = site.cluster
    job = c.sbatch("--job-name=one", wrap="srun true; exit 3")
    c.wait_end(job)
    assert c.wait_sacct(job, "FAILED", "State,ExitCode,JobName,Cluster") == ["FAILED", "3:0", "one", "test"]
    assert [row[0] for row in c.sacct("-j", str(job), "-o", "JobID")] == [f"{job}", f"{job}.batch", f"{job}.0"]
    held = c.sbatch("--hold", wrap="true")
    c.run("scancel", str(held))
    site.settled()
    assert c.sacct("-X", "-M", "test", "-S", "1970-01-02", "-o", "Cluster")[0] == ["test"]
    assert not c.sacct("-X", "-M", "other", "-S", "1970-01-02", "-o", "Cluster")
    # the controller does not answer for slurmdbd
    plain = c.dir / "etc" / "embedded.conf"
    plain.write_text(c.conf_text().replace("accounting_storage/slurmdbd", "accounting_storage/x")
                     .replace("AccountingStorageType=accounting_storage/x", ""))
    assert "Accounting is with slurmdbd" in c.refused("sacct", env={"SLURM_CONF": str(plain)})


def test_killed_under_load(site):
    """Every part is killed in turn while jobs run; then all is there, once."""
    c, progress = site.cluster, Progress("jobs")
    c.sbatch(f"--array=1-{JOBS}", "--output=/dev/null", wrap="true")

    def ended():
        n = JOBS - len(c.run("squeue", "-h", "-r", "-o", "%A").out.split())
        progress.tell(f"{n} of {JOBS} are over")
        return n
    for share in (0.1, 0.5):
        wait_until(lambda: ended() >= JOBS * share, "jobs run", 60 + JOBS / 20)
        site.dbd.kill()
        if site.db:
            site.db.kill()
            site.dbd.start()  # without a database
            wait_until(lambda: ended() >= JOBS * (share + 0.1), "jobs run on", 60 + JOBS / 20)
            site.db.start()
        else:
            site.dbd.start()
        c.kill_ctld()
        c.start_ctld(timeout=15 + JOBS / 500)
    wait_until(lambda: ended() == JOBS, "all jobs are over", 120 + JOBS / 20)
    site.settled()
    runs = c.sacct("-X", "-D", "-S", "1970-01-02", "-o", "DBIndex")
    assert len(runs) == JOBS


def resvs(c, *words):
    """Name, nodes, and whether it is over, of each period that the store has."""
    out = c.run("sacctmgr", "-nP", "list", "reservation", "format=name,nodename,start,end", *words).out
    return [tuple(line.split("|")) for line in out.splitlines()]


def test_reservations(site):
    """Each period once, whoever is killed meanwhile; jobs say which reservation they ran in."""
    c = site.cluster
    user = pwd.getpwuid(os.getuid()).pw_name
    for i in range(3):
        c.run("scontrol", "create", f"reservation=r{i}", "start=now", "duration=60", "nodes=node1", f"users={user}",
              "flags=ignore_jobs")
        if i == 0:
            job = c.sbatch("--reservation=r0", "--time=5", wrap="true")
            c.wait_end(job)
        c.run("scontrol", "update", f"reservationname=r{i}", "duration=120")
        site.dbd.kill()
        wait_until(lambda: c.run("scontrol", "delete", f"reservationname=r{i}", check=False).rc == 0, "deleted")
        c.kill_ctld()
        site.dbd.start()
        c.start_ctld()
    c.run("scontrol", "create", "reservation=later", "start=now+2hours", "duration=60", "nodecnt=1", f"users={user}")
    names = ["later", *(f"r{i}" for i in range(3) for _ in range(2))]
    wait_until(lambda: sorted(row[0] for row in resvs(c)) == names, "every period is stored once", 60)
    for i in range(3):
        first, second = resvs(c, f"names=r{i}")
        assert first[3] == second[2] and first[1] == second[1] == "node1"
    row = c.wait_sacct(job, "COMPLETED", "State,Reservation,ReservationId,ReqReservation")
    assert (row[1], row[3]) == ("r0", "r0") and int(row[2]) > 0
    assert [r[0] for r in resvs(c, f"ids={row[2]}")] == ["r0", "r0"]
    c.run("scontrol", "delete", "reservationname=later")
    wait_until(lambda: "later" not in [row[0] for row in resvs(c)], "what never was leaves nothing", 60)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small file system")
@pytest.mark.parametrize("engine", ENGINES if JOBS >= 10000 else ["sqlite"])
def test_full(engine, folder, make_cluster):
    """The file system of the database fills up while jobs run; with room again everything is stored."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300M", "tmpfs", str(disk)], check=True)
    db = MariaDB(disk / "my").start() if engine == "mysql" else None
    dbd = Dbd(folder / "dbd", storage_of(engine, disk, db), folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(start=False, conf=conf_of(dbd) + LARGE)
    try:
        dbd.start()
        c.start()
        c.wait_end(c.sbatch(wrap="true"))
        c.wait_sacct(1, "COMPLETED")
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as f, pytest.raises(OSError):
            while True:
                assert f.write(b"x" * 65536)
                f.flush()
        job = c.sbatch("--array=1-150", "--output=/dev/null", wrap="srun true")
        wait_until(lambda: not c.run("squeue", "-h").out, "jobs are over", 60)
        missing = len(differences(c))
        filler.unlink()
        wait_until(lambda: not differences(c), "everything is stored", 60)
        assert len(c.sacct("-X", "-j", str(job))) == 150
        assert engine == "mysql" or missing  # a server has room of its own in its files
    finally:
        c.stop()
        dbd.stop()
        if db:
            db.stop()
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_private(folder):
    """PrivateData: who is not root sees his own jobs and usage."""
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key", conf="PrivateData=jobs,usage")
    if os.getuid() != 0:
        pytest.skip("needs another user")
    dbd.start()
    dbd.stop()
    import sqlite3
    db = sqlite3.connect(folder / "acct.db")
    db.execute("INSERT INTO sources VALUES(0,'test','x',0,0,0,0)")
    for run, uid in ((1, 65534), (2, 1)):
        record = bytes([0x08, run, 0x28]) + (bytes([0xfe, 0xff, 0x03]) if uid == 65534 else bytes([uid]))
        db.execute("INSERT INTO jobs VALUES(?,?,NULL,NULL,?,3,1,1,2,3,'p','n','a','q','n1',?)", (run, run, uid, record))
        db.execute("INSERT INTO usage_keys VALUES(?,0,'a',?,?,'','',0)", (run, uid, f"u{uid}"))
        db.execute("INSERT INTO usage_sums VALUES(0,1,0,?,1,600)", (run,))
    db.commit()
    db.close()
    folder.chmod(0o755)
    conf = folder / "slurm.conf"
    conf.write_text("ClusterName=test\nSlurmctldHost=localhost\nAccountingStorageType=accounting_storage/slurmdbd\n"
                    f"AccountingStoragePort={dbd.port}\n")
    dbd.start()

    def ask(uid, *argv):
        done = subprocess.run([program(argv[0]), *argv[1:]], capture_output=True, text=True, timeout=30, user=uid,
                              env={**os.environ, "SLURM_CONF": str(conf), "TZ": "UTC"})
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    try:
        jobs = ["sacct", "-a", "-nX", "-S", "1970-01-01", "-o", "jobid"]
        usage = ["sreport", "-nP", "user", "top", "start=1970-01-01", "end=1970-01-02", "format=login,used"]
        assert ask(0, *jobs) == ["1", "2"]
        assert ask(65534, *jobs) == ["1"]
        assert ask(65534, *jobs, "-u", "1") == []
        assert sorted(ask(0, *usage)) == ["u1|10", "u65534|10"]
        assert ask(65534, *usage) == ["u65534|10"]
    finally:
        dbd.stop()


def test_away_from_the_start(folder, make_cluster):
    """A controller that has never seen slurmdbd keeps its journal; sacct says what is wrong."""
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(conf=conf_of(dbd))
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    assert "Problem talking to the database" in c.refused("sacct")
    dbd.start()
    try:
        c.wait_sacct(job, "COMPLETED")
        assert not differences(c)
    finally:
        c.stop()
        dbd.stop()


def test_two_clusters(folder, make_cluster):
    """Equal job numbers of two clusters stay apart; one that begins anew keeps its old jobs."""
    key = folder / "c0" / "etc" / "slurm.key"
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), key)
    one = make_cluster(nodes=1, conf=conf_of(dbd))
    two = make_cluster(nodes=1, start=False, conf=conf_of(dbd) + f"\nAuthInfo=keyfile={key}")
    two.write_conf(two.conf_text().replace("ClusterName=test", "ClusterName=two"))
    dbd.start()
    try:
        two.start()
        for c in (one, two):
            c.wait_end(c.sbatch(wrap="true"))
            c.wait_sacct(1, "COMPLETED")
        assert one.sacct("-X", "-M", "test,two", "-o", "JobID,Cluster") == [["1", "test"], ["1", "two"]]
        assert two.sacct("-X", "-o", "JobID,Cluster") == [["1", "two"]]
    finally:
        one.stop()
        two.stop()
        dbd.stop()


def test_none(make_cluster):
    c = make_cluster(nodes=1, conf="AccountingStorageType=accounting_storage/none")
    c.wait_end(c.sbatch(wrap="true"))
    assert c.refused("sacct") == "Slurm accounting storage is disabled\n"


def test_bad_starts(folder):
    """What a person must fix is said in a sentence, and nothing is left behind."""
    conf = folder / "slurmdbd.conf"

    def start(text, mode=0o600):
        conf.write_text(text)
        conf.chmod(mode)
        done = subprocess.run([program("slurmdbd"), "-D", "-f", str(conf)], capture_output=True, text=True, timeout=30)
        assert done.returncode == 1
        return done.stderr
    good = f"StorageType=accounting_storage/sqlite\nStorageLoc={folder}/a.db\nPidFile={folder}/pid\n"
    assert "should be 600" in start(good, 0o644)
    assert "StorageTyp" in start(good + "StorageTyp=x\n")
    assert "is no age" in start(good + "PurgeJobAfter=soon\n")
    assert "is not a level" in start(good + "DebugLevel=loud\n")
    assert "another program" not in start(good + "SlurmUser=nosuchuser\n")
    (folder / "a.db").write_text("this is no database\n" * 100)
    assert "damaged" in start(good)
    assert not (folder / "pid").exists()


@pytest.mark.skipif(JOBS < 10000, reason="part of make test-accounting")
@pytest.mark.parametrize("name", ["test_acct", "test_acct_query", "test_acct_keep", "test_acct_resv",
                                  "test_rollup", "test_sql", "test_turn"])
def test_units_on_mariadb(folder, name):
    """The store's unit tests, which otherwise run on SQLite."""
    db = MariaDB(folder / "my").start()
    try:
        done = subprocess.run([str(BUILD / "tests" / "unit" / name)], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "PENSTOCK_TEST_MYSQL": str(db.socket)})
        assert done.returncode == 0, done.stdout
    finally:
        db.stop()
