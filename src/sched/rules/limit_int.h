/* limit_int.h - what limit.c (levels, counters) and limit_check.c (tests) share */
#pragma once

#include "sched/rules/limit.h"
#include "sched/sched_int.h"

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

/* limit.c */
uint64_t level_key_assoc(uint32_t id);
uint64_t level_key_qos(uint32_t id);
uint64_t level_key_user(uint32_t qos, uint32_t uid);
uint64_t level_key_account(uint32_t qos, uint32_t account);
struct level *level_find(const struct sched *s, uint64_t key);
int level_get(struct sched *s, uint64_t key, struct level **ret); /* enters it; -ENOMEM */
uint64_t ask_tres(struct ask *a, uint32_t slot);
uint64_t ask_tres_node(struct ask *a, uint32_t slot); /* the most on one node */
/* UINT64_MAX = endless */
uint64_t level_run_minutes(const struct level *l, uint32_t slot, int64_t now_us);
void limits_settle(struct sched *s); /* after changes of the tree */
/* The QOS whose limits hold for a job in a partition, in order of precedence. */
uint32_t limit_qos(const struct sched *s, const struct job *j, uint32_t part, struct level *ret[2]);
