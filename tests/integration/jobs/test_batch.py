"""sbatch: what it prints, where output goes, exit codes, scripts, arguments, environment, limits, cancelling."""

import getpass
import os
import re
import subprocess

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1"}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def said(c, job, text):
    """Until the job's output holds the text."""
    path = c.work / f"slurm-{job}.out"
    wait_until(lambda: path.exists() and text in path.read_text(), f"job {job} says {text!r}")


# ---- submission ------------------------------------------------------------------------------------

def test_answers(c):
    script = c.script("true")
    done = c.run("sbatch", script)
    assert re.fullmatch(r"Submitted batch job \d+\n", done.out) and done.err == ""
    assert re.fullmatch(r"\d+\n", c.run("sbatch", "--parsable", script).out)
    done = c.run("sbatch", "-Q", script)
    assert (done.out, done.err) == ("", "")


def test_numbers_go_up_by_one(c):
    jobs = [c.sbatch("-H", wrap="true") for _ in range(5)]
    assert jobs == list(range(jobs[0], jobs[0] + 5))


def test_verbose_lists_the_options(c):
    err = c.run("sbatch", "-v", "-J", "hello", "-n2", "-t5", c.script("true")).err
    assert err.startswith("sbatch: defined options\nsbatch: -------------------- --------------------\n")
    assert "sbatch: job-name            : hello\n" in err
    assert "sbatch: time                : 00:05:00\n" in err
    assert err.endswith("sbatch: end of defined options\n")


def test_script_from_stdin(c):
    done = c.run("sbatch", "-J", "fromstdin", input="#!/bin/sh\n#SBATCH -n 2\necho hi from stdin $SLURM_NTASKS\n")
    job = int(done.out.split()[-1])
    assert c.wait_end(job)["JobName"] == "fromstdin"
    assert c.out(job) == "hi from stdin 2\n"
    job = int(c.run("sbatch", "--parsable", input="#!/bin/sh\ntrue\n").out)
    assert c.wait_end(job)["JobName"] == "sbatch"


def test_arguments(c):
    script = c.script('for a in "$@"; do echo "[$a]"; done')
    job = int(c.run("sbatch", "--parsable", script, "one", "two words", "", "--hold", "$HOME", "*").out)
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(job) == "[one]\n[two words]\n[]\n[--hold]\n[$HOME]\n[*]\n"


def test_other_interpreters(c):
    (c.work / "job.py").write_text("#!/usr/bin/python3\n#SBATCH -J py\nimport sys\nprint(sys.argv[1])\nsys.exit(6)\n")
    job = int(c.run("sbatch", "--parsable", "job.py", "x").out)
    record = c.wait_end(job)
    assert (record["JobName"], record["ExitCode"]) == ("py", "6:0")
    assert c.out(job) == "x\n"


def test_the_script_is_kept_as_submitted(c):
    script = c.script("echo first")
    job = int(c.run("sbatch", "-H", "--parsable", script).out)
    c.script("echo second")
    assert c.run("scontrol", "write", "batch_script", job, "-").out == "#!/bin/bash\necho first\n"
    done = c.run("scontrol", "write", "batch_script", job)
    assert done.out == f"batch script for job {job} written to slurm-{job}.sh\n"
    assert (c.work / f"slurm-{job}.sh").read_text() == "#!/bin/bash\necho first\n"
    c.run("scontrol", "release", job)
    c.wait_end(job)
    assert c.out(job) == "first\n"


def test_wrapped_script(c):
    job = c.sbatch("-H", wrap="sleep 40")
    assert c.run("scontrol", "write", "batch_script", job, "-").out == (
        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsleep 40\n")


def test_large_script_is_whole(c):
    lines = "".join(f"# line {i} {'x' * 80}\n" for i in range(20000))  # 1.9 MB
    (c.work / "big.sh").write_text("#!/bin/bash\n" + lines + "echo end\n")
    job = int(c.run("sbatch", "--parsable", "big.sh").out)
    c.wait_end(job)
    assert c.out(job) == "end\n"


def test_name_of_the_script(c):
    """life-11.14: $0 is SPOOL/jobNNNNN/slurm_script, which a script may look at while it runs; nothing of that name stays."""
    job = c.sbatch(wrap="echo $0; basename $0; cat $0; cd $(dirname $0) && ls -l slurm_script; cd $SLURM_SUBMIT_DIR; "
                        "while [ ! -e go ]; do sleep 0.1; done")
    wait_until(lambda: "rwx" in c.out(job), "it runs")
    (c.work / "go").touch()
    c.wait_end(job)
    lines = c.out(job).splitlines()
    assert re.fullmatch(rf"/.*/job{job:05}/slurm_script", lines[0]) and lines[1] == "slurm_script" and lines[2] == "#!/bin/sh", lines
    assert lines[-1].startswith("-rwx------") and "Permission" not in c.out(job), lines
    wait_until(lambda: not os.path.lexists(os.path.dirname(lines[0])), "the link is gone")


def test_name_of_a_script_after_slurmd_was_killed(make_cluster):
    c = make_cluster(nodes=1)
    job = c.sbatch(wrap="echo $0; while [ ! -e go ]; do sleep 0.1; done")
    wait_until(lambda: c.out(job), "it runs")
    link = os.path.dirname(c.out(job).strip())
    c.slurmds["node1"].kill()
    assert os.path.islink(link)
    (c.work / "go").touch()
    c.start_slurmd("node1")
    c.wait_end(job)
    wait_until(lambda: not os.path.lexists(link), "the link is gone")


def test_chdir(c):
    (c.work / "sub").mkdir()
    job = c.sbatch("-D", str(c.work / "sub"), wrap="pwd; echo $SLURM_SUBMIT_DIR")
    c.wait_end(job)
    assert (c.work / "sub" / f"slurm-{job}.out").read_text() == f"{c.work}/sub\n{c.work}\n"
    job = c.sbatch("--chdir=sub", wrap="pwd")
    c.wait_end(job)
    assert (c.work / "sub" / f"slurm-{job}.out").read_text() == f"{c.work}/sub\n"


def test_missing_folder_falls_back_to_tmp(c):
    job = c.sbatch("-D", str(c.work / "nosuch"), "-o", str(c.work / "out.txt"), wrap="pwd")
    c.wait_end(job)
    text = (c.work / "out.txt").read_text()
    assert f"couldn't chdir to `{c.work}/nosuch': No such file or directory: going to /tmp instead" in text
    assert text.endswith("\n/tmp\n")


def test_directives_stop_at_the_first_command(c):
    job = c.sbatch("-H", script="# a comment\n#SBATCH -J good\n\n#SBATCH --comment=seen # words\necho\n#SBATCH -J late")
    assert c.job(job)["JobName"] == "good"
    assert c.job(job)["Comment"] == "seen"


@pytest.mark.parametrize("name,value,key,shown", [
    ("SBATCH_JOB_NAME", "env-name", "JobName", "env-name"), ("SBATCH_TIMELIMIT", "7", "TimeLimit", "00:07:00"),
    ("SBATCH_PARTITION", "main", "Partition", "main"), ("SBATCH_REQUEUE", "", "Requeue", "1"),
    ("SBATCH_NO_REQUEUE", "", "Requeue", "0"), ("SBATCH_MEM_PER_CPU", "77", "MinMemoryCPU", "77M")])
def test_environment_variables_are_options(c, name, value, key, shown):
    job = c.sbatch("-H", wrap="true", env={name: value})
    assert c.job(job)[key] == shown


def test_two_variables_of_memory(c):
    """The variables are named, as 22.05 does; of two options the sentence is recorded (04)."""
    both = {"SBATCH_MEM_PER_CPU": "50", "SBATCH_MEM_PER_NODE": "100"}
    done = c.run("sbatch", "-H", "--wrap", "true", env=both, check=False)
    assert (done.rc, done.err) == (1, "sbatch: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are "
                                        "mutually exclusive.\n")
    assert c.job(c.sbatch("-H", "--mem=7", wrap="true", env=both))["MinMemoryNode"] == "7M"


def test_options_beat_environment_beats_script(c):
    script = c.script("#SBATCH -J script -t 3 --comment=script\ntrue")
    env = {"SBATCH_JOB_NAME": "env", "SBATCH_TIMELIMIT": "4"}
    job = int(c.run("sbatch", "-H", "--parsable", "-J", "line", script, env=env).out)
    record = c.job(job)
    assert (record["JobName"], record["TimeLimit"], record["Comment"]) == ("line", "00:04:00", "script")


# ---- output files ----------------------------------------------------------------------------------

PATTERNS = [  # after the recorded transcript of output file names
    ("x.%j", [], "x.{j}"), ("x.%J", [], "x.{j}"), ("x.%A.%a", [], "x.{j}.4294967294"), ("x.%N.%n", [], "x.node1.0"),
    ("x.%t", [], "x.0"), ("x.%u.%x", ["-J", "nm"], "x.{u}.nm"), ("x.%8j", [], "x.{j:08}"), ("x.%%.%j", [], "x.%.{j}"),
    ("\\\\x.%j", [], "x.%j"), ("x.%s", [], "x.batch"), ("x.%Q", [], "x.%Q"), ("x.%r", [], "x.0"),
    ("%x/%j", ["-J", "folder"], "folder/{j}")]


@pytest.mark.parametrize("pattern,options,name", PATTERNS, ids=[p[0] for p in PATTERNS])
def test_output_pattern(c, pattern, options, name):
    (c.work / "folder").mkdir()
    job = c.sbatch("-w", "node1", "-o", pattern, *options, wrap="echo out; echo err >&2")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    path = c.work / name.format(j=job, u=getpass.getuser())
    assert path.is_file(), os.listdir(c.work)
    assert path.read_text() == "out\nerr\n"


def test_output_and_error(c):
    job = c.sbatch("-e", "e.%j", wrap="echo out; echo err >&2")
    c.wait_end(job)
    assert c.out(job) == "out\n" and (c.work / f"e.{job}").read_text() == "err\n"
    job = c.sbatch("-o", "o.%j", "-e", "o.%j", wrap="echo out; echo err >&2")
    c.wait_end(job)
    assert (c.work / f"o.{job}").read_text() == "out\nerr\n"


def test_output_nowhere(c):
    for word in ("/dev/null", "none", "NONE"):  # recorded in 63: no file "none"
        job = c.sbatch("-o", word, wrap="echo out")
        assert "StdOut=/dev/null\n" in c.run("scontrol", "show", "job", job).out
        c.wait_end(job)
    assert not list(c.work.iterdir())
    c.wait_end(c.sbatch("-i", "none", "-e", "None", wrap="cat; echo out; echo err >&2", env={"SBATCH_OUTPUT": "o.txt"}))
    assert [f.name for f in c.work.iterdir()] == ["o.txt"] and (c.work / "o.txt").read_text() == "out\n"
    assert "output              : /dev/null\n" in c.run("sbatch", "-v", "-o", "none", "--wrap=true", env={"SBATCH_TEST_ONLY": "1"}).err


def test_output_below_a_file_fails_the_job(c):
    (c.work / "plain").touch()
    job = c.sbatch("-o", "plain/%j", wrap="touch ran")
    record = c.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("FAILED", "0:53")
    assert record["Reason"] == "RaisedSignal:53(Real-time_signal_19)"
    assert not (c.work / "ran").exists()
    c.wait_nodes()


def test_missing_folders_of_output_are_made(c):
    job = c.sbatch("-o", "late/and/%j", wrap="echo out")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert (c.work / "late" / "and" / str(job)).read_text() == "out\n"


def test_input_file(c):
    (c.work / "in").write_text("some input\n")
    job = c.sbatch("-i", "in", wrap="cat")
    c.wait_end(job)
    assert c.out(job) == "some input\n"
    job = c.sbatch(wrap="wc -c")
    c.wait_end(job)
    assert c.out(job) == "0\n"


def test_open_mode(c):
    for options, text in [(["--open-mode=append"], "old\nnew\n"), (["--open-mode=truncate"], "new\n"), ([], "new\n")]:
        (c.work / "log").write_text("old\n")
        c.wait_end(c.sbatch("-o", "log", *options, wrap="echo new"))
        assert (c.work / "log").read_text() == text


def test_umask_travels(c):
    old = os.umask(0o027)
    try:
        job = c.sbatch(wrap="umask; touch made")
    finally:
        os.umask(old)
    c.wait_end(job)
    assert c.out(job) == "0027\n"
    assert (c.work / "made").stat().st_mode & 0o777 == 0o640


# ---- exit codes ------------------------------------------------------------------------------------

@pytest.mark.parametrize("command,rc,state,code,reason", [
    ("exit 0", 0, "COMPLETED", "0:0", "None"), ("exit 3", 3, "FAILED", "3:0", "NonZeroExitCode"),
    ("exit 300", 44, "FAILED", "44:0", "NonZeroExitCode"), ("kill -9 $$", 1, "FAILED", "0:9", "RaisedSignal:9(Killed)"),
    ("kill -TERM $$", 1, "FAILED", "0:15", "RaisedSignal:15(Terminated)")])
def test_wait(c, command, rc, state, code, reason):
    done = c.run("sbatch", "--wait", "--wrap", command, check=False)
    assert done.rc == rc
    record = c.job(int(done.out.split()[-1]))
    assert (record["JobState"], record["ExitCode"], record["Reason"]) == (state, code, reason)


def test_wait_for_an_array_gives_the_highest_code(c):
    assert c.run("sbatch", "-W", "--array=1-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID", check=False).rc == 3


def test_wait_sees_a_cancel(c):
    p = c.popen("sbatch", "-W", "-H", "--wrap", "true", stdout=-1)
    job = int(p.stdout.readline().split()[-1])
    c.run("scancel", job)
    p.communicate(timeout=20)
    assert p.returncode is not None  # and does not wait for ever


def test_missing_interpreter(c):
    (c.work / "job.sh").write_text("#!/no/such/interpreter\ntrue\n")
    job = int(c.run("sbatch", "--parsable", "job.sh").out)
    record = c.wait_end(job)
    assert record["JobState"] == "FAILED" and record["ExitCode"] != "0:0"
    assert "No such file or directory" in c.out(job)


# ---- test-only -------------------------------------------------------------------------------------

def test_test_only(c):
    done = c.run("sbatch", "--test-only", "-N2", "--wrap", "true")
    assert done.out == ""
    assert re.fullmatch(rf"sbatch: Job \d+ to start at {TIME} a using \d+ processors on nodes node\[1-2\] "
                        r"in partition main\n", done.err), done.err
    assert c.refused("sbatch", "--test-only", "-N50", "-n50", "--wrap", "true") == (
        "allocation failure: Requested node configuration is not available\n")
    assert c.refused("sbatch", "--test-only", "-C", "a", "--batch=b", "--wrap", "true") == (
        "allocation failure: Job --batch option is invalid or not a subset of --constraint\n")
    assert c.refused("sbatch", "--test-only", "-p", "nosuch", "--wrap", "true").endswith(
        "allocation failure: Invalid partition name specified\n")
    assert c.run("squeue", "-h").out == ""


def test_test_only_while_nodes_are_awaited(make_cluster):
    """A controller that has just started shows its nodes as idle and has not heard of them yet: it said that there are none."""
    c = make_cluster(nodes=2)
    c.kill_ctld()
    for node in c.node_names:
        c.slurmds[node].kill()
    c.start_ctld()
    assert c.run("sinfo", "-h", "-o", "%T").out == "idle\n"
    said = c.run("sbatch", "--test-only", "-N2", "--wrap", "true").err
    assert re.fullmatch(r"sbatch: Job \d+ to start at \S+ a using 2 processors on nodes node\[1-2\] in partition main\n", said), said
    job = c.sbatch(wrap="true")
    assert c.state(job) == "PENDING"


# ---- environment -----------------------------------------------------------------------------------

ENV_SCRIPT = 'env | grep -E "^(SLURM|SBATCH|ENVIRONMENT|TMPDIR|HOSTNAME)" | sort'
# Every name of the recorded environment with the form of its value; None: only its presence.
ENV = {"ENVIRONMENT": "BATCH", "SLURMD_NODENAME": "node1", "SLURM_CLUSTER_NAME": "test", "SLURM_CPUS_ON_NODE": "1",
       "SLURM_GTIDS": "0", "SLURM_JOB_CPUS_PER_NODE": "1", "SLURM_JOB_END_TIME": r"\d{10}", "SLURM_JOB_NAME": "job.sh",
       "SLURM_JOB_NODELIST": "node1", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_PARTITION": "main",
       "SLURM_JOB_START_TIME": r"\d{10}", "SLURM_JOB_UID": str(os.getuid()),
       "SLURM_JOB_GID": str(os.getgid()), "SLURM_JOB_USER": getpass.getuser(), "SLURM_LOCALID": "0",
       "SLURM_MEM_PER_CPU": "100", "SLURM_NNODES": "1", "SLURM_NODEID": "0", "SLURM_NODELIST": "node1",
       "SLURM_PRIO_PROCESS": str(os.nice(0)), "SLURM_PROCID": "0", "SLURM_SUBMIT_HOST": r"\S+", "SLURM_TASKS_PER_NODE": "1",
       "SLURM_TASK_PID": r"\d+", "SLURM_OOM_KILL_STEP": "0", "TMPDIR": r"/\S+",
       "SLURM_JOB_EXCLUSIVE": "NO", "SLURM_JOB_OVERSUBSCRIBE": "NO",
       "HOSTNAME": r"\S+", "SLURM_STEPID": "-5", "SLURM_STEP_ID": "-5"}


def batch_env(c, *options):
    job = c.sbatch("-w", "node1" if "-N2" not in options else "node[1-2]", *options, script=ENV_SCRIPT)
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    return job, dict(line.split("=", 1) for line in c.out(job).splitlines())


def test_environment_of_one_task(c):
    job, env = batch_env(c, "-t", "10")
    wrong = {k: (env.get(k), form) for k, form in ENV.items() if not re.fullmatch(form, env.get(k, "(unset)"))}
    assert not wrong
    assert env["SLURM_JOB_ID"] == env["SLURM_JOBID"] == str(job)
    assert env["SLURM_CONF"] == str(c.conf) and env["SLURM_SUBMIT_DIR"] == str(c.work)
    assert int(env["SLURM_JOB_END_TIME"]) - int(env["SLURM_JOB_START_TIME"]) == 600
    for name in ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_CPUS_PER_TASK", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT"):
        assert name not in env


def test_environment_of_many_nodes(c):
    _, env = batch_env(c, "-N2", "-n3", "-c2", "--mem-per-cpu=200", "-t", "7")
    wanted = {"SLURM_CPUS_PER_TASK": "2", "SLURM_JOB_CPUS_PER_NODE": "4,2", "SLURM_CPUS_ON_NODE": "4",
              "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NNODES": "2", "SLURM_NTASKS": "3", "SLURM_NPROCS": "3",
              "SLURM_TASKS_PER_NODE": "2,1", "SLURM_MEM_PER_CPU": "200", "SLURM_TRES_PER_TASK": "cpu=2"}
    assert {k: env.get(k) for k in wanted} == wanted


def test_environment_of_ntasks_per_node(c):
    _, env = batch_env(c, "-N2", "--ntasks-per-node=3", "--mem=500")
    wanted = {"SLURM_NTASKS_PER_NODE": "3", "SLURM_MEM_PER_NODE": "500", "SLURM_JOB_CPUS_PER_NODE": "3(x2)",
              "SLURM_TASKS_PER_NODE": "3(x2)", "SLURM_MEM_PER_CPU": None}
    assert {k: env.get(k) for k in wanted} == wanted


def test_environment_of_an_array_task(c):
    job = c.sbatch("--array=3-7:2%1", "-o", "%a", script=ENV_SCRIPT)
    wait_until(lambda: not c.run("squeue", "-h").out, "the array is over")
    env = dict(line.split("=", 1) for line in (c.work / "5").read_text().splitlines())
    wanted = {"SLURM_ARRAY_JOB_ID": str(job), "SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "3",
              "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_STEP": "2"}
    assert {k: env.get(k) for k in wanted} == wanted
    assert env["SLURM_JOB_ID"] != "5"


@pytest.mark.parametrize("export,shown", [
    (None, "a b"), ("--export=ALL", "a b"), ("--export=A", "a unset"), ("--export=A,B=x", "a x"),
    ("--export=ALL,B=y", "a y"), ("--export=NONE", "unset unset"), ("--export=B=x", "unset x"),
    ("--export=NIL", "unset unset"), ("--export=A='1,2',B", "'1,2' b")])
def test_export(c, export, shown):
    job = c.sbatch(*([export] if export else []), wrap="echo ${A-unset} ${B-unset}; echo $SLURM_JOB_ID",
                   env={"A": "a", "B": "b"})
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(job) == f"{shown}\n{job}\n"


def test_export_from_the_environment(c):
    job = c.sbatch(wrap="echo [$A]", env={"A": "a", "SBATCH_EXPORT": "NONE"})
    c.wait_end(job)
    assert c.out(job) == "[]\n"


def test_export_file(c):
    (c.work / "env").write_bytes(b"A=from file\0B=two\nlines\0")
    job = c.sbatch("--export-file=env", wrap='echo "$A/$B/$PATH_X"', env={"PATH_X": "x"})
    c.wait_end(job)
    assert c.out(job) == "from file/two\nlines/x\n"


def test_environment_with_odd_values(c):
    value = "line one\nline two = \"quoted\" $x 'y' äöü"
    job = c.sbatch(wrap='printf %s "$ODD"', env={"ODD": value})
    c.wait_end(job)
    assert c.out(job) == value


def test_large_environment(c):
    job = c.sbatch(wrap='echo ${#BIG}', env={"BIG": "x" * 100000})
    c.wait_end(job)
    assert c.out(job) == "100000\n"


def test_limits_travel(c):
    done = subprocess.run(["bash", "-c", "ulimit -Sn 321; exec sbatch --parsable --wrap 'ulimit -Sn'"], env=c.env,
                          cwd=c.work, capture_output=True, text=True, timeout=30)
    job = int(done.stdout)
    c.wait_end(job)
    assert c.out(job) == "321\n"


# ---- limits and cancelling -------------------------------------------------------------------------

def test_cancel_is_told_in_the_output(c):
    job = c.sbatch("-w", "node2", script='trap "echo TERM; exit 3" TERM\necho start\nwhile :; do sleep 0.05; done')
    said(c, job, "start")
    done = c.run("scancel", job)
    assert (done.out, done.err) == ("", "")
    record = c.wait_end(job)
    assert (record["JobState"], record["ExitCode"]) == ("CANCELLED", "3:0")
    wait_until(lambda: "TERM\n" in c.out(job), "the script's last words")
    assert re.search(rf"\[{TIME}\.\d\d\d\] error: \*\*\* JOB {job} ON node2 CANCELLED AT {TIME} "
                     r"DUE to SIGNAL Terminated \*\*\*\n", c.out(job))
    row = c.wait_sacct(job, "CANCELLED")
    assert row[0] == f"CANCELLED by {os.getuid()}"


def test_cancel_of_a_sleeper(c):
    job = c.sbatch("-w", "node1", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scancel", job)
    assert c.wait_end(job)["ExitCode"] == "0:15"
    c.run("scancel", job)  # once more says nothing
    assert c.run("scancel", "-v", job, check=False).err.startswith(f"scancel: Terminating job {job}\n")


def test_cancel_by_filters(c):
    jobs = {name: c.sbatch("-H", "-J", name, wrap="true") for name in ("one", "two", "three")}
    runs = c.sbatch("-J", "four", wrap="sleep 1000")
    c.wait_state(runs, "RUNNING")
    assert c.run("scancel", "-v", "-n", "one").err == f"scancel: Terminating job {jobs['one']}\n"
    c.run("scancel", "-n", "nosuch")
    c.run("scancel", "-t", "PENDING", "-u", getpass.getuser())
    assert c.run("squeue", "-h", "-o", "%j").out == "four\n"
    c.run("scancel", "-w", "node[2-4]", "-p", "main", "--me", check=False)
    c.run("scancel", "--state=R", "--me")
    c.wait_end(runs)


def test_signals_reach_the_right_processes(c):
    job = c.sbatch("-n1", script="trap 'echo batch' USR1\nsrun bash -c \"trap 'echo step' USR1; echo on; "
                   "while :; do sleep 0.05; done\" &\nwhile :; do wait; done")
    said(c, job, "on")
    c.run("scancel", "-b", "-s", "USR1", job)  # the batch script alone
    said(c, job, "batch")
    assert "step" not in c.out(job)
    c.run("scancel", "-s", "USR1", job)  # the steps alone
    said(c, job, "step")
    assert c.out(job).count("batch") == 1
    c.run("scancel", "-f", "-s", "USR1", job)  # both
    wait_until(lambda: c.out(job).count("batch") == 2 and c.out(job).count("step") >= 2, "both got it")


def test_a_signal_to_all_reaches_each_task_once(c):
    """srun, a child of the script, gets it too; what it would pass on comes before what the script sends it then."""
    job = c.sbatch("-n1", script="srun bash -c \"trap 'echo step' USR1; trap 'echo last' USR2; echo on; while :; do sleep 0.02; done\" &\n"
                   "trap 'kill -USR2 %1' USR1\nwhile :; do wait; done")
    said(c, job, "on")
    c.run("scancel", "--full", "-s", "USR1", job)
    said(c, job, "last")
    said(c, job, "step")
    assert c.out(job).count("step") == 1


def test_a_signal_to_the_script_reaches_the_step_of_srun_in_its_place(c):
    job = c.sbatch("-n1", script="exec srun bash -c \"trap 'echo got it; exit 3' USR1; echo on; while :; do sleep 0.02; done\"")
    said(c, job, "on")
    c.run("scancel", "--batch", "-s", "USR1", job)
    assert c.wait_end(job)["ExitCode"] == "3:0" and "got it" in c.out(job)


def test_cancel_of_one_step(c):
    job = c.sbatch("-n2", wrap="srun sleep 100; echo srun rc=$?")
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-h", "-s", "-j", job, "-o", "%i").out.split(), "the step runs")
    c.run("scancel", f"{job}.0")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    text = c.out(job)
    assert re.search(rf"error: \*\*\* STEP {job}\.0 ON node\d CANCELLED AT {TIME} DUE to SIGNAL Killed \*\*\*", text)
    assert "srun: error: node1: tasks 0-1: Killed\n" in text or "Killed\n" in text
    assert "srun rc=137\n" in text


def test_warning_signal_before_the_limit(c):
    job = c.sbatch("-t", "1", "--signal=B:USR1@59", script="trap 'echo got USR1; exit 0' USR1\n"
                   "while :; do sleep 0.05; done")
    assert c.wait_end(job, timeout=15)["JobState"] == "COMPLETED"
    assert c.out(job) == "got USR1\n"


def test_array_of_wrong_and_right_submissions(c):
    """A refused submission takes no number visible to the next one's output and changes nothing."""
    before = c.run("squeue", "-h").out
    c.refused("sbatch", "-p", "nosuch", "--wrap", "true")
    assert c.run("squeue", "-h").out == before


def test_exit_error_from_the_environment(c):
    c.refused("sbatch", "-p", "nosuch", "--wrap", "true", rc=77, env={"SLURM_EXIT_ERROR": "77"})
