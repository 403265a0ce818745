"""Requests that schemathesis makes of the OpenAPI document, good ones and bad ones, thousands: no answer of 500 or more, and
every answer of the document's form."""

import json
import os
import subprocess

import pytest

import conftest

CLUSTER = {"nodes": 2, "conf": "AuthAltTypes=auth/jwt\n"}
WANTED = 10000  # requests
LIMIT_S = 3000
VERSIONS = ("v0.0.42", "v0.0.45")  # the oldest and the newest; the others have the same handlers


def as_answered(document, version):
    """The part of the document that is for a version, without what the incumbent's own answers do not keep to: a refused request
    has none of the keys that are required (recording 30), and a required name with a slash in it is no key at all."""
    document = json.loads(json.dumps(document))
    document["paths"] = {path: row for path, row in document["paths"].items() if f"/{version}/" in path}
    outer = {answer["content"]["application/json"]["schema"].get("$ref", "").rsplit("/", 1)[-1]
             for row in document["paths"].values() for op in row.values() if isinstance(op, dict)
             for answer in op["responses"].values() if "application/json" in answer.get("content", {})}
    for name, schema in document["components"]["schemas"].items():
        kept = [] if name in outer else [key for key in schema.get("required", []) if "/" not in key]
        schema.pop("required", None)
        if kept:
            schema["required"] = kept
    return document


def run_schemathesis(folder, document, rest, examples):
    """(requests made, what it printed when something was wrong)"""
    (folder / "document.json").write_text(json.dumps(document))
    events = folder / "events.ndjson"
    argv = [conftest.VENV / "bin" / "schemathesis", "run", folder / "document.json", "-u", f"http://127.0.0.1:{rest.port}",
            "-H", f"X-SLURM-USER-TOKEN:{rest.token('root')}", "--checks", "not_a_server_error,response_schema_conformance",
            "--phases", "fuzzing", "-n", examples, "--seed", "1", "--generation-database", "none", "--continue-on-failure", "--no-shrink",
            "--suppress-health-check", "all", "--request-timeout", "60", "-w", "2", "--warnings", "off", "--no-color",
            "--report", "ndjson", "--report-ndjson-path", events]
    done = subprocess.run(list(map(str, argv)), cwd=folder, capture_output=True, text=True, timeout=LIMIT_S,
                          env={**os.environ, "HOME": str(folder)})
    generated = [line for line in done.stdout.splitlines() if " generated" in line]
    assert generated, done.stdout[-3000:] + done.stderr[-3000:]
    return int(generated[0].split()[0]), done.stdout if done.returncode else ""


def test_schemathesis(shared, tmp_path):
    if not conftest.has_distribution("schemathesis"):
        pytest.skip("schemathesis is not installed: the package index was not reachable, or has no build of it for this system")
    for daemon in shared.slurmds.values():  # what is submitted is not run: a job of nonsense may write anywhere
        assert daemon.stop() == 0
    made, wrong = 0, ""
    with conftest.integration("restd").Restd(shared) as rest:
        document = rest.get("/openapi/v3")[1]
        for version in VERSIONS:
            folder = tmp_path / version
            folder.mkdir()
            part = as_answered(document, version)
            operations = sum(len(row) for row in part["paths"].values())
            n, told = run_schemathesis(folder, part, rest, 2 * WANTED // len(VERSIONS) // operations)
            made, wrong = made + n, wrong + told
    assert wrong == "", wrong[-8000:]
    assert made >= WANTED, f"only {made} requests"
