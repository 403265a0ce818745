"""dask-jobqueue: three worker jobs join a scheduler, work is done on each, and they end with the cluster."""
import os

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

WORK = os.environ["WORK"]

if __name__ == "__main__":
    with SLURMCluster(cores=2, memory="500MB", walltime="00:05:00", processes=1, log_directory=f"{WORK}/logs",
                      local_directory=f"{WORK}/scratch", interface="lo") as cluster:
        cluster.scale(jobs=3)
        with Client(cluster) as client:
            client.wait_for_workers(3, timeout=60)
            assert sum(client.gather(client.map(lambda x: x * x, range(100)))) == sum(x * x for x in range(100))
            jobs = client.run(lambda: os.environ["SLURM_JOB_ID"])
            assert len(set(jobs.values())) == 3, jobs
    print("done")
