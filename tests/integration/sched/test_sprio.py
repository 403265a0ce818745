"""sprio: what priorities are made of, its options and formats; and scontrol reconfigure, which changes the weights."""

import getpass

import pytest

from conftest import wait_until

WEIGHTS = ("PriorityType=priority/multifactor\nPriorityMaxAge=7-0\nPriorityWeightAge=1000\n"
           "PriorityWeightJobSize=500\nPriorityWeightPartition=2000\nPriorityWeightQOS=0\n")
CLUSTER = {"nodes": 4, "conf": "KillWait=1\nSchedulerParameters=bf_interval=1\n" + WEIGHTS,
           "partition": "PriorityJobFactor=10\nPartitionName=batch Nodes=ALL PriorityJobFactor=100"}


@pytest.fixture
def jobs(c):
    """A full cluster, and four jobs that wait: main, main with nice, batch, both."""
    full = c.sbatch("-N4", "--exclusive", "-t", "60", wrap="sleep 1000")
    c.wait_state(full, "RUNNING")
    ids = [c.sbatch("-n2", wrap="true"), c.sbatch("-n2", "--nice=100", wrap="true"),
           c.sbatch("-p", "batch", "-N2", "-n4", wrap="true"), c.sbatch("-p", "main,batch", wrap="true")]
    wait_until(lambda: c.run("sprio", "-h").out.count("\n") == 5, "all are eligible")
    return [str(i) for i in ids]


def test_default(c, jobs):
    # sizes: (1/4 + 2/16)/2, (2/4 + 4/16)/2, (1/4 + 1/16)/2 of 500; partitions 10/100 and 1 of 2000
    a, b, x, both = jobs
    assert c.run("sprio").out == (
        "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE  PARTITION\n"
        f"{a:>15} main             293          0          0         94        200\n"
        f"{b:>15} main             193          0          0         94        200\n"
        f"{x:>15} batch           2187          0          0        188       2000\n"
        f"{both:>15} main             278          0          0         78        200\n"
        f"{both:>15} batch           2078          0          0         78       2000\n")


def test_a_job_that_waits_for_another_shows_its_priority(c, jobs):
    """What it would have alone, age aside: alone, as an array, as a component; sprio lists it once it is eligible."""
    held = c.sbatch("-H", "-n2", wrap="true")
    after = [c.sbatch("-n2", "-d", f"afterok:{held}", wrap="true"),
             c.sbatch("-n2", "-a", "1-3", "-d", f"afterok:{held}", wrap="true"),
             c.sbatch("-n2", "-d", f"afterok:{held}", ":", "-p", "batch", "-n2", wrap="true")]

    def shown():
        lines = c.run("squeue", "-h", "-S", "i", "-j", ",".join(map(str, after)), "-o", "%i %Q %r").out.splitlines()
        return [line.split(" ", 1)[1] for line in lines]
    wait_until(lambda: shown() == ["293 Dependency"] * 3 + ["2093 Dependency"], "priorities of jobs that wait")
    assert not c.run("sprio", "-h", "-j", ",".join(map(str, after))).out
    c.restart_ctld()
    wait_until(lambda: shown() == ["293 Dependency"] * 3 + ["2093 Dependency"], "the same after a restart")
    c.run("scontrol", "update", f"JobId={after[0]}", "Dependency=")
    wait_until(lambda: c.run("sprio", "-h", "-j", after[0], "-o", "%Y").out.strip() == "293", "it is eligible")


def test_site_factor(c, jobs):
    """An administrator's SiteFactor is added to the priority, also a negative one, and shown in its column."""
    a, b = jobs[:2]
    c.run("scontrol", "update", f"JobId={a}", "SiteFactor=1000")
    c.run("scontrol", "update", f"JobId={b}", "SiteFactor=-50")
    wait_until(lambda: c.job(a)["Priority"] == "1293" and c.job(b)["Priority"] == "143", "the priorities follow")
    assert c.run("sprio", "-h", "-j", f"{a},{b}", "-o", "%i %Y %S").out == f"{a} 1293 1000\n{b} 143 -50\n"


def test_options(c, jobs):
    a, b, x, both = jobs
    user = getpass.getuser()
    assert c.run("sprio", "-w").out == (
        "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE  PARTITION\n"
        "        Weights                               1       1000        500       2000\n")
    assert c.run("sprio", "-h", "-S", "-y", "-o", "%i %r %Y").out.split("\n")[:3] == [
        f"{x} batch 2187", f"{both} batch 2078", f"{a} main 293"]
    assert c.run("sprio", "-o", "%i %Y %A %F %J %P %Q %N %u", "-j", b).out == (
        f"JOBID PRIORITY AGE FAIRSHARE JOBSIZE PARTITION QOS NICE USER\n{b} 193 0 0 94 200 0 100 {user}\n")
    assert c.run("sprio", "-h", "-p", "batch", "-o", "%i").out.split() == [x, both]
    assert c.run("sprio", "-n", "-j", a).out == (
        "          JOBID PARTITION PRIORITY   AGE        JOBSIZE    PARTITION \n"
        f"{a:>15} main      0.00000006 {'0.0000000':<10} {'0.1875000':<10} {'0.1000000':<10}\n".replace(
            "0.0000000", c.run("sprio", "-h", "-j", a, "-o", "%a").out.strip()))
    assert c.run("sprio", "-u", user, "-j", a).out == (
        "          JOBID PARTITION     USER   PRIORITY       SITE        AGE    JOBSIZE  PARTITION\n"
        f"{a:>15} main      {user[:8]:>8}        293          0          0         94        200\n")
    assert c.run("sprio", "-l", "-j", b).out == (
        "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE"
        "  PARTITION    QOSNAME        QOS        NICE                 TRES\n"
        f"{b:>15} main      {user[:8]:>8}   (null)        193          0          0          0          0         94"
        f"        200     normal          0         100                     \n")
    assert c.run("sprio", "-j", "99999").out == (
        "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE  PARTITION\n")
    bad = c.run("sprio", "-S", "?", check=False)
    assert (bad.rc, bad.err) == (1, "sprio: error: Invalid sort specification: ?\n")


def test_environment(c, jobs):
    assert c.run("sprio", "-h", "-j", jobs[0], env={"SPRIO_FORMAT": "%i:%Y"}).out == f"{jobs[0]}:293\n"


def test_held_and_top(c, jobs):
    held = str(c.sbatch("-H", wrap="true"))
    assert held not in c.run("sprio", "-h", "-o", "%i").out.split()
    c.run("scontrol", "update", f"jobid={jobs[0]}", "priority=12345")
    wait_until(lambda: c.run("sprio", "-h", "-j", jobs[0], "-o", "%Y").out == "12345\n", "the priority set counts")
    assert c.run("sprio", "-h", "-j", jobs[0], "-o", "%A %J %P").out == "0 0 0\n"


def test_reconfigure(make_cluster):
    cluster = make_cluster(nodes=2, conf=WEIGHTS)
    cluster.sbatch("-N2", "--exclusive", wrap="sleep 1000")
    job = cluster.sbatch("-N1", "-n1", wrap="true")
    wait_until(lambda: cluster.run("sprio", "-h", "-j", job, "-o", "%J").out.strip() == "156", "sized")
    cluster.extra_conf = cluster.extra_conf.replace("WeightJobSize=500", "WeightJobSize=1000") + \
        "PriorityFavorSmall=YES\n"
    cluster.write_conf()
    cluster.run("scontrol", "reconfigure")
    wait_until(lambda: cluster.run("sprio", "-h", "-j", job, "-o", "%J").out.strip() == "688", "weighed anew")


def test_basic(make_cluster):
    cluster = make_cluster(nodes=1, conf="PriorityType=priority/basic")
    result = cluster.run("sprio", check=False)
    assert result.rc == 1 and result.out == ""
    assert result.err == ("You are not running a supported priority plugin (priority/basic).\n"
                          "Only 'priority/multifactor' is supported.\n")
