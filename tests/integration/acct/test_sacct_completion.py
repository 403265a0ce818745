"""sacct --completion: the log of jobcomp/filetxt, read back."""

import pwd

import pytest

from conftest import wait_until

LINE = ("JobId=7 UserId={user}(1234) GroupId=g(1000) Name=a name JobState=FAILED Partition=debug TimeLimit=60 "
        "StartTime=2026-01-02T03:04:05 EndTime=2026-01-02T04:04:05 NodeList=n[1-2] NodeCnt=2 ProcCnt=4 WorkDir=/tmp/a b "
        "ReservationName= Tres=cpu=4,node=2 Account=acc QOS=normal WcKey= Cluster=other SubmitTime=2026-01-02T03:04:00 "
        "EligibleTime=2026-01-02T03:04:01 DerivedExitCode=0:0 ExitCode=3:0 \n")


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    from conftest import Cluster
    c = Cluster(tmp_path_factory.mktemp("complog"), nodes=2)
    c.log = c.dir / "jobcomp.log"
    c.write_conf(c.conf_text() + f"JobCompType=jobcomp/filetxt\nJobCompLoc={c.log}\n")
    c.start()
    yield c
    c.stop()


# pol-B18: the columns, and every record of the file
def test_columns_of_real_jobs(logged):
    c = logged
    jobs = [str(job) for job in (c.sbatch("-N2", "-J", "two", wrap="true"), c.sbatch("-J", "bad one", wrap="exit 3"))]
    wait_until(lambda: c.log.exists() and len(c.log.read_text().splitlines()) >= 2, "both are in the log")
    user = pwd.getpwuid(0)
    done = c.run("sacct", "-c", "--name=nosuch")
    head, rule, *rows = done.out.splitlines()
    assert head.split() == ["JobID", "UID", "JobName", "Partition", "NNodes", "NodeList", "State", "End"]
    assert set(rule) == {"-", " "}
    found = [dict(zip(("id", "uid", "name", "part", "n", "list", "state", "end"), row.split("|")))
             for row in c.run("sacct", "-c", "-n", "-P").out.splitlines()]
    by_id = {f["id"]: f for f in found}
    assert len(rows) == len(found) == 2
    assert (by_id[jobs[0]]["n"], by_id[jobs[0]]["list"], by_id[jobs[0]]["state"]) == ("2", "node[1-2]", "COMPLETED")
    assert (by_id[jobs[1]]["name"], by_id[jobs[1]]["state"], by_id[jobs[1]]["uid"]) == ("bad one", "FAILED", str(user.pw_uid))
    # accounting says the same of both
    for job in jobs:
        c.wait_sacct(job, by_id[job]["state"])
        line = c.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "jobid,uid,jobname,partition,nnodes,nodelist,state,end").out
        assert line.strip() == "|".join(by_id[job].values())


def test_a_file_of_another_cluster(logged):
    c = logged
    other = c.work / "old.log"
    other.write_text(LINE.format(user="nobody-here"))
    show = ("-n", "-P", "-o", "jobid,user,uid,jobname,state,exitcode,timelimit,start,end,elapsed,workdir,cluster,account,qos,ncpus")
    assert c.run("sacct", "-f", other, *show).out == (
        "7|nobody-here|1234|a name|FAILED|3:0|01:00:00|2026-01-02T03:04:05|2026-01-02T04:04:05|01:00:00|/tmp/a b|other|acc|normal|4\n")
    for options, rows in ((("-j", "7"), 1), (("-j", "8"), 0), (("-r", "debug"), 1), (("-r", "x"), 0), (("-s", "F"), 1), (("-s", "CD"), 0),
                          (("-S", "2026-01-02T04:04:06"), 0), (("-S", "2026-01-02", "-E", "2026-01-03"), 1)):
        assert len(c.run("sacct", "-c", "-f", other, "-n", *options).out.splitlines()) == rows, options


def test_lines_that_are_no_records(logged):
    c = logged
    broken = c.work / "broken.log"
    broken.write_text("\n" + "x" * 600000 + "\nJobId=1\nJobId=x JobState=FAILED\nJobId=9 JobState=LOST NodeCnt=1\n" + LINE.format(user="u"))
    done = c.run("sacct", "-c", "-f", broken, "-n", "-P", "-o", "jobid")
    assert done.out == "7\n"
    assert done.err.endswith(f"{broken}: 5 lines are no records of jobs\n")


def test_refusals(logged, make_cluster):
    c = logged
    missing = c.refused("sacct", "-c", "-f", c.work / "nosuch")
    assert missing.endswith(f"cannot read the log of completed jobs {c.work}/nosuch: No such file or directory\n")
    assert "--completion prints a table alone" in c.refused("sacct", "-c", "--json")
    plain = make_cluster(nodes=1, start=False)
    assert plain.refused("sacct", "-c") == "Slurm job completion is disabled\n"
    plain.write_conf(plain.conf_text() + "JobCompType=jobcomp/script\nJobCompLoc=/bin/true\n")
    assert "JobCompType=jobcomp/script keeps no log that sacct can read" in plain.refused("sacct", "-c")
