"""POST /penstock/v1/signin: a word that a user got at slurmctld's local socket becomes a token, once, and for nobody else's rights."""

import base64
import http.client
import json
import os

import pytest

from rawwire import ERROR, Peer, messages
from restd import Restd, V, token_reply, word_of

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="asks as other users")
CLUSTER = {"nodes": 1, "conf": "AuthAltTypes=auth/jwt\nPrivateData=jobs\nAuthAltParameters=max_token_lifespan=900\nSlurmctldParameters=enable_rest"}
PATH = "/penstock/v1/signin"


@pytest.fixture(scope="module")
def rest(shared):
    with Restd(shared) as r:
        yield r


def exchange(rest, word, **headers):
    status, _, text = rest.raw("POST", PATH, json.dumps({"word": word}), {"Content-Type": "application/json", **headers})
    return status, json.loads(text)


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def names(rest, token):
    status, _, text = rest.raw("GET", f"/slurm/{V}/jobs/", headers={"X-SLURM-USER-TOKEN": token})
    assert status == 200
    return {j["name"] for j in json.loads(text)["jobs"]}


def test_rights_of_who_asked(rest):
    """With PrivateData=jobs each sees his own; a header that names another user, or another's token, changes nothing."""
    for user in ("bin", "games"):
        rest.post("job/submit", {"script": "#!/bin/sh\ntrue\n", "job": {"name": f"of-{user}", "hold": True, "current_working_directory": "/tmp",
                                                                       "environment": ["A=b"]}}, user=user)
    for user, seen in (("bin", {"of-bin"}), ("games", {"of-games"}), ("root", {"of-bin", "of-games"})):
        status, answer = exchange(rest, word_of(rest.c, user), **{"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": rest.token("root")})
        assert status == 200 and claims(answer["token"])["sun"] == user
        assert names(rest, answer["token"]) == seen


def test_once(rest):
    word = word_of(rest.c, "bin")
    assert exchange(rest, word)[0] == 200
    status, answer = exchange(rest, word)
    assert status == 422 and answer["errors"][0]["error_number"] == 6001 and "token" not in answer
    assert answer["errors"][0]["error"] == "this word was used already, or its minute is over"


def test_lifespan_is_limited(rest):
    """max_token_lifespan= holds for the token of a word as for any other."""
    for user, life in (("bin", 900), ("root", 28800)):
        got = claims(exchange(rest, word_of(rest.c, user, lifespan_s=28800))[1]["token"])
        assert got["exp"] - got["iat"] == life


def test_nobody_else_gets_a_word(rest):
    """A user has no word for another, and a token makes no word."""
    assert token_reply(rest.c, "bin", as_word=True, user="root")[1].code == 2010
    pb = messages()
    with Peer.tcp_jwt(rest.c.port, rest.token("bin")) as peer:
        flags, answer = peer.call("token", pb.TokenRequest(as_word=True))
    assert flags & ERROR and answer.code == 2002


def test_at_the_controllers_own_port(rest):
    conn = http.client.HTTPConnection("127.0.0.1", rest.c.port, timeout=60)
    word = word_of(rest.c, "bin")
    conn.request("POST", PATH, json.dumps({"word": word}), {"Content-Type": "application/json"})
    answer = conn.getresponse()
    assert answer.status == 200 and claims(json.loads(answer.read())["token"])["sun"] == "bin"
    conn.close()


BAD = [b"", b"{}", b"[]", b'{"word": 7}', b'{"word": null}', b'{"word": ["a"]}', b'{"word": ""}', b'{"word": "' + b"g" * 32 + b'"}',
       b'{"word": "' + b"A" * 32 + b'"}', b'{"word": "' + b"0" * 31 + b'"}', b'{"word": "' + b"0" * 33 + b'"}',
       b'{"word": "' + b"0" * 31 + b'\\u0000"}', b'{"token": "' + b"0" * 32 + b'"}', b'{"word": "' + b"0" * 200_000 + b'"}']


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_words(rest, body):
    status, _, text = rest.raw("POST", PATH, body, {"Content-Type": "application/json"})
    assert status == (400 if body == b'{"word": "' + b"0" * 31 + b'\\u0000"}' else 422), text[:200]
    assert "eyJ" not in text


def test_strangers_have_little_room(rest):
    """Whoever has not said who he is fills no memory: not even with the token of somebody."""
    for headers in ({}, {"X-SLURM-USER-TOKEN": rest.token("root")}):
        status, _, text = rest.raw("POST", PATH, b" " * (300 * 1024), {"Content-Type": "application/json", **headers})
        assert status == 413, text[:200]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods(rest, method):
    assert rest.raw(method, PATH)[0] == 404


def test_where_no_tokens_are_read(rest):
    with Restd(rest.c, "-a", "rest_auth/local") as local:
        word = word_of(rest.c, "bin")
        status, answer = exchange(local, word)
        assert status == 422 and "rest_auth/jwt" in answer["errors"][0]["description"]
        assert exchange(rest, word)[0] == 200  # it is not used up


def test_a_dead_controller(rest):
    word = word_of(rest.c, "bin")
    rest.c.kill_ctld()
    assert exchange(rest, word)[0] == 503
    rest.c.start_ctld()
    assert exchange(rest, word)[0] == 422  # it remembers none
