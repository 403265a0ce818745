"""Controllers that send their log to one another, with a witness: no folder that two of them have."""

import os
import re
import signal

from conftest import Daemon, free_ports, is_stopped, program, wait_until
from etcds import EtcdControllers


class NoEtcd:
    endpoints = ()


class StreamControllers(EtcdControllers):
    """As EtcdControllers: each host has state-HOST and no other's."""

    witness_address = "127.0.0.100"

    def __init__(self, folder, patience_ms=1000, **options):
        self.patience_ms, self.witness, self.witness_port = patience_ms, None, free_ports(1)[0]
        super().__init__(folder, NoEtcd, **options)

    def conf_text(self):
        text = re.sub(r"^Journal.*\n", "", super().conf_text(), flags=re.M)
        return text + ("JournalType=stream\n"
                       f"JournalParameters=witness={self.witness_address}:{self.witness_port},patience={self.patience_ms}\n")

    def start_ctld(self, *options, timeout=15):
        if not (self.dir / "witness").exists():
            self.run("penstock", "witness", "-f", str(self.conf), "--state", str(self.dir / "witness"), "--new", self.hosts[0])
        self.start_one(self.hosts[0], *options, timeout=None)
        wait_until(lambda: (self.dir / "etc" / "slurm.key").exists(), "the first controller has made the key", timeout)
        self.start_witness()
        wait_until(lambda: self.pings().get(self.hosts[0]), "the first controller answers", timeout)
        for host in self.hosts[1:]:
            self.start_one(host, *options, timeout=timeout)
        self.ctld = self.ctlds[self.hosts[0]]

    def on_witness(self):
        """What stands before its command line."""
        return []

    def start_witness(self):
        if self.witness:
            self.ended.append(self.witness)
        self.witness = Daemon("witness", [*self.on_witness(), program("penstock"), "witness", "-f", str(self.conf),
                                          "--state", str(self.dir / "witness"), "--listen",
                                          f"{self.witness_address}:{self.witness_port}"],
                              self.dir / "log" / "witness", self.env)
        wait_until(lambda: not self.witness.alive() or "answers at port" in self.witness_log(), "the witness answers")
        assert self.witness.alive(), self.witness_log()

    def witness_log(self):
        return "".join(p.read_text(errors="replace") for p in sorted((self.dir / "log").glob("witness*")))

    def record(self):
        """What --check says: (term, holder, hosts in sync)"""
        told = self.run("penstock", "witness", "-f", str(self.conf), "--state", str(self.dir / "witness"), "--check").out
        found = re.fullmatch(r"version \d+, term (\d+)(?: of (\S+))?, in sync:(.*)\n", told)
        return int(found[1]), found[2], sorted(found[3].split())

    def wait_in_sync(self, *hosts, timeout=30):
        wait_until(lambda: self.record()[2] == sorted(hosts), f"{hosts} are in sync", timeout)

    def impatient(self, host):
        """A configuration that knows this controller alone, whose commands wait two seconds."""
        path = self.dir / "etc" / f"{host}-impatient.conf"
        text = (self.dir / "etc" / f"{host}.conf").read_text()
        path.write_text(re.sub(r"^MessageTimeout=.*\n", "", text, flags=re.M) + "MessageTimeout=2\n")
        return path

    def journal(self, host):
        return self.dir / f"state-{host}" / "journal"

    def stop(self):
        """The witness goes last: a controller that ends lets go of its term."""
        for daemon in [*self.ctlds.values(), self.witness]:
            if daemon and daemon.alive() and is_stopped(daemon.pid):
                os.kill(daemon.pid, signal.SIGCONT)
        if any(d.alive() for d in self.ctlds.values()):
            for state in ("PENDING", "SUSPENDED", "RUNNING"):
                self.run("scancel", f"--state={state}", check=False)
            try:
                wait_until(lambda: not self.run("squeue", "-h", check=False).out.strip(), "the queue is empty", 15)
            except BaseException as e:  # told below, with what else is wrong
                print(e)
        problems = []
        for daemon in [*reversed(self.ctlds.values()), self.witness]:
            if daemon and daemon.alive():
                status = daemon.stop()
                if status != (daemon.expected or 0):
                    problems.append(f"{daemon.name} ended with {status}")
        return problems + super().stop()
