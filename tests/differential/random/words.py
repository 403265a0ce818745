"""Random commands that mean something: what users and operators type, in an order that a seed decides.

A World remembers what was made (jobs, partitions, reservations, accounts), so that later commands name it; now and
then they name something that is not there.  The tables below are the options of the commands; a value is drawn from
what is usual, what is at an edge, and what is wrong.  next() gives (user, command)."""

import random

from more import More
from queries import Queries
from steer import Steer
from steps import Steps
from wide import Wide

USERS = ("root", "root", "alice", "alice", "alice", "bob", "carol")
STATES = ("pending", "running", "suspended", "completed", "cancelled", "failed", "PD", "R", "all", "nosuch")

SUBMIT = {
    "-n": ("1", "2", "3", "4", "8", "17", "0", "-1", "x"),
    "-N": ("1", "2", "3", "1-2", "2-3", "4", "5", "3-1", "0", "x", "2-"),
    "-c": ("1", "2", "4", "5", "0", "x"),
    "--mem=": ("10", "100M", "1G", "1999", "3G", "0", "x", "1T"),
    "--mem-per-cpu=": ("10", "200", "1G", "0", "x"),
    "-t": ("1", "10", "0:30", "1:00", "1-0", "90", "61", "0", "x", "UNLIMITED", "1:2:3", "5-"),
    "--time-min=": ("1", "5", "100", "x"),
    "-J": ("one", "two", "'a b'", "x.y", "123", "''"),
    "-p": ("main", "other", "main,other", "closed", "nosuch", "''"),
    "-w": ("n1", "n2", "n[1-2]", "n[1-3]", "n9", "n[", "n1,n2"),
    "-x": ("n1", "n[1-3]", "n[1-4]", "n9"),
    "-C": ("f1", "f2", "'f1&f2'", "'f1|f2'", "'[f1|f2]'", "nosuch", "'f1*2'", "'f1&'"),
    "-d": ("afterok:{job}", "afterany:{job}", "after:{job}", "afternotok:{job}", "singleton", "afterok:99999", "x",
           "afterok:{job}:{job}", "afterany:{job}?afterok:{job}", "aftercorr:{job}", "expand:{job}", "after:{job}+5"),
    "-a": ("1-3", "0-4:2", "1-4%1", "5", "3-1", "x", "1,2,5", "1-2,2", "0-5000", "1-3%0"),
    "--begin=": ("now+1hour", "now+2", "2010-01-01", "x", "tomorrow", "16:00", "now+x"),
    "--deadline=": ("now+1hour", "2010-01-01", "x", "now+5minutes"),
    "--nice=": ("0", "10", "-5", "x", "3000000000"),
    "--exclusive": ("", "=user", "=mcs", "=x"),
    "--comment=": ("words", "'two words'", "''"),
    "-D": ("/tmp", "/nosuch", "relative"),
    "-o": ("/dev/null", "%j.out", "x-%A_%a.out"),
    "-L": ("lic:1", "lic:4", "lic:5", "lic:99", "nosuch:1", "lic", "lic:x", "lic:1,lic2:1"),
    "--gres=": ("tool:1", "tool:2", "tool:9", "nosuch:1", "tool", "none", "tool:x"),
    "--mail-type=": ("END", "ALL", "x", "NONE", "BEGIN,END"),
    "--ntasks-per-node=": ("1", "2", "4", "5", "x"),
    "--signal=": ("USR1", "B:TERM@60", "10@30", "x", "USR1@x"),
    "-A": ("physics", "chem", "nosuch", "''"),
    "-q": ("normal", "high", "low", "nosuch"),
    "--requeue": ("",), "--no-requeue": ("",), "-H": ("",), "-k": ("",), "-s": ("",), "--contiguous": ("",),
    "--parsable": ("",), "-Q": ("",), "-O": ("",), "--spread-job": ("",), "--use-min-nodes": ("",),
    "--priority=": ("100", "0", "x"), "--reservation=": ("{resv}",), "--switches=": ("1", "1@5", "x"),
    "--mincpus=": ("1", "4", "9"), "--tmp=": ("1", "1G", "x"), "--sockets-per-node=": ("1", "3"),
    "--cores-per-socket=": ("1", "5"), "--threads-per-core=": ("1", "3"), "--hint=": ("nomultithread", "x"),
    "-m": ("block", "cyclic", "x", "arbitrary"), "--open-mode=": ("append", "truncate", "x"),
    "--core-spec=": ("1",), "--wait-all-nodes=": ("1", "3"), "--kill-on-invalid-dep=": ("yes", "no", "x"),
    "--export=": ("NONE", "ALL", "A=1"), "--profile=": ("none", "x"), "--get-user-env": ("",),
    "--gpus=": ("1", "2", "4", "9", "0", "x", "gpu:1", "nosuch:1"), "--gpus-per-node=": ("1", "2", "3", "x", "gpu:1"), "-e": ("/dev/null",
    "%x.err"),
    "--gpus-per-task=": ("1", "x"), "--cpus-per-gpu=": ("1", "2", "x"), "--mem-per-gpu=": ("10", "x"), "--gpus-per-socket=": ("1",),
    "--ntasks-per-gpu=": ("1", "x"), "--gres-flags=": ("enforce-binding", "disable-binding", "x"), "--gpu-bind=": ("none", "closest", "x"),
    "--gpu-freq=": ("low", "x"), "--ntasks-per-core=": ("1", "x"), "--ntasks-per-socket=": ("1", "9", "x"), "--delay-boot=": ("5", "x"),
    "--prefer=": ("f1", "nosuch"), "-B": ("1", "1:4", "2:2:2", "x", "*:*:1"), "--reboot": ("",), "--no-kill": ("", "=off"), "-E": ("1",),
    "--cluster-constraint=": ("x",), "--cpu-freq=": ("low", "x", "1000-2000"), "--mcs-label=": ("x",), "--thread-spec=": ("1", "x"),
    "--input=": ("/dev/null", "/nosuch"), "--mail-user=": ("nobody", "''"), "--nodefile=": ("/nosuch", "/dev/null"), "-F": ("/nosuch",),
    "--propagate=": ("NONE", "ALL", "x", "NOFILE"), "--gid=": ("research", "nosuch", "2001"),
    "--container=": ("/nosuch",), "--acctg-freq=": ("10", "task=5", "x"), "--batch=": ("f1", "nosuch"), "--ignore-pbs": ("",),
    "--export-file=": ("/nosuch",), "--mem-bind=": ("none", "x"), "--gres=none": ("",), "--array=": ("0-3", "1-5%2", "7,9", "1-1001"),
    "--nodes=": ("1-x", "2-2"),
    "--mem": ("=1K", "=1.5G", "=100MB", "=5g", "=-1"), "--distribution=": ("block:cyclic", "*:*", "plane=2", "plane", "block:x",
    "cyclic,Pack"),
    "--dependency=": ("afterok:{job},afterany:{job}", "afterok:{job}?singleton", "afterburstbuffer:{job}", "after:x", "afterok", ","),
    "--time=": ("1-", "0-0:1", "1:", "-1", "infinite", "1:60", "366-0"), "--hold": ("",), "--job-name=": ("x" * 70,), "--nice": ("", "=",
    "=-1"),
    "--nosuch": ("",), "--test-only": ("",), "-M": ("nosuch", "bench"), "--chdir=": ("/",), "--wckey=": ("w",),
}
PROGRAMS = ("sleep 600", "sleep 600", "sleep 600", "true", "exit 3", "echo hello", "kill -9 $$")

JOB_FIELDS = {
    "Name": ("new", "'a b'", ""), "TimeLimit": ("5", "61", "+5", "-5", "x", "1-0", "0", "UNLIMITED"),
    "NumNodes": ("1", "2", "1-2", "9", "x", "0"), "NumCPUs": ("1", "4"), "NumTasks": ("1", "3", "x"),
    "MinMemoryNode": ("100", "9999", "x"), "MinMemoryCPU": ("50", "x"), "MinTmpDiskNode": ("0", "5"),
    "Partition": ("main", "other", "nosuch", "main,other"), "Priority": ("10", "0", "x", "-1"),
    "Nice": ("0", "5", "-5", "x"), "Comment": ("c", "", "'c d'"), "AdminComment": ("a",), "Features": ("f1", "nosuch", ""),
    "ReqNodeList": ("n1", "n9", "", "n[1-2]"), "ExcNodeList": ("n2", "", "n9"), "Requeue": ("0", "1", "2", "x"),
    "Dependency": ("afterany:{job}", "", "afterok:99999", "x", "singleton"), "StartTime": ("now", "now+1hour", "x"),
    "Deadline": ("now+2hours", "x"), "Account": ("physics", "nosuch", "chem"), "QOS": ("high", "nosuch", "normal"),
    "OverSubscribe": ("YES", "NO", "OK", "x"), "Contiguous": ("yes", "no", "x"), "Licenses": ("lic:1", "nosuch", "", "lic:9"),
    "Gres": ("tool:1", "", "nosuch"), "ArrayTaskThrottle": ("1", "0", "x"), "WorkDir": ("/tmp",), "EligibleTime": ("now", "x"),
    "ReservationName": ("{resv}", "nosuch"), "UserID": ("alice",), "NoSuch": ("1",), "StdOut": ("/dev/null",),
    "TresPerNode": ("gres/gpu:1", "gres:tool:1", "x", ""), "TresPerJob": ("gres/gpu:1", "x"),
    "CpusPerTres": ("gres/gpu:1",), "MinCPUsNode": ("1", "9"), "ReqCores": ("1",), "ReqSockets": ("1",), "ReqThreads": ("1",),
    "CPUsPerTask": ("1", "2"),
    "TimeMin": ("1", "x", "99"), "Switches": ("1", "1@10"), "MailUser": ("x",), "MailType": ("END", "x"), "Burst": ("x",),
    "CoreSpec": ("1",), "Shared": ("1", "x"), "WCKey": ("w",), "KillOnInvalidDependent": ("yes", "x"), "ExitCode": ("1",),
}

NODE_FIELDS = {
    "State": ("drain", "resume", "down", "idle", "undrain", "fail", "x", "DRAINING"),
    "Reason": ("why", "'two words'", ""), "Weight": ("1", "5", "x"), "Comment": ("c", ""), "Extra": ("e", ""),
    "AvailableFeatures": ("f1,f2", "f3", ""), "ActiveFeatures": ("f1", "f9", ""), "Gres": ("tool:2", "nosuch:1"),
    "CpuBind": ("core", "x"), "NoSuch": ("1",), "NodeAddr": ("127.0.0.1",), "ReasonUID": ("0",),
}

PART_FIELDS = {
    "State": ("UP", "DOWN", "DRAIN", "INACTIVE", "x"), "MaxTime": ("10", "UNLIMITED", "x", "1-0", "0"),
    "DefaultTime": ("5", "NONE", "x"), "MaxNodes": ("1", "UNLIMITED", "x"), "MinNodes": ("1", "2", "x"),
    "Nodes": ("n1", "n[1-2]", "ALL", "n9", ""), "CpuBind": ("core", "none", "x"), "DefMemPerNode": ("100", "UNLIMITED", "x"),
    "MaxMemPerCPU": ("200", "x"),
    "ExclusiveUser": ("YES", "NO", "x"), "Default": ("YES", "NO", "x"), "Hidden": ("YES", "NO", "x"),
    "RootOnly": ("YES", "NO", "x"), "DisableRootJobs": ("YES", "NO"), "Shared": ("NO", "EXCLUSIVE", "FORCE:2", "YES:3", "x"),
    "OverSubscribe": ("NO", "FORCE", "YES"), "PriorityTier": ("1", "5", "x"), "PriorityJobFactor": ("1", "x"),
    "AllowGroups": ("ALL", "research", "nosuch"), "AllowAccounts": ("ALL", "physics", "nosuch"), "AllowQos": ("ALL", "high"),
    "DenyAccounts": ("chem", ""), "DenyQos": ("low", ""), "MaxCPUsPerNode": ("2", "UNLIMITED", "x"), "GraceTime": ("5", "x"),
    "PreemptMode": ("OFF", "REQUEUE", "x"), "QoS": ("high", "nosuch", ""), "DefMemPerCPU": ("10", "x"), "MaxMemPerNode": ("500", "x"),
    "OverTimeLimit": ("1", "UNLIMITED", "x"), "ReqResv": ("YES", "NO"), "LLN": ("YES", "NO"), "Alternate": ("main", "nosuch", "NONE"),
    "JobDefaults": ("DefCpuPerGPU=1", "x"), "TRESBillingWeights": ("CPU=1.0", "x"), "AllocNodes": ("ALL", "n1"), "NoSuch": ("1",),
}

RESV_FIELDS = {
    "StartTime": ("now", "now+1hour", "x", "2010-01-01"), "Duration": ("10", "60", "x", "0"), "EndTime": ("now+3hours", "x"),
    "Users": ("alice", "root", "nosuch", "alice,bob", "-bob"), "Accounts": ("physics", "nosuch"), "Nodes": ("n1", "n[1-2]", "ALL", "n9"),
    "NodeCnt": ("1", "2", "9", "x"), "CoreCnt": ("2", "99", "x"), "Flags": ("MAINT", "IGNORE_JOBS", "DAILY", "x", "MAINT,IGNORE_JOBS",
    "FLEX", "ANY_NODES", "OVERLAP", "WEEKLY", "HOURLY",
              "PART_NODES", "PURGE_COMP=1", "NO_HOLD_JOBS_AFTER", "REPLACE", "STATIC_ALLOC", "SPEC_NODES", "WEEKDAY", "TIME_FLOAT",
              "FIRST_CORES"),
    "Features": ("f1", "nosuch", "f1&f2"), "PartitionName": ("main", "nosuch", "other"), "Licenses": ("lic:1", "nosuch", "lic:9"),
    "NoSuch": ("1",),
    "TRES": ("cpu=2", "node=1", "gres/gpu=1", "x", "cpu=x"), "Groups": ("research", "nosuch"), "MaxStartDelay": ("5", "x"),
    "Users+": ("carol",), "Users-": ("alice",), "Nodes+": ("n2",),
    "Nodes-": ("n1",), "Flags+": ("SPEC_NODES", "WEEKLY"), "Flags-": ("MAINT",), "Duration+": ("10",), "Accounts+": ("chem",),
}

ASSOC_FIELDS = {
    "MaxJobs": ("2", "-1", "x", "0"), "MaxSubmit": ("5", "-1"), "GrpJobs": ("3", "-1", "x"), "GrpTRES": ("cpu=4", "cpu=-1", "x", "node=2"),
    "MaxTRES": ("cpu=2", "cpu=-1", "mem=1G"), "MaxWall": ("10", "-1", "x", "1-0"), "Fairshare": ("1", "50", "x", "parent"),
    "QOS": ("normal,high", "+low", "-low", "nosuch", "normal"), "DefaultQOS": ("normal", "high", "nosuch", "-1"), "Priority": ("5", "-1",
    "x"),
    "GrpWall": ("100", "-1", "x"), "GrpTRESMins": ("cpu=100", "cpu=-1"), "MaxTRESMins": ("cpu=50", "cpu=-1"), "NoSuch": ("1",),
    "GrpSubmitJobs": ("9", "-1"), "GrpJobsAccrue": ("3", "-1"), "MaxJobsAccrue": ("2", "-1"), "MaxTRESPerNode": ("cpu=2", "gres/gpu=1",
    "cpu=-1"),
    "GrpTRESRunMins": ("cpu=1000", "cpu=-1", "x=1"), "GrpCPUs": ("9", "-1"), "MaxCPUs": ("4", "-1"), "MaxNodes": ("3", "-1"),
    "GrpMem": ("9000",),
    "MaxCPUMins": ("100", "-1"), "Share": ("7",), "MaxWallDurationPerJob": ("1:00:00", "0-1"), "GrpNodes": ("4", "-1"),
}
ACCOUNT_FIELDS = {**ASSOC_FIELDS, "Description": ("d", "'d e'"), "Organization": ("o",), "Parent": ("science", "root", "nosuch", "physics")}
USER_FIELDS = {**ASSOC_FIELDS, "DefaultAccount": ("physics", "chem", "nosuch"), "AdminLevel": ("None", "Operator", "x"),
    "DefaultWCKey": ("w",)}
QOS_FIELDS = {
    "Priority": ("5", "100", "-1", "x"), "MaxWall": ("10", "-1", "x"), "MaxJobsPU": ("2", "-1"), "MaxSubmitPU": ("4", "-1"),
    "GrpTRES": ("cpu=4", "cpu=-1", "x"), "MaxTRESPU": ("cpu=2", "cpu=-1"), "MaxTRES": ("cpu=4", "cpu=-1"), "GrpJobs": ("3", "-1"),
    "Flags": ("DenyOnLimit", "-1", "x", "NoReserve", "+NoDecay"), "Preempt": ("low", "", "nosuch"), "PreemptMode": ("requeue", "cluster",
    "x"),
    "UsageFactor": ("1.0", "2", "x"), "GraceTime": ("10", "-1"), "Description": ("d",), "MinTRES": ("cpu=2", "cpu=-1"), "NoSuch": ("1",),
    "MaxJobsAccrueUser": ("2", "-1"), "GrpWall": ("100", "-1"), "UsageThreshold": ("0.5", "-1", "x"), "LimitFactor": ("1.5", "-1", "x"),
    "PreemptExemptTime": ("5", "-1", "x"),
    "MaxTRESPA": ("cpu=3", "cpu=-1"), "MaxJobsPA": ("3", "-1"), "MaxSubmitPA": ("5", "-1"), "MaxTRESPerNode": ("cpu=1", "cpu=-1"),
    "GrpTRESMins": ("cpu=10", "cpu=-1"), "GrpTRESRunMins": ("cpu=100",), "GrpSubmit": ("6", "-1"), "MaxTRESMins": ("cpu=20",),
    "MinCPUs": ("1",),
    "GrpJobsAccrue": ("2",), "MaxJobsAccrueAccount": ("2",), "Name": ("x",), "GrpCPUs": ("8",), "MaxCPUsPerUser": ("4",),
    "MaxNodesPerUser": ("2",),
}

# Options of sbatch that salloc and srun do not take, or with another meaning.
NO_ALLOCATION = ("-a", "-o", "--parsable", "--test-only", "-D", "--kill-on-invalid-dep=", "--export=", "-Z")
SQUEUE_LETTERS = "aABcCdDEfFgGhHiIjJkKlLmnNoOpPqrRStTuUvwWxXyYzZ"
# Not boardspernode, maxcpus, maxnodes, ntpernode: N/A or 0 for what was not asked for (47).
SQUEUE_FIELDS = ("account", "arrayjobid", "arraytaskid", "batchflag", "command", "comment", "contiguous", "cores",
                 "corespec", "cpuspertask", "deadline", "dependency", "feature", "groupname", "jobarrayid", "jobid",
                 "licenses", "minmemory", "mintmpdisk", "name", "nice", "nodelist", "ntpercore", "numcpus", "numnodes",
                 "numtasks", "oversubscribe", "partition", "priority", "qos", "reason", "reqnodes", "reservation", "restartcnt", "state",
                 "statecompact", "timelimit", "tres-per-node", "userid", "username", "wckey", "workdir", "schednodes", "nosuch", "hetjobid")
SINFO_LETTERS = "aAbBcCdDfFgGhHIlLmnNpPrRsStTuUvwXYzZ"  # not %i: the reservation, newer
SINFO_FIELDS = ("allocnodes", "available", "comment", "cores", "cpus", "cpusstate", "defaulttime", "disk", "features", "features_act",
                "gres", "gresused", "groups", "maxcpuspernode", "memory", "nodeai", "nodeaiot", "nodelist", "nodes", "oversubscribe",
                "partition", "partitionname", "preemptmode", "priorityjobfactor", "prioritytier", "reason", "root", "size", "sockets",
                "statecompact", "statelong", "threads", "time", "user", "weight", "nosuch", "extra", "statecomplete", "allocmem")

HET = {
    "-n": ("1", "2", "x"), "-N": ("1", "2"), "-c": ("1", "2"), "--mem=": ("10", "x"), "-p": ("main", "other", "nosuch"), "-J": ("one",
    "two"),
    "-t": ("5", "90"), "-C": ("f1", "f2", "nosuch"), "-w": ("n1", "n9"), "-H": ("",), "-a": ("1-2",), "-d": ("singleton", "afterany:{job}"),
    "-A": ("physics", "nosuch"), "-q": ("high", "nosuch"), "--exclusive": ("",), "-L": ("lic:1",), "--gres=": ("nosuch:1",),
}
SBATCH_VARIABLES = {
    "SBATCH_ACCOUNT": ("physics", "nosuch"), "SBATCH_JOB_NAME": ("env", "''"), "SBATCH_PARTITION": ("other", "nosuch"),
    "SBATCH_TIMELIMIT": ("5", "x"),
    "SBATCH_QOS": ("high", "nosuch"), "SBATCH_ARRAY_INX": ("1-2", "x"), "SBATCH_CONSTRAINT": ("f1", "nosuch"),
    "SBATCH_EXCLUSIVE": ("", "user", "x"),
    "SBATCH_REQUEUE": ("1", ""), "SBATCH_NO_REQUEUE": ("1",), "SBATCH_OPEN_MODE": ("append", "x"), "SBATCH_DISTRIBUTION": ("block", "x"),
    "SBATCH_MEM_PER_NODE": ("100", "x"), "SBATCH_MEM_PER_CPU": ("50", "x"), "SBATCH_RESERVATION": ("{resv}",),
    "SBATCH_SIGNAL": ("USR1@30", "x"),
    "SBATCH_OVERCOMMIT": ("1",), "SBATCH_WAIT": ("0",), "SBATCH_EXPORT": ("NONE", "ALL,A=1"), "SBATCH_HINT": ("nomultithread", "x"),
    "SBATCH_CLUSTERS": ("nosuch", "bench"), "SBATCH_THREAD_SPEC": ("1",), "SBATCH_PROFILE": ("none", "x"), "SBATCH_WCKEY": ("w",),
    "SBATCH_SPREAD_JOB": ("1",), "SBATCH_USE_MIN_NODES": ("1",), "SBATCH_REQ_SWITCH": ("1", "x"), "SBATCH_POWER": ("x",),
    "SBATCH_GPUS": ("1", "x"),
    "SBATCH_IGNORE_PBS": ("1",), "SBATCH_DEBUG": ("0", "x"), "SLURM_EXIT_ERROR": ("5",), "SBATCH_NETWORK": ("x",), "SBATCH_NICE": ("5",
    "x"),
}
QUERY_VARIABLES = {
    "SQUEUE_FORMAT": ("'%i %T'", "%i", "nosuch", "''"), "SQUEUE_FORMAT2": ("jobid,state", "nosuch"), "SQUEUE_STATES": ("PD", "all", "x"),
    "SQUEUE_USERS": ("alice", "nosuch"), "SQUEUE_PARTITION": ("other", "nosuch"), "SQUEUE_SORT": ("i", "-i", "x"), "SQUEUE_NAMES": ("one",),
    "SQUEUE_ACCOUNT": ("physics",), "SQUEUE_QOS": ("high", "nosuch"), "SQUEUE_ARRAY": ("1",), "SQUEUE_ALL": ("1",),
    "SQUEUE_PRIORITY": ("1",),
    "SQUEUE_LICENSES": ("lic",), "SINFO_FORMAT": ("%P", "'%P %D'", "nosuch"), "SINFO_PARTITION": ("other", "nosuch"), "SINFO_SORT": ("P",
    "x"),
    "SINFO_ALL": ("1",), "SCANCEL_USER": ("alice", "nosuch"), "SCANCEL_STATE": ("PENDING", "x"), "SCANCEL_NAME": ("one",),
    "SCANCEL_PARTITION": ("other",),
    "SCANCEL_VERBOSE": ("false", "x"), "SCANCEL_ACCOUNT": ("physics",), "SCANCEL_QOS": ("high",), "SACCT_FORMAT": ("jobid", "nosuch"),
    "SLURM_TIME_FORMAT": ("relative", "standard", "%H"), "SLURM_CLUSTERS": ("bench", "nosuch"),
}
CONDITIONS = {
    "account": ("physics", "nosuch"), "user": ("alice", "nosuch"), "cluster": ("bench", "nosuch"), "name": ("high", "alice", "nosuch"),
    "id": ("1", "x"),
    "qos": ("high", "nosuch"), "partition": ("main",), "parent": ("science",),
    "description": ("x",), "organization": ("x",), "adminlevel": ("None", "x"),
    "defaultaccount": ("physics",), "start": ("2010-01-01", "x"), "end": ("2010-02-01",), "node": ("n1",), "flags": ("x",),
    "type": ("cpu", "x"),
    "nosuch": ("1",), "fairshare": ("1",), "maxjobs": ("1",), "priority": ("1",), "wckey": ("w",), "defaultqos": ("high",),
    "grptres": ("cpu=1",),
}

WRONG_WORDS = ("x", "nosuch", "=x", "nosuch:1", "lic:x", "tool:x", "now+x", "USR1@x", "n9", "n[", "f1&", "'f1&'", "10@30", "3-1")
WRONG = ("x", "nosuch", "n9", "x.y", "9999", "9", "afterok:99999", "nosuch:1", "lic:9", "-bob", "DRAINING", "{resv}", "99", "-1",
    "2010-01-01")
WRONG_KEYS = ("NoSuch", "Burst", "EligibleTime", "UserID", "ReasonUID", "Shared", "WCKey", "ExitCode", "JobDefaults", "CpuBind", "Gres")


class World(Queries, Steps, More, Steer, Wide):
    """What a sequence of commands has made so far, as far as a generator needs to know."""

    def __init__(self, seed, kinds=None):
        """kinds: {name: weight} in place of KINDS"""
        self.rng = random.Random(seed)
        self.kinds = kinds or dict(self.KINDS)
        self.jobs = 0  # submissions so far: a job's name in a sequence is its number
        self.resvs, self.parts, self.accounts, self.qos = [], [], [], []

    # ---- words

    def pick(self, values):
        return self.rng.choice(values)

    def job(self):
        """${J1} is the first job of the sequence; the player puts its number in."""
        if not self.jobs or self.rng.random() < 0.04:
            return self.pick(("99999", "abc", "0", "-1", "1_1"))
        return f"${{J{self.rng.randint(1, self.jobs)}}}" + self.pick(("",) * 12 + ("_1", "_2", "_9", ".0", ".batch", "_[1-2]"))

    def fill(self, value):
        value = value.replace("{resv}", self.pick([*self.resvs, "nosuch"]))
        while "{job}" in value:
            value = value.replace("{job}", self.job(), 1)
        return value

    def assignments(self, fields, least=1, most=3):
        """A wrong value stands alone: what else came of a refused change is a question for both sides' authors."""
        keys = self.rng.sample(sorted(fields), self.rng.randint(least, most))
        values = {k: self.pick(fields[k]) for k in keys}
        wrong = [k for k in keys if k in WRONG_KEYS or values[k] in WRONG]
        return " ".join(f"{self.spelling(k)}={self.fill(values[k])}" for k in (wrong[:1] or keys))

    def spelling(self, key):
        return self.pick((key, key, key.lower(), key.upper()))

    # ---- commands

    def submit(self):
        options = self.rng.sample(sorted(SUBMIT), self.rng.choice((0, 1, 1, 2, 2, 3, 4, 5)))
        values = {option: self.pick(SUBMIT[option]) for option in options}
        wrong = [o for o in options if values[o] in WRONG_WORDS]
        words = []
        for option in wrong[:1] + [o for o in options if o not in wrong]:
            value = self.fill(values[option])
            words.append(option + (value if option.startswith("--") else f" {value}" if value else ""))
        self.jobs += 1
        return f"sbatch -o /dev/null {' '.join(words)} --wrap '{self.pick(PROGRAMS)}'"

    def submit_het(self):
        """Components with options of their own; a wrong one may stand in any."""
        parts = []
        for _ in range(self.rng.choice((2, 2, 3))):
            options = self.rng.sample(sorted(HET), self.rng.choice((0, 1, 2)))
            parts.append(" ".join(o + (v if o.startswith("--") else f" {v}" if v else "")
                                  for o in options for v in [self.fill(self.pick(HET[o]))]))
        self.jobs += 1
        return f"sbatch {self.pick(('', '-H ', '-Q ', '--parsable '))}-o /dev/null {' : '.join(parts)} --wrap '{self.pick(PROGRAMS)}'"

    def submit_script(self):
        """Options in the script, behind those of the environment and before those of the command line."""
        options = self.rng.sample(sorted(SUBMIT), self.rng.choice((1, 2, 3)))
        lines = [f"#SBATCH {o}{'' if o.startswith('--') else ' '}{self.fill(self.pick(SUBMIT[o]))}" for o in options]
        odd = self.pick(("", "", "", "#SBATCH\n", "##SBATCH -N9\n", "#SBATCH -n1 # a comment\n", "echo\n#SBATCH -N9\n", " #SBATCH -N9\n",
                         "#SBATCH --comment=\"two words\"\n", "#SBATCH --nosuch\n", "#SBATCH -J 'a b'\n", "#SBATCH -n1 -J x\n"))
        first = self.pick(("#!/bin/sh", "#!/bin/sh", "#!/bin/sh", "#!/bin/bash -e", "", "echo"))
        text = "\\n".join([first, *lines, odd.replace("\n", "\\n") + self.pick(PROGRAMS).replace("$$", "\\$\\$"), ""])
        self.jobs += 1
        return f'printf "{text.replace(chr(34), chr(92) + chr(34))}" | sbatch -o /dev/null {self.environment_option()}'

    def environment_option(self):
        return self.pick(("", "", "-J line", "-n2", "-p other"))

    def submit_environment(self):
        variables = self.rng.sample(sorted(SBATCH_VARIABLES), self.rng.choice((1, 1, 2)))
        words = " ".join(f"{v}={self.fill(self.pick(SBATCH_VARIABLES[v]))}" for v in variables)
        self.jobs += 1
        return f"env {words} sbatch -o /dev/null {self.environment_option()} --wrap '{self.pick(PROGRAMS)}'"

    def query_environment(self):
        variables = self.rng.sample(sorted(QUERY_VARIABLES), self.rng.choice((1, 1, 2)))
        words = " ".join(f"{v}={self.fill(self.pick(QUERY_VARIABLES[v]))}" for v in variables)
        command = ("sinfo" if "SINFO" in words else "squeue -S i" if "SQUEUE" in words else
                   self.scancel() if "SCANCEL" in words else "sacct -n -X -o jobid%3")
        return f"env {words} {command}"

    def submit_plain(self):
        self.jobs += 1
        return f"sbatch -o /dev/null {self.pick(('', '-H ', '-n2 ', '-a 1-3 ', '-H -a 1-4 ', '-p other '))}--wrap 'sleep 600'"

    def update_job(self):
        return f"scontrol update {self.pick(('job', 'jobid', 'JobId'))}={self.job()} {self.assignments(JOB_FIELDS)}"

    def act_on_job(self):
        verb = self.pick(("hold", "uhold", "release", "requeue", "requeuehold", "suspend", "resume", "top"))
        first, second = self.job(), self.job()
        more = self.pick(("", "", "", "," + second, " " + second)) if first != second and verb != "top" else ""
        return f"scontrol {verb} {first}{more}"

    def scancel(self):
        parts = [self.pick(("", "", "", "-u alice", "-u nosuch", "-n one", "-p other", "-t pending", "-t running", "-w n1", "-A physics",
                            "-q high", "-s USR1", "-b", "-f", "-Q", "-s x", "-t x", "-p nosuch", "-H", "-R x", "--me"))
                 for _ in range(self.pick((1, 1, 2)))]
        return f"scancel {' '.join(parts)} {self.pick((self.job(), self.job(), ''))}"

    def node(self):
        return f"scontrol update {self.pick(('nodename', 'NodeName'))}={self.pick(('n1', 'n2', 'n[1-2]', 'n9', 'n[3-4]'))} " \
               f"{self.assignments(NODE_FIELDS, 1, 2)}"

    def partition(self):
        name = self.pick(("new1", "new2", "other", *self.parts))
        verb = self.pick(("create", "update", "update", "update", "delete"))
        if verb == "create":
            self.parts.append(name)
        return f"scontrol {verb} partitionname={name} {'' if verb == 'delete' else self.assignments(PART_FIELDS)}"

    def reservation(self):
        name = self.pick(("r1", "r2", *self.resvs))
        verb = self.pick(("create", "create", "update", "delete"))
        if verb == "create":
            self.resvs.append(name)
            base = "starttime=now+1hour duration=60 users=root nodes=n4 " if self.rng.random() < 0.5 else ""
            fields = {k: v for k, v in RESV_FIELDS.items() if not base or k.lower() + "=" not in base}
            return f"scontrol create reservationname={name} {base}{self.assignments(fields, 0 if base else 2, 3)}"
        if verb == "delete":
            return f"scontrol delete reservationname={name}"
        return f"scontrol update reservationname={name} {self.assignments(RESV_FIELDS, 1, 2)}"

    def show_entity(self):
        """Any entity with any condition, whether it knows it or not."""
        entity = self.pick(("account", "user", "qos", "assoc", "wckey", "tres", "event", "transaction", "resource", "reservation",
                            "federation", "coordinator"))
        key = self.pick(sorted(CONDITIONS))
        more = self.pick(("", "", "", " where", " set"))
        condition = f"{self.spelling(key)}={self.pick(CONDITIONS[key])}"
        return f"sacctmgr -nP {self.pick(('show', 'list', 'list', 'sho', 'li'))} {entity}{more} {condition}" \
               f"{self.pick(('', '', ' format=' + self.pick(('name', 'user', 'account%5', 'cluster', 'nosuch'))))}"

    def coordinator(self):
        verb = self.pick(("add", "add", "delete", "remove"))
        return f"sacctmgr -i {verb} coordinator account={self.pick(('physics', 'chem', 'nosuch', 'physics,chem'))} " \
               f"names={self.pick(('alice', 'carol', 'nosuch', 'alice,bob'))}"

    def report(self):
        what = self.pick(("cluster utilization", "cluster accountutilizationbyuser", "cluster userutilizationbyaccount",
        "job sizesbyaccount",
                          "user topusage", "reservation utilization", "cluster nosuch", "nosuch", "job sizes", "user top", "cluster"))
        rest = self.pick(("", "start=2010-01-01 end=2010-02-01", "start=x", "users=alice", "accounts=physics", "nosuch=1",
        "format=login,used",
                          "format=nosuch", "-t hours", "-t x", "-P", "-n", "tree", "cluster=nosuch", "--tres=cpu,mem", "-T x"))
        return f"sreport {what} {rest} | grep -v '^Cluster Util\\|^Usage reported\\|^Top\\|^Job Sizes\\|^Reservation'"

    def bulk(self):
        """Many jobs in one command, and words that stand where none is expected."""
        jobs = ",".join(self.job() for _ in range(self.rng.choice((2, 3))))
        return self.pick((f"scontrol update jobid={jobs} comment=many",
        f"scontrol update jobname=wrap comment=c userid={self.pick(('alice', '2001', 'x'))}",
                          f"scontrol update jobname={self.pick(('one', 'nosuch', 'wrap'))} nice=1",
                          f"scontrol hold jobname={self.pick(('one', 'nosuch'))}",
                          f"scontrol release name={self.pick(('one', 'wrap'))}", f"squeue -h -S i -j {jobs} -o '%i %T'",
                          f"scontrol listpids {self.job()}", f"scontrol completing",
                          f"scontrol show hostlist {self.pick(('n1,n2', 'n2,n1', 'n1,n3', 'x', 'n[1-2],m3'))}",
                          f"scontrol show hostlistsorted {self.pick(('n2,n1', 'n10,n9', 'n[3-1]', 'n[01-03]', ''))}",
                          f"scontrol show hostnames {self.pick(('n[1-3]', 'n[01-3]', 'n[', 'n[1-3,5]', 'a,b', ''))}",
                          f"scontrol {self.pick(('nosuch', 'sho', 'upd', 'hol', 'p', 'ver', 'ping', ''))}",
                          f"scontrol show {self.pick(('nosuch', 'jo', 'pa', 'p', 'nod', 'res', 'daemons', 'aliases n1', ''))}",
                          f"scancel {jobs.replace(',', ' ')}", f"scontrol wait_job {self.pick(('99999', 'x', '0'))}",
                          f"scontrol write batch_script {self.job()} -",
                          f"squeue -h -S i --{self.pick(('user', 'name', 'account', 'qos', 'licenses', 'states'))}={self.pick(('alice', 'x', 'wrap', 'physics', '', 'alice,bob'))} -o %i"))

    def account(self):
        name = self.pick(("new", "sub", "physics", "chem", "nosuch"))
        verb = self.pick(("add", "modify", "modify", "delete"))
        if verb == "add":
            return f"sacctmgr -i add account {name} {self.assignments(ACCOUNT_FIELDS, 0, 2)}"
        if verb == "modify":
            return f"sacctmgr -i modify account {name} set {self.assignments(ACCOUNT_FIELDS, 1, 2)}"
        return f"sacctmgr -i delete account {self.pick(('new', 'sub', 'nosuch', 'chem'))}"

    def user(self):
        name = self.pick(("alice", "bob", "carol", "nosuch", "dave"))
        verb = self.pick(("add", "modify", "modify", "modify", "delete"))
        if verb == "add":
            return f"sacctmgr -i add user {name} account={self.pick(('physics', 'chem', 'nosuch'))} {self.assignments(USER_FIELDS, 0, 2)}"
        if verb == "modify":
            where = self.pick(("", "", " account=physics", " where account=chem"))
            return f"sacctmgr -i modify user {name}{where} set {self.assignments(USER_FIELDS, 1, 2)}"
        return f"sacctmgr -i delete user {self.pick(('dave', 'nosuch', 'carol'))} {self.pick(('', 'account=chem', 'where account=physics'))}"

    def a_qos(self):
        name = self.pick(("high", "low", "q1", "nosuch"))
        verb = self.pick(("add", "modify", "modify", "delete"))
        if verb == "add":
            return f"sacctmgr -i add qos {name} {self.assignments(QOS_FIELDS, 0, 2)}"
        if verb == "modify":
            return f"sacctmgr -i modify qos {name} set {self.assignments(QOS_FIELDS, 1, 2)}"
        return f"sacctmgr -i delete qos {self.pick(('q1', 'nosuch', 'q1'))}"

    def acct_list(self):
        entity = self.pick(("account", "user", "qos", "assoc", "wckey", "tres", "coordinator", "nosuch", "event"))
        more = self.pick(("", "-n ", "-P ", "-nP ", "-p "))
        fields = {"account": "account,descr,org", "user": "user,def,admin", "qos": "name,priority,flags,grptres,maxwall,maxjobspu",
                  "assoc": "account,user,fairshare,grpjobs,maxjobs,grptres,maxwall,qos,defaultqos"}.get(entity)
        fmt = f" format={fields}" if fields else ""
        where = self.pick(("", "", " where user=alice", " account=physics", " where nosuch=1", " name=high"))
        return f"sacctmgr {more}{self.pick(('show', 'list'))} {entity}{where}{fmt}"

    def squeue(self):
        fmt = " ".join(f"%{self.pick(('', '', '.10', '8', '.3'))}{letter}" for letter in self.rng.sample(SQUEUE_LETTERS, 4))
        long = ",".join(self.rng.sample(SQUEUE_FIELDS, 4))
        how = self.pick((f'-o "{fmt}"', f'-o "{fmt}"', f"-O {long}", "", "-l | tail -n +2", "-s", "--start"))
        rest = self.pick(("", "", f"-j {self.job()}", "-u alice", f"-t {self.pick(STATES)}", "-p other", "-w n1", "-n one", "-A physics",
                          "-q high", "-a", "-r", "-S i", "-S -i", "-L lic", "-R nosuch", "-S P,i", "--me", "-h"))
        return f"squeue {rest} {how}" if "|" in how else f"squeue {how} {rest}"

    def sinfo(self):
        fmt = " ".join(f"%{self.pick(('', '', '.8', '6'))}{letter}" for letter in self.rng.sample(SINFO_LETTERS, 4))
        long = ",".join(self.rng.sample(SINFO_FIELDS, 3))
        how = self.pick((f'-o "{fmt}"', f'-o "{fmt}"', f"-O {long}", "", "-s", "-R -h -o '%E|%n'", "-N"))
        rest = self.pick(("", "", "-p other", "-n n1", "-t idle", "-t alloc,mix", "-t x", "-a", "-d", "-r", "-S n", "-e", "-h", "-T"))
        return f"sinfo {how} {rest}"

    def show(self):
        what = self.pick((f"job {self.job()}", f"job {self.job()}", "partition", "partition other", "node n1", "node n[1-2]", "reservation",
                          "licenses", f"step {self.job()}.0", "reservation r1", "partition nosuch", "hostnames n[1-3]",
                          f"job {self.job()}"))
        return f"scontrol {self.pick(('', '', '-o '))}show {what}"

    def look_back(self):
        return self.pick((f"sprio -h -j {self.job()} -o '%i %u %r'", "sprio -w -h -o '%A %F'", "sshare -h -P -l -o account,user,rawshares",
                          f"sacct -nX -j {self.job()} -o jobid,jobname,partition,account,alloccpus,state,exitcode",
                          f"sacct -n -P -j {self.job()} -o jobid,state,exitcode", "sacct --nosuch", "sacct -o nosuch", "sprio --nosuch",
                          "sshare --nosuch", "sdiag --nosuch", "sreport cluster nosuch"))

    def salloc(self):
        options = self.rng.sample(sorted(SUBMIT), self.rng.choice((0, 1, 2)))
        words = " ".join(o + (v if o.startswith("--") else f" {v}" if v else "")
                         for o in options if o not in NO_ALLOCATION for v in [self.fill(self.pick(SUBMIT[o]))])
        program = self.pick(("true", "echo x", "false", "bash -c 'exit 7'"))
        return f"{self.pick(('salloc -I1 -Q', 'srun -I1', 'srun -I1'))} {words} {program}"

    KINDS = (("submit", 18), ("submit_het", 3), ("submit_script", 5), ("submit_environment", 4), ("query_environment", 4),
             ("show_entity", 6),
             ("coordinator", 1), ("report", 3), ("bulk", 7), ("submit_plain", 8),
             ("update_job", 14), ("act_on_job", 10), ("scancel", 8), ("node", 5), ("partition", 6),
             ("reservation", 6), ("account", 3), ("user", 4), ("a_qos", 4), ("acct_list", 4), ("squeue", 8), ("sinfo", 6), ("show", 8),
             ("look_back", 2), ("salloc", 3), ("sacct", 6), ("sprio", 2), ("sshare", 2), ("squeue_more", 4), ("squeue_steps", 2),
             ("sinfo_more", 3),
             ("list_entity", 9), ("sreport", 2), ("show_more", 5), ("other_tools", 3), ("step_in_job", 5), ("inside", 5), ("srun_alone", 3),
             *More.MORE_KINDS)
    GROUPS = {"jobs": ("submit", "submit_het", "submit_script", "submit_environment", "bulk", "submit_plain", "update_job", "act_on_job",
                       "scancel", "salloc", "step_in_job", "inside", "srun_alone", "het_job", "on_component", "array", "depends", "placed",
                       "placed_at", "scripted", "held_allocation"),
              "steering": tuple(name for name, _ in (*Steer.STEER_KINDS, *Wide.WIDE_KINDS)),
              "wide": tuple(name for name, _ in Wide.WIDE_KINDS)}

    @classmethod
    def kinds_of(cls, words):
        """{name: weight} of words such as jobs (a group), others (all but the groups), array, array=20, reserved=9."""
        weights, found = dict((*cls.KINDS, *cls.STEER_KINDS, *cls.WIDE_KINDS)), {}
        grouped = {name for group in cls.GROUPS.values() for name in group}
        for word in words.split(","):
            name, _, weight = word.partition("=")
            names = [n for n in weights if n not in grouped] if name == "others" else cls.GROUPS.get(name, [name])
            found.update({n: int(weight or weights[n]) for n in names})
        return found

    def next(self):
        kind = self.rng.choices(list(self.kinds), list(self.kinds.values()))[0]
        if not self.jobs and kind in ("update_job", "act_on_job", "scancel"):
            kind = "submit_plain"
        command = getattr(self, kind)().strip()
        administrative = kind in ("node", "partition", "reservation", "account", "user", "a_qos", "limits", "limit_taken_back",
                                  "every_key", "dump", *self.ADMINISTRATIVE, *self.WIDE_ADMINISTRATIVE)
        often = 0.6 if kind in self.ADMINISTRATIVE else 0.75 if kind in self.WIDE_ADMINISTRATIVE else 0.85
        user = "root" if administrative and self.rng.random() < often else self.pick(USERS)
        return user, command
