"""What a node measures of itself: energy; from files of the kernel below a folder that stands for its root."""

import ctypes.util
import json
import os
import pwd
import re
import subprocess

import pytest

from conftest import ROOT, wait_until

PROGRAMS = ROOT / "tests" / "integration" / "programs"


def machine(c, files):
    """Files of the machine that the nodes of c are on.  As with the kernel's, nobody reads one that is half written."""
    for name, text in files.items():
        path, new = c.dir / "machine" / name, c.dir / "new"
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(f"{text}\n")
        new.rename(path)


def rapl(joule):
    """The energy of each package."""
    return {f"sys/class/powercap/intel-rapl:{i}/{name}": text for i, j in enumerate(joule) for name, text in
            (("name", f"package-{i}"), ("energy_uj", int(j * 1e6)), ("max_energy_range_uj", 262143328850))}


def start(make_cluster, conf, files, **options):
    c = make_cluster(start=False, **{"nodes": 1, **options})
    c.write_conf(c.conf_text() + f"SlurmdParameters=devices_root={c.dir}/machine\n" + conf)
    machine(c, files)
    c.start()
    return c


def watts(c):
    return tuple(int(v) for v in re.search(r"CurrentWatts=(\d+) AveWatts=(\d+)", c.run("scontrol", "show", "node", "node1").out).groups())


def energy(c):
    return json.loads(c.run("scontrol", "show", "node", "node1", "--json").out)["nodes"][0]["energy"]


def test_node_energy(make_cluster):
    """AcctGatherNodeFreq: the node's power and energy; two packages, one of which goes round."""
    c = start(make_cluster, "AcctGatherEnergyType=acct_gather_energy/rapl\nAcctGatherNodeFreq=1\n", rapl((1000, 262000)))
    first = wait_until(lambda: (e := energy(c))["last_collected"] and e, "the node is looked at")
    assert (first["base_consumed_energy"], first["consumed_energy"], watts(c)) == (263000, 0, (0, 0))
    machine(c, rapl((5000, 100)))
    both = 4000 + 144 + 99
    now = wait_until(lambda: (e := energy(c))["consumed_energy"] == both and e, "the use is seen", 60)
    assert now["previous_consumed_energy"] in (0, 4000, both)  # it may have looked when the first package alone had its new figure
    assert now["base_consumed_energy"] == 263000 and now["average_watts"] > 0
    assert now["current_watts"]["set"] and now["last_collected"] >= first["last_collected"]
    assert watts(c)[1] > 0
    c.run("scontrol", "update", "nodename=node1", "weight=7")  # a record that changes keeps what is volatile
    assert energy(c)["consumed_energy"] == 4243


def test_energy_unreadable(make_cluster):
    """A machine without counters: one sentence, and no figures; jobs run."""
    c = start(make_cluster, "AcctGatherEnergyType=acct_gather_energy/pm_counters\nAcctGatherNodeFreq=1\n", {"sys/x": ""})
    log = c.dir / "log/slurmd-node1.log"
    text = f"AcctGatherEnergyType=acct_gather_energy/pm_counters: no counter below {c.dir}/machine/sys/cray/pm_counters can be " \
           "read (No such file or directory): this node's energy is not known"
    c.wait_end(c.sbatch("-n1", wrap="true"))
    assert log.read_text().count(text) == 1
    assert watts(c) == (0, 0)
    machine(c, {"sys/cray/pm_counters/energy": "70 J 1 us"})
    c.run("scontrol", "reconfigure")
    wait_until(lambda: energy(c)["base_consumed_energy"] == 70, "it is looked at once it is there", 60)


SYSFS = "AcctGatherInterconnectType=acct_gather_interconnect/sysfs"


@pytest.mark.parametrize("conf,gather,why", [
    ("AcctGatherEnergyType=acct_gather_energy/ipmi", "", "AcctGatherEnergyType=acct_gather_energy/ipmi is not available; there is: "
     "acct_gather_energy/rapl, acct_gather_energy/pm_counters, acct_gather_energy/none"),
    ("AcctGatherProfileType=acct_gather_profile/x", "", "AcctGatherProfileType=acct_gather_profile/x is not available; there is: "
     "acct_gather_profile/influxdb, acct_gather_profile/hdf5, acct_gather_profile/none"),
    (SYSFS, "", "acct_gather_interconnect/sysfs needs SysfsInterfaces in acct_gather.conf"),
    ("", "SysfsInterfaces=eth0", "SysfsInterfaces needs AcctGatherInterconnectType=acct_gather_interconnect/sysfs"),
    (SYSFS, "SysfsInterfaces=eth0\nEnergyIPMITimeout=1", "acct_gather.conf:2: error: unknown key EnergyIPMITimeout in acct_gather.conf"),
    (SYSFS, "SysfsInterface=eth0", "unknown key SysfsInterface in acct_gather.conf; did you mean SysfsInterfaces?")])
def test_types(make_cluster, conf, gather, why):
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text() + conf + "\n")
    (c.dir / "etc/acct_gather.conf").write_text(gather + "\n")
    done = c.run("slurmctld", "--check", check=False)
    assert done.rc == 1 and why in done.out + done.err, done


def counters(net, lustre):
    """Bytes in and out of two interfaces, and read and written of a file system."""
    files = {f"sys/class/net/{name}/statistics/{way}_bytes": n for name, pair in net.items() for way, n in zip(("rx", "tx"), pair)}
    lines = [f"{name}_bytes             3 samples [bytes] 1 4096 {n} 99" for name, n in zip(("read", "write"), lustre)]
    return files | {"proc/fs/lustre/llite/scratch-ffff/stats": "\n".join(["snapshot_time 1 secs.nsecs", *lines, "open 7 samples [regs]"])}


def test_network_and_lustre(make_cluster):
    """What went through the node's interfaces and file systems while the step ran, for its first task."""
    net = {"ib0": (5000, 7000), "ib1": (10, 20), "eth0": (1, 1)}
    c = make_cluster(start=False, nodes=1)
    (c.dir / "etc/acct_gather.conf").write_text("SysfsInterfaces=ib0,ib1\n")
    c.write_conf(c.conf_text() + f"{SYSFS}\nAcctGatherFilesystemType=acct_gather_filesystem/lustre\n"
                 "AccountingStorageTRES=ic/sysfs,fs/lustre\nJobAcctGatherType=jobacct_gather/linux\n"
                 f"SlurmdParameters=devices_root={c.dir}/machine\n")
    machine(c, counters(net, (100, 200)))
    c.start()
    job = c.sbatch("-n2", wrap=f"srun -n2 sh -c 'while [ ! -e {c.dir}/go ]; do sleep 0.05; done'")
    names = ("tresusageintot", "tresusageouttot", "tresusageinmaxtask", "tresusageoutmin", "tresusageinave")

    def figures(command):
        return [(f.get("fs/lustre"), f.get("ic/sysfs")) for f in use_of(c, command, f"{job}.0", *names)]
    wait_until(lambda: figures("sstat")[0] == ("0", "0"), "it is measured", 60)
    net |= {"ib0": (6000, 7500), "eth0": (10 ** 9, 10 ** 9)}
    net["ib1"] = (10, 1020)
    machine(c, counters(net, (1100, 4200)))
    want = [("1000", "1000"), ("4000", "1500"), ("0", "0"), ("0", "0"), ("500", "500")]
    wait_until(lambda: figures("sstat") == want, "it is seen", 60)
    net["ib0"] = (6200, 7600)  # not looked at before the end
    machine(c, counters(net, (1100, 4200)))
    (c.dir / "go").touch()
    c.wait_sacct(job, "COMPLETED")
    wait_until(lambda: use_of(c, "sacct", f"{job}.0", "tresusageintot")[0], "the step is recorded")
    assert figures("sacct") == [("1000", "1200"), ("4000", "1600"), ("0", "0"), ("0", "0"), ("500", "600")]


# ---- GPUs ------------------------------------------------------------------------------------------

MIB = 1 << 20


def amd(use):
    """Devices of amdgpu: bytes in use and percent busy of each."""
    files = {}
    for i, (mem, busy) in enumerate(use):
        pci = f"sys/bus/pci/drivers/amdgpu/0000:{i + 1:02x}:00.0"
        files |= {f"{pci}/product_name": "Instinct MI300X", f"{pci}/drm/renderD{128 + i}/dev": "", f"dev/dri/renderD{128 + i}": "",
                  f"sys/class/drm/renderD{128 + i}/device/mem_info_vram_used": mem,
                  f"sys/class/drm/renderD{128 + i}/device/gpu_busy_percent": busy}
    return files


def gpu_cluster(make_cluster, more=""):
    c = make_cluster(start=False, nodes=1, node_options="Gres=gpu:instinct_mi300x:2,shard:8")
    (c.dir / "etc/gres.conf").write_text("AutoDetect=amd\nName=shard Count=8\n")
    c.write_conf(c.conf_text().replace("SlurmdParameters=config_overrides\n", "") + "GresTypes=gpu,shard\n"
                 f"SlurmdParameters=config_overrides,devices_root={c.dir}/machine\nAccountingStorageTRES=gres/gpu\n"
                 f"JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n{more}")
    machine(c, amd(((10 * MIB, 0), (20 * MIB, 0))))
    c.start()
    return c


def tres(text):
    return dict(word.split("=") for word in text.split(",")) if text else {}


def use_of(c, command, step, *fields):
    """Fields of a step, each as a dict of TRES."""
    out = c.run(command, *(("-a",) if command == "sstat" else ()), "-n", "-P", "-j", step, "-o", ",".join(fields)).out
    return [tres(v) for v in out.strip().split("|")] if out.strip() else [{} for _ in fields]


def test_gpu_use(make_cluster):
    """Each task's GPU, the most that was seen; a step without GPUs and one with a share have no such figures."""
    c = gpu_cluster(make_cluster)
    wait = f"while [ ! -e {c.dir}/go ]; do sleep 0.05; done"
    job = c.sbatch("-n2", "--gpus=2", wrap=f"srun -n2 --gpus-per-task=1 sh -c '{wait}'")
    none = c.sbatch("-n1", wrap="true")
    share = c.sbatch("-n1", "--gres=shard:2", wrap=wait)
    wait_until(lambda: use_of(c, "sstat", f"{job}.0", "tresusageinmax")[0].get("gres/gpumem") == "20M", "it is measured", 30)
    machine(c, amd(((300 * MIB, 40), (700 * MIB + 4096, 90))))
    wait_until(lambda: use_of(c, "sstat", f"{job}.0", "tresusageintot")[0].get("gres/gpuutil") == "130", "it is seen", 30)
    machine(c, amd(((30 * MIB, 0), (30 * MIB, 0))))
    names = ("tresusageinmax", "tresusageinmaxtask", "tresusageinmaxnode", "tresusageinmin", "tresusageinave", "tresusageintot")
    live = use_of(c, "sstat", f"{job}.0", *names)
    (c.dir / "go").touch()
    for j in (job, share, none):
        c.wait_sacct(j, "COMPLETED")
    done = wait_until(lambda: (u := use_of(c, "sacct", f"{job}.0", *names))[0] and u, "the step is recorded")
    for figures in (live, done):
        assert [(f["gres/gpumem"], f["gres/gpuutil"]) for f in figures] == [
            ("716804K", "90"), ("1", "1"), ("node1", "node1"), ("300M", "40"), ("512002K", "65"), ("1024004K", "130")]
        assert list(figures[0]) == sorted(figures[0])
    for step in (f"{none}.batch", f"{share}.batch"):
        use = wait_until(lambda: use_of(c, "sacct", step, "tresusageintot")[0], "the step is recorded")
        assert use["cpu"] and not [name for name in use if "gpu" in name], step
    step = [s for j in json.loads(c.run("sacct", "-j", job, "--json").out)["jobs"] for s in j["steps"] if s["step"]["id"] == f"{job}.0"]
    shown = {t["name"]: t["count"] for t in step[0]["tres"]["requested"]["max"]}
    assert (shown["gpumem"], shown["gpuutil"]) == (700 * MIB + 4096, 90)


def test_gpu_use_not_asked_for(make_cluster):
    c = gpu_cluster(make_cluster, "JobAcctGatherParams=DisableGPUAcct\n")
    job = c.sbatch("-n1", "--gpus=1", wrap="true")
    c.wait_sacct(job, "COMPLETED")
    use = wait_until(lambda: use_of(c, "sacct", f"{job}.batch", "tresusageintot")[0], "the step is recorded")
    assert use["cpu"] and not [name for name in use if "gpu" in name]


def nvidia(c):
    """Two devices of NVIDIA, and their library."""
    for i in range(2):
        machine(c, {f"proc/driver/nvidia/gpus/0000:{i + 1:02x}:00.0/information":
                    f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-{i}\nDevice Minor: \t {i}", f"dev/nvidia{i}": ""})
    (c.dir / "lib").mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", f'-DFOLDER="{c.dir}"', "-o", c.dir / "lib/libnvidia-ml.so.1", PROGRAMS / "fake_nvml.c"],
                   check=True)


def nvidia_use(c, *lines):
    (c.dir / "use.new").write_text("".join(f"{minor} {mem} {busy}\n" for minor, mem, busy in lines))
    (c.dir / "use.new").rename(c.dir / "use")


def nvml_cluster(make_cluster):
    c = make_cluster(start=False, nodes=1, node_options="Gres=gpu:2")
    (c.dir / "etc/gres.conf").write_text("AutoDetect=nvml\n")
    c.write_conf(c.conf_text().replace("SlurmdParameters=config_overrides\n", "") + "GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n"
                 f"SlurmdParameters=config_overrides,devices_root={c.dir}/machine\n"
                 "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n")
    nvidia(c)
    return c


def clocks_follow(c):
    """--gpu-freq: the clocks of the GPUs that the step has, and back at its end."""
    clocks = c.dir / "clocks"

    def changes(gpu="1", *options):
        (clocks / "set").unlink(missing_ok=True)
        r = c.run("srun", "-n1", f"--gpus={gpu}", *options, "cat", clocks / "0")
        return r.out, r.err, (clocks / "set").read_text() if (clocks / "set").exists() else ""
    assert changes("1", "--gpu-freq=1500,memory=high,verbose") == (
        "2619 1380\n", "GpuFreq=memory_freq:2619,graphics_freq:1380\n", "0: 2619 1380\n0: 1593 600\n")
    assert changes("2", "--gpu-freq=highm1") == ("1593 900\n", "", "0: 1593 900\n1: 1593 900\n0: 1593 600\n1: 1593 600\n")
    assert changes() == ("1593 600\n", "", "")
    job = c.sbatch("-n1", "--gpus=2", "--gpu-freq=low", wrap=f"cat {clocks}/0; srun --gpu-freq=high cat {clocks}/0; cat {clocks}/0")
    c.wait_sacct(job, "COMPLETED")
    assert c.out(job) == "1593 300\n1593 1200\n1593 300\n" and (clocks / "0").read_text() == "1593 600\n"
    r = c.run("salloc", "-n1", "--gpus=2", "--gpu-freq=memory=high", "srun", "cat", clocks / "0")
    assert r.out == "2619 1080\n" and (clocks / "0").read_text() == "1593 600\n"
    c.write_conf(c.conf.read_text() + "GpuFreqDef=highm1\n")
    c.run("scontrol", "reconfigure")
    # both GPUs: one alone may be the other, while the job before still ends
    wait_until(lambda: changes("2")[0] == "1593 900\n", "slurmd has read it", 60)
    assert changes("2") == ("1593 900\n", "", "0: 1593 900\n1: 1593 900\n0: 1593 600\n1: 1593 600\n")
    assert changes("2", "--gpu-freq=low")[0] == "1593 300\n"
    (clocks / "0").rename(clocks / "gone")
    r = c.run("srun", "-n1", "--gpus=2", "echo", "ran")
    assert r.out == "ran\n" and "GpuFreqDef: cannot set GPU 0 of node " in r.err
    r = c.run("srun", "-n1", "--gpus=2", "--gpu-freq=low", "echo", "ran")
    assert r.out == "ran\n" and "--gpu-freq: cannot set GPU 0 of node " in r.err and "Unknown Error" in r.err


def test_gpu_use_by_library(make_cluster):
    """AutoDetect=nvml: slurmd asks the vendor's library; the library lists the devices in an order of its own."""
    c = nvml_cluster(make_cluster)
    c.env["LD_LIBRARY_PATH"] = f"{c.dir}/lib"
    (c.dir / "clocks").mkdir()
    for i in range(2):
        (c.dir / f"clocks/{i}").write_text("1593 600\n")
    nvidia_use(c, (1, 600 * MIB, 0), (0, 500 * MIB, 0))
    c.start()
    job = c.sbatch("-n1", "--gpus=1", wrap=f"echo $CUDA_VISIBLE_DEVICES; while [ ! -e {c.dir}/go ]; do sleep 0.05; done")

    def live():
        use = use_of(c, "sstat", f"{job}.batch", "tresusageinmax")[0]
        return use.get("gres/gpumem"), use.get("gres/gpuutil")
    wait_until(lambda: live() == ("500M", "0"), "it is measured", 60)
    nvidia_use(c, (1, 600 * MIB, 99), (0, 70000 * MIB, 73))
    wait_until(lambda: live() == ("70000M", "73"), "it is seen", 60)
    nvidia_use(c)  # the library has nothing to say any more: what was seen stays
    (c.dir / "go").touch()
    c.wait_sacct(job, "COMPLETED")
    use = wait_until(lambda: use_of(c, "sacct", f"{job}.batch", "tresusageinmax")[0], "the step is recorded")
    assert (use["gres/gpumem"], use["gres/gpuutil"]) == ("70000M", "73") and c.out(job) == "0\n"
    nvidia_use(c, (1, 600 * MIB, 0), (0, 500 * MIB, 0))
    clocks_follow(c)


@pytest.mark.parametrize("env,why", [({}, "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
                                     ({"LD_LIBRARY_PATH": "{c.dir}/lib"}, "libnvidia-ml.so.1: Driver Not Loaded")],
                         ids=["none", "no-driver"])
def test_gpu_library_missing(make_cluster, env, why):
    if not env and (found := ctypes.util.find_library("nvidia-ml")):
        pytest.skip(f"this machine has {found}")
    c = nvml_cluster(make_cluster)
    c.env |= {k: v.format(c=c) for k, v in env.items()}
    c.start()
    job = c.sbatch("-n1", "--gpus=1", wrap="true")
    c.wait_sacct(job, "COMPLETED")
    use = wait_until(lambda: use_of(c, "sacct", f"{job}.batch", "tresusageintot")[0], "the step is recorded")
    assert use["cpu"] and not [name for name in use if "gpu" in name]
    log = (c.dir / "log/slurmd-node1.log").read_text()
    assert log.count(f"AutoDetect=nvml: {why}: how the GPUs are used is not known") == 1


def test_asked_for(make_cluster):
    """ReqTRES: what AccountingStorageTRES names, and what the partition charges for it."""
    c = make_cluster(start=False, nodes=2, node_options="Gres=gpu:a100:2,shard:4",
                     conf="GresTypes=gpu,shard\nAccountingStorageTRES=gres/gpu,gres/gpu:a100",
                     partition="TRESBillingWeights=CPU=1.0,GRES/gpu=4.0")
    (c.dir / "etc/gres.conf").write_text("Name=gpu Type=a100 Count=2\nName=shard Count=4\n")
    c.start()

    def asked(job):
        return re.search(r"ReqTRES=(\S*)", c.run("scontrol", "show", "job", job).out)[1]
    for options, want in (((), "cpu=1,mem=100M,node=1,billing=1"), (("--gres=gpu:1",), "cpu=1,mem=100M,node=1,billing=5,gres/gpu=1"),
                          (("--gres=gpu:a100:2",), "cpu=1,mem=100M,node=1,billing=9,gres/gpu=2,gres/gpu:a100=2"),
                          (("-G3", "-N2"), "cpu=2,mem=200M,node=2,billing=14,gres/gpu=3"),
                          (("--gpus-per-task=1", "-n2"), "cpu=2,mem=200M,node=1,billing=10,gres/gpu=2"),
                          (("--gpus-per-node=1", "-N2"), "cpu=2,mem=200M,node=2,billing=10,gres/gpu=2"),
                          (("--gres=shard:3",), "cpu=1,mem=100M,node=1,billing=1")):
        assert asked(c.sbatch("-H", *options, wrap="true")) == want, options
    job = c.sbatch("-H", "--gres=gpu:1", wrap="true")
    c.run("scontrol", "update", f"jobid={job}", "gres=gpu:a100:2", "numtasks=2")
    assert asked(job) == "cpu=2,mem=100M,node=1,billing=10,gres/gpu=2,gres/gpu:a100=2"
    c.run("scontrol", "release", job)
    c.wait_sacct(job, "COMPLETED")
    assert c.sacct("-X", "-j", job, "-o", "ReqTRES") == [["billing=10,cpu=2,gres/gpu:a100=2,gres/gpu=2,mem=100M,node=1"]]
    shown = json.loads(c.run("scontrol", "show", "job", job, "--json").out)["jobs"][0]
    assert shown["tres_req_str"] == "cpu=2,mem=100M,node=1,billing=10,gres/gpu=2,gres/gpu:a100=2"


SHARE = """import mmap, os, sys, time
m = mmap.mmap(-1, 60 << 20)
m.write(b"x" * (60 << 20))
x = bytearray(b"y") * (30 << 20)
if os.fork() == 0:
    m[:] + b""
    open(sys.argv[1] + "/up", "w").close()
while not os.path.exists(sys.argv[1] + "/go"):
    time.sleep(0.05)
"""


@pytest.mark.parametrize("params,least,most", [("", 170, 260), ("UsePss", 85, 140), ("NoShared", 55, 100)])
def test_shared_memory(make_cluster, params, least, most):
    """Two processes with 60 MiB that they share and 30 that the child has of its parent: everybody's, each its part, or only
    what is no file and no shared mapping."""
    c = make_cluster(nodes=1, conf=f"JobAcctGatherType=jobacct_gather/linux\n{params and 'JobAcctGatherParams=' + params}")
    (c.dir / "work.py").write_text(SHARE)
    job = c.sbatch("-n1", "--mem=500", wrap=f"exec python3 {c.dir}/work.py {c.dir}")
    wait_until(lambda: (c.dir / "up").exists(), "both have it", 60)
    live = int(c.run("sstat", "-a", "-n", "-P", "--noconvert", "-j", f"{job}.batch", "-o", "maxrss").out)
    (c.dir / "go").touch()
    c.wait_sacct(job, "COMPLETED")
    row = wait_until(lambda: c.run("sacct", "-n", "-P", "--noconvert", "-j", f"{job}.batch", "-o", "maxrss").out.strip(), "it is recorded")
    assert least * MIB <= live <= int(row) < most * MIB, (live, row)


def test_owner(make_cluster):
    """Owner of a node that a job keeps for its user."""
    c = make_cluster(nodes=2)
    user = f"{pwd.getpwuid(os.getuid()).pw_name}({os.getuid()})"

    def owners():
        return [re.search(r" Owner=(\S+)", c.run("scontrol", "show", "node", node).out)[1] for node in c.node_names]
    assert owners() == ["N/A", "N/A"]
    first, second = (c.sbatch("-n1", "-wnode2", "--exclusive=user", wrap="sleep 1000") for _ in range(2))
    plain = c.sbatch("-n1", "-wnode1", wrap="sleep 1000")
    for job in (first, second, plain):
        c.wait_state(job, "RUNNING")
    assert owners() == ["N/A", user]
    assert json.loads(c.run("scontrol", "show", "node", "node2", "--json").out)["nodes"][0]["owner"] == user.split("(")[0]
    c.run("scancel", first)
    c.wait_end(first)
    assert owners() == ["N/A", user]
    c.restart_ctld()
    c.wait_nodes("mixed")
    assert owners() == ["N/A", user]
    c.run("scancel", second)
    c.wait_end(second)
    wait_until(lambda: owners() == ["N/A", "N/A"], "nobody's")


# ---- what the fields mean --------------------------------------------------------------------------

WORK = """import os, sys, time
large = os.environ["SLURM_PROCID"] == "1"
x = bytearray(b"x") * ((200 if large else 20) << 20)
with open(f"{sys.argv[1]}/out.{os.environ['SLURM_PROCID']}", "wb") as f:
    f.write(b"y" * ((50 if large else 10) << 20))
with open(f.name, "rb") as f:
    f.read((30 if large else 5) << 20)
while time.process_time() < (2.3 if large else 0.5):
    pass
open(f"{sys.argv[1]}/done.{os.environ['SLURM_PROCID']}", "w").close()
while not os.path.exists(f"{sys.argv[1]}/go"):
    time.sleep(0.05)
"""


def seconds(text):
    return sum(float(n) * f for n, f in zip(reversed(text.split(":")), (1, 60, 3600)))


def test_fields(make_cluster):
    """Two tasks of known size: 200 and 20 MiB of memory, 2 and 0.5 s of CPU, 50 and 10 MiB written, 30 and 5 MiB read."""
    c = make_cluster(nodes=2, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1")
    (c.dir / "work.py").write_text(WORK)
    job = c.sbatch("-N2", "-n2", "--mem=600", wrap=f"srun python3 {c.dir}/work.py {c.dir}")
    wait_until(lambda: all((c.dir / f"done.{i}").exists() for i in (0, 1)), "both have done it", 120)
    names = ("MaxRSS MaxRSSNode MaxRSSTask AveRSS MaxVMSize MaxVMSizeNode MaxVMSizeTask AveVMSize MinCPU MinCPUNode MinCPUTask AveCPU "
             "MaxDiskRead MaxDiskReadNode MaxDiskReadTask AveDiskRead MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask AveDiskWrite "
             "NTasks TRESUsageInMax TRESUsageInMin TRESUsageInTot TRESUsageOutMax TRESUsageOutMaxTask TRESUsageOutTot").split()

    def row(command, *more):
        out = c.run(command, *more, "-n", "-P", "--noconvert", "-j", f"{job}.0", "-o", ",".join(names)).out.strip()
        return dict(zip(names, out.split("|"))) if out else None
    live = row("sstat", "-a")
    (c.dir / "go").touch()
    c.wait_sacct(job, "COMPLETED")
    done = wait_until(lambda: row("sacct"), "the step is recorded")
    # An interpreter is there too: what is measured is what was meant and at most this much more.
    slack = {"RSS": 80, "DiskRead": 12, "DiskWrite": 4}
    for f in (live, done):
        assert f["NTasks"] == "2"
        for what, large, small in (("RSS", 200, 20), ("DiskRead", 30, 5), ("DiskWrite", 50, 10)):
            assert (f[f"Max{what}Node"], f[f"Max{what}Task"]) == ("node2", "1"), (what, f)
            assert large * MIB <= int(f[f"Max{what}"]) < (large + slack[what]) * MIB, (what, f)
            assert (large + small) / 2 * MIB <= int(f[f"Ave{what}"]) < ((large + small) / 2 + slack[what]) * MIB, (what, f)
        assert (f["MaxVMSizeNode"], f["MaxVMSizeTask"]) == ("node2", "1") and int(f["MaxVMSize"]) >= int(f["MaxRSS"])
        assert int(f["MaxVMSize"]) > int(f["AveVMSize"]) >= int(f["AveRSS"])
        assert (f["MinCPUNode"], f["MinCPUTask"]) == ("node1", "0")
        least, mean = seconds(f["MinCPU"]), seconds(f["AveCPU"])
        most, total = (tres(f[k]) for k in ("TRESUsageInMax", "TRESUsageInTot"))
        assert 0 <= least <= mean <= seconds(most["cpu"]) <= seconds(total["cpu"]) and seconds(most["cpu"]) >= 2
        assert (most["mem"], most["vmem"], most["fs/disk"]) == (f["MaxRSS"], f["MaxVMSize"], f["MaxDiskRead"])
        assert int(total["mem"]) == int(most["mem"]) + int(tres(f["TRESUsageInMin"])["mem"]) and int(total["mem"]) // 2 == int(f["AveRSS"])
        assert tres(f["TRESUsageOutMax"])["fs/disk"] == f["MaxDiskWrite"] and tres(f["TRESUsageOutMaxTask"])["fs/disk"] == "1"
        assert int(tres(f["TRESUsageOutTot"])["fs/disk"]) // 2 == int(f["AveDiskWrite"])
    step = c.sacct("-j", f"{job}.0", "-o", "TotalCPU,UserCPU,SystemCPU,ConsumedEnergy,ReqTRES,AllocTRES")[0]
    total, user, system = (seconds(v) for v in step[:3])
    assert total >= 2.5 and user > 0 and abs(total - user - system) < 0.01
    assert step[3:5] == ["0", ""] and tres(step[5])["node"] == "2"
    whole = seconds(c.sacct("-j", job, "-o", "TotalCPU")[0][0])  # with the steps it is the sum of
    assert whole >= total
