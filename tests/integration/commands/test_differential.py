"""Play the script of tests/differential on us and compare with what Debian's Slurm answered when it
was last asked.  Every difference has its reason in differences.toml."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, SLOW

RANDOM = ROOT / "tests" / "differential" / "random"
RUN = ROOT / "tests" / "differential" / "run"
LIMIT_S = 400 * SLOW
MADE = Path("/nosuchdir")  # by a job of root, as the folder of its output


@pytest.fixture(autouse=True)
def no_folder_made():
    shutil.rmtree(MADE, ignore_errors=True)
    yield
    shutil.rmtree(MADE, ignore_errors=True)


def test_answers_equal_the_recording():
    build = os.environ.get("PENSTOCK_BUILD", "build")
    done = subprocess.run([RUN, "--only-ours", "--build", os.path.abspath(build)], capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be several users")
@pytest.mark.parametrize("kept", ("kept.txt", "steered.txt"))
def test_what_random_play_found_stays_repaired(kept):
    build = os.environ.get("PENSTOCK_BUILD", "build")
    done = subprocess.run([RANDOM / "play", "--build", os.path.abspath(build), "--only-ours", "--replay", RANDOM / kept],
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
