"""What the step daemon itself writes into a user's file it writes as the user.

The kernel takes the set-user-ID bit from a file that a user writes, and leaves it when root does."""

import os
import stat
import subprocess

import pytest

from conftest import SLOW, wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the step daemon runs as root, its steps as another user")
CLUSTER = {"nodes": 1}
USER = "games"


@pytest.fixture
def file(c):
    """A file with the bit, of the user whose job appends to it."""
    for path in (c.dir, c.work):
        path.chmod(0o755)
    path = c.work / "appended"
    path.touch()
    subprocess.run(["chown", USER, path], check=True)
    path.chmod(0o4777)
    return path


def as_user(c, *words):
    done = subprocess.run(["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", *map(str, words)], cwd=c.work,
                          env=c.env | {"USER": USER, "HOME": "/"}, text=True, capture_output=True, timeout=40 * SLOW)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_bit(path):
    return bool(path.stat().st_mode & stat.S_ISUID)


def test_the_rest_of_a_labelled_line(c, file):
    """A line that has no end is written when the task has ended."""
    as_user(c, "srun", "-n1", "-l", "-o", file, "--open-mode=append", "printf", "half")
    assert file.read_text() == "0: half\n"
    assert not has_bit(file)


def test_notices(c, file):
    job = int(as_user(c, "sbatch", "--parsable", "-o/dev/null", "-e", file, "--open-mode=append", "--wrap", "exec sleep 300"))
    c.wait_state(job, "RUNNING")
    as_user(c, "scancel", job)
    c.wait_end(job)
    wait_until(lambda: "CANCELLED" in file.read_text(), "the notice is there")
    assert not has_bit(file)
