"""Running jobs that give nodes back, and what runs on a machine: scontrol update NumNodes=, listpids, pidinfo."""

import json
import random
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 3, "cpus": 4, "conf": f"FirstJobId={random.randrange(10**5, 10**6)}"}


def start(c, *options, wrap="srun -N3 -n3 bash -c 'echo on; exec sleep 60'"):
    """A job whose step runs on all its nodes: one that is still being launched fails when it loses a node."""
    job = c.sbatch("-N3", "-n3", "-t5", *options, wrap=wrap)
    out = c.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and out.read_text().count("on\n") == 3, "the step's tasks run")
    return job


def test_shrinks(c):
    job = start(c)
    c.run("scontrol", "update", f"jobid={job}", "numnodes=1")
    assert c.run("squeue", "-h", "-j", job, "-o", "%D %N %T").out == "1 node1 RUNNING\n"
    c.wait_nodes(names=["node2", "node3"])
    assert "node=1," in c.job(job)["AllocTRES"]
    other = c.sbatch("-N2", "--exclusive", wrap="sleep 60")
    assert c.wait_state(other, "RUNNING")["NodeList"] == "node[2-3]"
    assert c.state(job) == "RUNNING"
    c.restart_ctld()
    assert c.job(job)["NodeList"] == "node1" and c.state(job) == "RUNNING"
    c.run("scancel", job, other)
    assert c.wait_end(job)["JobState"] == "CANCELLED"


def test_gives_memory_back(c):
    """Rows look-1.25, life-12.5: others may have what a running job gives back; it gets no more."""
    job = c.sbatch("-N1", "-n1", "--mem=900", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "update", f"jobid={job}", "minmemorynode=50")
    shown = c.job(job)
    assert "mem=50M" in shown["AllocTRES"] and shown["MinMemoryNode"] == "50M" and shown["ResizeTime"]
    assert " AllocMem=50 " in c.run("scontrol", "show", "node", shown["NodeList"]).out
    for value in ("900", "0"):
        assert "Job is no longer pending execution" in c.run("scontrol", "update", f"jobid={job}", f"minmemorynode={value}",
                                                             check=False).err
    c.restart_ctld()
    assert "mem=50M" in c.job(job)["AllocTRES"] and c.state(job) == "RUNNING"
    c.run("scancel", job)
    c.wait_end(job)


HOG = "python3 -c \"import time; x = bytearray(100 << 20); print('on', flush=True); time.sleep(100)\""


def start_hog(c, *options, wrap=HOG, tasks=1):
    job = c.sbatch(*options, wrap=wrap)
    out = c.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and out.read_text().count("on\n") == tasks, "it uses its memory", 60)
    return job


def node_memory(c, job):
    """MinMemoryNode of the job in MiB, when its nodes hold no more than that of it."""
    mib = int(c.job(job)["MinMemoryNode"].rstrip("M"))
    shown = c.run("scontrol", "show", "node", c.job(job)["NodeList"]).out
    return mib if re.findall(r" AllocMem=(\d+) ", shown) == [str(mib)] * int(c.job(job)["NumNodes"]) else None


def test_memory_that_is_not_used(c):
    """--mem-update: after the delay a job keeps what it uses, and the margin; once in a run, also over a restart."""
    job = start_hog(c, "-N1", "-n1", "--mem=600", "--mem-update=30@0:02")
    mib = wait_until(lambda: (m := node_memory(c, job)) and m < 600 and m, "it gives memory back", 60)
    assert 130 <= mib < 200 and f"mem={mib}M" in c.job(job)["AllocTRES"]
    shown = json.loads(c.run("squeue", "--json", "-j", job).out)["jobs"][0]
    assert (shown["memory_update_margin"], shown["memory_update_delay"]) == (30, 1)
    other = c.sbatch("-N1", "-n1", "-w", c.job(job)["NodeList"], f"--mem={2000 - mib}", wrap="true")
    assert c.wait_end(other)["JobState"] == "COMPLETED"
    c.restart_ctld()
    assert node_memory(c, job) == mib
    c.run("scancel", job)
    c.wait_end(job)


def test_memory_of_several_nodes(c):
    """The node that uses most counts; a job whose delay ends while no controller is there is measured by the next one."""
    one = f"if [ $SLURM_PROCID = 1 ]; then exec {HOG}; fi; echo on; exec sleep 100"
    (c.work / "one.sh").write_text(one)
    job = start_hog(c, "-N2", "-n2", "--mem=600", "--mem-update=50@0:15", wrap="srun bash one.sh", tasks=2)
    assert node_memory(c, job) == 600
    c.restart_ctld()
    mib = wait_until(lambda: (m := node_memory(c, job)) and m < 600 and m, "it gives memory back", 90)
    assert 150 <= mib < 240
    c.run("scancel", job)
    c.wait_end(job)


def test_memory_that_is_needed(c):
    """No less than a tenth, and never more than it has; by --mem-per-cpu, too."""
    idle = c.sbatch("-N1", "-n1", "-c2", "--mem-per-cpu=400", "--mem-update=0@0:01", wrap="sleep 100")
    full = start_hog(c, "-N1", "-n1", "--mem=120", "--mem-update=900@0:01")
    wait_until(lambda: c.job(idle).get("MinMemoryNode") == "80M", "a tenth is left", 60)
    assert "mem=80M" in c.job(idle)["AllocTRES"]
    assert "mem=120M" in c.job(full)["AllocTRES"] and c.job(full)["MinMemoryNode"] == "120M"
    c.run("scancel", idle, full)


def test_a_record_for_each_size(c):
    """Accounting has what the job held until it was resized, and counts from then on what it has since."""
    job = start(c)
    for nodes in "2", "1":
        c.run("scontrol", "update", f"jobid={job}", f"numnodes={nodes}")
    assert re.search(r"^   ResizeTime=20", c.run("scontrol", "show", "job", job).out, re.M)
    assert re.match("20", c.run("squeue", "-h", "-j", job, "-O", "ResizeTime").out)
    c.run("scancel", job)
    c.wait_end(job)

    def rows(*options):
        fields = "jobid,state,nnodes,nodelist,start,end,sluid,originalsluid,alloctres"
        return [line.split("|") for line in c.run("sacct", "-n", "-P", "-j", job, "-o", fields, *options).out.splitlines()]
    wait_until(lambda: len(rows("-D", "-X")) == 3 and "CANCELLED" in rows("-D", "-X")[2][1], "the end is stored")
    sizes = rows("-D", "-X")
    assert [(row[1].split()[0], row[2], row[3]) for row in sizes] == [
        ("RESIZING", "3", "node[1-3]"), ("RESIZING", "2", "node[1-2]"), ("CANCELLED", "1", "node1")]
    assert [row[5] for row in sizes[:2]] == [row[4] for row in sizes[1:]], "each begins where the one before ends"
    assert len({row[6] for row in sizes}) == 3 and {row[7] for row in sizes} == {sizes[0][6]}
    assert ["node=%s" % n in row[8] for n, row in zip("321", sizes)] == [True] * 3
    assert [row[0] for row in rows()] == [f"{job}", f"{job}.batch", f"{job}.0"]
    assert [row[2] for row in rows("-X", "-s", "RESIZING", "-S", "now-1hour", "-E", "now+1minute")] == ["3", "2"]


def test_disable_job_shrink(c):
    job = start(c)
    c.write_conf(c.conf_text() + "SchedulerParameters=disable_job_shrink,requeue_delay=2\n")
    try:
        c.run("scontrol", "reconfigure")
        err = c.refused("scontrol", "update", f"jobid={job}", "numnodes=1")
    finally:
        c.write_conf()
        c.run("scontrol", "reconfigure")
    assert err == f"Requested operation not supported on this system for job {job}\n" and c.job(job)["NodeList"] == "node[1-3]"


def test_keeps_named_nodes(c):
    job = start(c)
    err = c.refused("scontrol", "update", f"jobid={job}", "nodelist=node[2-3]")
    assert err == f"Invalid node name specified for job {job}\n"  # the script runs on node1
    c.run("scontrol", "update", f"jobid={job}", "nodelist=node[1,3]")
    assert c.job(job)["NodeList"] == "node[1,3]"
    c.wait_nodes(names=["node2"])


@pytest.mark.parametrize("change, text", [("numnodes=4", "Requested operation not supported on this system"),
                                          ("nodelist=node9", "Invalid node name specified"),
                                          ("numnodes=1 partition=main", "Job is no longer pending execution")])
def test_refused(c, change, text):
    job = start(c)
    assert c.refused("scontrol", "update", f"jobid={job}", *change.split()) == f"{text} for job {job}\n"
    assert c.job(job)["NodeList"] == "node[1-3]"
    c.run("scontrol", "update", f"jobid={job}", "numnodes=3")  # what it has


def test_writes_variables_inside(c):
    job = start(c)
    c.run("scontrol", "update", f"jobid={job}", "numnodes=2", env={"SLURM_JOB_ID": str(job)})
    text = (c.work / f"slurm_job_{job}_resize.sh").read_text()
    assert 'export SLURM_JOB_NODELIST="node[1-2]"\n' in text and 'export SLURM_NNODES="2"\n' in text
    assert 'export SLURM_JOB_CPUS_PER_NODE="1(x2)"\n' in text and "unset SLURM_NTASKS\n" in text
    assert "unsetenv SLURM_NTASKS\n" in (c.work / f"slurm_job_{job}_resize.csh").read_text()


def test_processes_of_jobs(c):
    job = start(c)

    def listed():
        return [line.split() for line in c.run("scontrol", "listpids", f"{job}.0", check=False).out.splitlines()]
    wait_until(lambda: len(listed()) == 4, "three tasks run")
    rows = listed()
    assert rows[0] == ["PID", "JOBID", "STEPID", "LOCALID", "GLOBALID"]
    assert {(row[1], row[2], row[4]) for row in rows[1:]} == {(str(job), "0", str(rank)) for rank in range(3)}
    one = c.run("scontrol", "listpids", f"{job}.0", "node2").out.splitlines()
    assert len(one) == 2 and one[1].split()[4] == "1"
    assert str(job) in c.run("scontrol", "listjobs").out.split()
    assert [str(job), "batch"] in [line.split() for line in c.run("scontrol", "liststeps").out.splitlines()]
    neighbour = c.work / "neighbour.conf"  # another cluster on this machine, by its name or by its nodes' folders
    own = open(c.env["SLURM_CONF"]).read()
    for line in (f"ClusterName=next{job}", f"SlurmdSpoolDir={c.work}/%n"):
        neighbour.write_text(re.sub(rf"(?m)^{line.split('=')[0]}=.*", line, own))
        for command in ("listjobs", "liststeps", "listpids"):
            there = c.run("scontrol", command, env={"SLURM_CONF": str(neighbour)}, check=False)
            assert str(job) not in there.out.split() and there.rc == (0 if there.out else 1)
    told = c.run("scontrol", "pidinfo", one[1].split()[0]).out
    assert re.fullmatch(rf"Slurm JobId={job} ends at \d{{4}}-\S+\nslurm_get_rem_time is (29\d|300)\n", told), told
    assert c.refused("scontrol", "listpids", "9999999") == "There are no steps for job 9999999 on node (null).\n"
    assert c.refused("scontrol", "pidinfo", "1") == "Failed to locate job for requested pid\n"
