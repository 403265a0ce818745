"""srun: exit codes, input and output, signals, layout, steps in a job, a terminal, a great deal of output."""

import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest

from conftest import program, wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1"}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def srun(c, *argv, rc=0, **kwargs):
    done = c.run("srun", *argv, check=False, **kwargs)
    assert done.rc == rc, f"srun {argv}: exit {done.rc}, not {rc}\n{done.out}{done.err}"
    return done


def tasks(done):
    """{task: text} of labelled output, one line a task."""
    return dict(re.fullmatch(r" *(\d+): (.*)", line).groups() for line in done.out.splitlines())


# ---- exit codes ------------------------------------------------------------------------------------

@pytest.mark.parametrize("argv,rc,err", [
    (["true"], 0, r""),
    (["false"], 1, r"srun: error: node1: task 0: Exited with exit code 1\n"),
    (["bash", "-c", "exit 255"], 255, r"srun: error: node1: task 0: Exited with exit code 255\n"),
    (["bash", "-c", "kill -9 $$"], 137, r"srun: error: node1: task 0: Killed\nsrun: Force Terminated StepId=\d+\.0\n"),
    (["bash", "-c", "kill -SEGV $$"], 139, r"srun: error: node1: task 0: Segmentation fault( \(core dumped\))?\n"),
    (["bash", "-c", "kill -TERM $$"], 143, r"srun: error: node1: task 0: Terminated\nsrun: Force Terminated .*\n"),
    (["bash", "-c", "kill -ABRT $$"], 134, r"srun: error: node1: task 0: Aborted( \(core dumped\))?\n"),
    (["nosuchcommand"], 2, r"\[\S+\] error: execve\(\): nosuchcommand: No such file or directory\n"
     r"srun: error: node1: task 0: Exited with exit code 2\n"),
    (["./plain"], 13, r"\[\S+\] error: execve\(\): /\S+/\./plain: Permission denied\n"
     r"srun: error: node1: task 0: Exited with exit code 13\n"),
    (["/tmp"], 13, r"\[\S+\] error: execve\(\): /tmp: Permission denied\n"
     r"srun: error: node1: task 0: Exited with exit code 13\n")], ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_exit(c, argv, rc, err):
    (c.work / "plain").write_text("no program\n")
    done = srun(c, "-w", "node1", *argv, rc=rc)
    assert re.fullmatch(err, done.err), done.err


def test_the_highest_exit_code_wins(c):
    done = srun(c, "-N3", "bash", "-c", "exit $((SLURM_PROCID * 7))", rc=14)
    assert "srun: error: node2: task 1: Exited with exit code 7\n" in done.err
    assert "srun: error: node3: task 2: Exited with exit code 14\n" in done.err
    assert "task 0" not in done.err


def test_tasks_with_one_fate_are_told_together(c):
    done = srun(c, "-N1", "-n4", "bash", "-c", "while [ ! -e go ]; do [ $SLURM_PROCID = 0 ] && touch go; done; exit 7", rc=7)
    assert re.search(r"tasks? 0.*: Exited with exit code 7", done.err)
    assert "--" not in done.err


def test_exit_zero_is_silent_and_quiet_keeps_errors(c):
    assert srun(c, "-N4", "true").err == ""
    assert srun(c, "-Q", "false", rc=1).err.endswith("task 0: Exited with exit code 1\n")


def test_no_command(c):
    assert srun(c, rc=1).err == "srun: fatal: No command given to execute.\n"


def test_verbose(c):
    err = srun(c, "-v", "-w", "node1", "-n1", "true").err
    for line in ("srun: defined options", "srun: verbose             : 1", "srun: end of defined options",
                 "srun: Nodes node1 are ready for job", "srun: Node node1, 1 tasks started"):
        assert f"{line}\n" in err, line
    assert re.search(r"^srun: jobid \d+: nodes\(1\):`node1', cpu counts: 1\(x1\)$", err, re.M)
    assert re.search(r"^srun: launching StepId=\d+\.0 on host node1, 1 tasks: 0$", err, re.M)


def test_kill_on_bad_exit(c):
    done = srun(c, "-w", "node1", "-n2", "-K", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 1000", rc=143)
    assert "srun: error: node1: task 1: Exited with exit code 4\n" in done.err
    assert re.search(rf"srun: Terminating StepId=\d+\.0\n", done.err)
    assert re.search(rf"error: \*\*\* STEP \d+\.0 ON node\d CANCELLED AT {TIME} DUE TO TASK FAILURE \*\*\*", done.err)
    assert "srun: error: node1: task 0: Terminated\n" in done.err


def test_kill_on_bad_exit_elsewhere(c):
    """The first node tells of the end, and the reason is the task of another one."""
    done = srun(c, "-w", "node[1-2]", "-N2", "-n2", "-K", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 1000", rc=143)
    assert re.fullmatch(r"srun: error: node2: task 1: Exited with exit code 4\nsrun: Terminating StepId=\d+\.0\n"
                        rf"\[\S+\] error: \*\*\* STEP \d+\.0 ON node1 CANCELLED AT {TIME} DUE TO TASK FAILURE \*\*\*\n"
                        r"srun: error: node1: task 0: Terminated\nsrun: Force Terminated StepId=\d+\.0\n", done.err), done.err


def test_without_kill_the_others_go_on(c):
    done = srun(c, "-N2", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 0.3; echo whole", rc=4)
    assert done.out == "whole\n"


def test_wait(c):
    done = srun(c, "-N2", "-W", "1", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 0; sleep 1000", rc=137)
    lines = re.sub(r"StepId=\d+\.0", "STEP", done.err)
    assert "srun: First task exited 1s ago\nsrun: STEP task 0: running\nsrun: STEP task 1: exited\n" \
           "srun: Terminating STEP\n" in lines
    assert "srun: error: node1: task 0: Killed\n" in done.err


# ---- output and input ------------------------------------------------------------------------------

def test_labels_are_as_wide_as_the_last_task(c):
    done = srun(c, "-n12", "-l", "bash", "-c", "echo out; echo err >&2")
    assert sorted(done.out.splitlines()) == sorted(f"{i:2}: out" for i in range(12))
    assert sorted(done.err.splitlines()) == sorted(f"{i:2}: err" for i in range(12))


def test_last_line_without_an_end(c):
    assert srun(c, "-l", "printf", "a\\nb").out in ("0: a\n0: b\n", "0: a\n0: b")
    assert srun(c, "printf", "a\\nb").out == "a\nb"


def test_output_keeps_its_bytes(c):
    data = bytes(range(256)) * 300
    (c.work / "in").write_bytes(data)
    done = subprocess.run([program("srun"), "cat", "in"], cwd=c.work, env=c.env, capture_output=True, timeout=30)
    assert done.stdout == data


def test_unbuffered_output_comes_at_once(c):
    p = c.popen("srun", "-u", "bash", "-c", "printf prompt; read x; echo got $x", stdin=-1, stdout=-1)
    assert p.stdout.read(6) == "prompt"
    out, _ = p.communicate("word\n", timeout=20)
    assert out == "got word\n"


def test_input_to_all_and_one_and_none(c):
    assert tasks(srun(c, "-N2", "-l", "cat", input="x\n")) == {"0": "x", "1": "x"}
    assert tasks(srun(c, "-N2", "-l", "-i", "1", "cat", input="x\n")) == {"1": "x"}
    assert srun(c, "-N2", "-l", "-i", "none", "cat", input="x\n").out == ""
    (c.work / "in.0").write_text("zero\n"), (c.work / "in.1").write_text("one\n")
    assert tasks(srun(c, "-N2", "-l", "-i", "in.%t", "cat")) == {"0": "zero", "1": "one"}
    assert tasks(srun(c, "-N2", "-l", "-i", "in.0", "cat")) == {"0": "zero", "1": "zero"}


def test_input_that_nobody_reads(c):
    srun(c, "-N2", "true", input="x" * 5_000_000)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_closed(c, closed):
    """The next file or socket would get their numbers: srun waited for ever for what it read and wrote there."""
    for command in ("srun -n1 bash -c 'cat; echo to stdout; echo to stderr >&2'", "salloc -Q -n1 true", "sbatch --wrap true"):
        done = c.run("/bin/bash", "-c", f"{program(command.split()[0])} {command.split(None, 1)[1]} {closed}", timeout=20)
        assert ("to stdout" in done.out) == (command[:2] == "sr" and ">&-" not in closed.replace("2>&-", "")), done
        assert ("to stderr" in done.err) == (command[:2] == "sr" and "2>&-" not in closed), done


def test_large_input_to_every_task(c):
    text = "".join(f"line {i}\n" for i in range(300000))  # 3.5 MB
    want = hashlib.sha256(text.encode()).hexdigest()
    assert set(tasks(srun(c, "-N4", "-l", "sha256sum", input=text)).values()) == {f"{want}  -"}


def test_output_of_one_task_and_of_none(c):
    assert srun(c, "-n3", "-o", "1", "-l", "echo", "x").out == "1: x\n"
    assert srun(c, "-n3", "-o", "none", "echo", "x").out == ""
    done = srun(c, "-n2", "-e", "none", "bash", "-c", "echo o; echo e >&2")
    assert (done.out, done.err) == ("o\no\n", "")
    done = srun(c, "-n2", "-o", "1", "bash", "-c", "echo o$SLURM_PROCID; echo e$SLURM_PROCID >&2")
    assert (done.out, done.err) == ("o1\ne1\n", "")  # where the output goes errors go


def test_output_files(c):
    done = srun(c, "-N2", "-o", "out.%t.%s.%N.%n", "-e", "err.%j", "bash", "-c", "echo o$SLURM_PROCID; echo e >&2")
    assert (done.out, done.err) == ("", "")
    assert {p.name: p.read_text() for p in c.work.glob("out.*")} == {"out.0.0.node1.0": "o0\n", "out.1.0.node2.1": "o1\n"}
    assert [p.read_text() for p in c.work.glob("err.*")] == ["e\ne\n"]
    srun(c, "-n2", "-o", "log", "-l", "echo", "x")
    assert sorted((c.work / "log").read_text().splitlines()) == ["0: x", "1: x"]
    srun(c, "-o", "log", "--open-mode=append", "echo", "more")
    assert (c.work / "log").read_text().endswith("more\n") and "0: x" in (c.work / "log").read_text()


def test_output_that_cannot_be_opened(c):
    (c.work / "plain").touch()
    for option, name, stream, why in (("-o", "plain/file", "stdout", "Not a directory"),
                                      ("-e", "plain/file", "stderr", "Not a directory"),
                                      ("-i", "nosuchinput", "stdin", "No such file or directory")):
        done = srun(c, option, name, "touch", "ran", rc=1)
        assert done.err == f"srun: error: Could not open {stream} file: {why}\n"
        wait_until(lambda: not c.run("squeue", "-h").out, "no job is left", 5)
    assert not (c.work / "ran").exists()


def test_output_that_cannot_be_opened_in_a_job(c):
    job = c.sbatch("-n1", script="touch plain; srun -o plain/file true; timeout 5 srun echo next")
    c.wait_end(job)
    assert c.out(job).endswith("Not a directory\nnext\n")


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_step_that_is_never_launched_blocks_nobody(c, nodes):
    """srun gives a step up whose prolog failed; the next one has its resources, on every node."""
    script = f"srun -N{nodes} --prolog=/bin/false true; timeout 5 srun -N{nodes} echo next"
    job = c.sbatch(f"-N{nodes}", "--exclusive", script=script)
    c.wait_end(job)
    assert c.out(job).endswith("next\n" * nodes)


def test_a_closed_reader_does_not_hang(c):
    done = subprocess.run(f"{program('srun')} -n2 yes | head -n 3", shell=True, cwd=c.work, env=c.env,
                          capture_output=True, text=True, timeout=30)
    assert done.stdout == "y\n" * 3
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is over")


@pytest.mark.parametrize("nodes,ntasks", [(1, 1), (4, 4)])
def test_two_hundred_megabytes(c, nodes, ntasks):
    """Every byte of every task arrives; memory use of srun is bounded."""
    size = 200_000_000 // ntasks
    command = f"{program('srun')} -N{nodes} -n{ntasks} bash -c 'head -c {size} /dev/zero | tr \"\\0\" $SLURM_PROCID'"
    p = subprocess.Popen(command, shell=True, cwd=c.work, env=c.env, stdout=subprocess.PIPE)
    counts, peak = [0] * 10, 0
    while chunk := p.stdout.read(1 << 20):
        for i in range(ntasks):
            counts[i] += chunk.count(b"%d" % i)
    assert p.wait(60) == 0
    assert counts[:ntasks] == [size] * ntasks and peak == 0


def test_slow_reader_loses_nothing(c):
    p = c.popen("srun", "seq", "1", "500000", stdout=-1)
    wait_until(lambda: select.select([p.stdout], [], [], 0)[0], "output comes")
    c.run("sinfo")  # and is not read for a while
    out, _ = p.communicate(timeout=30)
    assert hashlib.sha256(out.encode()).hexdigest() == hashlib.sha256(
        "".join(f"{i}\n" for i in range(1, 500001)).encode()).hexdigest()


# ---- layout ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("argv,nodes", [
    ("-N4", "1234"), ("--exclusive -N2 -n4", "1122"), ("--exclusive -n5 -N3 -m block", "11223"),
    ("--exclusive -n5 -N3 -m cyclic", "12312"), ("-N2 -n4", "1112"), ("-n4 -N2 --ntasks-per-node=2", "1122"),
    ("--exclusive -n6 -N2 -m plane=2", "112211"), ("-w node3,node4 -N2", "34"), ("-n2 -N2 -m cyclic", "12"),
    ("-c4 -n2", "12"), ("-n1 -x node1", "2"), ("-n4 -c2", "1122"), ("--exclusive -n8 -N4 -m cyclic", "12341234")])
def test_layout(c, argv, nodes):
    done = srun(c, "-l", *argv.split(), "bash", "-c", "echo ${SLURMD_NODENAME#node}")
    got = tasks(done)
    assert "".join(got[str(i)] for i in range(len(nodes))) == nodes


def test_fewer_tasks_than_nodes(c):
    done = srun(c, "-N2", "-n1", "bash", "-c", "echo $SLURM_NNODES")
    assert (done.out, done.err) == ("1\n", "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n")


def test_multi_prog(c):
    (c.work / "mp").write_text("# a comment\n0 bash -c 'echo first $SLURM_PROCID'\n1-2 echo task:%t offset:%o args\n\n3 sh -c 'exit 3'\n")
    done = srun(c, "-n4", "-l", "--multi-prog", "mp", rc=3)
    assert tasks(done) == {"0": "first 0", "1": "task:1 offset:0 args", "2": "task:2 offset:1 args"}
    (c.work / "rest").write_text("0 echo zero\n* echo other %t\n")
    assert tasks(srun(c, "-n3", "-l", "--multi-prog", "rest")) == {"0": "zero", "1": "other 1", "2": "other 2"}


def test_environment_of_tasks(c):
    done = srun(c, "-N2", "-n3", "-c2", "-l", "bash", "-c",
                "echo $SLURM_PROCID,$SLURM_LOCALID,$SLURM_NODEID,$SLURM_GTIDS,$SLURM_NTASKS,$SLURM_STEP_NUM_TASKS,"
                "$SLURM_STEP_TASKS_PER_NODE,$SLURM_CPUS_PER_TASK,$SLURM_STEP_NODELIST,$SLURM_STEP_ID,$SLURM_JOB_NUM_NODES")
    assert tasks(done) == {"0": "0,0,0,0,1,3,3,2,1,2,node[1-2],0,2", "1": "1,1,0,0,1,3,3,2,1,2,node[1-2],0,2",
                           "2": "2,0,1,2,3,3,2,1,2,node[1-2],0,2"}


def test_export(c):
    env = {"A": "a", "B": "b"}
    assert srun(c, "--export=ALL,B=x", "bash", "-c", "echo $A $B", env=env).out == "a x\n"
    assert srun(c, "--export=NONE", "/bin/bash", "-c", "echo [$A]", env=env).out == "[]\n"
    assert "execve(): bash: No such file or directory" in srun(c, "--export=A", "bash", "-c", "true", rc=2, env=env).err


def test_folder_that_is_not_there_has_a_label(c):
    """As what the step's daemon says of a program that is not there (recording 42)."""
    lines = srun(c, "-l", "-D", "/nosuch", "pwd").err.splitlines()
    assert len(lines) == 2 and all(line.startswith("0: [") and "couldn't chdir to `/nosuch'" in line for line in lines)


def test_chdir_umask_and_limits(c):
    assert srun(c, "-D", "/usr", "pwd").out == "/usr\n"
    done = subprocess.run(["bash", "-c", f"umask 037; ulimit -Sn 234; {program('srun')} bash -c 'umask; ulimit -Sn'"],
                          cwd=c.work, env=c.env, capture_output=True, text=True, timeout=30)
    assert done.stdout == "0037\n234\n"


def test_multi_prog_that_is_not_understood(c):
    (c.work / "map").write_text("0-x echo\n")
    done = srun(c, "--multi-prog", "map", rc=1)
    assert done.err == "srun: error: Invalid task range specification\nsrun: error: Line 1 of configuration file map invalid\n"


# ---- signals ---------------------------------------------------------------------------------------

def started(c, *argv, **kwargs):
    p = c.popen("srun", *argv, stdout=-1, stderr=-1, start_new_session=True, **kwargs)
    assert p.stdout.readline() == "on\n"
    return p


def test_one_interrupt_tells_and_two_end(c):
    p = started(c, "-w", "node1", "bash", "-c", "echo on; sleep 1000")
    p.send_signal(signal.SIGINT)
    line = p.stderr.readline()
    assert re.fullmatch(r"srun: interrupt \(one more within 1 sec to abort\)\n", line), line
    assert re.fullmatch(r"srun: StepId=\d+\.0 task 0: running\n", p.stderr.readline())
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    assert re.search(r"srun: sending Ctrl-C to StepId=\d+\.0\n", err)
    assert p.returncode in (130, 137, 143)
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is over")


def test_two_interrupts_after_fg(c):
    """SIGCONT was taken for the first half of a cancelled job's SIGCONT and SIGTERM: the tasks got SIGTERM instead of SIGKILL."""
    p = started(c, "-w", "node1", "bash", "-c", "trap '' TERM; echo on; while :; do sleep 0.1; done")
    p.send_signal(signal.SIGCONT)
    assert p.stderr.readline() == "srun: got SIGCONT\n"
    p.send_signal(signal.SIGINT)
    assert "one more within" in p.stderr.readline() and "running" in p.stderr.readline()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=20)
    assert "DUE to SIGNAL Killed" in err and "Terminated" not in err, err
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is over")


def test_one_interrupt_changes_nothing(c):
    p = started(c, "bash", "-c", "echo on; while [ ! -e go ]; do sleep 0.05; done; echo whole")
    p.send_signal(signal.SIGINT)
    assert "interrupt" in p.stderr.readline()
    (c.work / "go").touch()
    out, _ = p.communicate(timeout=20)
    assert (out, p.returncode) == ("whole\n", 0)


@pytest.mark.parametrize("sig", [signal.SIGUSR1, signal.SIGUSR2])
def test_signals_are_handed_on(c, sig):
    p = started(c, "bash", "-c", f"trap 'echo caught; exit 5' {sig.name[3:]}; echo on; while :; do sleep 0.02; done")
    p.send_signal(sig)
    out, _ = p.communicate(timeout=20)
    assert (out, p.returncode) == ("caught\n", 5)


def test_terminated_srun_takes_its_tasks_along(c):
    p = started(c, "-N2", "-n2", "bash", "-c", "[ $SLURM_PROCID = 1 ] || echo on; sleep 1000")
    p.terminate()
    p.communicate(timeout=20)
    assert p.returncode != 0
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is over")
    c.wait_nodes()


def test_killed_srun_takes_its_tasks_along(c):
    p = started(c, "bash", "-c", "echo on; sleep 1000")
    p.kill()
    p.communicate(timeout=20)
    wait_until(lambda: not c.run("squeue", "-h").out, "the job is over", 60)


def test_cancelled_from_elsewhere(c):
    p = started(c, "-w", "node1", "bash", "-c", "echo on; sleep 1000")
    c.run("scancel", "--me")
    _, err = p.communicate(timeout=20)
    assert re.search(rf"error: \*\*\* STEP \d+\.0 ON node1 CANCELLED AT {TIME} DUE to SIGNAL Terminated \*\*\*", err)
    assert "srun: error: node1: task 0: Terminated\n" in err
    assert p.returncode == 143


def test_cancelled_while_it_waits(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    p = c.popen("srun", "-J", "waits", "true", stderr=-1)
    assert re.fullmatch(r"srun: job \d+ queued and waiting for resources\n", p.stderr.readline())
    c.run("scancel", "-n", "waits")
    _, err = p.communicate(timeout=20)
    assert err == ("srun: Job has been cancelled\n"
                   "srun: error: Unable to allocate resources: Job/step already completing or completed\n")
    assert p.returncode == 1


def test_interrupted_while_it_waits(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    p = c.popen("srun", "-J", "waits", "true", stderr=-1, start_new_session=True)
    assert "queued and waiting" in p.stderr.readline()
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=20)
    assert p.returncode != 0
    wait_until(lambda: not c.run("squeue", "-h", "-n", "waits").out, "its job is gone")


def test_immediate(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    done = srun(c, "-I1", "true", rc=1)
    assert done.err.startswith("srun: error: Unable to allocate resources: ")
    wait_until(lambda: c.run("squeue", "-h", "-o", "%i").out == f"{blocker}\n", "no job is left")


def test_queued_then_allocated(c):
    blocker = c.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    c.wait_state(blocker, "RUNNING")
    p = c.popen("srun", "echo", "hi", stdout=-1, stderr=-1)
    assert re.fullmatch(r"srun: job \d+ queued and waiting for resources\n", p.stderr.readline())
    c.run("scancel", blocker)
    out, err = p.communicate(timeout=30)
    assert (out, p.returncode) == ("hi\n", 0)
    assert re.fullmatch(r"srun: job \d+ has been allocated resources\n", err)


@pytest.mark.parametrize("sig", [signal.SIGCONT, signal.SIGWINCH])
@pytest.mark.parametrize("command", ["srun", "salloc", "step"])
def test_it_goes_on_waiting(c, command, sig):
    """A window of another size, `fg`, or a job that was suspended while its srun waited: the wait is not over."""
    blocker = c.sbatch("-N4", "--exclusive", wrap="srun -N4 sleep 1000; sleep 1000")
    wait_until(lambda: f"{blocker}.0" in c.run("squeue", "-s", "-h", "-o", "%i").out, "the nodes are busy")
    argv = {"srun": ["srun"], "salloc": ["salloc"], "step": ["srun", "-v", f"--jobid={blocker}", "-N1", "-n1"]}[command]
    p = c.popen(*argv, "echo", "hi", stdout=-1, stderr=-1)
    while not re.search(r"queued and waiting for resources|step creation temporarily disabled", p.stderr.readline()):
        assert p.poll() is None
    p.send_signal(sig)
    c.run("scancel", f"{blocker}.0" if command == "step" else blocker)
    out, err = p.communicate(timeout=30)
    assert (out, p.returncode) == ("hi\n", 0), err


# ---- steps in a job --------------------------------------------------------------------------------

def test_steps_in_a_batch_job(c):
    job = c.sbatch("-N2", "-n4", script="srun -l -n4 hostname > /dev/null\nsrun -n2 -N1 bash -c 'exit 2'\n"
                   "srun -n1 -N1 sleep 1000 &\nwhile [ ! -e go ]; do sleep 0.05; done\nexit 1")
    wait_until(lambda: f"{job}.2" in c.run("squeue", "-h", "-s", "-j", job, "-o", "%i").out.split(), "the last step runs")
    listed = c.run("squeue", "-h", "-s", "-j", job, "-o", "%i %j").out.splitlines()
    assert f"{job}.2 sleep" in listed
    (c.work / "go").touch()
    assert c.wait_end(job)["ExitCode"] == "1:0"

    def rows():
        found = {r[0]: r[1:] for r in c.sacct("-j", str(job), "-o", "JobID,State,ExitCode")}
        return found if found.get(f"{job}.2", ["RUNNING"])[0] != "RUNNING" else None
    found = wait_until(rows, "accounting has the steps")
    assert found[str(job)] == ["FAILED", "1:0"] and found[f"{job}.batch"] == ["FAILED", "1:0"]
    assert found[f"{job}.0"] == ["COMPLETED", "0:0"] and found[f"{job}.1"] == ["FAILED", "2:0"]
    assert found[f"{job}.2"][0].startswith("CANCELLED")


def test_exact_steps_run_side_by_side(c):
    job = c.sbatch("-n4", "-N1", script="for i in 1 2 3 4; do srun -n1 --exact bash -c "
                   f"'touch up.'$i'; while [ $(ls up.* | wc -l) -lt 4 ]; do sleep 0.05; done' & done; wait")
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_whole_steps_wait_for_each_other(c):
    job = c.sbatch("-n2", "-N1", script="srun -n2 bash -c 'echo a; sleep 0.3; echo b' &\nsleep 0.1\n"
                   "srun -n2 echo c 2> err &\nwait")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    order = "".join(line for line in c.out(job).split())
    assert order in ("aabbcc", "ccaabb")


def test_overlapping_steps(c):
    done = c.run("salloc", "-n2", "-N1", "bash", "-c",
                 "srun -n2 --overlap bash -c 'touch a.$SLURM_PROCID; while [ ! -e b.0 ]; do sleep 0.05; done' & "
                 "srun -n1 --overlap bash -c 'touch b.0'; wait")
    assert done.rc == 0


def test_more_tasks_than_the_job_has(c):
    done = c.run("salloc", "-n4", "-N1", "srun", "-n8", "true", check=False)
    assert re.search(r"srun: error: Unable to create step for job \d+: More processors requested than permitted\n", done.err)
    assert done.rc == 1
    assert c.run("salloc", "-n4", "-N1", "srun", "-O", "-n8", "-l", "true").rc == 0


def test_relative_and_named_nodes_in_a_job(c):
    done = c.run("salloc", "-N2", "-n2", "bash", "-c", "srun -N1 -n1 -r1 printenv SLURMD_NODENAME; "
                 "srun -N1 -n1 -w node1 printenv SLURMD_NODENAME; srun -w node4 true", check=False)
    assert done.out == "node2\nnode1\n"
    assert "Requested node configuration is not available" in done.err


def test_attach_by_jobid(c):
    job = c.sbatch("-N2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert tasks(srun(c, f"--jobid={job}", "--overlap", "-l", "printenv", "SLURM_JOB_ID")) == {"0": str(job), "1": str(job)}
    err = srun(c, "--jobid=999999", "true", rc=1).err
    assert err == ("srun: error: Unable to confirm allocation for job 999999: Invalid job id specified\n"
                   "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 999999\n")


def test_step_of_a_job_that_is_over(c):
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    assert f"job {job}" in srun(c, f"--jobid={job}", "true", rc=1).err


def test_many_steps_one_after_the_other(c):
    job = c.sbatch("-n1", script="for i in $(seq 50); do srun -n1 bash -c \"exit $((i % 3))\" 2> /dev/null; echo $?; done")
    c.wait_end(job, timeout=60)
    assert c.out(job).split() == [str(i % 3) for i in range(1, 51)]


# ---- a terminal ------------------------------------------------------------------------------------

def run_in_terminal(c, argv, keys):
    """What a program writes to its terminal; keys: (text to wait for, bytes to type)."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(c.work)
        os.execve(argv[0], argv, c.env)
    text, keys = b"", list(keys)
    try:
        while True:
            if not select.select([fd], [], [], 20)[0]:
                os.kill(pid, signal.SIGKILL)
                pytest.fail(f"silence after {text!r}")
            try:
                chunk = os.read(fd, 4096)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
            while keys and keys[0][0] in text:
                reply = keys.pop(0)[1]
                reply(fd) if callable(reply) else os.write(fd, reply)
    finally:
        os.close(fd)
        _, status = os.waitpid(pid, 0)
    return text.decode(), os.waitstatus_to_exitcode(status)


def test_pty(c):
    text, rc = run_in_terminal(c, [program("srun"), "--pty", "bash", "--norc", "-c",
                                   "tty; stty size; read -p 'name? ' x; echo hello $x; exit 9"], [(b"name? ", b"you\r")])
    assert "/dev/pts/" in text and "hello you" in text
    assert rc == 9


def test_pty_interrupt_goes_to_the_program(c):
    text, rc = run_in_terminal(c, [program("srun"), "--pty", "bash", "--norc", "-c",
                                   "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done"],
                               [(b"ready", b"\x03")])
    assert "caught" in text and rc == 3


def test_pty_follows_the_size_of_the_terminal(c):
    def size(rows, columns):
        return lambda fd: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    text, rc = run_in_terminal(c, [program("srun"), "--pty", "bash", "--norc", "-c",
                                   "trap 'stty size' WINCH; echo ready; until [ \"$(stty size)\" = '40 132' ]; do sleep 0.05; "
                                   "done; echo end"], [(b"ready", size(30, 100)), (b"30 100", size(40, 132))])
    assert rc == 0 and "30 100" in text and text.endswith("end\r\n"), text


def test_pty_is_the_first_tasks_alone(c):
    """sub-1.45: of two tasks the other one's output is not shown (recording 43)."""
    text, rc = run_in_terminal(c, [program("srun"), "-n2", "-O", "--pty", "sh", "-c",
                                   "echo task $SLURM_PROCID; [ $SLURM_PROCID = 0 ] && read x && echo got $x || true"],
                               [(b"task 0", b"abc\r")])
    assert rc == 0 and "task 0" in text and "got abc" in text and "task 1" not in text, text


def test_pty_without_a_terminal(c):
    done = srun(c, "--pty", "tty", rc=1)
    assert "srun: error: Not using a pseudo-terminal, disregarding --pty option\n" in done.err
    assert done.out == "not a tty\n"


def test_step_cancelled_from_elsewhere(c):
    """One line a node for tasks that were killed together; who killed them is said first."""
    job = c.sbatch("-n2", "-N1", wrap="srun sleep 100; echo rc=$?")
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-s", "-h").out, "the step runs")
    wait_until(lambda: "running" in c.run("scontrol", "show", "step", f"{job}.0").out.lower(), "it is shown")
    c.run("scancel", f"{job}.0")
    c.wait_end(job)
    notice = rf"\[.*\] error: \*\*\* STEP {job}\.0 ON (node\d) CANCELLED AT \S+ DUE to SIGNAL Killed \*\*\*\n"
    assert re.fullmatch(r"srun: Job step aborted: Waiting up to \d+ seconds for job step to finish\.\n" + notice +
                        r"srun: error: \1: tasks 0-1: Killed\nrc=137\n", c.out(job)), c.out(job)


def test_first_node_tells_of_a_cancelled_step(c):
    """Recordings 44 and 68: no other node writes the line, not even when the first has no task left; srun is told all the same."""
    job = c.sbatch("-N2", "-n2", "-w", "node[1-2]", wrap="srun sleep 100; srun bash -c '[ $SLURM_PROCID = 0 ] && exit; touch up; sleep 100'")
    wait_until(lambda: "running" in c.run("scontrol", "show", "step", f"{job}.0", check=False).out.lower(), "the first step runs")
    c.run("scancel", f"{job}.0")
    wait_until((c.work / "up").exists, "the second step runs")
    c.run("scancel", f"{job}.1")
    c.wait_end(job)
    assert re.findall(r"STEP (\S+) ON (\S+) CANCELLED", c.out(job)) == [(f"{job}.0", "node1")], c.out(job)
    assert c.out(job).count("srun: Job step aborted: Waiting up to ") == 2, c.out(job)


def test_stop_signals_of_a_cancelled_job(c):
    """SIGCONT comes before SIGTERM, in whatever order they are read."""
    srun = c.popen("srun", "-n1", "bash", "-c", "echo on; exec sleep 100", stdout=-1, stderr=-1)
    assert srun.stdout.readline() == "on\n"
    srun.send_signal(signal.SIGSTOP)
    srun.send_signal(signal.SIGTERM)
    srun.send_signal(signal.SIGCONT)
    err = srun.communicate(timeout=30)[1]
    assert err.index("srun: got SIGCONT\n") < err.index("srun: forcing job termination\n")


def test_signals_pass_input_that_nobody_reads(c):
    feed, p = subprocess.Popen(["yes"], stdout=subprocess.PIPE), None
    try:
        p = c.popen("srun", "-n2", "bash", "-c", "trap 'echo got; exit 0' USR1; echo on; while :; do sleep 0.05; done",
                    stdin=feed.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert [p.stdout.readline(), p.stdout.readline()] == ["on\n", "on\n"]
        before = -1

        def fed():  # as much as srun takes: it reads no more
            nonlocal before
            last, before = before, int(open(f"/proc/{p.pid}/io").read().split("rchar:")[1].split()[0])
            return before == last and before > 100000
        wait_until(fed, "srun has read its fill")
        p.send_signal(signal.SIGUSR1)
        out, err = p.communicate(timeout=60)
        assert (p.returncode, out) == (0, "got\ngot\n"), err
    finally:
        feed.kill()
        feed.communicate()


def test_named_node_is_short(c):
    """The job gets others beside the node that is named, and its step runs on all of them."""
    blocker = c.sbatch("-w", "node1", "-n1", "-o", "/dev/null", wrap="sleep 600")
    c.wait_state(blocker, "RUNNING")
    cpus = int(c.run("sinfo", "-h", "-n", "node1", "-o", "%c").out)
    ran = c.run("srun", f"-n{cpus}", "-w", "node1", "printenv", "SLURMD_NODENAME").out.split()
    assert len(ran) == cpus and set(ran) == {"node1", "node2"}
    c.run("scancel", blocker)


def test_jobid_of_an_array_task(c):
    array = c.sbatch("-a", "1-2", "-o", "/dev/null", wrap="sleep 100")
    tasks = dict(line.split() for line in c.run("squeue", "-h", "-j", array, "-o", "%K %A").out.splitlines())
    for task, job in sorted(tasks.items()):
        c.wait_state(job, "RUNNING")
        done = srun(c, f"--jobid={array}_{task}", "--overlap", "bash", "-c", "echo $SLURM_JOB_ID")
        assert done.out == f"{job}\n"
    assert c.refused("srun", f"--jobid={array}_3", "true") == \
        f"srun: error: Unable to confirm allocation for job {array}_3: Invalid job id specified\n"
    c.run("scancel", array)
    c.clear()


@pytest.mark.parametrize("how", ["env", "conf"])
def test_a_program_that_is_not_here(make_cluster, how):
    """SLURM_TEST_EXEC, LaunchParameters=test_exec: srun looks for the program before anything else; words as Slurm 22.05 has them."""
    c = make_cluster(nodes=1, conf="LaunchParameters=test_exec" if how == "conf" else "")
    env = {"SLURM_TEST_EXEC": "1"} if how == "env" else None
    before = c.run("squeue", "-h", "-t", "all").out
    for name in ("nosuchprogram", "/etc/passwd", "/tmp"):
        assert c.refused("srun", "-n1", name, env=env) == f"srun: fatal: Can not execute {name}\n"
    assert c.run("squeue", "-h", "-t", "all").out == before
    assert c.run("srun", "-n1", "echo", "here", env=env).out == "here\n"
