"""Every limit of associations, QOS and partitions, by the names that sacctmgr and scontrol have for them: it holds a job,
squeue says the documented reason, and the job goes when there is room or the limit is lifted.

The rows are complete: test_none_is_missing compares them with the fields of the schema."""

import getpass
import re
import tempfile
from pathlib import Path

import pytest

from conftest import ROOT, run_cluster, wait_until

ME = getpass.getuser()
# One job: four CPUs, 400 MiB, one GPU and one licence on one node for ten minutes.
JOB = ["-n4", "-N1", "--gres=gpu:1", "-L", "lic:1", "-t10"]
AMOUNTS = {"cpu": 4, "mem": 400, "node": 1, "billing": 4, "gres/gpu": 1, "license/lic": 1}
PLACES = {"user": ("user", ME), "account": ("account", "physics"), "qos": ("qos", "normal"), "partition": ("qos", "partqos")}


def words(cpu, mem, node, *others):
    """Reasons by TRES."""
    return dict(zip(AMOUNTS, (cpu, mem, node, *others)))


def family(prefix, suffix, mem="Mem"):
    return [f"{prefix}{kind}{suffix}" for kind in (mem, "Node", "Billing", "GRES", "License")]


ASSOC_GRP = words("AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit", *family("AssocGrp", "")[2:])
ASSOC_MINS = words("AssocGrpCPUMinutesLimit", *family("AssocGrp", "Minutes"))
ASSOC_RUN_MINS = words("AssocGrpCPURunMinutesLimit", *family("AssocGrp", "RunMinutes"))
ASSOC_JOB = words("AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", *family("AssocMax", "PerJob")[2:])
ASSOC_NODE = words("AssocMaxCpuPerNode", *family("AssocMax", "PerNode"))
ASSOC_JOB_MINS = words("AssocMaxCpuMinutesPerJobLimit", *family("AssocMax", "MinutesPerJob"))
QOS_GRP = words("QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", *family("QOSGrp", "")[2:])
QOS_MINS = words("QOSGrpCPUMinutesLimit", *family("QOSGrp", "Minutes", "Memory"))
QOS_RUN_MINS = words("QOSGrpCPURunMinutesLimit", *family("QOSGrp", "RunMinutes", "Memory"))
QOS_JOB = words("QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit", *family("QOSMax", "PerJob")[2:])
QOS_NODE = words("QOSMaxCpuPerNode", *family("QOSMax", "PerNode", "Memory"))
QOS_JOB_MINS = words("QOSMaxCpuMinutesPerJobLimit", *family("QOSMax", "MinutesPerJob", "Memory"))
QOS_USER = words("QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit", *family("QOSMax", "PerUser")[2:])
QOS_ACCOUNT = words("MaxCpuPerAccount", *family("Max", "PerAccount", "Memory"))
# db-1.19: of a user and of an account, in a QOS
QOS_USER_RUN_MINS = words("MaxCpuRunMinsPerUser", *family("Max", "RunMinsPerUser", "Memory"))
QOS_ACCOUNT_RUN_MINS = words("MaxCpuRunMinsPerAccount", *family("Max", "RunMinsPerAccount", "Memory"))
QOS_MIN = words("QOSMinCpuNotSatisfied", *family("QOSMin", "", "Memory"))

BESIDE, ALONE = "beside a running job", "alone"
PER_NODE = ["cpu", "mem", "billing", "gres/gpu"]  # what a node has of its own
# key of sacctmgr, field of the schema, where, how it holds, what of a job's amount is granted, reasons, kinds of TRES
LISTS = [
    ("GrpTRES", "grp_tres", "user account", BESIDE, 1.75, ASSOC_GRP, None),
    ("GrpTRES", "grp_tres", "qos partition", BESIDE, 1.75, QOS_GRP, None),
    ("GrpTRESMins", "grp_tres_mins", "user account", ALONE, 0, ASSOC_MINS, None),
    ("GrpTRESMins", "grp_tres_mins", "qos partition", ALONE, 0, QOS_MINS, None),
    ("GrpTRESRunMins", "grp_tres_run_mins", "user account", BESIDE, 17.5, ASSOC_RUN_MINS, None),
    ("GrpTRESRunMins", "grp_tres_run_mins", "qos", BESIDE, 17.5, QOS_RUN_MINS, None),
    ("MaxTRESPerJob", "max_tres_per_job", "user account", ALONE, 0.75, ASSOC_JOB, None),
    ("MaxTRESPerJob", "max_tres_per_job", "qos partition", ALONE, 0.75, QOS_JOB, None),
    ("MaxTRESPerNode", "max_tres_per_node", "user account", ALONE, 0.75, ASSOC_NODE, PER_NODE),
    ("MaxTRESPerNode", "max_tres_per_node", "qos partition", ALONE, 0.75, QOS_NODE, PER_NODE),
    ("MaxTRESMinsPerJob", "max_tres_mins_per_job", "user account", ALONE, 7.5, ASSOC_JOB_MINS, None),
    ("MaxTRESMinsPerJob", "max_tres_mins_per_job", "qos partition", ALONE, 7.5, QOS_JOB_MINS, None),
    ("MaxTRESRunMins", "max_tres_run_mins", "user", BESIDE, 17.5, ASSOC_RUN_MINS, None),
    ("MaxTRESPerUser", "max_tres_per_user", "qos partition", BESIDE, 1.75, QOS_USER, None),
    ("MaxTRESPerAccount", "max_tres_per_account", "qos partition", BESIDE, 1.75, QOS_ACCOUNT, None),
    ("MaxTRESRunMinsPerUser", "max_tres_run_mins_per_user", "qos partition", BESIDE, 17.5, QOS_USER_RUN_MINS, None),
    ("MaxTRESRunMinsPerAccount", "max_tres_run_mins_per_account", "qos partition", BESIDE, 17.5, QOS_ACCOUNT_RUN_MINS, None),
    ("MinTRESPerJob", "min_tres_per_job", "qos partition", ALONE, 2, QOS_MIN, None),
]
# key, field, where, how it holds, value, reason
NUMBERS = [
    ("GrpJobs", "grp_jobs", "user account", BESIDE, 1, "AssocGrpJobsLimit"),
    ("GrpJobs", "grp_jobs", "qos partition", BESIDE, 1, "QOSGrpJobsLimit"),
    ("GrpWall", "grp_wall_min", "user account", ALONE, 0, "AssocGrpWallLimit"),
    ("GrpWall", "grp_wall_min", "qos partition", ALONE, 0, "QOSGrpWallLimit"),
    ("MaxWall", "max_wall_min", "user account", ALONE, 9, "AssocMaxWallDurationPerJobLimit"),
    ("MaxWall", "max_wall_min", "qos partition", ALONE, 9, "QOSMaxWallDurationPerJobLimit"),
    ("MaxJobs", "max_jobs", "user", BESIDE, 1, "AssocMaxJobsLimit"),
    ("MaxJobsPerUser", "max_jobs_per_user", "qos partition", BESIDE, 1, "QOSMaxJobsPerUserLimit"),
    ("MaxJobsPerAccount", "max_jobs_per_account", "qos partition", BESIDE, 1, "MaxJobsPerAccount"),
]
SUBMITS = [
    ("GrpSubmitJobs", "grp_submit_jobs", "user account", "AssocGrpSubmitJobsLimit"),
    ("GrpSubmitJobs", "grp_submit_jobs", "qos partition", "QOSGrpSubmitJobsLimit"),
    ("MaxSubmitJobs", "max_submit_jobs", "user", "AssocMaxSubmitJobLimit"),
    ("MaxSubmitJobsPerUser", "max_submit_jobs_per_user", "qos partition", "QOSMaxSubmitJobPerUserLimit"),
    ("MaxSubmitJobsPerAccount", "max_submit_jobs_per_account", "qos partition", "MaxSubmitJobsPerAccount"),
]
ACCRUES = [
    ("GrpJobsAccrue", "grp_jobs_accrue", "user account qos partition"),
    ("MaxJobsAccrue", "max_jobs_accrue", "user"),
    ("MaxJobsAccruePerUser", "max_jobs_accrue_per_user", "qos partition"),
    ("MaxJobsAccruePerAccount", "max_jobs_accrue_per_account", "qos partition"),
]
# What the partition itself says: key, value that holds, value that lets go, options more, reason
PARTITIONS = [
    ("MaxTime", "9", "INFINITE", [], "PartitionTimeLimit"),
    ("MaxNodes", "1", "UNLIMITED", ["-N2"], "PartitionNodeLimit"),
    ("MinNodes", "2", "0", [], "PartitionNodeLimit"),
    ("State", "DOWN", "UP", [], "PartitionDown"),
    ("State", "INACTIVE", "UP", [], "PartitionInactive"),
    ("MaxCPUsPerNode", "2", "UNLIMITED", [], "BadConstraints"),
    ("MaxCPUsPerSocket", "2", "UNLIMITED", [], "BadConstraints"),
    ("MaxMemPerNode", "300", "0", [], "MaxMemPerLimit"),
    ("MaxMemPerCPU", "50", "0", [], "MaxMemPerLimit"),
]


def mgr(c, *what):
    c.run("sacctmgr", "-i", *what)


@pytest.fixture(scope="module")
def site():
    """A cluster of the module's own: GPUs that are counted only, licences, a QOS of the partition."""
    with tempfile.TemporaryDirectory(prefix="penstock-test-") as folder:
        (Path(folder) / "etc").mkdir()
        (Path(folder) / "etc" / "gres.conf").write_text("Name=gpu Count=4\n")
        options = {"nodes": 2, "cpus": 8, "node_options": "Gres=gpu:4", "partition": "QOS=partqos",
                   "conf": "GresTypes=gpu\nLicenses=lic:16\nAccountingStorageTRES=gres/gpu,license/lic\nKillWait=1\n"
                           "AccountingStorageEnforce=associations,limits,qos\nPriorityType=priority/multifactor\n"
                           "PriorityWeightAge=100000000\nPriorityMaxAge=1\nSchedulerParameters=sched_interval=1,bf_interval=1"}
        yield from run_cluster(Path(folder), **options)


@pytest.fixture
def c(site):
    if not hasattr(site, "limits_ready"):
        mgr(site, "add", "account", "science")
        mgr(site, "add", "account", "physics", "parent=science")
        mgr(site, "add", "qos", "partqos")
        mgr(site, "add", "user", ME, "account=physics")
        mgr(site, "modify", "user", ME, "set", "defaultaccount=physics")
        site.limits_ready = True
    yield site
    site.clear()


def set_limit(c, place, *words_):
    kind, name = PLACES[place]
    where = ["where", f"name={name}", "account=physics"] if kind == "user" else [name]
    mgr(c, "modify", kind, *where, "set", *words_)


def held(c, job, reason):
    wait_until(lambda: c.run("squeue", "-h", "-j", job, "-o", "%t %r").out.strip() == f"PD {reason}", f"{job} waits for {reason}")


def expand(rows):
    return [pytest.param((*row[:2], place, *row[3:]), id=f"{place}-{row[0]}") for row in rows for place in row[2].split()]


@pytest.mark.parametrize("row", expand(LISTS))
def test_list(c, row):
    key, _, place, how, granted, reasons, kinds = row
    first = c.sbatch(*JOB, wrap="sleep 1000") if how == BESIDE else None
    if first:
        c.wait_state(first, "RUNNING")
    lifted, job = [], None
    for tres in kinds or AMOUNTS:
        set_limit(c, place, f"{key}={','.join([*lifted, f'{tres}={int(AMOUNTS[tres] * granted)}'])}")
        job = job or c.sbatch(*JOB, wrap="sleep 1000")
        held(c, job, reasons[tres])
        lifted.append(f"{tres}=-1")
    if first:
        c.run("scancel", first)
        c.wait_state(job, "RUNNING")
        set_limit(c, place, f"{key}={','.join(lifted)}")
    else:
        set_limit(c, place, f"{key}={','.join(lifted)}")
        c.wait_state(job, "RUNNING")


@pytest.mark.parametrize("row", expand(NUMBERS))
def test_number(c, row):
    key, _, place, how, value, reason = row
    first = c.sbatch(*JOB, wrap="sleep 1000") if how == BESIDE else None
    if first:
        c.wait_state(first, "RUNNING")
    set_limit(c, place, f"{key}={value}")
    job = c.sbatch(*JOB, wrap="sleep 1000")
    held(c, job, reason)
    if first:
        c.run("scancel", first)
        c.wait_state(job, "RUNNING")
    set_limit(c, place, f"{key}=-1")
    c.wait_state(job, "RUNNING")


@pytest.mark.parametrize("row", expand(SUBMITS))
def test_submit(c, row):
    """These refuse, with the reason first; a job that ends makes room."""
    key, _, place, reason = row
    set_limit(c, place, f"{key}=1")
    first = c.sbatch("-H", *JOB, wrap="true")
    assert c.refused("sbatch", *JOB, "--wrap", "true").splitlines() == [
        f"sbatch: error: {reason}", "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
        "(job submit limit, user's size and/or time limits)"]
    c.run("scancel", first)
    c.wait_end(first)
    job = c.sbatch(*JOB, wrap="true")
    set_limit(c, place, f"{key}=-1")
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def age(c, job):
    """As it stands after priorities were worked out again."""
    c.run("scontrol", "reconfigure")
    return float(c.run("sprio", "-h", "-j", job, "-o", "%a").out.strip() or 0)


@pytest.mark.parametrize("row", expand(ACCRUES))
def test_accrue(c, row):
    """Of two that wait one gains by its age; the other does when that has gone, and says since when, also to the next
    controller."""
    key, _, place = row
    full = [c.sbatch("-n8", "-N1", wrap="sleep 1000") for _ in range(2)]
    for job in full:
        c.wait_state(job, "RUNNING")
    set_limit(c, place, f"{key}=1")
    first, second = c.sbatch(*JOB, wrap="true"), c.sbatch(*JOB, wrap="true")
    wait_until(lambda: age(c, first) > 0, "the first gains by age")
    assert age(c, second) == 0
    assert c.job(first)["AccrueTime"] != "Unknown" and c.job(second)["AccrueTime"] == "Unknown"
    if key == "MaxJobsAccrue":
        c.kill_ctld()
        c.start_ctld()
        assert c.job(first)["AccrueTime"] != "Unknown" and c.job(second)["AccrueTime"] == "Unknown"
    c.run("scancel", first)
    wait_until(lambda: age(c, second) > 0, "now the second does")
    wait_until(lambda: c.job(second)["AccrueTime"] != "Unknown", "its record says since when")  # a moment later: it goes into the log
    assert c.job(first)["EndTime"] <= c.job(second)["AccrueTime"]
    set_limit(c, place, f"{key}=-1")


@pytest.mark.parametrize("key, value, lifted, options, reason", PARTITIONS, ids=[f"{row[0]}-{row[1]}" for row in PARTITIONS])
def test_partition(c, key, value, lifted, options, reason):
    """A job that waits already: INACTIVE refuses a new one."""
    job = c.sbatch("-H", *JOB, *options, wrap="sleep 1000")
    c.run("scontrol", "update", "partitionname=main", f"{key}={value}")
    try:
        c.run("scontrol", "release", job)
        held(c, job, reason)
    finally:
        c.run("scontrol", "update", "partitionname=main", f"{key}={lifted}")
    c.wait_state(job, "RUNNING")


def test_memory_of_cpus(c):
    """More memory a CPU than MaxMemPerCPU grants is more CPUs for each task."""
    c.run("scontrol", "update", "partitionname=main", "maxmempercpu=50")
    try:
        shown = c.job(c.sbatch("-H", "-n2", "--mem-per-cpu=120", wrap="true"))
        assert (shown["NumCPUs"], shown["CPUs/Task"], shown["MinMemoryCPU"]) == ("2", "3", "40M")  # NumCPUs as asked for
    finally:
        c.run("scontrol", "update", "partitionname=main", "maxmempercpu=0")


def test_usage_threshold(c):
    """UsageThreshold counts with the flag EnforceUsageThreshold alone."""
    mgr(c, "modify", "qos", "normal", "set", "usagethreshold=2")
    assert c.wait_end(c.sbatch("-n1", wrap="true"))["JobState"] == "COMPLETED"
    mgr(c, "modify", "qos", "normal", "set", "flags=EnforceUsageThreshold")
    job = c.sbatch("-n1", wrap="sleep 1000")
    held(c, job, "QOSUsageThreshold")
    mgr(c, "modify", "qos", "normal", "set", "flags=-1", "usagethreshold=-1")
    c.wait_state(job, "RUNNING")


def test_none_is_missing():
    """The schema's limits; MinPrioThreshold, which holds no job, is tests/unit/test_sched_limits.c's."""
    text = re.search(r"^message Limits {(.*?)^}", (ROOT / "proto" / "assoc.proto").read_text(), re.M | re.S).group(1)
    shown = {row[1] for rows in (LISTS, NUMBERS, SUBMITS, ACCRUES) for row in rows}
    assert set(re.findall(r"^  \w+ \w+ (\w+) =", text, re.M)) - {"min_prio_threshold"} == shown
