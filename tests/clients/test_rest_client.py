"""A client of slurmrestd that a generator made of Slurm's OpenAPI document, unmodified."""

import pytest

import conftest

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\n"}


@pytest.fixture(scope="module")
def rest(shared):
    with conftest.integration("restd").Restd(shared) as r:
        yield r


def test_generated_by_openapi_generator(c, client, rest):
    c.env.update(URL=f"http://127.0.0.1:{rest.port}", TOKEN=rest.token("root"))
    assert client("slurmrestapi", "rest_client.py", c.node_names[0], timeout=300).split() == ["0042", "0043", "0044"]
