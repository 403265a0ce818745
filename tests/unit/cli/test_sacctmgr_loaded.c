/* test_sacctmgr_loaded.c - what a file of accounts adds: which tables there are, what is in which,
 * and their order.  The tables here stand for those of sacctmgr_fields.c: a row is its names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/sacctmgr/sacctmgr_loaded.h"

struct smgr_table {
    char first[32]; /* name of the first column */
};

struct smgr_table *smgr_table_default(struct smgr *s, const char *names, bool tree)
{
    struct smgr_table *t = calloc(1, sizeof(*t));

    (void)s;
    assert_false(tree);
    assert_non_null(t);
    (void)snprintf(t->first, sizeof(t->first), "%.*s", (int)strcspn(names, ","), names);
    return t;
}

struct smgr_table *smgr_table_free(struct smgr_table *t)
{
    free(t);
    return NULL;
}

void smgr_table_header(struct smgr_table *t, struct strbuf *out)
{
    strbuf_addf(out, "<%s>\n", t->first);
}

void smgr_table_row(struct smgr_table *t, const struct smgr_row *row, struct strbuf *out)
{
    (void)t;
    assert_true(row->as_written);
    if (row->assoc)
        strbuf_addf(out, "%s/%s below %s, share %s\n", row->assoc->account,
                    row->assoc->user ? row->assoc->user : "-",
                    row->assoc->parent_account ? row->assoc->parent_account : "-",
                    row->assoc->has_shares ? "said" : "not said");
    else if (row->account)
        strbuf_addf(out, "account %s: %s\n", row->account->name, row->account->description);
    else
        strbuf_addf(out, "user %s: %s %s\n", row->user->name, row->default_account,
                    row->user->default_wckey ? row->user->default_wckey : "-");
}

/* ---- what is added --------------------------------------------------------------------------- */

struct addition {
    Pst__AcctOp op;
    Pst__AcctCond where;
    Pst__AcctSet set;
    Pst__AssocRecord assoc;
    Pst__AccountRecord account;
    char *name, *of;
};

static void name_it(struct addition *a, const char *name, const char *account, const char *parent)
{
    pst__acct_op__init(&a->op);
    pst__acct_cond__init(&a->where);
    pst__acct_set__init(&a->set);
    pst__assoc_record__init(&a->assoc);
    pst__account_record__init(&a->account);
    a->name = (char *)name;
    a->of = (char *)account;
    a->where.n_names = 1;
    a->where.names = &a->name;
    a->where.n_accounts = account != NULL;
    a->where.accounts = &a->of;
    a->set.parent = (char *)parent;
    a->set.assoc = &a->assoc;
    a->op.where = &a->where;
    a->op.set = &a->set;
}

static void expect(const struct smgr_loaded *rows, size_t n, const char *changes, const char *want)
{
    struct strbuf out = STRBUF_INIT;

    smgr_put_loaded(NULL, rows, n, changes, &out);
    assert_string_equal(strbuf_str(&out), want);
    strbuf_done(&out);
}

#define WIDE "--------------------------------------------------------------\n\n"
#define RULE "---------------------------------------------------\n\n"

static void test_new_cluster(void **state)
{
    struct addition cluster = { 0 }, account = { 0 }, user = { 0 };

    (void)state;
    name_it(&cluster, "demo2", NULL, NULL);
    name_it(&account, "la", NULL, "root");
    account.account.description = (char *)"ld";
    account.set.account = &account.account;
    account.assoc.has_shares = true;
    name_it(&user, "lu", "la", NULL);
    const struct smgr_loaded rows[] = {
        { SMGR_LOADED_USER, &user.op, true, "la", "k" },
        { SMGR_LOADED_ACCOUNT, &account.op, true, NULL, NULL },
        { SMGR_LOADED_CLUSTER, &cluster.op, false, NULL, NULL },
    };

    expect(rows, 3, " a change\n",
           "<Account>\nroot/- below -, share not said\n" WIDE " a change\n"
           "Accounts\n<Name>\naccount la: ld\n" RULE
           "Account Associations\n<Account>\nla/- below root, share said\n" WIDE
           "Users\n<Name>\nuser lu: la k\n" RULE
           "User Associations\n<User>\nla/lu below -, share not said\n" WIDE);
}

/* Names that another cluster has already are in no table of names. */
static void test_known_names(void **state)
{
    struct addition account = { 0 }, user = { 0 };

    (void)state;
    name_it(&account, "la", NULL, "top");
    name_it(&user, "lu", "la", NULL);
    const struct smgr_loaded rows[] = {
        { SMGR_LOADED_ACCOUNT, &account.op, false, NULL, NULL },
        { SMGR_LOADED_USER, &user.op, false, NULL, NULL },
    };

    expect(rows, 2, "",
           "Account Associations\n<Account>\nla/- below top, share not said\n" WIDE
           "User Associations\n<User>\nla/lu below -, share not said\n" WIDE);
    expect(rows, 0, "only a change\n", "only a change\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_cluster),
        cmocka_unit_test(test_known_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
