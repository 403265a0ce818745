"""Every name of docs/interface.md is given to a real cluster: what works is taken, what is refused is
refused with a sentence, and nothing is taken in silence."""

import json
import subprocess

import pytest

from conftest import ROOT, program

CLUSTER = {"nodes": 2, "cpus": 8, "conf": "GresTypes=gpu\nPriorityType=priority/multifactor\nLicenses=lic:5\nMCSPlugin=mcs/label\n",
           "node_options": "Features=f1 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1"}


TAKEN = ("works", "works, not shown by a test", "accepted, no effect")


def rows(command, kind):
    """(name, state) of the page."""
    inside = False
    for line in (ROOT / "docs/interface.md").read_text().splitlines():
        if line.startswith("## "):
            inside = line == "## " + command
        elif inside and line.startswith(f"| {kind} | "):
            cell, state = (c.strip() for c in line.split(" | ")[1:3])
            yield cell.strip("`").split(", ")[-1].split("` `")[0].lstrip("-"), state


def table(command):
    """name: (kind of argument, shown|hidden|refused)"""
    out = subprocess.run([program(command), "--help-interface"], check=True, capture_output=True, text=True)
    found = [line.split("\t") for line in out.stdout.splitlines()]
    return {r[1]: (r[3], r[5], r[2]) for r in found if r[0] == "option"}


# A good value of each option that needs one.
JOB = {
    "account": "none", "acctg-freq": "task=30", "array": "0-1", "batch": "f1", "bb": "x", "delay-boot": "5",
    "mem-update": "10@5", "slurmd-debug": "debug", "ntasks-per-tres": "1", "bcast-exclude": "/lib", "begin": "now+1hour", "chdir": "/tmp",
    "cluster-constraint": "gpu", "clusters": "all", "comment": "c", "constraint": "f1", "container": "/tmp", "container-id": "id1",
    "core-spec": "0", "cores-per-socket": "2",
    "thread-spec": "1", "cpu-freq": "low", "cpus-per-gpu": "1", "cpus-per-task": "2", "cpu-bind": "none", "deadline": "now+2hours",
    "dependency": "singleton", "distribution": "cyclic", "error": "/dev/null", "exclude": "node2", "export": "NONE",
    "export-file": "{env}", "extra": "x", "extra-node-info": "1:2:1", "gpu-bind": "closest", "tres-bind": "gres/gpu:closest",
    "gpu-freq": "low", "gres-flags": "disable-binding", "hint": "nomultithread", "input": "/dev/null", "job-name": "n",
    "kill-on-invalid-dep": "yes", "mcs-label": "red", "licenses": "lic:1", "resources": "lic:1", "mail-type": "END", "mail-user": "u",
    "mem": "10", "mem-bind": "none", "mem-per-cpu": "10", "mincpus": "2", "network": "x", "nodefile": "{nodes}", "nodelist": "node1",
    "nodes": "2", "ntasks": "2", "ntasks-per-core": "1", "ntasks-per-node": "2", "ntasks-per-socket": "1",
    "open-mode": "append", "output": "/dev/null", "partition": "main", "prefer": "f1", "priority": "5",
    "profile": "task", "qos": "normal", "runtime": "none", "segment": "1", "signal": "USR1@60", "sockets-per-node": "1", "switches": "1",
    "tasks-per-node": "2", "threads-per-core": "1", "time": "10", "time-min": "5", "tmp": "0", "tres-per-task": "cpu=2",
    "wait-all-nodes": "1", "wckey": "w", "wrap": "true", "ntasks-per-gpu": "1", "mem-per-gpu": "10",
    # srun and salloc
    "bcast": "{bcast}", "epilog": "/bin/true", "prolog": "/bin/true", "task-epilog": "/bin/true",
    "task-prolog": "/bin/true", "ignore-signals": "USR1", "mpi": "none", "msg-timeout": "10", "relative": "0",
    "threads": "4", "treewidth": "5", "wait": "5", "gid": "0", "uid": "0",
}
# What goes with it; what cannot stand alone.
WITH = {"time-min": ["--time=10"], "time": [], "deadline": ["--time=5"], "segment": ["--nodes=2"], "batch": ["--constraint=f1"],
        "no-allocate": ["--nodelist=node1"]}
# Refused where they stand alone: srun has no job whose nodes it could count, salloc no step that a container could hold.
ALONE = {("srun", "relative"): "srun: fatal: --relative option invalid for job allocation request\n",
         ("salloc", "container"): "salloc: error: --container requires LaunchParameters=use_interactive_step\n"}
# They need devices, another job or a person: tests of their own.
ELSEWHERE = {
    "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "cpus-per-gpu", "mem-per-gpu",
    "ntasks-per-gpu", "reservation", "het-group", "jobid", "external-launcher", "multi-prog", "async", "pty",
    "interactive", "external", "help", "usage", "version", "test-only", "wait", "no-shell", "parsable", "quiet", "verbose",
    "wait-for-children", "resv-ports", "x11",
}
# These change nothing in a job's record: an effect elsewhere, the default, or advisory (docs/interface.md).
NO_RECORD = {
    "clusters", "export", "export-file", "partition", "wrap", "ignore-pbs", "acctg-freq", "uid", "gid", "hold",
    "requeue", "propagate", "mem-bind", "gpu-bind", "distribution", "qos", "account", "priority", "tmp", "core-spec",
    "bb", "delay-boot", "batch", "reboot", "ntasks-per-tres",
}


def fill(value, tmp_path):
    (tmp_path / "nodes").write_text("node1\n")
    (tmp_path / "env").write_text("A=b\0")
    return value.format(nodes=tmp_path / "nodes", env=tmp_path / "env", bcast=tmp_path / "bcast")


def argument(name, options, values, tmp_path):
    kind = options[name][0]
    if kind == "required" or (kind == "optional" and name in values):
        return f"--{name}={fill(values[name], tmp_path)}"
    return f"--{name}"


def refused(done):
    return done.rc != 0 and ("not supported" in done.err or "unrecognized option" in done.err)


def submit_command(command, words):
    if command == "sbatch":
        wrap = [] if any(w.startswith("--wrap") for w in words) else ["--wrap=true"]
        return ["sbatch", "--parsable", "--hold", *words, *wrap]
    return [command, *words, "/bin/true"]


@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_submission_options(c, command, tmp_path):
    options, wrong = table(command), []
    c.clear()
    for name, state in rows(command, "option"):
        if state == "refused":
            word = f"--{name}=x" if options.get(name, ["none"])[0] == "required" else f"--{name}"
            done = c.run(*submit_command(command, [word]), check=False)
            if not refused(done):
                wrong.append(f"--{name} is not refused: {done.rc} {done.err}")
        elif name not in ELSEWHERE and not (command != "sbatch" and name in ("begin", "hold", "dependency")):
            words = [argument(name, options, JOB, tmp_path), *WITH.get(name, [])]
            done = c.run(*submit_command(command, words), check=False)
            if (command, name) in ALONE:
                assert (done.rc, done.err) == (1, ALONE[command, name])
            elif done.rc != 0:
                wrong.append(f"{words}: {done.rc} {done.err}")
    assert not wrong, "\n".join(wrong)


def record(c, *words):
    job = c.run("sbatch", "--parsable", "--hold", *words, *([] if words and "--wrap" in words[0] else ["--wrap=true"])).out.strip()
    text = json.loads(c.run("scontrol", "--json", "show", "job", job).out)["jobs"][0]
    detail = c.run("scontrol", "show", "job", job).out
    env = c.run("scontrol", "write", "batch_script", job, "-").out
    for key in ("job_id", "submit_time", "eligible_time", "submit_line", "last_sched_evaluation", "priority", "step_id",
                "standard_output", "standard_error", "stdout_expanded", "stderr_expanded", "sluid", "accrue_time"):
        text.pop(key, None)
    return text, env, len(detail)


def test_options_change_the_record(c, tmp_path):
    """No option of sbatch is swallowed: the job differs from one without it."""
    plain, wrong, options = record(c), [], table("sbatch")
    for name, state in rows("sbatch", "option"):
        if state not in TAKEN or name in ELSEWHERE | NO_RECORD:
            continue
        with_it = record(c, argument(name, options, JOB, tmp_path), *WITH.get(name, []))
        without = record(c, *WITH[name]) if name in WITH else plain
        if with_it[0] == without[0] and with_it[2] == without[2]:
            wrong.append(f"--{name} changes nothing")
    assert not wrong, "\n".join(wrong)


QUERY = {
    "admin-comment": "x", "account": "a", "accounts": "a", "associations": "1", "clusters": "all", "cluster": "all", "format": "%i",
    "Format": "jobid", "iterate": None, "jobs": "1,2", "licenses": "lic", "name": "n", "names": "n", "jobname": "n", "nodelist": "node1",
    "partition": "main", "partitions": "main", "qos": "normal", "reservation": "r", "running-over": "1",
    "running-under": "1", "sort": "i", "states": "R", "state": "R", "user": "root", "users": "root", "nodes": "node1",
    "sibling": "test", "signal": "USR1", "wckey": "w", "wckeys": "w", "delimiter": ";", "endtime": "now", "starttime": "now-1hour",
    "gid": "0", "group": "0", "uid": "0", "nnodes": "1", "ncpus": "1", "reason": "None", "constraints": "f1",
    "file": "/dev/null", "flags": "SchedMain", "timelimit-max": "10", "timelimit-min": "1", "units": "M", "json": None, "interactive": None,
    "watch": None, "since": None, "help": None, "usage": None, "version": None, "batch-script": None, "completion": None,
    "env-vars": None, "explain": None, "changes-only": None, "no-snapshot": None, "steps": "1.0",
}
FORMAT = {"sinfo": "%P", "sacct": "jobid", "sprio": "%i", "squeue": "%i"}
LONG = {"sinfo": "partition", "squeue": "jobid"}
SORT = {"sinfo": "P", "sprio": "i", "squeue": "i"}
SPECIAL = {("scancel", "state"): "--state=PENDING", ("sinfo", "states"): "--states=idle", ("sinfo", "state"): "--state=idle"}
AFTER = {"scontrol": ["show", "node"]}
EXITS = {("scancel", "sibling"): 191}  # the job is no federation's (65-cancel-signals)
WITH_QUERY = {("sacct", "timelimit-max"): ["--timelimit-min=1"]}


@pytest.mark.parametrize("command", ["squeue", "sinfo", "scancel", "scontrol", "sacct", "sprio", "sdiag"])
def test_query_options(c, command):
    options, wrong = table(command), []
    for _ in range(2):
        c.sbatch("--hold", wrap="true")
    after = AFTER.get(command, [])
    for name, state in rows(command, "option"):
        kind = options[name][0]
        values = {**QUERY, "format": FORMAT.get(command), "Format": LONG.get(command), "sort": SORT.get(command)}
        if state == "refused":
            done = c.run(command, f"--{name}=x" if kind == "required" else f"--{name}", check=False)
            if done.rc == 0 or not done.err.strip():
                wrong.append(f"--{name} is not refused: {done.rc} {done.err}")
        elif name in values and values[name] is None:
            continue
        else:
            word = f"--{name}={values[name]}" if kind == "required" else f"--{name}"
            if command == "scancel":
                after = [str(c.sbatch(wrap="sleep 100"))]
                c.wait_state(after[0], "RUNNING")
            if (command, name) in SPECIAL:
                word = SPECIAL[command, name]
            done = c.run(command, word, *WITH_QUERY.get((command, name), []), *after, check=False)
            if done.rc != EXITS.get((command, name), 0):
                wrong.append(f"{word}: {done.rc} {done.err}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command, option", [("squeue", "-O"), ("sinfo", "-O"), ("sacct", "-o"), ("sprio", "-o")])
def test_fields(c, command, option):
    names = [n for n, state in rows(command, "format field") if state in TAKEN]
    assert names
    for name in names:
        done = c.run(command, option, name)
        assert not done.err and done.out, name
    if command == "squeue":
        for name, _ in rows(command, "format field of steps"):
            assert not c.run("squeue", "-s", "-O", name).err, name


NO_POWER = "slurm_update error: Invalid power action\n"
STATE_REFUSALS = {
    "CANCEL_REBOOT": "slurm_update error: Invalid node state transition\n", "POWER_DOWN": NO_POWER, "POWER_DOWN_ASAP": NO_POWER,
    "POWER_DOWN_FORCE": NO_POWER, "POWER_UP": NO_POWER,
}


def test_scontrol_words_that_are_refused(c):
    for name, state in rows("scontrol", "command"):
        if state == "refused":
            done = c.run("scontrol", name, "node1", check=False)
            assert done.rc == 1 and done.err.startswith("scontrol: error: "), name
    for name, state in rows("scontrol", "show"):
        done = c.run("scontrol", "show", name, *(["n[1-2]"] if name.startswith("host") else []), check=False)
        assert (done.rc == 0) == (state in TAKEN), (name, done.err)
        if state == "refused":
            assert "not supported" in done.err, name
    for name, state in rows("scontrol", "update node State="):
        if state == "refused":
            assert c.refused("scontrol", "update", "NodeName=node1", "State=" + name) == STATE_REFUSALS[name], name


UPDATE = {
    "account": "a", "admincomment": "x", "arraytaskthrottle": "2", "comment": "x", "contiguous": "yes", "corespec": "0",
    "cpuspertask": "2", "deadline": "now+1day", "dependency": "", "eligibletime": "now+1hour", "excnodelist": "node2",
    "extra": "x", "features": "f1", "gres": "", "jobname": "n2", "name": "n3", "licenses": "lic:1", "mailtype": "END",
    "mailuser": "u", "mincpusnode": "2", "minmemorycpu": "10", "minmemorynode": "10", "mintmpdisknode": "0", "nice": "5",
    "nodelist": "node1", "numcpus": "2", "numnodes": "1", "numtasks": "2", "oversubscribe": "yes", "partition": "main", "prefer": "f1",
    "priority": "7", "qos": "normal", "reboot": "no", "reqcores": "1", "reqnodelist": "node1", "reqnodes": "1",
    "reqprocs": "2", "reqsockets": "1", "reqthreads": "1", "requeue": "0", "reservationname": "", "starttime": "now+1hour",
    "stderr": "/tmp/e", "stdin": "/dev/null", "stdout": "/tmp/o", "switches": "1", "taskspernode": "1",
    "timelimit": "20", "timemin": "5", "userid": "root",
    "wckey": "w", "workdir": "/tmp", "network": "x",
}
# As recorded; other fields "cannot be updated".
# The cluster does not let users specialise cores (AllowSpecResourcesUsage, recording 58).
NOT_ALLOWED = {"corespec": "Access/permission denied", "threadspec": "Access/permission denied",
               "clusterfeatures": "Unspecified error"}  # of a job of no federation: 48-job-update-hold
JOB_REFUSALS = {"burstbuffer": "Requested operation not supported on this system for job"}
NOT_PENDING = {"endtime", "account", "qos", "userid"}  # running jobs, accounting: tests of their own


def test_update_job_fields(c):
    wrong = []
    for name, state in rows("scontrol", "update job"):
        key = name.lower().split("[")[0]
        if state in TAKEN and key in NOT_PENDING:
            continue
        array = ["--array=0-3"] if "array" in key else []
        job = c.sbatch("--hold" if key != "priority" else "--begin=now+1hour", "--time=30", *array, wrap="true")
        done = c.run("scontrol", "update", f"JobId={job}", f"{name}={UPDATE.get(key, '1')}", check=False)
        if key in NOT_ALLOWED:
            if NOT_ALLOWED[key] not in done.err:
                wrong.append(f"{name}: {done.rc} {done.err}")
        elif (done.rc == 0) != (state in TAKEN) or (state == "refused" and JOB_REFUSALS.get(key, "cannot be updated") not in done.err):
            wrong.append(f"{name} {state}: {done.rc} {done.err}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("what, kind, value", [("NodeName=node1", "update node", "1"),
                                               ("PartitionName=main", "update partition", "1")])
def test_update_keys_that_are_refused(c, what, kind, value):
    for name, state in rows("scontrol", kind):
        if state == "refused":
            err = c.refused("scontrol", "update", what, f"{name}={value}")
            assert "cannot be updated" in err or "is not supported" in err, name


def test_help_names_every_option():
    """--help, --usage and -V of every command that has an option table."""
    for command in ("sbatch", "srun", "salloc", "squeue", "sinfo", "scancel", "scontrol", "sacct", "sprio", "sdiag",
                    "sattach", "sbcast", "swait", "strigger", "sh5util"):
        run = lambda *a: subprocess.run([program(command), *a], capture_output=True, text=True)
        text, usage = run("--help"), run("--usage")
        assert text.returncode == usage.returncode == 0 and text.stdout.startswith(f"Usage: {command} ")
        for name, (_, state, letter) in table(command).items():
            listed = f"--{name}" in text.stdout.replace("[=", " ").replace("=", " ").split()
            assert listed == (state == "shown"), (command, name)
            if state == "shown" and name not in ("help", "usage", "version") and command not in ("sprio", "strigger", "swait"):  # recorded
                assert f"--{name}" in usage.stdout or f"-{letter} " in usage.stdout, (command, name)
        for option in ("-V", "--version"):
            assert run(option).stdout == "slurm 26.05.3\n"
