"""Expedited requeue: the worked examples of `--requeue=expedite`, by number, and what shows the state."""
import json
import urllib.request

import pytest

from conftest import wait_until

EPILOG = """#!/bin/sh
[ -e {dir}/slow.$SLURMD_NODENAME ] && while [ -e {dir}/slow.$SLURMD_NODENAME ]; do sleep 0.05; done
[ -e {dir}/fail.$SLURMD_NODENAME ] && exit 5
exit 0
"""
RUN = "echo run $SLURM_RESTART_COUNT on $SLURM_JOB_NODELIST $SLURM_JOB_SLUID >> {name}"
CONF = """SlurmctldParameters=enable_expedited_requeue
SchedulerParameters=requeue_delay=120
RequeueExit=1-9
Epilog={dir}/epilog
PrologFlags=Alloc
MetricsType=metrics/openmetrics
PartitionName=high Nodes=ALL PriorityTier=10
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from conftest import Cluster
    folder = tmp_path_factory.mktemp("expedite")
    epilog = folder / "epilog"
    epilog.write_text(EPILOG.format(dir=folder))
    epilog.chmod(0o755)
    c = Cluster(folder, nodes=5, conf=CONF.format(dir=folder))
    try:
        yield c.start()
    finally:
        problems = c.stop()
    assert not problems, problems


@pytest.fixture
def e(site):
    """The cluster as new: no job, no mark, every node idle."""
    yield site
    for mark in (*site.dir.glob("slow.*"), *site.dir.glob("fail.*")):
        mark.unlink()
    for node in site.node_names:
        site.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
    site.clear()


def expedited(c, *options, name="runs", then="exec sleep 1000"):
    return c.sbatch("--requeue=expedite", *options, wrap=RUN.format(name=name) + "; " + then)


def runs(c, name="runs"):
    path = c.work / name
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def down(c, node):
    c.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=dead")


def records(c, job):
    return c.sacct("-D", "-X", "-j", str(job), "-o", "State,ExitCode,Restarts")


def test_1_a_node_is_lost(e):
    job = expedited(e, "-N4", "--exclusive", "-w", "node[1-4]", name="r1")
    wait_until(lambda: runs(e, "r1"), "it runs")
    # one more node than there is: it has to wait for the lost one, with node5 taken
    blocker = e.sbatch("-w", "node5", "--exclusive", wrap="exec sleep 1000")
    e.wait_state(blocker, "RUNNING")
    e.run("scontrol", "update", f"JobId={job}", "Comment=x")
    rival = e.sbatch("-N1", "--exclusive", "-p", "high", wrap="exec sleep 1000")
    down(e, "node2")
    wait_until(lambda: e.run("squeue", "-h", "-j", job, "-o", "%t %T").out == "PD EXPEDITING\n", "it goes first")
    record = e.job(job)
    assert (record["Restarts"], record["BatchFlag"], record["ExpeditedRequeue"]) == ("1", "1", "Yes")
    assert e.run("squeue", "-h", "-t", "EXPEDITING", "-o", "%i").out == f"{job}\n"
    shown = json.loads(e.run("scontrol", "show", "job", job, "--json").out)["jobs"][0]
    assert "EXPEDITING" in shown["job_state"] and "EXPEDITED_REQUEUE" in shown["flags"]
    assert "slurm_jobs_expediting 1\n" in metrics(e, "jobs")
    assert 'slurm_partition_jobs_expediting{partition="main"} 1\n' in metrics(e, "partitions")
    # its healthy nodes are free, and a job of a higher tier gets none of them
    assert e.state(rival) == "PENDING" and e.state(job) == "EXPEDITING"
    assert "3 kept for expedited jobs" in e.run("scontrol", "explain", rival).out
    e.run("scontrol", "update", "NodeName=node2", "State=RESUME")
    wait_until(lambda: len(runs(e, "r1")) == 2, "it runs again")
    first, second = runs(e, "r1")
    assert second[:4] == ["run", "1", "on", "node[1-4]"] and first[1] == "on" and first[-1] != second[-1]
    assert e.state(rival) == "PENDING"
    assert [r[0] for r in records(e, job)] == ["NODE_FAIL", "RUNNING"]


def metrics(c, page):
    with urllib.request.urlopen(f"http://127.0.0.1:{c.port}/metrics/{page}", timeout=10) as answer:
        return answer.read().decode()


def test_1_healthy_nodes_are_kept_while_epilogs_run(e):
    (e.dir / "slow.node3").touch()
    job = expedited(e, "-N4", "--exclusive", "-w", "node[1-4]", name="r1b")
    wait_until(lambda: runs(e, "r1b"), "it runs")
    rival = e.sbatch("-N2", "--exclusive", "-p", "high", wrap="exec sleep 1000")
    down(e, "node2")
    # node1 and node4 are clean long before node3, and nobody gets them
    wait_until(lambda: "node3" in e.run("sinfo", "-h", "-t", "completing", "-o", "%N").out
               or e.job(job)["JobState"] == "COMPLETING", "the run ends")
    assert e.run("squeue", "-h", "-t", "EXPEDITING", "-o", "%i").out == f"{job}\n"
    assert e.state(rival) == "PENDING"
    e.run("scontrol", "update", "NodeName=node2", "State=RESUME")
    assert e.state(rival) == "PENDING"
    (e.dir / "slow.node3").unlink()
    wait_until(lambda: len(runs(e, "r1b")) == 2, "it runs again")
    assert e.state(rival) == "PENDING"


def test_2_a_script_fails_and_an_epilog_too(e):
    (e.dir / "fail.node3").touch()
    job = expedited(e, "-N2", "-w", "node[2-3]", name="r2", then="[ -n \"$SLURM_RESTART_COUNT\" ] || exit 1; exec sleep 1000")
    wait_until(lambda: "DRAIN" in e.run("sinfo", "-h", "-n", "node3", "-o", "%T").out.upper(), "node3 is drained")
    assert "Reason=Epilog error" in e.run("scontrol", "show", "node", "node3").out
    wait_until(lambda: "EXPEDITING" in e.run("squeue", "-h", "-j", job, "-o", "%T").out, "it goes first")
    e.run("scontrol", "update", f"JobId={job}", "ReqNodeList=")
    wait_until(lambda: len(runs(e, "r2")) == 2, "it runs again")
    assert "node3" not in runs(e, "r2")[1][3]
    assert records(e, job)[0][:2] == ["FAILED", "1:0"]


def test_3_a_script_fails_alone(e):
    job = expedited(e, "-N2", name="r3", then="exit 1")
    wait_until(lambda: e.state(job) == "REQUEUE_HOLD", "it is held")  # RequeueExit is not asked
    record = e.job(job)
    assert (record["Priority"], record["Reason"], record["Restarts"], record["ExitCode"]) == (
        "0", "job_requeued_in_held_state", "1", "1:0")
    assert e.run("squeue", "-h", "-j", job, "-o", "%t %r").out == "RH job requeued in held state\n"
    assert records(e, job)[0][:2] == ["FAILED", "1:0"]
    e.run("scontrol", "release", job)
    wait_until(lambda: len(runs(e, "r3")) == 2, "it runs again")


def test_4_a_good_script_and_a_bad_epilog(e):
    (e.dir / "fail.node1").touch()
    job = expedited(e, "-w", "node1", name="r4", then="exit 0")
    assert e.wait_end(job)["JobState"] == "COMPLETED"
    wait_until(lambda: "DRAIN" in e.run("sinfo", "-h", "-n", "node1", "-o", "%T").out.upper(), "node1 is drained")
    assert len(runs(e, "r4")) == 1 and e.state(job) == "COMPLETED"


def test_5_and_cancelled(e):
    job = expedited(e, name="r5")
    wait_until(lambda: runs(e, "r5"), "it runs")
    e.run("scancel", job)
    record = e.wait_end(job)
    assert (record["JobState"], record["Restarts"]) == ("CANCELLED", "0")


def test_6_requeued_by_hand(e):
    job = expedited(e, "-N5", "--exclusive", name="r6")
    wait_until(lambda: runs(e, "r6"), "it runs")
    e.run("scontrol", "hold", job)
    e.run("scontrol", "requeue", job)
    wait_until(lambda: e.state(job) == "PENDING", "it is back")  # and EXPEDITING never
    e.run("scontrol", "release", job)
    wait_until(lambda: len(runs(e, "r6")) == 2, "without a delay")


def test_7_plain_requeue(e):
    job = e.sbatch("--requeue", "-w", "node1", wrap="exec sleep 1000")
    e.wait_state(job, "RUNNING")
    down(e, "node1")
    wait_until(lambda: e.job(job)["Reason"] == "BeginTime", "it waits")
    assert e.state(job) == "PENDING"


def test_8_not_enabled(make_cluster):
    c = make_cluster(nodes=1)
    assert c.refused("sbatch", "--requeue=expedite", "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Requested operation not supported on this system\n")


def test_9_two_expediting_jobs(e):
    low = expedited(e, "-N2", "--exclusive", "--priority=10", name="r9a")
    wait_until(lambda: runs(e, "r9a"), "one runs")
    high = expedited(e, "-N2", "--exclusive", "--priority=1000", name="r9b")
    wait_until(lambda: runs(e, "r9b"), "both run")
    idle = e.run("sinfo", "-h", "-t", "idle", "-o", "%N").out.strip()
    down(e, idle)
    for job in (low, high):
        down(e, e.job(job)["BatchHost"])
        if job == low:
            wait_until(lambda: e.state(job) == "EXPEDITING", "it goes first")
    wait_until(lambda: len(runs(e, "r9b")) == 2, "the one of higher priority runs on what is left")
    assert e.state(low) == "EXPEDITING" and e.job(low)["Priority"] == "10"


def test_a_spare_is_kept(make_cluster):
    c = make_cluster(nodes=4, conf="SlurmctldParameters=enable_expedited_requeue\n"
                                   "SchedulerParameters=expedite_spares=1,requeue_delay=2")
    job = expedited(c, "-N2", "--exclusive", name="s1")
    wait_until(lambda: runs(c, "s1"), "it runs")
    first = c.sbatch("-N1", "--exclusive", wrap="exec sleep 1000")
    second = c.sbatch("-N1", "--exclusive", wrap="exec sleep 1000")
    c.wait_state(first, "RUNNING")
    spare = c.run("sinfo", "-h", "-t", "idle", "-o", "%N").out.strip()
    assert "1 kept for expedited jobs" in c.run("scontrol", "explain", second).out
    assert "\tSpare nodes for expedited jobs: 1 idle, 1 wanted in each unit\n" in c.run("sdiag").out
    lost, healthy = runs(c, "s1")[0][2].replace("node[", "").replace("]", "").split("-")
    down(c, f"node{lost}")
    wait_until(lambda: len(runs(c, "s1")) == 2, "it runs again at once")
    assert runs(c, "s1")[1][3] == f"node[{healthy},{spare[4:]}]".replace("3,4", "3-4").replace("2,3", "2-3")
    assert c.state(second) == "PENDING"
    assert "0 idle, 1 wanted" in c.run("sdiag").out
    c.run("scontrol", "update", f"NodeName=node{lost}", "State=RESUME")  # the new spare
    wait_until(lambda: "1 idle, 1 wanted" in c.run("sdiag").out, "it is kept")
    assert c.state(second) == "PENDING"
    c.run("scancel", first)
    c.wait_state(second, "RUNNING")


def test_the_controller_restarts_in_the_middle(e):
    (e.dir / "slow.node3").touch()
    (e.dir / "fail.node3").touch()
    job = expedited(e, "-N2", "-w", "node[3-4]", name="rc", then="[ -n \"$SLURM_RESTART_COUNT\" ] || exit 1; exec sleep 1000")
    e.wait_state(job, "COMPLETING")
    e.kill_ctld()
    (e.dir / "slow.node3").unlink()
    wait_until(lambda: list((e.dir / "spool" / "node3").glob("job*/epilogued")), "the epilog is over")
    e.slurmds["node3"].kill()
    e.ended.append(e.slurmds["node3"])
    e.start_slurmd("node3")
    e.start_ctld()
    wait_until(lambda: e.state(job) == "EXPEDITING", "the failure was not forgotten")
    assert "Reason=Epilog error" in e.run("scontrol", "show", "node", "node3").out
    e.run("scontrol", "update", f"JobId={job}", "ReqNodeList=")
    wait_until(lambda: len(runs(e, "rc")) == 2, "it runs again")
