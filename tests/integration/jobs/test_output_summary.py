"""OutputSummary and sbatch --output-summary: what a job used, below the last byte of its output."""

import os
import re

import pytest

from conftest import wait_until

MARK = "-- Summary of the job --\n"


def written(c, job):
    path = c.work / f"slurm-{job}.out"
    return path.read_text() if path.exists() else ""


def split(text):
    """What the job wrote, and its summary as {first word: rest}; None without one."""
    wrote, mark, summary = text.partition(MARK)
    return wrote, dict(line.split(None, 1) for line in summary.splitlines()) if mark else None


@pytest.fixture
def site(make_cluster):
    return make_cluster(nodes=2, conf="OutputSummary=YES\nJobAcctGatherType=jobacct_gather/linux")


def test_asked_for(make_cluster):
    c = make_cluster(nodes=1)
    plain, asked = c.sbatch("-n1", wrap="echo done"), c.sbatch("-n1", "--output-summary", wrap="echo done")
    var = c.sbatch("-n1", wrap="echo done", env={"SBATCH_OUTPUT_SUMMARY": "yes"})
    for job in (plain, asked, var):
        assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(plain) == "done\n", "off by default"
    for job in (asked, var):
        wrote, summary = split(c.out(job))
        assert (wrote, summary["Job"], summary["Advice"]) == ("done\n", f"{job}  wrap  COMPLETED", "It ran too short to tell.")
    assert "Invalid" in c.refused("sbatch", "--output-summary=maybe", "--wrap", "true", rc=255)


def test_below_everything(site):
    """Steps of other nodes count; what is left running is ended before, and what it wrote stands above."""
    job = site.sbatch("-N2", "-n2", wrap="srun bash -c 'for ((i=0; i<200000; i++)); do :; done'\n"
                                         "out=slurm-$SLURM_JOB_ID.out; (trap '' TERM; while :; do echo late >> $out; done) &\n"
                                         "while ! grep -q late $out; do sleep 0.05; done; echo end >> $out")
    assert site.wait_end(job, 60)["JobState"] == "COMPLETED"
    wrote, summary = split(site.out(job))
    assert set(wrote.splitlines()) == {"late", "end"} and summary["Job"] == f"{job}  wrap  COMPLETED"
    assert site.out(job).endswith("It ran too short to tell.\n")
    busy = float(re.search(r"of 2: ([\d.]+) busy", summary["CPU"]).group(1))
    assert busy > 0 and " on 2 nodes" in summary["Ran"], summary
    refused = site.sbatch("--output-summary=no", wrap="echo alone")
    site.wait_end(refused)
    assert site.out(refused) == "alone\n"


def test_no_other_file(site):
    """The file that the job wrote gets it, not the one that has its name now; and only files do."""
    job = site.sbatch("-n1", "-o", "first", wrap="echo mine; touch began; while [ ! -e go ]; do sleep 0.05; done")
    wait_until((site.work / "began").exists, "it runs")
    (site.work / "first").rename(site.work / "moved")
    (site.work / "first").write_text("somebody else's\n")
    (site.work / "go").touch()
    site.wait_end(job)
    assert (site.work / "first").read_text() == "somebody else's\n"
    assert split((site.work / "moved").read_text())[1]["Job"] == f"{job}  wrap  COMPLETED"

    os.mkfifo(site.work / "pipe")
    reader = os.open(site.work / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        job = site.sbatch("-n1", "-o", "pipe", wrap="echo x")
        site.wait_end(job)
        assert os.read(reader, 4096) == b"x\n"
    finally:
        os.close(reader)


def test_how_it_ended(site):
    bad = site.sbatch("-n1", wrap="exit 3")
    cancelled = site.sbatch("-n1", wrap="echo x; sleep 1000")
    split_out = site.sbatch("-n1", "-e", "errors", wrap="echo out; echo err >&2")
    wait_until(lambda: written(site, cancelled) == "x\n", "it runs")
    site.run("scancel", cancelled)
    for job, state in ((bad, "FAILED"), (cancelled, "CANCELLED"), (split_out, "COMPLETED")):
        site.wait_end(job)
        wait_until(lambda: split(site.out(job))[1], "its summary is there")
        assert split(site.out(job))[1]["Job"] == f"{job}  wrap  {state}"
    assert "CANCELLED AT" in split(site.out(cancelled))[0]
    assert (site.work / "errors").read_text() == "err\n"
    array = site.sbatch("-n1", "-a", "0-1", "-o", "task-%a", wrap="echo $SLURM_ARRAY_TASK_ID")
    for task in (0, 1):
        site.wait_end(f"{array}_{task}")
        wrote, summary = split((site.work / f"task-{task}").read_text())
        assert (wrote, summary["Job"].split()[0]) == (f"{task}\n", f"{array}_{task}")


def test_without_controller(site):
    """What the node knows is told, and the job's end waits for the controller as ever."""
    job = site.sbatch("-n1", wrap="touch began; while [ ! -e go ]; do sleep 0.05; done")
    wait_until((site.work / "began").exists, "it runs")
    site.kill_ctld()
    site.slurmds["node1"].kill()
    site.start_slurmd("node1")
    (site.work / "go").touch()
    wait_until(lambda: split(written(site, job))[1], "the summary is there", 40)
    wrote, summary = split(site.out(job))
    assert (wrote, summary["Job"]) == ("", f"{job}  wrap  COMPLETED")
    assert summary["Steps"] == "of srun are not counted: the controller did not answer"
    site.start_ctld()
    assert site.wait_end(job, 60)["JobState"] == "COMPLETED"
