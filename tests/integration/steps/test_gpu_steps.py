"""GPUs of steps and tasks: who of a job gets which, what its programs are told, and how GPUs are found on a node."""

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from conftest import Cluster, wait_until

MODEL = "NVIDIA H100 80GB HBM3"
TOPOLOGY = "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000"
GRES = {"node1": "Gres=gpu:h100:4", "node2": "Gres=gpu:2", "node3": "Gres=gpu:h100:4", "node4": "Gres=gpu:a100:4,shard:8"}
GRES_CONF = """AutoDetect=nvidia
NodeName=node2 Name=gpu Count=2 Flags=env_uuid,nvidia_gpu_env
NodeName=node3 Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=4-7
NodeName=node4 AutoDetect=off
NodeName=node4 Name=gpu Type=a100 File={root}/dev/nvidia[0-3]
NodeName=node4 Name=shard Count=8
"""


def machine(root):
    """Four GPUs, two near each socket, listed by the driver in no order of theirs."""
    for at, (pci, minor, cpus) in enumerate((("0000:c1:00.0", 0, "8-15"), ("0000:07:00.0", 3, "0-7"),
                                             ("0000:0b:00.0", 2, "0-7"), ("0000:c5:00.0", 1, "8-15"))):
        folder = root / "proc/driver/nvidia/gpus" / pci
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {MODEL}\nIRQ:   \t\t 42\nGPU UUID: \t GPU-0000000{at}\n"
                                            f"Bus Location: \t {pci}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n")
        near = root / "sys/bus/pci/drivers/nvidia" / pci
        near.mkdir(parents=True)
        (near / "local_cpulist").write_text(cpus + "\n")
        (root / "dev").mkdir(exist_ok=True)
        (root / f"dev/nvidia{minor}").write_text("")


@pytest.fixture(scope="module")
def g():
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    root = folder / "machine"
    machine(root)
    (folder / "etc").mkdir()
    (folder / "etc" / "gres.conf").write_text(GRES_CONF.format(root=root))
    c = Cluster(folder, nodes=4, conf=f"GresTypes=gpu,shard\nSlurmdParameters=devices_root={root}")
    text = re.sub(r"CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000", TOPOLOGY, c.conf_text())
    for name, gres in GRES.items():
        text = re.sub(rf"(NodeName={name} .*)", rf"\1 {gres}", text)
    c.write_conf(text)
    c.devices = root
    try:
        c.start_ctld()
        for name in c.node_names:
            c.start_slurmd(name)
        c.wait_nodes("idle", ["node1", "node2", "node4"])
        yield c
    finally:
        problems = c.stop()
        if problems:
            print(c.logs(""))
        shutil.rmtree(folder, ignore_errors=True)
    assert not problems, problems


def batch(c, node, options, script):
    """What a job of one node prints."""
    job = c.sbatch("-w", node, "-t5", *options.split(), wrap=script)
    c.wait_end(job)
    assert c.state(job) == "COMPLETED", c.logs(f"slurmd-{node}")
    return c.out(job).splitlines()


# ---- what is there ---------------------------------------------------------------------------------

def test_found(g):
    shown = g.run("slurmd", "-G", "-N", "node1", "-f", g.conf).out.splitlines()
    assert shown == [f"Gres Name=gpu Type=h100 Count=1 Index={i} File=/dev/nvidia{minor} Cores={cores} Links=(null) "
                     "Flags=HAS_FILE,HAS_TYPE,ENV_NVML" for i, minor, cores in ((0, 3, "0-3"), (1, 2, "0-3"), (2, 0, "4-7"),
                                                                              (3, 1, "4-7"))]
    hardware = g.run("slurmd", "-C", "-f", g.conf).out.splitlines()
    assert re.fullmatch(r"NodeName=\S+ CPUs=\d+ .* RealMemory=\d+ Gres=gpu:nvidia_h100_80gb_hbm3:4", hardware[0])
    assert hardware[1] == ("Found gpu:nvidia_h100_80gb_hbm3:4 with Autodetect=nvidia (Substring of gpu name may be used "
                           "instead)")
    node = g.run("slurmd", "-G", "-N", "node4", "-f", g.conf).out.splitlines()
    assert len(node) == 5 and f"File={g.devices}/dev/nvidia0 " in node[0] and "Name=shard Type=(null) Count=8" in node[4]


def test_disagreement(g):
    """What gres.conf says of the GPUs is not so: nobody runs there until it is."""
    wait_until(lambda: "INVAL" in g.run("scontrol", "show", "node", "node3").out, "the node is refused")
    text = g.run("scontrol", "show", "node", "node3").out
    assert "Reason=gres/gpu: Cores=4-7 is configured for /dev/nvidia3, its CPUs are 0-7" in text
    done = g.run("slurmd", "-G", "-N", "node3", "-f", g.conf)
    assert done.err == "slurmd: error: gres/gpu: Cores=4-7 is configured for /dev/nvidia3, its CPUs are 0-7\n"


def test_numbers_of_a_job(g):
    """Device numbers follow the bus, programs get those of the files."""
    show = "env | grep -E '^(CUDA|ROCR|ZE|GPU_DEV|SLURM_(JOB|STEP)_GPUS|SLURM_GPUS)' | sort"
    assert batch(g, "node1", "--gres=gpu:1 -n1", show) == ["CUDA_VISIBLE_DEVICES=3", "SLURM_GPUS_ON_NODE=1", "SLURM_JOB_GPUS=3"]
    assert batch(g, "node1", "--gres=gpu:3 -n1", show) == ["CUDA_VISIBLE_DEVICES=3,2,0", "SLURM_GPUS_ON_NODE=3",
                                                          "SLURM_JOB_GPUS=3,2,0"]
    assert batch(g, "node2", "--gres=gpu:2 -n1", show) == ["CUDA_VISIBLE_DEVICES=GPU-00000001,GPU-00000002",
                                                          "SLURM_GPUS_ON_NODE=2", "SLURM_JOB_GPUS=3,2"]
    every = batch(g, "node4", "--gres=gpu:2 -n1", show)
    assert every == [f"{name}=0,1" for name in ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES")] + [
        "SLURM_GPUS_ON_NODE=2", "SLURM_JOB_GPUS=0,1", "ZE_AFFINITY_MASK=0,1"]


# ---- steps and tasks -------------------------------------------------------------------------------

STEPS = [
    ("-n4 --gpus-per-task=1", ["0: 3", "1: 2", "2: 0", "3: 1"]),
    ("-n2 --gpus-per-task=2", ["0: 3,2", "1: 0,1"]),
    ("-n2 --tres-per-task=gres/gpu:1", ["0: 3", "1: 2"]),
    ("-n2", ["0: 3,2,0,1", "1: 3,2,0,1"]),
    ("-n2 --gres=gpu:2", ["0: 3,2", "1: 3,2"]),
    ("-n2 --gpus=3", ["0: 3,2,0", "1: 3,2,0"]),
    ("-n2 --gpus-per-node=h100:1", ["0: 3", "1: 3"]),
    ("-n1 --gres=none", ["0: "]),
    ("-n4 --gpu-bind=single:2", ["0: 3", "1: 3", "2: 2", "3: 2"]),
    ("-n4 --gpus=2 --gpu-bind=single:1", ["0: 3", "1: 2", "2: 3", "3: 2"]),
    ("-n3 --gpu-bind=map_gpu:2,0*2", ["0: 0", "1: 3", "2: 3"]),
    ("-n2 --gpu-bind=mask_gpu:0x5,0xa", ["0: 3,0", "1: 2,1"]),
    ("-n2 --tres-bind=gres/gpu:per_task:2", ["0: 3,2", "1: 0,1"]),
    ("-n2 --tres-bind=gres/gpu:none --gpus-per-task=1", ["0: 3,2", "1: 3,2"]),
    ("-n1 --gpu-bind=closest", ["0: 3,2,0,1"]),
    ("-n1 --gpus-per-socket=1 --sockets-per-node=2", ["0: 3,0"]),
    ("-n1 --gpus-per-socket=2 --sockets-per-node=1", ["0: 3,2"]),
]


def test_tasks(g):
    script = "; ".join(f"srun -l {options} bash -c 'echo $CUDA_VISIBLE_DEVICES' | sort; echo --" for options, _ in STEPS)
    out = "\n".join(batch(g, "node1", "--gres=gpu:4 -n4", script)).split("\n--")
    # A step that had to wait for the end of the one before says that it was made.
    got = [[line for line in block.strip("\n").split("\n") if not line.startswith("srun: ")] for block in out[:-1]]
    assert got == [want if want != ["0: "] else ["0: "] for _, want in STEPS]


def test_what_the_step_says_counts(g):
    """The job's own words are in the step's environment and must not be added to it, nor outlast a word against them."""
    assert batch(g, "node1", "-n2 --gpus-per-task=1", "srun -n2 --gpus-per-task=1 printenv SLURM_STEP_GPUS | sort") == ["2", "3"]
    assert batch(g, "node1", "-n1 --gpus-per-task=1",
                 "srun -n1 --tres-per-task=gres/gpu=1 sh -c 'echo $SLURM_STEP_GPUS'") == ["3"]
    for asked in ("--gpus=2", "-n1 --gpus-per-task=2", "-n1 --tres-per-task=gres/gpu=2,cpu=1"):
        assert batch(g, "node1", asked, "srun -n1 --gres=none sh -c 'echo \"[$SLURM_STEP_GPUS$CUDA_VISIBLE_DEVICES]\"'") == ["[]"], asked


def test_variables_of_a_step(g):
    show = "env | grep -E '^SLURM_(STEP_GPUS|GPUS_ON_NODE|TRES_BIND)|^CUDA' | sort"
    out = batch(g, "node1", "--gres=gpu:4 -n2", f"srun -n1 --exact --gpus=2 --gpu-bind=verbose,single:1 bash -c \"{show}\"")
    assert sorted(out) == ["CUDA_VISIBLE_DEVICES=3", "SLURM_GPUS_ON_NODE=2", "SLURM_STEP_GPUS=3,2",
                           "SLURM_TRES_BIND=gres/gpu:verbose,single:1",  # the next line is of another stream
                           "gpu-bind: usable_gres=0x1; bit_alloc=0x3; local_inx=0; global_list=3; local_list=3"]


def test_steps_at_once(g):
    """Each has GPUs of its own while both run; who shares, or asks for none, does not."""
    step = "srun -n1 {more} --gpus={n} bash -c 'echo {name} $SLURM_STEP_GPUS; {then}'"
    hold = "touch first; while [ ! -e go ]; do sleep 0.05; done"
    script = "\n".join((
        "cd " + str(g.work), "rm -f go first",
        step.format(n=2, more="--exact", name="first", then=hold) + " &",
        "while [ ! -e first ]; do sleep 0.05; done",
        step.format(n=1, more="--exact", name="second", then="true"),
        step.format(n=2, more="--exact", name="third", then="true"),
        step.format(n=4, more="--overlap", name="shares", then="true"),
        "srun -n1 --exact bash -c 'echo all $SLURM_STEP_GPUS'",
        step.format(n=3, more="--exact --immediate=1", name="never", then="true"),
        "srun -n1 --exact --gpus=5 true",
        "touch go", "wait",
        step.format(n=4, more="--exact", name="last", then="true")))
    out = batch(g, "node1", "--gres=gpu:4 -n4", script)
    job = re.search(r"for job (\d+)", "\n".join(out)).group(1)
    assert out == ["first 3,2", "second 0", "third 0,1", "shares 3,2,0,1", "all 3,2,0,1",
                   f"srun: error: Unable to create step for job {job}: Requested nodes are busy",
                   f"srun: error: Unable to create step for job {job}: Invalid generic resource (gres) specification",
                   "last 3,2,0,1"]


def test_shares_of_a_step(g):
    out = batch(g, "node4", "--gres=shard:2 -n2", "srun -n1 --exact --gres=shard:1 bash -c 'echo $SLURM_SHARDS_ON_NODE "
                "$SLURM_GPUS_ON_NODE $CUDA_VISIBLE_DEVICES'; echo $SLURM_SHARDS_ON_NODE")
    assert out == ["1 1 0", "2"]


@pytest.mark.parametrize("option", ["--gpu-bind=nonsense", "--gpu-bind=single", "--gpu-bind=gres/gpu:single:1"])
def test_bad_binding(g, option):
    name, value = option.split("=", 1)
    done = g.run("srun", option, "true", check=False)
    assert (done.rc, done.stderr) == (255, f"srun: error: Invalid {name} argument: {value}\n")


@pytest.mark.parametrize("option", ["--tres-bind=single:1", "--tres-bind=gres/gpu:foo", "--tres-bind=gres/none:single:1"])
def test_unknown_binding(g, option):
    """What is bound, and how, the controller looks at."""
    assert g.refused("srun", option, "true") == \
        "srun: error: Unable to allocate resources: Invalid Trackable RESource (TRES) specification\n"


@pytest.mark.parametrize("option", ["--tres-bind=gres/gpu:single:0", "--gpu-bind=map_gpu:x"])
def test_impossible_binding(g, option):
    """Numbers that no task can follow are found where tasks start."""
    assert "Invalid binding of GPUs" in g.refused("srun", option, "true")
