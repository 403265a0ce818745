"""GET /slurmdb/: what the accounting store holds, as sacctmgr --json says it and as recording 30 has it."""

import json

import pytest

from conftest import wait_until
from restd import Restd, V, check

DB = f"/slurmdb/{V}/"
CLUSTER = {"nodes": 1,
           "conf": "AuthAltTypes=auth/jwt\nAccountingStorageTRES=gres/gpu,license/matlab"
           "\nAccountingStorageEnforce=limits\nAccountingStoreFlags=job_comment,job_script"}
INFINITE = {"set": False, "infinite": True, "number": 0}


def mgr(c, *words):
    return c.run("sacctmgr", *words)


def shown(c, key, *words):
    return json.loads(mgr(c, "--json", "show", *words).out)[key]


@pytest.fixture(scope="module")
def store(shared):
    for words in (["account", "science", "fairshare=50"], ["account", "physics", "parent=science", "description=physics",
                                                           "organization=science"],
                  ["qos", "high", "priority=100", "maxtresperuser=cpu=8,gres/gpu=2", "flags=DenyOnLimit", "preempt=normal"],
                  ["user", "bin", "account=physics", "fairshare=10", "wckey=wa"], ["user", "sys", "account=science"],
                  ["coord", "account=physics", "names=sys"]):
        mgr(shared, "-i", "add", *words)
    mgr(shared, "-i", "modify", "user", "sys", "set", "adminlevel=operator")
    with Restd(shared) as rest:
        yield rest


@pytest.mark.parametrize("path", [
    "accounts/?WithAssociations=true&WithCoordinators=true", "account/physics", "users/?with_assocs&with_coords&with_wckeys", "user/bin",
    "associations/", "association/?user=bin", "qos/", "qos/high", "clusters/", "cluster/test", "tres/", "wckeys/", "wckey/1",
    "instances/", "config", "ping/"])
def test_answers_keep_to_the_document(store, path):
    check(store, store.get("/openapi/v3")[1], DB + path)


def test_jobs_keep_to_the_document(store, shared):
    job = shared.sbatch("-A", "physics", "--uid=bin", "--comment=c", "-D", "/tmp", "-o", "/dev/null", wrap="srun true; exit 5")
    shared.wait_end(job)
    shared.wait_sacct(job, "FAILED")
    document = store.get("/openapi/v3")[1]
    assert check(store, document, f"{DB}job/{job}")["jobs"][0]["steps"]
    assert check(store, document, f"{DB}jobs/?users=bin")["jobs"]


@pytest.mark.parametrize("path, key, words", [
    ("accounts/", "accounts", ["account"]),
    ("accounts/?WithAssociations=true&WithCoordinators=true", "accounts", ["account", "withassoc", "withcoord"]),
    ("accounts/?description=physics", "accounts", ["account", "where", "description=physics"]),
    ("account/physics", "accounts", ["account", "physics"]),
    ("account/physics?with_assocs&with_coords", "accounts", ["account", "physics", "withassoc", "withcoord"]),
    ("users/?with_assocs=true&with_coords=true&with_wckeys=true", "users", ["user", "withassoc", "withcoord"]),
    ("user/bin?with_assocs&with_coords&with_wckeys", "users", ["user", "bin", "withassoc", "withcoord"]),
    ("users/?admin_level=Operator&with_assocs&with_coords&with_wckeys", "users",
     ["user", "where", "adminlevel=operator", "withassoc", "withcoord"]),
    ("users/?default_account=physics&with_assocs&with_coords&with_wckeys", "users", ["user", "bin", "withassoc", "withcoord"]),
    ("associations/", "associations", ["assoc"]),
    ("associations/?user=bin", "associations", ["assoc", "user=bin"]),
    ("associations/?account=science&Include%20sub%20acct%20information=1", "associations",
     ["assoc", "account=science", "withsubaccounts"]),
    ("associations/?parent_account=science", "associations", ["assoc", "parent=science"]),
    ("association/?user=bin&account=physics", "associations", ["assoc", "user=bin"]),
    ("qos/", "qos", ["qos"]), ("qos/high", "qos", ["qos", "high"]), ("qos/?name=high,normal", "qos", ["qos"]),
    ("qos/?id=1", "qos", ["qos", "normal"]), ("qos/?description=high", "qos", ["qos", "high"]),
    ("clusters/", "clusters", ["cluster"]), ("cluster/test", "clusters", ["cluster", "test"]),
    ("tres/", "TRES", ["tres"]), ("wckeys/", "wckeys", ["wckey"]), ("wckeys/?user=bin&name=wa", "wckeys", ["wckey"]),
    ("wckey/1", "wckeys", ["wckey"]),
])
def test_as_the_command_says(store, shared, path, key, words):
    status, answer = store.get(DB + path)
    said = shown(shared, key, *words)
    assert said and (status, answer[key]) == (200, said)
    assert list(answer) == [key, "meta", "errors", "warnings"]
    assert answer["errors"] == [] and answer["warnings"] == []
    assert answer["meta"]["plugin"]["name"] == "Slurm OpenAPI slurmdbd"


@pytest.mark.parametrize("path, key", [
    ("accounts/?description=nosuch", "accounts"), ("account/nosuch", "accounts"), ("user/nosuch", "users"), ("qos/nosuch", "qos"),
    ("associations/?account=nosuch", "associations"), ("association/?account=nosuch", "associations"), ("cluster/nosuch", "clusters"),
    ("wckeys/?name=nosuch", "wckeys"), ("wckey/99", "wckeys"), ("users/?without_defaults=1&admin_level=None", "users"),
    ("qos/?preempt_mode=CANCEL", "qos"), ("instances/", "instances"), ("instance/?cluster=test", "instances")])
def test_nothing_found(store, path, key):
    status, answer = store.get(DB + path)
    assert status == 200 and answer[key] == [] and answer["errors"] == []
    assert len(answer["warnings"]) == 1 and answer["warnings"][0]["description"].endswith("() found nothing")


@pytest.mark.parametrize("path, said", [
    ("users/?admin_level=King", "admin_level: there is no King"), ("qos/?id=x", "id: there is no x"),
    ("associations/?qos=nosuch", "qos: there is no nosuch"), ("wckey/none", "id: there is no none"),
    ("associations/?account=" + "a" * 1100, "account: a word is too long"),
    ("associations/?id=" + "1," * 10500, "id: too many words"),
    ("association/?account=physics", "2 associations are chosen, not one")])
def test_bad_questions(store, path, said):
    status, answer = store.get(DB + path)
    assert (status, answer["errors"][0]["description"]) == (422, said)


def test_usage_is_elsewhere(store):
    status, answer = store.get(DB + "associations/?user=bin&Include%20usage=true")
    assert status == 200 and answer["associations"][0]["accounting"] == []
    assert [w["source"] for w in answer["warnings"]] == ["Include usage"]


def test_plain_users(store):
    """As recorded: what hangs on a user is shown only when it is asked for."""
    status, answer = store.get(DB + "users/")
    assert status == 200
    assert answer["users"][0] == {"administrator_level": ["None"], "associations": [], "coordinators": [],
                                  "default": {"qos": 0, "account": "", "wckey": ""}, "flags": ["NONE"], "name": "bin", "old_name": "",
                                  "wckeys": []}


def test_recorded_values(store):
    _, answer = store.get(DB + "associations/?user=bin")
    assoc = answer["associations"][0]
    assert list(assoc) == ["accounting", "account", "cluster", "comment", "default", "flags", "max", "id", "is_default", "lineage", "min",
                           "parent_account", "partition", "priority", "qos", "shares_raw", "user"]
    assert (assoc["is_default"], assoc["lineage"], assoc["shares_raw"]) == (True, "/science/physics/0-bin/", 10)
    assert assoc["max"]["jobs"]["per"]["wall_clock"] == INFINITE
    _, answer = store.get(DB + "qos/normal")
    assert answer["qos"][0]["description"] == "Normal QOS default" and answer["qos"][0]["preempt"]["mode"] == ["DISABLED"]
    _, answer = store.get(DB + "clusters/")
    cluster = answer["clusters"][0]
    assert cluster["associations"]["root"]["account"] == "root"


def test_all_at_once(store, shared):
    status, answer = store.get(DB + "config")
    assert status == 200
    assert list(answer) == ["clusters", "tres", "accounts", "users", "qos", "wckeys", "associations", "meta", "errors", "warnings"]
    assert answer["users"] == shown(shared, "users", "user", "withassoc", "withcoord")
    assert answer["associations"] == shown(shared, "associations", "assoc")
    assert answer["qos"] == shown(shared, "qos", "qos")


def test_as_the_caller(store):
    """The store decides what somebody sees; a token that is none sees nothing."""
    status, _, text = store.raw("GET", DB + "accounts/", headers={"X-SLURM-USER-TOKEN": "bad"})
    assert status == 511 and json.loads(text)["errors"] and "accounts" not in json.loads(text)
    status, answer = store.get(DB + "accounts/", user="bin")
    assert status == 200 and len(answer["accounts"]) == 3


# ---- jobs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jobs(store, shared):
    """One that succeeded, one that failed, one that waits."""
    ids = [shared.sbatch("-J", "good", "--comment=noted", wrap="true"), shared.sbatch("-J", "bad", wrap="exit 3")]
    for job in ids:
        shared.wait_end(job)
    ids.append(shared.sbatch("-H", "-J", "held", wrap="true"))
    yield ids
    shared.run("scancel", str(ids[2]))


def of_sacct(c, *words):
    return json.loads(c.run("sacct", "-a", "--json", "-S", "now-1day", "-E", "now+1minute", *words).out)["jobs"]


def still(jobs_shown):
    """Without what the moment of the question changes."""
    for job in jobs_shown:
        for part in [job, *job["steps"]]:
            part["time"].pop("elapsed")
    return jobs_shown


@pytest.mark.parametrize("query, words", [
    ("", []), ("?job_name=good,bad", ["--name=good,bad"]), ("?users=root", ["-u", "root"]), ("?state=FAILED", ["-s", "FAILED"]),
    ("?skip_steps=true", ["-X"]), ("?partition=main", ["-r", "main"]), ("?node=node1", ["-N", "node1"]),
    ("?cluster=test&start_time=now-1hour&disable_truncate_usage_time", [])])
def test_jobs_as_sacct_says(store, shared, jobs, query, words):
    said = still(of_sacct(shared, *words))
    status, answer = store.get(DB + "jobs/" + query)
    assert status == 200 and said
    assert still(answer["jobs"]) == said
    assert list(answer) == ["jobs", "meta", "errors", "warnings"] and answer["errors"] == []


def test_job_fields(store, jobs):
    status, answer = store.get(DB + f"job/{jobs[0]}")
    assert status == 200 and len(answer["jobs"]) == 1
    job = answer["jobs"][0]
    assert (job["job_id"], job["name"], job["comment"]["job"], job["state"]["current"]) == (jobs[0], "good", "noted", ["COMPLETED"])
    assert [s["step"]["name"] for s in job["steps"]][:1] == ["batch"]


@pytest.mark.parametrize("query, names", [
    ("exit_code=3", ["bad"]), ("exit_code=0&state=COMPLETED", ["good"]), ("job_name=nosuch", []), ("users=nosuch", []),
    ("reservation=r", []), ("association=7777", []), ("wckey=nosuch", []), ("account=nosuch", []), ("groups=bin", []),
    ("start_time=1000&end_time=2000", []), ("qos=nosuch", []), ("constraints=gpu", []), ("reason=Priority&state=PENDING", []),
    ("cluster=other", []), ("reservation_id=7", [])])
def test_jobs_chosen(store, jobs, query, names):
    status, answer = store.get(DB + "jobs/?" + query)
    assert status == 200 and [j["name"] for j in answer["jobs"]] == names
    assert [w["description"] for w in answer["warnings"]] == ([] if names else ["slurmdb_jobs_get() found nothing"])


def test_scripts(store, shared, jobs):
    """As sacct --batch-script prints them, where they are asked for."""
    said = shared.run("sacct", "-B", "-j", str(jobs[1])).out.split("-" * 80 + "\n", 1)[1]
    status, answer = store.get(DB + "jobs/?job_name=bad&show_batch_script=true")
    assert status == 200 and [j["script"] for j in answer["jobs"]] == [said] and "exit 3" in said
    assert answer["jobs"][0]["state"]["current"] == ["FAILED"] and answer["jobs"][0]["steps"]
    status, answer = store.get(DB + "jobs/?job_name=bad")
    assert [j["script"] for j in answer["jobs"]] == [""]


def test_steps_chosen(store, jobs):
    status, answer = store.get(DB + f"jobs/?step={jobs[1]},{jobs[0]}.batch")
    assert status == 200 and {j["job_id"] for j in answer["jobs"]} == set(jobs[:2])


@pytest.mark.parametrize("path, said", [
    ("jobs/?state=SLEEPING", "state: there is no SLEEPING"), ("jobs/?start_time=whenever", "start_time: whenever is no time"),
    ("jobs/?exit_code=x", "exit_code: x is no exit code"), ("jobs/?users=" + "a" * 17000, "users is too long")])
def test_bad_questions_about_jobs(store, path, said):
    status, answer = store.get(DB + path)
    assert (status, answer["errors"][0]["description"]) == (422, said)


def test_job_ids_that_are_none(store):
    status, answer = store.get(DB + "job/none")
    assert (status, answer["errors"][0]["error_number"]) == (404, 2017)
    status, answer = store.get(DB + "job/99999")
    assert status == 200 and answer["jobs"] == [] and answer["warnings"]


# ---- the service ---------------------------------------------------------------------------------------


def test_service(store):
    status, answer = store.get(DB + "ping/")
    assert status == 200 and list(answer["pings"][0]) == ["hostname", "responding", "latency", "primary", "status"]
    assert answer["pings"][0]["responding"] and answer["pings"][0]["status"] == "No error"
    status, answer = store.get(DB + "diag/")
    assert status == 200 and list(answer["statistics"]) == ["time_start", "rollups", "RPCs", "users"]
    assert any(rpc["count"] > 0 for rpc in answer["statistics"]["RPCs"])
    assert all(type(row["last_run"]) is int for row in answer["statistics"]["rollups"].values())
    status, answer = store.get(DB + "conf")
    assert (status, answer["errors"][0]["error_number"]) == (422, 2036)
    assert store.get(DB.replace(V, "v0.0.44") + "conf")[0] == 404


def test_instances(store, shared):
    """Machines that a node ran on: by id, type, node and time."""
    node = shared.node_names[0]
    shared.run("scontrol", "update", f"nodename={node}", "instanceid=i-1", "instancetype=t3", "extra=x")
    wait_until(lambda: store.get(DB + "instances/?instance_id=i-1")[1]["instances"], "it is stored")
    shared.run("scontrol", "update", f"nodename={node}", "instanceid=", "instancetype=", "extra=")
    question = f"{DB}instance/?node_list={node},other[1-2]"
    found = wait_until(lambda: [i for i in store.get(question)[1]["instances"] if i["time"]["time_end"]], "it is over")[0]
    assert found.pop("time")["time_start"] > 0
    assert found == {"cluster": "test", "extra": "x", "instance_id": "i-1", "instance_type": "t3", "node_name": node}
    for question in ("instance_type=t4", "node_list=other[1-2]", "extra=y", "time_end=1000", "cluster=nosuch"):
        assert store.get(f"{DB}instances/?{question}")[1]["instances"] == [], question
    check(store, store.get("/openapi/v3")[1], DB + "instances/")
    for question in ("node_list=n[", "time_start=x"):
        assert store.get(f"{DB}instances/?{question}")[0] == 422, question


def test_priority_of_jobs_that_wait(make_cluster):
    """The scheduler's newest, for one job and for many; of a hold it is 0, and a number given by hand is itself."""
    c = make_cluster(nodes=1, cpus=16, conf="AuthAltTypes=auth/jwt\nPriorityType=priority/multifactor\nPriorityWeightJobSize=100000")
    c.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    jobs = [c.sbatch("-n", str(n), "-J", "waits", wrap="true") for n in range(1, 13)]
    given, held = (c.sbatch("-J", "waits", *words, wrap="true") for words in ((), ("-H",)))
    c.run("scontrol", "update", f"JobId={given}", "Priority=77")
    for job in (*jobs, given, held):
        c.wait_sacct(job, "PENDING")

    def queue():
        lines = c.run("squeue", "-h", "-n", "waits", "-o", "%i %Q").out.splitlines()
        return {job: int(priority) for job, priority in map(str.split, lines)}

    def stored(path):
        return {str(job["job_id"]): job["priority"]["number"] for job in rest.get(DB + path)[1]["jobs"]}

    with Restd(c) as rest:
        wait_until(lambda: len({queue()[str(job)] for job in jobs}) == 12, "each has a number of its own")
        now = queue()
        assert now.pop(str(held)) == 0 and now[str(given)] == 77
        assert stored("jobs/?job_name=waits") == now
        assert stored(f"job/{held}") == {str(held): 0}
        for job in (jobs[0], jobs[11], given):
            assert stored(f"job/{job}") == {str(job): now[str(job)]}
        c.run("scancel", str(jobs[0]))
        c.wait_sacct(jobs[0], "CANCELLED")
        assert stored(f"job/{jobs[0]}") == {str(jobs[0]): 0}
