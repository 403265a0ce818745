#!/usr/bin/python3
"""deploy/: dashboards are fresh, dashboards and rules name only families that we have, images are built with what the build needs.

usage: tests/check_deploy.py BUILD"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
DASHBOARDS = sorted((ROOT / "deploy/grafana").glob("*.json"))
RULES = ROOT / "deploy/prometheus/penstock.rules.yml"
NAME = re.compile(r"\b(?:slurm|penstock)_[a-z0-9_]+")
OF_HISTOGRAMS = re.compile(r"_(?:bucket|sum|count)$")


def families():
    rows = [line.split() for line in (ROOT / "tests/golden/metrics/families.txt").read_text().splitlines() if not line.startswith("#")]
    own = re.findall(r'"(penstock_[a-z_]+)"', (ROOT / "src/ctld/web/ownmetrics.c").read_text())
    return {row[1] for row in rows if len(row) == 2} | set(own)


def strangers(text, known):
    return sorted({name for name in NAME.findall(text) if name not in known and OF_HISTOGRAMS.sub("", name) not in known})


def expressions(path):
    return [target["expr"] for panel in json.loads(path.read_text())["panels"] for target in panel["targets"]]


def stale(folder):
    subprocess.run([ROOT / "tools/gen-grafana", folder], check=True)
    made = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    kept = {path.name: path.read_bytes() for path in DASHBOARDS}
    return sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))


def missing_packages():
    """What the build needs of Debian, and the stage of the images that builds does not install."""
    stage = (ROOT / "deploy/images/Dockerfile").read_text().split("COPY meson.build")[0].split()
    rows = (ROOT / "tools/packages.txt").read_text().splitlines()
    return [row for row in rows if row.endswith("-dev") and " " not in row and row not in stage]


def main():
    tap, known = Tap(), families()
    with tempfile.TemporaryDirectory() as folder:
        tap.check("the dashboards are what tools/gen-grafana writes", stale(folder))
    for path in DASHBOARDS:
        tap.check(f"{path.name} names families that we have", strangers("\n".join(expressions(path)), known))
    found = [line.split("expr:", 1)[1] for line in RULES.read_text().splitlines() if "expr:" in line]
    tap.check("the stage of the images that builds installs what the build needs", missing_packages())
    tap.check("the rules name families that we have", [] if found and not strangers("\n".join(found), known)
              else strangers("\n".join(found), known) or ["no rule was found"])
    tap.end()


if __name__ == "__main__":
    main()
