"""Two kinds of cluster, brought up alike: ours from a build folder, Debian's Slurm from a prefix.

Both have the same emulated nodes, partition and policy in their slurm.conf, run their daemons in
the foreground inside a Cage, and keep everything below one temporary folder."""

import glob
import os
import re
import shutil
import signal
import socket
import time

from benchlib import Cage, note, out

READY_S = 120
MEM_MIB = 262144

COMMON = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={dir}/state
SlurmdSpoolDir={spool}/%n
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd-%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd-%n.log
SlurmctldDebug=error
SlurmdDebug=error
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MaxJobCount=300000
MinJobAge=3600
MessageTimeout=60
"""


def free_ports(n):
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Cluster:
    """up() gives an empty, ready cluster in a new folder; down() ends it.  The folders of earlier
    rounds stay until the end: deleting thousands of files slows whoever makes files next."""

    label = ""
    conf_extra = ""

    def __init__(self, root, nodes, cpus):
        self.root, self.spool_root, self.nodes, self.cpus, self.round = root, root, nodes, cpus, 0
        self.cage, self.ctld_pid, self.dir = None, 0, ""

    # -- what the kinds differ in

    def programs(self):
        """{name: path} of the commands, to stand on PATH."""
        raise NotImplementedError

    def library_path(self):
        return ""

    def conf_own(self):
        return ""

    def before(self):
        """Start what the daemons need."""

    def ctld_argv(self):
        raise NotImplementedError

    def slurmd_argv(self, node):
        raise NotImplementedError

    # -- alike

    def bin(self, name):
        path = os.path.join(self.dir, "bin", name)
        return path if os.path.exists(path) else shutil.which(name)

    def scratch(self):
        path = os.path.join(self.dir, "scratch")
        os.makedirs(path, exist_ok=True)
        return path

    def conf_text(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(self.nodes + 1)
        self.port = ports[0]
        text = COMMON.format(host=host, port=ports[0], user=os.popen("id -un").read().strip(), dir=self.dir,
                             spool=self.spool)
        text += self.conf_own() + self.conf_extra
        for i in range(self.nodes):
            text += (f"NodeName=n{i + 1} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i + 1]} "
                     f"CPUs={self.cpus} Sockets=1 CoresPerSocket={self.cpus} ThreadsPerCore=1 "
                     f"RealMemory={MEM_MIB} State=UNKNOWN\n")
        return text + "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"

    def prepare(self):
        self.round += 1
        self.dir = os.path.join(self.root, f"{self.label}.{self.round}")
        self.spool = os.path.join(self.spool_root, f"{self.label}.{self.round}.spool")
        for d in ("bin", "etc", "state", "log", "run"):
            os.makedirs(os.path.join(self.dir, d))
        for i in range(self.nodes):
            os.makedirs(os.path.join(self.spool, f"n{i + 1}"))
        for name, path in self.programs().items():
            os.symlink(path, os.path.join(self.dir, "bin", name))
        conf = os.path.join(self.dir, "etc/slurm.conf")
        with open(conf, "w") as f:
            f.write(self.conf_text())
        self.env = {"PATH": f"{self.dir}/bin:/usr/bin:/bin", "SLURM_CONF": conf, "HOME": "/tmp", "LANG": "C",
                    "USER": "bench", "SHELL": "/bin/sh"}
        if self.library_path():
            self.env["LD_LIBRARY_PATH"] = self.library_path()

    def log(self):
        return os.path.join(self.dir, "log/start.log")

    def start_ctld(self):
        self.ctld_pid = self.cage.start(self.ctld_argv(), self.env, self.log())

    def stop_ctld(self, sig):
        os.kill(self.ctld_pid, sig)
        self.cage.wait_gone(self.ctld_pid, 120)

    def wait_for(self, argv, want, what):
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            r = out(self, argv)
            if r.returncode == 0 and want(r.stdout):
                return
            time.sleep(0.05)
        with open(self.log()) as f:
            raise RuntimeError(f"{self.label}: {what} after {READY_S} s: {r.stdout} {r.stderr} {f.read()[-500:]}")

    def idle(self, text):
        return sum(int(n) for s, n in re.findall(r"^(\w+) (\d+)$", text, re.M) if s == "idle") == self.nodes

    def up(self):
        self.prepare()
        self.cage = Cage()
        try:
            self.before()
            self.start_ctld()
            self.wait_for(["squeue", "-h"], lambda _: True, "the controller does not answer")
            for i in range(self.nodes):
                self.cage.start(self.slurmd_argv(f"n{i + 1}"), self.env, self.log())
            self.wait_for(["sinfo", "-h", "-o", "%T %D"], self.idle, "not every node is idle")
        except BaseException:
            self.down()
            raise
        return self

    def down(self):
        if self.cage:
            if os.path.exists(f"/proc/{self.ctld_pid}"):
                os.kill(self.ctld_pid, signal.SIGTERM)
            self.cage.close()
            self.cage = None

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()


class Penstock(Cluster):
    label = "penstock"
    conf_extra = "MetricsType=metrics/openmetrics\n"

    def __init__(self, root, nodes, cpus, build):
        super().__init__(root, nodes, cpus)
        self.build = os.path.abspath(build)

    def find(self, name, *folders):
        for folder in folders:
            path = os.path.join(self.build, folder, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
        raise SystemExit(f"bench: {name} is not built in {self.build}")

    def programs(self):
        return {n: self.find(n, "src/cli", "bin") for n in
                ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel", "sdiag", "salloc")}

    def ctld_argv(self):
        return [self.find("slurmctld", "src/ctld", "sbin"), "-D", "-f", self.env["SLURM_CONF"]]

    def slurmd_argv(self, node):
        return [self.find("slurmd", "src/noded", "sbin"), "-D", "-N", node, "-f", self.env["SLURM_CONF"]]


class DebianSlurm(Cluster):
    """Slurm 22.05 as Debian 12 packages it, told to start jobs as soon as it can."""

    label = "slurm"
    conf_extra = "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1\n"

    def __init__(self, root, nodes, cpus, prefix):
        super().__init__(root, nodes, cpus)
        self.prefix = os.path.join(os.path.abspath(prefix), "root")
        plugins = glob.glob(f"{self.prefix}/usr/lib/*/slurm-wlm")
        if not plugins:
            raise SystemExit(f"bench: there is no Slurm in {prefix}; make one with bench/peer-slurm {prefix}")
        self.plugins = plugins[0]

    def programs(self):
        return {os.path.basename(p): p for p in glob.glob(f"{self.prefix}/usr/bin/s*")}

    def library_path(self):
        return f"{os.path.dirname(self.plugins)}:{self.plugins}"

    def conf_own(self):
        return (f"PluginDir={self.plugins}\nAuthType=auth/munge\nCredType=cred/munge\n"
                f"AuthInfo=socket={self.dir}/run/munge.sock\nMpiDefault=none\nSwitchType=switch/none\n"
                "AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\n")

    def before(self):
        key, run = os.path.join(self.dir, "etc/munge.key"), os.path.join(self.dir, "run")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(128))
        self.cage.start([f"{self.prefix}/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}",
                         f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid",
                         f"--log-file={self.dir}/log/munged.log", f"--seed-file={run}/munged.seed"],
                        self.env, self.log())
        for _ in range(200):
            if os.path.exists(f"{run}/munge.sock"):
                return
            time.sleep(0.02)
        raise RuntimeError("munged does not start")

    def ctld_argv(self):
        return [f"{self.prefix}/usr/sbin/slurmctld-wlm", "-D", "-f", self.env["SLURM_CONF"]]

    def slurmd_argv(self, node):
        return [f"{self.prefix}/usr/sbin/slurmd-wlm", "-D", "-N", node, "-f", self.env["SLURM_CONF"],
                "-d", f"{self.prefix}/usr/sbin/slurmstepd-wlm"]


class DebianSlurmDefault(DebianSlurm):
    """The same as its configuration comes, without tuning."""

    label = "slurm-untuned"
    conf_extra = ""


def remove(root):
    shutil.rmtree(root, ignore_errors=True)
    if os.path.exists(root):
        note(f"could not remove {root}")
