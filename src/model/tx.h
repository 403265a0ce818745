/* tx.h - building a transaction
 *
 * A transaction is a heap message whose whole tree is malloc'd; tx_free() releases it.  The
 * records that these functions give back belong to the transaction: fill them with SET() and
 * pb_set_str(). Running out of memory while an event is built ends the process: what was
 * acknowledged is in the journal, and half an event must not exist. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

#include "event.pb-c.h"

/* Give a field of a message a value; each argument is evaluated once. */
#define SET(rec, field, value)                                                                     \
    do {                                                                                           \
        __typeof__(rec) set_rec_ = (rec);                                                          \
        set_rec_->field = (value);                                                                 \
        set_rec_->has_##field = 1;                                                                 \
    } while (0)

Pst__Transaction *tx_new(int64_t now_us);
Pst__Transaction *tx_free(Pst__Transaction *tx); /* always NULL */

Pst__JobRecord *tx_job_put(Pst__Transaction *tx, Pst__EventKind kind); /* a fresh record */
void tx_job_put_take(Pst__Transaction *tx, Pst__EventKind kind, Pst__JobRecord *rec);
Pst__JobRecord *tx_job_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id);
/* In the patch just begun: these tasks (a text of array.h) leave the job's array_tasks, which
 * the patch must not set. */
void tx_take_tasks(Pst__Transaction *tx, const char *tasks);
void tx_job_purge(Pst__Transaction *tx, uint32_t job_id);
Pst__StepRecord *tx_step_put(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id,
                             uint32_t step_id);
Pst__StepRecord *tx_step_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id,
                               uint32_t step_id);
Pst__NodeRecord *tx_node_put(Pst__Transaction *tx, Pst__EventKind kind);
Pst__NodeRecord *tx_node_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t node_id);
void tx_node_remove(Pst__Transaction *tx, uint32_t node_id);
Pst__PartitionRecord *tx_part_put(Pst__Transaction *tx, Pst__EventKind kind);
Pst__PartitionRecord *tx_part_patch(Pst__Transaction *tx, Pst__EventKind kind, const char *name);
void tx_part_remove(Pst__Transaction *tx, const char *name);
Pst__ClusterRecord *tx_cluster(Pst__Transaction *tx);
/* copies */
void tx_blob(Pst__Transaction *tx, const struct digest *name, const void *data, size_t len);
/* copies */
void tx_trigger_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__TriggerRecord *rec);
void tx_trigger_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t trigger_id);
/* copies */
void tx_crontab_end(Pst__Transaction *tx, uint32_t uid, uint32_t job_id);
void tx_crontab_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__CrontabRecord *rec);
void tx_crontab_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t uid);
void tx_submit_key_put(Pst__Transaction *tx, const Pst__SubmitKeyRecord *rec); /* copies */
void tx_submit_key_remove(Pst__Transaction *tx, uint32_t number);
void tx_acct_change(Pst__Transaction *tx, const Pst__AcctChange *change); /* copies */
/* Usage goes back to nothing: of an association and all below it, of a QOS; with neither (0),
 * all of it. */
void tx_usage_reset(Pst__Transaction *tx, uint32_t assoc_id, uint32_t qos_id);
void tx_usage_put(Pst__Transaction *tx, const Pst__UsageRecord *rec); /* copies */
/* copies */
void tx_resv_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__ReservationRecord *rec);
void tx_resv_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t resv_id);
/* Make a field absent, with the patch made last. */
void tx_clear(Pst__Transaction *tx, uint32_t field_number);

/* Give a field of bytes of a record whose fields are malloc'd a digest; frees what was there. */
void tx_digest(const struct digest *name, protobuf_c_boolean *has, ProtobufCBinaryData *field);

/* strdup that ends the process when memory is gone; NULL gives NULL. */
char *tx_strdup(const char *text);
Pst__Alloc *tx_dup_alloc(const Pst__Alloc *alloc);
