"""Who may ask at a UNIX socket or on standard input (rest_auth/local), whom slurmrestd becomes, and when it does not start.  Only
root can be several users."""

import json
import os
import socket
import subprocess

import pytest

from conftest import let_in, program, wait_until
from restd import Restd, V, run_once

CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt"}
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
USERS = {"root": 0, "daemon": 1, "bin": 2}
# Asked as another user, over the socket: a process of its own, as SO_PEERCRED is that of who connects.
ASK = """
import http.client, os, socket, sys
path, uid, method, target, body, *headers = sys.argv[1:]
os.setgroups([]); os.setgid(int(uid)); os.setuid(int(uid))
conn = http.client.HTTPConnection("x", timeout=60)
conn.sock = socket.socket(socket.AF_UNIX)
conn.sock.connect(path)
conn.request(method, target, body or None, dict(h.split(": ", 1) for h in headers))
answer = conn.getresponse()
sys.stdout.write(f"{answer.status} {answer.read().decode()}")
"""


class Local:
    """slurmrestd at a UNIX socket that everybody may connect to."""

    def __init__(self, cluster, *options, user="daemon", security=None, env=None):
        self.folder = cluster.dir / "rest"
        self.folder.mkdir(exist_ok=True)
        let_in(self.folder)
        self.folder.chmod(0o777)
        self.path = self.folder / "sock"
        more = {"SLURMRESTD_SECURITY": security} if security is not None else {}
        self.rest = Restd(cluster, *options, address=f"unix://{self.path}", user=user, env={**more, **(env or {})})
        self.rest.listens = self.path.exists
        self.c = cluster

    def __enter__(self):
        self.rest.__enter__()
        self.path.chmod(0o777)
        return self

    def __exit__(self, *args):
        self.rest.__exit__(*args)

    def ask(self, user, method="GET", path=f"/slurm/{V}/jobs/", body="", **headers):
        """(status, the answer)"""
        words = [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        done = subprocess.run(["/usr/bin/python3", "-c", ASK, str(self.path), str(USERS[user]), method, path, body, *words],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        status, _, text = done.stdout.partition(" ")
        return int(status), json.loads(text) if text.startswith("{") else text

    def owner(self, user, **headers):
        """Whose the job is that the user submits; or the status."""
        body = json.dumps({"script": "#!/bin/sh\n", "job": {"current_working_directory": "/tmp", "environment": ["A=b"], "hold": True}})
        status, answer = self.ask(user, "POST", f"/slurm/{V}/job/submit", body, Content_Type="application/json", **headers)
        if status != 200:
            return status
        owner = self.c.run("squeue", "-h", "-j", str(answer["job_id"]), "-o", "%u").out.strip()
        self.c.run("scancel", str(answer["job_id"]))
        return owner


def token(c, user):
    return c.run("scontrol", "token", f"username={user}", "lifespan=600").out.strip().split("=", 1)[1]


def test_users_at_the_socket(shared):
    """Its own user and root; nobody else without a token.  Either is its own user for the cluster, whomever a header names."""
    with Local(shared) as at:
        assert at.owner("daemon") == "daemon" and at.owner("root") == "daemon"
        assert at.owner("root", X_SLURM_USER_NAME="bin") == "daemon"
        assert at.ask("bin") == (401, "Authentication failure")
        assert at.ask("bin", X_SLURM_USER_NAME="daemon") == (401, "Authentication failure")
        assert at.owner("bin", X_SLURM_USER_TOKEN=token(shared, "bin")) == "bin"
        # a token counts before the socket: a bad one is not replaced by it
        assert at.ask("daemon", X_SLURM_USER_TOKEN="a.b.c")[0] == 511
        assert at.owner("daemon", X_SLURM_USER_TOKEN=token(shared, "bin")) == "bin"
    assert not at.path.exists()


def test_tokens_alone(shared):
    with Local(shared, "-a", "rest_auth/jwt") as at:
        assert at.ask("daemon")[0] == at.ask("root")[0] == 401
        assert at.owner("root", X_SLURM_USER_TOKEN=token(shared, "bin")) == "bin"


def test_the_socket_alone(shared):
    """Tokens are not looked at: with one or without, it is who connects."""
    with Local(shared, "-a", "rest_auth/local") as at:
        assert at.owner("daemon", X_SLURM_USER_TOKEN=token(shared, "root")) == "daemon"
        assert at.ask("bin", X_SLURM_USER_TOKEN=token(shared, "root"))[0] == 401


def test_no_local_user_over_tcp(shared):
    with Restd(shared, "-a", "rest_auth/local") as r:
        assert r.raw("GET", f"/slurm/{V}/ping/")[0] == 401
        assert r.get("ping/")[0] == 401


def test_becomes_the_caller(shared):
    """become_user: root's slurmrestd is whoever connects, and nobody names another one."""
    with Local(shared, user=None, security="become_user") as at:
        assert [at.owner(u) for u in ("root", "daemon", "bin")] == ["root", "daemon", "bin"]
        assert at.owner("bin", X_SLURM_USER_NAME="root") == "bin"
        assert at.ask("bin", "GET", f"/slurm/{V}/reconfigure/")[0] >= 400
        assert at.owner("bin", X_SLURM_USER_TOKEN=token(shared, "daemon")) == "daemon"


def test_of_whom_it_is(shared):
    """-u by name and number, -g: user, group and no other groups."""
    for options, uid, gid in ((("-u", "bin"), 2, 2), (("-u", "2", "-g", "daemon"), 2, 1), (("-u", "daemon", "-g", "2"), 1, 2)):
        with Local(shared, *options, user=None) as at:
            status = open(f"/proc/{at.rest.daemon.pid}/status").read()
            ids = {line.split(":")[0]: line.split()[1:] for line in status.splitlines() if line.startswith(("Uid", "Gid", "Groups"))}
            assert ids == {"Uid": [str(uid)] * 4, "Gid": [str(gid)] * 4, "Groups": [str(gid)]}
            name = {2: "bin", 1: "daemon"}[uid]
            meta = at.ask(name, path=f"/slurm/{V}/ping/")[1]["meta"]["client"]
            assert meta["user"] == name and meta["source"].startswith(f"unix:{at.path}(fd:")


def test_variables_of_a_unit_file(shared):
    """What packages set beside it: SLURM_JWT=daemon, words of SLURMRESTD_SECURITY in any case."""
    with Local(shared, env={"SLURM_JWT": "daemon"}, security="Disable_Unshare_Files,disable_unshare_sysv") as at:
        assert at.owner("daemon") == "daemon" and at.owner("bin", X_SLURM_USER_TOKEN=token(shared, "bin")) == "bin"


@pytest.mark.parametrize("args, security, said", [
    ((), "", "slurmrestd should not be run as the root user."), (("-u", "root"), "", "slurmrestd should not be run as the root user."),
    (("-u", "daemon", "-g", "root"), "", "slurmrestd should not be run with the root group."),
    (("-u", "daemon", "-g", "nosuchgroup"), "", "Unable to resolve gid: nosuchgroup"),
    (("-u", "daemon"), "become_user", "SLURMRESTD_SECURITY=become_user needs root"),
    (("-u", "daemon", "-t", "many"), "", "-t many: a number from 1 to 65536 is wanted"),
    (("-u", "daemon", "unix:"), "", "unix:: the path must have 1 to 107 bytes"),
    (("-u", "daemon", "unix:/nosuch/folder/x"), "", "unix:/nosuch/folder/x: No such file or directory"),
    (("-u", "daemon", "unix:/" + "x" * 120), "", f"unix:/{'x' * 119}: the path must have 1 to 107 bytes"),
])
def test_does_not_start(shared, args, security, said):
    done = run_once(shared, "", *args, env={"SLURMRESTD_SECURITY": security})
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"slurmrestd: fatal: {said}")


def test_does_not_start_as_slurm_user(make_cluster):
    c = make_cluster(nodes=1, conf="AuthAltTypes=auth/jwt")
    let_in(c.dir / "etc")
    text = c.conf.read_text()
    other = c.conf.with_name("other.conf")
    other.write_text("\n".join(line for line in text.splitlines() if not line.startswith("SlurmUser=")) + "\nSlurmUser=daemon\n")
    for security, status in (("", 1), ("disable_user_check", 0)):
        done = run_once(c, "", "-f", str(other), "-u", "daemon", env={"SLURMRESTD_SECURITY": security})
        assert done.returncode == status, done.stderr
        assert status == 0 or done.stderr == "slurmrestd: fatal: slurmrestd should not be run as SlurmUser.\n"


def test_a_path_that_is_taken(shared):
    """A file that nobody listens at is replaced; one that somebody listens at, or that is none of ours, is left."""
    with Local(shared) as at:
        second = run_once(shared, "", "-u", "daemon", f"unix:{at.path}", env={"SLURMRESTD_SECURITY": ""})
        assert second.returncode == 1 and "Address already in use" in second.stderr
        assert at.owner("daemon") == "daemon"
        at.rest.daemon.kill()
        assert at.path.exists()
        at.rest.start()
        at.path.chmod(0o777)
        wait_until(lambda: at.owner("daemon") == "daemon", "the new one listens there")
    kept = at.folder / "kept"
    kept.write_text("mine")
    assert run_once(shared, "", "-u", "daemon", f"unix:{kept}", env={"SLURMRESTD_SECURITY": ""}).returncode == 1
    assert kept.read_text() == "mine"


# ---- standard input: inetd, systemd -----------------------------------------------------------------

def over(shared, family, request, uid=0, end=True, **env):
    """What a slurmrestd that has one end of a connection as its standard input answers at the other end."""
    listener = socket.socket(family)
    if family == socket.AF_UNIX:
        folder = shared.dir / "inetd"
        folder.mkdir(exist_ok=True)
        let_in(folder)
        folder.chmod(0o777)
        path = folder / "sock"
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o777)
    else:
        listener.bind(("127.0.0.1", 0))
    listener.listen()
    script = ("import os, socket, sys\n"
              f"os.setgroups([]); os.setgid({uid}); os.setuid({uid})\n"
              f"s = socket.socket({int(family)}); s.connect({listener.getsockname()!r}); s.settimeout(60)\n"
              f"s.sendall({request!r})\n"
              f"{'s.shutdown(socket.SHUT_WR)' if end else ''}\n"
              "while data := s.recv(65536): sys.stdout.buffer.write(data)\n")
    client = subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE)
    sock, _ = listener.accept()
    done = subprocess.run([program("slurmrestd"), "-f", str(shared.conf), "-u", "daemon"], stdin=sock, stdout=sock, stderr=subprocess.PIPE,
                          timeout=60, env={**shared.env, **env})
    sock.close()
    listener.close()
    return done.returncode, client.communicate(timeout=60)[0].decode()


def request(*headers):
    return "\r\n".join((f"GET /slurm/{V}/ping/ HTTP/1.1", "Host: x", *headers, "", "")).encode()


def test_inetd(shared):
    let_in(shared.dir / "etc")
    for uid, status in ((0, 200), (1, 200), (2, 401)):
        assert over(shared, socket.AF_UNIX, request(), uid)[1].startswith(f"HTTP/1.1 {status} "), uid
    mine = f"X-SLURM-USER-TOKEN: {token(shared, 'bin')}"
    # over TCP the other end is anybody: root's process is not believed
    rc, text = over(shared, socket.AF_INET, request())
    assert rc == 0 and text.startswith("HTTP/1.1 401 ")
    rc, text = over(shared, socket.AF_INET, request(mine) + request(mine, "Connection: close"), 2, end=False)
    assert rc == 0 and text.count('"pings"') == 2
    assert over(shared, socket.AF_INET, b"\x00\x01nonsense\r\n\r\n")[0] == 0
    assert over(shared, socket.AF_INET, b"")[0] == 0


def activated(shared, listener, fds="1", pid="", args=("-u", "daemon")):
    """As systemd starts a service that has a socket unit: descriptor 3 listens."""
    argv = [program("slurmrestd"), "-f", str(shared.conf), *args]
    script = (f"import os\nos.dup2({listener.fileno()}, 3)\n"
              f"os.environ.update(LISTEN_FDS={fds!r}, LISTEN_PID={pid!r} or str(os.getpid()))\nos.execv({argv[0]!r}, {argv!r})\n")
    return subprocess.Popen(["/usr/bin/python3", "-c", script], pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env=shared.env, text=True)


def fetch(address, *headers):
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as s:
        s.settimeout(60)
        s.connect(address)
        s.sendall(request("Connection: close", *headers))
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


def test_sockets_of_systemd(shared):
    """LISTEN_FDS: the sockets are there before slurmrestd is, and stay when it ends."""
    let_in(shared.dir / "etc")
    folder = shared.dir / "systemd"
    folder.mkdir()
    let_in(folder)
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
        unix.bind(str(folder / "sock"))
        tcp.bind(("127.0.0.1", 0))
        for listener, address in ((unix, str(folder / "sock")), (tcp, tcp.getsockname())):
            listener.listen()
            for _ in range(2):
                process = activated(shared, listener)
                said = fetch(address, f"X-SLURM-USER-TOKEN: {token(shared, 'bin')}")
                assert said.startswith("HTTP/1.1 200 "), said
                assert fetch(address).startswith("HTTP/1.1 200 " if listener is unix else "HTTP/1.1 401 ")
                process.terminate()
                assert process.wait(60) == 0, process.stderr.read()
                process.stderr.close()
        assert (folder / "sock").exists()


@pytest.mark.parametrize("fds, said", [("0", "0"), ("x", "x"), ("2", "descriptor 4 is no socket that listens"), ("99999999", "99999999")])
def test_sockets_of_systemd_that_are_none(shared, fds, said):
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        process = activated(shared, tcp, fds)
        assert process.wait(60) == 1 and f"LISTEN_FDS={fds}" in (text := process.stderr.read()) and said in text
        process.stderr.close()


def test_sockets_of_another_process(shared):
    """LISTEN_PID is somebody else's: the variables are not ours, and standard input is served."""
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        process = activated(shared, tcp, pid="1")
        assert process.wait(60) == 0
        process.stderr.close()
