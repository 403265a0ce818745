"""sbcast: files on every node of a job, refusals, modes and times, failures leave nothing."""

import hashlib
import os
import re
import shutil
import subprocess

import pytest
from conftest import program, wait_until

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
    for command in (["sbcast", "-f", "-Czlib", "-j", job, "f", "g"], ["srun", "-n1", "--bcast", "--compress=zlib", "true"]):
        assert "Compression type 'zlib' unknown, disabling compression support." in c.run(*command).err
    assert c.run("sbcast", "-f", "-s", "9m", "-j", job, "f", "g").err == "size specification is invalid, ignored\n"
    c.run("scancel", job)
    c.wait_end(job)
    assert "Job/step already completing or completed" in c.refused("sbcast", "-j", job, "f", "g")


def test_srun_bcast(c):
    """Each node runs a copy of its own, which stays; a path is taken as it is."""
    prog = c.work / "prog"
    prog.write_text("#!/bin/sh\necho $0 $1 on $SLURMD_NODENAME\n")
    prog.chmod(0o755)
    out = c.run("srun", "-N2", "-n2", "--ntasks-per-node=1", "--bcast", "./prog", "x").out.splitlines()
    number = c.sacct("-X", "-o", "JobID")
    paths = sorted(c.work.glob("slurm_bcast_*"))
    assert [p.name.rsplit("_", 1)[1] for p in paths] == ["node1", "node2"], number
    assert sorted(out) == [f"{p} x on {p.name.rsplit('_', 1)[1]}" for p in paths]
    assert c.run("srun", "-n1", f"--bcast={c.work}/copy", "./prog", "y").out.startswith(f"{c.work}/copy y on ")
    assert c.run("srun", "-n1", "--compress", f"--bcast={c.work}/copy2", "./prog", "z").out.startswith(f"{c.work}/copy2 z on ")


def test_srun_bcast_needs_a_program(c):
    """What cannot be executed here is refused before there is a job."""
    (c.work / "text").write_text("no program")
    for name in ("nosuch", "./nosuch", str(c.work / "nosuch"), "./text"):
        assert c.refused("srun", "-n1", "--bcast", name) == f"srun: fatal: Can not execute {name}\n"
    assert c.run("squeue", "-h", "-t", "all", "-n", "nosuch,text").out == ""


def test_some_nodes_of_a_job(c, job):
    (c.work / "f").write_text("x")
    c.run("sbcast", "-w", "node2", "-j", job, "f", c.work / "copy")
    assert c.refused("sbcast", "-w", "node2", "-j", job, "f", c.work / "copy", rc=17) == (
        "sbcast: error: REQUEST_FILE_BCAST(node2): File exists\n")
    assert "the job has only 1 of the nodes node[2-3]" in c.refused("sbcast", "-w", "node[2-3]", "-j", job, "f", "g")


def test_nodes_without_a_job(c):
    """root and SlurmUser, who run the tests, may."""
    (c.work / "f").write_text("x")
    c.run("sbcast", "-Z", "-w", "node1", "f", c.work / "copy")
    assert (c.work / "copy").read_text() == "x"
    err = c.refused("sbcast", "-Z", "-w", "node[1-2]", "f", c.work / "copy", rc=17)
    assert len(err.splitlines()) == 2
    assert "--no-allocation needs --nodelist" in c.refused("sbcast", "-Z", "f", "/tmp/x")
    assert "Invalid node name specified" in c.refused("sbcast", "-Z", "-w", "nosuch", "f", "/tmp/x")
    if os.geteuid() == 0:
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env", f"SLURM_CONF={c.conf}"]
        done = subprocess.run([*other, program("sbcast"), "-Z", "-w", "node1", "/etc/hostname", "/tmp/x"], env=c.env,
                              capture_output=True, text=True)
        assert done.returncode == 1 and "sbcast: error: node1: " in done.stderr, done.stderr


def test_dest_dir(c, job):
    (c.work / "f").write_text("x")
    (c.work / "below").mkdir()
    conf = c.work / "slurm.conf"
    conf.write_text(c.conf_text() + f"BcastParameters=DestDir={c.work}/below\n")
    c.run("sbcast", "-j", job, "-w", "node1", "f", "here", env={"SLURM_CONF": str(conf)})
    assert (c.work / "below" / "here").read_text() == "x"
    prog = c.work / "prog"
    prog.write_text("#!/bin/sh\necho $0\n")
    prog.chmod(0o755)
    out = c.run("srun", "-n1", "--bcast", "./prog", env={"SLURM_CONF": str(conf)}).out
    assert out.startswith(f"{c.work}/below/slurm_bcast_")


# ---- the tree --------------------------------------------------------------------------------------

def test_tree(make_cluster):
    """Seven nodes, two connections at each level: each node gets a file of its own, whole."""
    c = make_cluster(nodes=7, conf="TreeWidth=2")
    data = os.urandom(5_000_001)
    (c.work / "prog").write_bytes(b"#!/bin/sh\nexit 0\n#" + data)
    (c.work / "prog").chmod(0o755)
    (c.work / "copies").mkdir()
    c.run("srun", "-N7", "--bcast=copies/", "./prog")
    copies = sorted(p for p in (c.work / "copies").glob("slurm_bcast_*_node*"))
    assert [p.name.rsplit("_", 1)[1] for p in copies] == [f"node{i}" for i in range(1, 8)]
    assert all(p.read_bytes() == (c.work / "prog").read_bytes() for p in copies)
    job = c.sbatch("-N7", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    for width in ((), ("-F", "3"), ("-F", "off"), ("--treewidth=1",)):
        err = c.refused("sbcast", *width, "-j", job, "prog", copies[0], rc=17)
        assert sorted(err.splitlines()) == [f"sbcast: error: REQUEST_FILE_BCAST(node{i}): File exists" for i in range(1, 8)]
    c.run("sbcast", "-f", "-s", "100k", "-j", job, "prog", c.work / "one")
    assert (c.work / "one").read_bytes() == (c.work / "prog").read_bytes()
    assert "--treewidth takes a number" in c.refused("sbcast", "-F", "x", "-j", job, "prog", "x")
    c.slurmds["node5"].kill()
    c.ended.append(c.slurmds.pop("node5"))
    err = c.refused("sbcast", "-f", "-j", job, "prog", c.work / "one")
    assert re.fullmatch(r"sbcast: error: REQUEST_FILE_BCAST\(node5\): .*\n", err), err


# ---- libraries -------------------------------------------------------------------------------------

@pytest.fixture
def linked(c):
    """A program that needs a library of our own, which the nodes have not where it was linked."""
    lib, far = c.work / "lib", c.work / "far"
    lib.mkdir()
    (c.work / "mine.c").write_text("int mine(void) { return 42; }\n")
    (c.work / "main.c").write_text("#include <stdio.h>\nint mine(void);\nint main(void) { return printf(\"%d\\n\", mine()) < 0; }\n")
    build = [["-shared", "-fPIC", "-Wl,-soname,libmine.so.1", "-o", lib / "libmine.so.1", "mine.c"],
             ["-o", "prog", "main.c", lib / "libmine.so.1", f"-Wl,-rpath-link,{lib}"]]
    for args in build:
        subprocess.run(["gcc", *args], cwd=c.work, check=True)
    return far


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc to link a program with")
def test_send_libs(c, linked):
    env = {"LD_LIBRARY_PATH": str(c.work / "lib")}
    assert "libmine" in c.run("srun", "-n1", "--export=NONE", "./prog", check=False).err
    show = ["--export=NONE", "--bcast", "--send-libs", "./prog"]
    assert c.run("srun", "-N2", *show, env=env).out == "42\n42\n"
    folders = sorted(c.work.glob("slurm_bcast_*_libs"))
    assert [f.name.rsplit("_", 2)[1] for f in folders] == ["node1", "node2"]
    assert [[p.name for p in f.iterdir()] for f in folders] == [["libmine.so.1"], ["libmine.so.1"]]
    for more in (["--send-libs=no"], [f"--bcast-exclude=/usr,{c.work}"]):
        assert "libmine" in c.run("srun", "-n1", *show[:-1], *more, "./prog", env=env, check=False).err
    job = c.sbatch("-N2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("sbcast", "-f", "--send-libs", "-j", job, "prog", "copy", env=env)
    assert [p.name for p in (c.work / "copy_libs").iterdir()] == ["libmine.so.1"]
    c.run("sbcast", "--send-libs", "-w", "node1", "--exclude=NONE", "-j", job, "prog", "all", env=env)
    assert {"libmine.so.1", "libc.so.6"} <= {p.name for p in (c.work / "all_libs").iterdir()}
    c.run("sbcast", "-w", "node1", "-j", job, "prog", "plain", env=env)
    assert not (c.work / "plain_libs").exists()
    assert "does not know the libraries of prog" in c.refused("sbcast", "--send-libs", "-j", job, "prog", "x")
    done = c.run("sbcast", "-f", "--send-libs=maybe", "-j", job, "prog", "x", check=False)
    assert "Ignoring unrecognized --send-libs value 'maybe'" in done.err
