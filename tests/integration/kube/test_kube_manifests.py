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
    source = (ROOT / "src/kube/make/opspec.c").read_text()
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


# what an API server refuses in the schema of a definition, and what it never leaves out
REFUSED_WORDS = {"$ref", "$schema", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties", "readOnly",
                 "writeOnly", "xml"}
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}


def default_fits(schema):
    default = schema["default"]
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(default, (int, str))
    if isinstance(default, bool) != (schema.get("type") == "boolean") or not isinstance(default, TYPES[schema["type"]]):
        return False
    if isinstance(default, dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        return set(default) <= set(schema.get("properties", default))
    return default in schema.get("enum", [default])


def key_is_sure(items, key):
    """A key of a list of type map is in each item, or is filled in."""
    return key in items.get("required", []) or "default" in items.get("properties", {}).get(key, {})


def unstructured(schema, path):
    """Where a schema is not structural, as an API server asks: it would refuse the definition, or serve it without pruning."""
    wrong = [f"{path}: {word}" for word in REFUSED_WORDS & set(schema)]
    loose = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if ("type" not in schema and not loose) or ("type" in schema and schema["type"] not in TYPES):
        wrong.append(f"{path}: type")
    if "properties" in schema and "additionalProperties" in schema:
        wrong.append(f"{path}: properties beside additionalProperties")
    if "type" in schema and schema.get("x-kubernetes-int-or-string"):
        wrong.append(f"{path}: a type beside x-kubernetes-int-or-string")
    if schema.get("uniqueItems") or (schema.get("type") == "array") != ("items" in schema):
        wrong.append(f"{path}: an array's items")
    if not wrong and "default" in schema and not default_fits(schema):
        wrong.append(f"{path}: default")
    wrong += [f"{path}: key {key}" for key in schema.get("x-kubernetes-list-map-keys", []) if not key_is_sure(schema["items"], key)]
    wrong += [f"{path}: required {key}" for key in schema.get("required", []) if "properties" in schema and key not in schema["properties"]]
    for key, one in schema.get("properties", {}).items():
        wrong += unstructured(one, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            wrong += unstructured(schema[key], f"{path}.{key}")
    return wrong


def test_schemas_are_structural():
    for kind, spec in kinds().items():
        for version in spec["versions"]:
            assert not unstructured(version["schema"]["openAPIV3Schema"], kind)


def test_what_is_not_structural_is_seen():
    for schema in ({}, {"type": "array"}, {"type": "text"}, {"type": "integer", "default": "1"}, {"type": "integer", "default": True},
                   {"type": "string", "x-kubernetes-int-or-string": True}, {"type": "string", "enum": ["a"], "default": "b"},
                   {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}, {"type": "object", "$ref": "x"},
                   {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
                   {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}},
                   {"type": "array", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}}}):
        assert unstructured(schema, "x"), schema


def test_scale_paths_are_fields():
    """A path that names no field makes the scale subresource say nothing."""
    for kind, spec in kinds().items():
        version = spec["versions"][0]
        for path in version["subresources"].get("scale", {}).values():
            assert path.startswith(".") and fields(version["schema"]["openAPIV3Schema"], path[1:]), (kind, path)


def test_example_names_known_fields():
    for one in [*documents("cluster.yaml"), *documents("login.yaml")[1:], *documents("ha.yaml")[-1:]]:
        schema = kinds()[one["kind"]]["versions"][0]["schema"]["openAPIV3Schema"]
        for key in one["spec"]:
            assert fields(schema, f"spec.{key}"), (one["kind"], key)
