"""PowerAction: named programs of power saving and reboots, here and on the nodes, of slurm.conf and of a request."""

import os

import pytest

from conftest import wait_until
from test_power import cloud  # noqa: F401  (a fixture)

NEVER = "SuspendTimeout=2\nResumeTimeout=30"


def actions(c, **places):
    """Programs that write down how they were called, then do what the shipped ones do."""
    lines = []
    for name, (location, then) in places.items():
        c.program(f"do-{name}", f'echo "{name} $* node=$SLURM_NODE_NAME" >> {c.dir}/calls\n{then}')
        lines.append(f"PowerAction={name} Location={location} Program=\"{c.programs}/do-{name} with {name}\"")
    return "\n".join(lines) + "\n"


def calls(c):
    path = c.dir / "calls"
    return path.read_text().splitlines() if path.exists() else []


def reconfigure(c, more):
    c.power_conf += "\n" + more
    c.write_conf()
    c.run("scontrol", "reconfigure")


END_OF_LIST = 'exec {programs}/{what} "${{@: -1}}"'


def test_an_operator_names_the_program(cloud):  # noqa: F811
    c = cloud(times=NEVER)
    reconfigure(c, actions(c, rack=("slurmctld", END_OF_LIST.format(programs=c.programs, what="resume")),
                           gentle=("slurmctld", END_OF_LIST.format(programs=c.programs, what="suspend"))))
    c.run("scontrol", "power", "up", "cl[1-2]", "action=rack")
    c.run("scontrol", "power", "up", "cl3")
    for node in ("cl1", "cl2", "cl3"):
        c.wait_short(node, "idle", 30)
    # once for both of its nodes; the third one had ResumeProgram
    assert calls(c) == ["rack with rack cl[1-2] node="]
    c.run("scontrol", "power", "down", "cl1", "Action=gentle")
    c.wait_short("cl1", "idle~", 20)
    assert calls(c)[1:] == ["gentle with gentle cl1 node="]
    # it was for that change alone
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle", 30)
    assert len(calls(c)) == 2


def test_what_is_refused(cloud):  # noqa: F811
    c = cloud(times=NEVER)
    reconfigure(c, actions(c, here=("slurmctld", "exit 0"), there=("slurmd", "exit 0")))
    for words, said in (
            (("up", "cl1", "action=there"), "scontrol_power_nodes error:Invalid power action"),
            (("up", "cl1", "action=nosuch"), "scontrol_power_nodes error:Invalid power action"),
            (("down", "force", "cl1", "action=Here"), "scontrol_power_nodes error:Invalid power action"),
            (("down", "cl1", "action="), "unexpected argument: 'action='"),
            (("down", "cl1", "what=x"), "unexpected argument: 'what=x'")):
        r = c.run("scontrol", "power", *words, check=False)
        assert (r.rc, r.err.strip()) == (1, said)
    r = c.run("scontrol", "reboot", "cl1", "action=nosuch", check=False)
    assert (r.rc, r.err.strip()) == (1, "scontrol_reboot_nodes error:Invalid power action")
    r = c.run("scontrol", "reboot", "cl1", "action=", check=False)
    assert (r.rc, r.err.strip()) == (1, "missing action")
    r = c.run("scontrol", "reboot", "cl1", "action=here", check=False)  # it is off, and an action that it waits for stays its own
    assert r.rc == 0 and "Skipping reboot of nodes cl1 due to current node state." in r.err
    assert c.short("cl1") == "idle~" and calls(c) == []
    # a configuration that cannot be changes nothing
    text = c.conf.read_text()
    for line, said in (("PowerAction=here Program=/bin/true", "of that name already"),
                       ("PowerAction=x Program=bin/true", "not an absolute path"),
                       ("PowerAction=x", "Program is missing"),
                       ("ResumeFailProgram=there", "Location=slurmd")):
        c.conf.write_text(text + line + "\n")
        r = c.run("scontrol", "reconfigure", check=False)
        assert r.rc == 1, line
        assert said in r.err or said in c.logs("slurmctld"), line
    c.conf.write_text(text)
    c.run("scontrol", "reconfigure")


def test_nodes_run_it_themselves(cloud):  # noqa: F811
    """SuspendProgram is an action of slurmd: each node ends itself, and slurmctld sees it go."""
    c = cloud(times=NEVER)
    reconfigure(c, actions(c, off=("slurmd", f'kill $(cat {c.dir}/run/slurmd-$SLURM_NODE_NAME.pid)')))
    text = c.conf.read_text().replace(f"SuspendProgram={c.programs}/suspend", "SuspendProgram=off")
    c.conf.write_text(text)
    c.run("scontrol", "reconfigure")
    for node in ("cl1", "cl2"):
        c.run("scontrol", "power", "up", node)
        c.wait_short(node, "idle", 30)
    c.run("scontrol", "power", "down", "cl[1-2]")
    for node in ("cl1", "cl2"):
        c.wait_short(node, "idle~", 30)
        assert not (c.dir / "run" / f"slurmd-{node}.pid").exists() or not alive(c, node)
    assert sorted(calls(c)) == ["off with off cl1 node=cl1", "off with off cl2 node=cl2"]


def alive(c, node):
    try:
        os.kill(int((c.dir / "run" / f"slurmd-{node}.pid").read_text()), 0)
        return True
    except (OSError, ValueError):
        return False


def test_a_node_that_does_not_go(cloud):  # noqa: F811
    """The action ends well and the node is still there: it is not taken for off, and told again."""
    c = cloud(times=NEVER)
    reconfigure(c, actions(c, off=("slurmd", f'[ -e {c.dir}/really ] && kill $(cat {c.dir}/run/slurmd-$SLURM_NODE_NAME.pid)\nexit 0')))
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle", 30)
    c.run("scontrol", "power", "down", "cl1", "action=off")
    wait_until(lambda: "node cl1: SuspendProgram failed, and the node is still on" in c.logs("slurmctld"), "it is told", 30)
    wait_until(lambda: c.short("cl1") == "idle", "the node can be used")
    (c.dir / "really").touch()
    c.run("scontrol", "power", "down", "cl1", "action=off")
    c.wait_short("cl1", "idle~", 30)


def test_a_killed_controller_tells_the_node_again(cloud):  # noqa: F811
    c = cloud(times="SuspendTimeout=8\nResumeTimeout=30")
    reconfigure(c, actions(c, off=("slurmd", f'[ -e {c.dir}/really ] && kill $(cat {c.dir}/run/slurmd-$SLURM_NODE_NAME.pid)\nexit 0')))
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle", 30)
    c.run("scontrol", "power", "down", "cl1", "action=off")
    wait_until(lambda: calls(c) == ["off with off cl1 node=cl1"], "the node is told")
    c.kill_ctld()
    (c.dir / "really").touch()
    c.start_ctld()
    # its slurmd knocks, is told, and ends
    wait_until(lambda: len(calls(c)) >= 2 and not alive(c, "cl1"), "the node is told again, and goes", 30)
    c.wait_short("cl1", "idle~", 30)


@pytest.mark.parametrize("place", ["slurmctld", "slurmd"])
def test_reboots(cloud, place):  # noqa: F811
    c = cloud(clouds=1, nodes=1, times=NEVER)
    node = c.node_names[0]
    reconfigure(c, actions(c, bios=(place, "exit 0")))
    r = c.run("scontrol", "reboot", node, check=False)
    assert "RebootProgram is not set" in r.err
    c.run("scontrol", "reboot", node, "action=bios", "nextstate=resume", "reason=new")
    wait_until(lambda: calls(c), "the program runs")
    assert calls(c) == [f"bios with bios {node} node={node if place == 'slurmd' else ''}"]
    wait_until(lambda: "REBOOT_ISSUED" in c.full(node), "it is issued")


def test_force_ends_jobs(cloud):  # noqa: F811
    c = cloud(clouds=1, nodes=1, times=NEVER)
    node = c.node_names[0]
    reconfigure(c, actions(c, boot=("slurmd", "exit 0")) + "RebootProgram=boot\n")
    job = c.sbatch("-w", node, "--mem=1", "--no-requeue", wrap="sleep 1000")
    again = c.sbatch("-w", node, "--mem=1", "--requeue", wrap="sleep 1000")
    wait_until(lambda: set(c.run("squeue", "-h", "-t", "R", "-o", "%i").out.split()) == {str(job), str(again)}, "both run")
    c.run("scontrol", "reboot", "ASAP", node)
    assert calls(c) == []
    c.run("scontrol", "cancel_reboot", node)
    c.run("scontrol", "reboot", "FORCE", node)
    wait_until(lambda: calls(c) == [f"boot with boot {node} node={node}"], "it reboots at once", 30)
    wait_until(lambda: c.run("squeue", "-h", "-o", "%i %t").out.split() == [str(again), "PD"], "one is queued again", 30)


def test_no_more_nodes_than_may_be_powered(cloud):  # noqa: F811
    """max_powered_nodes: jobs wait rather than have a node too many powered up; what is up is used all the same."""
    c = cloud(clouds=4, times=NEVER, conf="SlurmctldParameters=power_save_interval=1,max_powered_nodes=2")
    one = c.sbatch("-N1", "--exclusive", wrap="sleep 1000")
    three = c.sbatch("-N3", "--exclusive", wrap="true")
    two = c.sbatch("-N1", "--exclusive", wrap="sleep 1000")
    last = c.sbatch("-N1", "--exclusive", wrap="true")
    wait_until(lambda: set(c.run("squeue", "-h", "-t", "R", "-o", "%i").out.split()) == {str(one), str(two)}, "two run", 60)
    off = [n for n in c.clouds if c.short(n) == "idle~"]
    assert len(off) == 2
    assert set(c.run("squeue", "-h", "-t", "PD", "-o", "%i").out.split()) == {str(three), str(last)}
    r = c.run("scontrol", "power", "up", off[0], check=False)
    assert (r.rc, r.err.strip()) == (1, "scontrol_power_nodes error:Max powered up nodes reached")
    # a node that is up is free again: no node has to be powered up for the last one
    c.run("scancel", one)
    assert c.wait_end(last, timeout=60)["JobState"] == "COMPLETED"
    assert [n for n in c.clouds if c.short(n) == "idle~"] == off
    # three can never have power at a time
    assert c.run("squeue", "-h", "-j", three, "-o", "%t %r").out.split() == ["PD", "Resources"]
    # one goes down, and another one may come up
    free = next(n for n in c.clouds if c.short(n) == "idle")
    c.run("scontrol", "power", "down", free)
    c.wait_short(free, "idle~", 30)
    more = c.sbatch("-N1", "--exclusive", "-w", off[0], wrap="true")
    assert c.wait_end(more, timeout=60)["JobState"] == "COMPLETED"
    c.run("scancel", two, three)
    wait_until(lambda: not c.run("squeue", "-h").out, "nothing is left", 30)
