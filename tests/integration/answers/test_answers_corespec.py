"""--thread-spec and its variables: said to be ignored where AllowSpecResourcesUsage does not allow them."""

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
