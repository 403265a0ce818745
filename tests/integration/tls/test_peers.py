"""Who is let in: peers of another authority, expired, without a certificate or without TLS are not."""

import re
import socket
import ssl

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import wait_until
from pki import Authority
from test_tls import CONF, token


@pytest.fixture
def pki(tmp_path):
    return Authority(tmp_path / "pki")


@pytest.fixture
def halves(make_cluster, pki):
    """A cluster whose controller runs; slurmd is to be started with other files."""
    cluster = make_cluster(nodes=1, conf=CONF, start=False)
    pki.install(cluster.conf.parent)
    cluster.start_ctld()
    return cluster


def log_of(cluster, name):
    path = cluster.dir / "log" / f"{name}.log"
    return path.read_text() if path.exists() else ""


def start_with(cluster, other):
    """slurmd with the certificates of a folder of their own."""
    text = cluster.conf_text()
    path = other / "slurm.conf"
    path.write_text(text)
    (other / "slurm.key").write_bytes((cluster.conf.parent / "slurm.key").read_bytes())
    (other / "slurm.key").chmod(0o600)
    kept, cluster.conf = cluster.conf, path
    cluster.start_slurmd("node1")
    cluster.conf = kept


def wait_log(cluster, name, words):
    wait_until(lambda: words in log_of(cluster, name), f"{name} says: {words}")


def test_node_of_another_authority(halves, pki, tmp_path):
    stranger = Authority(tmp_path / "stranger", "stranger")
    (tmp_path / "n").mkdir()
    stranger.install(tmp_path / "n", "slurmd")
    (tmp_path / "n" / "ca_cert.pem").write_text(pki.cert.read_text())  # the node trusts us, we do not trust it
    start_with(halves, tmp_path / "n")
    wait_log(halves, "slurmctld", "TLS: the certificate of the peer is refused: unable to get local issuer certificate")
    wait_log(halves, "slurmd-node1", "unknown ca")
    assert "idle" not in halves.run("sinfo", "-h", "-o", "%T").out


def test_controller_of_another_authority(halves, tmp_path):
    stranger = Authority(tmp_path / "stranger", "stranger")
    (tmp_path / "n").mkdir()
    stranger.install(tmp_path / "n", "slurmd")
    start_with(halves, tmp_path / "n")
    wait_log(halves, "slurmd-node1", "TLS: the certificate of the peer is refused")
    wait_log(halves, "slurmctld", "unknown ca")


def test_expired_node(halves, pki, tmp_path):
    (tmp_path / "n").mkdir()
    pki.install(tmp_path / "n", "ctld")
    pki.pair(tmp_path / "n", "slurmd", expired=True)
    start_with(halves, tmp_path / "n")
    wait_until(lambda: not halves.slurmds["node1"].alive(), "slurmd sees that its certificate has expired")
    halves.slurmds["node1"].expected = halves.slurmds["node1"].process.returncode
    assert "the certificate has expired" in (halves.dir / "log" / "slurmd-node1.stderr").read_text()


def test_node_without_a_certificate(halves, tmp_path):
    """tls/auto believes any controller and shows nothing: its proof of the key is not enough here."""
    (tmp_path / "n").mkdir()
    kept = halves.extra_conf
    halves.extra_conf = kept.replace("tls/openssl", "tls/auto")
    start_with(halves, tmp_path / "n")
    halves.extra_conf = kept
    wait_log(halves, "slurmctld", "is refused: this node shows no certificate of our authority (TLSType)")
    wait_log(halves, "slurmd-node1", "this node shows no certificate of our authority (TLSType)")
    assert "idle" not in halves.run("sinfo", "-h", "-o", "%T").out


@pytest.mark.parametrize("whose", ["slurmd", "ctld"])
def test_revoked(halves, pki, tmp_path, whose):
    """A certificate in the list is refused, by whoever has the list; others are not."""
    etc, n = halves.conf.parent, tmp_path / "n"
    n.mkdir()
    pki.install(n, "slurmd")
    listed = pki.revoke((n / "slurmd_cert.pem") if whose == "slurmd" else (etc / "ctld_cert.pem"))
    kept = halves.extra_conf
    halves.extra_conf = f"{kept}TLSParameters=crl_file={listed}\n"
    if whose == "slurmd":
        halves.write_conf()
        halves.run("scontrol", "reconfigure")
        halves.extra_conf = kept
    start_with(halves, n)
    who, other = ("slurmctld", "slurmd-node1") if whose == "slurmd" else ("slurmd-node1", "slurmctld")
    wait_log(halves, who, "TLS: the certificate of the peer is refused: certificate revoked")
    wait_log(halves, other, "certificate revoked")
    assert "idle" not in halves.run("sinfo", "-h", "-o", "%T").out
    if whose == "slurmd":
        pki.pair(n, "slurmd")  # a fresh one is not in the list
        halves.slurmds.pop("node1").stop()
        start_with(halves, n)
        halves.wait_nodes()


def test_bad_revocation_list(halves, tmp_path):
    for text, words in (("nothing", "holds no list of revoked certificates"), (None, "cannot be read")):
        path = tmp_path / "crl.pem"
        path.write_text(text) if text else path.unlink()
        halves.extra_conf = CONF + f"TLSParameters=crl_file={path}\n"
        halves.write_conf()
        assert words in halves.refused("scontrol", "reconfigure")
        assert halves.up()


def present(cluster, context):
    """What a TLS client of Python's is told: '' when it is let in as far as a challenge."""
    with socket.create_connection(("127.0.0.1", cluster.port), 10) as plain:
        try:
            with context.wrap_socket(plain) as s:
                s.sendall(b"PST\n")
                return "" if s.recv(100).startswith(b"PST") else "no challenge"
        except OSError as e:
            return str(e)


def client(cert=None, key=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if cert:
        context.load_cert_chain(cert, key)
    return context


def test_clients(halves, pki, tmp_path):
    pki.pair(tmp_path, "old", expired=True)
    pki.pair(tmp_path, "good")
    Authority(tmp_path / "x").pair(tmp_path, "strange")
    assert present(halves, client()) != "no challenge"
    said = {name: present(halves, client(tmp_path / f"{name}_cert.pem", tmp_path / f"{name}_cert_key.pem"))
            for name in ("old", "good", "strange")}
    assert said["good"] == "" and said["old"] and said["strange"], said
    wait_log(halves, "slurmctld", "certificate has expired")
    old = client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "version" in present(halves, old).lower()


def test_plain_callers(halves, make_cluster, tmp_path):
    env = token(halves)
    other = tmp_path / "plain"
    other.mkdir()
    (other / "slurm.conf").write_text(halves.conf_text().replace("TLSType=tls/openssl", ""))
    (other / "slurm.key").write_bytes((halves.conf.parent / "slurm.key").read_bytes())
    (other / "slurm.key").chmod(0o600)
    err = halves.refused("sinfo", env={**env, "SLURM_CONF": str(other / "slurm.conf")})
    assert "encrypted connections only (TLSType)" in err
    wait_log(halves, "slurmctld", "it is not encrypted, and TLSType is set")
    with socket.create_connection(("127.0.0.1", halves.port), 10) as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):  # or the end of the connection
            if s.recv(100) == b"":
                raise ConnectionResetError


@pytest.mark.parametrize("mistake,words", [
    ("no TLSType", "This daemon takes encrypted connections only (TLSType)"),
    ("another authority", "TLS: the certificate of the peer is refused: self-signed certificate in certificate chain"),
    ("no authority", "ca_cert.pem cannot be read: No such file or directory"),
])
def test_accounting_and_ping_say_why(halves, pki, tmp_path, mistake, words):
    """Commands that have a sentence of their own for a slurmdbd that is away, or no sentence, tell the reason too."""
    (tmp_path / "dbd").mkdir()
    dbd = Dbd(tmp_path / "dbd", storage_of("sqlite", tmp_path / "dbd"), halves.dir / "etc" / "slurm.key",
              conf="TLSType=tls/openssl\nAuthAltTypes=auth/jwt")
    pki.install(dbd.dir, "dbd")
    dbd.start()
    other = tmp_path / "other"
    other.mkdir()
    text = halves.conf_text() + conf_of(dbd)
    (other / "slurm.conf").write_text(text.replace("TLSType=tls/openssl\n", "") if mistake == "no TLSType" else text)
    if mistake == "another authority":
        (other / "ca_cert.pem").write_text(Authority(tmp_path / "stranger", "stranger").cert.read_text())
    env = {**token(halves), "SLURM_CONF": str(other / "slurm.conf")}
    try:
        for command in (["sacct"], ["sacctmgr", "show", "cluster"], ["sacctmgr", "ping"], ["sreport", "cluster", "utilization"]):
            first = halves.refused(*command, env=env).split("\n")[0]
            assert first.startswith(f"{command[0]}: error: _open_persist_conn: failed to open persistent connection to host:")
            assert first.endswith(words), command
        done = halves.run("scontrol", "ping", env=env, check=False)
        assert done.rc == 1 and done.out.endswith(" is DOWN\n")
        assert re.fullmatch(f"scontrol: error: [^ ]+: .*{re.escape(words)}\n", done.err)
    finally:
        dbd.stop()


def test_own_certificate_of_another_authority(halves, pki, tmp_path):
    """A daemon that nobody who trusts what it trusts will believe says so."""
    etc = halves.conf.parent
    words = f"{etc}/ctld_cert.pem: peers that trust {etc}/ca_cert.pem alone refuse this certificate: "
    assert words not in log_of(halves, "slurmctld")
    Authority(tmp_path / "stranger", "stranger").pair(etc, "ctld")
    halves.run("scontrol", "reconfigure")
    assert words + "unable to get local issuer certificate" in log_of(halves, "slurmctld")


def test_encrypted_caller_of_a_plain_cluster(make_cluster, pki):
    cluster = make_cluster(nodes=1, conf="AuthAltTypes=auth/jwt")
    env = token(cluster)
    other = cluster.dir / "tlsconf"
    other.mkdir()
    (other / "slurm.conf").write_text(cluster.conf_text() + "TLSType=tls/openssl\n")
    pki.install(other)
    err = cluster.refused("sinfo", env={**env, "SLURM_CONF": str(other / "slurm.conf")})
    assert "TLS: the peer closed the connection" in err
    wait_log(cluster, "slurmctld", "peer speaks TLS, and this daemon has no TLSType")


@pytest.mark.parametrize("spoil,words", [
    (lambda etc: (etc / "ctld_cert_key.pem").chmod(0o644), "can be read by others"),
    (lambda etc: (etc / "ctld_cert.pem").unlink(), "ctld_cert.pem cannot be read"),
    (lambda etc: (etc / "ca_cert.pem").write_text("nothing"), "ca_cert.pem holds no certificate"),
    (lambda etc: (etc / "ca_cert.pem").chmod(0o666), "can be written by others"),
    (lambda etc: (etc / "ctld_cert_key.pem").write_text((etc / "slurmd_cert_key.pem").read_text()),
     "is not the key of the certificate"),
])
def test_bad_files(halves, spoil, words):
    spoil(halves.conf.parent)
    assert words in halves.refused("scontrol", "reconfigure")
    assert halves.up()  # everything stays what it was
    halves.ctld.stop()
    from conftest import program
    import subprocess
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(halves.conf)], capture_output=True, text=True,
                          env=halves.env, timeout=20)
    assert done.returncode != 0 and words in done.stderr
    halves.ctld = None
