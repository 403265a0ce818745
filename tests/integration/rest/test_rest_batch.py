"""POST /penstock/v1/jobs/submit: many jobs in one request, each accepted or refused for itself."""

import http.client
import json
import time

import pytest

from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt\nMaxJobCount=200000"}
PATH = "/penstock/v1/jobs/submit"
JOB = {"script": "#!/bin/sh\ntrue\n", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "hold": True}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def jobs(n, name="batch", **more):
    return {"jobs": [{**JOB, "name": f"{name}-{i}", **more} for i in range(n)]}


def names(shared, prefix):
    rows = (line.split("|") for line in shared.run("squeue", "-h", "-t", "all", "-o", "%i|%j").out.splitlines())
    return {name: int(number) for number, name in rows if name.startswith(f"{prefix}-")}


def test_in_order(rest, shared):
    status, answer = rest.post(PATH, jobs(300, "order"))
    assert status == 200 and answer["errors"] == []
    assert list(answer) == ["jobs", "submitted", "failed", "meta", "errors", "warnings"]
    assert (answer["submitted"], answer["failed"]) == (300, 0)
    assert {f"order-{i}": job["job_id"] for i, job in enumerate(answer["jobs"])} == names(shared, "order")
    assert all(job["error"] is None and job["job_submit_user_msg"] == "" for job in answer["jobs"])


def test_it_runs(rest, shared):
    out = shared.dir / "batch.out"
    body = {"jobs": [{**JOB, "hold": False, "script": "#!/bin/sh\necho $SLURM_JOB_NAME $A\n", "name": "runs",
                      "environment": ["A=b c", "PATH=/usr/bin"], "standard_output": str(out)}]}
    job = rest.post(PATH, body)[1]["jobs"][0]["job_id"]
    assert shared.wait_end(job)["JobState"] == "COMPLETED"
    assert out.read_text() == "runs b c\n"


def test_one_fails(rest, shared):
    """What job/submit says of each."""
    bad = [{"partition": "nosuch"}, {"tasks": "x"}, {"script": ""}, {"time_limit": -5}, {"environment": None}]
    body = jobs(2 * len(bad), "fail")
    for i, change in enumerate(bad):
        body["jobs"][2 * i] = {**body["jobs"][2 * i], **change}
    body["jobs"] += [7, None, []]
    status, answer = rest.post(PATH, body)
    assert status == 200 and answer["errors"] == []
    assert (answer["submitted"], answer["failed"]) == (len(bad), len(bad) + 3)
    made = {f"fail-{i}": job["job_id"] for i, job in enumerate(answer["jobs"]) if job["job_id"]}
    assert made == names(shared, "fail") and set(made) == {f"fail-{2 * i + 1}" for i in range(len(bad))}
    for i, change in enumerate(bad):
        said = answer["jobs"][2 * i]["error"]
        alone = rest.post("job/submit", {"script": JOB["script"], "job": {k: v for k, v in {**JOB, **change}.items() if k != "script"}})
        if "script" not in change:
            assert said["error_number"] == alone[1]["errors"][0]["error_number"], (change, said, alone)
        assert said["description"] and said["error"] and said["source"]
    assert answer["jobs"][2]["error"]["source"] == "#/jobs/2/tasks/"


@pytest.mark.parametrize("body", [{}, {"jobs": []}, {"jobs": {}}, {"jobs": "x"}, [], {"jobs": [{}] * 10001}])
def test_no_list(rest, body):
    status, answer = rest.post(PATH, body)
    assert status == 422 and "list of 1 to 10000 jobs" in answer["errors"][0]["description"]


@pytest.mark.parametrize("method, path", [("GET", PATH), ("POST", "/penstock/v2/jobs/submit"), ("POST", "/slurm/v0.0.45/jobs/submit")])
def test_no_such_path(rest, method, path):
    assert rest.ask(method, path, {"jobs": []} if method == "POST" else None)[0] == 404


def test_with_a_key(rest, shared):
    first = rest.post(PATH, jobs(20, "key"), Idempotency_Key="list")[1]
    again = rest.post(PATH, jobs(20, "key"), Idempotency_Key="list")[1]
    assert [j["job_id"] for j in first["jobs"]] == [j["job_id"] for j in again["jobs"]]
    assert len(names(shared, "key")) == 20
    body = jobs(21, "key")
    body["jobs"][3]["name"] = "key-other"
    changed = rest.post(PATH, body, Idempotency_Key="list")[1]  # one differs, one is new
    assert changed["jobs"][3]["job_id"] == 0 and changed["jobs"][3]["error"]["error_number"] == 19017
    assert (changed["submitted"], changed["failed"]) == (20, 1)
    assert len(names(shared, "key")) == 21
    assert rest.post(PATH, jobs(1), Idempotency_Key="k" * 249)[0] == 422
    assert rest.post(PATH, jobs(1), Idempotency_Key="k" * 248)[0] == 200


def kill_in_the_middle(rest, shared, prefix, key):
    """The body, what was answered, when slurmctld was killed with the first jobs made; None: it was all over before."""
    body = jobs(10000, prefix)
    with UnderWay(rest, body, key) as answer:
        wait_until(lambda: names(shared, prefix), "some are there")
        shared.kill_ctld()
        status, said = answer()
    shared.start_ctld()
    return (body, said) if status == 503 else None


@pytest.mark.parametrize("key", [None, "killed"])
def test_killed_in_the_middle(rest, shared, key):
    """Each job is told; with a key the list is sent again and all are there, once."""
    for attempt in range(10):
        prefix = f"killed{bool(key)}{attempt}"
        if done := kill_in_the_middle(rest, shared, prefix, key and prefix):
            break
    body, answer = done
    assert len(answer["jobs"]) == 10000 and answer["errors"] and answer["submitted"] + answer["failed"] == 10000
    told = {f"{prefix}-{i}": j["job_id"] for i, j in enumerate(answer["jobs"]) if j["job_id"]}
    assert all(j["job_id"] or j["error"]["error_number"] == 19008 for j in answer["jobs"])
    there = names(shared, prefix)
    assert len(told) == answer["submitted"] < 10000 and told.items() <= there.items()
    may_be = {f"{prefix}-{i}" for i, j in enumerate(answer["jobs"]) if j["error"] and "may have been made" in j["error"]["description"]}
    assert set(there) <= set(told) | may_be
    if key:
        status, answer = rest.post(PATH, body, Idempotency_Key=prefix)
        assert status == 200 and answer["failed"] == 0
        after = {f"{prefix}-{i}": j["job_id"] for i, j in enumerate(answer["jobs"])}
        assert there.items() <= after.items() and after == names(shared, prefix)
        assert len(set(after.values())) == 10000
        rows = shared.run("squeue", "-h", "-t", "all", "-o", "%j").out.split()
        assert sum(row.startswith(f"{prefix}-") for row in rows) == 10000


def test_after_a_restart(rest, shared):
    """A connection to slurmctld that slurmrestd has kept is not used once its end has been told."""
    for turn in range(3):
        assert rest.post(PATH, jobs(1, f"before{turn}"))[0] == 200
        shared.kill_ctld()
        shared.start_ctld()
        status, answer = rest.post(PATH, jobs(1, f"after{turn}"))
        assert status == 200 and answer["submitted"] == 1, answer


class UnderWay:
    """The request is on its way while the body of `with` runs; what it gives waits for the answer."""

    def __init__(self, rest, body, key):
        self.conn = http.client.HTTPConnection("127.0.0.1", rest.port, timeout=60)
        self.args = ("POST", PATH, json.dumps(body), {"X-SLURM-USER-TOKEN": rest.token("root"), "Content-Type": "application/json",
                                                      **({"Idempotency-Key": key} if key else {})})

    def __enter__(self):
        self.conn.request(*self.args)
        return self.answer

    def __exit__(self, *_):
        self.conn.close()

    def answer(self):
        got = self.conn.getresponse()
        return got.status, json.loads(got.read())


def test_ten_thousand(rest, shared):
    body = jobs(10000, "many")
    start = time.monotonic()
    status, answer = rest.post(PATH, body)
    took = time.monotonic() - start
    assert status == 200 and answer["submitted"] == 10000, answer["errors"]
    assert {f"many-{i}": job["job_id"] for i, job in enumerate(answer["jobs"])} == names(shared, "many")
    print(f"10,000 jobs in {took:.2f} s")
    assert took < 30
