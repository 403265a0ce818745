/* restdbread.c - records of bodies as settings of a request; see restdbread.h */
#include "rest/db/restdbread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "rest/restcall.h"

#define CLEAR UINT32_MAX /* takes a number away */
#define SHARES_PARENT INT32_MAX
#define NO_QOS UINT32_MAX

/* Where a limit stands in the body, and the field of Limits. */
struct place {
    const char *path, *field;
};

static const struct place assoc_places[] = {
    { "max.jobs.per.count", "grp_jobs" },
    { "max.jobs.per.accruing", "grp_jobs_accrue" },
    { "max.jobs.per.submitted", "grp_submit_jobs" },
    { "max.jobs.per.wall_clock", "max_wall_min" },
    { "max.jobs.active", "max_jobs" },
    { "max.jobs.accruing", "max_jobs_accrue" },
    { "max.jobs.total", "max_submit_jobs" },
    { "max.tres.total", "grp_tres" },
    { "max.tres.group.minutes", "grp_tres_mins" },
    { "max.tres.group.active", "grp_tres_run_mins" },
    { "max.tres.minutes.total", "max_tres_run_mins" },
    { "max.tres.minutes.per.job", "max_tres_mins_per_job" },
    { "max.tres.per.job", "max_tres_per_job" },
    { "max.tres.per.node", "max_tres_per_node" },
    { "max.per.account.wall_clock", "grp_wall_min" },
    { "min.priority_threshold", "min_prio_threshold" },
    { NULL, NULL },
};

static const struct place qos_places[] = {
    { "limits.max.active_jobs.accruing", "grp_jobs_accrue" },
    { "limits.max.active_jobs.count", "grp_jobs" },
    { "limits.max.jobs.count", "grp_submit_jobs" },
    { "limits.max.jobs.active_jobs.per.account", "max_jobs_per_account" },
    { "limits.max.jobs.active_jobs.per.user", "max_jobs_per_user" },
    { "limits.max.jobs.per.account", "max_submit_jobs_per_account" },
    { "limits.max.jobs.per.user", "max_submit_jobs_per_user" },
    { "limits.max.tres.total", "grp_tres" },
    { "limits.max.tres.minutes.total", "grp_tres_mins" },
    { "limits.max.tres.minutes.per.qos", "grp_tres_run_mins" },
    { "limits.max.tres.minutes.per.job", "max_tres_mins_per_job" },
    { "limits.max.tres.minutes.per.account", "max_tres_run_mins_per_account" },
    { "limits.max.tres.minutes.per.user", "max_tres_run_mins_per_user" },
    { "limits.max.tres.per.account", "max_tres_per_account" },
    { "limits.max.tres.per.job", "max_tres_per_job" },
    { "limits.max.tres.per.node", "max_tres_per_node" },
    { "limits.max.tres.per.user", "max_tres_per_user" },
    { "limits.max.wall_clock.per.qos", "grp_wall_min" },
    { "limits.max.wall_clock.per.job", "max_wall_min" },
    { "limits.max.accruing.per.account", "max_jobs_accrue_per_account" },
    { "limits.max.accruing.per.user", "max_jobs_accrue_per_user" },
    { "limits.min.priority_threshold", "min_prio_threshold" },
    { "limits.min.tres.per.job", "min_tres_per_job" },
    { NULL, NULL },
};

static const struct place set_places[] = {
    { "grpjobs", "grp_jobs" },
    { "grpjobsaccrue", "grp_jobs_accrue" },
    { "grpsubmitjobs", "grp_submit_jobs" },
    { "grptres", "grp_tres" },
    { "grptresmins", "grp_tres_mins" },
    { "grptresrunmins", "grp_tres_run_mins" },
    { "grpwall", "grp_wall_min" },
    { "maxjobs", "max_jobs" },
    { "maxjobsaccrue", "max_jobs_accrue" },
    { "maxsubmitjobs", "max_submit_jobs" },
    { "maxtresminsperjob", "max_tres_mins_per_job" },
    { "maxtresrunmins", "max_tres_run_mins" },
    { "maxtresperjob", "max_tres_per_job" },
    { "maxtrespernode", "max_tres_per_node" },
    { "maxwalldurationperjob", "max_wall_min" },
    { "minpriothresh", "min_prio_threshold" },
    { NULL, NULL },
};

struct reading {
    const struct store_names *names;
    Pst__AcctSet *set;
    struct err *err;
    int r; /* the first failure */
    bool any;
};

static void note_failure(struct reading *rd, int r)
{
    if (rd->r == 0)
        rd->r = r;
}

/* "max.jobs.active" of an object; NULL: not there. */
static const json_t *find_member(const json_t *object, const char *path)
{
    while (object && *path) {
        char key[64];
        size_t len = strcspn(path, ".");

        (void)snprintf(key, sizeof(key), "%.*s", (int)len, path); /* our own paths fit */
        object = json_object_get(object, key);
        path += len + (path[len] == '.');
    }
    return object;
}

/* A record inside the settings, made when it is first needed. */
static void *need_record(struct reading *rd, void *field, const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage **at = field;

    if (!*at) {
        *at = calloc(1, type->sizeof_message);
        if (*at)
            protobuf_c_message_init(type, *at);
        else
            note_failure(rd, -ENOMEM);
    }
    rd->any |= *at != NULL;
    return *at;
}

static Pst__AssocRecord *need_assoc(struct reading *rd)
{
    return need_record(rd, &rd->set->assoc, &pst__assoc_record__descriptor);
}

static Pst__QosRecord *need_qos(struct reading *rd)
{
    return need_record(rd, &rd->set->qos, &pst__qos_record__descriptor);
}

static void set_text(struct reading *rd, char **field, const char *text)
{
    if (pb_set_str(field, text) < 0)
        note_failure(rd, -ENOMEM);
    rd->any = true;
}

/* ---- TRES ------------------------------------------------------------------------------------ */

static const Pst__TresRecord *tres_of(const struct store_names *names, const json_t *item)
{
    const char *type = rest_text(item, "type"), *name = rest_text(item, "name");
    struct rest_number id = rest_number(json_object_get(item, "id"));

    for (size_t i = 0; type && *type && i < names->n_tres; i++)
        if (strcasecmp(names->tres[i]->type, type) == 0 && same_text(names->tres[i]->name, name))
            return names->tres[i];
    return (!type || !*type) && id.set && id.value && id.value <= UINT32_MAX
               ? store_tres(names, (uint32_t)id.value)
               : NULL;
}

static void add_tres(struct reading *rd, Pst__TresCount ***list, size_t *n, uint32_t id,
                     int64_t count)
{
    Pst__TresCount **more = reallocarray(*list, *n + 1, sizeof(Pst__TresCount *));
    Pst__TresCount *t = malloc(sizeof(*t));

    if (more)
        *list = more;
    if (!more || !t) {
        free(t);
        note_failure(rd, -ENOMEM);
        return;
    }
    pst__tres_count__init(t);
    t->has_tres_id = t->has_count = 1;
    t->tres_id = id;
    t->count = count;
    more[(*n)++] = t;
}

static const Pst__TresCount *count_of(Pst__TresCount *const *list, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->tres_id == id)
            return list[i];
    return NULL;
}

struct tres_list {
    Pst__TresCount **items;
    size_t n;
};

static void free_tres(struct tres_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        pst__tres_count__free_unpacked(list->items[i], NULL);
    free(list->items);
}

/* The list of a body. */
static void read_tres(struct reading *rd, const json_t *value, struct tres_list *ret)
{
    json_t *item;
    size_t i;

    if (json_array_size(value) > RESTDB_TRES_MAX) {
        note_failure(rd, err_set(rd->err, -EINVAL, "more than %d TRES", RESTDB_TRES_MAX));
        return;
    }
    json_array_foreach(value, i, item)
    {
        const Pst__TresRecord *t = tres_of(rd->names, item);
        struct rest_number count = rest_number(json_object_get(item, "count"));
        const char *type = rest_text(item, "type"), *name = rest_text(item, "name");

        if (!t) {
            note_failure(rd, err_set(rd->err, -EINVAL, "there is no TRES %.64s%s%.64s",
                                     type ? type : "", name && *name ? "/" : "", name ? name : ""));
            return;
        }
        if (count.set && count.value > INT64_MAX) {
            /* -1 of a 64-bit number: without a limit */
            continue;
        }
        if (count.set)
            add_tres(rd, &ret->items, &ret->n, t->tres_id, (int64_t)count.value);
    }
}

/* What makes `old` into `new`. */
static void tres_difference(struct reading *rd, const struct tres_list *new,
                            const struct tres_list *old, struct tres_list *ret)
{
    for (size_t i = 0; i < new->n; i++) {
        const Pst__TresCount *t = count_of(old->items, old->n, new->items[i]->tres_id);

        if (!t || t->count != new->items[i]->count)
            add_tres(rd, &ret->items, &ret->n, new->items[i]->tres_id, new->items[i]->count);
    }
    for (size_t i = 0; i < old->n; i++)
        if (!count_of(new->items, new->n, old->items[i]->tres_id))
            add_tres(rd, &ret->items, &ret->n, old->items[i]->tres_id, -1);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit_tres(struct reading *rd, const json_t *value, const Pst__Limits *have,
                       Pst__Limits **limits, const ProtobufCFieldDescriptor *f)
{
    _cleanup_val_(free_tres) struct tres_list new = { 0 }, change = { 0 };
    struct tres_list old = { 0 };
    char *base;

    if (!json_is_array(value))
        return;
    if (have) {
        old.items = *(Pst__TresCount ***)((char *)have + f->offset); /* only read */
        old.n = *(const size_t *)((const char *)have + f->quantifier_offset);
    }
    read_tres(rd, value, &new);
    if (rd->r == 0)
        tres_difference(rd, &new, &old, &change);
    if (rd->r < 0 || !change.n)
        return;
    base = need_record(rd, limits, &pst__limits__descriptor);
    if (!base)
        return;
    *(Pst__TresCount ***)(base + f->offset) = TAKE_PTR(change.items);
    *(size_t *)(base + f->quantifier_offset) = change.n;
    change.n = 0;
}

static void limit_count(struct reading *rd, const json_t *value, const Pst__Limits *have,
                        Pst__Limits **limits, const ProtobufCFieldDescriptor *f)
{
    struct rest_number n = rest_number(value);
    int64_t to = n.infinite ? -1 : (int64_t)MIN(n.value, (uint64_t)INT64_MAX), was = -1;
    char *base;

    if (have && *(const protobuf_c_boolean *)((const char *)have + f->quantifier_offset))
        was = *(const int32_t *)((const char *)have + f->offset);
    if (n.set && n.value >= CLEAR) /* as infinite as a 32-bit number is */
        to = -1;
    if ((!n.set && !n.infinite) || to == MAX(was, -1))
        return;
    if (to > INT32_MAX) {
        note_failure(rd, err_set(rd->err, -EINVAL, "%s: %llu is too much", f->name,
                                 (unsigned long long)n.value));
        return;
    }
    base = need_record(rd, limits, &pst__limits__descriptor);
    if (!base)
        return;
    *(protobuf_c_boolean *)(base + f->quantifier_offset) = 1;
    *(int32_t *)(base + f->offset) = (int32_t)to;
}

/* The limits of a body into *limits, which stays NULL when none differs. */
static void read_limits(struct reading *rd, const json_t *body, const struct place *places,
                        const Pst__Limits *have, Pst__Limits **limits)
{
    for (; places->path && rd->r == 0; places++) {
        const json_t *value = find_member(body, places->path);
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
            &pst__limits__descriptor, places->field);

        if (!value || !f)
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            limit_tres(rd, value, have, limits, f);
        else
            limit_count(rd, value, have, limits, f);
    }
}

/* ---- QOS by name ----------------------------------------------------------------------------- */

static uint32_t qos_of(const struct store_names *names, const char *name)
{
    for (size_t i = 0; i < names->n_qos; i++)
        if (!names->qos[i]->deleted && strcasecmp(names->qos[i]->name, name) == 0)
            return names->qos[i]->qos_id;
    return NO_QOS;
}

struct id_list {
    uint32_t *ids;
    size_t n;
};

static bool has_id(const uint32_t *ids, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void add_id(struct reading *rd, struct id_list *list, uint32_t id)
{
    uint32_t *more;

    if (has_id(list->ids, list->n, id))
        return;
    more = reallocarray(list->ids, list->n + 1, sizeof(*more));
    if (!more) {
        note_failure(rd, -ENOMEM);
        return;
    }
    list->ids = more;
    more[list->n++] = id;
}

static bool same_ids(const struct id_list *a, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!has_id(a->ids, a->n, ids[i]))
            return false;
    return a->n == n;
}

/* Names of QOS; those with a sign in lists of their own (signed NULL: a sign is part of the
 * name). */
static void read_qos_names(struct reading *rd, const json_t *value, struct id_list *plain,
                           struct id_list *added, struct id_list *removed)
{
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item)
    {
        const char *name = json_string_value(item);
        struct id_list *to = plain;
        uint32_t id;

        if (!name || !*name)
            continue;
        if (added && (*name == '+' || *name == '-'))
            to = *name++ == '+' ? added : removed;
        id = qos_of(rd->names, name);
        if (id == NO_QOS)
            note_failure(rd, err_set(rd->err, -EINVAL, "there is no QOS %.64s", name));
        else
            add_id(rd, to, id);
    }
}

static void give_ids(uint32_t **field, size_t *n, struct id_list *list)
{
    *field = list->ids;
    *n = list->n;
    *list = (struct id_list){ 0 };
}

/* ---- associations ---------------------------------------------------------------------------- */

static void read_qos_list(struct reading *rd, const json_t *value, const Pst__AssocRecord *have)
{
    struct id_list plain = { 0 }, added = { 0 }, removed = { 0 };
    Pst__AssocRecord *a;

    if (!json_is_array(value))
        return;
    read_qos_names(rd, value, &plain, &added, &removed);
    if (rd->r == 0 && !json_array_size(value)) {
        if (have && have->n_qos_ids)
            rd->set->has_clear_qos = rd->set->clear_qos = rd->any = true;
    } else if (rd->r == 0 && !(have && !added.n && !removed.n &&
                               same_ids(&plain, have->qos_ids, have->n_qos_ids))) {
        a = need_assoc(rd);
        if (a) {
            give_ids(&a->qos_ids, &a->n_qos_ids, &plain);
            give_ids(&a->qos_added, &a->n_qos_added, &added);
            give_ids(&a->qos_removed, &a->n_qos_removed, &removed);
        }
    }
    free(plain.ids);
    free(added.ids);
    free(removed.ids);
}

static void read_default_qos(struct reading *rd, const char *name, const Pst__AssocRecord *have)
{
    bool has = have && have->has_default_qos_id;
    Pst__AssocRecord *a;
    uint32_t id;

    if (!name)
        return;
    if (!*name) {
        if (has)
            rd->set->has_clear_default_qos = rd->set->clear_default_qos = rd->any = true;
        return;
    }
    id = qos_of(rd->names, name);
    if (id == NO_QOS) {
        note_failure(rd, err_set(rd->err, -EINVAL, "there is no QOS %.64s", name));
        return;
    }
    if (has && have->default_qos_id == id)
        return;
    a = need_assoc(rd);
    if (a) {
        a->has_default_qos_id = 1;
        a->default_qos_id = id;
    }
}

static void read_shares(struct reading *rd, const json_t *value, const Pst__AssocRecord *have)
{
    struct rest_number n = rest_number(value);
    uint32_t was = !have                 ? 1
                   : have->shares_parent ? SHARES_PARENT
                   : have->has_shares    ? have->shares
                                         : 1;
    Pst__AssocRecord *a;

    if (!n.set || n.value == was)
        return;
    if (n.value > SHARES_PARENT) {
        note_failure(
            rd, err_set(rd->err, -EINVAL, "shares: %llu is too much", (unsigned long long)n.value));
        return;
    }
    a = need_assoc(rd);
    if (a && n.value == SHARES_PARENT) {
        a->has_shares_parent = a->shares_parent = 1;
    } else if (a) {
        a->has_shares = 1;
        a->shares = (uint32_t)n.value;
    }
}

static void read_priority(struct reading *rd, const json_t *value, const Pst__AssocRecord *have)
{
    struct rest_number n = rest_number(value);
    bool has = have && have->has_priority;
    Pst__AssocRecord *a;

    if ((!n.set && !n.infinite) || (n.infinite && !has) ||
        (n.set && has && n.value == have->priority))
        return;
    if (n.set && n.value >= CLEAR) {
        note_failure(rd, err_set(rd->err, -EINVAL, "priority: %llu is too much",
                                 (unsigned long long)n.value));
        return;
    }
    a = need_assoc(rd);
    if (a) {
        a->has_priority = 1;
        a->priority = n.set ? (uint32_t)n.value : CLEAR;
    }
}

static void read_comment(struct reading *rd, const char *text, const Pst__AssocRecord *have)
{
    Pst__AssocRecord *a;

    if (!text || same_text(text, have ? have->comment : NULL))
        return;
    a = need_assoc(rd);
    if (a)
        set_text(rd, &a->comment, text);
}

static void read_assoc_limits(struct reading *rd, const json_t *body, const struct place *places,
                              const Pst__AssocRecord *have)
{
    Pst__Limits *limits = NULL;
    Pst__AssocRecord *a;

    read_limits(rd, body, places, have ? have->limits : NULL, &limits);
    if (!limits)
        return;
    a = need_assoc(rd);
    if (a)
        a->limits = limits;
    else
        pst__limits__free_unpacked(limits, NULL);
}

int restdbread_assoc(const json_t *body, const Pst__AssocRecord *have,
                     const struct store_names *names, Pst__AcctSet *set, struct err *err)
{
    struct reading rd = { .names = names, .set = set, .err = err };
    const char *user = rest_text(body, "user"), *parent = rest_text(body, "parent_account");
    const char *account = rest_text(body, "account");

    read_assoc_limits(&rd, body, assoc_places, have);
    read_qos_list(&rd, json_object_get(body, "qos"), have);
    read_default_qos(&rd, rest_text(json_object_get(body, "default"), "qos"), have);
    read_shares(&rd, json_object_get(body, "shares_raw"), have);
    read_priority(&rd, json_object_get(body, "priority"), have);
    read_comment(&rd, rest_text(body, "comment"), have);
    if (!(user && *user) && parent && *parent &&
        !(have && have->parent_account && strcasecmp(have->parent_account, parent) == 0))
        set_text(&rd, &set->parent, parent);
    if (user && *user && account && rest_true(body, "is_default") && !(have && have->is_default))
        set_text(&rd, &set->default_account, account);
    return rd.r < 0 ? rd.r : rd.any;
}

int restdbread_assoc_set(const json_t *body, const struct store_names *names, Pst__AcctSet *set,
                         struct err *err)
{
    struct reading rd = { .names = names, .set = set, .err = err };
    const char *parent = rest_text(body, "parent");

    read_assoc_limits(&rd, body, set_places, NULL);
    read_qos_list(&rd, json_object_get(body, "qoslevel"), NULL);
    read_default_qos(&rd, rest_text(body, "defaultqos"), NULL);
    read_shares(&rd, json_object_get(body, "fairshare"), NULL);
    read_priority(&rd, json_object_get(body, "priority"), NULL);
    read_comment(&rd, rest_text(body, "comment"), NULL);
    if (parent && *parent)
        set_text(&rd, &set->parent, parent);
    return rd.r < 0 ? rd.r : rd.any;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static void read_qos_flags(struct reading *rd, const json_t *value, const Pst__QosRecord *have)
{
    uint32_t flags = 0, was = have && have->has_flags ? have->flags : 0;
    bool add = false, take = false;
    Pst__QosRecord *q;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item)
    {
        const char *word = json_string_value(item);

        add |= word && strcasecmp(word, "ADD") == 0;
        take |= word && strcasecmp(word, "REMOVE") == 0;
        for (unsigned bit = 0; word && store_qos_flag(bit); bit++)
            if (strcasecmp(word, store_qos_flag(bit)) == 0)
                flags |= 1u << bit;
    }
    if (!json_is_array(value))
        return;
    flags = add ? was | flags : take ? was & ~flags : flags;
    if (flags == was)
        return;
    q = need_qos(rd);
    if (q) {
        q->has_flags = 1;
        q->flags = flags ? flags : CLEAR;
    }
}

#define SHOWN_MODES 0x1eu /* SUSPEND to GANG */

static void read_preempt_mode(struct reading *rd, const json_t *value, const Pst__QosRecord *have)
{
    uint32_t was =
        have && have->has_preempt_mode && have->preempt_mode != CLEAR ? have->preempt_mode : 0;
    uint32_t modes = 0;
    Pst__QosRecord *q;
    json_t *item;
    size_t i;

    if (!json_is_array(value))
        return;
    json_array_foreach(value, i, item)
    {
        const char *word = json_string_value(item);

        for (unsigned bit = 1; word && store_preempt_word(bit); bit++)
            if (strcasecmp(word, store_preempt_word(bit)) == 0)
                modes |= 1u << bit;
    }
    if ((modes & SHOWN_MODES) == (was & SHOWN_MODES))
        return;
    modes |= was & ~(SHOWN_MODES | 1u);
    q = need_qos(rd);
    if (q) {
        q->has_preempt_mode = 1;
        q->preempt_mode = modes ? modes : CLEAR;
    }
}

static void read_preempt_list(struct reading *rd, const json_t *value, const Pst__QosRecord *have)
{
    struct id_list list = { 0 };
    Pst__QosRecord *q;

    if (!json_is_array(value))
        return;
    read_qos_names(rd, value, &list, NULL, NULL);
    if (rd->r == 0 &&
        !same_ids(&list, have ? have->preempt_ids : NULL, have ? have->n_preempt_ids : 0)) {
        if (!list.n) {
            rd->set->has_clear_preempt = rd->set->clear_preempt = rd->any = true;
        } else if ((q = need_qos(rd))) {
            give_ids(&q->preempt_ids, &q->n_preempt_ids, &list);
        }
    }
    free(list.ids);
}

/* A number of the record, absent when infinite. */
static void read_number(struct reading *rd, const json_t *value, bool has, uint32_t was,
                        size_t has_at, size_t at)
{
    struct rest_number n = rest_number(value);
    uint32_t to = n.infinite ? CLEAR : (uint32_t)MIN(n.value, (uint64_t)CLEAR);
    char *q;

    if ((!n.set && !n.infinite) || to == (has ? was : CLEAR))
        return;
    q = (char *)need_qos(rd);
    if (!q)
        return;
    *(protobuf_c_boolean *)(q + has_at) = 1;
    *(uint32_t *)(q + at) = to;
}

static bool same_real(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(1, fmax(fabs(a), fabs(b)));
}

static void read_real(struct reading *rd, const json_t *value, bool has, double was, size_t has_at,
                      size_t at)
{
    struct rest_number n = rest_number(value);
    double to = n.infinite ? -1 : n.real;
    char *q;

    if ((!n.set && !n.infinite) || (n.infinite && !has) || (n.set && has && same_real(to, was)))
        return;
    if (n.set && !(to >= 0)) {
        note_failure(rd, err_set(rd->err, -EINVAL, "a factor cannot be %g", to));
        return;
    }
    q = (char *)need_qos(rd);
    if (!q)
        return;
    *(protobuf_c_boolean *)(q + has_at) = 1;
    *(double *)(q + at) = to;
}
#define AT(field) offsetof(Pst__QosRecord, has_##field), offsetof(Pst__QosRecord, field)

static void read_qos_limits(struct reading *rd, const json_t *body, const Pst__QosRecord *have)
{
    Pst__Limits *limits = NULL;
    Pst__QosRecord *q;

    read_limits(rd, body, qos_places, have->limits, &limits);
    if (!limits)
        return;
    q = need_qos(rd);
    if (q)
        q->limits = limits;
    else
        pst__limits__free_unpacked(limits, NULL);
}

int restdbread_qos(const json_t *body, const Pst__QosRecord *have, const struct store_names *names,
                   Pst__AcctSet *set, struct err *err)
{
    static const Pst__QosRecord none = PST__QOS_RECORD__INIT;
    struct reading rd = { .names = names, .set = set, .err = err };
    const Pst__QosRecord *was = have ? have : &none;
    const char *text = rest_text(body, "description");
    Pst__QosRecord *q;

    if (text && !same_text(text, was->description) && (have || *text) && (q = need_qos(&rd)))
        set_text(&rd, &q->description, text);
    read_qos_limits(&rd, body, was);
    read_qos_flags(&rd, json_object_get(body, "flags"), was);
    read_preempt_mode(&rd, find_member(body, "preempt.mode"), was);
    read_preempt_list(&rd, find_member(body, "preempt.list"), was);
    read_number(&rd, find_member(body, "preempt.exempt_time"), was->has_preempt_exempt_s,
                was->preempt_exempt_s, AT(preempt_exempt_s));
    read_number(&rd, find_member(body, "priority"), true, was->priority, AT(priority));
    read_number(&rd, find_member(body, "limits.grace_time"), true, was->grace_s, AT(grace_s));
    read_real(&rd, find_member(body, "limits.factor"), was->has_limit_factor, was->limit_factor,
              AT(limit_factor));
    read_real(&rd, find_member(body, "usage_factor"), true,
              was->has_usage_factor ? was->usage_factor : 1, AT(usage_factor));
    read_real(&rd, find_member(body, "usage_threshold"), was->has_usage_threshold,
              was->usage_threshold, AT(usage_threshold));
    return rd.r < 0 ? rd.r : rd.any;
}

bool restdbread_qos_waits(const json_t *body, const struct store_names *names)
{
    const json_t *list = find_member(body, "preempt.list");
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(item);

        if (name && *name && qos_of(names, name) == NO_QOS)
            return true;
    }
    return false;
}

int restdbread_tres_text(const json_t *list, char **ret, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    json_t *item;
    size_t i;

    *ret = NULL;
    if (json_array_size(list) > RESTDB_TRES_MAX)
        return err_set(err, -EINVAL, "more than %d TRES", RESTDB_TRES_MAX);
    json_array_foreach(list, i, item)
    {
        const char *type = rest_text(item, "type"), *name = rest_text(item, "name");
        struct rest_number count = rest_number(json_object_get(item, "count"));

        if (!type || !*type || strpbrk(type, ",=") || (name && strpbrk(name, ",=")))
            return err_set(err, -EINVAL, "a TRES without a type");
        strbuf_addf(&sb, "%s%.64s%s%.64s=%llu", sb.len ? "," : "", type, name && *name ? "/" : "",
                    name ? name : "", (unsigned long long)count.value);
    }
    return sb.len ? strbuf_detach(&sb, ret) : 0;
}
