"""Dependencies: every kind, fulfilled and never to be; how they are shown; what is refused."""

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 4, "conf": "KillWait=1"}


def waiter(c, code=0):
    """A job that ends with the code once `go` is there."""
    return c.sbatch(wrap=f"while [ ! -e go ]; do sleep 0.05; done; exit {code}")


def go(c):
    (c.work / "go").touch()


def dependency(c, job):
    return c.run("squeue", "-h", "-j", job, "-o", "%E|%r").out.strip()


def never(c, job, shown):
    wait_until(lambda: dependency(c, job) == f"{shown}|DependencyNeverSatisfied", f"job {job} is told that it never runs")


def runs(c, *jobs):
    for job in jobs:
        assert c.wait_end(job)["JobState"] == "COMPLETED", job


def test_every_kind(c):
    ok, bad = waiter(c), waiter(c, 1)
    kinds = {"afterok": f"afterok:{ok}", "never_ok": f"afterok:{bad}", "notok": f"afternotok:{bad}",
             "never_notok": f"afternotok:{ok}", "any": f"afterany:{ok}:{bad}", "plain": f"{ok}",
             "both": f"afterok:{ok},afternotok:{bad}", "either": f"afterok:{bad}?afterok:{ok}",
             "never_both": f"afterok:{ok}:{bad}", "bb": f"afterburstbuffer:{ok}"}
    jobs = {name: c.sbatch("-d", spec, wrap="true") for name, spec in kinds.items()}
    shown = {name: dependency(c, job) for name, job in jobs.items()}
    assert shown == {
        "afterok": f"afterok:{ok}(unfulfilled)|Dependency", "never_ok": f"afterok:{bad}(unfulfilled)|Dependency",
        "notok": f"afternotok:{bad}(unfulfilled)|Dependency", "never_notok": f"afternotok:{ok}(unfulfilled)|Dependency",
        "any": f"afterany:{ok}(unfulfilled),afterany:{bad}(unfulfilled)|Dependency",
        "plain": f"afterany:{ok}(unfulfilled)|Dependency",
        "both": f"afterok:{ok}(unfulfilled),afternotok:{bad}(unfulfilled)|Dependency",
        "either": f"afterok:{bad}(unfulfilled)?afterok:{ok}(unfulfilled)|Dependency",
        "never_both": f"afterok:{ok}(unfulfilled),afterok:{bad}(unfulfilled)|Dependency",
        "bb": f"afterburstbuffer:{ok}(unfulfilled)|Dependency"}
    go(c)
    runs(c, *(jobs[name] for name in ("afterok", "notok", "any", "plain", "both", "either", "bb")))
    never(c, jobs["never_ok"], f"afterok:{bad}(failed)")
    never(c, jobs["never_notok"], f"afternotok:{ok}(failed)")


def test_after_a_start(c):
    first = c.sbatch("-H", wrap="sleep 1000")
    second = c.sbatch("-d", f"after:{first}", wrap="true")
    third = c.sbatch("-d", f"after:{first}+1", wrap="true")
    assert dependency(c, second) == f"after:{first}(unfulfilled)|Dependency"
    assert dependency(c, third) == f"after:{first}+1(unfulfilled)|Dependency"
    c.run("scontrol", "release", first)
    runs(c, second)
    assert c.state(third) == "PENDING"  # a minute later


def test_after_a_cancel(c):
    first = c.sbatch("-H", wrap="true")
    after, any_, ok, notok = (c.sbatch("-d", f"{kind}:{first}", wrap="true")
                              for kind in ("after", "afterany", "afterok", "afternotok"))
    c.run("scancel", first)
    runs(c, any_, notok, after)
    never(c, ok, f"afterok:{first}(failed)")


def test_on_jobs_that_are_over(c):
    ok, bad = c.sbatch(wrap="true"), c.sbatch(wrap="false")
    c.wait_end(ok), c.wait_end(bad)
    runs(c, c.sbatch("-d", f"afterok:{ok}", wrap="true"), c.sbatch("-d", f"afterany:{bad}", wrap="true"),
         c.sbatch("-d", f"afternotok:{bad}", wrap="true"))
    runs(c, c.sbatch("-d", "afterany:999999", wrap="true"))


@pytest.mark.parametrize("kind", ["--kill-on-invalid-dep=yes", "DependencyParameters=kill_invalid_depend"])
def test_killed_when_invalid(c, make_cluster, kind):
    if kind.startswith("Dep"):
        c = make_cluster(nodes=1, conf=kind)
    first = c.sbatch("-H", wrap="false")
    second = c.sbatch("-d", f"afterok:{first}", *([kind] if kind.startswith("--") else []), wrap="true")
    c.run("scontrol", "release", first)
    record = c.wait_end(second)
    assert (record["JobState"], record["Reason"]) == ("CANCELLED", "DependencyNeverSatisfied")
    assert record["Dependency"] == f"afterok:{first}(failed)"


def test_chain(c):
    jobs = [waiter(c)]
    for i in range(5):
        jobs.append(c.sbatch("-d", f"afterok:{jobs[-1]}", wrap=f"echo {i} >> order"))
    go(c)
    runs(c, *jobs)
    assert (c.work / "order").read_text() == "0\n1\n2\n3\n4\n"


def test_singleton(c):
    jobs = [c.sbatch("-J", "single", "-d", "singleton", wrap="echo start >> log; sleep 0.1; echo end >> log")
            for _ in range(4)]
    other = c.sbatch("-J", "other", "-d", "singleton", wrap="true")
    runs(c, other, *jobs)
    assert (c.work / "log").read_text() == "start\nend\n" * 4


def test_array_waits_for_all_tasks(c):
    first = c.sbatch("--array=1-3", wrap="while [ ! -e go ]; do sleep 0.05; done; exit $((SLURM_ARRAY_TASK_ID == 2))")
    corr = c.sbatch("--array=1-3", "-d", f"aftercorr:{first}", wrap="true")
    one, all_, notok, any_ = (c.sbatch("-d", d, wrap="true") for d in (
        f"afterok:{first}_1", f"afterok:{first}", f"afternotok:{first}", f"afterany:{first}"))
    assert dependency(c, all_) == f"afterok:{first}_*(unfulfilled)|Dependency"
    assert dependency(c, one) == f"afterok:{first}_1(unfulfilled)|Dependency"
    assert dependency(c, corr).startswith(f"aftercorr:{first}_*(unfulfilled)|")
    go(c)
    runs(c, one, any_, notok)
    never(c, all_, f"afterok:{first}_*(failed)")
    wait_until(lambda: c.run("squeue", "-h", "-j", corr, "-o", "%i %r").out ==
               f"{corr}_2 DependencyNeverSatisfied\n", "only the task of the failed one waits")


@pytest.mark.parametrize("spec", ["foo:1", "afterok", "afterok:", "afterok:abc", "afterok:999999", "afterok:1,,",
                                  "afterok:1,afterany:1?afterok:1", "afterok:-1", "singleton:1", "afterok:1+x"])
def test_refused(c, spec):
    c.sbatch("-H", wrap="true")
    before = c.run("squeue", "-h").out
    assert c.refused("sbatch", "-d", spec, "--wrap", "true") == (
        "sbatch: error: Batch job submission failed: Job dependency problem\n")
    assert c.run("squeue", "-h").out == before


def test_circles_are_refused(c):
    first = c.sbatch("-H", wrap="true")
    second = c.sbatch("-d", f"afterok:{first}", wrap="true")
    third = c.sbatch("-d", f"afterok:{second}", wrap="true")
    assert c.refused("scontrol", "update", f"jobid={first}", f"dependency=afterok:{third}") == (
        f"Circular job dependency for job {first}\n")
    assert c.refused("scontrol", "update", f"jobid={first}", f"dependency=afterok:{first}").endswith(
        f" for job {first}\n")
    assert c.job(first)["Dependency"] == "(null)"


def test_circles_deeper_than_looked_for(make_cluster):
    """max_depend_depth jobs after each other are looked through."""
    for depth, refused in ((1, False), (2, True)):
        c = make_cluster(nodes=1, conf=f"DependencyParameters=max_depend_depth={depth}")
        first = c.sbatch("-H", wrap="true")
        second = c.sbatch("-d", f"afterok:{first}", wrap="true")
        third = c.sbatch("-d", f"afterok:{second}", wrap="true")
        done = c.run("scontrol", "update", f"jobid={first}", f"dependency=afterok:{third}", check=False)
        assert ("Circular job dependency" in done.err, done.rc != 0) == (refused, refused)


def test_update(c):
    first = c.sbatch("-H", wrap="true")
    second = c.sbatch("-d", f"afterok:{first}", wrap="true")
    c.run("scontrol", "update", f"jobid={second}", f"dependency=afterany:{first}")
    assert dependency(c, second) == f"afterany:{first}(unfulfilled)|Dependency"
    c.run("scontrol", "update", f"jobid={second}", "dependency=")
    runs(c, second)
    assert c.job(second)["Dependency"] == "(null)"


def test_survives_a_kill_of_the_controller(cluster):
    first = cluster.sbatch("-H", wrap="true")
    jobs = [cluster.sbatch("-d", d, wrap="true") for d in (f"afterok:{first}", f"afterany:{first}?afternotok:{first}")]
    cluster.kill_ctld()
    cluster.start_ctld()
    assert dependency(cluster, jobs[0]) == f"afterok:{first}(unfulfilled)|Dependency"
    cluster.run("scontrol", "release", first)
    for job in jobs:
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_a_job_that_was_held_when_its_target_failed(c):
    target = c.sbatch("-H", wrap="true")
    job = c.sbatch("-H", "-d", f"afterok:{target}", wrap="true")
    c.run("scancel", target)
    wait_until(lambda: dependency(c, job) == f"afterok:{target}(failed)|JobHeldUser", "the target's end is seen")
    c.run("scontrol", "release", job)
    never(c, job, f"afterok:{target}(failed)")
    c.run("scancel", job)
