/* test_depend.c - job dependencies: grammar, evaluation against every state of a target, arrays,
 * cycles */
#include "model_util.h"

#include "base/strbuf.h"
#include "model/depend.h"

/* ---- grammar --------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *stored; /* NULL: refused */
    size_t n;
    bool any;
} grammar[] = {
    { "", "", 0, false },
    { "12", "afterany:12(unfulfilled)", 1, false },
    { "12_3", "afterany:12_3(unfulfilled)", 1, false },
    { "afterok:12", "afterok:12(unfulfilled)", 1, false },
    { "AfterOK:12", "afterok:12(unfulfilled)", 1, false },
    { "afterok:12:13_4", "afterok:12(unfulfilled),afterok:13_4(unfulfilled)", 2, false },
    { "afterok:12_*", "afterok:12_*(unfulfilled)", 1, false },
    { "after:5", "after:5(unfulfilled)", 1, false },
    { "after:5+30", "after:5+30(unfulfilled)", 1, false },
    { "after:5_1+30:6", "after:5_1+30(unfulfilled),after:6(unfulfilled)", 2, false },
    { "after:5+0", NULL, 0, false },
    { "afterok: 5", "afterok:5(unfulfilled)", 1, false },
    { "afterok:5_[1-2]", "afterok:5_1(unfulfilled),afterok:5_2(unfulfilled)", 2, false },
    { "afterok:5_[2-1]", NULL, 0, false },
    { "afterok:5_[0-4000000000]", NULL, 0, false },
    { "afterany:1,afternotok:2", "afterany:1(unfulfilled),afternotok:2(unfulfilled)", 2, false },
    { "afterany:1?afternotok:2", "afterany:1(unfulfilled)?afternotok:2(unfulfilled)", 2, true },
    { "afterok:1:2?3", "afterok:1(unfulfilled)?afterok:2(unfulfilled)?afterany:3(unfulfilled)", 3,
      true },
    { "aftercorr:9", "aftercorr:9(unfulfilled)", 1, false },
    { "afterburstbuffer:9", "afterburstbuffer:9(unfulfilled)", 1, false },
    { "singleton", "singleton(unfulfilled)", 1, false },
    { "afterok:4,singleton", "afterok:4(unfulfilled),singleton(unfulfilled)", 2, false },
    { "afterok:4(unfulfilled)", "afterok:4(unfulfilled)", 1, false },
    { "afterok:4(failed),5", "afterok:4(failed),afterany:5(unfulfilled)", 2, false },
    { "singleton(failed)", "singleton(failed)", 1, false },
    { "after:5+3(failed)", "after:5+3(failed)", 1, false },
    { "afterok", NULL, 0, false },
    { "afterok:", NULL, 0, false },
    { "afterok:0", NULL, 0, false },
    { "afterok:x", NULL, 0, false },
    { "afterok:1:", NULL, 0, false },
    { "afterok:-1", NULL, 0, false },
    { "afterok:1_", NULL, 0, false },
    { "afterok:1_x", NULL, 0, false },
    { "afterok:1+5", "afterok:1+5(unfulfilled)", 1, false },
    { "after:1+", NULL, 0, false },
    { "after:1+x", NULL, 0, false },
    { "after", NULL, 0, false },
    { "nosuch:1", NULL, 0, false },
    { "afterokk:1", NULL, 0, false },
    { "singleton:1", NULL, 0, false },
    { "1,2?3", NULL, 0, false },
    { "1?2,3", NULL, 0, false },
    { "1,", NULL, 0, false },
    { ",1", NULL, 0, false },
    { "1,,2", NULL, 0, false },
    { "?", NULL, 0, false },
    { "1 ", NULL, 0, false },
    { "afterok:4(bad)", NULL, 0, false },
    { "afterok:4(failed", NULL, 0, false },
    { "4294967295", NULL, 0, false },
    { "99999999999999999999999", NULL, 0, false },
};

static void test_grammar(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(grammar); i++) {
        _cleanup_free_ char *stored = NULL;
        struct depends d = { 0 }, again = { 0 };
        struct err err = { .text = "" };
        int r = depends_parse(grammar[i].text, &d, &err);

        if ((r == 0) != (grammar[i].stored != NULL))
            print_error("# %s\n", grammar[i].text);
        if (!grammar[i].stored) {
            assert_int_equal(r, -EINVAL);
            assert_string_equal(err.text, "Job dependency problem");
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(d.n, grammar[i].n);
        assert_int_equal(d.any, grammar[i].any);
        assert_int_equal(depends_format(&d, &stored), 0);
        assert_string_equal(stored, grammar[i].stored);
        /* What is stored reads as the same. */
        assert_int_equal(depends_parse(stored, &again, NULL), 0);
        assert_int_equal(again.n, d.n);
        assert_int_equal(again.any, d.any);
        for (size_t k = 0; k < d.n; k++) {
            assert_int_equal(again.items[k].type, d.items[k].type);
            assert_int_equal(again.items[k].job_id, d.items[k].job_id);
            assert_int_equal(again.items[k].has_task, d.items[k].has_task);
            assert_int_equal(again.items[k].task, d.items[k].task);
            assert_int_equal(again.items[k].whole_array, d.items[k].whole_array);
            assert_int_equal(again.items[k].delay_min, d.items[k].delay_min);
            assert_int_equal(again.items[k].failed, d.items[k].failed);
        }
        depends_done(&d);
        depends_done(&again);
    }
}

static void test_too_many(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct depends d = { 0 };

    (void)state;
    strbuf_add(&sb, "afterok");
    for (unsigned i = 0; i < DEPEND_MAX_ITEMS; i++)
        strbuf_addf(&sb, ":%u", i + 1);
    assert_int_equal(depends_parse(strbuf_str(&sb), &d, NULL), 0);
    assert_int_equal(d.n, DEPEND_MAX_ITEMS);
    depends_done(&d);
    strbuf_add(&sb, ":7");
    assert_int_equal(depends_parse(strbuf_str(&sb), &d, NULL), -E2BIG);
    strbuf_done(&sb);
}

/* ---- evaluation: one target in each state ---------------------------------------------------- */

#define TARGET 10u
#define WAITER 20u
#define NOW (T0 + 600 * SEC)

enum target_is {
    ABSENT,
    PENDING,
    HELD,
    RUNNING,
    SUSPENDED,
    DONE,
    DONE_COMPLETING,
    FAILED,
    FAILED_COMPLETING,
    CANCELLED_PENDING,
    TIMED_OUT,
    NODE_FAILED,
    REQUEUEING
};

static void make_target(struct cluster *c, enum target_is is)
{
    static const Pst__JobState ends[] = {
        [DONE] = JOB_STATE(COMPLETED),    [DONE_COMPLETING] = JOB_STATE(COMPLETED),
        [FAILED] = JOB_STATE(FAILED),     [FAILED_COMPLETING] = JOB_STATE(FAILED),
        [TIMED_OUT] = JOB_STATE(TIMEOUT), [NODE_FAILED] = JOB_STATE(NODE_FAIL),
    };

    if (is == ABSENT)
        return;
    add_job(c, TARGET);
    if (is == PENDING || is == HELD)
        return;
    if (is == CANCELLED_PENDING) {
        end_job(c, TARGET, JOB_STATE(CANCELLED), T0 + 100 * SEC, true);
        return;
    }
    start_job(c, TARGET, make_alloc(0, 1, 1, 100), T0 + 60 * SEC);
    if (is == SUSPENDED)
        set_state(c, TARGET, JOB_STATE(SUSPENDED), 0);
    else if (is == REQUEUEING) {
        end_job(c, TARGET, JOB_STATE(CANCELLED), T0 + 100 * SEC, false);
        set_state(c, TARGET, JOB_STATE(CANCELLED), JOB_FLAG(COMPLETING) | JOB_FLAG(REQUEUED));
    } else if (is != RUNNING)
        end_job(c, TARGET, ends[is], T0 + 100 * SEC,
                is != DONE_COMPLETING && is != FAILED_COMPLETING);
}

#define MET DEPEND_MET
#define WAIT DEPEND_WAIT
#define NEVER DEPEND_NEVER

static const struct {
    const char *text;
    enum target_is is;
    enum depend_result want;
} evaluation[] = {
    { "after:10", ABSENT, MET },
    { "after:10", PENDING, WAIT },
    { "after:10", RUNNING, MET },
    { "after:10", SUSPENDED, MET },
    { "after:10", DONE, MET },
    { "after:10", CANCELLED_PENDING, MET },
    { "after:10", FAILED, MET },
    { "after:10", REQUEUEING, MET },
    { "after:10+8", RUNNING, MET }, /* started nine minutes ago */
    { "after:10+9", RUNNING, MET },
    { "after:10+10", RUNNING, WAIT },
    { "after:10+10", CANCELLED_PENDING, MET }, /* never started: nothing to count from */
    { "after:10+10", ABSENT, MET },
    { "afterany:10", ABSENT, MET },
    { "afterany:10", PENDING, WAIT },
    { "afterany:10", RUNNING, WAIT },
    { "afterany:10", SUSPENDED, WAIT },
    { "afterany:10", DONE, MET },
    { "afterany:10", DONE_COMPLETING, WAIT },
    { "afterany:10", FAILED, MET },
    { "afterany:10", FAILED_COMPLETING, WAIT },
    { "afterany:10", CANCELLED_PENDING, MET },
    { "afterany:10", REQUEUEING, WAIT },
    { "afterburstbuffer:10", RUNNING, WAIT },
    { "afterburstbuffer:10", FAILED, MET },
    { "afterok:10", ABSENT, NEVER },
    { "afterok:10", PENDING, WAIT },
    { "afterok:10", RUNNING, WAIT },
    { "afterok:10", DONE, MET },
    { "afterok:10", DONE_COMPLETING, WAIT },
    { "afterok:10", FAILED, NEVER },
    { "afterok:10", FAILED_COMPLETING, NEVER }, /* known before it is clean */
    { "afterok:10", CANCELLED_PENDING, NEVER },
    { "afterok:10", TIMED_OUT, NEVER },
    { "afterok:10", NODE_FAILED, NEVER },
    { "afterok:10", REQUEUEING, WAIT }, /* it runs again */
    { "afternotok:10", ABSENT, NEVER },
    { "afternotok:10", PENDING, WAIT },
    { "afternotok:10", RUNNING, WAIT },
    { "afternotok:10", DONE, NEVER },
    { "afternotok:10", FAILED, MET },
    { "afternotok:10", FAILED_COMPLETING, WAIT },
    { "afternotok:10", CANCELLED_PENDING, MET },
    { "afternotok:10", TIMED_OUT, MET },
    { "afternotok:10", REQUEUEING, WAIT },
    { "aftercorr:10", PENDING, WAIT },
    { "aftercorr:10", DONE, MET },
    { "aftercorr:10", FAILED, NEVER },
    { "aftercorr:10", ABSENT, MET },
    { "afterok:10(failed)", DONE, NEVER }, /* a mark stays, whatever happens to the target later */
    { "afterany:10,afterok:10", DONE, MET },
    { "afterany:10,afterok:10", FAILED, NEVER },
    { "afterany:10,afterok:10", RUNNING, WAIT },
    { "afterok:10?afternotok:10", RUNNING, WAIT },
    { "afterok:10?afternotok:10", DONE, MET },
    { "afterok:10?afternotok:10", FAILED, MET },
    { "afterok:10?afterok:11", FAILED, NEVER },
    { "afterok:10(failed)?afterany:10", RUNNING, WAIT },
};

static struct cluster *world(enum target_is is)
{
    struct cluster *c = new_cluster();

    add_nodes(c, 2, 4);
    make_target(c, is);
    add_job(c, WAITER);
    return c;
}

static void test_evaluation(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(evaluation); i++) {
        struct cluster *c = world(evaluation[i].is);
        struct depends d = { 0 };
        bool changed, again;
        int64_t until;
        enum depend_result r;

        assert_int_equal(depends_parse(evaluation[i].text, &d, NULL), 0);
        r = depends_eval(&d, c, cluster_job(c, WAITER), NOW, &changed, &until);
        if (r != evaluation[i].want)
            print_error("# %s, target %d\n", evaluation[i].text, (int)evaluation[i].is);
        assert_int_equal(r, evaluation[i].want);
        assert_true(r != MET || (changed && d.n == 0));
        /* Asked again nothing changes but what is met for good. */
        assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), NOW, &again, &until),
                         evaluation[i].want);
        assert_false(again);
        depends_done(&d);
        cluster_free(c);
    }
}

static void test_delay(void **state)
{
    struct cluster *c = world(RUNNING); /* since T0 + 60 s */
    struct depends d = { 0 };
    bool changed;
    int64_t until;

    (void)state;
    assert_int_equal(depends_parse("after:10+10,after:10+20", &d, NULL), 0);
    assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), NOW, &changed, &until), WAIT);
    assert_false(changed);
    assert_int_equal(until, T0 + 660 * SEC);
    assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), until, &changed, &until), WAIT);
    assert_true(changed);
    assert_int_equal(d.n, 1);
    assert_int_equal(until, T0 + 1260 * SEC);
    assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), until, &changed, &until), MET);
    assert_int_equal(until, INT64_MAX);
    depends_done(&d);
    cluster_free(c);
}

/* What is satisfied goes, what failed is marked, the rest stays in order. */
static void test_text_of_the_rest(void **state)
{
    struct cluster *c = world(DONE);
    struct depends d = { 0 };
    char *text = NULL;
    bool changed;
    int64_t until;

    (void)state;
    add_job(c, 11);
    assert_int_equal(depends_parse("afterok:10,afterok:11,afternotok:10,singleton", &d, NULL), 0);
    assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), NOW, &changed, &until), NEVER);
    assert_true(changed);
    assert_int_equal(depends_format(&d, &text), 0);
    assert_string_equal(text,
                        "afterok:11(unfulfilled),afternotok:10(failed),singleton(unfulfilled)");
    free(text);
    depends_done(&d);
    cluster_free(c);
}

static void test_singleton(void **state)
{
    struct cluster *c = new_cluster();
    struct depends d = { 0 };
    bool changed;
    int64_t until;
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    add_nodes(c, 2, 4);
    assert_int_equal(pb_set_str(&put_job(tx, 5)->name, "other"), 0);
    SET(put_job(tx, 6), uid, 2000);
    put_job(tx, WAITER);
    put_job(tx, 30); /* submitted later, pending: does not count */
    apply_ok(c, tx);
#define EVAL()                                                                                     \
    (depends_parse("singleton", &d, NULL), /* each time anew: what is met goes */                  \
     depends_eval(&d, c, cluster_job(c, WAITER), NOW, &changed, &until))
    assert_int_equal(EVAL(), MET);
    depends_done(&d);
    start_job(c, 30, make_alloc(0, 1, 1, 0), T0);
    assert_int_equal(EVAL(), WAIT);
    depends_done(&d);
    end_job(c, 30, JOB_STATE(FAILED), T0, true);
    assert_int_equal(EVAL(), MET);
    depends_done(&d);
    add_job(c, 7); /* before it in the queue */
    assert_int_equal(EVAL(), WAIT);
    depends_done(&d);
    purge_job(c, 7);
    assert_int_equal(EVAL(), MET);
    depends_done(&d);
    cluster_free(c);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Array 100: task 0 ran (id 101), task 1 runs (102), tasks 2-3 are in the record. */
static struct cluster *array_world(Pst__JobState first)
{
    struct cluster *c = new_cluster();

    add_nodes(c, 4, 4);
    add_task(c, 100, 100, -1, "2-3");
    add_task(c, 101, 100, 0, NULL);
    add_task(c, 102, 100, 1, NULL);
    start_job(c, 101, make_alloc(0, 1, 1, 0), T0 + 60 * SEC);
    start_job(c, 102, make_alloc(1, 1, 1, 0), T0 + 120 * SEC);
    end_job(c, 101, first, T0 + 100 * SEC, true);
    add_job(c, WAITER);
    return c;
}

static enum depend_result eval_as(struct cluster *c, const char *text, uint32_t waiter)
{
    struct depends d = { 0 };
    bool changed;
    int64_t until;
    enum depend_result r;

    assert_int_equal(depends_parse(text, &d, NULL), 0);
    r = depends_eval(&d, c, cluster_job(c, waiter), NOW, &changed, &until);
    depends_done(&d);
    return r;
}

static enum depend_result eval(struct cluster *c, const char *text)
{
    return eval_as(c, text, WAITER);
}

static void test_array_targets(void **state)
{
    struct cluster *c = array_world(JOB_STATE(COMPLETED));

    (void)state;
    assert_int_equal(eval(c, "afterok:100_0"), MET);
    assert_int_equal(eval(c, "afterok:100_1"), WAIT);
    assert_int_equal(eval(c, "afterok:100_2"), WAIT);
    assert_int_equal(eval(c, "afterok:100_9"), NEVER);
    assert_int_equal(eval(c, "afterany:100_9"), MET);
    assert_int_equal(eval(c, "after:100_1"), MET);
    assert_int_equal(eval(c, "after:100_1+9"), WAIT); /* eight minutes ago */
    assert_int_equal(eval(c, "after:100_2"), WAIT);
    assert_int_equal(eval(c, "after:100"), WAIT); /* all tasks must have started */
    assert_int_equal(eval(c, "afterany:100"), WAIT);
    assert_int_equal(eval(c, "afterok:100"), WAIT);
    assert_int_equal(eval(c, "afternotok:100"), WAIT);
    /* By the id of one task's own job. */
    assert_int_equal(eval(c, "afterok:101"), MET);
    assert_int_equal(eval(c, "afterok:102"), WAIT);
    /* The rest is cancelled before it started, the second ends well. */
    end_job(c, 100, JOB_STATE(CANCELLED), T0 + 300 * SEC, true);
    end_job(c, 102, JOB_STATE(COMPLETED), T0 + 300 * SEC, true);
    assert_int_equal(eval(c, "afterany:100"), MET);
    assert_int_equal(eval(c, "afterok:100"), NEVER);
    assert_int_equal(eval(c, "afternotok:100"), MET);
    assert_int_equal(eval(c, "afterok:100_2"), NEVER);
    assert_int_equal(eval(c, "afterok:100_1"), MET);
    cluster_free(c);
}

/* Whoever waits for an array as a whole is shown to. */
static void test_array_is_named(void **state)
{
    struct cluster *c = array_world(JOB_STATE(COMPLETED));
    struct depends d = { 0 };
    char *text = NULL;
    bool changed;
    int64_t until;

    (void)state;
    assert_int_equal(depends_parse("afterany:100,afterok:100_1,afterany:102", &d, NULL), 0);
    assert_int_equal(depends_eval(&d, c, cluster_job(c, WAITER), NOW, &changed, &until), WAIT);
    assert_int_equal(depends_format(&d, &text), 0);
    assert_string_equal(
        text, "afterany:100_*(unfulfilled),afterok:100_1(unfulfilled),afterany:102(unfulfilled)");
    free(text);
    depends_done(&d);
    cluster_free(c);
}

static void test_array_failure_is_known_at_once(void **state)
{
    struct cluster *c = array_world(JOB_STATE(FAILED));

    (void)state;
    assert_int_equal(eval(c, "afterok:100"), NEVER);
    assert_int_equal(eval(c, "afternotok:100"), WAIT);
    assert_int_equal(eval(c, "afterany:100"), WAIT);
    cluster_free(c);
}

static void set_tasks(struct cluster *c, uint32_t id, const char *tasks)
{
    Pst__Transaction *tx = tx_new(T0);

    assert_int_equal(pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), id)->array_tasks, tasks), 0);
    apply_ok(c, tx);
}

static void test_aftercorr(void **state)
{
    struct cluster *c = array_world(JOB_STATE(FAILED));

    (void)state;
    add_task(c, 200, 200, -1, "2-5");
    add_task(c, 201, 200, 0, NULL);
    add_task(c, 202, 200, 1, NULL);
    assert_int_equal(eval_as(c, "aftercorr:100", 201), NEVER);
    assert_int_equal(eval_as(c, "aftercorr:100", 202), WAIT);
    /* The tasks still together: one failure is not everybody's. */
    assert_int_equal(eval_as(c, "aftercorr:100", 200), WAIT);
    end_job(c, 102, JOB_STATE(COMPLETED), T0 + 300 * SEC, true);
    assert_int_equal(eval_as(c, "aftercorr:100", 202), MET);
    assert_int_equal(eval_as(c, "aftercorr:100", 200), WAIT);
    /* Task 2 gets a job of its own and ends: the core splits task 2 of 200 off and asks for it
     * alone. */
    set_tasks(c, 100, "3");
    add_task(c, 103, 100, 2, NULL);
    start_job(c, 103, make_alloc(2, 1, 1, 0), T0);
    end_job(c, 103, JOB_STATE(COMPLETED), T0 + 300 * SEC, true);
    assert_int_equal(eval_as(c, "aftercorr:100", 200), WAIT);
    set_tasks(c, 200, "3-5");
    add_task(c, 203, 200, 2, NULL);
    assert_int_equal(eval_as(c, "aftercorr:100", 203), MET);
    assert_int_equal(eval_as(c, "aftercorr:100", WAITER), NEVER); /* no array: as afterok */
    cluster_free(c);
}

/* ---- checks at submission -------------------------------------------------------------------- */

static int check(struct cluster *c, const char *text, uint32_t job_id)
{
    struct depends d = { 0 };
    int r;

    assert_int_equal(depends_parse(text, &d, NULL), 0);
    r = depends_check(&d, c, job_id, 10);
    depends_done(&d);
    return r;
}

static void set_dependency(struct cluster *c, uint32_t id, const char *text)
{
    Pst__Transaction *tx = tx_new(T0);

    assert_int_equal(pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), id)->dependency, text), 0);
    apply_ok(c, tx);
}

static void test_targets_known(void **state)
{
    struct cluster *c = array_world(JOB_STATE(COMPLETED));

    (void)state;
    assert_int_equal(check(c, "afterok:999", 0), -ENOENT);
    assert_int_equal(check(c, "afternotok:999", 0), -ENOENT);
    assert_int_equal(check(c, "aftercorr:999", 0), 0);
    assert_int_equal(check(c, "afterok:100_77", 0), -ENOENT);
    assert_int_equal(check(c, "afterok:20,afterok:999", 0), -ENOENT);
    assert_int_equal(check(c, "afterany:999", 0), 0);
    assert_int_equal(check(c, "after:999", 0), 0);
    assert_int_equal(check(c, "afterok:20:100:100_3:101", 0), 0);
    assert_int_equal(check(c, "singleton", 0), 0);
    cluster_free(c);
}

static void test_cycles(void **state)
{
    struct cluster *c = new_cluster();
    char text[32];

    (void)state;
    for (uint32_t id = 1; id <= 30; id++)
        add_job(c, id);
    assert_int_equal(check(c, "afterany:1", 1), -EINVAL); /* itself */
    assert_int_equal(check(c, "singleton", 1), 0);
    for (uint32_t id = 2; id <= 9; id++) { /* 9 -> 8 -> ... -> 1 */
        (void)snprintf(text, sizeof(text), "afterok:%u", id - 1);
        set_dependency(c, id, text);
    }
    assert_int_equal(check(c, "afterok:9", 1), -ELOOP);
    assert_int_equal(check(c, "afterok:20,afterany:9", 1), -ELOOP);
    assert_int_equal(check(c, "afterok:9", 20), 0);
    assert_int_equal(check(c, "afterok:1", 9), 0); /* downwards is fine */
    for (uint32_t id = 10; id <= 30; id++) {
        (void)snprintf(text, sizeof(text), "afterok:%u", id - 1);
        set_dependency(c, id, text);
    }
    assert_int_equal(check(c, "afterok:11", 1), -ELOOP); /* ten jobs away */
    assert_int_equal(check(c, "afterok:12", 1), 0);      /* deeper than is looked */
    end_job(c, 5, JOB_STATE(COMPLETED), T0, true);       /* what has ended waits for nobody */
    assert_int_equal(check(c, "afterok:9", 1), 0);
    cluster_free(c);
}

static void test_array_cycles(void **state)
{
    struct cluster *c = array_world(JOB_STATE(COMPLETED));

    (void)state;
    assert_int_equal(check(c, "afterany:100", 102), -ELOOP); /* its own array */
    assert_int_equal(check(c, "afterany:100_1", 102), -ELOOP);
    assert_int_equal(check(c, "afterany:100_3", 100), -ELOOP);
    assert_int_equal(check(c, "afterany:100_0", 102), 0); /* a sister */
    set_dependency(c, WAITER, "afterok:100_1");
    add_task(c, 103, 100, 7, NULL);
    assert_int_equal(check(c, "afterok:20", 100), 0);
    set_dependency(c, WAITER, "afterok:100");
    assert_int_equal(check(c, "afterok:20", 103), -ELOOP); /* through the array as a whole */
    cluster_free(c);
}

/* Layers in which each job waits for all of the layer below: a search along every path would never
 * end. */
static void test_wide_graph(void **state)
{
    enum { LAYERS = 11, WIDTH = 40 };
    struct cluster *c = new_cluster();
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    for (uint32_t l = 0; l < LAYERS; l++) {
        for (uint32_t i = 0; i < WIDTH; i++) {
            uint32_t id = 1 + l * WIDTH + i;

            add_job(c, id);
            strbuf_reset(&sb);
            strbuf_add(&sb, "afterok");
            for (uint32_t k = 0; l && k < WIDTH; k++)
                strbuf_addf(&sb, ":%u", 1 + (l - 1) * WIDTH + k);
            if (l)
                set_dependency(c, id, strbuf_str(&sb));
        }
    }
    strbuf_done(&sb);
    add_job(c, 5000);
    assert_int_equal(check(c, "afterok:440", 5000), 0);
    assert_int_equal(check(c, "afterok:440", 1), -ELOOP);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_text_of_the_rest),
        cmocka_unit_test(test_singleton),
        cmocka_unit_test(test_array_targets),
        cmocka_unit_test(test_array_is_named),
        cmocka_unit_test(test_array_failure_is_known_at_once),
        cmocka_unit_test(test_aftercorr),
        cmocka_unit_test(test_targets_known),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_array_cycles),
        cmocka_unit_test(test_wide_graph),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
