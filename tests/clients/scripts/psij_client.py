"""PSI/J: a job, a parallel one, one that fails and one that is cancelled, by its own polling."""
import os
from datetime import timedelta

import psij
from psij.executors.batch.slurm import SlurmExecutorConfig

WORK = os.environ["WORK"]
config = SlurmExecutorConfig(initial_queue_polling_delay=1, queue_polling_interval=1)
executor = psij.JobExecutor.get_instance("slurm", config=config)


def submit(name, command, processes=1):
    spec = psij.JobSpec(executable="/bin/bash", arguments=["-c", command], stdout_path=f"{WORK}/{name}.out")
    spec.name = name
    spec.resources = psij.ResourceSpecV1(process_count=processes)
    spec.attributes = psij.JobAttributes(duration=timedelta(minutes=5), queue_name="main")
    spec.launcher = "srun" if processes > 1 else "single"
    job = psij.Job(spec)
    executor.submit(job)
    return job


def end(job):
    return job.wait(timeout=timedelta(seconds=60))


good, wide = submit("good", "echo fine"), submit("wide", "echo rank $SLURM_PROCID", 4)
bad, long = submit("bad", "exit 7"), submit("long", "sleep 1000")
long.wait(target_states=[psij.JobState.ACTIVE], timeout=timedelta(seconds=60))
long.cancel()
assert end(good).state == psij.JobState.COMPLETED and open(f"{WORK}/good.out").read() == "fine\n"
assert end(wide).state == psij.JobState.COMPLETED
assert sorted(open(f"{WORK}/wide.out").read().splitlines()) == [f"rank {rank}" for rank in range(4)]
assert end(bad).state == psij.JobState.FAILED and bad.status.exit_code == 7
assert end(long).state == psij.JobState.CANCELED
print("done")
