/* policy.c - association, QOS and workload key of a job, and rights by accounts; see policy.h
 *
 * Without any record of accounting nothing is looked up and nothing is refused: a site that
 * enforces nothing and keeps no accounts works as if this file were not there. */
#include "ctld/policy/policy.h"

#include "feed/params.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "base/pb/pbutil.h"
#include "ctld/policy/policy_tres.h"
#include "model/words/names.h"
#include "model/words/reqtres.h"

static const char *cluster_name(const struct ctld *ctld)
{
    return conf_str(ctld->conf, CONF_CLUSTER_NAME);
}

/* ---- association ----------------------------------------------------------------------------- */

/* A new store has the account root, its user and the QOS normal. */
bool policy_has_records(const struct ctld *ctld)
{
    const struct assoc_mgr *am = ctld->cluster->am;

    return am_count(am, AM_ASSOC) > 2 || am_count(am, AM_QOS) > 1;
}

/* --account= without a name, where jobs need an association: no account has that name. */
static bool names_no_account(const struct ctld *ctld, const Pst__JobRecord *r)
{
    return r->account && !*r->account && limits_enforced(ctld->conf) & ENFORCE_ASSOCS;
}

void policy_default_account(const struct ctld *ctld, const char *user, Pst__JobRecord *r)
{
    const char *account = NULL;

    if (policy_has_records(ctld) && user && !(r->account && *r->account) &&
        !names_no_account(ctld, r))
        account = am_default_account(ctld->cluster->am, cluster_name(ctld), user);
    if (account)
        (void)pb_set_str(&r->account, account); /* out of memory: none is refused below */
}

static int resolve_assoc(const struct ctld *ctld, const char *user, const struct partition *p,
                         Pst__JobRecord *r, const struct assoc **ret)
{
    const struct assoc *a = names_no_account(ctld, r)
                                ? NULL
                                : am_find_job(ctld->cluster->am, cluster_name(ctld), user,
                                              r->account, p ? p->rec->name : NULL);

    *ret = a;
    r->has_assoc_id = a != NULL;
    if (!a)
        return limits_enforced(ctld->conf) & ENFORCE_ASSOCS ? ESLURM_INVALID_ACCOUNT : 0;
    r->assoc_id = a->id;
    if (a->rec->partition && *a->rec->partition && r->partition && strchr(r->partition, ','))
        return ESLURM_PARTITION_ASSOC;
    return pb_set_str(&r->account, a->rec->account) == 0 ? 0 : SLURM_ERROR;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

/* The one it gets without asking; NULL = none. */
static const Pst__QosRecord *default_qos(struct assoc_mgr *am, const struct assoc *a)
{
    const Pst__QosRecord *q = NULL;
    const uint32_t *ids;

    if (a && am_default_qos(am, a))
        q = am_qos(am, am_default_qos(am, a));
    if (!q && a && am_qos_list(am, a, &ids) == 1)
        q = am_qos(am, ids[0]);
    return q ? q : am_qos_named(am, "normal");
}

/* Of a list the one with the highest priority; each must exist and be allowed. */
static const Pst__QosRecord *asked_qos(struct assoc_mgr *am, const struct assoc *a,
                                       unsigned enforce, const char *list)
{
    _cleanup_free_ char *copy = strdup(list);
    const Pst__QosRecord *best = NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        const Pst__QosRecord *q = am_qos_named(am, w);

        if (!q || ((enforce & ENFORCE_QOS) && a && !am_may_use_qos(am, a, q->qos_id)))
            return NULL;
        if (!best || q->priority > best->priority)
            best = q;
    }
    return best;
}

static int resolve_qos(const struct ctld *ctld, const struct assoc *a, Pst__JobRecord *r)
{
    struct assoc_mgr *am = ctld->cluster->am;
    unsigned enforce = limits_enforced(ctld->conf);
    const char *asked = r->qos_req && *r->qos_req ? r->qos_req : r->qos;
    const Pst__QosRecord *q;

    r->has_qos_id = false;
    if (!am_count(am, AM_QOS))
        return asked && *asked && (enforce & ENFORCE_QOS) ? ESLURM_INVALID_QOS : 0;
    q = asked && *asked ? asked_qos(am, a, enforce, asked) : default_qos(am, a);
    if (!q) /* a name is looked at where QOS are enforced alone */
        return enforce & ENFORCE_QOS ? ESLURM_INVALID_QOS : 0;
    if ((enforce & ENFORCE_QOS) && a && !am_may_use_qos(am, a, q->qos_id))
        return ESLURM_INVALID_QOS;
    if ((q->flags & 1u << PST__QOS_FLAG__QOS_REQUIRES_RESERVATION) &&
        !(r->reservation && *r->reservation))
        return ESLURM_INVALID_QOS;
    if (asked && strchr(asked, ',') && !r->qos_req && pb_set_str(&r->qos_req, asked) < 0)
        return SLURM_ERROR;
    SET(r, qos_id, q->qos_id);
    return pb_set_str(&r->qos, q->name) == 0 ? 0 : SLURM_ERROR;
}

bool policy_qos_lost(const struct ctld *ctld, const Pst__JobRecord *r)
{
    struct assoc_mgr *am = ctld->cluster->am;
    const struct assoc *a = NULL;

    if (r->has_assoc_id && r->has_qos_id && limits_enforced(ctld->conf) & ENFORCE_QOS)
        a = am_assoc(am, r->assoc_id);
    return a && !am_may_use_qos(am, a, r->qos_id);
}

bool policy_qos_flag(const struct ctld *ctld, const Pst__JobRecord *r, Pst__QosFlag flag)
{
    const Pst__QosRecord *q = r->has_qos_id ? am_qos(ctld->cluster->am, r->qos_id) : NULL;

    return q && (q->flags & 1u << flag);
}

/* ---- workload key ---------------------------------------------------------------------------- */

/* A default is marked with a star, as it is everywhere. */
static int resolve_wckey(const struct ctld *ctld, const char *user, Pst__JobRecord *r)
{
    struct assoc_mgr *am = ctld->cluster->am;
    bool must = limits_enforced(ctld->conf) & ENFORCE_WCKEYS;
    const Pst__WckeyRecord *w;
    const char *name;

    r->has_wckey_id = false;
    if (!(conf_bool(ctld->conf, CONF_TRACK_WCKEY) || must) || !user)
        return must ? ESLURM_INVALID_WCKEY : 0;
    if (r->wckey && strcmp(r->wckey, "*") == 0)
        return 0;
    if (!r->wckey || !*r->wckey) {
        _cleanup_free_ char *marked = NULL;

        name = am_default_wckey(am, cluster_name(ctld), user);
        if (!name) /* the empty key is everybody's default */
            return pb_set_str(&r->wckey, "*") == 0 ? 0 : SLURM_ERROR;
        if (asprintf(&marked, "*%s", name) < 0 || pb_set_str(&r->wckey, marked) < 0)
            return SLURM_ERROR;
    }
    name = r->wckey + (r->wckey[0] == '*');
    w = am_wckey_named(am, cluster_name(ctld), user, name);
    if (!w)
        return must ? ESLURM_INVALID_WCKEY : 0;
    SET(r, wckey_id, w->wckey_id);
    return 0;
}

static bool nobody_counts(const struct ctld *ctld)
{
    const char *type = conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TYPE);

    return type && strcmp(type, "accounting_storage/none") == 0;
}

int policy_resolve(const struct ctld *ctld, const char *user, const struct partition *p,
                   Pst__JobRecord *r)
{
    unsigned enforce = limits_enforced(ctld->conf);
    const Pst__QosRecord *part_qos;
    const struct assoc *a;
    int code;

    if (!policy_has_records(ctld) && !enforce)
        return nobody_counts(ctld) ? pb_set_str(&r->qos, NULL) : 0; /* a name means nothing */
    code = resolve_assoc(ctld, user, p, r, &a);
    if (code == 0)
        code = resolve_qos(ctld, a, r);
    if (code == 0)
        code = resolve_wckey(ctld, user, r);
    part_qos = p && p->rec->qos ? am_qos_named(ctld->cluster->am, p->rec->qos) : NULL;
    /* a partition whose QOS is not there must not run without its limits */
    if (code == 0 && p && p->rec->qos && *p->rec->qos && !part_qos && enforce & ENFORCE_QOS)
        code = ESLURM_INVALID_QOS;
    r->has_part_qos_id = part_qos != NULL;
    r->part_qos_id = part_qos ? part_qos->qos_id : 0;
    return code;
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* The account or one above it. */
static bool account_listed(const struct ctld *ctld, const char *list, const char *account)
{
    const struct assoc *a;

    if (wordlist_has_nocase(list, account))
        return true;
    a = account ? am_find(ctld->cluster->am, cluster_name(ctld), account, NULL, NULL) : NULL;
    for (; a; a = a->parent)
        if (wordlist_has_nocase(list, a->rec->account))
            return true;
    return false;
}

int policy_partition(const struct ctld *ctld, const Pst__PartitionRecord *p,
                     const Pst__JobRecord *r)
{
    if (p->allow_accounts ? !account_listed(ctld, p->allow_accounts, r->account)
                          : p->deny_accounts && account_listed(ctld, p->deny_accounts, r->account))
        return ESLURM_INVALID_ACCOUNT;
    if (p->allow_qos ? !wordlist_has_nocase(p->allow_qos, r->qos)
                     : p->deny_qos && wordlist_has_nocase(p->deny_qos, r->qos))
        return ESLURM_INVALID_QOS;
    return 0;
}

/* ---- rights ---------------------------------------------------------------------------------- */

static Pst__AdminLevel level_of(const struct ctld *ctld, const struct cmd *cmd)
{
    return cmd->caller ? am_admin_level(ctld->cluster->am, cmd->caller)
                       : PST__ADMIN_LEVEL__ADMIN_NOT_SET;
}

bool policy_is_operator(const struct ctld *ctld, const struct cmd *cmd)
{
    return cmd_is_admin(ctld, cmd) || level_of(ctld, cmd) >= PST__ADMIN_LEVEL__ADMIN_OPERATOR;
}

bool policy_may_manage(const struct ctld *ctld, const struct cmd *cmd, const Pst__JobRecord *r)
{
    return policy_is_operator(ctld, cmd) ||
           (r->account &&
            am_is_coordinator(ctld->cluster->am, cluster_name(ctld), cmd->caller, r->account));
}

unsigned policy_private(const struct conf *conf)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {
        { "jobs", PRIVATE_JOBS },
        { "nodes", PRIVATE_NODES },
        { "partitions", PRIVATE_PARTITIONS },
        { "reservations", PRIVATE_RESERVATIONS },
        { "usage", PRIVATE_USAGE },
        { "users", PRIVATE_USERS },
        { "accounts", PRIVATE_ACCOUNTS },
        { "events", PRIVATE_EVENTS },
    };
    unsigned bits = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (conf_private(conf, words[i].word))
            bits |= words[i].bit;
    return bits;
}

bool policy_sees_all(const struct ctld *ctld, uid_t uid, const char *caller)
{
    return core_is_admin(ctld, uid) || (caller && am_admin_level(ctld->cluster->am, caller) >=
                                                      PST__ADMIN_LEVEL__ADMIN_OPERATOR);
}

unsigned policy_hidden(const struct ctld *ctld, uid_t uid, const char *caller)
{
    return policy_sees_all(ctld, uid, caller) ? 0 : policy_private(ctld->conf);
}

void policy_each_coordinated(const struct ctld *ctld, const char *caller,
                             void (*fn)(void *ctx, const char *account), void *ctx)
{
    struct assoc_mgr *am = ctld->cluster->am;
    const ProtobufCMessage *rec;

    for (size_t pos = 0; caller && (rec = am_next(am, AM_ACCOUNT, &pos));) {
        const char *account = ((const Pst__AccountRecord *)rec)->name;

        if (am_is_coordinator(am, cluster_name(ctld), caller, account))
            fn(ctx, account);
    }
}

void policy_note_asked(const struct ctld *ctld, const struct partition *p, Pst__JobRecord *r)
{
    _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT;
    Pst__JobRecord shown = *r; /* shallow */

    /* --mincpus chooses nodes, and MaxMemPerCPU adds CPUs; ReqTRES has neither */
    shown.has_pn_min_cpus = false;
    if (r->has_asked_cpus_per_task)
        SET(&shown, cpus_per_task, MAX(r->asked_cpus_per_task, 1u));
    if (!(r->has_asked_cpus_per_task && r->has_req_mem_mib)) /* else it was noted before */
        SET(r, req_mem_mib, reqtres_mem_mib(r, policy_whole_memory(ctld->cluster, p, r)));
    SET(r, req_billing,
        policy_tres_asked(ctld->cluster->am, ctld->resources, p, conf_billing_sum(ctld->conf),
                          &shown, AM_TRES_BILLING, false));
    policy_tres_put_gres(&gres, ctld->resources, r,
                         conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES));
    /* without memory: not shown */
    (void)pb_set_str(&r->req_gres, gres.len ? strbuf_str(&gres) : NULL);
}
