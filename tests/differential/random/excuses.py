"""What may differ: the rules of differences.toml, what they make of two answers, and how much each of them takes out.

`excuses.py FILE...` reads what `play --log` kept, tells what the rules of now do not explain, and for every rule and case
how many commands it matched and how many would be told without it."""

import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import differential  # noqa: E402

PAIR = re.compile(r"(?:^|(?<=\s))([A-Z]\w*(?:/\w+)?)=(.*?)(?=\s+[A-Z]\w*(?:/\w+)?=|\s*$)")
BEFORE = re.compile(r"""^(env (\w+=('[^']*'|\S*) )+|printf ("(?:\\.|[^"\\])*"|'[^']*') \| )""")
SCONTROL_OPTIONS = re.compile(r"(?<=\bscontrol )(-[aoQ] )+")

# The letters of long options: a case that names the letter is about both.
LETTERS = {command: dict(word.split("=") for word in words.split()) for command, words in {
    "squeue": "account=A all=a array=r clusters=M iterate=i jobs=j licenses=L long=l name=n nodelist=w noheader=h partition=p "
              "priority=P qos=q reservation=R sort=S states=t step=s steps=s user=u users=u",
    "sinfo": "all=a clusters=M dead=d exact=e future=F iterate=i list-reasons=R long=l nodes=n Node=N noheader=h partition=p "
             "reservation=T responding=r sort=S states=t summarize=s",
    "sacct": "accounts=A account=A allclusters=L allusers=a allocations=X batch-script=B brief=b clusters=M cluster=M completion=c "
             "constraints=C duplicates=D endtime=E file=f flags=F gid=g group=g jobs=j long=l name=n ncpus=I nnodes=i nodelist=N "
             "noheader=n parsable=p parsable2=P partition=r qos=q reason=R starttime=S start=S state=s timelimit-max=K timelimit-min=k "
             "truncate=T user=u uid=u wckeys=W format=o",
    "scancel": "account=A batch=b clusters=M full=f hurry=H interactive=i name=n nodelist=w partition=p qos=q quiet=Q reservation=R "
               "signal=s state=t user=u",
    "sprio": "cluster=M clusters=M format=o jobs=j long=l noheader=h norm=n partition=p sort=S user=u weights=w",
    "sshare": "accounts=A account=A all=a clusters=M format=o long=l noheader=n partition=m parsable=p parsable2=P users=u user=u",
    "sstat": "allsteps=a fields=o format=o helpformat=e jobs=j noheader=n parsable=p parsable2=P pidformat=i",
    "sdiag": "all=a cluster=M clusters=M reset=r",
    "scontrol": "cluster=M clusters=M future=F",
    "sreport": "all_clusters=a cluster=M clusters=M noheader=n parsable=p parsable2=P quiet=Q tres=T",
    "sacctmgr": "immediate=i noheader=n oneliner=o parsable=p parsable2=P quiet=Q readonly=r associations=s verbose=v",
}.items()}


def in_letters(command):
    letters = LETTERS.get(command.split(" ")[0], {})
    return re.sub(r"(?<= )--([\w-]+)(?:=|(?= |$))",
                  lambda m: f"-{letters[m[1]]} " if m[1] in letters else m[0], command).rstrip()


def plain(command):
    """Without what gives it variables or a script, and without options that change no words."""
    return SCONTROL_OPTIONS.sub("", BEFORE.sub("", command))


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


class Counts(Counter):
    def add(self, key):
        self[key] += 1


class Excuses:
    """The rules, with what they were used for."""

    def __init__(self, rules):
        self.rules, self.used = rules, Counts()
        self.ended = False  # a case that excuses what no state shows ends the sequence (`ends`)
        self.alone = False  # one side ran a job that the other refused
        self.excuses = []  # (the case, user, command, kind, what differs) of each difference that a case excused
        self.beside = ""  # the states behind the last command, of both
        self.said = ""  # the lines of both answers to it, each behind its side

    def ruled(self, command, texts):
        if texts[0] == texts[1]:
            return texts
        return [differential.apply_rules(self.rules, name, text, self.used, plain(command)) for name, text in zip(("peer", "ours"), texts)]

    def excuse(self, user, command, kind, text):
        """The case that excuses this difference, or None."""
        asked = [f"{user}$ {c}" for c in (command, SCONTROL_OPTIONS.sub("", command), in_letters(command))]
        for i, case in enumerate(self.rules.get("case", [])):
            if any(re.search(case["command"], a) for a in asked) and re.search(case.get("text", ""), text) and \
                    case.get("kind", kind) == kind and (self.alone or not case.get("alone")) and \
                    re.search(case.get("beside", ""), self.beside) and re.search(case.get("said", ""), self.said):
                self.excuses.append((case, user, command, kind, text))
                self.used.add(("case", i))
                self.ended |= case.get("ends", False)
                return case
        return None

    def texts_apart(self, command, *answers):
        """(exit, out or err, the peer's, ours) of what is not the same after the rules."""
        for i, name in enumerate(("exit", "out", "err")):
            peer, ours = (a[i] for a in answers)
            peer, ours = self.ruled(command, [peer, ours]) if i else (str(peer), str(ours))
            if peer != ours:
                yield name, peer, ours

    def answers_apart(self, user, command, *answers):
        """Each refusal has the status of the mistake that it tells: a case that excuses another mistake excuses it, too (`exit`)."""
        found, other_mistake = [], False
        self.said = "".join(f"{side} {line}\n" for side, answer in zip(("peer", "ours"), answers)
                            for text in answer[1:] for line in text.splitlines())
        for name, peer, ours in reversed(list(self.texts_apart(command, *answers))):
            same = name != "exit" and sorted(peer.split("\n")) == sorted(ours.split("\n"))
            kind, text = "order" if same else name, differential.lines_apart(name, peer, ours)
            case = self.excuse(user, command, kind, text)
            other_mistake |= bool(case and case.get("exit") and all(answer[0] for answer in answers))
            if not case and not (name == "exit" and other_mistake):
                found.append(Difference(user, command, kind, text))
        return found[::-1]

    def states_apart(self, user, command, peer, ours):
        """Differences of the texts of all states."""
        texts = sorted(told_state(item) for item in apart(*self.ruled("state", [peer, ours])))
        return [Difference(user, command, "state", text) for text in texts if not self.excuse(user, command, "state", text)]


def told_state(item):
    head, key, peer, ours = item
    return f"    state {head.split('=')[-1] if not key else head} {key}: {peer}, ours {ours}|\n"


def load_rules():
    rules = tomllib.loads((HERE.parent / "differences.toml").read_text())
    own = tomllib.loads((HERE / "differences.toml").read_text())
    return {"rule": rules["rule"] + own.get("rule", []), "case": own.get("case", [])}


# ---- how much each rule takes out


def judged(rules, entry):
    """(what is told of a command that was kept, the rules and cases that were used)."""
    excuses = Excuses(rules)
    user, command = entry["user"], entry["command"]
    excuses.alone, excuses.beside = entry["alone"], entry["beside"]
    found = excuses.answers_apart(user, command, *entry["answers"])
    if entry["states"]:
        excuses.beside = "\n".join(entry["states"])
        found += excuses.states_apart(user, command, *entry["states"])
    return found, excuses.used


def without(rules, which, number):
    return {**rules, which: [{"command": r"\Z.", "match": r"\Z."} if i == number else rule for i, rule in enumerate(rules[which])]}


def weigh(paths):
    rules, told = load_rules(), Counter()
    matched, needed = Counter(), Counter()
    for path in paths:
        for line in Path(path).read_text().splitlines():
            entry = json.loads(line)
            found, used = judged(rules, entry)
            for difference in found:
                if not told[difference.key()]:
                    print(f"DIFFERS  {path} {difference.user}$ {difference.command}\n{difference.text}", end="")
                told[difference.key()] += 1
            for which, number in used:
                matched[which, number] += 1
                needed[which, number] += len(judged(without(rules, which, number), entry)[0]) > len(found)
    for which in ("rule", "case"):
        for number, rule in sorted(enumerate(rules[which]), key=lambda item: -matched[which, item[0]]):
            pattern = rule["match"] if which == "rule" else f"{rule.get('kind', '')} {rule.get('text', '')}"
            print(f"{matched[which, number]:6} {needed[which, number]:6}  {which} {number}: {rule.get('command', '')} | {pattern} | "
                  f"{rule['reason']}")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(weigh(sys.argv[1:]))
