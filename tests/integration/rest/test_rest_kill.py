"""DELETE of jobs: what its flags mean, and what the answer tells of each job."""

import os

import pytest

from conftest import program, wait_until
from restd import Restd

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "AuthAltTypes=auth/jwt"}
PATH = f"PATH={os.path.dirname(program('srun'))}:/usr/bin:/bin"
SLEEP = "#!/bin/sh\nsleep 300\n"


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def submit(rest, script=SLEEP, **job):
    status, answer = rest.post("job/submit", {"script": script, "job": {"current_working_directory": "/tmp", "environment": [PATH], **job}})
    assert status == 200 and answer["errors"] == [], answer
    return answer["job_id"]


def told(job, step_id=None, code=0, string="No error", message=""):
    return {"error": {"string": string, "code": code, "message": message}, "step_id": step_id or str(job),
            "job_id": {"set": job > 0, "infinite": False, "number": job}, "federation": {"sibling": ""}}


def nobody(word):
    return told(0, word, 2017, "Invalid job id specified", "Invalid job id specified")


def test_verbose_tells_each_job(rest, shared):
    jobs = [submit(rest, name="verbose", hold=True) for _ in range(3)]
    status, answer = rest.delete("jobs/", body={"jobs": [str(jobs[0]), "99999"], "flags": ["VERBOSE"]})
    assert (status, answer["errors"], answer["status"]) == (200, [], [told(jobs[0]), nobody("99999")])
    # chosen by what they are, jobs have no name but their number
    status, answer = rest.delete("jobs/", body={"job_name": "verbose", "flags": ["VERBOSE"]})
    assert (status, answer["status"]) == (200, [told(jobs[1]), told(jobs[2])])
    assert [shared.state(job).split()[0] for job in jobs] == ["CANCELLED"] * 3


def test_verbose_of_one_job(rest, shared):
    job = submit(rest, hold=True)
    assert rest.delete(f"job/{job}?flags=VERBOSE")[1]["status"] == [told(job)]
    [again] = rest.delete(f"job/{job}?flags=VERBOSE")[1]["status"]
    assert again["error"]["code"] == 2021 and again["job_id"]["number"] == job
    array = submit(rest, array="0-2", hold=True)
    assert rest.delete(f"job/{array}?flags=VERBOSE")[1]["status"] == [told(array)]
    array = submit(rest, array="0-2", hold=True)
    assert rest.delete(f"job/{array}_1?flags=VERBOSE")[1]["status"] == [told(array, f"{array}_1")]
    assert rest.delete(f"job/{array}")[1]["status"] == [], "without the flag only what failed is told"
    [refused] = rest.delete(f"job/{submit(rest, hold=True)}?flags=VERBOSE", user="bin")[1]["status"]
    assert refused["error"]["code"] == 2002
    shared.run("scancel", "-u", "root")


def test_steps_only(rest, shared):
    """The script and the job live on when their steps are killed."""
    out = shared.dir / "steps.out"
    job = submit(rest, "#!/bin/sh\nsrun -n1 sh -c 'echo on; exec sleep 300'\necho then\nexit 3\n", standard_output=str(out), tasks=1)
    wait_until(lambda: out.exists() and "on" in out.read_text(), "the step runs")
    assert rest.delete(f"job/{job}?flags=FULL_STEPS_ONLY")[1]["status"] == []
    done = shared.wait_end(job)
    assert done["ExitCode"] == "3:0" and out.read_text().rstrip().endswith("then"), out.read_text()
    held = submit(rest, hold=True)
    [refused] = rest.delete("jobs/", body={"jobs": [str(held)], "flags": ["FULL_STEPS_ONLY"]})[1]["status"]
    assert refused["error"]["code"] == 2024 and shared.state(held) == "PENDING"
    shared.run("scancel", str(held))


def test_one_task(rest, shared):
    """The number of an array is that of one of its tasks, too."""
    array = submit(rest, array="0-1", tasks=1)
    for task in (0, 1):
        shared.wait_state(f"{array}_{task}", "RUNNING")
    states = lambda: sorted(shared.state(f"{array}_{task}").split()[0] for task in (0, 1))  # noqa: E731
    assert rest.delete(f"job/{array}?flags=ARRAY_TASK,VERBOSE")[1]["status"] == [told(array)]
    wait_until(lambda: states() == ["CANCELLED", "RUNNING"], "one of them ends")
    assert rest.delete(f"job/{array}?flags=VERBOSE")[1]["status"][0]["error"]["code"] in (0, 2021)
    wait_until(lambda: states() == ["CANCELLED", "CANCELLED"], "the other one ends, too")


@pytest.mark.parametrize("flags", ["FEDERATION_REQUEUE", "OUT_OF_MEMORY", "NO_SIBLING_JOBS", "RESERVATION_JOB", "WARNING_SENT",
                                   "FULL_STEPS_ONLY,BATCH_JOB", "FULL_STEPS_ONLY,FULL_JOB", "NOSUCH"])
def test_refused(rest, shared, flags):
    job = submit(rest, hold=True)
    status, answer = rest.delete(f"job/{job}?flags={flags}")
    assert status in (400, 422) and answer["errors"][0]["error_number"] in (2036, 9000, 9202), answer
    status, answer = rest.delete("jobs/", body={"jobs": [str(job)], "flags": flags.split(",")})
    assert status in (400, 422) and answer["errors"], answer
    assert shared.state(job) == "PENDING"
    shared.run("scancel", str(job))


def test_hurry(rest, shared):
    """There is nothing that it would leave out: the job is cancelled, and the caller told."""
    job = submit(rest, hold=True)
    status, answer = rest.delete(f"job/{job}?flags=HURRY")
    assert (status, answer["errors"]) == (200, []) and "no burst buffer" in answer["warnings"][0]["description"]
    assert shared.state(job).startswith("CANCELLED")
