"""Recorded sessions 60 to 69 of several users, replayed: tests/golden/recordings/6*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_6x.py -k NAME"""

import pytest

import plays

# Rows of the page of a job's life that stand in a recording as a whole:
# 64a: life-4.2


@pytest.mark.parametrize("path", plays.recordings("6*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
