"""The Python package: every call against a real cluster, streams in asyncio, and a controller that is killed meanwhile."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, SANITIZED, wait_until

pytestmark = pytest.mark.skipif(SANITIZED, reason="python cannot load a library with the sanitizers")
CLUSTER = {"nodes": 2, "conf": "MessageTimeout=20"}
ENV = {"PENSTOCK_LIBRARY": str(BUILD / "src" / "lib" / "libpenstock.so.0"), "PYTHONPATH": str(ROOT / "python"),
       "PYTHONDONTWRITEBYTECODE": "1"}

if not SANITIZED:
    os.environ["PENSTOCK_LIBRARY"] = ENV["PENSTOCK_LIBRARY"]
    sys.path.insert(0, ENV["PYTHONPATH"])
    import penstock
HOME = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def us(c):
    with penstock.Cluster(conf=c.conf) as us:
        yield us


def test_records_are_up_to_date():
    """The dataclasses have the fields that the library tells."""
    run = subprocess.run([ROOT / "tools" / "gen-python", BUILD, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_submit_and_wait(c, us):
    job = us.submit('#!/bin/sh\necho "$1 $WORD"\nexit 3\n', arguments=["two words"], environment={**HOME, "WORD": "three"},
                    output=c.work / "out", job_name="notebook", time=5, chdir=c.work)
    assert us.wait(job, timeout=30) == 3
    assert (c.work / "out").read_text() == "two words three\n"
    record = us.job(job)
    assert (record.name, record.state, record.exit_code, record.time_limit_min) == ("notebook", "FAILED", 3, 5)
    assert record.start_at <= record.end_at
    assert us.job(job, fields="id,name") == penstock.Job(id=str(job), name="notebook")


def test_arrays_and_lists(c, us):
    array = us.submit(wrap="true", array=[1, 2, 5], hold=True, chdir=c.work)
    other = us.submit(wrap="true", hold=True, chdir=c.work)
    ids = {job.id for job in us.jobs(state="PENDING", fields=["id"])}
    assert ids == {f"{array}_[1-2,5]", str(other)} == set(c.run("squeue", "-ho%i").out.split())
    assert [job.job_id for job in us.jobs(job=f"{other},{array + 1000}")] == [other]
    assert [node.name for node in us.nodes(fields="name,shown_state")] == ["node1", "node2"]
    assert [node.name for node in us.nodes(name="node2")] == ["node2"]
    assert [part.name for part in us.partitions()]
    assert not list(us.jobs(state="RUNNING"))
    walk = us.jobs(fields="id")  # other calls may come amid a list
    assert next(walk) and us.job(other)
    walk.close()


def test_changes(c, us):
    job = us.submit(wrap="sleep 300", hold=True, chdir=c.work)
    us.update_job(job, TimeLimit=7, Comment="a comment, of words")
    assert us.job(job, fields="time_limit_min,comment") == penstock.Job(time_limit_min=7, comment="a comment, of words")
    us.release(job)
    wait_until(lambda: us.job(job).state == "RUNNING", "the job runs")
    us.requeue(job)
    wait_until(lambda: us.job(job).state == "PENDING", "the job was queued again")
    us.hold(job)
    assert us.job(job).reason in ("JobHeldUser", "JobHeldAdmin")  # ours; as root the second
    us.cancel(job)
    assert us.job(job).state == "CANCELLED"
    trap = us.submit("#!/bin/sh\nsrun sh -c 'trap \"echo got it; exit 0\" USR1; echo ready; while :; do sleep 0.05; done'\n",
                     output=c.work / "trap", chdir=c.work, environment={"PATH": c.env["PATH"]})
    wait_until(lambda: (c.work / "trap").exists() and "ready" in (c.work / "trap").read_text(), "the step is ready")
    us.signal("USR1", trap)
    us.wait(trap, timeout=30)
    assert "got it" in (c.work / "trap").read_text()


def test_nodes_are_changed(c, us):
    us.update_node("node2", State="DRAIN", Reason="to be looked at")
    assert "DRAIN" in next(us.nodes(name="node2")).shown_state
    us.update_node("node2", State="RESUME")
    with pytest.raises(ValueError, match="Reason"):
        us.update_node("node2", State="DRAIN")
    us.update_partition("main", MaxTime=60)
    assert "MaxTime=01:00:00" in c.run("scontrol", "show", "partition", "main").out


def test_mistakes(c, us):
    for mistake in (lambda: us.submit("no script"), lambda: us.submit(), lambda: us.submit(wrap="x", time="soon"),
                    lambda: us.submit(wrap="x", colour="red"), lambda: us.cancel("horse"), lambda: us.update_job(1),
                    lambda: us.update_job(1, Colour=1), lambda: list(us.jobs(user="no such user")),
                    lambda: list(us.jobs(fields="colour")), lambda: us.watch(types=["horse"]), lambda: us.watch(cursor="x"),
                    lambda: us.submit(wrap="a\0b")):
        with pytest.raises(ValueError):
            mistake()
    for absent in (lambda: us.job(99999), lambda: us.wait(99999, timeout=5)):
        with pytest.raises(LookupError):
            absent()
    with pytest.raises(penstock.Refused) as refused:
        us.submit(wrap="x", partition="nowhere")
    assert refused.value.code == 2000 and "\n" not in str(refused.value)
    good = us.submit(wrap="true", hold=True, chdir=c.work)
    with pytest.raises(penstock.Refused) as refused:
        us.cancel(good, 99999)
    assert [(job, code) for job, code, _ in refused.value.results] == [(str(good), 0), ("99999", 2017)]
    assert us.job(good).state == "CANCELLED"
    with pytest.raises(TimeoutError):
        us.wait(us.submit(wrap="true", hold=True, chdir=c.work), timeout=0.2)


def test_tokens(c):
    with penstock.Cluster(conf=c.conf, token="e30.e30.e30", timeout=5) as stranger:
        with pytest.raises(penstock.PenstockError) as refused:
            stranger.connect()
    assert isinstance(refused.value, penstock.NotTrusted)


def test_keys(c, us):
    first = us.submit(wrap="true", hold=True, key="one", chdir=c.work)
    assert us.submit(wrap="true", hold=True, key="one", chdir=c.work) == first
    assert us.submit(wrap="true", hold=True, chdir=c.work) != first
    with pytest.raises(penstock.Refused) as refused:
        us.submit(wrap="false", hold=True, key="one", chdir=c.work)
    assert refused.value.code == 19017


def test_asyncio_watch(c, us):
    async def life():
        seen = []
        async with us.watch(user=os.getuid()) as watch:
            job = await asyncio.to_thread(us.submit, wrap="true", chdir=c.work)
            async for change in watch:
                seen.append((change.event, change.after.state))
                if change.event == "job-end":
                    return seen, job, change.cursor
    seen, job, cursor = asyncio.run(asyncio.wait_for(life(), 30))
    assert [state for _, state in seen if state] == ["PENDING", "RUNNING", "COMPLETED"]
    with us.watch(cursor=cursor) as later:  # nothing is told twice
        after = us.submit(wrap="true", hold=True, chdir=c.work)
        told = later.next(timeout=20)
        while told.id == job:
            assert told.event != "job-end"
            told = later.next(timeout=20)
        assert (told.event, told.id) == ("job-submit", after)
        assert later.next(timeout=0) is None


def test_cancelled_tasks_leave_nothing(c, us):
    """A task of asyncio that waits for changes ends when it is told to, and its watch can be closed."""
    async def waits():
        async with us.watch() as watch:
            try:
                await asyncio.wait_for(anext(watch), 0.3)
            except TimeoutError:
                return True
    assert asyncio.run(waits())


def test_killed_controller(cluster):
    """A submission and a stream go on over a restart; no job is made twice."""
    c = cluster
    with penstock.Cluster(conf=c.conf, timeout=60) as us, us.watch() as watch:
        watch.start(timeout=20)
        submitted = [us.submit(wrap="true", chdir=c.work)]

        def submit_on():
            with penstock.Cluster(conf=c.conf, timeout=60) as other:
                for _ in range(40):
                    submitted.append(other.submit(wrap="true", hold=True, chdir=c.work))
        thread = threading.Thread(target=submit_on)
        thread.start()
        for kill in (5, 20, 35):
            wait_until(lambda: len(submitted) > kill, "submissions")
            c.kill_ctld()
            c.start_ctld()
        assert us.wait(submitted[0], timeout=60) == 0
        thread.join(60)
        assert len(set(submitted)) == 41
        assert {job.job_id for job in us.jobs(fields="job_id")} == set(submitted)
        told = []
        while len(told) < 41:
            change = watch.next(timeout=30)
            assert change, f"only {len(told)} submissions were told"
            told += [change.id] if change.event == "job-submit" else []
        assert sorted(told) == sorted(submitted)


def test_unreachable(c):
    lost = c.dir / "lost.conf"
    text = Path(c.conf).read_text()
    lost.write_text("".join(line if not line.startswith("SlurmctldPort") else "SlurmctldPort=1\n"
                            for line in text.splitlines(keepends=True)))
    with penstock.Cluster(conf=lost, timeout=1) as us:
        with pytest.raises(penstock.Unreachable):
            us.submit(wrap="true")
        with us.watch() as watch, pytest.raises(TimeoutError):
            watch.start(timeout=0.5)


def test_sweep(c):
    """The example of docs/library.md: twenty jobs submitted, watched and gathered."""
    r = subprocess.run(["/usr/bin/python3", ROOT / "examples" / "python" / "sweep.py", "20", c.work], env={**c.env, **ENV},
                       capture_output=True, text=True, timeout=100)
    assert r.returncode == 0, r.stderr
    *changes, results = r.stdout.splitlines()
    results = json.loads(results)
    assert len(results) == 20 and {found["state"] for found in results} == {"COMPLETED"}
    assert abs(next(found["integral"] for found in results if found["p"] == 1) - 0.459698) < 1e-5
    assert sum("job-end" in line for line in changes) == 20
