/* test_bound.c - what one request may cost: walks over ids in counted turns, and the queue of
 * the core in turns of users */
#include "model_util.h"

#include "base/sluid.h"
#include "base/strbuf.h"
#include "ctld/core/corequeue.h"
#include "ctld/job/jobwalk.h"
#include "ctld/front/ratelimit.h"
#include "model/depend.h"

/* ---- walks over ids -------------------------------------------------------------------------- */

#define ARRAY 1000000u
#define TASKS 20000u

/* An array whose tasks have all become jobs, as after a day of running. */
static struct cluster *array_world(void)
{
    struct cluster *c = new_cluster();

    for (uint32_t t = 0; t < TASKS; t++)
        add_task(c, ARRAY + t, ARRAY, t, NULL);
    return c;
}

struct walked {
    uint64_t units;
    uint32_t pauses, jobs, none, most; /* most: units of one turn */
    bool refused;
};

/* Walk it to its end, as op_action.c does it. */
static struct walked walk_all(struct cluster *c, char **texts, size_t n)
{
    struct walked out = { 0 };
    struct jobwalk w;
    struct job_ref ref;
    enum jobwalk_event e = JOBWALK_PAUSE;

    jobwalk_init(&w, c, texts, n);
    while (e != JOBWALK_END && e != JOBWALK_REFUSED) {
        e = jobwalk_next(&w, &ref);
        out.jobs += e == JOBWALK_JOB;
        out.none += e == JOBWALK_NONE;
        if (e == JOBWALK_JOB)
            budget_spend(&w.budget, BUDGET_CHANGE);
        out.most = MAX(out.most, w.budget.turn);
        if (e != JOBWALK_PAUSE)
            continue;
        out.pauses++;
        budget_next_turn(&w.budget);
    }
    out.units = w.budget.total;
    out.refused = e == JOBWALK_REFUSED;
    jobwalk_done(&w);
    return out;
}

/* `n` texts that `format` makes of the numbers from 0 on. */
static char **texts_of(const char *format, uint32_t n)
{
    char **texts = calloc(n, sizeof(*texts)), buf[64];

    assert_non_null(texts);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(buf, sizeof(buf), format, i);
        texts[i] = strdup(buf);
        assert_non_null(texts[i]);
    }
    return texts;
}

static struct walked walk_texts(struct cluster *c, const char *format, uint32_t n)
{
    char **texts = texts_of(format, n);
    struct walked w = walk_all(c, texts, n);

    for (uint32_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    return w;
}

/* The same expression a thousand times: each time its jobs count. */
static void test_repeated(void **state)
{
    struct cluster *c = array_world();
    struct walked w = walk_texts(c, "1000000_[0-499999]", 1000);

    (void)state;
    assert_true(w.refused);
    assert_true(w.jobs <= JOBWALK_JOBS_MAX + 1);
    assert_true(w.pauses > 0); /* others had their turns */
    assert_true(w.most < BUDGET_TURN + BUDGET_CHANGE + 2);
    w = walk_texts(c, "1000000_[0-499999]", 2);
    assert_false(w.refused);
    assert_int_equal(w.jobs, 2 * TASKS);
    assert_true(w.units < 2 * TASKS * (BUDGET_CHANGE + 2));
    cluster_free(c);
}

/* A thousand expressions that differ: in turns, and no more jobs than a request may name. */
static void test_varied(void **state)
{
    struct cluster *c = array_world();
    struct walked w = walk_texts(c, "1000000_[0-19999,%u]", 1000);

    (void)state;
    assert_true(w.refused);
    assert_true(w.jobs <= JOBWALK_JOBS_MAX + 1);
    assert_true(w.most < BUDGET_TURN + BUDGET_CHANGE + 2);
    cluster_free(c);
}

/* Expressions that hit nothing cost a look at each job: the request's budget ends them. */
static void test_misses(void **state)
{
    struct cluster *c = array_world();
    struct walked w = walk_texts(c, "1000000_[50000-3%06u]", 5000);

    (void)state;
    assert_true(w.refused);
    assert_int_equal(w.jobs, 0);
    assert_true(w.units < BUDGET_REQUEST + BUDGET_TURN);
    assert_true(w.most < BUDGET_TURN + TASKS / 64 + 100);
    cluster_free(c);
}

/* One task each: a look-up each, however large the array is. */
static void test_single_tasks(void **state)
{
    struct cluster *c = array_world();
    struct walked w = walk_texts(c, "1000000_%u", TASKS);

    (void)state;
    assert_int_equal(w.jobs, TASKS);
    assert_false(w.refused);
    assert_true(w.units < TASKS * (BUDGET_CHANGE + 8));
    w = walk_texts(c, "1000000_4%05u", TASKS);
    assert_int_equal(w.none, TASKS);
    assert_true(w.units < TASKS * 8);
    cluster_free(c);
}

/* Ten thousand SLUIDs that nobody has. */
static void test_unknown_sluids(void **state)
{
    struct cluster *c = array_world();
    char **texts = calloc(10000, sizeof(*texts));
    struct walked w;

    (void)state;
    assert_non_null(texts);
    for (uint32_t i = 0; i < 10000; i++) {
        texts[i] = malloc(SLUID_TEXT_SIZE);
        assert_non_null(texts[i]);
        (void)sluid_text(UINT64_C(1) << 60 | i, texts[i]);
    }
    w = walk_all(c, texts, 10000);
    assert_int_equal(w.none, 10000);
    assert_true(w.units < 10000 * 8);
    for (uint32_t i = 0; i < 10000; i++)
        free(texts[i]);
    free(texts);
    cluster_free(c);
}

/* Numbers in a text are no measure of its cost: the record holds two tasks. */
static void test_wide_steps(void **state)
{
    struct cluster *c = new_cluster();
    struct walked w;

    (void)state;
    add_task(c, 10, 10, -1, "3-4");
    w = walk_texts(c, "10_[0-4000000:2,1,%u]", 10);
    assert_int_equal(w.jobs, 10);
    assert_true(w.units < 10 * (BUDGET_CHANGE + 50));
    cluster_free(c);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void set_sluid(struct cluster *c, uint32_t id, uint64_t sluid)
{
    Pst__Transaction *tx = tx_new(T0);
    char text[SLUID_TEXT_SIZE];

    tx_job_patch(tx, EV(JOB_UPDATE), id)->sluid = tx_strdup(sluid_text(sluid, text));
    apply_ok(c, tx);
}

static void test_indexes(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    (void)state;
    add_task(c, 10, 10, -1, "2-5");
    add_task(c, 11, 10, 0, NULL);
    set_sluid(c, 11, 77);
    assert_ptr_equal(cluster_job_by_sluid(c, 77), cluster_job(c, 11));
    set_sluid(c, 11, 78); /* of its next run */
    assert_null(cluster_job_by_sluid(c, 77));
    assert_ptr_equal(cluster_job_by_sluid(c, 78), cluster_job(c, 11));
    assert_ptr_equal(cluster_array_task(c, 10, 0), cluster_job(c, 11));
    assert_ptr_equal(cluster_array_task(c, 10, 3), cluster_job(c, 10));
    assert_null(cluster_array_task(c, 10, 1));
    assert_null(cluster_array_task(c, 9, 0));
    tx = tx_new(T0); /* the record becomes its last task */
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 10), array_task_id, 5);
    tx_take_tasks(tx, "2-5");
    apply_ok(c, tx);
    assert_ptr_equal(cluster_array_task(c, 10, 5), cluster_job(c, 10));
    assert_null(cluster_array_task(c, 10, 3));
    end_job(c, 11, JOB_STATE(FAILED), T0, false);
    purge_job(c, 11);
    assert_null(cluster_array_task(c, 10, 0));
    assert_null(cluster_job_by_sluid(c, 78));
    cluster_free(c);
}

static void test_dependency_named_often(void **state)
{
    struct depends d;

    (void)state;
    assert_int_equal(depends_parse("aftercorr:5:5:5_1,afterok:5,aftercorr:5", &d, NULL), 0);
    assert_int_equal(d.n, 5);
    depends_uniq(&d);
    assert_int_equal(d.n, 3);
    depends_done(&d);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static bool put(struct core_queue *q, uid_t lane, uint16_t op, uint32_t bytes)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    cmd->kind = CMD_REQUEST;
    cmd->lane = lane;
    cmd->op = op;
    cmd->bytes = bytes;
    return core_queue_put(q, cmd);
}

/* What users wait for, as the core would take it: "7.1 8.1 7.2". */
static void assert_order(struct core_queue *q, const char *want)
{
    struct strbuf sb = STRBUF_INIT;
    struct cmd *cmd;

    while ((cmd = core_queue_next(q))) {
        strbuf_addf(&sb, "%s%u.%u", sb.len ? " " : "", cmd->lane, cmd->op);
        cmd_free(cmd);
    }
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

static void test_turns(void **state)
{
    struct core_queue *q;
    struct cmd *own;

    (void)state;
    assert_int_equal(core_queue_new(&q), 0);
    for (uint16_t i = 1; i <= 5; i++)
        assert_true(put(q, 7, i, 10)); /* a flood ... */
    assert_true(put(q, 8, 1, 10));     /* ... and those who come behind it */
    assert_true(put(q, 9, 1, 10));
    assert_true(put(q, 8, 2, 10));
    assert_true(put(q, 0, 1, 10));
    own = core_queue_take(q, 0);
    assert_non_null(own);
    assert_int_equal(own->lane, 0);
    assert_null(own->next);
    cmd_free_list(own);
    assert_order(q, "7.1 8.1 9.1 7.2 8.2 7.3 7.4 7.5");
    assert_null(core_queue_take(q, 0));
    assert_true(put(q, 9, 3, 10)); /* a lane is used again */
    assert_true(put(q, 7, 6, 10));
    assert_order(q, "9.3 7.6");
    core_queue_free(q);
}

/* One user fills his share and no more. */
static void test_shares(void **state)
{
    struct core_queue *q;
    uint32_t n = 0;

    (void)state;
    assert_int_equal(core_queue_new(&q), 0);
    while (n <= LANE_MAX && put(q, 7, 1, 10))
        n++;
    assert_int_equal(n, LANE_MAX);
    assert_true(put(q, 8, 1, UINT32_MAX)); /* one may always wait */
    assert_false(put(q, 8, 2, 1));         /* no more bytes */
    assert_true(put(q, 9, 1, LANE_BYTES));
    assert_true(put(q, 0, 1, UINT32_MAX));
    assert_true(put(q, 0, 2, UINT32_MAX));
    cmd_free(core_queue_next(q)); /* user 7's */
    assert_true(put(q, 7, 1, 10));
    core_queue_free(q);
}

/* ---- rl_enable ------------------------------------------------------------------------------- */

static void configure(struct ratelimit *rl, const char *line)
{
    char text[512];
    struct conf_text file = { "slurm.conf", text, 0 };
    struct conf *conf = NULL;
    struct err err = { .text = "" };

    (void)snprintf(text, sizeof(text), "ClusterName=test\nSlurmctldHost=localhost\n%s\n", line);
    file.len = strlen(text);
    if (conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, &err) < 0)
        print_error("# %s\n", err.text);
    assert_non_null(conf);
    ratelimit_configure(rl, conf);
    conf_free(conf);
}

/* Of `n` requests at this second, how many may? */
static unsigned admitted(struct ratelimit *rl, uid_t uid, unsigned n, int64_t second)
{
    unsigned may = 0;
    bool log;

    for (unsigned i = 0; i < n; i++)
        may += ratelimit_admit(rl, uid, second * SEC, &log);
    return may;
}

static void test_rate(void **state)
{
    struct ratelimit *rl;
    bool log;

    (void)state;
    assert_int_equal(ratelimit_new(&rl), 0);
    assert_int_equal(admitted(rl, 7, 1000, 1), 1000);
    configure(rl, "SlurmctldParameters=rl_enable");
    assert_int_equal(admitted(rl, 7, 1000, 100), 30); /* what Slurm's defaults say */
    assert_int_equal(admitted(rl, 7, 1000, 101), 2);
    assert_int_equal(admitted(rl, 8, 10, 101), 10);
    assert_int_equal(admitted(rl, 7, 1000, 1000), 30); /* no fuller than full */
    configure(
        rl,
        "SlurmctldParameters=rl_enable,rl_bucket_size=5,rl_refill_rate=3,rl_refill_period=10,rl_log_freq=60");
    assert_int_equal(admitted(rl, 7, 100, 2000), 5);
    assert_int_equal(admitted(rl, 7, 100, 2009), 0);
    assert_int_equal(admitted(rl, 7, 100, 2010), 3);
    assert_false(ratelimit_admit(rl, 7, 2011 * SEC, &log));
    assert_false(log); /* it was said eleven seconds ago */
    assert_int_equal(admitted(rl, 9, 5, 2011), 5);
    assert_false(ratelimit_admit(rl, 9, 2011 * SEC, &log));
    assert_true(log);
    configure(rl, "SlurmctldParameters=rl_enable,rl_table_size=1,rl_log_freq=-1");
    assert_int_equal(admitted(rl, 7, 100, 3000), 30);
    assert_false(ratelimit_admit(rl, 7, 3000 * SEC, &log));
    assert_false(log);
    configure(rl, "");
    assert_int_equal(admitted(rl, 7, 1000, 3000), 1000);
    ratelimit_free(rl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated),       cmocka_unit_test(test_varied),
        cmocka_unit_test(test_misses),         cmocka_unit_test(test_single_tasks),
        cmocka_unit_test(test_unknown_sluids), cmocka_unit_test(test_wide_steps),
        cmocka_unit_test(test_indexes),        cmocka_unit_test(test_dependency_named_often),
        cmocka_unit_test(test_turns),          cmocka_unit_test(test_shares),
        cmocka_unit_test(test_rate),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
