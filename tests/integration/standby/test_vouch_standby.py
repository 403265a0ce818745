"""Nodes without the cluster's key, and a controller that takes over: it believes them for their users as the first one did."""

import os

import pytest

from conftest import SLOW, wait_until
from controllers import Controllers
from test_vouch import OPERATOR, OTHER, OWNER, Forward, Site

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="daemons run as root, the commands as others")
NOBODY = "Invalid authentication credential"


class StandbySite(Site):
    """Both controllers are behind ports of another number."""

    def doors(self):
        first = Forward(self.c.port)
        return [first, Forward(self.c.port, host="127.0.0.2", at=first.port)]

    def restart_controllers(self):
        pass


@pytest.fixture
def site(folder):
    path = folder / "c"
    path.mkdir()
    for p in (folder, path):
        p.chmod(0o755)
    c = Controllers(path, nodes=2, lease_ms=int(1500 * SLOW), conf="PinNodeKeys=yes\nTreeWidth=2\n")
    made = StandbySite(c)
    yield made
    problems = made.close()
    assert not problems, problems


def believed(site, user, node="node1"):
    done = site.on(f"slurmd-{node}", user, "squeue", "-h", "-o", "%u")
    assert done.returncode == 0 or NOBODY in done.stderr, done.stderr
    return done.returncode == 0


def test_takeover_keeps_whom_nodes_vouch_for(site):
    """The table of users and nodes, who manages others, and launch keys of nodes: at ctl2 as at ctl1, and at ctl1 again."""
    c = site.c
    job, boss = site.submit(OWNER, "node1"), site.submit(OPERATOR, "node1")
    for j in (job, boss):
        c.wait_state(j, "RUNNING")
    assert believed(site, OWNER) and believed(site, OPERATOR) and not believed(site, OTHER) and not believed(site, OWNER, "node2")
    c.run("sacctmgr", "-i", "add", "account", "physics")
    c.run("sacctmgr", "-i", "add", "user", OPERATOR, "account=physics", "adminlevel=operator")  # while ctl2 stands by
    wait_until(lambda: not believed(site, OPERATOR), "no word for an operator")
    c.ctlds["ctl1"].kill()
    c.wait_active("ctl2", 30)
    wait_until(lambda: believed(site, OWNER), "ctl2 believes node1")
    assert not believed(site, OPERATOR) and not believed(site, OTHER) and not believed(site, OWNER, "node2")
    c.wait_nodes(names=["node2"])
    beside = site.on("slurmd-node1", OWNER, "srun", f"--jobid={job}", "--overlap", "-n1", "id", "-un")
    assert (beside.stdout, beside.returncode) == (f"{OWNER}\n", 0), beside.stderr
    done = site.on("slurmd-node1", OWNER, "sbatch", "--parsable", "-w", "node2", "-o/dev/null", "--wrap", "true")
    assert done.returncode == 0, done.stderr
    c.wait_end(int(done.stdout))
    c.start_one("ctl1")
    c.wait_active("ctl1", 30)
    wait_until(lambda: believed(site, OWNER), "ctl1 believes node1 again")
    assert not believed(site, OPERATOR)
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: not believed(site, OWNER), "without a job the node vouches no more")
    c.run("scancel", boss)
