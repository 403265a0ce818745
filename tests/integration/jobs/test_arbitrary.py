"""srun --distribution=arbitrary: a list of nodes says where each task runs."""

import pytest

CLUSTER = {"nodes": 3, "cpus": 4}
WHERE = ["bash", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_DISTRIBUTION $SLURM_NTASKS"]


def placed(c, *options, env=None, script=""):
    """{rank: node} of a step in a job on three nodes."""
    lines = c.run("salloc", "-N3", "--exclusive", "srun", "-m", "arbitrary", *options, *WHERE, env=env).out.splitlines()
    rows = [line.split() for line in lines]
    assert all(row[2:] == ["arbitrary", str(len(rows))] for row in rows), rows
    return {int(rank): node for rank, node, *_ in rows}


def test_list_file_and_variable(c):
    want = {0: "node3", 1: "node1", 2: "node1", 3: "node3", 4: "node2"}
    assert placed(c, "-w", "node3,node1*2,node3,node2") == want
    hosts = c.work / "hosts"
    hosts.write_text("node3\nnode1*2\n\nnode3\nnode2\n")
    assert placed(c, "-w", hosts) == want
    assert placed(c, env={"SLURM_HOSTFILE": "hosts"}) == want
    assert placed(c, "-n", "3", env={"SLURM_HOSTFILE": str(hosts)}) == {0: "node3", 1: "node1", 2: "node1"}
    assert placed(c, "-w", "node[2-3],node2") == {0: "node2", 1: "node3", 2: "node2"}
    assert placed(c, "-w", "node3,node2", env={"SLURM_NTASKS": "3"}) == {0: "node3", 1: "node2"}


def test_others_see_it(c):
    """sattach, scontrol and labelled output know the ranks; a step within has a layout of its own."""
    script = ("srun -l -m arbitrary -w node2,node1,node2 bash -c 'touch up; while [ ! -e go ]; do sleep 0.05; done; "
              "echo $SLURMD_NODENAME' & while [ ! -e up ]; do sleep 0.05; done; sattach --layout $SLURM_JOB_ID.0; "
              "scontrol show step $SLURM_JOB_ID.0 | grep -o Dist=.*; touch go; wait; "
              "srun -m arbitrary -w node1 bash -c 'srun --overlap -n1 -w node3 bash -c \"echo inner \\$SLURMD_NODENAME\"'")
    out = c.run("salloc", "-N3", "--exclusive", "bash", "-c", script).out
    assert "\tNode 0 (node1), 1 task(s): 1 \n\tNode 1 (node2), 2 task(s): 0 2 \n" in out
    assert "Dist=Arbitrary" in out
    assert {"0: node2", "1: node1", "2: node2", "inner node3"} <= set(out.splitlines())


@pytest.mark.parametrize("options, says", [
    ((), "--distribution=arbitrary needs a list of nodes: -w, or SLURM_HOSTFILE"),
    (("-n", "3", "-w", "node1,node2"), "--distribution=arbitrary: 3 tasks, and the list has 2 nodes"),
    (("-w", "node1*x"), "a list of nodes takes NAME*COUNT, not node1*x"),
    (("-w", "./missing"), "slurm_allocate_resources error opening file ./missing, No such file or directory"),
    (("-w", "node1*5"), "Requested node configuration is not available"),
    (("-w", "node1,node9"), "Requested node configuration is not available"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_refusals(c, options, says):
    assert says in c.refused("salloc", "-N3", "--exclusive", "srun", "-m", "arbitrary", *options, "true")


def test_without_a_job(c):
    out = c.run("srun", "--exclusive", "-l", "-m", "arbitrary", "-w", "node3,node1,node3", "sh", "-c", "echo $SLURMD_NODENAME").out
    assert sorted(out.splitlines()) == ["0: node3", "1: node1", "2: node3"]
    assert c.refused("srun", "-n3", "-m", "arbitrary", "true") == (
        "srun: error: With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option\n")


# Where each task has a CPU of its own, a node must give as many CPUs as the list has tasks for it.
@pytest.mark.parametrize("listed, each", [
    ("node3,node1,node3", "1,2"), ("node2,node2,node2,node1", "1,3"), ("node1,node3*4", "1,4"), ("node2,node2", "2")])
def test_the_job_is_sized_by_the_list(c, listed, each):
    tasks = [name for item in listed.split(",") for name in [item.split("*")[0]] * int((item.split("*") + ["1"])[1])]
    wanted = [f"{rank}: {name} {each}" for rank, name in enumerate(tasks)]
    show = ["bash", "-c", "echo $SLURMD_NODENAME $SLURM_TASKS_PER_NODE"]
    assert sorted(c.run("srun", "-l", "-m", "arbitrary", "-w", listed, *show).out.splitlines()) == wanted
    hosts = c.work / "hosts"
    hosts.write_text("\n".join(tasks) + "\n")
    in_file = {"SLURM_HOSTFILE": str(hosts)}
    assert sorted(c.run("srun", "-l", "-m", "arbitrary", *show, env=in_file).out.splitlines()) == wanted
    out = c.run("salloc", "-m", "arbitrary", "bash", "-c", "echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE", env=in_file).out
    assert out == f"{len(tasks)} {each}\n"


def test_more_tasks_than_a_node_holds(c):
    assert c.refused("srun", "-m", "arbitrary", "-w", "node1,node2*5", "true").endswith(
        "Requested node configuration is not available\n")


def test_a_list_that_was_changed_since(c):
    """The counts are those of another list, so the tasks go where they fit."""
    job = c.sbatch("-H", "-m", "arbitrary", "-w", "node1,node3,node3", wrap="echo $SLURM_TASKS_PER_NODE")
    c.run("scontrol", "update", f"jobid={job}", "reqnodelist=node[1-2]")
    c.run("scontrol", "release", job)
    c.wait_end(job)
    assert c.out(job) == "2,1\n"


def test_file_that_is_not_there(c):
    """The status is that of a faulty option, with and without -m, as Slurm's."""
    for options in ((), ("-m", "arbitrary")):
        done = c.run("srun", *options, "-F", "/nosuch", "true", check=False)
        assert (done.rc, done.err.splitlines()[-1]) == (255, "srun: error: Invalid --nodefile node file")
        done = c.run("srun", *options, "-w", "./nosuch", "true", check=False)
        assert (done.rc, done.err) == (1, "srun: error: slurm_allocate_resources error opening file ./nosuch, No such file or directory\n")
