"""Samples of running steps (acct_gather_profile/influxdb): what a server of the test's own gets; one that is away, slow or refuses."""

import base64
import http.server
import re
import threading
import time

import pytest

from conftest import wait_until

CONF = "AcctGatherProfileType=acct_gather_profile/influxdb\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
LINE = re.compile(r"(?P<name>\w+),job=(?P<job>\d+),step=(?P<step>-?\d+),task=(?P<task>\w+),host=(?P<host>\S+) value=(?P<value>\S+) "
                  r"(?P<ms>\d{13})")
NAMES = {"CPUFrequency", "CPUTime", "CPUUtilization", "RSS", "VMSize", "Pages", "ReadMB", "WriteMB"}


class Influx:
    """Keeps the requests that came; answers with `status`, once `gate` is open."""

    def __init__(self, port=0):
        self.requests, self.status, self.gate = [], 204, threading.Event()
        self.gate.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.requests.append((self.path, self.headers, body))
                outer.gate.wait(120)
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def points(self, job):
        """Of a job: (step, task, name) -> values in their order.  Every line has the form."""
        found = {}
        for _, _, body in list(self.requests):
            for line in body.splitlines():
                m = LINE.fullmatch(line)
                assert m, line
                if m["job"] == str(job):
                    found.setdefault((m["step"], m["task"], m["name"]), []).append(float(m["value"]))
        return found

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def influx():
    server = Influx()
    yield server
    server.close()


def start(make_cluster, port, gather="", conf=""):
    c = make_cluster(start=False, nodes=1)
    path = c.dir / "etc/acct_gather.conf"
    path.write_text(f"ProfileInfluxDBHost=127.0.0.1:{port}\nProfileInfluxDBDatabase=jobs\nProfileInfluxDBFrequency=1\n" + gather)
    path.chmod(0o600)
    c.write_conf(c.conf_text() + CONF + conf)
    c.start()
    return c


WORK = "import time\nwhile time.process_time() < 1.5: pass\nopen('out', 'wb').write(b'x' * (8 << 20))\n"


def test_samples(make_cluster, influx):
    """--profile=task: processor time and bytes of all samples of a task add up to what it used; other jobs send nothing."""
    c = start(make_cluster, influx.port, "ProfileInfluxDBRTPolicy=week\nProfileInfluxDBUser=u\nProfileInfluxDBPass=very-secret\n")
    (c.dir / "work.py").write_text(WORK)
    silent = c.sbatch("-n1", wrap="true")
    none = c.sbatch("-n1", "--profile=none", wrap="true")
    job = c.sbatch("-n2", "--profile=task", "-D", c.dir, wrap=f"env > env; srun -n1 python3 {c.dir}/work.py")
    for j in (silent, none, job):
        c.wait_end(j)
    points = wait_until(lambda: ("0", "0", "WriteMB") in (p := influx.points(job)) and sum(p["0", "0", "WriteMB"]) >= 8 and p,
                        "the last sample of the step came", 60)
    assert {name for step, task, name in points if (step, task) == ("0", "0")} == NAMES
    assert {step for step, _, _ in points} == {"0", "-5"}  # the script's
    assert 1.5 <= sum(points["0", "0", "CPUTime"]) < 30 and max(points["0", "0", "RSS"]) > 1024
    assert 8 <= sum(points["0", "0", "WriteMB"]) < 9 and len(points["0", "0", "CPUTime"]) >= 2
    assert not influx.points(silent) and not influx.points(none)
    path, headers, _ = influx.requests[0]
    assert path == "/write?db=jobs&rp=week&precision=ms"
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"u:very-secret").decode()
    assert "SLURM_PROFILE=Task" in (c.dir / "env").read_text() and "very-secret" not in (c.dir / "env").read_text()
    assert "very-secret" not in c.run("scontrol", "show", "config").out
    assert not any("very-secret" in p.read_text(errors="replace") for p in (c.dir / "log").iterdir() if p.is_file())


def test_default_and_interval(make_cluster, influx):
    """ProfileInfluxDBDefault is for jobs without --profile; --acctg-freq=task=0 leaves the first and the last sample."""
    c = start(make_cluster, influx.port, "ProfileInfluxDBDefault=All\n")
    often = c.sbatch("-n1", wrap="sleep 4")
    never = c.sbatch("-n1", "--acctg-freq=task=0", wrap="sleep 4")
    none = c.sbatch("-n1", wrap="true", env={"SBATCH_PROFILE": "none"})
    for j in (often, never, none):
        c.wait_end(j)
    wait_until(lambda: len(influx.points(never).get(("-5", "0", "RSS"), ())) == 2, "the first and the last", 60)
    assert len(wait_until(lambda: influx.points(often).get(("-5", "0", "RSS")), "samples", 60)) >= 4
    assert not influx.points(none)


def test_commands(make_cluster, influx):
    """salloc and srun have the option too; the job's counts for its steps."""
    c = start(make_cluster, influx.port)
    job = int(c.run("salloc", "-n1", "--profile=task", "srun", "sh", "-c", "echo $SLURM_JOB_ID").out)
    other = int(c.run("srun", "-n1", "--profile=task", "sh", "-c", "echo $SLURM_JOB_ID").out)
    for j in (job, other):
        assert set(wait_until(lambda j=j: influx.points(j), "samples", 60)) == {("0", "0", name) for name in NAMES}


def log_of(c):
    return (c.dir / "log/slurmd-node1.log").read_text()


def test_server_away(make_cluster, influx):
    """A dead server: the job ends as it does without, one line in the log, and what waited is sent when the server is back."""
    port = influx.port
    influx.close()
    c = start(make_cluster, port)
    job = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(job)
    wait_until(lambda: f"InfluxDB at 127.0.0.1:{port} does not take samples: " in log_of(c), "the log says so", 60)
    back = Influx(port)
    try:
        wait_until(lambda: ("-5", "0", "RSS") in back.points(job), "it is sent again", 60)
        wait_until(lambda: "takes samples again" in log_of(c), "the log says that too", 60)
    finally:
        back.close()
    assert log_of(c).count("does not take samples") == 1


def test_server_slow(make_cluster, influx):
    """A server that does not answer holds no step back, nor the node's daemon."""
    influx.gate.clear()
    c = start(make_cluster, influx.port, "ProfileInfluxDBTimeout=600\n")
    c.wait_end(c.sbatch("-n1", "--profile=task", wrap="true"))
    wait_until(lambda: influx.requests, "the request came", 60)
    begun = time.monotonic()
    for _ in range(3):
        job = c.sbatch("-n1", "--profile=task", wrap="srun true")
        c.wait_end(job)
    c.run("scontrol", "reconfigure")
    assert time.monotonic() - begun < 300  # of the 600 that the request may take
    assert len(influx.requests) == 1
    influx.gate.set()
    wait_until(lambda: ("0", "0", "RSS") in influx.points(job), "what waited", 60)


def test_refused(make_cluster, influx):
    """Lines that the server calls bad are not sent for ever."""
    influx.status = 400
    c = start(make_cluster, influx.port)
    first = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(first)
    wait_until(lambda: "status 400" in log_of(c), "the log says why", 60)
    influx.requests.clear()
    influx.status = 204
    job = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(job)
    wait_until(lambda: ("-5", "0", "RSS") in influx.points(job), "the next", 60)
    assert not influx.points(first)


INFLUX = "AcctGatherProfileType=acct_gather_profile/influxdb\nJobAcctGatherType=jobacct_gather/linux"
HOST = "ProfileInfluxDBHost=h:8086\nProfileInfluxDBDatabase=d\n"


@pytest.mark.parametrize("conf,gather,why", [
    (INFLUX, "", "acct_gather_profile/influxdb needs ProfileInfluxDBHost in acct_gather.conf"),
    (INFLUX, "ProfileInfluxDBHost=h:8086", "acct_gather_profile/influxdb needs ProfileInfluxDBDatabase in acct_gather.conf"),
    ("", "ProfileInfluxDBUser=u", "ProfileInfluxDBUser needs AcctGatherProfileType=acct_gather_profile/influxdb"),
    (INFLUX, HOST + "ProfileInfluxDBDefault=Task,cpu", "ProfileInfluxDBDefault: cpu is none of None, All, Energy, Filesystem, Network, Task"),
    (INFLUX, HOST + "ProfileInfluxDBPass=t", "needs its organization in ProfileInfluxDBRTPolicy"),
    (INFLUX, "ProfileInfluxDBDatabase=d\nProfileInfluxDBHost=file:///etc/x", "write host:port, http://host:port or https://host:port")])
def test_configuration(make_cluster, conf, gather, why):
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text() + conf + "\n")
    (c.dir / "etc/acct_gather.conf").write_text(gather + "\n")
    done = c.run("slurmctld", "--check", check=False)
    assert done.rc == 1 and why in done.out + done.err, done


def test_nothing_measured(make_cluster):
    """Without JobAcctGatherType there is nothing to send: --check says so."""
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text() + INFLUX.splitlines()[0] + "\n")
    (c.dir / "etc/acct_gather.conf").write_text(HOST)
    done = c.run("slurmctld", "--check", check=False)
    assert done.rc == 0 and "gets nothing: JobAcctGatherType measures nothing" in done.out + done.err, done
