"""Every field of sinfo: name, letter, header and value, sort keys, options, variables, messages.  Root sees what is hidden."""

import re

import pytest

CLUSTER = {"nodes": 4, "cpus": 4, "node_options": "Feature=fast,ib TmpDisk=20000 Weight=3",
           "conf": "PartitionName=small Nodes=node[1-2] MaxTime=30 DefaultTime=10 MaxNodes=1 PriorityTier=7 PriorityJobFactor=2\n"
                   "PartitionName=hid Nodes=node4 Hidden=YES"}
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
# name, letter, header, values of partition main (node1 mixed, node2 idle, node3 drained, node4 down), of partition small
FIELDS = [
    ("AllocMem", None, "ALLOCMEM", ["0", "100"], None), ("AllocNodes", "S", "ALLOCNODES", ["all"], ["all"]),
    ("Available", "a", "AVAIL", ["up"], ["up"]), ("Cluster", "V", "CLUSTER", ["N/A"], ["N/A"]),
    ("Comment", None, "COMMENT", [r"\(null\)"], None), ("Cores", "Y", "CORES", ["4"], ["4"]), ("CPUs", "c", "CPUS", ["4"], ["4"]),
    ("CPUsLoad", "O", "CPU_LOAD", None, None), ("CPUsState", "C", r"CPUS(A/I/O/T)", ["1/7/8/16"], ["1/7/0/8"]),
    ("DefaultTime", "L", "DEFAULTTIME", ["n/a"], ["10:00"]), ("Disk", "d", "TMP_DISK", ["20000"], ["20000"]),
    ("Extra", None, "EXTRA", [r"\(null\)"], None), ("Features", "f", "AVAIL_FEATURES", ["fast,ib"], ["fast,ib"]),
    ("features_act", "b", "ACTIVE_FEATURES", ["fast,ib"], ["fast,ib"]), ("FreeMem", "e", "FREE_MEM", None, None),
    ("Gres", "G", "GRES", [r"\(null\)"], [r"\(null\)"]), ("GresUsed", None, "GRES_USED", [r"\(null\)"], None),
    ("Groups", "g", "GROUPS", ["all"], ["all"]), ("MaxCPUsPerNode", "B", "MAX_CPUS_PER_NODE", ["UNLIMITED"], ["UNLIMITED"]),
    ("Memory", "m", "MEMORY", ["2000"], ["2000"]), ("NodeAddr", "o", "NODE_ADDR", [r"127\.0\.0\.1"], None),
    ("NodeAI", "A", "NODES(A/I)", ["1/1"], ["1/1"]), ("NodeAIOT", "F", "NODES(A/I/O/T)", ["1/1/2/4"], ["1/1/0/2"]),
    ("NodeHost", "n", "HOSTNAMES", [r"\S+"], None), ("NodeList", "N", "NODELIST", [r"node\[1-4\]"], [r"node\[1-2\]"]),
    ("Nodes", "D", "NODES", ["4"], ["2"]), ("OverSubscribe", "h", "OVERSUBSCRIBE", ["NO"], ["NO"]),
    ("Share", "h", "OVERSUBSCRIBE", ["NO"], ["NO"]), ("Partition", "P", "PARTITION", [r"main\*"], ["small"]),
    ("PartitionName", "R", "PARTITION", ["main"], ["small"]), ("Port", None, "PORT", [r"\d+"] * 4, None),
    ("PreemptMode", "M", "PREEMPT_MODE", ["OFF"], ["OFF"]), ("PriorityJobFactor", "I", "PRIO_JOB_FACTOR", ["1"], ["2"]),
    ("PriorityTier", "p", "PRIO_TIER", ["1"], ["7"]), ("Reason", "E", "REASON", ["bad disk", "none", "power"], ["none"]),
    ("Reservation", "i", "RESERVATION", [""], [""]), ("Root", "r", "ROOT", ["no"], ["no"]),
    ("Size", "s", "JOB_SIZE", ["1-infinite"], ["1"]), ("Sockets", "X", "SOCKETS", ["1"], ["1"]),
    ("SocketCoreThread", "z", "S:C:T", ["1:4:1"], ["1:4:1"]),
    ("StateCompact", "t", "STATE", ["down", "drain", "idle", "mix"], ["idle", "mix"]),
    ("StateComplete", None, "STATECOMPLETE", ["down", r"idle\+drain", "idle", "mixed"], ["idle", "mixed"]),
    ("StateLong", "T", "STATE", ["down", "drained", "idle", "mixed"], ["idle", "mixed"]), ("Threads", "Z", "THREADS", ["1"], ["1"]),
    ("Time", "l", "TIMELIMIT", ["infinite"], ["30:00"]), ("TimeStamp", "H", "TIMESTAMP", [STAMP, "Unknown"], ["Unknown"]),
    ("User", "u", "USER", [r"\w+", "Unknown"], ["Unknown"]), ("UserLong", "U", "USER", [r"\w+\(\d+\)", "Unknown"], ["Unknown"]),
    ("Version", "v", "VERSION", [r"\d+\.\d+\.\d+"], [r"\d+\.\d+\.\d+"]), ("Weight", "w", "WEIGHT", ["3"], ["3"]),
]


@pytest.fixture(scope="module")
def q(shared):
    c = shared
    c.id = c.sbatch("-w", "node1", wrap="sleep 1000")
    c.wait_state(c.id, "RUNNING")
    c.run("scontrol", "update", "nodename=node3", "state=drain", "reason=bad disk")
    c.run("scontrol", "update", "nodename=node4", "state=down", "reason=power")
    return c


@pytest.mark.parametrize("row", FIELDS, ids=lambda r: r[0])
def test_field(q, row):
    name, letter, header, main, small = row
    for partition, want in (("main", main), ("small", small)):
        for spec in [["-O", f"{name.swapcase()}:90:|"]] + ([["-o", f"%90{letter}|"]] if letter else []):
            lines = q.run("sinfo", "-p", partition, *spec).out.splitlines()
            cells = [re.fullmatch(r"(.{90})[:|]*", line).group(1).rstrip() for line in lines]
            assert cells[0] == header and len(cells) >= 2
            if want is None:
                continue
            values = set(cells[1:])
            assert all(any(re.fullmatch(w, v) for v in values) for w in want), (spec, cells)
            assert all(any(re.fullmatch(w, v) for w in want) for v in values), (spec, cells)


@pytest.mark.parametrize("options,rows", [
    (["-h", "--hide", "-o", "%P %D"], ["small 2", "hid 1", "main* 4"]), (["-h", "-a", "-o", "%P"], ["small", "hid", "main*"]),
    (["-h", "-s", "-p", "main"], ["main*        up   infinite          1/1/2/4 node[1-4]"]),
    (["-h", "-N", "-p", "small"], ["node1          1     small mix   ", "node2          1     small idle  "]),
    (["-h", "-t", "idle", "-p", "small", "-o", "%N"], ["node2"]), (["-h", "-t", "drain,down", "-p", "main", "-o", "%D %T"], ["1 drained", "1 down"]),
    (["-h", "-t", "idle&drain", "-p", "main", "-o", "%N"], ["node3"]), (["-h", "-t", "mix+~drain", "-p", "main", "-o", "%N"], ["node1"]),
    (["-h", "-n", "node2", "-p", "main", "-o", "%N %t"], ["node2 idle"]), (["-h", "-p", "nosuch"], []),
    (["-h", "--hide", "-S", "-P", "-o", "%P"], ["small", "main*", "hid"]), (["-h", "-M", "test", "-p", "small", "-o", "%P"], ["small"]),
    (["-h", "-R", "-S", "E", "-o", "%E %N"], ["bad disk node3", "power node4"]), (["-T"], ["No reservations in the system"]),
    (["--hide", "-o", "%.3P|%12a|%#P"], ["PAR|AVAIL       |PARTITION", "sma|up          |small    ", "hid|up          |hid      ", "ma*|up          |main*    "])])
def test_options(q, options, rows):
    assert q.run("sinfo", *options).out.splitlines() == rows


@pytest.mark.parametrize("env,options,out", [
    ({"SINFO_FORMAT": "%P %N"}, ["-h", "--hide"], "small node[1-2]\nhid node4\nmain* node[1-4]\n"),
    ({"SINFO_PARTITION": "small"}, ["-h", "-o", "%P"], "small\n"),
    ({"SINFO_SORT": "-P"}, ["-h", "--hide", "-o", "%P"], "small\nmain*\nhid\n"), ({"SINFO_ALL": "1"}, ["-h", "-o", "%R"], "small\nhid\nmain\n")])
def test_environment(q, env, options, out):
    assert q.run("sinfo", *options, env=env).out == out


@pytest.mark.parametrize("argv,out,err,rc", [
    (["-h", "-O", "nosuch"], "\n", "sinfo: error: Invalid job format specification: nosuch\n", 0),
    (["-M", "nosuch", "-h"], "", "sinfo: error: No cluster 'nosuch' known by database.\n", 1),
    (["-t", "nosuch"], "", 'sinfo: error: Bad state string: "nosuch"\n', 1)])
def test_mistakes(q, argv, out, err, rc):
    done = q.run("sinfo", *argv, check=False)
    assert (done.out, done.rc) == (out, rc) and done.err.startswith(err)
