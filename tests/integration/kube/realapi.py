"""A real kube-apiserver with the words of apiserver.py, as far as operated.py and kubelet.py use them."""

import json
import ssl
import threading
import urllib.request

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
        for plural in ("nodesets", "restapis", "controllers", "statefulsets", "deployments", "pods", "nodes", "secrets", "configmaps",
                       "persistentvolumeclaims"):
            for one in self.all(plural):
                try:
                    if one["metadata"].get("finalizers"):
                        self.patch(plural, one["metadata"]["name"], {"metadata": {"finalizers": None}})  # nobody is there who would
                    self.delete(plural, one["metadata"]["name"], gracePeriodSeconds=0)
                except Refusal as refusal:
                    assert refusal.code == 404, refusal  # it has gone with its owner

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

    def delete(self, plural, name, gracePeriodSeconds=None):  # noqa: N803  the server's word
        grace = "" if gracePeriodSeconds is None else f"?gracePeriodSeconds={gracePeriodSeconds}"
        return self.ask("DELETE", path_of(plural, name) + grace)

    def bind(self, _namespace, name, binding):
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, **binding}
        return self.ask("POST", path_of("pods", name, "binding"), body)


class Watcher:
    """Tells every change of a kind of objects: see(kind of event, object), from a thread of its own."""

    AGAIN_S = 2  # the server ends a watch after so long; it goes on where it was

    def __init__(self, api, plural, see):
        self.api, self.plural, self.see, self.running, self.trouble = api, plural, see, True, None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.version = self.api.ask("GET", path_of(self.plural))["metadata"]["resourceVersion"]
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        assert not self.trouble, self.trouble

    def run(self):
        try:
            while self.running:
                self.follow()
        except Exception as trouble:  # shown by the test
            self.trouble = trouble

    def follow(self):
        server = self.api.server
        words = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={self.AGAIN_S}&resourceVersion={self.version}"
        request = urllib.request.Request(f"{server.url}{path_of(self.plural)}?{words}",
                                         headers={"Authorization": f"Bearer {server.tokens['admin']}"})
        with urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile=server.dir / "server.crt")) as answer:
            for line in answer:
                event = json.loads(line)
                assert event["type"] != "ERROR", event
                self.version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.see(event["type"], event["object"])
