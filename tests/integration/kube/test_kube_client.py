"""The client of an API server, against apiserver.py and its faults: no change is missed, told twice or made up."""

import json
import os
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import BUILD, HERE, ROOT, wait_until

from apiserver import ApiServer


def pod(name, **meta):
    return {"metadata": {"name": name, "namespace": "default", **meta}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture(scope="module")
def probe_program(tmp_path_factory):
    out = tmp_path_factory.mktemp("probe") / "kubeprobe"
    sanitize = [f"-fsanitize={w}" for w in ("address", "undefined", "thread") if f"-{w}" in BUILD.name]
    libraries = [str(BUILD / "src" / f"{name}.a")
                 for name in ("kube/libkube_api", "base/libbase_yamljson", "base/libbase_yaml", "base/libbase")]
    subprocess.run(["cc", "-D_GNU_SOURCE", *sanitize, f"-I{ROOT}/src", str(HERE / "programs" / "kubeprobe.c"), "-o", str(out), *libraries,
                    "-lcurl", "-ljansson", "-lyaml", "-lm", "-lpthread"], check=True)
    return out


class Probe:
    def __init__(self, program, config, *words):
        self.lines = []
        self.process = subprocess.Popen([str(program), str(config), *words], stdout=subprocess.PIPE, text=True, env={**os.environ})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.split())

    def names(self, what):
        return [words[1] for words in list(self.lines) if words[0] == what]

    def wait(self, *words):
        wait_until(lambda: any(line[:len(words)] == list(words) for line in list(self.lines)), f"{words} is told")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


@pytest.fixture
def api():
    with ApiServer(token="secret") as server:
        yield server


@pytest.fixture
def start(api, probe_program, tmp_path):
    started, config = [], api.kubeconfig(tmp_path / "config")

    def begin(*words):
        started.append(Probe(probe_program, config, *words))
        return started[-1]
    yield begin
    for one in started:
        one.stop()


def test_pages_and_changes(api, start):
    for i in range(25):
        api.create("pods", pod(f"p{i:02}"))
    probe = start("watch", "10")
    probe.wait("synced", "25")
    assert api.counts["GET pods"] == 3
    api.patch("pods", "p03", {"metadata": {"labels": {"a": "b"}}})
    api.delete("pods", "p04")
    probe.wait("changed", "p03")
    probe.wait("deleted", "p04")
    assert sorted(probe.names("added")) == [f"p{i:02}" for i in range(25)]


@pytest.mark.parametrize("hard", [False, True])
def test_a_cut_watch_goes_on(api, start, hard):
    probe = start("watch")
    probe.wait("synced", "0")
    for i in range(5):
        api.create("pods", pod(f"p{i}"))
        probe.wait("added", f"p{i}")
        api.cut_watches(hard=hard)
        api.delete("pods", f"p{i}")
        probe.wait("deleted", f"p{i}")
    assert probe.names("added") == probe.names("deleted") == [f"p{i}" for i in range(5)]
    assert api.counts["GET pods"] == 1  # never listed anew


def test_gone_means_list_anew(api, start):
    """What went and came while the log was cut off is told; the name's new bearer is another pod."""
    old = api.create("pods", pod("same"))
    api.create("pods", pod("goes"))
    probe = start("watch")
    probe.wait("synced", "2")
    wait_until(lambda: api.counts.get("GET watch"), "it watches")
    with api.store.lock:
        api.delete("pods", "goes")
        api.delete("pods", "same")
        new = api.create("pods", pod("same"))
        api.store.compact()
    probe.wait("deleted", "goes")
    probe.wait("deleted", "same", old["metadata"]["uid"])
    probe.wait("added", "same", new["metadata"]["uid"])
    assert api.counts["GET pods"] >= 2


def test_what_cannot_be_read(api, start):
    api.create("pods", pod("a"))
    api.fault("json", path="/pods", times=2)
    api.fault("500", path="/pods", times=2)
    api.fault("410", path="/pods")
    api.fault("cut", path="/pods")
    probe = start("watch")
    probe.wait("synced", "1")
    wait_until(lambda: api.counts.get("GET watch"), "it watches")
    api.garble = 1
    api.create("pods", pod("b"))
    probe.wait("added", "b")
    assert probe.names("deleted") == [] and probe.names("added") == ["a", "b"]


def test_bookmarks_carry_a_quiet_watch(api, start):
    """A watch of pods outlives a compaction that only other kinds caused."""
    probe = start("watch")
    probe.wait("synced", "0")
    for i in range(20):
        api.create("nodes", {"metadata": {"name": f"n{i}"}})
    wait_until(lambda: api.counts.get("GET watch", 0) >= 2, "the watch has begun anew", timeout=30)
    api.create("pods", pod("late"))
    probe.wait("added", "late")
    assert api.counts["GET pods"] == 1


def test_a_refused_token(api, start):
    api.token = "another"
    probe = start("watch")
    wait_until(lambda: api.requests >= 3, "it asks again")
    assert probe.lines == []
    api.token = "secret"
    probe.wait("synced", "0")


def test_a_server_that_asks_to_be_left_alone(api, start):
    """Retry-After: nothing is asked before, though a failed list is tried again after a tenth of a second."""
    api.times = []
    api.fault("429", method="GET", path="/pods")
    start("watch").wait("synced", "0")
    assert api.times[1] - api.times[0] >= 0.99  # the server said one second


def test_changes_at_once(api, start):
    """Twenty writers of one field: conflicts are tried again, and each counts."""
    api.create("pods", pod("a", annotations={"x/other": "kept"}))
    probe = start("count", "a", "5")
    probe.process.wait(20)
    wait_until(lambda: len(probe.lines) == 5, "five answers")
    assert [words[0] for words in probe.lines] == ["200"] * 5, probe.lines
    assert api.get("pods", "a")["metadata"]["annotations"] == {"x/other": "kept", "x/n": "5"}


class Forwarder(BaseHTTPRequestHandler):
    """A proxy of plain HTTP: a request names the whole address."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        if "watch=true" in self.path:
            return  # the connection ends, and the list is made anew
        request = urllib.request.Request(self.path.replace("http://api.invalid", self.server.behind),
                                         headers={"Authorization": self.headers["Authorization"]})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            data = answer.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def test_a_proxy(api, probe_program, tmp_path):
    """proxy-url of the kubeconfig: the server's own name need not be known here."""
    api.create("pods", pod("a"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Forwarder) as proxy:
        proxy.asked, proxy.behind, proxy.daemon_threads = [], api.url, True
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        config = json.loads(api.kubeconfig(tmp_path / "config").read_text())
        config["clusters"][0]["cluster"].update({"server": "http://api.invalid", "proxy-url": f"http://127.0.0.1:{proxy.server_address[1]}"})
        (tmp_path / "config").write_text(json.dumps(config))
        probe = Probe(probe_program, tmp_path / "config", "watch")
        try:
            probe.wait("synced", "1")
        finally:
            probe.stop()
            proxy.shutdown()
        assert proxy.asked[0].startswith("http://api.invalid/api/v1/pods")


def test_one_leader(api, start):
    first = start("lease", "l", "one")
    first.wait("held")
    second = start("lease", "l", "two")
    api.fault("slow", path="/leases", method="PUT")  # the holder's renewal hangs: it steps down by itself
    first.wait("lost")
    second.wait("held")
    api.go_on()
    lease = api.get("leases", "l")["spec"]
    assert lease["holderIdentity"] == "two" and lease["leaseTransitions"] == 1


def test_a_leader_that_dies(api, start):
    first = start("lease", "l", "one")
    first.wait("held")
    second = start("lease", "l", "two")
    first.stop()
    second.wait("held")
    assert first.lines == [["held"]]
