"""What workers on a real kube-apiserver are tested with: somebody who submits all the time, and a witness of every pod that is ended.

    with Witness(op.api, hosts) as witness, Load(op.c, witness) as load:
        load.begin()  # once there is a worker: a partition without any takes no job
        ...
        load.judge()  # every job ran once, and to its end; no pod with a job in it was ended

A job tells when its script begins and ends (pooloracle.py), so that what runs in a pod is known without asking slurmctld."""

import os
import random
import subprocess
import threading
import time

from kubelet import WORKER
from pooloracle import PoolOracle, has_ended
from realapi import Watcher

LONGEST_S = 2.0


class Witness:
    """Is told of each worker by the server's watch at the moment that its end begins, and looks who is in there."""

    def __init__(self, api, hosts):
        self.oracle, self.wrong, self.ended, self.evicted = PoolOracle(dict.fromkeys(hosts, 2)), [], {}, 0
        self.watcher = Watcher(api, "pods", self.see)

    def __enter__(self):
        self.oracle.__enter__()
        self.watcher.__enter__()
        return self

    def __exit__(self, *_):
        self.watcher.__exit__()
        self.oracle.__exit__()

    def inside(self, host):
        with self.oracle.lock:
            return [who for who, one in self.oracle.there.get(host, {}).items() if not has_ended(one[2])]

    def see(self, kind, pod):
        meta = pod["metadata"]
        if meta.get("labels", {}).get(WORKER[0]) != WORKER[1] or meta["uid"] in self.ended:
            return
        if kind == "DELETED" or meta.get("deletionTimestamp"):
            self.ended[meta["uid"]] = meta["name"]
            evicted = any(c["type"] == "DisruptionTarget" for c in pod["status"].get("conditions", []))
            self.evicted += evicted
            there = self.inside(pod["spec"]["hostname"])
            if there:
                self.wrong.append(f"{time.strftime('%T')} {meta['name']} was {'evicted' if evicted else 'ended'} with {there} in it, on "
                                  f"{pod['spec'].get('nodeName')}, {pod['status']['phase']}, with {meta['labels']} {meta.get('annotations')}")


class Load:
    """Jobs of random lengths, one after the other, as fast as they are taken."""

    def __init__(self, c, witness, pause_s=0.2, seed=11):
        self.c, self.witness, self.pause_s, self.rng = c, witness, pause_s, random.Random(seed)
        self.jobs, self.stop, self.trouble = [], threading.Event(), None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread.is_alive():
            self.thread.join()

    def begin(self):
        self.thread.start()

    def run(self):
        try:
            while not self.stop.wait(self.pause_s):
                script = self.witness.oracle.script(1, f"{self.rng.uniform(0, LONGEST_S):.2f}")
                self.jobs.append(self.c.run("sbatch", "--parsable", "-p", "w", "-o", "/dev/null", input=script).out.strip())
        except Exception as trouble:  # shown by the test
            self.trouble = trouble

    def judge(self):
        """Ends the load; every job ran once, and to its end."""
        self.__exit__()
        assert not self.trouble, self.trouble
        end = time.monotonic() + 60 + len(self.jobs)
        while left := set(self.jobs) & set(self.c.run("squeue", "-h", "-t", "PD,R,CG", "-o", "%i").out.split()):
            assert time.monotonic() < end, f"{left}\n{self.c.run('squeue').out}\n{self.c.run('sinfo', '-N', '-l').out}{self.witness.wrong}"
            time.sleep(0.2)  # between two questions
        said = dict(line.split("|") for line in self.c.run("squeue", "-h", "-t", "all", "-o", "%i|%T").out.splitlines())
        assert not self.witness.wrong, self.witness.wrong
        assert not {j: said.get(j) for j in self.jobs if said.get(j) != "COMPLETED"}
        twice = [line for line in self.c.run("scontrol", "-o", "show", "job").out.splitlines() if "Restarts=0" not in line]
        assert not twice, twice[:3]
        return len(self.jobs)


def kubectl(server, folder, *words):
    """kubectl as an administrator."""
    return subprocess.Popen([os.environ["PENSTOCK_KUBECTL"], "--kubeconfig", str(server.kubeconfig(folder / "admin.conf")), *words],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "HOME": str(folder)})
