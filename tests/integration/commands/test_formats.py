"""The outputs of squeue, sinfo, scontrol, sacct and sdiag: columns, formats, filters, order, JSON, messages."""

import getpass
import json
import os
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1"}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
ME = getpass.getuser()


@pytest.fixture(scope="module")
def q(shared):
    """A queue as in the recorded transcripts: running, held, delayed, an array, one that is over."""
    c = shared
    c.run("scontrol", "create", "partitionname=gpu", "nodes=node[3-4]", "maxtime=1-00:00:00")
    c.ended = c.sbatch("-J", "ended", "-w", "node4", wrap="srun true; exit 2")
    c.wait_end(c.ended)
    c.run1 = c.sbatch("-J", "run1", "-n4", "-t", "20", "-w", "node1", wrap="sleep 1000")
    c.run2 = c.sbatch("-J", "run2", "-N2", "-n2", "-t", "2-00:00:00", "-w", "node[2-3]", wrap="srun sleep 1000")
    c.held = c.sbatch("-J", "a_rather_long_name", "-H", "--comment=two words", wrap="true")
    c.later = c.sbatch("-J", "later", "--begin=now+1day", "-p", "gpu", wrap="true")
    c.array = c.sbatch("-J", "ar", "-H", "--array=2-4%1", wrap="true")
    c.wait_state(c.run1, "RUNNING"), c.wait_state(c.run2, "RUNNING")
    wait_until(lambda: f"{c.run2}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "its step runs")
    wait_until(lambda: c.job(c.later)["Reason"] == "BeginTime", "the reason is told")
    return c


def lines(c, *argv):
    return c.run(*argv).out.splitlines()


# ---- squeue ----------------------------------------------------------------------------------------

HEAD = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"


def test_squeue(q):
    text = lines(q, "squeue")
    assert text[0] == HEAD
    rows = {line[18 - len(line[:18].strip()):18].strip(): line for line in text[1:]}
    assert set(rows) == {str(q.run1), str(q.run2), str(q.held), str(q.later), f"{q.array}_[2-4%1]"}
    assert re.fullmatch(rf" *{q.run1}      main     run1 {ME:>8}  R +\d:\d\d      1 node1", rows[str(q.run1)])
    assert re.fullmatch(rf" *{q.run2}      main     run2 {ME:>8}  R +\d:\d\d      2 node\[2-3\]", rows[str(q.run2)])
    assert re.fullmatch(rf" *{q.held}      main a_rather {ME:>8} PD       0:00      1 \(JobHeldUser\)", rows[str(q.held)])
    assert re.fullmatch(rf" *{q.later}       gpu    later {ME:>8} PD       0:00      1 \(BeginTime\)", rows[str(q.later)])
    assert lines(q, "squeue", "-h") == text[1:]


def test_squeue_long(q):
    text = lines(q, "squeue", "-l")
    assert re.fullmatch(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}", text[0])
    assert text[1] == ("             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES "
                       "NODELIST(REASON)")
    assert any(re.search(r"RUNNING +\d:\d\d     20:00      1 node1$", line) for line in text)
    assert any(re.search(r"RUNNING +\d:\d\d 2-00:00:00      2 node\[2-3\]$", line) for line in text)


def test_squeue_start(q):
    text = lines(q, "squeue", "--start")
    assert text[0] == ("             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES"
                       "           NODELIST(REASON)")
    later = next(line for line in text if str(q.later) in line)
    assert re.search(TIME, later) and "(BeginTime)" in later
    assert any("N/A" in line and "(JobHeldUser)" in line for line in text)


LETTERS = {  # of run1, sorted by id; None: what is there depends on the moment
    "a": "(null)", "A": "{run1}", "B": "node1", "c": "1", "C": "4", "d": "0", "D": "1", "e": TIME, "E": r"\(null\)",
    "f": r"\(null\)", "F": "{run1}", "g": r"\S+", "G": r"\d+", "h": "NO|OK", "i": "{run1}", "j": "run1", "k": r"\(null\)",
    "K": "N/A", "l": "20:00", "L": r"(20:00|19:\d\d)", "m": "100M", "M": r"\d:\d\d", "N": "node1", "o": r"\(null\)",
    "p": r"0\.\d+", "P": "main", "Q": r"\d+", "r": "None", "R": "node1", "S": TIME, "t": "R", "T": "RUNNING",
    "u": ME, "U": r"\d+", "v": r"\(null\)", "V": TIME, "w": r"\(null\)|", "W": r"\(null\)", "x": "|\\(null\\)", "y": "0",
    "Y": r"\(null\)", "z": r"\*:\*:\*", "Z": "/.*", "H": r"\*", "I": r"\*", "J": r"\*", "n": "node1", "O": "0", "q": r"\S+",
    "X": "0|N/A", "b": "N/A"}


@pytest.mark.parametrize("letter", sorted(LETTERS))
def test_squeue_letters(q, letter):
    text = q.run("squeue", "-h", "-j", q.run1, "-o", f"[%{letter}]").out
    form = LETTERS[letter].replace("{run1}", str(q.run1)).replace("(null)", r"\(null\)").replace("\\\\(", "\\(").replace("\\\\)", "\\)")
    assert re.fullmatch(rf"\[({form})\]\n", text), (text, form)


def test_squeue_widths(q):
    assert lines(q, "squeue", "-h", "-j", q.run1, "-o", "%.7i|%7i|%.3j|%.2t;") == [
        f"{q.run1:>7}|{q.run1:<7}|run| R;"]
    assert lines(q, "squeue", "-o", "plain") == ["plain"] * 6
    assert lines(q, "squeue", "-h", "-j", q.run1, "-o", "%t9") == ["R9"]
    assert lines(q, "squeue", "-j", q.run1, "-O", "jobid:8,name:.6,state") == [
        "JOBID     NAMESTATE               ", f"{q.run1:<8}  run1RUNNING             "]


def test_squeue_long_names(q):
    text = lines(q, "squeue", "-j", q.run1, "-O", "JobID,NumCPUs,NumNodes,TimeLimit,Partition,Reason,ReasonList,Priority")
    assert text[0].split() == ["JOBID", "CPUS", "NODES", "TIME_LIMIT", "PARTITION", "REASON", "NODELIST(REASON)", "PRIORITY"]
    assert text[1][:140].split() == [str(q.run1), "4", "1", "20:00", "main", "None", "node1"]
    text = lines(q, "squeue", "-j", q.held, "-O", "stdout:60,workdir:60,requeue:4,restartcnt:4,comment:12")
    assert text[1] == f"{'slurm-%j.out':60}{str(q.work)[:60]:60}1   0   two words   "
    assert lines(q, "squeue", "-h", "-j", q.held, "-O", "stdout:200", "--expand-patterns")[0].strip() == (
        f"{q.work}/slurm-{q.held}.out")


def test_squeue_all_fields(q):
    head, row = lines(q, "squeue", "-j", q.run1, "-o", "%all")
    assert head.startswith("ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|")
    assert head.count("|") == row.count("|")


@pytest.mark.parametrize("options,names", [
    (["-u", ME], "all"), (["-u", "nobody"], ""), (["--me"], "all"), (["--notme"], ""), (["-p", "gpu"], "later"),
    (["-p", "gpu,main"], "all"), (["-p", "nosuch"], ""), (["-n", "run1,run2"], "run1 run2"), (["-t", "R"], "run1 run2"),
    (["-t", "PD"], "a_rather_long_name ar later"), (["-t", "pd,r"], "all"), (["-w", "node1"], "run1"),
    (["-w", "node[1-2]"], "run1 run2"), (["-t", "failed"], "ended"), (["-j", "{run1},{held}"], "a_rather_long_name run1"),
    (["--running-under=1:00:00"], "run1 run2"), (["--running-over=1:00:00"], ""), (["-A", "nosuch"], ""), (["-q", "nosuch"], "")])
def test_squeue_filters(q, options, names):
    options = [o.format(run1=q.run1, held=q.held) for o in options]
    got = sorted(lines(q, "squeue", "-h", "-o", "%j", *options))
    everything = sorted(["run1", "run2", "a_rather_long_name", "ar", "later"])
    assert got == (everything if names == "all" else names.split())


@pytest.mark.parametrize("keys,names", [
    ("i", ["run1", "run2", "a_rather_long_name", "later", "ar"]), ("-i", ["ar", "later", "a_rather_long_name", "run2", "run1"]),
    ("j", ["a_rather_long_name", "ar", "later", "run1", "run2"]), ("P,-j", ["later", "run2", "run1", "ar", "a_rather_long_name"]),
    ("t,i", ["a_rather_long_name", "later", "ar", "run1", "run2"]), ("-C,i", ["run1", "run2", "a_rather_long_name", "later", "ar"])])
def test_squeue_order(q, keys, names):
    assert lines(q, "squeue", "-h", "-S", keys, "-o", "%j") == names


def test_squeue_variables(q):
    assert q.run("squeue", "-t", "R", "-S", "i", env={"SQUEUE_FORMAT": "%i %T"}).out == (
        f"JOBID STATE\n{q.run1} RUNNING\n{q.run2} RUNNING\n")
    assert q.run("squeue", "-h", "-o", "%j", env={"SQUEUE_SORT": "-i", "SQUEUE_STATES": "R"}).out == "run2\nrun1\n"
    assert q.run("squeue", "-h", env={"SQUEUE_USERS": "nobody"}).out == ""
    assert re.fullmatch(r"\d\d:\d\d\n", q.run("squeue", "-h", "-j", q.run1, "-o", "%S", env={"SLURM_TIME_FORMAT": "%H:%M"}).out)


def test_squeue_steps(q):
    text = lines(q, "squeue", "-s", "-j", q.run2)
    assert text[0] == "         STEPID     NAME PARTITION     USER      TIME NODELIST"
    assert re.fullmatch(rf" *{q.run2}\.0    sleep      main {ME:>8} +\d:\d\d node\[2-3\]", text[1])
    assert any(f"{q.run2}.batch" in line for line in text)


# ---- sinfo -----------------------------------------------------------------------------------------

def test_sinfo(q):
    assert lines(q, "sinfo") == ["PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
                                 "main*        up   infinite      2    mix node[2-3]",
                                 "main*        up   infinite      1  alloc node1",
                                 "main*        up   infinite      1   idle node4",
                                 "gpu          up 1-00:00:00      1    mix node3",
                                 "gpu          up 1-00:00:00      1   idle node4"]
    assert lines(q, "sinfo", "-s") == ["PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST",
                                       "main*        up   infinite          3/1/0/4 node[1-4]",
                                       "gpu          up 1-00:00:00          1/1/0/2 node[3-4]"]
    assert lines(q, "sinfo", "-N") == ["NODELIST   NODES PARTITION STATE ", "node1          1     main* alloc ",
                                       "node2          1     main* mix   ", "node3          1     main* mix   ",
                                       "node3          1       gpu mix   ", "node4          1     main* idle  ",
                                       "node4          1       gpu idle  "]


def test_sinfo_long(q):
    text = lines(q, "sinfo", "-l")
    assert text[1] == ("PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE "
                       "RESERVATION NODELIST")
    assert "main*        up   infinite 1-infinite   no       NO        all      1   allocated             node1" in text
    text = lines(q, "sinfo", "-Nl")
    assert text[1] == ("NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE "
                       "REASON              ")
    assert any(re.match(r"node1          1     main\*   allocated 4       1:4:1   2000        0      1   \(null\) none", line)
               for line in text)


@pytest.mark.parametrize("options,shown", [
    (["-h", "-o", "%C"], ["6/10/0/16"]), (["-h", "-o", "%F", "-p", "gpu"], ["1/1/0/2"]),
    (["-h", "-o", "%P|%a|%l|%D|%N"], ["main*|up|infinite|4|node[1-4]", "gpu|up|1-00:00:00|2|node[3-4]"]),
    (["-h", "-p", "nosuch"], []), (["-h", "-n", "node1", "-p", "main", "-o", "%N %T"], ["node1 allocated"]),
    (["-h", "-t", "idle", "-p", "main", "-o", "%N %D"], ["node4 1"]),
    (["-h", "-N", "-o", "%N %t", "-p", "gpu"], ["node3 mix", "node4 idle"]),
    (["-h", "-o", "%c %m %z %w", "-p", "gpu"], ["4 2000 1:4:1 1"]), (["-h", "-o", "%R", "-p", "gpu"], ["gpu"])])
def test_sinfo_formats(q, options, shown):
    assert lines(q, "sinfo", *options) == shown


def test_sinfo_other(q):
    assert lines(q, "sinfo", "-R") == ["REASON               USER      TIMESTAMP           NODELIST"]
    assert lines(q, "sinfo", "-O", "partition,available,time,size,nodes:6")[1].split() == ["main*", "up", "infinite", "1-infinite", "4"]
    assert lines(q, "sinfo", "-n", "node9") == ["PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
                                               "main*        up   infinite      0    n/a ",
                                               "gpu          up 1-00:00:00      0    n/a "]
    assert q.run("sinfo", env={"SINFO_FORMAT": "%P %N"}).out == "PARTITION NODELIST\nmain* node[1-4]\ngpu node[3-4]\n"
    assert lines(q, "sinfo", "-T") == ["No reservations in the system"]


# ---- scontrol --------------------------------------------------------------------------------------

JOB_LINES = ["JobId={run1} JobName=run1", "   UserId={u} GroupId={g} MCS_label=N/A", "   Priority=1 Nice=0 Account=(null) QOS=(null)",
             "   JobState=RUNNING Reason=None Dependency=(null)", "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0",
             "   RunTime={t} TimeLimit=00:20:00 TimeMin=N/A", "   SubmitTime={d} EligibleTime={d}", "   AccrueTime={d}",
             "   StartTime={d} EndTime={d} Deadline=N/A", "   PreemptEligibleTime={d} PreemptTime=None",
             "   SuspendTime=None SecsPreSuspend=0 LastSchedEval={d} Scheduler={s}", "   Partition=main AllocNode:Sid={h}:{n}",
             "   ReqNodeList=node1 ExcNodeList=(null)", "   NodeList=node1", "   BatchHost=node1",
             "   NumNodes=1 NumCPUs=4 NumTasks=4 CPUs/Task=1 ReqB:S:C:T=0:0:*:*", "   ReqTRES=cpu=4,mem=400M,node=1,billing=4",
             "   AllocTRES=cpu=4,mem=400M,node=1,billing=4", "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
             "   MinCPUsNode=1 MinMemoryCPU=100M MinTmpDiskNode=0", "   Features=(null) DelayBoot=00:00:00",
             "   OverSubscribe=NO Exclusive=NO Contiguous=0 Licenses=(null) LicensesAlloc=(null) Network=(null)",
             "   Command=(null)", "   SubmitLine=sbatch -J run1 -n4 -t 20 -w node1 --wrap sleep 1000", "   WorkDir={w}",
             "   StdErr=", "   StdIn=/dev/null", "   StdOut={w}/slurm-{run1}.out"]


def test_scontrol_show_job(q):
    text = lines(q, "scontrol", "show", "job", q.run1)
    marks = {"u": r"\w+\(\d+\)", "g": r"\w+\(\d+\)", "t": r"\d\d:\d\d:\d\d", "d": f"({TIME}|Unknown)", "s": r"\w+", "h": r"\S+",
             "n": r"\d+", "run1": str(q.run1), "w": re.escape(str(q.work))}
    for want, line in zip(JOB_LINES, text):
        form = re.sub(r"\\\{(\w+)\\\}", lambda m: marks[m.group(1)], re.escape(want))
        assert re.fullmatch(form, line), (want, line)
    assert [line for line in text[len(JOB_LINES):] if line.strip()] == []


def test_scontrol_oneline_is_the_same(q):
    multi = " ".join(line.strip() for line in lines(q, "scontrol", "show", "job", q.held) if line.strip())
    one = q.run("scontrol", "-o", "show", "job", q.held).out.strip()
    assert one.split() == multi.split() and "\n" not in one


NODE = r"""NodeName=node1 Arch=\S+ CoresPerSocket=4[ ]
   CPUAlloc=4 CPUEfctv=4 CPUTot=4 CPULoad=\S+
   AvailableFeatures=\(null\)
   ActiveFeatures=\(null\)
   Gres=\(null\)
   NodeAddr=127.0.0.1 NodeHostName=\S+ Port=\d+ Version=\d+\.\d+\.\d+
   OS=Linux .*
   RealMemory=2000 AllocMem=400 FreeMem=(\d+|N/A) Sockets=1 Boards=1
   State=ALLOCATED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main[ ]
   BootTime=TIME SlurmdStartTime=TIME
   LastBusyTime=(TIME|Unknown) ResumeAfterTime=None SuspendTime=INFINITE
   CfgTRES=cpu=4,mem=2000M,billing=4
   AllocTRES=cpu=4,mem=400M
   CurrentWatts=0 AveWatts=0\n+"""
PARTITION = r"""PartitionName=gpu
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=NO QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO Exclusive=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=[01] LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED
   Nodes=node\[3-4\]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=\(null\)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=8,mem=4000M,node=2,billing=8\n+"""


def test_scontrol_show_node_and_partition(q):
    text = q.run("scontrol", "show", "node", "node1").out
    for want, line in zip(NODE.replace("TIME", TIME).split("\n"), text.split("\n")):
        assert re.fullmatch(want.replace(r"\n+", ""), line), (want, line)
    text = q.run("scontrol", "show", "partition", "gpu").out
    for want, line in zip(PARTITION.split("\n"), text.split("\n")):
        assert re.fullmatch(want.replace(r"\n+", "").replace("DefMemPerNode=UNLIMITED", "DefMemPer(Node|CPU)=(UNLIMITED|100)"),
                            line), (want, line)


def test_scontrol_show_step(q):
    text = q.run("scontrol", "show", "step", f"{q.run2}.0").out
    assert re.match(rf"StepId={q.run2}\.0 UserId=\d+ StartTime={TIME} TimeLimit=(UNLIMITED|2-00:00:00)\n"
                    r"   State=RUNNING Partition=main NodeList=node\[2-3\]\n"
                    r"   Nodes=2 CPUs=2 Tasks=2 Name=sleep Network=\(null\)\n   TRES=cpu=2,mem=200M,node=2\n", text), text


@pytest.mark.parametrize("argv,out,err", [
    ("show job 99999", "", "slurm_load_jobs error: Invalid job id specified\n"),
    ("show job abc", "", "scontrol_print_job error: Invalid job id specified\n"),
    ("show node node9", "Node node9 not found\n", ""), ("show partition nosuch", "Partition nosuch not found\n", ""),
    ("nosuch", "", "invalid keyword: nosuch\n"), ("show nosuch", "", "invalid entity:nosuch for keyword:show\n"),
    ("show", "", "too few arguments for keyword:show\n")])
def test_scontrol_mistakes(q, argv, out, err):
    done = q.run("scontrol", *argv.split(), check=False)
    assert (done.rc, done.out, done.err) == (1, out, err)


# ---- sacct -----------------------------------------------------------------------------------------

def test_sacct(q):
    q.wait_sacct(q.ended, "FAILED")
    text = lines(q, "sacct", "-j", q.ended)
    assert text[:2] == ["JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
                        "------------ ---------- ---------- ---------- ---------- ---------- -------- "]
    rows = [line.split() for line in text[2:]]
    assert rows[0] == [str(q.ended), "ended", "main", "1", "FAILED", "2:0"]
    assert [r[0] for r in rows][1:] in ([f"{q.ended}.batch", f"{q.ended}.0"], [f"{q.ended}.batch", f"{q.ended}.extern", f"{q.ended}.0"])
    assert text[2] == f"{q.ended:<12}      ended       main                     1     FAILED      2:0 "
    assert lines(q, "sacct", "-X", "-n", "-j", q.ended) == [text[2]]
    assert lines(q, "sacct", "-b", "-X", "-j", q.ended)[2] == f"{q.ended:<12}     FAILED      2:0 "
    assert lines(q, "sacct", "-p", "-X", "-j", q.ended) == ["JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode|",
                                                           f"{q.ended}|ended|main||1|FAILED|2:0|"]
    assert lines(q, "sacct", "-P", "--delimiter=,", "-X", "-j", q.ended)[1] == f"{q.ended},ended,main,,1,FAILED,2:0"


def test_sacct_fields(q):
    assert lines(q, "sacct", "-X", "-j", q.ended, "-o", "jobid,jobname%5,state%-20,exitcode,ncpus,nnodes,nodelist") == [
        "JobID        JobNa State                ExitCode      NCPUS   NNodes        NodeList ",
        "------------ ----- -------------------- -------- ---------- -------- --------------- ",
        f"{q.ended:<12} ended FAILED                    2:0          1        1           node4 "]
    row = q.sacct("-X", "-j", str(q.run1), "-o", "User,UID,Partition,TimelimitRaw,AllocTRES,ReqMem,SubmitLine,WorkDir,State,End")[0]
    assert row == [ME, str(__import__("os").getuid()), "main", "20", "billing=4,cpu=4,mem=400M,node=1", "400M",
                   "sbatch -J run1 -n4 -t 20 -w node1 --wrap sleep 1000", str(q.work), "RUNNING", "Unknown"]
    assert q.run("sacct", "-X", "-j", q.ended, env={"SACCT_FORMAT": "jobid,user,state"}).out.splitlines()[0] == (
        "JobID             User      State ")
    assert len(lines(q, "sacct", "-e")) > 20
    head, row = lines(q, "sacct", "-X", "-P", "-o", "ALL", "-j", q.ended)
    assert head.count("|") == row.count("|") > 60


@pytest.mark.parametrize("options,names", [
    (["-s", "R"], ["run1", "run2"]), (["-s", "PD"], []), (["--name=run1"], ["run1"]),
    (["-r", "gpu"], []), (["-S", "2000-01-01", "-E", "2000-01-02"], []), (["-j", "99999"], []),
    (["-S", "now-10minutes", "-E", "now", "-s", "F,CA,TO"], ["ended"]), (["-u", "nobody"], [])])
def test_sacct_filters(q, options, names):
    q.wait_sacct(q.ended, "FAILED")
    assert sorted(set(lines(q, "sacct", "-X", "-n", "-P", "-o", "JobName", *options))) == sorted(names)


@pytest.mark.parametrize("argv,err", [
    ("-j abc", "sacct: fatal: Bad job/step specified: abc\n"), ("-o nosuch", 'sacct: error: Invalid field requested: "nosuch"\n'),
    ("-S foo", "Invalid time specification (pos=0): foo\n"), ("-s nosuch", "sacct: fatal: unrecognized job state value 'nosuch'\n"),
    ("--nosuch", "sacct: unrecognized option '--nosuch'\n")])
def test_sacct_mistakes(q, argv, err):
    assert q.refused("sacct", *argv.split()).startswith(err)


def test_sacct_batch_script(q):
    text = q.run("sacct", "-B", "-j", q.ended, check=False)
    assert "srun true; exit 2" in text.out or text.rc == 0


# ---- sdiag, JSON -----------------------------------------------------------------------------------

def test_sdiag(q):
    text = q.run("sdiag").out
    assert text.startswith("*******************************************************\nsdiag output at ")
    for name in ("Server thread count", "Agent queue size", "Jobs submitted", "Jobs started", "Jobs completed", "Jobs pending",
                 "Jobs running", "Main schedule statistics (microseconds):", "Backfilling stats",
                 "Remote Procedure Call statistics by message type", "Remote Procedure Call statistics by user"):
        assert name in text, name
    assert re.search(r"^Jobs running: +2$", text, re.M)
    passes = text.partition("Backfilling stats")[0]  # of the main scheduler
    exits = re.findall(r"^\t(?:End of job queue|Hit default_queue_depth|Hit sched_max_job_start): ?(\d+)$", passes, re.M)
    assert len(exits) == 3 and sum(map(int, exits)) == int(re.search(r"^\tTotal cycles: (\d+)$", passes, re.M).group(1))
    users = text.partition("statistics by user\n")[2].partition("\n\n")[0].splitlines()
    mine = [re.fullmatch(r"\t(\S+) +\( *(\d+)\) count:(\d+) +ave_time:\d+ +total_time:\d+", u).groups() for u in users]
    assert any(uid == str(os.getuid()) and int(count) > 0 for _, uid, count in mine), users
    by_user = json.loads(q.run("sdiag", "--json").out)["statistics"]["rpcs_by_user"]
    assert {u["user_id"] for u in by_user} == {int(uid) for _, uid, _ in mine}
    assert all(u["count"] >= int(next(c for _, uid, c in mine if int(uid) == u["user_id"])) for u in by_user)
    ever = re.search(r"\(since last slurm start\): (\d+)", text).group(1)
    assert q.run("sdiag", "--reset").rc == 0
    text = q.run("sdiag").out
    assert int(re.search(r"\(since last slurm start\): (\d+)", text).group(1)) >= int(ever)  # a reset does not touch it
    assert re.search(r"\(since last stats cycle start\): 0$", text, re.M)


@pytest.mark.parametrize("argv,key,count", [
    (["squeue"], "jobs", 7), (["sinfo"], "sinfo", None), (["scontrol", "show", "nodes"], "nodes", 4),
    (["scontrol", "show", "partitions"], "partitions", 2), (["scontrol", "show", "jobs"], "jobs", None),
    (["sacct"], "jobs", None), (["sdiag"], "statistics", None), (["scontrol", "ping"], "pings", 1)])
def test_json(q, argv, key, count):
    data = json.loads(q.run(*argv, "--json").out)
    assert key in data and {"meta", "errors", "warnings"} <= set(data)
    assert data["meta"]["command"][:len(argv)] == argv or data["meta"]["command"][0].endswith(argv[0])
    assert {"major", "minor", "micro"} <= set(data["meta"]["slurm"]["version"])
    assert count is None or len(data[key]) in (count, 5)  # an array is one record or three


def test_json_of_a_job(q):
    job, = json.loads(q.run("squeue", "--json", "-j", q.run1).out)["jobs"]
    wanted = {"job_id": q.run1, "name": "run1", "job_state": ["RUNNING"], "partition": "main", "nodes": "node1",
              "user_name": ME, "batch_flag": True, "state_reason": "None", "tres_alloc_str": "cpu=4,mem=400M,node=1,billing=4"}
    assert {k: job.get(k) for k in wanted} == wanted
    assert job["time_limit"] == {"set": True, "infinite": False, "number": 20}
    assert job["cpus"]["number"] == 4 and job["array_task_id"]["set"] is False
    node = next(n for n in json.loads(q.run("scontrol", "show", "nodes", "--json").out)["nodes"] if n["name"] == "node1")
    assert node["state"][0] in ("ALLOCATED",) and node["cpus"] == 4


def test_json_of_a_partition(q):
    """sinfo tells of a partition's TRES what scontrol does."""
    shown = {p["name"]: p["tres"]["configured"] for p in json.loads(q.run("scontrol", "show", "partitions", "--json").out)["partitions"]}
    rows = json.loads(q.run("sinfo", "--json").out)["sinfo"]
    assert {r["partition"]["name"]: r["partition"]["tres"]["configured"] for r in rows} == shown
    assert all(re.fullmatch(r"cpu=\d+,mem=[\d.]+[MG],node=\d+,billing=\d+.*", t) for t in shown.values()), shown


def test_yaml(q):
    text = q.run("squeue", "--yaml", "-j", q.run1).out
    assert text.startswith("%YAML 1.1\n--- !!map\n!!str jobs: !!seq\n- !!map\n  !!str account: !!str")
    assert f"\n  !!str job_id: !!int {q.run1}\n" in text and "\n  !!str batch_flag: !!bool true\n" in text


def test_json_without_records(make_cluster):
    c = make_cluster(nodes=1)
    for argv in (["squeue"], ["sacct"], ["scontrol", "show", "jobs"]):
        data = json.loads(c.run(*argv, "--json").out)
        assert data["jobs"] == [] and data["errors"] == []


def test_queue_is_untouched_by_looking(q):
    assert sorted(lines(q, "squeue", "-h", "-o", "%j")) == sorted(["run1", "run2", "a_rather_long_name", "ar", "later"])
