"""Recorded sessions 44 (steps, salloc, heterogeneous jobs, requeue), replayed: tests/golden/recordings/44*.txt.  Apart from the others:
people wait and type in them, and minutes pass."""

import pytest

import plays

# A row of the page of a job's life that stands in a recording:
# 44c: life-8.11

@pytest.mark.parametrize("path", plays.recordings("44*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
