"""Records of finished jobs (JobCompType): a file, a program, Elasticsearch, Kafka; outages and restarts."""

import http.server
import json
import re
import threading

import pytest

from conftest import BUILD, wait_until
from kafka_mock import Kafka

LINE = re.compile(
    r"JobId=(?P<id>\d+) UserId=\S+\(\d+\) GroupId=\S+\(\d+\) Name=(?P<name>\S*) JobState=(?P<state>\w+) "
    r"Partition=main TimeLimit=(?P<limit>\w+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+) NodeList=(?P<nodes>\S+) "
    r"NodeCnt=(?P<nnodes>\d+) ProcCnt=(?P<procs>\d+) WorkDir=\S+ ReservationName= Tres=(?P<tres>\S*) Account=\S* "
    r"QOS=\S* WcKey= Cluster=test SubmitTime=\S+ EligibleTime=\S+ "
    r"(?:ArrayJobId=(?P<array>\d+) ArrayTaskId=(?P<task>\d+) )?"
    r"DerivedExitCode=\d+:\d+ ExitCode=(?P<exit>\d+:\d+) ")


def lines(path):
    text = path.read_text() if path.exists() else ""
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(found), text
    return found


def by_job(path):
    return {int(m["id"]): m for m in lines(path)}


def test_filetxt(make_cluster, folder):
    log = folder / "jobcomp.log"
    c = make_cluster(nodes=2, conf=f"JobCompType=jobcomp/filetxt\nJobCompLoc={log}")
    good = c.sbatch("-N2", "-t", "60", "-J", "good", wrap="true")
    bad = c.sbatch("-J", "bad", wrap="exit 3")
    array = c.sbatch("-a", "4-5", wrap="true")
    for job in (good, bad, f"{array}_4", f"{array}_5"):
        c.wait_end(job)
    held = c.sbatch("-H", "-n3", wrap="true")
    c.run("scancel", held)
    wait_until(lambda: len(lines(log)) == 5, "five lines")
    seen = by_job(log)
    assert (log.stat().st_mode & 0o777) == 0o600
    assert [seen[good][k] for k in ("name", "state", "limit", "nodes", "nnodes", "procs", "exit")] == [
        "good", "COMPLETED", "60", "node[1-2]", "2", "2", "0:0"]
    assert seen[good]["tres"] == c.job(good)["ReqTRES"]
    assert (seen[bad]["state"], seen[bad]["exit"], seen[bad]["limit"]) == ("FAILED", "3:0", "UNLIMITED")
    assert sorted((m["array"], m["task"]) for m in seen.values() if m["task"]) == [(str(array), "4"), (str(array), "5")]
    assert [seen[held][k] for k in ("state", "nodes", "nnodes", "procs")] == ["CANCELLED", "(null)", "0", "0"]

    # A requeued run is a record of its own; one that was moved away is made again; a restart repeats nothing.
    log.rename(folder / "old.log")
    again = c.sbatch("--requeue", wrap="sleep 1000")
    c.wait_state(again, "RUNNING")
    c.run("scontrol", "requeue", again)
    wait_until(lambda: [m["state"] for m in lines(log)] == ["PENDING"], "the first run is told")
    c.wait_state(again, "PENDING")
    c.run("scancel", again)
    wait_until(lambda: [m["state"] for m in lines(log)] == ["PENDING", "CANCELLED"], "and the second")
    c.restart_ctld()
    last = c.sbatch(wrap="true")
    wait_until(lambda: last in by_job(log), "told after the restart")
    assert [m["state"] for m in lines(log)] == ["PENDING", "CANCELLED", "COMPLETED"]


def test_killed_controller(make_cluster, folder):
    """Whatever ended before a crash is told after it, once here: the place was stored with the last batch."""
    log = folder / "jobcomp.log"
    c = make_cluster(nodes=1, conf=f"JobCompType=jobcomp/filetxt\nJobCompLoc={log}")
    first = c.sbatch(wrap="true")
    wait_until(lambda: first in by_job(log), "the first is told")
    log.unlink()
    log.mkdir()  # cannot be written from now on
    jobs = [c.sbatch("-n1", wrap="true") for _ in range(4)]
    for job in jobs:
        c.wait_end(job)
    c.kill_ctld()
    log.rmdir()
    c.start_ctld()
    wait_until(lambda: len(lines(log)) == 4, "all are told")
    assert sorted(by_job(log)) == jobs


def test_script(make_cluster, folder):
    out = folder / "out"
    program = folder / "complete.sh"
    program.write_text(f"#!/bin/bash\nenv | sort > {out}.$JOBID.tmp; mv {out}.$JOBID.tmp {out}.$JOBID\n")
    program.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"JobCompType=jobcomp/script\nJobCompLoc={program}")
    job = c.sbatch("-n2", "-t", "5", "-J", "name with blanks", wrap="exit 2")
    path = folder / f"out.{job}"
    wait_until(path.exists, "the program ran")
    env = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    record = c.job(job)
    assert {k: env[k] for k in ("JOBID", "JOBNAME", "JOBSTATE", "EXITCODE", "PROCS", "NODECNT", "NODES", "BATCH", "LIMIT",
                                "CLUSTER", "PARTITION", "WORK_DIR", "STATEREASONPREV")} == {
        "JOBID": str(job), "JOBNAME": "name with blanks", "JOBSTATE": "FAILED", "EXITCODE": "2:0", "PROCS": "2",
        "NODECNT": "1", "NODES": "node1", "BATCH": "yes", "LIMIT": "5", "CLUSTER": "test", "PARTITION": "main",
        "WORK_DIR": record["WorkDir"], "STATEREASONPREV": "NonZeroExitCode"}
    assert int(env["SUBMIT"]) <= int(env["START"]) <= int(env["END"])
    assert env["SLUID"].startswith("s")


# ---- Elasticsearch ------------------------------------------------------------------------------------------------

class Elastic(http.server.ThreadingHTTPServer):
    """Keeps what it is sent; answers with `status`."""

    def __init__(self):
        self.got, self.status = [], 201
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, answer = self.server.status, b'{"errors":false}'
        if status < 300:
            self.server.got.append((self.path, self.headers["Content-Type"], body))
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_POST

    def log_message(self, *args):
        pass


@pytest.fixture
def elastic():
    server = Elastic()
    yield server
    server.shutdown()
    server.server_close()


def test_elasticsearch(make_cluster, elastic):
    port = elastic.server_port
    c = make_cluster(nodes=1, conf=f"JobCompType=jobcomp/elasticsearch\nJobCompLoc=127.0.0.1:{port}/slurm/_doc\n"
                                   "JobCompParams=send_script,send_comment")
    job = c.sbatch("--comment=a \"b\"", "-t", "2", script="exit 1")
    wait_until(lambda: len(elastic.got) == 1, "one document")
    path, kind, body = elastic.got[0]
    doc = json.loads(body)
    assert (path, kind) == ("/slurm/_doc", "application/json")
    assert (doc["jobid"], doc["state"], doc["exit_code"], doc["time_limit"], doc["comment"], doc["cluster"]) == (
        job, "FAILED", "1:0", 120, 'a "b"', "test")
    assert doc["script"] == "#!/bin/bash\nexit 1\n"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", doc["@end"]) and doc["@start"] <= doc["@end"]
    assert doc["tres_req"].startswith("cpu=1") and doc["tres_req_raw"].startswith("1=1,2=")


def test_elasticsearch_away(make_cluster, elastic):
    """Refused for a while, and the controller restarted meanwhile: in the end each run is there, sent in bulk."""
    port = elastic.server_port
    c = make_cluster(nodes=1, conf=f"JobCompType=jobcomp/elasticsearch\nJobCompLoc=127.0.0.1:{port}/slurm/_bulk")
    elastic.status = 503
    jobs = []
    for _ in range(5):  # one after the other: records come in the order of ends
        jobs.append(c.sbatch("-n1", wrap="true"))
        c.wait_end(jobs[-1])
    log = c.dir / "log" / "slurmctld.log"
    wait_until(lambda: "answers with status 503" in log.read_text(), "the outage is logged")
    assert log.read_text().count("answers with status 503") == 1
    elastic.status = 200
    c.restart_ctld()
    wait_until(lambda: elastic.got, "the batch arrives")
    assert [path for path, _, _ in elastic.got] == ["/slurm/_bulk"]
    rows = [json.loads(line) for line in elastic.got[0][2].splitlines()]
    assert [row["jobid"] for row in rows[1::2]] == jobs
    assert [row["index"]["_id"] for row in rows[::2]] == [row["sluid"] for row in rows[1::2]]
    elastic.status = 400  # what is bad is dropped, what follows arrives
    c.sbatch(wrap="true")
    wait_until(lambda: "refuses the record with status 400" in log.read_text(), "a bad document is logged")
    elastic.status = 200
    good = c.sbatch(wrap="true")
    wait_until(lambda: len(elastic.got) == 2, "the next arrives")
    last = json.loads(elastic.got[1][2])
    assert (last["jobid"], elastic.got[1][0]) == (good, f"/slurm/_doc/{last['sluid']}")


# ---- Kafka --------------------------------------------------------------------------------------------------------

@pytest.fixture
def kafka():
    k = Kafka()
    yield k
    k.close()


def kafka_conf(folder, kafka, params):
    path = folder / "kafka.conf"
    path.write_text(f"# brokers\nbootstrap.servers = {kafka.servers}\n\nmessage.timeout.ms=1000\n"
                    "reconnect.backoff.max.ms=200\n")
    return f"JobCompType=jobcomp/kafka\nJobCompLoc={path}\nJobCompParams={params}"


@pytest.mark.skipif("-thread" in BUILD.name, reason="librdkafka starts threads in a way that this sanitizer does not know")
def test_kafka(make_cluster, folder, kafka):
    kafka.create("test")
    kafka.create("test-job-start")
    c = make_cluster(nodes=1, conf=kafka_conf(folder, kafka, "enable_job_start"))
    jobs = [c.sbatch("-n1", wrap=f"exit {i}") for i in range(3)]
    ended = [json.loads(text) for text in kafka.wait("test", 3)]
    assert sorted((m["jobid"], m["state"], m["exit_code"]) for m in ended) == [
        (jobs[0], "COMPLETED", "0:0"), (jobs[1], "FAILED", "1:0"), (jobs[2], "FAILED", "2:0")]
    began = [json.loads(text) for text in kafka.wait("test-job-start", 3)]
    assert sorted(m["jobid"] for m in began) == jobs
    assert all(m["state"] is None and "@end" not in m and m["nodes"] == "node1" for m in began)


@pytest.mark.skipif("-thread" in BUILD.name, reason="librdkafka starts threads in a way that this sanitizer does not know")
def test_kafka_away(make_cluster, folder, kafka):
    """The broker is down while jobs end, and while the controller is restarted: every end arrives, and no message of a
    time without failure comes twice."""
    kafka.create("ends")
    c = make_cluster(nodes=1, conf=kafka_conf(folder, kafka, "topic=ends,requeue_on_msg_timeout,flush_timeout=100"))
    first = c.sbatch(wrap="true")
    assert [json.loads(text)["jobid"] for text in kafka.wait("ends", 1)] == [first]
    kafka.down()
    jobs = [c.sbatch("-n1", wrap="true") for _ in range(3)]
    for job in jobs:
        c.wait_end(job)
    log = c.dir / "log" / "slurmctld.log"
    wait_until(lambda: "did not reach Kafka" in log.read_text(), "a message timed out")
    c.restart_ctld()
    jobs.append(c.sbatch(wrap="true"))
    c.wait_end(jobs[-1])
    kafka.up()
    seen = [json.loads(text)["jobid"] for text in kafka.wait("ends", 1 + len(jobs))]
    assert seen[0] == first and seen.count(first) == 1
    assert set(seen[1:]) == set(jobs)


# ---- mistakes -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("lines_, sentence", [
    ("JobCompType=jobcomp/filetxt\nJobCompLoc=here.log", "jobcomp/filetxt wants an absolute path"),
    ("JobCompType=jobcomp/filetxt\nJobCompLoc=/proc/nonexistent/x.log", "cannot write /proc/nonexistent/x.log: No such file"),
    ("JobCompType=jobcomp/script\nJobCompLoc=/proc/nonexistent", "JobCompLoc=/proc/nonexistent: cannot be run: No such file"),
    ("JobCompType=jobcomp/elasticsearch", "jobcomp/elasticsearch wants host:port/index/_doc"),
    ("JobCompType=jobcomp/kafka\nJobCompLoc=/proc/nonexistent", "JobCompLoc=/proc/nonexistent: No such file"),
    ("JobCompType=jobcomp/mysql", "JobCompType=jobcomp/mysql is not known"),
])
def test_mistakes(make_cluster, lines_, sentence):
    c = make_cluster(start=False, nodes=1, conf=lines_)
    done = c.run("slurmctld", "-D", "-f", str(c.conf), check=False)
    log = c.dir / "log" / "slurmctld.log"
    assert done.rc == 1 and sentence in done.err + (log.read_text() if log.exists() else "")


@pytest.mark.parametrize("text, sentence", [
    ("# nothing\n", "kafka.conf: bootstrap.servers is missing"),
    ("bootstrap.servers=x\nnonsense\n", "kafka.conf:2: key=value is missing in 'nonsense'"),
    ("bootstrap.servers=x\nno.such.key=1\n", "kafka.conf:2: No such configuration property"),
])
def test_kafka_mistakes(make_cluster, folder, text, sentence):
    path = folder / "kafka.conf"
    path.write_text(text)
    c = make_cluster(start=False, nodes=1, conf=f"JobCompType=jobcomp/kafka\nJobCompLoc={path}")
    done = c.run("slurmctld", "-D", "-f", str(c.conf), check=False)
    assert done.rc == 1 and sentence in done.err
