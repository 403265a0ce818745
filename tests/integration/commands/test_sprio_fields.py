"""Letters of sprio: each factor's share of one and what it adds to the priority (recorded in 52: 0.6250000 and 312 of 500)."""

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4, "conf": "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightAssoc=700\n"
           "PriorityWeightFairshare=10000\nPriorityWeightJobSize=500\nPriorityWeightPartition=2000\nPriorityWeightQOS=3000\n"
           "AccountingStorageEnforce=associations,qos", "partition": "PriorityJobFactor=10\nPartitionName=other Nodes=ALL PriorityJobFactor=5"}
WEIGHTS = {"A": 1000, "B": 700, "F": 10000, "J": 500, "P": 2000, "Q": 3000}


def test_letters(c):
    for words in ("add account sci", "add user root account=sci", "modify user root set priority=4 where account=sci",
                  "add qos high priority=8", "add qos top priority=16", "modify user root set qos+=high"):
        c.run("sacctmgr", "-i", *words.split())
    c.sbatch("--exclusive", "-N2", wrap="sleep 1000")
    job = c.sbatch("-A", "sci", "-p", "other", "--qos=high", "-n6", "--nice=7", wrap="true")
    letters = [*WEIGHTS, *(w.lower() for w in WEIGHTS), "i", "n", "N", "o", "r", "u", "S", "t", "T", "Y", "y"]

    def shown():
        line = c.run("sprio", "-h", "-j", job, "-o", "|".join(f"%{w}" for w in letters)).out.rstrip("\n")
        return dict(zip(letters, line.split("|")))
    wait_until(lambda: shown()["q"] != "0.0000000", "the scheduler knows the new QOS")
    got = shown()
    assert (got["i"], got["n"], got["N"], got["o"], got["r"], got["u"], got["S"]) == (str(job), "high", "7", "sci", "other", "root", "0")
    assert (got["p"], got["q"]) == ("0.5000000", "0.5000000")
    assert got["t"] == got["T"] == ""
    for letter, weight in WEIGHTS.items():
        assert abs(float(got[letter.lower()]) * weight - int(got[letter])) <= 1, letter
    assert float(got["j"]) > 0 and int(got["B"]) > 0
    assert abs(sum(int(got[w]) for w in WEIGHTS) - 7 - int(got["Y"])) <= 2
    sluid = c.run("squeue", "-h", "-j", job, "-O", "SLUID").out.strip()
    shown_alone = {w: c.run("sprio", "-h", "-j", job, "-o", w).out.strip() for w in ("%b", "%f", "%s")}
    assert shown_alone == {"%b": got["b"], "%f": got["f"], "%s": sluid}
    assert got["y"] == f"{int(got['Y']) / 2 ** 32:.14f}"  # as recorded
    c.clear()
