"""What a command printed did not fit on the disk: it says so, and its exit code is no success."""

import subprocess

import pytest

from conftest import program

CLUSTER = {"nodes": 1}
FULL = "error: the output is not complete: No space left on device\n"
COMMANDS = ["sacct", "sacctmgr show cluster", "scontrol show config", "scontrol ping", "scontrol show hostnames n[1-3]", "sdiag", "sinfo",
            "sinfo --json", "sprio", "squeue", "squeue --json", "sreport cluster utilization", "sshare", "sbatch --wrap true", "sbatch --version",
            "srun --help", "salloc --usage", "scancel --help", "sattach --help", "sbcast --version", "sstat --helpformat", "strigger --help",
            "swait --help", "scrontab --help", "sh5util --help", "sacct -B -j {job}", "penstock --help", "penstock --version"]


def into(c, path, line):
    """The command's exit code and what it said, with its standard output there."""
    job = c.work / "job"
    if not job.exists():
        job.write_text(str(c.sbatch("-H", wrap="true")))
    argv = line.format(job=job.read_text()).split()
    with open(path, "w") as out:
        done = subprocess.run([program(argv[0]), *argv[1:]], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                              env=c.env, cwd=c.work, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("line", COMMANDS)
def test_full_disk(c, line):
    name = line.split()[0]
    whole = into(c, "/dev/null", line)
    assert whole[0] == 0, whole
    assert into(c, "/dev/full", line) == (1, whole[1] + f"{name}: {FULL}")


def test_another_failure_keeps_its_code(c):
    assert into(c, "/dev/full", "sbatch --no-such-option") == into(c, "/dev/null", "sbatch --no-such-option")


def test_a_reader_that_stops(c):
    """Nobody is told of a reader who has seen enough."""
    script = f"trap '' PIPE; {program('scontrol')} show config | true; echo ${{PIPESTATUS[0]}}"
    read = subprocess.run(["bash", "-c", script], env=c.env, cwd=c.work, capture_output=True, text=True, timeout=60)
    assert read.stdout in ("0\n", "1\n") and "not complete" not in read.stderr, read
