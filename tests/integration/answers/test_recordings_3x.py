"""Recorded session 30 (REST), asked at the controller's own port: tests/golden/recordings/30-rest.txt."""

import pytest

import plays


@pytest.mark.parametrize("path", plays.recordings("3*"))
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
