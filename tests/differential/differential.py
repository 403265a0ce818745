"""The same commands on Debian's Slurm and on us: what they print, compared.

commands.txt is the script, differences.toml what may differ and why, recorded.json.gz what the peer
answered when it was last asked.  Answers are masked before they are kept or compared: instants,
durations, process numbers, folders and ports become words of the same width where columns matter."""

import difflib
import gzip
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))

SYNC_S = 60
COMMAND_S = 60
NODES, CPUS = 4, 4
CONF = ("SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1,requeue_delay=2\n"
        "InactiveLimit=0\nFirstJobId=1\nDefMemPerCPU=100\nPriorityType=priority/multifactor\n")
PARTITIONS = "PartitionName=other Nodes=n[1-2] MaxTime=60 State=UP\n"

MASKS = [(re.compile(pattern), word) for pattern, word in (
    (r"\b20(?!3)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\b", "YYYY-MM-DDTHH:MM:SS"),
    (r"\b(RunTime|PreSusTime|SuspendTime|SecsPreSuspend)=[\d:-]+", r"\1=TIME"),
    (r"\b(AllocNode:Sid=\S+):\d+", r"\1:PID"),
    (r"\bPort=\d+", "Port=PORT"),
    (r"\b(CPULoad|FreeMem|BootTime|SlurmdStartTime|LastBusyTime|Version|OS|Arch)=[^\n]*?(?=\s+[A-Z]\w+=|\n|$)",
     r"\1=VALUE"),
    (r"(?m)^(\s*)\d\d?:\d\d\b", r"\1M:SS"),
    (r"(?<= )0:\d\d(?= |$|\n)", "0:SS"),
    (r"\[\d+\.\d+\]", "[TIME]"),
    (r"pid \d+", "pid PID"),
)]


def masks_of(cluster):
    """What is this cluster's alone."""
    return [(cluster.dir, "DIR"), (cluster.root, "ROOT"), (os.uname().nodename.split(".")[0], "HOST")]


def mask(text, own):
    for word, name in own:
        text = text.replace(word, name)
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


def script():
    """(line number, command) of commands.txt."""
    lines = (HERE / "commands.txt").read_text().split("\n")
    return [(i + 1, line) for i, line in enumerate(lines) if line and not line.startswith("#")]


class Player:
    """Runs the script on one cluster."""

    def __init__(self, cluster, note=lambda text: None):
        self.cluster, self.note, self.job = cluster, note, 0
        self.home = Path(cluster.dir) / "home"
        self.home.mkdir()
        for path in (HERE / "files").iterdir():
            (self.home / path.name).write_bytes(path.read_bytes())
            (self.home / path.name).chmod(0o755)
        self.env = {**cluster.env, "TZ": "UTC", "HOME": "/root", "USER": "root"}

    def sh(self, command):
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.home, env={**self.env, "J": str(self.job)},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  timeout=COMMAND_S)
            answer = (done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired:
            answer = (-1, "", f"no end within {COMMAND_S} s")
        for found in re.findall(r"(?:Submitted batch job |allocation )(\d+)", answer[1] + answer[2]):
            self.job = max(self.job, int(found))
        return answer

    def align(self, last):
        """Use up job numbers, so that what comes next has the same on both."""
        while self.job < last:
            before = self.job
            self.sh("sbatch -H --wrap true")
            if self.job == before:
                return "no job could be submitted"
        self.sh("scancel -u root")
        return "reached" if self.job == last else f"is past it: {self.job}"

    def sync(self, words):
        if words[0] == "@align":
            return self.align(int(words[1]))

        def shows():
            if words[0] == "@job":
                state = self.sh(f"scontrol -o show job {words[1]} | grep -o 'JobState=[A-Z_]*' | head -1")[1]
                return state.strip().removeprefix("JobState=") in words[2:]
            if words[0] == "@gone":
                return not self.sh(f"squeue -h -j {words[1]}")[1]
            if words[0] == "@idle":
                return not self.sh("sinfo -h -N -o %T | grep -v '^idle$'; squeue -h -t R,CG")[1]
            if words[0] == "@node":
                return self.sh(f"sinfo -h -n {words[1]} -o %T")[1].split()[:1] in [[w] for w in words[2:]]
            if words[0] == "@reason":
                return self.sh(f"squeue -h -j {words[1]} -o %r")[1].strip() == words[2]
            if words[0] == "@step":
                return self.sh(f"squeue -h -s -o %i | grep -x {words[1]}")[1]
            raise SystemExit(f"commands.txt: unknown word {words[0]}")
        until = time.monotonic() + SYNC_S
        while not shows():
            if time.monotonic() > until:
                return f"not within {SYNC_S} s"
            time.sleep(0.05)  # between two questions
        return "reached"

    def play(self, lines):
        own, answers = masks_of(self.cluster), {}
        for number, line in lines:
            self.note(f"{number}: {line}")
            if line.startswith("@do "):
                self.sh(line[4:])
            elif line.startswith("@"):
                answers[f"{number}"] = [line, 0, self.sync(line.replace("${J}", "$J").replace("$J", str(self.job)).split()), ""]
            else:
                rc, out, err = self.sh(line)
                answers[f"{number}"] = [line, rc, mask(out, own), mask(err, own)]
        return answers


def load_rules():
    with open(HERE / "differences.toml", "rb") as f:
        return tomllib.load(f)


def apply_rules(rules, side, text, used, command=""):
    """What differs by a rule is taken out of both sides alike."""
    for i, rule in enumerate(rules.get("rule", [])):
        if rule.get("side", side) != side or not re.search(rule.get("command", ""), command):
            continue
        changed = re.sub(rule["match"], rule.get("replace", ""), text, flags=re.M)
        if changed != text:
            used.add(("rule", i))
        text = changed
    return text


def lines_apart(name, peer, ours):
    if name == "exit":
        return f"    exit {peer}, ours {ours}\n"
    apart = difflib.unified_diff(peer.split("\n"), ours.split("\n"), n=0, lineterm="")
    return "".join(f"    {name} {line}|\n" for line in apart if not line.startswith(("---", "+++", "@@")))


def compare(peer, ours, rules):
    """[(command, what differs)] unexplained, {case: times} explained, rules and cases not needed."""
    cases = {case["command"]: case for case in rules.get("case", [])}
    used, bad, explained = set(), [], {}
    for key, (line, rc, out, err) in peer.items():
        mine = ours.get(key)
        if mine is None or mine[0] != line:
            bad.append((line, "was not run; record the peer again"))
            continue
        theirs = [rc, *(apply_rules(rules, "peer", text, used, line) for text in (out, err))]
        mine = [mine[1], *(apply_rules(rules, "ours", text, used, line) for text in mine[2:])]
        if theirs == mine:
            continue
        if line in cases:
            used.add(("case", line))
            explained[line] = cases[line]["reason"]
            continue
        bad.append((line, "".join(lines_apart(name, a, b) for name, a, b in
                                  zip(("exit", "out", "err"), theirs, mine) if a != b)))
    unused = [r["match"] for i, r in enumerate(rules.get("rule", [])) if ("rule", i) not in used]
    unused += [line for line in cases if ("case", line) not in used]
    return bad, explained, unused


def recorded():
    with gzip.open(HERE / "recorded.json.gz", "rt") as f:
        return json.load(f)


def record(answers):
    with gzip.GzipFile(HERE / "recorded.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(answers, indent=0).encode())
