/* watchproj.c - the journal as changes; see watchproj.h
 *
 * What a record was is kept packed, cut down to the fields of watchfields.c.  An event gives the
 * values it has now; the difference of the two is the change.  An event that changes none of these
 * fields is no change. */
#include "ctld/watch/watchproj.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbdiff.h"
#include "base/pb/pbutil.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "journal/logwalk.h"
#include "model/tables/idmap.h"
#include "wire/watchfields.h"

#define ENTITIES (PST__WATCH_ENTITY__WATCH_PARTITION + 1)

union record {
    ProtobufCMessage base;
    Pst__JobRecord job;
    Pst__NodeRecord node;
    Pst__PartitionRecord part;
};

struct packed {
    char *name; /* of a partition; else NULL */
    uint32_t len;
    uint8_t data[];
};

struct watchproj {
    struct idmap shadow[ENTITIES]; /* id + 1 -> struct packed */
    struct namemap part_shadow;    /* name -> struct packed, which holds it */
    struct journal_reader *reader;
    struct pb_arena *arena;     /* of the transaction */
    struct pb_arena *was_arena; /* of the old values */
    uint64_t lsn;
    /* of the call */
    watchproj_fn *fn;
    void *ctx;
    struct err *err;
};

/* One event being looked at. */
struct look {
    Pst__WatchEntity entity;
    uint64_t key;
    const char *name;            /* in place of the key: a partition's; borrowed */
    const ProtobufCMessage *set; /* fields that it gives; NULL = the record goes */
    const uint32_t *clear;
    size_t nclear;
    bool whole; /* a put: fields not in set are absent */
};

static bool look_at(const Pst__Event *ev, struct look *l)
{
    *l = (struct look){ .entity = PST__WATCH_ENTITY__WATCH_JOB };
    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PUT:
        l->whole = true;
        l->set = &ev->job_put->base;
        l->key = (uint64_t)ev->job_put->job_id + 1;
        return true;
    case PST__EVENT__BODY_JOB_PATCH:
        l->set = ev->job_patch->set ? &ev->job_patch->set->base : NULL;
        l->clear = ev->job_patch->clear;
        l->nclear = ev->job_patch->n_clear;
        l->key = (uint64_t)ev->job_patch->job_id + 1;
        return true;
    case PST__EVENT__BODY_JOB_PURGE:
        l->whole = true;
        l->key = (uint64_t)ev->job_purge + 1;
        return true;
    case PST__EVENT__BODY_NODE_PUT:
    case PST__EVENT__BODY_NODE_PATCH:
    case PST__EVENT__BODY_NODE_REMOVE:
        l->entity = PST__WATCH_ENTITY__WATCH_NODE;
        break;
    case PST__EVENT__BODY_PART_PUT:
    case PST__EVENT__BODY_PART_PATCH:
    case PST__EVENT__BODY_PART_REMOVE:
        l->entity = PST__WATCH_ENTITY__WATCH_PARTITION;
        break;
    default:
        return false;
    }
    switch (ev->body_case) {
    case PST__EVENT__BODY_NODE_PUT:
        l->whole = true;
        l->set = &ev->node_put->base;
        l->key = (uint64_t)ev->node_put->node_id + 1;
        break;
    case PST__EVENT__BODY_NODE_PATCH:
        l->set = ev->node_patch->set ? &ev->node_patch->set->base : NULL;
        l->clear = ev->node_patch->clear;
        l->nclear = ev->node_patch->n_clear;
        l->key = (uint64_t)ev->node_patch->node_id + 1;
        break;
    case PST__EVENT__BODY_NODE_REMOVE:
        l->whole = true;
        l->key = (uint64_t)ev->node_remove + 1;
        break;
    case PST__EVENT__BODY_PART_PUT:
        l->whole = true;
        l->set = &ev->part_put->base;
        l->name = ev->part_put->name;
        break;
    case PST__EVENT__BODY_PART_PATCH:
        l->set = ev->part_patch->set ? &ev->part_patch->set->base : NULL;
        l->clear = ev->part_patch->clear;
        l->nclear = ev->part_patch->n_clear;
        l->name = ev->part_patch->name;
        break;
    default:
        l->whole = true;
        l->name = ev->part_remove;
        break;
    }
    return true;
}

/* ---- values kept ----------------------------------------------------------------------------- */

/* Of an allocation only what people read is kept. */
static void strip_alloc(Pst__JobRecord *j, Pst__Alloc *light)
{
    if (!j->alloc)
        return;
    pst__alloc__init(light);
    light->nodes = j->alloc->nodes;
    light->has_total_cpus = j->alloc->has_total_cpus;
    light->total_cpus = j->alloc->total_cpus;
    j->alloc = light;
}

static void packed_free(struct packed *k)
{
    if (k)
        free(k->name);
    free(k);
}

static struct packed *find_shadow(const struct watchproj *p, const struct look *l)
{
    return l->name ? namemap_get(&p->part_shadow, l->name)
                   : idmap_get(&p->shadow[l->entity], l->key);
}

static void drop_shadow(struct watchproj *p, const struct look *l)
{
    packed_free(l->name ? namemap_remove(&p->part_shadow, l->name)
                        : idmap_remove(&p->shadow[l->entity], l->key));
}

static int put_shadow(struct watchproj *p, const struct look *l, struct packed *k)
{
    if (!l->name)
        return idmap_put(&p->shadow[l->entity], l->key, k);
    k->name = strdup(l->name);
    return k->name ? namemap_put(&p->part_shadow, k->name, k) : -ENOMEM;
}

static int keep_shadow(struct watchproj *p, const struct look *l, const union record *now)
{
    size_t len = protobuf_c_message_get_packed_size(&now->base);
    struct packed *k = malloc(sizeof(*k) + len);
    struct packed *old = find_shadow(p, l);

    if (!k)
        return -ENOMEM;
    k->name = NULL;
    k->len = (uint32_t)protobuf_c_message_pack(&now->base, k->data);
    if (put_shadow(p, l, k) < 0) {
        packed_free(k);
        return -ENOMEM;
    }
    packed_free(old);
    return 0;
}

/* What the record was, or NULL; lives in was_arena. */
static int recall_shadow(struct watchproj *p, const struct look *l, const ProtobufCMessage **ret)
{
    const struct packed *k = find_shadow(p, l);

    *ret = NULL;
    if (!k)
        return 0;
    pb_arena_reset(p->was_arena);
    *ret = protobuf_c_message_unpack(watch_fields(l->entity)->desc,
                                     pb_arena_allocator(p->was_arena), k->len, k->data);
    return *ret ? 0 : -ENOMEM;
}

static void merge_record(const struct watch_fields *k, const struct look *l,
                         const ProtobufCMessage *was, union record *now)
{
    protobuf_c_message_init(k->desc, &now->base);
    if (was && !l->whole) {
        pb_borrow(&now->base, was, k->fields, k->nfields);
        pb_borrow(&now->base, was, k->identity, k->nidentity);
    }
    if (l->nclear)
        pb_forget(&now->base, l->clear, l->nclear);
    if (l->set) {
        pb_borrow(&now->base, l->set, k->fields, k->nfields);
        pb_borrow(&now->base, l->set, k->identity, k->nidentity);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

static int pack_message(const ProtobufCMessage *m, ProtobufCBinaryData *ret)
{
    size_t len = protobuf_c_message_get_packed_size(m);

    ret->data = malloc(len ? len : 1);
    if (!ret->data)
        return -ENOMEM;
    ret->len = protobuf_c_message_pack(m, ret->data);
    return 0;
}

static void identify_change(const struct look *l, const union record *r, Pst__WatchChange *c)
{
    c->has_entity = true;
    c->entity = l->entity;
    if (l->entity == PST__WATCH_ENTITY__WATCH_JOB) {
        c->has_id = c->has_uid = true;
        c->id = r->job.job_id;
        c->uid = r->job.uid;
        c->user_name = r->job.user_name;
        c->name = r->job.name;
        c->partition = r->job.partition;
        c->has_array_job_id = r->job.has_array_job_id;
        c->array_job_id = r->job.array_job_id;
        c->has_array_task_id = r->job.has_array_task_id;
        c->array_task_id = r->job.array_task_id;
    } else if (l->entity == PST__WATCH_ENTITY__WATCH_NODE) {
        c->has_id = true;
        c->id = r->node.node_id;
        c->name = r->node.name;
    } else {
        c->name = r->part.name;
    }
}

static uint32_t state_bit(const struct look *l, const union record *r)
{
    uint32_t state = r->job.has_state ? (uint32_t)r->job.state : 0;

    return l->entity == PST__WATCH_ENTITY__WATCH_JOB && state < 32 ? 1u << state : 0;
}

static int tell_change(struct watchproj *p, const struct look *l, const ProtobufCMessage *was,
                       const union record *now, Pst__WatchChange *c)
{
    const struct watch_fields *k = watch_fields(l->entity);
    const union record *old = (const union record *)(const void *)was;
    union record before, after, none;
    uint32_t states = now ? state_bit(l, now) : 0;
    int r = 0;

    protobuf_c_message_init(k->desc, &before.base);
    protobuf_c_message_init(k->desc, &after.base);
    protobuf_c_message_init(k->desc, &none.base);
    if (was)
        states |= state_bit(l, old);
    if (!pb_diff(was ? was : &none.base, now ? &now->base : &none.base, k->fields, k->nfields,
                 &before.base, &after.base) &&
        was && now)
        return 0;
    identify_change(l, now ? now : old, c);
    c->has_created = c->created = !was;
    c->has_gone = c->gone = !now;
    if (was && now)
        r = pack_message(&before.base, &c->before);
    if (r == 0 && now)
        r = pack_message(&after.base, &c->after);
    c->has_before = c->before.data != NULL;
    c->has_after = c->after.data != NULL;
    if (r == 0)
        r = p->fn(p->ctx, c, states);
    free(c->before.data);
    free(c->after.data);
    return r;
}

static int take_event(struct watchproj *p, const Pst__Transaction *tx, uint32_t index)
{
    const Pst__Event *ev = tx->events[index];
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;
    const ProtobufCMessage *was;
    union record now;
    Pst__Alloc light;
    struct look l;
    int r;

    if (!look_at(ev, &l))
        return 0;
    r = recall_shadow(p, &l, &was);
    if (r < 0 || (!was && !l.whole) || (!was && !l.set))
        return r; /* a patch of what was never there: not ours to judge */
    merge_record(watch_fields(l.entity), &l, was, &now);
    if (l.entity == PST__WATCH_ENTITY__WATCH_JOB)
        strip_alloc(&now.job, &light);
    c.has_lsn = c.has_index = c.has_time_us = c.has_kind = true;
    c.lsn = p->lsn;
    c.index = index;
    c.time_us = tx->time_us;
    c.kind = ev->kind;
    c.has_by_uid = tx->has_uid;
    c.by_uid = tx->uid;
    if (p->fn)
        r = tell_change(p, &l, was, l.whole && !l.set ? NULL : &now, &c);
    if (r < 0)
        return r;
    if (l.whole && !l.set) {
        drop_shadow(p, &l);
        return 0;
    }
    return keep_shadow(p, &l, &now);
}

static int take_record(struct watchproj *p, uint64_t lsn, const uint8_t *data, size_t len)
{
    const Pst__Transaction *tx;
    int r = 0;

    pb_arena_reset(p->arena);
    tx = pst__transaction__unpack(pb_arena_allocator(p->arena), len, data);
    p->lsn = lsn;
    if (!tx)
        return err_set(p->err, -EUCLEAN, "journal: record %llu cannot be decoded",
                       (unsigned long long)lsn);
    for (uint32_t i = 0; r >= 0 && i < tx->n_events; i++)
        r = take_event(p, tx, i);
    return r;
}

/* ---- the place to begin ---------------------------------------------------------------------- */

static int on_snapshot_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data,
                              size_t len)
{
    (void)snapshot;
    return take_record(ctx, lsn, data, len);
}

/* The state as of the newest snapshot at or before lsn; nothing when the log goes back to its
 * beginning. */
static int load_base(struct watchproj *p, const char *dir, uint64_t lsn, uint64_t *ret_base,
                     struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    _cleanup_close_ int fd = -1;
    struct walk_opts opts = { 0 };
    char reason[WALK_REASON_BYTES] = "";
    uint64_t puts, base = 0;
    int r = journal_dir_open(dir, false, &fd, err);

    if (r == 0)
        r = file_list_read(fd, &l);
    if (r < 0)
        return r;
    for (size_t i = 0; i < l.snapshots.n && l.snapshots.lsn[i] <= lsn; i++)
        base = l.snapshots.lsn[i];
    if (!base && (!l.segments.n || l.segments.lsn[0] > 1))
        return err_set(err, -ENOENT, "the log no longer reaches back to record %llu",
                       (unsigned long long)lsn);
    if (base) {
        r = walk_snapshot(fd, base, &opts, on_snapshot_record, p, &puts, reason);
        if (r < 0)
            return err_set(err, r, "the snapshot of record %llu: %s", (unsigned long long)base,
                           reason);
    }
    *ret_base = base;
    return 0;
}

struct watchproj *watchproj_free(struct watchproj *p)
{
    void *v;

    if (!p)
        return NULL;
    for (size_t k = 0; k < ARRAY_SIZE(p->shadow); k++) {
        size_t pos = 0;

        while ((v = idmap_next(&p->shadow[k], &pos)))
            packed_free(v);
        idmap_done(&p->shadow[k]);
    }
    for (size_t pos = 0; (v = namemap_next(&p->part_shadow, &pos));)
        packed_free(v);
    namemap_done(&p->part_shadow);
    journal_reader_close(p->reader);
    pb_arena_free(p->arena);
    pb_arena_free(p->was_arena);
    free(p);
    return NULL;
}

DEFINE_CLEANUP(struct watchproj *, watchproj_free)

int watchproj_open(const char *journal_dir, uint64_t lsn, struct watchproj **ret, struct err *err)
{
    _cleanup_(watchproj_free) struct watchproj *p = calloc(1, sizeof(*p));
    uint64_t base;
    int r;

    if (!p || pb_arena_new(&p->arena) < 0 || pb_arena_new(&p->was_arena) < 0)
        return -ENOMEM;
    p->err = err;
    r = load_base(p, journal_dir, lsn, &base, err);
    if (r == 0)
        r = journal_reader_open(journal_dir, base + 1, &p->reader, err);
    p->lsn = base;
    while (r >= 0 && p->lsn < lsn) {
        r = watchproj_next(p, lsn, NULL, NULL, err);
        if (r == 0)
            break; /* a place that is not written yet */
    }
    if (r < 0)
        return r;
    *ret = TAKE_PTR(p);
    return 0;
}

int watchproj_next(struct watchproj *p, uint64_t limit_lsn, watchproj_fn *fn, void *ctx,
                   struct err *err)
{
    const uint8_t *data;
    uint64_t lsn;
    size_t len;
    int r = journal_reader_next(p->reader, limit_lsn, &lsn, &data, &len, err);

    if (r <= 0)
        return r;
    p->fn = fn;
    p->ctx = ctx;
    p->err = err;
    r = take_record(p, lsn, data, len);
    return r < 0 ? r : 1;
}

uint64_t watchproj_lsn(const struct watchproj *p)
{
    return p->lsn;
}
