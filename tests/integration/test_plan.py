"""Expected start and nodes of every job that waits: squeue --start, %S and %Y, scontrol show job, --test-only."""

from datetime import datetime

from conftest import wait_until

CLUSTER = {"nodes": 2}


def starts(c):
    """{job: (start or None, nodes)} of what squeue says about waiting jobs."""
    rows = [line.split("|") for line in c.run("squeue", "-h", "-t", "PD", "-o", "%i|%S|%Y").out.splitlines()]
    return {int(job): (None if at == "N/A" else datetime.fromisoformat(at), nodes) for job, at, nodes in rows}


def test_every_waiting_job_has_a_place(c):
    whole = ["--exclusive"]
    first = c.sbatch("-N1", "-t10", *whole, wrap="sleep 100")
    c.wait_state(first, "RUNNING")
    wide = c.sbatch("-N2", "-t20", *whole, wrap="sleep 100")
    later = c.sbatch("-N1", "-t30", *whole, wrap="sleep 100")
    last = c.sbatch("-N2", "-t5", *whole, wrap="sleep 100")
    wait_until(lambda: all(at for at, _ in starts(c).values()) and len(starts(c)) == 3, "all have a start")
    told = starts(c)
    end = datetime.fromisoformat(c.job(first)["EndTime"])
    assert told[wide][0] == end
    assert 20 * 60 <= (told[later][0] - end).total_seconds() <= 21 * 60
    assert 50 * 60 <= (told[last][0] - end).total_seconds() <= 51 * 60
    assert told[wide][1] and told[last][1] == told[wide][1] != told[later][1]
    shown = c.job(later)
    assert shown["StartTime"] == told[later][0].isoformat() and shown["SchedNodeList"] == told[later][1]
    listed = c.run("squeue", "--start", "-h", "-o", "%i").out.split()
    assert [int(x) for x in listed] == [wide, later, last]
    # What fits beside the plan starts: ten minutes are free on the other node.
    small = c.sbatch("-N1", "-t5", *whole, wrap="sleep 100")
    c.wait_state(small, "RUNNING")
    # One that ends early brings all forward.
    c.run("scancel", first)
    c.run("scancel", small)
    c.wait_state(wide, "RUNNING")
    wait_until(lambda: starts(c)[later][0] and starts(c)[later][0] <= told[later][0], "the next one moves")
    for job in (wide, later, last):
        c.run("scancel", job)


def test_test_only_comes_after_the_plan(c):
    jobs = [c.sbatch("-N2", "-t10", "--exclusive", wrap="sleep 100") for _ in range(3)]
    c.wait_state(jobs[0], "RUNNING")
    wait_until(lambda: all(at for at, _ in starts(c).values()), "all have a start")
    last = max(at for at, _ in starts(c).values())
    said = c.run("sbatch", "--test-only", "-N2", "-t10", "--exclusive", "--wrap", "true", check=False)
    at = datetime.fromisoformat(said.err.split("to start at ")[1].split()[0])
    assert (at - last).total_seconds() >= 10 * 60
    for job in jobs:
        c.run("scancel", job)
