"""What sbatch, salloc and srun say with -v of options and of their variables: the names and the forms of values are those of
recorded sessions (42, lines "sbatch: signal : USR1@10").  Each name is given alone, so that no other can have set it."""

import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 8, "conf": "AllowSpecResourcesUsage=yes\nMpiParams=ports=21000-21100",
           "node_options": "Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 TmpDisk=100",
           "partition": "\nPartitionName=other Nodes=ALL"}
ALL = ("sbatch", "salloc", "srun")
CLIENTS = ("salloc", "srun")

# commands, words, what -v says of the option
WORDS = [
    (ALL, "--acctg-freq=task=15", "task=15"), (ALL, "--core-spec=1", "1"), (ALL, "--dependency=singleton", "singleton"),
    (ALL, "--gres-flags=enforce-binding", "enforce-binding"), (ALL, "--kill-on-invalid-dep=yes", "yes"),
    (ALL, "--no-kill", "set"), (ALL, "--oom-kill-step=1", "1"), (ALL, "--overcommit", "set"), (ALL, "--priority=5", "5"),
    (ALL, "--reservation=r1", "r1"), (ALL, "--resv-ports=3", "3"), (ALL, "--signal=USR1@10", "USR1@10"),
    (ALL, "--spread-job", "set"), (ALL, "--stepmgr", "set"), (ALL, "--tmp=1", "1"), (ALL, "--use-min-nodes", "set"),
    (ALL, "--tres-per-task=cpu=2", "cpu=2"), (ALL, "--mem-bind=local", "local"), (ALL, "--propagate=NONE", "NONE"),
    (ALL, "--export=ALL", "ALL"), (ALL, "--clusters=test", "test"),
    (("sbatch",), "--ignore-pbs", "set"),
    (("salloc",), "--bell", "bell-always"), (("salloc",), "--no-bell", "bell-never"),
    (("srun",), "--ignore-signals=INT", "INT"), (("srun",), "--msg-timeout=9", "9"),
]

# variable, value, the option that -v names, what it says
VARIABLES = {
    "sbatch": [
        ("SBATCH_ACCTG_FREQ", "task=15", "acctg-freq", "task=15"), ("SBATCH_CORE_SPEC", "1", "core-spec", "1"),
        ("SBATCH_OVERCOMMIT", "yes", "overcommit", "set"), ("SBATCH_RESERVATION", "r1", "reservation", "r1"),
        ("SBATCH_RESV_PORTS", "3", "resv-ports", "3"), ("SBATCH_SPREAD_JOB", "1", "spread-job", "set"),
        ("SBATCH_SIGNAL", "USR1@10", "signal", "USR1@10"), ("SBATCH_ARRAY_INX", "1-3", "array", "1-3"),
        ("SBATCH_INPUT", "/dev/zero", "input", "/dev/zero"), ("SBATCH_IGNORE_PBS", "1", "ignore-pbs", "set"),
        ("SBATCH_OPEN_MODE", "append", "open-mode", "a"), ("SBATCH_CLUSTERS", "test", "clusters", "test"),
        ("SBATCH_DISTRIBUTION", "cyclic", "distribution", "cyclic"), ("SBATCH_EXCLUSIVE", "user", "exclusive", "user"),
        ("SBATCH_GRES_FLAGS", "enforce-binding", "gres-flags", "enforce-binding"),
        ("SBATCH_USE_MIN_NODES", "1", "use-min-nodes", "set"), ("SBATCH_TRES_PER_TASK", "cpu=2", "tres-per-task", "cpu=2"),
        ("SBATCH_WAIT_ALL_NODES", "1", "wait-all-nodes", "1"), ("SBATCH_GET_USER_ENV", "1", "get-user-env", "set"),
    ],
    "salloc": [
        ("SALLOC_ACCTG_FREQ", "task=15", "acctg-freq", "task=15"), ("SALLOC_CORE_SPEC", "1", "core-spec", "1"),
        ("SALLOC_CLUSTERS", "test", "clusters", "test"), ("SALLOC_DISTRIBUTION", "cyclic", "distribution", "cyclic"),
        ("SALLOC_EXCLUSIVE", "user", "exclusive", "user"), ("SALLOC_GRES_FLAGS", "enforce-binding", "gres-flags", "enforce-binding"),
        ("SALLOC_MEM_BIND", "local", "mem-bind", "local"), ("SALLOC_OVERCOMMIT", "yes", "overcommit", "set"),
        ("SALLOC_PARTITION", "other", "partition", "other"), ("SALLOC_RESERVATION", "r1", "reservation", "r1"),
        ("SALLOC_RESV_PORTS", "3", "resv-ports", "3"), ("SALLOC_SPREAD_JOB", "1", "spread-job", "set"),
        ("SALLOC_USE_MIN_NODES", "1", "use-min-nodes", "set"), ("SALLOC_TRES_PER_TASK", "cpu=2", "tres-per-task", "cpu=2"),
        ("SALLOC_SIGNAL", "USR1@10", "signal", "USR1@10"), ("SALLOC_BELL", "1", "bell", "bell-always"),
        ("SALLOC_NO_BELL", "1", "no-bell", "bell-never"), ("SALLOC_IMMEDIATE", "5", "immediate", "5"),
        ("SALLOC_WAIT_ALL_NODES", "1", "wait-all-nodes", "1"),
    ],
    "srun": [
        ("SLURM_ACCTG_FREQ", "task=15", "acctg-freq", "task=15"), ("SLURM_CORE_SPEC", "1", "core-spec", "1"),
        ("SLURM_CLUSTERS", "test", "clusters", "test"), ("SLURM_EXCLUSIVE", "user", "exclusive", "user"),
        ("SLURM_GRES_FLAGS", "enforce-binding", "gres-flags", "enforce-binding"), ("SLURM_OVERCOMMIT", "yes", "overcommit", "set"),
        ("SLURM_PARTITION", "other", "partition", "other"), ("SLURM_RESERVATION", "r1", "reservation", "r1"),
        ("SLURM_SPREAD_JOB", "1", "spread-job", "set"), ("SLURM_USE_MIN_NODES", "1", "use-min-nodes", "set"),
        ("SLURM_TRES_PER_TASK", "cpu=2", "tres-per-task", "cpu=2"), ("SLURM_SIGNAL", "USR1@10", "signal", "USR1@10"),
        ("SLURM_BCAST_EXCLUDE", "/tmp", "bcast-exclude", "/tmp"), ("SLURM_COMPRESS", "lz4", "compress", "lz4"),
        ("SLURM_SEND_LIBS", "yes", "send-libs", "yes"), ("SLURM_CPU_FREQ_REQ", "low", "cpu-freq", "Low"),
        ("SLURM_DEPENDENCY", "singleton", "dependency", "singleton"), ("SLURM_DISABLE_STATUS", "1", "disable-status", "set"),
        ("SLURM_EXACT", "1", "exact", "set"), ("SLURM_EXTERNAL_LAUNCHER", "1", "external-launcher", "set"),
        ("SLURM_OOM_KILL_STEP", "1", "oom-kill-step", "1"), ("SLURM_OVERLAP", "1", "overlap", "set"),
        ("SLURM_THREADS", "5", "threads", "5"), ("SLURM_UNBUFFEREDIO", "1", "unbuffered", "set"), ("SLURM_WAIT", "7", "wait", "7"),
    ],
}


def said(c, command, words, env=None):
    """{option: value} of the block of -v, but for the options that every call here has."""
    program = ["--hold", "--wrap=true"] if command == "sbatch" else ["true"]
    done = c.run(command, "-n1", "-v", *words, *program, env=env)
    found = dict(re.findall(rf"^{command}: (\S+) +: (.*)$", done.err, re.M))
    return {name: value for name, value in found.items() if name not in ("ntasks", "verbose", "hold", "wrap")}


@pytest.fixture
def reserved(c):
    c.run("scontrol", "create", "reservation", "reservationname=r1", "starttime=now", "duration=60", "nodecnt=1", "users=root")
    yield c
    c.run("scancel", "-u", "root")
    wait_until(lambda: not c.run("squeue", "-h").out, "no job is left")
    c.run("scontrol", "delete", "reservationname=r1")
    c.clear()


@pytest.mark.parametrize("command", ALL)
def test_words_of_options(reserved, command):
    rows = [(words, value) for commands, words, value in WORDS if command in commands]
    got = {words: said(reserved, command, [words]) for words, _ in rows}
    assert got == {words: {words.lstrip("-").split("=")[0]: value} for words, value in rows}


@pytest.mark.parametrize("command", ALL)
def test_words_of_variables(reserved, command):
    got = {name: said(reserved, command, [], {name: value}) for name, value, _, _ in VARIABLES[command]}
    assert got == {name: {option: shown} for name, _, option, shown in VARIABLES[command]}


@pytest.mark.parametrize("command,name", [("sbatch", "SBATCH_DEBUG"), ("salloc", "SALLOC_DEBUG"), ("srun", "SLURM_DEBUG")])
def test_debug_is_as_verbose(c, command, name):
    words = ["--hold", "--wrap=true"] if command == "sbatch" else ["true"]
    assert "defined options" not in c.run(command, *words).err
    assert f"{command}: verbose             : 1\n" in c.run(command, *words, env={name: "1"}).err
    c.clear()


@pytest.mark.parametrize("command,name", [("sbatch", "SBATCH_NO_KILL"), ("salloc", "SALLOC_NO_KILL"), ("srun", "SLURM_NO_KILL")])
def test_no_kill_takes_no_value(c, command, name):
    words = ["--hold", "--wrap=true"] if command == "sbatch" else ["true"]
    assert c.run(command, *words, env={name: "1"}, check=False).err == f"{command}: error: Invalid --no-kill specification\n"


@pytest.mark.parametrize("command", CLIENTS)
def test_exit_codes_of_variables(c, command):
    """SLURM_EXIT_ERROR for errors, SLURM_EXIT_IMMEDIATE for --immediate (recorded in 42)."""
    for words in (("-p", "nosuch"), ("-M", "nosuch")):
        assert c.run(command, *words, "true", env={"SLURM_EXIT_ERROR": "77"}, check=False).rc == 77, words
    c.sbatch("--exclusive", "-N2", wrap="sleep 100")
    assert c.run(command, "--immediate=1", "true", env={"SLURM_EXIT_IMMEDIATE": "78"}, check=False).rc == 78
    c.clear()


@pytest.mark.parametrize("command", CLIENTS)
@pytest.mark.parametrize("words", [("-w", "nosuch"), ("-p", "nosuch"), ("-C", "nosuch"), ("-L", "nosuch"), ("-d", "foo:1"), ("-N", "99"),
                                   ("--reservation", "nosuch"), ("--mem", "99999999")])
def test_exit_code_of_what_could_never_start(c, command, words):
    """--immediate has nothing to do with it: as Debian's Slurm tells it."""
    env = {"SLURM_EXIT_IMMEDIATE": "78", "SLURM_EXIT_ERROR": "77"}
    assert c.run(command, "-I", *words, "true", env=env, check=False).rc == 77
