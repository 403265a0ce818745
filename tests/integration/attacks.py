"""Attacks of one user on everybody else's service: connections, bytes, memory, logs.  Used by test_attack_conn.py, which says
what must hold, and by bench/attack, which measures the others meanwhile.

An attack is a generator run in a process of the attacking user: it prepares itself, yields a value, and does its next piece
whenever it is asked again.

    with Attacker(65534, idle_unknown, port, 700) as a:
        made = a.go()       # runs to the first yield
        ...                 # what do others see?
        held = a.go()       # to the second"""

import json
import os
import select
import signal
import socket
import time
import traceback

from rawwire import ERROR, MORE, Peer, frame, messages

MIB = 1024 * 1024


class Attacker:
    def __init__(self, uid, attack, *args):
        messages()  # made once, here: the child cannot write where we can
        self.to_child, self.from_child = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.run_child(uid, attack, args)
        os.close(self.to_child[0])
        os.close(self.from_child[1])
        self.answers = os.fdopen(self.from_child[0], "r")

    def run_child(self, uid, attack, args):
        status = 1
        try:
            os.close(self.to_child[1])
            os.close(self.from_child[0])
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            steps = attack(*args)
            while os.read(self.to_child[0], 1):
                os.write(self.from_child[1], (json.dumps(next(steps, None)) + "\n").encode())
            status = 0
        except BaseException:  # the parent sees the end of the pipe, a reader the reason
            traceback.print_exc()
        finally:
            os._exit(status)

    def start(self):
        """Begin the next piece; end() waits for it."""
        os.write(self.to_child[1], b"x")

    def ready(self):
        """Is the piece done that was begun?"""
        return bool(select.select([self.answers], [], [], 0)[0])

    def end(self):
        line = self.answers.readline()
        assert line, "the attack broke off"
        return json.loads(line)

    def go(self):
        self.start()
        return self.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to_child[1])
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.answers.close()


# ---- connections -----------------------------------------------------------------------------------


def raise_files():
    import resource
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connect(port, tcp):
    s = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
    s.settimeout(10)
    s.connect(("127.0.0.1", port) if tcp else f"\0penstock/ctld/{port}".encode())
    return s


def held(socks):
    """How many the server still holds."""
    poll = select.poll()
    alive = {s.fileno() for s in socks if s.fileno() >= 0}
    for fd in alive:
        poll.register(fd, select.POLLIN | select.POLLRDHUP | select.POLLHUP)
    for fd, events in poll.poll(0):
        if events & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
            alive.discard(fd)
    return len(alive)


def idle_unknown(port, count, tcp=False):
    """Connections that never say who they are; they come back whenever they are thrown out."""
    raise_files()
    socks = []
    while True:
        try:
            while len(socks) < count:
                socks.append(connect(port, tcp))
        except OSError:
            pass
        yield len(socks)
        before = -1
        while before != (now := held(socks)):
            before = now
            time.sleep(0.5)  # until no more are thrown out
        alive = []
        for s in socks:
            alive.append(s) if held([s]) else s.close()
        socks = alive
        yield len(socks)


def idle_users(port, count, cluster="test"):
    """Connections that log in and then do nothing."""
    raise_files()
    peers = []
    try:
        for _ in range(count):
            peers.append(Peer(connect(port, False)))
            peers[-1].hello(cluster)
    except (OSError, AssertionError):
        pass
    while True:
        yield held([p.sock for p in peers])


# ---- memory ----------------------------------------------------------------------------------------


def log_in(port, cluster):
    p = Peer(connect(port, False))
    p.hello(cluster)
    return p


def held_job(p, size, env=4, work="/tmp"):
    """Submit a held job with a script and an environment that are like no other; (flags, reply)."""
    pb = messages()
    head = b"#!/bin/sh\n#" + os.urandom(32).hex().encode()
    body = head + b"x" * (size - len(head))
    job = pb.JobRecord(name="held", batch=True, work_dir=work, num_tasks=1, command="x")
    variables = b"A=" + (os.urandom(32).hex().encode() * (env // 64 + 1))[:env - 3] + b"\0"
    return p.call("job-submit", pb.SubmitRequest(job=job, script=body, environment=variables, hold=True))


def deaf_readers(port, count, asks, size=3 * MIB, cluster="test"):
    """Connections that ask for a large script again and again and read nothing."""
    raise_files()
    pb = messages()
    p = log_in(port, cluster)
    flags, reply = held_job(p, size)
    assert not flags & ERROR, reply
    peers, asked = [], 0
    for _ in range(count):
        try:
            peers.append(log_in(port, cluster))
        except (OSError, AssertionError):
            break
    for q in peers:
        q.sock.setblocking(False)
        for _ in range(asks):
            try:
                q.send("query-script", pb.JobIdRequest(job_id=reply.job_id))
                asked += 1
            except OSError:
                break
    while True:
        yield {"asked": asked, "held": held([q.sock for q in peers])}


def large_jobs(port, count, size, env=4, cluster="test"):
    """Held jobs, each with a large script and environment of its own."""
    p = log_in(port, cluster)
    accepted, why = 0, ""
    for _ in range(count):
        flags, reply = held_job(p, size, env)
        if flags & ERROR:
            why = f"{reply.code} {reply.text}"
        else:
            accepted += 1
    while True:
        yield {"accepted": accepted, "why": why}


def half_frames(port, count, op, size, tcp, cluster="test"):
    """Frames that are announced large, sent but for the end."""
    raise_files()
    socks, sent, refused = [], 0, 0
    data = frame(op, b"", length=size) + bytes(size - 1)
    for _ in range(count):
        s = connect(port, tcp) if tcp else log_in(port, cluster).sock
        socks.append(s)
        s.settimeout(5)
        try:
            s.sendall(data)
            sent += 1
        except OSError:
            refused += 1
    while True:
        yield {"sent": sent, "held": held(socks)}


# ---- logs ------------------------------------------------------------------------------------------


def garbage(port, count, tcp=False):
    """Connections that speak something else."""
    while True:
        for _ in range(count):
            s = connect(port, tcp)
            try:
                s.sendall(b"SSH-2.0-x\r\n" if tcp else b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
                while s.recv(65536):
                    pass
            except OSError:
                pass
            s.close()
        yield count


# ---- accounting ------------------------------------------------------------------------------------


def deaf_accounting(port, conns, asks, size=2 * MIB, cluster="test"):
    """Accounting requests whose answers are not read: what is read before them fills the connection."""
    pb = messages()
    p = log_in(port, cluster)
    flags, reply = held_job(p, size)
    assert not flags & ERROR, reply
    peers = [log_in(port, cluster) for _ in range(conns)]
    for q in peers:
        q.send("query-script", pb.JobIdRequest(job_id=reply.job_id))
    for q in peers:
        q.sock.recv(1, socket.MSG_PEEK)  # it has begun
        for _ in range(asks):
            q.send("query-acct", pb.AcctFilter())
    while True:
        yield held([q.sock for q in peers])


# ---- requests that cost the core much --------------------------------------------------------------


def many_jobs(p, count, array=None):
    """Submit small held jobs, all asked for before the first is answered; the id of the last."""
    pb = messages()
    job = pb.JobRecord(name="x", batch=True, work_dir="/tmp", num_tasks=1, command="x")
    for _ in range(count):
        p.send("job-submit", pb.SubmitRequest(job=job, script=b"#!/bin/sh\n", array=array, hold=True))
    for _ in range(count):
        flags, reply = p.answer("job-submit")
        assert not flags & ERROR, reply
    return reply.job_id


def again(port, cluster, requests):
    """Ask (op, message) pairs on a connection each, answer after answer."""
    while True:
        peers = []
        try:
            for op, body in requests:
                peers.append(log_in(port, cluster))
                peers[-1].sock.settimeout(120)
                peers[-1].send(op, body)
            for p in peers:
                while p.recv()[1] & MORE:
                    pass
        except OSError:
            pass  # it was turned away
        for p in peers:
            p.close()
        yield len(peers)


def array_ids(port, cluster="test"):
    """17 KB: the same expression over a large array, a thousand times.  MaxArraySize is 500001 or more."""
    pb = messages()
    job = many_jobs(log_in(port, cluster), 1, "0-499999:2")
    body = pb.JobActionRequest(ids=[f"{job}_[0-499999]"] * 1000, verb=pb.VERB_SIGNAL, signal=10)
    yield from again(port, cluster, [("job-action", body)])


def unknown_sluids(port, cluster="test"):
    """Ten thousand ids of runs that there are not, beside five thousand jobs."""
    pb = messages()
    many_jobs(log_in(port, cluster), 5000)
    body = pb.JobActionRequest(ids=[f"s{i:013d}" for i in range(1, 10001)], verb=pb.VERB_HOLD)
    yield from again(port, cluster, [("job-action", body)])


def node_filters(port, cluster="test"):
    """Queries whose filters name 60,000 nodes and 16,000 names, beside five thousand jobs."""
    pb = messages()
    many_jobs(log_in(port, cluster), 5000)
    jobs = pb.JobFilter(names=[f"nobody-has-{i}" for i in range(16000)], nodes=",".join(f"n{i}" for i in range(60000)))
    yield from again(port, cluster, [("query-jobs", pb.QueryRequest(jobs=jobs, fields=[1]))] * 4)
