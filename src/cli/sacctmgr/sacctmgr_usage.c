/* sacctmgr_usage.c - RawUsage=0: what has been used is forgotten.
 *
 * Usage is no part of the accounting store: the controller keeps it in its log.  So the store is
 * asked which associations or QOS the conditions mean, and the controller is told. */
#include <stdlib.h>
#include <strings.h>

#include "cli/query/out_query.h"
#include "cli/sacctmgr/sacctmgr.h"

struct ids {
    uint32_t *list;
    size_t n;
    bool accounts;              /* associations of accounts alone: what is below them goes too */
    const Pst__AcctCond *named; /* names that were given */
    bool *found;                /* of each of them, whether it is there */
};

static void find_given(struct ids *ids, const char *name)
{
    for (size_t i = 0; name && i < ids->named->n_names; i++)
        ids->found[i] |= strcasecmp(ids->named->names[i], name) == 0;
}

static void add_name(struct ids *ids, uint32_t id)
{
    ids->list = xrealloc_or_die(ids->list, ids->n + 1, sizeof(*ids->list));
    ids->list[ids->n++] = id;
}

static int take_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AssocRecord *r = (const Pst__AssocRecord *)record;
    struct ids *ids = ctx;

    (void)info;
    if (!ids->accounts == (r->user && *r->user)) {
        add_name(ids, r->assoc_id);
        find_given(ids, ids->accounts ? r->account : r->user);
    }
    return 0;
}

static int take_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    add_name(ctx, ((const Pst__QosRecord *)record)->qos_id);
    find_given(ctx, ((const Pst__QosRecord *)record)->name);
    return 0;
}

static bool find_name(struct smgr *s, enum smgr_entity entity, const Pst__AcctCond *where,
                      struct ids *ids)
{
    Pst__AcctCond cond = where ? *where : (Pst__AcctCond)PST__ACCT_COND__INIT;

    if (entity == SMGR_QOS)
        return smgr_list(s, PST__ACCT_ENTITY__ACCT_QOS, where, take_qos, ids);
    ids->accounts = entity == SMGR_ACCOUNT;
    /* names of the entity are its associations' accounts */
    if (entity == SMGR_ACCOUNT && cond.n_names) {
        cond.accounts = cond.names;
        cond.n_accounts = cond.n_names;
    } else if (cond.n_names) {
        cond.users = cond.names;
        cond.n_users = cond.n_names;
    }
    cond.names = NULL;
    cond.n_names = 0;
    return smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, &cond, take_assoc, ids);
}

/* Names that are not there are told; false: there is one. */
static bool all_found(struct smgr *s, enum smgr_entity entity, const struct ids *ids)
{
    bool all = true;

    for (size_t i = 0; i < ids->named->n_names; i++) {
        if (ids->found[i])
            continue;
        smgr_fail(s, "sacctmgr: error: Failed to find %s %s\n",
                  entity == SMGR_QOS       ? "QOS"
                  : entity == SMGR_ACCOUNT ? "account"
                                           : "user",
                  ids->named->names[i]);
        all = false;
    }
    return all;
}

/* The controller forgets what they have used. */
static void send_reset(struct smgr *s, enum smgr_entity entity, const struct ids *ids)
{
    Pst__UsageResetRequest req = PST__USAGE_RESET_REQUEST__INIT;
    struct client *c = NULL;
    struct err err = { .text = "" };
    int r;

    if (entity == SMGR_QOS) {
        req.qos_ids = ids->list;
        req.n_qos_ids = ids->n;
    } else {
        req.assoc_ids = ids->list;
        req.n_assoc_ids = ids->n;
    }
    r = cli_connect(&s->cli, &c, &err);
    if (r == 0)
        r = client_call(c, OP_USAGE_RESET, &req.base, NULL);
    if (r < 0)
        smgr_fail(s, "sacctmgr: error: the usage could not be reset: %s\n",
                  err.text[0] ? err.text : client_strerror(c, r));
    client_free(c);
}

bool smgr_may_reset_usage(struct smgr *s, enum smgr_entity entity, const Pst__AcctCond *where)
{
    if (entity != SMGR_USER || (where && where->n_accounts))
        return true;
    smgr_fail(s, "sacctmgr: error: An account must be specified\n");
    return false;
}

void smgr_reset_usage(struct smgr *s, enum smgr_entity entity, const Pst__AcctCond *where)
{
    static const Pst__AcctCond any = PST__ACCT_COND__INIT;
    struct ids ids = { .named = where ? where : &any };

    if (!where || !where->n_clusters)
        printf("No cluster specified, resetting on local cluster %s\n",
               conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME));
    ids.found = xmalloc_or_die((ids.named->n_names + 1) * sizeof(*ids.found));
    if (find_name(s, entity, where, &ids) && all_found(s, entity, &ids) && ids.n)
        send_reset(s, entity, &ids);
    free(ids.found);
    free(ids.list);
}
