"""What the check scripts share: the project's files, and written lists of exceptions that may only get shorter.

A list is tests/golden/house/NAME.txt: an exception a line, `# reason` behind it where the check wants one.  Something
new that breaks a rule fails the check; so does a line that nothing needs any more.

    tests/check_X.py BUILD --shrink     takes out the lines that nothing needs
    tests/check_X.py BUILD --rewrite    writes the lists as the tree is now: after files moved, not to get past a check"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
LISTS = ROOT / "tests" / "golden" / "house"


def own_files():
    """Files of the project: known to git, or new and not ignored; without git, everything here."""
    run = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                         capture_output=True, text=True)
    if run.returncode == 0:
        return [ROOT / name for name in sorted(set(run.stdout.splitlines())) if (ROOT / name).is_file()]
    return [p for p in sorted(ROOT.rglob("*")) if p.is_file() and not p.relative_to(ROOT).parts[0]
            .startswith(("build", "."))]


def c_files(*folders):
    """C sources and headers below folders of the project."""
    return [p for p in own_files() if p.suffix in (".c", ".h") and p.relative_to(ROOT).parts[0] in folders]


def in_src(path):
    return str(path.relative_to(SRC))


class List:
    def __init__(self, name):
        self.path = LISTS / f"{name}.txt"
        self.name = str(self.path.relative_to(ROOT))
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.head = [line for line in lines if line.startswith("#")]
        self.rows = {}
        for line in lines:
            entry, _, reason = line.partition(" # ")
            if entry.strip() and not line.startswith("#"):
                self.rows[entry.strip()] = reason.strip()

    def write(self, rows):
        LISTS.mkdir(exist_ok=True)
        lines = [f"{entry} # {reason}" if reason else entry for entry, reason in sorted(rows.items())]
        self.path.write_text("".join(f"{line}\n" for line in [*self.head, *lines]))


def hold(tap, title, name, found, advice, reasons=False, covers=lambda row, entry: row == entry):
    """One test: found (entry -> what breaks the rule there) is what the list says, neither more nor less.  covers says
    that a row allows an entry which got smaller since the row was written."""
    known = List(name)
    allowed = {entry: row for entry in found for row in known.rows if covers(row, entry)}
    if "--rewrite" in sys.argv:
        known.write({entry: known.rows.get(allowed.get(entry), "") for entry in found})
    elif "--shrink" in sys.argv:
        known.write({entry: known.rows[row] for entry, row in allowed.items()})
    known = List(name)
    new = sorted(found.keys() - (known.rows.keys() | allowed.keys()))
    problems = [found[entry] for entry in new]
    if new:
        problems.append(f"-> {advice}")
    problems += [f"{known.name}: `{entry}` is not needed any more: take the line out (--shrink does)"
                 for entry in sorted(known.rows.keys() - found.keys())]
    problems += [f"{known.name}: `{entry}` is what is left of it: write that (--shrink does)"
                 for entry in sorted((found.keys() & allowed.keys()) - known.rows.keys())]
    if reasons:
        problems += [f"{known.name}: `{entry}` needs a reason behind ` # `"
                     for entry, reason in known.rows.items() if not reason]
    tap.check(f"{title} ({len(known.rows)} exceptions)" if known.rows else title, problems)
