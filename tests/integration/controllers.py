"""A cluster with several controllers on this machine: each has an address of its own and all have one
StateSaveLocation."""

import os
import re
import signal
import struct

from conftest import Cluster, Daemon, is_stopped, program, wait_until


class Controllers(Cluster):
    """Controllers ctl1, ctl2 ... on 127.0.0.1, 127.0.0.2 ...; the first is started first and leads."""

    def __init__(self, folder, controllers=2, lease_ms=1500, conf="", **options):
        self.hosts = [f"ctl{i + 1}" for i in range(controllers)]
        self.lease_ms = lease_ms
        self.ctlds, self.token = {}, None
        super().__init__(folder, conf=conf, **options)
        for i, host in enumerate(self.hosts):  # a configuration that knows one controller alone
            (self.dir / "etc" / f"{host}.conf").write_text(
                re.sub(r"^SlurmctldHost=.*\n", "", self.conf_text(), flags=re.M) + f"SlurmctldHost={host}({self.address(i)})\n")

    def address(self, index):
        return f"127.0.0.{index + 1}"

    def on_host(self, host):
        """What stands before the command line of a daemon of this host."""
        return []

    def conf_text(self):
        text = re.sub(r"^SlurmctldHost=.*$", "\n".join(
            f"SlurmctldHost={host}({self.address(i)})" for i, host in enumerate(self.hosts)), super().conf_text(), flags=re.M)
        text = text.replace("/run/slurmctld.pid", "/run/slurmctld-%h.pid").replace("/log/slurmctld.log", "/log/slurmctld-%h.log")
        return text + f"SlurmctldLease={self.lease_ms}\nCommunicationParameters=NoCtldInAddrAny\nAuthAltTypes=auth/jwt\n"

    # ---- controllers -----------------------------------------------------------------------------

    def start_ctld(self, *options, timeout=15):
        for host in self.hosts:
            self.start_one(host, *options, timeout=timeout)
        self.ctld = self.ctlds[self.hosts[0]]

    def start_one(self, host, *options, timeout=15, env=None):
        """timeout None: do not wait for its answer."""
        before = self.ctlds.get(host)
        if before:
            self.ended.append(before)
        daemon = Daemon(f"slurmctld-{host}",
                        [*self.on_host(host), program("slurmctld"), "-D", "-f", str(self.conf), "--host", host, *options],
                        self.dir / "log" / f"slurmctld-{host}", {**self.env, **self.daemon_env_change, **(env or {})})
        self.ctlds[host] = daemon
        if timeout is None:
            return daemon
        wait_until(lambda: not daemon.alive() or self.pings()[host], f"{host} answers", timeout)
        assert daemon.alive(), self.logs(f"slurmctld-{host}")
        return daemon

    def pings(self):
        """Host -> does it answer?"""
        found = re.findall(r"^Slurmctld\(\w+\) at (\S+) is (UP|DOWN)$", self.run("scontrol", "ping", check=False).out, re.M)
        return {host: up == "UP" for host, up in found}

    def ctld_log(self, host):
        path = self.dir / "log" / f"slurmctld-{host}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def active_log(self):
        """The host whose log says that it came to power last."""
        latest = [(line.split("]")[0], host) for host in self.hosts for line in self.ctld_log(host).splitlines()
                  if "in control, term" in line]
        return max(latest)[1] if latest else None

    def active(self):
        """That host, once commands are answered; None: nobody answers."""
        return self.active_log() if self.run("squeue", "-h", check=False).rc == 0 else None

    def told_durable(self):
        """The record of the log up to which the newest term's record says that it is on disk."""
        newest = max((self.dir / "state" / "journal").glob("*.term"))
        return struct.unpack_from("<Q", newest.read_bytes(), 32)[0]

    def wait_active(self, host, timeout=20):
        wait_until(lambda: self.active() == host, f"{host} is in control", timeout)

    def freeze(self, host):
        os.kill(self.ctlds[host].pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(self.ctlds[host].pid), f"{host} stands still")

    def thaw(self, host):
        os.kill(self.ctlds[host].pid, signal.SIGCONT)

    def only(self, host):
        """The environment of a command that knows this controller alone; a token keeps it off the local socket, which
        whoever leads on this machine has."""
        if not self.token:
            self.token = self.run("scontrol", "token", "lifespan=3600").out.partition("=")[2].strip()
        return {"SLURM_CONF": str(self.dir / "etc" / f"{host}.conf"), "SLURM_JWT": self.token}

    def stop(self):
        for daemon in self.ctlds.values():
            if daemon.alive() and is_stopped(daemon.pid):
                os.kill(daemon.pid, signal.SIGCONT)
        live = [d for d in self.ctlds.values() if d.alive()]
        self.ctld = live[0] if live else self.ctld
        if live:
            self.run("scancel", "--state=PENDING", check=False)
            self.run("scancel", "--state=RUNNING", check=False)
            try:
                wait_until(lambda: not self.run("squeue", "-h", check=False).out.strip(), "the queue is empty", 15)
            except BaseException as e:  # told below, with what else is wrong
                print(e)
        problems = []
        for daemon in live[1:]:
            status = daemon.stop()
            if status != (daemon.expected or 0):
                problems.append(f"{daemon.name} ended with {status}")
        return problems + super().stop()
