"""Three real members of etcd on loopback, and controllers whose log is in them, each with a StateSaveLocation of its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from base64 import b64encode

from conftest import free_ports, wait_until
from controllers import Controllers


class Etcd:
    def __init__(self, folder, members=3):
        self.dir = folder
        ports = free_ports(2 * members)
        self.ports = list(zip(ports[::2], ports[1::2]))
        self.endpoints = [f"http://127.0.0.1:{client}" for client, _ in self.ports]
        self.procs = [None] * members

    def start(self):
        for i in range(len(self.procs)):
            self.start_one(i)
        wait_until(lambda: self.answers(), "etcd answers", 60)
        return self

    def start_one(self, i):
        client, peer = (f"http://127.0.0.1:{port}" for port in self.ports[i])
        everyone = ",".join(f"m{k}=http://127.0.0.1:{port}" for k, (_, port) in enumerate(self.ports))
        log = open(self.dir / f"m{i}.log", "a")
        self.procs[i] = subprocess.Popen(
            ["etcd", "--name", f"m{i}", "--data-dir", str(self.dir / f"m{i}"), "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", everyone, "--heartbeat-interval", "100", "--election-timeout", "500",
             "--log-outputs", "stderr"], stdout=log, stderr=log)
        log.close()

    def call(self, path, body, timeout=5):
        for url in self.endpoints:
            try:
                req = urllib.request.Request(url + path, json.dumps(body).encode())
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(req, timeout=timeout) as r:
                    return json.load(r)
            except OSError:
                continue
        return None

    def answers(self):
        return self.call("/v3/kv/range", {"key": b64encode(b"x").decode()}) is not None

    def count(self, start):
        """How many keys begin with this."""
        end = start[:-1] + chr(ord(start[-1]) + 1)
        got = self.call("/v3/kv/range", {"key": b64encode(start.encode()).decode(), "range_end": b64encode(end.encode()).decode(),
                                         "count_only": True})
        return int(got.get("count", 0))

    def leader(self):
        for i, url in enumerate(self.endpoints):
            if self.procs[i].poll() is None:
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                        urllib.request.Request(url + "/v3/maintenance/status", b"{}"), timeout=5) as r:
                    told = json.load(r)
                if told["leader"] == told["header"]["member_id"]:
                    return i
        return None

    def kill(self, i):
        self.procs[i].kill()
        self.procs[i].wait()

    def stop(self):
        for p in self.procs:
            if p and p.poll() is None:
                p.send_signal(signal.SIGTERM)
        for p in self.procs:
            if p:
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


class EtcdControllers(Controllers):
    """As Controllers, but that each host has state-HOST and no other's."""

    def __init__(self, folder, etcd, **options):
        self.etcd = etcd
        super().__init__(folder, **options)
        for host in self.hosts:
            (self.dir / "etc" / host).mkdir()
            self.own_conf(host).write_text(self.conf_text().replace(f"{self.dir}/state", f"{self.dir}/state-{host}"))

    def own_conf(self, host):
        return self.dir / "etc" / host / "slurm.conf"

    def conf_text(self):
        return (super().conf_text() + "JournalType=etcd\n"
                f"JournalParameters=endpoints={';'.join(self.etcd.endpoints)},prefix=test\n"
                f"AuthInfo=keyfile={self.dir}/etc/slurm.key\n")

    def start_one(self, host, *options, timeout=15, env=None):
        shared, self.conf = self.conf, self.own_conf(host)
        self.copy_key(host)
        try:
            return super().start_one(host, *options, timeout=timeout, env={"SLURM_CONF": str(shared), **(env or {})})
        finally:
            self.conf = shared

    def copy_key(self, host):
        """As an administrator does: the controllers' pair of keys is one."""
        own = self.dir / f"state-{host}" / "slurmctld.key"
        for other in self.hosts if not own.exists() else []:
            there = self.dir / f"state-{other}" / "slurmctld.key"
            if there.exists():
                own.parent.mkdir(mode=0o700, exist_ok=True)
                shutil.copy2(there, own)
                break

    def wipe(self, host):
        """An empty disk, but for what is copied by hand."""
        for path in (self.dir / f"state-{host}").iterdir():
            if path.name != "slurmctld.key":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def fresh(self):
        """Takeover times that the log tells, in milliseconds."""
        return [int(ms) for host in self.hosts for ms in re.findall(r"in control, term \d+, (\d+) ms", self.ctld_log(host))]


def have_etcd():
    return shutil.which("etcd", path=os.environ.get("PATH", "") + ":/usr/bin:/usr/local/bin") is not None
