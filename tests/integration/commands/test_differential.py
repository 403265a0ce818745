"""Play the script of tests/differential on us and compare with what Debian's Slurm answered when it
was last asked.  Every difference has its reason in differences.toml."""

import os
import subprocess

from conftest import ROOT, SLOW

RUN = ROOT / "tests" / "differential" / "run"
LIMIT_S = 400 * SLOW


def test_answers_equal_the_recording():
    build = os.environ.get("PENSTOCK_BUILD", "build")
    done = subprocess.run([RUN, "--only-ours", "--build", os.path.abspath(build)], capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
