"""sbatch --get-user-env: what the login shell of the user exports on the node, below what was submitted."""

import os
import pwd
import subprocess

SHELL = pwd.getpwuid(os.getuid()).pw_shell
HOME = pwd.getpwuid(os.getuid()).pw_dir


def login(variable):
    """What a login shell has, started with nothing."""
    done = subprocess.run(["-" + os.path.basename(SHELL), "-c", f"printenv {variable}"], executable=SHELL, cwd=HOME,
                          capture_output=True, text=True, check=True,
                          env={"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    return done.stdout.strip()


def test_without_a_submitted_environment(cluster):
    job = cluster.sbatch("--export=NONE", wrap='echo "$PATH|$HOME|$A|$SHLVL"', env={"A": "1"})
    cluster.wait_end(job)
    path, home, a, _ = cluster.out(job).strip().split("|")
    assert (path, home, a) == (login("PATH"), HOME, "")


def test_what_was_submitted_wins(cluster):
    job = cluster.sbatch("--get-user-env", wrap='echo "$PATH|$A|$LOGNAME|$SLURM_JOB_ID"',
                         env={"A": "1", "PATH": "/submitted:/usr/bin:/bin:" + os.environ["PATH"]})
    cluster.wait_end(job)
    path, a, name, number = cluster.out(job).strip().split("|")
    assert path.startswith("/submitted:") and (a, number) == ("1", str(job)) and name


def test_signal_of_reservations_is_refused(cluster):
    done = cluster.run("sbatch", "--signal=R:USR1@60", "--wrap", "true", check=False)
    assert done.returncode != 0 and "Preemption is required but is disabled on this system" in done.stderr
    assert cluster.run("squeue", "-h").stdout == ""
