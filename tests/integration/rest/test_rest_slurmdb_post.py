"""POST and DELETE of /slurmdb/: what is sent back unchanged changes nothing; what differs is changed; refusals as recorded."""

import copy
import json
import re
import time

import pytest

from conftest import SLOW
from restd import Restd, V

DB = f"/slurmdb/{V}/"
CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt\nAccountingStorageTRES=gres/gpu\nAccountingStorageEnforce=limits"}
INFINITE = {"set": False, "infinite": True, "number": 0}


def number(n):
    return {"set": True, "infinite": False, "number": n}


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


@pytest.fixture
def store(rest, shared):
    """Some of everything; gone again afterwards."""
    for words in (["qos", "high", "priority=100", "maxtresperuser=cpu=8,gres/gpu=2", "flags=DenyOnLimit", "preempt=normal",
                   "gracetime=30", "usagefactor=0.5", "maxwall=60", "preemptmode=cancel"],
                  ["account", "science", "fairshare=50", "grptres=cpu=64,mem=100G", "maxjobs=10"],
                  ["account", "physics", "parent=science", "description=physics", "organization=science"],
                  ["user", "bin", "account=physics", "fairshare=10", "wckey=wa", "qos=normal,high", "defaultqos=high"],
                  ["user", "sys", "account=science,physics", "adminlevel=operator"], ["coord", "account=physics", "names=sys"]):
        shared.run("sacctmgr", "-i", "add", *words)
    yield rest
    shared.run("sacctmgr", "-i", "delete", "user", "bin,sys,games,news", check=False)
    shared.run("sacctmgr", "-i", "delete", "account", "physics,science,chem,bio", check=False)
    shared.run("sacctmgr", "-i", "delete", "qos", "high,fast,slow", check=False)


def txns(shared):
    return len(shared.run("sacctmgr", "-nP", "list", "transactions").out.splitlines())


def done(answered, **keys):
    status, answer = answered
    assert (status, answer["errors"], answer["warnings"]) == (200, [], []), answer
    for key, value in keys.items():
        assert answer[key] == value
    return answer


@pytest.mark.parametrize("path, query", [
    ("accounts/", ""), ("accounts/", "?with_assocs&with_coords"), ("users/", ""), ("users/", "?with_assocs&with_coords&with_wckeys"),
    ("associations/", ""), ("qos/", ""), ("clusters/", ""), ("wckeys/", ""), ("tres/", ""), ("config", "")])
def test_round_trip(store, shared, path, query):
    """What one GETs is taken back, whole with meta, and nothing is changed by it."""
    before, was = txns(shared), done(store.get(DB + "config"))
    answer = done(store.get(DB + path + query))
    taken = done(store.post(DB + path, answer))
    assert list(taken) == ["errors", "warnings", "meta"]
    assert txns(shared) == before
    now = done(store.get(DB + "config"))
    was.pop("meta"), now.pop("meta")
    assert now == was


def test_restored(store, shared):
    """/config put into a store that lost everything makes the same records again, under other numbers."""
    def records():
        answer = done(store.get(DB + "config"))
        for key in ("meta", "errors", "warnings"):
            answer.pop(key)
        text = json.dumps(answer)
        return json.loads(re.sub(r'"id": \d+', '"id": 0', text))

    was, sent = records(), done(store.get(DB + "config"))
    shared.run("sacctmgr", "-i", "delete", "user", "bin,sys")
    shared.run("sacctmgr", "-i", "delete", "account", "physics,science")
    shared.run("sacctmgr", "-i", "delete", "qos", "high")
    assert [u["name"] for u in records()["users"]] == ["root"]
    done(store.post(DB + "config", sent))
    now = records()
    assert {a["name"] for a in now["accounts"]} == {"root", "science", "physics"}
    for key in ("accounts", "qos", "wckeys", "clusters"):
        assert now[key] == was[key], key
    for before, after in zip(was["associations"], now["associations"], strict=True):
        assert after == before
    for before, after in zip(was["users"], now["users"], strict=True):
        before["default"].pop("qos"), after["default"].pop("qos")  # a number
        assert after == before
    before = txns(shared)
    done(store.post(DB + "config", done(store.get(DB + "config"))))
    assert txns(shared) == before


def test_account(store, shared):
    done(store.post(DB + "accounts/", {"accounts": [
        {"name": "chem", "description": "d", "organization": "o", "coordinators": [{"name": "sys"}]},
        {"name": "physics", "description": "all of physics", "organization": "science"}]}))
    got = {a["name"]: a for a in done(store.get(DB + "accounts/?with_coords"))["accounts"]}
    assert (got["chem"]["description"], got["chem"]["organization"]) == ("d", "o")
    assert got["chem"]["coordinators"] == [{"name": "sys", "direct": True}]
    assert got["physics"]["description"] == "all of physics"
    done(store.delete(DB + "account/chem"), removed_accounts=["chem"])
    assert store.get(DB + "account/chem")[1]["accounts"] == []


def test_recorded_refusal(store):
    status, answer = store.post(DB + "accounts/", {"accounts": [{"name": "hack", "description": "d", "organization": "o"}]}, user="games")
    assert answer["errors"] == [{"description": "slurmdb_accounts_add() failed", "error_number": 2002,
                                 "error": "Access/permission denied", "source": "_foreach_update_acct"}]
    assert answer["warnings"] == [] and list(answer) == ["errors", "warnings", "meta"]
    assert store.get(DB + "account/hack")[1]["accounts"] == []


@pytest.mark.parametrize("path, body", [
    ("users/", {"users": [{"name": "games"}]}), ("qos/", {"qos": [{"name": "fast"}]}),
    ("associations/", {"associations": [{"account": "physics", "cluster": "test", "user": "games"}]}),
    ("clusters/", {"clusters": [{"name": "other"}]}), ("wckeys/", {"wckeys": [{"name": "w", "user": "bin", "cluster": "test"}]}),
    ("users_association/", {"association_condition": {"users": ["games"], "accounts": ["physics"]}}),
    ("accounts_association/", {"association_condition": {"accounts": ["bio"]}, "account": {"description": "d", "organization": "o"}})])
def test_others_are_refused(store, shared, path, body):
    before = txns(shared)
    status, answer = store.post(DB + path, body, user="games")
    assert status != 200 and [e["error_number"] for e in answer["errors"]] == [2002]
    assert txns(shared) == before


def test_user(store):
    done(store.post(DB + "users/", {"users": [{"name": "games", "administrator_level": ["Operator"]},
                                              {"name": "sys", "administrator_level": ["None"], "default": {"account": "physics"}}]}))
    got = {u["name"]: u for u in done(store.get(DB + "users/?with_assocs"))["users"]}
    assert got["games"]["administrator_level"] == ["Operator"] and got["games"]["associations"] == []
    assert got["sys"]["administrator_level"] == ["None"] and got["sys"]["default"]["account"] == "physics"
    done(store.delete(DB + "user/games"))
    assert store.get(DB + "user/games")[1]["users"] == []


def assoc_of(rest, query):
    found = done(rest.get(DB + "associations/?" + query))["associations"]
    assert len(found) == 1
    return found[0]


def test_associations(store):
    """A new one with limits; limits changed and taken away; the rest stays."""
    done(store.post(DB + "associations/", {"associations": [
        {"account": "chem", "cluster": "test", "user": "", "parent_account": "science", "shares_raw": 7},
        {"account": "chem", "cluster": "test", "user": "games", "is_default": True, "comment": "plays",
         "max": {"jobs": {"active": number(3)}, "tres": {"per": {"job": [{"type": "cpu", "count": 4}]}}}}]}))
    made = assoc_of(store, "user=games")
    assert (made["lineage"], made["is_default"], made["comment"]) == ("/science/chem/0-games/", True, "plays")
    assert made["max"]["jobs"]["active"] == number(3)
    assert made["max"]["tres"]["per"]["job"] == [{"type": "cpu", "name": "", "id": 1, "count": 4}]
    assert assoc_of(store, "account=chem&user=")["shares_raw"] == 7
    change = copy.deepcopy(made)
    change["max"]["jobs"]["active"] = INFINITE
    change["max"]["tres"]["per"]["job"] = [{"type": "gres", "name": "gpu", "count": 1}]
    change["max"]["jobs"]["per"]["wall_clock"] = 90
    change["shares_raw"], change["priority"] = 2147483647, number(5)
    done(store.post(DB + "associations/", {"associations": [change]}))
    now = assoc_of(store, "user=games")
    assert now["max"]["jobs"]["active"] == number(10)  # the parent's again
    assert [(t["name"], t["count"]) for t in now["max"]["tres"]["per"]["job"]] == [("gpu", 1)]
    assert now["max"]["jobs"]["per"]["wall_clock"] == number(90)
    assert (now["shares_raw"], now["priority"], now["comment"]) == (2147483647, number(5), "plays")


def test_association_qos(store):
    a = assoc_of(store, "user=bin")
    assert (a["qos"], a["default"]) == (["normal", "high"], {"qos": "high"})
    done(store.post(DB + "associations/", {"associations": [
        {"account": "physics", "cluster": "test", "user": "bin", "qos": ["high"], "default": {"qos": "high"}}]}))
    assert assoc_of(store, "user=bin")["qos"] == ["high"]
    done(store.post(DB + "associations/", {"associations": [
        {"account": "physics", "cluster": "test", "user": "bin", "qos": ["+normal"]}]}))
    assert assoc_of(store, "user=bin")["qos"] == ["normal", "high"]


@pytest.mark.parametrize("item, number_, said", [
    ({"account": "nosuch", "cluster": "test", "user": "bin"}, 2045, "slurmdb_associations_add() failed"),
    ({"account": "physics", "cluster": "nosuch", "user": ""}, 19016, "slurmdb_associations_add() failed"),
    ({"account": "physics", "user": "bin"}, 9009, "cluster is missing"),
    ({"account": "physics", "cluster": "test", "user": "bin", "qos": ["nosuch"]}, 9001, "physics: there is no QOS nosuch"),
    ({"account": "physics", "cluster": "test", "user": "bin", "max": {"tres": {"total": [{"type": "gres", "name": "x", "count": 1}]}}},
     9001, "physics: there is no TRES gres/x"),
    ({"account": "physics", "cluster": "test", "user": "bin", "max": {"jobs": {"active": 3000000000}}}, 9001,
     "physics: max_jobs: 3000000000 is too much")])
def test_bad_associations(store, shared, item, number_, said):
    """The whole body is refused."""
    before = txns(shared)
    good = {"account": "bio", "cluster": "test", "user": ""}
    status, answer = store.post(DB + "associations/", {"associations": [good, item]})
    assert status == 422 and [(e["error_number"], e["description"]) for e in answer["errors"]] == [(number_, said)]
    assert txns(shared) == before


def test_qos(store):
    done(store.post(DB + "qos/", {"qos": [
        {"name": "fast", "priority": number(50), "preempt": {"list": ["slow"], "mode": ["REQUEUE"]}, "usage_factor": 2.5,
         "flags": ["NO_DECAY"], "limits": {"grace_time": 10, "max": {"jobs": {"active_jobs": {"per": {"user": number(4)}}}}}},
        {"name": "slow"}]}))
    fast = done(store.get(DB + "qos/fast"))["qos"][0]
    assert (fast["priority"], fast["preempt"]["list"], fast["preempt"]["mode"]) == (number(50), ["slow"], ["REQUEUE"])
    assert (fast["usage_factor"]["number"], fast["flags"], fast["limits"]["grace_time"]) == (2.5, ["NO_DECAY"], 10)
    assert fast["limits"]["max"]["jobs"]["active_jobs"]["per"]["user"] == number(4)
    fast["preempt"], fast["flags"], fast["priority"] = {"list": [], "mode": ["DISABLED"]}, [], 7
    fast["limits"]["max"]["jobs"]["active_jobs"]["per"]["user"] = INFINITE
    done(store.post(DB + "qos/", {"qos": [fast]}))
    now = done(store.get(DB + "qos/fast"))["qos"][0]
    assert (now["preempt"]["list"], now["preempt"]["mode"], now["flags"], now["priority"]) == ([], ["DISABLED"], [], number(7))
    assert now["limits"]["max"]["jobs"]["active_jobs"]["per"]["user"] == INFINITE
    done(store.delete(DB + "qos/fast"), removed_qos=["fast"])
    assert store.get(DB + "qos/fast")[1]["qos"] == []


def test_wckeys(store):
    done(store.post(DB + "wckeys/", {"wckeys": [{"name": "wb", "user": "bin", "cluster": "test"}]}))
    keys = {k["name"]: k for k in done(store.get(DB + "wckeys/?user=bin"))["wckeys"]}
    assert set(keys) == {"wa", "wb"}
    done(store.delete(DB + f"wckey/{keys['wb']['id']}"), deleted_wckeys=["wb"])
    assert len(done(store.get(DB + "wckeys/?user=bin"))["wckeys"]) == 1


def test_clusters(store, shared):
    done(store.post(DB + "clusters/", {"clusters": [{"name": "other"}]}))
    assert done(store.get(DB + "cluster/other"))["clusters"][0]["name"] == "other"
    done(store.delete(DB + "cluster/other"), deleted_clusters=["other"])
    assert store.get(DB + "cluster/other")[1]["clusters"] == []


def test_tres(store):
    status, answer = store.post(DB + "tres/", {"TRES": [{"type": "cpu"}, {"type": "gres", "name": "new"}]})
    assert status == 422 and [e["error_number"] for e in answer["errors"]] == [2036]


def test_with_associations(store):
    answer = done(store.post(DB + "accounts_association/", {
        "association_condition": {"accounts": ["bio", "chem"], "clusters": ["test"],
                                  "association": {"parent": "science", "fairshare": 9, "maxjobs": number(6)}},
        "account": {"description": "life", "organization": "science"}}))
    assert answer["added_accounts"] == "bio\nchem"
    bio = assoc_of(store, "account=bio")
    assert (bio["parent_account"], bio["shares_raw"], bio["max"]["jobs"]["active"]) == ("science", 9, number(6))
    answer = done(store.post(DB + "users_association/", {
        "association_condition": {"users": ["games"], "accounts": ["bio", "chem"], "association": {"defaultqos": "normal"}},
        "user": {"defaultaccount": "chem", "adminlevel": ["None"]}}))
    assert answer["added_users"] == "games"
    user = done(store.get(DB + "user/games?with_assocs"))["users"][0]
    assert user["default"]["account"] == "chem" and [a["account"] for a in user["associations"]] == ["bio", "chem"]


@pytest.mark.parametrize("more", [{"accounts": ["nosuch"]}, {"accounts": ["physics", "nosuch"]}, {"accounts": "physics,nosuch"},
                                  {"accounts": ["physics"], "clusters": ["nowhere"]}])
def test_users_in_an_account_that_is_not_there(store, shared, more):
    """It was answered with 200 and a warning, and the user was in the other accounts."""
    before = txns(shared)
    status, answer = store.post(DB + "users_association/", {"association_condition": {"users": ["games"], **more}})
    account = "nosuch" if "clusters" not in more else "physics on the clusters that the request names"
    assert (status, answer["errors"]) == (422, [{
        "description": f"there is no account {account}", "source": "op_handler_users_association",
        "error_number": 2045, "error": "Invalid account or account/partition combination specified"}]), answer
    assert store.get(DB + "user/games")[1]["users"] == [] and txns(shared) == before


def test_default_account_that_is_not_there(store):
    status, answer = store.post(DB + "users_association/", {"association_condition": {"users": ["games"], "accounts": ["physics"]},
                                                            "user": {"defaultaccount": "nosuch"}})
    assert [e["error_number"] for e in answer["errors"]] == [2045] and "there is no account nosuch" == answer["errors"][0]["description"]
    assert store.get(DB + "user/games")[1]["users"] == []


def test_many_names_in_one_body(store):
    """Each name was looked for among all the others: a user's one request kept a processor busy for many minutes."""
    gone = [{"account": f"a{i}", "cluster": "c", "flags": ["DELETED"]} for i in range(150_000)]
    began = time.monotonic()
    status, answer = store.post(DB + "config", {"accounts": [{"name": f"n{i}"} for i in range(20_000)], "associations": gone},
                                user="bin")
    assert status != 200 and answer["errors"], answer
    assert time.monotonic() - began < 30 * SLOW


def test_delete_associations(store):
    answer = done(store.delete(DB + "association/?user=sys&account=physics"))
    assert len(answer["removed_associations"]) == 1 and "A = physics" in answer["removed_associations"][0]
    assert [a["account"] for a in done(store.get(DB + "associations/?user=sys"))["associations"]] == ["science"]
    status, answer = store.delete(DB + "associations/")
    assert status == 422 and answer["errors"][0]["description"] == "the request chooses nothing"
    answer = done(store.delete(DB + "associations/?account=physics,science"))
    assert store.get(DB + "associations/?account=physics")[1]["associations"] == []


def test_delete_what_was_deleted(store, shared):
    """What is gone is chosen neither by with_deleted nor by its number."""
    shared.run("sacctmgr", "-i", "add", "user", "root", "account=physics")
    job = shared.sbatch("-A", "physics", "-o", "/dev/null", wrap="true")
    shared.wait_end(job)
    shared.wait_sacct(job, "COMPLETED")  # an account without a job leaves no trace
    shared.run("sacctmgr", "-i", "delete", "user", "sys")
    gone = done(store.get(DB + "associations/?user=sys&with_deleted=true"))["associations"]
    assert "physics" in [a["account"] for a in gone]
    for query in ("user=sys", f"id={gone[0]['id']}"):
        status, answer = store.delete(DB + f"associations/?{query}&with_deleted=true")
        assert (status, answer["removed_associations"]) == (200, []), answer
        assert answer["warnings"][0]["description"].endswith("() found nothing")
    shared.run("sacctmgr", "-i", "delete", "user", "root", "account=physics")


@pytest.mark.parametrize("path", ["account/nosuch", "user/nosuch", "qos/nosuch", "cluster/nosuch", "wckey/999",
                                  "association/?user=nosuch"])
def test_delete_what_is_not_there(store, path):
    status, answer = store.delete(DB + path)
    assert status == 200 and answer["errors"] == [] and answer["warnings"][0]["description"].endswith("() found nothing")


@pytest.mark.parametrize("path", ["account/physics", "user/bin", "qos/high", "cluster/test", "wckey/1", "association/?user=bin"])
def test_delete_is_refused(store, shared, path):
    before = txns(shared)
    status, answer = store.delete(DB + path, user="games")
    assert status != 200 and [e["error_number"] for e in answer["errors"]] == [2002]
    assert txns(shared) == before


def test_notes_of_jobs(store, shared):
    job = shared.sbatch(wrap="true")
    shared.wait_end(job)
    shared.wait_sacct(job, "COMPLETED")
    shared.clear()
    body = {"comment": {"job": "mine", "administrator": "ours"}, "extra": "x=1", "derived_exit_code": {"return_code": number(3)},
            "tres": {"allocated": [{"type": "energy", "count": 1234}]}}
    answer = done(store.post(DB + f"job/{job}", body))
    assert len(answer["results"]) == 1 and answer["results"][0].startswith(f"{job} submitted at ")
    got = done(store.get(DB + f"job/{job}"))["jobs"][0]
    assert (got["comment"]["job"], got["comment"]["administrator"], got["extra"]) == ("mine", "ours", "x=1")
    assert {"type": "energy", "name": "", "id": 3, "count": 1234} in got["tres"]["allocated"]
    done(store.post(DB + "jobs/", {"job_id_list": [str(job)], "job_rec": {"comment": {"job": "again"}}}))
    assert done(store.get(DB + f"job/{job}"))["jobs"][0]["comment"]["job"] == "again"
    status, answer = store.post(DB + f"job/{job}", {"comment": {"administrator": "theirs"}}, user="games")
    assert status != 200 and answer["errors"]
