"""Containers of podman for tests: a network, boxes on it, and what they say."""

import json
import os
import subprocess
import time
from pathlib import Path

PREFIX = os.environ.get("PREFIX", "localhost/penstock")
VERSION = os.environ.get("VERSION", "latest")
# What machines without all of a container host's rights need: the first words with which a container starts are taken.
WAYS = [[], ["--runtime=runc"], ["--runtime=runc", "--cgroup-manager=cgroupfs"]]
LIMITS = ["--ulimit=nofile=8192:8192", "--ulimit=nproc=8192:8192"]


def call(*argv, check=True, timeout=120, **kw):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout,
                          errors="replace", **kw)
    assert not check or done.returncode == 0, f"{argv}: {done.returncode}: {done.stderr[-2000:]}{done.stdout[-500:]}"
    return done


def wait_until(condition, what, timeout=60.0):
    end = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {timeout} s: {what}"
        time.sleep(0.2)  # between two questions
    return found


def image_of(name):
    return f"{PREFIX}/{name}:{VERSION}"


class Host:
    """podman as it works here."""

    def __init__(self, folder):
        self.folder, self.why, self.words, self.boxes, self.net, self.bridge = folder, "", [], [], None, None
        image = image_of("sackd")
        try:
            if call("podman", "image", "exists", image, check=False).returncode != 0:
                self.why = f"there is no image {image}: make build-images"
                return
        except FileNotFoundError:
            self.why = "podman is not installed (apt-get install podman)"
            return
        for way in WAYS:
            for limits in ([], LIMITS):
                done = call("podman", *way, "run", "--rm", "--pull=never", "--network=none", "--entrypoint=true", *limits, image,
                            check=False)
                if done.returncode == 0:
                    self.words, self.limits = way, limits
                    return
        self.why = f"podman starts no container here: {done.stderr.strip()[-300:]}"

    def podman(self, *argv, **kw):
        return call("podman", *self.words, *argv, **kw)

    def open_network(self):
        """A network of this test alone."""
        self.net = f"penstock-{os.getpid()}"
        self.podman("network", "create", "--internal", self.net)
        found = json.loads(self.podman("network", "inspect", self.net).stdout)[0]
        subnet, self.bridge = found["subnets"][0], found["network_interface"]
        self.gateway, self.base = subnet["gateway"], subnet["subnet"].rsplit(".", 1)[0]

    def start(self, name, image, *args, options=(), command=None):
        """A container that runs; command is what takes the place of the entry."""
        words = ["run", "--detach", "--pull=never", f"--name=penstock-{os.getpid()}-{name}", f"--hostname={name}", *self.limits, *options]
        words += ["--entrypoint", json.dumps(command)] if command else []
        box = Box(self, self.podman(*words, image_of(image), *args).stdout.strip())
        self.boxes.append(box)
        self.keep_address()
        return box

    def keep_address(self):
        """A bridge takes the lowest address of its ports: with the next container those before would send to one that it has no more."""
        path = Path("/sys/class/net") / (self.bridge or "none") / "address"
        if path.exists():
            call("ip", "link", "set", "dev", self.bridge, "address", path.read_text().strip(), check=False)

    def close(self):
        for box in self.boxes:
            self.podman("rm", "--force", "--time=5", box.id, check=False)
        if self.net:
            self.podman("network", "rm", "--force", self.net, check=False)


class Box:
    def __init__(self, host, ident):
        self.host, self.id = host, ident

    def look(self):
        return json.loads(self.host.podman("inspect", self.id).stdout)[0]

    def exec(self, *argv, options=(), **kw):
        return self.host.podman("exec", *options, self.id, *argv, **kw)

    def logs(self):
        done = self.host.podman("logs", self.id)
        return done.stdout + done.stderr

    def alive(self):
        return self.look()["State"]["Running"]

    def processes(self):
        """Command names by PID, as the container counts them."""
        text = self.exec("sh", "-c", "for p in /proc/[0-9]*; do echo ${p#/proc/} $(cat $p/comm 2> /dev/null); done", check=False).stdout
        return {int(line.split()[0]): line.split()[1] for line in text.splitlines() if len(line.split()) > 1}

    def stop(self, signal="TERM", timeout=20):
        """End as the kubelet asks for it; the exit status."""
        self.host.podman("kill", f"--signal={signal}", self.id)
        wait_until(lambda: not self.alive(), f"{self.id[:12]} ends after SIG{signal}", timeout)
        return self.look()["State"]["ExitCode"]
