"""--json of every command against the types that REST clients are generated from; +complex, styles, memory.

tests/golden/openapi-v0.0.45.json holds the facts of that interface: keys, types, enumerations, without prose."""

import json
import re
import subprocess

import pytest

from conftest import ROOT, SANITIZED, wait_until

CLUSTER = {"nodes": 3, "conf": "Licenses=matlab:10,ansys:4\nMaxJobCount=70000\nMaxArraySize=60001"}
SCHEMAS = json.loads((ROOT / "tests" / "golden" / "openapi-v0.0.45.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def problems(value, schema, at="$"):
    """What in value is not as the schema says, one text each.  Keys that it does not name are wrong."""
    schema = SCHEMAS[schema["$ref"]] if "$ref" in schema else schema
    kind = schema.get("type")
    if value is None and at.endswith(".job_resources"):
        return []  # of a job without resources, as recorded; the schema does not say so
    if kind and (not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
        return [f"{at}: {type(value).__name__}, not {kind}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is none of {schema['enum']}")
    if kind == "array":
        for i, element in enumerate(value):
            found += problems(element, schema.get("items", {}), f"{at}[{i}]")
    if kind == "object":
        known = schema.get("properties", {})
        # Required names with a slash stand for keys of other objects.
        found += [f"{at}.{key}: missing" for key in schema.get("required", ()) if value and "/" not in key and key not in value]
        for key, element in value.items():
            if key in known:
                found += problems(element, known[key], f"{at}.{key}")
            elif known and "additionalProperties" not in schema:
                found.append(f"{at}.{key}: unknown key")
    return found


@pytest.fixture(scope="module")
def q(shared):
    c = shared
    c.run("sacctmgr", "-i", "add", "account", "physics", "fairshare=7", "grptresmins=cpu=100000")
    c.run("sacctmgr", "-i", "add", "user", "nobody", "account=physics")
    c.ended = c.sbatch("-J", "ended", wrap="srun true; exit 2")
    c.wait_end(c.ended)
    c.run1 = c.sbatch("-J", "run", "-n4", "-t", "20", "-w", "node1", "-L", "matlab:2", "--mail-type=ALL", wrap="srun sleep 1000")
    c.held = c.sbatch("-H", "--exclusive", "-N2", "--comment=a \"quoted\" \\ word/é", "--mem=100", wrap="true")
    c.sbatch("-H", "-a", "1-5%2", wrap="true")
    c.sbatch("--begin=now+1day", "-d", f"afterany:{c.run1}", wrap="true")
    c.run("scontrol", "update", "nodename=node3", "state=drain", "reason=a reason")
    wait_until(lambda: f"{c.run1}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "the step runs")
    c.wait_sacct(c.ended, "FAILED")
    return c


COMMANDS = [("squeue -t all", "job_info"), ("squeue -r", "job_info"), ("scontrol show jobs", "job_info"),
            ("scontrol show nodes", "nodes"), ("scontrol show partitions", "partition"), ("scontrol ping", "ping_array"),
            ("scontrol show licenses", "licenses"), ("sdiag", "diag"), ("sacct -S now-1hour -a", "slurmdbd_jobs"), ("sshare -a", "shares")]


@pytest.mark.parametrize("command,schema", COMMANDS)
def test_schema(q, command, schema):
    argv = command.split()
    answer = json.loads(q.run(*argv, "--json").out)
    wrong = problems(answer, {"$ref": f"openapi_{schema}_resp"})
    assert not wrong, "\n".join(wrong[:40])
    key = next(iter(answer))
    assert answer[key], "something was there to be checked"
    assert answer["meta"]["command"] == [*argv, "--json"] and answer["errors"] == []


def test_validator_finds_mistakes(q):
    """The checker above sees a wrong type, a wrong word and a foreign key."""
    answer = json.loads(q.run("squeue", "--json").out)
    job = answer["jobs"][0]
    for key, value in (("job_id", "1"), ("job_state", ["BUSY"]), ("nosuch", 1), ("time_limit", {"set": 1})):
        bad = {**answer, "jobs": [{**job, key: value}]}
        assert problems(bad, {"$ref": "openapi_job_info_resp"}), key


@pytest.mark.parametrize("command,schema", COMMANDS)
def test_styles_say_the_same(q, command, schema):
    """Compact and pretty JSON, and YAML's keys in the same order."""
    argv = command.split()
    pretty = q.run(*argv, "--json").out
    compact = q.run(*argv, "--json", env={"SLURM_JSON": "compact"}).out
    assert compact.count("\n") <= 1 < pretty.count("\n")
    def keys(v):
        return [(k, keys(x)) for k, x in v.items()] if isinstance(v, dict) else [keys(x) for x in v] if isinstance(v, list) else 0
    assert keys(json.loads(compact)) == keys(json.loads(pretty))
    dense = q.run(*argv, "--yaml", env={"SLURM_YAML": "compact"}).out
    assert dense.count("\n") <= 1 and keys(json.loads(dense)) == keys(json.loads(pretty))
    assert q.run(*argv, "--json", env={"SLURM_YAML": "compact"}).out.count("\n") > 1
    yaml = q.run(*argv, "--yaml").out
    assert yaml.startswith("%YAML 1.1\n--- !!map\n") and yaml.endswith("...\n")
    assert re.findall(r"!!str (?:\"([^\"]+)\"|([\w:/.-]+)): ", yaml)[0][1] == next(iter(json.loads(pretty)))


def test_numbers(q):
    """Unset and infinite numbers are objects; with +complex they are null and a word."""
    job = json.loads(q.run("squeue", "-j", q.held, "--json").out)["jobs"][0]
    assert job["tasks_per_core"] == {"set": False, "infinite": True, "number": 0}
    assert job["memory_per_node"] == {"set": True, "infinite": False, "number": 100}
    assert job["comment"] == "a \"quoted\" \\ word/é"
    job = json.loads(q.run("squeue", "-j", q.held, "--json=v0.0.45+complex").out)["jobs"][0]
    assert job["tasks_per_core"] == "Infinity" and job["array_task_id"] is None and job["memory_per_node"] == 100


def test_values(q):
    """As recorded (29-json, 30-rest): what nobody asked for is told from what was."""
    asked = json.loads(q.run("scontrol", "show", "step", f"{q.run1}.0", "--json").out)["steps"][0]["cpu"]["frequency"]
    assert {key: value["set"] for key, value in asked.items()} == {"min": False, "max": False, "governor": False}
    steps = json.loads(q.run("sacct", "-j", q.ended, "--json").out)["jobs"][0]["steps"]
    assert {s["step"]["name"]: (s["CPU"]["requested_frequency"]["min"]["set"], s["CPU"]["governor"]) for s in steps} == {
        "batch": (True, "0"), "true": (False, "Unknown")}

    def mode():
        return json.loads(q.run("scontrol", "show", "partition", "extra", "--json").out)["partitions"][0]["preempt_mode"]
    q.run("scontrol", "create", "partition=extra")
    assert mode() == ["CLUSTER_GLOBAL"]
    q.run("scontrol", "update", "partition=extra", "preemptmode=cancel")
    assert mode() == ["CANCEL"]
    q.run("scontrol", "delete", "partition=extra")
    assert json.loads(q.run("scontrol", "show", "partition", "--json").out)["partitions"][0]["preempt_mode"] == ["CLUSTER_GLOBAL"]
    waiting = q.sbatch("-w", "node1", "-n4", "--exclusive", wrap="true")
    wait_until(lambda: json.loads(q.run("squeue", "--json").out)["last_backfill"]["number"] > 0, "a plan was made")
    q.run("scancel", waiting)
    missing = json.loads(q.run("scontrol", "show", "job", "99999", "--json").out)
    assert missing["last_update"]["number"] == missing["last_backfill"]["number"] == 0


@pytest.mark.parametrize("arg,out,rc", [("list", "data_parser/v0.0.45\n", 0), ("nosuch", "", 1)])
def test_versions(q, arg, out, rc):
    done = q.run("squeue", f"--json={arg}", check=False)
    assert done.rc == rc and out in done.out
    assert done.err == ("Possible data_parser plugins:\n" if rc == 0 else
                        "squeue: error: load_plugins: unable to find plugin: data_parser/nosuch\n"
                        "squeue: error: data_parser_g_new: failure loading plugins: Plugin has invalid format or unable to be loaded\n"
                        "squeue: error: application/json output not supported by data_parser/v0.0.45\n")


@pytest.mark.skipif(SANITIZED, reason="a sanitizer takes memory of its own")
@pytest.mark.parametrize("option", ["--json", "--yaml"])
def test_memory_does_not_grow(q, option):
    """50,000 jobs make 400 MB of text; 24 MiB of data must do."""
    big = q.sbatch("-H", "-J", "big", "-a", "1-50000", wrap="true")
    limited = f"ulimit -d 24576; exec squeue -r -n big {option}"
    with subprocess.Popen(["bash", "-c", limited], env=q.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        size = lines = 0
        while block := p.stdout.read(1 << 20):
            size, lines = size + len(block), lines + block.count(b"job_id")
        err = p.stderr.read()
    q.run("scancel", big)
    assert (p.returncode, err) == (0, b"") and size > 200_000_000 and lines >= 50_000
