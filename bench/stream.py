#!/usr/bin/python3
"""What a log that is sent costs: kept submissions with the log in a file, and with two controllers of which the active one
sends it to the other (JournalType=stream), in turns.

usage: bench/stream.py [BUILD] [ROUNDS] [JOBS]

Prints a JSON object for each side: acknowledged, that is durable, submissions a second, and the mean
milliseconds of one that is alone under way."""

import tempfile
from pathlib import Path

from loglib import OPTIONS, measure, stop, tell  # first: it says where the next are
from controllers import Controllers
from streams import StreamControllers


def main():
    with tempfile.TemporaryDirectory(prefix="bench-stream.") as folder:
        for name in ("near", "sent"):
            (Path(folder) / name).mkdir()
        sides = {}
        try:
            sides["file"] = Controllers(Path(folder) / "near", controllers=1, **OPTIONS).start()
            sides["stream"] = StreamControllers(Path(folder) / "sent", controllers=2, **OPTIONS).start()
            sides["stream"].wait_in_sync("ctl1", "ctl2")
            got = measure(sides)
            assert sides["stream"].record()[2] == ["ctl1", "ctl2"]  # it was waited for all the time
            tell(sides, got)
        finally:
            stop(sides)


if __name__ == "__main__":
    main()
