"""The recorded session 64, of programs of the site, replayed: tests/golden/recordings/64*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_64.py -k NAME"""

import pytest

import plays

# Rows of the page of a job's life that stand in a recording as a whole:
# 64a: life-4.2

@pytest.mark.parametrize("path", plays.recordings("64*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
