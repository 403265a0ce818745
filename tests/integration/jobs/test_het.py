"""Heterogeneous jobs: several components, one job."""
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 3, "cpus": 4}


def rows(c, *options):
    """JOBID and state words of squeue, by id."""
    out = c.run("squeue", "-h", "-o", "%i %t %R", *options).out
    return {line.split(" ", 2)[0]: line.split(" ", 2)[1:] for line in out.splitlines()}


def states(c, job):
    text = c.run("scontrol", "show", "job", job).out
    return re.findall(r"JobState=(\w+)", text)


def wait_states(c, job, want):
    wait_until(lambda: states(c, job) == want, f"components of {job} are {want}")


def submit(c, *args):
    out = c.run("sbatch", *args).out
    return int(re.fullmatch(r"Submitted batch job (\d+)\n", out).group(1))


def test_script_sections(c):
    """Ids in a row, options carried on, shown as leader+offset, everything ends with the script."""
    (c.work / "h.sh").write_text("#!/bin/bash\n#SBATCH -J het -n2 -t 3\n#SBATCH hetjob\n"
                                 "#SBATCH -n4\n#SBATCH packjob\n#SBATCH -J third -c2\nwhile [ ! -e go ]; do sleep .05; done\n")
    job = submit(c, "h.sh")
    wait_until(lambda: set(rows(c)) == {f"{job}+{k}" for k in range(3)} and
               all(r[0] == "R" for r in rows(c).values()), "all components run")
    text = c.run("scontrol", "show", "job", job).out
    assert re.findall(r"JobId=(\d+) HetJobId=(\d+) HetJobOffset=(\d+) JobName=(\w+)\n   HetJobIdSet=(\S+)\n", text) == [
        (str(job + k), str(job), str(k), name, f"{job}-{job + 2}")
        for k, name in enumerate(("het", "het", "third"))]
    assert re.findall(r"TimeLimit=(\S+)", text) == ["00:03:00"] * 3
    assert re.findall(r"NumTasks=(\d+) CPUs/Task=(\d+)", text) == [("2", "1"), ("4", "1"), ("1", "2")]
    one = c.run("scontrol", "show", "job", f"{job}+1").out
    assert one.startswith(f"JobId={job + 1} HetJobId={job} HetJobOffset=1 ") and one.count("JobId=") == 2
    assert c.run("scontrol", "show", "job", f"{job}+7", check=False).rc == 1
    (c.work / "go").touch()
    wait_states(c, job, ["COMPLETED"] * 3)
    fields = c.run("squeue", "-h", "-t", "all", "-j", job, "-O", "jobid:8,hetjobid:8,hetjoboffset:8,hetjobidset:12").out
    assert sorted(line.split() for line in fields.splitlines()) == [
        [str(job + k), str(job), str(k), f"{job}-{job + 2}"] for k in range(3)]


def test_sacct_ids(c):
    job = submit(c, "-n1", ":", "-n2", "--wrap", "true")
    wait_states(c, job, ["COMPLETED"] * 2)

    def ids(*options):
        return c.run("sacct", "-nP", "-o", "jobid", *options).out.split()
    wait_until(lambda: len(ids("-j", job)) == 3, "accounting knows it")
    assert ids("-j", job) == [f"{job}+0", f"{job}+0.batch", f"{job}+1"]
    assert ids("-j", f"{job}+1") == [f"{job}+1"]
    assert ids("-X", "-j", f"{job}+1", "--whole-hetjob=yes") == [f"{job}+0", f"{job}+1"]
    assert ids("-X", "-j", job, "--whole-hetjob=no") == [f"{job}+0"]
    assert c.run("sacct", "-nP", "-o", "jobidraw", "-j", job).out.split() == [
        str(job), f"{job}.batch", str(job + 1)]


def test_all_or_nothing(c):
    """A component that is refused refuses all; those before it have used up an id each (recording 44)."""
    before = submit(c, "--wrap", "true")
    bad = c.run("sbatch", "-n1", ":", "-n2", "-p", "nowhere", ":", "-n1", "--wrap", "true", check=False)
    assert bad.rc == 1 and "Invalid partition name specified" in bad.err and bad.out == ""
    assert submit(c, "--wrap", "true") == before + 2
    before = submit(c, "--wrap", "true")
    bad = c.run("sbatch", "-n1", ":", "--gres=nothing:1", "--wrap", "true", check=False)
    assert bad.rc == 1 and bad.out == ""
    bad = c.run("sbatch", "-a", "0-3", "-n1", ":", "-n1", "--wrap", "true", check=False)
    assert (bad.rc, bad.err) == (1, "sbatch: error: Batch job submission failed: Invalid job array specification\n")
    assert submit(c, "--wrap", "true") == before + 1


def test_cancel_rules(c):
    job = submit(c, "-n1", "--hold", ":", "-n2", ":", "-n3", "--wrap", "sleep 60")
    assert rows(c) == {f"{job}+{k}": ["PD", "(JobHeldUser)"] for k in range(3)}
    one = c.run("scancel", f"{job}+1", check=False)
    assert (one.rc, one.err) == (60, f"scancel: error: Kill job error on job id {job}+1: Operation not "
                                     "permitted on individual component of heterogeneous job\n")
    c.run("scontrol", "release", job)
    wait_states(c, job, ["RUNNING"] * 3)
    c.run("scancel", f"{job}+1")
    wait_states(c, job, ["RUNNING", "CANCELLED", "RUNNING"])
    requeue = c.run("scontrol", "requeue", f"{job}+2", check=False)
    assert (requeue.rc, requeue.err) == (1, f"Invalid job id specified for job {job}+2\n")
    c.run("scancel", job)
    wait_states(c, job, ["CANCELLED"] * 3)


def test_pending_cancelled_whole(c):
    job = submit(c, "-n1", "--hold", ":", "-n2", "--wrap", "sleep 60")
    c.run("scancel", job)
    assert states(c, job) == ["CANCELLED"] * 2
    job = submit(c, "-n1", "--hold", ":", "-n2", "--wrap", "sleep 60")
    c.run("scancel", "-n", "wrap")
    assert states(c, job) == ["CANCELLED"] * 2


def test_together_or_not(c):
    """One component has room, the other has not: neither starts, and both do when there is."""
    blocker = submit(c, "-n8", "--wrap", "sleep 60")
    c.wait_state(blocker, "RUNNING")
    job = submit(c, "-n2", ":", "-N2", "-n8", "--wrap", "sleep 60")
    wait_until(lambda: any(r[1] == "(Resources)" for r in rows(c, "-j", str(job)).values()), "it waits for nodes")
    assert states(c, job) == ["PENDING", "PENDING"]
    c.run("scancel", blocker)
    wait_states(c, job, ["RUNNING", "RUNNING"])
    c.run("scancel", job)


def test_update_and_hold(c):
    job = submit(c, "-n1", "--hold", ":", "-n2", "--wrap", "sleep 60")
    c.run("scontrol", "update", f"JobId={job}", "TimeLimit=7")
    c.run("scontrol", "update", f"JobId={job}+1", "TimeLimit=9")
    assert re.findall(r"TimeLimit=(\S+)", c.run("scontrol", "show", "job", job).out) == ["00:07:00", "00:09:00"]
    c.run("scontrol", "release", f"{job}+1")
    assert states(c, job) == ["PENDING"] * 2
    c.run("scontrol", "release", job)
    wait_states(c, job, ["RUNNING"] * 2)
    c.run("scancel", job)


def shown(c, job):
    """The dependency of each component."""
    return re.findall(r"Dependency=(\S+)", c.run("scontrol", "show", "job", job).out)


def test_dependencies(c):
    """What waits for the leader waits for all; the job waits as its first component does."""
    first = submit(c, "-n1", ":", "-n2", "--hold", "--wrap", "true")
    after = submit(c, "-d", f"afterok:{first}", "-n1", ":", "-n1", "--wrap", "true")
    assert rows(c, "-j", str(after)) == {f"{after}+0": ["PD", "(Dependency)"], f"{after}+1": ["PD", "(Dependency)"]}
    assert shown(c, after) == [f"afterok:{first}(unfulfilled)"] * 2
    c.restart_ctld()
    assert shown(c, after) == [f"afterok:{first}(unfulfilled)"] * 2
    c.run("scontrol", "release", first)
    wait_states(c, after, ["COMPLETED"] * 2)
    assert shown(c, after) == ["(null)"] * 2


def test_components_follow_a_changed_dependency(c):
    """All of them show what the first waits for, and wait for nothing of their own."""
    first = c.sbatch("--hold", wrap="true")
    after = submit(c, "-d", f"afterok:{first}", "-J", "one", "-n1", ":", "-n1", "-J", "one", "--wrap", "sleep 60")
    c.run("scontrol", "update", f"jobid={after}", f"dependency=afterany:{first}")
    assert shown(c, after) == [f"afterany:{first}(unfulfilled)"] * 2
    assert c.run("scontrol", "update", f"jobid={after}+1", "dependency=", check=False).rc == 1
    # Components share a name, and do not wait for each other: what is left is the other job.
    c.run("scontrol", "update", f"jobid={after}", f"dependency=singleton,afterany:{first}")
    assert shown(c, after) == [f"afterany:{first}(unfulfilled)"] * 2
    c.run("scontrol", "update", f"jobid={after}", "dependency=")
    assert shown(c, after) == ["(null)"] * 2
    wait_states(c, after, ["RUNNING"] * 2)
    assert "EligibleTime=Unknown" not in c.run("scontrol", "show", "job", after).out
    c.run("scancel", after, first)


def test_requeue(c):
    job = submit(c, "-n1", "--requeue", ":", "-n2", "--wrap", "sleep 60")
    wait_states(c, job, ["RUNNING"] * 2)
    c.run("scancel", f"{job}+1")
    wait_states(c, job, ["RUNNING", "CANCELLED"])
    c.run("scontrol", "requeue", job)
    wait_states(c, job, ["PENDING"] * 2)
    wait_states(c, job, ["RUNNING"] * 2)
    assert re.findall(r"Restarts=(\d)", c.run("scontrol", "show", "job", job).out) == ["1", "1"]
    c.run("scancel", job)


def test_wait_gives_the_scripts_code(c):
    done = c.run("sbatch", "-W", "-n1", ":", "-n1", "--wrap", "exit 7", check=False)
    assert done.rc == 7
    job = int(done.out.split()[-1])
    wait_states(c, job, ["FAILED"] * 2)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_controller_restart(make_cluster, how):
    c = make_cluster(nodes=2)
    running = submit(c, "-n1", ":", "-n2", "--wrap", "while [ ! -e go ]; do sleep .05; done")
    wait_states(c, running, ["RUNNING"] * 2)
    waiting = submit(c, "-N2", "-n8", ":", "-n1", "--wrap", "true")
    held = submit(c, "-n1", "--hold", ":", "-n1", "--wrap", "true")
    if how == "kill":
        c.kill_ctld()
        c.start_ctld()
    else:
        c.restart_ctld()
    assert states(c, running) == ["RUNNING"] * 2 and states(c, waiting) == ["PENDING"] * 2
    assert states(c, held) == ["PENDING"] * 2
    c.run("scancel", waiting)
    (c.work / "go").touch()
    wait_states(c, running, ["COMPLETED"] * 2)
    c.run("scontrol", "release", held)
    wait_states(c, held, ["COMPLETED"] * 2)


def test_fifo_scheduler(make_cluster):
    c = make_cluster(nodes=2, conf="SchedulerType=sched/builtin")
    blocker = submit(c, "-n4", "--wrap", "sleep 60")
    c.wait_state(blocker, "RUNNING")
    job = submit(c, "-n4", ":", "-n4", "--wrap", "true")
    late = submit(c, "-n1", "--wrap", "true")
    wait_until(lambda: rows(c, "-j", str(job)) == {f"{job}+0": ["PD", "(Resources)"], f"{job}+1": ["PD", "(Priority)"]},
               "it is the head of the queue")
    assert states(c, late) == ["PENDING"]
    c.run("scancel", blocker)
    wait_states(c, job, ["COMPLETED"] * 2)
    wait_states(c, late, ["COMPLETED"])


def test_node_failure_ends_all(make_cluster):
    c = make_cluster(nodes=2, conf="SlurmdTimeout=2\nMessageTimeout=1")
    job = submit(c, "--no-requeue", "-n4", ":", "-n4", "--wrap", "sleep 60")
    wait_states(c, job, ["RUNNING"] * 2)
    host = re.search(r"BatchHost=(\S+)", c.run("scontrol", "show", "job", f"{job}+1").out).group(1)
    c.run("scontrol", "update", f"NodeName={host}", "State=DOWN", "Reason=test")
    wait_states(c, job, ["NODE_FAIL"] * 2)


# ---- steps ----------------------------------------------------------------------------------------


def test_transcript(c):
    """The recorded script: default component, a list of components, a program for each."""
    (c.work / "h.sh").write_text("#!/bin/bash\n#SBATCH -J het -n2 -t 3\n#SBATCH hetjob\n#SBATCH -n4\n"
                                 "srun -l printenv SLURMD_NODENAME\n"
                                 "srun --het-group=0,1 -l printenv SLURMD_NODENAME\n"
                                 "srun -n1 echo a : -n2 echo b\n")
    out = c.run("sbatch", "-W", "h.sh").out
    job = int(out.split()[-1])
    text = (c.work / f"slurm-{job}.out").read_text().splitlines()
    first, second = (c.run("scontrol", "show", "job", f"{job}+{k}").out for k in (0, 1))
    n0, n1 = (re.search(r"\n   NodeList=(\S+)", t).group(1) for t in (first, second))
    assert n0 != n1  # components share no node
    assert sorted(text[:2]) == [f"0: {n0}", f"1: {n0}"]
    assert sorted(text[2:8]) == [f"{r}: {n0 if r < 2 else n1}" for r in range(6)]
    assert sorted(text[8:]) == ["a", "b", "b"]
    want = [f"{job}+0", f"{job}+0.batch", f"{job}+0.0", f"{job}+0.1", f"{job}+0.2",
            f"{job}+1", f"{job}+1.1", f"{job}+1.2"]

    def ids():
        got = c.run("sacct", "-nP", "-o", "jobid,state", "-j", job).out.split()
        return [w.split("|")[0] for w in got if w.endswith("|COMPLETED")]
    wait_until(lambda: ids() == want, "accounting has every step with its component")


def test_salloc(c):
    done = c.run("salloc", "-n1", ":", "-n1", ":", "-n1", "srun", "--het-group=0-2", "-l", "printenv",
                 "SLURMD_NODENAME")
    nodes = dict(line.split(": ") for line in done.out.splitlines())
    assert sorted(nodes) == ["0", "1", "2"] and len(set(nodes.values())) == 3
    told = [line for line in done.err.splitlines() if "waiting" not in line and "Pending" not in line
            and "has been allocated" not in line]
    job = re.search(r"Granted job allocation (\d+)", done.err).group(1)
    assert told == [f"salloc: Granted job allocation {job}",
                    *(f"salloc: Nodes {nodes[str(k)]} are ready for job" for k in range(3)),
                    f"salloc: Relinquishing job allocation {job}"]


def test_environment(c):
    """Each variable once for each component; the tasks' job is the leader's."""
    (c.work / "e.sh").write_text("#!/bin/bash\n#SBATCH -n1 -J hetenv\n#SBATCH hetjob\n#SBATCH -n2 -c2\n"
                                 "env\necho ----\nsrun --het-group=1 -l env\n")
    job = int(c.run("sbatch", "-W", "e.sh").out.split()[-1])
    batch, step = (c.work / f"slurm-{job}.out").read_text().split("----\n")
    env = dict(line.split("=", 1) for line in batch.splitlines() if line.startswith("SLURM"))
    assert env["SLURM_HET_SIZE"] == env["SLURM_PACK_SIZE"] == "2" and env["SLURM_JOB_ID"] == str(job)
    for form in ("HET", "PACK"):
        assert [env[f"SLURM_JOB_ID_{form}_GROUP_{k}"] for k in (0, 1)] == [str(job), str(job + 1)]
        assert [env[f"SLURM_NTASKS_{form}_GROUP_{k}"] for k in (0, 1)] == ["1", "2"]
        assert env[f"SLURM_TRES_PER_TASK_{form}_GROUP_1"] == "cpu=2"
        assert env[f"SLURM_JOB_CPUS_PER_NODE_{form}_GROUP_1"] == "4"
    assert "SLURM_CPUS_PER_TASK_HET_GROUP_0" not in env and "SLURM_CPUS_PER_TASK" not in env
    task = dict(line[3:].split("=", 1) for line in step.splitlines() if line.startswith("0: SLURM"))
    assert (task["SLURM_JOB_ID"], task["SLURM_NTASKS"], task["SLURM_CPUS_PER_TASK"]) == (str(job), "2", "2")
    assert task["SLURM_JOB_NODELIST"] == env["SLURM_JOB_NODELIST_HET_GROUP_1"]


def test_job_inside_is_no_component(c):
    """What is submitted from inside knows nothing of the components around it."""
    done = c.run("salloc", "-n1", ":", "-n1", "sbatch", "-W", "-n1", "--wrap", "env | grep -c _GROUP_; srun echo ok")
    job = done.out.split()[-1]
    assert (c.work / f"slurm-{job}.out").read_text() == "0\nok\n"


def test_srun_of_its_own(c):
    done = c.run("srun", "-l", "-n1", "bash", "-c", "echo a $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID", ":",
                 "-n2", "bash", "-c", "echo b $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID")
    assert sorted(done.out.splitlines()) == ["0: a 0 3 0", "1: b 1 3 1", "2: b 2 3 1"]
    wait_until(lambda: rows(c) == {}, "the allocation is gone")


def test_bad_exit_ends_all_parts(c):
    done = c.run("srun", "-K1", "-n1", "sleep", "60", ":", "-n1", "bash", "-c", "exit 3", check=False)
    assert "task 0: Exited with exit code 3" in done.err and "task 0: Terminated" in done.err
    wait_until(lambda: rows(c) == {}, "the allocation is gone")


def test_steps_wait_for_each_other(c):
    """A step over both components waits for the one that holds the second, and starts when it ends."""
    (c.work / "w.sh").write_text("#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1\n"
                                 "srun --het-group=1 bash -c 'while [ ! -e go ]; do sleep .05; done; echo one' &\n"
                                 "while ! squeue -hs -o %i | grep -q '\\.0$'; do sleep .05; done\n"
                                 "srun --het-group=0,1 echo two &\nsleep .5; touch go; wait\n")
    job = int(c.run("sbatch", "-W", "w.sh").out.split()[-1])
    assert (c.work / f"slurm-{job}.out").read_text() == f"one\nsrun: Step created for StepId={job}.1\ntwo\ntwo\n"


@pytest.mark.parametrize("args, text", [
    (["--het-group=0,0", "true", ":", "--het-group=0", "true"], "Duplicate het groups in single srun not supported"),
    (["--het-group=0-2", "true"], "Attempt to run a job step with het group value of 2, but the job allocation has maximum value of 1\n"),
    (["--het-group=2", "true"], "Requested het-group offset exceeds highest hetjob index (2 > 1)\n"),
    (["--het-group=1-0", "true"], "_parse_single_range: Invalid range: `1-0'\nsrun: error: Invalid --het-group value: 1-0\n"),
    (["--het-group=x", "true"], "_parse_single_range: Invalid range: `x'\nsrun: error: Invalid --het-group value: x\n"),
    (["true", ":", "true", ":", "true"], "has 2 components, not 3"),
    (["true", ":", "-n1"], "No command given to execute."),
])
def test_bad_groups(c, args, text):
    done = c.run("salloc", "-n1", ":", "-n1", "srun", *args, check=False)
    assert done.rc == 1 and text in done.err


def test_step_of_plain_job(c):
    done = c.run("salloc", "-n1", "srun", "true", ":", "true", check=False)
    assert done.rc == 1 and "Allocation failure of 1 nodes: job size of 1, already allocated 1 nodes" in done.err
    done = c.run("srun", "--het-group=0", "true", check=False)
    assert done.rc == 1 and done.err == "srun: error: --het-group expected to be used within an HetJob allocation\n"


def test_when_components_would_start(c):
    """Each is tried as a job of its own: srun tells all, sbatch the last start and the sums."""
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    (c.work / "when.sh").write_text("#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\ntrue\n")
    assert re.fullmatch(rf"sbatch: Job \d+ to start at {stamp} a using 3 processors on node\[1-2\]\n",
                        c.run("sbatch", "--test-only", "when.sh").err)
    one = rf"srun: Job \d+ to start at {stamp} a using 1 processors on nodes node1 in partition main\n"
    assert re.fullmatch(one + one, c.run("srun", "--test-only", "-N1", "true", ":", "-N1", "true").err)
    assert c.refused("sbatch", "--test-only", "-N1", ":", "-N9", "--wrap=true").startswith("allocation failure: ")
    assert rows(c) == {}
