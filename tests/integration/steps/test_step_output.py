"""A great deal of output of tasks through srun: nothing lost, nothing reordered within a task, bounded memory.

In `make test` it is PENSTOCK_OUTPUT_MIB=64; `make test-output` takes 8 GiB."""

import os
import re
import subprocess

import pytest

from conftest import SANITIZED, program

CLUSTER = {"nodes": 2, "conf": "KillWait=2"}
MIB = int(os.environ.get("PENSTOCK_OUTPUT_MIB", "64"))
TASKS = 4
MEMORY_KIB = (1024 if SANITIZED else 64) << 10

# Each task writes numbered lines of 1 KiB; awk is quick enough not to be what is measured.
WRITER = r"""exec awk -v id=$SLURM_PROCID -v n=%d 'BEGIN { pad = sprintf("%%1009s", ""); gsub(" ", "x", pad);
for (i = 0; i < n; i++) printf "%%02d %%09d %%s\n", id, i, pad }'"""
LINE = 1024 - 1  # without the newline


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        shown = re.search(r"VmHWM:\s+(\d+)", f.read())
    return int(shown.group(1)) if shown else 0  # it has ended, and what it wrote is in the pipe


def lines_of(p, labelled):
    """({task: lines}, srun's peak of memory) after a check of each line: its task's next, whole."""
    seen, peak = {}, 0
    for raw in p.stdout:
        if labelled:
            label, _, raw = raw.partition(b": ")
        task, number = int(raw[:2]), int(raw[3:12])
        assert len(raw) == LINE, raw[:40]
        assert not labelled or int(label) == task
        assert seen.get(task, 0) == number, f"task {task}: line {number} after {seen.get(task, 0) - 1}"
        seen[task] = number + 1
        if number % 1000 == 999:
            peak = max(peak, peak_kib(p.pid))
    return seen, peak


@pytest.mark.parametrize("labelled", [False, True], ids=["plain", "labels"])
def test_great_output(c, labelled):
    n = (MIB << 10) // TASKS // (8 if labelled else 1)
    p = subprocess.Popen([program("srun"), f"-n{TASKS}", "-N2", *(["-l"] if labelled else []), "bash", "-c", WRITER % n],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=c.env, cwd=c.work)
    try:
        seen, peak = lines_of(p, labelled)
        assert (p.wait(timeout=60), p.stderr.read()) == (0, b"")
        assert seen == {task: n for task in range(TASKS)}
        assert 0 < peak < MEMORY_KIB
    finally:
        p.kill()
        p.communicate()
