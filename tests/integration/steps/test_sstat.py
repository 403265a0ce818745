"""What tasks use, live and afterwards: figures of real processes, whose they are, and limits on them."""

import re

from conftest import wait_until

CLUSTER = {"nodes": 2, "conf": "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1"}
MIB = 1 << 20
# Task 1 has the memory, task 0 reads and writes, both wait for a file to appear.
PROGRAM = """
import os, sys, time
rank, go = int(os.environ["SLURM_PROCID"]), sys.argv[1]
if rank == 1:
    block = bytearray(64 << 20)
else:
    with open("/dev/zero", "rb") as src, open(go + ".data", "wb") as dst:
        dst.write(src.read(20 << 20))
    os.unlink(go + ".data")
open(f"{go}.{rank}", "w").close()
until = time.monotonic() + 120
while not os.path.exists(go) and time.monotonic() < until:
    time.sleep(0.02)
"""


def fields(c, command, job, names):
    out = c.run(command, "-n", "-P", "--noconvert", "-j", job, "-o", names).out.splitlines()
    return [dict(zip(names.split(","), line.split("|"))) for line in out]


def kinds(text):
    return dict(item.split("=") for item in text.split(","))


NAMES = ("ntasks,maxrss,maxrssnode,maxrsstask,averss,maxvmsize,maxdiskread,maxdiskreadnode,maxdiskreadtask,maxdiskwrite,"
         "maxdiskwritetask,avediskread,tresusageintot,tresusageinmax,tresusageinmin,tresusageinmaxtask,tresusageinmaxnode,"
         "tresusageouttot,mincpu,avecpu")


def check(f, live):
    """The figures of PROGRAM, by sstat or sacct."""
    assert (f["ntasks"], f["maxrsstask"], f["maxdiskreadtask"], f["maxdiskwritetask"]) == ("2", "1", "0", "0")
    assert (f["maxrssnode"], f["maxdiskreadnode"]) == ("node2", "node1")
    assert 64 * MIB <= int(f["maxrss"]) < 200 * MIB
    assert int(f["averss"]) < int(f["maxrss"]) <= int(f["maxvmsize"])
    assert 20 * MIB <= int(f["maxdiskread"]) < 60 * MIB and 20 * MIB <= int(f["maxdiskwrite"]) < 60 * MIB
    assert 10 * MIB <= int(f["avediskread"]) < int(f["maxdiskread"])
    total, most, least = (kinds(f["tresusagein" + w]) for w in ("tot", "max", "min"))
    assert list(total) == ["cpu", "energy", "fs/disk", "mem", "pages", "vmem"]
    assert most["mem"] == f["maxrss"] and most["fs/disk"] == f["maxdiskread"]
    assert int(least["mem"]) + int(most["mem"]) == int(total["mem"])
    assert kinds(f["tresusageinmaxtask"])["mem"] == "1" and kinds(f["tresusageinmaxnode"])["mem"] == "node2"
    assert "energy" in kinds(f["tresusageinmaxnode"]) and "energy" not in kinds(f["tresusageinmaxtask"])
    assert int(kinds(f["tresusageouttot"])["fs/disk"]) >= int(f["maxdiskwrite"])
    assert kinds(f["tresusageinmaxtask"])["cpu"] in (("00:00:00", "00:00:01") if live else ("0", "1"))


def test_figures_of_tasks(c):
    go, script = c.work / "go", c.work / "use.py"
    script.write_text(PROGRAM)
    job = c.sbatch("-N2", "-n2", "-t5", wrap=f"srun -n2 -N2 python3 {script} {go}")
    wait_until(lambda: (c.work / "go.0").exists() and (c.work / "go.1").exists(), "the tasks have what they use")
    [step] = fields(c, "sstat", job, NAMES)
    check(step, live=True)
    both = fields(c, "sstat", f"{job}.batch,{job}.0", "jobid,ntasks,maxrss,alloctres")
    assert [row["jobid"] for row in both] == [f"{job}.batch", f"{job}.0"]
    assert both[0]["alloctres"] == "" and both[1]["alloctres"].startswith("cpu=")
    everything = c.run("sstat", "-a", "-n", "-P", "-j", job, "-o", "jobid").out.split()
    assert [e for e in everything if not e.endswith("extern")] == [f"{job}.batch", f"{job}.0"]
    [pids] = fields(c, "sstat", job, "jobid,nodelist,pids")
    assert pids["nodelist"] == "node[1-2]" and len(pids["pids"].split(",")) >= 2
    for pid in pids["pids"].split(","):
        assert int(pid) > 1
    go.touch()
    c.wait_sacct(job, "COMPLETED")
    rows = {row["jobid"]: row for row in fields(c, "sacct", job, "jobid," + NAMES)}
    check(rows[f"{job}.0"], live=False)
    assert rows[f"{job}.batch"]["ntasks"] == "1" and int(rows[f"{job}.batch"]["maxrss"]) > 0
    assert rows[str(job)]["maxrss"] == ""
    assert c.run("sstat", "-n", "-j", job).err == f"sstat: error: no steps running for JobId={job}\n"


def test_short_task(c):
    """Over before anybody looked: what it did is known all the same."""
    job = c.sbatch("-n1", wrap="head -c 30000000 /dev/zero >/dev/null; python3 -c 'x = bytearray(50 << 20)'")
    c.wait_sacct(job, "COMPLETED")
    batch = fields(c, "sacct", f"{job}.batch", "maxrss,maxdiskread,maxdiskwrite,avecpu,totalcpu,avepages")[0]
    assert 50 * MIB <= int(batch["maxrss"]) < 150 * MIB
    assert 30000000 <= int(batch["maxdiskread"]) < 60000000 and 30000000 <= int(batch["maxdiskwrite"]) < 60000000
    assert re.fullmatch(r"\d\d:\d\d\.\d{3}", batch["totalcpu"]) and batch["avepages"].isdigit()


def test_processor_time(c):
    """Of children and of what outlives its parent too."""
    burn = "import os, time\nwhile time.process_time() < 1.2: pass"
    job = c.sbatch("-n1", wrap=f"(python3 -c '{burn}' & python3 -c '{burn}'; wait)")
    c.wait_end(job, 120)  # it asks for processor time, which others may have
    c.wait_sacct(job, "COMPLETED")
    batch = fields(c, "sacct", f"{job}.batch", "avecpu,mincpu,tresusageintot")[0]
    assert batch["avecpu"] == batch["mincpu"] and "00:00:02" <= batch["avecpu"] <= "00:00:06"
    assert kinds(batch["tresusageintot"])["cpu"] == batch["avecpu"]


def test_interval_of_the_job(make_cluster):
    """What is large between start and end is seen by those who look often enough."""
    c = make_cluster(nodes=1, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=300")
    large = "import mmap, time; m = mmap.mmap(-1, 2000 << 20); time.sleep(3); m.close(); time.sleep(0.2)"
    jobs = [c.sbatch("-n1", *more, wrap=f'exec python3 -c "{large}"') for more in ((), ("--acctg-freq=task=1",))]
    sizes = []
    for job in jobs:
        c.wait_sacct(job, "COMPLETED")
        sizes.append(int(fields(c, "sacct", f"{job}.batch", "maxvmsize")[0]["maxvmsize"]))
    assert sizes[0] < 2000 * MIB <= sizes[1], sizes


def test_energy(make_cluster):
    """AcctGatherEnergyType=acct_gather_energy/rapl: what the node's packages and memory used while the step ran."""
    c = make_cluster(nodes=1, start=False)
    c.write_conf(c.conf_text() + f"AcctGatherEnergyType=acct_gather_energy/rapl\nSlurmdParameters=devices_root={c.dir}/machine\n"
                 "JobAcctGatherType=jobacct_gather/linux\n")
    zones = {"intel-rapl:0": ("package-0", 5_000_000), "intel-rapl:0:0": ("core", 1), "intel-rapl:0:1": ("dram", 9_000_000),
             "intel-rapl:1": ("package-1", 262_000_000_000), "intel-rapl:2": ("psys", 1)}
    for zone, (name, energy) in zones.items():
        folder = c.dir / "machine/sys/class/powercap" / zone
        folder.mkdir(parents=True)
        (folder / "name").write_text(name + "\n")
        (folder / "energy_uj").write_text(f"{energy}\n")
        (folder / "max_energy_range_uj").write_text("262144000000\n")

    c.start()

    def use(zone, energy):
        (c.dir / "machine/sys/class/powercap" / zone / "energy_uj").write_text(f"{energy}\n")

    job = c.sbatch("-n1", wrap=f"while [ ! -e {c.dir}/go ]; do sleep 0.05; done")
    wait_until(lambda: fields(c, "sstat", f"{job}.batch", "jobid,ntasks,consumedenergyraw,avecpu") ==
               [{"jobid": f"{job}.batch", "ntasks": "1", "consumedenergyraw": "0", "avecpu": "00:00:00"}], "it is measured")
    use("intel-rapl:0", 5_700_000_000)
    use("intel-rapl:0:1", 10_000_000)
    use("intel-rapl:0:0", 900_000_000)
    use("intel-rapl:2", 900_000_000)
    assert fields(c, "sstat", f"{job}.batch", "consumedenergyraw") == [{"consumedenergyraw": "5696"}]
    use("intel-rapl:1", 56_000_000)  # it went round: 144 J and 56 J
    (c.dir / "go").touch()
    c.wait_sacct(job, "COMPLETED")
    rows = c.run("sacct", "-n", "-P", "-j", job, "-o", "jobid,consumedenergy,consumedenergyraw").out.splitlines()
    assert [r for r in rows if "extern" not in r] == [f"{job}|5.90K|5896", f"{job}.batch|5.90K|5896"]


def test_mistakes(c):
    assert c.refused("sstat") == "sstat: error: You didn't give me any jobs to stat.\n"
    assert c.refused("sstat", "-j", "1", "-o", "nosuch") == 'sstat: error: Invalid field requested: "nosuch"\n'
    assert c.refused("sstat", "-j", "x") == "sstat: fatal: Bad job/step specified: x\n"
    assert c.refused("sstat", "-j", "1", "y") == "sstat: fatal: Bad job/step specified: y\n"
    done = c.run("sstat", "-n", "-j", "99999.3", check=False)
    assert (done.rc, done.out, done.err) == (0, "", "sstat: error: couldn't get steps for JobId=99999\n")


def test_not_measured(make_cluster):
    """JobAcctGatherType=jobacct_gather/none: only what wait(2) tells."""
    c = make_cluster(nodes=1, conf="JobAcctGatherType=jobacct_gather/none")
    job = c.sbatch("-n1", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: c.run("sstat", "-a", "-n", "-P", "-j", job, "-o", "jobid,maxrss").out == f"{job}.batch|\n", "it answers")
    c.run("scancel", job)
    wait_until(lambda: fields(c, "sacct", f"{job}.batch", "maxrss")[0]["maxrss"], "the end of the step is told")
    batch = fields(c, "sacct", f"{job}.batch", "maxrss,maxvmsize,tresusageintot,tresusageinmin,avecpufreq")[0]
    assert int(batch.pop("maxrss")) > 0
    assert list(batch.values()) == ["", "energy=0", "", "0"]


def test_tasks_of_an_array(c):
    """The array's number names all tasks; the task that has the array's number itself is listed once."""
    job = c.sbatch("-n1", "-a", "1-3", "-t5", wrap="sleep 100")
    wait_until(lambda: c.run("squeue", "-s", "-h", "-j", job, "-o", "%i").out.count("batch") == 3, "all tasks run")
    shown = c.run("sstat", "-a", "-n", "-P", "-j", job, "-o", "jobid").out.split()
    assert sorted(s for s in shown if not s.endswith("extern")) == [f"{job}_{i}.batch" for i in (1, 2, 3)]
    assert c.run("sstat", "-a", "-n", "-P", "-j", f"{job}_2", "-o", "jobid").out.split()[-1] == f"{job}_2.batch"
    c.run("scancel", job)


def test_memory_limit(make_cluster):
    """JobAcctGatherParams=OverMemoryKill ends the step that has too much, not its neighbour."""
    c = make_cluster(nodes=1, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
                     "JobAcctGatherParams=OverMemoryKill")
    ok = c.sbatch("-n1", "--mem=400M", wrap="python3 -c 'import time; x = bytearray(60 << 20); time.sleep(3)'")
    bad = c.sbatch("-n1", "--mem=50M", wrap="python3 -c 'import time; x = bytearray(80 << 20); time.sleep(1000)'")
    c.wait_end(bad)
    assert re.search(rf"error: StepId={bad}\.batch exceeded memory limit \(\d+ > {50 * MIB}\), being killed", c.out(bad))
    assert c.state(bad) != "COMPLETED"
    c.wait_end(ok)
    assert c.state(ok) == "COMPLETED"


def test_virtual_memory_limit(make_cluster):
    """VSizeFactor: with OverMemoryKill a step may have so much virtual memory, in percent of what it may use."""
    c = make_cluster(nodes=1, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
                     "JobAcctGatherParams=OverMemoryKill\nVSizeFactor=200")
    take = "python3 -c 'import mmap, time; x = mmap.mmap(-1, {} << 20); time.sleep({})'"  # it is never touched
    ok = c.sbatch("-n1", "--mem=300M", wrap=take.format(100, 3))
    bad = c.sbatch("-n1", "--mem=300M", wrap=take.format(700, 1000))
    c.wait_end(bad)
    assert re.search(rf"error: StepId={bad}\.batch exceeded virtual memory limit \(\d+ > {600 * MIB}\), being killed", c.out(bad))
    c.wait_end(ok)
    assert c.state(ok) == "COMPLETED"
