"""slurmrestd: who may ask, what is not there, forms of answers.  Expected: recording 30."""

import json
import re
import socket

import pytest

from conftest import wait_until
from restd import Restd, V, run_once, is_listening

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\nLicenses=matlab:10,ansys:4"}
URL = ("Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit "
       "'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list of all possible "
       "slurmrestd endpoints.")


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def test_ping(rest):
    status, answer = rest.get("ping/")
    assert status == 200
    assert list(answer) == ["pings", "meta", "errors", "warnings"]
    ping = answer["pings"][0]
    assert list(ping) == ["hostname", "responding", "latency", "primary", "status"]
    assert ping["responding"] and ping["primary"] and ping["status"] == "No error"
    meta = answer["meta"]
    assert meta["plugin"] == {"type": "openapi/slurmctld", "name": "Slurm OpenAPI slurmctld",
                              "data_parser": "data_parser/v0.0.45", "accounting_storage": meta["plugin"]["accounting_storage"]}
    assert meta["slurm"]["version"] == {"major": "26", "micro": "3", "minor": "05"}
    assert meta["client"]["source"].startswith(f"127.0.0.1:{rest.port}(fd:")
    assert meta["command"] == [] and answer["errors"] == [] and answer["warnings"] == []


def test_who_asks(rest):
    status, headers, text = rest.raw("GET", f"/slurm/{V}/ping/")
    assert (status, headers["Content-Type"], text) == (401, "text/plain", "Authentication failure")
    status, _, text = rest.raw("GET", f"/slurm/{V}/ping/", headers={"X-SLURM-USER-TOKEN": "bad"})
    assert status == 200
    ping = json.loads(text)["pings"][0]
    assert not ping["responding"] and ping["status"] == "Protocol authentication error"
    status, _, text = rest.raw("GET", f"/slurm/{V}/jobs/", headers={"Authorization": "Bearer bad"})
    # the number and the sentence that ping tells too (recording 30)
    assert status == 511 and [(e["error_number"], e["error"]) for e in json.loads(text)["errors"]] == [
        (1007, "Protocol authentication error")]
    status, _, text = rest.raw("GET", f"/slurm/{V}/jobs/", headers={"Authorization": "Bearer " + rest.token("bin")})
    assert status == 200 and json.loads(text)["errors"] == []


@pytest.mark.parametrize("method, path", [
    ("GET", "/nosuch"), ("POST", f"/slurm/{V}/ping/"), ("GET", "/slurm/v0.0.30/ping/"), ("GET", "/slurm/v0.0.46/ping/"),
    ("GET", "/"), ("GET", "/slurm/"), ("GET", f"/slurm/{V}/../ping"), ("PUT", f"/slurm/{V}/jobs"), ("GET", f"/slurmdb/{V}/nodes"),
    ("GET", f"/slurm/{V}/job/1/2"), ("GET", f"/slurm/{V}/nodes%2f"), ("GET", f"/slurm/{V}/%00")])
def test_not_there(rest, method, path):
    status, headers, text = rest.raw(method, path, headers={"X-SLURM-USER-TOKEN": rest.token("root")})
    assert (status, headers["Content-Type"], text) == (404, "text/plain", URL)


@pytest.mark.parametrize("version", ["v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"])
@pytest.mark.parametrize("path", ["ping", "ping/", "jobs", "nodes/", "partitions"])
def test_versions(rest, version, path):
    status, answer = rest.get(f"/slurm/{version}/{path}")
    assert status == 200 and answer["meta"]["plugin"]["data_parser"] == f"data_parser/{version}"


def test_forms(rest):
    head = {"X-SLURM-USER-TOKEN": rest.token("root")}
    status, headers, text = rest.raw("GET", f"/slurm/{V}/ping/", headers={**head, "Accept": "application/x-yaml"})
    assert (status, headers["Content-Type"]) == (200, "application/x-yaml")
    assert text.startswith("%YAML 1.1\n--- !!map\n!!str pings: !!seq\n- !!map\n  !!str hostname: !!str ")
    assert rest.raw("GET", f"/slurm/{V}/ping/", headers={**head, "Accept": "text/html"}) [::2] == (
        415, "HTTP Accept header content type is unknown or unsupported")
    for accept in ("*/*", "application/json", "text/html, application/json;q=0.9", "application/*",
                   "application/x-yaml;q=0.5, application/json", "application/json, application/x-yaml", "text/yaml; q=0, */*"):
        status, headers, _ = rest.raw("GET", f"/slurm/{V}/ping/", headers={**head, "Accept": accept})
        assert (status, headers["Content-Type"]) == (200, "application/json")
    for accept in ("application/json;q=0.1, application/x-yaml", "application/yaml, */*;q=0.1", "text/yaml, */*", "*/*;q=0.2, text/yaml;q=0.3"):
        status, headers, _ = rest.raw("GET", f"/slurm/{V}/ping/", headers={**head, "Accept": accept})
        assert (status, headers["Content-Type"]) == (200, "application/x-yaml"), accept
    assert rest.raw("GET", f"/slurm/{V}/ping/", headers={**head, "Accept": "application/json;q=0, text/html"})[0] == 415


def test_acts_for_another(rest, shared):
    """root and SlurmUser name whom they speak for; others speak for themselves."""
    job = shared.sbatch("-H", wrap="true")
    status, answer = rest.get("jobs/", X_SLURM_USER_NAME="bin")
    assert status == 200 and [j["job_id"] for j in answer["jobs"]] == [job]
    status, answer = rest.get("jobs/", user="bin", X_SLURM_USER_NAME="root")
    assert status == 511 and answer["jobs"] == []
    shared.run("scancel", str(job))


def meanwhile(told, asked):
    """(told, *asked) of one state: nodes tell of their load and memory at any moment, so that told() is the same before and
    after asked()."""
    def once():
        before, answer, after = told(), asked(), told()
        return before == after and (before, *answer)
    return wait_until(once, "nothing changes between two questions")


def test_as_the_commands_say(rest, shared):
    """The same objects as `scontrol show ... --json` has."""
    job = shared.sbatch("-N1", "--comment=ü\"\\/", wrap="sleep 60")
    shared.wait_state(job, "RUNNING")
    for path, words, key in ((f"job/{job}", ("job", str(job)), "jobs"), ("jobs/", ("jobs",), "jobs"), ("nodes/", ("nodes",), "nodes"),
                             ("node/node1", ("node", "node1"), "nodes"), ("partitions/", ("partitions",), "partitions"),
                             ("partition/main", ("partition", "main"), "partitions"),
                             ("reservations/", ("reservations",), "reservations")):
        said, status, answer = meanwhile(lambda: json.loads(shared.run("scontrol", "show", *words, "--json").out)[key],
                                         lambda: rest.get(path))
        assert status == 200 and answer[key] == said, path
    status, answer = rest.get(f"jobs/state/?job_id={job}")
    assert answer["jobs"] == [{"job_id": str(job), "state": ["RUNNING"]}]
    shared.run("scancel", str(job))
    shared.wait_end(job)


def test_figures(rest, shared):
    said = json.loads(shared.run("scontrol", "show", "licenses", "--json").out)
    status, answer = rest.get("licenses/")
    assert status == 200 and answer["licenses"] == said["licenses"]
    assert [(lic["LicenseName"], lic["Total"], lic["Free"]) for lic in answer["licenses"]] == [("matlab", 10, 10), ("ansys", 4, 4)]
    assert list(answer) == ["licenses", "last_update", "meta", "errors", "warnings"]
    said = json.loads(shared.run("sdiag", "--json").out)["statistics"]
    status, answer = rest.get("diag/")
    assert status == 200 and list(answer["statistics"]) == list(said)
    assert answer["statistics"]["jobs_submitted"] == said["jobs_submitted"]
    said, status, answer = meanwhile(lambda: json.loads(shared.run("sshare", "-a", "--json").out)["shares"],
                                     lambda: rest.get("shares"))
    assert status == 200 and answer["shares"] == said


def test_change_a_node(rest, shared):
    status, answer = rest.post("node/node1", {"state": ["DRAIN"], "reason": "a State=DOWN", "comment": "c", "weight": 7})
    assert (status, answer["errors"]) == (200, [])
    node = rest.get("node/node1")[1]["nodes"][0]
    assert "DRAIN" in node["state"] and node["reason"] == "a State=DOWN" and node["comment"] == "c" and node["weight"] == 7
    status, answer = rest.post("nodes/", {"name": ["node1", "node2"], "comment": "d"})
    assert (status, answer["errors"]) == (200, [])
    assert rest.post("nodes/", {"name": "node1", "state": "RESUME"})[1]["errors"] == []
    assert [(n["state"], n["comment"]) for n in rest.get("nodes/")[1]["nodes"]] == [(["IDLE"], "d")] * 2
    status, answer = rest.post("node/node1", {"state": ["DOWN"]})
    assert status == 422 and "reason" in answer["errors"][0]["description"]
    status, answer = rest.post("node/node1", {"comment": "x"}, user="bin")
    assert answer["errors"][0]["error_number"] == 2010
    status, answer = rest.post("node/nosuch", {"comment": "x"})
    assert status == 422 and answer["errors"]
    assert [n["comment"] for n in rest.get("nodes/")[1]["nodes"]] == ["d", "d"]


def test_change_partitions(rest, shared):
    before = shared.run("scontrol", "show", "partition", "main").out
    status, answer = rest.post("partitions/", rest.get("partition/main")[1])  # what one gets can be given back
    assert status == 200, answer["errors"]
    assert shared.run("scontrol", "show", "partition", "main").out == before
    status, answer = rest.post("partitions/", {"partitions": [
        {"name": "new", "nodes": {"configured": "node1"}, "maximums": {"time": {"set": True, "number": 30}}, "flags": ["HIDDEN"]}]})
    assert (status, answer["errors"]) == (200, [])
    text = shared.run("scontrol", "-a", "show", "partition", "new").out
    assert "MaxTime=00:30:00" in text and "Hidden=YES" in text and "Nodes=node1\n" in text
    rest.post("partitions/", {"partitions": [{"name": "new", "flags": ["HIDDEN_CLEAR"], "maximums": {"time": "INFINITE"}}]})
    text = shared.run("scontrol", "show", "partition", "new").out
    assert "MaxTime=UNLIMITED" in text and "Hidden=NO" in text
    assert shared.run("scontrol", "update", "partitionname=new", "preemptmode=off").rc == 0
    answer = rest.get("partition/new")[1]
    assert answer["partitions"][0]["preempt_mode"] == ["DISABLED"]  # the document's word
    assert rest.post("partitions/", answer)[0] == 200
    assert "PreemptMode=OFF" in shared.run("scontrol", "show", "partition", "new").out
    assert rest.delete("partition/new", user="bin")[1]["errors"][0]["error_number"] == 2010
    assert rest.delete("partition/new")[1]["errors"] == []
    assert rest.delete("partition/new")[1]["errors"][0]["error_number"] == 2000


def test_empty_texts_take_away(rest, shared):
    words = {"comment": "c", "extra": "e"}
    assert rest.post("node/node1", words)[0] == 200
    for field, value in words.items():
        assert rest.get("node/node1")[1]["nodes"][0][field] == value
        assert rest.post("node/node1", {field: ""})[0] == 200
        assert rest.get("node/node1")[1]["nodes"][0][field] == ""
    part = {"name": "new", "nodes": {"configured": "node1"}, "accounts": {"allowed": "root"}, "groups": {"allowed": "root"},
            "qos": {"allowed": "normal"}, "alternate": "main", "tres": {"billing_weights": "CPU=2"}}
    assert rest.post("partitions/", {"partitions": [part]})[0] == 200
    said = {"accounts": {"allowed": ""}, "groups": {"allowed": ""}, "qos": {"allowed": ""}, "alternate": "", "tres": {"billing_weights": ""}}
    for field, value in said.items():
        assert rest.post("partitions/", {"partitions": [{"name": "new", field: value}]})[0] == 200
        got = rest.get("partition/new")[1]["partitions"][0][field]
        assert got == "" if value == "" else all(got[k] == "" for k in value), field
    assert rest.delete("partition/new")[0] == 200


def test_partitions_shared(rest, shared):
    def sharing(**members):
        status, answer = rest.post("partitions/", {"partitions": [{"name": "new", "nodes": {"configured": "node1"}, **members}]})
        assert status == 200, answer
        text = shared.run("scontrol", "show", "partition", "new").out
        return re.search("OverSubscribe=(\\S+)", text)[1], [w["source"] for w in answer["warnings"]]

    assert sharing(maximums={"oversubscribe": {"jobs": 3, "flags": ["force"]}}) == ("FORCE:3", [])
    assert sharing(maximums={"oversubscribe": {"jobs": 2, "flags": []}}) == ("YES:2", [])
    assert sharing(maximums={"oversubscribe": {"jobs": 0, "flags": []}}) == ("YES:2", [])  # of an answer about another
    assert sharing(maximums={"oversubscribe": {"jobs": 4}}, partition={"oversubscribe": "NO"}) == ("NO", [])
    assert sharing(maximums={"shares": 2}, timeouts={"resume": {"set": True, "number": 5}}) == ("NO", ["maximums.shares", "timeouts.resume"])
    assert sharing(**{k: v for k, v in rest.get("partition/new")[1]["partitions"][0].items() if k not in ("name", "nodes")}) == ("NO", [])
    assert rest.delete("partition/new")[0] == 200


def test_reservations(rest, shared):
    status, answer = rest.post("reservation", {
        "name": "r1", "start_time": {"set": True, "number": 2000000000}, "duration": 60, "users": ["root", "bin"], "node_list": ["node1"],
        "flags": ["MAINT", "IGNORE_JOBS"], "comment": "x Users=daemon"})
    assert (status, answer["errors"]) == (200, [])
    assert [(r["name"], r["flags"], r["users"], r["node_list"], r["duration"]["number"]) for r in answer["reservations"]] == [
        ("r1", ["MAINT", "IGNORE_JOBS"], ["root", "bin"], ["node1"], 60)]
    resv = rest.get("reservation/r1")[1]["reservations"][0]
    assert resv["start_time"]["number"] == 2000000000 and resv["end_time"]["number"] == 2000003600
    assert resv["users"] == "root,bin" and resv["node_list"] == "node1" and {"MAINT", "IGNORE_JOBS"} <= set(resv["flags"])
    assert "Comment=x Users=daemon" in shared.run("scontrol", "show", "reservation", "r1").out
    status, answer = rest.post("reservations/", {"reservations": [{"name": "r1", "duration": {"set": True, "number": 120}}]})
    assert (status, answer["errors"]) == (200, [])
    assert rest.get("reservation/r1")[1]["reservations"][0]["end_time"]["number"] == 2000007200
    status, answer = rest.post("reservation", {"name": "r2", "users": "root", "flags": ["NOSUCH"]})
    assert status == 422 and answer["errors"]
    assert rest.delete("reservation/r1")[1]["errors"] == []
    status, answer = rest.get("reservation/r1")
    assert status == 404 and answer["errors"]


def test_unknown_things(rest):
    status, answer = rest.get("job/99999")
    assert status == 404 and answer["jobs"] == []
    assert answer["last_update"] == answer["last_backfill"] == {"set": True, "infinite": False, "number": 0}
    assert answer["errors"] == [{"description": "Unable to query JobId=99999", "error_number": 2017,
                                 "error": "Invalid job id specified", "source": "_handle_job_get"}]
    status, answer = rest.get("node/node9")
    assert status == 200 and list(answer) == ["errors", "warnings", "meta"]
    assert answer["errors"] == [{"description": "Failure to query node node9", "error_number": 0, "error": "No error",
                                 "source": "_dump_nodes"}]
    status, answer = rest.get("partition/nosuch")
    assert status == 200 and answer["errors"] == []
    assert answer["warnings"] == [{"description": "Unable to find partition nosuch", "source": "_partition_get"}]


def test_a_long_list(rest, shared):
    """It streams, and is whole."""
    shared.run("srun", "bash", "-c", "for i in {1..150}; do sbatch -Q -H --wrap=true; done")
    status, answer = rest.get("jobs/")
    said = json.loads(shared.run("scontrol", "show", "jobs", "--json").out)["jobs"]
    assert status == 200 and len(answer["jobs"]) > 150
    assert [j["job_id"] for j in answer["jobs"]] == [j["job_id"] for j in said]
    assert answer["errors"] == [] and answer["meta"]
    shared.clear()


def test_standard_input(shared):
    done = run_once(shared, f"GET /slurm/{V}/ping/ HTTP/1.1\r\nHost: x\r\n\r\n")
    assert done.returncode == 0, done.stderr
    head, body = done.stdout.split("\n\n", 1)  # universal newlines
    assert head.startswith("HTTP/1.1 200 ") and json.loads(body)["pings"][0]["responding"]


@pytest.mark.parametrize("args, env, said", [
    ((), {"SLURMRESTD_SECURITY": ""}, "slurmrestd should not be run as the root user."),
    (("-s", "nosuch"), {}, "unable to find plugin: nosuch"),
    (("-d", "v0.0.1"), {}, "unable to find plugin: v0.0.1"),
    (("-a", "rest_auth/none"), {}, "unable to find plugin: rest_auth/none"),
    (("-u", "nosuchuser"), {}, "Unable to resolve user: nosuchuser"),
    (("nowhere",), {}, "nowhere is no address: [https://]HOST:PORT, :PORT or unix:PATH"),
    (("--max-connections", "0"), {}, "--max-connections=0: a number from 1 to 65536 is wanted"),
    ((), {"SLURMRESTD_SECURITY": "trust_all"}, "Unexpected value in SLURMRESTD_SECURITY: trust_all"),
])
def test_refuses_to_start(shared, args, env, said):
    done = run_once(shared, "", *args, env=env)
    assert done.returncode == 1 and done.stderr == f"slurmrestd: fatal: {said}\n"


def test_unix_socket(shared):
    """rest_auth/local: the user at the other end; nobody else's."""
    path = shared.dir / "rest.sock"
    r = Restd(shared, address=f"unix:{path}", user=None, env={"SLURMRESTD_SECURITY": "disable_user_check"})
    r.listens = lambda: is_listening(path)
    with r:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            sock.sendall(f"GET /slurm/{V}/ping/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            text = b"".join(iter(lambda: sock.recv(65536), b"")).decode()
        assert json.loads(text.split("\r\n\r\n", 1)[1])["pings"][0]["responding"]
    assert not path.exists()
