"""HTTP on the daemons' ports: health, metrics, who may read them, and what strangers send.  Expected: recording 31."""

import http.client
import re
import socket

import pytest

from accounting import Dbd, storage_of
from conftest import ROOT, wait_until
from test_auth import keyed

FAMILIES = ROOT / "tests/golden/metrics/families.txt"
CLUSTER = {"nodes": 2, "conf": "MetricsType=metrics/openmetrics"}
PAGES = ("jobs", "nodes", "partitions", "jobs-users-accts", "scheduler", "penstock")


def fetch(port, path, method="GET", body=None, **headers):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        conn.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = conn.getresponse()
        return answer.status, answer.read().decode()
    finally:
        conn.close()


def samples(text):
    """{family with labels: value}"""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def families(text):
    return [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz"])
def test_health(c, path):
    assert fetch(c.port, path) == (204, "")
    assert fetch(c.node_ports[0], path) == (204, "")


def test_index(c):
    status, body = fetch(c.port, "/")
    assert status == 200
    assert body == ("slurmctld index of endpoints:\n"
                    "  '/{data_parser}/conf': dump slurm configuration\n"
                    "     ({data_parser} is the version)\n"
                    "  '/readyz': check slurmctld is servicing RPCs\n"
                    "  '/livez': check slurmctld is running\n"
                    "  '/healthz': check slurmctld is running\n"
                    "  '/metrics': print available metric endpoints\n")
    status, body = fetch(c.port, "/metrics")
    assert body.startswith("slurmctld index of metrics endpoints:\n  '/metrics/jobs': get job metrics\n")
    status, body = fetch(c.node_ports[0], "/")
    assert body.startswith("slurmd index of endpoints:\n  '/{data_parser}/conf': dump slurm configuration\n"
                           "     ({data_parser} is the version)\n  '/readyz': check slurmd is servicing RPCs\n")


@pytest.mark.parametrize("method, path", [("GET", "/nosuch"), ("GET", "/metrics/"), ("POST", "/metrics"), ("DELETE", "/livez")])
def test_not_there(c, method, path):
    assert fetch(c.port, path, method=method, body="x" if method == "POST" else None) == (
        404, f"slurmctld HTTP server request for '{method} {path}':\nFailed: Invalid or unknown URL path\n")


@pytest.mark.parametrize("page", PAGES[:-1])
def test_names(c, page):
    """The families of recording 31, but for those that we have no figure for."""
    c.wait_end(c.sbatch(wrap="true"))
    rows = [line.split() for line in FAMILIES.read_text().splitlines() if line.startswith(page + " ")]
    wanted = [row[1] for row in rows if len(row) == 2 and "_account_" not in row[1]]
    wait_until(lambda: families(fetch(c.port, f"/metrics/{page}")[1]), "there is a job")
    ours = [x for x in families(fetch(c.port, f"/metrics/{page}")[1]) if "_account_" not in x]
    assert sorted(ours) == sorted(wanted)


def test_every_page_parses(c):
    job = c.sbatch("-n1", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    line = re.compile(r'^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,le="[^"]*")?\}|\{le="[^"]*"\})? \d+(\.\d+)?)$')
    for page in PAGES:
        status, body = fetch(c.port, f"/metrics/{page}")
        assert status == 200 and body.endswith("\n")
        assert [x for x in body.splitlines() if not line.match(x)] == []
        heads = [x for x in body.splitlines() if x.startswith("# TYPE")]
        assert len(heads) == len(set(heads)), "a family stands once"


def told(c, page, **wanted):
    """Wait until the page says so: pages are kept for a second."""
    def there():
        found = samples(fetch(c.port, f"/metrics/{page}")[1])
        return all(found.get(name) == value for name, value in wanted.items())
    wait_until(there, f"{page} says {wanted}")


def test_jobs_count(make_cluster):
    c = make_cluster(nodes=2, cpus=4, conf="MetricsType=metrics/openmetrics")
    running = c.sbatch("-n2", wrap="sleep 60")
    c.wait_state(running, "RUNNING")
    c.sbatch("--hold", "-N2-3", wrap="true")
    c.sbatch("--hold", "--array=1-10", wrap="true")
    ended = c.sbatch(wrap="true")
    c.wait_end(ended)
    told(c, "jobs", slurm_jobs=13, slurm_jobs_running=1, slurm_jobs_pending=11, slurm_jobs_hold=11, slurm_jobs_completed=1,
         slurm_jobs_finished=1, slurm_jobs_started=2, slurm_jobs_cpus_alloc=2, slurm_jobs_nodes_alloc=1)
    found = samples(fetch(c.port, "/metrics/partitions")[1])
    label = '{partition="main"}'
    assert found[f"slurm_partition_jobs_max_job_nodes{label}"] == 3
    assert found[f"slurm_partition_jobs_max_job_nodes_nohold{label}"] == 0
    assert found[f"slurm_partition_nodes{label}"] == 2
    assert found[f"slurm_partition_nodes_cpus_alloc{label}"] == 2
    nodes = samples(fetch(c.port, "/metrics/nodes")[1])
    assert nodes["slurm_nodes"] == 2 and nodes["slurm_nodes_mixed"] == 1 and nodes["slurm_nodes_idle"] == 1
    who = samples(fetch(c.port, "/metrics/jobs-users-accts")[1])
    assert who['slurm_user_jobs_running{username="root"}'] == 1
    own = samples(fetch(c.port, "/metrics/penstock")[1])
    assert own['penstock_job_wait_seconds_count{partition="main"}'] == 2
    assert own["penstock_journal_sync_seconds_count"] > 0


def test_off_is_empty(make_cluster):
    c = make_cluster(nodes=1)
    for page in PAGES:
        assert fetch(c.port, f"/metrics/{page}") == (200, "")
    c.extra_conf = "MetricsType=metrics/openmetrics"
    c.write_conf()
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: "slurm_jobs 0\n" in fetch(c.port, "/metrics/jobs")[1], "metrics are on")


def test_disable_http(make_cluster):
    c = make_cluster(nodes=1, conf="CommunicationParameters=disable_http")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        fetch(c.port, "/livez")
    assert c.run("squeue").rc == 0


def tokened(make_cluster, conf):
    c, _ = keyed(make_cluster, conf=f"MetricsType=metrics/openmetrics\nAuthAltTypes=auth/jwt\n{conf}")
    return c.start()


def token(c, user):
    out = c.run("scontrol", "token", f"username={user}", "lifespan=600").out
    return out.strip().split("=", 1)[1]


@pytest.mark.parametrize("conf, nobody, user, listed, root", [
    ("", 200, 200, 200, 200),
    ("PrivateData=jobs", 401, 403, 403, 200),
    ("PrivateData=jobs\nMetricsParameters=ignore_private_data", 200, 200, 200, 200),
    ("MetricsAuthUsers=daemon", 401, 403, 200, 200),
    ("MetricsAuthUsers=daemon\nMetricsParameters=ignore_private_data\nPrivateData=jobs", 401, 403, 200, 200),
])
def test_who_may_read(make_cluster, conf, nobody, user, listed, root):
    c = tokened(make_cluster, conf)
    assert fetch(c.port, "/metrics/jobs")[0] == nobody
    assert fetch(c.port, "/metrics/jobs", X_SLURM_USER_TOKEN=token(c, "bin"))[0] == user
    assert fetch(c.port, "/metrics/jobs", Authorization="Bearer " + token(c, "daemon"))[0] == listed
    assert fetch(c.port, "/metrics/jobs", X_SLURM_USER_TOKEN=token(c, "root"))[0] == root
    # root may act for others, others may not
    assert fetch(c.port, "/metrics/jobs", X_SLURM_USER_TOKEN=token(c, "root"), X_SLURM_USER_NAME="bin")[0] == user
    named = fetch(c.port, "/metrics/jobs", X_SLURM_USER_TOKEN=token(c, "bin"), X_SLURM_USER_NAME="root")[0]
    assert named == (401 if nobody == 401 else 200)
    assert fetch(c.port, "/livez") == (204, "")


def test_verbose_is_for_administrators(make_cluster):
    c = tokened(make_cluster, "")
    status, body = fetch(c.port, "/readyz?verbose")
    assert status == 401 and "token" in body
    assert fetch(c.port, "/readyz?verbose", X_SLURM_USER_TOKEN=token(c, "bin"))[0] == 403
    good = token(c, "root")
    status, body = fetch(c.port, "/readyz?verbose", X_SLURM_USER_TOKEN=good)
    assert status == 200 and body.startswith("core: answers")
    head, claims, mac = good.split(".")
    for bad in (f"{head}.{claims}.", f"{head}.{claims}.{mac[:-2]}AA", "a.b.c", "", "x" * 20000, f"{head}..{mac}",
                "eyJhbGciOiJub25lIn0." + claims + "."):
        assert fetch(c.port, "/readyz?verbose", X_SLURM_USER_TOKEN=bad)[0] in (401, 431)


def test_kept_connection(c):
    conn = http.client.HTTPConnection("127.0.0.1", c.port, timeout=20)
    conn.connect()
    first = conn.sock.getsockname()
    for _ in range(50):
        conn.request("GET", "/metrics/jobs")
        assert conn.getresponse().read()
        assert conn.sock and conn.sock.getsockname() == first
    conn.close()


def raw(port, data, timeout=10):
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
        got = b""
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while more := s.recv(65536):
                got += more
        except OSError:  # the connection is closed already
            pass
        return got


BAD_REQUESTS = [
    (b"GET /livez\r\n\r\n", None), (b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\n\r\n", (414, 431)),
    (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20000 + b"\r\n", (431,)),
    (b"GET / HTTP/1.1\r\nHost: " + b"a" * 40000 + b"\r\n\r\n", (431,)),
    (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999\r\n\r\n", None),
    (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", (400, 413)),
    (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", (400,)),
    (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\nabcd", (400,)),
    (b"GET /livez HTTP/9.9\r\nHost: a\r\n\r\n", None),
    (b"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET /metrics/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET /ui/../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET /livez%00 HTTP/1.1\r\nHost: a\r\n\r\n", None),
    (b"GET /a%0d%0aSet-Cookie:%20x=y HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET http://other/livez HTTP/1.1\r\nHost: a\r\n\r\n", (404,)), (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", (404,)),
    (b"GET \xff\xff HTTP/1.1\r\nHost: a\r\n\r\n", None), (b"GET / HTTP/1.1", None), (b"GET ", None),
    (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", None), (b"GET / HTTP/1.1\r\nHost : a\r\n folded\r\n\r\n", None),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", None),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc", None),
    (b"PUT /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", (404,)),
    (b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", None),
]


def check_bad_request(port, request, status):
    answer = raw(port, request)
    assert b"\r\nSet-Cookie" not in answer and b"root:" not in answer
    if answer:
        assert answer.startswith(b"HTTP/1.") and not answer.startswith((b"HTTP/1.1 5", b"HTTP/1.0 5")) or b" 505 " in answer
    if status and (answer or len(request) < 4096):  # what is not read yet when the connection closes takes the answer with it
        assert int(answer.split()[1]) in status, answer[:300]
    assert fetch(port, "/livez") == (204, "")


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd"])
@pytest.mark.parametrize("request_, status", BAD_REQUESTS)
def test_bad_requests(c, request_, status, daemon):
    check_bad_request(c.port if daemon == "slurmctld" else c.node_ports[0], request_, status)
    assert c.run("scontrol", "ping").rc == 0


@pytest.mark.parametrize("lengths", [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 4",
                                     b"Content-Length: 4\r\nContent-Length: 60"])
def test_no_second_request_is_smuggled(c, lengths):
    """Readers that cut differently would see GET /metrics behind the body; here it gets no answer of its own."""
    inner = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
    for port in (c.port, c.node_ports[0]):
        assert b"index of" not in raw(port, b"POST /livez HTTP/1.1\r\nHost: a\r\n" + lengths + b"\r\n\r\n0\r\n\r\n" + inner)
        assert fetch(port, "/livez") == (204, "")


def test_silent_callers_take_nothing(c):
    """A connection that says nothing, or half a method, holds up nobody.  The first words may come late: browsers connect ahead."""
    quiet = [socket.create_connection(("127.0.0.1", c.port)) for _ in range(20)]
    half = [socket.create_connection(("127.0.0.1", c.port)) for _ in range(20)]
    for s in half:
        s.sendall(b"GE")
    assert c.run("squeue").rc == 0
    assert fetch(c.port, "/livez") == (204, "")
    quiet[0].settimeout(1)
    with pytest.raises(TimeoutError):
        quiet[0].recv(1)
    quiet[0].settimeout(10)
    quiet[0].sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
    assert quiet[0].recv(12) == b"HTTP/1.1 204"
    for s in quiet + half:
        s.close()


def test_slurmdbd(make_cluster, tmp_path):
    _, key = keyed(make_cluster)
    dbd = Dbd(tmp_path / "dbd", storage_of("sqlite", tmp_path), key)
    dbd.start()
    try:
        assert fetch(dbd.port, "/livez") == (204, "")
        assert fetch(dbd.port, "/readyz") == (204, "")
        assert fetch(dbd.port, "/")[1].startswith("slurmdbd index of endpoints:\n")
        for request, status in BAD_REQUESTS:
            check_bad_request(dbd.port, request, status)
    finally:
        dbd.stop()
