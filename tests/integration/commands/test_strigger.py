"""strigger: listing, events of nodes, jobs and the controller, once and PERM, restarts, rights, mistakes."""

import getpass
import os
import sqlite3

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import wait_until
from test_auth import as_user, both  # noqa: F401: a fixture

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")

CLUSTER = {"nodes": 2, "cpus": 4}
HEAD = "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n"


def program(c, name="told"):
    """A program that writes its argument down; gives (path, function that reads what it wrote)."""
    path, log = c.work / f"{name}.sh", c.work / name
    path.write_text(f'#!/bin/sh\nwhile [ "$2" ]; do args="$args$1,"; shift; done; echo "$args$#:$1" >> {log}\n')
    path.chmod(0o755)
    return path, lambda: log.read_text().split() if log.exists() else []


def ids(c):
    return [line.split()[0] for line in c.run("strigger", "--get", "-N").out.splitlines()]


def test_listing(cluster):
    c, user = cluster, getpass.getuser()
    assert c.run("strigger", "--get").out == ""
    c.run("strigger", "--set", "--node=node1", "--down", "--program=/bin/true")
    c.run("strigger", "--set", "--node", "--idle", "--offset=60", "--program=/bin/true")
    second = f"      2 node            * idle                                    60 {user:<8}       /bin/true\n"
    assert c.run("strigger", "--get").out == (
        HEAD + f"      1 node        node1 down                                     0 {user:<8}       /bin/true\n" + second)
    c.restart_ctld()
    c.run("strigger", "--clear", "--id=1")
    assert c.refused("strigger", "--clear", "--id=99") == "slurm_clear_trigger: No such process\n"
    assert c.run("strigger", "--get", "-N").out == second
    c.run("strigger", "--clear", f"--user={user}")
    assert c.run("strigger", "--get").out == ""


@pytest.mark.parametrize(("letter", "event"), [
    ("a", "primary_slurmctld_failure"), ("A", "primary_slurmctld_resumed_operation"),
    ("b", "primary_slurmctld_resumed_control"), ("B", "backup_slurmctld_failure"),
    ("c", "backup_slurmctld_resumed_operation"), ("C", "backup_slurmctld_assumed_control"),
    ("e", "primary_slurmctld_acct_buffer_full"), ("g", "primary_slurmdbd_failure"),
    ("G", "primary_slurmdbd_resumed_operation"), ("h", "primary_database_failure"),
    ("H", "primary_database_resumed_operation")])
def test_letters_of_daemons(c, letter, event):
    c.run("strigger", "--set", f"-{letter}", "--flags=PERM", "--program=/bin/true")
    assert [line.split()[3] for line in c.run("strigger", "--get", "-N").out.splitlines()] == [event]
    c.run("strigger", "--clear", f"--id={ids(c)[0]}")


def test_a_permanent_trigger_goes_with_its_job(c):
    """A job ends once, and its program is not started each second from then on."""
    path, told = program(c)
    job = c.sbatch("-H", wrap="true")
    c.run("strigger", "--set", f"--jobid={job}", "--fini", "--flags=PERM", "-p", path)
    c.run("strigger", "--set", f"--jobid={job}", "--fini", "--offset=1", "--flags=PERM", "-p", path)
    c.run("scontrol", "release", job)
    wait_until(lambda: told() == [f"1:{job}"] * 2 and ids(c) == [], "both have fired, and are gone")


def test_node_events(c):
    path, told = program(c)
    perm, told_perm = program(c, "perm")
    c.run("strigger", "--set", "--node=node2", "--down", "-p", path)
    c.run("strigger", "--set", "--node", "--up", "--flags=PERM", "-p", perm)
    c.run("strigger", "--set", "--node", "--drained", "-p", path)
    c.run("strigger", "--set", "--node", "--resume", "-p", path)
    for times in (1, 2):
        c.run("scontrol", "update", "nodename=node2", "state=down", "reason=x")
        wait_until(lambda: told() == ["1:node2"], "down fired, once")
        c.run("scontrol", "update", "nodename=node2", "state=resume")
        wait_until(lambda: told_perm() == ["1:node2"] * times, "up fires every time")
    assert [x.split()[6] for x in c.run("strigger", "--get", "-N").out.splitlines()] == ["PERM", str(path), str(path)]
    c.run("scontrol", "update", "nodename=node1", "state=drain", "reason=x")
    wait_until(lambda: told() == ["1:node2", "1:node1"], "drained fired")
    c.run("scontrol", "update", "nodename=node1", "state=resume")
    wait_until(lambda: told() == ["1:node2", "1:node1", "1:node1"], "resume fired")
    assert len(ids(c)) == 1
    c.run("strigger", "--clear", f"--id={ids(c)[0]}")


def test_nodes_that_change_together_are_told_together(c):
    path, told = program(c)
    c.run("strigger", "--set", "--node", "--down", "-p", path)
    c.run("scontrol", "update", "nodename=node[1-2]", "state=down", "reason=x")
    wait_until(lambda: told() == ["1:node[1-2]"], "both at once")
    c.run("scontrol", "update", "nodename=node[1-2]", "state=resume")


def test_draining_fail_and_jobs(c):
    path, told = program(c)
    job = c.sbatch("-n1", "-w", "node1", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    c.run("strigger", "--set", "--node=node1", "--draining", "-p", path)
    c.run("scontrol", "update", "nodename=node1", "state=drain", "reason=x")
    wait_until(lambda: told() == ["1:node1"], "draining fired")
    c.run("strigger", "--set", "--node=node1", "--drained", "-p", path)
    c.run("scancel", job)
    wait_until(lambda: told() == ["1:node1"] * 2, "drained fired when the job was gone")
    c.run("strigger", "--set", "--node", "--fail", "-p", path)
    c.run("scontrol", "update", "nodename=node2", "state=fail", "reason=x")
    wait_until(lambda: told()[2:] == ["1:node2"], "fail fired")
    c.run("scontrol", "update", "nodename=node[1-2]", "state=resume")
    assert ids(c) == []


def test_offset_outlives_the_controller(cluster):
    """What happened is in the journal: a controller killed in the meantime starts the program all the same, once."""
    path, told = program(cluster)
    cluster.run("strigger", "--set", "--node=node1", "--down", "--offset=3", "-p", path)
    cluster.run("scontrol", "update", "nodename=node1", "state=down", "reason=x")
    wait_until(lambda: '"due_arg"' in cluster.run("penstock", "journal", "dump", cluster.dir / "state").out,
               "it is noted")
    assert told() == []
    cluster.kill_ctld()
    cluster.start_ctld()
    wait_until(lambda: told() == ["1:node1"], "the program ran after the delay")
    cluster.restart_ctld()
    assert told() == ["1:node1"] and ids(cluster) == []


def test_idle_and_reconfig(c):
    path, told = program(c)
    c.run("strigger", "--set", "--node=node1", "--idle", "-p", path)
    wait_until(lambda: told() == ["1:node1"], "idle fired")
    c.run("strigger", "--set", "--reconfig", "-p", f"{path} -a  word")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: told() == ["1:node1", "-a,word,1:reconfig"], "reconfig fired, behind the program's own arguments")
    assert ids(c) == []


def test_job_events(c):
    path, told = program(c)
    job = c.sbatch("-n1", "-t1", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    c.run("strigger", "--set", f"--jobid={job}", "--time", "--offset=-58", "-p", path)
    wait_until(lambda: told() == [f"1:{job}"], "time fired")
    c.run("strigger", "--set", f"--jobid={job}", "--fini", "-p", path)
    c.run("strigger", "--set", f"--jobid={job}", "--time", "-p", path)
    c.run("scancel", job)
    wait_until(lambda: told() == [f"1:{job}"] * 2, "fini fired")
    wait_until(lambda: ids(c) == [], "the other left with the job")


def test_survives_restart(cluster):
    path, told = program(cluster)
    cluster.run("strigger", "--set", "-A", "-p", path)
    job = cluster.sbatch("-n1", wrap="sleep 60")
    cluster.run("strigger", "--set", f"--jobid={job}", "--fini", "-p", path)
    cluster.kill_ctld()
    cluster.start_ctld()
    wait_until(lambda: told() == ["1:primary_slurmctld_resumed_operation"], "the start was told")
    cluster.run("scancel", str(job))
    wait_until(lambda: told()[1:] == [f"1:{job}"], "the end was told")


def test_refusals(c):
    assert c.refused("strigger") == (
        "strigger: error: You must use exactly one of the following options: --set, --get or --clear\n")
    assert c.refused("strigger", "--set", "--jobid=99999", "--fini", "--program=/bin/true") == (
        "slurm_set_trigger: Invalid job id specified\n")
    assert "--program" in c.refused("strigger", "--set", "--down")
    for path, word in (("true", 'must start with "/"'), ("/nosuch", "file not found"), ("/etc", "not regular file"),
                       ("/etc/passwd", "file not executable")):
        assert word in c.refused("strigger", "--set", "--down", "-p", path)
    assert "an event" in c.refused("strigger", "--set", "-p", "/bin/true")
    assert "needs --jobid" in c.refused("strigger", "--set", "--fini", "-p", "/bin/true")
    assert "Invalid node name" in c.refused("strigger", "--set", "--down", "--node=nosuch", "-p", "/bin/true")
    for offset, words in (("32001", "must be between +/-32000"), ("5x", "Invalid offset: 5x")):
        assert words in c.refused("strigger", "--set", "--down", "-o", offset, "-p", "/bin/true")
    assert ids(c) == []


def test_one_that_does_the_same_is_refused(c):
    """As by Slurm: the same event of the same nodes or job, program, offset and flags."""
    one = ("strigger", "--set", "--node=node[1-2]", "--down", "-p", "/bin/true")
    c.run(*one)
    for more in ((), ("--node=node2,node1",)):
        assert c.refused(*one, *more) == "slurm_set_trigger: Duplicate event trigger\n"
    for more in (("--up",), ("--node=node1",), ("--offset=1",), ("--flags=PERM",), ("-p", "/bin/true x")):
        c.run(*one, *more)
    assert len(ids(c)) == 6
    assert "Read 6 trigger records" in c.run("strigger", "--get", "-v").err
    c.run("strigger", "--clear", "--user", getpass.getuser())


@pytest.mark.parametrize("event,res,name", [
    ("-a", "slurmctld", "primary_slurmctld_failure"), ("-A", "slurmctld", "primary_slurmctld_resumed_operation"),
    ("-b", "slurmctld", "primary_slurmctld_resumed_control"), ("-B", "slurmctld", "backup_slurmctld_failure"),
    ("-c", "slurmctld", "backup_slurmctld_resumed_operation"),
    ("-C", "slurmctld", "backup_slurmctld_assumed_control"), ("-e", "slurmctld", "primary_slurmctld_acct_buffer_full"),
    ("-g", "slurmdbd", "primary_slurmdbd_failure"), ("-G", "slurmdbd", "primary_slurmdbd_resumed_operation"),
    ("-h", "database", "primary_database_failure"), ("-H", "database", "primary_database_resumed_operation"),
    ("--burst_buffer", "other", "burst_buffer"),
])
def test_events_of_daemons(c, event, res, name):
    c.run("strigger", "--set", event, "-p", "/bin/true")
    try:
        (line,) = c.run("strigger", "--get", "-N").out.splitlines()
        assert line.split()[1:4] == [res, "*", name]
    finally:
        c.run("strigger", "--clear", "--user", getpass.getuser())


def test_slurmdbd_goes_and_comes(folder, make_cluster):
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key")
    c = make_cluster(start=False, conf=conf_of(dbd))
    dbd.start()  # first: a controller that came before it would tell of its coming, perhaps when the triggers are set already
    c.start()
    try:
        c.wait_sacct(c.sbatch(wrap="true"), "COMPLETED")
        failed, told_failed = program(c, "failed")
        back, told_back = program(c, "back")
        c.run("strigger", "--set", "--primary_slurmdbd_failure", "-p", failed)
        c.run("strigger", "--set", "--primary_slurmdbd_resumed_operation", "--flags=PERM", "-p", back)
        c.run("strigger", "--set", "--primary_database_failure", "-p", failed)
        dbd.stop()
        c.sbatch(wrap="true")
        wait_until(lambda: told_failed() == ["1:primary_slurmdbd_failure"], "the failure is told", 30)
        assert told_back() == []
        dbd.start()
        wait_until(lambda: told_back() == ["1:primary_slurmdbd_resumed_operation"], "the end of it is told", 30)
        assert len(told_failed()) == 1 and ids(c) == ["2", "3"]
    finally:
        dbd.stop()


def test_database_of_the_controller(cluster):
    """Another program holds it locked."""
    c = cluster
    path, told = program(c)
    c.wait_sacct(c.sbatch(wrap="true"), "COMPLETED")
    for event in ("-h", "-H"):
        c.run("strigger", "--set", event, "-p", path)
    (file,) = [p for p in (c.dir / "state").rglob("*") if p.is_file() and p.read_bytes()[:15] == b"SQLite format 3"]
    holder = sqlite3.connect(file)
    try:
        holder.execute("BEGIN IMMEDIATE")
        c.sbatch(wrap="true")
        wait_until(lambda: told() == ["1:primary_database_failure"], "the failure is told", 60)
        holder.rollback()
        wait_until(lambda: told()[1:] == ["1:primary_database_resumed_operation"], "the end of it is told", 60)
    finally:
        holder.close()


@needs_root
def test_users(both):  # noqa: F811
    """Only administrators, unless the site says otherwise; the program then runs as its owner."""
    c, who = both, both.work / "who"
    path = c.work / "id.sh"
    path.write_text(f'#!/bin/sh\necho "$(id -un) $HOME $1" >{who}\n')
    path.chmod(0o755)
    ask = ("strigger", "--set", "--node=node1", "--down", "-p", path)
    refusal = as_user(c, *ask, check=False)
    assert (refusal.returncode, refusal.stderr) == (1, "slurm_set_trigger: Access/permission denied\n")
    text = c.conf.read_text()
    c.conf.write_text(text + "SlurmctldParameters=allow_user_triggers\n")
    c.run("scontrol", "reconfigure")
    as_user(c, *ask)
    c.run("strigger", "--set", "--reconfig", "-p", "/bin/true")
    theirs, ours = c.run("strigger", "--get", "-N").out.splitlines()
    refusal = as_user(c, "strigger", "--clear", f"--id={ours.split()[0]}", check=False)
    assert (refusal.returncode, refusal.stderr) == (1, "slurm_clear_trigger: Access/permission denied\n")
    c.run("scontrol", "update", "nodename=node1", "state=down", "reason=x")
    wait_until(lambda: who.exists() and who.read_text(), "the program ran")
    assert who.read_text().split()[0] == "nobody" and who.read_text().split()[2] == "node1"
    c.run("scontrol", "update", "nodename=node1", "state=resume")
    c.run("strigger", "--clear", "--user=root")
    c.conf.write_text(text)
    c.run("scontrol", "reconfigure")
