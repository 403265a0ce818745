/* test_watchproj.c - the log seen as changes: old and new values of the fields people watch */
#include "core_util.h"

#include "ctld/watch/watchproj.h"
#include "watch.pb-c.h"

static struct core core;

struct seen {
    uint32_t n, id, states;
    uint64_t lsn;
    bool created, gone;
    char name[32], partition[32];
    Pst__JobRecord *before, *after;
};

static int note_change(void *ctx, const Pst__WatchChange *c, uint32_t states)
{
    struct seen *s = ctx;

    s->n++;
    s->id = c->id;
    s->lsn = c->lsn;
    s->states = states;
    s->created = c->created;
    s->gone = c->gone;
    (void)snprintf(s->name, sizeof(s->name), "%s", c->name ? c->name : "");
    (void)snprintf(s->partition, sizeof(s->partition), "%s", c->partition ? c->partition : "");
    if (c->entity != PST__WATCH_ENTITY__WATCH_JOB)
        return 0;
    if (c->has_before)
        s->before = pst__job_record__unpack(NULL, c->before.len, c->before.data);
    if (c->has_after)
        s->after = pst__job_record__unpack(NULL, c->after.len, c->after.data);
    return 0;
}

static void seen_done(struct seen *s)
{
    if (s->before)
        pst__job_record__free_unpacked(s->before, NULL);
    if (s->after)
        pst__job_record__free_unpacked(s->after, NULL);
    *s = (struct seen){ 0 };
}

/* What the next record changed; the number of changes. */
static uint32_t next(struct watchproj *p, struct seen *s)
{
    struct err err = { .text = "" };
    int r;

    seen_done(s);
    r = watchproj_next(p, UINT64_MAX, note_change, s, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    return r == 0 ? 0 : s->n;
}

static uint64_t commit(Pst__Transaction *tx)
{
    uint64_t lsn = core_commit(&core.ctld, tx);

    assert_true(lsn > 0);
    assert_int_equal(journal_wait_durable(core.ctld.journal, lsn), 0);
    return lsn;
}

static struct watchproj *open_behind(uint64_t lsn)
{
    struct err err = { .text = "" };
    struct watchproj *p = NULL;

    if (watchproj_open(core.dir, lsn, &p, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(watchproj_lsn(p), lsn);
    return p;
}

static Pst__Transaction *submitted(uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    assert_int_equal(pb_set_str(&r->partition, "p"), 0);
    return tx;
}

static Pst__Transaction *changed(uint32_t id, Pst__JobState state)
{
    Pst__Transaction *tx = tx_new(T0 + SEC);

    SET(tx_job_patch(tx, EV(JOB_UPDATE), id), state, state);
    return tx;
}

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "", NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* A life of a job: it comes, it changes, it goes. */
static void test_job(void **state)
{
    struct seen s = { 0 };
    struct watchproj *p;
    uint64_t first;
    Pst__Transaction *tx;

    (void)state;
    first = commit(submitted(7));
    (void)commit(changed(7, JOB_STATE(SUSPENDED)));
    (void)commit(changed(7, JOB_STATE(SUSPENDED))); /* as it was */
    tx = tx_new(T0 + 3 * SEC);
    tx_job_purge(tx, 7);
    (void)commit(tx);
    p = open_behind(0);
    assert_int_equal(next(p, &s), 1);
    assert_true(s.created && !s.gone);
    assert_int_equal(s.lsn, first);
    assert_int_equal(s.id, 7);
    assert_string_equal(s.name, "job");
    assert_string_equal(s.partition, "p");
    assert_int_equal(s.states, 1u << JOB_STATE(PENDING));
    assert_non_null(s.after);
    assert_int_equal(s.after->state, JOB_STATE(PENDING));
    assert_int_equal(next(p, &s), 1);
    assert_false(s.created || s.gone);
    assert_int_equal(s.states, 1u << JOB_STATE(PENDING) | 1u << JOB_STATE(SUSPENDED));
    assert_int_equal(s.before->state, JOB_STATE(PENDING));
    assert_int_equal(s.after->state, JOB_STATE(SUSPENDED));
    assert_null(s.after->name); /* only what changed */
    assert_int_equal(next(p, &s), 0);
    assert_int_equal(watchproj_lsn(p), first + 2); /* read, and nothing to tell */
    assert_int_equal(next(p, &s), 1);
    assert_true(s.gone);
    assert_int_equal(s.id, 7);
    assert_int_equal(next(p, &s), 0);
    assert_int_equal(watchproj_lsn(p), first + 3);
    seen_done(&s);
    watchproj_free(p);
}

/* Who begins behind a record knows the values as of then; what is written later follows. */
static void test_behind(void **state)
{
    struct seen s = { 0 };
    struct watchproj *p;
    uint64_t first;

    (void)state;
    first = commit(submitted(7));
    (void)commit(submitted(8));
    p = open_behind(first + 1);
    assert_int_equal(next(p, &s), 0);
    (void)commit(changed(8, JOB_STATE(SUSPENDED)));
    assert_int_equal(next(p, &s), 1);
    assert_int_equal(s.id, 8);
    assert_int_equal(s.before->state, JOB_STATE(PENDING));
    seen_done(&s);
    watchproj_free(p);
    assert_null(watchproj_free(NULL));
}

static void test_nodes_and_parts(void **state)
{
    struct seen s = { 0 };
    struct watchproj *p;
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    (void)put_node(tx, 3, "n3", 4);
    (void)put_part(tx, "p", "n3");
    (void)commit(tx);
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_STATE), 3), state, PST__NODE_STATE__NODE_DOWN);
    (void)commit(tx);
    p = open_behind(0);
    assert_int_equal(next(p, &s), 2); /* both of one record */
    assert_int_equal(next(p, &s), 1);
    assert_int_equal(s.id, 3);
    assert_string_equal(s.name, "n3");
    assert_false(s.created);
    watchproj_free(p);
}

/* Of an allocation only what people read is told. */
static void test_alloc(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    struct seen s = { 0 };
    struct watchproj *p;
    Pst__JobRecord *set;
    uint64_t first;

    (void)state;
    (void)put_node(tx, 0, "n0", 4);
    (void)commit(tx);
    first = commit(submitted(7));
    tx = tx_new(T0 + SEC);
    set = tx_job_patch(tx, EV(JOB_START), 7);
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, start_us, T0 + SEC);
    SET(set, released, false);
    set->alloc = make_alloc(0, 1, 4, 100);
    assert_int_equal(pb_set_str(&set->alloc->nodes, "n0"), 0);
    (void)commit(tx);
    p = open_behind(first);
    assert_int_equal(next(p, &s), 1);
    assert_string_equal(s.after->alloc->nodes, "n0");
    assert_int_equal(s.after->alloc->n_groups, 0);
    assert_int_equal(s.after->alloc->n_node_ids, 0);
    seen_done(&s);
    watchproj_free(p);
}

static int stop_here(void *ctx, const Pst__WatchChange *c, uint32_t states)
{
    (void)ctx, (void)c, (void)states;
    return -ECANCELED;
}

static void test_stops(void **state)
{
    struct err err = { .text = "" };
    struct watchproj *p;
    uint64_t first;

    (void)state;
    first = commit(submitted(7));
    (void)commit(submitted(8));
    p = open_behind(0);
    assert_int_equal(watchproj_next(p, first - 1, stop_here, NULL, &err), 0); /* not so far */
    assert_int_equal(watchproj_next(p, UINT64_MAX, stop_here, NULL, &err), -ECANCELED);
    watchproj_free(p);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_job), ROW(test_behind), ROW(test_nodes_and_parts),
                                        ROW(test_alloc), ROW(test_stops) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
