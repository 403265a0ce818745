"""Debian's Slurm and ours, equal clusters of four nodes with accounts and users, played in step.

Both get each command at the same time; exit status, output, errors and the state after it are compared.  Job numbers
become J1, J2, ... in the order of submissions, so that a refusal on one side alone does not shift the other's."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "bench"), str(ROOT / "tests" / "integration")]

import clusters  # noqa: E402
import differential  # noqa: E402
import people  # noqa: E402

COMMAND_S = 12
# Its threads never end: a cage dies with the thread that made it.
clusters.READY_S = 40
POOL = concurrent.futures.ThreadPoolExecutor(2)
SETTLE_S = 5
FIRST_JOB = 70001
PARTS = ("PartitionName=main Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=60 State=UP\n"
         "PartitionName=other Nodes=n[1-2] MaxTime=60 State=UP\n"
         "PartitionName=closed Nodes=n4 State=DOWN\n")
CONF = ("SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1,requeue_delay=2,enable_user_top\n"
        f"InactiveLimit=0\nFirstJobId={FIRST_JOB}\nDefMemPerCPU=100\nPriorityType=priority/multifactor\nPriorityWeightAge=0\n"
        "Licenses=lic:4,lic2:2\nAccountingStorageEnforce=associations,limits,qos\nMaxArraySize=1001\n"
        "AccountingStorageTRES=license/lic\nEnforcePartLimits=NO\n")
SETUP = """set -e
sacctmgr -i add qos high priority=1000 >/dev/null
sacctmgr -i add qos low priority=10 >/dev/null
sacctmgr -i add account science >/dev/null
sacctmgr -i add account physics,chem parent=science >/dev/null
sacctmgr -i modify account science set qos=normal,high,low >/dev/null
sacctmgr -i add user alice,bob account=physics >/dev/null
sacctmgr -i add user bob,carol account=chem >/dev/null
sacctmgr -i modify user bob set adminlevel=Operator >/dev/null
sacctmgr -i modify user root set qos=normal,high,low >/dev/null
"""
# What a command may have changed: lines of values in an order, or of Key=Value pairs of which those count that both know.
STATE = {
    "jobs": "squeue -a -h -t all -S i -o 'JobId=%i State=%T Partition=%P Name=%j User=%u Limit=%l Nodes=%D CPUs=%C Memory=%m "
            "QOS=%q Account=%a Features=%f NodeList=%N Dependency=%E Comment=%k Reservation=%v Licenses=%W'",
    "nodes": "sinfo -h -N -p main -o 'Node=%N State=%T Reason=%E Weight=%w Features=%f Active=%b Gres=%G'",
    "partitions": "scontrol -o show partition",
    "reservations": "scontrol -o show reservation",
    "accounts": "; ".join(f"sacctmgr -nP list {entity} format={fields} | sed 's/^/{entity} /' | sort" for entity, fields in (
        ("assoc", "account,user,fairshare,grpjobs,maxjobs,maxsubmit,grptres,maxtres,maxwall,grpwall,grptresmins,maxtresmins,qos,"
                  "defaultqos,priority"),
        ("qos", "name,priority,flags,grptres,maxtres,maxtrespu,maxwall,grpjobs,maxjobspu,maxsubmitpu,preempt,usagefactor,mintres"),
        ("user", "user,defaultaccount,adminlevel"), ("account", "account,descr,org"))),
}
PAIR = re.compile(r"(?:^|(?<=\s))([A-Z]\w*(?:/\w+)?)=(.*?)(?=\s+[A-Z]\w*(?:/\w+)?=|\s*$)")
CHANGES = {"sacctmgr": ("accounts", "jobs"), "scontrol": ("jobs", "nodes", "partitions", "reservations")}


class Shaped:
    """What both kinds of cluster have alike here."""

    def conf_text(self):
        text = super().conf_text().replace("PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n", PARTS)
        text = text.replace("262144", "2000")
        for name, more in (("n1", "Feature=f1"), ("n2", "Feature=f1"), ("n3", "Feature=f2"), ("n4", "Feature=f2")):
            text = re.sub(rf"(NodeName={name} .*)", rf"\1 {more}", text)
        return text + CONF

    def begin(self):
        self.up()
        self.jobs, self.ghosts = [], set()
        for path in (self.root, self.dir, *(Path(self.dir) / name for name in ("etc", "run", "bin"))):
            os.chmod(path, 0o755)  # users reach the sockets
        self.names = differential.masks_of(self)
        done = self.sh("root", SETUP)
        assert done[0] == 0, f"{self.label}: {done}"
        return self

    def sh(self, user, command):
        options, own = people.as_user(user)
        words = {f"J{i + 1}": job for i, job in enumerate(self.jobs)}
        try:
            done = subprocess.run(["bash", "-c", command], cwd=people.HOMES.get(user, "/"), stdin=subprocess.DEVNULL,
                                  env={**self.env, "TZ": "UTC", "HOME": "/root", **own, **words}, capture_output=True, text=True,
                                  errors="replace", timeout=COMMAND_S, **options)
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            return 124, "", "no end"

    def forget(self, number):
        """A job that the other side refused: it must not run here."""
        self.sh("root", f"scancel -Q {number}")
        self.ghosts.add(number)

    def clean(self, text):
        text = differential.mask(text, self.names)
        for i, job in enumerate(self.jobs):
            if job != "99999":
                text = re.sub(rf"\b{job}", f"J{i + 1}", text)
        return re.sub(r"\b7\d{4}\b", "JOB", text)


class Ours(Shaped, clusters.Penstock):
    def programs(self):
        names = ("salloc", "sacct", "sacctmgr", "sprio", "sshare", "sreport", "sstat")
        return {**super().programs(), **{n: self.find(n, "src/cli", "bin") for n in names}}


class Peer(Shaped, clusters.DebianSlurm):
    """With slurmdbd and a database of its own."""
    conf_extra = ""

    def __init__(self, root, nodes, cpus, prefix, db):
        super().__init__(root, nodes, cpus, prefix)
        self.db = db

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
        super().before()
        conf = os.path.join(self.dir, "etc/slurmdbd.conf")
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(f"PluginDir={self.plugins}\nAuthType=auth/munge\nAuthInfo=socket={self.dir}/run/munge.sock\nDbdHost=localhost\n"
                    f"DbdPort={self.dbd_port}\nSlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=localhost\n"
                    f"StorageUser=root\nStorageLoc=peer{self.round}\nLogFile={self.dir}/log/dbd.log\nPidFile={self.dir}/run/dbd.pid\n")
        self.env["MYSQL_UNIX_PORT"] = str(self.db.socket)
        self.cage.start([f"{self.prefix}/usr/sbin/slurmdbd", "-D"], self.env, self.log())
        self.wait_for(["sacctmgr", "-n", "show", "cluster"], lambda _: True, "slurmdbd does not answer")
        subprocess.run([self.bin("sacctmgr"), "-i", "add", "cluster", "bench"], env=self.env, capture_output=True, check=True, timeout=60)

    def down(self):
        super().down()
        if self.round:
            self.db.sql(f"drop database if exists peer{self.round}", "mysql")


def both(function, *sides):
    """function(side) for each at the same time; their results."""
    return list(POOL.map(function, sides))


def fields_of(text):
    """{(what, field): value} of lines of values or of Key=Value pairs; a line's first word says what it is about."""
    fields = {}
    for line in filter(None, text.split("\n")):
        head, pairs = line.split(" ")[0], PAIR.findall(line)
        if head == "JobId=JOB":
            continue  # a task of an array under a number of its own, or a step's job: which one is not the same on both
        fields.update({(head, key): value for key, value in pairs})
        if not line.startswith("JobId="):
            fields[line if len(pairs) < 2 else head, ""] = "there"
    return fields


def apart(peer, ours):
    """What the states differ in, as (what, field, peer's value, ours); of a thing that both have, fields of both alone."""
    peer, ours = fields_of(peer), fields_of(ours)
    both_have = {head for head, _ in peer} & {head for head, _ in ours}
    return {(head, key, peer.get((head, key)), ours.get((head, key))) for head, key in peer.keys() | ours.keys()
            if peer.get((head, key)) != ours.get((head, key)) and
            (((head, key) in peer and (head, key) in ours) if head in both_have or head.startswith("JobId=") else key == "")}


def submitted(answer):
    """The number of the job that an answer to sbatch tells, or None."""
    found = re.search(r"(?:batch job |^)(7\d{4})\b", answer[1])
    return found.group(1) if found else None


class Difference:
    """A command whose answers, or the states after it, are not equal."""

    def __init__(self, user, command, kind, text):
        self.user, self.command, self.kind, self.text = user, command, kind, text

    def key(self):
        """Differences of one kind have one key: numbers and names are left out."""
        text = re.sub(r"J?\d+", "#", self.text)
        text = re.sub(r"(?m)^ *(?=[-+])", "", text)
        if self.kind == "state":
            return f"state {text}"
        verb = " ".join(re.findall(r"[a-z]+", self.command)[:2 if self.command.startswith(("scontrol", "sacctmgr")) else 1])
        return f"{verb} {self.kind}\n{text}"


class Pair:
    def __init__(self, root, build, peer, db, rules):
        self.rules, self.used = rules, set()
        self.sides = (Peer(root, 4, 4, peer, db), Ours(root, 4, 4, build))
        self.running, self.known = False, set()

    def start(self):
        """New clusters; a port that somebody else took meanwhile is a reason to try again."""
        self.stop()
        for attempt in range(3):
            try:
                both(lambda side: side.begin(), *self.sides)
                break
            except RuntimeError:
                both(lambda side: side.down(), *self.sides)
                if attempt == 2:
                    raise
        self.running, self.known = True, set()

    def stop(self):
        if self.running:
            both(lambda side: side.down(), *self.sides)
            for side in self.sides:
                shutil.rmtree(side.dir, ignore_errors=True)
                shutil.rmtree(side.spool, ignore_errors=True)
        self.running = False

    def ruled(self, texts):
        peer, ours = texts
        return [differential.apply_rules(self.rules, name, text, self.used) for name, text in (("peer", peer), ("ours", ours))]

    def excused(self, command, kind, text):
        for case in self.rules.get("case", []):
            if re.search(case["command"], command) and re.search(case.get("text", ""), text) and \
                    case.get("kind", kind) == kind:
                self.used.add(("case", case["command"]))
                return True
        return False

    def states(self, names):
        command = "; ".join(f"{STATE[name]} 2>&1" for name in names)
        answers = both(lambda side: side.sh("root", command), *self.sides)
        texts = self.ruled([side.clean(answer[1]) for side, answer in zip(self.sides, answers)])
        return apart(*texts)

    def play(self, user, command):
        """Differences of one command: [] when both did the same."""
        answers = both(lambda side: side.sh(user, command), *self.sides)
        if command.startswith("sbatch"):
            self.take_jobs(answers)
        found = []
        for i, name in enumerate(("exit", "out", "err")):
            peer, ours = (str(a[i]) if i == 0 else side.clean(a[i]) for side, a in zip(self.sides, answers))
            if i:
                peer, ours = self.ruled([peer, ours])
            if peer != ours:
                text = differential.lines_apart(name, peer, ours)
                if not self.excused(command, name, text):
                    found.append(Difference(user, command, name, text))
        program = command.split()[0]
        names = CHANGES.get(program, ("jobs",) if program in ("sbatch", "scancel", "srun", "salloc") else ())
        if names and not re.match(r"\w+ (-\S+ )*(show|list)", command):
            found += self.settle(user, command, names)
        return found

    def take_jobs(self, answers):
        """A submission has a place in the order, also when it was refused; by one side alone, it is undone."""
        numbers = [submitted(answer) for answer in answers]
        for side, number in zip(self.sides, numbers):
            if number and not all(numbers):
                side.forget(number)
            side.jobs.append(number if all(numbers) else "99999")

    def settle(self, user, command, names):
        """Differences that the command made, or that came since; what is known to differ is told once."""
        until = time.monotonic() + SETTLE_S
        while (new := self.states(names) - self.known) and time.monotonic() < until:
            time.sleep(0.2)  # between two questions
        self.known |= new
        texts = [f"    state {head.split('=')[-1] if not key else head} {key}: {peer}, ours {ours}|\n"
                 for head, key, peer, ours in sorted(new, key=str)]
        return [Difference(user, command, "state", text) for text in texts if not self.excused(command, "state", text)]


def scratch():
    root = tempfile.mkdtemp(prefix="penstock-random-")
    os.chmod(root, 0o755)
    return root
