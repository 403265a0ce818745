"""Watching over REST while jobs are submitted: how soon an event comes, and what a thousand slow readers cost."""

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request

from benchlib import Span, emit, rss_kib
from workloads import latency

V = "/slurm/v0.0.45"
SLOW_BYTES = 1024  # a second
SLOW_CHUNK_S = 0.25


def open_watch(server, words, room=None):
    s = socket.socket()
    if room:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    s.connect(("127.0.0.1", server.port))
    s.settimeout(120)
    s.sendall(f"GET /penstock/v1/watch?{words} HTTP/1.1\r\nHost: bench\r\nX-SLURM-USER-TOKEN: {server.token}\r\n"
              "Accept: application/jsonl\r\n\r\n".encode())
    got = b""
    while b'"hello"' not in got:
        piece = s.recv(4096)
        if not piece:
            raise RuntimeError(f"watch: {got[:200]}")
        got += piece
    return s


class Load:
    """Submissions by 8 clients without end, as long as the block lasts."""

    def __init__(self, server, driver, body):
        self.argv = [driver, "-p", str(server.port), "-t", server.token, "-c", "8", "-n", "500", "-m", "POST", "-u", f"{V}/job/submit",
                     "-b", json.dumps(body)]
        self.stop, self.rates = threading.Event(), []
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set():
            said = json.loads(subprocess.run(self.argv, capture_output=True, text=True, check=True).stdout)
            self.rates.append(said["per_s"])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def per_s(self):
        return sum(self.rates) / len(self.rates) if self.rates else 0.0


class Arrivals(threading.Thread):
    """When the first event of each job name came."""

    def __init__(self, stream):
        super().__init__()
        self.stream, self.at = stream, {}

    def run(self):
        rest = b""
        while True:
            piece = self.stream.recv(1 << 20)
            now = time.monotonic()
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if b'"name":"mark' in line:
                    self.at.setdefault(json.loads(line)["name"], now)


def submit(server, body, name):
    body = {**body, "job": {**body["job"], "name": name}}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{V}/job/submit", data=json.dumps(body).encode(),
                                     headers={"X-SLURM-USER-TOKEN": server.token, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()


def latency_row(cluster, server, what, body, samples):
    stream = open_watch(server, "types=job")
    arrivals, sent = Arrivals(stream), {}
    arrivals.start()
    with Span(cluster) as span:
        for i in range(samples):
            name = f"mark{what.replace(' ', '')}{i}"
            sent[name] = time.monotonic()
            submit(server, body, name)
            time.sleep(0.05)
        until = time.monotonic() + 60
        while len(arrivals.at) < samples and time.monotonic() < until:
            time.sleep(0.01)
    stream.shutdown(socket.SHUT_RDWR)
    arrivals.join()
    stream.close()
    times = [arrivals.at[n] - t for n, t in sent.items() if n in arrivals.at]
    return latency("rest", f"submit to event, {what}", cluster, times, samples - len(times), span)


def read_slowly(streams, stop):
    """Every stream at SLOW_BYTES a second; gives how many the server ended."""
    gone, piece = 0, int(SLOW_BYTES * SLOW_CHUNK_S)
    for s in streams:
        s.setblocking(False)
    while not stop.wait(SLOW_CHUNK_S):
        for s in [s for s in streams if s]:
            try:
                if not s.recv(piece):
                    streams[streams.index(s)] = None
                    gone += 1
            except BlockingIOError:
                pass
            except OSError:
                streams[streams.index(s)] = None
                gone += 1
    return gone


def slow_row(cluster, server, driver, body, readers, seconds):
    before, ctld_before = rss_kib(server.process.pid), rss_kib(cluster.ctld_pid)
    streams, stop, gone = [open_watch(server, "types=job", 4096) for _ in range(readers)], threading.Event(), []
    thread = threading.Thread(target=lambda: gone.append(read_slowly(list(streams), stop)))
    idle = rss_kib(server.process.pid)
    thread.start()
    with Load(server, driver, body) as load:
        time.sleep(seconds)
    peak, ctld_after = rss_kib(server.process.pid), rss_kib(cluster.ctld_pid)
    stop.set()
    thread.join()
    for s in streams:
        s.close()
    return emit(bench="rest", what="1 KiB/s readers of the watch", cluster=cluster.label, n=readers, mib_idle=(idle - before) / 1024,
                mib_beyond=(peak - before) / 1024, ctld_mib_beyond=(ctld_after - ctld_before) / 1024, ended=gone[0],
                submits_per_s=load.per_s(), threads=len(os.listdir(f"/proc/{server.process.pid}/task")))


def open_list(server):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", server.port))
    s.sendall(f"GET {V}/jobs/ HTTP/1.1\r\nHost: bench\r\nX-SLURM-USER-TOKEN: {server.token}\r\n\r\n".encode())
    return s


def slow_lists_row(cluster, server, readers, seconds):
    """Readers of all jobs at SLOW_BYTES a second, and how soon another one has them."""
    before, ctld_before = rss_kib(server.process.pid), rss_kib(cluster.ctld_pid)
    streams, stop, gone = [open_list(server) for _ in range(readers)], threading.Event(), []
    thread = threading.Thread(target=lambda: gone.append(read_slowly(list(streams), stop)))
    thread.start()
    began = time.monotonic()
    size = server.drain("/jobs/")
    whole = time.monotonic() - began
    time.sleep(seconds)
    grown = [(rss_kib(pid) - was) / 1024 for pid, was in ((server.process.pid, before), (cluster.ctld_pid, ctld_before))]
    stop.set()
    thread.join()
    for s in streams:
        s.close()
    return emit(bench="rest", what="1 KiB/s readers of jobs/", cluster=cluster.label, n=readers, another_s=whole, bytes=size,
                mib_beyond=grown[0], ctld_mib_beyond=grown[1], ended=gone[0])


def watch_rows(cluster, server, driver, body, quick):
    samples = 20 if quick else 100
    rows = [latency_row(cluster, server, "quiet", body, samples)]
    with Load(server, driver, body) as load:
        rows.append(latency_row(cluster, server, "8 clients submit", body, samples))
    rows[-1]["submits_per_s"] = load.per_s()
    rows.append(slow_row(cluster, server, driver, body, 100 if quick else 1000, 5 if quick else 30))
    return rows
