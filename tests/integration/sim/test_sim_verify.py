"""penstock sim --journal --verify: what a real controller decided, decided once more."""

import getpass
import json
import subprocess

import pytest

from conftest import program, wait_until

MULTIFACTOR = ("PriorityType=priority/multifactor\nPriorityWeightAge=100000\nPriorityMaxAge=60\nPriorityWeightJobSize=500\n"
               "PriorityCalcPeriod=1")


def verify(c, *args):
    return subprocess.run([program("penstock"), "sim", "--journal", str(c.dir), "--verify", *args], env=c.env,
                          capture_output=True, text=True, timeout=60)


def sums(c, *args):
    return json.loads(verify(c, "--json", *args).stdout)


def load(c, n=60):
    """Jobs of many shapes, an array with a throttle, one that depends; some are held, cancelled or made urgent."""
    ids = [c.sbatch(f"-n{i % 4 + 1}", "-t", str(i % 7 + 1), f"--nice={i * 7 % 50}", "-o", "/dev/null",
                    wrap=f"sleep 0.{i % 3 + 1}") for i in range(n)]
    wide = c.sbatch("-N3", "--exclusive", "-t", "2", "-o", "/dev/null", wrap="sleep 0.1")
    c.sbatch("-a", "1-60%5", "-t", "5", "-o", "/dev/null", wrap="true")
    c.sbatch("-a", "1-60", "-t", "1", "-N2", "-o", "/dev/null", wrap="true")
    c.sbatch("-d", f"afterany:{wide}", "-o", "/dev/null", wrap="true")
    return ids


def meddle(c, ids):
    """As far as the jobs still wait when their turn comes."""
    for words in (["update", "NodeName=node2", "State=DRAIN", "Reason=t"], ["hold", ids[-5]],
                  ["update", f"JobId={ids[-3]}", "Priority=4000000000"], ["update", f"JobId={ids[-2]}", "TimeLimit=1"],
                  ["update", "NodeName=node2", "State=RESUME"], ["release", ids[-5]]):
        c.run("scontrol", *words, check=False)
    c.run("scancel", ids[-9], ids[-7], check=False)


def all_over(c):
    wait_until(lambda: not c.run("squeue", "-h").stdout, "every job is over", 60)


def cpus_of(alloc):
    """(node id, CPU) of all that an allocation holds."""
    ids, held = iter(alloc["node_ids"]), set()
    for group in alloc["groups"]:
        ranges = [tuple(map(int, part.split("-"))) for part in group["cpu_ids"].split(",")]
        for _ in range(group.get("nodes", 1)):
            node = next(ids)
            held |= {(node, cpu) for r in ranges for cpu in range(r[0], r[-1] + 1)}
    return held


def given_twice(c):
    """Starts, by the log, on CPUs that another job held."""
    dump = subprocess.run([program("penstock"), "journal", "dump", str(c.dir)], env=c.env, capture_output=True, text=True,
                          check=True, timeout=60).stdout
    held, twice = {}, []
    for record in filter(None, map(json.loads, filter(lambda l: l.startswith('{"lsn"'), dump.splitlines()))):
        for event in record.get("transaction", {}).get("events", []):
            patch = event.get("job_patch", {})
            what = event.get("job_put") or patch.get("set") or {}
            job = what.get("job_id") or patch.get("job_id")
            if "alloc" in what:
                cpus = cpus_of(what["alloc"])
                twice += [(record["lsn"], job, other) for other, its in held.items() if other != job and its & cpus]
                held[job] = cpus
            if what.get("released"):
                held.pop(job, None)
    assert not held
    return twice


@pytest.mark.parametrize("conf", ["", MULTIFACTOR], ids=["basic", "multifactor"])
def test_a_real_run_is_decided_alike(make_cluster, conf):
    c = make_cluster(nodes=3, cpus=4, conf=conf)
    meddle(c, load(c))
    all_over(c)
    assert not given_twice(c)
    done = verify(c)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0].endswith(" equal, 0 differences")
    s = sums(c)
    assert s["starts"] >= 170 and s["equal"] == s["starts"] and s["passes"] > 20 and s["different"] == s["unnoted"] == 0
    assert s["differences"] == [] and s["boots"] == 1
    # Another policy would have decided otherwise, and the command says where.
    done = verify(c, "--set", "SelectTypeParameters=CR_Core_Memory,CR_LLN", "--set", "SchedulerType=sched/builtin")
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith(("pass ", "backfill ")) and " knew lsn " in first and ": job " in first


def mgr(c, *words):
    return c.run("sacctmgr", "-i", *words).out


def limited(c):
    """A user with few jobs at a time in one account and few CPUs in one QOS, and an account with few minutes."""
    me = getpass.getuser()
    for account in ("few", "brief"):
        mgr(c, "add", "account", account)
    mgr(c, "add", "qos", "tight", "set", "maxtrespu=cpu=2", "priority=7")
    mgr(c, "add", "user", me, "account=few", "qos=normal,tight", "maxjobs=2", "fairshare=3")
    mgr(c, "add", "user", me, "account=brief", "qos=normal,tight")
    mgr(c, "modify", "account", "brief", "set", "grptresmins=cpu=40")


@pytest.mark.parametrize("conf", ["", MULTIFACTOR + "\nPriorityWeightFairShare=100000\nPriorityWeightQOS=1000"],
                         ids=["basic", "fairshare"])
def test_limits_hold_alike(make_cluster, conf):
    c = make_cluster(nodes=3, cpus=4, conf=f"AccountingStorageEnforce=associations,limits,qos,safe\n{conf}")
    limited(c)
    made = []
    for i in range(16):
        made += [c.sbatch("-A", "few", "-n1", "-t", "2", f"--nice={i}", "-o", "/dev/null", wrap="sleep 0.3"),
                 c.sbatch("-A", "few", "-q", "tight", "-n2", "-t", "1", "-o", "/dev/null", wrap="sleep 0.2"),
                 c.sbatch("-A", "brief", "-n2", "-t", "8", "-o", "/dev/null", wrap="sleep 0.2")]
    reasons = c.run("squeue", "-h", "-t", "PD", "-o", "%r").out.split()
    assert "AssocMaxJobsLimit" in reasons, reasons
    mgr(c, "modify", "user", getpass.getuser(), "where", "account=few", "set", "maxjobs=3")
    all_over(c)
    done = verify(c)
    assert done.returncode == 0, done.stdout
    s = sums(c)
    assert s["different"] == 0 and s["equal"] == s["starts"] >= len(made), s["differences"]
    # Without the limits the replay starts what they held.
    loose = verify(c, "--set", "AccountingStorageEnforce=associations")
    assert loose.returncode == 1, loose.stdout


def test_over_a_restart(make_cluster):
    c = make_cluster(nodes=3, cpus=4)
    load(c, 30)
    c.kill_ctld()
    c.start_ctld()
    all_over(c)
    s = sums(c)
    assert s["different"] == 0 and s["starts"] == s["equal"] >= 140, s["differences"]
    assert s["boots"] == 2


def test_mistakes(tmp_path):
    for args, rc, text in ((["-g", "gpu", "--verify"], 2, "--verify needs --journal"),
                           (["--journal", str(tmp_path), "--verify"], 1, str(tmp_path))):
        done = subprocess.run([program("penstock"), "sim", *args], capture_output=True, text=True,
                              env={"SLURM_CONF": str(tmp_path / "none"), "PATH": "/usr/bin"})
        assert done.returncode == rc and text in done.stderr, done.stderr


def test_blocks(make_cluster):
    """Placements in blocks: the same with the topology of the controller, others without."""
    c = make_cluster(nodes=8, cpus=2, start=False, conf="TopologyPlugin=topology/block\nMaxNodeCount=10\n", partition="OverSubscribe=EXCLUSIVE")
    files = c.dir / "etc" / "topology.conf"
    files.write_text("BlockName=b1 Nodes=node[1,4,6,8]\nBlockName=b2 Nodes=node[2-3,5,7]\nBlockSizes=4\n")
    c.start()
    for i in range(40):
        c.sbatch(f"-N{(2, 3, 4, 6)[i % 4]}", *(["--segment=2"] if i % 4 in (0, 2) else ["--segment=3"] if i % 4 == 3 else []), "-t", "2",
                 "-o", "/dev/null", wrap=f"sleep 0.{i % 3 + 1}")
        if i == 20:  # a node moves, in front of those that wait
            c.run("scontrol", "update", "NodeName=node8", "Topology=default:b2")
    all_over(c)
    assert c.ctld.stop() == 0
    got = sums(c)
    assert got["different"] == 0 and got["equal"] >= 40, verify(c).stdout
    files.write_text("BlockName=b1 Nodes=node[1-4]\nBlockName=b2 Nodes=node[5-8]\nBlockSizes=4\n")
    assert sums(c)["different"] > 0
    c.start_ctld()
