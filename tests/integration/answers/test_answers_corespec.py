"""--thread-spec and its variables: said to be ignored where AllowSpecResourcesUsage does not allow them."""

import re

import pytest

IGNORED = "Ignoring --thread-spec since it's not allowed by configuration (AllowSpecResourcesUsage = No)"


@pytest.mark.parametrize("argv, variable", [
    (["sbatch", "--wrap", "true"], "SBATCH_THREAD_SPEC"),
    (["salloc", "true"], "SALLOC_THREAD_SPEC"),
    (["srun", "true"], "SLURM_THREAD_SPEC"),
])
def test_thread_spec(cluster, argv, variable):
    by_option = cluster.run(argv[0], "--thread-spec=2", *argv[1:])
    assert IGNORED in by_option.stderr
    by_variable = cluster.run(*argv, env={variable: "2"})
    assert IGNORED in by_variable.stderr
    cluster.clear()


@pytest.mark.parametrize("words, kept, jobs", [("requeue_delay=2", "3", "0-2"), ("spec_cores_first", "0", "1-3")])
def test_spec_cores_first(make_cluster, words, kept, jobs):
    """The cores of CoreSpecCount are the last ones of a node, or its first."""
    c = make_cluster(nodes=1, cpus=4, node_options="CoreSpecCount=1", start=False)
    c.write_conf(re.sub(r"SchedulerParameters=.*", f"SchedulerParameters={words}", c.conf_text()))
    c.start()
    assert re.search(rf"CoreSpecCount=1 CPUSpecList={kept} ", c.run("scontrol", "show", "node", "node1").out)
    job = c.sbatch("--exclusive", wrap="sleep 60")
    c.wait_state(job, "RUNNING")
    assert f" CPU_IDs={jobs} " in c.run("scontrol", "-d", "show", "job", job).out
    c.run("scancel", job)
    c.wait_end(job)
