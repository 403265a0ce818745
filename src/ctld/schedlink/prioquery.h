/* prioquery.h - what priorities are made of: answers to sprio, gathered by the scheduler's
 * thread */
#pragma once

#include "ctld/front/front.h"
#include "sched/sched.h"

#include "model/idmap.h"

struct prioquery;

struct prioquery_view { /* PrivateData=jobs: what somebody sees */
    bool own_only;
    uint32_t uid;
    struct idmap assocs; /* and these, of accounts he coordinates: id -> anything */
};

/* Hand the question to the scheduler; any thread.  view: its map is taken over; NULL = he sees
 * all. */
void prioquery_start(struct front *f, struct conn *c, const struct frame *frame,
                     struct prioquery_view *view);
