"""MPI implementations of Debian: their own launchers inside an allocation of four nodes."""

import re
import subprocess

import pytest

from conftest import HERE, VENV, has_distribution

CLUSTER = {"nodes": 4, "cpus": 8, "conf": "KillWait=2"}
# The nodes are one machine: messages between them go through its loopback device, not through memory that
# Open MPI believes to belong to one node.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,tcp",
            "OMPI_MCA_btl_tcp_if_include": "lo"}


def ring(c, compiler):
    """The test's program, compiled."""
    path = c.work / "ring"
    subprocess.run([compiler, "-o", path, HERE / "programs" / "ring.c"], check=True)
    return path


def check_ring(text, tasks, nodes):
    lines = sorted(re.findall(r"^rank (\d+) of (\d+) on (\w+) token (\d+)$", text, re.M), key=lambda row: int(row[0]))
    assert [(int(rank), int(size)) for rank, size, _, _ in lines] == [(rank, tasks) for rank in range(tasks)], text
    assert [int(token) for *_, token in lines] == [tasks, *range(2, tasks + 1)]
    assert len({node for _, _, node, _ in lines}) == nodes


@pytest.mark.parametrize("how", ["salloc", "sbatch"])
def test_open_mpi(c, need, how):
    need("mpirun.openmpi", "openmpi-bin")
    program = ring(c, "mpicc.openmpi")
    options = ["-N4", "--ntasks-per-node=2"]
    if how == "salloc":
        text = c.run("salloc", *options, "mpirun.openmpi", str(program), env=OPEN_MPI).out
    else:
        job = c.sbatch(*options, script=f"mpirun.openmpi {program}", env=OPEN_MPI)
        assert c.wait_end(job, 40)["JobState"] == "COMPLETED", c.out(job)
        text = c.out(job)
    check_ring(text, 8, 4)


def test_open_mpi_on_part_of_the_allocation(c, need):
    need("mpirun.openmpi", "openmpi-bin")
    program = ring(c, "mpicc.openmpi")
    done = c.run("salloc", "-N3", "--ntasks-per-node=2", "mpirun.openmpi", "-n", "3", "--map-by", "node", str(program), env=OPEN_MPI)
    check_ring(done.out, 3, 3)


def test_open_mpi_failing_rank_ends_the_job(c, need):
    need("mpirun.openmpi", "openmpi-bin")
    done = c.run("salloc", "-N2", "--ntasks-per-node=1", "mpirun.openmpi", "sh", "-c",
                 "[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 9; sleep 1000", env=OPEN_MPI, check=False)
    assert done.rc == 9, done.err


def test_open_mpi_python(c, need):
    need("mpirun.openmpi", "openmpi-bin")
    if not has_distribution("mpi4py"):
        pytest.skip("mpi4py is not installed")
    code = "from mpi4py import MPI; w = MPI.COMM_WORLD; print(f'{w.allreduce(w.rank)} of {w.size}\\n', end='')"
    done = c.run("salloc", "-N2", "--ntasks-per-node=2", "mpirun.openmpi", str(VENV / "bin" / "python"), "-c", code, env=OPEN_MPI)
    assert done.out == "6 of 4\n" * 4


def test_open_mpi_direct(c):
    pytest.skip("processes of Open MPI started by srun itself ask for PMIx, which comes with a later stage")


@pytest.mark.parametrize("how", ["salloc", "sbatch"])
def test_mpich(c, need, how):
    need("mpiexec.hydra", "mpich")
    program = ring(c, "mpicc.mpich")
    options, launch = ["-N4", "--ntasks-per-node=2"], ["mpiexec.hydra", "-bootstrap", "slurm", str(program)]
    if how == "salloc":
        text = c.run("salloc", *options, *launch).out
    else:
        # Ranks get mpiexec's environment, and the ring prints where its proxy, not mpiexec, was started.
        job = c.sbatch(*options, script="env -u SLURMD_NODENAME " + " ".join(launch))
        assert c.wait_end(job, 40)["JobState"] == "COMPLETED", c.out(job)
        text = c.out(job)
    check_ring(text, 8, 4)


def test_mpich_singletons(c, need):
    """Without a process manager's interface each task is a world of its own."""
    need("mpiexec.hydra", "mpich")
    done = c.run("srun", "-N2", "-n2", str(ring(c, "mpicc.mpich")))
    assert sorted(done.out.splitlines()) == ["rank 0 of 1 on node1 token 0", "rank 0 of 1 on node2 token 0"]


def test_mpich_direct(c):
    pytest.skip("ranks of MPICH started by srun itself ask for PMI-2, which comes with a later stage")
