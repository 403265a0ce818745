"""Nodes that operators make and delete while the controller runs: answers, partitions, restarts, ids."""

import pytest

CLUSTER = {"nodes": 2, "conf": "MaxNodeCount=8\nMinJobAge=300\nGresTypes=gpu\nNodeSet=fast Feature=fast\n"
                               "NodeSet=some Nodes=d[1-2],node1\nPartitionName=fastp Nodes=fast\nPartitionName=somep Nodes=some"}


def state_of(c, node):
    for word in c.run("scontrol", "-F", "show", "node", node).out.split():
        if word.startswith("State="):
            return word[len("State="):]
    return ""


def nodes_of(c, part):
    for word in c.run("scontrol", "show", "partition", part).out.split():
        if word.startswith("Nodes="):
            return word[len("Nodes="):]
    return ""


def refused(c, words, err):
    got = c.run("scontrol", *words, check=False)
    assert (got.rc, got.err) == (1, err), (words, got.rc, got.out, got.err)


def forget(c, names):
    c.run("scontrol", "delete", f"nodename={names}")


@pytest.fixture(autouse=True)
def clean(c):
    yield
    made = [n for n in c.run("sinfo", "-h", "-N", "-F", "-p", "main", "-o", "%N").out.split() if not n.startswith("node")]
    if made:
        forget(c, ",".join(made))


def test_made_shown_deleted(c):
    c.run("scontrol", "create", "nodename=dyn1", "cpus=2", "realmemory=1000", "state=future")
    assert c.run("scontrol", "show", "node", "dyn1", check=False).out == "Node dyn1 not found\n"
    assert state_of(c, "dyn1") == "FUTURE+DYNAMIC_NORM"
    c.run("scontrol", "create", "nodename=dyn[3-5]", "cpus=2", "realmemory=1000", "state=external", "feature=fast")
    assert state_of(c, "dyn3") == "IDLE+DYNAMIC_NORM+EXTERNAL"
    assert nodes_of(c, "main") == "node[1-2],dyn[1,3-5]"
    assert nodes_of(c, "fastp") == "dyn[3-5]"
    assert c.run("sinfo", "-h", "-N", "-n", "dyn[1-5]", "-p", "main", "-o", "%N %t %T").out == \
        "dyn3 idle idle\ndyn4 idle idle\ndyn5 idle idle\n"
    c.run("scontrol", "update", "nodename=dyn4", "availablefeatures=slow", "activefeatures=slow")
    assert nodes_of(c, "fastp") == "dyn[3,5]"
    forget(c, "dyn3")
    forget(c, "dyn[4-5]")
    assert nodes_of(c, "fastp") == "(null)"
    forget(c, "dyn1")
    assert nodes_of(c, "main") == "node[1-2]"


def test_node_sets_by_name(c):
    assert nodes_of(c, "somep") == "node1"
    c.run("scontrol", "create", "nodename=d[1-2]", "cpus=2", "state=external")
    assert nodes_of(c, "somep") == "node1,d[1-2]"
    c.run("scontrol", "create", "partitionname=later", "nodes=some")
    forget(c, "d2")
    assert nodes_of(c, "later") == "node1,d1"
    forget(c, "d1")
    c.run("scontrol", "delete", "partitionname=later")


def test_refusals(c):
    only = "Only State=FUTURE, CLOUD, or EXTERNAL allowed for nodes created by scontrol"
    for words in (["nodename=x1", "state=dynamic"], ["nodename=x1"], ["nodename=x1", "cpus=2", "state=idle"]):
        refused(c, ["create", *words],
                f"scontrol: error: {only}\nError creating node(s): Invalid node state specified\n")
    for words in (["nodename=x1", "cpus=2", "nosuch=2", "state=cloud"], ["node=x1", "cpus=2", "state=cloud"], ["node"],
                  ["nodename=x1", "cpus=2", "gres=nosuch:2", "state=external"],
                  ["nodename=x$y", "cpus=2", "state=external"], ["nodename=" + "a" * 64, "state=external"]):
        refused(c, ["create", *words], f"scontrol: error: Failed to parse nodeline '{' '.join(words)}'\n"
                                       "Error creating node(s): Unspecified error\n")
    refused(c, ["create", "nodename=node1", "cpus=2", "state=cloud"],
            "scontrol: error: Node already exists in the node table (node1)\n"
            "Error creating node(s): Node already exists in the node table\n")
    refused(c, ["create", "nodename=x[1-9]", "cpus=2", "state=external"],
            "scontrol: error: Unable to add node, node table is full (x7)\n"
            "Error creating node(s): Unable to add node, node table is full\n")
    assert "x1" not in c.run("sinfo", "-h", "-N", "-F").out  # all or none
    refused(c, ["delete", "nodename=node1"], "scontrol: error: failed to delete nodes node1\n"
                                          "delete_node nodename=node1: Invalid node state specified\n")
    refused(c, ["delete", "nodename=x9"], "scontrol: error: failed to delete nodes x9\n"
                                          "delete_node nodename=x9: Invalid node name specified\n")
    refused(c, ["delete", "nodename="], "delete_node nodename=: Invalid node name specified\n")


def test_kept_while_reserved(c):
    c.run("scontrol", "create", "nodename=r[1-2]", "cpus=2", "state=external")
    c.run("scontrol", "create", "reservation=res", "starttime=now+1hour", "duration=10", "nodes=r1", "user=root")
    refused(c, ["delete", "nodename=r[1-2]"], "scontrol: error: failed to delete nodes r1\n"
                                              "delete_node nodename=r[1-2]: Requested nodes are busy\n")
    assert nodes_of(c, "main") == "node[1-2],r1"  # r2 could go
    c.run("scontrol", "delete", "reservation=res")
    forget(c, "r1")


def test_survives_restart_and_reconfigure(c):
    c.run("scontrol", "create", "nodename=k[1-2]", "cpus=3", "realmemory=700", "weight=7", "state=external",
          "feature=fast", "gres=gpu:2")
    c.run("scontrol", "update", "nodename=k2", "state=drain", "reason=look at it")
    c.run("scontrol", "reconfigure")
    assert nodes_of(c, "fastp") == "k[1-2]"
    c.kill_ctld()
    c.restart_ctld()
    assert nodes_of(c, "fastp") == "k[1-2]" and nodes_of(c, "main") == "node[1-2],k[1-2]"
    assert state_of(c, "k1") == "IDLE+DYNAMIC_NORM+EXTERNAL"
    assert state_of(c, "k2") == "IDLE+DRAIN+DYNAMIC_NORM+EXTERNAL"
    shown = c.run("scontrol", "show", "node", "k1").out
    assert "CPUTot=3" in shown and "RealMemory=700" in shown and "Weight=7" in shown and "Gres=gpu:2" in shown
    c.run("scontrol", "update", "nodename=k2", "state=resume")
    assert state_of(c, "k2") == "IDLE+DYNAMIC_NORM+EXTERNAL"
    forget(c, "k[1-2]")


def test_ordinary_jobs_do_not_see_external_nodes(c):
    c.run("scontrol", "create", "nodename=e[1-2]", "cpus=16", "state=external", "feature=fast")
    got = c.run("sbatch", "-N4", "--wrap", "true", check=False)
    assert (got.rc, got.err) == (1, "sbatch: error: Batch job submission failed: "
                                    "Requested node configuration is not available\n"), got
    assert c.run("sbatch", "-w", "e1", "--wrap", "true", check=False).rc == 1
    job = c.sbatch("-N2", wrap="true")
    c.wait_end(job)
    forget(c, "e[1-2]")


def test_past_jobs_keep_names(c):
    """Two nodes change places: the id of one that went is not the other's while a job may mean it."""
    c.run("scontrol", "create", "nodename=a1", "cpus=2", "state=external")
    forget(c, "a1")
    before = c.sbatch("-w", "node1", wrap="true")
    c.wait_end(before)
    for i in range(12):  # more than there is room for at once
        c.run("scontrol", "create", f"nodename=b{i}", "cpus=2", "state=external")
        forget(c, f"b{i}")
    assert "NodeList=node1\n" in c.run("scontrol", "show", "job", str(before)).out
    waits = c.sbatch("-H", "-w", "node2", wrap="true")
    c.run("scontrol", "release", str(waits))
    c.wait_end(waits)
    assert "NodeList=node2\n" in c.run("scontrol", "show", "job", str(waits)).out
