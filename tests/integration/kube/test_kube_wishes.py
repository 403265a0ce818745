"""Complaints about other bridges and operators, each by its number (docs/kubernetes-fields.md has the list of all)."""

import re
import socket
import threading

import pytest
from conftest import wait_until
from test_kube_bridge import CLUSTER, JOB, LABEL, Bridge, external, lws, rest  # noqa: F401  names of fixtures


class Listener:
    """Between a bridge and slurmrestd: every request is noted."""

    def __init__(self, port):
        self.target, self.asked, self.lock = port, [], threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.server.accept()
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for a, b, told in ((client, there, True), (there, client, False)):
                threading.Thread(target=self.copy, args=(a, b, told), daemon=True).start()

    def copy(self, a, b, told):
        try:
            while data := a.recv(65536):
                if told:
                    with self.lock:
                        self.asked += re.findall(r"(GET|POST|DELETE) (\S+) HTTP/1", data.decode(errors="replace"))
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def paths(self):
        with self.lock:
            return [f"{method} {path}" for method, path in self.asked]


class Heard(Bridge):
    """A bridge whose requests to slurmrestd are noted."""

    def __enter__(self):
        self.listener = Listener(self.rest.port)
        self.rest, self.real = type("R", (), {"port": self.listener.port, "token": self.rest.token}), self.rest
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.listener.server.close()

    def log(self):
        return (self.folder / "bridge.log.stderr").read_text()


@pytest.fixture
def heard(external, rest, tmp_path):
    with Heard(external, rest, tmp_path) as b:
        yield b


def test_br_45_46_no_cycle_lists_all_jobs(heard, external):
    """With thousands of jobs in the queue a pod costs what it costs alone: no list of jobs after the start, a handful of requests."""
    held = int(external.run("sbatch", "--parsable", "-H", "-a", "0-999", "--wrap", "true").out)
    heard.pod("first")
    heard.bound("first")
    before = len(heard.listener.paths())
    for i in range(4):
        heard.pod(f"p{i}")
    heard.bound("p0", "p1", "p2", "p3")
    new = heard.listener.paths()[before:]
    assert not [p for p in new if re.search(r"/jobs(/|\?|$)", p)], new
    assert len(new) <= 4 * 4, new
    assert len([p for p in heard.listener.paths() if re.search(r"GET .*/jobs/", p)]) <= 2, "the list of the start, in pages"
    external.run("scancel", str(held))


def test_br_52_only_nodes_with_the_label_are_asked_about(heard):
    heard.api.create("nodes", {"metadata": {"name": "control-plane"}, "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
    heard.api.create("nodes", {"metadata": {"name": "asked1", "labels": {LABEL: ""}}, "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})
    for i in range(3):
        heard.api.patch("nodes", "control-plane", {"metadata": {"annotations": {"x": str(i)}}})
    heard.pod("a")
    heard.bound("a")
    wait_until(lambda: any("node/asked1" in p for p in heard.listener.paths()), "the labelled one is")
    assert not [p for p in heard.listener.paths() if "control-plane" in p]
    heard.api.delete("nodes", "asked1")
    wait_until(lambda: "DELETE /slurm/v0.0.45/node/asked1" in heard.listener.paths(), "it goes again")


def test_br_3_9_12_what_is_usual_is_no_failure(heard):
    """Nodes that Slurm does not know and pods that wait are told where users look, and are no errors of the log."""
    heard.api.create("nodes", {"metadata": {"name": "stranger"}})
    names = [next(lws(heard, 3))]
    wait_until(lambda: any(e["reason"] == "SlurmWaitingForPods" for e in heard.api.all("events")), "it says that it waits")
    heard.pod("a")
    heard.bound("a")
    assert not [line for line in heard.log().splitlines() if "error" in line.lower()], heard.log()
    assert not heard.node(names[0])


def test_br_42_43_44_a_node_that_vanishes_ends_no_job(heard, external):
    """A node that a waiting or running job names as excluded is deleted, and slurmctld starts anew: pods and jobs stay."""
    external.run("scontrol", "create", "nodename=gone1", "cpus=4", "realmemory=1000", "state=external")
    heard.api.create("nodes", {"metadata": {"name": "gone1"}, "spec": {"unschedulable": True}})
    names = list(lws(heard, 3))
    heard.bound(*names)
    job = heard.job(names[0])
    waiting = list(lws(heard, 6, "w"))
    wait_until(lambda: heard.get(waiting[0])["metadata"]["labels"].get(JOB), "those that wait have a job")
    external.run("scontrol", "delete", "nodename=gone1")
    external.restart_ctld()
    external.run("scontrol", "reconfigure")
    heard.api.delete("nodes", "gone1")
    heard.pod("next")
    wait_until(lambda: heard.get("next")["metadata"]["labels"].get(JOB), "it goes on", 40)
    assert external.state(job) == "RUNNING" and external.state(heard.job(waiting[0])) == "PENDING"
    assert all(heard.get(n) and "deletionTimestamp" not in heard.get(n)["metadata"] for n in [*names, *waiting])
    for name in names:
        heard.end(name)
    heard.bound(*waiting, timeout=30)


def test_br_36_37_a_pod_holds_its_job_until_it_is_over(heard, external):
    """Neither a pod that is not ready nor one that is being ended loses its node to others; one that is over gives it back."""
    heard.pod("a")
    heard.bound("a")
    job = heard.job("a")
    heard.api.patch("pods", "a", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}, sub="status")
    heard.pod("b")
    heard.bound("b")  # what happened before has been seen
    assert external.state(job) == "RUNNING" and "deletionTimestamp" not in heard.get("a")["metadata"]
    heard.api.delete("pods", "a")  # its containers still run
    heard.pod("c")
    heard.bound("c")
    assert external.state(job) == "RUNNING" and heard.get("a")
    heard.end("a")
    external.wait_state(job, "CANCELLED")


def candidates(rest, name, nodes, used):
    """A job as bridges send it that name every node they could take: more names than nodes are a choice."""
    status, answer = rest.post("job/submit", {"job": {
        "name": name, "flags": ["EXTERNAL_JOB"], "partition": "made", "required_nodes": nodes, "nodes": str(used), "tasks": used,
        "minimum_nodes": used, "maximum_nodes": used, "cpus_per_task": 4, "shared": ["none"], "time_limit": {"set": True, "number": 60}}})
    assert status == 200 and not answer["errors"], answer
    return answer["job_id"]


def test_br_42_43_44_candidates_that_vanish(external, rest):
    """Other bridges' jobs name candidates as required: one that is deleted ends neither a running job nor one that waits."""
    names = [f"cand{i}" for i in range(1, 4)]
    external.run("scontrol", "create", "nodename=cand[1-3]", "cpus=4", "realmemory=1000", "state=external", "feature=k8s")
    running = candidates(rest, "running", names, 1)
    external.wait_state(running, "RUNNING")
    has = external.run("squeue", "-h", "-j", str(running), "-o", "%N").out.strip()
    waiting = candidates(rest, "waiting", names, 3)
    external.wait_state(waiting, "PENDING")
    gone = next(n for n in names if n != has)
    external.run("scontrol", "delete", f"nodename={gone}")
    external.run("scontrol", "reconfigure")
    external.restart_ctld()
    assert external.state(running) == "RUNNING" and external.state(waiting) == "PENDING"
    status, answer = rest.post(f"job/{waiting}", {"nodes": "2", "minimum_nodes": 2, "maximum_nodes": 2, "tasks": 2,
                                                  "required_nodes": [n for n in names if n != gone]})
    assert status == 200 and not answer["errors"], answer
    external.run("scancel", str(running))
    external.wait_state(waiting, "RUNNING")
    external.run("scancel", str(waiting))
    external.wait_end(waiting)
    external.run("scontrol", "delete", f"nodename={','.join(n for n in names if n != gone)}")
