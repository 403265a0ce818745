/* kept.c - records beside jobs, nodes and partitions; see kept.h. */
#include "model/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "model/cluster_private.h"
#include "model/recordhash.h"

#define HASH_KIND 20u /* and up: salts of cluster_hash() */

const Pst__TriggerRecord *cluster_trigger(const struct cluster *c, uint32_t trigger_id)
{
    const struct kept *k = cluster_kept(c, KEPT_TRIGGER, trigger_id);

    return k ? (const Pst__TriggerRecord *)k->rec : NULL;
}

const Pst__CrontabRecord *cluster_crontab(const struct cluster *c, uint32_t uid)
{
    const struct kept *k = cluster_kept(c, KEPT_CRONTAB, uid);

    return k ? (const Pst__CrontabRecord *)k->rec : NULL;
}

const Pst__TriggerRecord *cluster_next_trigger(const struct cluster *c, size_t *pos)
{
    const struct kept *k = idmap_next(&c->kept[KEPT_TRIGGER], pos);

    return k ? (const Pst__TriggerRecord *)k->rec : NULL;
}

const Pst__ReservationRecord *cluster_resv(const struct cluster *c, uint32_t resv_id)
{
    const struct kept *k = cluster_kept(c, KEPT_RESV, resv_id);

    return k ? (const Pst__ReservationRecord *)k->rec : NULL;
}

const Pst__SubmitKeyRecord *cluster_submit_key(const struct cluster *c, uint32_t number)
{
    const struct kept *k = cluster_kept(c, KEPT_KEY, number);

    return k ? (const Pst__SubmitKeyRecord *)k->rec : NULL;
}

const Pst__ReservationRecord *cluster_next_resv(const struct cluster *c, size_t *pos)
{
    const struct kept *k = idmap_next(&c->kept[KEPT_RESV], pos);

    return k ? (const Pst__ReservationRecord *)k->rec : NULL;
}

const Pst__ReservationRecord *cluster_resv_named(const struct cluster *c, const char *name,
                                                 size_t len)
{
    const Pst__ReservationRecord *r;

    for (size_t pos = 0; (r = cluster_next_resv(c, &pos));)
        if (strlen(r->name) == len && strncasecmp(r->name, name, len) == 0)
            return r;
    return NULL;
}

const Pst__CrontabEntry *crontab_entry(const Pst__CrontabRecord *r, uint32_t job_id)
{
    for (size_t i = 0; i < r->n_entries; i++)
        if (r->entries[i]->job_id == job_id)
            return r->entries[i];
    return NULL;
}

const ProtobufCMessageDescriptor *kept_descriptor(enum kept_kind kind)
{
    static const ProtobufCMessageDescriptor *const all[] = {
        [KEPT_TRIGGER] = &pst__trigger_record__descriptor,
        [KEPT_CRONTAB] = &pst__crontab_record__descriptor,
        [KEPT_ACCT] = &pst__acct_change__descriptor,
        [KEPT_USAGE] = &pst__usage_record__descriptor,
        [KEPT_RESV] = &pst__reservation_record__descriptor,
        [KEPT_KEY] = &pst__submit_key_record__descriptor,
    };

    return all[kind];
}

void kept_event_of(enum kept_kind kind, ProtobufCMessage *rec, Pst__Event *ret_ev)
{
    pst__event__init(ret_ev);
    if (kind == KEPT_TRIGGER) {
        ret_ev->body_case = PST__EVENT__BODY_TRIGGER_PUT;
        ret_ev->trigger_put = (Pst__TriggerRecord *)rec;
    } else if (kind == KEPT_ACCT) {
        ret_ev->body_case = PST__EVENT__BODY_ACCT_CHANGE;
        ret_ev->acct_change = (Pst__AcctChange *)rec;
    } else if (kind == KEPT_USAGE) {
        ret_ev->body_case = PST__EVENT__BODY_USAGE_PUT;
        ret_ev->usage_put = (Pst__UsageRecord *)rec;
    } else if (kind == KEPT_RESV) {
        ret_ev->body_case = PST__EVENT__BODY_RESV_PUT;
        ret_ev->resv_put = (Pst__ReservationRecord *)rec;
    } else if (kind == KEPT_KEY) {
        ret_ev->body_case = PST__EVENT__BODY_SUBMIT_KEY_PUT;
        ret_ev->submit_key_put = (Pst__SubmitKeyRecord *)rec;
    } else {
        ret_ev->body_case = PST__EVENT__BODY_CRONTAB_PUT;
        ret_ev->crontab_put = (Pst__CrontabRecord *)rec;
    }
}

/* The event that makes this record again. */
static void kept_event(const struct kept *k, Pst__Event *ret_ev)
{
    kept_event_of(k->kind, k->rec, ret_ev);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void kept_free(struct kept *k)
{
    if (!k)
        return;
    if (k->kind == KEPT_USAGE) {
        model_usage_free(k);
        return;
    }
    if (k->rec && k->kind != KEPT_ACCT) /* those belong to their tables */
        protobuf_c_message_free_unpacked(k->rec, NULL);
    free(k);
}

static int put_record(struct cluster *c, enum kept_kind kind, uint32_t id,
                      const ProtobufCMessage *rec)
{
    struct kept *k = cluster_kept(c, kind, id);
    ProtobufCMessage *copy;

    if (pb_dup(rec, &copy) < 0)
        return -ENOMEM;
    if (k) {
        protobuf_c_message_free_unpacked(k->rec, NULL);
    } else {
        k = calloc(1, sizeof(*k));
        if (!k || idmap_put(&c->kept[kind], kept_key(id), k) < 0) {
            free(k);
            protobuf_c_message_free_unpacked(copy, NULL);
            return -ENOMEM;
        }
        k->kind = kind;
        k->id = id;
    }
    k->rec = copy;
    if (c->observer && c->observer->kept)
        c->observer->kept(c->observer->ctx, k);
    return 0;
}

static const char *const kind_names[] = {
    [KEPT_TRIGGER] = "trigger",        [KEPT_CRONTAB] = "crontab of user",
    [KEPT_ACCT] = "accounting record", [KEPT_USAGE] = "usage",
    [KEPT_RESV] = "reservation",       [KEPT_KEY] = "key of a submission",
};

static int drop_record(struct cluster *c, enum kept_kind kind, uint32_t id, struct err *err)
{
    struct kept *k = cluster_kept(c, kind, id);

    if (!k)
        return err_set(err, -EUCLEAN, "%s %u: removed but unknown", kind_names[kind], id);
    if (c->observer && c->observer->kept_gone)
        c->observer->kept_gone(c->observer->ctx, k);
    (void)idmap_remove(&c->kept[kind], kept_key(id));
    kept_free(k);
    return 0;
}

/* ---- accounting records, each kept as the change that puts it, by serial number -------------- */

static void on_acct_put(void *ctx, uint32_t serial, const Pst__AcctChange *put)
{
    struct cluster *c = ctx;
    struct kept *k = cluster_kept(c, KEPT_ACCT, serial);

    if (!k) {
        k = calloc(1, sizeof(*k));
        if (!k || idmap_put(&c->kept[KEPT_ACCT], kept_key(serial), k) < 0)
            abort(); /* the tables have it: half a record must not be */
        k->kind = KEPT_ACCT;
        k->id = serial;
    }
    k->rec = (ProtobufCMessage *)&put->base;
    if (c->observer && c->observer->kept)
        c->observer->kept(c->observer->ctx, k);
}

static void on_acct_gone(void *ctx, uint32_t serial, const Pst__AcctChange *put)
{
    struct cluster *c = ctx;
    struct kept *k = cluster_kept(c, KEPT_ACCT, serial);

    (void)put;
    if (!k)
        return;
    if (c->observer && c->observer->kept_gone)
        c->observer->kept_gone(c->observer->ctx, k);
    (void)idmap_remove(&c->kept[KEPT_ACCT], kept_key(serial));
    kept_free(k);
}

int model_acct_init(struct cluster *c)
{
    int r = am_new(&c->am);

    c->am_observer = (struct am_observer){ .put = on_acct_put, .gone = on_acct_gone, .ctx = c };
    if (r == 0)
        am_observe(c->am, &c->am_observer);
    return r;
}

static int apply_acct(struct cluster *c, const Pst__AcctChange *ch, struct err *err)
{
    int r;

    model_usage_acct(c, ch);
    r = am_apply(c->am, ch, err);

    if (r == 0 && ch->has_version) {
        c->rec->has_acct_version = true;
        c->rec->acct_version = ch->version;
    }
    return r;
}

static int apply_submit_key(struct cluster *c, const Pst__SubmitKeyRecord *rec, struct err *err)
{
    if (!rec->number || !rec->has_uid || rec->key.len != DIGEST_SIZE ||
        rec->content.len != DIGEST_SIZE || !rec->job_id)
        return err_set(err, -EUCLEAN, "a key of a submission that lacks something");
    return put_record(c, KEPT_KEY, rec->number, &rec->base);
}

/* The text with these lines commented out; the caller frees.  NULL: no memory. */
static char *disable_lines(const char *text, uint32_t first, uint32_t last)
{
    struct strbuf sb = STRBUF_INIT;
    char *out = NULL;

    for (uint32_t line = 1; *text; line++) {
        size_t len = strcspn(text, "\n");

        len += text[len] == '\n';
        if (line >= first && line <= last &&
            strncmp(text, CRONTAB_DISABLED, strlen(CRONTAB_DISABLED)) != 0)
            strbuf_add(&sb, CRONTAB_DISABLED);
        strbuf_addn(&sb, text, len);
        text += len;
    }
    return strbuf_detach(&sb, &out) < 0 ? NULL : out;
}

static int apply_crontab_end(struct cluster *c, const Pst__CrontabEnd *end, struct err *err)
{
    const Pst__CrontabRecord *old = cluster_crontab(c, end->uid);
    const Pst__CrontabEntry *gone = old ? crontab_entry(old, end->job_id) : NULL;
    _cleanup_free_ Pst__CrontabEntry **rest = NULL;
    _cleanup_free_ char *text = NULL;
    Pst__CrontabRecord tab;

    if (!gone)
        return err_set(err, -EUCLEAN, "crontab of user %u: no entry has the job %u", end->uid,
                       end->job_id);
    rest = calloc(old->n_entries, sizeof(*rest));
    text = disable_lines(old->text ? old->text : "", gone->first_line, gone->last_line);
    if (!rest || !text)
        return -ENOMEM;
    tab = *old;
    tab.text = text;
    tab.entries = rest;
    tab.n_entries = 0;
    for (size_t i = 0; i < old->n_entries; i++)
        if (old->entries[i] != gone)
            rest[tab.n_entries++] = old->entries[i];
    return put_record(c, KEPT_CRONTAB, end->uid, &tab.base);
}

int model_apply_kept(struct cluster *c, const Pst__Event *ev, struct err *err)
{
    switch (ev->body_case) {
    case PST__EVENT__BODY_ACCT_CHANGE:
        return apply_acct(c, ev->acct_change, err);
    case PST__EVENT__BODY_USAGE_PUT:
        return model_usage_put(c, ev->usage_put, err);
    case PST__EVENT__BODY_USAGE_RESET:
        model_usage_reset(c, ev->usage_reset);
        return 0;
    case PST__EVENT__BODY_TRIGGER_PUT:
        if (!ev->trigger_put->trigger_id)
            return err_set(err, -EUCLEAN, "a trigger without an id");
        return put_record(c, KEPT_TRIGGER, ev->trigger_put->trigger_id, &ev->trigger_put->base);
    case PST__EVENT__BODY_TRIGGER_REMOVE:
        return drop_record(c, KEPT_TRIGGER, ev->trigger_remove, err);
    case PST__EVENT__BODY_CRONTAB_PUT:
        if (!ev->crontab_put->has_uid)
            return err_set(err, -EUCLEAN, "a crontab without a user");
        return put_record(c, KEPT_CRONTAB, ev->crontab_put->uid, &ev->crontab_put->base);
    case PST__EVENT__BODY_CRONTAB_END:
        return apply_crontab_end(c, ev->crontab_end, err);
    case PST__EVENT__BODY_RESV_PUT:
        if (!ev->resv_put->resv_id || !ev->resv_put->name)
            return err_set(err, -EUCLEAN, "a reservation without an id or a name");
        return put_record(c, KEPT_RESV, ev->resv_put->resv_id, &ev->resv_put->base);
    case PST__EVENT__BODY_RESV_REMOVE:
        return drop_record(c, KEPT_RESV, ev->resv_remove, err);
    case PST__EVENT__BODY_SUBMIT_KEY_PUT:
        return apply_submit_key(c, ev->submit_key_put, err);
    case PST__EVENT__BODY_SUBMIT_KEY_REMOVE:
        return drop_record(c, KEPT_KEY, ev->submit_key_remove, err);
    default:
        return drop_record(c, KEPT_CRONTAB, ev->crontab_remove, err);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

void model_kept_free(struct cluster *c)
{
    void *v;

    for (size_t kind = 0; kind < KEPT_KINDS; kind++) {
        for (size_t pos = 0; (v = idmap_next(&c->kept[kind], &pos));)
            kept_free(v);
        idmap_done(&c->kept[kind]);
    }
    c->am = am_free(c->am);
}

uint64_t model_kept_hash(const struct cluster *c)
{
    uint64_t h = 0;
    void *v;

    for (size_t kind = 0; kind < KEPT_KINDS; kind++)
        for (size_t pos = 0; (v = idmap_next(&c->kept[kind], &pos));)
            h += model_record_hash(((struct kept *)v)->rec, HASH_KIND + kind);
    return h;
}

int model_kept_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx)
{
    void *v;
    int r = 0;

    for (size_t kind = 0; kind < KEPT_KINDS; kind++) {
        for (size_t pos = 0; r >= 0 && (v = idmap_next(&c->kept[kind], &pos));) {
            Pst__Transaction tx = PST__TRANSACTION__INIT;
            Pst__Event ev, *list = &ev;

            kept_event(v, &ev);
            tx.events = &list;
            tx.n_events = 1;
            r = fn(ctx, &tx);
        }
    }
    return r < 0 ? r : 0;
}
