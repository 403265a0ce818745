"""pam_slurm_adopt: who has a job on the node may log in, into that job."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, SLOW, wait_until
from test_extern import CONTAIN, daemons

PROGRAMS = ROOT / "tests" / "integration" / "programs"
MODULE = Path(BUILD).resolve() / "src" / "pam" / "pam_slurm_adopt.so"
USER, SUCCESS, DENIED = "nobody", 0, 6
NO_JOBS = "message: Access denied by pam_slurm_adopt: you have no active jobs on this node"


@pytest.fixture(scope="module")
def login_program(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("root logs people in")
    if not MODULE.exists():
        pytest.skip("the module was not built: libpam0g-dev is missing")
    if b"__asan_init" in MODULE.read_bytes() or b"__tsan_init" in MODULE.read_bytes():
        pytest.skip("a module with a sanitizer cannot be loaded by libpam")
    path = tmp_path_factory.mktemp("pam") / "pam_login"
    subprocess.run(["gcc", "-o", path, PROGRAMS / "pam_login.c", "-lpam"], check=True)
    return path


@pytest.fixture
def pam(login_program, folder):
    class Pam:
        dir = folder / "pam.d"
        left = []

        def service(self, options="", name="sshd", node="node1"):
            self.dir.mkdir(exist_ok=True)
            (self.dir / name).write_text(f"account required {MODULE} nodename={node} {options}\n"
                                         "account required pam_permit.so\n")

        def argv(self, *command, user=USER, service="sshd"):
            return [str(login_program), str(self.dir), service, user, *command]

        def login(self, c, *command, options="", **more):
            """What is said, the outcome, and the variables."""
            self.service(options, more.get("service", "sshd"))
            done = subprocess.run(self.argv(*command, **more), env=c.env, capture_output=True, text=True,
                                  timeout=30 * SLOW)
            lines = done.stdout.splitlines()
            said = [line for line in lines if line.startswith("message")]
            return said, int([line for line in lines if line.startswith("outcome")][0].split()[1]), \
                [line[5:] for line in lines if line.startswith("env: ")]

        def session(self, c, *command, options=""):
            """A session of its own, as sshd has one for each connection."""
            self.service(options)
            p = subprocess.Popen(self.argv(*command), env=c.env, stdout=subprocess.PIPE, text=True,
                                 start_new_session=True)
            self.left.append(p)
            assert p.stdout.readline() == "outcome: 0\n"
            return p
    pam = Pam()
    yield pam
    for p in pam.left:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        p.stdout.close()


@pytest.fixture
def c(make_cluster, folder):
    folder.chmod(0o755)
    return make_cluster(nodes=2, conf=CONTAIN)


def submit(c, *options):
    """A job of that user on node1, with its extern step."""
    done = subprocess.run(["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "sbatch", "--parsable",
                           "-w", "node1", "-D", "/", "-o", "/dev/null", *options, "--wrap", "sleep 1000"],
                          env=c.env | {"USER": USER}, text=True, capture_output=True, timeout=30 * SLOW)
    assert done.returncode == 0, done.stderr
    job = int(done.stdout)
    c.wait_state(job, "RUNNING")
    wait_until(lambda: daemons(c, job) and list(c.dir.glob(f"spool/node1/job{job}.*/extern/sock")), "the extern step")
    return job


def gone(pid):
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def test_without_a_job(c, pam):
    assert pam.login(c) == ([NO_JOBS], DENIED, [])
    assert pam.login(c, options="action_no_jobs=ignore") == ([], SUCCESS, [])
    job = submit(c)
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: pam.login(c)[1] == DENIED, "the door is closed after the job")


def test_not_asked(c, pam):
    """root, and other services than sshd, are no business of the module; who is unknown stays outside."""
    assert pam.login(c, user="root") == ([], SUCCESS, [])
    assert pam.login(c, service="login") == ([], SUCCESS, [])
    assert pam.login(c, service="login", options="service=login")[1] == DENIED
    assert pam.login(c, service="login", options="service=*")[1] == DENIED
    assert pam.login(c, user="no-such-user")[1] not in (SUCCESS,)


def test_session_in_the_job(c, pam):
    job = submit(c)
    assert pam.login(c) == ([], SUCCESS, [f"SLURM_JOB_ID={job}"])
    p = pam.session(c, "sh", "-c", "sleep 1000 & echo $!; exec sleep 1000")  # a shell that waits may see its child end first
    assert p.stdout.readline() == f"env: SLURM_JOB_ID={job}\n"
    child = int(p.stdout.readline())
    assert p.poll() is None
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: p.poll() is not None and gone(child), "the session ends with the job")
    wait_until(lambda: not daemons(c, job), "so does the extern step")
    assert p.returncode == -signal.SIGTERM


@pytest.mark.parametrize("word, limit", [("", "unlimited"), ("LaunchParameters=ulimit_pam_adopt", str(100 << 10))])
def test_memory_of_a_session(make_cluster, folder, pam, word, limit):
    """ulimit_pam_adopt: what the job has of the node's memory is the session's limit."""
    folder.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"{CONTAIN}\n{word}")
    submit(c, "--mem=100")
    p = pam.session(c, "bash", "-c", "ulimit -m; read x")
    assert next(line for line in p.stdout if not line.startswith("env: ")).strip() == limit


def test_a_stubborn_session(c, pam):
    job = submit(c)
    p = pam.session(c, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done")
    assert [p.stdout.readline(), p.stdout.readline()][1] == "ready\n"
    c.run("scancel", job)
    wait_until(lambda: p.poll() == -signal.SIGKILL, "it is killed after KillWait")
    c.wait_end(job)


def test_job_that_ends_by_itself(c, pam):
    job = submit(c)
    p = pam.session(c, "sleep", "1000")
    c.run("scancel", "--batch", "-s", "KILL", job)
    wait_until(lambda: p.poll() is not None, "the session ends with the job")
    c.wait_end(job)


def test_several_jobs(c, pam):
    jobs = [submit(c, "--mem=10"), submit(c, "--mem=10")]
    starts = [c.job(j)["StartTime"] for j in jobs]
    if starts[0] < starts[1]:
        assert pam.login(c)[2] == [f"SLURM_JOB_ID={jobs[1]}"]
    said, outcome, env = pam.login(c, options="action_unknown=deny")
    assert (said, outcome, env) == (["message: Access denied by pam_slurm_adopt: you have several jobs on this node"],
                                    DENIED, [])
    assert pam.login(c, options="action_unknown=allow") == ([], SUCCESS, [])


def test_adoption_fails(c, pam):
    """As on a cluster without PrologFlags=Contain."""
    job = submit(c)
    os.kill(daemons(c, job)[0], signal.SIGKILL)
    wait_until(lambda: not daemons(c, job), "the extern step is gone")
    assert pam.login(c) == ([], SUCCESS, [])
    said, outcome, _ = pam.login(c, options="action_adopt_failure=deny")
    assert outcome == DENIED and "could not be put into your job" in said[0]


def test_nothing_to_look_at(c, pam):
    assert pam.login(c)[1] == DENIED
    c.env = c.env | {"SLURM_CONF": "/nowhere/slurm.conf"}
    assert pam.login(c) == ([], SUCCESS, [])
    said, outcome, _ = pam.login(c, options="action_generic_failure=deny")
    assert outcome == DENIED and "cannot be found" in said[0]


@pytest.mark.skipif(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0, reason="no mount namespaces here")
def test_a_node_without_files(c, pam):
    """As in a pod: the configuration is what slurmd was sent, and commands find it at /run/slurm/conf."""
    kept = 'mount -t tmpfs tmpfs /run; mkdir -p /run/slurm/conf; cp "$0" /run/slurm/conf/slurm.conf; unset SLURM_CONF; exec "$@"'
    inside, plain = ["unshare", "-m", "sh", "-c", kept, c.env["SLURM_CONF"]], pam.argv
    pam.argv = lambda *command, **more: [*inside, *plain(*command, **more)]
    assert pam.login(c, options="action_generic_failure=deny")[:2] == ([NO_JOBS], DENIED)
    submit(c)
    assert pam.login(c, options="action_generic_failure=deny")[:2] == ([], SUCCESS)


def test_bad_options_open_nothing(c, pam):
    assert pam.login(c, options="action_no_jobs=maybe action_nojobs=ignore debug")[1] == DENIED


def test_restart_of_slurmd(c, pam):
    job = submit(c)
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    p = pam.session(c, "sleep", "1000")  # slurmd is not needed
    c.start_slurmd("node1")
    c.wait_nodes("mixed", ["node1"])
    assert p.poll() is None
    c.run("scancel", job)
    wait_until(lambda: p.poll() is not None, "the session ends with the job")
    c.wait_end(job)


def test_step_daemon_and_slurmd_killed(c, pam):
    job = submit(c)
    p = pam.session(c, "sleep", "1000")
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    for pid in daemons(c, job):
        os.kill(pid, signal.SIGKILL)
    c.start_slurmd("node1")
    wait_until(lambda: p.poll() is not None, "what nobody holds any more is ended")
    c.run("scancel", job)
    c.wait_end(job)


def test_others_cannot_ask(c, pam):
    """The step daemon talks to root, whatever the rights of its socket."""
    job = submit(c)
    path = list(c.dir.glob(f"spool/node1/job{job}.*/extern"))[0]
    fd = os.open(path, os.O_PATH)
    asked = subprocess.run(
        ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c",
         "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
         f"s.connect('/proc/self/fd/{fd}/sock')\n"], pass_fds=[fd], capture_output=True, text=True, timeout=30 * SLOW)
    assert "PermissionError" in asked.stderr
    for name in (path / "sock", path, path.parent):
        os.chmod(name, 0o777)
    told = subprocess.run(
        ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c",
         "import os, socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
         f"s.connect('/proc/self/fd/{fd}/sock')\n"
         "s.send(b'\\x01\\xe8\\x1e\\x01')\nprint(s.recv(100))\n"],
        pass_fds=[fd], capture_output=True, text=True, timeout=30 * SLOW)
    os.close(fd)
    assert told.stdout == "b''\n" or "ConnectionReset" in told.stderr or "BrokenPipe" in told.stderr, told


def test_cgroup(make_cluster, folder, pam):
    """With a control group nothing gets away, what it used is counted, and the group is gone with the job."""
    folder.chmod(0o755)
    c = make_cluster(start=False, nodes=1, conf=f"{CONTAIN}\nJobAcctGatherType=jobacct_gather/cgroup")
    c.write_conf(c.conf_text().replace("proctrack/linuxproc", "proctrack/cgroup"))
    c.start()
    job = submit(c)
    burn = "import time\nwhile time.process_time() < 1: pass"
    p = pam.session(c, "sh", "-c", f"cat /proc/self/cgroup; python3 -c '{burn}'; setsid sh -c 'setsid sleep 1000 & echo away $!'; exec sleep 1000")
    lines = []
    while not lines or not lines[-1].startswith("away"):
        lines.append(p.stdout.readline())
    if not any("step_extern" in line for line in lines):
        c.run("scancel", job)
        pytest.skip("no control group can be made here")
    away = int(lines[-1].split()[1])
    assert not gone(away)
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: gone(away) and p.poll() is not None, "all of the session ends with the job")
    wait_until(lambda: not daemons(c, job), "so does the extern step")
    used = wait_until(lambda: {r[0]: r[1] for r in c.sacct("-j", str(job), "-s", "CD,CA,F", "-o", "jobid,totalcpu,end")
                               if r[2] != "Unknown"}.get(f"{job}.extern"), "accounting has the extern step's end")
    assert float(used.split(":")[-1]) >= 0.9, used
    assert not [path for path in Path("/sys/fs/cgroup").glob(f"**/job_{job}/step_extern")
                if (path / "cgroup.procs").exists() and str(os.getpid()) in (path / "cgroup.procs").read_text()]
