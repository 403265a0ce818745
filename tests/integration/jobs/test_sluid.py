"""SLUIDs: each run of a job has one, every command takes it in place of the job's number."""

import re

from conftest import wait_until

FORM = re.compile(r"s[0-9A-F][0-9A-HJKMNP-TV-Z]{12}")


def sluid(c, job):
    return c.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%s").out.strip()


def test_each_run_has_its_own(c):
    first, second = c.sbatch("-H", wrap="true"), c.sbatch("-H", wrap="true")
    a, b = sluid(c, first), sluid(c, second)
    assert FORM.fullmatch(a) and FORM.fullmatch(b) and a < b and a[:3] == b[:3]


def test_in_place_of_a_number(c):
    job = c.sbatch("-H", wrap="true")
    name = sluid(c, job)
    assert c.run("squeue", "-h", "-j", name.lower(), "-o", "%i").out == f"{job}\n"
    assert c.run("scontrol", "show", "job", name).out.startswith(f"JobId={job} ")
    assert f"   SLUID={name}\n" in c.run("scontrol", "-d", "show", "job", job).out
    c.run("scontrol", "release", name)
    c.wait_end(job)
    held = c.sbatch("-H", wrap="true")
    c.run("scancel", sluid(c, held))
    wait_until(lambda: c.state(held) == "CANCELLED", "it is cancelled")


def test_requeue_gives_a_new_one(c):
    job = c.sbatch(wrap="echo $SLURM_JOB_SLUID; sleep 100")
    c.wait_state(job, "RUNNING")
    first = sluid(c, job)
    wait_until(lambda: c.out(job) == first + "\n", "the script said its SLUID")
    c.run("scontrol", "requeuehold", job)
    c.wait_state(job, "PENDING")
    assert sluid(c, job) > first
    assert c.refused("squeue", "-j", first) == "slurm_load_jobs error: Invalid job id specified\n"
    wait_until(lambda: len(c.sacct("-D", "-X", "-j", job, "-o", "sluid")) == 2, "two runs are known")
    assert [row[0] for row in c.sacct("-D", "-X", "-j", job, "-o", "sluid")] == [first, sluid(c, job)]


def test_tasks_have_their_own(c):
    job = c.sbatch("-a", "1-3", wrap="true")
    wait_until(lambda: c.run("squeue", "-h", "-j", job).out == "", "the tasks ended")
    names = c.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%s").out.split()
    assert len(set(names)) == 3 and all(FORM.fullmatch(n) for n in names)


def test_grows_over_a_restart(cluster):
    before = sluid(cluster, cluster.sbatch("-H", wrap="true"))
    cluster.kill_ctld()
    cluster.start_ctld()
    after = sluid(cluster, cluster.sbatch("-H", wrap="true"))
    assert after > before and after[:3] == before[:3]


def test_unknown(c):
    assert c.refused("squeue", "-j", "s8FXJCCS3F9Z00") == "slurm_load_jobs error: Invalid job id specified\n"
    assert c.refused("scontrol", "show", "job", "s8FXJCCS3F9Z0") != ""


def test_sprio_takes_it(make_cluster):
    c = make_cluster(nodes=1, conf="PriorityType=priority/multifactor\nPriorityWeightAge=10")
    c.run("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=t")
    first, second = c.sbatch(wrap="true"), c.sbatch(wrap="true")
    wait_until(lambda: len(c.run("sprio", "-h").out.splitlines()) == 2, "both are known")
    assert c.run("sprio", "-h", "-o", "%i", "-j", sluid(c, second)).out == f"{second}\n"
    assert c.run("sprio", "-h", "-o", "%i", "-j", f"{sluid(c, first).lower()},{second}").out == f"{first}\n{second}\n"
    assert c.run("sprio", "-h", "-o", "%i", "-j", "s00000000000AB").out == ""
