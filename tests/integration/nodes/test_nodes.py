"""Nodes and partitions as an administrator changes them; reconfiguring; nodes that are lost and come back."""

import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import SANITIZED, program, wait_until

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


@pytest.fixture
def four(make_cluster):
    return make_cluster(nodes=4)


def node(c, name="node1"):
    return dict(re.findall(r"(?:^|\s)([A-Z]\w*)=(.*?)(?=\s+[A-Z]\w*=|\s*$)",
                           c.run("scontrol", "-o", "show", "node", name).out.strip()))


def state(c, name="node1"):
    return c.run("sinfo", "-h", "-N", "-n", name, "-o", "%t %T").out.strip()


def update(c, name, *changes):
    c.run("scontrol", "update", f"nodename={name}", *changes)


# ---- drain, down, fail -----------------------------------------------------------------------------

@pytest.mark.skipif(SANITIZED, reason="sanitizers make mlockall() do nothing: it would lock their shadow memory")
def test_memory_of_slurmd_can_be_locked(make_cluster):
    c = make_cluster(nodes=1, start=False)
    c.start_ctld()
    c.start_slurmd("node1", "-M")
    c.wait_nodes()
    locked = int(re.search(r"VmLck:\s+(\d+) kB", Path(f"/proc/{c.slurmds['node1'].pid}/status").read_text()).group(1))
    assert locked > 0 or "memory cannot be locked" in c.logs("slurmd-node1")
    c.wait_end(c.sbatch(wrap="true"))


def test_drain_of_an_idle_node(cluster):
    update(cluster, "node2", "state=drain", "reason=swap dimm")
    assert state(cluster, "node2") == "drain drained"
    record = node(cluster, "node2")
    assert record["State"] == "IDLE+DRAIN"
    assert re.fullmatch(rf"swap dimm \[root@{STAMP}\]", record["Reason"])
    lines = cluster.run("sinfo", "-R").out.splitlines()
    assert lines[0].split() == ["REASON", "USER", "TIMESTAMP", "NODELIST"]
    assert re.fullmatch(rf"swap dimm            root      {STAMP} node2", lines[1])
    job = cluster.sbatch("-N3", "--exclusive", wrap="true")
    wait_until(lambda: "DRAINED" in cluster.job(job)["Reason"] or cluster.job(job)["Reason"] == "Resources",
               "the job is told why it waits")
    update(cluster, "node2", "state=resume")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert "Reason" not in node(cluster, "node2")
    assert len(cluster.run("sinfo", "-h", "-R").out) == 0


@pytest.mark.parametrize("word", ["undrain", "idle", "resume"])
def test_ways_out_of_a_drain(cluster, word):
    update(cluster, "node1", "state=drain", "reason=x")
    update(cluster, "node1", f"state={word}")
    assert state(cluster) == "idle idle"


def test_drain_of_a_busy_node(cluster):
    job = cluster.sbatch("-w", "node1", wrap="while [ ! -e go ]; do sleep 0.05; done")
    cluster.wait_state(job, "RUNNING")
    update(cluster, "node1", "state=drain", "reason=x")
    assert state(cluster) == "drng draining"
    assert node(cluster)["State"] == "MIXED+DRAIN"
    (cluster.work / "go").touch()
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    cluster.wait_nodes("drained", ["node1"])


def test_a_reason_is_required(cluster):
    for word in ("drain", "down", "fail"):
        assert cluster.refused("scontrol", "update", "nodename=node1", f"state={word}") == (
            "You must specify a reason when DOWNING or DRAINING a node. Request denied\n")
    assert state(cluster) == "idle idle"


@pytest.mark.parametrize("change,message", [
    ("state=foo", "Invalid input: state=foo\nRequest aborted\nValid states are: "),
    ("nosuch=1", "Update of this parameter is not supported: nosuch=1\nRequest aborted\n"),
    ("activefeatures=bogus", "slurm_update error: Active features not subset of available features\n")])
def test_bad_changes(cluster, change, message):
    before = cluster.run("scontrol", "show", "node", "node1").out
    assert cluster.refused("scontrol", "update", "nodename=node1", change).startswith(message)
    after = cluster.run("scontrol", "show", "node", "node1").out
    assert re.sub(r"CPULoad=\S+|FreeMem=\S+|LastBusyTime=\S+", "", before) == re.sub(
        r"CPULoad=\S+|FreeMem=\S+|LastBusyTime=\S+", "", after)
    assert cluster.refused("scontrol", "update", "nodename=node9", "state=drain", "reason=x") == (
        "slurm_update error: Invalid node name specified\n")


def test_plain_changes(cluster):
    update(cluster, "node2", "weight=7", "comment=hello", "extra=zz", "availablefeatures=intel,new",
           "activefeatures=intel")
    record = node(cluster, "node2")
    wanted = {"Weight": "7", "Comment": "hello", "Extra": "zz", "AvailableFeatures": "intel,new", "ActiveFeatures": "intel"}
    assert {k: record.get(k) for k in wanted} == wanted
    assert cluster.wait_end(cluster.sbatch("-C", "intel", wrap="echo $SLURMD_NODENAME"))["NodeList"] == "node2"
    cluster.kill_ctld()
    cluster.start_ctld()
    cluster.wait_nodes()
    record = node(cluster, "node2")
    wanted.pop("Weight")  # the file's again
    assert {k: record.get(k) for k in wanted} == wanted


def test_weight_decides(cluster):
    update(cluster, "node1", "weight=100")
    update(cluster, "node3", "weight=50")
    assert cluster.wait_end(cluster.sbatch(wrap="true"))["NodeList"] == "node2"
    assert cluster.wait_end(cluster.sbatch("-N2", wrap="true"))["NodeList"] == "node[2-3]"


def test_down_ends_its_jobs(cluster):
    keep = cluster.sbatch("-w", "node1", wrap="while [ ! -e go ]; do sleep 0.05; done")
    gone = cluster.sbatch("-w", "node2", "--no-requeue", wrap="sleep 1000")
    cluster.wait_state(gone, "RUNNING"), cluster.wait_state(keep, "RUNNING")
    update(cluster, "node2", "state=down", "reason=crash")
    record = cluster.wait_end(gone)
    assert (record["JobState"], record["Reason"], record["FailedNode"]) == ("NODE_FAIL", "NodeDown", "node2")
    assert cluster.wait_sacct(gone, "NODE_FAIL", "State,FailedNode")[1] == "node2"
    wait_until(lambda: (cluster.work / f"slurm-{gone}.out").exists() and "CANCELLED AT" in cluster.out(gone),
               "its output says so")
    assert "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***" in cluster.out(gone)
    assert cluster.state(keep) == "RUNNING"
    (cluster.work / "go").touch()
    cluster.wait_end(keep)
    update(cluster, "node2", "state=resume")
    cluster.wait_nodes()


def test_down_requeues_its_jobs(cluster):
    job = cluster.sbatch("--requeue", script="echo $SLURMD_NODENAME $SLURM_RESTART_COUNT >> runs\n"
                         "[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000")
    wait_until(lambda: (cluster.work / "runs").exists(), "it runs")
    update(cluster, "node1", "state=down", "reason=crash")
    wait_until(lambda: cluster.job(job)["Restarts"] == "1", "it is requeued")
    cluster.run("scontrol", "update", f"jobid={job}", "starttime=now", check=False)
    assert cluster.wait_end(job, timeout=150)["JobState"] == "COMPLETED"
    assert (cluster.work / "runs").read_text() == "node1\nnode2 1\n"


def test_states_survive_a_kill(make_cluster):
    c = make_cluster(conf="ReturnToService=1")
    update(c, "node1", "state=drain", "reason=one")
    update(c, "node2", "state=down", "reason=two")
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes("idle", ["node3"])
    assert state(c, "node1") == "drain drained"
    assert node(c, "node2")["State"] == "DOWN"
    assert "one [root@" in node(c, "node1")["Reason"] and "two [root@" in node(c, "node2")["Reason"]


# ---- lost nodes ------------------------------------------------------------------------------------

@pytest.mark.parametrize("value,back", [("0", False), ("1", True), ("2", True)])
def test_return_to_service(make_cluster, value, back):
    """A node that did not answer comes back by itself, but with ReturnToService=0."""
    c = make_cluster(nodes=2, conf=f"SlurmdTimeout=1\nMessageTimeout=1\nReturnToService={value}")
    c.slurmds["node2"].kill()
    wait_until(lambda: "DOWN" in node(c, "node2")["State"], "node2 is down", 30)
    assert "Not responding" in node(c, "node2")["Reason"]
    c.start_slurmd("node2")
    if back:
        c.wait_nodes()
    else:
        wait_until(lambda: node(c, "node2")["State"] == "DOWN" and "*" not in state(c, "node2"), "node2 answers and stays down")
        assert "registered with the controller" in wait_until(lambda: c.logs("slurmd-node2"), "it has a log")
        update(c, "node2", "state=resume")
        c.wait_nodes()


def test_a_frozen_daemon(make_cluster):
    """The kernel of a host that does no work keeps its connections: silence alone tells, and nothing else is lost by it."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=10\nReturnToService=2")
    stays = c.sbatch("-w", "node2", wrap="sleep 300")
    c.wait_state(stays, "RUNNING")
    frozen = c.slurmds["node1"].process
    frozen.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: state(c) == "down* down*", "the node is down", 60)
        assert "node1: has said nothing for" in c.logs("slurmctld") and "node2: has said nothing" not in c.logs("slurmctld")
        assert node(c)["Reason"].startswith("Not responding")
        assert c.job(stays)["JobState"] == "RUNNING"
    finally:
        frozen.send_signal(signal.SIGCONT)
    wait_until(lambda: state(c, "node1") == "idle idle", "the node is back", 60)
    assert c.run("srun", "-w", "node1", "hostname").rc == 0


def test_a_frozen_controller(make_cluster):
    """A controller that stood still itself blames no node for what it did not hear."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=8\nReturnToService=0")
    c.ctld.process.send_signal(signal.SIGSTOP)
    stood_still = time.monotonic() + 25  # more than the silence that a node may keep
    wait_until(lambda: time.monotonic() > stood_still, "it stood still for long enough", 60)
    c.ctld.process.send_signal(signal.SIGCONT)
    assert c.run("srun", "-N2", "hostname").rc == 0
    assert "has said nothing" not in c.logs("slurmctld")


def test_a_dead_daemon(make_cluster):
    """life-10.1, life-10.2: silent, then down; what its jobs and those that want it say; and back."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=4\nReturnToService=1")
    again, lost = c.sbatch("-w", "node1", wrap="sleep 300"), c.sbatch("-w", "node1", "--no-requeue", wrap="sleep 300")
    c.wait_state(again, "RUNNING")
    c.wait_state(lost, "RUNNING")
    c.slurmds["node1"].process.kill()
    wait_until(lambda: state(c) == "mix* mixed*", "the node is seen to be silent")
    waits = c.sbatch("-w", "node1", wrap="true")
    wait_until(lambda: state(c) == "down* down*", "the node is down", 30)
    assert "DOWN+NOT_RESPONDING" in node(c)["State"] and node(c)["Reason"].startswith("Not responding")
    assert c.wait_end(lost)["JobState"] == "NODE_FAIL"
    assert c.run("squeue", "-h", "-j", again, "-o", "%t %r").out.split()[0] == "PD"
    reason = "(ReqNodeNotAvail, UnavailableNodes:node1)\n"
    wait_until(lambda: c.run("squeue", "-h", "-j", waits, "-o", "%R").out == reason, "the job says which node is away")
    c.start_slurmd("node1")
    c.wait_nodes("idle", ["node2"])
    assert c.wait_end(waits)["JobState"] == "COMPLETED"
    wait_until(lambda: "*" not in state(c), "the node answers")


def test_a_node_that_is_away_for_a_moment(make_cluster):
    """slurmd restarts within SlurmdTimeout: nobody is sent away."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=60")
    job = c.sbatch("-w", "node2", wrap="while [ ! -e go ]; do sleep 0.05; done")
    c.wait_state(job, "RUNNING")
    assert c.slurmds["node2"].stop() == 0
    assert c.state(job) == "RUNNING"
    c.start_slurmd("node2")
    c.wait_nodes("mixed", ["node2"])
    (c.work / "go").touch()
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_an_unknown_node_is_turned_away(cluster):
    done = subprocess.run([program("slurmd"), "-D", "-N", "node9", "-f", str(cluster.conf)], env=cluster.env,
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "node9" in done.stderr


# ---- partitions ------------------------------------------------------------------------------------

def partition(c, name="main"):
    return dict(re.findall(r"(?:^|\s)([A-Z]\w*)=(\S*)", c.run("scontrol", "-o", "show", "partition", name).out))


def test_partition_life(cluster):
    cluster.run("scontrol", "create", "partitionname=extra", "nodes=node[1-2]", "maxtime=5")
    record = partition(cluster, "extra")
    wanted = {"Nodes": "node[1-2]", "MaxTime": "00:05:00", "Default": "NO", "State": "UP", "TotalCPUs": "8",
              "TotalNodes": "2"}
    assert {k: record.get(k) for k in wanted} == wanted
    job = cluster.sbatch("-p", "extra", wrap="true")
    record = cluster.wait_end(job)
    assert (record["TimeLimit"], record["Partition"]) == ("00:05:00", "extra")
    assert cluster.refused("scontrol", "create", "partitionname=extra", "nodes=node1") == (
        "Error creating the partition: Invalid partition name specified\n")
    cluster.run("scontrol", "update", "partitionname=extra", "nodes=node3", "maxtime=60")
    assert partition(cluster, "extra")["Nodes"] == "node3"
    assert partition(cluster, "extra")["MaxTime"] == "01:00:00"
    cluster.run("scontrol", "delete", "partitionname=extra")
    assert cluster.refused("scontrol", "delete", "partitionname=extra") == (
        "delete_partition partitionname=extra: Invalid partition name specified\n")
    assert "extra" not in cluster.run("sinfo").out


def test_partition_state_and_reconfigure(cluster):
    """The file counts again once somebody asks for it, unless it says otherwise; a restart keeps what was changed."""
    avail = lambda: cluster.run("sinfo", "-h", "-o", "%a").out.strip()
    cluster.run("scontrol", "update", "partitionname=main", "state=drain", "maxtime=5")
    cluster.restart_ctld()
    assert avail() == "drain"
    cluster.write_conf(cluster.conf_text() + "ReconfigFlags=KeepPartState\n")
    cluster.run("scontrol", "reconfigure")
    assert avail() == "drain" and partition(cluster, "main")["MaxTime"] == "UNLIMITED"
    cluster.write_conf()
    cluster.run("scontrol", "reconfigure")
    assert avail() == "up"


def test_partitions_kept_by_reconfigure(cluster):
    """KeepPartInfo: partitions stay as operators made them; those that only the file has are made."""
    cluster.run("scontrol", "update", "partitionname=main", "state=drain", "maxtime=5", "nodes=node[1-2]")
    cluster.run("scontrol", "create", "partitionname=made", "nodes=node3")
    cluster.write_conf(cluster.conf_text() + "ReconfigFlags=KeepPartInfo\nPartitionName=filed Nodes=node3\n")
    cluster.run("scontrol", "reconfigure")
    wait_until(lambda: "filed" in cluster.run("sinfo", "-h", "-o", "%R").out, "the file is read")
    assert partition(cluster, "main")["State"] == "DRAIN" and partition(cluster, "main")["MaxTime"] == "00:05:00"
    assert partition(cluster, "main")["Nodes"] == "node[1-2]" and partition(cluster, "made")["Nodes"] == "node3"
    cluster.write_conf()
    cluster.run("scontrol", "reconfigure")
    assert partition(cluster, "main")["MaxTime"] == "UNLIMITED"
    assert cluster.run("sinfo", "-h", "-o", "%R").out.split() == ["main"]


@pytest.mark.parametrize("word,avail", [("down", "down"), ("drain", "drain"), ("inactive", "inact"), ("up", "up")])
def test_partition_states(cluster, word, avail):
    cluster.run("scontrol", "update", "partitionname=main", f"state={word}")
    assert cluster.run("sinfo", "-h", "-o", "%a").out == f"{avail}\n"
    done = cluster.run("sbatch", "--parsable", "--wrap", "true", check=False)
    if word in ("up", "down"):
        job = int(done.out)
    else:
        assert done.rc == 1 and "artition" in done.err
        return
    if word == "down":
        wait_until(lambda: cluster.job(job)["Reason"] == "PartitionDown", "the reason is told")
        cluster.run("scontrol", "update", "partitionname=main", "state=up")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("argv,message", [
    (["update", "partitionname=nosuch", "state=up"], "slurm_update error: Invalid partition name specified\n"),
    (["update", "partitionname=main", "nodes=node9"], "slurm_update error: Invalid node name specified\n"),
    (["delete", "partitionname=nosuch"], "delete_partition partitionname=nosuch: Invalid partition name specified\n"),
    (["update", "partitionname=main", "state=sideways"], "scontrol: error: Invalid input: state=sideways\n")])
def test_bad_partition_changes(cluster, argv, message):
    before = cluster.run("scontrol", "show", "partition").out
    assert cluster.refused("scontrol", *argv).startswith(message)
    assert cluster.run("scontrol", "show", "partition").out == before


def test_default_partition(cluster):
    cluster.run("scontrol", "create", "partitionname=extra", "nodes=node3", "default=yes")
    assert cluster.run("sinfo", "-h", "-o", "%P").out.split() == ["main", "extra*"]
    assert cluster.wait_end(cluster.sbatch(wrap="true"))["Partition"] == "extra"


# ---- reconfigure -----------------------------------------------------------------------------------

def test_reconfigure_adds_and_removes(four):
    keep = four.sbatch("-w", "node1", wrap="while [ ! -e go ]; do sleep 0.05; done")
    four.wait_state(keep, "RUNNING")
    good = four.conf_text()
    four.write_conf(good + "PartitionName=extra Nodes=node[3-4] MaxTime=7\n")
    four.run("scontrol", "reconfigure")
    assert partition(four, "extra")["MaxTime"] == "00:07:00"
    assert four.state(keep) == "RUNNING"
    assert four.wait_end(four.sbatch("-p", "extra", wrap="true"))["JobState"] == "COMPLETED"
    four.write_conf(good.replace("KillWait=2", "KillWait=3"))
    four.run("scontrol", "reconfigure")
    assert "extra" not in four.run("sinfo").out
    assert re.search(r"^KillWait +=[ ]3 sec$", four.run("scontrol", "show", "config").out, re.M)
    (four.work / "go").touch()
    assert four.wait_end(keep)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("change", [("KillWait=2", "KillWait=banana"), ("Nodes=ALL", "Nodes=node77"),
                                    ("ClusterName=test", "NoSuchKey=1"), ("KillWait=2", "just words")])
def test_a_bad_file_changes_nothing(cluster, change):
    good = cluster.conf_text()
    cluster.write_conf(good.replace(*change))
    done = cluster.run("scontrol", "reconfigure", check=False)
    cluster.write_conf(good)
    assert done.rc == 1 and done.err
    assert cluster.run("sinfo", "-h", "-o", "%P %D %t").out == "main* 3 idle\n"
    cluster.run("scontrol", "reconfigure")
    assert cluster.wait_end(cluster.sbatch(wrap="true"))["JobState"] == "COMPLETED"
