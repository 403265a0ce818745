"""sacctmgr on a real cluster: accounts, users, QOS and what becomes of them; errors; a restart."""

import shutil

import pytest

from conftest import wait_until

CONF = "AccountingStorageTRES=gres/gpu,license/matlab"


def mgr(c, *words, check=True, input=None):
    return c.run("sacctmgr", *words, check=check, input=input)


def rows(c, *words):
    out = mgr(c, "-nP", *words).out
    return [line.split("|") for line in out.splitlines()]


@pytest.fixture
def tree(make_cluster):
    cluster = make_cluster(nodes=1, conf=CONF)
    for words in (["account", "science", "fairshare=50"], ["account", "physics,chem", "parent=science"],
                  ["user", "alice", "account=physics,chem", "defaultaccount=chem"], ["qos", "high", "priority=100"]):
        mgr(cluster, "-i", "add", *words)
    return cluster


def assoc(c, user, fields):
    found = rows(c, "list", "assoc", f"user={user}", "account=physics", f"format={fields}")
    assert len(found) == 1
    return found[0]


def test_limits_are_inherited_and_cleared(tree):
    mgr(tree, "-i", "modify", "account", "science", "set", "maxjobs=5", "maxtres=cpu=8,mem=4G", "grptres=gres/gpu=2")
    assert assoc(tree, "alice", "maxjobs,maxtres,grptres") == ["5", "cpu=8,mem=4G", ""]
    mgr(tree, "-i", "modify", "user", "alice", "where", "account=physics", "set", "maxtres=cpu=2", "grpwall=1-0")
    assert assoc(tree, "alice", "maxtres,grpwall") == ["cpu=2,mem=4G", "1-00:00:00"]
    mgr(tree, "-i", "modify", "user", "alice", "where", "account=physics", "set", "maxtres=cpu+=3,mem-=1G")
    assert assoc(tree, "alice", "maxtres")[0] == "cpu=5,mem=0"
    mgr(tree, "-i", "modify", "user", "alice", "where", "account=physics", "set", "maxtres=cpu+=1")
    assert assoc(tree, "alice", "maxtres")[0] == "cpu=6,mem=0"
    mgr(tree, "-i", "modify", "user", "alice", "where", "account=physics", "set", "maxtres=cpu=-1,mem=-1", "grpwall=-1")
    assert assoc(tree, "alice", "maxtres,grpwall") == ["cpu=8,mem=4G", ""]


def test_no_partition_is_a_condition(tree):
    """partition= chooses associations that name none, partition=a,b those of a and b."""
    c = tree
    mgr(c, "-i", "add", "account", "parts")
    mgr(c, "-i", "add", "user", "daemon", "account=parts", "partition=main")
    mgr(c, "-i", "add", "user", "daemon", "account=parts")

    def listed(*where):
        return mgr(c, "-nP", "list", "assoc", "user=daemon", "account=parts", "format=partition,maxjobs", *where).out.split()
    assert sorted(listed()) == ["main|", "|"] and listed("partition=") == ["|"] and listed("partition=main") == ["main|"]
    mgr(c, "-i", "modify", "user", "daemon", "where", "partition=", "account=parts", "set", "maxjobs=7")
    assert sorted(listed()) == ["main|", "|7"]


def test_qos_lists(tree):
    mgr(tree, "-i", "modify", "account", "science", "set", "qos+=high")
    assert assoc(tree, "alice", "qos")[0] == "high,normal"
    mgr(tree, "-i", "modify", "user", "alice", "set", "qos-=normal", "defaultqos=high")
    assert assoc(tree, "alice", "qos,defaultqos") == ["high", "high"]
    done = mgr(tree, "-i", "modify", "user", "alice", "set", "qos=normal", check=False)
    assert done.rc == 1 and "default qos" in done.err
    assert assoc(tree, "alice", "qos")[0] == "high"
    done = mgr(tree, "-i", "delete", "qos", "high", check=False)
    assert (done.rc, done.out) == (1, "") and done.err.splitlines()[0] == " Associations listed below have these as their Default QOS."
    assert assoc(tree, "alice", "qos,defaultqos") == ["high", "high"]
    mgr(tree, "-i", "modify", "user", "alice", "set", "defaultqos=-1")
    mgr(tree, "-i", "delete", "qos", "high")
    assert assoc(tree, "alice", "qos,defaultqos") == ["", ""]


def test_set_is_no_name(tree):
    """As people write it, `set` between what is added and what it has."""
    for words in (["qos", "slow", "set", "priority=3"], ["account", "law", "set", "description=x"], ["user", "bob", "set", "account=law"]):
        mgr(tree, "-i", "add", *words)
    assert [["slow", "3"]] == rows(tree, "list", "qos", "slow", "format=name,priority")
    for entity, name in (("qos", "name"), ("account", "account"), ("user", "user")):
        assert ["set"] not in rows(tree, "list", entity, f"format={name}")


def test_questions(tree):
    said = mgr(tree, "add", "account", "temp", input="n\n")
    assert "(N/y): \n Changes Discarded" in said.out and not rows(tree, "list", "account", "temp")
    mgr(tree, "add", "account", "temp", input="y\n")
    assert rows(tree, "list", "account", "temp", "format=account,org") == [["temp", "temp"]]
    read_only = mgr(tree, "-r", "-i", "delete", "account", "temp", check=False)
    assert read_only.rc == 1 and rows(tree, "list", "account", "temp")


def test_prompt(tree):
    said = mgr(tree, "-n", "-P", input='list account science format=account\nadd account "a b"\nquit\n', check=False)
    assert "sacctmgr: list account science format=account\nscience\n" in said.out


@pytest.mark.parametrize("words, text", [
    (["add", "account", "x", "parent=nowhere"], "No parent account 'nowhere' on cluster"),
    (["add", "user", "x"], "Need name of account or wckey to add"),
    (["add", "qos", "x", "maxwall=abc"], "Bad MaxWall time format: maxwall=abc"),
    (["add", "qos", "x", "grptres=foo=1"], "no TRES known by type foo"),
    (["modify", "user", "alice", "set", "qos=nosuch"], "You gave a bad qos 'nosuch'"),
    (["modify", "user", "alice", "set", "maxjobs+=1"], "Invalid operator '+='"),
    (["delete", "account"], "No conditions given"),
    (["delete", "user", "alice", "where", "account=chem"], "You can not remove the default account of a user"),
    (["modify", "qos", "high", "set", "preempt=high"], "Preemption loop"),
    (["list", "user", "format=foo"], "Unknown field 'foo'"),
    (["list", "nosuch"], "No valid entity in list command"),
    (["nosuch"], "invalid keyword: nosuch"), (["version", "x"], "too many arguments for version keyword"),
])
def test_mistakes(tree, words, text):
    before = mgr(tree, "-nP", "list", "assoc").out + mgr(tree, "-nP", "list", "qos").out
    done = mgr(tree, "-i", *words, check=False)
    assert done.rc == 1 and text in done.err
    assert mgr(tree, "-nP", "list", "assoc").out + mgr(tree, "-nP", "list", "qos").out == before


def test_restart_keeps_everything(tree):
    mgr(tree, "-i", "modify", "user", "alice", "set", "maxjobs=3", "fairshare=parent")
    mgr(tree, "-i", "delete", "account", "physics")
    before = mgr(tree, "-nP", "list", "assoc").out
    tree.kill_ctld()
    tree.start_ctld()
    assert mgr(tree, "-nP", "list", "assoc").out == before
    assert "parent" in before and "physics" not in before
    actions = [row[0] for row in rows(tree, "list", "transactions", "format=action")]
    assert actions.count("Remove Accounts") == 1 and "Modify Associations" in actions
    assert rows(tree, "list", "transactions", "user=alice", "action=add users", "format=where") == [["alice"]]


def test_jobs_hold_their_account(tree):
    mgr(tree, "-i", "add", "user", "root", "account=physics")
    job = tree.sbatch("-A", "physics", "--hold", wrap="true")
    tree.wait_sacct(job, "PENDING", "State")
    done = mgr(tree, "-i", "delete", "account", "physics", check=False)
    assert done.rc == 1 and "Job(s) active, cancel job(s) before remove" in done.err and f"JobID = {job}" in done.err
    tree.run("scancel", job)
    tree.wait_end(job)
    tree.wait_sacct(job, "CANCELLED", "State")
    mgr(tree, "-i", "delete", "account", "physics")


def test_resources_and_wckeys(tree):
    name = rows(tree, "list", "cluster", "format=cluster")[0][0]
    mgr(tree, "-i", "add", "resource", "fluent@lic1", "count=50", f"cluster={name}", "allowed=40")
    over = mgr(tree, "-i", "modify", "resource", "fluent@lic1", "where", f"cluster={name}", "set", "allowed=140", check=False)
    assert over.rc == 1 and "more than 100%" in over.err
    assert rows(tree, "list", "resource", "withclusters", "format=name,server,count,allocated,cluster,allowed") == [
        ["fluent", "lic1", "50", "40", name, "40"]]
    mgr(tree, "-i", "add", "user", "alice", "account=chem", "wckeys=w1,w2", check=False)
    mgr(tree, "-i", "delete", "resource", "fluent")
    assert rows(tree, "list", "resource") == []


def test_dump_and_load(tree):
    name = rows(tree, "list", "cluster", "format=cluster")[0][0]
    mgr(tree, "-i", "modify", "account", "science", "set", "qos+=high", "grptres=gres/gpu=3,mem=4G", "maxwall=1-0")
    mgr(tree, "-i", "modify", "user", "alice", "set", "fairshare=parent", "adminlevel=operator")
    mgr(tree, "-i", "add", "coordinator", "account=science", "names=alice")
    mgr(tree, "-i", "add", "qos", "low", "preempt=high", "usagefactor=0.5", "gracetime=10")
    mgr(tree, "-i", "modify", "account", "chem", "set", "flags=UsersAreCoords", "comment=it is: 'late'")

    def everything():
        return [mgr(tree, "-nP", "list", *words).out for words in (
            ["assoc"], ["qos"], ["account", "withcoord"], ["user", "withcoord"], ["assoc", "format=account,user,comment"],
            ["account", "format=account,flags"])]
    before = everything()
    mgr(tree, "dump", name, "file=all.cfg")
    mgr(tree, "-i", "delete", "account", "science,physics,chem")
    mgr(tree, "-i", "delete", "user", "alice")
    mgr(tree, "-i", "delete", "qos", "high,low")
    assert everything() != before
    mgr(tree, "-i", "load", "file=all.cfg")
    assert everything() == before
    mgr(tree, "-i", "load", "all.cfg", "clean")
    assert everything() == before


OLD_FILE = """# as release 22.05 writes them
Cluster - '{name}':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'bio':Description='biology':Organization='uni':Fairshare=20:GrpTRES=cpu=64,gres/gpu:a100=4:MaxSubmitJobs=10
Parent - 'bio'
Account - 'cell':Description='cells':Organization='bio':Fairshare=parent:MaxTRESMinsPerJob=cpu=600:GrpTRESRunMins=cpu=60
User - 'erin':DefaultAccount='bio':Coordinator='bio,cell':Fairshare=5:MaxJobs=4:MaxWallDurationPerJob=120
Parent - 'cell'
User - 'erin':Fairshare=1:MaxTRESPerJob=node=2,mem=2048M:DefaultQOS='normal':QOS='+normal'
User - 'frank':Partition='debug':DefaultAccount='cell':Fairshare=2147483647
"""


def test_a_file_of_22_05(make_cluster):
    c = make_cluster(nodes=1, conf="AccountingStorageTRES=gres/gpu:a100")
    name = rows(c, "list", "cluster", "format=cluster")[0][0]
    (c.work / "old.cfg").write_text(OLD_FILE.format(name=name))
    mgr(c, "-i", "load", "old.cfg")
    assert rows(c, "list", "assoc", "account=bio,cell", "format=account,user,partition,share,grptres,maxjobs,maxtres,maxwall") == [
        ["bio", "", "", "20", "cpu=64,gres/gpu:a100=4", "", "", ""],
        ["bio", "erin", "", "5", "", "4", "", "02:00:00"],
        ["cell", "", "", "parent", "", "", "", ""],
        ["cell", "erin", "", "1", "", "", "mem=2G,node=2", ""],
        ["cell", "frank", "debug", "parent", "", "", "", ""]]
    assert rows(c, "list", "user", "erin", "withcoord", "format=user,defaultaccount,coord") == [["erin", "bio", "bio,cell"]]
    before = mgr(c, "-nP", "list", "assoc").out
    (c.work / "bad.cfg").write_text(OLD_FILE.format(name=name) + "User - 'gil':Fairshare=1:Nonsense=2\n")
    done = mgr(c, "-i", "load", "bad.cfg", check=False)
    assert done.rc == 1 and "Unknown option: Nonsense=2" in done.err and "Problem with line(12)" in done.err
    assert mgr(c, "-nP", "list", "assoc").out == before


def test_notes_on_finished_jobs(tree):
    job = tree.sbatch(wrap="true")
    tree.wait_sacct(job, "COMPLETED", "State")
    said = mgr(tree, "-i", "modify", "job", "where", f"jobid={job}", "set", "derivedexitcode=5", "comment=edited",
               "systemcomment=why not", "admincomment=a=b", "tres=energy=1234")
    assert said.out.startswith(f" Modified jobs...\n  {job} submitted at ")
    fields = tree.sacct("-X", "-j", job, "-o", "derivedexitcode,comment,systemcomment,admincomment,alloctres")[0]
    assert fields[:4] == ["0:5", "edited", "why not", "a=b"] and "energy=1234" in fields[4] and "cpu=" in fields[4]
    assert mgr(tree, "-i", "modify", "job", "where", "jobid=99", "set", "comment=x", check=False).rc == 1
    held = tree.sbatch("--hold", wrap="true")
    tree.wait_sacct(held, "PENDING", "State")
    done = mgr(tree, "-i", "modify", "job", held, "set", "comment=x", check=False)
    assert done.rc == 1 and "is not over" in done.err


def test_runaway_jobs(tree):
    assert "No runaway jobs found" in mgr(tree, "list", "runawayjobs").out
    job = tree.sbatch("--hold", wrap="true")
    tree.wait_sacct(job, "PENDING", "State")
    assert "No runaway jobs found" in mgr(tree, "list", "runawayjobs").out
    tree.kill_ctld()
    shutil.rmtree(next(path for path in tree.dir.rglob("journal") if path.is_dir()))  # the log is lost
    tree.start_ctld()
    said = mgr(tree, "list", "runawayjobs", input="n\n").out
    assert f"\n{job} " in said and "Changes Discarded" in said
    mgr(tree, "-i", "list", "runawayjobs", "set", "endstate=failed")
    assert tree.sacct("-X", "-j", job, "-o", "state,end")[0][0] == "FAILED"
    assert "No runaway jobs found" in mgr(tree, "list", "runawayjobs").out


def test_wckeys_of_jobs(make_cluster):
    """Without slurmdbd: the key that a job names is listed once it has started."""
    c = make_cluster(nodes=1, conf="TrackWCKey=yes")
    c.sbatch("--hold", "--wckey=held", "-o", "/dev/null", wrap="true")
    c.sbatch("--wckey=zz", "-o", "/dev/null", wrap="true")
    wait_until(lambda: ["zz"] in rows(c, "list", "wckey", "format=wckey"), "the key of the job")
    assert ["held"] not in rows(c, "list", "wckey", "format=wckey")


def test_preempt_modes(tree):
    """Each word of a QOS's PreemptMode comes back as it was set, alone and together, and from a dump."""
    words = ["suspend", "requeue", "cancel", "gang", "within", "priority"]
    for word in [*words, "within,requeue", "cluster"]:
        mgr(tree, "-i", "modify", "qos", "high", "set", f"preemptmode={word}")
        shown, = rows(tree, "list", "qos", "high", "format=preemptmode")[0]
        assert set(shown.split(",")) == set(word.split(",")), (word, shown)
    mgr(tree, "-i", "modify", "qos", "high", "set", "preemptmode=cancel,within")
    tree.run("sacctmgr", "dump", "test", f"file={tree.work}/dump")
    assert "PreemptMode='CANCEL,WITHIN'" in (tree.work / "dump").read_text()
    mgr(tree, "-i", "modify", "qos", "high", "set", "preemptmode=cluster")
    tree.run("sacctmgr", "dump", "test", f"file={tree.work}/dump2")
    assert "PreemptMode" not in (tree.work / "dump2").read_text()
    assert "preemptmode" in mgr(tree, "-i", "modify", "qos", "high", "set", "preemptmode=sometimes", check=False).err.lower()
