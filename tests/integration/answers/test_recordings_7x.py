"""Recorded sessions 70 to 79 of several users, replayed: tests/golden/recordings/7*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_7x.py -k NAME"""

import pytest

import plays


# Rows of the page of the accounting database that stand in a recording:
# 71: db-4.17, db-5.4
# 73c: db-1.18
# 73d: db-8.4

@pytest.mark.parametrize("path", plays.recordings("7*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
