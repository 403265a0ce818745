"""Switches, rings and toruses as a stranger examines them: files from scratch, expected answers by hand."""

import json
import re
import time

from conftest import wait_until
from exam import Exam, lab

NODES = "Requested node configuration is not available"
TOPO = "Requested topology configuration is not available"
REFUSED = f"slurm_update error: {TOPO}\n[1]"
TREE = """SwitchName=s0 Nodes=node[01-04]
SwitchName=s1 Nodes=node[05-08]
SwitchName=s2 Nodes=node[09-12]
SwitchName=s3 Nodes=node[13-16]
SwitchName=s4 Switches=s[0-1]
SwitchName=s5 Switches=s[2-3]
SwitchName=s6 Switches=s[4-5]
"""
PARTS = "PartitionName=debug Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE\nPartitionName=cores Nodes=ALL State=UP"


def tree(make_cluster, conf="", options=None):
    return Exam(lab(make_cluster, "node[01-16]", conf=f"TopologyPlugin=topology/tree\n{conf}", parts=PARTS,
                    files={"topology.conf": TREE}, options=options))


def place_of(e, node):
    return (re.findall("Topology=(.*)", e.ask("scontrol", "show", "node", node)) or [None])[0]


def test_weights_come_before_switches(make_cluster):
    e = tree(make_cluster, options={name: "State=UNKNOWN Weight=10" for name in ("node01", "node02")})
    e.same("two light nodes of a leaf", e.one("-N2"), "node[03-04]")
    e.same("four light nodes", e.one("-N4"), "node[05-08]")
    e.same("one switch", e.one("-N3", "--switches=1"), "node[05-07]")
    e.same("all light nodes", e.one("-N14"), "node[03-16]")
    e.same("one heavy node", e.one("-N15"), "node[01,03-16]")
    e.end()


def test_seconds_of_a_wait_for_switches(make_cluster):
    e = tree(make_cluster)
    c = e.c
    e.hold("node02", "node06", "node10", "node14")
    began = time.monotonic()
    job = c.run("sbatch", "--parsable", "-N4", "--switches=1@0:02", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    e.has("two seconds, not a minute", e.ask("scontrol", "show", "job", job), "Switches=1@00:00:02\n")
    wait_until(lambda: c.state(job) == "RUNNING", "two seconds are over", 30)
    e.same("it has waited", time.monotonic() - began >= 1.5, True)
    e.clear()
    for word, shown in (("1@5", "00:05:00"), ("1@00:00:30", "00:00:30"), ("1@1:30", "00:01:30"), ("1@1-0", "00:05:00")):
        job = c.run("sbatch", "--parsable", "-H", "-N4", f"--switches={word}", "--wrap", "true").out.strip()
        e.has(word, e.ask("scontrol", "show", "job", job), f"Switches=1@{shown}\n")  # at most max_switch_wait
    e.same("an update", e.ask("scontrol", "update", f"jobid={job}", "switches=2@0:45"), "")
    e.has("of the wait", e.ask("scontrol", "show", "job", job), "Switches=2@00:00:45\n")
    e.end()


def test_a_node_moves_to_another_leaf(make_cluster):
    e = tree(make_cluster)
    c = e.c
    e.same("by its own word it is nowhere", place_of(e, "node05"), None)
    e.same("move", e.ask("scontrol", "update", "nodename=node05", "topology=default:s6:s5:s2"), "")
    e.same("its place", place_of(e, "node05"), "default:s6:s5:s2")
    e.same("five on one leaf", e.one("-N5", "--switches=1"), "node[05,09-12]")
    e.same("a new leaf", e.ask("scontrol", "update", "nodename=node05", "topology=default:s6:s9:s8"), "")
    e.has("it is there", e.ask("scontrol", "show", "topology", "unit=s8"), "SwitchName=s8 Level=0 LinkSpeed=0 Nodes=node05\n")
    for word in ("default:zz", "nosuch:s1", "default:s4", "default:s0:sx"):
        e.same(word, e.ask("scontrol", "update", "nodename=node05", f"topology={word}"), REFUSED)
    e.same("still there", place_of(e, "node05"), "default:s6:s9:s8")
    c.kill_ctld()
    c.start_ctld()
    e.same("after a kill", place_of(e, "node05"), "default:s6:s9:s8")
    e.same("out of all", e.ask("scontrol", "update", "nodename=node05", "topology="), "")
    e.same("no switch has it", e.ask("scontrol", "show", "topology", "node=node05"),
           "scontrol: error: Topology information contains no switch with nodes node05\n")
    e.same("all nodes are too many now", e.one("-N16"), NODES)
    e.end()


BAD = {
    "a name twice": ("SwitchName=a Nodes=node[01-08]\nSwitchName=a Nodes=node09\n", ":2: switch a is defined already in line 1"),
    "nodes and switches": ("SwitchName=a Nodes=node[01-08] Switches=b\n", "Nodes or Switches, not both"),
    "a loop": ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "the switches form no tree"),
    "itself": ("SwitchName=a Switches=a\n", "has itself below it"),
    "an unknown child": ("SwitchName=a Switches=zz\n", "there is no switch zz"),
    "a speed": ("SwitchName=a Nodes=node01 LinkSpeed=x\n", "LinkSpeed=x is not a number"),
    "a long name": (f"SwitchName={'a' * 65} Nodes=node01\n", "is no name"),
    "22 levels": ("".join(f"SwitchName=a{i} Switches=a{i + 1}\n" for i in range(22)) + "SwitchName=a22 Nodes=node01\n",
                  "more than 20 levels"),
}


def test_bad_files_and_a_network_in_two_parts(make_cluster):
    e = tree(make_cluster)
    before = e.ask("scontrol", "show", "topology")
    file = e.c.conf.parent / "topology.conf"
    for what, (text, sentence) in BAD.items():
        file.write_text(text)
        e.has(what, e.ask("scontrol", "reconfigure"), sentence)
        e.same(f"{what}: the topology", e.ask("scontrol", "show", "topology"), before)
    file.write_text("SwitchName=a Nodes=node[01-08]\nSwitchName=b Nodes=node[09-16]\n")
    e.same("two parts", e.ask("scontrol", "reconfigure"), "")
    e.same("nine reach nobody", e.one("-N9"), NODES)
    e.same("eight: the last of equal tops", e.one("-N8"), "node[09-16]")
    e.same("two parts by name", e.one("-N2", "-w", "node01,node09"), TOPO)
    text = e.c.conf.read_text()
    e.c.write_conf(text.replace("TopologyPlugin=topology/tree", "TopologyPlugin=topology/tree\nTopologyParam=TopoOptional"))
    e.same("optional", e.ask("scontrol", "reconfigure"), "")
    e.same("nine are flat then", e.one("-N9"), "node[01-09]")
    e.same("but for switches", e.one("-N9", "--switches=1"), NODES)
    e.end()


def test_dragonfly_and_the_longest_wait(make_cluster):
    text = "SwitchName=s1 Nodes=n[01-04]\nSwitchName=s2 Nodes=n[05-08]\nSwitchName=s3 Nodes=n[09-12]\nSwitchName=r Switches=s[1-3]\n"
    e = Exam(lab(make_cluster, "n[01-12]", parts=PARTS, files={"topology.conf": text},
                 conf="TopologyPlugin=topology/tree\nTopologyParam=Dragonfly\nSchedulerParameters=max_switch_wait=2"))
    e.same("one leaf", e.one("-N4"), "n[01-04]")
    e.same("spread", e.one("-N6"), "n[01-02,05-06,09-10]")
    e.same("two switches mean nothing", e.one("-N5", "--switches=2"), "n[01-02,05-06,09]")
    job = e.c.run("sbatch", "--parsable", "-N5", "--switches=1@5:00", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    e.has("at most two seconds", e.ask("scontrol", "show", "job", job), "Switches=1@00:00:02\n")
    e.same("it starts", wait_until(lambda: e.c.job(job).get("JobState") == "RUNNING" and e.c.job(job)["NodeList"], "two seconds",
                                   30), "n[01-02,05-06,09]")
    e.end()


def test_ranks_follow_switches(make_cluster):
    text = "SwitchName=s1 Nodes=n[09-12]\nSwitchName=s2 Nodes=n[05-08]\nSwitchName=s3 Nodes=n[01-04]\nSwitchName=r Switches=s[1-3]\n"
    e = Exam(lab(make_cluster, "n[01-12]", parts=PARTS, files={"topology.conf": text},
                 conf="TopologyPlugin=topology/tree\nTopologyParam=SwitchAsNodeRank"))
    lines = e.ask("srun", "-Q", "-N5", "-p", "cores", "-l", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_JOB_NODELIST").splitlines()
    e.same("tasks", [line.split()[1] for line in sorted(lines)], ["n09", "n10", "n11", "n12", "n05"])
    e.has("the list", lines[0], "n[09-12,05]")
    e.end()


# ---- topology.yaml ---------------------------------------------------------------------------------------------------------

YAML = """- topology: T
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: leaf[1-4]
      - {switch: leaf1, nodes: "n[01-04]"}
      - {switch: leaf2, nodes: "n[05-08]"}
      - {switch: leaf3, nodes: "n[09-12]"}
      - {switch: leaf4, nodes: "n[13-16]"}
- topology: B
  block:
    block_sizes: [4, 8, 16]
    blocks:
      - {block: b1, nodes: "n[01-04]"}
      - {block: b2, nodes: "n[05-08]"}
      - {block: b3, nodes: "n[09-12]"}
      - {block: b4, nodes: "n[13-16]"}
- topology: F
  flat: true
- topology: R
  ring:
    rings:
      - {ring: r0, nodes: "n[01-08]"}
      - {ring: r1, nodes: "n[09-16]"}
- topology: X
  torus3d:
    toruses:
      - name: pod1
        dims: {x: 4, y: 2, z: 2}
        nodes: n[01-16]
        placements:
          - dims: {x: 2, y: 2, z: 1}
          - dims: {x: 2, y: 2, z: 2}
          - dims: {x: 4, y: 2, z: 2}
"""
YAML_PARTS = "\n".join(["PartitionName=t Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE",
                        *(f"PartitionName={name.lower()} Nodes=ALL State=UP OverSubscribe=EXCLUSIVE Topology={name}" for name in "BFRX"),
                        "PartitionName=rt Nodes=ALL State=UP Topology=R Exclusive=TOPO"])


def several(make_cluster):
    return Exam(lab(make_cluster, "n[01-16]", parts=YAML_PARTS,
                    files={"topology.yaml": YAML, "topology.conf": "SwitchName=junk Nodes=n01\n"}))


def test_partitions_have_topologies_of_their_own(make_cluster):
    e = several(make_cluster)
    e.same("the default", e.ask("scontrol", "show", "topology").splitlines()[0],
           "SwitchName=root Level=1 LinkSpeed=0 Nodes=n[01-16] Switches=leaf[1-4]")
    e.same("tree", e.one("-N2"), "n[01-02]")
    e.same("block", e.one("-N2", "-p", "b"), "n[13-14]")
    e.same("the first of two", e.one("-N2", "-p", "b,t"), "n[13-14]")
    e.same("the first cannot", e.one("-N3", "-p", "x,t"), "n[01-03]")
    e.same("update", e.ask("scontrol", "update", "partitionname=t", "topology=B"), "")
    e.has("shown", e.ask("scontrol", "show", "partition", "t"), "Topology=B")
    e.same("as block", e.one("-N2"), "n[13-14]")
    e.same("unknown", e.ask("scontrol", "update", "partitionname=t", "topology=NOPE"), REFUSED)
    e.same("empty", e.ask("scontrol", "update", "partitionname=t", "topology="), "")
    e.same("as tree", e.one("-N2"), "n[01-02]")
    e.same("a new one, unknown", e.ask("scontrol", "create", "partitionname=zz", "nodes=ALL", "topology=NOPE"),
           f"Error creating the partition: {TOPO}\n[1]")
    e.same("a new one", e.ask("scontrol", "create", "partitionname=zz", "nodes=ALL", "topology=R", "oversubscribe=exclusive"), "")
    e.same("in a ring", e.one("-p", "zz", "-N3"), "n[01-03]")
    e.same("JSON", json.loads(e.c.run("scontrol", "show", "partition", "b", "--json").out)["partitions"][0]["topology"], "B")
    for name in "BFRX":
        (e.c.conf.parent / "topology.yaml").write_text(YAML.replace(f"topology: {name}", f"topology: {name}2"))
        e.has(f"{name} is gone", e.ask("scontrol", "reconfigure"), f"there is no topology {name}")
    e.end()


def test_rings_wrap_and_do_not_join(make_cluster):
    e = several(make_cluster)
    e.same("nine nodes", e.one("-N9", "-p", "r"), NODES)
    e.same("three segments, two rings", e.one("-N12", "-p", "r", "--segment=4"), NODES)
    e.same("two segments", e.one("-N8", "-p", "r", "--segment=4"), "n[01-04,09-12]")
    e.same("-w as a filter", e.one("-N2", "-p", "r", "-w", "n[03-05]"), "n[03-04]")
    e.same("-w of fewer nodes", e.one("-N3", "-p", "r", "-w", "n03"), TOPO)
    e.same("-x", e.one("-N4", "-p", "r", "-x", "n03"), "n[04-07]")
    e.hold("n03", "n04", "n05", "n06")
    e.same("over the end", e.nodes("-N4", "-p", "r"), "n[01-02,07-08]")
    e.clear()
    e.same("a whole ring for one", e.nodes("-N2", "-p", "rt", "-n2"), "n[01-02]")
    e.same("others go to the next", e.nodes("-N1", "-p", "r"), "n09")
    e.end()


def test_torus_placements(make_cluster):
    e = several(make_cluster)
    e.same("four", e.nodes("-N4", "-p", "x"), "n[01-02,05-06]")
    e.same("the other half of the broken eight", e.nodes("-N4", "-p", "x"), "n[09-10,13-14]")
    e.same("eight", e.nodes("-N8", "-p", "x"), "n[03-04,07-08,11-12,15-16]")
    e.clear()
    e.same("three", e.one("-N3", "-p", "x"), TOPO)
    e.same("segments", e.one("-N8", "-p", "x", "--segment=4"), "n[01-02,05-06,09-10,13-14]")
    e.same("segments of no shape", e.one("-N6", "-p", "x", "--segment=3"), TOPO)
    e.same("-w", e.one("-N4", "-p", "x", "-w", "n04"), "n[03-04,07-08]")
    e.same("a range", e.one("-N4-8", "-p", "x"), "n[01-02,05-06]")
    e.same("all", e.one("-N16", "-p", "x"), "n[01-16]")
    e.end()


def test_nodes_move_in_rings_and_toruses(make_cluster):
    e = several(make_cluster)
    e.same("to the front", e.ask("scontrol", "update", "nodename=n16", "topology=T:root:leaf4,R:r0:0"), "")
    e.same("the rings", e.ask("scontrol", "show", "topology", "R"),
           "RingName=r0 Nodes=n[16,01-08] RingSize=9\nRingName=r1 Nodes=n[09-15] RingSize=7\n")
    e.same("its word", place_of(e, "n16"), "T:root:leaf4,R:r0:0")
    e.same("it left the others", e.ask("scontrol", "show", "topology", "B", "node=n16"),
           "scontrol: error: Topology information contains no block with nodes n16\n")
    e.same("beyond the end counts as 0", e.ask("scontrol", "update", "nodename=n15", "topology=R:r0:15"), "")
    e.has("at 0", e.ask("scontrol", "show", "topology", "R"), "RingName=r0 Nodes=n[15-16,01-08] RingSize=10\n")
    for word in ("R:r0:16", "R:r9:1", "X:pod1:0:0:0", "X:pod1:9:0:0", "F:x"):
        e.same(word, e.ask("scontrol", "update", "nodename=n15", f"topology={word}"), REFUSED)
    e.same("a new ring", e.ask("scontrol", "update", "nodename=n15", "topology=R:r9:0"), "")
    e.same("a free cell", e.ask("scontrol", "update", "nodename=n15", "topology=X:pod1:2:1:1"), "")
    e.same("reconfigure", e.ask("scontrol", "reconfigure"), "")
    e.same("it stays", place_of(e, "n15"), "X:pod1:2:1:1")
    e.end()
