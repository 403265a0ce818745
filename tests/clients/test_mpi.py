"""MPI implementations of Debian: their own launchers inside an allocation of four nodes."""

import re
import subprocess
from pathlib import Path

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


@pytest.mark.parametrize("layout, options", [("block", ["-N4", "-n8"]), ("cyclic", ["-N4", "-n8", "-m", "cyclic"]),
                                             ("uneven", ["-N3", "-n7"]), ("one node", ["-N1", "-n4"])])
def test_open_mpi_direct(c, need, layout, options):
    """Ranks started by srun itself find each other by PMIx."""
    need("mpirun.openmpi", "openmpi-bin")
    tasks, nodes = int(options[1][2:]), int(options[0][2:])
    done = c.run("srun", "--mpi=pmix", *options, str(ring(c, "mpicc.openmpi")), env=OPEN_MPI)
    check_ring(done.out, tasks, nodes)


def test_open_mpi_direct_in_a_job(c, need):
    """Two steps of one batch job, one after the other and on parts of it at the same time."""
    need("mpirun.openmpi", "openmpi-bin")
    program = ring(c, "mpicc.openmpi")
    job = c.sbatch("-N4", "--ntasks-per-node=2", env=OPEN_MPI, script=f"""export SLURM_MPI_TYPE=pmix
srun -o whole {program}
srun -N2 -n4 -o first {program} & srun -N2 -n4 -r2 -o second {program} & wait""")
    assert c.wait_end(job, 60)["JobState"] == "COMPLETED", c.out(job)
    check_ring((c.work / "whole").read_text(), 8, 4)
    for name in "first", "second":
        check_ring((c.work / name).read_text(), 4, 2)


@pytest.mark.parametrize("mpi, compiler, code", [("pmix", "mpicc.openmpi", 7), ("pmi2", "mpicc.mpich", 7)])
def test_abort(c, need, mpi, compiler, code):
    """One rank calls MPI_Abort: the others, which sleep, are ended, and srun tells the code."""
    need(compiler, "libopenmpi-dev or libmpich-dev")
    path = c.work / "abort"
    subprocess.run([compiler, "-o", path, HERE / "programs" / "abort.c"], check=True)
    tmp = c.work / "tmp"  # Open MPI leaves its folder there when it is ended like this
    tmp.mkdir()
    env = {**OPEN_MPI, "TMPDIR": str(tmp)}
    done = c.run("srun", f"--mpi={mpi}", "-N2", "-n4", str(path), str(code), env=env, check=False, timeout=40)
    assert done.rc in (code, 143), done.err  # ended by TERM counts for more than a code
    assert "task 1" in done.err and "rank 0 went on" not in done.out


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


@pytest.mark.parametrize("options", [["-N4", "-n8"], ["-N4", "-n8", "-m", "cyclic"], ["-N3", "-n7"], ["-N1", "-n4"],
                                     ["-N2", "-n8", "-m", "plane=2"]])
def test_mpich_direct(c, need, options):
    """Ranks started by srun itself find each other by PMI."""
    need("mpiexec.hydra", "mpich")
    tasks, nodes = int(options[1][2:]), int(options[0][2:])
    done = c.run("srun", "--mpi=pmi2", *options, str(ring(c, "mpicc.mpich")))
    check_ring(done.out, tasks, nodes)


def all_to_all(c, compiler):
    path = c.work / "alltoall"
    subprocess.run([compiler, "-O2", "-o", path, HERE / "programs" / "alltoall.c"], check=True)
    return path


@pytest.mark.parametrize("mpi, compiler", [("pmix", "mpicc.openmpi"), ("pmi2", "mpicc.mpich")])
def test_all_to_all(c, need, mpi, compiler):
    need(compiler, "libopenmpi-dev or libmpich-dev")
    done = c.run("srun", f"--mpi={mpi}", "-N4", "-n8", str(all_to_all(c, compiler)), env=OPEN_MPI, timeout=60)
    assert done.out == "8 ranks, 200 exchanges, every value right\n", done.err


@pytest.mark.parametrize("mpi, compiler", [("pmix", "mpicc.openmpi"), ("pmi2", "mpicc.mpich")])
def test_components(c, need, mpi, compiler):
    """One world over both components of a heterogeneous step."""
    need(compiler, "libopenmpi-dev or libmpich-dev")
    program = str(ring(c, compiler))
    done = c.run("srun", f"--mpi={mpi}", "-N1", "-n2", program, ":", "-N2", "-n3", program, env=OPEN_MPI, timeout=60)
    check_ring(done.out, 5, 3)


def test_application(c, need):
    """The HPC Challenge of Debian, a program of many parts, over four tasks of two nodes."""
    need("hpcc", "hpcc")
    example = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text().splitlines()
    example[5] = "200          Ns"  # seconds instead of minutes
    (c.work / "hpccinf.txt").write_text("\n".join(example) + "\n")
    done = c.run("srun", "--mpi=pmix", "-N2", "-n4", "hpcc", env=OPEN_MPI, timeout=600)
    assert (done.out, done.err) == ("", "")
    text = (c.work / "hpccoutf.txt").read_text()
    values = dict(re.findall(r"^(\w+)=(.*)$", text.split("Begin of Summary section.")[1], re.M))
    assert (values["CommWorldProcs"], values["HPL_nprow"], values["HPL_npcol"]) == ("4", "2", "2")
    assert values["Success"] == "1" and "FAILED" not in text.replace("FAILED the residual checks", "")
    assert float(values["PTRANS_residual"]) == 0 and int(values["MPIRandomAccess_Errors"]) == 0
