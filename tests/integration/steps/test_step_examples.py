"""Worked examples of steps: what a user sees of each, in `salloc -N2 --ntasks-per-node=4` on nodes of 4 CPUs."""

import re
import time

from conftest import processes_of, wait_until

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "KillWait=1"}


def salloc(c, body, rc=0, timeout=60):
    """Run a shell script in the allocation; its result."""
    done = c.run("salloc", "-Q", "-N2", "--ntasks-per-node=4", "bash", str(c.script(body)), check=False, timeout=timeout)
    assert done.rc == rc, f"exit {done.rc}\n{done.out}{done.err}"
    return done


def test_ranks_in_blocks(c):
    lines = dict(line.split(": ") for line in salloc(c, "srun -l bash -c 'echo $SLURMD_NODENAME'").out.splitlines())
    assert lines == {str(i): "node1" if i < 4 else "node2" for i in range(8)}


def test_exact_steps_run_at_once(c):
    """Each waits for a file that the other makes."""
    meet = "for i in $(seq 600); do [ -e {other} ] && exit 0; sleep 0.1; done; exit 9"
    salloc(c, "".join(f"srun -n2 --exact bash -c 'touch {own}; {meet.format(other=other)}' &\n"
                      for own, other in (("a", "b"), ("b", "a"))) + "wait %1 && wait %2")


def test_a_whole_step_waits(c):
    done = salloc(c, "srun bash -c 'echo one >> order; while [ ! -e go ]; do sleep 0.05; done; echo end >> order' &\n"
                  "while [ $(wc -l 2>/dev/null < order || echo 0) -lt 8 ]; do sleep 0.05; done\n"
                  "srun --immediate -N1 -n1 true; echo immediate $?\n"
                  "srun --overlap -N1 -n1 bash -c 'echo overlap >> order'\n"
                  "srun -N1 -n1 bash -c 'echo two >> order' &\n"
                  "touch go; wait")
    assert (c.work / "order").read_text().split() == ["one"] * 8 + ["overlap"] + ["end"] * 8 + ["two"]
    assert done.out == "immediate 1\n"
    # The last srun may ask before the step before has ended, or a moment later.
    assert re.fullmatch(r"srun: error: Unable to create step for job \d+: Requested nodes are busy\n"
                        r"(srun: Step created for StepId=\d+\.2\n)?", done.err), done.err


def test_multi_prog(c):
    (c.work / "file").write_text("0-1 echo a %o\n* echo b %t\n")
    done = salloc(c, "srun -l -n4 --multi-prog file x")
    assert sorted(done.out.splitlines()) == ["0: a 0 x", "1: a 1 x", "2: b 2 x", "3: b 3 x"]


def test_a_child_that_a_task_leaves_is_killed(c):
    before = time.monotonic()
    salloc(c, "srun -n1 sh -c 'sleep 3000 & exit 0'")
    assert time.monotonic() - before < 1000
    assert not [cmd for _, cmd in processes_of(c.dir) if cmd.startswith("sleep 3000")]


def test_async_outside_of_a_job(c):
    err = c.refused("srun", "--async", "true", rc=1)
    assert "--async is only valid for steps submitted within an existing job allocation." in err


def test_signal_to_a_step(c):
    job = c.sbatch("-N2", "-n2", script="srun bash -c 'trap \"echo got; exit 5\" USR2; echo on; "
                   "while :; do sleep 0.05; done'\necho step $?")
    out = c.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and out.read_text().count("on\n") == 2, "the step runs")
    c.run("scancel", "-s", "USR2", f"{job}.0")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert out.read_text().count("got\n") == 2 and out.read_text().endswith("step 5\n")


def test_kill_on_bad_exit_by_configuration(c):
    """KillOnBadExit=1 is what srun does without -K; -K0 wins."""
    conf = c.work / "slurm.conf"
    conf.write_text(c.conf_text() + "KillOnBadExit=1\n")
    env = {"SLURM_CONF": str(conf)}
    done = c.run("srun", "-n2", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 1000", check=False, env=env)
    assert done.rc == 143
    assert re.search(r"task 1: Exited with exit code 4\nsrun: Terminating StepId=\d+\.0\n", done.err), done.err
    done = c.run("srun", "-n2", "-K0", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 0.5", check=False, env=env)
    assert done.rc == 4 and "Terminating" not in done.err
