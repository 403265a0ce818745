"""Controllers that DNS names (SRV _slurmctld._tcp): a name server of the test's own, seen by its daemons and commands alone."""

import os
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from conftest import Daemon, free_ports, program, wait_until
from test_configless import node_env, put

pytestmark = [pytest.mark.skipif(os.getuid() != 0, reason="only root can give a program another resolv.conf"),
              pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare(1) here")]

SRV, A = 33, 1
CONF = "SlurmctldParameters=enable_configless\nMessageTimeout=5\nPrologFlags=Alloc\nProlog=prolog.sh"


def labels(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class NameServer(threading.Thread):
    """srv: (priority, port, host) in the domain example.org; mode: what becomes of questions."""

    def __init__(self):
        super().__init__(daemon=True)
        self.srv, self.mode, self.ended = [], "answers", False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(20):
            self.address = "127." + ".".join(str(random.randrange(1, 255)) for _ in range(3))
            try:
                self.socket.bind((self.address, 53))  # resolv.conf can name no other port
                break
            except OSError:
                continue
        else:
            pytest.skip("another name server has all addresses of this machine")
        self.socket.settimeout(0.1)
        self.start()

    def records(self, name, kind):
        if kind == SRV and name.startswith("_slurmctld._tcp"):
            return [struct.pack(">HHH", priority, 0, port) + labels(host) for priority, port, host in self.srv]
        return [socket.inet_aton("127.0.0.1")] if kind == A and name == "ctl.example.org" else []

    def run(self):
        while not self.ended:
            try:
                question, caller = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            at, name = 12, []
            while question[at]:
                name.append(question[at + 1:at + 1 + question[at]].decode())
                at += 1 + question[at]
            name, kind = ".".join(name), struct.unpack(">H", question[at + 1:at + 3])[0]
            if self.mode == "silent":
                continue
            answers = [] if self.mode == "none" else self.records(name, kind)
            body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data for data in answers)
            if self.mode == "cut" and kind == SRV:
                body = body[:-3]
            flags = 0x8180 if answers or name == "ctl.example.org" else 0x8183
            self.socket.sendto(question[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0) + question[12:at + 5] + body, caller)


@pytest.fixture
def dns():
    server = NameServer()
    yield server
    server.ended = True
    server.join()
    server.socket.close()


@pytest.fixture
def up(make_cluster, dns, tmp_path):
    """A controller that DNS names; c.start_by_dns() starts a daemon that is told nothing, c.ask() a command."""
    c = make_cluster(nodes=1, conf=CONF, start=False)
    set_word(c, "first")
    c.start_ctld()
    dns.srv = [(10, c.port, "ctl.example.org")]
    resolv = tmp_path / "resolv.conf"
    resolv.write_text(f"nameserver {dns.address}\nsearch example.org\noptions timeout:1 attempts:1\n")

    def host(name, *argv):
        """A host with a /run that its daemons leave things in."""
        run = tmp_path / name
        run.mkdir(exist_ok=True)
        mounts = f"mount --bind {resolv} /etc/resolv.conf && mount --bind {run} /run"
        return ["unshare", "-m", "sh", "-c", f"{mounts} && exec \"$@\"", "sh", *argv]

    def env(name):
        return {k: v for k, v in node_env(c, name).items() if k != "RUNTIME_DIRECTORY"}

    def start_by_dns(name, *argv):
        return Daemon(argv[0], host(name, program(argv[0]), "-D", *argv[1:]), c.dir / "log" / f"{argv[0]}-{name}", env(name))

    def ask(*argv, name="user"):
        kept = tmp_path / f"kept-{time.monotonic_ns()}"
        kept.mkdir(mode=0o700)
        return subprocess.run(host(name, program(argv[0]), *argv[1:]), capture_output=True, text=True, timeout=60, cwd="/",
                              env={**env("user"), "XDG_RUNTIME_DIR": str(kept)})
    c.start_by_dns, c.ask, c.run_of = start_by_dns, ask, lambda name: tmp_path / name
    return c


def set_word(c, word):
    put(c.conf.parent / "prolog.sh", f"#!/bin/bash\necho {word} > {c.work}/prolog.$SLURM_JOB_ID\n")


def met(c):
    """What the prolog of a new job says."""
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    return (c.work / f"prolog.{job}").read_text().strip()


def said(c, daemon):
    """What a daemon says before the configuration names its log."""
    return (c.dir / "log" / f"{daemon}.stderr").read_text()


def start_node(c):
    c.slurmds["node1"] = c.start_by_dns("node1", "slurmd", "-N", "node1")


def wait_login(c):
    wait_until(lambda: (c.run_of("login") / "slurm" / "conf").is_symlink(), "sackd has the configuration")  # into its own /run


def test_hosts_that_are_told_nothing(up, dns):
    """The lowest priority comes first, and the next one when nobody is there."""
    start_node(up)
    up.wait_nodes()
    nobody, = free_ports(1)
    dns.srv = [(20, nobody, "ctl.example.org"), (10, up.port, "ctl.example.org")]
    assert "node1" in up.ask("sinfo").stdout
    dns.srv = [(10, nobody, "ctl.example.org"), (20, up.port, "ctl.example.org")]
    assert "node1" in up.ask("sinfo").stdout
    login = up.start_by_dns("login", "sackd")
    wait_login(up)
    dns.mode = "silent"  # a command where a daemon keeps the configuration asks nobody
    assert "node1" in up.ask("sinfo", name="login").stdout
    assert login.stop() == 0


def test_name_server_away_when_a_node_starts(up, dns):
    """It goes on with what it had, as when the controller is away, and takes what comes afterwards."""
    start_node(up)
    up.wait_nodes()
    assert met(up) == "first"
    for mode, words in (("silent", "no name server answers for _slurmctld._tcp (SRV); going on with "),
                        ("none", "DNS has no SRV record _slurmctld._tcp; going on with "),
                        ("cut", "what DNS says of _slurmctld._tcp (SRV) cannot be read; going on with ")):
        up.slurmds["node1"].kill()
        up.ended.append(up.slurmds["node1"])
        dns.mode = mode
        start_node(up)
        wait_until(lambda: words in said(up, "slurmd-node1"), mode)
        set_word(up, mode)
        up.run("scontrol", "reconfigure")
        assert met(up) == mode


def test_first_start_waits_for_the_name_server(up, dns):
    dns.mode = "silent"
    start_node(up)
    login = up.start_by_dns("login", "sackd")
    words = "no name server answers for _slurmctld._tcp (SRV)"
    for name in ("slurmd-node1", "sackd-login"):
        wait_until(lambda: words in said(up, name), f"{name} says what it waits for")
    dns.mode = "answers"
    up.wait_nodes()
    wait_login(up)
    assert login.stop() == 0


def test_nobody_is_named(up, dns):
    """One sentence says where was looked; a question at a terminal does not wait."""
    for mode, words in (("none", "DNS has no SRV record _slurmctld._tcp"), ("silent", "no name server answers for _slurmctld._tcp (SRV)"),
                        ("cut", "what DNS says of _slurmctld._tcp (SRV) cannot be read")):
        dns.mode = mode
        done = up.ask("sinfo")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("sinfo: error: ") and done.stderr.endswith(
            f"/slurm.conf: cannot be read: No such file or directory; SLURM_CONF_SERVER is not set; {words}\n")
        done = up.ask("slurmd", "-G")
        assert done.returncode == 1 and done.stderr.startswith("slurmd: fatal: ") and done.stderr.endswith(words + "\n")
    dns.mode = "none"
    for argv, words in ((["slurmd", "-N", "node1"], "slurmd: fatal: there is neither --conf-server nor /"),
                        (["sackd"], "there is no --conf-server: DNS has no SRV record _slurmctld._tcp")):
        daemon = up.start_by_dns("lost", *argv)
        assert daemon.process.wait(20) == 1
        text = said(up, f"{argv[0]}-lost")
        assert words in text and text.count("\n") == 1, text
