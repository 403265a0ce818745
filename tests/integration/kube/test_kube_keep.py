"""Jobs that keep their nodes until whoever made them says that they are free: slurmctld's side of the bridge's jobs."""

import json

import pytest
from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=8\nAuthAltTypes=auth/jwt"}
LEAVES = "CANCELLED+COMPLETING"


@pytest.fixture(scope="module")
def external(shared):
    shared.run("scontrol", "create", "nodename=ext[1-3]", "cpus=2", "realmemory=500", "state=external")
    return shared


@pytest.fixture(scope="module")
def rest(external):
    with Restd(external) as rest:
        yield rest


def keep(rest, c, nodes, user="root", **more):
    body = {"flags": ["EXTERNAL_JOB"], "required_nodes": nodes, "minimum_nodes": len(nodes), "tasks": len(nodes),
            "shared": ["none"], **more}
    status, answer = rest.post("job/submit?keeps_nodes=true", {"job": body}, user=user)
    assert status == 200, answer
    c.wait_state(answer["job_id"], "RUNNING")
    return answer["job_id"]


def claim(c, node):
    return int(c.run("sbatch", "--parsable", "--external", "-n1", "-w", node).out)


def record(c, job):
    """CANCELLED+COMPLETING"""
    return "+".join(json.loads(c.run("squeue", "--json", "-a", "-t", "all", "-j", str(job)).out)["jobs"][0]["job_state"])


def release(rest, job, user="root"):
    status, answer = rest.delete(f"/penstock/v1/job/{job}/nodes", user=user)
    return status, [e["error_number"] for e in answer["errors"]]


def node(c, name):
    return c.run("sinfo", "-h", "-N", "-n", name, "-o", "%T").out.strip()


def test_others_wait_for_the_release(external, c, rest):
    job = keep(rest, c, ["ext1"])
    c.run("scancel", str(job))
    assert record(c, job) == LEAVES and node(c, "ext1") == "completing"
    waits = claim(c, "ext1")
    c.kill_ctld()
    c.restart_ctld()
    assert record(c, job) == LEAVES and c.state(waits) == "PENDING"
    assert release(rest, job) == (200, [])
    assert c.state(job) == "CANCELLED"
    c.wait_state(waits, "RUNNING")
    c.run("scancel", str(waits))
    assert c.state(waits) == "CANCELLED"


def test_released_before_its_end(external, c, rest):
    job = keep(rest, c, ["ext1"])
    assert release(rest, job) == (200, []) and c.state(job) == "RUNNING"
    c.run("scancel", str(job))
    assert record(c, job) == "CANCELLED"
    assert release(rest, job) == (200, [])  # once more: it is


def test_a_time_limit(external, c, rest):
    job = keep(rest, c, ["ext1"], time_limit={"set": True, "number": 1})
    c.run("scontrol", "update", f"jobid={job}", "endtime=now+1seconds")
    wait_until(lambda: record(c, job) == "TIMEOUT+COMPLETING", "the limit is reached", 40)
    assert release(rest, job) == (200, []) and record(c, job) == "TIMEOUT"


def test_who_may_release(external, c, rest):
    """Others not, not even the owner; the bridge whose job it is may, and SlurmUser."""
    job = keep(rest, c, ["ext1"], user_id="bin")
    for user in ("bin", "daemon"):
        status, errors = release(rest, job, user)
        assert status != 200 and errors in ([2002], [2010]), (user, status, errors)
    c.run("scancel", str(job))
    status, errors = release(rest, job, "bin")
    assert status != 200 and errors == [2002] and record(c, job) == LEAVES
    assert c.run("scontrol", "update", f"jobid={job}", "KeepsNodes=yes", check=False).rc == 1 and record(c, job) == LEAVES
    c.run("scontrol", "update", f"jobid={job}", "KeepsNodes=no")
    assert record(c, job) == "CANCELLED"


def test_a_user_keeps_nothing(external, c, rest):
    """Who may not set it does not, or he would have nodes without a limit; and jobs that are not external have no use of it."""
    job = keep(rest, c, ["ext1"], user="bin")
    c.run("scancel", str(job))
    assert record(c, job) == "CANCELLED"
    job = keep(rest, c, ["node1"], flags=[], script="#!/bin/sh\nsleep 100\n", current_working_directory="/tmp",
               environment=["PATH=/bin:/usr/bin"])
    c.run("scancel", str(job))
    c.wait_state(job, "CANCELLED")
    wait_until(lambda: record(c, job) == "CANCELLED", "the node is clean")


def test_an_administrator_answers_for_the_node(external, c, rest):
    job = keep(rest, c, ["ext1", "ext2"])
    c.run("scontrol", "update", "nodename=ext1", "state=down", "reason=off")
    assert record(c, job) == "NODE_FAIL+COMPLETING" and node(c, "ext2") == "completing"
    c.run("scontrol", "update", "nodename=ext2", "state=down", "reason=off")
    assert record(c, job) == "NODE_FAIL"
    c.run("scontrol", "update", "nodename=ext[1-2]", "state=resume")
    assert node(c, "ext1") == node(c, "ext2") == "idle"


def test_a_node_that_is_lost_is_kept(external, c, rest):
    """Its slurmd is away, which says nothing of its pods; it may come back before they have ended."""
    c.conf.write_text(c.conf.read_text() + "SlurmdTimeout=2\n")
    c.run("scontrol", "reconfigure")
    job = keep(rest, c, ["node1"])
    c.slurmds["node1"].kill()
    wait_until(lambda: record(c, job) == "NODE_FAIL+COMPLETING", "the node is lost", 60)
    c.start_slurmd("node1")
    wait_until(lambda: "DOWN" not in c.run("scontrol", "show", "node", "node1").out, "it is back", 60)
    assert record(c, job) == "NODE_FAIL+COMPLETING" and node(c, "node1") == "completing"
    assert release(rest, job) == (200, []) and record(c, job) == "NODE_FAIL"


def test_nobody_says_anything(external, c, rest):
    """keep_nodes_time: then the nodes are drained, not given away."""
    job = keep(rest, c, ["ext3"])
    c.run("scancel", str(job))
    c.conf.write_text(c.conf.read_text() + "SlurmctldParameters=keep_nodes_time=1\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: record(c, job) == "CANCELLED", "the job is over", 30)
    shown = c.run("scontrol", "show", "node", "ext3").out
    assert "DRAIN" in shown and f"Reason=JobId={job} may still run here" in shown
    c.run("scontrol", "update", "nodename=ext3", "state=resume")
