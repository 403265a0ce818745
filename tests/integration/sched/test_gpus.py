"""GPUs, shares of them and the CPUs near them: who gets what, and what the job is told of it."""

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from conftest import Cluster, wait_until

GRES_CONF = """NodeName=node[1-2] Name=gpu Type=a100 File={dir}/dev[0-1] Cores=0-3
NodeName=node[1-2] Name=gpu Type=a100 File={dir}/dev[2-3] Cores=4-7
NodeName=node1 Name=shard Count=16
NodeName=node2 Name=shard Count=4 File={dir}/dev1
NodeName=node2 Name=shard Count=8 File={dir}/dev[2-3]
NodeName=node3 Name=gpu Type=v100 File={dir}/dev[0-1] Cores=0-3
NodeName=node3 Name=gpu Type=a100 File={dir}/dev[2-3] Cores=4-7
NodeName=node3 Name=tmp Count=8 Flags=explicit
NodeName=node4 Name=gpu File={dir}/dev0 Links=-1,0,4,0
NodeName=node4 Name=gpu File={dir}/dev1 Links=0,-1,0,4
NodeName=node4 Name=gpu File={dir}/dev2 Links=4,0,-1,0
NodeName=node4 Name=gpu File={dir}/dev3 Links=0,4,0,-1
"""
GRES = {"node1": "Gres=gpu:a100:4,shard:16 Weight=1", "node2": "Gres=shard:12,gpu:a100:4 Weight=2",
        "node3": "Gres=gpu:a100:2,gpu:v100:2,tmp:8 Weight=3", "node4": "Gres=gpu:4 RestrictedCoresPerGPU=1 Weight=9"}
TOPOLOGY = "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000"


@pytest.fixture(scope="module")
def g():
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    (folder / "etc").mkdir()
    (folder / "etc" / "gres.conf").write_text(GRES_CONF.format(dir=folder))
    for i in range(4):
        (folder / f"dev{i}").write_text("")
    c = Cluster(folder, nodes=4, conf="GresTypes=gpu,shard,tmp")
    text = re.sub(r"CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000", TOPOLOGY, c.conf_text())
    for name, gres in GRES.items():
        text = re.sub(rf"(NodeName={name} .*)", rf"\1 {gres}", text)
    c.write_conf(text)
    try:
        c.start()
        yield c
    finally:
        problems = c.stop()
        if problems:
            print(c.logs(""))
        shutil.rmtree(folder, ignore_errors=True)
    assert not problems, problems


def held(c, job):
    """[(node, CPUs, devices)] of a running job."""
    text = c.run("scontrol", "-d", "show", "job", job).out
    return re.findall(r"^ +Nodes=(\S+) CPU_IDs=(\S*) Mem=\d+ GRES=(\S*)", text, re.M)


def place(c, *jobs):
    """Submit them one after the other; what each gets, None when it has to wait, "never" when it is refused."""
    result = []
    for options in jobs:
        done = c.run("sbatch", *options.split(), "-t5", "--wrap", "sleep 1000", check=False)
        if "Requested node configuration is not available" in done.stderr:
            result.append("never")
            continue
        job = int(done.stdout.split()[-1])
        wait_until(lambda j=job: c.state(j) == "RUNNING" or c.job(j)["Reason"] in ("Resources", "BadConstraints"), "it is looked at")
        result.append(held(c, job) if c.state(job) == "RUNNING" else None)
        if result[-1] is None:
            c.run("scancel", job)
    c.clear()
    return result


A = "gpu:a100:"
NEAR = [
    # Devices and CPUs of one socket, the first that has enough of both.
    (["--gres=gpu:1"], [[("node1", "0-1", A + "1(IDX:0)")]]),
    (["--gres=gpu:2 -n4"], [[("node1", "0-3", A + "2(IDX:0-1)")]]),
    (["--gres=gpu:1"] * 5, [[("node1", "0-1", A + "1(IDX:0)")], [("node1", "2-3", A + "1(IDX:1)")],
                            [("node1", "8-9", A + "1(IDX:2)")], [("node1", "10-11", A + "1(IDX:3)")],
                            [("node2", "0-1", A + "1(IDX:0)")]]),
    (["-n8 -m block:block", "--gres=gpu:1"], [[("node1", "0-7", "")], [("node1", "8-9", A + "1(IDX:2)")]]),
    # So many of each socket: all of one that has them, never some of one and some of another.
    (["--gpus-per-socket=1 --sockets-per-node=1 -w node1"] + ["--gpus-per-socket=2 --sockets-per-node=1 -w node1"] * 2,
     [[("node1", "0-1", A + "1(IDX:0)")], [("node1", "8-9", A + "2(IDX:2-3)")], None]),
    (["--gpus-per-socket=1 --sockets-per-node=2 -w node1"], [[("node1", "0-1", A + "2(IDX:0,2)")]]),
    (["--gpus-per-socket=3 --sockets-per-node=1 -w node1"], ["never"]),
    # More CPUs than are near: preferred, not required.
    (["--gres=gpu:1 -n10"], [[("node1", "0-9", A + "1(IDX:0)")]]),
    (["--gres=gpu:1 -n10 -N1 --gres-flags=enforce-binding -w node1"], ["never"]),
    (["--gres=gpu:2 -n12 -N1 --gres-flags=enforce-binding"], [[("node1", "0-5,8-13", A + "2(IDX:0,2)")]]),
    (["--gres=gpu:1 -n4 --gres-flags=disable-binding"], [[("node1", "0-1,8-9", A + "1(IDX:0)")]]),
    # Numbered as gres.conf has them, whatever the order in slurm.conf.
    (["--gres=gpu:v100:1"], [[("node3", "0-1", "gpu:v100:1(IDX:0)")]]),
    (["--gres=gpu:a100:2 -w node3"], [[("node3", "8-9", A + "2(IDX:2-3)")]]),
    # Linked devices go together; cores kept for GPUs are not for others.
    (["--gres=gpu:2 -w node4"], [[("node4", "0-1", "gpu:2(IDX:0,2)")]]),
    (["-n9 -N1 -w node4"], ["never"]),
    (["-n8 -N1 -w node4", "--gres=gpu:1 -n8 -w node4"],
     [[("node4", "8-15", "")], [("node4", "0-7", "gpu:1(IDX:0)")]]),
    # Whole nodes come with everything but what is only for those who ask.
    (["--exclusive -w node3"], [[("node3", "0-15", "gpu:a100:2(IDX:2-3),gpu:v100:2(IDX:0-1)")]]),
    (["--exclusive -w node3 --gres=tmp:2"],
     [[("node3", "0-15", "gpu:a100:2(IDX:2-3),gpu:v100:2(IDX:0-1),tmp(CNT:2)")]]),
]
SHARES = [
    (["--gres=shard:3"], [[("node1", "0-1", "shard:3(3/4,0/4,0/4,0/4)")]]),
    (["--gres=shard:2"] * 3, [[("node1", "0-1", "shard:2(2/4,0/4,0/4,0/4)")],
                              [("node1", "2-3", "shard:2(2/4,0/4,0/4,0/4)")],
                              [("node1", "4-5", "shard:2(0/4,2/4,0/4,0/4)")]]),
    (["--gres=shard:4 -w node2"], [[("node2", "0-1", "shard:4(4/4,0/4,0/4)")]]),
    # A GPU is shared or given away as a whole.
    (["--gres=shard:1 -w node1", "--gres=gpu:4 -w node1", "--gres=gpu:3 -w node1", "--gres=shard:3 -w node1",
      "--gres=shard:1 -w node1"],
     [[("node1", "0-1", "shard:1(1/4,0/4,0/4,0/4)")], None, [("node1", "2-3", A + "3(IDX:1-3)")],
      [("node1", "4-5", "shard:3(3/4,0/4,0/4,0/4)")], None]),
    (["--gres=gpu:4 -w node1", "--gres=shard:1 -w node1"], [[("node1", "0-1", A + "4(IDX:0-3)")], None]),
]


@pytest.mark.parametrize("jobs, expected", NEAR + SHARES, ids=lambda v: " ; ".join(v) if isinstance(v[0], str) else "")
def test_placement(g, jobs, expected):
    assert place(g, *jobs) == expected


def test_refused(g):
    """Shares of one device for the whole request, and never beside a device of one's own."""
    text = "sbatch: error: Invalid generic resource (gres) specification\n"
    assert g.refused("sbatch", "--gres=gpu:1,shard:1", "--wrap", "true").endswith(text)


def test_environment(g):
    """The job sees the GPUs its shares are of."""
    g.run("scontrol", "update", "nodename=node1", "state=drain", "reason=test")
    job = g.sbatch("--gres=shard:3", "-t1", wrap="env | grep -E '^(CUDA|SLURM.*(GPU|SHARD))' | sort")
    other = g.sbatch("--gres=shard:3", "-t1", wrap="echo $CUDA_VISIBLE_DEVICES; sleep 1000")
    g.wait_end(job)
    assert g.out(job).splitlines() == ["CUDA_VISIBLE_DEVICES=1", "SLURM_GPUS_ON_NODE=1", "SLURM_JOB_GPUS=1",
                                       "SLURM_SHARDS_ON_NODE=3"]
    g.wait_state(other, "RUNNING")
    g.run("scontrol", "update", "nodename=node1", "state=resume")
    g.clear()


def test_restart(g):
    """What is held stays held when the controller comes back."""
    jobs = [g.sbatch(o, "-wnode1", "-t5", wrap="sleep 1000") for o in ("--gres=shard:2", "--gres=gpu:2")]
    for job in jobs:
        g.wait_state(job, "RUNNING")
    before = [held(g, j) for j in jobs]
    g.restart_ctld()
    g.wait_nodes("mixed", ["node1"])
    assert [held(g, j) for j in jobs] == before
    more = [g.sbatch(o, "-wnode1", "-t1", wrap="sleep 1000") for o in ("--gres=gpu:2", "--gres=shard:3", "--gres=gpu:1")]
    g.wait_state(more[1], "RUNNING")
    assert held(g, more[1])[0][2] == "shard:3(0/4,3/4,0/4,0/4)"
    assert [g.state(j) for j in (more[0], more[2])] == ["PENDING", "PENDING"]
    g.clear()


@pytest.mark.parametrize("asked,nodes", [("4", "1"), ("5", "2"), ("a100:9", "3"), ("v100:2", "1")])
def test_nodes_that_devices_need(g, asked, nodes):
    """A job that waits shows how many nodes its devices fill at least, also after it was changed."""
    job = g.sbatch("--hold", f"--gpus={asked}", wrap="true")
    other = g.sbatch("--hold", "--gpus=1", wrap="true")
    g.run("scontrol", "update", f"jobid={other}", f"tresperjob=gres/gpu:{asked}", check=False)
    assert g.run("squeue", "-h", "-j", job, "-o", "%D").out.split() == [nodes]
    assert g.run("squeue", "-h", "-j", other, "-o", "%D").out.split() == [nodes]
    assert g.job(job)["NumNodes"].split("-")[0] == nodes
    g.run("scancel", job, other)
