/* books.h - accounting records for a workload that comes with none: what limits are put on
 *
 * An account for each that jobs name (those that name none are of "default"), below root; each user
 * in the accounts he uses; the QOS "normal" and those that jobs name.  Pure. */
#pragma once

#include "base/err.h"
#include "model/cluster.h"
#include "sched/sched.h"
#include "sim/workload.h"

#define BOOKS_CLUSTER "sim"

/* A cluster of nothing but these records, which the caller owns; every job of w is given the
 * numbers of its association and QOS.  Errors: -ENOMEM, -EUCLEAN (err). */
int books_make(struct workload *w, struct cluster **ret_books, struct err *err);
/* As sim_config.prime, ctx a struct cluster: the limits in it are in force. */
int books_prime(void *ctx, struct sched *s);
