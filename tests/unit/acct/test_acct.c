/* test_acct.c - the accounting store: what becomes of jobs, arrays, requeues and steps; crashes,
 * failures, and the schema */
#include "acct_util.h"
#include "base/must.h"
#include "blob_util.h"
#include "fields.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- records --------------------------------------------------------------------------------- */

static void test_lifecycle(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    const Pst__JobRecord *j;
    Pst__Transaction *tx = submit(7, 3, 0);

    SET(tx->events[0]->job_put, cur_priority, 99); /* volatile */
    feed(w, tx);
    feed(w, start(7, 3, 5, "n[1-2]"));
    a = ask_all(w->db);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->job->state, JOB_STATE(RUNNING));
    assert_int_equal(a.jobs[0]->n_steps, 1);
    answer_done(&a);

    tx = end(7, 25, JOB_STATE(FAILED), JOB_FLAG(COMPLETING));
    end_step(tx, 7, STEP_BATCH, STEP_IS(FAILED));
    feed(w, tx);
    feed(w, cleaned(7, 26));
    a = ask_all(w->db);
    j = a.jobs[0]->job;
    assert_int_equal(j->job_id, 7);
    assert_int_equal(j->state, JOB_STATE(FAILED));
    assert_int_equal(j->state_flags, 0);
    assert_int_equal(j->start_us, T0 + 5 * SEC);
    assert_int_equal(j->end_us, T0 + 25 * SEC);
    assert_int_equal(j->exit_status, 256);
    assert_string_equal(j->alloc->nodes, "n[1-2]");
    assert_string_equal(j->name, "job");
    assert_false(j->has_cur_priority);
    assert_int_equal(a.jobs[0]->steps[0]->state, STEP_IS(FAILED));
    assert_int_equal(a.jobs[0]->steps[0]->end_us, T0 + 25 * SEC);
}

static void test_after_the_end(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx;

    feed(w, submit(7, 3, 0));
    feed(w, end(7, 1, JOB_STATE(CANCELLED), 0)); /* gone from the cache now */
    tx = tx_new(T0 + 2 * SEC);
    (void)pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), 7)->comment, "late");
    feed(w, tx);
    tx = tx_new(T0 + 3 * SEC);
    tx_job_purge(tx, 7);
    feed(w, tx);
    a = ask_all(w->db);
    assert_int_equal(a.n, 1);
    assert_string_equal(a.jobs[0]->job->comment, "late");
    assert_int_equal(a.jobs[0]->job->end_us, T0 + 1 * SEC);
}

static void test_purge_closes(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0 + 9 * SEC);

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n1"));
    w->acct = acct_close(w->acct); /* nothing is cached */
    tx_job_purge(tx, 7);
    feed(w, tx);
    a = ask_all(w->db);
    assert_int_equal(a.jobs[0]->job->state, JOB_STATE(CANCELLED));
    assert_int_equal(a.jobs[0]->job->end_us, T0 + 9 * SEC);
}

static void test_unknown_is_skipped(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx = cleaned(8, 1);

    put_batch_step(tx, 8, 1);
    end_step(tx, 8, 0, STEP_IS(COMPLETED));
    (void)tx_node_patch(tx, EV(NODE_STATE), 1);
    blob_n(tx, 5, "x", 1);
    feed(w, tx);
    tx = submit(7, 3, 0);
    end_step(tx, 7, 4, STEP_IS(COMPLETED)); /* a step that never was */
    tx_clear(tx, 50000);
    feed(w, tx);
    a = ask_all(w->db);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->n_steps, 0);
}

static void test_array(void **state)
{
    static const struct {
        uint32_t id, task;
        bool rest;
    } rows[] = { { 2, 0, false }, { 3, 1, false }, { 1, 2, false } },
      early[] = { { 2, 0, false }, { 1, 0, true } };
    _cleanup_val_(answer_done) struct answer a = { 0 };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct world *w = *state;
    Pst__Transaction *tx = submit(1, 1, 0);
    uint32_t id = 1;

    SET(tx->events[0]->job_put, array_job_id, 1);
    (void)pb_set_str(&tx->events[0]->job_put->array_tasks, "0-2");
    feed(w, tx);
    for (uint32_t task = 0; task < 2; task++) {
        Pst__JobRecord *j;

        tx = tx_new(T0 + 10 * SEC);
        (void)pb_set_str(&tx_job_patch(tx, EV(UNSPECIFIED), 1)->array_tasks, task ? "2" : "1-2");
        j = put_job(tx, 2 + task, 2 + task, "job");
        SET(j, submit_us, T0);
        SET(j, array_job_id, 1);
        SET(j, array_task_id, task);
        fill_start(j, tx->time_us, "n1");
        put_batch_step(tx, 2 + task, 2 + task);
        feed(w, tx);
        if (task == 0) {
            a = ask_all(w->db);
            assert_int_equal(a.n, ARRAY_SIZE(early));
            for (size_t i = 0; i < a.n; i++) {
                assert_int_equal(a.jobs[i]->job->job_id, early[i].id);
                assert_int_equal(a.jobs[i]->job->array_tasks != NULL, early[i].rest);
            }
            assert_string_equal(a.jobs[1]->job->array_tasks, "1-2");
            answer_done(&a);
        }
    }
    tx = start(1, 1, 20, "n2"); /* the last one keeps the id */
    SET(tx->events[0]->job_patch->set, array_task_id, 2);
    tx->events[0]->job_patch->clear = malloc(sizeof(uint32_t));
    tx->events[0]->job_patch->clear[0] = 4;
    tx->events[0]->job_patch->n_clear = 1;
    feed(w, tx);
    f.job_ids = &id;
    f.n_job_ids = 1;
    a = ask(w->db, &f, T0 + 30 * SEC);
    assert_int_equal(a.n, ARRAY_SIZE(rows));
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(a.jobs[i]->job->job_id, rows[i].id);
        assert_int_equal(a.jobs[i]->job->array_task_id, rows[i].task);
        assert_null(a.jobs[i]->job->array_tasks);
        assert_int_equal(a.jobs[i]->n_steps, 1);
    }
}

static void test_steps(void **state)
{
    static const uint32_t order[] = { STEP_BATCH, STEP_EXTERN, STEP_INTERACTIVE, 0, 1, 10 };
    static const uint32_t made[] = { 10, 0, STEP_INTERACTIVE, 1, STEP_EXTERN };
    _cleanup_val_(answer_done) struct answer a = { 0 };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct world *w = *state;

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n1"));
    for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
        Pst__Transaction *tx = tx_new(T0 + 6 * SEC);
        Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), 7, made[i]);

        SET(s, state, STEP_IS(RUNNING));
        SET(s, job_db_id, 3);
        feed(w, tx);
        tx = tx_new(T0 + 7 * SEC);
        s = tx_step_patch(tx, EV(UNSPECIFIED), 7, made[i]);
        SET(s, exit_status, (uint32_t)i);
        feed(w, tx);
    }
    w->acct = acct_close(w->acct); /* the next patch finds it in the database */
    {
        Pst__Transaction *tx = tx_new(T0 + 9 * SEC);

        end_step(tx, 7, 10, STEP_IS(COMPLETED));
        feed(w, tx);
    }
    a = ask_all(w->db);
    assert_int_equal(a.jobs[0]->n_steps, ARRAY_SIZE(order));
    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        assert_int_equal(a.jobs[0]->steps[i]->step_id, order[i]);
    assert_int_equal(a.jobs[0]->steps[5]->state, STEP_IS(COMPLETED));
    assert_int_equal(a.jobs[0]->steps[5]->exit_status, 0);
    assert_int_equal(a.jobs[0]->steps[4]->exit_status, 3);
    answer_done(&a);
    SET(&f, allocations_only, true);
    a = ask(w->db, &f, T0 + 30 * SEC);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->n_steps, 0);
}

/* How a run ends before its job goes back to the queue, and what its row then shows. */
static const struct {
    const char *what;
    bool ended;
    Pst__JobState state;
    uint32_t flags;
    bool by_user;
    Pst__JobState shown;
    uint32_t shown_flags;
    int64_t end;
} requeues[] = {
    { "while running", false, 0, 0, false, JOB_STATE(CANCELLED), JOB_FLAG(REQUEUED), 20 },
    { "scontrol requeue", true, JOB_STATE(CANCELLED), JOB_FLAG(REQUEUED), false,
      JOB_STATE(CANCELLED), JOB_FLAG(REQUEUED), 10 },
    { "while completing", true, JOB_STATE(CANCELLED), JOB_FLAG(REQUEUED) | JOB_FLAG(COMPLETING),
      false, JOB_STATE(CANCELLED), JOB_FLAG(REQUEUED), 10 },
    { "node failure", true, JOB_STATE(NODE_FAIL), JOB_FLAG(REQUEUED) | JOB_FLAG(COMPLETING), false,
      JOB_STATE(NODE_FAIL), 0, 10 },
    { "preempted", true, JOB_STATE(PREEMPTED), JOB_FLAG(REQUEUED), false, JOB_STATE(PREEMPTED), 0,
      10 },
    { "requeue exit", true, JOB_STATE(FAILED), JOB_FLAG(REQUEUED) | JOB_FLAG(REQUEUE_HOLD), false,
      JOB_STATE(FAILED), 0, 10 },
    { "cancelled, later requeued", true, JOB_STATE(CANCELLED), 0, true, JOB_STATE(CANCELLED), 0,
      10 },
};

static void requeue_case(struct world *w, size_t i)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    Pst__Transaction *tx;

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n1"));
    if (requeues[i].ended) {
        tx = end(7, 10, requeues[i].state, requeues[i].flags);
        if (requeues[i].by_user)
            SET(tx->events[0]->job_patch->set, cancel_uid, 1000);
        feed(w, tx);
    }
    tx = requeue(7, 4, 20);
    feed(w, tx);
    tx = start(7, 4, 30, "n2");
    end_step(tx, 7, STEP_BATCH, STEP_IS(COMPLETED)); /* of this run, not the earlier one */
    feed(w, tx);
    feed(w, end(7, 40, JOB_STATE(COMPLETED), 0));
    a = ask_all(w->db);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.jobs[0]->job->db_id, 3);
    assert_int_equal(a.jobs[0]->job->state, requeues[i].shown);
    assert_int_equal(a.jobs[0]->job->state_flags, requeues[i].shown_flags);
    assert_int_equal(a.jobs[0]->job->end_us, T0 + requeues[i].end * SEC);
    assert_string_equal(a.jobs[0]->job->alloc->nodes, "n1");
    assert_false(a.jobs[0]->job->has_restart_count);
    assert_int_equal(a.jobs[0]->steps[0]->state, STEP_IS(RUNNING));
    assert_int_equal(a.jobs[1]->job->db_id, 4);
    assert_int_equal(a.jobs[1]->job->state, JOB_STATE(COMPLETED));
    assert_int_equal(a.jobs[1]->job->restart_count, 1);
    assert_string_equal(a.jobs[1]->job->alloc->nodes, "n2");
    assert_int_equal(a.jobs[1]->steps[0]->state, STEP_IS(COMPLETED));
    answer_done(&a);
    a = ask(w->db, &f, T0 + 50 * SEC); /* without duplicates */
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->job->db_id, 4);
}

static void test_requeue(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_SIZE(requeues); i++) {
        print_message("# %s\n", requeues[i].what);
        (void)snprintf(w->db, sizeof(w->db), "%s/requeue-%zu.db", w->dir, i);
        requeue_case(w, i);
        w->acct = acct_close(w->acct);
        w->lsn = 0;
    }
}

/* A step of an earlier run ends after the job was queued again. */
static void test_late_step(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx;

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n1"));
    feed(w, requeue(7, 4, 20));
    tx = tx_new(T0 + 21 * SEC);
    end_step(tx, 7, STEP_BATCH, STEP_IS(CANCELLED));
    feed(w, tx);
    a = ask_all(w->db);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.jobs[0]->steps[0]->state, STEP_IS(CANCELLED));
    assert_int_equal(a.jobs[1]->n_steps, 0);
}

/* The job goes on with these nodes, in a row of its own. */
static Pst__Transaction *resize(uint32_t id, uint64_t part, int64_t at, const char *nodes,
                                int64_t suspended_us)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_UPDATE), id);

    set->alloc = must(malloc(sizeof(*set->alloc)));
    pst__alloc__init(set->alloc);
    set->alloc->nodes = tx_strdup(nodes);
    SET(set, resize_us, tx->time_us);
    SET(set, part_id, part);
    set->part_sluid = tx_strdup("s00000000000P0");
    if (suspended_us)
        SET(set, part_suspended_us, suspended_us);
    return tx;
}

/* Each size that a job had has a row; its steps are those of the last.  live: the records stay in
 * memory meanwhile. */
static void resize_case(struct world *w, bool live)
{
    static const struct {
        uint32_t state, flags;
        int64_t start, end;
        const char *nodes;
        size_t steps;
    } rows[] = {
        { JOB_STATE(COMPLETED), JOB_FLAG(RESIZING), 5, 20, "n[1-3]", 0 },
        { JOB_STATE(COMPLETED), JOB_FLAG(RESIZING), 20, 30, "n[1-2]", 0 },
        { JOB_STATE(FAILED), 0, 30, 50, "n1", 2 },
    };
    static const uint32_t resizing[] = { ACCT_STATE_RESIZING },
                          completed[] = { JOB_STATE(COMPLETED) };
    _cleanup_val_(answer_done) struct answer a = { 0 };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    Pst__Transaction *tx;

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n[1-3]"));
    tx = resize(7, 4, 20, "n[1-2]", 2 * SEC);
    SET(tx->events[0]->job_patch->set, suspended_us, 2 * SEC);
    feed(w, tx);
    if (!live)
        w->acct = acct_close(w->acct);
    tx = tx_new(T0 + 25 * SEC);
    put_batch_step(tx, 7, 3);
    tx->events[0]->step_put->step_id = 0; /* a step of the run that begins now */
    SET(tx_job_patch(tx, EV(UNSPECIFIED), 7), suspended_us, 3 * SEC);
    feed(w, tx);
    feed(w, resize(7, 5, 30, "n1", 3 * SEC));
    if (!live)
        w->acct = acct_close(w->acct);
    tx = end(7, 50, JOB_STATE(FAILED), 0);
    end_step(tx, 7, STEP_BATCH, STEP_IS(FAILED));
    feed(w, tx);

    a = ask_all(w->db);
    assert_int_equal(a.n, ARRAY_SIZE(rows));
    for (size_t i = 0; i < a.n; i++) {
        const Pst__JobRecord *j = a.jobs[i]->job;

        assert_int_equal(j->db_id, 3);
        assert_int_equal(j->state, rows[i].state);
        assert_int_equal(j->state_flags, rows[i].flags);
        assert_int_equal(j->start_us, T0 + rows[i].start * SEC);
        assert_int_equal(j->end_us, T0 + rows[i].end * SEC);
        assert_string_equal(j->alloc->nodes, rows[i].nodes);
        assert_int_equal(a.jobs[i]->n_steps, rows[i].steps);
    }
    assert_null(a.jobs[0]->job->part_sluid);
    assert_int_equal(a.jobs[1]->job->suspended_us,
                     1 * SEC); /* of the three, those before are not its */
    assert_int_equal(a.jobs[2]->job->suspended_us, 0);
    assert_int_equal(a.jobs[2]->steps[0]->state, STEP_IS(FAILED));
    answer_done(&a);

    a = ask(w->db, &f, T0 + 60 * SEC); /* without duplicates */
    assert_int_equal(a.n, 1);
    assert_string_equal(a.jobs[0]->job->alloc->nodes, "n1");
    answer_done(&a);
    SET(&f, duplicates, true);
    f.states = (uint32_t *)resizing;
    f.n_states = 1;
    a = ask(w->db, &f, T0 + 60 * SEC);
    assert_int_equal(a.n, 2);
    answer_done(&a);
    f.states = (uint32_t *)completed;
    a = ask(w->db, &f, T0 + 60 * SEC);
    assert_int_equal(a.n, 0);
}

static void test_new_size(void **state)
{
    resize_case(*state, true);
}

static void test_new_size_unloaded(void **state)
{
    resize_case(*state, false);
}

/* A run that was queued again after its job had changed its size; and a record that comes whole. */
static void test_size_and_requeue(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx;
    Pst__JobRecord *j;

    feed(w, submit(7, 3, 0));
    feed(w, start(7, 3, 5, "n[1-2]"));
    feed(w, resize(7, 4, 20, "n1", 0));
    tx = requeue(7, 5, 30);
    tx_clear(tx, JOB_F_PART_ID);
    tx_clear(tx, JOB_F_PART_SLUID);
    tx_clear(tx, JOB_F_RESIZE_US);
    feed(w, tx);
    feed(w, start(7, 5, 40, "n[4-5]"));
    tx = tx_new(T0 + 60 * SEC);
    j = put_job(tx, 8, 6, "job");
    SET(j, submit_us, T0 + 1 * SEC);
    fill_start(j, T0 + 2 * SEC, "n9");
    SET(j, part_id, 9);
    SET(j, resize_us, T0 + 8 * SEC);
    feed(w, tx);

    a = ask_all(w->db);
    assert_int_equal(a.n, 4);
    for (size_t i = 0; i < a.n; i++) {
        j = a.jobs[i]->job;
        if (j->job_id == 8)
            assert_int_equal(j->start_us, T0 + 8 * SEC);
        else if (job_has_flag(j, JOB_FLAG(RESIZING)))
            assert_int_equal(j->end_us, T0 + 20 * SEC);
        else if (job_has_flag(j, JOB_FLAG(REQUEUED)))
            assert_int_equal(j->start_us, T0 + 20 * SEC);
        else
            assert_int_equal(j->start_us, T0 + 40 * SEC);
    }
}

static void test_job_id_again(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;

    feed(w, submit(7, 3, 0));
    feed(w, end(7, 1, JOB_STATE(CANCELLED), 0));
    feed(w, submit(7, 900, 100));
    feed(w, end(7, 101, JOB_STATE(FAILED), 0));
    a = ask_all(w->db);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.jobs[0]->job->state, JOB_STATE(CANCELLED));
    assert_int_equal(a.jobs[1]->job->state, JOB_STATE(FAILED));
    answer_done(&a);
    a = ask(w->db, &f, T0 + 200 * SEC);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->job->db_id, 900);
}

/* Another cluster's journal counts runs from 1 again: history stays. */
static void test_new_journal(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct world *w = *state;

    for (uint32_t life = 0; life < 3; life++) {
        uint32_t id = life == 2 ? 2 : 1; /* the third is the second's next boot */
        Pst__Transaction *tx = tx_new(T0);

        (void)pb_set_str(&tx_cluster(tx)->cluster_id, life ? "second" : "first");
        feed(w, tx);
        feed(w, submit(id, id, life * 100));
        feed(w, end(id, life * 100 + 1, JOB_STATE(COMPLETED), 0));
        if (life == 0) {
            assert_int_equal(acct_rewind(w->acct, 0), 0);
            w->lsn = 0;
        }
    }
    a = ask_all(w->db);
    assert_int_equal(a.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(a.jobs[i]->job->end_us, T0 + ((int64_t)i * 100 + 1) * SEC);
}

/* ---- crashes and failures -------------------------------------------------------------------- */

#define LIVES 60u

/* The n-th transaction of a fixed history with every kind of change in it. */
static Pst__Transaction *history(uint32_t n)
{
    uint32_t id = n / 6 + 1, db = 2 * id;
    int64_t at = n;
    Pst__Transaction *tx;

    switch (n % 6) {
    case 0:
        return submit(id, db, at);
    case 1:
        return start(id, db, at, "n[1-4]");
    case 2:
        tx =
            end(id, at, id % 3 ? JOB_STATE(COMPLETED) : JOB_STATE(NODE_FAIL), JOB_FLAG(COMPLETING));
        end_step(tx, id, STEP_BATCH, STEP_IS(COMPLETED));
        return tx;
    case 3:
        return id % 3 ? cleaned(id, at) : requeue(id, db + 1, at);
    case 4:
        return id % 3 ? tx_new(T0 + at * SEC) : start(id, db + 1, at, "n5");
    default:
        return end(id, at, JOB_STATE(COMPLETED), 0);
    }
}

/* Apply lsn 1 .. to (those below the cursor are skipped), a commit after every `batch`. */
static int apply_history(struct acct *a, uint32_t to, uint32_t batch)
{
    int r = acct_begin(a);

    for (uint32_t lsn = 1; r == 0 && lsn <= to; lsn++) {
        Pst__Transaction *tx = history(lsn - 1);

        r = acct_apply(a, lsn, tx, NULL);
        tx_free(tx);
        if (r == 0 && lsn % batch == 0) {
            r = acct_commit(a);
            r = r < 0 ? r : acct_begin(a);
        }
    }
    return r < 0 ? r : acct_commit(a);
}

static struct answer straight(struct world *w)
{
    char path[320];
    struct acct *a;
    struct answer ans;

    (void)snprintf(path, sizeof(path), "%s/straight.db", w->dir);
    a = open_db(path);
    assert_int_equal(apply_history(a, LIVES * 6, LIVES * 6), 0);
    acct_close(a);
    ans = ask_all(path);
    assert_int_equal(ans.n, LIVES + LIVES / 3);
    return ans;
}

static void test_again(void **state)
{
    _cleanup_val_(answer_done) struct answer want = { 0 }, got = { 0 };
    struct world *w = *state;
    Pst__Transaction *tx = history(0);

    want = straight(w);
    w->acct = open_db(w->db);
    assert_int_equal(acct_apply(w->acct, 1, tx, NULL), -EINVAL); /* no batch */
    assert_int_equal(apply_history(w->acct, 100, 7), 0);
    assert_int_equal(acct_begin(w->acct), 0); /* applied, never committed */
    assert_int_equal(acct_apply(w->acct, 101, tx, NULL), 0);
    assert_int_equal(acct_cursor(w->acct), 100);
    tx_free(tx);
    acct_close(w->acct);
    w->acct = open_db(w->db);
    assert_int_equal(acct_cursor(w->acct), 100);
    assert_int_equal(apply_history(w->acct, LIVES * 6, 11), 0);
    assert_int_equal(apply_history(w->acct, LIVES * 6, 13), 0); /* all of it once more */
    got = ask_all(w->db);
    assert_same(&want, &got);
}

static void test_killed(void **state)
{
    _cleanup_val_(answer_done) struct answer want = { 0 }, got = { 0 };
    struct world *w = *state;

    want = straight(w);
    for (uint32_t round = 1; round <= 6; round++) {
        uint32_t upto = round * 57;
        uint64_t cursor;
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            struct acct *a = NULL;
            Pst__Transaction *tx;

            if (acct_open(w->db, "test", &a, NULL) < 0 || apply_history(a, upto, 5) < 0 ||
                acct_begin(a) < 0)
                _exit(1);
            tx = history(upto);
            if (acct_apply(a, upto + 1, tx, NULL) < 0)
                _exit(1);
            (void)kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        w->acct = open_db(w->db);
        cursor = acct_cursor(w->acct);
        assert_int_equal(cursor, upto);
        w->acct = acct_close(w->acct);
    }
    w->acct = open_db(w->db);
    assert_int_equal(apply_history(w->acct, LIVES * 6, 5), 0);
    got = ask_all(w->db);
    assert_same(&want, &got);
}

/* No room: the batch is undone, nothing is lost, and it goes on when there is room. */
static void test_no_room(void **state)
{
    _cleanup_val_(answer_done) struct answer want = { 0 }, got = { 0 };
    struct rlimit old, tight = { .rlim_cur = 90 << 10 };
    struct world *w = *state;
    int r;

    if (on_server())
        skip(); /* about files */
    want = straight(w);
    w->acct = open_db(w->db);
    assert_int_equal(apply_history(w->acct, 20, 10), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    r = apply_history(w->acct, LIVES * 6, 10);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_true(r < 0);
    assert_true(acct_error(w->acct)[0] != '\0');
    assert_in_range(acct_cursor(w->acct), 20, LIVES * 6 - 1);
    assert_int_equal(acct_cursor(w->acct) % 10, 0);
    assert_int_equal(apply_history(w->acct, LIVES * 6, 10), 0);
    got = ask_all(w->db);
    assert_same(&want, &got);
}

static void test_locked(void **state)
{
    struct world *w = *state;
    sqlite3 *other;

    if (on_server())
        skip(); /* about files */
    w->acct = open_db(w->db);
    assert_int_equal(sqlite3_open(w->db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(acct_begin(w->acct), -EBUSY);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    assert_int_equal(apply_history(w->acct, 20, 10), 0);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static const struct {
    const char *what, *sql; /* what is there before; NULL: a text file */
    const char *cluster;
    int rc;
} files[] = {
    { "an empty file", "", "test", 0 },
    { "version 0 with nothing in it", "PRAGMA user_version=0; VACUUM;", "test", 0 },
    { "a newer release's", "PRAGMA application_id=1347633475; PRAGMA user_version=999;", "test",
      -EPROTONOSUPPORT },
    { "another program's", "CREATE TABLE t(x);", "test", -EINVAL },
    { "another program's, empty", "PRAGMA application_id=77;", "test", -EINVAL },
    { "no database", NULL, "test", -EUCLEAN },
};

static int64_t number(const char *db, const char *sql)
{
    sqlite3_stmt *stmt;
    sqlite3 *c;
    int64_t n;

    assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(c, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    n = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(c);
    return n;
}

static void make_file(const char *path, const char *sql)
{
    sqlite3 *c;
    FILE *f;

    if (sql) {
        assert_int_equal(sqlite3_open(path, &c), SQLITE_OK);
        assert_int_equal(sqlite3_exec(c, sql, NULL, NULL, NULL), SQLITE_OK);
        (void)sqlite3_close(c);
        return;
    }
    f = fopen(path, "we");
    assert_non_null(f);
    for (int i = 0; i < 500; i++)
        fprintf(f, "this is no database\n");
    assert_int_equal(fclose(f), 0);
}

static void test_schema(void **state)
{
    struct world *w = *state;

    if (on_server())
        skip(); /* about files */
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct err err = { .text = "" };
        struct acct *a = NULL;

        (void)snprintf(w->db, sizeof(w->db), "%s/file-%zu.db", w->dir, i);
        make_file(w->db, files[i].sql);
        print_message("# %s\n", files[i].what);
        assert_int_equal(acct_open(w->db, files[i].cluster, &a, &err), files[i].rc);
        assert_int_equal(files[i].rc == 0, a != NULL);
        assert_int_equal(files[i].rc == 0, err.text[0] == '\0');
        if (!a)
            continue;
        assert_int_equal(acct_cursor(a), 0);
        assert_int_equal(apply_history(a, 12, 5), 0);
        acct_close(a);
        assert_int_equal(number(w->db, "PRAGMA user_version"), 3);
        assert_int_equal(number(w->db, "SELECT count(*) FROM jobs"), 2);
        a = open_db(w->db); /* nothing to migrate */
        assert_int_equal(acct_cursor(a), 12);
        acct_close(a);
    }
}

/* What the first release left: its tables, a cluster's name, a cursor, one job. */
static const char version_1[] =
    "PRAGMA application_id=1347633475; PRAGMA user_version=1;"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('cursor', 77), ('base', 5), ('cluster', 'test'), ('cluster_id', 'abc');"
    "CREATE TABLE jobs(run INTEGER PRIMARY KEY, job_id INTEGER NOT NULL, array_job_id INTEGER,"
    " array_task_id INTEGER, uid INTEGER NOT NULL, state INTEGER NOT NULL, begun_us INTEGER NOT NULL,"
    " eligible_us INTEGER, start_us INTEGER, end_us INTEGER NOT NULL, partition TEXT, name TEXT,"
    " account TEXT, qos TEXT, nodes TEXT, record BLOB NOT NULL);"
    "INSERT INTO jobs VALUES(7, 7, NULL, NULL, 1000, 3, 1, 1, 2, 3, 'p', 'n', NULL, NULL, NULL, x'0807');"
    "CREATE INDEX jobs_job ON jobs(job_id);"
    "CREATE INDEX jobs_array ON jobs(array_job_id) WHERE array_job_id IS NOT NULL;"
    "CREATE INDEX jobs_end ON jobs(end_us);"
    "CREATE INDEX jobs_uid ON jobs(uid, end_us);"
    "CREATE TABLE steps(run INTEGER NOT NULL, step INTEGER NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY(run, step)) WITHOUT ROWID;";

static void test_migrate(void **state)
{
    struct world *w = *state;
    struct answer got;

    if (on_server())
        skip(); /* about files */
    make_file(w->db, version_1);
    w->acct = open_db(w->db);
    assert_int_equal(acct_cursor(w->acct), 77);
    assert_int_equal(acct_source(w->acct), 0);
    got = ask_all(w->db);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.jobs[0]->job->job_id, 7);
    assert_string_equal(got.jobs[0]->cluster, "test");
    answer_done(&got);
    w->lsn = 77;
    feed(w, submit(8, 3, 10));
    assert_int_equal(number(w->db, "SELECT max(run) FROM jobs"), 8); /* base 5 */
}

/* Two clusters and their runs of equal numbers in one store; one of them begins anew. */
static void test_sources(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    Pst__AcctFilter only = PST__ACCT_FILTER__INIT;
    char *names[] = { "Two" };
    struct answer got = { 0 };

    for (int i = 0; i < 3; i++) {
        w->acct = acct_close(w->acct);
        assert_int_equal(
            acct_open_source(w->db, i == 1 ? "two" : "one", i == 2 ? "new" : "old", &w->acct, &err),
            0);
        assert_int_equal(acct_cursor(w->acct), 0);
        w->lsn = 0;
        feed(w, submit(1, 1, i * 10));
    }
    w->acct = acct_close(w->acct);
    assert_int_equal(acct_open_source(w->db, "one", "new", &w->acct, &err), 0);
    assert_int_equal(acct_cursor(w->acct), 1);
    got = ask_all(w->db);
    assert_int_equal(got.n, 3);
    answer_done(&got);
    only.clusters = names;
    only.n_clusters = 1;
    got = (struct answer){ 0 };
    assert_int_equal(acct_query(w->db, &only, T0 + 1000 * SEC, collect, &got, &err), 0);
    assert_int_equal(got.n, 1);
    assert_string_equal(got.jobs[0]->cluster, "two");
    answer_done(&got);
}

/* Who was replaced as the feeder and comes back later writes nothing. */
static void test_replaced(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    struct acct *late = NULL;
    Pst__Transaction *tx;

    assert_int_equal(acct_open_source(w->db, "one", "u", &w->acct, &err), 0);
    feed(w, submit(1, 1, 0));
    assert_int_equal(acct_open_source(w->db, "one", "u", &late, &err), 0);
    feed(w, submit(2, 2, 10));
    assert_int_equal(acct_begin(late), 0);
    tx = submit(3, 3, 20);
    assert_int_equal(acct_apply(late, 2, tx, &err), 0);
    tx_free(tx);
    assert_int_equal(acct_commit(late), -ESTALE);
    assert_non_null(strstr(acct_error(late), "another"));
    assert_null(acct_close(late));
    feed(w, submit(4, 4, 30));
    assert_int_equal(number(w->db, "SELECT count(*) FROM jobs WHERE run IN (1, 2, 4)"), 3);
    assert_int_equal(number(w->db, "SELECT count(*) FROM jobs"), 3);
}

static void test_cluster_name(void **state)
{
    struct stat st;
    struct err err = { .text = "" };
    struct world *w = *state;
    struct acct *a = NULL;

    if (on_server())
        skip(); /* about files */
    assert_int_equal(acct_open(w->db, NULL, &a, &err), 0);
    acct_close(a);
    assert_int_equal(stat(w->db, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    acct_close(open_db(w->db)); /* takes the name "test" */
    assert_int_equal(acct_open(w->db, "other", &a, &err), -EEXIST);
    assert_non_null(strstr(err.text, "belongs to cluster test"));
    (void)snprintf(w->db, sizeof(w->db), "%s/none/acct.db", w->dir);
    assert_int_equal(acct_open(w->db, "test", &a, &err), -ENOENT);
    assert_int_equal(
        acct_query(w->db, &(Pst__AcctFilter)PST__ACCT_FILTER__INIT, T0, collect, NULL, &err),
        -ENOENT);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_lifecycle),
        TEST(test_after_the_end),
        TEST(test_purge_closes),
        TEST(test_unknown_is_skipped),
        TEST(test_array),
        TEST(test_steps),
        TEST(test_requeue),
        TEST(test_late_step),
        TEST(test_job_id_again),
        TEST(test_new_journal),
        TEST(test_again),
        TEST(test_killed),
        TEST(test_no_room),
        TEST(test_locked),
        TEST(test_schema),
        TEST(test_cluster_name),
        TEST(test_migrate),
        TEST(test_sources),
        TEST(test_replaced),
        TEST(test_new_size),
        TEST(test_new_size_unloaded),
        TEST(test_size_and_requeue),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
