#!/usr/bin/python3
"""What befalls hosts: kills, sleep, lost packets, full disks and set clocks under three controllers, and the checks afterwards.

usage: tests/chaos/chaos_hosts.py --build BUILD [--type file|etcd|stream] [--blows N] [--round N] [--seconds N] [--clients N]
           [--lease MS] [--seed N] [--tap]

Controllers, members of etcd, the witness, nodes and commands have network namespaces of their own (netlab.py).  The log is in one
folder of all controllers, in three members of etcd, or is sent; in the last two each controller has a disk of its own.  Blows
come in rounds, each with a new cluster: clients submit jobs, some of which run steps; then every acknowledged job exists once,
ran once and is in accounting, all copies of the log have the same hash, and of each term one controller has acknowledged
(history.py).  CHAOS_ONLY=kind,kind
chooses kinds.  --deaf 1: controllers with a shared folder do not notice the end of their term, and with a log that is sent one
acknowledges alone; the checks must find that."""

import collections
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import netlab
from chaos_submit import check, check_accounting
from history import check_hashes, check_terms
from tapmain import main

HERE = Path(__file__).resolve().parent
DISK_MIB = 200
STEP_S = 30  # a set clock stays so near to the others: credentials and tokens live longer
LOSS = (20, 40)  # percent
KEPT_FILES = 140


# ---- the site ----------------------------------------------------------------------------------------------------------------

class Site:
    """Mixed into Controllers and its kin: hosts in namespaces, a small disk each, clocks that can be set."""

    def __init__(self, folder, hosts, nodes_host, witness_host=None, **options):
        self.lab, self.nodes_host, self.witness_host = hosts, nodes_host, witness_host
        if witness_host:
            self.witness_address = witness_host.address
        self.steps = {}
        super().__init__(folder, controllers=len(hosts), **options)
        (self.work / "out").mkdir()
        self.clock = self.clock_library()
        for host in self.hosts:
            self.steps[host] = self.dir / "tmp-clock" / host
            self.steps[host].parent.mkdir(exist_ok=True)
            self.set_clock(host, 0)
        for path in self.disks().values():
            path.mkdir(mode=0o700, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "none", path], check=True)
        self.read_at, self.led = dict.fromkeys(self.hosts, 0), (0, None)

    def clock_library(self):
        library = self.dir / "clockstep.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "clockstep.c", "-ldl"], check=True)
        return library

    def address(self, index):
        return self.lab[index].address

    def on_host(self, host):
        return self.lab[self.hosts.index(host)].before

    def conf_text(self):
        return super().conf_text().replace("NodeAddr=127.0.0.1", f"NodeAddr={self.nodes_host.address}")

    def start_one(self, host, *options, timeout=15, env=None):
        return super().start_one(host, *options, timeout=timeout, env={
            "RUNTIME_DIRECTORY": f"{self.dir}/run/{host}", "LD_PRELOAD": str(self.clock), "CLOCKSTEP_FILE": str(self.steps[host]),
            **(env or {})})

    def on_witness(self):
        return self.witness_host.before

    def start_slurmd(self, name, *options):
        from conftest import Daemon, program
        self.slurmds[name] = Daemon(
            f"slurmd-{name}", [*self.nodes_host.before, program("slurmd"), "-D", "-N", name, "-f", str(self.conf), *options],
            self.dir / "log" / f"slurmd-{name}", self.daemon_env(f"slurmd-{name}"))

    # ---- what can be done to it --------------------------------------------------------------------

    def set_clock(self, host, seconds):
        """Microseconds in a file that the host's daemons have mapped."""
        with open(self.steps[host], "r+b" if self.steps[host].exists() else "w+b") as f:
            f.write(struct.pack("<q", int(seconds * 1e6)))

    def fill_disk(self, host):
        """Until there is no byte left."""
        path = self.disk_of(host) / "filled"
        with open(path, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"\0" * 65536)
            except OSError:
                pass
        return path

    def disk_of(self, host):
        return self.disks()[host]

    # ---- who leads, by the logs: each is read once --------------------------------------------------

    def leader(self):
        """(term, host) of the newest term that somebody has said to have."""
        for host in self.hosts:
            path = self.dir / "log" / f"slurmctld-{host}.log"
            if not path.exists():
                continue
            with open(path, "rb") as f:
                f.seek(self.read_at[host])
                fresh = f.read()
            end = fresh.rfind(b"\n") + 1
            self.read_at[host] += end
            for found in re.finditer(rb"in control, term (\d+),", fresh[:end]):
                self.led = max(self.led, (int(found.group(1)), host))
        return self.led

    def close(self):
        problems = self.stop()
        for path in self.disks().values():
            subprocess.run(["umount", "-l", path], check=True)
        return problems


def site_class(kind):
    from controllers import Controllers
    from etcds import EtcdControllers
    from streams import StreamControllers

    class Shared(Site, Controllers):
        def disks(self):
            return dict.fromkeys(self.hosts, self.dir / "state")

    class OwnDisks(Site):
        def disks(self):
            return {host: self.dir / f"state-{host}" for host in self.hosts}

    class InEtcd(OwnDisks, EtcdControllers):
        pass

    class Sent(OwnDisks, StreamControllers):
        pass
    return {"file": Shared, "etcd": InEtcd, "stream": Sent}[kind]


class Client(threading.Thread):
    """Submits until told to stop.  One that knows a single controller tells what that one has acknowledged."""

    def __init__(self, cluster, number, stop):
        super().__init__(name=f"client-{number}")
        self.cluster, self.number, self.stop = cluster, number, stop
        self.host = (cluster.hosts + [None] * 9)[number] if number < len(cluster.hosts) else None
        self.acknowledged, self.refused, self.last = {}, [], 0.0

    def run(self):
        count = 0
        env = {"SLURM_CONF": str(self.cluster.dir / "etc" / f"{self.host}.conf")} if self.host else {}
        while not self.stop.is_set():
            tag = f"c{self.number}-{count}"
            count += 1
            steps = "; srun -n1 true" if count % 5 == 0 else ""
            done = self.cluster.run("sbatch", "--parsable", "-o", "out/%j", "-J", tag, "--wrap",
                                    f"echo $SLURM_JOB_ID {tag} >> ran{steps}", check=False, env=env, timeout=120)
            if done.returncode == 0:
                self.acknowledged[tag] = int(done.stdout)
                self.last = time.monotonic()
            else:
                self.refused.append((tag, done.stderr.strip()))
            self.stop.wait(0.05)


# ---- blows -------------------------------------------------------------------------------------------------------------------

class Blows:
    """Each method is a kind: it strikes, waits for what the fault needs, and mends.  `killed` counts processes by kind."""

    def __init__(self, cluster, clients, dice, lease_s, env):
        self.c, self.clients, self.dice, self.lease_s, self.env = cluster, clients, dice, lease_s, env
        self.killed, self.slept = collections.Counter(), None

    def until_ready_for(self, kind):
        """With a log that is sent nobody else can go on while the active one is alone in sync."""
        if self.c.witness_host and kind in NEED_ANOTHER:
            self.until(lambda: len(self.c.record()[2]) > 1, "another is in sync")
            self.until(lambda: self.c.leader()[0] >= self.c.record()[0], "the log tells who leads")

    def others(self, host):
        return [h for h in self.c.hosts if h != host]

    def host(self, name):
        return self.c.lab[self.c.hosts.index(name)]

    def until(self, condition, what, timeout=90):
        from conftest import wait_until
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:  # most of it is over soon
            if condition():
                return
            time.sleep(0.005)
        wait_until(condition, what, timeout)

    def until_another(self, term):
        self.until(lambda: self.c.leader()[0] > term, f"there is a term after {term}")

    def until_acknowledged(self, since):
        self.until(lambda: any(c.last > since for c in self.clients), "a submission is acknowledged again")

    def start(self, host, *options):
        self.c.start_one(host, *options, timeout=None, env=self.env)

    def revive(self):
        """As a service manager does; why it ended is looked at in the end."""
        for host in self.c.hosts:
            if not self.c.ctlds[host].alive():
                self.start(host)

    def kill(self, host):
        self.c.ctlds[host].kill()

    # active

    def kill_active(self, term, host):
        self.kill(host)
        self.killed["active controller"] += 1
        self.until_another(term)
        self.start(host, "--standby")

    def kill_active_restarted(self, term, host):
        self.kill(host)
        self.killed["active controller, started again at once"] += 1
        self.start(host)
        self.until_another(term)

    def kill_active_twice(self, term, host):
        """The one that takes over dies in its first moments."""
        self.kill(host)
        self.until_another(term)
        second_term, second = self.c.leader()
        time.sleep(self.dice.uniform(0, 0.05))  # the random moment
        self.kill(second)
        self.killed["active controller"] += 2
        if not self.c.witness_host:
            self.until_another(second_term)
        for name in (host, second):
            self.start(name, "--standby")
        self.until_another(second_term)  # with a log that is sent the second may have been alone in sync

    def takeover(self, term, host):
        index = self.dice.choice([i for i, other in enumerate(self.c.hosts) if other != host and i > 0])
        self.c.run("scontrol", "takeover", str(index), check=False)
        self.killed["takeover asked for"] += 1

    def freeze_active(self, term, host):
        self.c.freeze(host)
        self.killed["active controller stopped for longer than its lease"] += 1
        self.until_another(term)
        self.until_acknowledged(time.monotonic())
        self.c.thaw(host)
        self.slept = host

    def freeze_active_shortly(self, term, host):
        """For about its lease: it may just have it still."""
        self.c.freeze(host)
        self.killed["active controller stopped for about its lease"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.7, 1.3))  # the fault's own time
        self.c.thaw(host)

    # others

    def kill_standby(self, term, host):
        victim = self.dice.choice(self.others(host))
        self.kill(victim)
        self.killed["standby controller"] += 1
        self.start(victim, "--standby")

    def kill_all(self, term, host):
        for name in self.c.hosts:
            self.c.ctlds[name].process.kill()
        for name in self.c.hosts:
            self.kill(name)
        self.killed["all controllers at once (processes)"] += len(self.c.hosts)
        for name in self.c.hosts:
            self.start(name)
        self.until_another(term)

    def storm(self, term, host):
        """One after the other, whoever it is, each started again at once: also while it starts, and while it takes over."""
        for _ in range(self.dice.randint(10, 30)):
            time.sleep(self.dice.uniform(0, 0.25))  # the random moment
            if self.c.etcd and self.dice.random() < 0.3:
                i = self.dice.randrange(3)
                self.c.etcd.kill(i)
                self.killed["member of etcd in a storm of kills"] += 1
                self.c.etcd.start_one(i)
                continue
            victim = self.dice.choice(self.c.hosts)
            self.kill(victim)
            self.killed["controller in a storm of kills"] += 1
            self.start(victim)

    # packets

    def cut(self, name, others, kind, term, needs_another):
        self.host(name).lose(100, others)
        self.killed[f"partition: {kind}"] += 1
        if needs_another:
            self.until_another(term)
            self.until_acknowledged(time.monotonic())
        else:
            time.sleep(self.lease_s * self.dice.uniform(0.5, 2.5))  # the fault's own time
        self.host(name).heal()

    def cut_active(self, term, host):
        """From everybody; with a shared folder the lease goes on, and nothing but commands and nodes is missed."""
        self.cut(host, None, "active controller from all", term, self.c.etcd or self.c.witness_host)

    def cut_standby(self, term, host):
        self.cut(self.dice.choice(self.others(host)), None, "standby from all", term, False)

    def cut_controllers(self, term, host):
        self.cut(host, [self.host(h) for h in self.others(host)], "controllers from each other", term, False)

    def cut_nodes(self, term, host):
        self.c.nodes_host.lose(100, [self.host(host)])
        self.killed["partition: nodes from the active controller"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 2.5))  # the fault's own time
        self.c.nodes_host.heal()

    def lose_packets(self, term, host):
        """Everywhere, for a few leases."""
        everywhere = [*self.c.lab, self.c.nodes_host, *(self.c.etcd.lab if self.c.etcd else []),
                      *([self.c.witness_host] if self.c.witness_host else [])]
        percent = self.dice.randint(*LOSS)
        for h in everywhere:
            h.lose(percent)
        self.killed[f"lost packets everywhere ({LOSS[0]}-{LOSS[1]} % each way)"] += 1
        time.sleep(self.lease_s * self.dice.uniform(1, 3))  # the fault's own time
        for h in everywhere:
            h.heal()

    # disk and clock

    def fill_active(self, term, host):
        self.fill(host, "of the active controller")

    def fill_standby(self, term, host):
        self.fill(self.dice.choice(self.others(host)), "of a standby")

    def fill(self, host, whose):
        path = self.c.fill_disk(host)
        self.killed[f"full disk {whose}"] += 1
        time.sleep(self.dice.uniform(0.1, 1.5))  # the fault's own time
        if self.dice.random() < 0.3:
            self.kill(host)
            self.killed["controller with a full disk"] += 1
            self.start(host, "--standby")
            time.sleep(self.dice.uniform(0, 0.5))  # the fault's own time
        path.unlink()
        if not self.c.ctlds[host].alive():  # it says that it cannot begin on a full disk, as it should
            self.start(host, "--standby")

    def set_clock(self, term, host):
        victim = self.dice.choice(self.c.hosts)
        self.c.set_clock(victim, self.dice.uniform(-STEP_S, STEP_S))
        self.killed[f"clock of {'the active' if victim == host else 'a standby'} controller set"] += 1

    # etcd

    def kill_member(self, term, host):
        self.members(1, "member of etcd")

    def kill_members(self, term, host):
        """Nobody can be in control meanwhile."""
        self.members(2, "two members of etcd at once (processes)")

    def members(self, count, kind):
        victims = self.dice.sample(range(3), count)
        for i in victims:
            self.c.etcd.procs[i].kill()
        self.killed[kind] += count
        for i in victims:
            self.c.etcd.procs[i].wait()
        time.sleep(self.dice.uniform(0, 2 * self.lease_s))  # the fault's own time
        for i in victims:
            self.c.etcd.start_one(i)

    def cut_member(self, term, host):
        member = self.dice.choice(self.c.etcd.lab)
        member.lose(100)
        self.killed["partition: member of etcd from all"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 2.5))  # the fault's own time
        member.heal()

    def cut_from_etcd(self, term, host):
        """The active controller has commands and nodes, and no log."""
        self.cut(host, self.c.etcd.lab, "active controller from etcd", term, True)

    def freeze_member(self, term, host):
        proc = self.c.etcd.procs[self.dice.randrange(3)]
        proc.send_signal(signal.SIGSTOP)
        self.killed["member of etcd stopped"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 2))  # the fault's own time
        proc.send_signal(signal.SIGCONT)

    # the witness, and logs of controllers' own

    def kill_witness(self, term, host):
        self.c.witness.kill()
        self.killed["witness"] += 1
        time.sleep(self.dice.uniform(0, 2 * self.lease_s))  # the fault's own time
        self.c.start_witness()

    def kill_witness_and_active(self, term, host):
        """Nobody can take control until the witness is back."""
        self.c.witness.kill()
        self.kill(host)
        self.killed["witness and active controller at once (processes)"] += 2
        time.sleep(self.dice.uniform(0, 2 * self.lease_s))  # the fault's own time
        self.c.start_witness()
        self.until_another(term)
        self.start(host, "--standby")

    def freeze_witness(self, term, host):
        os.kill(self.c.witness.pid, signal.SIGSTOP)
        self.killed["witness stopped"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 2.5))  # the fault's own time
        os.kill(self.c.witness.pid, signal.SIGCONT)

    def freeze_standby(self, term, host):
        """Batches wait for it, and then go on without it."""
        victim = self.dice.choice(self.others(host))
        self.c.freeze(victim)
        self.killed["standby controller stopped"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 4))  # the fault's own time
        self.c.thaw(victim)

    def lose_disk(self, term, host):
        victim = self.dice.choice(self.others(host))
        self.kill(victim)
        self.killed["standby controller"] += 1
        if self.c.record()[1] != victim:  # else it has just taken control, and may alone have what it acknowledged
            self.c.wipe(victim)
            self.killed["disk of a standby controller"] += 1
        self.start(victim, "--standby")

    def cut_witness(self, term, host):
        self.cut_off(self.c.witness_host, None, "witness from all")

    def cut_from_witness(self, term, host):
        """The active controller leads on, as long as who is in sync answers."""
        self.cut_off(self.c.witness_host, [self.host(host)], "active controller from the witness")

    def cut_off(self, whom, others, kind):
        whom.lose(100, others)
        self.killed[f"partition: {kind}"] += 1
        time.sleep(self.lease_s * self.dice.uniform(0.5, 3))  # the fault's own time
        whom.heal()


OF_ALL = {"kill_active": 8, "kill_active_restarted": 8, "kill_active_twice": 4, "takeover": 2, "freeze_active": 3,
          "freeze_active_shortly": 2, "kill_standby": 6, "kill_all": 5, "cut_active": 1, "cut_standby": 1,
          "cut_controllers": 1, "cut_nodes": 1, "lose_packets": 1, "fill_active": 1, "fill_standby": 1, "set_clock": 2, "storm": 5}
OF_ETCD = {"kill_member": 5, "kill_members": 1, "cut_member": 1, "cut_from_etcd": 2, "freeze_member": 1, "cut_active": 2}

OF_STREAM = {"kill_witness": 3, "kill_witness_and_active": 2, "freeze_witness": 1, "freeze_standby": 3, "lose_disk": 3, "cut_witness": 1,
             "cut_from_witness": 2, "cut_active": 2, "cut_controllers": 2}
NEED_ANOTHER = {"kill_active", "kill_active_twice", "kill_witness_and_active", "freeze_active", "cut_active"}


def kinds(args, names):
    weights = {**OF_ALL, **{"etcd": OF_ETCD, "stream": OF_STREAM}.get(args.type, {})}
    if args.deaf:
        weights = {"freeze_active": 1}
    if args.type == "file":
        weights.pop("fill_standby", None)  # it has the folder of the active one
    return {k: w for k, w in weights.items() if not names or k in names}


def fatal_lines(logs):
    """A controller that is started on a full disk says so and ends."""
    for host, text in logs.items():
        yield from (f"{host}: {line}" for line in text.splitlines() if "fatal:" in line and "No space left" not in line)


# ---- a round -----------------------------------------------------------------------------------------------------------------

class Round:
    def __init__(self, args, hosts, report):
        self.args, self.hosts, self.report = args, hosts, report
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
        self.stop, self.failed = threading.Event(), False

    def __enter__(self):
        from accounting import Dbd
        from etcds import Etcd
        args, etcd = self.args, None
        for name in ("etcd", "c", "dbd"):
            (self.folder / name).mkdir()
        controllers, members, witness, nodes = self.hosts
        self.dbd = Dbd(self.folder / "dbd", ["StorageType=accounting_storage/sqlite", f"StorageLoc={self.folder}/dbd/acct.db"],
                       self.folder / "c" / "etc" / "slurm.key")
        options = {"nodes": 2, "cpus": 16, "lease_ms": args.lease, "conf":
                   "MaxJobCount=100000\nMinJobAge=7200\nMessageTimeout=60\nSlurmctldDebug=info\nSlurmdDebug=info\n"
                   f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost={netlab.OURS}\n"
                   f"AccountingStoragePort={self.dbd.port}"}
        if members:
            etcd = Etcd(self.folder / "etcd", addresses=[m.address for m in members], on_host=lambda i: members[i].before)
            etcd.lab = members
            etcd.start()
            options["etcd"] = etcd
        self.cluster = site_class(args.type)(self.folder / "c", controllers, nodes, *witness, **options)
        self.cluster.etcd = etcd
        self.env = {"PENSTOCK_FAILPOINT": "journal.term.ignored:1+,stream.alone:1+"} if args.deaf else {}
        self.cluster.daemon_env_change.update(self.env)
        self.cluster.start_ctld()
        self.dbd.start()
        for name in self.cluster.node_names:
            self.cluster.start_slurmd(name)
        self.cluster.wait_nodes()
        for name in self.cluster.node_names:  # a new node refuses what was signed before it, whatever the clock that was set since
            self.cluster.slurmds[name].stop()
            self.cluster.start_slurmd(name)
        self.cluster.wait_nodes()
        self.clients = [Client(self.cluster, i, self.stop) for i in range(args.clients)]
        return self

    def strike(self, count, dice, names, totals):
        weights = kinds(self.args, names)
        blows = Blows(self.cluster, self.clients, dice, self.args.lease / 1000, self.env)
        for c in self.clients:
            c.start()
        done = []
        try:
            for _ in range(count):
                blows.until(lambda: self.cluster.leader()[1], "somebody leads")
                blows.until_acknowledged(time.monotonic())
                time.sleep(dice.uniform(0, 0.2))  # the random moment
                blows.revive()
                kind = dice.choices(list(weights), list(weights.values()))[0]
                done.append(kind)
                blows.until_ready_for(kind)
                getattr(blows, kind)(*self.cluster.leader())
            blows.until_acknowledged(time.monotonic())
            if self.args.deaf:
                self.let_deaf_speak(blows)
        except BaseException:
            self.failed = True
            self.report(f"the last blows: {', '.join(done[-5:])}")
            raise
        finally:
            totals.update(blows.killed)
            self.stop.set()
            for c in self.clients:
                c.join()

    def let_deaf_speak(self, blows):
        """The one that slept acknowledges to the client that knows it alone; then it goes."""
        host = blows.slept
        client = next(c for c in self.clients if c.host == host)
        since = time.monotonic()
        blows.until(lambda: client.last > since, f"{host} acknowledges, without a term")
        blows.kill(host)

    def checks(self):
        """(name, problems)"""
        from conftest import wait_until
        c = self.cluster
        wait_until(lambda: c.run("squeue", "-h", check=False).rc == 0, "somebody leads", 60)
        wait_until(lambda: not c.run("squeue", "-h", "-t", "PD,R,CG", check=False).stdout, "every job has ended", 240)
        yield "every acknowledged job exists once and ran once", list(check(c, self.clients))
        logs = {host: c.ctld_log(host) for host in c.hosts}
        told = [(k.host, job) for k in self.clients if k.host for job in k.acknowledged.values()]
        yield "one controller acknowledged in each term", list(check_terms(logs, told))
        yield "accounting has every job once", list(check_accounting(c, self.clients, wait_until))
        yield "the copies of the log are equal", list(check_hashes(self.hashes(wait_until)))
        yield "no controller ended by itself", list(fatal_lines(logs))
        yield "terms that are over take no space", list(self.space())

    def space(self):
        """A snapshot is due after 32 files, and what the two newest need is kept."""
        for path in sorted(set(self.cluster.disks().values())):
            files = list((path / "journal").glob("*.log"))
            if len(files) > KEPT_FILES:
                yield f"{path}: {len(files)} files of the log after {self.cluster.leader()[0]} terms"

    def hashes(self, wait_until):
        c, found = self.cluster, {}

        def all_say_the_same():
            found["live"] = c.run("penstock", "ping", "--hash", check=False).out.strip()
            for path in sorted(set(c.disks().values())):
                found[path.name] = c.run("penstock", "journal", "hash", path, check=False).out.strip()
            return not list(check_hashes(found))
        try:
            wait_until(all_say_the_same, "the copies are equal", 30)
        except BaseException as e:  # what differs is told
            self.report(str(e).split("\n", 1)[0])
        return found

    def close(self):
        self.stop.set()
        try:
            problems = self.cluster.close()
        except subprocess.TimeoutExpired as e:  # of a round that has failed: nobody answers
            problems = [f"not in time: {e.cmd}"]
            for daemon in [*self.cluster.ctlds.values(), *self.cluster.slurmds.values()]:
                daemon.kill()
        self.dbd.stop()
        if self.cluster.etcd:
            self.cluster.etcd.stop()
        return [p for p in problems if not self.args.deaf]

    def __exit__(self, *exc):
        if self.failed or os.environ.get("CHAOS_KEEP"):
            self.report(f"kept: {self.folder}")
            (self.folder / "told").write_text("\n".join(
                f"{k.name} {k.host} {k.acknowledged} {k.refused}" for k in self.clients))
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def run(args, report):
    """(name, problems) of each check of each round."""
    names = set(filter(None, os.environ.get("CHAOS_ONLY", "").split(",")))
    hosts = ([netlab.Host(f"ctl{i + 1}", i + 1) for i in range(args.controllers)],
             [netlab.Host(f"etcd{i + 1}", 11 + i) for i in range(3 if args.type == "etcd" else 0)],
             [netlab.Host("witness", 31)] if args.type == "stream" else [], netlab.Host("nodes", 21))
    dice, totals = random.Random(args.seed), collections.Counter()
    left = 1 if args.deaf else args.blows
    blows = left
    until = time.monotonic() + args.seconds if args.seconds else None
    jobs = rounds = 0
    while left > 0 and not (until and time.monotonic() > until):
        rounds += 1
        count = min(left, args.round)
        with Round(args, hosts, report) as one:
            try:
                one.strike(count, dice, names, totals)
                for name, problems in one.checks():
                    one.failed |= bool(problems)
                    yield f"round {rounds}: {name}", problems
                jobs += sum(len(c.acknowledged) for c in one.clients)
            except BaseException as e:
                one.failed = True
                yield f"round {rounds}: it goes on", str(e).split("\n")[:3] or [repr(e)]
            for h in [*hosts[0], *hosts[1], *hosts[2], hosts[3]]:
                h.heal()
            problems = one.close()
            one.failed |= bool(problems)
            yield f"round {rounds}: nothing is left behind", problems
        left -= count
        report(f"{blows - left} blows, {jobs} jobs acknowledged; " + "; ".join(f"{n} {kind}" for kind, n in sorted(totals.items())))


if __name__ == "__main__":
    WHY = netlab.missing()
    if WHY:
        print(f"1..0 # SKIP {WHY}")
        raise SystemExit(0)
    netlab.enter()
    raise SystemExit(main(__doc__, run, blows=60, round=60, seconds=0, clients=8, controllers=3, lease=400, type="file", deaf=0))
