"""Three real members of etcd on loopback, and controllers whose log is in them, each with a StateSaveLocation of its own."""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import urllib.request
from base64 import b64encode

from conftest import free_ports, wait_until
from controllers import Controllers


class Etcd:
    def __init__(self, folder, members=3, addresses=None, on_host=lambda member: [], pki=None):
        """addresses: of the members, loopback if not given; on_host(member): what stands before its command line; pki: all
        speak TLS with certificates of this authority (tls/pki.py), and clients must show one."""
        self.dir, self.on_host, self.pki, self.token = folder, on_host, pki, None
        self.scheme, self.tls = ("https", self.certificates()) if pki else ("http", None)
        ports = free_ports(2 * members)
        self.ports = list(zip(ports[::2], ports[1::2]))
        self.addresses = addresses or ["127.0.0.1"] * members
        self.endpoints = [f"{self.scheme}://{address}:{client}" for address, (client, _) in zip(self.addresses, self.ports)]
        self.procs = [None] * members

    def certificates(self):
        """Of the members, and of who asks here; what Python shows."""
        self.pki.pair(self.dir, "member", "127.0.0.1", names="IP:127.0.0.1")
        self.pki.pair(self.dir, "asker")
        context = ssl.create_default_context(cafile=self.pki.cert)
        context.load_cert_chain(self.dir / "asker_cert.pem", self.dir / "asker_cert_key.pem")
        return context

    def options(self):
        if not self.pki:
            return ["--bcrypt-cost", "4"]
        pair = [self.dir / "member_cert.pem", self.dir / "member_cert_key.pem"]
        return ["--client-cert-auth", "--trusted-ca-file", self.pki.cert, "--cert-file", pair[0], "--key-file", pair[1],
                "--peer-client-cert-auth", "--peer-trusted-ca-file", self.pki.cert, "--peer-cert-file", pair[0],
                "--peer-key-file", pair[1]]

    def start(self):
        for i in range(len(self.procs)):
            self.start_one(i)
        wait_until(lambda: self.answers(), "etcd answers", 60)
        return self

    def start_one(self, i):
        client, peer = (f"{self.scheme}://{self.addresses[i]}:{port}" for port in self.ports[i])
        everyone = ",".join(f"m{k}={self.scheme}://{self.addresses[k]}:{port}" for k, (_, port) in enumerate(self.ports))
        log = open(self.dir / f"m{i}.log", "a")
        self.procs[i] = subprocess.Popen(
            [*self.on_host(i), "etcd", "--name", f"m{i}", "--data-dir", str(self.dir / f"m{i}"), "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", everyone, "--heartbeat-interval", "100", "--election-timeout", "500",
             "--log-outputs", "stderr", *self.options()], stdout=log, stderr=log)
        log.close()

    def call(self, path, body, timeout=5):
        for url in self.endpoints:
            try:
                return self.ask(url, path, body, timeout)
            except OSError:
                continue
        return None

    def ask(self, url, path, body, timeout=5):
        headers = {"Authorization": self.token} if self.token else {}
        handlers = [urllib.request.ProxyHandler({})] + ([urllib.request.HTTPSHandler(context=self.tls)] if self.tls else [])
        with urllib.request.build_opener(*handlers).open(
                urllib.request.Request(url + path, json.dumps(body).encode(), headers), timeout=timeout) as r:
            return json.load(r)

    def add_users(self, user, password, prefix):
        """etcd lets in nobody without a password from now on: root, and a user who has the keys of a prefix."""
        def b64(text):
            return b64encode(text.encode()).decode()
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        for path, body in (("role/add", {"name": "root"}), ("user/add", {"name": "root", "password": "r"}),
                           ("user/grant", {"user": "root", "role": "root"}), ("role/add", {"name": "keys"}),
                           ("role/grant", {"name": "keys", "perm": {"permType": "READWRITE", "key": b64(prefix), "range_end": b64(end)}}),
                           ("user/add", {"name": user, "password": password}), ("user/grant", {"user": user, "role": "keys"}),
                           ("enable", {})):
            assert self.call(f"/v3/auth/{path}", body) is not None, path
        self.log_in()

    def log_in(self):
        told = self.call("/v3/auth/authenticate", {"name": "root", "password": "r"})
        self.token = told and told["token"]
        return self.token

    def answers(self):
        if self.token is not None and not self.log_in():  # tokens end with a member
            self.token = ""
            return False
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
                told = self.ask(url, "/v3/maintenance/status", {})
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

    def __init__(self, folder, etcd, parameters="", **options):
        """parameters: more of JournalParameters."""
        self.etcd, self.parameters = etcd, parameters
        super().__init__(folder, **options)
        for host in self.hosts:
            (self.dir / "etc" / host).mkdir()
            self.own_conf(host).write_text(self.conf_text().replace(f"{self.dir}/state", f"{self.dir}/state-{host}"))

    def own_conf(self, host):
        return self.dir / "etc" / host / "slurm.conf"

    def conf_text(self):
        return (super().conf_text() + "JournalType=etcd\n"
                f"JournalParameters=endpoints={';'.join(self.etcd.endpoints)},prefix=test{self.parameters}\n"
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
