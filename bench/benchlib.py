"""What every system benchmark here needs: spawning, exact CPU accounting, numbers, submissions.

A cluster under test is known by its commands on PATH alone, so the same code measures any program
that offers them.  CPU is counted for the cluster's own processes (and the commands and jobs), not
for the machine, so that other work on the machine does not enter the figures.
"""
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

CLK = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1


def emit(**fields):
    """One result: a JSON line on stdout."""
    row = {k: round(v, 4) if isinstance(v, float) else v for k, v in fields.items()}
    print(json.dumps(row), flush=True)
    return row


def note(text):
    print("# " + text, file=sys.stderr, flush=True)


def percentile(values, p):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(p * (len(ordered) - 1)))] if ordered else None


def rss_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def machine_cpu():
    """Busy CPU seconds of the whole machine, other people's work included."""
    with open("/proc/stat") as f:
        n = [int(x) for x in f.readline().split()[1:]]
    return (n[0] + n[1] + n[2] + n[5] + n[6]) / CLK


# ---- daemons ------------------------------------------------------------------------------------


def proc_cpu(pid):
    """(name, CPU seconds of the process, and of the children it has waited for)"""
    with open(f"/proc/{pid}/stat") as f:
        text = f.read()
    end = text.rindex(")")
    n = text[end + 2:].split()
    return (text[text.index("(") + 1:end].removesuffix("-wlm"), (int(n[11]) + int(n[12])) / CLK,
            (int(n[13]) + int(n[14])) / CLK)


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                found += [int(x) for x in f.read().split()]
    except OSError:
        pass
    return found


def prctl(option, value):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def end_descendants(wait=False):
    """End whatever we have started or adopted, SIGTERM first; nobody else's process can be hit."""
    for sig, wait_s in ((signal.SIGTERM, 5), (signal.SIGKILL, 30)):
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            left = children(os.getpid())
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, sig)
                    if wait:
                        os.waitpid(pid, os.WNOHANG)
                except (ProcessLookupError, ChildProcessError):
                    pass
            time.sleep(0.05)


class Cage:
    """A process that is the parent of a cluster's daemons and adopts whatever they leave behind.

    It sums the CPU time of everything that ends below it, and when it is closed nothing started
    below it remains.  Daemons run in the foreground as its children."""

    def __init__(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                ours.close()
                Keeper(theirs).run()
                code = 0
            except BaseException as e:  # must not return into the benchmark
                note(f"cage: {e!r}")
            finally:
                os._exit(code)
        theirs.close()
        self.file = ours.makefile("rw")
        self.sock = ours

    def ask(self, **request):
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()
        line = self.file.readline()
        if not line:
            raise RuntimeError("the process that holds the daemons is gone")
        return json.loads(line)

    def start(self, argv, env, log):
        return self.ask(do="start", argv=argv, env=env, log=log)["pid"]

    def cpu(self):
        """CPU seconds by program, since the cage was made."""
        return self.ask(do="cpu")["cpu"]

    def wait_gone(self, pid, timeout=60):
        until = time.monotonic() + timeout
        while self.ask(do="alive", pid=pid)["alive"]:
            if time.monotonic() > until:
                raise RuntimeError(f"process {pid} does not end")
            time.sleep(0.002)

    def close(self):
        if self.pid:
            self.sock.shutdown(socket.SHUT_RDWR)
            os.waitpid(self.pid, 0)
            self.file.close()
            self.sock.close()
            self.pid = 0


class Keeper:
    """The other side of a Cage."""

    def __init__(self, sock):
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the benchmark ends us
        signal.signal(signal.SIGTERM, self.stop)
        self.sock, self.done = sock, {}
        self.file = sock.makefile("rw")

    def stop(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)

    def reap(self, block=False):
        flags = os.WEXITED | os.WNOWAIT | (0 if block else os.WNOHANG)
        while True:
            try:
                info = os.waitid(os.P_ALL, 0, flags)
            except ChildProcessError:
                return False
            if info is None:
                return True
            with open(f"/proc/{info.si_pid}/comm") as f:
                name = f.read().strip().removesuffix("-wlm")
            _, _, used = os.wait4(info.si_pid, 0)
            self.done[name] = self.done.get(name, 0) + used.ru_utime + used.ru_stime

    def reap_for_ever(self):
        while True:
            if not self.reap(block=True):
                time.sleep(0.05)

    def cpu(self):
        by = dict(self.done)
        for pid in children(os.getpid()):
            try:
                name, own, below = proc_cpu(pid)
                by[name] = by.get(name, 0) + own
                by[name + " children"] = by.get(name + " children", 0) + below
            except OSError:
                pass
        return by

    def answer(self, q):
        if q["do"] == "start":
            log = os.open(q["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            pid = os.posix_spawn(q["argv"][0], q["argv"], q["env"], setsid=True, file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
            os.close(log)
            return {"pid": pid}
        if q["do"] == "alive":
            return {"alive": q["pid"] in children(os.getpid())}
        return {"cpu": self.cpu()}

    def run(self):
        threading.Thread(target=self.reap_for_ever, daemon=True).start()
        for line in self.file:
            self.file.write(json.dumps(self.answer(json.loads(line))) + "\n")
            self.file.flush()
        end_descendants()


# ---- commands -----------------------------------------------------------------------------------


def out(cluster, argv, timeout=600):
    return subprocess.run(argv, cwd=cluster.dir, env=cluster.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout)


def spawn_wait(cluster, argv, outfd, errfd):
    """The cheapest start of a process that Python has; the exit status."""
    pid = os.posix_spawn(cluster.bin(argv[0]), argv, cluster.env, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, outfd, 1), (os.POSIX_SPAWN_DUP2, errfd, 2)])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Span:
    """Wall time and CPU between enter and exit: by program, and of the commands that we started."""

    def __init__(self, cluster):
        self.cluster = cluster

    def commands(self):
        t = os.times()
        return t.children_user + t.children_system

    def __enter__(self):
        self.by0, self.cmd0, self.mach0 = self.cluster.cage.cpu(), self.commands(), machine_cpu()
        self.driver0, self.t0 = parallel.driver_s, time.monotonic()
        return self

    def __exit__(self, *_):
        self.wall = time.monotonic() - self.t0
        by = self.cluster.cage.cpu()
        self.by = {k: v - self.by0.get(k, 0) for k, v in by.items() if v - self.by0.get(k, 0) > 0}
        self.driver_s = parallel.driver_s - self.driver0
        self.commands_s = self.commands() - self.cmd0 - self.driver_s
        self.ctld_s = self.by.get("slurmctld", 0)
        self.cpu_s = sum(self.by.values()) + self.commands_s + self.driver_s
        self.machine_s = machine_cpu() - self.mach0


def fork_client():
    """fork(); the child ends when the benchmark does, even by SIGKILL."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return pid


def parallel(clients, total, work):
    """clients processes, each work(client, its share); started at one moment; the seconds taken.

    What the clients themselves use, which is the driver's share, is added to parallel.driver_s."""
    r, w = os.pipe()
    tell_r, tell_w = os.pipe()
    pids = []
    for c in range(clients):
        n = total // clients + (1 if c < total % clients else 0)
        pid = fork_client()
        if pid == 0:
            code = 1
            try:
                os.close(w)
                os.read(r, 1)
                before = time.process_time()
                work(c, n)
                os.write(tell_w, b"%.6f\n" % (time.process_time() - before))
                code = 0
            except BaseException as e:  # must not return into the benchmark
                note(f"client {c}: {e!r}")
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(r)
    t0 = time.monotonic()
    os.close(w)
    for pid in pids:
        os.waitpid(pid, 0)
    seconds = time.monotonic() - t0
    os.close(tell_w)
    with os.fdopen(tell_r) as f:
        parallel.driver_s += sum(float(x) for x in f)
    return seconds


parallel.driver_s = 0.0
SCRIPT = "#!/bin/sh\n/bin/true\n"


def submit(cluster, total, clients=8, args=()):
    """A loop of sbatch processes in each client: (seconds, ids acknowledged)."""
    folder = cluster.scratch()
    script = os.path.join(folder, "job.sh")
    with open(script, "w") as f:
        f.write(SCRIPT)
    argv = ["sbatch", "--parsable", "-n1", "-t", "10", "-o", "/dev/null", "--mem=1", *args, script]
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND

    def work(c, n):
        ids = os.open(os.path.join(folder, f"ids.{c}"), flags, 0o644)
        err = os.open(os.path.join(folder, f"err.{c}"), flags, 0o644)
        for _ in range(n):
            spawn_wait(cluster, argv, ids, err)

    seconds = parallel(clients, total, work)
    acked, complaints = [], ""
    for c in range(clients):
        for kind in ("ids", "err"):
            path = os.path.join(folder, f"{kind}.{c}")
            with open(path) as f:
                text = f.read()
            os.unlink(path)
            if kind == "ids":
                acked += [int(x) for x in re.findall(r"^(\d+)", text, re.M)]
            else:
                complaints += text
    if len(acked) < total:
        note(f"{cluster.label}: {total - len(acked)} of {total} submissions failed: {complaints[:300].strip()}")
    return seconds, acked


def sdiag(cluster, label):
    """A number that sdiag prints after `label:`; None when it does not answer."""
    m = re.search(rf"^\s*{label}:\s+(\d+)", out(cluster, ["sdiag"]).stdout, re.M | re.I)
    return int(m.group(1)) if m else None
