"""Advance reservations: made, changed and deleted; who may run in them, and who waits for them."""

import json
import os
import re
import time

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "cpus": 4, "conf": "KillWait=1\nLicenses=lic:5\nSchedulerParameters=bf_interval=1"}
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="submits for somebody else")


@pytest.fixture
def r(c):
    yield c
    c.run("scancel", "--state=PENDING", check=False)  # reserved nodes are not idle: jobs and reservations go first
    c.run("scancel", "--state=RUNNING", check=False)
    for name in re.findall(r"^ReservationName=(\S+)", c.run("scontrol", "show", "reservation").out, re.M):
        wait_until(lambda: c.run("scontrol", "delete", f"reservationname={name}", check=False).rc == 0, "deleted")


def create(c, *words, **keys):
    keys = {"start": "now", "duration": "60", **keys}
    if not {"users", "accounts", "qos"} & keys.keys():
        keys["users"] = "root"
    out = c.run("scontrol", "create", "reservation", *words, *(f"{k}={v}" for k, v in keys.items())).out
    return re.fullmatch(r"Reservation created: (\S+)\n", out).group(1)


def refused(c, **keys):
    return c.refused("scontrol", "create", "reservation", *(f"{k}={v}" for k, v in keys.items()))


def show(c, name):
    return dict(word.split("=", 1) for word in c.run("scontrol", "-o", "show", "res", name).out.split() if "=" in word)


def reason(c, job, wanted):
    wait_until(lambda: c.run("squeue", "-h", "-j", job, "-o", "%r").out.strip() == wanted, f"{job} waits for {wanted}")


def test_made_shown_deleted(r):
    name = create(r, nodecnt=2)
    assert re.fullmatch(r"root_\d+", name)
    assert (show(r, name)["NodeCnt"], show(r, name)["PartitionName"], show(r, name)["State"]) == ("2", "main", "ACTIVE")
    create(r, "reservation=x", nodes="node4", comment="c")
    assert show(r, "X")["Flags"] == "SPEC_NODES"
    found = json.loads(r.run("scontrol", "--json", "show", "reservation", "x").out)["reservations"]
    assert [(f["name"], f["node_list"], f["users"], f["flags"]) for f in found] == [("x", "node4", "root", ["SPEC_NODES"])]
    assert "  comment: c" not in r.run("scontrol", "show", "res", "x").out
    assert r.run("scontrol", "show", "res", "x").out.splitlines()[-2] == "   Comment=c"
    wait_until(lambda: r.run("sinfo", "-h", "-n", "node4", "-o", "%t %i").out == "resv x\n", "the node is reserved")
    assert "ReservationName=x" in r.run("scontrol", "show", "node", "node4").out
    r.run("scontrol", "delete", "reservationname=x")
    wait_until(lambda: r.run("sinfo", "-h", "-n", "node4", "-o", "%t").out == "idle\n", "the node is free")
    assert r.refused("scontrol", "delete", "reservationname=x") == (
        "delete_reservation reservationname=x: Requested reservation is invalid\n")


@pytest.mark.parametrize("keys,text", [
    ({"start": "now", "duration": "5", "nodecnt": "1", "users": "a", "groups": "b"}, "mutually exclusive"),
    ({"start": "now", "end": "now+1hour", "duration": "5", "nodecnt": "1", "users": "root"}, "does not equal"),
    ({"start": "now+2hours", "end": "now+1hour", "nodecnt": "1", "users": "root"}, "cannot be after"),
    ({"start": "now", "duration": "5", "nodes": "node1", "flags": "part_nodes", "users": "root"}, "PART_NODES"),
    ({"start": "now", "duration": "5", "nodecnt": "1", "flags": "force_start", "users": "root"}, "FORCE_START"),
    ({"start": "now", "duration": "5", "nodecnt": "1", "flags": "daily,weekly", "users": "root"}, "multiple reoccurring flags"),
    ({"start": "now", "duration": "5", "nodecnt": "1", "flags": "daily,time", "users": "root"}, "cannot recur"),
    ({"start": "now", "duration": "5", "nodes": "node1", "flags": "replace", "users": "root"}, "REPLACE"),
    ({"start": "now", "duration": "5", "nodecnt": "x", "users": "root"}, "Invalid node count x"),
    ({"start": "yesterday", "duration": "5", "nodecnt": "1", "users": "root"}, "Invalid start time"),
    ({"start": "2020-01-01", "duration": "5", "nodecnt": "1", "users": "root"}, "Invalid time specified"),
    ({"start": "now", "duration": "5", "licenses": "lic:6", "users": "root"}, "Invalid license specification"),
    ({"start": "now", "duration": "5", "nodecnt": "1", "flags": "nosuch", "users": "root"}, "Error parsing flags"),
])
def test_refused(r, keys, text):
    assert text in refused(r, **keys)
    assert r.run("scontrol", "show", "reservation").out == "No reservations in the system\n"


def test_jobs_inside_and_outside(r):
    name = create(r, nodes="node1")
    inside = r.sbatch("--reservation", name, "-t5", wrap="sleep 1000")
    outside = r.sbatch("-w", "node1", "-t5", wrap="true")
    r.wait_state(inside, "RUNNING")
    assert r.job(inside)["NodeList"] == "node1"
    assert "SLURM_JOB_RESERVATION" not in r.env
    reason(r, outside, "ReqNodeNotAvail, May be reserved for other job")
    assert r.refused("scontrol", "delete", f"reservationname={name}").endswith("Requested reservation is in use\n")
    too_long = r.sbatch("--reservation", name, "-t", "2:00:00", wrap="true")
    assert r.wait_end(too_long)["JobState"] == "COMPLETED"  # it would be ended with the reservation
    assert r.wait_end(r.sbatch("-t5", wrap="true"))["JobState"] == "COMPLETED"  # elsewhere
    r.run("scancel", inside)
    wait_until(lambda: r.run("scontrol", "delete", f"reservationname={name}", check=False).rc == 0, "not in use")
    assert r.wait_end(outside)["JobState"] == "COMPLETED"
    assert r.refused("sbatch", "--reservation=nosuch", "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Requested reservation is invalid\n")


def test_maintenance_ahead(r):
    create(r, "reservation=m", start="now+1hour", nodes="node1", flags="maint")
    short = r.sbatch("-w", "node1", "-t", "30", wrap="true")
    long = r.sbatch("-w", "node1", "-t", "2:00:00", wrap="true")
    assert r.wait_end(short)["JobState"] == "COMPLETED"
    reason(r, long, "ReqNodeNotAvail, Reserved for maintenance")
    start = wait_until(lambda: r.job(long)["StartTime"] != "Unknown" and r.job(long)["StartTime"], "a start is planned")
    assert start >= show(r, "m")["EndTime"]
    r.run("scontrol", "update", "reservationname=m", "start=now", "duration=60")
    wait_until(lambda: r.run("sinfo", "-h", "-n", "node1", "-o", "%t").out == "maint\n", "maintenance shows")


def test_update(r):
    create(r, "reservation=u", start="now+1hour", nodecnt=1)
    r.run("scontrol", "update", "reservationname=u", "nodecnt=3", "duration+=30", "flags+=maint", "users+=daemon")
    shown = show(r, "u")
    assert (shown["NodeCnt"], shown["Duration"], shown["Flags"], shown["Users"]) == ("3", "01:30:00", "MAINT", "root,daemon")
    r.run("scontrol", "update", "reservationname=u", "nodecnt=2", "duration-=30", "flags-=maint", "users-=root")
    shown = show(r, "u")
    assert (shown["NodeCnt"], shown["Duration"], shown["Flags"], shown["Users"]) == ("2", "01:00:00", "", "daemon")
    r.run("scontrol", "update", "reservation", "u", "nodes=node3,node4")
    r.run("scontrol", "update", "reservationname=u", "nodes-=node3")
    assert show(r, "u")["Nodes"] == "node4"
    assert r.refused("scontrol", "update", "reservationname=u", "skip") == (
        "slurm_update error: Requested is not skipable\n".replace("Requested is", "Reservation given is").replace(
            "skipable", "skipable, try deleting instead"))
    assert "Unknown parameter x=1.  No reservation update." in r.refused("scontrol", "update", "reservationname=u", "x=1")


def test_licences(r):
    create(r, "reservation=l", licenses="lic:3", flags="license_only")
    assert "Total=5 Used=0 Free=5 Reserved=3" in r.run("scontrol", "show", "lic").out
    first = r.sbatch("-L", "lic:2", "-t5", wrap="sleep 1000")
    r.wait_state(first, "RUNNING")
    second = r.sbatch("-L", "lic:1", "-t5", wrap="true")
    reason(r, second, "Licenses")
    inside = r.sbatch("--reservation=l", "-L", "lic:3", "-t5", wrap="sleep 1000")
    r.wait_state(inside, "RUNNING")
    r.run("scancel", first)
    assert r.wait_end(second)["JobState"] == "COMPLETED"


def test_cores(r):
    create(r, "reservation=k", nodes="node2", corecnt=3)
    assert show(r, "k")["CoreIDs"] == "0-2"
    assert r.run("scontrol", "show", "res", "k").out.splitlines()[2] == "     NodeName=node2 CoreIDs=0-2"
    wide = r.sbatch("-w", "node2", "-N1", "-n2", "-t5", wrap="true")
    reason(r, wide, "ReqNodeNotAvail, May be reserved for other job")
    assert r.wait_end(r.sbatch("-w", "node2", "-n1", "-t5", wrap="true"))["JobState"] == "COMPLETED"
    inside = r.sbatch("--reservation=k", "-n3", "-t5", wrap="sleep 1000")
    r.wait_state(inside, "RUNNING")
    assert r.job(inside)["NodeList"] == "node2"
    create(r, "reservation=k2", nodes="node2", corecnt=1)
    assert show(r, "k2")["CoreIDs"] == "3"


def test_list_and_magnetic(r):
    create(r, "reservation=a", nodes="node1")
    create(r, "reservation=b", nodes="node2")
    first = r.sbatch("--reservation=a,b", "-N1", "--exclusive", "-t5", wrap="sleep 1000")
    r.wait_state(first, "RUNNING")
    second = r.sbatch("--reservation=a,b", "-N1", "--exclusive", "-t5", wrap="sleep 1000")
    r.wait_state(second, "RUNNING")
    assert (r.job(first)["Reservation"], r.job(second)["Reservation"]) == ("a", "b")
    r.wait_sacct(second, "RUNNING", fields="State")
    assert r.sacct("-X", "-n", "-P", "-j", second, "-o", "Reservation,ReqReservation") == [["b", "a,b"]]
    create(r, "reservation=m", nodes="node3", flags="magnetic")
    drawn = r.sbatch("-t5", wrap="echo $SLURM_JOB_RESERVATION; sleep 1000")
    r.wait_state(drawn, "RUNNING")
    assert (r.job(drawn)["Reservation"], r.job(drawn)["NodeList"]) == ("m", "node3")
    path = r.work / f"slurm-{drawn}.out"
    wait_until(lambda: path.exists() and path.read_text() == "m\n", "the job knows its reservation")


@ROOT_ONLY
def test_access(r):
    create(r, "reservation=w", nodes="node1", users="daemon,games")
    create(r, "reservation=d", nodes="node2", users="-daemon")
    create(r, "reservation=q", nodes="node3", qos="high")
    denied = "sbatch: error: Batch job submission failed: Access denied to requested reservation\n"
    assert r.refused("sbatch", "--uid=bin", "--reservation=w", "--wrap", "true") == denied
    assert r.refused("sbatch", "--uid=daemon", "--reservation=d", "--wrap", "true") == denied
    assert r.run("sbatch", "--uid=daemon", "-H", "--reservation=w", "--wrap", "true").rc == 0
    job = r.run("sbatch", "--parsable", "--uid=bin", "--reservation=q", "--wrap", "true").out.strip()
    reason(r, job, "Reservation")  # the QOS counts when it is scheduled
    assert r.refused("scontrol", "update", "reservationname=w", "users-=daemon").startswith(
        "scontrol: error: Reservation update rejected because of JobId=")


def test_end_holds_who_waits(make_cluster):
    c = make_cluster(nodes=2, conf="KillWait=1")
    create(c, "reservation=e", nodes="node1", users="root")
    create(c, "reservation=f", nodes="node2", users="root", flags="no_hold")
    inside = c.sbatch("--reservation=e", "-t5", wrap="sleep 1000")
    c.wait_state(inside, "RUNNING")
    waits = c.sbatch("--reservation=e", "-t5", "--exclusive", wrap="true")
    before = c.sbatch("--reservation=f", "-t5", "--exclusive", wrap="sleep 1000")
    c.wait_state(before, "RUNNING")
    free = c.sbatch("--reservation=f", "-t", "2:00:00", wrap="true")
    reason(c, free, "Resources")
    c.ctld.kill()
    c.start_ctld()
    assert show(c, "e")["State"] == "ACTIVE"
    for name in ("e", "f"):
        c.run("scontrol", "update", f"reservationname={name}", "end=now+1seconds")
    assert c.wait_end(inside)["JobState"] == "TIMEOUT"
    reason(c, waits, "ReservationDeleted")
    assert c.run("squeue", "-h", "-j", waits, "-o", "%t").out == "RD\n"
    assert c.wait_end(free)["JobState"] == "COMPLETED"
    assert c.run("scontrol", "show", "reservation").out == "No reservations in the system\n"
    c.run("scontrol", "update", f"jobid={waits}", "reservationname=")
    assert c.wait_end(waits)["JobState"] == "COMPLETED"


def test_nodes_replaced_and_programs(make_cluster, tmp_path):
    for name in ("begin", "end"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $1" >> {tmp_path}/log\n')
        (tmp_path / name).chmod(0o755)
    tmp_path.chmod(0o755)
    c = make_cluster(nodes=3, conf=f"ResvProlog={tmp_path}/begin\nResvEpilog={tmp_path}/end")
    create(c, "reservation=n", nodecnt=1, users="root")
    create(c, "reservation=s", nodecnt=1, users="root", flags="static")
    assert (show(c, "n")["Nodes"], show(c, "s")["Nodes"]) == ("node1", "node2")
    c.run("scontrol", "update", "nodename=node[1-2]", "state=drain", "reason=x")
    wait_until(lambda: show(c, "n")["Nodes"] == "node3", "another node is reserved")
    assert show(c, "s")["Nodes"] == "node2"
    log = tmp_path / "log"
    wait_until(lambda: log.exists() and sorted(log.read_text().split("\n")) == ["", "begin n", "begin s"], "it began")
    c.run("scontrol", "update", "reservationname=n", "end=now+1seconds")
    wait_until(lambda: "end n" in log.read_text(), "it ended")


def test_running_jobs_and_node_lists(r):
    """Worked examples 7 and 18 of the reservations' reference."""
    job = r.sbatch("-w", "node1,node2", "-N2", "-t", "3:00:00", wrap="sleep 1000")
    r.wait_state(job, "RUNNING")
    assert refused(r, start="now+1hour", duration="60", nodes="node1", users="root", flags="maint") == (
        "Error creating the reservation: Requested nodes are busy\n")
    create(r, "reservation=i", start="now+1hour", nodes="node1", flags="maint,ignore_jobs")
    create(r, "reservation=p", nodes="node3,node4")
    inside = r.sbatch("--reservation=p", "-w", "node4", "-t5", wrap="sleep 1000")
    r.wait_state(inside, "RUNNING")
    r.run("scontrol", "update", "reservationname=p", "nodes-=node4")
    assert show(r, "p")["Nodes"] == "node3"
    assert r.state(inside) == "RUNNING"


def test_forced_start_and_recurrence(r):
    """Worked examples 13 and 15."""
    today = time.strftime("%Y-%m-%dT00:00:00")
    keys = {"start": today, "duration": "1440", "users": "root", "nodecnt": "1"}
    if time.strftime("%H%M") > "0012":
        assert "Invalid time specified" in refused(r, **keys, flags="daily")
    create(r, "reservation=d", **keys, flags="daily,force_start,purge=00:00:01")
    assert show(r, "d")["State"] == "ACTIVE"
    wait_until(lambda: show(r, "d")["State"] == "INACTIVE", "unused, it goes on to the next day", 30)
    start = show(r, "d")["StartTime"]
    assert start > today
    r.run("scontrol", "update", "reservationname=d", "skip")
    assert show(r, "d")["StartTime"] > start


def test_replace_and_follow(make_cluster):
    """Worked examples 9 and 17."""
    c = make_cluster(nodes=4, conf="PartitionName=q Nodes=node[3-4]")
    create(c, "reservation=r", nodecnt=1, users="root", flags="replace")
    first = show(c, "r")["Nodes"]
    inside = c.sbatch("--reservation=r", "-t5", "--exclusive", wrap="sleep 1000")
    c.wait_state(inside, "RUNNING")
    wait_until(lambda: show(c, "r")["Nodes"] != first, "an idle node is reserved in place of the busy one")
    assert c.job(inside)["NodeList"] == first
    c.run("scancel", inside)
    c.wait_end(inside)
    wait_until(lambda: c.run("scontrol", "delete", "reservationname=r", check=False).rc == 0, "deleted")
    create(c, "reservation=f", users="root", partition="q", nodes="ALL", flags="part_nodes")
    assert (show(c, "f")["Nodes"], show(c, "f")["Flags"]) == ("node[3-4]", "SPEC_NODES,PART_NODES")
    c.run("scontrol", "update", "partitionname=q", "nodes=node[2-4]")
    wait_until(lambda: show(c, "f")["Nodes"] == "node[2-4]", "it follows the partition")


def test_counted_features(make_cluster):
    """So many nodes of each feature; one that has both counts once, and what is replaced is of its own kind."""
    c = make_cluster(nodes=6)
    for node, features in enumerate(["a", "a", "a,b", "b", "b", "c"], 1):
        c.run("scontrol", "update", f"nodename=node{node}", f"availablefeatures={features}", f"activefeatures={features}")
    create(c, "reservation=ab", nodecnt=3, features="[a*2&b*1]", users="root")
    assert (show(c, "ab")["Nodes"], show(c, "ab")["Features"]) == ("node[1-3]", "[a*2&b*1]")
    assert refused(c, start="now", duration="60", users="root", nodecnt="2", features="[a*1&b*1]").endswith("Requested nodes are busy\n")
    c.run("scontrol", "update", "nodename=node3", "state=drain", "reason=x")
    wait_until(lambda: show(c, "ab")["Nodes"] == "node[1-2,4]", "another b is reserved, not c")
    c.run("scontrol", "update", "nodename=node1", "state=drain", "reason=x")
    create(c, "reservation=one", nodecnt=1, features="b*1", users="root")
    assert (show(c, "ab")["Nodes"], show(c, "one")["Nodes"]) == ("node[1-2,4]", "node5"), "there is no other a"
    assert "Invalid feature" in refused(c, start="now", duration="60", users="root", nodecnt="2", features="a*0&b")


def test_explained(r):
    create(r, "reservation=e", nodes="node1")
    job = r.sbatch("-w", "node1", "-t5", wrap="true")
    reason(r, job, "ReqNodeNotAvail, May be reserved for other job")
    assert "Reservation e keeps node1 from " in r.run("scontrol", "explain", job).out
    r.run("scontrol", "update", "reservationname=e", "maxstartdelay=10")
    assert r.wait_end(job)["JobState"] == "COMPLETED"  # so short a job may use it
