/* question.h - the question that is put to selection */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/state/bounds.h"
#include "sched/topo/topowhy.h"

struct bitmap;
struct class;
struct job_lics;
struct part;
struct sched;
struct shape_key;

struct pick {
    struct sched *s;
    struct class *cls;
    struct part *part;
    bool idle;                  /* as if nothing ran */
    bool any_state;             /* down nodes too */
    bool no_part_limit;         /* forget the partition's node limit */
    const struct bitmap *minus; /* nodes not to be used, or NULL */
    bool pad; /* lay out all CPUs that must be free (pn_min_cpus), not only those taken: for
                     reservations */
    const struct job_lics *lics; /* planning: these must be there too */
    bool no_layers;              /* as if the job asked for no resource with layers */
    bool overlay;                /* keep what is reserved before end_us */
    int64_t end_us;
    /* the job would hold its nodes so long; to_us 0: reservations are not heeded */
    int64_t from_us, to_us;
    uint32_t minutes; /* plan(): how long it would hold them */
    bool no_maint;    /* as if there were no maintenance */
    bool plan;        /* throughout the slots [from, until) of s->prof, see profile.h */
    uint32_t from, until;
    /* nodes with fewer free CPUs add little to the sum wanted; 0 = not known */
    uint32_t low;
    enum topo_why topo; /* out: what the topology lacks, when there is no place */
    uint32_t next;      /* out: a later slot before which it does not fit either */
    /* derived by pick_init() */
    const struct shape_key *k;
    bool whole;
    bool closes;        /* the units that it touches hold no other job */
    uint32_t share_max; /* jobs on one CPU */
    uint32_t share;     /* tried at the moment: CPUs that no job has come first */
    uint32_t gname[SCHED_MAX_JOB_GRES],
        gtype[SCHED_MAX_JOB_GRES]; /* of the requests, see row_matches() */
    uint32_t only;                 /* so many nodes, of a list of counts; 0 = no such list */
    uint32_t gpu; /* the request CPUs, memory or tasks are counted by, or UINT32_MAX */
    bool gpus;    /* it asks for GPUs or shares of them */
    bool plain;   /* it asks for CPUs and memory, and of a node nothing else counts */
    /* derived by pick_nodes(): what is asked of the set of nodes */
    uint32_t tasks, each;      /* in total; or when that is 0 on each node */
    uint32_t min, max, prefer; /* nodes */
    bool liked;                /* they are as the job prefers */
    bool counted;              /* a layer of mode 3 limits how many: hrespick.h */
};
