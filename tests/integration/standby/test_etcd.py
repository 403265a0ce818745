"""The log in three real members of etcd: controllers that share no folder."""

import os
import re
import signal
import time

import pytest
from conftest import SLOW, wait_until
from etcds import Etcd, EtcdControllers, have_etcd
from pki import Authority

pytestmark = pytest.mark.skipif(not have_etcd(), reason="etcd (package etcd-server) is not installed")


@pytest.fixture
def etcd(folder):
    path = folder / "etcd"
    path.mkdir()
    e = Etcd(path)
    try:
        yield e.start()
    finally:
        for p in e.procs:
            if p and p.poll() is None:
                p.send_signal(signal.SIGCONT)
        e.stop()


@pytest.fixture
def make(folder, etcd):
    made = []

    def build(**options):
        path = folder / f"c{len(made)}"
        path.mkdir()
        options.setdefault("nodes", 1)
        options.setdefault("lease_ms", int(2000 * SLOW))
        made.append(EtcdControllers(path, etcd, **options))
        return made[-1].start()
    yield build
    problems = [p for c in made for p in c.stop()]
    for c in made if problems else []:
        print(c.logs(""))
    assert not problems, problems


def ran_once(c, job):
    c.wait_end(job)
    record = c.job(job)
    assert record["JobState"] == "COMPLETED" and record["Restarts"] == "0", record
    assert (c.work / "ran").read_text().split().count(str(job)) == 1


def test_another_disk_goes_on(make, etcd):
    c = make()
    running = c.sbatch("--wrap", f"echo $SLURM_JOB_ID >> ran; srun sleep {4 * SLOW}")
    c.wait_state(running, "RUNNING")
    queued = [c.sbatch("-n4", "--wrap", f"echo $SLURM_JOB_ID >> ran; : {'x' * 200}") for _ in range(5)]
    c.ctlds["ctl1"].kill()
    later = int(wait_until(lambda: c.run("sbatch", "--parsable", "--wrap", "echo $SLURM_JOB_ID >> ran", check=False).out,
                           "a job is accepted again", 30))
    assert later == queued[-1] + 1 and c.active() == "ctl2"
    assert not (c.dir / "state").exists() or not (c.dir / "state" / "journal").exists()
    for job in [running, *queued, later]:
        ran_once(c, job)  # scripts came with the log
    assert max(c.fresh()) < 2000 * SLOW
    c.wipe("ctl1")  # the first comes back with an empty disk
    c.start_one("ctl1")
    c.wait_active("ctl1", 30)
    last = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    assert last == later + 1
    ran_once(c, last)


def test_every_disk_is_lost(make, etcd):
    c = make()
    big = c.work / "big.sh"
    big.write_text("#!/bin/sh\necho $SLURM_JOB_ID >> ran\n" + "# a long script\n" * 150000)  # more than one chunk of etcd
    first = c.sbatch("-H", str(big))
    more = [c.sbatch("-H", "--wrap", "echo $SLURM_JOB_ID >> ran") for _ in range(5)]
    for host in c.hosts:
        c.ctlds[host].kill()
        c.wipe(host)
    for host in c.hosts:
        c.start_one(host, timeout=30)
    wait_until(lambda: c.active(), "somebody leads", 30)
    assert [int(i) for i in c.run("squeue", "-h", "-o", "%i", "-S", "i").out.split()] == [first, *more]
    for job in [first, *more]:
        c.run("scontrol", "release", str(job))
        ran_once(c, job)


def test_one_member_dies(make, etcd):
    c = make()
    before = c.sbatch("-H", "--wrap", "true")
    etcd.kill(etcd.leader())
    after = int(wait_until(lambda: c.run("sbatch", "--parsable", "-H", "--wrap", "true", check=False).out,
                           "a job is accepted with two members", 30 * SLOW))
    assert after == before + 1


def test_majority_gone(make, etcd):
    c = make()
    kept = c.sbatch("-H", "--wrap", "true")
    etcd.kill(1)
    etcd.kill(2)
    done = c.run("sbatch", "--parsable", "-H", "-J", "lost", "--wrap", "true", check=False, env={"SLURM_CONF": str(c.conf)})
    assert done.rc != 0 and not done.out
    # squeue would be answered by a standby
    told = wait_until(lambda: re.search("etcd.*", c.run("sbatch", "-H", "--wrap", "true", check=False).err), "a command says why",
                      30 * SLOW)
    assert "nobody can be in control" in told.group()
    etcd.start_one(1)
    etcd.start_one(2)
    wait_until(lambda: c.run("squeue", "-h", check=False).rc == 0, "somebody leads again", 40 * SLOW)
    ids = [int(i) for i in c.run("squeue", "-h", "-o", "%i").out.split()]
    assert kept in ids


def test_deposed_acknowledges_nothing(make, etcd):
    c = make()
    kept = c.sbatch("-H", "--wrap", "true")
    c.only("ctl1")  # makes the token
    c.freeze("ctl1")
    c.wait_active("ctl2", 30 * SLOW)
    other = int(c.run("sbatch", "--parsable", "-H", "--wrap", "true", env=c.only("ctl2")).out)
    assert other == kept + 1
    c.thaw("ctl1")
    deadline = time.monotonic() + 2 * SLOW
    acknowledged = []
    while time.monotonic() < deadline:
        done = c.run("sbatch", "--parsable", "-H", "--wrap", "true", check=False, env=c.only("ctl1"))
        acknowledged += [done.out] if done.rc == 0 else []
    assert acknowledged == []
    assert "term 1 is over" in c.ctld_log("ctl1")
    assert len(c.run("squeue", "-h", env=c.only("ctl2")).out.splitlines()) == 2


def test_folder_of_another_log(make, etcd):
    c = make(controllers=1)
    c.sbatch("-H", "--wrap", "true")
    assert c.ctlds["ctl1"].stop() == 0
    (c.dir / "state-ctl1" / "journal" / "etcd.id").write_text("f" * 16)
    told = c.run("slurmctld", "-D", "-f", str(c.own_conf("ctl1")), "--host", "ctl1", check=False, timeout=30)
    log = c.ctld_log("ctl1") + told.err
    assert told.rc != 0 and "has another log than etcd below test" in log
    os.unlink(c.dir / "state-ctl1" / "journal" / "etcd.id")
    c.wipe("ctl1")
    c.start_one("ctl1")
    c.wait_active("ctl1")
    assert len(c.run("squeue", "-h").out.splitlines()) == 1


def test_snapshot_and_space(make, etcd):
    """A snapshot in etcd lets the log there go, and is enough to begin from."""
    c = make()
    jobs = []
    for n in range(17):  # so much that a snapshot is due
        path = c.work / f"s{n}.sh"
        path.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID >> ran\n# {n}\n" + "# filled with text that is of no use\n" * 110000)
        jobs.append(c.sbatch("-H", str(path)))
    assert etcd.count("test/big/") > 30
    wait_until(lambda: etcd.count("test/snapshot") == 1, "a snapshot is in etcd", 60)
    assert etcd.count("test/big/") <= 8 and etcd.count("test/log/") < 20
    wait_until(lambda: list((c.dir / "state-ctl2" / "journal").glob("*.snap")), "the standby has it too", 60)
    jobs.append(c.sbatch("-H", "--wrap", "echo $SLURM_JOB_ID >> ran"))
    for host in c.hosts:
        c.ctlds[host].kill()
        c.wipe(host)
    for host in c.hosts:
        c.start_one(host, timeout=30)
    wait_until(lambda: c.active(), "somebody leads", 30)
    assert any("taken from etcd's snapshot" in c.ctld_log(host) for host in c.hosts)
    assert [int(i) for i in c.run("squeue", "-h", "-o", "%i", "-S", "i").out.split()] == jobs
    for job in (jobs[0], jobs[-1]):
        c.run("scontrol", "release", str(job))
        ran_once(c, job)


def test_check_wants_members(make_cluster):
    """slurmctld --check says what is missing, before a start does."""
    c = make_cluster(nodes=1, conf="JournalType=etcd\n", start=False)
    done = c.run("slurmctld", "--check", "-f", str(c.conf), check=False)
    assert done.rc == 1 and "JournalType=etcd needs JournalParameters=endpoints=http://HOST:2379" in done.out + done.err


# ---- certificates and users ---------------------------------------------------------------------------------------------------

@pytest.fixture
def tls_etcd(folder):
    path = folder / "etcd"
    path.mkdir()
    e = Etcd(path, pki=Authority(folder / "ca"))
    try:
        yield e.start()
    finally:
        e.stop()


def closed_site(folder, etcd, parameters, **options):
    path = folder / f"c{len(list(folder.glob('c[0-9]')))}"
    path.mkdir()
    return EtcdControllers(path, etcd, parameters=parameters, nodes=1, lease_ms=int(2000 * SLOW), **options)


def test_certificates(folder, tls_etcd):
    """Members that speak TLS and want certificates: a takeover, and who has no certificate, or trusts another authority."""
    tls_etcd.pki.pair(folder, "slurm")
    pair = f",cert={folder}/slurm_cert.pem,key={folder}/slurm_cert_key.pem"
    c = closed_site(folder, tls_etcd, f",cacert={tls_etcd.pki.cert}{pair}").start()
    first = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    ran_once(c, first)
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    second = c.sbatch("--wrap", "echo $SLURM_JOB_ID >> ran")
    assert second == first + 1
    ran_once(c, second)
    assert c.stop() == []
    for wrong, sentence in ((f",cacert={tls_etcd.pki.cert}", "etcd https://127.0.0.1"),
                            (f",cacert={Authority(folder / 'other').cert}{pair}", "certificate")):
        d = closed_site(folder, tls_etcd, wrong, controllers=1)
        d.start_one("ctl1", timeout=None)
        wait_until(lambda: "standing by: etcd https://" in d.ctld_log("ctl1"), "it says that etcd cannot be asked", 30 * SLOW)
        assert sentence in d.ctld_log("ctl1") and "in control, term" not in d.ctld_log("ctl1")
        assert d.stop() == []


def test_users(folder, etcd):
    """An etcd that knows users: a controller logs in, again when its token is not known any more, and is told when it may not."""
    etcd.add_users("slurm", 'pass "word"', "test/")
    password = folder / "password"
    password.write_text('pass "word"\n')
    password.chmod(0o600)
    c = closed_site(folder, etcd, f",user=slurm,passwordfile={password}").start()
    first = c.sbatch("-H", "--wrap", "true")
    for i in range(3):  # tokens end with the members that gave them
        etcd.kill(i)
        etcd.start_one(i)
        wait_until(lambda: etcd.procs[i].poll() is None and etcd.answers(), "etcd answers", 60)
    later = int(wait_until(lambda: c.run("sbatch", "--parsable", "-H", "--wrap", "true", check=False).out, "a job is accepted", 60))
    assert later > first
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30 * SLOW)
    ids = [int(i) for i in c.run("squeue", "-h", "-o", "%i").out.split()]
    assert {first, later} <= set(ids) and len(set(ids)) == len(ids)
    assert c.stop() == []
    password.write_text("s3cret-2\n")
    d = closed_site(folder, etcd, f",user=slurm,passwordfile={password}", controllers=1)
    d.start_one("ctl1", timeout=None)
    wait_until(lambda: "invalid user ID or password" in d.ctld_log("ctl1"), "it says so", 30 * SLOW)
    assert "in control, term" not in d.ctld_log("ctl1") and "s3cret-2" not in d.ctld_log("ctl1")
    assert d.stop() == []
