"""Readers that do not read: they cost a bounded piece of memory, and others have their lists meanwhile."""

import socket
import time

import pytest

from conftest import SANITIZED, SLOW, wait_until
from restd import Restd

BATCHES, BATCH = 3, 2000  # with their comments more than sockets take, so that a reader's turn goes on (src/ctld/front/query.c)
JOBS = BATCHES * BATCH
READERS = 80
WAIT_S = 20 * SLOW  # one turn after the other took 40
MIB_EACH = 2
JOB = {"script": "#!/bin/sh\ntrue\n", "hold": True, "current_working_directory": "/tmp", "environment": ["PATH=/bin"],
       "comment": "x" * 3000}


@pytest.fixture
def rest(make_cluster):
    cluster = make_cluster(nodes=1, conf=f"AuthAltTypes=auth/jwt\nMessageTimeout={10 * SLOW:.0f}")
    with Restd(cluster, "--max-connections", str(READERS + 20)) as r:
        for _ in range(BATCHES):
            status, answer = r.post("/penstock/v1/jobs/submit", {"jobs": [JOB] * BATCH})
            assert status == 200 and answer["submitted"] == BATCH
        yield r


def rss_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def open_reader(rest):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", rest.port))
    s.sendall(f"GET /slurm/v0.0.45/jobs/ HTTP/1.1\r\nHost: test\r\nX-SLURM-USER-TOKEN: {rest.token('root')}\r\n\r\n".encode())
    return s


def test_slow_readers(rest):
    daemons = {"slurmrestd": rest.daemon.pid, "slurmctld": rest.c.ctld.pid}
    before = {name: rss_mib(pid) for name, pid in daemons.items()}
    readers = [open_reader(rest) for _ in range(READERS)]
    try:
        wait_until(lambda: readers[0].recv(1, socket.MSG_PEEK), "the first one has a piece")
        began = time.monotonic()
        status, answer = rest.get("/slurm/v0.0.45/jobs/?fields=job_id")
        assert status == 200 and len(answer["jobs"]) == JOBS
        assert time.monotonic() - began < WAIT_S
        for reader in readers:
            assert reader.recv(12) == b"HTTP/1.1 200"
        grown = {name: rss_mib(pid) - before[name] for name, pid in daemons.items()}
        assert SANITIZED or all(mib < MIB_EACH * READERS for mib in grown.values()), grown  # a sanitizer keeps what was freed
    finally:
        for reader in readers:
            reader.close()
    wait_until(lambda: rest.get("ping/")[0] == 200, "the next one is answered")
