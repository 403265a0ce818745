"""penstock up, status, env, down, demo and the journal tools."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import BUILD, processes_of, program, wait_until

ENV = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")} | {"LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0"}


def penstock(*argv, check=True, prefix=(), env=ENV, timeout=240):
    done = subprocess.run([*prefix, program("penstock"), *map(str, argv)], env=env, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def private(folder):
    """The folder of a private cluster; down and gone afterwards."""
    path = folder / "private"
    yield path
    if (path / "etc" / "slurm.conf").exists():
        penstock("down", "--dir", path, check=False)
    wait_until(lambda: not processes_of(path), "no process of the cluster is left")


def in_cluster(path, command):
    text = f'eval "$({program("penstock")} env --dir {path})"; cd {path}; {command}'
    return subprocess.run(["bash", "-c", text], env=ENV, capture_output=True, text=True, timeout=120)


def test_up_use_down(private):
    done = penstock("up", "--nodes=2", "--cpus=3", "--dir", private)
    assert "A cluster of 2 nodes runs in" in done.stdout
    assert in_cluster(private, "sinfo -h -N -o '%N %c %t'").stdout == "node1 3 idle\nnode2 3 idle\n"
    assert in_cluster(private, "srun -N2 -l echo hi | sort").stdout == "0: hi\n1: hi\n"
    status = penstock("status", "--dir", private)
    assert "controller: up" in status.stdout and "2 of 2 ready" in status.stdout
    assert "is down" in penstock("down", "--dir", private).stderr
    assert not processes_of(private)
    assert penstock("status", "--dir", private, check=False).returncode == 1


def test_up_with_emulated_nodes(private):
    """Nodes of one process: jobs are timers, and everything that the controller does is real."""
    done = penstock("up", "--nodes=1", "--emulate=300", "--dir", private)
    assert "301 of 301 nodes are ready" in done.stderr and "A cluster of 301 nodes" in done.stdout
    assert in_cluster(private, "sinfo -h -p emulated -o '%D %t %c %m'").stdout == "300 idle 64 262144\n"
    assert in_cluster(private, "sbatch -p emulated -W --wrap 'exit 3'").returncode == 3
    assert in_cluster(private, "sbatch -p emulated -W -N200 --exclusive --wrap 'sleep 0.1; true'").returncode == 0
    job = in_cluster(private, "sbatch --parsable -p emulated -N2 --wrap 'sleep 1000'").stdout.strip()
    wait_until(lambda: in_cluster(private, f"squeue -h -j {job} -o %t").stdout == "R\n", "the job runs")
    emulator = int((private / "run" / "emulate.pid").read_text())
    os.kill(emulator, signal.SIGSTOP)  # a switch that fails: the real node beside them works on
    try:
        assert in_cluster(private, "sbatch -p main -W --wrap 'test $SLURMD_NODENAME = node1'").returncode == 0
    finally:
        os.kill(emulator, signal.SIGCONT)
    assert in_cluster(private, f"scancel {job}").returncode == 0
    wait_until(lambda: in_cluster(private, f"squeue -h -j {job}").stdout == "", "the job is gone from all its nodes")
    assert in_cluster(private, f"sacct -n -X -P -j {job} -o state").stdout == f"CANCELLED by {os.getuid()}\n"

    array = in_cluster(private, "sbatch --parsable -p emulated -a 1-500 -c64 --wrap 'sleep 0.2'").stdout.strip()
    wait_until(lambda: in_cluster(private, "sinfo -h -p emulated -t idle -o %D").stdout == "300\n" and
               not in_cluster(private, "squeue -h").stdout, "all tasks have ended")
    states = in_cluster(private, f"sacct -n -X -j {array} -o state").stdout.split()
    assert states == ["COMPLETED"] * 500
    assert "is down" in penstock("down", "--dir", private).stderr and not processes_of(private)


def test_emulated_nodes_come_back(private):
    """The controller is killed while jobs run on emulated nodes: their ends arrive afterwards."""
    penstock("up", "--nodes=1", "--emulate=50", "--dir", private)
    jobs = in_cluster(private, "sbatch --parsable -p emulated -a 1-50 -c64 --wrap 'sleep 4; exit 5'").stdout.strip()
    wait_until(lambda: in_cluster(private, "squeue -h -t R -r").stdout.count("\n") == 50, "all tasks run")
    os.kill(int((private / "run" / "slurmctld.pid").read_text()), signal.SIGKILL)
    wait_until(lambda: penstock("status", "--dir", private, check=False).returncode == 1, "the controller is away")
    penstock("up", "--dir", private)
    wait_until(lambda: not in_cluster(private, "squeue -h").stdout, "all tasks have ended")
    assert in_cluster(private, f"sacct -n -X -j {jobs} -o state,exitcode").stdout.split() == ["FAILED", "5:0"] * 50


@pytest.mark.parametrize("argv, said", [
    (["--nodes", "nobody"], "--nodes: the configuration has no node nobody"),
    (["--nodes", "emu[1-2,x"], "--nodes=emu[1-2,x: "),
    (["--nodes", "emu[1-9]"], "--nodes=emu[1-9]: host list holds more than 3 names"),
    (["--nodes", "emu1,emu1"], "--nodes=emu1,emu1 names a node twice"),
    (["word"], "unexpected argument: word"),
    (["tls"], "emulated nodes speak no TLS, and "),
    (["-f", "/nowhere/slurm.conf"], "/nowhere/slurm.conf"),
])
def test_emulator_refuses(private, argv, said):
    penstock("up", "--nodes=1", "--emulate=2", "--dir", private)
    penstock("down", "--dir", private)
    conf = [] if "-f" in argv else ["-f", str(private / "etc" / "slurm.conf")]
    if argv == ["tls"]:
        (private / "etc" / "slurm.conf").write_text((private / "etc" / "slurm.conf").read_text() + "TLSType=tls/auto\n")
        argv = []
    done = subprocess.run([program("penstock-emulate"), "-D", *conf, *argv], env=ENV, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and said in done.stderr, done.stderr


@pytest.mark.parametrize("daemon", ["penstock-emulate", "slurmctld", "slurmdbd"])
def test_a_daemon_without_its_configuration_says_one_sentence(private, daemon):
    """Also where it would go to the background.  A pid file is its own or stays."""
    pid_file = private.parent / "other.pid"
    pid_file.write_text("1\n")
    env = {k: v for k, v in ENV.items() if k != "SLURM_CONF"}
    files = ["-f", "/nowhere/slurmdbd.conf"] if daemon == "slurmdbd" else []
    if daemon == "penstock-emulate":
        files = ["--pid-file", str(pid_file)]
    done = subprocess.run([program(daemon), *files], env=env | {"SLURM_CONF": "/nowhere/slurm.conf"}, capture_output=True, text=True,
                          timeout=30)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert re.search(r"fatal: /nowhere/slurm(dbd)?\.conf: No such file or directory$", done.stderr.strip()), done.stderr
    assert pid_file.read_text() == "1\n"


@pytest.mark.parametrize("many", ["0", "20001", "x", ""])
def test_how_many_are_emulated(private, many):
    done = penstock("up", f"--emulate={many}", "--dir", private, check=False)
    assert done.returncode == 2 and f"--emulate: {many} is not a number from 1 to 20000" in done.stderr
    assert not (private / "etc").exists()


def dashboard(said):
    """The address that `up` and `ui` print, without its word, and the word."""
    return re.search(r"(http://127\.0\.0\.1:\d+)/ui/#word=([0-9a-f]{32})\n", said).groups()


def exchange(address, word):
    """(status, answer)"""
    ask = urllib.request.Request(f"{address}/penstock/v1/signin", json.dumps({"word": word}).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(ask) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def listeners(port):
    """Addresses at which somebody listens at the port, as the kernel writes them."""
    lines = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    return {f[1].partition(":")[0] for f in lines if f[3] == "0A" and int(f[1].partition(":")[2], 16) == port}


def test_up_has_a_dashboard(private):
    address, word = dashboard(penstock("up", "--nodes=1", "--dir", private).stdout)
    with urllib.request.urlopen(f"{address}/ui/") as answer:
        assert b"<title>Penstock</title>" in answer.read() and "default-src 'none'" in answer.headers["Content-Security-Policy"]
    status, answer = exchange(address, word)
    token = answer["token"]
    assert status == 200
    status, answer = exchange(address, word)  # once
    assert status == 422 and answer["errors"][0]["error_number"] == 6001 and "token" not in answer
    ask = urllib.request.Request(f"{address}/slurm/v0.0.45/nodes/", headers={"X-SLURM-USER-TOKEN": token})
    assert [n["name"] for n in json.load(urllib.request.urlopen(ask))["nodes"]] == ["node1"]
    with pytest.raises(urllib.error.HTTPError):  # being on this machine is no right
        urllib.request.urlopen(f"{address}/slurm/v0.0.45/nodes/")
    again, other = dashboard(penstock("up", "--dir", private).stdout)
    assert again == address and other != word
    done = penstock("ui", "--dir", private)
    assert dashboard(done.stdout)[0] == address and "once, within a minute" in done.stderr
    assert {exchange(address, w)[0] for w in (other, dashboard(done.stdout)[1])} == {200}
    port = int(address.rpartition(":")[2])
    assert listeners(port) == {"0100007F"}  # 127.0.0.1 alone
    penstock("down", "--dir", private)
    assert not processes_of(private)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{address}/ui/")
    done = penstock("ui", "--dir", private, check=False)
    assert done.returncode == 1 and done.stdout == "" and "there is no dashboard: " in done.stderr


def test_up_without_tokens(private):
    """A cluster of before there was a dashboard: it runs without."""
    penstock("up", "--nodes=1", "--dir", private)
    penstock("down", "--dir", private)
    conf = private / "etc" / "slurm.conf"
    conf.write_text(conf.read_text().replace("AuthAltTypes=auth/jwt\n", ""))
    done = penstock("up", "--dir", private)
    assert "there is no dashboard: its slurm.conf has no AuthAltTypes=auth/jwt" in done.stderr and "A cluster of 1 nodes" in done.stdout
    penstock("down", "--dir", private)
    conf.write_text(conf.read_text().replace("SlurmctldParameters=enable_rest\n", "AuthAltTypes=auth/jwt\n"))
    assert "there is no dashboard: its slurm.conf has no SlurmctldParameters=enable_rest" in penstock("up", "--dir", private).stderr


def test_up_starts_no_slurmd_of_others(private):
    """External nodes have none, and those of a cloud and of the future are made by somebody else."""
    penstock("up", "--nodes=1", "--dir", private)
    penstock("down", "--dir", private)
    conf = private / "etc" / "slurm.conf"
    conf.write_text(conf.read_text() + "".join(f"NodeName={s}1 CPUs=1 RealMemory=100 State={s.upper()}\n"
                                               for s in ("external", "cloud", "future")))
    done = penstock("up", "--dir", private)
    assert "2 of 2 nodes are ready" in done.stderr  # an external one is, without anything
    assert sorted(p.name for p in (private / "run").glob("slurmd-*.pid")) == ["slurmd-node1.pid"]


def test_up_twice_and_after_a_crash(private):
    penstock("up", "--nodes=2", "--dir", private)
    penstock("up", "--dir", private)
    pids = {p.stem: int(p.read_text()) for p in (private / "run").glob("*.pid")}
    assert set(pids) == {"slurmctld", "slurmd-node1", "slurmd-node2"}
    os.kill(pids["slurmd-node2"], 9)
    wait_until(lambda: not os.path.exists(f"/proc/{pids['slurmd-node2']}"), "it is gone")
    penstock("up", "--dir", private)
    new = {p.stem: int(p.read_text()) for p in (private / "run").glob("*.pid")}
    assert new["slurmctld"] == pids["slurmctld"] and new["slurmd-node2"] != pids["slurmd-node2"]


def test_down_cancels_jobs(private):
    penstock("up", "--nodes=1", "--cpus=1", "--dir", private)
    for _ in range(3):
        assert in_cluster(private, "sbatch --wrap 'sleep 1000'").returncode == 0
    penstock("down", "--dir", private)
    assert not processes_of(private)


def test_jobs_kept_over_down_and_up(private):
    penstock("up", "--nodes=1", "--cpus=1", "--dir", private)
    in_cluster(private, "sbatch --wrap 'while [ ! -e go ]; do sleep 0.1; done; exit 3'; sbatch -H --wrap true")
    wait_until(lambda: "RUNNING" in in_cluster(private, "squeue -h -o %T").stdout, "the job runs")
    penstock("down", "--keep-jobs", "--dir", private)
    penstock("up", "--dir", private)
    assert in_cluster(private, "squeue -h -o '%i %T' | sort").stdout == "1 RUNNING\n2 PENDING\n"
    (private / "go").touch()
    wait_until(lambda: in_cluster(private, "sacct -nXP -j1 -o State,ExitCode").stdout == "FAILED|3:0\n",
               "its exit code is kept")


def test_foreign_processes_are_not_touched(private):
    penstock("up", "--nodes=1", "--dir", private)
    penstock("down", "--dir", private)
    stranger = subprocess.Popen(["sleep", "1000"])
    try:
        (private / "run" / "slurmctld.pid").write_text(f"{stranger.pid}\n")
        done = penstock("down", "--dir", private)
        assert "does not run" in done.stderr
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_changed_size_is_refused_while_it_runs(private):
    penstock("up", "--nodes=1", "--dir", private)
    done = penstock("up", "--nodes=2", "--dir", private, check=False)
    assert done.returncode == 1 and "is running" in done.stderr
    penstock("down", "--dir", private)
    penstock("up", "--nodes=2", "--dir", private)
    assert in_cluster(private, "sinfo -h -o %D").stdout == "2\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_as_an_ordinary_user(folder):
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if subprocess.run([*prefix, "test", "-x", program("penstock")]).returncode:
        pytest.skip("the build folder cannot be read by others")
    home = folder / "home"
    folder.chmod(0o755)
    home.mkdir()
    os.chown(home, 65534, 65534)
    env = ENV | {"HOME": str(home)}
    env.pop("XDG_STATE_HOME", None)
    try:
        penstock("up", "--nodes=2", prefix=prefix, env=env)
        assert (home / ".local/share/penstock/default/etc/slurm.conf").exists()
        text = f'eval "$({program("penstock")} env)"; cd; srun -N2 id -u'
        done = subprocess.run([*prefix, "bash", "-c", text], env=env, capture_output=True, text=True, timeout=60)
        assert done.stdout == "65534\n65534\n", done.stderr
    finally:
        penstock("down", prefix=prefix, env=env, check=False)
    wait_until(lambda: not processes_of(home), "nothing is left")


def test_demo(private):
    """The tour checks its own results; here that it says so, and leaves nothing."""
    done = penstock("demo", "--dir", private)
    assert "Everything ran as it should" in done.stdout
    for part in ("PARTITION AVAIL", "JOBID PARTITION", "Exited with exit code 7", "FAILED", "words,"):
        assert part in done.stdout + done.stderr, part
    assert not processes_of(private)


def test_journal_tools(private):
    penstock("up", "--nodes=1", "--dir", private)
    in_cluster(private, "sbatch -W --wrap 'exit 1'")
    live = in_cluster(private, "penstock ping --hash").stdout
    penstock("down", "--dir", private)
    lines = [json.loads(line) for line in penstock("journal", "dump", private).stdout.splitlines()]
    assert [line["lsn"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(line["time"].endswith("Z") and "transaction" in line for line in lines)
    kinds = [e.get("kind") for line in lines for e in line["transaction"].get("events", [])]
    assert {"EV_JOB_SUBMIT", "EV_JOB_START", "EV_JOB_END", "EV_NODE_REGISTER"} <= set(kinds)
    part = penstock("journal", "dump", "--from=2", "--to=3", private / "state").stdout.splitlines()
    assert [json.loads(line)["lsn"] for line in part] == [2, 3]
    assert live.startswith("lsn ")
    assert penstock("journal", "verify", private).stdout.splitlines()[-1].startswith("clean")


def test_damaged_journal_is_found_and_repaired(private):
    penstock("up", "--nodes=1", "--dir", private)
    for _ in range(5):
        in_cluster(private, "sbatch -H --wrap true")
    penstock("down", "--keep-jobs", "--dir", private)
    log = sorted((private / "state" / "journal").glob("*.log"))[-1]
    data = bytearray(log.read_bytes())
    middle = len(data) // 2
    data[middle] ^= 0xFF
    log.write_bytes(data)
    assert penstock("journal", "verify", private, check=False).returncode == 1
    done = penstock("up", "--dir", private, check=False)
    assert done.returncode == 1
    assert "penstock journal repair" in done.stderr
    penstock("journal", "repair", private)
    assert penstock("journal", "verify", private).returncode == 0
    penstock("up", "--dir", private)


def test_own_version():
    version = (BUILD / "version.h").read_text().split('PENSTOCK_VERSION "')[1].split('"')[0]
    assert penstock("--version").stdout == f"penstock {version}\n"
