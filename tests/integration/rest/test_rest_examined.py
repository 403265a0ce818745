"""What an examiner of the API asked: versions and their keys, cores of jobs, jobs without standard input, names of
users, jobs of accounting, the configuration, filters of lists."""

import json
import pwd

import pytest

from conftest import run_cluster, wait_until
from restd import Restd

SCRIPT = "#!/bin/sh\nsleep 300\n"
# Keys of a job by version, and some that came and went.
KEYS = {"v0.0.42": 128, "v0.0.43": 133, "v0.0.44": 135, "v0.0.45": 137}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with_two = "Sockets=2 CoresPerSocket=2 ThreadsPerCore=1"
    for c in run_cluster(folder, nodes=2, cpus=4, conf="AuthAltTypes=auth/jwt\nAccountingStoreFlags=job_script"):
        text = c.conf.read_text().replace("Sockets=1 CoresPerSocket=4 ThreadsPerCore=1", with_two)
        c.write_conf(text)
        c.restart_ctld()
        for slurmd in c.slurmds.values():
            slurmd.stop()
        for name in c.node_names:
            c.start_slurmd(name)
        c.wait_nodes()
        with Restd(c) as rest:
            yield c, rest


@pytest.fixture(autouse=True)
def empty(site):
    yield
    site[0].clear()


def submit(rest, path="/slurm/v0.0.45/job/submit", user="root", **job):
    body = {"script": job.pop("script", SCRIPT),
            "job": {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "standard_output": "/dev/null", **job}}
    return rest.post(path, body, user=user)


def started(c, rest, **job):
    status, answer = submit(rest, **job)
    assert status == 200, answer
    c.wait_state(answer["job_id"], "RUNNING")
    return answer["job_id"]


def test_keys_of_each_version(site):
    c, rest = site
    job = started(c, rest)
    for version, keys in KEYS.items():
        status, answer = rest.get(f"/slurm/{version}/job/{job}")
        assert (status, len(answer["jobs"][0])) == (200, keys), version
        assert answer["meta"]["plugin"]["data_parser"] == f"data_parser/{version}"
        told = json.loads(c.run("squeue", f"--json={version}", "-j", job).out)
        assert list(told["jobs"][0]) == list(answer["jobs"][0]) and told["meta"]["plugin"]["data_parser"] == f"data_parser/{version}"
        status, document = rest.get("/openapi/v3")
        fields = document["components"]["schemas"][f"{version}_job_info"]["properties"]
        assert set(fields) == set(answer["jobs"][0]), version
        status, answer = rest.get(f"/slurm/{version}/node/node1")
        assert ("topology" in answer["nodes"][0]) == (version != "v0.0.42")
        assert ("suspend_time" in answer["nodes"][0]) == (version == "v0.0.45")


def cores_of(job):
    node, = job["job_resources"]["nodes"]["allocation"]
    return node, [core["status"] for socket in node["sockets"] for core in socket["cores"]]


def test_cores_held_and_used(site):
    c, rest = site
    held = "#!/bin/sh\nsleep 300\n"
    job = started(c, rest, script=held, tasks=3)
    node, cores = cores_of(rest.get(f"/slurm/v0.0.45/job/{job}")[1]["jobs"][0])
    assert (len(node["sockets"]), node["cpus"], node["memory"]["used"]) == (2, {"count": 3, "used": 0}, 0)
    assert sorted(cores) == [["ALLOCATED"]] * 3 + [["UNALLOCATED"]]
    step = c.popen("srun", f"--jobid={job}", "-n2", "--exact", "sleep", "300")
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-s", "-h", "-o", "%i").out.split(), "the step runs")
    for told in (rest.get(f"/slurm/v0.0.45/job/{job}")[1], json.loads(c.run("squeue", "--json", "-j", job).out),
                 json.loads(c.run("scontrol", "show", "job", job, "--json").out)):
        node, cores = cores_of(told["jobs"][0])
        assert node["cpus"] == {"count": 3, "used": 2} and node["memory"] == {"used": 300, "allocated": 300}
        assert sorted(cores) == [["ALLOCATED"], ["ALLOCATED", "IN_USE"], ["ALLOCATED", "IN_USE"], ["UNALLOCATED"]]
    steps = json.loads(c.run("squeue", "-s", "--json", "-j", job).out)["steps"]
    assert [s["name"] for s in steps] == ["batch", "sleep"]
    c.run("scancel", job)
    step.communicate(timeout=30)


def test_no_standard_input(site):
    c, rest = site
    job = started(c, rest, script="#!/bin/sh\nread line && exit 9\nsleep 300\n")
    told = rest.get(f"/slurm/v0.0.45/job/{job}")[1]["jobs"][0]
    assert (told["standard_input"], told["stdin_expanded"]) == ("", "")
    assert c.state(job) == "RUNNING"
    named = started(c, rest, standard_input="/dev/zero")
    assert rest.get(f"/slurm/v0.0.45/job/{named}")[1]["jobs"][0]["standard_input"] == "/dev/zero"
    own = c.sbatch(wrap="sleep 300")
    c.wait_state(own, "RUNNING")
    assert rest.get(f"/slurm/v0.0.45/job/{own}")[1]["jobs"][0]["standard_input"] == "/dev/null"


def test_names_of_users(site):
    c, rest = site
    job = started(c, rest, user_id="daemon", group_id="daemon")
    told = rest.get(f"/slurm/v0.0.45/job/{job}")[1]["jobs"][0]
    assert (told["user_name"], told["group_name"]) == ("daemon", "daemon")
    for wrong in ({"user_id": "no-such-user"}, {"group_id": "no-such-group"}):
        status, answer = submit(rest, **wrong)
        assert status == 422 and answer["errors"][0]["description"].startswith(f"#/job/{list(wrong)[0]}")
    who = pwd.getpwnam("daemon")
    own = ({"user_id": "daemon"}, {"user_id": str(who.pw_uid), "group_id": "daemon"})
    for words in own:  # what clients fill in
        status, answer = submit(rest, user="daemon", **words)
        assert status == 200, answer
        told = rest.get(f"/slurm/v0.0.45/job/{answer['job_id']}")[1]["jobs"][0]
        assert (told["user_name"], told["group_name"]) == ("daemon", "daemon")
    for others in ({"user_id": "root"}, {"group_id": "root"}, {"user_id": "daemon", "group_id": "root"}):
        status, answer = submit(rest, user="daemon", **others)
        assert status == 422 and "job_id" not in answer


def test_jobs_of_accounting(site):
    c, rest = site
    status, answer = submit(rest, array="1-3", script="#!/bin/sh\nexit 0\n", partition="main")
    job = answer["job_id"]
    for task in (1, 2, 3):
        c.wait_sacct(f"{job}_{task}", "COMPLETED")
    tasks = [j["array"]["task_id"]["number"] for j in rest.get(f"/slurmdb/v0.0.45/job/{job}_2")[1]["jobs"]]
    assert tasks == [2]
    assert len(rest.get(f"/slurmdb/v0.0.45/job/{job}")[1]["jobs"]) == 3
    theirs = started(c, rest, user_id="daemon")
    mine = started(c, rest, user_id="bin")
    wait_until(lambda: len(rest.get(f"/slurmdb/v0.0.45/jobs/?step={theirs},{mine}")[1]["jobs"]) == 2, "accounting has both")
    status, answer = rest.get(f"/slurmdb/v0.0.45/jobs/?step={theirs},{mine}&show_batch_script=true", user="bin")
    assert status == 200 and not answer["errors"]
    assert {j["job_id"]: j["script"] for j in answer["jobs"]} == {theirs: "", mine: SCRIPT}
    pending = submit(rest, hold=True, begin_time=0)[1]["job_id"]
    wait_until(lambda: rest.get(f"/slurmdb/v0.0.45/job/{pending}")[1].get("jobs"), "accounting has the job that waits")
    assert rest.get(f"/slurmdb/v0.0.45/job/{pending}")[1]["jobs"][0]["flags"] == ["START_RECEIVED"]


def test_configuration(site):
    c, rest = site
    status, answer = rest.get("/slurm/v0.0.45/conf")
    told = json.loads(c.run("scontrol", "show", "config", "--json").out)
    assert list(told) == ["slurm_conf", "slurm_conf_meta", "meta", "errors", "warnings"]
    assert told["slurm_conf"] == answer["slurm_conf"]
    conf = told["slurm_conf"]
    assert conf["SlurmctldPort"] == c.port and conf["AuthAltTypes"] == ["auth/jwt"]
    assert conf["controllers"] == [{"address": "127.0.0.1", "machine": conf["controllers"][0]["machine"]}]
    assert conf["SrunPortRange"] == {"minimum": 0, "maximum": 0, "set": False}
