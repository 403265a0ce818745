"""What the incumbent was seen to do, row by row: tests/golden/behaviours/looking-and-steering/*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_rows_looking_and_steering.py -k ID"""

import pytest

import plays


@pytest.mark.parametrize("play, entries", plays.rows("looking-and-steering"))
def test_row(play, entries):
    plays.check_row(play, entries)


def teardown_module():
    plays.STAGES.close()
