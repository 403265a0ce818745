"""Fields of a submission and of a change that mean an option of a command, or a key of scontrol: what becomes of each."""

import json
import os
import re
import socket

import pytest

from conftest import Cluster, program
from restd import Restd, V, published
from test_rest_words import submit

CLUSTER = {"nodes": 3, "cpus": 4, "conf": "AuthAltTypes=auth/jwt\nPrologFlags=X11\nLicenses=lic:5\nGresTypes=gpu", "node_options": "Gres=gpu:2"}
HOST = socket.gethostname().split(".")[0]
PATH = ["PATH=/usr/bin:/bin"]


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def held(rest, **job):
    status, answer = submit(rest, environment=PATH, hold=True, **job)
    assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer
    return answer["job_id"]


def shown(c, job):
    return c.run("scontrol", "show", "job", str(job)).out


# ---- submissions -----------------------------------------------------------------------------------

@pytest.mark.parametrize("words, variables", [
    ({"memory_binding_type": ["LOCAL", "PREFER"]}, {"SLURM_MEM_BIND=local,prefer"}),
    ({"memory_binding_type": ["MAP"], "memory_binding": "0"}, {"SLURM_MEM_BIND=map_mem:0"}),
    ({"reserve_ports": 3}, {"SLURM_RESV_PORTS=3"}),
    ({"reserve_ports": 0, "memory_binding": "", "memory_binding_type": []}, set()),
    # what the body says of the variable itself counts
    ({"memory_binding": "local", "environment": [*PATH, "SLURM_MEM_BIND=none"]}, {"SLURM_MEM_BIND=none"}),
])
def test_what_steps_are_told(rest, c, words, variables):
    status, answer = submit(rest, **{"environment": PATH, **words})
    assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer
    c.wait_end(answer["job_id"])
    told = {line for line in c.out(answer["job_id"]).splitlines()
            if line.startswith(("SLURM_MEM_BIND=", "SLURM_RESV_PORTS="))}
    assert told == variables


def binding(rest, c, srun="srun -v -n1 true", **words):
    """The binding that the script's srun asks nodes for."""
    path = f"PATH={os.path.dirname(program('srun'))}:/usr/bin:/bin"
    status, answer = submit(rest, f"#!/bin/sh\n{srun}\n", environment=[path], **words)
    assert (status, answer["errors"], answer["warnings"]) == (200, [], [])
    assert c.wait_end(answer["job_id"])["JobState"] == "COMPLETED", c.out(answer["job_id"])
    return re.search(r"CpuBindType=(.*)", c.out(answer["job_id"])).group(1)


@pytest.fixture
def machine(tmp_path):
    """A cluster of this machine as it is, and its slurmrestd."""
    c = Cluster(tmp_path, nodes=1, conf="AuthAltTypes=auth/jwt")
    shape = c.run("slurmd", "-C").out.split("\n")[0].split(None, 1)[1]
    text = re.sub(r"^NodeName=.*$", f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} {shape} State=UNKNOWN",
                  c.conf_text(), flags=re.M)
    c.write_conf(text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity").replace("SlurmdParameters=config_overrides\n", ""))
    c.node_names = [HOST]
    c.start()
    try:
        with Restd(c) as r:
            yield r, c
    finally:
        c.stop()


def test_steps_are_bound(machine):
    rest, c = machine
    assert binding(rest, c) == "(null type)"
    assert binding(rest, c, cpu_binding_flags=["CPU_BIND_NONE"]) == "none"
    assert binding(rest, c, cpu_binding_flags=["VERBOSE", "CPU_BIND_TO_CORES"]) == "verbose,cores"
    assert binding(rest, c, cpu_binding_flags=["CPU_BIND_MASK", "VERBOSE"], cpu_binding="0x1,0x2", shared="none") == "verbose,mask_cpu:0x1,0x2"
    assert binding(rest, c, cpu_binding="sockets") == "sockets"
    # what srun says counts
    assert binding(rest, c, "srun -v -n1 --cpu-bind=none true", cpu_binding="cores") == "none"


@pytest.mark.parametrize("words, field", [
    ({"cpu_binding": "nonsense"}, "cpu_binding"), ({"cpu_binding_flags": ["CPU_BIND_MAP"]}, "cpu_binding"),
    ({"cpu_binding_flags": ["CPU_BIND_MAP"], "cpu_binding": "x"}, "cpu_binding"),
    ({"cpu_binding_flags": ["NOSUCH"]}, "cpu_binding_flags"), ({"memory_binding": "map_mem:"}, "memory_binding"),
    ({"memory_binding_type": ["NOSUCH"]}, "memory_binding_type"), ({"reserve_ports": -1}, "reserve_ports"),
    ({"reserve_ports": 65536}, "reserve_ports"), ({"site_factor": 2**31}, "site_factor"), ({"maximum_cpus": -5}, "maximum_cpus"),
    ({"x11": ["NOSUCH"]}, "x11"),
])
def test_values_that_are_none(rest, c, words, field):
    status, answer = submit(rest, environment=PATH, **words)
    assert status == 422 and field in str(answer["errors"]), answer
    assert c.run("squeue", "-h").out == ""


@pytest.mark.parametrize("value", ["", [], {}, None, "\t", " ", "0", True, [""]])
def test_a_value_that_says_nothing_in_each_field(rest, c, value):
    """Strangers too may send it, with a token that nobody believes: slurmrestd answers, and is there."""
    pid = rest.daemon.pid
    for field in published()["components"]["schemas"]["v0.0.45_job_desc_msg"]["properties"]:
        body = {"script": "#!/bin/sh\n", "job": {"current_working_directory": "/tmp", "environment": PATH, field: value}}
        for path in ("job/submit", "job/1"):
            status, _, text = rest.raw("POST", f"/slurm/{V}/{path}", json.dumps(body if path == "job/submit" else {field: value}), {
                "X-SLURM-USER-TOKEN": "a.b.c", "Content-Type": "application/json"})
            assert status in (422, 511), (field, path, status, text)
    assert rest.daemon.alive() and rest.daemon.pid == pid


def test_an_empty_signal_asks_for_none(rest, c):
    job = held(rest, kill_warning_signal="", kill_warning_flags=["BATCH_JOB"])
    assert "Signal" not in shown(c, job)
    job = held(rest, kill_warning_signal="USR1", kill_warning_flags=["BATCH_JOB"], kill_warning_delay=30)
    assert rest.get(f"job/{job}")[0] == 200


def test_delay_boot_is_seconds(rest, c):
    """As the published schema says; sbatch and scontrol count minutes."""
    job = held(rest, delay_boot=301)
    assert "DelayBoot=00:05:01" in shown(c, job)
    assert rest.get(f"job/{job}")[1]["jobs"][0]["delay_boot"]["number"] == 301
    change(rest, job, delay_boot=90)
    assert "DelayBoot=00:01:30" in shown(c, job)


def test_specialized_threads(rest, c):
    """They are threads, not cores, where the site lets users ask for them."""
    c.write_conf(c.conf_text() + "\nAllowSpecResourcesUsage=yes\n")
    c.run("scontrol", "reconfigure")
    job = held(rest, thread_specification=1)
    assert "ThreadSpec=1" in shown(c, job)
    told = rest.get(f"job/{job}")[1]["jobs"][0]
    assert (told["core_spec"], told["thread_spec"]) == (0, 1)
    job = held(rest, core_specification=1)
    assert "CoreSpec=1" in shown(c, job)


def test_most_cpus(rest, c):
    job = held(rest, minimum_cpus=2, maximum_cpus=4)
    assert "NumCPUs=2-4" in shown(c, job)
    assert rest.get(f"job/{job}")[1]["jobs"][0]["max_cpus"]["number"] == 4
    for words in ({"minimum_cpus": 4, "maximum_cpus": 2}, {"tasks": 3, "maximum_cpus": 2}):
        status, answer = submit(rest, environment=PATH, **words)
        assert status == 422 and answer["errors"][0]["error_number"] == 2069, answer


def test_site_factor(rest, c):
    """An operator's to give, as with scontrol update."""
    job = held(rest, site_factor=-77)
    assert c.run("sprio", "-h", "-j", str(job), "-o", "%S").out.strip() in ("-77", "")
    assert c.run("scontrol", "show", "job", str(job), "--json").rc == 0
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\n", "job": {
        "environment": PATH, "current_working_directory": "/tmp", "site_factor": 5}}, user="bin")
    assert status == 422 and answer["errors"][0]["error_number"] == 2002, answer
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\n", "job": {
        "environment": PATH, "current_working_directory": "/tmp", "site_factor": 0, "hold": True}}, user="bin")
    assert (status, answer["errors"]) == (200, [])


def test_windows(rest, c):
    """An allocation may show windows; a script has nobody who shows them."""
    status, answer = submit(rest, environment=PATH, x11=["FORWARD_ALL_NODES"])
    assert status == 422 and "X11" in answer["errors"][0]["error"], answer
    status, answer = rest.post("job/allocate", {"job": {"current_working_directory": "/tmp", "environment": PATH,
                                                        "x11": ["FIRST_NODE", "LAST_NODE"]}})
    assert (status, answer["errors"], answer["warnings"]) == (200, [], [])
    c.run("scancel", str(answer["job_id"]))


def test_constraint_on_clusters(rest, c):
    """Without a federation it is refused, as --cluster-constraint is."""
    status, answer = submit(rest, environment=PATH, cluster_constraint="big")
    said = c.run("sbatch", "--cluster-constraint=big", "--wrap=true", check=False)
    assert (status != 200) == (said.rc != 0), (answer, said.err)
    if status != 200:
        assert answer["errors"][0]["error"] in said.err


# ---- changes -----------------------------------------------------------------------------------------

def change(rest, job, **words):
    status, answer = rest.post(f"job/{job}", words)
    assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer


@pytest.mark.parametrize("words, before, after", [
    ({"minimum_cpus": 2, "maximum_cpus": 6}, "NumCPUs=1 ", "NumCPUs=2-6 "),
    ({"minimum_nodes": 1, "maximum_nodes": 3}, "NumNodes=1-1 ", "NumNodes=1-3 "),
    ({"maximum_nodes": 2}, "NumNodes=1-1 ", "NumNodes=1-2 "),
    ({"mail_type": ["END", "TIME=80%"]}, "JobId=", "MailType=END,TIME_LIMIT_80"),
    ({"mail_type": "FAIL", "mail_user": "ann@x.org"}, "JobId=", "MailUser=ann@x.org MailType=FAIL"),
    ({"shared": ["oversubscribe"]}, "OverSubscribe=NO", "OverSubscribe=YES"),
    ({"tres_bind": "gres/gpu:closest"}, "JobId=", "TresBind=gres/gpu:closest"),
    ({"cpus_per_tres": "gres/gpu:2"}, "JobId=", "CpusPerTres=gres/gpu:2"),
    ({"memory_per_tres": "gres/gpu:100"}, "JobId=", "MemPerTres=gres/gpu:100"),
    ({"comment": "a"}, "JobId=", "Comment=a"),
    # texts, as commands take them
    ({"time_limit": "0:05:00"}, "TimeLimit=UNLIMITED", "TimeLimit=00:05:00"),
    ({"time_limit": {"set": True, "number": "7"}}, "TimeLimit=UNLIMITED", "TimeLimit=00:07:00"),
])
def test_changes(rest, c, words, before, after):
    job = held(rest, **({"tres_per_node": "gres/gpu:1"} if "gpu" in str(words) else {}))
    assert before in shown(c, job)
    change(rest, job, **words)
    assert after in shown(c, job)


@pytest.mark.parametrize("field, value, key", [("comment", "x", "Comment=x"), ("admin_comment", "y", "AdminComment=y"),
                                               ("extra", "z", "Extra=z"), ("licenses", "lic:2", "Licenses=lic:2"),
                                               ("dependency", "singleton", "Dependency=singleton"),
                                               ("tres_per_node", "gres/gpu:1", "TresPerNode=gres/gpu:1"),
                                               ("required_nodes", "node1", "ReqNodeList=node1"),
                                               ("excluded_nodes", "node1", "ExcNodeList=node1")])
def test_an_empty_text_takes_away(rest, c, field, value, key):
    job = held(rest, **{field: value})
    assert key in shown(c, job)
    change(rest, job, **{field: ""})
    assert key not in shown(c, job)


@pytest.mark.parametrize("words", [{"time_limit": "abc"}, {"memory_per_node": "1G"}, {"begin_time": "nosuchtime"}])
def test_a_text_that_cannot_be_read_changes_nothing(rest, c, words):
    job = held(rest)
    status, answer = rest.post(f"job/{job}", {**words, "comment": "x"})
    assert status == 422 and answer["errors"][0]["description"] == f"Unable to take {list(words)[0]}"
    assert "Comment=" not in shown(c, job)


@pytest.mark.parametrize("endless", ["INFINITE", {"set": True, "infinite": True}])
def test_an_endless_priority_releases(rest, c, endless):
    job = held(rest)
    assert "Reason=JobHeld" in shown(c, job)
    change(rest, job, priority=endless, comment="x")
    assert "Reason=JobHeld" not in shown(c, job) and "Comment=x" in shown(c, job)


def test_tasks_at_a_time(rest, c):
    job = held(rest, array="1-9%2")
    change(rest, job, array="%5")
    assert "ArrayTaskThrottle=5" in shown(c, job)
    status, answer = rest.post(f"job/{job}", {"array": "1-3", "comment": "x"})
    assert status == 200 and "array" in answer["warnings"][0]["description"]


def test_waiting_begins_anew(rest, c):
    status, answer = rest.post("job/submit", {"script": "#!/bin/sh\n", "job": {
        "environment": PATH, "current_working_directory": "/tmp", "minimum_cpus": 12, "shared": "none", "dependency": "singleton"}})
    assert status == 200
    job = held(rest)
    change(rest, job, flags=["JOB_ACCRUE_TIME_RESET"])
    status, answer = rest.post(f"job/{job}", {"flags": ["SPREAD_JOB"], "comment": "x"})
    assert status == 200 and "SPREAD_JOB" in answer["warnings"][0]["description"]


def test_changes_that_are_none(rest, c):
    job = held(rest)
    for words in ({"maximum_nodes": 2**31}, {"minimum_cpus": 5, "maximum_cpus": 2}, {"mail_type": ["NOSUCH"]}, {"burst_buffer": "x"}):
        status, answer = rest.post(f"job/{job}", words)
        assert status == 422 and answer["errors"], words
    status, answer = rest.post(f"job/{job}", {"shared": ["user"], "comment": "x"})
    assert status == 200 and "shared" in answer["warnings"][0]["description"]
    assert rest.get(f"/slurm/{V}/job/{job}")[1]["jobs"][0]["comment"] == "x"
