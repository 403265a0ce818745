"""Every field of sacct: name, width, header, and value for an ended job, its steps and a waiting one; windows."""

import getpass
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2, "conf": "AccountingStoreFlags=job_comment,job_extra"}
# name, width of its column (negative: on the left)
FIELDS = [
    ("Account", 10), ("AdminComment", 15), ("AllocCPUS", 10), ("AllocNodes", 10), ("AllocTRES", 10), ("AssocID", 7),
    ("AveCPU", 10), ("AveCPUFreq", 10), ("AveDiskRead", 14), ("AveDiskWrite", 14), ("AvePages", 10), ("AveRSS", 10),
    ("AveVMSize", 10), ("BlockID", 16), ("Cluster", 10), ("Comment", 14), ("Constraints", 19), ("ConsumedEnergy", 14),
    ("ConsumedEnergyRaw", 17), ("Container", 19), ("CPUTime", 10), ("CPUTimeRAW", 10), ("DBIndex", -21),
    ("DerivedExitCode", 15), ("Elapsed", 10), ("ElapsedRaw", 10), ("Eligible", 19), ("End", 19), ("Exclusive", 14),
    ("ExitCode", 8), ("Extra", 14), ("FailedNode", 8), ("Flags", 19), ("GID", 6), ("Group", 9), ("JobID", -12),
    ("JobIDRaw", -12), ("JobName", 10), ("Layout", 9), ("Licenses", 10), ("MaxDiskRead", 12), ("MaxDiskReadNode", 15),
    ("MaxDiskReadTask", 15), ("MaxDiskWrite", 12), ("MaxDiskWriteNode", 16), ("MaxDiskWriteTask", 16), ("MaxPages",
    8), ("MaxPagesNode", 12), ("MaxPagesTask", 14), ("MaxRSS", 10), ("MaxRSSNode", 10), ("MaxRSSTask", 10),
    ("MaxVMSize", 10), ("MaxVMSizeNode", 14), ("MaxVMSizeTask", 14), ("McsLabel", 12), ("MinCPU", 10), ("MinCPUNode",
    10), ("MinCPUTask", 10), ("NCPUS", 10), ("NNodes", 8), ("NodeList", 15), ("NTasks", 8), ("OriginalSLUID", 14),
    ("OverSubscribe", 14), ("Partition", 10), ("Planned", 10), ("PlannedCPU", 10), ("PlannedCPURAW", 13), ("Priority",
    10), ("QOS", 10), ("QOSRAW", 6), ("QOSREQ", 10), ("Reason", 22), ("ReqCPUFreq", 10), ("ReqCPUFreqGov", 13),
    ("ReqCPUFreqMax", 13), ("ReqCPUFreqMin", 13), ("ReqCPUS", 8), ("ReqMem", 10), ("ReqNodes", 8), ("ReqTRES", 10),
    ("Reservation", 20), ("ReservationId", 8), ("ReqReservation", 20), ("Restarts", 8), ("SegmentSize", 11), ("SLUID",
    14), ("Start", 19), ("State", 10), ("StdErr", 20), ("StdIn", 20), ("StdOut", 20), ("Submit", 19), ("SubmitLine",
    20), ("Suspended", 10), ("SystemComment", 15), ("SystemCPU", 10), ("Timelimit", 10), ("TimelimitRaw", 10),
    ("TotalCPU", 10), ("TRESUsageInAve", 14), ("TRESUsageInMax", 14), ("TRESUsageInMaxNode", 18),
    ("TRESUsageInMaxTask", 18), ("TRESUsageInMin", 14), ("TRESUsageInMinNode", 18), ("TRESUsageInMinTask", 18),
    ("TRESUsageInTot", 14), ("TRESUsageOutAve", 15), ("TRESUsageOutMax", 15), ("TRESUsageOutMaxNode", 19),
    ("TRESUsageOutMaxTask", 19), ("TRESUsageOutMin", 15), ("TRESUsageOutMinNode", 19), ("TRESUsageOutMinTask", 19),
    ("TRESUsageOutTot", 15), ("UID", 6), ("User", 9), ("UserCPU", 10), ("WCKey", 10), ("WCKeyID", 10), ("WorkDir", 20)
]
STAMP, HMS, CPU = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", r"\d\d:\d\d:\d\d", r"(\d\d:\d\d\.\d{3}|00:00:00)"
TRES = "billing=2,cpu=2,mem=200M,node=1"
# of the ended job; what is not named is empty
JOB = {"Account": "physics", "AllocCPUS": "2", "AllocNodes": "1", "AllocTRES": TRES, "Cluster": "test", "Comment": "hello",
       "ConsumedEnergy": "0", "ConsumedEnergyRaw": "0", "CPUTime": HMS, "CPUTimeRAW": r"\d+", "DBIndex": r"\d+",
       "DerivedExitCode": "0:0", "Elapsed": HMS, "ElapsedRaw": r"\d+", "Eligible": STAMP, "End": STAMP, "Exclusive": "NO",
       "ExitCode": "3:0", "GID": str(os.getgid()), "Group": r"\w+", "JobID": "{id}", "JobIDRaw": "{id}", "JobName": "ended",
       "NCPUS": "2", "NNodes": "1", "NodeList": r"node\d", "OverSubscribe": "NO", "Partition": "main", "Planned": HMS,
       "PlannedCPU": HMS, "PlannedCPURAW": r"\d+", "Priority": r"\d+", "Reason": "None", "ReqCPUFreq": "Unknown",
       "ReqCPUFreqGov": "Unknown", "ReqCPUFreqMax": "Unknown", "ReqCPUFreqMin": "Unknown", "ReqCPUS": "2", "ReqMem": "200M",
       "ReqNodes": "1", "ReqTRES": TRES, "Restarts": "0", "SegmentSize": "0?", "Start": STAMP, "State": "FAILED",
       "StdIn": "/dev/null", "StdOut": r"slurm-%j\.out", "Submit": STAMP, "SubmitLine": "sbatch .*", "Suspended": HMS,
       "SystemCPU": CPU, "Timelimit": "00:20:00", "TimelimitRaw": "20", "TotalCPU": CPU, "UID": str(os.getuid()),
       "User": getpass.getuser(), "UserCPU": CPU, "WorkDir": r"/\S+", "WCKeyID": "0"}
STEP = {"Account": "physics", "AllocCPUS": "2", "JobName": "batch", "State": "FAILED", "ExitCode": "3:0", "NTasks": "1",
        "JobID": r"{id}\.batch", "JobIDRaw": r"{id}\.batch", "AllocTRES": "cpu=2,mem=200M,node=1", "Partition": "", "User": "",
        "ReqMem": "", "ReqTRES": "", "Timelimit": "", "ReqCPUFreq": "0", "ConsumedEnergy": "0", "AveCPUFreq": "0", "UID": "",
        "NodeList": r"node\d", "WorkDir": "", "Comment": "", "DBIndex": r"\d+", "Priority": "", "Submit": STAMP, "Elapsed": HMS}


@pytest.fixture(scope="module")
def q(shared):
    c = shared
    c.id = c.sbatch("-J", "ended", "-n2", "-t", "20", "-A", "physics", "--comment=hello", wrap="exit 3")
    c.held = c.sbatch("-H", "-J", "held", wrap="true")
    c.wait_end(c.id)
    c.wait_sacct(c.id, "FAILED")
    return c


def test_field_list(q):
    """sacct -e names exactly these, in this order."""
    assert q.run("sacct", "-e").out.split() == [name for name, _ in FIELDS]


@pytest.mark.parametrize("name,width", FIELDS, ids=lambda v: v if isinstance(v, str) else "")
def test_field(q, name, width):
    head, line, *rows = q.run("sacct", "-j", q.id, "-o", name.upper()).out.splitlines()
    side = "<" if width < 0 else ">"
    assert head == f"{name[:abs(width)]:{side}{abs(width)}} " and line == "-" * abs(width) + " "
    assert {len(row) for row in rows} == {abs(width) + 1} and len(rows) >= 2
    wide = q.run("sacct", "-n", "-P", "-j", q.id, "-o", f"{name}%200").out.splitlines()
    assert re.fullmatch(JOB.get(name, "").replace("{id}", str(q.id)), wide[0]) or name in ("SLUID", "OriginalSLUID", "QOS", "Flags",
                                                                                           "QOSRAW", "AssocID"), wide
    if name in STEP:
        assert re.fullmatch(STEP[name].replace("{id}", str(q.id)), wide[1]), wide


def test_all_and_long(q):
    head, row = q.run("sacct", "-X", "-P", "-o", "ALL", "-j", q.id).out.splitlines()
    assert head.split("|") == [name for name, _ in FIELDS] and row.count("|") == head.count("|")
    head = q.run("sacct", "-l", "-P", "-j", q.id).out.splitlines()[0].lower().split("|")
    assert head[:5] == ["jobid", "jobidraw", "jobname", "partition", "maxvmsize"] and len(head) == 54


@pytest.mark.parametrize("options,names", [
    (["-S", "now-1hour"], ["ended"]), (["-S", "now-1hour", "-E", "now", "-s", "F"], ["ended"]), (["-S", "now-1hour", "-s", "F"], []),
    (["-s", "PD"], []), (["-S", "2000-01-01", "-E", "2000-01-02"], []), (["--name=ended"], ["ended"]), (["-r", "nosuch"], []),
    (["-A", "physics"], ["ended"]), (["-R", "NonZeroExitCode"], ["ended"]), (["-R", "Priority"], []),
    (["-i", "1"], ["ended"]), (["-i", "2-4"], []), (["-I", "2"], ["ended"]), (["-k", "10", "-K", "30"], ["ended"]),
    (["-g", str(os.getgid()), "-s", "PD"], []), (["-x", "999999"], []), (["-M", "nosuch"], []), (["-M", "test", "-s", "PD"], [])])
def test_filters(q, options, names):
    """A job that was never eligible is shown only when it is named."""
    assert sorted(q.run("sacct", "-X", "-n", "-P", "-o", "JobName", *options).out.split()) == names


@pytest.mark.parametrize("option,word,what", [("-i", "x", "node"), ("--nnodes", "1-x", "node"), ("-I", "1.5", "cpu"), ("--ncpus", "3-", "cpu")])
def test_ranges_that_are_none(q, option, word, what):
    """As Debian's sacct says it."""
    assert q.refused("sacct", option, word) == f'sacct: error: Invalid numeric value "{word}" for requested {what} range.\n'


def test_waiting(q):
    fields = "JobID,JobName,AllocCPUS,State,ExitCode,Start,End,Elapsed,NodeList,Reason"
    assert q.run("sacct", "-n", "-P", "-j", q.held, "-o", fields).out == (
        f"{q.held}|held|0|PENDING|0:0|Unknown|Unknown|00:00:00|None assigned|JobHeldUser\n")


@pytest.mark.parametrize("options,line", [
    (["-o", "jobname%3"], "en+ "), (["-o", "jobname%-8"], "ended    "), (["-p", "-o", "jobname,state"], "ended|FAILED|"),
    (["-P", "-o", "jobname,state"], "ended|FAILED"), (["-P", "--delimiter=;;", "-o", "jobname,state"], "ended;;FAILED"),
    (["--units=K", "-P", "-o", "reqmem"], "204800K")])
def test_layout(q, options, line):
    assert q.run("sacct", "-X", "-n", "-j", q.id, *options).out == line + "\n"


def test_length_of_task_lists(q):
    """SLURM_BITSTR_LEN: how long the list of an array's waiting tasks may be."""
    job = q.sbatch("-H", "--array=1,3,5,7,9", wrap="true")
    for length, tasks in (("8", "1,3,..."), ("0", "1,3,5,7,9")):
        assert q.run("sacct", "-X", "-n", "-P", "-o", "jobid", "-j", job, env={"SLURM_BITSTR_LEN": length}).out == f"{job}_[{tasks}]\n"
    q.run("scancel", job)


def test_a_window_until_now_has_what_was_done_before(c):
    """However late the controller comes to the question: `now` is the instant, not the begin of its second."""
    wait_until(lambda: time.time() % 1 < 0.3, "a second is young")
    job = c.sbatch(wrap="true")
    os.kill(c.ctld.pid, signal.SIGSTOP)
    try:
        asked = c.popen("sacct", "-X", "-n", "-P", "-E", "now", "-o", "jobidraw", stdout=subprocess.PIPE)
        late = time.time() + 2.5
        wait_until(lambda: time.time() > late, "the controller is late")
    finally:
        os.kill(c.ctld.pid, signal.SIGCONT)
    assert str(job) in asked.communicate()[0].split()
