"""Submissions with "immediate", which start at once or are refused, and with "spank_environment"."""

import pytest

from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "AuthAltTypes=auth/jwt"}
HERE = {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"]}
CANNOT = {"description": "Batch job submission failed", "error_number": 2078, "error": "Job can not start immediately",
          "source": "slurm_submit_batch_job()"}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def submit(rest, script="#!/bin/sh\nsleep 300\n", headers=None, path="job/submit", **job):
    return rest.post(path, {"script": script, "job": {**HERE, **job}}, **(headers or {}))


def queue(c):
    return c.run("squeue", "-h", "-o", "%i").out.split()


def test_starts_at_once_or_is_refused(rest, shared):
    status, answer = submit(rest, immediate=True, nodes="2", shared=["none"])
    assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer
    first = answer["job_id"]
    shared.wait_state(first, "RUNNING")
    status, answer = submit(rest, immediate=True)
    assert (status, answer["errors"]) == (422, [CANNOT])
    status, answer = rest.post("job/allocate", {"job": {**HERE, "immediate": True}})
    assert (status, answer["errors"]) == (422, [{**CANNOT, "source": "slurm_allocate_resources()"}])
    assert queue(shared) == [str(first)], "what was refused made no job"
    status, answer = submit(rest, immediate=False)
    assert status == 200, answer
    shared.run("scancel", str(first), str(answer["job_id"]))
    wait_until(lambda: not queue(shared), "the nodes are free")


def test_held_is_not_at_once(rest, shared):
    status, answer = submit(rest, immediate=True, hold=True)
    assert (status, answer["errors"]) == (422, [CANNOT]) and queue(shared) == []


def test_what_would_be_refused_is(rest, shared):
    status, answer = submit(rest, immediate=True, partition="nosuch")
    assert status == 422 and answer["errors"][0]["error_number"] == 2000 and queue(shared) == []


def test_cannot_be_told_beforehand(rest, shared):
    """A retry would be held against the job that the first one made; many jobs are not planned together."""
    status, answer = submit(rest, headers={"Idempotency_Key": "k1"}, immediate=True)
    assert status == 422 and "exclude each other" in answer["errors"][0]["error"]
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\ntrue\n", "jobs": [{**HERE, "immediate": True}, HERE]})
    assert status == 422 and "heterogeneous" in answer["errors"][0]["error"]
    status, answer = rest.post("/penstock/v1/jobs/submit", {"jobs": [{**HERE, "script": "#!/bin/sh\ntrue\n", "immediate": True}]})
    assert status == 200 and (answer["submitted"], answer["failed"]) == (0, 1)
    assert answer["jobs"][0]["error"]["description"] == "immediate is for a job that is submitted alone"
    assert queue(shared) == []


def test_spank_environment(make_cluster, tmp_path):
    log, prolog = tmp_path / "log", tmp_path / "prolog"
    tmp_path.chmod(0o755)
    prolog.write_text(f"#!/bin/sh\necho \"$SPANK_SCRATCH,$SPANK_TWO\" >> {log}\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"AuthAltTypes=auth/jwt\nProlog={prolog}")
    with Restd(c) as rest:
        status, answer = submit(rest, "#!/bin/sh\ntrue\n", spank_environment=["SCRATCH=12 GiB", "TWO=a=b"])
        assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer
        assert c.wait_end(answer["job_id"])["JobState"] == "COMPLETED"
        assert log.read_text() == "12 GiB,a=b\n"
        for wrong in (["SCRATCH"], ["=x"], ["A=b"] * 257, [1]):
            status, answer = submit(rest, spank_environment=wrong)
            assert status in (400, 422) and answer["errors"], wrong
        assert queue(c) == []
