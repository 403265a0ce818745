"""A real kube-apiserver with the words of apiserver.py, as far as operated.py and kubelet.py use them."""

import threading

from apiserver import KINDS, Refusal
from realserver import Refused


def path_of(plural, name=None, sub=None):
    group, version, _, namespaced, _ = KINDS[plural]
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return "/".join([root, *(["namespaces", "default"] if namespaced else []), plural, *([name] if name else []), *([sub] if sub else [])])


class RealApi:
    def __init__(self, server, user):
        self.server, self.user, self.store, self.lock = server, user, self, threading.Condition()
        self.asked = set()  # the server itself refuses what is not allowed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for plural in ("nodesets", "controllers", "pods", "nodes", "secrets"):
            for one in self.all(plural):
                self.delete(plural, one["metadata"]["name"])

    def ask(self, *words):
        try:
            return self.server.ask(*words)
        except Refused as refused:
            raise Refusal(refused.code, "", str(refused)) from None

    def kubeconfig(self, path):
        return self.server.kubeconfig(path, self.user)

    def all(self, plural):
        return self.ask("GET", path_of(plural))["items"]

    def get(self, plural, name):
        return self.server.get(path_of(plural, name))

    def create(self, plural, obj):
        group, version, kind, _, _ = KINDS[plural]
        return self.ask("POST", path_of(plural), {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, **obj})

    def patch(self, plural, name, patch, sub=None):
        return self.ask("PATCH", path_of(plural, name, sub), patch, "application/merge-patch+json")

    def delete(self, plural, name, **_):
        return self.ask("DELETE", path_of(plural, name) + "?gracePeriodSeconds=0")

    def bind(self, _namespace, name, binding):
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, **binding}
        return self.ask("POST", path_of("pods", name, "binding"), body)
