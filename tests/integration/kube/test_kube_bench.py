"""bench/kube.py ends with a sentence when it cannot measure, and does not wait for what never comes."""

import subprocess
import sys

import pytest
from conftest import ROOT


def run(*argv):
    return subprocess.run([sys.executable, ROOT / "bench/kube.py", *map(str, argv)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def dead(tmp_path):
    """A build whose operator ends at once."""
    program = tmp_path / "src/kube/penstock-operator"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho it cannot live here >&2\nexit 3\n")
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("argv, text", [(["real"], "real is no build folder, and neither of bridge and operator"),
                                        (["operator", "many"], "many is no number")])
def test_words_that_are_none(dead, argv, text):
    done = run(*([dead] if argv[0] != "real" else []), *argv)
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr


def test_what_cannot_be_measured(dead):
    done = run(dead, "real")
    assert done.returncode == 2 and "tests/kube/run" in done.stderr


def test_a_program_that_ends(dead):
    """Told at once; before, it was waited for a quarter of an hour."""
    done = run(dead, "operator", 2)
    assert done.returncode == 1 and "has ended with 3" in done.stderr and "it cannot live here" in done.stderr
