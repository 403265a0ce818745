"""Recorded sessions 50 to 59 of several users, replayed: tests/golden/recordings/5*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_5x.py -k NAME"""

import pytest

import plays


@pytest.mark.parametrize("path", plays.recordings("5*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
