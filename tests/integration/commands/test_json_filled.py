"""Values of --json that say what was configured or asked for, where once there was a fixed word."""

import json

CLUSTER = {"nodes": 2, "cpus": 4, "node_options": "CoreSpecCount=1 Gres=gpu:1 RestrictedCoresPerGPU=1", "conf": "GresTypes=gpu",
           "partition": "OverSubscribe=FORCE:3"}


def told(c, *argv):
    return json.loads(c.run(*argv).out)


def test_nodes_and_partitions(c):
    node = told(c, "scontrol", "--json", "show", "node", "node1")["nodes"][0]
    assert (node["cpus"], node["effective_cpus"], node["res_cores_per_gpu"]) == (4, 3, 1)
    assert "CPUEfctv=3 CPUTot=4" in c.run("scontrol", "show", "node", "node1").out
    most = told(c, "scontrol", "--json", "show", "partition", "main")["partitions"][0]["maximums"]
    assert most["oversubscribe"] == {"jobs": 3, "flags": ["force"]}


def test_switches(c):
    job = c.sbatch("-H", "--switches=1@00:02:00", "-o", "/dev/null", wrap="true")
    told_of = told(c, "squeue", "--json", f"--jobs={job}")["jobs"][0]
    assert (told_of["required_switches"], told_of["maximum_switch_wait_time"]) == (1, 120)


def test_system_comment(c):
    job = c.sbatch("-o", "/dev/null", wrap="true")
    c.wait_sacct(job, "COMPLETED")
    c.run("sacctmgr", "-i", "modify", "job", f"jobid={job}", "set", "systemcomment=burst", "admincomment=seen")
    notes = told(c, "sacct", "--json", "-j", str(job))["jobs"][0]["comment"]
    assert (notes["system"], notes["administrator"]) == ("burst", "seen")
