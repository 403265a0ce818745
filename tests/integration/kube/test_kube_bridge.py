"""penstock-bridge: pods of an API server placed by a real slurmctld, on external nodes."""

import os
import random
import signal
import subprocess
import threading
import time

import pytest
from conftest import Daemon, program, wait_until
from restd import Restd

from apiserver import ApiServer
from kubelet import tell_soak
from manifests import forbidden

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=12\nAuthAltTypes=auth/jwt\nNodeSet=made Feature=k8s\nPartitionName=k8s Nodes=ext[1-8]\n"
                                "PartitionName=made Nodes=made\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"}
JOB = "scheduler.slinky.slurm.net/slurm-jobid"
NODE = "slinky.slurm.net/slurm-node"
FINALIZER = "scheduler.slinky.slurm.net/finalizer"
OPTION = "slurmjob.slinky.slurm.net/"
KILLS, SEED = int(os.environ.get("PENSTOCK_KILLS", "10")), int(os.environ.get("PENSTOCK_SEED", "0"))


@pytest.fixture(scope="module")
def external(shared):
    shared.run("scontrol", "create", "nodename=ext[1-8]", "cpus=4", "realmemory=1000", "state=external")
    return shared


@pytest.fixture(scope="module")
def rest(external):
    with Restd(external) as rest:
        yield rest


class Bridge:
    """The bridge, an API server, and a kubelet that runs what is bound."""

    def __init__(self, c, rest, folder, options=(), rules="identityNamespaces: [trusted]\n"):
        self.c, self.rest, self.folder, self.options, self.rules = c, rest, folder, options, rules
        self.api, self.nodes = ApiServer(), [f"ext{i}" for i in range(1, 9)]
        self.daemon, self.running = None, True

    def __enter__(self):
        self.api.__enter__()
        for name in self.nodes:
            self.api.create("nodes", {"metadata": {"name": name}})
        (self.folder / "token").write_text(self.rest.token("root"))
        (self.folder / "config.yaml").write_text(f"slurmRestApi: http://127.0.0.1:{self.rest.port}\npartition: k8s\n{self.rules}")
        self.api.kubeconfig(self.folder / "kubeconfig")
        self.start()
        return self

    def start(self):
        self.started = time.monotonic()
        self.daemon = Daemon("penstock-bridge", [program("penstock-bridge"), "-vv", "-f", str(self.folder / "config.yaml"),
                                                 "-k", str(self.folder / "kubeconfig"), *self.options],
                             self.folder / "bridge.log", {**self.c.env, "SLURM_JWT_FILE": str(self.folder / "token")})

    def kill(self):
        assert self.daemon.alive(), (self.folder / "bridge.log.stderr").read_text()[-2000:]
        self.daemon.process.kill()
        self.daemon.process.wait()

    def __exit__(self, *_):
        if self.daemon.alive():
            assert self.daemon.stop() == 0, (self.folder / "bridge.log.stderr").read_text()
        self.api.__exit__()
        assert not forbidden(self.api.asked, "bridge.yaml"), "deploy/kubernetes/bridge.yaml does not allow this"
        self.free_nodes()

    def free_nodes(self):
        """No bridge is left that says of jobs which are ending that their pods have stopped: nodes would be kept for ever, and whoever
        ends the cluster would wait for them in vain."""
        def is_empty():
            lines = self.c.run("squeue", "-h", "-o", "%A %t", check=False).out.splitlines()
            for job, state in map(str.split, lines):
                if state == "CG":
                    self.rest.delete(f"/penstock/v1/job/{job}/nodes")
                else:
                    self.c.run("scancel", job, check=False)
            return not lines
        daemon = getattr(self.rest, "daemon", None)  # a test may have another program there
        if not daemon or not daemon.alive() or not self.c.up():
            return
        wait_until(is_empty, "no job is left")

    def pod(self, name, labels=None, notes=None, cpu="1", **spec):
        return self.api.create("pods", {
            "metadata": {"name": name, "namespace": "default", "labels": labels or {}, "annotations": notes or {}},
            "spec": {"schedulerName": "slurm-bridge-scheduler",
                     "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}], **spec}})

    def get(self, name):
        return self.api.get("pods", name)

    def node(self, name):
        pod = self.get(name)
        return pod and pod["spec"].get("nodeName")

    def job(self, name):
        return int(self.get(name)["metadata"]["labels"][JOB])

    def bound(self, *names, timeout=15.0):
        wait_until(lambda: all(self.node(n) for n in names), f"{names} are bound", timeout)

    def end(self, name, phase="Succeeded"):
        self.api.patch("pods", name, {"status": {"phase": phase}}, sub="status")

    def jobs(self, *states):
        return self.c.run("squeue", "-h", "-p", "k8s", "-t", ",".join(states or ("PD", "R")), "-o", "%i %T %j").out.splitlines()

    def idle(self):
        wait_until(lambda: not self.jobs(), f"no job is left: {self.jobs()}")


@pytest.fixture
def bridge(external, rest, tmp_path):
    with Bridge(external, rest, tmp_path) as b:
        yield b


def test_one_pod(bridge, external):
    bridge.pod("a", notes={OPTION + "job-name": "mine", OPTION + "timelimit": "7"}, cpu="1500m")
    bridge.bound("a")
    pod, job = bridge.get("a"), bridge.job("a")
    assert pod["metadata"]["annotations"][NODE] == pod["spec"]["nodeName"] and FINALIZER in pod["metadata"]["finalizers"]
    text = external.run("scontrol", "show", "job", str(job)).out
    assert "JobName=mine" in text and "TimeLimit=00:07:00" in text and f"NodeList={pod['spec']['nodeName']}" in text
    assert "CPUs/Task=2" in text and "MinMemoryNode=64M" in text and '"pods":["default/a"]' in text
    bridge.end("a")
    external.wait_state(job, "CANCELLED")
    wait_until(lambda: not bridge.get("a")["metadata"].get("finalizers"), "the pod is let go")
    bridge.idle()


def lws(bridge, size, name="g", index=0):
    names = [f"{name}-{index}-{i}" for i in range(size)]
    for i, pod in enumerate(names):
        bridge.pod(pod, labels={"leaderworkerset.sigs.k8s.io/group-key": f"key{name}{index}", "leaderworkerset.sigs.k8s.io/name": name,
                                "leaderworkerset.sigs.k8s.io/group-index": str(index),
                                "leaderworkerset.sigs.k8s.io/worker-index": str(i)},
                   notes={"leaderworkerset.sigs.k8s.io/size": str(size)})
        yield pod


def test_a_gang_is_one_job(bridge, external):
    names = lws(bridge, 4)
    first = [next(names) for _ in range(3)]
    wait_until(lambda: any(e["reason"] == "SlurmWaitingForPods" for e in bridge.api.all("events")), "three say that they wait")
    assert not bridge.jobs()
    first += list(names)
    bridge.bound(*first)
    assert len({bridge.node(n) for n in first}) == 4 and len({bridge.job(n) for n in first}) == 1
    assert [bridge.node(n) for n in first] == sorted(bridge.node(n) for n in first)  # in order of their ranks
    job = bridge.job(first[0])
    assert "JobName=g-0" in external.run("scontrol", "show", "job", str(job)).out
    for name in first[:3]:
        bridge.end(name)
        wait_until(lambda: not bridge.get(name)["metadata"].get("finalizers"), "the pod is let go")
    assert external.state(job) == "RUNNING"
    bridge.end(first[3])
    external.wait_state(job, "CANCELLED")


def test_podgroup(bridge):
    bridge.api.create("podgroups", {"metadata": {"name": "pg", "namespace": "default", "annotations": {OPTION + "job-name": "whole"}},
                                    "spec": {"minMember": 3}})
    for i in range(3):
        bridge.pod(f"m{i}", labels={"scheduling.x-k8s.io/pod-group": "pg"})
    bridge.bound("m0", "m1", "m2")
    assert [line.split()[1:] for line in bridge.jobs()] == [["RUNNING", "whole"]]


def test_none_is_bound_before_all_can_be(bridge, external):
    """The gang waits for its nodes, and says why; no pod of it is placed meanwhile."""
    holder = int(external.run("sbatch", "--parsable", "--external", "-p", "k8s", "-N6", "--exclusive", "-t", "60").out)
    external.wait_state(holder, "RUNNING")
    names = list(lws(bridge, 3))
    wait_until(lambda: any("waits: Resources" in e["message"] for e in bridge.api.all("events")), "the reason is told")
    condition = wait_until(lambda: bridge.get(names[0])["status"].get("conditions"), "it has a condition")[0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SlurmPending")
    assert not any(bridge.node(n) for n in names)
    external.run("scancel", str(holder))
    bridge.bound(*names)


def test_a_cancelled_job_ends_its_pods(bridge, external):
    names = list(lws(bridge, 2))
    bridge.bound(*names)
    external.run("scancel", str(bridge.job(names[0])))
    wait_until(lambda: all(bridge.get(n)["metadata"].get("deletionTimestamp") for n in names), "the pods are deleted")
    assert any("CANCELLED" in e["message"] for e in bridge.api.all("events"))
    for name in names:  # their containers have ended
        bridge.api.delete("pods", name, gracePeriodSeconds=0)
    wait_until(lambda: not any(bridge.get(n) for n in names), "the pods are gone")


def test_preempted_pods_leave_before_others_come(external, rest, tmp_path):
    """Pods of a partition of a higher tier have those of the lower ended, and are bound when these have ended: until then their job keeps
    its node, and no other is preempted instead."""
    external.run("scontrol", "update", "PartitionName=k8s", "PriorityTier=1")
    external.run("scontrol", "create", "PartitionName=hot", "Nodes=ext[1-8]", "PriorityTier=9")
    try:
        with Bridge(external, rest, tmp_path, rules="priorityClasses: [{name: urgent, partition: hot}]\n") as b:
            low = [f"low{i}" for i in range(8)]
            for name in low:
                b.pod(name)
            b.bound(*low)
            jobs = [b.job(name) for name in low]
            b.pod("high", priorityClassName="urgent")
            victim = wait_until(lambda: next((n for n in low if b.get(n)["metadata"].get("deletionTimestamp")), None), "one is ended", 30)
            job = jobs[low.index(victim)]
            external.wait_state(job, "COMPLETING")
            b.kill()
            b.start()
            later = int(external.run("sbatch", "--parsable", "--external", "-p", "hot", "-n1", "--exclusive", "-w", b.node(victim)).out)
            wait_until(lambda: external.job(later).get("Reason") not in ("None", None), "slurmctld has looked at the queue again")
            external.run("scancel", str(later))
            assert external.state(job) == "COMPLETING"
            assert not b.node("high") and sum("deletionTimestamp" in b.get(n)["metadata"] for n in low) == 1
            where = b.node(victim)
            b.end(victim, "Failed")  # its containers have ended
            b.bound("high")
            assert b.node("high") == where and external.state(job) == "PREEMPTED"
            for name in ["high", *low]:
                if b.get(name) and name != victim:
                    b.end(name)
            wait_until(lambda: not external.run("squeue", "-h", "-p", "k8s,hot").out, "no job is left")
    finally:
        external.run("scontrol", "delete", "PartitionName=hot", check=False)


def test_a_deleted_pod_ends_its_job(bridge, external):
    holder = int(external.run("sbatch", "--parsable", "--external", "-p", "k8s", "-N8", "--exclusive", "-t", "60").out)
    external.wait_state(holder, "RUNNING")
    bridge.pod("waits")
    wait_until(lambda: FINALIZER in bridge.get("waits")["metadata"].get("finalizers", []), "the pod has a job")
    job = bridge.job("waits")
    bridge.api.delete("pods", "waits")
    external.wait_state(job, "CANCELLED")
    wait_until(lambda: bridge.get("waits") is None, "the pod is gone")
    external.run("scancel", str(holder))


def test_a_gang_that_loses_a_pod_while_it_waits(bridge, external):
    """Its job is given up; the pods that are left wait for another, and get a new job."""
    holder = int(external.run("sbatch", "--parsable", "--external", "-p", "k8s", "-N8", "--exclusive", "-t", "60").out)
    external.wait_state(holder, "RUNNING")
    names = list(lws(bridge, 3))
    wait_until(lambda: all(JOB in bridge.get(n)["metadata"]["labels"] for n in names), "the pods have a job")
    job = bridge.job(names[0])
    bridge.api.delete("pods", names[2])
    external.wait_state(job, "CANCELLED")
    wait_until(lambda: bridge.get(names[2]) is None, "the pod is gone")
    assert not any(bridge.get(n)["metadata"].get("deletionTimestamp") for n in names[:2])
    bridge.pod("g-0-9", labels=bridge.get(names[0])["metadata"]["labels"] | {"leaderworkerset.sigs.k8s.io/worker-index": "2"},
               notes={"leaderworkerset.sigs.k8s.io/size": "3"})
    external.run("scancel", str(holder))
    bridge.bound(names[0], names[1], "g-0-9")
    assert bridge.job(names[0]) != job


def test_taints_and_selectors(bridge):
    for i in range(1, 8):
        bridge.api.patch("nodes", f"ext{i}", {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}})
    bridge.api.patch("nodes", "ext3", {"metadata": {"labels": {"disk": "fast"}}})
    bridge.pod("plain")
    bridge.pod("fast", nodeSelector={"disk": "fast"}, tolerations=[{"key": "k", "operator": "Exists"}])
    bridge.bound("plain", "fast")
    assert (bridge.node("plain"), bridge.node("fast")) == ("ext8", "ext3")


def test_a_node_that_kubernetes_does_not_know(bridge):
    bridge.api.delete("nodes", "ext1")
    names = list(lws(bridge, 7))
    bridge.bound(*names)
    assert {bridge.node(n) for n in names} == {f"ext{i}" for i in range(2, 9)}


def test_what_is_not_supported_is_said(bridge):
    bridge.pod("spread", topologySpreadConstraints=[{"maxSkew": 1}])
    bridge.pod("bad", notes={OPTION + "timelimit": "soon"})
    bridge.pod("other", notes={OPTION + "user-id": "65534"})
    wait_until(lambda: {e["involvedObject"]["name"] for e in bridge.api.all("events") if e["reason"] == "SlurmNotSupported"} ==
               {"spread", "bad", "other"}, "all are told")
    assert not bridge.jobs()


def test_controller_away(bridge, external, rest):
    """While slurmctld and slurmrestd are away nothing is deleted; afterwards it goes on."""
    names = list(lws(bridge, 2))
    bridge.bound(*names)
    job = bridge.job(names[0])
    external.kill_ctld()
    bridge.pod("later")
    assert rest.daemon.stop() == 0
    log = bridge.folder / "bridge.log.stderr"
    wait_until(lambda: "no changes are told" in log.read_text(), "the bridge notices", timeout=30)
    bridge.kill()  # a new bridge, which knows nothing, deletes nothing either
    bridge.start()
    wait_until(lambda: log.read_text().count("are placed by") == 2, "it is there again")
    wait_until(lambda: log.read_text().count("no changes are told") == 2, "it notices too", timeout=30)
    assert not any(bridge.get(n)["metadata"].get("deletionTimestamp") for n in [*names, "later"])
    assert not any(k.startswith("DELETE") for k in bridge.api.counts)
    external.restart_ctld()
    rest.start()
    bridge.bound("later", timeout=40)
    assert external.state(job) == "RUNNING" and bridge.job(names[0]) == job


def test_ended_while_the_bridge_was_away(bridge, external):
    bridge.pod("a")
    bridge.pod("b")
    bridge.bound("a", "b")
    bridge.kill()
    external.run("scancel", str(bridge.job("a")))
    bridge.end("b")
    job = bridge.job("b")
    bridge.start()
    wait_until(lambda: bridge.get("a")["metadata"].get("deletionTimestamp"), "the pod without a job is deleted")
    external.wait_state(job, "CANCELLED")


def test_answers_of_somebody_else(bridge):
    """Marks and bindings are answered 200 by what is no API server: nothing was done, and all is asked again."""
    bridge.api.fault("json", method="PATCH", path="/pods", times=2)
    bridge.api.fault("json", method="POST", path="/binding", times=2)
    names = list(lws(bridge, 2))
    bridge.bound(*names)
    assert not bridge.api.faults and len({bridge.job(n) for n in names}) == 1


class GangWitness:
    """Is asked at every binding, before whoever wants it has an answer: the gang's pods have one job, which has a node for each of them."""

    def __init__(self, b):
        self.b, self.gangs, self.wrong, self.since, self.lock = b, {}, [], {}, threading.Lock()
        self.longest, self.longest_alone = 0.0, 0.0  # in part; of that without a kill
        self.bind, b.api.store.bind = b.api.store.bind, self.see

    def expect(self, gang):
        self.gangs.update(dict.fromkeys(gang, gang))

    def see(self, namespace, name, binding):
        gang = self.gangs.get(name, [name])
        with self.lock:  # the others wait for this answer, not each for one of its own, while the gang is in part
            if gang[0] not in self.since:  # the first: slurmctld is asked itself
                jobs = {self.b.get(n)["metadata"]["labels"].get(JOB) for n in gang}
                said = self.b.c.run("squeue", "-h", "-j", ",".join(map(str, jobs)), "-o", "%T %D", check=False).out.split()
                if len(jobs) != 1 or said[:1] != ["RUNNING"] or int(said[1]) < len(gang):
                    self.wrong.append((name, jobs, said))
                self.since[gang[0]] = None
        done = self.bind(namespace, name, binding)
        begun = self.since[gang[0]] = self.since[gang[0]] or time.monotonic()
        if all(self.b.node(n) for n in gang):
            now = time.monotonic()
            self.longest = max(self.longest, now - begun)
            self.longest_alone = max(self.longest_alone, now - max(begun, self.b.started))
        return done

    def in_part(self):
        return [gang for gang in {tuple(g) for g in self.gangs.values()} if 0 < sum(bool(self.b.node(n)) for n in gang) < len(gang)]


def end_whole(bridge, gangs):
    """The kubelet's part: a gang that is bound as a whole runs, and ends."""
    for gang in gangs:
        if all(bridge.node(n) for n in gang) and bridge.get(gang[0])["status"]["phase"] == "Pending":
            for name in gang:
                bridge.end(name)


@pytest.mark.parametrize("turn", range(max(KILLS // 10, 1)))
def test_killed_at_any_moment(bridge, external, turn):
    """Twelve gangs while the bridge is killed ten times and requests get lost: each gets one job, and all its nodes.
    PENSTOCK_KILLS=1000: a hundred times over."""
    stop, rng = threading.Event(), random.Random(7 + SEED + turn)
    name, gangs, witness = f"k{turn}", [], GangWitness(bridge)
    for i in range(12):
        bridge.api.fault(rng.choice(["cut-after", "500", "cut", "409"]), method=rng.choice(["POST", "PATCH"]), path="/pods", times=2)
        gangs.append(list(lws(bridge, rng.choice([2, 2, 3]), name=name, index=i)))
        witness.expect(gangs[-1])
    for _ in range(10):
        stop.wait(rng.uniform(0.02, 0.4))  # the moment is what is random
        bridge.kill()
        bridge.start()
        end_whole(bridge, gangs)
    for gang in gangs:
        def done(gang=gang):
            end_whole(bridge, gangs)
            return bridge.get(gang[0])["status"]["phase"] == "Succeeded"
        wait_until(done, f"{gang} ran", timeout=60)
        assert len({bridge.node(n) for n in gang}) == len(gang) and len({bridge.job(n) for n in gang}) == 1
    bridge.pod("last")
    bridge.bound("last")  # the last bridge may have begun just now, and SIGTERM would end it before it hears signals
    bridge.end("last")
    bridge.idle()
    jobs = {bridge.job(gang[0]) for gang in gangs}
    assert len(jobs) == 12
    made = external.run("squeue", "-h", "-p", "k8s", "-t", "all", "-o", "%i %j").out.split("\n")
    assert sorted(line.split()[1] for line in made if f" {name}-" in line) == sorted(f"{name}-{i}" for i in range(12)), made
    assert not witness.wrong and not witness.in_part(), (witness.wrong, witness.in_part())
    tell_soak("bridge", kills=10, gangs=12, pods=sum(map(len, gangs)), wrong=len(witness.wrong),
              longest_in_part_s=round(witness.longest, 3), longest_in_part_without_a_kill_s=round(witness.longest_alone, 3))


def test_a_gang_in_part_comes_first(bridge):
    """A bridge that begins finishes what another one has begun before it looks at what is new, however much that is."""
    bridge.api.fault(500, "POST", "/z2/binding", times=100000)
    bridge.api.create("podgroups.scheduling.k8s.io", {"metadata": {"name": "z", "namespace": "default"},
                                                      "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    names = ["z0", "z1", "z2"]  # by its key it would be the last
    for name in names:
        bridge.pod(name, schedulingGroup={"podGroupName": "z"})
    bridge.bound(*names[:2])
    bridge.kill()
    for i in range(300):
        bridge.pod(f"p{i}", nodeSelector={"no": "node"})
    bridge.api.faults.clear()
    bind, patch, writes = bridge.api.store.bind, bridge.api.store.patch, []

    def note_bind(namespace, name, binding):
        writes.append(name)
        return bind(namespace, name, binding)

    def note_patch(plural, namespace, name, *what, **more):
        writes.append(name)
        return patch(plural, namespace, name, *what, **more)

    bridge.api.store.bind, bridge.api.store.patch = note_bind, note_patch
    bridge.start()
    bridge.bound(*names)
    assert writes.index(names[2]) < 100, writes  # 64 are under way at once
    wait_until(lambda: len(set(writes)) > 300, "the others are told why they wait")


def test_two_bridges_and_a_lease(external, rest, tmp_path):
    with Bridge(external, rest, tmp_path, ("-l", "default")) as b:
        b.pod("a")
        b.bound("a")
        other = tmp_path / "other"
        other.mkdir()
        env = {**external.env, "SLURM_JWT_FILE": str(tmp_path / "token")}
        second = Daemon("penstock-bridge", [*b.daemon.process.args], other / "log", env)
        os.kill(b.daemon.pid, signal.SIGKILL)
        b.daemon.process.wait()
        b.daemon = second
        b.pod("b")
        b.bound("b", timeout=40)


def test_nodes_that_slurm_does_not_know(bridge, external):
    """A control plane's node is tainted, and none of Slurm's: pods are placed all the same."""
    bridge.api.create("nodes", {"metadata": {"name": "cp1"}, "spec": {"taints": [{"key": "control-plane", "effect": "NoSchedule"}]}})
    bridge.pod("a")
    bridge.bound("a")


def test_a_node_that_changes_while_a_job_waits(bridge, external):
    """A job that waits is not started on a node that was cordoned meanwhile, and may have it when it is uncordoned."""
    def excluded():
        return external.run("scontrol", "show", "job", str(bridge.job("a"))).out.split("ExcNodeList=")[1].split()[0]
    holder = int(external.run("sbatch", "--parsable", "--external", "-p", "k8s", "-N8", "--exclusive", "-t", "60").out)
    external.wait_state(holder, "RUNNING")
    bridge.pod("a", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["ext2", "ext5"]}]}]}}})
    wait_until(lambda: JOB in bridge.get("a")["metadata"]["labels"], "the pod has a job")
    assert excluded() == "ext[1,3-4,6-8]"
    bridge.api.patch("nodes", "ext2", {"spec": {"unschedulable": True}})
    wait_until(lambda: excluded() == "ext[1-4,6-8]", "the job must not have the node")
    bridge.kill()  # a new bridge finds what changes while none is there
    bridge.api.patch("nodes", "ext2", {"spec": {"unschedulable": None}})
    bridge.api.patch("nodes", "ext5", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    bridge.start()
    wait_until(lambda: excluded() == "ext[1,3-8]", "the job may have it again")
    external.run("scancel", str(holder))
    bridge.bound("a")
    assert bridge.node("a") == "ext2"


def test_sizes_and_identities_of_jobs(bridge, external):
    bridge.pod("wide", notes={OPTION + "min-nodes": "2", OPTION + "max-nodes": "3"})
    bridge.bound("wide")
    assert int(external.run("squeue", "-h", "-j", str(bridge.job("wide")), "-o", "%D").out) >= 2
    pod = {"metadata": {"name": "theirs", "namespace": "trusted", "annotations": {OPTION + "user-id": "65534", OPTION + "group-id": "65534"}},
           "spec": {"schedulerName": "slurm-bridge-scheduler", "containers": [{"name": "c", "image": "i"}]}}
    bridge.api.create("pods", pod)
    wait_until(lambda: bridge.api.get("pods", "theirs", "trusted")["spec"].get("nodeName"), "it is bound")
    job = bridge.api.get("pods", "theirs", "trusted")["metadata"]["labels"][JOB]
    assert "UserId=nobody(65534) GroupId=nogroup(65534)" in external.run("scontrol", "show", "job", job).out


def test_a_label_that_names_the_job_of_others(bridge, external):
    """Whoever may make pods can write any number there: the job is not theirs to end."""
    bridge.pod("mine")
    bridge.bound("mine")
    job = bridge.job("mine")
    bridge.pod("thief", labels={JOB: str(job)}, nodeName="ext0")
    for name in ("one", "two"):  # what was told before them is done
        bridge.pod(name)
        bridge.bound(name)
        bridge.end("thief")
    assert external.run("squeue", "-h", "-j", str(job), "-o", "%T").out.strip() == "RUNNING"


def test_identities(external, rest, tmp_path):
    """Namespace and service account say whose the job is; annotations cannot."""
    rules = "identities:\n- {namespace: default, serviceAccount: train, userId: 65534, groupId: 65534}\n"
    with Bridge(external, rest, tmp_path, rules=rules) as b:
        b.pod("good", serviceAccountName="train")
        b.bound("good")
        assert "UserId=nobody(65534)" in external.run("scontrol", "show", "job", str(b.job("good"))).out
        b.pod("nobody")
        b.pod("more", notes={OPTION + "account": "physics"}, serviceAccountName="train")

        def why(name):
            conditions = b.get(name).get("status", {}).get("conditions", [])
            return next((c["message"] for c in conditions if c["type"] == "PodScheduled"), "")
        wait_until(lambda: "name nobody for namespace default" in why("nobody"), "it is said")
        wait_until(lambda: "physics is none of the accounts" in why("more"), "it is said")
        assert not b.node("nobody") and not b.node("more")


def test_native_podgroup(bridge):
    """A PodGroup of scheduling.k8s.io, which its pods name in their specs."""
    for i in range(2):
        bridge.pod(f"n{i}", schedulingGroup={"podGroupName": "ng"})
    wait_until(lambda: any("fewer pods" in e["message"] for e in bridge.api.all("events")), "they wait for their group")
    bridge.api.create("podgroups.scheduling.k8s.io", {
        "metadata": {"name": "ng", "namespace": "default", "annotations": {OPTION + "timelimit": "9"}},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    assert not bridge.jobs()
    other = {"type": "Other", "status": "False", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    bridge.api.patch("podgroups.scheduling.k8s.io", "ng", {"status": {"conditions": [other]}}, sub="status")
    bridge.pod("n2", schedulingGroup={"podGroupName": "ng"})
    bridge.bound("n0", "n1", "n2")
    assert [line.split()[1:] for line in bridge.jobs()] == [["RUNNING", "ng"]]

    def said():
        return bridge.api.get("podgroups.scheduling.k8s.io", "ng").get("status", {}).get("conditions", [])
    wait_until(lambda: len(said()) == 2, "the group is told")
    assert said()[0]["type"] == "Other" and said()[1]["lastTransitionTime"]
    assert (said()[1]["type"], said()[1]["status"], said()[1]["reason"]) == ("PodGroupScheduled", "True", "Scheduled")


def test_options_of_a_workload(bridge, external):
    """PodGroup, Job, Workload: the later ones win.  A Workload that is named and not there yet is waited for."""
    job = bridge.api.create("jobs", {"metadata": {"name": "j", "namespace": "default", "annotations": {
        OPTION + "timelimit": "8", OPTION + "job-name": "of-the-job", OPTION + "licenses": ""}}})
    bridge.api.create("podgroups.scheduling.k8s.io", {
        "metadata": {"name": "wg", "namespace": "default", "annotations": {OPTION + "timelimit": "7", OPTION + "wckey": "k"}},
        "spec": {"podGroupTemplateRef": {"workload": {"workloadName": "work", "podGroupTemplateName": "t"}},
                 "schedulingPolicy": {"gang": {"minCount": 1}}}})
    bridge.api.create("workloads", {"metadata": {"name": "work", "namespace": "default", "annotations": {OPTION + "timelimit": "9"}}})
    wait_until(lambda: "are placed by" in (bridge.folder / "bridge.log.stderr").read_text(), "the bridge has begun")
    bridge.api.create("pods", {
        "metadata": {"name": "w0", "namespace": "default", "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}]},
        "spec": {"schedulerName": "slurm-bridge-scheduler", "schedulingGroup": {"podGroupName": "wg"},
                 "containers": [{"name": "c", "image": "i"}]}})
    bridge.bound("w0")
    shown = external.run("scontrol", "show", "job", str(bridge.job("w0"))).out
    assert "JobName=of-the-job" in shown and "TimeLimit=00:09:00" in shown


def test_jobset(bridge, external):
    """The pods of a JobSet's Jobs have the options of the JobSet."""
    def owner(kind, version, of):
        return [{"apiVersion": version, "kind": kind, "name": of["metadata"]["name"], "uid": of["metadata"]["uid"], "controller": True}]
    top = bridge.api.create("jobsets", {"metadata": {"name": "set", "namespace": "default", "annotations": {OPTION + "job-name": "of-the-set"}}})
    job = bridge.api.create("jobs", {"metadata": {"name": "set-a-0", "namespace": "default",
                                                  "ownerReferences": owner("JobSet", "jobset.x-k8s.io/v1alpha2", top)},
                                     "spec": {"activeDeadlineSeconds": 61}})
    pod = {"metadata": {"name": "set-a-0-x", "namespace": "default", "ownerReferences": owner("Job", "batch/v1", job)},
           "spec": {"schedulerName": "slurm-bridge-scheduler", "containers": [{"name": "c", "image": "i"}]}}
    wait_until(lambda: "are placed by" in (bridge.folder / "bridge.log.stderr").read_text(), "the bridge has begun")
    bridge.api.create("pods", pod)
    bridge.bound("set-a-0-x")
    text = external.run("scontrol", "show", "job", str(bridge.job("set-a-0-x"))).out
    assert "JobName=of-the-set" in text and "TimeLimit=00:02:00" in text


@pytest.mark.parametrize("seconds, option, limit", [(60, None, "00:01:00"), (90, None, "00:02:00"), (90, "5", "00:05:00"), (0, None, "UNLIMITED")])
def test_deadline_of_a_job(bridge, external, seconds, option, limit):
    """For how long a Job may be active is its time limit, in whole minutes, unless an annotation says another one."""
    notes = {OPTION + "timelimit": option} if option else {}
    job = bridge.api.create("jobs", {"metadata": {"name": "j", "namespace": "default", "annotations": notes},
                                     "spec": {"activeDeadlineSeconds": seconds}})
    bridge.api.create("pods", {
        "metadata": {"name": "j-x", "namespace": "default", "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}]},
        "spec": {"schedulerName": "slurm-bridge-scheduler", "containers": [{"name": "c", "image": "i"}]}})
    bridge.bound("j-x")
    assert f"TimeLimit={limit}" in external.run("scontrol", "show", "job", str(bridge.job("j-x"))).out


@pytest.mark.parametrize("args,text", [
    (["--kube-api-qps", "0"], "--kube-api-qps: '0' is no number of 1 to 100000"),
    (["more"], "unexpected argument: more"),
])
def test_command_lines(args, text):
    done = subprocess.run([program("penstock-bridge"), *args], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and text in done.stderr


LABEL, PARTITIONS = "scheduler.slinky.slurm.net/external-node", "scheduler.slinky.slurm.net/external-node-partitions"
CAPACITY = {"capacity": {"cpu": "6", "memory": "2000Mi"}}


def shown(c, name):
    return c.run("scontrol", "show", "node", name, check=False).out


def test_external_nodes(bridge, external):
    """A labelled node is made in slurmctld, follows its annotation, and goes when its jobs have ended; others are left alone."""
    bridge.api.create("nodes", {"metadata": {"name": "k1", "labels": {LABEL: "", "slinky.slurm.net/slurm-nodename": "made1"},
                                             "annotations": {PARTITIONS: "k8s, big"}}, "status": CAPACITY})
    wait_until(lambda: "AvailableFeatures=penstock-bridge,k8s,big" in shown(external, "made1"), "it is made")
    assert "CPUTot=6" in shown(external, "made1") and "RealMemory=2000" in shown(external, "made1")
    assert "EXTERNAL" in shown(external, "made1")
    bridge.api.patch("nodes", "k1", {"metadata": {"annotations": {PARTITIONS: "k8s\nNodeName=evil"}}})
    bridge.api.patch("nodes", "ext8", {"metadata": {"labels": {LABEL: ""}}, "status": CAPACITY})
    bridge.api.patch("nodes", "ext8", {"metadata": {"labels": {LABEL: None}}})  # it was made by somebody else
    bridge.api.patch("nodes", "k1", {"metadata": {"annotations": {PARTITIONS: "k8s,small"}}})
    wait_until(lambda: "AvailableFeatures=penstock-bridge,k8s,small" in shown(external, "made1"), "it follows")
    job = int(external.run("sbatch", "--parsable", "--external", "-p", "made", "-w", "made1").out)
    external.wait_state(job, "RUNNING")
    bridge.kill()
    bridge.api.patch("nodes", "k1", {"metadata": {"labels": {LABEL: None}}})  # nobody tells the bridge
    bridge.start()
    wait_until(lambda: "Reason=slurm-bridge: " in shown(external, "made1"), "it drains")
    assert external.run("squeue", "-h", "-j", str(job), "-o", "%T").out.strip() == "RUNNING"
    bridge.api.patch("nodes", "k1", {"metadata": {"labels": {LABEL: "yes"}}})
    wait_until(lambda: "DRAIN" not in shown(external, "made1"), "it is wanted again")
    assert external.run("squeue", "-h", "-j", str(job), "-o", "%T").out.strip() == "RUNNING"
    bridge.api.delete("nodes", "k1")
    wait_until(lambda: "DRAIN" in shown(external, "made1"), "it drains")
    external.run("scancel", str(job))
    wait_until(lambda: "not found" in shown(external, "made1") or not shown(external, "made1"), "it is gone")
    assert "DRAIN" not in shown(external, "ext8") and "NodeName=evil" not in external.run("scontrol", "show", "nodes").out


def test_cordoned_external_nodes(bridge, external):
    """Cordoned, it is drained; uncordoned, it is let go; an administrator's drain is nobody else's."""
    bridge.api.create("nodes", {"metadata": {"name": "own1", "labels": {LABEL: ""}, "annotations": {PARTITIONS: "k8s"}},
                                "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}})

    def state():
        node = bridge.rest.get("node/own1")[1].get("nodes")
        return (node[0]["state"], node[0]["reason"]) if node else ([], "")
    wait_until(lambda: "EXTERNAL" in state()[0], "it is made")
    bridge.api.patch("nodes", "own1", {"spec": {"unschedulable": True}})
    wait_until(lambda: state()[1] == "slurm-bridge: Corresponding Kubernetes node (own1) is unschedulable", f"it is drained {state()}")
    assert "DRAIN" in state()[0]
    bridge.api.patch("nodes", "own1", {"spec": {"unschedulable": None}})
    wait_until(lambda: "DRAIN" not in state()[0], "it is let go")
    external.run("scontrol", "update", "nodename=own1", "state=drain", "reason=a fan")
    bridge.api.patch("nodes", "own1", {"spec": {"unschedulable": True}})
    bridge.api.patch("nodes", "own1", {"metadata": {"annotations": {PARTITIONS: "k8s,more"}}, "spec": {"unschedulable": None}})
    wait_until(lambda: "more" in bridge.rest.get("node/own1")[1]["nodes"][0]["features"], "it has been looked at")
    assert state()[1] == "a fan"
    bridge.api.delete("nodes", "own1")
    wait_until(lambda: not state()[0], "it goes with Kubernetes' node")


def test_two_clusters_of_kubernetes(external, rest, tmp_path):
    """Two bridges of different names at one slurmctld: each has its jobs and nodes, over restarts of both."""
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    with Bridge(external, rest, tmp_path / "x", rules="name: x\n") as x, Bridge(external, rest, tmp_path / "y", rules="name: y\n") as y:
        for b, node in ((x, "nx"), (y, "ny")):
            b.pod("a")
            b.bound("a")
            b.api.create("nodes", {"metadata": {"name": node, "labels": {LABEL: ""}}, "status": {"capacity": {"cpu": "2", "memory": "1Gi"}}})
            wait_until(lambda n=node: rest.get(f"node/{n}")[1].get("nodes"), "the node is made")
        jobs = {x.job("a"), y.job("a")}
        assert len(jobs) == 2
        for b in (x, y):
            b.kill()
            b.start()
            b.pod("b")
            b.bound("b")
        assert len(x.jobs("R")) == 4 and {int(line.split()[0]) for line in x.jobs("R")} >= jobs
        assert rest.get("node/nx")[1]["nodes"] and rest.get("node/ny")[1]["nodes"]
        for b, node in ((x, "nx"), (y, "ny")):
            b.api.delete("nodes", node)
            wait_until(lambda n=node: not rest.get(f"node/{n}")[1].get("nodes"), "and removed by its own bridge")
            for name in ("a", "b"):
                b.end(name)
        x.idle()


def test_external_nodes_while_nobody_answers(bridge, rest, external):
    """Lists that fail and a slurmrestd that refuses delete nothing."""
    for name in ("k2", "k3"):
        bridge.api.create("nodes", {"metadata": {"name": name, "labels": {LABEL: ""}}, "status": CAPACITY})
    wait_until(lambda: "NodeName=k3" in shown(external, "k3") and "NodeName=k2" in shown(external, "k2"), "they are made")
    bridge.kill()
    bridge.api.fault(500, path="/api/v1/nodes", times=5)
    bridge.start()
    wait_until(lambda: not bridge.api.faults, "it lists again")
    assert "DRAIN" not in shown(external, "k2") + shown(external, "k3")
    bridge.api.delete("nodes", "k2")
    bridge.api.patch("nodes", "k3", {"status": {"capacity": {"cpu": "5", "memory": "2000Mi"}}}, sub="status")
    wait_until(lambda: "CPUTot=5" in shown(external, "k3") and "NodeName" not in shown(external, "k2"), "one goes, one is made anew")
    bridge.api.delete("nodes", "k3")
    wait_until(lambda: "NodeName" not in shown(external, "k3"), "it goes")
