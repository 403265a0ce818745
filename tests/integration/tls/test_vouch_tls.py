"""Commands on nodes without the cluster's key, with and without encryption: the node vouches for its own users."""

import os
import subprocess

import pytest

from conftest import wait_until
from test_vouch import OTHER, OWNER, make_site  # noqa: F401

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="daemons run as root, the commands as others")


@pytest.mark.parametrize("kind", ["tls/auto", "tls/none"])
def test_srun_overlap_and_sattach(make_site, kind):  # noqa: F811
    """A step beside the others of the job, and the output of one that runs, at a node that has its own key alone."""
    site = make_site(conf=f"TLSType={kind}\n")
    c = site.c
    job = site.submit(OWNER, "node1", wrap="srun bash -c 'echo begins; until [ -e go ]; do sleep 0.1; done; echo attached'")
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "the step runs")
    here = site.on("slurmd-node1", OWNER, "squeue", "-h", "-o", "%i")
    assert here.stdout == f"{job}\n", here.stderr
    beside = site.on("slurmd-node1", OWNER, "srun", f"--jobid={job}", "--overlap", "-n1", "-w", "node1", "echo", "beside")
    assert (beside.stdout, beside.returncode) == ("beside\n", 0), beside.stderr
    env = c.env | {"USER": OWNER, "SLURM_CONF": str(site.conf), **c.sack("slurmd-node1")}
    argv = ["setpriv", f"--reuid={OWNER}", "--regid=nogroup", "--clear-groups", "sattach", "-v", f"{job}.0"]
    attach = subprocess.Popen(argv, cwd=c.work, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = ""
    while "attached on node" not in said:
        line = attach.stderr.readline()
        assert line, said
        said += line
    (c.work / "go").touch()
    out, err = attach.communicate(timeout=30)
    assert "attached\n" in out, said + err
    c.wait_end(job)
    stranger = site.on("slurmd-node1", OTHER, "squeue")
    assert stranger.returncode == 1 and "Invalid authentication credential" in stranger.stderr


def test_jobs_ask_at_their_own_node(make_cluster):
    """The path that the submitting host has for sack.socket means nothing on another one."""
    c = make_cluster(nodes=2)
    own = [f"{c.dir}/run/slurmd-{name}/sack.socket" for name in c.node_names]
    env = {"SLURM_SACK_SOCKET": "/submitting/host/sack.socket"}
    assert sorted(c.run("srun", "-N2", "printenv", "SLURM_SACK_SOCKET", env=env).out.split()) == own
    job = c.sbatch("-w", "node2", wrap="printenv SLURM_SACK_SOCKET", env=env)
    c.wait_end(job)
    assert c.out(job).split() == [own[1]]
    given = c.sbatch("-w", "node2", "--export=SLURM_SACK_SOCKET=/given", wrap="printenv SLURM_SACK_SOCKET", env=env)
    c.wait_end(given)
    assert c.out(given).split() == [own[1]]
