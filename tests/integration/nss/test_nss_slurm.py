"""libnss_slurm.so.2: in a step, the user and his groups have names on a node that has no user database."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD, SANITIZED, SLOW, Daemon, program, wait_until
from test_client_ids import GROUP, NAME, OTHER_GROUP, UID, Far

pytestmark = pytest.mark.skipif(os.getuid() != 0 or SANITIZED, reason="a name service for one host is a mount namespace of root's; and a"
                                " module with sanitizers goes into no program without them")
MODULE = BUILD / "src/nss"
INSIDE = 'mount --bind "$0" /etc && exec "$@"'
ENTRY = f"{NAME}:x:{UID}:{UID}:Far Away:/far/{NAME}:/bin/sh\n"


class Host(Far):
    """The node's host asks the users' jobs who they are: its /etc says so."""

    def __init__(self, c):
        super().__init__(c)
        self.etc = c.dir / "host-etc"
        self.etc.mkdir()
        for name in ("passwd", "group", "hosts", "resolv.conf", "localtime"):
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", self.etc / name)
        (self.etc / "nsswitch.conf").write_text("passwd: files slurm\ngroup: files slurm\nhosts: files\n")
        (self.etc / "nss_slurm.conf").write_text(f"# of this host\nNodeName=node1\nSlurmdSpoolDir={self.c.dir}/spool/%n\n")

    def spool(self):
        return self.c.dir / "spool" / "node1"

    def node_in_etc(self):
        """The node again, in a host that has this /etc."""
        c = self.c
        assert c.slurmds["node1"].stop() == 0
        c.slurmds["node1"] = Daemon("slurmd-node1", ["unshare", "-m", "sh", "-c", INSIDE, str(self.etc), program("slurmd"),
                                                     "-D", "-N", "node1", "-f", str(self.conf)],
                                         c.dir / "log" / "slurmd-node1", c.daemon_env("slurmd-node1"))
        c.wait_nodes()

    def here(self, *words, uid=UID, env=None):
        """A program on the node's host, of that user."""
        user = [] if uid == 0 else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(MODULE), **(env or {})}
        return subprocess.run(["unshare", "-m", "sh", "-c", INSIDE, str(self.etc), *user, *map(str, words)], text=True, env=env,
                              capture_output=True, timeout=40 * SLOW)

    def ask(self, *words, uid=UID, env=None):
        return self.here("getent", *words, uid=uid, env=env).stdout


@pytest.fixture
def host(make_cluster, request):
    options = getattr(request, "param", "LaunchParameters=enable_nss_slurm\n")
    options = "PinNodeKeys=yes\nSlurmctldParameters=enable_configless\nAuthInfo=use_client_ids\n" + options
    c = make_cluster(start=False, nodes=1, conf=options)
    for path in (c.dir.parent, c.dir):
        path.chmod(0o755)
    made = Host(c)
    yield made
    made.close()


def running(host, *options):
    done = host.far("sbatch", "--parsable", "-o/dev/null", *options, "--wrap", "sleep 300")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def end(host, job):
    host.c.run("scancel", job)
    host.c.wait_end(job)
    wait_until(lambda: not list(host.spool().glob("job*")), "the node is clean")


def test_names_while_the_job_runs(host):
    """His programs and root's learn his name and groups; others do not; and nobody when the job is over."""
    job = running(host)
    wait_until(lambda: host.ask("passwd", UID) == ENTRY, "the step tells")
    assert host.ask("passwd", NAME) == ENTRY == host.ask("passwd", NAME, uid=0)
    assert host.ask("group", OTHER_GROUP) == f"{OTHER_GROUP}:x:{OTHER_GROUP}:{NAME}\n"
    assert host.ask("group", str(UID)) == f"{UID}:x:{UID}:{NAME}\n"
    assert host.here("id", NAME, uid=0).stdout == f"uid={UID}({NAME}) gid={UID}({UID}) groups={UID}({UID}),{OTHER_GROUP}({OTHER_GROUP})\n"
    assert host.here("id", "-un", env={"SLURM_JOB_ID": str(job)}).stdout == f"{NAME}\n"
    # of another user's job a user hears nothing, and what no job has is not there
    assert host.ask("passwd", UID, uid=UID + 1) == "" == host.ask("passwd", NAME, uid=UID + 1)
    assert host.ask("passwd", UID + 1) == "" == host.ask("group", 7001)
    # the host's own database comes first, and root is not asked of jobs
    assert host.ask("passwd", "root").startswith("root:x:0:0:")
    assert host.c.run("scontrol", "getent", "node1").out.count(ENTRY) == 1
    end(host, job)
    wait_until(lambda: host.ask("passwd", UID) == "", "nobody tells after the job")


def test_inside_steps(host):
    """The tasks of a batch script and of srun find themselves. (Their host's /etc comes by a namespace of slurmd.)"""
    c = host.c
    host.node_in_etc()
    script = f"export LD_LIBRARY_PATH={MODULE}; id -un; getent passwd $(id -u); srun id -Gn; srun true; whoami"
    done = host.far("sbatch", "--parsable", "-o", c.work / "names", "--wrap", script)
    assert done.returncode == 0, done.stderr
    assert c.wait_end(int(done.stdout))["JobState"] == "COMPLETED"
    assert (c.work / "names").read_text() == f"{NAME}\n{ENTRY}{UID} {OTHER_GROUP}\n{NAME}\n"


def test_nobody_else_is_believed(host):
    """The folder with sockets is not the user's; a process that stands where a step daemon would, is not asked for others."""
    job = running(host)
    wait_until(lambda: host.ask("passwd", UID) == ENTRY, "the step tells")
    folder = next(host.spool().glob(f"job{job}.*/nss"))
    assert folder.stat().st_uid == 0 and folder.stat().st_mode & 0o777 == 0o755
    socket = folder / "batch"
    assert (socket.stat().st_uid, socket.stat().st_mode & 0o777) == (UID, 0o600)
    for words in (("rm", socket), ("mv", socket, folder / "other"), ("touch", folder / "step7")):
        assert host.here(*words).returncode != 0, words
    assert host.here("chmod", "666", socket).returncode == 0  # his to do; the daemon asks the kernel who it is
    assert host.ask("passwd", UID, uid=UID + 1) == ""
    assert host.ask("passwd", UID) == ENTRY
    # without a configuration that can be read there is no answer, and no failure of the program
    (host.etc / "nss_slurm.conf").write_text("Nonsense\n")
    assert host.ask("passwd", UID) == ""
    assert host.here("id", "-u").stdout == f"{UID}\n"
    end(host, job)


def test_a_step_daemon_that_stands_still(host):
    """A look-up ends, and says that the answer is missing."""
    job = running(host)
    wait_until(lambda: host.ask("passwd", UID) == ENTRY, "the step tells")
    pid = int(host.c.run("scontrol", "listpids", job).out.splitlines()[1].split()[0])
    daemon = int(next(line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("PPid:")))
    assert "slurmstepd" in open(f"/proc/{daemon}/comm").read()
    os.kill(daemon, 19)
    try:
        assert host.ask("passwd", UID) == ""
    finally:
        os.kill(daemon, 18)
    wait_until(lambda: host.ask("passwd", UID) == ENTRY, "the step tells again")
    end(host, job)


@pytest.mark.parametrize("host", [""], indirect=True)
def test_not_unless_asked_for(host):
    """Without LaunchParameters=enable_nss_slurm no step has a socket."""
    job = running(host)
    wait_until(lambda: "batch" in host.c.run("scontrol", "liststeps", check=False).out, "the step runs")
    assert not list(host.spool().glob(f"job{job}.*/nss"))
    assert host.ask("passwd", UID) == ""
    end(host, job)
