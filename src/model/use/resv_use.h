/* resv_use.h - who may use a reservation: pure questions about records */
#pragma once

#include "model/cluster.h"
#include "model/words/resvwords.h"

#define RESV_REFS_MAX 64u /* reservations tried for one job */

struct resv_ref { /* one that a pending job may run in, in the order in which they are tried */
    uint32_t id;
    bool magnetic; /* it did not ask */
};

/* May the job use the reservation?  admin_uid is SlurmUser's: SlurmUser and root may use every
 * reservation that does not float.  scheduling: the job's QOS and partition must be allowed too. */
bool resv_lets_in(const struct cluster *c, const Pst__ReservationRecord *r,
                  const Pst__JobRecord *job, uint32_t admin_uid, bool scheduling);

/* What the job asked for: a comma list, or NULL. */
const char *resv_asked(const Pst__JobRecord *job);
/* The reservations of a comma list one after the other: start with *p = the list; NULL at its
 * end.  Sets *ret_unknown when a name is none. */
const Pst__ReservationRecord *resv_next_named(const struct cluster *c, const char **p,
                                              bool *ret_unknown);
/* Does the job's list name this reservation, in any case? */
bool resv_is_named(const Pst__JobRecord *job, const char *name);

/* Where a pending job is to be tried, at most RESV_REFS_MAX.  *ret_only: and nowhere else. */
size_t resv_refs(const struct cluster *c, const Pst__JobRecord *job, uint32_t admin_uid,
                 struct resv_ref *ret, bool *ret_only);
