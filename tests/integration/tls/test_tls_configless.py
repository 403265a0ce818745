"""Nodes and login hosts without files join a controller whose connections are encrypted: by the authority that
was handed over, or, with tls/auto, by the cluster's key alone."""

import os
import subprocess

import pytest

from capture import Capture
from conftest import Daemon, program, wait_until
from pki import Authority
from test_configless import node_env, put
from test_tls import token

CONF = "SlurmctldParameters=enable_configless\nAuthAltTypes=auth/jwt\nDebugFlags=AuditTLS\nProlog=prolog.sh\nMessageTimeout=5\n"


@pytest.fixture
def pki(tmp_path):
    return Authority(tmp_path / "pki")


def controller(make_cluster, kind, pki=None, nodes=2):
    c = make_cluster(nodes=nodes, start=False, conf=CONF + f"TLSType={kind}\n# WORD-CONF\n")
    put(c.conf.parent / "prolog.sh", "#!/bin/bash\n# WORD-PROLOG\nexit 0\n")
    if pki:
        pki.install(c.conf.parent, "ctld")
    c.start_ctld()
    return c


def host(c, name, pki=None, *prefixes):
    """A folder where slurm.conf would be, with the cluster's key and what an administrator puts there."""
    folder = c.dir / "hosts" / name
    folder.mkdir(parents=True)
    put(folder / "slurm.key", (c.conf.parent / "slurm.key").read_text(), 0o600)
    for prefix in prefixes:
        pki.pair(folder, prefix)
    return folder


def env_of(c, name, folder):
    return {**node_env(c, name), "SLURM_CONF": str(folder / "slurm.conf"), "SLURM_SACK_KEY": str(folder / "slurm.key")}


def argv_of(c, daemon, name, *options):
    return [program(daemon), "-D", *(("-N", name) if daemon == "slurmd" else ()), "--conf-server", f"127.0.0.1:{c.port}",
            *map(str, options)]


def start(c, daemon, name, folder, *options):
    c.slurmds[name] = Daemon(f"{daemon}-{name}", argv_of(c, daemon, name, *options), c.dir / "log" / f"{daemon}-{name}",
                             env_of(c, name, folder))


def refused(c, daemon, name, folder, *options):
    done = subprocess.run(argv_of(c, daemon, name, *options), env=env_of(c, name, folder), capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1, done
    return done.stderr


def ctld_log(c):
    return (c.dir / "log" / "slurmctld.log").read_text()


def run_jobs(c, name):
    """A step, and a command that knows the controller by what the node has, over TCP."""
    assert c.run("srun", "-N2", "-l", "echo", "here").out.split() and c.up()
    conf = c.dir / "run" / name / "conf" / "slurm.conf"
    seen = c.run("sinfo", "-h", "-N", "-o", "%N", env={**token(c), "SLURM_CONF": str(conf)}).out.split()
    assert seen == c.node_names


@pytest.mark.parametrize("way", ["option", "beside"])
def test_authority_that_was_handed_over(make_cluster, pki, way):
    c = controller(make_cluster, "tls/s2n", pki)
    for name in c.node_names:
        folder = host(c, name, pki, "slurmd")
        options = ("--ca-cert-file", pki.cert) if way == "option" else ()
        if way == "beside":
            put(folder / "ca_cert.pem", pki.cert.read_text(), 0o644)
        start(c, "slurmd", name, folder, *options)
    c.wait_nodes()
    run_jobs(c, "node1")
    cache = c.dir / "spool" / "node1" / "conf-cache"
    before = os.readlink(cache / "current")
    put(c.conf.parent / "prolog.sh", "#!/bin/bash\nexit 0\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: os.readlink(cache / "current") != before, "the change has come")
    assert (cache / "current" / "ca_cert.pem").read_text() == pki.cert.read_text()
    run_jobs(c, "node1")
    assert "encrypted connections only" not in ctld_log(c) and "it is not encrypted" not in ctld_log(c)


def test_auto_needs_the_key_alone(make_cluster):
    c = controller(make_cluster, "tls/auto")
    for name in c.node_names:
        start(c, "slurmd", name, host(c, name))
    c.wait_nodes()
    run_jobs(c, "node1")


def test_restart_from_the_cache(make_cluster, pki, tmp_path):
    """The certificates may be elsewhere at the next start: the links follow."""
    c = controller(make_cluster, "tls/openssl", pki, nodes=1)
    folder = host(c, "node1", pki, "slurmd")
    log = c.dir / "log" / "slurmd-node1.log"
    start(c, "slurmd", "node1", folder, "--ca-cert-file", pki.cert)
    wait_until(lambda: log.read_text().count("registered with") == 1, "node1 knows that it is registered")
    c.slurmds.pop("node1").stop()
    moved = tmp_path / "moved.pem"
    put(moved, pki.cert.read_text(), 0o644)
    pki.cert.rename(tmp_path / "gone.pem")
    start(c, "slurmd", "node1", folder, "--ca-cert-file", moved)
    wait_until(lambda: log.read_text().count("registered with") == 2, "node1 is back")


@pytest.mark.parametrize("daemon", ["slurmd", "sackd"])
def test_nothing_is_trusted_without_an_authority(make_cluster, pki, tmp_path, daemon):
    c = controller(make_cluster, "tls/openssl", pki, nodes=1)
    folder = host(c, "node1", pki, "slurmd")
    said = refused(c, daemon, "node1", folder)
    assert f"no configuration from 127.0.0.1 port {c.port}: TLSType=tls/openssl there" in said
    assert "hand it over with --ca-cert-file" in said
    stranger = Authority(tmp_path / "stranger", "stranger")
    said = refused(c, daemon, "node1", folder, "--ca-cert-file", stranger.cert)
    assert "TLS: the certificate of the peer is refused: " in said
    wait_until(lambda: "unknown ca" in ctld_log(c), "the controller says so too")
    assert not list((c.dir / "run").rglob("slurm.conf")) and not (c.dir / "spool" / "node1" / "conf-cache").exists()
    assert "wants an absolute path" in refused(c, daemon, "node1", folder, "--ca-cert-file", "ca.pem")
    assert "No such file" in refused(c, daemon, "node1", folder, "--ca-cert-file", tmp_path / "none.pem")
    assert "holds no certificate" in refused(c, daemon, "node1", folder, "--ca-cert-file", pki.key)


def test_wrong_key_with_auto(make_cluster):
    """Any certificate will do there, but for the proof of the key."""
    c = controller(make_cluster, "tls/auto", nodes=1)
    folder = host(c, "node1")
    put(folder / "slurm.key", "other:" + "ab" * 32 + "\n", 0o600)
    assert "Invalid authentication credential" in refused(c, "slurmd", "node1", folder)


def test_authority_that_the_controller_is_not_of(make_cluster, pki):
    """tls/auto shows no certificate of it: who has an authority expects one."""
    c = controller(make_cluster, "tls/auto", nodes=1)
    said = refused(c, "slurmd", "node1", host(c, "node1"), "--ca-cert-file", pki.cert)
    assert "TLS: the certificate of the peer is refused" in said


def test_authority_and_a_controller_without_tls(make_cluster, pki):
    """Nothing is asked for in clear: somebody between could have made it so."""
    c = controller(make_cluster, "tls/none", nodes=1)
    start(c, "slurmd", "node1", host(c, "node1"), "--ca-cert-file", pki.cert)
    wait_until(lambda: "either it has no TLSType, or it refuses us" in c.logs("slurmd-node1"), "slurmd says so")
    wait_until(lambda: "peer speaks TLS, and this daemon has no TLSType" in ctld_log(c), "slurmctld says so")
    assert c.slurmds["node1"].alive()
    c.slurmds.pop("node1").kill()


def test_expired_controller(make_cluster, pki):
    c = controller(make_cluster, "tls/auto", nodes=1)
    c.ctld.stop()
    pki.install(c.conf.parent, "ctld")
    good = c.conf_text()
    c.write_conf(good.replace("tls/auto", "tls/openssl"))
    pki.pair(c.conf.parent, "ctld", expired=True)
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(c.conf)], capture_output=True, text=True, env=c.env, timeout=20)
    c.ctld = None
    assert done.returncode != 0 and "ctld_cert.pem: the certificate has expired" in done.stderr


@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto"])
def test_login_host(make_cluster, pki, kind):
    c = controller(make_cluster, kind, pki, nodes=1)
    folder = host(c, "login")
    start(c, "sackd", "login", folder, *(("--ca-cert-file", pki.cert) if kind == "tls/openssl" else ()))
    conf = c.dir / "run" / "login" / "conf"
    wait_until(lambda: (conf / "slurm.conf").exists(), "sackd has the configuration")
    listing = c.run("sinfo", "-h", "-N", "-o", "%N", env={**token(c), "SLURM_CONF": str(conf / "slurm.conf")})
    assert listing.out.split() == ["node1"]
    c.write_conf(c.conf_text() + "MaxArraySize=77\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "MaxArraySize=77" in (conf / "slurm.conf").read_text(), "sackd follows")
    refusals = ctld_log(c).count("it is not encrypted")
    assert refusals == (0 if kind == "tls/openssl" else 1)  # asked once in clear, for nothing


@pytest.mark.skipif(os.geteuid() != 0, reason="packets are for root to see")
@pytest.mark.parametrize("kind", ["tls/openssl", "tls/auto", "tls/none"])
def test_nothing_is_read(make_cluster, pki, kind):
    c = controller(make_cluster, kind, pki, nodes=1)
    capture = Capture([c.port])
    try:
        options = ("--ca-cert-file", pki.cert) if kind == "tls/openssl" else ()
        start(c, "slurmd", "node1", host(c, "node1", pki, "slurmd"), *options)
        start(c, "sackd", "login", host(c, "login"), *options)
        c.wait_nodes()
        wait_until(lambda: (c.dir / "run" / "login" / "conf" / "slurm.conf").exists(), "sackd has the configuration")
    finally:
        seen = capture.stop()
    found = {word for word in ("WORD-CONF", "WORD-PROLOG") if word.encode() in seen}
    # the control: without TLS the capture does see them
    assert found == ({"WORD-CONF", "WORD-PROLOG"} if kind == "tls/none" else set())
