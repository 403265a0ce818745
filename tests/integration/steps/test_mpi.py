"""PMI-1, PMI-2 and PMIx of srun: tasks on several nodes find each other.  (MPI programs: tests/clients.)"""

import re
import subprocess

import pytest

from conftest import ROOT, let_in

CLUSTER = {"nodes": 4, "cpus": 4, "conf": "KillWait=2"}
PROGRAMS = ROOT / "tests" / "integration" / "programs"


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("options, mapping", [
    (["-N1", "-n3"], "(vector,(0,1,3))"), (["-N4", "-n8", "--ntasks-per-node=2"], "(vector,(0,4,2))"),
    (["-N3", "-n7"], "(vector,(0,1,4),(1,1,2),(2,1,1))"),
    (["-N2", "-n4", "-m", "cyclic", "--ntasks-per-node=2"], "(vector,(0,2,1),(0,2,1))")])
def test_pmi(c, version, options, mapping):
    out = c.run("srun", "-K", "--mpi=pmi2", *options, str(PROGRAMS / "pmi_client.py"), version, "20", timeout=40).out
    tasks = int(options[1][2:])
    assert sorted(out.splitlines()) == sorted(f"rank {n} of {tasks} met 20 times, {mapping}" for n in range(tasks))


@pytest.fixture(scope="module")
def pmix_client(tmp_path_factory):
    path = tmp_path_factory.mktemp("pmix") / "client"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["gcc", "-o", path, PROGRAMS / "pmix_client.c", *flags], check=True)
    path.chmod(0o755)
    let_in(path.parent)
    return str(path)


@pytest.mark.parametrize("how", ["collected", "direct"])
def test_pmix(c, pmix_client, how):
    out = c.run("srun", "--mpi=pmix", "-N3", "-n5", "--ntasks-per-node=2", pmix_client, how, timeout=40).out
    job = re.match(r"slurm\.pmix\.(\d+)\.0 ", out)[1]
    assert sorted(out.splitlines()) == [
        f"slurm.pmix.{job}.0 0 of 5: node 0, local 0 of 2, app 0", f"slurm.pmix.{job}.0 1 of 5: node 0, local 1 of 2, app 0",
        f"slurm.pmix.{job}.0 2 of 5: node 1, local 0 of 2, app 0", f"slurm.pmix.{job}.0 3 of 5: node 1, local 1 of 2, app 0",
        f"slurm.pmix.{job}.0 4 of 5: node 2, local 0 of 1, app 0"]


def test_pmix_components(c, pmix_client):
    out = c.run("srun", "--mpi=pmix", "-N1", "-n1", pmix_client, ":", "-N2", "-n3", "--ntasks-per-node=2", pmix_client, timeout=40).out
    rows = sorted(line.split(" ", 1)[1] for line in out.splitlines())
    assert rows == ["0 of 4: node 0, local 0 of 1, app 0", "1 of 4: node 1, local 0 of 2, app 1",
                    "2 of 4: node 1, local 1 of 2, app 1", "3 of 4: node 2, local 0 of 1, app 1"]


def test_a_rank_that_talks_nonsense_harms_nobody(c):
    """It loses its connection; the others finish, since they meet nobody."""
    script = 'if [ $PMI_RANK = 1 ]; then printf "\\0\\377nonsense\\n" >&$PMI_FD; cat <&$PMI_FD; fi; echo over $PMI_RANK'
    out = c.run("srun", "--mpi=pmi2", "-n3", "bash", "-c", script, timeout=30).out
    assert sorted(out.splitlines()) == ["over 0", "over 1", "over 2"]


def test_service_killed_ends_the_step(c):
    script = 'if [ $PMI_RANK = 0 ]; then until pkill -KILL -f "slurmstepd-pmi2" -P $PPID; do sleep 0.1; done; fi; sleep 60'
    done = c.run("srun", "--mpi=pmi2", "-N1", "-n2", "bash", "-c", script, check=False, timeout=30)
    assert done.rc != 0 and "MPI: the pmi2 service on node1 has ended" in done.err


def test_default_and_environment(c):
    words = ["bash", "-c", "echo ${PMI_RANK-none} $SLURM_MPI_TYPE"]
    assert c.run("srun", *words).out == "none\n"
    assert c.run("srun", *words, env={"SLURM_MPI_TYPE": "pmi2"}).out == "0 pmi2\n"
    assert c.run("srun", "--mpi=none", *words, env={"SLURM_MPI_TYPE": "pmi2"}).out.startswith("none")


def test_list_and_unknown(c):
    assert c.run("srun", "--mpi=list").out.startswith("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n")
    done = c.run("srun", "--mpi=foo", "true", check=False)
    assert done.rc == 1 and done.err == ("srun: error: MPI: Cannot create context for mpi/foo\nsrun: error: MPI: Unable to load any plugin\n"
                                         "srun: error: Invalid MPI type 'foo', --mpi=list for acceptable types\n")


def test_queued_steps_cannot(c):
    job = c.sbatch("-n2", script="srun --async --mpi=pmi2 true; echo $?")
    c.wait_end(job)
    assert "--async cannot be used with --mpi=pmi2: the tasks find each other through srun." in c.out(job)
