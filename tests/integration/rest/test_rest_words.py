"""Words of bodies and queries as portals write them: dictionaries of variables, flags with commas and in any case, flags that
are none, and reservations with everything that their descriptions may say."""

import json
import urllib.error
import urllib.request

import pytest

from restd import Restd, V

CLUSTER = {"nodes": 3, "cpus": 4, "conf": "AuthAltTypes=auth/jwt\nLicenses=lic:5"}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def submit(rest, script="#!/bin/sh\nenv\n", **job):
    return rest.post("job/submit", {"script": script, "job": {"current_working_directory": str(rest.c.work), **job}})


def test_variables_as_a_dictionary(rest, c):
    status, answer = submit(rest, environment={"PATH": "/usr/bin:/bin", "LIMIT": 5, "LONG": "a=b,c"})
    assert (status, answer["errors"]) == (200, [])
    c.wait_end(answer["job_id"])
    lines = c.out(answer["job_id"]).splitlines()
    assert {"LIMIT=5", "LONG=a=b,c"} <= set(lines)
    status, answer = submit(rest, environment={"PATH": ["/bin"]})
    assert status == 422 and answer["errors"][0]["source"] == "#/job/environment/PATH/"


@pytest.mark.parametrize("given, shown", [("END,FAIL", ["END", "FAIL"]), (["end", "Fail"], ["END", "FAIL"]), ("end", ["END"]),
                                          ("", []), ([], [])])
def test_words_of_lists(rest, c, given, shown):
    """A text with commas is a list, and words may have any case."""
    status, answer = submit(rest, environment=["PATH=/bin"], mail_type=given, hold=True)
    assert (status, answer["errors"]) == (200, [])
    assert rest.get(f"job/{answer['job_id']}")[1]["jobs"][0]["mail_type"] == shown


@pytest.mark.parametrize("given", ["END,NOSUCH", ["END,FAIL"], "NOSUCH"])
def test_words_that_are_none(rest, c, given):
    status, answer = submit(rest, environment=["PATH=/bin"], mail_type=given)
    assert status == 422 and [e["source"] for e in answer["errors"]] == ["#/job/mail_type/"]


@pytest.mark.parametrize("path", ["jobs/", "nodes/", "partitions/", "job/1", "/slurm/v0.0.42/jobs/"])
def test_flags_of_queries(rest, c, path):
    assert rest.get(path + "?flags=DETAIL,all")[1]["errors"] == rest.get(path)[1]["errors"]
    for flags in ("NOSUCH", "DETAIL,NOSUCH", "flags"):
        status, answer = rest.get(f"{path}?flags={flags}")
        assert status == 422, flags
        assert [(e["error_number"], e["source"]) for e in answer["errors"]] == [(9000, "#/flags/")]


@pytest.mark.parametrize("path, word", [("job/1/requeue", "Hold"), ("/slurmdb/v0.0.45/accounts/", "WithAssociations"),
                                        ("/slurmdb/v0.0.45/qos/", "Include%20deleted%20QOS"), ("/slurmdb/v0.0.42/jobs/", "skip_steps")])
def test_truths_of_queries(rest, c, path, word):
    source = f"#/{word.replace('%20', ' ')}/"
    for value in ("", "true", "True", "yes", "1", "on", "false", "No", "0", "off"):
        errors = rest.get(f"{path}?{word}={value}")[1]["errors"]
        assert source not in [e["source"] for e in errors], value
    for value in ("maybe", "2", "true,false", "tru"):
        status, answer = rest.get(f"{path}?{word}={value}")
        assert status == 422 and [(e["error_number"], e["source"]) for e in answer["errors"]] == [(9000, source)], value


def test_queries_that_say_nothing(rest, c):
    status, answer = rest.get("jobs/?update_tme=5&fields=name&limit=2")
    assert (status, answer["errors"]) == (200, [])
    assert [w["source"] for w in answer["warnings"]] == ["#/update_tme/"]


def test_a_signal_with_a_flag_that_is_none(rest, c):
    """Nothing is killed by a request that was not understood."""
    job = submit(rest, "#!/bin/sh\nsleep 300\n", environment=["PATH=/bin"])[1]["job_id"]
    assert rest.delete(f"job/{job}?flags=NOSUCH")[0] == 422
    assert c.state(job) in ("PENDING", "RUNNING")
    assert rest.delete(f"job/{job}?flags=FULL_JOB")[1]["status"] == []


# ---- reservations: reservations.md 8 -----------------------------------------------------------------

@pytest.fixture
def resv(rest, c):
    """post(...) changes the reservation r, whose record scontrol shows."""
    def post(**words):
        status, answer = rest.post("reservation", {"name": "r", **words})
        assert (status, answer["errors"]) == (200, []), answer
        return shown(c, "r"), answer["reservations"][0]
    yield post
    rest.delete("reservation/r")


def shown(c, name):
    return dict(word.split("=", 1) for word in c.run("scontrol", "-o", "show", "reservation", name).out.split())


START = {"start_time": {"set": True, "number": 2000000000}, "users": ["root"]}


def test_flags_are_cleared(resv):
    made, _ = resv(**START, duration=60, node_list="node1", flags=["MAINT", "IGNORE_JOBS"], comment="x")
    assert made["Flags"] == "MAINT,IGNORE_JOBS,SPEC_NODES"
    made, told = resv(flags=["NO_IGNORE_JOBS"], duration={"set": True, "number": 180})
    assert (made["Flags"], made["Duration"], made["Comment"]) == ("MAINT,SPEC_NODES", "03:00:00", "x")
    assert told["flags"] == ["NO_IGNORE_JOBS"] and told["duration"] == {"set": True, "infinite": False, "number": 180}
    assert resv(flags="NO_MAINT,daily")[0]["Flags"] == "DAILY,SPEC_NODES"
    assert resv(flags=["NO_DAILY"])[0]["Flags"] == "SPEC_NODES"


def test_what_get_says_may_be_sent_back(resv, rest):
    resv(**START, duration=60, node_list="node[1-3]", flags=["DAILY"])
    record = rest.get("reservation/r")[1]["reservations"][0]
    sent = {key: record[key] for key in ("flags", "users", "max_start_delay", "purge_completed")}
    assert resv(**sent)[0]["Flags"] == "DAILY,SPEC_NODES"


def test_durations_are_changed(resv):
    resv(**START, duration=60, node_list="node1")
    assert resv(flags=["DURATION_PLUS"], duration=30)[0]["Duration"] == "01:30:00"
    assert resv(flags=["DURATION_MINUS"], duration=10)[0]["Duration"] == "01:20:00"


def test_times_in_seconds(resv, rest):
    made, told = resv(**START, duration=60, node_list="node1", max_start_delay=90, flags=["PURGE_COMP"], purge_completed={"time": 150})
    assert (made["MaxStartDelay"], made["Flags"]) == ("00:01:30", "SPEC_NODES,PURGE_COMP=00:02:30")
    assert told["max_start_delay"]["number"] == 90 and told["purge_completed"]["time"]["number"] == 150
    record = rest.get("reservation/r")[1]["reservations"][0]
    assert (record["max_start_delay"], record["purge_completed"]["time"]["number"]) == (90, 150)
    assert resv(flags=["NO_PURGE_COMP"])[0]["Flags"] == "SPEC_NODES"


def test_the_next_occurrence(resv, rest):
    begin = resv(**START, duration=60, node_list="node1", flags=["DAILY"])[0]["StartTime"]
    assert begin == "2033-05-18T03:33:20"
    assert resv(flags=["SKIP"])[0]["StartTime"] == "2033-05-19T03:33:20"
    resv(flags=["NO_DAILY"])
    status, answer = rest.post("reservation", {"name": "r", "flags": ["SKIP"]})
    assert status == 422 and answer["errors"]


def test_resources_of_each_node(resv):
    made, told = resv(**START, duration=60, node_count=2, flags=["TRES_PER_NODE"], tres=[{"type": "cpu", "count": 2}])
    assert (made["NodeCnt"], made["CoreCnt"]) == ("2", "4")
    assert told["tres"] == [{"type": "cpu", "name": "", "id": 0, "count": 2}] and told["node_count"]["number"] == 2


def test_a_reservation_has_a_name(rest, c):
    before = rest.get("reservations/")[1]["reservations"]
    for body in ({**START, "duration": 60, "node_list": "node1"}, {**START, "name": "", "duration": 60, "node_list": "node1"}):
        status, answer = rest.post("reservation", body)
        assert status == 422 and answer["errors"][0]["error_number"] == 2053
    assert rest.get("reservations/")[1]["reservations"] == before == []


def test_the_name_in_any_case(resv, rest):
    resv(**START, duration=60, node_list="node1")
    status, answer = rest.post("reservation", {"name": "R", "comment": "y"})
    assert (status, [r["name"] for r in answer["reservations"]]) == (200, ["r"])


# ---- tokens ------------------------------------------------------------------------------------------

def test_a_token_that_is_not_believed(rest, c):
    """511 and 1007 from every daemon behind; 401 is for callers without a token."""
    for path in (f"/slurm/{V}/jobs/", f"/slurm/{V}/nodes/", f"/slurmdb/{V}/users/", "/penstock/v1/topology"):
        status, _, text = rest.raw("GET", path, headers={"X-SLURM-USER-TOKEN": "a.b.c"})
        assert (status, json.loads(text)["errors"][0]["error_number"]) == (511, 1007), path
        assert rest.raw("GET", path)[0] == 401


# ---- CPUs in all ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, cpus, tasks", [({"minimum_cpus": 3}, 3, 1), ({"minimum_cpus": 4, "tasks": 2}, 4, 2),
                                                ({"minimum_cpus": 1, "tasks": 3}, 3, 3),
                                                ({"minimum_cpus": {"set": True, "number": 2}}, 2, 1)])
def test_the_least_number_of_cpus(rest, c, words, cpus, tasks):
    """A job gets as many CPUs as it asks for, though it has fewer tasks."""
    status, answer = submit(rest, "#!/bin/sh\nsleep 300\n", environment=["PATH=/bin:/usr/bin"], **words)
    if isinstance(words["minimum_cpus"], dict):  # the published type is a bare number
        assert status == 422
        return
    assert (status, answer["errors"], answer["warnings"]) == (200, [], [])
    c.wait_state(answer["job_id"], "RUNNING")
    job = rest.get(f"job/{answer['job_id']}")[1]["jobs"][0]
    assert (job["cpus"]["number"], job["tasks"]["number"]) == (cpus, tasks)
    assert f"cpu={cpus}," in job["tres_alloc_str"]


def test_another_number_of_cpus(rest, c):
    job = submit(rest, environment=["PATH=/bin"], minimum_cpus=4, hold=True)[1]["job_id"]
    assert rest.post(f"job/{job}", {"minimum_cpus": 2})[0] == 200
    assert "cpu=2," in rest.get(f"job/{job}")[1]["jobs"][0]["tres_req_str"]


# ---- probes ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz"])
def test_probes(rest, path):
    """An orchestrator has no token: 204 and nothing else (external-orchestration.md 7)."""
    for method in ("GET", "HEAD"):
        status, headers, text = rest.raw(method, path)
        assert (status, text) == (204, "") and "Content-Type" not in headers
    assert rest.raw("POST", path)[0] == rest.raw("GET", path + "/")[0] == 404


# ---- the configuration at the controller's own port ------------------------------------------------------

def ctld(c, path, port=None, **headers):
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port or c.port}{path}", headers=headers), timeout=30) as answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_configuration_at_the_controller(rest, c):
    """/{data_parser}/conf (recording 31, observability.md 1): for users by token, the object of slurmrestd's conf."""
    index = ctld(c, "/")[2].splitlines()
    assert index[1:3] == ["  '/{data_parser}/conf': dump slurm configuration", "     ({data_parser} is the version)"]
    want = rest.get("conf")[1]
    for headers in ({"X-SLURM-USER-TOKEN": rest.token("bin")}, {"Authorization": "Bearer " + rest.token("root")}):
        status, kind, text = ctld(c, "/v0.0.45/conf", **headers)
        told = json.loads(text)
        assert (status, kind) == (200, "application/json") and told["slurm_conf"] == want["slurm_conf"]
        assert told["slurm_conf"]["ClusterName"] == "test" and told["slurm_conf"]["Licenses"] == ["lic:5"]
        assert told["slurm_conf_meta"]["SLURM_CONF"] == str(c.conf)


def test_configuration_at_a_node(rest, c):
    """slurmd tells the file that it goes by."""
    status, kind, text = ctld(c, "/v0.0.45/conf", c.node_ports[0], **{"X-SLURM-USER-TOKEN": rest.token("bin")})
    told, want = json.loads(text)["slurm_conf"], rest.get("conf")[1]["slurm_conf"]
    assert (status, kind) == (200, "application/json") and list(told) == list(want)
    for key in ("ClusterName", "SlurmctldPort", "Licenses", "SelectType", "DefMemPerCPU", "controllers"):
        assert told[key] == want[key]
    with pytest.raises(urllib.error.HTTPError) as error:
        ctld(c, "/v0.0.45/conf", c.node_ports[0])
    assert error.value.code == 401


@pytest.mark.parametrize("path, token, status", [("/v0.0.45/conf", None, 401), ("/v0.0.45/conf", "a.b.c", 401),
                                                 ("/v0.0.42/conf", "good", 404),
                                                 ("/conf", "good", 404), ("/v0.0.45/conf/", "good", 404)])
def test_no_configuration(rest, c, path, token, status):
    headers = {"X-SLURM-USER-TOKEN": rest.token("root") if token == "good" else token} if token else {}
    with pytest.raises(urllib.error.HTTPError) as error:
        ctld(c, path, **headers)
    assert error.value.code == status and "slurm_conf" not in error.value.read().decode()


@pytest.mark.parametrize("accept, dense", [("application/json;indent=0", True), ("text/html, Application/JSON ; indent=0, */*", True),
                                           ("application/json", False), ("application/json;indent=00", False),
                                           ("application/json;indent=4", False), ("*/*;indent=0", False),
                                           ("application/x-yaml, application/json;", False)])
def test_without_blanks(rest, accept, dense):
    """indent=0: the same answer on one line, short and long."""
    for path in (f"/slurm/{V}/ping/", f"/slurm/{V}/nodes/", f"/slurm/{V}/jobs/"):
        plain, packed = (rest.raw("GET", path, headers={"X-SLURM-USER-TOKEN": rest.token("root"), "Accept": a})
                         for a in ("application/json", accept))
        assert plain[0] == packed[0] == 200 and packed[1]["Content-Type"] == "application/json"
        assert ("\n" not in packed[2].strip()) == dense and (len(packed[2]) < 0.9 * len(plain[2])) == dense
        assert json.loads(packed[2]).keys() == json.loads(plain[2]).keys()
