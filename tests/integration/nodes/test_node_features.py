"""node_features/helpers: features that helpers tell, and nodes that boot to have others for a job."""

import re
import subprocess

import pytest

from conftest import Daemon, program, wait_until

HELPER = """case $# in
0) cat {dir}/active-$SLURMD_NODENAME ;;
*) echo "$1" >> {dir}/called-$SLURMD_NODENAME; echo "$1" > {dir}/next-$SLURMD_NODENAME ;;
esac
"""
CONF = """Feature=nps1,nps2,nps4 Helper={dir}/nps
Feature=turbo Helper={dir}/other
MutuallyExclusive=nps1,nps2,nps4
BootTime=60
"""


class Machines:
    """Nodes with helpers; a boot is asked for in the file boot-NAME, and then made by boot()."""

    def __init__(self, make_cluster, folder, nodes=2, conf="", helpers=CONF, active="nps1"):
        self.dir = folder
        self.script("nps", HELPER.format(dir=folder))
        self.script("other", "true")
        self.script("reboot", f'echo "$*" >> {folder}/boot-$SLURMD_NODENAME')
        for i in range(nodes):
            (folder / f"active-node{i + 1}").write_text(active + "\n")
        self.c = make_cluster(nodes=nodes, start=False, conf=f"NodeFeaturesPlugins=node_features/helpers\n"
                              f"RebootProgram={folder}/reboot\n{conf}")
        (self.c.conf.parent / "helpers.conf").write_text(helpers.format(dir=folder))
        self.c.start()

    def script(self, name, body):
        path = self.dir / name
        path.write_text("#!/bin/bash\n" + body)
        path.chmod(0o755)

    def asked(self, node):
        path = self.dir / f"boot-{node}"
        return path.read_text().splitlines() if path.exists() else []

    def boot(self, node, well=True):
        """What a machine does: it comes back with what the helpers made ready."""
        wait_until(lambda: self.asked(node), f"{node} is to boot")
        (self.dir / f"boot-{node}").unlink()
        if well:
            (self.dir / f"next-{node}").rename(self.dir / f"active-{node}")
        self.c.slurmds[node].stop()
        self.c.slurmds[node] = Daemon(
            f"slurmd-{node}", [program("slurmd"), "-b", "-D", "-N", node, "-f", str(self.c.conf)],
            self.c.dir / "log" / f"slurmd-{node}", {**self.c.env, **self.c.daemon_env_change})

    def features(self, node):
        text = self.c.run("scontrol", "show", "node", node).out
        return re.findall(r"AvailableFeatures=(\S+)\s+ActiveFeatures=(\S*)", text)[0]

    def show(self, node):
        return self.c.run("scontrol", "show", "node", node).out


@pytest.fixture
def machines(make_cluster, tmp_path):
    tmp_path.chmod(0o755)
    return lambda **options: Machines(make_cluster, tmp_path, **options)


def test_helpers_tell_features(machines):
    m = machines()
    assert m.features("node1") == ("nps1,nps2,nps4,turbo", "nps1")
    assert m.c.run("sinfo", "-h", "-N", "-n", "node1", "-o", "%f %b").out == "nps1,nps2,nps4,turbo nps1\n"
    m.c.run("scontrol", "update", "nodename=node1", "availablefeatures=rack1,nps1", "activefeatures=rack1,nps1")
    m.c.run("scontrol", "reconfigure")
    assert m.features("node1") == ("rack1,nps1", "rack1,nps1")
    m.c.slurmds["node1"].stop()
    m.c.start_slurmd("node1")
    wait_until(lambda: m.features("node1") == ("rack1,nps1,nps2,nps4,turbo", "rack1,nps1"), "helpers were asked again")


def test_a_job_boots_a_node(machines):
    m = machines()
    job = m.c.sbatch("-C", "nps4", wrap="echo ran")
    assert m.c.wait_state(job, "CONFIGURING")["NodeList"] == "node1"
    wait_until(lambda: m.asked("node1") == ["nps4"], "RebootProgram has the features as argument")
    assert (m.dir / "called-node1").read_text() == "nps4\n"
    m.boot("node1")
    assert m.c.wait_end(job)["JobState"] == "COMPLETED" and m.c.out(job) == "ran\n"
    assert m.features("node1") == ("nps1,nps2,nps4,turbo", "nps4")
    job = m.c.sbatch("-C", "nps4", wrap="true")  # now the node has it
    assert m.c.wait_end(job)["NodeList"] == "node1"
    job = m.c.sbatch("-C", "nps1", wrap="true")
    assert m.c.wait_end(job)["NodeList"] == "node2"
    assert not m.asked("node1") and not m.asked("node2")


def test_nodes_with_jobs_do_not_boot(machines):
    m = machines(nodes=1)
    first = m.c.sbatch("-n1", wrap="sleep 100")
    m.c.wait_state(first, "RUNNING")
    second = m.c.sbatch("-n1", "-C", "nps2", wrap="true")
    wait_until(lambda: m.c.job(second)["Reason"] == "Resources", "it waits for the node to be idle")
    assert not m.asked("node1")
    m.c.run("scancel", first)
    m.boot("node1")
    assert m.c.wait_end(second)["JobState"] == "COMPLETED"


def test_delay_boot(machines):
    """--delay-boot, its variables, DelayBoot= and delay_boot=: first nodes that have the features are waited for."""
    m = machines(nodes=2, conf="SchedulerParameters=delay_boot=30")
    held = m.c.sbatch("-N1", "--exclusive", "-w", "node1", wrap="sleep 100")
    other = m.c.sbatch("-N1", "-w", "node2", "-C", "nps1", wrap="sleep 100")
    m.c.wait_state(other, "RUNNING")
    jobs = {"option": m.c.sbatch("-C", "nps4", "--delay-boot=0:03", wrap="true"),
            "variable": m.c.sbatch("-C", "nps4", wrap="true", env={"SBATCH_DELAY_BOOT": "0:02"}),
            "default": m.c.sbatch("-C", "nps4", wrap="true")}
    shown = {name: m.c.job(job)["DelayBoot"] for name, job in jobs.items()}
    assert shown == {"option": "00:00:03", "variable": "00:00:02", "default": "00:30:00"}
    for argv, variable in ((["srun"], "SLURM_DELAY_BOOT"), (["salloc"], "SALLOC_DELAY_BOOT")):
        before = set(m.c.run("squeue", "-h", "-o", "%i").out.split())
        client = subprocess.Popen([program(argv[0]), "-C", "nps4", "true"], env={**m.c.env, variable: "7"},
                                  stderr=subprocess.DEVNULL)
        wait_until(lambda: set(m.c.run("squeue", "-h", "-o", "%i").out.split()) - before, "it is queued")
        queued = (set(m.c.run("squeue", "-h", "-o", "%i").out.split()) - before).pop()
        assert m.c.job(queued)["DelayBoot"] == "00:07:00"
        m.c.run("scancel", queued)
        client.wait(30)
    m.c.run("scancel", held, other, jobs["option"], jobs["variable"])
    wait_until(lambda: m.c.job(jobs["default"])["Reason"] in ("Resources", "BadConstraints", "Priority"),
               "no node has it, and none may boot yet")
    assert not m.asked("node1") and not m.asked("node2")
    m.c.run("scontrol", "update", f"jobid={jobs['default']}", "delayboot=0")
    m.boot(wait_until(lambda: next((n for n in ("node1", "node2") if m.asked(n)), None), "a node is to boot"))
    assert m.c.wait_end(jobs["default"])["JobState"] == "COMPLETED"


def test_the_delay_ends_by_itself(machines):
    m = machines(nodes=1)
    job = m.c.sbatch("-C", "nps2", "--delay-boot=0:02", wrap="true")
    assert m.c.job(job)["JobState"] == "PENDING" and not m.asked("node1")
    m.boot("node1")
    assert m.c.wait_end(job)["JobState"] == "COMPLETED"


def test_update_of_reboot(machines):
    """scontrol update Reboot=1 of a waiting job: its node boots, with the features that it has."""
    m = machines(nodes=1)
    job = m.c.sbatch("-H", wrap="true")
    m.c.run("scontrol", "update", f"jobid={job}", "reboot=1")
    m.c.run("scontrol", "release", job)
    wait_until(lambda: m.asked("node1") == [""], "the node is to boot")
    m.boot("node1", well=False)
    assert m.c.wait_end(job)["JobState"] == "COMPLETED"


def test_what_excludes_itself_is_refused(machines):
    m = machines()
    assert "Invalid feature specification" in m.c.refused("sbatch", "-C", "nps1&nps4", "--wrap=true")
    assert "Invalid feature specification" in m.c.refused("sbatch", "-C", "nps8", "--wrap=true")
    job = m.c.sbatch("-C", "nps4&turbo", wrap="true")
    wait_until(lambda: m.asked("node1") == ["nps4,turbo"], "both are asked for")
    m.c.run("scancel", job)


def test_users_who_may_not_boot(machines):
    m = machines(helpers=CONF + "AllowUserBoot=nobody\n")
    assert "Requested node configuration is not available" in m.c.refused("sbatch", "-C", "nps4", "--wrap=true")
    assert m.c.wait_end(m.c.sbatch("-C", "nps1", wrap="true"))["JobState"] == "COMPLETED"


def test_a_boot_that_fails(machines):
    """Without the features the node is drained and the job goes elsewhere; a helper that fails lets no node boot."""
    m = machines(helpers=CONF.replace("BootTime=60", "BootTime=4"))
    job = m.c.sbatch("-C", "nps4", wrap="true")
    m.boot("node1", well=False)
    wait_until(lambda: "Reason=booted without the features nps4 [" in m.show("node1"), "the node is drained")
    m.boot("node2")
    assert m.c.wait_end(job)["NodeList"] == "node2"
    m.script("nps", "exit 1")
    job = m.c.sbatch("-C", "nps2", wrap="true")
    wait_until(lambda: "Reason=reboot timed out [" in m.show("node2"), "the node did not boot", 30)
    assert not m.asked("node2")
    assert "no boot with the features nps2: a Helper failed" in m.c.logs("slurmd-node2")
    m.c.run("scancel", job)


def test_helpers_conf_is_checked(make_cluster, tmp_path):
    c = make_cluster(nodes=1, start=False, conf="NodeFeaturesPlugins=node_features/knl")
    assert "node_features/knl is not available" in c.run("slurmctld", "--check", "-f", str(c.conf), check=False).out
    c = make_cluster(nodes=1, start=False, conf="NodeFeaturesPlugins=node_features/helpers")
    for line, words in (("Feature=a", "Feature and Helper need each other"), ("Feature=a|b Helper=/bin/true", "is no name of a feature"),
                        ("BootTime=x", "BootTime"), ("Nonsense=1", "Nonsense")):
        (c.conf.parent / "helpers.conf").write_text(line + "\n")
        answer = c.run("slurmctld", "--check", "-f", str(c.conf), check=False)
        assert words in answer.out + answer.err, line
