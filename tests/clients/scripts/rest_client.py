"""slurmrestapi: the operations that controllers of clusters in Kubernetes make of slurmrestd, by a client that openapi-generator made
of Slurm's document.  Its models are strict: a member of another type, a missing one or a word it does not know is an error.

usage: rest_client.py NODE (URL and TOKEN in the environment)"""

import json
import os
import sys
import time

import slurmrestapi
from slurmrestapi.exceptions import ApiException

NODE = sys.argv[1]
CONFIGURATION = slurmrestapi.Configuration(host=os.environ["URL"], api_key={"token": os.environ["TOKEN"]})
API = slurmrestapi.SlurmApi(slurmrestapi.ApiClient(CONFIGURATION))
SCRIPT = "#!/usr/bin/sh\nexit 0\n"


class Api:
    """The calls and models of one version."""

    def __init__(self, version):
        self.version = version

    def model(self, kind, /, **members):
        return getattr(slurmrestapi, f"V{self.version}{kind}").from_dict(members)

    def call(self, name, *words):
        return getattr(API, f"slurm_v{self.version}_{name}")(*words)

    def refused(self, name, *words):
        """The call fails, with a body that says why; an unknown node is 200 without nodes, which the client does not take."""
        try:
            said = self.call(name, *words)
        except ApiException as e:
            assert e.status in (400, 404, 422), (name, e)
            assert e.status == 404 or json.loads(e.body)["errors"], (name, e.body)
        except ValueError as e:  # of the models
            assert name.startswith("get_"), (name, e)
        else:
            raise AssertionError(f"{name}{words} was taken: {said}")

    def submit(self, **members):
        job = {"name": "generated", "current_working_directory": os.environ["WORK"], "environment": ["PATH=/usr/bin:/bin"],
               "standard_output": "/dev/null", **members}
        script = job.pop("script", SCRIPT)
        return str(self.call("post_job_submit", self.model("JobSubmitReq", script=script, job=job)).job_id)


def numbers(value):
    return {"set": True, "infinite": False, "number": value}


def only(answer, name):
    [item] = getattr(answer, name)
    return item


def try_controller(v):
    ping = only(v.call("get_ping"), "pings")
    assert ping.responding and ping.primary
    assert v.call("get_diag").statistics.jobs_submitted is not None
    assert not v.call("get_reconfigure").errors
    assert v.call("get_licenses").licenses is not None


def try_jobs(v):
    job = v.submit(hold=True)
    first, second = (only(v.call("get_job", job), "jobs") for _ in range(2))
    assert first == second and first.job_state == ["PENDING"] and first.name == "generated"
    assert job in [str(j.job_id) for j in v.call("get_jobs").jobs]
    v.call("post_job", job, v.model("JobDescMsg", comment="changed"))
    assert only(v.call("get_job", job), "jobs").comment == "changed"
    v.call("delete_job", job)
    assert only(v.call("get_job", job), "jobs").job_state == ["CANCELLED"]
    v.refused("post_job_submit", v.model("JobSubmitReq"))
    for name, *words in (("get_job",), ("delete_job",), ("post_job", v.model("JobDescMsg", comment="x"))):
        v.refused(name, "0", *words)


def try_resources(v):
    job = v.submit(script="#!/bin/sh\nsleep 300\n", tasks=2, time_limit=numbers(5))
    deadline = time.monotonic() + 60
    while only(v.call("get_job", job), "jobs").job_state != ["RUNNING"]:
        assert time.monotonic() < deadline, "the job does not run"
        time.sleep(0.1)
    if v.version >= "0044":
        assert only(v.call("get_resources", job), "nodes").node == only(v.call("get_job", job), "jobs").nodes
    v.call("delete_job", job)


def try_nodes(v):
    v.call("post_node", NODE, v.model("UpdateNodeMsg", comment="seen"))
    assert only(v.call("get_node", NODE), "nodes").comment == "seen"
    assert NODE in [n.name for n in v.call("get_nodes").nodes]
    for name, *words in (("get_node",), ("delete_node",), ("post_node", v.model("UpdateNodeMsg", comment="x"))):
        v.refused(name, "nosuch", *words)


def try_partitions(v):
    names = [p.name for p in v.call("get_partitions").partitions]
    assert only(v.call("get_partition", names[0]), "partitions").name == names[0]
    v.refused("get_partition", "nosuch")


def try_reservations(v):
    name, start = f"r{v.version}", int(time.time()) + 3600
    wanted = {"name": name, "node_list": [NODE], "users": ["root"], "start_time": numbers(start), "duration": numbers(30)}
    v.call("post_reservation", v.model("ReservationDescMsg", **wanted))
    seen = only(v.call("get_reservation", name), "reservations")
    assert seen.node_list == NODE and "SPEC_NODES" in seen.flags and seen.start_time.number == start
    v.call("post_reservation", v.model("ReservationDescMsg", name=name, duration=numbers(60)))
    assert only(v.call("get_reservation", name), "reservations").end_time.number == start + 3600
    assert name in [r.name for r in v.call("get_reservations").reservations]
    v.refused("post_reservation", v.model("ReservationDescMsg"))
    v.call("delete_reservation", name)
    v.refused("delete_reservation", name)
    v.refused("get_reservation", name)


if __name__ == "__main__":
    for v in map(Api, ("0042", "0043", "0044")):
        try_controller(v)
        try_jobs(v)
        try_resources(v)
        try_nodes(v)
        try_partitions(v)
        if v.version >= "0043":
            try_reservations(v)
        print(v.version)
