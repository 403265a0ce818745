"""libpenstock as a stranger has it: its symbols, an installed tree, the examples, and a controller that is killed meanwhile."""

import json
import os
import re
import subprocess
import threading

import pytest

from conftest import BUILD, ROOT, SANITIZED, wait_until

LIBRARY = BUILD / "src" / "lib" / "libpenstock.so.0"
SYMBOLS = ROOT / "tests" / "golden" / "lib" / "symbols.txt"
CLUSTER = {"nodes": 2}


def example(name):
    return str(BUILD / "src" / "lib" / f"example_{name}")


def tool(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=True, **more).stdout


def exported():
    """The names that a program can link, with their version; without what a sanitizer asks each library for."""
    rows = (line.split() for line in tool("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines())
    return sorted(row[2] for row in rows if row[1] != "A" and not (SANITIZED and "_default_options@" in row[2]))


def test_symbols():
    """The list only grows: a program that was linked once goes on working."""
    assert exported() == SYMBOLS.read_text().split()


def test_header_declares_each_symbol():
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "src" / "lib" / "libpenstock.h").read_text(), flags=re.S)
    declared = set(re.findall(r"\b(penstock_\w+)\(", text))
    assert declared == {name.partition("@")[0] for name in exported()}
    assert not re.search(r"struct \w+\s*\{", text)  # no layout that could change


def test_links_no_heavy_library():
    """What is only sometimes needed is loaded when it is."""
    dynamic = tool("readelf", "-d", LIBRARY)
    assert "[libpenstock.so.0]" in dynamic
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    assert not {name for name in needed if re.match(r"lib(sodium|munge|crypto|ssl|lua|curl|uv)", name)}


@pytest.mark.skipif(SANITIZED, reason="a program without the sanitizer cannot load the library")
def test_installed_tree(tmp_path, shared):
    """pkg-config finds what a program needs; strict C11 takes the header; the program runs from there."""
    tool("meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "devel,libpenstock", "--destdir", tmp_path)
    pc = next(tmp_path.rglob("penstock.pc"))
    flags = tool("pkg-config", "--define-prefix", "--cflags", "--libs", "penstock",
                 env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).split()
    out = tmp_path / "submit_wait"
    tool("cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-pedantic", "-Werror",
         ROOT / "examples" / "c" / "submit_wait.c", *flags, "-o", out)
    version = tool("pkg-config", "--define-prefix", "--modversion", "penstock",
                   env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)})
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", version)
    run = subprocess.run([out, "--time=5", "true"], capture_output=True, text=True, cwd=tmp_path,
                         env={**shared.env, "LD_LIBRARY_PATH": str(pc.parent.parent)})
    assert run.returncode == 0, run.stderr


def test_submit_and_wait(c):
    r = c.run(example("submit_wait"), "--time=5", "--ntasks=2", "--job-name=stranger", "--output=out-%j", "echo $SLURM_NTASKS; exit 7",
              check=False)
    assert r.rc == 7, r.err
    job = int(re.match(r"job (\d+)\n", r.out)[1])
    row = json.loads(r.out.splitlines()[1])
    assert row["id"] == str(job) and row["name"] == "stranger" and row["shown_state"] == "FAILED" and row["exit_code"] == 7
    assert row["nodelist"].startswith("node")
    assert (c.work / f"out-{job}").read_text() == "2\n"


def test_mistakes_are_sentences(c):
    for words, sentence in ((["--time=soon"], "--time"), (["--colour=red"], "no option named colour"),
                            (["--partition=nowhere"], "Invalid partition name specified"),
                            (["--wait"], "no option named wait"), (["--mem=1", "--mem-per-cpu=1"], "exclude each other")):
        r = c.run(example("submit_wait"), *words, "true", check=False)
        assert r.rc == 1 and sentence in r.err and len(r.err.splitlines()) == 1, r.err
    r = c.run(example("submit_wait"), "true", check=False, env={"SLURM_CONF": "/nowhere/slurm.conf"})
    assert r.rc == 1 and "/nowhere/slurm.conf" in r.err


class Lines:
    """A program and the lines that it has written."""

    def __init__(self, c, *argv):
        self.process = c.popen(*argv, stdin=-1, stdout=-1)
        self.lines = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def end(self):
        """A line of input ends it; gives its cursor."""
        self.process.stdin.write("\n")
        self.process.stdin.close()
        assert self.process.wait(20) == 0
        self.thread.join()
        return self.lines[-1].removeprefix("cursor ")


def test_watch_over_a_killed_controller(cluster):
    """Each change once, in order, over connections and processes."""
    c = cluster
    w = Lines(c, example("watch_jobs"))
    wait_until(lambda: w.lines, "the stream has begun")
    first = c.sbatch("--wrap=true")
    wait_until(lambda: any(f"job-end {first} " in line for line in w.lines), "the end of the first job")
    c.kill_ctld()
    c.start_ctld()
    second = c.sbatch("--wrap=true")
    wait_until(lambda: any(f"job-end {second} " in line for line in w.lines), "the end of the second job")
    cursor = w.end()
    changes = [line.split() for line in w.lines[1:-1]]
    assert len({change[0] for change in changes}) == len(changes)
    for job in (first, second):
        assert [change[5] for change in changes if change[2] == str(job) and change[5] != "-"] == ["PENDING", "RUNNING", "COMPLETED"]
    third = c.sbatch("--wrap=true")
    c.wait_end(third)
    later = Lines(c, example("watch_jobs"), cursor)
    wait_until(lambda: any(f"job-end {third} " in line for line in later.lines), "the end of the third job")
    later.end()
    assert not {line.split()[0] for line in later.lines[1:-1]} & {change[0] for change in changes}
    assert {line.split()[2] for line in later.lines[1:-1]} <= {str(second), str(third)}
