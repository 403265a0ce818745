"""An API server for tests: the part of Kubernetes' API that our programs use, strict where the real one is strict.

    with ApiServer() as api:                       # in this process, on a free port of 127.0.0.1
        api.create("pods", {"metadata": {"name": "a", "namespace": "default"}, ...})
        api.fault("410")                           # see Faults

Objects are kept in memory with a resourceVersion of one counter. What is served: create, read, replace, delete, list
(labelSelector, fieldSelector on metadata.name, spec.nodeName and spec.schedulerName, limit and continue), watch
(resourceVersion, bookmarks, 410 behind a compaction), the four kinds of patch, the sub-resources status, scale, binding
and eviction, discovery, finalizers, graceful deletion of pods, owner references.

What is refused as the real server refuses it: names that are none (422), an update without resourceVersion or with an old
one (409), a changed uid (409), a second object of a name (409), unknown kinds and sub-resources (404), unknown media types
(415), pods that change what may not change (422), Secrets and ConfigMaps that are immutable (422), binding of a pod that is
bound, gated or being deleted (409)."""

import bisect
import copy
import json
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
# plural: (group, version, kind, namespaced, sub-resources)
KINDS = {
    "pods": ("", "v1", "Pod", True, {"status", "binding", "eviction"}),
    "nodes": ("", "v1", "Node", False, {"status"}),
    "events": ("", "v1", "Event", True, set()),
    "namespaces": ("", "v1", "Namespace", False, {"status"}),
    "leases": ("coordination.k8s.io", "v1", "Lease", True, set()),
    "jobs": ("batch", "v1", "Job", True, {"status"}),
    "deployments": ("apps", "v1", "Deployment", True, {"status", "scale"}),
    "jobsets": ("jobset.x-k8s.io", "v1alpha2", "JobSet", True, {"status"}),
    "leaderworkersets": ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", True, {"status", "scale"}),
    "podgroups": ("scheduling.x-k8s.io", "v1alpha1", "PodGroup", True, {"status"}),
    "poddisruptionbudgets": ("policy", "v1", "PodDisruptionBudget", True, {"status"}),
    "services": ("", "v1", "Service", True, {"status"}),
    "configmaps": ("", "v1", "ConfigMap", True, set()),
    "secrets": ("", "v1", "Secret", True, set()),
    "persistentvolumeclaims": ("", "v1", "PersistentVolumeClaim", True, {"status"}),
    "persistentvolumes": ("", "v1", "PersistentVolume", False, {"status"}),
    "storageclasses": ("storage.k8s.io", "v1", "StorageClass", False, set()),
    "resourceclaims": ("resource.k8s.io", "v1", "ResourceClaim", True, {"status"}),
    "resourceslices": ("resource.k8s.io", "v1", "ResourceSlice", False, set()),
    "deviceclasses": ("resource.k8s.io", "v1", "DeviceClass", False, set()),
    "servicemonitors": ("monitoring.coreos.com", "v1", "ServiceMonitor", True, set()),
    "statefulsets": ("apps", "v1", "StatefulSet", True, {"status", "scale"}),
    "validatingwebhookconfigurations": ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", False, set()),
    "mutatingwebhookconfigurations": ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", False, set()),
    "controllerrevisions": ("apps", "v1", "ControllerRevision", True, set()),
}
KINDS["workloads"] = ("scheduling.k8s.io", "v1alpha2", "Workload", True, {"status"})
KINDS["podgroups.scheduling.k8s.io"] = ("scheduling.k8s.io", "v1alpha2", "PodGroup", True, {"status"})
# Two groups have the same plurals: those of the second are kept under PLURAL.GROUP.
for _plural, _kind in (("controllers", "Controller"), ("nodesets", "NodeSet"), ("accountings", "Accounting"),
                       ("restapis", "RestApi"), ("loginsets", "LoginSet"), ("tokens", "Token")):
    KINDS[_plural] = ("operator.penstock", "v1beta1", _kind, True, {"status", "scale"} if "Set" in _kind else {"status"})
    KINDS[f"{_plural}.slinky.slurm.net"] = ("slinky.slurm.net", *KINDS[_plural][1:])
# Lists of pods that a strategic merge patch merges, and the member that tells their items apart; "": items are texts.
MERGE_KEYS = {"conditions": "type", "tolerations": None, "containers": "name", "ownerReferences": "uid", "finalizers": "",
              "env": "name", "volumes": "name", "addresses": "type", "taints": "key"}
GRACE = 30


def is_custom(plural):
    group = KINDS[plural][0]
    return ("." in group and not group.endswith("k8s.io")) or ".x-k8s.io" in group


class Refusal(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def body(self):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
                "reason": self.reason, "code": self.code}


def invalid(message):
    return Refusal(422, "Invalid", message)


def conflict(message):
    return Refusal(409, "Conflict", message)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# ---- patches --------------------------------------------------------------------------------------------------------

def merge(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def strategic(target, patch, key=""):
    if isinstance(patch, dict):
        target = dict(target) if isinstance(target, dict) else {}
        if patch.get("$patch") == "replace":
            return {k: v for k, v in patch.items() if k != "$patch"}
        for name, value in patch.items():
            if name.startswith("$deleteFromPrimitiveList/"):
                member = name.split("/", 1)[1]
                target[member] = [one for one in target.get(member, []) if one not in value]
            elif value is None:
                target.pop(name, None)
            else:
                target[name] = strategic(target.get(name), value, name)
        return target
    if isinstance(patch, list) and MERGE_KEYS.get(key) is not None:
        return strategic_list(target if isinstance(target, list) else [], patch, MERGE_KEYS[key])
    return copy.deepcopy(patch)


def strategic_list(target, patch, by):
    result = list(target)
    for one in patch:
        if by == "":
            result += [one] if one not in result else []
            continue
        if by not in one:
            raise Refusal(400, "BadRequest", f"a list's item without {by}")
        at = next((i for i, old in enumerate(result) if old.get(by) == one[by]), None)
        if one.get("$patch") == "delete":
            result = [old for i, old in enumerate(result) if i != at]
        elif at is None:
            result.append(one)
        else:
            result[at] = strategic(result[at], one)
    return result


def json_patch(target, operations):
    """RFC 6902: test, add, replace, remove."""
    target = copy.deepcopy(target)
    for op in operations:
        *parents, last = [p.replace("~1", "/").replace("~0", "~") for p in op["path"].split("/")[1:]]
        at = target
        try:
            for part in parents:
                at = at[int(part)] if isinstance(at, list) else at[part]
            if isinstance(at, list):
                last = len(at) if last == "-" else int(last)
            have = at[last] if not isinstance(at, list) or last < len(at) else None
        except (KeyError, IndexError, ValueError, TypeError):
            have = KeyError
            if op["op"] != "add" or at is None:
                raise invalid(f"the path {op['path']} is not there") from None
        if op["op"] == "test" and have != op["value"]:
            raise invalid(f"testing value {op['path']} failed")
        if op["op"] == "remove":
            del at[last]
        elif op["op"] in ("add", "replace"):
            at.insert(last, op["value"]) if isinstance(at, list) and op["op"] == "add" else at.__setitem__(last, op["value"])
    return target


def leaves(tree, path=()):
    """The paths of all values that are no objects: what a manager of fields owns."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, tree


# ---- objects --------------------------------------------------------------------------------------------------------

class Store:
    def __init__(self):
        self.lock = threading.Condition()
        self.objects = {}     # (plural, namespace, name) -> object
        self.version = 100
        self.log = []         # (version, plural, type, object)
        self.compacted = 0    # nothing up to here is in the log
        self.owners = {}      # key -> {path: manager}
        self.admission = []   # functions (plural, object) that may raise Refusal or change the object
        self.observers = []   # functions (type, plural, object) that are told of each change before anybody else

    def note(self, kind, plural, obj):
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((self.version, plural, kind, copy.deepcopy(obj)))
        for observe in self.observers:
            observe(kind, plural, obj)
        self.lock.notify_all()

    def since(self, version):
        return self.log[bisect.bisect_right(self.log, version, key=lambda entry: entry[0]):]

    def compact(self):
        with self.lock:
            self.version += 1
            self.compacted, self.log = self.version, []
            self.lock.notify_all()

    @staticmethod
    def key(plural, obj):
        return plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    def check(self, plural, obj):
        group, version, kind, namespaced, _ = KINDS[plural]
        meta = obj.get("metadata")
        if not isinstance(meta, dict):
            raise Refusal(400, "BadRequest", "metadata is missing")
        if obj.setdefault("apiVersion", f"{group}/{version}" if group else version) != (f"{group}/{version}" if group else version) \
                or obj.setdefault("kind", kind) != kind:
            raise Refusal(400, "BadRequest", "the object's kind is not that of the address")
        if not NAME.fullmatch(meta.get("name", "")):
            raise invalid(f"{kind} \"{meta.get('name', '')}\" is invalid: metadata.name: Invalid value")
        if bool(meta.get("namespace")) != namespaced:
            raise Refusal(400, "BadRequest", "the namespace of the object does not match the request")
        for field in ("labels", "annotations"):
            if not all(isinstance(v, str) for v in (meta.get(field) or {}).values()):
                raise Refusal(400, "BadRequest", f"{field}: a value is no text")
        for key, value in (meta.get("labels") or {}).items():
            if not re.fullmatch(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?", value) or not key:
                raise invalid(f"metadata.labels: Invalid value: {value!r}")
        if any("/" not in f for f in meta.get("finalizers") or []):
            raise invalid("metadata.finalizers: a name without a domain")
        if plural == "events":
            self.check_event(obj)
        if plural == "pods" and not obj.get("spec", {}).get("containers"):
            raise invalid("spec.containers: Required value")

    @staticmethod
    def check_event(event):
        about = event.get("involvedObject") or {}
        if (about.get("namespace") or "default") != event["metadata"]["namespace"]:
            raise invalid("involvedObject.namespace: does not match event.namespace")
        if event.get("type") not in ("Normal", "Warning") or not re.fullmatch(r"[A-Z]\w{0,127}", event.get("reason", "")):
            raise invalid("type or reason: Invalid value")
        if not 0 < len(event.get("message", "").encode()) <= 1024 or not about.get("kind") or not about.get("uid"):
            raise invalid("message or involvedObject: Invalid value")

    def create(self, plural, obj):
        with self.lock:
            obj = copy.deepcopy(obj)
            meta = obj.setdefault("metadata", {})
            if meta.get("generateName") and not meta.get("name"):
                meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
            self.check(plural, obj)
            if meta.get("resourceVersion"):
                raise Refusal(400, "BadRequest", "resourceVersion should not be set on objects to be created")
            for change in self.admission:
                change(plural, obj)
            key = self.key(plural, obj)
            if key in self.objects:
                raise Refusal(409, "AlreadyExists", f"{plural} \"{meta['name']}\" already exists")
            meta.update(uid=str(uuid.uuid4()), creationTimestamp=now(), generation=1)
            meta.pop("deletionTimestamp", None)
            if plural == "pods":
                obj["status"] = {"phase": "Pending"}
                obj["spec"].setdefault("schedulerName", "default-scheduler")
            self.objects[key] = obj
            self.note("ADDED", plural, obj)
            made, refs = copy.deepcopy(obj), meta.get("ownerReferences") or []
            if refs and not any(self.has_uid(r.get("uid")) for r in refs):
                self.delete(plural, key[1], key[2], {})  # as the garbage collector does: no owner is there
            return made

    def get(self, plural, namespace, name):
        with self.lock:
            try:
                return copy.deepcopy(self.objects[plural, namespace, name])
            except KeyError:
                raise Refusal(404, "NotFound", f"{plural} \"{name}\" not found") from None

    def write(self, plural, old, new, sub):
        """Put `new` in place of `old`; called with the lock."""
        new = copy.deepcopy(new)  # a patch may have left parts of it in common with the old one
        key, meta = self.key(plural, old), new["metadata"]
        if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise conflict("Precondition failed: UID in precondition does not match")
        if meta.get("name") != old["metadata"]["name"] or meta.get("namespace") != old["metadata"].get("namespace"):
            raise Refusal(400, "BadRequest", "the name of the object does not match the address")
        for field in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
            meta.pop(field, None)
            if field in old["metadata"]:
                meta[field] = old["metadata"][field]
        has_status = "status" in KINDS[plural][4]
        if sub == "status":
            new = {**old, "status": new.get("status", {}), "metadata": {**old["metadata"]}}
        elif has_status:
            new["status"] = old.get("status", {})
        self.check(plural, new)
        if plural == "pods" and sub is None:
            self.check_pod_change(old, new)
        if plural in ("secrets", "configmaps") and old.get("immutable"):
            for field in ("immutable", "data", "binaryData", "stringData"):
                if old.get(field) != new.get(field):
                    raise invalid(f"{field}: Forbidden: field is immutable when `immutable` is set")
        if plural == "resourceclaims":
            self.check_claim(old, new)
        if old["metadata"].get("deletionTimestamp") and set(new["metadata"].get("finalizers") or []) - set(
                old["metadata"].get("finalizers") or []):
            raise invalid("metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted")
        if {**new, "metadata": {**new["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}} == old:
            return copy.deepcopy(old)  # nothing changed: no new version
        if {k: v for k, v in new.items() if k not in ("metadata", "status")} != {
                k: v for k, v in old.items() if k not in ("metadata", "status")}:
            new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
        self.objects[key] = new
        self.note("MODIFIED", plural, new)
        self.finish(plural, new)
        return copy.deepcopy(new)

    @staticmethod
    def check_claim(old, new):
        """A claim's spec never changes; an allocation is there or not, and names devices of its requests."""
        if old.get("spec") != new.get("spec"):
            raise invalid("spec: Invalid value: field is immutable")
        before, now_ = (o.get("status", {}).get("allocation") for o in (old, new))
        if before and now_ and before != now_:
            raise invalid("status.allocation: Invalid value: field is immutable")
        results = (now_ or {}).get("devices", {}).get("results", [])
        requests = {r["name"] for r in new["spec"]["devices"]["requests"]}
        if len(results) > 32 or not all(r.get("request") in requests and r.get("driver") and r.get("pool") and r.get("device")
                                        for r in results):
            raise invalid("status.allocation.devices.results: Invalid value")
        if new.get("status", {}).get("reservedFor") and not now_:
            raise invalid("status.reservedFor: Forbidden: may not be specified when `allocated` is not set")

    @staticmethod
    def check_pod_change(old, new):
        def rest(pod):
            spec = copy.deepcopy(pod["spec"])
            for field in ("tolerations", "activeDeadlineSeconds", "schedulingGates"):
                spec.pop(field, None)
            for c in spec.get("containers", []) + spec.get("initContainers", []):
                c.pop("image", None)
            return spec
        if rest(old) != rest(new):
            raise invalid("spec: Forbidden: pod updates may not change fields other than image, tolerations, gates and deadline")
        if [t for t in old["spec"].get("tolerations", []) if t not in new["spec"].get("tolerations", [])]:
            raise invalid("spec.tolerations: Forbidden: existing toleration can not be modified")
        gates, before = ([g["name"] for g in p["spec"].get("schedulingGates", [])] for p in (new, old))
        if set(gates) - set(before):
            raise invalid("spec.schedulingGates: Forbidden: only deletion is allowed")

    def replace(self, plural, namespace, name, obj, sub=None):
        with self.lock:
            old = self.get(plural, namespace, name)
            new = copy.deepcopy(obj)
            version = new.get("metadata", {}).get("resourceVersion")
            if not version:
                raise invalid("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update")
            if version != old["metadata"]["resourceVersion"]:
                raise conflict(f"Operation cannot be fulfilled on {plural} \"{name}\": the object has been modified; please apply "
                               "your changes to the latest version and try again")
            return self.write(plural, old, new, sub)

    def patch(self, plural, namespace, name, kind, patch, sub=None, manager="", force=False):
        with self.lock:
            if kind == "application/apply-patch+yaml":
                return self.apply(plural, namespace, name, patch, sub, manager, force)
            old = self.get(plural, namespace, name)
            if kind == "application/merge-patch+json":
                new = merge(old, patch)
            elif kind == "application/strategic-merge-patch+json":
                if is_custom(plural):
                    raise Refusal(415, "UnsupportedMediaType", "strategic merge patches are not supported for custom resources")
                new = strategic(old, patch)
            elif kind == "application/json-patch+json":
                new = json_patch(old, patch)
            else:
                raise Refusal(415, "UnsupportedMediaType", f"{kind} is no patch")
            if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
                raise Refusal(400, "BadRequest", "the result is no object")
            if new["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
                raise conflict(f"Operation cannot be fulfilled on {plural} \"{name}\": the object has been modified")
            return self.write(plural, old, new, sub)

    def apply(self, plural, namespace, name, patch, sub, manager, force):
        if not manager:
            raise Refusal(400, "BadRequest", "fieldManager is required for apply patch")
        if any(k in patch.get("metadata", {}) for k in ("managedFields",)):
            raise Refusal(400, "BadRequest", "metadata.managedFields must be nil")
        key = plural, namespace, name
        owners = self.owners.setdefault(key, {})
        wanted = {p: v for p, v in leaves({k: v for k, v in patch.items() if k not in ("apiVersion", "kind")})
                  if p[:1] != ("metadata",) or p[1:2] in (("labels",), ("annotations",))}
        if key not in self.objects:
            patch = {**patch, "metadata": {**patch.get("metadata", {}), "name": name, **({"namespace": namespace} if namespace else {})}}
            made = self.create(plural, patch)
            owners.update(dict.fromkeys(wanted, manager))
            return made
        old = self.get(plural, namespace, name)
        have = dict(leaves(old))
        for path, value in wanted.items():
            if owners.get(path, manager) != manager and have.get(path) != value and not force:
                raise conflict(f"Apply failed with 1 conflict: conflict with \"{owners[path]}\": .{'.'.join(path)}")
        new = copy.deepcopy(old)
        for path in [p for p, m in owners.items() if m == manager and p not in wanted]:
            at = new
            for part in path[:-1]:
                at = at.get(part, {}) if isinstance(at, dict) else {}
            if isinstance(at, dict):
                at.pop(path[-1], None)
            del owners[path]
        owners.update(dict.fromkeys(wanted, manager))
        new = strategic(new, {k: v for k, v in patch.items() if k not in ("metadata",)})
        new["metadata"] = merge(new["metadata"], {k: v for k, v in patch.get("metadata", {}).items() if k in ("labels", "annotations")})
        return self.write(plural, old, new, sub)

    # ---- the end of objects

    def delete(self, plural, namespace, name, options):
        with self.lock:
            obj = self.get(plural, namespace, name)
            meta, wanted = obj["metadata"], options.get("preconditions") or {}
            if wanted.get("uid", meta["uid"]) != meta["uid"]:
                raise conflict(f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {meta['uid']}")
            if wanted.get("resourceVersion", meta["resourceVersion"]) != meta["resourceVersion"]:
                raise conflict("Precondition failed: ResourceVersion in precondition does not match")
            grace = 0
            if plural == "pods" and obj["spec"].get("nodeName") and obj["status"].get("phase") not in ("Succeeded", "Failed"):
                grace = options.get("gracePeriodSeconds", obj["spec"].get("terminationGracePeriodSeconds", GRACE))
            if meta.get("deletionTimestamp") and grace >= meta.get("deletionGracePeriodSeconds", 0):
                return obj  # it is being deleted, at least as soon
            if grace or meta.get("finalizers"):
                meta["deletionTimestamp"] = meta.get("deletionTimestamp", now())
                meta["deletionGracePeriodSeconds"] = grace
                self.objects[self.key(plural, obj)] = obj
                self.note("MODIFIED", plural, obj)
                return copy.deepcopy(obj)
            self.remove(plural, obj)
            return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": name, "uid": meta["uid"]}}

    def finish(self, plural, obj):
        """Deleted, and nothing is waited for any more?"""
        meta = obj["metadata"]
        if meta.get("deletionTimestamp") and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds"):
            self.remove(plural, obj)

    def remove(self, plural, obj):
        del self.objects[self.key(plural, obj)]
        self.note("DELETED", plural, obj)
        uid = obj["metadata"]["uid"]
        for other, child in list(self.objects.items()):
            refs = child["metadata"].get("ownerReferences") or []
            if other in self.objects and any(r.get("uid") == uid for r in refs) and \
                    not any(r.get("uid") != uid and self.has_uid(r.get("uid")) for r in refs):
                self.delete(other[0], other[1], other[2], {})

    def has_uid(self, uid):
        return any(o["metadata"]["uid"] == uid for o in self.objects.values())

    # ---- sub-resources

    def bind(self, namespace, name, binding):
        with self.lock:
            pod = self.get("pods", namespace, name)
            meta, target, asked = pod["metadata"], binding.get("target") or {}, binding.get("metadata") or {}
            if target.get("kind", "Node") not in ("", "Node") or not target.get("name"):
                raise invalid("target: Required value")
            if asked.get("uid", meta["uid"]) != meta["uid"]:
                raise conflict("Precondition failed: UID in precondition does not match")
            if meta.get("deletionTimestamp"):
                raise conflict(f"pod {name} is being deleted, cannot be assigned to a host")
            if pod["spec"].get("nodeName"):
                raise conflict(f"pod {name} is already assigned to node \"{pod['spec']['nodeName']}\"")
            if pod["spec"].get("schedulingGates"):
                raise conflict(f"pod {name} has non-empty .spec.schedulingGates")
            pod["spec"]["nodeName"] = target["name"]
            meta["annotations"] = {**(meta.get("annotations") or {}), **(asked.get("annotations") or {})}
            conditions = [c for c in pod["status"].get("conditions", []) if c["type"] != "PodScheduled"]
            pod["status"]["conditions"] = conditions + [{"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}]
            self.objects["pods", namespace, name] = pod
            self.note("MODIFIED", "pods", pod)
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def evict(self, namespace, name, eviction):
        with self.lock:
            pod = self.get("pods", namespace, name)
            labels = pod["metadata"].get("labels") or {}
            for (plural, ns, _), budget in self.objects.items():
                wanted = budget.get("spec", {}).get("selector", {}).get("matchLabels")
                if plural == "poddisruptionbudgets" and ns == namespace and wanted and wanted.items() <= labels.items() \
                        and budget.get("status", {}).get("disruptionsAllowed", 0) <= 0:
                    raise Refusal(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
            self.delete("pods", namespace, name, eviction.get("deleteOptions") or {})
            return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}

    def scale(self, plural, namespace, name, change=None):
        with self.lock:
            obj = self.get(plural, namespace, name)
            if change is not None:
                count = change.get("spec", {}).get("replicas")
                if not isinstance(count, int) or count < 0:
                    raise invalid("spec.replicas: Invalid value")
                new = copy.deepcopy(obj)
                new.setdefault("spec", {})["replicas"] = count
                obj = self.write(plural, obj, new, None)
            return {"kind": "Scale", "apiVersion": "autoscaling/v1",
                    "metadata": {k: obj["metadata"][k] for k in ("name", "namespace", "uid", "resourceVersion")},
                    "spec": {"replicas": obj.get("spec", {}).get("replicas", 0)},
                    "status": {"replicas": obj.get("status", {}).get("replicas", 0),
                               **({"selector": obj["status"]["selector"]} if "selector" in obj.get("status", {}) else {})}}


def matches(obj, query):
    labels = obj["metadata"].get("labels") or {}
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, _, value = term.partition("=")
        if key.strip("!") not in labels if not value else labels.get(key) != value.lstrip("="):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        path, _, value = term.partition("=")
        path, other = path.rstrip("!"), path.endswith("!")
        if path not in ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.schedulerName", "status.phase"):
            raise Refusal(400, "BadRequest", f"field label not supported: {path}")
        at = obj
        for part in path.split("."):
            at = (at or {}).get(part, "")
        if (at != value.lstrip("=")) != other:
            return False
    return True


# ---- HTTP -----------------------------------------------------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    @property
    def api(self):
        return self.server.api

    def answer(self, code, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def route(self):
        parts = urlsplit(self.path)
        words = parts.path.strip("/").split("/")
        query = {k: v[-1] for k, v in parse_qs(parts.query).items()}
        if words[:1] == ["api"]:
            group, words = "", words[1:]
        elif words[:1] == ["apis"] and len(words) > 1:
            group, words = words[1], words[2:]
        else:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        version, words = words[0] if words else "", words[1:]
        if not words:
            return None, group, version, None, query
        namespace = ""
        if words[0] == "namespaces" and len(words) > 2:
            namespace, words = words[1], words[2:]
        plural = next((p for p in (words[0], f"{words[0]}.{group}") if KINDS.get(p, ())[:2] == (group, version)), None)
        if not plural or plural in self.api.missing or len(words) > 3:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        kind = KINDS[plural]
        if len(words) == 3 and words[2] not in kind[4]:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        return plural, namespace, words[1] if len(words) > 1 else None, words[2] if len(words) == 3 else None, query

    def body(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not data:
            return {}
        try:
            return json.loads(data)
        except ValueError:
            raise Refusal(400, "BadRequest", "the body is no JSON") from None

    def serve(self):
        self.api.count(self.command, self.path)
        try:
            body = self.body()
            if self.api.token and self.headers.get("Authorization") != f"Bearer {self.api.token}":
                raise Refusal(401, "Unauthorized", "Unauthorized")
            fault = self.api.take_fault(self.command, self.path)
            if fault and self.spoil(fault):
                return
            self.dispatch(body)
        except Refusal as refusal:
            headers = [("Retry-After", "1")] if refusal.code == 429 else []
            self.answer(refusal.code, refusal.body(), headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def spoil(self, fault):
        """Answer wrongly; False: the request is served first."""
        if fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault == "json":
            self.answer(200, b'{"kind": "PodList", "items": [')
        elif fault == "slow":
            self.api.wait_slow()
            return False
        elif fault == "cut-after":
            self.wfile = Nowhere()  # it is done, or refused, and nobody hears of it
            self.close_connection = True
            return False
        else:
            code = int(fault)
            reasons = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
            raise Refusal(code, reasons.get(code, "InternalError"), f"a fault of the test: {code}")
        return True

    def dispatch(self, body):
        if self.special(body):
            return
        plural, namespace, name, sub, query = self.route()
        if plural in self.api.forbidden:
            raise Refusal(403, "Forbidden", f"{plural} is forbidden")
        store, method = self.api.store, self.command
        if plural is not None:
            verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method) or (
                "get" if name else "watch" if "watch" in query else "list")
            self.api.asked.add((verb, KINDS[plural][0], plural.split(".")[0] + (f"/{sub}" if sub else "")))
        if plural is None:
            self.discover(namespace, name)
        elif method == "GET" and name is None:
            self.watch(plural, namespace, query) if query.get("watch") in ("true", "1") else self.list(plural, namespace, query)
        elif sub == "scale":
            if method not in ("GET", "PUT", "PATCH"):
                raise Refusal(405, "MethodNotAllowed", "the server does not allow this method")
            self.answer(200, store.scale(plural, namespace, name, None if method == "GET" else body))
        elif method == "GET":
            self.answer(200, store.get(plural, namespace, name))
        elif method == "POST" and sub == "binding":
            self.answer(201, store.bind(namespace, name, body))
        elif method == "POST" and sub == "eviction":
            self.answer(201, store.evict(namespace, name, body))
        elif method == "POST" and name is None:
            if body.get("metadata", {}).setdefault("namespace", namespace) != namespace:
                raise Refusal(400, "BadRequest", "the namespace of the object does not match the request")
            if not namespace:
                body["metadata"].pop("namespace")
            self.answer(201, store.create(plural, body))
        elif method == "PUT" and name:
            self.answer(200, store.replace(plural, namespace, name, body, sub))
        elif method == "PATCH" and name:
            self.answer(200, store.patch(plural, namespace, name, self.headers.get("Content-Type", "").split(";")[0], body, sub,
                                         query.get("fieldManager", ""), query.get("force") == "true"))
        elif method == "DELETE" and name and sub is None:
            self.answer(200, store.delete(plural, namespace, name, body))
        else:
            raise Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def review(self, resource, body):
        """Questions that are answered and not stored: who am I, may somebody?"""
        if resource == "selfsubjectreviews":
            return {"metadata": {"creationTimestamp": self.api.clock() if self.api.clock else now()},
                    "status": {"userInfo": {"username": self.api.username, "groups": ["system:authenticated"]}}}
        spec = body["spec"]
        what = spec["resourceAttributes"]
        asked = (what["verb"], what["group"], what["resource"] + (f"/{what['subresource']}" if what.get("subresource") else ""))
        self.api.reviews.append((spec["user"], what.get("namespace", ""), *asked))
        return {"status": {"allowed": asked not in self.api.denied}}

    def special(self, body):
        """What is no object: the version, reviews, services through a proxy. False: it is one."""
        words = urlsplit(self.path).path.strip("/").split("/")
        if words == ["version"]:
            self.answer(200, {"major": "1", "minor": self.api.minor, "gitVersion": f"v1.{self.api.minor}.0"})
        elif words[-1] in ("selfsubjectreviews", "subjectaccessreviews") and self.command == "POST":
            if words[-1] in self.api.missing:
                raise Refusal(404, "NotFound", "the server could not find the requested resource")
            if words[-1] in self.api.forbidden:
                raise Refusal(403, "Forbidden", f"{words[-1]} is forbidden")
            self.answer(201, {"apiVersion": "/".join(words[1:3]), "kind": body["kind"], **self.review(words[-1], body)})
        elif len(words) > 6 and words[:3] == ["api", "v1", "namespaces"] and words[4] == "services" and words[6] == "proxy":
            self.proxy(words[5], "/".join(words[7:]))
        else:
            return False
        return True

    def proxy(self, service, path):
        url = self.api.services.get(service)
        if not url:
            raise Refusal(503, "ServiceUnavailable", f"no endpoints available for service \"{service}\"")
        try:
            with urllib.request.urlopen(f"{url}/{path}") as reply:
                self.answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())

    def discover(self, group, version):
        kinds = [(p, k) for p, k in KINDS.items() if k[:2] == (group, version) and p not in self.api.missing]
        if not kinds:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        self.answer(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}".strip("/"),
                          "resources": [{"name": p.split(".")[0], "kind": k[2], "namespaced": k[3], "verbs": []} for p, k in kinds]})

    def list(self, plural, namespace, query):
        store = self.api.store
        with store.lock:
            version, after = store.version, ""
            if query.get("continue"):
                version, _, after = query["continue"].partition("~")
                if int(version) <= store.compacted:
                    raise Refusal(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")
            found = [copy.deepcopy(o) for (p, ns, n), o in sorted(store.objects.items()) if p == plural and
                     (not namespace or ns == namespace) and f"{ns}/{n}" > after and matches(o, query)]
        limit, meta = int(query.get("limit", 0)), {"resourceVersion": str(version)}
        if limit and len(found) > limit:
            last = found[limit - 1]["metadata"]
            meta["continue"] = f"{version}~{last.get('namespace', '')}/{last['name']}"
            meta["remainingItemCount"] = len(found) - limit
            found = found[:limit]
        if not is_custom(plural):  # the real server leaves these to the list
            found = [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")} for o in found]
        self.answer(200, {"kind": KINDS[plural][2] + "List", "apiVersion": "v1", "metadata": meta, "items": found})

    def send_line(self, kind, obj):
        data = json.dumps({"type": kind, "object": obj}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def watch(self, plural, namespace, query):
        store, api = self.api.store, self.api
        at = int(query.get("resourceVersion") or store.version)
        if at < store.compacted:
            raise Refusal(410, "Expired", f"too old resource version: {at} ({store.compacted})")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end, generation, matched = time.monotonic() + float(query.get("timeoutSeconds", 1800)), api.generation, set()
        marks = query.get("allowWatchBookmarks") == "true"
        while time.monotonic() < end and api.running and api.generation == generation:
            with store.lock:
                if at < store.compacted:
                    self.send_line("ERROR", Refusal(410, "Expired", "too old resource version").body())
                    break
                new = store.since(at)
                if not new:
                    store.lock.wait(0.2)
                    new = store.since(at)
                reached = store.version if store.compacted <= at else at
            for _, p, kind, obj in new:
                if p != plural or (namespace and obj["metadata"].get("namespace") != namespace):
                    continue
                uid, hit = obj["metadata"]["uid"], matches(obj, query)
                if not hit and uid not in matched and kind != "DELETED":
                    continue
                if not hit and kind == "MODIFIED":
                    kind = "DELETED"  # it no longer belongs to what is watched
                (matched.add if hit and kind != "DELETED" else matched.discard)(uid)
                if api.garble:
                    api.garble -= 1
                    self.wfile.write(b"9\r\n{\"type\":\n\r\n")
                else:
                    self.send_line(kind, obj)
            at = max(at, reached)
            if marks and not new and api.bookmarks:
                self.send_line("BOOKMARK", {"kind": KINDS[plural][2], "metadata": {"resourceVersion": str(at)}})
            self.wfile.flush()
        if api.generation != generation and api.hard_cut:
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(b"0\r\n\r\n")


class Nowhere:
    closed = True

    def write(self, data):
        return len(data)

    def flush(self):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024  # the five of the library lose connections under load, and a client waits 30 seconds for nothing


class ApiServer:
    """The server, and what tests do to it."""

    def __init__(self, token="", tls=None, port=0):
        self.store, self.token, self.running = Store(), token, True
        self.missing = set()      # kinds that this server has not
        self.forbidden = set()    # kinds that the caller may not see
        self.denied = set()       # (verb, group, resource) that no service account may do
        self.reviews = []         # (user, namespace, verb, group, resource) that was asked about
        self.services = {}        # "name:port" -> URL, behind services/proxy
        self.username, self.minor, self.clock = "tester", "33", None
        self.faults, self.counts, self.requests = [], {}, 0
        self.asked = set()        # (verb, group, resource) of all requests
        self.times = None         # a list: when each request came
        self.generation, self.hard_cut, self.garble, self.bookmarks = 0, False, 0, True
        self.slow = threading.Event()
        self.http = Server(("127.0.0.1", port), Handler)
        self.http.daemon_threads, self.http.api = True, self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.slow.set()
        self.cut_watches()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def count(self, method, path):
        with self.store.lock:
            self.requests += 1
            if self.times is not None:
                self.times.append(time.monotonic())
            key = f"{method} {'watch' if 'watch=true' in path else urlsplit(path).path.rsplit('/', 1)[-1]}"
            self.counts[key] = self.counts.get(key, 0) + 1

    # ---- faults

    def fault(self, what, method="", path="", times=1):
        """The next `times` requests of method and path (a part of it) get: a status, "cut" (no answer), "cut-after" (it is
        done, and not answered), "json" (half an answer), "slow" (not before go_on())."""
        with self.store.lock:
            self.faults += [(what, method, path)] * times

    def take_fault(self, method, path):
        with self.store.lock:
            for i, (what, m, p) in enumerate(self.faults):
                if m in ("", method) and p in path:
                    del self.faults[i]
                    return what
        return None

    def cut_watches(self, hard=False):
        with self.store.lock:
            self.hard_cut = hard
            self.generation += 1
            self.store.lock.notify_all()

    def wait_slow(self):
        self.slow.wait(30)

    def go_on(self):
        self.slow.set()

    # ---- what tests ask and do

    def create(self, plural, obj):
        return self.store.create(plural, obj)

    def get(self, plural, name, namespace="default"):
        """The object; None: there is none."""
        try:
            return self.store.get(plural, namespace if KINDS[plural][3] else "", name)
        except Refusal:
            return None

    def all(self, plural):
        with self.store.lock:
            return [copy.deepcopy(o) for (p, _, _), o in sorted(self.store.objects.items()) if p == plural]

    def patch(self, plural, name, patch, namespace="default", sub=None):
        return self.store.patch(plural, namespace if KINDS[plural][3] else "", name, "application/merge-patch+json", patch, sub)

    def delete(self, plural, name, namespace="default", **options):
        return self.store.delete(plural, namespace if KINDS[plural][3] else "", name, options)

    def kubeconfig(self, path):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": "test", "user": {"token": self.token or "none"}}]}))
        return path
