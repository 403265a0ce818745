/* simjournal.c - the jobs of a controller's journal as a workload
 *
 * The log is replayed through the model; each end of a job becomes a job of the workload, so that a
 * job that ran twice is two.  What was purged before the oldest record kept is not known any more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "journal/journal.h"
#include "model/cluster.h"
#include "model/job.h"
#include "penstock/simopts.h"

struct journal_trace {
    struct cluster *cluster;
    struct workload *w;
    struct err err;
    bool snapshot; /* the record being applied comes from one */
    int result;    /* of adding jobs */
};

/* gres/gpu=2 of a list such as "cpu=4,mem=1G,gres/gpu=2". */
static uint32_t gpus_of(const char *tres)
{
    const char *at = tres ? strstr(tres, "gres/gpu=") : NULL;
    unsigned n = 0;

    return at && sscanf(at, "gres/gpu=%u", &n) == 1 ? n : 0;
}

static int add_job(struct workload *w, const Pst__JobRecord *r)
{
    const char *part = r->partition ? r->partition : "";
    struct sim_job j = { .id = r->job_id, .cpus_per_task = 1 };
    char user[24];
    int e;

    if (!r->has_start_us || !r->has_end_us || !r->alloc || r->end_us < r->start_us) {
        w->skipped++;
        return 0;
    }
    j.submit_us = r->submit_us;
    j.run_us = r->end_us - r->start_us;
    j.recorded_start_us = r->start_us;
    j.limit_min = r->has_time_limit_min && !r->time_unlimited ? r->time_limit_min : SCHED_UNLIMITED;
    j.nodes = (uint32_t)r->alloc->n_node_ids;
    j.tasks = r->alloc->total_cpus;
    j.gpus = gpus_of(r->alloc_tres);
    j.array = r->has_array_job_id ? r->array_job_id : 0;
    j.nice = r->nice;
    j.exclusive = r->has_exclusive && r->exclusive == 1;
    if (r->alloc->n_groups && j.nodes)
        j.mem_per_node_mib = r->alloc->groups[0]->mem_mib;
    (void)snprintf(user, sizeof(user), "%u", r->uid);
    e = name_index(&w->users, user, strlen(user), &j.user);
    if (e == 0)
        e = name_index(&w->parts, part, strcspn(part, ","), &j.part);
    if (e == 0 && r->account && *r->account) {
        e = name_index(&w->accounts, r->account, strlen(r->account), &j.account);
        j.account++;
    }
    if (e == 0 && r->qos && *r->qos && strcmp(r->qos, "normal") != 0) {
        e = name_index(&w->qos, r->qos, strlen(r->qos), &j.qos);
        j.qos++;
    }
    return e < 0 ? e : workload_add(w, &j);
}

static void on_job(void *ctx, struct job *job, Pst__EventKind kind)
{
    struct journal_trace *t = ctx;

    if (kind == PST__EVENT_KIND__EV_JOB_END || (t->snapshot && job_is_ended(job->rec)))
        t->result = t->result < 0 ? t->result : add_job(t->w, job->rec);
}

static int on_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct journal_trace *t = ctx;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r;

    (void)lsn;
    if (!tx)
        return err_set(&t->err, -EUCLEAN, "a record is no transaction");
    t->snapshot = snapshot;
    r = cluster_apply(t->cluster, tx, &t->err);
    pst__transaction__free_unpacked(tx, NULL);
    return r < 0 ? r : t->result;
}

void simjournal_find(const char *dir, char *buf, size_t size)
{
    struct stat st;

    (void)snprintf(buf, size, "%s/state/journal", dir);
    if (stat(buf, &st) == 0)
        (void)snprintf(buf, size, "%s/state", dir);
    else
        (void)snprintf(buf, size, "%s", dir);
}

int simjournal_read(const char *dir, struct workload *w)
{
    char state[INSTANCE_PATH_MAX + 32];
    struct journal_trace t = { .w = w, .err = { .text = "" } };
    const struct cluster_observer observer = { .job = on_job, .ctx = &t };
    struct journal_config config = { .dir = state, .read_only = true };
    struct journal *journal = NULL;
    struct err err = { .text = "" };
    int r;

    simjournal_find(dir, state, sizeof(state));
    r = cluster_new(&t.cluster);
    if (r < 0)
        return say_nomem();
    t.cluster->observer = &observer;
    r = journal_open(&config, on_record, &t, &journal, &err);
    if (journal)
        journal_close(journal);
    cluster_free(t.cluster);
    if (r < 0)
        return say_error("%s: %s", dir,
                         t.err.text[0] ? t.err.text
                         : err.text[0] ? err.text
                                       : strerror(-r));
    workload_sort(w);
    return w->n ? STATUS_OK : say_error("%s: no job in its journal has run to its end", dir);
}
