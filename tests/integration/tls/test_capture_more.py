"""What somebody on the network reads of connections that test_capture.py has not: MPI, windows, slurmrestd, a host with sackd."""

import json
import os

import pytest

from capture import Capture
from conftest import Daemon, let_in, program, wait_until
from pki import Authority
from restd import Restd, V
from test_tls import CONF
from test_vouch import Forward
from test_x11 import PROGRAM, Display

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="packets are for root to see")
KINDS = ["tls/openssl", "tls/auto", "tls/none"]
# A rank of PMI-1 that tells the others a word through the services of its step.
RANK = """
say() { echo "$1" >&$PMI_FD; read -r -u $PMI_FD line; }
say "cmd=init pmi_version=1 pmi_subversion=1"
say "cmd=get_my_kvsname"
kvs=${line##*kvsname=}; kvs=${kvs%% *}
say "cmd=put kvsname=$kvs key=key-$PMI_RANK value=WORD-PMI-$PMI_RANK"
say "cmd=barrier_in"
say "cmd=get kvsname=$kvs key=key-$((1 - PMI_RANK))"
echo "${line##*value=}"
"""


def make(make_cluster, tmp_path, kind, more="", **options):
    c = make_cluster(start=False, conf=CONF.replace("tls/openssl", kind) + more, **options)
    if kind == "tls/openssl":  # beside a key an authority's certificate means that nothing is said in clear
        Authority(tmp_path / "pki").install(c.conf.parent)
    return c


def check(seen, kind, *words):
    """Without TLS the capture does see them."""
    assert [w for w in words if w.encode() in seen] == (list(words) if kind == "tls/none" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_mpi(make_cluster, tmp_path, kind):
    c = make(make_cluster, tmp_path, kind, nodes=2)
    c.start()
    capture = Capture([c.port, *c.node_ports])
    try:
        done = c.run("srun", "--mpi=pmi2", "-N2", "-n2", "bash", "-c", RANK, timeout=40)
    finally:
        seen = capture.stop()
    assert sorted(line.split()[0] for line in done.out.splitlines()) == ["WORD-PMI-0", "WORD-PMI-1"]
    check(seen, kind, "WORD-PMI-1")


@pytest.mark.parametrize("kind", KINDS)
def test_windows(make_cluster, tmp_path, folder, kind):
    c = make(make_cluster, tmp_path, kind, "PrologFlags=X11\n", nodes=1)
    c.start()
    wait_until(lambda: "registered with the controller" in (c.dir / "log/slurmd-node1.log").read_text(), "the node is there")
    (c.work / "window.py").write_text(PROGRAM)
    display = Display(folder)
    capture = Capture([c.port, *c.node_ports])
    try:
        assert c.run("srun", "--x11", "python3", c.work / "window.py", env=display.env).out.split()[1] == "shown"
    finally:
        seen = capture.stop()
        display.close()
    check(seen, kind, "window of node1")


class ElseWhere:
    """A configuration of another host, which reaches the controller by the network alone."""

    def __init__(self, c):
        self.forward = Forward(c.port)
        self.dir = c.dir / "elsewhere"
        self.dir.mkdir()
        for path in c.conf.parent.iterdir():
            (self.dir / path.name).write_bytes(path.read_bytes())
            (self.dir / path.name).chmod(path.stat().st_mode & 0o777)
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(c.conf.read_text().replace(f"SlurmctldPort={c.port}", f"SlurmctldPort={self.forward.port}"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_with_sackd(make_cluster, tmp_path, kind):
    """sackd fetches the configuration and vouches; a user of the host submits."""
    more = "SlurmctldParameters=enable_configless\n# WORD-CONFIGURATION is a comment, this is not:\nNodeSet=WORD-SET Feature=x\n"
    c = make(make_cluster, tmp_path, kind, more, nodes=1)
    let_in(c.conf.parent)
    c.start()
    there = ElseWhere(c)
    capture = Capture([c.port])
    ca = ["--ca-cert-file", str(c.conf.parent / "ca_cert.pem")] if kind == "tls/openssl" else []
    try:
        c.slurmds["login"] = Daemon("sackd", [program("sackd"), "-D", "--conf-server", f"127.0.0.1:{c.port}", "--key-file",
                                              str(c.conf.parent / "slurm.key"), *ca],
                                    c.dir / "log" / "sackd", c.env | {"RUNTIME_DIRECTORY": f"{c.dir}/run/login"})
        wait_until(lambda: (c.dir / "run/login/sack.socket").exists(), "sackd vouches")
        env = {"SLURM_CONF": str(there.conf), **c.sack("login")}
        job = int(c.run("sbatch", "--parsable", "-J", "WORD-NAME", "--wrap", "echo WORD-SCRIPT", env=env).out)
        c.wait_end(job)
    finally:
        seen = capture.stop()
        there.forward.close()
    check(seen, kind, "WORD-SET", "WORD-NAME", "WORD-SCRIPT")


@pytest.mark.parametrize("kind", KINDS)
def test_slurmrestd_and_its_controller(make_cluster, tmp_path, kind):
    """What a caller of slurmrestd sends goes on over the network to slurmctld, and the answer comes back."""
    c = make(make_cluster, tmp_path, kind, nodes=1)
    let_in(c.conf.parent)
    c.start()
    there = ElseWhere(c)
    for path in (there.dir.parent, there.dir):
        path.chmod(path.stat().st_mode | 0o055)
    rest = Restd(c)
    rest.argv[rest.argv.index("-f") + 1] = str(there.conf)
    rest.env |= {"SLURM_CONF": str(there.conf)}
    capture = Capture([c.port])
    try:
        with rest:
            status, answer = rest.post(f"/slurm/{V}/job/submit", {
                "script": "#!/bin/sh\n# WORD-SCRIPT\n",
                "job": {"name": "WORD-NAME", "environment": ["A=WORD-ENVIRONMENT"], "current_working_directory": str(c.work)}})
            assert status == 200, json.dumps(answer)[:500]
            c.wait_end(answer["job_id"])
            assert rest.get(f"/slurm/{V}/job/{answer['job_id']}")[0] == 200
        signature = rest.token("root").rpartition(".")[2]
    finally:
        seen = capture.stop()
        there.forward.close()
    check(seen, kind, "WORD-SCRIPT", "WORD-NAME", "WORD-ENVIRONMENT")
    assert signature.encode() not in seen  # it never travels between the daemons, encrypted or not
