"""scontrol reconfigure with running slurmds: what nodes and logs are after it, without a restart of any daemon."""

import os
import re
import signal
import socket
import subprocess

from conftest import wait_until

OVERRIDES = "SlurmdParameters=config_overrides\n"


def strict(make_cluster, gres="", **options):
    """A cluster whose nodes must be what slurm.conf says."""
    c = make_cluster(start=False, **options)
    c.write_conf(c.conf_text().replace(OVERRIDES, ""))
    (c.conf.parent / "gres.conf").write_text(gres)
    return c.start()


def look(c, node):
    return c.run("sinfo", "-h", "-n", node, "-o", "%t %E").out.strip()


def reconfigure(c, path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    c.run("scontrol", "reconfigure")


def test_gres_conf_has_less_and_again_enough(make_cluster):
    c = strict(make_cluster, "Name=tape Count=4\n", nodes=2, conf="GresTypes=tape", node_options="Gres=tape:4")
    job = c.sbatch("-w", "node1", "--gres=tape:1", "-o", "lives", wrap="while [ ! -e go ]; do sleep .1; done; echo end")
    c.wait_state(job, "RUNNING")
    file = c.conf.parent / "gres.conf"
    reconfigure(c, file, "Count=4", "Count=2")
    wait_until(lambda: look(c, "node2") == "inval gres/tape count reported lower than configured (2 < 4)", "node2 is found out")
    wait_until(lambda: look(c, "node1").startswith("inval gres/tape"), "node1 is found out while it works")
    reconfigure(c, file, "Count=2", "Count=4")
    wait_until(lambda: look(c, "node2") == "idle none", "node2 is good again")
    wait_until(lambda: look(c, "node1") == "mix none", "node1 is good again")
    (c.work / "go").touch()
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert (c.work / "lives").read_text() == "end\n"


def test_a_node_that_was_not_connected(make_cluster):
    """What it has read before is not what is in force: it is told when it comes back."""
    c = strict(make_cluster, "Name=tape Count=4\n", nodes=1, conf="GresTypes=tape\nSlurmdTimeout=300", node_options="Gres=tape:4")
    file, slurmd, ctld = c.conf.parent / "gres.conf", c.slurmds["node1"], c.dir / "log" / "slurmctld.log"
    os.kill(slurmd.pid, signal.SIGSTOP)
    try:
        subprocess.run(["ss", "-K", "dst", "127.0.0.1", "sport", "=", f":{c.port}"], check=True, capture_output=True)
        wait_until(lambda: "node node1: connection lost" in ctld.read_text(), "it is not connected", 120)
        reconfigure(c, file, "Count=4", "Count=2")
    finally:
        os.kill(slurmd.pid, signal.SIGCONT)
    wait_until(lambda: look(c, "node1") == "inval gres/tape count reported lower than configured (2 < 4)", "it is found out", 30)
    log = (c.dir / "log" / "slurmd-node1.log")
    wait_until(lambda: log.read_text().count("registered with the controller") == 3, "it tells of what it has now")


def test_more_memory_than_there_is(make_cluster):
    host = socket.gethostname().split(".")[0]  # a node of another name is taken at its word
    c = make_cluster(start=False, nodes=1, cpus=1)
    c.node_names = [host]
    c.write_conf(c.conf_text().replace(OVERRIDES, "").replace(f"NodeName={host} NodeHostname={host}", f"NodeName={host}"))
    c.start()
    reconfigure(c, c.conf, "RealMemory=2000", "RealMemory=999999999")
    wait_until(lambda: look(c, host).startswith("inval Low RealMemory (reported:"), "the lack of memory is found")
    reconfigure(c, c.conf, "RealMemory=999999999", "RealMemory=2000")
    wait_until(lambda: look(c, host) == "idle none", "the node is good again")


def test_nothing_of_the_node_has_changed(make_cluster):
    """The connection stays: a thousand nodes need not come back for a change of KillWait."""
    c = strict(make_cluster, nodes=1, cpus=1)
    log = c.dir / "log" / "slurmd-node1.log"
    reconfigure(c, c.conf, "KillWait=2", "KillWait=3")
    wait_until(lambda: "configuration read again" in log.read_text(), "slurmd has read it")
    c.run("srun", "true")
    assert log.read_text().count("registered with the controller") == 1


def test_partition_without_ends(make_cluster):
    c = make_cluster(nodes=1)
    reconfigure(c, c.conf, "MaxTime=INFINITE", "MaxTime=INFINITE DefaultTime=INFINITE OverTimeLimit=UNLIMITED")
    shown = c.run("scontrol", "-o", "show", "partition", "main").out
    assert " DefaultTime=UNLIMITED " in shown and " OverTimeLimit=UNLIMITED " in shown
    assert c.run("sinfo", "-h", "-o", "%L").out == "infinite\n"
    assert c.job(c.sbatch("-H", wrap="true"))["TimeLimit"] == "UNLIMITED"


def test_other_log_files(make_cluster):
    c = make_cluster(nodes=1)
    log = c.dir / "log"
    text = c.conf.read_text()
    c.conf.write_text(text.replace("log/slurmctld.log", "log/ctld2.log").replace("log/slurmd-%n.log", "log/d2-%n.log"))
    c.run("scontrol", "reconfigure")
    job = c.sbatch(wrap="true")
    wait_until(lambda: f"JobId={job} started" in (log / "ctld2.log").read_text(), "slurmctld writes into the new file")
    wait_until(lambda: "configuration read again" in (log / "d2-node1.log").read_text(), "slurmd writes into the new file")
    assert f"JobId={job} " not in (log / "slurmctld.log").read_text()
    c.conf.write_text(c.conf.read_text().replace("log/ctld2.log", "no/such/folder.log"))
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "folder.log cannot be opened: No such file or directory" in (log / "ctld2.log").read_text(), "the old file stays")


def told_other(c, *nodes):
    """Is slurmctld's log of these nodes, and of no others, that their slurm.conf is another?"""
    told = re.findall(r"node (\w+) runs with another slurm.conf than slurmctld", (c.dir / "log/slurmctld.log").read_text())
    return sorted(told) == sorted(nodes)


def registered(c):
    return (c.dir / "log/slurmctld.log").read_text().count("node node1: registered from")


def test_another_slurm_conf(make_cluster):
    """A node whose file says something else is told of when it registers; comments say nothing; DebugFlags=NO_CONF_HASH silences."""
    c = make_cluster(start=False, nodes=2)
    (c.dir / "more.conf").write_text("KillWait=7\n")
    text = c.conf_text().replace("KillWait=2\n", "Include ../more.conf\n")
    c.write_conf(text)
    other = c.dir / "etc/other.conf"
    other.write_text("# of this host\n" + text.replace(" MaxTime=", "   MaxTime="))
    c.start_ctld()
    c.start_slurmd("node1", "-f", str(other))
    c.start_slurmd("node2")
    c.wait_nodes()
    assert told_other(c)
    c.slurmds["node1"].stop()
    other.write_text(text.replace("../more.conf", str(c.dir / "less.conf")))
    (c.dir / "less.conf").write_text("KillWait=8\n")
    c.start_slurmd("node1", "-f", str(other))
    wait_until(lambda: told_other(c, "node1"), "it is told")
    c.slurmds["node1"].stop()
    c.run("scontrol", "setdebugflags", "+NO_CONF_HASH")
    times = registered(c)
    c.start_slurmd("node1", "-f", str(other))
    wait_until(lambda: registered(c) == times + 1, "it is there")
    assert told_other(c, "node1")
    c.slurmds["node1"].stop()
    c.run("scontrol", "setdebugflags", "-NO_CONF_HASH")
    c.start_slurmd("node1", "-f", str(other))
    wait_until(lambda: told_other(c, "node1", "node1"), "it is told again")
