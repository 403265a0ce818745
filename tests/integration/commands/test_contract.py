"""What administrators' tools rely on, item by item (the numbers are those of the contract)."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from conftest import processes_of, program, wait_until

COMMANDS = ["sbatch", "srun", "salloc", "squeue", "sinfo", "scancel", "scontrol", "sacct", "sdiag", "sprio"]
DAEMONS = ["slurmctld", "slurmd", "slurmstepd"]


def test_1_separate_executables(cluster):
    for name in COMMANDS + DAEMONS:
        assert not os.path.islink(program(name)), name
    for daemon in [cluster.ctld, *cluster.slurmds.values()]:
        argv = open(f"/proc/{daemon.pid}/cmdline").read().split("\0")
        assert os.readlink(f"/proc/{daemon.pid}/exe") == argv[0] == program(os.path.basename(argv[0]))
    assert "-N\0node2" in open(f"/proc/{cluster.slurmds['node2'].pid}/cmdline").read()
    job = cluster.sbatch(wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    steps = wait_until(lambda: [pid for pid, cmd in processes_of(cluster.dir) if cmd.startswith("slurmstepd")], "it runs")
    assert {os.readlink(f"/proc/{pid}/exe") for pid in steps} == {program("slurmstepd")}


@pytest.mark.parametrize("name", COMMANDS + DAEMONS)
def test_2_version(shared, name):
    for option in ("-V", "--version"):
        if name == "slurmstepd" and option == "--version":
            continue
        done = shared.run(name, option)
        assert re.fullmatch(r"slurm \d+\.\d+\.\d+\n", done.out) and done.err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_2_help_and_usage(shared, name):
    for option in ("--help", "--usage"):
        done = shared.run(name, option)
        assert done.out.startswith("Usage: ") or done.out.startswith(f"{name} "), done.out[:80]
        assert done.err == ""


def test_3_configuration_forms(make_cluster):
    """Keys of any case, nodes after the partition that uses them, port ranges, the last of a repeated key."""
    c = make_cluster(nodes=3, start=False)
    host = socket.gethostname().split(".")[0]
    text = c.conf_text()
    head = [line for line in text.splitlines() if not line.startswith(("NodeName", "PartitionName", "KillWait"))]
    first, last = c.node_ports[0], c.node_ports[-1]
    assert last - first == 2
    tail = ["partitionNAME=main nodes=ALL default=YES", "killwait=9", "KILLWAIT=2", "# a comment",
            f"nodename=node[1-3] nodehostname={host} nodeaddr=127.0.0.1 port=[{first}-{last}] cpus=4 \\",
            "   sockets=1 corespersocket=4 realmemory=2000 state=unknown"]
    c.write_conf("\n".join(head + tail) + "\n")
    c.start()
    assert "KillWait                = 2 sec" in c.run("scontrol", "show", "config").out
    assert c.run("srun", "-N3", "-l", "true").rc == 0


def test_3_place_of_the_file(cluster):
    env = {**cluster.env}
    env.pop("SLURM_CONF")
    done = subprocess.run([program("slurmctld"), "--check", "-f", str(cluster.conf)], env=env, capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr


def test_3_known_keys_without_effect_are_listed(cluster):
    cluster.write_conf(cluster.conf_text() + "TopologyParam=RouteTree\n")
    done = subprocess.run([program("slurmctld"), "--check", "-f", str(cluster.conf)], env=cluster.env, capture_output=True,
                          text=True, timeout=20)
    assert done.returncode == 0 and "TopologyParam: option RouteTree is accepted without effect: nodes dial in" in done.stdout + done.stderr


def test_3_every_daemon_checks_its_file(cluster, tmp_path):
    """What is wrong, and what is taken and does nothing, is said; what acts is not."""
    cluster.write_conf(cluster.conf_text() + "RequeueExit=1,5\nRequeueExitHold=none-such\nTopologyParam=RouteTree\n"
                       "LaunchParameters=Nonsense\n")
    for daemon in ("slurmctld", "slurmd"):
        done = cluster.run(daemon, "--check", "-f", str(cluster.conf))
        assert "RequeueExitHold=none-such is no list of exit codes" in done.out
        assert "TopologyParam: option RouteTree is accepted without effect" in done.out
        assert "LaunchParameters: unknown option Nonsense" in done.out
        assert "key RequeueExit" not in done.out and "the configuration is good" in done.out
    cluster.write_conf(cluster.conf_text() + "DebugFlags=Steps,Nonsense\n")
    for daemon in ("slurmctld", "slurmd"):
        assert "error: DebugFlags: unknown option Nonsense" in cluster.run(daemon, "--check", "-f", str(cluster.conf), check=False).out
    cluster.write_conf(cluster.conf_text() + "JobCompType=jobcomp/mysql\n")
    for daemon in ("slurmctld", "slurmd"):
        done = cluster.run(daemon, "--check", "-f", str(cluster.conf), check=False)
        assert done.rc == 1 and "JobCompType=jobcomp/mysql is not known" in done.out
    conf = tmp_path / "slurmdbd.conf"
    conf.touch(0o600)
    conf.write_text("DbdHost=localhost\nStorageType=accounting_storage/sqlite\nNoSuchKey=1\n")
    done = cluster.run("slurmdbd", "--check", "-f", str(conf), check=False)
    assert done.rc == 1 and f"{conf}:3: error: unknown key NoSuchKey" in done.out
    conf.write_text("DbdHost=localhost\nStorageType=accounting_storage/sqlite\nDebugLevel=loud\n")
    done = cluster.run("slurmdbd", "--check", "-f", str(conf), check=False)
    assert done.rc == 1 and "DebugLevel=loud is not a level" in done.out


def test_4_daemons_detach(make_cluster):
    """Without -D a daemon returns 0 once it listens; pid files and logs lie where configured."""
    c = make_cluster(nodes=1, start=False)
    started = []
    try:
        for argv, pidfile in (([program("slurmctld"), "-f", str(c.conf)], "slurmctld.pid"),
                              ([program("slurmd"), "-N", "node1", "-f", str(c.conf)], "slurmd-node1.pid")):
            done = subprocess.run(argv, env=c.env, timeout=20, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
            assert done.returncode == 0
            started.append(int((c.dir / "run" / pidfile).read_text()))
            os.kill(started[-1], 0)
        c.wait_nodes()
        assert c.run("scontrol", "ping").rc == 0
        assert (c.dir / "log" / "slurmctld.log").stat().st_size and (c.dir / "log" / "slurmd-node1.log").stat().st_size
        c.run("scontrol", "shutdown")
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started), "all are gone")
        assert not list((c.dir / "run").glob("*.pid"))
    finally:
        for pid in started:
            if os.path.exists(f"/proc/{pid}") and str(c.dir) in open(f"/proc/{pid}/cmdline").read():
                os.kill(pid, signal.SIGKILL)


def test_4_clear_state(make_cluster):
    c = make_cluster(nodes=1)
    c.sbatch("-H", wrap="true")
    assert c.ctld.stop() == 0
    c.start_ctld("-c")
    assert c.run("squeue", "-h").out == ""


def test_4_hardware_line(shared):
    text = shared.run("slurmd", "-C").out
    assert re.match(r"NodeName=\S+ CPUs=\d+ Boards=1 SocketsPerBoard=\d+ CoresPerSocket=\d+ ThreadsPerCore=\d+ RealMemory=\d+\n"
                    r"UpTime=\d+-\d\d:\d\d:\d\d\n$", text)


def test_4_signals(cluster):
    cluster.write_conf(cluster.conf_text() + "PartitionName=extra Nodes=node1\n")
    cluster.ctld.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "extra" in cluster.run("sinfo", "-h", "-o", "%P").out, "the new partition is there")
    log = cluster.dir / "log" / "slurmd-node1.log"
    log.rename(log.with_suffix(".old"))
    cluster.slurmds["node1"].process.send_signal(signal.SIGUSR2)
    wait_until(log.exists, "a new log file is there")


def test_4_two_controllers_are_refused(cluster):
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(cluster.conf)], env=cluster.env, capture_output=True, text=True,
                          timeout=30)
    assert done.returncode == 1 and done.stderr
    assert cluster.ctld.alive() and cluster.up()


def test_5_start_up_is_quick(make_cluster):
    import time
    start = time.monotonic()
    make_cluster(nodes=4)
    from conftest import SLOW
    assert time.monotonic() - start < 5 * SLOW


def test_6_reconfigure_refuses_a_bad_file(cluster):
    good = cluster.conf_text()
    cluster.write_conf(good + "NoSuchKey=1\n")
    done = cluster.run("scontrol", "reconfigure", check=False)
    cluster.write_conf(good)
    assert done.rc == 1 and cluster.up()


def test_7_ping(cluster):
    assert re.fullmatch(r"Slurmctld\(primary\) at \S+ is UP\n", cluster.run("scontrol", "ping").out)
    cluster.kill_ctld()
    done = cluster.run("scontrol", "ping", check=False, timeout=20)
    assert done.rc != 0 and "is DOWN" in done.out


def test_a_long_wait_for_the_controller_is_said(make_cluster):
    c = make_cluster(nodes=1, conf="MessageTimeout=30")
    c.kill_ctld()
    waiting = c.popen("squeue", "-h", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = waiting.stderr.readline()
    assert re.fullmatch(r"squeue: Unable to contact slurm controller, retrying: .+\n", line), line
    c.start_ctld()
    out, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, out, err) == (0, "", ""), "it goes on by itself, and says it once"


def test_sacct_tells_each_attempt(make_cluster):
    c = make_cluster(nodes=1, conf="MessageTimeout=30")
    c.kill_ctld()
    waiting = c.popen("sacct", "-v", "-n", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in (waiting.stderr.readline() for _ in range(3)):  # without -v it is said once
        assert re.fullmatch(r"sacct: Unable to contact slurm controller, retrying: .+\n", line), line
    c.start_ctld()
    out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, out) == (0, "")


CONFIG_KEYS = """SlurmctldHost[0] SlurmctldPort SlurmUser SlurmdUser SLURM_CONF SLURM_VERSION ClusterName SelectType
    SelectTypeParameters SchedulerType SchedulerParameters SlurmctldParameters AccountingStorageType
    AccountingStorageEnforce AccountingStorageTRES PriorityType MULTIPLE_SLURMD MinJobAge MaxArraySize OverTimeLimit
    EnforcePartLimits TaskPlugin ProctrackType JobAcctGatherType SwitchType PrologFlags PreemptMode TLSType AuthType
    AuthInfo SlurmctldLogFile StateSaveLocation DependencyParameters""".split()


def test_8_show_config(cluster):
    text = cluster.run("scontrol", "show", "config").out
    rows = dict(re.findall(r"^(\S+) +=(?: (.*))?$", text, re.M))
    assert [key for key in CONFIG_KEYS if key not in rows] == []
    assert re.fullmatch(r"\S+\(\d+\)", rows["SlurmUser"]) and rows["SlurmdUser"] == "root(0)"
    assert rows["ClusterName"] == "test" and rows["SLURM_CONF"] == str(cluster.conf)
    assert re.fullmatch(r"\d+\.\d+\.\d+", rows["SLURM_VERSION"])
    assert "(null)" in rows.values()


def test_9_one_line_forms(cluster):
    for what in ("jobs", "steps", "partition", "node"):
        done = cluster.run("scontrol", "-d", "-o", "show", what)
        assert done.rc == 0 and len([x for x in done.out.splitlines() if "=" in x]) == {"partition": 1, "node": 3}.get(what, 0)
    job = cluster.sbatch(wrap="true")
    cluster.wait_end(job)
    line, = [x for x in cluster.run("scontrol", "-d", "-o", "show", "jobs").out.splitlines() if x]
    assert all("=" in word for word in line.split(" ") if word and not word.startswith(("--", "true", "-"))), line
    assert cluster.job(job)["JobState"] == "COMPLETED"  # stays for MinJobAge
    assert cluster.run("scontrol", "-o", "show", "reservation").rc == 0


def test_9_min_job_age(make_cluster):
    c = make_cluster(nodes=1, conf="MinJobAge=2")
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    wait_until(lambda: c.job(job) == {}, "the controller forgets it", 30)
    assert c.wait_sacct(job, "COMPLETED")


def test_10_json_forms(cluster):
    assert json.loads(cluster.run("squeue", "--json").out)["jobs"] == []
    assert "v0.0." in cluster.run("squeue", "--json=list").out + cluster.run("squeue", "--json=list").err
    job = cluster.sbatch("-H", wrap="true")
    data = json.loads(cluster.run("squeue", "--json=v0.0.44", check=False).out or cluster.run("squeue", "--json").out)
    assert data["jobs"][0]["job_id"] == job and data["jobs"][0]["job_state"][0] == "PENDING"


def test_11_hostlists_without_a_daemon(make_cluster):
    c = make_cluster(nodes=1, start=False)
    for argv, out in ((["hostnames", "n[1-3,7]-ib,m"], "n1-ib\nn2-ib\nn3-ib\nn7-ib\nm\n"), (["hostnames", "[1,3-5]"], "1\n3\n4\n5\n"),
                      (["hostnames", "n[08-11]"], "n08\nn09\nn10\nn11\n"), (["hostlist", "n3,n1,n2"], "n[3,1-2]\n"),
                      (["hostlistsorted", "n3,n1,n2"], "n[1-3]\n"), (["hostlist", "a1,a2,b[1-2]"], "a[1-2],b[1-2]\n")):
        assert c.run("scontrol", "show", *argv).out == out
    assert c.run("scontrol", "show", "hostnames", env={"SLURM_JOB_NODELIST": "n[1-2]"}).out == "n1\nn2\n"


def test_12_messages(cluster):
    done = cluster.run("sbatch", "--wrap", "true")
    assert re.fullmatch(r"Submitted batch job \d+\n", done.out) and done.err == ""
    done = cluster.run("salloc", "true")
    assert re.match(r"salloc: Granted job allocation \d+\n", done.err) and done.out == ""
    assert "node" in cluster.run("srun", "-v", "true").err


def test_13_visible_before_the_answer(cluster):
    for _ in range(20):
        job = cluster.sbatch("-H", wrap="true")
        assert cluster.run("squeue", "-h", "-j", job, "-o", "%i").out == f"{job}\n"
        assert cluster.sacct("-X", "-j", str(job), "-o", "JobID,State") == [[str(job), "PENDING"]]


def test_17_no_litter(cluster):
    before = {p for p in os.listdir("/tmp")}
    job = cluster.sbatch("-N2", script="srun true; srun bash -c 'exit 3'; kill -SEGV $$")
    cluster.wait_end(job)
    cluster.run("srun", "--pty", "true", check=False)
    cluster.wait_nodes()
    wait_until(lambda: not cluster.litter(), "the spool has nothing but keys and what is known of credentials")
    assert {p.name for p in cluster.dir.iterdir()} == {"etc", "state", "spool", "log", "run", "work", "tmp"}
    mine = [p for p in os.listdir("/tmp") if p not in before and ("slurm" in p or "core" in p) and "penstock-test-" not in p]
    assert mine == []
    assert [p.name for p in cluster.work.iterdir() if p.name.startswith("core")] == []


def test_18_token(cluster):
    (cluster.dir / "state" / "jwt_hs256.key").write_bytes(os.urandom(32))
    (cluster.dir / "state" / "jwt_hs256.key").chmod(0o600)
    cluster.write_conf(cluster.conf_text() + "AuthAltTypes=auth/jwt\n")
    cluster.restart_ctld()
    out = cluster.run("scontrol", "token", "lifespan=60").out
    assert re.fullmatch(r"SLURM_JWT=[\w-]+\.[\w-]+\.[\w-]+\n", out)


def test_18_mpi_list(shared):
    out = shared.run("srun", "--mpi=list").out + shared.run("srun", "--mpi=list").err
    assert out.startswith("MPI plugin types are...\n") and "\tnone\n" in out


def test_18_http_on_the_controllers_port(cluster):
    with socket.create_connection(("127.0.0.1", cluster.port), timeout=10) as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 204")
