#!/usr/bin/python3
"""Run jobs on cloud nodes whose programs fail, hang, come late and kill themselves, and count jobs and nodes.

usage: tests/chaos/chaos_cloud.py --build BUILD [--nodes N] [--jobs N] [--kills N] [--deaths N] [--seed N] [--tap]

N nodes of State=CLOUD, a slurmd each while they are up.  ResumeProgram and SuspendProgram draw for each call what they do: well;
not for some of the nodes; too late for others; an exit code; no end; SIGKILL for themselves.  slurmctld gets SIGKILL at random
and is started again; slurmds of nodes that are up get SIGKILL.  An operator resumes nodes that are down.  Then the programs are well
again, and: each job has completed, once; none began on a node without slurmd but one that was just killed; each node is powered down,
as is shown, and nothing of it runs; the journal is sound."""

import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tapmain import main, put_away

PATIENCE_S = 600
RESUME_S, SUSPEND_S, IDLE_S, SLURMD_TIMEOUT_S = 20, 5, 4, 15
WELL = "well"

# What a call draws.  The file `well` ends all mischief.
DRAW = r"""
draw() { # of 100: one of the words, each with its share
    local n=$((RANDOM % 100)) word
    [ -e "$here/well" ] && { echo well; return; }
    for word in "$@"; do
        n=$((n - ${word#*=}))
        [ $n -lt 0 ] && { echo "${word%=*}"; return; }
    done
    echo well
}
end=$(draw fail=8 hang=6 die=6)
echo "$(basename "$0") end=$end" >> "$here/drawn"
"""
RESUME = r"""#!/bin/bash
here=$(dirname "$(readlink -f "$0")")
""" + DRAW + r"""
for node in $("$here/hosts" "$1"); do
    what=$(draw none=6 late=5)
    echo "resume $what" >> "$here/drawn"
    case $what in
    none) ;;
    late) (exec setsid bash -c "sleep LATE; exec '$here/really-resume' $node") < /dev/null > /dev/null 2>&1 & ;;
    *) "$here/really-resume" "$node" ;;
    esac
    [ "$end" = die ] && [ $((RANDOM % 3)) = 0 ] && kill -9 $$
done
[ "$end" = hang ] && { echo $$ >> "$here/hung"; exec sleep 1000; }
[ "$end" = fail ] && exit 3
exit 0
"""
SUSPEND = r"""#!/bin/bash
here=$(dirname "$(readlink -f "$0")")
""" + DRAW + r"""
for node in $("$here/hosts" "$1"); do
    what=$(draw none=5)
    echo "suspend $what" >> "$here/drawn"
    [ "$what" = none ] || "$here/really-suspend" "$node"
    [ "$end" = die ] && [ $((RANDOM % 3)) = 0 ] && kill -9 $$
done
[ "$end" = hang ] && { echo $$ >> "$here/hung"; exec sleep 1000; }
[ "$end" = fail ] && exit 3
exit 0
"""
# A job tells of its run, and whether each of its nodes has a slurmd at that moment.
JOB = r"""
for n in $(scontrol show hostnames); do
    kill -0 "$(cat RUN/slurmd-$n.pid)" 2> /dev/null || echo "$SLURM_JOB_ID dead $n $EPOCHREALTIME" >> LOG
done
echo "$SLURM_JOB_ID began $SLURM_RESTART_COUNT" >> LOG
sleep 0.5
echo "$SLURM_JOB_ID ended" >> LOG
"""


def wait_for(condition, what, cluster, patience=PATIENCE_S):
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"never: {what}\n{cluster.run('sinfo', '-h', '-o', '%T %D %N').out}\n"
                               f"{cluster.run('squeue', '-h', '-o', '%i %T %r %N').out[:2000]}")
        time.sleep(0.3)


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def make_programs(cluster, binary):
    p = cluster.programs
    write_program(p / "hosts", f"#!/bin/bash\nexec {binary('scontrol')} show hostnames \"$1\"\n")
    for name, text in (("resume", RESUME), ("suspend", SUSPEND)):
        (p / name).rename(p / f"really-{name}")
        write_program(p / name, text.replace("LATE", str(RESUME_S + 3)))


def states(cluster):
    return dict(line.split() for line in cluster.run("sinfo", "-h", "-N", "-o", "%N %t").out.splitlines())


def daemon_of(cluster, node):
    """The process of the node's slurmd; 0: none."""
    try:
        pid = int((cluster.dir / "run" / f"slurmd-{node}.pid").read_text())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError):
        return 0


def kill_node(cluster, dice, deaths):
    up = [n for n in cluster.clouds if daemon_of(cluster, n)]
    if up:
        node = dice.choice(up)
        deaths.append((node, time.time()))
        try:
            os.kill(daemon_of(cluster, node), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it has just ended; 0 would be ourselves
    return bool(up)


def resume_down(cluster):
    """What an operator does who reads sinfo."""
    down = [n for n, word in states(cluster).items() if word.startswith("down")]
    if down:
        cluster.run("scontrol", "update", f"nodename={','.join(down)}", "state=resume", check=False)
    return len(down)


def submit(cluster, dice, script):
    options = ["-N", str(dice.choice((1, 1, 1, 2, 4))), "-o", "/dev/null", "--requeue", "--wait-all-nodes=1", "-t", "10"]
    return int(cluster.run("sbatch", "--parsable", *options, str(script)).out)


def trouble(cluster, dice, args, script):
    """The time of mischief.  The ids of the jobs, how often what happened, and which node was killed when."""
    jobs, counts, deaths = [], Counter(), []
    events = ["kill"] * args.kills + ["death"] * args.deaths + ["jobs"] * (args.jobs // 10)
    dice.shuffle(events)
    for event in events:
        if event == "jobs":
            jobs += [submit(cluster, dice, script) for _ in range(10)]
        elif event == "kill":
            cluster.kill_ctld()
            time.sleep(dice.random())
            cluster.start_ctld(timeout=60)
        elif not kill_node(cluster, dice, deaths):
            continue
        counts[event] += 1
        counts["resumed by hand"] += resume_down(cluster)
        time.sleep(dice.random() * 2)
    return jobs, counts, deaths


def settle(cluster):
    """Well programs, until no job is left and no node has power.  A node that died is down until SlurmdTimeout."""
    (cluster.programs / WELL).touch()

    def is_quiet():
        resume_down(cluster)
        return not cluster.run("squeue", "-h").out
    wait_for(is_quiet, "the queue is empty", cluster)

    def is_off():  # a node that SuspendProgram left on is powered down once more
        return resume_down(cluster) == 0 and set(states(cluster).values()) == {"idle~"} and \
            not any(daemon_of(cluster, n) for n in cluster.clouds)
    wait_for(is_off, "every node is powered down, and is", cluster)


def lately_killed(node, when, deaths):
    """Was its slurmd killed so shortly before that the controller may count it as there?"""
    return any(node == name and 0 <= when - killed <= SLURMD_TIMEOUT_S for name, killed in deaths)


def end_hung(cluster):
    """Programs that hang and whose controller was killed: nobody ends them but an operator.  Gives how many there were."""
    hung = cluster.programs / "hung"
    ended = 0
    for pid in map(int, hung.read_text().split() if hung.exists() else ()):
        try:
            if "sleep" in Path(f"/proc/{pid}/cmdline").read_text() and str(cluster.dir) in Path(f"/proc/{pid}/environ").read_text():
                os.kill(pid, signal.SIGKILL)
                ended += 1
        except (FileNotFoundError, ProcessLookupError):
            pass  # the controller has ended it
    return ended


def check_jobs(cluster, jobs, log, deaths):
    ended = dict(line.split("|") for line in cluster.run("sacct", "-n", "-X", "-a", "-P", "-o", "JobID,State").out.splitlines())
    wrong = [f"job {j}: {ended.get(str(j), 'lost')}" for j in jobs if ended.get(str(j)) != "COMPLETED"]
    yield "each job has completed", wrong
    lines = [line.split() for line in log.read_text().splitlines()]
    runs = Counter(words[0] for words in lines if words[1] == "ended")
    # A script goes on when its slurmd was killed; its end is not heard, and the job runs once more when the node is given up.
    rows = [line.split("|") for line in cluster.run("sacct", "-n", "-X", "-D", "-a", "-P", "-o", "JobID,State").out.splitlines()]
    known = Counter(job for job, _ in rows)
    completed = Counter(job for job, state in rows if state == "COMPLETED")
    yield "each run to the end is known to accounting, one of them as completed", [
        f"job {j}: {runs[j]} ended, {known[j]} known, {completed[j]} completed"
        for j in map(str, jobs) if completed[j] != 1 or not 1 <= runs[j] <= known[j]]
    yield "no job began on a node without slurmd", [
        " ".join(words) for words in lines if words[1] == "dead" and not lately_killed(words[2], float(words[3]), deaths)]


def trial(cluster, args, report):
    from conftest import program
    dice = random.Random(args.seed)
    log, script = cluster.dir / "runs", cluster.dir / "job.sh"
    log.touch()
    text = JOB.replace("RUN", str(cluster.dir / "run")).replace("LOG", str(log)).replace("scontrol", program("scontrol"))
    script.write_text("#!/bin/bash\n" + text)
    make_programs(cluster, program)
    cluster.start()
    began = time.monotonic()
    jobs, counts, deaths = trouble(cluster, dice, args, script)
    report(f"{time.monotonic() - began:.0f} s of trouble: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    began = time.monotonic()
    settle(cluster)
    drawn = Counter((cluster.programs / "drawn").read_text().splitlines())
    report(f"{time.monotonic() - began:.0f} s to settle; drawn: " + ", ".join(f"{what}: {n}" for what, n in sorted(drawn.items())))
    restarts = sum(1 for line in log.read_text().splitlines() if re.search(r"began [1-9]", line))
    report(f"{len(jobs)} jobs, {restarts} runs after a requeue")
    yield from check_jobs(cluster, jobs, log, deaths)
    verified = cluster.run("penstock", "journal", "verify", str(cluster.dir / "state"), check=False)
    yield "the journal is sound", [] if verified.rc == 0 else [verified.out + verified.err]


def run(args, report):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration" / "nodes"))
    from test_power import Cloud
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    conf = f"ResumeRate=0\nSuspendRate=0\nSlurmdTimeout={SLURMD_TIMEOUT_S}\nMaxJobCount=50000\nMinJobAge=3600"
    times = f"SuspendTimeout={SUSPEND_S}\nResumeTimeout={RESUME_S}"
    cluster = Cloud(folder, clouds=args.nodes, suspend_time=str(IDLE_S), times=times, conf=conf)
    try:
        yield from trial(cluster, args, report)
        ended = end_hung(cluster)
        yield "no more programs hang than controllers were killed", [f"{ended} hang"] if ended > args.kills else []
    finally:
        (cluster.programs / WELL).touch()
        cluster.end_clouds()
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, nodes=200, jobs=300, kills=20, deaths=30))
