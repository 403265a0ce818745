"""Times of records agree with each other: what a script works out from Start and End is what Elapsed says, and the sums
of jobs are those of reports."""

import time

CLUSTER = {"nodes": 1}
FIELDS = "jobid,eligible,start,end,elapsedraw,alloccpus,cputimeraw,planned"


def seconds(stamp):
    return int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S")))


def test_elapsed_is_end_less_start(c):
    """For jobs that begin and end anywhere within a second, and for their steps."""
    jobs = [c.sbatch("-n2", "-o/dev/null", wrap=f"srun sleep 0.{n}5") for n in range(8)]
    for job in jobs:
        c.wait_end(job)
        c.wait_sacct(job, "COMPLETED")
    rows = c.sacct("-j", ",".join(map(str, jobs)), "-o", FIELDS)
    assert len(rows) >= 3 * len(jobs)
    for job, eligible, start, end, elapsed, cpus, cputime, planned in rows:
        assert int(elapsed) == seconds(end) - seconds(start), job
        assert int(cputime) == int(elapsed) * int(cpus), job
        if planned:
            hours, minutes, rest = map(int, planned.split(":"))
            assert hours * 3600 + minutes * 60 + rest == seconds(start) - seconds(eligible), job
    report = c.run("sreport", "-nP", "-t", "seconds", "job", "sizesbyaccount", "start=now-2hours", "end=now+1hour").out.split("|")
    total = sum(int(row[6]) for row in c.sacct("-X", "-S", "now-2hours", "-E", "now", "-o", FIELDS))
    assert int(report[-2]) == total


def test_planned_of_one_that_never_started(c):
    """From when it could have started until it was cancelled."""
    full = c.sbatch("--exclusive", wrap="sleep 1000")
    c.wait_state(full, "RUNNING")
    waits = c.sbatch(wrap="true")
    c.run("scancel", str(waits))
    c.wait_sacct(waits, "CANCELLED")
    ((_, eligible, _, end, _, _, _, planned),) = c.sacct("-X", "-j", str(waits), "-o", FIELDS)
    hours, minutes, rest = map(int, planned.split(":"))
    assert hours * 3600 + minutes * 60 + rest == seconds(end) - seconds(eligible)
    c.run("scancel", str(full))
