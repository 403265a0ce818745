"""What conditions of sacctmgr choose where more than a name is given; answers as Debian's Slurm gave them."""

import pytest

from test_slurmdbd_control import Site


@pytest.fixture
def site(folder):
    with Site(folder) as s:
        for words in ("add cluster c1,c2", "add account top", "add account low parent=top", "add account left,right parent=top",
                      "add user ann account=low", "add federation f1 clusters=c1", "add federation f2 clusters=c2"):
            s.run("sacctmgr", "-i", *words.split())
        yield s


def listed(s, *words):
    return s.run("sacctmgr", "-nP", "list", *words).split()


def test_accounts_of_a_parent(site):
    def delete(*words, **how):
        return site.run("sacctmgr", "-i", "delete", "account", *words, **how)

    def left():
        return listed(site, "assoc", "cluster=c1", "format=account,user")
    everything = left()
    assert delete("where", "parent=nosuch", rc=1) == " Nothing deleted\n"
    assert delete("name=low", "parent=nosuch", rc=1) == " Nothing deleted\n" and left() == everything
    assert delete("name=top", "parent=top", rc=1) == " Nothing deleted\n" and left() == everything
    assert delete("left", "where", "parent=top") == (" Deleting account associations...\n"
                                                      "  C = c1         A = left of top\n"
                                                      "  C = c2         A = left of top\n")
    assert delete("where", "parent=top", "cluster=c1").splitlines()[1:3] == ["  C = c1         A = low of top",
                                                                            "  C = c1         A = right of top"]
    assert left() == ["root|", "root|root", "top|"]
    assert listed(site, "assoc", "cluster=c2", "format=account,user") == ["root|", "root|root", "top|", "low|", "low|ann", "right|"]


def test_an_empty_name_before_clusters(site):
    for words in (["", "cluster=c1"], ["where", "name=", "cluster=c1"], [""]):
        assert "Nothing modified" in site.run("sacctmgr", "-i", "modify", "cluster", *words, "set", "fairshare=7", rc=1)
    assert listed(site, "cluster", "format=cluster,share") == ["c1|1", "c2|1"]
    site.run("sacctmgr", "-i", "modify", "cluster", "c1", "", "set", "fairshare=7")
    assert listed(site, "cluster", "format=cluster,share") == ["c1|7", "c2|1"]


def test_federations_of_a_cluster(site):
    """Slurm fails in its database at the condition: whatever it would choose, no other federation may go."""
    for words in (["f1", "where", "cluster=nosuch"], ["name=f1", "cluster=c2"], ["where", "cluster=c1"]):
        assert site.run("sacctmgr", "-i", "remove", "federation", *words, rc=1) == " Nothing deleted\n"
    assert listed(site, "federation", "format=federation,cluster") == ["f1|c1", "f2|c2"]
    assert site.run("sacctmgr", "-i", "remove", "federation", "f1,f2", "where", "cluster=c2") == " Deleting federations...\n  f2\n"
    assert listed(site, "federation", "format=federation,cluster") == ["f1|c1"]
