"""Submit, list, change and watch jobs of a Slurm-compatible cluster, by libpenstock.

    from penstock import Cluster

    with Cluster() as cluster:
        job = cluster.submit("#!/bin/sh\\nhostname\\n", time=5)
        print(cluster.wait(job), cluster.job(job).nodelist)"""

from .cluster import Cluster
from .errors import ConnectionLost, NotTrusted, PenstockError, Refused, Unreachable
from .records import Job, Node, Partition
from .watch import Change, Watch

__all__ = ["Change", "Cluster", "ConnectionLost", "Job", "Node", "NotTrusted", "Partition", "PenstockError", "Refused",
           "Unreachable", "Watch"]
