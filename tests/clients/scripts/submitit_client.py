"""submitit: an array, tasks over two nodes, an exception, a cancelled job, a job that is preempted and goes on."""
import os
import sys
import time

import submitit

WORK = os.environ["WORK"]


def square(x):
    return x * x, os.environ["SLURM_JOB_ID"]


def place():
    env = submitit.JobEnvironment()
    return env.global_rank, env.num_tasks, env.node, env.num_nodes, os.environ["SLURMD_NODENAME"]


def fail():
    raise ValueError("on purpose")


class Count:
    """Sleeps on its first run; a signal makes submitit write it down and requeue the job."""
    runs = 0

    def __call__(self, mark):
        self.runs += 1
        if self.runs == 1:
            open(mark, "w").close()
            time.sleep(1000)
        return self.runs, os.environ.get("SLURM_RESTART_COUNT")

    def checkpoint(self, mark):
        return submitit.helpers.DelayedSubmission(self, mark)


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def state(job):
    return job.watcher.get_state(job.job_id, mode="force")


executor = submitit.AutoExecutor(folder=f"{WORK}/%j", cluster="slurm")
executor.update_parameters(timeout_min=5, slurm_array_parallelism=8, mem_gb=0.1)
match sys.argv[1]:
    case "array":
        results = [job.result() for job in executor.map_array(square, range(20))]
        assert [value for value, _ in results] == [x * x for x in range(20)]
        assert len({job for _, job in results}) == 20
    case "nodes":
        executor.update_parameters(nodes=2, tasks_per_node=2)
        results = executor.submit(place).results()
        assert [result[:4] for result in results] == [(0, 4, 0, 2), (1, 4, 0, 2), (2, 4, 1, 2), (3, 4, 1, 2)], results
        assert len({result[4] for result in results}) == 2
    case "failure":
        assert "on purpose" in str(executor.submit(fail).exception())
    case "cancel":
        job = executor.submit(time.sleep, 1000)
        until(lambda: state(job) == "RUNNING")
        job.cancel()
        until(lambda: state(job).startswith("CANCELLED") and job.done())
    case "preempted":
        job = executor.submit(Count(), f"{WORK}/mark")
        until(lambda: os.path.exists(f"{WORK}/mark"))
        assert os.system(f"scancel {job.job_id} --signal USR2") == 0
        assert job.result() == (2, "1"), job.result()
print("done")
