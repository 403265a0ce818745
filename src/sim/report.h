/* report.h - simulated runs for people and programs: text, JSON, charts, one page of HTML
 *
 * Pure: all of it goes into string buffers, whose `failed` tells of memory that ran out. */
#pragma once

#include "base/strbuf.h"
#include "sim/stats.h"

#define REPORT_MAX_RUNS 8u

struct report_run { /* one policy's */
    const char *name;
    const struct sim_result *result;
    const struct stats *stats;
};
struct report {
    const char *title;
    const struct sim_machine *machine;
    const struct workload *workload;
    const struct report_run *runs;
    size_t nruns; /* 1 .. REPORT_MAX_RUNS */
    bool costs;   /* passes were measured */
};

void report_text(const struct report *rp, struct strbuf *out);
void report_json(const struct report *rp, struct strbuf *out);
void report_html(const struct report *rp, struct strbuf *out);

/* ---- charts: each a whole <svg> -------------------------------------------------------------- */

void chart_utilisation(const struct report *rp, struct strbuf *out);
void chart_queue(const struct report *rp, struct strbuf *out);
void chart_waits(const struct report *rp, struct strbuf *out);
void chart_slowdown(const struct report *rp, struct strbuf *out); /* by size class */
/* Who holds the nodes: time to the right, nodes downwards. */
void chart_allocation(const struct report *rp, size_t run, struct strbuf *out);

void chart_fragmentation(const struct report *rp, struct strbuf *out); /* there are blocks */

/* Base blocks by what they added to the fragmentation score, the most first: up to `most` places
 * in *ret.  Gives their number. */
size_t report_worst_blocks(const struct sim_result *r, uint32_t *ret, size_t most);
void report_json_string(struct strbuf *out, const char *text); /* with its quotes */
/* Text inside markup and attributes. */
void report_escape(struct strbuf *out, const char *text);
/* "1:02:03" of seconds. */
void report_time(double seconds, char *buf, size_t size);
