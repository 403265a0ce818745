"""What deploy/kubernetes says: the kinds, and what the operator may do."""

import yaml
from conftest import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"


def documents(name):
    with open(FOLDER / name, encoding="utf-8") as f:
        return [d for d in yaml.safe_load_all(f) if d]


def forbidden(asked, file="operator.yaml"):
    """Those of (verb, group, resource) that no role of the file allows."""
    rules = [rule for d in documents(file) if d["kind"] in ("ClusterRole", "Role") for rule in d["rules"]]
    return sorted(one for one in asked if not any(
        one[0] in rule["verbs"] and one[1] in rule["apiGroups"] and one[2] in rule["resources"] for rule in rules))
