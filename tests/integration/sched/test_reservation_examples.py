"""The worked examples of the reference on reservations (section 10), one test each, by their numbers.

The cluster is that of the examples: n[1-8] in the default partition p, n[5-8] also in q; alice of account a is the user
daemon here, bob of account b is bin.  Times are relative to now, where the reference has a clock at noon."""

import os
import re
import tempfile
import time
from pathlib import Path

import pytest

from conftest import Cluster, wait_until
from test_reservations import create, reason, refused, show

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="submits for two other users")
ALICE, BOB = "daemon", "bin"
DENIED = "sbatch: error: Batch job submission failed: Access denied to requested reservation\n"


class Eight(Cluster):
    """n1 to n8, and the two partitions."""

    def conf_text(self):
        text = super().conf_text().replace("PartitionName=main ", "PartitionName=p ")
        return re.sub(r"\bnode([1-8])\b", r"n\1", text) + "PartitionName=q Nodes=n[5-8]\n"


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory(prefix="penstock-test-") as folder:
        Path(folder).chmod(0o755)
        c = Eight(Path(folder), nodes=8, conf="KillWait=1\nLicenses=lic:5\nSchedulerParameters=bf_interval=1\n"
                                              "AccountingStorageEnforce=associations,limits,qos")
        c.node_names = [f"n{i}" for i in range(1, 9)]
        c.write_conf()
        c.start()
        for words in (["add", "account", "a"], ["add", "account", "b"], ["add", "qos", "high"],
                      ["modify", "account", "a", "set", "qos=normal,high"], ["add", "user", ALICE, "account=a"],
                      ["add", "user", BOB, "account=b"], ["add", "user", "root", "account=a"]):
            c.run("sacctmgr", "-i", *words)
        c.work.chmod(0o777)
        yield c
        problems = c.stop()
        assert not problems, problems


@pytest.fixture
def r(site):
    yield site
    site.run("scancel", "--state=PENDING", check=False)
    site.run("scancel", "--state=RUNNING", check=False)
    for name in re.findall(r"^ReservationName=(\S+)", site.run("scontrol", "show", "reservation").out, re.M):
        wait_until(lambda: site.run("scontrol", "delete", f"reservationname={name}", check=False).rc == 0, "deleted")
    site.wait_nodes()


def submit(c, user, *options, wrap="sleep 1000"):
    return int(c.run("sbatch", "--parsable", f"--uid={user}", "-o/dev/null", *options, "--wrap", wrap).out)


def delete(c, name):
    return c.run("scontrol", "delete", f"reservationname={name}", check=False)


def test_example_1(r):
    name = create(r, users=ALICE, nodecnt=2)
    assert re.fullmatch(rf"{ALICE}_\d+", name)
    assert (show(r, name)["NodeCnt"], show(r, name)["PartitionName"]) == ("2", "p")


def test_example_2(r):
    assert "Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified" in refused(
        r, start="now", duration="60", nodecnt="2")


def test_example_3(r):
    assert "mutually exclusive" in refused(r, start="now", duration="60", nodecnt="2", users=ALICE, groups="daemon")


def test_example_4(r):
    create(r, "reservation=r", accounts="-b", nodecnt=1)
    assert r.refused("sbatch", f"--uid={BOB}", "--reservation=r", "--wrap", "true") == DENIED
    r.wait_state(submit(r, ALICE, "--reservation=r", "-t5"), "RUNNING")


def test_example_5(r):
    create(r, "reservation=r", accounts="a", qos="high", nodecnt=1)
    job = submit(r, ALICE, "--reservation=r", "-t5")
    reason(r, job, "Reservation")
    r.wait_state(submit(r, ALICE, "--reservation=r", "-t5", "-q", "high"), "RUNNING")


def test_example_6(r):
    create(r, "reservation=m", start="now+1hour", nodes="n1", flags="maint", users="root")
    assert r.wait_end(submit(r, ALICE, "-w", "n1", "-t30", wrap="true"))["JobState"] == "COMPLETED"
    long = submit(r, ALICE, "-w", "n1", "-t2:00:00")
    reason(r, long, "ReqNodeNotAvail, Reserved for maintenance")
    start = wait_until(lambda: r.job(long)["StartTime"] != "Unknown" and r.job(long)["StartTime"], "a start is planned")
    assert start >= show(r, "m")["EndTime"]


def test_example_7(r):
    r.wait_state(submit(r, ALICE, "-w", "n1", "-t3:00:00"), "RUNNING")
    keys = {"start": "now+1hour", "nodes": "n1", "users": "root", "duration": "60"}
    assert refused(r, **keys, flags="maint").endswith("Requested nodes are busy\n")
    create(r, "reservation=m", **keys, flags="maint,ignore_jobs")


def test_example_8(r):
    create(r, "reservation=one", nodes="n1", users=ALICE)
    keys = {"start": "now", "duration": "60", "nodes": "n1", "users": BOB}
    assert refused(r, **keys).endswith("Requested reservation overlaps with another reservation\n")
    create(r, "reservation=two", **keys, flags="overlap")
    create(r, "reservation=three", **keys, flags="maint")


def test_example_9(r):
    create(r, "reservation=r", nodecnt=2, flags="replace", users=ALICE)
    before = show(r, "r")["Nodes"]
    job = submit(r, ALICE, "--reservation=r", "-N1", "--exclusive", "-t5")
    taken = r.wait_state(job, "RUNNING")["NodeList"]
    idle = lambda: set(r.run("scontrol", "show", "hostnames", show(r, "r")["Nodes"]).out.split()) - {taken}
    wait_until(lambda: len(idle()) == 2, f"two idle nodes are reserved again, {before} at first")


def test_example_10(r):
    create(r, "reservation=r", nodecnt=1, users=ALICE)
    create(r, "reservation=s", nodecnt=1, users=ALICE, flags="static_alloc")
    moves, stays = show(r, "r")["Nodes"], show(r, "s")["Nodes"]
    r.run("scontrol", "update", f"nodename={moves},{stays}", "state=down", "reason=x")
    wait_until(lambda: show(r, "r")["Nodes"] != moves, "an idle node comes in its place")
    assert show(r, "s")["Nodes"] == stays
    r.run("scontrol", "update", f"nodename={moves},{stays}", "state=resume")


def test_example_11(r):
    create(r, "reservation=m", nodes="n3", flags="magnetic", users=ALICE)
    job = submit(r, ALICE, "-t5")
    assert (r.wait_state(job, "RUNNING")["Reservation"], r.job(job)["NodeList"]) == ("m", "n3")
    other = submit(r, BOB, "-t5")
    assert r.wait_state(other, "RUNNING").get("Reservation") is None and r.job(other)["NodeList"] != "n3"


def test_example_12(r):
    create(r, "reservation=m", nodes="n3", duration="30", flags="magnetic", users=ALICE)
    job = submit(r, ALICE, "-t60")
    assert r.wait_state(job, "RUNNING").get("Reservation") is None and r.job(job)["NodeList"] != "n3"
    r.run("scancel", job)
    create(r, "reservation=f", nodes="n4", duration="30", flags="magnetic,flex", users=ALICE)
    drawn = submit(r, ALICE, "-t60")
    assert r.wait_state(drawn, "RUNNING")["Reservation"] == "f"


def test_example_13(r):
    """With five seconds in place of five minutes."""
    create(r, "reservation=d", nodecnt=1, users=ALICE, flags="daily,purge_comp=00:00:05")
    first = show(r, "d")["StartTime"]
    wait_until(lambda: show(r, "d")["StartTime"] > first, "unused, it goes on to the next day", 40)
    assert show(r, "d")["State"] == "INACTIVE"
    day = lambda text: time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    assert day(show(r, "d")["StartTime"]) - day(first) == 86400


def test_example_14(r):
    create(r, "reservation=t", start="now+1hour", nodes="n1", flags="time_float", users=ALICE)
    assert r.refused("sbatch", f"--uid={ALICE}", "--reservation=t", "--wrap", "true") == DENIED
    assert r.wait_end(submit(r, ALICE, "-w", "n1", "-t50", wrap="true"))["JobState"] == "COMPLETED"
    long = submit(r, ALICE, "-w", "n1", "-t70")
    reason(r, long, "ReqNodeNotAvail, May be reserved for other job")


def test_example_15(r):
    start = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - 3600))
    keys = {"start": start, "duration": "600", "users": ALICE, "nodecnt": "1"}
    assert "Invalid time specified" in refused(r, **keys, flags="daily")
    create(r, "reservation=d", **keys, flags="daily,force_start")
    assert (show(r, "d")["State"], show(r, "d")["StartTime"]) == ("ACTIVE", f"{start}:00")
    clock = time.strftime("%H:%M", time.gmtime(time.time() - 3600))  # without a date: the next time that it is so late
    create(r, "reservation=next", start=clock, duration="60", users=ALICE, nodecnt=1)
    assert show(r, "next")["State"] == "INACTIVE"


def test_example_16(r):
    create(r, "reservation=l", licenses="lic:3", flags="license_only", users=ALICE)
    first = submit(r, BOB, "-L", "lic:2", "-t5")
    r.wait_state(first, "RUNNING")
    second = submit(r, BOB, "-L", "lic:1", "-t5")
    reason(r, second, "Licenses")
    inside = submit(r, ALICE, "--reservation=l", "-L", "lic:3", "-w", "n7", "-t5")
    assert r.wait_state(inside, "RUNNING")["NodeList"] == "n7"


def test_example_17(r):
    create(r, "reservation=f", partition="q", nodes="ALL", flags="part_nodes", users=ALICE)
    assert show(r, "f")["Nodes"] == "n[5-8]"
    r.run("scontrol", "update", "partitionname=q", "nodes=n[4-8]")
    try:
        wait_until(lambda: show(r, "f")["Nodes"] == "n[4-8]", "it grows with the partition")
    finally:
        r.run("scontrol", "update", "partitionname=q", "nodes=n[5-8]")


def test_example_18(r):
    create(r, "reservation=r", nodes="n5,n6", users=ALICE)
    job = submit(r, ALICE, "--reservation=r", "-w", "n5", "-t5")
    r.wait_state(job, "RUNNING")
    r.run("scontrol", "update", "reservationname=r", "nodes-=n5")
    assert show(r, "r")["Nodes"] == "n6" and r.state(job) == "RUNNING"


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_example_18a(r, state):
    create(r, "reservation=r", nodes="n5", users=f"{ALICE},{BOB}")
    job = submit(r, ALICE, "--reservation=r", *(["-H"] if state == "PENDING" else []), "-t5")
    r.wait_state(job, state)
    assert r.refused("scontrol", "update", "reservationname=r", f"users-={ALICE}").startswith(
        f"scontrol: error: Reservation update rejected because of JobId={job}\n")
    assert show(r, "r")["Users"] == f"{ALICE},{BOB}"


def test_example_19(r):
    create(r, "reservation=r", nodes="n5", users=ALICE)
    r.wait_state(submit(r, ALICE, "--reservation=r", "-t5"), "RUNNING")
    assert delete(r, "r").err.endswith("Requested reservation is in use\n")


@pytest.mark.parametrize("flags, held", [(None, True), ("no_hold_jobs_after_end", False)])
def test_example_20(r, flags, held):
    create(r, "reservation=r", nodes="n5", users=ALICE, **({"flags": flags} if flags else {}))
    r.wait_state(submit(r, ALICE, "--reservation=r", "--exclusive", "-t2:00:00"), "RUNNING")  # longer than it lasts
    job = submit(r, ALICE, "--reservation=r", "-t5", wrap="true")
    reason(r, job, "Resources")
    r.run("scontrol", "update", "reservationname=r", "end=now+1seconds")
    if held:
        reason(r, job, "ReservationDeleted")
    else:
        assert r.wait_end(job)["JobState"] == "COMPLETED"


def test_example_21(r):
    create(r, "reservation=r1", nodes="n1", users=ALICE)
    create(r, "reservation=r2", nodes="n2", users=ALICE)
    r.wait_state(submit(r, ALICE, "--reservation=r1", "--exclusive", "-t5"), "RUNNING")
    job = submit(r, ALICE, "--reservation=r1,r2", "--exclusive", "-t5")
    assert r.wait_state(job, "RUNNING")["Reservation"] == "r2"
    r.wait_sacct(job, "RUNNING", fields="State")
    assert r.sacct("-X", "-n", "-P", "-j", job, "-o", "Reservation,ReqReservation") == [["r2", "r1,r2"]]


def test_updates_where_somebody_is_gone(r):
    """Each update is refused while the reservation names a user or an account that accounting has no more."""
    for words in (["add", "account", "c"], ["add", "user", "sys", "account=c"]):
        r.run("sacctmgr", "-i", *words)
    create(r, "reservation=r1", nodes="n1", users=f"{ALICE},sys")
    create(r, "reservation=r2", nodes="n2", accounts="c")
    for words in (["user", "sys"], ["account", "c"]):
        r.run("sacctmgr", "-i", "delete", *words)
    for name in ("r1", "r2"):
        for word in ("nodes=ALL", "duration=50"):
            assert r.refused("scontrol", "update", f"reservation={name}", word) == \
                "slurm_update error: Invalid account or account/partition combination specified\n", (name, word)
    r.run("scontrol", "update", "reservation=r1", f"users={ALICE}", "nodes=n1,n3")
    assert (show(r, "r1")["Nodes"], show(r, "r1")["Users"]) == ("n[1,3]", ALICE)
