#!/usr/bin/python3
"""What a log that is sent costs: kept submissions with the log in a file, and with two controllers of which the active one
sends it to the other (JournalType=stream), in turns.

usage: bench/stream.py [BUILD] [ROUNDS] [JOBS]

Prints a JSON object for each side: acknowledged, that is durable, submissions a second, and the mean
milliseconds of one that is alone under way."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
os.environ["PENSTOCK_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from controllers import Controllers  # noqa: E402
from streams import StreamControllers  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
JOBS = sys.argv[3] if len(sys.argv) > 3 else "20000"
OPTIONS = {"nodes": 1, "lease_ms": 10000, "conf": "MaxJobCount=2000000\nSlurmctldDebug=info\n"}


def rate(c, jobs, *options):
    argv = [str(BUILD / "bench" / "bench_submit_kept"), "-n", jobs, *options]
    r = subprocess.run(argv, env=c.env, check=True, capture_output=True, text=True)
    return float(re.search(r'"per_s":\s*([0-9.]+)', r.stdout).group(1))


def main():
    with tempfile.TemporaryDirectory(prefix="bench-stream.") as folder:
        for name in ("near", "sent"):
            (Path(folder) / name).mkdir()
        sides = {}
        try:
            sides["file"] = Controllers(Path(folder) / "near", controllers=1, **OPTIONS).start()
            sides["stream"] = StreamControllers(Path(folder) / "sent", controllers=2, **OPTIONS).start()
            sides["stream"].wait_in_sync("ctl1", "ctl2")
            got = {name: [] for name in sides}
            for _ in range(ROUNDS):
                for name, c in sides.items():
                    got[name].append(rate(c, JOBS))
            assert sides["stream"].record()[2] == ["ctl1", "ctl2"]  # it was waited for all the time
            for name, c in sides.items():
                print(json.dumps({"log": name, "per_s": round(statistics.median(got[name])), "rounds": [round(v) for v in got[name]],
                                  "alone_ms": round(1000 / rate(c, "300", "-c", "1", "-p", "1"), 2)}), flush=True)
        finally:
            for c in sides.values():
                c.run("scancel", "-u", "root", check=False)
                c.stop()


if __name__ == "__main__":
    main()
