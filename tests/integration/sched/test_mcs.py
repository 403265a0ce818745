"""Security labels (MCSPlugin): which one a job gets, which nodes it shares, who sees it."""

import getpass
import grp
import os
import re
import subprocess

import pytest

from conftest import SLOW, wait_until

ME = getpass.getuser()
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="acts as another user")


def as_nobody(c, *words):
    return subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *words], cwd=c.work,
                          env=c.env | {"USER": "nobody"}, text=True, capture_output=True, timeout=30 * SLOW)


@pytest.fixture
def site(make_cluster, folder):
    def make(*lines):
        c = make_cluster(nodes=2, conf="\n".join(lines))
        folder.chmod(0o755)
        c.work.chmod(0o777)
        return c
    return make


def label(c, job):
    """As scontrol, squeue and sacct tell it, which agree."""
    shown = c.job(job)["MCS_label"]
    assert c.run("squeue", "-h", "-j", job, "-O", "MCSLabel:40").out.strip() == (shown if shown != "N/A" else "(null)")
    row = wait_until(lambda: c.sacct("-X", "-j", str(job), "-o", "McsLabel,State"), "accounting has it")
    assert row[0][0] == (shown if shown != "N/A" else "")
    return shown


def node_label(c, node):
    return re.search(r" MCS_label=(\S+)", c.run("scontrol", "show", "node", node).out).group(1)


def runs_on(c, job):
    return c.wait_state(job, "RUNNING")["NodeList"]


def test_any_label(site):
    """mcs/label, ondemandselect: --exclusive=mcs keeps other labels off the nodes of its jobs."""
    c = site("MCSPlugin=mcs/label")
    plain = c.sbatch("--mcs-label=red", "-wnode1", wrap="sleep 100")
    assert runs_on(c, plain) == "node1" and label(c, plain) == "red"
    assert node_label(c, "node1") == "N/A"  # it shares with all
    red = c.sbatch("--mcs-label=red", "--exclusive=mcs", "-wnode2", wrap="sleep 100")
    assert runs_on(c, red) == "node2" and node_label(c, "node2") == "red"
    also = c.sbatch("--mcs-label=red", "--exclusive=mcs", wrap="sleep 100")
    assert runs_on(c, also) == "node2"  # not beside the one that shares with all
    blue = c.sbatch("--mcs-label=blue", "--exclusive=mcs", wrap="sleep 100")
    none = c.sbatch("-n3", wrap="sleep 100")
    assert runs_on(c, none) == "node1" and label(c, none) == "N/A"
    assert c.state(blue) == "PENDING"
    c.run("scancel", red, also)
    assert runs_on(c, blue) == "node2"
    wait_until(lambda: node_label(c, "node2") == "blue", "the node has the label of its job")
    c.run("scancel", blue)
    wait_until(lambda: node_label(c, "node2") == "N/A", "an idle node has none")
    assert "security label" in c.refused("sbatch", "--exclusive=mcs", "--wrap", "true")
    assert "Invalid mcs_label specified" in c.refused("sbatch", "--mcs-label=a b", "--wrap", "true")


def test_over_a_restart_and_updates(site):
    c = site("MCSPlugin=mcs/label", "MCSParameters=enforced,select")
    assert "Invalid mcs_label specified" in c.refused("sbatch", "--wrap", "true")
    red = c.sbatch("--mcs-label=red", "-wnode1", wrap="sleep 100")
    runs_on(c, red)
    held = c.sbatch("--mcs-label=blue", "-H", "-wnode1", wrap="sleep 100")
    c.kill_ctld()
    c.start_ctld()
    assert node_label(c, "node1") == "red" and label(c, held) == "blue"
    c.run("scontrol", "release", held)
    wait_until(lambda: c.job(held)["Reason"] in ("Resources", "Priority"), "red is in its way")
    c.run("scontrol", "update", f"jobid={held}", "MCSLabel=red")
    assert runs_on(c, held) == "node1" and label(c, held) == "red"
    assert c.refused("scontrol", "update", f"jobid={held}", "MCSLabel=blue")  # it runs
    # both gave the node its label; the last that ends takes it away
    c.run("scancel", red)
    c.wait_end(red)
    assert node_label(c, "node1") == "red"


def test_user_and_group(site):
    group = grp.getgrgid(os.getgid()).gr_name
    c = site("MCSPlugin=mcs/user", "MCSParameters=enforced,noselect")
    job = c.sbatch(wrap="sleep 100")
    assert label(c, job) == ME
    assert "label" in c.refused("sbatch", "--mcs-label=somebody", "--wrap", "true")
    runs_on(c, job)
    c.write_conf(c.conf.read_text().replace("mcs/user", "mcs/group").replace("enforced,noselect", f"select:nosuch|{group}"))
    c.restart_ctld()
    c.wait_nodes("mixed", ["node1"])
    assert label(c, job) == ME  # as it was submitted
    free = c.sbatch("-H", wrap="true")
    assert label(c, free) == "N/A"
    asked = c.sbatch("-H", f"--mcs-label={group}", wrap="true")
    assert label(c, asked) == group
    assert "label" in c.refused("sbatch", "--mcs-label=nosuch", "--wrap", "true")


def test_account(site):
    c = site("MCSPlugin=mcs/account", "MCSParameters=enforced,select", "AccountingStorageEnforce=associations")
    for words in (["add", "account", "physics"], ["add", "account", "chem"], ["add", "user", ME, "account=physics,chem"],
                  ["modify", "user", ME, "set", "defaultaccount=physics"]):
        c.run("sacctmgr", "-i", *words)
    job = c.sbatch("-H", wrap="true")
    assert label(c, job) == "physics"
    c.run("scontrol", "update", f"jobid={job}", "account=chem")
    assert label(c, job) == "chem"
    assert "label" in c.refused("sbatch", "-Aphysics", "--mcs-label=chem", "--wrap", "true")


@needs_root
def test_private(site):
    """privatedata: what users see goes by labels."""
    c = site("MCSPlugin=mcs/user", "MCSParameters=ondemand,select,privatedata", "PrivateData=jobs,nodes")
    mine = c.sbatch(f"--mcs-label={ME}", "-wnode1", wrap="sleep 100")
    open_ = c.sbatch("-wnode2", wrap="sleep 100")
    runs_on(c, mine)
    runs_on(c, open_)
    assert as_nobody(c, "squeue", "-h", "-o%i").stdout.split() == [str(open_)]
    assert "node1" not in (seen := as_nobody(c, "sinfo", "-h", "-N", "-o%N").stdout) and "node2" in seen
    own = as_nobody(c, "sbatch", "--parsable", "--mcs-label=nobody", "-H", "-o/dev/null", "--wrap", "true")
    assert own.returncode == 0, own.stderr
    assert set(as_nobody(c, "squeue", "-h", "-o%i").stdout.split()) == {str(open_), own.stdout.strip()}
    c.run("sacctmgr", "-i", "add", "account", "a")
    c.run("sacctmgr", "-i", "add", "user", "nobody", "account=a", "adminlevel=operator")
    assert str(mine) in as_nobody(c, "squeue", "-h", "-o%i").stdout


def test_wrong_configuration(make_cluster):
    c = make_cluster(start=False, nodes=1)
    for lines, said in (("MCSPlugin=mcs/colour", "MCSPlugin"), ("MCSPlugin=mcs/group", "mcs/group needs the groups"),
                        ("MCSPlugin=mcs/user\nMCSParameters=enforced,sometimes", "sometimes is not known")):
        c.extra_conf = lines
        c.write_conf()
        out = c.run("slurmctld", "-D", "-f", c.conf, check=False)
        assert out.rc != 0 and said in out.err + out.out, (lines, out.err, out.out)


def test_none(cluster):
    """Without a plugin a label is shown, and means nothing; nodes are shared as ever."""
    job = cluster.sbatch("--mcs-label=x", "-H", wrap="true")
    assert label(cluster, job) == "x"
    jobs = [cluster.sbatch("--exclusive=mcs", "-n1", "-w", "node1", wrap="sleep 1000") for _ in range(2)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
