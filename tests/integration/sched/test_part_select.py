"""SelectTypeParameters of a partition, as Debian's 22.05 answers: whole sockets or cores, and memory that counts or does not."""

import re

import pytest

from conftest import wait_until

PARTS = {"none": "", "socket": "CR_Socket", "core": "CR_Core", "socketmem": "CR_Socket_Memory", "coremem": "CR_Core_Memory"}
BIG = ("-n1", "--mem=1500")


@pytest.fixture(scope="module", params=["CR_Core_Memory", "CR_Core", "CR_CPU_Memory"])
def c(request, tmp_path_factory):
    from conftest import Cluster
    c = Cluster(tmp_path_factory.mktemp("partselect"), nodes=1, cpus=8)
    text = c.conf_text().replace("Sockets=1 CoresPerSocket=8 ThreadsPerCore=1", "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2")
    text = text.replace("DefMemPerCPU=100\n", "").replace("SelectTypeParameters=CR_Core_Memory", f"SelectTypeParameters={request.param}")
    c.write_conf(text + "".join(f"PartitionName={name} Nodes=ALL" + (f" SelectTypeParameters={word}" if word else "") + "\n"
                                for name, word in PARTS.items()))
    c.select = request.param
    yield c.start()
    c.stop()


def start(c, part, *options):
    return c.sbatch("-p", part, *options, wrap="sleep 1000")


def holds(c, job):
    """CPUs and MiB that a running job has."""
    c.wait_state(job, "RUNNING")
    tres = re.search(r"AllocTRES=(\S+)", c.run("scontrol", "show", "job", job).out)[1]
    return tuple(int(m[1]) if (m := re.search(rf"\b{name}=(\d+)", tres)) else 0 for name in ("cpu", "mem"))


@pytest.mark.parametrize("part", PARTS)
def test_what_jobs_get(c, part):
    """A job of one task, and one of three with memory per CPU: sockets have two cores of two threads."""
    word = PARTS[part] or c.select
    if c.select == "CR_CPU_Memory":
        want = [(1, 500), (3, 300)]
    else:
        cpus, memory = ((4, 8) if "Socket" in word else (2, 4)), word.endswith("_Memory")
        want = [(cpus[0], 500 * memory), (cpus[1], 100 * cpus[1] * memory)]
    for options, has in zip((("-n1", "--mem=500"), ("-n3", "--mem-per-cpu=100")), want):
        job = start(c, part, *options)
        assert holds(c, job) == has, (part, options)
        c.run("scancel", job)
        c.wait_end(job)


@pytest.mark.parametrize("first,second,beside", [
    ("socket", "none", True), ("socket", "socket", True), ("socketmem", "socket", True), ("socket", "core", True),
    ("coremem", "none", False), ("none", "socketmem", False)])
def test_beside_each_other(c, first, second, beside):
    """Two jobs that ask for most of the node's memory, which those alone hold whose partition counts it."""
    if c.select == "CR_CPU_Memory":
        beside = False
    elif c.select == "CR_Core":  # where partitions do not say otherwise no memory counts
        beside = True
    jobs = [start(c, part, *BIG) for part in (first, second)]
    c.wait_state(jobs[0], "RUNNING")
    if beside:
        c.wait_state(jobs[1], "RUNNING")
    else:
        wait_until(lambda: c.run("squeue", "-h", "-j", jobs[1], "-o", "%T %r").out == "PENDING Resources\n", "it waits")
    c.run("scancel", *jobs)
    for job in jobs:
        c.wait_end(job)


def test_too_large(c):
    """More memory than the node has is refused where the partition counts it, whatever the cluster does."""
    for part, word in PARTS.items():
        counts = c.select.endswith("_Memory") if not word or c.select == "CR_CPU_Memory" else word.endswith("_Memory")
        if counts:
            said = c.refused("sbatch", "-p", part, "-n1", "--mem=5000", "--wrap", "true")
            assert "Memory specification can not be satisfied" in said


def test_told_without_effect(c):
    done = c.run("slurmctld", "--check", "-f", c.conf)
    told = re.findall(r"warning: partition (\w+): SelectTypeParameters is without effect", done.out + done.err)
    assert told == ([name for name, word in PARTS.items() if word] if c.select == "CR_CPU_Memory" else [])
