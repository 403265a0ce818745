"""penstock sim --from-live: what would happen on a running cluster; the cluster itself notices nothing."""

import json
import re
import subprocess

import pytest

from conftest import program, wait_until

CLUSTER = {"nodes": 4, "cpus": 2}


@pytest.fixture(scope="module")
def c(shared):
    """Four jobs run for 10 to 40 minutes, a wide one waits for all of them, an array two at a time, one depends on it."""
    shared.ids = []
    for n in (1, 2, 3, 4):
        shared.ids.append(shared.sbatch("-n2", "-t", str(10 * n), wrap="sleep 1000"))
        shared.wait_state(shared.ids[-1], "RUNNING")
    shared.wide = shared.sbatch("-N4", "--exclusive", "-t", "60", "-J", "wide", wrap="true")
    shared.array = shared.sbatch("-a", "1-6%2", "-t", "5", wrap="true")
    shared.dependent = shared.sbatch("-d", f"afterok:{shared.wide}", "-t", "3", wrap="true")
    shared.held = shared.sbatch("-H", "-t", "3", wrap="true")
    wait_until(lambda: expected_start(shared, shared.wide), "the controller has a plan")
    return shared


def expected_start(c, job):
    found = re.search(r"StartTime=(\S+) EndTime", c.run("scontrol", "show", "job", job).stdout)
    return found.group(1) if found and found.group(1) != "Unknown" else None


def sim(c, *args, check=True):
    done = subprocess.run([program("penstock"), "sim", "--from-live", *map(str, args)], env=c.env, cwd=c.work,
                          capture_output=True, text=True, timeout=30)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def ask(c, *args):
    return json.loads(sim(c, "--json", *args).stdout)


def starts(answer, side="start"):
    return {j["job"]: j[side]["start"] for j in answer["jobs"]}


def records(c):
    """How much the journal holds; what the controller does by itself is waited for."""
    out = c.run("penstock", "journal", "dump", str(c.dir / "state")).stdout
    return len(out.splitlines())


def test_when(c):
    answer = ask(c)
    now, s = answer["now"], starts(answer)
    ends = {job: now + 600 * (i + 1) for i, job in enumerate(c.ids)}
    assert abs(s[str(c.wide)] - ends[c.ids[3]]) < 60
    assert s[str(c.dependent)] == s[str(c.wide)] + 3600
    assert s[str(c.held)] is None
    tasks = [s[f"{c.array}_{i}"] for i in range(1, 7)]
    assert tasks[0] == tasks[1] and tasks[2] == tasks[3] == tasks[0] + 300 and tasks[4] == tasks[5] == tasks[0] + 600
    assert abs(tasks[0] - ends[c.ids[0]]) < 60
    one = ask(c, "--when", f"{c.wide},{c.array}_2")
    assert [j["job"] for j in one["jobs"]] == [str(c.wide), f"{c.array}_2"]
    assert one["jobs"][0]["start"]["nodes"] == "node[1-4]" and one["jobs"][0]["start"]["cpus"] == 8
    assert len(ask(c, "--when", c.array)["jobs"]) == 6


def test_says_what_the_controller_plans(c):
    text = sim(c, "--when", c.wide).stdout
    assert expected_start(c, c.wide)[:16] in text


def test_nothing_is_touched(c):
    before = records(c)
    for args in (("--drain", "ALL"), ("--submit", "-N4 -t 10"), ("--down", "node1", "--set", "PriorityWeightAge=5")):
        sim(c, *args)
    assert records(c) == before
    assert sorted(c.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.split(), key=int) == [str(j) for j in c.ids]
    assert len(c.run("squeue", "-h").stdout.splitlines()) == 8


def test_drain_and_down(c):
    answer = ask(c, "--drain", "node4")
    fates = {j["job"]: j["fate"] for j in answer["jobs"]}
    assert fates[str(c.wide)] == fates[str(c.dependent)] == "never" and fates[f"{c.array}_1"] == "same"
    assert answer["summary"]["never"] == 2 and answer["changes"] == ["--drain node4"]
    answer = ask(c, "--down", "node1")
    job = next(j for j in answer["jobs"] if j["job"] == str(c.ids[0]))
    assert job["before"]["state"] == "running" and job["after"]["nodes"] == "node2" and job["fate"] == "later"


def test_add(c):
    before, answer = starts(ask(c)), ask(c, "--add", "node1:4")
    after = starts(answer, "after")
    assert after[str(c.wide)] <= answer["now"] + 1 and before[str(c.wide)] > answer["now"] + 1000
    assert answer["jobs"][0]["after"]["nodes"] == "added[1-4]"
    assert [u["user"] for u in answer["users"]] and answer["users"][0]["change_s"] < 0


def test_partition_jobs_and_weights(c):
    answer = ask(c, "--partition", "main.MaxTime=30", "--cancel", c.ids[0], "--release", c.held)
    fates = {j["job"]: j["fate"] for j in answer["jobs"]}
    assert fates[str(c.wide)] == "never" and fates[str(c.held)] == "starts" and fates[f"{c.array}_1"] == "earlier"
    assert ask(c, "--weight", "Age=1000")["changes"] == ["PriorityWeightAge=1000"]
    assert ask(c, "--hold", c.wide)["jobs"][0]["after"]["state"] == "held"


def test_run_percent(c):
    whole, half = ask(c, "--when", c.wide), ask(c, "--when", c.wide, "--run", 50)
    assert abs((half["jobs"][0]["start"]["start"] - half["now"]) * 2 -
               (whole["jobs"][0]["start"]["start"] - whole["now"])) < 120


def test_submit(c):
    answer = ask(c, "--submit", "-N2 -t 5 -J 'my job'")
    job, = answer["jobs"]
    assert job["name"] == "my job" and job["start"]["state"] == "starts" and job["start"]["nodes"] == "node[1-2]"
    assert job["start"]["start"] > answer["now"] + 1000  # node2 is free in 20 minutes
    assert len(ask(c, "--submit", "-a 1-3 -t 1")["jobs"]) == 3
    done = sim(c, "--submit", "-N9", check=False)
    assert (done.returncode, done.stderr) == (1, "penstock: error: sim: --submit: Requested node configuration is not available\n")


@pytest.mark.parametrize("args,rc,text", [
    (["--drain", "nope"], 2, "--drain: no node nope"),
    (["--add", "node1"], 2, "node1 is not NODE:COUNT"),
    (["--add", "node1:0"], 2, "node1:0 is not NODE:COUNT"),
    (["--partition", "main"], 2, "main is not NAME.KEY=VALUE"),
    (["--partition", "none.State=UP"], 2, "no partition none"),
    (["--partition", "main.Default=YES"], 2, "Default is not simulated"),
    (["--partition", "main.MaxTime=x"], 2, "MaxTime takes a time limit such as 1-0 or 90, not x"),
    (["--when", "999"], 1, "no job 999 waits or runs"),
    (["--when", "a"], 2, "a is not the number of a job"),
    (["--hold", "999"], 2, "no such job waits: 999"),
    (["--weight", "Age"], 2, "Age is not KEY=VALUE"),
    (["--set", "Nonsense=1"], 1, "Nonsense"),
    (["--nodes", "4"], 2, "takes the machine, the jobs and the policy from the controller"),
])
def test_mistakes(c, args, rc, text):
    done = sim(c, *args, check=False)
    assert done.returncode == rc and text in done.stderr and done.stdout == ""


def test_needs_from_live(c):
    done = subprocess.run([program("penstock"), "sim", "-g", "gpu", "--drain", "n1"], capture_output=True, text=True)
    assert done.returncode == 2 and "need --from-live" in done.stderr


def test_no_controller(c, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=1\nMessageTimeout=2\nNodeName=n1\n"
                    "PartitionName=p Nodes=n1\n")
    done = sim(c, "--conf", conf, check=False)
    assert done.returncode == 1 and done.stderr.startswith("penstock: error: ")


# ---- which jobs to requeue


def test_defrag(c):
    """One node: the job that ran shortest goes. Four nodes: all must. What may not be requeued stays."""
    one = json.loads(sim(c, "--json", "--defrag", f"{c.array}_1").stdout)
    assert (one["starts_now"], one["candidates"]) == (False, 4)
    best = one["choices"][0]
    assert best["jobs"] == [str(c.ids[3])] and re.fullmatch(r"node\d", best["nodes"])
    costs = [choice["lost_node_hours"] for choice in one["choices"]]
    assert costs == sorted(costs) and 0 < costs[0] < 1
    wide = json.loads(sim(c, "--json", "--defrag", c.wide).stdout)
    assert [choice["jobs"] for choice in wide["choices"]] == [[str(job) for job in c.ids]]
    assert wide["choices"][0]["nodes"] == "node[1-4]"
    assert abs(wide["expected_start"] - wide["now"] - 2400) < 120
    before = records(c)
    said = sim(c, "--defrag", c.wide).stdout
    assert re.match(rf"job {c.wide} has room in \d+:\d\d, by the time limits of what runs\n"
                    rf"1\. requeue 4 jobs, \d\.\d node hours of work lost; it starts on node\[1-4\]\n    ", said)
    assert records(c) == before, "nothing was changed"


def test_defrag_without_a_way(c):
    c.run("scontrol", "update", f"jobid={c.ids[0]}", "requeue=0")
    wide = json.loads(sim(c, "--json", "--defrag", c.wide).stdout)
    assert (wide["candidates"], wide["choices"]) == (3, [])
    assert "requeueing does not make room: 3 running jobs may be requeued" in sim(c, "--defrag", c.wide).stdout
    one = json.loads(sim(c, "--json", "--defrag", f"{c.array}_1").stdout)
    assert one["choices"][0]["jobs"] == [str(c.ids[3])]
    c.run("scontrol", "update", f"jobid={c.ids[0]}", "requeue=1")


@pytest.mark.parametrize("args, status, say", [
    (("--defrag", "99999"), 1, "sim: --defrag: no job 99999 waits or runs"),
    (("--defrag", "RUNNING"), 1, "sim: --defrag: job RUNNING runs already"),
    (("--defrag", "HELD"), 1, "sim: --defrag: job HELD waits for something else than room"),
    (("--defrag", "1", "--when", "1"), 2, "sim: --defrag needs --from-live, and takes nothing but --set, --run and --json with it"),
])
def test_defrag_mistakes(c, args, status, say):
    names = {"RUNNING": str(c.ids[1]), "HELD": str(c.held)}
    done = sim(c, *[names.get(a, a) for a in args], check=False)
    for name, job in names.items():
        say = say.replace(f"job {name}", f"job {job}")
    assert done.returncode == status and done.stderr.splitlines()[0] == f"penstock: error: {say}"


# ---- where jobs may run


BLOCKS = "BlockName=b1 Nodes=node[1-2]\nBlockName=b2 Nodes=node[3-4]\nBlockSizes=2\n"


def test_blocks(make_cluster):
    """Two free nodes in two blocks are no room for a segment of two: the simulator says so as the controller does."""
    cluster = make_cluster(nodes=4, cpus=2, start=False, conf="TopologyPlugin=topology/block\n")
    (cluster.conf.parent / "topology.conf").write_text(BLOCKS)
    cluster.start()
    runs = {}
    for node, minutes in (("node1", 60), ("node3", 10)):
        runs[node] = cluster.sbatch("-w", node, "--exclusive", "-t", minutes, wrap="sleep 1000")
        cluster.wait_state(runs[node], "RUNNING")
    waits = cluster.sbatch("-N2", "--segment=2", "--exclusive", "-t", "5", wrap="true")
    wait_until(lambda: expected_start(cluster, waits), "the controller has a plan")
    answer = ask(cluster)
    assert abs(starts(answer)[str(waits)] - answer["now"] - 600) < 60, "when the job of ten minutes ends"
    found = json.loads(sim(cluster, "--json", "--defrag", waits).stdout)
    assert not found["starts_now"] and [c["jobs"] for c in found["choices"]][0] in ([str(runs["node1"])], [str(runs["node3"])])
    assert {tuple(c["jobs"]): c["nodes"] for c in found["choices"]}.items() <= {
        (str(runs["node1"]),): "node[1-2]", (str(runs["node3"]),): "node[3-4]"}.items()


def test_spares(make_cluster):
    """A node that is kept for expedited jobs is no room for others."""
    cluster = make_cluster(nodes=3, cpus=2, conf="SchedulerParameters=expedite_spares=1\n")
    waits = cluster.sbatch("-N3", "--exclusive", "-t", "5", wrap="true")
    wait_until(lambda: cluster.run("squeue", "-h", "-o", "%r", "-j", waits).stdout.strip() == "Resources", "it was looked at")
    said = json.loads(sim(cluster, "--json", "--defrag", str(waits)).stdout)
    assert (said["starts_now"], said["choices"]) == (False, [])
    test_only = cluster.run("sbatch", "--test-only", "-N3", "--exclusive", "-t", "5", "--wrap=true", check=False)
    assert "to start at" not in test_only.stderr, test_only.stderr
