#!/usr/bin/python3
"""docs/differences.md says what the tests allow to differ: no more, no less.

usage: tests/check_differences.py BUILD        check
       tests/check_differences.py --update     write the page anew

The page is made of tests/differential/differences.toml and of the @differs and @allow lines of
tests/golden/transcripts."""

import re
import sys
import tomllib
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "differences.md"
HEAD = """# What differs, and why

Made by `tests/check_differences.py --update`; the `checks` tests fail when it is out of date. Each row is a
difference that a test allows, with its reason.

"""
NEWER = "The newer release differs"
DEPARTURE = "Departures of ours"
OTHER = "Timing and layout"


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def code(text):
    return f"`` {cell(text)} ``"


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n\n"


def kind(reason):
    return NEWER if reason.startswith("newer") else DEPARTURE if reason.startswith("departure") else OTHER


def against_peer():
    with open(ROOT / "tests" / "differential" / "differences.toml", "rb") as f:
        rules = tomllib.load(f)
    rows = [(case["command"], case["reason"]) for case in rules.get("case", [])]
    rows += [(rule["match"], rule["reason"]) for rule in rules.get("rule", [])]
    text = ("## Debian's Slurm 22.05\n\nThe script of `tests/differential`, played on both. A row names a command, or the "
            "pattern of a text\nin any answer.\n\n")
    for what in (DEPARTURE, NEWER, OTHER):
        chosen = [(code(name), cell(re.sub(r"^(newer|departure)(: |$)", "", reason)) or "as recorded or documented")
                  for name, reason in rows if kind(reason) == what]
        text += f"### {what}\n\n" + table(("command or text", "reason"), chosen)
    return text


def against_transcripts():
    text = "## Recorded answers of Slurm 26.05\n\n"
    golden = ROOT / "tests" / "golden"
    # transcripts of one user, and those of the same session that three users play
    paths = [*(golden / "transcripts").glob("*.txt"), *(golden / "recordings").glob("[012]*.txt")]
    for path in sorted(paths, key=lambda p: p.name):
        reason, rows = None, []
        for line in path.read_text().splitlines():
            if line.startswith(("@differs ", "@allow ")):
                reason = line.split(" ", 1)[1].split(" => ")[0]
            elif reason and re.match(r"(\$|#|\w+[$#]) ", line):
                rows.append((code(line.split(" ", 1)[1][:100]), cell(reason)))
                reason = None
        if rows:
            text += f"### {path.stem}\n\n" + table(("command", "reason"), rows)
    return text


def main():
    page = HEAD + against_peer() + against_transcripts().rstrip("\n") + "\n"
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(page)
        return
    tap = Tap()
    old = PAGE.read_text() if PAGE.exists() else ""
    tap.check("docs/differences.md is up to date",
              [] if old == page else ["run tests/check_differences.py --update and commit the page"])
    tap.end()


if __name__ == "__main__":
    main()
