"""Lists that are sent only when they changed, in part, page by page, and packed: ETag, update_time, fields, limit, gzip."""

import gzip
import json
import time
import zlib

import pytest

from restd import Restd, V

CLUSTER = {"nodes": 3, "conf": "AuthAltTypes=auth/jwt"}
LISTS = ["jobs/", "nodes/", "partitions/", "reservations/", "jobs/state/", "node/node1", "partition/main"]


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def ask(rest, path, user="root", method="GET", body=None, **headers):
    """(status, headers, text)"""
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    path = path if path.startswith("/") else f"/slurm/{V}/{path}"
    import http.client
    conn = http.client.HTTPConnection("127.0.0.1", rest.port, timeout=60)
    try:
        conn.request(method, path, body=body, headers={"X-SLURM-USER-TOKEN": rest.token(user), **headers})
        answer = conn.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        conn.close()


def tag_of(rest, path, **options):
    status, headers, _ = ask(rest, path, **options)
    assert status == 200
    return headers["ETag"]


def hold(shared, *options):
    return shared.run("sbatch", "--parsable", "-H", *options, "--wrap", "true").out.strip()


# ---- ETag ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", LISTS)
def test_not_modified(rest, shared, path):
    """The same tag while nothing changes, and no body for who has it."""
    hold(shared)
    status, headers, text = ask(rest, path)
    assert status == 200 and headers["ETag"].startswith('W/"') and text
    assert "Accept" in headers["Vary"]
    again = ask(rest, path, If_None_Match=headers["ETag"])
    assert (again[0], again[2]) == (304, b"") and again[1]["ETag"] == headers["ETag"]
    assert ask(rest, path, If_None_Match=f'"other", {headers["ETag"]}')[0] in (200, 304)
    assert ask(rest, path, If_None_Match='W/"0000000000000001"')[0] == 200


def test_jobs_change(rest, shared):
    before = tag_of(rest, "jobs/")
    nodes = tag_of(rest, "nodes/")
    job = hold(shared)
    one = tag_of(rest, f"job/{job}")
    status, headers, text = ask(rest, "jobs/", If_None_Match=before)
    assert status == 200 and headers["ETag"] != before and int(job) in [j["job_id"] for j in json.loads(text)["jobs"]]
    assert ask(rest, "nodes/", If_None_Match=nodes)[0] == 304  # a job that waits is no change of nodes
    other = hold(shared)
    assert ask(rest, f"job/{job}", If_None_Match=one)[0] == 304  # nor is one job another
    shared.run("scontrol", "update", f"JobId={job}", "Comment=changed")
    assert ask(rest, f"job/{job}", If_None_Match=one)[0] == 200
    at = tag_of(rest, "jobs/")
    shared.run("scancel", other)
    assert ask(rest, "jobs/", If_None_Match=at)[0] == 200


def test_nodes_change(rest, shared):
    nodes, parts, one, two = (tag_of(rest, p) for p in ("nodes/", "partitions/", "node/node1", "node/node2"))
    shared.run("scontrol", "update", "NodeName=node1", "Comment=x")
    assert ask(rest, "nodes/", If_None_Match=nodes)[0] == 200
    assert ask(rest, "node/node1", If_None_Match=one)[0] == 200
    assert ask(rest, "node/node2", If_None_Match=two)[0] == 304
    parts = tag_of(rest, "partitions/")
    shared.run("scontrol", "update", "PartitionName=main", "MaxTime=99")
    assert ask(rest, "partitions/", If_None_Match=parts)[0] == 200
    shared.run("scontrol", "update", "PartitionName=main", "MaxTime=INFINITE")


def test_restart_changes(rest, shared):
    """A tag of another slurmctld says nothing."""
    tags = {p: tag_of(rest, p) for p in ("jobs/", "nodes/", "partitions/")}
    shared.restart_ctld()
    shared.wait_nodes()
    for path, tag in tags.items():
        assert ask(rest, path, If_None_Match=tag)[0] == 200


def test_private(rest, shared):
    """Two who see different jobs have different tags."""
    text = shared.conf.read_text()
    shared.write_conf(text + "PrivateData=jobs\n")
    try:
        shared.run("scontrol", "reconfigure")
        hold(shared)
        tags = {user: tag_of(rest, "jobs/", user=user) for user in ("root", "bin", "daemon")}
        assert len(set(tags.values())) == 3
        assert ask(rest, "jobs/", user="bin", If_None_Match=tags["root"])[0] == 200
        assert ask(rest, "jobs/", user="bin", If_None_Match=tags["bin"])[0] == 304
        assert json.loads(ask(rest, "jobs/", user="bin")[2])["jobs"] == []
    finally:
        shared.write_conf(text)
        shared.run("scontrol", "reconfigure")
    assert ask(rest, "jobs/", user="bin", If_None_Match=tags["bin"])[0] == 200


# ---- update_time -----------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["jobs/", "nodes/", "partitions/", "node/node1", "partition/main"])
def test_update_time(rest, shared, path):
    hold(shared)
    ask(rest, path)
    later = int(time.time()) + 2
    assert ask(rest, f"{path}?update_time={later}")[0] == 304
    assert ask(rest, f"{path}?update_time={later - 1000}")[0] == 200
    assert ask(rest, f"{path}?update_time=0")[0] == 200
    assert ask(rest, f"{path}?update_time=")[0] == 200


def test_no_change_is_missed(rest, shared):
    """Who asks with the time of the last answer gets every job, also of the same second."""
    seen, at = set(), 0
    for _ in range(30):
        job = int(hold(shared))
        status, _, text = ask(rest, f"jobs/?update_time={at}")
        assert status == 200, "a job was made since"
        answer = json.loads(text)
        seen |= {j["job_id"] for j in answer["jobs"]}
        at = answer["last_update"]["number"]
        assert job in seen


@pytest.mark.parametrize("word", ["-1", "x", "1e9", "99999999999999999999", "1,2", "%00"])
@pytest.mark.parametrize("path", ["jobs/", "nodes/"])
def test_update_time_wrong(rest, path, word):
    assert ask(rest, f"{path}?update_time={word}")[0] in (400, 422)


# ---- fields ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("accept", ["application/json", "application/x-yaml"])
def test_fields(rest, shared, accept):
    import yaml
    hold(shared, "-J", "some")
    read = json.loads if "json" in accept else lambda text: yaml.load(text, yaml.SafeLoader)
    whole = json.loads(ask(rest, "jobs/")[2])
    got = read(ask(rest, "jobs/?fields=name,job_id,time_limit,job_state", Accept=accept)[2])
    assert list(got) == list(whole) and got["meta"]["plugin"] and got["warnings"] == []
    keys = [k for k in whole["jobs"][0] if k in ("name", "job_id", "time_limit", "job_state")]
    assert all(list(j) == keys for j in got["jobs"])
    assert [j["job_id"] for j in got["jobs"]] == [j["job_id"] for j in whole["jobs"]]
    if "json" in accept:
        assert got["jobs"] == [{k: j[k] for k in keys} for j in whole["jobs"]]


def test_fields_everywhere(rest, shared):
    for path, key in (("nodes/", "nodes"), ("partitions/", "partitions"), ("node/node1", "nodes"), (f"job/{hold(shared)}", "jobs")):
        got = json.loads(ask(rest, f"{path}?fields=name")[2])
        assert got[key] and all(list(one) == ["name"] for one in got[key])
    assert all(len(u) == 1 for u in json.loads(ask(rest, f"/slurmdb/{V}/qos/?fields=name")[2]).get("qos", []))


def test_field_unknown(rest, shared):
    """A name that no object has is told; one object without members is an empty one."""
    hold(shared)
    got = json.loads(ask(rest, "jobs/?fields=job_id,nosuch")[2])
    assert [w["description"] for w in got["warnings"]] == ['No object has the member "nosuch"']
    assert all(list(j) == ["job_id"] for j in got["jobs"])
    assert all(j == {} for j in json.loads(ask(rest, "jobs/?fields=nosuch")[2])["jobs"])


@pytest.mark.parametrize("word", ["a" * 5 + "," * 64, "a%22b", "a%00", "../x", "name;", "a+b", "{}", "%f0%9f%98%80", "na%0ame"])
def test_fields_wrong(rest, word):
    status, _, text = ask(rest, f"jobs/?fields={word}")
    assert status in (400, 422) and b'"name"' not in text.split(b'"meta"')[0]


# ---- pages -----------------------------------------------------------------------------------------

def pages(rest, path, key, limit, **options):
    cursor, all_of = "", []
    for _ in range(1000):
        answer = json.loads(ask(rest, f"{path}?limit={limit}&cursor={cursor}", **options)[2])
        assert len(answer[key]) <= limit
        all_of.append(answer[key])
        cursor = answer["next_cursor"]
        if not cursor:
            return all_of
    raise AssertionError("no end")


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_pages_of_jobs(rest, shared, limit):
    for _ in range(9):
        hold(shared)
    whole = [j["job_id"] for j in json.loads(ask(rest, "jobs/")[2])["jobs"]]
    got = pages(rest, "jobs/", "jobs", limit)
    assert [j["job_id"] for page in got for j in page] == whole
    assert all(len(page) == limit for page in got[:-1])


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_of_nodes(rest, limit):
    got = pages(rest, "nodes/", "nodes", limit)
    assert [n["name"] for page in got for n in page] == ["node1", "node2", "node3"]


def test_pages_while_jobs_come_and_go(rest, shared):
    """What is there from first to last is told once."""
    there = [int(hold(shared)) for _ in range(12)]
    cursor, seen = "", []
    while True:
        answer = json.loads(ask(rest, f"jobs/?limit=3&cursor={cursor}")[2])
        seen += [j["job_id"] for j in answer["jobs"]]
        cursor = answer["next_cursor"]
        if not cursor:
            break
        gone = hold(shared)
        shared.run("scancel", gone)
        if len(seen) > 200:
            raise AssertionError("no end")
    assert [j for j in seen if j in there] == there and len(seen) == len(set(seen))


def test_pages_of_own(rest, shared):
    """A page is full also where others' jobs lie between."""
    text = shared.conf.read_text()
    shared.write_conf(text + "PrivateData=jobs\n")
    try:
        shared.run("scontrol", "reconfigure")
        body = {"script": "#!/bin/sh\n", "job": {"current_working_directory": "/tmp", "environment": ["A=b"], "hold": True}}
        mine = []
        for _ in range(5):
            hold(shared)
            mine.append(rest.post("job/submit", body, user="bin")[1]["job_id"])
        got = pages(rest, "jobs/", "jobs", 2, user="bin")
        assert [j["job_id"] for page in got for j in page] == mine and [len(p) for p in got] == [2, 2, 1]
    finally:
        shared.write_conf(text)
        shared.run("scontrol", "reconfigure")


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=x", "limit=", "limit=1000001", "limit=99999999999999999999", "limit=1.5",
                                   "limit=0x10", "limit=2&cursor=x", "limit=2&cursor=-1", "limit=2&cursor=4294967296", "limit=%00"])
def test_pages_wrong(rest, query):
    assert ask(rest, f"jobs/?{query}")[0] in (400, 422)


# ---- gzip ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("accept, packed", [
    ("gzip", True), ("x-gzip", True), ("deflate, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("gzip;q=0", False),
    ("gzip; q=0.000", False), ("identity", False),
    ("br", False), ("", False), ("*;q=0", False), ("gzip;q=0, *", False), ("gzipped", False)])
@pytest.mark.parametrize("path", ["jobs/", "partitions/"])
def test_answers_packed(rest, shared, path, accept, packed):
    hold(shared)
    status, headers, data = ask(rest, path, Accept_Encoding=accept)
    assert status == 200 and (headers.get("Content-Encoding") == "gzip") == packed
    answer = json.loads(gzip.decompress(data) if packed else data)
    assert answer["errors"] == [] and answer[path.rstrip("/")]


def test_long_answer_packed(rest, shared):
    """One that is sent while it is made."""
    for _ in range(120):
        hold(shared)
    plain = ask(rest, "jobs/")[2]
    assert len(plain) > 512 * 1024
    status, headers, data = ask(rest, "jobs/", Accept_Encoding="gzip")
    assert status == 200 and headers["Content-Encoding"] == "gzip" and len(data) < len(plain) / 5
    assert json.loads(gzip.decompress(data))["jobs"] == json.loads(plain)["jobs"]


def submit(rest, data, coding="gzip"):
    return ask(rest, "job/submit", method="POST", body=data, Content_Type="application/json", Content_Encoding=coding)


BODY = json.dumps({"script": "#!/bin/sh\n", "job": {"current_working_directory": "/tmp", "environment": ["A=b"], "hold": True}}).encode()


def test_body_packed(rest):
    assert submit(rest, gzip.compress(BODY))[0] == 200
    assert submit(rest, gzip.compress(BODY), "X-GZIP")[0] == 200
    assert submit(rest, gzip.compress(BODY[:20]) + gzip.compress(BODY[20:]))[0] == 200  # two members are one body
    assert submit(rest, BODY, "identity")[0] == 200


@pytest.mark.parametrize("data, coding, status", [
    (BODY, "gzip", 400), (b"", "gzip", 400), (gzip.compress(BODY)[:-9], "gzip", 400), (gzip.compress(BODY)[:5], "gzip", 400),
    (gzip.compress(BODY) + b"more", "gzip", 400), (zlib.compress(BODY), "gzip", 400), (zlib.compress(BODY), "deflate", 415),
    (BODY, "br", 415), (BODY, "gzip, gzip", 415), (gzip.compress(gzip.compress(BODY)), "gzip", 400),
    (gzip.compress(b"\x00" * 1000), "gzip", 400),
    (gzip.compress(b" " * (16 * 1024 * 1024 + 1)), "gzip", 413), (gzip.compress(b"[" * 10000000), "gzip", 400),
    (gzip.compress(b"") * 20000, "gzip", None)])
def test_body_wrong(rest, shared, data, coding, status):
    before = shared.run("squeue", "-h").out
    got = submit(rest, data, coding)[0]
    assert got == status or status is None and 400 <= got < 500
    assert shared.run("squeue", "-h").out == before and rest.daemon.alive()


def test_bombs(rest):
    """A thousand times what may be: refused without the memory that it would need."""
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(4000)) + bomb.flush()
    assert len(data) < 16 << 20
    for _ in range(5):
        assert submit(rest, data)[0] == 413
    peak = int(next(line.split()[1] for line in open(f"/proc/{rest.daemon.pid}/status") if line.startswith("VmHWM")))
    assert peak < 400 * 1024
