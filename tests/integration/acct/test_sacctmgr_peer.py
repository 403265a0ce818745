"""Dumps that Slurm's own sacctmgr (22.05, Debian 12) made: they load, and what they make is what Slurm made of them.

tests/golden/dumps/NAME.cfg is a dump, NAME.txt what Slurm listed after it had loaded it into an empty store
to which the QOS had been added (dumps of that release have none)."""

import re

import pytest

from conftest import ROOT

DUMPS = ROOT / "tests" / "golden" / "dumps"
CONF = "AccountingStorageTRES=gres/gpu,license/matlab\nGresTypes=gpu\nTrackWCKey=yes"


def recorded(name):
    """The listings: words of the command -> lines."""
    found, words = {}, None
    for line in (DUMPS / f"{name}.txt").read_text().splitlines():
        if line.startswith("$ "):
            words = tuple(line[2:].split())
            found[words] = []
        else:
            found[words].append(line)
    return found


def same(line):
    """Slurm tells a coordinator again for each account above, and lists names in no order."""
    return "|".join(",".join(sorted(set(cell.split(",")))) for cell in line.lstrip("*").split("|"))


def load(c, name, *more):
    return c.run("sacctmgr", "-i", "load", f"file={DUMPS / (name + '.cfg')}", *more)


def check(c, name, cluster, gone=""):
    """gone: coordinated accounts of another cluster, which the dump names and the store does not have."""
    for words, lines in recorded(name).items():
        lines = [re.sub(rf"\|{gone}$", "|", line) if gone else line for line in lines]
        only = [f"cluster={cluster}"] if words[1] in ("assoc", "user", "wckey") else []
        got = c.run("sacctmgr", "-nP", *words, *only).out.splitlines()
        if words[1] == "qos":  # named by us, and more of them where another file was loaded before
            continue
        assert {same(line) for line in got} == {same(line) for line in lines}, words


@pytest.mark.parametrize("name", ["site", "plain"])
def test_loads(make_cluster, name):
    c = make_cluster(conf=CONF, nodes=1)
    if name == "site":
        refused = c.refused("sacctmgr", "-i", "load", f"file={DUMPS / 'site.cfg'}")
        assert "low" in refused  # a QOS that is not there
        for qos in ("low", "high", "long", "gpu"):
            c.run("sacctmgr", "-i", "add", "qos", qos)
    gone = "chem,physics,theory" if name == "plain" else ""
    said = load(c, name).out
    assert ("there is no account chem for alice to coordinate" in said) == bool(gone)
    check(c, name, name, gone)
    again = c.run("sacctmgr", "-i", "load", f"file={DUMPS / (name + '.cfg')}", check=False)
    assert again.rc == 0 and "Nothing new added." in again.out  # recording 72
    check(c, name, name, gone)


def test_as_another_cluster(make_cluster):
    c = make_cluster(conf=CONF, nodes=1)
    load(c, "plain", "cluster=test")
    lines = c.run("sacctmgr", "-nP", "list", "assoc", "cluster=test", "format=cluster,account,user").out.splitlines()
    assert {"test|dept|", "test|dept|alice", "test|sub|yan"} <= set(lines)
    mine = c.dir / "mine.cfg"
    c.run("sacctmgr", "dump", "test", f"file={mine}")
    assert re.search(r"^User - 'zoe':DefaultAccount='sub':Fairshare=1", mine.read_text(), re.M)
