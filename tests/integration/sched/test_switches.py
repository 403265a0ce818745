"""--switches under a tree: a job waits for nodes below few leaf switches, as long as it says."""

import pytest

from conftest import Cluster, wait_until


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("switches"), nodes=4, conf="TopologyPlugin=topology/tree\n")
    (c.dir / "etc/topology.conf").write_text("SwitchName=a Nodes=node[1-2]\nSwitchName=b Nodes=node[3-4]\nSwitchName=top Switches=a,b\n")
    c.start()
    yield c
    c.stop()


@pytest.fixture
def split(tree):
    """One node of each leaf switch is taken: two nodes are free, below two switches."""
    taken = [tree.sbatch("--exclusive", "-w", node, wrap="sleep 1000") for node in ("node1", "node3")]
    for job in taken:
        wait_until(lambda job=job: tree.state(job) == "RUNNING", "a node is taken")
    tree.taken = taken
    yield tree
    tree.clear()


def nodes(c, job):
    wait_until(lambda: c.state(job) == "RUNNING", f"job {job} runs")
    return c.job(job)["NodeList"]


def test_any_switches(split):
    assert nodes(split, split.sbatch("-N2", "--exclusive", wrap="sleep 100")) == "node[2,4]"
    split.run("scancel", *split.taken)
    split.taken.clear()


def test_waits_for_one_switch(split):
    job = split.sbatch("-N2", "--exclusive", "--switches=1", wrap="sleep 100")
    probe = split.sbatch("-N1", "--exclusive", "-w", "node2", "-t1", wrap="true")  # a pass of the scheduler has gone by
    split.wait_end(probe)
    assert split.state(job) == "PENDING"
    split.run("scancel", split.taken[1])
    assert nodes(split, job) == "node[3-4]"


def waits(c, run):
    """ReqSwitch and Wait4Switch of the job that run() makes."""
    before = set(c.run("squeue", "-h", "-t", "all", "-o", "%A").out.split())
    run()
    rows = [line.split() for line in c.run("squeue", "-h", "-t", "all", "-O", "JobID,ReqSwitch,Wait4Switch").out.splitlines()]
    c.clear()
    return [row[1:] for row in rows if row[0] not in before]


def test_variables_of_sbatch(tree):
    env = {"SBATCH_REQ_SWITCH": "1", "SBATCH_WAIT4SWITCH": "3"}
    assert waits(tree, lambda: tree.run("sbatch", "-N2", "--wrap=true", env=env)) == [["1", "3:00"]]


def test_variables_of_salloc(tree):
    env = {"SALLOC_REQ_SWITCH": "1", "SALLOC_WAIT4SWITCH": "3"}
    assert waits(tree, lambda: tree.run("salloc", "-N2", "--no-shell", env=env)) == [["1", "3:00"]]


def test_variables_of_srun(tree):
    env = {"SLURM_REQ_SWITCH": "1", "SLURM_WAIT4SWITCH": "3"}
    assert waits(tree, lambda: tree.run("srun", "-N2", "true", env=env)) == [["1", "3:00"]]


def test_srun_and_salloc(split):
    split.run("scancel", split.taken[1])
    assert split.run("srun", "-N2", "--exclusive", "--switches=1", "printenv", "SLURM_JOB_NODELIST").out == "node[3-4]\n" * 2
    assert "node[3-4]" in split.run("salloc", "-N2", "--exclusive", "--switches=1", "printenv", "SLURM_JOB_NODELIST").out


def test_site_shortens_the_wait(make_cluster):
    c = make_cluster(nodes=2, start=False, conf="TopologyPlugin=topology/tree\nSchedulerParameters=max_switch_wait=1\n")
    (c.dir / "etc/topology.conf").write_text("SwitchName=a Nodes=node1\nSwitchName=b Nodes=node2\nSwitchName=top Switches=a,b\n")
    c.start()
    assert nodes(c, c.sbatch("-N2", "--switches=1@5", wrap="sleep 100")) == "node[1-2]"
    c.clear()


@pytest.mark.parametrize("change", ["Switches=2", "Switches=0", "wait-for-switch=1"])
def test_update(split, change):
    job = split.sbatch("-N2", "--exclusive", "--switches=1", wrap="sleep 100")
    split.run("scontrol", "update", f"jobid={job}", change)
    assert nodes(split, job) == "node[2,4]"
