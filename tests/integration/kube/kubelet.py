"""What runs pods in tests of the operator: a scheduler and a kubelet that start a real slurmd for each worker pod.

    with Kubelet(api, cluster, nodes=4) as kubelet:  # makes the nodes k1 ... k4

A pod whose image is "bad" is placed and never starts. Deployments and StatefulSets get ready at once."""

import json
import os
import shlex
import threading
import time

from conftest import free_ports

from apiserver import Refusal, now

WORKER = ("app.kubernetes.io/component", "worker")


def tell_soak(what, **figures):
    """A row for tests/kube/soak, which adds them up."""
    if os.environ.get("PENSTOCK_SOAK"):
        with open(os.environ["PENSTOCK_SOAK"], "a") as rows:
            rows.write(json.dumps({"what": what, **figures}) + "\n")


class Kubelet:
    def __init__(self, api, cluster, nodes=4):
        self.api, self.c, self.slurmds, self.running = api, cluster, {}, True
        self.killed = []  # pods that ended while a job ran in them
        self.hooks = []  # nodes whose pod had its last word, and its exit code
        self.names = [f"k{i + 1}" for i in range(nodes)]
        self.hosts = {}  # node -> (CPUs, MiB) that slurmd finds there
        self.trouble = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        for name in self.names:
            self.api.create("nodes", {"metadata": {"name": name}, "spec": {}, "status": {}})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        for name in list(self.slurmds.values()):
            self.stop_slurmd(name)
        made = [n for n in self.c.run("sinfo", "-h", "-N", "-F", "-o", "%N").out.split() if not n.startswith("node")]
        self.c.run("scancel", "-u", "root", check=False)
        for name in set(made):
            self.c.run("scontrol", "delete", f"nodename={name}", check=False)
        assert not self.trouble, self.trouble

    def run(self):
        while self.running:
            try:
                busy = [self.step(pod) for pod in self.api.all("pods") if pod["metadata"]["labels"].get(WORKER[0]) == WORKER[1] and
                        pod["metadata"]["namespace"] == "default"]
            except Exception as trouble:  # shown by the test
                self.trouble = trouble
                return
            if not any(busy):
                with self.api.store.lock:
                    self.api.store.lock.wait(0.1)

    def step(self, pod):
        meta = pod["metadata"]
        try:
            if meta.get("deletionTimestamp"):
                return self.end(pod)
            if not pod["spec"].get("nodeName"):
                return self.place(pod)
            if pod["status"].get("phase") == "Pending" and pod["spec"]["containers"][0].get("image") != "bad":
                return self.start(pod)
            if pod["status"].get("phase") == "Running" and not any(c["type"] == "Ready" for c in pod["status"].get("conditions", [])):
                return self.probe(pod)
        except Refusal:
            return True  # it has changed meanwhile
        return False

    def place(self, pod):
        taken = {p["spec"].get("nodeName") for p in self.api.all("pods")}
        rules = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
        wanted = rules["nodeSelectorTerms"][0]["matchFields"][0]["values"] if rules else None
        for node in self.api.all("nodes"):
            name = node["metadata"]["name"]
            if name not in taken and not (node["spec"].get("unschedulable") and not wanted) and (not wanted or name in wanted):
                self.api.store.bind("default", pod["metadata"]["name"], {"target": {"kind": "Node", "name": name}})
                return True
        return False

    def start(self, pod):
        now_there = self.api.get("pods", pod["metadata"]["name"])
        if not now_there or now_there["metadata"]["uid"] != pod["metadata"]["uid"] or now_there["metadata"].get("deletionTimestamp"):
            return True  # the list is of a moment ago, and a kubelet begins nothing in a pod that ends
        name = pod["spec"]["hostname"]
        args = pod["spec"]["containers"][0]["args"]
        conf = args[args.index("--conf") + 1].strip("'")
        cpus, memory = self.hosts.get(pod["spec"]["nodeName"], (2, 500))
        self.c.start_slurmd(name, "-Z", "--conf", f"{conf} CPUs={cpus} RealMemory={memory} Port={free_ports(1)[0]}")
        self.slurmds[pod["metadata"]["uid"]] = name
        self.api.patch("pods", pod["metadata"]["name"], {"status": {"phase": "Running"}}, sub="status")
        return True

    def probe(self, pod):
        """Ready once slurmctld hears of the node."""
        state = self.c.run("sinfo", "-h", "-n", pod["spec"]["hostname"], "-o", "%t", check=False).out.split()
        if not state or state[0].startswith(("unk", "down")) or "*" in state[0]:
            return True
        self.api.patch("pods", pod["metadata"]["name"], {"status": {"conditions": [
            *pod["status"].get("conditions", []), {"type": "Ready", "status": "True", "lastTransitionTime": now()}]}}, sub="status")
        return True

    def stop_slurmd(self, name):
        daemon = self.c.slurmds.pop(name, None)
        if daemon:
            daemon.stop()

    def busy(self, name):
        return self.c.run("squeue", "-h", "-w", name, "-t", "R,CG", "-o", "%i:%T", check=False).out.split()

    def told(self, job, pod):
        """What slurmctld and the API server say at the moment when a pod goes with a job in it."""
        said = [" ".join(self.c.run("scontrol", "-o", "show", what, name, check=False).out.split())
                for what, name in (("job", job.split(":")[0]), ("node", pod["spec"]["hostname"]))]
        return {"job": said[0], "node": said[1], "pod": {k: v for k, v in pod["metadata"].items() if k != "managedFields"},
                "status": pod["status"]}

    def before_stop(self, pod):
        """The hook of the container, which runs in the pod: $(hostname) is the pod's."""
        shell, dash, line = pod["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        assert (shell, dash) == ("sh", "-c"), shell
        name = pod["spec"]["hostname"]
        self.hooks.append((name, self.c.run(*shlex.split(line.replace("$(hostname)", name)), check=False).rc))

    def end(self, pod):
        name = self.slurmds.pop(pod["metadata"]["uid"], None)
        if name:
            self.killed += [(time.strftime("%T"), name, job, self.told(job, pod)) for job in self.busy(name)]
            self.before_stop(pod)
            self.stop_slurmd(name)
        self.api.delete("pods", pod["metadata"]["name"], gracePeriodSeconds=0)
        return True

    def wait_quiet(self, seconds):
        """Let so much time pass, as something that must not happen would take."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert not self.trouble, self.trouble
            time.sleep(0.05)
