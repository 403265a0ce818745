"""A cluster whose connections are encrypted: everything works as without, and nobody reads along."""

import json
import re
import shutil
import ssl
import urllib.request
from subprocess import PIPE

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import let_in, program, wait_until
from pki import Authority
from test_vouch import Forward

CONF = "TLSType=tls/openssl\nAuthAltTypes=auth/jwt\nDebugFlags=AuditTLS\n"


@pytest.fixture
def pki(tmp_path):
    return Authority(tmp_path / "pki")


@pytest.fixture
def tls(make_cluster, pki):
    def make(conf="", **kwargs):
        cluster = make_cluster(conf=CONF + conf, start=False, **kwargs)
        pki.install(cluster.conf.parent)
        return cluster.start()
    return make


def token(cluster):
    """Whoever has a token comes over TCP, not through the local socket."""
    return {"SLURM_JWT": cluster.run("scontrol", "token").out.strip().partition("=")[2]}


def test_commands_over_tcp(tls):
    cluster = tls(nodes=2)
    env = token(cluster)
    job = cluster.sbatch(wrap="echo hello", env=env)
    cluster.wait_end(job)
    assert "hello" in (cluster.work / f"slurm-{job}.out").read_text()
    assert str(job) in cluster.run("scontrol", "show", "job", str(job), env=env).out
    assert "AuditTLS" in (cluster.dir / "log" / "slurmctld.log").read_text()


def test_srun_streams(tls):
    cluster = tls(nodes=3)
    done = cluster.run("srun", "-N3", "-n6", "-l", "bash", "-c", "echo out; echo err >&2; cat", input="typed\n")
    assert sorted(done.out.split("\n"))[1:] == sorted([f"{i}: out" for i in range(6)] + [f"{i}: typed" for i in range(6)])
    assert done.err.count("err") == 6
    assert cluster.run("srun", "-N1", "bash", "-c", "exit 7", check=False).rc == 7


def test_much_output(tls):
    cluster = tls(nodes=1)
    done = cluster.run("srun", "-n2", "bash", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; echo")
    assert done.out.count("x") == 10000000


def test_relays(tls):
    cluster = tls(nodes=12, conf="TreeWidth=2\n", cpus=1)
    done = cluster.run("srun", "-N12", "-l", "bash", "-c", "echo out")
    assert sorted(done.out.split()) == sorted(f"{i}:" for i in range(12)) + ["out"] * 12


def test_sbcast_sattach_sstat(tls):
    cluster = tls(nodes=2)
    (cluster.work / "file").write_text("content" * 100000)
    job = cluster.sbatch("-N2", script=f"sbcast --force file {cluster.dir}/tmp/copy || exit 1\n"
                                       f"srun -n1 cksum {cluster.dir}/tmp/copy\n"
                                       "srun -n1 bash -c 'until [ -e go ]; do sleep 0.1; done; echo bye'\n")
    out = cluster.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and "copy" in out.read_text(), "the file has come")
    wait_until(lambda: f"{job}.1" in cluster.run("squeue", "-h", "-s", "-o", "%i").out, "the second step runs")
    stat = cluster.run("sstat", "-j", f"{job}.1", "-n", "-P", "--format=JobID,NTasks")
    assert stat.out == f"{job}.1|1\n"
    attach = cluster.popen("sattach", "-v", f"{job}.1", stdout=PIPE, stderr=PIPE)
    said = ""
    while "attached on node" not in said:  # the line of -v, once the step daemon has answered
        line = attach.stderr.readline()
        assert line, f"sattach ended with {attach.wait()}: {said}"
        said += line
    (cluster.work / "go").touch()
    text, err = attach.communicate(timeout=20)
    assert text == "bye\n", said + err
    cluster.wait_end(job)
    (cluster.dir / "tmp" / "copy").unlink()


def test_slurmdbd(make_cluster, pki, tmp_path):
    first = make_cluster(nodes=1, start=False)
    (tmp_path / "dbd").mkdir()
    dbd = Dbd(tmp_path / "dbd", storage_of("sqlite", tmp_path / "dbd"), first.dir / "etc" / "slurm.key",
              conf="TLSType=tls/openssl\nAuthAltTypes=auth/jwt\nDebugFlags=AuditTLS")
    pki.install(dbd.dir, "dbd")
    dbd.start()
    try:
        first.extra_conf = CONF + conf_of(dbd)
        first.write_conf()
        pki.install(first.conf.parent)
        first.start()
        job = first.sbatch(wrap="true")
        first.wait_end(job)
        wait_until(lambda: "COMPLETED" in first.run("sacct", "-n", "-X", "-o", "State", "-j", str(job)).out,
                   "slurmdbd has the end")
        assert "not encrypted" not in dbd.log.read_text()
        assert first.run("sacct", "-n", "-X", "-o", "State", "-j", str(job), env=token(first)).out
        assert re.search("AuditTLS: encrypted addr=(127.0.0.1|::1) certificate=none", dbd.log.read_text())
    finally:
        for stop in (lambda: None, dbd.stop):
            stop()


def test_simulator_from_another_host(tls, tmp_path):
    """penstock sim --from-live reaches the controller as commands do."""
    cluster = tls(nodes=1)
    job = cluster.sbatch("--begin=now+1hour", wrap="true")
    forward = Forward(cluster.port)
    try:
        shutil.copytree(cluster.conf.parent, tmp_path / "etc")
        conf = tmp_path / "etc" / "slurm.conf"
        conf.write_text(conf.read_text().replace(f"SlurmctldPort={cluster.port}\n", f"SlurmctldPort={forward.port}\n"))
        done = cluster.run(program("penstock"), "sim", "--from-live", "--all", "--json", env={"SLURM_CONF": str(conf)})
        assert [one["job"] for one in json.loads(done.out)["jobs"]] == [str(job)] and forward.conns
    finally:
        forward.close()


def test_rest_of_the_controller(tls):
    """The REST API at slurmctld's own port, encrypted as the rest of it."""
    cluster = tls(nodes=1, conf="SlurmctldParameters=enable_rest\n")
    let_in(cluster.dir / "etc")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def get(scheme):
        url = f"{scheme}://127.0.0.1:{cluster.port}/slurm/v0.0.45/ping/"
        request = urllib.request.Request(url, headers={"X-SLURM-USER-TOKEN": token(cluster)["SLURM_JWT"]})
        with urllib.request.urlopen(request, timeout=10, context=context if scheme == "https" else None) as answer:
            return json.load(answer)

    def answers():
        try:
            return get("https")["pings"][0]["responding"]
        except OSError:
            return False
    wait_until(answers, "REST answers over TLS")
    with pytest.raises(OSError):
        get("http")
