/* verifypass.h - one pass of the scheduler again, compared with what really started */
#pragma once

#include "sim/verify/verifystate.h"

/* The pass of `note`, one of those that record `at` tells of; `proposed`: starts from there on are
 * its own.  Errors: -EUCLEAN (err), -ENOMEM. */
int verifypass_run(struct verify *v, size_t at, const Pst__SchedPass *note, bool proposed,
                   struct err *err);
