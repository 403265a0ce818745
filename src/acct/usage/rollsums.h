/* rollsums.h - the sums of a window that is rolled up, and the numbers of what they are of
 *
 * A TRES and an account with its user, workload key and QOS ("who") have an index in the window and
 * an id in the store, which is made when they are new.  0 or a negative errno of sql.h, -ENOMEM. */
#pragma once

#include "acct/usage/rollup_impl.h"

/* What the store knows already; once for each window. */
int roll_load_tres(struct roll *w);
int roll_load_who(struct roll *w);
/* Index of a TRES, made when it is new; TRES_MAX: too many, which are left out. */
int roll_tres(struct roll *w, const char *name, unsigned *ret);
/* Index of the association that a run is charged to. */
int roll_who(struct roll *w, const Pst__JobRecord *rec, size_t *ret);
/* Add seconds to the sum of an hour of the window. */
int roll_add(struct roll *w, unsigned hour, size_t who, unsigned tres, uint64_t secs);
