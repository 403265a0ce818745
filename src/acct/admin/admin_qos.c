/* admin_qos.c - QOS */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

/* -1 in a request takes a number away: of these as the type's largest value. */
static void set_number(protobuf_c_boolean *has, uint32_t *value, protobuf_c_boolean given,
                       uint32_t to)
{
    if (!given)
        return;
    *has = to != ADMIN_CLEAR;
    *value = to;
}

/* What is no finite number is left out. */
static void set_real(protobuf_c_boolean *has, double *value, protobuf_c_boolean given, double to)
{
    if (!given || !isfinite(to))
        return;
    *has = to >= 0;
    *value = to;
}

static int set_preempt(Pst__QosRecord *rec, const Pst__AcctSet *set)
{
    int r = 0;

    if (set->clear_preempt || (set->qos && set->qos->n_preempt_ids))
        rec->n_preempt_ids = 0;
    for (size_t i = 0; set->qos && r == 0 && i < set->qos->n_preempt_ids; i++)
        r = id_list_add(&rec->preempt_ids, &rec->n_preempt_ids, set->qos->preempt_ids[i]);
    for (size_t i = 0; r == 0 && i < set->n_preempt_add; i++)
        r = id_list_add(&rec->preempt_ids, &rec->n_preempt_ids, set->preempt_add[i]);
    for (size_t i = 0; i < set->n_preempt_remove; i++)
        id_list_remove(rec->preempt_ids, &rec->n_preempt_ids, set->preempt_remove[i]);
    return r;
}

static void set_flags(Pst__QosRecord *rec, const Pst__AcctSet *set)
{
    uint32_t flags = rec->has_flags ? rec->flags : 0;

    if (set->qos && set->qos->has_flags)
        flags = set->qos->flags == ADMIN_CLEAR ? 0 : set->qos->flags;
    flags |= set->qos_flags_add;
    flags &= ~set->qos_flags_remove;
    rec->has_flags = flags != 0;
    rec->flags = flags;
}

static int qos_set(Pst__QosRecord *rec, const Pst__AcctSet *set)
{
    const Pst__QosRecord *q = set->qos;
    int r = set_preempt(rec, set);

    set_flags(rec, set);
    if (!q || r < 0)
        return r;
    if (q->description)
        r = pb_set_str(&rec->description, q->description);
    set_number(&rec->has_priority, &rec->priority, q->has_priority, q->priority);
    set_number(&rec->has_grace_s, &rec->grace_s, q->has_grace_s, q->grace_s);
    set_number(&rec->has_preempt_mode, &rec->preempt_mode, q->has_preempt_mode, q->preempt_mode);
    set_number(&rec->has_preempt_exempt_s, &rec->preempt_exempt_s, q->has_preempt_exempt_s,
               q->preempt_exempt_s);
    set_real(&rec->has_usage_factor, &rec->usage_factor, q->has_usage_factor, q->usage_factor);
    set_real(&rec->has_usage_threshold, &rec->usage_threshold, q->has_usage_threshold,
             q->usage_threshold);
    set_real(&rec->has_limit_factor, &rec->limit_factor, q->has_limit_factor, q->limit_factor);
    return r == 0 ? limits_set(&rec->limits, q->limits) : r;
}

/* Those that are there are not added, whoever asks. */
static void deny_new(struct admin_run *run, const Pst__AcctCond *where)
{
    bool any = false;

    for (size_t i = 0; i < where->n_names; i++) {
        if (am_qos_named(run->a->am, where->names[i]))
            continue;
        run_name(run, where->names[i]);
        any = true;
    }
    if (any)
        run_deny(run);
    else
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

void qos_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        deny_new(run, where);
        return;
    }
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const Pst__QosRecord *have = am_qos_named(run->a->am, where->names[i]);
        _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
        Pst__QosRecord fresh = PST__QOS_RECORD__INIT;
        Pst__QosRecord *rec;

        if (have)
            continue;
        if (!run_good_name(run, where->names[i]))
            break;
        fresh.has_qos_id = fresh.has_created_us = fresh.has_modified_us = 1;
        fresh.qos_id = run->a->next_qos++;
        fresh.created_us = fresh.modified_us = run->now_us;
        fresh.name = where->names[i];
        fresh.description = where->names[i];
        rec = run_dup(run, &fresh);
        if (!rec)
            return;
        run->r = qos_set(rec, set);
        strbuf_addf(&info, "mod_time=%lld", (long long)(run->now_us / USEC_PER_SEC));
        text_fields(&info, &rec->base);
        run_put_qos(run, rec);
        run_txn(run, "Add QOS", NULL, NULL, NULL, where->names[i], strbuf_str(&info));
        run_name(run, where->names[i]);
        pst__qos_record__free_unpacked(rec, NULL);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

static bool qos_matches(const Pst__AcctCond *where, const ProtobufCMessage *rec)
{
    const Pst__QosRecord *q = (const Pst__QosRecord *)rec;

    if (where->n_clusters) /* a QOS is of no cluster */
        return false;
    return !q->deleted && cond_has(where->names, where->n_names, q->name) &&
           cond_has_id(where->ids, where->n_ids, q->qos_id) &&
           cond_has_id(where->qos_ids, where->n_qos_ids, q->qos_id) &&
           cond_has(where->descriptions, where->n_descriptions, q->description);
}

/* Would the QOS preempt itself, at once or around others? */
static bool preempts_itself(struct admin_run *run, uint32_t id, uint32_t at, unsigned depth)
{
    const Pst__QosRecord *q = am_qos(run->a->am, at);

    for (size_t i = 0; q && depth < 64 && i < q->n_preempt_ids; i++)
        if (q->preempt_ids[i] == id || preempts_itself(run, id, q->preempt_ids[i], depth + 1))
            return true;
    return false;
}

static void modify_one(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                       const Pst__AcctSet *set)
{
    Pst__QosRecord *rec = run_dup(run, am_qos(run->a->am, id));
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    char at[300];

    (void)where;
    if (!rec)
        return;
    run->r = qos_set(rec, set);
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    run_put_qos(run, rec);
    text_fields(&info, set->qos ? &set->qos->base : NULL);
    (void)snprintf(at, sizeof(at), "(name='%s')", rec->name);
    run_txn(run, "Modify QOS", NULL, NULL, NULL, at, strbuf_str(&info));
    run_name(run, rec->name);
    if (run_ok(run) && preempts_itself(run, id, id, 0))
        run_fail(run, ESLURM_QOS_PREEMPTION_LOOP, NULL);
    pst__qos_record__free_unpacked(rec, NULL);
}

void qos_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (run_is_admin(run))
        run_each(run, AM_QOS, qos_matches, modify_one, where, set);
    else
        run_deny(run);
}

/* ---- removing -------------------------------------------------------------------------------- */

static bool names_qos(const Pst__AssocRecord *a, uint32_t id)
{
    return (a->n_qos_ids && cond_has_id(a->qos_ids, a->n_qos_ids, id)) ||
           (a->n_qos_added && cond_has_id(a->qos_added, a->n_qos_added, id)) ||
           (a->n_qos_removed && cond_has_id(a->qos_removed, a->n_qos_removed, id)) ||
           (a->has_default_qos_id && a->default_qos_id == id);
}

/* No association may be left with the QOS. */
static void forget_qos(struct admin_run *run, uint32_t id)
{
    uint32_t *ids = NULL;
    size_t n = 0, pos = 0;
    struct assoc *a;
    const Pst__QosRecord *q;

    while ((a = am_next_assoc(run->a->am, &pos)))
        if (names_qos(a->rec, id) && id_list_add(&ids, &n, a->id) < 0)
            run->r = -ENOMEM;
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__AssocRecord *rec = run_dup(run, am_assoc(run->a->am, ids[i])->rec);

        if (!rec)
            break;
        id_list_remove(rec->qos_ids, &rec->n_qos_ids, id);
        id_list_remove(rec->qos_added, &rec->n_qos_added, id);
        id_list_remove(rec->qos_removed, &rec->n_qos_removed, id);
        if (rec->has_default_qos_id && rec->default_qos_id == id)
            rec->has_default_qos_id = 0;
        run_put_assoc(run, rec);
        pst__assoc_record__free_unpacked(rec, NULL);
    }
    free(ids);
    ids = NULL;
    n = pos = 0;
    while ((q = (const Pst__QosRecord *)am_next(run->a->am, AM_QOS, &pos)))
        if (q->n_preempt_ids && cond_has_id(q->preempt_ids, q->n_preempt_ids, id) &&
            id_list_add(&ids, &n, q->qos_id) < 0)
            run->r = -ENOMEM;
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__QosRecord *rec = run_dup(run, am_qos(run->a->am, ids[i]));

        if (!rec)
            break;
        id_list_remove(rec->preempt_ids, &rec->n_preempt_ids, id);
        run_put_qos(run, rec);
        pst__qos_record__free_unpacked(rec, NULL);
    }
    free(ids);
}

static void delete_one(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                       const Pst__AcctSet *set)
{
    Pst__QosRecord *rec = run_dup(run, am_qos(run->a->am, id));
    char at[300];

    (void)where;
    (void)set;
    if (!rec)
        return;
    run->r = rows_open_jobs(run, &(struct open_jobs){ .qos = rec->name });
    if (run->r == 0 && run->res->n_lines)
        run_fail(run, ESLURM_JOBS_RUNNING_ON_ASSOC, NULL);
    if (!run_ok(run)) {
        pst__qos_record__free_unpacked(rec, NULL);
        return;
    }
    forget_qos(run, id);
    rec->has_deleted = rec->deleted = 1; /* jobs tell their QOS by its number */
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    run_put_qos(run, rec);
    (void)snprintf(at, sizeof(at), "(name='%s')", rec->name);
    run_txn(run, "Remove QOS", NULL, NULL, NULL, at, "");
    run_name(run, rec->name);
    pst__qos_record__free_unpacked(rec, NULL);
}

/* A QOS that is the default of associations stays. */
static void check_defaults(struct admin_run *run, const Pst__AcctCond *where)
{
    const Pst__QosRecord *q;
    size_t at = 0;

    while ((q = (const Pst__QosRecord *)am_next(run->a->am, AM_QOS, &at))) {
        struct assoc *a;
        size_t pos = 0;

        if (!qos_matches(where, &q->base))
            continue;
        while ((a = am_next_assoc(run->a->am, &pos)))
            if (!a->rec->deleted && a->rec->has_default_qos_id &&
                a->rec->default_qos_id == q->qos_id)
                run_line(run, "DefQOS = %-10s C = %-10s A = %-20s%s%-*s", q->name, a->rec->cluster,
                         a->rec->account, a->user ? " U = " : "", a->user ? 9 : 0,
                         a->user ? a->rec->user : "");
    }
    if (run->res->n_lines)
        run_fail(run, ESLURM_NO_REMOVE_DEFAULT_QOS, NULL);
}

void qos_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        run_deny(run);
        return;
    }
    check_defaults(run, where);
    if (run_ok(run))
        run_each(run, AM_QOS, qos_matches, delete_one, where, set);
}
