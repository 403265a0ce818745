/* acct.c - the accounting store's feeding side: transactions become rows
 *
 * Records of jobs and steps that live are kept in a cache, changed there, and written once per
 * batch (store.c), together with the cursor.  Invariant: outside of a batch the cache equals the
 * database. An error undoes the batch in both, so that it can be applied again from the cursor.
 *
 * Durability: see db.c.  One thread. */
#include "acct/acct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/blobs.h"
#include "acct/nodeevents.h"
#include "acct/acctresv.h"
#include "acct/store.h"
#include "base/pb/pbutil.h"
#include "model/array.h"
#include "model/cluster.h"
#include "model/job.h"

#define CACHE_MAX 2048u        /* records kept between batches */
#define CACHE_BATCH_MAX 65536u /* and within one */
#define NAME_MAX_BYTES 128u

/* What the row of `sources` holds. */
struct meta {
    int64_t id;
    uint64_t cursor;
    int64_t base, fed_us, rolled_us;
    char cluster[NAME_MAX_BYTES], uuid[NAME_MAX_BYTES];
};

struct acct {
    struct store store;
    struct nodes *nodes;
    struct blobs blobs;
    unsigned keep;         /* enum acct_keep */
    uint32_t most_steps;   /* of a run */
    acct_key_fn *tell_key; /* NULL: nobody asks */
    void *key_ctx;
    struct sql_stmt *save_meta, *save_suspend, *end_suspend;
    struct meta meta;  /* as of the batch being applied */
    struct meta saved; /* as committed */
    bool shared;       /* with other clusters: the name stays what it is */
    bool in_batch;
    char error[ERR_TEXT_MAX];
};

/* ---- meta ------------------------------------------------------------------------------------ */

static void copy_name(char to[NAME_MAX_BYTES], const char *from)
{
    (void)snprintf(to, NAME_MAX_BYTES, "%s", from ? from : ""); /* cut: compared only */
}

/* -ESTALE: the cursor is not where we left it, so another has stored records of this cluster. */
static int meta_save(struct acct *a)
{
    struct sql_stmt *stmt = a->save_meta;
    const struct meta *m = &a->meta;
    int r =
        stmt ? 0
             : sql_prepare(a->store.db,
                           "UPDATE sources SET lsn=?, base=?, fed_us=?, name=?, uuid=? WHERE id=?"
                           " AND lsn=?",
                           &stmt);

    if (r < 0)
        return r;
    a->save_meta = stmt;
    sql_bind(stmt, 0, (int64_t)m->cursor);
    sql_bind(stmt, 1, m->base);
    sql_bind(stmt, 2, m->fed_us);
    sql_bind_text(stmt, 3, m->cluster);
    sql_bind_text(stmt, 4, m->uuid);
    sql_bind(stmt, 5, m->id);
    sql_bind(stmt, 6, (int64_t)a->saved.cursor);
    r = sql_run(stmt);
    return r < 0 ? r : sql_changes(stmt) ? 0 : -ESTALE;
}

/* The row of the cluster; alone: the first row, whosever it is.  1: there is one. */
static int meta_find(struct acct *a, const char *cluster)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct meta *m = &a->meta;
    int r = sql_prepare(
        a->store.db,
        a->shared ? "SELECT id, lsn, base, fed_us, name, uuid FROM sources WHERE name=?"
                  : "SELECT id, lsn, base, fed_us, name, uuid FROM sources ORDER BY id LIMIT 1",
        &stmt);

    if (r < 0)
        return r;
    if (a->shared)
        sql_bind_text(stmt, 0, cluster);
    r = sql_step(stmt);
    if (r <= 0)
        return r;
    m->id = sql_int(stmt, 0);
    m->cursor = (uint64_t)sql_int(stmt, 1);
    m->base = sql_int(stmt, 2);
    m->fed_us = sql_int(stmt, 3);
    copy_name(m->cluster, sql_text(stmt, 4));
    copy_name(m->uuid, sql_text(stmt, 5));
    return 1;
}

static int meta_make(struct acct *a, const char *cluster)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct meta *m = &a->meta;
    int r = sql_get(a->store.db, "SELECT max(id) + 1 FROM sources", 0, &m->id);

    if (r == 0)
        r = sql_prepare(a->store.db, "INSERT INTO sources VALUES(?,?,'',0,?,0,0)", &stmt);
    if (r < 0)
        return r;
    copy_name(m->cluster, cluster);
    m->base = ACCT_RUNS_OF(m->id);
    sql_bind(stmt, 0, m->id);
    sql_bind_text(stmt, 1, m->cluster);
    sql_bind(stmt, 2, m->base);
    return sql_run(stmt);
}

/* The journal turns out to be that of another cluster: its numbers of runs begin anew, so they are
 * stored behind those we have. */
static int new_epoch(struct acct *a)
{
    struct store *s = &a->store;
    char text[128];
    int r = store_flush(s);

    (void)snprintf(text, sizeof(text), "SELECT max(run) FROM jobs WHERE run>=%lld AND run<%lld",
                   (long long)ACCT_RUNS_OF(a->meta.id), (long long)ACCT_RUNS_OF(a->meta.id + 1));
    if (r == 0)
        r = sql_get(s->db, text, ACCT_RUNS_OF(a->meta.id), &a->meta.base);
    if (r < 0)
        return r;
    cache_clear(&s->cache);
    s->base = a->meta.base;
    return resv_close_all(s->db, a->meta.id, a->meta.fed_us);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_source(struct acct *a, const char *cluster, const char *uuid)
{
    int r = meta_find(a, cluster);

    if (r == 0)
        r = meta_make(a, cluster);
    if (r < 0)
        return r;
    a->saved = a->meta;
    a->store.base = a->meta.base;
    a->store.end = ACCT_RUNS_OF(a->meta.id + 1);
    if (cluster && !a->meta.cluster[0])
        copy_name(a->meta.cluster, cluster);
    if (uuid && uuid[0] && strncmp(uuid, a->meta.uuid, NAME_MAX_BYTES - 1) != 0) {
        if (a->meta.uuid[0] || a->meta.cursor) {
            r = new_epoch(a);
            a->meta.cursor = 0;
        }
        copy_name(a->meta.uuid, uuid);
    }
    return r < 0 ? r : meta_save(a);
}

struct acct *acct_close(struct acct *a)
{
    int saved = errno;

    if (!a)
        return NULL;
    a->nodes = nodes_free(a->nodes);
    store_done(&a->store);
    free(a);
    errno = saved;
    return NULL;
}

static int open_store(const char *location, const char *cluster, const char *uuid, bool shared,
                      struct acct **ret_acct, struct err *err)
{
    _cleanup_(acct_close) struct acct *a = calloc(1, sizeof(*a));
    struct err why = { .text = "" };
    struct sql *db;
    int r;

    if (!a)
        return -ENOMEM;
    a->shared = shared;
    a->keep = ACCT_KEEP_ALL;
    a->most_steps = UINT32_MAX;
    r = acct_db_open(location, &db, &why);
    if (r == 0)
        r = store_init(&a->store, db);
    if (r == 0)
        r = sql_begin(db);
    if (r == 0) {
        r = take_source(a, cluster, uuid);
        if (r == 0)
            r = sql_commit(db);
        else
            sql_rollback(db);
    }
    if (r < 0)
        return why.text[0] ? err_set(err, r, "%s", why.text)
                           : err_set(err, r, "accounting: cannot read the database: %s",
                                     strerrordesc_np(-r));
    if (cluster && strncmp(a->meta.cluster, cluster, NAME_MAX_BYTES - 1) != 0)
        return err_set(err, -EEXIST, "accounting: %s belongs to cluster %s, this is %s",
                       sql_name(db), a->meta.cluster, cluster);
    a->blobs.db = db;
    r = nodes_new(db, a->meta.id, &a->nodes);
    if (r < 0)
        return r;
    a->saved = a->meta;
    *ret_acct = TAKE_PTR(a);
    return 0;
}

int acct_open(const char *location, const char *cluster, struct acct **ret_acct, struct err *err)
{
    return open_store(location, cluster, NULL, false, ret_acct, err);
}

int acct_open_source(const char *location, const char *cluster, const char *uuid,
                     struct acct **ret_acct, struct err *err)
{
    return open_store(location, cluster, uuid, true, ret_acct, err);
}

int64_t acct_source(const struct acct *a)
{
    return a->saved.id;
}

void acct_keep(struct acct *a, unsigned keep)
{
    a->keep = keep;
}

void acct_most_steps(struct acct *a, uint32_t most)
{
    a->most_steps = most;
}

bool acct_keeps_step(const Pst__StepRecord *step, uint32_t most)
{
    return step->step_id < most || step->step_id >= STEP_INTERACTIVE;
}

void acct_tell_keys(struct acct *a, acct_key_fn *fn, void *ctx)
{
    a->tell_key = fn;
    a->key_ctx = ctx;
}

void acct_fed(struct acct *a, int64_t time_us)
{
    a->meta.fed_us = MAX(a->meta.fed_us, time_us);
}

uint64_t acct_cursor(const struct acct *a)
{
    return a->saved.cursor;
}

const char *acct_error(const struct acct *a)
{
    return a->error;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Remember why, and make cache and database what they were before the batch. */
static int fail_batch(struct acct *a, int r)
{
    const char *text = r == -ENOMEM || r == -EUCLEAN || r == -EINVAL ? NULL
                       : r == -ESTALE ? "another has stored records of this cluster meanwhile"
                                      : sql_error(a->store.db);

    (void)snprintf(a->error, sizeof(a->error), "%s", text && text[0] ? text : strerrordesc_np(-r));
    sql_rollback(a->store.db);
    cache_clear(&a->store.cache);
    blobs_forget(&a->blobs);
    if (a->nodes)
        nodes_forget(a->nodes);
    a->meta = a->saved;
    a->store.base = a->meta.base;
    a->store.earliest_us = INT64_MAX;
    a->in_batch = false;
    return r;
}

int acct_begin(struct acct *a)
{
    int r = sql_begin(a->store.db);

    if (r < 0)
        return fail_batch(a, r);
    a->in_batch = true;
    return 0;
}

/* Sums of the time that was changed are made again. */
static int undo_roll(struct acct *a)
{
    char text[128];

    if (a->store.earliest_us == INT64_MAX)
        return 0;
    (void)snprintf(
        text, sizeof(text), "UPDATE sources SET rolled_us=%lld WHERE id=%lld AND rolled_us>%lld",
        (long long)a->store.earliest_us, (long long)a->meta.id, (long long)a->store.earliest_us);
    a->store.earliest_us = INT64_MAX;
    return sql_exec(a->store.db, text);
}

int acct_commit(struct acct *a)
{
    int r = store_flush(&a->store);

    if (r == 0)
        r = nodes_flush(a->nodes);
    if (r == 0)
        r = undo_roll(a);
    if (r == 0)
        r = meta_save(a);
    if (r == 0)
        r = sql_commit(a->store.db);
    if (r < 0)
        return fail_batch(a, r);
    a->in_batch = false;
    a->saved = a->meta;
    cache_evict(&a->store.cache, CACHE_MAX);
    return 0;
}

int acct_rewind(struct acct *a, uint64_t lsn)
{
    int r;

    a->meta.cursor = lsn;
    r = meta_save(a);
    if (r < 0)
        return fail_batch(a, r);
    a->saved.cursor = lsn;
    return 0;
}

int acct_came_back(struct acct *a, int64_t gone_us, int64_t back_us)
{
    int r = gone_us ? nodes_note_gone(a->store.db, a->meta.cluster, gone_us) : 0;

    if (r == 0)
        r = nodes_note_back(a->store.db, a->meta.id, back_us);
    return r < 0 ? fail_batch(a, r) : 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The row of a record, or of the one that a patch makes of it; 0: the patch names none. */
static int64_t row_of(const struct store *s, const Pst__JobRecord *rec)
{
    return rec->has_part_id ? s->base + (int64_t)rec->part_id
           : rec->has_db_id ? s->base + (int64_t)rec->db_id
                            : 0;
}

/* The record of a job that has changed its size tells of the time since then. */
static void begin_part(Pst__JobRecord *rec)
{
    if (!rec->has_part_id || !rec->has_resize_us)
        return;
    rec->has_start_us = true;
    rec->start_us = rec->resize_us;
}

/* set: what rec was just given. */
static void count_part(Pst__JobRecord *rec, const Pst__JobRecord *set)
{
    if (set->has_part_id)
        begin_part(rec);
    if (rec->has_part_suspended_us && (set->has_suspended_us || set->has_part_id))
        rec->suspended_us = MAX(rec->suspended_us - rec->part_suspended_us, 0);
}

/* What every stored record fulfils: nothing volatile, and an end when it is over. */
static void tidy_record(Pst__JobRecord *rec, int64_t time_us)
{
    record_drop_volatile(&rec->base);
    if (job_is_ended(rec) && !rec->has_end_us) {
        rec->has_end_us = true;
        rec->end_us = time_us;
    }
}

static int merge_and_clear(ProtobufCMessage *dst, const ProtobufCMessage *set, size_t nclear,
                           const uint32_t *clear)
{
    int r = set ? pb_merge(dst, set) : 0;

    for (size_t i = 0; r == 0 && i < nclear; i++)
        (void)pb_clear(dst, clear[i]); /* a field of a newer release: nothing to clear here */
    return r;
}

/* What is stored of it; borrowed from rec. */
static Pst__JobRecord kept_part(const struct acct *a, const Pst__JobRecord *rec)
{
    Pst__JobRecord own = *rec;

    if (!(a->keep & ACCT_COMMENT))
        own.comment = NULL;
    if (!(a->keep & ACCT_EXTRA))
        own.extra = NULL;
    if (!(a->keep & ACCT_STDIO))
        own.std_in = own.std_out = own.std_err = NULL;
    own.has_script_hash = rec->has_script_hash && a->keep & ACCT_SCRIPT;
    own.has_env_hash = rec->has_env_hash && a->keep & ACCT_ENV;
    own.has_script_digest = rec->has_script_digest && a->keep & ACCT_SCRIPT;
    own.has_env_digest = rec->has_env_digest && a->keep & ACCT_ENV;
    own.n_spank_job_env = 0; /* for the nodes alone, as what an --async step is launched with */
    own.export_env = NULL;
    return own;
}

static void tell_key(struct acct *a, const Pst__JobRecord *rec)
{
    if (a->tell_key && rec->user_name)
        a->tell_key(a->key_ctx, rec->user_name, rec->wckey ? rec->wckey : "");
}

static int job_put(struct acct *a, const Pst__JobRecord *rec, int64_t time_us)
{
    struct store *s = &a->store;
    ProtobufCMessage *copy;
    Pst__JobRecord own;
    struct entry *e;
    int r;

    if (!rec->has_job_id || !rec->has_db_id)
        return 0; /* no run that could be told from others */
    e = cache_get(&s->cache, rec->job_id, CACHE_JOB);
    if (e) { /* the id comes round again: its former owner's row stays as it is */
        r = store_flush(s);
        e = cache_get(&s->cache, rec->job_id, CACHE_JOB);
        if (r < 0)
            return r;
        if (e)
            cache_drop(&s->cache, e);
    }
    own = kept_part(a, rec);
    r = pb_dup(&own.base, &copy);
    if (r < 0)
        return r;
    r = cache_add(&s->cache, rec->job_id, CACHE_JOB, row_of(s, rec), copy, &e);
    if (r < 0) {
        protobuf_c_message_free_unpacked(copy, NULL);
        return r;
    }
    count_part((Pst__JobRecord *)copy, (const Pst__JobRecord *)copy);
    tidy_record((Pst__JobRecord *)copy, time_us);
    cache_mark(&s->cache, e);
    if (job_state(rec) == JOB_STATE(RUNNING))
        tell_key(a, rec);
    return 0;
}

/* Was it cancelled by a user, and not only to be queued again? */
static bool stays_cancelled(const Pst__JobRecord *rec)
{
    return rec->has_cancel_uid && !job_has_flag(rec, JOB_FLAG(REQUEUED));
}

/* The run in e is over, its job is queued again; or it goes on with another size.  Leave the row as
 * it shall be shown. */
static int close_run(struct acct *a, struct entry *e, bool resized, int64_t time_us)
{
    const Pst__JobRecord *old = (const Pst__JobRecord *)e->rec;
    ProtobufCMessage *copy;
    Pst__JobRecord *rec;
    int r = pb_dup(&old->base, &copy);

    if (r < 0)
        return r;
    rec = (Pst__JobRecord *)copy;
    if (!job_is_ended(rec)) {
        rec->has_end_us = true;
        rec->end_us = time_us; /* what it held was the projected end */
    }
    rec->has_state_flags = true;
    rec->state_flags = 0;
    if (resized) {
        rec->has_state = true;
        rec->state = JOB_STATE(COMPLETED);
        rec->state_flags = JOB_FLAG(RESIZING);
    } else if (!job_is_ended(rec) ||
               (job_state(rec) == JOB_STATE(CANCELLED) && !stays_cancelled(old))) {
        rec->has_state = true;
        rec->state = JOB_STATE(CANCELLED);
        rec->state_flags = JOB_FLAG(REQUEUED);
    }
    tidy_record(rec, time_us);
    r = store_save_job(&a->store, e, rec);
    protobuf_c_message_free_unpacked(copy, NULL);
    return r;
}

/* A period of suspension begins, or ends. */
static int note_suspension(struct acct *a, int64_t run, bool begins, int64_t time_us)
{
    struct sql_stmt **stmt = begins ? &a->save_suspend : &a->end_suspend;
    int r =
        *stmt
            ? 0
            : sql_prepare(
                  a->store.db,
                  begins
                      ? "REPLACE INTO suspensions VALUES(?,?,9223372036854775807)"
                      : "UPDATE suspensions SET end_us=? WHERE run=? AND end_us=9223372036854775807",
                  stmt);

    if (r < 0)
        return r;
    sql_bind(*stmt, begins ? 0 : 1, run);
    sql_bind(*stmt, begins ? 1 : 0, time_us);
    return sql_run(*stmt);
}

static int job_patch(struct acct *a, const Pst__JobPatch *p, int64_t time_us)
{
    struct store *s = &a->store;
    struct entry *e = NULL;
    int r = store_job(s, p->job_id, &e);
    bool was_pending, was_suspended, is_suspended;
    Pst__JobRecord set;
    int64_t run, next;

    if (r < 0 || !e)
        return r;
    run = e->run;
    next = p->set ? row_of(s, p->set) : 0;
    was_pending = job_state((const Pst__JobRecord *)e->rec) == JOB_STATE(PENDING);
    was_suspended = job_state((const Pst__JobRecord *)e->rec) == JOB_STATE(SUSPENDED);
    if (next && next != run) {
        r = close_run(a, e, p->set->has_part_id, time_us);
        if (r < 0)
            return r;
        e->run = next;
        e->stored = false;
    }
    if (p->set)
        set = kept_part(a, p->set);
    r = merge_and_clear(e->rec, p->set ? &set.base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    r = p->array_take ? array_take(&((Pst__JobRecord *)e->rec)->array_tasks, p->array_take) : 0;
    if (r < 0)
        return r;
    if (p->set)
        count_part((Pst__JobRecord *)e->rec, p->set);
    tidy_record((Pst__JobRecord *)e->rec, time_us);
    cache_mark(&s->cache, e);
    if (was_pending && job_state((const Pst__JobRecord *)e->rec) == JOB_STATE(RUNNING))
        tell_key(a, (const Pst__JobRecord *)e->rec);
    is_suspended = job_state((const Pst__JobRecord *)e->rec) == JOB_STATE(SUSPENDED);
    if (next && next != run && p->set->has_part_id)
        r = store_move_steps(s, run, next); /* e may be gone now */
    if (r < 0 || was_suspended == is_suspended)
        return r;
    return note_suspension(a, run, is_suspended, time_us);
}

/* The controller forgets jobs that are over.  One that is not was thrown away (slurmctld -c), and
 * no end of it will ever come. */
static int job_purge(struct acct *a, uint32_t job_id, int64_t time_us)
{
    struct store *s = &a->store;
    struct entry *e = cache_get(&s->cache, job_id, CACHE_JOB);
    Pst__JobRecord *rec;
    int r = e ? 1 : store_has_open_run(s, job_id);

    if (r > 0)
        r = store_job(s, job_id, &e);
    if (r < 0 || !e || job_is_ended((const Pst__JobRecord *)e->rec))
        return r;
    rec = (Pst__JobRecord *)e->rec;
    rec->has_state = rec->has_state_flags = rec->has_end_us = true;
    rec->state = JOB_STATE(CANCELLED);
    rec->state_flags = 0;
    rec->end_us = time_us;
    cache_mark(&s->cache, e);
    return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The row that has the steps of this run of the job. */
static int64_t row_of_steps(const struct store *s, const struct entry *job,
                            const Pst__StepRecord *step)
{
    const Pst__JobRecord *rec = (const Pst__JobRecord *)job->rec;

    return !step || !step->has_job_db_id || (rec->has_part_id && step->job_db_id == rec->db_id)
               ? job->run
               : s->base + (int64_t)step->job_db_id;
}

static int step_put(struct acct *a, const Pst__StepRecord *rec)
{
    Pst__StepRecord own = *rec;
    struct store *s = &a->store;
    struct entry *job = NULL, *e = NULL;
    ProtobufCMessage *copy;
    int64_t run;
    int r = store_job(s, rec->job_id, &job);

    if (r < 0 || !job)
        return r;
    run = row_of_steps(s, job, rec);
    if (!(a->keep & ACCT_STDIO))
        own.std_in = own.std_out = own.std_err = NULL;
    own.has_async_launch = own.has_async_spec = 0;
    r = pb_dup(&own.base, &copy);
    if (r < 0)
        return r;
    e = cache_get(&s->cache, (uint64_t)run, acct_step_order(rec->step_id));
    if (e) {
        protobuf_c_message_free_unpacked(e->rec, NULL);
        e->rec = copy;
    } else {
        r = cache_add(&s->cache, (uint64_t)run, acct_step_order(rec->step_id), run, copy, &e);
        if (r < 0) {
            protobuf_c_message_free_unpacked(copy, NULL);
            return r;
        }
    }
    record_drop_volatile(e->rec);
    cache_mark(&s->cache, e);
    return 0;
}

static int step_patch(struct acct *a, const Pst__StepPatch *p)
{
    struct store *s = &a->store;
    struct entry *job = NULL, *e = NULL;
    int r = store_job(s, p->job_id, &job);
    int64_t run;

    if (r < 0 || !job)
        return r;
    run = row_of_steps(s, job, p->set);
    r = store_step(s, run, p->step_id, &e);
    if (r == 0 && !e)
        r = store_step_any_run(s, p->job_id, p->step_id, &e); /* job may be gone from the cache */
    if (r < 0 || !e)
        return r;
    r = merge_and_clear(e->rec, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    record_drop_volatile(e->rec);
    cache_mark(&s->cache, e);
    return 0;
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static int cluster_set(struct acct *a, const Pst__ClusterRecord *rec)
{
    char id[NAME_MAX_BYTES];
    int r = 0;

    copy_name(id, rec->cluster_id);
    if (id[0] && strcmp(id, a->meta.uuid) != 0) {
        if (a->meta.uuid[0])
            r = new_epoch(a);
        copy_name(a->meta.uuid, id);
    }
    copy_name(id, rec->name);
    if (id[0] && !a->shared)
        copy_name(a->meta.cluster, id);
    return r;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int apply_event(struct acct *a, const Pst__Event *ev, int64_t time_us)
{
    bool jobs = a->keep & ACCT_JOBS, steps = jobs && a->keep & ACCT_STEPS;

    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PUT:
        return jobs ? job_put(a, ev->job_put, time_us) : 0;
    case PST__EVENT__BODY_JOB_PATCH:
        return jobs ? job_patch(a, ev->job_patch, time_us) : 0;
    case PST__EVENT__BODY_JOB_PURGE:
        return jobs ? job_purge(a, ev->job_purge, time_us) : 0;
    case PST__EVENT__BODY_STEP_PUT:
        return steps && acct_keeps_step(ev->step_put, a->most_steps) ? step_put(a, ev->step_put)
                                                                     : 0;
    case PST__EVENT__BODY_STEP_PATCH:
        return steps ? step_patch(a, ev->step_patch) : 0;
    case PST__EVENT__BODY_CLUSTER_SET:
        return cluster_set(a, ev->cluster_set);
    case PST__EVENT__BODY_RESV_PUT:
    case PST__EVENT__BODY_RESV_REMOVE:
        return resv_apply(a->store.db, a->meta.id, ev, time_us, &a->store.earliest_us);
    default:
        return nodes_apply(a->nodes, ev, time_us); /* partitions, blobs: no accounting matter */
    }
}

int acct_apply(struct acct *a, uint64_t lsn, const Pst__Transaction *tx, struct err *err)
{
    int r = 0;

    if (!a->in_batch)
        return err_set(err, -EINVAL, "accounting: no batch is open");
    if (lsn <= a->meta.cursor)
        return 0;
    if (a->store.cache.n > CACHE_BATCH_MAX) {
        r = store_flush(&a->store);
        if (r == 0)
            cache_evict(&a->store.cache, CACHE_MAX);
    }
    if (r == 0 && a->keep & ACCT_JOBS)
        r = blobs_apply(&a->blobs, tx, a->keep);
    for (size_t i = 0; r == 0 && i < tx->n_events; i++)
        r = apply_event(a, tx->events[i], tx->time_us);
    if (r < 0) {
        r = fail_batch(a, r);
        return err_set(err, r, "accounting: record %llu of the journal cannot be stored: %s",
                       (unsigned long long)lsn, a->error);
    }
    a->meta.cursor = lsn;
    acct_fed(a, tx->time_us);
    return 0;
}
