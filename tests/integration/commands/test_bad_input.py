"""What people get wrong: each mistake gets one clear sentence, the right exit status, and changes nothing.

The controller of this module must live through all of it and have no job at the end."""

import re
import subprocess

import pytest

from conftest import Cluster, program

CONFIG_UNAVAILABLE = "Requested node configuration is not available"

# (command line, exit status, part of the message); {d} is the work folder.
COMMANDS = [
    # sbatch: options
    ("sbatch --nosuchoption job.sh", 255, "unrecognized option '--nosuchoption'"),
    ("sbatch -n 0 job.sh", 1, 'Invalid numeric value "0" for --ntasks.'),
    ("sbatch -n -3 job.sh", 1, 'Invalid numeric value "-3" for --ntasks.'),
    ("sbatch -n abc job.sh", 1, 'Invalid numeric value "abc" for --ntasks.'),
    ("sbatch -n 99999999999999999999 job.sh", 1, "--ntasks"),
    ("sbatch -c 0 job.sh", 1, 'Invalid numeric value "0" for --cpus-per-task.'),
    ("sbatch -N 2-1 job.sh", 255, "Maximum node count 1 is less than minimum node count 2"),
    ("sbatch -N x job.sh", 255, '"x" is not a valid node count'),
    ("sbatch -t abc job.sh", 255, "Invalid --time specification"),
    ("sbatch --mem=abc job.sh", 255, "Invalid --mem specification"),
    ("sbatch --mem=1 --mem-per-cpu=1 job.sh", 1, "mutually exclusive"),
    ("sbatch --begin=yesterday job.sh", 255, "Invalid --begin specification"),
    ("sbatch --begin=25:00 job.sh", 255, "Invalid --begin specification"),
    ("sbatch --signal=FOO@60 job.sh", 255, "Invalid --signal specification"),
    ("sbatch --mail-type=FOO job.sh", 255, "Invalid --mail-type specification"),
    ("sbatch --open-mode=x job.sh", 255, "Invalid --open-mode specification"),
    ("sbatch -m foo job.sh", 255, "Invalid --distribution specification"),
    ("sbatch --exclusive=foo job.sh", 255, "Invalid --exclusive specification"),
    ("sbatch --export-file=nofile job.sh", 1, "Could not open user environment file nofile"),
    ("sbatch --wrap true job.sh", 1, "Script arguments not permitted with --wrap option"),
    ("sbatch --hint=foo job.sh", 1, 'unrecognized --hint argument "foo"'),
    # sbatch: scripts
    ("sbatch nofile.sh", 1, "Unable to open file nofile.sh"),
    ("sbatch empty.sh", 1, "Batch script is empty!"),
    ("sbatch blank.sh", 1, "Batch script contains only whitespace!"),
    ("sbatch dos.sh", 1, "DOS line breaks"),
    ("sbatch nointerp.sh", 1, "This does not look like a batch script"),
    ("sbatch badoption.sh", 255, "unrecognized option '--foo=1'"),
    ("sbatch badvalue.sh", 1, 'Invalid numeric value "abc" for --ntasks.'),
    ("sbatch {d}", 1, "Batch script is empty!"),
    # sbatch: what the controller refuses
    ("sbatch -p nosuch job.sh", 1, "invalid partition specified: nosuch"),
    ("sbatch -w node9 job.sh", 1, "Invalid node name specified"),
    ("sbatch -w node1 -x node1 job.sh", 1, "Invalid node name specified"),
    ("sbatch -C nosuchfeature job.sh", 1, "Invalid feature specification"),
    ("sbatch -C [a job.sh", 1, "Invalid feature specification"),
    ("sbatch --gres=nosuch:1 job.sh", 1, "Invalid generic resource (gres) specification"),
    ("sbatch -c 17 job.sh", 1, CONFIG_UNAVAILABLE),
    ("sbatch --mem=17000 job.sh", 1, CONFIG_UNAVAILABLE),
    ("sbatch --ntasks-per-node=100 -N1 job.sh", 1, CONFIG_UNAVAILABLE),
    ("sbatch -d afterok:999999 job.sh", 1, "Job dependency problem"),
    ("sbatch -d foo:1 job.sh", 1, "Job dependency problem"),
    ("sbatch -d afterok job.sh", 1, "Job dependency problem"),
    ("sbatch -d afterok:abc job.sh", 1, "Job dependency problem"),
    ("sbatch --array=5-1 job.sh", 1, "Invalid job array specification"),
    ("sbatch --array=a job.sh", 1, "Invalid job array specification"),
    ("sbatch --array=1-5000 job.sh", 1, "Invalid job array specification"),
    ("sbatch -L nosuch:1 job.sh", 1, "Invalid license specification"),
    ("sbatch --reservation=nosuch job.sh", 1, "Requested reservation is invalid"),
    ("sbatch --time-min=20 -t 10 job.sh", 1, "Invalid time-min specification"),
    # srun, salloc
    ("srun", 1, "No command given to execute."),
    ("srun --nosuchoption true", 255, "unrecognized option"),
    ("srun -n 0 true", 1, 'Invalid numeric value "0" for --ntasks.'),
    ("srun -p nosuch true", 1, "invalid partition specified: nosuch"),
    ("srun --jobid=999999 true", 1, "Invalid job id specified"),
    ("srun -c 17 true", 1, CONFIG_UNAVAILABLE),
    ("srun --multi-prog nofile", 1, "nofile"),
    ("salloc --nosuchoption", 255, "unrecognized option"),
    ("salloc -p nosuch true", 1, "invalid partition specified: nosuch"),
    ("salloc nosuchcommand", 1, "nosuchcommand"),
    # queries and actions
    ("squeue --nosuchoption", 1, "unrecognized option"),
    ("squeue -t FOO", 1, "Invalid job state specified: FOO"),
    ("squeue -j abc", 1, "Invalid job id: abc"),
    ("squeue -u nosuchuser", 0, "Invalid user: nosuchuser"),
    ("sinfo --nosuchoption", 1, "unrecognized option"),
    ("sinfo -t FOO", 1, "FOO"),
    ("scancel", 1, "No job identification provided"),
    ("scancel abc", 1, "abc"),
    ("scancel -s NOSUCH 1", 1, "NOSUCH"),
    ("scontrol nosuchcommand", 1, "nosuchcommand"),
    ("scontrol show nosuch", 1, "nosuch"),
    ("scontrol show job 999999", 1, "Invalid job id specified"),
    ("scontrol show job abc", 1, "Invalid job id specified"),
    ("scontrol show node node9", 1, "node9"),
    ("scontrol show partition nosuch", 1, "nosuch"),
    ("scontrol update jobid=999999 timelimit=1", 1, "Invalid job id specified"),
    ("scontrol update nodename=node9 state=drain reason=x", 1, "Invalid node name specified"),
    ("scontrol update nodename=node1 state=foo", 1, "Invalid input: state=foo"),
    ("scontrol update nodename=node1 state=drain", 1, "You must specify a reason"),
    ("scontrol update nodename=node1 nosuch=1", 1, "nosuch=1"),
    ("scontrol update partitionname=nosuch state=up", 1, "Invalid partition name specified"),
    ("scontrol release 999999", 1, "Invalid job id specified"),
    ("scontrol requeue 999999", 1, "Invalid job id specified"),
    ("scontrol show hostnames n[1-2", 0, "Invalid hostlist: n[1-2"),
    ("sacct --nosuchoption", 1, "unrecognized option"),
    ("sacct -o nosuchfield", 1, "nosuchfield"),
    ("sacct -S nosuchtime", 1, "nosuchtime"),
    ("sdiag --nosuchoption", 1, "unrecognized option"),
    # penstock
    ("penstock nosuch", 2, "no such command: nosuch"),
    ("penstock up --nodes=0", 2, "--nodes: 0 is not a number"),
    ("penstock up --nodes=x", 2, "--nodes: x is not a number"),
    ("penstock up extra", 2, "unexpected argument: extra"),
    ("penstock down --dir={d}/none", 1, "there is no cluster in"),
    ("penstock status --dir=", 1, "--dir needs the name of a folder"),
    ("penstock env --dir={d}/none", 1, "there is no cluster in"),
    ("penstock journal", 2, "journal needs at, audit, dump, verify, repair, downgrade or hash"),
    ("penstock journal nosuch {d}", 2, "no such action: nosuch"),
    ("penstock journal dump {d}", 1, "there is no journal in it"),
    ("penstock journal dump --from=x {d}", 2, "--from: x is not a sequence number"),
    # daemons
    ("slurmctld --nosuchoption", 1, "unrecognized option"),
    ("slurmctld -f {d}/none.conf", 1, "none.conf"),
    ("slurmd -f {d}/none.conf", 1, "none.conf"),
    ("slurmd -N node9", 1, "node9"),
    ("slurmd extra", 1, "extra"),
]

SCRIPTS = {"job.sh": "#!/bin/sh\ntrue\n", "empty.sh": "", "blank.sh": "\n  \n", "dos.sh": "#!/bin/bash\r\necho x\r\n",
           "nointerp.sh": "echo hello\n", "badoption.sh": "#!/bin/bash\n#SBATCH --foo=1\n",
           "badvalue.sh": "#!/bin/bash\n#SBATCH -n abc\n"}

# (what to change in a good slurm.conf, part of the message)
CONFIGS = [
    (("KillWait=2", "KillWait=banana"), "KillWait"),
    (("KillWait=2", "KillWait=-1"), "KillWait"),
    (("ClusterName=test", ""), "ClusterName"),
    (("ClusterName=test", "ClusterName=has space"), "space"),
    (("KillWait=2", "NoSuchKey=1"), "NoSuchKey"),
    (("KillWait=2", "KillWaite=1"), "KillWait"),
    (("KillWait=2", "just some words"), ""),
    (("KillWait=2", "=5"), ""),
    (("KillWait=2", "Include /nonexistent/file"), "/nonexistent/file"),
    (("SelectType=select/cons_tres", "SelectType=select/nosuch"), "SelectType"),
    (("SlurmUser=", "SlurmUser=nosuchuser#"), "nosuchuser"),
    (("SlurmctldPort=", "SlurmctldPort=99999#"), "SlurmctldPort"),
    (("Nodes=ALL", "Nodes=node9"), "node9"),
    (("Nodes=ALL", "Nodes=node[1-"), "node[1-"),
    (("PartitionName=main", "PartitionName="), "PartitionName"),
    (("State=UP", "State=SIDEWAYS"), "SIDEWAYS"),
    (("MaxTime=INFINITE", "MaxTime=soon"), "MaxTime"),
    (("NodeName=node2", "NodeName=node1"), "node1"),
    (("CPUs=4", "CPUs=lots"), "CPUs"),
    (("RealMemory=2000", "RealMemory=-5"), "RealMemory"),
    (("State=UNKNOWN", "State=ASLEEP"), "ASLEEP"),
    (("StateSaveLocation=/", "StateSaveLocation=relative/"), "StateSaveLocation"),
]


@pytest.fixture(scope="module")
def prepared(shared):
    for name, text in SCRIPTS.items():
        (shared.work / name).write_text(text)
    return shared


def test_the_tables_are_long_enough():
    assert len(set(COMMANDS)) == len(COMMANDS)
    assert len(COMMANDS) + len(CONFIGS) >= 60


@pytest.mark.parametrize("line,status,message", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_command(prepared, line, status, message):
    argv = line.replace("{d}", str(prepared.work)).split()
    done = prepared.run(*argv, check=False)
    text = done.stderr + (done.stdout if argv[0] in ("scontrol", "slurmctld") else "")
    assert done.returncode == status, text
    assert message in text
    said = [s for s in text.splitlines() if s.strip() and not s.startswith(("Try ", "Usage", "usage"))]
    assert 1 <= len(said) <= 40  # the usage of a daemon at most
    assert not re.search(r"[a-z_]+\.c:\d+|Assertion|Sanitizer|\(nil\)|0x[0-9a-f]{6}", text)


@pytest.mark.parametrize("change,message", CONFIGS, ids=[" ".join(c[0]) or "empty" for c in CONFIGS])
def test_configuration(folder, change, message):
    cluster = Cluster(folder, nodes=2)
    good = cluster.conf_text()
    bad = good.replace(*change)
    assert bad != good
    cluster.write_conf(bad)
    for options in (["--check"], ["-D"]):
        done = subprocess.run([program("slurmctld"), *options, "-f", str(cluster.conf)], env=cluster.env,
                              capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
        text = done.stdout + done.stderr
        assert done.returncode == 1, text
        assert message in text and "slurm.conf" in text
    assert not (folder / "state" / "journal").exists()


def test_nothing_came_of_it(prepared):
    assert prepared.run("squeue", "-h").stdout == ""
    assert prepared.ctld.alive() and all(d.alive() for d in prepared.slurmds.values())
    assert prepared.run("sinfo", "-h", "-o", "%D %t").stdout == "3 idle\n"


def test_garbage_on_the_ports(prepared):
    """Bytes that are no frames: the connection ends, the daemon does not."""
    import random
    import socket
    dice = random.Random(20260101)
    for port in (prepared.port, prepared.node_ports[0]):
        for i in range(50):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
                data = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 64, b"\xff" * 64,
                        dice.randbytes(dice.randrange(1, 4000))][i % 4]
                try:
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(4096):
                        pass
                except OSError:
                    pass
    assert prepared.run("scontrol", "ping").stdout.count("UP") == 1
    assert prepared.ctld.alive() and all(d.alive() for d in prepared.slurmds.values())
