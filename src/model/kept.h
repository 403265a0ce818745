/* kept.h - records beside jobs, nodes and partitions: triggers, crontabs, accounting records,
 * reservations, keys of submissions
 *
 * Each is whatever its last put said.  Found by id in O(1).  Those of accounting stand in tables
 * of their own (assoc.h); here they are numbered, for views and snapshots.  Pointers are
 * borrowed until the next apply. */
#pragma once

#include "model/cluster.h"

#define CRONTAB_DISABLED "#DISABLED: " /* before a line whose job ended for good */

const Pst__TriggerRecord *cluster_trigger(const struct cluster *c,
                                          uint32_t trigger_id);                   /* NULL: none */
const Pst__CrontabRecord *cluster_crontab(const struct cluster *c, uint32_t uid); /* NULL: none */
/* NULL: none */
const Pst__ReservationRecord *cluster_resv(const struct cluster *c, uint32_t resv_id);
/* NULL: none */
const Pst__SubmitKeyRecord *cluster_submit_key(const struct cluster *c, uint32_t number);
/* By name, in any case; O(reservations). */
const Pst__ReservationRecord *cluster_resv_named(const struct cluster *c, const char *name,
                                                 size_t len);
/* Walk: start with *pos = 0; NULL at the end.  In no order. */
const Pst__TriggerRecord *cluster_next_trigger(const struct cluster *c, size_t *pos);
const Pst__ReservationRecord *cluster_next_resv(const struct cluster *c, size_t *pos);
/* The entry of a crontab with this job, or NULL. */
const Pst__CrontabEntry *crontab_entry(const Pst__CrontabRecord *r, uint32_t job_id);

struct kept *cluster_kept(const struct cluster *c, enum kept_kind kind, uint32_t id);
const ProtobufCMessageDescriptor *kept_descriptor(enum kept_kind kind);
void kept_event_of(enum kept_kind kind, ProtobufCMessage *rec, Pst__Event *ret_ev);
