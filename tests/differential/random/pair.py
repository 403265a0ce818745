"""Debian's Slurm and ours, equal clusters of four nodes with accounts and users, played in step.

Both get each command at the same time; exit status, output, errors and the state after it are compared.  Job numbers
become J1, J2, ... in the order of submissions, so that a refusal on one side alone does not shift the other's."""

import re
import time

from side import BEGIN_S, Lost, Ours, Peer, Remote, differential

SETTLE_S = 5
MOVING_S = 90  # ... when it still changes on one side
AGAIN_S = 3  # how long a list may differ because one side hears later of what happened
STORED_S = 10  # ... of what a database keeps, which hears of starts and ends in batches
GONE_S = 12  # ... while a job is completing
COMPLETING = re.compile(r"\bcomp(leting)?\b|\bCG\b|COMPLETING")
ASK_S = 40
PAIR = re.compile(r"(?:^|(?<=\s))([A-Z]\w*(?:/\w+)?)=(.*?)(?=\s+[A-Z]\w*(?:/\w+)?=|\s*$)")
NUMBER = re.compile(r"(?<![0-9a-f])7\d{4}(?!\d)")
# What a command may have changed, by its beginning; the first that matches counts.
CHANGES = [(re.compile(pattern), names) for pattern, names in (
    (r"(sacctmgr|scontrol) (-\S+ )*(show|list)\b", ()),
    (r"sacctmgr .*\b(qos|QOS|q) ", ("qos", "assoc", "jobs")),
    (r"sacctmgr .*\b(acc\w*|Account|us\w*|User|u) ", ("assoc", "user", "account", "jobs")),
    (r"sacctmgr .*(add|create|ad|modify|mod|update|delete|remove|del|rem) cl\w* ", ("assoc", "jobs")),
    (r"scontrol \w+ partition", ("partitions", "jobs", "nodes")),
    (r"scontrol \w+ reservation", ("reservations", "jobs", "nodes")),
    (r"scontrol update node", ("nodes", "jobs")),
    (r"f=.*sacctmgr -i load", ("assoc", "user", "account", "jobs")),
    (r"scontrol|sbatch|scancel|srun|salloc|f=.*sbatch", ("jobs", "nodes")),
)]
DEAD = re.compile(r"^no end$|Unable to contact slurm controller|Connection refused|Zero Bytes were transmitted")


LISTS = re.compile(r"(sacct|squeue|sinfo|sprio|sstat|sreport|(scontrol|sacctmgr) (-\S+ )*(show|list)) ")
BEFORE = re.compile(r"""^(env (\w+=('[^']*'|\S*) )+|printf ("(?:\\.|[^"\\])*"|'[^']*') \| )""")
SCONTROL_OPTIONS = re.compile(r"(?<=\bscontrol )(-[aoQ] )+")


def plain(command):
    """Without what gives it variables or a script, and without options that change no words."""
    return SCONTROL_OPTIONS.sub("", BEFORE.sub("", command))


def changes(command):
    return next((names for pattern, names in CHANGES if pattern.match(plain(command))), ())


def fields_of(lines):
    """{(what, field): value} of lines of values or of Key=Value pairs; a line's first word says what it is about."""
    fields = {}
    for line in lines:
        head, pairs = line.split(" ")[0], PAIR.findall(line)
        if head.startswith("JobId=JOB"):
            continue  # a task of an array under a number of its own, or a step's job: which one is not the same on both
        fields.update({(head, key): value for key, value in pairs})
        if not line.startswith("JobId="):
            fields[line if len(pairs) < 2 else head, ""] = "there"
    return fields


def apart(peer, ours):
    """What the states differ in, as (what, field, peer's value, ours); of a thing that both have, fields of both alone."""
    peer, ours = set(filter(None, peer.split("\n"))), set(filter(None, ours.split("\n")))
    peer, ours = fields_of(peer - ours), fields_of(ours - peer)
    both_have = {head for head, _ in peer} & {head for head, _ in ours}
    return {(head, key, peer.get((head, key)), ours.get((head, key))) for head, key in peer.keys() | ours.keys()
            if peer.get((head, key)) != ours.get((head, key)) and
            (((head, key) in peer and (head, key) in ours) if head in both_have or head.startswith("JobId=") else key == "")}


def submitted(answer):
    """The number of the job that an answer to sbatch tells, or None."""
    found = re.search(r"(?:batch job |^)(7\d{4})\b", answer[1])
    return found.group(1) if found else None


class Difference:
    """A command whose answers, or the states after it, are not equal."""

    def __init__(self, user, command, kind, text):
        self.user, self.command, self.kind, self.text = user, command, kind, text

    def key(self):
        """Differences of one kind have one key: numbers and names are left out."""
        text = re.sub(r"J?\d+", "#", self.text)
        text = re.sub(r"(?m)^ *(?=[-+])", "", text)
        if self.kind == "state":
            return f"state {text}"
        verb = " ".join(re.findall(r"[a-z]+", plain(self.command))[:2 if self.command.startswith(("scontrol", "sacctmgr")) else 1])
        return f"{verb} {self.kind}\n{text}"


class Side:
    """What the player knows of one side: the numbers of its jobs."""

    def __init__(self, make):
        self.remote, self.jobs, self.words = Remote(make), [], {}
        self.remote.tell("begin")

    def ready(self):
        self.dir = self.remote.hear(BEGIN_S)
        self.names = differential.masks_of(self)
        return self

    @property
    def root(self):
        return self.dir.rsplit("/", 1)[0]

    def add_job(self, number):
        self.jobs.append(number or "99999")
        if number:
            self.words[number] = f"J{len(self.jobs)}"

    def command(self, text):
        """${J1} is the first submission of the sequence."""
        return re.sub(r"\$\{J(\d+)\}", lambda m: (self.jobs[int(m.group(1)) - 1:int(m.group(1))] or ["99999"])[0], text)

    def clean(self, text):
        text = differential.mask(text, self.names)
        return NUMBER.sub(lambda m: self.words.get(m.group(), "JOB"), text)


class Recorded(Side):
    """The peer as it answered when the sequence was recorded: [answer, states] of each command."""

    def __init__(self, tape):
        self.remote, self.jobs, self.words, self.names = self, [], {}, ()
        self.tape, self.states = iter(tape), {}

    def ready(self):
        return self

    def tell(self, what, *_):
        self.asked = what

    def hear(self, _):
        if self.asked == "play":
            self.answer, self.states = next(self.tape)
            return self.answer, self.states
        if self.asked == "again":
            return self.answer
        return self.states if self.asked == "states" else (0, "", "")

    def close(self):
        pass


def shaped(cluster, typed):
    cluster.typed = typed
    return cluster


class Pair:
    def __init__(self, root, build, peer, db, preload, rules, tape=None, typed=False):
        """tape: what the peer answered before, in place of the peer."""
        self.rules, self.used, self.same = rules, set(), True
        self.ended = False  # a case that excuses what no state shows ends the sequence (`ends`)
        self.alone = False  # one side ran a job that the other refused
        self.excuses = []  # (the case, user, command, kind, what differs) of each difference that a case excused
        self.folder, self.show, self.heard = root, False, []
        self.beside = ""  # the states behind the last command, of both
        self.sides = [Side(lambda: shaped(Peer(root, 4, 4, peer, db, preload), typed)) if tape is None else Recorded(tape),
                      Side(lambda: shaped(Ours(root, 4, 4, build), typed))]

    def ready(self):
        for side in self.sides:
            side.ready()
        return self

    def close(self):
        for side in self.sides:
            side.remote.close()

    # ---- rules

    def ruled(self, command, texts):
        if texts[0] == texts[1]:
            return texts
        return [differential.apply_rules(self.rules, name, text, self.used, plain(command)) for name, text in zip(("peer", "ours"), texts)]

    def excuse(self, user, command, kind, text):
        """The case that excuses this difference, or None."""
        asked = (f"{user}$ {command}", f"{user}$ {SCONTROL_OPTIONS.sub('', command)}")
        for case in self.rules.get("case", []):
            if any(re.search(case["command"], a) for a in asked) and re.search(case.get("text", ""), text) and \
                    case.get("kind", kind) == kind and (self.alone or not case.get("alone")) and \
                    re.search(case.get("beside", ""), self.beside):
                self.excuses.append((case, user, command, kind, text))
                self.ended |= case.get("ends", False)
                return case
        return None

    # ---- playing

    def ask(self, what, *own):
        """The same question to both sides; own: what each is told."""
        for side, args in zip(self.sides, own):
            side.remote.tell(what, *args)
        return [side.remote.hear(ASK_S) for side in self.sides]

    def play(self, user, command):
        """Differences of one command: [] when both did the same."""
        names = changes(command)
        (peer, theirs), (ours, mine) = self.ask("play", *((user, side.command(command), names) for side in self.sides))
        if self.show:
            print(f"{user}$ {command}\n  peer {peer}\n  ours {ours}")
        if not names and LISTS.match(plain(command)):
            peer, ours = self.asked_again(user, command, peer, ours)
        if plain(command).startswith(("srun", "salloc")):
            self.alone |= bool(peer[0]) != bool(ours[0])
        if any(DEAD.search(answer[2]) for answer in (peer, ours)):
            self.alive()
        if plain(command).startswith("sbatch") and self.take_jobs((peer, ours)):
            theirs, mine = self.ask("states", (names,), (names,))
        found = self.answers_apart(user, command, peer, ours)
        self.heard.append([[peer[0], *(differential.mask(text, self.sides[0].names) for text in peer[1:])], {}])
        found += self.settle(user, command, names, theirs, mine) if names else []
        self.same &= not self.ended
        return found

    def asked_again(self, user, command, peer, ours):
        """The answers to a question, once they are the same or time is up."""
        first, pause = time.monotonic(), 0.1
        wait = STORED_S if plain(command).startswith("sacct ") else AGAIN_S
        while list(self.texts_apart(command, peer, ours)) and \
                time.monotonic() < first + (GONE_S if COMPLETING.search(peer[1] + ours[1]) else wait):
            time.sleep(pause)  # between two questions
            pause = min(pause * 2, 1)
            peer, ours = self.ask("again", *((user, side.command(command)) for side in self.sides))
        return peer, ours

    def alive(self):
        """Raises Lost when a controller or its database is gone."""
        for question in ("sinfo -h", "sacctmgr -n list cluster"):
            answers = self.ask("sh", *[("root", question)] * 2)
            for which, answer in zip(("the peer", "ours"), answers):
                if answer[0]:
                    raise Lost(f"{which} is dead: {answer[2].strip()[:200]}")

    def texts_apart(self, command, *answers):
        """(exit, out or err, the peer's, ours) of what is not the same after the rules."""
        for i, name in enumerate(("exit", "out", "err")):
            peer, ours = (str(a[i]) if i == 0 else side.clean(a[i]) for side, a in zip(self.sides, answers))
            if i:
                peer, ours = self.ruled(command, [peer, ours])
            if peer != ours:
                yield name, peer, ours

    def answers_apart(self, user, command, *answers):
        """Each refusal has the status of the mistake that it tells: a case that excuses another mistake excuses it, too (`exit`)."""
        found, other_mistake = [], False
        for name, peer, ours in reversed(list(self.texts_apart(command, *answers))):
            same = name != "exit" and sorted(peer.split("\n")) == sorted(ours.split("\n"))
            kind, text = "order" if same else name, differential.lines_apart(name, peer, ours)
            case = self.excuse(user, command, kind, text)
            other_mistake |= bool(case and case.get("exit") and all(answer[0] for answer in answers))
            if not case and not (name == "exit" and other_mistake):
                found.append(Difference(user, command, kind, text))
        return found[::-1]

    def take_jobs(self, answers):
        """A submission has a place in the order, also when it was refused; by one side alone, it is undone: True."""
        numbers = [submitted(answer) for answer in answers]
        for side, number in zip(self.sides, numbers):
            if number and not all(numbers):
                side.remote.tell("sh", "root", f"scancel -Q {number}")
                side.remote.hear(ASK_S)
            side.add_job(number if all(numbers) else None)
        self.alone |= any(numbers) and not all(numbers)
        return any(numbers) and not all(numbers)

    def new(self, theirs, mine):
        texts = ["\n".join(side.clean(states[name]) for name in states) for side, states in zip(self.sides, (theirs, mine))]
        self.beside = "\n".join(texts)
        if any("State=COMPLETING" in text for text in texts):
            return {("jobs", "", "completing", "completing")}  # what comes next would find CPUs on one side alone
        return apart(*self.ruled("state", texts))

    def settle(self, user, command, names, theirs, mine):
        """Differences of the states, which must last; from then on the clusters are not the same."""
        began, pause = time.monotonic(), 0.03
        until = began + SETTLE_S
        while (new := self.new(theirs, mine)) and time.monotonic() < until:
            time.sleep(pause)  # between two questions
            pause = min(pause * 1.5, 0.4)
            before = theirs, mine
            theirs, mine = self.ask("states", (names,), (names,))
            if (theirs, mine) != before:  # an array of short jobs runs
                until = min(time.monotonic() + SETTLE_S, began + MOVING_S)
        new = {item for item in new if item[0] != "jobs"}
        self.heard[-1][1] = {name: differential.mask(text, self.sides[0].names) for name, text in theirs.items()}
        self.same = not new
        texts = sorted(self.told(item) for item in new)
        return [Difference(user, command, "state", text) for text in texts if not self.excuse(user, command, "state", text)]

    def told(self, item):
        head, key, peer, ours = item
        return f"    state {head.split('=')[-1] if not key else head} {key}: {peer}, ours {ours}|\n"
