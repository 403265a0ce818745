/* classes.h - classes: a shape in a partition, for all jobs that selection cannot tell apart */
#pragma once

#include <stdint.h>

#include "sched/sched.h"

struct bitmap;
struct part;
struct sched;
struct shape;

#define CLASS_TRIED 4

/* One alternative of a class: the nodes that could ever hold a part of it. */
struct calt {
    struct bitmap *elig;
    struct bitmap **counted; /* counted sets, within elig */
    uint32_t *counts;
    uint32_t ncounts;
    bool boot;  /* nodes may have to boot for it: they are taken whole */
    bool liked; /* what is preferred, not what is asked for */
};

struct class
{
    struct shape *shape;
    uint32_t part, refs;
    struct class *hash_next;
    struct calt *alts; /* NULL until needed */
    uint32_t nalts;
    uint32_t most_tasks;  /* any node holds at most so many of its tasks; with alts */
    uint64_t mask_gen;    /* sched.config_gen the alts are made from */
    uint64_t extra_gen;   /* sched.extra_gen, likewise */
    uint64_t verdict_gen; /* sched.up_gen + 1 the verdict is for, 0 = none */
    enum sched_why verdict;
    uint64_t fail_grow;      /* part.grow + 1 at which it did not fit, 0 = none */
    enum topo_why fail_topo; /* ... and what the topology lacked */
    uint64_t bf_run;         /* memo_run of the next */
    int64_t bf_fail_end;     /* did not fit for jobs ending then or later */
    struct {
        uint64_t run; /* memo_run; jobs of limit_min and more have no place before slot */
        uint32_t limit_min, slot;
    } tried[CLASS_TRIED];
    uint32_t fail_level; /* ... for spans that meet so many windows, see advres.c */
    uint64_t adv_gen;    /* what the next two are for */
    /* idle: fits for lower levels; fails for this one and higher */
    uint32_t adv_fits, adv_fails;
    /* preempt_gen() + 1 at which preempting did not help, 0 = none */
    uint64_t pre_gen;
    int64_t pre_retry_us; /* and until when, if nothing changes */
    uint64_t pre_bf_run;  /* backfill run that looked for victims beside the plan */
    uint64_t cursor_grow; /* part.grow + 1 the cursor is for */
    /* of jobs that ask for resources with layers: lic_grow + 1 that fail_grow and the cursor are
     * for; run_gen + 1 that lacks_layers is for */
    uint64_t fail_lic, cursor_lic, lacks_run;
    bool lacks_layers; /* it would fit were it not for the layers */
    uint64_t told_run; /* bf_run in which one of its jobs was told where it would start, then */
    uint32_t cursor_level;
    uint32_t cursor_wclass, cursor_id; /* nothing before fits a single-node job */
};

struct job_lics;
/* want: the licences of the job. */
int class_get(struct sched *s, const struct sched_job *job, const struct job_lics *want,
              struct part *p, const struct sched_job_resv *resv, struct class **ret);
/* The same but for the number of switches, which is free. */
int class_any_switches(struct sched *s, const struct class *like, struct class **ret);
void class_drop_masks(struct sched *s, struct class *c);
void class_unref(struct sched *s, struct class *c);
void classes_done(struct sched *s);
