"""srun and salloc: one node and many, labels, exit codes, signals, input and output."""

import os
import re
import signal
import subprocess

import pytest

from conftest import processes_of, wait_until


def test_one_task(cluster):
    done = cluster.run("srun", "echo", "hello world")
    assert (done.stdout, done.stderr) == ("hello world\n", "")


def test_many_nodes_with_labels(cluster):
    done = cluster.run("srun", "-N3", "-l", "bash", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_NTASKS "
                       "$SLURM_NNODES")
    assert sorted(done.stdout.splitlines()) == [f"{i}: {i} node{i + 1} 3 3" for i in range(3)]


def test_many_tasks(cluster):
    done = cluster.run("srun", "-n12", "-l", "bash", "-c", "echo $SLURM_LOCALID")
    lines = dict(line.strip().split(": ") for line in done.stdout.splitlines())
    assert sorted(map(int, lines)) == list(range(12))
    assert sorted(lines.values()) == sorted("0123" * 3)


def test_debugger_test_tells_tasks(cluster):
    done = cluster.run("srun", "-N2", "-n3", "--debugger-test", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $$")
    ran = [line.split() for line in done.stdout.splitlines()]
    assert sorted(done.stderr.splitlines()) == sorted(
        f"srun: task:{rank}, host:{node}, pid:{pid}, executable:sh" for rank, node, pid in ran), done.stderr


def test_tasks_per_node_alone_is_exact(cluster):
    """Of -N1-3 the job gets the most that are free; each node has its two tasks, however many there are."""
    words = "echo $SLURM_JOB_NUM_NODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE"
    srun = cluster.run("srun", "-N1-3", "--ntasks-per-node=2", "sh", "-c", f"{words} $SLURMD_NODENAME").out.splitlines()
    assert sorted(srun) == sorted(f"3 6 2(x3) node{i}" for i in (1, 2, 3) for _ in range(2))
    assert cluster.run("salloc", "-N1-3", "--ntasks-per-node=2", "sh", "-c", f"{words}; srun hostname | wc -l").out == \
        "3 6 2(x3)\n6\n"
    job = cluster.run("sbatch", "--parsable", "-H", "-N1-3", "--ntasks-per-node=2", "--wrap", "true").out.strip()
    assert "NumNodes=1-3 NumCPUs=2 NumTasks=2 " in cluster.run("scontrol", "show", "job", job).out
    cluster.run("scancel", job)


@pytest.mark.parametrize("command,status,message", [
    ("exit 5", 5, r"srun: error: node\d: task 0: Exited with exit code 5"),
    ("kill -9 $$", 137, r"srun: error: node\d: task 0: Killed"),
    ("kill -SEGV $$", 139, r"srun: error: node\d: task 0: Segmentation fault"),
    ("kill -TERM $$", 143, r"srun: error: node\d: task 0: Terminated"),
])
def test_exit_codes(cluster, command, status, message):
    done = cluster.run("srun", "bash", "-c", command, check=False)
    assert done.returncode == status
    assert re.search(message, done.stderr), done.stderr


def test_highest_exit_code_counts(cluster):
    done = cluster.run("srun", "-n3", "bash", "-c", "exit $SLURM_PROCID", check=False)
    assert done.returncode == 2
    assert "task 1: Exited with exit code 1" in done.stderr
    assert "task 2: Exited with exit code 2" in done.stderr


def test_every_failed_task_is_named(cluster):
    """Those that end together are told together: how many lines there are is chance."""
    done = cluster.run("srun", "-n4", "-N1", "bash", "-c", "exit 7", check=False)
    assert done.returncode == 7
    named = []
    for line in done.stderr.splitlines():
        match = re.fullmatch(r"srun: error: node1: tasks? ([\d,-]+): Exited with exit code 7", line)
        assert match, line
        for part in match.group(1).split(","):
            first, _, last = part.partition("-")
            named += range(int(first), int(last or first) + 1)
    assert sorted(named) == [0, 1, 2, 3]


def test_missing_program(cluster):
    done = cluster.run("srun", "nosuchcommand", check=False)
    assert done.returncode == 2
    assert re.search(r"error: execve\(\): nosuchcommand: No such file or directory", done.stderr)
    assert re.search(r"srun: error: node\d: task 0: Exited with exit code 2", done.stderr)


def test_input_goes_to_every_task(cluster):
    done = cluster.run("srun", "-n3", "-l", "cat", input="one\ntwo\n")
    assert sorted(done.stdout.splitlines()) == sorted(f"{i}: {w}" for i in range(3) for w in ("one", "two"))


def test_input_to_one_task(cluster):
    assert cluster.run("srun", "-n2", "-l", "-i", "1", "cat", input="x\n").stdout == "1: x\n"


def test_large_output_is_whole(cluster):
    done = cluster.run("srun", "-n2", "bash", "-c", "seq 1 200000")
    assert len(done.stdout.splitlines()) == 400000
    assert sum(map(int, done.stdout.split())) == 2 * 200000 * 200001 // 2


def test_large_input_is_whole(cluster):
    text = "".join(f"{i}\n" for i in range(200000))
    assert cluster.run("srun", "cat", input=text).stdout == text


def test_output_files(cluster):
    cluster.run("srun", "-n2", "-o", "out.%t.txt", "-e", "err.%t.txt", "bash", "-c",
                "echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2")
    for task in range(2):
        assert (cluster.work / f"out.{task}.txt").read_text() == f"out {task}\n"
        assert (cluster.work / f"err.{task}.txt").read_text() == f"err {task}\n"


def test_multi_prog(cluster):
    (cluster.work / "map").write_text("0 echo zero\n1-2 echo task %t\n")
    done = cluster.run("srun", "-n3", "-l", "--multi-prog", "map")
    assert sorted(done.stdout.splitlines()) == ["0: zero", "1: task 1", "2: task 2"]


def test_steps_of_a_job(cluster):
    job = cluster.sbatch("-N2", "-n4", script="srun -n4 bash -c 'echo all $SLURM_PROCID'\n"
                         "srun -N1 -n1 --exact echo one\nsrun false\nsrun true")
    record = cluster.wait_end(job)
    assert record["JobState"] == "COMPLETED"
    lines = cluster.out(job).splitlines()
    assert sorted(line for line in lines if line.startswith("all")) == [f"all {i}" for i in range(4)]
    assert "one" in lines
    rows = wait_until(lambda: (r := cluster.sacct("-j", str(job), "-o", "JobID,State,ExitCode")) and
                      len(r) >= 6 and all(x[1] != "RUNNING" for x in r) and r, "accounting has the steps")
    states = {row[0]: row[1:] for row in rows}
    assert states[f"{job}.0"] == ["COMPLETED", "0:0"]
    assert states[f"{job}.2"] == ["FAILED", "1:0"]
    assert states[f"{job}.batch"] == ["COMPLETED", "0:0"]


PLACES = "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_STEP_TASKS_PER_NODE"


def test_a_range_of_nodes_is_used_as_far_as_it_goes(cluster):
    """scheduling.md, 2: -N MIN-MAX prefers MAX, and tasks default to nodes; so for the step of srun's own job, which
    sbatch and salloc give MAX nodes.  Tasks that MIN nodes have no room for are not refused."""
    def places(*argv):
        return sorted(cluster.run(*argv, "bash", "-c", PLACES).out.splitlines())

    assert places("srun", "-N2-3") == [f"{i} node{i + 1} 1(x3)" for i in range(3)]
    assert places("srun", "-N1-9") == [f"{i} node{i + 1} 1(x3)" for i in range(3)]
    assert places("srun", "-N1-3", "--use-min-nodes") == ["0 node1 1"]
    assert places("srun", "-N1-3", "-n4") == ["0 node1 2,1(x2)", "1 node1 2,1(x2)", "2 node2 2,1(x2)", "3 node3 2,1(x2)"]
    within = ("salloc", "-Q", "-N3", "-n6", "--exclusive", "srun")
    assert places(*within, "-N1-2") == [f"{i} node{i // 3 + 1} 3(x2)" for i in range(6)]
    assert places(*within, "-N1-3", "-n2") == ["0 node1 1(x2)", "1 node2 1(x2)"]


def test_a_range_of_nodes_takes_those_that_are_free(cluster):
    """MIN nodes are enough: a step does not wait for those that another step has."""
    job = cluster.sbatch("-N2", "-n2", script="srun -N1 -n1 bash -c 'touch began; while [ ! -e done ]; do sleep 0.05; done' &\n"
                         "while [ ! -e began ]; do sleep 0.05; done\n"
                         "unset SLURM_NTASKS SLURM_NPROCS\n"
                         f"srun -N1-2 bash -c '{PLACES}' || echo refused\ntouch done\nwait")
    cluster.wait_end(job)
    assert cluster.out(job) == "0 node2 1\n"


def test_ntasks_of_a_script_may_be_changed_by_one_variable(cluster):
    """environment.md, 2, rule 1: SLURM_NTASKS becomes -n.  SLURM_NPROCS, which the script has too, is its old name: it
    counts where the other is missing."""
    job = cluster.sbatch("-N1", "-n3", script="SLURM_NTASKS=1 srun echo one\nunset SLURM_NTASKS\nSLURM_NPROCS=2 srun echo two")
    cluster.wait_end(job)
    assert cluster.out(job) == "one\ntwo\ntwo\n"


def test_tasks_share_processors_of_a_batch_job(cluster):
    """SLURM_MEM_PER_CPU of the script bounds the step's processors, not how many tasks share them."""
    job = cluster.sbatch("-n1", "--mem-per-cpu=100", wrap="srun -O -n3 -l echo one; srun -n2 true || echo refused")
    cluster.wait_end(job)
    assert sorted(cluster.out(job).splitlines()) == ["0: one", "1: one", "2: one", "refused", "srun: error: Unable to create "
                                                     f"step for job {job}: More processors requested than permitted"]


def test_steps_side_by_side(cluster):
    job = cluster.sbatch("-n4", "-N1", script="for i in 1 2 3 4; do srun -n1 --exact sleep 0.5 & done\nwait\n"
                         "echo $SECONDS")
    cluster.wait_end(job)
    assert int(cluster.out(job).split()[-1]) <= 1


def test_kill_on_bad_exit(cluster):
    done = cluster.run("srun", "-n2", "-K", "bash", "-c", "[ $SLURM_PROCID = 1 ] && exit 4; sleep 100",
                       check=False, timeout=30)
    assert done.returncode != 0
    assert "Exited with exit code 4" in done.stderr


def test_wait_after_the_first_end(cluster):
    done = cluster.run("srun", "-n2", "-W", "1", "bash", "-c", "[ $SLURM_PROCID = 1 ] || sleep 100",
                       check=False, timeout=30)
    assert done.returncode == 137
    assert "First task exited 1s ago" in done.stderr


def test_interrupting_twice_ends_the_step(cluster):
    p = cluster.popen("srun", "bash", "-c", "echo on; sleep 100", stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, start_new_session=True)
    assert p.stdout.readline() == "on\n"
    p.send_signal(signal.SIGINT)
    assert re.match(r"srun: interrupt \(one more within 1 sec to abort\)", p.stderr.readline())
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    assert p.returncode != 0
    cluster.wait_nodes()


def test_srun_killed_takes_its_job_along(cluster):
    p = cluster.popen("srun", "bash", "-c", "echo on; sleep 1000", stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == "on\n"
    p.kill()
    p.wait()
    p.stdout.close()
    wait_until(lambda: not cluster.run("squeue", "-h").stdout, "the job is gone", 60)


def test_salloc(cluster):
    done = cluster.run("salloc", "-N2", "bash", "-c", "echo $SLURM_JOB_ID $SLURM_NNODES; srun -l hostname | wc -l")
    job, nodes, lines = done.stdout.split()
    assert (nodes, lines) == ("2", "2")
    assert f"salloc: Granted job allocation {job}" in done.stderr
    assert f"salloc: Relinquishing job allocation {job}" in done.stderr
    wait_until(lambda: not cluster.run("squeue", "-h").stdout, "the allocation is given back")


def test_salloc_hands_the_exit_code_on(cluster):
    assert cluster.run("salloc", "bash", "-c", "exit 6", check=False).returncode == 6


def test_salloc_queued(cluster):
    holder = cluster.sbatch("-N3", "--exclusive", wrap="sleep 1000")
    cluster.wait_state(holder, "RUNNING")
    p = cluster.popen("salloc", "-N1", "true", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert re.match(r"salloc: Pending job allocation \d+\n", p.stderr.readline())
    assert re.match(r"salloc: job \d+ queued and waiting for resources\n", p.stderr.readline())
    cluster.run("scancel", holder)
    _, err = p.communicate(timeout=30)
    assert p.returncode == 0
    assert "has been allocated resources" in err


def test_attach_to_an_existing_job(cluster):
    job = cluster.sbatch("-N2", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("srun", f"--jobid={job}", "--overlap", "-l", "bash", "-c", "echo $SLURM_JOB_ID")
    assert sorted(done.stdout.splitlines()) == [f"0: {job}", f"1: {job}"]


def test_step_environment(cluster):
    done = cluster.run("srun", "-N2", "-n4", "--export=ALL,X=y", "bash", "-c",
                       "[ $SLURM_PROCID != 3 ] || env | grep -E '^(SLURM|X)' | sort")
    env = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert env["X"] == "y"
    for name, value in {"SLURM_NTASKS": "4", "SLURM_PROCID": "3", "SLURM_NNODES": "2", "SLURM_STEP_ID": "0",
                        "SLURM_STEP_NUM_TASKS": "4", "SLURM_JOB_NUM_NODES": "2"}.items():
        assert env[name] == value, name
    assert env["SLURM_JOB_NODELIST"] == env["SLURM_STEP_NODELIST"]


def test_umask_and_limits_travel(cluster):
    done = subprocess.run(["bash", "-c", "umask 027; ulimit -n 77; srun bash -c 'umask; ulimit -n'"],
                          env=cluster.env, cwd=cluster.work, capture_output=True, text=True)
    assert done.stdout == "0027\n77\n"


@pytest.mark.skipif(os.getpriority(os.PRIO_PROCESS, 0) != 0, reason="what is nicer at the start cannot be told from it")
@pytest.mark.parametrize("mode, said", [(1, ["5", "0", "0"]), (2, ["5", "1", "1"])])
def test_nice_value_travels(make_cluster, mode, said):
    """PropagatePrioProcess; the variable is the user's word, and gives nobody more than is anybody's."""
    c = make_cluster(nodes=1, conf=f"PropagatePrioProcess={mode}")
    assert [c.run("srun", "nice", env={"SLURM_PRIO_PROCESS": value}).out.strip() for value in ("5", "-7", "0")] == said


# ---- the end of a job: its script first -------------------------------------------------------------

def stopped_batch_daemon(cluster):
    """A job whose script waits for its step, and the step daemon of its script, stopped."""
    job = cluster.sbatch("-N1", script="srun bash -c 'echo on; exec sleep 1000'\nexit $?")
    out = cluster.work / f"slurm-{job}.out"
    wait_until(lambda: out.exists() and "on" in out.read_text(), "the step runs")
    daemon = wait_until(lambda: [pid for pid, cmd in processes_of(cluster.dir)
                                 if cmd.startswith(f"slurmstepd: [{job}.batch]")], "its script has a step daemon")[0]
    os.kill(daemon, signal.SIGSTOP)
    return job, daemon


def test_a_script_has_its_signal_before_its_steps(cluster):
    """However late its step daemon is: else the script sees its step fail, goes on, and ends as it likes."""
    job, daemon = stopped_batch_daemon(cluster)
    try:
        cluster.run("scancel", job)
        wait_until(lambda: f"the batch step is ended first job={job}" in cluster.logs("slurmd"), "slurmd waits for it")
        assert [cmd for _, cmd in processes_of(cluster.dir) if cmd.startswith("sleep 1000")]
    finally:
        os.kill(daemon, signal.SIGCONT)
    cluster.wait_end(job)
    rows = wait_until(lambda: (r := cluster.sacct("-j", str(job), "-o", "JobID,State,ExitCode")) and len(r) == 3 and
                      all(x[1] != "RUNNING" for x in r) and r, "accounting has the steps")
    assert rows[1] == [f"{job}.batch", "CANCELLED", "0:15"]
    assert rows[2][:2] == [f"{job}.0", "CANCELLED"]


def test_steps_do_not_wait_for_ever_for_the_script(cluster):
    job, daemon = stopped_batch_daemon(cluster)
    try:
        cluster.run("scancel", job)
        wait_until(lambda: not [cmd for _, cmd in processes_of(cluster.dir) if cmd.startswith("sleep 1000")],
                   "the step is over", 40)
        assert f"other steps are ended job={job}" in cluster.logs("slurmd")
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
