"""Expected start and nodes of every job that waits: squeue --start, %S and %Y, scontrol show job, --test-only."""

from datetime import datetime

from conftest import wait_until

CLUSTER = {"nodes": 2}


def starts(c, *options):
    """{job: (start or None, nodes)} of what squeue says about waiting jobs."""
    out = c.run("squeue", "-h", "-t", "PD", *options, "-o", "%i|%S|%Y").out
    rows = [line.split("|") for line in out.splitlines()]
    return {int(job) if job.isdigit() else job: (None if at == "N/A" else datetime.fromisoformat(at), nodes) for job, at, nodes in rows}


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


def test_a_plan_is_kept_when_one_job_ends(c):
    """A plan of over a hundred places is repaired: those who gain come forward, nobody goes back."""
    first = [c.sbatch("-N1", f"-t{limit}", "--exclusive", wrap="sleep 100") for limit in (10, 30)]
    for job in first:
        c.wait_state(job, "RUNNING")
    for _ in range(110):
        c.sbatch("-N1", "-t3", "--exclusive", wrap="sleep 100")
    c.sbatch("-N2", "-t5", "--exclusive", wrap="sleep 100")
    wait_until(lambda: sum(at is not None for at, _ in starts(c).values()) == 111, "all have a start")
    before = starts(c)
    c.run("scancel", first[1])  # its node comes free twenty minutes before the other would have
    wait_until(lambda: len(c.run("squeue", "-h", "-t", "R").out.splitlines()) == 2, "one starts in its place")
    wait_until(lambda: any(at and at < before[job][0] for job, (at, _) in starts(c).items()), "some come forward")
    after = starts(c)
    assert len(after) == 110
    assert not {job: (at, before[job][0]) for job, (at, _) in after.items() if not at or at > before[job][0]}
    c.run("scancel", *c.run("squeue", "-h", "-o", "%i").out.split())
    wait_until(lambda: not c.run("squeue", "-h").out, "all have gone")


def test_bf_interval_minus_one_is_no_backfill(make_cluster):
    """Without backfill a job behind one that waits stays where it is."""
    c = make_cluster(nodes=2, conf="SchedulerParameters=bf_interval=-1\n")
    first = c.sbatch("-N1", "-t10", "--exclusive", wrap="sleep 100")
    c.wait_state(first, "RUNNING")
    wide = c.sbatch("-N2", "-t20", "--exclusive", wrap="sleep 100")
    small = c.sbatch("-N1", "-t5", "--exclusive", wrap="sleep 100")
    wait_until(lambda: c.job(small)["Reason"] == "Priority", "it waits for the one before")
    assert starts(c)[wide][0] is None
    assert c.state(small) == "PENDING"
    c.run("scancel", wide)
    c.wait_state(small, "RUNNING")


def test_nodes_that_the_plan_keeps_show_it(c):
    """A free node that waits for a job is `planned`, one with jobs has a minus, until the job starts, goes, or is held."""
    def shown():
        return dict(line.split() for line in c.run("sinfo", "-N", "-h", "-o", "%N %t").out.splitlines())

    runs = c.sbatch("-w", "node1", "-n1", "-t10", wrap="sleep 100")
    c.wait_state(runs, "RUNNING")
    assert shown() == {"node1": "mix", "node2": "idle"}
    wide = c.sbatch("-N2", "--exclusive", "-t10", wrap="while [ ! -e go ]; do sleep 0.05; done")
    wait_until(lambda: shown() == {"node1": "mix-", "node2": "plnd"}, "both nodes are planned")
    assert c.run("scontrol", "show", "node", "node2").out.count("State=IDLE+PLANNED ") == 1
    assert c.run("sinfo", "-h", "-t", "planned", "-o", "%N").out.split() == ["node[1-2]"]
    c.run("scontrol", "hold", wide)
    assert shown() == {"node1": "mix", "node2": "idle"}
    c.run("scontrol", "release", wide)
    wait_until(lambda: shown() == {"node1": "mix-", "node2": "plnd"}, "both nodes are planned again")
    c.run("scancel", runs)
    c.wait_state(wide, "RUNNING")
    assert shown() == {"node1": "alloc", "node2": "alloc"}
    last = c.sbatch("-N1", "--exclusive", "-t10", wrap="true")
    wait_until(lambda: c.run("squeue", "-h", "-j", last, "-o", "%S").out.strip() not in ("N/A", ""), "its start is planned")
    assert "PLANNED" not in c.run("scontrol", "show", "node").out  # whose CPUs are all taken, as recording 30 shows
