"""Recorded sessions 50 to 59 of several users, replayed: tests/golden/recordings/5*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_5x.py -k NAME"""

import pytest

import plays

# Rows of the page of resources that stand in a recording as a whole:
# 56b: res-6.9
# 57b: res-8.10
# 57c: res-9.1 res-9.2 res-9.3 res-9.4 res-9.5 res-9.6 res-9.7 res-1.18
# 50b: db-7.5 pol-C69
# 57d: res-10.9
# 57g: res-16.8 res-16.9
# 57e: res-11.2 res-11.5 res-1.20

@pytest.mark.parametrize("path", plays.recordings("5*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
