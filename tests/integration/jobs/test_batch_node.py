"""sbatch --batch: which of the job's nodes runs the script."""

import re

import pytest


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    from conftest import Cluster
    c = Cluster(tmp_path_factory.mktemp("batchnode"), nodes=3)
    text = re.sub(r"(NodeName=node1 .*)", r"\1 Features=amd", c.conf_text())
    text = re.sub(r"(NodeName=node2 .*)", r"\1 Features=amd,big", text)
    c.write_conf(re.sub(r"(NodeName=node3 .*)", r"\1 Features=intel,big", text))
    c.start()
    yield c
    c.stop()


def script_node(c, *options):
    job = c.sbatch(*options, "-o", "where.out", wrap="echo $SLURMD_NODENAME $SLURM_JOB_NODELIST; srun -l hostname >/dev/null")
    record = c.wait_end(job)
    assert record["JobState"] == "COMPLETED", record
    ran, nodes = (c.work / "where.out").read_text().split()
    assert record["BatchHost"] == ran
    batch = c.run("sacct", "-n", "-P", "-j", f"{job}.batch", "-o", "nodelist").out.strip()
    assert batch in (ran, "")
    return nodes, ran


# pol-A25: --batch may name one of the alternatives of --constraint
@pytest.mark.parametrize("batch, constraint, node", [
    ("intel", "intel|amd", "node3"),
    ("amd", "intel|amd", "node1"),
    ("big&amd", "amd&big|intel&big|amd", "node2"),
    ("big", "(amd|intel)&[big*2&amd*1]", "node2"),
])
def test_script_runs_where_the_feature_is(mixed, batch, constraint, node):
    assert script_node(mixed, "-N3", f"--batch={batch}", "-C", constraint) == ("node[1-3]", node)


def test_without_it_the_first_node(mixed):
    assert script_node(mixed, "-N3", "-C", "intel|amd") == ("node[1-3]", "node1")
    assert script_node(mixed, "-N1", "-w", "node1", "--batch=intel", "-C", "intel|amd") == ("node1", "node1")


def test_it_is_part_of_the_constraint(mixed):
    for batch in ("foo", "int", "intel&foo"):
        done = mixed.run("sbatch", f"--batch={batch}", "-C", "intel|amd", "--wrap=true", check=False)
        assert done.rc == 1
        assert done.err.endswith("Job --batch option is invalid or not a subset of --constraint\n")


def test_cancel_and_requeue_reach_the_script(mixed):
    c = mixed
    job = c.sbatch("-N3", "--batch=intel", "-C", "intel|amd", "-o", "stay.out", wrap="trap 'echo told; exit 3' TERM; echo up; sleep 100 & wait")
    from conftest import wait_until
    wait_until(lambda: (c.work / "stay.out").exists() and "up" in (c.work / "stay.out").read_text(), "the script runs")
    c.run("scancel", job)
    c.wait_end(job)
    assert "told" in (c.work / "stay.out").read_text()


def test_variable(mixed):
    done = mixed.run("sbatch", "--parsable", "-N3", "-C", "intel|amd", "--wrap=true", env={"SBATCH_BATCH": "intel"})
    assert mixed.wait_end(done.out.strip())["BatchHost"] == "node3"
