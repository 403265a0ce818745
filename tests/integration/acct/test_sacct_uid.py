"""sacct --use-local-uid: on a host where a user has another number than where the job ran."""
import os
import subprocess

import pytest

from conftest import program
from people import HAVE_PEOPLE, UIDS

CLUSTER = {"nodes": 1}

pytestmark = pytest.mark.skipif(not HAVE_PEOPLE, reason="only root can have users of the tests' own")

# Another /etc/passwd, for this command alone.
ELSEWHERE = "sed 's/^alice:x:[0-9]*:/alice:x:4321:/' /etc/passwd > \"$0\" && mount --bind \"$0\" /etc/passwd && exec \"$@\""


def test_numbers_of_this_host(c):
    job = c.run("sbatch", "--parsable", "--uid=alice", "-o", "/dev/null", "-D", "/", "--wrap=true").out.strip()
    c.wait_end(job)
    c.wait_sacct(job, "COMPLETED")

    def elsewhere(*options):
        argv = [program("sacct"), "-n", "-P", "-X", "-a", "-j", job, "-o", "user,uid", *options]
        return subprocess.run(["unshare", "-m", "bash", "-c", ELSEWHERE, c.work / "passwd", *argv], env={**os.environ, **c.env}, check=True,
                              capture_output=True, text=True).stdout.strip()
    assert elsewhere() == f"alice|{UIDS['alice']}"
    assert elsewhere("--use-local-uid") == "alice|4321"
    assert c.run("sacct", "-n", "-P", "-X", "-a", "-j", job, "-o", "uid", "--use-local-uid").out.strip() == str(UIDS["alice"])
