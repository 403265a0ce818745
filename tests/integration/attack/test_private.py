"""PrivateData: every value against every command that tells what it hides, for everybody who may ask."""

import getpass
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import SLOW, Cluster, wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as other users")
ME = getpass.getuser()
# Who asks: the owner and another user of the same account, one who coordinates it, an operator.
OWNER, OTHER, COORD, OPERATOR = "games", "nobody", "mail", "news"


def as_user(c, user, *words):
    return subprocess.run(["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", *map(str, words)], cwd=c.work,
                          env=c.env | {"USER": user}, text=True, capture_output=True, timeout=30 * SLOW)


@pytest.fixture(scope="module")
def site():
    """A cluster in which everything that can be hidden is there; set(value) makes PrivateData say so."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    folder.chmod(0o755)
    c = Cluster(folder, nodes=2, conf="PriorityType=priority/multifactor\nPriorityWeightAge=1000\n"
                "AccountingStorageEnforce=associations")
    try:
        c.start()
        c.work.chmod(0o777)
        mgr = lambda *words: c.run("sacctmgr", "-i", *words)
        mgr("add", "account", "physics")
        mgr("add", "account", "chem")
        mgr("add", "user", ",".join([OWNER, OTHER, COORD]), "account=physics")
        mgr("add", "user", OPERATOR, "account=chem", "adminlevel=operator")
        mgr("add", "coordinator", "account=physics", f"names={COORD}")
        def submit(*words):
            done = as_user(c, OWNER, "sbatch", "--parsable", "-wnode1", "-o/dev/null", *words)
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()
        c.job_id = submit("-n1", "--wrap", "sleep 1000")
        c.wait_state(c.job_id, "RUNNING")
        c.waits = submit("-N1", "-n4", "--wrap", "true")
        wait_until(lambda: c.job(c.waits)["Reason"] != "None", "it waits")
        assert c.state(c.waits) == "PENDING", (c.job(c.waits), c.job(c.job_id))
        c.run("scontrol", "create", "reservation", "reservationname=his", "starttime=now+1hour", "duration=10", "nodes=node2",
              f"users={OWNER}")
        c.run("scontrol", "update", "nodename=node2", "state=drain", "reason=told")
        wait_until(lambda: "told" in c.run("sacctmgr", "-n", "-P", "show", "event").out, "accounting knows of the drain")

        def set_private(value):
            c.extra_conf = re.sub(r"\nPrivateData=.*", "", c.extra_conf) + f"\nPrivateData={value}"
            c.write_conf()
            c.run("scontrol", "reconfigure")
        c.set_private = set_private
        yield c
    finally:
        problems = c.stop()
        shutil.rmtree(folder, ignore_errors=True)
        assert not problems, problems


# (value, command, what a sight of it shows; {job} runs, {waits} is pending), and who sees it beside root and operators
TABLE = [
    ("jobs", ["squeue", "-h", "-o", "job=%i"], "job={job}\n", {OWNER, COORD}),
    ("jobs", ["scontrol", "-o", "show", "job", "{job}"], "JobId={job} ", {OWNER, COORD}),
    ("jobs", ["scontrol", "explain", "{waits}"], "{waits}", {OWNER, COORD}),
    ("jobs", ["sacct", "-a", "-X", "-n", "-P", "-o", "JobID"], "{job}\n", {OWNER, COORD}),
    ("jobs", ["sacct", "-a", "-X", "-n", "-P", "-o", "JobID", "-A", "physics"], "{job}\n", {OWNER, COORD}),
    ("jobs", ["sprio", "-h", "-o", "job=%i"], "job={waits}\n", {OWNER, COORD}),
    ("jobs", ["squeue", "-h", "-j", "{job}", "-o", "job=%i"], "job={job}\n", {OWNER, COORD}),
    ("jobs", ["squeue", "-s", "-h", "-o", "step=%i"], "step={job}.batch\n", {OWNER, COORD}),
    ("jobs", ["squeue", "-h", "-s", "{job}.batch", "-o", "step=%i"], "step={job}.batch\n", {OWNER, COORD}),
    ("jobs", ["scontrol", "-o", "show", "step"], "StepId={job}.batch ", {OWNER, COORD}),
    ("jobs", ["scontrol", "-o", "show", "step", "{job}.batch"], "StepId={job}.batch ", {OWNER, COORD}),
    ("jobs", ["sacct", "-a", "-n", "-P", "-o", "JobID"], "{job}.batch\n", {OWNER, COORD}),
    ("jobs", ["sacct", "-n", "-P", "-j", "{job}.batch", "-o", "JobID"], "{job}.batch\n", {OWNER, COORD}),
    ("nodes", ["sinfo", "-h", "-N", "-o", "%N"], "node1\n", set()),
    ("nodes", ["scontrol", "-o", "show", "node"], "NodeName=node1 ", set()),
    ("partitions", ["sinfo", "-h", "-o", "%R"], "main\n", set()),
    ("partitions", ["scontrol", "-o", "show", "partition"], "PartitionName=main ", set()),
    ("reservations", ["scontrol", "-o", "show", "reservation"], "ReservationName=his ", {OWNER}),
    ("reservations", ["sinfo", "-T", "-h"], "his ", {OWNER}),
    ("usage", ["sshare", "-a", "-n", "-P", "-o", "Account,User"], f" physics|{OWNER}", {OWNER, COORD}),
    ("usage", ["scontrol", "show", "assoc_mgr", "flags=assoc"], f"UserName={OWNER}(", {OWNER}),
    ("users", ["sacctmgr", "-n", "-P", "show", "user", "format=user"], f"{OWNER}\n", {OWNER}),
    ("accounts", ["sacctmgr", "-n", "-P", "show", "account", "format=account"], "chem\n", set()),
    ("events", ["sacctmgr", "-n", "-P", "show", "event", "format=nodename,reason"], "node2|told\n", set()),
]


@pytest.mark.parametrize("row", range(len(TABLE)))
def test_private(site, row):
    value, command, sight, seen_by = TABLE[row]
    fill = lambda text: text.replace("{job}", site.job_id).replace("{waits}", site.waits)
    command, sight = [fill(word) for word in command], fill(sight)

    def sees(user):
        done = as_user(site, user, *command) if user != ME else site.run(*command)
        return sight in done.stdout
    everybody = {OWNER, OTHER, COORD, OPERATOR, ME}
    site.set_private("none")
    wait_until(lambda: sees(OTHER), f"without it everybody sees {sight!r}: {command}")
    assert {u for u in everybody if sees(u)} == everybody
    site.set_private(value)
    wait_until(lambda: {u for u in everybody if sees(u)} == {OPERATOR, ME, *seen_by},
               f"{value}: {command} is seen by {seen_by} and not by {({u for u in everybody if sees(u)})}")


def test_other_values_hide_nothing_else(site):
    """Each command against all values but its own: nobody loses sight."""
    values = {row[0] for row in TABLE}
    for value, command, sight, _ in TABLE:
        rest = values - {value} - ({"users"} if "assoc_mgr" in command else set()) - ({"nodes"} if value == "partitions" else set()) \
            - ({"partitions"} if command[0] == "sinfo" else set())
        site.set_private(",".join(sorted(rest)))
        word = sight.replace("{job}", site.job_id).replace("{waits}", site.waits)
        words = [w.replace("{job}", site.job_id).replace("{waits}", site.waits) for w in command]
        wait_until(lambda: word in as_user(site, OTHER, *words).stdout, f"{words} with PrivateData={rest}")


def test_step_in_what_is_over(site):
    """A job that is over or waits is said to be, also to others; private jobs are not told about."""
    done = as_user(site, OWNER, "sbatch", "--parsable", "-wnode1", "-n1", "-o/dev/null", "--wrap", "true")
    job = done.stdout.strip()
    site.wait_state(job, "COMPLETED")
    step = lambda of: as_user(site, OTHER, "srun", f"--jobid={of}", "-n1", "true").stderr
    site.set_private("none")
    assert step(job) == (f"srun: error: Slurm job {job} has expired\n"
                         f"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job}\n")
    denied = "srun: error: Unable to create step for job {}: Access/permission denied\n"
    assert step(site.job_id) == denied.format(site.job_id)
    assert step(site.waits) == (f"srun: error: Unable to confirm allocation for job {site.waits}: Job is pending execution\n"
                                f"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {site.waits}\n")
    site.set_private("jobs")
    assert step(job) == denied.format(job)
    assert step(site.waits) == denied.format(site.waits)
    site.set_private("none")


def test_watching(site):
    """A stream of changes hides what the lists do: his own job's comes, the other's before it does not."""
    site.set_private("jobs,nodes")
    told = site.work / "told"
    with open(told, "w") as out:
        his = subprocess.Popen(["setpriv", f"--reuid={OTHER}", "--regid=nogroup", "--clear-groups", "scontrol", "--json", "watch"],
                               cwd=site.work, env=site.env | {"USER": OTHER}, stdout=out, stderr=out)
    submit = ["sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true", "-J"]
    jobs = []

    def seen():
        for user, name in ((OWNER, "his"), (OTHER, "mine")):
            done = as_user(site, user, *submit, name)
            assert done.returncode == 0, done.stderr
            jobs.append(done.stdout.strip())
        site.run("scontrol", "update", "nodename=node1", f"weight={len(jobs)}")
        return "mine" in told.read_text()
    try:
        wait_until(seen, f"the watcher tells of his job: {told.read_text()}")
        assert "his" not in told.read_text() and "node1" not in told.read_text()
    finally:
        his.terminate()
        his.wait(30)
        site.run("scancel", *jobs)


def test_watching_when_it_becomes_private(site):
    """Who watched before begins anew: from then on the stream hides what PrivateData says."""
    site.set_private("none")
    told, jobs = site.work / "told-anew", []
    with open(told, "w") as out:
        his = subprocess.Popen(["setpriv", f"--reuid={OTHER}", "--regid=nogroup", "--clear-groups", "scontrol", "--json", "watch"],
                               cwd=site.work, env=site.env | {"USER": OTHER}, stdout=out, stderr=out)

    def seen(user, name):
        done = as_user(site, user, "sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true", "-J", name)
        assert done.returncode == 0, done.stderr
        jobs.append(done.stdout.strip())
        return name in told.read_text()
    try:
        wait_until(lambda: seen(OWNER, "open"), "the watcher tells of another's job")
        site.set_private("jobs")
        wait_until(lambda: seen(OTHER, "mine") and seen(OTHER, "mine"), f"it goes on with his own: {told.read_text()}")
        for _ in range(3):
            seen(OWNER, "unseen")
        wait_until(lambda: seen(OTHER, "last"), f"and on: {told.read_text()}")
        assert "unseen" not in told.read_text()
    finally:
        his.terminate()
        his.wait(30)
        site.run("scancel", *jobs)
        site.set_private("none")
