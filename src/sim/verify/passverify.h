/* passverify.h - a controller's journal through its scheduler once more: does it decide the same?
 *
 * Starts tell of the scheduler's passes, by which clock each went and what it had been told of
 * (Transaction.passes). The scheduler is fed with exactly that, asked again, and its answer is
 * compared: jobs, their order, nodes, CPUs and devices.  Then it is set to what really happened, so
 * that one difference does not make others.
 *
 * Pure: the caller reads the journal. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "conf/topo/conf_topo.h"
#include "model/cluster.h"

struct verify;

struct verify_sums {
    uint64_t records, passes, starts; /* looked at */
    uint64_t equal;                   /* starts */
    uint64_t superseded; /* proposals whose job or nodes changed before they could be taken */
    uint64_t unnoted;    /* starts of releases that did not write down the pass */
    uint64_t forgotten; /* passes between that were too many to be written down: their plans are not
                           known */
    uint64_t different;
    uint64_t boots;
};

/* One sentence for each difference. */
typedef void verify_fn(void *ctx, const char *text);

/* conf is borrowed.  -ENOMEM. */
int verify_new(const struct conf *conf, verify_fn *fn, void *ctx, struct verify **ret);
/* What topology.conf or topology.yaml say, before verify_run(); borrowed.  Without: all is flat. */
void verify_set_topologies(struct verify *v, const struct conf_topos *files);
struct verify *verify_free(struct verify *v); /* always NULL */
/* The records of the journal in order; tx is taken.  They are kept until verify_run().  snapshot:
 * of the one that the log begins with.  -ENOMEM. */
int verify_add(struct verify *v, uint64_t lsn, bool snapshot, Pst__Transaction *tx);
/* progress (may be NULL): so many of total records are done.  Errors: -EUCLEAN a record does not
 * apply (err), -ENOMEM. */
int verify_run(struct verify *v, void (*progress)(void *ctx, size_t done, size_t total), void *ctx,
               struct verify_sums *ret, struct err *err);
