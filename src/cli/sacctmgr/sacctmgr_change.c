/* sacctmgr_change.c - add, modify and delete
 *
 * Without --immediate a change is tried first (dry_run), so that what it would do is shown before
 * the person decides; then it is sent again and done. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/base/argwords.h"
#include "cli/sacctmgr/sacctmgr.h"
#include "wire/errors.h"

/* ---- one change ------------------------------------------------------------------------------ */

struct change {
    struct smgr *s;
    struct smgr_line *l;
    Pst__AcctOp op;
    Pst__AcctAdminReply *reply;
};

static const struct {
    enum smgr_entity entity;
    Pst__AcctEntity wire;
} wire_of[] = {
    { SMGR_ACCOUNT, PST__ACCT_ENTITY__ACCT_ACCOUNT },
    { SMGR_CLUSTER, PST__ACCT_ENTITY__ACCT_CLUSTER },
    { SMGR_COORD, PST__ACCT_ENTITY__ACCT_COORD },
    { SMGR_FEDERATION, PST__ACCT_ENTITY__ACCT_FEDERATION },
    { SMGR_QOS, PST__ACCT_ENTITY__ACCT_QOS },
    { SMGR_RESOURCE, PST__ACCT_ENTITY__ACCT_RESOURCE },
    { SMGR_USER, PST__ACCT_ENTITY__ACCT_USER },
};

static Pst__AcctEntity entity_on_wire(enum smgr_entity entity)
{
    for (size_t i = 0; i < ARRAY_SIZE(wire_of); i++)
        if (wire_of[i].entity == entity)
            return wire_of[i].wire;
    return PST__ACCT_ENTITY__ACCT_UNSPECIFIED;
}

static void change_done(struct change *c)
{
    if (c->reply)
        pst__acct_admin_reply__free_unpacked(c->reply, NULL);
    c->reply = NULL;
}

/* NULL: the store could not be asked. */
static const Pst__AcctOpResult *send_change(struct change *c, bool dry_run)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctOp *ops[] = { &c->op };

    req.n_ops = 1;
    req.ops = ops;
    req.has_dry_run = req.dry_run = dry_run;
    change_done(c);
    c->reply = smgr_request(c->s, &req);
    return c->reply && c->reply->n_results ? c->reply->results[0] : NULL;
}

static const Pst__AcctOpResult *begin_change(struct change *c, struct smgr *s, struct smgr_line *l,
                                             Pst__AcctVerb verb)
{
    *c = (struct change){ .s = s, .l = l };
    pst__acct_op__init(&c->op);
    c->op.has_verb = c->op.has_entity = 1;
    c->op.verb = verb;
    c->op.entity = entity_on_wire(l->entity);
    c->op.where = l->where;
    c->op.set = l->set;
    return send_change(c, !s->immediate);
}

static void tell_lines(const Pst__AcctOpResult *res, const char *indent)
{
    for (size_t i = 0; i < res->n_lines; i++)
        printf("%s%s\n", indent, res->lines[i]);
}

static void tell_error_below(struct smgr *s, const Pst__AcctOpResult *res, const char *indent)
{
    if (res->code == ESLURM_ACCESS_DENIED && !res->text)
        smgr_fail(s,
                  "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
                  " Error with request: %s\n",
                  slurm_err_text(res->code));
    else
        smgr_fail(s, " Error with request: %s\n",
                  res->text ? res->text : slurm_err_text(res->code));
    for (size_t i = 0; i < res->n_lines; i++)
        smgr_fail(s, "%s%s\n", indent, res->lines[i]);
}

static void tell_error(struct smgr *s, const Pst__AcctOpResult *res)
{
    tell_error_below(s, res, "  ");
}

/* Asks first, unless -i was given.  True: the change is made. */
static bool finish_change(struct change *c)
{
    const Pst__AcctOpResult *res = NULL;
    bool made = c->s->immediate;

    if (!made && smgr_commit(c->s)) {
        res = send_change(c, false);
        made = res && !res->has_code;
    }
    if (res && res->has_code)
        tell_error(c->s, res);
    change_done(c);
    return made;
}

/* ---- associations in words ------------------------------------------------------------------- */

static void put_assoc(const Pst__AssocRecord *a, int account_width)
{
    bool user = a->user && *a->user;

    printf("  C = %-10s", a->cluster);
    if (!user && a->parent_account) {
        printf(" A = %s of %s\n", a->account, a->parent_account);
        return;
    }
    printf(" A = %-*s", account_width, a->account);
    if (user)
        printf(" U = %-9s", a->user);
    if (a->partition && *a->partition)
        printf(" P = %s", a->partition);
    printf("\n");
}

/* One that was made: without the parent, which stands elsewhere. */
static void put_new_assoc(const Pst__AssocRecord *made)
{
    Pst__AssocRecord a = *made;

    a.parent_account = NULL;
    put_assoc(&a, 20);
}

static void put_new_assocs(const Pst__AcctOpResult *res)
{
    if (res->n_assocs)
        printf(" Associations =\n");
    for (size_t i = 0; i < res->n_assocs; i++)
        put_new_assoc(res->assocs[i]);
}

/* Associations of users, with the lines about accounts that a cluster lacks where they belong.  As
 * the incumbent has it, the heading is missing where such a line comes first (transcript 71). */
static void put_new_members(const Pst__AcctOpResult *res)
{
    size_t told = 0;

    for (size_t i = 0; i <= res->n_assocs; i++) {
        for (; told < res->n_lines && (told >= res->n_line_at || res->line_at[told] <= i); told++)
            printf("%s\n", res->lines[told]);
        if (i == 0 && i < res->n_assocs && told == 0)
            printf(" Associations =\n");
        if (i < res->n_assocs)
            put_new_assoc(res->assocs[i]);
    }
}

static void put_changed_assocs(const Pst__AcctOpResult *res)
{
    for (size_t i = 0; i < res->n_assocs; i++) {
        const Pst__AssocRecord *a = res->assocs[i];

        if (!(a->user && *a->user) && !a->parent_account && strcmp(a->account, "root") == 0)
            printf("  C = %-10s A = %s\n", a->cluster, a->account);
        else
            put_assoc(a, 20);
    }
}

static void put_names(const Pst__AcctOpResult *res)
{
    for (size_t i = 0; i < res->n_names; i++)
        printf("  %s\n", res->names[i]);
}

static void put_settings(struct smgr *s, const Pst__AcctSet *set, bool qos, const char *heading)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    smgr_put_settings(s, &sb, set, qos);
    if (sb.len)
        printf("%s%s", heading, strbuf_str(&sb));
}

/* ---- add ------------------------------------------------------------------------------------- */

static void show_account(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__AccountRecord *a = c->l->set->account;

    printf(" Adding Account(s)\n");
    put_names(res);
    printf(" Settings\n");
    printf("  Description     = %s\n", a && a->description ? a->description : "Account Name");
    printf("  Organization    = %s\n",
           a && a->organization ? a->organization : "Parent/Account Name");
    put_new_assocs(res);
    if (c->l->has_set)
        printf(" Settings\n");
    put_settings(c->s, c->l->set, false, "");
}

static void show_user(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__AcctSet *set = c->l->set;

    if (res->n_names) {
        printf(" Adding User(s)\n");
        put_names(res);
        printf(" Settings\n");
        if (set->default_account)
            printf("  Default Account = %s\n", set->default_account);
        if (set->user && set->user->default_wckey)
            printf("  Default WCKey   = %s\n", set->user->default_wckey);
        if (set->user && set->user->has_admin_level)
            printf("  Admin Level     = %s\n", store_admin_word(set->user->admin_level));
    }
    put_new_members(res);
    if (res->n_wckeys)
        printf(" Wckey(s)\n");
    for (size_t i = 0; i < res->n_wckeys; i++)
        printf("  %s\n", res->wckeys[i]);
    put_settings(c->s, set, false, " Non Default Settings\n");
}

static void show_qos(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__QosRecord *q = c->l->set->qos;

    printf(" Adding QOS(s)\n");
    put_names(res);
    printf(" Settings\n");
    printf("  Description    = %s\n", q && q->description ? q->description
                                      : res->n_names ? c->l->where->names[c->l->where->n_names - 1]
                                                     : "");
    put_settings(c->s, c->l->set, true, "");
}

static void show_cluster_settings(struct change *c)
{
    _cleanup_val_(strbuf_done) struct strbuf record = STRBUF_INIT, limits = STRBUF_INIT;

    smgr_put_cluster_settings(&record, c->l->set);
    smgr_put_settings(c->s, &limits, c->l->set, false);
    if (record.len || limits.len)
        printf(" Setting\n%s%s%s", strbuf_str(&record), limits.len ? "  Default Limits:\n" : "",
               strbuf_str(&limits));
}

static void show_cluster(struct change *c, const Pst__AcctOpResult *res)
{
    printf(" Adding Cluster(s)\n");
    for (size_t i = 0; i < res->n_names; i++)
        printf("  Name           = %s\n", res->names[i]);
    show_cluster_settings(c);
}

static void show_federation(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__AcctSet *set = c->l->set;

    printf(" Adding Federation(s)\n");
    put_names(res);
    if (set->n_fed_add)
        printf(" Settings\n");
    for (size_t i = 0; i < set->n_fed_add; i++)
        printf("  Cluster       = %s\n", set->fed_add[i]);
    if (res->text)
        fprintf(stderr, "%s\n", res->text);
}

static void show_coord(struct change *c, const Pst__AcctOpResult *res)
{
    printf(" Adding Coordinator User(s)\n");
    for (size_t i = 0; i < c->l->where->n_users; i++)
        printf("  %s\n", c->l->where->users[i]);
    printf(" To Account(s) and all sub-accounts\n");
    for (size_t i = 0; i < c->l->where->n_accounts; i++)
        printf("  %s\n", c->l->where->accounts[i]);
    (void)res;
}

static void show_resource(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__ResourceRecord *r = c->l->set->resource;

    printf(" Adding Resource(s)\n");
    put_names(res);
    for (size_t i = 0; i < c->l->where->n_clusters; i++)
        printf("   Cluster - %s\t%u\n", c->l->where->clusters[i], c->l->set->allowed);
    printf(" Settings\n");
    printf("  Name           = %s\n", c->l->where->n_names ? c->l->where->names[0] : "");
    printf("  Server         = %s\n", r && r->server ? r->server : "slurmdb");
    printf("  Description    = %s\n", r && r->description    ? r->description
                                      : c->l->where->n_names ? c->l->where->names[0]
                                                             : "");
    if (r && r->server_type)
        printf("  ServerType     = %s\n", r->server_type);
    if (r && r->has_count)
        printf("  Count          = %u\n", r->count);
    if (r && r->has_last_consumed)
        printf("  LastConsumed   = %u\n", r->last_consumed);
    if (r && r->flags)
        printf("  Flags          = Absolute\n");
    printf("  Type           = %s\n", r && r->has_type ? "License" : "Unknown");
}

static const struct {
    enum smgr_entity entity;
    void (*show)(struct change *c, const Pst__AcctOpResult *res);
} adders[] = {
    { SMGR_ACCOUNT, show_account },
    { SMGR_USER, show_user },
    { SMGR_QOS, show_qos },
    { SMGR_CLUSTER, show_cluster },
    { SMGR_RESOURCE, show_resource },
    { SMGR_COORD, show_coord },
    { SMGR_FEDERATION, show_federation },
};

static void show_added(struct change *c, const Pst__AcctOpResult *res)
{
    for (size_t i = 0; i < ARRAY_SIZE(adders); i++)
        if (adders[i].entity == c->l->entity)
            adders[i].show(c, res);
}

/* Of an entity whose block is shown before a refusal; NULL of others. */
static const char *noun_of(enum smgr_entity entity)
{
    return entity == SMGR_QOS        ? "QOS"
           : entity == SMGR_CLUSTER  ? "clusters"
           : entity == SMGR_RESOURCE ? "system resource"
           : entity == SMGR_COORD    ? "coordinator"
                                     : NULL;
}

static void nothing_added(struct smgr *s, enum smgr_entity entity, const Pst__AcctOpResult *res)
{
    tell_lines(res, "");
    if ((entity & (SMGR_CLUSTER | SMGR_FEDERATION)) && res->n_lines) {
        s->status = CLI_EXIT_FAILED;
        return;
    }
    if (entity == SMGR_USER) {
        if (!res->n_lines)
            printf("Request didn't affect anything\n");
        printf("Nothing added.\nMake sure the accounts requested here have been added to the "
               "system/cluster. "
               "(sacctmgr add account...)\n");
    } else if (entity != SMGR_ACCOUNT || !res->n_lines) {
        printf(" Nothing new added.\n");
    }
    s->status = CLI_EXIT_FAILED;
}

static void add_failed(struct smgr *s, enum smgr_entity entity, const Pst__AcctOpResult *res)
{
    if (res->code == SLURM_NO_CHANGE_IN_DATA) {
        nothing_added(s, entity, res);
    } else if (res->code == ESLURM_ACCESS_DENIED && res->text) {
        smgr_fail(s, " error: %s\n", res->text);
    } else if (res->text && *res->text == ' ') {
        smgr_fail(s, "%s\n", res->text);
    } else if (res->code == ESLURM_NO_REMOVE_DEFAULT_QOS) {
        smgr_fail(s, " error: Problem adding user associations: %s (%s)\n",
                  slurm_err_text(res->code), slurm_err_text(res->code));
    } else {
        tell_error(s, res);
    }
}

/* What must be said to add one. */
static bool complete_request(struct smgr *s, const struct smgr_line *l)
{
    const char *what = NULL;

    if (l->entity == SMGR_COORD && !l->where->n_users)
        what = " You need to specify a user list here.\n";
    else if (l->entity == SMGR_COORD && !l->where->n_accounts)
        what = " You need to specify an account list here.\n";
    else if (l->entity == SMGR_ACCOUNT && !l->where->n_names && l->has_where)
        what = " error: Something was wrong with your query\n\n";
    else if (l->entity != SMGR_COORD && !l->where->n_names)
        what = l->entity == SMGR_USER         ? " Need name of user to add.\n"
               : l->entity == SMGR_ACCOUNT    ? " Need name of account to add.\n"
               : l->entity == SMGR_QOS        ? " Need name of qos to add.\n"
               : l->entity == SMGR_CLUSTER    ? " Need name of cluster to add.\n"
               : l->entity == SMGR_FEDERATION ? " Need name of federation to add.\n"
                                              : " Need name of resource to add.\n";
    else if (l->entity == SMGR_USER && !l->where->n_accounts && !l->set->n_wckeys &&
             !l->set->default_account && !(l->set->user && l->set->user->default_wckey))
        what = " Need name of account or wckey to add.\n";
    if (what)
        smgr_fail(s, "%s", what);
    return !what;
}

/* A name that is no login is asked for. */
static bool wants_unknown_users(struct smgr *s, const struct smgr_line *l)
{
    for (size_t i = 0; l->entity == SMGR_USER && !s->immediate && i < l->where->n_names; i++) {
        if (getpwnam(l->where->names[i]))
            continue;
        printf("There is no uid for user '%s'\n", l->where->names[i]);
        if (!smgr_ask(s, "Are you sure you want to continue?")) {
            s->status = CLI_EXIT_FAILED;
            return false;
        }
    }
    return true;
}

#define MODIFIABLE                                                                                 \
    (SMGR_ACCOUNT | SMGR_USER | SMGR_QOS | SMGR_CLUSTER | SMGR_RESOURCE | SMGR_JOB |               \
     SMGR_FEDERATION)

static bool take_entity(struct smgr *s, const char *verb, unsigned possible, int *n, char ***words,
                        enum smgr_entity *ret)
{
    bool known = *n > 0 && smgr_entity_of((*words)[0], ret);

    if (!known && *n > 0 && smgr_is((*words)[0], "resources", 1)) { /* lists have more such words */
        *ret = SMGR_RESOURCE;
        known = true;
    } else if (*n > 0 && (possible & SMGR_COORD) && smgr_is((*words)[0], "coordinators", 2)) {
        *ret = SMGR_COORD; /* in a list "co" is the configuration */
        known = true;
    }
    if (known && (*ret & possible)) {
        (*n)--;
        (*words)++;
        return true;
    }
    smgr_fail(s,
              "No valid entity in %s command\nInput line must include \"Account\", \"Cluster\", %s"
              "\"QOS\", \"Resource\"%s or \"User\"\n",
              verb,
              possible == MODIFIABLE ? "\"Federation\", \"Job\", "
                                     : "\"Coordinator\", \"Federation\", ",
              possible == MODIFIABLE ? "" : ",");
    return false;
}

#define ADDABLE                                                                                    \
    (SMGR_ACCOUNT | SMGR_USER | SMGR_QOS | SMGR_CLUSTER | SMGR_RESOURCE | SMGR_COORD |             \
     SMGR_FEDERATION)

void smgr_add(struct smgr *s, int n, char **words)
{
    const Pst__AcctOpResult *res;
    struct smgr_line l = { 0 };
    enum smgr_entity entity;
    struct change c;

    if (!smgr_may_write(s, "add") || !take_entity(s, "add", ADDABLE, &n, &words, &entity))
        return;
    if (!smgr_parse(s, entity, SMGR_ADD, n, words, &l) || !complete_request(s, &l) ||
        !wants_unknown_users(s, &l)) {
        smgr_line_done(&l);
        return;
    }
    res = begin_change(&c, s, &l, PST__ACCT_VERB__ACCT_ADD);
    if (res && noun_of(entity) && !res->text &&
        (res->code == ESLURM_ACCESS_DENIED || res->code == ESLURM_OVER_ALLOCATE)) {
        show_added(&c, res);
        smgr_fail(s, " Problem adding %s: %s\n", noun_of(entity), slurm_err_text(res->code));
    } else if (res && res->has_code) {
        add_failed(s, entity, res);
    } else if (res) {
        if (entity == SMGR_ACCOUNT)
            tell_lines(res, "");
        show_added(&c, res);
        (void)finish_change(&c);
    }
    change_done(&c);
    smgr_line_done(&l);
}

/* ---- modify ---------------------------------------------------------------------------------- */

static bool sets_records(const struct smgr_line *l)
{
    const Pst__AcctSet *set = l->set;

    return set->account || set->default_account || set->new_name || set->user;
}

static const char *heading_of(const struct smgr_line *l)
{
    bool records = sets_records(l);

    if (l->entity == SMGR_ACCOUNT)
        return records ? " Modified accounts...\n" : " Modified account associations...\n";
    if (l->entity == SMGR_USER)
        return records ? " Modified users...\n" : " Modified user associations...\n";
    return "";
}

static void show_modified(struct change *c, const Pst__AcctOpResult *res)
{
    switch (c->l->entity) {
    case SMGR_ACCOUNT:
    case SMGR_USER:
        if (res->n_assocs) {
            printf(" Modified %s associations...\n",
                   c->l->entity == SMGR_USER ? "user" : "account");
            put_changed_assocs(res);
        }
        if (res->n_names) {
            printf(" Modified %s...\n", c->l->entity == SMGR_USER ? "users" : "accounts");
            put_names(res);
        }
        break;
    case SMGR_CLUSTER:
        show_cluster_settings(c);
        if (!res->n_assocs || c->l->set->cluster) {
            printf(" Modified cluster...\n");
            put_names(res);
        }
        if (res->n_assocs) {
            printf(" Modified cluster defaults for associations...\n");
            put_changed_assocs(res);
        }
        break;
    case SMGR_FEDERATION:
        printf(" Setting\n");
        tell_lines(res, "  ");
        printf(" Modified federation...\n");
        put_names(res);
        if (res->text)
            fprintf(stderr, "%s\n", res->text);
        break;
    case SMGR_RESOURCE:
        printf(" Modified server resource ...\n");
        if (!c->l->where->n_clusters)
            put_names(res);
        tell_lines(res, "  ");
        break;
    default:
        printf(" Modified %s...\n", "qos");
        put_names(res);
    }
}

/* What the store said, and the request's end. */
static void tell_refusal(struct smgr *s, const Pst__AcctOpResult *res)
{
    if (res->code == ESLURM_QOS_PREEMPTION_LOOP || res->code == ESLURM_NO_REMOVE_DEFAULT_ACCOUNT) {
        smgr_fail(s, "sacctmgr: error: %s\n", slurm_err_text(res->code));
        tell_error(s, res);
    } else if (res->code == ESLURM_NO_REMOVE_DEFAULT_QOS) {
        smgr_fail(s, "sacctmgr: error: \n These associations don't have access to their default "
                     "qos.\n Please give them access before they the default can be set to "
                     "this.\n");
        for (size_t i = 0; i < res->n_lines; i++)
            smgr_fail(s, "  %s\n", res->lines[i]);
        smgr_fail(s, "\n Error with request: %s\n", slurm_err_text(res->code));
    } else if ((res->code == ESLURM_ACCESS_DENIED || res->code == SLURM_ERROR) && res->text) {
        smgr_fail(s, "sacctmgr: error: %s\n Error with request: %s\n", res->text,
                  slurm_err_text(res->code));
    } else {
        tell_error(s, res);
    }
}

static void modify_failed(struct change *c, const Pst__AcctOpResult *res)
{
    struct smgr *s = c->s;

    if (res->text && *res->text == ' ' && (c->l->entity & (SMGR_CLUSTER | SMGR_FEDERATION))) {
        int status = s->status;

        smgr_fail(s, "%s\n", res->text);
        if (c->l->entity == SMGR_CLUSTER)
            s->status = status; /* as recorded */
    } else if (res->code == SLURM_NO_CHANGE_IN_DATA) {
        printf("%s  Nothing modified\n", heading_of(c->l));
        s->status = CLI_EXIT_FAILED;
    } else if (res->code == ESLURM_INVALID_PARENT_ACCOUNT) {
        printf("%s  %s\n", heading_of(c->l), res->text ? res->text : "");
    } else if ((res->code == ESLURM_INVALID_ACCOUNT || res->code == ESLURM_INVALID_WCKEY) &&
               res->text) {
        printf("%s %s\n", heading_of(c->l), res->text);
        tell_lines(res, "  ");
        s->status = CLI_EXIT_FAILED;
    } else if (res->code == ESLURM_OVER_ALLOCATE) {
        smgr_fail(s, "sacctmgr: error: %s\n If change was accepted it would look like this...\n",
                  slurm_err_text(res->code));
        for (size_t i = 0; i < res->n_lines; i++)
            smgr_fail(s, "  %s\n", res->lines[i]);
    } else {
        printf("%s", heading_of(c->l));
        tell_refusal(s, res);
    }
}

/* What modify does not choose by, or cannot do without. */
static bool good_conditions(struct smgr *s, const struct smgr_line *l)
{
    const Pst__AcctCond *w = l->where;

    if (l->entity == SMGR_ACCOUNT && w->n_organizations + w->n_descriptions)
        smgr_fail(s, " There was a problem with your 'where' options.\n");
    else if (l->entity == SMGR_RESOURCE && l->set->has_allowed && !w->n_clusters)
        smgr_fail(s, "Can't change \"allowed\" without specifying a cluster.\n");
    else
        return true;
    return false;
}

/* Anything but RawUsage? */
static bool set_more(const struct smgr_line *l)
{
    const Pst__AcctSet *set = l->set;

    return set->assoc || set->qos || set->account || set->user || set->cluster || set->parent ||
           set->default_account || set->new_name || set->clear_qos || set->clear_default_qos;
}

/* Were there conditions, and are all of them empty?  A script's variable may be. */
static bool chooses_nothing(const struct smgr_line *l)
{
    return l->has_where && !l->has_class && !pst__acct_cond__get_packed_size(l->where);
}

static int keep_of_class(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AcctClusterRecord *rec = (const Pst__AcctClusterRecord *)record;
    struct smgr_line *l = ctx;

    (void)info;
    if (rec->classification == l->class)
        smgr_add_string(&l->names_of_class, &l->n_names_of_class, rec->name, strlen(rec->name));
    return 0;
}

/* where classification=: the store is asked for the clusters' names, which are the condition
 * then. */
static bool choose_class(struct smgr_line *l)
{
    if (!l->has_class)
        return true;
    if (!smgr_list(l->s, PST__ACCT_ENTITY__ACCT_CLUSTER, l->where, keep_of_class, l))
        return false;
    if (!l->n_names_of_class) {
        printf("  Nothing %s\n", l->mode == SMGR_DELETE ? "deleted" : "modified");
        l->s->status = CLI_EXIT_FAILED;
        return false;
    }
    argwords_free(l->where->names, l->where->n_names);
    l->where->names = l->names_of_class;
    l->where->n_names = l->n_names_of_class;
    l->names_of_class = NULL;
    l->n_names_of_class = 0;
    return true;
}

void smgr_modify(struct smgr *s, int n, char **words)
{
    const Pst__AcctOpResult *res;
    struct smgr_line l = { 0 };
    enum smgr_entity entity;
    struct change c;

    if (!smgr_may_write(s, "modify") || !take_entity(s, "modify", MODIFIABLE, &n, &words, &entity))
        return;
    if (entity == SMGR_JOB) {
        smgr_modify_job(s, n, words);
        return;
    }
    if (!smgr_parse(s, entity, SMGR_MODIFY, n, words, &l)) {
        smgr_line_done(&l);
        return;
    }
    if (l.set->reset_usage && !smgr_may_reset_usage(s, entity, l.where)) {
        smgr_line_done(&l);
        return;
    }
    if (l.set->reset_usage && !set_more(&l)) {
        smgr_reset_usage(s, entity, l.where);
        smgr_line_done(&l);
        return;
    }
    if (!l.has_set && !l.set->n_wckeys) {
        smgr_fail(s, " You didn't give me anything to set\n");
        smgr_line_done(&l);
        return;
    }
    if (!good_conditions(s, &l) || !choose_class(&l)) {
        smgr_line_done(&l);
        return;
    }
    if (chooses_nothing(&l)) {
        printf("%s  Nothing modified\n", heading_of(&l));
        s->status = CLI_EXIT_FAILED;
        smgr_line_done(&l);
        return;
    }
    if (l.bad_unit) { /* its sentence was told */
        printf("%s  Nothing modified\n", heading_of(&l));
        smgr_line_done(&l);
        return;
    }
    if (!l.has_where && !s->immediate)
        printf(
            " You didn't set any conditions with 'WHERE'.\n Are you sure you want to continue?\n");
    res = begin_change(&c, s, &l, PST__ACCT_VERB__ACCT_MODIFY);
    if (res && res->has_code) {
        if (entity == SMGR_CLUSTER && res->code == ESLURM_ACCESS_DENIED)
            show_cluster_settings(&c);
        modify_failed(&c, res);
    } else if (res) {
        show_modified(&c, res);
        if (finish_change(&c) && l.set->reset_usage)
            smgr_reset_usage(s, entity, l.where);
    }
    change_done(&c);
    smgr_line_done(&l);
}

/* ---- delete ---------------------------------------------------------------------------------- */

static void show_deleted_user(struct change *c, const Pst__AcctOpResult *res)
{
    if (c->l->where->n_wckeys) {
        printf(" Deleting user WCKeys...\n");
        tell_lines(res, "  ");
        return;
    }
    if (res->n_names) {
        printf(" Deleting users...\n");
        put_names(res);
        return;
    }
    printf(" Deleting user associations...\n");
    for (size_t i = 0; i < res->n_assocs; i++)
        put_assoc(res->assocs[i], 10);
    if (res->n_deleted_names)
        printf(" Deleting users (No Associations)...\n");
    for (size_t i = 0; i < res->n_deleted_names; i++)
        printf("  %s\n", res->deleted_names[i]);
}

static void show_deleted_accounts(struct change *c, const Pst__AcctOpResult *res)
{
    const Pst__AcctCond *w = c->l->where;
    bool of_accounts = !(w->n_clusters + w->n_parents + w->n_users);

    printf(" Deleting %s...\n", of_accounts ? "accounts" : "account associations");
    for (size_t i = 0; w->n_users && i < res->n_assocs; i++)
        put_assoc(res->assocs[i], 10);
    if (of_accounts)
        put_names(res);
    else if (!w->n_users)
        put_changed_assocs(res);
}

/* Who is dismissed from what, as it was asked for. */
static void show_dismissed(const struct change *c)
{
    const Pst__AcctCond *w = c->l->where;

    if (w->n_users)
        printf(" Removing Coordinators with user name\n");
    for (size_t i = 0; i < w->n_users; i++)
        printf("  %s\n", w->users[i]);
    if (!w->n_users)
        printf(" Removing all users from Accounts\n");
    else
        printf("%s", w->n_accounts ? " From Account(s)\n" : " From all accounts\n");
    for (size_t i = 0; i < w->n_accounts; i++)
        printf("  %s\n", w->accounts[i]);
}

static void show_deleted(struct change *c, const Pst__AcctOpResult *res)
{
    switch (c->l->entity) {
    case SMGR_USER:
        show_deleted_user(c, res);
        break;
    case SMGR_ACCOUNT:
        show_deleted_accounts(c, res);
        break;
    case SMGR_COORD:
        show_dismissed(c);
        printf(" Removed Coordinators (sub accounts not listed)...\n");
        tell_lines(res, "  ");
        break;
    case SMGR_RESOURCE:
        printf(" Deleting resource(s)...\n");
        if (!c->l->where->n_clusters)
            put_names(res);
        tell_lines(res, "  ");
        break;
    default:
        printf(" Deleting %s...\n", c->l->entity == SMGR_QOS          ? "QOS(s)"
                                    : c->l->entity == SMGR_FEDERATION ? "federations"
                                                                      : "clusters");
        put_names(res);
    }
}

/* What stands in the way, and what to do about it. */
static void tell_obstacles(struct change *c, const Pst__AcctOpResult *res)
{
    if (res->code == ESLURM_NO_REMOVE_DEFAULT_QOS) {
        smgr_fail(c->s, " Associations listed below have these as their Default QOS.\n");
        for (size_t i = 0; i < res->n_lines; i++)
            smgr_fail(c->s, "  %s\n", res->lines[i]);
        smgr_fail(c->s, " Please either remove the qos' listed above from list and resubmit,\n"
                        " or change the default qos to remove the qos.\n Changes Discarded\n");
        return;
    }
    tell_error_below(c->s, res, c->l->entity == SMGR_QOS ? " " : "  ");
    if (res->code != ESLURM_NO_REMOVE_DEFAULT_ACCOUNT)
        return;
    smgr_fail(c->s, "%s Changes Discarded\n",
              c->l->entity == SMGR_ACCOUNT
                  ? " Please either remove the accounts listed above from list and resubmit,\n"
                    " or change these users' default accounts to remove the account(s).\n"
                  : " You must change the default account of these users or remove the users "
                    "completely from the affected clusters to allow these changes.\n");
}

static void delete_failed(struct change *c, const Pst__AcctOpResult *res)
{
    if (res->code != SLURM_NO_CHANGE_IN_DATA) {
        if (res->text && *res->text == ' ')
            smgr_fail(c->s, "%s\n", res->text);
        else
            tell_obstacles(c, res);
        return;
    }
    if (c->l->entity == SMGR_COORD) {
        show_dismissed(c);
        printf(" Nothing removed\n");
    } else {
        printf("%s Nothing deleted\n", c->l->entity & (SMGR_QOS | SMGR_RESOURCE) ? " " : "");
    }
    c->s->status = CLI_EXIT_FAILED;
}

void smgr_delete(struct smgr *s, int n, char **words)
{
    const Pst__AcctOpResult *res;
    struct smgr_line l = { 0 };
    enum smgr_entity entity;
    struct change c;

    if (!smgr_may_write(s, "delete") || !take_entity(s, "delete", ADDABLE, &n, &words, &entity))
        return;
    if (!smgr_parse(s, entity, SMGR_DELETE, n, words, &l)) {
        smgr_line_done(&l);
        return;
    }
    if (!l.has_where || chooses_nothing(&l)) {
        smgr_fail(s, " No conditions given to remove, not executing.\n");
        smgr_line_done(&l);
        return;
    }
    if (!choose_class(&l)) {
        smgr_line_done(&l);
        return;
    }
    res = begin_change(&c, s, &l, PST__ACCT_VERB__ACCT_DELETE);
    if (res && res->has_code) {
        delete_failed(&c, res);
    } else if (res) {
        show_deleted(&c, res);
        (void)finish_change(&c);
    }
    change_done(&c);
    smgr_line_done(&l);
}
