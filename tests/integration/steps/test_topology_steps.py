"""What a job sees of the topology: addresses of tasks, the order of tasks, names of units in lists of nodes."""
import pytest

TREE = """SwitchName=s1 Nodes=node[3-4]
SwitchName=s2 Nodes=node[1-2]
SwitchName=top Switches=s[1-2]
"""
SHOW = "echo $SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"


def test_steps_and_names(make_cluster):
    c = make_cluster(nodes=4, cpus=2, conf="TopologyPlugin=topology/tree", start=False)
    (c.conf.parent / "topology.conf").write_text(TREE)
    c.start()

    def tasks(*options):
        out = c.run("srun", "-l", *options, "bash", "-c", SHOW).out
        return [line.split(": ", 1)[1] for line in sorted(out.splitlines())]
    path = "switch.switch.node"
    # Tasks follow the order of the file's leaves: node3 and node4 come first.
    assert tasks("-N4") == [f"node3 top.s1.node3 {path}", f"node4 top.s1.node4 {path}",
                            f"node1 top.s2.node1 {path}", f"node2 top.s2.node2 {path}"]
    assert [line.split()[0] for line in tasks("-N4", "-n8")] == [f"node{i}" for i in (3, 3, 4, 4, 1, 1, 2, 2)]
    assert [line.split()[0] for line in tasks("-N4", "-m", "cyclic")] == [f"node{i}" for i in (1, 2, 3, 4)]
    job = c.sbatch("-w", "node2", "-o", "place.txt", wrap=SHOW)
    c.wait_end(job)
    assert (c.work / "place.txt").read_text() == f"node2 top.s2.node2 {path}\n"
    # Units in lists of nodes.
    assert [line.split()[0] for line in tasks("-w", "switch{s1}")] == ["node3", "node4"]
    assert [line.split()[0] for line in tasks("-w", "switchwith{node1}")] == ["node1", "node2"]
    assert [line.split()[0] for line in tasks("-N2", "-x", "switch{s2}")] == ["node3", "node4"]
    assert "Invalid node name specified" in c.refused("srun", "-w", "switch{s7}", "true")
    assert "Invalid node name specified" in c.refused("srun", "-w", "nothing{s1}", "true")
    c.run("scontrol", "update", "nodename=switch{s2}", "comment=x")
    assert [n for n in c.node_names if "Comment=x" in c.run("scontrol", "show", "node", n).out] == ["node1", "node2"]
    # A node that moves hears it at once.
    c.run("scontrol", "update", "nodename=node1", "topology=default:top:s1")
    assert tasks("-w", "node1") == [f"node1 top.s1.node1 {path}"]
    c.run("scontrol", "update", "nodename=node1", "topology=default:s2")
    # Without the ranks: the order of the nodes.
    c.write_conf(c.conf_text().replace("SelectTypeParameters=CR_Core_Memory",
                                       "SelectTypeParameters=CR_Core_Memory,CR_NO_DIST_TOPO_BLOCK"))
    c.run("scontrol", "reconfigure")
    assert [line.split()[0] for line in tasks("-N4")] == [f"node{i}" for i in (1, 2, 3, 4)]


BLOCKS = """BlockName=b1 Nodes=node[3-4]
BlockName=b2 Nodes=node[1-2]
BlockSizes=2
"""


@pytest.mark.parametrize("plugin, text, word", [("tree", TREE, "SwitchAsNodeRank"), ("block", BLOCKS, "blockasnoderank")],
                         ids=["tree", "block"])
def test_node_ranks(make_cluster, plugin, text, word):
    c = make_cluster(nodes=4, cpus=2, conf=f"TopologyPlugin=topology/{plugin}\nTopologyParam={word}", start=False)
    (c.conf.parent / "topology.conf").write_text(text)
    c.start()
    # The nodes of the file's first unit are the first of the cluster, whatever their names.
    out = c.run("srun", "-N4", "-m", "cyclic", "-l", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_JOB_NODELIST").out
    assert sorted(out.splitlines()) == [
        f"{rank}: {node} node[3-4,1-2]" for rank, node in enumerate(("node3", "node4", "node1", "node2"))]
    # A tree gives the first free node to a job of one; of equal blocks the last is taken.
    assert c.run("srun", "sh", "-c", "echo $SLURMD_NODENAME").out == ("node3\n" if plugin == "tree" else "node1\n")
    c.kill_ctld()  # the order is the log's
    c.start_ctld()
    job = c.sbatch("-N3", wrap="srun -m cyclic -l sh -c 'echo $SLURMD_NODENAME'")
    c.wait_end(job)
    assert c.job(job)["BatchHost"] == sorted(c.out(job).splitlines())[0].split()[1]
    assert "without effect" not in c.run("slurmctld", "--check").out


def test_natural_order_of_names(make_cluster):
    c = make_cluster(nodes=3, start=False)
    lines = c.conf_text().splitlines()
    nodes = [line for line in lines if line.startswith("NodeName=")]
    if len(nodes) > 1:
        c.write_conf("\n".join([line for line in lines if line not in nodes] + nodes[::-1]) + "\n")
    c.start()
    assert sorted(c.run("srun", "-N3", "-l", "sh", "-c", "echo $SLURMD_NODENAME").out.splitlines()) == [
        f"{i}: node{i + 1}" for i in range(3)]
