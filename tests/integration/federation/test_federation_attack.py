"""Messages between clusters, made by hand: users' are refused, and of a peer's malformed ones nothing is taken."""
import os
import pwd

import pytest

from conftest import wait_until
from rawwire import ERROR, Peer, error_names, messages
from test_federation import SHIFT, fed, queue  # fed: the fixture

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as other users")
USER = pwd.getpwnam("nobody")
ID = {"aa": 1 << SHIFT, "bb": 2 << SHIFT, "cc": 3 << SHIFT}


def as_peer(fed, c):
    """What a controller of the federation is to another: root, with the key."""
    return Peer.tcp_key(c.port, fed.list[0].dir / "etc/slurm.key", 0, cluster=fed.name(c))


def submission(**more):
    """What a member sends of a user's job."""
    pb = messages()
    job = pb.JobRecord(name="sent", num_tasks=1, work_dir="/tmp", batch=True)
    return pb.SubmitRequest(**{"job": job, "script": b"#!/bin/sh\nexit 0\n", "uid": USER.pw_uid, "gid": USER.pw_gid, "hold": True} | more)


def copy(**changes):
    """A copy of aa's job 9 that a sibling takes, but for what is changed; None leaves a field out."""
    fields = {"origin": "aa", "job_id": ID["aa"] + 9, "version": 1, "submit": submission(), "viable": 7, "submit_us": 1,
              "siblings_viable": "aa,bb,cc"} | changes
    return messages().FedCopyRequest(**{key: value for key, value in fields.items() if value is not None})


def ask(**changes):
    """bb asks for the right to start a job."""
    pb = messages()
    fields = {"cluster": "bb", "version": 1, "kind": pb.FED_ASK_LOCK} | changes
    return pb.FedAsk(**{key: value for key, value in fields.items() if value is not None})


def code(answer):
    flags, message = answer
    return error_names()[message.code] if flags & ERROR else "ok"


def test_users_are_no_controllers(fed):
    """No user puts a job into another cluster, takes one away, or takes the right to start one: he is refused unread."""
    a, b, _ = fed.list
    fed.fill(*fed.list)
    job = a.sbatch("--uid=nobody", wrap="true")  # his own
    wait_until(lambda: str(job) in queue(b, "-o", "%i"), "bb has a copy")
    pb = messages()
    requests = [("fed-copy", copy()), ("fed-copy", copy(submit=submission(uid=0, gid=0))),
                ("fed-copy", copy(job_id=job, version=99, submit=None)),
                ("fed-copy", copy(job_id=job, version=99, submit=None, cancel=True)), ("fed-copy", b"\x0a\x7fmalformed"),
                ("fed-ask", ask(job_id=job)), ("fed-ask", ask(job_id=job, kind=pb.FED_ASK_ENDED)), ("fed-ask", b"\x0a\x7fmalformed")]
    for there in (a, b):
        for op, message in requests:
            with Peer.local(there.port, uid=USER.pw_uid) as p:
                p.hello(cluster=fed.name(there))
                assert code(p.call(op, message)) == "access-denied", (op, message)
            with Peer.tcp_key(there.port, a.dir / "etc/slurm.key", USER.pw_uid, cluster=fed.name(there)) as p:
                assert code(p.call(op, message)) == "access-denied", (op, message)
    for there in fed.list:
        assert sorted(queue(there, "-a", "-n", "sent", "-o", "%i")) == []
        wait_until(lambda: there.job(job)["JobState"] == "PENDING", "the job waits where it waited")
    assert a.run("squeue", "-h", "-j", job, "-O", "SiblingsActive:20").out.strip() == "aa,bb,cc"


def test_malformed_copies(fed):
    """A copy that does not say all that it must, or whose job is not the sender's, is refused whole."""
    a, b, _ = fed.list
    before = queue(b, "-a", "-t", "all", "-o", "%i %T %j")
    wrong = {"no origin": copy(origin=None), "an unknown origin": copy(origin="dd"), "the receiver's name": copy(origin="bb"),
             "another member's number": copy(origin="cc"), "no member's number": copy(job_id=9),
             "the receiver's number": copy(job_id=ID["bb"] + 9), "no number": copy(job_id=None), "no version": copy(version=None),
             "version 0": copy(version=0), "no clusters": copy(viable=None), "no time": copy(submit_us=None),
             "no job": copy(submit=submission(job=None)), "no user": copy(submit=submission(uid=None)),
             "no group": copy(submit=submission(gid=None)), "an array": copy(submit=submission(array="0-99999")),
             "components": copy(submit=submission(components=[messages().HetComponent(job=messages().JobRecord(name="sent"))]))}
    with as_peer(fed, b) as p:
        for what, message in wrong.items():
            assert code(p.call("fed-copy", message)) != "ok", what
        assert code(p.call("fed-copy", b"\x0a\x7fmalformed")) != "ok"
    with as_peer(fed, b) as p:
        named = lambda name: submission(job=messages().JobRecord(name=name, num_tasks=1, work_dir="/tmp", batch=True))
        for name in ("a\nb", "\x1b[2J"):
            assert code(p.call("fed-copy", copy(submit=named(name)))) != "ok", repr(name)
        flags, answer = p.call("fed-copy", copy(submit=submission(script=None)))
        assert not flags & ERROR and answer.refused and not answer.present, "a user could not submit it either"
        flags, answer = p.call("fed-copy", copy(version=5, submit=None))
        assert not flags & ERROR and not answer.present, "to take away what is not there changes nothing"
    assert queue(b, "-a", "-t", "all", "-o", "%i %T %j") == before
    with as_peer(fed, b) as p:
        flags, answer = p.call("fed-copy", copy())
        assert not flags & ERROR and answer.present, "with all of it the copy is taken"
    assert b.job(ID["aa"] + 9)["JobName"] == "sent"


def test_a_number_is_given_twice(fed):
    """A cluster that begins anew counts from 1 again: its new job is not taken for the old one, whose messages may come late."""
    _, b, _ = fed.list
    named = lambda name: submission(job=messages().JobRecord(name=name, num_tasks=1, work_dir="/tmp", batch=True))
    name = lambda: (b.job(ID["aa"] + 9)["JobName"], b.job(ID["aa"] + 9)["JobState"])
    with as_peer(fed, b) as p:
        put = lambda **what: (lambda flags, answer: not flags & ERROR and answer.present)(*p.call("fed-copy", copy(**what)))
        assert put(version=5) and name() == ("sent", "PENDING")
        assert put(version=1, submit_us=2, submit=named("later")) and name() == ("later", "PENDING")
        assert not put(version=6, submit_us=1, submit=None, cancel=True)
        assert name() == ("later", "PENDING"), "the end of the old job does not end the new one"
        assert not put(version=1, submit_us=2, submit=None)
        wait_until(lambda: name() == ("later", "REVOKED"), "the new one's does")
        assert put(version=1, submit_us=3, submit=named("third")) and name() == ("third", "PENDING"), "also in place of an ended one"


def test_malformed_questions(fed):
    """A question about no job, of no member, or of one that has no right to the job changes nothing at the origin."""
    a, b, _ = fed.list
    pb = messages()
    fed.fill(*fed.list)
    job = fed.submit(a)
    wait_until(lambda: str(job) in queue(b, "-o", "%i"), "bb has a copy")
    shown = lambda: a.run("squeue", "-h", "-a", "-j", job, "-O", "State:12,Reason:20,SiblingsViable:12,SiblingsActive:12").out
    wait_until(lambda: shown().count("aa,bb,cc") == 2, "all have it")
    before = shown()
    wrong = {"no member": ask(job_id=job, cluster="dd"), "no name": ask(job_id=job, cluster=None),
             "the origin's name": ask(job_id=job, cluster="aa"), "no matter": ask(job_id=job, kind=None), "no job": ask(),
             "no version": ask(job_id=job, version=None)}
    idle = {"an old version": ask(job_id=job, version=0), "one to come": ask(job_id=job, version=2 ** 32 - 1),
            "a job that is not there": ask(job_id=ID["aa"] + 999),
            "an end without the right": ask(job_id=job, kind=pb.FED_ASK_ENDED, run=pb.JobRecord(state=pb.JOB_COMPLETED)),
            "a start without the right": ask(job_id=job, kind=pb.FED_ASK_STARTED),
            "a right that it has not": ask(job_id=job, kind=pb.FED_ASK_RELEASE)}
    with as_peer(fed, a) as p:
        for what, message in wrong.items():
            assert code(p.call("fed-ask", message)) != "ok", what
        for what, message in idle.items():
            flags, answer = p.call("fed-ask", message)
            assert flags & ERROR or not answer.granted, what
    assert shown() == before
    with as_peer(fed, a) as p:
        version = next(v for v in range(1, 20) if p.call("fed-ask", ask(job_id=job, version=v))[1].granted)
        flags, answer = p.call("fed-ask", ask(job_id=job, cluster="cc", version=version))
        assert not flags & ERROR and not answer.granted, "the right to start it was given already"
