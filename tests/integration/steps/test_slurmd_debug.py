"""srun --slurmd-debug: what the step daemon tells, how much of it, and who may ask."""
import os
import re

import pytest

CLUSTER = {"nodes": 1}

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the option is root's alone")

STAMP = r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\] "


def lines(c, *options, env=None):
    done = c.run("srun", "-n1", *options, "bash", "-c", "echo $SLURMD_DEBUG", env=env)
    return done.out.strip(), [re.sub(f"^{STAMP}", "", line) for line in done.err.splitlines()]


def test_levels(c):
    assert lines(c) == ("2", [])
    assert lines(c, "--slurmd-debug=error") == ("2", [])
    level, told = lines(c, "--slurmd-debug=info")
    assert level == "3" and len(told) == 1 and re.fullmatch(r"StepId=\d+\.0: 1 tasks on node node1", told[0])
    level, told = lines(c, "--slurmd-debug=verbose")
    assert level == "4" and len(told) == 3
    assert re.fullmatch(r"verbose: task 0 \(\d+\) started", told[0])
    assert re.fullmatch(r"verbose: task 0 \(\d+\) ended with status 0x0000", told[2])
    assert any(line.startswith("debug: control group ") for line in lines(c, env={"SLURM_SLURMD_DEBUG": "9"})[1])


def test_refusals(c):
    assert "--slurmd-debug takes quiet, fatal, error, info, verbose, debug to debug5, or 0 to 9, not loud" in \
        c.refused("srun", "--slurmd-debug=loud", "true", rc=255)
