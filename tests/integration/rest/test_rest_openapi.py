"""The OpenAPI document, and answers that keep to it.  Expected: the published document (tests/golden/rest) and recording 30."""

import json
import sys

import pytest

from conftest import ROOT
from restd import Restd, V, check

sys.path.insert(0, str(ROOT / "tests"))
from openapi_lines import lines  # noqa: E402

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\nLicenses=matlab:10"}
PUBLISHED = (ROOT / "tests/golden/rest/openapi-v0.0.45.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


@pytest.fixture(scope="module")
def document(rest):
    return rest.get("/openapi/v3")[1]


def test_equals_the_published_document(shared):
    with Restd(shared, "-d", "v0.0.45") as r:
        ours = lines(r.get("/openapi")[1])
    assert ours == PUBLISHED


def test_document(document):
    assert [p["plugin"] for p in document["info"]["x-slurm"]["data_parsers"]] == [f"v0.0.{n}" for n in range(42, 46)]
    assert document["info"]["x-slurm"]["openapi"] == ["openapi/slurmctld", "openapi/slurmdbd", "openapi/util"]
    assert document["info"]["version"] == "Slurm-26.05.3" and document["openapi"] == "3.0.3"
    # the four versions, each with what it had
    assert "/slurm/v0.0.44/conf" not in document["paths"] and "/slurm/v0.0.45/conf" in document["paths"]
    assert "post" not in document["paths"]["/slurm/v0.0.44/partitions/"] and "get" in document["paths"]["/slurm/v0.0.42/partitions/"]
    sums = [document["components"]["schemas"][f"v0.0.{v}_stats_msg"]["properties"]["schedule_cycle_sum"]["format"] for v in range(42, 46)]
    assert sums == ["int32", "int32", "int64", "int64"]
    ids = [op["operationId"] for methods in document["paths"].values() for op in methods.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", ["ping/", "diag/", "licenses/", "nodes/", "node/node1", "partitions/", "partition/main", "reservations/",
                                  "shares", "conf"])
def test_answers_keep_to_it(rest, document, path):
    check(rest, document, path)


def test_jobs_keep_to_it(rest, shared, document):
    shared.run("scontrol", "create", "reservation=r1", "starttime=now+1hour", "duration=60", "users=root", "nodes=node1", "flags=maint")
    jobs = [shared.sbatch("-H", "-a", "1-3", "-L", "matlab:2", "--mail-type=ALL", "-d", "singleton", wrap="true"),
            shared.sbatch("-N2", "-t5", "--exclusive", "-C", "", "--signal=USR1@30", wrap="sleep 60")]
    done = shared.sbatch(wrap="exit 3")
    shared.wait_state(jobs[1], "RUNNING")
    for job in jobs:
        check(rest, document, f"job/{job}")
    held = check(rest, document, f"resources/{jobs[1]}")["nodes"]
    assert [n["node"] for n in held] == ["node1", "node2"] and all(n["core_bitmap"] == "0xF" for n in held), held
    assert check(rest, document, f"resources/{jobs[0]}")["nodes"] == []
    assert rest.get("resources/99999")[0] == 404
    assert len(check(rest, document, "jobs/")["jobs"]) >= 3
    # jobs/state/ is published with the answer of jobs/, and recorded with less: the recording is right
    check(rest, document, "reservation/r1")
    check(rest, document, "nodes/")
    check(rest, document, "job/99999")
    shared.run("scancel", *map(str, jobs))
    shared.wait_end(done)
    check(rest, document, f"job/{done}")
    shared.run("scontrol", "delete", "reservation=r1")


def test_configuration(rest, shared):
    conf = rest.get("conf")[1]
    assert list(conf) == ["slurm_conf", "slurm_conf_meta", "meta", "errors", "warnings"]
    values = conf["slurm_conf"]
    assert values["ClusterName"] == "test" and values["AuthAltTypes"] == ["auth/jwt"] and values["Licenses"] == ["matlab:10"]
    assert values["SlurmctldPort"] == shared.port and values["MaxArraySize"] == 1001 and values["KillWait"] > 0
    assert conf["slurm_conf_meta"]["SLURM_VERSION"] == "26.05.3"


def test_unknown_fields_are_told(rest, shared):
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\ntrue\n", "job": {
        "nosuchfield": 1, "environment": ["A=b"], "current_working_directory": "/tmp"}})
    assert status == 200
    assert answer["warnings"] == [{"source": "#/job/nosuchfield/", "description":
                                   'Ignoring unknown field "nosuchfield" of type 64 bit integer in DATA_PARSER_JOB_DESC_MSG'}]
    shared.wait_end(answer["job_id"])


def test_hosts(rest):
    status, answer = rest.post(f"/util/{V}/hostnames", {"hostlist": "n[1-3]"})
    assert status == 200 and answer["hostnames"] == ["n1", "n2", "n3"]
    assert list(answer) == ["hostnames", "meta", "errors", "warnings"] and answer["meta"]["plugin"]["type"] == "openapi/util"
    assert rest.post(f"/util/{V}/hostlist", {"hostnames": ["n1", "n2"]})[1]["hostlist"] == "n[1-2]"
    assert rest.post(f"/util/{V}/hostnames", {"hostlist": "n["})[0] == 422
    assert rest.post(f"/util/{V}/hostnames", {})[0] == 422
    assert rest.post("/util/v0.0.43/hostnames", {"hostlist": "n1"})[0] == 404


def test_yaml_bodies(rest, shared):
    text = "script: |\n  #!/bin/sh\n  true\njob:\n  name: yaml\n  environment: [A=b]\n  current_working_directory: /tmp\n"
    status, answer = rest.post("job/submit", text, Content_Type="application/x-yaml")
    assert status == 200 and shared.wait_end(answer["job_id"])["JobName"] == "yaml"
    head = {"X-SLURM-USER-TOKEN": rest.token("root"), "Accept": "application/x-yaml"}
    assert rest.raw("GET", "/openapi", headers=head)[2].startswith("%YAML 1.1\n--- !!map\n!!str tags: !!seq\n")


def test_only_some_plugins(shared):
    with Restd(shared, "-s", "openapi/util", "-d", "data_parser/v0.0.44") as r:
        assert r.get(f"/slurm/{V}/ping")[0] == 404
        assert r.post("/util/v0.0.44/hostlist", {"hostnames": ["a"]})[0] == 200
        assert r.post(f"/util/{V}/hostlist", {"hostnames": ["a"]})[0] == 404
        assert sorted(r.get("/openapi")[1]["paths"]) == ["/util/v0.0.44/hostlist", "/util/v0.0.44/hostnames"]


def test_generate(shared):
    from restd import run_once
    done = run_once(shared, "", "--generate-openapi-spec", "-s", "util")
    assert done.returncode == 0 and json.loads(done.stdout)["openapi"] == "3.0.3"
