/* efficiency.h - what a run used of what it held, and what to ask for next time
 *
 * Pure functions of an accounting record.  Memory is an estimate: the largest process of a step
 * times the tasks on its fullest node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/strbuf.h"

struct efficiency {
    bool ended, ran, measured;          /* measured: its steps have figures */
    int64_t wait_s, elapsed_s, limit_s; /* limit 0 = none */
    uint32_t cpus, gpus, nodes;
    uint64_t cpu_used_us, cpu_held_us;
    uint64_t mem_used_mib, mem_held_mib; /* on the fullest node; held 0 = not known */
};

void efficiency_of(const Pst__AcctJob *a, int64_t now_us, struct efficiency *ret);
/* 0 to 100; -1 when it cannot be told. */
double efficiency_cpu(const struct efficiency *e);
double efficiency_mem(const struct efficiency *e);
/* One sentence.  True: the request could be better. */
bool efficiency_advice(const Pst__AcctJob *a, const struct efficiency *e, struct strbuf *out);

/* sacct --efficiency: a line a run; and --efficiency=report: a page. */
void efficiency_header(struct strbuf *out, bool parsable);
void efficiency_row(const Pst__AcctJob *a, int64_t now_us, bool parsable, struct strbuf *out);
void efficiency_report(const Pst__AcctJob *a, int64_t now_us, struct strbuf *out);
