"""The workloads.  Each takes a ready cluster and a size and prints its results as JSON lines.

A result has the name of the workload, what was measured, on which cluster, and its metrics; the
metrics that have a target stand in `run`."""

import json
import os
import re
import signal
import subprocess
import time

from benchlib import Span, emit, fork_client, out, percentile, rss_kib, sdiag, spawn_wait, submit

DONE_S = 600  # at most, for all jobs of a workload to end


def per(total, n, scale=1e3):
    return total * scale / n if n else None


def cpu_fields(span, n):
    """CPU milliseconds an operation, in all and by program."""
    by = {k: per(v, n) for k, v in span.by.items()}
    by["commands"], by["benchmark driver"] = per(span.commands_s, n), per(span.driver_s, n)
    return {"cpu_ms": per(span.cpu_s, n), "ctld_cpu_ms": per(span.ctld_s, n), "machine_cpu_ms": per(span.machine_s, n),
            "cpu_ms_by": {k: round(v, 3) for k, v in by.items() if v >= 0.0005}}


def w_submit(cluster, n):
    """Held jobs from 8 loops of sbatch."""
    with Span(cluster) as span:
        seconds, ids = submit(cluster, n, args=["-H"])
    return [emit(bench="submit", what="sbatch, 8 clients", cluster=cluster.label, n=len(ids),
                 per_s=len(ids) / seconds, **cpu_fields(span, len(ids)))]


def w_throughput(cluster, n):
    """Jobs that run /bin/true, from the first sbatch until sdiag has counted the last as completed."""
    before = sdiag(cluster, "jobs completed") or 0
    done = 0
    with Span(cluster) as span:
        _, ids = submit(cluster, n)
        until = time.monotonic() + DONE_S
        while done < len(ids) and time.monotonic() < until:
            time.sleep(0.05)
            now = sdiag(cluster, "jobs completed")
            done = now - before if now is not None else done
    return [emit(bench="throughput", what="/bin/true jobs", cluster=cluster.label, n=done, submitted=len(ids),
                 per_s=done / span.wall, **cpu_fields(span, done))]


def timed_loop(cluster, n, argv):
    null = os.open("/dev/null", os.O_WRONLY)
    times, failed = [], 0
    for _ in range(n):
        t0 = time.monotonic()
        if spawn_wait(cluster, argv, null, null):
            failed += 1
        else:
            times.append(time.monotonic() - t0)
    os.close(null)
    return times, failed


def latency(bench, what, cluster, times, failed, span, **more):
    ms = [t * 1e3 for t in times]
    return emit(bench=bench, what=what, cluster=cluster.label, n=len(ms), failed=failed, p50_ms=percentile(ms, .5),
                p95_ms=percentile(ms, .95), min_ms=min(ms, default=None), max_ms=max(ms, default=None),
                **cpu_fields(span, len(ms)), **more)


def batch_start(cluster, n):
    """From the call of sbatch to the moment that the job's script looks at the clock."""
    folder, times, failed = cluster.scratch(), [], 0
    for i in range(n):
        mark = os.path.join(folder, f"start.{i}")
        script = os.path.join(folder, "start.sh")
        with open(script, "w") as f:
            f.write(f"#!/bin/sh\ndate +%s.%N > {mark}.new && mv {mark}.new {mark}\n")
        t0 = time.time()
        out(cluster, ["sbatch", "-n1", "--mem=1", "-t", "10", "-o", "/dev/null", script])
        while not os.path.exists(mark) and time.time() - t0 < 60:
            time.sleep(0.002)
        try:
            with open(mark) as f:
                times.append(float(f.read()) - t0)
        except OSError:
            failed += 1
        time.sleep(0.05)  # the cluster is idle again
    return times, failed


def w_latency(cluster, n):
    rows = []
    timed_loop(cluster, 3, ["srun", "-n1", "--mem=1", "true"])  # programs and libraries are in memory
    for what, count, argv in (("srun true", n, ["srun", "-n1", "--mem=1", "true"]),
                              ("srun on all nodes", max(n // 4, 5),
                               ["srun", f"-N{cluster.nodes}", "--mem=1", "true"])):
        with Span(cluster) as span:
            times, failed = timed_loop(cluster, count, argv)
        rows.append(latency("latency", what, cluster, times, failed, span))
    with Span(cluster) as span:
        times, failed = batch_start(cluster, max(n // 5, 5))
    return rows + [latency("latency", "sbatch to running", cluster, times, failed, span)]


STEPS = """#!/bin/sh
srun -N1 -n1 true
date +%s.%N
for i in $(seq {n}); do srun -N1 -n1 true || exit 1; done
date +%s.%N
"""


def w_steps(cluster, n):
    """A wide step of many tasks, and steps of one task one after the other in one allocation."""
    tasks, argv = 16 * cluster.nodes, ["srun", f"-N{cluster.nodes}", f"-n{16 * cluster.nodes}", "--mem=1", "true"]
    timed_loop(cluster, 2, argv)  # programs and libraries are in memory
    with Span(cluster) as span:
        times, failed = timed_loop(cluster, max(n // 50, 5), argv)
    rows = [latency("steps", "srun, 16 tasks a node", cluster, times, failed, span, tasks=tasks)]
    script = os.path.join(cluster.scratch(), "steps.sh")
    with open(script, "w") as f:
        f.write(STEPS.format(n=n))
    os.chmod(script, 0o755)
    with Span(cluster) as span:
        done = out(cluster, [cluster.bin("salloc"), "-N1", "-n1", "--mem=1", script],
               timeout=DONE_S)
    if done.returncode:
        raise RuntimeError(f"steps in an allocation: {done.stderr.strip()[-300:]}")
    begin, end = map(float, done.stdout.split())
    return rows + [emit(bench="steps", what="steps of one task", cluster=cluster.label, n=n, per_s=n / (end - begin),
                        **cpu_fields(span, n))]


def w_tasks(cluster, program, n, width=256):
    """What one more task of a step costs, beside fork and exec of the same program by nobody.

    The difference of a step of `width` tasks on one node and a step of one, for each task more."""
    task, spans = "/bin/true", {}
    for tasks in (1, width):
        argv = ["srun", "-N1", "--mem=1", "--overcommit", f"-n{tasks}", task]
        timed_loop(cluster, 1, argv)
        with Span(cluster) as span:
            times, failed = timed_loop(cluster, n, argv)
        if failed:
            raise RuntimeError(f"{failed} of {n} steps of {tasks} tasks failed")
        spans[tasks] = percentile(times, .5), span.cpu_s / n
    plain = [json.loads(subprocess.run([program, str(width), task], check=True, capture_output=True,
                                       text=True).stdout) for _ in range(n)]
    wall, cpu = [(spans[width][i] - spans[1][i]) / (width - 1) * 1e6 for i in (0, 1)]
    plain_wall, plain_cpu = [percentile([p[k] for p in plain], .5) for k in ("wall_us_each", "cpu_us_each")]
    return [emit(bench="tasks", what="a task more in a step", cluster=cluster.label, n=n, width=width, wall_us=wall,
                 cpu_us=cpu, spawn_wall_us=plain_wall, spawn_cpu_us=plain_cpu, wall_ratio=wall / plain_wall,
                 cpu_ratio=cpu / plain_cpu)]


def squeue_loops(cluster, loops, work):
    """Run work() while `loops` processes run squeue without end; gives (its result, squeues a second)."""
    folder = cluster.scratch()
    stop, count = os.path.join(folder, "stop"), os.path.join(folder, "count")
    for path in (stop, count):
        if os.path.exists(path):
            os.unlink(path)
    null, pids = os.open("/dev/null", os.O_WRONLY), []
    for _ in range(loops):
        pid = fork_client()
        if pid == 0:
            try:
                o = os.open(count, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
                while not os.path.exists(stop):
                    os.write(o, b"." if spawn_wait(cluster, ["squeue"], null, null) == 0 else b"x")
            finally:
                os._exit(0)
        pids.append(pid)
    time.sleep(2)
    have, t0 = os.path.getsize(count) if os.path.exists(count) else 0, time.monotonic()
    try:
        result = work()
        seconds = time.monotonic() - t0
    finally:
        with open(stop, "w"):
            pass
        for pid in pids:
            os.waitpid(pid, 0)
        os.close(null)
    with open(count, "rb") as f:
        done = f.read()[have:]
    return result, len(done) / seconds, done.count(b"x")


def w_fill(cluster, n):
    """A deep queue for the workloads below; also what a queued job costs in memory."""
    before = rss_kib(cluster.ctld_pid)
    with Span(cluster) as span:
        seconds, ids = submit(cluster, n, args=["-H"])
    cluster.ids = ids
    return [emit(bench="fill", what=f"{n} held jobs", cluster=cluster.label, n=len(ids), per_s=len(ids) / seconds,
                 kib_per_job=(rss_kib(cluster.ctld_pid) - before) / len(ids), **cpu_fields(span, len(ids)))]


ACCT_CACHE = 2048  # records that accounting keeps whatever the queue: not what one more array costs


def w_array(cluster, spec, n):
    """Held arrays of half a million tasks: submission, the controller's growth, lines of squeue."""
    argv, times = ["sbatch", "-H", "-a", spec, "--wrap", "true"], []
    for i in range(ACCT_CACHE if n >= 200 else 0):
        out(cluster, argv)
    out(cluster, ["scancel", "-u", "root"])
    for i in range(n + 1):
        start = time.monotonic()
        done = out(cluster, argv)
        if done.returncode:
            raise RuntimeError(done.stderr)
        times.append(time.monotonic() - start)
        if i == 0:
            lines = len(out(cluster, ["squeue", "-h"]).stdout.splitlines())
            before = rss_kib(cluster.ctld_pid)
    grown = rss_kib(cluster.ctld_pid) - before
    return [emit(bench="array", what=f"sbatch -a {spec}", cluster=cluster.label, n=n,
                 submit_p50_ms=percentile(times, .5) * 1e3, submit_p95_ms=percentile(times, .95) * 1e3,
                 kib_per_array=grown / n, squeue_lines=lines)]


def w_query(cluster, n, samples=10, json_samples=3):
    rows, one = [], str(cluster.ids[len(cluster.ids) // 2])
    for what, argv in (("squeue", ["squeue"]), ("squeue -h -o %i", ["squeue", "-h", "-o", "%i"]),
                       ("squeue --json", ["squeue", "--json"]), ("squeue -j <one>", ["squeue", "-j", one]),
                       ("scontrol show job <one>", ["scontrol", "show", "job", one]), ("sinfo", ["sinfo"]),
                       ("sdiag", ["sdiag"])):
        with Span(cluster) as span:
            times, failed = timed_loop(cluster, json_samples if "--json" in argv else samples, argv)
        rows.append(latency("query", what, cluster, times, failed, span, queued=n))
    srun = ["srun", "-n1", "--mem=1", "true"]
    count = max(samples * 3, 10)
    with Span(cluster) as span:
        times, failed = timed_loop(cluster, count, srun)
    rows.append(latency("query", "srun true, quiet", cluster, times, failed, span, queued=n))
    with Span(cluster) as span:
        (times, failed), rate, bad = squeue_loops(cluster, 16, lambda: timed_loop(cluster, count, srun))
    rows.append(latency("query", "srun true, 16 squeue loops", cluster, times, failed, span, queued=n,
                        squeue_per_s=rate, squeue_failed=bad))
    with Span(cluster) as span:  # what the kernel alone makes of it: no daemon takes part in this one
        (times, failed), _, _ = squeue_loops(cluster, 16, lambda: timed_loop(cluster, count, ["true"]))
    rows.append(latency("query", "no srun, just true, 16 squeue loops", cluster, times, failed, span, queued=n))
    return rows


def first_answer(cluster, t0):
    """Seconds from t0 until squeue answers, and the ids that it names."""
    while time.monotonic() - t0 < 300:
        r = out(cluster, ["squeue", "-h", "-r", "-o", "%i"])
        if r.returncode == 0:
            return time.monotonic() - t0, {int(x) for x in re.findall(r"^(\d+)", r.stdout, re.M)}
        time.sleep(0.01)
    raise RuntimeError(f"{cluster.label}: no answer in 300 s after a restart")


def w_recovery(cluster, n, burst=500):
    """SIGKILL right after a burst of acknowledged submissions; what is lost, how soon it answers."""
    time.sleep(3)
    _, ids = submit(cluster, burst, args=["-H"])
    cluster.stop_ctld(signal.SIGKILL)
    t0 = time.monotonic()
    cluster.start_ctld()
    seconds, found = first_answer(cluster, t0)
    lost = set(cluster.ids + ids) - found
    cluster.ids = sorted(found)
    return [emit(bench="recovery", what="SIGKILL to squeue", cluster=cluster.label, queued=n + burst, seconds=seconds,
                 lost=len(lost), lost_of_burst=len(lost & set(ids)), burst=len(ids))]


def w_startup(cluster, n):
    """SIGTERM and start again."""
    t0 = time.monotonic()
    cluster.stop_ctld(signal.SIGTERM)
    stop_s = time.monotonic() - t0
    t0 = time.monotonic()
    cluster.start_ctld()
    seconds, found = first_answer(cluster, t0)
    return [emit(bench="startup", what="SIGTERM to squeue", cluster=cluster.label, queued=len(found), stop_s=stop_s,
                 seconds=seconds)]


def w_kept(cluster, program, n, connections, inflight):
    """Submissions over kept connections, by bench_submit_kept."""
    before = rss_kib(cluster.ctld_pid)
    with Span(cluster) as span:
        r = out(cluster, [program, "-n", str(n), "-c", str(connections), "-p", str(inflight)])
    if r.returncode:
        raise RuntimeError(f"bench_submit_kept: {r.stderr.strip()}")
    rate = float(re.search(r'"per_s":\s*([0-9.]+)', r.stdout).group(1))
    return [emit(bench="kept", what=f"{connections} connections, {inflight} in flight", cluster=cluster.label, n=n,
                 per_s=rate, kib_per_job=(rss_kib(cluster.ctld_pid) - before) / n, **cpu_fields(span, n))]
