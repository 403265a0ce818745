"""What existing programs run against a Slurm cluster and how they read the answer, as rows of data.

tests/golden/ecosystem/*.txt holds them, one section a client:

    [name version]          the client
    $ command               run by a shell in the cluster's environment; @{run} is a job of the cluster
    rc N                    exit status (default 0)
    err REGEX               standard error, all of it (default: nothing at all)
    head TEXT               the first line of the output
    each REGEX              every line matches, and there is one at least
    some REGEX              a line matches;  none REGEX: no line does
    columns N SEP           every line has N parts; SEP BLANK: any white space
    parse NAME              a reader of this module, written as the client reads
    = TEXT, ~ REGEX         the next line of the output; together they are all of it
    empty                   no output

Regular expressions match a whole line.  The text of the readers below is ours; what they accept is what
the clients accept."""

import csv
import io
import json
import re
import subprocess

from conftest import ROOT, SLOW

FOLDER = ROOT / "tests" / "golden" / "ecosystem"
CHECKS = ("rc", "err", "head", "each", "some", "none", "columns", "parse", "=", "~", "empty")
STATE_CODES = set("BF CA CD CF CG DL F NF OOM PD PR R RD RF RH RQ SO TO RS RV SI SE ST S".split())


class Row:
    def __init__(self, file, number, client, command):
        self.where, self.client, self.command, self.checks = f"{file}:{number}", client, command, []

    def __str__(self):
        return f"{self.where} {self.client.split()[0]}"

    def value(self, word, default):
        return next((text for check, text in self.checks if check == word), default)


def rows(name):
    """The rows of a file of tests/golden/ecosystem."""
    found, client = [], None
    for number, line in enumerate((FOLDER / f"{name}.txt").read_text().splitlines(), 1):
        word, _, text = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            client = line.strip("[]")
        elif word == "$":
            found.append(Row(name, number, client, text))
        else:
            assert word in CHECKS, f"{name}.txt:{number}: unknown word {word!r}"
            found[-1].checks.append((word, text))
    for row in found:
        assert row.checks, f"{row.where}: a command without an expectation"
    return found


def fill(text, jobs):
    return re.sub(r"@\{(\w+)\}", lambda m: str(jobs[m.group(1)]), text)


def shell(c, command, env=None, timeout=60):
    return subprocess.run(["bash", "-c", command], cwd=c.work, env={**c.env, **(env or {})}, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout * SLOW)


def check(c, row, jobs):
    """Run the row's command and hold each of its expectations."""
    done = shell(c, fill(row.command, jobs))
    shown = f"{row.command}\nexit {done.returncode}\n{done.stdout[:3000]}\n{done.stderr[:2000]}"
    assert done.returncode == int(row.value("rc", "0")), shown
    assert re.fullmatch(fill(row.value("err", ""), jobs), done.stderr.rstrip("\n")), shown
    lines = done.stdout.split("\n")
    assert lines.pop() == "", f"the last line is not ended: {shown}"
    wanted = [(word, fill(text, jobs)) for word, text in row.checks if word in "=~"]
    if wanted:
        assert len(lines) == len(wanted), shown
        for (word, text), line in zip(wanted, lines):
            assert line == text if word == "=" else re.fullmatch(text, line), f"{line!r} is not {text!r}\n{shown}"
    for word, text in row.checks:
        assert holds(word, fill(text, jobs), lines, done.stdout), f"{word} {text}\n{shown}"


def holds(word, text, lines, output):
    match word:
        case "head":
            return lines and lines[0] == text
        case "each":
            return lines and all(re.fullmatch(text, line) for line in lines)
        case "some":
            return any(re.fullmatch(text, line) for line in lines)
        case "none":
            return not any(re.fullmatch(text, line) for line in lines)
        case "columns":
            count, separator = text.split(" ", 1)
            separator = None if separator == "BLANK" else separator
            return lines and all(len(line.split(separator)) == int(count) for line in lines)
        case "empty":
            return not output
        case "parse":
            globals()[f"read_{text}"](output)
    return True


# ---- how clients read ------------------------------------------------------------------------------

def read_psij(output):
    """Three words a line after the first, the second a known code; else the client's poll loop ends."""
    for line in output.split("\n")[1:]:
        if line:
            words = line.split()
            assert len(words) == 3, line
            assert words[1] in STATE_CODES, line


def read_aiida(output):
    """Every field there is: the heading and the rows have the same number of bars."""
    lines = output.splitlines()
    assert len(lines) >= 2
    assert len(lines[0].split("|")) > 60
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    record = dict(zip(lines[0].split("|"), lines[1].split("|")))
    assert record["JobID"].isdigit() and record["State"] == "COMPLETED" and record["ExitCode"] == "0:0"


def read_ood(output):
    """50 values a record, ended by the separator and a newline; the heading is dropped, values are raw."""
    records = output.split("\x1f\n")
    assert records.pop() == ""
    head, *jobs = [record.split("\x1f") for record in records]
    assert len(head) == 50 and jobs
    for job in jobs:
        assert len(job) == 50, job
        record = dict(zip(head, job))
        assert all(value == value.strip() for name, value in record.items() if name not in ("NAME", "COMMENT")), job
        assert record["ST"] in STATE_CODES
        assert record["TRES_ALLOC"] == "N/A" or re.search(r"(?:^|,)mem=(\w+)(?:,|$)", record["TRES_ALLOC"])


def read_turm(output):
    for line in output.splitlines():
        assert len(line.split("###turm###")) == 19, line


def read_json_lines(output):
    for line in output.splitlines():
        record = json.loads(line)
        assert record


def read_json(output):
    record = json.loads(output)
    assert {"errors", "warnings", "meta"} <= set(record), set(record)
    assert record["errors"] == [] and record["meta"]["slurm"]["version"]["major"]


def read_partition_lines(output):
    """key=value words only, no value empty, the pattern asks for one character at least."""
    for line in output.splitlines():
        record = dict(re.findall(r"(\w+(?:/\w+)?)=(\S+)", line))
        assert len(record) == len(line.split()), line
        assert {"PartitionName", "AllowAccounts", "AllowQos", "TRES", "MaxTime", "MaxNodes", "TotalCPUs", "TotalNodes",
                "Default", "State"} <= set(record)


def read_partition_blocks(output):
    """Records separated by blank lines, each word key=value, as toil and snakemake read them."""
    for block in filter(None, output.split("\n\n")):
        record = dict(word.split("=", 1) for word in block.split())
        assert record["PartitionName"] and int(record["TotalCPUs"]) and int(record["TotalNodes"])


def read_nodes(output):
    for line in output.splitlines():
        record = dict(re.findall(r"(\w+)=(\S*)", line))
        assert record["NodeName"].startswith("node") and record["Partitions"]
        assert set(record["ActiveFeatures"].split(",")) == {"fast", "big"}
        assert record["State"].split("+")[0].rstrip("*~#!%$@^-") in {"ALLOCATED", "MIXED", "IDLE"}


def read_config(output):
    """Names and values with blanks around the sign; what tools decide on has a value."""
    record = dict(re.findall(r"^(\S+)\s+= (.*)$", output, re.M))
    assert record["ClusterName"] == "test" and record["MaxArraySize"] == "1001" and record["MinJobAge"] == "300 sec"
    for name in ("SLURM_VERSION", "SLURM_CONF", "SlurmctldHost[0]", "SlurmctldPort", "SlurmUser", "SlurmdUser", "SelectType",
                 "SelectTypeParameters", "SchedulerType", "SchedulerParameters", "SlurmctldParameters", "PriorityType",
                 "AccountingStorageType", "AccountingStorageEnforce", "AccountingStorageTRES", "MULTIPLE_SLURMD", "TaskPlugin",
                 "OverTimeLimit", "EnforcePartLimits", "ProctrackType", "JobAcctGatherType", "SwitchType", "PrologFlags",
                 "PreemptMode", "TLSType", "AuthType", "AuthInfo", "SlurmctldLogFile", "StateSaveLocation", "DependencyParameters"):
        assert name in record, name


def read_scontrol_job(output):
    """Blocks of words; the order of the keys is the one other programs were written for."""
    keys = re.findall(r"(?:^|\s)([A-Z][\w/:]*)=", output.split("\n\n")[0])
    order = ["JobId", "JobName", "UserId", "GroupId", "MCS_label", "Priority", "Nice", "Account", "QOS", "JobState", "Reason",
             "Dependency", "Requeue", "Restarts", "BatchFlag", "Reboot", "ExitCode", "RunTime", "TimeLimit", "TimeMin",
             "SubmitTime", "EligibleTime", "AccrueTime", "StartTime", "EndTime", "Deadline", "SuspendTime", "SecsPreSuspend",
             "LastSchedEval", "Scheduler", "Partition", "AllocNode:Sid", "ReqNodeList", "ExcNodeList", "NodeList", "BatchHost",
             "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "ReqB:S:C:T", "ReqTRES", "AllocTRES", "Socks/Node",
             "NtasksPerN:B:S:C", "CoreSpec", "MinCPUsNode", "MinMemoryCPU", "MinTmpDiskNode", "Features", "DelayBoot",
             "OverSubscribe", "Contiguous", "Licenses", "Network", "Command", "WorkDir", "StdErr", "StdIn", "StdOut"]
    places = [keys.index(key) for key in order]
    assert places == sorted(places), keys


def read_sdiag(output):
    """The exporter takes the text before the first colon; the main block comes before backfill's."""
    patterns = [r"^Server thread", r"^Agent queue", r"^DBD Agent", r"^[\s]+Last cycle$", r"^[\s]+Mean cycle$", r"^[\s]+Cycles per",
                r"^[\s]+Depth Mean$", r"^[\s]+Total backfilled jobs \(since last slurm start\)",
                r"^[\s]+Total backfilled jobs \(since last stats cycle start\)",
                r"^[\s]+Total backfilled heterogeneous job components"]
    seen = {pattern: [] for pattern in patterns}
    for line in output.splitlines():
        state, colon, value = line.partition(":")
        for pattern in patterns:
            if colon and re.search(pattern, state):
                seen[pattern].append(float(value.split(":")[0].strip()))
    found = [len(values) for values in seen.values()]
    passes, plans = (int(n) for n in re.findall(r"^\tTotal cycles: (\d+)$", output, re.M))
    minutes = found.pop(5)  # as recorded, there is no line for a mean of nothing
    assert found == [1, 1, 1, 2, (passes > 0) + (plans > 0), plans > 0, 1, 1, 1] and minutes <= 1, seen
    blocks = ["sdiag output at", "Data since", "Server thread count", "Jobs submitted", "Job states ts",
              "Main schedule statistics (microseconds):", "Main scheduler exit:", "Backfilling stats", "Backfill exit",
              "Latency for 1000 calls to gettimeofday()", "Remote Procedure Call statistics by message type",
              "Remote Procedure Call statistics by user", "Pending RPC statistics"]
    places = [output.find(block) for block in blocks]
    assert -1 not in places and places == sorted(places), list(zip(blocks, places))


def read_jobstats(output):
    """Columns by heading; the name is last since it may hold the separator."""
    table = list(csv.DictReader(io.StringIO(output), delimiter="|"))
    assert table and list(table[0]) == ["JobIDRaw", "Start", "End", "Cluster", "AllocTRES", "AdminComment", "User", "Account",
                                        "State", "NNodes", "NCPUS", "ReqMem", "QOS", "Partition", "TimelimitRaw", "JobName"]
    assert table[0]["Start"].isdigit() and int(table[0]["Start"]) > 1_700_000_000


def read_reportseff(output):
    """Records end in the separator and a newline; names come from the heading of --helpformat."""
    fields = "AdminComment,AllocCPUS,Elapsed,JobID,JobIDRaw,MaxRSS,NNodes,REQMEM,State,Timelimit,TotalCPU".split(",")
    for line in filter(None, output.split("^|^\n")):
        record = dict(zip(fields, line.split("^|^"), strict=True))
        assert re.fullmatch(r"(?:\d+-)?\d\d:\d\d:\d\d", record["Elapsed"])
        assert re.fullmatch(r"\d+(_\d+|_\[.+\])?(\.\w+)?", record["JobID"])


def ood_format():
    """The 50 names of the portal's question, each with its separator."""
    names = """Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature ArrayJobID GroupName
        GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID TimeLimit TimeLeft MinMemory TimeUsed
        ReqNodes NodeList Command Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State UserName UserID
        Reservation SubmitTime WCKey Licenses ExcNodes CoreSpec Nice SchedNodes SCT WorkDir tres-alloc tres-per-node"""
    return "".join(f"{name}:\x1f," for name in names.split())
