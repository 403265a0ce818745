#!/usr/bin/python3
"""Change every key that a cluster has while it is used, and ask what failed: nothing may.

usage: tests/chaos/chaos_rotation.py --build BUILD [--rounds N] [--rate N] [--abrupt 1] [--seed N] [--tap]

A cluster with certificates of an authority (tls/openssl), named keys of auth/slurm (slurm.jwks) and an identity provider's
keys (jwks=) has submissions by three ways at once: sbatch over TCP, encrypted, on a host that has its identity vouched for,
the same on a host that has the keys in a file, and a portal's tokens through slurmrestd. A step of two nodes prints numbered
lines all the time. Each round changes the three in random order, each as docs/tls.md and docs/security.md say: the new one is
made known, then used, then the old one is taken away. Files of keys change on one host after the other, with submissions in
between. After each of these a step is launched, and sstat asks the old step. Then: no submission failed, there were at least
--rate of them a second, no step failed, no line of the first one is missing, and each job that was said to be submitted is
there, once.

--abrupt 1 replaces the key of auth/slurm at once, which no cluster survives without a failure: then this test must fail."""

import collections
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tapmain import main, put_away

COMMANDS, KEYED, PORTALS = 3, 1, 2
BETWEEN_HOSTS = 10  # submissions by the host with the keys
NODES = 2
USER = "bin"  # of the portal
LIFE_S = 600  # of its tokens


class Load:
    """Submissions without a pause, by COMMANDS and KEYED times sbatch and PORTALS callers of slurmrestd."""

    def __init__(self, env, vouched, rest, token):
        self.env, self.vouched, self.rest, self.token = env, vouched, rest, token
        self.jobs, self.failed, self.ways, self.over = [], [], collections.Counter(), threading.Event()
        self.begun = time.monotonic()
        self.threads = [threading.Thread(target=self.repeat, args=(f,)) for f in
                        [self.sbatch] * COMMANDS + [self.keyed] * KEYED + [self.post] * PORTALS]
        for t in self.threads:
            t.start()

    def repeat(self, submit):
        while not self.over.is_set():
            try:
                self.jobs.append(submit())
                self.ways[submit.__name__] += 1
            except (ValueError, KeyError, OSError) as e:
                self.failed.append(f"{submit.__name__}: {e}")
                self.ways[f"{submit.__name__} failed"] += 1

    def sbatch(self):
        return self.keyed(self.vouched)

    def keyed(self, more={}):
        from conftest import program
        done = subprocess.run([program("sbatch"), "--parsable", "-H", "-o/dev/null", "--wrap", "true"], env=self.env | more, cwd="/",
                              text=True, capture_output=True)
        if done.returncode != 0:
            raise ValueError(done.stderr)
        return int(done.stdout)

    def post(self):
        from test_rest_tokens import submit
        status, answer = submit(self.rest, self.token, hold=True)
        if status != 200:
            raise ValueError(f"status {status}: {answer}")
        return int(answer["job_id"])

    def tried(self, way):
        return self.ways[way] + self.ways[f"{way} failed"]

    def end(self):
        """Submissions a second."""
        self.over.set()
        for t in self.threads:
            t.join()
        return len(self.jobs) / (time.monotonic() - self.begun)


class Lines:
    """A step of both nodes that prints 0, 1, 2 ... of each, until its job is cancelled."""

    def __init__(self, cluster):
        self.out = cluster.dir / "lines"
        with self.out.open("w") as f:
            self.srun = cluster.popen("srun", f"-N{NODES}", f"-n{NODES}", "--overlap", "--mem=1", "-l", "-J", "lines", "sh", "-c",
                                      "i=0; while :; do echo $i; i=$((i + 1)); sleep 0.05; done", stdout=f, stderr=subprocess.PIPE)

    def problems(self):
        """Of what came so far: each task's numbers in order, none left out."""
        text = self.out.read_text()
        rows = [line.split(": ") for line in text[:text.rindex("\n") + 1].splitlines()]
        for task in range(NODES):
            got = [int(n) for t, n in rows if int(t) == task]
            if got != list(range(len(got))):
                yield f"task {task}: its lines are not 0 to {len(got) - 1}"
        if self.srun.poll() is not None:
            yield f"srun ended with {self.srun.returncode}: {self.srun.stderr.read()}"


class Keys:
    """What the cluster, its nodes and the host of the commands know, and how it changes."""

    def __init__(self, cluster, folder, login, abrupt):
        self.c, self.folder, self.login, self.abrupt, self.made = cluster, folder, login, abrupt, 0
        self.etc = cluster.conf.parent
        self.name, self.authority, self.issuer = self.fresh_name(), self.fresh_authority(), self.fresh_issuer()
        self.write_keys(None, self.name)
        self.write_trust(self.authority)
        self.authority.install(self.etc, "ctld", "slurmd")
        self.write_issuers(self.issuer)

    def next(self):
        self.made += 1
        return self.made

    def fresh_name(self):
        return f"k{self.next()}"

    def fresh_authority(self):
        from pki import Authority
        n = self.next()
        return Authority(self.folder / f"ca{n}", f"authority {n}")

    def fresh_issuer(self):
        from test_rest_tokens import Issuer
        return Issuer(self.folder, f"issuer{self.next()}")

    def write_keys(self, load, *names, signs=None):
        """On the login host first; it submits with the new file before the cluster has it."""
        from conftest import wait_until
        from test_configless import put
        from test_key_rotation import key
        text = json.dumps({"keys": [key(n, **({"use": "default"} if n == signs else {})) for n in names]})
        put(self.login / "slurm.jwks", text, 0o600)
        if load:
            have = load.tried("keyed")
            wait_until(lambda: load.tried("keyed") >= have + BETWEEN_HOSTS, "the host with the keys submits", 120)
        put(self.etc / "slurm.jwks", text, 0o600)

    def write_trust(self, *authorities):
        from test_configless import put
        for place in (self.etc, self.login):
            put(place / "ca_cert.pem", "".join(a.cert.read_text() for a in authorities), 0o644)

    def write_issuers(self, *issuers):
        from test_configless import put
        put(self.etc / "jwks.json", json.dumps({"keys": [k for i in issuers for k in i.keys()]}), 0o644)

    def change_keys(self, load):
        old, new = self.name, self.fresh_name()
        if self.abrupt:
            yield "auth/slurm: at once", lambda: self.write_keys(load, new)
        else:
            yield "auth/slurm: known", lambda: self.write_keys(load, old, new, signs=old)
            yield "auth/slurm: used", lambda: self.write_keys(load, old, new, signs=new)
            yield "auth/slurm: alone", lambda: self.write_keys(load, new)
        self.name = new

    def change_authority(self, load):
        old, new = self.authority, self.fresh_authority()
        yield "authority: known", lambda: self.write_trust(old, new)
        yield "authority: used", lambda: [new.pair(self.etc, p) for p in ("ctld", "slurmd")]
        yield "authority: alone", lambda: self.write_trust(new)
        self.authority = new

    def change_issuer(self, load):
        old, new = self.issuer, self.fresh_issuer()
        yield "jwks: known", lambda: self.write_issuers(old, new)
        load.token = new.token(USER, "ES256", LIFE_S)
        yield "jwks: used", lambda: None
        yield "jwks: alone", lambda: self.write_issuers(new)
        self.issuer = new


def read_again(cluster):
    return [(cluster.dir / "log" / f"slurmd-{n}.log").read_text().count("configuration read again") for n in cluster.node_names]


def stage(cluster, load, step, put):
    """What failed of a change, with the load going on before and after it."""
    from conftest import wait_until
    job, before = step.partition(".")[0], read_again(cluster)
    put()
    cluster.run("scontrol", "reconfigure")
    wait_until(lambda: all(n > b for n, b in zip(read_again(cluster), before)), "each node has read it again", 60)
    have = len(load.jobs)
    wait_until(lambda: len(load.jobs) + len(load.failed) >= have + 50, "the load goes on", 120)
    done = cluster.run("srun", f"-N{NODES}", f"--jobid={job}", "--overlap", "--mem=1", "echo", "here", check=False)
    if done.out != "here\n" * NODES:
        yield f"a new step: exit {done.rc}, {done.out!r} {done.err}"
    shown = cluster.run("sstat", "-n", "-P", "-j", step, "-o", "JobID", check=False)
    if step not in shown.out:
        yield f"sstat of the old step: exit {shown.rc}, {shown.err}"


def login_host(cluster, forward):
    """The folder of a host that is not the controller's: commands there come over TCP."""
    folder = cluster.dir / "login-etc"
    folder.mkdir()
    text = cluster.conf.read_text().replace(f"SlurmctldPort={cluster.port}", f"SlurmctldPort={forward.port}")
    (folder / "slurm.conf").write_text(text)
    return folder


def check_jobs(cluster, load):
    """Each job that somebody was told of is there once."""
    there = cluster.run("squeue", "-h", "-t", "PD", "-o", "%i").out.split()
    told = [str(j) for j in load.jobs]
    if len(set(told)) != len(told):
        yield f"{len(told) - len(set(told))} ids were given twice"
    lost, extra = set(told) - set(there), set(there) - set(told)
    if lost:
        yield f"{len(lost)} submitted jobs are not there: {sorted(lost)[:5]}"
    if extra:
        yield f"{len(extra)} jobs are there that nobody was told of: {sorted(extra)[:5]}"


def trial(cluster, args, report, keys, rest, login):
    from conftest import wait_until
    dice = random.Random(args.seed)
    lines = Lines(cluster)
    step = wait_until(lambda: cluster.run("squeue", "-h", "-s", "-o", "%i").out.strip(), "the step runs")
    wait_until(lambda: lines.out.read_text().count("\n") > 4 * NODES, "lines come")
    load = Load(cluster.env | {"SLURM_CONF": str(login / "slurm.conf")}, cluster.sack("slurmctld"), rest,
                keys.issuer.token(USER, "RS256", LIFE_S))
    wrong, changes = [], 0
    try:
        for n in range(args.rounds):
            for change in dice.sample([keys.change_keys, keys.change_authority, keys.change_issuer], 3):
                for name, put in change(load):
                    changes += 1
                    found = list(stage(cluster, load, step, put))
                    wrong += [f"round {n}, {name}: {w}" for w in found]
    finally:
        rate = load.end()
    report(f"submissions in {changes} changes: {load.ways['sbatch']} by sbatch that is vouched for, {load.ways['keyed']} with the "
           f"key, {load.ways['post']} by the portal; {rate:.0f} a second")
    yield "no submission fails", load.failed + [f"none by {way}" for way in ("sbatch", "keyed", "post") if not load.ways[way]]
    yield f"at least {args.rate} submissions a second", [] if rate >= args.rate else [f"{rate:.1f}"]
    yield "steps are launched and asked", wrong
    yield "a step that runs loses no line", list(lines.problems())
    yield "every submitted job is there once", list(check_jobs(cluster, load))
    cluster.run("scancel", step.partition(".")[0])
    lines.srun.wait(60)


def run(args, report):
    from conftest import Cluster
    from restd import Restd
    from test_vouch import Forward
    folder = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    conf = f"TLSType=tls/openssl\nAuthAltTypes=auth/jwt\nAuthAltParameters=jwks={folder}/etc/jwks.json\nMaxJobCount=1000000\n"
    cluster = Cluster(folder, nodes=NODES, conf=conf)
    forward = Forward(cluster.port)
    try:
        login = login_host(cluster, forward)
        keys = Keys(cluster, folder, login, args.abrupt)
        cluster.start()
        with Restd(cluster) as rest:
            yield from trial(cluster, args, report, keys, rest, login)
    finally:
        forward.close()
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, rounds=3, rate=100, abrupt=0))
