"""Options that most commands have: help, usage, version, more words, another cluster, YAML.  What they answer is recorded (32) or
stands in the page of the command."""

import json
import re

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4}
COMMANDS = ("sbatch", "salloc", "srun", "squeue", "sinfo", "scancel", "scontrol", "sacct", "sprio", "sdiag", "sbcast", "sattach",
            "scrontab", "strigger", "swait", "sacctmgr")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_usage_version(c, command):
    helped = c.run(command, "--help")
    assert helped.out.startswith(f"Usage: {command} ") and not helped.err
    assert re.search(r"^ +(-h, )?--help\b", helped.out, re.M) and re.search(r"^ +-V, --version\b", helped.out, re.M)
    if command != "scrontab":
        assert c.run(command, "--usage").out.startswith(f"Usage: {command} ")
    assert c.run(command, "-V").out == c.run(command, "--version").out == "slurm 26.05.3\n"


@pytest.mark.parametrize("command,usage", [
    ("swait", "Usage: swait [-hQvV] [--timeout=SECS] [--usage] [<jobid>[_<task>] | s<sluid>]\n"),
    ("strigger", "Usage: strigger [--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]\n"),
])
def test_recorded_usage(c, command, usage):
    assert c.run(command, "--usage").out == usage


def test_usage_with_a_letter(c):
    assert c.run("sattach", "-u").out == c.run("sattach", "--usage").out
    assert "-u, --usage" in c.run("sattach", "--help").out


@pytest.mark.parametrize("words", [["squeue"], ["sinfo"], ["scontrol", "show", "job"], ["scontrol", "show", "node"], ["sacct"], ["sdiag"],
                                   ["sacctmgr", "show", "qos"], ["sacctmgr", "show", "tres"]])
def test_yaml_says_what_json_says(c, words):
    yaml = pytest.importorskip("yaml")

    def shape(value):
        """Numbers, times and identifiers aside: what is there."""
        if isinstance(value, dict):
            return {key: shape(inner) for key, inner in value.items()}
        return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__

    job = c.sbatch("--hold", wrap="true")
    text = c.run(words[0], "--yaml", *words[1:]).out
    assert text.startswith("%YAML 1.1\n--- !!map\n")
    ours, expected = yaml.safe_load(text), json.loads(c.run(words[0], "--json", *words[1:]).out)
    for answer in (ours, expected):
        del answer["meta"]
        answer.get("statistics", {}).clear() if words == ["sdiag"] else None
    assert shape(ours) == shape(expected)
    assert set(ours) == set(expected)
    c.run("scancel", job)
    c.clear()


def test_another_cluster(c):
    for words in (["sdiag", "-M", "{}"], ["squeue", "-M", "{}"], ["sprio", "-M", "{}"], ["strigger", "-M", "{}", "--get"]):
        done = c.run(*(w.format("nosuch") for w in words), check=False)
        assert done.rc == 1 and "'nosuch' can't be reached now" in done.err, words
    for command in (["scontrol", "show", "node", "node1"], ["squeue"], ["sdiag"], ["sprio"]):
        done = c.run(*command, env={"SLURM_CLUSTERS": "nosuch"}, check=False)
        assert done.rc == 1 and "'nosuch' can't be reached now" in done.err, command
    assert c.run("squeue", env={"SLURM_CLUSTERS": "test"}).out.startswith("CLUSTER: test\n")
    assert c.run("squeue", "-h", env={"SLURM_CLUSTERS": "test"}).out == ""  # recording 47
    assert c.run("sdiag", "-M", "test").out.startswith("*****")  # recording 49


# ---- sdiag -----------------------------------------------------------------------------------------

def calls(c, *options):
    """(name, count, average, total) of the messages, as sdiag lists them."""
    part = c.run("sdiag", *options).out.split("by message type")[1].split("Remote Procedure")[0]
    found = re.findall(r"^\t(\S+) +\( *\d+\) count:(\d+) +ave_time:(\d+) +total_time:(\d+)$", part, re.M)
    assert len(found) >= 5
    return [(name, int(count), int(average), int(total)) for name, count, average, total in found]


def test_orders_of_sdiag(c):
    for command in (["squeue"], ["squeue"], ["scontrol", "show", "partition"], ["sprio"], ["scontrol", "ping"]):
        c.run(*command)
    totals = [row[3] for row in calls(c, "-t")]
    assert totals == sorted(totals, reverse=True)
    averages = [row[2] for row in calls(c, "-T")]
    assert averages == sorted(averages, reverse=True)
    counts = [row[1] for row in calls(c)]
    assert counts == sorted(counts, reverse=True)
    assert c.run("sdiag", "-a").out.splitlines()[0] == c.run("sdiag").out.splitlines()[0]
    # names of what is counted; which messages come first in the tables depends on the times
    whole, plain = (sorted(re.sub(r"[\d()]+ *", "", line) for line in c.run("sdiag", *words).out.split("by message type")[0].splitlines())
                    for words in (["--no-trunc"], []))
    assert whole == plain and len(plain) > 20


# ---- words ---------------------------------------------------------------------------------------

def test_more_and_fewer_words(c):
    job = c.sbatch("--hold", wrap="true")
    told = c.run("scancel", "-v", job)
    assert told.err == f"scancel: Terminating job {job}\n"
    assert c.run("scancel", job, env={"SCANCEL_VERBOSE": "true"}).err.startswith(f"scancel: Terminating job {job}\n")
    assert c.run("scontrol", "-Q", "show", "job", "9999", check=False).err == ""
    assert "waiting" in c.run("swait", "-v", "9999", check=False).err
    wait_until(lambda: not c.run("squeue", "-h").out, "nothing is left")


@pytest.mark.parametrize("option", ["--input-filter", "--error-filter", "--output-filter"])
def test_filters_of_sattach_are_numbers(c, option):
    assert c.refused("sattach", f"{option}=x", "1.0") == f'sattach: error: Invalid numeric value "x" for {option[2:]}.\n'


@pytest.mark.parametrize("command", ("up", "down", "status", "env", "shell", "demo", "journal", "backup", "restore", "sim", "topograph",
                                     "report"))
def test_help_of_penstock(c, command):
    """A newcomer's first question; no cluster begins or ends by it."""
    helped = c.run("penstock", command, "--help")
    assert re.match(rf"Usage: penstock {command}\b", helped.out) and not helped.err
