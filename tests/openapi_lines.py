#!/usr/bin/python3
"""An OpenAPI document as lines that can be compared: operations with their words and schemas, and schemas with their fields.
Sentences are left out.

usage: tests/openapi_lines.py DOCUMENT.json"""

import json
import sys

PREFIX = "#/components/schemas/"


def ref_of(content):
    (kind, inner), = content["content"].items()
    return f'{kind}:{inner["schema"]["$ref"].removeprefix(PREFIX)}'


def type_lines(name, schema):
    deprecated = " deprecated" if schema.get("deprecated") else ""
    if "$ref" in schema:
        yield f'{name}: {schema["$ref"].removeprefix(PREFIX)}{deprecated}'
        return
    kind = schema["type"] + (f':{schema["format"]}' if "format" in schema else "")
    words = " " + ",".join(schema["enum"]) if "enum" in schema else ""
    required = f' required {",".join(sorted(schema["required"]))}' if "required" in schema else ""
    yield f"{name}: {kind}{words}{deprecated}{required}"
    for field, inner in schema.get("properties", {}).items():
        yield from type_lines(f"{name}.{field}", inner)
    if "items" in schema:
        yield from type_lines(f"{name}[]", schema["items"])


def operation_lines(path, method, op):
    yield f'{method} {path} {op["operationId"]} {",".join(op["tags"])}'
    for word in op.get("parameters", []):
        flags = [f"{key}={str(word[key]).lower()}" for key in ("required", "style", "explode", "allowEmptyValue", "allowReserved")]
        yield from type_lines(f'{method} {path} {word["in"]} {word["name"]} {" ".join(flags)}', word["schema"])
    if "requestBody" in op:
        yield f'{method} {path} body {ref_of(op["requestBody"])}'
    for status, answer in op["responses"].items():
        yield f"{method} {path} {status} {ref_of(answer)}"


def lines(document):
    result = []
    for path, methods in document["paths"].items():
        for method, op in methods.items():
            result += operation_lines(path, method, op)
    for name, schema in document["components"]["schemas"].items():
        result += type_lines(name, schema)
    for name, scheme in document["components"]["securitySchemes"].items():
        result.append(f"security {name} " + " ".join(f"{k}={v}" for k, v in sorted(scheme.items()) if k != "description"))
    result.append("security " + json.dumps(document["security"]))
    result.append(f'servers {json.dumps(document["servers"])} openapi {document["openapi"]} version {document["info"]["version"]}')
    return sorted(result)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as f:
        print("\n".join(lines(json.load(f))))
