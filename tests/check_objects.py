#!/usr/bin/python3
"""What the object files of a build tell: cycles of calls between files, and variables that any function can change.

usage: tests/check_objects.py BUILD [--shrink | --rewrite]     (house.py)
       tests/check_objects.py BUILD --calls FOLDER [FILE]      who calls whom in a folder, by which names

A cycle is found by the names that an object file defines and those that it needs.  The files of a cycle can only be
understood, tested and moved together."""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from house import SRC, hold
from tap import Tap

# The most files in one cycle of calls.
LONGEST_CYCLE = 8
WRITABLE = re.compile(r"^\.(data|bss|tdata|tbss)(?!\.rel\.ro)|^COM$")
# Made by the compiler, and by the macros of base/log.h that count how often a line was written.
MADE = re.compile(r"^(__gcov|\.L|__func__|__PRETTY_FUNCTION__|log_site_here\b)")


def objects(build):
    """`folder/file.c` below src -> its object file."""
    found = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        source, output = (build / command["file"]).resolve(), build / command["output"]
        if SRC in source.parents and output.exists():
            found.setdefault(str(source.relative_to(SRC)), output)
    return found


def symbols(objs):
    """`folder/file.c` -> rows of (name, class, section)."""
    names = {str(path): name for name, path in objs.items()}
    run = subprocess.run(["nm", "-A", "-f", "sysv", *names], capture_output=True, text=True, check=True)
    found = {name: [] for name in objs}
    for line in run.stdout.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7:
            path, _, symbol = fields[0].rpartition(":")
            found[names[path]].append((symbol, fields[2], fields[6]))
    return found


def calls(table):
    """file -> {file it needs: names}."""
    owner = {symbol: name for name, rows in table.items() for symbol, kind, _ in rows if kind in "TDBRCVW"}
    needs = {name: defaultdict(set) for name in table}
    for name, rows in table.items():
        for symbol, kind, _ in rows:
            other = owner.get(symbol)
            if kind == "U" and other and other != name:
                needs[name][other].add(symbol)
    return needs


def cycles(nodes, edges):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(n):
        index[n] = low[n] = len(index)
        stack.append(n)
        for m in sorted(edges[n]):
            if m in nodes and m not in index:
                visit(m)
                low[n] = min(low[n], low[m])
            elif m in stack:
                low[n] = min(low[n], index[m])
        if low[n] == index[n]:
            found.append(sorted(stack[stack.index(n):]))
            del stack[stack.index(n):]

    sys.setrecursionlimit(10000)
    for n in sorted(nodes):
        if n not in index:
            visit(n)
    return [c for c in found if len(c) > 1]


def top(name):
    return name.split("/")[0]


def in_cycles(table):
    """`folder: file file...` -> sentence, a row a cycle."""
    needs, rows = calls(table), {}
    for folder in sorted({top(name) for name in table}):
        nodes = {name for name in table if top(name) == folder}
        for cycle in cycles(nodes, needs):
            short = " ".join(name[len(folder) + 1:] for name in cycle)
            rows[f"{folder}: {short}"] = f"src/{folder}: {len(cycle)} files call one another in a cycle: {short}"
    return rows


def variables(table):
    """`file name` -> sentence, for each variable outside functions' frames that can be written."""
    found = {}
    for name, rows in table.items():
        for symbol, kind, section in rows:
            if kind in "dDbBC" and WRITABLE.match(section) and not MADE.match(symbol):
                entry = f"{name} {re.sub(r'[.][0-9]+$', '', symbol)}"
                found[entry] = f"src/{name}: `{entry.split()[1]}` can be changed by every call"
    return found


def option(build, name):
    text = subprocess.run(["meson", "introspect", "--buildoptions", build], check=True, capture_output=True, text=True).stdout
    return next(o["value"] for o in json.loads(text) if o["name"] == name)


def show_calls(table, words):
    for name, needs in sorted(calls(table).items()):
        if name.startswith(words[0] + "/") and name.endswith(words[1] if len(words) > 1 else ""):
            print(name)
            for other, by in sorted(needs.items()):
                if top(other) == top(words[0]):
                    print(f"    {other}: {', '.join(sorted(by))}")


def main():
    build = Path(sys.argv[1]).resolve()
    objs = objects(build)
    table = symbols(objs)
    if "--calls" in sys.argv:
        return show_calls(table, sys.argv[3:])
    tap = Tap()
    missing = sorted(str(p.relative_to(SRC)) for p in SRC.rglob("*.c") if str(p.relative_to(SRC)) not in objs)
    tap.check("every source is built", [f"src/{name} has no object in {build.name}" for name in missing])
    found = in_cycles(table)
    hold(tap, "cycles of calls between files", "cycles", found,
         "`tests/check_objects.py BUILD --calls FOLDER FILE` tells the names. Move what both files need down, or pass a callback",
         covers=lambda row, entry: set(entry.split()) <= set(row.split()))
    long = [f"{len(row.split()) - 1} files: {row}" for row in found if len(row.split()) - 1 > LONGEST_CYCLE]
    tap.check(f"no cycle of more than {LONGEST_CYCLE} files", long)
    title = "no variable outside objects"
    if option(build, "b_sanitize") != "none" or option(build, "b_coverage"):
        tap.skip(title, "sanitizers and coverage add variables of their own")
    else:
        hold(tap, title, "variables", variables(table),
             "give the state to an object that is passed; a table that nothing changes is `static const` to the last pointer",
             reasons=True)
    tap.end()


if __name__ == "__main__":
    main()
