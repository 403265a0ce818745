"""Changes streamed as they happen: a job's life in order and exactly once, also across a killed controller."""

import json
import os
import signal
import threading

import pytest

from conftest import wait_until


@pytest.fixture(autouse=True)
def no_watcher_left():
    yield
    while Watcher.running:
        Watcher.running.pop().kill()


class Watcher:
    """A watching command and the lines that it printed so far."""

    running = []

    def __init__(self, c, *argv):
        self.process = c.popen(*argv, stdout=-1, stderr=-1)
        self.running.append(self.process)
        self.lines, self.errors = [], []
        self.threads = [threading.Thread(target=self.read, args=(self.process.stdout, self.lines)),
                        threading.Thread(target=self.read, args=(self.process.stderr, self.errors))]
        for t in self.threads:
            t.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def json(self):
        return [json.loads(line) for line in list(self.lines)]

    def states(self, job):
        """The base states that a job came into, one for each change of it."""
        return [o["after"]["state"] for o in self.json() if o.get("id") == job and "state" in o["after"]]

    def stop(self, sig=signal.SIGINT):
        self.process.send_signal(sig)
        rc = self.process.wait(20)
        for t in self.threads:
            t.join()
        return rc


def cursors(objects):
    """(lsn, index) of changes, in the order in which they came."""
    return [(o["lsn"], o["index"]) for o in objects if "index" in o]


def wait_ready(w):
    wait_until(lambda: w.lines, "the watcher prints something")


LIFE = ["JOB_PENDING", "JOB_RUNNING", "JOB_COMPLETED"]


def test_life_of_a_job(cluster):
    c = cluster
    w = Watcher(c, "scontrol", "--json", "watch")
    wait_until(lambda: sum(o["entity"] == "WATCH_NODE" for o in w.json()) >= 3, "the snapshot")
    assert {o["event"] for o in w.json()} == {"snapshot"}
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    wait_until(lambda: w.states(job)[-1:] == ["JOB_COMPLETED"], "the end is told")
    assert w.states(job) == LIFE
    own = [o for o in w.json() if o.get("id") == job and o["entity"] == "WATCH_JOB"]
    assert own[0]["event"] == "job-submit" and own[0]["created"] is True and own[0]["uid"] == os.getuid()
    start = next(o for o in own if o["after"].get("state") == "JOB_RUNNING")
    assert start["before"]["state"] == "JOB_PENDING" and start["after"]["alloc"]["nodes"] in c.node_names
    assert cursors(own) == sorted(set(cursors(own)))
    assert w.stop() == 0


def test_text_lines_and_filters(cluster):
    c = cluster
    other = c.sbatch("-J", "other", wrap="sleep 60")
    w = Watcher(c, "squeue", "--watch", "--name=mine")
    running = Watcher(c, "squeue", "--watch", "-t", "R", "--changes-only")
    node = Watcher(c, "scontrol", "watch", "node", "node2")
    wait_until(lambda: node.lines, "the node's snapshot")
    jobs = []

    def all_watch():
        jobs.append(c.sbatch("-J", "mine", wrap="true"))
        c.wait_end(jobs[-1])
        return any("job-submit" in x for x in w.lines) and running.lines
    wait_until(all_watch, "jobs of that name are told")
    wait_until(lambda: any("state=RUNNING->COMPLETED" in x for x in w.lines), "the end as text")
    assert all(any(f" job {job} " in x for job in jobs) for x in w.lines)
    first = next(x for x in w.lines if "job-submit" in x).split()
    assert first[2] == "job-submit" and first[3] == "job" and int(first[4]) in jobs and "name=mine" in first
    assert not any(f" job {other} " in x for x in w.lines)
    wait_until(lambda: any("RUNNING->COMPLETED" in x for x in running.lines), "leaving RUNNING is told")
    assert all("RUNNING" in x for x in running.lines if "state=" in x)
    c.run("scontrol", "update", "NodeName=node2", "State=DRAIN", "Reason=a test")
    c.run("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=another")
    wait_until(lambda: any('reason=->"a test"' in x and "DRAIN" in x for x in node.lines), "the drain is told")
    assert all(" node node2 " in x for x in node.lines)
    for watcher in (w, running, node):
        assert watcher.stop(signal.SIGTERM) == 0


def test_once_across_a_kill(cluster):
    c = cluster
    w = Watcher(c, "squeue", "--watch", "--json", "--changes-only")
    probes = []

    def watches():
        """What it was told nothing of was before its time."""
        probes.append(c.sbatch("-H", wrap="true"))
        return any(w.states(j) for j in probes)
    wait_until(watches, "it watches")
    c.run("scancel", *probes)
    jobs = [c.sbatch(wrap="true")]
    for _ in range(3):
        jobs += [c.sbatch(wrap="sleep 0.3") for _ in range(3)]
        c.kill_ctld()
        c.start_ctld()
        jobs += [c.sbatch(wrap="true") for _ in range(3)]
        for job in jobs:
            c.wait_end(job)
    wait_until(lambda: all(w.states(j)[-1:] == ["JOB_COMPLETED"] for j in jobs), "every end is told", 30)
    for job in jobs:
        assert w.states(job) == LIFE, job
    seen = cursors(w.json())
    assert seen == sorted(set(seen))
    assert w.stop() == 0
    assert any("lost" in x for x in w.errors)

    # All of it again from the beginning, and the rest from any place within.
    again = Watcher(c, "squeue", "--watch", "--json", "--since=0")
    wait_until(lambda: cursors(again.json())[-1:] == seen[-1:], "the log is read again")
    all_of_it = again.json()
    assert again.stop() == 0
    assert cursors(all_of_it)[-len(seen):] == seen
    middle = len(all_of_it) // 2
    tail = Watcher(c, "squeue", "--watch", "--json", f"--since={all_of_it[middle]['cursor']}")
    wait_until(lambda: cursors(tail.json())[-1:] == seen[-1:], "the rest is read")
    assert tail.json() == all_of_it[middle + 1:]
    assert tail.stop() == 0


def test_resume_within_a_transaction(cluster):
    """Draining three nodes is one transaction of three events."""
    c = cluster
    w = Watcher(c, "scontrol", "--json", "--changes-only", "watch", "nodes")
    c.run("scontrol", "update", "NodeName=node[1-3]", "State=DRAIN", "Reason=all")

    def told():
        return [o for o in w.json() if o["after"].get("reason") == "all"]
    if not wait_for(lambda: len(told()) == 3):  # it may have begun to watch behind the first
        c.run("scontrol", "update", "NodeName=node[1-3]", "State=RESUME")
        c.run("scontrol", "update", "NodeName=node[1-3]", "State=DRAIN", "Reason=all")
    wait_until(lambda: len(told()) >= 3, "three changes")
    three = told()[-3:]
    assert w.stop() == 0
    rest = Watcher(c, "scontrol", "--json", f"--since={three[0]['cursor']}", "watch", "nodes")
    wait_until(lambda: len(rest.lines) >= 2, "what is behind the first")
    assert rest.json()[:2] == three[1:]
    assert rest.stop() == 0


def wait_for(condition, timeout=3.0):
    try:
        return wait_until(condition, "", timeout)
    except BaseException:  # pytest.fail
        return None


def test_bad_cursors(cluster):
    c = cluster
    r = c.run("squeue", "--watch", "--since=x", check=False)
    assert r.rc == 1 and "Invalid cursor: x" in r.err
    assert c.run("squeue", "--since=1", check=False).rc == 1
    r = c.run("scontrol", "watch", "horses", check=False)
    assert r.rc == 1 and "horses" in r.err
    job = c.sbatch("-H", wrap="sleep 60")
    w = Watcher(c, "squeue", "--watch", "--since=99999999")
    wait_until(lambda: any(f"snapshot job {job} " in x for x in w.lines), "a fresh snapshot")
    assert len(w.errors) == 1 and "99999999" in w.errors[0]
    assert w.stop() == 0
