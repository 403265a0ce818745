"""scancel: filters, words of states, prompts, comments, requeues on their way."""

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "FirstJobId=100"}


def held(c, *options, **more):
    return c.sbatch("--hold", *options, wrap="sleep 60", **more)


def left(c):
    return {int(x) for x in c.run("squeue", "-h", "-o", "%A").out.split()}


@pytest.mark.parametrize("filter", ["--name=pick", "--account=pick", "--wckey=pick", "--partition=main --name=pick",
                                    "--state=PD --name=pick", "--state=RUNNING --state=pending --name=pick", "--name=else --name=pick", "--qos=pick",
                                    "--me --jobname=pick"])
def test_filters(c, filter):
    mine = held(c, "-J", "pick", "-A", "pick", "--wckey", "pick", "-q", "pick")
    other = held(c, "-J", "else", "-A", "else", "--wckey", "else", "-q", "else")
    c.run("scancel", "--state=RUNNING", "--name=pick")
    assert left(c) == {mine, other}
    c.run("scancel", *filter.split())
    assert left(c) == {other}


def test_a_filter_is_one_value(c):
    """A list is no filter of scancel's: no job has such a name, and nothing is cancelled (recording 49)."""
    both = {held(c, "-J", "a"), held(c, "-J", "b")}
    for args in (("-n", "a,b"), ("-p", "main,main"), ("-n", ""), ("-p", ""), ("-A", "x,y"), ("-q", "")):
        c.run("scancel", *args)
        assert left(c) == both, args
    c.run("scancel", "-t", "PD", "-t", "R", "-n", "a")
    assert left(c) == both


def test_of_users_the_last_counts(c):
    """Who it is matters only then."""
    job = held(c)
    c.run("scancel", "--me", "-u", "nobody")
    c.run("scancel", "-u", "root", "-u", "nobody")
    assert left(c) == {job}
    assert c.refused("scancel", "--me", "-u", "nosuch") == "scancel: error: Invalid user name: nosuch\n"
    c.run("scancel", "-u", "nosuch", "--me")
    assert left(c) == set()
    job = held(c)
    c.run("scancel", "-u", "root", env={"SCANCEL_USER": "nosuch"})
    assert left(c) == set()


def test_ids_and_filters_both_hold(c):
    a, b = held(c, "-J", "a"), held(c, "-J", "b")
    c.run("scancel", "--name=b", a, b)
    assert left(c) == {a}


def test_nodes(c):
    one = c.sbatch("-w", "node1", wrap="sleep 60")
    two = c.sbatch("-w", "node2", wrap="sleep 60")
    c.wait_state(one, "RUNNING")
    c.wait_state(two, "RUNNING")
    c.run("scancel", "-w", "node2")
    assert c.wait_end(two)["JobState"] == "CANCELLED" and c.state(one) == "RUNNING"


def test_order_and_ctld(c):
    ids = [held(c, "-J", "many") for _ in range(20)]
    told = c.run("scancel", "--ctld", "-v", "-n", "many").err
    assert told == "".join(f"scancel: Terminating job {i}\n" for i in ids)


def test_asks(c):
    a, b = held(c, "-J", "a"), held(c, "-J", "b")
    done = c.run("scancel", "-i", "--me", input="what\nn\ny\n")
    prompt = [f"Cancel job_id={i} name={n} partition=main [y/n]? " for i, n in ((a, "a"), (b, "b"))]
    assert done.out == prompt[0] * 2 + prompt[1]
    assert left(c) == {a}


def test_admin_comment(c):
    job = held(c)
    c.run("scancel", "--admin-comment", "broken input", job)
    shown = c.job(job)
    assert shown["JobState"] == "CANCELLED" and shown["AdminComment"] == "broken input"
    running = c.sbatch(wrap="sleep 60")
    c.wait_state(running, "RUNNING")
    c.run("scancel", "--admin-comment=by hand", running)
    assert c.wait_end(running)["AdminComment"] == "by hand"


def test_cancels_what_is_being_requeued(c):
    job = c.sbatch("--requeue", script="trap '' TERM; echo ready; while :; do sleep 0.2; done")
    wait_until(lambda: (c.work / f"slurm-{job}.out").exists() and "ready" in c.out(job), "the script runs")
    c.run("scontrol", "requeue", job)
    c.run("scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    c.wait_nodes()
    assert c.state(job) == "CANCELLED" and c.job(job)["Restarts"] == "0"
    assert left(c) == set()


@pytest.mark.parametrize("args, text", [
    ((), "scancel: error: No job identification provided\n"),
    (("-t", "PD,R"), "Invalid job state specified: PD,R\n"
                     "Valid job states are PENDING, RUNNING, and SUSPENDED\n"),
    (("-s", "NOPE", "1"), "Unknown job signal: NOPE\n"),
    (("1.x",), "scancel: error: Invalid job id 1.x\n"),
])
def test_refused(c, args, text):
    assert c.refused("scancel", *args) == text


def test_jobs_beside_a_step_are_looked_for(c):
    """A job that is not there is told when a step is in the list, as with filters; alone it is not."""
    job = held(c)
    assert c.run("scancel", 99999).err == ""
    no_step = f"scancel: error: Kill job error on job step id {job}.7: Job is pending execution\n"
    done = c.run("scancel", 99999, "99998_1", f"{job}.7", check=False)
    assert done.err == ("scancel: error: Kill job error on job id 99999: Invalid job id specified\n"
                        "scancel: error: Kill job error on job id 99998_1: Invalid job id specified\n" + no_step)
    c.run("scancel", f"{job}.7", job, check=False)
    assert left(c) == set()
