#!/usr/bin/python3
"""The lock of the schema, tests/golden/schema.txt, holds every field that ever was, under its number.

usage: tests/check_schema.py BUILD

test_golden compares the lock with the schema that was compiled.  A field that goes from both, in one change, would pass there;
its number could then be given to another field, and old journals and old peers would be misread.  So:
- each field of proto/*.proto is in the lock, with its number and its type;
- each field and value of the lock is in proto/*.proto, or its number is `reserved` there;
- each line that the lock ever had in the history of the repository is still there, or its number is `reserved`;
- what a log may hold is that of the level which its files name, once the level's release was made (tests/golden/log_levels.txt)."""

import hashlib
import re
import subprocess
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
LOCK = "tests/golden/schema.txt"
LEVELS = "tests/golden/log_levels.txt"
LINE = re.compile(r"(?:enum )?pst\.(\w+)\.(\w+) = (-?\d+)(?: (?:optional|repeated|required|none) (?:message |enum )?(?:pst\.)?(\w+))?")
RESERVED = re.compile(r"reserved pst\.(\w+)\.\w+ = (\d+)\b")


class Schema:
    """The fields and values of proto/*.proto: {(message, name): (number, type)}, and the reserved numbers."""

    def __init__(self):
        self.fields, self.reserved = {}, {}
        for path in sorted((ROOT / "proto").glob("*.proto")):
            self.read(re.sub(r"//.*|/\*.*?\*/", "", path.read_text()))

    def read(self, text):
        stack = []
        for token in re.finditer(r"(message|enum|oneof|extend)\s+(\w+)\s*\{|(\})|reserved\s+([^;]*);|"
                                 r"(?:(?:optional|repeated|required)\s+)?(?:([\w.]+)\s+)?(\w+)\s*=\s*(-?\d+)\s*(?:\[[^]]*\])?\s*;", text):
            kind, name, end, reserved, type_, field, number = token.groups()
            if kind:
                stack.append(name if kind != "oneof" else stack[-1])
            elif end:
                stack.pop()
            elif reserved is not None and stack:
                for first, last in re.findall(r"(-?\d+)(?:\s+to\s+(\d+))?", reserved):
                    self.reserved.setdefault(stack[-1], set()).update(range(int(first), int(last or first) + 1))
            elif field and stack:
                self.fields[stack[-1], field] = int(number), (type_ or "").removeprefix("pst.")

    def knows(self, line):
        """Is this line of the lock in the schema, or its number reserved?"""
        gone = RESERVED.match(line)
        if gone:
            return int(gone.group(2)) in self.reserved.get(gone.group(1), ())
        m = LINE.match(line)
        if not m:
            return line.startswith("op ")  # numbers of operations: test_golden
        message, name, number, type_ = m.groups()
        if int(number) in self.reserved.get(message, ()):
            return True
        found = self.fields.get((message, name))
        return found is not None and found[0] == int(number) and (not type_ or found[1] == type_)


def history():
    """Every line that the lock ever had; None where there is no history."""
    done = subprocess.run(["git", "-C", str(ROOT), "log", "-p", "--format=", "--", LOCK], capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout:
        return None
    return {line[1:] for line in done.stdout.splitlines() if re.match(r"[-+](?:pst|enum|op)\b", line)}


def log_lines(lock):
    """The lines of the lock that a Transaction, which is a record of the log, reaches."""
    by_type, found, next_types = {}, [], ["Transaction"]
    for line in lock:
        m = LINE.match(line)
        if m:
            by_type.setdefault(m.group(1), []).append((line, m.group(4)))
    for type_ in next_types:
        for line, below in by_type.get(type_, ()):
            found.append(line)
            if below in by_type and below not in next_types:
                next_types.append(below)
    return sorted(found)


def wrong_levels(lock):
    rows = [line.split() for line in (ROOT / LEVELS).read_text().splitlines() if not line.startswith("#")]
    level = re.search(r"#define LOG_LEVEL (\d+)u", (ROOT / "src/journal/format.h").read_text())[1]
    digest = hashlib.sha256("\n".join(log_lines(lock)).encode()).hexdigest()
    if [int(row[0]) for row in rows] != list(range(1, len(rows) + 1)) or rows[-1][0] != level:
        yield f"{LEVELS} has a row for each level up to LOG_LEVEL, which is {level}"
    if "open" in [row[2] for row in rows[:-1]]:
        yield f"{LEVELS}: only the last row may be open"
    if rows[-1][2] not in ("open", digest):
        yield f"a released log has other fields: raise LOG_LEVEL and add a row to {LEVELS}; the digest is now {digest}"


def main():
    tap = Tap()
    schema = Schema()
    lock = (ROOT / LOCK).read_text().splitlines()
    have = {m.group(1, 2): int(m.group(3)) for m in map(LINE.match, lock) if m}
    tap.check("each field of the schema is in the lock",
              [f"{LOCK} lacks {message}.{name} = {number}: run test_golden --update"
               for (message, name), (number, _) in schema.fields.items()
               if have.get((message, name)) != number and message in {key[0] for key in have}])
    tap.check("each line of the lock is in the schema or reserved",
              [f"proto/*.proto lacks: {line}" for line in lock if not schema.knows(line)])
    ever = history()
    tap.check("no line of the lock was ever lost",
              [f"{LOCK} had: {line}; put the line back, or reserve the number in proto/*.proto"
               for line in sorted((ever or set()) - set(lock))
               if not (answers_now(lock, line) or asks_now(lock, line) if line.startswith("op ") else reserved(schema, line))])
    tap.check("the log has the level of its fields", list(wrong_levels(lock)))
    tap.end()


def answers_now(lock, line):
    """An operation that was answered by nothing may answer something: older callers skip its fields."""
    same, _, reply = line.rpartition(" ")
    return reply == "pst.Empty" and any(other.rpartition(" ")[0] == same for other in lock)


def asks_now(lock, line):
    """An operation that asked nothing may ask something: older receivers skip its fields."""
    words = line.split(" ")
    return words[-2] == "pst.Empty" and any(other.split(" ")[:-2] == words[:-2] and other.split(" ")[-1] == words[-1] for other in lock)


def reserved(schema, line):
    m = LINE.match(line)
    return m and int(m.group(3)) in schema.reserved.get(m.group(1), ())


if __name__ == "__main__":
    main()
