"""Names of sacctmgr that no other test gives: columns with their headings and widths, which the page lists, and conditions and
switches of lists."""

import json

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 1, "conf": "AccountingStorageEnforce=associations"}

# entity, name of the column, heading, width
COLUMNS = [
    ("cluster", "Classification", "Class", 9), ("cluster", "ClusterNodes", "Cluster Nodes", 20),
    ("cluster", "ControlHost", "ControlHost", 15), ("cluster", "ControlPort", "ControlPort", 12),
    ("cluster", "CPUCount", "CPU Cnt", 7), ("cluster", "NodeCount", "NodeCount", 9), ("cluster", "RPC", "RPC", 5),
    ("cluster", "FedState", "FedState", 12), ("event all_time", "EventRaw", "EventRaw", 8),
    ("event all_time", "StateRaw", "StateRaw", 8), ("event all_time", "TimeStart", "TimeStart", 19),
    ("event all_time", "TimeEnd", "TimeEnd", 19), ("association", "DefQOS", "Def QOS", 9),
    ("association", "QOS_RAW", "QOS_RAW", 10), ("association", "QOSRAWID", "QOS_RAW", 10),
    ("user", "DefAcct", "Def Acct", 10), ("instance", "InstanceType", "InstanceType", 20),
    ("instance", "InstanceId", "InstanceId", 20),
]


@pytest.fixture(scope="module")
def site(shared):
    """Accounts above each other, users with limits and without, a QOS that one user has by default."""
    c = shared
    for words in ("add qos high", "add qos least MinCPUsPerJob=2 MinNodesPerJob=3", "add qos most MaxCPUsPerUser=3 MaxNodesPerUser=4",
                  "add account top", "add account sub parent=top MaxJobs=7", "add account gone parent=top",
                  "add user ann account=sub", "modify user ann set qos+=high", "modify user ann set defaultqos=high",
                  "add user ben account=top", "add user ben account=sub partition=main", "add coordinator account=sub names=ben",
                  "delete account gone"):
        c.run("sacctmgr", "-i", *words.split())
    return c


def rows(c, *words):
    return c.run("sacctmgr", "-n", "-P", "list", *words).out.splitlines()


@pytest.mark.parametrize("entity,name,heading,width", COLUMNS)
def test_columns(site, entity, name, heading, width):
    head, line = site.run("sacctmgr", "list", *entity.split(), f"format={name}").out.splitlines()[:2]
    assert (head, line) == (f"{heading:>{width}} ", "-" * width + " ")


def test_values_of_columns(site):
    assert rows(site, "user", "ann", "format=DefAcct") == ["sub"]
    assert rows(site, "association", "users=ann", "format=DefQOS,QOS") == ["high|high,normal"]
    assert rows(site, "cluster", "format=ControlHost,ControlPort") == [f"127.0.0.1|{site.port}"]


def test_conditions_of_associations(site):
    """Which rows they choose: account|user|partition."""
    def chosen(*words):
        return rows(site, "association", *words, "format=account,user,partition")
    assert chosen("Clusters=nosuch") == [] and "sub|ann|" in chosen("Clusters=test")
    assert chosen("Partitions=main") == ["sub|ben|main"]
    assert chosen("DefQOS=high") == ["sub|ann|"]
    assert chosen("Parents=top") == ["sub||"]
    assert sorted(chosen("OnlyDefaults", "users=ben")) == ["top|ben|"]
    assert "sub||" in chosen("accounts=top", "WithSubAccounts") and "sub||" not in chosen("accounts=top")


def test_switches_of_associations(site):
    def shown(*words, fields):
        return rows(site, "association", *words, "accounts=sub", "users=ann", f"format={fields}")
    assert rows(site, "association", "Tree", "format=account,user")[:2] == ["root|", " root|root"]
    assert rows(site, "association", "accounts=sub", "users=", "format=account,maxjobs")[0] == "sub|7"
    names = shown(fields="qos")
    heading = site.run("sacctmgr", "-P", "list", "association", "WOLimits", "users=ann").out.splitlines()[0]
    assert heading == "Cluster|Account|User|Partition"
    assert names == ["high,normal"] and shown("WOPInfo", fields="qos") == shown("WOPLimits", fields="qos") == ["+high"]


def test_switches_of_other_lists(site):
    assert rows(site, "account", "sub", "WithAssoc", "format=account,user") == ["sub|", "sub|ann", "sub|ben"]
    assert rows(site, "account", "sub", "WithCoordinators", "format=account,coord") == ["sub|ben"]
    assert rows(site, "cluster", "WithFed", "format=cluster,federation") == ["test|"]
    assert rows(site, "resource", "WithClusters") == rows(site, "resource", "Servers=nosuch") == []
    assert site.refused("sacctmgr", "list", "cluster", "Classification=x").startswith(" Bad Classification value: x")
    assert {row.split("|")[0] for row in rows(site, "transaction", "Actors=root", "format=actor,action")} == {"root"}
    assert rows(site, "transaction", "Actors=nosuch") == []


def test_limits_of_a_qos_by_older_names(site):
    assert rows(site, "qos", "least", "format=mintres") == ["cpu=2,node=3"]
    assert rows(site, "qos", "most", "format=maxtrespu") == ["cpu=3,node=4"]


def test_events(site):
    node = site.node_names[0]
    site.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=dusty")
    site.run("scontrol", "update", f"nodename={node}", "state=resume")
    words = ("event", "All_Time", "nodes=" + node, "Reasons=dusty", "format=nodename,reason,stateraw")
    found = wait_until(lambda: rows(site, *words), "the event is stored")
    assert all(row.startswith(f"{node}|dusty|") for row in found)
    assert rows(site, "event", "All_Time", "Reasons=nosuch") == []
    assert rows(site, "event", "All_Clusters", "All_Time", "Reasons=dusty", "format=nodename") == [node] * len(found)


def test_registered_resources(site):
    """What the nodes have is shown of events and of the cluster, in JSON every resource that is tracked."""
    n = len(site.node_names)
    wait_until(lambda: rows(site, "cluster", "format=nodecount") == [str(n)], "the nodes are stored")
    tres = dict(item.split("=") for item in rows(site, "cluster", "format=tres")[0].split(","))
    assert tres["node"] == str(n) and tres["cpu"] == rows(site, "cluster", "format=cpucount")[0] and int(tres["cpu"]) >= n
    assert rows(site, "event", "all_clusters", "event=cluster", "format=tres,clusternodes") == rows(site, "cluster", "format=tres,clusternodes")
    listed = json.loads(site.run("sacctmgr", "show", "cluster", "--json").out)["clusters"][0]["tres"]
    counts = {(one["type"], one["name"]): one["count"] for one in listed}
    assert counts["cpu", ""] == int(tres["cpu"]) and counts["energy", ""] == counts["fs", "disk"] == 0


def test_words_of_the_prompt(site):
    def typed(*lines):
        return site.run("sacctmgr", input="".join(f"{line}\n" for line in lines), check=False)
    assert typed("readonly", "add qos never").err == "Can't run this command in readonly mode.\n"
    helped = typed("help", "quit").out
    assert all(f"\n  {word} " in helped for word in ("archive", "oneliner", "quiet", "readonly", "verbose"))
    assert typed("oneliner", "quiet", "verbose", "list qos most format=name", "quit").out.count("most") == 2
    assert rows(site, "qos", "never", "format=name") == []


def test_an_account_without_a_name(site):
    """No association is for it (recorded in 48 of an update); without --account the user has a default."""
    why = "Invalid account or account/partition combination specified\n"
    assert site.refused("sbatch", "-A", "", "--wrap=true") == f"sbatch: error: Batch job submission failed: {why}"
    assert site.refused("salloc", "-A", "", "true").endswith(why) and site.refused("srun", "-A", "", "true").endswith(why)
    site.run("scancel", site.sbatch("--hold", wrap="true"))


def test_instances(site):
    """What machines a node ran on, from when to when; a change of id, type or extra begins another period."""
    node = site.node_names[0]
    fields = "format=cluster,nodename,instanceid,instancetype,extra"

    def change(*words):
        site.run("scontrol", "update", f"nodename={node}", *words)
    change("instanceid=i-1", "instancetype=t3", "extra=a=b")
    change("instanceid=i-2")
    change("instanceid=", "extra=")
    wait_until(lambda: rows(site, "instance", f"nodes={node}", fields) == [
        f"test|{node}|i-1|t3|a=b", f"test|{node}|i-2|t3|a=b", f"test|{node}||t3|"], "all three are stored")
    assert rows(site, "instance", "instanceid=i-1", "format=nodename") == [node]
    assert len(rows(site, "instance", "instancetype=t3")) == 3
    assert rows(site, "instance", "extra=a=b", "instanceid=i-2", "format=extra") == ["a=b"]
    assert rows(site, "instance", "extra=nosuch") == rows(site, "instance", "start=now+1day", "end=now+2days", "instanceid=i-1") == []
    (first,), (second,) = (rows(site, "instance", f"instanceid={i}", "format=start,end") for i in ("i-1", "i-2"))
    assert first.split("|")[1] == second.split("|")[0]
    last = rows(site, "instance", "format=end")[-1]
    change("instancetype=")
    wait_until(lambda: rows(site, "instance", "format=end")[-1] != last, "the last one is over")


def test_user_of_accounts(site):
    """user= with accounts means that user's associations there, not the accounts."""
    site.run("sacctmgr", "-i", "add", "user", "cat", "account=top,sub")
    done = site.run("sacctmgr", "-i", "modify", "account", "where", "account=sub", "user=cat", "set", "maxjobs=3")
    assert done.out == " Modified account associations...\n  C = test       A = sub                  U = cat      \n"
    assert rows(site, "association", "account=sub", "user=cat,ann", "format=user,maxjobs") == ["ann|7", "cat|3"]
    assert site.run("sacctmgr", "-i", "delete", "account", "where", "account=sub", "user=nosuch", check=False).out == " Nothing deleted\n"
    done = site.run("sacctmgr", "-i", "delete", "account", "where", "account=sub", "user=cat")
    assert done.out == " Deleting account associations...\n  C = test       A = sub        U = cat      \n"
    assert rows(site, "association", "user=cat", "format=account") == ["top"]
    assert rows(site, "account", "sub", "format=account") == ["sub"]
