"""The REST API at slurmctld's own port: SlurmctldParameters=enable_rest."""

import http.client
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from conftest import let_in, wait_until
from restd import Restd, V

CONF = "AuthAltTypes=auth/jwt\nMetricsType=metrics/openmetrics\n"
ON = "SlurmctldParameters=enable_rest\n"


class CtldRest(Restd):
    """Requests to the controller's port instead of a slurmrestd of ours."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.port = int(next(line.split("=")[1] for line in cluster.conf.read_text().splitlines() if line.startswith("SlurmctldPort=")))


def children(cluster):
    """pids of the slurmrestd that slurmctld runs"""
    pids = Path(f"/proc/{cluster.ctld.pid}/task/{cluster.ctld.pid}/children").read_text().split()
    # Any thread may have started the process.
    for task in Path(f"/proc/{cluster.ctld.pid}/task").iterdir():
        pids += (task / "children").read_text().split()
    return sorted({int(p) for p in pids if name_of(p) == "slurmrestd"})


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


@pytest.fixture
def rest(make_cluster):
    cluster = make_cluster(nodes=1, conf=CONF + ON)
    let_in(cluster.dir / "etc")
    return CtldRest(cluster)


def test_one_port(rest):
    """Metrics, health, the API, the dashboard, and commands."""
    assert rest.raw("GET", "/livez")[0] == 204
    assert "slurm_jobs" in rest.raw("GET", "/metrics/jobs")[2]
    status, answer = rest.get("ping/")
    assert status == 200 and answer["pings"][0]["responding"]
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\ntrue\n", "job": {
        "name": "door", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "standard_output": "/dev/null"}},
        user="bin")
    assert status == 200 and not answer["errors"]
    rest.c.wait_end(answer["job_id"])
    assert rest.c.run("squeue", "-h", "-t", "all", "-o", "%j %u").out == "door bin\n"
    assert rest.raw("GET", "/openapi/v3", headers={"X-SLURM-USER-TOKEN": rest.token("root")})[0] == 200
    assert "<html" in rest.raw("GET", "/ui/")[2]
    assert rest.raw("GET", "/nosuch")[0] == 404


def test_who_it_is(rest):
    """Another user's process, that no peer of the socket is believed for; only a token is."""
    pid, = children(rest.c)
    uid = os.stat(f"/proc/{pid}").st_uid
    assert uid == (65534 if os.geteuid() == 0 else os.geteuid())
    assert rest.raw("GET", f"/slurm/{V}/jobs/")[0] == 401
    assert rest.raw("GET", f"/slurm/{V}/jobs/", headers={"X-SLURM-USER-NAME": "root"})[0] == 401


def test_byte_by_byte(rest):
    with socket.create_connection(("127.0.0.1", rest.port), timeout=20) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in f"GET /slurm/{V}/ping/ HTTP/1.1\r\nHost: x\r\nX-SLURM-USER-TOKEN: {rest.token('root')}\r\n\r\n".encode():
            s.sendall(bytes([byte]))
        assert s.recv(4096).startswith(b"HTTP/1.1 200")


def test_killed_and_reloaded(rest):
    """A dead slurmrestd comes back; a reconfigure replaces it; neither disturbs the controller."""
    first, = children(rest.c)
    os.kill(first, 9)
    wait_until(lambda: children(rest.c) not in ([], [first]), "slurmrestd is started again")
    assert "slurmrestd of enable_rest ended, signal 9" in rest.c.logs("slurmctld")
    wait_until(lambda: answers(rest), "REST answers again")
    second, = children(rest.c)
    rest.c.run("scontrol", "reconfigure")
    wait_until(lambda: answers(rest), "REST answers after the reconfigure")
    wait_until(lambda: children(rest.c) and second not in children(rest.c), "the former process has ended")
    rest.c.write_conf(rest.c.conf.read_text().replace(ON, ""))
    rest.c.run("scontrol", "reconfigure")
    wait_until(lambda: not children(rest.c), "no slurmrestd is left")
    assert rest.raw("GET", f"/slurm/{V}/ping/")[0] == 404


def answers(rest):
    try:
        return rest.get("ping/")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_answer_under_way(rest):
    """A reconfigure between a request's beginning and its end: the request is answered."""
    body = json.dumps({"script": "#!/bin/sh\n", "job": {"current_working_directory": "/tmp", "environment": ["A=b"]}}).encode()
    head = (f"POST /slurm/{V}/job/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"X-SLURM-USER-TOKEN: {rest.token('root')}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    with socket.create_connection(("127.0.0.1", rest.port), timeout=20) as s:
        s.sendall(head + body[:10])
        before = children(rest.c)
        rest.c.run("scontrol", "reconfigure")
        wait_until(lambda: set(children(rest.c)) - set(before), "a new slurmrestd runs")
        s.sendall(body[10:])
        text = b""
        while more := s.recv(65536):
            text += more
    assert text.startswith(b"HTTP/1.1 200") and b'"job_id":' in text.replace(b'": ', b'":')


def test_controller_killed(rest):
    """slurmrestd ends with its controller, however that ends."""
    pid, = children(rest.c)
    rest.c.kill_ctld()
    wait_until(lambda: name_of(pid) != "slurmrestd", "slurmrestd has ended")
    rest.c.start_ctld()
    wait_until(lambda: answers(rest), "REST answers")
    pid, = children(rest.c)
    assert rest.c.ctld.stop() == 0
    assert name_of(pid) != "slurmrestd"
    rest.c.start_ctld()


def test_many_at_once(rest):
    """Callers side by side, while commands go on."""
    wrong = []

    def ask():
        for _ in range(20):
            status, answer = rest.get("jobs/")
            if status != 200 or answer["errors"]:
                wrong.append((status, answer))

    rest.token("root")
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    assert rest.c.run("srun", "-n1", "hostname").rc == 0
    for t in threads:
        t.join()
    assert not wrong


def test_off_unless_asked(make_cluster):
    cluster = make_cluster(nodes=1, conf=CONF)
    assert not children(cluster)
    assert CtldRest(cluster).raw("GET", f"/slurm/{V}/ping/")[0] == 404


def test_no_socket_given(make_cluster):
    """--take-connections by hand says what is missing."""
    cluster = make_cluster(nodes=0, start=False)
    let_in(cluster.dir / "etc")
    done = cluster.run("slurmrestd", "--take-connections", "-f", str(cluster.conf), env={"SLURMRESTD_SECURITY": "disable_user_check"},
                       check=False, input="")
    assert done.rc == 1 and "standard input is no socket of slurmctld" in done.err
