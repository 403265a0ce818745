"""penstock-operator: several slurmctld of a Controller, one that runs elsewhere, and the ServiceMonitor of one; sshd in workers."""

import base64
import http.server
import os
import signal
import socket
import threading
import time

import pytest
from conftest import free_ports, wait_until

from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given

ACTIVE = "controller.slinky.slurm.net/active"
PORT = 6817  # of slurmctld in pods


class Slurmctld:
    """What answers at a pod's address: /readyz is 204 on the one that leads."""

    def __init__(self, address):
        self.leads, self.address, outer = False, address, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(204 if outer.leads and self.path == "/readyz" else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer((address, PORT), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def pair():
    """Two addresses of loopback that nobody else has just now."""
    made = []
    for i in range(1, 250):
        try:
            made.append(Slurmctld(f"127.61.{i}.1"))
        except OSError:
            continue
        if len(made) == 2:
            break
    yield made
    for one in made:
        one.stop()


def controller(op, name="h", **spec):
    return op.make("controllers", "Controller", name, **{
        "clusterName": "test", "slurmKeyRef": {"name": "slurm", "key": "slurm.key"},
        "jwtKeyRef": {"name": "jwt", "key": "jwt.key"}, **spec})


def claim(op, mode):
    op.api.create("persistentvolumeclaims", {"metadata": {"name": "state", "namespace": "default"}, "spec": {
        "accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}})


def pod(op, i, address):
    """As the controller of StatefulSets and a kubelet do."""
    op.api.create("pods", {"metadata": {"name": f"h-controller-{i}", "namespace": "default", "labels": {
        "app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": "h", "app.kubernetes.io/component": "controller"}},
        "spec": {"containers": [{"name": "slurmctld", "image": "i"}]}})
    if address:
        op.api.patch("pods", f"h-controller-{i}", {"status": {"phase": "Running", "podIP": address}}, sub="status")


def marked(op):
    return [p["metadata"]["name"][-1] for p in op.api.all("pods") if p["metadata"].get("labels", {}).get(ACTIVE) == "true"]


def message(op, name="h"):
    return op.condition("Ready", "controllers", name).get("message", "")


HA = {"ha": {"enabled": True, "backups": 1}, "persistence": {"enabled": True, "existingClaim": "state"}}


def test_what_several_controllers_need(op):
    controller(op, ha={"enabled": True})
    wait_until(lambda: "existingClaim are required" in op.condition("Degraded", "controllers", "h").get("message", ""), "it is said")
    op.api.patch("controllers", "h", {"spec": HA})
    wait_until(lambda: message(op) == "spec.persistence.existingClaim: there is no such claim", message(op))
    claim(op, "ReadWriteOnce")
    wait_until(lambda: "ReadWriteMany" in message(op), message(op))
    assert op.api.get("services", "h-controller") and not op.api.get("statefulsets", "h-controller")
    op.api.delete("persistentvolumeclaims", "state")
    claim(op, "ReadWriteMany")
    made = wait_until(lambda: op.api.get("statefulsets", "h-controller"), "the pods are wanted")["spec"]
    assert made["replicas"] == 2 and "volumeClaimTemplates" not in made
    volumes = {v["name"]: v for v in made["template"]["spec"]["volumes"]}
    assert volumes["statesave"]["persistentVolumeClaim"] == {"claimName": "state"}
    conf = op.api.get("configmaps", "h-config")["data"]["slurm.conf"]
    assert [line for line in conf.splitlines() if line.startswith("SlurmctldHost=")] == [
        f"SlurmctldHost=h-controller-{i}(h-controller-{i}.h-controller-internal.default)" for i in (0, 1)]
    assert op.api.get("services", "h-controller")["spec"]["selector"][ACTIVE] == "true"
    assert ACTIVE not in op.api.get("services", "c-controller")["spec"]["selector"]


def test_the_service_follows_the_leader(op, pair):
    claim(op, "ReadWriteMany")
    controller(op, **HA)
    pod(op, 0, None)
    wait_until(lambda: marked(op) == ["0"], "the first has the mark while nobody answers")
    op.api.patch("pods", "h-controller-0", {"status": {"phase": "Running", "podIP": pair[0].address}}, sub="status")
    pod(op, 1, pair[1].address)
    pair[1].leads = True
    wait_until(lambda: marked(op) == ["1"], f"the one that leads has it {op.log()}")
    pair[1].leads = False
    pair[0].leads = True
    wait_until(lambda: marked(op) == ["0"], "it moves")
    pair[0].leads = False  # nobody leads: the mark stays where it is
    op.kill()
    op.start()
    pair[1].leads = True
    wait_until(lambda: marked(op) == ["1"], "the next is found by another operator")
    op.api.patch("pods", "h-controller-0", {"metadata": {"labels": {ACTIVE: "true"}}})  # somebody else's word
    wait_until(lambda: marked(op) == ["1"], "it is taken away")
    op.api.delete("controllers", "h")
    wait_until(lambda: not op.api.get("controllers", "h"), "it is gone")


def test_an_address_that_is_none(op, pair):
    """Whoever may write a pod's status cannot have the operator ask elsewhere than at an address."""
    claim(op, "ReadWriteMany")
    controller(op, **HA)
    pod(op, 0, "127.0.0.1:1/@x")
    pod(op, 1, pair[1].address)
    pair[1].leads = True
    wait_until(lambda: marked(op) == ["1"], "the other is asked")


# ---- configuration

def test_aicr_1737_files_that_change_reach_slurmctld(op):
    """A ConfigMap of configFileRefs is part of what replaces the pod where files are not read in place; the same text again is not."""
    op.api.create("configmaps", {"metadata": {"name": "topo", "namespace": "default"}, "data": {"topology.yaml": "a"}})
    for name, in_place in (("r", False), ("i", True)):
        op.make("controllers", "Controller", name, clusterName="t", slurmKeyRef={"name": "slurm", "key": "slurm.key"}, jwtKeyRef={
            "name": "jwt", "key": "jwt.key"}, configFileRefs=[{"name": "topo"}], inplaceReconfigure=in_place)

    def template(name):
        made = op.api.get("statefulsets", f"{name}-controller")
        return made and made["spec"]["template"]
    first = wait_until(lambda: template("r") and template("i") and {n: template(n) for n in "ri"}, f"both are made {op.log()}")
    op.api.patch("configmaps", "topo", {"metadata": {"annotations": {"helm": "2"}}})
    op.api.patch("configmaps", "topo", {"data": {"topology.yaml": "b"}})
    wait_until(lambda: template("r") != first["r"], "the pod is replaced")
    changed = template("r")
    assert changed["spec"] == first["r"]["spec"] and template("i") == first["i"]
    assert [c["name"] for c in first["i"]["spec"]["initContainers"]] == ["logfile", "reconfigure"]


# ---- ServiceMonitor

def monitor(op):
    return op.api.get("servicemonitors", "m-controller")


def test_a_service_monitor(op):
    controller(op, "m", metrics={"enabled": True, "serviceMonitor": {
        "enabled": True, "labels": {"team": "x", "app.kubernetes.io/name": "no"}, "interval": "30s",
        "endpoints": [{"path": "/metrics/jobs"}, {"path": "/metrics/penstock", "interval": "5s", "scrapeTimeout": "2s"}]}})
    made = wait_until(lambda: monitor(op), "it is made")
    assert made["metadata"]["labels"]["team"] == "x" and made["metadata"]["labels"]["app.kubernetes.io/name"] == "slurmctld"
    assert made["spec"]["endpoints"] == [
        {"port": "slurmctld", "path": "/metrics/jobs", "interval": "30s"},
        {"port": "slurmctld", "path": "/metrics/penstock", "interval": "5s", "scrapeTimeout": "2s"}]
    wanted = made["spec"]["selector"]["matchLabels"].items()
    wait_until(lambda: [s["metadata"]["name"] for s in op.api.all("services") if wanted <= s["metadata"]["labels"].items()] ==
               ["m-controller"], "its service is made, alone")
    op.api.patch("controllers", "m", {"spec": {"metrics": {"serviceMonitor": {"endpoints": None, "labels": None}}}})
    wait_until(lambda: [e["path"] for e in monitor(op)["spec"]["endpoints"]] == [
        f"/metrics/{p}" for p in ("jobs", "nodes", "partitions", "scheduler")], "the usual ones")
    op.api.patch("controllers", "m", {"spec": {"metrics": {"serviceMonitor": {"enabled": False}}}})
    wait_until(lambda: not monitor(op), "it goes")


def test_without_the_definition_of_monitors(op):
    """The operator works, and says what is missing."""
    op.kill()
    op.api.missing.add("servicemonitors")
    op.start()
    controller(op, "m", metrics={"enabled": True, "serviceMonitor": {"enabled": True}})
    wait_until(lambda: any(e["reason"] == "ServiceMonitorMissing" for e in op.api.all("events")), "it is said")
    wait_until(lambda: op.api.get("statefulsets", "m-controller"), "the rest is made")
    assert not monitor(op)


# ---- sshd in workers

def test_ssh_of_workers(op):
    op.set(replicas=1, ssh={"enabled": True, "sssdConfRef": {"name": "", "key": "sssd.conf"}})
    wait_until(lambda: "sssdConfRef: name and key" in op.condition("Degraded").get("message", ""), "it is refused")
    op.change(ssh={"sssdConfRef": {"name": "sssd"}, "extraSshdConfig": "PermitRootLogin no"})
    op.api.create("secrets", {"metadata": {"name": "sssd", "namespace": "default"}, "data": {
        "sssd.conf": base64.b64encode(b"[sssd]\n").decode()}})
    made = wait_until(lambda: op.api.get("pods", "w-0"), f"the worker is made {op.log()}")["spec"]
    config = wait_until(lambda: op.api.get("configmaps", "w-ssh-config"), "sshd's configuration is made")
    assert config["data"]["sshd_config"].endswith("Subsystem sftp internal-sftp\nPermitRootLogin no\n") and len(config["data"]) == 1
    assert [r["kind"] for r in config["metadata"]["ownerReferences"]] == ["NodeSet"]
    slurmd = next(c for c in made["containers"] if c["name"] == "slurmd")
    assert {"name": "ssh", "containerPort": 22, "protocol": "TCP"} in slurmd["ports"]
    mounts = {m["mountPath"]: m for m in slurmd["volumeMounts"]}
    assert mounts["/etc/ssh/sshd_config"]["subPath"] == "sshd_config" and mounts["/etc/sssd/sssd.conf"]["readOnly"]
    volumes = {v["name"]: v for v in made["volumes"]}
    assert volumes["sssd-conf"]["secret"]["defaultMode"] == 0o600 and volumes["ssh-config"]["configMap"]["name"] == "w-ssh-config"


# ---- updates at a time

def resv(op):
    return (op.rest.get("reservation/SlurmOperatorMaint-w")[1].get("reservations") or [None])[0]


def stamp(after_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + after_s))


def schedule(after_s, **more):
    return {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": stamp(after_s), "duration": "1h", **more}}


def held(op):
    return "nodeset.slinky.slurm.net/reservation" in (op.api.get("nodesets", "w")["metadata"].get("finalizers") or [])


def test_what_a_scheduled_update_needs(op):
    op.set(replicas=0, updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "tomorrow"}})
    wait_until(lambda: "startTime: a time" in op.condition("Degraded").get("message", ""), "it is refused")
    op.change(updateStrategy=schedule(60, flags=["DAILY", "MAINT\nUsers=x"]))
    wait_until(lambda: "is no flag of a reservation" in op.condition("Degraded").get("message", ""), "a flag is refused")


def created(op):
    """The condition ReservationCreated: its status and reason."""
    return next(((c["status"], c["reason"]) for c in op.status().get("conditions", []) if c["type"] == "ReservationCreated"), None)


def test_a_scheduled_update(op):
    """The reservation is made ahead, with the workers' nodes; they are replaced when it begins, and it goes with the set."""
    op.set(replicas=2, updateStrategy=schedule(7200, flags=["daily"]))
    op.ready(2)
    made = wait_until(lambda: resv(op), f"the reservation is made {op.log()}", 40)
    assert set(made["flags"]) >= {"MAINT", "IGNORE_JOBS", "DAILY"} and made["users"] == "root" and held(op)
    assert made["end_time"]["number"] - made["start_time"]["number"] == 3600
    wait_until(lambda: created(op) == ("True", "Created"), f"the condition says so {op.status()}", 40)
    assert any(e["reason"] == "ReservationCreated" and e["involvedObject"]["name"] == "w" for e in op.api.all("events"))
    op.change(replicas=3)
    # in the order in which the nodes registered
    wait_until(lambda: resv(op)["node_count"] == 3 and resv(op)["node_list"].startswith("w-["), f"it has all nodes {resv(op)}", 40)
    before = {name: op.api.get("pods", name)["metadata"]["uid"] for name in op.pods()}
    op.change(extraConf="Weight=7")
    wait_until(lambda: op.status().get("updatedReplicas") == 0, "all are old")
    assert {name: op.api.get("pods", name)["metadata"]["uid"] for name in op.pods()} == before
    op.change(updateStrategy=schedule(-60, flags=["FORCE_START", "DAILY"]))  # it is time, and the next is made so
    wait_until(lambda: op.status().get("observedGeneration") == op.api.get("nodesets", "w")["metadata"]["generation"], "it is seen")
    op.rest.delete("reservation/SlurmOperatorMaint-w")
    wait_until(lambda: op.status().get("updatedReplicas") == 3 and not set(before.values()) & {
        op.api.get("pods", name)["metadata"]["uid"] for name in op.pods()}, f"all are new {op.status()} {op.log()}", 90)
    op.api.delete("nodesets", "w")
    wait_until(lambda: not op.api.get("nodesets", "w"), f"the set goes {op.log()}", 40)
    assert resv(op) is None


def test_another_strategy_takes_the_reservation_away(op):
    op.set(replicas=1, updateStrategy=schedule(7200))
    op.ready(1)
    wait_until(lambda: resv(op) and held(op), "the reservation is made", 40)
    op.api.patch("nodesets", "w", {"metadata": {"finalizers": ["a/b", *op.api.get("nodesets", "w")["metadata"]["finalizers"]]}})
    op.change(updateStrategy={"type": "OnDelete"})
    wait_until(lambda: not resv(op) and not held(op), f"it goes {op.log()}", 40)
    wait_until(lambda: created(op) == ("False", "NotExists"), f"the condition says so {op.status()}", 40)
    assert op.api.get("nodesets", "w")["metadata"]["finalizers"] == ["a/b"]  # that of somebody else stays
    op.api.patch("nodesets", "w", {"metadata": {"finalizers": []}})


# ---- elsewhere ----

class Mute:
    """Takes connections and ends them: what TLS and disable_http look like to somebody who speaks HTTP."""

    def __init__(self, says=b""):
        self.says, self.listener = says, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with conn:
                conn.recv(4096)
                conn.sendall(self.says)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def mute():
    made = Mute()
    yield made
    made.stop()


def external(op, port, plural="controllers", kind="Controller", host="127.0.0.1"):
    keys = {"clusterName": "test", "slurmKeyRef": {"name": "slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "jwt", "key": "jwt.key"}}
    return op.make(plural, kind, "far", external=True, externalConfig={"host": host, "port": port}, **keys if kind == "Controller" else {})


def said(op, plural="controllers"):
    """Reachable and Ready: status and reason of each."""
    found = [op.condition(kind, plural, "far") for kind in ("Reachable", "Ready")]
    return [(c["status"], c.get("reason")) for c in found]


def told(op, reason):
    return [e for e in op.api.all("events") if e["reason"] == reason and e["involvedObject"]["name"] == "far"]


GOOD = [("True", "Answers"), ("True", "External")]
LOST = [("False", "NoAnswer"), ("False", "Unreachable")]


def test_a_controller_elsewhere(op, shared):
    """No NodeSet and no RestApi is there: the Controller alone says whether slurmctld answers, each change once."""
    external(op, shared.port)
    wait_until(lambda: said(op) == GOOD, f"{said(op)} {op.log()}")
    assert f"at 127.0.0.1:{shared.port}, and answers" in op.condition("Reachable", "controllers", "far")["message"]
    assert not told(op, "Unreachable")
    os.kill(shared.ctld.process.pid, signal.SIGSTOP)  # connections are taken by the kernel, nobody answers
    try:
        wait_until(lambda: said(op) == LOST, f"{said(op)} {op.log()}", 40)
    finally:
        os.kill(shared.ctld.process.pid, signal.SIGCONT)
    wait_until(lambda: said(op) == GOOD, f"it is back {said(op)}", 40)
    shared.kill_ctld()
    try:
        wait_until(lambda: said(op) == LOST, f"{said(op)} {op.log()}", 40)
        since = op.condition("Reachable", "controllers", "far")["lastTransitionTime"]
        op.kill()
        op.start()  # another operator says the same from its beginning
        seen = []
        op.make("controllers", "Controller", "near", clusterName="test", slurmKeyRef={"name": "slurm", "key": "slurm.key"},
                jwtKeyRef={"name": "jwt", "key": "jwt.key"})
        wait_until(lambda: seen.append(said(op)) or op.api.get("configmaps", "near-config"), "it works")
        wait_until(lambda: seen.append(said(op)) or len(seen) > 50, "it goes on")
        assert set(map(str, seen)) == {str(LOST)}
        assert op.condition("Reachable", "controllers", "far")["lastTransitionTime"] == since
    finally:
        shared.start_ctld()
    wait_until(lambda: said(op) == GOOD, f"it is back {said(op)}", 40)
    lost = told(op, "Unreachable")
    assert lost and all(e["type"] == "Warning" for e in lost) and sum(e.get("count", 1) for e in lost) == 2, lost
    assert all("cannot be reached" in e["message"] for e in lost)
    wait_until(lambda: len(told(op, "External")) == 2, "either operator has told it")  # what repeats within a minute is counted later
    assert not told(op, "SyncFailed")
    op.api.delete("controllers", "far")


def test_who_speaks_no_http_is_no_trouble(op, mute):
    """TLS and disable_http keep /readyz away: connections are taken, and nothing more is known."""
    external(op, mute.port)
    wait_until(lambda: said(op) == [("Unknown", "NoHealth"), ("True", "External")], f"{said(op)} {op.log()}")
    mute.says = b"slurm? no\r\n"
    op.api.patch("controllers", "far", {"spec": {"externalConfig": {"port": free_ports(1)[0]}}})
    wait_until(lambda: said(op) == LOST, f"another address is asked at once {said(op)}")
    op.api.patch("controllers", "far", {"spec": {"externalConfig": {"port": mute.port}}})
    wait_until(lambda: said(op) == [("Unknown", "NoHealth"), ("True", "External")], f"{said(op)} {op.log()}")
    op.api.patch("controllers", "far", {"spec": {"externalConfig": {"host": "root@127.0.0.1/x"}}})
    wait_until(lambda: "neither a name of a host" in op.condition("Reachable", "controllers", "far")["message"], f"{said(op)}")
    op.api.delete("controllers", "far")


def test_who_does_not_serve(op):
    """A slurmctld that stands by, or a proxy before nothing, answers HTTP with another status."""
    standby = Mute(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    try:
        external(op, standby.port, "accountings", "Accounting")
        wait_until(lambda: said(op, "accountings") == [("False", "NotServing"), ("False", "Unreachable")], f"{said(op, 'accountings')} {op.log()}")
        assert op.condition("Reachable", "accountings", "far")["message"] == (
            f"slurmdbd runs elsewhere, at 127.0.0.1:{standby.port}, and says that it does not serve: HTTP 500")
        standby.says = b"HTTP/1.1 204 yes\r\nConnection: close\r\n\r\n"
        wait_until(lambda: said(op, "accountings") == GOOD, f"{said(op, 'accountings')}", 40)
    finally:
        standby.stop()
