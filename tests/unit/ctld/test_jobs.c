/* test_jobs.c - the controller's small questions: GRES texts, ids as people write them, filters,
 * limits kept with the environment */
#include "model_util.h"

#include "base/strbuf.h"
#include "ctld/front/jobfilter.h"
#include "ctld/job/jobwalk.h"
#include "ctld/core/rlimits.h"
#include "feed/gresfeed.h"
#include "feed/records.h"

/* ---- GRES ------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    const char *name, *type; /* name NULL: refused */
    uint64_t count;
} gres[] = {
    { "gpu", "gpu", NULL, 1 },
    { "gpu:2", "gpu", NULL, 2 },
    { "gpu=2", "gpu", NULL, 2 },
    { "gres/gpu:2", "gpu", NULL, 2 },
    { "gres/gpu", "gpu", NULL, 1 },
    { "gpu:a100", "gpu", "a100", 1 },
    { "gpu:a100:2", "gpu", "a100", 2 },
    { "gres/gpu:a100:2", "gpu", "a100", 2 },
    { "gres/gpu:a100=2", "gpu", "a100", 2 },
    { "shard:1k", "shard", NULL, 1024 },
    { "bandwidth:2m", "bandwidth", NULL, 2 << 20 },
    { "gpu:0", "gpu", NULL, 0 },
    { "gpu:a100:0", "gpu", "a100", 0 },
    { "", NULL, NULL, 0 },
    { ":2", NULL, NULL, 0 },
    { "gres/", NULL, NULL, 0 },
    { "gpu:", NULL, NULL, 0 },
    { "license/x", NULL, NULL, 0 },
    { "bandwidth:lustre:no_consume:4G", "bandwidth", "lustre", UINT64_C(4) << 30 },
};

static void test_gres(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gres); i++) {
        char word[64];
        struct gres_text g;
        bool ok;

        (void)snprintf(word, sizeof(word), "%s", gres[i].text);
        ok = gres_text_parse(word, &g);
        if (ok != (gres[i].name != NULL))
            print_error("# %s\n", gres[i].text);
        assert_int_equal(ok, gres[i].name != NULL);
        if (!ok)
            continue;
        assert_string_equal(g.name, gres[i].name);
        assert_int_equal(g.type == NULL, gres[i].type == NULL);
        if (g.type)
            assert_string_equal(g.type, gres[i].type);
        assert_int_equal(g.count, gres[i].count);
    }
}

/* ---- ids ------------------------------------------------------------------------------------- */

struct hits {
    struct strbuf sb;
    struct ctld *ctld;
    bool take; /* each task is split off, as an update does it */
};

static void note(void *ctx, const struct job_ref *ref)
{
    struct hits *h = ctx;

    strbuf_addf(&h->sb, "%s%u", h->sb.len ? " " : "", ref->job->rec->job_id);
    if (ref->tasks)
        strbuf_addf(&h->sb, "_%s", ref->tasks);
    if (ref->has_step)
        strbuf_addf(&h->sb, ".%u", ref->step);
}

/* Jobs 5, 6; array 10 with tasks 2-4 still inside, 0 as job 11, 1 as job 12; array 20 with its last
 * task, 9. */
static struct cluster *id_world(void)
{
    struct cluster *c = new_cluster();

    add_job(c, 5);
    add_job(c, 6);
    add_task(c, 10, 10, -1, "2-4");
    add_task(c, 11, 10, 0, NULL);
    add_task(c, 12, 10, 1, NULL);
    add_task(c, 20, 20, 9, NULL);
    return c;
}

static const struct {
    const char *id;
    int code;
    const char *hits;
} ids[] = {
    { "5", 0, "5" },
    { "5.0", 0, "5.0" },
    { "5.batch", 0, "5.4294967291" },
    { "5.extern", 0, "5.4294967292" },
    { "10", 0, "10 11 12" },
    { "10_*", 0, "10 11 12" },
    { "11", 0, "11" },
    { "10_0", 0, "11" },
    { "10_[0]", 0, "11" },
    { "10_[0-1]", 0, "11 12" },
    { "10_3", 0, "10_3" },
    { "10_[0-4]", 0, "11 12 10_2-4" },
    { "10_[1,4]", 0, "12 10_4" },
    { "10_[0-9:3]", 0, "11 10_3" },
    { "10_[3-4000000]", 0, "10_3-4" },
    { "10_0.1", 0, "11.1" },
    { "20", 0, "20" },
    { "20_9", 0, "20" },
    { "20_8", ESLURM_INVALID_JOB_ID, "" },
    { "10_7", ESLURM_INVALID_JOB_ID, "" },
    { "5_1", ESLURM_INVALID_JOB_ID, "" },
    { "99", ESLURM_INVALID_JOB_ID, "" },
    { "0", ESLURM_INVALID_JOB_ID, "" },
    { "", ESLURM_INVALID_JOB_ID, "" },
    { "x", ESLURM_INVALID_JOB_ID, "" },
    { "5x", ESLURM_INVALID_JOB_ID, "" },
    { "-5", ESLURM_INVALID_JOB_ID, "" },
    { " 5", ESLURM_INVALID_JOB_ID, "" },
    { "5.", ESLURM_INVALID_JOB_ID, "" },
    { "5.x", ESLURM_INVALID_JOB_ID, "" },
    { "5.0.1", ESLURM_INVALID_JOB_ID, "" },
    { "10_", ESLURM_INVALID_JOB_ID, "" },
    { "10_[1", ESLURM_INVALID_JOB_ID, "" },
    { "10_[1]2", ESLURM_INVALID_JOB_ID, "" },
    { "10_1]", ESLURM_INVALID_JOB_ID, "" },
    { "10_[]", ESLURM_INVALID_JOB_ID, "" },
    { "4294967295", ESLURM_INVALID_JOB_ID, "" },
    { "99999999999999999999999", ESLURM_INVALID_JOB_ID, "" },
};

/* Every job that the text names, as a request with it alone walks them. */
static int jobs_resolve(struct ctld *ctld, const char *id,
                        void (*fn)(void *ctx, const struct job_ref *ref), void *ctx)
{
    struct jobwalk w;
    struct job_ref ref;
    enum jobwalk_event e;
    char *text = (char *)id;
    int code = 0;

    jobwalk_init(&w, ctld->cluster, &text, 1);
    while ((e = jobwalk_next(&w, &ref)) == JOBWALK_JOB)
        fn(ctx, &ref);
    if (e == JOBWALK_NONE)
        code = w.code;
    assert_true(e == JOBWALK_NONE || e == JOBWALK_END);
    jobwalk_done(&w);
    return code;
}

static void test_resolve(void **state)
{
    struct cluster *c = id_world();
    struct ctld ctld = { .cluster = c };
    char longest[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        struct hits h = { .sb = STRBUF_INIT };
        int code = jobs_resolve(&ctld, ids[i].id, note, &h);

        if (code != ids[i].code)
            print_error("# %s\n", ids[i].id);
        assert_int_equal(code, ids[i].code);
        assert_string_equal(strbuf_str(&h.sb), ids[i].hits);
        strbuf_done(&h.sb);
    }
    memset(longest, '1', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(jobs_resolve(&ctld, longest, note, NULL), ESLURM_INVALID_JOB_ID);
    cluster_free(c);
}

/* What the callback does to the array: the tasks leave it and become an array of their own. */
static void split(void *ctx, const struct job_ref *ref)
{
    struct hits *h = ctx;
    struct cluster *c = h->ctld->cluster;
    Pst__Transaction *tx = tx_new(T0);

    note(ctx, ref);
    (void)tx_job_patch(tx, EV(JOB_UPDATE), ref->job->rec->job_id);
    tx_take_tasks(tx, ref->tasks);
    add_task(c, 100, 10, -1, ref->tasks);
    apply_ok(c, tx);
}

static void test_resolve_while_it_splits(void **state)
{
    struct cluster *c = id_world();
    struct ctld ctld = { .cluster = c };
    struct hits h = { .sb = STRBUF_INIT, .ctld = &ctld };

    (void)state;
    assert_int_equal(jobs_resolve(&ctld, "10_[2-3]", split, &h), 0);
    assert_string_equal(strbuf_str(&h.sb), "10_2-3");
    assert_string_equal(cluster_job(c, 10)->rec->array_tasks, "4");
    assert_string_equal(cluster_job(c, 100)->rec->array_tasks, "2-3");
    strbuf_done(&h.sb);
    cluster_free(c);
}

static void purge_ref(void *ctx, const struct job_ref *ref)
{
    struct hits *h = ctx;

    note(ctx, ref);
    purge_job(h->ctld->cluster, ref->job->rec->job_id);
}

static void test_resolve_while_they_go(void **state)
{
    struct cluster *c = id_world();
    struct ctld ctld = { .cluster = c };
    struct hits h = { .sb = STRBUF_INIT, .ctld = &ctld };

    (void)state;
    assert_int_equal(jobs_resolve(&ctld, "10", purge_ref, &h), 0);
    assert_string_equal(strbuf_str(&h.sb), "10 11 12");
    strbuf_done(&h.sb);
    cluster_free(c);
}

static void test_array_running(void **state)
{
    struct cluster *c = id_world();
    struct ctld ctld = { .cluster = c };

    (void)state;
    add_nodes(c, 1, 8);
    assert_int_equal(jobs_array_running(&ctld, 10), 0);
    start_job(c, 11, make_alloc(0, 1, 1, 0), T0);
    start_job(c, 12, make_alloc(0, 1, 1, 0), T0);
    set_state(c, 12, JOB_STATE(SUSPENDED), 0);
    assert_int_equal(jobs_array_running(&ctld, 10), 2);
    end_job(c, 11, JOB_STATE(COMPLETED), T0, false);
    assert_int_equal(jobs_array_running(&ctld, 10), 1);
    assert_int_equal(jobs_array_running(&ctld, 99), 0);
    cluster_free(c);
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool jobs_match(const struct ctld *ctld, const struct job *j, const Pst__JobFilter *f)
{
    struct jobfilter *made = NULL;
    bool hit;

    (void)ctld;
    assert_int_equal(jobfilter_new(f, &made, NULL), 0);
    hit = jobfilter_match(made, j->rec);
    jobfilter_free(made);
    return hit;
}

/* Lists that stand in ranges of ids are found however they are ordered. */
static void test_match_ranges(void **state)
{
    uint32_t wanted[] = { 900, 5, 70, 5 };
    Pst__JobFilter f = PST__JOB_FILTER__INIT;
    struct jobfilter *made = NULL;

    (void)state;
    assert_true(jobfilter_range(NULL, 1, 2)); /* no filter: everything */
    assert_false(jobfilter_few(NULL));
    assert_int_equal(jobfilter_new(&f, &made, NULL), 0);
    assert_true(jobfilter_range(made, 1, 2));
    assert_false(jobfilter_few(made));
    made = jobfilter_free(made);
    f.job_ids = wanted;
    f.n_job_ids = ARRAY_SIZE(wanted);
    assert_int_equal(jobfilter_new(&f, &made, NULL), 0);
    assert_true(jobfilter_few(made));
    assert_false(jobfilter_range(made, 0, 4));
    assert_true(jobfilter_range(made, 0, 5));
    assert_true(jobfilter_range(made, 5, 5));
    assert_false(jobfilter_range(made, 6, 69));
    assert_true(jobfilter_range(made, 6, 1000));
    assert_true(jobfilter_range(made, 900, UINT32_MAX));
    assert_false(jobfilter_range(made, 901, UINT32_MAX));
    made = jobfilter_free(made);
}

static void test_match(void **state)
{
    struct cluster *c = new_cluster();
    struct ctld ctld = { .cluster = c };
    Pst__JobFilter f = PST__JOB_FILTER__INIT;
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, 7);
    uint32_t number;
    char *word;
    struct job *j;

    (void)state;
    r->partition = tx_strdup("debug,batch");
    r->account = tx_strdup("acct");
    r->qos = tx_strdup("normal");
    SET(r, array_job_id, 6);
    SET(r, array_task_id, 1);
    apply_ok(c, tx);
    add_nodes(c, 4, 8);
    j = cluster_job(c, 7);
#define NUMBER(field, value, want)                                                                 \
    do {                                                                                           \
        number = (value);                                                                          \
        f.field = &number;                                                                         \
        f.n_##field = 1;                                                                           \
        assert_int_equal(jobs_match(&ctld, j, &f), want);                                          \
        f.field = NULL;                                                                            \
        f.n_##field = 0;                                                                           \
    } while (0)
#define WORD(field, value, want)                                                                   \
    do {                                                                                           \
        word = (char *)(value);                                                                    \
        f.field = &word;                                                                           \
        f.n_##field = 1;                                                                           \
        assert_int_equal(jobs_match(&ctld, j, &f), want);                                          \
        f.field = NULL;                                                                            \
        f.n_##field = 0;                                                                           \
    } while (0)
    assert_true(jobs_match(&ctld, j, &f));
    NUMBER(job_ids, 7, true);
    NUMBER(job_ids, 6, true); /* the array's */
    NUMBER(job_ids, 8, false);
    NUMBER(uids, 1000, true);
    NUMBER(uids, 0, false);
    NUMBER(states, JOB_STATE(PENDING), true);
    NUMBER(states, JOB_STATE(RUNNING), false);
    WORD(partitions, "debug", true);
    WORD(partitions, "batch", true);
    WORD(partitions, "deb", false);
    WORD(names, "job", true);
    WORD(names, "jo", false);
    WORD(accounts, "acct", true);
    WORD(accounts, "other", false);
    WORD(qos, "normal", true);
    WORD(qos, "high", false);
    WORD(accounts, "ACCT", false);
    SET(&f, names_any_case, true);
    WORD(names, strdupa("JOB"), true); /* lowered in place */
    WORD(accounts, strdupa("ACCT"), true);
    WORD(accounts, strdupa("OTHER"), false);
    WORD(qos, strdupa("Normal"), true);
    WORD(partitions, strdupa("DEBUG"), false); /* of these it matters */
    f.has_names_any_case = f.names_any_case = false;
    WORD(reservations, "r", false); /* has none */
    f.nodes = (char *)"n[0-1]";
    assert_false(jobs_match(&ctld, j, &f));
    {
        Pst__Alloc *a = make_alloc(1, 2, 1, 0);

        a->nodes = tx_strdup("n[1-2]");
        start_job(c, 7, a, T0);
    }
    assert_true(jobs_match(&ctld, j, &f));
    f.nodes = (char *)"n3,n0";
    assert_false(jobs_match(&ctld, j, &f));
    f.nodes = (char *)"n[";
    {
        struct jobfilter *made = NULL;

        assert_int_equal(jobfilter_new(&f, &made, NULL), -EINVAL);
    }
    f.nodes = NULL;
    end_job(c, 7, JOB_STATE(FAILED), T0, false);
    NUMBER(states, JOB_STATE(RUNNING), false);
    SET(&f, include_completing, true);
    NUMBER(states, JOB_STATE(RUNNING), true);
    clean_job(c, 7);
    NUMBER(states, JOB_STATE(RUNNING), false);
    NUMBER(states, JOB_STATE(FAILED), true);
    cluster_free(c);
}

static void test_in_partition(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    assert_false(jobs_in_partition(&r, "a"));
    r.partition = (char *)"ab,b,cd";
    assert_true(jobs_in_partition(&r, "ab"));
    assert_true(jobs_in_partition(&r, "b"));
    assert_true(jobs_in_partition(&r, "cd"));
    assert_false(jobs_in_partition(&r, "a"));
    assert_false(jobs_in_partition(&r, "c"));
    assert_false(jobs_in_partition(&r, "d"));
}

static void test_node_usable(void **state)
{
    static const uint32_t bad[] = {
        PST__NODE_FLAG__NODE_FLAG_DRAIN,         PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING,
        PST__NODE_FLAG__NODE_FLAG_FAIL,          PST__NODE_FLAG__NODE_FLAG_MAINTENANCE,
        PST__NODE_FLAG__NODE_FLAG_REBOOT_ISSUED, PST__NODE_FLAG__NODE_FLAG_INVALID_REG,
        PST__NODE_FLAG__NODE_FLAG_POWERING_DOWN
    };
    Pst__NodeRecord r = PST__NODE_RECORD__INIT;

    (void)state;
    assert_true(feed_node_usable(&r));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        SET(&r, state_flags, 1u << bad[i]);
        assert_false(feed_node_usable(&r));
    }
    SET(&r, state_flags,
        1u << PST__NODE_FLAG__NODE_FLAG_CLOUD | 1u << PST__NODE_FLAG__NODE_FLAG_RESERVED |
            1u << PST__NODE_FLAG__NODE_FLAG_REBOOT_REQUESTED); /* until it is idle */
    assert_true(feed_node_usable(&r));
    SET(&r, state, PST__NODE_STATE__NODE_IDLE);
    assert_false(feed_node_serves(&r, false));
    assert_true(feed_node_serves(&r, true));
    SET(&r, state_flags, 1u << PST__NODE_FLAG__NODE_FLAG_POWERED_DOWN);
    assert_true(feed_node_serves(&r, false)); /* powered up for the job */
    SET(&r, state_flags,
        1u << PST__NODE_FLAG__NODE_FLAG_POWERING_UP |
            1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING);
    assert_true(feed_node_serves(&r, false));
}

/* ---- limits in the environment --------------------------------------------------------------- */

static void add_limit(Pst__JobRecord *r, const char *name, uint64_t soft)
{
    Pst__Rlimit *l = malloc(sizeof(*l));

    assert_non_null(l);
    pst__rlimit__init(l);
    l->name = tx_strdup(name);
    SET(l, soft, soft);
    r->rlimits = realloc(r->rlimits, (r->n_rlimits + 1) * sizeof(Pst__Rlimit *));
    r->rlimits[r->n_rlimits++] = l;
}

static void test_limits(void **state)
{
    static const char env[] = "A=1\0SLURM_RLIMIT=no\0B=";
    ProtobufCBinaryData rest = { 0 };
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    add_limit(&r, "NOFILE", 1024);
    add_limit(&r, "STACK", UINT64_MAX);
    add_limit(&r, "BAD=NAME", 1); /* left out */
    limits_add(&r, &sb);
    strbuf_addn(&sb, env, sizeof(env));
    limits_done(&r);
    assert_int_equal(r.n_rlimits, 0);
    limits_split((const uint8_t *)sb.buf, sb.len, &r, &rest);
    assert_int_equal(r.n_rlimits, 2);
    assert_string_equal(r.rlimits[0]->name, "NOFILE");
    assert_int_equal(r.rlimits[0]->soft, 1024);
    assert_true(r.rlimits[1]->soft == UINT64_MAX);
    assert_int_equal(rest.len, sizeof(env));
    assert_memory_equal(rest.data, env, sizeof(env));
    limits_done(&r);
    strbuf_reset(&sb);
    limits_add(&r, &sb);
    assert_int_equal(sb.len, 0);
    strbuf_done(&sb);
    /* Bytes that are no entries. */
    limits_split((const uint8_t *)"SLURM_RLIMIT_X=1", 16, &r, &rest); /* does not end */
    assert_int_equal(r.n_rlimits, 0);
    assert_int_equal(rest.len, 16);
    limits_split((const uint8_t *)"SLURM_RLIMIT_X=y\0", 17, &r, &rest);
    assert_int_equal(r.n_rlimits, 0);
    assert_int_equal(rest.len, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gres),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_resolve_while_it_splits),
        cmocka_unit_test(test_resolve_while_they_go),
        cmocka_unit_test(test_array_running),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_match_ranges),
        cmocka_unit_test(test_in_partition),
        cmocka_unit_test(test_node_usable),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
