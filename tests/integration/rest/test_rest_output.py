"""GET /penstock/v1/job/{id}/output: the end of a script's output, read on the node as the job's user."""

import os

import pytest

from conftest import let_in, wait_until
from restd import Restd

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt"}
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="root alone can be several users")


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def output(rest, job, query="", **options):
    status, answer = rest.get(f"/penstock/v1/job/{job}/output{query}", **options)
    assert status != 200 or list(answer) == ["output", "meta", "errors", "warnings"], answer
    return status, answer["output"] if status == 200 else answer["errors"][0]


def ended(c, *argv, **options):
    job = c.sbatch(*argv, **options)
    c.wait_end(job)
    return job


def test_running_and_over(rest, c):
    job = c.sbatch("-o", "out-%j-%x.txt", "-J", "said", wrap="echo first; until test -e go; do sleep 0.1; done; echo last")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: output(rest, job)[1].get("text") == "first\n", "what it has written is told while it runs")
    (c.work / "go").touch()
    c.wait_end(job)
    path = str(c.work / f"out-{job}-said.txt")
    assert output(rest, job) == (200, {"path": path, "size": 11, "from": 0, "text": "first\nlast\n"})
    assert output(rest, job, "?bytes=5") == (200, {"path": path, "size": 11, "from": 6, "text": "last\n"})


def test_array_task_and_usual_name(rest, c):
    array = c.sbatch("--array=1-2", wrap="echo task $SLURM_ARRAY_TASK_ID")
    c.wait_end(array)
    for task in (1, 2):
        got = output(rest, f"{array}_{task}")[1]
        assert (got["text"], got["path"]) == (f"task {task}\n", str(c.work / f"slurm-{array}_{task}.out"))


def test_long_and_strange(rest, c):
    job = ended(c, wrap="head -c 3000000 /dev/zero | tr '\\0' x; printf '\\377\\376\\000\\033[2J\\nend\\n'")
    status, got = output(rest, job)
    assert status == 200 and got["from"] == got["size"] - 16384 and got["text"].endswith("\nend\n") and "\x1b[2J" in got["text"]
    assert output(rest, job, "?bytes=65536")[1]["from"] == got["size"] - 65536


def test_changing_file(rest, c):
    """A file that was cut, one that is gone, one that never was."""
    job = ended(c, "-o", "o", wrap="echo much")
    (c.work / "o").write_text("")
    assert output(rest, job)[1]["text"] == ""
    (c.work / "o").unlink()
    status, error = output(rest, job)
    assert status == 422 and error["description"] == f"{c.work}/o on node {c.run('squeue', '-h', '-t', 'all', '-j', job, '-o', '%B').out.strip()}: " \
        "No such file or directory"


@pytest.mark.parametrize("query", ["?bytes=0", "?bytes=-1", "?bytes=65537", "?bytes=x", "?bytes=", "?bytes=1e3", "?bytes=99999999999999999999"])
def test_bad_bytes(rest, c, query):
    status, error = output(rest, 1, query)
    assert status == 422 and error["description"].startswith("bytes=")


@pytest.mark.parametrize("word", ["0", "x", "99999", "-1", "..%2f..%2fetc%2fpasswd", "1%00", "%2fetc%2fpasswd", "a" * 900])
def test_no_such_job(rest, c, word):
    status, _, text = rest.raw("GET", f"/penstock/v1/job/{word}/output", headers={"X-SLURM-USER-TOKEN": rest.token("root")})
    assert status in (404, 422), text
    assert "root:" not in text


def test_no_script(rest, c):
    """A job that waits has none yet; that of srun has its output at srun; a step is no job."""
    waiting = c.sbatch("--hold", wrap="true")
    status, error = output(rest, waiting)
    assert status == 422 and "pending" in error["error"]
    assert output(rest, c.run("srun", "printenv", "SLURM_JOB_ID").out.strip())[0] == 422
    job = ended(c, wrap="true")
    assert output(rest, f"{job}.batch")[0] in (400, 404, 422)


@needs_root
def test_others_see_nothing(rest, c):
    """The owner and root alone: not another user, whose token is good."""
    let_in(c.work)
    c.work.chmod(0o777)
    job = ended(c, "--uid=daemon", "-o", f"{c.work}/own", wrap="umask 077; echo secret")
    assert output(rest, job, user="daemon")[1]["text"] == "secret\n"
    assert output(rest, job)[1]["text"] == "secret\n"
    status, error = output(rest, job, user="bin")
    assert status == 422 and "denied" in error["error"] and "secret" not in str(error)
    assert rest.raw("GET", f"/penstock/v1/job/{job}/output")[0] == 401


@needs_root
@pytest.mark.parametrize("make, why", [
    (lambda path, hidden: path.symlink_to(hidden), "Permission denied"),
    (lambda path, hidden: os.mkfifo(path, 0o666), "it is not a regular file"),
    (lambda path, hidden: path.mkdir(), "it is not a regular file"),
    (lambda path, hidden: path.symlink_to("/dev/zero"), "it is not a regular file"),
    (lambda path, hidden: path.symlink_to(path), "Too many levels of symbolic links"),
    (lambda path, hidden: path.symlink_to("/proc/1/environ"), "Permission denied"),
], ids=["a file of root", "a FIFO", "a folder", "a device", "a loop", "a process of root"])
def test_the_name_is_bent(rest, c, make, why):
    """Root looks at the output of a user, who has put something else in its place: it is read with the user's rights."""
    let_in(c.work)
    c.work.chmod(0o777)
    hidden = c.work / "hidden"
    hidden.write_text("of root alone\n")
    hidden.chmod(0o600)
    path = c.work / "out"
    job = ended(c, "--uid=daemon", "-o", str(path), wrap="true")
    path.unlink()
    make(path, hidden)
    status, error = output(rest, job)
    assert status == 422 and error["description"].endswith(why), error


def test_the_node_is_away(rest, c):
    job = ended(c, "-w", "node2", wrap="echo x")
    c.slurmds["node2"].stop()
    try:
        status, error = output(rest, job)
        assert status == 503 and error["description"].startswith("Node node2 cannot be asked: ")
    finally:
        c.start_slurmd("node2")
    wait_until(lambda: output(rest, job)[0] == 200, "the node is back")
