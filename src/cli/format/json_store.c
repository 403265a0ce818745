/* json_store.c - records of the accounting store as JSON; see json_store.h */
#include "cli/format/json_store.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "model/words/clusterflags.h"

/* ---- tables ---------------------------------------------------------------------------------- */

const Pst__TresRecord *store_tres(const struct store_names *names, uint32_t id)
{
    for (size_t i = 0; i < names->n_tres; i++)
        if (names->tres[i]->tres_id == id)
            return names->tres[i];
    return NULL;
}

const char *store_qos_name(const struct store_names *names, uint32_t id)
{
    for (size_t i = 0; i < names->n_qos; i++)
        if (names->qos[i]->qos_id == id)
            return names->qos[i]->name;
    return NULL;
}

/* The schema's own names, so that what is written here is what the scheduler reads. */
const char *store_preempt_word(unsigned bit)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&pst__qos_preempt_mode__descriptor, (int)bit);

    return v ? v->name + strlen("QOS_PREEMPT_") : NULL;
}

const char *store_admin_word(Pst__AdminLevel level)
{
    switch (level) {
    case PST__ADMIN_LEVEL__ADMIN_OPERATOR:
        return "Operator";
    case PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR:
        return "Administrator";
    case PST__ADMIN_LEVEL__ADMIN_NONE:
        return "None";
    default:
        return "Not Set";
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void put_count(struct json *js, const char *key, protobuf_c_boolean has, int64_t value)
{
    if (has && value >= 0)
        json_set(js, key, (uint64_t)value);
    else
        json_infinite(js, key);
}

static void put_real(struct json *js, const char *key, bool has, double value)
{
    json_map(js, key);
    json_bool(js, "set", has);
    json_bool(js, "infinite", !has);
    json_double(js, "number", has ? value : 0);
    json_map_end(js);
}

static void put_tres_list(struct json *js, const struct store_names *names, const char *key,
                          Pst__TresCount *const *list, size_t n)
{
    json_list(js, key);
    for (size_t i = 0; i < n; i++) {
        const Pst__TresRecord *t = store_tres(names, list[i]->tres_id);

        json_map(js, NULL);
        json_str(js, "type", t ? t->type : "");
        json_str(js, "name", t ? t->name : "");
        json_int(js, "id", list[i]->tres_id);
        json_int(js, "count", list[i]->count);
        json_map_end(js);
    }
    json_list_end(js);
}
#define TRES(key, limits, field) put_tres_list(js, names, key, (limits)->field, (limits)->n_##field)
#define COUNT(key, limits, field) put_count(js, key, (limits)->has_##field, (limits)->field)

static const Pst__Limits *or_none(const Pst__Limits *l)
{
    static const Pst__Limits none = PST__LIMITS__INIT;

    return l ? l : &none;
}

static void per_two(struct json *js, const char *key, protobuf_c_boolean has_account,
                    int32_t account, protobuf_c_boolean has_user, int32_t user)
{
    if (key)
        json_map(js, key);
    json_map(js, "per");
    put_count(js, "account", has_account, account);
    put_count(js, "user", has_user, user);
    json_map_end(js);
    if (key)
        json_map_end(js);
}
#define PER_TWO(key, l, base)                                                                      \
    per_two(js, key, (l)->has_##base##_per_account, (l)->base##_per_account,                       \
            (l)->has_##base##_per_user, (l)->base##_per_user)

/* ---- QOS ------------------------------------------------------------------------------------- */

const char *store_qos_flag(unsigned bit)
{
    static const char *const words[] = {
        [PST__QOS_FLAG__QOS_DENY_ON_LIMIT] = "DENY_LIMIT",
        [PST__QOS_FLAG__QOS_ENFORCE_USAGE_THRESHOLD] = "ENFORCE_USAGE_THRESHOLD",
        [PST__QOS_FLAG__QOS_NO_DECAY] = "NO_DECAY",
        [PST__QOS_FLAG__QOS_NO_RESERVE] = "NO_RESERVE",
        [PST__QOS_FLAG__QOS_OVER_PART_QOS] = "OVERRIDE_PARTITION_QOS",
        [PST__QOS_FLAG__QOS_PARTITION_MAX_NODES] = "PARTITION_MAXIMUM_NODE",
        [PST__QOS_FLAG__QOS_PARTITION_MIN_NODES] = "PARTITION_MINIMUM_NODE",
        [PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT] = "PARTITION_TIME_LIMIT",
        [PST__QOS_FLAG__QOS_RELATIVE] = "RELATIVE",
        [PST__QOS_FLAG__QOS_REQUIRES_RESERVATION] = "REQUIRED_RESERVATION",
        [PST__QOS_FLAG__QOS_USAGE_FACTOR_SAFE] = "USAGE_FACTOR_SAFE",
    };

    return bit < ARRAY_SIZE(words) ? words[bit] : NULL;
}

static void qos_flags(struct json *js, uint32_t flags)
{
    json_list(js, "flags");
    for (unsigned i = 0; store_qos_flag(i); i++)
        if (flags & 1u << i)
            json_str(js, NULL, store_qos_flag(i));
    json_list_end(js);
}

static void qos_max(struct json *js, const struct store_names *names, const Pst__Limits *l)
{
    json_map(js, "max");
    json_map(js, "active_jobs");
    COUNT("accruing", l, grp_jobs_accrue);
    COUNT("count", l, grp_jobs);
    json_map_end(js);
    json_map(js, "jobs");
    COUNT("count", l, grp_submit_jobs);
    PER_TWO("active_jobs", l, max_jobs);
    PER_TWO(NULL, l, max_submit_jobs);
    json_map_end(js);
    json_map(js, "tres");
    TRES("total", l, grp_tres);
    json_map(js, "minutes");
    TRES("total", l, grp_tres_mins);
    json_map(js, "per");
    TRES("qos", l, grp_tres_run_mins);
    TRES("job", l, max_tres_mins_per_job);
    TRES("account", l, max_tres_run_mins_per_account);
    TRES("user", l, max_tres_run_mins_per_user);
    json_map_end(js);
    json_map_end(js);
    json_map(js, "per");
    TRES("account", l, max_tres_per_account);
    TRES("job", l, max_tres_per_job);
    TRES("node", l, max_tres_per_node);
    TRES("user", l, max_tres_per_user);
    json_map_end(js);
    json_map_end(js);
    json_map(js, "wall_clock");
    json_map(js, "per");
    COUNT("qos", l, grp_wall_min);
    COUNT("job", l, max_wall_min);
    json_map_end(js);
    json_map_end(js);
    PER_TWO("accruing", l, max_jobs_accrue);
    json_map_end(js);
}

static void qos_preempt(struct json *js, const struct store_names *names, const Pst__QosRecord *q)
{
    bool any = false;

    json_map(js, "preempt");
    json_list(js, "list");
    for (size_t i = 0; i < q->n_preempt_ids; i++)
        json_str(js, NULL, store_qos_name(names, q->preempt_ids[i]));
    json_list_end(js);
    json_list(js, "mode");
    for (unsigned i = PST__QOS_PREEMPT_MODE__QOS_PREEMPT_SUSPEND;
         q->has_preempt_mode && q->preempt_mode != UINT32_MAX &&
         i <= PST__QOS_PREEMPT_MODE__QOS_PREEMPT_GANG;
         i++)
        if (q->preempt_mode & 1u << i) {
            json_str(js, NULL, store_preempt_word(i));
            any = true;
        }
    if (!any)
        json_str(js, NULL, "DISABLED");
    json_list_end(js);
    put_count(js, "exempt_time", q->has_preempt_exempt_s, q->preempt_exempt_s);
    json_map_end(js);
}

void json_store_qos(struct json *js, const Pst__QosRecord *q, const struct store_names *names)
{
    const Pst__Limits *l = or_none(q->limits);

    json_map(js, NULL);
    json_str(js, "description", q->description);
    qos_flags(js, q->flags);
    json_int(js, "id", q->qos_id);
    json_map(js, "limits");
    json_int(js, "grace_time", q->grace_s);
    qos_max(js, names, l);
    put_real(js, "factor", q->has_limit_factor, q->limit_factor);
    json_map(js, "min");
    COUNT("priority_threshold", l, min_prio_threshold);
    json_map(js, "tres");
    json_map(js, "per");
    TRES("job", l, min_tres_per_job);
    json_map_end(js);
    json_map_end(js);
    json_map_end(js);
    json_map_end(js);
    json_str(js, "name", q->name);
    qos_preempt(js, names, q);
    json_set(js, "priority", q->priority);
    put_real(js, "usage_factor", true, q->has_usage_factor ? q->usage_factor : 1);
    put_real(js, "usage_threshold", q->has_usage_threshold, q->usage_threshold);
    json_map_end(js);
}

/* ---- associations ---------------------------------------------------------------------------- */

static void assoc_max(struct json *js, const struct store_names *names, const Pst__Limits *l)
{
    json_map(js, "max");
    json_map(js, "jobs");
    json_map(js, "per");
    COUNT("count", l, grp_jobs);
    COUNT("accruing", l, grp_jobs_accrue);
    COUNT("submitted", l, grp_submit_jobs);
    COUNT("wall_clock", l, max_wall_min);
    json_map_end(js);
    COUNT("active", l, max_jobs);
    COUNT("accruing", l, max_jobs_accrue);
    COUNT("total", l, max_submit_jobs);
    json_map_end(js);
    json_map(js, "tres");
    TRES("total", l, grp_tres);
    json_map(js, "group");
    TRES("minutes", l, grp_tres_mins);
    TRES("active", l, grp_tres_run_mins);
    json_map_end(js);
    json_map(js, "minutes");
    TRES("total", l, max_tres_run_mins);
    json_map(js, "per");
    TRES("job", l, max_tres_mins_per_job);
    json_map_end(js);
    json_map_end(js);
    json_map(js, "per");
    TRES("job", l, max_tres_per_job);
    TRES("node", l, max_tres_per_node);
    json_map_end(js);
    json_map_end(js);
    json_map(js, "per");
    json_map(js, "account");
    COUNT("wall_clock", l, grp_wall_min);
    json_map_end(js);
    json_map_end(js);
    json_map_end(js);
}

/* What a level adds to the list of the one above, and takes from it. */
static void put_signed(struct json *js, const struct store_names *names, char sign,
                       const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct strbuf *sb = json_scratch(js);
        const char *name = store_qos_name(names, ids[i]);

        strbuf_addc(sb, sign);
        strbuf_add(sb, name ? name : "");
        json_str_n(js, NULL, sb->buf, sb->len);
    }
}

void json_store_assoc(struct json *js, const Pst__AssocRecord *a, const struct store_names *names)
{
    const Pst__Limits *l = or_none(a->limits);

    json_map(js, NULL);
    json_list(js, "accounting");
    json_list_end(js);
    json_str(js, "account", a->account);
    json_str(js, "cluster", a->cluster);
    json_str(js, "comment", a->comment);
    json_map(js, "default");
    json_str(js, "qos", a->has_default_qos_id ? store_qos_name(names, a->default_qos_id) : "");
    json_map_end(js);
    json_list(js, "flags");
    if (a->deleted)
        json_str(js, NULL, "DELETED");
    json_list_end(js);
    assoc_max(js, names, l);
    json_int(js, "id", a->assoc_id);
    json_bool(js, "is_default", a->is_default);
    json_str(js, "lineage", a->lineage);
    json_map(js, "min");
    COUNT("priority_threshold", l, min_prio_threshold);
    json_map_end(js);
    json_str(js, "parent_account", a->parent_account);
    json_str(js, "partition", a->partition);
    json_number(js, "priority", a->has_priority, !a->has_priority, a->priority);
    json_list(js, "qos");
    for (size_t i = 0; i < a->n_qos_ids; i++)
        json_str(js, NULL, store_qos_name(names, a->qos_ids[i]));
    put_signed(js, names, '+', a->qos_added, a->n_qos_added);
    put_signed(js, names, '-', a->qos_removed, a->n_qos_removed);
    json_list_end(js);
    json_int(js, "shares_raw", a->shares_parent ? INT32_MAX : a->has_shares ? a->shares : 1);
    json_str(js, "user", a->user);
    json_map_end(js);
}

static void assoc_short(struct json *js, const char *key, const Pst__AssocRecord *a)
{
    json_map(js, key);
    json_str(js, "account", a->account);
    json_str(js, "cluster", a->cluster);
    json_str(js, "partition", a->partition);
    json_str(js, "user", a->user);
    json_int(js, "id", a->assoc_id);
    json_map_end(js);
}

/* ---- users and accounts ---------------------------------------------------------------------- */

static void put_coordinator(struct json *js, const char *name)
{
    json_map(js, NULL);
    json_str(js, "name", name);
    json_bool(js, "direct", true);
    json_map_end(js);
}

void json_store_wckey(struct json *js, const Pst__WckeyRecord *w)
{
    json_map(js, NULL);
    json_list(js, "accounting");
    json_list_end(js);
    json_str(js, "cluster", w->cluster);
    json_int(js, "id", w->wckey_id);
    json_str(js, "name", w->name);
    json_str(js, "user", w->user);
    json_list(js, "flags");
    if (w->deleted)
        json_str(js, NULL, "DELETED");
    json_list_end(js);
    json_map_end(js);
}

static void user_coordinators(struct json *js, const struct store_people *people,
                              const Pst__UserRecord *u)
{
    json_list(js, "coordinators");
    for (size_t i = 0; people->with_coord && i < people->n_accounts; i++) {
        const Pst__AccountRecord *a = people->accounts[i];

        for (size_t k = 0; k < a->n_coordinators; k++)
            if (strcmp(a->coordinators[k], u->name) == 0)
                put_coordinator(js, a->name);
    }
    json_list_end(js);
}

void json_store_user(struct json *js, const Pst__UserRecord *u, const struct store_people *people)
{
    const Pst__AssocRecord *def = NULL;

    json_map(js, NULL);
    json_one(js, "administrator_level", store_admin_word(u->admin_level));
    json_list(js, "associations");
    for (size_t i = 0; i < people->n_assocs; i++) {
        const Pst__AssocRecord *a = people->assocs[i];

        if (!a->user || strcmp(a->user, u->name) != 0)
            continue;
        if (people->with_default && a->is_default && !def)
            def = a;
        if (people->with_assoc)
            assoc_short(js, NULL, a);
    }
    json_list_end(js);
    user_coordinators(js, people, u);
    json_map(js, "default");
    json_int(js, "qos", def && def->has_default_qos_id ? def->default_qos_id : 0);
    json_str(js, "account", def ? def->account : "");
    json_str(js, "wckey", people->with_default ? u->default_wckey : "");
    json_map_end(js);
    json_one(js, "flags", u->deleted ? "DELETED" : "NONE");
    json_str(js, "name", u->name);
    json_str(js, "old_name", "");
    json_list(js, "wckeys");
    for (size_t i = 0; i < people->n_wckeys; i++)
        if (strcmp(people->wckeys[i]->user, u->name) == 0)
            json_store_wckey(js, people->wckeys[i]);
    json_list_end(js);
    json_map_end(js);
}

void json_store_account(struct json *js, const Pst__AccountRecord *a,
                        const struct store_people *people)
{
    json_map(js, NULL);
    json_list(js, "associations");
    for (size_t i = 0; people->with_assoc && i < people->n_assocs; i++)
        if (strcasecmp(people->assocs[i]->account, a->name) == 0)
            assoc_short(js, NULL, people->assocs[i]);
    json_list_end(js);
    json_list(js, "coordinators");
    for (size_t i = 0; people->with_coord && i < a->n_coordinators; i++)
        put_coordinator(js, a->coordinators[i]);
    json_list_end(js);
    json_str(js, "description", a->description);
    json_str(js, "name", a->name);
    json_str(js, "organization", a->organization);
    json_list(js, "flags");
    if (a->deleted)
        json_str(js, NULL, "DELETED");
    if (a->users_are_coords)
        json_str(js, NULL, "UsersAreCoords");
    json_list_end(js);
    json_map_end(js);
}

/* ---- clusters and TRES ----------------------------------------------------------------------- */

void json_store_tres(struct json *js, const Pst__TresRecord *t)
{
    json_map(js, NULL);
    json_str(js, "type", t->type);
    json_str(js, "name", t->name);
    json_int(js, "id", t->tres_id);
    json_int(js, "count", 0);
    json_map_end(js);
}

/* The count of a number in "1=8,2=16000"; 0: it is not there. */
static long long registered_count(const char *text, uint32_t tres_id)
{
    while (text && *text) {
        char *end;
        unsigned long id = strtoul(text, &end, 10);

        if (id == tres_id && *end == '=')
            return strtoll(end + 1, NULL, 10);
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return 0;
}

/* Every resource that is tracked, those that the cluster has none of too.  A cluster that never
 * registered has no list. */
static void put_registered(struct json *js, const struct store_names *names, const char *text)
{
    json_list(js, "tres");
    for (size_t i = 0; text && *text && i < names->n_tres; i++) {
        const Pst__TresRecord *t = names->tres[i];

        json_map(js, NULL);
        json_str(js, "type", t->type);
        json_str(js, "name", t->name);
        json_int(js, "id", t->tres_id);
        json_int(js, "count", registered_count(text, t->tres_id));
        json_map_end(js);
    }
    json_list_end(js);
}

void json_store_cluster(struct json *js, const Pst__AcctClusterRecord *c,
                        const struct store_people *people, const struct store_names *names)
{
    json_map(js, NULL);
    json_map(js, "controller");
    json_str(js, "host", c->control_host);
    json_int(js, "port", c->control_port);
    json_map_end(js);
    json_list(js, "flags");
    if (c->deleted)
        json_str(js, NULL, "DELETED");
    if (c->flags & CLUSTER_MULTIPLE_SLURMD)
        json_str(js, NULL, "MULTIPLE_SLURMD");
    if (c->federation && *c->federation)
        json_str(js, NULL, "FEDERATION");
    json_list_end(js);
    json_str(js, "name", c->name);
    json_str(js, "nodes", c->nodes);
    json_map(js, "associations");
    for (size_t i = 0; i < people->n_assocs; i++) {
        const Pst__AssocRecord *a = people->assocs[i];

        if (strcmp(a->cluster, c->name) == 0 && strcmp(a->account, "root") == 0 &&
            !(a->user && *a->user))
            assoc_short(js, "root", a);
    }
    json_map_end(js);
    json_int(js, "rpc_version", c->protocol);
    put_registered(js, names, c->tres);
    json_map_end(js);
}
