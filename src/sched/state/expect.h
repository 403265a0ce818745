/* expect.h - when and where a pending job is planned to start, and its places in the plan */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/sched.h"

struct entry;
struct job;

struct place { /* what an entry of a job will hold in the slots [from, until) */
    struct job *job;
    struct entry *entry;
    struct sched_alloc alloc;
    uint32_t from, until;
    int64_t start_us; /* promised; in the slot before `from`, or when that begins */
    uint32_t at;      /* in the order of the plan */
    bool broken;
    struct place *next; /* of the same job */
};

int64_t expect_us(const struct job *j); /* when it is planned to start, 0 = it is not */
int64_t expect_told_us(const struct job *j);
bool expect_in_run(const struct job *j, uint64_t run); /* by this backfill run */
/* on a's nodes; a NULL: where is not said */
int expect_set(struct job *j, int64_t us, uint64_t run, const struct sched_alloc *a);
void expect_clear(struct job *j);
void expect_told(struct job *j);
struct place *expect_places(const struct job *j);
int expect_enlist(struct job *j, struct place *p);
void expect_delist(struct job *j, const struct place *p);
void expect_drop(struct job *j); /* what was told too; it has no places */
uint32_t expect_cpus(const struct job *j);
int expect_nodes(const struct job *j, uint32_t **ret_nodes, size_t *ret_n); /* caller owns them */
