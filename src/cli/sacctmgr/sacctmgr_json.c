/* sacctmgr_json.c - lists as JSON and YAML
 *
 * The shapes are those of the REST interface: records of the newest data_parser. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"

struct doc {
    struct smgr *s;
    struct smgr_line *l;
    struct strbuf out;
    struct json js;
    struct store_people people;
};

/* ---- what else is needed --------------------------------------------------------------------- */

static void *keep_record(void *list, size_t *n, const ProtobufCMessage *record)
{
    ProtobufCMessage **kept = list;

    if ((*n & (*n - 1)) == 0)
        kept = xrealloc_or_die(kept, *n ? *n * 2 : 1, sizeof(*kept));
    check_mem_or_die(pb_dup(record, &kept[*n]));
    (*n)++;
    return kept;
}

static int keep_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct store_people *p = &((struct doc *)ctx)->people;

    (void)info;
    p->assocs = keep_record(p->assocs, &p->n_assocs, record);
    return 0;
}

static int keep_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct store_people *p = &((struct doc *)ctx)->people;

    (void)info;
    p->accounts = keep_record(p->accounts, &p->n_accounts, record);
    return 0;
}

static int keep_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct store_people *p = &((struct doc *)ctx)->people;

    (void)info;
    p->wckeys = keep_record(p->wckeys, &p->n_wckeys, record);
    return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static int put_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_account(&d->js, (const Pst__AccountRecord *)record, &d->people);
    return 0;
}

static int put_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_assoc(&d->js, (const Pst__AssocRecord *)record, &d->s->names);
    return 0;
}

static int put_cluster(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_cluster(&d->js, (const Pst__AcctClusterRecord *)record, &d->people, &d->s->names);
    return 0;
}

static int put_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_qos(&d->js, (const Pst__QosRecord *)record, &d->s->names);
    return 0;
}

static int put_tres(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_tres(&d->js, (const Pst__TresRecord *)record);
    return 0;
}

static int put_user(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_user(&d->js, (const Pst__UserRecord *)record, &d->people);
    return 0;
}

static int put_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct doc *d = ctx;

    (void)info;
    json_store_wckey(&d->js, (const Pst__WckeyRecord *)record);
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

static void free_list(void *records, size_t n)
{
    ProtobufCMessage **list = records;

    for (size_t i = 0; i < n; i++)
        protobuf_c_message_free_unpacked(list[i], NULL);
    free(list);
}

static void put_document(struct doc *d, size_t at)
{
    json_begin_option(&d->js, &d->out, &d->s->json);
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
    struct doc d = { .s = s,
                     .l = l,
                     .people.with_assoc = l->with_assoc || s->with_assoc,
                     .people.with_coord = l->with_coord,
                     .people.with_default = true };
    size_t at = 0;

    while (at < ARRAY_SIZE(documents) && documents[at].entity != l->entity)
        at++;
    if (at == ARRAY_SIZE(documents))
        return false;
    if (fetch_records(&d))
        put_document(&d, at);
    free_list(d.people.assocs, d.people.n_assocs);
    free_list(d.people.accounts, d.people.n_accounts);
    free_list(d.people.wckeys, d.people.n_wckeys);
    strbuf_done(&d.out);
    return true;
}
