/* prioquery.h - the parts of jobs' priorities: answers to sprio, gathered by the scheduler's
 * thread */
#pragma once

#include "ctld/front/front.h"
#include "sched/sched.h"

#include "model/tables/idmap.h"

struct prioquery;

struct prioquery_view { /* PrivateData=jobs: the jobs that the user of sprio sees */
    bool own_only;
    uint32_t uid;
    struct idmap assocs; /* associations of accounts that the user coordinates: id -> anything */
};

/* Hand the question to the scheduler; any thread.  view: its map is taken over; NULL = the user
 * sees all jobs. */
void prioquery_start(struct front *f, struct conn *c, const struct frame *frame,
                     struct prioquery_view *view);
