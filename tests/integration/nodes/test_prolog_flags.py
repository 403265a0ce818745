"""PrologFlags: when prologs run and what waits for them (Alloc, NoHold, DeferBatch), and where (RunInJob)."""
import json
import os
import re
import signal

import pytest

from conftest import wait_until
from test_extern import daemons, ended
from test_namespace_linux import place  # noqa: F401 (fixture)


@pytest.fixture
def gates(folder):
    """A prolog that notes its node when it starts, and waits for gate.NODE."""
    class Gates:
        path, notes = folder / "gated", folder / "notes"

        def open(self, *nodes):
            for node in nodes:
                (folder / f"gate.{node}").touch()

        def started(self):
            return sorted(self.notes.read_text().split()) if self.notes.exists() else []
    g = Gates()
    g.path.write_text(f"#!/bin/bash\necho $SLURMD_NODENAME >> {g.notes}\n"
                      f"until test -e {folder}/gate.$SLURMD_NODENAME; do /bin/sleep 0.05; done\n")
    g.path.chmod(0o755)
    return g


def shown(c, *args):
    """Number, state and reason of each job."""
    return [tuple(line.split(" ", 2)) for line in c.run("squeue", "-h", "-o", "%i %T %r", *args).out.splitlines()]


def test_an_allocation_is_ready_after_all_prologs(make_cluster, gates):
    """It is granted at once; the command waits until the nodes are ready."""
    c = make_cluster(nodes=2, conf=f"Prolog={gates.path}\nPrologFlags=Alloc")
    alloc = c.popen("salloc", "-N2", "--exclusive", "bash", "-c", "echo $SLURM_JOB_ID granted", stdout=-1, stderr=-1)
    wait_until(lambda: gates.started() == ["node1", "node2"], "both prologs run")
    (job, *state), = shown(c)
    assert state == ["RUNNING", "Prolog"]
    assert json.loads(c.run("squeue", "--json").out)["jobs"][0]["state_reason"] == "Prolog"
    gates.open("node1")
    # Both sides forget who has answered, and ask again.
    c.restart_ctld()
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    c.start_slurmd("node1")
    c.wait_nodes("allocated")
    waits = c.popen("scontrol", "wait_job", job, stdout=-1, stderr=-1)
    assert alloc.poll() is None and shown(c) == [(str(job), "RUNNING", "Prolog")]
    assert waits.poll() is None
    gates.open("node2")
    out, err = alloc.communicate(timeout=60)
    assert out == f"{job} granted\n", err
    said = [f"Granted job allocation {job}", "Waiting for resource configuration", "Nodes node[1-2] are ready for job",
            f"Relinquishing job allocation {job}"]
    assert [line for line in err.splitlines() if "ontroller" not in line] == [f"salloc: {text}" for text in said]
    assert waits.communicate(timeout=60)[1] == f"scontrol: Nodes are ready for job {job}\n"


def test_srun_waits_for_prologs_in_silence(make_cluster, gates):
    c = make_cluster(nodes=2, conf=f"Prolog={gates.path}\nPrologFlags=Alloc")
    run = c.popen("srun", "-N2", "echo", "hi", stdout=-1, stderr=-1)
    wait_until(lambda: gates.started() == ["node1", "node2"], "both prologs run")
    (job, *state), = shown(c)
    assert state == ["RUNNING", "Prolog"]
    gates.open("node1")
    assert c.run("squeue", "-s", "-h", "-j", job).out == ""
    gates.open("node2")
    assert run.communicate(timeout=60) == ("hi\nhi\n", "") and run.returncode == 0


def test_cancelled_before_the_nodes_are_ready(make_cluster, gates):
    c = make_cluster(nodes=1, conf=f"Prolog={gates.path}\nPrologFlags=Alloc")
    alloc = c.popen("salloc", "echo", "never", stdout=-1, stderr=-1)
    wait_until(lambda: gates.started() == ["node1"], "the prolog runs")
    job = shown(c)[0][0]
    c.run("scancel", job)
    out, err = alloc.communicate(timeout=60)
    assert out == "" and alloc.returncode == 1
    assert err.splitlines()[:2] == [f"salloc: Granted job allocation {job}", "salloc: Waiting for resource configuration"]
    assert err.splitlines()[-1] == f"salloc: error: Job allocation {job} has been revoked"
    gates.open("node1")
    c.wait_end(job)


def test_nobody_waits_with_no_hold(make_cluster, gates):
    c = make_cluster(nodes=1, conf=f"Prolog={gates.path}\nPrologFlags=NoHold")
    done = c.run("salloc", "squeue", "-h", "-o", "%T %r")
    assert done.out == "RUNNING Prolog\n" and "Waiting" not in done.err
    gates.open("node1")
    c.wait_nodes("idle")


@pytest.mark.parametrize("flags", ["Alloc", "DeferBatch"])
def test_who_a_script_waits_for(make_cluster, gates, flags):
    """Its own node's prolog, with DeferBatch those of all nodes."""
    c = make_cluster(nodes=2, conf=f"Prolog={gates.path}\nPrologFlags={flags}")
    job = c.sbatch("-N2", "-w", "node[1-2]", wrap="echo ran")
    wait_until(lambda: gates.started() == ["node1", "node2"], "both prologs run")
    assert shown(c) == [(str(job), "RUNNING", "Prolog")]
    gates.open("node1")
    if flags == "Alloc":
        wait_until(lambda: (c.work / f"slurm-{job}.out").exists() and c.out(job) == "ran\n", "the script runs")
        gates.open("node2")
        assert c.wait_end(job)["JobState"] == "COMPLETED"
        return
    c.restart_ctld()
    wait_until(lambda: list(c.dir.glob(f"spool/node1/job{job}.*")), "the node has the job")
    assert not list(c.dir.glob(f"spool/node1/job{job}.*/batch")) and shown(c) == [(str(job), "RUNNING", "Prolog")]
    gates.open("node2")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(job) == "ran\n"
    assert gates.started() == ["node1", "node2"]


def test_deferred_heterogeneous_job(make_cluster, gates):
    """The leader's script waits for the nodes of all components."""
    c = make_cluster(nodes=2, conf=f"Prolog={gates.path}\nPrologFlags=DeferBatch")
    job = c.sbatch("-n1", "-w", "node1", ":", "-n1", "-w", "node2", wrap="echo ran")
    wait_until(lambda: gates.started() == ["node1", "node2"], "both prologs run")
    gates.open("node1")
    wait_until(lambda: sorted(state[2] for state in shown(c)) == ["None", "Prolog"], "the leader's node is ready")
    assert not list(c.dir.glob(f"spool/node1/job{job}.*/batch"))
    gates.open("node2")
    c.wait_end(job)
    assert c.out(job) == "ran\n"


def test_a_prolog_that_fails_meanwhile(make_cluster, gates):
    c = make_cluster(nodes=2, conf=f"Prolog={gates.path}\nPrologFlags=DeferBatch\nPrologTimeout=1")
    gates.open("node1")
    job = c.sbatch("-N2", wrap="echo ran")
    wait_until(lambda: c.job(job).get("Reason") == "launch_failed_requeued_held", "the job is held", 30)
    c.wait_nodes("drained", ["node2"])
    gates.open("node2")
    c.run("scontrol", "update", "nodename=node2", "state=resume")
    c.run("scontrol", "release", job)
    assert c.wait_end(job, 40)["JobState"] == "COMPLETED"


# ---- RunInJob ---------------------------------------------------------------------------------------------


class InJob:
    """A cluster with cgroups, whose prolog and epilog note theirs."""

    def __init__(self, folder, make_cluster, place):
        kind, mount, slice = place
        self.notes, self.gate = folder / "cgroups", folder / "gate"
        self.gate.touch()
        for name in ("prolog", "epilog"):
            path = folder / name
            path.write_text(f"""#!/bin/bash
echo $SLURM_SCRIPT_CONTEXT $(tr '\\n' ' ' < /proc/self/cgroup) >> {self.notes}
until test -e {self.gate}; do /bin/sleep 0.05; done
test $SLURM_SCRIPT_CONTEXT = epilog_slurmd || setsid bash -c 'exec -a left-by-{folder.name} sleep 1000' &
""")
            path.chmod(0o755)
        self.c = make_cluster(start=False, nodes=1, conf="PrologFlags=RunInJob\nProctrackType=proctrack/cgroup\n"
                              f"Prolog={folder}/prolog\nEpilog={folder}/epilog")
        text = re.sub(r"ProctrackType=proctrack/linuxproc\n", "", self.c.conf_text())
        self.c.write_conf(text)
        (self.c.dir / "etc" / "cgroup.conf").write_text(f"CgroupPlugin={kind}\nCgroupMountpoint={mount}\nCgroupSlice={slice}\n")
        self.c.start()

    def left(self):
        """What the prolog started and did not wait for."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if open(f"/proc/{pid}/cmdline", "rb").read().startswith(f"left-by-{self.gate.parent.name}".encode()):
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def seen(self):
        return [line.split(" ", 1) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []


@pytest.fixture
def injob(folder, place, make_cluster):  # noqa: F811
    return InJob(folder, make_cluster, place)


def test_scripts_in_the_job(injob):
    """They are processes of the extern step, which lasts until the epilog is over; what the prolog leaves ends with it."""
    c = injob.c
    job = c.sbatch(wrap=f"cat {injob.notes}")
    done = ended(c, job)
    assert done[f"{job}.batch"] == done[f"{job}.extern"] == ["COMPLETED", "0:0"]
    assert "prolog_slurmd" in c.out(job) and "epilog" not in c.out(job)
    assert [line[0] for line in injob.seen()] == ["prolog_slurmd", "epilog_slurmd"]
    assert all("/step_extern/" in line[1] for line in injob.seen()), injob.seen()
    assert injob.left() == []
    assert c.run("sinfo", "-h", "-o", "%T").out.strip() == "idle"


def test_cancelled_while_its_prolog_runs(injob):
    """The prolog is not killed: the node would be drained for it."""
    c = injob.c
    injob.gate.unlink()
    job = c.sbatch(wrap="true")
    wait_until(lambda: injob.seen(), "the prolog runs")
    c.run("scancel", job)
    c.wait_state(job, "COMPLETING")
    injob.gate.touch()
    c.wait_end(job)
    wait_until(lambda: len(injob.seen()) == 2, "the epilog runs")
    c.wait_nodes("idle")
    wait_until(lambda: not daemons(c, job) and not injob.left(), "nothing is left")


def test_slurmd_restarts_in_the_epilog(injob):
    c = injob.c
    job = c.sbatch(wrap=f"rm {injob.gate}")
    wait_until(lambda: len(injob.seen()) == 2, "the epilog runs")
    assert daemons(c, job)
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    c.start_slurmd("node1")
    wait_until(lambda: len(injob.seen()) == 3, "it runs again: nobody knows how far it came")
    injob.gate.touch()
    assert ended(c, job)[f"{job}.batch"] == ["COMPLETED", "0:0"]
    assert "/step_extern/" in injob.seen()[2][1]
    c.wait_nodes("idle")


def test_without_its_extern_step(injob):
    """The epilog of a job whose extern step was killed runs all the same, beside the job."""
    c = injob.c
    job = c.sbatch(wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: daemons(c, job, "batch"), "the script runs")
    wait_until(lambda: len(injob.left()) == 1, "the prolog has left something")
    os.kill(daemons(c, job)[0], signal.SIGKILL)
    wait_until(lambda: not injob.left(), "what was in it ends")
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: len(injob.seen()) == 2, "the epilog runs")
    assert "/step_extern/" not in injob.seen()[1][1]
    c.wait_nodes("idle")
