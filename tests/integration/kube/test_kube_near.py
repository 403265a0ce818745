"""penstock-bridge: pods that say something of other pods: affinity, anti-affinity, spread."""

from collections import Counter

import pytest
from conftest import wait_until
from restd import Restd

from test_kube_bridge import CLUSTER, OPTION, Bridge, external  # noqa: F401  the cluster that the fixtures are given
from test_kube_volumes import reason

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LWS = "leaderworkerset.sigs.k8s.io/"


@pytest.fixture(scope="module")
def rest(external):  # noqa: F811
    with Restd(external) as rest:
        yield rest


@pytest.fixture
def bridge(external, rest, tmp_path):  # noqa: F811
    with Bridge(external, rest, tmp_path) as b:
        for i in range(1, 9):
            b.api.patch("nodes", f"ext{i}", {"metadata": {"labels": {"zone": "a" if i < 5 else "b", "kubernetes.io/hostname": f"ext{i}"}}})
        yield b


def term(app, key="zone", **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def away(*terms):
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def near(*terms):
    return {"podAffinity": {REQUIRED: list(terms)}}


def zone(b, name):
    return "ab"[int(b.node(name)[3:]) > 4]


def gang(b, name, n, labels=None, **spec):
    for i in range(n):
        b.pod(f"{name}-{i}", {LWS + "group-key": name, LWS + "name": name, LWS + "group-index": "0", LWS + "worker-index": str(i),
                              **(labels or {})}, {LWS + "size": str(n)}, **spec)
    return [f"{name}-{i}" for i in range(n)]


def test_replicas_in_zones_of_their_own(bridge):
    """Created together, so that both jobs start before either pod is bound; the third waits until a zone is free."""
    for i in range(3):
        bridge.pod(f"r{i}", {"app": "r"}, affinity=away(term("r")))
    wait_until(lambda: sum(bool(bridge.node(f"r{i}")) for i in range(3)) == 2, "two are bound", 30)
    bound = [f"r{i}" for i in range(3) if bridge.node(f"r{i}")]
    third = next(f"r{i}" for i in range(3) if f"r{i}" not in bound)
    assert {zone(bridge, name) for name in bound} == {"a", "b"}
    wait_until(lambda: reason(bridge, third) in ("SlurmWaitingForPods", "SlurmPending"), "it is told")
    free = zone(bridge, bound[0])
    bridge.end(bound[0])
    bridge.bound(third)
    assert zone(bridge, third) == free


def test_beside_a_pod_of_another_scheduler(bridge):
    bridge.pod("a", affinity=near(term("cache")))
    wait_until(lambda: reason(bridge, "a") == "SlurmWaitingForPods", "it is told")
    assert not bridge.jobs()
    bridge.api.create("pods", {"metadata": {"name": "cache", "namespace": "default", "labels": {"app": "cache"}},
                               "spec": {"schedulerName": "default-scheduler", "nodeName": "ext6",
                                        "containers": [{"name": "c", "image": "i"}]}})
    bridge.bound("a")
    assert zone(bridge, "a") == "b"
    bridge.pod("b", affinity=near(term("cache", namespaces=["other"])))
    wait_until(lambda: reason(bridge, "b") == "SlurmWaitingForPods", "another namespace's is meant")


def test_a_pod_that_keeps_others_away(bridge):
    """Those that say nothing are kept away too, also when the bridge starts anew."""
    bridge.pod("loner", {"app": "loner"}, affinity=away(term("noise")))
    bridge.bound("loner")
    bridge.kill()
    bridge.start()
    for i in range(2):
        bridge.pod(f"n{i}", {"app": "noise"})
    bridge.bound("n0", "n1")
    assert zone(bridge, "n0") == zone(bridge, "n1") != zone(bridge, "loner")


def test_spread(bridge):
    rule = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "s"}}}]
    for i in range(6):
        bridge.pod(f"s{i}", {"app": "s"}, topologySpreadConstraints=rule)
    bridge.bound(*(f"s{i}" for i in range(6)), timeout=40)
    assert Counter(zone(bridge, f"s{i}") for i in range(6)) == {"a": 3, "b": 3}


def submitted(bridge):
    return (bridge.c.dir / "log/slurmctld.log").read_text().count("submitted by")


def test_replicas_that_come_together(bridge):
    """Spread over zones at once: their zones are chosen together, so that hardly a job is made twice."""
    rule = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "t"}}}]
    before = submitted(bridge)
    for i in range(24):
        bridge.pod(f"t{i}", {"app": "t"}, {OPTION + "exclusive": "false"}, topologySpreadConstraints=rule)
    bridge.bound(*(f"t{i}" for i in range(24)), timeout=60)
    assert Counter(zone(bridge, f"t{i}") for i in range(24)) == {"a": 12, "b": 12}
    assert submitted(bridge) - before <= 26


def test_a_gang_together(bridge):
    """All of a gang in one zone, though any zone would do."""
    bridge.pod("x", nodeSelector={"zone": "a"})
    bridge.bound("x")
    names = gang(bridge, "g", 3, {"app": "g"}, affinity=near(term("g")))
    bridge.bound(*names)
    assert len({zone(bridge, n) for n in names}) == 1


def test_a_gang_on_nodes_of_their_own(bridge):
    """By hostname they are apart anyway, and the next gang is kept away from them."""
    first = gang(bridge, "f", 3, {"app": "h"}, affinity=away(term("h", "kubernetes.io/hostname")))
    bridge.bound(*first)
    second = gang(bridge, "s", 3, {"app": "h"}, affinity=away(term("h", "kubernetes.io/hostname")))
    bridge.bound(*second)
    assert len({bridge.node(n) for n in [*first, *second]}) == 6


def test_what_cannot_be_had_is_said(bridge):
    gang(bridge, "z", 2, {"app": "z"}, affinity=away(term("z")))
    bridge.pod("sel", affinity=near(term("x", namespaceSelector={"matchLabels": {"team": "a"}})))
    odd = [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]
    bridge.pod("op", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": odd}}})
    soft = [{"weight": 1, "podAffinityTerm": term("x")}]
    bridge.pod("soft", affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}},
               topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}])
    bridge.bound("soft")  # what is only preferred keeps nothing back

    def told():
        return {e["involvedObject"]["name"]: e["message"] for e in bridge.api.all("events") if e["reason"] == "SlurmNotSupported"}

    wait_until(lambda: set(told()) == {"z-0", "z-1", "sel", "op"}, "all are told")
    assert "by zone" in told()["z-0"] and "namespaceSelector" in told()["sel"] and "Near" in told()["op"]
