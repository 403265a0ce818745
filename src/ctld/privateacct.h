/* privateacct.h - sacct under PrivateData=jobs: users see their own records, coordinators those of their accounts
 *
 * Who somebody is, the core knows: the request goes there and on to the store, narrowed where it has to be. */
#pragma once

#include "ctld/front.h"

/* On an I/O thread: true when the request is on its way, false when nothing is hidden from anybody. */
bool privateacct_takes(struct front *f, struct conn *c, const struct frame *frame);
