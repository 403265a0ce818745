"""Cloud nodes as a stranger examines them: programs of a site that start and end slurmd, words that power nodes up and down."""

import json
import os
import re

import pytest

from conftest import BUILD, wait_until
from exam import Exam, lab

RESUME = """#!/bin/bash
echo "resume $1" >> {d}/log/power
cp "$SLURM_RESUME_FILE" {d}/log/resume.json
[ -e {d}/noboot ] && exit 0
for n in $({b}/src/cli/scontrol show hostnames "$1"); do
  RUNTIME_DIRECTORY={d}/run/slurmd-$n {b}/src/noded/slurmd -N $n -f {d}/etc/slurm.conf -b $(cat {d}/extra 2>/dev/null) \\
    >/dev/null 2>&1 </dev/null
done
"""
SUSPEND = """#!/bin/bash
echo "suspend $1" >> {d}/log/power
for n in $({b}/src/cli/scontrol show hostnames "$1"); do
  [ -e {d}/run/slurmd-$n.pid ] && kill $(cat {d}/run/slurmd-$n.pid)
done
exit 0
"""
FAIL = 'echo "fail $1" >> {d}/log/power\n'
CONF = "SuspendTime=INFINITE\nSuspendTimeout=3\nResumeTimeout=8\nSlurmctldParameters=power_save_interval=1,idle_on_node_suspend\n"
PARTS = "PartitionName=debug Nodes=n[1-2] Default=YES State=UP\nPartitionName=cloud Nodes=n[3-5] State=UP\nPartitionName=all Nodes=ALL"
CLOUD = ("n3", "n4", "n5")
TREE = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-5]\nSwitchName=s3\nSwitchName=root Switches=s[1-3]\n"


def state(c, node):
    return (re.findall(r"State=(\S+)", c.run("scontrol", "show", "node", node, check=False).out) or [""])[0]


def power(c):
    path = c.dir / "log" / "power"
    return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.fixture
def cloud(make_cluster):
    """A function that makes the cluster; its cloud is off, and off again afterwards."""
    made = []

    def make(conf="", files=None):
        c = lab(make_cluster, "n[1-5]", conf=CONF + conf, parts=PARTS, options={n: "State=CLOUD" for n in CLOUD}, files=files,
                start=False)
        made.append(c)
        text = c.conf.read_text()
        for key, body in (("ResumeProgram", RESUME), ("SuspendProgram", SUSPEND), ("ResumeFailProgram", "#!/bin/bash\n" + FAIL)):
            path = c.dir / key
            path.write_text(body.format(d=c.dir, b=BUILD))
            path.chmod(0o755)
            text = f"{key}={path}\n{text}"
        c.write_conf(text)
        c.start_ctld()
        for node in ("n1", "n2"):
            c.start_slurmd(node)
        c.wait_nodes(names=["n1", "n2"])
        return Exam(c)
    yield make
    for c in made:
        for node in CLOUD:
            try:
                os.kill(int((c.dir / "run" / f"slurmd-{node}.pid").read_text()), 15)
            except (OSError, ValueError):
                pass


def test_a_job_boots_its_nodes_and_words_end_them(cloud):
    e = cloud()
    c = e.c
    e.same("at the start", [state(c, n) for n in CLOUD], ["IDLE+CLOUD+POWERED_DOWN"] * 3)
    e.same("sinfo", c.run("sinfo", "-h", "-p", "cloud", "-o", "%t %N").out, "idle~ n[3-5]\n")
    e.same("nodes that are on come first", e.one("-p", "all", "-N2"), "n[1-2]")
    job = c.run("sbatch", "--parsable", "-p", "cloud", "-N2", "--extra", "x=1", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    wait_until(lambda: c.state(job) == "RUNNING" and state(c, "n3") == "MIXED+CLOUD" == state(c, "n4"), "it runs", 30)
    e.same("the program", power(c), ["resume n[3-4]"])
    told = json.loads((c.dir / "log" / "resume.json").read_text())
    e.same("its file", told, {"all_nodes_resume": "n[3-4]", "jobs": [
        {"job_id": int(job), "extra": "x=1", "features": None, "nodes_alloc": "n[3-4]", "nodes_resume": "n[3-4]",
         "oversubscribe": "OK", "exclusive": "NO", "partition": "cloud", "reservation": None}]})
    e.same("asap", e.ask("scontrol", "power", "down", "asap", "n3", "reason=tired"), "")
    e.same("it drains", state(c, "n3"), "MIXED+CLOUD+DRAIN+POWER_DOWN")
    e.same("its job runs", c.state(job), "RUNNING")
    c.run("scancel", job)
    wait_until(lambda: state(c, "n3") == "IDLE+CLOUD+POWERED_DOWN", "n3 is off", 30)
    e.same("its neighbour is on", state(c, "n4"), "IDLE+CLOUD")
    job = c.run("sbatch", "--parsable", "-p", "cloud", "-w", "n4", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    c.wait_state(job, "RUNNING")
    e.same("force", e.ask("scontrol", "power", "down", "force", "n4"), "")
    wait_until(lambda: c.state(job) == "PENDING", "its job is queued again", 15)
    e.clear()
    wait_until(lambda: state(c, "n4") == "IDLE+CLOUD+POWERED_DOWN", "n4 is off", 30)
    e.same("the programs", power(c), ["resume n[3-4]", "suspend n3", "suspend n4"])
    e.same("up", e.ask("scontrol", "update", "nodename=n5", "state=power_up"), "")
    wait_until(lambda: state(c, "n5") == "IDLE+CLOUD", "n5 is on", 30)
    e.same("down", e.ask("scontrol", "update", "nodename=n5", "state=power_down"), "")
    wait_until(lambda: state(c, "n5") == "IDLE+CLOUD+POWERED_DOWN", "n5 is off", 30)
    e.end()


def test_nodes_that_do_not_come_and_a_killed_controller(cloud):
    e = cloud()
    c = e.c
    (c.dir / "noboot").touch()
    again, once = (c.run("sbatch", "--parsable", "-p", "cloud", "-w", "n5", *words, "-o", "/dev/null", "--wrap",
                         "sleep 300").out.strip() for words in ((), ("--no-requeue",)))
    c.wait_state(again, "CONFIGURING")
    c.wait_state(once, "CONFIGURING")
    c.kill_ctld()
    c.start_ctld()
    e.same("after a kill", [c.state(again), c.state(once)], ["CONFIGURING"] * 2)
    wait_until(lambda: "fail n5" in power(c), "ResumeFailProgram", 40)
    e.same("the node", state(c, "n5"), "DOWN+CLOUD+POWERED_DOWN")
    e.has("why", e.ask("scontrol", "show", "node", "n5"), "Reason=ResumeTimeout reached")
    e.same("a job that may start again", c.state(again), "PENDING")
    e.same("one that may not", c.wait_sacct(once, "NODE_FAIL"), ["NODE_FAIL", "0:1"])
    e.same("resume", e.ask("scontrol", "update", "nodename=n5", "state=resume"), "")
    e.same("it may be tried again", state(c, "n5"), "IDLE+CLOUD+POWERED_DOWN")
    e.end()


def place(c, node):
    return (re.findall("Topology=(.*)", c.run("scontrol", "show", "node", node).out) or [None])[0]


def test_a_cloud_node_says_where_it_boots(cloud):
    e = cloud("TopologyPlugin=topology/tree\n", {"topology.conf": TREE})
    c = e.c
    (c.dir / "extra").write_text("--conf Topology=default:root:s3")
    e.same("before", place(c, "n3"), None)
    e.same("up", e.ask("scontrol", "power", "up", "n3"), "")
    wait_until(lambda: state(c, "n3") == "IDLE+CLOUD", "n3 is on", 30)
    e.same("its word", place(c, "n3"), "default:root:s3")
    e.same("the switch", e.ask("scontrol", "show", "topology", "unit=s3"), "SwitchName=s3 Level=0 LinkSpeed=1 Nodes=n3\n")
    e.same("a job's view", e.ask("srun", "-Q", "-p", "cloud", "-w", "n3", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"), "root.s3.n3\n")
    c.kill_ctld()
    c.start_ctld()
    wait_until(lambda: state(c, "n3") == "IDLE+CLOUD", "n3 is back", 30)
    e.same("after a kill", place(c, "n3"), "default:root:s3")
    e.same("an operator moves it", e.ask("scontrol", "update", "nodename=n3", "topology=default:root:s1"), "")
    c.restart_ctld()
    wait_until(lambda: "n3: registered" in c.logs("slurmctld") and state(c, "n3") == "IDLE+CLOUD", "n3 is back", 30)
    e.same("that holds when it registers again", place(c, "n3"), "default:root:s1")
    e.same("down", e.ask("scontrol", "power", "down", "n3"), "")
    wait_until(lambda: state(c, "n3") == "IDLE+CLOUD+POWERED_DOWN", "n3 is off", 30)
    e.same("it is where the file says", place(c, "n3"), None)
    e.has("again", e.ask("scontrol", "show", "topology", "unit=s2"), "Nodes=n[3-5]\n")
    (c.dir / "extra").write_text("--conf Topology=default:nowhere:s3")
    e.same("up to nowhere", e.ask("scontrol", "power", "up", "n4"), "")
    wait_until(lambda: state(c, "n4") == "IDLE+CLOUD", "n4 is on", 30)
    e.has("told", e.ask("scontrol", "show", "node", "n4"), "Reason=Failed to set topology 'default:nowhere:s3'")
    e.same("it stays where it was", place(c, "n4"), None)
    e.end()
