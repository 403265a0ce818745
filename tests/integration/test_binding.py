"""Tasks and CPUs: --cpu-bind on the machine itself.  (Which masks: tests/unit/test_cpubind.c, after Debian's Slurm.)"""

import os
import re
import socket

import pytest

from conftest import Cluster

HOST = socket.gethostname().split(".")[0]
AFFINITY = "grep Cpus_allowed_list /proc/self/status"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A cluster of this machine as it is."""
    c = Cluster(tmp_path_factory.mktemp("bind"), nodes=1)
    shape = c.run("slurmd", "-C").out.split("\n")[0].split(None, 1)[1]
    text = re.sub(r"^NodeName=.*$", f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} {shape} State=UNKNOWN", c.conf_text(), flags=re.M)
    c.write_conf(text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity").replace("SlurmdParameters=config_overrides\n", ""))
    c.node_names = [HOST]
    c.start()
    c.shape = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", shape)}
    yield c
    c.stop()


def allowed(text):
    return sorted(line.split()[1] for line in text.splitlines())


def test_each_task_its_cpu(machine):
    if machine.shape["CPUs"] < 2 or len(os.sched_getaffinity(0)) < machine.shape["CPUs"]:
        pytest.skip("this machine lets us use one CPU only")
    done = machine.run("srun", "-n2", "--cpu-bind=verbose,threads", *AFFINITY.split())
    cpus = allowed(done.out)
    assert len(set(cpus)) == 2 and all(cpu.isdigit() for cpu in cpus)
    masks = dict(re.findall(rf"cpu-bind=MASK - {HOST}, task  (\d)  \d \[\d+\]: mask 0x([0-9a-f]+) set\n", done.err))
    assert sorted(int(mask, 16) for mask in masks.values()) == sorted(1 << int(cpu) for cpu in cpus), done.err
    assert allowed(machine.run("srun", "-n2", "--cpu-bind=none", *AFFINITY.split()).out)[0] != cpus[0]


def test_environment_says_it(machine):
    words = ["sh", "-c", "echo $SLURM_CPU_BIND $SLURM_CPU_BIND_TYPE $SLURM_CPU_BIND_LIST $SLURM_CPU_BIND_VERBOSE"]
    assert machine.run("srun", "-n1", "--cpu-bind=map_cpu:0", "--exclusive", *words).out == "quiet,map_cpu:0 map_cpu: 0 quiet\n"
    width = (machine.shape["CPUs"] + 3) // 4
    assert machine.run("srun", "-n1", "--cpu-bind=threads", *words).out == \
        f"quiet,mask_cpu:0x{1:0{width}X} mask_cpu: 0x{1:0{width}X} quiet\n"


def test_a_batch_script_has_its_job_s_cpus(machine):
    job = machine.sbatch("-n1", wrap=AFFINITY)
    machine.wait_end(job)
    cores = machine.shape["ThreadsPerCore"]
    assert len(allowed(machine.out(job))[0].replace("-", ",").split(",")) == min(cores, 2)


def test_outside_is_refused(machine):
    done = machine.run("srun", "-n1", f"--cpu-bind=map_cpu:{machine.shape['CPUs']}", "true", check=False)
    assert done.rc == 1 and "CPU binding outside of job step allocation, allocated CPUs are: 0x" in done.err
    assert "Unable to satisfy cpu bind request" in done.err


@pytest.mark.parametrize("text", ["core-wise", "map_cpu:", "mask_cpu:xyz", "map_cpu:1,,2"])
def test_bad_words(machine, text):
    done = machine.run("srun", f"--cpu-bind={text}", "true", check=False)
    assert done.rc == 1 and f"Invalid --cpu-bind argument: {text}\n" in done.err and "--cpu-bind=help" in done.err


def test_help(machine):
    assert "map_cpu:LIST" in machine.run("srun", "--cpu-bind=help").out


def test_nodes_made_of_configuration_are_not_bound(cluster):
    """Several nodes on one machine would all use its first CPUs."""
    done = cluster.run("srun", "-n1", "--cpu-bind=verbose,threads", *AFFINITY.split())
    ours = [line for line in open("/proc/self/status").read().splitlines() if line.startswith("Cpus_allowed_list")]
    assert done.err == "" and done.out.splitlines() == ours
