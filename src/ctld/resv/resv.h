/* resv.h - reservations in the controller
 *
 * Their records are kept beside the jobs (model/kept.h).  Derived here: which node ids each one
 * has. Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "model/kept.h"
#include "model/words/resvwords.h"
#include "model/use/resv_use.h"

struct resvs;

int resvs_new(struct resvs **ret);
struct resvs *resvs_free(struct resvs *v); /* always NULL */

/* From the observer: one was put or is about to go, nodes or partitions are others, a node or
 * what runs is other. */
void resvs_put(struct ctld *ctld, const struct kept *k);
void resvs_gone(struct ctld *ctld, const struct kept *k);
void resvs_nodes_renamed(struct ctld *ctld);
void resvs_ground_moved(struct ctld *ctld);
void resvs_node_used(struct ctld *ctld, const struct node *n); /* jobs hold other parts of it */
void resvs_node_gone(struct ctld *ctld, const struct node *n);

/* Its nodes, by node id; borrowed until anything changes. */
const struct bitmap *resv_nodes(struct ctld *ctld, const Pst__ReservationRecord *r);
bool resv_is_active(const Pst__ReservationRecord *r, int64_t now_us);

/* May this job use it?  scheduling: QOS and partition count too.  0 or an ESLURM code. */
int resv_access(const struct ctld *ctld, const Pst__ReservationRecord *r, const Pst__JobRecord *job,
                bool scheduling);
/* Check JobRecord.reservation of a job that is submitted or changed: 0 or an ESLURM code. */
int resv_check_job(const struct ctld *ctld, const Pst__JobRecord *job);
/* Has one of its reservations the nodes it asks for?  0 or an ESLURM code; *ret_hint: a line more
 * for the user. */
int resv_check_nodes(struct ctld *ctld, const Pst__JobRecord *job, const char **ret_hint);
/* The partition of the first reservation named, for a job that asks for none; NULL = none. */
const char *resv_default_partition(const struct ctld *ctld, const Pst__JobRecord *job);

/* Does a start now in reservation resv_id (0 = none) hurt any? */
bool resv_start_holds(struct ctld *ctld, const struct job *j, uint32_t resv_id,
                      const uint32_t *node_ids, size_t n, int64_t now_us, uint32_t limit_min);

/* The first job that holds nodes in it (0 = none). */
uint32_t resv_running_job(const struct ctld *ctld, const Pst__ReservationRecord *r);
/* Tell the scheduler again about the pending jobs that this one concerns. */
void resv_refeed(struct ctld *ctld, const Pst__ReservationRecord *r);

/* resvlife.c: beginnings, ends, recurrence, replacement; twice a second, and after a change. */
void resv_tick(struct ctld *ctld, int64_t now_us);
/* Is rid of r, which may be its last occurrence: puts the end, jobs that wait for it are held or
 * let go. */
uint64_t resv_delete(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us);
uint64_t resv_skip(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us);
/* After recovery: users and groups are looked up again. */
void resv_recover(struct ctld *ctld);
/* Put the end of the running period of r into tx, when there is one. */
void resv_put_end(Pst__Transaction *tx, const Pst__ReservationRecord *r, int64_t ended_us);

/* resvpick.c: give rec its nodes, cores and TRES for what it asks for.  keep: the nodes it has
 * may stay. 0 or an ESLURM code. */
int resv_pick(struct ctld *ctld, Pst__ReservationRecord *rec, bool keep, int64_t now_us);
/* Are licences it reserves there beside other reservations? 0 or an ESLURM code. */
int resv_licenses_fit(struct ctld *ctld, const Pst__ReservationRecord *rec, int64_t now_us);
/* Look up rec->users or rec->groups.  False: one of them is not known. */
bool resv_resolve(Pst__ReservationRecord *rec);
