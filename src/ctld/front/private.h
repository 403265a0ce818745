/* private.h - PrivateData for requests that the core does not answer: sacct, sreport, sprio,
 * watchers
 *
 * Who somebody is, the core knows: the request goes there and on to whom it is for, narrowed
 * where it has to be.  Of jobs users see their own, and coordinators those of their accounts
 * (watchers their own alone). */
#pragma once

#include "ctld/front/front.h"

/* On an I/O thread: true when the request is on its way, false when nothing is hidden from
 * anybody. */
bool private_takes(struct front *f, struct conn *c, const struct frame *frame);
