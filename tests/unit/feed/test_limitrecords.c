/* test_limitrecords.c - records of accounting as limits of the scheduler: each field in its place,
 * lifted limits left out, words of AccountingStorageEnforce */
#include "conf_util.h"
#include "model_util.h"
#include "records_util.h"

#include "feed/limitrecords.h"
#include "sched/sched.h"

#define ALL                                                                                        \
    "'grp_tres':[{'tres_id':1,'count':'11'}],"                                                     \
    "'grp_tres_mins':[{'tres_id':1,'count':'12'}],"                                                \
    "'grp_tres_run_mins':[{'tres_id':1,'count':'13'}],"                                            \
    "'max_tres_per_job':[{'tres_id':1,'count':'14'}],"                                             \
    "'max_tres_per_node':[{'tres_id':1,'count':'15'}],"                                            \
    "'max_tres_mins_per_job':[{'tres_id':1,'count':'16'}],"                                        \
    "'max_tres_run_mins':[{'tres_id':1,'count':'17'}],"                                            \
    "'min_tres_per_job':[{'tres_id':1,'count':'18'}],"                                             \
    "'max_tres_per_user':[{'tres_id':1,'count':'19'}],"                                            \
    "'max_tres_per_account':[{'tres_id':1,'count':'20'}],"                                         \
    "'max_tres_run_mins_per_user':[{'tres_id':1,'count':'21'}],"                                   \
    "'max_tres_run_mins_per_account':[{'tres_id':1,'count':'22'}],"                                \
    "'grp_jobs':31,'grp_jobs_accrue':32,'grp_wall_min':33,'max_wall_min':34,"                      \
    "'max_jobs':35,'max_jobs_accrue':36,'max_jobs_per_user':37,"                                   \
    "'max_jobs_per_account':38,'max_jobs_accrue_per_user':39,"                                     \
    "'max_jobs_accrue_per_account':40,'min_prio_threshold':41"

static Pst__QosRecord *qos_of(const char *json)
{
    return (Pst__QosRecord *)from_json(&pst__qos_record__descriptor, json);
}

/* No field stands in the place of another. */
static void test_places(void **state)
{
    static const uint64_t lists[SCHED_LIMIT_LISTS] = {
        [SCHED_GRP_TRES] = 11,          [SCHED_GRP_TRES_MINS] = 12,
        [SCHED_GRP_TRES_RUN_MINS] = 13, [SCHED_MAX_TRES_JOB] = 14,
        [SCHED_MAX_TRES_NODE] = 15,     [SCHED_MAX_TRES_MINS_JOB] = 16,
        [SCHED_MAX_RUN_MINS] = 17,      [SCHED_MIN_TRES_JOB] = 18,
        [SCHED_MAX_TRES_USER] = 19,     [SCHED_MAX_TRES_ACCOUNT] = 20,
        [SCHED_MAX_RUN_MINS_USER] = 21, [SCHED_MAX_RUN_MINS_ACCOUNT] = 22,
    };
    static const uint64_t numbers[SCHED_LIMIT_NUMBERS] = {
        [SCHED_GRP_JOBS] = 31,       [SCHED_GRP_ACCRUE] = 32,   [SCHED_GRP_WALL] = 33,
        [SCHED_MAX_WALL] = 34,       [SCHED_MAX_JOBS] = 35,     [SCHED_MAX_ACCRUE] = 36,
        [SCHED_USER_JOBS] = 37,      [SCHED_ACCOUNT_JOBS] = 38, [SCHED_USER_ACCRUE] = 39,
        [SCHED_ACCOUNT_ACCRUE] = 40, [SCHED_MIN_PRIO] = 41,
    };
    Pst__QosRecord *q = qos_of("{'qos_id':5,'name':'q','limits':{" ALL "}}");
    struct feed *f = feed_of_qos_limits(q);

    (void)state;
    assert_int_equal(f->kind, FEED_LIMIT);
    assert_int_equal(f->limit->what, FEED_LIMIT_QOS);
    assert_int_equal(f->limit->id, 5);
    for (size_t i = 0; i < SCHED_LIMIT_LISTS; i++) {
        assert_int_equal(f->limit->qos.limits.lists[i].n, 1);
        assert_int_equal(f->limit->qos.limits.lists[i].v[0].tres_id, 1);
        assert_true(f->limit->qos.limits.lists[i].v[0].count == lists[i]);
    }
    for (size_t i = 0; i < SCHED_LIMIT_NUMBERS; i++)
        assert_true(f->limit->qos.limits.numbers[i] == numbers[i]);
    feed_release(f);
    protobuf_c_message_free_unpacked(&q->base, NULL);
}

/* -1 lifts a limit; 0 is one. */
static void test_lifted(void **state)
{
    Pst__QosRecord *q =
        qos_of("{'qos_id':5,'name':'q','limits':{'grp_jobs':-1,'max_wall_min':0,'grp_tres':["
               "{'tres_id':1,'count':'-1'},{'tres_id':2,'count':'0'},{'tres_id':4},"
               "{'tres_id':1001,'count':'9000000000'}]}}");
    struct feed *f = feed_of_qos_limits(q);
    const struct sched_limits *l = &f->limit->qos.limits;

    (void)state;
    assert_true(l->numbers[SCHED_GRP_JOBS] == SCHED_NO_LIMIT);
    assert_true(l->numbers[SCHED_MAX_WALL] == 0);
    assert_int_equal(l->lists[SCHED_GRP_TRES].n, 2);
    assert_int_equal(l->lists[SCHED_GRP_TRES].v[0].tres_id, 2);
    assert_true(l->lists[SCHED_GRP_TRES].v[0].count == 0);
    assert_int_equal(l->lists[SCHED_GRP_TRES].v[1].tres_id, 1001);
    assert_true(l->lists[SCHED_GRP_TRES].v[1].count == UINT64_C(9000000000));
    feed_release(f);
    protobuf_c_message_free_unpacked(&q->base, NULL);
}

static void test_qos_words(void **state)
{
    static const struct {
        Pst__QosFlag flag;
        unsigned want;
    } rows[] = {
        { PST__QOS_FLAG__QOS_DENY_ON_LIMIT, 0 }, /* a submission's business */
        { PST__QOS_FLAG__QOS_ENFORCE_USAGE_THRESHOLD, SCHED_QOS_USAGE_THRESHOLD_ON },
        { PST__QOS_FLAG__QOS_NO_DECAY, 0 },
        { PST__QOS_FLAG__QOS_NO_RESERVE, SCHED_QOS_NO_RESERVE },
        { PST__QOS_FLAG__QOS_OVER_PART_QOS, SCHED_QOS_OVER_PART },
        { PST__QOS_FLAG__QOS_PARTITION_MAX_NODES, SCHED_QOS_PART_MAX_NODES },
        { PST__QOS_FLAG__QOS_PARTITION_MIN_NODES, SCHED_QOS_PART_MIN_NODES },
        { PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT, SCHED_QOS_PART_TIME },
        { PST__QOS_FLAG__QOS_RELATIVE, SCHED_QOS_RELATIVE },
        { PST__QOS_FLAG__QOS_REQUIRES_RESERVATION, 0 },
        { PST__QOS_FLAG__QOS_USAGE_FACTOR_SAFE, SCHED_QOS_FACTOR_SAFE },
    };
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    struct feed *f = feed_of_qos_limits(&q);

    (void)state;
    assert_true(f->limit->qos.usage_factor == 1.0); /* absent */
    assert_true(f->limit->qos.limit_factor == 0.0);
    assert_true(f->limit->qos.usage_threshold == 0.0);
    feed_release(f);
    SET(&q, usage_factor, 0.0); /* free of charge is not absent */
    SET(&q, limit_factor, 2.5);
    SET(&q, usage_threshold, 0.25);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        SET(&q, flags, 1u << rows[i].flag);
        f = feed_of_qos_limits(&q);
        assert_int_equal(f->limit->qos.flags, rows[i].want);
        assert_true(f->limit->qos.usage_factor == 0.0);
        assert_true(f->limit->qos.limit_factor == 2.5);
        assert_true(f->limit->qos.usage_threshold == 0.25);
        feed_release(f);
    }
}

/* Max* of the account above hold for its users, Grp* do not: these count there. */
static void test_assoc(void **state)
{
    static const char *const records[] = {
        "{'assoc':{'assoc_id':1,'cluster':'demo','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'demo','account':'chem','limits':{"
        "'grp_jobs':9,'max_jobs':4,'max_tres_per_job':[{'tres_id':1,'count':'64'}]}}}",
        "{'assoc':{'assoc_id':3,'parent_id':2,'cluster':'demo','account':'chem','user':'ann',"
        "'limits':{'max_jobs':-1}}}",
    };
    struct cluster *c = new_cluster();
    struct feed *f;

    (void)state;
    records_put(c->am, records, ARRAY_SIZE(records));
    f = feed_of_assoc_limits(c->am, am_assoc(c->am, 3));
    assert_int_equal(f->limit->what, FEED_LIMIT_ASSOC);
    assert_int_equal(f->limit->id, 3);
    assert_int_equal(f->limit->parent, 2);
    assert_string_equal(f->limit->name, "chem");
    assert_true(f->limit->qos.limits.numbers[SCHED_GRP_JOBS] == SCHED_NO_LIMIT);
    assert_true(f->limit->qos.limits.numbers[SCHED_MAX_JOBS] == SCHED_NO_LIMIT); /* lifted */
    assert_int_equal(f->limit->qos.limits.lists[SCHED_MAX_TRES_JOB].n, 1);
    assert_true(f->limit->qos.limits.lists[SCHED_MAX_TRES_JOB].v[0].count == 64);
    feed_release(f);
    f = feed_of_assoc_limits(c->am, am_assoc(c->am, 1));
    assert_int_equal(f->limit->parent, 0);
    feed_release(f);
    cluster_free(c);
}

static void test_by_minutes(void **state)
{
    Pst__Limits l = PST__LIMITS__INIT;
    Pst__TresCount t = PST__TRES_COUNT__INIT, *list[] = { &t };

    (void)state;
    assert_false(limits_by_minutes(NULL));
    assert_false(limits_by_minutes(&l));
    SET(&l, max_wall_min, 5); /* of one job */
    assert_false(limits_by_minutes(&l));
    SET(&l, grp_wall_min, -1);
    assert_false(limits_by_minutes(&l));
    SET(&l, grp_wall_min, 0);
    assert_true(limits_by_minutes(&l));
    l.has_grp_wall_min = 0;
    l.grp_tres_mins = list;
    l.n_grp_tres_mins = 1;
    assert_true(limits_by_minutes(&l));
}

/* 4 CPUs for an hour: 240 minutes of CPUs, 60 of time; decay is off. */
static void test_usage(void **state)
{
    static const char *const records[] = {
        "{'assoc':{'assoc_id':1,'cluster':'demo','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'demo','account':'chem'}}",
    };
    struct cluster *c = new_cluster();
    Pst__Limits *l = (Pst__Limits *)from_json(
        &pst__limits__descriptor,
        "{'grp_wall_min':100,'grp_tres_mins':[{'tres_id':1,'count':'5'},{'tres_id':2}]}");
    Pst__Transaction *tx = tx_new(T0);
    struct feed *f;

    (void)state;
    SET(tx_cluster(tx), usage_half_life_s, 0);
    SET(put_job(tx, 7), assoc_id, 2);
    apply_ok(c, tx);
    records_put(c->am, records, ARRAY_SIZE(records));
    add_nodes(c, 2, 4);
    tx = tx_new(T0);
    {
        Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_START), 7);

        SET(set, state, JOB_STATE(RUNNING));
        SET(set, start_us, T0);
        SET(set, released, false);
        set->alloc = make_alloc(0, 1, 4, 100);
        (void)pb_set_str(&set->alloc_tres, "cpu=4,mem=100M,node=1,billing=4");
    }
    apply_ok(c, tx);
    assert_null(feed_of_level_usage(c, USAGE_ASSOC, 2, NULL, T0));
    f = feed_of_level_usage(c, USAGE_ASSOC, 2, l, T0 + 3600 * SEC);
    assert_int_equal(f->limit->what, FEED_LIMIT_USAGE);
    assert_false(f->limit->of_qos);
    assert_true(f->limit->wall_minutes > 59.999 && f->limit->wall_minutes < 60.001);
    assert_int_equal(f->limit->nusage, 2);
    assert_int_equal(f->limit->usage[0].tres_id, 1);
    assert_true(f->limit->usage[0].minutes > 239.99 && f->limit->usage[0].minutes < 240.01);
    assert_int_equal(f->limit->usage[1].tres_id, 2);
    assert_true(f->limit->usage[1].minutes > 5999.9 && f->limit->usage[1].minutes < 6000.1);
    feed_release(f);
    protobuf_c_message_free_unpacked(&l->base, NULL);
    cluster_free(c);
}

static void test_enforce(void **state)
{
    static const struct {
        const char *line;
        unsigned bits;
        bool on, safe;
    } rows[] = {
        { "", 0, false, false },
        { "AccountingStorageEnforce=associations", ENFORCE_ASSOCS, false, false },
        { "AccountingStorageEnforce=limits", ENFORCE_ASSOCS | ENFORCE_LIMITS, true, false },
        { "AccountingStorageEnforce=qos", ENFORCE_ASSOCS | ENFORCE_QOS, false, false },
        { "AccountingStorageEnforce=safe", ENFORCE_ASSOCS | ENFORCE_LIMITS | ENFORCE_SAFE, true,
          true },
        { "AccountingStorageEnforce=wckeys", ENFORCE_ASSOCS | ENFORCE_WCKEYS, false, false },
        { "AccountingStorageEnforce=limits,qos", ENFORCE_ASSOCS | ENFORCE_LIMITS | ENFORCE_QOS,
          true, false },
        { "AccountingStorageEnforce=all",
          ENFORCE_ASSOCS | ENFORCE_LIMITS | ENFORCE_QOS | ENFORCE_SAFE | ENFORCE_WCKEYS, true,
          true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct conf *conf = conf_with_lines(rows[i].line);
        struct feed *f = feed_of_enforcement(conf);

        assert_int_equal(limits_enforced(conf), rows[i].bits);
        assert_int_equal(f->limit->what, FEED_LIMIT_ENFORCE);
        assert_int_equal(f->limit->on, rows[i].on);
        assert_int_equal(f->limit->safe, rows[i].safe);
        feed_release(f);
        conf_free(conf);
    }
}

/* What is fed stands in the scheduler, and goes again. */
static void test_apply(void **state)
{
    const struct sched_params params = { .backfill = true };
    Pst__TresRecord gpu = PST__TRES_RECORD__INIT;
    Pst__QosRecord *q = qos_of("{'qos_id':5,'name':'q','limits':{'grp_jobs':3}}");
    struct sched_limit_use use;
    struct sched *s = NULL;
    struct feed *f;

    (void)state;
    assert_int_equal(sched_new(&params, &s), 0);
    for (size_t i = 0; (f = feed_of_fixed_tres(i)); i++) {
        assert_int_equal(feed_limit_apply(s, f->limit), 0);
        feed_release(f);
    }
    SET(&gpu, tres_id, 1001);
    gpu.type = (char *)"gres";
    gpu.name = (char *)"gpu:a100";
    f = feed_of_tres(&gpu);
    assert_string_equal(f->limit->name, "gres/gpu:a100");
    assert_int_equal(feed_limit_apply(s, f->limit), 0);
    feed_release(f);
    gpu.type = (char *)"energy";
    gpu.name = (char *)"";
    f = feed_of_tres(&gpu);
    assert_string_equal(f->limit->name, "energy");
    feed_release(f);

    f = feed_of_qos_limits(q);
    assert_int_equal(feed_limit_apply(s, f->limit), 0);
    feed_release(f);
    assert_int_equal(sched_limit_use(s, true, 5, 0, &use), 0);
    assert_int_equal(sched_limit_use(s, false, 5, 0, &use), -ENOENT); /* not an association's */
    f = feed_of_limits_gone(true, 5);
    assert_int_equal(f->limit->what, FEED_LIMIT_QOS);
    assert_true(f->limit->gone);
    assert_int_equal(feed_limit_apply(s, f->limit), 0);
    feed_release(f);
    f = feed_of_limits_gone(false, 6);
    assert_int_equal(f->limit->what, FEED_LIMIT_ASSOC);
    feed_release(f);
    feed_limit_free(NULL);
    protobuf_c_message_free_unpacked(&q->base, NULL);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),     cmocka_unit_test(test_lifted),
        cmocka_unit_test(test_qos_words),  cmocka_unit_test(test_assoc),
        cmocka_unit_test(test_by_minutes), cmocka_unit_test(test_usage),
        cmocka_unit_test(test_enforce),    cmocka_unit_test(test_apply),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("limitrecords", tests, NULL, NULL);
}
