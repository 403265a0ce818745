/* test_cluster.c - cluster_apply(): every kind of event, and what is derived from it */
#include "blob_util.h"
#include "model_util.h"

#include "base/timefmt.h"
#include "fields.h"

/* ---- what observers are told ----------------------------------------------------------------- */

struct seen {
    unsigned jobs, jobs_gone, steps, nodes, node_usage, nodes_gone, parts, parts_gone;
    Pst__EventKind last;
};

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct seen *s = ctx;

    assert_non_null(j->rec);
    s->jobs++;
    s->last = kind;
}

static void on_job_gone(void *ctx, struct job *j)
{
    assert_non_null(j->rec); /* still whole */
    ((struct seen *)ctx)->jobs_gone++;
}

static void on_step(void *ctx, struct job *j, struct step *step, Pst__EventKind kind)
{
    struct seen *s = ctx;

    assert_ptr_equal(cluster_step(j, step->rec->step_id), step);
    s->steps++;
    s->last = kind;
}

static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    struct seen *s = ctx;

    assert_non_null(n->rec);
    if (kind == EV(UNSPECIFIED))
        s->node_usage++;
    else
        s->nodes++;
}

static void on_node_gone(void *ctx, struct node *n)
{
    assert_non_null(n->rec->name);
    ((struct seen *)ctx)->nodes_gone++;
}

static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    assert_non_null(p->nodes);
    (void)kind;
    ((struct seen *)ctx)->parts++;
}

static void on_part_gone(void *ctx, struct partition *p)
{
    assert_non_null(p->rec->name);
    ((struct seen *)ctx)->parts_gone++;
}

static void test_observer(void **state)
{
    struct cluster *c = new_cluster();
    struct seen seen = { 0 };
    const struct cluster_observer obs = { on_job,       on_job_gone, on_step,      on_node,
                                          on_node_gone, on_part,     on_part_gone, .ctx = &seen };
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    c->observer = &obs;
    add_nodes(c, 3, 8);
    assert_int_equal(seen.nodes, 3);
    put_part(tx, "p", "n[0-2]");
    apply_ok(c, tx);
    assert_int_equal(seen.parts, 1);
    add_job(c, 1);
    assert_int_equal(seen.jobs, 1);
    assert_int_equal(seen.last, EV(JOB_SUBMIT));
    start_job(c, 1, make_alloc(0, 2, 4, 100), T0);
    assert_int_equal(seen.last, EV(JOB_START));
    assert_int_equal(seen.node_usage, 2);
    tx = tx_new(T0);
    tx_step_put(tx, EV(STEP_START), 1, 0);
    SET(tx_step_patch(tx, EV(STEP_END), 1, 0), exit_status, 0);
    apply_ok(c, tx);
    assert_int_equal(seen.steps, 2);
    assert_int_equal(seen.last, EV(STEP_END));
    purge_job(c, 1);
    assert_int_equal(seen.jobs_gone, 1);
    assert_int_equal(seen.node_usage, 4);
    tx = tx_new(T0);
    tx_node_remove(tx, 2);
    apply_ok(c, tx);
    assert_int_equal(seen.nodes_gone, 1);
    assert_int_equal(seen.parts, 2); /* its nodes changed */
    tx = tx_new(T0);
    tx_part_remove(tx, "p");
    apply_ok(c, tx);
    assert_int_equal(seen.parts_gone, 1);
    cluster_free(c);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void test_job_put_and_patch(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;
    const Pst__JobRecord *r;

    (void)state;
    add_job(c, 5);
    r = cluster_job(c, 5)->rec;
    assert_string_equal(r->name, "job");
    assert_null(cluster_job(c, 6));
    assert_null(cluster_job(c, 0));
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 5), nice, -3);
    assert_int_equal(pb_set_str(&tx->events[0]->job_patch->set->comment, "hello"), 0);
    tx_clear(tx, JOB_F_NAME);
    tx_clear(tx, JOB_F_TIME_LIMIT_MIN); /* not there */
    tx_clear(tx, 5000);                 /* of another release */
    apply_ok(c, tx);
    assert_int_equal(r->nice, -3);
    assert_string_equal(r->comment, "hello");
    assert_null(r->name);
    assert_int_equal(r->uid, 1000); /* untouched */
    cluster_free(c);
}

static void test_counts(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    add_nodes(c, 2, 8);
    for (uint32_t id = 1; id <= 4; id++)
        add_job(c, id);
    assert_int_equal(cluster_count(c, JOB_STATE(PENDING)), 4);
    start_job(c, 1, make_alloc(0, 1, 2, 10), T0);
    start_job(c, 2, make_alloc(0, 1, 2, 10), T0);
    set_state(c, 2, JOB_STATE(SUSPENDED), 0);
    end_job(c, 3, JOB_STATE(CANCELLED), T0, true);
    assert_int_equal(cluster_count(c, JOB_STATE(PENDING)), 1);
    assert_int_equal(cluster_count(c, JOB_STATE(RUNNING)), 1);
    assert_int_equal(cluster_count(c, JOB_STATE(SUSPENDED)), 1);
    assert_int_equal(cluster_count(c, JOB_STATE(CANCELLED)), 1);
    assert_int_equal(cluster_count(c, (Pst__JobState)99), 0);
    purge_job(c, 3);
    assert_int_equal(cluster_count(c, JOB_STATE(CANCELLED)), 0);
    requeue_job(c, 1);
    assert_int_equal(cluster_count(c, JOB_STATE(RUNNING)), 0);
    assert_int_equal(cluster_count(c, JOB_STATE(PENDING)), 2);
    cluster_free(c);
}

static void expect_node(struct cluster *c, uint32_t id, uint32_t jobs, uint32_t completing,
                        uint32_t cpus, uint64_t mem)
{
    const struct node *n = cluster_node(c, id);

    assert_int_equal(n->jobs, jobs);
    assert_int_equal(n->jobs_completing, completing);
    assert_int_equal(n->alloc_cpus, cpus);
    assert_int_equal(n->alloc_mem_mib, mem);
}

static size_t active_count(const struct cluster *c)
{
    size_t n = 0;
    const struct job *prev = NULL;

    for (const struct job *j = c->active; j; prev = j, j = j->next_active, n++) {
        assert_ptr_equal(j->prev_active, prev);
        assert_true(j->in_active && j->counted);
    }
    return n;
}

/* A job's whole life, seen from its nodes. */
static void test_usage(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    add_nodes(c, 4, 8);
    add_job(c, 1);
    add_job(c, 2);
    expect_node(c, 0, 0, 0, 0, 0);
    start_job(c, 1, make_alloc(0, 3, 4, 100), T0);
    start_job(c, 2, make_alloc(2, 2, 2, 50), T0);
    expect_node(c, 0, 1, 0, 4, 100);
    expect_node(c, 2, 2, 0, 6, 150);
    expect_node(c, 3, 1, 0, 2, 50);
    assert_int_equal(active_count(c), 2);
    set_state(c, 1, JOB_STATE(SUSPENDED), 0); /* keeps its memory */
    expect_node(c, 2, 2, 0, 2, 150);
    set_state(c, 1, JOB_STATE(RUNNING), 0);
    expect_node(c, 2, 2, 0, 6, 150);
    end_job(c, 1, JOB_STATE(FAILED), T0 + SEC, false);
    expect_node(c, 2, 2, 1, 6, 150); /* completing still holds */
    assert_int_equal(active_count(c), 2);
    assert_null(c->done_head);
    clean_job(c, 1);
    expect_node(c, 0, 0, 0, 0, 0);
    expect_node(c, 2, 1, 0, 2, 50);
    assert_int_equal(active_count(c), 1);
    assert_ptr_equal(c->done_head, cluster_job(c, 1));
    requeue_job(c, 2);
    expect_node(c, 2, 0, 0, 0, 0);
    expect_node(c, 3, 0, 0, 0, 0);
    assert_int_equal(active_count(c), 0);
    start_job(c, 2, make_alloc(0, 1, 8, 10), T0);
    purge_job(c, 2); /* while it runs: the controller's -c */
    expect_node(c, 0, 0, 0, 0, 0);
    assert_int_equal(active_count(c), 0);
    purge_job(c, 1);
    assert_null(c->done_head);
    assert_null(c->done_tail);
    cluster_free(c);
}

/* Several groups, each with its own share. */
static void test_usage_by_group(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Alloc *a = make_alloc(0, 4, 4, 100), *b = make_alloc(0, 4, 1, 7);

    (void)state;
    add_nodes(c, 4, 8);
    add_job(c, 1);
    a->groups = realloc(a->groups, 2 * sizeof(Pst__AllocGroup *));
    a->groups[1] = b->groups[0];
    b->n_groups = 0;
    a->n_groups = 2;
    a->groups[0]->nodes = 1;
    a->groups[1]->nodes = 3;
    pst__alloc__free_unpacked(b, NULL);
    assert_ptr_equal(alloc_group(a, 0), a->groups[0]);
    assert_ptr_equal(alloc_group(a, 1), a->groups[1]);
    assert_ptr_equal(alloc_group(a, 3), a->groups[1]);
    assert_null(alloc_group(a, 4));
    assert_int_equal(alloc_position(a, 2), 2);
    assert_int_equal(alloc_position(a, 9), -1);
    start_job(c, 1, a, T0);
    expect_node(c, 0, 1, 0, 4, 100);
    expect_node(c, 1, 1, 0, 1, 7);
    expect_node(c, 3, 1, 0, 1, 7);
    cluster_free(c);
}

/* A node goes while a job holds it, and one with its id comes back. */
static void test_usage_over_a_removed_node(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    add_nodes(c, 2, 8);
    add_job(c, 1);
    start_job(c, 1, make_alloc(0, 2, 4, 100), T0);
    tx_node_remove(tx, 1);
    apply_ok(c, tx);
    tx = tx_new(T0);
    put_node(tx, 1, "new", 8);
    apply_ok(c, tx);
    expect_node(c, 1, 1, 0, 4, 100);
    end_job(c, 1, JOB_STATE(COMPLETED), T0, false);
    expect_node(c, 1, 1, 1, 4, 100);
    clean_job(c, 1);
    expect_node(c, 1, 0, 0, 0, 0);
    cluster_free(c);
}

/* ---- the ended, oldest first ----------------------------------------------------------------- */

static size_t check_done_order(struct cluster *c)
{
    const struct job *prev = NULL;
    size_t n = 0;

    for (const struct job *j = cluster_done_oldest(c); j; prev = j, j = j->next_done, n++) {
        assert_ptr_equal(j->prev_done, prev);
        assert_true(!prev || prev->rec->end_us <= j->rec->end_us);
    }
    assert_ptr_equal(c->done_tail, prev);
    return n;
}

static void test_done_order(void **state)
{
    struct cluster *c = new_cluster();
    uint64_t seed = 4;
    uint32_t left = 0;

    (void)state;
    for (uint32_t id = 1; id <= 500; id++)
        add_job(c, id);
    for (uint32_t id = 1; id <= 500; id++, left++)
        end_job(c, id, JOB_STATE(COMPLETED), T0 + rnd_below(&seed, 100) * SEC, true);
    assert_int_equal(check_done_order(c), 500);
    for (uint32_t id = 1; id <= 500; id++) {
        Pst__Transaction *tx = tx_new(T0);

        if (id % 5 == 0) {
            purge_job(c, id);
            left--;
        } else if (id % 7 == 0) {
            requeue_job(c, id);
            left--;
        } else if (id % 3 == 0) {
            SET(tx_job_patch(tx, EV(JOB_UPDATE), id), end_us, T0 + rnd_below(&seed, 100) * SEC);
        } else {
            SET(tx_job_patch(tx, EV(JOB_UPDATE), id), nice, 1); /* keeps its place */
        }
        apply_ok(c, tx);
    }
    assert_int_equal(check_done_order(c), left);
    cluster_free(c);
}

/* A snapshot gives the jobs in the order of submission; what follows is sorted when it is asked
 * for, so that a recovery takes time in proportion to the jobs. */
static void test_done_order_of_a_snapshot(void **state)
{
    enum { JOBS = 60000 };
    struct cluster *c = new_cluster();
    uint64_t seed = 5;
    int64_t t0 = now_mono_us();

    (void)state;
    for (uint32_t id = 1; id <= JOBS; id++) {
        Pst__Transaction *tx = tx_new(T0);
        Pst__JobRecord *r = put_job(tx, id);

        SET(r, state, JOB_STATE(COMPLETED));
        SET(r, end_us, T0 + rnd_below(&seed, 1u << 30));
        apply_ok(c, tx);
    }
    assert_int_equal(check_done_order(c), JOBS);
    assert_false(c->done_unsorted);
    assert_int_equal(check_done_order(c), JOBS);
    add_job(c, JOBS + 1);
    end_job(c, JOBS + 1, JOB_STATE(FAILED), T0 + (INT64_C(1) << 31), true);
    assert_int_equal(check_done_order(c), JOBS + 1);
    assert_true(now_mono_us() - t0 < 60 * SEC);
    cluster_free(c);
}

/* ---- arrays and blobs ------------------------------------------------------------------------ */

static void test_arrays(void **state)
{
    struct cluster *c = new_cluster();
    const uint32_t *ids;
    Pst__Transaction *tx;

    (void)state;
    add_task(c, 10, 10, -1, "0-9");
    for (uint32_t i = 0; i < 20; i++)
        add_task(c, 11 + i, 10, (int)i, NULL);
    assert_int_equal(cluster_array_jobs(c, 10, &ids), 21);
    for (uint32_t i = 0; i <= 20; i++)
        assert_int_equal(ids[i], 10 + i);
    assert_int_equal(cluster_array_jobs(c, 11, &ids), 0);
    assert_null(ids);
    assert_int_equal(cluster_array_jobs(c, 0, &ids), 0);
    purge_job(c, 15);
    purge_job(c, 10);
    assert_int_equal(cluster_array_jobs(c, 10, &ids), 19);
    assert_int_equal(ids[0], 11);
    /* A patch may make a job part of an array, move it, or take it out. */
    add_job(c, 50);
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 50), array_job_id, 10);
    apply_ok(c, tx);
    assert_int_equal(cluster_array_jobs(c, 10, &ids), 20);
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 50), array_job_id, 60);
    apply_ok(c, tx);
    assert_int_equal(cluster_array_jobs(c, 10, &ids), 19);
    assert_int_equal(cluster_array_jobs(c, 60, &ids), 1);
    tx = tx_new(T0);
    (void)tx_job_patch(tx, EV(JOB_UPDATE), 50);
    tx_clear(tx, JOB_F_ARRAY_JOB_ID);
    apply_ok(c, tx);
    assert_int_equal(cluster_array_jobs(c, 60, &ids), 0);
    for (uint32_t id = 11; id <= 30; id++)
        if (id != 15)
            purge_job(c, id);
    assert_int_equal(cluster_array_jobs(c, 10, &ids), 0);
    assert_int_equal(c->arrays.count, 0);
    cluster_free(c);
}

static const struct blob *blob_of(struct cluster *c, uint64_t n)
{
    struct digest d = name_n(n);

    return cluster_blob(c, &d);
}

static void job_with_blobs(struct cluster *c, uint32_t id, uint64_t script, uint64_t env)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r;

    blob_n(tx, script, "script", 6);
    blob_n(tx, env, "env", 3);
    r = put_job(tx, id);
    script_n(r, script);
    env_n(r, env);
    apply_ok(c, tx);
}

static void test_blobs(void **state)
{
    struct cluster *c = new_cluster();
    struct blob *held;
    Pst__Transaction *tx;

    (void)state;
    job_with_blobs(c, 1, 100, 200);
    job_with_blobs(c, 2, 100, 201);
    job_with_blobs(c, 3, 100, 100); /* one blob for both */
    assert_int_equal(c->blobs.count, 3);
    assert_int_equal(blob_of(c, 100)->refs, 4);
    assert_int_equal(blob_of(c, 100)->len, 6);
    assert_memory_equal(blob_of(c, 100)->data, "script", 6);
    assert_null(blob_of(c, 0));
    purge_job(c, 3);
    assert_int_equal(blob_of(c, 100)->refs, 2);
    /* Another script: the new one is named, the old one less. */
    tx = tx_new(T0);
    blob_n(tx, 101, "x", 1);
    script_n(tx_job_patch(tx, EV(JOB_UPDATE), 2), 101);
    apply_ok(c, tx);
    assert_int_equal(blob_of(c, 100)->refs, 1);
    assert_int_equal(blob_of(c, 101)->refs, 1);
    /* The same again: still there. */
    tx = tx_new(T0);
    script_n(tx_job_patch(tx, EV(JOB_UPDATE), 2), 101);
    apply_ok(c, tx);
    assert_int_equal(blob_of(c, 101)->refs, 1);
    tx = tx_new(T0);
    (void)tx_job_patch(tx, EV(JOB_UPDATE), 2);
    tx_clear(tx, JOB_F_SCRIPT_DIGEST);
    apply_ok(c, tx);
    assert_null(blob_of(c, 101));
    held = blob_hold((struct blob *)blob_of(c, 200));
    purge_job(c, 1);
    assert_null(blob_of(c, 200));
    assert_memory_equal(held->data, "env", 3); /* as long as somebody holds it */
    assert_null(blob_drop(held));
    purge_job(c, 2);
    assert_int_equal(c->blobs.count, 0);
    assert_null(blob_hold(NULL));
    assert_null(blob_drop(NULL));
    cluster_free(c);
}

/* Digests whose first bytes are the same: anybody can make such, and none is taken for another. */
static void test_blobs_of_one_place(void **state)
{
    const uint64_t a = 7, b = 7 + (UINT64_C(1) << 32), d = 7 + (UINT64_C(2) << 32);
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    blob_n(tx, a, "a", 1);
    blob_n(tx, b, "b", 1);
    blob_n(tx, d, "d", 1);
    script_n(put_job(tx, 1), a);
    script_n(put_job(tx, 2), b);
    script_n(put_job(tx, 3), d);
    apply_ok(c, tx);
    assert_int_equal(c->blobs.count, 1);
    for (uint32_t id = 1; id <= 3; id++)
        assert_int_equal(cluster_script(c, cluster_job(c, id)->rec)->data[0], " abd"[id]);
    purge_job(c, 2); /* the middle, the first, the last */
    assert_null(blob_of(c, b));
    assert_int_equal(blob_of(c, a)->data[0], 'a');
    assert_int_equal(blob_of(c, d)->data[0], 'd');
    purge_job(c, 3);
    assert_int_equal(blob_of(c, a)->data[0], 'a');
    purge_job(c, 1);
    assert_int_equal(c->blobs.count, 0);
    cluster_free(c);
}

/* A log older than digests: the first under a hash keeps it, as it was then.  What is named by a
 * digest of the same first bytes, or by a digest that is none, is something else. */
static void test_old_blobs(void **state)
{
    struct cluster *c = new_cluster();
    struct digest meets = { .bytes = { 5 } };
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r;

    (void)state;
    blob_old(tx, 5, "first", 5);
    blob_old(tx, 5, "other", 5);
    SET(put_job(tx, 1), script_hash, 5);
    SET(put_job(tx, 2), script_hash, 5);
    tx_blob(tx, &meets, "new", 3);
    r = put_job(tx, 3);
    tx_digest(&meets, &r->has_script_digest, &r->script_digest);
    SET(r, script_hash, 5); /* a digest goes before it */
    r = put_job(tx, 4);
    tx_digest(&meets, &r->has_script_digest, &r->script_digest);
    r->script_digest.len = 8;
    apply_ok(c, tx);
    assert_memory_equal(cluster_script(c, cluster_job(c, 1)->rec)->data, "first", 5);
    assert_memory_equal(cluster_script(c, cluster_job(c, 2)->rec)->data, "first", 5);
    assert_memory_equal(cluster_script(c, cluster_job(c, 3)->rec)->data, "new", 3);
    assert_null(cluster_script(c, cluster_job(c, 4)->rec));
    assert_null(cluster_env(c, cluster_job(c, 1)->rec));
    for (uint32_t id = 1; id <= 4; id++)
        purge_job(c, id);
    assert_int_equal(c->blobs.count + c->old_blobs.count, 0);
    cluster_free(c);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void test_steps(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);
    struct step *s;

    (void)state;
    add_job(c, 1);
    SET(tx_step_put(tx, EV(STEP_START), 1, STEP_BATCH), state, PST__STEP_STATE__STEP_RUNNING);
    SET(tx_step_put(tx, EV(STEP_START), 1, 0), state, PST__STEP_STATE__STEP_RUNNING);
    SET(tx_step_put(tx, EV(STEP_START), 1, 1), state, PST__STEP_STATE__STEP_RUNNING);
    SET(tx_step_patch(tx, EV(STEP_END), 1, 0), exit_status, 9);
    SET(tx->events[3]->step_patch->set, state, PST__STEP_STATE__STEP_FAILED);
    tx_clear(tx, STEP_F_START_US);
    apply_ok(c, tx);
    assert_int_equal(cluster_job(c, 1)->steps->rec->step_id, 1); /* newest first */
    s = cluster_step(cluster_job(c, 1), 0);
    assert_int_equal(s->rec->exit_status, 9);
    assert_int_equal(s->rec->state, PST__STEP_STATE__STEP_FAILED);
    assert_null(cluster_step(cluster_job(c, 1), 2));
    /* The batch step of the next run takes the place of the last one's. */
    s = cluster_step(cluster_job(c, 1), STEP_BATCH);
    tx = tx_new(T0);
    SET(tx_step_put(tx, EV(STEP_START), 1, STEP_BATCH), start_us, T0 + SEC);
    apply_ok(c, tx);
    assert_ptr_equal(cluster_step(cluster_job(c, 1), STEP_BATCH), s);
    assert_false(s->rec->has_state);
    assert_int_equal(s->rec->start_us, T0 + SEC);
    purge_job(c, 1); /* with its steps */
    cluster_free(c);
}

/* ---- nodes and partitions -------------------------------------------------------------------- */

static void test_nodes(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    (void)state;
    add_nodes(c, 40, 2);
    assert_string_equal(cluster_node(c, 39)->rec->name, "n39");
    assert_ptr_equal(cluster_node_named(c, "n39"), cluster_node(c, 39));
    assert_null(cluster_node(c, 40));
    assert_null(cluster_node(c, UINT32_MAX));
    assert_null(cluster_node_named(c, "n40"));
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_STATE), 7), state, PST__NODE_STATE__NODE_DOWN);
    assert_int_equal(pb_set_str(&tx->events[0]->node_patch->set->reason, "why"), 0);
    apply_ok(c, tx);
    assert_string_equal(cluster_node(c, 7)->rec->reason, "why");
    tx = tx_new(T0);
    (void)tx_node_patch(tx, EV(NODE_STATE), 7);
    tx_clear(tx, NODE_F_REASON);
    tx_node_remove(tx, 8);
    apply_ok(c, tx);
    assert_null(cluster_node(c, 7)->rec->reason);
    assert_null(cluster_node(c, 8));
    assert_null(cluster_node_named(c, "n8"));
    tx = tx_new(T0);
    put_node(tx, 8, "again", 4); /* its id is free, and its name */
    put_node(tx, 1000, "n8", 4);
    apply_ok(c, tx);
    assert_string_equal(cluster_node(c, 8)->rec->name, "again");
    assert_int_equal(cluster_node_named(c, "n8")->rec->node_id, 1000);
    cluster_free(c);
}

static void expect_part_nodes(struct cluster *c, const char *part, const char *want)
{
    char *text = NULL;

    assert_int_equal(bitmap_format(cluster_partition(c, part)->nodes, &text), 0);
    assert_string_equal(text, want);
    free(text);
}

static void test_partitions(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    (void)state;
    add_nodes(c, 16, 2);
    assert_null(cluster_default_partition(c));
    tx = tx_new(T0);
    put_part(tx, "a", "n[0-3,9],nosuch");
    SET(put_part(tx, "b", ""), is_default, true);
    put_part(tx, "c", NULL);
    apply_ok(c, tx);
    expect_part_nodes(c, "a", "0-3,9");
    expect_part_nodes(c, "b", "");
    expect_part_nodes(c, "c", "");
    assert_string_equal(cluster_default_partition(c)->rec->name, "b");
    tx = tx_new(T0);
    assert_int_equal(pb_set_str(&tx_part_patch(tx, EV(PART_UPDATE), "b")->nodes, "n[4-5]"), 0);
    SET(tx->events[0]->part_patch->set, max_nodes, 1);
    tx_clear(tx, PART_F_IS_DEFAULT);
    tx_part_remove(tx, "c");
    apply_ok(c, tx);
    expect_part_nodes(c, "b", "4-5");
    assert_int_equal(cluster_partition(c, "b")->rec->max_nodes, 1);
    assert_null(cluster_default_partition(c));
    assert_null(cluster_partition(c, "c"));
    assert_int_equal(c->nparts, 2);
    /* Lists name nodes, ids follow: when a node goes, comes, or another takes its id. */
    tx = tx_new(T0);
    tx_node_remove(tx, 9);
    put_node(tx, 20, "nosuch", 2);
    apply_ok(c, tx);
    expect_part_nodes(c, "a", "0-3,20");
    tx = tx_new(T0);
    put_node(tx, 9, "stranger", 2);
    apply_ok(c, tx);
    expect_part_nodes(c, "a", "0-3,20");
    assert_int_equal(cluster_partition(c, "b")->nodes->nbits, c->nnodes);
    cluster_free(c);
}

static void test_cluster_record(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    SET(tx_cluster(tx), next_job_id, 7);
    tx_cluster(tx)->name = tx_strdup("one");
    apply_ok(c, tx);
    tx = tx_new(T0);
    SET(tx_cluster(tx), boots, 2);
    apply_ok(c, tx);
    assert_int_equal(c->rec->next_job_id, 7);
    assert_int_equal(c->rec->boots, 2);
    assert_string_equal(c->rec->name, "one");
    cluster_free(c);
}

/* ---- hash ------------------------------------------------------------------------------------ */

static void test_hash(void **state)
{
    struct cluster *a = small_cluster(), *b = small_cluster();
    uint64_t h = cluster_hash(a);

    (void)state;
    assert_int_equal(cluster_hash(b), h);
    SET(cluster_job(a, 1)->rec, cur_priority, 5); /* volatile */
    SET(cluster_node(a, 0)->rec, alloc_cpus, 2);
    SET(cluster_partition(a, "p")->rec, total_nodes, 2);
    assert_int_equal(cluster_hash(a), h);
    set_state(b, 1, JOB_STATE(PENDING), JOB_FLAG(CONFIGURING));
    assert_int_not_equal(cluster_hash(b), h);
    set_state(a, 1, JOB_STATE(PENDING), JOB_FLAG(CONFIGURING));
    assert_int_equal(cluster_hash(b), cluster_hash(a));
    add_job(a, 3);
    add_job(a, 2);
    add_job(b, 2);
    add_job(b, 3); /* the order does not matter */
    assert_int_equal(cluster_hash(b), cluster_hash(a));
    job_with_blobs(a, 9, 5, 6);
    assert_int_not_equal(cluster_hash(b), cluster_hash(a));
    purge_job(a, 9);
    assert_int_equal(cluster_hash(b), cluster_hash(a));
    cluster_free(a);
    cluster_free(b);
}

/* What numbers mean: 900 to 1023 are derived; behind them durable fields follow. */
static void test_volatile(void **state)
{
    struct cluster *c = small_cluster();
    Pst__JobRecord *job = cluster_job(c, 1)->rec;
    Pst__NodeRecord *node = cluster_node(c, 0)->rec;
    uint64_t before = cluster_hash(c);

    (void)state;
    SET(job, hardware_failed, true);
    SET(job, cur_priority, 7);
    SET(node, power_until_us, 9);
    SET(node, alloc_cpus, 2);
    assert_int_not_equal(cluster_hash(c), before);
    record_drop_volatile(&job->base);
    record_drop_volatile(&node->base);
    assert_true(job->has_hardware_failed && node->has_power_until_us);
    assert_false(job->has_cur_priority || node->has_alloc_cpus);
    cluster_free(c);
}

/* Each job is met once, also where jobs go meanwhile, behind and ahead. */
static void test_walk(void **state)
{
    enum { JOBS = 700 };
    struct cluster *c = new_cluster();
    bool met[JOBS + 1] = { false }, gone[JOBS + 1] = { false };
    uint32_t n = 0;
    size_t pos = 0;
    struct job *j;

    (void)state;
    assert_null(cluster_next_job(c, &pos));
    for (uint32_t id = 1; id <= JOBS; id++)
        add_job(c, id);
    for (pos = 0; (j = cluster_next_job(c, &pos)); n++) {
        uint32_t id = j->rec->job_id, other = id * 7 % JOBS + 1;

        assert_true(id <= JOBS && !met[id] && !gone[id]);
        met[id] = true;
        if (id % 3 == 0 && !gone[other]) {
            gone[other] = true;
            purge_job(c, other);
        }
    }
    for (uint32_t id = 1; id <= JOBS; id++)
        assert_true(met[id] || gone[id]);
    assert_in_range(n, c->jobs.count, JOBS);
    assert_null(cluster_next_job(c, &pos));
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_observer),
        cmocka_unit_test(test_job_put_and_patch),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_usage_by_group),
        cmocka_unit_test(test_usage_over_a_removed_node),
        cmocka_unit_test(test_done_order),
        cmocka_unit_test(test_done_order_of_a_snapshot),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_blobs),
        cmocka_unit_test(test_blobs_of_one_place),
        cmocka_unit_test(test_old_blobs),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_cluster_record),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_volatile),
        cmocka_unit_test(test_walk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
