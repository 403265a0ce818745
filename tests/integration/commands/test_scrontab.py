"""scrontab: texts, mistakes, jobs that come again, cancelling, replacing, editors, restarts, rights."""

import getpass
import json
import os
import re
from datetime import datetime, timezone

import pytest

from conftest import wait_until
from test_auth import as_user, both  # noqa: F401: a fixture

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "ScronParameters=enable"}
USER = getpass.getuser()
MINE = """# my jobs
#SCRON -t 2
#SCRON -J nightly
0 3 * * * /bin/true
@hourly echo hi
"""


def put(c, text, **kwargs):
    return c.run("scrontab", "-", input=text, **kwargs)


def listed(c):
    return c.run("scrontab", "-l").out


def jobs(c, fields="jobid,name,cronjob"):
    """[[job, name, ...]] of all jobs, in order of id."""
    return sorted(line.split() for line in c.run("squeue", "-h", "-O", fields).out.splitlines())


@pytest.fixture(autouse=True)
def none_left(request):
    yield
    c = request.node.funcargs.get("c")
    if c is not None:
        c.run("scrontab", "-r")


def test_life_of_a_crontab(c):
    assert c.run("scrontab", "-l", check=False).out == f"no crontab for {USER}\n"
    assert c.run("scrontab", "-l", check=False).rc == 1
    assert put(c, MINE).out == ""
    assert "2 entries are in force" in c.run("scrontab", "-v", "-", input=MINE).err
    assert listed(c) == MINE
    (first, *one), (second, *two) = jobs(c)
    assert (one, two) == (["nightly", "Yes"], ["echo", "Yes"])
    shown = c.job(first)
    assert shown["CronJob"] == "Yes" and shown["Reason"] == "BeginTime" and shown["TimeLimit"] == "00:02:00"
    assert shown["StartTime"].endswith("T03:00:00") and shown["EligibleTime"] == shown["StartTime"]
    text = c.run("scontrol", "show", "job", first).out
    assert '\n   CronJob=Yes CrontabSpec="0 3 * * *"\n   SuspendTime=' in text
    assert "\n   SubmitLine=(null)\n" in text and "\n   StdErr=\n" in text and "Sid=localhost:4294967294" in re.sub(
        r"AllocNode:Sid=[^:]*", "AllocNode:Sid=localhost", text).replace("AllocNode:", "")
    assert [x["cron"] for x in json.loads(c.run("squeue", "--json").out)["jobs"]] == ["0 3 * * *", "@hourly"]
    assert c.refused("scontrol", "requeue", first) == f"Job is pending execution for job {first}\n"
    assert c.refused("scontrol", "update", f"jobid={first}", "timelimit=1") == (
        f"Cannot modify scrontab jobs through scontrol for job {first}\n")
    c.run("scancel", first)
    disabled = MINE.replace("#SCRON", "#DISABLED: #SCRON").replace("\n0 3", "\n#DISABLED: 0 3")
    assert listed(c) == disabled
    assert [job for job, *_ in jobs(c)] == [second]
    c.run("scrontab", "-r")
    assert jobs(c) == []
    assert c.run("scrontab", "-l", check=False).out == f"no crontab for {USER}\n"
    c.run("scrontab", "-r")


@pytest.mark.parametrize("line, says", [
    ("61 * * * * /bin/true", ["something is broken", "line 3: minute: 61 is not between 0 and 59"]),
    ("* * * * /bin/true", ["bad step value", "something is broken", "line 3: day of week: '/bin/true' is no step between 1 and 7"]),
    ("* * * * *", ["something is broken", "line 3: there is no command after the times"]),
    ("0 0 30 2 * x", ["something is broken", "line 3: there is no such day in these months"]),
    ("#SCRON --nosuch\n* * * * * /bin/true", ["Invalid option found in #SCRON line: --nosuch"]),
    ("#SCRON --array=1-3\n* * * * * /bin/true", ["line 3: an entry of a crontab cannot be a job array"]),
    ("#SCRON -p nosuch\n* * * * * /bin/true", ["line 4: invalid partition specified: nosuch", "Invalid partition name specified"]),
])
def test_a_bad_one_is_refused_whole(c, line, says):
    put(c, MINE)
    before = jobs(c)
    done = c.run("scrontab", "-", input=f"# new\n@daily echo good\n{line}\n", check=False)
    assert (done.rc, done.out) == (1, "There are errors in your crontab.\n")
    assert [x.replace("scrontab: error: ", "") for x in done.err.splitlines()] == says
    assert listed(c) == MINE and jobs(c) == before


def test_runs_come_again(c):
    """The same job, a run each time; what it writes is appended; variables and options reach it."""
    log = c.work / "log"
    put(c, f"#SCRON -J again -o {c.work}/out-%j\nGREETING = \"good  morning\"\nWHERE=$HOME/x\n"
           f"* * * * * echo \"$GREETING $WHERE $SLURM_JOB_NAME\"; pwd; date +%s >>{log}\n")
    (job, *_), = jobs(c)
    wait_until(lambda: log.exists(), "the first run began", timeout=75)
    wait_until(lambda: c.job(job)["JobState"] == "PENDING" and c.job(job)["Reason"] == "BeginTime", "it waits again")
    shown = c.job(job)
    assert shown["Restarts"] == "0"
    home = os.path.expanduser("~")
    assert (c.work / f"out-{job}").read_text() == f"good  morning {home}/x again\n{home}\n"
    first = int(log.read_text())
    due = datetime.strptime(shown["StartTime"], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    assert due == first // 60 * 60 + 60
    rows = c.run("sacct", "-n", "-X", "-D", "-j", job, "-o", "State").out.split()
    assert rows == ["COMPLETED", "PENDING"]


def test_replacing(c):
    put(c, "@daily echo one\n@daily echo two\n@daily echo one\n")
    old = jobs(c)
    put(c, "# moved\n\n@daily echo two\n@daily echo one\n@weekly echo three\n")
    new = jobs(c)
    kept = [x for x in new if x in old]
    assert len(new) == 3 and kept == [old[0], old[1]]
    c.run("scancel", old[1][0])
    assert listed(c) == "# moved\n\n#DISABLED: @daily echo two\n@daily echo one\n@weekly echo three\n"
    put(c, "# nothing\n")
    assert jobs(c) == [] and listed(c) == "# nothing\n"


def test_editor_and_file(c):
    path = c.work / "tab"
    path.write_text("@daily true\n")
    c.run("scrontab", path)
    editor = c.work / "edit.sh"
    editor.write_text("#!/bin/sh\necho \"$1\" | grep -q more || exit 3\necho '@hourly date' >>\"$2\"\n")
    editor.chmod(0o755)
    c.run("scrontab", "-e", env={"EDITOR": "false", "VISUAL": f"{editor} more"})
    assert listed(c) == "@daily true\n@hourly date\n"
    done = c.run("scrontab", "-e", env={"EDITOR": "true", "VISUAL": ""})
    assert done.err == "scrontab: no changes made to the crontab\n"
    assert "failed: nothing is changed" in c.refused("scrontab", "-e", env={"VISUAL": f"{editor} less"})
    bad = c.work / "bad.sh"
    bad.write_text("#!/bin/sh\necho broken >\"$1\"\n")
    bad.chmod(0o755)
    done = c.run("scrontab", "-e", env={"VISUAL": bad}, input="n\n", check=False)
    assert done.rc == 1 and done.out == "There are errors in your crontab.\nDo you want to retry the edit? (y/n) "
    assert listed(c) == "@daily true\n@hourly date\n" and len(jobs(c)) == 2
    assert "failed to open /nosuch" in c.refused("scrontab", "/nosuch")


def test_usage(c):
    text = ("usage:\tscrontab [-u user] file\n\tscrontab [-u user] [ -e | -l | -r | -v]\n"
            "\t-e\tEdit user's crontab (default action if stdin is a TTY)\n\t-l\tList user's crontab\n"
            "\t-r\tDelete user's crontab\n\t-u\tUser to edit crontab for\n")
    assert c.refused("scrontab", "--usage") == text
    assert c.refused("scrontab", "--badoption") == text
    assert c.refused("scrontab", "-l", "-r") == text


def test_explicit_scancel(cluster):
    conf = cluster.conf.read_text()
    assert cluster.refused("scrontab", "-l") == "scrontab: fatal: scrontab is disabled on this cluster\n"
    cluster.conf.write_text(conf + "ScronParameters=enable,explicit_scancel\n")
    cluster.run("scontrol", "reconfigure")
    put(cluster, "@daily echo x\n")
    (job, *_), = jobs(cluster)
    assert "Cannot cancel scrontab jobs without --cron flag." in cluster.run("scancel", job, check=False).err
    cluster.run("scancel", "-u", USER)
    assert [x[0] for x in jobs(cluster)] == [job] and listed(cluster) == "@daily echo x\n"
    cluster.run("scancel", "--cron", job)
    assert jobs(cluster) == [] and listed(cluster) == "#DISABLED: @daily echo x\n"


def test_restart(c):
    """A killed controller has the text, the jobs and their times; a run over its death comes again."""
    log, begun = c.work / "ran", c.work / "begun"
    put(c, f"0 3 * * * /bin/true\n* * * * * touch {begun}; sleep 3; echo x >>{log}\n")
    before, times = listed(c), jobs(c, "jobid,name,cronjob,starttime")
    c.kill_ctld()
    c.start_ctld()
    assert listed(c) == before and jobs(c, "jobid,name,cronjob,starttime") == times
    job = times[1][0]
    wait_until(begun.exists, "the script runs", 75)  # a job is RUNNING before its node knows
    c.kill_ctld()
    wait_until(log.exists, "it ended while there was no controller")
    c.start_ctld()
    wait_until(lambda: c.job(job)["JobState"] == "PENDING" and c.job(job)["Reason"] == "BeginTime", "it waits again")
    assert log.read_text() == "x\n"
    c.run("scancel", job)
    c.kill_ctld()
    c.start_ctld()
    assert listed(c).splitlines()[1].startswith("#DISABLED: ") and [x[0] for x in jobs(c)] == [times[0][0]]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_users(both):  # noqa: F811
    c = both
    refusal = as_user(c, "scrontab", "-u", "root", "-l", check=False)
    assert (refusal.returncode, refusal.stderr) == (1, "scrontab: fatal: slurm_request_crontab failed: Invalid user id\n")
    c.run("scrontab", "-u", "nobody", "-", input=f"#SCRON --chdir=/tmp -o /dev/null\n@daily id -un >{c.work}/who\n")
    assert as_user(c, "scrontab", "-l").stdout.splitlines()[0] == "#SCRON --chdir=/tmp -o /dev/null"
    (job, *rest), = jobs(c, "jobid,username")
    assert rest == ["nobody"] and c.job(job)["WorkDir"] == "/tmp"
    assert c.run("scrontab", "-l", check=False).out == "no crontab for root\n"
    as_user(c, "scancel", job)
    assert "#DISABLED: @daily" in c.run("scrontab", "-u", "nobody", "-l").out
    c.run("scrontab", "-u", "nobody", "-r")
    assert "Could not find user nosuchuser" in c.refused("scrontab", "-u", "nosuchuser", "-l")


def test_a_snapshot_holds_crontabs_and_triggers(c):
    """Recovery from a snapshot, which is written when the journal has grown by 64 MiB, gives them back."""
    put(c, MINE)
    c.run("strigger", "--set", "--node=node1", "--down", "-p", "/bin/true")
    before, times = c.run("strigger", "--get").out, jobs(c, "jobid,name,cronjob,starttime")
    big, snapshots = c.work / "big.sh", lambda: set((c.dir / "state").rglob("*.snap"))
    old = snapshots()
    for k in range(18):
        big.write_text(f"#!/bin/sh\n# {k}\n" + f"# {'x' * 100}\n" * 38000)
        c.run("sbatch", "-H", big)
    wait_until(lambda: snapshots() - old, "a snapshot is there", timeout=30)
    c.run("scancel", "-u", USER, "--name=big.sh")
    c.kill_ctld()
    c.start_ctld()
    assert listed(c) == MINE and c.run("strigger", "--get").out == before
    assert jobs(c, "jobid,name,cronjob,starttime") == times
    c.run("strigger", "--clear", f"--user={USER}")
