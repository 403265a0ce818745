"""What somebody on the network reads of a cluster with TLS: no word of ours."""

import json
import os
import urllib.request
import ssl
from subprocess import PIPE

import pytest

from accounting import Dbd, conf_of, storage_of
from capture import Capture
from conftest import let_in, wait_until
from controllers import Controllers
from pki import Authority
from test_tls import CONF, token

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="packets are for root to see")


def everything(cluster, env):
    """Each kind of connection once, with words that are looked for afterwards."""
    (cluster.work / "file").write_text("WORD-FILE" * 1000)
    job = cluster.sbatch("-N2", "-J", "WORD-NAME", "--comment", "WORD-COMMENT",
                         script=f"# WORD-SCRIPT\nsbcast --force file {cluster.dir}/tmp/copy\n"
                                "srun -n2 bash -c 'echo WORD-OUTPUT; echo WORD-ERROR >&2; head -1'\n"
                                "srun -n1 bash -c 'touch begun; until [ -e go ]; do sleep 0.1; done; echo WORD-ATTACH'\n",
                         env={**env, "WORD_ENV": "WORD-ENVIRONMENT"})
    wait_until((cluster.work / "begun").exists, "the second step runs")
    cluster.run("sstat", "-j", f"{job}.1")
    attach = cluster.popen("sattach", "-v", f"{job}.1", stdout=PIPE, stderr=PIPE)
    said = ""
    while "attached on node" not in said:
        line = attach.stderr.readline()
        assert line, said
        said += line
    (cluster.work / "go").touch()
    assert attach.communicate(timeout=20)[0] == "WORD-ATTACH\n"
    cluster.wait_end(job)
    cluster.run("srun", "-N2", "cat", input="WORD-INPUT\n", env={"WORD_ENV": "WORD-ENVIRONMENT"})
    (cluster.dir / "tmp" / "copy").unlink()


def get(cluster, port, token_text, tls):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"http{'s' if tls else ''}://127.0.0.1:{port}/readyz",
                                     headers={"X-SLURM-USER-TOKEN": token_text, "X-Word": "WORD-HTTP"})
    with urllib.request.urlopen(request, timeout=10, context=context if tls else None) as answer:
        return answer.status


WORDS = ["NAME", "COMMENT", "SCRIPT", "OUTPUT", "ERROR", "ATTACH", "ENVIRONMENT", "INPUT", "FILE", "HTTP"]


@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto", "tls/none"])
def test_nothing_is_read(make_cluster, tmp_path, kind):
    pki = Authority(tmp_path / "pki")
    cluster = make_cluster(nodes=2, start=False)
    dbd = Dbd(tmp_path / "dbd", storage_of("sqlite", tmp_path / "dbd"), cluster.conf.parent / "slurm.key",
              conf=f"TLSType={kind}\nAuthAltTypes=auth/jwt")
    pki.install(dbd.dir)
    pki.install(cluster.conf.parent)
    ports = [cluster.port, *cluster.node_ports, dbd.port]
    capture = Capture(ports)
    try:
        dbd.start()
        cluster.extra_conf = CONF.replace("tls/openssl", kind) + "AccountingStoreFlags=job_script,job_comment\n" + conf_of(dbd)
        cluster.write_conf()
        cluster.start()
        env = token(cluster)
        everything(cluster, env)
        for port in ports:
            assert get(cluster, port, env["SLURM_JWT"], kind != "tls/none") in (200, 204)
        cluster.run("sacct", env=env)
    finally:
        seen = capture.stop()
        dbd.stop()
    # one connection of slurmctld to slurmdbd goes through the local socket: both are here
    assert all(capture.by_port.get(port) for port in ports[:-1]), capture.by_port
    found = {word for word in WORDS if f"WORD-{word}".encode() in seen}
    if env["SLURM_JWT"].rpartition(".")[2].encode() in seen:
        found.add("token")
    # the control: without TLS the capture does see them
    assert found == (set(WORDS) | {"token"} if kind == "tls/none" else set())


def found_in(seen, words, env):
    found = {word for word in words if f"WORD-{word}".encode() in seen}
    return found | ({"token"} if env["SLURM_JWT"].rpartition(".")[2].encode() in seen else set())


@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto", "tls/none"])
def test_rest_at_the_controller(make_cluster, tmp_path, kind):
    """A submission by the REST API at slurmctld's own port, and its answer."""
    cluster = make_cluster(nodes=1, start=False, conf=CONF.replace("tls/openssl", kind) + "SlurmctldParameters=enable_rest\n")
    Authority(tmp_path / "pki").install(cluster.conf.parent)
    let_in(cluster.conf.parent)
    capture = Capture([cluster.port])
    try:
        cluster.start()
        env = token(cluster)
        job = {"name": "WORD-NAME", "comment": "WORD-COMMENT", "environment": ["A=WORD-ENVIRONMENT"],
               "current_working_directory": str(cluster.work)}
        body = json.dumps({"script": "#!/bin/sh\n# WORD-SCRIPT\n", "job": job}).encode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

        def submit():
            url = f"http{'s' if kind != 'tls/none' else ''}://127.0.0.1:{cluster.port}/slurm/v0.0.45/job/submit"
            request = urllib.request.Request(url, body, {"X-SLURM-USER-TOKEN": env["SLURM_JWT"], "Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=10, context=context if kind != "tls/none" else None) as answer:
                    return json.load(answer)["job_id"]
            except OSError:
                return None  # its process may be about to start
        ids = []
        wait_until(lambda: ids.append(submit()) or ids[-1], "REST takes the job")
        cluster.wait_end(ids[-1])
    finally:
        seen = capture.stop()
    words = {"NAME", "COMMENT", "SCRIPT", "ENVIRONMENT"}
    assert found_in(seen, words, env) == (words | {"token"} if kind == "tls/none" else set())


@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto"])
def test_controllers_among_themselves(folder, tmp_path, kind):
    """A standby asks the active one for control, and the active one pings the others."""
    c = Controllers(folder, nodes=1, conf=f"TLSType={kind}\n")
    Authority(tmp_path / "pki").install(c.conf.parent)
    try:
        c.start()
        c.ctlds["ctl2"].kill()
        wait_until(lambda: "the controller on ctl2 does not answer any more" in c.ctld_log("ctl1"), "ctl2 is missed", 30)
        c.start_one("ctl2", env={"SLURM_CONF": str(c.conf)})
        wait_until(lambda: "the controller on ctl2 is back" in c.ctld_log("ctl1"), "ctl1 hears ctl2", 30)
        c.run("scontrol", "takeover")
        assert c.active() == "ctl2"
        assert "ctl1 gives up control" in c.ctld_log("ctl2")
    finally:
        problems = c.stop()
    assert not problems, problems


@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto", "tls/none"])
def test_standby(folder, tmp_path, kind):
    """Commands and nodes at a controller that takes over."""
    c = Controllers(folder, nodes=1, conf=f"TLSType={kind}\n")
    Authority(tmp_path / "pki").install(c.conf.parent)
    capture = Capture([c.port, *c.node_ports])
    try:
        c.start()
        env = {**c.only("ctl2"), "SLURM_CONF": str(c.conf)}
        c.run("sinfo", env=c.only("ctl2"), check=False)  # a standby says who leads
        c.ctlds["ctl1"].kill()
        c.wait_active("ctl2")
        c.wait_nodes()
        job = c.sbatch("-J", "WORD-NAME", script="# WORD-SCRIPT\nsrun echo WORD-OUTPUT\n", env=env)
        c.wait_end(job)
        assert "WORD-OUTPUT" in c.out(job)
    finally:
        seen = capture.stop()
        problems = c.stop()
    assert not problems, problems
    words = {"NAME", "SCRIPT", "OUTPUT"}
    found = found_in(seen, words, env) - {"token"}  # a command's token is not sent, its proof is
    assert found == (words if kind == "tls/none" else set())
