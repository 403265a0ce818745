/* private.h - PrivateData for requests that the core does not answer: sacct, sreport, sprio,
 * watchers
 *
 * Only the core knows whether a user is an operator or a coordinator.  So the request goes to the
 * core first, which narrows it where it has to and passes it on to the thread that answers.  Users
 * see their own jobs; coordinators also see the jobs of their accounts, except as watchers. */
#pragma once

#include "ctld/front/front.h"

/* On an I/O thread.  True: the request is on its way through the core.  False: PrivateData hides
 * nothing, and the caller answers. */
bool private_takes(struct front *f, struct conn *c, const struct frame *frame);
