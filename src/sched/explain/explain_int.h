/* explain_int.h - what explain.c and explain_change.c share */
#pragma once

#include "sched/explain/sched_explain.h"
#include "sched/sched_int.h"

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

/* Reserve for the heads that go before e; kept when they are the same as before. */
int ex_reserve(struct ex *x, const struct entry *e);
/* 1 with *ret when e fits now beside the reservations, 0, -ENOMEM. */
int ex_fits(const struct ex *x, struct entry *e, int64_t end_us, struct sched_alloc *ret);
/* Would such a job start now, in place of the one explained?  1, 0, -ENOMEM. */
int ex_starts(struct ex *x, const struct sched_job *job);

/* explain.c: one more of those that hold something, the first to end first. */
void ex_add_holder(struct explain_holder *list, uint32_t *n, uint32_t *all,
                   const struct explain_holder *h);
/* explain_lic.c: who has the licences the job asks for. */
void ex_licenses(const struct ex *x, const struct job *j, struct sched_explanation *out);

/* explain_change.c: the changes with which job would start. */
int ex_changes(struct ex *x, const struct sched_job *job, const char *const *others, size_t nothers,
               struct sched_explanation *out);
