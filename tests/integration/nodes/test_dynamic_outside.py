"""Nodes that come and go, as a stranger examines them: slurmd -Z with a place in the topology, external nodes and their jobs."""

import re

from conftest import free_ports, wait_until
from exam import Exam, lab

NODES = "Requested node configuration is not available"
TOPO = "Requested topology configuration is not available"
TREE = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2\nSwitchName=root Switches=s[1-2]\n"
CONF = "MaxNodeCount=6\nTopologyPlugin=topology/tree\nNodeSet=fast Feature=fast\nNodeSet=two Nodes=n[1-2]"
PARTS = "PartitionName=debug Nodes=ALL Default=YES State=UP\nPartitionName=fp Nodes=fast\nPartitionName=tp Nodes=two,fast"


def site(make_cluster, conf=CONF, parts=PARTS):
    return Exam(lab(make_cluster, "n[1-2]", conf=conf, parts=parts, files={"topology.conf": TREE}))


def show(c, node, *keys):
    text = c.run("scontrol", "-o", "show", "node", node, check=False).out
    return {key: (re.findall(rf"(?:^| ){key}=(\S*)", text) or [None])[0] for key in keys}


def state(c, node):
    return show(c, node, "State")["State"]


def start(c, name, words):
    c.start_slurmd(name, "-Z", "--conf", f"{words} Port={free_ports(1)[0]}")


def test_a_node_brings_its_place_and_loses_it(make_cluster):
    e = site(make_cluster)
    c = e.c
    start(c, "d1", "CPUs=4 RealMemory=900 Feature=fast,x Topology=default:root:s2 Weight=7")
    wait_until(lambda: state(c, "d1") == "IDLE+DYNAMIC_NORM", "d1 is there")
    keys = ("State", "CPUTot", "RealMemory", "AvailableFeatures", "Weight", "Topology", "Partitions")
    e.same("all that it said", show(c, "d1", *keys),
           dict(zip(keys, ("IDLE+DYNAMIC_NORM", "4", "900", "fast,x", "7", "default:root:s2", "debug,fp,tp"))))
    e.same("its switch", e.ask("scontrol", "show", "topology", "unit=s2"), "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=d1\n")
    e.same("a job", e.nodes("-p", "fp", "-n4"), "d1")
    e.same("delete with a job", e.ask("scontrol", "delete", "nodename=d1"),
           "scontrol: error: failed to delete nodes d1\ndelete_node nodename=d1: Requested nodes are busy\n[1]")
    e.clear()
    e.same("the address", e.ask("srun", "-Q", "-p", "fp", "-n1", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"), "root.s2.d1\n")
    assert c.slurmds["d1"].stop() == 0
    start(c, "d1", "CPUs=2 RealMemory=800 Feature=slow")
    wait_until(lambda: show(c, "d1", "CPUTot", "State") == {"CPUTot": "2", "State": "IDLE+DYNAMIC_NORM"}, "d1 is another")
    e.same("all that it says now", show(c, "d1", *keys),
           dict(zip(keys, ("IDLE+DYNAMIC_NORM", "2", "800", "slow", "1", None, "debug"))))
    e.same("the set of nodes is empty", e.one("-p", "fp", "-n1"), "PartitionConfig")
    assert c.slurmds["d1"].stop() == 0
    start(c, "d1", "CPUs=2 RealMemory=800 Feature=fast Topology=default:root:s5")
    wait_until(lambda: show(c, "d1", "Topology")["Topology"] == "default:root:s5", "a switch is made for it")
    c.kill_ctld()
    c.start_ctld()
    wait_until(lambda: state(c, "d1") == "IDLE+DYNAMIC_NORM", "d1 is back")
    e.same("after a kill", show(c, "d1", "Topology")["Topology"], "default:root:s5")
    e.same("delete", e.ask("scontrol", "delete", "nodename=d1"), "")
    e.same("gone", e.ask("scontrol", "show", "node", "d1"), "Node d1 not found\n[1]")
    wait_until(lambda: not c.slurmds["d1"].alive(), "its slurmd ends")
    e.end()


def test_a_node_says_little_of_itself(make_cluster):  # look-5.3
    e = site(make_cluster, "MaxNodeCount=6", "PartitionName=debug Nodes=ALL Default=YES State=UP")
    c = e.c
    start(c, "dynz", "Feature=foo RealMemory=100")
    wait_until(lambda: state(c, "dynz") == "IDLE+DYNAMIC_NORM", "dynz is there")
    e.same("what it said, and where it is", show(c, "dynz", "AvailableFeatures", "RealMemory", "Partitions"),
           {"AvailableFeatures": "foo", "RealMemory": "100", "Partitions": "debug"})
    e.end()


def test_a_place_that_is_not_there(make_cluster):
    e = site(make_cluster)
    c = e.c
    start(c, "d2", "CPUs=2 RealMemory=800 Feature=fast Topology=default:zz:y")
    wait_until(lambda: state(c, "d2") == "IDLE+DYNAMIC_NORM", "d2 is there")
    e.has("why", e.ask("scontrol", "show", "node", "d2"), "Reason=Failed to set topology 'default:zz:y'")
    e.has("sinfo -R", e.ask("sinfo", "-R", "-h", "-o", "%E %N"), "Failed to set topology 'default:zz:y' d2\n")
    e.same("it is nowhere", show(c, "d2", "Topology")["Topology"], None)
    (c.conf.parent / "topology.conf").write_text(TREE + "SwitchName=zz Switches=y\nSwitchName=y\n")
    c.run("scontrol", "reconfigure")
    assert c.slurmds["d2"].stop() == 0
    start(c, "d2", "CPUs=2 RealMemory=800 Feature=fast Topology=default:zz:y")
    wait_until(lambda: show(c, "d2", "Topology")["Topology"] == "default:zz:y", "the switch is there now")
    wait_until(lambda: state(c, "d2") == "IDLE+DYNAMIC_NORM", "d2 is there")
    e.same("no reason is left", show(c, "d2", "Reason")["Reason"], None)
    e.end()


def test_an_operator_makes_nodes_with_a_place(make_cluster):
    e = site(make_cluster)
    c = e.c
    words = ("cpus=8", "realmemory=500", "state=external", "feature=fast")
    e.same("a place that is not there", e.ask("scontrol", "create", "nodename=x[1-2]", *words, "topology=default:nosuch"),
           f"Error creating node(s): {TOPO}\n[1]")
    e.same("nothing is made", e.ask("scontrol", "show", "node", "x1"), "Node x1 not found\n[1]")
    e.same("made", e.ask("scontrol", "create", "nodename=x[1-2]", *words, "topology=default:root:s2"), "")
    e.same("x1", show(c, "x1", "State", "CPUTot", "Topology", "Partitions"),
           {"State": "IDLE+DYNAMIC_NORM+EXTERNAL", "CPUTot": "8", "Topology": "default:root:s2", "Partitions": "debug,fp,tp"})
    e.same("its switch", e.ask("scontrol", "show", "topology", "unit=s2"), "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=x[1-2]\n")
    e.same("a full table", e.ask("scontrol", "create", "nodename=y[1-9]", "cpus=8", "state=cloud"),
           "scontrol: error: Unable to add node, node table is full (y3)\n"
           "Error creating node(s): Unable to add node, node table is full\n[1]")
    e.same("ordinary jobs do not see them", e.one("-p", "fp", "-N2"), NODES)
    job = c.run("sbatch", "--parsable", "--external", "-p", "fp", "-N2", "-n2", "-c4", "--mem=100").out.strip()
    c.wait_state(job, "RUNNING")
    e.same("an external job", c.job(job)["NodeList"], "x[1-2]")
    e.has("its CPUs", e.ask("scontrol", "-d", "show", "job", job), "Nodes=x[1-2] CPU_IDs=0-3 Mem=100")
    e.has("no step", e.ask("srun", f"--jobid={job}", "true"), "Requested operation not supported on this system")
    c.kill_ctld()
    c.start_ctld()
    e.same("after a kill", [c.state(job), state(c, "x1"), show(c, "x1", "Topology")["Topology"]],
           ["RUNNING", "MIXED+DYNAMIC_NORM+EXTERNAL", "default:root:s2"])
    e.same("down", e.ask("scontrol", "update", "nodename=x1", "state=down", "reason=pulled"), "")
    e.same("its job fails", c.wait_sacct(job, "NODE_FAIL"), ["NODE_FAIL", "0:1"])
    e.same("resume", e.ask("scontrol", "update", "nodename=x1", "state=resume"), "")
    e.same("delete", e.ask("scontrol", "delete", "nodename=x[1-2]"), "")
    e.same("its switch is empty", e.ask("scontrol", "show", "topology", "unit=s2"), "SwitchName=s2 Level=0 LinkSpeed=1\n")
    e.same("made anew", e.ask("scontrol", "create", "nodename=x1", "cpus=2", "realmemory=100", "state=external"), "")
    e.same("with other sizes", show(c, "x1", "State", "CPUTot", "RealMemory", "Topology"),
           {"State": "IDLE+DYNAMIC_NORM+EXTERNAL", "CPUTot": "2", "RealMemory": "100", "Topology": None})
    e.end()
