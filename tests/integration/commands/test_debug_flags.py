"""DebugFlags: the subjects that an administrator asks for have their lines in the daemon logs."""

import re

import pytest

from conftest import wait_until


def log_of(cluster, name):
    return (cluster.dir / "log" / name).read_text(errors="replace")


def wait_line(cluster, name, pattern):
    wait_until(lambda: re.search(pattern, log_of(cluster, name), re.M), f"a line {pattern} in {name}")


def ctld_log(cluster):
    return next(path.name for path in (cluster.dir / "log").glob("slurmctld*"))


def set_flags(cluster, *words):
    cluster.run("scontrol", "setdebugflags", *words)


def test_nothing_unasked(cluster):
    job = cluster.sbatch(wrap="srun true")
    cluster.wait_end(job)
    assert not re.search(r"\] (TraceJobs|Steps|SelectType|Agent|Protocol|AuditRPCs|Network): ", log_of(cluster, ctld_log(cluster)))


def test_on_and_off_again(cluster):
    set_flags(cluster, "+tracejobs", "+Steps", "+SelectType", "+Agent", "+AuditRPCs", "+Protocol", "+Network", "+Priority")
    assert "DebugFlags              = Agent,AuditRPCs,Network,Priority,Protocol,SelectType,Steps,TraceJobs\n" in cluster.run(
        "scontrol", "show", "config").stdout
    job = cluster.sbatch("-N2", wrap="srun true; exit 3")
    cluster.wait_end(job)
    name = ctld_log(cluster)
    for pattern in (rf"\] TraceJobs: JobId={job} job-submit: PENDING, reason None$", rf"\] TraceJobs: JobId={job} job-start: RUNNING, ",
                    rf"\] TraceJobs: JobId={job} job-end: FAILED\+COMPLETING, ",
                    rf"\] SelectType: JobId={job} gets node\[1-2\]: cpu=",
                    rf"\] Steps: StepId={job}\.0 step-end: COMPLETED on node\[1-2\]", rf"\] Steps: StepId={job}\.batch step-end: FAILED on node1",
                    r"\] Agent: launch-batch to node node1, \d+ bytes", r"\] AuditRPCs: job-submit uid=\d+ addr=",
                    r"\] Protocol: connection \d+ in: job-submit request, \d+ bytes$", r"\] Protocol: connection \d+ out: ",
                    r"\] Network: connection \d+ opened: addr=.* program=.sbatch.$", r"\] Network: connection \d+ closed: "):
        wait_line(cluster, name, pattern)
    set_flags(cluster, "-TraceJobs", "-Steps", "-SelectType", "-Agent", "-AuditRPCs", "-Protocol", "-Network", "-Priority")
    size = len(log_of(cluster, name))
    cluster.wait_end(cluster.sbatch(wrap="srun true"))
    assert not re.search(r"\] (TraceJobs|Steps|SelectType|Agent|AuditRPCs): ", log_of(cluster, name)[size:])


def test_of_a_node(cluster):
    cluster.run("scontrol", "setdebugflags", "+Network", "+Protocol", "nodes=node2")
    job = cluster.sbatch("-N2", wrap="srun -N2 sleep 1")
    cluster.wait_end(job)
    wait_line(cluster, "slurmd-node2.log", r"\] Network: connection \d+ opened: ")
    assert "] Network: " not in log_of(cluster, "slurmd-node1.log")


@pytest.mark.parametrize("word", ["+nosuch", "steps", "-nosuch"])
def test_words_that_are_none(cluster, word):
    done = cluster.run("scontrol", "setdebugflags", "+Steps", word, check=False)
    assert done.returncode == 1
    assert "invalid debug flag" in done.stderr
    cluster.wait_end(cluster.sbatch(wrap="srun true"))
    assert "] Steps: " not in log_of(cluster, ctld_log(cluster))


def test_of_the_configuration(make_cluster):
    cluster = make_cluster(conf="DebugFlags=Reservation,Backfill,Dependency,License,Script,Triggers,Hetjob\nLicenses=matlab:4\n"
                                "Prolog=/bin/true\nPrologSlurmctld=/bin/true\n")
    name = ctld_log(cluster)
    cluster.run("scontrol", "create", "reservation", "ReservationName=r1", "StartTime=now+1hour", "Duration=10", "Nodes=node3",
                "Users=root")
    wait_line(cluster, name, r"\] Reservation: r1 is from \S+ to \S+ on node3$")
    cluster.run("scontrol", "delete", "ReservationName=r1")
    wait_line(cluster, name, r"\] Reservation: r1 is gone$")
    first = cluster.sbatch("-L", "matlab:2", "-N3", "--exclusive", "-t1", wrap="sleep 2")
    second = cluster.sbatch("-d", f"afterok:{first}", wrap="true")
    third = cluster.sbatch("-N3", "--exclusive", "-t1", wrap="true")
    het = cluster.sbatch("-n1", ":", "-n1", wrap="true")
    for pattern in (rf"\] License: JobId={first} takes matlab:2$", rf"\] Script: JobId={first} PrologSlurmctld /bin/true runs, pid \d+$",
                    rf"\] Script: JobId={first} PrologSlurmctld is over: wait status 0$", rf"\] Backfill: JobId={third} is planned in \d+ s on node",
                    r"\] Backfill: pass \d+ planned \d+ of \d+ waiting jobs and started \d+, in \d+ us$"):
        wait_line(cluster, name, pattern)
    cluster.wait_end(het)
    for pattern in (rf"\] License: JobId={first} gives back matlab:2$", rf"\] Dependency: JobId={second} waits for no job any more, it had afterok:{first}",
                    rf"\] Hetjob: JobId={het}\+0\({het}\) job-start: RUNNING\+CONFIGURING$"):
        wait_line(cluster, name, pattern)
    wait_line(cluster, "slurmd-node1.log", rf"\] Script: JobId={first} Prolog /bin/true runs, pid \d+$")
    wait_line(cluster, "slurmd-node1.log", rf"\] Script: JobId={first} Prolog is over: well$")
    # what scontrol sets lasts until the configuration is read again
    set_flags(cluster, "-Reservation")
    cluster.run("scontrol", "reconfigure")
    cluster.run("scontrol", "create", "reservation", "ReservationName=r2", "StartTime=now+1hour", "Duration=10", "Nodes=node3",
                "Users=root")
    wait_line(cluster, name, r"\] Reservation: r2 is from ")


def test_a_controller_that_begins_tells_no_job_anew(make_cluster):
    cluster = make_cluster(conf="DebugFlags=TraceJobs,Steps,License\nLicenses=matlab:4\n")
    job = cluster.sbatch("-H", "-L", "matlab:1", wrap="true")
    name = ctld_log(cluster)
    wait_line(cluster, name, rf"\] TraceJobs: JobId={job} job-submit: PENDING, ")
    size = len(log_of(cluster, name))
    cluster.restart_ctld()
    cluster.run("scancel", job)
    wait_line(cluster, name, rf"\] TraceJobs: JobId={job} job-end: CANCELLED")
    told = [line for line in log_of(cluster, name)[size:].splitlines() if f"JobId={job} " in line and "] JobId" not in line]
    assert len(told) == 1 and "job-end" in told[0], "it took no licence, and is told once"


def test_sched_log(make_cluster):
    """SlurmSchedLogFile: from the beginning with SlurmSchedLogLevel, or by scontrol; a file that was moved away is made anew."""
    c = make_cluster(start=False, nodes=1)
    path = c.dir / "log" / "scheduling"
    c.extra_conf = f"SlurmSchedLogFile={path}"
    c.write_conf()
    c.start()
    level = lambda: re.search(r"SlurmSchedLogLevel\s+= (\d)", c.run("scontrol", "show", "config").out).group(1)
    c.wait_end(c.sbatch(wrap="true"))
    assert level() == "0" and not path.exists()
    c.run("scontrol", "schedloglevel", "1")
    assert level() == "1"
    job = c.sbatch("-n2", wrap="true")
    c.wait_end(job)
    lines = [line.split("] sched: ")[1] for line in path.read_text().splitlines()]
    assert lines[0] == f"JobId={job} waits" and lines[-1] == f"JobId={job} ends: COMPLETED"
    assert re.fullmatch(rf"JobId={job} starts on node1: partition main, cpu=2,mem=200M,\S+, by (main|submission)", lines[1])
    path.rename(c.dir / "log" / "scheduling.1")
    wait_until(path.exists, "the file is made anew")
    c.run("scontrol", "schedloglevel", "disable")
    assert level() == "0"
    c.wait_end(c.sbatch(wrap="true"))
    assert path.read_text() == ""
    c.extra_conf += "\nSlurmSchedLogLevel=1"
    c.write_conf()
    c.run("scontrol", "reconfigure")
    assert level() == "1"
    last = c.sbatch(wrap="true")
    c.wait_end(last)
    assert f"JobId={last} ends: COMPLETED\n" in path.read_text()
