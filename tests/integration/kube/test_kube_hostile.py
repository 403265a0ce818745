"""penstock-operator beside a slurmrestd that answers wrongly: no worker goes unless slurmctld itself says that it may."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import Daemon, program, wait_until

from apiserver import ApiServer
from operated import GROUP, OURS

ENDS = OURS + "Pod (default/w-0) is pending termination for scale-in"
DRAINED = {"name": "w-0", "state": ["IDLE", "DRAIN", "DYNAMIC_NORM"], "reason": ENDS, "comment": "", "features": ["w"], "topology": ""}
NO_NODE = {"errors": [{"error_number": 2018, "error": "Invalid node name specified"}]}
HERE = {"meta": {"slurm": {"cluster": "test"}}}


class Rest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        world = self.server.world
        try:
            if "/watch" in self.path:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                line = b'{"event":"hello"}\n'
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                world.over.wait()
                self.close_connection = True
            elif "/jobs" in self.path:
                self.send(200, {**HERE, "jobs": [], "errors": []})
            elif "/nodes" in self.path:
                self.send(200, {**HERE, "nodes": [DRAINED], "errors": []})
            else:
                world.asked += 1
                self.reply(world.get)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def reply(self, answer):
        status, body = answer
        if status is None:  # it never comes
            self.server.world.over.wait()
            self.close_connection = True
        else:
            self.send(status, body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.world.posted.append(body)
        try:
            self.reply(self.server.world.post)
        except (BrokenPipeError, ConnectionResetError):
            pass


class World:
    def __init__(self, folder, get, post=(200, {**HERE, "errors": []})):
        self.get, self.post, self.asked, self.posted, self.over = get, post, 0, [], threading.Event()
        self.folder, self.api = folder, ApiServer()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Rest)
        self.http.daemon_threads, self.http.world = True, self
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.api.__enter__()
        self.thread.start()
        key = {"name": "k", "key": "k"}
        self.api.create("secrets", {"metadata": {"name": "k", "namespace": "default"}, "data": {"k": base64.b64encode(b"k" * 32).decode()}})
        self.make("controllers", "Controller", "c", clusterName="test", slurmKeyRef=key, jwtKeyRef=key)
        self.make("nodesets", "NodeSet", "w", controllerRef={"name": "c"}, replicas=1)
        self.api.kubeconfig(self.folder / "kubeconfig")
        self.daemon = Daemon("penstock-operator", [
            program("penstock-operator"), "-vv", "-k", str(self.folder / "kubeconfig"), "--rest-url",
            f"http://127.0.0.1:{self.http.server_address[1]}", "--image", "i"], self.folder / "operator.log", None)
        wait_until(lambda: self.api.get("pods", "w-0"), f"a worker is made {self.log()}")
        self.api.store.bind("default", "w-0", {"target": {"kind": "Node", "name": "k1"}})
        self.api.patch("pods", "w-0", {"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, sub="status")
        self.api.patch("nodesets", "w", {"spec": {"replicas": 0}})
        return self

    def __exit__(self, *_):
        self.over.set()
        assert self.daemon.stop() == 0, self.log()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
        self.api.__exit__()

    def make(self, plural, kind, name, **spec):
        self.api.create(plural, {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
                                 "spec": spec})

    def log(self):
        return (self.folder / "operator.log.stderr").read_text()[-2000:]

    def is_deleted(self):
        pod = self.api.get("pods", "w-0")
        return not pod or "deletionTimestamp" in pod["metadata"]


def node(**more):
    return {**HERE, "nodes": [{**DRAINED, **more}], "errors": []}


@pytest.mark.parametrize("get,post", [
    ((200, {**HERE, "nodes": [], "errors": []}), (500, {})),
    ((200, {**HERE, "nodes": [], "errors": []}), (200, {**HERE, "errors": []})),
    ((200, {**HERE, "nodes": [], "errors": [{"error_number": 2018}]}), (422, {**NO_NODE})),
    ((200, {**HERE, "nodes": [], "errors": []}), (422, {**NO_NODE, "meta": {"slurm": {"cluster": "another"}}})),
    ((200, {**HERE, "nodes": [], "errors": []}), (422, {**HERE, "errors": [*NO_NODE["errors"], *NO_NODE["errors"]]})),
    ((200, node(name="w-1")), (500, {})),
    ((200, node(state="DRAIN")), (500, {})),
    ((200, node(state=[])), (500, {})),
    ((200, node(state=["ALLOCATED", "DRAIN"])), (500, {})),
    ((200, node(state=["IDLE", "DRAIN", "COMPLETING"])), (500, {})),
    ((200, node(state=["IDLE", "DRAIN", "UNDRAIN"])), (500, {})),
    ((200, {**node(), "meta": {"slurm": {"cluster": "another"}}}), (500, {})),
    ((200, {**node(), "meta": 7}), (500, {})),
    ((200, b'{"nodes": [{'), (500, {})),
    ((404, {**HERE, "errors": []}), (500, {})),
    ((500, node()), (500, {})),
    ((401, b"no"), (500, {})),
], ids=["empty-500", "empty-drained", "foreign-no", "another-cluster-no", "two-errors", "another-node", "text-state", "no-state", "busy",
        "completing", "undrain", "another-cluster", "meta", "half", "404", "500", "401"])
def test_what_is_no_yes_deletes_nothing(tmp_path, get, post):
    with World(tmp_path, get, post) as world:
        wait_until(lambda: world.asked >= 2, f"it is asked again and again {world.log()}", 60)
        assert not world.is_deleted(), world.log()


@pytest.mark.parametrize("get,post", [
    ((200, node()), (500, {})),
    ((200, {**HERE, "nodes": [], "errors": []}), (422, {**HERE, **NO_NODE})),
], ids=["drained", "no-such-node"])
def test_a_yes_and_no_such_node(tmp_path, get, post):
    with World(tmp_path, get, post) as world:
        wait_until(world.is_deleted, f"it goes {world.log()}", 30)


def test_an_answer_that_never_comes_holds_nobody_else(tmp_path):
    """One worker's question hangs: another NodeSet of the same cluster is served meanwhile, and the question has a deadline."""
    with World(tmp_path, (None, None)) as world:
        wait_until(lambda: world.asked == 1, "it is asked")
        world.make("nodesets", "NodeSet", "v", controllerRef={"name": "c"}, replicas=2)
        wait_until(lambda: world.api.get("pods", "v-1"), f"the other set is served {world.log()}", 5)
        wait_until(lambda: world.asked >= 2, f"it is given up and asked again {world.log()}", 60)
        assert not world.is_deleted()
