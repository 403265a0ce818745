/* admin_limits.c - what a request sets, into records: limits, lists of TRES and QOS
 *
 * Pure functions over records.  A field's meaning is its type here: a count (-1 takes it away) or a
 * list of TRES (each merged for itself). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/pb/pbutil.h"

/* ---- lists of ids ---------------------------------------------------------------------------- */

int id_list_add(uint32_t **ids, size_t *n, uint32_t id)
{
    size_t at = 0;
    uint32_t *more;

    while (at < *n && (*ids)[at] < id)
        at++;
    if (at < *n && (*ids)[at] == id)
        return 0;
    more = reallocarray(*ids, *n + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    memmove(more + at + 1, more + at, (*n - at) * sizeof(*more));
    more[at] = id;
    *ids = more;
    (*n)++;
    return 0;
}

void id_list_remove(uint32_t *ids, size_t *n, uint32_t id)
{
    size_t keep = 0;

    for (size_t i = 0; i < *n; i++)
        if (ids[i] != id)
            ids[keep++] = ids[i];
    *n = keep;
}

/* ---- lists of TRES --------------------------------------------------------------------------- */

static void tres_remove(Pst__TresCount **list, size_t *n, size_t at)
{
    pst__tres_count__free_unpacked(list[at], NULL);
    memmove(list + at, list + at + 1, (*n - at - 1) * sizeof(list[0]));
    (*n)--;
}

static int64_t count_after(const Pst__TresCount *have, const Pst__TresCount *change)
{
    int64_t sum;

    switch (change->op) {
    case 1:
        if (!have)
            return MAX(change->count, 0);
        return __builtin_add_overflow(have->count, change->count, &sum) ? INT64_MAX : MAX(sum, 0);
    case 2:
        if (!have || __builtin_sub_overflow(have->count, change->count, &sum))
            return 0;
        return MAX(sum, 0);
    default:
        return change->count;
    }
}

static int tres_insert(Pst__TresCount ***list, size_t *n, size_t at, uint32_t id, int64_t count)
{
    Pst__TresCount **more = reallocarray(*list, *n + 1, sizeof(Pst__TresCount *));
    Pst__TresCount *t = malloc(sizeof(*t));

    if (more)
        *list = more;
    if (!more || !t) {
        free(t);
        return -ENOMEM;
    }
    pst__tres_count__init(t);
    t->has_tres_id = t->has_count = 1;
    t->tres_id = id;
    t->count = count;
    memmove(more + at + 1, more + at, (*n - at) * sizeof(Pst__TresCount *));
    more[at] = t;
    (*n)++;
    return 0;
}

int tres_list_merge(Pst__TresCount ***list, size_t *n, Pst__TresCount *const *src, size_t n_src)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_src; i++) {
        size_t at = 0;
        bool have;
        int64_t count;

        while (at < *n && (*list)[at]->tres_id < src[i]->tres_id)
            at++;
        have = at < *n && (*list)[at]->tres_id == src[i]->tres_id;
        count = count_after(have ? (*list)[at] : NULL, src[i]);
        if (count >= 0 && have)
            (*list)[at]->count = count;
        else if (count >= 0)
            r = tres_insert(list, n, at, src[i]->tres_id, count);
        else if (have)
            tres_remove(*list, n, at);
    }
    return r;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Fields of Limits are counts or lists of TRES, which their label tells. */
static bool is_list(const ProtobufCFieldDescriptor *f)
{
    return f->label == PROTOBUF_C_LABEL_REPEATED;
}

static bool is_present(const Pst__Limits *l, const ProtobufCFieldDescriptor *f)
{
    const char *base = (const char *)l;

    if (is_list(f))
        return *(const size_t *)(base + f->quantifier_offset) > 0;
    return *(const protobuf_c_boolean *)(base + f->quantifier_offset);
}

int limits_set(Pst__Limits **dst, const Pst__Limits *src)
{
    const ProtobufCMessageDescriptor *d = &pst__limits__descriptor;
    bool any = false;
    int r = 0;

    if (!src)
        return 0;
    if (!*dst) {
        *dst = malloc(sizeof(**dst));
        if (!*dst)
            return -ENOMEM;
        pst__limits__init(*dst);
    }
    for (unsigned i = 0; r == 0 && i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        char *to = (char *)*dst;
        const char *from = (const char *)src;

        if (!is_present(src, f))
            continue;
        if (is_list(f)) {
            r = tres_list_merge((Pst__TresCount ***)(to + f->offset),
                                (size_t *)(to + f->quantifier_offset),
                                *(Pst__TresCount *const *const *)(from + f->offset),
                                *(const size_t *)(from + f->quantifier_offset));
        } else {
            int32_t value = *(const int32_t *)(from + f->offset);

            *(protobuf_c_boolean *)(to + f->quantifier_offset) = value >= 0;
            *(int32_t *)(to + f->offset) = MAX(value, 0);
        }
    }
    for (unsigned i = 0; i < d->n_fields; i++)
        any |= is_present(*dst, &d->fields[i]);
    if (!any && r == 0) { /* nothing set is nothing there */
        pst__limits__free_unpacked(*dst, NULL);
        *dst = NULL;
    }
    return r;
}

static bool is_inheritable(const ProtobufCFieldDescriptor *f)
{
    return strncmp(f->name, "max_", 4) == 0;
}

bool limits_inheritable(const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;
    const ProtobufCMessageDescriptor *d = &pst__limits__descriptor;

    if (set->clear_qos || set->clear_default_qos)
        return true;
    if (!a)
        return false;
    if (a->n_qos_ids || a->n_qos_added || a->n_qos_removed || a->has_default_qos_id)
        return true;
    for (unsigned i = 0; a->limits && i < d->n_fields; i++)
        if (is_inheritable(&d->fields[i]) && is_present(a->limits, &d->fields[i]))
            return true;
    return false;
}

/* Does the child lack one of the counts of the list? */
static bool lacks_tres(const char *child, const char *set, const ProtobufCFieldDescriptor *f)
{
    Pst__TresCount *const *have = *(Pst__TresCount *const *const *)(child + f->offset);
    Pst__TresCount *const *want = *(Pst__TresCount *const *const *)(set + f->offset);
    size_t n_have = *(const size_t *)(child + f->quantifier_offset);
    size_t n_want = *(const size_t *)(set + f->quantifier_offset);

    for (size_t i = 0; i < n_want; i++) {
        size_t j = 0;

        while (j < n_have && have[j]->tres_id != want[i]->tres_id)
            j++;
        if (j == n_have)
            return true;
    }
    return false;
}

bool limits_inherited_by(const Pst__AssocRecord *child, const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;
    const ProtobufCMessageDescriptor *d = &pst__limits__descriptor;

    if (!child->n_qos_ids &&
        (set->clear_qos || (a && (a->n_qos_ids || a->n_qos_added || a->n_qos_removed))))
        return true;
    if (!child->has_default_qos_id && (set->clear_default_qos || (a && a->has_default_qos_id)))
        return true;
    for (unsigned i = 0; a && a->limits && i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];

        if (!is_inheritable(f) || !is_present(a->limits, f))
            continue;
        if (!child->limits || !is_present(child->limits, f))
            return true;
        if (is_list(f) && lacks_tres((const char *)child->limits, (const char *)a->limits, f))
            return true;
    }
    return false;
}

/* ---- associations ---------------------------------------------------------------------------- */

bool set_has_assoc(const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;

    return set->clear_qos || set->clear_default_qos || set->parent || set->reset_usage ||
           (a && (a->has_shares || a->has_shares_parent || a->has_priority || a->limits ||
                  a->n_qos_ids || a->n_qos_added || a->n_qos_removed || a->has_default_qos_id ||
                  a->comment));
}

static int set_qos(Pst__AssocRecord *rec, const Pst__AssocRecord *a)
{
    int r = 0;

    if (a->n_qos_ids) {
        rec->n_qos_ids = rec->n_qos_added = rec->n_qos_removed = 0;
        for (size_t i = 0; r == 0 && i < a->n_qos_ids; i++)
            r = id_list_add(&rec->qos_ids, &rec->n_qos_ids, a->qos_ids[i]);
    }
    for (size_t i = 0; r == 0 && i < a->n_qos_added; i++) {
        if (rec->n_qos_ids) {
            r = id_list_add(&rec->qos_ids, &rec->n_qos_ids, a->qos_added[i]);
        } else {
            id_list_remove(rec->qos_removed, &rec->n_qos_removed, a->qos_added[i]);
            r = id_list_add(&rec->qos_added, &rec->n_qos_added, a->qos_added[i]);
        }
    }
    for (size_t i = 0; r == 0 && i < a->n_qos_removed; i++) {
        if (rec->n_qos_ids) {
            id_list_remove(rec->qos_ids, &rec->n_qos_ids, a->qos_removed[i]);
        } else {
            id_list_remove(rec->qos_added, &rec->n_qos_added, a->qos_removed[i]);
            r = id_list_add(&rec->qos_removed, &rec->n_qos_removed, a->qos_removed[i]);
        }
    }
    return r;
}

void assoc_set(struct admin_run *run, Pst__AssocRecord *rec, const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;
    int r = 0;

    if (set->clear_qos)
        rec->n_qos_ids = rec->n_qos_added = rec->n_qos_removed = 0;
    if (set->clear_default_qos)
        rec->has_default_qos_id = 0;
    if (a) {
        if (a->has_shares_parent && a->shares_parent) {
            rec->has_shares_parent = rec->shares_parent = 1;
            rec->has_shares = 0;
        } else if (a->has_shares) {
            rec->has_shares_parent = 0;
            rec->has_shares = a->shares != ADMIN_CLEAR;
            rec->shares = a->shares;
        }
        if (a->has_priority) {
            rec->has_priority = a->priority != ADMIN_CLEAR;
            rec->priority = a->priority;
        }
        if (a->has_default_qos_id) {
            rec->has_default_qos_id = 1;
            rec->default_qos_id = a->default_qos_id;
        }
        if (a->comment)
            r = pb_set_str(&rec->comment, a->comment[0] ? a->comment : NULL);
        if (r == 0)
            r = set_qos(rec, a);
        if (r == 0)
            r = limits_set(&rec->limits, a->limits);
    }
    if (r < 0 && run->r == 0)
        run->r = r;
}
