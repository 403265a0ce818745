"""auth/munge with a munged of the test's own; skipped, with the reason, where none can run."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import wait_until

MUNGED = shutil.which("munged", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@pytest.fixture(scope="module")
def munged():
    """The socket of a private munged with a key of its own."""
    if not MUNGED:
        pytest.skip("munged is not installed")
    folder = Path(tempfile.mkdtemp(prefix="penstock-munge-"))
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    process = subprocess.Popen([MUNGED, "--foreground", "--force", "--num-threads=2", f"--socket={folder}/socket",
                                f"--key-file={key}", f"--log-file={folder}/log", f"--pid-file={folder}/pid",
                                f"--seed-file={folder}/seed"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: process.poll() is not None or (folder / "socket").exists(), "munged listens")
        if process.poll() is not None:
            pytest.skip(f"munged does not run here: {process.stderr.read().decode(errors='replace').strip()[-200:]}")
        yield f"{folder}/socket"
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        process.stderr.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def c(make_cluster, munged):
    return make_cluster(nodes=2, conf=f"AuthType=auth/munge\nAuthInfo=socket={munged}")


def test_jobs_and_steps(c):
    assert "AuthType                = auth/munge" in c.run("scontrol", "show", "config").out
    job = c.sbatch("-N2", script="srun -l hostname | wc -l; exit 3")
    assert c.wait_end(job)["ExitCode"] == "3:0"
    assert c.out(job) == "2\n"
    assert c.run("srun", "-N2", "-l", "true").rc == 0
    assert c.run("salloc", "srun", "true").rc == 0


def test_restart(c):
    job = c.sbatch(wrap="while [ ! -e go ]; do sleep 0.05; done")
    c.wait_state(job, "RUNNING")
    c.kill_ctld()
    c.start_ctld()
    (c.work / "go").touch()
    assert c.wait_end(job)["JobState"] == "COMPLETED"
