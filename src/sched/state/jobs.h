/* jobs.h - the records of jobs and of their entries in queues */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/lics.h"

struct charge;
struct claim;
struct class;
struct sched;

enum job_state { JOB_WAITING, JOB_QUEUED, JOB_PROPOSED, JOB_RUNNING, JOB_SUSPENDED };

enum entry_state { ENTRY_OUT, ENTRY_QUEUED, ENTRY_PARKED };

struct entry {
    struct job *job;
    struct class *cls;
    uint32_t part, priority;
    uint32_t place; /* the priority by which it stands in the queue, see prio.c */
    uint16_t rank;  /* place in the job's order of preference */
    uint8_t height : 4;
    bool first : 1;    /* expedited: before all others, whatever their partition */
    bool ahead : 1;    /* in a reservation it asked for: before all without one */
    bool magnetic : 1; /* in one that it did not ask for */
    enum entry_state state : 2;
    enum sched_why why : 6;
    enum topo_why topo : 4; /* SCHED_WHY_RESOURCES: what the topology lacks */
    uint16_t limit;         /* SCHED_WHY_LIMIT: which */
    struct entry *next[];   /* in the queue or the parking place */
};

struct job {
    uint32_t id;
    enum job_state state : 4;
    enum sched_why told : 6;
    uint32_t nentries : 16;
    bool fresh : 1;
    bool firm : 1;    /* does not share its CPUs */
    bool one_run : 1; /* cannot be queued again */
    bool owned : 1;   /* shares nodes with its user alone */
    bool leaving : 1; /* preemption, see preempt.c */
    bool yielded : 1;
    bool going : 1;     /* in s->going */
    bool uncharged : 1; /* ended: counts against no limit */
    bool any_time : 1, any_size : 1;
    bool no_age : 1; /* see accrue.c; and what was told of it */
    bool told_no_age : 1;
    bool judged : 1; /* ... and whether it was judged there */
    bool closes : 1; /* the units that it touches hold no other job, see topoclose.h */
    enum topo_why told_topo : 4;
    bool expedite : 1;
    uint16_t told_limit;
    uint32_t priority, time_limit_min, time_min_min;
    int32_t nice;
    uint32_t taken; /* run_gen when what it holds became this */
    int64_t submit_us, eligible_us, accrue_us;
    uint32_t array_id; /* 0 = none */
    uint32_t qos_id;
    uint32_t uid, assoc_id, qos; /* qos: id of qos_tab, STRTAB_NONE = none */
    uint32_t label;              /* id of label_tab + 1, 0 = none */
    int32_t site_factor;
    uint32_t switches_wait_s;  /* so long it waits for few switches, see switchwait.c ... */
    int64_t switches_since_us; /* since it was tried first; 0 = not yet */
    union {
        uint32_t heap_at; /* index + 1 in the eligible heap, 0 = not there */
        uint32_t hold_at; /* holding: place in its group, see holders.c */
    };
    uint32_t part;      /* holding: in which partition */
    uint32_t resv;      /* ... and reservation, 0 = none */
    uint32_t held_cpus; /* ... of all nodes together */
    struct job *fresh_prev, *fresh_next;
    struct expect *expect; /* expect.c; NULL = not planned, nothing told */
    struct job_lics want, held;
    struct sched_alloc alloc;
    uint32_t channels; /* of the network, wanted or held */
    uint32_t *near;    /* of an expedited job: where it was, as far as these nodes are well */
    size_t nnear;
    int64_t start_us, end_us;
    /* preemption, see preempt.c */
    uint32_t run_priority; /* it was started with */
    uint32_t claimed_by;   /* the job it goes for, 0 = none */
    /* of a preemptor: the jobs that have to go first; NULL = it does not wait for any */
    struct claim *waits;
    struct charge *charge; /* limit.c: what it counts against; NULL = nothing */
    struct het *het;       /* NULL = not a component */
    struct entry *entries[];
};

/* component of a heterogeneous job; the last three are the first component's, see hetplace.c */
struct het {
    uint32_t id, count;
    enum sched_why why;
    uint64_t walk;     /* walk in which the group did not fit, for that reason */
    uint64_t resv_run; /* backfill run that reserved for the group */
};

struct job *job_find(const struct sched *s, uint32_t id);
int job_insert(struct sched *s, struct job *j);
void job_free_entries(struct sched *s, struct job *j);
void job_free(struct sched *s, struct job *j);
void job_forget(struct sched *s, struct job *j); /* out of the table; frees it */
void jobs_drop_priced(struct sched *s);
void jobs_done(struct sched *s);
