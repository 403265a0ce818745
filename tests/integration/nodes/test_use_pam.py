"""UsePAM: a session of PAM's service slurm is open around the tasks of each step."""

import os
import shutil
from pathlib import Path

import pytest

from conftest import Daemon, program, wait_until

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="sessions are opened by root"),
              pytest.mark.skipif(not list(Path("/usr/lib").glob("*/security/pam_limits.so")), reason="no modules of PAM here"),
              pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare(1) here")]


@pytest.fixture
def pam(make_cluster, folder):
    """A cluster whose slurmd sees another /etc/pam.d; call it with the lines of the service."""
    place = folder / "pam"

    def make(*lines, conf=""):
        (place / "pam.d").mkdir(parents=True)
        told = place / "told"
        hook = place / "hook"
        hook.write_text(f"#!/bin/sh\necho $PAM_TYPE $PAM_SERVICE $PAM_USER $PAM_RHOST $(id -u) >> {told}\n")
        hook.chmod(0o755)
        (place / "limits.conf").write_text("* soft nofile 111\n* hard nofile 222\nroot soft nofile 111\nroot hard nofile 222\n")
        (place / "pam.d" / "slurm").write_text("".join(line.format(place=place) + "\n" for line in lines))
        for path in (folder, place, place / "pam.d"):
            path.chmod(0o755)
        c = make_cluster(start=False, nodes=1, conf=f"UsePAM=yes\nPropagateResourceLimits=NONE\n{conf}")
        c.start_ctld()
        c.slurmds["node1"] = Daemon("slurmd-node1",
                                    ["unshare", "-m", "sh", "-c", f"mount --bind {place}/pam.d /etc/pam.d && exec \"$@\"", "sh",
                                     program("slurmd"), "-D", "-N", "node1", "-f", str(c.conf)],
                                    c.dir / "log" / "slurmd-node1", c.daemon_env("slurmd-node1"))
        c.wait_nodes()
        return c, told
    return make


SESSION = ("auth required pam_permit.so", "session required pam_limits.so conf={place}/limits.conf", "session required pam_exec.so {place}/hook")


def test_session_and_limits(pam):
    c, told = pam(*SESSION)
    job = c.sbatch(wrap="ulimit -Sn; ulimit -Hn; srun sh -c 'ulimit -Sn; ulimit -Hn'")
    c.wait_end(job)
    assert c.out(job).split() == ["111", "222"] * 2
    # the batch step's session stays open while that of the step within comes and goes
    wait_until(lambda: len(told.read_text().splitlines()) == 4, "sessions are closed")
    assert told.read_text().splitlines() == ["open_session slurm root node1 0", "open_session slurm root node1 0",
                                             "close_session slurm root node1 0", "close_session slurm root node1 0"]


def test_refused(pam):
    c, told = pam("auth required pam_permit.so", "session required pam_deny.so", conf="Prolog=/bin/true")
    done = c.run("srun", "true", check=False)
    assert done.returncode != 0
    assert "UsePAM: the session of root in PAM's service slurm is refused: " in done.stderr
    wait_until(lambda: c.run("sinfo", "-h", "-o", "%T").stdout != "completing\n", "the node is cleaned up")
    assert c.run("sinfo", "-h", "-o", "%T").stdout == "idle\n", "a node is not to blame for who may not use it"
    assert not told.exists()
