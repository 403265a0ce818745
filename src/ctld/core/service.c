/* service.c - calling the services through their rows; see service.h */
#include "ctld/core/service.h"

#include <errno.h>
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

/* Call HOOK of every service that has it, from the first row to the last. */
#define CALL(ctld, HOOK, ...)                                                                      \
    do {                                                                                           \
        for (const struct ctld_service *const *s_ = (ctld)->services; *s_; s_++)                   \
            if ((*s_)->HOOK)                                                                       \
                (*s_)->HOOK(__VA_ARGS__);                                                          \
    } while (0)

/* The same for a job, by its id: a service before may have committed what purged it. */
#define CALL_JOB(ctld, HOOK, j, ...)                                                               \
    do {                                                                                           \
        struct job *j_ = (j);                                                                      \
        uint32_t id_ = j_->rec->job_id;                                                            \
        for (const struct ctld_service *const *s_ = (ctld)->services; *s_ && j_; s_++) {           \
            if (!(*s_)->HOOK)                                                                      \
                continue;                                                                          \
            (*s_)->HOOK(ctld, j_ __VA_OPT__(, ) __VA_ARGS__);                                      \
            j_ = cluster_job((ctld)->cluster, id_);                                                \
        }                                                                                          \
    } while (0)

/* Operations by number, so that a request need not look through the rows. */
static void index_ops(struct ctld *ctld)
{
    for (const struct ctld_service *const *s = ctld->services; *s; s++)
        for (const struct ctld_op *row = (*s)->ops; row && (row->fn || row->front); row++) {
            assert(row->op < ARRAY_SIZE(ctld->ops) && !ctld->ops[row->op]);
            ctld->ops[row->op] = row;
        }
}

const struct ctld_op *service_op(const struct ctld *ctld, unsigned op)
{
    return op < ARRAY_SIZE(ctld->ops) ? ctld->ops[op] : NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

int services_check(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    int r = 0;

    for (const struct ctld_service *const *s = ctld->services; *s && r >= 0; s++)
        if ((*s)->check)
            r = (*s)->check(ctld, conf, err);
    return r;
}

typedef int begin_fn(struct ctld *ctld, struct err *err);

static int begin_one(const struct ctld_service *s, begin_fn *fn, struct ctld *ctld, struct err *err)
{
    int r = fn(ctld, err);

    if (r < 0 && err && !err->text[0])
        return err_set(err, r, "%s: cannot start: %s", s->name, strerror(-r));
    return r;
}

int services_start(struct ctld *ctld, struct err *err)
{
    int r = 0;

    index_ops(ctld);
    for (const struct ctld_service *const *s = ctld->services; *s && r >= 0; s++)
        if ((*s)->start)
            r = begin_one(*s, (*s)->start, ctld, err);
    return r;
}

int services_open(struct ctld *ctld, struct err *err)
{
    int r = 0;

    for (const struct ctld_service *const *s = ctld->services; *s && r >= 0; s++)
        if ((*s)->open)
            r = begin_one(*s, (*s)->open, ctld, err);
    return r;
}

int services_observe(struct ctld *ctld, struct err *err)
{
    int r = 0;

    for (const struct ctld_service *const *s = ctld->services; *s && r >= 0; s++)
        if ((*s)->observe)
            r = begin_one(*s, (*s)->observe, ctld, err);
    return r;
}

void services_observed(struct ctld *ctld)
{
    CALL(ctld, observed, ctld);
}

void services_recovered(struct ctld *ctld)
{
    CALL(ctld, recovered, ctld);
}

void services_reconfigured(struct ctld *ctld)
{
    CALL(ctld, reconfigured, ctld);
}

static size_t count_services(const struct ctld *ctld)
{
    size_t n = 0;

    while (ctld->services[n])
        n++;
    return n;
}

void services_quiesce(struct ctld *ctld)
{
    for (size_t i = count_services(ctld); i-- > 0;)
        if (ctld->services[i]->quiesce)
            ctld->services[i]->quiesce(ctld);
}

void services_stop(struct ctld *ctld)
{
    for (size_t i = count_services(ctld); i-- > 0;)
        if (ctld->services[i]->stop)
            ctld->services[i]->stop(ctld);
}

void services_free(struct ctld *ctld)
{
    for (size_t i = count_services(ctld); i-- > 0;)
        if (ctld->services[i]->free)
            ctld->services[i]->free(ctld);
}

/* ---- time ------------------------------------------------------------------------------------ */

void services_tick(struct ctld *ctld)
{
    int64_t now = core_now();
    bool slow = ctld->ticks++ % SERVICE_SLOW_TICKS == 0;

    for (const struct ctld_service *const *s = ctld->services; *s; s++) {
        if ((*s)->tick)
            (*s)->tick(ctld, now);
        if ((*s)->tick_writing && !atomic_load(&ctld->disk_full))
            (*s)->tick_writing(ctld, now);
        if ((*s)->tick_slow && slow && !atomic_load(&ctld->disk_full))
            (*s)->tick_slow(ctld, now);
    }
}

void services_batch_end(struct ctld *ctld)
{
    CALL(ctld, batch_end, ctld);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

void services_on_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    CALL(ctld, on_job, ctld, j, kind);
}

void services_on_job_gone(struct ctld *ctld, struct job *j)
{
    CALL(ctld, on_job_gone, ctld, j);
}

void services_on_step(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind)
{
    CALL(ctld, on_step, ctld, j, s, kind);
}

void services_on_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    CALL(ctld, on_node, ctld, n, kind);
}

void services_on_node_gone(struct ctld *ctld, struct node *n)
{
    CALL(ctld, on_node_gone, ctld, n);
}

void services_on_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind)
{
    CALL(ctld, on_part, ctld, p, kind);
}

void services_on_part_gone(struct ctld *ctld, struct partition *p)
{
    CALL(ctld, on_part_gone, ctld, p);
}

void services_on_kept(struct ctld *ctld, struct kept *k)
{
    CALL(ctld, on_kept, ctld, k);
}

void services_on_kept_gone(struct ctld *ctld, struct kept *k)
{
    CALL(ctld, on_kept_gone, ctld, k);
}

/* ---- the journal ----------------------------------------------------------------------------- */

void services_note(struct ctld *ctld, const Pst__Transaction *tx, struct strbuf *notes)
{
    CALL(ctld, note, ctld, tx, notes);
}

void services_durable(struct ctld *ctld, uint64_t lsn)
{
    CALL(ctld, durable, ctld, lsn);
}

uint64_t services_keep(struct ctld *ctld)
{
    uint64_t keep = UINT64_MAX;

    for (const struct ctld_service *const *s = ctld->services; *s; s++)
        if ((*s)->keeps)
            keep = MIN(keep, (*s)->keeps(ctld));
    return keep;
}

/* ---- connections, the scheduler -------------------------------------------------------------- */

void services_on_conn_gone(struct ctld *ctld, struct conn *conn)
{
    CALL(ctld, on_conn_gone, ctld, conn);
}

void services_on_conn_closed(struct ctld *ctld, struct conn *conn)
{
    CALL(ctld, on_conn_closed, ctld, conn);
}

void services_on_node_unlinked(struct ctld *ctld, struct node *n)
{
    CALL(ctld, on_node_unlinked, ctld, n);
}

void services_acct_changed(struct ctld *ctld)
{
    CALL(ctld, acct_changed, ctld);
}

void services_answered(struct ctld *ctld, unsigned op, uid_t uid, int64_t elapsed_us)
{
    CALL(ctld, answered, ctld, op, uid, elapsed_us);
}

void services_on_http(struct ctld *ctld, int fd, const char *head, size_t n)
{
    CALL(ctld, on_http, ctld, fd, head, n);
}

void services_on_standby(struct ctld *ctld, struct conn *conn, const struct frame *frame)
{
    CALL(ctld, on_standby, ctld, conn, frame);
}

void services_on_decisions(struct ctld *ctld, struct decisions_msg *m)
{
    CALL(ctld, on_decisions, ctld, m);
}

/* ---- the life of a job ----------------------------------------------------------------------- */

void services_job_ending(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                         const struct job_end *end)
{
    CALL(ctld, job_ending, ctld, tx, j, end);
}

void services_job_closing(struct ctld *ctld, Pst__Transaction *tx, struct job *j, uint32_t status)
{
    CALL(ctld, job_closing, ctld, tx, j, status);
}

void services_job_started(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    CALL_JOB(ctld, job_started, j, lsn);
}

void services_job_ready(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    CALL_JOB(ctld, job_ready, j, lsn);
}

void services_job_progress(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    CALL_JOB(ctld, job_progress, j, lsn);
}

void services_job_given_up(struct ctld *ctld, struct job *j, bool at_once)
{
    CALL_JOB(ctld, job_given_up, j, at_once);
}

void services_step_ended(struct ctld *ctld, struct job *j, uint32_t status)
{
    CALL_JOB(ctld, step_ended, j, status);
}

void services_site_prolog_over(struct ctld *ctld, struct job *j, bool well)
{
    CALL_JOB(ctld, site_prolog_over, j, well);
}

void services_site_epilog_over(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, site_epilog_over, j);
}

void services_job_suspended(struct ctld *ctld, struct job *j, bool suspended, bool preempted)
{
    CALL_JOB(ctld, job_suspended, j, suspended, preempted);
}

void services_job_resized(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_resized, j);
}

void services_job_resumed(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_resumed, j);
}

void services_job_ended(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    CALL_JOB(ctld, job_ended, j, lsn);
}

void services_job_cleaned(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_cleaned, j);
}

void services_job_over(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_over, j);
}

void services_job_split(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_split, j);
}

void services_job_changed(struct ctld *ctld, struct job *j)
{
    CALL_JOB(ctld, job_changed, j);
}

bool services_knows_node(struct ctld *ctld, const uint8_t *key)
{
    for (size_t i = 0; ctld->services[i]; i++)
        if (ctld->services[i]->knows_node)
            return ctld->services[i]->knows_node(ctld, key);
    return false;
}

bool services_may_vouch(struct ctld *ctld, const uint8_t *key, uid_t uid, gid_t *ret_gid)
{
    for (size_t i = 0; ctld->services[i]; i++)
        if (ctld->services[i]->may_vouch)
            return ctld->services[i]->may_vouch(ctld, key, uid, ret_gid);
    return false;
}

int services_launch_key(struct ctld *ctld, const struct node *n, const uint8_t *mac,
                        uint8_t *ret_key)
{
    for (size_t i = 0; ctld->services[i]; i++)
        if (ctld->services[i]->launch_key)
            return ctld->services[i]->launch_key(ctld, n, mac, ret_key);
    return -ENOKEY;
}

bool services_may_start(struct ctld *ctld, const struct job *j)
{
    for (size_t i = 0; ctld->services[i]; i++)
        if (ctld->services[i]->may_start)
            return ctld->services[i]->may_start(ctld, j);
    return true;
}

const Pst__AcctClusterRecord *services_runner(struct ctld *ctld, const struct job *j)
{
    for (size_t i = 0; ctld->services[i]; i++)
        if (ctld->services[i]->runner)
            return ctld->services[i]->runner(ctld, j);
    return NULL;
}
