"""srun --resv-ports: ports that no other step on the same nodes has."""

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "MpiParams=ports=12000-12003"}
SHOW = ["bash", "-c", "echo $SLURM_STEP_RESV_PORTS"]


def hold(c, name, *options):
    """A step that ends when the file `name` is there; gives its ports."""
    who = c.popen("srun", *options, "bash", "-c", f"echo $SLURM_STEP_RESV_PORTS >>{name}.ports; while [ ! -e {name} ]; do sleep 0.05; done")
    path = c.work / f"{name}.ports"
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), "the step runs")
    return who, path.read_text().split("\n")[0]


def test_ports_of_steps(c):
    assert c.run("srun", "-n1", *SHOW).out == "\n"
    assert c.run("srun", "-N2", "-n3", "--resv-ports", *SHOW).out == "12000-12001\n" * 3
    assert c.run("srun", "-n1", "--resv-ports=0", *SHOW).out == "\n"
    assert c.run("srun", "-n1", "--resv-ports=4", "bash", "-c", "scontrol show step $SLURM_JOB_ID.0 | grep -o ResvPorts=.*").out == (
        "ResvPorts=12000-12003\n")
    first, ports = hold(c, "one", "-w", "node1", "-n1", "--resv-ports=3")
    assert ports == "12000-12002"
    second, ports = hold(c, "two", "-w", "node1", "-n1", "--resv-ports=1")
    assert ports == "12003"
    assert c.run("srun", "-w", "node2", "-n1", "--resv-ports=2", *SHOW).out == "12000-12001\n"
    for name, who in (("one", first), ("two", second)):
        (c.work / name).touch()
        assert who.wait(timeout=30) == 0


def test_a_step_waits_for_ports(c):
    script = ("srun -n1 --overlap --resv-ports=3 bash -c 'touch up; while [ ! -e go ]; do sleep 0.05; done' & "
              "while [ ! -e up ]; do sleep 0.05; done; srun -n1 --overlap --immediate --resv-ports=2 true; echo rc=$?; "
              "srun -n1 --overlap --resv-ports=2 bash -c 'echo $SLURM_STEP_RESV_PORTS' & touch go; wait")
    assert c.run("salloc", "-n1", "bash", "-c", script).out == "rc=1\n12000-12001\n"


def test_a_job_s_steps_inherit_it(c):
    job = c.sbatch("-n2", "--resv-ports=2",
                   wrap="srun bash -c 'echo $SLURM_STEP_RESV_PORTS'; srun --resv-ports=1 -n1 env | grep RESV_PORTS")
    c.wait_end(job)
    assert sorted(c.out(job).splitlines()) == ["12000-12001", "12000-12001", "SLURM_RESV_PORTS=1", "SLURM_STEP_RESV_PORTS=12000"]
    job = c.sbatch("-N2", "-n3", "--resv-ports", wrap="srun bash -c 'echo $SLURM_STEP_RESV_PORTS'")
    c.wait_end(job)
    assert c.out(job) == "12000-12001\n" * 3


def test_refusals(c):
    assert "Requires more ports than can be reserved" in c.refused("srun", "-n1", "--resv-ports=5", "true")
    assert c.refused("srun", "-n1", "--resv-ports=x", "true", rc=1) == (
        'srun: error: Invalid numeric value "x" for --resv-port.\n')


def test_without_ports_of_the_configuration(make_cluster):
    c = make_cluster(nodes=1)
    assert "Requires more ports than can be reserved" in c.refused("srun", "-n1", "--resv-ports=1", "true")
