"""Recorded sessions 70 to 79 of several users, replayed: tests/golden/recordings/7*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_7x.py -k NAME"""

import pytest

import plays


# A row of the page of the accounting database that stands in a recording:
# 71: db-4.17

@pytest.mark.parametrize("path", plays.recordings("7*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
