/* test_admin.c - accounting entities: who may do what, what follows from a change, versions, and a
 * store that is opened again */
#include "acct_util.h"

#include "acct/admin/admin.h"
#include "acct/sql/db.h"
#include "acctop.pb-c.h"
#include "model/account/assoc.h"
#include "wire/errors.h"

#define VERB(x) PST__ACCT_VERB__ACCT_##x
#define ENTITY(x) PST__ACCT_ENTITY__ACCT_##x

struct desk { /* the store, and the request at hand */
    struct world *w;
    struct sql *db;
    struct admin *admin;
    Pst__AcctCond where;
    Pst__AcctSet set;
    Pst__AssocRecord assoc;
    Pst__Limits limits;
    Pst__AcctAdminReply *reply;
};

static const struct admin_who root = { .user = "root", .root = true };

static void open_desk(struct desk *d, struct world *w)
{
    struct err err = { .text = "" };
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;
    const char *tres[] = { "gres/gpu", "license/matlab" };

    memset(d, 0, sizeof(*d));
    d->w = w;
    assert_int_equal(acct_db_open(w->db, &d->db, &err), 0);
    assert_int_equal(admin_new(d->db, T0, &d->admin, &err), 0);
    c.name = (char *)"demo"; /* copied, not changed; likewise all names below */
    c.control_host = (char *)"127.0.0.1";
    c.tres = (char *)"1=4";
    assert_int_equal(admin_register(d->admin, &c, tres, 2, T0, &err), 0);
}

static void close_desk(struct desk *d)
{
    if (d->reply)
        pst__acct_admin_reply__free_unpacked(d->reply, NULL);
    d->reply = NULL;
    admin_free(d->admin);
    sql_close(d->db);
}

static void fresh(struct desk *d)
{
    pst__acct_cond__init(&d->where);
    pst__acct_set__init(&d->set);
    pst__assoc_record__init(&d->assoc);
    pst__limits__init(&d->limits);
}

/* The code of the one operation; 0 = done. */
static int run_as(struct desk *d, const struct admin_who *who, Pst__AcctVerb verb,
                  Pst__AcctEntity entity)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctOp op = PST__ACCT_OP__INIT;
    Pst__AcctOp *ops[] = { &op };
    struct err err = { .text = "" };

    op.has_verb = op.has_entity = 1;
    op.verb = verb;
    op.entity = entity;
    op.where = &d->where;
    op.set = &d->set;
    req.n_ops = 1;
    req.ops = ops;
    if (d->reply)
        pst__acct_admin_reply__free_unpacked(d->reply, NULL);
    d->reply = NULL;
    assert_int_equal(admin_run(d->admin, who, &req, T0 + SEC, &d->reply, &err), 0);
    assert_int_equal(d->reply->n_results, 1);
    return d->reply->results[0]->has_code ? d->reply->results[0]->code : 0;
}

static int add_account(struct desk *d, const struct admin_who *who, const char *name,
                       const char *parent)
{
    char *names[] = { (char *)name };

    fresh(d);
    d->where.n_names = 1;
    d->where.names = names;
    d->set.parent = (char *)parent;
    return run_as(d, who, VERB(ADD), ENTITY(ACCOUNT));
}

static int add_user(struct desk *d, const struct admin_who *who, const char *name,
                    const char *account)
{
    char *names[] = { (char *)name }, *accounts[] = { (char *)account };

    fresh(d);
    d->where.n_names = d->where.n_accounts = 1;
    d->where.names = names;
    d->where.accounts = accounts;
    return run_as(d, who, VERB(ADD), ENTITY(USER));
}

static int set_max_jobs(struct desk *d, const struct admin_who *who, Pst__AcctEntity entity,
                        const char *name, int32_t value)
{
    char *names[] = { (char *)name };

    fresh(d);
    d->where.n_names = 1;
    d->where.names = names;
    d->limits.has_max_jobs = 1;
    d->limits.max_jobs = value;
    d->assoc.limits = &d->limits;
    d->set.assoc = &d->assoc;
    return run_as(d, who, VERB(MODIFY), entity);
}

static struct assoc *find(struct desk *d, const char *account, const char *user)
{
    return am_find(admin_tables(d->admin), "demo", account, user, NULL);
}

static void plant(struct desk *d)
{
    assert_int_equal(add_account(d, &root, "science", NULL), 0);
    assert_int_equal(add_account(d, &root, "physics", "science"), 0);
    assert_int_equal(add_user(d, &root, "alice", "physics"), 0);
    assert_int_equal(add_user(d, &root, "carol", "science"), 0);
}

static void test_first_records(void **state)
{
    struct desk d;
    const Pst__QosRecord *q;

    open_desk(&d, *state);
    q = am_qos_named(admin_tables(d.admin), "normal");
    assert_non_null(q);
    assert_int_equal(q->qos_id, AM_QOS_NORMAL);
    assert_int_equal(am_admin_level(admin_tables(d.admin), "root"),
                     PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
    assert_non_null(find(&d, "root", NULL));
    assert_non_null(find(&d, "root", "root"));
    assert_int_equal(am_tres_id(admin_tables(d.admin), "gres/gpu"), 1001);
    assert_int_equal(am_tres_id(admin_tables(d.admin), "license/matlab"), 1002);
    close_desk(&d);
}

static void test_tree_and_inheritance(void **state)
{
    struct desk d;
    const Pst__AcctOpResult *res;

    open_desk(&d, *state);
    plant(&d);
    assert_string_equal(am_account(admin_tables(d.admin), "physics")->organization, "science");
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(ACCOUNT), "science", 5), 0);
    res = d.reply->results[0];
    assert_int_equal(res->n_assocs, 4); /* it, physics, and the users of both */
    assert_int_equal(am_limits(admin_tables(d.admin), find(&d, "physics", "alice"))->max_jobs, 5);
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(USER), "alice", 2), 0);
    assert_int_equal(d.reply->results[0]->n_assocs, 1);
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(ACCOUNT), "science", 7), 0);
    assert_int_equal(d.reply->results[0]->n_assocs, 3); /* alice has her own */
    assert_int_equal(am_limits(admin_tables(d.admin), find(&d, "physics", "alice"))->max_jobs, 2);
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(USER), "alice", -1), 0);
    assert_int_equal(am_limits(admin_tables(d.admin), find(&d, "physics", "alice"))->max_jobs, 7);
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(USER), "nobody", 1), SLURM_NO_CHANGE_IN_DATA);
    close_desk(&d);
}

static void appoint(struct desk *d, const char *user, const char *account)
{
    char *users[] = { (char *)user }, *accounts[] = { (char *)account };

    fresh(d);
    d->where.n_users = d->where.n_accounts = 1;
    d->where.users = users;
    d->where.accounts = accounts;
    assert_int_equal(run_as(d, &root, VERB(ADD), ENTITY(COORD)), 0);
}

static void set_level(struct desk *d, const struct admin_who *who, const char *user,
                      Pst__AdminLevel level, int code)
{
    char *names[] = { (char *)user };
    Pst__UserRecord u = PST__USER_RECORD__INIT;

    fresh(d);
    u.has_admin_level = 1;
    u.admin_level = level;
    d->where.n_names = 1;
    d->where.names = names;
    d->set.user = &u;
    assert_int_equal(run_as(d, who, VERB(MODIFY), ENTITY(USER)), code);
}

static void test_rights(void **state)
{
    static const struct admin_who alice = { .user = "alice" }, carol = { .user = "carol" },
                                  bob = { .user = "bob" };
    struct desk d;

    open_desk(&d, *state);
    plant(&d);
    appoint(&d, "carol", "science");
    assert_int_equal(add_account(&d, &alice, "hack", NULL), ESLURM_ACCESS_DENIED);
    assert_int_equal(set_max_jobs(&d, &alice, ENTITY(USER), "alice", 9), ESLURM_ACCESS_DENIED);
    assert_int_equal(set_max_jobs(&d, &alice, ENTITY(USER), "carol", 9), ESLURM_ACCESS_DENIED);

    /* a coordinator: below the account, and not more than it has */
    assert_int_equal(add_account(&d, &carol, "hack", NULL), ESLURM_ACCESS_DENIED);
    assert_int_equal(add_account(&d, &carol, "lab", "physics"), 0);
    assert_int_equal(add_user(&d, &carol, "dave", "lab"), 0);
    assert_int_equal(set_max_jobs(&d, &root, ENTITY(ACCOUNT), "science", 5), 0);
    assert_int_equal(set_max_jobs(&d, &carol, ENTITY(USER), "dave", 4), 0);
    assert_int_equal(set_max_jobs(&d, &carol, ENTITY(USER), "dave", 6),
                     ESLURM_COORD_NO_INCREASE_JOB_LIMIT);
    assert_int_equal(am_limits(admin_tables(d.admin), find(&d, "lab", "dave"))->max_jobs, 4);
    set_level(&d, &carol, "dave", PST__ADMIN_LEVEL__ADMIN_OPERATOR, ESLURM_ACCESS_DENIED);

    /* an operator: all but levels */
    assert_int_equal(add_user(&d, &root, "bob", "science"), 0);
    set_level(&d, &root, "bob", PST__ADMIN_LEVEL__ADMIN_OPERATOR, 0);
    assert_int_equal(add_account(&d, &bob, "ops", NULL), 0);
    set_level(&d, &bob, "bob", PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR, ESLURM_ACCESS_DENIED);
    close_desk(&d);
}

static int own_default(struct desk *d, const struct admin_who *who, const char *user,
                       const char *account)
{
    char *names[] = { (char *)user };

    fresh(d);
    d->where.n_names = 1;
    d->where.names = names;
    d->set.default_account = (char *)account;
    return run_as(d, who, VERB(MODIFY), ENTITY(USER));
}

static void test_default_accounts(void **state)
{
    static const struct admin_who alice = { .user = "alice" };
    struct desk d;
    char *names[] = { (char *)"alice" }, *accounts[] = { (char *)"physics" };

    open_desk(&d, *state);
    plant(&d);
    assert_string_equal(am_default_account(admin_tables(d.admin), "demo", "alice"), "physics");
    assert_int_equal(own_default(&d, &alice, "alice", "science"), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(d.reply->results[0]->n_lines, 1);
    assert_int_equal(add_user(&d, &root, "alice", "science"), 0);
    assert_string_equal(am_default_account(admin_tables(d.admin), "demo", "alice"), "physics");
    assert_int_equal(own_default(&d, &alice, "alice", "science"), 0);
    assert_string_equal(am_default_account(admin_tables(d.admin), "demo", "alice"), "science");

    /* the default one does not go while others stay */
    accounts[0] = (char *)"science";
    fresh(&d);
    d.where.n_names = d.where.n_accounts = 1;
    d.where.names = names;
    d.where.accounts = accounts;
    assert_int_equal(run_as(&d, &root, VERB(DELETE), ENTITY(USER)),
                     ESLURM_NO_REMOVE_DEFAULT_ACCOUNT);
    assert_non_null(find(&d, "science", "alice"));
    accounts[0] = (char *)"physics";
    assert_int_equal(run_as(&d, &root, VERB(DELETE), ENTITY(USER)), 0);
    assert_null(find(&d, "physics", "alice"));
    close_desk(&d);
}

static void test_all_or_nothing(void **state)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctOp good = PST__ACCT_OP__INIT, bad = PST__ACCT_OP__INIT;
    Pst__AcctOp *ops[] = { &good, &bad };
    Pst__AcctCond one = PST__ACCT_COND__INIT, two = PST__ACCT_COND__INIT;
    Pst__AcctSet none = PST__ACCT_SET__INIT, orphan = PST__ACCT_SET__INIT;
    char *first[] = { (char *)"one" }, *second[] = { (char *)"two" };
    struct err err = { .text = "" };
    struct desk d;
    uint64_t before;

    open_desk(&d, *state);
    before = admin_version(d.admin);
    one.n_names = two.n_names = 1;
    one.names = first;
    two.names = second;
    orphan.parent = (char *)"nowhere";
    good.has_verb = good.has_entity = bad.has_verb = bad.has_entity = 1;
    good.verb = bad.verb = VERB(ADD);
    good.entity = bad.entity = ENTITY(ACCOUNT);
    good.where = &one;
    good.set = &none;
    bad.where = &two;
    bad.set = &orphan;
    req.n_ops = 2;
    req.ops = ops;
    assert_int_equal(admin_run(d.admin, &root, &req, T0, &d.reply, &err), 0);
    assert_int_equal(d.reply->results[1]->code, ESLURM_INVALID_PARENT_ACCOUNT);
    assert_null(find(&d, "one", NULL));
    assert_null(am_account(admin_tables(d.admin), "one"));
    assert_int_equal(admin_version(d.admin), before);
    pst__acct_admin_reply__free_unpacked(d.reply, NULL);

    req.n_ops = 1; /* told, not done */
    req.has_dry_run = req.dry_run = 1;
    assert_int_equal(admin_run(d.admin, &root, &req, T0, &d.reply, &err), 0);
    assert_int_equal(d.reply->results[0]->n_assocs, 1);
    assert_null(find(&d, "one", NULL));
    assert_int_equal(admin_version(d.admin), before);
    close_desk(&d);
}

struct copy { /* who follows the changes */
    struct assoc_mgr *am;
    uint64_t version;
};

static int follow(void *ctx, const Pst__AcctChange *change)
{
    struct copy *c = ctx;

    assert_true(change->version > c->version);
    c->version = change->version;
    return am_apply(c->am, change, NULL);
}

static void test_versions_and_restart(void **state)
{
    char *names[] = { (char *)"physics" };
    struct copy c = { 0 };
    uint64_t version;
    struct desk d;

    open_desk(&d, *state);
    plant(&d);
    assert_int_equal(am_new(&c.am), 0);
    assert_int_equal(admin_changes(d.admin, 0, follow, &c), 0);
    assert_int_equal(c.version, admin_version(d.admin));
    assert_non_null(am_find(c.am, "demo", "physics", "alice", NULL));

    fresh(&d);
    d.where.n_names = 1;
    d.where.names = names;
    assert_int_equal(run_as(&d, &root, VERB(DELETE), ENTITY(ACCOUNT)), 0);
    assert_null(find(&d, "physics", "alice"));
    assert_int_equal(admin_changes(d.admin, c.version, follow, &c), 0); /* removals too */
    assert_null(am_find(c.am, "demo", "physics", "alice", NULL));
    assert_null(am_account(c.am, "physics"));

    version = admin_version(d.admin);
    close_desk(&d);
    open_desk(&d, *state);
    assert_int_equal(admin_version(d.admin), version); /* nothing new about the cluster either */
    assert_null(find(&d, "physics", NULL));
    assert_non_null(find(&d, "science", "carol"));
    assert_int_equal(add_account(&d, &root, "new", NULL), 0);
    assert_true(find(&d, "new", NULL)->id > find(&d, "science", "carol")->id);
    am_free(c.am);
    close_desk(&d);
}

static void test_open_jobs(void **state)
{
    struct world *w = *state;
    char *names[] = { (char *)"science" };
    Pst__Transaction *tx = submit(7, 3, 0);
    struct desk d;

    assert_int_equal(pb_set_str(&tx->events[0]->job_put->account, "physics"), 0);
    assert_int_equal(pb_set_str(&tx->events[0]->job_put->user_name, "alice"), 0);
    w->acct = NULL;
    {
        struct err err = { .text = "" };

        assert_int_equal(acct_open(w->db, "demo", &w->acct, &err), 0);
    }
    feed(w, tx);
    open_desk(&d, w);
    plant(&d);
    fresh(&d);
    d.where.n_names = 1;
    d.where.names = names;
    assert_int_equal(run_as(&d, &root, VERB(DELETE), ENTITY(ACCOUNT)),
                     ESLURM_JOBS_RUNNING_ON_ASSOC);
    assert_true(d.reply->results[0]->n_lines >= 1);
    assert_non_null(strstr(d.reply->results[0]->lines[0], "JobID = 7"));
    feed(w, end(7, 1, JOB_STATE(COMPLETED), 0));
    assert_int_equal(run_as(&d, &root, VERB(DELETE), ENTITY(ACCOUNT)), 0);
    assert_null(find(&d, "physics", "alice"));
    assert_true(am_account(admin_tables(d.admin), "science") == NULL);

    /* jobs ran there: it is kept, and comes back as it was */
    assert_int_equal(add_account(&d, &root, "science", NULL), 0);
    assert_int_equal(add_account(&d, &root, "physics", "science"), 0);
    assert_non_null(find(&d, "physics", NULL));
    close_desk(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_records, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_tree_and_inheritance, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_rights, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_default_accounts, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_all_or_nothing, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_versions_and_restart, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_open_jobs, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
