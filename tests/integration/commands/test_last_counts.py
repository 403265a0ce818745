"""An option given twice, and one beside a variable that says the same: which of the two counts."""

import json

import pytest

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "PartitionName=other Nodes=ALL"}


@pytest.fixture
def queue(c):
    return {name: c.sbatch("--hold", "-J", name, "-p", part, wrap="true")
            for name, part in (("a", "main"), ("b", "other"))}


def names(c, *args, **env):
    return c.run("squeue", "-h", "-S", "i", "-o", "%j", *args, env=env).out.split()


@pytest.mark.parametrize("args, env, left", [
    (["-n", "a", "-n", "b"], {}, ["b"]), (["-n", "a,b"], {}, ["a", "b"]), (["-n", "b"], {"SQUEUE_NAMES": "a"}, ["b"]),
    (["-p", "main", "-p", "other"], {}, ["b"]), (["-p", "other"], {"SQUEUE_PARTITION": "main"}, ["b"]),
    (["-t", "R", "-t", "PD"], {}, ["a", "b"]), (["-t", "PD", "-t", "R"], {}, []), (["-t", "PD"], {"SQUEUE_STATES": "R"}, ["a", "b"]),
    (["-u", "root", "-u", "nobody"], {}, []), (["-u", "root"], {"SQUEUE_USERS": "nobody"}, ["a", "b"]),
    (["-u", "nobody", "--me"], {}, ["a", "b"]), (["--me", "-u", "nobody"], {}, []), (["-q", "normal", "-q", "x"], {}, []),
])
def test_filters_of_squeue(c, queue, args, env, left):
    assert names(c, *args, **env) == left


def test_formats_of_variables(c, queue):
    """A layout that an option asks for counts before a variable's."""
    plain = {"SQUEUE_FORMAT": "%j", "SINFO_FORMAT": "%R", "SACCT_FORMAT": "jobname"}
    assert c.run("squeue", "-h", "-S", "i", env=plain).out == "a\nb\n"
    for args in (["-l", "-h"], ["--start", "-h"], ["-s", "-h"]):
        assert c.run("squeue", *args, env=plain).out == c.run("squeue", *args).out, args
    for args in ([], ["-l"]):  # -l alone leaves it in force, without a date
        assert sorted(c.run("sinfo", "-h", *args, env=plain).out.splitlines()) == ["main", "other"], args
    for args in (["-N"], ["-s"], ["-R"], ["-N", "-l"]):
        mine, usual = (c.run("sinfo", "-h", *args, env=e).out.splitlines() for e in (plain, {}))
        assert mine[-3:] == usual[-3:] and len(mine) == len(usual), args
    assert c.run("sacct", "-X", "-P", "-l", env=plain).out.count("|") > 50


def test_long_and_format_exclude_each_other(c):
    text = "fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n"
    for name, fmt in (("squeue", "%i"), ("sinfo", "%n"), ("sacct", "jobid")):
        assert c.refused(name, "-l", "-o", fmt) == f"{name}: {text}"
    for one in ("-j", "-s"):  # a word behind them is looked at when all options are read
        assert c.refused("squeue", one, "x", "-o", "%i", "-l") == f"squeue: {text}", one


def test_nodes_of_sacct_are_the_first(c):
    job = c.sbatch("-w", "node1", wrap="true")
    c.wait_end(job)
    done = c.run("sacct", "-X", "-n", "-P", "-o", "jobid", "-N", "node2", "-N", "node1")
    assert (done.out, done.err) == ("", "sacct: error: Already asked for nodes 'node2'\n")
    assert str(job) in c.run("sacct", "-X", "-n", "-P", "-o", "jobid", "-N", "node1").out.split()


def test_filters_of_sprio(c):
    c.write_conf(c.conf.read_text() + "PriorityType=priority/multifactor\nPriorityWeightAge=10\n")
    c.run("scontrol", "reconfigure")
    full = [c.sbatch("-n4", "-w", n, wrap="sleep 60") for n in ("node1", "node2")]
    for job in full:
        c.wait_state(job, "RUNNING")
    jobs = [str(c.sbatch("-n4", "-p", part, wrap="true")) for part in ("main", "other")]

    def listed(*args):
        return c.run("sprio", "-h", "-S", "i", "-o", "%i", *args).out.split()
    assert listed() == listed("-j") == jobs
    assert listed("-j", jobs[1]) == listed(f"-j{jobs[1]}") == listed("--jobs", jobs[1]) == [jobs[1]]
    assert listed("-p", "main", "-p", "other") == [jobs[1]]
    assert listed("-u", "root", "-u", "nobody") == [] and listed("-u", "nobody", "-u", "root") == jobs
    done = c.run("sprio", "-j", *jobs, check=False)
    assert done.rc == 1 and done.err == f"sprio: error: Unrecognized option: {jobs[1]}\n"


def test_columns_of_sreport_add_up(c):
    out = c.run("sreport", "-P", "cluster", "utilization", "format=cluster", "format=idle,down").out
    assert out.splitlines()[4] == "Cluster|Idle|Down"


def test_a_script_is_shown_with_its_arguments(c):
    """Each list tells runs of one script apart."""
    script = c.script("true")
    job = int(c.run("sbatch", "--parsable", "--hold", script, "x", "y z", "", "--last").out)
    line = f"{script} x y z  --last"
    assert f"   Command={line}\n" in c.run("scontrol", "show", "job", job).out
    assert c.run("squeue", "-h", "-j", job, "-o", "%o").out == line + "\n"
    assert json.loads(c.run("squeue", "--json", "-j", job).out)["jobs"][0]["command"] == line
    c.run("scancel", job)
    alone = int(c.run("sbatch", "--parsable", "--hold", script).out)
    assert c.run("squeue", "-h", "-j", alone, "-o", "%o").out == f"{script}\n"
