"""Several clusters of one slurmdbd: -M of the commands."""
import pytest

from accounting import Sites


@pytest.fixture
def two(folder, make_cluster):
    sites = Sites(folder, make_cluster, ["aa", "bb"])
    try:
        yield sites
    finally:
        sites.stop()


def test_lists(two):
    """Each cluster's list stands under its name; the other's jobs are shown, and cancelled there alone."""
    a, b = two.list
    here, there = a.sbatch(wrap="sleep 600"), b.sbatch("-J", "other", wrap="sleep 600")
    assert here == there, "equal numbers, or the test shows nothing"
    for c in (a, b):
        c.wait_state(here, "RUNNING")
    out = a.run("squeue", "-M", "aa,bb", "-o", "%i %j").out.split("\n")
    assert out == ["CLUSTER: aa", "JOBID NAME", f"{here} wrap", "", "CLUSTER: bb", "JOBID NAME", f"{there} other", ""]
    assert a.run("squeue", "-M", "all", "-o", "%i %j").out.split("\n") == out
    assert a.run("squeue", "-M", "bb", "-O", "Cluster:5,Name:6", "-h").out == "bb   other \n"
    assert a.run("squeue", env={"SLURM_CLUSTERS": "bb"}).out.startswith("CLUSTER: bb\n")
    nodes = a.run("sinfo", "-M", "all", "-o", "%N %T").out.split("\n")
    assert [line for line in nodes if line.startswith("CLUSTER")] == ["CLUSTER: aa", "CLUSTER: bb"] and "" in nodes[:-1]
    assert "JobName=other" in a.run("scontrol", "-M", "bb", "show", "job", str(there)).out
    assert a.run("sdiag", "-M", "bb").out.startswith("*****")
    assert a.run("sshare", "-M", "aa,bb", "-a").out.count("CLUSTER: ") == 2
    a.run("scancel", "-M", "bb", str(there))
    b.wait_state(there, "CANCELLED")
    assert a.state(here) == "RUNNING"
    there = b.sbatch("-J", "other", wrap="sleep 600")
    a.run("scancel", "-M", "aa,bb", "-n", "other")
    b.wait_state(there, "CANCELLED")
    assert a.state(here) == "RUNNING"


def test_names(two):
    a, b = two.list
    done = a.run("squeue", "-M", "aa,nosuch", check=False)
    assert done.rc == 1 and done.out == ""
    assert done.err.splitlines() == [
        "squeue: error: No cluster 'nosuch' known by database.",
        "squeue: error: 'aa,nosuch' can't be reached now, or it is an invalid entry for --cluster.  "
        "Use 'sacctmgr list clusters' to see available clusters.",
        "squeue: fatal: Could not get cluster information"]
    a.run("sacctmgr", "-i", "add", "cluster", "idle")  # it never registered
    assert a.run("squeue", "-M", "idle", check=False).rc == 1
    assert a.run("sinfo", "-hM", "all").rc == 0
    done = a.run("scontrol", "-M", "aa,bb", "show", "job", check=False)
    assert done.rc == 1 and "Only one cluster can be used at a time" in done.err
    two.dbd.stop()
    done = a.run("squeue", "-M", "bb", check=False)
    assert done.rc == 1 and "There is a problem talking to the database" in done.err
    assert a.run("squeue", "-hM", "aa").rc == 0  # its own needs no database


def test_submit(two):
    """Of several clusters the job goes where it starts first; srun and salloc work in another cluster."""
    a, b = two.list
    out = a.run("sbatch", "-M", "bb", "--wrap", "true").out
    assert out.startswith("Submitted batch job 1 on cluster bb"), out
    b.wait_end(1)
    assert a.run("squeue", "-ht", "all").out == ""
    a.run("sbatch", "--exclusive", "-t", "60", "--wrap", "sleep 600")
    a.wait_state(1, "RUNNING")
    # Each cluster was asked first when the job would start, which uses up a number as --test-only does.
    assert a.run("sbatch", "-M", "aa,bb", "--parsable", "--exclusive", "-t", "5", "--wrap", "true").out == "3;bb\n"
    b.wait_end(3)
    assert a.run("sbatch", "-M", "all", "--parsable", "--wrap", "true", "-t", "1", env={"SBATCH_EXCLUSIVE": "exclusive"}).out == "5;bb\n"
    b.wait_end(5)
    done = a.run("sbatch", "-M", "aa,bb", "-N", "50", "--wrap", "true", check=False)
    assert done.rc == 1 and "Can't run on any of the specified clusters" in done.err
    assert a.run("srun", "-M", "bb", "printenv", "SLURM_CLUSTER_NAME").out == "bb\n"
    out = a.run("salloc", "-M", "bb", "srun", "printenv", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID").out.split()
    assert out == ["bb", "8"]  # 6: the refused one, 7: srun


def test_federation(two):
    """A federation outlives slurmdbd, and the controllers' logs take what they do not act on."""
    a, b = two.list

    def members(c=a):
        return c.run("sacctmgr", "-nP", "list", "federation", "format=federation,cluster,fedid,fedstate").out.split()

    a.run("sacctmgr", "-i", "add", "federation", "f1", "clusters=aa,bb")
    a.run("sacctmgr", "-i", "add", "federation", "empty")
    # What is drained leaves the federation with the last of the federation's jobs.
    kept = b.run("sbatch", "--parsable", "-M", "bb", "-o", "/dev/null", "--wrap", "sleep 300").out.split(";")[0]
    b.wait_state(kept, "RUNNING")
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "fedstate=drain+remove", "features=x,y")
    want = ["empty|||", "f1|aa|1|ACTIVE", "f1|bb|2|DRAIN+REMOVE"]
    assert members() == want
    assert a.run("sacctmgr", "-nP", "list", "cluster", "bb", "format=fedstateraw,features,id").out == "49|x,y|2\n"
    two.dbd.kill()
    b.restart_ctld()
    two.dbd.start()
    assert members(b) == want
    a.run("sacctmgr", "-i", "delete", "federation", "empty")
    b.run("scancel", kept)
    b.wait_end(kept)
    b.wait_sacct(kept, "CANCELLED")
    a.run("sacctmgr", "-i", "delete", "cluster", "bb")
    two.dbd.kill()
    two.dbd.start()
    assert members() == ["f1|aa|1|ACTIVE"]
    done = a.run("sacctmgr", "list", "federation", "tree", "-nP", "f1", "format=federation,cluster")
    assert done.out == "f1|\n|aa\n"
    for verb in ("add", "modify", "delete"):
        assert a.run("sacctmgr", "-i", verb, "federation", check=False).rc == 1


def test_all_clusters_of_sacct(two):
    a, b = two.list
    for c in (a, b):
        c.wait_end(c.sbatch(wrap="true"))
        c.wait_sacct(1, "COMPLETED")
    assert a.sacct("-X", "-L", "-o", "JobID,Cluster") == [["1", "aa"], ["1", "bb"]]
    assert a.run("sacctmgr", "-nP", "list", "cluster", "withfed").out.count("|0||NA\n") == 2
