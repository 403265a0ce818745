"""sacct --efficiency and penstock report: figures against what a job did, advice in one sentence, for people and programs."""

import json

def report(c, job):
    return json.loads(c.run("penstock", "report", "--json", job).out)["jobs"][0]


def test_advice(make_cluster):
    c = make_cluster(nodes=2, conf="JobAcctGatherType=jobacct_gather/linux")
    idle = c.sbatch("-n2", "-N1", "--mem=100M", "-t", "5", wrap="sleep 10.5")
    short = c.sbatch("-n1", wrap="true")
    held = c.sbatch("-H", wrap="true")
    runs = c.sbatch("-n1", wrap="sleep 1000")
    c.wait_sacct(short, "COMPLETED")
    c.wait_state(runs, "RUNNING")
    assert report(c, short)["advice"] == "It ran too short to tell."
    assert report(c, held)["advice"] == "It has not started yet."
    assert report(c, runs)["advice"] == "It has not ended yet."
    c.run("scancel", held, runs)
    c.wait_sacct(idle, "COMPLETED")
    r = report(c, idle)
    assert r["could_be_better"] and 0 <= r["cpu_percent"] < 10, r
    assert r["advice"] == "It kept 0.0 of its 2 CPUs busy: ask for fewer CPUs, or let the program use them all."
    assert (r["state"], r["cpus"], r["nodes"], r["memory_held_mib"]) == ("COMPLETED", 2, 1, 100)
    assert 10 <= r["elapsed_seconds"] <= 14 and r["limit_seconds"] == 300
    assert 0 < r["memory_mib"] < 50 and r["gpus"] == 0

    page = c.run("penstock", "report", str(idle)).out.splitlines()
    assert page[0] == f"Job         {idle}  wrap  COMPLETED"
    assert [line[:12].strip() for line in page if line] == ["Job", "Waited", "Ran", "CPU", "Memory", "Advice"]
    table = [line.split("|") for line in c.run("sacct", "--efficiency", "-P", "-j", f"{idle},{short}").out.splitlines()]
    assert table[0] == ["JobID", "State", "Planned", "Elapsed", "TimeEff", "AllocCPUS", "CPUEff", "MaxMem", "MemEff"]
    assert [row[0] for row in table[1:]] == [str(idle), str(short)]
    assert table[1][4].startswith("3.") and table[2][4] == ""


def test_mistakes(cluster):
    assert "accounting knows no such job" in cluster.refused("penstock", "report", "999")
    assert "which job?" in cluster.refused("penstock", "report", rc=2)
    assert "nonsense is not the number of a job" in cluster.refused("penstock", "report", "nonsense", rc=2)
    assert "Invalid --efficiency argument: nonsense" in cluster.refused("sacct", "--efficiency=nonsense")
