/* test_sched_limits.c - every limit of associations and QOS: it holds a job, under its own
 * number, holds up nobody else, and lets the job go; precedence, flags, counters over starts,
 * ends and changes */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/explain/sched_explain.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)

#include "sched_util.h"

enum { ROOT = 1, PHYSICS = 4, ALICE = 7, OTHER = 9, NORMAL = 10, PART = 20, FREE = 30 };
enum { CPU = 1, MEM = 2, NODE = 4, BILLING = 5, GPU = 1001, LIC = 1002 };

static struct sched_limits none;

static void set_assoc(struct sched *s, uint32_t id, const struct sched_limits *l)
{
    uint32_t parent = id == ALICE ? PHYSICS : id == ROOT ? 0 : ROOT;

    assert_int_equal(sched_limit_assoc_put(s, id, parent,
                                           id == OTHER  ? "other"
                                           : id == ROOT ? "root"
                                                        : "physics",
                                           l ? l : &none),
                     0);
}

static void set_qos(struct sched *s, uint32_t id, const struct sched_limits *l, unsigned flags)
{
    struct sched_qos_limits q = { .limits = l ? *l : none, .usage_factor = 1, .flags = flags };

    assert_int_equal(sched_limit_qos_put(s, id, &q), 0);
}

/* Four nodes of 8 CPUs, 4,000 MiB and 4 GPUs, 16 licences, limits enforced but none set. */
static struct sched *cluster(bool safe)
{
    static const struct {
        uint32_t id;
        const char *name;
    } tres[] = { { CPU, "cpu" },        { MEM, "mem" },         { 3, "energy" },
                 { NODE, "node" },      { BILLING, "billing" }, { GPU, "gres/gpu" },
                 { LIC, "license/lic" } };
    struct sched *s = util_cluster((struct sched_params){ .select_memory = true }, 4, 8, 4);
    const uint32_t ids[] = { 0, 1, 2, 3 };
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = 4,
                                          .tier = 1,
                                          .up = true,
                                          .qos_id = PART,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };

    sched_limits_init(&none);
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_int_equal(sched_license_put(s, "lic", 16), 0);
    for (size_t i = 0; i < ARRAY_SIZE(tres); i++)
        assert_int_equal(sched_tres_put(s, tres[i].id, tres[i].name), 0);
    set_assoc(s, ROOT, NULL);
    set_assoc(s, PHYSICS, NULL);
    set_assoc(s, ALICE, NULL);
    set_assoc(s, OTHER, NULL);
    set_qos(s, NORMAL, NULL, 0);
    set_qos(s, PART, NULL, 0);
    set_qos(s, FREE, NULL, 0);
    sched_limit_enforce(s, true, safe);
    return s;
}

/* 4 CPUs, 400 MiB, a GPU and a licence on one node for ten minutes. */
static struct sched_job job(uint32_t id)
{
    static const struct sched_gres_req gpu = { .name = "gpu", .per_node = 1 };
    static const struct sched_lic_req lic = { .name = "lic", .count = 1 };
    struct sched_job j = util_job(id);

    j.uid = 2001;
    j.num_tasks = 4;
    j.max_nodes = 1;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 400;
    j.gres = &gpu;
    j.ngres = 1;
    j.licenses = &lic;
    j.nlicenses = 1;
    j.assoc_id = ALICE;
    j.qos_id = NORMAL;
    return j;
}

static struct sched_job others(uint32_t id)
{
    struct sched_job j = job(id);

    j.uid = 2002;
    j.assoc_id = OTHER;
    j.qos_id = FREE;
    return j;
}

/* What a pass and a backfill say of a job: 1 it starts, 0 nothing; a limit's number + 2. */
static unsigned said(struct sched *s, uint32_t id, int64_t now)
{
    struct sched_decisions d = { 0 };
    unsigned what = 0;
    int64_t wake;

    assert_int_equal(sched_pass(s, now, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, now, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].job_id != id)
            continue;
        if (d.items[i].kind == SCHED_START)
            what = 1;
        else if (d.items[i].why == SCHED_WHY_LIMIT)
            what = d.items[i].limit + 2;
    }
    sched_decisions_done(&d);
    return what;
}

enum where { AT_USER, AT_ACCOUNT, AT_QOS, AT_PART };

static void set_at(struct sched *s, enum where where, const struct sched_limits *l)
{
    switch (where) {
    case AT_USER:
        set_assoc(s, ALICE, l);
        break;
    case AT_ACCOUNT:
        set_assoc(s, PHYSICS, l);
        break;
    case AT_QOS:
        set_qos(s, NORMAL, l, 0);
        break;
    case AT_PART:
        set_qos(s, PART, l, 0);
        break;
    }
}

static void use_at(struct sched *s, enum where where, uint32_t tres, double minutes, double wall)
{
    const struct sched_tres_usage u = { .tres_id = tres, .minutes = minutes };
    static const uint32_t ids[] = { ALICE, PHYSICS, NORMAL, PART };

    assert_int_equal(sched_limit_usage(s, where >= AT_QOS, ids[where], &u, tres ? 1 : 0, wall), 0);
}

/* ---- each limit ------------------------------------------------------------------------------ */

enum act {
    BESIDE, /* one job fits, the second does not beside it, until the first ends */
    ALONE,  /* no job fits, until the limit is lifted */
    SPENT,  /* nothing is left, until usage decays */
};

static const struct list_row {
    const char *name;
    enum sched_limit_list list;
    enum where where;
    enum act act;
    unsigned scope;
    unsigned times;   /* what of the TRES' amount is still granted, in quarters of a job's */
    unsigned minutes; /* the amount is that times these */
    unsigned tres;    /* bits of the table below it is tried with */
} list_rows[] = {
    { "user GrpTRES", SCHED_GRP_TRES, AT_USER, BESIDE, SCHED_LIMIT_ASSOC_GRP, 7, 1, 63 },
    { "account GrpTRES", SCHED_GRP_TRES, AT_ACCOUNT, BESIDE, SCHED_LIMIT_ASSOC_GRP, 7, 1, 63 },
    { "user GrpTRESMins", SCHED_GRP_TRES_MINS, AT_USER, SPENT, SCHED_LIMIT_ASSOC_GRP_MINS, 4, 1,
      63 },
    { "account GrpTRESMins", SCHED_GRP_TRES_MINS, AT_ACCOUNT, SPENT, SCHED_LIMIT_ASSOC_GRP_MINS, 4,
      1, 63 },
    { "account GrpTRESRunMins", SCHED_GRP_TRES_RUN_MINS, AT_ACCOUNT, BESIDE,
      SCHED_LIMIT_ASSOC_GRP_RUN_MINS, 7, 10, 63 },
    { "MaxTRESPerJob", SCHED_MAX_TRES_JOB, AT_USER, ALONE, SCHED_LIMIT_ASSOC_MAX_JOB, 3, 1, 63 },
    { "MaxTRESPerNode", SCHED_MAX_TRES_NODE, AT_USER, ALONE, SCHED_LIMIT_ASSOC_MAX_NODE, 3, 1,
      1 | 2 | 8 | 16 },
    { "MaxTRESMinsPerJob", SCHED_MAX_TRES_MINS_JOB, AT_USER, ALONE, SCHED_LIMIT_ASSOC_MAX_MINS, 3,
      10, 63 },
    { "user MaxTRESRunMins", SCHED_MAX_RUN_MINS, AT_USER, BESIDE, SCHED_LIMIT_ASSOC_GRP_RUN_MINS, 7,
      10, 63 },
    { "QOS GrpTRES", SCHED_GRP_TRES, AT_QOS, BESIDE, SCHED_LIMIT_QOS_GRP, 7, 1, 63 },
    { "partition QOS GrpTRES", SCHED_GRP_TRES, AT_PART, BESIDE, SCHED_LIMIT_QOS_GRP, 7, 1, 63 },
    { "QOS GrpTRESMins", SCHED_GRP_TRES_MINS, AT_QOS, SPENT, SCHED_LIMIT_QOS_GRP_MINS, 4, 1, 63 },
    { "QOS GrpTRESRunMins", SCHED_GRP_TRES_RUN_MINS, AT_QOS, BESIDE, SCHED_LIMIT_QOS_GRP_RUN_MINS,
      7, 10, 63 },
    { "QOS MaxTRESPerJob", SCHED_MAX_TRES_JOB, AT_QOS, ALONE, SCHED_LIMIT_QOS_MAX_JOB, 3, 1, 63 },
    { "QOS MaxTRESPerNode", SCHED_MAX_TRES_NODE, AT_QOS, ALONE, SCHED_LIMIT_QOS_MAX_NODE, 3, 1,
      1 | 2 | 8 | 16 },
    { "QOS MaxTRESMinsPerJob", SCHED_MAX_TRES_MINS_JOB, AT_QOS, ALONE, SCHED_LIMIT_QOS_MAX_MINS, 3,
      10, 63 },
    { "QOS MaxTRESPerUser", SCHED_MAX_TRES_USER, AT_QOS, BESIDE, SCHED_LIMIT_QOS_MAX_USER, 7, 1,
      63 },
    { "partition QOS MaxTRESPerUser", SCHED_MAX_TRES_USER, AT_PART, BESIDE,
      SCHED_LIMIT_QOS_MAX_USER, 7, 1, 63 },
    { "QOS MaxTRESPerAccount", SCHED_MAX_TRES_ACCOUNT, AT_QOS, BESIDE, SCHED_LIMIT_QOS_MAX_ACCOUNT,
      7, 1, 63 },
    { "QOS MaxTRESRunMinsPerUser", SCHED_MAX_RUN_MINS_USER, AT_QOS, BESIDE,
      SCHED_LIMIT_QOS_RUN_MINS_USER, 7, 10, 63 },
    { "QOS MaxTRESRunMinsPerAccount", SCHED_MAX_RUN_MINS_ACCOUNT, AT_QOS, BESIDE,
      SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT, 7, 10, 63 },
    { "QOS MinTRESPerJob", SCHED_MIN_TRES_JOB, AT_QOS, ALONE, SCHED_LIMIT_QOS_MIN, 8, 1, 63 },
};

static const struct {
    const char *name;
    uint32_t id, amount; /* of one job */
    enum sched_tres_type type;
} tres_rows[] = {
    { "cpu", CPU, 4, SCHED_TRES_CPU },       { "mem", MEM, 400, SCHED_TRES_MEM },
    { "node", NODE, 1, SCHED_TRES_NODE },    { "billing", BILLING, 4, SCHED_TRES_BILLING },
    { "gres/gpu", GPU, 1, SCHED_TRES_GRES }, { "license/lic", LIC, 1, SCHED_TRES_LICENSE },
};

static void check_list(const struct list_row *row, size_t t)
{
    struct sched *s = cluster(false);
    const struct sched_tres_limit one = { .tres_id = tres_rows[t].id,
                                          .count = (uint64_t)tres_rows[t].amount * row->times *
                                                   row->minutes / 4 };
    unsigned want = SCHED_LIMIT(row->scope, tres_rows[t].type) + 2, got;
    struct sched_limits l = none;
    struct sched_limit_hit hit;

    l.lists[row->list].v = &one;
    l.lists[row->list].n = 1;
    set_at(s, row->where, &l);
    if (row->act == SPENT)
        use_at(s, row->where, tres_rows[t].id, (double)one.count, 0);
    if (row->act == BESIDE) {
        put(s, job(1));
        if (said(s, 1, NOW) != 1)
            fail_msg("%s of %s: the first job does not start", row->name, tres_rows[t].name);
    }
    put(s, job(2));
    got = said(s, 2, NOW);
    if (got != want)
        fail_msg("%s of %s: says %u, not %u", row->name, tres_rows[t].name, got, want);
    assert_int_equal(sched_limit_why(s, 2, NULL, NOW, &hit), 1);
    assert_int_equal(hit.tres_id, tres_rows[t].id);
    assert_int_equal(hit.value, one.count);
    put(s, others(3));
    if (!(row->where == AT_PART && row->list == SCHED_GRP_TRES) && said(s, 3, NOW) != 1)
        fail_msg("%s of %s: holds up somebody else", row->name, tres_rows[t].name);
    if (row->act == BESIDE)
        sched_job_remove(s, 1);
    else if (row->act == ALONE)
        set_at(s, row->where, NULL);
    else
        use_at(s, row->where, tres_rows[t].id, 0, 0);
    if (said(s, 2, NOW) != 1)
        fail_msg("%s of %s: does not let go", row->name, tres_rows[t].name);
    sched_free(s);
}

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(list_rows); i++)
        for (size_t t = 0; t < ARRAY_SIZE(tres_rows); t++)
            if (list_rows[i].tres >> t & 1)
                check_list(&list_rows[i], t);
}

static const struct number_row {
    const char *name;
    enum sched_limit_number number;
    enum where where;
    enum act act;
    unsigned limit;
    uint64_t value;
} number_rows[] = {
    { "user GrpJobs", SCHED_GRP_JOBS, AT_USER, BESIDE, SCHED_LIMIT_ASSOC_GRP_JOBS, 1 },
    { "account GrpJobs", SCHED_GRP_JOBS, AT_ACCOUNT, BESIDE, SCHED_LIMIT_ASSOC_GRP_JOBS, 1 },
    { "account GrpWall", SCHED_GRP_WALL, AT_ACCOUNT, SPENT, SCHED_LIMIT_ASSOC_GRP_WALL, 60 },
    { "MaxJobs", SCHED_MAX_JOBS, AT_USER, BESIDE, SCHED_LIMIT_ASSOC_MAX_JOBS, 1 },
    { "MaxWall", SCHED_MAX_WALL, AT_USER, ALONE, SCHED_LIMIT_ASSOC_MAX_WALL, 9 },
    { "QOS GrpJobs", SCHED_GRP_JOBS, AT_QOS, BESIDE, SCHED_LIMIT_QOS_GRP_JOBS, 1 },
    { "partition QOS GrpJobs", SCHED_GRP_JOBS, AT_PART, BESIDE, SCHED_LIMIT_QOS_GRP_JOBS, 1 },
    { "QOS GrpWall", SCHED_GRP_WALL, AT_QOS, SPENT, SCHED_LIMIT_QOS_GRP_WALL, 60 },
    { "QOS MaxWall", SCHED_MAX_WALL, AT_QOS, ALONE, SCHED_LIMIT_QOS_MAX_WALL, 9 },
    { "QOS MaxJobsPerUser", SCHED_USER_JOBS, AT_QOS, BESIDE, SCHED_LIMIT_QOS_USER_JOBS, 1 },
    { "partition QOS MaxJobsPerUser", SCHED_USER_JOBS, AT_PART, BESIDE, SCHED_LIMIT_QOS_USER_JOBS,
      1 },
    { "QOS MaxJobsPerAccount", SCHED_ACCOUNT_JOBS, AT_QOS, BESIDE, SCHED_LIMIT_QOS_ACCOUNT_JOBS,
      1 },
    { "MaxJobs=0", SCHED_MAX_JOBS, AT_USER, ALONE, SCHED_LIMIT_ASSOC_MAX_JOBS, 0 },
};

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(number_rows); i++) {
        const struct number_row *row = &number_rows[i];
        struct sched *s = cluster(false);
        struct sched_limits l = none;
        bool part = row->where == AT_PART && row->number == SCHED_GRP_JOBS;
        unsigned got;

        l.numbers[row->number] = row->value;
        set_at(s, row->where, &l);
        if (row->act == SPENT)
            use_at(s, row->where, 0, 0, 60);
        if (row->act == BESIDE) {
            put(s, job(1));
            assert_int_equal(said(s, 1, NOW), 1);
        }
        put(s, job(2));
        got = said(s, 2, NOW);
        if (got != row->limit + 2)
            fail_msg("%s: says %u, not %u", row->name, got, row->limit + 2);
        put(s, others(3));
        if (!part && said(s, 3, NOW) != 1)
            fail_msg("%s: holds up somebody else", row->name);
        if (row->act == BESIDE)
            sched_job_remove(s, 1);
        else if (row->act == ALONE)
            set_at(s, row->where, NULL);
        else
            use_at(s, row->where, 0, 0, 59);
        if (said(s, 2, NOW) != 1)
            fail_msg("%s: does not let go", row->name);
        sched_free(s);
    }
}

/* ---- how they go together -------------------------------------------------------------------- */

static struct sched_limits one_number(enum sched_limit_number n, uint64_t value)
{
    struct sched_limits l = none;

    l.numbers[n] = value;
    return l;
}

/* The partition's QOS before the job's, unless it says OverPartQOS; both before the association. */
static void test_precedence(void **state)
{
    struct sched *s = cluster(false);
    struct sched_limits small = one_number(SCHED_MAX_WALL, 5),
                        large = one_number(SCHED_MAX_WALL, 60);

    (void)state;
    set_assoc(s, ALICE, &small);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), SCHED_LIMIT_ASSOC_MAX_WALL + 2);
    set_qos(s, NORMAL, &large, 0); /* what the QOS grants, the association cannot deny */
    assert_int_equal(said(s, 1, NOW), 1);
    set_qos(s, PART, &small, 0); /* the partition's goes first ... */
    put(s, job(2));
    assert_int_equal(said(s, 2, NOW), SCHED_LIMIT_QOS_MAX_WALL + 2);
    set_qos(s, NORMAL, &large, SCHED_QOS_OVER_PART); /* ... but for a QOS that goes over it */
    assert_int_equal(said(s, 2, NOW), 1);
    sched_free(s);
}

static void test_switched_off(void **state)
{
    struct sched *s = cluster(false);
    struct sched_limits l = one_number(SCHED_MAX_JOBS, 0);

    (void)state;
    set_assoc(s, ALICE, &l);
    sched_limit_enforce(s, false, false);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), 1);
    sched_free(s);
}

/* assoc_limit_stop: whoever comes after a job that a limit holds waits for his turn, by whichever
 * way of planning; a job that could never start holds nobody. */
static void test_stop(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        bool stop = way & 1;
        struct sched_params params = { .select_memory = true,
                                       .backfill = true,
                                       .conservative = way >> 1,
                                       .bf_window_min = 1440,
                                       .assoc_limit_stop = stop };
        struct sched *s = cluster(false);
        struct sched_limits jobs = one_number(SCHED_MAX_JOBS, 1),
                            wall = one_number(SCHED_MAX_WALL, 9);

        sched_params_set(s, &params);
        set_assoc(s, ALICE, &jobs);
        put(s, job(1));
        assert_int_equal(said(s, 1, NOW), 1);
        put(s, job(2));
        put(s, others(3));
        assert_int_equal(said(s, 3, NOW), stop ? 0 : 1);
        assert_int_equal(said(s, 3, NOW), 0); /* nor at the next look */
        sched_job_remove(s, 1);
        assert_int_equal(said(s, stop ? 3 : 2, NOW), 1);
        sched_free(s);

        s = cluster(false);
        sched_params_set(s, &params);
        set_assoc(s, ALICE, &wall);
        put(s, job(1));
        put(s, others(2));
        assert_int_equal(said(s, 2, NOW), 1);
        sched_free(s);
    }
}

/* What an operator gave counts for nothing. */
static void test_set_by_operator(void **state)
{
    struct sched *s = cluster(false);
    const struct sched_tres_limit cpu = { .tres_id = CPU, .count = 1 };
    struct sched_limits l = one_number(SCHED_MAX_WALL, 1);
    struct sched_job j = job(1);

    (void)state;
    l.lists[SCHED_MAX_TRES_JOB].v = &cpu;
    l.lists[SCHED_MAX_TRES_JOB].n = 1;
    set_assoc(s, ALICE, &l);
    put(s, j);
    assert_int_equal(said(s, 1, NOW), SCHED_LIMIT_ASSOC_MAX_WALL + 2);
    j.any_time = true;
    put(s, j);
    assert_int_equal(said(s, 1, NOW), SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_JOB, SCHED_TRES_CPU) + 2);
    j.any_size = true;
    put(s, j);
    assert_int_equal(said(s, 1, NOW), 1);
    sched_free(s);
}

static void test_safe(void **state)
{
    const struct sched_tres_limit cpu = { .tres_id = CPU, .count = 100 };
    struct sched_limits l;

    (void)state;
    for (int safe = 0; safe < 2; safe++) {
        struct sched *s = cluster(safe);

        l = none;
        l.lists[SCHED_GRP_TRES_MINS].v = &cpu;
        l.lists[SCHED_GRP_TRES_MINS].n = 1;
        set_assoc(s, PHYSICS, &l);
        use_at(s, AT_ACCOUNT, CPU, 70, 0); /* 30 are left, the job wants 40 */
        put(s, job(1));
        assert_int_equal(said(s, 1, NOW),
                         safe ? SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP_MINS, SCHED_TRES_CPU) + 2 : 1);
        sched_free(s);
    }
}

/* Wall time is no TRES: a job starts while any is left. */
static void test_safe_wall(void **state)
{
    struct sched *s = cluster(true);
    struct sched_limits l = none;

    (void)state;
    l.numbers[SCHED_GRP_WALL] = 2;
    set_assoc(s, PHYSICS, &l);
    use_at(s, AT_ACCOUNT, 0, 0, 1);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), 1);
    sched_free(s);
}

static void test_factors(void **state)
{
    const struct sched_tres_limit cpu = { .tres_id = CPU, .count = 4 },
                                  percent = { .tres_id = CPU, .count = 25 };
    struct sched *s = cluster(false);
    struct sched_qos_limits q = { .limits = none, .usage_factor = 1, .limit_factor = 2 };
    struct sched_limits l = none;

    (void)state;
    l.lists[SCHED_GRP_TRES].v = &cpu;
    l.lists[SCHED_GRP_TRES].n = 1;
    set_assoc(s, PHYSICS, &l);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), 1);
    put(s, job(2));
    assert_int_equal(said(s, 2, NOW), SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP, SCHED_TRES_CPU) + 2);
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0); /* LimitFactor=2: 8 CPUs */
    assert_int_equal(said(s, 2, NOW), 1);
    /* Relative: a quarter of 32 CPUs */
    set_assoc(s, PHYSICS, NULL);
    l = none;
    l.lists[SCHED_GRP_TRES].v = &percent;
    l.lists[SCHED_GRP_TRES].n = 1;
    set_qos(s, NORMAL, &l, SCHED_QOS_RELATIVE);
    put(s, job(3));
    assert_int_equal(said(s, 3, NOW), SCHED_LIMIT(SCHED_LIMIT_QOS_GRP, SCHED_TRES_CPU) + 2);
    sched_job_remove(s, 1);
    assert_int_equal(said(s, 3, NOW), 1);
    sched_free(s);
}

static void test_usage_threshold(void **state)
{
    struct sched *s = cluster(false);
    struct sched_qos_limits q = { .limits = none,
                                  .usage_factor = 1,
                                  .flags = SCHED_QOS_USAGE_THRESHOLD_ON,
                                  .usage_threshold = 0.5 };

    (void)state;
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    put(s, job(1)); /* nothing is known of the shares: factor 0 */
    assert_int_equal(said(s, 1, NOW), SCHED_LIMIT_QOS_USAGE_THRESHOLD + 2);
    set_qos(s, NORMAL, NULL, 0);
    assert_int_equal(said(s, 1, NOW), 1);
    sched_free(s);
}

/* The partition's time and nodes do not hold for a QOS that says so. */
static void test_partition_flags(void **state)
{
    struct sched *s = cluster(false);
    const uint32_t ids[] = { 0, 1, 2, 3 };
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = 4,
                                          .tier = 1,
                                          .up = true,
                                          .max_time_min = 5,
                                          .max_nodes = 1 };
    struct sched_job j = job(1);

    (void)state;
    assert_int_equal(sched_partition_put(s, &part), 0);
    j.min_nodes = j.max_nodes = 2;
    put(s, j);
    assert_int_equal(said(s, 1, NOW), 0);
    set_qos(s, NORMAL, NULL, SCHED_QOS_PART_TIME);
    j.any_part_size = true;
    put(s, j);
    assert_int_equal(said(s, 1, NOW), 1);
    sched_free(s);
}

/* The partition's memory holds a job, of a node or of a CPU, as asked for or as it comes to. */
static void test_partition_memory(void **state)
{
    static const struct {
        uint64_t per_cpu, per_node; /* granted */
        uint64_t job_cpu, job_node; /* asked for, on one node with four CPUs */
        bool held;
    } rows[] = { { 0, 300, 0, 400, true },  { 0, 400, 0, 400, false }, { 50, 0, 100, 0, true },
                 { 100, 0, 100, 0, false }, { 0, 300, 100, 0, true },  { 0, 400, 100, 0, false },
                 { 0, 0, 500, 0, false } };
    const uint32_t ids[] = { 0, 1, 2, 3 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched *s = cluster(false);
        struct sched_partition part = { .name = "main",
                                        .node_ids = ids,
                                        .nnodes = 4,
                                        .tier = 1,
                                        .up = true,
                                        .max_time_min = SCHED_UNLIMITED,
                                        .max_nodes = SCHED_UNLIMITED,
                                        .max_mem_per_cpu_mib = rows[i].per_cpu,
                                        .max_mem_per_node_mib = rows[i].per_node };
        struct sched_job j = job(1);
        struct sched_decisions d = { 0 };
        int64_t wake;

        assert_int_equal(sched_partition_put(s, &part), 0);
        j.has_mem_per_node = rows[i].job_node > 0;
        j.mem_per_node_mib = rows[i].job_node;
        j.mem_per_cpu_mib = rows[i].job_cpu;
        put(s, j);
        assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
        assert_int_equal(d.n, 1);
        assert_int_equal(d.items[0].kind, rows[i].held ? SCHED_EXPECT : SCHED_START);
        assert_int_equal(rows[i].held ? d.items[0].why : SCHED_WHY_PART_MEM, SCHED_WHY_PART_MEM);
        sched_decisions_done(&d);
        if (rows[i].held) { /* and lets go */
            part.max_mem_per_cpu_mib = part.max_mem_per_node_mib = 0;
            assert_int_equal(sched_partition_put(s, &part), 0);
            assert_int_equal(said(s, 1, NOW + 1), 1);
        }
        sched_free(s);
    }
}

static uint64_t used(struct sched *s, bool qos, uint32_t id, uint32_t tres, uint32_t *jobs,
                     uint64_t *run, int64_t now)
{
    static struct sched_limit_use u;

    assert_int_equal(sched_limit_use(s, qos, id, now, &u), 0);
    *jobs = u.jobs;
    for (size_t i = 0; i < u.ntres; i++)
        if (u.tres[i].tres_id == tres) {
            *run = u.tres[i].run_minutes;
            return u.tres[i].used;
        }
    *run = 0;
    return 0;
}

static void test_counters(void **state)
{
    struct sched *s = cluster(false);
    uint32_t jobs;
    uint64_t run;

    (void)state;
    put(s, job(1));
    put(s, job(2));
    assert_int_equal(said(s, 1, NOW), 1);
    assert_int_equal(used(s, false, ROOT, CPU, &jobs, &run, NOW), 8);
    assert_int_equal(jobs, 2);
    assert_int_equal(run, 80);
    assert_int_equal(used(s, true, NORMAL, GPU, &jobs, &run, NOW + 5 * MINUTE), 2);
    assert_int_equal(run, 10);
    sched_job_end_time(s, 1, NOW + 20 * MINUTE);
    (void)used(s, false, ALICE, CPU, &jobs, &run, NOW);
    assert_int_equal(run, 120);
    sched_job_end_time(s, 1, INT64_MAX); /* no limit: as Slurm counts, and beside what ends */
    (void)used(s, false, ALICE, CPU, &jobs, &run, NOW);
    assert_int_equal(run, 4ull * UINT32_MAX + 40);
    sched_job_uncharge(s, 1); /* completing */
    assert_int_equal(used(s, false, ROOT, CPU, &jobs, &run, NOW), 4);
    sched_job_remove(s, 1);
    sched_job_refused(s, 2);
    assert_int_equal(used(s, false, ROOT, CPU, &jobs, &run, NOW), 0);
    assert_int_equal(jobs, 0);
    assert_int_equal(said(s, 2, NOW), 1);
    /* the account moves away: what runs counts where it belongs now */
    assert_int_equal(sched_limit_assoc_put(s, PHYSICS, OTHER, "physics", &none), 0);
    assert_int_equal(used(s, false, OTHER, CPU, &jobs, &run, NOW), 4);
    assert_int_equal(used(s, false, ROOT, CPU, &jobs, &run, NOW), 4);
    sched_job_remove(s, 2);
    assert_int_equal(used(s, false, OTHER, CPU, &jobs, &run, NOW), 0);
    sched_free(s);
}

/* As after a restart: what runs is told first, its association later. */
static void test_recovery(void **state)
{
    struct sched *s = util_cluster((struct sched_params){ 0 }, 2, 8, 0);
    uint64_t bits = 15, run;
    struct sched_alloc_node an = {
        .node_id = 0, .cpus = 4, .cpu_bits = &bits, .ncpu_words = 1, .tasks = 4
    };
    const struct sched_alloc alloc = { .nodes = &an, .nnodes = 1 };
    struct sched_limits l;
    uint32_t jobs;

    (void)state;
    sched_limits_init(&none);
    l = one_number(SCHED_MAX_JOBS, 1);
    assert_int_equal(sched_tres_put(s, CPU, "cpu"), 0);
    sched_limit_enforce(s, true, false);
    assert_int_equal(sched_job_running(s, 1, "main", &alloc, NOW, NOW + 10 * MINUTE, false), 0);
    assert_int_equal(sched_job_owner(s, 1, 2001, false, NULL), 0);
    assert_int_equal(sched_job_account(s, 1, ALICE, NORMAL), 0);
    set_assoc(s, ALICE, &l);
    set_assoc(s, PHYSICS, NULL);
    set_qos(s, NORMAL, NULL, 0);
    assert_int_equal(used(s, false, PHYSICS, CPU, &jobs, &run, NOW), 4);
    assert_int_equal(used(s, true, NORMAL, CPU, &jobs, &run, NOW), 4);
    {
        struct sched_job j = util_job(2);

        j.uid = 2001;
        j.assoc_id = ALICE;
        j.qos_id = NORMAL;
        put(s, j);
    }
    assert_int_equal(said(s, 2, NOW), SCHED_LIMIT_ASSOC_MAX_JOBS + 2);
    sched_job_remove(s, 1);
    assert_int_equal(said(s, 2, NOW), 1);
    sched_free(s);
}

/* Components of a heterogeneous job count together before any of them starts. */
static void test_het(void **state)
{
    struct sched *s = cluster(false);
    const struct sched_tres_limit cpu = { .tres_id = CPU, .count = 7 };
    struct sched_limits l = none;
    uint32_t jobs;
    uint64_t run;

    (void)state;
    l.lists[SCHED_GRP_TRES].v = &cpu;
    l.lists[SCHED_GRP_TRES].n = 1;
    set_assoc(s, PHYSICS, &l);
    for (uint32_t i = 0; i < 2; i++) {
        struct sched_job j = job(1 + i);

        j.het_id = 1;
        j.het_count = 2;
        put(s, j);
    }
    assert_int_not_equal(said(s, 1, NOW), 1);
    assert_int_equal(used(s, false, PHYSICS, CPU, &jobs, &run, NOW), 0);
    set_assoc(s, PHYSICS, NULL);
    assert_int_equal(said(s, 2, NOW), 1);
    assert_int_equal(used(s, false, PHYSICS, CPU, &jobs, &run, NOW), 8);
    sched_free(s);
}

/* Billed as the partition weighs: 4 CPUs and a GPU are 4 * 2 + 3. */
static void test_billing_weights(void **state)
{
    struct sched *s = cluster(false);
    const uint32_t ids[] = { 0, 1, 2, 3 };
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = 4,
                                          .tier = 1,
                                          .up = true,
                                          .billing = "CPU=2.0,GRES/gpu=3",
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };
    struct sched_tres_limit most = { .tres_id = BILLING, .count = 10 };
    struct sched_limits l = none;

    (void)state;
    assert_int_equal(sched_partition_put(s, &part), 0);
    l.lists[SCHED_GRP_TRES].v = &most;
    l.lists[SCHED_GRP_TRES].n = 1;
    set_assoc(s, PHYSICS, &l);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP, SCHED_TRES_BILLING) + 2);
    most.count = 11;
    set_assoc(s, PHYSICS, &l);
    assert_int_equal(said(s, 1, NOW), 1);
    put(s, job(2));
    assert_int_equal(said(s, 2, NOW), SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP, SCHED_TRES_BILLING) + 2);
    sched_free(s);
}

/* Running minutes grow fewer by themselves: somebody has to look again. */
static void test_run_minutes_pass(void **state)
{
    struct sched *s = cluster(false);
    const struct sched_tres_limit cpu = { .tres_id = CPU, .count = 60 };
    struct sched_decisions d = { 0 };
    struct sched_limits l = none;
    int64_t wake;

    (void)state;
    l.lists[SCHED_GRP_TRES_RUN_MINS].v = &cpu;
    l.lists[SCHED_GRP_TRES_RUN_MINS].n = 1;
    set_assoc(s, PHYSICS, &l);
    put(s, job(1));
    assert_int_equal(said(s, 1, NOW), 1);
    put(s, job(2)); /* 40 and 40 are more than 60 */
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    sched_decisions_done(&d);
    assert_true(wake > NOW && wake <= NOW + MINUTE);
    assert_int_equal(said(s, 2, NOW + 4 * MINUTE), 0); /* it was told already */
    assert_int_equal(said(s, 2, NOW + 5 * MINUTE), 1); /* 20 are left of the first */
    sched_free(s);
}

static int note_age(void *ctx, const struct sched_factors *f)
{
    ((double *)ctx)[f->job_id] = f->age;
    return 0;
}

static void ages(struct sched *s, int64_t now, double *ret)
{
    struct sched_decisions d = { 0 };
    int64_t wake;

    for (size_t i = 0; i < 4; i++)
        ret[i] = -1;
    assert_int_equal(sched_pass(s, now, &d, &wake), 0);
    assert_int_equal(sched_pass(s, now + 1, &d, &wake), 0);
    sched_decisions_done(&d);
    assert_int_equal(sched_priorities(s, now + 1, note_age, ret), 0);
}

/* Of three that wait one gains by age; the next begins when it has gone. */
static void test_accrue(void **state)
{
    static const struct {
        enum sched_limit_number number;
        enum where where;
    } rows[] = { { SCHED_MAX_ACCRUE, AT_USER },    { SCHED_GRP_ACCRUE, AT_ACCOUNT },
                 { SCHED_GRP_ACCRUE, AT_QOS },     { SCHED_USER_ACCRUE, AT_QOS },
                 { SCHED_ACCOUNT_ACCRUE, AT_QOS }, { SCHED_USER_ACCRUE, AT_PART } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched *s = cluster(false);
        struct sched_limits l = one_number(rows[i].number, 1), held = one_number(SCHED_MAX_JOBS, 0);
        struct sched_params p = {
            .multifactor = true, .weight_age = 1000, .max_age_s = 36000, .backfill = true
        };
        double age[4];

        sched_params_set(s, &p);
        held.numbers[rows[i].number] = rows[i].where == AT_USER ? 1 : SCHED_NO_LIMIT;
        set_assoc(s, ALICE, &held); /* nobody starts */
        if (rows[i].where != AT_USER)
            set_at(s, rows[i].where, &l);
        for (uint32_t id = 1; id <= 3; id++)
            put(s, job(id));
        ages(s, NOW, age);
        ages(s, NOW + 60 * MINUTE, age);
        assert_true(age[1] > 0.09);
        assert_true(age[2] == 0 && age[3] == 0);
        sched_job_remove(s, 1);
        ages(s, NOW + 120 * MINUTE, age);
        assert_true(age[2] < 0.01 && age[3] == 0); /* it begins now */
        ages(s, NOW + 180 * MINUTE, age);
        assert_true(age[2] > 0.09 && age[3] == 0);
        sched_free(s);
    }
}

/* When a plan has a job start; 0 = it has none. */
static int64_t planned(struct sched *s, uint32_t id)
{
    struct sched_decisions d = { 0 };
    int64_t at = 0, wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].job_id == id && d.items[i].kind == SCHED_EXPECT)
            at = d.items[i].expected_us;
    sched_decisions_done(&d);
    return at;
}

/* MinPrioThreshold: no place is kept for a job of less priority, by its QOS's word before the
 * association's. */
static void test_min_priority(void **state)
{
    static const struct {
        enum where where;
        uint64_t value;
        bool kept;
    } rows[] = { { AT_QOS, 101, false },
                 { AT_QOS, 100, true },
                 { AT_USER, 101, false },
                 { AT_USER, 100, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched *s = cluster(false);
        struct sched_limits l = one_number(SCHED_MIN_PRIO, rows[i].value);
        struct sched_params p = {
            .backfill = true, .select_memory = true, .bf_window_min = 1440, .bf_resolution_s = 60
        };
        struct sched_job wide = job(2);

        sched_params_set(s, &p);
        set_at(s, rows[i].where, &l);
        put(s, others(1));
        assert_int_equal(said(s, 1, NOW), 1);
        wide.min_nodes = wide.max_nodes = 4;
        wide.num_tasks = 32;
        wide.priority = 100;
        put(s, wide);
        assert_true((planned(s, 2) > 0) == rows[i].kept);
        sched_free(s);
    }
}

static void test_bad(void **state)
{
    struct sched *s = cluster(false);
    const struct sched_tres_usage u = { .tres_id = CPU, .minutes = 1 };
    struct sched_limit_hit hit;
    static struct sched_limit_use use;

    (void)state;
    assert_int_equal(sched_limit_assoc_put(s, 0, 0, "x", &none), -EINVAL);
    assert_int_equal(sched_limit_assoc_put(s, 5, 5, "x", &none), -EINVAL);
    assert_int_equal(sched_limit_usage(s, false, 4711, &u, 1, 0), -ENOENT);
    assert_int_equal(sched_limit_use(s, true, 4711, NOW, &use), -ENOENT);
    assert_int_equal(sched_limit_why(s, 99, NULL, NOW, &hit), -ENOENT);
    assert_int_equal(sched_job_account(s, 99, 1, 1), -ENOENT);
    sched_limit_assoc_remove(s, 4711);
    sched_free(s);
}

/* A change that would find room is not named when the changed job were over a limit. */
static void test_explained(void **state)
{
    const struct sched_tres_limit four = { .tres_id = CPU, .count = 4 };

    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct sched *s = cluster(false);
        struct sched_limits l = none;
        struct sched_explanation x = { 0 };
        struct sched_job wide = others(1), j = job(2);
        unsigned fewer = 0;

        l.lists[SCHED_MIN_TRES_JOB].v = &four;
        l.lists[SCHED_MIN_TRES_JOB].n = 1;
        if (limited)
            set_qos(s, NORMAL, &l, 0);
        wide.num_tasks = 24; /* 6 on each node */
        wide.min_nodes = wide.max_nodes = wide.ntasks_per_node = 4;
        wide.ntasks_per_node = 6;
        assert_int_equal(sched_job_put(s, &wide), 0);
        assert_int_equal(said(s, 1, NOW), 1);
        j.num_tasks = 8;
        assert_int_equal(sched_job_put(s, &j), 0);
        assert_int_equal(said(s, 2, NOW), 0);
        assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0);
        for (uint32_t i = 0; i < x.nchanges; i++)
            fewer += x.changes[i].kind == CHANGE_TASKS;
        assert_int_equal(fewer, !limited);
        sched_explanation_done(&x);
        sched_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explained),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_set_by_operator),
        cmocka_unit_test(test_safe),
        cmocka_unit_test(test_safe_wall),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_usage_threshold),
        cmocka_unit_test(test_partition_flags),
        cmocka_unit_test(test_partition_memory),
        cmocka_unit_test(test_min_priority),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_het),
        cmocka_unit_test(test_billing_weights),
        cmocka_unit_test(test_run_minutes_pass),
        cmocka_unit_test(test_accrue),
        cmocka_unit_test(test_bad),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
