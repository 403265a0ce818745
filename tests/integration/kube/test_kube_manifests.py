"""deploy/kubernetes: the definitions have every field that the operator reads, and the example is valid."""

import re

from conftest import ROOT

from manifests import documents


def fields(schema, path):
    for word in path.split("."):
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        schema = schema.get("properties", {}).get(word)
        if schema is None:
            return False
    return True


def kinds():
    return {d["spec"]["names"]["kind"]: d["spec"] for d in documents("crds.yaml")}


def test_every_rule_has_its_field():
    source = (ROOT / "src/kube/operator/opspec.c").read_text()
    rows = re.findall(r'\{ OPKIND_(\w+), "([\w.]+)"', source)
    assert len(rows) > 40
    by_name = {kind.upper(): spec for kind, spec in kinds().items()}
    for kind, path in rows:
        schema = by_name[kind]["versions"][0]["schema"]["openAPIV3Schema"]
        assert fields(schema, path), f"{kind} has no {path}"


def test_definitions():
    assert set(kinds()) == {"Controller", "NodeSet", "Accounting", "RestApi", "LoginSet", "Token"}
    for kind, spec in kinds().items():
        version = spec["versions"][0]
        assert (spec["group"], version["name"], version["storage"]) == ("operator.penstock", "v1beta1", True)
        assert "status" in version["subresources"] and ("scale" in version["subresources"]) == kind.endswith("Set")
        assert "observedGeneration" in version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]


def test_example_names_known_fields():
    for one in [*documents("cluster.yaml"), *documents("login.yaml")[1:]]:
        schema = kinds()[one["kind"]]["versions"][0]["schema"]["openAPIV3Schema"]
        for key in one["spec"]:
            assert fields(schema, f"spec.{key}"), (one["kind"], key)
