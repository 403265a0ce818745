"""One user's requests and the controller's time: hostile requests of an ordinary user, while another one asks.

Each attack is one request (or a few) that kept slurmctld busy for many seconds.  What is measured is how long root's own
small request waits meanwhile; the bounds are generous, for what they tell apart is 10 s and more from nothing."""

import subprocess
import threading
import time

import pytest

import rawwire
from conftest import SLOW, let_in, program, wait_until
from rawwire import ERROR, Peer, messages

needs_root = pytest.mark.skipif(subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip() != "0",
                                reason="acts as other users")
pytestmark = needs_root

NOBODY, OTHER = 65534, 65533
CLUSTER = {"nodes": 2, "conf": "MaxArraySize=500001\nMaxJobCount=1000000\nScronParameters=enable"}
LONGEST = 2.5 * SLOW  # seconds that somebody else may wait; an idle controller takes a millisecond
BACKOFF = 1804


def connect(c, uid=None, timeout=120):
    peer = Peer.local(c.port, uid=uid, timeout=timeout)
    peer.hello()
    return peer


def longest_wait(c, attack, uid=None):
    """Run attack() beside us; the longest that a ping of uid's (None: root's) took meanwhile, and what attack() gave."""
    given, ping = [], messages().PingRequest()
    with connect(c, uid) as p:
        p.call("ping", ping)
        thread = threading.Thread(target=lambda: given.append(attack()))
        longest = 0
        thread.start()
        while thread.is_alive():
            began = time.monotonic()
            p.call("ping", ping)
            longest = max(longest, time.monotonic() - began)
            thread.join(0.005)  # between two questions
    assert given, "the attack ended with an exception"
    return longest, given[0]


def ask(c, op, body, uid=NOBODY):
    with connect(c, uid) as p:
        return p.call(op, body)


def submit_jobs(c, count, uid=None, **fields):
    """Held jobs of one user, pipelined; gives their ids."""
    pb = messages()
    request = pb.SubmitRequest(job=pb.JobRecord(batch=True, work_dir="/tmp", name="x", **fields), script=b"#!/bin/sh\n", hold=True)
    ids = []
    with connect(c, uid) as p:
        for first in range(0, count, 500):
            for _ in range(min(500, count - first)):
                p.send("job-submit", request)
            for _ in range(min(500, count - first)):
                flags, reply = p.answer("job-submit")
                assert not flags & ERROR, reply.text
                ids.append(reply.job_id)
    return ids


@pytest.fixture
def array(c):
    """Root's array, of every second number: the stored form must be walked number by number."""
    return int(c.sbatch("--hold", "--array=0-499999:2", wrap="true"))


@pytest.fixture(scope="module")
def many(shared):
    """Twenty thousand jobs of root's that wait."""
    return submit_jobs(shared, 20000)


# ---- ids --------------------------------------------------------------------------------------------


def test_expression_repeated(c, array):
    """50 KB: the same array expression again and again, each time walked anew: the request is cut off when it has cost enough.  It is
    even somebody else's array."""
    pb = messages()
    request = pb.JobActionRequest(ids=[f"{array}_[0-499999]"] * 3000, verb=pb.VERB_SIGNAL, signal=10)
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "job-action", request))
    assert longest < LONGEST
    assert not flags & ERROR and len(reply.results) < 3000 and "several requests" in reply.results[-1].text


def test_expressions_that_differ(c, array):
    """No two of the expressions are equal: the request is cut off when it has cost enough."""
    pb = messages()
    ids = [f"{array}_[0-{499999 - i}]" for i in range(4000)]
    longest, (_, reply) = longest_wait(c, lambda: ask(c, "job-action", pb.JobActionRequest(ids=ids, verb=pb.VERB_HOLD)))
    assert longest < LONGEST
    assert "several requests" in reply.results[-1].text


def test_expressions_in_an_update(c, array):
    pb = messages()
    request = pb.JobUpdateRequest(ids=[f"{array}_[0-{499999 - i}]" for i in range(4000)], set=pb.JobRecord(comment="x"))
    longest, (_, reply) = longest_wait(c, lambda: ask(c, "job-update", request))
    assert longest < LONGEST
    assert "several requests" in reply.results[-1].text


def test_wide_steps(c):
    """Each text is short and names four million numbers many times over."""
    pb = messages()
    job = c.sbatch("--hold", "--array=1-2", wrap="true")
    ids = [f"{job}_[{','.join(f'{k}-{3900000 + i}:2' for k in range(12))}]" for i in range(300)]
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "job-action", pb.JobActionRequest(ids=ids, verb=pb.VERB_HOLD)))
    assert longest < LONGEST
    assert not flags & ERROR and len(reply.results) == 300


def test_unknown_sluids(c, many):
    """Ten thousand ids of the newer form that nobody has."""
    pb = messages()
    ids = [f"s{i:013d}" for i in range(1, 10001)]
    longest, (_, reply) = longest_wait(c, lambda: ask(c, "job-action", pb.JobActionRequest(ids=ids, verb=pb.VERB_HOLD)))
    assert longest < LONGEST
    assert len(reply.results) == 10000


# ---- submissions --------------------------------------------------------------------------------------


def submission(**fields):
    pb = messages()
    return pb.SubmitRequest(job=pb.JobRecord(batch=True, work_dir="/tmp", name="x", **fields), script=b"#!/bin/sh\n", hold=True)


def test_nodes_wanted_and_unwanted(c):
    """--nodelist and --exclude of a node each, named so often that the lists fill a megabyte."""
    request = submission(req_nodes=",".join(["node1"] * 150000), exc_nodes=",".join(["node2"] * 150000))
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "job-submit", request))
    assert longest < LONGEST
    assert flags & ERROR  # longer than any cluster
    request = submission(req_nodes=",".join(["node1"] * 60000), exc_nodes=",".join(["node2"] * 60000))
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "job-submit", request))
    assert longest < LONGEST
    assert not flags & ERROR


def test_partition_repeated(c):
    """Each mention of the partition was a check of its own, of a node list of a million names."""
    request = submission(partition=",".join(["main"] * 2000), req_nodes=",".join(["node1"] * 60000))
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "job-submit", request))
    assert longest < LONGEST
    assert not flags & ERROR
    assert c.job(reply.job_id)["Partition"] == ",".join(["main"] * 64)  # shown as asked for, within reason


def test_crontab_of_equal_lines(c):
    """4,096 equal entries: each one looked for an old one that no other had taken."""
    pb = messages()
    entry = lambda: pb.CrontabJob(spec="0 0 1 1 *", submit=submission())
    request = pb.CrontabSetRequest(text="x\n", jobs=[entry() for _ in range(4096)])
    flags, reply = ask(c, "crontab-set", request)
    assert not flags & ERROR, reply.text
    longest, (flags, reply) = longest_wait(c, lambda: ask(c, "crontab-set", request))
    assert longest < LONGEST
    assert not flags & ERROR
    assert not ask(c, "crontab-set", pb.CrontabSetRequest())[0] & ERROR


# ---- queries -------------------------------------------------------------------------------------------


def test_filters_of_many_numbers(c, many):
    """A filter of 130,000 job ids, for each of the controller's I/O threads: every record met every id."""
    pb = messages()
    request = pb.QueryRequest(jobs=pb.JobFilter(job_ids=range(1 << 28, (1 << 28) + 130000)), fields=[1])

    def attack():
        peers = [connect(c, NOBODY) for _ in range(16)]
        for p in peers:
            p.send("query-jobs", request)
        replies = [p.answer("query-jobs") for p in peers]
        for p in peers:
            p.close()
        return replies

    longest, replies = longest_wait(c, attack)
    assert longest < LONGEST
    assert all(not flags & ERROR and not reply.records for flags, reply in replies)


def test_filters_of_many_words(c, many):
    pb = messages()
    words = [f"a-name-that-nobody-has-{i}" for i in range(16000)]
    request = pb.QueryRequest(jobs=pb.JobFilter(names=words, nodes=",".join(f"n{i}" for i in range(60000))), fields=[1])

    def attack():
        peers = [connect(c, NOBODY) for _ in range(8)]
        for p in peers:
            p.send("query-jobs", request)
        replies = [p.answer("query-jobs") for p in peers]
        for p in peers:
            p.close()
        return replies

    longest, replies = longest_wait(c, attack)
    assert longest < LONGEST
    assert all(not flags & ERROR and not reply.records for flags, reply in replies)


# ---- questions to the scheduler -------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["query-explain", "query-priority", "query-assocs", "job-submit"])
def test_questions_at_once(c, op):
    """Each is a walk of the scheduler's: of one user's few are under way, the others are told to come back."""
    pb = messages()
    job = c.sbatch("--hold", wrap="true")
    body = {"query-explain": pb.ExplainRequest(job_id=job), "query-priority": pb.PriorityRequest(),
            "query-assocs": pb.AssocMgrRequest(), "job-submit": submission()}[op]
    if op == "job-submit":
        body.test_only, body.hold = True, False
    seen = set()
    with connect(c, NOBODY) as p:
        p.send_bytes(b"".join(rawwire.frame(op, body, id=i + 1) for i in range(2000)))
        for _ in range(2000):
            flags, reply = p.answer(op)
            while flags & 2:  # more of it
                flags, reply = p.answer(op)
            seen.add(reply.code if flags & ERROR else 0)
    assert 0 in seen and BACKOFF in seen
    assert ask(c, op, body)[0] & ERROR == 0  # and when they are answered, he may ask again


# ---- floods ---------------------------------------------------------------------------------------------


def test_flood_and_another_user(c):
    """Hundreds of requests of some milliseconds each wait when another user asks: he is next, not last."""
    count, answered = 300, [0]
    request = rawwire.frame("job-submit", submission(req_nodes=",".join(["node1"] * 60000), exc_nodes="nowhere"))

    def read_answers():
        while answered[0] < count:
            flags, _ = flood.answer("job-submit")
            assert flags & ERROR
            answered[0] += 1

    # Turns are counted, not time: first come, first served, would answer a ping or two before the flood is over.
    pings = 0
    with connect(c, NOBODY) as flood, connect(c, OTHER) as other:
        threads = [threading.Thread(target=read_answers), threading.Thread(target=flood.send_bytes, args=(request * count,))]
        for thread in threads:
            thread.start()
        wait_until(lambda: answered[0] > 0, "the flood has begun")
        while answered[0] < count and threads[0].is_alive():
            other.call("ping", messages().PingRequest())
            pings += 1
        for thread in threads:
            thread.join()
    assert answered[0] == count
    assert pings > 10


# ---- rl_enable -------------------------------------------------------------------------------------------

LIMITED = "SlurmctldParameters=rl_enable,rl_bucket_size=4,rl_refill_rate=2,rl_refill_period=1"


def as_user(c, *words):
    return subprocess.run(["setpriv", f"--reuid={NOBODY}", "--regid=nogroup", "--clear-groups", *words], env=c.env,
                          capture_output=True, text=True, cwd="/", check=False)


def refusals(c, uid, count):
    """Codes of pings sent at once, in the order of their answers."""
    codes = []
    with connect(c, uid) as p:
        for _ in range(count):
            p.send("ping", messages().PingRequest())
        for _ in range(count):
            flags, reply = p.answer("ping")
            codes.append(reply.code if flags & ERROR else 0)
    return codes


def test_rate_limit(make_cluster):
    c = make_cluster(nodes=1, conf=LIMITED)
    codes = refusals(c, NOBODY, 40)
    assert set(codes) == {0, BACKOFF}
    assert 4 <= codes.count(0) < 20  # what the bucket holds, and what drips in meanwhile
    assert refusals(c, OTHER, 4) == [0] * 4  # his bucket is his own
    assert refusals(c, None, 200) == [0] * 200  # root has no limit
    assert "asks too often" in "".join(c.logs("slurmctld")) and f"uid={NOBODY}" in "".join(c.logs("slurmctld"))


def test_commands_go_on(make_cluster):
    """A command that is told to come back waits and asks again by itself."""
    c = make_cluster(nodes=1, conf=LIMITED)
    let_in(c.dir)  # he reads the configuration
    began = time.monotonic()
    for _ in range(8):
        done = as_user(c, program("squeue"), "--noheader")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - began > 0.9  # it did have to wait
    assert "asks too often" in "".join(c.logs("slurmctld"))


def test_rate_limit_is_off_and_reconfigured(make_cluster):
    c = make_cluster(nodes=1)
    assert set(refusals(c, NOBODY, 200)) == {0}
    c.conf.write_text(c.conf_text() + LIMITED + ",rl_log_freq=-1\n")
    c.run("scontrol", "reconfigure")
    assert BACKOFF in refusals(c, NOBODY, 40)
    assert "asks too often" not in "".join(c.logs("slurmctld"))
    c.conf.write_text(c.conf_text())
    c.run("scontrol", "reconfigure")
    assert set(refusals(c, NOBODY, 200)) == {0}
