/* explain_try.h - would a job start, beside the places of all that go before it? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct sched;
struct sched_alloc;
struct sched_job;

struct ex {
    struct sched *s;
    uint32_t job_id;
    int64_t now_us;
    bool settled, starts_now;
    struct entry **heads; /* that the reservations made now are for */
    uint32_t *holds;      /* job of each reservation */
    uint32_t nheads, nholds;
    bool reserved;
    uint32_t tier, priority; /* conservative: of the entry that all before it are planned for */
};

/* 1 with *ret when e fits now beside the reservations, 0, -ENOMEM. */
int ex_fits(const struct ex *x, struct entry *e, int64_t end_us, struct sched_alloc *ret);
/* Reserve for the heads that go before e; kept when they are the same as before. */
int ex_reserve(struct ex *x, const struct entry *e);
/* Would such a job start now, in place of the one explained?  1, 0, -ENOMEM. */
int ex_starts(struct ex *x, const struct sched_job *job);
