"""Usage and shares: sshare against figures worked out here, fair-share factors in priorities, decay, billing, resets."""

import json

import pytest

from conftest import let_in, wait_until

CONF = """PriorityWeightFairShare=10000
PriorityWeightQOS=1000
PriorityWeightAssoc=500
PriorityDecayHalfLife={half_life}
AccountingStorageTRES=license/matlab
{more}"""
USERS = {"daemon": ("physics", 10), "bin": ("physics", 1), "nobody": ("chem", 1)}


def make(make_cluster, half_life="0", more="", nodes=2):
    c = make_cluster(nodes=nodes, conf=CONF.format(half_life=half_life, more=more))
    let_in(c.dir / "spool")  # jobs of other users reach it
    for words in (["account", "science", "fairshare=50"], ["account", "ops"],
                  ["account", "physics", "parent=science", "fairshare=30"],
                  ["account", "chem", "parent=science", "fairshare=20"],
                  ["qos", "high", "priority=100"],
                  *(["user", user, f"account={account}", f"fairshare={shares}"]
                    for user, (account, shares) in USERS.items())):
        c.run("sacctmgr", "-i", "add", *words)
    return c


def submit(c, user, *options, wrap="true"):
    return c.sbatch(f"--uid={user}", "-o", "/dev/null", "-D", "/", *options, wrap=wrap)


def shares(c):
    """Rows by (account, user), as numbers."""
    out = c.run("sshare", "-a", "-n", "-P", "-o",
                "account,user,rawshares,normshares,rawusage,effectvusage,fairshare,levelfs,normusage").out
    rows = {}
    for line in out.splitlines():
        account, user, *cells = line.split("|")
        rows[account.strip(), user] = [float(cell) if cell else None for cell in cells]
    return rows


def usage(c, account, user=""):
    return shares(c)[account, user][2]


TREE = {"": [("root", "root"), "ops", "science"], "science": ["chem", "physics"], "ops": [],
        "physics": [("physics", "bin"), ("physics", "daemon")], "chem": [("chem", "nobody")]}


def fair_tree(raw, given):
    """What the fair tree makes of raw usages and shares: rank by LevelFS from the top."""
    def key(node):
        return node if isinstance(node, tuple) else (node, "")

    def level(node, siblings):
        total = sum(raw[key(s)] for s in siblings)
        part = raw[key(node)] / total if total else 0
        return given[key(node)] / sum(given[key(s)] for s in siblings) / part if part else float("inf")

    order = []

    def visit(groups):
        """groups: lists of siblings whose accounts tied: their children are one list."""
        members = [(level(node, siblings), node) for siblings in groups for node in siblings]
        for value in sorted({m[0] for m in members}, reverse=True):
            tied = [node for v, node in members if v == value]
            order.append([node for node in tied if isinstance(node, tuple)])
            kids = [TREE[node] for node in tied if not isinstance(node, tuple) and TREE[node]]
            if kids:
                visit(kids)
    visit([TREE[""]])
    users = sum(len(group) for group in order)
    factors, rank = {}, users
    for group in order:
        for node in group:
            factors[node] = rank / users
        rank -= len(group)
    return factors


def test_fair_tree(make_cluster):
    c = make(make_cluster)
    header = c.run("sshare", "-U", "-u", "daemon").out.splitlines()
    assert header[0] == ("Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare ")
    assert header[1] == "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- "
    assert header[2] == "physics                  daemon         10    0.909091           0      0.000000   1.000000 "
    jobs = [submit(c, "daemon", "-n4", wrap="sleep 3"), submit(c, "bin", wrap="sleep 1"),
            submit(c, "nobody", "-n2", wrap="sleep 2")]
    for job in jobs:
        c.wait_sacct(job, "COMPLETED")
    rows = shares(c)
    raw = {key: row[2] for key, row in rows.items()}
    given = {key: row[0] for key, row in rows.items()}
    for job, key, cpus in zip(jobs, (("physics", "daemon"), ("physics", "bin"), ("chem", "nobody")), (4, 1, 2)):
        elapsed = int(c.sacct("-X", "-j", str(job), "-o", "elapsedraw")[0][0])
        assert (elapsed - 1) * cpus <= raw[key] <= (elapsed + 1) * cpus
    assert abs(raw["physics", ""] - raw["physics", "daemon"] - raw["physics", "bin"]) <= 2
    assert abs(raw["root", ""] - raw["physics", ""] - raw["chem", ""]) <= 2
    wanted = fair_tree(raw, given)
    assert {key: rows[key][4] for key in wanted} == {key: pytest.approx(v, abs=1e-6) for key, v in wanted.items()}
    science = raw["physics", ""] + raw["chem", ""]
    assert rows["physics", ""][1:] == [0.6, raw["physics", ""], pytest.approx(raw["physics", ""] / science, abs=0.05),
                                       None, pytest.approx(0.6 / (raw["physics", ""] / science), abs=0.3),
                                       pytest.approx(raw["physics", ""] / science, abs=0.05)]
    assert rows["root", ""] == [None, 0.0, raw["root", ""], 1.0, None, None, None]
    assert rows["ops", ""][5] == float("inf")

    # The factors act: sprio shows them, and a restart changes nothing.
    c.run("scontrol", "reconfigure")  # priorities are computed anew
    c.run("scontrol", "update", "partitionname=main", "state=down")
    held = {user: submit(c, user) for user in USERS}
    top = submit(c, "nobody")
    factors = dict(line.split() for line in c.run("sprio", "-h", "-o", "%i %F").out.splitlines())
    assert {user: int(factors[str(job)]) for user, job in held.items()} == {
        user: pytest.approx(10000 * wanted[account, user], abs=1) for user, (account, _) in USERS.items()}
    assert int(factors[str(top)]) == int(factors[str(held["nobody"])])
    before = {key: row[2] for key, row in shares(c).items()}
    c.kill_ctld()
    c.start_ctld()
    assert {key: row[2] for key, row in shares(c).items()} == before
    data = json.loads(c.run("sshare", "-a", "--json").out)["shares"]
    assert data["total_shares"] == len(data["shares"]) == len(rows)
    assert [entry["type"] for entry in data["shares"][:2]] == [["ASSOCIATION"], ["USER"]]
    found = next(entry for entry in data["shares"] if entry["name"] == "daemon")
    assert found["parent"] == "physics" and found["usage"] == int(before["physics", "daemon"])
    cpu = next(t for t in found["tres"]["usage"] if t["name"] == "cpu")["value"]
    assert int(cpu) == found["usage"]


def test_running(make_cluster):
    """What runs counts as it runs, and ahead of it until its limit; the classic formula multiplies shares."""
    c = make(make_cluster, more="PriorityFlags=NO_FAIR_TREE")
    job = submit(c, "daemon", "-n4", "-t", "10", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: usage(c, "physics", "daemon") >= 8, "usage of a running job grows")
    run = c.run("sshare", "-n", "-P", "-U", "-u", "daemon", "-o", "tresrunmins").out.strip()
    assert {"cpu=39", "node=9", "billing=39"} <= set(run.split(","))
    c.run("scancel", job)
    c.wait_sacct(job, "CANCELLED")
    row = shares(c)["physics", "daemon"]
    assert row[1] == pytest.approx(50 / 52 * 30 / 50 * 10 / 11, abs=1e-6)  # shares multiply from the top
    assert shares(c)["root", ""][1] == 1.0


def test_decay(make_cluster):
    c = make(make_cluster, half_life="0:2", nodes=1)  # two seconds
    job = submit(c, "daemon", "-n4", wrap="sleep 2")
    c.wait_sacct(job, "COMPLETED")
    most = usage(c, "physics", "daemon")
    assert 2 <= most <= 9  # of 8 CPU-seconds some have decayed already
    wait_until(lambda: usage(c, "physics", "daemon") <= most / 4, "it halves every two seconds")


def test_billing(make_cluster):
    weighted = make_cluster(nodes=1, conf="Licenses=matlab:5",
                            partition="TRESBillingWeights=CPU=1.5,Mem=1.0G,license/matlab=10")
    job = weighted.sbatch("-n1", "--mem=1024M", "-L", "matlab:2", wrap="sleep 1000")
    weighted.wait_state(job, "RUNNING")
    assert "billing=22," in weighted.job(job)["AllocTRES"] + ","  # 1.5 + 1 + 20, cut
    for flag, billing in (("MAX_TRES", 21), ("MAX_TRES_GRES", 21)):
        text = weighted.conf.read_text()
        weighted.conf.write_text("\n".join(line for line in text.splitlines() if not line.startswith("PriorityFlags"))
                                 + f"\nPriorityFlags={flag}\n")
        weighted.run("scontrol", "reconfigure")
        weighted.run("scancel", job)
        weighted.wait_nodes()
        job = weighted.sbatch("-n1", "--mem=1024M", "-L", "matlab:2", wrap="sleep 1000")
        weighted.wait_state(job, "RUNNING")
        assert f"billing={billing}," in weighted.job(job)["AllocTRES"] + ","  # max(1.5, 1) + 20, cut


def test_sshare_mistakes(cluster):
    assert cluster.refused("sshare", "-o", "nosuch") == 'sshare: error: Invalid field requested: "nosuch"\n'
    assert cluster.run("sshare", "--helpformat").out == (
        "Account           Cluster           EffectvUsage      FairShare        \n"
        "GrpTRESMins       GrpTRESRaw        ID                LevelFS          \n"
        "NormShares        NormUsage         Partition         RawShares        \n"
        "RawUsage          TRESRunMins       User             \n")
    assert cluster.run("sshare", "-A", "nosuch").out.count("\n") == 2


def test_reset(make_cluster):
    """RawUsage=0 forgets what a user, or an account with all below it, has used; what others used stays."""
    c = make(make_cluster)
    for job in [submit(c, "daemon", wrap="sleep 2"), submit(c, "bin", wrap="sleep 2"), submit(c, "nobody", wrap="sleep 2")]:
        c.wait_sacct(job, "COMPLETED")
    before = {key: row[2] for key, row in shares(c).items()}
    assert min(before["physics", "daemon"], before["physics", "bin"], before["chem", "nobody"]) > 0
    c.run("sacctmgr", "-i", "modify", "user", "daemon", "where", "account=physics", "set", "rawusage=0")
    assert (usage(c, "physics", "daemon"), usage(c, "physics", "bin")) == (0, before["physics", "bin"])
    c.run("sacctmgr", "-i", "modify", "account", "physics", "set", "rawusage=0")
    assert (usage(c, "physics", "bin"), usage(c, "physics"), usage(c, "chem", "nobody")) == (0, 0, before["chem", "nobody"])
    done = c.run("sacctmgr", "-i", "modify", "account", "chem", "set", "rawusage=5", check=False)
    assert done.rc == 1 and usage(c, "chem", "nobody") == before["chem", "nobody"]


def test_first_priority_knows_what_was_just_changed(make_cluster):
    """A job that follows a change of sacctmgr at once has its QOS's and association's priority from the start."""
    c = make(make_cluster)
    full = c.sbatch("-N2", "--exclusive", "-A", "physics", wrap="sleep 1000")
    c.wait_state(full, "RUNNING")
    for i in range(6):
        priority = 20 + 20 * (i % 2)  # of the 100 that `high` has
        c.run("sacctmgr", "-i", "add", "qos", f"q{i}", f"Priority={priority}")
        c.run("sacctmgr", "-i", "modify", "account", "physics", "set", f"QOS+=q{i}")
        job = c.sbatch("-A", "physics", "--qos", f"q{i}", "-n1", wrap="true")
        shown = wait_until(lambda: c.run("sprio", "-h", "-j", str(job), "-o", "%Q").out.strip(), "the job is looked at")
        assert int(shown) == 10 * priority, i
