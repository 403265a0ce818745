/* private.h - PrivateData for requests that the core does not answer: sacct, sreport, sprio,
 * watchers
 *
 * Only the core knows whether a user is an operator or a coordinator.  So the request goes to the
 * core first, which narrows it where it has to and passes it on to the thread that answers: by
 * changing the request itself, or with a struct private_view to the `narrow` of its row.  Users
 * see their own jobs; coordinators also see the jobs of their accounts, except as watchers. */
#pragma once

#include "ctld/front/front.h"
#include "model/tables/idmap.h"

/* Which jobs the user of a question may see; for op_narrow_fn. */
struct private_view {
    bool own_only; /* his own and those of `assocs`; else all, and the rest says nothing */
    uint32_t uid;
    struct idmap assocs; /* associations of accounts that the user coordinates: id -> anything */
};

/* On an I/O thread.  True: the request is on its way through the core.  False: PrivateData hides
 * nothing, and the caller answers. */
bool private_takes(struct front *f, struct conn *c, const struct frame *frame);
