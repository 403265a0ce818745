"""Every wait ends: what the bridge and the operator do when something does not come (src/kube/README.md has the table)."""

import contextlib
import signal
import socket
import threading
import time

import pytest
from conftest import SLOW, Daemon, wait_until
from test_kube_bridge import CLUSTER, JOB, Bridge, bridge, external, lws, rest  # noqa: F401  names of fixtures


@pytest.fixture
def hasty(external, rest, tmp_path):
    """A bridge that waits two seconds for Kubernetes, and takes as long a silence of slurmrestd for one."""
    with Bridge(external, rest, tmp_path, rules="waitSeconds: 2\n") as b:
        yield b


def told(api, reason):
    return [e["message"] for e in api.all("events") if e["reason"] == reason]


def test_a_binding_that_is_refused(hasty, external):
    """The job does not hold its node for ever; the pod says why, and is placed when bindings are let in again."""
    hasty.api.fault(403, "POST", "/binding", times=100000)
    hasty.pod("a")
    wait_until(lambda: told(hasty.api, "SlurmBindingRefused"), "the pod says so")
    assert told(hasty.api, "SlurmBindingRefused")[0].startswith("The API server refuses the binding: ")
    first = hasty.job("a")
    wait_until(lambda: told(hasty.api, "SlurmJobGivenUp"), "the job is given up")
    assert told(hasty.api, "SlurmJobGivenUp")[0] == f"Slurm job {first} is given up: its pods could not be bound"
    external.wait_end(first)
    hasty.api.faults.clear()
    hasty.bound("a", timeout=30)
    assert hasty.job("a") != first and hasty.get("a")["metadata"].get("deletionTimestamp") is None


def test_slurmrestd_that_is_away(hasty, rest):
    """Pods that wait say so, those of a job that waits too; nothing is taken away from those that run."""
    hasty.pod("runs")
    hasty.bound("runs")
    rest.daemon.stop()
    try:
        hasty.pod("new")
        wait_until(lambda: told(hasty.api, "SlurmUnknown"), "it is told", 30)
        assert told(hasty.api, "SlurmUnknown") == ["slurmrestd does not answer: pods are neither placed nor ended meanwhile"]
        hasty.kill()  # one that begins without slurmrestd says so, too
        hasty.pod("newer")
        hasty.start()
        wait_until(lambda: {e["involvedObject"]["name"] for e in hasty.api.all("events") if e["reason"] == "SlurmUnknown"} >= {"new", "newer"},
                   "each is told", 30)
        assert hasty.node("runs") and not hasty.get("runs")["metadata"].get("deletionTimestamp")
    finally:
        rest.start()
    hasty.bound("new", "newer", timeout=40)


def test_slurmctld_that_is_away_while_slurmrestd_stays(hasty, external):
    """Pods that wait say who is away; afterwards they say what they wait for again."""
    def why(name):
        return next((c["reason"] for c in hasty.get(name).get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"), "")
    hasty.pod("runs")
    hasty.bound("runs")
    external.run("scontrol", "update", "partitionname=k8s", "state=down")
    hasty.pod("waits")
    wait_until(lambda: why("waits") == "SlurmPending", "its job waits")
    before = len(told(hasty.api, "SlurmUnknown"))  # of a slurmrestd that took longer than two seconds for its first answer
    external.kill_ctld()
    try:
        hasty.pod("new")
        for name in ("waits", "new"):
            wait_until(lambda: why(name) == "SlurmUnknown", f"{name} is told", 30)
        assert set(told(hasty.api, "SlurmUnknown")[before:]) == {"slurmctld does not answer: pods are neither placed nor ended meanwhile"}
        assert not told(hasty.api, "SlurmRefused"), "nobody has refused anything"
        assert hasty.node("runs") and not hasty.get("runs")["metadata"].get("deletionTimestamp")
    finally:
        external.start_ctld()
    wait_until(lambda: why("waits") == "SlurmPending", "it says what it waits for again", 30)
    external.run("scontrol", "update", "partitionname=k8s", "state=up")
    hasty.bound("new", "waits", timeout=40)


def late_s(bridge, name):
    """For how long the pod waits from now on."""
    begun = time.monotonic()
    bridge.bound(name, timeout=60)
    return (time.monotonic() - begun) / SLOW


def outlast(bridge, seconds):
    """Time in which the pauses between tries have grown to several seconds."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, "it lasts", seconds + 10)
    assert bridge.daemon.alive()


def test_who_is_back_is_asked_at_once(bridge, external):
    """slurmctld was away, but not for so long that pods say so: what failed meanwhile does not wait for its pause to end."""
    bridge.pod("before")
    bridge.bound("before")
    external.kill_ctld()
    bridge.pod("a")
    outlast(bridge, 6.5)  # tried after 0.05, 0.15 ... 6.35 s: the next time would be after 12.75 s
    external.start_ctld()
    assert late_s(bridge, "a") < 4


def test_an_api_server_that_is_back_is_asked_at_once(bridge):
    """It failed for some seconds, and the watches with it: pods wait for no pause of theirs."""
    bridge.pod("before")
    bridge.bound("before")
    bridge.api.fault(500, times=1000000)
    bridge.api.cut_watches(hard=True)
    bridge.pod("a")
    outlast(bridge, 9)
    with bridge.api.store.lock:
        bridge.api.faults.clear()
    assert late_s(bridge, "a") < 5


def test_an_api_server_that_refuses_writes_alone(bridge):
    """Watches live on, so that nobody tells when writes are done again: some are tried all the time."""
    bridge.pod("before")
    bridge.bound("before")
    bridge.api.fault(500, "PATCH", "/pods", times=1000000)
    for i in range(6):
        bridge.pod(f"p{i}")
    outlast(bridge, 14)
    with bridge.api.store.lock:
        bridge.api.faults.clear()
    assert max(late_s(bridge, f"p{i}") for i in range(6)) < 5


class Gate:
    """Before slurmrestd: while it is shut it answers submissions with 503, and lets all else pass, the stream of changes too."""

    def __init__(self, rest):
        self.rest, self.shut, self.refused, self.passed = rest, False, 0, []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def __getattr__(self, name):
        return getattr(self.rest, name)

    def serve(self):
        while True:
            try:
                threading.Thread(target=self.take, args=(self.socket.accept()[0],), daemon=True).start()
            except OSError:
                return

    def take(self, caller):
        head = caller.recv(65536)
        if self.shut and head.startswith(b"POST"):
            self.refused += 1
            caller.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            caller.close()
            return
        behind = socket.create_connection(("127.0.0.1", self.rest.port))
        behind.sendall(head)
        if b"/watch" not in head:
            self.passed.append(caller)
        threading.Thread(target=self.pipe, args=(caller, behind), daemon=True).start()
        self.pipe(behind, caller)

    def pipe(self, one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.shut = True
        for caller in self.passed:  # what is kept open for the next request
            try:
                caller.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_a_slurmrestd_that_refuses_writes_alone(external, rest, tmp_path):
    gate = Gate(rest)
    with Bridge(external, gate, tmp_path) as b:
        b.pod("before")
        b.bound("before")
        gate.close()
        for i in range(6):
            b.pod(f"p{i}")
        outlast(b, 14)
        assert gate.refused > 6
        gate.shut = False
        assert max(late_s(b, f"p{i}") for i in range(6)) < 5
    gate.socket.close()


# ---- the end of a process that holds the lease

@pytest.fixture
def leading(external, rest, tmp_path):
    with Bridge(external, rest, tmp_path, ("-l", "default")) as b:
        wait_until(lambda: spec(b.api).get("holderIdentity"), "it holds the lease")
        yield b


def spec(api, name="penstock-bridge"):
    lease = api.get("leases", name)
    return lease["spec"] if lease else {}


def second(b):
    """Another one beside it, whose name is not yet in the lease."""
    env = {**b.c.env, "SLURM_JWT_FILE": str(b.folder / "token")}
    return Daemon("penstock-bridge", [*b.daemon.process.args], b.folder / "second.log", env)


def test_a_bridge_that_ends_gives_its_lease_back(leading):
    """The next begins at once, and counts as another holder."""
    b = leading
    before, other = spec(b.api), second(b)
    try:
        assert b.daemon.stop() == 0
        held = [o["spec"] for _, plural, _, o in b.api.store.log if plural == "leases"]  # the next one may have it already
        after = next(s for s in reversed(held) if s["holderIdentity"] in ("", before["holderIdentity"]))
        assert after["holderIdentity"] == "" and after["leaseDurationSeconds"] == 1, held
        assert before["leaseDurationSeconds"] == 15 and after["leaseTransitions"] == before["leaseTransitions"]
        begun = time.monotonic()
        wait_until(lambda: spec(b.api)["holderIdentity"], "the next one holds it")
        assert time.monotonic() - begun < 10, "a lease that ran out was waited for"  # it asks every 2.5 s
        now = spec(b.api)
        assert now["holderIdentity"] != before["holderIdentity"] and now["leaseTransitions"] == before["leaseTransitions"] + 1
    finally:
        b.daemon = other
    b.pod("a")
    b.bound("a")


@contextlib.contextmanager
def waiting_bindings(b, note=lambda: None, seconds=60):
    """Bindings that are done when the gate opens: (the gate, an event that is set by the first of them)."""
    gate, begun, bind = threading.Event(), threading.Event(), b.api.store.bind

    def late(*binding):
        note()
        begun.set()
        gate.wait(seconds)
        return bind(*binding)

    b.api.store.bind = late
    try:
        yield gate, begun
    finally:
        gate.set()
        b.api.store.bind = bind


def end_while_a_gang_is_bound(b, note):
    """What note said at each binding."""
    seen = []
    with waiting_bindings(b, lambda: seen.append(note()), 30) as (gate, begun):
        names = list(lws(b, 4))
        assert begun.wait(30)
        b.daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: len(seen) == 4, "all four are asked for")
        gate.set()
        assert b.daemon.process.wait(20) == 0
    assert all(b.node(n) for n in names), [b.node(n) for n in names]
    return seen


def test_a_gang_that_is_being_bound_is_bound_before_the_end(leading):
    seen = end_while_a_gang_is_bound(leading, lambda: spec(leading.api)["holderIdentity"])
    assert spec(leading.api)["holderIdentity"] == "" and all(seen), "the lease was held until the last was bound"


def test_a_bridge_without_a_lease_binds_the_gang_before_its_end(bridge):
    """Half of a gang's pods would be on nodes of a job that nobody looks after."""
    end_while_a_gang_is_bound(bridge, lambda: None)


def test_a_bridge_without_a_lease_waits_some_seconds_and_no_more(bridge):
    b = bridge
    with waiting_bindings(b) as (_, begun):
        b.pod("a")
        assert begun.wait(30)
        assert b.daemon.stop() == 0
        assert "not all that was sent has been answered" in (b.folder / "bridge.log.stderr").read_text()
    b.start()
    b.pod("b")
    b.bound("a", "b")


def test_a_binding_without_an_answer_keeps_the_lease(leading):
    """It may still be done: nobody else acts before the lease has run out."""
    b = leading
    with waiting_bindings(b) as (_, begun):
        b.pod("a")
        assert begun.wait(30)
        assert b.daemon.stop() == 0
        kept = spec(b.api)
        assert kept["holderIdentity"] and kept["leaseDurationSeconds"] == 15, kept
    b.bound("a")


def test_a_second_signal_is_not_kept_waiting(leading):
    b, gate, begun = leading, threading.Event(), threading.Event()

    def never(*_binding):
        begun.set()
        gate.wait(60)

    b.api.store.bind, bind = never, b.api.store.bind
    b.pod("a")
    assert begun.wait(30)
    try:
        b.daemon.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)  # two signals that wait are one
        b.daemon.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert b.daemon.process.wait(20) == 0
        assert time.monotonic() - started < 2
    finally:
        b.api.store.bind = bind
        gate.set()


def test_a_bridge_that_was_held_back_does_nothing_more(leading, external):
    """Paused for longer than its lease, it finds a job that has begun: the one that leads now has bound the pods."""
    b, binders = leading, []
    holder = int(external.run("sbatch", "--parsable", "--external", "-p", "k8s", "-N8", "--exclusive", "-t", "60").out)
    external.wait_state(holder, "RUNNING")
    names = list(lws(b, 3))
    wait_until(lambda: all(JOB in b.get(n)["metadata"]["labels"] for n in names), "they have a job that waits")
    first, bind = b.daemon, b.api.store.bind
    b.daemon = second(b)
    first.process.send_signal(signal.SIGSTOP)
    old = spec(b.api)["holderIdentity"]
    wait_until(lambda: spec(b.api)["holderIdentity"] != old, "the other one leads", 40)

    def note(namespace, name, binding):
        binders.append(name)
        return bind(namespace, name, binding)

    b.api.store.bind = note
    external.run("scancel", str(holder))
    b.bound(*names)
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(20) == 1, "it lost the lease"
    assert sorted(binders) == sorted(names)
