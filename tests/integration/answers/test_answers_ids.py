"""Ids that are not quite ids, programs that are not there, and variables that are no input: recordings 62, 66 and 67.
By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_answers_ids.py"""

import people
import pytest

CLUSTER = {"nodes": 2}


def said(c, *argv, **how):
    p = c.run(*argv, check=False, **how)
    return p.rc, p.out, p.err


# 62: ids are split at commas before brackets are looked at
@pytest.mark.parametrize("given,word", [("10_[6,7]", "10_[6"), ("1,10_[6,7],3", "10_[6"), ("10_[6-7]", "10_[6-7]")])
def test_squeue_takes_no_sets(c, given, word):
    assert said(c, "squeue", "-h", "-j", given) == (1, "", f"squeue: error: Invalid job id: {word}\n")


def test_sacct_splits_at_commas(c):
    assert said(c, "sacct", "-j", "29_[1,3]", "-n") == \
        (1, "", "sacct: fatal: Bad job/step specified: 29_[1: JobID includes unexpected non-numeric characters\n")


# 62: scancel names the range that is none; an open bracket has none
@pytest.mark.parametrize("word,element", [("10_[a-b]", "a-b"), ("10_[1-3,x]", "x"), ("10_[", None), ("10_[1", None)])
def test_scancel_names_the_range(c, word, element):
    first = f"scancel: error: _parse_single_range: Invalid range: `{element}'\n" if element else ""
    assert said(c, "scancel", word) == (1, "", f"{first}scancel: error: Invalid job id {word}\n")


# 66: "6+" is the first component of 6
def test_component_without_a_number(c):
    job = c.run("sbatch", "-H", "--parsable", "-n1", ":", "-n1", "--wrap", "true").out.strip()
    shown = c.run("scontrol", "show", "job", job + "+").out
    assert f"JobId={job} HetJobId={job} HetJobOffset=0 " in shown and shown.count("HetJobOffset=") == 1
    c.run("scancel", job)


# 67: the folder that salloc cannot enter is named whole
def test_salloc_names_the_folder(c):
    assert said(c, "salloc", "-D", "d_salloc", "pwd") == \
        (1, "", f"salloc: error: chdir({c.work}/d_salloc): No such file or directory\n")


# 67: SLURM_NNODES is no input of srun, SLURM_JOB_NUM_NODES is
def test_number_of_nodes_in_the_environment(c):
    assert c.run("srun", "echo", "c", env={"SLURM_NNODES": "2"}).out == "c\n"
    assert c.run("srun", "echo", "d", env={"SLURM_JOB_NUM_NODES": "2"}).out == "d\nd\n"


# 42, 66, 67: what a folder of PATH that the user may not look into holds is missing, not forbidden
@pytest.mark.skipif(not people.HAVE_PEOPLE, reason="only root can be several users")
def test_program_behind_a_closed_folder(c, tmp_path):
    people.make_homes()
    c.dir.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    there = closed / "there"
    there.write_text("#!/bin/sh\n")
    there.chmod(0o755)
    path = f"{closed}:/usr/bin:/bin"
    for name in ("nosuchprog", "there"):
        rc, _, err = said(c, "srun", "--uid=alice", "--chdir=/", name, env={"PATH": path})
        assert rc == 2 and f"execve(): {name}: No such file or directory" in err, err
    rc, _, err = said(c, "srun", "--uid=alice", "--chdir=/", "/etc", env={})
    assert rc == 13 and "execve(): /etc: Permission denied" in err, err
    people.remove_homes()
