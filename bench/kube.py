#!/usr/bin/python3
"""penstock-bridge and penstock-operator beside an API server of the bench.

usage: bench/kube.py [BUILD] bridge [NODES] [GANGS] [QUEUED ...]     e.g. build bridge 5000 500 100 15000
       bench/kube.py [BUILD] operator [WORKERS]                      e.g. build operator 5000

One JSON object a line. bridge: gangs of 8 pods on external nodes of a real slurmctld, behind so many tasks of a held array, and
pods alone on the idle cluster; then gangs that come at a steady rate, and end as soon as they are bound. The API server is
bench_kubeapi, which keeps pods in memory: a real one takes longer. cpu_ms_each is the CPU that a pod costs in each of the four
programs, and says what the rate is bound by; queue_costs is the bridge's own in parts of that at the first length of the queue.
operator: a NodeSet whose pods are started and whose nodes are told by this program, then ten seconds in which nothing changes; the
API server is the tests', in Python."""

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchlib import CLK, emit, percentile, rss_kib
from external import External
from rest import Server

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "integration" / "kube"))
from apiserver import ApiServer  # noqa: E402  found by the line above

GANG = 8
LWS = "leaderworkerset.sigs.k8s.io/"
ALONE = 40
STEADY_RATE, STEADY_S = 500, 20
QUIET_S = 10


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLK


PROGRAMS, TROUBLES = [], []  # what must live while it is waited for; what went wrong in threads


def wait(what, limit_s, ready):
    """A program that has ended, or a thread, brings nothing any more: that is told at once, and not after the limit."""
    end = time.monotonic() + limit_s
    while not ready():
        for program in PROGRAMS:
            if program.process.poll() is not None:
                raise SystemExit(f"{what}: {program.process.args[0]} has ended with {program.process.returncode}\n{program.tail()}")
        if TROUBLES:
            raise SystemExit(f"{what}: {TROUBLES[0]}")
        if time.monotonic() > end:
            raise SystemExit(f"not within {limit_s} s: {what}")
        time.sleep(0.01)


class Beside:
    """A program beside an API server."""

    def __init__(self, argv, folder, env):
        self.log = open(folder / "kube.log", "w+b")
        self.process = subprocess.Popen(argv, env=env, stdout=self.log, stderr=self.log)

    def tail(self):
        self.log.seek(0)
        return self.log.read()[-2000:].decode(errors="replace")

    def __enter__(self):
        PROGRAMS.append(self)
        return self

    def __exit__(self, *_):
        PROGRAMS.remove(self)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


# ---- the bridge -----------------------------------------------------------------------------------------------------

class Bridged(External):
    def up(self):
        self.jobs = 2 * self.nodes  # a CPU a node
        super().up()
        conf = self.dir / "etc" / "slurm.conf"
        text = conf.read_text()
        conf.write_text(text + "MaxArraySize=1000001\n" + ("" if "auth/jwt" in text else "AuthAltTypes=auth/jwt\n"))
        self.penstock("down")
        self.penstock("up")

    def bin(self, name):
        return str(self.build / "src" / "cli" / name)

    def bridge(self, api, url, token):
        (self.dir / "token").write_text(token)
        (self.dir / "bridge.yaml").write_text(f"slurmRestApi: {url}\npartition: pods\n")
        api.kubeconfig(self.dir / "kubeconfig")
        argv = [str(self.build / "src/kube/penstock-bridge"), "-f", str(self.dir / "bridge.yaml"), "-k", str(self.dir / "kubeconfig")]
        return Beside(argv, self.dir, {**self.env, "SLURM_JWT_FILE": str(self.dir / "token")})


def pod(name, labels, notes):
    return {"metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
            "spec": {"schedulerName": "slurm-bridge-scheduler", "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}}


class PodServer:
    """bench_kubeapi, and what the bench asks of it."""

    def __init__(self, build):
        self.process = subprocess.Popen([str(build / "bench" / "bench_kubeapi"), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        self.link = http.client.HTTPConnection("127.0.0.1", self.port)
        return self

    def __exit__(self, *_):
        self.link.close()
        self.process.stdin.close()
        self.process.wait()

    def ask(self, method, path, body=None):
        self.link.request(method, path, json.dumps(body) if body else None)
        answer = self.link.getresponse()
        text = answer.read()
        assert answer.status < 300, (method, path, text)
        return json.loads(text)

    def pods(self, name="", method="GET", body=None):
        return self.ask(method, f"/api/v1/namespaces/default/pods{name and '/'}{name}", body)

    def stats(self):
        return self.ask("GET", "/stats")

    def kubeconfig(self, path):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "bench", "user": {"token": "none"}}]}))


def empty(cluster, api):
    for one in api.pods()["items"]:
        api.pods(one["metadata"]["name"], "PATCH", {"status": {"phase": "Succeeded"}})
    wait("the jobs end", 300, lambda: not cluster.run("squeue", "-h", "-p", "pods", "-t", "R"))
    for one in api.pods()["items"]:
        api.pods(one["metadata"]["name"], "DELETE")
    wait("the pods go", 300, lambda: not api.stats()["pods"])


def measure_gangs(cluster, api, pids, gangs, queued, first):
    pods, cpu, asked = gangs * GANG, {name: cpu_s(pid) for name, pid in pids.items()}, api.stats()["requests"]
    t0 = time.monotonic()
    api.ask("POST", "/fill", {"name": "g", "count": pods, "size": GANG, "pod": pod("g", {}, {})})
    wait("all pods are bound", 600, lambda: api.stats()["bound"] == pods)
    seconds = time.monotonic() - t0
    each = {name: round((cpu_s(pid) - cpu[name]) * 1e3 / pods, 4) for name, pid in pids.items()}
    emit(bench="kube", what=f"pods in gangs of {GANG}", nodes=cluster.nodes, queued=queued, pods=pods, per_s=pods / seconds,
         cpu_ms_each=each, queue_costs=each["bridge"] / (first or each["bridge"]), requests_each=(api.stats()["requests"] - asked) / pods,
         bridge_mib=rss_kib(pids["bridge"]) / 1024)
    empty(cluster, api)
    return first or each["bridge"]


def measure_steady(cluster, api, pids, queued):
    """Gangs come at one rate; what is bound ends at once, and its pods and job go."""
    cpu, ended, t0 = {name: cpu_s(pid) for name, pid in pids.items()}, api.stats()["ended"], time.monotonic()
    made, behind = 0, []
    while (now := time.monotonic() - t0) < STEADY_S:
        count = int(now * STEADY_RATE - made) // GANG * GANG
        if count:
            api.ask("POST", "/fill", {"name": f"s{made}", "count": count, "size": GANG, "pod": pod("s", {}, {}), "ends": True})
            made += count
        behind.append(made - (api.stats()["ended"] - ended))
        time.sleep(0.05)
    done = api.stats()["ended"] - ended
    wait("all pods are bound", 600, lambda: api.stats()["ended"] - ended == made)
    wait("the pods go", 300, lambda: not api.stats()["pods"])
    api.ask("POST", "/fill", {"count": 0})  # what comes behind does not end by itself
    emit(bench="kube", what=f"{STEADY_RATE} pods a second, in gangs of {GANG}, that end", nodes=cluster.nodes, queued=queued, pods=made,
         seconds=STEADY_S, per_s=done / STEADY_S, behind_p50=percentile(behind, 0.5), behind_most=max(behind),
         cpu_ms_each={name: round((cpu_s(pid) - cpu[name]) * 1e3 / made, 4) for name, pid in pids.items()})


def measure_alone(cluster, api, queued):
    took = []
    for i in range(ALONE):
        t0 = time.monotonic()
        api.pods("", "POST", pod(f"a{i}", {}, {}))
        wait("it is bound", 60, lambda: api.pods(f"a{i}")["spec"].get("nodeName"))
        took.append((time.monotonic() - t0) * 1e3)
    emit(bench="kube", what="a pod alone, from its creation to its binding, ms", nodes=cluster.nodes, queued=queued,
         p50=percentile(took, 0.5), p95=percentile(took, 0.95))
    empty(cluster, api)


def measure_bridge(build, nodes, gangs, queues):
    cluster = Bridged(build, nodes)
    try:
        cluster.up()
        with PodServer(cluster.build) as api, Server(cluster, str(cluster.build / "src/rest/slurmrestd")) as rest:
            for i in range(1, nodes + 1):
                api.ask("POST", "/api/v1/nodes", {"metadata": {"name": f"ext{i}"}})
            with cluster.bridge(api, f"http://127.0.0.1:{rest.port}", rest.token) as bridge:
                pids = {"bridge": bridge.process.pid, "API server": api.process.pid, "slurmctld": cluster.pid(),
                        "slurmrestd": rest.process.pid}
                before, first = 0, 0
                for queued in queues:
                    if queued > before:
                        cluster.run("sbatch", "-H", "-a", f"1-{queued - before}", "--wrap", "true")
                        before = queued
                    measure_alone(cluster, api, queued)
                    first = measure_gangs(cluster, api, pids, gangs, queued, first)
                    measure_steady(cluster, api, pids, queued)
    finally:
        cluster.close()


# ---- the operator ---------------------------------------------------------------------------------------------------

class Slurm(BaseHTTPRequestHandler):
    """slurmrestd of a cluster in which every worker is idle."""

    protocol_version = "HTTP/1.1"
    nodes, changed = {}, threading.Condition()

    def log_message(self, *_):
        pass

    def answer(self, body):
        data = json.dumps({"meta": {"slurm": {"cluster": "bench"}}, "errors": [], "warnings": [], **body}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def line(self, obj):
        data = json.dumps(obj).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def stream(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.line({"event": "hello"})
        told = set()
        while True:
            with self.changed:
                new = [name for name in self.nodes if name not in told]
                if not new:
                    self.changed.wait(1)
            for name in new[:1000]:
                told.add(name)
                self.line({"event": "change", "entity": "WATCH_NODE", "name": name})

    def do_GET(self):
        try:
            if "/watch" in self.path:
                self.stream()
            elif "/jobs" in self.path:
                self.answer({"jobs": []})
            elif "/nodes" in self.path:
                with self.changed:
                    self.answer({"nodes": list(self.nodes.values())})
            else:
                one = self.nodes.get(self.path.rsplit("/", 1)[1])
                self.answer({"nodes": [one] if one else []})
        except (BrokenPipeError, ConnectionResetError):
            pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        one = self.nodes.get(self.path.rsplit("/", 1)[1])
        if one:
            one.update({k: v for k, v in body.items() if k in ("comment", "features")})
        try:
            self.answer({})
        except (BrokenPipeError, ConnectionResetError):
            pass


def run_pods(api, workers):
    try:
        run_all(api, workers)
    except Exception as trouble:  # told by whoever waits
        TROUBLES.append(f"the kubelet: {trouble!r}")


def run_all(api, workers):
    """A scheduler and a kubelet for all: a pod that is there runs, is ready, and registers."""
    done = 0
    while done < workers:
        with api.store.lock:
            todo = [n for (p, _, n), o in api.store.objects.items() if p == "pods" and not o["spec"].get("nodeName")][:500]
            if not todo:
                api.store.lock.wait(0.05)
        for name in todo:
            api.store.bind("default", name, {"target": {"kind": "Node", "name": f"k{name}"}})
            api.patch("pods", name, {"status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, sub="status")
            with Slurm.changed:
                Slurm.nodes[name] = {"name": name, "state": ["IDLE", "DYNAMIC_NORM"], "reason": "", "comment": "", "features": ["w"],
                                     "topology": ""}
                Slurm.changed.notify_all()
        done += len(todo)


def measure_operator(build, workers):
    import base64
    kept = tempfile.TemporaryDirectory(prefix="penstock-kube-")  # goes with this program
    folder = Path(kept.name)
    slurm = ThreadingHTTPServer(("127.0.0.1", 0), Slurm)
    slurm.daemon_threads = True
    threading.Thread(target=slurm.serve_forever, daemon=True).start()
    with ApiServer() as api:
        api.kubeconfig(folder / "kubeconfig")
        key = {"name": "k", "key": "k"}
        api.create("secrets", {"metadata": {"name": "k", "namespace": "default"}, "data": {"k": base64.b64encode(b"k" * 32).decode()}})

        def make(plural, kind, name, **spec):
            api.create(plural, {"apiVersion": "operator.penstock/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
                                "spec": spec})
        make("controllers", "Controller", "c", clusterName="bench", slurmKeyRef=key, jwtKeyRef=key)
        argv = [str(Path(build).resolve() / "src/kube/penstock-operator"), "-k", str(folder / "kubeconfig"), "--rest-url",
                f"http://127.0.0.1:{slurm.server_address[1]}", "--image", "i"]
        with Beside(argv, folder, None) as operator:
            t0, asked, pid = time.monotonic(), api.requests, operator.process.pid
            make("nodesets", "NodeSet", "w", controllerRef={"name": "c"}, replicas=workers)
            threading.Thread(target=run_pods, args=(api, workers), daemon=True).start()
            wait("all workers are available", 900,
                 lambda: api.get("nodesets", "w").get("status", {}).get("availableReplicas") == workers)
            emit(bench="kube", what="workers made", workers=workers, seconds=time.monotonic() - t0, cpu_s=cpu_s(pid),
                 requests_each=(api.requests - asked) / workers, mib=rss_kib(pid) / 1024)
            last = -1
            while last != api.requests:  # conditions and comments follow
                last = api.requests
                time.sleep(2)
            cpu, before = cpu_s(pid), dict(api.counts)
            time.sleep(QUIET_S)
            new = {k: v - before.get(k, 0) for k, v in api.counts.items() if v != before.get(k, 0)}
            watches = sum(v for k, v in new.items() if k.endswith("watch"))
            emit(bench="kube", what="nothing changes", workers=workers, seconds=QUIET_S, cpu_s=cpu_s(pid) - cpu, mib=rss_kib(pid) / 1024,
                 watches=watches, other_requests=sum(new.values()) - watches)
            cpu, asked, t0 = cpu_s(pid), api.requests, time.monotonic()
            api.patch("nodesets", "w", {"spec": {"minReadySeconds": 1}})
            wait("it is seen", 60, lambda: api.get("nodesets", "w")["status"].get("observedGeneration") ==
                 api.get("nodesets", "w")["metadata"]["generation"])
            emit(bench="kube", what="one change of the set", workers=workers, seconds=time.monotonic() - t0, cpu_s=cpu_s(pid) - cpu,
                 requests=api.requests - asked)


def read_arguments(args):
    """The build folder, what is measured, and its numbers; what is neither ends with a sentence."""
    modes = ("bridge", "operator")
    build = Path(args.pop(0) if args and args[0] not in modes else HERE.parent / "build")
    what, *numbers = args or ["operator"]
    if not (build / "src/kube/penstock-operator").exists():
        wrong = f"{build} is no build folder, and neither of {' and '.join(modes)}"
    elif what not in modes:
        wrong = f"{what}: bridge and operator are measured; a real API server is that of tests/kube/run"
    elif not all(n.isdigit() for n in numbers):
        wrong = f"{next(n for n in numbers if not n.isdigit())} is no number"
    else:
        return build, what, [int(n) for n in numbers]
    print(f"bench/kube.py: {wrong}\n{__doc__.split(chr(10) * 2)[1]}", file=sys.stderr)
    raise SystemExit(2)


def main():
    build, what, numbers = read_arguments(sys.argv[1:])
    if what == "operator":
        measure_operator(build, *(numbers or [5000]))
    else:
        nodes, gangs, *queues = numbers or [5000, 50, 100, 15000]
        if gangs * GANG > nodes:  # a pod has a node for itself: the last ones would wait until the limit
            raise SystemExit(f"{gangs} gangs of {GANG} pods need {gangs * GANG} nodes, not {nodes}")
        measure_bridge(build, nodes, gangs, queues or [0])


if __name__ == "__main__":
    main()
