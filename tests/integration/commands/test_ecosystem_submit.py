"""What existing programs submit, that they can read the answer, and the rules of their contract with the
cluster that take a running one: visibility, silence, an absent controller."""

import re
import subprocess

import pytest

import ecosystem
from conftest import program, wait_until

CLUSTER = {"nodes": 4, "cpus": 8, "node_options": "Gres=gpu:2 Feature=fast,big",
           "conf": "GresTypes=gpu\nLicenses=matlab:10\nKillWait=1"}


@pytest.mark.parametrize("row", ecosystem.rows("submissions"), ids=str)
def test_submission(shared, row):
    ecosystem.check(shared, row, {"here": ecosystem.FOLDER})


def test_directives_in_quotes(c):
    job = ecosystem.shell(c, f"sbatch --parsable -H {ecosystem.FOLDER}/psij.sh").stdout.strip()
    record = c.job(job)
    assert (record["JobName"], record["WorkDir"], record["TimeLimit"], record["ReqTRES"]) == (
        "psij", "/tmp", "1-02:04:00", "cpu=1,mem=100M,node=1,billing=1")


def test_1_and_3_one_line_and_visible_at_once(c):
    """Rules 1 to 3: the line and nothing else, and both lists have the job when it is printed."""
    for _ in range(10):
        done = ecosystem.shell(c, "job=$(sbatch --parsable --wrap 'sleep 5') && squeue -h -j $job -o %A && sacct -X -n -P -j $job -o JobIDRaw")
        job, again = done.stdout.split()
        assert job == again and done.stderr == ""


def test_4_finished_jobs_stay_in_both_lists(c):
    job = c.sbatch(wrap="true")
    wait_until(lambda: c.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%t").out == "CD\n", "it is over")
    assert c.sacct("-X", "-j", str(job), "-o", "State") == [["COMPLETED"]]


def test_6_an_absent_controller(make_cluster):
    """A sentence that clients know and a failure, never an empty list."""
    c = make_cluster(nodes=1)
    c.kill_ctld()
    sentence = r"(slurm_load_jobs error|slurm_load_partitions): (Unable to contact slurm controller \(connect failure\)|" \
               r"Socket timed out on send/recv operation)\n"
    asked = [c.popen(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for argv in (
        ["squeue"], ["squeue", "-h", "-j", "1", "-o", "%T %B"], ["squeue", "-h", "-t", "all", "-o", "%i %t"], ["sinfo"],
        ["scontrol", "show", "job", "1"])]
    for process in asked:  # each waits for the controller for a while
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1 and out == "", process.args
        assert re.search(sentence, err), (process.args, err)
    c.start_ctld()


@pytest.mark.parametrize("argv, out", [
    (["squeue", "--noheader", "--format=%T", "--job", "@"], "RUNNING\n"),
    (["squeue", "-hj@", "-o%T"], "RUNNING\n"),
    (["squeue", "-h", "-j", "@", "-o", r"%A\x1f%t"], "@\\x1fR\n"),
    (["squeue", "-h", "-j", "@", "-o", "%A\x1f%t"], "@\x1fR\n"),
    (["sinfo", "-aho%P"], "main*\n"),
    (["squeue", "-h", "-j", "@", "-o", "<><>%t|^^^{}"], "<><>R|^^^{}\n"),
    (["squeue", "-h", "-j", "@", "-O", "StateCompact:.6,Name:=,"], "     Rlong=\n"),
])
def test_11_and_12_formats_and_abbreviations(c, argv, out):
    job = c.sbatch("-J", "long", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    done = c.run(*[word.replace("@", str(job)) for word in argv])
    assert done.out == out.replace("@", str(job)) and done.err == ""


def test_12_underscores_in_srun(c):
    """Open MPI 4 writes --cpu_bind."""
    assert c.run("srun", "--ntasks-per-node=1", "--kill-on-bad-exit", "--cpu_bind=none", "--nodes=2", "--ntasks=2", "echo", "x").out == "x\nx\n"


def test_6_2_options_of_srun(c):
    for options in (["-N1", "-n2", "-c1", "-l", "-u", "-K0"], ["-n1", "-K"], ["-n1", "--cpu-bind=q"], ["-n1", "--exact", "--exclusive"],
                    ["-n1", "--mpi=none", "--external-launcher"], ["-n2", "--distribution=block"], ["-n1", "--export=ALL,X=1"],
                    ["-n1", "--mem=10", "--wait=60", "--kill-on-bad-exit=1"], ["-n1", "--input", "none", "--no-kill"],
                    ["-n1", "--open-mode=append", "--signal=USR1@30", "--label"]):
        done = c.run("srun", *options, "true", check=False)
        assert done.rc == 0 and done.err == "", (options, done.err)


def test_7_8_9_words(c):
    """The closed set of states, the user in CANCELLED, reasons of one word."""
    jobs = {"held": c.sbatch("-H", wrap="true"), "dep": c.sbatch("-H", "-d", "singleton", wrap="true"),
            "bad": c.sbatch(wrap="exit 9"), "late": c.sbatch("--begin=now+1hour", wrap="true"),
            "big": c.sbatch("-N4", "--exclusive", wrap="sleep 1000"), "wait": c.sbatch("-N4", "--exclusive", wrap="true")}
    c.run("scancel", str(jobs["held"]))
    c.wait_end(jobs["bad"])
    wait_until(lambda: c.job(jobs["wait"])["Reason"] in ("Resources", "Priority"), "the reason is told")
    text = c.run("squeue", "-O", "JobArrayID,StateCompact,Reason", "-t", "all", "--me").out
    ecosystem.read_psij(text)
    assert re.search(r"NonZeroExitCode", text) and re.search(r"BeginTime", text)
    assert re.fullmatch(r"CANCELLED by \d+", c.wait_sacct(jobs["held"], "CANCELLED")[0])


def test_18_programs_are_files(shared):
    for name in ("srun", "sbatch", "squeue", "sacct", "scontrol", "sinfo", "scancel"):
        found = ecosystem.shell(shared, f"command -v {name}").stdout.strip()
        assert found == program(name)
