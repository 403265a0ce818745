/* arraysplit.c - tasks leave the record of their array; see arraysplit.h */
#include "ctld/job/arraysplit.h"

#include "ctld/job/jobfacts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "model/array.h"
#include "fields.h"

/* A record of its own for `tasks`, which are some of array's. */
static uint32_t put_split(struct ctld *ctld, Pst__Transaction *tx, const struct job *array,
                          const char *tasks)
{
    ProtobufCMessage *copy;
    Pst__JobRecord *rec;
    Pst__ClusterRecord *c;
    uint32_t id = jobs_fresh_id(ctld), throttle = array_throttle(array->rec->array_tasks);

    if (pb_dup(&array->rec->base, &copy) < 0)
        return 0;
    rec = (Pst__JobRecord *)copy;
    record_drop_volatile(&rec->base);
    SET(rec, job_id, id);
    free(rec->array_tasks);
    rec->array_tasks = NULL;
    if (array_count(tasks) == 1) {
        SET(rec, array_task_id, array_first(tasks));
    } else {
        struct strbuf sb = STRBUF_INIT;

        strbuf_add(&sb, tasks);
        if (throttle)
            strbuf_addf(&sb, "%%%u", throttle);
        if (strbuf_detach(&sb, &rec->array_tasks) < 0) {
            pst__job_record__free_unpacked(rec, NULL);
            return 0;
        }
    }
    c = tx_cluster(tx);
    lifecycle_new_run(ctld, tx, rec);
    SET(c, next_job_id, jobs_next_id(ctld, id));
    tx_job_put_take(tx, PST__EVENT_KIND__EV_JOB_SUBMIT, rec);
    return id;
}

struct job *arraysplit_tasks(struct ctld *ctld, struct job *array, const char *tasks)
{
    bool one = array_count(tasks) == 1;
    bool all = array_count(tasks) == array_count(array->rec->array_tasks);
    Pst__Transaction *tx;
    uint32_t id = array->rec->job_id;

    if (all && !one)
        return array; /* it is that already */
    tx = tx_new(core_now());
    if (all) { /* the last one keeps the array's own id */
        SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, id), array_task_id,
            array_first(tasks));
        tx_clear(tx, JOB_F_ARRAY_TASKS);
    } else {
        (void)tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, id);
        tx_take_tasks(tx, tasks);
        id = put_split(ctld, tx, array, tasks);
        if (!id) {
            tx_free(tx);
            return NULL;
        }
    }
    if (!core_commit(ctld, tx))
        return NULL;
    services_job_split(ctld, cluster_job(ctld->cluster, id));
    return cluster_job(ctld->cluster, id);
}

struct job *arraysplit_task(struct ctld *ctld, struct job *array, uint32_t task)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", task);
    return array_contains(array->rec->array_tasks, task) ? arraysplit_tasks(ctld, array, text)
                                                         : NULL;
}

uint64_t arraysplit_drop(struct ctld *ctld, struct job *array, const char *tasks)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__JobRecord *r = array->rec;
    uint32_t n = array_count(tasks);
    uint64_t lsn;

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, r->job_id), array_dropped,
        (r->has_array_dropped ? r->array_dropped : 0) + n);
    tx_take_tasks(tx, tasks);
    SET(tx_cluster(tx), jobs_cancelled, ctld->cluster->rec->jobs_cancelled + n);
    lsn = core_commit(ctld, tx);
    if (lsn)
        services_job_changed(ctld, array);
    return lsn;
}

struct job *job_ref_own(struct ctld *ctld, const struct job_ref *ref)
{
    return ref->tasks ? arraysplit_tasks(ctld, ref->job, ref->tasks) : ref->job;
}
