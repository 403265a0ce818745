"""ClusterShell of Debian with the group sources that it ships for Slurm."""

import subprocess
from pathlib import Path

import pytest

from integration_conftest import wait_until

CLUSTER = {"nodes": 4, "cpus": 8, "conf": "KillWait=2"}
SHIPPED = Path("/etc/clustershell/groups.conf.d/slurm.conf.example")


@pytest.fixture
def nodeset(c, need):
    need("nodeset", "clustershell")
    if not SHIPPED.exists():
        pytest.skip(f"the Debian package clustershell ships no {SHIPPED} here")
    (c.work / "groups.d").mkdir()
    (c.work / "groups.d" / "slurm.conf").write_text(SHIPPED.read_text())
    conf = c.work / "groups.conf"
    conf.write_text(f"[Main]\ndefault: slurmpart\nconfdir: {c.work}/groups.d\n")

    def run(*words):
        done = subprocess.run(["nodeset", f"--groupsconf={conf}", *map(str, words)], env=c.env, capture_output=True, text=True,
                              timeout=30)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout.split()
    return run


def test_partitions(c, nodeset):
    c.run("scontrol", "create", "partitionname=two", "nodes=node[3-4]")
    assert nodeset("-f", "-a") == ["node[1-4]"]
    assert sorted(nodeset("-s", "slurmpart", "-l")) == ["@slurmpart:main", "@slurmpart:two"]
    assert nodeset("-f", "@slurmpart:two") == ["node[3-4]"]
    assert nodeset("-f", "@sp:main!@sp:two") == ["node1,node2"] or nodeset("-f", "@sp:main!@sp:two") == ["node[1-2]"]
    c.run("scontrol", "delete", "partitionname=two")


@pytest.fixture
def drained(c):
    c.run("scontrol", "update", "nodename=node4", "state=drain", "reason=test")
    yield "node4"
    c.run("scontrol", "update", "nodename=node4", "state=resume")


def test_states_jobs_and_users(c, nodeset, drained):
    job = c.sbatch("-N2", "--exclusive", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: set(nodeset("-s", "slurmstate", "-l")) == {"@slurmstate:allocated", "@slurmstate:idle",
                                                                  "@slurmstate:drained"}, "the states are told")
    assert nodeset("-f", "@slurmstate:idle") == ["node[3-4]"]  # a drained node has an idle base, as in Slurm
    assert nodeset("-f", f"@slurmjob:{job}") == ["node[1-2]"] == nodeset("-f", "@st:allocated")
    assert nodeset("-s", "slurmjob", "-l") == [f"@slurmjob:{job}"] == nodeset("-s", "slurmjob", "-l", "node1")
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    assert nodeset("-f", f"@slurmuser:{user}") == ["node[1-2]"]
    assert nodeset("-s", "slurmstate", "-l", drained) == ["@slurmstate:drained"]
