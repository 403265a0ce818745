"""Allocations of salloc and srun in a federation: they start in the cluster that has room first, and the command goes there."""
import subprocess

import pytest

from conftest import wait_until
from test_federation import SHIFT, Federation, fed, queue  # fed: the fixture


def begin(c, *argv):
    return c.popen(*argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def give_feature(c, cluster, name):
    c.run("sacctmgr", "-i", "modify", "cluster", cluster, "set", f"features={name}")
    wait_until(lambda: f"Features:{name} " in c.run("scontrol", "show", "federation").out, "features are known")


def test_salloc_goes_where_room_is(fed):
    """The command and its steps see the cluster that runs the job; the origin has its end, the third cluster nothing."""
    a, b, c = fed.list
    fed.fill(a, b)
    script = 'echo "$SLURM_JOB_ID $SLURM_CLUSTER_NAME"; srun sh -c "echo step \\$SLURM_CLUSTER_NAME"; ' \
             'squeue -h -j $SLURM_JOB_ID -o %T -M $SLURM_CLUSTER_NAME'
    r = a.run("salloc", "sh", "-c", script)
    job = int(r.out.split()[0])
    assert job >> SHIFT == 1 and r.out.splitlines()[0] == f"{job} cc"
    assert "step cc" in r.out and "RUNNING" in r.out
    assert f"Granted job allocation {job}" in r.err and f"Relinquishing job allocation {job}" in r.err
    c.wait_state(job, "COMPLETED")
    wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end")
    wait_until(lambda: str(job) not in queue(b, "-o", "%i"), "the copy at bb is revoked")
    assert [x.job(job)["JobState"] for x in (a, b)] == ["REVOKED", "REVOKED"]


def test_srun_waits_in_all(fed):
    """srun waits in every cluster, also while controllers are killed, and gives the exit code of its tasks."""
    a, b, c = fed.list
    give_feature(a, "bb", "x")
    fillers = fed.fill(a, b, c)
    p = begin(a, "srun", "-J", "waits", "--cluster-constraint=!x", "sh", "-c", "echo $SLURM_CLUSTER_NAME; exit 3")
    wait_until(lambda: queue(c, "-n", "waits", "-o", "%T") == ["PENDING"], "cc has a copy")
    assert "queued and waiting for resources" in p.stderr.readline()  # before that it does not know its number
    a.kill_ctld()
    c.kill_ctld()
    a.start_ctld()
    c.start_ctld()
    fed.wait_joined(a)
    fed.wait_joined(c)
    assert p.poll() is None, p.communicate()
    assert queue(c, "-n", "waits", "-o", "%T") == ["PENDING"]
    assert queue(a, "-n", "waits", "-O", "SiblingsViable:20") == ["aa,cc"]
    c.run("scancel", fillers[2])
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out.split()) == (3, ["cc"]), err
    job = int(queue(c, "-a", "-t", "all", "-n", "waits", "-o", "%i")[0])
    c.wait_state(job, "FAILED")
    wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end")
    assert fed.started() == {}


def test_home_may_not_run_it(fed):
    """The origin is not among the clusters that may run the job: salloc and srun go to the one that starts it, at once."""
    a, b, c = fed.list
    give_feature(a, "bb", "x")
    show = ("printenv", "SLURM_CLUSTER_NAME")
    assert a.run("srun", "--cluster-constraint=x", *show).out == "bb\n"
    assert a.run("srun", *show, env={"SLURM_CLUSTER_CONSTRAINT": "x"}).out == "bb\n"
    assert a.run("salloc", "--cluster-constraint=x", *show).out == "bb\n"
    assert a.run("srun", *show).out == "aa\n"  # without one the origin is as good as any
    held = a.run("sbatch", "--parsable", "-H", "--cluster-constraint=x", "--wrap", "true").out.split(";")[0].strip()
    wait_until(lambda: queue(a, "-a", "-j", held, "-O", "SiblingsActive:20") == ["bb"], "bb's copy is known")
    shown = a.run("scontrol", "--local", "show", "job", held).out
    assert "\n   ClusterFeatures=x\n   FedOrigin=aa FedViableSiblings=bb FedActiveSiblings=bb\n" in shown


def test_cancelled_from_home(fed):
    """scancel at the origin ends an allocation that runs elsewhere."""
    a, b, c = fed.list
    give_feature(a, "cc", "y")
    p = begin(a, "salloc", "-J", "away", "--cluster-constraint=y", "-K", "sleep", "600")
    wait_until(lambda: queue(c, "-n", "away", "-o", "%T") == ["RUNNING"], "it runs in cc", 30)
    job = int(queue(c, "-n", "away", "-o", "%i")[0])
    wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the run")
    a.run("scancel", job)
    _, err = p.communicate(timeout=60)
    assert f"Job allocation {job} has been revoked." in err
    c.wait_state(job, "CANCELLED")


def test_lost_client(folder, make_cluster):
    """A client that dies before or after the start, at home or away: the allocation goes in every cluster."""
    sites = Federation(folder, make_cluster, conf="MessageTimeout=2")
    try:
        a, b, c = sites.list
        fillers = sites.fill(a, b, c)
        p = begin(a, "srun", "-J", "early", "sleep", "600")
        wait_until(lambda: queue(c, "-n", "early", "-o", "%T") == ["PENDING"], "cc has a copy")
        p.kill()
        p.communicate()
        wait_until(lambda: not any(queue(x, "-n", "early") for x in sites.list), "it is cancelled", 60)
        c.run("scancel", fillers[2])
        p = begin(a, "srun", "-J", "late", "sh", "-c", f"touch {folder}/late; sleep 600")
        wait_until(lambda: queue(c, "-n", "late", "-o", "%T") == ["RUNNING"], "it runs in cc", 30)
        job = int(queue(c, "-n", "late", "-o", "%i")[0])
        wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the run")
        wait_until((folder / "late").exists, "the step has begun: else it lasts until its credential has run out", 30)
        p.kill()
        p.communicate()
        c.wait_end(job, timeout=60)
        wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end")
    finally:
        sites.stop()


def test_what_stays(fed):
    """Arrays, heterogeneous jobs and what may not wait stay in the cluster that they were submitted to, or are refused there."""
    a, b, _ = fed.list
    give_feature(a, "bb", "x")
    for command in (("sbatch", "--array=1-2", "--wrap", "true"), ("srun", "-I", "true")):
        assert "Invalid cluster feature" in a.refused(command[0], "--cluster-constraint=x", *command[1:])
    a.run("sbatch", "-H", "--cluster-constraint=!x", "--array=1-2", "--wrap", "true")
    a.run("sbatch", "-H", "--wrap", "true", ":", "--mem=1")
    a.run("srun", "-I", "true")
    moves = fed.submit(a, "-H")
    wait_until(lambda: str(moves) in queue(b, "-o", "%i"), "bb has a copy of the batch job")
    assert sorted(queue(a, "-O", "SiblingsViable:12")) == ["NA", "NA", "NA", "aa,bb,cc"]
    assert queue(b, "-o", "%i") == [str(moves)]


def test_owner_with_another_number(fed):
    """A cluster that leaves while it runs a job of another, and comes back under another number, still has it: its end is heard."""
    a, b, c = fed.list
    fed.fill(a, b)
    jobs = [fed.submit(a, sleep=600) for _ in range(2)]
    for job in jobs:
        c.wait_state(job, "RUNNING")
        wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the run")
    for what in ("clusters-=cc", "clusters-=bb", "clusters+=cc", "clusters+=bb"):
        a.run("sacctmgr", "-i", "modify", "federation", "f1", "set", what)
    for cluster in fed.list:
        fed.wait_joined(cluster)
    assert "cc:" in a.run("scontrol", "show", "federation").out.partition("ID:2")[0].rpartition("\n")[2]
    a.run("scancel", jobs[0])  # at home
    c.wait_state(jobs[0], "CANCELLED", timeout=40)
    c.run("scancel", jobs[1])  # where it runs
    for job in jobs:
        wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end", 30)
    wait_until(lambda: "Synced:No" not in a.run("scontrol", "show", "federation").out, "nothing is tried again and again")
