"""Recorded sessions 40 to 49 of several users, but 43 and 44, replayed: tests/golden/recordings/4*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_4x.py -k NAME"""

import pytest

import plays


# Rows of the page of looking and steering that stand in a recording as a whole:
# 45b: look-1.32 look-4.1
# 46b: look-4.2
# 47b: look-6.13
# 48a: look-2.19

@pytest.mark.parametrize("path", plays.recordings("4[!34]*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
