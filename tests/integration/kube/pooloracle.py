"""An oracle of nodes that jobs of Slurm and pods share: what is there at any moment fits, or a sentence says what does not.

    with PoolOracle({"node1": 4}) as oracle:
        oracle.follow(api)                    # pods: from their binding until their containers have ended
        c.sbatch(..., oracle.script(2, 0.5))  # a script of 2 CPUs that tells when it begins and ends
        assert not oracle.wrong

A script waits until its begin is noted, and is there as long as its connection; a binding is noted before whoever asked for it is answered.
So what the oracle sees together was there together. It judges at every event."""

import socket
import socketserver
import threading

SCRIPT = """#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/%d && echo "$SLURM_JOB_ID $SLURMD_NODENAME %d %d" >&3 && read -r -u 3 || exit 9
sleep %s
"""


def has_ended(link):
    """Have all processes of the script ended?"""
    try:
        return link is not None and link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class PoolOracle:
    def __init__(self, cpus):
        self.cpus, self.lock = dict(cpus), threading.Lock()
        self.there = {node: {} for node in cpus}  # node -> {who: (CPUs, alone, connection of a script)}
        self.events, self.together, self.wrong = 0, 0, []

    def __enter__(self):
        oracle = self

        class Taker(socketserver.StreamRequestHandler):
            def handle(self):
                job, node, cpus, alone = self.rfile.readline().decode().split()
                oracle.come(node, f"job {job}", int(cpus), alone == "1", self.request)
                try:
                    self.wfile.write(b"noted\n")
                    self.rfile.read()  # until it has ended
                except OSError:
                    pass  # it was killed
                oracle.go(node, f"job {job}")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Taker)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def script(self, cpus, seconds, alone=False):
        return SCRIPT % (self.server.server_address[1], cpus, alone, seconds)

    def follow(self, api):
        with api.store.lock:
            api.store.observers.append(self.see)

    def see(self, kind, plural, obj):
        node = obj.get("spec", {}).get("nodeName")
        if plural != "pods" or not node:
            return
        who = f"pod {obj['metadata']['name']}"
        over = kind == "DELETED" or obj["status"].get("phase") in ("Succeeded", "Failed")
        alone = "exclusive" not in "".join(obj["metadata"].get("annotations") or {})
        cpus = int(obj["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        if over:
            self.go(node, who)
        else:
            self.come(node, who, cpus, alone)

    def come(self, node, who, cpus, alone, link=None):
        with self.lock:
            self.there[node][who] = (cpus, alone, link)
            self.judge(node, who)

    def go(self, node, who):
        with self.lock:
            if self.there[node].pop(who, None):
                self.judge(node, who)

    def judge(self, node, who):
        there = self.there[node] = {w: one for w, one in self.there[node].items() if not has_ended(one[2])}
        self.events += 1
        self.together += any(w.startswith("pod") for w in there) and any(w.startswith("job") for w in there)
        has = {w: one[0] for w, one in there.items()}
        if sum(has.values()) > self.cpus[node]:
            self.wrong.append(f"event {self.events} ({who}): {node} has {self.cpus[node]} CPUs, and there are {has}")
        if len(there) > 1 and any(one[1] for one in there.values()):
            self.wrong.append(f"event {self.events} ({who}): somebody is not alone on {node}: {has}")
