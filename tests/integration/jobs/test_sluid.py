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
    assert c.run("scontrol", "write", "batch_script", sluid(c, held), "-").out.startswith("#!/bin/sh\n")
    c.run("scancel", sluid(c, held))
    wait_until(lambda: c.state(held) == "CANCELLED", "it is cancelled")


def test_steps_of_a_run(c):
    job = c.sbatch("-n2", wrap="srun -n1 --exact sleep 1000 & srun -n1 --exact sleep 1000; wait; sleep 1000")
    c.wait_state(job, "RUNNING")
    name = sluid(c, job)

    def steps():
        return sorted(c.run("squeue", "-h", "-s", "-j", name, "-o", "%i").out.split())
    wait_until(lambda: f"{job}.1" in steps(), "both steps run")
    assert c.run("squeue", "-h", "-s", f"{name}.1", "-o", "%i").out.split() == [f"{job}.1"]
    assert "1 tasks, 1 nodes" in c.run("sattach", "--layout", f"{name.lower()}.0").out
    assert c.run("srun", f"--jobid={name}", "--overlap", "-n1", "printenv", "SLURM_JOB_ID").out == f"{job}\n"
    assert c.run("srun", "--overlap", "-n1", "printenv", "SLURM_JOB_ID", env={"SLURM_JOB_ID": name}).out == f"{job}\n"
    c.run("scancel", f"{name}.0")
    wait_until(lambda: f"{job}.0" not in steps(), "the step is gone")
    assert f"{job}.1" in steps()
    assert "Invalid job id specified" in c.refused("srun", "--jobid=s8FXJCCS3F9Z00", "true")


def test_triggers_of_a_run(c):
    job = c.sbatch("-H", wrap="true")
    name = sluid(c, job)
    c.run("strigger", "--set", f"--jobid={name}", "--fini", "--program=/bin/true")
    assert c.run("strigger", "--get", f"--jobid={name}", "-N").out.split()[1:4] == ["job", str(job), "fini"]
    c.run("strigger", "--clear", f"--jobid={name}")
    assert c.run("strigger", "--get", "-N").out == ""
    c.refused("strigger", "--set", "--jobid=s8FXJCCS3F9Z00", "--fini", "--program=/bin/true")


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
