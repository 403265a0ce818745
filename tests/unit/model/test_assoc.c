/* test_assoc.c - tables of accounts, users, associations and QOS: finding, inheriting, rights,
 * and in the cluster: applied, dumped, hashed */
#include "model_util.h"

#include "model/account/assoc.h"
#include "model/kept.h"

#define C "demo"

static void apply(struct assoc_mgr *am, const Pst__AcctChange *ch)
{
    struct err err = { .text = "" };

    if (am_apply(am, ch, &err) != 0)
        fail_msg("%s", err.text);
}

struct assoc_spec {
    uint32_t id, parent;
    const char *account, *user, *partition;
    bool is_default, deleted;
    const uint32_t *qos;
    size_t nqos;
    uint32_t added, removed, default_qos;
    Pst__Limits *limits;
};

static Pst__AcctChange *assoc_change(const struct assoc_spec *s)
{
    static Pst__AssocRecord r;
    static Pst__AcctChange ch;
    static uint32_t added, removed;

    pst__assoc_record__init(&r);
    SET(&r, assoc_id, s->id);
    if (s->parent)
        SET(&r, parent_id, s->parent);
    r.cluster = (char *)C;
    r.account = (char *)s->account;
    r.user = (char *)s->user;
    r.partition = (char *)s->partition;
    r.qos_ids = (uint32_t *)s->qos;
    r.n_qos_ids = s->nqos;
    added = s->added;
    removed = s->removed;
    r.qos_added = &added;
    r.n_qos_added = added != 0;
    r.qos_removed = &removed;
    r.n_qos_removed = removed != 0;
    if (s->default_qos)
        SET(&r, default_qos_id, s->default_qos);
    SET(&r, is_default, s->is_default);
    if (s->deleted)
        SET(&r, deleted, true);
    r.limits = s->limits;
    pst__acct_change__init(&ch);
    ch.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    ch.assoc = &r;
    return &ch;
}

static void put_assoc(struct assoc_mgr *am, struct assoc_spec s)
{
    apply(am, assoc_change(&s));
}

static Pst__AcctChange *qos_change(uint32_t id, const char *name)
{
    static Pst__QosRecord q;
    static Pst__AcctChange ch;

    pst__qos_record__init(&q);
    SET(&q, qos_id, id);
    q.name = (char *)name;
    pst__acct_change__init(&ch);
    ch.body_case = PST__ACCT_CHANGE__BODY_QOS;
    ch.qos = &q;
    return &ch;
}

static void put_account(struct assoc_mgr *am, const char *name, const char *coordinator)
{
    Pst__AccountRecord a = PST__ACCOUNT_RECORD__INIT;
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    char *list[] = { (char *)coordinator };

    a.name = (char *)name;
    a.coordinators = list;
    a.n_coordinators = coordinator ? 1 : 0;
    ch.body_case = PST__ACCT_CHANGE__BODY_ACCOUNT;
    ch.account = &a;
    apply(am, &ch);
}

/* root(1) - science(3) - physics(4): alice(7), bob(8); chem(5): bob(9), bob in gpu(10) */
static struct assoc_mgr *demo(void)
{
    static const uint32_t normal[] = { 1 }, some[] = { 4, 1, 2 };
    struct assoc_mgr *am;

    assert_int_equal(am_new(&am), 0);
    put_assoc(am, (struct assoc_spec){ .id = 7,
                                       .parent = 4,
                                       .account = "physics",
                                       .user = "alice",
                                       .is_default = true,
                                       .added = 9,
                                       .removed = 4 });
    put_assoc(am, (struct assoc_spec){ .id = 1, .account = "root", .qos = normal, .nqos = 1 });
    put_assoc(am, (struct assoc_spec){
                      .id = 3, .account = "science", .qos = some, .nqos = 3, .default_qos = 2 });
    put_assoc(am, (struct assoc_spec){ .id = 4, .parent = 3, .account = "physics" });
    put_assoc(am, (struct assoc_spec){ .id = 5, .parent = 3, .account = "chem" });
    put_assoc(am, (struct assoc_spec){ .id = 8, .account = "physics", .user = "bob" });
    put_assoc(am,
              (struct assoc_spec){ .id = 9, .account = "chem", .user = "bob", .is_default = true });
    put_assoc(am,
              (struct assoc_spec){
                  .id = 10, .parent = 5, .account = "chem", .user = "bob", .partition = "gpu" });
    put_account(am, "science", "carol");
    put_account(am, "physics", NULL);
    return am;
}

static void test_finding(void **state)
{
    struct assoc_mgr *am = demo();
    Pst__AcctChange gone = PST__ACCT_CHANGE__INIT;
    size_t pos = 0, n = 0;

    (void)state;
    assert_int_equal(am_find(am, C, "PHYSICS", "alice", NULL)->id, 7);
    assert_null(am_find(am, C, "physics", "Alice", NULL));
    assert_null(am_find(am, "other", "physics", "alice", NULL));
    assert_int_equal(am_find_job(am, C, "alice", NULL, "debug")->id, 7);
    assert_int_equal(am_find_job(am, C, "bob", NULL, "gpu")->id, 10);
    assert_int_equal(am_find_job(am, C, "bob", NULL, "debug")->id, 9);
    assert_int_equal(am_find_job(am, C, "bob", "physics", "gpu")->id, 8);
    assert_null(am_find_job(am, C, "alice", "chem", NULL));
    assert_null(am_find_job(am, C, "nobody", NULL, NULL));
    assert_string_equal(am_default_account(am, C, "bob"), "chem");
    assert_string_equal(am_lineage(am, am_assoc(am, 7)), "/science/physics/0-alice/");
    assert_string_equal(am_lineage(am, am_assoc(am, 10)), "/science/chem/0-bob/gpu/");
    assert_string_equal(am_lineage(am, am_root(am, C)), "/");
    assert_int_equal(am_assoc(am, 7)->depth, 3);
    /* by account: no parent was named */
    assert_ptr_equal(am_assoc(am, 8)->parent, am_assoc(am, 4));
    assert_true(am_is_below(am, am_assoc(am, 9), am_assoc(am, 3)));
    assert_false(am_is_below(am, am_assoc(am, 9), am_assoc(am, 4)));
    while (am_next_assoc(am, &pos))
        n++;
    assert_int_equal(n, 8);
    assert_int_equal(am_count(am, AM_ASSOC), 8);
    /* marked deleted: by id only */
    put_assoc(am,
              (struct assoc_spec){
                  .id = 7, .parent = 4, .account = "physics", .user = "alice", .deleted = true });
    assert_null(am_find(am, C, "physics", "alice", NULL));
    assert_null(am_of_user(am, "alice"));
    assert_non_null(am_assoc(am, 7)->parent);
    /* its name may be taken anew, and the old one's end does not touch that */
    put_assoc(am,
              (struct assoc_spec){ .id = 20, .parent = 4, .account = "physics", .user = "alice" });
    gone.body_case = PST__ACCT_CHANGE__BODY_ASSOC_REMOVE;
    gone.assoc_remove = 7;
    apply(am, &gone);
    apply(am, &gone); /* what is not there goes silently */
    assert_null(am_assoc(am, 7));
    assert_int_equal(am_find(am, C, "physics", "alice", NULL)->id, 20);
    am_free(am);
}

static void check_qos(struct assoc_mgr *am, uint32_t id, size_t n, const uint32_t *want)
{
    const uint32_t *ids;

    assert_int_equal(am_qos_list(am, am_assoc(am, id), &ids), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], want[i]);
}

static void test_qos(void **state)
{
    struct assoc_mgr *am = demo();

    (void)state;
    check_qos(am, 1, 1, (const uint32_t[]){ 1 });
    check_qos(am, 8, 3, (const uint32_t[]){ 1, 2, 4 });
    check_qos(am, 7, 3, (const uint32_t[]){ 1, 2, 9 });
    assert_true(am_may_use_qos(am, am_assoc(am, 7), 9));
    assert_false(am_may_use_qos(am, am_assoc(am, 7), 4));
    assert_int_equal(am_default_qos(am, am_assoc(am, 7)), 2);
    assert_int_equal(am_default_qos(am, am_assoc(am, 1)), 0);
    apply(am, qos_change(9, "High"));
    assert_int_equal(am_qos_named(am, "hIGH")->qos_id, 9);
    apply(am, qos_change(9, "low"));
    assert_null(am_qos_named(am, "high"));
    assert_string_equal(am_qos(am, 9)->name, "low");
    am_free(am);
}

static void set_count(Pst__TresCount *c, uint32_t id, int64_t n)
{
    pst__tres_count__init(c);
    SET(c, tres_id, id);
    SET(c, count, n);
}

static void test_limits(void **state)
{
    struct assoc_mgr *am = demo();
    Pst__Limits above = PST__LIMITS__INIT, own = PST__LIMITS__INIT;
    Pst__TresCount counts[5], *per_job[2], *grp[1], *mine[2];
    const Pst__Limits *l;
    int64_t n;

    (void)state;
    set_count(&counts[0], AM_TRES_CPU, 8);
    set_count(&counts[1], AM_TRES_NODE, 2);
    set_count(&counts[2], AM_TRES_CPU, 100);
    set_count(&counts[3], AM_TRES_CPU, 4);
    set_count(&counts[4], AM_TRES_NODE, -1);
    for (size_t i = 0; i < 2; i++) {
        per_job[i] = &counts[i];
        mine[i] = &counts[3 + i];
    }
    grp[0] = &counts[2];
    above.max_tres_per_job = per_job;
    above.n_max_tres_per_job = 2;
    above.grp_tres = grp;
    above.n_grp_tres = 1;
    SET(&above, max_jobs, 5);
    SET(&above, max_wall_min, 60);
    SET(&above, grp_jobs, 7);
    put_assoc(am, (struct assoc_spec){ .id = 3, .account = "science", .limits = &above });
    l = am_limits(am, am_assoc(am, 9));
    assert_true(l->has_max_jobs && l->max_jobs == 5);
    assert_false(l->has_grp_jobs);
    assert_int_equal(l->n_grp_tres, 0);
    assert_true(am_tres_limit(l->max_tres_per_job, l->n_max_tres_per_job, AM_TRES_CPU, &n));
    assert_int_equal(n, 8);
    own.max_tres_per_job = mine;
    own.n_max_tres_per_job = 2;
    SET(&own, max_wall_min, -1); /* lifted here */
    SET(&own, max_jobs, 0);
    put_assoc(am,
              (struct assoc_spec){ .id = 4, .parent = 3, .account = "physics", .limits = &own });
    l = am_limits(am, am_assoc(am, 7));
    assert_true(l->has_max_jobs && l->max_jobs == 0);
    assert_false(l->has_max_wall_min);
    assert_true(am_tres_limit(l->max_tres_per_job, l->n_max_tres_per_job, AM_TRES_CPU, &n));
    assert_int_equal(n, 4);
    assert_false(am_tres_limit(l->max_tres_per_job, l->n_max_tres_per_job, AM_TRES_NODE, &n));
    l = am_limits(am, am_assoc(am, 3));
    assert_true(am_tres_limit(l->grp_tres, l->n_grp_tres, AM_TRES_CPU, &n));
    assert_int_equal(n, 100);
    am_free(am);
}

static void test_rights(void **state)
{
    struct assoc_mgr *am = demo();
    Pst__UserRecord u = PST__USER_RECORD__INIT;
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;

    (void)state;
    u.name = (char *)"bob";
    SET(&u, admin_level, PST__ADMIN_LEVEL__ADMIN_OPERATOR);
    ch.body_case = PST__ACCT_CHANGE__BODY_USER;
    ch.user = &u;
    apply(am, &ch);
    assert_int_equal(am_admin_level(am, "bob"), PST__ADMIN_LEVEL__ADMIN_OPERATOR);
    assert_int_equal(am_admin_level(am, "alice"), PST__ADMIN_LEVEL__ADMIN_NOT_SET);
    assert_true(am_is_coordinator(am, C, "carol", "science"));
    assert_true(am_is_coordinator(am, C, "carol", "physics")); /* below */
    assert_false(am_is_coordinator(am, C, "carol", "root"));
    assert_false(am_is_coordinator(am, C, "alice", "physics"));
    put_account(am, "physics", "alice");
    assert_true(am_is_coordinator(am, C, "alice", "physics"));
    assert_false(am_is_coordinator(am, C, "alice", "chem"));
    am_free(am);
}

static void test_tres_and_wckeys(void **state)
{
    struct assoc_mgr *am = demo();
    Pst__TresRecord t = PST__TRES_RECORD__INIT;
    Pst__WckeyRecord w = PST__WCKEY_RECORD__INIT;
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    char buf[64];

    (void)state;
    assert_int_equal(am_tres_id(am, "fs/disk"), AM_TRES_FS_DISK);
    assert_int_equal(am_tres_id(am, "gres/gpu:a100"), 0);
    SET(&t, tres_id, 1002);
    t.type = (char *)"gres";
    t.name = (char *)"gpu:a100";
    ch.body_case = PST__ACCT_CHANGE__BODY_TRES;
    ch.tres = &t;
    apply(am, &ch);
    assert_int_equal(am_tres_id(am, "gres/gpu:a100"), 1002);
    assert_true(am_tres_name(am, 1002, buf, sizeof(buf)));
    assert_string_equal(buf, "gres/gpu:a100");
    assert_true(am_tres_name(am, 1, buf, sizeof(buf)));
    assert_string_equal(buf, "cpu");
    assert_false(am_tres_name(am, 4711, buf, sizeof(buf)));
    SET(&w, wckey_id, 5);
    w.cluster = (char *)C;
    w.user = (char *)"alice";
    w.name = (char *)"proj";
    SET(&w, is_default, true);
    ch.body_case = PST__ACCT_CHANGE__BODY_WCKEY;
    ch.wckey = &w;
    apply(am, &ch);
    assert_int_equal(am_wckey_named(am, C, "alice", "proj")->wckey_id, 5);
    assert_null(am_wckey_named(am, C, "bob", "proj"));
    assert_string_equal(am_default_wckey(am, C, "alice"), "proj");
    assert_null(am_default_wckey(am, C, "bob"));
    am_free(am);
}

static void test_nonsense(void **state)
{
    struct assoc_mgr *am = demo();
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT, *bad;
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    struct err err = { .text = "" };
    uint64_t before = am_generation(am);

    (void)state;
    assert_int_equal(am_apply(am, &ch, &err), -EUCLEAN);
    ch.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    ch.assoc = &a;
    assert_int_equal(am_apply(am, &ch, &err), -EUCLEAN);
    bad = qos_change(0, "x");
    assert_int_equal(am_apply(am, bad, &err), -EUCLEAN);
    bad = qos_change(3, "");
    assert_int_equal(am_apply(am, bad, &err), -EUCLEAN);
    assert_int_equal(am_generation(am), before);
    /* a circle of parents is cut */
    put_assoc(am, (struct assoc_spec){ .id = 30, .parent = 31, .account = "x" });
    put_assoc(am, (struct assoc_spec){ .id = 31, .parent = 30, .account = "y" });
    assert_true(am_assoc(am, 30)->depth <= 1);
    assert_non_null(am_lineage(am, am_assoc(am, 31)));
    am_free(am);
}

/* ---- in the cluster -------------------------------------------------------------------------- */

static int replay(void *ctx, const Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    return cluster_apply(ctx, tx, &err);
}

static void change(struct cluster *c, Pst__AcctChange *ch, uint64_t version)
{
    Pst__Transaction *tx = tx_new(T0);

    if (version)
        SET(ch, version, version);
    tx_acct_change(tx, ch);
    apply_ok(c, tx);
}

static void test_in_cluster(void **state)
{
    struct cluster *c = new_cluster(), *copy = new_cluster();
    struct assoc_spec s = { .id = 1, .account = "root" };
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    uint64_t empty = cluster_hash(c), with;
    size_t pos = 0;

    (void)state;
    change(c, assoc_change(&s), 5);
    assert_int_equal(c->rec->acct_version, 5);
    s = (struct assoc_spec){ .id = 2, .account = "root", .user = "root" };
    change(c, assoc_change(&s), 6);
    change(c, qos_change(1, "normal"), 0);
    assert_int_equal(c->rec->acct_version, 6);
    with = cluster_hash(c);
    assert_int_not_equal(with, empty);
    assert_int_equal(cluster_dump(c, replay, copy), 0);
    assert_int_equal(cluster_hash(copy), with);
    assert_int_equal(am_find(copy->am, C, "root", "root", NULL)->parent->id, 1);
    assert_non_null(am_next_put(copy->am, &pos));
    change(c, qos_change(1, "other"), 0);
    assert_int_not_equal(cluster_hash(c), with);
    ch.body_case = PST__ACCT_CHANGE__BODY_CLEAR;
    ch.clear = true;
    SET(&ch, version, 1);
    change(c, &ch, 0);
    assert_int_equal(c->rec->acct_version, 1);
    assert_int_equal(c->kept[KEPT_ACCT].count, 0);
    cluster_free(c);
    cluster_free(copy);
}

/* ---- the tree is kept current step by step: it is what making it anew gives ------------------ */

static uint32_t chance; /* of a simple generator: the same walk each time */

static uint32_t draw(uint32_t n)
{
    chance = chance * 1664525u + 1013904223u;
    return (chance >> 8) % n;
}

static size_t children_of(struct assoc *a)
{
    size_t n = 0;

    for (struct assoc *c = a->child; c; c = c->sibling)
        n += c->id; /* a sum: their order is nobody's */
    return n;
}

static size_t all_of(struct assoc_mgr *am, const char *user)
{
    size_t n = 0;

    for (struct assoc *a = am_of_user(am, user); a; a = a->next_of_user)
        n += a->id;
    return n;
}

static void compare_trees(struct assoc_mgr *steps, struct assoc_mgr *anew, uint32_t most)
{
    for (uint32_t id = 1; id <= most; id++) {
        struct assoc *a = am_assoc(steps, id), *b = am_assoc(anew, id);

        assert_int_equal(a != NULL, b != NULL);
        if (!a || (a->rec->has_deleted && a->rec->deleted))
            continue;
        assert_int_equal(a->parent ? a->parent->id : 0, b->parent ? b->parent->id : 0);
        assert_int_equal(a->depth, b->depth);
        assert_int_equal(children_of(a), children_of(b));
        assert_string_equal(am_lineage(steps, a), am_lineage(anew, b));
    }
    for (int u = 0; u < 6; u++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "u%d", u);
        assert_int_equal(all_of(steps, name), all_of(anew, name));
    }
}

static Pst__AcctChange *random_change(char account[16], char user[8])
{
    static Pst__AcctChange gone;
    uint32_t id = 2 + draw(60), parent = draw(8) ? 1 + draw(id - 1) : 1 + draw(70);

    if (draw(5) == 0) {
        pst__acct_change__init(&gone);
        gone.body_case = PST__ACCT_CHANGE__BODY_ASSOC_REMOVE;
        gone.assoc_remove = id;
        return &gone;
    }
    (void)snprintf(account, 16, "a%u", id % 2 ? id : parent);
    (void)snprintf(user, 8, "u%u", draw(6));
    return assoc_change(&(struct assoc_spec){ .id = id,
                                              .parent = parent,
                                              .account = account,
                                              .user = id % 2 ? NULL : user,
                                              .partition = NULL,
                                              .deleted = draw(6) == 0 });
}

static void test_step_by_step(void **state)
{
    (void)state;
    for (chance = 1; chance < 400; chance++) {
        uint32_t seed = chance;
        _cleanup_(am_free) struct assoc_mgr *steps = NULL, *anew = NULL;

        assert_int_equal(am_new(&steps), 0);
        assert_int_equal(am_new(&anew), 0);
        apply(steps, assoc_change(&(struct assoc_spec){ .id = 1, .account = "root" }));
        apply(anew, assoc_change(&(struct assoc_spec){ .id = 1, .account = "root" }));
        for (int i = 0; i < 60; i++) {
            char account[16], user[8];
            const Pst__AcctChange *ch = random_change(account, user);

            apply(steps, ch);
            apply(anew, ch);
            (void)am_root(steps, C); /* a question: the tree is linked */
        }
        compare_trees(steps, anew, 80);
        chance = seed;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finding),    cmocka_unit_test(test_qos),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_rights),
        cmocka_unit_test(test_nonsense),   cmocka_unit_test(test_tres_and_wckeys),
        cmocka_unit_test(test_in_cluster), cmocka_unit_test(test_step_by_step),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
