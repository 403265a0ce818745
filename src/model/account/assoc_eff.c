/* assoc_eff.c - what an association comes to: limits, QOS and names along its line of parents;
 * rights
 *
 * Each answer is kept with the generation it was worked out in; a change anywhere makes all of
 * them stale, and each is made again when it is asked for. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "model/account/assoc_priv.h"

/* Limits of a user's jobs, which parents set for those below; all others hold at their own
 * level. */
#define INHERITED_NUMBERS(X)                                                                       \
    X(max_wall_min) X(min_prio_threshold) X(max_jobs) X(max_jobs_accrue) X(max_submit_jobs)
#define OWN_NUMBERS(X) X(grp_jobs) X(grp_jobs_accrue) X(grp_submit_jobs) X(grp_wall_min)

static struct am_rec *rec_of(const struct assoc *a)
{
    return container_of((struct assoc *)a, struct am_rec, a);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static const Pst__TresCount *count_of(Pst__TresCount *const *list, size_t n, uint32_t tres_id)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->tres_id == tres_id)
            return list[i];
    return NULL;
}

bool am_tres_limit(Pst__TresCount *const *list, size_t n, uint32_t tres_id, int64_t *ret_count)
{
    const Pst__TresCount *c = count_of(list, n, tres_id);

    if (!c || !c->has_count || c->count < 0)
        return false;
    *ret_count = c->count;
    return true;
}

/* Own counts, and those of the parent for other TRES; lifted ones are left out. */
static void merge_counts(Pst__TresCount *const *own, size_t nown, Pst__TresCount *const *above,
                         size_t nabove, Pst__TresCount ***ret, size_t *ret_n)
{
    *ret_n = 0;
    *ret = nown + nabove ? calloc(nown + nabove, sizeof(**ret)) : NULL;
    if (nown + nabove)
        am_oom(*ret);
    for (size_t i = 0; i < nown; i++)
        if (own[i]->has_count && own[i]->count >= 0)
            (*ret)[(*ret_n)++] = own[i];
    for (size_t i = 0; i < nabove; i++)
        if (!count_of(own, nown, above[i]->tres_id))
            (*ret)[(*ret_n)++] = above[i];
}

const Pst__Limits *am_limits(struct assoc_mgr *am, const struct assoc *a)
{
    static const Pst__Limits none = PST__LIMITS__INIT;
    struct am_rec *r = rec_of(a);
    const Pst__Limits *own = a->rec->limits ? a->rec->limits : &none, *above = &none;

    am_link(am);
    if (r->limits_gen == am->generation)
        return &r->limits;
    if (r->limits_gen)
        am_free_limits(r);
    pst__limits__init(&r->limits);
    if (a->parent)
        above = am_limits(am, a->parent);
    r->limits_gen = am->generation;
#define X(f)                                                                                       \
    {                                                                                              \
        const Pst__Limits *from = own->has_##f ? own : above;                                      \
        r->limits.has_##f = from->has_##f && from->f >= 0;                                         \
        r->limits.f = from->f;                                                                     \
    }
    INHERITED_NUMBERS(X)
#undef X
#define X(f)                                                                                       \
    r->limits.has_##f = own->has_##f && own->f >= 0;                                               \
    r->limits.f = own->f;
    OWN_NUMBERS(X)
#undef X
#define X(f)                                                                                       \
    merge_counts(own->f, own->n_##f, above->f, above->n_##f, &r->limits.f, &r->limits.n_##f);
    INHERITED_LISTS(X)
#undef X
#define X(f) merge_counts(own->f, own->n_##f, NULL, 0, &r->limits.f, &r->limits.n_##f);
    OWN_LISTS(X)
#undef X
    return &r->limits;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_among(uint32_t id, const uint32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

static void work_out_qos(struct assoc_mgr *am, struct am_rec *r)
{
    const Pst__AssocRecord *rec = r->a.rec;
    const uint32_t *base = rec->qos_ids;
    size_t nbase = rec->n_qos_ids, n = 0;

    if (r->qos_gen == am->generation)
        return;
    r->default_qos = rec->has_default_qos_id ? rec->default_qos_id : 0;
    if (r->a.parent) {
        uint32_t inherited = am_default_qos(am, r->a.parent);

        if (!nbase)
            nbase = am_qos_list(am, r->a.parent, &base);
        if (!r->default_qos)
            r->default_qos = inherited;
    }
    free(r->qos);
    r->qos = calloc(nbase + rec->n_qos_added + 1, sizeof(*r->qos));
    am_oom(r->qos);
    for (size_t i = 0; i < nbase; i++)
        if (!is_among(base[i], rec->qos_removed, rec->n_qos_removed))
            r->qos[n++] = base[i];
    for (size_t i = 0; i < rec->n_qos_added; i++)
        if (!is_among(rec->qos_added[i], r->qos, n))
            r->qos[n++] = rec->qos_added[i];
    qsort(r->qos, n, sizeof(*r->qos), by_number);
    r->nqos = n;
    r->qos_gen = am->generation;
}

size_t am_qos_list(struct assoc_mgr *am, const struct assoc *a, const uint32_t **ret_ids)
{
    struct am_rec *r = rec_of(a);

    am_link(am);
    work_out_qos(am, r);
    *ret_ids = r->qos;
    return r->nqos;
}

bool am_may_use_qos(struct assoc_mgr *am, const struct assoc *a, uint32_t qos_id)
{
    const uint32_t *ids;
    size_t n = am_qos_list(am, a, &ids);

    return n && bsearch(&qos_id, ids, n, sizeof(*ids), by_number);
}

uint32_t am_default_qos(struct assoc_mgr *am, const struct assoc *a)
{
    struct am_rec *r = rec_of(a);

    am_link(am);
    work_out_qos(am, r);
    return r->default_qos;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *am_lineage(struct assoc_mgr *am, const struct assoc *a)
{
    struct am_rec *r = rec_of(a);
    struct strbuf sb = STRBUF_INIT;

    am_link(am);
    if (r->lineage_gen == am->generation)
        return r->lineage;
    strbuf_addf(&sb, "%s", a->parent ? am_lineage(am, a->parent) : "/");
    if (a->user)
        strbuf_addf(&sb, "0-%s/", a->rec->user);
    else if (a->parent || strcasecmp(a->rec->account, AM_ROOT) != 0)
        strbuf_addf(&sb, "%s/", a->rec->account);
    if (a->user && a->rec->partition && *a->rec->partition)
        strbuf_addf(&sb, "%s/", a->rec->partition);
    free(r->lineage);
    r->lineage = NULL;
    if (strbuf_detach(&sb, &r->lineage) < 0)
        am_oom(NULL);
    r->lineage_gen = am->generation;
    return r->lineage;
}

bool am_is_below(struct assoc_mgr *am, const struct assoc *a, const struct assoc *above)
{
    am_link(am);
    for (; a; a = a->parent)
        if (a == above)
            return true;
    return false;
}

const char *am_default_wckey(struct assoc_mgr *am, const char *cluster, const char *user)
{
    const Pst__UserRecord *u = am_user(am, user);
    _cleanup_free_ char *key = am_owner_key(cluster, user);
    const struct am_rec *r;

    am_oom(key);
    am_link(am);
    r = namemap_get(&am->default_wckeys, key);
    if (r)
        return r->change->wckey->name;
    return u && u->default_wckey && *u->default_wckey ? u->default_wckey : NULL;
}

/* ---- rights ---------------------------------------------------------------------------------- */

Pst__AdminLevel am_admin_level(const struct assoc_mgr *am, const char *user)
{
    const Pst__UserRecord *u = am_user(am, user);

    return u && u->has_admin_level ? u->admin_level : PST__ADMIN_LEVEL__ADMIN_NOT_SET;
}

static bool coordinates_account(struct assoc_mgr *am, const struct assoc *account, const char *user)
{
    const Pst__AccountRecord *rec = am_account(am, account->rec->account);
    bool all = (rec && rec->has_users_are_coords && rec->users_are_coords) ||
               (account->rec->has_users_are_coords && account->rec->users_are_coords);

    for (size_t i = 0; rec && i < rec->n_coordinators; i++)
        if (strcmp(rec->coordinators[i], user) == 0)
            return true;
    return all && am_find(am, account->rec->cluster, account->rec->account, user, NULL);
}

bool am_is_coordinator(struct assoc_mgr *am, const char *cluster, const char *user,
                       const char *account)
{
    const struct assoc *a = user && account ? am_find(am, cluster, account, NULL, NULL) : NULL;

    for (; a; a = a->parent)
        if (coordinates_account(am, a, user))
            return true;
    return false;
}

/* ---- priority -------------------------------------------------------------------------------- */

uint32_t am_priority(const struct assoc *a)
{
    while (a && !a->rec->has_priority)
        a = a->parent;
    return a ? a->rec->priority : 0;
}
