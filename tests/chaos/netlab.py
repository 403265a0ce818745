"""Hosts as network namespaces of a private namespace: each has an address, and rules that lose its packets.

enter() starts the program anew in namespaces of its own (network, mounts), so that nothing of it is seen outside and all of it
is gone with the last process.  Packets are lost by nftables, in and out, by the address of the other end, with a probability:
connections stall, retransmit and time out as on a bad line.  Not shown: delays, duplicates and reordering, for which the
kernel would need sch_netem."""

import os
import shutil
import subprocess
import sys

NET = "10.77.0"
OURS = f"{NET}.254"  # of the commands


def missing():
    """Why it cannot be done here; None: it can."""
    if os.getuid() != 0:
        return "namespaces need root"
    for name in ("unshare", "nsenter", "ip", "nft"):
        if not shutil.which(name):
            return f"{name} is not installed"
    return None


def enter():
    """Go on in namespaces of our own: the program is executed anew, and whatever it starts ends with it."""
    if os.environ.get("CHAOS_NETLAB"):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["ip", "link", "add", "lab", "type", "bridge"], check=True)
        subprocess.run(["ip", "addr", "add", f"{OURS}/24", "dev", "lab"], check=True)
        subprocess.run(["ip", "link", "set", "lab", "up"], check=True)
        return
    os.makedirs("/run/netns", exist_ok=True)
    os.execvpe("unshare", ["unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                           "--mount-proc", "--", sys.executable, *sys.argv], {**os.environ, "CHAOS_NETLAB": "1"})


class Host:
    def __init__(self, name, number):
        self.name, self.address = name, f"{NET}.{number}"
        self.before = ["nsenter", f"--net=/run/netns/{name}", "--"]
        self.lost = None
        for argv in (["ip", "netns", "add", name],
                     ["ip", "link", "add", f"v-{name}", "type", "veth", "peer", "name", "eth0", "netns", name],
                     ["ip", "link", "set", f"v-{name}", "master", "lab", "up"],
                     [*self.before, "ip", "addr", "add", f"{self.address}/24", "dev", "eth0"],
                     [*self.before, "ip", "link", "set", "lo", "up"],
                     [*self.before, "ip", "link", "set", "eth0", "up"]):
            subprocess.run(argv, check=True)

    def lose(self, percent, others=None):
        """Lose packets from and to these hosts; None: all others."""
        chance = "" if percent >= 100 else f"numgen random mod 100 < {percent} "
        lines = []
        for hook, end in (("input", "saddr"), ("output", "daddr")):
            whom = f"ip {end} {{ {', '.join(h.address for h in others)} }} " if others is not None else f"ip {end} {NET}.0/24 "
            own = f"ip {end} {self.address} accept; "
            lines.append(f"chain {hook} {{ type filter hook {hook} priority 0; {own}{whom}{chance}drop; }}\n")
        self.apply("table ip loss {\n" + "".join(lines) + "}\n")
        self.lost = percent

    def heal(self):
        if self.lost is not None:
            self.apply("delete table ip loss")
            self.lost = None

    def apply(self, text):
        subprocess.run([*self.before, "nft", "-f", "-"], input=text, text=True, check=True)
