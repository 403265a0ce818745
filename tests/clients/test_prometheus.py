"""deploy/ with a real Prometheus: it scrapes a private cluster, and knows every expression of dashboards and rules."""

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest

from integration_conftest import ROOT, free_ports, wait_until

DEPLOY = ROOT / "deploy"
CLUSTER = {"nodes": 2, "conf": "MetricsType=metrics/openmetrics"}
WITHOUT = ("slurm_account_", "slurm_node_gpus", "penstock_job_wait_seconds")  # no accounts, no GPUs; rates of what came once
pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed: its Debian package could not be had")


class Server:
    def __init__(self, folder, ctld_port):
        self.port = free_ports(1)[0]
        folder.mkdir()
        text = (DEPLOY / "prometheus/prometheus.yml").read_text()
        text = text.replace("localhost:6817", f"127.0.0.1:{ctld_port}")
        (folder / "prometheus.yml").write_text(re.sub(r"(scrape|evaluation)_interval: \d+s", r"\1_interval: 1s", text))
        shutil.copy(DEPLOY / "prometheus/penstock.rules.yml", folder)
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def ask(self, path, **words):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def up(self):
        try:
            return {t["labels"]["job"] for t in self.ask("targets")["activeTargets"] if t["health"] == "up"}
        except OSError:
            return set()


@pytest.fixture
def server(c):
    s = Server(c.work / "prometheus", c.port)
    yield s
    s.stop()


def panels():
    for path in sorted((DEPLOY / "grafana").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            yield from ((f"{path.stem}: {panel['title']}", t["expr"]) for t in panel["targets"])


def as_asked(expression):
    """What Grafana asks when everything is chosen."""
    return re.sub(r"\$(cluster|partition|node|username|account)", ".*", expression).replace("$__rate_interval", "10s")


def test_rules_are_right():
    for words in (["test", "rules", "penstock.rules.test.yml"], ["check", "config", "prometheus.yml"]):
        done = subprocess.run(["promtool", *words], cwd=DEPLOY / "prometheus", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_expression_has_an_answer(c, server):
    c.sbatch("-n1", wrap="sleep 300")
    wait_until(lambda: len(server.up()) == 6, "every page is scraped")

    def empty():
        return [f"{name}: {e}" for name, e in panels()
                if not any(w in e for w in WITHOUT) and not server.ask("query", query=as_asked(e))["result"]]

    assert len(list(panels())) > 60
    wait_until(lambda: empty() == [], "two scrapes of everything stand, and every panel shows something")


def test_every_rule_is_evaluated(c, server):
    def healths():
        try:
            return [rule["health"] for group in server.ask("rules")["groups"] for rule in group["rules"]]
        except OSError:
            return []

    wait_until(lambda: len(server.up()) == 6, "every page is scraped")
    wait_until(lambda: len(healths()) == 12 and set(healths()) == {"ok"}, "every rule was evaluated")


def test_a_dead_controller_is_told(c, server):
    wait_until(lambda: len(server.up()) == 6, "every page is scraped")
    c.kill_ctld()
    try:
        def alert():
            return [a["state"] for a in server.ask("alerts")["alerts"] if a["labels"]["alertname"] == "PenstockControllerUnreachable"]
        wait_until(lambda: alert() == ["pending"], "the alert waits for its two minutes")
    finally:
        c.start_ctld()
