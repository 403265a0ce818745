"""Steps as a stranger examines them: what a script hands to its steps, what a program at a terminal or with windows finds."""

import os
import re
import subprocess

import pytest

import people
from conftest import let_in, program, wait_until
from test_x11 import Display
from typed import at_terminal, parse

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "PrologFlags=X11"}

PLACES = "srun -l bash -c 'echo $SLURM_NODEID' | sort | cut -c4 | tr -d '\\n'"

# What the program xauth does to change a file: a lock beside it, a new file, a new name.
CHANGE = """
import os
import re
import subprocess
name = os.environ["XAUTHORITY"]
os.close(os.open(name + "-c", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
os.link(name + "-c", name + "-l")
open(name + "-n", "wb").write(open(name, "rb").read())
os.rename(name + "-n", name)
os.unlink(name + "-c"), os.unlink(name + "-l")
print(name, oct(os.stat(os.path.dirname(name)).st_mode & 0o777), os.stat(name).st_size > 0)
"""


def test_steps_inherit_the_size_of_a_plane(c):
    """The size has a variable of its own, and steps of a script or shell go by both."""
    job = c.sbatch("-N2", "-n6", "-m", "plane=2", wrap=f"echo $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE; {PLACES}; echo; "
                   f"{PLACES.replace('-l', '-l -m plane=1')}; echo; srun -N1 -n1 bash -c 'echo $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE'")
    assert c.wait_end(job)["ExitCode"] == "0:0"
    assert c.out(job) == "plane 2\n001100\n010100\nplane 2\n"
    assert c.run("salloc", "-Q", "-N2", "-n6", "-m", "plane=3", "bash", "-c", PLACES).out == "000110"
    assert c.run("srun", "-N2", "-n4", "hostname", env={"SLURM_DISTRIBUTION": "plane", "SLURM_DIST_PLANESIZE": "2"}).rc == 0
    for size in ({}, {"SLURM_DIST_PLANESIZE": "0"}, {"SLURM_DIST_PLANESIZE": "x"}):
        assert "Invalid plane size or size not specified" in c.refused("srun", "-n2", "-m", "plane", "true", rc=255, env=size)


def test_a_terminal_says_its_size_and_port(c):
    command = f"stty rows 33 cols 111; {program('srun')} --pty bash -c 'env | grep ^SLURM_PTY | sort; env | grep ^SLURM_SRUN_COMM_PORT'"
    shown, rc = at_terminal(command, parse("after 0.1 s '\\n'"), 20, env=c.env, cwd=c.work)
    lines = dict(line.split("=") for line in shown.split() if line.startswith("SLURM_"))
    assert rc == 0 and lines["SLURM_PTY_WIN_COL"] == "111" and lines["SLURM_PTY_WIN_ROW"] == "33", shown
    assert lines["SLURM_PTY_PORT"] == lines["SLURM_SRUN_COMM_PORT"] != "0"
    assert "SLURM_PTY" not in c.run("srun", "env").out


@pytest.mark.skipif(not people.HAVE_PEOPLE, reason="only root may be several users")
def test_a_user_changes_the_file_of_cookies(c, folder):
    """Programs such as xauth lock the file by others beside it, so its folder is the user's; it goes with the job."""
    display = Display(folder)
    try:
        people.make_homes()
        display.authority.chmod(0o644)
        let_in(folder)
        words = people.ask_as("alice", c, "srun", "--x11", "python3", "-c", CHANGE, env=display.env).split()
        assert words[1:] == ["0o700", "True"]
        wait_until(lambda: not os.path.exists(os.path.dirname(words[0])), "file and folder go with the job")
        litter = "import os; open(os.environ['XAUTHORITY'] + '-l', 'w'); print(os.environ['XAUTHORITY'])"
        name = people.ask_as("alice", c, "srun", "--x11", "python3", "-c", litter, env=display.env).strip()
        c.clear()
        assert not os.path.exists(os.path.dirname(name)), "a lock that is left goes with the job"
    finally:
        display.close()
        people.remove_homes()


def test_a_het_job_joined_from_outside(c):
    """--jobid names it by its first component; --het-group is about its components then, with their variables."""
    err = c.run("salloc", "--no-shell", "-n1", ":", "-n1", "-N1").err
    job = int(re.search(r"Granted job allocation (\d+)", err).group(1))
    words = ["bash", "-c", "echo $SLURM_PROCID $SLURM_JOB_ID $SLURM_HET_SIZE $SLURM_JOB_ID_HET_GROUP_1"]
    done = c.run("srun", f"--jobid={job}", "--het-group=0-1", *words)
    assert sorted(done.out.splitlines()) == [f"0 {job} 2 {job + 1}", f"1 {job} 2 {job + 1}"]
    where = c.run("srun", f"--jobid={job}", "--het-group=1", "-l", "bash", "-c", "echo $SLURM_STEP_NODELIST").out
    assert where == f"0: {c.job(job + 1)['NodeList']}\n"
    assert c.run("srun", f"--jobid={job}", "-l", *words).out == f"0: 0 {job} 2 {job + 1}\n"
    both = c.run("srun", f"--jobid={job}", "-l", "echo", "a", ":", "echo", "b").out
    assert sorted(both.splitlines()) == ["0: a", "1: b"]
    assert "exceeds highest hetjob index (2 > 1)" in c.refused("srun", f"--jobid={job}", "--het-group=2", "true")
    assert c.refused("srun", f"--jobid={job + 1}", "true") == (
        f"srun: error: Unable to confirm allocation for job {job + 1}: Job not heterogeneous job leader\n"
        f"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job + 1}\n")
    c.run("scancel", str(job))
    plain = int(re.search(r"Granted job allocation (\d+)", c.run("salloc", "--no-shell", "-n1").err).group(1))
    assert "exceeds highest hetjob index (1 > 0)" in c.refused("srun", f"--jobid={plain}", "--het-group=1", "true")
    c.run("scancel", str(plain))


def test_why_a_job_of_srun_alone_is_ended(c):
    """The controller tells the node why; srun does not end the step before, for no reason."""
    with c.popen("srun", "-J", "late", "-n2", "-N2", "sleep", "100", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as srun:
        job = wait_until(lambda: c.run("squeue", "-h", "-n", "late", "-t", "R", "-o", "%A").out.strip(), "the job runs")
        wait_until(lambda: c.run("squeue", "-h", "-s", "-o", "%i").out.startswith(f"{job}.0"), "its step runs")
        c.run("scontrol", "update", f"jobid={job}", "endtime=now+1")
        _, err = srun.communicate(timeout=60)
    assert srun.returncode == 143
    assert re.search(rf"\*\*\* STEP {job}\.0 ON node1 CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*\n", err), err
    assert c.wait_end(job)["JobState"] == "TIMEOUT"


@pytest.mark.parametrize("option, word, listed, all_of_it", [
    ("verbose", "", "", "verbose"), ("cores", "cores", "", "quiet,cores"), ("verbose,none", "none", "", "verbose,none"),
    ("map_cpu:1,0*2", "map_cpu:", "1,0,0", "quiet,map_cpu:1,0,0"), ("v,mask_cpu:0x2,1", "mask_cpu:", "0x2,0x1", "verbose,mask_cpu:0x2,0x1")])
def test_binding_that_was_asked_for(c, option, word, listed, all_of_it):
    """Nodes that bind nothing still tell tasks, and steps within them, what was asked for."""
    show = "echo $SLURM_CPU_BIND $SLURM_CPU_BIND_VERBOSE T=$SLURM_CPU_BIND_TYPE L=$SLURM_CPU_BIND_LIST"
    how = "verbose" if all_of_it.startswith("verbose") else "quiet"
    assert c.run("srun", "-n1", f"--cpu-bind={option}", "bash", "-c", f"{show}; srun --overlap -n1 bash -c '{show}'").out == \
        f"{all_of_it} {how} T={word} L={listed}\n" * 2
    assert c.run("srun", "-n1", "--mem-bind=verbose,prefer,map_mem:0", "bash", "-c",
                 "echo $SLURM_MEM_BIND $SLURM_MEM_BIND_TYPE $SLURM_MEM_BIND_LIST $SLURM_MEM_BIND_PREFER").out == \
        "verbose,prefer,map_mem:0 map_mem: 0 prefer\n"
