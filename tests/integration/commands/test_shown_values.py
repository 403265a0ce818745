"""Fields that show what the system knows, where a constant stood: SelectTypeParameters, requests per GPU."""

import json

CLUSTER = {"nodes": 1, "conf": "SelectTypeParameters=CR_CPU_Memory,CR_LLN\nGresTypes=gpu", "node_options": "Gres=gpu:2",
           "partition": "SelectTypeParameters=CR_Core"}


def test_shared_cpus_count_once(make_cluster):
    """Two jobs on all CPUs of a node of FORCE:2 are as many CPUs as it has, in every total."""
    c = make_cluster(nodes=1, cpus=4, partition="OverSubscribe=FORCE:2")
    for _ in range(2):
        c.wait_state(c.sbatch("-n4", "--mem=10", wrap="sleep 60"), "RUNNING")
    node = c.run("scontrol", "show", "node", "node1").out
    assert "CPUAlloc=4 CPUEfctv=4 CPUTot=4 " in node and "AllocTRES=cpu=4," in node
    assert c.run("sinfo", "-h", "-o", "%C %t").out == "4/0/0/4 alloc\n"
    told = json.loads(c.run("scontrol", "--json", "show", "node", "node1").out)["nodes"][0]
    assert (told["alloc_cpus"], told["alloc_idle_cpus"]) == (4, 0)


def test_select_type(c):
    """job_resources.select_type and a partition's select_type are the configured words."""
    job = c.sbatch(wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    for words in (["squeue", "--json", "-j", job], ["scontrol", "--json", "show", "job", job]):
        resources = json.loads(c.run(*words).out)["jobs"][0]["job_resources"]
        assert resources["select_type"] == ["CR_CPU_MEMORY", "CR_LLN"]
    partition = json.loads(c.run("scontrol", "--json", "show", "partition").out)["partitions"][0]
    assert partition["select_type"] == ["CR_CORE"]
    c.run("scancel", job)


def test_requests_per_gpu(c):
    """--cpus-per-gpu and --mem-per-gpu: squeue, --json and scontrol say the same."""
    job = c.sbatch("-H", "--gpus=1", "--cpus-per-gpu=2", "--mem-per-gpu=50", wrap="true")
    other = c.sbatch("-H", wrap="true")
    out = c.run("squeue", "-h", "-S", "i", "-j", f"{job},{other}", "-O", "cpus-per-tres:.20,mem-per-tres:.20").out
    assert [line.split() for line in out.splitlines()] == [["gres/gpu:2", "gres/gpu:50"], ["N/A", "N/A"]]
    record = json.loads(c.run("squeue", "--json", "-j", job).out)["jobs"][0]
    assert (record["cpus_per_tres"], record["memory_per_tres"]) == ("gres/gpu:2", "gres/gpu:50")
    assert c.job(job)["CpusPerTres"] == "gres/gpu:2" and c.job(job)["MemPerTres"] == "gres/gpu:50"


def test_case_of_filters(c):
    """Accounts are found whatever the case of the letters."""
    job = c.sbatch("-A", "physics", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.run("squeue", "-h", "-o", "%i", "-A", "PHYSICS").out == f"{job}\n"
    assert c.run("squeue", "-h", "-o", "%i", "-A", "CHEM").out == ""
    c.run("scancel", job)
    c.wait_sacct(job, "CANCELLED")
    assert c.sacct("-aX", "-o", "jobid", "-A", "PHYSICS") == [[str(job)]]
