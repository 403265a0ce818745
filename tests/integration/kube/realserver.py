"""A real kube-apiserver and its etcd on loopback, for tests of `make test-kube`; with manager=True kube-controller-manager too.

    with RealServer(folder) as server:
        server.create("/api/v1/namespaces/default/pods", {...})  # as an administrator; strict about fields
        server.kubeconfig(path, user="system:serviceaccount:ns:name")"""

import json
import os
import secrets
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

from conftest import Daemon, free_ports, wait_until

ADMIN = "admin"
START_LIMIT_S = 180
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "replicaset-controller", "deployment-controller",
               "statefulset-controller", "job-controller", "disruption-controller", "horizontal-pod-autoscaler-controller",
               "resourceclaim-controller")
SERVICE_IP = os.environ.get("PENSTOCK_KUBE_SERVICE_IP", "")  # on loopback, in the network that tests/kube/run makes


class Refused(Exception):
    """What the server answered: its status and its sentence."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class RealServer:
    def __init__(self, folder, users=(), manager=False, flags=()):
        self.dir, self.etcd, self.daemon, self.manager, self.flags = folder, None, None, manager, flags
        self.client, self.peer, self.port, self.manager_port = free_ports(4)
        self.controllers = None
        self.tokens = {user: secrets.token_hex(16) for user in (ADMIN, *users)}
        self.url = f"https://127.0.0.1:{self.port}"

    def __enter__(self):
        try:
            self.make_files()
            self.start_etcd()
            self.start()
            if self.manager:
                self.start_manager()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in (self.controllers, self.daemon, self.etcd):
            if daemon:
                daemon.stop()

    def make_files(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.dir / "server.key", "-out", self.dir / "server.crt"],
                       check=True, capture_output=True)
        subprocess.run(["openssl", "genrsa", "-out", self.dir / "sa.key", "2048"], check=True, capture_output=True)
        (self.dir / "tokens.csv").write_text("".join(
            f'{token},{user},{user},"{"system:masters" if user == ADMIN else "system:serviceaccounts"}"\n'
            for user, token in self.tokens.items()))

    def start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.client}", f"http://127.0.0.1:{self.peer}"
        self.etcd = Daemon("etcd", [
            "etcd", "--name", "m", "--data-dir", self.dir / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"m={peer}",
            "--unsafe-no-fsync"], self.dir / "etcd.log", os.environ)

    def start(self):
        self.daemon = Daemon("kube-apiserver", [
            os.environ["PENSTOCK_KUBE_APISERVER"], f"--etcd-servers=http://127.0.0.1:{self.client}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none", f"--tls-cert-file={self.dir}/server.crt",
            f"--tls-private-key-file={self.dir}/server.key", f"--cert-dir={self.dir}", f"--token-auth-file={self.dir}/tokens.csv",
            "--authorization-mode=RBAC", "--service-account-issuer=https://penstock.test", "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={self.dir}/sa.key", f"--service-account-signing-key-file={self.dir}/sa.key",
            "--disable-admission-plugins=ServiceAccount", "--allow-privileged", *self.flags,
            *([f"--advertise-address={SERVICE_IP}"] if SERVICE_IP else [])], self.dir / "apiserver.log", no_proxy())
        wait_until(self.ready, "kube-apiserver is ready", START_LIMIT_S)

    def start_manager(self):
        """The controllers of Kubernetes that make, count and collect objects: there are no nodes of theirs."""
        self.controllers = Daemon("kube-controller-manager", [
            os.environ["PENSTOCK_KUBE_MANAGER"], "--kubeconfig", self.kubeconfig(self.dir / "manager.conf"), "--leader-elect=false",
            "--bind-address=127.0.0.1", f"--secure-port={self.manager_port}", f"--cert-dir={self.dir}/manager", f"--root-ca-file={self.dir}/server.crt",
            f"--service-account-private-key-file={self.dir}/sa.key", "--controllers=" + ",".join(CONTROLLERS),
            "--horizontal-pod-autoscaler-sync-period=1s", *(f for f in self.flags if f.startswith("--feature-gates"))],
            self.dir / "manager.log", no_proxy())

    def ready(self):
        assert self.daemon.alive() and self.etcd.alive(), (self.dir / "apiserver.log.stderr").read_text()[-3000:]
        try:
            self.ask("GET", "/readyz")
            return self.ask("GET", "/api/v1/namespaces/default")
        except (Refused, OSError):
            return False

    def ask(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(body).encode() if body else None, headers={
            "Authorization": f"Bearer {self.tokens[ADMIN]}", "Content-Type": kind, "Accept": "application/json"})
        trust = ssl.create_default_context(cafile=self.dir / "server.crt")
        try:
            with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()) from None
        return json.loads(text) if text.startswith("{") else text

    def create(self, path, obj):
        return self.ask("POST", path + "?fieldValidation=Strict", obj)

    def get(self, path):
        """The object; None: there is none."""
        try:
            return self.ask("GET", path)
        except Refused as refused:
            if refused.code != 404:
                raise
            return None

    def items(self, path):
        return self.ask("GET", path)["items"]

    def patch(self, path, patch):
        return self.ask("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path):
        return self.ask("DELETE", path)

    def path_of(self, obj):
        """Where objects of this kind are made, by the server's own discovery."""
        version = obj["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        row = next(r for r in self.ask("GET", root)["resources"] if r["kind"] == obj["kind"] and "/" not in r["name"])
        where = f"/namespaces/{obj['metadata'].get('namespace', 'default')}" if row["namespaced"] else ""
        return f"{root}{where}/{row['name']}"

    def kubeconfig(self, path, user=ADMIN):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.dir / "server.crt")}}],
            "users": [{"name": "test", "user": {"token": self.tokens[user]}}]}))
        return path


def no_proxy():
    """The server reaches webhooks itself, whatever this machine has between itself and the world."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def missing(manager=False):
    """Why there is none here; empty: there is one."""
    if not os.environ.get("PENSTOCK_KUBE_APISERVER") or (manager and not os.environ.get("PENSTOCK_KUBE_MANAGER")):
        return "part of make test-kube"
    if manager and not os.environ.get("PENSTOCK_KUBE_SERVICE_IP"):
        return "no network namespace can be made here"
    return "" if shutil.which("etcd") else "etcd is not installed"
