"""What slurmd is started with, and what its NodeName line says, of one node alone."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from conftest import program, wait_until

# The energy of a package stands in a file, which the node's own devices_root leads to.
CONF = "AcctGatherEnergyType=acct_gather_energy/rapl\nAcctGatherNodeFreq=1\nSlurmdParameters=devices_root=/nosuch"


def node(c):
    return json.loads(c.run("scontrol", "show", "node", "node1", "--json").out)["nodes"][0]


def package(folder):
    counter = folder / "sys/class/powercap/intel-rapl:0"
    counter.mkdir(parents=True)
    for name, text in (("name", "package-0"), ("energy_uj", "1000000"), ("max_energy_range_uj", "262143328850")):
        (counter / name).write_text(f"{text}\n")


@pytest.mark.parametrize("where", ["option", "line", "neither"])
def test_parameters_of_one_node(make_cluster, where):
    c = make_cluster(start=False, nodes=1, conf=CONF)
    package(c.dir / "machine")
    root = f"devices_root={c.dir}/machine"
    if where == "line":
        c.write_conf(c.conf_text().replace("NodeName=node1 ", f"NodeName=node1 Parameters={root} "))
    c.start_ctld()
    c.start_slurmd("node1", *(["--parameters", root] if where == "option" else []))
    c.wait_nodes()
    if where == "neither":
        before = node(c)["last_busy"]
        wait_until(lambda: "registered" in (c.dir / "log" / "slurmd-node1.log").read_text(), "the node is there")
        assert before and not node(c)["energy"]["last_collected"]
    else:
        wait_until(lambda: node(c)["energy"]["last_collected"], "the energy is read")


def test_what_the_controller_is_told(make_cluster):
    c = make_cluster(start=False, nodes=1)
    c.start_ctld()
    c.start_slurmd("node1", "--extra", "rack=7", "--instance-id=i-1", "--instance-type=t3")
    c.wait_nodes()
    assert (node(c)["extra"], node(c)["instance_id"], node(c)["instance_type"]) == ("rack=7", "i-1", "t3")
    c.run("scontrol", "update", "nodename=node1", "extra=mine")
    log = c.dir / "log/slurmd-node1.log"
    wait_until(lambda: "registered with the controller as node1" in log.read_text(), "the node knows that it is registered")
    c.slurmds["node1"].stop()
    c.start_slurmd("node1")
    wait_until(lambda: log.read_text().count("registered with the controller as node1") == 2, "the node registers again")
    wait_until(lambda: node(c)["extra"] == "mine" and "idle" in c.run("sinfo", "-h", "-o", "%T").out, "the node is back")
    assert node(c)["instance_id"] == "i-1"


@pytest.mark.parametrize("option", ["--extra", "--instance-id", "--instance-type"])
def test_control_characters(make_cluster, option):
    c = make_cluster(start=False, nodes=1)
    done = c.run("slurmd", "-D", "-N", "node1", "-f", c.conf, option, "a\x1b[31m", check=False)
    assert done.rc == 1 and done.err == f"slurmd: error: {option} must not have control characters\n"


def test_a_step_daemon_of_ones_own(make_cluster):
    """slurmd -d: the program that is started for each step."""
    c = make_cluster(start=False, nodes=1)
    real = Path(program("slurmd")).parent.parent / "stepd/slurmstepd"
    own, noted = c.dir / "stepd", c.dir / "noted"
    own.write_text(f"#!/bin/bash\necho started >> {noted}\nexec {real} \"$@\"\n")
    own.chmod(0o755)
    c.start_ctld()
    c.start_slurmd("node1", "-d", str(own))
    c.wait_nodes()
    assert c.run("srun", "echo", "ran").out == "ran\n" and noted.read_text() == "started\n"


@pytest.mark.parametrize("path, why", [("/nonexistent/stepd", "No such file or directory"), ("/etc/passwd", "Permission denied")])
def test_a_step_daemon_that_cannot_be(make_cluster, path, why):
    c = make_cluster(start=False, nodes=1)
    done = subprocess.run([program("slurmd"), "-N", "node1", "-D", "-f", c.conf, "-d", path], env=c.env, capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 1 and f"-d: {path}: {why}" in done.stderr


def test_a_boot_that_is_only_said(make_cluster):
    """slurmd -b: the node's boot is the start of slurmd."""
    c = make_cluster(start=False, nodes=1)
    c.start_ctld()
    c.start_slurmd("node1")
    c.wait_nodes()
    before = node(c)["boot_time"]["number"]
    c.slurmds["node1"].stop()
    began = int(time.time())
    c.start_slurmd("node1", "-b")
    wait_until(lambda: node(c)["boot_time"]["number"] >= began - 1, "the boot is that of slurmd")
    assert before < began - 1  # that of the machine
