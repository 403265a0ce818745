"""What tasks inherit and what others can see: descriptors, variables, limits, groups, secrets."""
import os
import re
import resource
import stat
import subprocess
from pathlib import Path

import pytest

from conftest import SLOW, wait_until
from test_extern import CONTAIN

LIST = "ls -l /proc/self/fd | sed -n 's/.* \\([0-9]*\\) -> \\(.*\\)/\\1 \\2/p'"
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def extra(text):
    """Descriptors other than the standard ones and the folder that ls itself has open."""
    lines = [line.split(": ")[-1].split(" ", 1) for line in text.splitlines()]
    assert {"0", "1", "2"} <= {line[0] for line in lines}, text
    return [line for line in lines if int(line[0]) > 2 and not re.fullmatch(r"/proc/\d+/fd", line[1])]


@pytest.fixture
def c(make_cluster, folder):
    folder.chmod(0o755)
    prolog = folder / "prolog"
    prolog.write_text(f"#!/bin/bash\n({LIST}) > {folder}/prolog.fds\nenv > {folder}/prolog.env\n")
    prolog.chmod(0o755)
    (folder / "taskprolog").write_text("#!/bin/bash\nls -l /proc/self/fd | sed 's/^/print /'\n")
    (folder / "taskprolog").chmod(0o755)
    c = make_cluster(start=False, nodes=1, conf=f"{CONTAIN}\nProlog={prolog}")
    c.daemon_env_change = {**c.daemon_env_change, "SLURMD_SECRET": "of-the-daemon", "LD_LIBRARY_PATH": "/of-the-daemon"}
    return c.start()


def test_descriptors(c, folder):
    """Nobody inherits what the daemons, or the one who submitted, have open."""
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    for fd in kept:
        os.set_inheritable(fd, True)

    def run(*argv):
        done = subprocess.run(list(argv), env=c.env, cwd=c.work, text=True, capture_output=True, pass_fds=kept,
                              timeout=60 * SLOW)
        assert done.returncode == 0, done.stderr
        return done.stdout
    job = run("sbatch", "--parsable", "-n2", "--wrap", f"{LIST}; srun -n2 -l sh -c \"{LIST}\"").strip()
    c.wait_end(job)
    lines = c.out(job).splitlines()
    for rank in ("", "0: ", "1: "):
        part = [line for line in lines if line.startswith(rank) and (rank or line[1:2] != ":" or not line[0].isdigit())]
        assert extra("\n".join(part)) == [], lines
    assert extra(run("srun", "sh", "-c", LIST)) == []
    assert extra((folder / "prolog.fds").read_text()) == []
    printed = run("srun", "--task-prolog", str(folder / "taskprolog"), "true")
    numbers = [int(m) for m in re.findall(r" (\d+) -> (?!/proc/)", printed)]
    assert numbers and max(numbers) <= 2, printed
    for fd in kept:
        os.close(fd)


def test_variables_of_the_daemons(c, folder):
    job = c.sbatch(wrap="env; srun env")
    c.wait_end(job)
    for text in (c.out(job), c.run("srun", "env").out, (folder / "prolog.env").read_text()):
        assert "of-the-daemon" not in text and "SLURM_" in text
    assert "ASAN_OPTIONS" not in (folder / "prolog.env").read_text()


def as_seen(c, tool, before, *options, env=None):
    """The limits that a task has when its submitter had those of `before`."""
    limits = "ulimit -Sn; ulimit -Hn; ulimit -Sc"
    argv = ["srun", *options, "bash", "-c", limits] if tool == "srun" else \
        ["sbatch", "-W", "-o", "limits.out", *options, "--wrap", f"bash -c '{limits}'"]
    done = subprocess.run(["bash", "-c", before + '; exec "$@"', "bash", *argv], env={**c.env, **(env or {})}, cwd=c.work,
                          text=True, capture_output=True, timeout=60 * SLOW)
    assert done.returncode == 0, done.stderr
    return (done.stdout if tool == "srun" else (c.work / "limits.out").read_text()).split()


@pytest.mark.parametrize("tool", ["srun", "sbatch"])
def test_limits_travel(make_cluster, tool):
    """All of them, those that are named, those that are not, or none; an option beats the configuration."""
    hard = str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    before = "ulimit -Sn 321 -Sc 17"
    c = make_cluster(nodes=1)
    seen = as_seen(c, tool, before)
    assert seen[0] == "321" and seen[1] == hard and seen[2] == "17"
    assert as_seen(c, tool, before, "--propagate=CORE")[0] != "321"
    assert as_seen(c, tool, before, "--propagate=CORE")[2] == "17"
    assert as_seen(c, tool, before, "--propagate=NONE")[2] != "17"


@pytest.mark.parametrize("conf,nofile,core", [
    ("PropagateResourceLimits=NONE", False, False), ("PropagateResourceLimits=NOFILE", True, False),
    ("PropagateResourceLimitsExcept=NOFILE", False, True), ("PropagateResourceLimitsExcept=NOFILE,CORE", False, False)])
def test_limits_by_configuration(make_cluster, conf, nofile, core):
    c = make_cluster(nodes=1, conf=conf)
    for tool in ("srun", "sbatch"):
        seen = as_seen(c, tool, "ulimit -Sn 321 -Sc 17")
        assert (seen[0] == "321", seen[2] == "17") == (nofile, core), (tool, seen)
    if not nofile:
        seen = as_seen(c, "srun", "ulimit -Sn 321 -Sc 17", "--propagate=ALL")
        assert (seen[0], seen[2]) == ("321", "17")


def test_groups(make_cluster, folder):
    """The user's supplementary groups, and none of root's."""
    if os.geteuid() != 0 or subprocess.run(["id", "postgres"], capture_output=True).returncode != 0:
        pytest.skip("root starts jobs of others, and the user postgres, who is in two groups, has to be there")
    folder.chmod(0o755)
    c = make_cluster(nodes=1)
    c.work.chmod(0o777)
    want = subprocess.run([*AS_POSTGRES, "id"], capture_output=True, text=True, check=True).stdout
    env = c.env | {"USER": "postgres"}
    done = subprocess.run([*AS_POSTGRES, "srun", "id"], env=env, cwd=c.work, text=True, capture_output=True,
                          timeout=60 * SLOW)
    assert done.stdout == want, done.stderr
    done = subprocess.run([*AS_POSTGRES, "sbatch", "-W", "-o", "id.out", "--wrap", "id; grep -E '^Cap(Inh|Prm|Eff)' "
                           "/proc/self/status"], env=env, cwd=c.work, text=True, capture_output=True, timeout=60 * SLOW)
    lines = (c.work / "id.out").read_text().splitlines()
    assert lines[0] + "\n" == want and all(line.endswith("\t0000000000000000") for line in lines[1:]) and len(lines) == 4


def readable_by_all(folder):
    """Files that anybody can read, given the rights of the folders on the way."""
    for path, names, files in os.walk(folder):
        names[:] = [n for n in names if os.lstat(os.path.join(path, n)).st_mode & stat.S_IXOTH]
        for name in files:
            file = Path(path) / name
            try:
                if stat.S_ISREG(file.lstat().st_mode) and file.lstat().st_mode & stat.S_IROTH:
                    yield file
            except OSError:
                pass  # it has gone


def test_secrets_stay(make_cluster, folder):
    """What a user has in his environment, script and arguments is on no command line and in no file that others read."""
    folder.chmod(0o755)
    c = make_cluster(nodes=1, conf=CONTAIN)
    secret = "s3cret-of-mine"
    job = c.sbatch("--output=/dev/null", wrap=f"# {secret}\nsrun sleep 1000", env={"MY_SECRET": secret})
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-s", "-h", "-o", "%i").out, "the step runs")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        assert secret.encode() not in line, line
    seen = list(readable_by_all(c.dir))
    assert [f for f in seen if secret.encode() in f.read_bytes()] == []
    # The cluster's key is root's alone.
    keys = [f for f in c.dir.rglob("slurm.key")]
    assert keys and all(stat.S_IMODE(f.stat().st_mode) & 0o077 == 0 for f in keys)
    c.run("scancel", job)
    c.wait_end(job)
