"""New certificates, and a new authority, while jobs come and run: nothing fails."""

import threading

from conftest import wait_until
from pki import Authority
from test_configless import put
from test_tls import CONF, token


PER_STAGE = 34  # submissions while an authority changes: 100 in all


def serial(cluster, port):
    """Of the certificate that a daemon shows now."""
    import hashlib
    import socket
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain) as s:
        return hashlib.sha256(s.getpeercert(binary_form=True)).hexdigest()


def test_new_authority_under_load(make_cluster, tmp_path):
    old, new = Authority(tmp_path / "old", "old"), Authority(tmp_path / "new", "new")
    cluster = make_cluster(nodes=2, conf=CONF, start=False)
    etc = cluster.conf.parent
    old.install(etc)
    cluster.start()
    env = token(cluster)
    failed, submitted, done, ending = [], [], [], threading.Event()
    long = cluster.popen("srun", "-n1", "--mem=1", "sleep", "600")
    step = wait_until(lambda: cluster.run("squeue", "-h", "-s", "-o", "%i").out.strip(), "the step runs")

    def submit():
        while not ending.is_set():
            r = cluster.run("sbatch", "--wrap", "true", "-o", "/dev/null", env=env, check=False)
            (submitted if r.rc == 0 else failed).append(r.err)

    def launch():
        while not ending.is_set():
            r = cluster.run("srun", "-n1", "echo", "here", check=False)
            (done if r.out == "here\n" else failed).append(r.err)

    threads = [threading.Thread(target=f) for f in (submit, submit, launch)]
    for t in threads:
        t.start()
    try:
        stages = [lambda: put(etc / "ca_cert.pem", old.cert.read_text() + new.cert.read_text(), 0o644),
                  lambda: [new.pair(etc, p) for p in ("ctld", "slurmd")],
                  lambda: put(etc / "ca_cert.pem", new.cert.read_text(), 0o644)]
        for stage in stages:
            before, have, jobs = serial(cluster, cluster.port), len(done), len(submitted)
            stage()
            cluster.run("scontrol", "reconfigure")
            for name in cluster.node_names:
                wait_until(lambda n=name: (cluster.dir / "log" / f"slurmd-{n}.log").read_text()
                           .count("configuration read again") > stages.index(stage), f"{name} has read it again")
            assert (serial(cluster, cluster.port) != before) == (stage is stages[1])
            assert (serial(cluster, cluster.node_ports[0]) != before)
            wait_until(lambda h=have, j=jobs: len(done) >= h + 6 and len(submitted) >= j + PER_STAGE, "the load goes on", 60)
        assert step in cluster.run("squeue", "-h", "-s", "-o", "%i").out.split()
    finally:
        ending.set()
        for t in threads:
            t.join()
    assert not failed, failed
    assert len(submitted) >= 100
    cluster.run("scancel", step.partition(".")[0])
    long.wait(60)
    # the nodes' connections are made anew with what is there now
    cluster.restart_ctld()
    cluster.wait_nodes(state="idle") if not cluster.run("squeue", "-h").out else None
    assert cluster.run("srun", "-n1", "echo", "here").out == "here\n"
