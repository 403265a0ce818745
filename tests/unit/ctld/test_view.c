/* test_view.c - views: what is published, what stays as it was, what is shared, and readers beside
 * a writer */
#include "blob_util.h"
#include "model_util.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ctld/front/view.h"

/* ---- a cluster whose changes are marked ------------------------------------------------------ */

struct world {
    struct cluster *c;
    struct views *v;
    struct cluster_observer obs;
    uint64_t lsn;
};

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    (void)kind;
    views_mark_job(ctx, j);
}
static void on_job_gone(void *ctx, struct job *j)
{
    views_drop_job(ctx, j);
}
static void on_step(void *ctx, struct job *j, struct step *s, Pst__EventKind kind)
{
    (void)kind;
    views_mark_step(ctx, j, s);
}
static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    (void)kind;
    views_mark_node(ctx, n);
}
static void on_node_gone(void *ctx, struct node *n)
{
    views_drop_node(ctx, n);
}
static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    (void)kind;
    views_mark_part(ctx, p);
}
static void on_part_gone(void *ctx, struct partition *p)
{
    views_drop_part(ctx, p);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->c = new_cluster();
    assert_int_equal(views_new(&w->v), 0);
    w->obs = (struct cluster_observer){ on_job,       on_job_gone, on_step,      on_node,
                                        on_node_gone, on_part,     on_part_gone, .ctx = w->v };
    w->c->observer = &w->obs;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    w->c->observer = NULL;
    views_free(w->v);
    cluster_free(w->c);
    free(w);
    return 0;
}

static struct view *publish(struct world *w)
{
    views_publish(w->v, w->c, ++w->lsn);
    return views_get(w->v);
}

static size_t count(const struct view *view, enum view_kind kind)
{
    size_t n = 0, used = 0;

    for (size_t i = 0; i < view->tables[kind].nchunks; i++) {
        const struct view_chunk *c = view->tables[kind].chunks[i];

        assert_non_null(c);
        used += c->used;
        for (size_t k = 0; k < VIEW_CHUNK; k++)
            n += c->slots[k] != NULL;
    }
    assert_int_equal(n, used);
    return n;
}

static const struct vrec *find(const struct view *view, enum view_kind kind, uint32_t id)
{
    for (size_t i = 0; i < view->tables[kind].nchunks; i++)
        for (size_t k = 0; k < VIEW_CHUNK; k++) {
            const struct vrec *r = view->tables[kind].chunks[i]->slots[k];

            if (r && r->id == id)
                return r;
        }
    return NULL;
}

static Pst__JobRecord *job_in(const struct view *view, uint32_t id)
{
    const struct vrec *r = find(view, VIEW_JOBS, id);

    return r ? pst__job_record__unpack(NULL, r->len, r->data) : NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_empty(void **state)
{
    struct world *w = *state;
    struct view *view;

    assert_null(views_get(w->v));
    assert_int_equal(views_published(w->v), 0);
    view = publish(w);
    assert_non_null(view);
    for (int k = 0; k < VIEW_KINDS; k++)
        assert_int_equal(count(view, (enum view_kind)k), 0);
    assert_int_equal(view->lsn, 1);
    assert_true(view->made_us > 0);
    assert_int_equal(views_published(w->v), 1);
    views_publish(w->v, w->c, 2); /* nothing changed: nothing made */
    assert_int_equal(views_published(w->v), 1);
    assert_null(view_unref(view));
    assert_null(view_unref(NULL));
}

static void test_contents(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0);
    const struct vrec *r;
    struct view *view;
    Pst__NodeRecord *node;
    Pst__PartitionRecord *part;

    add_nodes(w->c, 3, 8);
    put_part(tx, "p", "n[0-1]");
    SET(tx_cluster(tx), next_job_id, 9);
    apply_ok(w->c, tx);
    add_task(w->c, 5, 4, 2, NULL);
    SET(cluster_job(w->c, 5)->rec, cur_priority, 77);
    start_job(w->c, 5, make_alloc(0, 2, 3, 100), T0);
    tx = tx_new(T0);
    SET(tx_step_put(tx, EV(STEP_START), 5, 0), state, PST__STEP_STATE__STEP_RUNNING);
    apply_ok(w->c, tx);
    view = publish(w);
    r = find(view, VIEW_JOBS, 5);
    assert_int_equal(r->array_id, 4);
    assert_int_equal(r->state, JOB_STATE(RUNNING));
    assert_int_equal(r->uid, 1000);
    r = find(view, VIEW_STEPS, 5);
    assert_int_equal(r->state, PST__STEP_STATE__STEP_RUNNING);
    assert_int_equal(r->array_id, 4);
    r = find(view, VIEW_NODES, 1);
    assert_true(r->name_hash & 1);
    node = pst__node_record__unpack(NULL, r->len, r->data);
    assert_int_equal(node->alloc_cpus, 3); /* what is derived is there for queries */
    assert_int_equal(node->alloc_mem_mib, 100);
    assert_int_equal(node->jobs_running, 1);
    assert_int_equal(node->jobs_completing, 0);
    pst__node_record__free_unpacked(node, NULL);
    r = view->tables[VIEW_PARTS].chunks[0]->slots[0];
    part = pst__partition_record__unpack(NULL, r->len, r->data);
    assert_int_equal(part->total_nodes, 2);
    assert_int_equal(part->total_cpus, 16);
    pst__partition_record__free_unpacked(part, NULL);
    assert_true(view->cluster_len > 0);
    view_unref(view);
    end_job(w->c, 5, JOB_STATE(FAILED), T0, false);
    view = publish(w);
    assert_int_equal(find(view, VIEW_JOBS, 5)->flags, JOB_FLAG(COMPLETING));
    node = pst__node_record__unpack(NULL, find(view, VIEW_NODES, 0)->len,
                                    find(view, VIEW_NODES, 0)->data);
    assert_int_equal(node->jobs_running, 0);
    assert_int_equal(node->jobs_completing, 1);
    pst__node_record__free_unpacked(node, NULL);
    view_unref(view);
}

static void test_fresh(void **state)
{
    struct world *w = *state;
    struct view *view = publish(w);

    view_unref(view);
    view = views_get_fresh(w->v);
    assert_non_null(view);
    view_unref(view);
    add_job(w->c, 1);
    assert_null(views_get_fresh(w->v)); /* ask the core */
    view = views_get(w->v);             /* the old one is still to be had */
    assert_null(find(view, VIEW_JOBS, 1));
    view_unref(view);
    view_unref(publish(w));
    view = views_get_fresh(w->v);
    assert_non_null(find(view, VIEW_JOBS, 1));
    view_unref(view);
    purge_job(w->c, 1);
    assert_null(views_get_fresh(w->v)); /* a record less is a change as well */
}

static void test_old_view_stays(void **state)
{
    struct world *w = *state;
    struct view *old, *now;
    Pst__JobRecord *r;
    Pst__Transaction *tx;

    for (uint32_t id = 1; id <= 600; id++)
        add_job(w->c, id);
    old = publish(w);
    for (uint32_t id = 1; id <= 600; id++) {
        if (id % 3 == 0) {
            purge_job(w->c, id);
            continue;
        }
        tx = tx_new(T0);
        SET(tx_job_patch(tx, EV(JOB_UPDATE), id), nice, 5);
        apply_ok(w->c, tx);
    }
    add_job(w->c, 1000);
    now = publish(w);
    assert_int_equal(count(old, VIEW_JOBS), 600);
    assert_int_equal(count(now, VIEW_JOBS), 401);
    assert_null(find(old, VIEW_JOBS, 1000));
    for (uint32_t id = 1; id <= 600; id += 7) {
        r = job_in(old, id);
        assert_false(r->has_nice);
        pst__job_record__free_unpacked(r, NULL);
        r = job_in(now, id);
        assert_int_equal(r == NULL, id % 3 == 0);
        if (r) {
            assert_int_equal(r->nice, 5);
            pst__job_record__free_unpacked(r, NULL);
        }
    }
    view_unref(old);
    assert_int_equal(count(now, VIEW_JOBS), 401);
    view_unref(now);
}

/* Only the chunk that changed is copied, and in it only the record that changed is new. */
static void test_sharing(void **state)
{
    struct world *w = *state;
    struct view *old, *now;
    size_t shared = 0;
    Pst__Transaction *tx = tx_new(T0);

    for (uint32_t id = 1; id <= 4 * VIEW_CHUNK; id++)
        add_job(w->c, id);
    old = publish(w);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 300), nice, 1);
    apply_ok(w->c, tx);
    now = publish(w);
    assert_int_equal(now->tables[VIEW_JOBS].nchunks, 4);
    for (size_t i = 0; i < 4; i++)
        shared += old->tables[VIEW_JOBS].chunks[i] == now->tables[VIEW_JOBS].chunks[i];
    assert_int_equal(shared, 3);
    assert_ptr_equal(find(old, VIEW_JOBS, 301), find(now, VIEW_JOBS, 301));
    assert_ptr_not_equal(find(old, VIEW_JOBS, 300), find(now, VIEW_JOBS, 300));
    view_unref(old);
    view_unref(now);
}

/* A walk meets jobs in order of id, however they were encoded: at a query, or before one in
 * parts. */
static void test_order(void **state)
{
    enum { JOBS = 9000 };
    struct world *w = *state;
    struct view *view;
    uint32_t last = 0;

    for (uint32_t id = 1; id <= JOBS; id++) {
        add_job(w->c, id);
        if (id % 1000 == 0)
            views_work_off(w->v, w->c);
    }
    view = publish(w);
    for (size_t i = 0; i < view->tables[VIEW_JOBS].nchunks; i++) {
        for (size_t k = 0; k < VIEW_CHUNK; k++) {
            const struct vrec *r = view->tables[VIEW_JOBS].chunks[i]->slots[k];

            assert_true(!r || r->id == last + 1);
            last = r ? r->id : last;
        }
        assert_int_equal(view->tables[VIEW_JOBS].chunks[i]->low_id, i * VIEW_CHUNK + 1);
        assert_int_equal(view->tables[VIEW_JOBS].chunks[i]->high_id, last);
    }
    assert_int_equal(last, JOBS);
    view_unref(view);
}

/* A chunk's range holds the arrays that its tasks belong to, and outlives a copy. */
static void test_range_of_ids(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0);
    const struct view_chunk *chunk;
    struct view *view;
    Pst__JobRecord *r;

    for (uint32_t id = 100; id <= 101; id++)
        add_job(w->c, id);
    r = tx_job_patch(tx, EV(JOB_UPDATE), 101);
    SET(r, array_job_id, 7);
    SET(r, array_task_id, 1);
    apply_ok(w->c, tx);
    view_unref(publish(w));
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 100), nice, 1);
    apply_ok(w->c, tx);
    view = publish(w);
    chunk = view->tables[VIEW_JOBS].chunks[0];
    assert_int_equal(chunk->low_id, 7);
    assert_int_equal(chunk->high_id, 101);
    view_unref(view);
}

/* Marked, worked off, changed again, purged: nothing is shown twice or left over. */
static void test_work_off(void **state)
{
    struct world *w = *state;
    struct view *view;

    for (uint32_t id = 1; id <= 5000; id++)
        add_job(w->c, id);
    views_work_off(w->v, w->c);
    for (uint32_t id = 1; id <= 5000; id += 2)
        purge_job(w->c, id);
    views_work_off(w->v, w->c);
    for (uint32_t id = 2; id <= 5000; id += 4)
        set_state(w->c, id, JOB_STATE(CANCELLED), 0);
    view = publish(w);
    assert_int_equal(count(view, VIEW_JOBS), 2500);
    assert_int_equal(find(view, VIEW_JOBS, 2)->state, JOB_STATE(CANCELLED));
    assert_int_equal(find(view, VIEW_JOBS, 4)->state, JOB_STATE(PENDING));
    view_unref(view);
}

/* Jobs come and go for long: the tables stay as small as what is alive. */
static void test_generations(void **state)
{
    struct world *w = *state;
    uint32_t id = 1;
    struct view *view;

    for (unsigned round = 0; round < 120; round++) {
        for (unsigned i = 0; i < 1000; i++)
            add_job(w->c, id + i);
        view = publish(w);
        assert_true(view->tables[VIEW_JOBS].nchunks < 400);
        assert_true(count(view, VIEW_JOBS) <= 2000);
        view_unref(view);
        if (round)
            for (unsigned i = 0; i < 1000; i++)
                purge_job(w->c, id - 1000 + i);
        id += 1000;
    }
    view = publish(w);
    assert_int_equal(count(view, VIEW_JOBS), 1000);
    assert_true(view->tables[VIEW_JOBS].nchunks <= 5);
    assert_non_null(find(view, VIEW_JOBS, id - 1));
    view_unref(view);
}

static void test_nodes_and_parts_reuse_slots(void **state)
{
    struct world *w = *state;
    struct view *view;
    Pst__Transaction *tx;

    add_nodes(w->c, 10, 2);
    for (unsigned i = 0; i < 3 * VIEW_CHUNK; i++) {
        tx = tx_new(T0);
        tx_node_remove(tx, 9);
        put_node(tx, 9, "n9", 1 + i % 7);
        if (i)
            tx_part_remove(tx, "p");
        put_part(tx, "p", "n[0-9]");
        apply_ok(w->c, tx);
        if (i % 2)
            view_unref(publish(w));
    }
    view = publish(w);
    assert_int_equal(count(view, VIEW_NODES), 10);
    assert_int_equal(count(view, VIEW_PARTS), 1);
    assert_int_equal(view->tables[VIEW_NODES].nchunks, 1);
    assert_int_equal(view->tables[VIEW_PARTS].nchunks, 1);
    view_unref(view);
}

static void test_steps_go_with_their_job(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0);
    struct view *view;

    add_job(w->c, 1);
    for (uint32_t s = 0; s < 5; s++)
        (void)tx_step_put(tx, EV(STEP_START), 1, s);
    apply_ok(w->c, tx);
    view = publish(w);
    assert_int_equal(count(view, VIEW_STEPS), 5);
    view_unref(view);
    purge_job(w->c, 1);
    view = publish(w);
    assert_int_equal(count(view, VIEW_STEPS), 0);
    assert_int_equal(count(view, VIEW_JOBS), 0);
    view_unref(view);
    /* Purged before anybody asked. */
    add_job(w->c, 2);
    purge_job(w->c, 2);
    view = publish(w);
    assert_int_equal(count(view, VIEW_JOBS), 0);
    view_unref(view);
}

/* A view keeps the scripts of its jobs, so that a snapshot made from it has them. */
static void test_blobs_are_held(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0);
    struct digest name = name_n(5);
    struct view *view;

    blob_n(tx, 5, "script", 6);
    script_n(put_job(tx, 1), 5);
    apply_ok(w->c, tx);
    view = publish(w);
    purge_job(w->c, 1);
    assert_null(cluster_blob(w->c, &name));
    assert_memory_equal(find(view, VIEW_JOBS, 1)->script->data, "script", 6);
    assert_null(find(view, VIEW_JOBS, 1)->env);
    view_unref(view);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct reader {
    struct views *v;
    atomic_bool *stop;
    unsigned long views, records, fresh;
};

static void *read_views(void *arg)
{
    struct reader *r = arg;
    uint64_t last = 0;

    while (!atomic_load(r->stop)) {
        struct view *view = views_get_fresh(r->v);

        r->fresh += view != NULL;
        if (!view)
            view = views_get(r->v);
        if (!view)
            continue;
        if (view->lsn < last)
            abort(); /* time runs one way */
        last = view->lsn;
        for (size_t i = 0; i < view->tables[VIEW_JOBS].nchunks; i++) {
            for (size_t k = 0; k < VIEW_CHUNK; k++) {
                const struct vrec *rec = view->tables[VIEW_JOBS].chunks[i]->slots[k];
                Pst__JobRecord *job;

                if (!rec || rec->id % 64)
                    continue;
                job = pst__job_record__unpack(NULL, rec->len, rec->data);
                if (!job || job->job_id != rec->id)
                    abort();
                pst__job_record__free_unpacked(job, NULL);
                r->records++;
            }
        }
        view_unref(view);
        r->views++;
    }
    return NULL;
}

static void test_readers(void **state)
{
    enum { READERS = 3, ROUNDS = 300 };
    struct world *w = *state;
    atomic_bool stop = false;
    struct reader readers[READERS];
    pthread_t threads[READERS];
    uint64_t seed = 6;

    for (uint32_t id = 1; id <= 1000; id++)
        add_job(w->c, id);
    view_unref(publish(w));
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .v = w->v, .stop = &stop };
        assert_int_equal(pthread_create(&threads[i], NULL, read_views, &readers[i]), 0);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 20; i++) {
            Pst__Transaction *tx = tx_new(T0);
            uint32_t id = 1 + rnd_below(&seed, 1000);

            if (cluster_job(w->c, id)) {
                SET(tx_job_patch(tx, EV(JOB_UPDATE), id), nice, (int32_t)round);
                if (i == 0)
                    tx_job_purge(tx, id);
            } else {
                put_job(tx, id);
            }
            apply_ok(w->c, tx);
        }
        views_publish(w->v, w->c, ++w->lsn);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    view_unref(views_get(w->v));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_empty),
        T(test_contents),
        T(test_fresh),
        T(test_old_view_stays),
        T(test_sharing),
        T(test_order),
        T(test_range_of_ids),
        T(test_work_off),
        T(test_generations),
        T(test_nodes_and_parts_reuse_slots),
        T(test_steps_go_with_their_job),
        T(test_blobs_are_held),
        T(test_readers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
