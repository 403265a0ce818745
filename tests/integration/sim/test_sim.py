"""penstock sim as a command: traces, policies, reports, and what it refuses."""

import json
import subprocess

import pytest

from conftest import BUILD, SLOW, wait_until

CLUSTER = {"nodes": 2}

SIM = [str(BUILD / "src/penstock/penstock"), "sim"]

SWF = """; MaxNodes: 2
; MaxProcs: 8
1 0 -1 100 8 -1 -1 8 120 -1 1 1 1 1 1 1 -1 -1
2 10 -1 100 8 -1 -1 8 120 -1 1 2 1 1 1 1 -1 -1
3 20 -1 50 4 -1 -1 4 60 -1 1 3 1 1 1 1 -1 -1
"""
SACCT = """JobID|User|Partition|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|NNodes
1|ann|main|2026-01-02T10:00:00|2026-01-02T10:00:00|2026-01-02T10:10:00|00:10:00|00:20:00|4|1
1.batch|||2026-01-02T10:00:00|2026-01-02T10:00:00|2026-01-02T10:10:00|00:10:00||4|1
2|bob|main|2026-01-02T10:01:00|2026-01-02T10:10:00|2026-01-02T10:11:00|00:01:00|00:05:00|4|1
"""
CONF = """ClusterName=t
SlurmctldHost=h
SlurmUser=root
SchedulerParameters=bf_interval=0
NodeName=a[1-2] CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
NodeName=b1 CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 State=DOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def sim(*args, stdin=None):
    return subprocess.run(SIM + list(args), input=stdin, capture_output=True, text=True, timeout=120 * SLOW)


def report(*args, stdin=None):
    out = sim(*args, "--json", stdin=stdin)
    assert out.returncode == 0, out.stderr
    assert out.stderr == ""
    return json.loads(out.stdout)


def test_swf_by_hand():
    """Job 2 waits for job 1; job 3 would fit beside nothing and comes last."""
    got = report("--trace", "-", stdin=SWF)
    assert (got["nodes"], got["cpus"], got["jobs"], got["users"]) == (2, 8, 3, 3)
    run = got["runs"][0]
    assert run["jobs_ended"] == 3
    assert run["makespan_s"] == 250
    assert run["wait_max_s"] == 180
    assert run["wait_mean_s"] == pytest.approx((0 + 90 + 180) / 3)
    assert run["utilisation"] == pytest.approx((800 + 800 + 200) / (8 * 250))


def test_sacct_and_conf(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF)
    got = report("--trace", "-", "--conf", str(conf), stdin=SACCT)
    assert got["nodes"] == 3 and got["cpus"] == 8, "a node that is down does not count"
    assert got["skipped"] == 1
    assert got["runs"][0]["wait_max_s"] == 0
    assert [c["name"] for c in got["runs"][0]["by_user"]] == ["ann", "bob"]
    halved = report("--trace", "-", "--conf", str(conf), "--limits", "25", stdin=SACCT)
    assert halved["runs"][0]["jobs_at_limit"] == 1


def test_our_own_sacct(c):
    """What sacct of a cluster prints can be run again."""
    jobs = [c.run("sbatch", "--parsable", "-n1", "-t5", "-o", "/dev/null", "--wrap", "true").out.strip()
            for _ in range(3)]
    wait_until(lambda: not c.run("squeue", "-h").out, "the queue is empty")
    fields = "JobID,JobIDRaw,User,Partition,Submit,Start,End,Elapsed,Timelimit,ReqCPUS,NNodes,ReqMem,ReqTRES"
    dump = c.run("sacct", "-j", ",".join(jobs), "--parsable2", "-o", fields).out
    got = report("--trace", "-", stdin=dump)
    assert got["jobs"] == 3
    assert got["runs"][0]["jobs_ended"] == 3


def test_our_own_journal(c):
    """The journal of a controller that runs is a trace too: each run of a job once."""
    jobs = [c.run("sbatch", "--parsable", f"-n{n}", "-t5", "-o", "/dev/null", "--wrap", "true").out.strip()
            for n in (1, 2)]
    wait_until(lambda: not c.run("squeue", "-h").out, "the queue is empty")
    before = c.run("scontrol", "show", "job", jobs[0]).out
    got = report("--journal", str(c.dir / "state"))
    assert got["jobs"] >= 2
    assert got["runs"][0]["jobs_ended"] == got["jobs"]
    assert c.run("scontrol", "show", "job", jobs[0]).out == before
    missing = sim("--journal", "/nonexistent")
    assert missing.returncode == 1 and "/nonexistent" in missing.stderr


def test_compare_and_files(tmp_path):
    html, svg = tmp_path / "r.html", tmp_path / "charts"
    args = ["-g", "lublin", "-j", "400", "-N", "8", "-c", "8", "-p", "easy,conservative,fifo"]
    got = report(*args, "--html", str(html), "--svg", str(svg))
    easy, conservative, fifo = got["runs"]
    assert [run["policy"] for run in got["runs"]] == ["easy", "conservative", "fifo"]
    assert conservative["wait_mean_s"] < fifo["wait_mean_s"]
    assert conservative["wait_mean_s"] != easy["wait_mean_s"]
    assert easy["wait_mean_s"] < fifo["wait_mean_s"]
    assert fifo["backfilled"] == 0 < easy["backfilled"]
    page = html.read_text()
    assert page.count("<svg") == 7 and "<script" not in page
    for name in ["utilisation", "queue", "waits", "slowdown", "nodes-easy", "nodes-conservative", "nodes-fifo"]:
        subprocess.run(["python3", "-c", "import sys,xml.dom.minidom as m; m.parse(sys.argv[1])", svg / f"{name}.svg"],
                       check=True)
    again = sim(*args, "--json")
    assert json.loads(again.stdout) == got
    other = report(*args, "--seed", "2")
    assert other != got


def test_compare_options():
    """Room for segments is kept by one of the two: less broken up, and large training waits less."""
    args = ["-g", "gpu", "-j", "4000", "-N", "576", "-c", "64", "-G", "4", "-B", "18", "--segment", "16", "-S", "SchedulerParameters=bf_window=2880"]
    slurm, kept = report(*args, "-p", "easy,easy+keep_segments=16+bf_max_job_test=400")["runs"]
    assert [slurm["policy"], kept["policy"]] == ["easy", "easy+keep_segments=16+bf_max_job_test=400"]
    assert kept["fragmentation_mean"] < slurm["fragmentation_mean"]
    alone = report(*args[:-2], "-p", "easy", "-S", "SchedulerParameters=bf_window=2880,keep_segments=16,bf_max_job_test=400")["runs"][0]
    assert {**alone, "policy": ""} == {**kept, "policy": ""}


def test_set_reaches_the_scheduler():
    """Large jobs first is another order, and so other waits."""
    args = ["-g", "lublin", "-j", "300", "-N", "4", "-c", "8", "-p", "conf", "-S", "SchedulerType=sched/builtin"]
    plain = report(*args)
    large = report(*args, "-S", "PriorityWeightJobSize=10000")
    wide = lambda got: got["runs"][0]["by_size"][-1]["wait_s"]["mean"]
    assert wide(large) < wide(plain)


@pytest.mark.parametrize("args, status, text", [
    ([], 2, "needs one of --trace, --journal, --generate and --from-live"),
    (["--generate", "heavy"], 2, "no such generator: heavy"),
    (["--trace", "/nonexistent"], 1, "/nonexistent: No such file"),
    (["-g", "gpu", "-p", "best"], 2, "no such policy: best"),
    (["-g", "gpu", "-p", "easy+keep_segments=many"], 1, "keep_segments"),
    (["-g", "gpu", "-p", "easy+keep_segmens=16"], 1, "keep_segments"),
    (["-g", "gpu", "-p", "easy+"], 2, "an option is missing behind +"),
    (["-g", "gpu", "-p", "eas+keep_segments=1"], 2, "no such policy: eas+keep_segments=1"),
    (["-g", "gpu", "-j", "0"], 2, "--jobs: 0 is not a number"),
    (["-g", "gpu", "-l", "-1"], 2, "--load: -1 is not a number above 0"),
    (["-g", "gpu", "-S", "PriorityWeightAge"], 2, "is not KEY=VALUE"),
    (["-g", "gpu", "-f", "x", "-N", "3"], 2, "--conf says what the nodes are"),
    (["-t", "-"], 1, "line 1: neither a job nor a comment"),
    (["-g", "gpu", "-S", "PriorityWeightAge=old"], 1, "PriorityWeightAge"),
])
def test_refused(args, status, text):
    out = sim(*args, stdin="rubbish\n")
    assert out.returncode == status
    assert text in out.stderr
    assert out.stdout == ""


def test_help_names_every_option():
    text = sim("--help").stdout
    for row in sim("--help-table").stdout.splitlines():
        assert "--" + row.split("\t")[0] in text


# ---- limits on a trace -----------------------------------------------------------------------------

LIMITED = "JobID|User|Account|QOS|Submit|Elapsed|Timelimit|ReqCPUS\n" + "".join(
    f"{i}|{'ann' if i % 2 else 'bob'}|{'chem' if i < 5 else 'bio'}|{'normal' if i < 7 else 'long'}|"
    f"2026-01-02T10:00:00|00:10:00|00:10:00|2\n" for i in range(1, 9))


@pytest.mark.parametrize("args,minutes", [
    ([], 10),
    (["--user", "ann:MaxJobs=1"], 20),          # her four jobs are two in each account
    (["--account", "chem:GrpJobs=1"], 40),
    (["--account", "chem:GrpTRES=cpu=4"], 20),
    (["--account", "root:GrpTRES=cpu=4"], 40),
    (["--qos", "normal:MaxJobsPU=1"], 30),
    (["--qos", "long:MaxTRESPU=cpu=1"], None),
    (["--qos", "normal:GrpJobs=1", "--qos", "long:GrpJobs=1"], 60),
])
def test_limits_on_a_trace(tmp_path, args, minutes):
    trace = tmp_path / "trace"
    trace.write_text(LIMITED)
    done = subprocess.run([*SIM, "-t", str(trace), "-N", "8", "-c", "8", "--json", *args],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    run, = json.loads(done.stdout)["runs"]
    if minutes is None:
        assert run["jobs_never_started"] == 2 and run["jobs_ended"] == 6
    else:
        assert run["jobs_ended"] == 8 and round(run["makespan_s"] / 60) == minutes


def test_limits_on_a_trace_mistakes(tmp_path):
    for args, text in ((["--qos", "nope:GrpJobs=1"], "no QOS nope"), (["--user", "eve:MaxJobs=1"], "no user eve"),
                       (["--drain", "n1"], "need --from-live")):
        done = subprocess.run([*SIM, "-g", "gpu", "-j", "10", *args], capture_output=True, text=True)
        assert done.returncode == 2 and text in done.stderr and done.stdout == ""


def test_blocks(tmp_path):
    """Options for machines in blocks, and what they refuse."""
    got = report("--trace", "-", "--nodes", "4", "--cpus", "4", "--blocks", "2", "--block-sizes", "2,4", stdin=SWF)
    assert [b["name"] for b in got["runs"][0]["by_block"]] == ["b1", "b2"]
    assert got["runs"][0]["fragmentation_max"] > 0
    page = tmp_path / "report.html"
    done = sim("--generate", "gpu", "--jobs", "300", "--nodes", "64", "--blocks", "8", "--segment", "4", "--html", str(page))
    assert done.returncode == 0 and "by segments" in done.stdout and "worst blocks" in done.stdout
    assert "Fragmentation of blocks" in page.read_text() and "<th>Segments</th>" in page.read_text()
    for args, say in [(("--blocks", "2", "--block-sizes", "2,x"), "--block-sizes: 2,x is no list of up to 16 sizes"),
                      (("--block-sizes", "2"), "sim: --block-sizes needs --blocks"),
                      (("--segment", "2"), "sim: --segment is for --generate=gpu")]:
        done = sim("--trace", "-", *args, stdin=SWF)
        assert done.returncode and say in done.stderr, (args, done.stderr)


BLOCK_CONF = """ClusterName=t
SlurmctldHost=h
TopologyPlugin=topology/block
NodeName=n[1-8] CPUs=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES
"""


def test_topology_files(tmp_path):
    """Topologies beside the slurm.conf that is simulated: those of slurmctld, with its sentences about mistakes."""
    conf, plain, yaml = (tmp_path / name for name in ("slurm.conf", "topology.conf", "topology.yaml"))
    args = ("--generate", "gpu", "--jobs", "50", "--conf", str(conf), "--segment", "2")
    conf.write_text(BLOCK_CONF)
    plain.write_text("BlockName=left Nodes=n[1,3,5,7]\nBlockName=right Nodes=n[2,4,6,8]\nBlockSizes=4\n")
    assert [b["name"] for b in report(*args)["runs"][0]["by_block"]] == ["left", "right"]
    yaml.write_text("- topology: racks\n  cluster_default: true\n  block:\n    block_sizes: [2]\n    blocks:\n" +
                    "".join(f"      - block: r{i}\n        nodes: n[{2 * i - 1}-{2 * i}]\n" for i in (1, 2, 3, 4)))
    assert [b["name"] for b in report(*args)["runs"][0]["by_block"]] == ["r1", "r2", "r3", "r4"]
    assert len(report(*args, "--blocks", "8")["runs"][0]["by_block"]) == 1, "--blocks counts before files"
    conf.write_text(BLOCK_CONF.replace("Default=YES", "Default=YES Topology=nosuch"))
    done = sim(*args)
    assert done.returncode == 1 and "partition main: there is no topology nosuch" in done.stderr
    conf.write_text(BLOCK_CONF)
    yaml.write_text("- topology: racks\n  blocck: 1\n")
    done = sim(*args)
    assert done.returncode == 1 and "topology.yaml:2" in done.stderr
