"""PrologFlags=Contain: a step of each job that holds what others bring to it."""
import os
import signal
from pathlib import Path

import pytest

from conftest import wait_until

CONTAIN = "PrologFlags=Contain"


def daemons(c, job, step="extern"):
    """Process ids of the step daemons of a step, as their titles in /proc tell."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            title = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")[0].decode()
            ours = os.readlink(f"/proc/{pid}/cwd").startswith(str(c.dir))
        except (OSError, UnicodeDecodeError):
            continue
        if title == f"slurmstepd: [{job}.{step}]" and ours:
            found.append(int(pid))
    return found


def rows(c, job, fields="jobid,state,exitcode"):
    return c.sacct("-j", job, "-o", fields)


def ended(c, job):
    """The job's rows, once all are written."""
    c.wait_end(job)
    wait_until(lambda: all(r[1] not in ("RUNNING", "PENDING") for r in rows(c, job)), f"accounting has {job}")
    wait_until(lambda: not daemons(c, job), "the extern steps are gone")
    return {r[0]: [r[1].split(" ")[0], *r[2:]] for r in rows(c, job)}


@pytest.fixture
def c(make_cluster):
    return make_cluster(nodes=2, conf=CONTAIN)


def test_batch(c):
    job = c.sbatch("-N2", wrap="srun sleep 100; exit 3")
    wait_until(lambda: f"{job}.0" in c.run("squeue", "-s", "-h", "-o", "%i").out, "the step runs")
    steps = c.run("squeue", "-s", "-h", "-o", "%i %j %N %A").out.splitlines()
    assert steps == [f"{job}.0 sleep node[1-2] 2", f"{job}.batch batch node1 1", f"{job}.extern extern node[1-2] 2"]
    wait_until(lambda: len(daemons(c, job)) == 2, "an extern step on each node")
    shown = c.run("scontrol", "show", "step", f"{job}.extern").out
    assert f"StepId={job}.extern " in shown and "State=RUNNING Partition=main NodeList=node[1-2]" in shown
    assert "Nodes=2 CPUs=0 Tasks=2 Name=extern Network=(null)\n   TRES=(null)\n" in shown
    assert ["extern", "RUNNING"] in rows(c, job, "jobname,state")
    c.run("scancel", f"{job}.0")
    done = ended(c, job)
    assert list(done) == [str(job), f"{job}.batch", f"{job}.extern", f"{job}.0"]
    assert done[f"{job}.batch"] == ["FAILED", "3:0"] and done[f"{job}.extern"] == ["COMPLETED", "0:0"]
    got = {r[0]: r[1:] for r in rows(c, job, "jobid,ntasks,nnodes,alloctres,user")}
    assert got[f"{job}.extern"][:2] == ["2", "2"] and got[f"{job}.extern"][3] == ""
    assert got[f"{job}.extern"][2] == got[str(job)][2]


def test_one_node(c):
    """The node ends such a job by itself, without being told."""
    for code, state in ((0, "COMPLETED"), (2, "FAILED")):
        job = c.sbatch("-N1", wrap=f"exit {code}")
        done = ended(c, job)
        assert done[f"{job}.batch"] == [state, f"{code}:0"] and done[f"{job}.extern"] == ["COMPLETED", "0:0"]
    job = c.sbatch("-N1", wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: daemons(c, job), "the extern step runs")
    c.run("scancel", job)
    assert ended(c, job)[f"{job}.extern"] == ["COMPLETED", "0:0"]


def test_allocations(c):
    assert c.run("srun", "-N2", "hostname").returncode == 0
    out = c.run("salloc", "-N1", "sh", "-c", "squeue -s -h -j $SLURM_JOB_ID -o %i").out.split()
    job = out[0].split(".")[0]
    assert out == [f"{job}.extern"]
    for number in (int(job) - 1, int(job)):
        assert ended(c, number)[f"{number}.extern"] == ["COMPLETED", "0:0"]
    c.wait_nodes()


def test_srun_owner_dies(c):
    """An allocation whose owner is gone ends with its last step: the extern step is none that keeps it."""
    srun = c.popen("srun", "-N1", "sleep", "100")
    job = wait_until(lambda: c.run("squeue", "-h", "-o", "%i").out.strip(), "the job is there")
    wait_until(lambda: daemons(c, job, "0"), "the step is launched, not only listed")
    srun.kill()
    srun.wait()
    assert ended(c, job)[f"{job}.extern"] == ["COMPLETED", "0:0"]


def test_without(make_cluster):
    c = make_cluster(nodes=1)
    job = c.sbatch(wrap="sleep 100")
    c.wait_state(job, "RUNNING")
    assert c.run("squeue", "-s", "-h", "-o", "%i").out == f"{job}.batch\n" and not daemons(c, job)
    c.run("scancel", job)
    assert list(ended(c, job)) == [str(job), f"{job}.batch"]


def test_restarts(c):
    """Of slurmd, by -9, and of slurmctld: the steps go on, and end with the job."""
    job = c.sbatch("-N2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: len(daemons(c, job)) == 2, "an extern step on each node")
    before = sorted(daemons(c, job))
    c.slurmds["node2"].kill()
    c.ended.append(c.slurmds["node2"])
    c.start_slurmd("node2")
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes("mixed")
    assert sorted(daemons(c, job)) == before
    assert c.run("squeue", "-s", "-h", "-o", "%i").out.split() == [f"{job}.batch", f"{job}.extern"]
    c.run("scancel", job)
    assert ended(c, job)[f"{job}.extern"] == ["COMPLETED", "0:0"]


def test_end_while_slurmd_is_away(c):
    flag = c.dir / "flag"
    job = c.sbatch("-N1", "-w", "node1", wrap=f"touch {flag}.begun; until test -e {flag}; do sleep 0.1; done")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: daemons(c, job), "the extern step runs")
    wait_until(Path(f"{flag}.begun").exists, "the script runs")  # a step that has not begun would be launched anew
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    flag.touch()
    wait_until(lambda: not daemons(c, job, "batch"), "the script is over")
    assert daemons(c, job)
    c.start_slurmd("node1")
    done = ended(c, job)
    assert done[f"{job}.batch"] == ["COMPLETED", "0:0"] and done[f"{job}.extern"] == ["COMPLETED", "0:0"]


def test_killed_daemon(c):
    """The job does not need its extern step."""
    job = c.sbatch("-N1", wrap="sleep 3")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: daemons(c, job), "the extern step runs")
    os.kill(daemons(c, job)[0], signal.SIGKILL)
    wait_until(lambda: f"{job}.extern" not in c.run("squeue", "-s", "-h", "-o", "%i").out, "its end is known")
    done = ended(c, job)
    assert done[str(job)] == ["COMPLETED", "0:0"] and done[f"{job}.extern"] == ["CANCELLED", "0:9"]


def test_killed_with_slurmd(c):
    job = c.sbatch("-N1", "-w", "node1", wrap=f"touch {c.dir}/runs; sleep 1000")
    wait_until(lambda: (c.dir / "runs").exists(), "the script runs")
    wait_until(lambda: daemons(c, job), "the extern step runs")
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    for pid in daemons(c, job) + daemons(c, job, "batch"):
        os.kill(pid, signal.SIGKILL)
    c.start_slurmd("node1")
    c.wait_end(job)
    c.wait_nodes()
    assert not daemons(c, job)


def test_requeue(c):
    job = c.sbatch("-N1", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "requeue", job)
    c.wait_state(job, "PENDING")
    wait_until(lambda: not daemons(c, job), "the first run's step is gone")
    c.run("scancel", job)


def test_prolog(make_cluster, folder):
    """The extern step waits for the prolog as all steps do, and nothing is left when that fails."""
    gate, prolog = folder / "gate", folder / "prolog"
    prolog.write_text(f"#!/bin/bash\nuntil test -e {gate}; do sleep 0.05; done\nexit $(cat {gate})\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"{CONTAIN}\nProlog={prolog}")
    job = c.sbatch(wrap="true")
    wait_until(lambda: c.job(job)["Reason"] == "Prolog", "its node runs the prolog")
    assert not daemons(c, job)
    gate.write_text("0")
    assert ended(c, job)[f"{job}.extern"] == ["COMPLETED", "0:0"]
    gate.write_text("1")
    job = c.sbatch(wrap="true")
    wait_until(lambda: "drain" in c.run("sinfo", "-h", "-o", "%T").out, "the node is drained")
    wait_until(lambda: not daemons(c, job), "nothing of it is left")
    c.run("scancel", job)
