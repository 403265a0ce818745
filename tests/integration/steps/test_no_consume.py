"""A GRES that never runs out (no_consume): jobs and their steps ask for it, and nobody holds any."""

import pytest


@pytest.fixture
def store(make_cluster):
    return make_cluster(nodes=2, conf="GresTypes=lustre", node_options="Gres=lustre:no_consume:4G")


def test_steps_that_ask_for_what_never_runs_out(store):
    assert store.run("srun", "--gres=lustre:3G", "-N2", "-n2", "echo", "runs").out == "runs\n" * 2
    inside = "srun --gres=lustre:2G -n1 --exact sleep 1 & srun --gres=lustre:3G -n1 --exact echo both; wait; srun --gres=lustre -n1 echo one"
    assert store.run("salloc", "-n2", "-N1", "--gres=lustre", "sh", "-c", inside).out == "both\none\n"
    assert store.run("srun", "-n2", "--tres-per-task=gres/lustre:2G", "-N1", "echo", "tasks").out == "tasks\n" * 2


def test_no_step_has_more_than_there_is(store):
    refused = store.run("salloc", "-n1", "--gres=lustre:1G", "srun", "--gres=lustre:5G", "true", check=False)
    assert refused.rc == 1 and "Invalid generic resource (gres) specification" in refused.err
    assert "Requested node configuration is not available" in store.refused("srun", "--gres=lustre:5G", "true")
