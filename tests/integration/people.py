"""alice, bob and carol for tests: users of this process and its children alone.

A private mount namespace has its own /etc/passwd and /etc/group, so that the tests neither need nor disturb the
machine's users of these names.  Only root can make one; HAVE_PEOPLE says whether it worked.  Import this module
before the process has a second thread."""

import atexit
import ctypes
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from conftest import SLOW, let_in, program

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
UIDS = {"alice": 2001, "bob": 2002, "carol": 2003}
GROUP = ("research", 2001)
TAG = "".join(random.choices("0123456789abcdef", k=5))
# As long as /demo/alice and /demo/bob, so that columns with them are as wide.
HOMES = {name: Path(f"/tmp/{name[0]}{TAG[:len(name)]}") for name in UIDS}
WORD = {0: "root", **{uid: name for name, uid in UIDS.items()}}


def without(text, names, numbers):
    """Lines of a passwd or group file that neither have one of the names nor one of the numbers."""
    return [line for line in text.splitlines()
            if line and line.split(":")[0] not in names and line.split(":")[2] not in numbers]


def files():
    """(file, text) of the two files as the tests see them."""
    numbers = {str(uid) for uid in UIDS.values()} | {str(GROUP[1])}
    names = {*UIDS, GROUP[0]}
    passwd = without(Path("/etc/passwd").read_text(), names, numbers)
    passwd += [f"{name}:x:{uid}:{GROUP[1]}:{name}:{HOMES[name]}:/bin/bash" for name, uid in UIDS.items()]
    group = without(Path("/etc/group").read_text(), names, numbers)
    group = [re.sub(r"(?<=[:,])(alice|bob|carol)(,|$)", "", line) for line in group]
    group += [f"{name}:x:{uid + 100}:" for name, uid in UIDS.items()]
    return ("/etc/passwd", passwd), ("/etc/group", [*group, f"{GROUP[0]}:x:{GROUP[1]}:{','.join(UIDS)}"])


def enter():
    """True when this process now has the three users."""
    if os.getuid() != 0:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    folder = Path(tempfile.mkdtemp(prefix="penstock-people-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for part in ("etc", "work"):
        (folder / part).mkdir()
        (folder / part).chmod(0o755)
    for path, lines in files():
        own = folder / "etc" / Path(path).name
        own.write_text("\n".join(lines) + "\n")
        own.chmod(0o644)
    # A mount on a file goes away when the machine's file is replaced (a package is installed): a layer over the folder stays.
    layers = f"lowerdir=/etc,upperdir={folder}/etc,workdir={folder}/work".encode()
    return libc.mount(b"overlay", b"/etc", b"overlay", 0, layers) == 0 or \
        all(libc.mount(os.fsencode(folder / "etc" / Path(path).name), path.encode(), None, MS_BIND, None) == 0 for path, _ in files())


HAVE_PEOPLE = enter()


def as_user(name):
    """Options of subprocess.run() and the environment's own part for one of the users, or root."""
    if name == "root":
        return {}, {"USER": "root", "LOGNAME": "root"}
    return ({"user": UIDS[name], "group": GROUP[1], "extra_groups": []},
            {"USER": name, "LOGNAME": name, "HOME": str(HOMES[name]), "SHELL": "/bin/bash"})


def ask_as(name, c, *words, env=None):
    """What a command of the cluster c prints for one of the users; it must exit with 0."""
    how, own = as_user(name)
    let_in(c.conf.parent)
    done = subprocess.run([program(words[0]), *map(str, words[1:])], capture_output=True, text=True, timeout=60 * SLOW, cwd="/",
                          env={**c.env, **own, **(env or {})}, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_homes():
    for name, home in HOMES.items():
        home.mkdir(exist_ok=True)
        os.chown(home, UIDS[name], GROUP[1])
        home.chmod(0o755)


def remove_homes():
    for home in HOMES.values():
        shutil.rmtree(home, ignore_errors=True)
