/* view.c - immutable views; see view.h.
 *
 * The core owns `build` (the tables it is editing) and shares its chunks with published views; a
 * chunk with more than one holder is copied before it is changed.  Marked records form one list;
 * `slots` has each record's slot number by its key (0 = none yet, slot + 1 otherwise), with
 * SLOT_DIRTY set while the record is marked. */
#include "ctld/front/view.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/gresuse.h"
#include "model/job.h"
#include "model/kept.h"
#include "model/secrets.h"
#include "model/tx.h"
#include "ctld/job/hetgroup.h"
#include "ctld/core/service.h"

#define SLOT_DIRTY (UINT64_C(1) << 63)
_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "slot numbers are kept as pointers");
#define BACKLOG 2048u /* marks that may wait for a query: some milliseconds of encoding */

struct dirty {
    enum view_kind kind;
    uint64_t key;    /* in slots[kind] */
    uint32_t job_id; /* jobs, steps; of the rest: kept_kind */
    uint32_t sub_id; /* steps: step id; nodes: node id; the rest: id */
    char *name;      /* partitions */
};

struct build {
    struct view_table table;
    size_t cap;
    uint64_t next; /* first slot never used */
    /* chunks before it are gone for good (jobs): table[0] is chunk number `base` */
    uint64_t base;
    uint64_t *free_slots; /* steps, nodes, partitions: reuse */
    size_t nfree, free_cap;
};

struct views {
    struct build build[VIEW_KINDS];
    struct idmap shown_flags;       /* node id + 1 -> flags shown beside those of its state */
    struct idmap slots[VIEW_KINDS]; /* key of a record -> its slot number, as a pointer */
    struct dirty *dirty;            /* [first_dirty, ndirty) wait, in order of marking */
    size_t first_dirty, ndirty, dirty_cap;
    _Atomic uint64_t changes; /* marks so far */
    _Atomic uint64_t shown;   /* value of `changes` at the last publish */
    _Atomic uint64_t published;
    _Atomic int64_t planned_us;
    bool changed[VIEW_KINDS]; /* since the last publish; core thread */
    struct pb_codec *codec;   /* core thread */
    pthread_mutex_t lock;     /* of current */
    struct view *current;
};

static void vrec_unref(struct vrec *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    blob_drop(r->script);
    blob_drop(r->env);
    free(r);
}

static void chunk_unref(struct view_chunk *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < VIEW_CHUNK; i++)
        vrec_unref(c->slots[i]);
    free(c);
}

uint64_t views_shown_lsn(struct views *v)
{
    struct view *view = views_get(v);
    uint64_t lsn = view ? view->lsn : 0;

    (void)view_unref(view); /* always NULL */
    return lsn;
}

struct view *view_unref(struct view *view)
{
    if (!view || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t k = 0; k < VIEW_KINDS; k++) {
        for (size_t i = 0; i < view->tables[k].nchunks; i++)
            chunk_unref(view->tables[k].chunks[i]);
        free(view->tables[k].chunks);
    }
    free(view->cluster);
    free(view);
    return NULL;
}

int views_new(struct views **ret)
{
    struct views *v = calloc(1, sizeof(*v));

    if (!v)
        return -ENOMEM;
    if (secrets_codec(&v->codec) < 0) {
        free(v);
        return -ENOMEM;
    }
    pthread_mutex_init(&v->lock, NULL);
    *ret = v;
    return 0;
}

struct views *views_free(struct views *v)
{
    if (!v)
        return NULL;
    view_unref(v->current);
    for (size_t k = 0; k < VIEW_KINDS; k++) {
        struct build *b = &v->build[k];

        for (size_t i = 0; i < b->table.nchunks; i++)
            chunk_unref(b->table.chunks[i]);
        free(b->table.chunks);
        free(b->free_slots);
        idmap_done(&v->slots[k]);
    }
    for (size_t i = v->first_dirty; i < v->ndirty; i++)
        free(v->dirty[i].name);
    free(v->dirty);
    idmap_done(&v->shown_flags);
    (void)pb_codec_free(v->codec); /* always NULL */
    pthread_mutex_destroy(&v->lock);
    free(v);
    return NULL;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The chunk of a slot, ours alone from now on. */
static struct view_chunk *chunk_own(struct build *b, uint64_t slot)
{
    size_t i = (size_t)(slot / VIEW_CHUNK - b->base);
    struct view_chunk *old, *own;

    while (i >= b->table.nchunks) {
        if (b->table.nchunks == b->cap) {
            b->cap = b->cap ? b->cap * 2 : 16;
            b->table.chunks = must(realloc(b->table.chunks, b->cap * sizeof(*b->table.chunks)));
        }
        b->table.chunks[b->table.nchunks++] = NULL;
    }
    old = b->table.chunks[i];
    if (old && atomic_load_explicit(&old->refs, memory_order_acquire) == 1)
        return old;
    own = must(calloc(1, sizeof(*own)));
    atomic_init(&own->refs, 1);
    own->low_id = UINT32_MAX;
    if (old) {
        own->used = old->used;
        own->low_id = old->low_id;
        own->high_id = old->high_id;
        memcpy(own->slots, old->slots, sizeof(own->slots));
        for (size_t s = 0; s < VIEW_CHUNK; s++)
            if (own->slots[s])
                atomic_fetch_add_explicit(&own->slots[s]->refs, 1, memory_order_relaxed);
        chunk_unref(old);
    }
    b->table.chunks[i] = own;
    return own;
}

/* The range of ids only grows: jobs get their slots in order of id, so that it stays narrow. */
static void widen_range(struct view_chunk *c, const struct vrec *r)
{
    uint32_t group = r->array_id ? r->array_id : r->id;

    c->low_id = MIN(c->low_id, MIN(r->id, group));
    c->high_id = MAX(c->high_id, MAX(r->id, group));
}

static void slot_set(struct build *b, uint64_t slot, struct vrec *rec)
{
    struct view_chunk *c = chunk_own(b, slot);
    struct vrec **at = &c->slots[slot % VIEW_CHUNK];

    if (*at)
        c->used--;
    vrec_unref(*at);
    *at = rec;
    if (rec) {
        c->used++;
        widen_range(c, rec);
    }
    if (!c->used) {
        chunk_unref(c);
        b->table.chunks[slot / VIEW_CHUNK - b->base] = NULL;
    }
}

/* Jobs always get a new slot, so that a walk meets them in order of id; the rest reuse. */
static uint64_t slot_new(struct build *b, bool reuse)
{
    if (reuse && b->nfree)
        return b->free_slots[--b->nfree];
    return b->next++;
}

static void slot_release(struct build *b, uint64_t slot, bool reuse)
{
    slot_set(b, slot, NULL);
    if (!reuse)
        return;
    if (b->nfree == b->free_cap) {
        b->free_cap = b->free_cap ? b->free_cap * 2 : 16;
        b->free_slots = must(realloc(b->free_slots, b->free_cap * sizeof(*b->free_slots)));
    }
    b->free_slots[b->nfree++] = slot;
}

/* ---- marking --------------------------------------------------------------------------------- */

static uint64_t step_key(const Pst__StepRecord *r)
{
    return (uint64_t)r->job_id << 32 | r->step_id;
}

static uint64_t node_key(uint32_t node_id)
{
    return (uint64_t)node_id + 1;
}

static uint64_t kept_key(const struct kept *k)
{
    return (uint64_t)(k->kind + 1) << 32 | k->id;
}

/* Set SLOT_DIRTY.  False: it was set before. */
static bool set_dirty(struct views *v, enum view_kind kind, uint64_t key)
{
    void **at = idmap_place(&v->slots[kind], key);
    uint64_t slot = at ? (uintptr_t)*at : 0;

    if (slot & SLOT_DIRTY)
        return false;
    if (at)
        *at = (void *)(uintptr_t)(slot | SLOT_DIRTY);
    else if (idmap_put(&v->slots[kind], key, (void *)(uintptr_t)SLOT_DIRTY) < 0)
        must(NULL);
    return true;
}

static void mark_record(struct views *v, struct dirty d)
{
    atomic_fetch_add_explicit(&v->changes, 1, memory_order_release);
    v->changed[d.kind] = true;
    if (!set_dirty(v, d.kind, d.key)) {
        free(d.name);
        return;
    }
    if (v->ndirty == v->dirty_cap && v->first_dirty > v->dirty_cap / 2) {
        memmove(v->dirty, v->dirty + v->first_dirty,
                (v->ndirty - v->first_dirty) * sizeof(*v->dirty));
        v->ndirty -= v->first_dirty;
        v->first_dirty = 0;
    }
    if (v->ndirty == v->dirty_cap) {
        v->dirty_cap = v->dirty_cap ? v->dirty_cap * 2 : 64;
        v->dirty = must(realloc(v->dirty, v->dirty_cap * sizeof(*v->dirty)));
    }
    v->dirty[v->ndirty++] = d;
}

void views_mark_job(struct views *v, struct job *j)
{
    mark_record(
        v, (struct dirty){ .kind = VIEW_JOBS, .key = j->rec->job_id, .job_id = j->rec->job_id });
}

void views_mark_step(struct views *v, struct job *j, struct step *s)
{
    (void)j;
    mark_record(v, (struct dirty){ .kind = VIEW_STEPS,
                                   .key = step_key(s->rec),
                                   .job_id = s->rec->job_id,
                                   .sub_id = s->rec->step_id });
}

void views_mark_node(struct views *v, struct node *n)
{
    mark_record(v, (struct dirty){ .kind = VIEW_NODES,
                                   .key = node_key(n->rec->node_id),
                                   .sub_id = n->rec->node_id });
}

uint32_t views_shown_flags(const struct views *v, const struct node *n)
{
    return (uint32_t)(uintptr_t)idmap_get(&v->shown_flags, node_key(n->rec->node_id));
}

void views_show_flags(struct views *v, struct node *n, uint32_t which, uint32_t flags)
{
    uint64_t key = node_key(n->rec->node_id);

    flags |= views_shown_flags(v, n) & ~which;
    if (!flags)
        (void)idmap_remove(&v->shown_flags, key); /* most have none */
    else if (idmap_put(&v->shown_flags, key, (void *)(uintptr_t)flags) < 0)
        must(NULL);
    views_mark_node(v, n);
}

void views_mark_part(struct views *v, struct partition *p)
{
    mark_record(v, (struct dirty){ .kind = VIEW_PARTS,
                                   .key = view_name_hash(p->rec->name),
                                   .name = must(strdup(p->rec->name)) });
}

void views_mark_kept(struct views *v, struct kept *k)
{
    mark_record(v, (struct dirty){
                       .kind = VIEW_KEPT, .key = kept_key(k), .job_id = k->kind, .sub_id = k->id });
}

static void drop_record(struct views *v, enum view_kind kind, uint64_t key)
{
    uint64_t slot = (uintptr_t)idmap_remove(&v->slots[kind], key);

    atomic_fetch_add_explicit(&v->changes, 1, memory_order_release);
    v->changed[kind] = true;
    if (slot & ~SLOT_DIRTY)
        slot_release(&v->build[kind], (slot & ~SLOT_DIRTY) - 1, kind != VIEW_JOBS);
}

void views_drop_job(struct views *v, struct job *j)
{
    for (struct step *s = j->steps; s; s = s->next)
        drop_record(v, VIEW_STEPS, step_key(s->rec));
    drop_record(v, VIEW_JOBS, j->rec->job_id);
}

void views_drop_node(struct views *v, struct node *n)
{
    drop_record(v, VIEW_NODES, node_key(n->rec->node_id));
    (void)idmap_remove(&v->shown_flags, node_key(n->rec->node_id)); /* most have none */
}

void views_drop_part(struct views *v, struct partition *p)
{
    drop_record(v, VIEW_PARTS, view_name_hash(p->rec->name));
}

void views_drop_kept(struct views *v, struct kept *k)
{
    drop_record(v, VIEW_KEPT, kept_key(k));
}

static void forget_kind(struct views *v, enum view_kind kind)
{
    void *at;

    for (size_t pos = 0; (at = idmap_next(&v->slots[kind], &pos));) {
        uint64_t slot = (uintptr_t)at & ~SLOT_DIRTY;

        if (slot)
            slot_release(&v->build[kind], slot - 1, kind != VIEW_JOBS);
    }
    idmap_done(&v->slots[kind]);
    v->slots[kind] = (struct idmap){ 0 };
    v->changed[kind] = true;
}

void views_forget(struct views *v)
{
    atomic_fetch_add_explicit(&v->changes, 1, memory_order_release);
    for (enum view_kind kind = 0; kind < VIEW_KINDS; kind++)
        forget_kind(v, kind);
    for (size_t i = v->first_dirty; i < v->ndirty; i++)
        free(v->dirty[i].name);
    v->first_dirty = v->ndirty = 0;
    idmap_done(&v->shown_flags);
    v->shown_flags = (struct idmap){ 0 };
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* A copy of text at *to, which moves behind it; NULL of NULL. */
static const char *put_text(uint8_t **to, const char *text)
{
    const uint8_t *at = *to;

    if (!text)
        return NULL;
    *to = (uint8_t *)mempcpy(*to, text, strlen(text) + 1);
    return (const char *)at;
}

/* A new record of msg, with `more` bytes behind its data. */
static struct vrec *encode_with(struct views *v, const ProtobufCMessage *msg, size_t more)
{
    size_t len, shown;
    const uint8_t *packed = pb_codec_pack(v->codec, msg, &len, &shown);
    struct vrec *r = must(packed ? malloc(sizeof(*r) + len + more) : NULL);

    *r = (struct vrec){ .len = (uint32_t)len, .shown_len = (uint32_t)shown };
    atomic_init(&r->refs, 1);
    memcpy(r->data, packed, len);
    return r;
}

static struct vrec *encode_record(struct views *v, const ProtobufCMessage *msg)
{
    return encode_with(v, msg, 0);
}

/* A record of j or of a step of it, with what PrivateData goes by. */
static struct vrec *encode_of(struct views *v, const ProtobufCMessage *msg, const Pst__JobRecord *j)
{
    size_t more =
        (j->account ? strlen(j->account) + 1 : 0) + (j->mcs_label ? strlen(j->mcs_label) + 1 : 0);
    struct vrec *r = encode_with(v, msg, more);
    uint8_t *behind = r->data + r->len;

    r->uid = j->uid;
    r->account = put_text(&behind, j->account);
    r->label = put_text(&behind, j->mcs_label);
    return r;
}

uint64_t view_name_hash(const char *name)
{
    return XXH3_64bits(name, strlen(name)) | 1;
}

static struct vrec *encode_job(struct views *v, const struct cluster *c, const struct job *j)
{
    struct vrec *r = encode_of(v, &j->rec->base, j->rec);

    r->id = j->rec->job_id;
    r->array_id = het_group_id(j->rec);
    r->state = job_state(j->rec);
    r->flags = j->rec->state_flags;
    r->script = blob_hold(cluster_script(c, j->rec));
    r->env = blob_hold(cluster_env(c, j->rec));
    return r;
}

/* A node whose CPUs are all taken has no room that a plan could keep. */
static uint32_t visible_flags(const struct views *v, const struct node *n)
{
    uint32_t flags = views_shown_flags(v, n);

    if (n->rec->alloc_cpus >= n->rec->cpus)
        flags &= ~(1u << PST__NODE_FLAG__NODE_FLAG_PLANNED);
    return flags;
}

static struct vrec *encode_node(struct views *v, const struct node *n)
{
    _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT;
    uint32_t flags = n->rec->state_flags;
    struct vrec *r;

    /* Where jobs share CPUs their parts add up to more; CPUs are shared once none is free. */
    SET(n->rec, alloc_cpus, MIN(n->alloc_cpus, n->rec->cpus));
    SET(n->rec, alloc_mem_mib, n->alloc_mem_mib);
    SET(n->rec, jobs_running, n->jobs - n->jobs_completing);
    SET(n->rec, jobs_completing, n->jobs_completing);
    n->rec->mcs_label = n->mcs_label; /* the node's own */
    n->rec->has_owner_uid = n->owner_jobs > 0;
    n->rec->owner_uid = n->owner_uid;
    gresuse_text(n->gres_used, n->rec, &gres);
    n->rec->alloc_gres = gres.len ? (char *)strbuf_str(&gres) : NULL;
    /* shown, not part of the state */
    n->rec->state_flags |= visible_flags(v, n);
    r = encode_record(v, &n->rec->base);
    n->rec->mcs_label = NULL;
    n->rec->alloc_gres = NULL;
    r->id = n->rec->node_id;
    r->name_hash = view_name_hash(n->rec->name);
    r->state = n->rec->state;
    r->flags = n->rec->state_flags;
    n->rec->state_flags = flags;
    return r;
}

static struct vrec *encode_part(struct views *v, const struct cluster *c, const struct partition *p)
{
    uint32_t cpus = 0;
    struct vrec *r;

    BITMAP_FOREACH (p->nodes, i) {
        const struct node *n = cluster_node(c, i);

        cpus += n ? n->rec->cpus : 0;
    }
    SET(p->rec, total_nodes, bitmap_count(p->nodes));
    SET(p->rec, total_cpus, cpus);
    r = encode_record(v, &p->rec->base);
    r->name_hash = view_name_hash(p->rec->name);
    return r;
}

/* Where the slot number of a record is that was marked and not encoded since; else NULL. */
static void **find_dirty(const struct views *v, const struct dirty *d)
{
    void **at = idmap_place(&v->slots[d->kind], d->key);

    return at && ((uintptr_t)*at & SLOT_DIRTY) ? at : NULL;
}

/* Takes rec, whose slot number is at `at`. */
static void store_record(struct views *v, const struct dirty *d, void **at, struct vrec *rec)
{
    struct build *b = &v->build[d->kind];
    uint64_t slot = (uintptr_t)*at & ~SLOT_DIRTY;

    if (!slot)
        slot = slot_new(b, d->kind != VIEW_JOBS) + 1;
    *at = (void *)(uintptr_t)slot;
    slot_set(b, slot - 1, rec);
}

/* A marked object may be gone since: its ids are looked up anew. */
static void encode_dirty(struct views *v, const struct cluster *c, const struct dirty *d)
{
    void **at = find_dirty(v, d);
    struct job *j;
    struct step *s;
    struct node *n;
    struct partition *p;
    struct kept *k;

    if (!at)
        return;
    switch (d->kind) {
    case VIEW_JOBS:
        if ((j = cluster_job(c, d->job_id)))
            store_record(v, d, at, encode_job(v, c, j));
        break;
    case VIEW_STEPS:
        j = cluster_job(c, d->job_id);
        s = j ? cluster_step(j, d->sub_id) : NULL;
        if (s) {
            struct vrec *r = encode_of(v, &s->rec->base, j->rec);

            r->id = s->rec->job_id;
            r->array_id = het_group_id(j->rec);
            r->state = s->rec->state;
            store_record(v, d, at, r);
        }
        break;
    case VIEW_NODES:
        if ((n = cluster_node(c, d->sub_id)))
            store_record(v, d, at, encode_node(v, n));
        break;
    case VIEW_KEPT:
        k = cluster_kept(c, (enum kept_kind)d->job_id, d->sub_id);
        if (k) {
            struct vrec *r = encode_record(v, k->rec);

            r->id = k->id;
            r->state = k->kind;
            store_record(v, d, at, r);
        }
        break;
    default:
        if ((p = cluster_partition(c, d->name)))
            store_record(v, d, at, encode_part(v, c, p));
        break;
    }
}

/* Slots of jobs are never used again, so empty chunks at the front are cut off now and then. */
static void forget_chunks(struct build *b)
{
    struct view_table *t = &b->table;
    size_t gone = 0;

    while (gone < t->nchunks && !t->chunks[gone] && b->next / VIEW_CHUNK > b->base + gone)
        gone++;
    if (gone < 64 || gone < t->nchunks / 2)
        return;
    t->nchunks -= gone;
    memmove(t->chunks, t->chunks + gone, t->nchunks * sizeof(*t->chunks));
    b->base += gone;
}

/* Later than every version of the view before, also when the clock was set back. */
static void set_versions(struct views *v, struct view *view)
{
    uint64_t now = (uint64_t)view->made_us;

    for (size_t k = 0; v->current && k < VIEW_KINDS; k++)
        now = MAX(now, v->current->version[k] + 1);
    for (size_t k = 0; k < VIEW_KINDS; k++) {
        view->version[k] = v->changed[k] || !v->current ? now : v->current->version[k];
        v->changed[k] = false;
    }
}

static bool has_hidden(const struct views *v, const struct cluster *c)
{
    if (v->current && !v->changed[VIEW_PARTS])
        return v->current->has_hidden;
    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->hidden || c->parts[i]->rec->allow_groups)
            return true;
    return false;
}

static struct view *view_make(struct views *v, const struct cluster *c, uint64_t lsn)
{
    struct view *view = must(calloc(1, sizeof(*view)));

    atomic_init(&view->refs, 1);
    view->lsn = lsn;
    view->made_us = now_us();
    view->has_hidden = has_hidden(v, c);
    set_versions(v, view);
    for (size_t k = 0; k < VIEW_KINDS; k++) {
        struct build *b = &v->build[k];
        struct view_table *from = &b->table, *to = &view->tables[k];

        if (k == VIEW_JOBS)
            forget_chunks(b);
        to->chunks = must(malloc((from->nchunks + 1) * sizeof(*to->chunks)));
        for (size_t i = 0; i < from->nchunks; i++) {
            if (!from->chunks[i])
                continue;
            to->chunks[to->nchunks++] = from->chunks[i];
            atomic_fetch_add_explicit(&from->chunks[i]->refs, 1, memory_order_relaxed);
        }
    }
    view->cluster_len = pst__cluster_record__get_packed_size(c->rec);
    view->cluster = must(malloc(view->cluster_len ? view->cluster_len : 1));
    pst__cluster_record__pack(c->rec, view->cluster);
    return view;
}

/* The first n of what waits: in order of marking, so that jobs get their slots in order of id. */
static void encode_some(struct views *v, const struct cluster *c, size_t n)
{
    for (; n; n--, v->first_dirty++) {
        encode_dirty(v, c, &v->dirty[v->first_dirty]);
        free(v->dirty[v->first_dirty].name);
    }
    if (v->first_dirty == v->ndirty)
        v->first_dirty = v->ndirty = 0;
}

void views_work_off(struct views *v, const struct cluster *c)
{
    if (v->ndirty - v->first_dirty > BACKLOG)
        encode_some(v, c, BACKLOG);
}

void views_publish(struct views *v, const struct cluster *c, uint64_t lsn)
{
    uint64_t changes = atomic_load_explicit(&v->changes, memory_order_acquire);
    struct view *view, *old;

    if (v->current && changes == atomic_load_explicit(&v->shown, memory_order_relaxed))
        return;
    encode_some(v, c, v->ndirty - v->first_dirty);
    view = view_make(v, c, lsn);
    pthread_mutex_lock(&v->lock);
    old = v->current;
    v->current = view;
    pthread_mutex_unlock(&v->lock);
    atomic_store_explicit(&v->shown, changes, memory_order_release);
    atomic_fetch_add_explicit(&v->published, 1, memory_order_relaxed);
    view_unref(old);
}

uint64_t views_published(const struct views *v)
{
    return atomic_load_explicit(&v->published, memory_order_relaxed);
}

void views_note_plan(struct views *v, int64_t now_us)
{
    atomic_store_explicit(&v->planned_us, now_us, memory_order_relaxed);
}

int64_t views_planned_us(const struct views *v)
{
    return atomic_load_explicit(&v->planned_us, memory_order_relaxed);
}

struct view *views_get(struct views *v)
{
    struct view *view;

    pthread_mutex_lock(&v->lock);
    view = v->current;
    if (view)
        atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&v->lock);
    return view;
}

struct view *views_get_fresh(struct views *v)
{
    if (atomic_load_explicit(&v->changes, memory_order_acquire) !=
        atomic_load_explicit(&v->shown, memory_order_acquire))
        return NULL;
    return views_get(v);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_views(struct ctld *ctld, struct err *err)
{
    (void)err;
    return views_new(&ctld->views);
}

static void free_views(struct ctld *ctld)
{
    ctld->views = views_free(ctld->views);
}

static void work_off(struct ctld *ctld)
{
    views_work_off(ctld->views, ctld->cluster);
}

static void mark_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    (void)kind;
    views_mark_job(ctld->views, j);
}

static void drop_job(struct ctld *ctld, struct job *j)
{
    views_drop_job(ctld->views, j);
}

static void mark_step(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind)
{
    (void)kind;
    views_mark_step(ctld->views, j, s);
}

static void mark_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    (void)kind;
    views_mark_node(ctld->views, n);
}

static void mark_unlinked(struct ctld *ctld, struct node *n)
{
    views_mark_node(ctld->views, n);
}

static void drop_node(struct ctld *ctld, struct node *n)
{
    views_drop_node(ctld->views, n);
}

static void mark_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind)
{
    (void)kind;
    views_mark_part(ctld->views, p);
}

static void drop_part(struct ctld *ctld, struct partition *p)
{
    views_drop_part(ctld->views, p);
}

static void mark_kept(struct ctld *ctld, struct kept *k)
{
    views_mark_kept(ctld->views, k);
}

static void drop_kept(struct ctld *ctld, struct kept *k)
{
    views_drop_kept(ctld->views, k);
}

const struct ctld_service views_service = {
    .name = "views",
    .start = start_views,
    .free = free_views,
    .batch_end = work_off,
    .on_job = mark_job,
    .on_job_gone = drop_job,
    .on_step = mark_step,
    .on_node = mark_node,
    .on_node_gone = drop_node,
    .on_node_unlinked = mark_unlinked,
    .on_part = mark_part,
    .on_part_gone = drop_part,
    .on_kept = mark_kept,
    .on_kept_gone = drop_kept,
};
