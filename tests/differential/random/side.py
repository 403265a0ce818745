"""One side of the play: Debian's Slurm or ours, a cluster of four nodes with accounts and users.

Each side lives in a process of its own, so that both start, answer and fail apart, and so that a player's process has
one thread.  Remote is the player's end of it: tell() sends a question, hear() waits for the answer; a side that is
silent for too long or gone raises Lost."""

import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "bench"), str(ROOT / "tests" / "integration")]

import benchlib  # noqa: E402
import clusters  # noqa: E402
import differential  # noqa: E402,F401
import people  # noqa: E402

clusters.READY_S = 60
COMMAND_S = 10
BEGIN_S = 150
FIRST_JOB = 70001
PARTS = ("PartitionName=main Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=60 State=UP\n"
         "PartitionName=other Nodes=n[1-2] MaxTime=60 State=UP\n"
         "PartitionName=closed Nodes=n4 State=DOWN\n")
CONF = ("SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1,requeue_delay=121,enable_user_top\n"
        f"InactiveLimit=0\nFirstJobId={FIRST_JOB}\nDefMemPerCPU=100\nPriorityType=priority/multifactor\nPriorityWeightAge=0\n"
        "Licenses=lic:4,lic2:2\nAccountingStorageEnforce=associations,limits,qos\nMaxArraySize=1001\n"
        "AccountingStorageTRES=license/lic\nAccountingStoreFlags=job_script\nEnforcePartLimits=NO\n")
SETUP = """set -e
sacctmgr -i add qos high priority=1000 >/dev/null
sacctmgr -i add qos low priority=10 >/dev/null
sacctmgr -i add account science >/dev/null
sacctmgr -i add account physics,chem parent=science >/dev/null
sacctmgr -i modify account science set qos=normal,high,low >/dev/null
sacctmgr -i add user alice,bob account=physics >/dev/null
sacctmgr -i add user bob,carol account=chem >/dev/null
sacctmgr -i modify user bob set adminlevel=Operator >/dev/null
sacctmgr -i add coordinator account=chem names=carol >/dev/null
sacctmgr -i modify user root set qos=normal,high,low >/dev/null
"""
# What a command may have changed: lines of values in an order, or of Key=Value pairs of which those count that both know.
STATE = {
    "jobs": ["squeue", "-a", "-h", "-t", "all", "-S", "i", "-o",
             "JobId=%i State=%T Partition=%P Name=%j User=%u Limit=%l Nodes=%D CPUs=%C Memory=%m "
             "QOS=%q Account=%a Features=%f NodeList=%N Dependency=%E Comment=%k Reservation=%v Licenses=%W"],
    "nodes": ["sinfo", "-h", "-N", "-p", "main", "-o", "Node=%N State=%T Reason=%E Weight=%w Features=%f Active=%b Gres=%G"],
    "partitions": ["scontrol", "-o", "show", "partition"],
    "reservations": ["scontrol", "-o", "show", "reservation"],
    **{entity: ["sacctmgr", "-nP", "list", entity, f"format={fields}"] for entity, fields in (
        ("assoc", "account,user,fairshare,grpjobs,maxjobs,maxsubmit,grptres,maxtres,maxwall,grpwall,grptresmins,maxtresmins,qos,"
                  "defaultqos,priority"),
        ("qos", "name,priority,flags,grptres,maxtres,maxtrespu,maxwall,grpjobs,maxjobspu,maxsubmitpu,preempt,usagefactor,mintres"),
        ("user", "user,defaultaccount,adminlevel"), ("account", "account,descr,org"))},
}
SHELL = re.compile(r"[|$<>;&`()*?]|2>")


class Lost(Exception):
    """A side does not answer any more."""


class Shaped:
    """What both kinds of cluster have alike here."""
    typed = False  # nodes have GRES with types

    def conf_text(self):
        text = super().conf_text().replace("PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n", PARTS)
        text = text.replace("262144", "2000").replace("ReturnToService=2", "ReturnToService=1")  # what is down stays down
        for name, more in (("n1", "Feature=f1"), ("n2", "Feature=f1"), ("n3", "Feature=f2"), ("n4", "Feature=f2")):
            text = re.sub(rf"(NodeName={name} .*)", rf"\1 {more}", text)
        if self.typed:
            text = re.sub(r"(NodeName=n\d .*)", r"\1 Gres=gpu:2,tool:a:2,tool:b:1", text) + "GresTypes=gpu,tool\n"
            Path(self.dir, "etc/gres.conf").write_text("Name=gpu Count=2\nName=tool Type=a Count=2\nName=tool Type=b Count=1\n")
        return text + CONF

    def begin(self):
        """An empty cluster; a port that somebody else took meanwhile is a reason to try again."""
        for attempt in range(3):
            try:
                self.up()
                break
            except RuntimeError:
                if attempt == 2:
                    raise
        for path in (self.root, self.dir, *(Path(self.dir) / name for name in ("etc", "run", "bin"))):
            os.chmod(path, 0o755)  # users reach the sockets
        done = self.sh("root", SETUP)
        if done[0]:
            raise RuntimeError(f"{self.label}: {done}")
        return self.dir

    def end(self):
        self.down()
        for path in (self.dir, self.spool):
            shutil.rmtree(path, ignore_errors=True)

    def sh(self, user, command):
        options, own = people.as_user(user)
        if user in people.HOMES and not os.path.isdir(people.HOMES[user]):
            people.make_homes()  # another player ended, and took them away
        argv = shlex.split(command) if not SHELL.search(command) else ["bash", "-c", command]
        try:
            done = subprocess.run(argv, cwd=people.HOMES.get(user, "/"), stdin=subprocess.DEVNULL,
                                  env={**self.env, "TZ": "UTC", "HOME": "/root", **own}, capture_output=True, text=True,
                                  errors="replace", timeout=COMMAND_S * (3 if argv[0] == "bash" else 1), **options)
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            return 124, "", "no end"

    def states(self, names):
        """The texts of all questions, which are asked at the same time."""
        asked = {name: subprocess.Popen(STATE[name], cwd="/", env={**self.env, "TZ": "UTC", "HOME": "/root", "USER": "root"},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                 for name in names}
        texts = {}
        for name, process in asked.items():
            try:
                texts[name] = process.communicate(timeout=COMMAND_S)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                process.kill()
                texts[name] = process.communicate()[0].decode(errors="replace") + "no end\n"
        return texts

    def play(self, user, command, names):
        """A command's answer and the states behind it."""
        return self.sh(user, command), self.states(names)


class Ours(Shaped, clusters.Penstock):
    def programs(self):
        names = ("salloc", "sacct", "sacctmgr", "sprio", "sshare", "sreport", "sstat", "sattach", "sbcast", "strigger", "scrontab")
        return {**super().programs(), **{n: self.find(n, "src/cli", "bin") for n in names}}


class Peer(Shaped, clusters.DebianSlurm):
    """With slurmdbd and a database of its own."""
    conf_extra = ""

    def __init__(self, root, nodes, cpus, prefix, db, preload):
        super().__init__(root, nodes, cpus, prefix)
        self.preload = preload
        self.db, self.base = db, f"peer_{os.path.basename(root)}_"  # one for each pair

    def conf_own(self):
        self.dbd_port, = clusters.free_ports(1)
        return super().conf_own().replace(
            "AccountingStorageType=accounting_storage/none",
            f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
            f"AccountingStoragePort={self.dbd_port}\nAccountingStoragePass={self.dir}/run/munge.sock")

    def programs(self):
        return {**super().programs(), "slurmctld": f"{self.prefix}/usr/sbin/slurmctld-wlm"}

    def ctld_argv(self):
        return [self.bin("slurmctld"), "-D", "-f", self.env["SLURM_CONF"]]  # it goes by its name when it feeds slurmdbd

    def before(self):
        self.env["LD_PRELOAD"] = self.preload
        super().before()
        conf = os.path.join(self.dir, "etc/slurmdbd.conf")
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(f"PluginDir={self.plugins}\nAuthType=auth/munge\nAuthInfo=socket={self.dir}/run/munge.sock\nDbdHost=localhost\n"
                    f"DbdPort={self.dbd_port}\nSlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=localhost\n"
                    f"StorageUser=root\nStorageLoc={self.base}{self.round}\nLogFile={self.dir}/log/dbd.log\n"
                    f"PidFile={self.dir}/run/dbd.pid\n")
        self.env["MYSQL_UNIX_PORT"] = str(self.db.socket)
        self.cage.start([f"{self.prefix}/usr/sbin/slurmdbd", "-D"], self.env, self.log())
        self.wait_for(["sacctmgr", "-n", "show", "cluster"], lambda _: True, "slurmdbd does not answer")
        subprocess.run([self.bin("sacctmgr"), "-i", "add", "cluster", "bench"], env=self.env, capture_output=True, check=True, timeout=60)

    def end(self):
        super().end()
        if self.round:
            self.db.sql(f"drop database if exists {self.base}{self.round}", "mysql")


class Remote:
    """A side in a process of its own."""

    def __init__(self, make):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                here.close()
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                benchlib.prctl(benchlib.PR_SET_PDEATHSIG, signal.SIGTERM)
                serve(make(), there.makefile("rw"))
                code = 0
            except BaseException as e:  # must not return into the player
                print(f"side: {e!r}", file=sys.stderr)
            finally:
                os._exit(code)
        there.close()
        self.sock, self.file, self.dir = here, here.makefile("rw"), None

    def tell(self, what, *args):
        try:
            self.file.write(json.dumps([what, *args]) + "\n")
            self.file.flush()
        except OSError as e:
            raise Lost(str(e)) from e

    def hear(self, timeout_s):
        if not select.select([self.sock], [], [], timeout_s)[0]:
            raise Lost("a side is silent")
        try:
            line = self.file.readline()
        except OSError as e:
            raise Lost(str(e)) from e
        if not line:
            raise Lost("a side's process is gone")
        return json.loads(line)

    def close(self, timeout_s=60):
        """Its daemons end with it."""
        try:
            self.tell("end")
            self.hear(timeout_s)
        except Lost:
            pass
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        for end in (self.file, self.sock):
            try:
                end.close()
            except OSError:  # what was not sent has nobody to reach
                pass


def serve(side, file):
    actions = {"begin": side.begin, "play": side.play, "states": side.states, "sh": side.sh, "again": side.sh, "end": side.end}
    for line in file:
        what, *args = json.loads(line)
        file.write(json.dumps(actions[what](*args)) + "\n")
        file.flush()
        if what == "end":
            return
