"""Replays recorded transcripts of commands and compares byte by byte, apart from what must differ.

A transcript (tests/golden/transcripts/*.txt) is a list of commands and what they answered:

    $ squeue -h -o %i        a command, run by bash in the cluster's work folder
    62                       its stdout
    2> some message          its stderr
    << text                  directly below the command: a line of its stdin
    [exit 0]                 its exit status, the end of the entry

and directives, which take effect where they stand:

    @conf Key=Value          a line of slurm.conf more (before the first command)
    @do COMMAND              run it; it must succeed, its output is not compared
    @until COMMAND => TEXT   ask until the output holds TEXT
    @unordered               the next command's lines may come in any order
    @shape                   the next command's JSON is compared by keys, order and types, not values
    @allow REASON => PATTERN => TEXT   replace PATTERN in the next command's recorded output by TEXT, in which
                             {uid}, {gid}, {user}, {user:5} are those of whoever runs the tests
    @differs REASON          the next command is run but not compared, for this reason
    @everywhere REASON => PATTERN => TEXT  as @allow, for all commands of the file
    @mask REASON => PATTERN => TEXT        replace it on both sides, in the next command
    @masks REASON => PATTERN => TEXT       the same for all commands of the file
    @names                   names of people are data in this file: only root's is masked
    @root                    only root can play it: others skip it

Before two outputs are compared, clocks, hosts, users and numbers that no two runs share become marks of the
same width (mask()), so that columns are still compared to the byte."""

import getpass
import grp
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ROOT, SLOW, Cluster

FOLDER = ROOT / "tests" / "golden" / "transcripts"
PEOPLE = ("alice", "bob", "carol")
ME = {"user": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name, "uid": os.getuid(), "gid": os.getgid()}
HOST = socket.gethostname().split(".")[0]


def zone():
    """Where recordings are played.  None was recorded in the hour after midnight: the usual range of sreport ends at one
    o'clock, and has the jobs of the moment then."""
    return "NOON-12" if time.gmtime().tm_hour == 0 else "UTC"


class Demo(Cluster):
    """The cluster of the recordings: four nodes of 2 sockets x 4 cores x 2 threads."""

    def __init__(self, folder, more=(), **options):
        self.more = list(more)
        super().__init__(folder, nodes=4, cpus=16, **options)
        self.env["TZ"] = zone()

    def conf_text(self):
        text = super().conf_text()
        drop = ("NodeName=", "PartitionName=", "ClusterName=", "KillWait=", "SchedulerParameters=")
        given = [line.split("=")[0] + "=" for line in self.more]
        lines = [line for line in text.splitlines() if line and not line.startswith((*drop, *given))]
        lines += ["ClusterName=demo", "KillWait=5", "Licenses=matlab:10,ansys:4", "MaxJobCount=10000",
                  "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE",
                  "TopologyPlugin=topology/tree", "GresTypes=gpu,shard", "PrologFlags=Contain",
                  "AccountingStorageTRES=gres/gpu,gres/gpu:a100",
                  "SchedulerParameters=bf_interval=5,sched_interval=5,requeue_delay=5",
                  "AccountingStoreFlags=job_comment,job_env,job_script", *self.more]
        (self.conf.parent / "topology.conf").write_text(
            "SwitchName=leaf1 Nodes=node[1-2]\nSwitchName=leaf2 Nodes=node[3-4]\nSwitchName=spine Switches=leaf[1-2]\n")
        gres = "Gres=gpu:a100:2,shard:a100:8"
        (self.conf.parent / "gres.conf").write_text(
            "NodeName=node[3-4] Name=gpu Type=a100 Count=2\nNodeName=node[3-4] Name=shard Count=8\n")
        own = {"node1": "Feature=intel,ib Weight=1", "node2": "Feature=intel,ib Weight=1",
               "node3": f"Feature=amd,ib Weight=5 {gres}", "node4": f"Feature=amd,bigtmp Weight=10 {gres}"}
        for name, port in zip(self.node_names, self.node_ports):
            lines.append(f"NodeName={name} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={port} CPUs=16 Sockets=2 "
                         f"CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000 TmpDisk=20000 State=UNKNOWN {own[name]}")
        tier = "PriorityTier=10"
        lines += ["NodeSet=amdnodes Feature=amd",
                  f"PartitionName=debug Nodes=node[1-4] Default=YES MaxTime=1:00:00 DefaultTime=10 {tier} State=UP",
                  f"PartitionName=batch Nodes=node[1-4] MaxTime=2-00:00:00 PriorityJobFactor=10 {tier}",
                  f"PartitionName=gpu Nodes=amdnodes MaxTime=1-00:00:00 {tier} "
                  "TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=4.0",
                  "PartitionName=low Nodes=node[1-2] MaxTime=INFINITE PriorityTier=1",
                  f"PartitionName=whole Nodes=node[1-2] MaxNodes=1 Exclusive=NODE MaxTime=30 {tier}",
                  "PartitionName=closed Nodes=node4 MaxTime=1:00:00 State=DOWN",
                  "PartitionName=secret Nodes=node4 Hidden=YES AllowGroups=root"]
        return "\n".join(lines) + "\n"

    def start(self):
        # As long as /demo/alice, so that columns with it are as wide.
        self.work = next(path for _ in range(1000) if not (path := Path(f"/tmp/p{random.randrange(16**5):05x}")).exists())
        self.work.mkdir()
        return super().start()

    def stop(self):
        problems = super().stop()
        shutil.rmtree(self.work, ignore_errors=True)
        return problems

    def bash(self, command, timeout=30, text=""):
        """Recorded were users.  Root, who may run the tests, sees hidden partitions: what shows them is asked as nobody."""
        if os.geteuid() == 0:
            command = HIDE + command
        return subprocess.run(["bash", "-c", command], cwd=self.work, env=self.env, text=True, capture_output=True,
                              input=text, timeout=timeout * SLOW)


HIDE = """plain() { setpriv --reuid=65534 --regid=65534 --clear-groups "$(type -P "$1")" "${@:2}"; }
sinfo() { plain sinfo "$@"; }
scontrol() { case "$* " in *show\\ part*) plain scontrol "$@";; *) command scontrol "$@";; esac; }
"""

# ---- masks -----------------------------------------------------------------------------------------

def same_width(mark):
    return lambda m: (mark * (len(m.group(0)) // len(mark) + 1))[:len(m.group(0))]


def mask_name(text, name, mark):
    """A name in a column keeps the column's width, whatever its own length; elsewhere it is the mark alone."""
    def one(m):
        return mark * len(m.group(0)) if m.group(0) != m.group(0).strip() and len(m.group(0)) >= len(name) + 2 else \
            m.group(0).replace(name, mark)
    return re.sub(rf"(?<![\w/.-]) *(?<![\w/.-]){re.escape(name)}(?![\w/.-]) *", one, text)


MASKS = [(re.compile(pattern), put) for pattern, put in (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", same_width("<time>")),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d( [A-Z]+)? \d{4}", "<date>"),
    (r"\bs[0-9A-Z]{13}\b", same_width("<sluid>")),
    (r"\b1[5-9]\d{8}\b", same_width("<epoch>")),
    (r"(?<![\d:-])(00:)?0?0:0\d(?![\d:])(?!/)", lambda m: m.group(0)[:-1] + "s"),
    (r"\b2\d\.\d\d?\.\d+\b", "<version>"),
    (r"CPULoad=[\d.]+", "CPULoad=<load>"), (r"FreeMem=(\d+|N/A)", "FreeMem=<mem>"),
    (r"(Port|SlurmctldPort +|SlurmdPort +) ?= ?\d+", r"\1=<port>"), (r"OS=Linux.*?(?= \n| ?$|  )", "OS=Linux"),
)]


# Of conftest.py, and of a node that is not alone on its host.
OUR_ENVIRONMENT = re.compile(r"^SLURM_SACK_SOCKET=\S+/run/(nobody|slurmd-\S+/sack\.socket)\n", re.M)


def mask(text, c, mine, names=False):
    """What the comparison sees.  mine: our own output, else the recorded one.  names: people's stay."""
    if mine:
        text = OUR_ENVIRONMENT.sub("", text)
        text = text.replace(str(c.work), "/demo/alice").replace(str(c.conf.parent), "/etc/slurm")
        text = re.sub(rf"\b{re.escape(HOST)}\b", "ctl1", text)
        people, group = (ME["user"],), ME["group"]
    else:
        people, group = ("root",) if names else (*PEOPLE, "root"), "research"
        text = re.sub(r"/demo/(carol|bob(  (?= |$))?)", "/demo/alice", text)
    for name in people:
        text = mask_name(text, name, "~")
    text = text if group in people else mask_name(text, group, "~")
    text = re.sub(r"~\(\d+\)", "~(id)", text)
    for pattern, put in MASKS:
        text = pattern.sub(put, text)
    return text


# ---- transcripts -----------------------------------------------------------------------------------

class Entry:
    """A command of a transcript with its recorded answer, and what stood before it."""

    def __init__(self, line, command):
        self.line, self.command, self.out, self.err, self.rc = line, command, "", "", None
        self.input = None
        self.before, self.allow, self.mask, self.differs = [], [], [], None
        self.unordered = self.shape = self.names = False

    def __str__(self):
        return f"{self.line}: {self.command}"


def load(name):
    """(lines for slurm.conf, entries) of a transcript."""
    conf, entries, entry, waiting, everywhere, names = [], [], None, [], [], False
    path = FOLDER / f"{name}.txt"
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if entry is not None:
            done = re.fullmatch(r"\[exit (\d+)\]", line)
            if done:
                entry.rc, entry = int(done.group(1)), None
            elif line.startswith("<< "):
                entry.input = (entry.input or "") + line[3:] + "\n"
            elif line.startswith("2> "):
                entry.err += line[3:] + "\n"
            else:
                entry.out += line + "\n"
        elif line.startswith("$ "):
            entry = Entry(number, line[2:])
            take_directives(entry, waiting, path)
            waiting = []
            entries.append(entry)
        elif line.startswith("@conf "):
            conf.append(line[6:])
        elif line == "@names":
            names = True
        elif line == "@root" and os.getuid() != 0:
            pytest.skip("submits for other users")
        elif line == "@root":
            pass
        elif line.startswith(("@masks ", "@everywhere ")):
            everywhere.append(line)
        elif line.startswith("@"):
            waiting.append((number, line))
        else:
            assert not line or line.startswith("#"), f"{path}:{number}: {line}"
    assert entry is None, f"{path}: {entry} has no end"
    for entry in entries:
        entry.names = names
        for line in everywhere:
            reason, pattern, text = line.split(" => ")
            (entry.mask if reason.startswith("@masks") else entry.allow).append((pattern, text))
    return conf, entries


def take_directives(entry, waiting, path):
    for number, line in waiting:
        word, _, rest = line[1:].partition(" ")
        if word in ("do", "until"):
            entry.before.append((word, rest))
        elif word == "allow":
            reason, pattern, text = rest.split(" => ")
            assert reason
            entry.allow.append((pattern, text))
        elif word == "differs":
            assert rest
            entry.differs = rest
        elif word == "mask":
            entry.mask.append(tuple(rest.split(" => ")[1:]))
        elif word in ("unordered", "shape"):
            setattr(entry, word, True)
        else:
            raise AssertionError(f"{path}:{number}: unknown directive {word}")


def prepare(c, entry):
    for word, rest in entry.before:
        if word == "do":
            done = c.bash(rest)
            assert done.returncode == 0, f"{rest}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            continue
        command, text = rest.split(" => ")
        deadline = time.monotonic() + 20 * SLOW
        while text not in (shown := (done := c.bash(command)).stdout + done.stderr):
            assert time.monotonic() < deadline, f"never: {rest}\n{shown}"
            time.sleep(0.05)  # between two questions


def shape(value):
    """Keys in their order and types; of a list the shapes of its elements, each once."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, list):
        shapes = []
        for element in map(shape, value):
            if element not in shapes:
                shapes.append(element)
        return shapes
    return type(value).__name__


def paths(value, at=""):
    """Lines "a.b[]: type" of a shape, in order."""
    if isinstance(value, dict):
        return [line for k, v in value.items() for line in paths(v, f"{at}.{k}" if at else k)] or [f"{at}: {{}}"]
    if isinstance(value, list):
        return list(dict.fromkeys(line for v in value for line in paths(v, at + "[]"))) or [f"{at}: []"]
    return [f"{at}: {value}"]


def shape_lines(text):
    """Empty and full lists of texts are one shape: what stands in them depends on the moment."""
    lines = paths(shape(json.loads(text)))
    return "\n".join(dict.fromkeys(re.sub(r"(\[\]: (str|int|float))|(: \[\])", ": []", line) for line in lines))


def compare(c, entry):
    """None, or (recorded, ours) as text when the answers differ."""
    done = c.bash(entry.command, text=entry.input or "")
    recorded = [entry.out, entry.err]
    for pattern, text in entry.allow:
        text = re.sub(r"\{(\w+)(?::(\d+))?\}", lambda m: f"{ME[m.group(1)]:<{int(m.group(2) or 0)}}", text)
        recorded = [re.sub(pattern, text, part, flags=re.M) for part in recorded]
    ours = [done.stdout, done.stderr]
    if entry.differs and not os.environ.get("PENSTOCK_REASONS"):
        return None
    if entry.shape:
        try:
            recorded[0], ours[0] = shape_lines(recorded[0]), shape_lines(ours[0])
        except ValueError:
            pass  # no JSON: the texts are compared
    sides = []
    for out, err, rc, mine in ((*recorded, entry.rc, False), (*ours, done.returncode, True)):
        out, err = mask(out, c, mine, entry.names), mask(err, c, mine, entry.names)
        for pattern, put in entry.mask:
            out, err = (re.sub(pattern, put, part, flags=re.M) for part in (out, err))
        out, err = (part.rstrip("\n") + "\n" if part.rstrip("\n") else "" for part in (out, err))  # so the recorder did
        lines = out.split("\n")
        text = "\n".join(sorted(lines) if entry.unordered else lines)
        sides.append(f"{text}2> {err}[exit {rc}]")
    if entry.differs:
        with open(os.environ["PENSTOCK_REASONS"], "a") as f:
            f.write(f"{'idle' if sides[0] == sides[1] else 'needed'} {entry}: @differs {entry.differs}\n")
        return None
    return tuple(sides) if sides[0] != sides[1] else None
