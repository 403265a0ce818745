"""What existing programs ask a cluster, and that they can read the answers: the rows of
tests/golden/ecosystem/queries.txt and the recorded sessions of transcripts.txt on one full queue."""

import getpass

import pytest

import ecosystem
from conftest import wait_until

CLUSTER = {"nodes": 4, "cpus": 8, "node_options": "Gres=gpu:2 Feature=fast,big",
           "conf": "AccountingStoreFlags=job_comment\nGresTypes=gpu\nAccountingStorageTRES=gres/gpu\nLicenses=matlab:10\nKillWait=1"}
ME = getpass.getuser()


@pytest.fixture(scope="module")
def q(shared):
    """A cluster with a job in most of the conditions that a client meets; q.jobs names them."""
    c = shared
    c.run("scontrol", "create", "partitionname=gpu", "nodes=node[3-4]", "maxtime=1-00:00:00", "DefMemPerCPU=200")
    c.run("scontrol", "create", "partitionname=hidden", "nodes=node4", "hidden=yes")
    j = c.jobs = {"ood": ecosystem.ood_format()}
    j["done"] = c.sbatch("-J", "3f0e-done", "--comment=rule_x_wildcards_y", wrap="srun true")
    j["failed"] = c.sbatch("-J", "failed", wrap="exit 3")
    j["gone"] = c.sbatch("-J", "gone", "-H", wrap="true")
    c.run("scancel", str(j["gone"]))
    for name in ("done", "failed", "gone"):
        c.wait_end(j[name])
    j["run"] = c.sbatch("-J", "buildkite", "--comment=https://ci.example.org/build/1", "-n2", "-t", "30", "--gres=gpu:1",
                        wrap="sleep 1000")
    j["two"] = c.sbatch("-J", "two", "-N2", "-n2", "-t", "2-00:00:00", wrap="srun sleep 1000")
    j["tasks"] = c.sbatch("-J", "tasks", "--array=0-3%2", wrap="sleep 1000")
    j["hold"] = c.sbatch("-J", "hold", "-H", wrap="true")
    j["array"] = c.sbatch("-J", "array", "-H", "--array=0-3%2", wrap="true")
    j["later"] = c.sbatch("-J", "later", "--begin=now+1day", "-p", "gpu", wrap="true")
    j["after"] = c.sbatch("-J", "after", f"--dependency=afterok:{j['run']}", wrap="true")
    for name in ("run", "two"):
        c.wait_state(j[name], "RUNNING")
    wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-j", str(j["tasks"])).out.count("\n") == 2, "two tasks run")
    wait_until(lambda: f"{j['two']}.0" in c.run("squeue", "-h", "-s", "-o", "%i").out, "its step runs")
    wait_until(lambda: c.job(j["after"])["Reason"] == "Dependency", "the reason is told")
    j["node"] = c.job(j["run"])["NodeList"]
    return c


@pytest.mark.parametrize("row", ecosystem.rows("queries") + ecosystem.rows("union"), ids=str)
def test_query(q, row):
    ecosystem.check(q, row, q.jobs)
