"""penstock topograph: from what fabrics and clouds say to topology files, and the HTTP service."""

import http.client
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import BUILD, free_ports, wait_until

TOPOGRAPH = [str(BUILD / "src/penstock/penstock"), "topograph"]
MODEL = """switches:
  core: {switches: ['leaf-[1-2]']}
blocks:
- {switch: leaf-1, nodes: ['n[1-2]'], annotations: {accelerator.topology.test/domain: nvl-1}}
- {switch: leaf-2, nodes: ['n[3-4]'], annotations: {accelerator.topology.test/domain: nvl-2}}
"""
TREE = "SwitchName=core Switches=leaf-[1-2]\nSwitchName=leaf-1 Nodes=n[1-2]\nSwitchName=leaf-2 Nodes=n[3-4]\n"
BLOCK = ("# block001=nvl-1\nBlockName=block001 Nodes=n[1-2]\n# block002=nvl-2\nBlockName=block002 Nodes=n[3-4]\n"
         "BlockSizes=2,4\n")
FABRIC = """# Topology file: generated
Switch 41 "S-1" # "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 3
[1] "H-1"[1](2c9) # "a1 mlx5_0" lid 10 4xHDR
[2] "H-2"[1](2c9) # "a2 mlx5_0" lid 11 4xHDR
"""


@pytest.fixture
def model(folder):
    path = folder / "data"
    path.mkdir()
    (path / "model.yaml").write_text(MODEL)
    (path / "fabric.txt").write_text(FABRIC)
    return path


def generate(*args, stdin=None):
    return subprocess.run([*TOPOGRAPH, "generate", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60)


def test_files(model, folder):
    done = generate("-p", "model", "-i", model / "model.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, TREE, "")
    done = generate("-p", "model", "-i", "-", "-P", "topology/block", stdin=MODEL)
    assert done.stdout == BLOCK
    done = generate("-p", "infiniband-bm", "-i", model / "fabric.txt", "--accelerator-command",
                    "printf 'a1: u, 1\\na2: u, 1\\n'", "-e", "dynamic", "-P", "block")
    assert done.stdout == "NodeName=a[1-2] Topology=default:block001\n"
    done = generate("-p", "model", "-i", model / "model.yaml", "-o", folder / "topology.conf")
    assert (folder / "topology.conf").read_text() == "# TopologyPlugin=topology/tree\n" + TREE
    assert (done.stdout, done.stderr) == ("", "")
    done = generate("-p", "model", "-i", model / "model.yaml", "-n", "n[2-5]")
    assert done.stdout.endswith("SwitchName=no-topology Nodes=n5\nSwitchName=leaf-1 Nodes=n2\nSwitchName=leaf-2 Nodes=n[3-4]\n")
    assert done.stderr == "penstock: note: 1 of 4 nodes have no place in the fabric: they are under no-topology\n"


@pytest.mark.parametrize("args, status, say", [
    ((), 2, "topograph: no provider is named"),
    (("-p", "azure"), 2, "topograph: no such provider: azure"),
    (("-p", "aws"), 2, "topograph: provider aws needs an input: parameter file"),
    (("-p", "aws", "-i", "/nonexistent"), 1, "topograph: cannot read /nonexistent: No such file or directory"),
    (("-p", "aws", "-i", "MODEL"), 1, "topograph: MODEL: line 1, column 8: '[' or '{' expected near 'switches'"),
    (("-p", "model", "-i", "MODEL", "-P", "block", "-b", "2,3"), 2,
     "topograph: block size 3 is not the one before it (2) times 2, 4, 8 ..."),
    (("-p", "model", "-i", "MODEL", "-e", "graph", "--apply"), 2, "topograph: --apply needs the engine slurm or dynamic"),
    (("-p", "aws", "--command", "exit 1"), 1, "topograph: exit 1: the program failed"),
])
def test_mistakes(model, args, status, say):
    path = str(model / "model.yaml")
    done = generate(*[path if a == "MODEL" else a for a in args])
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == "penstock: error: " + say.replace("MODEL", path)


def test_watch(model, folder):
    """A changed input is written; one that is broken meanwhile is told, and the file stays."""
    out = folder / "topology.conf"
    watch = subprocess.Popen([*TOPOGRAPH, "generate", "-p", "model", "-i", model / "model.yaml", "-o", out, "-w", "1"],
                             stderr=subprocess.PIPE, text=True)
    try:
        wait_until(out.exists, "the first topology")
        (model / "model.yaml").write_text("blocks: 1\n")
        assert "a model needs a list of blocks" in watch.stderr.readline()
        assert out.read_text().endswith(TREE)
        (model / "model.yaml").write_text(MODEL.replace("n[3-4]", "n[3-5]"))
        wait_until(lambda: "Nodes=n[3-5]" in out.read_text(), "the changed topology")
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(10)


# ---- the service


class Service:
    def __init__(self, folder, *args, config=None):
        self.port = free_ports(1)[0]
        self.log = open(folder / "serve.log", "w+")
        if config is not None:
            path = folder / "config.yaml"
            path.write_text(f"http: {{port: {self.port}}}\nrequestAggregationDelay: 50ms\n{config}")
            args = ("--config", path, *args)
        else:
            args = ("--listen", f"127.0.0.1:{self.port}", *args)
        self.process = subprocess.Popen([*TOPOGRAPH, "serve", *map(str, args)], stderr=self.log, stdin=subprocess.DEVNULL)
        wait_until(lambda: self.process.poll() is not None or self.said("serves at"), "the service")
        assert self.process.poll() is None, self.said("")

    def said(self, words):
        self.log.seek(0)
        return [line for line in self.log.read().splitlines() if words in line]

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body),
                               headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def result(self, uid):
        """Once it is there."""
        return wait_until(lambda: (lambda a: a[0] != 202 and a)(self.ask("GET", f"/v1/topology?uid={uid}")), "the result")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.log.close()
        return code


@pytest.fixture
def service(folder):
    made = []

    def make(*args, **kwargs):
        made.append(Service(folder, *args, **kwargs))
        return made[-1]

    yield make
    assert [s.end() for s in made] == [0] * len(made)


def request(name="aws-sim", engine="slurm", engine_params=None, **params):
    return {"provider": {"name": name, "params": params}, "engine": {"name": engine, "params": engine_params or {}}}


def test_api(service, model):
    s = service("--data", model, "--delay", "0")
    assert s.ask("GET", "/healthz") == (200, "OK")
    status, uid = s.ask("POST", "/v1/generate", request(modelFileName="model.yaml"))
    assert status == 202 and len(uid) == 16
    assert s.result(uid) == (200, TREE)
    assert s.ask("POST", "/v1/lookup", request(modelFileName="model.yaml")) == (200, TREE)
    assert s.ask("POST", "/v1/lookup", request(modelFileName="other.yaml"))[0] == 404
    block = request(modelFileName="model.yaml", engine_params={"plugin": "topology/block"})
    assert s.result(s.ask("POST", "/v1/generate", block)[1]) == (200, BLOCK)
    # Of the test provider every status can be had.
    wrong = request("test", topologyResponseCode=503, errorMessage="later")
    assert s.result(s.ask("POST", "/v1/generate", wrong)[1]) == (503, "later")
    assert s.ask("POST", "/v1/generate", request("test", generateResponseCode=500, errorMessage="no")) == (500, "no")
    missing = s.result(s.ask("POST", "/v1/generate", request(modelFileName="none.yaml"))[1])
    assert missing[0] == 500 and "No such file or directory" in missing[1]


def test_refusals(service, model):
    s = service("--data", model, "--delay", "0")
    for method, path, body, status, words in [
            ("GET", "/v1/generate", None, 405, "another method"),
            ("POST", "/v1/topology?uid=1", "", 405, "another method"),
            ("GET", "/v1/topology", None, 400, "which request"),
            ("GET", "/v1/topology?uid=0123456789abcdef", None, 404, "no such request"),
            ("GET", "/", None, 404, "no such path"),
            ("POST", "/v1/generate", "", 400, "no provider is named"),
            ("POST", "/v1/generate", "{", 400, "line 1, column 1"),
            ("POST", "/v1/generate", request("azure"), 400, "no such provider: azure"),
            ("POST", "/v1/generate", request(engine="pbs", modelFileName="model.yaml"), 400, "no such engine: pbs"),
            ("POST", "/v1/generate", request(modelFileName="/etc/shadow"), 400, "by its name in the data folder"),
            ("POST", "/v1/generate", request(command="id"), 400, "command is not taken from requests"),
            ("POST", "/v1/generate", request(modelFileName="model.yaml", engine_params={"topologyConfigPath": "/tmp/x"}), 400,
             "topologyConfigPath is not taken from requests")]:
        got = s.ask(method, path, body)
        assert got[0] == status and words in got[1], (method, path, body, got)
    assert s.ask("POST", "/v1/generate", request(modelFileName="model.yaml"), {"Origin": "http://evil"})[0] == 403
    assert s.ask("POST", "/v1/generate", None, {"Content-Length": str(9 << 20)})[0] == 413
    metrics = s.ask("GET", "/metrics")[1]
    assert 'topograph_validation_error_total{type="request"}' in metrics
    assert 'topograph_http_request_duration_seconds_count{method="GET",path="/v1/topology",status="404"} 1' in metrics


def test_body_of_unknown_length(service, model):
    """Chunks add up: what is too long is refused, and the service lives."""
    s = service("--data", model)
    connection = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    connection.putrequest("POST", "/v1/generate")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    for _ in range(9):
        connection.send(chunk)
    connection.send(b"0\r\n\r\n")
    assert connection.getresponse().status == 413
    connection.close()
    assert s.ask("GET", "/healthz") == (200, "OK")


def test_burst_is_one_run(service, folder, model):
    """Defaults come from the configuration; a program of the operator counts the runs."""
    counter = folder / "runs"
    s = service(config=f"""provider: model
providerParams:
  command: "echo run >> {counter}; cat {model}/model.yaml"
engine: slurm
engineParams: {{topologyConfigPath: {folder}/topology.conf}}
""")
    began = time.monotonic()
    uids = {s.ask("POST", "/v1/generate", "")[1] for _ in range(5)}
    quick = time.monotonic() - began < 0.04  # all within the delay
    assert len(uids) == 1
    assert s.result(uids.pop()) == (200, "OK\n")
    assert (folder / "topology.conf").read_text() == TREE
    runs = len(counter.read_text().splitlines())
    assert runs == 1 if quick else 1 <= runs <= 5
    # What the operator set stays, parameters of the request go over it.
    got = s.ask("POST", "/v1/generate", {"engine": {"params": {"plugin": "topology/block"}}})
    assert s.result(got[1]) == (200, "OK\n")
    assert (folder / "topology.conf").read_text() == BLOCK


def test_wrong_configuration(folder):
    path = folder / "config.yaml"
    for text, say in [("http: {port: 0}\n", "http.port: a port from 1 to 65535 is expected"),
                      ("http: {port: 1}\ncolour: red\n", "unknown key colour")]:
        path.write_text(text)
        done = subprocess.run([*TOPOGRAPH, "serve", "--config", path], capture_output=True, text=True, timeout=20)
        assert (done.returncode, done.stderr) == (1, f"penstock: error: topograph: {path}: {say}\n")
    done = subprocess.run([*TOPOGRAPH, "serve", "--listen", "somewhere"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "is no address" in done.stderr


def test_unix_socket(folder, model):
    path = folder / "s"
    process = subprocess.Popen([*TOPOGRAPH, "serve", "--listen", f"unix:{path}", "--data", model], stderr=subprocess.DEVNULL)
    try:
        wait_until(path.exists, "the socket")
        curl = subprocess.run(["curl", "-s", "--unix-socket", str(path), "http://x/healthz"], capture_output=True, text=True)
        assert curl.stdout == "OK"
    finally:
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(20) == 0
    assert not path.exists()
