"""Three clusters, one slurmdbd, one federation: jobs start once, wherever there is room first, and whoever dies meanwhile."""
import collections
import json
import re

import pytest

from accounting import Sites
from conftest import wait_until
from people import HAVE_PEOPLE, ask_as
from restd import Restd

SHIFT = 26


class Federation(Sites):
    def __init__(self, folder, make_cluster, names=("aa", "bb", "cc"), conf=""):
        super().__init__(folder, make_cluster, names, conf, cpus=2)
        self.runs = folder / "runs"
        self.runs.touch()
        self.list[0].run("sacctmgr", "-i", "add", "federation", "f1", "clusters=" + ",".join(names))
        for c in self.list:
            self.wait_joined(c)

    def wait_joined(self, c, siblings=2):
        """Until c reaches the others, and they have reached c."""
        want = "Recv:Yes/Yes"
        wait_until(lambda: c.run("scontrol", "show", "federation", check=False).out.count(want) == siblings, "the federation meets", 30)

    def submit(self, c, *options, sleep=0):
        """A job that writes a line for each of its runs, with the cluster that ran it."""
        return c.sbatch(*options, wrap=f"echo $SLURM_JOB_ID $SLURM_CLUSTER_NAME >> {self.runs}; sleep {sleep}")

    def started(self):
        """Clusters in which each job started."""
        found = collections.defaultdict(list)
        for line in self.runs.read_text().splitlines():
            job, cluster = line.split()
            found[int(job)].append(cluster)
        return found

    def fill(self, *clusters):
        """All CPUs of these clusters are taken by jobs that no other cluster may run; gives their numbers."""
        jobs = []
        for c in clusters:
            out = c.run("sbatch", "--parsable", "--exclusive", "-J", "filler", "-M", self.name(c), "--wrap", "sleep 600").out
            jobs.append(int(out.split(";")[0]))
            c.wait_state(jobs[-1], "RUNNING")
        return jobs

    def name(self, c):
        return ("aa", "bb", "cc")[self.list.index(c)]


@pytest.fixture
def fed(folder, make_cluster):
    sites = Federation(folder, make_cluster)
    try:
        yield sites
    finally:
        sites.stop()


def queue(c, *options):
    return c.run("squeue", "-h", *options).out.split()


def test_members(fed):
    """Each controller knows the others; one that dies is seen to, and one that comes back."""
    a, b, c = fed.list
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "features=x,y")
    wait_until(lambda: "Features:x,y " in a.run("scontrol", "show", "federation").out, "features are known")
    lines = a.run("scontrol", "show", "federation").out.splitlines()
    port = r"127\.0\.0\.1:\d+"
    for line, want in zip(lines, [r"Federation: f1", rf"Self:       aa:{port} ID:1 FedState:ACTIVE Features:",
                                  rf"Sibling:    bb:{port} ID:2 FedState:ACTIVE Features:x,y PersistConnSend/Recv:Yes/Yes Synced:Yes",
                                  rf"Sibling:    cc:{port} ID:3 FedState:ACTIVE Features: PersistConnSend/Recv:Yes/Yes Synced:Yes"]):
        assert re.fullmatch(want, line), line
    b.kill_ctld()
    wait_until(lambda: re.search(r"bb:.*Send/Recv:No/No Synced:No", a.run("scontrol", "show", "federation").out), "bb is missed", 30)
    fed.dbd.kill()  # the federation needs it to be changed, not to work
    b.start_ctld()
    fed.wait_joined(a)
    fed.wait_joined(b)


def test_numbers(fed):
    """The cluster's number stands above the job's own, and such numbers are understood."""
    a, b, _ = fed.list
    fed.fill(*fed.list)
    first, second = fed.submit(a), fed.submit(b)
    assert first >> SHIFT == 1 and second >> SHIFT == 2
    wait_until(lambda: str(first) in queue(b, "-o", "%i"), "bb has a copy of the job")
    array = a.sbatch("--array=1-2", wrap="true")
    assert array >> SHIFT == 1
    assert queue(a, "-j", str(array), "-o", "%i") == [f"{array}_[1-2]"]
    show = "-O", "Origin:5,OriginRaw:3,SiblingsViable:10,SiblingsActive:10,SiblingsViableRaw:8,SiblingsActiveRaw:6"
    wait_until(lambda: queue(a, "-j", str(first), *show)[3] == "aa,bb,cc", "all have the job")
    assert queue(a, "-j", str(first), *show) == ["aa", "1", "aa,bb,cc", "aa,bb,cc", "1,2,3", "1,2,3"]
    assert queue(a, "-j", str(array), *show) == ["NA"] * 6, "arrays stay where they were submitted to"
    text = a.run("squeue", "--json", "-j", str(first)).out
    assert '"federation_origin": "aa"' in text and '"federation_siblings_viable": "aa,bb,cc"' in text


def test_first_with_room(fed):
    """A job starts in the cluster that has room, once; the others' copies are revoked, and the origin has its end."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    jobs = [fed.submit(a) for _ in range(4)]
    for other in (b, c):
        wait_until(lambda: set(map(str, jobs)) <= set(queue(other, "-o", "%i")), "copies are there")
    assert fed.started() == {}
    c.run("scancel", fillers[2])
    for job in jobs:
        c.wait_state(job, "COMPLETED", timeout=30)
        wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end")
    assert fed.started() == {job: ["cc"] for job in jobs}
    wait_until(lambda: not set(map(str, jobs)) & set(queue(b, "-o", "%i")), "the copies at bb are revoked")
    assert b.job(jobs[0])["JobState"] == "REVOKED" and a.job(jobs[0])["JobState"] == "REVOKED"
    assert c.job(jobs[0])["JobState"] == "COMPLETED"


def test_steering(fed):
    """Hold, release, update, cancel and requeue reach every cluster, wherever they are said."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    job = fed.submit(a, sleep=600)
    wait_until(lambda: str(job) in queue(b, "-o", "%i"), "bb has a copy")
    b.run("scontrol", "hold", job)  # said at a sibling
    wait_until(lambda: a.job(job)["Priority"] == "0" and b.job(job)["Priority"] == "0", "all are held")
    b.run("scancel", fillers[1])
    a.run("scontrol", "update", f"jobid={job}", "timelimit=7", "comment=changed")
    wait_until(lambda: b.job(job)["TimeLimit"] == "00:07:00" and b.job(job)["Comment"] == "changed", "the change came to bb")
    assert fed.started() == {}
    a.run("scontrol", "release", job)
    b.wait_state(job, "RUNNING")
    wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the run")
    assert "JobState=RUNNING" in a.run("scontrol", "-M", "bb", "show", "job", job).out
    a.run("scontrol", "update", f"jobid={job}", "timelimit=9")  # goes to the cluster that has the run
    assert b.job(job)["TimeLimit"] == "00:09:00"
    wait_until(lambda: fed.started()[job] == ["bb"], "its script has begun")
    a.run("scontrol", "requeue", job)
    wait_until(lambda: fed.started()[job] == ["bb", "bb"], "the job runs again", 40)
    wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the second run")
    assert a.job(job)["Restarts"] == "1"
    c.run("scancel", job)  # a cluster whose copy was revoked long ago
    a.run("scancel", job)
    b.wait_state(job, "CANCELLED")
    assert a.job(job)["JobState"] == "CANCELLED"
    pending = fed.submit(a, "--exclusive", "-H")
    wait_until(lambda: str(pending) in queue(c, "-o", "%i"), "cc has a copy")
    c.run("scancel", pending)
    wait_until(lambda: a.job(pending)["JobState"] == "CANCELLED" and c.job(pending)["JobState"] == "REVOKED", "cancelled everywhere")


def test_unknown_here(fed):
    """Jobs that stay in their origin no other cluster has heard of; scancel and scontrol go there by the number."""
    a, b, c = fed.list
    job, array = fed.fill(a)[0], a.sbatch("--array=1-2", wrap="sleep 600")
    assert b.job(job) == {}
    b.run("scontrol", "update", f"jobid={job}", "comment=from-bb")
    assert a.job(job)["Comment"] == "from-bb"
    assert b.run("scancel", job).err == ""
    a.wait_state(job, "CANCELLED")
    assert b.run("scancel", f"{array}_1").err == ""
    wait_until(lambda: a.job(f"{array}_1").get("JobState") == "CANCELLED", "the task is cancelled")
    assert a.job(f"{array}_2")["JobState"] != "CANCELLED"
    assert "Invalid job id specified" in b.refused("scontrol", "hold", (1 << SHIFT) + 999)
    assert "Invalid job id" in b.refused("scontrol", "hold", (9 << SHIFT) + 9)  # a number of no member


def test_choice(fed):
    """Constraints, lists and states say which clusters may run a job."""
    a, b, c = fed.list
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "features=x,y")
    wait_until(lambda: "Features:x,y " in a.run("scontrol", "show", "federation").out, "features are known")
    viable = lambda job: queue(a, "-a", "-t", "all", "-j", str(job), "-O", "SiblingsViable:20")
    one = fed.submit(a, "-H", "--cluster-constraint=x,z")
    assert viable(one) == ["bb"]
    assert queue(a, "-j", str(one)) == [] and queue(a, "--federation", "-j", str(one), "-o", "%i") == []
    assert viable(fed.submit(a, "-H", "--cluster-constraint=!x")) == ["aa,cc"]
    refused = a.refused("sbatch", "--cluster-constraint=nosuch", "--wrap", "true")
    assert "Invalid cluster feature" in refused
    a.run("sacctmgr", "-i", "modify", "cluster", "cc", "set", "fedstate=drain")
    wait_until(lambda: "FedState:DRAIN" in a.run("scontrol", "show", "federation").out, "the state is known")
    job = fed.submit(a, "-H")
    assert viable(job) == ["aa,bb"]
    a.run("scontrol", "update", f"jobid={job}", "ClusterFeatures=y")
    wait_until(lambda: viable(job) == ["bb"], "the constraint changed")
    a.run("scontrol", "update", f"jobid={job}", "ClusterFeatures=", "Clusters=aa")
    wait_until(lambda: viable(job) == ["aa"], "the list changed")
    a.run("scontrol", "release", one)
    b.wait_end(one)
    assert fed.started() == {one: ["bb"]}


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_kills(fed, victim):
    """A controller is killed while jobs are submitted at another: each job runs once, none is lost."""
    home = fed.list[(victim + 1) % 3]
    dying = fed.list[victim]
    jobs = [fed.submit(home) for _ in range(6)]
    jobs += [fed.submit(dying) for _ in range(4)]
    dying.kill_ctld()
    jobs += [fed.submit(home) for _ in range(6)]
    dying.start_ctld()
    jobs += [fed.submit(dying) for _ in range(2)]
    wait_until(lambda: set(fed.started()) == set(jobs), "every job has run", 90)
    wait_until(lambda: not any(queue(c) for c in fed.list), "nothing is left in the queues", 60)
    assert all(len(where) == 1 for where in fed.started().values()), fed.started()


def test_origin_away(fed):
    """Without the origin a sibling starts nothing of it; what runs goes on, and its end is told later."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    running = fed.submit(a, "--cluster-constraint=!none", sleep=5)
    waiting = fed.submit(a, "--exclusive")
    wait_until(lambda: str(waiting) in queue(b, "-o", "%i"), "bb has copies")
    a.run("scontrol", "hold", waiting)
    wait_until(lambda: b.job(waiting)["Priority"] == "0", "bb knows of the hold")
    b.run("scancel", fillers[1])
    b.wait_state(running, "RUNNING")
    wait_until(lambda: a.job(running)["JobState"] == "REVOKED", "the origin knows of the run")
    a.run("scontrol", "release", waiting)
    wait_until(lambda: b.job(waiting)["Priority"] != "0", "bb knows of the release")
    a.kill_ctld()
    b.wait_state(running, "COMPLETED")
    wait_until(lambda: "FedJobLock" in queue(b, "-j", str(waiting), "-o", "%r"), "bb asks in vain", 30)
    assert waiting not in fed.started()
    b.restart_ctld()
    a.start_ctld()
    wait_until(lambda: fed.started()[waiting], "the job runs", 60)
    wait_until(lambda: not queue(a, "-j", f"{running},{waiting}"), "the origin knows of both ends", 30)
    assert {job: len(where) for job, where in fed.started().items()} == {running: 1, waiting: 1}


def test_views(fed):
    """--federation shows the clusters as one, with one record a job; --sibling shows every copy, --local this cluster."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    job = fed.submit(a)
    wait_until(lambda: str(job) in queue(b, "-o", "%i"), "bb has a copy")
    shown = lambda *options, env=None: sorted(a.run("squeue", "-h", "-O", "JobID:12,Cluster:3", *options, env=env).out.splitlines())
    line = lambda number, name: f"{number:<12}{name:<3}"
    assert shown("--federation") == sorted([line(n, x) for n, x in zip(fillers, ("aa", "bb", "cc"))] + [line(job, "aa")])
    assert shown(env={"SQUEUE_FEDERATION": "1"}) == shown("--federation")
    assert len(shown("--sibling")) == 6 and shown(env={"SQUEUE_SIBLING": "1"}) == shown("--sibling")
    assert len(shown()) == 2 and shown("--federation", "--local") == shown() == shown("--federation", env={"SQUEUE_LOCAL": "1"})
    assert a.run("squeue", "--federation", "-j", "99", check=False).rc == 1
    c.run("scontrol", "update", "partitionname=main", "hidden=yes")
    assert len(shown("--federation")) == 4, "root sees what is hidden"
    if HAVE_PEOPLE:
        hers = lambda *options: sorted(ask_as("alice", a, "squeue", "-h", "-O", "JobID:12,Cluster:3", *options).splitlines())
        assert hers("--federation") == sorted([line(fillers[0], "aa"), line(fillers[1], "bb"), line(job, "aa")]), "hidden in cc alone"
        assert len(hers("--sibling")) == 4 and len(hers("--sibling", "-a")) == 6
        assert hers("--federation", "-j", fillers[2]) == [line(fillers[2], "cc")], "a job asked for by its number is shown"
        assert ask_as("alice", c, "squeue", "-h") == ask_as("alice", c, "squeue", "-h", "--federation", "--local") == ""
    c.run("scontrol", "update", "partitionname=main", "hidden=no")
    a.conf.write_text(a.conf.read_text() + "FederationParameters=fed_display\n")
    assert shown() == shown("--federation") and len(shown("--local")) == 2
    c.kill_ctld()
    done = a.run("squeue", "--federation", "-h", "-o", "%i", check=False)
    assert str(fillers[1]) in done.out and "cluster cc" in done.err
    c.start_ctld()


def test_one_sibling_less(fed):
    """scancel --sibling takes a waiting job away from one cluster, wherever it is asked; the last one is not taken."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    job, array = fed.submit(a), a.sbatch("--array=1-2", wrap="true")
    siblings = lambda: queue(a, "-j", str(job), "-O", "SiblingsViable:12,SiblingsActive:12")
    wait_until(lambda: siblings() == ["aa,bb,cc"] * 2, "all have the job")
    assert c.run("scancel", "--sibling=BB", job).out == ""
    wait_until(lambda: siblings() == ["aa,cc"] * 2 and str(job) not in queue(b, "-o", "%i"), "bb has it no more")
    for options, number, why in (("--sibling=bb", job, "Invalid cluster name"), ("--sibling=dd", job, "Invalid cluster name"),
                                 ("--sibling=aa", array, "Not a valid federated job"), ("--sibling=bb", f"{job}.0", "federated job"),
                                 ("--sibling=aa", fillers[0], "no other cluster than aa may run the job: cancel the job")):
        done = a.run("scancel", options, number, check=False)
        assert done.rc and why in done.err, (options, number, done.err)
    assert a.run("scancel", "--sibling=aa", 99).err == ""  # a job that is not there is in no cluster (49-scancel-json-power)
    assert "numbers of jobs alone" in a.refused("scancel", "--sibling=aa", "--me", job)
    b.run("scancel", fillers[1])
    c.run("scancel", fillers[2])
    wait_until(lambda: fed.started()[job] == ["cc"], "the job runs where it may, and not in bb, which is free as well")
    assert a.job(array)["JobState"] == "PENDING"


def test_views_of_nodes(fed):
    """sinfo and scontrol show nodes and partitions of all clusters, each cluster's apart, and say which cannot be asked."""
    a, b, c = fed.list
    b.run("scontrol", "update", "nodename=node1", "state=drain", "reason=fan")
    c.run("scontrol", "update", "partitionname=main", "state=down")
    rows = lambda *options, env=None: [line.split() for line in a.run("sinfo", *options, env=env).out.splitlines()]
    head = "PARTITION CLUSTER AVAIL TIMELIMIT NODES STATE NODELIST".split()
    every = [["main*", "aa", "up", "infinite", "1", "idle", "node1"], ["main*", "bb", "up", "infinite", "1", "drain", "node1"],
             ["main*", "cc", "down", "infinite", "1", "idle", "node1"]]
    assert rows("--federation") == [head] + every == rows(env={"SINFO_FEDERATION": "1"})
    own = [["main*", "up", "infinite", "1", "idle", "node1"]]
    assert rows("-h") == own == rows("-h", "--federation", "--local") == rows("-h", "--federation", env={"SINFO_LOCAL": "1"})
    assert rows("-h", "--federation", "-o", "%D %V") == [["1", "aa"], ["1", "bb"], ["1", "cc"]]
    assert rows("-h", "--federation", "-o", "%D") == [["1"]] * 3, "clusters are not counted together"
    assert rows("-h", "--federation", "-R", "-o", "%E %V") == [["fan", "bb"]]
    assert [row["cluster"] for row in json.loads(a.run("sinfo", "--federation", "--json").out)["sinfo"]] == ["aa", "bb", "cc"]
    assert [row["cluster"] for row in json.loads(a.run("sinfo", "--json").out)["sinfo"]] == [""]

    show = lambda *words, env=None: a.run("scontrol", "show", *words, env=env).out
    states = lambda text: re.findall(r" State=(\S+)", text)
    assert states(show("nodes", "-o", "--federation")) == ["IDLE", "IDLE+DRAIN", "IDLE"]
    assert states(show("node", "node1", "-o", env={"SCONTROL_FEDERATION": "1"})) == ["IDLE", "IDLE+DRAIN", "IDLE"]
    assert states(show("partition", "main", "-o", "--federation")) == ["UP", "UP", "DOWN"]
    assert states(show("nodes", "-o", "--federation", "--local")) == ["IDLE"]
    assert states(show("nodes", "-o", "--federation", env={"SCONTROL_LOCAL": "1"})) == ["IDLE"]
    missing = a.run("scontrol", "show", "node", "node1,nosuch", "-o", "--federation", check=False)
    assert missing.rc == 1 and len(states(missing.out)) == 3 and missing.out.count("Node nosuch not found") == 1
    assert a.run("scontrol", "show", "partition", "nosuch", "--federation", check=False).out == "Partition nosuch not found\n"
    nodes = json.loads(show("nodes", "--json", "--federation"))["nodes"]
    assert [n["cluster_name"] for n in nodes] == ["aa", "bb", "cc"]

    a.conf.write_text(a.conf.read_text() + "FederationParameters=fed_display\n")
    assert rows() == [head] + every and rows("-h", "--local") == own
    c.kill_ctld()
    done = a.run("sinfo", "--federation", check=False)
    assert [line.split() for line in done.out.splitlines()] == [head] + every[:2] and "cluster cc" in done.err
    assert states(a.run("scontrol", "show", "nodes", "-o", check=False).out) == ["IDLE", "IDLE+DRAIN"]
    c.start_ctld()


def test_views_of_jobs(fed):
    """scontrol, sprio and sacct show a job of the federation once, --sibling shows every copy, --local this cluster's."""
    a, b, c = fed.list
    fillers = fed.fill(a, b, c)
    job = fed.submit(b)
    for other in (a, c):
        wait_until(lambda: str(job) in queue(other, "-o", "%i"), "copies are there")
    jobs = lambda *options, env=None: a.run("scontrol", "show", "job", "-o", *options, env=env).out
    ids = lambda *options, env=None: [int(x) for x in re.findall(r"JobId=(\d+)", jobs(*options, env=env))]
    assert sorted(ids("--federation")) == sorted([*fillers, job]) == sorted(ids(env={"SCONTROL_FEDERATION": "1"}))
    assert sorted(ids("--sibling")) == sorted([*fillers, job, job, job]) == sorted(ids(env={"SCONTROL_SIBLING": "1"}))
    assert ids() == [fillers[0], job] == ids("--federation", "--local") == ids("--federation", env={"SCONTROL_LOCAL": "1"})
    assert ids(str(fillers[2]), "--federation") == [fillers[2]]
    assert "Invalid job id" in a.refused("scontrol", "show", "job", "77", "--federation")

    prio = lambda *options, env=None: [line.split() for line in a.run("sprio", "-h", "-o", "%i %c", *options, env=env).out.splitlines()]
    waits = str(job)
    assert prio("--federation") == [[waits, "aa"]] == prio(env={"SPRIO_FEDERATION": "1"})
    assert prio("--sibling") == [[waits, "aa"], [waits, "bb"], [waits, "cc"]] == prio(env={"SPRIO_SIBLING": "1"})
    assert prio("--federation", "--local") == [[waits, "(null)"]] == prio("--federation", env={"SPRIO_LOCAL": "1"})
    assert [line.split()[2] for line in a.run("sprio", "--sibling").out.splitlines()] == ["CLUSTER", "aa", "bb", "cc"]

    acct = lambda *options, env=None: a.run("sacct", "-nPX", "-o", "jobid,cluster,state", *options, env=env).out.splitlines()
    running = [f"{n}|{name}|RUNNING" for n, name in zip(fillers, ("aa", "bb", "cc"))]
    waiting = f"{job}|bb|PENDING"  # it is bb's: the copies of others are not shown
    wait_until(lambda: set(acct("--federation")) == {*running, waiting}, "slurmdbd knows the jobs")
    assert acct("--federation") == acct(env={"SACCT_FEDERATION": "1"})
    assert [x for x in acct() if "RUNNING" in x] == running[:1]
    assert acct() == acct("--federation", "--local") == acct("--federation", env={"SACCT_LOCAL": "1"})
    c.kill_ctld()
    assert prio("--federation") == [[waits, "aa"]]
    c.start_ctld()


def test_rest_names_the_cluster(folder, make_cluster):
    """REST does not go on to another cluster: the answer names the one that decides about the job."""
    fed = Federation(folder, make_cluster, conf="AuthAltTypes=auth/jwt")
    try:
        a, b, c = fed.list
        fillers = fed.fill(a, b, c)
        job = fed.submit(a, sleep=600)
        wait_until(lambda: str(job) in queue(b, "-o", "%i"), "bb has a copy")
        with Restd(b) as rest:
            for body in ({"comment": "x"}, {"hold": True}):
                status, answer = rest.post(f"job/{job}", body)
                assert [e["error"] for e in answer["errors"]] == ["Cluster aa of the federation has this job: ask that cluster"], answer
                assert answer["errors"][0]["error_number"] == 19021
            status, answer = rest.delete("jobs/", body={"jobs": [str(job)]})
            said = [(s["error"]["code"], s["error"]["message"], s["federation"]["sibling"]) for s in answer["status"]]
            assert said == [(19021, "Cluster aa of the federation has this job: ask that cluster", "aa")], answer
        assert a.job(job)["JobState"] == "PENDING" and "Comment" not in a.job(job)
        c.run("scancel", fillers[2])
        c.wait_state(job, "RUNNING")
        wait_until(lambda: a.job(job)["JobState"] == "REVOKED", "the origin knows of the run")
        with Restd(a) as rest:
            status, answer = rest.post(f"job/{job}", {"comment": "x"})
            assert "Cluster cc of the federation" in answer["errors"][0]["error"], answer
            assert rest.delete(f"job/{job}")[0] == 200  # a cancel at the origin reaches the run
        c.wait_state(job, "CANCELLED")
    finally:
        fed.stop()


def test_mail_and_accounts(folder, make_cluster):
    """The cluster that runs a job mails its user and has the record of the run; those whose copies are revoked send nothing."""
    prog, mails = folder / "mailer", folder / "mails"
    prog.write_text(f"#!/bin/sh\necho \"$SLURM_CLUSTER_NAME $SLURM_JOB_ID $SLURM_JOB_MAIL_TYPE\" >> {mails}\n")
    prog.chmod(0o755)
    mails.touch()
    fed = Federation(folder, make_cluster, conf=f"MailProg={prog}")
    try:
        a, b, c = fed.list
        fillers = fed.fill(a, b, c)
        job = fed.submit(a, "--mail-type=ALL")
        for other in (b, c):
            wait_until(lambda: str(job) in queue(other, "-o", "%i"), "copies are there")
        c.run("scancel", fillers[2])
        c.wait_state(job, "COMPLETED")
        for other in (a, b):
            wait_until(lambda: other.job(job)["JobState"] == "REVOKED", "the copies are revoked")
        wait_until(lambda: a.job(job)["EndTime"] != "Unknown", "the origin knows of the end")
        later = []
        for other, filler in zip((a, b), fillers):  # mails of one cluster are sent in their order
            other.run("scancel", filler)
            later.append((fed.name(other), int(other.run("sbatch", "--parsable", "-M", fed.name(other), "--mail-type=END", "--wrap",
                                                         "true").out.split(";")[0])))
        sent = lambda: sorted(mails.read_text().splitlines())
        want = sorted([f"cc {job} Began", f"cc {job} Ended"] + [f"{name} {other} Ended" for name, other in later])
        wait_until(lambda: len(sent()) >= len(want), "the mails are sent", 30)
        assert sent() == want

        acct = lambda *options: a.run("sacct", "-nPX", "-o", "cluster,state", "-j", job, *options).out.split()
        wait_until(lambda: "cc|COMPLETED" in acct("--federation"), "slurmdbd knows of the run")
        wait_until(lambda: acct("-M", "all") == ["aa|REVOKED", "bb|REVOKED", "cc|COMPLETED"], "slurmdbd knows of all")
        assert acct("--federation") == ["cc|COMPLETED"] and acct("--federation", "-D") == acct("-M", "all")
        assert acct() == ["aa|REVOKED"] and acct("-s", "completed,cancelled") == []
        assert acct("-M", "all", "-s", "completed") == ["cc|COMPLETED"]
        assert acct("-M", "all", "-s", "revoked") == ["aa|REVOKED", "bb|REVOKED"]
        assert queue(a, "-t", "RV", "-o", "%i %T") == [str(job), "REVOKED"] and queue(c, "-t", "revoked", "-o", "%i") == []
    finally:
        fed.stop()


def test_leaving(fed):
    """A cluster that leaves keeps its own jobs; copies of others' jobs are revoked there."""
    a, b, c = fed.list
    fed.fill(a, b, c)
    job, own = fed.submit(a, "-H"), fed.submit(b, "-H")
    wait_until(lambda: str(job) in queue(b, "-o", "%i") and str(own) in queue(a, "-o", "%i"), "both have copies")
    a.run("sacctmgr", "-i", "modify", "federation", "f1", "set", "clusters-=bb")
    wait_until(lambda: b.job(job)["JobState"] == "REVOKED" and a.job(own)["JobState"] == "REVOKED", "copies are revoked")
    assert b.run("scontrol", "show", "federation").out == ""
    wait_until(lambda: queue(a, "-j", str(job), "-O", "SiblingsViable:20") == ["aa,cc"], "bb may not run it any more")
    assert fed.submit(b, "-H") >> SHIFT == 0
    b.run("scancel", "-n", "filler")
    b.run("scontrol", "release", own)
    b.wait_end(own)
    assert fed.started() == {own: ["bb"]}


def state_of(c):
    return c.run("sacctmgr", "-n", "-P", "list", "federation", "format=cluster,fedstate").out.split()


def test_drain_and_remove(fed):
    """A cluster in the state DRAIN+REMOVE stays until its jobs are over and the others were told, and leaves then by itself."""
    a, b, c = fed.list
    fed.fill(a, c)
    running = fed.submit(b, sleep=600)
    b.wait_state(running, "RUNNING")
    guest = fed.submit(a, sleep=600)
    b.wait_state(guest, "RUNNING")
    waiting = fed.submit(b, "-H")
    array = b.sbatch("-H", "--array=1-2", wrap="true")  # no job of the federation
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "fedstate=DRAIN+REMOVE")
    wait_until(lambda: "FedState:DRAIN+REMOVE" in b.run("scontrol", "show", "federation").out, "bb knows")
    wait_until(lambda: queue(b, "-a", "-j", str(waiting), "-O", "SiblingsViable:20") == ["aa,cc"], "others may run what waits")
    b.run("scancel", running)
    b.kill_ctld()
    b.start_ctld()
    fed.wait_joined(b)
    assert "bb|DRAIN+REMOVE" in state_of(a), "two jobs are left"
    c.kill_ctld()
    b.run("scancel", waiting)
    b.run("scancel", guest)
    wait_until(lambda: a.job(guest)["JobState"] == "CANCELLED", "the origin knows of the end")
    assert "bb|DRAIN+REMOVE" in state_of(a), "cc does not know of each end"
    fed.dbd.kill()
    c.start_ctld()
    fed.wait_joined(c)
    wait_until(lambda: "Recv:Yes/Yes Synced:No" not in b.run("scontrol", "show", "federation").out, "all is told")
    fed.dbd.start()
    wait_until(lambda: b.run("scontrol", "show", "federation").out == "", "bb has left", 60)
    wait_until(lambda: a.run("scontrol", "show", "federation").out.count("Sibling:") == 1, "the others know")
    assert sorted(state_of(a)) == ["aa|ACTIVE", "cc|ACTIVE"]
    assert b.job(f"{array}_1") or queue(b, "-j", str(array), "-o", "%i"), "what was no job of the federation stays"
    assert fed.submit(b, "-H") >> SHIFT == 0


def test_drain_alone(fed):
    """DRAIN without REMOVE leaves the cluster where it is, and ACTIVE takes REMOVE back."""
    a, b, _ = fed.list
    held = fed.submit(b, "-H")
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "fedstate=DRAIN+REMOVE")
    wait_until(lambda: "FedState:DRAIN+REMOVE" in b.run("scontrol", "show", "federation").out, "bb knows")
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "fedstate=DRAIN")
    wait_until(lambda: "FedState:DRAIN " in b.run("scontrol", "show", "federation").out, "bb knows of that")
    b.run("scancel", held)
    wait_until(lambda: "Synced:No" not in b.run("scontrol", "show", "federation").out, "all is told")
    with pytest.raises(pytest.fail.Exception):
        wait_until(lambda: "bb|DRAIN" not in state_of(a), "bb leaves", 5)


def test_another_number(fed):
    """Clusters that come back under other numbers: old jobs stay where they were submitted to, no job takes another's place,
    and the end of what ran meanwhile is heard."""
    a, b, c = fed.list
    a.run("sacctmgr", "-i", "modify", "cluster", "bb", "set", "features=x")
    wait_until(lambda: "Features:x " in a.run("scontrol", "show", "federation").out, "features are known")
    fed.fill(a, b)
    away = fed.submit(a, sleep=600)  # runs in cc
    c.wait_state(away, "RUNNING")
    wait_until(lambda: a.job(away)["JobState"] == "REVOKED", "the origin knows of the run")
    old = [fed.submit(a, "-H", "--cluster-constraint=!x") for _ in range(3)]  # bb has never heard of them
    wait_until(lambda: all(str(job) in queue(c, "-o", "%i") for job in old), "cc has copies")
    admin = lambda what: a.run("sacctmgr", "-i", "modify", "federation", "f1", "set", what)
    admin("clusters-=aa")
    admin("clusters-=bb")
    wait_until(lambda: c.job(old[0])["JobState"] == "REVOKED", "copies are revoked")
    c.run("scancel", away)
    admin("clusters+=bb")
    admin("clusters+=aa")
    for cluster in fed.list:
        fed.wait_joined(cluster)
    number = lambda name: re.search(rf" {name}:\S+ ID:(\d)", c.run("scontrol", "show", "federation").out).group(1)
    assert (number("aa"), number("bb")) == ("2", "1")
    wait_until(lambda: a.job(away)["JobState"] == "CANCELLED", "aa hears of the end of its old job", 30)
    wait_until(lambda: queue(a, "-j", str(old[0]), "-O", "SiblingsViable:20") == ["aa"], "old jobs stay at home")
    wait_until(lambda: "Synced:No" not in a.run("scontrol", "show", "federation").out, "nothing is tried again and again")
    fresh = []
    while not set(old) & set(fresh):  # bb has the number that aa had: some day a job of bb has the id of one of aa
        fresh.append(fed.submit(b, "-H"))
        assert len(fresh) < 50 and fresh[-1] >> SHIFT == 1
    same = (set(old) & set(fresh)).pop()
    wait_until(lambda: str(same) in queue(c, "-o", "%i"), "cc has bb's job of this number")
    assert a.job(same)["JobState"] == "PENDING" and queue(a, "-j", str(same), "-O", "Origin:5") == ["aa"], "aa's own is as it was"
    a.run("scancel", "-n", "filler")
    for job in old:
        a.run("scontrol", "release", job)
    for job in old:
        a.wait_end(job)
    assert all(fed.started()[job] == ["aa"] for job in old)
    later = fed.submit(a, "-H")
    assert later >> SHIFT == 2
    wait_until(lambda: str(later) in queue(c, "-o", "%i"), "new ones go to the others")
