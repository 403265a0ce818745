/* nssask.h - ask the step daemons of this host who the users of its jobs are
 *
 * A step daemon listens on <spool>/job<ID>.<RUN>/nss/<STEP>, to which its user and root can
 * connect.  It sends its text (nsstext.h) and closes.
 *
 * Needs libc alone.  Memory is one mapping a call, which is gone afterwards.  A call takes
 * NSSASK_MS at most, whatever other processes do.  Any number of threads may call. */
#pragma once

#include "nss/nsstext.h"

#define NSSASK_MS 1500      /* for a whole call */
#define NSSASK_CONNECTS 512 /* likewise */

/* 1 ends the search. */
typedef int nssask_fn(void *ctx, const struct nss_user *user);

/* Call fn with the user of each job in spool that tells the caller, the job of the caller's own
 * environment (SLURM_JOB_ID) first, until fn returns 1.  Nobody but the owner of spool, or root, is
 * believed.  True: fn returned 1.  *ret_busy (only set to true): an answer may have been missed. */
bool nssask_find(const char *spool, nssask_fn *fn, void *ctx, bool *ret_busy);
