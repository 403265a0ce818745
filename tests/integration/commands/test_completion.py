"""Completion in a real bash: every option of every command, values that a query gives, words of scontrol."""

import subprocess

import pytest

from conftest import BUILD, program

CLUSTER = {"nodes": 2, "conf": "Licenses=lic:5\n"}
FILE = BUILD / "completions" / "penstock.bash"
COMMANDS = ["sbatch", "srun", "salloc", "squeue", "sinfo", "scancel", "scontrol", "sacct", "sprio", "sdiag", "sattach",
            "sbcast", "swait", "strigger"]
# What readline does with a line: words also end at = and :.
SCRIPT = r"""
source "$1"
while IFS= read -r line; do
    COMP_WORDS=(); word=
    for ((i = 0; i < ${#line}; i++)); do
        ch=${line:i:1}
        case $ch in
        ' ') [[ $word ]] && COMP_WORDS+=("$word"); word= ;;
        [=:]) [[ $word ]] && COMP_WORDS+=("$word"); COMP_WORDS+=("$ch"); word= ;;
        *) word+=$ch ;;
        esac
    done
    if [[ $word || ${line: -1} == ' ' ]]; then COMP_WORDS+=("$word"); fi
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMPREPLY=()
    "_penstock_${COMP_WORDS[0]}_complete" 2>>/dev/null
    printf '%s\t%s\n' "$line" "${COMPREPLY[*]}"
done
"""


def complete(c, *lines):
    """{line: set of words offered}"""
    env = {**c.env, "PATH": f"{BUILD}/src/cli:/usr/bin:/bin"}
    done = subprocess.run(["/bin/bash", "--norc", "-c", SCRIPT, "complete", str(FILE)], env=env, check=True, timeout=60,
                          input="".join(line + "\n" for line in lines), capture_output=True, text=True)
    return {line: set(words.split()) for line, words in (row.split("\t") for row in done.stdout.splitlines())}


def interface(command):
    out = subprocess.run([program(command), "--help-interface"], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_offered(c, command):
    options = {r[1]: r for r in interface(command) if r[0] == "option"}
    offered = complete(c, *(f"{command} --{name}" for name in options))
    for name, row in options.items():
        word = f"--{name}" + ("=" if row[3] == "required" else "")
        assert (word in offered[f"{command} --{name}"]) == (row[5] == "shown"), word


@pytest.mark.parametrize("line, words", [
    ("sbatch --partition=", {"main"}), ("sbatch -p m", {"main"}), ("squeue -p ", {"main"}),
    ("srun -w ", {"node1", "node2"}), ("srun --nodelist=node1,", {"node1,node1", "node1,node2"}),
    ("sinfo -n ", {"node1", "node2"}), ("sbatch --exclude=", {"node1", "node2"}), ("sbatch -N ", set()),
    ("squeue -u roo", {"root"}), ("sbatch --hint=mem", {"memory_bound"}), ("squeue -t RUN", {"RUNNING"}),
    ("squeue -t RUNNING,PEN", {"RUNNING,PENDING"}), ("sinfo -t dra", {"drain", "drained", "draining"}),
    ("scancel -t P", {"PENDING"}), ("scancel -s US", {"USR1", "USR2"}), ("sbatch -L l", {"lic"}),
    ("sbatch --mail-type=BEGIN,E", {"BEGIN,END"}), ("sbatch --open-mode=", {"append", "truncate"}),
    ("squeue -O jobid,Stdo", set()), ("squeue -O JobId,StdO", {"JobId,StdOut"}), ("sacct -o MaxRSSN", {"MaxRSSNode"}),
    ("scontrol rec", {"reconfigure"}), ("scontrol show par", {"partitions", "partitionname"}), ("scontrol show node ", {"node1", "node2"}),
    ("scontrol update ", {"JobId=", "NodeName=", "PartitionName=", "ReservationName="}),
    ("scontrol update NodeName=no", {"node1", "node2"}),
    ("scontrol update NodeName=node1 Rea", {"Reason="}), ("scontrol update NodeName=node1 State=DR", {"DRAIN"}),
    ("scontrol update PartitionName=main MaxT", {"MaxTime="}), ("scontrol update JobId=1 Admin", {"AdminComment="}),
    ("scontrol -o show partitions m", {"main"}), ("salloc bas", None), ("sbatch /et", {"/etc"}),
])
def test_values(c, line, words):
    offered = complete(c, line)[line]
    if words is None:
        assert "bash" in offered
    else:
        assert offered == words


def test_own_jobs(c):
    job = str(c.sbatch("--hold", wrap="true"))
    for line in ("scancel ", "squeue -j ", "scontrol show job ", "scontrol hold ", "scontrol update JobId=", "srun --jobid="):
        assert job in complete(c, line)[line], line


def test_scontrol_words(c):
    """Every command, entity and key that is not refused is offered."""
    rows = interface("scontrol")
    groups = [("scontrol ", "verb", ""), ("scontrol show ", "entity", ""), ("scontrol update JobId=1 ", "job-key", "="),
              ("scontrol update NodeName=node1 ", "node-key", "="), ("scontrol update PartitionName=main ", "partition-key", "=")]
    offered = complete(c, *(g[0] for g in groups))
    for line, kind, tail in groups:
        assert offered[line] == {r[1] + tail for r in rows if r[0] == kind and r[2] == "shown"}, kind


@pytest.mark.parametrize("line, words", [
    ("penstock u", {"ui", "up"}), ("penstock up --n", {"--nodes"}), ("penstock journal ver", {"verify"}),
    ("slurmctld --ch", {"--check"}), ("slurmd --sys", {"--systemd"}),
])
def test_daemons_and_penstock(c, line, words):
    assert complete(c, line)[line] == words
