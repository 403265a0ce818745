#!/usr/bin/python3
"""What the log in etcd costs: kept submissions with the log in a file and in three local members of etcd, in turns.

usage: bench/etcd.py [BUILD] [ROUNDS] [JOBS]

Prints a JSON object for each side: acknowledged, that is durable, submissions a second, and the mean
milliseconds of one that is alone under way."""

import tempfile
from pathlib import Path

from loglib import OPTIONS, measure, stop, tell  # first: it says where the next are
from controllers import Controllers
from etcds import Etcd, EtcdControllers


def main():
    with tempfile.TemporaryDirectory(prefix="bench-etcd.") as folder:
        for name in ("etcd", "far", "near"):
            (Path(folder) / name).mkdir()
        etcd = Etcd(Path(folder) / "etcd").start()
        sides = {}
        try:
            sides["file"] = Controllers(Path(folder) / "near", controllers=1, **OPTIONS).start()
            sides["etcd"] = EtcdControllers(Path(folder) / "far", etcd, controllers=1, **OPTIONS).start()
            tell(sides, measure(sides))
        finally:
            stop(sides)
            etcd.stop()


if __name__ == "__main__":
    main()
