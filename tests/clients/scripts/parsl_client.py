"""Parsl: a block of two nodes with its own workers on each, started by srun; tasks run on both."""
import os

import parsl
from parsl import python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider

WORK = os.environ["WORK"]


@python_app
def square(x):
    import os
    import time
    time.sleep(0.2)
    return x * x, os.environ["SLURMD_NODENAME"], os.environ["SLURM_JOB_ID"]


provider = SlurmProvider(partition="main", nodes_per_block=2, init_blocks=1, min_blocks=0, max_blocks=1, walltime="00:05:00",
                         exclusive=False, cores_per_node=2, launcher=SrunLauncher(), cmd_timeout=20)
executor = HighThroughputExecutor(label="x", address="127.0.0.1", max_workers_per_node=2, cores_per_worker=1, provider=provider)
with parsl.load(Config(executors=[executor], run_dir=f"{WORK}/run", strategy="simple")):
    results = [future.result(timeout=90) for future in [square(x) for x in range(20)]]
assert sum(value for value, _, _ in results) == sum(x * x for x in range(20))
assert len({node for _, node, _ in results}) == 2 and len({job for _, _, job in results}) == 1, results
print("done")
