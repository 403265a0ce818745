"""--cpu-freq on a machine of files: what steps write into the kernel's folder of each CPU, and what is there after them."""

import re
import socket

import pytest

from conftest import Cluster

HOST = socket.gethostname().split(".")[0]
STEPS = "3000000 2000000 1000000"


class Machine:
    """A cluster of this machine whose files of frequencies are ours."""

    def __init__(self, path, conf=""):
        self.c = c = Cluster(path, nodes=1)
        shape = c.run("slurmd", "-C").out.split("\n")[0].split(None, 1)[1]
        text = re.sub(r"^NodeName=.*$", f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} {shape} State=UNKNOWN",
                      c.conf_text(), flags=re.M)
        text = text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity")
        c.write_conf(text.replace("SlurmdParameters=config_overrides\n", f"SlurmdParameters=devices_root={c.dir}/machine\n") + conf)
        c.node_names = [HOST]
        self.cpus = range(int(re.search(r"CPUs=(\d+)", shape).group(1)))
        self.reset()
        c.start()

    def file(self, cpu, name):
        return self.c.dir / f"machine/sys/devices/system/cpu/cpu{cpu}/cpufreq" / name

    def reset(self, governors="ondemand performance userspace", steps=STEPS):
        for cpu in self.cpus:
            self.file(cpu, "x").parent.mkdir(parents=True, exist_ok=True)
            for name, text in {"scaling_governor": "ondemand", "scaling_min_freq": "1000000", "scaling_max_freq": "3000000",
                               "cpuinfo_min_freq": "1000000", "cpuinfo_max_freq": "3000000", "scaling_setspeed": "none",
                               "scaling_available_governors": governors, "scaling_available_frequencies": steps}.items():
                self.file(cpu, name).write_text(text + "\n")
            if not steps:
                self.file(cpu, "scaling_available_frequencies").unlink()

    def state(self, cpu=0):
        return [self.file(cpu, f"scaling_{name}").read_text().strip() for name in ("governor", "min_freq", "max_freq", "setspeed")]

    def seen(self, *options, command="srun"):
        """What a step with these options finds, and its standard error."""
        names = " ".join(f"scaling_{name}" for name in ("governor", "min_freq", "max_freq", "setspeed"))
        done = self.c.run(command, "-n1", "--exclusive", *options, "sh", "-c", f"cd {self.file(0, 'x').parent}; for f in {names}; do echo $(cat $f); done")
        return done.out.split(), done.err


IDLE = ["ondemand", "1000000", "3000000"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    m = Machine(tmp_path_factory.mktemp("freq"))
    yield m
    m.c.stop()


@pytest.mark.parametrize("asked, found", [
    ("2000000", ["userspace", "1000000", "3000000", "2000000"]),
    ("1900000", ["userspace", "1000000", "3000000", "2000000"]),  # the nearest that there is
    ("highm1", ["userspace", "1000000", "3000000", "2000000"]),
    ("low", ["userspace", "1000000", "3000000", "1000000"]),
    ("low-medium", ["ondemand", "1000000", "2000000", "none"]),
    ("2000000-high:Performance", ["performance", "2000000", "3000000", "none"]),
    ("Performance", ["performance", "1000000", "3000000", "none"]),
])
def test_step_has_it_and_gives_it_back(machine, asked, found):
    machine.reset()
    assert machine.seen(f"--cpu-freq={asked}") == (found, "")
    assert machine.state()[:3] == IDLE


def test_variable_asks_too(machine):
    machine.reset()
    machine.c.env["SLURM_CPU_FREQ_REQ"] = "high"
    try:
        assert machine.seen()[0] == ["userspace", "1000000", "3000000", "3000000"]
    finally:
        del machine.c.env["SLURM_CPU_FREQ_REQ"]


def test_steps_of_an_allocation_inherit_it(machine):
    machine.reset()
    done = machine.c.run("salloc", "-n1", "--exclusive", "--cpu-freq=low-medium", "srun", "cat", machine.file(0, "scaling_max_freq"))
    assert done.out == "2000000"


def test_without_userspace_the_bounds_meet(machine):
    machine.reset(governors="performance powersave", steps="")
    assert machine.seen("--cpu-freq=1500000")[0] == ["ondemand", "1500000", "1500000", "none"]
    assert machine.seen("--cpu-freq=medium")[0][1:3] == ["2000000", "2000000"]
    assert machine.state()[:3] == IDLE


def test_what_cannot_be_is_told(machine):
    machine.reset(governors="performance powersave")
    found, err = machine.seen("--cpu-freq=powersave")
    assert found[:3] == IDLE and "error: --cpu-freq: CpuFreqGovernors does not have the governor powersave" in err
    found, err = machine.seen("--cpu-freq=low:userspace")
    assert found[:3] == IDLE and f"error: --cpu-freq: CPU 0 of node {HOST} has no governor userspace" in err
    found, err = machine.seen("--cpu-freq=high-low")
    assert found[:3] == IDLE and f"CPU 0 of node {HOST} has no frequency from 3000000 to 1000000 kHz" in err


def test_nodes_that_have_no_frequencies_say_nothing(make_cluster, tmp_path):
    """Virtual machines, and nodes whose TaskPlugin binds nothing: scripts with the option run there as anywhere."""
    for plugin in ("none", "affinity"):
        c = make_cluster(start=False, nodes=1, conf=f"TaskPlugin=task/{plugin}")
        (c.dir / "machine").mkdir()
        c.write_conf(c.conf_text().replace("SlurmdParameters=config_overrides\n", f"SlurmdParameters=devices_root={c.dir}/machine\n"))
        c.start()
        done = c.run("srun", "--cpu-freq=low", "echo", "ran")
        assert (done.out, done.err) == ("ran\n", ""), plugin


def test_value_of_another_stays(machine):
    """What was set after the step began is not undone at its end."""
    machine.reset()
    machine.c.run("srun", "-n1", "--exclusive", "--cpu-freq=low-medium", "sh", "-c", f"echo performance > {machine.file(0, 'scaling_governor')}")
    assert machine.state()[0] == "performance"


def test_batch_scripts_are_left_alone(machine):
    machine.reset()
    job = machine.c.sbatch("-n1", "--exclusive", "--cpu-freq=low", "-o", "freq.out",
                           wrap=f"cat {machine.file(0, 'scaling_governor')}; srun cat {machine.file(0, 'scaling_governor')}; echo")
    machine.c.wait_end(job)
    assert (machine.c.work / "freq.out").read_text() == "ondemand\nuserspace\n"


def test_configuration(tmp_path):
    """CpuFreqDef is for steps that ask for nothing and may name any governor; batch_step_set_cpu_freq is for scripts."""
    m = Machine(tmp_path, "CpuFreqDef=powersave\nCpuFreqGovernors=performance\nLaunchParameters=batch_step_set_cpu_freq\n")
    try:
        m.reset(governors="performance powersave userspace")
        assert m.seen()[0][0] == "powersave"
        assert m.seen("--cpu-freq=performance")[0][0] == "performance"
        assert "CpuFreqGovernors does not have the governor userspace" in m.seen("--cpu-freq=low:userspace")[1]
        assert m.seen("--cpu-freq=low")[0][:3] == ["ondemand", "1000000", "1000000"]  # users may not choose userspace
        job = m.c.sbatch("-n1", "--exclusive", "--cpu-freq=performance", "-o", "freq.out", wrap=f"cat {m.file(0, 'scaling_governor')}")
        m.c.wait_end(job)
        assert (m.c.work / "freq.out").read_text().strip() == "performance"
        assert m.state()[:3] == IDLE
    finally:
        m.c.stop()
