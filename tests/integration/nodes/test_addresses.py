"""CommunicationParameters: at which addresses the daemons listen."""

import contextlib
import os
import re
import socket
from pathlib import Path

import pytest

from conftest import wait_until

ANY6, LOOP4, LOOP6 = "0" * 32, "0100007F", "0" * 24 + "01000000"
HAVE_IPV6 = Path("/proc/net/if_inet6").exists() and "00000000000000000000000000000001" in Path("/proc/net/if_inet6").read_text()


def listening(pid):
    """Addresses of a process's listening sockets, by port."""
    mine = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            mine |= set(re.findall(r"^socket:\[(\d+)\]", os.readlink(fd)))
    found = {}
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/{pid}/net/{table}")
        for words in (line.split() for line in path.read_text().splitlines()[1:]) if path.exists() else ():
            if words[3] == "0A" and words[9] in mine:
                addr, _, port = words[1].partition(":")
                found[int(port, 16)] = addr
    return found


def connects(host, port):
    try:
        socket.create_connection((host, port), 5).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("words", ["", "NoCtldInAddrAny", "NoInAddrAny"])
def test_named_addresses(make_cluster, words):
    """By default every address; NoCtldInAddrAny is about slurmctld, NoInAddrAny about all."""
    c = make_cluster(nodes=1, conf=f"CommunicationParameters={words}" if words else "")
    port = c.node_ports[0]
    ctld, node = listening(c.ctld.pid)[c.port], listening(c.slurmds["node1"].pid)[port]
    assert (ctld == LOOP4) == (words != "")
    assert (node == LOOP4) == (words == "NoInAddrAny")
    assert c.run("srun", "-n1", "echo", "on").out == "on\n"


@pytest.mark.skipif(not HAVE_IPV6, reason="the machine has no IPv6")
def test_ipv6_alone(make_cluster):
    c = make_cluster(nodes=1, conf="CommunicationParameters=EnableIPv6,DisableIPv4", start=False)
    c.write_conf(c.conf_text().replace("127.0.0.1", "::1"))
    c.start()
    for pid, port in (c.ctld.pid, c.port), (c.slurmds["node1"].pid, c.node_ports[0]):
        assert listening(pid)[port] == ANY6
        assert connects("::1", port) and not connects("127.0.0.1", port)
    assert c.run("srun", "-n1", "echo", "on").out == "on\n"


@pytest.mark.skipif(not HAVE_IPV6, reason="the machine has no IPv6")
def test_both_families(make_cluster):
    c = make_cluster(nodes=1)
    wait_until(lambda: connects("127.0.0.1", c.port), "slurmctld listens")
    assert connects("::1", c.port) and connects("::1", c.node_ports[0])
