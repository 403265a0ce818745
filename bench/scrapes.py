"""Metrics over HTTP while a long queue stands: what a scrape takes, and what it costs the core and others."""

import re
import threading
import time
import urllib.request

from benchlib import Span, emit
from workloads import latency, timed_loop


def scrape(cluster, page):
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.port}/metrics/{page}", timeout=60) as answer:
        return answer.read().decode()


def core_seconds(cluster):
    """How long the core was busy so far."""
    return float(re.search(r"^penstock_core_batch_seconds_sum (\S+)", scrape(cluster, "penstock"), re.M).group(1))


def timed_scrapes(cluster, page, samples):
    """Seconds each of pages made anew (they are kept for a second); bytes of the last."""
    times, text = [], ""
    for _ in range(samples):
        time.sleep(1.1)
        t0 = time.monotonic()
        text = scrape(cluster, page)
        times.append(time.monotonic() - t0)
    return times, len(text)


def scrape_row(cluster, page, samples, n):
    before, t0 = core_seconds(cluster), time.monotonic()
    with Span(cluster) as span:
        times, size = timed_scrapes(cluster, page, samples)
    busy = core_seconds(cluster) - before
    return latency("scrape", f"/metrics/{page}", cluster, times, 0, span, queued=n, bytes=size,
                   core_busy_ms_per_s=busy / (time.monotonic() - t0) * 1e3)


def with_scrapes(cluster, loops, work):
    """Run work() while threads scrape all pages without end; gives (its result, scrapes a second)."""
    stop, counts = threading.Event(), [0] * loops

    def loop(i):
        while not stop.is_set():
            for page in ("jobs", "partitions", "jobs-users-accts"):
                scrape(cluster, page)
                counts[i] += 1

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(loops)]
    t0 = time.monotonic()
    for t in threads:
        t.start()
    try:
        return work(), sum(counts) / (time.monotonic() - t0)
    finally:
        stop.set()
        for t in threads:
            t.join()


def w_scrape(cluster, n, samples=5):
    """Only ours: Debian's Slurm has no metrics."""
    before, t0 = core_seconds(cluster), time.monotonic()
    time.sleep(5)
    quiet = (core_seconds(cluster) - before) / (time.monotonic() - t0) * 1e3
    rows = [emit(bench="scrape", what="core busy, quiet", cluster=cluster.label, queued=n, core_busy_ms_per_s=quiet)]
    rows += [scrape_row(cluster, page, samples, n) for page in ("jobs", "jobs-users-accts", "partitions", "nodes", "scheduler")]
    srun, count = ["srun", "-n1", "--mem=1", "true"], max(samples * 3, 10)
    with Span(cluster) as span:
        times, failed = timed_loop(cluster, count, srun)
    rows.append(latency("scrape", "srun true, quiet", cluster, times, failed, span, queued=n))
    with Span(cluster) as span:
        times, failed = with_scrapes(cluster, 4, lambda: timed_loop(cluster, count, srun))[0]
    rows.append(latency("scrape", "srun true, 4 loops of scrapes", cluster, times, failed, span, queued=n))
    return rows
