#!/usr/bin/python3
"""Write the first inputs of the targets that read scripts (script.h): corpus/{ctld,dbd,noded,hello,client}; and of
pbcodec, records of the log.

usage: tests/fuzz/make_corpus.py [FOLDER]

One input for each operation, with the golden message of its request, and a course of life that does
something: nodes register, jobs are submitted, start, run, end.  What the fuzzer found lies beside them in
the corpora.  Run it again when the operations or the steps of a target change."""

import re
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RAW = 1
# Steps of fuzz_ctld, by their place in take_step().
ANY, SAMPLE, REGISTER, REPORT, TIME, CONN, PROGRAM, DISK, RESTART = 0, 4, 8, 9, 11, 12, 13, 14, 15
NODES, CTLD_ROLES = 4, 13
LAUNCHED, ENDED, CLEAN, PROLOG_DONE = 1, 2, 4, 8


def operations():
    """(name, message of the request) in the order of the table, which is how scripts number them."""
    text = (ROOT / "src/wire/ops.h").read_text()
    rows = re.findall(r"X\(OP_\w+, \d+, \"([a-z0-9-]+)\", (\w+), \w+,", text)
    return [(name, "".join(part.title() for part in message.split("_"))) for name, message in rows]


def golden(message):
    path = ROOT / "tests/golden" / f"{message}.v3.bin"
    return path.read_bytes() if path.exists() else b""


def frame(conn, number, body):
    """What play_any() reads."""
    return bytes([conn, number, 0, RAW]) + struct.pack("<H", len(body)) + body


def sample(conn, number, *fields):
    """What play_sample() reads: who, which, how many fields more."""
    return bytes([SAMPLE, conn, number, len(fields)]) + b"".join(fields)


def ctld_life(conf):
    out = bytes([conf])
    for node in range(NODES):
        out += bytes([REGISTER, node, 0])
    for i in range(4):
        out += sample(i, i)
    out += bytes([TIME, 2])
    for i in range(3):
        for what in (LAUNCHED | PROLOG_DONE, ENDED, CLEAN):
            out += bytes([REPORT, i, 0, what, 0])
    for i in range(4, 23):
        out += sample(1, i) + sample(3, i)
    return out + bytes([PROGRAM, 0, TIME, 6, CONN, 6, DISK, TIME, 2, DISK, RESTART, TIME, 7])


def write(folder, name, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main():
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"
    record = golden("Transaction")
    write(to / "pbcodec", "record", record)
    write(to / "pbcodec", "cut", record[:len(record) // 2])
    write(to / "pbcodec", "twice", record + record)
    for conf in range(3):
        write(to / "ctld", f"life-{conf}", ctld_life(conf))
    for number, (name, message) in enumerate(operations()):
        body = golden(message)
        registered = b"".join(bytes([REGISTER, n, 0]) for n in range(NODES))
        write(to / "ctld", f"op-{name}",
              b"\1" + registered + b"".join(bytes([ANY]) + frame(c, number, body) for c in (4, 6)))
        write(to / "dbd", f"op-{name}", b"".join(bytes([ANY]) + frame(c, number, body) for c in (0, 6)))
        # any_order() has no connection, any_frame() has; then news of a step daemon, its end, an answer
        write(to / "noded", f"op-{name}",
              b"\0\0\0\0\1\0\0" + b"\5" + frame(0, number, body)[1:] + b"\6" + frame(1, number, body) +
              b"\7\0\0" + b"\11\0\0" + b"\13\1")
        write(to / "hello", f"op-{name}", b"\0" + b"\0\23\0\0\0" + b"\7" + bytes([number, 0, RAW]) +
              struct.pack("<H", len(body)) + body + b"\0\0")
        write(to / "client", f"op-{name}", bytes([2, 2, 1, 0x1b, number, RAW]) + struct.pack("<H", len(body)) + body +
              b"\0\0" + bytes([0, number, 3, 0, 1, number]))


if __name__ == "__main__":
    main()
