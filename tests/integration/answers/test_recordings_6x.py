"""Recorded sessions 60 to 69 but 64 and 68 of several users, replayed: tests/golden/recordings/6*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_6x.py -k NAME"""

import pytest

import plays


# A row of the page of a job's life that stands in a recording:
# 63: life-5.3
# 69: db-5.15

@pytest.mark.parametrize("path", plays.recordings("6[!48]*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
