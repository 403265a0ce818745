#!/usr/bin/python3
"""Fields of the schema have names and rows: no source says a field by its number, and no field is without a row.

usage: tests/check_fields.py [BUILD]"""

import re
import subprocess
import tempfile
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
GENERATOR = ROOT / "tools/gen-fields"
TABLE = ROOT / "proto/fields.def"
SCHEMA = sorted((ROOT / "proto").glob("*.proto"))
# Functions whose last argument is the number of a field.  From 1000 on there are none: tests use these for fields
# of another release.
CALLS = re.compile(r"\b(?:tx_clear|clears|pb_has|pb_clear|pb_clear_range|pb_fieldset_(?:add|remove|has)|field_row|"
                   r"message_descriptor_get_field)\([^;{}?]*?,\s*[1-9]\d{0,2}u?\s*\)")
COMPARED = re.compile(r"(?:\b(?:number|field|field_number)|\bclear\[\w+\]|\bfields\[\w+\](?:\.id)?|->tag|\.tag)"
                      r"\s*(?:[=!<>]=|[<>])\s*[1-9]\d*\b")
MEMBER = re.compile(r"\.field\s*=\s*\d+")
PRIVATE = re.compile(r"\bF_[A-Z_]+\s*=\s*\d+|#\s*define\s+\w*(?:_F_\w+|\bF_\w+|FIELD_\w+|\w+_TAG)\s+\(?(?:\d+|\"\\x)")
TAG = re.compile(r"\b\d+u?\s*<<\s*3\s*(?:\|\s*\d\b|;)")
LIST = re.compile(r"\b(?:const )?uint32_t\s+(\w+)\[\]\s*=\s*\{\s*[\d\s,]+\}")
USES = r"\b(?:pb_borrow|pb_forget|pb_diff|tx_clear|pb_clear|pb_fieldset_add)\([^;]*\b{0}\b|\bfields\s*=\s*{0}\b"
ALLOWED = {
    ("src/model/cluster.h", "#define FIELD_VOLATILE 900"),  # where derived fields begin
    ("src/model/cluster.h", "#define FIELD_VOLATILE_LAST 1023"),
    ("src/acct/rows.c", "#define FIELD_HEADER_MAX 12"),     # bytes
}
# What the table must refuse: the line after which, what comes in its place, what is said of it.
BAD_TABLES = [
    ("a field without a row", "alloc_sid ", None, "JobRecord.alloc_sid has no row"),
    ("a row without a field", "alloc_sid ", "alloc_sid submit=user\nno_such_field", "has no field no_such_field"),
    ("two rows of a field", "alloc_sid ", "alloc_sid\nalloc_sid", "two rows"),
    ("a word that is none", "alloc_sid ", "alloc_sid submit=everybody", "no word of this table"),
    ("a right given twice", "alloc_sid ", "alloc_sid submit=user submit=admin", "there twice"),
    ("a rule for nobody", "alloc_sid ", "alloc_sid update=pending,", "no rule for a job"),
    ("a key for what is not updated", "alloc_sid ", "alloc_sid key=Sid", "key="),
    ("a number shown as a text", "alloc_sid ", "alloc_sid show=Sid", "show="),
    ("a number kept once", "alloc_sid ", "alloc_sid common", "common"),
    ("a secret that watchers see", "alloc_sid ", "alloc_sid secret watch", "secret"),
    ("a derived field to be set", "cur_priority", "cur_priority submit=user", "derived"),
    ("text for a script that is a number", "alloc_sid ", "alloc_sid lua=sid:text", "lua=sid:text"),
    ("two fields of one name for scripts", "alloc_sid ", "alloc_sid lua=user_id:num32:read", "user_id"),
]


def bare_numbers(path, text):
    name = str(path.relative_to(ROOT))
    for pattern in (CALLS, COMPARED, MEMBER, PRIVATE, TAG):
        for match in pattern.finditer(text):
            found = " ".join(match[0].split())
            if found.count("(") != found.count(")"):
                continue  # the number is an inner call's
            if not any(name == where and found.startswith(what) for where, what in ALLOWED):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {found}"
    for match in LIST.finditer(text):
        if re.search(USES.replace("{0}", re.escape(match[1])), text):
            yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[1]}[]: a list of bare numbers"


def generate(what, table, output):
    inputs = [table] if what != "names" else []
    return subprocess.run([GENERATOR, what, *inputs, *SCHEMA, "-o", output], capture_output=True, text=True)


def refused(folder, line, instead, said):
    lines = TABLE.read_text().splitlines()
    at = next(i for i, text in enumerate(lines) if text.startswith(line))
    lines[at:at + 1] = [] if instead is None else instead.split("\n")
    bad = folder / "fields.def"
    bad.write_text("\n".join(lines) + "\n")
    for what in ("rows", "lists", "text"):
        run = generate(what, bad, folder / "out")
        if run.returncode == 0 or said not in run.stderr:
            yield f"gen-fields {what}: status {run.returncode}, said: {run.stderr.strip()}"


def new_field(folder):
    """A field added to the schema alone ends the build."""
    copies = []
    for path in SCHEMA:
        copy = folder / path.name
        copy.write_text(path.read_text().replace("message JobRecord {\n", "message JobRecord {\n  optional string demo = 899;\n"))
        copies.append(copy)
    run = subprocess.run([GENERATOR, "rows", TABLE, *copies, "-o", folder / "out"], capture_output=True, text=True)
    if run.returncode == 0 or "JobRecord.demo has no row" not in run.stderr:
        yield f"status {run.returncode}, said: {run.stderr.strip()}"


def wrong_names(folder):
    """The reader of the schema sees what protoc-c does: the lock of the schema is made of descriptors."""
    header = folder / "fields.h"
    run = generate("names", None, header)
    if run.returncode:
        yield run.stderr.strip()
        return
    numbers = dict(re.findall(r"^    (\w+) = (\d+),", header.read_text(), re.M))
    lock = re.findall(r"^pst\.(\w+)\.(\w+) = (\d+) ", (ROOT / "tests/golden/schema.txt").read_text(), re.M)
    short = {"PartitionRecord": "PART", "ReservationRecord": "RESV"}
    for message, field, number in lock:
        stem = short.get(message, message.removesuffix("Record"))
        constant = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).upper() + "_F_" + field.upper()
        if numbers.get(constant) != number:
            yield f"{constant} is {numbers.get(constant)}, {message}.{field} is {number}"


def main():
    tap = Tap()
    sources = [p for folder in ("src", "bench", "proto", "tests/unit") for p in sorted((ROOT / folder).rglob("*.[ch]"))
               if p.name != "test_pbutil.c"]  # it tests the functions that take numbers
    tap.check("no field by its bare number",
              [line for p in sources for line in bare_numbers(p, p.read_text(errors="replace"))])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tap.check("every field's name has its number", list(wrong_names(folder)))
        tap.check("a new field without a row is refused", list(new_field(folder)))
        for what, line, instead, said in BAD_TABLES:
            tap.check(f"refused: {what}", list(refused(folder, line, instead, said)))
    tap.end()


if __name__ == "__main__":
    main()
