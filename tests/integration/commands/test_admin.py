"""What administrators do: look, drain, reconfigure, check, shut down."""

import getpass
import json
import re
import signal
import subprocess

import pytest

from conftest import program, wait_until


# ---- queries ---------------------------------------------------------------------------------------

def test_sinfo(cluster):
    assert cluster.run("sinfo").stdout == (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
        "main*        up   infinite      3   idle node[1-3]\n")
    assert cluster.run("sinfo", "-h", "-N", "-o", "%N %c %m %t").stdout == "".join(
        f"node{i} 4 2000 idle\n" for i in (1, 2, 3))


def test_sinfo_follows_jobs(cluster):
    job = cluster.sbatch("-w", "node2", "-n1", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    full = cluster.sbatch("-w", "node3", "-n4", wrap="sleep 1000")
    cluster.wait_state(full, "RUNNING")
    assert sorted(cluster.run("sinfo", "-h", "-o", "%t %N %C").stdout.splitlines()) == [
        "alloc node3 4/0/0/4", "idle node1 0/4/0/4", "mix node2 1/3/0/4"]


def test_squeue_formats(cluster):
    job = cluster.sbatch("-H", "-J", "a name", "-n", "2", "-t", "1:30:00", wrap="true")
    done = cluster.run("squeue", "-o", "%i|%j|%t|%T|%D|%C|%l|%r|%P")
    assert done.stdout == ("JOBID|NAME|ST|STATE|NODES|CPUS|TIME_LIMIT|REASON|PARTITION\n"
                           f"{job}|a name|PD|PENDING|1|2|1:30:00|JobHeldUser|main\n")
    done = cluster.run("squeue", "-h", "-O", "JobID:8,Name:10,State:12")
    assert done.stdout.rstrip("\n").rstrip() == f"{job:<8}a name    PENDING".rstrip()
    assert cluster.run("squeue", "-h", "-t", "R").stdout == ""
    assert cluster.run("squeue", "-h", "-n", "a name", "-o", "%i").stdout == f"{job}\n"


@pytest.mark.parametrize("argv,key", [(("squeue", "--json"), "jobs"), (("sinfo", "--json"), "sinfo"),
                                      (("scontrol", "show", "nodes", "--json"), "nodes"),
                                      (("scontrol", "show", "jobs", "--json"), "jobs"),
                                      (("scontrol", "show", "partitions", "--json"), "partitions"),
                                      (("sacct", "--json"), "jobs")])
def test_json(cluster, argv, key):
    empty = json.loads(cluster.run(*argv).stdout)
    assert key in empty and "meta" in empty
    cluster.sbatch("-H", wrap="true")
    assert json.loads(cluster.run(*argv).stdout)[key] or key == "jobs"


def test_scontrol_show_job(cluster):
    job = cluster.sbatch("-H", "-J", "x", "-t", "10", wrap="true")
    text = cluster.run("scontrol", "show", "job", job).stdout
    assert text.startswith(f"JobId={job} JobName=x\n   UserId=")
    for part in ("JobState=PENDING Reason=JobHeldUser Dependency=(null)", "TimeLimit=00:10:00",
                 "Partition=main", "NumNodes=1", f"WorkDir={cluster.work}"):
        assert part in text, part
    lines = cluster.run("scontrol", "-o", "show", "jobs").stdout.splitlines()
    assert len([line for line in lines if line]) == 1


def test_scontrol_show_node_and_partition(cluster):
    text = cluster.run("scontrol", "show", "node", "node1").stdout
    assert text.startswith("NodeName=node1 Arch=")
    assert "State=IDLE" in text and "RealMemory=2000" in text
    text = cluster.run("scontrol", "show", "partition").stdout
    assert text.startswith("PartitionName=main\n")
    assert "Nodes=node[1-3]" in text and "State=UP" in text


def test_scontrol_show_config(cluster):
    text = cluster.run("scontrol", "show", "config").stdout
    rows = dict(re.findall(r"^(\S+)\s+= (.*)$", text, re.M))
    assert rows["ClusterName"] == "test"
    assert rows["SlurmctldPort"] == str(cluster.port)
    assert rows["SLURM_CONF"] == str(cluster.conf)
    assert rows["SLURM_VERSION"].count(".") == 2
    assert rows["DefMemPerCPU"] == "100"
    assert rows["KillWait"] == "2 sec"


def test_hostlists_need_no_daemon(cluster):
    assert cluster.run("scontrol", "show", "hostnames", "n[1-3],m").stdout == "n1\nn2\nn3\nm\n"
    assert cluster.run("scontrol", "show", "hostlist", "n3,n1,n2").stdout == "n[3,1-2]\n"
    assert cluster.run("scontrol", "show", "hostlistsorted", "n3,n1,n2").stdout == "n[1-3]\n"


def test_sacct_table(cluster):
    job = cluster.sbatch("-J", "acct", "-n", "2", wrap="srun true; exit 2")
    cluster.wait_end(job)
    cluster.wait_sacct(job, "FAILED")
    lines = cluster.run("sacct", "-j", job, "-o", "JobID,JobName,AllocCPUS,State,ExitCode").stdout.splitlines()
    assert lines[0].split() == ["JobID", "JobName", "AllocCPUS", "State", "ExitCode"]
    assert [line.split() for line in lines[2:]] == [
        [str(job), "acct", "2", "FAILED", "2:0"], [f"{job}.batch", "batch", "2", "FAILED", "2:0"],
        [f"{job}.0", "true", "2", "COMPLETED", "0:0"]]


def test_sdiag(cluster):
    cluster.sbatch("-H", wrap="true")
    text = cluster.run("sdiag").stdout
    assert re.search(r"Jobs submitted:\s*1\b", text)
    assert re.search(r"Jobs pending:\s*1\b", text)


@pytest.mark.parametrize("name", ["sbatch", "srun", "salloc", "squeue", "sinfo", "scancel", "scontrol",
                                  "sacct", "sdiag", "slurmctld", "slurmd"])
def test_version_everywhere(shared, name):
    for option in ("-V", "--version"):
        done = shared.run(name, option)
        assert re.fullmatch(r"slurm \d+\.\d+\.\d+\n", done.stdout)


# ---- nodes -------------------------------------------------------------------------------------------

def test_drain_and_resume(cluster):
    job = cluster.sbatch("-w", "node1", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "nodename=node1", "state=drain", "reason=swap dimm")
    assert cluster.run("sinfo", "-h", "-n", "node1", "-o", "%T").stdout == "draining\n"
    assert cluster.state(job) == "RUNNING"
    waiting = cluster.sbatch("-w", "node1", wrap="true")
    cluster.run("scancel", job)
    cluster.wait_nodes("drained", ["node1"])
    assert "swap dimm" in cluster.run("sinfo", "-R").stdout
    assert cluster.state(waiting) == "PENDING"
    cluster.run("scontrol", "update", "nodename=node1", "state=resume")
    assert cluster.wait_end(waiting)["JobState"] == "COMPLETED"


def test_drain_survives_a_restart(cluster):
    cluster.run("scontrol", "update", "nodename=node[2-3]", "state=drain", "reason=x")
    cluster.kill_ctld()
    cluster.start_ctld()
    cluster.wait_nodes("drained", ["node2", "node3"])


def test_partition_down_and_up(cluster):
    cluster.run("scontrol", "update", "partitionname=main", "state=down")
    job = cluster.sbatch(wrap="true")
    wait_until(lambda: cluster.job(job)["Reason"] == "PartitionDown", "the reason is told")
    cluster.run("scontrol", "update", "partitionname=main", "state=up")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


# ---- configuration -----------------------------------------------------------------------------------

def test_reconfigure(cluster):
    job = cluster.sbatch("-w", "node1", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    cluster.write_conf(cluster.conf_text() + "PartitionName=extra Nodes=node[2-3] MaxTime=60 State=UP\n")
    cluster.run("scontrol", "reconfigure")
    assert "extra" in cluster.run("sinfo", "-h", "-o", "%P").stdout
    assert cluster.state(job) == "RUNNING"
    assert cluster.wait_end(cluster.sbatch("-p", "extra", wrap="true"))["JobState"] == "COMPLETED"


def test_reconfigure_with_a_bad_file_changes_nothing(cluster):
    good = cluster.conf_text()
    cluster.write_conf(good.replace("KillWait=2", "KillWait=banana") + "PartitionName=extra Nodes=node1\n")
    done = cluster.run("scontrol", "reconfigure", check=False)
    assert done.returncode == 1
    assert "KillWait" in done.stderr or "slurm.conf" in done.stderr, done.stderr
    cluster.write_conf(good)  # the commands read it, too
    assert cluster.run("sinfo", "-h", "-o", "%P").stdout == "main*\n"
    assert "= 2 sec" in cluster.run("scontrol", "show", "config").stdout
    cluster.run("scontrol", "reconfigure")
    assert cluster.wait_end(cluster.sbatch(wrap="true"))["JobState"] == "COMPLETED"


def test_new_node_by_reconfiguring(make_cluster):
    cluster = make_cluster(nodes=2)
    more = make_cluster(start=False, nodes=1)  # for a free port
    text = cluster.conf_text()
    line = next(line for line in text.splitlines() if line.startswith("NodeName=node2"))
    line = re.sub(r"node2 ", "node3 ", line, count=1)
    line = re.sub(r" Port=\d+", f" Port={more.node_ports[0]}", line)
    cluster.write_conf(text.replace("PartitionName=", line + "\nPartitionName="))
    cluster.run("scontrol", "reconfigure")
    cluster.start_slurmd("node3")
    cluster.wait_nodes("idle", ["node1", "node2", "node3"])
    assert cluster.wait_end(cluster.sbatch("-w", "node3", wrap="true"))["JobState"] == "COMPLETED"


def test_check_of_a_good_file(cluster):
    done = subprocess.run([program("slurmctld"), "--check", "-f", str(cluster.conf)], env=cluster.env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("lines, words", [
    ("TLSType=tls/openssl\nTLSParameters=ca_cert_file=/nonexistent/ca.pem", "/nonexistent/ca.pem"),
    ("AuthAltTypes=auth/jwt\nAuthAltParameters=jwks=/nonexistent/set", "AuthAltParameters: /nonexistent/set"),
    ("AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/passwd", "others have access to the key")])
def test_check_looks_at_certificates_and_keys(tmp_path, lines, words):
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=c\nSlurmctldHost=h\nSlurmUser={getpass.getuser()}\n{lines}\nNodeName=n\nPartitionName=p Nodes=n\n")
    done = subprocess.run([program("slurmctld"), "--check", "-f", str(conf)], capture_output=True, text=True)
    assert done.returncode == 1 and words in done.stdout, done.stdout


# ---- ping and shutdown ---------------------------------------------------------------------------------

def test_ping(make_cluster):
    cluster = make_cluster(nodes=1)
    done = cluster.run("scontrol", "ping")
    assert re.fullmatch(r"Slurmctld\(primary\) at \S+ is UP\n", done.stdout)
    cluster.kill_ctld()
    done = cluster.run("scontrol", "ping", check=False, timeout=30)
    assert done.returncode != 0
    assert "is DOWN" in done.stdout


def test_shutdown_ends_every_daemon(cluster):
    cluster.run("scontrol", "shutdown")
    for daemon in [cluster.ctld, *cluster.slurmds.values()]:
        assert daemon.process.wait(20) == 0


def test_shutdown_right_after_a_restart_ends_every_daemon(cluster):
    """Nodes that dial a moment later are told all the same."""
    cluster.kill_ctld()
    for daemon in cluster.slurmds.values():
        daemon.process.send_signal(signal.SIGSTOP)
    cluster.start_ctld()
    asking = cluster.popen("scontrol", "shutdown", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: "shutdown asked for" in cluster.logs("slurmctld.log"), "the request is there")
    for daemon in cluster.slurmds.values():
        daemon.process.send_signal(signal.SIGCONT)
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out, err) == (0, "", "")
    for daemon in [cluster.ctld, *cluster.slurmds.values()]:
        assert daemon.process.wait(20) == 0


def test_shutdown_names_nodes_that_cannot_be_told(cluster):
    cluster.slurmds["node2"].kill()
    done = cluster.run("scontrol", "shutdown")
    assert done.stderr == "scontrol: warning: not connected, slurmd goes on there: node2\n"
    for name in ("node1", "node3"):
        assert cluster.slurmds[name].process.wait(20) == 0
    assert cluster.ctld.process.wait(20) == 0


def test_shutdown_of_the_controller_alone(cluster):
    cluster.run("scontrol", "shutdown", "slurmctld")
    assert cluster.ctld.process.wait(20) == 0
    assert all(d.alive() for d in cluster.slurmds.values())
    cluster.start_ctld()
    cluster.wait_nodes()


def test_hup_reconfigures(cluster):
    cluster.write_conf(cluster.conf_text() + "PartitionName=extra Nodes=node1\n")
    cluster.ctld.process.send_signal(1)
    wait_until(lambda: "extra" in cluster.run("sinfo", "-h", "-o", "%P").stdout, "the new partition is there")


def test_logs_are_reopened(cluster):
    log = cluster.dir / "log" / "slurmctld.log"
    log.rename(log.with_suffix(".old"))
    cluster.ctld.process.send_signal(12)  # SIGUSR2
    wait_until(log.exists, "a new log file is there")


def test_nothing_is_left_in_tmp(cluster):
    """Files lie in the configured folders: the cluster's folder has no stray entries."""
    job = cluster.sbatch(wrap="srun true")
    cluster.wait_end(job)
    assert {p.name for p in cluster.dir.iterdir()} == {"etc", "state", "spool", "log", "run", "work", "tmp"}
    cluster.wait_nodes()
    wait_until(lambda: not cluster.litter(), "the spool has nothing but keys and what is known of credentials")


def test_long_list(cluster):
    """A list of some hundred records is read by a table (out_query.c), and says what a short one says."""
    subprocess.run(["sh", "-c", f"for i in $(seq 250); do {program('sbatch')} -H -J name$i -t $i --comment=c$i --wrap=true; done"],
                   env=cluster.env, cwd=cluster.work, stdout=subprocess.DEVNULL, check=True, timeout=120)
    lines = cluster.run("squeue", "-h", "-S", "i", "-o", "%i|%j|%l|%k|%T|%r|%D|%u").stdout.splitlines()
    assert len(lines) == 250
    for number in (1, 2, 199, 200, 201, 202, 250):
        whole, alone = lines[number - 1], cluster.run("squeue", "-h", "-j", number, "-o", "%i|%j|%l|%k|%T|%r|%D|%u").stdout
        assert alone == whole + "\n"
        assert whole.split("|")[1] == f"name{number}" and whole.split("|")[3] == f"c{number}"
    jobs = {job["job_id"]: job for job in json.loads(cluster.run("squeue", "--json").stdout)["jobs"]}
    assert [jobs[i]["comment"] for i in (1, 199, 200, 201, 250)] == ["c1", "c199", "c200", "c201", "c250"]
    assert jobs[250]["time_limit"] == {**jobs[1]["time_limit"], "number": 250}
