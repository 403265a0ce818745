/* sacctmgr_json.c - lists as JSON and YAML
 *
 * The shapes are those of the REST interface: records of the newest data_parser. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"

struct doc {
    struct smgr *s;
    struct smgr_line *l;
    struct strbuf out;
    struct json js;
    /* what users and accounts need beside their own records */
    ProtobufCMessage **assocs, **accounts, **wckeys;
    size_t n_assocs, n_accounts, n_wckeys;
    bool with_assoc, with_coord;
};

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

static void put_tres_list(struct doc *d, const char *key, Pst__TresCount *const *list, size_t n)
{
    struct json *js = &d->js;

    json_list(js, key);
    for (size_t i = 0; i < n; i++) {
        const Pst__TresRecord *t = smgr_tres(d->s, list[i]->tres_id);

        json_map(js, NULL);
        json_str(js, "type", t ? t->type : "");
        json_str(js, "name", t ? t->name : "");
        json_int(js, "id", list[i]->tres_id);
        json_int(js, "count", list[i]->count);
        json_map_end(js);
    }
    json_list_end(js);
}
#define TRES(key, limits, field) put_tres_list(d, key, (limits)->field, (limits)->n_##field)
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

static void keep_record(ProtobufCMessage ***list, size_t *n, const ProtobufCMessage *record)
{
    if ((*n & (*n - 1)) == 0)
        *list = xrealloc_or_die(*list, *n ? *n * 2 : 1, sizeof(**list));
    check_mem_or_die(pb_dup(record, &(*list)[*n]));
    (*n)++;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static void qos_flags(struct json *js, uint32_t flags)
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

    json_list(js, "flags");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (flags & 1u << i)
            json_str(js, NULL, words[i]);
    json_list_end(js);
}

static void qos_max(struct doc *d, const Pst__Limits *l)
{
    struct json *js = &d->js;

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

static void qos_preempt(struct doc *d, const Pst__QosRecord *q)
{
    struct json *js = &d->js;
    bool any = false;

    json_map(js, "preempt");
    json_list(js, "list");
    for (size_t i = 0; i < q->n_preempt_ids; i++)
        json_str(js, NULL, smgr_qos_name(d->s, q->preempt_ids[i]));
    json_list_end(js);
    json_list(js, "mode");
    for (unsigned i = PST__QOS_PREEMPT_MODE__QOS_PREEMPT_SUSPEND;
         q->has_preempt_mode && q->preempt_mode != UINT32_MAX &&
         i <= PST__QOS_PREEMPT_MODE__QOS_PREEMPT_GANG;
         i++)
        if (q->preempt_mode & 1u << i) {
            json_str(js, NULL, smgr_preempt_word(i));
            any = true;
        }
    if (!any)
        json_str(js, NULL, "DISABLED");
    json_list_end(js);
    put_count(js, "exempt_time", q->has_preempt_exempt_s, q->preempt_exempt_s);
    json_map_end(js);
}

static int put_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__QosRecord *q = (const Pst__QosRecord *)record;
    const Pst__Limits *l = or_none(q->limits);
    struct doc *d = ctx;
    struct json *js = &d->js;

    (void)info;
    json_map(js, NULL);
    json_str(js, "description", q->description);
    qos_flags(js, q->flags);
    json_int(js, "id", q->qos_id);
    json_map(js, "limits");
    json_int(js, "grace_time", q->grace_s);
    qos_max(d, l);
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
    qos_preempt(d, q);
    json_set(js, "priority", q->priority);
    put_real(js, "usage_factor", true, q->has_usage_factor ? q->usage_factor : 1);
    put_real(js, "usage_threshold", q->has_usage_threshold, q->usage_threshold);
    json_map_end(js);
    return 0;
}

/* ---- associations ---------------------------------------------------------------------------- */

static void assoc_max(struct doc *d, const Pst__Limits *l)
{
    struct json *js = &d->js;

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

static int put_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AssocRecord *a = (const Pst__AssocRecord *)record;
    const Pst__Limits *l = or_none(a->limits);
    struct doc *d = ctx;
    struct json *js = &d->js;

    (void)info;
    json_map(js, NULL);
    json_list(js, "accounting");
    json_list_end(js);
    json_str(js, "account", a->account);
    json_str(js, "cluster", a->cluster);
    json_str(js, "comment", a->comment);
    json_map(js, "default");
    json_str(js, "qos", a->has_default_qos_id ? smgr_qos_name(d->s, a->default_qos_id) : "");
    json_map_end(js);
    json_list(js, "flags");
    if (a->deleted)
        json_str(js, NULL, "DELETED");
    json_list_end(js);
    assoc_max(d, l);
    json_int(js, "id", a->assoc_id);
    json_bool(js, "is_default", a->is_default);
    json_str(js, "lineage", a->lineage);
    json_map(js, "min");
    COUNT("priority_threshold", l, min_prio_threshold);
    json_map_end(js);
    json_str(js, "parent_account", a->parent_account);
    json_str(js, "partition", a->partition);
    if (a->has_priority)
        json_set(js, "priority", a->priority);
    else
        json_unset(js, "priority");
    json_list(js, "qos");
    for (size_t i = 0; i < a->n_qos_ids; i++)
        json_str(js, NULL, smgr_qos_name(d->s, a->qos_ids[i]));
    json_list_end(js);
    json_int(js, "shares_raw", a->shares_parent ? INT32_MAX : a->has_shares ? a->shares : 1);
    json_str(js, "user", a->user);
    json_map_end(js);
    return 0;
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

static int keep_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    keep_record(&d->assocs, &d->n_assocs, record);
    return 0;
}

static int keep_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    keep_record(&d->accounts, &d->n_accounts, record);
    return 0;
}

static int keep_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    keep_record(&d->wckeys, &d->n_wckeys, record);
    return 0;
}

static void put_coordinator(struct json *js, const char *name)
{
    json_map(js, NULL);
    json_str(js, "name", name);
    json_bool(js, "direct", true);
    json_map_end(js);
}

static void put_wckey_record(struct json *js, const Pst__WckeyRecord *w)
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

static int put_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    put_wckey_record(&((struct doc *)ctx)->js, (const Pst__WckeyRecord *)record);
    return 0;
}

static void user_coordinators(struct doc *d, const Pst__UserRecord *u)
{
    json_list(&d->js, "coordinators");
    for (size_t i = 0; d->with_coord && i < d->n_accounts; i++) {
        const Pst__AccountRecord *a = (const Pst__AccountRecord *)d->accounts[i];

        for (size_t k = 0; k < a->n_coordinators; k++)
            if (strcmp(a->coordinators[k], u->name) == 0)
                put_coordinator(&d->js, a->name);
    }
    json_list_end(&d->js);
}

static int put_user(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__UserRecord *u = (const Pst__UserRecord *)record;
    struct doc *d = ctx;
    struct json *js = &d->js;
    const Pst__AssocRecord *def = NULL;

    (void)info;
    json_map(js, NULL);
    json_one(js, "administrator_level", smgr_admin_word(u->admin_level));
    json_list(js, "associations");
    for (size_t i = 0; i < d->n_assocs; i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)d->assocs[i];

        if (!a->user || strcmp(a->user, u->name) != 0)
            continue;
        if (a->is_default && !def)
            def = a;
        if (d->with_assoc)
            assoc_short(js, NULL, a);
    }
    json_list_end(js);
    user_coordinators(d, u);
    json_map(js, "default");
    json_int(js, "qos", def && def->has_default_qos_id ? def->default_qos_id : 0);
    json_str(js, "account", def ? def->account : "");
    json_str(js, "wckey", u->default_wckey);
    json_map_end(js);
    json_one(js, "flags", u->deleted ? "DELETED" : "NONE");
    json_str(js, "name", u->name);
    json_str(js, "old_name", "");
    json_list(js, "wckeys");
    for (size_t i = 0; i < d->n_wckeys; i++)
        if (strcmp(((const Pst__WckeyRecord *)d->wckeys[i])->user, u->name) == 0)
            put_wckey_record(js, (const Pst__WckeyRecord *)d->wckeys[i]);
    json_list_end(js);
    json_map_end(js);
    return 0;
}

static int put_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AccountRecord *a = (const Pst__AccountRecord *)record;
    struct doc *d = ctx;
    struct json *js = &d->js;

    (void)info;
    json_map(js, NULL);
    json_list(js, "associations");
    for (size_t i = 0; d->with_assoc && i < d->n_assocs; i++)
        if (strcasecmp(((const Pst__AssocRecord *)d->assocs[i])->account, a->name) == 0)
            assoc_short(js, NULL, (const Pst__AssocRecord *)d->assocs[i]);
    json_list_end(js);
    json_list(js, "coordinators");
    for (size_t i = 0; d->with_coord && i < a->n_coordinators; i++)
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
    return 0;
}

/* ---- clusters and TRES ----------------------------------------------------------------------- */

static int put_tres(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__TresRecord *t = (const Pst__TresRecord *)record;
    struct json *js = &((struct doc *)ctx)->js;

    (void)info;
    json_map(js, NULL);
    json_str(js, "type", t->type);
    json_str(js, "name", t->name);
    json_int(js, "id", t->tres_id);
    json_int(js, "count", 0);
    json_map_end(js);
    return 0;
}

static int put_cluster(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AcctClusterRecord *c = (const Pst__AcctClusterRecord *)record;
    struct doc *d = ctx;
    struct json *js = &d->js;

    (void)info;
    json_map(js, NULL);
    json_map(js, "controller");
    json_str(js, "host", c->control_host);
    json_int(js, "port", c->control_port);
    json_map_end(js);
    json_list(js, "flags");
    json_list_end(js);
    json_str(js, "name", c->name);
    json_str(js, "nodes", c->nodes);
    json_map(js, "associations");
    for (size_t i = 0; i < d->n_assocs; i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)d->assocs[i];

        if (strcmp(a->cluster, c->name) == 0 && strcmp(a->account, "root") == 0 &&
            !(a->user && *a->user))
            assoc_short(js, "root", a);
    }
    json_map_end(js);
    json_int(js, "rpc_version", c->protocol);
    json_list(js, "tres");
    json_list_end(js);
    json_map_end(js);
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

static const struct {
    enum smgr_entity entity;
    Pst__AcctEntity wire;
    const char *key;
    query_fn *put;
} documents[] = {
    { SMGR_ACCOUNT, PST__ACCT_ENTITY__ACCT_ACCOUNT, "accounts", put_account },
    { SMGR_ASSOC, PST__ACCT_ENTITY__ACCT_ASSOC, "associations", put_assoc },
    { SMGR_CLUSTER, PST__ACCT_ENTITY__ACCT_CLUSTER, "clusters", put_cluster },
    { SMGR_QOS, PST__ACCT_ENTITY__ACCT_QOS, "qos", put_qos },
    { SMGR_TRES, PST__ACCT_ENTITY__ACCT_TRES, "TRES", put_tres },
    { SMGR_USER, PST__ACCT_ENTITY__ACCT_USER, "users", put_user },
    { SMGR_WCKEY, PST__ACCT_ENTITY__ACCT_WCKEY, "wckeys", put_wckey },
};

static bool fetch_records(struct doc *d)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    bool people = d->l->entity & (SMGR_USER | SMGR_ACCOUNT | SMGR_CLUSTER);

    smgr_load_qos(d->s);
    smgr_load_tres(d->s);
    return (!people || smgr_list(d->s, PST__ACCT_ENTITY__ACCT_ASSOC, &all, keep_assoc, d)) &&
           (d->l->entity != SMGR_USER ||
            (smgr_list(d->s, PST__ACCT_ENTITY__ACCT_ACCOUNT, &all, keep_account, d) &&
             smgr_list(d->s, PST__ACCT_ENTITY__ACCT_WCKEY, &all, keep_wckey, d)));
}

static void free_list(ProtobufCMessage **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        protobuf_c_message_free_unpacked(list[i], NULL);
    free(list);
}

static void put_document(struct doc *d, size_t at)
{
    json_begin(&d->js, &d->out, json_option_style(&d->s->json));
    d->js.plain_null = d->s->json.complex;
    json_list(&d->js, documents[at].key);
    if (smgr_list(d->s, documents[at].wire, d->l->where, documents[at].put, d)) {
        json_list_end(&d->js);
        json_meta(&d->js, d->s->argc, d->s->argv, conf_str(cli_conf(&d->s->cli), CONF_CLUSTER_NAME),
                  "accounting_storage/slurmdbd");
        json_end(&d->js);
        (void)fwrite(d->out.buf, 1, d->out.len, stdout); /* fflush at the end tells */
    }
}

bool smgr_show_json(struct smgr *s, struct smgr_line *l)
{
    struct doc d = {
        .s = s, .l = l, .with_assoc = l->with_assoc || s->with_assoc, .with_coord = l->with_coord
    };
    size_t at = 0;

    while (at < ARRAY_SIZE(documents) && documents[at].entity != l->entity)
        at++;
    if (at == ARRAY_SIZE(documents))
        return false;
    if (fetch_records(&d))
        put_document(&d, at);
    free_list(d.assocs, d.n_assocs);
    free_list(d.accounts, d.n_accounts);
    free_list(d.wckeys, d.n_wckeys);
    strbuf_done(&d.out);
    return true;
}
