/* preempt_data.h - one search for victims, for the sources that make it up */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/question.h"

struct entry;
struct job;
struct sched;

struct qos_preempt {
    uint32_t *may, nmay; /* ids of qos_tab */
    enum sched_preempt_mode mode;
    bool within, by_priority;
    bool has_exempt;
    uint32_t exempt_s;
};

struct cand {
    struct job *j;
    enum sched_preempt_mode mode;
    uint32_t qos_priority, tier, size; /* size: CPUs */
    bool lost;                         /* it would be queued again, and cannot be */
    bool out;                          /* released at the moment */
};

struct harm { /* of a set of victims */
    uint32_t qos_priority, tier, lost, n;
    double work; /* CPU time they have used */
};

struct psearch {
    struct sched *s;
    struct entry *e;
    struct pick p;
    int64_t now_us, retry_us;
    struct job **going; /* end anyway */
    uint32_t ngoing;
    struct cand *v;
    uint32_t n, at; /* the first `at` are released */
};

struct choice {
    struct sched_alloc alloc;
    struct sched_victim *victims;
    uint32_t n;
    struct harm harm;
};
