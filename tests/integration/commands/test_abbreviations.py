"""Abbreviated options: what is short enough for the incumbent is for us, whatever options we add."""

import collections
import os

import pytest

from conftest import ROOT, program

CLUSTER = {"nodes": 1}
OURS = {"help-interface", "help-table"}  # of every command; others by its own list
# The incumbent takes these, too, though its pages do not name them.
UNNAMED = {"sacct": {"fields", "group", "json", "uid"}, "sbcast": {"fanout"}, "sdiag": {"verbose"},
           "srun": {"accel-bind", "interactive", "ntasks-per-tres"}}
DAEMONS = {"slurmctld", "slurmd"}  # without options that are rows


def incumbents():
    """{command: its long options}."""
    found = collections.defaultdict(lambda: {"help", "usage", "version"})
    for line in (ROOT / "tests/golden/interface.txt").read_text().splitlines():
        words = line.split("\t")
        if len(words) > 2 and words[1] == "option":
            found[words[0]].add(words[2])
    return found


def endangered(names, ours):
    """(abbreviation, option) of those that an option of ours begins with too."""
    for name in sorted(names):
        for length in range(1, len(name)):
            word = name[:length]
            if sum(other.startswith(word) for other in names) == 1 and any(other.startswith(word) for other in ours):
                yield word, name


@pytest.mark.parametrize("command", sorted(incumbents().keys() - DAEMONS))
def test_abbreviations_of_the_incumbent(c, command):
    try:
        program(command)
    except FileNotFoundError:
        pytest.skip(f"{command} is not a command with long options of this kind")
    rows = [line.split("\t") for line in c.run(command, "--help-interface").out.splitlines()]
    ours = OURS | {row[1] for row in rows if row[0] == "option"} - incumbents()[command] - UNNAMED.get(command, set())
    for word, name in endangered(incumbents()[command], ours):
        done = c.run(command, f"--{word}", "--nosuch", check=False, env={"SLURM_CONF": "/nosuch"})
        assert "ambiguous" not in done.err, f"{command} --{word}: {done.err}"


def test_they_mean_what_they_say(c):
    c.run("sbatch", "-W", "--out=short.out", "--err=short.err", "--wrap", "echo out; echo err >&2")
    assert ((c.work / "short.out").read_text(), (c.work / "short.err").read_text()) == ("out\n", "err\n")
    script = c.script("#!/bin/sh\n#SBATCH --outp=script.out\necho script\n")
    c.run("sbatch", "-W", script)
    assert (c.work / "script.out").read_text() == "script\n"
    c.run("sbatch", "-H", "-J", "waiter", "--wrap", "true")
    for option in ("--nam=waiter", "--part=main,debug", "--parti=main,debug", f"--use={os.getuid()}", f"--users={os.getuid()}"):
        assert c.run("squeue", "-h", "-o", "%j", option).out == "waiter\n", option
    assert c.run("squeue", "--expl").out
    c.run("scancel", "-n", "waiter")


def test_ours_stand_in_no_list_of_possibilities(c):
    err = c.refused("sbatch", "--o", "--wrap", "true", rc=255)
    assert err.startswith("sbatch: option '--o' is ambiguous; possibilities: ") and "output-summary" not in err, err
