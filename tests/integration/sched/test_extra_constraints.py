"""SchedulerParameters=extra_constraints: --extra of jobs asks about the Extra of nodes (Slurm's page of that name)."""

import pytest

from conftest import wait_until

INVALID = "Invalid extra constraints specification"


@pytest.fixture
def c(make_cluster):
    c = make_cluster(start=False, nodes=3)
    c.write_conf(c.conf_text().replace("SchedulerParameters=", "SchedulerParameters=extra_constraints,"))
    c.start()
    for node, load in (("node1", 0.99), ("node2", 0.75), ("node3", 0.45)):
        tell(c, node, f'{{ "load": {load}, "rack": "r{node[-1]}", "spare": true }}')
    return c


def tell(c, node, text):
    c.run("scontrol", "update", f"NodeName={node}", f"Extra={text}")


def place(c, extra, *options):
    job = c.sbatch("--extra", extra, *options, wrap="true")
    return c.wait_state(job, "COMPLETED")["NodeList"]


def test_jobs_go_where_it_holds(c):
    assert place(c, "load<0.5") == "node3"
    assert place(c, "(load<0.9&load>0.5)") == "node2"
    assert place(c, "rack=r1|rack=r9") == "node1"
    assert place(c, "load>0.5,spare=1", "-N2") == "node[1-2]"
    assert c.run("srun", "--extra", "rack=r3", "printenv", "SLURMD_NODENAME").out == "node3\n"


def test_a_job_waits_until_a_node_says_so(c):
    job = c.sbatch("--extra", "load<0.2", wrap="true")
    wait_until(lambda: c.job(job)["Reason"] == "Resources", "the job waits for nodes")
    assert "3 without the extra" in c.run("scontrol", "explain", str(job)).out
    other = c.sbatch(wrap="true")
    c.wait_state(other, "COMPLETED")
    tell(c, "node2", '{ "load": 0.1 }')
    assert c.wait_state(job, "COMPLETED")["NodeList"] == "node2"
    late = c.sbatch("-w", "node2", "--extra", "rack=r2", wrap="true")
    wait_until(lambda: c.job(late)["Reason"] == "Resources", "the node tells no rack now")
    c.run("scontrol", "update", f"JobId={late}", "Extra=load=0.1")
    c.wait_state(late, "COMPLETED")


@pytest.mark.parametrize("text", ["free text", "a,<=6", "a=5&b=5|c=5", " (a=b)", "a=5&()", "load<"])
def test_what_is_no_request_is_refused(c, text):
    assert INVALID in c.refused("sbatch", "--extra", text, "--wrap", "true")
    assert INVALID in c.refused("srun", "--extra", text, "true")
    job = c.sbatch("-H", "--extra", "load<0.5", wrap="true")
    assert INVALID in c.refused("scontrol", "update", f"JobId={job}", f"Extra={text}")
    assert c.job(job)["Extra"] == "load<0.5"


def test_a_restart_keeps_it(c):
    job = c.sbatch("--extra", "load<0.2", wrap="true")
    c.restart_ctld()
    wait_until(lambda: c.job(job)["Reason"] == "Resources", "the job waits as before")
    tell(c, "node1", '{ "load": 0 }')
    assert c.wait_state(job, "COMPLETED")["NodeList"] == "node1"


def test_without_the_word_it_is_any_text(make_cluster):
    c = make_cluster(nodes=2)
    tell(c, "node1", '{ "load": 1 }')
    job = c.sbatch("--extra", "load<0.5", wrap="true")
    c.wait_state(job, "COMPLETED")
    waiting = c.sbatch("--extra", "not a request", "-H", wrap="true")
    c.write_conf(c.conf.read_text().replace("SchedulerParameters=", "SchedulerParameters=extra_constraints,"))
    c.run("scontrol", "reconfigure")
    c.run("scontrol", "release", str(waiting))  # older than the word: it goes anywhere
    c.wait_state(waiting, "COMPLETED")
    job = c.sbatch("--extra", "load<0.5", wrap="true")
    wait_until(lambda: c.job(job)["Reason"] == "Resources", "the word holds since the reconfiguration")
