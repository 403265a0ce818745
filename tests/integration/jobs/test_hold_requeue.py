"""Holding, releasing, requeueing, suspending; changes to jobs; RequeueExit."""

import re
import subprocess
import time

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1\nRequeueExit=101,110-112\nRequeueExitHold=102"}


def said(c, name, text):
    path = c.work / name
    wait_until(lambda: path.exists() and text in path.read_text(), f"{name} holds {text!r}")


def shown(c, job):
    record = c.job(job)
    return record["JobState"], record["Reason"]


# ---- holds -----------------------------------------------------------------------------------------

def test_hold_at_submission(c):
    job = c.sbatch("--hold", wrap="true")
    record = c.job(job)
    assert (record["JobState"], record["Reason"], record["Priority"]) == ("PENDING", "JobHeldUser", "0")
    assert (record["StartTime"], record["EligibleTime"]) == ("Unknown", "Unknown")
    c.run("scontrol", "release", job)
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_hold_uhold_release(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    job = c.sbatch(wrap="true")
    c.run("scontrol", "uhold", job)
    assert shown(c, job) == ("PENDING", "JobHeldUser")
    c.run("scontrol", "release", job)
    assert c.job(job)["Priority"] != "0"
    c.run("scontrol", "hold", job)
    assert shown(c, job) == ("PENDING", "JobHeldAdmin")  # an administrator's hold
    c.run("scancel", blocker)
    c.wait_end(blocker)
    assert c.state(job) == "PENDING"
    c.run("scontrol", "release", job)
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_hold_by_name_and_lists(c):
    jobs = [c.sbatch("-H", "-J", f"n{i % 2}", wrap="true") for i in range(4)]
    c.run("scontrol", "release", f"{jobs[0]},{jobs[1]}", jobs[2])
    for job in jobs[:3]:
        c.wait_end(job)
    assert shown(c, jobs[3]) == ("PENDING", "JobHeldUser")
    c.run("scontrol", "release", "jobname=n1")
    c.wait_end(jobs[3])


def test_hold_of_a_running_job_changes_nothing(c):
    job = c.sbatch(wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "hold", job, check=False)
    assert c.state(job) == "RUNNING"


def test_unknown_jobs(c):
    for verb in ("hold", "release", "uhold"):
        assert c.refused("scontrol", verb, "99999") == (
            "Invalid job id specified for job 99999\nslurm_suspend error:Invalid job id specified\n")
    assert c.refused("scontrol", "requeue", "99999") == "Invalid job id specified for job 99999\n"


def test_begin(c):
    job = c.sbatch("--begin=now+1hour", wrap="true")
    wait_until(lambda: shown(c, job) == ("PENDING", "BeginTime"), "the reason is told")
    c.run("scontrol", "update", f"jobid={job}", "starttime=now")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    soon = c.sbatch("--begin=now+1", wrap="true")
    assert c.wait_end(soon)["JobState"] == "COMPLETED"


# ---- requeue ---------------------------------------------------------------------------------------

SCRIPT = "echo restart=$SLURM_RESTART_COUNT >> runs\necho on\nif [ -z \"$SLURM_RESTART_COUNT\" ]; then sleep 1000; fi"


def test_requeue(c):
    job = c.sbatch("--requeue", "-w", "node1", "-o", "rq.%r", script=SCRIPT)
    said(c, "rq.0", "on")
    c.run("scontrol", "requeue", job)
    record = wait_until(lambda: (r := c.job(job))["JobState"] == "PENDING" and r, "it is back in the queue")
    assert (record["Reason"], record["Restarts"]) == ("BeginTime", "1")
    assert re.search(rf"error: \*\*\* JOB {job} ON node1 CANCELLED AT \S+ DUE TO JOB REQUEUE \*\*\*",
                     (c.work / "rq.0").read_text())
    c.run("scontrol", "update", f"jobid={job}", "starttime=now")
    assert c.wait_end(job, timeout=150)["JobState"] == "COMPLETED"
    assert (c.work / "runs").read_text() == "restart=\nrestart=1\n"
    assert (c.work / "rq.1").read_text() == "on\n"
    rows = c.sacct("-D", "-X", "-j", str(job), "-o", "JobID,State,Restarts")
    assert rows == [[str(job), "REQUEUED", "0"], [str(job), "COMPLETED", "1"]]
    assert c.sacct("-X", "-j", str(job), "-o", "State") == [["COMPLETED"]]


def test_requeuehold(c):
    job = c.sbatch("--requeue", script=SCRIPT)
    said(c, "runs", "restart=")
    c.run("scontrol", "requeuehold", job)
    wait_until(lambda: c.state(job) == "PENDING", "it is back in the queue")
    assert shown(c, job) == ("PENDING", "job_requeued_in_held_state")
    assert c.run("squeue", "-h", "-j", job, "-o", "%R").out == "(job requeued in held state)\n"
    c.run("scontrol", "release", job)
    assert c.wait_end(job, timeout=150)["JobState"] == "COMPLETED"


def test_requeue_of_a_finished_job(c):
    job = c.sbatch("--requeue", wrap="echo run >> runs")
    c.wait_end(job)
    c.wait_nodes()
    c.run("scontrol", "requeue", job)
    assert c.state(job) in ("PENDING", "RUNNING", "COMPLETED")
    c.run("scontrol", "update", f"jobid={job}", "starttime=now", check=False)
    wait_until(lambda: (c.work / "runs").read_text() == "run\nrun\n", "it ran again", 150)
    c.wait_end(job)


def test_requeue_is_refused(c):
    job = c.sbatch("--no-requeue", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.refused("scontrol", "requeue", job) == f"Requested operation is presently disabled for job {job}\n"
    pending = c.sbatch("-H", wrap="true")
    assert c.refused("scontrol", "requeue", pending) == f"Job is pending execution for job {pending}\n"


def test_requeue_of_a_cancelled_pending_job(c):
    job = c.sbatch("-H", wrap="true")
    c.run("scancel", job)
    assert shown(c, job)[0] == "CANCELLED"


@pytest.mark.parametrize("code", [101, 111])
def test_requeue_exit(c, code):
    job = c.sbatch("--requeue", script=f"echo run >> runs\n[ -n \"$SLURM_RESTART_COUNT\" ] || exit {code}")
    wait_until(lambda: c.job(job)["Restarts"] == "1", "it is requeued")
    c.run("scontrol", "update", f"jobid={job}", "starttime=now", check=False)
    assert c.wait_end(job, timeout=150)["ExitCode"] == "0:0"
    assert (c.work / "runs").read_text() == "run\nrun\n"


def test_requeue_exit_hold(c):
    job = c.sbatch("--requeue", script="echo run >> runs\n[ -n \"$SLURM_RESTART_COUNT\" ] || exit 102")
    wait_until(lambda: c.job(job)["Restarts"] == "1" and c.state(job) in ("PENDING", "SPECIAL_EXIT"), "it is requeued")
    assert c.job(job)["Priority"] == "0"
    c.run("scontrol", "release", job)
    assert c.wait_end(job, timeout=150)["JobState"] == "COMPLETED"


def test_other_exit_codes_are_final(c):
    job = c.sbatch("--requeue", wrap="exit 103")
    record = c.wait_end(job)
    assert (record["JobState"], record["ExitCode"], record["Restarts"]) == ("FAILED", "103:0", "0")


# ---- suspend ---------------------------------------------------------------------------------------

def test_suspend_and_resume(c):
    job = c.sbatch(script="srun -n1 bash -c 'while [ ! -e go ]; do date +%s%N > tick; sleep 0.02; done'")
    said(c, "tick", "")
    c.run("scontrol", "suspend", job)
    assert shown(c, job)[0] == "SUSPENDED"
    assert c.run("squeue", "-h", "-j", job, "-o", "%t").out == "S\n"

    def still():
        before = (c.work / "tick").read_text()
        time.sleep(0.1)  # five ticks of the job, were it not suspended
        return before == (c.work / "tick").read_text()
    wait_until(still, "it stands still")
    c.run("scontrol", "resume", job)
    assert shown(c, job)[0] == "RUNNING"
    (c.work / "go").touch()
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_suspended_jobs_give_their_cpus_away_and_can_be_cancelled(c):
    job = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "suspend", job)
    assert c.state(job) == "SUSPENDED"
    c.run("scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    c.wait_nodes()


def test_suspend_is_refused(c):
    pending = c.sbatch("-H", wrap="true")
    assert c.refused("scontrol", "suspend", pending) == f"Job is pending execution for job {pending}\n"
    over = c.sbatch(wrap="true")
    c.wait_end(over)
    assert c.refused("scontrol", "suspend", over) == f"Job/step already completing or completed for job {over}\n"


# ---- update ----------------------------------------------------------------------------------------

def test_update_of_a_pending_job(c):
    job = c.sbatch("-H", "-t", "10", wrap="true")
    steps = [("timelimit=5", "TimeLimit", "00:05:00"), ("timelimit=+2", "TimeLimit", "00:07:00"),
             ("timelimit=-1:00", "TimeLimit", "00:06:00"), ("name=new", "JobName", "new"),
             ("comment=x y", "Comment", "x y"), ("numnodes=2", "NumNodes", "2-2"), ("nice=50", "Nice", "50"),
             ("reqnodelist=node2", "ReqNodeList", "node2"), ("excnodelist=node3", "ExcNodeList", "node3"),
             ("requeue=0", "Requeue", "0"), ("minmemorycpu=50", "MinMemoryCPU", "50M")]
    for change, key, value in steps:
        c.run("scontrol", "update", f"jobid={job}", change)
        assert c.job(job)[key] == value, change


@pytest.mark.parametrize("change,message", [
    ("nosuch=1", "Update of this parameter is not supported: nosuch=1\nRequest aborted\n"),
    ("partition=nosuch", "Invalid partition name specified for job {}\n"),
    ("reqnodelist=node9", "Invalid node name specified for job {}\n")])
def test_bad_update(c, change, message):
    job = c.sbatch("-H", wrap="true")
    before = c.run("scontrol", "show", "job", job).out
    assert c.refused("scontrol", "update", f"jobid={job}", change) == message.format(job)
    assert c.run("scontrol", "show", "job", job).out == before


def test_update_without_a_target(c):
    assert c.refused("scontrol", "update", "timelimit=5").startswith("No valid entity in update command\n")
    assert c.refused("scontrol", "update") == "too few arguments for update keyword\n"
    assert c.refused("scontrol", "update", "jobid=99999", "name=x") == "Invalid job id specified for job 99999\n"


def test_time_limit_of_a_running_job(c):
    job = c.sbatch("-t", "10", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "update", f"jobid={job}", "timelimit=20")
    record = c.job(job)
    assert record["TimeLimit"] == "00:20:00"
    assert c.refused("scontrol", "update", f"jobid={job}", "numnodes=3").endswith(f" for job {job}\n")


def test_priority_and_top(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    first, second = (c.sbatch("-N4", "--exclusive", wrap="echo $SLURM_JOB_ID >> order") for _ in range(2))
    c.run("scontrol", "update", f"jobid={second}", "priority=4000000000")
    assert c.job(second)["Priority"] == "4000000000"
    c.run("scancel", blocker)
    c.wait_end(first), c.wait_end(second)
    assert (c.work / "order").read_text() == f"{second}\n{first}\n"


def test_notify(c):
    job = c.sbatch(wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: (c.work / f"slurm-{job}.out").exists(), "its output is open")
    c.run("scontrol", "notify", job, "hello user")
    said(c, f"slurm-{job}.out", "hello user\n")


def test_requeue_of_what_is_incomplete_only(c):
    held, runs = c.sbatch("-H", wrap="true"), c.sbatch(wrap="sleep 1000")
    c.wait_state(runs, "RUNNING")
    c.run("scontrol", "requeue", "Incomplete", f"{held},{runs}")
    wait_until(lambda: c.job(runs)["Restarts"] == "1", "the running one is queued again")
    assert c.job(held)["Restarts"] == "0"
    assert "Invalid job id specified for job State=Bogus" in c.refused("scontrol", "requeuehold", "State=Bogus", runs)


def test_a_deadline_that_cannot_be_met(c):
    assert c.refused("sbatch", "-H", "--deadline=now+5minutes", "-t", "30", "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)\n")
    late = c.sbatch("-H", "--deadline=now+63", "-t", "1", wrap="true")
    fine = c.sbatch("-H", "--deadline=now+5minutes", "-t", "2", wrap="true")
    assert c.wait_end(late, timeout=30)["JobState"] == "DEADLINE"
    assert c.state(fine) == "PENDING"


def test_what_was_just_requeued_may_be_changed(make_cluster, folder):
    """The job's node is still being cleaned: hold and release act at once, other changes once it is back in the queue."""
    gate, epilog = folder / "gate", folder / "epilog.sh"
    epilog.write_text(f"#!/bin/sh\nuntil [ -e {gate} ]; do sleep 0.05; done\n")
    epilog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"Epilog={epilog}")
    job = c.sbatch(wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "requeuehold", str(job))
    wait_until(lambda: "CG" in c.run("squeue", "-h", "-j", str(job), "-o", "%t").out, "its node is cleaned")
    c.run("scontrol", "hold", str(job))
    changing = c.popen("scontrol", "update", f"jobid={job}", "timelimit=7", "comment=changed", stderr=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        changing.wait(0.5)
    gate.touch()
    _, err = changing.communicate(timeout=30)
    assert (changing.returncode, err) == (0, "")
    assert (c.job(job)["TimeLimit"], c.job(job)["Comment"]) == ("00:07:00", "changed")
    assert c.state(job) == "PENDING"
