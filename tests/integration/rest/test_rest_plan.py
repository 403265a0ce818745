"""GET /penstock/v1/job/{id}/explain and POST /penstock/v1/job/plan: why a job waits, and when one would start."""

import time

import pytest

from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 4, "cpus": 4,
           "conf": "AuthAltTypes=auth/jwt\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
                   "PartitionName=low Nodes=ALL PriorityTier=1 State=UP\nPartitionName=high Nodes=ALL PriorityTier=5 PreemptMode=OFF State=UP\n"
                   "PartitionName=two Nodes=node[1-2] State=UP\n"}
PLAN = "/penstock/v1/job/plan"
JOB = {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "name": "planned"}
KEYS = ["starts", "start_time", "wait", "end_time", "partition", "nodes", "node_count", "cpus", "preempts", "preempt_count", "reason",
        "sentences", "partitions", "changes"]


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


@pytest.fixture(autouse=True)
def nothing_made(rest, shared):
    """Questions leave no job."""
    before = shared.run("squeue", "-h", "-t", "all", "-o", "%i").out
    yield
    shared.clear()
    after = shared.run("squeue", "-h", "-t", "all", "-o", "%i").out
    assert not [line for line in shared.run("squeue", "-h", "-t", "all", "-o", "%j").out.split() if line == "planned"], (before, after)


def plan(rest, user="root", **more):
    status, answer = rest.post(PLAN, {"job": {**JOB, **more}}, user=user)
    assert status == 200 and answer["errors"] == [], answer
    assert list(answer["plan"]) == KEYS
    return answer["plan"]


def explain(rest, job, **options):
    return rest.get(f"/penstock/v1/job/{job}/explain", **options)


def fill(shared, partition="main", minutes=10, nodes=4):
    out = shared.run("sbatch", "--parsable", "-p", partition, "-N", nodes, "--exclusive", "-t", minutes, "--wrap", "sleep 600").out
    job = out.strip()
    shared.wait_state(job, "RUNNING")
    return int(job)


def test_starts_at_once(rest):
    p = plan(rest, nodes="2", tasks=8, time_limit=10)
    assert p["starts"] and p["wait"] == 0 and abs(p["start_time"] - time.time()) < 5
    assert (p["partition"], p["node_count"], p["cpus"]) == ("main", 2, 8)
    assert p["nodes"] == "node[1-2]" and p["end_time"] == p["start_time"] + 600
    assert p["preempts"] == [] and p["preempt_count"] == 0 and p["changes"] == []
    assert p["sentences"][0].endswith("it would start at once.")


def test_waits_for_its_turn(rest, shared):
    """As long as the running job may, and as the command says."""
    holder = fill(shared, minutes=30)
    p = plan(rest, nodes="4", time_limit=5)
    assert p["starts"] and 29 * 60 <= p["wait"] <= 30 * 60 + 1
    assert p["reason"] == "Resources" and p["nodes"] == "node[1-4]"
    part, = p["partitions"]
    assert part["name"] == "main" and part["nodes"] == {"total": 4, "suitable": 4, "free": 0, "wanted": 4}
    assert [(h["job_id"], h["nodes"]) for h in part["holders"]] == [(holder, 4)]
    assert {"cause": "held by running jobs", "nodes": 4, "names": ""} in part["causes"]
    said = shared.run("sbatch", "--test-only", "-N", 4, "-t", 5, "--wrap", "true", check=False).err
    assert time.strftime("%Y-%m-%dT%H:%M:", time.gmtime(p["start_time"])) in said or \
        time.strftime("%Y-%m-%dT%H:%M:", time.gmtime(p["start_time"] + 1)) in said


def test_never(rest, shared):
    """A job that no set of nodes in service could hold: no start, and sentences that say why."""
    shared.run("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=test")
    try:
        p = plan(rest, nodes="4", time_limit=5)
        assert not p["starts"] and p["start_time"] == p["wait"] == 0 and p["nodes"] == "", p
        assert any("down or drained" in s for s in p["sentences"]), p
        assert any("drained" in c["cause"] and c["names"] == "node1" for c in p["partitions"][0]["causes"]), p
    finally:
        shared.run("scontrol", "update", "NodeName=node1", "State=RESUME")


def test_preempts(rest, shared):
    victim = fill(shared, "low")
    p = plan(rest, partition="high", nodes="4", time_limit=5)
    assert [(v["job_id"], v["mode"]) for v in p["preempts"]] == [(victim, "REQUEUE")] and p["preempt_count"] == 1, p
    assert p["preempts"][0]["user_name"] == shared.run("squeue", "-h", "-j", victim, "-o", "%u").out.strip()
    assert shared.job(victim)["JobState"] == "RUNNING"  # a plan sends nobody away


def test_two_partitions(rest, shared):
    """The one where it starts first, and what is said of both."""
    fill(shared, "two", nodes=2)
    p = plan(rest, partition="two,main", nodes="1", time_limit=5)
    assert p["partition"] == "main" and p["wait"] == 0 and {x["name"] for x in p["partitions"]} == {"two", "main"}


def test_explain_waiting(rest, shared):
    holder = fill(shared)
    job = shared.run("sbatch", "--parsable", "-N", 4, "-t", 5, "--wrap", "true").out.strip()
    status, answer = explain(rest, job)
    assert status == 200 and list(answer) == ["explain", "meta", "errors", "warnings"] and answer["errors"] == []
    x = answer["explain"]
    assert (x["job_id"], x["id"], x["job_state"], x["reason"]) == (int(job), job, "PENDING", "Resources")
    assert x["summary"] == x["sentences"][0] and 8 * 60 < x["expected_start"] - time.time() <= 10 * 60 + 1
    assert [h["job_id"] for h in x["partitions"][0]["holders"]] == [holder]
    assert x["partitions"][0]["expected_nodes"] == "node[1-4]" and x["partitions"][0]["place"] == 1
    lines = shared.run("scontrol", "explain", job).out.splitlines()
    assert [line.strip() for line in lines] == x["sentences"]


def test_explain_changes(rest, shared):
    """Each change is an option with which it would start now."""
    fill(shared, nodes=2)
    job = shared.run("sbatch", "--parsable", "-N", 4, "-t", 5, "--wrap", "true").out.strip()
    x = explain(rest, job)[1]["explain"]
    assert "--nodes=2" in [c["option"] for c in x["changes"]]
    assert all(c["sentence"] in x["sentences"] for c in x["changes"])


def test_explain_held(rest, shared):
    job = shared.run("sbatch", "--parsable", "-H", "--wrap", "true").out.strip()
    x = explain(rest, job)[1]["explain"]
    assert x["reason"] == "JobHeldUser" and f"scontrol release {job}" in x["release"]


def test_explain_running_and_tasks(rest, shared):
    job = fill(shared)
    x = explain(rest, job)[1]["explain"]
    assert x["job_state"] == "RUNNING" and x["sentences"] == [f"Job {job} does not wait: it is RUNNING."]
    array = shared.run("sbatch", "--parsable", "-N", 4, "-a", "0-3", "--wrap", "true").out.strip()
    x = explain(rest, f"{array}_2")[1]["explain"]
    assert x["id"] == f"{array}_[0-3]" and x["job_state"] == "PENDING"


@pytest.mark.parametrize("word, status, number", [
    ("999999", 404, 2017), ("x", 404, 2017), ("0", 404, 2017), ("-1", 404, 2017), ("1_", 404, 2017), ("4294967296", 404, 2017),
    ("1,2", 404, 2017), ("1.0", 404, 2017), ("%2e%2e", 404, 2017), ("1%00", 404, None), ("a" * 3000, 404, None), ("", 404, None)])
def test_explain_unknown(rest, word, status, number):
    got, answer = explain(rest, word)
    assert got == status
    assert number is None or answer["errors"][0]["error_number"] == number, answer


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_explain_methods(rest, method):
    assert rest.ask(method, "/penstock/v1/job/1/explain")[0] == 404


@pytest.mark.parametrize("body, status", [
    ("", 422), ("{", 400), ("[]", None), ("7", None), ("null", None), ('{"job": 7}', 422), ('{"job": []}', 422), ('{"job": null}', 422),
    ('{"jobs": []}', 422), ('{"jobs": [{}, {}]}', 422), ('{"jobs": {}}', 422), ('{"job": {"tasks": "x"}}', 422),
    ('{"job": {"partition": "nosuch"}}', 422), ('{"job": {"time_limit": -5}}', 422), ('{"job": {"account": 7}}', 422),
    ('{"job": {"nodes": "0"}}', 422), ('{"job": {"nodes": "99"}}', 422), ('{"job": {"memory_per_node": "much"}}', 422),
    ('{"job": {"user_id": "nosuch"}}', 422), ('{"job": ' + '[' * 100 + ']' * 100 + '}', 400), ('{"job": {"array": "9-1"}}', 422)])
def test_plan_refused(rest, body, status):
    """Refused as a submission is; the place is named."""
    got, answer = rest.post(PLAN, body)
    assert got == status if status else 400 <= got < 500, answer
    if got == 422:
        assert answer["errors"] and "plan" not in answer


def test_plan_as_submission(rest, shared):
    """What is wrong with a submission is wrong with a plan, with the same number."""
    for change in ({"partition": "nosuch"}, {"time_limit": "x"}, {"constraints": "nosuch"}, {"reservation": "nosuch"},
                   {"licenses": "nosuch:1"}, {"tres_per_node": "gres/nosuch:1"}):
        job = {**JOB, **change}
        planned = rest.post(PLAN, {"job": job})
        made = rest.post("job/submit", {"script": "#!/bin/sh\n", "job": {**job, "name": "made"}})
        assert planned[0] == made[0] >= 400, (change, planned, made)
        assert planned[1]["errors"][0]["error_number"] == made[1]["errors"][0]["error_number"]


WHOLE = {"nodes": "4", "shared": ["none"], "time_limit": 10}


def holder(told):
    return tuple(told["partitions"][0]["holders"][0][key] for key in ("job_id", "id", "user_name"))


def test_private(rest, shared):
    """Jobs of others are explained, and named, only where they may be listed."""
    job = shared.run("sbatch", "--parsable", "-H", "--wrap", "true").out.strip()
    held = fill(shared)
    assert explain(rest, job, user="bin")[0] == 200
    assert holder(plan(rest, "bin", **WHOLE)) == (held, str(held), "root")
    text = shared.conf.read_text()
    shared.write_conf(text + "PrivateData=jobs\n")
    try:
        shared.run("scontrol", "reconfigure")
        wait_until(lambda: explain(rest, job, user="bin")[0] == 404, "it is private")
        assert explain(rest, job)[0] == 200
        told = plan(rest, "bin", **WHOLE)
        assert holder(told) == (0, "(private)", "") and f"ob {held}" not in " ".join(told["sentences"])
        assert holder(plan(rest, **WHOLE)) == (held, str(held), "root")
    finally:
        shared.write_conf(text)
        shared.run("scontrol", "reconfigure")


def test_without_token(rest):
    assert rest.raw("POST", PLAN, "{}")[0] == 401
    assert rest.raw("GET", "/penstock/v1/job/1/explain")[0] == 401
