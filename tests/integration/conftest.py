"""A real cluster for each test: slurmctld and slurmds of the build folder, in a temporary folder.

PENSTOCK_BUILD names the build folder (default: build).  Daemons run in the foreground as children of
this process, so it knows their numbers for certain and how they ended.  After each test nothing may be
left: no process that works in, names or was started with the cluster's folder, no file in its TMPDIR.

Fixtures:
  cluster       three nodes of four CPUs for this test alone (a quarter of a second)
  make_cluster  a function that makes such clusters: make_cluster(nodes=2, conf="SlurmdTimeout=2")
  shared        one for the whole module; a module sets CLUSTER = {"nodes": 4, "conf": "..."} to shape it
  c             `shared` with an empty queue, idle nodes and a work folder of the test's own

The options are those of Cluster: nodes, cpus, conf (lines of slurm.conf), node_options, partition.
Its run(), sbatch(), job(), wait_state(), wait_end(), out() and sacct() are all that most tests need;
run() gives an object with returncode, stdout, stderr, also under the names rc, out, err."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from alone import pytest_configure  # noqa: F401  a hook

import loginfiles  # noqa: F401  (before any thread)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Tests take helpers from tests of other folders; no two test files have the same name (run-tests checks).
sys.path += [str(folder) for folder in sorted(HERE.iterdir()) if any(folder.glob("test_*.py"))]
BUILD = Path(os.environ.get("PENSTOCK_BUILD", ROOT / "build")).resolve()
SANITIZED = any(word in BUILD.name for word in ("-address", "-thread", "-undefined"))
SLOW = float(os.environ.get("PENSTOCK_TEST_SLOW", "4" if SANITIZED else "1"))
PORTS = range(20000, 32000)
TERMINAL = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
            "DEADLINE", "OUT_OF_MEMORY"}


def program(name):
    for folder in ("ctld", "dbd", "noded", "sackd", "stepd", "cli", "penstock", "rest", "kube", "emulate", "configless"):
        path = BUILD / "src" / folder / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise FileNotFoundError(f"{name} is not built in {BUILD}")


def let_in(path):
    """Users without rights may go into this folder and those above it, as far as they are ours."""
    top = Path(tempfile.gettempdir()).resolve()
    for folder in [Path(path), *Path(path).parents]:
        if folder.resolve() == top or top not in folder.resolve().parents:
            return
        folder.chmod(0o755)


def wait_until(condition, what, timeout=15.0):
    """The value of condition() once it is true; fails after timeout seconds.  A folder that goes while it is looked at is
    no failure: the condition is asked again."""
    deadline = time.monotonic() + timeout * SLOW
    pause = 0.01
    while True:
        gone = ""
        try:
            value = condition()
        except FileNotFoundError as error:
            value, gone = None, f" ({error})"
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"not within {timeout * SLOW:.0f} s: {what}{gone}", pytrace=True)
        time.sleep(pause)  # between two questions
        pause = min(pause * 1.5, 0.2)


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("", port))
        except OSError:
            return False
    return True


CLAIMS = {}  # port: a socket whose abstract name tells other test programs that the port is ours, until we end


def claim(port):
    if port in CLAIMS:
        return False
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind(f"\0penstock-test-port/{port}")
    except OSError:
        s.close()
        return False
    CLAIMS[port] = s
    return True


def free_ports(count):
    """A block of ports below the kernel's own range; all free when tried, and claimed by no other test program.  Large
    blocks are not claimed: each claim is a descriptor."""
    for _ in range(1000):
        first = random.randrange(PORTS.start, PORTS.stop - count)
        block = range(first, first + count)
        if all(is_free(port) for port in block) and (count > 64 or all(claim(port) for port in block)):
            return list(block)
    raise RuntimeError("no free ports")


class Result(subprocess.CompletedProcess):
    """What a command said, with short names."""
    rc = property(lambda self: self.returncode)
    out = property(lambda self: self.stdout)
    err = property(lambda self: self.stderr)


def is_stopped(pid):
    """Stopped, or waiting in vfork for a child that was stopped before its exec; False when it has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if state == "D" else []
    except OSError:
        return False
    return state == "T" or any(is_stopped(child) for child in children)


def processes_of(folder):
    """(pid, command line) of processes that name, work in or were started with the folder."""
    needle, own = str(folder).encode(), {os.getpid(), os.getppid()}
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in own:
            continue
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes()
            if not command:
                continue  # a kernel thread, or a zombie
            facts = [command, os.fsencode(os.readlink(f"/proc/{entry}/cwd")),
                     Path(f"/proc/{entry}/environ").read_bytes()]
        except OSError:
            continue
        if any(needle in fact for fact in facts):
            found.append((int(entry), command.replace(b"\0", b" ").decode(errors="replace").strip()))
    return found


class Daemon:
    def __init__(self, name, argv, log, env):
        self.name, self.log = name, Path(log)
        self.expected = None  # how it should end; None: exit status 0
        with open(f"{log}.stderr", "ab") as stderr:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                                            env=env, cwd="/")

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        """SIGKILL, as a crash would."""
        self.expected = -signal.SIGKILL
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=20):
        if self.alive():
            self.process.terminate()
        try:
            return self.process.wait(timeout * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            return "did not end on SIGTERM"


def outputs_here():
    return set(Path.cwd().glob("slurm-*.out"))


HERE_BEFORE = outputs_here()


class Cluster:
    def __init__(self, folder, nodes=3, cpus=4, conf="", node_options="", partition=""):
        self.dir = Path(folder)
        self.work = self.dir / "work"
        self.node_names = [f"node{i + 1}" for i in range(nodes)]
        for name in ("etc", "state", "spool", "log", "run", "work", "tmp"):
            (self.dir / name).mkdir(exist_ok=True)
        self.conf = self.dir / "etc" / "slurm.conf"
        self.port, *self.node_ports = free_ports(nodes + 1)
        self.cpus, self.extra_conf, self.node_options = cpus, conf, node_options
        self.partition = partition
        self.ctld, self.slurmds, self.ended = None, {}, []
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SRUN", "SQUEUE", "SINFO", "SACCT"))}
        # A command leaves its memory to its end on purpose; a daemon must not.
        self.daemon_env_change = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1")}
        self.env["ASAN_OPTIONS"] = "detect_leaks=0"
        folders = [str(BUILD / "src" / f) for f in ("cli", "penstock", "ctld", "noded")]
        self.env.update(SLURM_CONF=str(self.conf), LC_ALL="C.UTF-8", TZ="UTC",
                        TMPDIR=f"{self.dir}/tmp",
                        SLURM_SACK_SOCKET=f"{self.dir}/run/nobody",  # no daemon vouches unless a test says so
                        PATH=":".join([*folders, self.env.get("PATH", "/usr/bin:/bin")]))
        self.write_conf()

    # ---- configuration and daemons ---------------------------------------------------------------

    def conf_text(self):
        host = socket.gethostname().split(".")[0]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        lines = ["ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={self.port}",
                 f"SlurmUser={user}", f"SlurmdUser={user}",
                 f"StateSaveLocation={self.dir}/state", f"SlurmdSpoolDir={self.dir}/spool/%n",
                 f"SlurmctldPidFile={self.dir}/run/slurmctld.pid",
                 f"SlurmdPidFile={self.dir}/run/slurmd-%n.pid",
                 f"SlurmctldLogFile={self.dir}/log/slurmctld.log",
                 f"SlurmdLogFile={self.dir}/log/slurmd-%n.log",
                 "SlurmctldDebug=debug", "SlurmdDebug=debug",
                 "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory",
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
                 "SlurmdParameters=config_overrides", "ReturnToService=2", "KillWait=2",
                 "SchedulerParameters=requeue_delay=2",
                 "DefMemPerCPU=100", self.extra_conf]
        for name, port in zip(self.node_names, self.node_ports):
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                         f"CPUs={self.cpus} Sockets=1 CoresPerSocket={self.cpus} ThreadsPerCore=1 "
                         f"RealMemory=2000 State=UNKNOWN {self.node_options}")
        lines.append(f"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP {self.partition}")
        return "\n".join(lines) + "\n"

    def write_conf(self, text=None):
        self.conf.write_text(self.conf_text() if text is None else text)

    def daemon_env(self, name):
        """Each daemon has a folder of its own, in which it vouches for commands (sack.socket)."""
        return {"RUNTIME_DIRECTORY": f"{self.dir}/run/{name}", **self.env, **self.daemon_env_change}

    def sack(self, name):
        """The environment of a command on the host of that daemon."""
        return {"SLURM_SACK_SOCKET": f"{self.dir}/run/{name}/sack.socket"}

    def start_ctld(self, *options, timeout=15):
        self.ctld = Daemon("slurmctld", [program("slurmctld"), "-D", "-f", str(self.conf), *options],
                           self.dir / "log" / "slurmctld", self.daemon_env("slurmctld"))
        wait_until(lambda: not self.ctld.alive() or self.up(), "slurmctld answers", timeout)
        assert self.ctld.alive(), self.logs("slurmctld")

    def start_slurmd(self, name, *options):
        self.slurmds[name] = Daemon(f"slurmd-{name}",
                                    [program("slurmd"), "-D", "-N", name, "-f", str(self.conf), *options],
                                    self.dir / "log" / f"slurmd-{name}", self.daemon_env(f"slurmd-{name}"))

    def start(self):
        self.start_ctld()
        for name in self.node_names:
            self.start_slurmd(name)
        self.wait_nodes()
        return self

    def up(self):
        return self.run("scontrol", "ping", check=False).returncode == 0

    def wait_nodes(self, state="idle", names=None):
        names = set(names or self.node_names)

        def ready():
            dead = [d for n, d in self.slurmds.items() if n in names and not d.alive()]
            assert not dead or state.startswith("down"), f"{dead[0].name} has ended\n{self.logs(dead[0].name)}"
            lines = self.run("sinfo", "-h", "-N", "-o", "%N %T", check=False).stdout.split("\n")
            return names <= {line.split()[0] for line in lines if line.endswith(" " + state)}
        wait_until(ready, f"nodes are {state}: {sorted(names)}", 20)

    def kill_ctld(self):
        self.ctld.kill()
        self.ended.append(self.ctld)

    def restart_ctld(self):
        if self.ctld.alive():
            assert self.ctld.stop() == 0
        self.start_ctld()

    def logs(self, name):
        text = ""
        for path in sorted((self.dir / "log").glob(f"{name}*")):
            text += f"---- {path.name}\n" + path.read_text(errors="replace")[-4000:]
        return text

    # ---- commands --------------------------------------------------------------------------------

    def popen(self, *argv, env=None, cwd=None, **kwargs):
        return subprocess.Popen([program(argv[0]), *map(str, argv[1:])], cwd=cwd or self.work,
                                env={**self.env, **(env or {})}, text=True, **kwargs)

    def litter(self):
        """Files in the nodes' spool folders beside keys and what is known of credentials."""
        kept = re.compile(r"credentials|node-[\w-]+\.key|slurmctld\.pub")
        files = [Path(folder) / name for folder, _, names in os.walk(self.dir / "spool") for name in names]
        return [path for path in files if not kept.fullmatch(path.name)]  # os.walk passes over folders that go meanwhile

    def run(self, *argv, check=True, env=None, cwd=None, input=None, timeout=60):
        """Run a command; its result with text output.  check: it must exit with 0."""
        done = subprocess.run([program(argv[0]), *map(str, argv[1:])], cwd=cwd or self.work,
                              env={**self.env, **(env or {})}, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL if input is None else None, input=input,
                              timeout=timeout * SLOW)
        if check:
            assert done.returncode == 0, f"{argv}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return Result(done.args, done.returncode, done.stdout, done.stderr)

    def refused(self, *argv, rc=1, **kwargs):
        """Run a command that must end with rc; gives its stderr."""
        done = self.run(*argv, check=False, **kwargs)
        assert done.rc == rc, f"{argv}: exit {done.rc}, not {rc}\n{done.out}{done.err}"
        return done.err

    def clear(self):
        """Cancel everything and wait until the nodes are idle again."""
        jobs = self.run("squeue", "-h", "-o", "%A").out.split()
        if jobs:
            self.run("scancel", *sorted(set(jobs)), check=False)
        wait_until(lambda: not self.run("squeue", "-h").out, "the queue is empty")
        self.wait_nodes()

    def script(self, body, name="job.sh"):
        path = self.work / name
        path.write_text("#!/bin/bash\n" + body + "\n")
        return path

    def sbatch(self, *options, wrap=None, script=None, args=(), env=None):
        """Submit; gives the job id."""
        argv = ["sbatch", *options]
        if wrap is not None:
            argv += ["--wrap", wrap]
        if script is not None:
            argv += [str(self.script(script)), *args]
        done = self.run(*argv, env=env)
        match = re.fullmatch(r"Submitted batch job (\d+)\n", done.stdout)
        assert match, done.stdout
        assert done.stderr == "", done.stderr
        return int(match.group(1))

    def job(self, job):
        """Key=Value pairs of `scontrol -o show job`, or {} when the controller has forgotten it."""
        done = self.run("scontrol", "-o", "show", "job", str(job), check=False)
        if done.returncode != 0:
            return {}
        return dict(re.findall(r"(?:^|\s)([A-Z][\w/:]*)=(.*?)(?=\s[A-Z][\w/:]*=|$)",
                               done.stdout.splitlines()[0]))

    def state(self, job):
        return self.job(job).get("JobState")

    def wait_state(self, job, *states, timeout=20):
        wait_until(lambda: self.state(job) in states, f"job {job} is {'|'.join(states)}", timeout)
        return self.job(job)

    def wait_end(self, job, timeout=20):
        """Until the job is over and its nodes are clean; gives its record."""
        wait_until(lambda: self.state(job) in TERMINAL, f"job {job} ended", timeout)
        return self.job(job)

    def out(self, job):
        return (self.work / f"slurm-{job}.out").read_text()

    def sacct(self, *options):
        """Rows of sacct -nP, as lists."""
        done = self.run("sacct", "-n", "-P", *options)
        return [line.split("|") for line in done.stdout.splitlines()]

    def wait_sacct(self, job, state, fields="State,ExitCode"):
        """Accounting follows within moments; gives the fields of the allocation's row."""
        def row():
            rows = self.sacct("-X", "-j", str(job), "-o", fields)
            return rows[0] if rows and rows[0][0].split(" ")[0] == state else None
        return wait_until(row, f"sacct shows job {job} {state}")

    # ---- the end ---------------------------------------------------------------------------------

    def stop(self):
        """End everything; gives what was wrong."""
        problems = []
        if self.ctld and self.ctld.alive() and self.up():
            self.run("scancel", "--state=PENDING", check=False)
            self.run("scancel", "--state=SUSPENDED", check=False)
            self.run("scancel", "--state=RUNNING", check=False)
            deadline = time.monotonic() + 15 * SLOW
            while time.monotonic() < deadline:
                if not self.run("squeue", "-h", check=False).stdout.strip():
                    break
                time.sleep(0.05)  # between two questions
        for daemon in [*self.slurmds.values(), self.ctld]:
            if daemon is None:
                continue
            status = daemon.stop()
            if status != (daemon.expected or 0):
                problems.append(f"{daemon.name} ended with {status}")
        deadline = time.monotonic() + 10 * SLOW
        while (left := processes_of(self.dir)) and time.monotonic() < deadline:
            time.sleep(0.05)
        problems += [f"left behind: {path}" for path in (self.dir / "tmp").iterdir()]
        problems += [f"a job wrote where the tests were started: {path}" for path in outputs_here() - HERE_BEFORE]
        for pid, command in left:
            problems.append(f"left behind: {pid} {command}")
            try:
                os.kill(pid, signal.SIGKILL)  # it names our own folder
            except ProcessLookupError:
                pass
        return problems


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def run_cluster(folder, **options):
    c = Cluster(folder, **options)
    try:
        c.start()
        yield c
    finally:
        problems = c.stop()
        if problems:
            print(c.logs(""))
        assert not problems, problems


@pytest.fixture
def make_cluster(folder):
    """A function that makes clusters with options of the test's own."""
    made = []

    def make(start=True, **options):
        path = folder / f"c{len(made)}"
        path.mkdir()
        c = Cluster(path, **options)
        made.append(c)
        return c.start() if start else c
    yield make
    problems = [p for c in made for p in c.stop()]
    for c in made if problems else []:
        print(c.logs(""))
    assert not problems, problems


@pytest.fixture
def cluster(folder):
    """Three nodes of four CPUs, nobody else's."""
    yield from run_cluster(folder)


@pytest.fixture(scope="module")
def shared(request):
    """The same for tests that leave no trace in it."""
    path = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    path.chmod(0o755)  # tests that run as another user reach their files
    yield from run_cluster(path, **getattr(request.module, "CLUSTER", {}))
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def c(shared, request):
    """The module's cluster, empty before and after the test, which has a work folder of its own."""
    top = shared.work
    shared.work = top / (re.sub(r"[^\w.-]", "_", request.node.name)[:70] + f"_{sum(1 for _ in top.iterdir())}")
    shared.work.mkdir()
    yield shared
    shared.work = top
    shared.clear()


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the ends of the daemons' logs."""
    outcome = yield
    report = outcome.get_result()
    c = item.funcargs.get("cluster") or item.funcargs.get("shared") or item.funcargs.get("c")
    if report.when == "call" and report.failed and c is not None:
        report.sections.append(("daemons", c.logs("")[-6000:]))


def pytest_sessionstart(session):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # of a nohup above; what tests start inherits it
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
