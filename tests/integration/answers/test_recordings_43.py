"""Recorded sessions 43 (interrupts, signals, cancelling), replayed: tests/golden/recordings/43*.txt.  Apart from the others:
people wait and type in them, and minutes pass."""

import pytest

import plays


@pytest.mark.parametrize("path", plays.recordings("43*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
