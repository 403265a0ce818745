#!/usr/bin/python3
"""What the style guide decides and no compiler sees; and that nothing in the lists of tests is left out.

usage: tests/check_style.py [BUILD]"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from house import ROOT, own_files
from tap import Tap

MAX_LINES, MAX_TEST_LINES = 1000, 1500
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Paths of one machine.  Examples live in the home folders of alice and bob.
OWN_MACHINE = re.compile(r"(?<![\w.}])/(?:home/(?!alice|bob|user|\w+\W)|root/\w|work/(?:main|shared)|Users/)")
TEXT = (".c", ".h", ".def", ".inc", ".proto", ".py", ".md", ".scd", ".build", ".txt", ".sh", "")


def find(files, pattern, say):
    """`file:line: say` for each line that matches."""
    for path in files:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {say}"


def too_long(sources):
    for path in sources:
        lines = len(path.read_text(errors="replace").splitlines())
        limit = MAX_LINES if path.relative_to(ROOT).parts[0] == "src" else MAX_TEST_LINES
        if lines > limit:
            yield f"{path.relative_to(ROOT)}: {lines} lines, more than {limit}"


def without_head(sources):
    for path in sources:
        first = path.read_text(errors="replace").split("\n", 1)[0]
        if not first.startswith(f"/* {path.name} - "):
            if not (path.suffix == ".c" and first.startswith(f"/* {path.name}")):
                yield f"{path.relative_to(ROOT)}: line 1 should say what the file is"


def unregistered(folder, prefix):
    """Sources without a row, rows without a source, names with two rows."""
    rows = []
    for listing in sorted((ROOT / folder).rglob("*build.txt")):
        rows += [line.split("|")[0].strip() for line in listing.read_text().splitlines()
                 if line.strip() and not line.startswith("#")]
    sources = {p.stem for p in (ROOT / folder).rglob(f"{prefix}*.c")}
    yield from (f"{folder}/{name}.c has no row in a build.txt" for name in sorted(sources - set(rows)))
    yield from (f"{folder}: row {name} has no source" for name in sorted(set(rows) - sources))
    yield from (f"{folder}: {name} has two rows" for name in sorted(set(rows)) if rows.count(name) > 1)


def without_corpus():
    for source in sorted((ROOT / "tests/fuzz").glob("fuzz_*.c")):
        corpus = ROOT / "tests/fuzz/corpus" / source.stem[len("fuzz_"):]
        if not corpus.is_dir() or not any(corpus.iterdir()):
            yield f"{source.relative_to(ROOT)}: {corpus.relative_to(ROOT)} has no input"


def sanitizer_of(build):
    """Python loads our library: a sanitizer's own, with which that is built, must be there before."""
    options = Path(*build, "meson-info", "intro-buildoptions.json")
    sanitize = next((o["value"] for o in json.loads(options.read_text()) if o["name"] == "b_sanitize"), "") if options.exists() else ""
    names = [name for word, name in (("address", "libasan.so"), ("thread", "libtsan.so")) if word in sanitize]
    paths = [subprocess.run(["gcc", f"-print-file-name={n}"], capture_output=True, text=True).stdout.strip() for n in names]
    return {"LD_PRELOAD": ":".join(paths), "ASAN_OPTIONS": "detect_leaks=0"} if paths else {}


def main():
    tap = Tap()
    files = [p for p in own_files() if "corpus" not in p.parts and "golden" not in p.parts]
    texts = [p for p in files if p.suffix in TEXT]
    c_files = [p for p in files if p.suffix in (".c", ".h")]
    src = [p for p in files if p.relative_to(ROOT).parts[0] == "src"]
    tap.check("nothing unfinished in src", list(find(src, UNFINISHED, "unfinished")))
    tap.check("no path of one machine", list(find(texts, OWN_MACHINE, "a path of one machine")))
    tap.check("no tab in C sources", list(find(c_files, re.compile("\t"), "tab")))
    tap.check("no blank at the end of a line",
              list(find([p for p in texts if p.suffix != ".md"], re.compile(r"[ \t]+$"), "blank at the end")))
    tap.check("no carriage return", list(find(texts, re.compile("\r"), "carriage return")))
    tap.check("no source too long", list(too_long(c_files)))
    tap.check("every source says what it is", list(without_head([p for p in c_files if p in set(src)])))
    tap.check("every unit test is run", list(unregistered("tests/unit", "test_")))
    tap.check("every fuzz target is run", list(unregistered("tests/fuzz", "fuzz_")))
    tap.check("every benchmark is run", list(unregistered("bench", "bench_")))
    tap.check("every fuzz target has a corpus", list(without_corpus()))
    for generator in sorted((ROOT / "tools").glob("gen-*")):
        if "--check" in generator.read_text():
            command = [str(generator), "--check"]
            if "BUILD" in generator.read_text().split('"""')[1] and len(sys.argv) > 1:
                command.append(sys.argv[1])
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **sanitizer_of(sys.argv[1:])})
            tap.check(f"what {generator.name} writes is up to date",
                      (run.stdout + run.stderr).splitlines()[:20] or ["it failed"]
                      if run.returncode else [])
    tap.end()


if __name__ == "__main__":
    main()
