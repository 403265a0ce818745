"""Every flag of a reservation: its shortest spelling, whether it can be taken back, and a test of what it does."""

import calendar
import os
import re
import subprocess
import time

import pytest

import test_reservations as others
from conftest import ROOT, SLOW, wait_until
from test_reservations import create, r, reason, refused, show  # noqa: F401  (r is a fixture)

CLUSTER = {"nodes": 4, "cpus": 4, "conf": "KillWait=1\nLicenses=lic:5\nSchedulerParameters=bf_interval=1"}
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="acts as somebody else")

# flag: (shortest spelling, can be removed, what else the request needs)
FLAGS = {
    "MAINT": ("mai", True, {}), "OVERLAP": ("o", False, {}), "FLEX": ("f", True, {}), "IGNORE_JOBS": ("i", True, {}),
    "HOURLY": ("h", True, {"duration": "30"}), "DAILY": ("d", True, {}), "WEEKDAY": ("w", True, {}), "WEEKEND": ("weeke", True, {}),
    "WEEKLY": ("weekl", True, {}), "FORCE_START": ("fo,daily", False, {}),
    "ANY_NODES": ("a", True, {"licenses": "lic:1", "nodecnt": None}),
    "STATIC": ("s", True, {}), "PART_NODES": ("pa", True, {"partition": "main", "nodes": "ALL", "nodecnt": None}),
    "MAGNETIC": ("mag", True, {}), "PURGE_COMP": ("pu", True, {}), "TIME_FLOAT": ("t", False, {}), "REPLACE": ("r", False, {}),
    "REPLACE_DOWN": ("replace_", False, {}), "NO_HOLD_JOBS_AFTER_END": ("n", False, {}), "USER_DELETE": ("u", True, {}),
}


def flags(c, name):
    return {word.split("=")[0] for word in show(c, name)["Flags"].split(",")}


@pytest.mark.parametrize("flag", FLAGS)
def test_spelt_and_taken_back(r, flag):
    short, removable, more = FLAGS[flag]
    keys = {k: v for k, v in {"nodecnt": "1", **more}.items() if v is not None}
    name = create(r, start="now+2hours", flags=short, **keys)
    assert flag in flags(r, name)
    if removable:
        r.run("scontrol", "update", f"reservationname={name}", f"flags-={flag}")
        assert flag not in flags(r, name)
    else:
        done = r.run("scontrol", "update", f"reservationname={name}", f"flags-={flag}", check=False)
        assert done.rc != 0 or flag in flags(r, name)


def test_any_nodes_holds_only_named_ones(r):
    """A number of nodes chooses none beside ANY_NODES; without licences nothing is left, and cores are refused."""
    name = create(r, flags="any_nodes", nodecnt="2", licenses="lic:1")
    assert (show(r, name)["Nodes"], show(r, name)["NodeCnt"]) == ("(null)", "0")
    name = create(r, flags="any_nodes", tres="node=2,license/lic=1")
    assert (show(r, name)["Nodes"], show(r, name)["Licenses"]) == ("(null)", "lic:1")
    assert "Requested reservation is invalid" in refused(r, start="now", duration="60", flags="any_nodes", nodecnt="1", users="root")
    assert "CPU count specification invalid" in refused(r, start="now", duration="60", flags="any_nodes", corecnt="2", users="root")
    name = create(r, flags="any_nodes", nodes="node1")
    assert show(r, name)["Nodes"] == "node1"
    name = create(r, flags="any_nodes,overlap", nodes="ALL", start="now+2days")
    assert show(r, name)["Nodes"] == "node[1-4]"


def test_overlap(r):
    create(r, "reservation=first", nodes="node1")
    assert "overlaps" in refused(r, start="now", duration="60", nodes="node1", users="root")
    create(r, "reservation=second", nodes="node1", flags="overlap")
    job = r.sbatch("--reservation=second", "-t5", wrap="sleep 1000")
    assert r.wait_state(job, "RUNNING")["NodeList"] == "node1"


def test_flex(r):
    """Its jobs may begin before it, end after it and use nodes outside."""
    create(r, "reservation=f", start="now+1hour", nodes="node1", flags="flex")
    before = r.sbatch("--reservation=f", "-N2", "-t", "3:00:00", wrap="sleep 1000")
    assert "node1" in r.run("scontrol", "show", "hostnames", r.wait_state(before, "RUNNING")["NodeList"]).out.split()
    create(r, "reservation=g", start="now+1hour", nodes="node4")
    waits = r.sbatch("--reservation=g", "-N1", "-t", "10", wrap="true")
    reason(r, waits, "Reservation")


def test_time_float(r):
    """It stays ahead: long jobs never start on its node, and nobody uses it."""
    create(r, "reservation=t", start="now+1hour", nodes="node1", flags="time")
    first = show(r, "t")["StartTime"]
    assert r.refused("sbatch", "--reservation=t", "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Access denied to requested reservation\n")
    short = r.sbatch("-w", "node1", "-t", "30", wrap="true")
    assert r.wait_end(short)["JobState"] == "COMPLETED"
    long = r.sbatch("-w", "node1", "-t", "2:00:00", wrap="true")
    reason(r, long, "ReqNodeNotAvail, May be reserved for other job")
    assert first < (later := wait_until(lambda: show(r, "t")["StartTime"] != first and show(r, "t")["StartTime"], "it floats", 90))
    assert later > first
    assert r.state(long) == "PENDING"


@ROOT_ONLY
def test_user_delete(r):
    create(r, "reservation=mine", start="now+1hour", nodecnt="1", users="games", flags="user_delete")
    create(r, "reservation=kept", start="now+1hour", nodecnt="1", users="games")
    r.dir.chmod(0o755)

    def delete(user, name):
        return subprocess.run(["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", "scontrol", "delete",
                               f"reservationname={name}"], env=r.env, cwd="/", capture_output=True, timeout=30 * SLOW).returncode
    assert delete("games", "kept") != 0 and delete("nobody", "mine") != 0
    assert delete("games", "mine") == 0
    assert "mine" not in r.run("scontrol", "show", "reservation").out
    r.write_conf(r.conf_text() + "SlurmctldParameters=user_resv_delete\n")
    try:
        r.run("scontrol", "reconfigure")
        assert delete("nobody", "kept") != 0 and delete("games", "kept") == 0
    finally:
        r.write_conf()
        r.run("scontrol", "reconfigure")


@pytest.mark.parametrize("flag, days", [("DAILY", {1}), ("WEEKLY", {7}), ("WEEKDAY", {1, 2, 3}), ("WEEKEND", {1, 5, 6}), ("HOURLY", {0})])
def test_recurs(r, flag, days):
    """Skipped, it stands at its next time."""
    start = time.strftime("%Y-%m-%dT%H:%M:00", time.gmtime(time.time() + 7200))
    create(r, "reservation=again", start=start, duration="20", nodecnt="1", flags=flag)
    begin = lambda: calendar.timegm(time.strptime(show(r, "again")["StartTime"], "%Y-%m-%dT%H:%M:%S"))  # the tests' zone is UTC
    old = begin()
    r.run("scontrol", "update", "reservationname=again", "skip")
    moved = begin() - old
    assert moved == 3600 if flag == "HOURLY" else moved / 86400 in days | ({2, 3, 4} if flag == "WEEKEND" else set())
    day = time.gmtime(begin()).tm_wday
    assert day < 5 if flag == "WEEKDAY" else day >= 5 if flag == "WEEKEND" else True


def test_replace_down(make_cluster):
    """The usual behaviour, asked for: what is down is replaced, what is busy is not."""
    c = make_cluster(nodes=3)
    create(c, "reservation=d", nodecnt=1, users="root", flags="replace_down")
    first = show(c, "d")["Nodes"]
    job = c.sbatch("--reservation=d", "-t5", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert show(c, "d")["Nodes"] == first
    c.run("scancel", job)
    c.wait_end(job)
    c.run("scontrol", "update", f"nodename={first}", "state=drain", "reason=x")
    wait_until(lambda: show(c, "d")["Nodes"] != first, "another node is reserved")


# Which test shows what a flag does.
SHOWN_BY = {
    "MAINT": others.test_maintenance_ahead, "OVERLAP": test_overlap, "FLEX": test_flex,
    "IGNORE_JOBS": others.test_running_jobs_and_node_lists, "HOURLY": test_recurs, "DAILY": test_recurs, "WEEKDAY": test_recurs,
    "WEEKEND": test_recurs, "WEEKLY": test_recurs, "FORCE_START": others.test_forced_start_and_recurrence,
    "ANY_NODES": others.test_licences, "STATIC": others.test_nodes_replaced_and_programs, "PART_NODES": others.test_replace_and_follow,
    "MAGNETIC": others.test_list_and_magnetic, "PURGE_COMP": others.test_forced_start_and_recurrence, "TIME_FLOAT": test_time_float,
    "REPLACE": others.test_replace_and_follow, "REPLACE_DOWN": test_replace_down,
    "NO_HOLD_JOBS_AFTER_END": others.test_end_holds_who_waits, "USER_DELETE": test_user_delete,
}


def test_none_is_missing():
    """The schema's flags, but for those that only answer."""
    known = set(re.findall(r"^  RESV_FLAG_(\w+) =", (ROOT / "proto/resv.proto").read_text(), re.M))
    assert known - {"SPEC_NODES", "ALL_NODES"} == set(FLAGS) == set(SHOWN_BY)
