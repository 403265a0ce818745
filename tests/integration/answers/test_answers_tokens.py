"""scontrol token under AuthAltParameters: who gets one, and for how long.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/answers/test_answers_tokens.py"""

import base64
import json
import shutil
import tempfile
from pathlib import Path

import pytest

import people
import plays


def life_of(said):
    """Seconds that the printed token is good for."""
    claims = said.stdout.removeprefix("SLURM_JWT=").split(".")[1]
    read = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return read["exp"] - read["iat"]


@pytest.fixture
def stage(request):
    if not people.HAVE_PEOPLE:
        pytest.skip("only root can be several users")
    plays.STAGES.close()
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    key = folder / "portal.key"
    key.write_bytes(bytes(range(40)))
    key.chmod(0o640)
    c = plays.Stage(folder, "demo", ["AuthAltTypes=auth/jwt", f"AuthAltParameters={request.param}".replace("KEY", str(key))])
    c.start()
    yield c
    problems = c.stop()
    shutil.rmtree(folder, ignore_errors=True)
    assert not problems


@pytest.mark.parametrize("stage", ["disable_token_creation", "jwt_key=KEY,disable_token_creation"], indirect=True)
def test_no_tokens(stage):
    for words in ("", "lifespan=infinite", "lifespan=1", "username=alice"):
        done = stage.bash(f"scontrol token {words}", "alice")
        assert done.returncode == 1 and not done.stdout and "disable_token_creation" in done.stderr, words
    assert life_of(stage.bash("scontrol token username=alice lifespan=90", "root")) == 90


@pytest.mark.parametrize("stage", ["max_token_lifespan=60"], indirect=True)
def test_no_long_tokens(stage):
    for words in ("", "lifespan=infinite", "lifespan=4294967295"):
        assert life_of(stage.bash(f"scontrol token {words}", "alice")) == 60, words
    assert life_of(stage.bash("scontrol token lifespan=5", "alice")) == 5
    assert stage.bash("scontrol token username=bob", "alice").returncode == 1
