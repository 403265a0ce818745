"""Jobs that claim resources for another launcher (--external), on nodes with and without a slurmd."""

import pytest

from conftest import wait_until
from restd import Restd

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=4\nGresTypes=gpu\nAuthAltTypes=auth/jwt\nPrologFlags=Contain\n"
                               "Prolog=/bin/false\nEpilog=/bin/false\nPrologSlurmctld=/bin/true"}


@pytest.fixture(scope="module")
def external(shared):
    shared.run("scontrol", "create", "nodename=ext[1-2]", "cpus=4", "realmemory=1000", "gres=gpu:2", "state=external")
    return shared


def claim(c, *options):
    return int(c.run("sbatch", "--parsable", "--external", *options).out)


def shown(c, job):
    return c.run("scontrol", "-d", "show", "job", str(job)).out


def test_on_nodes_without_a_slurmd(external, c):
    job = claim(c, "-N2", "-n4", "--gres=gpu:1", "--mem=100", "-t", "5", "-w", "ext[1-2]", "--comment=pods")
    c.wait_state(job, "RUNNING")
    text = shown(c, job)
    assert "NodeList=ext[1-2]" in text and "JobName=external" in text and "GRES=gpu:1(IDX:0)" in text
    assert c.run("sinfo", "-h", "-N", "-p", "main", "-n", "ext1", "-o", "%T").out == "mixed\n"
    assert "State=MIXED+DYNAMIC_NORM+EXTERNAL" in c.run("scontrol", "show", "node", "ext1").out
    got = c.run("srun", f"--jobid={job}", "true", check=False)
    assert (got.rc, got.err) == (1, f"srun: error: Unable to create step for job {job}: "
                                    "Requested operation not supported on this system\n")
    c.run("scancel", str(job))
    assert c.state(job) == "CANCELLED"  # at once: nothing is waited for
    assert "State=IDLE+DYNAMIC_NORM+EXTERNAL" in c.run("scontrol", "show", "node", "ext1").out


def test_beside_other_jobs(external, c):
    """On a node with a slurmd nothing is started: its Prolog would fail."""
    job = claim(c, "-n1", "-w", "node1", "-o", "none.out")
    c.wait_state(job, "RUNNING")
    assert c.run("squeue", "-h", "-s", "-j", str(job)).out == ""
    c.run("scancel", "-s", "USR1", str(job))
    assert c.state(job) == "RUNNING"
    got = c.run("sbcast", "-j", str(job), "/etc/hostname", str(c.work / "sent"), check=False)
    assert got.rc == 1 and "Requested operation not supported on this system" in got.err and not (c.work / "sent").exists()
    got = c.run("scontrol", "requeue", str(job), check=False)
    assert (got.rc, got.err) == (1, f"Only batch jobs are accepted or processed for job {job}\n")
    c.run("scancel", str(job))
    assert c.state(job) == "CANCELLED"
    assert c.run("sinfo", "-h", "-N", "-p", "main", "-n", "node1", "-o", "%T").out == "idle\n"
    assert not (c.work / "none.out").exists()


def test_time_limit_and_restart(external, c):
    job = claim(c, "-n1", "-w", "ext2", "-t", "1")
    waits = claim(c, "-n1", "-H")
    c.wait_state(job, "RUNNING")
    c.kill_ctld()
    c.restart_ctld()
    assert c.state(job) == "RUNNING" and c.state(waits) == "PENDING"
    c.run("scontrol", "update", f"jobid={waits}", "reqnodelist=ext1", "numcpus=2")
    c.run("scontrol", "release", str(waits))
    c.wait_state(waits, "RUNNING")
    assert "NodeList=ext1" in shown(c, waits) and "NumCPUs=2" in shown(c, waits)
    c.run("scontrol", "update", f"jobid={job}", "endtime=now+1seconds")
    c.wait_state(job, "TIMEOUT", timeout=40)
    c.run("scontrol", "update", "nodename=ext1", "state=down", "reason=gone")
    c.wait_state(waits, "NODE_FAIL")
    c.run("scontrol", "update", "nodename=ext1", "state=resume")
    assert "State=IDLE+DYNAMIC_NORM+EXTERNAL" in c.run("scontrol", "show", "node", "ext1").out
    wait_until(lambda: "TIMEOUT" in c.run("sacct", "-n", "-X", "-j", str(job), "-o", "State").out, "it is accounted")


def test_heterogeneous(external, c):
    job = int(c.run("sbatch", "--parsable", "--external", "-n1", ":", "--external", "-n1", "-w", "ext1").out)
    wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-o", "%i").out.split() and
               len(c.run("squeue", "-h", "-t", "R").out.splitlines()) == 2, "both run")
    c.run("scancel", str(job))
    got = c.run("sbatch", "--external", "-n1", ":", "-n1", check=False)
    assert got.rc == 1 and "non-external component cannot follow an external hetjob leader" in got.err


def test_over_rest(external, c):
    with Restd(c) as rest:
        call = rest.ask
        # as companions write it, who send each key whether there is something to say or not
        line = "NodeName={} Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 CPUs=2 RealMemory=500 State=External"
        for name, gres, conf in (("pod2", "", ""), ("pod3", "gpu:h100:1", "count=1,name=gpu,type=h100,file=/dev/nvidia0")):
            status, answer = call("POST", "new/node/", {"node_conf": f'{line.format(name)} Gres="{gres}" GresConf="{conf}"'})
            assert status == 200 and not answer["errors"], answer
            shown_gres = c.run("scontrol", "show", "node", name).out
            assert f"Gres={gres or '(null)'}" in shown_gres
            status, answer = call("DELETE", f"node/{name}")
            assert status == 200 and not answer["errors"], answer
        status, answer = call("POST", "new/node/", {"node_conf": "NodeName=pod1 CPUs=2 RealMemory=500 State=EXTERNAL"})
        assert status == 200 and not answer["errors"], answer
        status, answer = call("POST", "new/node/", {"node_conf": "NodeName=pod1 State=EXTERNAL"})
        assert answer["errors"][0]["error"] == "Node already exists in the node table", answer
        status, answer = call("POST", "job/submit", {"job": {
            "name": "podgroup", "flags": ["EXTERNAL_JOB"], "required_nodes": ["pod1"], "tasks": 1, "cpus_per_task": 2,
            "time_limit": {"set": True, "number": 5}}})
        assert status == 200 and not answer["errors"], answer
        job = answer["job_id"]
        c.wait_state(job, "RUNNING")
        status, answer = call("GET", f"job/{job}")
        assert answer["jobs"][0]["flags"].count("EXTERNAL_JOB") == 1 and answer["jobs"][0]["nodes"] == "pod1"
        status, answer = call("DELETE", "node/pod1")
        assert answer["errors"][0]["error_number"] == 2016, answer
        call("DELETE", f"job/{job}")
        status, answer = call("DELETE", "node/pod1")
        assert status == 200 and not answer["errors"], answer
        status, answer = call("POST", "job/submit", {"job": {"flags": ["EXTERNAL_JOB"]}, "script": "#!/bin/sh\ntrue\n"})
        assert answer["errors"][0]["error_number"] == 2189, answer
