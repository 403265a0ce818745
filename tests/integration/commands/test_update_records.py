"""Each key of `scontrol update` and of `sacctmgr modify` below: the record then shows what was set, and did not before."""

import pytest

CLUSTER = {"nodes": 2, "cpus": 8, "conf": "TrackWCKey=yes", "node_options": "Features=f1 TmpDisk=1000"}

# what is set, what the record then holds
JOB = [
    ("Contiguous=yes", "Contiguous=1"),
    ("CPUsPerTask=2", "CPUs/Task=2"),
    ("Deadline=2040-01-01T00:00:00", "Deadline=2040-01-01T00:00:00"),
    ("EligibleTime=2040-01-01T00:00:00", "EligibleTime=2040-01-01T00:00:00"),
    ("Extra=x", "Extra=x"),
    ("MailType=END", "MailType=END"),
    ("MinCPUsNode=2", "MinCPUsNode=2"),
    ("MinMemoryNode=10", "MinMemoryNode=10M"),
    ("MinTmpDiskNode=5", "MinTmpDiskNode=5M"),
    ("OverSubscribe=yes", "OverSubscribe=YES"),
    ("Prefer=f1", "Prefer=f1"),
    ("ReqCores=1", "ReqB:S:C:T=0:0:1:*"),
    ("ReqNodes=2", "NumNodes=2-2"),
    ("ReqSockets=1", "Socks/Node=1"),
    ("ReqThreads=1", "ReqB:S:C:T=0:0:*:1"),
    ("StdIn=/dev/zero", "StdIn=/dev/zero"),
    ("TasksPerNode=2", "NtasksPerN:B:S:C=2:0:*:*"),
    ("TimeMin=5", "TimeMin=00:05:00"),
    ("WCKey=w", "WCKey=w"),
    ("WorkDir=/tmp", "WorkDir=/tmp"),
]
PARTITION = [
    ("MaxMemPerNode=100", "MaxMemPerNode=100"),
    ("DefaultTime=5", "DefaultTime=00:05:00"),
    ("MaxNodes=1", "MaxNodes=1"),
    ("MinNodes=2", "MinNodes=2"),
    ("MaxCPUsPerNode=3", "MaxCPUsPerNode=3"),
    ("MaxCPUsPerSocket=3", "MaxCPUsPerSocket=3"),
    ("DefMemPerCPU=50", "DefMemPerCPU=50"),
    ("AllowGroups=root", "AllowGroups=root"),
    ("Exclusive=user", "Exclusive=USER"),
    ("PriorityJobFactor=7", "PriorityJobFactor=7"),
    ("GraceTime=9", "GraceTime=9"),
    ("Hidden=yes", "Hidden=YES"),
    ("ReqResv=yes", "ReqResv=YES"),
    ("LLN=yes", "LLN=YES"),
    ("DisableRootJobs=yes", "DisableRootJobs=YES"),
    ("OverTimeLimit=3", "OverTimeLimit=3"),
]
NODE = [
    ("Extra=x", "Extra=x"),
    ("NodeAddr=127.0.0.9", "NodeAddr=127.0.0.9"),
    ("NodeHostname=h9", "NodeHostName=h9"),
]
# kind of record, what is set, record and field that show it, value
ACCOUNTING = [
    ("qos", "Descriptions=words", "qos q", "Description", "words"),
    ("account", "Organizations=words", "account a", "Organization", "words"),
    ("account", "Shares=7", "assoc account=a", "Shares", "7"),
    ("account", "Comment=words", "assoc account=a", "Comment", "words"),
    ("qos", "PreemptExemptTime=10", "qos q", "PreemptExemptTime", "00:10:00"),
    ("qos", "PreemptExemptTime=0:05", "qos q", "PreemptExemptTime", "00:00:05"),
    ("qos", "UsageThreshold=0.5", "qos q", "UsageThreshold", "0.500000"),
    ("qos", "LimitFactor=0.5", "qos q", "LimitFactor", "0.500000"),
    ("qos", "GrpJobs=7", "qos q", "GrpJobs", "7"),
    ("qos", "GrpJobsAccrue=7", "qos q", "GrpJobsAccrue", "7"),
    ("qos", "GrpSubmitJobs=7", "qos q", "GrpSubmitJobs", "7"),
    ("qos", "GrpTRESMins=cpu=7", "qos q", "GrpTRESMins", "cpu=7"),
    ("qos", "GrpTRESRunMins=cpu=7", "qos q", "GrpTRESRunMins", "cpu=7"),
    ("qos", "GrpWall=10", "qos q", "GrpWall", "00:10:00"),
    ("qos", "MaxTRESPJ=cpu=7", "qos q", "MaxTRESPJ", "cpu=7"),
    ("qos", "MaxTRESPerNode=cpu=7", "qos q", "MaxTRESPerNode", "cpu=7"),
    ("qos", "MaxTRESPN=cpu=7", "qos q", "MaxTRESPN", "cpu=7"),
    ("qos", "MaxTRESMinsPerJob=cpu=7", "qos q", "MaxTRESMinsPerJob", "cpu=7"),
    ("qos", "MaxTRESMinsPJ=cpu=7", "qos q", "MaxTRESMinsPJ", "cpu=7"),
    ("qos", "MaxWallDurationPerJob=10", "qos q", "MaxWallDurationPerJob", "00:10:00"),
    ("qos", "MinPrioThreshold=7", "qos q", "MinPrioThreshold", "7"),
    ("account", "MaxJobsAccrue=7", "assoc account=a", "MaxJobsAccrue", "7"),
    ("account", "MaxTRESRunMins=cpu=7", "assoc account=a", "MaxTRESRunMins", "cpu=7"),
    ("qos", "MinTRESPerJob=cpu=7", "qos q", "MinTRESPerJob", "cpu=7"),
    ("qos", "MinTRES=cpu=7", "qos q", "MinTRESPJ", "cpu=7"),
    ("qos", "MaxTRESPU=cpu=7", "qos q", "MaxTRESPU", "cpu=7"),
    ("qos", "MaxTRESPerAccount=cpu=7", "qos q", "MaxTRESPerAccount", "cpu=7"),
    ("qos", "MaxTRESPA=cpu=7", "qos q", "MaxTRESPA", "cpu=7"),
    ("qos", "MaxTRESRunMinsPerUser=cpu=7", "qos q", "MaxTRESRunMinsPerUser", "cpu=7"),
    ("qos", "MaxTRESRunMinsPU=cpu=7", "qos q", "MaxTRESRunMinsPU", "cpu=7"),
    ("qos", "MaxTRESRunMinsPerAccount=cpu=7", "qos q", "MaxTRESRunMinsPerAccount", "cpu=7"),
    ("qos", "MaxTRESRunMinsPA=cpu=7", "qos q", "MaxTRESRunMinsPA", "cpu=7"),
    ("qos", "MaxJobsPU=7", "qos q", "MaxJobsPU", "7"),
    ("qos", "MaxJobsPerAccount=7", "qos q", "MaxJobsPerAccount", "7"),
    ("qos", "MaxJobsPA=7", "qos q", "MaxJobsPA", "7"),
    ("qos", "MaxJobsAccruePerUser=7", "qos q", "MaxJobsAccruePerUser", "7"),
    ("qos", "MaxJobsAccruePU=7", "qos q", "MaxJobsAccruePU", "7"),
    ("qos", "MaxJobsAccruePerAccount=7", "qos q", "MaxJobsAccruePerAccount", "7"),
    ("qos", "MaxJobsAccruePA=7", "qos q", "MaxJobsAccruePA", "7"),
    ("qos", "MaxSubmitJobsPU=7", "qos q", "MaxSubmitJobsPU", "7"),
    ("qos", "MaxSubmitJobsPU=7", "qos q", "MaxSubmitPU", "7"),
    ("qos", "MaxSubmitJobsPerAccount=7", "qos q", "MaxSubmitJobsPerAccount", "7"),
    ("qos", "MaxSubmitJobsPA=7", "qos q", "MaxSubmitJobsPA", "7"),
    ("qos", "MaxSubmitJobsPA=7", "qos q", "MaxSubmitPA", "7"),
    ("qos", "GrpCPUs=7", "qos q", "GrpCPUs", "7"),
    ("qos", "GrpMemory=7", "qos q", "GrpMemory", "7"),
    ("qos", "GrpNodes=7", "qos q", "GrpNodes", "7"),
    ("qos", "GrpCPUMins=7", "qos q", "GrpCPUMins", "7"),
    ("qos", "GrpCPURunMins=7", "qos q", "GrpCPURunMins", "7"),
    ("qos", "MaxCPUsPerJob=7", "qos q", "MaxCPUsPerJob", "7"),
    ("qos", "MaxNodesPerJob=7", "qos q", "MaxNodesPerJob", "7"),
    ("qos", "MaxCPUMinsPerJob=7", "qos q", "MaxCPUMinsPerJob", "7"),
]
NAMES = {"qos": "q", "account": "a", "user": "u"}


@pytest.mark.parametrize("setting, shown", JOB)
def test_job(c, setting, shown):
    job = c.sbatch("--hold", "--time=30", wrap="true")
    assert shown not in c.run("scontrol", "-o", "show", "job", job).out.split()
    c.run("scontrol", "update", f"JobId={job}", setting)
    assert shown in c.run("scontrol", "-o", "show", "job", job).out.split()
    c.run("scancel", job)


def test_core_spec(make_cluster):
    """Cores are set aside where AllowSpecResourcesUsage says so."""
    c = make_cluster(conf="AllowSpecResourcesUsage=YES")
    job = c.sbatch("--hold", wrap="true")
    c.run("scontrol", "update", f"JobId={job}", "CoreSpec=1")
    assert "CoreSpec=1" in c.run("scontrol", "-o", "show", "job", job).out.split()


@pytest.fixture(scope="module")
def extra(shared):
    """A partition that nobody uses."""
    shared.run("scontrol", "create", "PartitionName=extra", "Nodes=ALL")
    return shared


@pytest.mark.parametrize("setting, shown", PARTITION)
def test_partition(extra, setting, shown):
    show = ("scontrol", "-a", "-o", "show", "partition", "extra")
    assert shown not in extra.run(*show).out.split()
    extra.run("scontrol", "update", "PartitionName=extra", setting)
    assert shown in extra.run(*show).out.split()


@pytest.mark.parametrize("setting, shown", NODE)
def test_node(c, setting, shown):
    assert shown not in c.run("scontrol", "-o", "show", "node", "node2").out.split()
    c.run("scontrol", "update", "NodeName=node2", setting)
    assert shown in c.run("scontrol", "-o", "show", "node", "node2").out.split()


@pytest.fixture(scope="module")
def accounts(shared):
    for words in ("account a", "qos q", "user u account=a"):
        shared.run("sacctmgr", "-i", "add", *words.split())
    return shared


@pytest.mark.parametrize("kind, setting, record, field, shown", ACCOUNTING)
def test_accounting(accounts, kind, setting, record, field, shown):
    show = ("sacctmgr", "-nP", "show", *record.split(), f"format={field}")
    none = setting.rpartition("=")[0] + "=-1"  # takes back what another spelling of the key has set
    accounts.run("sacctmgr", "-i", "modify", kind, NAMES[kind], "set", none, check=False)
    assert accounts.run(*show).out.splitlines()[0] != shown
    accounts.run("sacctmgr", "-i", "modify", kind, NAMES[kind], "set", setting)
    assert accounts.run(*show).out.splitlines()[0] == shown
