"""Counts of features (-C '[a*1&b*2]') beside -N, -n and a list of nodes; features that a job prefers."""

import json
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


def features(c, job):
    shown = c.run("scontrol", "show", "job", str(job)).out
    told = json.loads(c.run("squeue", "--json", "-j", str(job)).out)["jobs"][0]["features"]
    row = c.run("squeue", "-h", "-j", str(job), "-o", "%f").out.rstrip("\n")
    return row, re.search(r"Features=(\S+) ", shown)[1], told


def test_features_of_a_job_that_prefers_others(pairs):
    """They are those preferred where the job got such nodes, until it waits again; else those that it must have."""
    whole = ["--exclusive", "-o", "/dev/null"]
    held = pairs.sbatch("-H", *whole, "-C", "b", "--prefer=a", wrap="sleep 300")
    assert features(pairs, held) == ("b", "b", "b")
    pairs.run("scontrol", "release", str(held))
    plain = pairs.sbatch(*whole, "--prefer=a", wrap="sleep 300")
    for job in held, plain:
        pairs.wait_state(job, "RUNNING")
        assert features(pairs, job) == ("a", "a", "a")
    late = pairs.sbatch(*whole, "--prefer=a", wrap="sleep 300"), pairs.sbatch(*whole, "-C", "b", "--prefer=a", wrap="sleep 300")
    for job, own in zip(late, (("(null)", "(null)", ""), ("b", "b", "b"))):
        assert pairs.wait_state(job, "RUNNING")["NodeList"] in ("node3", "node4")
        assert features(pairs, job) == own
    pairs.run("scontrol", "requeuehold", str(held))
    pairs.wait_state(held, "PENDING")
    assert features(pairs, held) == ("b", "b", "b")
    pairs.run("scancel", *map(str, (held, plain, *late)))
