"""Idempotency-Key: a submission that is sent again makes no second job, whoever is killed meanwhile."""

import sys
import threading
from pathlib import Path

import pytest

from restd import Restd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "chaos"))
import chaos_idempotency  # noqa: E402

CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt\nMaxJobCount=50000"}
BODY = {"script": "#!/bin/sh\ntrue\n",
        "job": {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "hold": True, "name": "idem"}}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def post(rest, key, path="job/submit", user="root", **job):
    body = {**BODY, "job": {**BODY["job"], **job}}
    if path == "job/allocate":
        del body["script"]
    return rest.post(path, body, user=user, Idempotency_Key=key)


def number(answer):
    status, said = answer
    assert status == 200 and said["errors"] == [], said
    return said["job_id"]


@pytest.mark.parametrize("path", ["job/submit", "job/allocate"])
def test_again(rest, shared, path):
    first = post(rest, f"again {path}", path)
    again = post(rest, f"again {path}", path)
    assert number(first) == number(again)
    assert {k: v for k, v in first[1].items() if k != "meta"} == {k: v for k, v in again[1].items() if k != "meta"}
    shared.run("scancel", str(number(first)))
    assert number(post(rest, f"again {path}", path)) == number(first)
    other = number(post(rest, f"other {path}", path))
    assert other != number(first)
    assert number(post(rest, f"again {path}", path, user="bin", hold=True)) not in (number(first), other)


def test_another_body(rest):
    number(post(rest, "body"))
    for answer in (post(rest, "body", name="other"), post(rest, "body", "job/allocate")):
        assert answer[0] == 422
        assert answer[1]["errors"][0]["error_number"] == 19017
        assert "another submission" in answer[1]["errors"][0]["error"]


@pytest.mark.parametrize("key, status", [("", 422), ("k" * 255, 200), ("k" * 256, 422), ("a b!~", 200), ("a\tb", 422), ("caf\xe9", 422)])
def test_bounds(rest, key, status):
    assert post(rest, key)[0] == status


def test_refused_is_not_remembered(rest):
    assert post(rest, "refused", partition="nosuch")[0] == 422
    number(post(rest, "refused"))


def test_twins(rest, shared):
    """Sent at the same time."""
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(number(post(rest, "twins", name="twins")))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) == 8 and len(set(answers)) == 1
    assert shared.run("squeue", "-h", "-n", "twins", "-o", "%i").out.split() == [str(answers[0])]


def test_killed_again_and_again(shared, rest):
    said = []
    killed, wrong = chaos_idempotency.trial(shared, rest, jobs=150, kills=20, clients=3, seed=5, report=said.append)
    assert not wrong, (wrong, said)
    assert killed["slurmctld"] and killed["slurmrestd"], said
