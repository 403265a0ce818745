"""What accounting lets people do: limits that hold and end jobs, rights of operators and coordinators, PrivateData,
and what scontrol tells of it."""

import getpass
import json
import os
import pwd
import subprocess

import pytest

from conftest import SLOW, wait_until

ME = getpass.getuser()
ENFORCE = "AccountingStorageEnforce=associations,limits,qos"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="acts as another user")


def mgr(c, *words):
    return c.run("sacctmgr", "-i", *words).out


@pytest.fixture
def site(make_cluster, folder):
    def make(more=""):
        c = make_cluster(nodes=2, conf=f"{ENFORCE}\n{more}")
        mgr(c, "add", "account", "science")
        mgr(c, "add", "account", "physics", "parent=science")
        mgr(c, "add", "user", ME, "account=physics")
        mgr(c, "modify", "user", ME, "set", "defaultaccount=physics")
        mgr(c, "add", "user", "nobody", "account=physics")
        folder.chmod(0o755)
        c.work.chmod(0o777)
        return c
    return make


def as_nobody(c, *words):
    """What the user nobody gets to see."""
    return subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *words], cwd=c.work,
                          env=c.env | {"USER": "nobody"}, text=True, capture_output=True, timeout=30 * SLOW)


def shown(c, job, fields="%t %r"):
    return c.run("squeue", "-h", "-j", str(job), "-o", fields).out.strip()


def test_held_and_released(site):
    c = site()
    mgr(c, "modify", "account", "physics", "set", "grptres=cpu=4")
    first = c.sbatch("-n4", wrap="sleep 100")
    second = c.sbatch("-n1", wrap="sleep 100")
    wait_until(lambda: shown(c, second) == "PD AssocGrpCpuLimit", "the account's CPUs hold it")
    told = c.run("scontrol", "explain", str(second)).out
    assert "AssocGrpCpuLimit" in told and "account physics may have at most 4 cpu; 4 are used" in told
    assert "Reason=AssocGrpCpuLimit" in c.run("scontrol", "show", "job", str(second)).out
    tree = c.run("scontrol", "show", "assoc_mgr", "accounts=physics", "flags=assoc").out
    assert "GrpTRES=cpu=4(4),mem=N(" in tree and "GrpJobs=N(1)" in tree and "GrpSubmitJobs=N(2)" in tree
    c.run("scancel", str(first))
    wait_until(lambda: shown(c, second) == "R None", "its end lets the other go")
    # the limit, not the job, may change too
    mgr(c, "modify", "user", ME, "set", "maxjobs=1")
    third = c.sbatch("-n1", wrap="sleep 100")
    wait_until(lambda: shown(c, third) == "PD AssocMaxJobsLimit", "one job at a time")
    mgr(c, "modify", "user", ME, "set", "maxjobs=2")
    wait_until(lambda: shown(c, third) == "R None", "two are allowed now")


def test_over_a_restart(site):
    c = site()
    mgr(c, "modify", "user", ME, "set", "maxjobs=1")
    first = c.sbatch(wrap="sleep 100")
    second = c.sbatch(wrap="sleep 100")
    wait_until(lambda: shown(c, second) == "PD AssocMaxJobsLimit", "one job at a time")
    c.kill_ctld()
    c.start_ctld()
    third = c.sbatch(wrap="sleep 100")
    wait_until(lambda: shown(c, third) == "PD AssocMaxJobsLimit", "what runs counts after a restart")
    assert shown(c, first) == "R None"
    c.run("scancel", str(first))
    wait_until(lambda: shown(c, second) == "R None", "and its end counts")


def test_array_tasks_count(site):
    c = site()
    mgr(c, "modify", "user", ME, "set", "maxjobs=2", "maxsubmitjobs=6")
    job = c.sbatch("--array=0-4", wrap="sleep 100")
    wait_until(lambda: len(c.run("squeue", "-h", "-t", "R", "-r").out.splitlines()) == 2, "two of its tasks run")
    wait_until(lambda: shown(c, f"{job}_4") == "PD AssocMaxJobsLimit", "the others wait")
    refused = c.run("sbatch", "--array=0-1", "--wrap", "true", check=False)
    assert refused.rc == 1 and "AssocMaxSubmitJobLimit" in refused.err
    c.run("scancel", f"{job}_0")
    wait_until(lambda: shown(c, f"{job}_2") == "R None", "the next one starts")
    c.sbatch("--array=0-1", wrap="true")


def test_ended_when_minutes_are_used(site):
    c = site()
    job = c.sbatch("-t1", wrap="sleep 100")
    wait_until(lambda: shown(c, job) == "R None", "it runs")
    mgr(c, "modify", "account", "physics", "set", "grptresmins=cpu=0")
    wait_until(lambda: "JobState=TIMEOUT" in c.run("scontrol", "show", "job", str(job)).out, "nothing is left", 25)
    assert "Reason=TimeLimit" in c.run("scontrol", "show", "job", str(job)).out


def test_only_jobs_with_what_is_used_up_end(site):
    c = site("Licenses=lic:16\nAccountingStorageTRES=license/lic\nKillWait=1")
    with_it, without = c.sbatch("-Llic:1", wrap="sleep 100"), c.sbatch(wrap="sleep 100")
    wait_until(lambda: shown(c, with_it) == shown(c, without) == "R None", "both run")
    mgr(c, "modify", "account", "physics", "set", "grptresmins=license/lic=0")
    wait_until(lambda: "JobState=TIMEOUT" in c.run("scontrol", "show", "job", str(with_it)).out, "nothing is left of the licence", 25)
    assert shown(c, without) == "R None"  # both were looked at in one turn
    waits, starts = c.sbatch("-Llic:1", wrap="sleep 100"), c.sbatch(wrap="sleep 100")
    wait_until(lambda: shown(c, waits).startswith("PD AssocGrp"), "it waits")
    wait_until(lambda: shown(c, starts) == "R None", "what does not ask for it starts")


@needs_root
def test_rights(site):
    c = site()
    job = c.sbatch("-H", wrap="true")
    assert as_nobody(c, "scancel", str(job)).returncode != 0
    mgr(c, "add", "coordinator", "account=science", "names=nobody")
    released = as_nobody(c, "scontrol", "release", str(job))  # of an account below his
    assert released.returncode == 0, released.stderr
    other = c.sbatch("-H", wrap="true")
    assert as_nobody(c, "scancel", str(other)).returncode == 0
    wait_until(lambda: "JobState=CANCELLED" in c.run("scontrol", "show", "job", str(other)).out, "he may")
    mgr(c, "delete", "coordinator", "account=science", "names=nobody")
    third = c.sbatch("-H", wrap="true")
    assert as_nobody(c, "scancel", str(third)).returncode != 0
    mgr(c, "modify", "user", "nobody", "set", "adminlevel=operator")
    assert as_nobody(c, "scontrol", "update", f"jobid={third}", "admincomment=x").returncode == 0
    assert as_nobody(c, "scontrol", "update", "nodename=node1", "state=drain", "reason=x").returncode != 0
    mgr(c, "modify", "user", "nobody", "set", "adminlevel=admin")
    assert as_nobody(c, "scontrol", "update", "nodename=node1", "state=drain", "reason=x").returncode == 0


@needs_root
def test_private_data(site):
    c = site("PrivateData=jobs,nodes")
    job = c.sbatch(wrap="sleep 100")
    wait_until(lambda: shown(c, job) == "R None", "it runs")
    assert as_nobody(c, "squeue", "-h").stdout == ""
    assert "node1" not in as_nobody(c, "sinfo", "-h", "-N").stdout
    assert as_nobody(c, "sacct", "-n", "-a").stdout == ""
    assert str(job) in c.run("squeue", "-h").out and str(job) in c.run("sacct", "-n", "-a").out
    own = as_nobody(c, "sbatch", "--parsable", "-o/dev/null", "--wrap", "sleep 100")
    assert own.returncode == 0, own.stderr
    assert as_nobody(c, "squeue", "-h", "-o%i").stdout.split() == [own.stdout.strip()]
    mgr(c, "add", "coordinator", "account=physics", "names=nobody")
    assert set(as_nobody(c, "squeue", "-h", "-o%i").stdout.split()) == {str(job), own.stdout.strip()}
    mgr(c, "modify", "user", "nobody", "set", "adminlevel=operator")
    assert "node1" in as_nobody(c, "sinfo", "-h", "-N").stdout


@pytest.mark.parametrize("lists, asks, refused", [
    ("AllowAccounts=science", ["-Aphysics"], None),  # of an account below
    ("AllowAccounts=chem", ["-Aphysics"], "Invalid account or account/partition combination specified"),
    ("AllowAccounts=chem,physics", ["-Aphysics"], None),
    ("DenyAccounts=science", ["-Aphysics"], "Invalid account or account/partition combination specified"),
    ("DenyAccounts=chem", ["-Aphysics"], None),
    ("AllowQos=high", ["-qnormal"], "Invalid qos specification"), ("AllowQos=high,normal", ["-qnormal"], None),
    ("DenyQos=normal", ["-qnormal"], "Invalid qos specification"), ("DenyQos=high", ["-qnormal"], None),
    ("AllowAccounts=physics DenyAccounts=physics", ["-Aphysics"], None),  # the first alone counts
])
def test_partition_lists(site, lists, asks, refused):
    """At submission, and when a job is moved there; without EnforcePartLimits it waits."""
    c = site(f"EnforcePartLimits=ALL\nPartitionName=picky Nodes=ALL {lists}")
    mgr(c, "add", "qos", "high")
    mgr(c, "add", "account", "chem")
    mgr(c, "modify", "account", "science", "set", "qos=normal,high")
    done = c.run("sbatch", "-H", "-ppicky", *asks, "--wrap", "true", check=False)
    assert (done.rc == 0) == (refused is None) and (refused or "") in done.err, done.err
    job = c.sbatch("-H", *asks, wrap="true")
    moved = c.run("scontrol", "update", f"jobid={job}", "partition=picky", check=False)
    assert (moved.rc == 0) == (refused is None), moved.err


@needs_root
def test_allow_groups(site):
    """A job waits until one of its user's groups is let in, where limits of partitions are not enforced."""
    c = site("PartitionName=closed Nodes=ALL AllowGroups=nosuchgroup,nogroup\nPartitionName=shut Nodes=ALL AllowGroups=nosuchgroup")
    assert as_nobody(c, "sbatch", "-H", "-o/dev/null", "-pclosed", "--wrap", "true").returncode == 0
    done = as_nobody(c, "sbatch", "--parsable", "-o/dev/null", "-pshut", "--wrap", "true")
    assert done.returncode == 0, done.stderr
    job, uid = done.stdout.strip(), pwd.getpwnam("nobody").pw_uid
    why = f"uid {uid} not in group permitted to use this partition (shut). groups allowed: nosuchgroup"
    wait_until(lambda: c.run("squeue", "-h", "-a", "-j", job, "-o%T %r").out.strip() == f"PENDING {why}", "it waits")
    # which groups it has is shown to nobody; a partition that shuts him out is not shown to him either
    assert "groups" not in json.loads(c.run("squeue", "--json", "-j", job).out)["jobs"][0]
    assert as_nobody(c, "squeue", "-h", "-o%i").stdout.split().count(job) == 0
    assert as_nobody(c, "squeue", "-h", "-a", "-o%i").stdout.split().count(job) == 1
    assert "shut" not in as_nobody(c, "sinfo", "-h", "-o%R").stdout.split()
    assert "closed" in as_nobody(c, "sinfo", "-h", "-o%R").stdout.split()
    assert as_nobody(c, "sbatch", "--test-only", "-pshut", "--wrap", "true").returncode == 1
    # the groups stay with the job when the controller starts again
    c.kill_ctld()
    c.start_ctld()
    wait_until(lambda: why in c.run("squeue", "-h", "-a", "-j", job, "-o%T %r").out, "it still waits")
    c.run("scontrol", "update", "partitionname=shut", "allowgroups=nosuchgroup,nogroup")
    c.wait_end(job)
    assert c.run("sbatch", "-H", "-pshut", "--wrap", "true").rc == 0  # root may


@needs_root
def test_allow_groups_enforced(site):
    c = site("EnforcePartLimits=ALL\nPartitionName=shut Nodes=ALL AllowGroups=nosuchgroup")
    done = as_nobody(c, "sbatch", "-H", "-o/dev/null", "-pshut", "--wrap", "true")
    assert done.returncode == 1 and "group" in done.stderr, done.stderr


@needs_root
def test_update_as_a_user(site):
    """scontrol --uid: the rights of that user count, not root's; nobody but root and SlurmUser may name another."""
    c = site()
    mine = c.sbatch("-H", "-Jsame", wrap="true")
    theirs = int(as_nobody(c, "sbatch", "--parsable", "-H", "-Jsame", "-o/dev/null", "--wrap", "true").stdout)

    def comments():
        return [c.job(job).get("Comment") for job in (mine, theirs)]
    c.run("scontrol", "--uid=nobody", "update", f"jobid={theirs}", "comment=one")
    assert comments() == [None, "one"]
    done = c.run("scontrol", "-u", "nobody", "update", f"jobid={mine}", "comment=two", check=False)
    assert done.rc == 1 and done.err == f"Invalid user id for job {mine}\n" and comments() == [None, "one"]
    assert c.run("scontrol", "-u", "nobody", "update", f"jobid={theirs}", "nice=-5", check=False).rc == 1  # operators alone
    c.run("scontrol", "-u", "nobody", "update", "jobname=same", "comment=three")
    assert comments() == [None, "three"]
    c.run("scontrol", "-u", str(os.getuid()), "update", f"jobid={theirs}", "nice=-5")
    # an administrator of accounting may change every job, yet not with the rights of another
    mgr(c, "modify", "user", "nobody", "set", "adminlevel=admin")
    assert as_nobody(c, "scontrol", "update", f"jobid={mine}", "comment=four").returncode == 0
    done = as_nobody(c, "scontrol", "--uid=root", "update", f"jobid={mine}", "comment=five")
    assert done.returncode == 1 and done.stderr == f"Access/permission denied for job {mine}\n", done.stderr
    assert comments() == ["four", "three"]
    done = c.run("scontrol", "--uid=nosuch", "update", f"jobid={mine}", "comment=six")
    assert done.err == 'scontrol: error: --uid="nosuch" invalid\n' and comments() == ["four", "three"]
