"""Requests that schemathesis makes of the OpenAPI document, good ones and bad ones, thousands: no answer of 500 or more, and
every answer of the document's form."""

import itertools
import json
import os
import subprocess
import time

import pytest

import conftest

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\n"}
WANTED = 10000  # requests
LIMIT_S = 3000  # of all runs together
VERSIONS = ("v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45")
# Examples of each operation.  Making up a large body takes longer than ten requests without one: bodies have fewer.
EXAMPLES = {False: 64, True: 30}


def as_answered(document, version, with_body):
    """The part of the document that is for a version, and for requests with a body or for those without one; without what the
    incumbent's own answers do not keep to: a refused request has none of the keys that are required (recording 30), and a required
    name with a slash in it is no key at all."""
    document = json.loads(json.dumps(document))
    document["paths"] = {path: {method: op for method, op in row.items() if ("requestBody" in op) == with_body}
                         for path, row in document["paths"].items() if f"/{version}/" in path}
    document["paths"] = {path: row for path, row in document["paths"].items() if row}
    outer = {answer["content"]["application/json"]["schema"].get("$ref", "").rsplit("/", 1)[-1]
             for row in document["paths"].values() for op in row.values() if isinstance(op, dict)
             for answer in op["responses"].values() if "application/json" in answer.get("content", {})}
    for name, schema in document["components"]["schemas"].items():
        kept = [] if name in outer else [key for key in schema.get("required", []) if "/" not in key]
        schema.pop("required", None)
        if kept:
            schema["required"] = kept
    return document


def run_schemathesis(folder, document, rest, examples, limit_s):
    """(requests made, what it printed when something was wrong)"""
    (folder / "document.json").write_text(json.dumps(document))
    events = folder / "events.ndjson"
    argv = [conftest.VENV / "bin" / "schemathesis", "run", folder / "document.json", "-u", f"http://127.0.0.1:{rest.port}",
            "-H", f"X-SLURM-USER-TOKEN:{rest.token('root')}", "--checks", "not_a_server_error,response_schema_conformance",
            "--phases", "fuzzing", "-n", examples, "--seed", "1", "--generation-database", "none", "--continue-on-failure", "--no-shrink",
            "--suppress-health-check", "all", "--request-timeout", "60", "-w", "2", "--warnings", "off", "--no-color",
            "--report", "ndjson", "--report-ndjson-path", events]
    done = subprocess.run(list(map(str, argv)), cwd=folder, capture_output=True, text=True, timeout=limit_s,
                          env={**os.environ, "HOME": str(folder)})
    generated = [line for line in done.stdout.splitlines() if " generated" in line]
    assert generated, done.stdout[-3000:] + done.stderr[-3000:]
    return int(generated[0].split()[0]), done.stdout if done.returncode else ""


def test_schemathesis(shared, tmp_path):
    if not conftest.has_distribution("schemathesis"):
        pytest.skip("schemathesis is not installed: the package index was not reachable, or has no build of it for this system")
    for daemon in shared.slurmds.values():  # what is submitted is not run: a job of nonsense may write anywhere
        assert daemon.stop() == 0
    made, wrong, counts, deadline = 0, "", [], time.monotonic() + LIMIT_S
    with conftest.integration("restd").Restd(shared) as rest:
        document = rest.get("/openapi/v3")[1]
        for version, with_body in itertools.product(VERSIONS, EXAMPLES):
            folder = tmp_path / f"{version}-{'body' if with_body else 'plain'}"
            folder.mkdir()
            n, told = run_schemathesis(folder, as_answered(document, version, with_body), rest, EXAMPLES[with_body],
                                       deadline - time.monotonic())
            counts.append(f"{folder.name} {n}")
            made, wrong = made + n, wrong + told
    print(f"{made} requests: {', '.join(counts)}")
    assert wrong == "", wrong[-8000:]
    assert made >= WANTED, f"only {made} requests: {counts}"
