#!/usr/bin/python3
"""Retry submissions over REST while slurmctld and slurmrestd are killed, and count the jobs.

usage: tests/chaos/chaos_idempotency.py --build BUILD [--jobs N] [--kills N] [--clients N] [--seed N] [--tap]

Clients post jobs, each with an Idempotency-Key, and post again until they are told a number; of those some are posted once
more.  Meanwhile slurmctld or slurmrestd gets SIGKILL at random moments, each time while a post is under way, and is started
again.  Then each key has exactly one job, the one that was told every time.  It is counted how many kills cut a post off:
sent, and never answered with a number."""

import collections
import http.client
import json
import queue
import random
import sys
import tempfile
import threading
import time

from tapmain import main, put_away

PATIENCE_S = 120
BODY = {"script": "#!/bin/sh\ntrue\n",
        "job": {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "hold": True}}


class Client(threading.Thread):
    """Takes names from the queue until it says None."""

    def __init__(self, rest, token, names, seed):
        super().__init__(daemon=True)
        self.rest, self.names = rest, names
        self.dice = random.Random(seed)
        self.headers = {"X-SLURM-USER-TOKEN": token, "Content-Type": "application/json"}
        self.told = collections.defaultdict(list)
        self.posts, self.lost, self.given_up = 0, 0, []
        self.under_way = None  # the number of the post that has been sent and is not answered
        self.cut = set()  # numbers of posts that were sent, and got no number

    def post(self, name):
        """The job's number, None: nobody knows what has become of it."""
        body = json.dumps({**BODY, "job": {**BODY["job"], "name": name}})
        conn = http.client.HTTPConnection("127.0.0.1", self.rest.port, timeout=20)
        self.posts += 1
        try:
            conn.connect()
            self.under_way = self.posts
            conn.request("POST", "/slurm/v0.0.45/job/submit", body, {**self.headers, "Idempotency-Key": f"key of {name}"})
            answer = conn.getresponse()
            text = answer.read()
            if answer.status == 200:
                return json.loads(text)["job_id"]
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            number, self.under_way = self.under_way, None
            conn.close()
        self.lost += 1
        if number:
            self.cut.add(number)
        return None

    def run(self):
        while (name := self.names.get()):
            end = time.monotonic() + PATIENCE_S
            while not (job := self.post(name)):
                if time.monotonic() > end:
                    self.given_up.append(name)
                    break
                time.sleep(0.01)  # until somebody is there again
            if job:
                self.told[name].append(job)
                if self.dice.random() < 0.3 and (again := self.post(name)):
                    self.told[name].append(again)


def posts_under_way(people):
    return [(client, number) for client in people if (number := client.under_way)]


def wait_for_post(people, left, moment):
    """Some moment of a post that is under way."""
    end = time.monotonic() + PATIENCE_S
    while not posts_under_way(people) and not left.empty() and time.monotonic() < end:
        time.sleep(0.0002)
    time.sleep(moment)


def kill_again_and_again(cluster, rest, people, names, left, kills, dice, report):
    """Hands a share of the names out and kills a moment later.  How often each was killed, and how many kills cut a post."""
    count, hit = collections.Counter(), []
    for i in range(kills):
        for name in names[len(names) * i // kills:len(names) * (i + 1) // kills]:
            left.put(name)
        wait_for_post(people, left, dice.uniform(0, 0.008))  # the random moment: a post takes some milliseconds
        hit.append(posts_under_way(people))
        if dice.random() < 0.6:
            cluster.kill_ctld()
            cluster.start_ctld()
            count["slurmctld"] += 1
        else:
            rest.daemon.kill()
            rest.start()
            count["slurmrestd"] += 1
    count["cut"] = sum(any(number in client.cut for client, number in posts) for posts in hit)
    report(", ".join(f"{n} times {name}" for name, n in count.items() if name != "cut") + f" killed; {count['cut']} kills cut a post")
    return count


def check(cluster, clients, names):
    """What is wrong, as sentences."""
    jobs = collections.defaultdict(set)
    for line in cluster.run("squeue", "-h", "-t", "all", "-o", "%i|%j").stdout.splitlines():
        number, name = line.split("|")
        jobs[name].add(int(number))
    told = {}
    for c in clients:
        told.update(c.told)
        for name in c.given_up:
            yield f"{name}: no answer in {PATIENCE_S} s"
    for name in names:
        if len(jobs[name]) != 1 or set(told.get(name, ())) != jobs[name]:
            yield f"{name}: told {told.get(name)}, there are {sorted(jobs[name])}"


def trial(cluster, rest, jobs, kills, clients, seed, report):
    """(how often each was killed, what is wrong)"""
    names = [f"job-{seed}-{i}" for i in range(jobs)]
    left = queue.SimpleQueue()
    token = rest.token("root")
    people = [Client(rest, token, left, seed + i) for i in range(clients)]
    for c in people:
        c.start()
    try:
        killed = kill_again_and_again(cluster, rest, people, names, left, kills, random.Random(seed), report)
    finally:
        for _ in people:
            left.put(None)
        for c in people:
            c.join()
    report(f"{jobs} jobs, {sum(c.posts for c in people)} posts, {sum(c.lost for c in people)} of them without a number")
    return killed, list(check(cluster, people, names))


def run(args, report):
    from conftest import Cluster
    from restd import Restd
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    cluster = Cluster(folder, nodes=1, conf="AuthAltTypes=auth/jwt\nMaxJobCount=50000\nMinJobAge=3600")
    try:
        cluster.start()
        with Restd(cluster) as rest:
            killed, wrong = trial(cluster, rest, args.jobs, args.kills, args.clients, args.seed, report)
            yield "each key has one job", wrong
            yield "both were killed", [] if killed["slurmctld"] and killed["slurmrestd"] else [f"only {dict(killed)}"]
            yield "kills cut posts", [] if killed["cut"] > args.kills / 20 else [f"{killed['cut']} of {args.kills} kills"]
    finally:
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, jobs=1000, kills=200, clients=4))
