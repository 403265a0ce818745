"""LaunchParameters=slurmstepd_memlock: step daemons stay in memory."""

import re
from pathlib import Path

import pytest

from conftest import BUILD, wait_until


def locked_kib(daemon):
    """What the step daemons of a slurmd have locked."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue  # it has ended
        if text.startswith("Name:\tslurmstepd") and f"\nPPid:\t{daemon.pid}\n" in text:
            found.append(int(re.search(r"^VmLck:\s+(\d+)", text, re.M)[1]))
    return found


@pytest.mark.parametrize("word", ["", "slurmstepd_memlock", "slurmstepd_memlock_all"])
@pytest.mark.skipif("-address" in BUILD.name, reason="mlockall of the address sanitizer's runtime locks nothing")
def test_locked(make_cluster, word):
    c = make_cluster(nodes=1, conf=f"LaunchParameters={word}" if word else "")
    job = c.sbatch("-n1", wrap="echo on; sleep 60")
    wait_until(lambda: (c.work / f"slurm-{job}.out").exists() and c.out(job) == "on\n", "the script runs")
    locked, = locked_kib(c.slurmds["node1"])
    assert (locked > 0) == bool(word), locked
    c.run("scancel", job)
    c.wait_end(job)
