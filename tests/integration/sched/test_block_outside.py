"""Blocks as a stranger examines them: topology.conf from scratch, odd combinations of options, expected answers by hand."""

import json

from conftest import wait_until
from exam import Exam, lab

NODES = "Requested node configuration is not available"
TOPO = "Requested topology configuration is not available"
BLOCKS = """BlockName=b1 Nodes=node[01-04]
BlockName=b2 Nodes=node[05-08]
BlockName=b3 Nodes=node[09-12]
BlockName=b4 Nodes=node[13-16]
BlockSizes=4,8
"""
PARTS = """PartitionName=debug Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE
PartitionName=cores Nodes=ALL State=UP
PartitionName=topo Nodes=ALL State=UP Exclusive=TOPO
PartitionName=high Nodes=ALL State=UP OverSubscribe=EXCLUSIVE PriorityTier=10"""


def blocks(make_cluster, conf="", files=None):
    return Exam(lab(make_cluster, "node[01-16]", conf=f"TopologyPlugin=topology/block\n{conf}", parts=PARTS,
                    files=files or {"topology.conf": BLOCKS}))


def test_segments_meet_lists_and_ranges(make_cluster):
    e = blocks(make_cluster)
    e.same("segment and -x", e.one("-N6", "--segment=3", "-x", "node[13-14]"), "node[05-07,09-11]")
    e.same("-x in the best block", e.one("-N4", "-x", "node16"), "node[09-12]")
    e.same("-w as a filter", e.one("-N6", "--segment=3", "-w", "node[01-04,09-12]"), "node[01-03,09-11]")
    e.same("-w is shorter than the job", e.one("-N6", "--segment=3", "-w", "node[01-03]"), TOPO)
    e.same("a range takes its least", e.one("-N5-8"), "node[09,13-16]")
    e.same("the variable", e.one("-N6", env={"SBATCH_SEGMENT_SIZE": "3"}), "node[09-11,13-15]")
    e.same("the variable does not divide", e.one("-N6", env={"SBATCH_SEGMENT_SIZE": "4"}),
           "node count must be evenly divisible by segment size")
    e.same("spread and -x of a block", e.one("-N6", "--segment=2", "--spread-segments", "-x", "node[09-12]"),
           "node[01-02,05-06,13-14]")
    e.same("spread and consolidated", e.one("-N4", "--segment=2", "--spread-segments", "--consolidate-segments"),
           "node[09-10,13-14]")
    e.same("-w of two blocks", e.one("-N2", "-w", "node01,node05"), NODES)
    e.same("-w and a neighbour", e.one("-N2", "-w", "node06"), "node[05-06]")
    e.same("-w chooses the larger block", e.one("-N8", "-w", "node01"), "node[01-08]")
    e.same("-w is filled first", e.one("-N5", "-w", "node12"), "node[09-13]")
    e.end()


def test_functions_name_units_everywhere(make_cluster):
    e = blocks(make_cluster)
    e.same("hostnames", e.ask("scontrol", "show", "hostnames", "block{b2}"), "node05\nnode06\nnode07\nnode08\n")
    e.same("hostlist", e.ask("scontrol", "show", "hostlist", "block{b[1-2]},x"), "node[01-08],x\n")
    e.same("hostlistsorted", e.ask("scontrol", "show", "hostlistsorted", "block{b2},node01"), "node[01,05-08]\n")
    e.same("the unit of a node", e.ask("scontrol", "show", "hostlist", "blockwith{node10}"), "node[09-12]\n")
    e.same("a unit that is not there", e.ask("scontrol", "show", "hostnames", "block{zz}"),
           "block{zz}\nscontrol: error: hostlist_create_client: controller failed to expand hostlist function\n")
    e.same("-w", e.one("-N2", "-w", "block{b2}"), "node[05-06]")
    e.same("-x", e.one("-N2", "-x", "block{b[3-4]}"), "node[05-06]")
    e.same("-w of a node's unit", e.one("-N2", "-w", "blockwith{node03}"), "node[01-02]")
    e.same("drain", e.ask("scontrol", "update", "nodename=block{b4}", "state=drain", "reason=x"), "")
    e.same("around a drained block", e.one("-N4"), "node[09-12]")
    e.same("nine around it", e.one("-N9"), "node[01,05-12]")
    e.same("resume", e.ask("scontrol", "update", "nodename=block{b4}", "state=resume"), "")
    e.same("cut lines", e.ask("scontrol", "show", "topology", "unit=b1", env={"SLURM_TOPO_LEN": "20"}), "BlockName=b1 BlockIn\n")
    e.same("both words", e.ask("scontrol", "show", "topology", "unit=b1", "node=node05"),
           "scontrol: error: Topology information contains no block named b1 with nodes node05\n")
    e.end()


def test_reservation_of_a_block(make_cluster):
    e = blocks(make_cluster)
    e.same("made", e.ask("scontrol", "create", "reservation", "reservationname=rb", "nodes=block{b4}", "starttime=now",
                         "duration=60", "users=root"), "Reservation created: rb\n")
    e.has("its nodes", e.ask("scontrol", "-o", "show", "reservation", "rb"), "Nodes=node[13-16]")
    e.same("inside", e.one("-N4", "--reservation=rb"), "node[13-16]")
    e.same("inside, in segments", e.one("-N4", "--segment=2", "--reservation=rb"), "node[13-16]")
    e.same("outside", e.one("-N4"), "node[09-12]")
    e.same("outside, two blocks", e.one("-N8"), "node[01-08]")
    e.ask("scontrol", "delete", "reservationname=rb")
    e.end()


def test_exclusive_topo_closes_blocks(make_cluster):
    e = blocks(make_cluster)
    job = e.c.run("sbatch", "--parsable", "-N2", "--exclusive=topo", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    e.same("the job", e.placed(job), "node[13-14]")
    e.same("one core elsewhere", e.nodes("-N1", "-p", "cores"), "node01")
    five = e.c.run("sbatch", "--parsable", "-N5", "--exclusive=topo", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    e.same("the closed blocks leave no pair", e.placed(five), "No suitable topology unit found")
    e.c.run("scancel", five)
    e.same("a block elsewhere", e.nodes("-N4"), "node[09-12]")
    e.same("the last free block", e.nodes("-N2", "--exclusive=topo"), "node[05-06]")
    shown = json.loads(e.c.run("scontrol", "show", "job", job, "--json").out)["jobs"][0]
    e.same("JSON", shown["shared"], ["topo"])
    e.has("text", e.ask("scontrol", "show", "job", job), "Exclusive=TOPO")
    e.clear()
    e.same("of the partition", e.nodes("-N1", "-n1", "-p", "topo"), "node01")
    e.same("a core beside it", e.nodes("-N1", "-p", "cores"), "node05")
    e.end()


def test_a_higher_tier_takes_whole_units(make_cluster):
    e = blocks(make_cluster, "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nSchedulerParameters=requeue_delay=600")
    for _ in range(4):
        e.nodes("-N4")
    e.same("a block", e.nodes("-N4", "-p", "high"), "node[13-16]")
    e.same("an aligned pair", e.nodes("-N8", "-p", "high"), "node[01-08]")
    e.same("who runs on", e.c.run("squeue", "-h", "-p", "debug", "-t", "R", "-o", "%N").out, "node[09-12]\n")
    e.end()


def test_segments_of_het_jobs_and_arrays(make_cluster):
    e = blocks(make_cluster)
    c = e.c
    job = c.run("sbatch", "--parsable", "-o", "h.out", "-N4", "--segment=2", "--spread-segments", ":", "-N3", "--segment=3",
                "--wrap", "env | grep SEGMENT | sort").out.strip()
    wait_until(lambda: c.state(job) == "COMPLETED", "the het job")
    e.same("variables", (c.work / "h.out").read_text().split(),
           ["SLURM_JOB_SEGMENT_SIZE=2", "SLURM_JOB_SEGMENT_SIZE_HET_GROUP_0=2", "SLURM_JOB_SEGMENT_SIZE_HET_GROUP_1=3",
            "SLURM_JOB_SEGMENT_SIZE_PACK_GROUP_0=2", "SLURM_JOB_SEGMENT_SIZE_PACK_GROUP_1=3"])
    e.same("sacct", c.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "JobID,SegmentSize,NodeList").out.split(),
           [f"{job}+0|2|node[09-10,13-14]", f"{job}+1|3|node[05-07]"])
    job = c.run("sbatch", "--parsable", "-a", "1-3", "-N4", "--segment=2", "-o", "a%a.out", "--wrap",
                "env | grep SEGMENT; sleep 300").out.strip()
    wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-j", job, "-o", "%N").out.count("\n") == 3, "three tasks")
    e.same("tasks", sorted(c.run("squeue", "-h", "-j", job, "-o", "%N").out.split()),
           ["node[05-08]", "node[09-12]", "node[13-16]"])
    wait_until(lambda: (c.work / "a1.out").exists() and (c.work / "a1.out").read_text().endswith("\n"), "its output")
    e.same("a task's variable", (c.work / "a1.out").read_text(), "SLURM_JOB_SEGMENT_SIZE=2\n")
    e.end()


def test_the_size_of_segments_afterwards(make_cluster):
    e = blocks(make_cluster)
    c = e.c
    job = c.run("sbatch", "--parsable", "-N4", "--segment=2", "-o", "/dev/null", "--wrap", "true").out.strip()
    c.wait_sacct(job, "COMPLETED")
    e.same("sacct", c.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "SegmentSize,NodeList").out, "2|node[13-16]\n")
    e.same("sacct --json", json.loads(c.run("sacct", "-j", job, "--json").out)["jobs"][0]["segment_size"], 2)
    e.same("show job --json", json.loads(c.run("scontrol", "show", "job", job, "--json").out)["jobs"][0]["segment_size"], 2)
    e.end()


def test_waiting_segments_survive_a_killed_controller(make_cluster):
    e = blocks(make_cluster)
    c = e.c
    e.hold("node16", "node12")
    spread = c.run("sbatch", "--parsable", "-H", "-N6", "--segment=2", "--spread-segments", "-o", "/dev/null", "--wrap",
                   "sleep 300").out.strip()
    together = c.run("sbatch", "--parsable", "-H", "-N8", "--segment=4", "--consolidate-segments", "-o", "/dev/null",
                     "--wrap", "sleep 300").out.strip()
    c.kill_ctld()
    c.start_ctld()
    wait_until(lambda: "NOT_RESPONDING" not in c.run("scontrol", "show", "node").out and
               c.logs("slurmctld").count("registered from") >= 16, "the nodes are back")
    c.run("scontrol", "release", spread)
    e.same("spread", e.placed(spread), "node[05-06,09-10,13-14]")
    c.run("scontrol", "release", together)
    e.same("consolidated", e.placed(together), "No suitable topology unit found for segment")
    e.end()


def test_a_new_file_places_waiting_jobs(make_cluster):
    e = blocks(make_cluster)
    c = e.c
    e.hold("node01", "node05", "node09", "node13")
    job = c.run("sbatch", "--parsable", "-N4", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    e.same("waits", e.placed(job), "No suitable topology unit found")
    (c.conf.parent / "topology.conf").write_text("BlockName=x1 Nodes=node[01-08]\nBlockName=x2 Nodes=node[09-16]\nBlockSizes=8\n")
    c.run("scontrol", "reconfigure")
    e.same("starts", e.placed(job), "node[10-12,14]")
    e.end()


BAD = {
    "a name twice": ("BlockName=x1 Nodes=node[01-08]\nBlockName=x1 Nodes=node[09-16]\n", ":2: block x1 is defined already in line 1"),
    "a size that is no power": ("BlockName=x1 Nodes=node[01-08]\nBlockSizes=8,24\n", "Invalid BlockSizes value: 24 is not 8 times"),
    "size 0": ("BlockName=x1 Nodes=node[01-08]\nBlockSizes=0\n", 'Invalid BlockSizes value: "0"'),
    "no block": ("BlockSizes=8\n", "topology default has no block"),
    "a switch": ("BlockName=x1 Nodes=node[01-08]\nSwitchName=s\n", "SwitchName is for TopologyPlugin=topology/tree"),
    "an open bracket": ("BlockName=x1 Nodes=node[01-\n", ":1: Nodes: unbalanced bracket"),
    "an unknown key": ("Foo=1\n", ":1: unknown key Foo"),
    "nothing": ("", "topology default has no block"),
}


def test_bad_files_change_nothing(make_cluster):
    e = blocks(make_cluster)
    before = e.ask("scontrol", "show", "topology")
    for what, (text, sentence) in BAD.items():
        (e.c.conf.parent / "topology.conf").write_text(text)
        answer = e.ask("scontrol", "reconfigure")
        e.has(what, answer, sentence)
        e.has(what, answer, "[1]")
        e.same(f"{what}: the topology", e.ask("scontrol", "show", "topology"), before)
    e.end()


def test_a_gap_keeps_pairs_aligned(make_cluster):
    gap = BLOCKS.replace("BlockName=b2 Nodes=node[05-08]", "BlockName=b2").replace("node[13-16]", "node[13-19]")
    e = blocks(make_cluster, files={"topology.conf": gap})  # node17 to 19 are not there
    e.has("the gap", e.ask("scontrol", "show", "topology"), "BlockName=b2 BlockIndex=1 BlockSize=4\n")
    e.has("its pair", e.ask("scontrol", "show", "topology"),
          "AggregatedBlock=b[1-2] BlockIndex=4 Nodes=node[01-04] BlockSize=8\n")
    e.same("eight", e.one("-N8"), "node[09-16]")
    e.same("a node of no block", e.one("-N1", "-w", "node05"), NODES)
    e.same("more than blocks have", e.one("-N13"), NODES)
    e.end()


def test_a_node_that_vanishes(make_cluster):
    e = blocks(make_cluster)
    e.same("down", e.ask("scontrol", "update", "nodename=node13", "state=down", "reason=gone"), "")
    e.same("four", e.one("-N4"), "node[09-12]")
    e.same("three fit tightest", e.one("-N3"), "node[14-16]")
    e.same("eight", e.one("-N8"), "node[01-08]")
    e.same("all", e.one("-N16"), "ReqNodeNotAvail, UnavailableNodes:node13")
    e.same("back", e.ask("scontrol", "update", "nodename=node13", "state=resume"), "")
    e.same("four again", e.one("-N4"), "node[13-16]")
    e.end()


REVERSED = "BlockName=b1 Nodes=n[09-12]\nBlockName=b2 Nodes=n[05-08]\nBlockName=b3 Nodes=n[01-04]\nBlockSizes=4\n"


def order_of(e, *options):
    lines = e.ask("srun", "-Q", "-p", "cores", "-l", *options, "sh", "-c", "echo $SLURMD_NODENAME").splitlines()
    return [line.split()[1] for line in sorted(lines)]


def test_ranks_follow_blocks(make_cluster):
    e = Exam(lab(make_cluster, "n[01-12]", conf="TopologyPlugin=topology/block\nTopologyParam=BlockAsNodeRank", parts=PARTS,
                 files={"topology.conf": REVERSED}))
    e.same("the first node", e.one("-N1"), "n09")
    e.same("a block", e.one("-N4"), "n[01-04]")
    e.same("tasks", order_of(e, "-N5"), ["n05", "n01", "n02", "n03", "n04"])
    e.end()


def test_a_range_unrolled(make_cluster):
    e = Exam(lab(make_cluster, "n[01-12]", conf="TopologyPlugin=topology/block\nTopologyParam=TopoMaxSizeUnroll=4", parts=PARTS,
                 files={"topology.conf": REVERSED}))
    e.same("the largest", e.one("-N2-4"), "n[01-04]")
    e.same("over blocks", e.one("-N2-5"), "n[01-05]")
    e.hold("n01", "n05", "n09")
    e.same("the largest that is free", e.nodes("-N2-4"), "n[02-04]")
    e.clear()
    e.has("too wide", e.ask("sbatch", "-N2-6", "--wrap", "true"), "Node count specification invalid")
    e.has("as wide as can be", e.ask("sbatch", "-H", "-N3-6", "--wrap", "true"), "Submitted")
    e.end()
