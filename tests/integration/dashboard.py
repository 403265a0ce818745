"""The dashboard for tests in a browser: a cluster with racks and a job to look at, signing in, walking to a page."""

from contextlib import contextmanager

from conftest import Cluster
from restd import Restd

CONF = "\n".join(["AuthAltTypes=auth/jwt", "PrivateData=jobs", "AccountingStoreFlags=job_script", "TopologyPlugin=topology/tree",
                  "JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=1"])
TOPOLOGY = "SwitchName=rack1 Nodes=node[1-2]\nSwitchName=rack2 Nodes=node3\nSwitchName=spine Switches=rack[1-2]\n"
PAGES = {"queue": "Queue", "job/1": "Job 1", "submit": "Submit a job", "cluster": "Cluster", "node/node1": "Node node1",
         "partitions": "Partitions", "reservations": "Reservations", "usage": "Use over time", "efficiency": "Efficiency",
         "accounts": "My accounts"}


@contextmanager
def served(folder):
    """slurmrestd beside a cluster of three nodes in two racks, where job 1 runs."""
    cluster = Cluster(folder, nodes=3, conf=CONF)
    (folder / "etc" / "topology.conf").write_text(TOPOLOGY)
    try:
        cluster.start()
        cluster.sbatch("-J", "steady", "-w", "node1", "-n", "3", "-t", "30", wrap="srun -n 1 sleep 1; sleep 900")
        with Restd(cluster) as rest:
            yield rest
    finally:
        problems = cluster.stop()
        assert not problems, problems


def address(rest, user=None):
    return f"http://127.0.0.1:{rest.port}/ui/{'#token=' + rest.token(user) if user else ''}"


def sign_in(b, rest, user="root"):
    b.go("about:blank")
    b.go(address(rest, user))
    b.wait("h1", "Queue")
    b.wait(".who", user)


def show(b, page, title=None):
    b.run("location.hash = arguments[0]", f"#/{page}")
    if title:
        b.wait("h1", title)


def use_theme(b, theme):
    """light or dark"""
    b.run("localStorage.setItem('penstock-theme', arguments[0]); document.documentElement.dataset.theme = arguments[0]", theme)
