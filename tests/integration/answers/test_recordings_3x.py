"""Recorded sessions 29 (--json, --yaml), 30 (REST) and 31 (metrics): tests/golden/recordings/29*.txt, 3*.txt."""

import pytest

import plays


@pytest.mark.parametrize("path", [*plays.recordings("29*"), *plays.recordings("3*")])
def test_recording(path):
    plays.check_recording(path)


def teardown_module():
    plays.STAGES.close()
