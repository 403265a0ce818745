"""penstock sim --from-live with limits and reservations: they hold jobs back as in the cluster, and may be changed."""

import getpass
import json
import subprocess

import pytest

from conftest import SLOW, program, wait_until

ME = getpass.getuser()
CLUSTER = {"nodes": 2, "cpus": 4, "conf": "AccountingStorageEnforce=associations,limits,qos"}


@pytest.fixture(scope="module")
def c(shared):
    """One job of ten minutes runs and holds two others of its user, who may have one at a time; a QOS takes two CPUs a user."""
    def mgr(*words):
        shared.run("sacctmgr", "-i", *words)
    mgr("add", "account", "one")
    mgr("add", "account", "other")
    mgr("add", "qos", "tight", "set", "maxtrespu=cpu=2")
    mgr("add", "user", ME, "account=one", "qos=normal,tight", "maxjobs=1")
    mgr("add", "user", ME, "account=other", "qos=normal,tight")
    shared.first = shared.sbatch("-A", "one", "-n1", "-t", "10", wrap="sleep 1000")
    shared.wait_state(shared.first, "RUNNING")
    shared.held = [shared.sbatch("-A", "one", "-n1", "-t", "10", wrap="true") for _ in range(2)]
    shared.pair = shared.sbatch("-A", "other", "-q", "tight", "-n2", "-t", "20", wrap="sleep 2000")
    shared.wait_state(shared.pair, "RUNNING")
    shared.tight = shared.sbatch("-A", "other", "-q", "tight", "-n1", "-t", "5", wrap="true")
    wait_until(lambda: sorted(shared.run("squeue", "-h", "-t", "PD", "-o", "%r").out.split()) ==
               ["AssocMaxJobsLimit"] * 2 + ["QOSMaxCpuPerUserLimit"], "limits hold all that wait")
    return shared


def sim(c, *args):
    return subprocess.run([program("penstock"), "sim", "--from-live", *map(str, args)], env=c.env, cwd=c.work,
                          capture_output=True, text=True, timeout=60 * SLOW)


def ask(c, *args):
    done = sim(c, "--json", "--all", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def starts(answer, side="start"):
    """Minutes from now, to the nearest."""
    return {j["job"]: round((j[side]["start"] - answer["now"]) / 60) if j[side]["start"] else None for j in answer["jobs"]}


def test_limits_hold(c):
    s = starts(ask(c))
    assert 5 <= s[str(c.held[0])] <= 10 and 9 <= s[str(c.held[1])] - s[str(c.held[0])] <= 11
    assert 15 <= s[str(c.tight)] <= 20


def test_other_limits(c):
    after = starts(ask(c, "--user", f"{ME}:MaxJobs=3"), "after")
    assert after[str(c.held[0])] == after[str(c.held[1])] == 0 and after[str(c.tight)] > 0
    after = starts(ask(c, "--qos", "tight:MaxTRESPU=cpu=4,Priority=7"), "after")
    assert after[str(c.tight)] == 0 and after[str(c.held[0])] > 0
    after = starts(ask(c, "--qos", "TIGHT:MaxTRESPU=cpu=-1,mem=1T", "--qos", "tight:GrpJobs=1"), "after")
    assert after[str(c.tight)] > 0  # the second change stands beside the first
    after = starts(ask(c, "--account", "other:GrpTRES=cpu=2", "--qos", "tight:MaxTRESPU=cpu=-1"), "after")
    assert after[str(c.tight)] > 0
    after = starts(ask(c, "--set", "AccountingStorageEnforce=associations"), "after")
    assert after[str(c.held[0])] == after[str(c.held[1])] == after[str(c.tight)] == 0


def test_reservations(c):
    line = f"StartTime=now+1minute,Duration=100,Nodes=ALL,Users={ME}"
    answer = ask(c, "--reservation", f"maint:{line},Flags=IGNORE_JOBS", "--user", f"{ME}:MaxJobs=3")
    after = starts(answer, "after")
    assert 95 <= after[str(c.held[0])] <= 102, after
    c.run("scontrol", "create", "reservation=real", "starttime=now+5minutes", "duration=60", "nodes=ALL", "flags=IGNORE_JOBS",
          f"users={ME}")
    try:
        before = starts(ask(c))
        assert 55 <= before[str(c.held[0])] <= 66, before
        gone, shorter = ask(c, "--reservation", "real:delete"), ask(c, "--reservation", "real:Duration=30")
        assert 4 <= starts(gone, "after")[str(c.held[0])] <= 10
        assert 25 <= starts(shorter, "after")[str(c.held[0])] <= 36
    finally:
        c.run("scontrol", "delete", "reservation=real")


@pytest.mark.parametrize("args,text", [
    (["--qos", "none:Priority=1"], "no QOS none"),
    (["--qos", "tight"], "tight is not NAME:KEY=VALUE,..."),
    (["--qos", "tight:MaxJobs=1"], "MaxJobs=1 is no limit or setting that is simulated"),
    (["--qos", "tight:GrpTRES=tape=4"], "GrpTRES takes a list such as"),
    (["--qos", "tight:MaxWall=soon"], "MaxWall takes a time"),
    (["--user", "nobody0:MaxJobs=1"], "no user nobody0 in the accounting records"),
    (["--account", "one:GrpJobs=many"], "GrpJobs takes a number, or -1 for no limit, not many"),
    (["--reservation", "x:delete"], "no reservation x"),
    (["--reservation", "x:Nodes=ALL,Users=root"], "a new one needs StartTime="),
    (["--reservation", "x:StartTime=now,Duration=5,Nodes=nope,Users=root"], "these are no nodes of the cluster: nope"),
    (["--reservation", "x:StartTime=now,Duration=5,NodeCnt=1,Users=root"], "simulated are StartTime, EndTime"),
    (["--reservation", "x:Speed=5"], "Speed"),
])
def test_mistakes(c, args, text):
    done = sim(c, *args)
    assert done.returncode == 2 and text in done.stderr and done.stdout == "", done.stderr


def test_not_enforced(make_cluster):
    c = make_cluster(nodes=1)
    done = sim(c, "--qos", "normal:MaxJobsPU=1")
    assert done.returncode == 2 and "--set=AccountingStorageEnforce=limits" in done.stderr
