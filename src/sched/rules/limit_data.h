/* limit_data.h - the layout of levels and counters, for the sources about limits */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/rules/limit.h"
#include "sched/base/strtab.h"

struct entry;
struct job;
struct job_lics;
struct part;
struct sched;
struct sched_alloc;

/* a job counts against: its line of associations, two QOS in three ways */
#define LIMIT_LEVELS_MAX 300u

struct slot_limit { /* a TRES by its place in the table */
    uint32_t slot;
    uint64_t count;
};

struct slot_count {
    uint64_t used, endless; /* of those without an end */
    __int128 weighted;      /* sum of count * end in seconds, of the others */
    double minutes;         /* used up so far */
};

/* An association, a QOS, or one user's or account's part of a QOS. */
struct level {
    uint64_t key;
    bool exists, qos;
    uint32_t id, parent_id; /* parent_id: associations */
    uint32_t account;       /* associations: id of limits.accounts */
    struct {
        struct slot_limit *v;
        uint32_t n;
    } lists[SCHED_LIMIT_LISTS];
    uint64_t numbers[SCHED_LIMIT_NUMBERS];
    unsigned flags;
    double usage_factor, limit_factor, usage_threshold;
    /* counters */
    uint32_t jobs, accruing;
    struct slot_count *counts; /* NULL until something counts */
    uint32_t ncounts;
    double wall_minutes;
};

struct tres_slot {
    uint32_t id;
    enum sched_tres_type type;
    char *name;
    uint32_t gres_name, gres_type, lic; /* interned; STRTAB_NONE = none */
};

struct limits {
    bool on, safe;
    struct level **slots; /* open addressing by key */
    uint32_t nslots, nlevels;
    struct tres_slot tres[SCHED_TRES_MAX];
    uint32_t ntres;
    struct strtab accounts;
    bool accrues;        /* some level may have a limit on jobs that age, see accrue.c */
    bool rebuild;        /* the tree changed: running jobs count against other accounts now */
    bool missing;        /* a job names a level that has not come yet */
    uint64_t totals_gen; /* config_gen + 1 of the next */
    uint64_t totals[SCHED_TRES_MAX];
};

struct charge { /* what a job counts as, and where */
    uint32_t nlevels, ntres;
    struct level **levels;
    int64_t end_us;
    uint64_t tres[];
};

/* What a job asks for or holds, worked out as it is asked about. */
struct ask {
    struct sched *s;
    const struct entry *e; /* waits; NULL: it runs */
    const struct job *job;
    const struct part *part;         /* whose weights bill */
    const struct sched_alloc *alloc; /* NULL: by its request */
    const struct job_lics *lics;
    uint64_t known[SCHED_TRES_MAX / 64];
    uint64_t v[SCHED_TRES_MAX];
};
