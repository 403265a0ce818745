"""Debian's Slurm and ours, equal clusters of four nodes with accounts and users, played in step.

Both get each command at the same time; exit status, output, errors and the state after it are compared.  Job numbers
become J1, J2, ... in the order of submissions, so that a refusal on one side alone does not shift the other's."""

import re
import time

from excuses import Difference, Excuses, apart, plain
from side import BEGIN_S, Lost, Ours, Peer, Remote, differential

SETTLE_S = 5
MOVING_S = 90  # ... when it still changes on one side
AGAIN_S = 3  # how long a list may differ because one side hears later of what happened
STORED_S = 10  # ... of what a database keeps, which hears of starts and ends in batches
GONE_S = 12  # ... while a job is completing
COMPLETING = re.compile(r"\bcomp(leting)?\b|\bCG\b|COMPLETING")
ASK_S = 40
MOVING = ("jobs", "", "completing", "completing")
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


def changes(command):
    return next((names for pattern, names in CHANGES if pattern.match(plain(command))), ())


def submitted(answer):
    """The number of the job that an answer to sbatch tells, or None."""
    found = re.search(r"(?:batch job |^)(7\d{4})\b", answer[1])
    return found.group(1) if found else None


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
        self.excuses, self.same = Excuses(rules), True
        self.folder, self.show, self.heard = root, False, []
        self.log = []  # the commands whose answers or states differed, as both sides gave them
        self.sides = [Side(lambda: shaped(Peer(root, 4, 4, peer, db, preload), typed)) if tape is None else Recorded(tape),
                      Side(lambda: shaped(Ours(root, 4, 4, build), typed))]

    def ready(self):
        for side in self.sides:
            side.ready()
        return self

    def close(self):
        for side in self.sides:
            side.remote.close()

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
            self.excuses.alone |= bool(peer[0]) != bool(ours[0])
        if any(DEAD.search(answer[2]) for answer in (peer, ours)):
            self.alive()
        if plain(command).startswith("sbatch") and self.take_jobs((peer, ours)):
            theirs, mine = self.ask("states", (names,), (names,))
        entry = {"user": user, "command": command, "alone": self.excuses.alone, "beside": self.excuses.beside, "states": [],
                 "answers": self.cleaned(peer, ours)}
        found = self.excuses.answers_apart(user, command, *entry["answers"])
        self.heard.append([[peer[0], *(differential.mask(text, self.sides[0].names) for text in peer[1:])], {}])
        if names:
            entry["states"] = self.settle(theirs, mine, names)
            found += self.excuses.states_apart(user, command, *entry["states"]) if entry["states"] else []
        if entry["answers"][0] != entry["answers"][1] or entry["states"]:
            self.log.append(entry)
        self.same &= not self.excuses.ended
        return found

    def cleaned(self, *answers):
        return [[answer[0], *map(side.clean, answer[1:])] for side, answer in zip(self.sides, answers)]

    def asked_again(self, user, command, peer, ours):
        """The answers to a question, once they are the same or time is up."""
        first, pause = time.monotonic(), 0.1
        wait = STORED_S if plain(command).startswith("sacct ") else AGAIN_S
        while list(self.excuses.texts_apart(command, *self.cleaned(peer, ours))) and \
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

    def take_jobs(self, answers):
        """A submission has a place in the order, also when it was refused; by one side alone, it is undone: True."""
        numbers = [submitted(answer) for answer in answers]
        for side, number in zip(self.sides, numbers):
            if number and not all(numbers):
                side.remote.tell("sh", "root", f"scancel -Q {number}")
                side.remote.hear(ASK_S)
            side.add_job(number if all(numbers) else None)
        self.excuses.alone |= any(numbers) and not all(numbers)
        return any(numbers) and not all(numbers)

    def settle(self, theirs, mine, names):
        """The texts of the states when they differ; when rules do not explain it for some seconds, the clusters are not the same."""
        began, pause = time.monotonic(), 0.03
        until = began + SETTLE_S
        while (new := self.new(theirs, mine)) and time.monotonic() < until:
            time.sleep(pause)  # between two questions
            pause = min(pause * 1.5, 0.4)
            before = theirs, mine
            theirs, mine = self.ask("states", (names,), (names,))
            if (theirs, mine) != before:  # an array of short jobs runs
                until = min(time.monotonic() + SETTLE_S, began + MOVING_S)
        self.heard[-1][1] = {name: differential.mask(text, self.sides[0].names) for name, text in theirs.items()}
        self.same = not new or new == {MOVING}
        texts = self.texts(theirs, mine)
        return texts if new != {MOVING} and texts[0] != texts[1] else []

    def texts(self, *states):
        return ["\n".join(side.clean(own[name]) for name in own) for side, own in zip(self.sides, states)]

    def new(self, theirs, mine):
        texts = self.texts(theirs, mine)
        self.excuses.beside = "\n".join(texts)
        if any("State=COMPLETING" in text for text in texts):
            return {MOVING}  # what comes next would find CPUs on one side alone
        return apart(*self.excuses.ruled("state", texts))
