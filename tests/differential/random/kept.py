"""Sequences that once showed a difference, played again: on both sides, or on us against what the peer answered then.

A file holds a command a line behind its user, `#` comments, `--` between sequences; FILE.json.gz beside it the peer's
answers and states, command by command."""

import gzip
import json
from pathlib import Path


def sequences(path):
    found = [[]]
    for line in Path(path).read_text().splitlines():
        if line == "--":
            found.append([])
        elif line and not line.startswith("#"):
            found[-1].append(tuple(line.split("$ ", 1)))
    return [s for s in found if s]


def tapes(path):
    with gzip.open(f"{path}.json.gz", "rt") as f:
        return json.load(f)


def keep_tapes(path, heard):
    with gzip.GzipFile(f"{path}.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(heard, indent=0).encode())


def replay(playing, args):
    found = []
    for path in args.replay:
        commands, heard = sequences(path), []
        recorded = tapes(path) if args.only_ours else [None] * len(commands)
        for sequence, tape in zip(commands, recorded, strict=True):
            playing.sequence(sequence, lambda difference, _: found.append(difference), tape=tape, heard=heard)
        if args.record:
            keep_tapes(path, heard)
    for difference in found:
        print(f"DIFFERS  {difference.user}$ {difference.command}\n{difference.text}", end="")
    print(f"{len(found)} differences")
    return 1 if found else 0
