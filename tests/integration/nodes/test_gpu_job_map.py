"""SlurmdParameters=gpu_job_map: files that say which job has which GPU, for exporters of GPU metrics."""

import shutil
import tempfile
from pathlib import Path

import pytest
from conftest import Cluster, wait_until


@pytest.fixture
def site():
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    (folder / "etc").mkdir()
    for i in range(3):
        (folder / f"dev{i}").write_text("")
    (folder / "etc" / "gres.conf").write_text(f"NodeName=node1 Name=gpu File={folder}/dev[0-2]\nNodeName=node1 Name=shard Count=4 File={folder}/dev2\n")
    c = Cluster(folder, nodes=1, conf=f"GresTypes=gpu,shard\nSlurmdParameters=gpu_job_map={folder}/map", node_options="Gres=gpu:3,shard:4")
    try:
        yield c.start()
    finally:
        problems = c.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert not problems, problems


def told(c):
    return {p.name: p.read_text() for p in (c.dir / "map").iterdir()}


def sleeper(c, *options):
    job = c.sbatch(*options, "-n1", "--mem=1", "--wrap", "sleep 600")
    c.wait_state(job, "RUNNING")
    return job


def test_files_follow_jobs(site):
    assert told(site) == {}
    none = sleeper(site)
    one = sleeper(site, "--gres=gpu:1")
    wait_until(lambda: told(site) == {"0": str(one)}, f"the job's GPU is told {told(site)}")
    shares = [sleeper(site, "--gres=shard:1") for _ in range(2)]
    wait_until(lambda: {k: sorted(v.split("\n")) for k, v in told(site).items()} == {"0": [str(one)], "2": sorted(map(str, shares))},
               f"both of a shared one are {told(site)}")
    site.run("scancel", str(shares[0]))
    wait_until(lambda: told(site) == {"0": str(one), "2": str(shares[1])}, f"one of them goes {told(site)}")
    site.run("scancel", str(none), str(one), str(shares[1]))
    wait_until(lambda: told(site) == {}, f"no job has a GPU {told(site)}")


def test_a_start_puts_them_right(site):
    """What slurmd left when it was killed, and what is no GPU's, does not stay; what is nobody's business does."""
    began = site.dir / "began"
    one = site.sbatch("--gres=gpu:2", "-n1", "--mem=1", "--wrap", f"touch {began}; sleep 600")
    wait_until(lambda: told(site) == {"0": str(one), "1": str(one)}, f"they are told {told(site)}")
    wait_until(began.exists, "the script runs: a start that a killed slurmd had not ended is made again")
    site.slurmds["node1"].kill()
    folder = site.dir / "map"
    (folder / "1").write_text("77")
    (folder / "9").write_text("78")
    (folder / "note").write_text("mine")
    (folder / "2").symlink_to(site.dir / "etc" / "slurm.conf")
    site.start_slurmd("node1")
    wait_until(lambda: told(site) == {"0": str(one), "1": str(one), "note": "mine"}, f"they are right again {told(site)}")
    assert (site.dir / "etc" / "slurm.conf").read_text().startswith("ClusterName") or (site.dir / "etc" / "slurm.conf").stat().st_size
    site.run("scancel", str(one))
    wait_until(lambda: told(site) == {"note": "mine"}, "the job's are gone")
