"""CompleteWait: jobs that still clean up hold up the starts of others; time_min_as_soft_limit: plans with the least time."""

from datetime import datetime

import pytest

from conftest import wait_until


def slow_epilog(folder, make_cluster, words):
    """Four nodes in two partitions, and an epilog that waits for a file."""
    folder.mkdir(exist_ok=True)
    script = folder / "epilog"
    script.write_text(f"#!/bin/bash\nwhile [ ! -e {folder}/go ] && [ -d {folder} ]; do read -t 0.05 x <> <(:); done\n")
    script.chmod(0o755)
    c = make_cluster(start=False, nodes=4, conf=f"Epilog={script}\n{words}")
    c.write_conf(c.conf_text().replace("PartitionName=main Nodes=ALL", "PartitionName=main Nodes=node[1-3]") +
                 "PartitionName=beside Nodes=node4 MaxTime=INFINITE State=UP\n")
    return c.start()


def moment(c, job, key):
    return datetime.fromisoformat(c.job(job)[key])


def completing(c):
    job = c.sbatch("-w", "node1", wrap="true")
    wait_until(lambda: "COMPLETING" in c.run("squeue", "-h", "-j", job, "-o", "%T").out, "the epilog runs")
    return job


def test_no_job_starts_meanwhile(folder, make_cluster):
    """In any partition, until the job is clean."""
    c = slow_epilog(folder / "tools", make_cluster, "CompleteWait=600")
    first = completing(c)
    jobs = [c.sbatch("-p", part, wrap="sleep 100") for part in ("main", "beside")]
    c.run("scontrol", "update", "nodename=node2", "comment=changed")
    held = c.run("srun", "-I1", "true", check=False)
    assert held.rc != 0 and [c.state(job) for job in jobs] == ["PENDING"] * 2
    assert c.run("squeue", "-h", "-j", jobs[0], "-o", "%r").out == "None\n"
    (folder / "tools" / "go").touch()
    for job in jobs:
        c.wait_state(job, "RUNNING")
    assert c.wait_end(first)["JobState"] == "COMPLETED"


def test_not_for_ever(folder, make_cluster):
    c = slow_epilog(folder / "tools", make_cluster, "CompleteWait=3")
    first = completing(c)
    job = c.sbatch(wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    assert (moment(c, job, "StartTime") - moment(c, first, "EndTime")).total_seconds() >= 2
    assert "COMPLETING" in c.run("squeue", "-h", "-j", first, "-o", "%T").out
    (folder / "tools" / "go").touch()


def test_other_partitions_go_on(folder, make_cluster):
    """With reduce_completing_frag, where they share no node with that of the job."""
    c = slow_epilog(folder / "tools", make_cluster, "CompleteWait=600\nSchedulerParameters=reduce_completing_frag")
    completing(c)
    beside, own = (c.sbatch("-p", part, wrap="sleep 100") for part in ("beside", "main"))
    c.wait_state(beside, "RUNNING")
    assert c.state(own) == "PENDING"
    (folder / "tools" / "go").touch()
    c.wait_state(own, "RUNNING")


@pytest.mark.parametrize("words, limit, minutes", [("", "00:", 60), ("SchedulerParameters=time_min_as_soft_limit", "01:00:00", 2)])
def test_time_min(make_cluster, words, limit, minutes):
    """The least time is what a job is planned with, and it keeps its limit; without the word backfill shortens the limit."""
    c = make_cluster(nodes=1, conf=words)
    c.run("scontrol", "create", "reservation", "reservationname=r", "start=now+20minutes", "duration=600", "nodes=node1",
          "users=root")
    job = c.sbatch("--exclusive", "-t", "60", "--time-min=2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.job(job)["TimeLimit"].startswith(limit)
    c.run("scontrol", "delete", "reservationname=r")
    if not words:
        return
    later = c.sbatch("--exclusive", "-t", "1", wrap="true")
    start = lambda: c.run("squeue", "-h", "-j", later, "-o", "%S").out.strip()
    wait_until(lambda: start() not in ("N/A", ""), "its start is planned")
    planned = (datetime.fromisoformat(start()) - moment(c, job, "StartTime")).total_seconds()
    assert planned < (minutes + 2) * 60
