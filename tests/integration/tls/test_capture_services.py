"""What somebody on the network reads between clusters of a federation, of the signing of certificates, and between slurmctld and etcd."""

import base64
import os

import pytest

from capture import Capture
from conftest import wait_until
from etcds import have_etcd
from pki import Authority
from test_capture_more import KINDS, check
from test_certmgr import Site, log, make
from test_etcd import closed_site, etcd, tls_etcd  # etcd, tls_etcd: fixtures
from test_federation import Federation
from test_tls import CONF

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="packets are for root to see")


class Closed(Federation):
    """A federation whose daemons have certificates of one authority."""

    def __init__(self, folder, make_cluster, kind):
        self.kind, self.pki = kind, Authority(folder / "pki")
        super().__init__(folder, make_cluster, conf=CONF.replace("tls/openssl", kind))

    def prepare(self):
        self.dbd.conf.write_text(self.dbd.conf.read_text() + f"TLSType={self.kind}\nAuthAltTypes=auth/jwt\n")
        if self.kind == "tls/openssl":
            for place in (self.dbd.dir, *(c.conf.parent for c in self.list)):
                self.pki.install(place)


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_of_a_federation(folder, make_cluster, kind):
    """A job of a full cluster runs in another one: its script, environment and name go there."""
    fed = Closed(folder, make_cluster, kind)
    try:
        home = fed.list[0]
        fed.fill(home)
        capture = Capture([c.port for c in fed.list])
        try:
            job = home.sbatch("-J", "WORD-NAME", wrap=f"# WORD-SCRIPT\necho $SLURM_JOB_ID $SLURM_CLUSTER_NAME >> {fed.runs}",
                              env={"WORD_ENV": "WORD-ENVIRONMENT"})
            wait_until(lambda: fed.started().get(job), "the job runs")
        finally:
            seen = capture.stop()
        assert fed.started()[job] in (["bb"], ["cc"])
        check(seen, kind, "WORD-NAME", "WORD-SCRIPT", "WORD-ENVIRONMENT")
    finally:
        fed.stop()


def test_a_certificate_is_signed(make_cluster, tmp_path):
    """The node has no certificate yet: its token and its request go to slurmctld all the same unread."""
    site = Site(tmp_path / "site", Authority(tmp_path / "pki"))
    c = make(make_cluster, site)
    capture = Capture([c.port])
    try:
        c.start_slurmd("node1")
        c.wait_nodes()
    finally:
        seen = capture.stop()
    assert site.calls("validate") == ["validate node1 secret-of-node1"] and len(site.calls("sign")) == 1
    assert "node node1: its certificate was signed" in log(c, "slurmctld")
    assert capture.by_port[c.port] > 2000  # it went by here
    for word in ("secret-of", "BEGIN CERTIFICATE", "PRIVATE KEY"):
        assert word.encode() not in seen


def encoded(word):
    """What of the word stands in base64, wherever it begins."""
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + word.encode())
        yield text[(shift * 8 + 5) // 6:(shift + len(word)) * 8 // 6]


@pytest.mark.skipif(not have_etcd(), reason="etcd (package etcd-server) is not installed")
@pytest.mark.parametrize("members", ["tls_etcd", "etcd"])
def test_the_log_in_etcd(folder, request, members):
    closed = members == "tls_etcd"
    store = request.getfixturevalue(members)
    words = ""
    if closed:
        store.pki.pair(folder, "slurm")
        words = f",cacert={store.pki.cert},cert={folder}/slurm_cert.pem,key={folder}/slurm_cert_key.pem"
    c = closed_site(folder, store, words, controllers=1).start()
    capture = Capture([client for client, _ in store.ports])
    try:
        job = c.sbatch("-J", "WORD-NAME", "--wrap", "# WORD-SCRIPT")
        c.wait_end(job)
    finally:
        seen = capture.stop()
    assert c.stop() == []
    assert len(seen) > 2000
    for word in ("WORD-NAME", "WORD-SCRIPT"):
        assert any(text in seen for text in [word.encode(), *encoded(word)]) != closed, word
