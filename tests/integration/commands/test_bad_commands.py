"""Mistakes on command lines, in scripts and in configuration files: the exact sentence, the exit status,
and a queue that stays as it was.  `test_bad_input.py` has the first round; these are the corners."""

import os
import re
import subprocess

import pytest

from conftest import Cluster, program

CLUSTER = {"nodes": 2}
SUBMIT = "sbatch: error: Batch job submission failed: "
TRY = {name: f'Try "{name} --help" for more information\n' for name in ("sbatch", "srun", "salloc", "squeue", "scancel")}

# (words, exit status, stderr or a compiled pattern)
SBATCH = [
    (["--nosuch", "job.sh"], 255, "sbatch: unrecognized option '--nosuch'\n" + TRY["sbatch"]),
    (["-Y", "job.sh"], 255, "sbatch: invalid option -- 'Y'\n" + TRY["sbatch"]),
    (["-n"], 255, "sbatch: option requires an argument -- 'n'\n" + TRY["sbatch"]),
    (["--ntasks"], 255, "sbatch: option '--ntasks' requires an argument\n" + TRY["sbatch"]),
    (["--hold=1", "job.sh"], 255, "sbatch: option '--hold' doesn't allow an argument\n" + TRY["sbatch"]),
    (["-n", "1.5", "job.sh"], 1, 'sbatch: error: Invalid numeric value "1.5" for --ntasks.\n'),
    (["-n", "", "job.sh"], 1, 'sbatch: error: Invalid numeric value "" for --ntasks.\n'),
    (["-n", "5x", "job.sh"], 1, 'sbatch: error: Invalid numeric value "5x" for --ntasks.\n'),
    (["-n", "4294967296", "job.sh"], 1, 'sbatch: error: Numeric argument (4294967296) too large for --ntasks.\n'),
    (["-c", "x", "job.sh"], 1, 'sbatch: error: Invalid numeric value "x" for --cpus-per-task.\n'),
    (["--ntasks-per-node=x", "job.sh"], 1, 'sbatch: error: Invalid numeric value "x" for --ntasks-per-node.\n'),
    (["--switches=x", "job.sh"], 1, 'sbatch: error: Invalid numeric value "x" for --switches.\n'),
    (["-N", "3-2", "job.sh"], 255, "sbatch: error: Maximum node count 2 is less than minimum node count 3\n"),
    (["-N", "a-b", "job.sh"], 255, re.compile(r"sbatch: error: .*(node count|--nodes).*\n")),
    (["-t", "1:2:3:4", "job.sh"], 255, "sbatch: error: Invalid --time specification\n"),
    (["-t", "10 minutes", "job.sh"], 255, "sbatch: error: Invalid --time specification\n"),
    (["--time-min=x", "job.sh"], 255, "sbatch: error: Invalid --time-min specification\n"),
    (["--mem=1X", "job.sh"], 255, "sbatch: error: Invalid --mem specification\n"),
    (["--mem=-5", "job.sh"], 255, "sbatch: error: Invalid --mem specification\n"),
    (["--mem-per-cpu=many", "job.sh"], 255, "sbatch: error: Invalid --mem-per-cpu specification\n"),
    (["--begin=now+1fortnight", "job.sh"], 255,
     "Invalid time specification (pos=4): now+1fortnight\nsbatch: error: Invalid --begin specification\n"),
    (["--begin=2020-13-45", "job.sh"], 255, re.compile(r"Invalid time specification \(pos=\d+\): 2020-13-45\n"
                                                       r"sbatch: error: Invalid --begin specification\n")),
    (["--deadline=soon", "job.sh"], 255, re.compile(r"(.*\n)?sbatch: error: Invalid --deadline specification\n")),
    (["--signal=USR1@x", "job.sh"], 255, "sbatch: error: Invalid --signal specification\n"),
    (["--signal=@", "job.sh"], 255, "sbatch: error: Invalid --signal specification\n"),
    (["--open-mode=w", "job.sh"], 255, "sbatch: error: Invalid --open-mode specification\n"),
    (["--exclusive=me", "job.sh"], 255, "sbatch: error: Invalid --exclusive specification\n"),
    (["--acctg-freq=x", "job.sh"], 255, "sbatch: error: Invalid --acctg-freq specification: x\n"),
    (["-m", "block:round", "job.sh"], 255, "sbatch: error: Invalid --distribution specification\n"),
    (["--uid=nosuchuser", "job.sh"], 255, re.compile(r"sbatch: error: .*nosuchuser.*\n|sbatch: error: Invalid --uid specification\n")),
    (["--nice=2147483646", "job.sh"], 255, "sbatch: error: Invalid --nice value, out of range (+/- 2147483645)\n"),
    (["--kill-on-invalid-dep=maybe", "job.sh"], 255, "sbatch: error: Invalid --kill-on-invalid-dep specification\n"),
    (["--export-file=/no/such/file", "job.sh"], 1, "sbatch: error: Could not open user environment file /no/such/file\n"),
    (["-M", "nosuchcluster", "job.sh"], 1, re.compile(r"sbatch: error: No cluster 'nosuchcluster' known by database\.\n"
                                                      r"sbatch: error: 'nosuchcluster' can't be reached now.*\n")),
    (["-J", "n" * 1500, "job.sh"], 1,
     "sbatch: error: name is longer than 1024 bytes\n" + SUBMIT + "Request is malformed or too large\n"),
    (["--wrap", "true", "job.sh"], 1, "sbatch: error: Script arguments not permitted with --wrap option\n"),
    # scripts
    (["nofile.sh"], 1, "sbatch: error: Unable to open file nofile.sh\n"),
    (["secret.sh"], 1, "sbatch: error: Unable to open file secret.sh\n"),
    (["empty.sh"], 1, "sbatch: error: Batch script is empty!\n"),
    (["blank.sh"], 1, "sbatch: error: Batch script contains only whitespace!\n"),
    (["dos.sh"], 1, "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"
     "sbatch: error: instead of expected UNIX line breaks (\\n).\n"),
    (["words.sh"], 1, "sbatch: error: This does not look like a batch script.  The first\n"
     "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
     "sbatch: error: For instance: #!/bin/sh\n"),
    (["nul.sh"], 1, re.compile(r"sbatch: error: .*\nsbatch: error: .*NULL.*\n")),
    (["huge.sh"], 1, re.compile(r"sbatch: error: .*(large|long|big|size).*\n", re.I)),
    (["badopt.sh"], 255, "sbatch: unrecognized option '--foo=1'\n" + TRY["sbatch"]),
    (["badval.sh"], 1, 'sbatch: error: Invalid numeric value "abc" for --ntasks.\n'),
    (["quote.sh"], 1, re.compile(r"sbatch: (error|fatal): .*(quot|\").*\n")),
    (["colon.sh"], 1, "sbatch: fatal: colon.sh: line 3: Unexpected `:` in [ : -H]\n"),
    # what the controller refuses
    (["-p", "main,nosuch", "job.sh"], 1, "sbatch: error: invalid partition specified: nosuch\n" + SUBMIT + "Invalid partition name specified\n"),
    (["-w", "node[1-", "job.sh"], 1, "sbatch: fatal: Invalid node list specified\n"),
    (["-w", "node9", "job.sh"], 1, SUBMIT + "Invalid node name specified\n"),
    (["-x", "node9", "job.sh"], 1, SUBMIT + "Invalid node name specified\n"),
    (["-w", "node1", "-x", "node1", "job.sh"], 1, SUBMIT + "Invalid node name specified\n"),
    (["-C", "[intel", "job.sh"], 1, SUBMIT + "Invalid feature specification\n"),
    (["-C", "a&", "job.sh"], 1, SUBMIT + "Invalid feature specification\n"),
    (["-C", "nosuch", "job.sh"], 1, SUBMIT + "Invalid feature specification\n"),
    (["--gres=nosuch:1", "job.sh"], 1, "sbatch: error: Invalid generic resource (gres) specification\n"),
    (["--gres=gpu:1", "job.sh"], 1, re.compile(r"sbatch: error: .*\n")),
    (["-c", "5", "job.sh"], 1, "sbatch: error: CPU count per node can not be satisfied\n" + SUBMIT +
     "Requested node configuration is not available\n"),
    (["--mem=3000", "job.sh"], 1, "sbatch: error: Memory specification can not be satisfied\n" + SUBMIT +
     "Requested node configuration is not available\n"),
    (["-d", "afterok:1:", "job.sh"], 1, SUBMIT + "Job dependency problem\n"),
    (["--array=1-2-3", "job.sh"], 1, SUBMIT + "Invalid job array specification\n"),
    (["--time-min=20", "-t", "10", "job.sh"], 1,
     SUBMIT + "Invalid time-min specification (exceeds job's time or other limits)\n"),
    (["--deadline=now", "job.sh"], 1, SUBMIT + "Requested time limit is invalid (missing or exceeds some limit)\n"),
    (["--reservation=nosuch", "job.sh"], 1, SUBMIT + "Requested reservation is invalid\n"),
]

OTHERS = [
    (["srun", "--nosuch", "true"], 255, "srun: unrecognized option '--nosuch'\n" + TRY["srun"]),
    (["srun", "-n", "x", "true"], 1, 'srun: error: Invalid numeric value "x" for --ntasks.\n'),
    (["srun", "-N", "2-1", "true"], 255, "srun: error: Maximum node count 1 is less than minimum node count 2\n"),
    (["srun", "--mpi=foo", "true"], 1, re.compile(r"(srun: error: .*\n)+")),
    (["srun", "--jobid=x", "true"], 1, "srun: fatal: Bad job/step specified: x: JobID can not be zero\n"),
    (["srun", "-p", "nosuch", "true"], 1, "srun: error: invalid partition specified: nosuch\n"
     "srun: error: Unable to allocate resources: Invalid partition name specified\n"),
    (["srun", "-w", "node9", "true"], 1, "srun: error: Unable to allocate resources: Invalid node name specified\n"),
    (["srun", "--multi-prog", "nofile"], 1, re.compile(r"srun: (error|fatal): .*nofile.*\n")),
    (["salloc", "--test-only", "-N3"], 255, "salloc: unrecognized option '--test-only'\n" + TRY["salloc"]),
    (["salloc", "-p", "nosuch", "true"], 1, "salloc: error: invalid partition specified: nosuch\n"
     "salloc: error: Job submit/allocate failed: Invalid partition name specified\n"),
    (["salloc", "-t", "x", "true"], 255, "salloc: error: Invalid --time specification\n"),
    (["squeue", "--nosuch"], 1, "squeue: unrecognized option '--nosuch'\n" + TRY["squeue"]),
    (["squeue", "-j", "abc"], 1, "squeue: error: Invalid job id: abc\n"),
    (["squeue", "-j", "1,x"], 1, "squeue: error: Invalid job id: x\n"),
    (["squeue", "-j", "99999"], 1, "slurm_load_jobs error: Invalid job id specified\n"),
    (["squeue", "-t", "PD,nosuch"], 1, re.compile(r"squeue: error: Invalid job state specified: nosuch\nsqueue: error: Valid job states include: .*\n\n")),
    (["squeue", "-S", "nosuch"], 1, "squeue: error: Invalid sort specification: s\n"),
    (["squeue", "-w", "node9"], 1, "squeue: error: Invalid node name node9\n"),
    (["squeue", "-i", "abc"], 1, "squeue: error: --iterate=abc\n\n"),
    (["squeue", "-O", "nosuch"], 0, "squeue: error: Invalid job format specification: nosuch\n"),
    (["squeue", "extra"], 1, "squeue: error: Unrecognized option: extra\n"),
    (["sinfo", "-t", "nosuch"], 1, re.compile(r'sinfo: error: Bad state string: "nosuch"\nsinfo: error: valid states: .*\n')),
    (["sinfo", "-O", "nosuch"], 0, "sinfo: error: Invalid job format specification: nosuch\n"),
    (["scancel"], 1, "scancel: error: No job identification provided\n"),
    (["scancel", "abc"], 1, "scancel: error: Invalid job id abc\n"),
    (["scancel", "1x"], 1, "scancel: error: Invalid job id 1x\n"),
    (["scancel", "999.0"], 1, "scancel: error: Kill job error on job step id 999.0: Invalid job id specified\n"),
    (["scancel", "-t", "nosuch"], 1, "Invalid job state specified: nosuch\nValid job states are PENDING, RUNNING, and SUSPENDED\n"),
    (["scancel", "-u", "nosuchuser"], 1, "scancel: error: Invalid user name: nosuchuser\n"),
    (["scancel", "-s", "FOO", "1"], 1, "Unknown job signal: FOO\n"),
    (["scancel", "--nosuch"], 1, "scancel: unrecognized option '--nosuch'\n" + TRY["scancel"]),
    (["scontrol", "update", "jobid=1x", "name=x"], 1, re.compile(r".*\n")),
    (["scontrol", "update", "jobid=99999", "nosuch=x"], 1, re.compile(r"Update of this parameter is not supported: nosuch=x\n.*", re.S)),
    (["scontrol", "hold"], 1, re.compile(r"too few arguments for keyword:hold\n")),
    (["scontrol", "release", "x"], 1, re.compile(r"(.*\n)+")),
    (["scontrol", "create", "partitionname=x", "nodes=node9"], 1,
     re.compile(r"Error creating the partition: Invalid node name specified\n")),
    (["scontrol", "update", "nodename=node1", "state=sideways"], 1,
     re.compile(r"Invalid input: state=sideways\nRequest aborted\n.*", re.S)),
    (["scontrol", "write", "batch_script", "99999"], 0, "job script retrieval failed: Invalid job id specified\n"),
    (["scontrol", "suspend", "99999"], 1, "Unexpected message received for job 99999\n"),
    (["sacct", "-j", "1x"], 1, "sacct: fatal: Bad job/step specified: 1x: JobID includes unexpected non-numeric characters\n"),
    (["sacct", "-u", ""], 1, "sacct: error: Invalid user id: \n"),
    (["sacct", "-u", ","], 1, "sacct: error: Invalid user id: ,\n"),
    (["sacct", "-E", "foo"], 1, "Invalid time specification (pos=0): foo\n"),
]

SCRIPTS = {"job.sh": b"#!/bin/sh\ntrue\n", "empty.sh": b"", "blank.sh": b"\n  \n", "dos.sh": b"#!/bin/bash\r\necho x\r\n",
           "words.sh": b"echo hello\n", "nul.sh": b"#!/bin/bash\necho a\0b\n", "huge.sh": b"#!/bin/bash\n" + b"# x\n" * 1_200_000,
           "badopt.sh": b"#!/bin/bash\n#SBATCH --foo=1\n", "badval.sh": b"#!/bin/bash\n#SBATCH -n abc\n",
           "quote.sh": b"#!/bin/bash\n#SBATCH --comment=\"never closed\n",
           "colon.sh": b"#!/bin/bash\n#SBATCH --comment=': a:b' -J \\:c\n#SBATCH -t1 : -H\n"}


@pytest.fixture(scope="module")
def busy(shared):
    """A cluster with a queue that must not change."""
    for name, data in SCRIPTS.items():
        (shared.work / name).write_bytes(data)
    (shared.work / "secret.sh").mkdir()  # opens, and is no file
    (shared.work / "secret.sh").rmdir()
    os.symlink("secret.sh", shared.work / "secret.sh")  # a link to itself
    shared.sbatch("-H", "-J", "one", wrap="true")
    shared.sbatch("-H", "-J", "two", "--array=0-3", wrap="true")
    return shared


def snapshot(c):
    return c.run("squeue", "-a", "-h", "-t", "all", "-S", "i", "-o", "%i %j %T %r %l %D").out


def check(c, argv, rc, err):
    before = snapshot(c)
    done = c.run(*argv, check=False, timeout=20)
    assert rc is None and done.rc != 0 or done.rc == rc, (done.rc, done.err)
    if isinstance(err, str):
        assert done.err == err
    else:
        assert err.fullmatch(done.err), done.err
    if rc != 0:
        assert done.err.strip()
        assert not re.search(r"[a-z_]+\.c:\d+|Assertion|Sanitizer|Traceback|\(nil\)|%[sdu]\b", done.err)
        assert len(done.err.splitlines()) <= 4
    assert snapshot(c) == before


def test_there_are_enough():
    rows = [["sbatch", *row[0]] for row in SBATCH] + [row[0] for row in OTHERS]
    assert len({tuple(row) for row in rows}) == len(rows) >= 80


@pytest.mark.parametrize("argv,rc,err", SBATCH, ids=[" ".join(row[0]) for row in SBATCH])
def test_sbatch(busy, argv, rc, err):
    check(busy, ["sbatch", *argv], rc, err)


@pytest.mark.parametrize("argv,rc,err", OTHERS, ids=[" ".join(row[0]) for row in OTHERS])
def test_others(busy, argv, rc, err):
    check(busy, argv, rc, err)


@pytest.mark.parametrize("name,value", [("SBATCH_TIMELIMIT", "x"), ("SBATCH_MEM_PER_CPU", "x"), ("SBATCH_ARRAY_INX", "x"),
                                        ("SBATCH_PARTITION", "nosuch")])
def test_variables_are_checked_like_options(busy, name, value):
    before = snapshot(busy)
    done = busy.run("sbatch", "--wrap", "true", env={name: value}, check=False)
    assert done.rc != 0 and done.err
    assert snapshot(busy) == before


@pytest.mark.parametrize("conf,message", [
    ("/nonexistent", "/nonexistent"), ("/", "/"), ("/etc/passwd", "/etc/passwd"), ("", "")])
@pytest.mark.parametrize("name", ["squeue", "sbatch"])
def test_wrong_configuration_file(busy, name, conf, message):
    argv = ["squeue"] if name == "squeue" else ["sbatch", "--wrap", "true"]
    done = busy.run(*argv, env={"SLURM_CONF": conf}, check=False, timeout=100)
    assert done.rc == 1 and message in done.err and len(done.err.splitlines()) <= 4


def test_no_controller(make_cluster):
    """Commands give up in seconds when nobody listens, and say whom they tried to reach."""
    c = make_cluster(nodes=1, start=False, conf="MessageTimeout=2\nTCPTimeout=1")
    for argv in (["squeue"], ["sinfo"], ["scontrol", "show", "nodes"], ["sbatch", "--wrap", "true"]):
        done = c.run(*argv, check=False, timeout=60)
        assert done.rc == 1, argv
        assert "Unable to contact slurm controller" in done.err or "onnect" in done.err, done.err


BAD_FILES = [  # (what to change, what the message names)
    (("NodeName=node1 ", "NodeName="), "is not a node name"), (("CPUs=4", "CPUs=-4"), "CPUs"), (("CPUs=4", "CPUs=0x4"), "CPUs"),
    (("Port=", "Port=0#"), "Port"), (("Sockets=1", "Sockets=one"), "Sockets"), (("SlurmctldHost=", "SlurmctldHostt="), "SlurmctldHostt"),
    (("KillWait=2", "KillWait="), "KillWait"), (("KillWait=2", 'KillWait="2'), "slurm.conf"), (("KillWait=2", "Kill Wait=2"), "slurm.conf"),
    (("ReturnToService=2", "ReturnToService=3"), "ReturnToService"), (("SlurmctldDebug=debug", "SlurmctldDebug=loud"), "loud"),
    (("MaxTime=INFINITE", "MaxTime=tomorrow"), "MaxTime"), (("Default=YES", "Default=PERHAPS"), "PERHAPS"),
    (("PartitionName=main", "PartitionName=main Nodes=node1\nPartitionName=main"), "main"),
    (("ReturnToService=2", "MessageTimeout=forever"), "MessageTimeout"), (("ReturnToService=2", "MinJobAge=x"), "MinJobAge"),
    (("ReturnToService=2", "SchedulerType=sched/nosuch"), "sched/nosuch"), (("ReturnToService=2", "AuthType=auth/nosuch"), "auth/nosuch"),
    (("ReturnToService=2", "PriorityWeightAge=lots"), "PriorityWeightAge"), (("ReturnToService=2", "Include nosuch.conf"), "nosuch.conf")]


@pytest.mark.parametrize("change,message", BAD_FILES, ids=[c[0][1].split("\n")[0] for c in BAD_FILES])
def test_configuration_files(folder, change, message):
    c = Cluster(folder, nodes=2)
    good = c.conf_text()
    c.write_conf(good.replace(*change))
    assert c.conf.read_text() != good
    for argv in ([program("slurmctld"), "--check"], [program("slurmctld"), "-D"]):
        done = subprocess.run([*argv, "-f", str(c.conf)], env=c.env, capture_output=True, text=True, timeout=30,
                              stdin=subprocess.DEVNULL)
        text = done.stdout + done.stderr
        assert done.returncode == 1, text
        assert message in text and re.search(r"slurm\.conf(:\d+)?:", text), text


def test_the_cluster_is_well(busy):
    assert busy.ctld.alive() and all(d.alive() for d in busy.slurmds.values())
    assert busy.run("sinfo", "-h", "-o", "%D %t").out == "2 idle\n"
    assert busy.run("squeue", "-h", "-S", "i", "-o", "%j %r").out == "one JobHeldUser\ntwo JobHeldUser\n"
