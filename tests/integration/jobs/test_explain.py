"""Why a job waits, in sentences and figures; a change that is named really starts it."""

import json
import re

from conftest import wait_until

CLUSTER = {"nodes": 3, "node_options": "Feature=plain"}


def explain(c, job):
    return json.loads(c.run("scontrol", "--json", "explain", "job", job).out)


def settled(c, job, reason):
    wait_until(lambda: c.job(job).get("Reason") == reason, f"job {job} waits for {reason}")


def causes(part):
    return {x["cause"]: x["nodes"] for x in part["causes"]}


def test_resources_and_fewer_nodes(c):
    first = c.sbatch("-N2", "--exclusive", "-t10", wrap="sleep 60")
    c.wait_state(first, "RUNNING")
    job = c.sbatch("-N3", "--exclusive", "-t30", wrap="sleep 60")
    settled(c, job, "Resources")
    told = explain(c, job)
    part = told["partitions"][0]
    assert part["name"] == "main" and part["wanted_nodes"] == 3 and part["suitable_nodes"] == 3
    assert causes(part) == {"held by running jobs": 2, "free": 1}
    assert [(h["job_id"], h["nodes"]) for h in part["holders"]] == [(first, 2)]
    assert (part["place"], part["queued"]) == (1, 1)
    assert 0 < told["expected_us"] - told["now_us"] <= 10 * 60 * 10**6
    assert "--nodes=1" in [x["option"] for x in told["changes"]]
    text = c.run("squeue", "--explain", "-j", job).out
    assert text.startswith(f"Job {job} waits for nodes.\n")
    assert "It is 1st of 1 in the queue of main." in text and f"Job {first} of " in text
    # The promise is kept.
    c.run("scontrol", "update", f"JobId={job}", "NumNodes=1")
    c.wait_state(job, "RUNNING")


def test_licenses(make_cluster):
    c = make_cluster(nodes=1, conf="Licenses=matlab:10,ansys:4")
    first = c.sbatch("-L", "matlab:6,ansys:1", "-t10", wrap="sleep 60")
    c.wait_state(first, "RUNNING")
    job = c.sbatch("-L", "ansys:2,matlab:6", "-t10", wrap="sleep 60")
    settled(c, job, "Licenses")
    text = c.run("scontrol", "explain", job).out
    assert "License matlab: it asks for 6; of 10, 4 are free." in text and "License ansys" not in text
    assert re.search(rf"Job {first} of \S+ holds 6 of them, until \d{{4}}-", text)


def test_time_limit_lets_it_backfill(c):
    first = c.sbatch("-N2", "--exclusive", "-t10", wrap="sleep 60")
    c.wait_state(first, "RUNNING")
    head = c.sbatch("-N3", "--exclusive", "-t10", wrap="sleep 60")
    settled(c, head, "Resources")
    job = c.sbatch("-N1", "--exclusive", "-t60", wrap="sleep 60")
    settled(c, job, "Priority")
    told = explain(c, job)
    part = told["partitions"][0]
    assert (part["place"], part["queued"]) == (2, 2)
    assert causes(part)["kept for a job that goes before"] == 1
    change = next(x for x in told["changes"] if x["option"].startswith("--time="))
    assert f"before job {head}" in change["sentence"]
    minutes = int(change["option"].split("=")[1])
    assert 1 <= minutes < 10
    c.run("scontrol", "update", f"JobId={job}", f"TimeLimit={minutes}")
    c.wait_state(job, "RUNNING")


def test_what_releases_it(c):
    held = c.sbatch("-H", wrap="true")
    told = explain(c, held)
    assert told["reason"] == "REASON_JOB_HELD_USER" and f"scontrol release {held}" in told["release"]
    assert "Let go now, it would start at once." in told["sentences"]
    later = c.sbatch("--begin=now+1hour", wrap="true")
    assert explain(c, later)["reason"] == "REASON_BEGIN_TIME"
    waits = c.sbatch(f"-dafterok:{held}", wrap="true")
    told = explain(c, waits)
    assert told["reason"] == "REASON_DEPENDENCY" and f"afterok:{held}" in told["summary"]
    array = c.sbatch("--array=1-3%1", wrap="sleep 60")
    wait_until(lambda: "RUNNING" in c.run("squeue", "-h", "-r", "-j", array, "-o", "%T").out, "one task runs")
    lines = c.run("scontrol", "--json", "explain", "job", array).out.splitlines()
    told = next(x for x in map(json.loads, lines) if "[" in x["id_text"])
    assert told["reason"] == "REASON_ARRAY_TASK_LIMIT" and "ArrayTaskThrottle=2" in told["release"]
    c.run("scontrol", "update", f"JobId={held}", "Priority=0")
    for task in (f"{array}_3", f"{array}_[2-3]"):  # one that waits with others in the array's record
        assert c.run("scontrol", "explain", task).out.startswith(f"Job {array}_[2-3"), task
    assert f"Invalid job id specified for job {array}_9" in c.refused("scontrol", "explain", f"{array}_9")


def test_nodes_not_up(c):
    c.run("scontrol", "update", "NodeName=node2", "State=DRAIN", "Reason=test")
    try:
        job = c.sbatch("-N3", wrap="true")
        wait_until(lambda: "DOWN, DRAINED" in c.run("squeue", "-h", "-j", job, "-o", "%r").out, "the reason")
        told = explain(c, job)
        part = told["partitions"][0]
        assert part["reason"] == "REASON_NODES_UNAVAILABLE"
        assert {"cause": "drained", "nodes": 1, "names": "node2"} in part["causes"]
        assert "--nodes=2" in [x["option"] for x in told["changes"]]
        c.run("scancel", job)
    finally:
        c.run("scontrol", "update", "NodeName=node2", "State=RESUME")


def test_partitions_of_gpus_are_for_those_who_use_them(make_cluster):
    """A job without GPUs is not sent where it would keep them from others; one with GPUs is."""
    c = make_cluster(start=False, nodes=3, conf="GresTypes=gpu")
    (c.conf.parent / "gres.conf").write_text("NodeName=node2 Name=gpu Count=2\n")
    lines = c.conf_text().replace("Nodes=ALL", "Nodes=node1").replace("NodeName=node2 ", "NodeName=node2 Gres=gpu:2 ")
    c.conf_text = lambda: lines + "PartitionName=gpus Nodes=node2\nPartitionName=more Nodes=node3\n"
    c.write_conf()
    c.start()
    c.wait_state(c.sbatch("--exclusive", wrap="sleep 60"), "RUNNING")
    job = c.sbatch("--exclusive", "-t5", wrap="sleep 60")
    settled(c, job, "Resources")
    options = [x["option"] for x in explain(c, job)["changes"]]
    assert "--partition=more" in options and "--partition=gpus" not in options


def test_partition_down(c):
    c.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        job = c.sbatch(wrap="true")
        settled(c, job, "PartitionDown")
        told = explain(c, job)
        assert told["partitions"][0]["reason"] == "REASON_PARTITION_DOWN"
        assert any("it is down" in x for x in told["sentences"])
        c.run("scancel", job)
    finally:
        c.run("scontrol", "update", "PartitionName=main", "State=UP")


def test_not_waiting_and_unknown(c):
    job = c.sbatch(wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    assert c.run("scontrol", "explain", job).out == f"Job {job} does not wait: it is RUNNING.\n"
    r = c.run("scontrol", "explain", "job", "999999", check=False)
    assert r.rc == 1 and "Invalid job id specified for job 999999" in r.err
    r = c.run("squeue", "--explain", "-j", "999999", check=False)
    assert r.rc == 1 and "Invalid job id specified" in r.err
    assert c.run("scontrol", "explain", check=False).rc == 1
