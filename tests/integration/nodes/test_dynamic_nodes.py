"""Nodes that make themselves (slurmd -Z, -F): they join, change size, go and come back while jobs run and the controller is
killed."""

import subprocess

import pytest

from conftest import BUILD, free_ports, program, wait_until

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=6\nMessageTimeout=5\nNodeSet=quick Feature=quick\nPartitionName=quick Nodes=quick"}


def shown(c, node, key):
    for word in c.run("scontrol", "-F", "show", "node", node, check=False).out.split():
        if word.startswith(key + "="):
            return word[len(key) + 1:]
    return None


def nodes_of(c, part):
    for word in c.run("scontrol", "show", "partition", part).out.split():
        if word.startswith("Nodes="):
            return word[len("Nodes="):]
    return ""


def join(c, name, conf):
    if "Port=" not in conf:
        conf += f" Port={free_ports(1)[0]}"
    c.start_slurmd(name, "-Z", "--conf", conf)


def wait_shown(c, node, key, value):
    wait_until(lambda: shown(c, node, key) == value, f"{node}: {key}={value}")


@pytest.fixture(autouse=True)
def clean(c):
    yield
    for name in [n for n in c.slurmds if not n.startswith("node")]:
        c.slurmds.pop(name).stop()
    made = [n for n in c.run("sinfo", "-h", "-N", "-F", "-p", "main", "-o", "%N").out.split() if not n.startswith("node")]
    if made:
        c.run("scontrol", "delete", f"nodename={','.join(made)}")


def test_joins_runs_and_goes(c):
    join(c, "dyn1", "CPUs=2 RealMemory=1000 Feature=quick")
    wait_shown(c, "dyn1", "State", "IDLE+DYNAMIC_NORM")
    wait_until(lambda: nodes_of(c, "quick") == "dyn1", "the node set follows")
    assert nodes_of(c, "main") == "node1,dyn1"
    assert c.run("sinfo", "-h", "-N", "-n", "dyn1", "-o", "%N %t %T %P").out == "dyn1 idle idle quick\ndyn1 idle idle main*\n"
    job = c.sbatch("-p", "quick", wrap="hostname; echo $SLURM_JOB_NODELIST")
    c.wait_end(job)
    assert c.out(job).split()[-1] == "dyn1"
    busy = c.sbatch("-p", "quick", wrap="sleep 60")
    c.wait_state(busy, "RUNNING")
    got = c.run("scontrol", "delete", "nodename=dyn1", check=False)
    assert (got.rc, got.err) == (1, "scontrol: error: failed to delete nodes dyn1\n"
                                    "delete_node nodename=dyn1: Requested nodes are busy\n")
    c.run("scancel", str(busy))
    c.wait_end(busy)
    wait_until(lambda: c.run("scontrol", "delete", "nodename=dyn1", check=False).rc == 0, "dyn1 can be deleted")
    assert c.run("scontrol", "show", "node", "dyn1", check=False).out == "Node dyn1 not found\n"
    assert c.run("scontrol", "update", "nodename=dyn1", "state=down", "reason=x", check=False).err == \
        "slurm_update error: Invalid node name specified\n"
    assert nodes_of(c, "quick") == "(null)"
    wait_until(lambda: not c.slurmds["dyn1"].alive(), "its slurmd ends")
    c.slurmds.pop("dyn1")
    assert f"NodeList=dyn1" in c.run("scontrol", "show", "job", str(job)).out  # jobs of the past keep names


def test_other_sizes(c):
    join(c, "dyn2", "CPUs=2 RealMemory=1000")
    wait_shown(c, "dyn2", "CPUTot", "2")
    job = c.sbatch("-w", "dyn2", "-t", "5", wrap="touch begun; sleep 60")
    wait_until((c.work / "begun").exists, "the script has begun")
    c.slurmds.pop("dyn2").kill()
    join(c, "dyn2", "CPUs=3 RealMemory=900 Feature=quick")
    wait_until(lambda: "describes itself otherwise" in c.logs("slurmctld"), "the controller keeps the change back")
    assert shown(c, "dyn2", "CPUTot") == "2" and c.state(job) == "RUNNING"
    c.run("scancel", str(job))
    c.wait_end(job)
    wait_shown(c, "dyn2", "CPUTot", "3")
    wait_until(lambda: nodes_of(c, "quick") == "dyn2", "the node set follows")


def test_a_node_that_a_job_names_goes(c):
    """The job waits, as with Debian's Slurm, until there is a node of that name again; who avoids the node does not wait."""
    join(c, "dyn3", "CPUs=2 RealMemory=1000")
    wait_shown(c, "dyn3", "State", "IDLE+DYNAMIC_NORM")
    jobs = [c.sbatch("-H", *words, wrap="hostname; echo $SLURM_JOB_NODELIST") for words in (
        ["-w", "dyn3"], ["-N2", "-w", "dyn3"], ["-w", "node1,dyn3"], ["-x", "dyn3"])]
    c.run("scontrol", "delete", "nodename=dyn3")
    wait_until(lambda: not c.slurmds["dyn3"].alive(), "its slurmd ends")
    c.slurmds.pop("dyn3")
    c.run("scontrol", "release", *map(str, jobs))
    assert c.wait_end(jobs[3])["NodeList"] == "node1"
    wait_until(lambda: c.run("squeue", "-h", "-o", "%t %r").out == "PD BadConstraints\n" * 3, "the others wait")
    for job in jobs[:3]:
        assert c.run("scontrol", "explain", str(job)).out
    join(c, "dyn3", "CPUs=2 RealMemory=1000")
    wait_shown(c, "dyn3", "State", "IDLE+DYNAMIC_NORM")
    assert c.wait_end(jobs[0])["NodeList"] == "dyn3"
    for job in jobs[1:3]:
        assert c.wait_end(job)["NodeList"] == "node1,dyn3"


def test_controller_killed(c):
    """Both sides come back, in any order; jobs run on."""
    join(c, "dyn3", "CPUs=2 RealMemory=1000")
    wait_shown(c, "dyn3", "State", "IDLE+DYNAMIC_NORM")
    job = c.sbatch("-w", "dyn3", wrap="while [ ! -e go ]; do sleep 0.1; done")
    c.wait_state(job, "RUNNING")
    c.kill_ctld()
    join(c, "dyn4", "CPUs=1 RealMemory=1000")  # waits for the controller
    c.restart_ctld()
    wait_shown(c, "dyn4", "State", "IDLE+DYNAMIC_NORM")
    wait_until(lambda: shown(c, "dyn3", "State") == "MIXED+DYNAMIC_NORM", "dyn3 is back")
    c.slurmds.pop("dyn3").kill()
    c.kill_ctld()
    c.restart_ctld()
    join(c, "dyn3", "CPUs=2 RealMemory=1000")
    (c.work / "go").touch()
    c.wait_end(job)
    assert c.state(job) == "COMPLETED"
    c.slurmds.pop("dyn4").stop()
    c.run("scontrol", "delete", "nodename=dyn4")  # while it is down
    join(c, "dyn4", "CPUs=2 RealMemory=1000")
    wait_shown(c, "dyn4", "CPUTot", "2")
    hashes = subprocess.run([program("penstock"), "journal", "verify", str(c.dir / "state")], capture_output=True, text=True)
    assert hashes.returncode == 0, hashes


def test_refused(c):
    """What does not fit is said on both sides."""
    slurmd = program("slurmd")
    for conf, text in (("NodeName=x", "--conf cannot have NodeName"), ("State=DOWN", "--conf cannot have State"),
                       ("CPUs=x", "CPUs"), ("NoSuch=1", "unknown key NoSuch")):
        got = c.run(slurmd, "-D", "-Z", "-N", "bad1", "-f", str(c.conf), "--conf", conf, check=False)
        assert got.rc == 1 and text in got.err, (conf, got.err)
    got = c.run(slurmd, "-D", "-f", str(c.conf), "-N", "node1", "--conf", "CPUs=2", check=False)
    assert got.rc == 1 and "without -Z, --conf can have Topology= and nothing else" in got.err
    got = c.run(slurmd, "-D", "-Z", "-F", "-f", str(c.conf), check=False)
    assert got.rc == 1 and "-Z and -F exclude each other" in got.err
    c.run("scontrol", "create", "nodename=e[1-5]", "cpus=1", "state=external")
    join(c, "full", "CPUs=1 RealMemory=10")
    wait_until(lambda: "node table is full: MaxNodeCount=6" in c.logs("slurmd-full"), "slurmd is told")
    assert "node table is full: MaxNodeCount=6" in c.logs("slurmctld")
    c.run("scontrol", "delete", "nodename=e5")
    wait_shown(c, "full", "State", "IDLE+DYNAMIC_NORM")  # it had asked again


def test_future_nodes(c):
    c.run("scontrol", "create", "nodename=fut[1-2]", "cpus=1", "realmemory=200", "feature=f", f"port={free_ports(1)[0]}",
          "state=future")
    assert c.refused("squeue", "-w", "fut1") == "squeue: error: Invalid node name fut1\n"
    c.run("scontrol", "create", "reservation=later", "start=now+1hour", "duration=10", "users=root", "nodes=fut[1-2]")
    c.run("scontrol", "delete", "reservation=later")
    got = c.run(program("slurmd"), "-D", "-Fnosuch", "-N", "host9", "-f", str(c.conf), check=False)
    assert got.rc == 1 and "-F: no node can be had: no node of state FUTURE with this feature fits this machine" in got.err
    c.start_slurmd("host1", "-Ff")
    wait_shown(c, "fut1", "State", "IDLE+DYNAMIC_FUTURE+DYNAMIC_NORM")
    assert shown(c, "fut1", "NodeHostName") == "host1"
    job = c.sbatch("-w", "fut1", wrap="true")
    c.wait_end(job)
    c.slurmds.pop("host1").stop()
    c.start_slurmd("host1", "-Ff")  # has its node again
    wait_until(lambda: "registered with the controller as fut1" in c.logs("slurmd-host1"), "fut1 again")
    assert shown(c, "fut2", "State") == "FUTURE+DYNAMIC_NORM"
