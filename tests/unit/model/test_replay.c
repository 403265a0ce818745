/* test_replay.c - random lives of a cluster: replayed, dumped, and dumped in the middle, it is the
 * same
 *
 * Valid transactions are made from the state as it is, by a seed; each is applied, and kept as
 * bytes.  The copies are compared by hash and by everything that is derived. */
#include "blob_util.h"
#include "model_util.h"
#include "fields.h"

enum { STEPS = 1500, SEEDS = 12, MAX_NODES = 40 };

struct record {
    uint8_t *data;
    size_t len;
};

struct life {
    struct cluster *c;
    uint64_t seed;
    int64_t now;
    uint32_t next_job, next_db;
    struct record *log;
    size_t n;
};

static uint32_t below(struct life *l, uint32_t n)
{
    return rnd_below(&l->seed, n);
}

/* Apply, keep, free. */
static void commit(struct life *l, Pst__Transaction *tx)
{
    Pst__Transaction *again = repack(tx);
    size_t len = pst__transaction__get_packed_size(tx);

    assert_true(pb_equal(&tx->base, &again->base));
    tx_free(again);
    l->log = realloc(l->log, (l->n + 1) * sizeof(*l->log));
    assert_non_null(l->log);
    l->log[l->n].data = malloc(len ? len : 1);
    l->log[l->n].len = pst__transaction__pack(tx, l->log[l->n].data);
    l->n++;
    apply_ok(l->c, tx);
}

/* ---- picking --------------------------------------------------------------------------------- */

typedef bool want_fn(const struct job *j);

static struct job *pick_job(struct life *l, want_fn *want)
{
    struct job *found = NULL;
    uint32_t n = 0;
    void *v;

    for (size_t pos = 0; (v = idmap_next(&l->c->jobs, &pos));)
        if (want(v) && below(l, ++n) == 0)
            found = v;
    return found;
}

static bool any(const struct job *j)
{
    (void)j;
    return true;
}
static bool plain_pending(const struct job *j)
{
    return job_is_pending(j->rec) && !job_is_array(j->rec);
}
static bool array_pending(const struct job *j)
{
    return job_is_pending(j->rec) && job_is_array(j->rec);
}
static bool active(const struct job *j)
{
    return job_is_running(j->rec) || job_is_suspended(j->rec);
}
static bool completing(const struct job *j)
{
    return job_is_ended(j->rec) && job_holds_resources(j->rec);
}
static bool done(const struct job *j)
{
    return job_is_ended(j->rec) && !job_holds_resources(j->rec);
}
static bool with_steps(const struct job *j)
{
    return j->steps != NULL;
}

static struct node *pick_node(struct life *l)
{
    struct node *found = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->c->nnodes; i++)
        if (l->c->nodes[i] && below(l, ++n) == 0)
            found = l->c->nodes[i];
    return found;
}

/* ---- what may happen ------------------------------------------------------------------------- */

static bool has_blob(struct life *l, uint64_t n)
{
    struct digest d = name_n(n);

    return cluster_blob(l->c, &d) != NULL;
}

static void submit(struct life *l)
{
    Pst__Transaction *tx = tx_new(l->now);
    uint64_t script = 1000 + ((uint64_t)below(l, 20) << 32), env = 2000 + below(l, 5);
    bool old = below(l, 8) == 0; /* the log is older than digests */
    Pst__JobRecord *r;
    char data[32];

    (void)snprintf(data, sizeof(data), "#!/bin/sh\n%llu", (unsigned long long)script);
    if (old)
        blob_old(tx, script, data, strlen(data));
    else if (!has_blob(l, script))
        blob_n(tx, script, data, strlen(data));
    if (below(l, 2) && !has_blob(l, env))
        blob_n(tx, env, data, below(l, 10));
    r = put_job(tx, l->next_job);
    if (old)
        SET(r, script_hash, script);
    else
        script_n(r, script);
    if (tx->n_events == 3 || has_blob(l, env))
        env_n(r, env);
    SET(r, submit_us, l->now);
    SET(r, db_id, l->next_db);
    if (below(l, 4) == 0) {
        SET(r, array_job_id, l->next_job);
        r->array_tasks = tx_strdup(below(l, 2) ? "0-5" : "1,3,7-9%2");
    }
    SET(tx_cluster(tx), next_job_id, ++l->next_job);
    SET(tx_cluster(tx), next_db_id, ++l->next_db);
    commit(l, tx);
}

static void fill_start(struct life *l, Pst__JobRecord *set)
{
    struct node *n = pick_node(l);
    uint32_t count = 1;

    assert_non_null(n);
    while (count < 4 && cluster_node(l->c, n->rec->node_id + count) && below(l, 2))
        count++;
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags, 0);
    SET(set, start_us, l->now);
    SET(set, released, false);
    set->alloc = make_alloc(n->rec->node_id, count, 1 + below(l, 4), below(l, 500));
}

static void put_step(struct life *l, Pst__Transaction *tx, uint32_t job, uint32_t step)
{
    Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), job, step);

    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, start_us, l->now);
    s->alloc = make_alloc(0, 1, 1, 0);
}

static void start(struct life *l)
{
    struct job *j = pick_job(l, plain_pending);
    Pst__Transaction *tx;

    if (!j || !pick_node(l))
        return;
    tx = tx_new(l->now);
    fill_start(l, tx_job_patch(tx, EV(JOB_START), j->rec->job_id));
    if (below(l, 2))
        put_step(l, tx, j->rec->job_id, STEP_BATCH);
    commit(l, tx);
}

/* A task leaves its array as a job of its own, running or not; the last one takes the record. */
static void split(struct life *l)
{
    struct job *j = pick_job(l, array_pending);
    Pst__Transaction *tx;
    ProtobufCMessage *copy;
    Pst__JobRecord *rec;
    char *left = NULL;
    uint32_t task;

    if (!j || !pick_node(l))
        return;
    task = array_first(j->rec->array_tasks);
    assert_int_equal(array_without(j->rec->array_tasks, task, &left), 0);
    tx = tx_new(l->now);
    if (!left) {
        SET(tx_job_patch(tx, EV(JOB_START), j->rec->job_id), array_task_id, task);
        tx_clear(tx, JOB_F_ARRAY_TASKS);
        fill_start(l, tx->events[0]->job_patch->set);
    } else {
        tx_job_patch(tx, EV(UNSPECIFIED), j->rec->job_id)->array_tasks = left;
        assert_int_equal(pb_dup(&j->rec->base, &copy), 0);
        rec = (Pst__JobRecord *)copy;
        SET(rec, job_id, l->next_job);
        SET(rec, array_task_id, task);
        (void)pb_set_str(&rec->array_tasks, NULL);
        if (below(l, 2))
            fill_start(l, rec);
        SET(tx_cluster(tx), next_job_id, ++l->next_job);
        tx_job_put_take(tx, EV(JOB_START), rec);
    }
    commit(l, tx);
}

static void step(struct life *l)
{
    struct job *j = pick_job(l, active);
    Pst__Transaction *tx = tx_new(l->now);

    if (j)
        put_step(l, tx, j->rec->job_id, below(l, 6));
    j = pick_job(l, with_steps);
    if (j) {
        SET(tx_step_patch(tx, EV(STEP_END), j->rec->job_id, j->steps->rec->step_id), exit_status,
            below(l, 256));
        if (below(l, 2))
            tx_clear(tx, STEP_F_START_US);
    }
    commit(l, tx);
}

static void end(struct life *l)
{
    struct job *j = pick_job(l, below(l, 8) ? active : plain_pending);
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    bool clean;

    if (!j)
        return;
    clean = !job_holds_resources(j->rec) || below(l, 2);
    tx = tx_new(l->now);
    set = tx_job_patch(tx, EV(JOB_END), j->rec->job_id);
    SET(set, state, (Pst__JobState)(JOB_STATE(COMPLETED) + below(l, 9)));
    SET(set, state_flags, clean ? 0 : JOB_FLAG(COMPLETING));
    SET(set, end_us, l->now - below(l, 1000) * SEC);
    if (clean)
        SET(set, released, true);
    SET(tx_cluster(tx), jobs_completed, l->c->rec->jobs_completed + 1);
    commit(l, tx);
}

static void clean(struct life *l)
{
    struct job *j = pick_job(l, completing);
    Pst__Transaction *tx = tx_new(l->now);

    if (j) {
        SET(tx_job_patch(tx, EV(JOB_CLEANED), j->rec->job_id), state_flags, 0);
        SET(tx->events[0]->job_patch->set, released, true);
    }
    commit(l, tx);
}

static void requeue(struct life *l)
{
    static const uint32_t gone[] = { JOB_F_REASON, JOB_F_EXIT_STATUS, JOB_F_START_US,
                                     JOB_F_END_US, JOB_F_ALLOC,       JOB_F_RELEASED };
    struct job *j = pick_job(l, completing);
    Pst__Transaction *tx;

    if (!j)
        return;
    tx = tx_new(l->now);
    SET(tx_job_patch(tx, EV(JOB_REQUEUE), j->rec->job_id), state, JOB_STATE(PENDING));
    SET(tx->events[0]->job_patch->set, state_flags, 0);
    SET(tx->events[0]->job_patch->set, restart_count, job_restarts(j->rec) + 1);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        tx_clear(tx, gone[i]);
    commit(l, tx);
}

static void suspend(struct life *l)
{
    struct job *j = pick_job(l, active);
    Pst__Transaction *tx = tx_new(l->now);

    if (j)
        SET(tx_job_patch(tx, EV(JOB_SUSPEND), j->rec->job_id), state,
            job_is_suspended(j->rec) ? JOB_STATE(RUNNING) : JOB_STATE(SUSPENDED));
    commit(l, tx);
}

static void update(struct life *l)
{
    static const uint32_t clears[] = {
        JOB_F_COMMENT,    JOB_F_NICE, JOB_F_BEGIN_US, JOB_F_NUM_TASKS, JOB_F_FEATURES,
        JOB_F_DEPENDENCY, 999
    };
    struct job *j = pick_job(l, any);
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    if (!j)
        return;
    tx = tx_new(l->now);
    set = tx_job_patch(tx, EV(JOB_UPDATE), j->rec->job_id);
    SET(set, nice, (int32_t)below(l, 100) - 50);
    SET(set, begin_us, l->now);
    if (below(l, 2))
        set->comment = tx_strdup(below(l, 2) ? "comment" : "");
    if (below(l, 2))
        set->dependency = tx_strdup("afterok:1(unfulfilled)");
    if (below(l, 2) && has_blob(l, 1000))
        script_n(set, 1000);
    tx_clear(tx, clears[below(l, ARRAY_SIZE(clears))]);
    commit(l, tx);
    /* What only queries see. */
    SET(j->rec, cur_priority, below(l, 1000));
}

static void purge(struct life *l)
{
    Pst__Transaction *tx = tx_new(l->now);
    struct job *j = cluster_done_oldest(l->c), *other = pick_job(l, done);

    if (j)
        tx_job_purge(tx, j->rec->job_id);
    if (other && other != j)
        tx_job_purge(tx, other->rec->job_id);
    commit(l, tx);
}

static void node(struct life *l)
{
    Pst__Transaction *tx = tx_new(l->now);
    uint32_t id = below(l, MAX_NODES);
    struct node *n = cluster_node(l->c, id);
    char name[16];

    (void)snprintf(name, sizeof(name), "n%u", below(l, MAX_NODES));
    if (!n && !cluster_node_named(l->c, name)) {
        put_node(tx, id, name, 1 + below(l, 64));
    } else if (n && below(l, 3) == 0) {
        tx_node_remove(tx, id); /* also under a running job: nothing forbids it to the log */
        if (below(l, 2))
            put_node(tx, id, n->rec->name, 3);
    } else if (n) {
        SET(tx_node_patch(tx, EV(NODE_STATE), id), state, (Pst__NodeState)below(l, 4));
        tx_clear(tx, NODE_F_REASON);
    }
    commit(l, tx);
}

static void part(struct life *l)
{
    static const char *const names[] = { "debug", "batch", "gpu" };
    static const char *const lists[] = { "n[0-9]", "n[5-30]", "", "n1,n3,n39" };
    const char *name = names[below(l, ARRAY_SIZE(names))],
               *list = lists[below(l, ARRAY_SIZE(lists))];
    Pst__Transaction *tx = tx_new(l->now);

    if (!cluster_partition(l->c, name)) {
        put_part(tx, name, list);
    } else if (below(l, 3) == 0) {
        tx_part_remove(tx, name);
    } else {
        tx_part_patch(tx, EV(PART_UPDATE), name)->nodes = tx_strdup(list);
        tx_clear(tx, below(l, 2) ? PART_F_IS_DEFAULT : PART_F_MAX_NODES);
    }
    commit(l, tx);
}

static void live(struct life *l)
{
    static const struct {
        void (*fn)(struct life *l);
        uint32_t weight;
    } acts[] = { { submit, 10 }, { start, 10 }, { split, 6 },   { step, 6 },
                 { end, 7 },     { clean, 5 },  { requeue, 2 }, { suspend, 2 },
                 { update, 4 },  { purge, 3 },  { node, 6 },    { part, 2 } };
    uint32_t total = 0, k;

    for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
        total += acts[i].weight;
    l->now += below(l, 10) * SEC;
    k = below(l, total);
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
        if (k < acts[i].weight) {
            acts[i].fn(l);
            return;
        }
        k -= acts[i].weight;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int sum_ids(const struct cluster *c, uint32_t array)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(c, array, &ids);
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ids[i] * 31 + 7;
    return (int)sum;
}

static void same_nodes(const struct cluster *a, const struct cluster *b)
{
    for (uint32_t i = 0; i < MAX_NODES; i++) {
        const struct node *x = cluster_node(a, i), *y = cluster_node(b, i);

        assert_int_equal(x == NULL, y == NULL);
        if (!x)
            continue;
        assert_int_equal(x->jobs, y->jobs);
        assert_int_equal(x->jobs_completing, y->jobs_completing);
        assert_int_equal(x->alloc_cpus, y->alloc_cpus);
        assert_int_equal(x->alloc_mem_mib, y->alloc_mem_mib);
        assert_ptr_equal(cluster_node_named(b, x->rec->name), y);
    }
}

static void same_parts(const struct cluster *a, const struct cluster *b)
{
    assert_int_equal(a->nparts, b->nparts);
    for (size_t i = 0; i < a->nparts; i++) {
        const struct partition *y = cluster_partition(b, a->parts[i]->rec->name);
        _cleanup_free_ char *s = NULL, *t = NULL;

        assert_non_null(y);
        assert_int_equal(bitmap_format(a->parts[i]->nodes, &s), 0);
        assert_int_equal(bitmap_format(y->nodes, &t), 0);
        assert_string_equal(s, t);
    }
}

static void same_blob(const struct blob *x, const struct blob *y)
{
    assert_non_null(y);
    assert_int_equal(x->refs, y->refs);
    assert_int_equal(x->old_hash, y->old_hash);
    assert_true(x->len == y->len && memcmp(x->data, y->data, x->len) == 0);
}

static void same(struct cluster *a, struct cluster *b)
{
    size_t pos, done_a = 0, done_b = 0;
    void *v;

    assert_int_equal(cluster_hash(a), cluster_hash(b));
    assert_memory_equal(a->njobs_state, b->njobs_state, sizeof(a->njobs_state));
    same_nodes(a, b);
    same_parts(a, b);
    assert_int_equal(a->jobs.count, b->jobs.count);
    assert_int_equal(a->arrays.count, b->arrays.count);
    for (pos = 0; (v = idmap_next(&a->jobs, &pos));) {
        const struct job *x = v, *y = cluster_job(b, x->rec->job_id);

        assert_non_null(y);
        assert_int_equal(x->in_active, y->in_active);
        assert_int_equal(x->in_done, y->in_done);
        if (x->rec->has_array_job_id)
            assert_int_equal(sum_ids(a, x->rec->array_job_id), sum_ids(b, x->rec->array_job_id));
        for (const struct step *s = x->steps, *t = y->steps; s || t; s = s->next, t = t->next)
            assert_true(s && t && s->rec->step_id == t->rec->step_id);
    }
    assert_int_equal(a->blobs.count, b->blobs.count);
    for (pos = 0; (v = idmap_next(&a->blobs, &pos));)
        for (const struct blob *x = v; x; x = x->next)
            same_blob(x, cluster_blob(b, &x->digest));
    assert_int_equal(a->old_blobs.count, b->old_blobs.count);
    for (pos = 0; (v = idmap_next(&a->old_blobs, &pos));)
        same_blob(v, idmap_get(&b->old_blobs, ((const struct blob *)v)->old_hash));
    for (const struct job *j = cluster_done_oldest(a); j; j = j->next_done)
        done_a++;
    for (const struct job *j = cluster_done_oldest(b); j; j = j->next_done) {
        assert_true(!j->next_done || j->next_done->rec->end_us >= j->rec->end_us);
        done_b++;
    }
    assert_int_equal(done_a, done_b);
}

static int into(void *ctx, const Pst__Transaction *tx)
{
    Pst__Transaction *again = repack(tx); /* as a snapshot's reader gets it */
    struct err err = { .text = "" };
    int r = cluster_apply(ctx, again, &err);

    if (r < 0)
        print_error("# %s\n", err.text);
    tx_free(again);
    return r;
}

static struct cluster *copy_of(const struct cluster *c)
{
    struct cluster *copy = new_cluster();

    assert_int_equal(cluster_dump(c, into, copy), 0);
    return copy;
}

static void replay(const struct life *l, size_t from, struct cluster *c)
{
    for (size_t i = from; i < l->n; i++) {
        Pst__Transaction *tx = pst__transaction__unpack(NULL, l->log[i].len, l->log[i].data);

        assert_non_null(tx);
        apply_ok(c, tx);
    }
}

static void one_life(uint64_t seed)
{
    struct life l = { .c = new_cluster(), .seed = seed, .now = T0, .next_job = 1, .next_db = 1 };
    struct cluster *middle = NULL, *all = new_cluster(), *dumped;
    size_t cut = 0, at = 200 + below(&l, STEPS - 400);

    for (uint32_t i = 0; i < 8; i++)
        node(&l);
    for (size_t i = 0; i < STEPS; i++) {
        live(&l);
        if (i == at) {
            middle = copy_of(l.c);
            same(l.c, middle);
            cut = l.n;
        }
    }
    replay(&l, 0, all);
    same(l.c, all);
    dumped = copy_of(l.c);
    same(l.c, dumped);
    replay(&l, cut, middle);
    same(l.c, middle);
    cluster_free(l.c);
    cluster_free(all);
    cluster_free(middle);
    cluster_free(dumped);
    for (size_t i = 0; i < l.n; i++)
        free(l.log[i].data);
    free(l.log);
}

static void test_lives(void **state)
{
    const char *given = getenv("PENSTOCK_TEST_SEED");

    (void)state;
    if (given) {
        one_life(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        one_life(seed);
    }
}

static int refuse_third(void *ctx, const Pst__Transaction *tx)
{
    unsigned *n = ctx;

    (void)tx;
    return ++*n == 3 ? -EIO : 0;
}

static void test_dump_stops(void **state)
{
    struct cluster *c = new_cluster();
    unsigned n = 0;

    (void)state;
    add_nodes(c, 5, 1);
    assert_int_equal(cluster_dump(c, refuse_third, &n), -EIO);
    assert_int_equal(n, 3);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lives),
                                        cmocka_unit_test(test_dump_stops) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
