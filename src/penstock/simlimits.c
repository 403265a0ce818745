/* simlimits.c - other limits, priorities and factors of QOS, accounts and users: changes of a
 * copied cluster's accounting records; see simchange.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/tx.h"
#include "penstock/simchange.h"

enum kind { LIMIT_COUNT, LIMIT_TIME, LIMIT_TRES, NUMBER, FACTOR };
enum { OF_QOS = 1, OF_ASSOC = 2, OF_BOTH = 3 };

static const struct key {
    const char *name;
    unsigned of;
    enum kind kind;
    const char *field; /* of Limits; NUMBER and FACTOR: of the record */
} keys[] = {
    { "Priority", OF_BOTH, NUMBER, "priority" },
    { "Fairshare", OF_ASSOC, NUMBER, "shares" },
    { "UsageFactor", OF_QOS, FACTOR, "usage_factor" },
    { "UsageThreshold", OF_QOS, FACTOR, "usage_threshold" },
    { "LimitFactor", OF_QOS, FACTOR, "limit_factor" },
    { "GrpJobs", OF_BOTH, LIMIT_COUNT, "grp_jobs" },
    { "GrpJobsAccrue", OF_BOTH, LIMIT_COUNT, "grp_jobs_accrue" },
    { "GrpTRES", OF_BOTH, LIMIT_TRES, "grp_tres" },
    { "GrpTRESMins", OF_BOTH, LIMIT_TRES, "grp_tres_mins" },
    { "GrpTRESRunMins", OF_BOTH, LIMIT_TRES, "grp_tres_run_mins" },
    { "GrpWall", OF_BOTH, LIMIT_TIME, "grp_wall_min" },
    { "MaxTRES", OF_BOTH, LIMIT_TRES, "max_tres_per_job" },
    { "MaxTRESPerJob", OF_BOTH, LIMIT_TRES, "max_tres_per_job" },
    { "MaxTRESPerNode", OF_BOTH, LIMIT_TRES, "max_tres_per_node" },
    { "MaxTRESMinsPerJob", OF_BOTH, LIMIT_TRES, "max_tres_mins_per_job" },
    { "MaxWall", OF_BOTH, LIMIT_TIME, "max_wall_min" },
    { "MinPrioThreshold", OF_BOTH, LIMIT_COUNT, "min_prio_threshold" },
    { "MaxJobs", OF_ASSOC, LIMIT_COUNT, "max_jobs" },
    { "MaxJobsAccrue", OF_ASSOC, LIMIT_COUNT, "max_jobs_accrue" },
    { "MaxTRESRunMins", OF_ASSOC, LIMIT_TRES, "max_tres_run_mins" },
    { "MinTRESPerJob", OF_QOS, LIMIT_TRES, "min_tres_per_job" },
    { "MaxTRESPU", OF_QOS, LIMIT_TRES, "max_tres_per_user" },
    { "MaxTRESPerUser", OF_QOS, LIMIT_TRES, "max_tres_per_user" },
    { "MaxTRESPA", OF_QOS, LIMIT_TRES, "max_tres_per_account" },
    { "MaxTRESPerAccount", OF_QOS, LIMIT_TRES, "max_tres_per_account" },
    { "MaxTRESRunMinsPU", OF_QOS, LIMIT_TRES, "max_tres_run_mins_per_user" },
    { "MaxTRESRunMinsPA", OF_QOS, LIMIT_TRES, "max_tres_run_mins_per_account" },
    { "MaxJobsPU", OF_QOS, LIMIT_COUNT, "max_jobs_per_user" },
    { "MaxJobsPerUser", OF_QOS, LIMIT_COUNT, "max_jobs_per_user" },
    { "MaxJobsPA", OF_QOS, LIMIT_COUNT, "max_jobs_per_account" },
    { "MaxJobsPerAccount", OF_QOS, LIMIT_COUNT, "max_jobs_per_account" },
    { "MaxJobsAccruePU", OF_QOS, LIMIT_COUNT, "max_jobs_accrue_per_user" },
    { "MaxJobsAccruePA", OF_QOS, LIMIT_COUNT, "max_jobs_accrue_per_account" },
};

static const struct key *find_key(const char *word, size_t len, unsigned of)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if ((keys[i].of & of) && strlen(keys[i].name) == len &&
            strncasecmp(keys[i].name, word, len) == 0)
            return &keys[i];
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void *find_member(void *rec, const ProtobufCFieldDescriptor *f)
{
    return (char *)rec + f->offset;
}

static protobuf_c_boolean *has_key(void *rec, const ProtobufCFieldDescriptor *f)
{
    return (protobuf_c_boolean *)((char *)rec + f->quantifier_offset);
}

/* -1 lifts a limit. */
static int set_count(Pst__Limits *l, const ProtobufCFieldDescriptor *f, const char *value)
{
    uint64_t n = 0;
    bool lift = strcmp(value, "-1") == 0;

    if (!lift && parse_u64(value, 0, INT32_MAX - 1, &n) < 0)
        return -EINVAL;
    *(int32_t *)find_member(l, f) = lift ? -1 : (int32_t)n;
    *has_key(l, f) = true;
    return 0;
}

static int set_time(Pst__Limits *l, const ProtobufCFieldDescriptor *f, const char *value)
{
    uint32_t minutes = 0;
    bool lift = strcmp(value, "-1") == 0;

    if (!lift && (time_limit_parse(value, &minutes, NULL) < 0 || minutes > INT32_MAX - 1))
        return -EINVAL;
    *(int32_t *)find_member(l, f) = lift ? -1 : (int32_t)minutes;
    *has_key(l, f) = true;
    return 0;
}

static int tres_count(const char *name, const char *text, int64_t *ret)
{
    uint64_t n = 0;

    if (strcmp(text, "-1") == 0) {
        *ret = -1;
        return 0;
    }
    if (strcasecmp(name, "mem") == 0 ? size_mib_parse(text, &n, NULL) < 0
                                     : parse_u64(text, 0, INT64_MAX - 1, &n) < 0)
        return -EINVAL;
    *ret = (int64_t)n;
    return 0;
}

static int put_tres(Pst__Limits *l, const ProtobufCFieldDescriptor *f, uint32_t tres_id,
                    int64_t count)
{
    Pst__TresCount ***list = find_member(l, f), **grown, *t;
    size_t *n = (size_t *)((char *)l + f->quantifier_offset);

    for (size_t i = 0; i < *n; i++)
        if ((*list)[i]->tres_id == tres_id) {
            SET((*list)[i], count, count);
            return 0;
        }
    grown = realloc(*list, (*n + 1) * sizeof(Pst__TresCount *));
    if (!grown)
        return -ENOMEM;
    *list = grown;
    t = malloc(sizeof(*t));
    if (!t)
        return -ENOMEM;
    pst__tres_count__init(t);
    SET(t, tres_id, tres_id);
    SET(t, count, count);
    grown[(*n)++] = t;
    return 0;
}

/* "cpu=4,gres/gpu=2": changes these, leaves others. */
static int set_tres(const struct assoc_mgr *am, Pst__Limits *l, const ProtobufCFieldDescriptor *f,
                    const char *value)
{
    _cleanup_free_ char *copy = strdup(value);
    char *save = NULL;
    int r = copy ? 0 : -ENOMEM;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; r == 0 && w;
         w = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(w, '=');
        uint32_t id;
        int64_t count;

        if (!eq)
            return -EINVAL;
        *eq = '\0';
        id = am_tres_id(am, w);
        r = id ? tres_count(w, eq + 1, &count) : -EINVAL;
        if (r == 0)
            r = put_tres(l, f, id, count);
    }
    return r;
}

static int set_number(void *rec, const ProtobufCFieldDescriptor *f, const char *value)
{
    uint64_t n;

    if (parse_u64(value, 0, UINT32_MAX - 1, &n) < 0)
        return -EINVAL;
    *(uint32_t *)find_member(rec, f) = (uint32_t)n;
    *has_key(rec, f) = true;
    return 0;
}

static int set_factor(void *rec, const ProtobufCFieldDescriptor *f, const char *value)
{
    char *end;
    double d = strtod(value, &end);

    if (end == value || *end || !(d >= 0 && d <= 1e9))
        return -EINVAL;
    *(double *)find_member(rec, f) = d;
    *has_key(rec, f) = true;
    return 0;
}

/* ---- a list of settings ---------------------------------------------------------------------- */

struct target { /* a record that is being changed */
    const struct assoc_mgr *am;
    const char *option;
    unsigned of;
    ProtobufCMessage *rec;
    Pst__Limits **limits;
};

static const char *describe_kind(enum kind kind)
{
    switch (kind) {
    case LIMIT_COUNT:
        return "a number, or -1 for no limit";
    case LIMIT_TIME:
        return "a time such as 1-0 or 90, or -1 for no limit";
    case LIMIT_TRES:
        return "a list such as cpu=4,mem=2G,gres/gpu=1 of TRES that are known";
    case NUMBER:
        return "a number";
    case FACTOR:
        return "a factor such as 0.5";
    }
    return "";
}

static int set_one(const struct target *t, const struct key *k, const char *value)
{
    bool limit = k->kind != NUMBER && k->kind != FACTOR;
    const ProtobufCMessageDescriptor *d = limit ? &pst__limits__descriptor : t->rec->descriptor;
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(d, k->field);
    int r = -EINVAL;

    if (limit && !*t->limits) {
        *t->limits = malloc(sizeof(**t->limits));
        if (!*t->limits)
            return say_nomem();
        pst__limits__init(*t->limits);
    }
    switch (k->kind) {
    case LIMIT_COUNT:
        r = set_count(*t->limits, f, value);
        break;
    case LIMIT_TIME:
        r = set_time(*t->limits, f, value);
        break;
    case LIMIT_TRES:
        r = set_tres(t->am, *t->limits, f, value);
        break;
    case NUMBER:
        r = set_number(t->rec, f, value);
        break;
    case FACTOR:
        r = set_factor(t->rec, f, value);
        break;
    }
    if (r == -ENOMEM)
        return say_nomem();
    return r == 0 ? STATUS_OK
                  : usage_error("sim: --%s: %s takes %s, not %s", t->option, k->name,
                                describe_kind(k->kind), value);
}

/* Where the next KEY= begins: a TRES list has commas and names of its own. */
static size_t value_len(const char *at, unsigned of)
{
    size_t n = strcspn(at, ",");

    while (at[n]) {
        size_t word = strcspn(at + n + 1, "=,");

        if (at[n + 1 + word] == '=' && find_key(at + n + 1, word, of))
            break;
        n += 1 + strcspn(at + n + 1, ",");
    }
    return n;
}

static int set_all(const struct target *t, const char *list)
{
    int r = STATUS_OK;

    for (const char *at = list; r == STATUS_OK && *at;) {
        size_t name = strcspn(at, "=,"), n;
        const struct key *k = at[name] == '=' ? find_key(at, name, t->of) : NULL;
        _cleanup_free_ char *value = NULL;

        if (!k)
            return usage_error("sim: --%s: %.*s is no limit or setting that is simulated",
                               t->option, (int)strcspn(at, ","), at);
        at += name + 1;
        n = value_len(at, t->of);
        value = strndup(at, n);
        r = value ? set_one(t, k, value) : say_nomem();
        at += n;
        at += *at == ',';
    }
    return r;
}

/* ---- records --------------------------------------------------------------------------------- */

/* As the last change before this one left it, else as it is. */
static ProtobufCMessage *latest_limit(const struct changing *x, const ProtobufCMessage *rec,
                                      bool qos, uint32_t id)
{
    ProtobufCMessage *copy = NULL;

    for (size_t i = 0; i < x->n; i++)
        for (size_t e = 0; e < x->list[i]->n_events; e++) {
            const Pst__Event *ev = x->list[i]->events[e];
            const Pst__AcctChange *put =
                ev->body_case == PST__EVENT__BODY_ACCT_CHANGE ? ev->acct_change : NULL;

            if (put && qos && put->body_case == PST__ACCT_CHANGE__BODY_QOS &&
                put->qos->qos_id == id)
                rec = &put->qos->base;
            if (put && !qos && put->body_case == PST__ACCT_CHANGE__BODY_ASSOC &&
                put->assoc->assoc_id == id)
                rec = &put->assoc->base;
        }
    return pb_dup(rec, &copy) < 0 ? NULL : copy;
}

static int change_record(struct changing *x, const char *option, const ProtobufCMessage *rec,
                         bool qos, uint32_t id, const char *list)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    struct target t = { .am = x->c->am, .option = option, .of = qos ? OF_QOS : OF_ASSOC };
    int r;

    t.rec = latest_limit(x, rec, qos, id);
    if (!t.rec)
        return say_nomem();
    if (qos) {
        put.body_case = PST__ACCT_CHANGE__BODY_QOS;
        put.qos = (Pst__QosRecord *)t.rec;
        t.limits = &put.qos->limits;
    } else {
        put.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
        put.assoc = (Pst__AssocRecord *)t.rec;
        t.limits = &put.assoc->limits;
    }
    r = set_all(&t, list);
    if (r == STATUS_OK)
        tx_acct_change(x->tx, &put);
    protobuf_c_message_free_unpacked(t.rec, NULL);
    return r;
}

/* "NAME:KEY=VALUE,..." */
static int split_change(const char *option, const char *text, char *name, size_t size,
                        const char **ret_list)
{
    const char *colon = strchr(text, ':');

    if (!colon || colon == text || (size_t)(colon - text) >= size || !colon[1])
        return usage_error("sim: --%s: %s is not NAME:KEY=VALUE,...", option, text);
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    *ret_list = colon + 1;
    return STATUS_OK;
}

int simlimits_qos(struct changing *x, const char *text)
{
    const Pst__QosRecord *q;
    const char *list = NULL;
    char name[256];
    int r = split_change("qos", text, name, sizeof(name), &list);

    if (r != STATUS_OK)
        return r;
    q = am_qos_named(x->c->am, name);
    if (!q)
        return usage_error("sim: --qos: no QOS %s", name);
    return change_record(x, "qos", &q->base, true, q->qos_id, list);
}

int simlimits_account(struct changing *x, const char *text, bool user)
{
    const char *option = user ? "user" : "account", *list = NULL;
    bool any = false;
    const struct assoc *a;
    char name[256];
    int r = split_change(option, text, name, sizeof(name), &list);

    for (size_t pos = 0; r == STATUS_OK && (a = am_next_assoc(x->c->am, &pos));) {
        if ((a->rec->has_deleted && a->rec->deleted) || a->user != user ||
            (user ? strcmp(a->rec->user, name) != 0 : strcasecmp(a->rec->account, name) != 0))
            continue;
        any = true;
        r = change_record(x, option, &a->rec->base, false, a->id, list);
    }
    if (r == STATUS_OK && !any)
        return usage_error("sim: --%s: no %s %s in the accounting records", option, option, name);
    return r;
}
