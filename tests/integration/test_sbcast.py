"""sbcast: files on every node of a job, refusals, modes and times, failures leave nothing."""

import hashlib
import os

import pytest
from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4}


@pytest.fixture
def job(c):
    """A running job on both nodes."""
    number = c.sbatch("-N2", "-n2", wrap="sleep 60")
    c.wait_state(number, "RUNNING")
    return number


def test_transcript(c):
    (c.work / "f.txt").write_text("data\n")
    script = ("sbcast f.txt {0}/bc.$SLURM_JOB_ID; echo rc=$?; cat {0}/bc.$SLURM_JOB_ID; "
              "sbcast f.txt {0}/bc.$SLURM_JOB_ID; echo rc=$?; sbcast -f f.txt {0}/bc.$SLURM_JOB_ID; echo rc=$?; "
              "sbcast nofile /tmp/x; echo rc=$?").format(c.work)
    done = c.run("salloc", "-N1", "bash", "-c", script)
    node = "node1"
    assert done.out == "rc=0\ndata\nrc=17\nrc=0\nrc=255\n"
    assert f"sbcast: error: REQUEST_FILE_BCAST({node}): File exists\n" in done.err
    assert "sbcast: error: Can't open `nofile`: No such file or directory\n" in done.err


def test_every_node_says_so(c, job):
    """Both nodes of the test share a file system: the second finds the file of the first."""
    (c.work / "f").write_text("x")
    (c.work / "there").write_text("old")
    err = c.refused("sbcast", "-j", job, "f", c.work / "there", rc=17)
    assert sorted(err.splitlines()) == [f"sbcast: error: REQUEST_FILE_BCAST(node{i}): File exists" for i in (1, 2)]
    assert (c.work / "there").read_text() == "old"
    assert c.run("sbcast", "-f", "-j", job, "f", c.work / "there").err == ""
    assert (c.work / "there").read_text() == "x"


def test_large_with_small_blocks(c, job):
    data = os.urandom(20_000_003)
    (c.work / "big").write_bytes(data)
    for size in ("100k", "8m", "1000001"):
        c.run("sbcast", "-f", "-s", size, "-j", f"{job}", "big", "copy")
        assert hashlib.sha256((c.work / "copy").read_bytes()).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("how", [["-C"], ["-Clz4"], ["--compress=none"], []], ids=lambda how: " ".join(how) or "conf")
def test_compressed(c, job, how):
    """Text gets smaller on its way, noise does not; both arrive as they are."""
    data = b"a line of text that is there many times\n" * 300_000 + os.urandom(3_000_000)
    (c.work / "mixed").write_bytes(data)
    env = {}
    if not how:
        conf = c.work / "slurm.conf"
        conf.write_text(c.conf_text() + "BcastParameters=Compression=lz4\n")
        env["SLURM_CONF"] = str(conf)
    done = c.run("sbcast", *how, "-f", "-s", "1m", "-j", job, "mixed", "copy", env=env)
    assert done.err == "" and (c.work / "copy").read_bytes() == data


def test_exact_block_and_empty(c, job):
    for n in (0, 4096, 8192):
        (c.work / "f").write_bytes(b"z" * n)
        c.run("sbcast", "-f", "-s", "4k", "-j", job, "f", "copy")
        assert (c.work / "copy").read_bytes() == b"z" * n


def test_mode_times_and_folder(c, job):
    source = c.work / "prog"
    source.write_text("#!/bin/sh\n")
    source.chmod(0o750)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    (c.work / "dir").mkdir()
    c.run("sbcast", "-fp", "-j", job, "prog", "dir/")
    st = (c.work / "dir" / "prog").stat()
    assert st.st_mode & 0o7777 == 0o750 and (st.st_atime, st.st_mtime) == (1_000_000_000, 1_100_000_000)


def test_failure_leaves_nothing(c, job):
    (c.work / "f").write_text("x")
    err = c.refused("sbcast", "-j", job, "f", c.work / "missing" / "f", rc=2)
    assert "REQUEST_FILE_BCAST(node1): No such file or directory" in err
    (c.work / "d").mkdir()
    assert "Is a directory" in c.refused("sbcast", "-f", "-j", job, "f", c.work / "d", rc=21)
    assert sorted(p.name for p in c.work.iterdir() if p.name.startswith(".sbcast")) == []


def test_killed_sender_leaves_nothing(c, job):
    with open(c.work / "big", "wb") as f:
        f.truncate(3 << 30)
    who = c.popen("sbcast", "-s", "64k", "-j", job, "big", c.work / "copy")
    wait_until(lambda: list(c.work.glob(".sbcast-*")), "the transfer runs")
    who.kill()
    who.wait()
    wait_until(lambda: not list(c.work.glob(".sbcast-*")), "what was written is removed")
    assert not (c.work / "copy").exists()


def test_refusals(c, job):
    (c.work / "f").write_text("x")
    assert c.refused("sbcast", "f", "/tmp/x") == (
        "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.\n")
    assert c.refused("sbcast") == "Need two file names, have 0 names\nTry \"sbcast --help\" for more information\n"
    assert "Invalid job id specified" in c.refused("sbcast", "-j", "99999", "f", "g")
    assert "--compress takes lz4 or none, not zlib" in c.refused("sbcast", "-Czlib", "-j", job, "f", "g")
    assert "--compress takes lz4 or none, not zlib" in c.refused("srun", "-n1", "--bcast", "--compress=zlib", "true")
    assert "--size" in c.refused("sbcast", "-s", "9m", "-j", job, "f", "g")
    c.run("scancel", job)
    c.wait_end(job)
    assert "Job/step already completing or completed" in c.refused("sbcast", "-j", job, "f", "g")


def test_srun_bcast(c):
    """Each node runs a copy of its own, which stays; a path is taken as it is."""
    program = c.work / "prog"
    program.write_text("#!/bin/sh\necho $0 $1 on $SLURMD_NODENAME\n")
    program.chmod(0o755)
    out = c.run("srun", "-N2", "-n2", "--ntasks-per-node=1", "--bcast", "./prog", "x").out.splitlines()
    number = c.sacct("-X", "-o", "JobID")
    paths = sorted(c.work.glob("slurm_bcast_*"))
    assert [p.name.rsplit("_", 1)[1] for p in paths] == ["node1", "node2"], number
    assert sorted(out) == [f"{p} x on {p.name.rsplit('_', 1)[1]}" for p in paths]
    assert c.run("srun", "-n1", f"--bcast={c.work}/copy", "./prog", "y").out.startswith(f"{c.work}/copy y on ")
    assert c.run("srun", "-n1", "--compress", f"--bcast={c.work}/copy2", "./prog", "z").out.startswith(f"{c.work}/copy2 z on ")
    assert "Can't open `nosuch`" in c.refused("srun", "-n1", "--bcast", "nosuch")


def test_nodes_without_a_job_are_refused(c):
    for ask, says in ((("-w", "node1"), "--nodelist is not supported: it belongs to --no-allocation"), (("-Z",), "--no-allocation is not supported")):
        assert says in c.refused("sbcast", *ask, "/etc/hostname", "/tmp/x")
