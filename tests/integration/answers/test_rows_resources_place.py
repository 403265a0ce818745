"""What the incumbent was seen to do, row by row: tests/golden/behaviours/resources-and-placement/place*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_rows_resources_place.py -k ID"""

import pytest

import plays


@pytest.mark.parametrize("play, entries", plays.rows("resources-and-placement", "place*"))
def test_row(play, entries):
    plays.check_row(play, entries)


def teardown_module():
    plays.STAGES.close()
