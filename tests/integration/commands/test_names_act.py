"""Names of slurm.conf and slurmdbd.conf that were taken without effect (docs/design/0043-names-that-act.md)."""

import re
import select
import signal
import socket
import subprocess
import time

import pytest

from accounting import Dbd, MariaDB, conf_of, storage_of
from conftest import SLOW, is_free, program, wait_until
from controllers import Controllers
from pki import Authority
from rawwire import Peer, messages
from test_debug_flags import ctld_log, log_of, wait_line


def test_wrong_values_are_errors(make_cluster):
    """An option whose value is not taken is an error in the log, and the default holds; a name without effect says why."""
    c = make_cluster(nodes=1, conf="SchedulerParameters=bf_hetjob_prio=foo,sched_min_interval=abc,max_array_tasks=0,bf_continue\n")
    log = log_of(c, ctld_log(c))
    for what in ("bf_hetjob_prio=foo is none of min, avg, max", "sched_min_interval=abc is not a number",
                 "max_array_tasks=0 is out of range (1 to 4000001)"):
        assert re.search(rf"\] error: \S+slurm.conf:\d+: SchedulerParameters: {re.escape(what)}$", log, re.M), what
    assert re.search(r"\] \S+slurm.conf:\d+: SchedulerParameters: option bf_continue is accepted without effect: a plan goes on ", log)
    assert c.sbatch("-H", "-a", "0-3", wrap="true")  # not 0 tasks at most
    done = c.run("slurmctld", "--check", "-f", c.conf)
    assert ": error: SchedulerParameters: bf_hetjob_prio=foo is none of min, avg, max\n" in done.out


def test_connections(make_cluster):
    """conmgr_threads of slurmctld, conmgr_max_connections of slurmd: beyond it callers are turned away."""
    c = make_cluster(start=False, nodes=1, conf="DebugFlags=Thread\nSlurmctldParameters=conmgr_threads=4,conmgr_max_connections=100\n")
    c.write_conf(c.conf_text().replace("SlurmdParameters=config_overrides", "SlurmdParameters=config_overrides,conmgr_max_connections=16"))
    c.start()
    wait_line(c, ctld_log(c), r"\] Thread: io-3 has begun$")
    assert "] Thread: io-4 " not in log_of(c, ctld_log(c))
    callers = [socket.create_connection(("127.0.0.1", c.node_ports[0])) for _ in range(40)]
    try:
        wait_until(lambda: len(select.select(callers, [], [], 0)[0]) >= 24, "those beyond 16 were turned away", 9)
    finally:
        for s in callers:
            s.close()
    assert c.run("srun", "-n1", "echo", "on").out == "on\n"


@pytest.mark.parametrize("word", ["read", "write"])
def test_slow_callers(make_cluster, word):
    """conmgr_read_timeout and conmgr_write_timeout: a second for half a message, and for answers that nobody reads."""
    c = make_cluster(nodes=1, conf=f"SlurmctldParameters=conmgr_{word}_timeout=1\n")
    p = Peer.local(c.port)
    p.hello()
    begun = time.monotonic()
    if word == "read":
        p.send_bytes(b"half")
    for _ in range(400 if word == "write" else 0):
        p.send("query-config", messages().Empty())
    wait_until(lambda: re.search(r"\] slow connection closed: ", log_of(c, ctld_log(c))), "it is closed", 20)
    assert time.monotonic() - begun < 25 * SLOW  # 60 s without
    p.close()


def test_batch_sched_delay(make_cluster):
    """New batch jobs wait for others, without defer too; those of srun do not."""
    c = make_cluster(nodes=1, conf="SchedulerParameters=batch_sched_delay=4\n")
    time.sleep(0)  # the pass of the start is over once a node is idle
    job = c.sbatch(wrap="sleep 30")
    asked = time.monotonic()
    time.sleep(1)
    assert c.state(job) == "PENDING"
    c.wait_state(job, "RUNNING")
    assert 2.5 < time.monotonic() - asked
    second = c.sbatch(wrap="sleep 30")
    assert c.run("srun", "-n1", "echo", "on", timeout=3 * SLOW).out == "on\n"
    c.run("scancel", job, second)


def test_a_backup_that_does_not_schedule(folder):
    """no_backup_scheduling: the backup takes jobs, starts none, and the primary starts them."""
    path = folder / "c"
    path.mkdir()
    c = Controllers(path, nodes=1, lease_ms=int(1500 * SLOW), conf="SchedulerParameters=no_backup_scheduling\n").start()
    try:
        c.wait_end(c.sbatch(wrap="true"))
        c.ctlds["ctl1"].kill()
        wait_until(lambda: c.run("scontrol", "ping", check=False).out.count("is UP") == 1 and c.run("squeue", check=False).returncode == 0,
                   "the backup leads", 30)
        job = c.sbatch(wrap="true")
        c.wait_nodes()
        time.sleep(2)
        assert c.state(job) == "PENDING"
        c.start_one("ctl1")
        c.run("scontrol", "takeover", "0", check=False)
        c.wait_end(job, 60)
    finally:
        problems = c.stop()
    assert not problems, problems


def test_a_controller_ends_for_accounting(make_cluster, folder):
    """max_dbd_msg_action=exit: with more than MaxDBDMsgs records for a slurmdbd that is away slurmctld ends with 1."""
    c = make_cluster(start=False, nodes=1)
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), c.dir / "etc/slurm.key")
    c.extra_conf = conf_of(dbd) + "\nMaxDBDMsgs=20\nSlurmctldParameters=max_dbd_msg_action=exit\n"
    c.write_conf()
    dbd.start()
    c.start()
    c.wait_end(c.sbatch(wrap="true"))
    dbd.stop()
    for _ in range(30):
        if c.popen("sbatch", "-H", "--wrap", "true", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait() != 0:
            break
    wait_until(lambda: not c.ctld.alive(), "slurmctld ended", 30)
    assert re.search(r"\] fatal: accounting: \d+ records wait to be stored, and MaxDBDMsgs is 20: ", log_of(c, ctld_log(c)))
    assert c.ctld.process.returncode == 1
    dbd.start()
    c.ended.append(c.ctld)
    c.start_ctld()
    c.wait_end(c.sbatch(wrap="true"))
    dbd.stop()


def test_exclusive_is_of_the_allocation(make_cluster):
    """srun_exclusive_allocation: a plain --exclusive of a step in a job takes no CPUs for it alone."""
    def cpus(c):
        job = c.sbatch("-n4", wrap="srun -n1 --exclusive sh -c 'scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID'")
        c.wait_end(job)
        return re.search(r"CPUs=(\d+)", c.out(job)).group(1)
    assert cpus(make_cluster(nodes=1)) == "1"
    assert cpus(make_cluster(nodes=1, conf="LaunchParameters=srun_exclusive_allocation\n")) == "4"


def test_tls_to_the_database(folder):
    """StorageParameters: the connection to MariaDB is encrypted, and a server of another authority is refused."""
    pki, other = Authority(folder / "pki"), Authority(folder / "other", "another one")
    pki.pair(folder / "pki", "server", name="localhost", names="DNS:localhost")
    database = MariaDB(folder / "maria").start(f"--ssl-ca={pki.cert}", f"--ssl-cert={folder}/pki/server_cert.pem",
                                               f"--ssl-key={folder}/pki/server_cert_key.pem")
    key = folder / "slurm.key"
    key.write_bytes(b"k" * 64)
    key.chmod(0o600)

    def dbd(name, parameters):
        return Dbd(folder / name, storage_of("mysql", folder, database), key, conf=parameters)
    used = lambda: int(database.sql("SHOW GLOBAL STATUS LIKE 'Ssl_accepts'", "mysql")[0][1])
    try:
        one = dbd("good", f"StorageParameters=SSL_CA={pki.cert}").start()
        assert used() >= 1
        one.stop()
        bad = dbd("bad", f"StorageParameters=SSL_CA={other.cert}")
        bad.daemon = subprocess.Popen([program("slurmdbd"), "-D", "-f", bad.conf], stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: re.search(r"certificate|SSL|TLS", bad.log.read_text() if bad.log.exists() else ""), "it says why", 20)
            assert is_free(bad.port) or bad.daemon.poll() is not None
        finally:
            bad.daemon.send_signal(signal.SIGKILL)
            bad.daemon.communicate()
    finally:
        database.stop()


KINDS = """  <cpukind cpuset="0x00000003" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/></cpukind>
  <cpukind cpuset="0x0000000c" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
</topology>"""


def test_small_cores(make_cluster):
    """allow_ecores: the small cores of a hybrid processor count with it alone."""
    c = make_cluster(start=False, nodes=1)
    plain = subprocess.run(["lstopo", "-i", "pack:1 core:4 pu:1", "--of", "xml"], capture_output=True, text=True)
    if plain.returncode:
        pytest.skip("lstopo is not installed")
    (c.dir / "hybrid.xml").write_text(plain.stdout.replace("</topology>", KINDS))
    (c.dir / "alike.xml").write_text(plain.stdout)

    def seen(xml):
        return re.search(r"CPUs=(\d+)", c.run("slurmd", "-C", "-f", c.conf, env={"HWLOC_XMLFILE": str(c.dir / xml)}).out).group(1)
    assert (seen("hybrid.xml"), seen("alike.xml")) == ("2", "4")
    c.write_conf(c.conf_text().replace("SlurmdParameters=config_overrides", "SlurmdParameters=config_overrides,allow_ecores"))
    assert (seen("hybrid.xml"), seen("alike.xml")) == ("4", "4")
