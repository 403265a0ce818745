/* jobcomp.c - notes about runs, and the follower that takes them to the sink of JobCompType; see
 * jobcomp.h
 *
 * A note holds the record whole, so the follower keeps nothing between records and begins anywhere.
 * It is packed behind the transaction it belongs to: both are durable or neither, and the record's
 * fields are borrowed, not copied. */
#include "ctld/notify/jobcomp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/pb/pbdiff.h"
#include "base/pb/pbutil.h"
#include "ctld/notify/logfollow.h"
#include "ctld/core/service.h"
#include "fieldlists.h"
#include "fields.h"

/* How a field of bytes begins in an encoded message: a number of two bytes, and of one. */
static const uint8_t note_tag[] = { ((EVENT_F_JOB_NOTE << 3 | 2) & 0x7f) | 0x80,
                                    EVENT_F_JOB_NOTE >> 4 };
#define EVENT_TAG (TRANSACTION_F_EVENTS << 3 | 2)
#define KIND(x) PST__EVENT_KIND__EV_##x

static const struct jobcomp_sink *const sinks[] = { &jobcomp_elastic, &jobcomp_filetxt,
                                                    &jobcomp_kafka, &jobcomp_script };

struct jobcomp {
    const struct jobcomp_sink *type;
    void *sink;
    struct follow *follow;
    struct follow_ops ops;
    struct pb_arena *arena; /* the follower's */
    unsigned unflushed;
    /* for the core */
    bool starts, send_script, send_comment;
};

/* ---- notes, on the core's thread ------------------------------------------------------------- */

/* What a completion record tells.  What it tells on demand is last. */
static const uint32_t told[] = { JOB_JOBCOMP_FIELDS, JOB_JOBCOMP_ASKED_FIELDS };
#define TOLD_ASKED (sizeof((const uint32_t[]){ JOB_JOBCOMP_ASKED_FIELDS }) / sizeof(uint32_t))

/* How the job will be once tx is applied, as far as it is told. */
static void record_after(const struct jobcomp *jc, const struct job *j, const Pst__Transaction *tx,
                         uint32_t job_id, Pst__JobRecord *rec, Pst__Alloc *alloc)
{
    size_t n = ARRAY_SIZE(told) - (jc->send_comment ? 0 : TOLD_ASKED);
    const Pst__Alloc *held = j ? j->rec->alloc : NULL;

    if (j)
        pb_borrow(&rec->base, &j->rec->base, told, n);
    for (size_t i = 0; i < tx->n_events; i++) {
        const Pst__Event *ev = tx->events[i];
        const Pst__JobRecord *set = NULL;

        if (ev->body_case == PST__EVENT__BODY_JOB_PUT && ev->job_put->job_id == job_id)
            set = ev->job_put;
        else if (ev->body_case == PST__EVENT__BODY_JOB_PATCH && ev->job_patch->job_id == job_id)
            set = ev->job_patch->set;
        else
            continue;
        if (set)
            pb_borrow(&rec->base, &set->base, told, n);
        if (set && set->alloc)
            held = set->alloc;
        if (ev->body_case == PST__EVENT__BODY_JOB_PATCH)
            pb_forget(&rec->base, ev->job_patch->clear, ev->job_patch->n_clear);
    }
    SET(rec, job_id, job_id);
    if (held) {
        alloc->nodes = held->nodes;
        SET(alloc, total_cpus, held->total_cpus);
        rec->alloc = alloc;
    }
}

static void put_varint(struct strbuf *sb, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        strbuf_addc(sb, (char)(v | 0x80));
    strbuf_addc(sb, (char)v);
}

static void pack_event(Pst__JobNote *note, struct strbuf *out)
{
    Pst__Event ev = PST__EVENT__INIT;
    size_t len;
    char *room;

    ev.body_case = PST__EVENT__BODY_JOB_NOTE;
    ev.job_note = note;
    len = pst__event__get_packed_size(&ev);
    strbuf_addc(out, EVENT_TAG);
    put_varint(out, len);
    room = strbuf_room(out, len);
    if (room)
        strbuf_grew(out, pst__event__pack(&ev, (uint8_t *)room));
}

/* The account of the association and those above it, from the top, each behind a slash. */
static void put_accounts(const struct assoc *a, unsigned depth, struct strbuf *sb)
{
    if (!a || depth > 64)
        return;
    put_accounts(a->parent, depth + 1, sb);
    if (!a->user && a->rec->account)
        strbuf_addf(sb, "/%s", a->rec->account);
}

static void add_note(const struct jobcomp *jc, const struct cluster *c, const Pst__Transaction *tx,
                     uint32_t job_id, bool began, struct strbuf *out)
{
    const struct job *j = cluster_job(c, job_id);
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    Pst__JobNote note = PST__JOB_NOTE__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    _cleanup_val_(strbuf_done) struct strbuf accounts = STRBUF_INIT;
    const struct blob *script = NULL;

    if (j && !began && job_is_ended(j->rec))
        return; /* told when it ended: only what becomes of it changed */
    record_after(jc, j, tx, job_id, &rec, &alloc);
    note.job = &rec;
    if (began)
        SET(&note, began, true);
    if (jc->send_script && j)
        script = cluster_script(c, j->rec);
    if (script) {
        note.has_script = true;
        note.script.data = (uint8_t *)(uintptr_t)script->data; /* packing does not change it */
        note.script.len = script->len;
    }
    if (j && j->rec->assoc_id)
        put_accounts(am_assoc(c->am, j->rec->assoc_id), 0, &accounts);
    if (accounts.len)
        note.parent_accounts = accounts.buf; /* packing does not change it */
    pack_event(&note, out);
}

void jobcomp_notes(const struct jobcomp *jc, const struct cluster *c, const Pst__Transaction *tx,
                   struct strbuf *out)
{
    for (size_t i = 0; jc && i < tx->n_events; i++) {
        const Pst__Event *ev = tx->events[i];
        bool began = ev->has_kind && ev->kind == KIND(JOB_START),
             ended = ev->has_kind && ev->kind == KIND(JOB_END);

        if (!ended && !(began && jc->starts))
            continue;
        if (ev->body_case == PST__EVENT__BODY_JOB_PATCH)
            add_note(jc, c, tx, ev->job_patch->job_id, began, out);
        else if (ev->body_case == PST__EVENT__BODY_JOB_PUT)
            add_note(jc, c, tx, ev->job_put->job_id, began, out);
    }
}

/* ---- the follower ---------------------------------------------------------------------------- */

static int on_record(void *ctx, uint64_t lsn, const uint8_t *data, size_t len, struct err *err)
{
    struct jobcomp *jc = ctx;
    const Pst__Transaction *tx;
    int held = 0;

    if (!memmem(data, len, note_tag, sizeof(note_tag)))
        return 0;
    if (!jc->unflushed)
        pb_arena_reset(jc->arena);
    tx = pst__transaction__unpack(pb_arena_allocator(jc->arena), len, data);
    if (!tx) {
        log_error("jobcomp: record %llu of the journal cannot be decoded and is left out",
                  (unsigned long long)lsn);
        return 0;
    }
    for (size_t i = 0; i < tx->n_events; i++) {
        const Pst__Event *ev = tx->events[i];
        int r;

        if (ev->body_case != PST__EVENT__BODY_JOB_NOTE || !ev->job_note->job)
            continue;
        log_flag(JOB_COMP, "JobId=%u, record %llu: to %s", ev->job_note->job->job_id,
                 (unsigned long long)lsn, jc->type->type);
        r = jc->type->put(jc->sink, lsn, ev->job_note, err);
        if (r < 0)
            return r;
        jc->unflushed++;
        held = 1;
    }
    return held;
}

static int on_flush(void *ctx, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct jobcomp *jc = ctx;

    if (!jc->unflushed)
        return 0;
    jc->unflushed = 0;
    return jc->type->flush(jc->sink, stop, ret_done, err);
}

static void on_idle(void *ctx)
{
    struct jobcomp *jc = ctx;

    if (jc->type->idle)
        jc->type->idle(jc->sink);
}

/* ---- start and stop -------------------------------------------------------------------------- */

void jobcomp_durable(struct jobcomp *jc, uint64_t lsn)
{
    if (jc)
        follow_durable(jc->follow, lsn);
}

uint64_t jobcomp_lag(const struct jobcomp *jc)
{
    return follow_lag(jc->follow);
}

uint64_t jobcomp_keep(const struct jobcomp *jc)
{
    return jc ? follow_keep(jc->follow) : UINT64_MAX;
}

struct jobcomp *jobcomp_stop(struct jobcomp *jc)
{
    if (!jc)
        return NULL;
    jc->follow = follow_stop(jc->follow);
    if (jc->sink)
        jc->type->close(jc->sink);
    jc->arena = pb_arena_free(jc->arena);
    free(jc);
    return NULL;
}

static int find_type(const char *name, const struct jobcomp_sink **ret, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(sinks); i++)
        if (strcasecmp(sinks[i]->type, name) == 0) {
            *ret = sinks[i];
            return 0;
        }
    return err_set(err, -EINVAL,
                   "JobCompType=%.64s is not there: it is one of jobcomp/none, jobcomp/filetxt, "
                   "jobcomp/script, "
                   "jobcomp/elasticsearch and jobcomp/kafka",
                   name);
}

static int open_sink(struct jobcomp *jc, const struct conf *conf, struct err *err)
{
    uint64_t poll_s;
    int r = find_type(conf_str(conf, CONF_JOB_COMP_TYPE), &jc->type, err);

    if (r < 0)
        return r;
    r = jc->type->open(conf, &jc->sink, err);
    if (r < 0)
        return r;
    if (pb_arena_new(&jc->arena) < 0)
        return -ENOMEM;
    jc->starts = jc->type == &jobcomp_kafka &&
                 conf_option(conf, CONF_JOB_COMP_PARAMS, "enable_job_start", NULL, NULL);
    jc->send_script =
        jc->type->json && conf_option(conf, CONF_JOB_COMP_PARAMS, "send_script", NULL, NULL);
    jc->send_comment =
        jc->type->json && conf_option(conf, CONF_JOB_COMP_PARAMS, "send_comment", NULL, NULL);
    jc->ops = (struct follow_ops){ .what = "jobcomp",
                                   .batch = jc->type->batch,
                                   .retry_ms = jc->type->retry_ms,
                                   .idle_ms = jc->type->idle_ms,
                                   .record = on_record,
                                   .flush = on_flush,
                                   .idle = on_idle };
    if (jc->type->idle_ms &&
        conf_option_u64(conf, CONF_JOB_COMP_PARAMS, "poll_interval", &poll_s) && poll_s)
        jc->ops.idle_ms = (int)MIN(poll_s, 3600u) * 1000;
    return 0;
}

int jobcomp_start(struct ctld *ctld, struct jobcomp **ret, struct err *err)
{
    const char *type = conf_str(ctld->conf, CONF_JOB_COMP_TYPE);
    const char *dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION);
    _cleanup_val_(strbuf_done) struct strbuf cursor = STRBUF_INIT;
    struct jobcomp *jc;
    int r;

    if (!type || !*type || strcasecmp(type, "jobcomp/none") == 0)
        return 0;
    jc = calloc(1, sizeof(*jc));
    if (!jc)
        return -ENOMEM;
    strbuf_addf(&cursor, "%s/jobcomp.place", dir);
    r = open_sink(jc, ctld->conf, err);
    if (r == 0)
        r = follow_start(dir, strbuf_str(&cursor), journal_last(ctld->journal),
                         journal_durable(ctld->journal), &jc->ops, jc, &jc->follow, err);
    if (r < 0) {
        jobcomp_stop(jc);
        return r;
    }
    *ret = jc;
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int open_jobcomp(struct ctld *ctld, struct err *err)
{
    return jobcomp_start(ctld, &ctld->jobcomp, err);
}

static void stop_jobcomp(struct ctld *ctld)
{
    ctld->jobcomp = jobcomp_stop(ctld->jobcomp);
}

static void note_ends(struct ctld *ctld, const Pst__Transaction *tx, struct strbuf *notes)
{
    jobcomp_notes(ctld->jobcomp, ctld->cluster, tx, notes);
}

static void tell_durable(struct ctld *ctld, uint64_t lsn)
{
    jobcomp_durable(ctld->jobcomp, lsn);
}

static uint64_t first_kept(struct ctld *ctld)
{
    return jobcomp_keep(ctld->jobcomp);
}

const struct ctld_service jobcomp_service = {
    .name = "jobcomp",
    .open = open_jobcomp,
    .stop = stop_jobcomp,
    .note = note_ends,
    .durable = tell_durable,
    .keeps = first_kept,
};
