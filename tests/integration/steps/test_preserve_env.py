"""srun --preserve-env: counts of the environment reach the tasks as they are."""

CLUSTER = {"nodes": 2}


def test_counts_of_the_environment(c):
    show = ["sh", "-c", "echo $SLURM_NTASKS $SLURM_JOB_NUM_NODES $SLURM_STEP_NUM_TASKS"]
    env = {"SLURM_NTASKS": "7", "SLURM_JOB_NUM_NODES": "9"}
    assert c.run("srun", "-N1", "-n2", *show, env=env).out == "2 1 2\n" * 2
    for option in ("-E", "--preserve-env"):
        assert c.run("srun", option, "-N1", "-n2", *show, env=env).out == "7 9 2\n" * 2
    assert c.run("srun", "-E", "-N1", "-n2", *show).out == "2 1 2\n" * 2  # nothing there to keep
