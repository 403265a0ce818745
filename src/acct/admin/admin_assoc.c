/* admin_assoc.c - associations: making, changing and removing them
 *
 * Ids are never given to another association: a removed one that jobs ran under stays, marked
 * deleted, and comes back with its id when it is made again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

#define YOUNG_US (86400 * USEC_PER_SEC) /* what is younger leaves no trace, unless jobs ran */

static bool same_text(const char *a, const char *b)
{
    return strcasecmp(a ? a : "", b ? b : "") == 0;
}

/* The removed association of these names, NULL = there was none. */
static const Pst__AssocRecord *find_deleted(struct admin_run *run, const char *cluster,
                                            const char *account, const char *user,
                                            const char *partition)
{
    const Pst__AssocRecord *rec;
    size_t pos = 0;

    if (!run->a->deleted_assocs)
        return NULL;
    while ((rec = (const Pst__AssocRecord *)am_next(run->a->am, AM_ASSOC, &pos)))
        if (rec->deleted && same_text(rec->cluster, cluster) && same_text(rec->account, account) &&
            same_text(rec->user, user) && same_text(rec->partition, partition))
            return rec;
    return NULL;
}

static void log_add(struct admin_run *run, const Pst__AssocRecord *rec, const struct assoc *parent,
                    const Pst__AcctSet *set)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char where[32];

    (void)snprintf(where, sizeof(where), "id_assoc=%u", rec->assoc_id);
    strbuf_addf(&sb, "mod_time=%lld, acct='%s'", (long long)(run->now_us / USEC_PER_SEC),
                rec->account);
    strbuf_addf(&sb, ", is_def=%d", rec->is_default);
    if (rec->user)
        strbuf_addf(&sb, ", user='%s'", rec->user);
    if (parent && !rec->user)
        strbuf_addf(&sb, ", parent_acct='%s'", parent->rec->account);
    if (rec->partition)
        strbuf_addf(&sb, ", partition='%s'", rec->partition);
    text_fields(&sb, set->assoc ? &set->assoc->base : NULL);
    run_txn(run, "Add Associations", rec->cluster, rec->account, rec->user, where, strbuf_str(&sb));
}

/* May a coordinator give these QOS?  None that the account lacks. */
static bool has_qos_above(struct admin_run *run, struct assoc *a, const Pst__AcctSet *set)
{
    const Pst__AssocRecord *want = set->assoc;

    for (size_t i = 0; want && a->parent && i < want->n_qos_ids + want->n_qos_added; i++)
        if (!am_may_use_qos(run->a->am, a->parent,
                            i < want->n_qos_ids ? want->qos_ids[i]
                                                : want->qos_added[i - want->n_qos_ids]))
            return false;
    return true;
}

/* May a coordinator set these limits?  None above what the account has. */
static bool within_parent(struct admin_run *run, struct assoc *a, const Pst__AcctSet *set)
{
    const Pst__AssocRecord *want = set->assoc;
    const Pst__Limits *top = a->parent ? am_limits(run->a->am, a->parent) : NULL;
    const ProtobufCMessageDescriptor *d = &pst__limits__descriptor;

    if (!want || !a->parent)
        return true;
    for (unsigned i = 0; top && want->limits && i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        const char *l = (const char *)want->limits, *t = (const char *)top;

        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            Pst__TresCount *const *list = *(Pst__TresCount *const *const *)(l + f->offset);
            int64_t most;

            for (size_t k = 0; k < *(const size_t *)(l + f->quantifier_offset); k++)
                if (am_tres_limit(*(Pst__TresCount *const *const *)(t + f->offset),
                                  *(const size_t *)(t + f->quantifier_offset), list[k]->tres_id,
                                  &most) &&
                    (list[k]->count < 0 || list[k]->count > most || list[k]->op == 1))
                    return false;
        } else if (*(const protobuf_c_boolean *)(l + f->quantifier_offset) &&
                   *(const protobuf_c_boolean *)(t + f->quantifier_offset) &&
                   (*(const int32_t *)(l + f->offset) > *(const int32_t *)(t + f->offset))) {
            return false;
        }
    }
    return true;
}

/* What a coordinator gives stays within what the account has. */
static void check_giver(struct admin_run *run, struct assoc *a, const Pst__AcctSet *set)
{
    if (run_is_operator(run))
        return;
    if (!has_qos_above(run, a, set))
        run_deny(run);
    else if (!within_parent(run, a, set))
        run_fail(run, ESLURM_COORD_NO_INCREASE_JOB_LIMIT, NULL);
}

uint32_t assoc_make(struct admin_run *run, const char *cluster, const struct assoc *parent,
                    const char *account, const char *user, const char *partition, bool is_default,
                    const Pst__AcctSet *set)
{
    const Pst__AssocRecord *old = find_deleted(run, cluster, account, user, partition);
    Pst__AssocRecord fresh = PST__ASSOC_RECORD__INIT;
    Pst__AssocRecord *rec;
    uint32_t id;

    fresh.has_assoc_id = fresh.has_created_us = fresh.has_modified_us = 1;
    fresh.assoc_id = old ? old->assoc_id : run->a->next_assoc++;
    fresh.created_us = old ? old->created_us : run->now_us;
    fresh.modified_us = run->now_us;
    fresh.cluster = (char *)cluster; /* copied, not changed; likewise below */
    fresh.account = (char *)account;
    fresh.user = (char *)user;
    fresh.partition = partition && *partition ? (char *)partition : NULL;
    fresh.has_parent_id = parent != NULL;
    fresh.parent_id = parent ? parent->id : 0;
    fresh.has_is_default = fresh.is_default = is_default;
    rec = run_dup(run, &fresh);
    if (!rec)
        return 0;
    if (old)
        run->a->deleted_assocs--;
    id = rec->assoc_id;
    assoc_set(run, rec, set);
    log_add(run, rec, parent, set);
    run_put_assoc(run, rec);
    if (run_ok(run)) {
        struct assoc *a = am_assoc(run->a->am, id);

        run_assoc(run, a);
        check_giver(run, a, set);
        /* an account may be given the QOS later */
        if (user && rec->has_default_qos_id && !am_may_use_qos(run->a->am, a, rec->default_qos_id))
            run_fail(run, ESLURM_NO_REMOVE_DEFAULT_QOS, NULL);
    }
    pst__assoc_record__free_unpacked(rec, NULL);
    return run_ok(run) ? id : 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Does it change which QOS there are, or which one jobs have that name none? */
static bool sets_qos(const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;

    return set->clear_qos ||
           (a && (a->n_qos_ids || a->n_qos_added || a->n_qos_removed || a->has_default_qos_id));
}

static void check_default_qos(struct admin_run *run, uint32_t id)
{
    struct assoc *a = am_assoc(run->a->am, id);
    uint32_t def = a->rec->has_default_qos_id ? a->rec->default_qos_id : 0;
    const Pst__QosRecord *q = def ? am_qos(run->a->am, def) : NULL;

    if (!def || am_may_use_qos(run->a->am, a, def))
        return;
    if (a->user)
        run_line(run, "DefQOS = %-10s C = %-10s A = %-20s U = %-9s", q ? q->name : "",
                 a->rec->cluster, a->rec->account, a->rec->user);
    else
        run_line(run, "DefQOS = %-10s C = %-10s A = %-20s", q ? q->name : "", a->rec->cluster,
                 a->rec->account);
}

/* Tell of one that was not chosen. */
static void tell_heir(struct admin_run *run, struct assoc *a)
{
    size_t at = run->res->n_assocs;

    run_assoc(run, a);
    if (run->res->n_assocs > at) {
        free(run->res->assocs[at]->parent_account);
        run->res->assocs[at]->parent_account = NULL;
    }
}

/* Tell of all below a moved account. */
static void tell_below(struct admin_run *run, struct assoc *a)
{
    for (struct assoc *c = a->child; c && run->r == 0; c = c->sibling)
        if (!c->rec->deleted) {
            tell_heir(run, c);
            tell_below(run, c);
        }
}

/* Tell of those below a that take what was set from it. */
static void tell_heirs(struct admin_run *run, struct assoc *a, const Pst__AcctSet *set)
{
    size_t n = 0, cap = 0;
    uint32_t *ids = NULL;

    for (struct assoc *c = a->child; c; c = c->sibling)
        cap++;
    ids = calloc(cap + 1, sizeof(*ids));
    if (!ids) {
        run->r = run->r ? run->r : -ENOMEM;
        return;
    }
    for (struct assoc *c = a->child; c; c = c->sibling)
        if (!c->rec->deleted && limits_inherited_by(c->rec, set))
            ids[n++] = c->id;
    sort_assocs(run->a->am, ids, n);
    for (size_t i = 0; i < n; i++) {
        struct assoc *c = am_assoc(run->a->am, ids[i]);

        tell_heir(run, c);
        if (sets_qos(set))
            check_default_qos(run, ids[i]);
        tell_heirs(run, c, set);
    }
    free(ids);
}

/* Tell of it, under the parent that it had. */
static void tell_changed(struct admin_run *run, struct assoc *a, const char *parent)
{
    size_t at = run->res->n_assocs;

    run_assoc(run, a);
    if (parent && run->res->n_assocs > at &&
        pb_set_str(&run->res->assocs[at]->parent_account, parent) < 0)
        run_fail_memory(run);
}

static void modify_one(struct admin_run *run, uint32_t id, const Pst__AcctSet *set,
                       const char *action)
{
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    struct assoc *a = am_assoc(run->a->am, id);
    Pst__AssocRecord *rec = run_dup(run, a->rec);
    _cleanup_free_ char *before = NULL; /* the parent that it had */
    char where[32];

    if (!rec)
        return;
    check_giver(run, a, set);
    if (!run_ok(run)) {
        pst__assoc_record__free_unpacked(rec, NULL);
        return;
    }
    assoc_set(run, rec, set);
    if (set->parent && a->parent)
        before = strdup(a->parent->rec->account);
    if (set->parent && !a->user) {
        struct assoc *parent = am_find(run->a->am, a->rec->cluster, set->parent, NULL, NULL);

        if (!parent)
            run_fail(run, ESLURM_INVALID_PARENT_ACCOUNT,
                     "Parent account %s doesn't exist on cluster %s", set->parent, a->rec->cluster);
        else if (a->parent && am_is_below(run->a->am, parent, a))
            run_fail(run, ESLURM_INVALID_PARENT_ACCOUNT,
                     "Requested parent account %s is a child of %s on cluster %s. Please re-parent "
                     "%s before using it as a parent.",
                     set->parent, a->rec->account, a->rec->cluster, set->parent);
        else if (a->parent) /* root stays where it is */
            rec->parent_id = parent->id, rec->has_parent_id = 1;
    }
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    text_fields(&info, set->assoc ? &set->assoc->base : NULL);
    if (set->parent)
        strbuf_addf(&info, "%sparent_acct='%s'", info.len ? ", " : "", set->parent);
    (void)snprintf(where, sizeof(where), "(id_assoc=%u)", id);
    if (run_ok(run))
        run_put_assoc(run, rec);
    run_txn(run, action, rec->cluster, rec->account, rec->user, where, strbuf_str(&info));
    pst__assoc_record__free_unpacked(rec, NULL);
    if (!run_ok(run))
        return;
    if (sets_qos(set))
        check_default_qos(run, id);
    a = am_assoc(run->a->am, id);
    tell_changed(run, a, before);
    if (limits_inheritable(set))
        tell_heirs(run, a, set);
    else if (before)
        tell_below(run, a);
}

void assoc_modify(struct admin_run *run, const uint32_t *ids, size_t n, const Pst__AcctSet *set,
                  const char *action)
{
    size_t lines = run->res->n_lines;

    for (size_t i = 0; i < n && run_ok(run); i++) /* an heir that is chosen too is told of twice */
        modify_one(run, ids[i], set, action);
    if (run_ok(run) && run->res->n_lines > lines)
        run_fail(run, ESLURM_NO_REMOVE_DEFAULT_QOS, NULL);
}

/* ---- removing -------------------------------------------------------------------------------- */

struct doomed {
    uint32_t *ids;
    size_t n, cap;
};

static void doom_subtree(struct admin_run *run, struct doomed *d, struct assoc *a)
{
    for (struct assoc *c = a->child; c; c = c->sibling)
        doom_subtree(run, d, c);
    if (a->rec->deleted)
        return;
    for (size_t i = 0; i < d->n; i++)
        if (d->ids[i] == a->id)
            return;
    if (d->n == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 16;
        uint32_t *more = reallocarray(d->ids, cap, sizeof(*more));

        if (!more) {
            run->r = run->r ? run->r : -ENOMEM;
            return;
        }
        d->ids = more;
        d->cap = cap;
    }
    d->ids[d->n++] = a->id;
}

static bool is_doomed(const struct doomed *d, uint32_t id)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->ids[i] == id)
            return true;
    return false;
}

static void tell_default(struct admin_run *run, const Pst__AssocRecord *rec)
{
    bool in_partition = rec->partition && *rec->partition;

    if (in_partition)
        run_line(run, "C = %-15s A = %-10s U = %-9s P = %-9s", rec->cluster, rec->account,
                 rec->user, rec->partition);
    else
        run_line(run, "C = %-15s A = %-10s U = %-9s", rec->cluster, rec->account, rec->user);
}

/* The default account goes last, where users need one: a partition's association of it too. */
static void check_defaults(struct admin_run *run, const struct doomed *d)
{
    size_t told = run->res->n_lines; /* of users removed before */

    if (run->who->rules & ADMIN_NO_DEFAULT_ACCOUNT)
        return;
    for (size_t i = 0; i < d->n && run->r == 0; i++) {
        struct assoc *a = am_assoc(run->a->am, d->ids[i]);

        if (!a->user || !a->rec->is_default)
            continue;
        for (struct assoc *o = am_of_user(run->a->am, a->rec->user); o; o = o->next_of_user)
            if (same_text(o->rec->cluster, a->rec->cluster) && !is_doomed(d, o->id)) {
                tell_default(run, a->rec);
                break;
            }
    }
    if (run->res->n_lines > told)
        run_fail(run, ESLURM_NO_REMOVE_DEFAULT_ACCOUNT, NULL);
}

static void remove_one(struct admin_run *run, uint32_t id)
{
    struct assoc *a = am_assoc(run->a->am, id);
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    Pst__AssocRecord *rec = run_dup(run, a->rec);
    char where[32];
    int kept;

    if (!rec)
        return;
    kept = run->now_us - rec->created_us > YOUNG_US
               ? 1
               : rows_has_jobs(run->a, rec->cluster, rec->account, rec->user);
    if (kept < 0)
        run->r = kept;
    put.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    put.assoc = rec;
    if (kept > 0) {
        rec->has_deleted = rec->deleted = 1;
        rec->has_is_default = 0;
        rec->has_modified_us = 1;
        rec->modified_us = run->now_us;
        run_put(run, &put);
        run->a->deleted_assocs++;
    } else {
        run_remove(run, &put);
    }
    (void)snprintf(where, sizeof(where), "(id_assoc=%u)", id);
    run_txn(run, "Remove Associations", rec->cluster, rec->account, rec->user, where, "");
    pst__assoc_record__free_unpacked(rec, NULL);
}

void assoc_delete(struct admin_run *run, const uint32_t *ids, size_t n)
{
    struct doomed d = { 0 };
    size_t told = run->res->n_lines;

    for (size_t i = 0; i < n; i++)
        doom_subtree(run, &d, am_assoc(run->a->am, ids[i]));
    check_defaults(run, &d);
    for (size_t i = 0; i < d.n && run_ok(run); i++) {
        struct assoc *a = am_assoc(run->a->am, d.ids[i]);

        if (a->user && a->parent && is_doomed(&d, a->parent->id))
            continue; /* its jobs are the account's */
        run->r = rows_open_jobs(run, &(struct open_jobs){ .cluster = a->rec->cluster,
                                                          .account = a->rec->account,
                                                          .user = a->user ? a->rec->user : NULL });
    }
    if (run->res->n_lines > told && run_ok(run))
        run_fail(run, ESLURM_JOBS_RUNNING_ON_ASSOC, NULL);
    for (size_t i = 0; i < n && run_ok(run); i++)
        run_assoc(run, am_assoc(run->a->am, ids[i]));
    for (size_t i = 0; i < d.n && run_ok(run); i++)
        remove_one(run, d.ids[i]);
    free(d.ids);
}
