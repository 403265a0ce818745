"""The recorded session 68, replayed: tests/golden/recordings/68*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_recordings_68.py -k NAME"""

import pytest

import plays

@pytest.mark.parametrize("path", plays.recordings("68*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
