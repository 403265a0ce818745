"""Jobs over REST: submitted, changed, cancelled, requeued.  Expected: recording 30, and what sbatch gives for the same wish."""

import re

import pytest

from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 3, "conf": "AuthAltTypes=auth/jwt\nLicenses=matlab:10\nGresTypes=gpu", "partition": ""}
HERE = {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"]}
SCRIPT = "#!/bin/sh\ntrue\n"


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def submit(rest, script=SCRIPT, **job):
    status, answer = rest.post("job/submit", {"script": script, "job": {**HERE, **job}})
    assert status == 200 and answer["errors"] == [], answer
    return answer["job_id"], answer


def refused(rest, body):
    status, answer = rest.post("job/submit", body)
    assert list(answer) == ["errors", "warnings", "meta"]
    return status, answer["errors"][0]


def test_submit(rest, shared):
    out = shared.dir / "rest.out"
    job, answer = submit(rest, "#!/bin/sh\necho $A $SLURM_JOB_NAME; pwd\n", name="restjob", tasks=2, standard_output=str(out),
                         time_limit={"set": True, "number": 5}, environment=["PATH=/usr/bin:/bin", "A=b c"])
    assert list(answer) == ["job_id", "step_id", "job_submit_user_msg", "meta", "errors", "warnings"]
    assert answer["step_id"] == "batch" and answer["job_submit_user_msg"] == ""
    done = shared.wait_end(job)
    assert done["JobState"] == "COMPLETED" and done["TimeLimit"] == "00:05:00" and done["NumTasks"] == "2"
    assert out.read_text() == "b c restjob\n/tmp\n"


def test_refusals(rest):
    assert refused(rest, {"script": SCRIPT, "job": {"name": "x"}}) == (422, {
        "description": "Batch job submission failed", "error_number": 2063, "source": "slurm_submit_batch_job()",
        "error": "Job cannot be submitted without the current working directory specified."})
    assert refused(rest, {"job": {"name": "x", **HERE}}) == (422, {
        "description": 'Populated "script" field is required for job submission', "error_number": 9000,
        "error": "Query empty or not RFC7320 compliant", "source": "_job_post"})
    assert refused(rest, {"script": SCRIPT, "job": {"partition": "nosuch", **HERE}}) == (422, {
        "description": "Batch job submission failed", "error_number": 2000, "error": "Invalid partition name specified",
        "source": "slurm_submit_batch_job()"})
    status, error = refused(rest, {"script": SCRIPT, "job": {"current_working_directory": "/tmp"}})
    assert (status, error["error_number"], error["error"]) == (422, 2127, "Environment is missing in job")


@pytest.mark.parametrize("field, value", [
    ("tasks", -1), ("time_limit", "soon"), ("nodes", "4-2"), ("mail_type", ["NOSUCH"]), ("array", "x"), ("memory_per_node", "much"),
    ("required_nodes", ["/etc/passwd"]), ("excluded_nodes", ["a["]), ("distribution", "nosuch"), ("kill_warning_signal", "NOSUCH"),
    ("current_working_directory", "tmp"), ("environment", ["no equals sign"]), ("environment", [1]), ("crontab", {"minute": "1"}),
    ("user_id", "no-such-user"), ("begin_time", "nosuchtime"), ("tres_per_node", "gres/nosuch:1"), ("clusters", "other"), ("argv", [["a"]]),
    ("dependency", "after"), ("open_mode", "help"), ("open_mode", "x"), ("licenses", "nosuch"),
    ("distribution_plane_size", "x"), ("required_switches", "x"), ("kill_warning_delay", "soon"), ("rlimits", {"nofile": "many"})])
def test_bad_values(rest, shared, field, value):
    before = shared.run("squeue", "-h", "-t", "all").out
    status, error = refused(rest, {"script": SCRIPT, "job": {**HERE, field: value}})
    assert status == 422 and error["error_number"], error
    assert shared.run("squeue", "-h", "-t", "all").out == before


# What the same wish means to sbatch: fields, options.
SAME = [
    ({"name": "n"}, ["-J", "n"]),
    ({"name": "n", "tasks": 3, "cpus_per_task": 2}, ["-J", "n", "-n3", "-c2"]),
    ({"name": "n", "nodes": "2-3", "time_limit": "INFINITE", "time_minimum": 5}, ["-J", "n", "-N2-3", "-t", "UNLIMITED", "--time-min=5"]),
    ({"name": "n", "minimum_nodes": 1, "maximum_nodes": 2}, ["-J", "n", "-N1-2"]),
    ({"name": "n", "memory_per_node": {"set": True, "number": 100}}, ["-J", "n", "--mem=100M"]),
    ({"name": "n", "memory_per_cpu": 50, "temporary_disk_per_node": 1}, ["-J", "n", "--mem-per-cpu=50M", "--tmp=1M"]),
    ({"name": "n", "comment": "a=b c", "admin_comment": "adm"}, ["-J", "n", "--comment=a=b c"]),
    ({"name": "n", "begin_time": 2000000000, "nice": -5}, ["-J", "n", "-b", "uts2000000000", "--nice=-5"]),
    ({"name": "n", "licenses": "matlab:2", "shared": ["none"]}, ["-J", "n", "-L", "matlab:2", "--exclusive"]),
    ({"name": "n", "shared": ["oversubscribe"], "contiguous": True}, ["-J", "n", "-s", "--contiguous"]),
    ({"name": "n", "mail_type": ["BEGIN", "TIME=90%"], "mail_user": "bin"}, ["-J", "n", "--mail-type=BEGIN,TIME_LIMIT_90", "--mail-user=bin"]),
    ({"name": "n", "required_nodes": ["node1", "node2"]}, ["-J", "n", "-w", "node1,node2"]),
    ({"name": "n", "excluded_nodes": ["node3"]}, ["-J", "n", "-x", "node3"]),
    ({"name": "n", "requeue": False, "kill_on_node_fail": False}, ["-J", "n", "--no-requeue", "-k"]),
    ({"name": "n", "kill_warning_signal": "USR1", "kill_warning_delay": 30, "kill_warning_flags": ["BATCH_JOB"]},
     ["-J", "n", "--signal=B:USR1@30"]),
    ({"name": "n", "tasks_per_node": 2, "minimum_nodes": 2, "threads_per_core": 1},
     ["-J", "n", "--ntasks-per-node=2", "-N2", "--threads-per-core=1"]),
    ({"name": "n", "standard_output": "/tmp/o-%j", "standard_error": "/tmp/e", "standard_input": "/dev/null", "open_mode": ["APPEND"]},
     ["-J", "n", "-o", "/tmp/o-%j", "-e", "/tmp/e", "-i", "/dev/null", "--open-mode=append"]),
    ({"name": "n", "array": "1-3%2"}, ["-J", "n", "-a", "1-3%2"]),
    ({"name": "n", "distribution": "block:cyclic", "wckey": "w", "extra": "x"}, ["-J", "n", "-m", "block:cyclic", "--wckey=w", "--extra=x"]),
    ({"name": "n", "flags": ["KILL_INVALID_DEPENDENCY", "SPREAD_JOB"], "priority": 7},
     ["-J", "n", "--kill-on-invalid-dep=yes", "--spread-job", "--priority=7"]),
]


@pytest.mark.parametrize("fields, options", SAME, ids=[" ".join(o[2:]) or "name" for _, o in SAME])
def test_same_as_sbatch(rest, shared, fields, options):
    """`scontrol show job` says the same of both."""
    job, _ = submit(rest, hold=True, **fields)
    twin = shared.sbatch("-H", "-D", "/tmp", *options, script="true")

    def text(number):
        said = re.sub(rf"(JobId=|slurm-|o-){number}\b", r"\1N", shared.run("scontrol", "show", "job", str(number)).out)
        said = re.sub(r"(SubmitTime|EligibleTime|StartTime|AccrueTime|LastSchedEval|EndTime|JobId|SLUID)=\S+", r"\1", said)
        said = re.sub(r"\b(Command|SubmitLine|AllocNode:Sid|AdminComment)=.*", "", said)
        return [line.strip() for line in said.splitlines() if line.strip()]

    ours, theirs = text(job), text(twin)
    shared.run("scancel", str(job), str(twin))
    if "standard_output" not in fields:
        ours, theirs = ([line for line in t if not line.startswith("Std")] for t in (ours, theirs))
    assert ours == theirs


def test_what_has_no_effect_is_told(rest, shared):
    job, answer = submit(rest, hold=True, selinux_context="x", burst_buffer="x")
    said = [w["description"] for w in answer["warnings"]]
    for field in ("selinux_context", "burst_buffer"):
        assert f"#/job/{field}/ has no effect here" in said
    shared.run("scancel", str(job))


def test_memory_update(rest, shared):
    job, answer = submit(rest, hold=True, memory_update_delay=5, memory_update_margin=20)
    assert answer["warnings"] == []
    shown = rest.get(f"job/{job}")[1]["jobs"][0]
    assert (shown["memory_update_delay"], shown["memory_update_margin"]) == (5, 20)
    shared.run("scancel", str(job))


def test_heterogeneous(rest, shared):
    status, answer = rest.post("job/submit", {"jobs": [
        {**HERE, "script": SCRIPT, "name": "a", "hold": True}, {**HERE, "name": "b", "tasks": 2, "hold": True}]})
    assert status == 200 and answer["errors"] == []
    leader = answer["job_id"]
    text = shared.run("squeue", "-h", "-o", "%i %j", "-j", str(leader)).out
    assert sorted(text.splitlines()) == [f"{leader}+0 a", f"{leader}+1 b"]
    shared.run("scancel", str(leader))


def test_allocate(rest, shared):
    status, answer = rest.post("job/allocate", {"job": {**HERE, "name": "alloc", "time_limit": 5}})
    assert status == 200 and list(answer)[:2] == ["job_id", "job_submit_user_msg"]
    assert shared.wait_state(answer["job_id"], "RUNNING")["BatchFlag"] == "0"
    assert rest.delete(f"job/{answer['job_id']}")[1]["status"] == []


def test_update(rest, shared):
    job, _ = submit(rest, hold=True)
    status, answer = rest.post(f"job/{job}", {"comment": "via rest Priority=7"})
    assert status == 200 and list(answer) == ["results", "meta", "errors", "warnings"] and answer["results"] is None
    assert "Comment=via rest Priority=7\n" in shared.run("scontrol", "show", "job", str(job)).out
    rest.post(f"job/{job}", {"time_limit": {"set": True, "number": 7}, "nice": -3, "name": "new", "tasks": 2, "requeue": False})
    seen = shared.job(job)
    assert (seen["TimeLimit"], seen["Nice"], seen["JobName"], seen["NumTasks"], seen["Requeue"]) == ("00:07:00", "-3", "new", "2", "0")
    status, answer = rest.post(f"job/{job}", {"comment": "x"}, user="bin")
    assert answer["errors"][0]["error_number"] == 2002 or answer["errors"][0]["error_number"] == 2010
    status, answer = rest.post("job/99999", {"comment": "x"})
    assert status == 404 and answer["errors"][0]["error_number"] == 2017
    status, answer = rest.post(f"job/{job}", {"environment": ["A=b"]})
    assert status == 422 and answer["warnings"][0]["description"] == "environment has no effect on a job that is there"
    rest.post(f"job/{job}", {"hold": False})
    assert shared.wait_end(job)["JobState"] == "COMPLETED"


def test_delete(rest, shared):
    job, _ = submit(rest, "#!/bin/sh\nsleep 60\n")
    shared.wait_state(job, "RUNNING")
    status, answer = rest.delete(f"job/{job}", user="bin")
    assert status == 200 and answer["status"][0]["error"]["code"]
    status, answer = rest.delete(f"job/{job}")
    assert status == 200 and answer["status"] == [] and answer["errors"] == []
    assert shared.wait_end(job)["JobState"].startswith("CANCELLED")
    status, answer = rest.delete("job/0")
    assert status == 404 and answer["errors"][0]["error_number"] == 2017
    status, answer = rest.delete("job/99999")
    assert status == 200 and answer["status"] == [{
        "error": {"string": "Invalid job id specified", "code": 2017, "message": "Invalid job id specified"}, "step_id": "99999",
        "job_id": {"set": False, "infinite": False, "number": 0}, "federation": {"sibling": ""}}]


def test_words_of_older_versions(rest, shared):
    """Clients of v0.0.42 to v0.0.44 know their own words alone, and a number where v0.0.45 has words."""
    job, _ = submit(rest, "#!/bin/sh\nsleep 60\n", tasks=1)
    shared.wait_state(job, "RUNNING")
    seen = {}
    for version in ("v0.0.42", "v0.0.44", "v0.0.45"):
        [now] = rest.get(f"/slurm/{version}/job/{job}")[1]["jobs"]
        [part] = rest.get(f"/slurm/{version}/partition/main")[1]["partitions"]
        seen[version] = (now["job_resources"]["select_type"], "JOB_IMPLICIT_MAX_NODES" in now["flags"], part["select_type"], part["cpus"]["task_binding"])
    older = (["CORE", "MEMORY"], False, [], 0)
    assert seen == {"v0.0.42": older, "v0.0.44": older, "v0.0.45": (["CR_CORE_MEMORY"], True, ["NONE"], [])}
    schemas = rest.get("/openapi/v3")[1]["components"]["schemas"]
    words = [schemas[f"{v}_job_res"]["properties"]["select_type"]["items"]["enum"] for v in ("v0.0.44", "v0.0.45")]
    assert "CORE" in words[0] and "CR_CORE" not in words[0] and "CR_CORE" in words[1]
    assert schemas["v0.0.44_partition_info"]["properties"]["cpus"]["properties"]["task_binding"]["type"] == "integer"
    rest.delete(f"job/{job}")


def test_signal(rest, shared):
    out = shared.dir / "signal.out"
    job, _ = submit(rest, "#!/bin/bash\ntrap 'echo got; exit 3' USR1\necho on\nwhile :; do sleep 0.1; done\n", standard_output=str(out))
    wait_until(lambda: out.exists() and "on" in out.read_text(), "the script runs")
    assert rest.delete(f"job/{job}?signal=USR1&flags=BATCH_JOB")[1]["status"] == []
    assert shared.wait_end(job)["ExitCode"] == "3:0" and out.read_text() == "on\ngot\n"
    status, answer = rest.delete(f"job/{job}?signal=NOSUCH")
    assert status == 422 and "no such signal" in answer["errors"][0]["description"]


def test_delete_many(rest, shared):
    jobs = [submit(rest, name=name, hold=True)[0] for name in ("many1", "many1", "many2")]
    assert rest.delete("jobs/", body={})[0] == 422
    assert rest.delete("jobs/", body={"wckey": "x"})[0] == 422
    assert [shared.state(j) for j in jobs] == ["PENDING"] * 3
    assert rest.delete("jobs/", body={"job_name": "many1"})[1]["errors"] == []
    assert [shared.state(j).split()[0] for j in jobs] == ["CANCELLED", "CANCELLED", "PENDING"]
    status, answer = rest.delete("jobs/", body={"jobs": [str(jobs[2]), "99999"]})
    assert status == 200 and [s["step_id"] for s in answer["status"]] == ["99999"]
    assert shared.state(jobs[2]).startswith("CANCELLED")


@pytest.mark.parametrize("body", [
    {"user_name": "root", "job_state": ["CONFIGURING"]}, {"user_name": "root", "jobs": []}, {"user_name": "root", "jobs": [None]},
    {"user_name": "root", "jobs": "12"}, {"user_name": "root", "jobs": [""]},
    {"user_name": "root", "jobs": [{"x": 1}]}, {"user_name": "root", "user_id": "bin"}, {"user_name": "root", "jobs": ["1"] * 100001},
    {"user_name": "nosuchuser"}, {"job_state": ["NOSUCH"]}, {"user_name": "", "job_name": ""}, {"jobs": [[1]]}])
def test_what_cannot_be_read_chooses_nobody(rest, shared, body):
    """Left out, it would choose more."""
    bystander, _ = submit(rest, hold=True)
    status, answer = rest.delete("jobs/", body=body)
    assert status >= 400 and answer["errors"], answer
    assert shared.state(bystander) == "PENDING"
    shared.run("scancel", str(bystander))


def test_a_refused_update_does_nothing(rest, shared):
    job, _ = submit(rest, hold=True)
    status, answer = rest.post(f"job/{job}", {"hold": False, "partition": "nosuch"})
    assert status >= 400 and shared.state(job) == "PENDING"
    assert shared.job(job)["Reason"].startswith("JobHeld")
    shared.run("scancel", str(job))


def test_requeue(rest, shared):
    job, _ = submit(rest, "#!/bin/sh\nsleep 60\n")
    shared.wait_state(job, "RUNNING")
    status, answer = rest.get(f"job/{job}/requeue?Hold=true")
    assert status == 200 and answer["errors"] == [] and isinstance(answer["status"], list)
    wait_until(lambda: shared.job(job)["JobState"] == "PENDING" and shared.job(job)["Restarts"] == "1", "requeued")
    status, answer = rest.post("jobs/requeue", {"jobs": ["99999"]})
    assert status == 404 and answer["errors"][0]["error_number"] == 2017
    assert [[row["error_code"] for row in one] for one in answer["status"]] == [[2017]]  # a list for each job, as the document says
    assert rest.get(f"/slurm/v0.0.44/job/{job}/requeue")[0] == 404
    shared.run("scancel", str(job))
