/* sacctmgr_loaded.c - what a file of accounts adds, as tables */
#include "cli/sacctmgr/sacctmgr_loaded.h"

#define ASSOC_COLUMNS                                                                              \
    "Share,GrpTRESMins,GrpTRESRunMins%13,GrpTRES,GrpJobs,GrpJobsAccrue,GrpMemory,GrpNodes,"        \
    "GrpSubmitJobs,GrpWall,MaxTRESMins,MaxTRES,MaxTRESPerNode,MaxJobs,MaxSubmitJobs,"              \
    "MaxNodesPerJob,MaxWall,QOSLevel,DefaultQOS"

enum { WIDE_RULE = 62, RULE = 51 }; /* dashes below a table */

struct section {
    const char *title; /* NULL: none */
    const char *columns;
    size_t rule;
    enum smgr_loaded_kind kind;
    bool named; /* accounts and users that were not known before, not associations */
};

static void put_row(struct smgr_table *t, const struct smgr_loaded *l, bool named,
                    struct strbuf *out)
{
    const Pst__AcctCond *where = l->op->where;
    const Pst__AcctSet *set = l->op->set;
    Pst__AssocRecord assoc = PST__ASSOC_RECORD__INIT;
    Pst__AccountRecord account = PST__ACCOUNT_RECORD__INIT;
    Pst__UserRecord user = PST__USER_RECORD__INIT;
    struct smgr_row row = { .as_written = true };

    if (named && l->kind == SMGR_LOADED_ACCOUNT) {
        if (set->account)
            account = *set->account;
        account.name = where->names[0];
        row.account = &account;
    } else if (named) {
        if (set->user)
            user = *set->user;
        user.name = where->names[0];
        user.default_wckey = (char *)l->default_wckey;
        row.default_account = l->default_account;
        row.user = &user;
    } else {
        if (set->assoc)
            assoc = *set->assoc;
        assoc.account = l->kind == SMGR_LOADED_CLUSTER ? "root"
                        : l->kind == SMGR_LOADED_USER  ? where->accounts[0]
                                                       : where->names[0];
        assoc.user = l->kind == SMGR_LOADED_USER ? where->names[0] : NULL;
        assoc.parent_account = set->parent;
        row.assoc = &assoc;
    }
    smgr_table_row(t, &row, out);
}

static void put_section(struct smgr *s, const struct section *sec, const struct smgr_loaded *rows,
                        size_t n, struct strbuf *out)
{
    struct smgr_table *t = NULL;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].kind != sec->kind || (sec->named && !rows[i].unknown))
            continue;
        if (!t) {
            t = smgr_table_default(s, sec->columns, false);
            if (!t)
                return;
            if (sec->title)
                strbuf_addf(out, "%s\n", sec->title);
            smgr_table_header(t, out);
        }
        put_row(t, &rows[i], sec->named, out);
    }
    if (t) {
        strbuf_pad(out, '-', sec->rule);
        strbuf_add(out, "\n\n");
    }
    smgr_table_free(t);
}

void smgr_put_loaded(struct smgr *s, const struct smgr_loaded *rows, size_t n, const char *changes,
                     struct strbuf *out)
{
    static const struct section cluster = { NULL, "Account,ParentName," ASSOC_COLUMNS, WIDE_RULE,
                                            SMGR_LOADED_CLUSTER, false };
    static const struct section sections[] = {
        { "Accounts", "Name,Description,Organization,QOSLevel", RULE, SMGR_LOADED_ACCOUNT, true },
        { "Account Associations", "Account,ParentName," ASSOC_COLUMNS, WIDE_RULE,
          SMGR_LOADED_ACCOUNT, false },
        { "Users", "Name,DefaultAccount,DefaultWCKey,QOSLevel,AdminLevel,Coordinators", RULE,
          SMGR_LOADED_USER, true },
        { "User Associations", "User,Account," ASSOC_COLUMNS, WIDE_RULE, SMGR_LOADED_USER, false },
    };

    put_section(s, &cluster, rows, n, out);
    strbuf_add(out, changes);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        put_section(s, &sections[i], rows, n, out);
}
