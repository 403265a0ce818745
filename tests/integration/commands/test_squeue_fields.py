"""Every field of squeue: name, letter, header and value for jobs in many states, and of steps."""

import getpass
import grp
import os
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 3, "conf": "Licenses=matlab:10\nPriorityType=priority/basic", "node_options": "Feature=intel TmpDisk=20000"}
ME, GROUP = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
JOBS = ("done", "run", "held", "dep", "arr", "later")
STAMP, LATER = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
PRIO = r"0\.(9999\d{10}|0000000002\d+)"
NULL, NA, NUM = r"\(null\)", "N/A", r"\d+"

# name, letter, header, value (a pattern; {x} are numbers of jobs), values of single jobs that differ
FIELDS = [
    ("Account", "a", "ACCOUNT", NULL, {"run": "physics"}),
    ("AccrueTime", None, "ACCRUE_TIME", NA, {"done": STAMP, "run": STAMP}),
    ("admin_comment", None, "ADMIN_COMMENT", NULL, {}),
    ("AllocNodes", None, "ALLOC_NODES", r"\S+", {}),
    ("AllocSID", None, "ALLOC_SID", NUM, {}),
    ("ArrayJobId", "F", "ARRAY_JOB_ID", "{id}", {}),
    ("ArrayTaskId", "K", "ARRAY_TASK_ID", NA, {"arr": "2-4%1"}),
    ("AssocId", None, "ASSOC_ID", "0", {}),
    ("BatchFlag", None, "BATCH_FLAG", "1", {}),
    ("BatchHost", "B", "EXEC_HOST", "n/a", {"done": r"node\d", "run": "node1"}),
    ("BoardsPerNode", None, "BOARDS_PER_NODE", "0", {}),
    ("BurstBuffer", None, "BURST_BUFFER", NULL, {}),
    ("BurstBufferState", None, "BURST_BUFFER_STATE", NULL, {}),
    ("Cluster", None, "CLUSTER", "test", {}),
    ("ClusterFeature", None, "CLUSTER_FEATURES", NULL, {}),
    ("Command", "o", "COMMAND", NULL, {"dep": r"/\S+/job\.sh( one two)?"}),
    ("Comment", "k", "COMMENT", NULL, {"run": "two words"}),
    ("Container", None, "CONTAINER", NULL, {}),
    ("ContainerId", None, "CONTAINERID", NULL, {}),
    ("ContainerType", None, "CONTAINERTYPE", NULL, {}),
    ("Contiguous", "O", "CONTIGUOUS", "0", {"held": "1"}),
    ("Cores", "I", "CORES_PER_SOCKET", r"\*", {}),
    ("CoreSpec", "X", "CORE_SPEC", NA, {}),
    ("CPUsPerTask", None, "CPUS_PER_TASK", "1", {"held": "2"}),
    ("cpus-per-task", None, "CPUS_PER_TASK", "1", {"held": "2"}),
    ("cpus-per-tres", None, "CPUS_PER_TRES", NA, {}),
    ("CronJob", None, "CRON_JOB", "No", {}),
    ("Deadline", None, "DEADLINE", NA, {}),
    ("DelayBoot", None, "DELAY_BOOT", "0:00", {}),
    ("Dependency", "E", "DEPENDENCY", NULL, {"dep": r"afterany:{run}\(unfulfilled\)"}),
    ("DerivedEC", None, "DERIVED_EC", "0:0", {}),
    ("EligibleTime", None, "ELIGIBLE_TIME", NA, {"done": STAMP, "run": STAMP, "later": LATER}),
    ("EndTime", "e", "END_TIME", NA, {"done": STAMP, "run": STAMP, "later": LATER}),
    ("ExcNodes", "x", "EXC_NODES", "", {"held": "node3"}),
    ("Exclusive", None, "EXCLUSIVE", "NO", {"held": "NODE"}),
    ("exit_code", None, "EXIT_CODE", "0:0", {"done": "3:0"}),
    ("Feature", "f", "FEATURES", NULL, {"held": "intel"}),
    ("GroupId", "G", "GROUP", str(os.getgid()), {}),
    ("GroupName", "g", "GROUP", GROUP, {}),
    ("JobArrayId", "i", "JOBID", "{id}", {"arr": r"{id}_\[2-4%1\]"}),
    ("JobId", "A", "JOBID", "{id}", {}),
    ("LastSchedEval", None, "LAST_SCHED_EVAL", f"{NA}|{STAMP}", {"run": STAMP}),
    ("Licenses", "W", "LICENSES", NULL, {"run": "matlab:2"}),
    ("LicensesAlloc", None, "LICENSES_ALLOC", NULL, {"run": r"\(null\)|matlab:2"}),
    ("MaxCPUs", None, "MAX_CPUS", "1", {"run": "4", "held": "2"}),
    ("MaxNodes", None, "MAX_NODES", "1", {"held": "2"}),
    ("mem-per-tres", None, "MEM_PER_TRES", NA, {}),
    ("MCSLabel", None, "MCSLABEL", NULL, {}),
    ("MinCPUs", "c", "MIN_CPUS", "1", {"held": "2"}),
    ("MinMemory", "m", "MIN_MEMORY", "100M", {"run": "300M", "held": "50M"}),
    ("MinTime", None, "TIME_MIN", "0:00", {"later": "5:00"}),
    ("MinTmpDisk", "d", "MIN_TMP_DISK", "0", {"held": "100M"}),
    ("Name", "j", "NAME", "{name}", {}),
    ("Network", None, "NETWORK", NULL, {}),
    ("Nice", "y", "NICE", "0", {"held": "7"}),
    ("NodeList", "N", "NODELIST", "", {"done": r"node\d", "run": "node1"}),
    ("NTPerCore", None, "NTASKS_PER_CORE", NA, {}),
    ("NTPerNode", None, "NTASKS_PER_NODE", "0", {"held": "1"}),
    ("NTPerSocket", None, "NTASKS_PER_SOCKET", NA, {}),
    ("NTPerBoard", None, "NTASKS_PER_BOARD", "0", {}),
    ("NumCPUs", "C", "CPUS", "1", {"run": "4", "held": "2"}),
    ("NumNodes", "D", "NODES", "1", {}),
    ("NumTasks", None, "TASKS", "1", {"run": "4"}),
    ("Origin", None, "ORIGIN", "NA", {}),
    ("OriginRaw", None, "ORIGIN_RAW", "NA", {}),
    ("OverSubscribe", "h", "OVER_SUBSCRIBE", "NO", {"dep": "YES"}),
    ("Partition", "P", "PARTITION", "main", {}),
    ("PendingTime", None, "PENDING_TIME", NUM, {}),
    ("PreemptTime", None, "PREEMPT_TIME", NA, {}),
    ("Prefer", None, "PREFER", NULL, {}),
    ("Priority", "p", "PRIORITY", PRIO, {"held": r"0\.0{14}", "arr": r"0\.0{14}"}),
    ("PriorityLong", "Q", "PRIORITY", r"1|42949\d{5}", {"held": "0", "arr": "0"}),
    ("Profile", None, "PROFILE", "NotSet", {}),
    ("QOS", "q", "QOS", NULL, {}),
    ("Reason", "r", "REASON", "", {"done": "NonZeroExitCode", "run": "None", "held": "JobHeldUser", "dep": "Dependency",
                                   "arr": "JobHeldUser", "later": "BeginTime"}),
    ("ReasonList", "R", "NODELIST(REASON)", "", {"done": r"\(NonZeroExitCode\)", "run": "node1", "held": r"\(JobHeldUser\)",
                                                 "dep": r"\(Dependency\)", "arr": r"\(JobHeldUser\)", "later": r"\(BeginTime\)"}),
    ("Reboot", None, "REBOOT", "0", {}),
    ("ReqNodes", "n", "REQ_NODES", "", {"run": "node1"}),
    ("ReqSwitch", None, "REQ_SWITCH", "0", {}),
    ("Requeue", None, "REQUEUE", "1", {"held": "0"}),
    ("Reservation", "v", "RESERVATION", NULL, {}),
    ("ResizeTime", None, "RESIZE_TIME", NA, {}),
    ("RestartCnt", None, "RESTART_COUNT", "0", {}),
    ("SchedNodes", "Y", "SCHEDNODES", NULL, {}),
    ("SCT", "z", "S:C:T", r"\*:\*:\*", {}),
    ("SegmentSize", None, "SEGMENT_SIZE", NA, {}),
    ("SiblingsActive", None, "ACTIVE_SIBLINGS", "NA", {}),
    ("SiblingsActiveRaw", None, "ACTIVE_SIBLINGS_RAW", "NA", {}),
    ("SiblingsViable", None, "VIABLE_SIBLINGS", "NA", {}),
    ("SiblingsViableRaw", None, "VIALBLE_SIBLINGS_RAW", "NA", {}),
    ("SLUID", "s", "SLUID", r"\(null\)|s[0-9A-Z]{13}", {}),
    ("Sockets", "H", "SOCKETS_PER_NODE", r"\*", {}),
    ("SPerBoard", None, "SOCKETS_PER_BOARD", "0", {}),
    ("StartTime", "S", "START_TIME", NA, {"done": STAMP, "run": STAMP, "later": LATER}),
    ("State", "T", "STATE", "PENDING", {"done": "FAILED", "run": "RUNNING"}),
    ("StateCompact", "t", "ST", "PD", {"done": "F", "run": "R"}),
    ("StdErr", None, "STDERR", NULL, {"held": "err-%j"}),
    ("StdIn", None, "STDIN", "/dev/null", {}),
    ("StdOut", None, "STDOUT", r"slurm-%j\.out", {"held": "out-%j", "arr": r"slurm-%A_%a\.out"}),
    ("SubmitTime", "V", "SUBMIT_TIME", STAMP, {}),
    ("system_comment", None, "SYSTEM_COMMENT", NULL, {}),
    ("Threads", "J", "THREADS_PER_CORE", r"\*", {}),
    ("TimeLeft", "L", "TIME_LEFT", "10:00", {"done": r"9:5\d|10:00", "run": r"19:\d\d|20:00", "held": "2-00:00:00"}),
    ("TimeLimit", "l", "TIME_LIMIT", "10:00", {"run": "20:00", "held": "2-00:00:00"}),
    ("TimeUsed", "M", "TIME", "0:00", {"done": r"0:0\d", "run": r"\d+:\d\d"}),
    ("tres-alloc", None, "TRES_ALLOC", "cpu=1,mem=100M,node=1,billing=1",
     {"run": "cpu=4,mem=300M,node=1,billing=4(,license/matlab=2)?", "held": "cpu=2,mem=100M,node=1,billing=2"}),
    ("tres-bind", None, "TRES_BIND", NA, {}),
    ("tres-freq", None, "TRES_FREQ", NA, {}),
    ("tres-per-job", None, "TRES_PER_JOB", NA, {}),
    ("tres-per-socket", None, "TRES_PER_SOCKET", NA, {}),
    ("tres-per-task", None, "TRES_PER_TASK", NA, {"held": "cpu=2"}),
    ("UserId", "U", "UID", str(os.getuid()), {}),
    ("UserName", "u", "USER", ME, {}),
    ("Wait4Switch", None, "WAIT4SWITCH", "0:00", {}),
    ("WCKey", "w", "WCKEY", NULL, {"held": "w"}),
    ("WorkDir", "Z", "WORK_DIR", r"/\S+/work", {"held": "/tmp"}),
    ("tres-per-node", "b", "TRES_PER_NODE", NA, {}),
    ("Gres", "b", "TRES_PER_NODE", NA, {}),
    ("Shared", "h", "OVER_SUBSCRIBE", "NO", {"dep": "YES"}),
    ("Tres", None, "TRES_ALLOC", "cpu=1,.*", {"run": "cpu=4,.*", "held": "cpu=2,.*"}),
    ("HetJobId", None, "HET_JOB_ID", NA, {}), ("HetJobIdSet", None, "HET_JOB_ID_SET", NA, {}),
    ("HetJobOffset", None, "HET_JOB_OFFSET", NA, {}), ("PackJobId", None, "HET_JOB_ID", NA, {}),
    ("PackJobIdSet", None, "HET_JOB_ID_SET", NA, {}), ("PackJobOffset", None, "HET_JOB_OFFSET", NA, {}),
]
STEP_FIELDS = [
    ("ArrayJobId", None, "ARRAY_JOB_ID", "0"), ("ArrayTaskId", None, "ARRAY_TASK_ID", NA), ("Cluster", None, "CLUSTER", "test"),
    ("Container", None, "CONTAINER", NULL), ("ContainerId", None, "CONTAINERID", NULL),
    ("ContainerType", None, "CONTAINERTYPE", NULL), ("CPUFreq", None, "CPU_FREQ", "Unknown-Unknown:Unknown"),
    ("cpus-per-tres", None, "CPUS_PER_TRES", NULL), ("JobId", None, "JOB_ID", "{run}"),
    ("mem-per-tres", None, "MEM_PER_TRES", NULL), ("Network", None, "NETWORK", NULL), ("Nodes", "N", "NODELIST", "node1"),
    ("NumCPUs", None, "NUM_CPUS", "4"), ("NumTasks", "A", "TASKS", "4"), ("Partition", "P", "PARTITION", "main"),
    ("ResvPorts", None, "RESERVED_PORTS", NULL), ("StartTime", "S", "START_TIME", STAMP), ("StdErr", None, "STDERR", NULL),
    ("StdIn", None, "STDIN", NULL), ("StdOut", None, "STDOUT", NULL), ("StepId", "i", "STEPID", r"{run}\.0"),
    ("StepName", "j", "NAME", "sleep"), ("StepState", None, "STATE", "RUNNING"), ("TimeLimit", "l", "TIME_LIMIT", "UNLIMITED"),
    ("TimeUsed", "M", "TIME", r"\d+:\d\d"), ("tres-bind", None, "TRES_BIND", NULL), ("tres-freq", None, "TRES_FREQ", NULL),
    ("tres-per-job", None, "TRES_PER_STEP", NULL), ("tres-per-node", "b", "TRES_PER_JOB", NULL),
    ("tres-per-socket", None, "TRES_PER_SOCKET", NULL), ("tres-per-step", None, "TRES_PER_STEP", NULL),
    ("tres-per-task", None, "TRES_PER_TASK", NULL), ("UserId", "U", "UID", str(os.getuid())), ("UserName", "u", "USER", ME),
]


@pytest.fixture(scope="module")
def q(shared):
    c, c.ids = shared, {}
    common = ["-t", "10"]
    c.ids["done"] = c.sbatch(*common, "-J", "done", wrap="exit 3")
    c.wait_end(c.ids["done"])
    c.ids["run"] = c.sbatch("-J", "run", "-n4", "-t", "20", "--mem=300M", "--comment=two words", "-A", "physics", "-L",
                            "matlab:2", "-w", "node1", wrap="srun sleep 1000")
    c.ids["held"] = c.sbatch("-H", "-J", "held", "-N1-2", "--ntasks-per-node=1", "-c2", "-t", "2-0", "--mem-per-cpu=50",
                             "-C", "intel", "--tmp=100", "--nice=7", "--exclusive", "--contiguous", "-x", "node3", "-o",
                             "out-%j", "-e", "err-%j", "-D", "/tmp", "--wckey=w", "--no-requeue", wrap="true")
    c.ids["dep"] = c.sbatch(*common, "-J", "dep", "-d", f"afterany:{c.ids['run']}", "-s", script="true", args=("one", "two"))
    c.ids["arr"] = c.sbatch(*common, "-J", "arr", "-a", "2-4%1", "-H", wrap="true")
    c.ids["later"] = c.sbatch(*common, "-J", "later", "--begin=now+1day", "--time-min=5", wrap="true")
    wait_until(lambda: f"{c.ids['run']}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "the step runs")
    wait_until(lambda: c.job(c.ids["later"])["Reason"] == "BeginTime", "the reason is told")
    wait_until(lambda: "COMPLETING" not in c.run("squeue", "-h", "-t", "all", "-o", "%T").out, "the first is clean")
    return c


def pattern(c, text, job=None):
    for name, number in c.ids.items():
        text = text.replace(f"{{{name}}}", str(number))
    return text.replace("{id}", str(c.ids[job])).replace("{name}", job) if job else text


@pytest.mark.parametrize("row", FIELDS, ids=lambda r: r[0])
def test_job_field(q, row):
    name, letter, header, usual, special = row
    for spec in [["-O", f"{name.swapcase()}:.120:|"]] + ([["-o", f"%.120{letter}|"]] if letter else []):
        lines = q.run("squeue", "-t", "all", "-S", "i", *spec).out.splitlines()
        cells = [re.fullmatch(r"(.{120})[:|]*", line).group(1).strip() for line in lines]
        assert cells[0] == header
        assert len(cells) == 1 + len(JOBS)
        for job, cell in zip(JOBS, cells[1:]):
            assert re.fullmatch(pattern(q, special.get(job, usual), job), cell), (spec, job, cell)


@pytest.mark.parametrize("row", STEP_FIELDS, ids=lambda r: r[0])
def test_step_field(q, row):
    name, letter, header, value = row
    for spec in [["-O", f"{name.upper()}:100"]] + ([["-o", f"%100{letter}"]] if letter else []):
        out = q.run("squeue", "-s", f"{q.ids['run']}.0", *spec).out.splitlines()
        assert [len(line) for line in out] == [100, 100] and out[0].rstrip() == header
        assert re.fullmatch(pattern(q, value), out[1].rstrip()), (spec, out[1])


def test_all_letters(q):
    """%all is every letter in the order of the alphabet, small ones first."""
    head, *rows = q.run("squeue", "-t", "all", "-S", "i", "-o", "%all").out.splitlines()
    letters = sorted({r[1] for r in FIELDS if r[1]}, key=str.swapcase)
    assert head == "|".join(next(r[2] for r in FIELDS if r[1] == letter) for letter in letters)
    assert [row.split("|")[letters.index("j")] for row in rows] == list(JOBS)


@pytest.mark.parametrize("letter", sorted({r[1] for r in FIELDS if r[1] and r[1] not in "sarZ"}))
def test_sort(q, letter):
    """Each letter but those of SLUID, account, reason and folder sorts, both ways; equal values keep one order."""
    def order(spec):
        return q.run("squeue", "-t", "all", "-h", "-S", spec, "-o", f"%A={letter}%{letter}").out.splitlines()

    def both():
        up, down = order(letter), order(f"-{letter}")
        return (up, down) if sorted(up) == sorted(down) else None
    up, down = wait_until(both, "two listings between two seconds")  # times grow
    assert len(up) == len(JOBS)
    values = [line.split("=", 1)[1] for line in up]
    runs = [v for i, v in enumerate(values) if i == 0 or values[i - 1] != v]
    assert len(runs) == len(set(values)), "equal values stand together"
    down_values = [line.split("=", 1)[1] for line in down]
    assert [v for i, v in enumerate(down_values) if i == 0 or down_values[i - 1] != v] == runs[::-1]


@pytest.mark.parametrize("spec,want", [
    ("%.3j", ["NAM", "don"]), ("%7j|", ["NAME   |", "done   |"]), ("%.7j", ["   NAME", "   done"]), ("%j-", ["NAME-", "done-"]),
    ("x", ["x", "x"]), ("%4l", ["TIME", "10:00"]), ("%.8l", ["TIME_LIM", "   10:00"]), ("%%", ["", ""])])
def test_widths(q, spec, want):
    """Sizes pad and cut; times are never cut."""
    assert q.run("squeue", "-t", "F", "-o", spec).out.splitlines() == want


@pytest.mark.parametrize("options,names", [
    (["-t", "F"], ["done"]), (["-t", "pd"], ["held", "dep", "arr", "later"]), (["-t", "r,failed"], ["done", "run"]),
    (["-t", "revoked"], []), (["-L", "matlab"], ["run"]), (["-A", "physics"], ["run"]), (["-n", "held,dep"], ["held", "dep"]),
    (["-w", "node1", "-t", "R"], ["run"]), (["--me", "-t", "R"], ["run"]), (["--notme"], []), (["-p", "nosuch"], []),
    (["--running-over=0"], ["run"]), (["--running-under=90"], ["run"]), (["--running-under=0:00"], []),
    (["-r", "-n", "arr"], ["arr", "arr", "arr"]), (["-M", "test", "-t", "R", "-h"], ["run"]), (["-u", ME, "-t", "R"], ["run"])])
def test_filters(q, options, names):
    if "--running-over=0" in options:
        wait_until(lambda: q.run("squeue", "-h", "-t", "R", "-o", "%M").out != "0:00\n", "a second has passed")
    out = q.run("squeue", "-h", "-o", "%j", "-S", "i", *options).out.splitlines()
    assert [line for line in out if not line.startswith("CLUSTER: ")] == names


@pytest.mark.parametrize("env,options,want", [
    ({"SQUEUE_FORMAT": "%j"}, ["-h", "-t", "R"], "run\n"), ({"SQUEUE_FORMAT2": "name:6,state:.8"}, ["-h", "-t", "R"], "run    RUNNING\n"),
    ({"SQUEUE_STATES": "F"}, ["-h", "-o", "%j"], "done\n"), ({"SQUEUE_NAMES": "dep"}, ["-h", "-o", "%j"], "dep\n"),
    ({"SQUEUE_ACCOUNT": "physics"}, ["-h", "-o", "%j"], "run\n"), ({"SQUEUE_LICENSES": "matlab"}, ["-h", "-o", "%j"], "run\n"),
    ({"SQUEUE_SORT": "-i", "SQUEUE_STATES": "R,F"}, ["-h", "-o", "%j"], "run\ndone\n"),
    ({"SQUEUE_USERS": "root", "SQUEUE_PARTITION": "nosuch"}, ["-h", "-o", "%j"], ""),
    ({"SQUEUE_ARRAY": "1", "SQUEUE_NAMES": "arr"}, ["-h", "-S", "i", "-o", "%K"], "2\n3\n4\n"),
    ({"SLURM_TIME_FORMAT": "%Y"}, ["-h", "-n", "held", "-o", "[%V]"], None),
    ({"SLURM_BITSTR_LEN": "4"}, ["-h", "-n", "arr", "-o", "%K"], "2-4%1\n"),
    ({"SLURM_BITSTR_LEN": "3"}, ["-h", "-n", "arr", "-o", "%K"], "...%1\n")])
def test_environment(q, env, options, want):
    out = q.run("squeue", *options, env=env).out
    assert re.fullmatch(r"\[20\d\d\]\n", out) if want is None else out == want


@pytest.mark.parametrize("argv,out,err,rc", [
    (["-h", "-n", "done", "-t", "F", "-O", "nosuch"], "\n", "squeue: error: Invalid job format specification: nosuch\n", 0),
    (["-S", "nosuch", "-h"], "", "squeue: error: Invalid sort specification: s\n", 1),
    (["-i", "abc"], "", "squeue: error: --iterate=abc\n\n", 1), (["-j", "abc"], "", "squeue: error: Invalid job id: abc\n", 1),
    (["-j", "99999"], "", "slurm_load_jobs error: Invalid job id specified\n", 1),
    (["-h", "-j", "99998,99999"], "", "", 0), (["-h", "-u", "no_such_user"], "", "squeue: error: Invalid user: no_such_user\n\n", 0),
    (["-M", "nosuch"], "", "squeue: error: No cluster 'nosuch' known by database.\nsqueue: error: 'nosuch' can't be reached now, "
     "or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.\n"
     "squeue: fatal: Could not get cluster information\n", 1)])
def test_mistakes(q, argv, out, err, rc):
    done = q.run("squeue", *argv, check=False)
    assert (done.out, done.err, done.rc) == (out, err, rc)
