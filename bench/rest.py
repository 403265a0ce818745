"""REST while a long queue stands: requests a second over kept connections, the whole list, and what lists cost others."""

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request

from benchlib import Span, emit, rss_kib
from clusters import free_ports
from restwatch import slow_lists_row, watch_rows
from workloads import latency, timed_loop

V = "/slurm/v0.0.45"
CONF = "AuthAltTypes=auth/jwt\n"
JOB = {"script": "#!/bin/sh\n/bin/true\n",
       "job": {"name": "rest", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "hold": True, "tasks": 1,
               "time_limit": 10, "memory_per_node": 1, "standard_output": "/dev/null"}}


class Server:
    """slurmrestd beside a cluster, as long as the block lasts."""

    def __init__(self, cluster, program):
        self.port = free_ports(1)[0]
        env = {**cluster.env, "SLURMRESTD_SECURITY": "disable_user_check"}
        self.token = subprocess.run([cluster.bin("scontrol"), "token", "lifespan=36000"], env=cluster.env, check=True, capture_output=True,
                                    text=True).stdout.strip().split("=", 1)[1]
        # A session of its own, as a service has: the kernel shares processors between sessions first, and the clients are in ours.
        argv = [program, "--max-connections", "1200", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(argv, env=env, stderr=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        deadline = time.monotonic() + 10
        while True:
            try:
                self.get("/ping/")
                return self
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def get(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{V}{path}", headers={"X-SLURM-USER-TOKEN": self.token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()

    def drain(self, path):
        """Read an answer as fast as it comes and keep nothing of it: a slow reader would be what is measured.  Gives its bytes."""
        buffer, size = bytearray(1 << 20), 0
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as s:
            s.sendall(f"GET {V}{path} HTTP/1.1\r\nHost: bench\r\nX-SLURM-USER-TOKEN: {self.token}\r\nConnection: close\r\n\r\n".encode())
            n = s.recv_into(buffer)
            if not buffer.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"GET {path}: {bytes(buffer[:n]).splitlines()[:1]}")
            while n:
                size += n
                n = s.recv_into(buffer)
        return size

    def submit(self, job, n):
        """n jobs in one request; gives the seconds until all have their numbers."""
        body = json.dumps({"jobs": [{**job["job"], "script": job["script"]}] * n}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/penstock/v1/jobs/submit", data=body,
                                         headers={"X-SLURM-USER-TOKEN": self.token, "Content-Type": "application/json"})
        began = time.monotonic()
        with urllib.request.urlopen(request, timeout=120) as answer:
            said = json.loads(answer.read())
        if said["submitted"] != n:
            raise RuntimeError(f"jobs/submit: {said['failed']} of {n} jobs failed")
        return time.monotonic() - began


def rate_row(cluster, server, driver, what, n, *options):
    argv = [driver, "-p", str(server.port), "-t", server.token, "-n", str(n), "-c", "8", *options]
    with Span(cluster) as span:
        r = subprocess.run(argv, capture_output=True, text=True, check=True)
    said = json.loads(r.stdout)
    if said["bad"]:
        raise RuntimeError(f"bench_http: {said['bad']} of {n} requests failed")
    return emit(bench="rest", what=what, cluster=cluster.label, n=n, per_s=said["per_s"], cpu_ms=span.cpu_s / n * 1e3)


def list_row(cluster, server, n, samples):
    times, size, before = [], 0, rss_kib(server.process.pid)
    for _ in range(samples):
        t0 = time.monotonic()
        size = server.drain("/jobs/")
        times.append(time.monotonic() - t0)
    with Span(cluster) as span:
        pass
    return latency("rest", "GET jobs/, all of them", cluster, times, 0, span, queued=n, bytes=size,
                   mib_beyond=(rss_kib(server.process.pid) - before) / 1024)


def batch_row(cluster, server, n):
    with Span(cluster) as span:
        seconds = server.submit(JOB, n)
    return emit(bench="rest", what="POST jobs/submit, all in one", cluster=cluster.label, n=n, per_s=n / seconds,
                cpu_ms=span.cpu_s / n * 1e3)


def with_lists(server, clients, work):
    """Run work() while threads list all jobs without end; gives (its result, lists a second)."""
    stop, counts = threading.Event(), [0] * clients

    def loop(i):
        while not stop.is_set():
            server.drain("/jobs/")
            counts[i] += 1

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(clients)]
    t0 = time.monotonic()
    for t in threads:
        t.start()
    while not any(counts):  # all of them are under way
        time.sleep(0.05)
    try:
        return work(), sum(counts) / (time.monotonic() - t0)
    finally:
        stop.set()
        for t in threads:
            t.join()


def w_rest(cluster, build, driver, n, quick):
    """Only ours: the peer's REST server is not in Debian's build of 22.05 in this form."""
    program, one = os.path.join(build, "src", "rest", "slurmrestd"), cluster.ids[0]
    srun, count = ["srun", "-n1", "--mem=1", "true"], 10 if quick else 20
    with Server(cluster, program) as server:
        rows = [rate_row(cluster, server, driver, "GET job/{id}, 8 clients", 2000 if quick else 50000, "-u", f"{V}/job/{one}"),
                rate_row(cluster, server, driver, "GET ping/, 8 clients", 2000 if quick else 50000, "-u", f"{V}/ping/"),
                list_row(cluster, server, n, 2 if quick else 5)]
        with Span(cluster) as span:
            times, failed = timed_loop(cluster, count, srun)
        rows.append(latency("rest", "srun true, quiet", cluster, times, failed, span, queued=n))
        with Span(cluster) as span:
            (times, failed), lists = with_lists(server, 32, lambda: timed_loop(cluster, 5 * count, srun))
        rows.append(latency("rest", "srun true, 32 clients that list all", cluster, times, failed, span, queued=n, lists_per_s=lists))
        rows.append(rate_row(cluster, server, driver, "POST job/submit, 8 clients", 500 if quick else 20000, "-m", "POST",
                             "-u", f"{V}/job/submit", "-b", json.dumps(JOB)))
        rows.append(batch_row(cluster, server, 1000 if quick else 10000))
        rows.append(slow_lists_row(cluster, server, 100 if quick else 1000, 5 if quick else 30))
        rows += watch_rows(cluster, server, driver, JOB, quick)
    return rows
