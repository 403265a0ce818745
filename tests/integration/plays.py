"""Plays of several users on a described cluster: recorded sessions (tests/golden/recordings/*.txt) and the rows of
what the incumbent was seen to do (tests/golden/behaviours/PAGE/*.txt).  Answers are compared byte by byte.

    $ squeue -h -o %i        a command of alice, run by bash in her home
    bob$ squeue              ... of another user
    # scontrol show node     ... of root
    > more                   directly below: the command's next line
    << text                  directly below: a line of its stdin
    62                       its stdout
    2> some message          its stderr
    [exit 0]                 its exit status, the end of the entry; what follows on the line is ignored

    ## words                 a comment

Directives stand before the command that they are for, or take effect where they stand:

    @cluster NAME            the cluster of this file: tests/golden/plays/clusters/NAME/
    @conf Key=Value          a line of its slurm.conf more, in place of lines with this key
    @row ID words            begins the row ID: a test of its own, with an empty queue
    @id A                    the next command's output names a job: {A} stands for its number from here on
    @do $ COMMAND            run it (prompts as above); it must succeed, its output is not compared
    @until $ COMMAND => TEXT ask until the output holds TEXT
    @daemon kill|stop|start NAME   slurmctld, slurmdbd or a node's slurmd
    @script NAME             the lines "| text" below become alice's executable file NAME
    @file PATH               ... become a file below the cluster's folder (etc/...), of root
    @unordered               the next command's lines may come in any order
    @clear                   every job is cancelled, nodes are idle again
    @within SECONDS          the next command must have answered by then
    @keys ACTS               the next command runs at a terminal, where this is typed (typed.py)
    @signals ACTS            its process group gets these signals
    @allow REASON => PATTERN => TEXT       replace PATTERN in the next command's recorded output by TEXT
    @mask REASON => PATTERN => TEXT        replace it on both sides, in the next command
    @everywhere, @masks      the same two for all commands of the file
    @differs REASON          the next command is run but not compared, for this reason
    @skip REASON             the next command is not run
    @rootdir USER            commands of root run in this user's home, where they were recorded (whole file)
    @unset NAME              users' commands lack this variable of the tests' own (whole file)

A command that only looks (squeue, scontrol show, ...) is asked again until it answers as recorded, for PATIENCE
seconds: states follow within moments.  One that removes a file afterwards ("; rm ") is asked once.  PENSTOCK_PATIENCE changes that.

A cluster's folder holds slurm.conf (the keys that depend on the machine are added, NodeName lines get addresses),
other files of /etc/slurm, and `setup`, which root runs in bash once the nodes are idle.  "# slurmdbd" in slurm.conf
asks for a slurmdbd with SQLite; root runs `database` once it answers, before slurmctld starts.  "# slurmrestd" asks for
one on TCP, whose address commands have as $R.  "# never idle: node2" names nodes that cannot be used (inval)."""

import atexit
import difflib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import people
import transcripts
import typed
from accounting import Dbd, storage_of
from conftest import BUILD, ROOT, SLOW, Cluster, free_ports, wait_until
from restd import Restd

GOLDEN = ROOT / "tests" / "golden"
CLUSTERS = GOLDEN / "plays" / "clusters"
PATIENCE = float(os.environ.get("PENSTOCK_PATIENCE", "6"))
LIMIT_S = 40
HOST = socket.gethostname().split(".")[0]
PROMPT = re.compile(r"(\$|#|[a-z]+\$) (.*)")
LOOKS = re.compile(r"(?!.*\bsbatch )(\w+=\S* )*(squeue|sinfo|sacct|sprio|sshare|sstat|sreport|cat|ls|test|grep|wc|head|tail|sort|echo"
                   r"|scontrol (-\w+ )*(show|listpids|ping)|sacctmgr (-\w+ )*(show|list))\b")
OWN_KEYS = ("SlurmctldHost", "SlurmctldPort", "SlurmUser", "SlurmdUser", "StateSaveLocation", "SlurmdSpoolDir",
            "SlurmctldPidFile", "SlurmdPidFile", "SlurmctldLogFile", "SlurmdLogFile", "SlurmctldDebug", "SlurmdDebug")


def expand(names):
    """node[1-2,5],x of slurm.conf as a list."""
    out = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", names):
        m = re.fullmatch(r"(.*?)\[(.*)\]", part)
        for piece in m.group(2).split(",") if m else [None]:
            first, _, last = (piece or "").partition("-")
            out += [part] if piece is None else \
                [f"{m.group(1)}{i:0{len(first)}}" for i in range(int(first), int(last or first) + 1)]
    return out


class Stage(Cluster):
    """A cluster as a folder of tests/golden/plays/clusters describes it, with alice, bob and carol."""

    def __init__(self, folder, name, more=()):
        self.name, self.source, self.more, self.dbd, self.rest = name, CLUSTERS / name, list(more), None, None
        self.homes, self.unset = people.HOMES, ()
        self.ids = {"dir": str(folder), "bin": str(BUILD / "src" / "cli")}
        text = (self.source / "slurm.conf").read_text()
        names = [n for line in text.splitlines() if line.startswith("NodeName=") and "State=CLOUD" not in line
                 and "State=FUTURE" not in line for n in expand(line.split()[0][len("NodeName="):])]
        super().__init__(folder, nodes=len(names))
        self.env["TZ"] = transcripts.zone()
        self.node_names = names
        for path in self.source.iterdir():
            if path.name not in ("slurm.conf", "slurmdbd.conf", "setup", "database"):
                shutil.copy(path, self.conf.parent / path.name)
        if re.search(r"^# slurmdbd$", text, re.M):
            key = self.conf.parent / "slurm.key"
            self.dbd = Dbd(self.dir / "dbd", storage_of("sqlite", self.dir / "dbd"), key, conf=self.dbd_conf())
        self.write_conf()

    def wait_nodes(self, state="idle", names=None):
        never = re.search(r"^# never idle: (.*)$", (self.source / "slurm.conf").read_text(), re.M)
        never = never.group(1).split() if never else []
        if state == "idle" and not names and never:
            super().wait_nodes("inval", never)
        return super().wait_nodes(state, names or [n for n in self.node_names if n not in never])

    def dbd_conf(self):
        path = self.source / "slurmdbd.conf"
        return path.read_text() if path.exists() else ""

    def conf_text(self):
        if not hasattr(self, "source"):
            return ""
        given = [line.split("=")[0] + "=" for line in self.more if not line.startswith(("NodeName", "PartitionName"))]
        lines = [line for line in super().conf_text().splitlines() if line.startswith(tuple(k + "=" for k in OWN_KEYS))]
        ports = dict(zip(self.node_names, self.node_ports))
        if self.dbd:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=localhost",
                      f"AccountingStoragePort={self.dbd.port}"]
        for line in [*(self.source / "slurm.conf").read_text().splitlines(), *self.more]:
            if line in self.more or not line.startswith(tuple(given)) or not given:
                line = line.replace("{dir}", str(self.dir)).replace("{host}", HOST)
                if line.startswith("NodeName=") and not re.search(r"NodeName=DEFAULT|State=(CLOUD|FUTURE)", line):
                    head, _, rest = line.partition(" ")
                    lines += [f"NodeName={n} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={ports[n]} {rest}"
                              for n in expand(head[len("NodeName="):]) if n in ports]
                else:
                    lines.append(line)
        return "\n".join(lines) + "\n"

    def start(self):
        people.make_homes()
        self.dir.chmod(0o755)
        for folder in ("work", "tmp"):
            (self.dir / folder).chmod(0o1777)
        if self.dbd:
            self.dbd.start()
            self.set_up("database")
        super().start()
        if re.search(r"^# slurmrestd$", (self.source / "slurm.conf").read_text(), re.M):
            self.rest = Restd(self, user="daemon")
            self.env["R"] = f"http://127.0.0.1:{self.rest.port}"
            self.rest.__enter__()
        self.set_up("setup")
        return self

    def set_up(self, name):
        """Run a file of the cluster's folder, if it has this one."""
        path = self.source / name
        if path.exists():
            done = self.bash(path.read_text(), "root")
            assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"

    def stop(self):
        if self.rest and self.rest.daemon:
            self.rest.daemon.stop()
        if self.dbd:
            self.dbd.stop()  # the cluster's end kills what is left in its folder
        problems = super().stop()
        people.remove_homes()
        return problems

    def own_env(self):
        return {name: value for name, value in self.env.items() if not name.startswith(("PYTEST", *self.unset))}

    def bash(self, command, user="alice", text="", timeout=LIMIT_S):
        """Run it as the user; (stdout, stderr, status), with status 124 when it does not end."""
        options, env = people.as_user(user)
        cwd = self.homes.get(user, self.work)
        own = self.own_env()
        process = subprocess.Popen(["bash", "-c", command], cwd=cwd, env={**own, **env}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   errors="replace", start_new_session=True, **options)
        try:
            out, err = process.communicate(text, timeout=timeout * SLOW)
            rc = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            rc = 124
        return subprocess.CompletedProcess(command, rc, out, err)

    def act_on(self, command, user, word, acts):
        """The same for a command that is typed at or gets signals."""
        options, env = people.as_user(user)
        options |= {"cwd": self.homes.get(user, self.work), "env": {**self.own_env(), **env}}
        if word == "keys":
            shown, rc = typed.at_terminal(command, acts, LIMIT_S * SLOW, **options)
            return subprocess.CompletedProcess(command, rc, shown, "")
        out, err, rc = typed.signalled(command, acts, LIMIT_S * SLOW, **options)
        return subprocess.CompletedProcess(command, rc, out, err)

    def daemon(self, what, name):
        if name == "slurmdbd":
            {"kill": self.dbd.kill, "stop": self.dbd.stop, "start": self.dbd.start}[what]()
        elif name == "slurmctld":
            {"kill": self.kill_ctld, "stop": self.ctld.stop, "start": self.start_ctld}[what]()
        elif what == "start":
            self.start_slurmd(name)
        else:
            {"kill": self.slurmds[name].kill, "stop": self.slurmds[name].stop}[what]()

    def clear(self):
        """An empty queue and nodes that are idle again, whatever the last row did to them."""
        if not self.ctld.alive():
            self.start_ctld()
        super().clear()


# ---- masks -----------------------------------------------------------------------------------------

OUR_NICENESS = re.compile(rf"\bSLURM_PRIO_PROCESS={os.getpriority(os.PRIO_PROCESS, 0)}\b")  # nobody nice was recorded
HOME_NAMES = re.compile(r"/(demo|hom[e])/(alice|bob|carol)\b")


def mask(text, c):
    """What the comparison sees of either side."""
    text = transcripts.OUR_ENVIRONMENT.sub("", text)
    text = OUR_NICENESS.sub("SLURM_PRIO_PROCESS=0", text)
    text = text.replace(str(c.work), "/demo/root").replace(str(c.conf.parent), "/etc/slurm")
    for name, home in people.HOMES.items():
        text = text.replace(str(home), f"/demo/{name}")
    text = HOME_NAMES.sub(r"/demo/\2", text)
    text = re.sub(rf"\b({re.escape(HOST)}|ctl1)\b", "ctl1", text)
    text = re.sub(r"\b(alice|bob|carol|root|research)\(\d+\)", r"\1(id)", text)
    for pattern, put in transcripts.MASKS:
        text = pattern.sub(put, text)
    return text


# ---- files -----------------------------------------------------------------------------------------

class Entry:
    """A command with its recorded answer, and what stood before it."""

    def __init__(self, line, user, command):
        self.line, self.user, self.command = line, user, command
        self.out = self.err = self.input = ""
        self.rc, self.before, self.allow, self.mask = None, [], [], []
        self.differs = self.skip = self.id = self.within = self.acts = None
        self.unordered = False

    def __str__(self):
        prompt = {"alice": "$", "root": "#"}.get(self.user, self.user + "$")
        return f"{self.line}: {prompt} {self.command}"


class Play:
    """A file: its cluster, and its rows as (id, words, entries).  A recording is one row."""

    def __init__(self, path):
        self.path, self.cluster, self.conf, self.rows = path, "demo", [], []
        self.homes, self.unset = people.HOMES, ()
        self.everywhere, self.waiting, self.entry, self.lines = [], [], None, None
        for number, line in enumerate(path.read_text().split("\n"), 1):
            try:
                self.take(number, line)
            except (AssertionError, ValueError) as error:
                raise AssertionError(f"{path}:{number}: {error}") from None
        assert self.entry is None, f"{path}: {self.entry} has no end"
        assert not self.waiting or not self.rows, f"{path}: nothing follows {self.waiting[0]}"

    def take(self, number, line):
        prompt = PROMPT.fullmatch(line)
        if self.entry is not None:
            self.take_answer(line)
        elif line.startswith("| ") or line == "|":
            assert self.lines is not None, "no @script or @file above"
            self.lines.append(line[2:])
        elif line.startswith("@"):
            self.take_directive(number, *line[1:].partition(" ")[::2])
        elif prompt:
            user = {"$": "alice", "#": "root"}.get(prompt.group(1), prompt.group(1)[:-1])
            self.entry = Entry(number, user, prompt.group(2))
            self.begin_entry()
        else:
            assert not line or line.startswith("##"), f"neither command, directive nor comment: {line}"

    def take_answer(self, line):
        entry = self.entry
        done = re.match(r"\[exit (\d+)\]", line)
        if done:
            entry.rc, self.entry = int(done.group(1)), None
        elif line.startswith("> ") and not entry.out and not entry.err:
            entry.command += "\n" + line[2:]
        elif line.startswith("<< "):
            entry.input += line[3:] + "\n"
        elif line.startswith("2> ") or line == "2>":
            entry.err += line[3:] + "\n"
        else:
            entry.out += line + "\n"

    def begin_entry(self):
        if not self.rows:
            self.rows.append((self.path.stem.split("-")[0], "", []))
        entry = self.entry
        for word, rest in self.waiting:
            if word in ("allow", "mask"):
                assert rest.count(" => ") == 2, f"@{word} REASON => PATTERN => TEXT"
                getattr(entry, word).append(tuple(rest.split(" => ")[1:]))
            elif word in ("differs", "skip"):
                assert rest, f"@{word} needs a reason"
                setattr(entry, word, rest)
            elif word == "id":
                entry.id = rest
            elif word == "within":
                entry.within = float(rest)
            elif word == "unordered":
                entry.unordered = True
            elif word in ("keys", "signals"):
                entry.acts = (word, typed.parse(rest))
            else:
                entry.before.append((word, rest))
        self.waiting = []
        self.rows[-1][2].append(entry)

    def take_directive(self, number, word, rest):
        self.lines = None
        if word == "cluster":
            self.cluster = rest
        elif word == "conf":
            assert not self.rows, "@conf stands before the first row"
            self.conf.append(rest)
        elif word == "row":
            assert not self.waiting, f"nothing follows @{self.waiting[0][0]}"
            ident, _, words = rest.partition(" ")
            self.rows.append((ident, words, []))
        elif word == "rootdir":
            self.homes = {**people.HOMES, "root": people.HOMES[rest]}
        elif word == "unset":
            self.unset += (rest,)
        elif word in ("everywhere", "masks"):
            self.everywhere.append((word, tuple(rest.split(" => ")[1:])))
        elif word in ("script", "file"):
            self.lines = []
            self.waiting.append((word, (rest, self.lines)))
        else:
            assert word in ("id", "do", "until", "daemon", "clear", "unordered", "within", "keys", "signals", "allow",
                            "mask", "differs", "skip"), \
                f"unknown directive @{word}"
            self.waiting.append((word, rest))


# ---- playing ---------------------------------------------------------------------------------------

def known(c, text):
    return re.sub(r"\{(\w+)\}", lambda m: c.ids.get(m.group(1), m.group(0)), text)


def prompted(text):
    """(user, command) of a directive's command; alice without a prompt."""
    m = PROMPT.fullmatch(text)
    return ({"$": "alice", "#": "root"}.get(m.group(1), m.group(1)[:-1]), m.group(2)) if m else ("alice", text)


def prepare(c, entry):
    for word, rest in entry.before:
        if word == "script":
            path = people.HOMES["alice"] / rest[0]
            path.write_text("\n".join(rest[1]) + "\n")
            path.chmod(0o755)
            os.chown(path, people.UIDS["alice"], people.GROUP[1])
        elif word == "file":
            (c.dir / rest[0]).write_text("\n".join(rest[1]).replace("{dir}", str(c.dir)) + "\n")
        elif word == "daemon":
            c.daemon(*rest.split())
        elif word == "clear":
            c.clear()
        elif word == "do":
            user, command = prompted(known(c, rest))
            done = c.bash(command, user)
            assert done.returncode == 0, f"{rest}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        else:
            asked, text = known(c, rest).split(" => ")
            user, command = prompted(asked)
            deadline = time.monotonic() + 20 * SLOW
            while text not in (shown := (done := c.bash(command, user)).stdout + done.stderr):
                assert time.monotonic() < deadline, f"never: {rest}\n{shown}"
                time.sleep(0.05)  # between two questions


def sides(c, play, entry, done, without=None):
    """(recorded, ours) as texts that are equal when the answer is as recorded; without: a rule to leave out."""
    recorded, ours = [known(c, entry.out), known(c, entry.err)], [done.stdout, done.stderr]
    rules = [rule for word, rule in play.everywhere if word == "everywhere"]
    rules += [rule for rule in entry.allow if rule is not without]
    for pattern, text in rules:
        recorded = [re.sub(pattern, known(c, text), part, flags=re.M) for part in recorded]
    masks = [rule for word, rule in play.everywhere if word == "masks"] + entry.mask
    texts = []
    for (out, err), rc in ((recorded, entry.rc), (ours, done.returncode)):
        out, err = mask(out, c), mask(err, c)
        for pattern, text in masks:
            out, err = (re.sub(pattern, text, part, flags=re.M) for part in (out, err))
        # A recording does not tell whether the last line had an end.
        out, err = ((part + "\n" if part and not part.endswith("\n") else part) for part in (out, err))
        lines = out.split("\n")
        errors = err.split("\n")[:-1]
        err = "".join(f"2> {line}\n" for line in (sorted(errors) if entry.unordered else errors))
        texts.append("\n".join(sorted(lines) if entry.unordered else lines) + err + f"[exit {rc}]")
    return texts


def tell_reasons(c, play, entry, done):
    """For PENSTOCK_REASONS=FILE: what of an entry's reasons this answer needed, and what it did not."""
    path = os.environ.get("PENSTOCK_REASONS")
    if not path or not (entry.differs or entry.allow):
        return
    told = []
    for rule in entry.allow:
        recorded, ours = sides(c, play, entry, done, without=rule)
        told.append(("idle" if recorded == ours else "needed", "allow", " => ".join(rule), ""))
    if entry.differs:
        recorded, ours = sides(c, play, entry, done)
        diff = difflib.unified_diff(recorded.split("\n"), ours.split("\n"), "", "", "", "", 0, "")
        told.append(("idle" if recorded == ours else "needed", "differs", entry.differs, "\n".join([*diff][2:])))
    with open(path, "a") as f:
        for state, word, text, diff in told:
            f.write(f"{state} {play.path.name}:{entry}: @{word} {text}\n" + "".join(f"    {d}\n" for d in diff.split("\n") if d))


def ask(c, play, entry):
    """None, or how the answer differs."""
    command = known(c, entry.command)
    deadline = time.monotonic() + PATIENCE * SLOW
    while True:
        started = time.monotonic()
        done = c.act_on(command, entry.user, *entry.acts) if entry.acts else c.bash(command, entry.user, entry.input)
        took = time.monotonic() - started
        if entry.id:
            number = re.search(r"(?:job|allocation) (\d+)", done.stdout + done.stderr)
            if number:
                c.ids[entry.id] = number.group(1)
        if entry.differs:
            tell_reasons(c, play, entry, done)
            return None
        recorded, ours = sides(c, play, entry, done)
        if entry.within and took > entry.within * SLOW:
            ours += f"\nafter {took:.1f} s"
        if recorded == ours:
            tell_reasons(c, play, entry, done)
            return None
        if not LOOKS.match(command) or "; rm " in command or time.monotonic() > deadline:
            break
        time.sleep(0.1)  # between two questions
    diff = difflib.unified_diff(recorded.split("\n"), ours.split("\n"), "recorded", "ours", "", "", 1, "")
    return f"{play.path.name}:{entry}\n" + "\n".join(diff)


def perform(c, play, entries):
    """The differences of a row's or a recording's commands."""
    found = []
    c.homes, c.unset = play.homes, play.unset
    for entry in entries:
        prepare(c, entry)
        if not entry.skip:
            found.append(ask(c, play, entry))
    return [difference for difference in found if difference]


class Stages:
    """One stage at a time: rows of files with the same cluster share it."""

    def __init__(self):
        self.key = self.stage = self.folder = None

    def get(self, play):
        key = (play.cluster, tuple(play.conf))
        if key != self.key:
            self.close()
            self.folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
            self.stage = Stage(self.folder, play.cluster, play.conf)
            self.key = key
            self.stage.start()
        else:
            self.stage.clear()
        return self.stage

    def close(self):
        if self.stage is None:
            return
        stage, self.stage, self.key = self.stage, None, None
        problems = stage.stop()
        logs = stage.logs("") if problems else ""
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not problems, f"{problems}\n{logs}"


STAGES = Stages()
atexit.register(lambda: STAGES.stage and STAGES.close())


def rows(page, pattern="*"):
    """Parameters of a test: every row of the page's files, those of one cluster together."""
    found = sorted((Play(path) for path in (GOLDEN / "behaviours" / page).glob(f"{pattern}.txt")),
                   key=lambda play: (play.cluster, play.conf, play.path.name))
    return [pytest.param(play, entries, id=f"{ident} {words}".strip()) for play in found
            for ident, words, entries in play.rows]


def recordings(pattern):
    return [pytest.param(path, id=path.stem) for path in sorted((GOLDEN / "recordings").glob(f"{pattern}.txt"))]


def check_row(play, entries):
    """The body of a test of one row."""
    if not people.HAVE_PEOPLE:
        pytest.skip("only root can be several users")
    assert entries, "the row has no command"
    found = perform(STAGES.get(play), play, entries)
    if found:
        logs = STAGES.stage.logs("slurmctld")[-3000:]
        pytest.fail(f"{len(found)} of {len(entries)} commands answer differently\n" + "\n\n".join(found) +
                    f"\n\n{logs}", pytrace=False)


def check_recording(path):
    """The body of a test of a whole recording, on a fresh cluster."""
    play = Play(path)
    STAGES.close()
    check_row(play, [entry for _, _, entries in play.rows for entry in entries])
