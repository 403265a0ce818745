"""The checks of tests/chaos against histories made by hand: a sound one passes, and each planted fault is found.

No cluster is started: the commands that a check calls answer what the history says."""
import collections
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import wait_until

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "chaos"))
import chaos_cloud
import chaos_expedite
import chaos_idempotency
import chaos_nodes
import chaos_steps
import chaos_submit
import history


def at_once(condition, what, _seconds):
    """wait_until of conftest for a history that does not change any more."""
    return condition() or pytest.fail(f"never: {what}")


class Cluster:
    """Answers commands with lines: {"squeue": [...], "sacct": [...]}."""

    def __init__(self, folder, lines, jobs=None, hashes=None, status=0):
        self.work = self.dir = folder
        self.lines, self.jobs, self.hashes = lines, jobs or {}, hashes
        self.ctld = SimpleNamespace(stop=lambda: status, pid=0)

    def run(self, command, *options, **_):
        if command == "penstock":
            text = self.hashes["live" if options[0] == "ping" else "replayed"]
        else:
            text = "".join(f"{line}\n" for line in self.lines[command + (" -D" if "-D" in options else "")])
        return SimpleNamespace(out=text, stdout=text, rc=0, returncode=0)

    def sacct(self, *_):
        return [line.split("|") for line in self.lines["sacct"]]

    def job(self, job):
        return self.jobs.get(int(job), {})

    def out(self, _):
        return ""


# ---- submissions under kills: chaos_submit, and chaos_standby, which has the same check -------------------------------------

def submitted(**change):
    """Two clients, three jobs, one refusal."""
    return SimpleNamespace(**({"one": {"a": 1, "b": 2}, "two": {"c": 3}, "refused": ["d"],
                               "rows": ["1|a|COMPLETED", "2|b|COMPLETED", "3|c|COMPLETED"],
                               "ran": ["1 a", "2 b", "3 c"]} | change))


SUBMITTED = {
    "run twice": submitted(ran=["1 a", "2 b", "2 b", "3 c"]),
    "run twice, and another not at all": submitted(ran=["1 a", "2 b", "2 b"]),
    "never run": submitted(ran=["1 a", "3 c"]),
    "lost after it was acknowledged": submitted(rows=["1|a|COMPLETED", "3|c|COMPLETED"], ran=["1 a", "3 c"]),
    "lost after it ran": submitted(rows=["1|a|COMPLETED", "3|c|COMPLETED"]),
    "acknowledged by two terms": submitted(two={"c": 2}, rows=["1|a|COMPLETED", "2|b|COMPLETED"], ran=["1 a", "2 b"]),
    "acknowledged by two terms, the later one's job was replaced": submitted(
        two={"c": 2}, rows=["1|a|COMPLETED", "2|c|COMPLETED"], ran=["1 a", "2 c"]),
    "made twice": submitted(rows=["1|a|COMPLETED", "2|b|COMPLETED", "3|c|COMPLETED", "4|c|COMPLETED"],
                            ran=["1 a", "2 b", "3 c", "4 c"]),
    "refused, and made twice": submitted(rows=[*submitted().rows, "4|d|COMPLETED", "5|d|COMPLETED"],
                                         ran=[*submitted().ran, "4 d", "5 d"]),
    "not over": submitted(rows=["1|a|COMPLETED", "2|b|RUNNING", "3|c|COMPLETED"]),
    "a run of no job": submitted(ran=["1 a", "2 b", "3 c", "9 x"]),
}


def submit_problems(folder, history):
    clients = [SimpleNamespace(acknowledged=history.one, refused=[(tag, "no") for tag in history.refused]),
               SimpleNamespace(acknowledged=history.two, refused=[])]
    (folder / "ran").write_text("".join(f"{line}\n" for line in history.ran))
    return list(chaos_submit.check(Cluster(folder, {"squeue": history.rows}), clients))


def test_submit_sound(tmp_path):
    assert submit_problems(tmp_path, submitted()) == []
    unheard = submitted(rows=[*submitted().rows, "4|d|COMPLETED"], ran=[*submitted().ran, "4 d"])
    assert submit_problems(tmp_path, unheard) == [], "of a refusal nobody knows whether the job was made before"


@pytest.mark.parametrize("fault", SUBMITTED)
def test_submit_faults(tmp_path, fault):
    assert submit_problems(tmp_path, SUBMITTED[fault])


def accounting_problems(folder, rows):
    clients = [SimpleNamespace(acknowledged={"a": 1}), SimpleNamespace(acknowledged={"b": 2})]
    return list(chaos_submit.check_accounting(Cluster(folder, {"sacct": rows}), clients, at_once))


def test_submit_accounting(tmp_path):
    assert accounting_problems(tmp_path, ["1|a|COMPLETED", "2|b|COMPLETED"]) == []
    assert accounting_problems(tmp_path, ["1|a|COMPLETED", "1|a|COMPLETED"])
    assert accounting_problems(tmp_path, ["1|a|COMPLETED", "2|b|COMPLETED", "2|b|COMPLETED"])
    assert accounting_problems(tmp_path, ["1|a|COMPLETED", "2|x|COMPLETED"])
    assert accounting_problems(tmp_path, ["1|a|COMPLETED", "3|d|COMPLETED"]), "as many rows, and b is missing"
    for unsound in ["1|a|COMPLETED"], ["1|a|COMPLETED", "2|b|RUNNING"]:
        assert accounting_problems(tmp_path, unsound)


def test_submit_replay(tmp_path):
    def problems(live, replayed, status=0):
        return list(chaos_submit.check_replay(Cluster(tmp_path, {}, hashes={"live": live, "replayed": replayed}, status=status),
                                              wait_until))
    assert problems("7 abc", "7 abc") == []
    assert problems("7 abc", "7 abd") and problems("7 abc", "8 abc")
    assert problems("7 abc", "7 abc", status=1)


# ---- keys of submissions -----------------------------------------------------------------------------------------------------

def test_idempotency(tmp_path):
    def problems(rows, told, given_up=()):
        client = SimpleNamespace(told=told, given_up=given_up)
        return list(chaos_idempotency.check(Cluster(tmp_path, {"squeue": rows}), [client], ["a", "b"]))
    assert problems(["1|a", "2|b"], {"a": [1, 1], "b": [2]}) == []
    assert problems(["1|a", "2|b", "3|b"], {"a": [1], "b": [2]}), "run twice"
    assert problems(["1|a"], {"a": [1], "b": [2]}), "lost"
    assert problems(["1|a", "2|b"], {"a": [1], "b": [1]}), "one number for two"
    assert problems(["1|a", "2|b"], {"a": [1], "b": [2, 3]}), "two numbers for one"
    assert problems(["1|a", "2|b"], {"a": [1], "b": [2]}, ["b"]), "never answered"


# ---- steps, nodes, clouds ----------------------------------------------------------------------------------------------------

def step_problems(folder, rows, rcs, codes, once=(), batch=()):
    killer = SimpleNamespace(batch=set(batch), cut_of=lambda _: False)
    for path in folder.glob("rc.*"):
        path.unlink()
    for job, rc in rcs.items():
        (folder / f"rc.{job}").write_text(str(rc))
    shown = {job: {"ExitCode": code} for job, code in codes.items()}
    return list(chaos_steps.check_ends(Cluster(folder, {"squeue": rows}, shown), {1: 0, 2: 3}, killer, set(once)))


def test_steps(tmp_path):
    good = ["1|COMPLETED", "2|FAILED"]
    codes = {1: "0:0", 2: "3:0"}
    assert step_problems(tmp_path, good, {1: 0, 2: 3}, codes) == []
    assert step_problems(tmp_path, good, {1: 0}, {1: "0:0", 2: "0:9"}, batch=[2]) == []
    assert step_problems(tmp_path, good, {1: 0}, {1: "0:0", 2: "0:9"}), "nobody killed it"
    assert step_problems(tmp_path, good[:1], {1: 0, 2: 3}, {1: "0:0"}), "lost"
    assert step_problems(tmp_path, ["1|COMPLETED", "2|COMPLETED"], {1: 0, 2: 3}, codes), "another state"
    assert step_problems(tmp_path, good, {1: 0, 2: 3}, {1: "0:0", 2: "4:0"}), "another code"
    assert step_problems(tmp_path, good, {1: 0}, codes), "its script never ended"
    assert step_problems(tmp_path, ["1|COMPLETED", "2|COMPLETED"], {1: 0, 2: 0}, {1: "0:0", 2: "0:0"}), "silently something else"


def test_steps_accounting(tmp_path):
    def problems(*rows):
        cluster = Cluster(tmp_path, {"sacct": rows}, {1: {"ExitCode": "0:0"}, 2: {"ExitCode": "3:0"}})
        return list(chaos_steps.check_accounting(cluster, {1: 0, 2: 3}, at_once))
    assert problems("1|COMPLETED|0:0", "1.0|COMPLETED|0:0", "2|FAILED|3:0") == []
    assert problems("1|COMPLETED|0:0", "2|FAILED|4:0")
    assert problems("1|COMPLETED|0:0", "1|COMPLETED|0:0"), "one twice, the other lost"
    assert problems("1|COMPLETED|0:0", "2|FAILED|3:0", "2|FAILED|3:0")
    assert problems("1|COMPLETED|0:0")
    assert problems("1|COMPLETED|0:0", "1.0|RUNNING|0:0", "2|FAILED|3:0"), "a step that never ended"


def test_nodes():
    assert chaos_nodes.check_jobs([("1_0", "COMPLETED"), ("1_1", "COMPLETED")], 2) == []
    assert chaos_nodes.check_jobs([("1_0", "COMPLETED")], 2)
    assert chaos_nodes.check_jobs([("1_0", "COMPLETED"), ("1_0", "COMPLETED")], 2), "one twice, the other lost"
    assert chaos_nodes.check_jobs([("1_0", "COMPLETED"), ("1_1", "FAILED")], 2)


def cloud_problems(folder, ended, rows, log, deaths=()):
    path = folder / "log"
    path.write_text("".join(f"{line}\n" for line in log))
    cluster = Cluster(folder, {"sacct": ended, "sacct -D": rows})
    return [problem for _, problems in chaos_cloud.check_jobs(cluster, [1, 2], path, deaths) for problem in problems]


def test_cloud(tmp_path):
    good = ["1|COMPLETED", "2|COMPLETED"]
    log = ["1 began", "1 ended", "2 began", "2 ended"]
    assert cloud_problems(tmp_path, good, good, log) == []
    assert cloud_problems(tmp_path, good, ["2|NODE_FAIL", *good], [*log, "2 ended"]) == [], "its end was not heard"
    assert cloud_problems(tmp_path, good, good, [*log, "2 ended"]), "run twice"
    assert cloud_problems(tmp_path, good, ["2|COMPLETED", *good], [*log, "2 ended"]), "completed twice"
    assert cloud_problems(tmp_path, good[:1], good[:1], log), "lost"
    assert cloud_problems(tmp_path, good, good, log[:2]), "never run"
    assert cloud_problems(tmp_path, ["1|COMPLETED", "2|FAILED"], good, log)
    assert cloud_problems(tmp_path, good, good, ["1 dead cl1 100.5", *log])
    assert cloud_problems(tmp_path, good, good, ["1 dead cl1 100.5", *log], [("cl2", 99.0), ("cl1", 101.0)]), "killed later"
    assert cloud_problems(tmp_path, good, good, ["1 dead cl1 100.5", *log], [("cl1", 99.0)]) == [], "killed a moment before"


# ---- jobs that lose nodes ----------------------------------------------------------------------------------------------------

def test_expedite():
    ends = {1: ("COMPLETED", 2), 2: ("COMPLETED", 0)}
    lost = collections.Counter({1: 2})
    assert list(chaos_expedite.check_runs([1, 2], lost, ends, {1: 3, 2: 1})) == []
    assert list(chaos_expedite.check_runs([1, 2], lost, ends, {1: 4, 2: 1})), "run once too often"
    assert list(chaos_expedite.check_runs([1, 2], lost, ends, {1: 2, 2: 1})), "a run is missing"
    assert list(chaos_expedite.check_runs([1, 2], lost, ends | {1: ("COMPLETED", 3)}, {1: 3, 2: 1})), "counted wrongly"
    assert list(chaos_expedite.check_ends([1, 2], ends)) == []
    assert list(chaos_expedite.check_ends([1, 2, 3], ends)) == ["job 3 is unknown"]
    assert list(chaos_expedite.check_ends([1, 2], ends | {2: ("FAILED", 0)}))


def test_overtaken(tmp_path):
    (tmp_path / "log").mkdir()

    def problems(*lines):
        (tmp_path / "log" / "slurmctld.log").write_text("".join(f"{line}\n" for line in lines))
        return list(chaos_expedite.overtaken(SimpleNamespace(dir=tmp_path), {1}))
    back, start, other = "JobId=1 is queued again", "JobId=1 started: n1", "JobId=2 started: n2"
    assert problems(back, start, other) == []
    assert problems(back, other, start)
    assert problems(back, "slurmctld recovered 7 records", other) == [], "what was told last may be missing"


# ---- who acknowledged in which term ------------------------------------------------------------------------------------------

def log_of(*events):
    """Log lines of a controller: a number alone is a job, "t2" comes to control in term 2."""
    return "".join(f"[x] in control, term {e[1:]}, 9 ms after it was free\n" if e[0] == "t" else f"[x] JobId={e} submitted by root: p\n"
                   for e in map(str, events))


def test_terms():
    def problems(logs, told):
        return list(history.check_terms(logs, told))
    logs = {"a": log_of("t1", 1, 2, 3, "t3", 5, 6), "b": log_of("t2", 3, 4)}
    told = [("a", 1), ("a", 2), ("b", 3), ("b", 4), ("a", 5), ("a", 6)]
    assert problems(logs, told) == [], "job 3 was taken in by a, never acknowledged, and given again by b"
    assert problems(logs, [*told, ("a", 3)]), "a acknowledged it after the end of its term"
    assert problems({**logs, "b": log_of("t1", 3, 4)}, told), "one term, two controllers"
    assert problems({**logs, "b": log_of("t2", 4)}, told), "b acknowledged a job that it did not take in"
    assert problems({"a": log_of("t1", 1, "t1", 2)}, []), "a term is had once"


def test_hashes():
    assert list(history.check_hashes({"a": "lsn 7 hash x", "b": "lsn 7 hash x"})) == []
    assert list(history.check_hashes({"a": "lsn 7 hash x", "b": "lsn 7 hash y"}))
    assert list(history.check_hashes({"a": "lsn 7 hash x", "b": "lsn 6 hash x"}))
    assert list(history.check_hashes({"a": "lsn 7 hash x", "b": ""})) and list(history.check_hashes({"a": "", "b": ""}))
