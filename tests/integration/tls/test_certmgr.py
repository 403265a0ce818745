"""Certificates of nodes that scripts of the site get signed: tokens, renewal, and who gets none."""

import os
import subprocess
import time

import pytest

from conftest import wait_until
from pki import Authority
from test_configless import put
from test_tls import CONF

SCRIPTS = {
    "token": 'echo "token $*" >> {dir}/calls\necho "secret-of-$1"\n',
    "csr": '[ -f {dir}/$1.key ] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {dir}/$1.key 2>/dev/null\n'
           'openssl req -new -key {dir}/$1.key -subj /CN=$1\n',
    "key": "cat {dir}/$1.key\n",
    "validate": 'echo "validate $*" >> {dir}/calls\n[ "$2" = "secret-of-$1" ]\n',
    "sign": 'echo "sign" >> {dir}/calls\nprintf "%s\\n" "$1" | openssl x509 -req -days 1 -CA {ca} -CAkey {key}'
            ' -set_serial 0x$(openssl rand -hex 8) 2>/dev/null\n',
}
WORDS = {"get_node_token_script": "token", "generate_csr_script": "csr", "get_node_cert_key_script": "key",
         "validate_node_script": "validate", "sign_csr_script": "sign"}


class Site:
    """A folder of scripts, and the configuration that names them."""

    def __init__(self, folder, pki):
        self.dir, self.pki = folder, pki
        folder.mkdir()
        for name, text in SCRIPTS.items():
            self.script(name, text.format(dir=folder, ca=pki.cert, key=pki.key))

    def script(self, name, text):
        put(self.dir / name, "#!/bin/sh\n" + text)

    def conf(self, *more, without=()):
        words = [f"{word}={self.dir / name}" for word, name in WORDS.items() if word not in without]
        return CONF + "CertmgrType=certmgr/script\nCertmgrParameters=" + ",".join(words + list(more)) + "\n"

    def calls(self, word):
        path = self.dir / "calls"
        return [line for line in (path.read_text().splitlines() if path.exists() else []) if line.split()[0] == word]


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site", Authority(tmp_path / "pki"))


def make(make_cluster, site, *more, without=(), nodes=1):
    c = make_cluster(nodes=nodes, conf=site.conf(*more, without=without), start=False)
    site.pki.install(c.conf.parent, "ctld")
    c.start_ctld()
    return c


def log(c, name):
    path = c.dir / "log" / f"{name}.log"
    return path.read_text() if path.exists() else ""


def cert(c, name):
    return c.dir / "spool" / name / f"cert-{name}.pem"


def wait_log(c, name, words, timeout=15):
    wait_until(lambda: words in log(c, name), f"{name} says: {words}", timeout)


def test_nodes_join_with_tokens(make_cluster, site):
    c = make(make_cluster, site, nodes=2)
    for name in c.node_names:
        c.start_slurmd(name)
    c.wait_nodes()
    assert c.run("srun", "-N2", "echo", "here").out == "here\nhere\n"
    assert sorted(site.calls("token")) == ["token node1", "token node2"]
    assert sorted(site.calls("validate")) == ["validate node1 secret-of-node1", "validate node2 secret-of-node2"]
    assert "node node1: its certificate was signed, its token was validated" in log(c, "slurmctld")
    assert cert(c, "node1").stat().st_mode & 0o777 == 0o600
    shown = subprocess.run(["openssl", "x509", "-in", cert(c, "node1"), "-noout", "-subject", "-issuer"], capture_output=True,
                           text=True, check=True).stdout
    assert "CN = node1" in shown and "test authority" in shown
    wait_log(c, "slurmctld", "certificate=\"node1\"")  # AuditTLS: what the node shows from then on
    signed = len(site.calls("sign"))
    c.slurmds.pop("node1").stop()
    c.start_slurmd("node1")
    wait_until(lambda: log(c, "slurmd-node1").count("registered with") == 2, "node1 is back")
    assert len(site.calls("sign")) == signed  # what is in the spool is used


def test_renewal_while_jobs_run(make_cluster, site):
    """A day is over: the node shows the certificate that it has, and no token; steps go on."""
    c = make(make_cluster, site)
    c.start_slurmd("node1")
    c.wait_nodes()
    job = c.sbatch(wrap="until [ -e go ]; do sleep 0.1; done; srun echo done")
    c.wait_state(job, "RUNNING")
    c.slurmds.pop("node1").stop()
    before = cert(c, "node1").read_text()
    day = time.time() - 2 * 86400
    os.utime(cert(c, "node1"), (day, day))
    c.start_slurmd("node1")
    wait_log(c, "slurmd-node1", "the certificate of node node1 was renewed")
    assert "node node1: its certificate was signed, it has shown the one before" in log(c, "slurmctld")
    assert cert(c, "node1").read_text() != before
    assert len(site.calls("token")) == 1 and len(site.calls("sign")) == 2
    (c.work / "go").touch()
    c.wait_end(job)
    assert c.out(job) == "done\n"


def test_expired_certificate_wants_a_token(make_cluster, site):
    c = make(make_cluster, site)
    c.start_slurmd("node1")
    wait_log(c, "slurmd-node1", "registered with")
    c.slurmds.pop("node1").stop()
    other = site.dir / "expired"
    other.mkdir()
    site.pki.pair(other, "slurmd", name="node1", expired=True)
    put(cert(c, "node1"), (other / "slurmd_cert.pem").read_text() + (other / "slurmd_cert_key.pem").read_text(), 0o600)
    c.start_slurmd("node1")
    wait_log(c, "slurmd-node1", "the controller is asked for a certificate: ")
    wait_log(c, "slurmd-node1", "the certificate has expired")
    wait_until(lambda: log(c, "slurmd-node1").count("registered with") == 2, "node1 is back")
    assert len(site.calls("token")) == 2


def nowhere(c, secret):
    """No answer, no file of the controller and no log has it."""
    for argv in (["scontrol", "show", "node", "node1"], ["scontrol", "show", "node", "node1", "--json"],
                 ["sinfo", "--json"], ["scontrol", "show", "config"]):
        assert secret not in c.run(*argv).out, argv
    for folder in ("log", "state"):
        for path in (c.dir / folder).rglob("*"):
            if path.is_file():
                assert secret.encode() not in path.read_bytes(), path


def test_cert_token(make_cluster, site):
    """What an administrator set counts, and the script is not asked."""
    c = make(make_cluster, site)
    done = c.run("scontrol", "update", "NodeName=node1", "CertToken=other-secret-word")
    assert done.out == "" and done.err == ""
    c.start_slurmd("node1")
    wait_log(c, "slurmctld", "node node1: gets no certificate: its token is not the CertToken that was set for it")
    wait_log(c, "slurmd-node1", "the controller signs no certificate for this node: its token is not the CertToken")
    assert "idle" not in c.run("sinfo", "-h", "-o", "%T").out and not cert(c, "node1").exists()
    nowhere(c, "other-secret-word")
    nowhere(c, "secret-of-node1")
    c.run("scontrol", "update", "NodeName=node1", "CertToken=secret-of-node1")
    c.wait_nodes()
    assert site.calls("validate") == []
    assert "it has shown its CertToken" in log(c, "slurmctld")
    nowhere(c, "secret-of-node1")
    c.restart_ctld()  # it is in the log of the cluster, for the next time
    c.slurmds.pop("node1").stop()
    cert(c, "node1").unlink()
    c.start_slurmd("node1")
    wait_until(lambda: log(c, "slurmctld").count("it has shown its CertToken") == 2, "it is good for another time")
    for bad in ("-x", "a\nb", "y" * 2000):
        c.refused("scontrol", "update", "NodeName=node1", f"CertToken={bad}")


def test_token_of_a_node_that_is_made(make_cluster, site):
    """scontrol create takes CertToken=, and nothing tells it again, not even a refusal."""
    c = make_cluster(nodes=1, conf=site.conf() + "MaxNodeCount=8\n", start=False)
    site.pki.install(c.conf.parent, "ctld")
    c.start_ctld()
    line = ["NodeName=new1", "CPUs=1", "RealMemory=100", "State=FUTURE"]
    for bad in ("-x", "y" * 2000, ""):
        c.refused("scontrol", "create", *line, f"CertToken={bad}")
    assert "secret" not in c.refused("scontrol", "create", *line, "CertToken=secret-of-node1", "Nonsense=1")
    assert c.run("scontrol", "create", *line, "CertToken=secret-of-node1").out == ""
    nowhere(c, "secret-of-node1")
    c.run("scontrol", "delete", "NodeName=new1")


def test_single_use_token(make_cluster, site):
    c = make(make_cluster, site, "single_use_tokens", without=("validate_node_script",))
    c.run("scontrol", "update", "NodeName=node1", "CertToken=secret-of-node1")
    c.start_slurmd("node1")
    c.wait_nodes()
    c.slurmds.pop("node1").stop()
    cert(c, "node1").unlink()
    c.start_slurmd("node1")
    wait_log(c, "slurmctld", "it has no CertToken, and CertmgrParameters no validate_node_script")
    c.slurmds.pop("node1").stop()
    c.run("scontrol", "update", "NodeName=node1", "CertToken=secret-of-node1")
    c.run("scontrol", "update", "NodeName=node1", "CertToken=")  # taken back
    c.restart_ctld()
    c.start_slurmd("node1")
    wait_until(lambda: log(c, "slurmctld").count("it has no CertToken, and") == 2, "it is forgotten")


def test_token_that_the_script_refuses(make_cluster, site):
    site.script("validate", "exit 3\n")
    c = make(make_cluster, site)
    c.start_slurmd("node1")
    wait_log(c, "slurmctld", "node node1: gets no certificate: validate_node_script does not accept its token")
    wait_log(c, "slurmd-node1", "validate_node_script does not accept its token; trying on")
    assert not cert(c, "node1").exists() and site.calls("sign") == []
    assert c.slurmds["node1"].alive()
    assert c.slurmds.pop("node1").stop() == 0  # a signal ends the wait


@pytest.mark.parametrize("script,text,who,words", [
    ("sign", "exit 1\n", "slurmctld", "gets no certificate: sign_csr_script has failed"),
    ("sign", "echo hello\n", "slurmctld", "what sign_csr_script printed is no certificate (PEM)"),
    ("sign", "head -c 200000 /dev/zero | tr '\\0' x\n", "slurmctld", "gets no certificate: "),
    ("csr", "exit 2\n", "slurmd-node1", "generate_csr_script failed: exit code 2"),
    ("csr", "echo nothing\n", "slurmd-node1", "what generate_csr_script printed is no certificate request (PEM)"),
    ("key", "echo nothing\n", "slurmd-node1", "what get_node_cert_key_script printed is no private key (PEM)"),
    ("key", "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 2>/dev/null\n", "slurmd-node1",
     "is not the key of the certificate"),
    ("token", "kill -9 $$\n", "slurmd-node1", "get_node_token_script failed: signal 9"),
    ("token", "printf -- '-x'\n", "slurmd-node1", "does not begin with -"),
])
def test_scripts_that_fail(make_cluster, site, script, text, who, words):
    good = (site.dir / script).read_text()
    site.script(script, text)
    c = make(make_cluster, site)
    c.start_slurmd("node1")
    wait_log(c, who, words)
    assert not cert(c, "node1").exists() and c.up()
    put(site.dir / script, good)
    c.wait_nodes()  # it tries on
    assert cert(c, "node1").exists()


def test_configuration_that_is_not_whole(make_cluster, site):
    c = make(make_cluster, site)
    good = c.conf.read_text()
    c.write_conf(good.replace("sign_csr_script=", "get_node_token_script="))
    assert "CertmgrType=certmgr/script needs CertmgrParameters=sign_csr_script=" in c.refused("scontrol", "reconfigure")
    c.write_conf(good.replace(f"sign_csr_script={site.dir}/", "sign_csr_script="))
    assert 'sign_csr_script wants an absolute path, not "sign"' in c.refused("scontrol", "reconfigure")


def test_no_certificate_for_users(make_cluster, site):
    """The operation is for nodes; and a node without a certificate is not let in as one."""
    c = make(make_cluster, site)
    c.start_slurmd("node1")
    c.wait_nodes()
    plain = c.conf.parent / "plain.conf"
    plain.write_text(c.conf_text().replace("CertmgrType=certmgr/script\n", ""))
    c.slurmds.pop("node1").stop()
    kept, c.conf = c.conf, plain
    c.start_slurmd("node1")
    c.conf = kept
    wait_until(lambda: not c.slurmds["node1"].alive(), "slurmd ends: there is no slurmd_cert.pem")
    c.slurmds["node1"].expected = c.slurmds["node1"].process.returncode
    assert "slurmd_cert.pem cannot be read" in (c.dir / "log" / "slurmd-node1.stderr").read_text()
