"""Pods of a whole cluster on a real kube-apiserver as processes of this machine: slurmctld, slurmrestd and workers.

    with RealHost(api, folder, replicas=1, workers=3) as host:  # beside Kubernetes' own controllers, which make the pods
        Login(host).run("sbatch", ...)

Kubernetes makes and replaces the pods (StatefulSet, Deployment) or penstock-operator does (workers); this is the kubelet alone: it places
pods, starts what their containers say, probes, and ends them as a kubelet would, with preStop."""

import signal
import socket
import subprocess

from conftest import Daemon, ROOT, Result, free_ports

from apiserver import now
from kubelet import WORKER
from podhost import PORT, PodHost, Proxy, is_ready

REST_PORT = 6820


class Login:
    """Commands of a host that has slurm.conf and the key, as conftest's clusters have them."""

    def __init__(self, host):
        self.host = host

    def run(self, *argv, check=True, input=None):
        done = self.host.login(*map(str, argv), input=input)
        assert not check or done.returncode == 0, f"{argv}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return Result(done.args, done.returncode, done.stdout, done.stderr)


class RealHost(PodHost):
    def __init__(self, api, folder, replicas=1, workers=3):
        super().__init__(api, folder, "h", replicas, [f"w-{i}" for i in range(workers)])
        self.ports, self.given, self.stopped = {}, 20, []  # uid of a worker -> its port; last part of an address; preStop: (pod, rc)
        self.held = None  # name of a pod that is not started for now, as on a node that is down

    def __enter__(self):
        for i in range(self.replicas + len(self.workers) + 2):
            self.api.create("nodes", {"metadata": {"name": f"k{i + 1}"}})
        self.rest_proxy = Proxy(f"{self.net}.2", lambda: self.ready_address("r-restapi"), REST_PORT)
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.rest_proxy.stop()

    # ---- the kubelet

    def step(self):
        pods = {p["metadata"]["uid"]: p for p in self.api.all("pods")}
        for uid in [u for u in self.procs if u not in pods]:
            self.end(uid, signal.SIGKILL)  # it was deleted without grace
            return True
        return any([self.see_pod(p) for p in pods.values()])

    def see_pod(self, pod):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and meta["uid"] in self.ports:
            self.pre_stop(pod)
        if not meta.get("deletionTimestamp") and not pod["spec"].get("nodeName"):
            return self.place(pod)
        if meta["name"] == self.held and meta["uid"] not in self.procs and not meta.get("deletionTimestamp"):
            return False
        if meta["uid"] in self.procs and not self.procs[meta["uid"]][0].alive() and is_ready(pod):
            self.api.patch("pods", meta["name"], {"status": {"conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": now()}]}}, sub="status")
        return super().see_pod(pod)

    def place(self, pod):
        taken = {p["spec"].get("nodeName") for p in self.api.all("pods")}
        free = [n["metadata"]["name"] for n in self.api.all("nodes")
                if n["metadata"]["name"] not in taken and not n.get("spec", {}).get("unschedulable")]
        if free:
            self.api.bind("default", pod["metadata"]["name"], {"target": {"kind": "Node", "name": free[0]}})
        return bool(free)

    def start(self, pod):
        part = pod["metadata"]["labels"][WORKER[0]]
        if part == "controller":
            super().start(pod)
            return
        meta, container = pod["metadata"], pod["spec"]["containers"][0]
        self.started += 1
        self.given = 20 + (self.given - 19) % 200
        address = f"{self.net}.{self.given}" if part == "restapi" else "127.0.0.1"
        root = self.make_root(self.dir / "pods" / str(self.started))
        claims = self.mount(pod, container, root)
        env = {**self.env, **{e["name"]: e["value"] for e in container.get("env", [])}}
        if part == "restapi":
            *words, _ = container["args"]  # the last one listens at every address, which pods have to themselves
            argv = self.inside(root, meta["name"], 65534, "sh", ROOT / "deploy/images/entry", "slurmrestd", *words,
                               f"{address}:{REST_PORT}")
        else:
            *words, conf = container["args"]
            self.ports[meta["uid"]] = free_ports(1)[0]
            del env["SLURM_CONF"]
            env["SLURM_SACK_KEY"] = "/etc/slurm/slurm.key"
            argv = self.inside(root, pod["spec"]["hostname"], 0, "slurmd", "-D", *words,
                               f"{conf.strip(chr(39))} CPUs=2 RealMemory=500 Port={self.ports[meta['uid']]}")
        self.procs[meta["uid"]] = (Daemon(meta["name"], argv, self.dir / meta["name"], env), claims)
        self.api.patch("pods", meta["name"], {"status": {"phase": "Running", "podIP": address}}, sub="status")

    def pre_stop(self, pod):
        """What the container does before it is ended; a kubelet does not mind how that ends."""
        meta, container = pod["metadata"], pod["spec"]["containers"][0]
        self.ports.pop(meta["uid"])
        pid = str(self.procs[meta["uid"]][0].pid)
        command = container["lifecycle"]["preStop"]["exec"]["command"]
        env = {name: value for name, value in self.env.items() if name != "SLURM_CONF"}
        done = subprocess.run(["nsenter", "-t", pid, "-m", "-u", "--", *command], env=env, capture_output=True, text=True, timeout=60)
        self.stopped.append((meta["name"], done.returncode, done.stderr))

    def probe(self, pod):
        container = pod["spec"]["containers"][0]
        if "tcpSocket" in container["readinessProbe"]:
            with socket.socket() as s:
                s.settimeout(2)
                return s.connect_ex((pod["status"]["podIP"], REST_PORT)) == 0
        port = self.ports.get(pod["metadata"]["uid"], PORT)
        return self.answers(pod["status"]["podIP"], port, container["readinessProbe"]["httpGet"]["path"])
