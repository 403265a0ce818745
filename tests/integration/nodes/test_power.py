"""Power saving: idle nodes are powered down, jobs power them up; programs that fail, hang, come late; a killed controller.

The nodes are slurmds of this machine, which the programs of examples/cloud start and end."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cluster, program, wait_until

POWER = "SlurmctldParameters=power_save_interval=1"
TIMES = "SuspendTimeout=1 ResumeTimeout=10".replace(" ", "\n")


class Cloud(Cluster):
    """Cloud nodes cl1..n, whose daemons come and go with the programs in `programs`."""

    def __init__(self, folder, clouds=3, suspend_time="INFINITE", times=TIMES, conf="", node="", nodes=0, partition="",
                 addr="127.0.0.1", containers="no"):
        self.addr = addr
        self.clouds, self.cloud_node = [f"cl{i + 1}" for i in range(clouds)], node
        self.programs = Path(folder) / "programs"
        self.power_conf = f"{POWER}\nSuspendTime={suspend_time}\n{times}\n{conf}"
        super().__init__(folder, nodes=nodes + clouds, partition=partition)
        self.node_names, self.cloud_ports = self.node_names[:nodes], self.node_ports[nodes:]
        shutil.copytree(ROOT / "examples" / "cloud", self.programs)
        (self.programs / "settings").write_text(
            f"SLURMD={program('slurmd')}\nSCONTROL={program('scontrol')}\nCONTAINERS={containers}\n")
        self.write_conf()

    def conf_text(self):
        if not hasattr(self, "cloud_ports"):
            return ""
        text = super().conf_text().replace("PartitionName=main", "#", 1)
        lines = [self.power_conf, f"SuspendProgram={self.programs}/suspend", f"ResumeProgram={self.programs}/resume"]
        for name, port in zip(self.clouds, self.cloud_ports):
            lines.append(f"NodeName={name} NodeAddr={self.addr} Port={port} CPUs=2 RealMemory=1000 State=CLOUD {self.cloud_node}")
        lines.append(f"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP {self.partition}")
        return text + "\n".join(lines) + "\n"

    def program(self, name, body):
        """Another program in place of resume or suspend."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text("#!/bin/bash\n" + body + "\n")
        path.chmod(0o755)

    def shipped(self, name):
        (self.programs / name).unlink(missing_ok=True)
        shutil.copy(ROOT / "examples" / "cloud" / name, self.programs / name)

    def start(self):
        self.start_ctld()
        for name in self.node_names:
            self.start_slurmd(name)
        if self.node_names:
            self.wait_nodes()
        return self

    def full(self, node):
        return re.search(r"State=(\S+)", self.run("scontrol", "show", "node", node).out)[1]

    def short(self, node):
        return self.run("sinfo", "-h", "-N", "-n", node, "-o", "%t").out.split()[0]

    def wait_short(self, node, word, timeout=15):
        wait_until(lambda: self.short(node) == word, f"{node} is {word}", timeout)

    def stop(self):
        problems = super().stop()
        return [p for p in problems if "slurmd -N cl" not in p]

    def end_clouds(self):
        for path in (self.dir / "run").glob("slurmd-cl*.pid"):
            try:
                os.kill(int(path.read_text()), signal.SIGTERM)
            except (ProcessLookupError, ValueError):
                pass


@pytest.fixture
def cloud(folder):
    made = []

    def make(**options):
        c = Cloud(folder, **options)
        made.append(c)
        return c.start()
    yield make
    for c in made:
        c.end_clouds()
        problems = c.stop()
        if problems:
            print(c.logs(""))
        assert not problems, problems


def test_job_powers_nodes_up_and_idleness_down(cloud):
    c = cloud(suspend_time="2", conf="PrologSlurmctld=/bin/true")
    (c.programs / "resume").rename(c.programs / "really")
    c.program("resume", f'cp "$SLURM_RESUME_FILE" {c.dir}/told.json; cat > {c.dir}/stdin.json\n'
                        f'while [ -e {c.dir}/hold ]; do sleep 0.05; done; exec {c.programs}/really "$1"')
    (c.dir / "hold").touch()
    assert c.full("cl1") == "IDLE+CLOUD+POWERED_DOWN" and c.short("cl1") == "idle~"
    job = c.sbatch("-N2", "-t5", "--extra=hello", wrap="srun hostname; echo $SLURM_JOB_NODELIST")
    wait_until(lambda: c.short("cl1") in ("alloc#", "mix#"), "the node is on its way up")
    record = c.job(job)
    assert record["JobState"] == "CONFIGURING"
    js = json.loads(c.run("squeue", "--json", "-j", str(job)).out)["jobs"][0]
    assert set(js["job_state"]) == {"RUNNING", "CONFIGURING", "POWER_UP_NODE"}
    assert js["start_time"]["number"] + 10 + 300 == js["end_time"]["number"]  # ResumeTimeout counts for the plan
    (c.dir / "hold").unlink()
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert "cl[1-2]" in c.out(job)
    told = json.loads((c.dir / "told.json").read_text())
    assert told == json.loads((c.dir / "stdin.json").read_text())
    assert told["all_nodes_resume"] == "cl[1-2]"
    assert told["jobs"] == [{"job_id": job, "extra": "hello", "features": None, "nodes_alloc": "cl[1-2]",
                             "nodes_resume": "cl[1-2]", "oversubscribe": "OK", "exclusive": "NO", "partition": "main",
                             "reservation": None}]
    assert c.short("cl3") == "idle~"
    c.wait_short("cl1", "idle~")
    c.wait_short("cl2", "idle~")
    assert not (c.dir / "run/slurmd-cl1.pid").exists()


def test_nodes_of_one_need_are_told_together(cloud):
    """The rates hold for a minute: a program hears of the nodes of a big job in one call, not of a few at each pass."""
    c = cloud(clouds=8, times="SuspendTimeout=1\nResumeTimeout=60\nResumeRate=60")
    told = c.dir / "resume.told"
    c.program("resume", f'echo "$1" >> {told}')
    c.sbatch("-N8", wrap="true")
    wait_until(lambda: told.exists() and told.read_text(), "the program was called")
    assert told.read_text() == "cl[1-8]\n"


def test_operators(cloud):
    c = cloud(nodes=1, times="SuspendTimeout=1\nResumeTimeout=1")
    c.program("resume", "exit 0")
    c.run("scontrol", "update", "nodename=cl1", "state=power_up")
    c.wait_short("cl1", "idle#")
    assert c.full("cl1") == "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP"
    assert c.refused("scontrol", "update", "nodename=cl1", "state=resume") == \
        "slurm_update error: Invalid node state transition\n"
    c.run("scontrol", "update", "nodename=cl1", "state=power_down")
    c.wait_short("cl1", "down~")  # never came: transcript 49
    assert "Reason=ResumeTimeout reached [" in c.run("scontrol", "show", "node", "cl1").out
    job = c.sbatch("-w", "cl1", wrap="true")
    wait_until(lambda: "UnavailableNodes:cl1" in c.run("squeue", "-h", "-o", "%r").out, "the job waits for the node")
    c.run("scancel", str(job))
    c.run("scontrol", "power", "down", "asap", "cl2", "reason=why")
    assert c.full("cl2") == "IDLE+CLOUD+DRAIN+POWER_DOWN+POWERED_DOWN" or c.short("cl2") == "idle%"
    c.wait_short("cl2", "idle%")
    c.wait_short("cl2", "idle~")
    c.run("scontrol", "power", "down", "node1")  # any node can lose its power
    c.wait_short("node1", "idle~")
    c.run("scontrol", "update", "nodename=cl1", "state=resume")
    assert c.short("cl1") == "idle~"
    assert c.run("sinfo", "-h", "-t", "powered_down", "-o", "%N").out == "cl[1-3],node1\n"
    c.run("scontrol", "update", "suspendexcnodes=cl1")
    c.run("scontrol", "update", "suspendexcparts=main")
    c.run("scontrol", "update", "suspendexcstates=down")
    c.run("scontrol", "update", "suspendexcnodes+=cl2")
    shown = [line for line in c.run("scontrol", "show", "config").out.splitlines() if "SuspendExc" in line]
    assert shown == ["SuspendExcNodes         = cl[1-2]", "SuspendExcParts         = main", "SuspendExcStates        = down"]
    assert "not a list of nodes" in c.refused("scontrol", "update", "suspendexcnodes=cl[1")
    assert "is not CLOUD, DOWN" in c.refused("scontrol", "update", "suspendexcstates=hot")
    c.run("scontrol", "reconfigure")
    assert "SuspendExcNodes         = (null)" in c.run("scontrol", "show", "config").out
    line = c.run("scontrol", "-o", "show", "partition").out
    assert "ResumeTimeout=GLOBAL SuspendTimeout=GLOBAL SuspendTime=GLOBAL PowerDownOnIdle=NO" in line


def test_programs_that_fail(cloud):
    """A node that does not come is DOWN, its job waits again, ResumeFailProgram is told; a late one comes back."""
    c = cloud(times="SuspendTimeout=1\nResumeTimeout=1",
              conf="ResumeFailProgram={programs}/failed")
    c.conf.write_text(c.conf.read_text().replace("{programs}", str(c.programs)))
    c.program("failed", f'echo "$1" >> {c.dir}/failed')
    c.run("scontrol", "reconfigure")
    c.program("resume", 'kill -9 $$')
    job = c.sbatch("-w", "cl1", "--no-kill", wrap="true")
    c.wait_short("cl1", "down~")
    wait_until(lambda: (c.dir / "failed").exists(), "ResumeFailProgram ran")
    assert (c.dir / "failed").read_text() == "cl1\n"
    assert c.wait_state(job, "PENDING")["Restarts"] == "1"
    assert c.run("sinfo", "-h", "-n", "cl2", "-o", "%t").out == "idle~\n"
    # late: its slurmd comes after all, and the job runs on it
    c.shipped("resume")
    subprocess.run([program("slurmd"), "-N", "cl1", "-f", str(c.conf)], env=c.env, check=True, timeout=20)
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    # a SuspendProgram that fails leaves the node on, and says so
    c.program("suspend", "exit 3")
    c.run("scontrol", "power", "down", "cl1")
    c.wait_short("cl1", "idle%")
    c.wait_short("cl1", "idle")
    assert "SuspendProgram failed, and the node is still on" in c.logs("slurmctld")
    c.shipped("suspend")
    c.run("scontrol", "power", "down", "cl1")
    c.wait_short("cl1", "idle~")


def test_program_that_lies(cloud):
    """SuspendProgram ends well and leaves slurmd running: the node is not taken for off, the program is called again."""
    c = cloud(clouds=1)
    (c.programs / "suspend").rename(c.programs / "really")
    c.program("suspend", f'echo x >> {c.dir}/calls; [ $(wc -l < {c.dir}/calls) -lt 2 ] || exec {c.programs}/really "$1"')
    c.wait_end(c.sbatch(wrap="true"))
    pid = c.dir / "run/slurmd-cl1.pid"
    assert pid.exists()
    c.run("scontrol", "power", "down", "cl1")
    wait_until(lambda: not pid.exists(), "slurmd is ended", 30)
    c.wait_short("cl1", "idle~")
    assert (c.dir / "calls").read_text() == "x\n" * 2
    assert "it is powered down, and its slurmd is still there" in (c.dir / "log/slurmctld.log").read_text()
    assert c.wait_end(c.sbatch(wrap="true"))["JobState"] == "COMPLETED"  # it comes up again as ever


def test_program_that_does_nothing(cloud):
    """SuspendProgram leaves slurmd running for ever: it is called ever more seldom, and the node is shown powered down between."""
    c = cloud(clouds=1, times="SuspendTimeout=1\nResumeTimeout=20")
    c.program("suspend", f"date +%s.%N >> {c.dir}/calls")
    c.wait_end(c.sbatch(wrap="true"))
    c.run("scontrol", "power", "down", "cl1")
    calls = wait_until(lambda: (got := (c.dir / "calls").read_text().split() if (c.dir / "calls").exists() else [])[4:] and got,
                       "five calls", 60)
    assert float(calls[4]) - float(calls[1]) >= 8  # 2 + 3 + 5 seconds, less than one for the pass that calls
    c.wait_short("cl1", "idle~")


def test_controller_killed(cloud):
    """Killed while programs run: they run again, every node ends in a true state, no job is lost."""
    c = cloud(clouds=4, times="SuspendTimeout=2\nResumeTimeout=10")
    c.shipped("resume")
    (c.programs / "resume").rename(c.programs / "really")
    c.program("resume", f'echo "$1" >> {c.dir}/asked\nwhile [ -e {c.dir}/hold ]; do sleep 0.1; done\nexec {c.programs}/really "$1"')
    (c.dir / "hold").touch()
    jobs = [c.sbatch("-w", f"cl{i}", wrap="true") for i in (1, 2)]
    wait_until(lambda: (c.dir / "asked").exists(), "ResumeProgram runs")
    c.kill_ctld()
    (c.dir / "hold").unlink()
    c.start_ctld()
    for job in jobs:
        assert c.wait_end(job)["JobState"] == "COMPLETED"
    asked = (c.dir / "asked").read_text().splitlines()
    assert len(asked) >= 2, asked
    c.run("scontrol", "power", "down", "cl[1-2]")
    wait_until(lambda: c.short("cl1").endswith("%"), "the nodes are on their way down")
    c.kill_ctld()
    c.start_ctld()
    for node in ("cl1", "cl2"):
        c.wait_short(node, "idle~")
        wait_until(lambda: not (c.dir / f"run/slurmd-{node}.pid").exists(), f"slurmd of {node} is ended")
    assert c.run("penstock", "journal", "verify", str(c.dir / "state"), check=False).rc == 0


def test_slow_partition(cloud):
    """ResumeTimeout of a partition is also what a program has that a second controller runs again."""
    c = cloud(clouds=1, times="SuspendTimeout=2\nResumeTimeout=2", partition="ResumeTimeout=30")
    (c.programs / "resume").rename(c.programs / "really")
    c.program("resume", f'echo "$1" >> {c.dir}/asked\nif [ $(wc -l < {c.dir}/asked) = 1 ]; then\n'
              f'while [ -e {c.dir}/hold ]; do sleep 0.1; done; exit 1\nfi\nsleep 5\nexec {c.programs}/really "$1"')
    (c.dir / "hold").touch()
    job = c.sbatch(wrap="true")
    wait_until(lambda: (c.dir / "asked").exists(), "ResumeProgram runs")
    c.kill_ctld()
    (c.dir / "hold").unlink()
    c.start_ctld()
    assert c.wait_end(job, 40)["JobState"] == "COMPLETED"
    assert c.job(job)["Restarts"] == "0"


def test_wait_all_nodes(cloud):
    """A script starts when its own node is up, with --wait-all-nodes=1 when all are."""
    c = cloud(clouds=4)
    (c.programs / "resume").rename(c.programs / "really")
    c.program("resume", f'{c.programs}/really cl1; {c.programs}/really cl3\n'
                        f'while [ -e {c.dir}/hold ]; do sleep 0.05; done; exec {c.programs}/really "$1"')
    (c.dir / "hold").touch()
    early = c.sbatch("-w", "cl[1-2]", wrap="touch early")
    late = c.sbatch("-w", "cl[3-4]", "--wait-all-nodes=1", wrap="touch late")
    wait_until((c.work / "early").exists, "the script started without cl2")
    c.wait_short("cl3", "mix")
    assert c.short("cl4") == "mix#" and c.state(late) == "CONFIGURING" and not (c.work / "late").exists()
    (c.dir / "hold").unlink()
    assert c.wait_end(early)["JobState"] == "COMPLETED"
    assert c.wait_end(late)["JobState"] == "COMPLETED"
    assert (c.work / "late").exists()


def test_when_salloc_begins(cloud):
    """salloc begins at once, with --wait-all-nodes=1 or salloc_wait_nodes when all nodes are up; steps always wait."""
    c = cloud(clouds=4)
    (c.programs / "resume").rename(c.programs / "really")
    c.program("resume", f'while [ -e {c.dir}/hold ]; do sleep 0.05; done; exec {c.programs}/really "$1"')

    def first_short(node, *options, env=()):
        """The state of the node when salloc's command begins; then its step runs there."""
        (c.dir / "hold").touch()
        salloc = subprocess.Popen(
            [program("salloc"), "-w", node, *options, "bash", "-c",
             f'sinfo -h -n {node} -o %t; rm -f {c.dir}/hold; srun hostname > {c.dir}/{node}'],
            env=c.env | dict(env), cwd=c.work, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: c.short(node).endswith("#") or not (c.dir / "hold").exists(), "the node is asked for")
        if options[:1] == ("--wait-all-nodes=1",) or env:
            (c.dir / "hold").unlink()
        out, err = salloc.communicate(timeout=30)
        assert salloc.returncode == 0 and (c.dir / node).read_text(), err
        assert f"Nodes {node} are ready for job" in err
        return out.strip()
    assert first_short("cl1") in ("mix~", "mix#")
    assert first_short("cl2", "--wait-all-nodes=1") == "mix"
    assert first_short("cl3", env={"SALLOC_WAIT_ALL_NODES": "1"}) == "mix"
    c.conf.write_text(c.conf.read_text() + "SchedulerParameters=salloc_wait_nodes\n")
    c.run("scontrol", "reconfigure")
    for node in ("cl1", "cl4"):
        c.run("scontrol", "power", "down", node)
        c.wait_short(node, "idle~")
    assert first_short("cl1", "--wait-all-nodes=0") in ("mix~", "mix#")
    (c.dir / "hold").touch()
    later = subprocess.Popen([program("salloc"), "-w", "cl4", "sinfo", "-h", "-n", "cl4", "-o", "%t"],
                             env=c.env, cwd=c.work, text=True, stdout=subprocess.PIPE)
    c.wait_short("cl4", "mix#")
    assert later.poll() is None
    (c.dir / "hold").unlink()
    assert later.communicate(timeout=30)[0] == "mix\n"


def test_rest_of_the_settings(cloud):
    """Partitions and nodes have times of their own, PowerDownOnIdle, exceptions with counts."""
    c = cloud(clouds=4, times="SuspendTimeout=1\nResumeTimeout=10\nSuspendRate=0", suspend_time="1",
              conf="SuspendExcNodes=cl[1-2]:1,lc3", node="SuspendTime=INFINITE",
              partition="PowerDownOnIdle=YES ResumeTimeout=7 SuspendTime=9")
    assert "SuspendExcNodes=cl[1-2]:1,lc3: no node has 1 of these names" in c.logs("slurmctld")
    assert "SuspendTime=INFINITE" in c.run("scontrol", "show", "node", "cl1").out
    assert "ResumeTimeout=7 SuspendTimeout=GLOBAL SuspendTime=9 PowerDownOnIdle=YES" in \
        c.run("scontrol", "-o", "show", "partition", "main").out
    part = json.loads(c.run("scontrol", "--json", "show", "partition", "main").out)["partitions"][0]
    assert part["timeouts"]["resume"] == {"set": True, "infinite": False, "number": 7}
    job = c.sbatch("-N4", wrap="true")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    for node in ("cl2", "cl3", "cl4"):  # at once after the job, though their SuspendTime is infinite
        c.wait_short(node, "idle~")
    assert c.short("cl1") == "idle"
    salloc = c.run("salloc", "-w", "cl3", "srun", "hostname")  # waits until the node is up
    assert salloc.rc == 0 and salloc.out
    job = c.sbatch("-w", "cl4", "--no-requeue", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "update", "nodename=cl4", "state=power_down_force")
    c.wait_short("cl4", "idle~")
    assert c.wait_end(job)["JobState"] == "NODE_FAIL"
    job = c.sbatch("-w", "cl1", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "update", "nodename=cl1", "state=power_down_asap")
    assert c.short("cl1") == "drng!"
    assert c.run("sinfo", "-h", "-R", "-o", "%E|%N").out == "POWER_DOWN_ASAP|cl1\n"  # Debian's Slurm
    c.run("scancel", str(job))
    c.wait_short("cl1", "idle~")


def test_addresses(cloud):
    """A cloud node has the address that it registers from, until it is off; with cloud_dns that of slurm.conf."""
    c = cloud(clouds=1, addr="127.0.0.2")

    def address():
        return re.search(r"NodeAddr=(\S+)", c.run("scontrol", "show", "node", "cl1").out)[1]

    def power(way, word):
        c.run("scontrol", "power", way, "cl1")
        c.wait_short("cl1", word)
    assert address() == "127.0.0.2"
    power("up", "idle")
    assert address() == "127.0.0.1"
    assert c.run("srun", "echo", "there").out == "there\n"
    power("down", "idle~")
    assert address() == "127.0.0.2"
    c.conf.write_text(c.conf.read_text() + "SlurmctldParameters=cloud_dns,power_save_interval=1\n")
    c.run("scontrol", "reconfigure")
    power("up", "idle")
    assert address() == "127.0.0.2"
    assert c.run("srun", "echo", "there").out == "there\n"


def test_idle_on_node_suspend(cloud):
    """A node that is drained keeps that while it is off, unless the parameter says otherwise."""
    c = cloud(clouds=2)
    c.run("scontrol", "power", "up", "cl[1-2]")
    for node in c.clouds:
        c.wait_short(node, "idle")
    c.run("scontrol", "update", "nodename=cl[1-2]", "state=drain", "reason=why")
    c.run("scontrol", "power", "down", "cl1")
    wait_until(lambda: c.full("cl1") == "IDLE+CLOUD+DRAIN+POWERED_DOWN", "cl1 is off, and drained")
    c.conf.write_text(c.conf.read_text() + "SlurmctldParameters=idle_on_node_suspend,power_save_interval=1\n")
    c.run("scontrol", "reconfigure")
    c.run("scontrol", "power", "down", "cl2")
    wait_until(lambda: c.full("cl2") == "IDLE+CLOUD+POWERED_DOWN", "cl2 is off, and not drained any more")
    assert "Reason=" not in c.run("scontrol", "show", "node", "cl2").out


def test_reboot_for_a_job(cloud):
    """--reboot: the job waits until its node has booted; one that does not boot is DOWN."""
    c = cloud(clouds=1, times="SuspendTimeout=1\nResumeTimeout=3", conf="RebootProgram={programs}/reboot")
    c.conf.write_text(c.conf.read_text().replace("{programs}", str(c.programs)))
    c.program("reboot", f'export SLURM_CONF={c.conf}; setsid bash -c "{c.programs}/suspend cl1; '
                        f'touch {c.dir}/booted; {c.programs}/resume cl1" > /dev/null 2>&1 &')
    c.run("scontrol", "reconfigure")
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle")
    job = c.sbatch("--reboot", wrap=f"test -e {c.dir}/booted")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    for argv in (["srun", "--reboot"], ["salloc", "--reboot"]):  # both wait until the node is up again
        c.wait_short("cl1", "idle")  # no job has it: such a node would not be booted
        (c.dir / "booted").unlink()
        assert c.run(*argv, "test", "-e", str(c.dir / "booted")).rc == 0
    c.wait_short("cl1", "idle")
    c.program("reboot", "exit 0")
    job = c.sbatch("--reboot", wrap="true")
    assert c.wait_state(job, "CONFIGURING")["Reboot"] == "1"
    c.wait_short("cl1", "down")
    assert "Reason=reboot timed out [" in c.run("scontrol", "show", "node", "cl1").out
    assert c.wait_state(job, "PENDING")["Restarts"] == "1"


def test_made_nodes_are_off_at_once(cloud):
    """Between two passes over the power of all nodes too: a job may be sent there in the same breath."""
    c = cloud(clouds=1, conf="MaxNodeCount=8\nSlurmctldParameters=power_save_interval=60")
    c.run("scontrol", "create", "nodename=new[1-2]", "cpus=2", "realmemory=1000", "state=cloud")
    assert c.full("new1") == "IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN"
    assert c.short("new2") == "idle~"
    c.run("scontrol", "create", "nodename=later", "cpus=2", "realmemory=1000", "state=future")
    assert c.run("sinfo", "-h", "-N", "-F", "-n", "later", "-o", "%t").out == "futr\n"


def test_states_that_keep_power(cloud):
    """SuspendExcStates may name what a node shows of reservations and of the plan."""
    c = cloud(clouds=3, suspend_time="3", conf="SuspendExcStates=RESERVED")
    c.run("scontrol", "create", "reservation", "reservationname=kept", "starttime=now", "duration=60", "users=root", "nodes=cl1")
    c.run("scontrol", "power", "up", "cl[1-3]")
    for node in c.clouds:
        c.wait_short(node, "resv" if node == "cl1" else "idle")
    c.wait_short("cl3", "idle~")  # the same passes look at all nodes, lowest first
    assert c.short("cl1") == "resv"
    c.run("scontrol", "delete", "reservationname=kept")
    c.wait_short("cl1", "idle~")
