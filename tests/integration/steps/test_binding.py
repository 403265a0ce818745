"""Tasks and CPUs: --cpu-bind on the machine itself.  (Which masks: tests/unit/test_cpubind.c, after Debian's Slurm.)"""

import os
import re
import socket

import pytest

from conftest import Cluster, wait_until

HOST = socket.gethostname().split(".")[0]
AFFINITY = "grep Cpus_allowed_list /proc/self/status"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A cluster of this machine as it is."""
    c = Cluster(tmp_path_factory.mktemp("bind"), nodes=1)
    shape = c.run("slurmd", "-C").out.split("\n")[0].split(None, 1)[1]
    text = re.sub(r"^NodeName=.*$", f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} {shape} State=UNKNOWN",
                  c.conf_text(), flags=re.M)
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
    assert machine.run("srun", "-n1", "--cpu-bind=mask_cpu:1", "--exclusive", *words).out == \
        "quiet,mask_cpu:0x1 mask_cpu: 0x1 quiet\n"
    width = (machine.shape["CPUs"] + 3) // 4
    assert machine.run("srun", "-n1", "--cpu-bind=threads", *words).out == \
        f"quiet,mask_cpu:0x{1:0{width}X} mask_cpu: 0x{1:0{width}X} quiet\n"


def test_defaults_of_node_and_partition(machine):
    """CpuBind of the partition, of the node before that, and an option before both."""
    if machine.shape["CPUs"] < 2 or len(os.sched_getaffinity(0)) < machine.shape["CPUs"]:
        pytest.skip("this machine lets us use one CPU only")

    def places(*options):
        return len(set(allowed(machine.run("srun", "-n2", *options, *AFFINITY.split()).out)))

    try:
        assert places("--cpu-bind=none") == 1 and places("--cpu-bind=threads") == 2
        machine.run("scontrol", "update", "partitionname=main", "cpubind=none")
        assert places() == 1
        assert places("--cpu-bind=verbose") == 1, "verbose says nothing of where"
        assert places("--cpu-bind=threads") == 2
        machine.run("scontrol", "update", f"nodename={HOST}", "cpubind=thread")
        assert places() == 2
        assert places("--cpu-bind=none") == 1
        machine.run("scontrol", "update", f"nodename={HOST}", "cpubind=off")
        assert places() == 1
    finally:
        machine.run("scontrol", "update", f"nodename={HOST}", "cpubind=off")
        machine.run("scontrol", "update", "partitionname=main", "cpubind=off")


def test_defaults_in_the_file(machine):
    """CpuBind in slurm.conf, read again; what the file does not change stays as it was set since."""
    def shown():
        return re.findall(r"CpuBind=(\w+)", machine.run("scontrol", "show", "node", HOST).out)

    text = machine.conf.read_text()
    try:
        machine.write_conf(text.replace("State=UNKNOWN", "CpuBind=core State=UNKNOWN", 1))
        machine.run("scontrol", "reconfigure")
        wait_until(lambda: shown() == ["cores"], "the file is read")
        machine.run("scontrol", "update", f"nodename={HOST}", "cpubind=thread")
        machine.run("scontrol", "reconfigure")
        assert shown() == ["threads"]
    finally:
        machine.write_conf(text)
        machine.run("scontrol", "reconfigure")
    wait_until(lambda: shown() == [], "the file has none")


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
    assert done.rc == 1 and done.err == (
        f'srun: error: unrecognized --cpu-bind argument "{text}"\nsrun: fatal: Failed to parse --cpu-bind= values.\n')


def test_help(machine):
    assert "map_cpu:LIST" in machine.run("srun", "--cpu-bind=help").out


def test_nodes_made_of_configuration_are_not_bound(cluster):
    """Several nodes on one machine would all use its first CPUs."""
    done = cluster.run("srun", "-n1", "--cpu-bind=verbose,threads", *AFFINITY.split())
    ours = [line for line in open("/proc/self/status").read().splitlines() if line.startswith("Cpus_allowed_list")]
    assert done.err == "" and done.out.splitlines() == ours


# ---- memory ----------------------------------------------------------------------------------------

POLICY = ["sh", "-c", "grep -c ' bind:0' /proc/self/numa_maps; echo $SLURM_MEM_BIND"]


def test_memory_of_a_domain(machine):
    if not os.path.exists("/proc/self/numa_maps"):
        pytest.skip("this kernel knows no NUMA domains")
    done = machine.run("srun", "-n1", "--mem-bind=verbose,map_mem:0", *POLICY)
    count, text = done.out.splitlines()
    assert int(count) > 0 and text == "verbose,map_mem:0"
    assert re.fullmatch(rf"mem-bind=MAP - {HOST}, task  0  0 \[\d+\]: mask 0x1 set\n", done.err), done.err
    count, text = machine.run("srun", "-n1", "--mem-bind=local", *POLICY).out.splitlines()
    assert int(count) > 0 and text == "quiet,local"
    count, text = machine.run("srun", "-n1", "--mem-bind=none", *POLICY, check=False).out.splitlines()
    assert int(count) == 0 and text == "quiet,none"
    preferred = ["sh", "-c", "grep -c ' prefer' /proc/self/numa_maps; echo $SLURM_MEM_BIND_PREFER $SLURM_MEM_BIND_TYPE"]
    count, text = machine.run("srun", "-n1", "--mem-bind=prefer,mask_mem:0x1", *preferred).out.splitlines()
    assert int(count) > 0 and text == "prefer mask_mem:"


def test_memory_of_tasks_within(machine):
    """What tasks of a step were asked for is what steps within ask for; a script knows what its job asked for."""
    job = machine.sbatch("-n1", "--mem-bind=sort,map_mem:0",
                         wrap="echo $SBATCH_MEM_BIND $SBATCH_MEM_BIND_TYPE $SBATCH_MEM_BIND_LIST $SBATCH_MEM_BIND_SORT "
                              "$SBATCH_MEM_BIND_VERBOSE; srun -n1 --mem-bind=local sh -c 'srun --overlap -n1 env | grep ^SLURM_MEM_BIND='")
    machine.wait_end(job)
    assert machine.out(job) == "quiet,sort,map_mem:0 map_mem: 0 sort quiet\nSLURM_MEM_BIND=quiet,local\n"


def test_memory_that_is_not_there(machine):
    done = machine.run("srun", "-n1", "--mem-bind=map_mem:999", "true", check=False)
    assert done.rc == 1 and "Unable to satisfy mem bind request" in done.err
    assert "--mem-bind names a NUMA domain that the node does not have" in done.err
    done = machine.run("srun", "--mem-bind=far", "true", check=False)
    assert (done.rc, done.err) == (255, 'srun: error: unrecognized --mem-bind argument "far"\n')
    assert "map_mem:LIST" in machine.run("srun", "--mem-bind=help").out


@pytest.mark.parametrize("made_up, shape", [
    ("pack:2 core:3 pu:1", "CPUs=6 Boards=1 SocketsPerBoard=2 CoresPerSocket=3 ThreadsPerCore=1"),
    ("pack:1 core:4 pu:2", "CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2"),
    ("pack:1 core:1 pu:1", "CPUs=1 Boards=1 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=1"),
])
def test_shapes(machine, made_up, shape):
    out = machine.run("slurmd", "-C", env={"HWLOC_SYNTHETIC": made_up, "HWLOC_THISSYSTEM": "1"}).out
    assert shape in out


def test_two_domains(tmp_path):
    """A machine of two domains, as hwloc describes one; its kernel has the first alone, and says so."""
    c = Cluster(tmp_path, nodes=1)
    made_up = {"HWLOC_SYNTHETIC": "pack:2 [numa(memory=1GB)] core:2 pu:2", "HWLOC_THISSYSTEM": "1"}
    c.daemon_env_change.update(made_up)
    shape = c.run("slurmd", "-C", env=made_up).out.split("\n")[0].split(None, 1)[1]
    text = re.sub(r"^NodeName=.*$", f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} {shape} State=UNKNOWN",
                  c.conf_text(), flags=re.M)
    c.write_conf(text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity").replace("SlurmdParameters=config_overrides\n", ""))
    c.node_names = [HOST]
    try:
        c.start()
        for kind, name in (("local", "LOC"), ("rank", "RANK"), ("map_mem:0,1", "MAP"), ("mask_mem:1,2", "MASK")):
            err = c.run("srun", "-n2", "-c4", "--cpu-bind=sockets", f"--mem-bind=verbose,{kind}", "true").err
            masks = dict(re.findall(rf"mem-bind={name} - {HOST}, task  (\d)  \d \[\d+\]: mask 0x(\d) (?:set|FAILED)\n", err))
            assert masks == {"0": "1", "1": "2"}, err
    finally:
        problems = c.stop()
    assert problems == []


EPYC = "pack:2 [numa(memory=1GB)] group:2 l3:2 core:2 pu:2"


@pytest.mark.parametrize("made_up, word, shape", [
    (EPYC, None, "CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=8"),
    ("pack:2 numa:2(memory=1GB) l3:2 core:2 pu:2", "l3cache_as_socket", "CPUs=32 Boards=1 SocketsPerBoard=8 CoresPerSocket=2"),
    ("pack:2 numa:2(memory=1GB) l3:2 core:2 pu:2", "numa_node_as_socket", "CPUs=32 Boards=1 SocketsPerBoard=4 CoresPerSocket=4"),
    ("pack:2 l3:1 core:2 pu:1", "L3Cache_as_socket", "CPUs=4 Boards=1 SocketsPerBoard=2 CoresPerSocket=2"),
    ("pack:2 core:2 pu:1", "l3cache_as_socket", "CPUs=4 Boards=1 SocketsPerBoard=2 CoresPerSocket=2"),
])
def test_what_counts_as_a_socket(machine, made_up, word, shape):
    """A cache of the third level, or a NUMA node; packages where there are none."""
    option = ["--parameters", word] if word else []
    out = machine.run("slurmd", "-C", *option, env={"HWLOC_SYNTHETIC": made_up, "HWLOC_THISSYSTEM": "1"}).out
    assert shape in out


@pytest.mark.parametrize("where", ["line", "cluster"])
def test_a_node_of_caches(tmp_path, where):
    """The node registers what its configuration says of it, caches as sockets, and steps are bound to these."""
    c = Cluster(tmp_path, nodes=1)
    made_up = {"HWLOC_SYNTHETIC": "pack:1 l3:2 core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
    c.daemon_env_change.update(made_up)
    line = (f"NodeName={HOST} NodeAddr=127.0.0.1 Port={c.node_ports[0]} "
            "CPUs=2 Sockets=2 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=1000 ")
    words = "l3cache_as_socket"
    text = re.sub(r"^NodeName=.*$", line + (f"Parameters={words} " if where == "line" else "") + "State=UNKNOWN", c.conf_text(), flags=re.M)
    text = text.replace("SlurmdParameters=config_overrides\n", f"SlurmdParameters={words}\n" if where == "cluster" else "")
    c.write_conf(text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity"))
    c.node_names = [HOST]
    try:
        c.start()
        shown = c.run("scontrol", "show", "node", HOST).out
        assert "CoresPerSocket=1" in shown and "Sockets=2" in shown and "State=IDLE" in shown
        err = c.run("srun", "-n2", "--cpu-bind=verbose,sockets", "true").err
        assert sorted(re.findall(r"mask (0x\d) set", err)) == ["0x1", "0x2"], err
    finally:
        problems = c.stop()
    assert problems == []
