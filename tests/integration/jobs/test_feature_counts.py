"""Counts of features (-C '[a*1&b*2]') beside -N, -n and a list of nodes."""

import re

import pytest

from conftest import Cluster

UNAVAILABLE = "Requested node configuration is not available\n"
SHOW = ["bash", "-c", "echo ${SLURM_NTASKS:-none} $SLURM_JOB_NODELIST"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("counts"), nodes=4)
    text = re.sub(r"(NodeName=node[12] .*)", r"\1 Features=a", c.conf_text())
    c.write_conf(re.sub(r"(NodeName=node[34] .*)", r"\1 Features=b", text))
    c.start()
    yield c
    c.stop()


@pytest.mark.parametrize("words, told", [
    (["-w", "node1,node3"], "none node[1,3-4]"), (["-w", "node1,node2"], "none node[1-3]"), (["-w", "node1,node3", "-n2"], "3 node[1,3-4]"),
    (["-n1"], "2 node[1,3]"), (["-n3"], "3 node[1,3]"), (["-N2"], "none node[1,3]")])
def test_nodes_that_a_constraint_counts(pairs, words, told):
    """They come beside the nodes of a list, which are of the first count; each node has a task."""
    assert pairs.run("salloc", "-Q", *words, "-C", "[a*1&b*1]", *SHOW).out == f"{told}\n"


@pytest.mark.parametrize("words", [["-N2", "-C", "[a*1&b*2]"], ["-N1-2", "-C", "[a*1&b*2]"], ["-N1", "-C", "a*2"], ["-N1", "--prefer=[a*1&b*1]"]])
def test_more_counted_than_asked_for(pairs, words):
    """-N bounds them: such a job starts nowhere."""
    done = pairs.run("sbatch", *words, "--wrap=true", check=False)
    assert (done.rc, done.out, done.err) == (1, "", f"sbatch: error: Batch job submission failed: {UNAVAILABLE}")
