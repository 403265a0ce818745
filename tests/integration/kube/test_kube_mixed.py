"""penstock-operator: DaemonSet mode on hosts that differ in CPUs, memory and GPUs; sets by labels of nodes."""

import pytest
from conftest import wait_until

from operated import OURS, op, rest  # noqa: F401  names of fixtures

CLUSTER = {"nodes": 1, "conf": "MaxNodeCount=30\nAuthAltTypes=auth/jwt\nGresTypes=gpu\nNodeSet=every Feature=every\nNodeSet=cpu Feature=cpu\n"
                               "NodeSet=gpu Feature=gpu\nPartitionName=every Nodes=every\nPartitionName=cpu Nodes=cpu\nPartitionName=gpu Nodes=gpu\n"
                               "SlurmctldParameters=enable_configless"}
HOSTS = {"k1": (2, 500), "k2": (4, 1000), "k3": (8, 4000)}


@pytest.fixture
def mixed(op):
    """Hosts of three sizes: what slurmd finds there is its own."""
    op.kubelet.hosts = HOSTS
    (op.c.conf.parent / "gres.conf").write_text("NodeName=k[2-3] Name=gpu Count=2\n")  # what their slurmds find
    op.c.run("scontrol", "reconfigure")
    op.api.delete("nodes", "k4")
    for name, kind in (("k1", "cpu"), ("k2", "cpu"), ("k3", "gpu")):
        op.api.patch("nodes", name, {"metadata": {"labels": {"kind": kind, "kubernetes.io/hostname": name}}})
    return op


def size(op, name):
    node = op.slurm(name)
    return (node["cpus"], node["real_memory"], node["gres"]) if node else None


def each(op, name, **spec):
    op.set(name, scalingMode="DaemonSet", **spec)


def test_each_registers_as_its_own(mixed):
    """One template, three sizes; a job gets the host that has what it asks for, and limits of the template are no more than a host has."""
    each(mixed, "every", slurmd={"resources": {"limits": {"cpu": "4", "memory": "1000Mi"}}})
    wait_until(lambda: mixed.condition("Ready", name="every")["status"] == "True" and mixed.status(name="every")["desired"] == 3, "all are ready")
    assert {name: size(mixed, name)[:2] for name in HOSTS} == HOSTS
    pods = {p["spec"]["nodeName"]: p for p in mixed.api.all("pods")}
    for pod in pods.values():
        env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
        assert (env["POD_CPUS"], env["POD_MEMORY"]) == ("4", "1000")
    job = mixed.c.sbatch("-p", "every", "-N1", "-c", "8", wrap="sleep 100")
    mixed.c.wait_state(job, "RUNNING")
    assert mixed.c.job(job)["NodeList"] == "k3"
    mixed.c.run("scancel", str(job))
    mixed.c.wait_state(job, "CANCELLED")
    revision = mixed.status(name="every")["nodeSetHash"]
    mixed.api.patch("nodes", "k2", {"metadata": {"annotations": {"features.slinky.slurm.net/spec": "big"}}})
    wait_until(lambda: "k8s/big" in mixed.slurm("k2")["features"], "one host's own features")
    assert "k8s/big" not in mixed.slurm("k1")["features"] and mixed.status(name="every")["nodeSetHash"] == revision


def test_sets_by_labels(mixed):
    """A set for each kind of host, with words of its own; a host that changes its kind is drained by one, and is the other's then."""
    each(mixed, "cpu", template={"spec": {"nodeSelector": {"kind": "cpu"}}})
    each(mixed, "gpu", template={"spec": {"nodeSelector": {"kind": "gpu"}}}, extraConf="Gres=gpu:2")
    for name, count in (("cpu", 2), ("gpu", 1)):
        wait_until(lambda n=name, c=count: mixed.status(name=n).get("availableReplicas") == c and
                   mixed.condition("Ready", name=n)["status"] == "True", f"{name} is ready")
    assert (size(mixed, "k3"), size(mixed, "k1")) == ((8, 4000, "gpu:2"), (2, 500, ""))
    job = mixed.c.sbatch("-p", "gpu", "--gres=gpu:1", wrap="sleep 100")
    mixed.c.wait_state(job, "RUNNING")
    assert mixed.c.job(job)["NodeList"] == "k3"
    mixed.c.run("scancel", str(job))
    busy = mixed.c.sbatch("-p", "cpu", "-w", "k2", wrap="sleep 100")
    mixed.c.wait_state(busy, "RUNNING")
    mixed.api.patch("nodes", "k2", {"metadata": {"labels": {"kind": "gpu"}}})
    wait_until(lambda: "DRAIN" in mixed.slurm("k2")["state"], "it is drained first")
    mixed.kubelet.wait_quiet(2)
    assert "DRAIN" in mixed.slurm("k2")["state"] and mixed.c.state(busy) == "RUNNING", "the other set has not let it go"
    assert mixed.slurm("k2")["reason"].startswith(OURS)
    mixed.c.run("scancel", str(busy))
    wait_until(lambda: mixed.status(name="gpu").get("availableReplicas") == 2 and size(mixed, "k2") == (4, 1000, "gpu:2"),
               f"it is the other's {size(mixed, 'k2')}", 30)
    wait_until(lambda: "DRAIN" not in mixed.slurm("k2")["state"] and "gpu" in mixed.slurm("k2")["features"], "and takes jobs")
    assert "cpu" not in mixed.slurm("k2")["features"]
    assert mixed.status(name="cpu")["desired"] == 1
    job = mixed.c.sbatch("-p", "gpu", "-w", "k2", "--gres=gpu:2", wrap="true")
    mixed.c.wait_state(job, "COMPLETED")

