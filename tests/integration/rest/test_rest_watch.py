"""GET /penstock/v1/watch: a job's life in order and exactly once, to those who may see it, across restarts."""

import base64
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from conftest import program, wait_until
from restd import Restd, is_listening

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\nPrivateData=jobs\nMetricsType=metrics/openmetrics\n"}
PATH = "/penstock/v1/watch"


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


class Stream:
    """A watcher's connection; events as [(word, id, object)]."""

    def __init__(self, rest, words="", user="root", accept="text/event-stream", room=None, **headers):
        self.socket = socket.socket()
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.connect(("127.0.0.1", rest.port))
        head = {"Host": "x", "X-SLURM-USER-TOKEN": rest.token(user), **{k.replace("_", "-"): v for k, v in headers.items()}}
        if accept:
            head["Accept"] = accept
        lines = "".join(f"{k}: {v}\r\n" for k, v in head.items())
        self.socket.sendall(f"GET {PATH}{'?' + words if words else ''} HTTP/1.1\r\n{lines}\r\n".encode())
        self.raw, self.ended = b"", False
        self.until(lambda: b"\r\n\r\n" in self.raw)
        head, _, self.raw = self.raw.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split()[1])
        self.sse = "text/event-stream" in self.head

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def read_some(self, timeout, size=65536):
        self.socket.settimeout(timeout)
        try:
            data = self.socket.recv(size)
        except TimeoutError:
            return
        self.raw += data
        self.ended = not data

    def until(self, true, timeout=60):
        deadline = time.monotonic() + timeout
        while not true():
            left = deadline - time.monotonic()
            assert left > 0 and not self.ended, self.raw[-2000:]
            self.read_some(left)

    def events(self):
        text = self.raw[:self.raw.rfind(b"\n") + 1].decode()
        if not self.sse:
            return [(o["event"], o["cursor"], o) for o in map(json.loads, text.splitlines())]
        found = []
        for block in text.split("\n\n")[:-1]:
            f = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "data" in f:
                found.append((f["event"], f["id"], json.loads(f["data"])))
        return found

    def changes(self):
        return [e for e in self.events() if "lsn" in e[2]]

    def states(self, job):
        return [o["after"]["state"] for _, _, o in self.changes() if o.get("id") == job and "state" in o.get("after", {})]

    def until_state(self, job, state):
        self.until(lambda: state in self.states(job))

    def cursor(self):
        return self.events()[-1][1]


LIFE = ["JOB_PENDING", "JOB_RUNNING", "JOB_COMPLETED"]


def run_job(c, user="root"):
    job = c.sbatch("-N1", f"--uid={user}", "-D/", "-o/dev/null", wrap="true")
    c.wait_end(job)
    return job


def test_a_life_of_a_job(rest, shared):
    with Stream(rest) as s:
        assert s.status == 200 and "Cache-Control: no-store" in s.head
        s.until(s.events)
        word, cursor, hello = s.events()[0]
        assert word == "hello" and hello == {"event": "hello", "cursor": cursor}
        job = run_job(shared)
        s.until_state(job, "JOB_COMPLETED")
        assert s.states(job) == LIFE
        told = [(o["lsn"], o["index"]) for _, _, o in s.changes()]
        assert told == sorted(set(told))
        for word, cursor, o in s.changes():
            assert cursor == o["cursor"] == f"{o['lsn']}.{o['index']}"
            assert word == o["entity"].removeprefix("WATCH_").lower()


@pytest.mark.parametrize("accept, sse", [(None, True), ("*/*", True), ("text/event-stream", True), ("application/jsonl", False),
                                         ("application/x-ndjson, */*", False)])
def test_forms(rest, shared, accept, sse):
    with Stream(rest, "types=job", accept=accept) as s:
        assert s.status == 200 and s.sse == sse
        job = run_job(shared)
        s.until_state(job, "JOB_COMPLETED")
        assert s.states(job) == LIFE


@pytest.mark.parametrize("words, headers, status, text", [
    ("cursor=x", {}, 400, "cursor=x: a number, or two with a dot"),
    ("cursor=1.2.3", {}, 400, "a number, or two with a dot"),
    ("cursor=-1", {}, 400, "a number, or two with a dot"),
    ("cursor=99999999999999999999", {}, 400, "a number, or two with a dot"),
    ("cursor=", {}, 400, "cursor: a value is wanted"),
    ("", {"Last_Event_ID": "next"}, 400, "cursor=next"),
    ("typo=1", {}, 400, "typo: there is no such word"),
    ("types=jobs", {}, 400, "types=jobs: job, node and partition are known"),
    ("user=nosuchuser", {}, 400, "there is no such user"),
    ("state=SLEEPING", {}, 400, "there is no such state"),
    ("job_id=x", {}, 400, "x"),
    ("node=n[1", {}, 400, ""),
    ("user=root&node=n1", {}, 400, "types="),
    ("cursor=%00", {}, 400, None),
    ("", {"accept": "text/html"}, 415, "text/event-stream"),
    ("", {"X_SLURM_USER_TOKEN": "a.b.c"}, 511, "Protocol authentication error"),
    ("", {"X_SLURM_USER_TOKEN": ""}, 401, None),
])
def test_bad_requests(rest, words, headers, status, text):
    with Stream(rest, words, **headers) as s:
        assert s.status == status, s.head
        if text is not None:
            s.until(lambda: s.raw.rstrip().endswith(b"}"))
            answer = json.loads(s.raw)
            said = answer["errors"][0]
            assert text in said["error"] and said["description"] == "Unable to watch" and said["source"] == "watch"
            assert answer["meta"]["client"]["source"]


def test_other_methods_and_paths(rest):
    head = {"X-SLURM-USER-TOKEN": rest.token("root")}
    for method, path in (("POST", PATH), ("DELETE", PATH), ("GET", PATH + "/x"), ("GET", PATH + "x"), ("GET", "/penstock/v2/watch")):
        assert rest.raw(method, path, headers=head)[0] == 404


def test_filters(rest, shared):
    user = "bin"
    mine = shared.sbatch("-H", wrap="true")
    with Stream(rest, f"job_id={mine}") as one, Stream(rest, "types=node") as nodes, Stream(rest, f"user={user}") as users, \
            Stream(rest, "state=RUNNING") as states, Stream(rest, "node=node2") as node2, Stream(rest, "partition=nosuch") as none, \
            Stream(rest, "types=partition") as parts, Stream(rest) as all_of_it:
        other = run_job(shared, user=user)
        shared.run("scontrol", "release", str(mine))
        shared.wait_end(mine)
        for name in ("node1", "node2"):
            shared.run("scontrol", "update", f"nodename={name}", "comment=x" + name)
        shared.run("scontrol", "update", "partitionname=main", "state=down")
        shared.run("scontrol", "update", "partitionname=main", "state=up")
        all_of_it.until(lambda: sum(e[0] == "partition" for e in all_of_it.events()) == 2)
        one.until_state(mine, "JOB_COMPLETED")
        assert {o["id"] for _, _, o in one.changes()} == {mine}
        users.until_state(other, "JOB_COMPLETED")
        assert {o["id"] for _, _, o in users.changes()} == {other}
        states.until(lambda: len(states.changes()) == 4)
        assert {o["id"] for _, _, o in states.changes()} == {mine, other}
        nodes.until(lambda: {o["name"] for _, _, o in nodes.changes()} == {"node1", "node2"})
        assert {e[0] for e in nodes.changes()} == {"node"}
        node2.until(node2.changes)
        assert {o["name"] for _, _, o in node2.changes()} == {"node2"}
        parts.until(lambda: len(parts.changes()) == 2)
        assert {(e[0], e[2]["name"]) for e in parts.changes()} == {("partition", "main")}
        assert none.changes() == []


def test_private_data(rest, shared):
    """PrivateData=jobs: users see their own jobs, also behind a cursor, whatever they ask for."""
    before = run_job(shared)
    with Stream(rest) as root:
        root.until(root.events)
        start = root.cursor()
        jobs = {user: run_job(shared, user=user) for user in ("bin", "daemon")}
        mine = run_job(shared)
        root.until_state(mine, "JOB_COMPLETED")
    for user, other in (("bin", "daemon"), ("daemon", "bin")):
        for words in (f"cursor={start}", f"cursor={start}&user=root,{other}", f"cursor={start}&job_id={mine},{jobs[other]}", "cursor=1"):
            with Stream(rest, words, user=user) as s:
                last = run_job(shared, user=user)
                if words in (f"cursor={start}", "cursor=1"):
                    s.until_state(last, "JOB_COMPLETED")
                    assert s.states(jobs[user]) == LIFE
                else:
                    with Stream(rest, f"cursor={start}", user=user) as all_own:
                        all_own.until_state(last, "JOB_COMPLETED")
                    s.read_some(0.2)
                    assert s.changes() == []
                seen = {o["id"] for w, _, o in s.changes() if w == "job"}
                assert not seen & {before, mine, jobs[other]} and (jobs[user] in seen) == bool(s.changes())


def test_acts_for_another(rest, shared):
    with Stream(rest, X_SLURM_USER_NAME="bin") as s, Stream(rest, user="bin", X_SLURM_USER_NAME="daemon") as refused:
        assert s.status == 200 and refused.status == 511
        run_job(shared)
        own = run_job(shared, user="bin")
        s.until_state(own, "JOB_COMPLETED")
        assert {o["id"] for w, _, o in s.changes() if w == "job"} == {own}


def test_dropped_connection(rest, shared):
    """Each connection goes on where the one before was cut, in the middle of whatever."""
    told = []
    with Stream(rest) as s:
        s.until(s.events)
        cursor = s.cursor()
    jobs = [run_job(shared) for _ in range(5)]
    while not told or told[-1][2].get("id") != jobs[-1] or told[-1][2]["after"].get("state") != "JOB_COMPLETED":
        by_header = len(told) % 2
        with Stream(rest, "types=job" if by_header else f"types=job&cursor={cursor}",
                    **({"Last_Event_ID": cursor} if by_header else {})) as s:
            s.until(s.changes)
            told += s.changes()[:1]
            cursor = told[-1][1]
    for job in jobs:
        assert [o["after"]["state"] for _, _, o in told if o["id"] == job and "state" in o["after"]] == LIFE
    at = [(o["lsn"], o["index"]) for _, _, o in told]
    assert at == sorted(set(at))


def test_whole_jobs(rest, shared):
    """objects=true: the job as GET job/{id} gives it, at least as new as the change; other watchers of the token have none."""
    with Stream(rest, "objects=true&types=job") as s, Stream(rest, "types=job") as plain:
        job = run_job(shared)
        for stream in (s, plain):
            stream.until_state(job, "JOB_COMPLETED")
        got = rest.get(f"job/{job}")[1]["jobs"][0]
        told = [o for _, _, o in s.changes() if o["id"] == job]
        assert all(o["job"]["job_id"] == job and list(o["job"]) == list(got) for o in told)
        order = ["PENDING", "RUNNING", "COMPLETED"]
        for o in told:
            if "state" in o["after"]:
                assert order.index(o["job"]["job_state"][0]) >= order.index(o["after"]["state"].removeprefix("JOB_"))
        assert told[-1]["job"] == got
        assert not any("job" in o for _, _, o in plain.changes())
        assert Stream(rest, "objects=2").status == 400
        assert Stream(rest, "objects=true&fields=a;b").status == 400


def test_some_members_of_jobs(rest, shared):
    """fields=: these members alone, as in lists."""
    with Stream(rest, "objects=true&types=job&fields=job_state,job_id,nothing") as s:
        job = run_job(shared)
        s.until_state(job, "JOB_COMPLETED")
        told = [o for _, _, o in s.changes() if o["id"] == job]
        assert told and all(set(o["job"]) == {"job_id", "job_state"} and o["job"]["job_id"] == job for o in told)
        assert told[-1]["job"]["job_state"] == ["COMPLETED"]


def test_cursor_of_the_future(rest):
    with Stream(rest, "cursor=999999999999") as s:
        s.until(lambda: len(s.events()) >= 2)
        (hello, cursor, _), (reset, now, o) = s.events()[:2]
        assert (hello, cursor) == ("hello", "999999999999")
        assert reset == "reset" and int(now) < 999999999999 and o["reason"] == "the log no longer reaches back"


def test_restart_of_slurmrestd(shared):
    with Restd(shared) as first:
        with Stream(first) as s:
            s.until(s.events)
            one = run_job(shared)
            s.until_state(one, "JOB_COMPLETED")
            first.daemon.process.send_signal(signal.SIGTERM)
            s.until(lambda: s.events()[-1][0] == "bye")
            assert s.events()[-1][2]["reason"] == "slurmrestd ends"
            cursor = s.cursor()
            told = [e[1] for e in s.changes()]
    two = run_job(shared)
    with Restd(shared) as second, Stream(second, Last_Event_ID=cursor) as s:
        s.until_state(two, "JOB_COMPLETED")
        assert s.states(two) == LIFE and s.states(one) == []
        assert not set(told) & {e[1] for e in s.changes()}


def test_restart_of_slurmctld(rest, shared):
    with Stream(rest, "types=job") as s, Stream(rest, "types=job", user="bin") as other:
        one = run_job(shared, user="bin")
        s.until_state(one, "JOB_COMPLETED")
        shared.kill_ctld()
        shared.start_ctld()
        two = run_job(shared, user="bin")
        for stream in (s, other):
            stream.until_state(two, "JOB_COMPLETED")
            assert stream.states(one) == stream.states(two) == LIFE
            assert [e[0] for e in stream.events() if e[0] not in ("job",)] == ["hello"]


def test_slurmctld_is_away(rest, shared):
    """A stream that goes on without slurmctld says so, once, and when it is there again; a restart is not told of."""
    def words(stream):
        return [e[0] for e in stream.events() if e[0] != "job"]
    with Stream(rest, "types=job") as s, Stream(rest, "types=job", accept="application/jsonl") as lines:
        shared.kill_ctld()
        shared.start_ctld()
        one = run_job(shared)
        s.until_state(one, "JOB_COMPLETED")
        assert words(s) == ["hello"]
        shared.kill_ctld()
        try:
            s.until(lambda: words(s) == ["hello", "away"], 30)
            assert s.events()[-1][2] == {"event": "away", "cursor": s.cursor(), "reason": "slurmctld does not answer"}
            with Stream(rest, "types=job") as late:  # one who comes meanwhile is told, too
                late.until(lambda: words(late) == ["hello", "away"], 10)
        finally:
            shared.start_ctld()
        s.until(lambda: words(s) == ["hello", "away", "back"], 30)
        two = run_job(shared)
        for stream in (s, lines):
            stream.until_state(two, "JOB_COMPLETED")
            assert stream.states(one) == stream.states(two) == LIFE
        assert [e[2]["event"] for e in lines.events() if e[2]["event"] in ("away", "back")] == ["away", "back"]


def test_a_slow_reader_of_the_past(rest, shared):
    """Who begins far back and reads slowly gets every change once, in order, and holds up nobody."""
    earlier = run_job(shared)
    with Stream(rest) as s:
        s.until(s.events)
        jobs = [shared.sbatch("-H", wrap="true") for _ in range(20)]
        ids = ",".join(map(str, jobs))
        for nice in range(1, 41):
            assert shared.run("scontrol", "update", f"jobid={ids}", f"nice={nice}").rc == 0
        s.until(lambda: sum(o.get("after", {}).get("nice") == 40 for _, _, o in s.changes()) == 20)
        with Stream(rest, "cursor=0&types=job", room=4096) as slow:
            while sum(o.get("after", {}).get("nice") == 40 for _, _, o in slow.changes()) < 20:
                slow.read_some(10, 2048)
                assert not slow.ended, slow.raw[-500:]
            told = [(o["lsn"], o["index"]) for _, _, o in slow.changes()]
            assert told == sorted(set(told))
            want = [e[1] for e in s.changes() if e[0] == "job" and e[2]["id"] in jobs]
            assert [e[1] for e in slow.changes() if e[2]["id"] in jobs] == want and len(want) >= 20 * 41
            assert earlier in {o["id"] for _, _, o in slow.changes()}
            last = run_job(shared)
            s.until_state(last, "JOB_COMPLETED")
            slow.until_state(last, "JOB_COMPLETED")
        shared.run("scancel", *map(str, jobs))


def test_metrics(rest, shared):
    def figures():
        request = urllib.request.Request(f"http://127.0.0.1:{shared.port}/metrics/penstock",
                                         headers={"X-SLURM-USER-TOKEN": rest.token("root")})
        with urllib.request.urlopen(request, timeout=20) as answer:
            found = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
        return int(found["penstock_watchers"]), int(found["penstock_watch_lag_records"])

    with Stream(rest) as s:
        run_job(shared)
        s.until(s.changes)
        wait_until(lambda: figures()[0] >= 1 and figures()[1] == 0, "the watcher is counted, and has taken all")


def test_token_runs_out(rest, shared):
    out = shared.run("scontrol", "token", "username=bin", "lifespan=3").out
    with Stream(rest, X_SLURM_USER_TOKEN=out.strip().split("=", 1)[1]) as s:
        assert s.status == 200
        s.until(lambda: s.events() and s.events()[-1][0] == "bye")
        assert s.events()[-1][2]["reason"] == "the token is no longer believed"
        s.read_some(5)
        assert s.ended


def test_many_tokens(rest, shared):
    """One user with many tokens takes 16 places, not all of them; those that he left are free again."""
    def token():
        return shared.run("scontrol", "token", "username=bin", f"lifespan={6000 + len(tokens)}").out.strip().split("=", 1)[1]

    tokens, streams = [], []
    for _ in range(20):
        tokens.append(token())
        with Stream(rest, X_SLURM_USER_TOKEN=tokens[-1]) as s:
            assert s.status == 200
    for one in tokens[:16]:
        streams.append(Stream(rest, X_SLURM_USER_TOKEN=one))
    assert [s.status for s in streams] == [200] * 16
    with Stream(rest, X_SLURM_USER_TOKEN=tokens[16]) as refused, Stream(rest) as other:
        assert (refused.status, other.status) == (503, 200)
    for s in streams:
        s.socket.close()


def test_who_hangs_up_is_forgotten(rest):
    def descriptors():
        return len(os.listdir(f"/proc/{rest.daemon.process.pid}/fd"))

    with Stream(rest):
        before = descriptors()
        streams = [Stream(rest) for _ in range(50)]
        assert descriptors() >= before + 40
        for s in streams:
            s.socket.close()
        wait_until(lambda: descriptors() <= before + 2, "the sockets are closed")


def test_over_a_unix_socket(shared):
    """rest_auth/local: the watcher is the user at the other end."""
    path = shared.dir / "watch.sock"
    r = Restd(shared, address=f"unix:{path}", user=None, env={"SLURMRESTD_SECURITY": "disable_user_check"})
    r.listens = lambda: is_listening(path)
    with r, socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(str(path))
        sock.sendall(f"GET {PATH}?types=job HTTP/1.1\r\nHost: x\r\nAccept: application/jsonl\r\n\r\n".encode())
        lines = sock.makefile("r", newline="\n")
        assert "200 OK" in lines.readline()
        job = run_job(shared, user="bin")
        state = None
        while state != "JOB_COMPLETED":
            line = lines.readline()
            o = json.loads(line) if line.startswith("{") else {}
            state = o.get("after", {}).get("state", state) if o.get("id") == job else state


def test_on_standard_input(shared):
    """A socket of inetd's on standard input is served, and taken over, like any other."""
    ours, theirs = socket.socketpair()
    env = {**shared.env, "SLURMRESTD_SECURITY": "disable_user_check"}
    with ours, subprocess.Popen([program("slurmrestd"), "-f", str(shared.conf)], stdin=theirs, stdout=theirs, env=env,
                                stderr=subprocess.DEVNULL) as daemon:
        theirs.close()
        ours.settimeout(60)
        ours.sendall(f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = b""
        while b"event: hello" not in got:
            piece = ours.recv(4096)
            assert piece, got
            got += piece
        ours.close()
        assert daemon.wait(20) == 0


def forged(user, number):
    """A token that nobody has signed."""
    def part(what):
        return base64.urlsafe_b64encode(what).decode().rstrip("=")
    claims = {"exp": 4102444800, "iat": number, "sun": user}
    return ".".join(part(json.dumps(one).encode()) for one in ({"alg": "HS256", "typ": "JWT"}, claims)) + "." + part(bytes(32))


def test_forged_tokens_take_no_place(rest, shared):
    """Whom a token names is anybody's word until slurmctld believes it, also when slurmctld is slow to say so."""
    def dials():
        """Connections to slurmctld."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[2].endswith(f":{shared.port:04X}") for row in rows)

    def watch(token):
        with Stream(rest, X_SLURM_USER_TOKEN=token) as s:
            answers.append((token, s.status))
    good, answers, before = rest.token("bin"), [], dials()
    rest.token("root")  # Stream asks for it
    os.kill(shared.ctld.pid, signal.SIGSTOP)
    try:
        watchers = [threading.Thread(target=watch, args=(forged("bin", i),)) for i in range(16)]
        for one in watchers:
            one.start()
        wait_until(lambda: dials() >= before + 16, "the forged ones wait")
        watchers.append(threading.Thread(target=watch, args=(good,)))
        watchers[-1].start()
        watchers[-1].join(6)  # a refusal for want of a place comes within 5 s
    finally:
        os.kill(shared.ctld.pid, signal.SIGCONT)
    for one in watchers:
        one.join()
    assert dict(answers)[good] == 200
    assert {status for token, status in answers if token != good} <= {511, 503}  # refused, or not heard of in time
