"""AccountingStoreFlags: scripts, environments and texts of jobs in the store, and who may read them; nojobs, nosteps."""

import os
import subprocess

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import program, wait_until

RULE = "-" * 80 + "\n"
FLAGS = "AccountingStoreFlags=job_script,job_env,job_comment"
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="asks as somebody else")


@pytest.fixture(params=["embedded", "slurmdbd"])
def site(request, folder, make_cluster):
    folder.chmod(0o755)  # another user reads slurm.conf
    dbd = None
    conf = FLAGS
    if request.param == "slurmdbd":
        dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key")
        conf += "\n" + conf_of(dbd)
    c = make_cluster(conf=conf)
    if dbd:
        dbd.start()
    wait_until(lambda: "test|1" in c.run("sacctmgr", "-nP", "list", "cluster", "format=cluster,controlhost").out,
               "the store knows the cluster", 30)
    yield c
    c.stop()
    if dbd:
        dbd.stop()


def as_nobody(c, *argv):
    return subprocess.run([program(argv[0]), *argv[1:]], env=c.env, capture_output=True, text=True, timeout=60, user=65534)


def run_one(c, *options, **kwargs):
    job = c.sbatch("--output=/dev/null", *options, **kwargs)
    c.wait_end(job)
    c.wait_sacct(job, "COMPLETED")
    return job


def test_script_and_environment(site):
    c = site
    body = "# one of mine\ntrue\n"
    job = run_one(c, script=body, env={"MINE": "a b=c"})
    out = c.run("sacct", "-B", "-j", str(job)).out
    head, _, text = out.partition(RULE)
    assert head == f"Batch Script for {job}\n" and text.startswith("#!") and text.strip().endswith("# one of mine\ntrue")
    out = c.run("sacct", "--env-vars", "-j", str(job)).out
    assert out.startswith(f"Environment used for {job} (must be batch to display)\n{RULE}")
    assert "MINE=a b=c" in out.splitlines() and "\0" not in out
    both = c.run("sacct", "-B", "--env-vars", "-j", str(job)).out
    assert both.index("Batch Script") < both.index("Environment used")
    array = c.sbatch("--array=1-2", "--output=/dev/null", script=body)
    c.wait_end(array)
    wait_until(lambda: c.run("sacct", "-B", "-j", str(array)).out.count("# one of mine") == 2, "each task's", 30)
    assert f"Batch Script for {array}_1\n" in c.run("sacct", "-B", "-j", f"{array}_1").out
    assert "specific jobs with the '-j' option" in c.refused("sacct", "-B")
    assert "specific jobs with the '-j' option" in c.refused("sacct", "--env-vars")


def test_texts(site):
    job = run_one(site, "--comment=seen", "--extra=unseen", wrap="true")
    assert site.sacct("-X", "-j", str(job), "-o", "comment,extra") == [["seen", ""]]


@ROOT_ONLY
def test_of_others(site):
    """The owner and operators, nobody else."""
    c = site
    job = run_one(c, wrap="true")
    for option in ("-B", "--env-vars"):
        done = as_nobody(c, "sacct", option, "-j", str(job))
        assert done.returncode == 1 and "Access/permission denied" in done.stderr and not done.stdout
    c.run("sacctmgr", "-i", "add", "account", "ops")
    c.run("sacctmgr", "-i", "add", "user", "nobody", "account=ops", "adminlevel=operator")
    done = as_nobody(c, "sacct", "-B", "-j", str(job))
    assert done.returncode == 0 and done.stdout.startswith(f"Batch Script for {job}\n")


def test_switched_off(site):
    """A reconfigure changes what is stored of later jobs."""
    c = site
    text = c.conf_text()
    known = run_one(c, wrap="srun true")
    c.write_conf(text.replace(FLAGS, "AccountingStorageEnforce=nosteps"))
    c.run("scontrol", "reconfigure")
    job = run_one(c, "--comment=unseen", wrap="srun true; exit 0")
    assert c.sacct("-j", str(job), "-o", "jobid,comment") == [[str(job), ""]]
    assert c.run("sacct", "--env-vars", "-j", str(job)).out.endswith(RULE + "NONE\n")
    assert len(c.sacct("-j", str(known), "-o", "jobid")) == 3
    assert RULE + "NONE" not in c.run("sacct", "--env-vars", "-j", str(known)).out
    c.write_conf(text.replace(FLAGS, "AccountingStorageEnforce=nojobs"))
    c.run("scontrol", "reconfigure")
    unseen = c.sbatch("--output=/dev/null", wrap="true")
    c.wait_end(unseen)
    c.write_conf(text)
    c.run("scontrol", "reconfigure")
    seen = run_one(c, wrap="true")  # stored behind the other
    assert [row[0] for row in c.sacct("-X", "-j", f"{unseen},{seen}", "-o", "jobid")] == [str(seen)]
    assert RULE + "NONE" not in c.run("sacct", "--env-vars", "-j", str(seen)).out


def test_most_steps(site):
    """max_step_records: of a job's steps the first so many have records; its script's is one more."""
    c = site
    text = c.conf_text()
    c.write_conf(text + "AccountingStorageParameters=max_step_records=2\n")
    c.run("scontrol", "reconfigure")
    job = run_one(c, wrap="for i in 1 2 3 4; do srun true; done")
    ids = [f"{job}{end}" for end in ("", ".batch", ".0", ".1")]
    assert [row[0] for row in c.sacct("-j", str(job), "-o", "jobid")] == ids
    assert [row[1] for row in c.sacct("-j", str(job), "-o", "jobid,state")] == ["COMPLETED"] * 4
    c.write_conf(text)
    c.run("scontrol", "reconfigure")
    job = run_one(c, wrap="for i in 1 2 3; do srun true; done")
    assert len(c.sacct("-j", str(job), "-o", "jobid")) == 5
