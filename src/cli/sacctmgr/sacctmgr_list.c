/* sacctmgr_list.c - list and show */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "cli/sacctmgr/sacctmgr.h"

#define ASSOC_COLUMNS                                                                              \
    "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins," \
    "maxjobs,maxtres,maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins"
#define ACCOUNT_ASSOC_COLUMNS                                                                      \
    ",cluster,parentname,user,share,priority,grpjobs,grpnodes,grpcpus,grpmem,grpsubmit,grpwall,"   \
    "grpcpumins,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,maxcpumins,qos,defaultqos"
#define USER_ASSOC_COLUMNS                                                                         \
    ",cluster,account,partition,share,priority,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,"        \
    "maxcpumins,qos,defaultqos"
#define QOS_COLUMNS                                                                                \
    "name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags%40,usagethreshold,"       \
    "usagefactor,grptres,grptresmins,grptresrunmins,grpjobs,grpsubmit,grpwall,maxtres,"            \
    "maxtrespernode,maxtresmins,maxwall,maxtrespu,maxjobspu,maxsubmitpu,maxtrespa,"                \
    "maxtresrunminspa%22,maxtresrunminspu%22,maxjobspa,maxsubmitpa,mintres"

#define CLUSTER_PLACE "cluster,controlhost,controlport,rpc"
#define CLUSTER_LIMITS                                                                             \
    ",share,grpjobs,grptres,grpsubmit,maxjobs,maxtres,"                                            \
    "maxsubmit,maxwall,qos,defaultqos"

static const struct {
    const char *name;
    unsigned min;
    enum smgr_entity entity;
} entities[] = {
    { "accounts", 2, SMGR_ACCOUNT },
    { "acct", 4, SMGR_ACCOUNT },
    { "associations", 2, SMGR_ASSOC },
    { "clusters", 2, SMGR_CLUSTER },
    { "configuration", 2, SMGR_CONFIG },
    { "coordinators", 4, SMGR_COORD },
    { "events", 1, SMGR_EVENT },
    { "federations", 1, SMGR_FEDERATION },
    { "instances", 1, SMGR_INSTANCE },
    { "jobs", 1, SMGR_JOB },
    { "problems", 1, SMGR_PROBLEM },
    { "qos", 1, SMGR_QOS },
    { "resources", 4, SMGR_RESOURCE },
    { "reservations", 4, SMGR_RESERVATION },
    { "runawayjobs", 2, SMGR_RUNAWAY },
    { "orphanjobs", 2, SMGR_RUNAWAY },
    { "lostjobs", 1, SMGR_RUNAWAY },
    { "stats", 1, SMGR_STATS },
    { "transactions", 1, SMGR_TXN },
    { "txn", 2, SMGR_TXN },
    { "tres", 2, SMGR_TRES },
    { "users", 1, SMGR_USER },
    { "wckeys", 1, SMGR_WCKEY },
};

bool smgr_entity_of(const char *word, enum smgr_entity *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        if (smgr_is(word, entities[i].name, entities[i].min)) {
            *ret = entities[i].entity;
            return true;
        }
    return false;
}

/* ---- printing -------------------------------------------------------------------------------- */

struct output {
    struct smgr *s;
    struct smgr_line *l;
    struct smgr_table *table;
    struct strbuf out;
};

static void flush_out(struct output *o, bool always)
{
    if (o->out.len > 65536 || (always && o->out.len)) {
        (void)fwrite(o->out.buf, 1, o->out.len, stdout); /* fflush at the end tells */
        strbuf_reset(&o->out);
    }
}

/* Of users and associations WCKey is the list of their keys, of keys their name. */
static void name_wckeys(struct smgr_line *l)
{
    for (size_t i = 0; i < l->n_formats && l->entity != SMGR_WCKEY; i++) {
        char *name = l->formats[i];
        size_t len = strcspn(name, "%");

        if (len >= 2 && len <= 5 && strncasecmp(name, "WCKey", len) == 0) {
            l->formats[i] = xasprintf_or_die("WCKeys%s", name + len);
            free(name);
        }
    }
}

static bool output_begin(struct output *o, struct smgr *s, struct smgr_line *l, const char *columns)
{
    bool tree = l->tree && (l->entity & (SMGR_ASSOC | SMGR_FEDERATION)); /* no tree of users */

    *o = (struct output){ .s = s, .l = l };
    name_wckeys(l);
    o->table = l->n_formats ? smgr_table_new(s, l->formats, l->n_formats, tree)
                            : smgr_table_default(s, columns, tree);
    if (o->table)
        smgr_table_header(o->table, &o->out);
    return o->table;
}

static void output_end(struct output *o)
{
    flush_out(o, true);
    strbuf_done(&o->out);
    o->table = smgr_table_free(o->table);
}

static void put_row(struct output *o, struct smgr_row *row)
{
    row->now_us = row->now_us ? row->now_us : now_us();
    smgr_table_row(o->table, row, &o->out);
    flush_out(o, false);
}

/* ---- records kept ---------------------------------------------------------------------------- */

struct records {
    ProtobufCMessage **list;
    size_t n, cap;
};

static int keep_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct records *r = ctx;

    (void)info;
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        r->list = xrealloc_or_die(r->list, r->cap, sizeof(*r->list));
    }
    check_mem_or_die(pb_dup(record, &r->list[r->n]));
    r->n++;
    return 0;
}

static void records_done(struct records *r)
{
    for (size_t i = 0; i < r->n; i++)
        protobuf_c_message_free_unpacked(r->list[i], NULL);
    free(r->list);
    *r = (struct records){ 0 };
}

/* ---- associations ---------------------------------------------------------------------------- */

static unsigned depth_of(const char *lineage)
{
    unsigned n = 0;

    for (; lineage && *lineage; lineage++)
        n += *lineage == '/';
    return n ? n - 1 : 0;
}

static int assoc_row(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct output *o = ctx;
    struct smgr_row row = { .assoc = (const Pst__AssocRecord *)record, .now_us = info->now_us };

    row.depth = depth_of(row.assoc->lineage);
    if (row.depth && row.assoc->partition && *row.assoc->partition)
        row.depth--; /* beside the user's others */
    put_row(o, &row);
    return 0;
}

static void show_assocs(struct smgr *s, struct smgr_line *l)
{
    const char *columns = l->no_limits ? "cluster,account,user,partition" : ASSOC_COLUMNS;
    struct output o;

    smgr_load_qos(s);
    smgr_load_tres(s);
    if (!output_begin(&o, s, l, columns))
        return;
    (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, l->where, assoc_row, &o); /* told */
    output_end(&o);
}

/* The associations that rows of users or accounts need, as one list sorted by the store. */
static bool fetch_assocs(struct smgr *s, const struct smgr_line *l, bool only_defaults,
                         struct records *ret)
{
    Pst__AcctCond where = *l->where;

    if (l->entity == SMGR_ACCOUNT) {
        where.n_accounts = where.n_names;
        where.accounts = where.names;
    } else {
        where.n_users = where.n_names;
        where.users = where.names;
        where.has_only_defaults = where.only_defaults = only_defaults || where.only_defaults;
    }
    where.n_names = where.n_descriptions = where.n_organizations = 0;
    where.n_default_accounts = 0;
    return smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, &where, keep_record, ret);
}

/* ---- accounts -------------------------------------------------------------------------------- */

struct joined {
    struct output o;
    struct records assocs, accounts; /* accounts: of federations, their clusters */
    struct records everybody;        /* every association, to tell coordinators */
    bool with_assoc;
    const char *cluster; /* a user's default account is that here; NULL: any cluster's */
};

/* "a,b": sorted, each once.  Frees the list of borrowed words. */
static char *join_words(const char **words, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    char *text;

    if (n)
        qsort(words, n, sizeof(*words), order_text);
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(words[i], words[i - 1]) != 0)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", words[i]);
    free(words);
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}

static const Pst__AssocRecord *assoc_at(const struct records *r, size_t i)
{
    return (const Pst__AssocRecord *)r->list[i];
}

/* Those named, and every user of an account whose users are coordinators. */
static char *coordinators_of(const Pst__AccountRecord *a, const struct records *everybody)
{
    const char **words = xmalloc_or_die((a->n_coordinators + everybody->n + 1) * sizeof(*words));
    size_t n = 0;

    for (size_t i = 0; i < a->n_coordinators; i++)
        words[n++] = a->coordinators[i];
    for (size_t i = 0; a->users_are_coords && i < everybody->n; i++) {
        const Pst__AssocRecord *rec = assoc_at(everybody, i);

        if (rec->user && *rec->user && strcasecmp(rec->account, a->name) == 0)
            words[n++] = rec->user;
    }
    return join_words(words, n);
}

static int account_row(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct joined *j = ctx;
    struct smgr_row row = { .account = (const Pst__AccountRecord *)record, .now_us = info->now_us };
    _cleanup_free_ char *coords = coordinators_of(row.account, &j->everybody);

    if (j->o.l->choose_coords && !!row.account->users_are_coords != (j->o.l->choose_coords > 0))
        return 0;
    row.coordinated = coords;
    for (size_t i = 0; j->with_assoc && i < j->assocs.n; i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)j->assocs.list[i];

        if (strcasecmp(a->account, row.account->name) != 0)
            continue;
        row.assoc = a;
        put_row(&j->o, &row);
    }
    if (!row.assoc)
        put_row(&j->o, &row);
    return 0;
}

/* Where coordinators are shown, all associations are needed: what is below an account, and who. */
static bool fetch_everybody(struct smgr *s, const struct smgr_line *l, struct joined *j)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;

    if (!l->with_coord)
        return true;
    return smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, &all, keep_record, &j->everybody) &&
           (l->entity != SMGR_USER ||
            smgr_list(s, PST__ACCT_ENTITY__ACCT_ACCOUNT, &all, keep_record, &j->accounts));
}

static void show_accounts(struct smgr *s, struct smgr_line *l)
{
    bool with = l->with_assoc || s->with_assoc;
    const char *columns =
        with ? l->with_coord ? "account,description,organization,coordinators" ACCOUNT_ASSOC_COLUMNS
                             : "account,description,organization" ACCOUNT_ASSOC_COLUMNS
        : l->with_coord ? "account,description,organization,coordinators"
                        : "account,description,organization";
    struct joined j = { .with_assoc = with };

    smgr_load_qos(s);
    smgr_load_tres(s);
    if ((with && !fetch_assocs(s, l, false, &j.assocs)) || !fetch_everybody(s, l, &j) ||
        !output_begin(&j.o, s, l, columns)) {
        records_done(&j.assocs);
        records_done(&j.everybody);
        return;
    }
    (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_ACCOUNT, l->where, account_row, &j); /* told */
    output_end(&j.o);
    records_done(&j.assocs);
    records_done(&j.everybody);
}

/* ---- users ----------------------------------------------------------------------------------- */

static int by_user(const void *pa, const void *pb)
{
    const Pst__AssocRecord *const *a = pa, *const *b = pb;
    int r = strcmp((*a)->user ? (*a)->user : "", (*b)->user ? (*b)->user : "");

    if (r == 0)
        r = strcmp((*a)->cluster, (*b)->cluster);
    if (r == 0)
        r = strcmp((*a)->lineage, (*b)->lineage);
    return r;
}

/* The first of the user's. */
static size_t find_user(const struct records *r, const char *user)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)r->list[mid];

        if (strcmp(a->user ? a->user : "", user) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_of(const struct records *r, size_t i, const char *user)
{
    return i < r->n && strcmp(((const Pst__AssocRecord *)r->list[i])->user
                                  ? ((const Pst__AssocRecord *)r->list[i])->user
                                  : "",
                              user) == 0;
}

/* Is the user a coordinator of the account by name or as one of its users? */
static bool coordinates_account(const struct joined *j, const Pst__AccountRecord *a,
                                const char *user)
{
    for (size_t k = 0; k < a->n_coordinators; k++)
        if (strcmp(a->coordinators[k], user) == 0)
            return true;
    for (size_t i = 0; a->users_are_coords && i < j->everybody.n; i++) {
        const Pst__AssocRecord *rec = assoc_at(&j->everybody, i);

        if (rec->user && strcmp(rec->user, user) == 0 && strcasecmp(rec->account, a->name) == 0)
            return true;
    }
    return false;
}

/* Is the association an account's, in this account or below it? */
static bool is_inside(const Pst__AssocRecord *rec, const char *account)
{
    _cleanup_free_ char *part = xasprintf_or_die("/%s/", account);

    return !(rec->user && *rec->user) && rec->lineage && strcasestr(rec->lineage, part);
}

/* Accounts that the user coordinates, with all below them. */
static char *coordinated_by(const struct joined *j, const char *user)
{
    const char **words = xmalloc_or_die((j->accounts.n + 1) * sizeof(*words));
    size_t n = 0;

    for (size_t i = 0; i < j->accounts.n; i++) {
        const Pst__AccountRecord *a = (const Pst__AccountRecord *)j->accounts.list[i];

        if (!coordinates_account(j, a, user))
            continue;
        words[n++] = a->name;
        for (size_t k = 0; k < j->everybody.n; k++)
            if (is_inside(assoc_at(&j->everybody, k), a->name)) {
                words = xrealloc_or_die(words, n + j->accounts.n + 2, sizeof(*words));
                words[n++] = assoc_at(&j->everybody, k)->account;
            }
    }
    return join_words(words, n);
}

static int user_row(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct joined *j = ctx;
    struct smgr_row row = { .user = (const Pst__UserRecord *)record, .now_us = info->now_us };
    size_t first = find_user(&j->assocs, row.user->name);
    _cleanup_free_ char *coords = coordinated_by(j, row.user->name);

    row.coordinated = coords;
    for (size_t i = first; is_of(&j->assocs, i, row.user->name); i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)j->assocs.list[i];

        if (a->is_default && !row.default_account &&
            (!j->cluster || strcasecmp(a->cluster, j->cluster) == 0))
            row.default_account = a->account;
    }
    for (size_t i = first; j->with_assoc && is_of(&j->assocs, i, row.user->name); i++) {
        row.assoc = (const Pst__AssocRecord *)j->assocs.list[i];
        put_row(&j->o, &row);
    }
    if (!row.assoc)
        put_row(&j->o, &row);
    return 0;
}

static const char *user_columns(struct smgr *s, const struct smgr_line *l, bool with)
{
    bool track = conf_bool(cli_conf(&s->cli), CONF_TRACK_WCKEY);

    if (with)
        return l->with_coord ? "user,defaultaccount,adminlevel,coordinators" USER_ASSOC_COLUMNS
               : track       ? "user,defaultaccount,defaultwckey,adminlevel" USER_ASSOC_COLUMNS
                             : "user,defaultaccount,adminlevel" USER_ASSOC_COLUMNS;
    return l->with_coord ? "user,defaultaccount,adminlevel,coordinators"
           : track       ? "user,defaultaccount,defaultwckey,adminlevel"
                         : "user,defaultaccount,adminlevel";
}

static void show_users(struct smgr *s, struct smgr_line *l)
{
    bool with = l->with_assoc || s->with_assoc;
    struct joined j = { .with_assoc = with };

    if (!with && !l->where->n_clusters)
        j.cluster = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);
    smgr_load_qos(s);
    smgr_load_tres(s);
    if (!fetch_assocs(s, l, !with, &j.assocs) || !fetch_everybody(s, l, &j) ||
        !output_begin(&j.o, s, l, user_columns(s, l, with))) {
        records_done(&j.assocs);
        records_done(&j.accounts);
        records_done(&j.everybody);
        return;
    }
    if (j.assocs.n)
        qsort(j.assocs.list, j.assocs.n, sizeof(*j.assocs.list), by_user);
    (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_USER, l->where, user_row, &j); /* told */
    output_end(&j.o);
    records_done(&j.assocs);
    records_done(&j.accounts);
    records_done(&j.everybody);
}

/* ---- clusters -------------------------------------------------------------------------------- */

static int cluster_row(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct joined *j = ctx;
    struct smgr_row row = { .cluster = (const Pst__AcctClusterRecord *)record,
                            .now_us = info->now_us };

    if (j->o.l->has_class && j->o.l->class != row.cluster->classification)
        return 0;
    for (size_t i = 0; i < j->assocs.n; i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)j->assocs.list[i];

        if (strcmp(a->cluster, row.cluster->name) == 0 && strcmp(a->account, "root") == 0)
            row.assoc = a;
    }
    put_row(&j->o, &row);
    return 0;
}

static void show_clusters(struct smgr *s, struct smgr_line *l)
{
    Pst__AcctCond roots = PST__ACCT_COND__INIT;
    char *root[] = { (char *)"root" }; /* only packed */
    struct joined j = { 0 };
    char columns[256];

    (void)snprintf(columns, sizeof(columns), "%s%s%s", CLUSTER_PLACE,
                   l->no_limits ? "" : CLUSTER_LIMITS,
                   l->with_fed ? ",federation,fedid%6,features,fedstate" : "");
    smgr_load_qos(s);
    smgr_load_tres(s);
    roots.n_accounts = 1;
    roots.accounts = root;
    roots.has_no_users = roots.no_users = 1;
    if (smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, &roots, keep_record, &j.assocs) &&
        output_begin(&j.o, s, l, columns)) {
        (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_CLUSTER, l->where, cluster_row, &j); /* told */
        output_end(&j.o);
    }
    records_done(&j.assocs);
}

/* ---- federations ----------------------------------------------------------------------------- */

/* A line for each cluster, or one where there are none; as a tree the federation has its own. */
static int federation_rows(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct joined *j = ctx;
    struct smgr_row row = { .federation = (const Pst__FederationRecord *)record,
                            .now_us = info->now_us,
                            .tree = j->o.l->tree };
    bool any = false;

    if (row.tree)
        put_row(&j->o, &row);
    for (size_t i = 0; i < j->accounts.n; i++) {
        const Pst__AcctClusterRecord *c = (const Pst__AcctClusterRecord *)j->accounts.list[i];

        if (!c->federation || strcasecmp(c->federation, row.federation->name) != 0)
            continue;
        any = true;
        row.cluster = c;
        put_row(&j->o, &row);
    }
    if (!any && !row.tree && !j->o.l->where->n_clusters)
        put_row(&j->o, &row);
    return 0;
}

static void show_federations(struct smgr *s, struct smgr_line *l)
{
    Pst__AcctCond where = PST__ACCT_COND__INIT, names = *l->where;
    struct joined j = { 0 };

    where.clusters = l->where->clusters;
    where.n_clusters = l->where->n_clusters;
    names.n_clusters = 0;
    if (smgr_list(s, PST__ACCT_ENTITY__ACCT_CLUSTER, &where, keep_record, &j.accounts) &&
        output_begin(&j.o, s, l, "federation,cluster,fedid,features,fedstate")) {
        (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_FEDERATION, &names, federation_rows,
                        &j); /* told */
        output_end(&j.o);
    }
    records_done(&j.accounts);
}

/* ---- plain lists ----------------------------------------------------------------------------- */

static bool is_chosen_cluster(const struct smgr_line *l, const char *name)
{
    for (size_t i = 0; i < l->where->n_clusters; i++)
        if (strcasecmp(l->where->clusters[i], name) == 0)
            return true;
    return l->where->n_clusters == 0;
}

/* A condition on clusters chooses shares, and every resource is told where these are not shown. */
static int resource_rows(struct output *o, struct smgr_row *row)
{
    for (size_t i = 0; o->l->with_clusters && i < row->resource->n_shares; i++) {
        row->share = row->resource->shares[i];
        if (is_chosen_cluster(o->l, row->share->cluster))
            put_row(o, row);
    }
    if (!o->l->with_clusters)
        put_row(o, row);
    return 0;
}

static void drop_clusters(Pst__AcctCond *where)
{
    for (size_t i = 0; i < where->n_clusters; i++)
        free(where->clusters[i]);
    where->n_clusters = 0;
}

static bool has_preempt_mode(const struct smgr_line *l, const Pst__QosRecord *q)
{
    uint32_t modes = q->has_preempt_mode && q->preempt_mode != UINT32_MAX ? q->preempt_mode : 0;

    if (!l->preempt_modes)
        return true;
    return l->preempt_modes == UINT32_MAX ? modes == 0 : (modes & l->preempt_modes) != 0;
}

/* The store knows numbers of users only, so their names are compared here. */
static bool is_by_users(const Pst__AcctCond *where, const Pst__AcctEventRecord *e)
{
    for (size_t i = 0; i < where->n_users && e->has_uid; i++)
        if (strcmp(where->users[i], user_name_of(e->uid)) == 0)
            return true;
    return where->n_users == 0;
}

static bool has_cpus(const struct smgr_line *l, const Pst__AcctEventRecord *e)
{
    uint64_t cpus = smgr_event_cpus(e);

    return cpus >= l->min_cpus && (!l->max_cpus || cpus <= l->max_cpus);
}

static int plain_row(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct output *o = ctx;
    struct smgr_row row = { .now_us = info->now_us };

    switch (o->l->entity) {
    case SMGR_QOS:
        row.qos = (const Pst__QosRecord *)record;
        if (!has_preempt_mode(o->l, row.qos))
            return 0;
        break;
    case SMGR_TRES:
        row.tres = (const Pst__TresRecord *)record;
        break;
    case SMGR_WCKEY:
        row.wckey = (const Pst__WckeyRecord *)record;
        break;
    case SMGR_EVENT:
        row.event = (const Pst__AcctEventRecord *)record;
        if (!is_by_users(o->l->where, row.event) || !has_cpus(o->l, row.event))
            return 0;
        break;
    case SMGR_INSTANCE:
        row.instance = (const Pst__AcctInstanceRecord *)record;
        break;
    case SMGR_RESERVATION:
        row.resv = (const Pst__AcctResvRecord *)record;
        break;
    case SMGR_TXN:
        row.txn = (const Pst__AcctTxnRecord *)record;
        break;
    default:
        row.resource = (const Pst__ResourceRecord *)record;
        return resource_rows(o, &row);
    }
    put_row(o, &row);
    return 0;
}

static void show_plain(struct smgr *s, struct smgr_line *l, Pst__AcctEntity entity,
                       const char *columns)
{
    struct output o;

    smgr_load_qos(s);
    smgr_load_tres(s);
    if (!output_begin(&o, s, l, columns))
        return;
    if (entity != PST__ACCT_ENTITY__ACCT_UNSPECIFIED)
        (void)smgr_list(s, entity, l->where, plain_row, &o); /* told */
    output_end(&o);
}

static int by_qos_name(const void *a, const void *b)
{
    const Pst__QosRecord *x = *(Pst__QosRecord *const *)a, *y = *(Pst__QosRecord *const *)b;

    return strcmp(x->name, y->name);
}

/* In the order of creation; those that are named, by name. */
static void show_qos(struct smgr *s, struct smgr_line *l)
{
    struct query_info info = { .now_us = now_us() };
    struct records found = { 0 };
    struct output o;

    if (!l->where->n_names) {
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_QOS, QOS_COLUMNS);
        return;
    }
    smgr_load_qos(s);
    smgr_load_tres(s);
    if (!output_begin(&o, s, l, QOS_COLUMNS))
        return;
    if (smgr_list(s, PST__ACCT_ENTITY__ACCT_QOS, l->where, keep_record, &found) && found.n)
        qsort(found.list, found.n, sizeof(*found.list), by_qos_name);
    for (size_t i = 0; i < found.n; i++)
        (void)plain_row(&o, found.list[i], &info);
    records_done(&found);
    output_end(&o);
}

/* Without a beginning: what began within a day, unless it still lasts. */
static void show_events(struct smgr *s, struct smgr_line *l)
{
    char *own[] = { (char *)conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME) }; /* only packed */
    size_t n = l->where->n_clusters;
    char **names = l->where->clusters;

    if (!l->where->has_start_us && !l->all_time && !l->open_only) {
        l->where->has_start_us = 1;
        l->where->start_us = now_us() - 86400 * USEC_PER_SEC;
    }
    if (!n && !l->all_clusters) {
        l->where->n_clusters = 1;
        l->where->clusters = own;
    }
    show_plain(s, l, PST__ACCT_ENTITY__ACCT_EVENT, "cluster,nodename,start,end,state,reason,user");
    l->where->n_clusters = n;
    l->where->clusters = names;
}

/* ---- problems -------------------------------------------------------------------------------- */

static bool has_users(const struct records *r, const Pst__AssocRecord *account)
{
    for (size_t i = 0; i < r->n; i++) {
        const Pst__AssocRecord *a = (const Pst__AssocRecord *)r->list[i];

        if (a->user && *a->user && strcmp(a->cluster, account->cluster) == 0 &&
            strcmp(a->account, account->account) == 0)
            return true;
    }
    return false;
}

static int problem_user(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct joined *j = ctx;
    struct smgr_row row = { .user = (const Pst__UserRecord *)record, .now_us = info->now_us };

    if (!getpwnam(row.user->name)) {
        row.problem = "User does not have a uid";
        put_row(&j->o, &row);
    }
    return 0;
}

void smgr_show_problems(struct smgr *s, struct smgr_line *l)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    struct joined j = { 0 };

    if (!smgr_list(s, PST__ACCT_ENTITY__ACCT_ASSOC, l->where, keep_record, &j.assocs) ||
        !output_begin(&j.o, s, l, "cluster,account,user,problem")) {
        records_done(&j.assocs);
        return;
    }
    for (size_t i = 0; i < j.assocs.n; i++) {
        struct smgr_row row = { .assoc = (const Pst__AssocRecord *)j.assocs.list[i] };

        if ((row.assoc->user && *row.assoc->user) || has_users(&j.assocs, row.assoc))
            continue;
        row.problem = "Account has no users";
        put_row(&j.o, &row);
    }
    (void)smgr_list(s, PST__ACCT_ENTITY__ACCT_USER, &all, problem_user, &j); /* told */
    output_end(&j.o);
    records_done(&j.assocs);
}

/* ---- which ----------------------------------------------------------------------------------- */

static void show_line(struct smgr *s, struct smgr_line *l)
{
    switch (l->entity) {
    case SMGR_ASSOC:
        show_assocs(s, l);
        break;
    case SMGR_ACCOUNT:
        show_accounts(s, l);
        break;
    case SMGR_USER:
        show_users(s, l);
        break;
    case SMGR_CLUSTER:
        show_clusters(s, l);
        break;
    case SMGR_QOS:
        show_qos(s, l);
        break;
    case SMGR_TRES:
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_TRES, "type,name%15,id");
        break;
    case SMGR_WCKEY:
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_WCKEY, "wckey,cluster,user");
        break;
    case SMGR_RESOURCE:
        if (!l->with_clusters)
            drop_clusters(l->where);
        show_plain(
            s, l, PST__ACCT_ENTITY__ACCT_RESOURCE,
            l->with_clusters
                ? "name,server,type,count,lastconsumed,allocated,servertype,cluster,allowed,flags"
                : "name,server,type,count,lastconsumed,allocated,servertype,flags");
        break;
    case SMGR_TXN:
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_TXN, "time,action,actor,where,info");
        break;
    case SMGR_EVENT:
        show_events(s, l);
        break;
    case SMGR_RESERVATION:
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_RESERVATION,
                   "cluster,name%15,tres%30,start,end,unusedwall");
        break;
    case SMGR_PROBLEM:
        smgr_show_problems(s, l);
        break;
    case SMGR_FEDERATION:
        show_federations(s, l);
        break;
    default: /* SMGR_INSTANCE */
        show_plain(s, l, PST__ACCT_ENTITY__ACCT_INSTANCE,
                   "cluster,nodename,start,end,instanceid,instancetype,extra");
    }
}

/* Conditions on associations where none are shown are asked about. */
static bool wants_partial(struct smgr *s, const struct smgr_line *l)
{
    const Pst__AcctCond *w = l->where;

    if (l->entity == SMGR_USER && w->n_wckeys) { /* no condition of users */
        s->status = CLI_EXIT_FAILED;
        return false;
    }
    if (!(l->entity & (SMGR_USER | SMGR_ACCOUNT)) || l->with_assoc || s->with_assoc ||
        !(w->n_accounts || w->n_qos_ids || w->n_parents || w->n_partitions || w->n_ids ||
          (l->entity == SMGR_ACCOUNT && (w->n_users || w->n_clusters))))
        return true;
    if (s->immediate) /* nothing is asked */
        return true;
    printf("You requested options that are only valid when querying with the withassoc option.\n");
    if (smgr_ask(s, "Are you sure you want to continue?"))
        return true;
    printf("Aborted\n");
    return false;
}

void smgr_show(struct smgr *s, int n, char **words)
{
    struct smgr_line l = { 0 };
    enum smgr_entity entity;

    if (n < 1 || !smgr_entity_of(words[0], &entity) || (entity & (SMGR_COORD | SMGR_JOB))) {
        smgr_fail(
            s, "No valid entity in list command\n"
               "Input line must include \"Account\", \"Association\", \"Cluster\", "
               "\"Configuration\",\n"
               "\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",\n"
               "\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"\n");
        return;
    }
    if (entity == SMGR_CONFIG) {
        smgr_show_config(s);
        return;
    }
    if (entity == SMGR_RUNAWAY) {
        smgr_show_runaway(s, n - 1, words + 1);
        return;
    }
    if (entity == SMGR_STATS) {
        smgr_show_stats(s);
        return;
    }
    if (smgr_parse(s, entity, SMGR_LIST, n - 1, words + 1, &l) && wants_partial(s, &l))
        if (!s->json.wanted || !smgr_show_json(s, &l))
            show_line(s, &l);
    smgr_line_done(&l);
}
