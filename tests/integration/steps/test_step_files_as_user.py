"""What the step daemon itself writes into a user's file it writes as the user.

The kernel takes the set-user-ID bit from a file that a user writes, and leaves it when root does."""

import ctypes
import grp
import os
import pwd
import select
import stat
import struct
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from conftest import SLOW, wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the step daemon runs as root, its steps as another user")
CLUSTER = {"nodes": 1}
USER = "games"
GROUP = "nogroup"


@pytest.fixture
def file(c):
    """A file with the bit, of the user whose job appends to it."""
    for path in (c.dir, c.work):
        path.chmod(0o755)
    path = c.work / "appended"
    path.touch()
    subprocess.run(["chown", USER, path], check=True)
    path.chmod(0o4777)
    return path


def as_user(c, *words):
    done = subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups", *map(str, words)], cwd=c.work,
                          env=c.env | {"USER": USER, "HOME": "/"}, text=True, capture_output=True, timeout=40 * SLOW)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_bit(path):
    return bool(path.stat().st_mode & stat.S_ISUID)


def test_the_rest_of_a_labelled_line(c, file):
    """A line that has no end is written when the task has ended."""
    as_user(c, "srun", "-n1", "-l", "-o", file, "--open-mode=append", "printf", "half")
    assert file.read_text() == "0: half\n"
    assert not has_bit(file)


def test_notices(c, file):
    job = int(as_user(c, "sbatch", "--parsable", "-o/dev/null", "-e", file, "--open-mode=append", "--wrap", "exec sleep 300"))
    c.wait_state(job, "RUNNING")
    as_user(c, "scancel", job)
    c.wait_end(job)
    wait_until(lambda: "CANCELLED" in file.read_text(), "the notice is there")
    assert not has_bit(file)


LOOKUP, FORGET, GETATTR, SETATTR, OPEN, WRITE, RELEASE, FLUSH, INIT, INTERRUPT, FORGETS = 1, 2, 3, 4, 14, 16, 18, 25, 26, 36, 42
ENOENT, ENOSYS, ALWAYS = 2, 38, 1 << 30
HEAD, ANSWER, WRITTEN = struct.Struct("=IIQQIIII"), struct.Struct("=IiQ"), struct.Struct("=QQIIQII")


def attributes(node):
    """1 is the folder, all else an empty file."""
    return struct.pack("=QQQQQQIIIIIIIIII", node, 0, 0, 0, 0, 0, 0, 0, 0, 0o040777 if node == 1 else 0o100666, 1, 0, 0, 0, 4096, 0)


def body_of(op, node, message):
    """What is answered; None: that there is no such request."""
    if op == INIT:
        return struct.pack("=IIIIHHIIHH", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0) + bytes(28)
    if op == LOOKUP:
        return struct.pack("=QQQQII", 2, 0, ALWAYS, ALWAYS, 0, 0) + attributes(2)
    if op in (GETATTR, SETATTR):
        return struct.pack("=QII", ALWAYS, 0, 0) + attributes(node)
    if op == WRITE:
        return struct.pack("=II", WRITTEN.unpack_from(message, HEAD.size)[2], 0)
    return {OPEN: bytes(16), RELEASE: b""}.get(op)


class Served:
    """A folder of a file system that USER serves.  Its program tells as often as `missing` says that a name is not there;
    then it takes no request any more, and `silent` is true when one waits.  One that it takes could not be killed.
    With has_file any name is that of one file: `text` is what was written there, `is_open` that it is open.  With hold
    no request is taken from then on."""

    def __init__(self, folder, fd):
        self.folder, self.fd, self.missing, self.silent = folder, fd, 0, False
        self.began, self.has_file, self.hold, self.is_open, self.text = False, False, False, False, b""
        threading.Thread(target=self.serve, daemon=True).start()

    def takes(self):
        return not self.began or self.missing > 0 or (self.has_file and not (self.hold and self.is_open))

    def serve(self):
        while select.select([self.fd], [], [])[0] and self.takes():
            try:
                message = os.read(self.fd, 1 << 20)
            except OSError:
                return  # unmounted
            _, op, unique, node, *_ = HEAD.unpack_from(message)
            body = body_of(op, node, message) if op == INIT or self.has_file else None
            if body is not None and op == WRITE:
                self.text += message[HEAD.size + WRITTEN.size:]
            error = 0 if body is not None else ENOENT if op == LOOKUP else ENOSYS
            body = body or b""
            if op in (FORGET, FORGETS, INTERRUPT):
                continue  # without an answer
            with suppress(FileNotFoundError):  # who asked has ended
                os.write(self.fd, ANSWER.pack(ANSWER.size + len(body), -error, unique) + body)
            self.began = self.began or op == INIT
            self.missing -= op == LOOKUP
            self.is_open = self.is_open or op == FLUSH  # of who has opened it; the kernel asks for none any more
        self.silent = True


@pytest.fixture
def served(c):
    """A folder of a file system that USER serves."""
    folder, user = c.dir / "served", pwd.getpwnam(USER)
    folder.mkdir(exist_ok=True)
    c.dir.chmod(0o755)
    c.work.chmod(0o777)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("this kernel has no file systems of users")
    options = f"fd={fd},rootmode=40000,user_id={user.pw_uid},group_id={user.pw_gid},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"served", bytes(folder), b"fuse", 0, options.encode()):
        os.close(fd)
        pytest.skip("nothing can be mounted here")
    yield Served(folder, fd)
    libc.umount2(bytes(folder), 1)  # whoever waits for an answer gets an error
    libc.umount2(bytes(folder), 2)
    os.close(fd)


SERVE = """
import ctypes, os, sys
folder, uid, gid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fd = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(fd, True)
options = f"fd={fd},rootmode=40000,user_id={uid},group_id={gid},allow_other"
if ctypes.CDLL(None).mount(b"served", folder.encode(), b"fuse", 0, options.encode()):
    sys.exit("no mount")
os.setgid(gid)
os.setuid(uid)
print("mounted", flush=True)
os.execvp("sleep", ["sleep", "infinity"])
"""


@pytest.fixture
def silent_folder_elsewhere(c):
    """The folder of a silent program in a mount namespace of USER's own, named by the process that lives there."""
    folder, uid, gid = c.dir / "elsewhere", pwd.getpwnam(USER).pw_uid, grp.getgrnam(GROUP).gr_gid
    folder.mkdir(exist_ok=True)
    c.dir.chmod(0o755)
    c.work.chmod(0o777)
    argv = ["unshare", "--mount", sys.executable, "-c", SERVE, folder, uid, gid]
    server = subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    mounted = server.stdout.readline()
    if mounted:
        yield f"/proc/{server.pid}/root{folder}"
    server.kill()
    server.wait()
    server.stdout.close()
    if not mounted:
        pytest.skip("this kernel has no file systems of users")


def ends_all_the_same(c, job):
    as_user(c, "scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    wait_until(lambda: "COMPLETING" not in c.run("scontrol", "show", "node", "node1").out, "its node is clean")


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_folder_that_does_not_answer(c, where, request):
    """The job waits for its folder, and the step daemon can still be told to end it."""
    folder = request.getfixturevalue("served").folder if where == "here" else request.getfixturevalue("silent_folder_elsewhere")
    out = c.work / f"waits-for-folder-{where}"
    job = int(as_user(c, "sbatch", "--parsable", "-o", out, "-D", folder, "--wrap", "pwd"))
    c.wait_state(job, "RUNNING")
    wait_until(out.exists, "the job's output is open")
    ends_all_the_same(c, job)
    assert "CANCELLED" in out.read_text() and "/tmp" not in out.read_text()


def test_a_tmpdir_that_does_not_answer(c, silent_folder_elsewhere):
    """The task's own process waits for its TMPDIR."""
    tmpdir = f"--export=ALL,TMPDIR={silent_folder_elsewhere}"
    job = int(as_user(c, "sbatch", "--parsable", "-o", "/dev/null", tmpdir, "--wrap", "true"))
    c.wait_state(job, "RUNNING")
    ends_all_the_same(c, job)


def test_an_output_elsewhere_that_does_not_answer(c, silent_folder_elsewhere):
    job = int(as_user(c, "sbatch", "--parsable", "-o", f"{silent_folder_elsewhere}/out", "--wrap", "true"))
    c.wait_state(job, "RUNNING")
    ends_all_the_same(c, job)


def test_an_output_that_does_not_answer(c, served):
    job = int(as_user(c, "sbatch", "--parsable", "-o", served.folder / "out", "--wrap", "true"))
    wait_until(lambda: served.silent, "the output is looked for")
    ends_all_the_same(c, job)


def test_folders_of_an_output_that_are_not_made(c, served):
    served.missing = 2  # as often as an open needs
    job = int(as_user(c, "sbatch", "--parsable", "-o", served.folder / "a" / "out", "--wrap", "true"))
    wait_until(lambda: served.silent, "its folder is to be made")
    ends_all_the_same(c, job)


def test_a_program_that_is_gone(c, served):
    """Of a program that cannot be started the first line is read, for the interpreter that it names."""
    served.missing = 1
    out = c.work / "gone"
    job = int(as_user(c, "sbatch", "--parsable", "-o", out, "--wrap", f"srun {served.folder}/program"))
    wait_until(lambda: served.silent, "its first line is looked for")
    ends_all_the_same(c, job)


# ---- what the step daemon has to write there

def test_a_notice_for_a_file_that_takes_nothing(c, served):
    served.has_file = served.hold = True
    job = int(as_user(c, "sbatch", "--parsable", "-o", "/dev/null", "-e", served.folder / "err", "--wrap", "exec sleep 300"))
    c.wait_state(job, "RUNNING")
    wait_until(lambda: served.is_open, "its error output is open")
    ends_all_the_same(c, job)
    assert served.silent


def test_labelled_lines_for_a_file_that_takes_nothing(c, served):
    served.has_file = served.hold = True
    job = int(as_user(c, "sbatch", "--parsable", "-o", "/dev/null", "--wrap",
                      f"srun -n1 -l -o {served.folder}/out-%t bash -c 'echo x; exec sleep 300'"))
    wait_until(lambda: served.silent, "a line is to be written")
    ends_all_the_same(c, job)


def test_labelled_lines_and_notices_that_are_taken(c, served):
    served.has_file = True
    as_user(c, "srun", "-n2", "-l", "-o", served.folder / "out-%t", "printf", r"one\ntwo\nhalf")
    assert sorted(served.text.decode().splitlines()) == ["0: half", "0: one", "0: two", "1: half", "1: one", "1: two"]
    served.text = b""
    job = int(as_user(c, "sbatch", "--parsable", "-o", served.folder / "out", "--wrap", "echo begun; exec sleep 300"))
    wait_until(lambda: served.text == b"begun\n", "the script writes there itself")
    as_user(c, "scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    wait_until(lambda: "CANCELLED" in served.text.decode(), "the step daemon, too")
