#!/usr/bin/python3
"""Every row of what the incumbent was seen to do has a test that says the row's name, or a reason why not.

tests/golden/behaviours/PAGE/rows.list has a row a line: `ID | class | words`, and `| open: REASON` behind a row that
is not so yet or on purpose.  A row's tests are `@row ID[,ID...] words` in PAGE/*.txt, or its ID in a line of
tests/integration (`# look-1.3`, or the name of a parameter).  A row is either open or tested; what is neither is
counted as not looked at.  The table that this prints: rows by page and class, tested, open, not looked at.

usage: tests/check_behaviours.py BUILD [--left]     --left: names the rows that nobody looked at"""

import collections
import re
import sys

from house import ROOT
from tap import Tap

FOLDER = ROOT / "tests" / "golden" / "behaviours"
ID = re.compile(r"\b(?:sub|life|look|res|pol|db)-[A-Z0-9]+(?:\.[0-9]+)?[a-z]?\b")


def tested_ids():
    """{ID: where it is tested first}."""
    found = {}
    for path in sorted(FOLDER.rglob("*.txt")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("@row "):
                for ident in ID.findall(line.split()[1]):
                    found.setdefault(ident, f"{path.relative_to(ROOT)}:{number}")
    for path in sorted((ROOT / "tests" / "integration").rglob("test_*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for ident in ID.findall(line):
                found.setdefault(ident, f"{path.relative_to(ROOT)}:{number}")
    return found


def main():
    tested, seen, bad, left = tested_ids(), set(), [], []
    counts = collections.defaultdict(collections.Counter)
    for path in sorted(FOLDER.glob("*/rows.list")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(ROOT)}:{number}"
            ident, mark, *rest = line.split(" | ")
            state = rest[-1] if rest and rest[-1].startswith("open:") else ""
            if ident in seen:
                bad.append(f"{where}: {ident} stands twice")
            if state and len(state) < 15:
                bad.append(f"{where}: {ident} is open without a reason")
            if state and ident in tested:
                bad.append(f"{where}: {ident} is open, and tested at {tested[ident]}")
            seen.add(ident)
            kind = "open" if state else "tested" if ident in tested else "left"
            counts[path.parent.name, mark][kind] += 1
            if kind == "left":
                left.append(line)
    bad += [f"{where}: no row {ident}" for ident, where in tested.items() if ident not in seen]
    for (page, mark), count in sorted(counts.items()):
        print(f"# {page:24} {mark:7} {sum(count.values()):5} rows, {count['tested']:4} tested, {count['open']:4} open, "
              f"{count['left']:4} not looked at")
    if "--left" in sys.argv:
        print("\n".join(left))
    tap = Tap()
    tap.check("rows of tests/golden/behaviours", bad)
    tap.end()


if __name__ == "__main__":
    main()
