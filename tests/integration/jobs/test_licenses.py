"""Licences: counted, shown, released, changed; the reason of jobs that wait for them."""

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 3, "conf": "KillWait=1\nLicenses=matlab:10,ansys:4\nSchedulerParameters=bf_interval=1"}
SHOWN = ("LicenseName=ansys\n    Total=4 Used={} Free={} Reserved=0 Remote=no\n"
         "LicenseName=matlab\n    Total=10 Used={} Free={} Reserved=0 Remote=no\n")


def show(c):
    return c.run("scontrol", "show", "licenses").out


def reason(c, job, wanted):
    wait_until(lambda: c.run("squeue", "-h", "-j", job, "-o", "%r").out.strip() == wanted, f"{job} waits for {wanted}")


def test_counted_and_shown(c):
    assert show(c) == SHOWN.format(0, 4, 0, 10)
    a = c.sbatch("-n1", "-L", "matlab:3,ansys", wrap="sleep 1000")
    b = c.sbatch("-n1", "-L", "matlab:4", wrap="sleep 1000")
    c.wait_state(a, "RUNNING")
    c.wait_state(b, "RUNNING")
    assert show(c) == SHOWN.format(1, 3, 7, 3)
    assert c.run("scontrol", "show", "lic", "ansys").out == SHOWN.format(1, 3, 7, 3).split("LicenseName=matlab")[0]
    assert c.refused("scontrol", "show", "lic", "nosuch") == (
        'scontrol: error: query "nosuch" matched zero licenses.\n')
    job = c.job(a)
    assert (job["Licenses"], job["LicensesAlloc"]) == ("matlab:3,ansys", "matlab:3;ansys:1")
    assert c.run("squeue", "-h", "-j", a, "-o", "%W").out == "matlab:3,ansys\n"
    assert c.run("squeue", "-h", "-j", a, "-O", "LicensesAlloc:.20").out.strip() == "matlab:3;ansys:1"
    c.run("scancel", a, b)
    wait_until(lambda: show(c) == SHOWN.format(0, 4, 0, 10), "all are free again")


def test_waiting_holds_nobody_up(c):
    first = c.sbatch("-n1", "-L", "matlab:8", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    second = c.sbatch("-n1", "-L", "matlab:3", wrap="true")
    reason(c, second, "Licenses")
    assert c.wait_end(c.sbatch("-n1", wrap="true"))["JobState"] == "COMPLETED"
    assert c.wait_end(c.sbatch("-n1", "-L", "matlab:2", wrap="true"))["JobState"] == "COMPLETED"
    c.run("scontrol", "update", f"jobid={second}", "licenses=matlab:2")
    assert c.wait_end(second)["JobState"] == "COMPLETED"
    assert c.refused("scontrol", "update", f"jobid={c.sbatch('-H', wrap='true')}", "licenses=matlab:11") == (
        "Invalid license specification for job "
        f"{c.run('squeue', '-h', '-o', '%i', '-t', 'PD').out.strip()}\n")


def test_any_of(c):
    first = c.sbatch("-n1", "-L", "ansys:3", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    second = c.sbatch("-n1", "-L", "ansys:2|matlab:5", wrap="sleep 1000")
    c.wait_state(second, "RUNNING")
    assert c.job(second)["LicensesAlloc"] == "matlab:5"


@pytest.mark.parametrize("spec", ["nosuch", "matlab:11", "matlab:1,ansys|x", "matlab:x", "a|matlab"])
def test_refused(c, spec):
    assert c.refused("sbatch", "-L", spec, "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Invalid license specification\n")


def test_none_of_a_licence(c):
    job = c.sbatch("-n1", "-L", "matlab:0", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.job(job)["Licenses"] == "matlab:0"
    assert "Used=0 " in c.run("scontrol", "show", "lic", "matlab").out


def test_restart_and_reconfigure(make_cluster):
    c = make_cluster(nodes=2, conf="Licenses=m:2\nSchedulerParameters=bf_interval=1")
    first = c.sbatch("-n1", "-L", "m:2", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    c.ctld.kill()
    c.start_ctld()
    second = c.sbatch("-n1", "-L", "m", wrap="true")
    reason(c, second, "Licenses")
    c.extra_conf = c.extra_conf.replace("m:2", "m:3")
    c.write_conf()
    c.run("scontrol", "reconfigure")
    assert c.wait_end(second)["JobState"] == "COMPLETED"
    c.run("scancel", first)


def test_requeue_releases(c):
    job = c.sbatch("-n1", "--requeue", "-L", "ansys:4", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "requeuehold", job)
    wait_until(lambda: show(c) == SHOWN.format(0, 4, 0, 10), "released")
    wait_until(lambda: c.job(job)["LicensesAlloc"] == "(null)", "the requeued job holds none")


def test_remote_without_its_server(make_cluster):
    """LicenseParameters=RemoteFuzzyMatch: a name that one server alone has needs no @server; our own licence comes first."""
    c = make_cluster(nodes=1, conf="Licenses=matlab:2\nLicenseParameters=RemoteFuzzyMatch")
    for name, server in (("fluent", "lic1"), ("ansys", "lic1"), ("ansys", "lic2"), ("matlab", "lic1")):
        c.run("sacctmgr", "-i", "add", "resource", name, f"server={server}", "count=10", "cluster=test", "allowed=100")
    wait_until(lambda: show(c).count("Remote=yes") == 4, "they are known")
    job = c.sbatch("-n1", "-L", "matlab,fluent:3", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.job(job)["Licenses"] == "matlab,fluent@lic1:3"
    assert c.job(job)["LicensesAlloc"] == "matlab:1;fluent@lic1:3"
    assert "LicenseName=matlab\n    Total=2 Used=1 " in show(c)
    assert "Invalid license" in c.refused("sbatch", "-L", "ansys", "--wrap", "true")
    assert "Invalid license" in c.refused("sbatch", "-L", "fluen", "--wrap", "true")
    assert "Invalid license" in c.refused("sbatch", "-L", "fluent:11", "--wrap", "true")
    either = c.sbatch("-H", "-n1", "-L", "fluent:9|ansys@lic2:2", wrap="true")
    assert c.job(either)["Licenses"] == "fluent@lic1:9|ansys@lic2:2"
    c.run("scontrol", "update", f"JobId={either}", "Licenses=fluent=2;matlab")
    assert c.job(either)["Licenses"] == "fluent@lic1=2;matlab"


def test_remote(make_cluster):
    """What another server has and this cluster may use a part of; sacctmgr changes it while jobs wait."""
    c = make_cluster(nodes=1, conf="Licenses=matlab:2\nSchedulerParameters=bf_interval=1")
    assert "Invalid license" in c.refused("sbatch", "-L", "fluent@lic1", "--wrap", "true")
    c.run("sacctmgr", "-i", "add", "resource", "fluent", "server=lic1", "count=10", "cluster=test", "allowed=40")
    c.run("sacctmgr", "-i", "add", "resource", "other", "server=lic1", "count=9", "cluster=elsewhere", "allowed=40",
          check=False)
    lines = show(c).splitlines()
    assert lines[:3] == ["LicenseName=fluent@lic1", "    Total=4 Used=0 Free=4 Reserved=0 Remote=yes", lines[2]]
    assert lines[2].startswith("    LastConsumed=0 LastDeficit=0 LastUpdate=2")
    assert lines[3:] == ["LicenseName=matlab", "    Total=2 Used=0 Free=2 Reserved=0 Remote=no"]
    assert "Invalid license" in c.refused("sbatch", "-L", "fluent@lic1:5", "--wrap", "true")
    first = c.sbatch("-n1", "-L", "fluent@lic1:3,matlab", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    assert "Total=4 Used=3 Free=1 Reserved=0 Remote=yes" in show(c)
    second = c.sbatch("-n1", "-L", "fluent@lic1:2", wrap="sleep 1000")
    reason(c, second, "Licenses")
    either = c.sbatch("-n1", "-L", "fluent@lic1:2|matlab:1", wrap="sleep 1000")
    c.wait_state(either, "RUNNING")
    assert c.job(either)["LicensesAlloc"] == "matlab:1"
    # Others use all that is not ours, and two of ours.
    c.run("sacctmgr", "-i", "modify", "resource", "fluent", "server=lic1", "set", "lastconsumed=11")
    assert "LastConsumed=11 LastDeficit=2 " in show(c)
    c.run("sacctmgr", "-i", "modify", "resource", "fluent", "server=lic1", "set", "lastconsumed=3", "count=20")
    c.run("sacctmgr", "-i", "modify", "resource", "fluent", "where", "server=lic1", "cluster=test", "set", "allowed=25")
    c.wait_state(second, "RUNNING")
    assert "Total=5 Used=5 Free=0 Reserved=0 Remote=yes" in show(c)
    c.kill_ctld()
    c.start_ctld()
    assert "Total=5 Used=5 Free=0 Reserved=0 Remote=yes" in show(c)
    c.run("sacctmgr", "-i", "delete", "resource", "fluent")
    assert "fluent" not in show(c)
    assert "Invalid license" in c.refused("sbatch", "-L", "fluent@lic1", "--wrap", "true")
    c.run("scancel", first, second, either)


def test_taken_away_from_who_waits(make_cluster):
    """Who waits for a licence that the file names no more is held; released, it is given when it is back."""
    c = make_cluster(nodes=1, conf="KillWait=1\nLicenses=matlab:10\nSchedulerParameters=bf_interval=1")
    first = c.sbatch("-L", "matlab:8", wrap="sleep 1000")
    c.wait_state(first, "RUNNING")
    second = c.sbatch("-L", "matlab:8", wrap="sleep 1000")
    reason(c, second, "Licenses")
    text = c.conf.read_text()
    c.conf.write_text(text.replace("Licenses=matlab:10", "Licenses=ansys:1"))
    c.run("scontrol", "reconfigure")
    c.run("scancel", first)
    c.wait_end(c.sbatch(wrap="true"))
    reason(c, second, "License request 'matlab:8' is no longer valid, holding job")
    c.conf.write_text(text)
    c.run("scontrol", "reconfigure")
    c.run("scontrol", "release", second)
    c.wait_state(second, "RUNNING")


def test_fewer_than_a_job_holds(make_cluster):
    """A running job keeps what it holds: the program still uses it, and nobody else may have it."""
    c = make_cluster(nodes=1, conf="Licenses=pool:5")
    text = c.conf.read_text()
    job = c.sbatch("-L", "pool:4", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    for total, free in ((2, 0), (5, 1)):
        c.write_conf(text.replace("pool:5", f"pool:{total}"))
        c.run("scontrol", "reconfigure")
        assert c.run("scontrol", "-o", "show", "licenses").out.startswith(f"LicenseName=pool Total={total} Used=4 Free={free} ")
        assert c.job(job)["Licenses"] == "pool:4"
    waits = c.sbatch("-L", "pool:2", wrap="true")
    wait_until(lambda: c.job(waits)["Reason"] == "Licenses", "two are not free")
    c.run("scancel", job)
    assert c.wait_end(waits)["JobState"] == "COMPLETED"
