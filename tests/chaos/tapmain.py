"""The frame of a chaos test: options, the seed, and what it says of each check."""

import argparse
import os
import random
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def report(text):
    print(f"# {text}", flush=True)


def put_away(cluster, folder):
    """Stop the cluster and remove its folder; what was left behind, with the logs on standard error."""
    problems = cluster.stop()
    if problems:
        print(cluster.logs("")[-5000:], file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    return problems


def main(doc, run, **defaults):
    """run(args, report) yields (name, problems) for each check.  Every default is an option of its type."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--build", required=True)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--tap", action="store_true")
    args = parser.parse_args()
    os.environ["PENSTOCK_BUILD"] = str(Path(args.build).resolve())
    sys.path.insert(0, str(HERE.parent / "integration"))
    report(f"seed {args.seed}: " + ", ".join(f"{getattr(args, name)} {name}" for name in defaults))
    count = failed = 0
    start = time.monotonic()
    for name, problems in run(args, report):
        count += 1
        failed += bool(problems)
        print(f"{'not ' if problems else ''}ok {count} - {name}", flush=True)
        for problem in problems[:50]:
            report(problem)
    if args.tap:
        print(f"1..{count}")
    else:
        print(f"{count - failed} passed, {failed} failed in {time.monotonic() - start:.1f} s")
    return 1 if failed else 0
