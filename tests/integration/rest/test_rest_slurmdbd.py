"""GET and POST of /slurmdb/ where slurmdbd keeps the store."""

import pytest

from accounting import Dbd, conf_of, storage_of
from conftest import wait_until
from restd import Restd, V

DB = f"/slurmdb/{V}/"


@pytest.fixture
def site(folder, make_cluster):
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "c0" / "etc" / "slurm.key",
              conf="AuthAltTypes=auth/jwt\nPurgeJobAfter=12months\nArchiveJobs=yes\nPurgeStepAfter=30days\nTrackWCKey=yes")
    cluster = make_cluster(start=False, nodes=1, conf=conf_of(dbd) + "\nAuthAltTypes=auth/jwt")
    cluster.start()
    dbd.start()
    with Restd(cluster) as rest:
        yield cluster, dbd, rest
    problems = cluster.stop()
    dbd.stop()
    assert not problems, problems


def test_slurmdbd(site):
    c, dbd, rest = site
    wait_until(lambda: c.run("sacctmgr", "-nP", "list", "cluster", "format=cluster", check=False).out.strip() == "test",
               "the cluster has registered itself")
    status, answer = rest.get(DB + "ping/")
    assert status == 200 and answer["pings"][0]["hostname"] == "localhost" and answer["pings"][0]["responding"]
    status, answer = rest.get(DB + "conf")
    conf = answer["slurmdbd_conf"]
    assert (status, conf["DbdHost"], conf["DbdPort"], conf["TrackWCKey"]) == (200, "localhost", dbd.port, True)
    assert conf["PurgeJobAfter"] == {"set": True, "hours": 0, "days": 0, "months": 12, "archive": True}
    assert conf["PurgeStepAfter"] == {"set": True, "hours": 0, "days": 30, "months": 0, "archive": False}
    assert conf["PurgeUsageAfter"]["set"] is False
    status, answer = rest.get(DB + "diag/")
    assert status == 200 and list(answer["statistics"]["rollups"]) == ["hourly", "daily", "monthly"]
    status, answer = rest.get(DB + "clusters/")
    assert status == 200 and [(k["name"], k["controller"]["port"]) for k in answer["clusters"]] == [("test", c.port)]
    dbd.kill()
    status, answer = rest.get(DB + "ping/")
    assert status == 200 and not answer["pings"][0]["responding"]
    status, answer = rest.get(DB + "users/")
    assert status == 503 and answer["errors"] and "users" not in answer
    dbd.start()
    status, answer = rest.get(DB + "users/")
    assert status == 200 and [u["name"] for u in answer["users"]] == ["root"]
