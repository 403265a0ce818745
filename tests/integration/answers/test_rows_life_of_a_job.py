"""What the incumbent was seen to do, row by row: tests/golden/behaviours/life-of-a-job/*.txt.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_rows_life_of_a_job.py -k ID"""

import pytest

import plays


@pytest.mark.parametrize("play, entries", plays.rows("life-of-a-job"))
def test_row(play, entries):
    plays.check_row(play, entries)


def teardown_module():
    plays.STAGES.close()
