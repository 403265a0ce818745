"""What a history of several controllers must fulfil, beside the counts of chaos_submit: who acknowledged in which term.

A controller's log tells its terms and the jobs that it took in; clients that know one controller alone tell what it has
acknowledged.  Of each term one controller acknowledges, and numbers of jobs grow with the terms: who still acknowledges
in a term that is over gives numbers that a later term gives as well."""

import collections
import re

EVENT = re.compile(r"in control, term (\d+),|JobId=(\d+) submitted by")


def terms_of(text):
    """(terms in order, {job: term in which it was taken in, the last one if there are several}) of one controller's log."""
    terms, taken, term = [], {}, None
    for found in EVENT.finditer(text):
        if found.group(1):
            term = int(found.group(1))
            terms.append(term)
        else:
            taken[int(found.group(2))] = term
    return terms, taken


def check_terms(logs, told):
    """logs: {host: text of its log}; told: (host, job) of each acknowledgement by a controller that is known.  Sentences."""
    holders, bounds = collections.defaultdict(set), {}
    taken = {}
    for host, text in logs.items():
        terms, taken[host] = terms_of(text)
        for term in terms:
            holders[term].add(host)
        for term, times in collections.Counter(terms).items():
            if times > 1:
                yield f"{host} came to control {times} times in term {term}"
    for term, hosts in sorted(holders.items()):
        if len(hosts) > 1:
            yield f"term {term} was held by {' and '.join(sorted(hosts))}"
    for host, job in told:
        term = taken[host].get(job)
        if term is None:
            yield f"{host} acknowledged job {job}, and its log does not know of it in any term"
            continue
        low, high = bounds.get(term, (job, job))
        bounds[term] = min(low, job), max(high, job)
    before = None
    for term in sorted(bounds):
        if before is not None and bounds[term][0] <= bounds[before][1]:
            yield (f"job {bounds[before][1]} was acknowledged in term {before}, and job {bounds[term][0]} in term {term}: "
                   f"both acknowledged at once")
        before = term


def check_hashes(hashes):
    """{where: "lsn N hash H"}: all equal, and all say something."""
    said = set(hashes.values())
    if len(said) != 1 or not all("hash" in text for text in said):
        yield "controllers differ: " + ", ".join(f"{where}: {text or 'nothing'}" for where, text in sorted(hashes.items()))
