"""States of node events: the words of recording 19, and conditions on them."""

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2}


def events(c, *where):
    out = c.run("sacctmgr", "-nP", "list", "event", "event=node", "start=now-1hour", "format=nodename,state,reason,user", *where).out
    return sorted(line for line in out.splitlines())


@pytest.fixture
def told(c):
    """node1 was drained, and has failed since; node2 was down."""
    for name, state, *reason in (("node1", "drain", "reason=x"), ("node2", "down", "reason=crash"), ("node1", "resume"),
                                 ("node1", "fail", "reason=y")):
        c.run("scontrol", "update", f"nodename={name}", f"state={state}", *reason)
    wait_until(lambda: len(events(c)) >= 3, f"all are told: {events(c)}")
    yield c
    c.run("scontrol", "update", "nodename=node[1-2]", "state=resume")


def test_words(told):
    """Short and in capitals; the table cuts nothing off them."""
    seen = events(told)
    assert "node1|DRAIN|x|root(0)" in seen and "node2|DOWN|crash|root(0)" in seen, seen
    table = told.run("sacctmgr", "list", "event", "event=node", "start=now-1hour", "format=nodename,state").out
    assert "\nnode1            DRAIN \n" in table and "\nnode2             DOWN \n" in table, table


def test_conditions(told):
    """A flag, a base state, several of them, a state that no event has, and one that there is not."""
    def states(words):
        return {line.split("|")[1] for line in events(told, f"states={words}")}
    assert "DRAIN" in states("drain") and "DOWN" not in states("drain")
    assert states("down") == {"DOWN"} and states("DOWN,drain") >= {"DOWN", "DRAIN"}
    assert "FAIL" in {word.rstrip("*") for word in states("fail")}
    assert states("allocated") == states("future") == set()
    assert "Invalid state: nosuch" in told.refused("sacctmgr", "list", "event", "states=nosuch")


def test_cpus(told):
    """Nodes have four CPUs, the cluster has eight; a number that is none is told, and nothing is listed."""
    def seen(*where):
        return {line.split("|")[0] for line in told.run("sacctmgr", "-nP", "list", "event", "start=now-1hour",
                                                         "format=nodename,cpu", *where).out.splitlines()}
    assert seen() == seen("mincpus=0") == {"", "node1", "node2"}
    assert seen("maxcpus=4") == {"node1", "node2"} and seen("mincpus=5") == {""}
    assert seen("MinCPUs=4", "MaxCPUs=8") == seen() and seen("mincpus=9") == seen("maxcpus=3") == set()
    assert "Invalid value for MaxCpus (x)" in told.refused("sacctmgr", "list", "event", "maxcpus=x")
