"""Recorded sessions 04 (refusals of sbatch), 14 (formats of squeue), 29 (--json, --yaml), 30 (REST) and 31 (metrics):
tests/golden/recordings/[0123]*.txt."""

import pytest

import plays


@pytest.mark.parametrize("path", plays.recordings("[0123]*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
