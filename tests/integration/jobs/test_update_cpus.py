"""NumCPUs of scontrol update: a waiting job takes as many CPUs, with the tasks that it had."""

CLUSTER = {"nodes": 2, "cpus": 4}
SAY = "echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE; srun echo x | wc -l"


def released(c, options, value):
    """What a held job says after an update of NumCPUs."""
    job = c.sbatch("--hold", *options, wrap=SAY)
    c.run("scontrol", "update", f"jobid={job}", f"numcpus={value}")
    c.run("scontrol", "release", job)
    c.wait_end(job)
    return c.out(job)


def test_more_cpus_than_tasks(c):
    assert released(c, ["-n2"], 3) == "2 2 3\n2\n"


def test_more_cpus_than_a_node_has(c):
    assert released(c, ["-n2"], 6) == "2 1(x2) 4,2\n2\n"


def test_cpus_of_tasks_are_kept_together(c):
    """Two tasks of two CPUs, and one more of which nothing comes."""
    assert released(c, ["-n2", "-c2"], 5) == "2 1(x2) 4,2\n2\n"


def test_fewer_cpus_than_tasks_use(c):
    assert released(c, ["-n3"], 1) == "3 3 3\n3\n"


def test_more_cpus_than_the_nodes_asked_for_have(c):
    job = c.sbatch("--hold", "-N1", wrap="true")
    c.run("scontrol", "update", f"jobid={job}", "reqprocs=8")
    c.run("scontrol", "release", job)
    c.wait_state(job, "PENDING")
    assert "NumCPUs=8" in c.run("scontrol", "show", "job", job).out
    assert c.run("squeue", "-h", "-j", job, "-o", "%T %r").out == "PENDING BadConstraints\n"
    c.run("scancel", job)
