"""Clients of the Python package index, unmodified, with real tasks."""

import os
import re
from pathlib import Path

import pytest

from integration_conftest import wait_until

CLUSTER = {"nodes": 4, "cpus": 8, "conf": "KillWait=2"}


@pytest.mark.parametrize("what", ["array", "nodes", "failure", "cancel", "preempted"])
def test_submitit(c, client, what):
    assert client("submitit", "submitit_client.py", what) == "done\n"


def test_dask_jobqueue(c, client):
    assert client("dask-jobqueue", "dask_client.py").endswith("done\n")
    wait_until(lambda: not c.run("squeue", "-h").out, "the workers end with their cluster")


def test_parsl(c, client):
    assert client("parsl", "parsl_client.py") == "done\n"


def test_psij(c, client):
    assert client("psij-python", "psij_client.py") == "done\n"


@pytest.mark.parametrize("name", ["simple_slurm", "pysqa", "qtoolkit"])
def test_small(c, client, name):
    assert client(name, "small_clients.py", name).endswith("done\n")


def test_reportseff(c, client):
    good, bad = c.sbatch("-J", "good", wrap="sleep 1"), c.sbatch("-J", "bad", wrap="exit 3")
    for job in (good, bad):
        c.wait_end(job)
    text = client.argv("reportseff", "reportseff", "--no-color", good, bad).stdout
    assert re.search(rf"^ *{good} +COMPLETED +00:00:01 ", text, re.M) and re.search(rf"^ *{bad} +FAILED ", text, re.M), text


SNAKEFILE = """
PARTS = list(range(12))
rule all:
    input: "total.txt"
rule part:
    output: "part/{n}.txt"
    resources: mem_mb=100, runtime=5
    shell: "echo {wildcards.n} > {output}; echo $SLURM_JOB_ID > part/{wildcards.n}.job"
rule total:
    input: expand("part/{n}.txt", n=PARTS)
    output: "total.txt"
    resources: mem_mb=100, runtime=5
    shell: "cat {input} | awk '{{s += $1}} END {{print s}}' > {output}"
"""


@pytest.fixture
def default_conf(c):
    """The cluster's slurm.conf where commands look for it by themselves."""
    if "PENSTOCK_CLIENTS_ETC" not in os.environ:
        pytest.skip("its jobs drop SLURM_CONF, and the folder of slurm.conf that is compiled in could not be replaced for the test "
                    "(this takes root and an existing folder)")
    path = Path(os.environ["PENSTOCK_CLIENTS_ETC"]) / "slurm.conf"
    path.symlink_to(c.conf)
    yield
    path.unlink()


def test_snakemake(c, client, default_conf):
    (c.work / "Snakefile").write_text(SNAKEFILE)
    client.argv("snakemake-executor-plugin-slurm", "snakemake", "--executor", "slurm", "--jobs", 20, "--slurm-no-account",
                "--slurm-init-seconds-before-status-checks", 1, "--seconds-between-status-checks", 1, "--latency-wait", 10,
                "--default-resources", "slurm_partition=main", timeout=240)
    assert (c.work / "total.txt").read_text() == "66\n"
    jobs = {path.read_text() for path in (c.work / "part").glob("*.job")}
    assert len(jobs) == 12
    assert [row[0] for row in c.sacct("-X", "-o", "State")].count("COMPLETED") >= 13
