"""Steps of a job that uses fewer threads of each core than there are: cores are held whole, by its steps as by itself."""

import re

import pytest

from conftest import Cluster


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """One node of 8 cores of 2 threads each."""
    c = Cluster(tmp_path_factory.mktemp("threads"), nodes=1, conf="SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100")
    text = re.sub(r"CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000",
                  "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000", c.conf_text())
    c.write_conf(text)
    c.start()
    yield c
    assert not c.stop()


def steps(c, options, script):
    """What the job wrote and {step: (CPUs, memory)}, once it has ended."""
    job = c.sbatch(*options.split(), script=script)
    assert c.wait_end(job)["JobState"] == "COMPLETED", c.out(job)
    rows = c.sacct("-j", str(job), "-o", "JobID,AllocCPUS,AllocTRES%60")
    held = {row[0].split(".")[1]: (int(row[1]), re.search(r"mem=(\w+)", row[2]).group(1)) for row in rows if "." in row[0]}
    return c.out(job).split("\n"), held


def test_an_exact_step_of_one_thread_a_core_gets_a_core_a_task(c):
    out, held = steps(c, "-n4 --threads-per-core=1",
                      "srun -n2 --exact printenv SLURM_CPUS_ON_NODE\nsrun -n1 -c2 --exact printenv SLURM_CPUS_ON_NODE\n"
                      "srun -n3 --exact printenv SLURM_CPUS_ON_NODE")
    assert out == ["4", "4", "4", "6", "6", "6", ""]
    assert held["0"] == (4, "200M") and held["1"] == (4, "200M") and held["2"] == (6, "300M")


def test_two_exact_steps_share_no_core(c):
    meet = "srun -n2 --exact bash -c 'touch met.{own}; while [ ! -e met.{other} ]; do sleep 0.05; done' &\n"
    _, held = steps(c, "-n4 --hint=nomultithread", meet.format(own=1, other=2) + meet.format(own=2, other=1) + "wait")
    assert held["0"] == held["1"] == (4, "200M")


def test_more_tasks_than_threads_to_use_are_refused(c):
    out, _ = steps(c, "-n4 --mem=400 --threads-per-core=1",
                   "srun -n4 --exact true && echo four\nsrun -n5 --exact true 2>&1\nsrun -n8 true 2>&1\ntrue")
    assert out[0] == "four" and len([line for line in out if "More processors requested than permitted" in line]) == 2, out


def test_a_job_of_all_threads_is_as_ever(c):
    out, held = steps(c, "-n4", "srun -n2 --exact printenv SLURM_CPUS_ON_NODE\nsrun -n4 printenv SLURM_CPUS_ON_NODE")
    assert out == ["2", "2", "4", "4", "4", "4", ""] and held["0"] == (2, "200M") and held["1"] == (4, "400M")
