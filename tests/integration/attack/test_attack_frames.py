"""Frames whose type and use differ: a flag makes one message of another, which a handler then misreads.

The attack: a Hello that carries REPLY is unpacked as HelloReply, one with REPLY and ERROR as Error, and was
used as Hello: fields behind the smaller message's end decided what was read, wiped and freed.  It needs no
login.  Every daemon must close such a connection and live; so must the step daemon, which services of the
user's own talk to."""

import os
import random

import pytest

import rawwire
from accounting import Dbd, storage_of
from rawwire import ERROR, MORE, ONEWAY, REPLY, Peer, messages

CLUSTER = {"nodes": 1}
# All bits and pairs of them but a plain request, and bits that no release knows.
FLAGS = [REPLY, REPLY | ERROR, REPLY | MORE, ERROR, MORE, REPLY | MORE | ERROR, ERROR | ONEWAY, REPLY | ONEWAY, 1 << 4, 1 << 31]


def bodies():
    """What fits each of the three messages, long enough to reach over the end of the smaller ones."""
    pb = messages()
    yield b""
    yield pb.HelloReply(uid=0xffffffff, cluster="c" * 200).SerializeToString()
    yield pb.Error(code=-1, text="t" * 200).SerializeToString()
    yield pb.Hello(version=rawwire.VERSION, method=pb.AUTH_KEY, uid=0, gid=0, proof=b"p" * 32, key_id="k",
                   cluster="c" * 100).SerializeToString()


def attack(connect, op="hello"):
    """Send every combination, each on a connection of its own; all must be closed."""
    for flags in FLAGS:
        for body in bodies():
            for _ in range(3):  # what the heap holds differs
                with connect() as p:
                    p.send(op, body, flags=flags)
                    assert p.closed(), f"flags {flags:#x}, {len(body)} bytes: the connection stays open"


def test_slurmctld_over_tcp(c):
    attack(lambda: Peer.tcp(c.port))
    assert c.ctld.alive() and c.up()


@pytest.mark.skipif(os.getuid() != 0, reason="acts as another user")
def test_slurmctld_over_the_local_socket(c):
    attack(lambda: Peer.local(c.port, uid=65534))
    assert c.ctld.alive() and c.up()


def test_slurmd(c):
    for op in ("hello", "launch-step", "attach-step", "stat-step", "bcast-open", "relay"):
        attack(lambda: Peer.tcp(c.node_ports[0]), op)
    assert c.slurmds["node1"].alive()
    assert c.run("srun", "echo", "well").out == "well\n"


def test_after_login(c):
    """The same with every operation, on connections that were let in."""
    for op in rawwire.operations():
        for flags in FLAGS:
            with Peer.local(c.port) as p:
                p.hello()
                p.send(op, random.Random(op).randbytes(64), flags=flags)
                assert p.closed(), f"{op} with flags {flags:#x}: the connection stays open"
    assert c.ctld.alive() and c.up()


def test_slurmdbd(folder):
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key")
    try:
        dbd.start()
        attack(lambda: Peer.tcp(dbd.port))
        assert dbd.daemon.alive()
    finally:
        dbd.stop()
