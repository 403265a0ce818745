"""srun and salloc --x11: windows of a job on the user's display, cookies, who is kept out, and when it ends."""
import os
import pwd
import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "PrologFlags=X11"}

NAME = b"MIT-MAGIC-COOKIE-1"

# An X program: the first message with the cookie of its display, then what the server says.
PROGRAM = r"""
import os, socket, struct, sys
host, number = os.environ["DISPLAY"].split(":")
number = number.split(".")[0]
data, at, cookie = open(os.environ.get("XAUTHORITY", os.path.expanduser("~/.Xauthority")), "rb").read(), 0, b""
def field():
    global at
    n = struct.unpack(">H", data[at:at + 2])[0]
    at += 2 + n
    return data[at - n:at]
while at < len(data):
    at += 2
    address, display, name, value = field(), field(), field(), field()
    if display.decode() == number:
        cookie = value
if len(sys.argv) > 1:
    cookie = bytes.fromhex(sys.argv[1])
s = socket.create_connection((host, 6000 + int(number)))
name = b"MIT-MAGIC-COOKIE-1"
window = b"window of " + os.environ["SLURMD_NODENAME"].encode()
s.sendall(struct.pack(">cxHHHHxx", b"B", 11, 0, len(name), len(cookie)) + name + b"\0\0" + cookie + window)
print(os.environ["DISPLAY"], s.recv(64).decode() or "refused", flush=True)
"""


class Display:
    """A server on 127.0.0.1 that takes one cookie and answers what comes behind it."""

    def __init__(self, folder):
        self.cookie, self.seen, self.wrong = os.urandom(16), [], 0
        self.listener = socket.socket()
        for self.number in range(100, 1000):
            try:
                self.listener.bind(("127.0.0.1", 6000 + self.number))
                break
            except OSError:
                continue
        self.listener.listen(16)
        self.authority = folder / "authority"
        self.write(self.cookie)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def write(self, cookie, path=None):
        fields = socket.gethostname().encode(), str(self.number).encode(), NAME, cookie
        (path or self.authority).write_bytes(struct.pack(">H", 256) + b"".join(struct.pack(">H", len(f)) + f for f in fields))

    @property
    def env(self):
        return {"DISPLAY": f"localhost:{self.number}", "XAUTHORITY": str(self.authority)}

    def serve(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(c,), daemon=True).start()

    def answer(self, c):
        with c:
            data = c.recv(4096)
            if not data:
                return  # only looked whether somebody listens
            if data[32:48] != self.cookie:
                self.wrong += 1
                return
            while len(data) < 49:
                data += c.recv(4096)
            self.seen.append(data[48:].decode())
            c.sendall(b"shown")
            c.recv(1)  # until the program has gone

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def display(folder):
    d = Display(folder)
    yield d
    d.close()


@pytest.fixture
def home():
    """Where the job's user has his own file; what is there stays."""
    path = Path(os.path.expanduser(f"~{pwd.getpwuid(os.getuid()).pw_name}")) / ".Xauthority"
    kept = path.read_bytes() if path.exists() else None
    yield path
    path.unlink(missing_ok=True)
    if kept is not None:
        path.write_bytes(kept)
        path.chmod(0o600)


@pytest.fixture
def program(c):
    path = c.work / "window.py"
    path.write_text(PROGRAM)
    return ("python3", str(path))


def lines(out):
    return sorted(out.splitlines())


def test_srun_shows_windows_of_all_nodes(c, display, program):
    out = c.run("srun", "--x11", "-N2", *program, env=display.env).out
    assert [line.split()[1] for line in lines(out)] == ["shown", "shown"]
    assert all(line.startswith("localhost:") and int(line.split()[0][10:]) >= 10 for line in lines(out))
    assert sorted(display.seen) == ["window of node1", "window of node2"] and display.wrong == 0


@pytest.mark.parametrize("word, node", [("first", "node1"), ("batch", "node1"), ("last", "node2"), ("all", None)])
def test_salloc_on_the_nodes_asked_for(c, display, program, word, node):
    show = "echo $SLURMD_NODENAME $DISPLAY $(test -f \"$XAUTHORITY\" && echo file)"
    script = f"srun -N2 --label bash -c '{show}'; srun -N1 -w {node or 'node2'} {' '.join(program)}"
    out = c.run("salloc", f"--x11={word}", "-N2", "bash", "-c", script, env=display.env).out
    own = f"localhost:{display.number}"
    given = {line.split()[1] for line in out.splitlines() if line[1:2] == ":" and line.split()[2] != own}
    assert given == ({node} if node else {"node1", "node2"})
    assert display.seen == [f"window of {node or 'node2'}"]


def test_the_cookie_stays_at_home(c, display, program):
    """What the node has is another one, for the user alone, and gone with the job."""
    show = "stat -c '%a %u' $XAUTHORITY; od -An -tx1 $XAUTHORITY | tr -d ' \\n'; echo; echo $XAUTHORITY"
    mode, data, path = c.run("srun", "--x11", "bash", "-c", show, env=display.env).out.splitlines()
    assert mode == f"600 {os.getuid()}"
    assert display.cookie.hex() not in data and NAME.hex() in data
    wait_until(lambda: not os.path.exists(path), "the file goes with the job")
    assert display.cookie.hex() not in "".join(p.read_text(errors="replace") for p in (c.dir / "log").iterdir())


def test_without_the_cookie_nothing_is_shown(c, display, program):
    out = c.run("srun", "--x11", *program, "00" * 16, env=display.env).out
    assert out.split()[1] == "refused" and display.seen == [] and display.wrong == 0
    # Nor with that of the display itself, which a job has no business to know.
    assert c.run("srun", "--x11", *program, display.cookie.hex(), env=display.env).out.split()[1] == "refused"
    assert display.seen == [] and display.wrong == 0


def test_many_windows_and_many_bytes(c, display, program, folder):
    """A program that another holds up does not stop it."""
    many = " & ".join([" ".join(program)] * 20) + " & wait"
    out = c.run("srun", "--x11", "bash", "-c", many, env=display.env, timeout=120).out
    assert out.count("shown") == 20 and len(display.seen) == 20


def test_it_ends_with_the_job(c, display, program):
    out = c.run("salloc", "--x11", "bash", "-c", "srun bash -c 'echo $DISPLAY'; echo $SLURM_JOB_ID", env=display.env).out.split()
    port = 6000 + int(out[0].split(":")[1])
    c.wait_end(out[1])

    def is_closed():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) != 0
    wait_until(is_closed, "nobody listens for the job any more")


def test_salloc_that_dies_takes_the_display_along(c, display):
    alloc = c.popen("salloc", "--x11", "bash", "-c", "srun bash -c 'echo $DISPLAY; sleep 100'", env=display.env, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL)
    port = 6000 + int(alloc.stdout.readline().split(":")[1])
    alloc.kill()
    alloc.wait()
    alloc.stdout.close()  # which its command has open as well

    def is_closed():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) != 0
    wait_until(is_closed, "the listener goes")
    c.run("scancel", "--me")
    wait_until(lambda: not c.run("squeue", "-h").out, "the job ends")


def test_slurmd_may_be_restarted_meanwhile(c, display, program):
    alloc = c.popen("salloc", "--x11", "-w", "node1", "bash", "-c", f"read go; srun {' '.join(program)}", env=display.env,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: c.run("squeue", "-h", "-o", "%t").out.strip() == "R", "the job runs")
    log = c.dir / "log" / "slurmd-node1.log"
    before = log.read_text().count("registered with the controller")
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    c.start_slurmd("node1")
    wait_until(lambda: log.read_text().count("registered with the controller") > before, "slurmd is back")
    c.wait_nodes("mixed", ["node1"])
    out, err = alloc.communicate("go\n", timeout=60)
    assert out.split()[1:2] == ["shown"], out + err


def test_a_step_of_another_job_gets_no_display(c, display):
    plain = c.run("srun", "bash", "-c", "echo $DISPLAY", env=display.env).out.strip()
    assert plain == display.env["DISPLAY"]  # what the user has, as any variable


def test_over_tls(make_cluster, display):
    c = make_cluster(nodes=1, conf="PrologFlags=X11\nTLSType=tls/auto")
    log = c.dir / "log/slurmd-node1.log"
    wait_until(lambda: "registered with the controller" in log.read_text(), "the node knows who the controller is")
    path = c.work / "window.py"
    path.write_text(PROGRAM)
    assert c.run("srun", "--x11", "python3", path, env=display.env).out.split()[1] == "shown" and display.wrong == 0


# ---- refusals ---------------------------------------------------------------------------------------------------

def test_recorded_refusals(c, display):
    """transcripts 44 and 40"""
    empty = {"DISPLAY": ""}
    assert c.refused("salloc", "--x11", "true", rc=255, env=empty).startswith(
        "salloc: error: No DISPLAY variable set, cannot setup x11 forwarding.\n")
    assert c.refused("srun", "--x11", "true", rc=255, env=empty).startswith(
        "srun: error: No DISPLAY variable set, cannot setup x11 forwarding.\n")
    assert c.refused("sbatch", "--parsable", "--x11", "--wrap=true", rc=255).startswith("sbatch: unrecognized option '--x11'\n")


@pytest.mark.parametrize("env, sentence", [
    ({"DISPLAY": "nonsense"}, "DISPLAY is nonsense, which is not [host]:number[.screen]"),
    ({"DISPLAY": "localhost:59535"}, "The X server of DISPLAY=localhost:59535 does not answer, cannot setup x11 forwarding."),
    ({"XAUTHORITY": "/nonexistent"}, "/nonexistent: No such file or directory, cannot setup x11 forwarding."),
])
def test_displays_that_cannot_be(c, display, env, sentence):
    assert sentence in c.refused("srun", "--x11", "true", rc=255, env={**display.env, **env})
    assert not c.run("squeue", "-h").out


def test_words(c, display):
    assert "--x11 takes all, batch, first or last, not some" in c.refused("srun", "--x11=some", "true", rc=255, env=display.env)
    display.write(b"", display.authority)
    assert "has no MIT-MAGIC-COOKIE-1" in c.refused("srun", "--x11", "true", rc=255, env=display.env)


def test_without_the_flag_it_is_refused(make_cluster, display):
    c = make_cluster(nodes=1, conf="PrologFlags=Contain")
    assert c.refused("srun", "--x11", "true", env=display.env) == \
        "srun: error: Unable to allocate resources: X11 forwarding not available\n"
    assert "Job submit/allocate failed: X11 forwarding not available" in c.refused("salloc", "--x11", "true", env=display.env)


# ---- the file in the home ---------------------------------------------------------------------------------------

def test_home_xauthority(make_cluster, display, home):
    """The user's own file: an entry for the node beside those that were there, and only while the job runs."""
    c = make_cluster(nodes=1, conf="PrologFlags=X11\nX11Parameters=home_xauthority")
    log = c.dir / "log/slurmd-node1.log"
    wait_until(lambda: "registered with the controller" in log.read_text(), "the node knows who the controller is")
    path = c.work / "window.py"
    path.write_text(PROGRAM)
    display.write(b"another cookie..", home)
    before = home.read_bytes()
    done = c.run("srun", "--x11", "bash", "-c", f"echo ${{XAUTHORITY-none}}; python3 {path}", env=display.env)
    assert not done.err
    out = done.out.splitlines()
    assert out[0] == "none" and out[1].endswith(" shown")
    wait_until(lambda: home.read_bytes() == before and not list(home.parent.glob(".Xauthority-*")), "the entry is taken out")


# ---- programs that people use ------------------------------------------------------------------------------------

@pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xauth") and shutil.which("xdpyinfo")),
                    reason="Xvfb, xauth or xdpyinfo is not installed (packages xvfb, xauth, x11-utils)")
def test_a_real_server_and_a_real_program(c, folder):
    authority, cookie = folder / "xvfb.authority", os.urandom(16).hex()
    read_fd, write_fd = os.pipe()

    def add_entry(number):
        argv = ["xauth", "-f", authority, "add", f"{socket.gethostname()}/unix:{number}", ".", cookie]
        subprocess.run(argv, check=True, capture_output=True)
    add_entry(0)
    # The server chooses its number; any cookie of its file will do.
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write_fd), "-auth", str(authority), "-nolisten", "tcp"], pass_fds=[write_fd],
                              stderr=subprocess.DEVNULL)
    try:
        os.close(write_fd)
        number = os.read(read_fd, 16).decode().strip()
        assert number, "Xvfb has not started"
        add_entry(number)
        env = {"DISPLAY": f":{number}", "XAUTHORITY": str(authority)}
        out = c.run("srun", "--x11", "bash", "-c", "xdpyinfo; xauth list", env=env).out
        assert out.startswith("name of display:    localhost:") and "vendor string:    The X.Org Foundation" in out
        assert cookie not in out and "MIT-MAGIC-COOKIE-1" in out
    finally:
        os.close(read_fd)
        server.terminate()
        server.wait()
