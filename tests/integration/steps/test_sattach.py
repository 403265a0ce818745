"""sattach: layout, streams of running steps beside srun, filters, input, exit codes, mistakes."""

import subprocess

from conftest import program, wait_until
from test_srun import run_in_terminal

CLUSTER = {"nodes": 2, "cpus": 4}

LOOP = ("i=0; touch up; while [ ! -e go ]; do echo tick; echo tock >&2; sleep 0.1; done; exit 7")


def start(c, *options, command=LOOP, **kwargs):
    srun = c.popen("srun", *options, "bash", "-c", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   **kwargs)
    wait_until(lambda: (c.work / "up").exists(), "the step runs")
    return srun, c.run("squeue", "-s", "-h", "-o", "%i").out.split()[0]


def finish(c, srun, rc=7):
    (c.work / "go").touch()
    out, err = srun.communicate(timeout=20)
    assert srun.returncode == rc, err
    return out, err


def attach(c, *argv, **kwargs):
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return c.popen("sattach", *argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def test_layout(c):
    srun, step = start(c, "-N2", "-n4", "--ntasks-per-node=2", stdin=subprocess.DEVNULL)
    host = c.run("squeue", "-h", "-o", "%N").out.strip()
    assert c.run("sattach", "--layout", step).out == (
        f"Job step layout:\n\t4 tasks, 2 nodes ({host})\n\n"
        "\tNode 0 (node1), 2 task(s): 0 1 \n\tNode 1 (node2), 2 task(s): 2 3 \n")
    finish(c, srun)


def test_streams_label_and_code(c):
    srun, step = start(c, "-n2", stdin=subprocess.DEVNULL)
    first, second = attach(c, "-l", step), attach(c, step)
    line = first.stdout.readline()
    assert line in ("0: tick\n", "1: tick\n")
    assert second.stdout.readline() == "tick\n"
    out, err = finish(c, srun)
    assert "tick" in out and "tock" in err
    for who in (first, second):
        text, errors = who.communicate(timeout=20)
        assert who.returncode == 7, errors
        assert set(text.split("\n")) <= {"0: tick", "1: tick", "tick", ""}
        assert "tock" in errors


def test_srun_outlives_attached(c):
    srun, step = start(c, "-n1", stdin=subprocess.DEVNULL)
    who = attach(c, step)
    assert who.stdout.readline() == "tick\n"
    who.kill()
    who.wait()
    late = attach(c, step)
    assert late.stdout.readline() == "tick\n"
    finish(c, srun)
    late.communicate(timeout=20)
    assert late.returncode == 7


def test_filters_and_input(c):
    command = ("touch up; read line; echo got-$SLURM_PROCID-$line; echo err-$SLURM_PROCID >&2; "
               "while [ ! -e go ]; do sleep 0.05; done")
    srun, step = start(c, "-n2", command=command, stdin=subprocess.PIPE)
    who = attach(c, "--input-filter=1", "--output-filter=1", "--error-filter=0", step, stdin=subprocess.PIPE)
    who.stdin.write("hello\n")
    who.stdin.flush()
    assert who.stdout.readline() == "got-1-hello\n"
    srun.stdin.write("world\n")
    srun.stdin.flush()
    assert who.stderr.readline() == "err-0\n"
    (c.work / "go").touch()
    out, _ = srun.communicate(timeout=20)
    assert sorted(out.split()) == ["got-0-world", "got-1-hello"]
    rest, errors = who.communicate(timeout=20)
    assert (who.returncode, rest, errors) == (0, "", "")


def test_pty(c):
    """Our terminal is handed to task 0, and to no other."""
    command = ("touch up; [ $SLURM_PROCID = 1 ] || (while [ ! -e go ]; do echo ready; sleep 0.1; done) & "
               "read line; touch go; wait; echo got-$SLURM_PROCID-$line")
    srun, step = start(c, "-n2", command=command, stdin=subprocess.PIPE)
    text, rc = run_in_terminal(c, [program("sattach"), "--pty", step], [
        (b"ready", b"hello\n"), (b"got-0-hello", lambda fd: srun.stdin.close())])
    assert rc == 0 and "got-1-" in text and "got-1-hello" not in text
    srun.wait(20)


def test_slow_reader_does_not_stop_the_step(c):
    """Nobody reads this sattach; the step writes far more than may wait for it."""
    command = "touch up; while [ ! -e attached ]; do sleep 0.05; done; head -c 60000000 /dev/zero; touch wrote"
    srun, step = start(c, "-n1", command=command, stdin=subprocess.DEVNULL)
    who = attach(c, "-v", step)
    assert "attached" in who.stderr.readline()
    (c.work / "attached").touch()
    out, _ = srun.communicate(timeout=60)
    assert len(out) == 60000000 and (c.work / "wrote").exists()
    who.kill()
    who.communicate()


def test_refusals(c):
    done = c.run("sattach", "30", check=False)
    assert (done.rc, done.out) == (1, "Usage: sattach [options] <jobid.stepid>\n")
    assert done.err == "sattach: error: Failed to parse stepid from command line options\n"
    assert c.refused("sattach", "99999.0") == (
        "sattach: error: Could not get job step info: Invalid job id specified\n")
    assert 'value "x" for output-filter' in c.refused("sattach", "--output-filter=x", "1.0")
    job = c.sbatch("-n1", wrap="sleep 30")
    c.wait_state(job, "RUNNING")
    assert "Invalid job id specified" in c.refused("sattach", f"{job}.7")


def test_batch_script(c):
    """A script's own output is in its files: special steps have no streams to attach to."""
    job = c.sbatch("-n1", wrap="sleep 30")
    c.wait_state(job, "RUNNING")
    for step in ("batch", "extern"):
        assert c.refused("sattach", f"{job}.{step}") == "sattach: error: Cannot be used with extern or batch steps\n"
