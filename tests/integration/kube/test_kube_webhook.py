"""penstock-webhook: reviews over HTTPS, its certificate, and the manifest that installs it."""

import base64
import http.client
import json
import os
import resource
import socket
import ssl
import subprocess
import threading
import time

import pytest
from conftest import SANITIZED, Daemon, free_ports, program, wait_until

from apiserver import ApiServer, Refusal, json_patch
from manifests import documents, forbidden

NAME = "penstock-webhook.penstock-operator.svc"
CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


class Webhook:
    def __init__(self, api, folder):
        self.api, self.folder, self.port = api, folder, free_ports(1)[0]
        for one in documents("webhook.yaml"):
            if one["kind"].endswith("WebhookConfiguration"):
                api.create(one["kind"].lower() + "s", one)

    def start(self, *options):
        (self.folder / "bridge.yaml").write_text(next(d for d in documents("webhook.yaml") if d["kind"] == "ConfigMap")["data"]["bridge.yaml"])
        self.daemon = Daemon("penstock-webhook", [
            program("penstock-webhook"), "-v", "-k", str(self.api.kubeconfig(self.folder / "kubeconfig")), "--listen",
            f"127.0.0.1:{self.port}", "-f", str(self.folder / "bridge.yaml"), *options], self.folder / "webhook.log", dict(os.environ))
        return self

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.daemon.kill()
        else:
            assert self.daemon.stop() == 0, self.log()

    def log(self):
        return (self.folder / "webhook.log.stderr").read_text()[-2000:]

    def bundle(self, plural=CONFIGURATIONS[0]):
        hooks = self.api.get(plural, "penstock-webhook")["webhooks"]
        found = {h["clientConfig"].get("caBundle") for h in hooks}
        return base64.b64decode(found.pop()).decode() if len(found) == 1 and None not in found else None

    def ready(self):
        return wait_until(lambda: self.bundle() if self.bundle() == self.bundle(CONFIGURATIONS[1]) else None, f"the bundle: {self.log()}")

    def context(self, bundle=None):
        return ssl.create_default_context(cadata=bundle or self.bundle())

    def request(self, method, path, body=b"", context=None):
        """As an API server asks: the name of the Service is in the certificate, whatever the address."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        with (context or self.context()).wrap_socket(raw, server_hostname=NAME) as tls:
            conn = http.client.HTTPConnection(NAME)
            conn.sock = tls
            conn.request(method, path, body, {"Content-Type": "application/json"})
            reply = conn.getresponse()
            return reply.status, reply.read().decode()

    def review(self, path, obj=None, old=None, operation="CREATE", namespace="default", **more):
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "a-b", "operation": operation, "namespace": namespace, "object": obj, "oldObject": old,
            "userInfo": {"username": "alice"}, **more}}
        status, text = self.request("POST", path, json.dumps(body).encode())
        assert status == 200, text
        response = json.loads(text)["response"]
        assert response["uid"] == "a-b"
        return response


@pytest.fixture
def hook(tmp_path):
    with ApiServer() as api:
        with Webhook(api, tmp_path).start() as hook:
            hook.ready()
            yield hook
        assert not forbidden(api.asked, "webhook.yaml"), "deploy/kubernetes/webhook.yaml does not allow this"


def test_objects_are_refused_when_they_are_written(hook):
    """The API server of the tests asks the webhook about each object, as the manifest says."""
    def admit(plural, obj):
        if plural == "nodesets":
            response = hook.review(hook_path, obj)
            if not response["allowed"]:
                raise Refusal(response["status"]["code"], response["status"]["reason"], response["status"]["message"])
    hook_path = hook.api.get(CONFIGURATIONS[0], "penstock-webhook")["webhooks"][0]["clientConfig"]["service"]["path"]
    hook.api.store.admission.append(admit)
    good = {"apiVersion": "operator.penstock/v1beta1", "kind": "NodeSet", "metadata": {"name": "w", "namespace": "default"},
            "spec": {"controllerRef": {"name": "c"}}}
    hook.api.create("nodesets", good)
    with pytest.raises(Refusal, match="spec.replicas: -1 is not between 0 and 100000"):
        hook.api.create("nodesets", {**good, "metadata": {"name": "x", "namespace": "default"}, "spec": {**good["spec"], "replicas": -1}})
    assert hook.api.get("nodesets", "w") and not hook.api.get("nodesets", "x")
    changed = {**good, "spec": {"controllerRef": {"name": "d"}}}
    response = hook.review(hook_path, changed, good, "UPDATE")
    assert not response["allowed"] and response["status"]["message"] == "spec.controllerRef: cannot be changed"
    wrong = {**good, "spec": {"controllerRef": {"name": "c"}, "replicas": -1}}
    held = {**wrong, "metadata": {**good["metadata"], "finalizers": ["x/y"]}}
    response = hook.review(hook_path, wrong, held, "UPDATE")
    assert response["allowed"] and "spec.replicas: -1" in response["warnings"][0], "an earlier release let it in: its finalizer may go"
    gone = {**held, "metadata": {**held["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert hook.review(hook_path, {**gone, "metadata": {**gone["metadata"], "finalizers": []}, "spec": {}}, gone, "UPDATE")["allowed"]
    assert "by alice is refused" in hook.log()


def test_pods_of_the_bridge(hook):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    response = hook.review("/mutate--v1-pod", pod, namespace="slurm-bridge")
    changed = json_patch(pod, json.loads(base64.b64decode(response["patch"])))
    assert changed["spec"]["schedulerName"] == "slurm-bridge-scheduler"
    assert changed["spec"]["tolerations"] == [{"key": "slinky.slurm.net/managed-node", "operator": "Equal",
                                               "value": "slurm-bridge-scheduler", "effect": "NoExecute"}]
    assert hook.review("/validate--v1-pod", changed, namespace="slurm-bridge")["allowed"]
    assert "patch" not in hook.review("/mutate--v1-pod", pod, namespace="default")
    changed["spec"]["resourceClaims"] = [{"name": "x"}]
    assert "template of a claim" in hook.review("/validate--v1-pod", changed)["status"]["message"]


@pytest.mark.parametrize("method,path,body,status,text", [
    ("POST", "/validate--v1-pod", b"{", 400, "line 1"),
    ("POST", "/validate--v1-pod", b"{}", 400, "no AdmissionReview"),
    ("POST", "/nowhere", b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}}', 404, "no such webhook"),
    ("GET", "/validate--v1-pod", b"", 405, "POST is wanted"),
    ("GET", "/healthz", b"", 200, "ok"),
    ("POST", "/validate--v1-pod", b"x" * (9 << 20), 413, "too large"),
], ids=["half", "no-review", "no-path", "get", "health", "large"])
def test_what_is_no_review(hook, method, path, body, status, text):
    got, said = hook.request(method, path, body)
    assert got == status and text in said, said
    assert hook.daemon.alive() and hook.request("GET", "/healthz")[0] == 200


def test_many_at_once_and_those_that_say_nothing(hook):
    silent = [socket.create_connection(("127.0.0.1", hook.port)) for _ in range(20)]
    for one in silent[:10]:
        one.sendall(b"\x16\x03\x01 no handshake")
    results = []

    def ask():
        results.append(hook.review("/validate--v1-pod", {"spec": {"schedulerName": "slurm-bridge-scheduler"}})["allowed"])
    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [True] * 30
    for one in silent:
        one.close()


def slow_connection(hook):
    raw = socket.create_connection(("127.0.0.1", hook.port), timeout=60)
    return hook.context().wrap_socket(raw, server_hostname=NAME)


def send_until_closed(tls, piece, most, pause=0.0):
    """Bytes that were sent before the other end hung up, and the seconds that it took."""
    sent, begin = 0, time.monotonic()
    tls.settimeout(pause or 60)
    while sent < most:
        try:
            tls.sendall(piece)
            sent += len(piece)
            if pause and not tls.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return sent, time.monotonic() - begin


def test_a_body_without_end_is_cut(hook):
    with slow_connection(hook) as tls:
        tls.sendall(b"POST /validate--v1-pod HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        sent, _ = send_until_closed(tls, piece, 100 << 20)
    assert 16 << 20 <= sent < 40 << 20, sent
    assert hook.request("GET", "/healthz")[0] == 200


def test_a_request_that_comes_by_bytes_is_cut(hook):
    """However many bytes come: a request has half a minute."""
    with slow_connection(hook) as tls:
        tls.sendall(b"POST /validate--v1-pod HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        sent, seconds = send_until_closed(tls, b"x", 999, pause=1.0)
    assert 0 < sent < 999 and 20 < seconds < 55, (sent, seconds)


def descriptors(hook):
    return len(os.listdir(f"/proc/{hook.daemon.process.pid}/fd"))


def test_clients_that_hang_up(hook):
    """In the middle of the handshake, the headers and the body, and before the answer: nothing of them is left."""
    before = descriptors(hook)
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "object": {"spec": {"schedulerName": "slurm-bridge-scheduler"}}}}).encode()
    head = b"POST /validate--v1-pod HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    for i in range(120):
        raw = socket.create_connection(("127.0.0.1", hook.port), timeout=20)
        if i % 4 == 0:
            raw.sendall(b"\x16\x03\x01\x02\x00")
            raw.close()
            continue
        tls = hook.context().wrap_socket(raw, server_hostname=NAME)
        tls.sendall((b"POST /val", head + body[:20], head + body)[i % 4 - 1])
        if i % 8 > 3:  # with a reset instead of an end
            tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        tls.close()
    wait_until(lambda: descriptors(hook) <= before + 1, f"all are let go: {before} {descriptors(hook)}", 40)
    assert hook.request("GET", "/healthz")[0] == 200


def test_silent_callers_do_not_shut_the_port(hook):
    """Every place is taken by somebody who says nothing: who comes then is answered when their time is over."""
    silent = [socket.create_connection(("127.0.0.1", hook.port)) for _ in range(80)]
    begin = time.monotonic()
    assert hook.request("GET", "/healthz")[0] == 200
    assert time.monotonic() - begin < 25
    for one in silent:
        one.close()


def test_bodies_that_are_held_back(hook):
    """Forty callers send 7 MiB each and stop before the end: the memory has a bound, and others are answered."""
    def rss():
        return next(int(line.split()[1]) for line in open(f"/proc/{hook.daemon.process.pid}/status") if line.startswith("VmRSS"))
    before, held = rss(), []
    piece = b" " * (7 << 20)
    for _ in range(40):
        tls = slow_connection(hook)
        tls.settimeout(5)
        try:
            tls.sendall(b"POST /validate--v1-pod HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (len(piece) + 1))
            tls.sendall(piece)
        except OSError:
            pass  # refused meanwhile
        held.append(tls)
    assert SANITIZED or rss() - before < 160 << 10, f"{rss() - before} KiB"  # a sanitizer keeps what was freed
    assert hook.request("GET", "/healthz")[0] == 200
    status, text = hook.request("POST", "/validate--v1-pod", piece)
    assert status == 503 and "too many bodies" in text, (status, text)
    for one in held:
        one.close()
    wait_until(lambda: hook.request("POST", "/validate--v1-pod", b"{}")[0] == 400, "small ones are read again", 40)


def test_no_more_descriptors(hook):
    """A connection that cannot be accepted stays in the queue: it is looked at now and then, not without end."""
    pid = hook.daemon.process.pid
    used = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, 4096))
    many = [socket.create_connection(("127.0.0.1", hook.port)) for _ in range(12)]
    wait_until(lambda: "no connection can be accepted" in hook.log(), "it is told")

    def ticks():
        return sum(int(x) for x in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13])
    before, begin = ticks(), time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 2, "two seconds have gone")
    assert ticks() - before < 50, "the thread spins"
    for one in many:
        one.close()
    wait_until(lambda: hook.request("GET", "/healthz")[0] == 200, "it goes on")


def test_two_replicas_have_one_pair(hook, tmp_path):
    (tmp_path / "b").mkdir()
    other = Webhook.__new__(Webhook)
    other.api, other.folder, other.port = hook.api, tmp_path / "b", free_ports(1)[0]
    with other.start():
        wait_until(lambda: "is in use" in other.log(), "the other one has a certificate")
        assert other.request("GET", "/healthz", context=hook.context())[0] == 200
        secret = hook.api.get("secrets", "penstock-webhook-tls", "penstock-operator")
        assert secret["type"] == "kubernetes.io/tls" and base64.b64decode(secret["data"]["tls.crt"]).decode() == hook.bundle()


def make_pair(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                    "/CN=x", "-addext", f"subjectAltName=DNS:{name}", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
                   check=True, capture_output=True)
    return (folder / "tls.crt").read_text(), (folder / "tls.key").read_text()


def test_a_pair_that_does_not_fit_is_made_anew(tmp_path):
    """The earlier certificate stays in the bundle, so that replicas which still use it are believed."""
    cert, key = make_pair(tmp_path, "another.name")
    code = {k: base64.b64encode(v.encode()).decode() for k, v in (("tls.crt", cert), ("tls.key", key), ("ca.crt", cert))}
    with ApiServer() as api:
        api.create("secrets", {"metadata": {"name": "penstock-webhook-tls", "namespace": "penstock-operator"}, "data": code})
        api.fault("409", "PUT", "/secrets")
        api.fault("500", "PUT", "webhookconfigurations")
        with Webhook(api, tmp_path).start() as hook:
            bundle = hook.ready()
            assert bundle.count("BEGIN CERTIFICATE") == 2 and bundle.endswith(cert)
            wait_until(lambda: hook.request("GET", "/healthz")[0] == 200, "it is used")


def test_files_of_others_are_read_again(tmp_path):
    first, _ = make_pair(tmp_path, NAME)
    with ApiServer() as api:
        with Webhook(api, tmp_path).start("--cert-file", str(tmp_path / "tls.crt"), "--key-file", str(tmp_path / "tls.key")) as hook:
            wait_until(lambda: "answered at port" in hook.log(), "the port is open")
            assert hook.request("GET", "/healthz", context=hook.context(first))[0] == 200
            second, _ = make_pair(tmp_path, NAME)

            def is_new():
                try:
                    return hook.request("GET", "/healthz", context=hook.context(second))[0] == 200
                except ssl.SSLError:
                    return False
            wait_until(is_new, "the new one is used", 30)
            assert hook.bundle() is None and not api.get("secrets", "penstock-webhook-tls", "penstock-operator")


def test_nobody_else_is_told_our_certificate(hook):
    """A webhook of another service in a configuration of our name keeps its bundle."""
    config = hook.api.get(CONFIGURATIONS[0], "penstock-webhook")
    config["webhooks"][0]["clientConfig"] = {"service": {"namespace": "x", "name": "penstock-webhook", "path": "/"}, "caBundle": "b3RoZXI="}
    hook.api.store.replace(CONFIGURATIONS[0], "", "penstock-webhook", config, None)
    before = hook.bundle(CONFIGURATIONS[1])
    hook.api.delete("secrets", "penstock-webhook-tls", "penstock-operator")
    assert hook.daemon.stop() == 0
    hook.start()
    now = wait_until(lambda: hook.bundle(CONFIGURATIONS[1]) not in (before, None) and hook.bundle(CONFIGURATIONS[1]), "the last one is told")
    told = [h["clientConfig"]["caBundle"] for h in hook.api.get(CONFIGURATIONS[0], "penstock-webhook")["webhooks"]]
    assert told[0] == "b3RoZXI=" and base64.b64decode(told[1]).decode() == now


@pytest.mark.parametrize("args,text", [
    (["--secret", "../x"], "--secret: '../x' is no name of Kubernetes"),
    (["--cert-file", "x"], "--cert-file and --key-file: both, or none"),
    (["more"], "unexpected argument: more"),
])
def test_command_lines(args, text):
    done = subprocess.run([program("penstock-webhook"), *args], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and text in done.stderr


def test_namespaces_by_their_labels(tmp_path):
    """The selector is told to the API server, with the namespaces that are never asked about; other webhooks keep theirs."""
    with ApiServer() as api:
        hook = Webhook(api, tmp_path)
        before = [h.get("namespaceSelector") for h in api.get(CONFIGURATIONS[0], "penstock-webhook")["webhooks"]]
        config = tmp_path / "selector.yaml"
        config.write_text("managedNamespaces: [a]\nmanagedNamespaceSelector:\n  matchLabels: {slurm: 'yes'}\n"
                          "  matchExpressions: [{key: team, operator: In, values: [x, y]}]\n")
        with hook.start("-f", str(config)):
            hook.ready()
            told, = api.get(CONFIGURATIONS[1], "penstock-webhook")["webhooks"]
            assert told["namespaceSelector"] == {"matchLabels": {"slurm": "yes"}, "matchExpressions": [
                {"key": "team", "operator": "In", "values": ["x", "y"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "penstock-operator"]}]}
            assert [h.get("namespaceSelector") for h in api.get(CONFIGURATIONS[0], "penstock-webhook")["webhooks"]] == before
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
            assert "patch" in hook.review("/mutate--v1-pod", pod, namespace="whichever")
