"""Hosts whose clocks differ: what a node believes does not depend on its own."""

import os
import struct
import subprocess

import pytest
from conftest import ROOT, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer wants to be the first library")


def set_clock(path, seconds):
    """In place: the daemon has the file mapped."""
    with open(path, "r+b" if path.exists() else "wb") as f:
        f.write(struct.pack("<q", int(seconds * 1e6)))


@pytest.fixture
def clock(folder):
    """(environment of a daemon whose clock can be set, the file that says how far it is off)"""
    library, path = folder / "clockstep.so", folder / "step"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, ROOT / "tests" / "chaos" / "clockstep.c", "-ldl"],
                   check=True)
    set_clock(path, 0)
    return {"LD_PRELOAD": str(library), "CLOCKSTEP_FILE": str(path)}, path


def test_controller_behind_a_new_node(make_cluster, clock):
    """A node that was just installed refuses credentials of before; it goes by the clock of who signs them."""
    env, step = clock
    set_clock(step, -20)
    c = make_cluster(nodes=1, start=False)
    own = dict(c.daemon_env_change)
    c.daemon_env_change.update(env)
    c.start_ctld()
    c.daemon_env_change = own
    c.start_slurmd("node1")
    c.wait_nodes()
    assert c.run("srun", "hostname").rc == 0


def test_clock_set_back_under_a_job(make_cluster, clock):
    env, step = clock
    c = make_cluster(nodes=1, start=False)
    own = dict(c.daemon_env_change)
    c.daemon_env_change.update(env)
    c.start_ctld()
    c.daemon_env_change = own
    c.start_slurmd("node1")
    c.wait_nodes()
    assert c.slurmds["node1"].stop() == 0
    c.start_slurmd("node1")  # a node that knows of credentials before it
    c.wait_nodes()
    set_clock(step, 25)
    job = c.sbatch("--wrap", "srun true; sleep 1; srun true")
    c.wait_state(job, "RUNNING")
    set_clock(step, -25)
    record = c.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("COMPLETED", "0:0"), record
