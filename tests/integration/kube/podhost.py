"""Pods of slurmctld as processes of this machine, as a kubelet, the controller of StatefulSets and a Service would have them.

    with PodHost(api, folder) as host:
        host.login("sbatch", ...)       # a command of a host that has slurm.conf and the key

Each pod has the files of its volumes with the modes and owners that a kubelet gives them, /etc, /run, /var/log and /var/spool of its own, a
name, an address of loopback, and the user of its securityContext.  Names of pods and Services are in /etc/hosts.  Needs root."""

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

from conftest import BUILD, ROOT, Daemon

from apiserver import Refusal, now

PORT = 6817  # of slurmctld in pods
PATH = ":".join(f"/mnt/src/{d}" for d in ("ctld", "noded", "stepd", "cli", "penstock", "rest")) + ":/usr/sbin:/usr/bin:/sbin:/bin"
# What a container sees: $1 has its folders, $2 is its name, $3 its user; the rest is its command.
INSIDE = """set -e
root=$1 name=$2 user=$3; shift 3
mount --bind "$BUILD" /mnt
for d in etc run var/log var/spool; do mount --bind "$root/$d" "/$d"; done
hostname "$name"
[ "$user" = 0 ] || exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
exec "$@"
"""
PASSWD = "root:x:0:0:root:/root:/bin/sh\nslurm:x:401:401:slurm:/nonexistent:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n"
GROUP = "root:x:0:\nslurm:x:401:\nnogroup:x:65534:\n"


def can_isolate():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-mu", "true"], capture_output=True).returncode == 0


def revision_of(template):
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def put(path, data, mode, owner=0, group=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.chown(path, owner, group)


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


class Proxy:
    """A Service: connections of its address go to one of its pods that are ready."""

    def __init__(self, address, choose, port=PORT):
        self.choose, self.port = choose, port
        self.listener = socket.create_server((address, port))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        address = self.choose()
        try:
            with client, socket.create_connection((address, self.port), 5) if address else client as server:
                if not address:
                    return
                server.settimeout(None)
                back = threading.Thread(target=self.copy, args=(server, client), daemon=True)
                back.start()
                self.copy(client, server)
                back.join()
        except OSError:
            pass

    @staticmethod
    def copy(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        self.listener.close()


def free_network():
    """127.61.N, whose addresses nobody listens at."""
    for n in range(1, 250):
        try:
            with socket.create_server((f"127.61.{n}.1", PORT)):
                return f"127.61.{n}"
        except OSError:
            continue
    raise RuntimeError("no address is free")


class PodHost:
    def __init__(self, api, folder, name="h", replicas=3, workers=("w-0",)):
        self.api, self.dir, self.name, self.replicas, self.workers = api, Path(folder), name, replicas, workers
        self.net = free_network()
        self.running, self.trouble = True, None
        self.procs = {}  # uid of a pod -> its process, and its claims: (disk, where it is)
        self.replaced = []  # names of pods that a rolling change has ended, in order
        self.started, self.disks_last = 0, True  # False: what a pod had on its disk goes with the pod
        self.holds = False  # True: as on nodes that are down, no pod is made again
        self.lost = []  # pods that ended by themselves
        self.env = {"PATH": PATH, "BUILD": str(BUILD), "SLURM_CONF": "/etc/slurm/slurm.conf", **({"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]}
                                                           if "LD_LIBRARY_PATH" in os.environ else {})}
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.worker = None

    def address(self, ordinal):
        return f"{self.net}.{10 + ordinal}"

    def __enter__(self):
        self.proxy = Proxy(f"{self.net}.1", self.leader_address)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        if self.worker:
            self.worker.stop()
        for daemon, _ in self.procs.values():
            daemon.stop()
        self.proxy.stop()
        assert not self.trouble, f"{self.trouble} {self.log()}"

    # ---- the cluster's network

    def hosts(self):
        lines = ["127.0.0.1 localhost", f"{self.net}.1 {self.name}-controller.default {self.name}-controller"]
        for i in range(self.replicas):
            pod = f"{self.name}-controller-{i}"
            lines.append(f"{self.address(i)} {pod}.{self.name}-controller-internal.default {pod}")
        return "\n".join(lines + [f"127.0.0.1 {' '.join(self.workers)} login", ""]).encode()

    def leader_address(self):
        return self.ready_address(f"{self.name}-controller")

    def ready_address(self, service):
        """Of a pod behind the Service."""
        service = self.api.get("services", service)
        selector = service["spec"]["selector"].items() if service else ()
        chosen = [p for p in self.api.all("pods") if selector and selector <= p["metadata"].get("labels", {}).items() and is_ready(p) and
                  not p["metadata"].get("deletionTimestamp")]
        return chosen[0]["status"]["podIP"] if chosen else None

    # ---- what runs

    def make_root(self, root):
        etc = root / "etc"
        etc.mkdir(parents=True)
        for name in ("ld.so.cache", "nsswitch.conf", "localtime"):
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", etc / name)
        put(etc / "passwd", PASSWD.encode(), 0o644)
        put(etc / "group", GROUP.encode(), 0o644)
        put(etc / "hosts", self.hosts(), 0o644)
        for d in ("run", "run/slurmctld", "run/slurm", "var/log/slurm", "var/spool/slurmctld", "var/spool/slurmd"):
            (root / d).mkdir(parents=True)
            (root / d).chmod(0o777)
        return root

    def inside(self, root, name, user, *argv):
        return ["unshare", "-mu", "--propagation", "private", "bash", "-c", INSIDE, "pod", str(root), name, str(user), *map(str, argv)]

    def data(self, source):
        """(file, bytes) of a source of a projected volume."""
        (kind, said), = source.items()
        there = self.api.get("secrets" if kind == "secret" else "configmaps", said.get("secretName") or said["name"])
        for key, value in there.get("data", {}).items():
            items = {i["key"]: i["path"] for i in said.get("items", [])}
            if not items or key in items:
                yield items.get(key, key), base64.b64decode(value) if kind == "secret" else value.encode()

    def mount(self, pod, container, root):
        """The files of the container's volumes: root's, read by the group of fsGroup, as a kubelet leaves them."""
        group = pod["spec"].get("securityContext", {}).get("fsGroup", 0)
        volumes, claims = {v["name"]: v for v in pod["spec"]["volumes"]}, []
        for m in container["volumeMounts"]:
            volume, there = volumes[m["name"]], root / m["mountPath"].lstrip("/")
            sources = volume.get("projected", {}).get("sources") or ([{"secret": volume["secret"]}] if "secret" in volume else [])
            mode = volume.get("projected", volume.get("secret", {})).get("defaultMode", 0o644)
            for source in sources:
                for name, data in self.data(source):
                    put(there / name, data, mode | 0o440 if group else mode, 0, group)
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            if claim and (self.dir / claim).exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(self.dir / claim, there)  # and back, when the pod is gone
            elif not sources:
                there.mkdir(parents=True, exist_ok=True)
                os.chown(there, 0, group)
                there.chmod(0o2777)
            claims += [(self.dir / claim, there)] if claim else []
        return claims

    def start(self, pod):
        meta, container = pod["metadata"], pod["spec"]["containers"][0]
        self.started += 1
        root = self.make_root(self.dir / "pods" / str(self.started))
        claims = self.mount(pod, container, root)
        image = container.get("env", [])
        argv = self.inside(root, meta["name"], pod["spec"]["securityContext"]["runAsUser"], "sh", ROOT / "deploy/images/entry",
                           "slurmctld", *container.get("args", []))
        daemon = Daemon(meta["name"], argv, self.dir / meta["name"], {**self.env, **{e["name"]: e["value"] for e in image}})
        self.procs[meta["uid"]] = (daemon, claims)
        self.api.patch("pods", meta["name"], {"status": {"phase": "Running", "podIP": self.address(int(meta["name"].rsplit("-", 1)[1]))}},
                       sub="status")

    def log(self):
        """The last words of all containers."""
        said = [*self.dir.glob("*.stderr"), *self.dir.glob("pods/*/var/log/slurm/*.log"), *self.dir.glob("worker/var/log/slurm/*.log")]
        return "\n".join(f"--- {p.relative_to(self.dir)}\n{p.read_text(errors='replace')[-1500:]}" for p in sorted(
            said, key=lambda p: p.stat().st_mtime)[-8:])

    def login_root(self):
        root = self.dir / "login"
        if not root.exists():
            self.make_root(root)
            put(root / "etc/slurm/slurm.conf", self.api.get("configmaps", f"{self.name}-config")["data"]["slurm.conf"].encode(), 0o644)
            put(root / "etc/slurm/slurm.key", base64.b64decode(self.api.get("secrets", "slurm")["data"]["slurm.key"]), 0o600)
        return root

    def login(self, *argv, timeout=60, input=None):
        return subprocess.run(self.inside(self.login_root(), "login", 0, *argv), capture_output=True, text=True, env=self.env, cwd="/",
                              timeout=timeout, input=input)

    def start_worker(self, port):
        """A node that has the key, and asks the Service for the rest."""
        root = self.make_root(self.dir / "worker")
        env = {**self.env, "SLURM_SACK_KEY": "/etc/slurm/slurm.key"}
        del env["SLURM_CONF"]
        put(root / "etc/slurm/slurm.key", base64.b64decode(self.api.get("secrets", "slurm")["data"]["slurm.key"]), 0o600)
        self.worker = Daemon("slurmd", self.inside(
            root, "w-0", 0, "slurmd", "-D", "-Z", "--conf-server", f"{self.name}-controller.default:{PORT}", "--conf",
            f"Features=w CPUs=2 RealMemory=500 Port={port}"), self.dir / "w-0", env)

    # ---- the kubelet, and the controller of StatefulSets

    def run(self):
        while self.running:
            try:
                busy = self.step()
            except Refusal:
                continue  # it has changed meanwhile
            except Exception as trouble:  # shown by the test
                self.trouble = trouble
                return
            if not busy:
                with self.api.store.lock:
                    self.api.store.lock.wait(0.1)

    def step(self):
        pods = {p["metadata"]["uid"]: p for p in self.api.all("pods")}
        for uid in [u for u in self.procs if u not in pods]:
            self.end(uid, signal.SIGKILL)  # it was deleted without grace
            return True
        busy = [self.see_pod(p) for p in pods.values() if p["metadata"]["name"].startswith(f"{self.name}-controller-")]
        made = self.api.get("statefulsets", f"{self.name}-controller")
        return any(busy) or (made is not None and self.see_set(made, list(pods.values())))

    def end(self, uid, how):
        daemon, claims = self.procs.pop(uid)
        daemon.process.send_signal(how)
        if how == signal.SIGTERM:
            daemon.stop()
        daemon.process.wait()
        for kept, there in claims:
            if self.disks_last:
                shutil.move(there, kept)

    def see_pod(self, pod):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp"):
            if meta["uid"] in self.procs:
                self.end(meta["uid"], signal.SIGTERM)
            self.api.delete("pods", meta["name"], gracePeriodSeconds=0)
            return True
        if not pod["spec"].get("nodeName"):
            self.api.store.bind("default", meta["name"], {"target": {"kind": "Node", "name": "k1"}})
            return True
        if meta["uid"] not in self.procs:
            self.start(pod)
            return True
        daemon = self.procs[meta["uid"]][0]
        if not daemon.alive():
            self.lost.append((meta["name"], daemon.process.returncode))
            self.end(meta["uid"], signal.SIGKILL)  # its container is started anew
            return True
        ready = self.probe(pod)
        if ready != is_ready(pod):
            self.api.patch("pods", meta["name"], {"status": {"conditions": [
                {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now()}]}}, sub="status")
            return True
        return False

    def probe(self, pod):
        return self.answers(pod["status"]["podIP"], PORT, pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"])

    @staticmethod
    def answers(address, port, path):
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://{address}:{port}{path}", timeout=2) as answer:
                return answer.status < 400
        except (OSError, urllib.error.URLError):
            return False

    def see_set(self, made, pods):
        """Pods that are missing are made, and old ones replaced one at a time, from the last."""
        meta, spec = made["metadata"], made["spec"]
        template, revision = spec["template"], revision_of(spec["template"])
        mine = {p["metadata"]["name"]: p for p in pods if p["metadata"]["name"].startswith(f"{meta['name']}-")}
        ready = [p for p in mine.values() if is_ready(p) and not p["metadata"].get("deletionTimestamp")]
        names = [f"{meta['name']}-{i}" for i in range(spec["replicas"])]
        new = sum(p["metadata"]["labels"].get("controller-revision-hash") == revision for p in mine.values())
        status = {"replicas": len(mine), "readyReplicas": len(ready), "updatedReplicas": new,
                  "observedGeneration": meta.get("generation", 1)}
        if any(made.get("status", {}).get(k) != v for k, v in status.items()):
            self.api.patch("statefulsets", meta["name"], {"status": status}, sub="status")
            return True
        for name in names:
            if name in mine or self.holds:
                continue
            pod = {"metadata": {"name": name, "namespace": "default", "labels": {
                **template["metadata"]["labels"], "controller-revision-hash": revision, "statefulset.kubernetes.io/pod-name": name},
                "annotations": template["metadata"].get("annotations", {})}, "spec": json.loads(json.dumps(template["spec"]))}
            for claim in spec.get("volumeClaimTemplates", []):
                pod["spec"]["volumes"].append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {
                    "claimName": f"{claim['metadata']['name']}-{name}"}})
            self.api.create("pods", pod)
            return True
        if len(ready) == spec["replicas"]:
            for name in reversed(names):
                if mine[name]["metadata"]["labels"].get("controller-revision-hash") != revision:
                    self.replaced.append(name)
                    self.api.delete("pods", name)
                    return True
        return False
