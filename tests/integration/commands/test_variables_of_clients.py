"""Variables and small options of scancel, squeue, scontrol, sbcast, srun and the daemons: each changes the answer as its page says."""

import re
import subprocess

import pytest

from conftest import program, wait_until
from people import HAVE_PEOPLE, ask_as

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "AccountingStorageEnforce=associations,qos",
           "node_options": "Features=red,blue", "partition": "\nPartitionName=other Nodes=ALL\nPartitionName=unseen Nodes=ALL Hidden=YES"}


@pytest.fixture(scope="module")
def site(shared):
    for words in ("add qos low", "add account sci", "add user root account=sci wckey=w1", "modify user root set qos+=low"):
        shared.run("sacctmgr", "-i", *words.split())
    return shared


# ---- scancel -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name,value,filters", [
    ("SCANCEL_ACCOUNT", "sci", "account=sci job_name=nosuch"), ("SCANCEL_PARTITION", "other", "job_name=nosuch partition=other"),
    ("SCANCEL_QOS", "low", "job_name=nosuch qos=low"), ("SCANCEL_USER", "root", "job_name=nosuch user_name=root"),
    ("SCANCEL_WCKEY", "w1", "job_name=nosuch wckey=w1"), ("SCANCEL_STATE", "PENDING", "job_name=nosuch state=PENDING"),
])
def test_filters_of_scancel(site, name, value, filters):
    """What a filter adds to those that matched nothing (the sentence is recorded in 65)."""
    plain = "scancel: error: No active jobs match ALL job filters, including: job_name=nosuch \n"
    assert site.run("scancel", "-v", "-n", "nosuch").err == plain
    told = site.run("scancel", "-v", "-n", "nosuch", env={name: value}).err
    assert told == f"scancel: error: No active jobs match ALL job filters, including: {filters} \n"


def test_name_of_scancel(site):
    keep, gone = site.sbatch("--hold", "-J", "keep", wrap="true"), site.sbatch("--hold", "-J", "gone", wrap="true")
    site.run("scancel", "-u", "root", env={"SCANCEL_NAME": "gone"})
    assert site.state(gone) == "CANCELLED" and site.state(keep) == "PENDING"
    for name in ("SCANCEL_CTLD", "SCANCEL_HURRY", "SCANCEL_CRON"):
        job = site.sbatch("--hold", wrap="true")
        assert site.run("scancel", job, env={name: "true"}).err == "" and site.state(job) == "CANCELLED"
    site.clear()


# ---- squeue, scontrol, sdiag -------------------------------------------------------------------------

def test_variables_of_squeue(site):
    low, other = site.sbatch("--hold", "--qos=low", wrap="true"), site.sbatch("--hold", "-p", "other,main", wrap="true")
    unseen = site.sbatch("--hold", "-p", "unseen", wrap="true")

    def listed(*words, env=None):
        return sorted(site.run("squeue", "-h", "-o", "%i %P", *words, env=env).out.splitlines())
    assert listed(env={"SQUEUE_QOS": "low"}) == [f"{low} main"]
    assert len(listed("-P")) == len(listed(env={"SQUEUE_PRIORITY": "1"})) == len(listed()) + 1
    assert {f"{other} other", f"{other} main"} <= set(listed("--priority"))
    assert f"{unseen} unseen" in listed(env={"SQUEUE_ALL": "1"})
    assert site.run("squeue", "-h", "-v", "-o", "%i").out == site.run("squeue", "-h", "-o", "%i").out
    site.run("scancel", low, other, unseen)


@pytest.mark.skipif(not HAVE_PEOPLE, reason="root alone has users of its own")
def test_hidden_partitions(site):
    def names(*words, env=None):
        return re.findall(r"PartitionName=(\w+)", ask_as("alice", site, "scontrol", *words, "show", "partition", env=env))
    assert "unseen" in names("-a") and "unseen" in names(env={"SCONTROL_ALL": "1"})
    assert "unseen" not in names("--hide")


def test_sdiag_by_id(site):
    site.run("squeue")
    part = site.run("sdiag", "-i").out.split("by message type")[1].split("Remote Procedure")[0]
    ids = [int(n) for n in re.findall(r"\( *(\d+)\) count", part)]
    assert len(ids) > 3 and ids == sorted(ids)


@pytest.mark.skipif(not HAVE_PEOPLE, reason="root alone has users of its own")
def test_hidden_partitions_of_squeue(site):
    job = site.sbatch("--hold", "-p", "unseen", wrap="true")
    assert ask_as("alice", site, "squeue", "-h", "-a", "-j", job, "-o", "%P") == "unseen\n"
    assert ask_as("alice", site, "squeue", "-h", "-a", "--hide", "-o", "%P") == ""
    site.run("scancel", job)


def test_future_nodes(make_cluster):
    """Nodes of State=FUTURE are not listed but with SCONTROL_FUTURE."""
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text().replace("PartitionName=main", "NodeName=later State=FUTURE\nPartitionName=main"))
    c.start()
    c.wait_nodes()
    for command in (["sinfo", "-h", "-N", "-o", "%N"], ["scontrol", "-o", "show", "nodes"]):
        assert "later" not in c.run(*command).out and "later" in c.run(*command, env={"SCONTROL_FUTURE": "1"}).out, command


def test_sacct(site):
    job = site.sbatch("-C", "red", "-o", "out-%j", wrap="true")
    site.wait_sacct(job, "COMPLETED")
    def listed(*words):
        return site.run("sacct", "-n", "-X", "-P", *words).out.split()
    assert listed("-C", "red", "-o", "jobid,constraints") == [f"{job}|red"] and listed("--constraints=blue", "-o", "jobid") == []
    assert listed("-j", job, "-o", "stdout") == ["out-%j"]
    assert listed("-j", job, "--expand-patterns", "-o", "stdout") == [str(site.work / f"out-{job}")]


def test_words_of_strigger(site):
    assert site.run("strigger", "-v", "--set", "--down", "-p", "/bin/true").err == "strigger: trigger 1 set\n"
    assert site.run("strigger", "-Q", "--set", "--up", "-p", "/bin/true").err == ""
    site.run("strigger", "--clear", "--user=root")


def test_words_of_sattach(site):
    for word, said in (("-v", "attached"), ("-Q", "")):
        mark = site.work / f"on{word}"
        job = site.sbatch(wrap=f"srun sh -c 'touch {mark}; sleep 2'")
        wait_until(mark.exists, "the task runs")  # a step is listed before the node has it
        got = site.run("sattach", word, f"{job}.0").err
        assert said in got and (said or not got)
        site.wait_end(job)


# ---- sbcast ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("name,value,line", [
    ("SBCAST_COMPRESS", "lz4", "compress   = 1"), ("SBCAST_EXCLUDE", "/x", "exclude    = /x"), ("SBCAST_FORCE", "1", "force      = true"),
    ("SBCAST_FANOUT", "2", "treewidth     = 2"), ("SBCAST_PRESERVE", "1", "preserve   = true"), ("SBCAST_SEND_LIBS", "yes", "send_libs  = true"),
    ("SBCAST_SIZE", "1k", "block_size = 1024"), ("SBCAST_TIMEOUT", "9", "timeout    = 9"),
])
def test_variables_of_sbcast(site, name, value, line):
    """As -v says them; the same file arrives."""
    source, to = site.work / "source", site.work / name
    source.write_text("some text\n")
    command = ["salloc", "-Q", "-N1", program("sbcast"), "-v", str(source), str(to)]
    done = site.run(*command, env={name: value})
    assert f"sbcast: {line}\n" in done.err and to.read_text() == "some text\n"
    to.unlink()
    assert f"sbcast: {line}\n" not in site.run(*command).err
    site.clear()


# ---- srun, sbatch, salloc ----------------------------------------------------------------------------

def srun(c, *words, env=None):
    return c.run("srun", *words, env=env, check=False)


def test_labels_and_exits(site):
    assert srun(site, "-n2", "true", env={"SLURM_LABELIO": "1"}).out == ""
    assert sorted(srun(site, "-n2", "echo", "x", env={"SLURM_LABELIO": "1"}).out.splitlines()) == ["0: x", "1: x"]
    done = srun(site, "-n2", "sh", "-c", "test $SLURM_PROCID = 1 && exit 3; sleep 100", env={"SLURM_KILL_BAD_EXIT": "1"})
    assert done.rc in (3, 137, 143)
    site.clear()


def test_environment_of_tasks(site):
    say = ["sh", "-c", "echo ${MINE:-none}"]
    path = {"PATH": "/usr/bin:/bin", "MINE": "here"}
    assert srun(site, *say, env=path).out == "here\n"
    assert srun(site, "/bin/sh", *say[1:], env={**path, "SLURM_EXPORT_ENV": "NONE"}).out == "none\n"
    assert srun(site, *say, env={**path, "SLURM_EXPORT_ENV": "ALL,MINE=set"}).out == "set\n"
    both = {**path, "SLURM_EXPORT_ENV": "NONE", "SRUN_EXPORT_ENV": "ALL"}
    assert srun(site, *say, env=both).out == "here\n"


def test_output_of_srun(site):
    out = site.work / "appended"
    for text in ("one", "two"):
        srun(site, "-o", out, "echo", text, env={"SLURM_OPEN_MODE": "append"})
    assert out.read_text() == "one\ntwo\n"
    srun(site, "-o", out, "echo", "three", env={"SLURM_OPEN_MODE": "truncate"})
    assert out.read_text() == "three\n"


def test_programs_of_srun(site):
    ended = site.work / "ended"
    epilog = site.script(f"echo epilog >{ended}", "epilog.sh")
    epilog.chmod(0o755)
    srun(site, "true", env={"SLURM_EPILOG": str(epilog)})
    assert ended.read_text() == "epilog\n"
    copy = site.work / "copied"
    assert srun(site, "/bin/echo", "copy", env={"SLURM_BCAST": str(copy)}).out == "copy\n"
    assert "--bcast" not in srun(site, "true").err


def test_begin_and_nodefile(site):
    assert srun(site, "--begin=now", "echo", "x").out == "x\n"
    assert site.run("salloc", "-Q", "--begin=now", "echo", "y").out == "y\n"
    file = site.work / "hosts"
    file.write_text("node2\n")
    assert srun(site, "-F", file, "sh", "-c", "echo $SLURMD_NODENAME").out == "node2\n"


def test_wait_of_sbatch(site):
    assert site.run("sbatch", "--wrap", "exit 3", env={"SBATCH_WAIT": "1"}, check=False).rc == 3


@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_group_of_the_job(site, command):
    """root may name another group; the others may not (recorded in 40)."""
    words = ["--hold", "--wrap=true"] if command == "sbatch" else ["true"]
    site.run(command, "--gid=2", "-J", f"of-{command}", *words)
    job = site.run("squeue", "-h", "-t", "all", "-n", f"of-{command}", "-o", "%i").out.strip()
    assert re.search(r"GroupId=\w+\(2\)", site.run("scontrol", "show", "job", job).out)
    site.clear()


# ---- daemons -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd"])
def test_words_of_daemons(daemon):
    def run(*words):
        return subprocess.run([program(daemon), *words], capture_output=True, text=True)
    assert run("-V").stdout == "slurm 26.05.3\n"
    assert (run("-h").stdout + run("-h").stderr).startswith(f"Usage: {daemon} ")


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd"])
def test_log_and_level_of_daemons(make_cluster, daemon):
    """-L FILE is the log; -v says more; --systemd stays in the foreground."""
    c = make_cluster(start=False, nodes=1, conf="SlurmctldDebug=error\nSlurmdDebug=error")
    log = c.dir / "log" / "mine"
    words = ("--systemd", "-vvv", "-L", str(log))
    c.start_ctld(*(words if daemon == "slurmctld" else ()))
    c.start_slurmd("node1", *(words if daemon == "slurmd" else ()))
    c.wait_nodes()
    wait_until(lambda: log.exists() and "node1" in log.read_text(), "the daemon speaks of its start")
