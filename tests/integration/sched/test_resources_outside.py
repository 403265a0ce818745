"""resources.yaml and licences as a stranger examines them: the example of 24 nodes by number, and what surrounds it."""

import re
import subprocess

import pytest

from conftest import program, wait_until
from exam import Exam, lab

NODES = "Requested node configuration is not available"
INVALID = "Invalid license specification"
EXAMPLE = """- resource: svc
  mode: MODE_2
  layers:
    - {nodes: ["n[01-24]"], count: 20}
    - {nodes: ["n[01-12]"], count: 14}
    - {nodes: ["n[13-24]"], count: 14}
    - {nodes: ["n[01-06]"], count: 9}
    - {nodes: ["n[07-12]"], count: 9}
    - {nodes: ["n[13-18]"], count: 9}
    - {nodes: ["n[19-24]"], count: 9}
- resource: port
  mode: MODE_1
  layers:
    - {nodes: ["n[01-12]"], count: 75}
    - {nodes: ["n[13-24]"], count: 75}
    - {nodes: ["n[01-24]"], count: 40}
- resource: watts
  mode: MODE_3
  variables:
    - {name: idle, value: 400}
    - {name: train, value: 1500}
  layers:
    - nodes: ["n[01-24]"]
      count: 48000
      base: [{name: chiller, value: 5000}, {name: pumps, value: 1500}]
    - {nodes: ["n[01-12]"], count: 24000, base: [{name: cooling1, value: 2000}]}
    - {nodes: ["n[13-24]"], count: 28000, base: [{name: cooling2, value: 1000}]}
    - {nodes: ["n[01-06]"], count: 15000, base: [{name: racknet, value: 1500}]}
    - {nodes: ["n[07-12]"], count: 15000}
    - {nodes: ["n[13-18]"], count: 15000}
    - {nodes: ["n[19-24]"], count: 15000}
- resource: inf
  mode: MODE_2
  layers:
    - {nodes: ["n[01-24]"], count: -1}
"""
PARTS = "PartitionName=debug Nodes=ALL Default=YES State=UP\nPartitionName=high Nodes=ALL PriorityTier=10"
CONF = "Licenses=a:1,b:3\nAccountingStorageTRES=license/a,license/svc,license/watts\nPreemptType=preempt/partition_prio\n" \
       "PreemptMode=REQUEUE\nPreemptParameters=reclaim_licenses"


def figures(c, name):
    """{nodes of the layer: (used, free, reserved)}"""
    out = {}
    for line in c.run("scontrol", "-o", "show", "licenses", name).out.splitlines():
        words = dict(word.split("=", 1) for word in line.split())
        out[words.get("Nodes", "")] = tuple(int(words[key]) for key in ("Used", "Free", "Reserved"))
    return out


def used(c, name):
    return {nodes: row[0] for nodes, row in figures(c, name).items() if row[0]}


@pytest.fixture(scope="module")
def site():
    """24 nodes for the module: they take a while."""
    import shutil
    import tempfile
    from pathlib import Path
    from conftest import Cluster
    made, path = [], Path(tempfile.mkdtemp(prefix="penstock-test-"))

    def make(start, **options):
        made.append(Cluster(path, **options))
        return made[-1]
    c = lab(make, "n[01-24]", conf=CONF, parts=PARTS, files={"resources.yaml": EXAMPLE})
    yield c
    problems = c.stop()
    if problems:
        print(c.logs(""))
    shutil.rmtree(path, ignore_errors=True)
    assert not problems, problems


@pytest.fixture
def e(site):
    exam = Exam(site)
    yield exam
    exam.clear()
    site.wait_nodes()


def test_a_service_is_charged_once_a_layer(e):
    e.same("layers", {n: sum(row[:2]) for n, row in figures(e.c, "watts").items()},
           {"n[01-06]": 13500, "n[07-12]": 15000, "n[13-18]": 15000, "n[19-24]": 15000, "n[01-12]": 20500, "n[13-24]": 27000,
            "n[01-24]": 37000})
    e.same("four nodes", e.nodes("--resources=svc:3", "-N4"), "n[01-04]")
    e.same("layers of four nodes", used(e.c, "svc"), {"n[01-06]": 3, "n[01-12]": 3, "n[01-24]": 3})
    e.clear()
    for _ in range(3):
        e.nodes("--resources=svc:3", "-w", "n01")
    e.same("rack A is full", e.nodes("--resources=svc:3", "-N6"), "n[07-12]")
    e.clear()
    for _ in range(3):
        e.nodes("--resources=svc:3", "-w", "n01")
    e.nodes("--resources=svc:4", "-w", "n07")
    e.same("the half is full", e.nodes("--resources=svc:3", "-N2"), "n[13-14]")
    e.clear()
    for node in ("n01", "n13"):
        for _ in range(3):
            e.nodes("--resources=svc:3", "-w", node)
    e.same("the root is full", e.nodes("--resources=svc:3"), "ReqNodeNotAvail, May be reserved for other job")
    e.clear()
    e.same("given back", used(e.c, "svc"), {})
    e.same("more than there is", e.one("--resources=svc:21"), INVALID)
    e.same("without end", e.one("--resources=inf:1000000"), "n01")
    e.end()


def test_ports_are_charged_to_one_layer(e):
    c = e.c
    for node in ("n01", "n02", "n03"):
        e.same(node, e.nodes("--resources=port:30", "-w", node), node)
    e.same("layers", used(c, "port"), {"n[01-12]": 60, "n[01-24]": 30})
    e.same("what jobs hold", sorted(c.run("squeue", "-h", "-O", "LicensesAlloc:30").out.split()),
           ["port(n[01-12]):30", "port(n[01-12]):30", "port(n[01-24]):30"])
    e.same("the other half", e.nodes("--resources=port:30"), "n13")
    c.kill_ctld()
    c.start_ctld()
    e.same("after a kill", used(c, "port"), {"n[01-12]": 60, "n[01-24]": 30, "n[13-24]": 30})
    e.clear()
    e.same("given back", used(c, "port"), {})
    e.end()


def test_power_is_charged_for_each_node(e):
    e.same("twelve", e.nodes("--resources=watts:train", "-N12", "-w", "n[01-12]"), "n[01-12]")
    e.same("layers", used(e.c, "watts"), {"n[01-06]": 9000, "n[07-12]": 9000, "n[01-12]": 18000, "n[01-24]": 18000})
    e.clear()
    e.same("the half has not so much", e.one("--resources=watts:1800", "-N12", "-w", "n[01-12]"), NODES)
    e.same("rack A has not", e.one("--resources=watts:2500", "-N6", "-w", "n[01-06]"), NODES)
    e.same("rack B has", e.one("--resources=watts:2500", "-N6", "-w", "n[07-12]"), "n[07-12]")
    e.same("23", e.one("--resources=watts:1600", "-N23"), "n[01-23]")
    e.same("24", e.one("--resources=watts:1600", "-N24"), NODES)
    e.same("24 that train", e.one("--resources=watts:train", "-N24"), "n[01-24]")
    e.same("an unknown variable", e.one("--resources=watts:turbo"), INVALID)
    e.same("as many as power allows", e.one("--resources=watts:2000", "-N1-24"), "n[01-10,13-20]")
    e.nodes("--resources=watts:idle", "-N24")
    e.same("beside idle ones", e.nodes("--resources=watts:train", "-N18"), "n[01-10,13-20]")
    e.clear()
    e.nodes("--resources=watts:idle", "-N24")
    e.same("one more waits", e.nodes("--resources=watts:train", "-N19"), "Resources")
    e.end()


def test_lists_of_licences(e):
    c = e.c
    e.same("a or b", e.nodes("-L", "a|b"), "n01")
    e.same("a is taken", e.nodes("-L", "a|b:2"), "n01")
    e.same("what they hold", (used(c, "a"), used(c, "b")), ({"": 1}, {"": 2}))
    e.clear()
    for words, answer in (("a|b,svc", INVALID), ("a, b", INVALID), ("a;b", "n01"), ("b:-1", INVALID), ("b:4", INVALID),
                          ("b:99999999999", INVALID), ("b@srv:1", INVALID), ("b:", INVALID), ("b=2", "n01"),
                          ("b:2,b:2", INVALID), ("b:1,b:2", "n01"), ("svc:10,svc:11", INVALID), ("b:3|b:3", "n01"),
                          ("svc(n[01-06]):1", INVALID), ("a,svc:1", "n01")):
        e.same(words, e.one("-L", words), answer)
    refused = c.run("sbatch", "-N1", "-L", "b:2", ":", "-N1", "-L", "b:1", "--wrap", "true", check=False)
    e.has("licences of another component", refused.err, INVALID)
    e.end()


def test_licences_of_running_jobs(e):
    c = e.c
    job = c.run("sbatch", "--parsable", "-L", "b:2", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    c.wait_state(job, "RUNNING")
    for words, count in (("b:1", 1), ("b:3", 3)):
        e.same(words, e.ask("scontrol", "update", f"jobid={job}", f"licenses={words}"), "")
        e.same(f"{words}: in use", used(c, "b"), {"": count})
    e.same("too many", e.ask("scontrol", "update", f"jobid={job}", "licenses=b:4"), f"{INVALID} for job {job}\n[1]")
    e.same("too many in two items", e.ask("scontrol", "update", f"jobid={job}", "licenses=b:2,b:2"),
           f"{INVALID} for job {job}\n[1]")
    c.run("scontrol", "suspend", job)
    e.same("a suspended job keeps them", used(c, "b"), {"": 3})
    c.run("scontrol", "resume", job)
    e.clear()
    e.nodes("-L", "b:3")
    e.same("a higher tier takes them", e.nodes("-L", "b:2", "-p", "high"), "n01")
    e.clear()
    job = c.run("sbatch", "--parsable", "--resources=port:30", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    c.wait_state(job, "RUNNING")
    e.same("requeue", e.ask("scontrol", "requeuehold", job), "")
    wait_until(lambda: c.state(job) == "PENDING", "it waits again")
    e.same("given back", used(c, "port"), {})
    e.has("the request is the first one", e.ask("scontrol", "show", "job", job), "Licenses=port:30 LicensesAlloc=(null)")
    e.end()


def test_a_higher_tier_takes_layers(e):
    """PreemptParameters=reclaim_licenses: who holds a layer goes for it, also from other nodes; not for alternatives."""
    for low, high, nodes in (("svc:9 n01", "svc:4 n02", "n02"), ("port:40 n13", "port:70 n13", "n13"),
                             ("watts:13500 n01", "watts:400 n02", "n02"),
                             ("svc:9 n01", "svc:4|svc:5 n02", "ReqNodeNotAvail, May be reserved for other job")):
        ask, node = low.split()
        e.nodes("--resources", ask, "-w", node)
        if ask.startswith("port"):
            e.nodes("--resources", ask, "-w", node)  # of the root, too
        ask, node = high.split()
        e.same(f"{low}, then {high}", e.nodes("-L", ask, "-w", node, "-p", "high"), nodes)
        e.clear()
    e.same("given back", [used(e.c, name) for name in ("svc", "port", "watts")], [{}, {}, {}])
    e.end()


def test_what_accounting_and_the_job_see(e):
    c = e.c
    job = c.run("sbatch", "--parsable", "--resources=watts:train", "-N3", "-L", "a,svc:2", "--wrap", "env | grep LICEN").out.strip()
    c.wait_sacct(job, "COMPLETED")
    e.same("sacct", c.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "AllocTRES").out,
           "billing=3,cpu=3,license/a=1,license/svc=2,license/watts=1500,mem=300M,node=3\n")
    e.same("the variable", c.out(job), "SLURM_JOB_LICENSES=a,svc:2,watts:train\n")
    e.has("show job", e.ask("scontrol", "show", "job", job), "Licenses=a,svc:2,watts:train LicensesAlloc=a:1;svc:2;watts:1500")
    e.end()


def test_reservations_of_layers(e):
    c = e.c

    def create(name, licenses):
        return e.ask("scontrol", "create", "reservation", f"reservationname={name}", "users=root", "starttime=now",
                     "duration=60", "flags=any_nodes", f"licenses={licenses}")
    e.same("layers", create("r1", "port(n[01-12]):70,svc(n[07-12]):4"), "Reservation created: r1\n")
    e.same("reserved", (figures(c, "port")["n[01-12]"], figures(c, "svc")["n[07-12]"]), ((0, 75, 70), (0, 9, 4)))
    e.same("inside", e.one("--reservation=r1", "--resources=port:30", "-w", "n01"), "n01")
    e.same("outside", e.nodes("--resources=port:30", "-w", "n01"), "n01")
    e.same("from the widest layer", used(c, "port"), {"n[01-24]": 30})
    e.same("no more outside", e.nodes("--resources=port:30", "-w", "n02"), "ReqNodeNotAvail, May be reserved for other job")
    c.kill_ctld()
    c.start_ctld()
    e.has("after a kill", e.ask("scontrol", "-o", "show", "reservation", "r1"), "Licenses=port(n[01-12]):70,svc(n[07-12]):4")
    for name, words in (("r2", "port(n[01-12]):76"), ("r3", "port(n[01-05]):7"), ("r5", "port(n[13-24]):40,port(n[13-24]):40"),
                        ("r6", "a:1,a:1")):
        e.same(words, create(name, words), f"Error creating the reservation: {INVALID}\n[1]")
    e.same("a licence", create("r4", "a:1"), "Reservation created: r4\n")
    e.same("outside", e.nodes("-L", "a"), "Licenses")
    e.same("inside", e.one("-L", "a", "--reservation=r4"), "n01")
    for name in ("r1", "r4"):
        c.run("scontrol", "delete", f"reservationname={name}")
    e.end()


# ---- eight nodes in two blocks ---------------------------------------------------------------------------------------------

POWER = """- resource: w
  mode: MODE_3
  topology: B
  layers:
    - {nodes: ["n[01-08]"], count: 100}
    - {nodes: ["n[01-04]"], count: 60}
    - {nodes: ["n[05-08]"], count: 60}
"""
BLOCKS = """- topology: B
  cluster_default: true
  block:
    block_sizes: [4, 8]
    blocks:
      - {block: b1, nodes: "n[01-04]"}
      - {block: b2, nodes: "n[05-08]"}
"""


def small(make_cluster):
    return Exam(lab(make_cluster, "n[01-08]", conf="Licenses=a:1,b:3",
                    parts="PartitionName=debug Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE",
                    files={"resources.yaml": POWER, "topology.yaml": BLOCKS}))


def test_power_and_blocks_are_solved_together(make_cluster):
    e = small(make_cluster)
    e.same("two fit a block", e.one("-N2", "--resources=w:25"), "n[05-06]")
    e.same("three do not", e.one("-N3", "--resources=w:25"), NODES)
    e.same("segments", e.one("-N4", "--resources=w:25", "--segment=2"), "n[01-02,05-06]")
    e.same("five over both", e.one("-N5", "--resources=w:20"), "n[01-02,05-07]")
    e.same("the root is too small for six", e.one("-N6", "--resources=w:20"), NODES)
    e.nodes("-N2", "--resources=w:25")
    e.same("the other block", e.nodes("-N2", "--resources=w:25"), "n[01-02]")
    e.same("no power is left", e.nodes("-N1", "--resources=w:25"), "Resources")
    e.end()


def test_a_resource_that_goes_and_comes_back(make_cluster):
    e = small(make_cluster)
    c, file = e.c, e.c.conf.parent / "resources.yaml"
    running = c.run("sbatch", "--parsable", "-N1", "--resources=w:20", "-o", "/dev/null", "--wrap", "sleep 300").out.strip()
    c.wait_state(running, "RUNNING")
    later = c.run("sbatch", "--parsable", "-b", "now+1hour", "-N1", "--resources=w:20", "-o", "/dev/null", "--wrap",
                  "sleep 300").out.strip()
    begin = c.run("squeue", "-h", "-j", later, "-o", "%S").out
    file.unlink()
    e.same("gone", e.ask("scontrol", "reconfigure"), "")
    e.same("a waiting job is held", c.run("squeue", "-h", "-j", later, "-o", "%T|%r").out,
           "PENDING|License request 'w:20' is no longer valid, holding job\n")
    e.has("a running one has none", e.ask("scontrol", "show", "job", running), "Licenses=(null) LicensesAlloc=(null)")
    file.write_text(POWER)
    e.same("back", e.ask("scontrol", "reconfigure"), "")
    e.same("release", e.ask("scontrol", "release", later), "")
    e.same("it waits for its time", c.run("squeue", "-h", "-j", later, "-o", "%T|%r|%S").out, f"PENDING|BeginTime|{begin}")
    e.same("now", e.ask("scontrol", "update", f"jobid={later}", "starttime=now"), "")
    c.wait_state(later, "RUNNING")
    e.same("in use", used(c, "w")["n[01-08]"], 20)
    e.end()


GOOD = "- resource: s\n  mode: MODE_2\n  layers:\n    - {nodes: [\"n[01-08]\"], count: 5}\n"
MISTAKES = {
    "twice": (GOOD + GOOD, "described in line 1 already"),
    "a mode": (GOOD.replace("MODE_2", "MODE_9"), "mode MODE_9 is none of"),
    "a count": (GOOD.replace("count: 5", "count: x"), '"x" is not a number'),
    "a negative count": (GOOD.replace("count: 5", "count: -2"), '"-2" is not a number'),
    "a large count": (GOOD.replace("count: 5", "count: 4294967296"), "is not a number"),
    "no count": (GOOD.replace(", count: 5", ""), "a layer needs a count"),
    "no nodes": (GOOD.replace('nodes: ["n[01-08]"], ', ""), "a layer needs nodes"),
    "unknown nodes": (GOOD.replace("n[01-08]", "zz[1-3]"), "no NodeName line of slurm.conf names zz1"),
    "the name of a licence": (GOOD.replace("resource: s", "resource: a"), "a is a licence of slurm.conf"),
    "a name with a space": (GOOD.replace("resource: s", 'resource: "x y"'), "cannot be the name of a resource"),
    "base above the count": (GOOD.replace("count: 5", "count: 5, base: [{name: q, value: 6}]"), "sum up to 6"),
    "layers that overlap": (POWER.replace('"n[05-08]"', '"n[04-08]"'), "lies partly in another"),
    "no root": (POWER.replace('"n[01-08]"', '"n[01-07]"'), "is not in the largest layer"),
    "leaves of two depths": (POWER + '    - {nodes: ["n[01-02]"], count: 60}\n', "all leaves have the same depth"),
    "an unknown topology": (POWER.replace("topology: B", "topology: NOPE"), "there is no topology NOPE"),
    "an unknown key": (POWER.replace("topology: B", "foo: B"), 'unknown key "foo"'),
    "no list": ("x: y\n", "a list is expected"),
    "a topology in mode 2": (GOOD.replace("MODE_2", "MODE_2\n  topology: B"), "topology is for resources of MODE_3"),
}


def test_bad_files_are_told_and_change_nothing(make_cluster):
    e = small(make_cluster)
    c, file = e.c, e.c.conf.parent / "resources.yaml"
    before = e.ask("scontrol", "show", "licenses")
    for what, (text, sentence) in MISTAKES.items():
        file.write_text(text)
        done = subprocess.run([program("slurmctld"), "--check", "-f", str(c.conf)], capture_output=True, text=True, env=c.env,
                              check=False)
        e.has(what, done.stdout + done.stderr, sentence)
        e.same(f"{what}: --check", done.returncode, 1)
        e.same(f"{what}: reconfigure", e.ask("scontrol", "reconfigure"), "")
        e.has(f"{what}: the log", c.logs("slurmctld"), sentence)
        e.same(f"{what}: the layers", e.ask("scontrol", "show", "licenses"), before)
    assert c.ctld.stop() == 0
    file.write_text(MISTAKES["an unknown topology"][0])
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(c.conf)], capture_output=True, text=True,
                          env=c.daemon_env("slurmctld"), timeout=60, check=False)
    e.same("a start", done.returncode, 1)
    e.same("its sentence", re.findall("there is no topology NOPE", done.stderr)[:1], ["there is no topology NOPE"])
    file.write_text(GOOD.replace("count: 5", "count: 0"))
    c.start_ctld()
    e.same("a layer of nothing", e.one("--resources=s:1"), INVALID)
    e.end()
