/* assoc.c - tables of accounts, users, associations and QOS; see assoc.h
 *
 * Every record is kept as the change that puts it.  Kinds with ids are found by id, whatever
 * their name, and by name while they are not deleted; accounts, users and clusters are their
 * names.  The tree is linked anew, all of it, by the first question after a change: changes come
 * in bundles and seldom, questions come with every job. */
#include "model/account/assoc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "model/account/assoc_priv.h"

#define SEP '\x1f' /* between the parts of a key; in no name */

static const struct {
    const char *name;
    uint32_t id;
} fixed_tres[] = { { "cpu", AM_TRES_CPU },         { "mem", AM_TRES_MEM },
                   { "energy", AM_TRES_ENERGY },   { "node", AM_TRES_NODE },
                   { "billing", AM_TRES_BILLING }, { "fs/disk", AM_TRES_FS_DISK },
                   { "vmem", AM_TRES_VMEM },       { "pages", AM_TRES_PAGES } };

void am_oom(const void *p)
{
    if (!p)
        abort(); /* rights must not be known by half */
}

int am_new(struct assoc_mgr **ret_am)
{
    struct assoc_mgr *am = calloc(1, sizeof(*am));

    if (!am)
        return -ENOMEM;
    am->generation = 1;
    *ret_am = am;
    return 0;
}

void am_free_limits(struct am_rec *r)
{
#define X(f) free(r->limits.f);
    INHERITED_LISTS(X)
    OWN_LISTS(X)
#undef X
    pst__limits__init(&r->limits);
}

static void forget_effective(struct am_rec *r)
{
    if (r->limits_gen)
        am_free_limits(r);
    free(r->qos);
    free(r->lineage);
    r->qos = NULL;
    r->lineage = NULL;
    r->limits_gen = r->qos_gen = r->lineage_gen = 0;
}

static struct am_rec *rec_free(struct am_rec *r)
{
    if (!r)
        return NULL;
    forget_effective(r);
    if (r->change)
        pst__acct_change__free_unpacked(r->change, NULL);
    free(r->key);
    free(r->owner_key);
    free(r);
    return NULL;
}

static void tables_done(struct assoc_mgr *am)
{
    void *v;

    for (size_t pos = 0; (v = idmap_next(&am->by_serial, &pos));)
        rec_free(v);
    idmap_done(&am->by_serial);
    for (size_t k = 0; k < AM_KINDS; k++) {
        idmap_done(&am->by_id[k]);
        namemap_done(&am->by_key[k]);
        am->count[k] = 0;
    }
    namemap_done(&am->users);
    namemap_done(&am->roots);
    namemap_done(&am->default_wckeys);
}

struct assoc_mgr *am_free(struct assoc_mgr *am)
{
    if (am)
        tables_done(am);
    free(am);
    return NULL;
}

void am_observe(struct assoc_mgr *am, const struct am_observer *observer)
{
    am->observer = observer;
}

uint64_t am_generation(const struct assoc_mgr *am)
{
    return am->generation;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Parts joined; those whose bit is set in `fold` without letter case. */
static char *key_of(unsigned fold, size_t n, const char *const *parts)
{
    struct strbuf sb = STRBUF_INIT;
    char *key = NULL;

    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(&sb, SEP);
        for (const char *p = parts[i] ? parts[i] : ""; *p; p++)
            strbuf_addc(&sb, fold & 1u << i ? (char)tolower((unsigned char)*p) : *p);
    }
    if (strbuf_detach(&sb, &key) < 0)
        return NULL;
    return key;
}

static char *assoc_key(const char *cluster, const char *account, const char *user,
                       const char *partition)
{
    const char *parts[] = { cluster, account, user, partition };

    return key_of(2, 4, parts);
}

static char *wckey_key(const char *cluster, const char *user, const char *name)
{
    const char *parts[] = { cluster, user, name };

    return key_of(0, 3, parts);
}

char *am_owner_key(const char *cluster, const char *user)
{
    const char *parts[] = { cluster, user };

    return key_of(0, 2, parts);
}

static char *name_key(enum am_kind kind, const char *name)
{
    return key_of(kind == AM_USER ? 0 : 1, 1, &name);
}

static char *tres_key(const Pst__TresRecord *r)
{
    struct strbuf sb = STRBUF_INIT;
    char *key = NULL;

    strbuf_addf(&sb, "%s%s%s", r->type, r->name && *r->name ? "/" : "", r->name ? r->name : "");
    return strbuf_detach(&sb, &key) < 0 ? NULL : key;
}

static struct am_rec *by_key(const struct assoc_mgr *am, enum am_kind kind, char *key)
{
    struct am_rec *r;

    am_oom(key);
    r = namemap_get(&am->by_key[kind], key);
    free(key);
    return r;
}

static struct am_rec *by_id(const struct assoc_mgr *am, enum am_kind kind, uint32_t id)
{
    return idmap_get(&am->by_id[kind], id);
}

/* ---- what a change is about ------------------------------------------------------------------ */

struct subject {
    enum am_kind kind;
    bool put, clear;
    uint32_t id;
    const char *name; /* of kinds without ids */
    bool deleted;
};

static bool is_word(const char *text)
{
    return text && *text && !strchr(text, SEP);
}

/* False: it names nothing. */
static bool subject_of(const Pst__AcctChange *ch, struct subject *s)
{
#define ID(k, message, field)                                                                      \
    (*s = (struct subject){ .kind = (k),                                                           \
                            .put = true,                                                           \
                            .id = (message)->has_##field ? (message)->field : 0 },                 \
     s->id != 0)
#define NAME(k, message)                                                                           \
    (*s = (struct subject){ .kind = (k), .put = true, .name = (message)->name }, is_word(s->name))
#define GONE(k, field) (*s = (struct subject){ .kind = (k), .id = ch->field }, s->id != 0)
#define LOST(k, field) (*s = (struct subject){ .kind = (k), .name = ch->field }, is_word(s->name))
    bool ok = false;

    switch (ch->body_case) {
    case PST__ACCT_CHANGE__BODY_TRES:
        return ID(AM_TRES, ch->tres, tres_id) && is_word(ch->tres->type);
    case PST__ACCT_CHANGE__BODY_QOS:
        ok = ID(AM_QOS, ch->qos, qos_id) && is_word(ch->qos->name);
        s->deleted = ch->qos->has_deleted && ch->qos->deleted;
        return ok;
    case PST__ACCT_CHANGE__BODY_ACCOUNT:
        return NAME(AM_ACCOUNT, ch->account);
    case PST__ACCT_CHANGE__BODY_USER:
        return NAME(AM_USER, ch->user);
    case PST__ACCT_CHANGE__BODY_ASSOC:
        ok = ID(AM_ASSOC, ch->assoc, assoc_id) && is_word(ch->assoc->account);
        s->deleted = ch->assoc->has_deleted && ch->assoc->deleted;
        return ok;
    case PST__ACCT_CHANGE__BODY_WCKEY:
        ok = ID(AM_WCKEY, ch->wckey, wckey_id) && ch->wckey->name;
        s->deleted = ch->wckey->has_deleted && ch->wckey->deleted;
        return ok;
    case PST__ACCT_CHANGE__BODY_RESOURCE:
        return ID(AM_RESOURCE, ch->resource, resource_id);
    case PST__ACCT_CHANGE__BODY_CLUSTER:
        return NAME(AM_CLUSTER, ch->cluster);
    case PST__ACCT_CHANGE__BODY_QOS_REMOVE:
        return GONE(AM_QOS, qos_remove);
    case PST__ACCT_CHANGE__BODY_ASSOC_REMOVE:
        return GONE(AM_ASSOC, assoc_remove);
    case PST__ACCT_CHANGE__BODY_WCKEY_REMOVE:
        return GONE(AM_WCKEY, wckey_remove);
    case PST__ACCT_CHANGE__BODY_RESOURCE_REMOVE:
        return GONE(AM_RESOURCE, resource_remove);
    case PST__ACCT_CHANGE__BODY_ACCOUNT_REMOVE:
        return LOST(AM_ACCOUNT, account_remove);
    case PST__ACCT_CHANGE__BODY_USER_REMOVE:
        return LOST(AM_USER, user_remove);
    case PST__ACCT_CHANGE__BODY_CLUSTER_REMOVE:
        return LOST(AM_CLUSTER, cluster_remove);
    case PST__ACCT_CHANGE__BODY_FEDERATION:
        return NAME(AM_FEDERATION, ch->federation);
    case PST__ACCT_CHANGE__BODY_FEDERATION_REMOVE:
        return LOST(AM_FEDERATION, federation_remove);
    case PST__ACCT_CHANGE__BODY_CLEAR:
        *s = (struct subject){ .clear = true };
        return true;
    default:
        return false;
    }
#undef ID
#undef NAME
#undef GONE
#undef LOST
}

static struct am_rec *find_subject(const struct assoc_mgr *am, const struct subject *s)
{
    return s->id ? by_id(am, s->kind, s->id) : by_key(am, s->kind, name_key(s->kind, s->name));
}

/* The name it is found by; NULL with *ret_ok when there is none. */
static char *subject_key(const Pst__AcctChange *ch, const struct subject *s, bool *ret_ok)
{
    char *key = NULL;

    *ret_ok = true;
    if (s->kind == AM_RESOURCE || s->deleted)
        return NULL;
    switch (s->kind) {
    case AM_TRES:
        key = tres_key(ch->tres);
        break;
    case AM_QOS:
        key = name_key(AM_QOS, ch->qos->name);
        break;
    case AM_ASSOC:
        key = assoc_key(ch->assoc->cluster, ch->assoc->account, ch->assoc->user,
                        ch->assoc->partition);
        break;
    case AM_WCKEY:
        key = wckey_key(ch->wckey->cluster, ch->wckey->user, ch->wckey->name);
        break;
    default:
        key = name_key(s->kind, s->name);
        break;
    }
    *ret_ok = key != NULL;
    return key;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void remove_keys(struct assoc_mgr *am, struct am_rec *r)
{
    if (r->key && namemap_get(&am->by_key[r->kind], r->key) == r)
        (void)namemap_remove(&am->by_key[r->kind], r->key);
}

/* The tree was current before this change (tree section below): make it so again when that is
 * cheap. */
static void relink_record(struct assoc_mgr *am, struct am_rec *r, const Pst__AcctChange *old);
static bool unlink_leaf(struct assoc_mgr *am, struct assoc *a);

static void note_change(struct assoc_mgr *am, const struct am_rec *r)
{
    am->generation++;
    if (am->observer && am->observer->put)
        am->observer->put(am->observer->ctx, r->serial, r->change);
}

static void drop_record(struct assoc_mgr *am, struct am_rec *r)
{
    bool current = am->linked == am->generation;

    am->generation++;
    if (current && (r->kind == AM_ASSOC ? unlink_leaf(am, &r->a) : r->kind != AM_WCKEY))
        am->linked = am->generation;
    if (am->observer && am->observer->gone)
        am->observer->gone(am->observer->ctx, r->serial, r->change);
    remove_keys(am, r);
    if (r->id)
        (void)idmap_remove(&am->by_id[r->kind], r->id);
    (void)idmap_remove(&am->by_serial, r->serial);
    am->count[r->kind]--;
    rec_free(r);
}

/* An empty record in the tables, or NULL. */
static struct am_rec *enter_record(struct assoc_mgr *am, const struct subject *s)
{
    struct am_rec *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->kind = s->kind;
    r->id = s->id;
    r->serial = am->last_serial + 1;
    if (idmap_put(&am->by_serial, r->serial, r) < 0)
        return rec_free(r);
    if (s->id && idmap_put(&am->by_id[s->kind], s->id, r) < 0) {
        (void)idmap_remove(&am->by_serial, r->serial);
        return rec_free(r);
    }
    am->last_serial++;
    am->count[s->kind]++;
    return r;
}

static int put_record(struct assoc_mgr *am, const Pst__AcctChange *ch, const struct subject *s)
{
    struct am_rec *r = find_subject(am, s), *fresh = NULL;
    _cleanup_free_ char *key = NULL;
    ProtobufCMessage *copy = NULL;
    Pst__AcctChange *old;
    char *old_key;
    bool ok;

    key = subject_key(ch, s, &ok);
    if (!ok || pb_dup(&ch->base, &copy) < 0)
        return -ENOMEM;
    ((Pst__AcctChange *)copy)->has_version = false;
    if (!r)
        r = fresh = enter_record(am, s);
    if (!r || (key && namemap_put(&am->by_key[s->kind], key, r) < 0)) {
        protobuf_c_message_free_unpacked(copy, NULL);
        if (fresh) { /* no other record names it */
            (void)idmap_remove(&am->by_serial, fresh->serial);
            if (fresh->id)
                (void)idmap_remove(&am->by_id[fresh->kind], fresh->id);
            am->count[fresh->kind]--;
            rec_free(fresh);
        }
        return -ENOMEM;
    }
    if (!key || (r->key && strcmp(r->key, key) != 0))
        remove_keys(am, r);
    old_key = r->key;
    r->key = TAKE_PTR(key);
    free(old_key);
    old = r->change;
    r->change = (Pst__AcctChange *)copy;
    if (s->kind == AM_ASSOC) {
        r->a.rec = r->change->assoc;
        r->a.id = s->id;
        r->a.user = r->a.rec->user && *r->a.rec->user;
    }
    if (s->kind == AM_WCKEY) {
        const Pst__WckeyRecord *w = r->change->wckey;

        free(r->owner_key);
        r->owner_key = w->has_is_default && w->is_default && !s->deleted
                           ? am_owner_key(w->cluster, w->user)
                           : NULL;
    }
    note_change(am, r);
    if (am->linked == am->generation - 1)
        relink_record(am, r, old);
    if (old)
        pst__acct_change__free_unpacked(old, NULL);
    return 0;
}

static void clear_tables(struct assoc_mgr *am)
{
    void *v;

    if (am->observer && am->observer->gone)
        for (size_t pos = 0; (v = idmap_next(&am->by_serial, &pos));)
            am->observer->gone(am->observer->ctx, ((struct am_rec *)v)->serial,
                               ((struct am_rec *)v)->change);
    tables_done(am);
    am->generation++;
}

int am_apply(struct assoc_mgr *am, const Pst__AcctChange *ch, struct err *err)
{
    struct subject s;
    struct am_rec *r;

    if (ch->body_case == PST__ACCT_CHANGE__BODY_ASSOC_USAGE_RESET ||
        ch->body_case == PST__ACCT_CHANGE__BODY_QOS_USAGE_RESET)
        return 0; /* usage is no record: see usage.h */
    if (!subject_of(ch, &s))
        return err_set(err, -EUCLEAN, "a change of accounting records that names none (body %d)",
                       (int)ch->body_case);
    if (s.put)
        return put_record(am, ch, &s);
    if (s.clear)
        clear_tables(am);
    else if ((r = find_subject(am, &s)))
        drop_record(am, r);
    return 0;
}

const Pst__AcctChange *am_present(const struct assoc_mgr *am, const Pst__AcctChange *ch)
{
    const struct am_rec *r;
    struct subject s;

    if (!subject_of(ch, &s) || s.clear)
        return NULL;
    r = find_subject(am, &s);
    return r ? r->change : NULL;
}

const Pst__AcctChange *am_next_put(const struct assoc_mgr *am, size_t *pos)
{
    const struct am_rec *r = idmap_next(&am->by_serial, pos);

    return r ? r->change : NULL;
}

void am_removal(const Pst__AcctChange *ch, Pst__AcctChange *ret)
{
    struct subject s;

    pst__acct_change__init(ret);
    if (!subject_of(ch, &s) || !s.put)
        return;
    switch (s.kind) {
    case AM_QOS:
        ret->body_case = PST__ACCT_CHANGE__BODY_QOS_REMOVE;
        ret->qos_remove = s.id;
        break;
    case AM_ASSOC:
        ret->body_case = PST__ACCT_CHANGE__BODY_ASSOC_REMOVE;
        ret->assoc_remove = s.id;
        break;
    case AM_WCKEY:
        ret->body_case = PST__ACCT_CHANGE__BODY_WCKEY_REMOVE;
        ret->wckey_remove = s.id;
        break;
    case AM_RESOURCE:
        ret->body_case = PST__ACCT_CHANGE__BODY_RESOURCE_REMOVE;
        ret->resource_remove = s.id;
        break;
    case AM_ACCOUNT:
        ret->body_case = PST__ACCT_CHANGE__BODY_ACCOUNT_REMOVE;
        ret->account_remove = (char *)s.name;
        break;
    case AM_USER:
        ret->body_case = PST__ACCT_CHANGE__BODY_USER_REMOVE;
        ret->user_remove = (char *)s.name;
        break;
    case AM_CLUSTER:
        ret->body_case = PST__ACCT_CHANGE__BODY_CLUSTER_REMOVE;
        ret->cluster_remove = (char *)s.name;
        break;
    case AM_FEDERATION:
        ret->body_case = PST__ACCT_CHANGE__BODY_FEDERATION_REMOVE;
        ret->federation_remove = (char *)s.name;
        break;
    default:
        break; /* TRES stay */
    }
}

/* ---- records --------------------------------------------------------------------------------- */

const Pst__QosRecord *am_qos(const struct assoc_mgr *am, uint32_t qos_id)
{
    const struct am_rec *r = by_id(am, AM_QOS, qos_id);

    return r ? r->change->qos : NULL;
}

const Pst__QosRecord *am_qos_named(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = name ? by_key(am, AM_QOS, name_key(AM_QOS, name)) : NULL;

    return r ? r->change->qos : NULL;
}

const Pst__AccountRecord *am_account(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = name ? by_key(am, AM_ACCOUNT, name_key(AM_ACCOUNT, name)) : NULL;

    return r && !r->change->account->deleted ? r->change->account : NULL;
}

const Pst__UserRecord *am_user(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = name ? by_key(am, AM_USER, name_key(AM_USER, name)) : NULL;

    return r && !r->change->user->deleted ? r->change->user : NULL;
}

const Pst__WckeyRecord *am_wckey(const struct assoc_mgr *am, uint32_t wckey_id)
{
    const struct am_rec *r = by_id(am, AM_WCKEY, wckey_id);

    return r ? r->change->wckey : NULL;
}

const Pst__WckeyRecord *am_wckey_named(const struct assoc_mgr *am, const char *cluster,
                                       const char *user, const char *name)
{
    const struct am_rec *r = by_key(am, AM_WCKEY, wckey_key(cluster, user, name));

    return r ? r->change->wckey : NULL;
}

const Pst__ResourceRecord *am_resource(const struct assoc_mgr *am, uint32_t resource_id)
{
    const struct am_rec *r = by_id(am, AM_RESOURCE, resource_id);

    return r ? r->change->resource : NULL;
}

const Pst__FederationRecord *am_federation(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = name ? by_key(am, AM_FEDERATION, name_key(AM_FEDERATION, name)) : NULL;

    return r ? r->change->federation : NULL;
}

const Pst__AcctClusterRecord *am_cluster(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = name ? by_key(am, AM_CLUSTER, name_key(AM_CLUSTER, name)) : NULL;

    return r && !r->change->cluster->deleted ? r->change->cluster : NULL;
}

const ProtobufCMessage *am_next(const struct assoc_mgr *am, enum am_kind kind, size_t *pos)
{
    const struct am_rec *r;

    while ((r = idmap_next(&am->by_serial, pos)))
        if (r->kind == kind)
            /* the records of the union are all pointers */
            return (const ProtobufCMessage *)r->change->tres;
    return NULL;
}

size_t am_count(const struct assoc_mgr *am, enum am_kind kind)
{
    return am->count[kind];
}

uint32_t am_tres_id(const struct assoc_mgr *am, const char *name)
{
    const struct am_rec *r = namemap_get(&am->by_key[AM_TRES], name);

    if (r)
        return r->id;
    for (size_t i = 0; i < ARRAY_SIZE(fixed_tres); i++)
        if (strcmp(fixed_tres[i].name, name) == 0)
            return fixed_tres[i].id;
    return 0;
}

bool am_tres_name(const struct assoc_mgr *am, uint32_t tres_id, char *buf, size_t size)
{
    const struct am_rec *r = by_id(am, AM_TRES, tres_id);

    if (r) {
        (void)snprintf(buf, size, "%s", r->key ? r->key : "");
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(fixed_tres); i++)
        if (fixed_tres[i].id == tres_id) {
            (void)snprintf(buf, size, "%s", fixed_tres[i].name);
            return true;
        }
    return false;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool is_deleted(const struct assoc *a)
{
    return a->rec->has_deleted && a->rec->deleted;
}

static bool is_root(const struct assoc *a)
{
    return !a->user && strcasecmp(a->rec->account, AM_ROOT) == 0;
}

static struct assoc *parent_of(const struct assoc_mgr *am, const struct assoc *a)
{
    const struct am_rec *r = NULL;

    if (is_root(a))
        return NULL;
    if (a->rec->has_parent_id && a->rec->parent_id)
        r = by_id(am, AM_ASSOC, a->rec->parent_id);
    else if (a->user)
        r = by_key(am, AM_ASSOC, assoc_key(a->rec->cluster, a->rec->account, NULL, NULL));
    else
        r = by_key(am, AM_ASSOC, assoc_key(a->rec->cluster, AM_ROOT, NULL, NULL));
    return r && &r->a != a ? (struct assoc *)&r->a : NULL;
}

/* Parents above it; a circle is cut here. */
static void measure_subtree(struct assoc *a)
{
    a->depth = 0;
    for (const struct assoc *p = a->parent; p; p = p->parent)
        if (++a->depth > AM_MAX_DEPTH) {
            a->parent = NULL;
            a->depth = 0;
            return;
        }
}

static void link_one(struct assoc_mgr *am, struct assoc *a)
{
    if (is_deleted(a))
        return;
    if (a->parent) {
        a->sibling = a->parent->child;
        a->parent->child = a;
    }
    if (a->user) {
        a->next_of_user = namemap_get(&am->users, a->rec->user);
        if (namemap_put(&am->users, a->rec->user, a) < 0)
            am_oom(NULL);
    }
    if (is_root(a) && namemap_put(&am->roots, a->rec->cluster ? a->rec->cluster : "", a) < 0)
        am_oom(NULL);
}

static void take_out(struct assoc **list, struct assoc *a, bool of_user)
{
    while (*list && *list != a)
        list = of_user ? &(*list)->next_of_user : &(*list)->sibling;
    if (*list)
        *list = of_user ? a->next_of_user : a->sibling;
}

/* False: it is none, the tree is to be made anew. */
static bool unlink_leaf(struct assoc_mgr *am, struct assoc *a)
{
    struct assoc *first;

    if (is_deleted(a))
        return true;
    if (a->child || is_root(a) || !a->parent)
        return false;
    take_out(&a->parent->child, a, false);
    if (a->user) {
        first = namemap_get(&am->users, a->rec->user);
        take_out(&first, a, true);
        (void)namemap_remove(&am->users, a->rec->user); /* the key may be a's: entered again */
        if (first && namemap_put(&am->users, first->rec->user, first) < 0)
            am_oom(NULL);
    }
    a->parent = a->sibling = a->next_of_user = NULL;
    return true;
}

/* Names and parent: what the tree is made of. */
static bool same_place(const Pst__AssocRecord *a, const Pst__AssocRecord *b)
{
    return a->has_parent_id == b->has_parent_id && a->parent_id == b->parent_id &&
           a->deleted == b->deleted && same_text(a->cluster, b->cluster) &&
           same_text(a->account, b->account) && same_text(a->user, b->user);
}

static void relink_record(struct assoc_mgr *am, struct am_rec *r, const Pst__AcctChange *old)
{
    struct assoc *a = &r->a;

    if (r->kind == AM_WCKEY || (r->kind == AM_ASSOC && am->orphans))
        return;
    if (r->kind == AM_ASSOC && !old) {
        a->parent = parent_of(am, a);
        if (!a->parent || is_deleted(a))
            return;
        measure_subtree(a);
        link_one(am, a);
    } else if (r->kind == AM_ASSOC) {
        if (!same_place(old->assoc, a->rec))
            return;
        /* the old record's names were keys */
        if (a->user && !is_deleted(a) && namemap_get(&am->users, a->rec->user) == a &&
            namemap_put(&am->users, a->rec->user, a) < 0)
            am_oom(NULL);
        if (is_root(a) && !is_deleted(a) &&
            namemap_put(&am->roots, a->rec->cluster ? a->rec->cluster : "", a) < 0)
            am_oom(NULL);
    }
    am->linked = am->generation;
}

void am_link(struct assoc_mgr *am)
{
    struct am_rec *r;

    if (am->linked == am->generation)
        return;
    am->linked = am->generation;
    am->orphans = 0;
    namemap_done(&am->users);
    namemap_done(&am->roots);
    namemap_done(&am->default_wckeys);
    for (size_t pos = 0; (r = idmap_next(&am->by_id[AM_ASSOC], &pos));) {
        r->a.parent = parent_of(am, &r->a);
        r->a.child = r->a.sibling = r->a.next_of_user = NULL;
        am->orphans += !r->a.parent && !is_root(&r->a) && !is_deleted(&r->a);
    }
    for (size_t pos = 0; (r = idmap_next(&am->by_id[AM_ASSOC], &pos));)
        measure_subtree(&r->a);
    for (size_t pos = 0; (r = idmap_next(&am->by_id[AM_ASSOC], &pos));)
        link_one(am, &r->a);
    for (size_t pos = 0; (r = idmap_next(&am->by_id[AM_WCKEY], &pos));)
        if (r->owner_key && namemap_put(&am->default_wckeys, r->owner_key, r) < 0)
            am_oom(NULL);
}

struct assoc *am_assoc(struct assoc_mgr *am, uint32_t assoc_id)
{
    struct am_rec *r = by_id(am, AM_ASSOC, assoc_id);

    am_link(am);
    return r ? &r->a : NULL;
}

struct assoc *am_find(struct assoc_mgr *am, const char *cluster, const char *account,
                      const char *user, const char *partition)
{
    struct am_rec *r = by_key(am, AM_ASSOC, assoc_key(cluster, account, user, partition));

    am_link(am);
    return r ? &r->a : NULL;
}

static bool same_cluster(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

const char *am_default_account(struct assoc_mgr *am, const char *cluster, const char *user)
{
    for (const struct assoc *a = am_of_user(am, user); a; a = a->next_of_user)
        if (a->rec->has_is_default && a->rec->is_default && same_cluster(a->rec->cluster, cluster))
            return a->rec->account;
    return NULL;
}

struct assoc *am_find_job(struct assoc_mgr *am, const char *cluster, const char *user,
                          const char *account, const char *partition)
{
    struct assoc *a = NULL;

    if (!account || !*account)
        account = am_default_account(am, cluster, user);
    if (!account || !user || !*user)
        return NULL;
    if (partition && *partition)
        a = am_find(am, cluster, account, user, partition);
    return a ? a : am_find(am, cluster, account, user, NULL);
}

struct assoc *am_root(struct assoc_mgr *am, const char *cluster)
{
    am_link(am);
    return namemap_get(&am->roots, cluster ? cluster : "");
}

struct assoc *am_of_user(struct assoc_mgr *am, const char *user)
{
    am_link(am);
    return user ? namemap_get(&am->users, user) : NULL;
}

struct assoc *am_next_assoc(struct assoc_mgr *am, size_t *pos)
{
    struct am_rec *r;

    am_link(am);
    r = idmap_next(&am->by_id[AM_ASSOC], pos);
    return r ? &r->a : NULL;
}
