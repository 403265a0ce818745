/* test_minutes.c - limits by minutes: jobs end when nothing is left of GrpTRESMins or GrpWall */
#include "core_util.h"

#include "base/pb/pbutil.h"

#include "ctld/schedlink/feedlimits.h"
#include "ctld/schedlink/minutes.h"
#include "model/account/assoc.h"

extern const struct ctld_service minutes_service, feedlimits_service, hooks_service;

enum { ROOT = 1, CHEM = 2, ANN = 3, PHYS = 4 };

static struct core core;

static void begin(const char *enforce)
{
    char line[96];

    (void)snprintf(line, sizeof(line), "AccountingStorageEnforce=%s\n", enforce);
    core_begin(&core, line, &minutes_service);
    core.services[3] = &feedlimits_service;
    core.services[4] = &hooks_service;
    assert_int_equal(feedlimits_service.start(&core.ctld, NULL), 0);
    assert_int_equal(hooks_service.start(&core.ctld, NULL), 0);
    core_nodes(&core, 1, 4);
}

static void end(void)
{
    core_end(&core);
}

static void put_assoc(uint32_t id, uint32_t parent, const char *account, const char *user,
                      Pst__Limits *limits)
{
    static uint64_t version;
    Pst__AcctChange change = PST__ACCT_CHANGE__INIT;
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    Pst__Transaction *tx = tx_new(T0);

    SET(&a, assoc_id, id);
    if (parent)
        SET(&a, parent_id, parent);
    a.cluster = (char *)"c";
    a.account = (char *)account;
    a.user = (char *)user;
    a.limits = limits;
    SET(&change, version, ++version);
    change.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    change.assoc = &a;
    tx_acct_change(tx, &change);
    apply_ok(core.ctld.cluster, tx);
}

/* Ann's account has these limits; physics has none. */
static void put_accounts(Pst__Limits *limits)
{
    put_assoc(ROOT, 0, "root", NULL, NULL);
    put_assoc(CHEM, ROOT, "chem", NULL, limits);
    put_assoc(ANN, CHEM, "chem", "ann", NULL);
    put_assoc(PHYS, ROOT, "phys", NULL, NULL);
}

static struct job *running(uint32_t id, uint32_t assoc)
{
    struct job *j = core_job(&core, id, NULL);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(id, 1, &tx);

    SET(set, assoc_id, assoc);
    assert_int_equal(pb_set_str(&set->alloc_tres, "cpu=4,mem=100M,node=1"), 0);
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static Pst__Limits wall_limit(int64_t minutes)
{
    Pst__Limits l = PST__LIMITS__INIT;

    SET(&l, grp_wall_min, minutes);
    return l;
}

/* What is left is nothing: the jobs below that account end, others go on. */
static void test_spent(void **state)
{
    Pst__Limits none = wall_limit(0);
    struct job *hers, *other;

    (void)state;
    begin("limits");
    put_accounts(&none);
    hers = running(1, ANN);
    other = running(2, PHYS);
    minutes_tick(&core.ctld, T0);
    assert_int_equal(job_state(hers->rec), JOB_STATE(TIMEOUT));
    assert_true(job_is_running(other->rec));
    end();
}

static void test_left(void **state)
{
    Pst__Limits much = wall_limit(100000), no_limit = wall_limit(-1);
    Pst__TresCount cpu = PST__TRES_COUNT__INIT, *list[] = { &cpu };
    struct job *hers;

    (void)state;
    SET(&cpu, tres_id, AM_TRES_CPU);
    SET(&cpu, count, 100000);
    no_limit.grp_tres_mins = list;
    no_limit.n_grp_tres_mins = 1;
    begin("limits");
    put_accounts(&much);
    hers = running(1, ANN);
    minutes_tick(&core.ctld, T0);
    assert_true(job_is_running(hers->rec));
    put_assoc(CHEM, ROOT, "chem", NULL, &no_limit); /* less than nothing is no limit */
    minutes_tick(&core.ctld, T0);
    assert_true(job_is_running(hers->rec));
    end();
}

/* Minutes of a TRES; a limit that comes later counts from then on. */
static void test_tres(void **state)
{
    Pst__TresCount cpu = PST__TRES_COUNT__INIT, *list[] = { &cpu };
    Pst__Limits l = PST__LIMITS__INIT;
    struct job *hers;

    (void)state;
    SET(&cpu, tres_id, AM_TRES_CPU);
    SET(&cpu, count, 0);
    l.grp_tres_mins = list;
    l.n_grp_tres_mins = 1;
    begin("limits");
    put_accounts(NULL);
    hers = running(1, ANN);
    minutes_tick(&core.ctld, T0);
    assert_true(job_is_running(hers->rec));
    SET(&cpu, tres_id, AM_TRES_ENERGY);
    put_assoc(CHEM, ROOT, "chem", NULL, &l);
    minutes_tick(&core.ctld, T0);
    assert_true(job_is_running(hers->rec)); /* the job holds nothing of what is used up */
    SET(&cpu, tres_id, AM_TRES_CPU);
    put_assoc(CHEM, ROOT, "chem", NULL, &l);
    minutes_tick(&core.ctld, T0);
    assert_int_equal(job_state(hers->rec), JOB_STATE(TIMEOUT));
    end();
}

/* With `safe` only what can end in time was started; without limits nothing is looked at. */
static void test_enforced(void **state)
{
    static const char *const words[] = { "safe", "associations" };
    Pst__Limits none = wall_limit(0);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct job *hers;

        begin(words[i]);
        put_accounts(&none);
        hers = running(1, ANN);
        minutes_tick(&core.ctld, T0);
        assert_true(job_is_running(hers->rec));
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spent), cmocka_unit_test(test_left),
                                        cmocka_unit_test(test_tres),
                                        cmocka_unit_test(test_enforced) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
