"""Health checks, reboots, and processes that do not end."""
import re
import time

import pytest

from conftest import wait_until


@pytest.fixture
def tools(folder):
    class Tools:
        dir = folder / "tools"

        def script(self, name, body):
            path = self.dir / name
            path.write_text("#!/bin/bash\n" + body + "\n")
            path.chmod(0o755)
            return path

        def lines(self, name):
            path = self.dir / name
            return path.read_text().splitlines() if path.exists() else []
    Tools.dir.mkdir()
    return Tools()


def shown(c, node):
    return c.run("scontrol", "show", "node", node).out


@pytest.mark.parametrize("state", ["ANY", "CYCLE", "IDLE,CYCLE"])
def test_health_check(make_cluster, tools, state):
    prog = tools.script("health", f"echo $SLURMD_NODENAME >> {tools.dir}/seen")
    make_cluster(nodes=2, conf=f"HealthCheckProgram={prog}\nHealthCheckInterval=1\nHealthCheckNodeState={state}")
    wait_until(lambda: all(tools.lines("seen").count(n) >= 3 for n in ("node1", "node2")), "each node was checked")


def test_health_check_drains(make_cluster, tools):
    """What such programs do: they drain their node."""
    prog = tools.script("health", f"test -e {tools.dir}/bad && scontrol update nodename=$SLURMD_NODENAME "
                        "state=drain reason='bad disk'")
    c = make_cluster(nodes=1, conf=f"HealthCheckProgram={prog}\nHealthCheckInterval=1")
    (tools.dir / "bad").touch()
    c.wait_nodes("drained")
    assert "Reason=bad disk [" in shown(c, "node1")


def test_health_check_at_start_only(make_cluster, tools):
    prog = tools.script("health", f"echo $SLURMD_NODENAME >> {tools.dir}/seen")
    c = make_cluster(nodes=1, conf=f"HealthCheckProgram={prog}\nHealthCheckInterval=1\n"
                     "HealthCheckNodeState=START_ONLY")
    c.wait_end(c.sbatch(wrap="sleep 2.5"))
    assert tools.lines("seen") == ["node1"]


def test_reboot(make_cluster, tools):
    prog = tools.script("reboot", f"echo $SLURMD_NODENAME >> {tools.dir}/seen")
    c = make_cluster(nodes=2, conf=f"RebootProgram={prog}")
    job = c.sbatch("-w", "node2", wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    assert c.refused("scontrol", "reboot", "action=x", "node1") == "scontrol_reboot_nodes error:Invalid power action\n"
    c.run("scontrol", "reboot", "asap", "nextstate=resume", "reason=kernel", "node[1-2]")
    wait_until(lambda: tools.lines("seen") == ["node1"], "the idle node reboots")
    assert c.run("sinfo", "-h", "-N", "-o", "%N %t %T").out.splitlines()[0] == "node1 boot^ reboot^"
    text = shown(c, "node1")
    assert "State=DOWN+DRAIN+REBOOT_ISSUED " in text and "\n   NextState=RESUME\n" in text
    assert "Reason=kernel : reboot issued [root@" in text
    assert "+REBOOT_REQUESTED" in shown(c, "node2") and "DRAIN" in shown(c, "node2")
    assert c.refused("scontrol", "cancel_reboot", "node1") == "slurm_update error: Invalid node state transition\n"
    c.run("scontrol", "cancel_reboot", "node2")
    assert "State=MIXED " in shown(c, "node2") and "Reason" not in shown(c, "node2")
    # A restart of slurmd alone is no boot.
    c.slurmds["node1"].stop()
    c.start_slurmd("node1")
    wait_until(lambda: "registered" in c.logs("slurmd-node1"), "slurmd is back")
    assert "REBOOT_ISSUED" in shown(c, "node1")
    c.slurmds["node1"].stop()
    boot(c, "node1")
    c.wait_nodes(names=["node1"])
    assert "Reason" not in shown(c, "node1") and "NextState" not in shown(c, "node1")


def boot(c, name):
    from conftest import Daemon, program
    c.slurmds[name] = Daemon(f"slurmd-{name}", [program("slurmd"), "-b", "-D", "-N", name, "-f", str(c.conf)],
                             c.dir / "log" / f"slurmd-{name}", {**c.env, **c.daemon_env_change})


def test_shutdown_on_reboot(make_cluster, tools):
    prog = tools.script("reboot", f"sleep 1; echo $SLURMD_NODENAME >> {tools.dir}/seen")
    c = make_cluster(nodes=2, conf=f"RebootProgram={prog}\nSlurmdParameters=shutdown_on_reboot")
    c.run("scontrol", "reboot", "nextstate=resume", "node1")
    wait_until(lambda: not c.slurmds["node1"].alive(), "slurmd of the node ends")
    assert c.slurmds["node2"].alive()
    wait_until(lambda: tools.lines("seen") == ["node1"], "the program goes on behind it")
    c.start_slurmd("node1", "-b")
    wait_until(lambda: "State=IDLE " in shown(c, "node1"), "the node is back")


def test_reboot_next_state_and_timeout(make_cluster, tools):
    prog = tools.script("reboot", "true")
    c = make_cluster(nodes=2, conf=f"RebootProgram={prog}\nResumeTimeout=2")
    c.run("scontrol", "reboot", "nextstate=down", "node1")
    c.run("scontrol", "reboot", "node2")
    wait_until(lambda: "+REBOOT_ISSUED" in shown(c, "node1"), "the reboot is issued by a pass that follows")
    c.slurmds["node1"].stop()
    boot(c, "node1")
    wait_until(lambda: "Reason=reboot complete [" in shown(c, "node1"), "node1 is back and down")
    wait_until(lambda: "Reason=reboot requested : reboot issued : reboot timed out [" in shown(c, "node2"), "node2 was given up")
    assert "State=DOWN " in shown(c, "node1")
    c.run("scontrol", "update", "nodename=node[1-2]", "state=resume")
    c.wait_nodes()


def test_reboot_of_a_slow_partition(make_cluster, tools):
    """A partition whose nodes take long to boot says so."""
    c = make_cluster(nodes=1, conf=f"RebootProgram={tools.script('reboot', 'true')}\nResumeTimeout=1", partition="ResumeTimeout=60")
    c.run("scontrol", "reboot", "asap", "node1")
    wait_until(lambda: "+REBOOT_ISSUED" in shown(c, "node1"), "the reboot is issued")
    c.slurmds["node1"].stop()
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 3, "longer than the cluster's ResumeTimeout")
    boot(c, "node1")
    c.wait_nodes()


def test_reboot_from_controller(make_cluster, tools):
    """RebootProgram runs beside slurmctld, with the node's name."""
    prog = tools.script("reboot", f"echo \"$@\" from ${{SLURMD_NODENAME:-controller}} $SLURM_CLUSTER_NAME >> {tools.dir}/seen")
    c = make_cluster(nodes=2, conf=f"RebootProgram={prog}\nSlurmctldParameters=reboot_from_controller")
    c.run("scontrol", "reboot", "node2")
    wait_until(lambda: tools.lines("seen") == ["node2 from controller test"], "the program ran")
    assert "REBOOT_ISSUED" in shown(c, "node2") and "REBOOT" not in shown(c, "node1")
    c.slurmds["node2"].stop()
    boot(c, "node2")
    c.wait_nodes(names=["node2"])


def test_reboot_waits_for_jobs(make_cluster, tools):
    """Without ASAP a node takes jobs until it is idle at last; with ASAP no more of them."""
    c = make_cluster(nodes=1, conf=f"RebootProgram={tools.script('reboot', f'touch {tools.dir}/seen')}")
    first = c.sbatch(wrap="sleep 100")
    c.wait_state(first, "RUNNING")
    c.run("scontrol", "reboot", "node1")
    assert c.run("sinfo", "-hN", "-o", "%t").out == "mix@\n"
    second = c.sbatch(wrap="sleep 100")
    c.wait_state(second, "RUNNING")
    c.run("scontrol", "cancel_reboot", "node1")
    c.run("scontrol", "reboot", "asap", "node1")
    third = c.sbatch(wrap="sleep 100")
    wait_until(lambda: c.job(third)["Reason"] not in ("None", "Priority"), "the third job was looked at")
    c.run("scancel", first)
    c.wait_end(first)
    assert c.state(third) == "PENDING" and not (tools.dir / "seen").exists()
    c.run("scancel", second, third)
    wait_until(lambda: (tools.dir / "seen").exists(), "the node reboots when its last job is over")


def test_reboot_cancelled_by_state(make_cluster, tools):
    """State=CANCEL_REBOOT, while a job keeps the node from it; later there is nothing to cancel."""
    c = make_cluster(nodes=1, conf=f"RebootProgram={tools.script('reboot', 'true')}")
    job = c.sbatch(wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "reboot", "node1")
    assert "REBOOT_REQUESTED" in shown(c, "node1")
    c.run("scontrol", "update", "nodename=node1", "state=cancel_reboot")
    assert "REBOOT_REQUESTED" not in shown(c, "node1")
    assert "Invalid node state" in c.refused("scontrol", "update", "nodename=node1", "state=cancel_reboot")
    c.run("scancel", job)


def test_reboot_refused(make_cluster, tools):
    c = make_cluster(nodes=1)
    assert "RebootProgram is not set" in c.refused("scontrol", "reboot", "node1")
    assert "Invalid node name" in c.refused("scontrol", "cancel_reboot", "node9")
    assert c.refused("scontrol", "reboot", "nextstate=x", "node1") == "Invalid state: x\n Valid states: DOWN, RESUME\n"


def test_unkillable_step(make_cluster, tools):
    prog = tools.script("unkillable", f"echo $SLURM_JOB_ID $SLURM_STEP_ID $SLURM_JOB_SLUID >> {tools.dir}/seen")
    c = make_cluster(start=False, nodes=1, conf=f"UnkillableStepProgram={prog}\nUnkillableStepTimeout=1\nKillWait=0")
    c.daemon_env_change["PENSTOCK_FAILPOINT"] = "stepd-no-kill:1+"
    c.start()
    job = c.sbatch(wrap="trap '' TERM; echo ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.5; done")
    c.wait_state(job, "RUNNING")
    out = c.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and "ready" in out.read_text(), "the script ignores SIGTERM")
    c.run("scancel", job)
    wait_until(lambda: "Reason=Kill task failed [" in shown(c, "node1"), "the node is drained")
    seen = tools.lines("seen")
    assert len(seen) == 1 and seen[0].split()[:2] == [str(job), "4294967291"] and seen[0].split()[2].startswith("s")
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def resume_time(c, node):
    return re.search(r"ResumeAfterTime=(\S+)", shown(c, node))[1]


def test_resume_after(make_cluster):
    """A state that ends by itself: over restarts of the controller, given up by another state, refused without one (recording 46b)."""
    c = make_cluster(nodes=3)
    told = "You can only specify a resume time when DOWNING or DRAINING a node. Request denied\n"
    assert c.refused("scontrol", "update", "nodename=node1", "resumeafter=60") == told
    assert c.refused("scontrol", "update", "nodename=node1", "state=resume", "resumeafter=60") == told
    assert resume_time(c, "node1") == "None"
    c.run("scontrol", "update", "nodename=node3", "state=down", "reason=fan", "resumeafter=1")
    wait_until(lambda: "State=IDLE " in shown(c, "node3"), "the third node is back")
    c.run("scontrol", "update", "nodename=node1", "state=drain", "reason=disk", "resumeafter=4")
    c.run("scontrol", "update", "nodename=node2", "state=drain", "reason=fan", "resumeafter=3600")
    c.run("scontrol", "update", "nodename=node3", "state=down", "reason=fan", "resumeafter=3600")
    job = c.sbatch("-w", "node1", wrap="true")
    until = resume_time(c, "node2")
    c.kill_ctld()
    c.start_ctld()
    assert resume_time(c, "node2") == until != "None"
    assert c.wait_end(job)["JobState"] == "COMPLETED"  # nobody resumed its node
    # the third registered again, and ReturnToService=2 made it usable: nothing is left to be resumed
    wait_until(lambda: "State=IDLE " in shown(c, "node3"), "the third node is back")
    for node in ("node1", "node3"):
        assert resume_time(c, node) == "None" and "Reason=" not in shown(c, node)
    assert "DRAIN" in shown(c, "node2")
    c.run("scontrol", "update", "nodename=node2", "state=drain", "reason=fan")  # another state: for good
    assert resume_time(c, "node2") == "None" and "DRAIN" in shown(c, "node2")
    c.run("scontrol", "update", "nodename=node2", "state=drain", "reason=fan", "resumeafter=3600")
    assert resume_time(c, "node2") != "None"
    c.run("scontrol", "update", "nodename=node2", "state=resume")
    assert resume_time(c, "node2") == "None"
