/* test_acct_query.c - filters and windows of the accounting store, by table and against a plain
 * reference that 100,000 random transactions are applied to as well */
#include "acct_util.h"

#include "acct/filter.h"
#include "base/hostlist.h"

/* ---- by table -------------------------------------------------------------------------------- */

/* The world: seconds after T0.  uid 1000 unless said; partition debug.
 *  1  submit 0, start 10, completed 100, n1
 *  2  submit 20, start 30, failed 60, n[2-3], gpu, uid 1001, account physics, qos high, name train
 *  3  submit 40, cancelled 80 while pending
 *  4  submit 50, held: never eligible
 *  5  submit 90, start 200, running, n[1,5]
 *  6  submit 110, eligible 500 (begin time), pending, partitions debug,gpu
 *  7  submit 120, start 130, node failure 140, requeued 145 (run 8), start 300, running
 *  10 array of submit 150: task 0 is job 11, started 160, completed 170; tasks 1-3 pending */
static void make_world(struct world *w)
{
    Pst__Transaction *tx;
    Pst__JobRecord *j;

    feed(w, submit(1, 1, 0));
    feed(w, start(1, 1, 10, "n1"));
    tx = submit(2, 2, 20);
    j = tx->events[0]->job_put;
    SET(j, uid, 1001);
    (void)pb_set_str(&j->partition, "gpu");
    (void)pb_set_str(&j->account, "physics");
    (void)pb_set_str(&j->qos, "high");
    (void)pb_set_str(&j->name, "train");
    feed(w, tx);
    feed(w, start(2, 2, 30, "n[2-3]"));
    feed(w, submit(3, 3, 40));
    tx = submit(4, 4, 50);
    tx->events[0]->job_put->has_eligible_us = false;
    feed(w, tx);
    feed(w, end(2, 60, JOB_STATE(FAILED), 0));
    feed(w, end(3, 80, JOB_STATE(CANCELLED), 0));
    feed(w, submit(5, 5, 90));
    feed(w, end(1, 100, JOB_STATE(COMPLETED), 0));
    tx = submit(6, 6, 110);
    tx->events[0]->job_put->eligible_us = T0 + 500 * SEC;
    (void)pb_set_str(&tx->events[0]->job_put->partition, "debug,gpu");
    feed(w, tx);
    feed(w, submit(7, 7, 120));
    feed(w, start(7, 7, 130, "n9"));
    feed(w, end(7, 140, JOB_STATE(NODE_FAIL), JOB_FLAG(REQUEUED)));
    feed(w, requeue(7, 8, 145));
    tx = submit(10, 10, 150);
    SET(tx->events[0]->job_put, array_job_id, 10);
    (void)pb_set_str(&tx->events[0]->job_put->array_tasks, "1-3");
    j = put_job(tx, 11, 11, "job");
    SET(j, array_job_id, 10);
    SET(j, array_task_id, 0);
    feed(w, tx);
    feed(w, start(11, 11, 160, "n1"));
    feed(w, end(11, 170, JOB_STATE(COMPLETED), 0));
    feed(w, start(5, 5, 200, "n[1,5]"));
    feed(w, start(7, 8, 300, "n8"));
}

#define NONE INT64_MIN

static const struct {
    const char *what;
    uint32_t jobs[4], uids[2], states[4];
    int nstates;
    const char *partition, *name, *account, *qos, *nodes;
    int64_t start, end; /* NONE = absent */
    bool duplicates;
    int64_t now;      /* 0 = 1000 */
    const char *want; /* db ids in order */
} cases[] = {
#define ALL .start = NONE, .end = NONE
#define S(x) PST__JOB_STATE__JOB_##x
    { "all", ALL, .want = "1 2 3 4 5 6 8 11 10" },
    { "all runs", ALL, .duplicates = true, .want = "1 2 3 4 5 6 7 8 11 10" },
    { "a job", ALL, .jobs = { 2 }, .want = "2" },
    { "some jobs", ALL, .jobs = { 5, 1, 99 }, .want = "1 5" },
    { "no such job", ALL, .jobs = { 99 }, .want = "" },
    { "an array by its id", ALL, .jobs = { 10 }, .want = "11 10" },
    { "a task by its own id", ALL, .jobs = { 11 }, .want = "11" },
    { "a user", ALL, .uids = { 1001 }, .want = "2" },
    { "two users", ALL, .uids = { 1001, 1000 }, .want = "1 2 3 4 5 6 8 11 10" },
    { "a partition", ALL, .partition = "gpu", .want = "2 6" },
    { "half a partition's name", ALL, .partition = "gp", .want = "" },
    { "a name", ALL, .name = "train", .want = "2" },
    { "an account", ALL, .account = "physics", .want = "2" },
    { "a qos", ALL, .qos = "high", .want = "2" },
    { "none of that account", ALL, .account = "chem", .want = "" },
    { "a node", ALL, .nodes = "n1", .want = "1 5 11" },
    { "nodes", ALL, .nodes = "n[3-5]", .want = "2 5" },
    { "a node of an earlier run", ALL, .nodes = "n9", .want = "7" },
    { "a job and a user", ALL, .jobs = { 1, 2 }, .uids = { 1001 }, .want = "2" },
    { "quotes are no SQL", ALL, .name = "x') OR 1=1 --", .want = "" },
    /* windows without states; who is held shows only when named */
    { "until now", .start = 0, .end = NONE, .want = "1 2 3 5 6 8 11 10" },
    { "before anything", .start = -100, .end = -50, .want = "" },
    { "ends are not in", .start = 100, .end = 105, .want = "5" },
    { "ends are just in", .start = 99, .end = 105, .want = "1 5" },
    { "submitted at the end", .start = 0, .end = 20, .want = "1" },
    { "submitted just before", .start = 0, .end = 21, .want = "1 2" },
    { "while pending", .start = 70, .end = 75, .want = "1 3" },
    { "eligible later", .start = 400, .end = 450, .want = "5 8 10" },
    { "eligible then", .start = 490, .end = 501, .want = "5 6 8 10" },
    { "an earlier run", .start = 120, .end = 141, .want = "5 7" },
    { "both runs", .start = 120, .end = 149, .duplicates = true, .want = "5 7 8" },
    { "the newer of both", .start = 120, .end = 149, .want = "5 8" },
    { "held, but named", .start = 0, .end = NONE, .jobs = { 4 }, .want = "4" },
    { "held and named, too early", .start = 0, .end = 45, .jobs = { 4 }, .want = "" },
    { "an instant", .start = 95, .end = 95, .want = "1 5" },
    { "only an end", .start = NONE, .end = 41, .want = "1 2 3" },
    { "only a start", .start = 171, .end = NONE, .want = "5 6 8 10" },
    { "now in whole seconds", .start = 0, .end = 150, .now = 150, .want = "1 2 3 5 8 11 10" },
    { "not long ago", .start = 0, .end = 149, .now = 151, .want = "1 2 3 5 8" },
    /* states, now */
    { "running", ALL, .states = { S(RUNNING) }, .nstates = 1, .want = "5 8" },
    { "pending", ALL, .states = { S(PENDING) }, .nstates = 1, .want = "4 6 10" },
    { "over", ALL, .states = { S(COMPLETED), S(FAILED) }, .nstates = 2, .want = "1 2 11" },
    { "cancelled", ALL, .states = { S(CANCELLED) }, .nstates = 1, .want = "3" },
    { "node failures", ALL, .states = { S(NODE_FAIL) }, .nstates = 1, .want = "7" },
    { "suspended", ALL, .states = { S(SUSPENDED) }, .nstates = 1, .want = "" },
    /* states in a window */
    { "running at an instant", .start = 50, .end = 50, .states = { S(RUNNING) }, .nstates = 1,
      .want = "1 2" },
    { "ran in a window", .start = 0, .end = 135, .states = { S(RUNNING) }, .nstates = 1,
      .want = "1 2 7" },
    { "running now", .start = 1000, .end = 1000, .states = { S(RUNNING) }, .nstates = 1,
      .want = "5 8" },
    { "over just as it begins", .start = 60, .end = 60, .states = { S(RUNNING) }, .nstates = 1,
      .want = "1" },
    { "failed in it", .start = 60, .end = 61, .states = { S(FAILED), S(CANCELLED) }, .nstates = 2,
      .want = "2" },
    { "failed before", .start = 61, .end = 75, .states = { S(FAILED), S(CANCELLED) }, .nstates = 2,
      .want = "" },
    { "failed or cancelled", .start = 0, .end = 900, .states = { S(FAILED), S(CANCELLED) },
      .nstates = 2, .want = "2 3" },
    { "waited in it", .start = 60, .end = 95, .states = { S(PENDING) }, .nstates = 1,
      .want = "3 5" },
    { "waited until it began", .start = 80, .end = 82, .states = { S(PENDING) }, .nstates = 1,
      .want = "" },
    { "waits now", .start = 1000, .end = 1000, .states = { S(PENDING) }, .nstates = 1,
      .want = "6 10" },
    { "waits now, held and named", .start = 1000, .end = 1000, .jobs = { 4 },
      .states = { S(PENDING) }, .nstates = 1, .want = "4" },
    { "running or failed", .start = 55, .end = 65, .states = { S(RUNNING), S(FAILED) },
      .nstates = 2, .want = "1 2" },
};

static void fill_filter(Pst__AcctFilter *f, size_t i)
{
    /* the strings are only read */
    static char *text[5];

    pst__acct_filter__init(f);
    f->job_ids = (uint32_t *)(uintptr_t)cases[i].jobs;
    while (f->n_job_ids < 4 && cases[i].jobs[f->n_job_ids])
        f->n_job_ids++;
    f->uids = (uint32_t *)(uintptr_t)cases[i].uids;
    while (f->n_uids < 2 && cases[i].uids[f->n_uids])
        f->n_uids++;
    f->states = (uint32_t *)(uintptr_t)cases[i].states;
    f->n_states = (size_t)cases[i].nstates;
    text[0] = (char *)(uintptr_t)cases[i].partition;
    text[1] = (char *)(uintptr_t)cases[i].name;
    text[2] = (char *)(uintptr_t)cases[i].account;
    text[3] = (char *)(uintptr_t)cases[i].qos;
    f->partitions = &text[0];
    f->n_partitions = text[0] != NULL;
    f->names = &text[1];
    f->n_names = text[1] != NULL;
    f->accounts = &text[2];
    f->n_accounts = text[2] != NULL;
    f->qos = &text[3];
    f->n_qos = text[3] != NULL;
    f->nodes = (char *)(uintptr_t)cases[i].nodes;
    if (cases[i].start != NONE)
        SET(f, start_us, T0 + cases[i].start * SEC);
    if (cases[i].end != NONE)
        SET(f, end_us, T0 + cases[i].end * SEC);
    if (cases[i].duplicates)
        SET(f, duplicates, true);
}

static void test_cases(void **state)
{
    struct world *w = *state;

    make_world(w);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t now = T0 + (cases[i].now ? cases[i].now : 1000) * SEC;
        Pst__AcctFilter f;
        struct answer a;
        char got[200] = "";

        fill_filter(&f, i);
        a = ask(w->db, &f, now);
        for (size_t k = 0; k < a.n; k++)
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%llu", k ? " " : "",
                           (unsigned long long)a.jobs[k]->job->db_id);
        if (strcmp(got, cases[i].want) != 0)
            print_error("%s: got '%s', want '%s'\n", cases[i].what, got, cases[i].want);
        assert_string_equal(got, cases[i].want);
        answer_done(&a);
    }
}

static void test_requeued_state(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    uint32_t want = ACCT_STATE_REQUEUED;
    struct world *w = *state;

    feed(w, submit(1, 1, 0));
    feed(w, start(1, 1, 10, "n1"));
    feed(w, requeue(1, 2, 20));
    f.states = &want;
    f.n_states = 1;
    a = ask(w->db, &f, T0 + 100 * SEC);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->job->db_id, 1);
    answer_done(&a);
    want = JOB_STATE(CANCELLED);
    a = ask(w->db, &f, T0 + 100 * SEC);
    assert_int_equal(a.n, 0);
}

static int stop_at_two(void *ctx, const Pst__AcctJob *job)
{
    (void)job;
    return ++*(int *)ctx == 2 ? -EINTR : 0;
}

static void test_cursor(void **state)
{
    _cleanup_(acct_rows_close) struct acct_rows *rows = NULL;
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct err err = { .text = "" };
    struct world *w = *state;
    const uint8_t *data;
    size_t len, n = 0;
    int calls = 0, r;

    make_world(w);
    assert_int_equal(acct_query(w->db, &f, T0 + 1000 * SEC, stop_at_two, &calls, &err), -EINTR);
    assert_int_equal(calls, 2);
    assert_int_equal(acct_rows_open(w->db, &f, T0 + 1000 * SEC, NULL, &rows, &err), 0);
    while ((r = acct_rows_next(rows, &data, &len, &err)) == 1) {
        Pst__AcctJob *job = pst__acct_job__unpack(NULL, len, data);

        assert_non_null(job);
        assert_non_null(job->job);
        pst__acct_job__free_unpacked(job, NULL);
        n++;
    }
    assert_int_equal(r, 0);
    assert_int_equal(acct_rows_next(rows, &data, &len, &err), 0);
    assert_int_equal(n, 9);
    f.nodes = (char *)(uintptr_t) "n[3-1]";
    assert_int_equal(acct_query(w->db, &f, T0, collect, NULL, &err), -EINVAL);
    assert_true(err.text[0] != '\0');
}

/* ---- against the reference ------------------------------------------------------------------- */

#define TXS 100000u
#define LIVE_MAX 3000u
#define RUNS_MAX 60000u
#define USERS 5u

struct ref_run {
    Pst__JobRecord *rec;
    Pst__StepRecord *steps[3]; /* batch, 0, 1 */
    uint32_t uid;
};

/* The store as one would write it in an afternoon: every run in an array. */
struct ref {
    struct ref_run *runs;
    size_t nruns;
    uint32_t live[LIVE_MAX]; /* indexes of current runs */
    size_t nlive;
    uint32_t next_job;
    int64_t now;
    uint64_t rng;
};

static uint32_t rnd(struct ref *r, uint32_t below)
{
    r->rng = r->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((r->rng >> 33) % below);
}

static const uint32_t step_ids[] = { STEP_BATCH, 0, 1 };

static struct ref_run *ref_add(struct ref *r, Pst__JobRecord *rec)
{
    struct ref_run *run = &r->runs[r->nruns++];

    assert_true(r->nruns < RUNS_MAX);
    run->rec = rec;
    run->uid = rec->uid;
    return run;
}

static Pst__JobRecord *dup_job(const Pst__JobRecord *rec)
{
    ProtobufCMessage *copy;

    assert_int_equal(pb_dup(&rec->base, &copy), 0);
    return (Pst__JobRecord *)copy;
}

static void ref_submit(struct ref *r, Pst__Transaction *tx)
{
    static const char *const partitions[] = { "debug", "gpu", "debug,gpu" };
    uint32_t id = r->next_job++;
    Pst__JobRecord *j = put_job(tx, id, r->nruns + 1, rnd(r, 2) ? "a" : "b");

    SET(j, uid, 1000 + rnd(r, USERS));
    (void)pb_set_str(&j->partition, partitions[rnd(r, 3)]);
    if (rnd(r, 10) == 0)
        j->has_eligible_us = false;
    r->live[r->nlive++] = (uint32_t)r->nruns;
    (void)ref_add(r, dup_job(j));
}

static void ref_patch(struct ref_run *run, const Pst__Transaction *tx, size_t event)
{
    const Pst__JobPatch *p = tx->events[event]->job_patch;

    assert_int_equal(pb_merge(&run->rec->base, &p->set->base), 0);
    for (size_t i = 0; i < p->n_clear; i++)
        (void)pb_clear(&run->rec->base, p->clear[i]);
}

static void ref_step(struct ref *r, struct ref_run *run, Pst__Transaction *tx, size_t k)
{
    uint32_t id = run->rec->job_id;
    ProtobufCMessage *copy;

    if (!run->steps[k]) {
        Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), id, step_ids[k]);

        SET(s, state, STEP_IS(RUNNING));
        SET(s, start_us, r->now);
        SET(s, job_db_id, run->rec->db_id);
        assert_int_equal(pb_dup(&s->base, &copy), 0);
        run->steps[k] = (Pst__StepRecord *)copy;
    } else {
        Pst__StepRecord *s = tx_step_patch(tx, EV(STEP_END), id, step_ids[k]);

        SET(s, state, STEP_IS(COMPLETED));
        SET(s, end_us, r->now);
        SET(s, exit_status, rnd(r, 3));
        assert_int_equal(pb_merge(&run->steps[k]->base, &s->base), 0);
        run->steps[k]->job_id = id; /* a patch's own ids are no fields of the record */
        run->steps[k]->step_id = step_ids[k];
    }
}

static void ref_end(struct ref *r, struct ref_run *run, Pst__Transaction *tx)
{
    static const Pst__JobState states[] = { JOB_STATE(COMPLETED), JOB_STATE(FAILED),
                                            JOB_STATE(TIMEOUT), JOB_STATE(CANCELLED) };
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), run->rec->job_id);

    SET(set, state, states[rnd(r, 4)]);
    SET(set, end_us, r->now);
    SET(set, state_flags, rnd(r, 2) ? JOB_FLAG(COMPLETING) : 0);
    ref_patch(run, tx, tx->n_events - 1);
}

static void ref_requeue(struct ref *r, size_t at, Pst__Transaction *tx)
{
    struct ref_run *old = &r->runs[r->live[at]], *run;
    Pst__Transaction *made = requeue(old->rec->job_id, r->nruns + 1, (r->now - T0) / SEC);

    made->time_us = tx->time_us;
    made->events[0]->job_patch->set->requeue_us = r->now;
    r->live[at] = (uint32_t)r->nruns;
    run = ref_add(r, dup_job(old->rec));
    ref_patch(run, made, 0);
    if (!job_is_ended(old->rec))
        SET(old->rec, end_us, r->now);
    if (!job_is_ended(old->rec) || old->rec->state == JOB_STATE(CANCELLED)) {
        SET(old->rec, state, JOB_STATE(CANCELLED));
        SET(old->rec, state_flags, JOB_FLAG(REQUEUED));
    } else {
        SET(old->rec, state_flags, 0);
    }
    tx->events = realloc(tx->events, (tx->n_events + 1) * sizeof(Pst__Event *));
    assert_non_null(tx->events);
    tx->events[tx->n_events++] = made->events[0];
    made->n_events = 0;
    tx_free(made);
}

/* One random thing happens to a random job. */
static void ref_change(struct ref *r, Pst__Transaction *tx)
{
    size_t at = rnd(r, (uint32_t)r->nlive);
    struct ref_run *run = &r->runs[r->live[at]];
    bool ended = job_is_ended(run->rec), pending = job_is_pending(run->rec);
    uint32_t what = rnd(r, 100);

    if (ended && what < 80) { /* forgotten */
        tx_job_purge(tx, run->rec->job_id);
        r->live[at] = r->live[--r->nlive];
    } else if (what < 4) {
        ref_requeue(r, at, tx);
    } else if (pending && what < 60) {
        Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_START), run->rec->job_id);
        char nodes[32];

        (void)snprintf(nodes, sizeof(nodes), "n[%u-%u]", rnd(r, 20), 20 + rnd(r, 20));
        fill_start(set, r->now, nodes);
        ref_patch(run, tx, tx->n_events - 1);
        ref_step(r, run, tx, 0);
    } else if (!pending && what < 50) {
        ref_step(r, run, tx, rnd(r, 3));
    } else if (!ended && what < 85) {
        ref_end(r, run, tx);
    } else {
        char text[32];

        (void)snprintf(text, sizeof(text), "note %u", rnd(r, 1000));
        (void)pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), run->rec->job_id)->comment, text);
        ref_patch(run, tx, tx->n_events - 1);
    }
}

/* ---- the reference's idea of a query --------------------------------------------------------- */

static int64_t run_begun(const Pst__JobRecord *j)
{
    return j->has_requeue_us ? MAX(j->submit_us, j->requeue_us) : j->submit_us;
}

static bool in_words(char *const *words, size_t n, const char *list)
{
    for (size_t i = 0; i < n; i++) {
        const char *at = list ? strstr(list, words[i]) : NULL;

        if (at && (at == list || at[-1] == ',') && strchr(",", at[strlen(words[i])]))
            return true;
    }
    return n == 0;
}

static bool on_nodes(const Pst__JobRecord *j, const char *node)
{
    struct hostlist *hl;
    bool found;

    if (!node || !j->alloc)
        return !node;
    assert_int_equal(hostlist_parse(j->alloc->nodes, &hl, NULL), 0);
    found = hostlist_find(hl, node) >= 0;
    hostlist_free(hl);
    return found;
}

static uint32_t shown(const Pst__JobRecord *j)
{
    return j->state == JOB_STATE(CANCELLED) && j->has_state_flags &&
                   j->state_flags == JOB_FLAG(REQUEUED)
               ? ACCT_STATE_REQUEUED
               : j->state;
}

static bool state_matches(const Pst__JobRecord *j, uint32_t s, int64_t from, int64_t to)
{
    bool over = job_is_ended(j);
    int64_t e = over ? j->end_us : INT64_MAX;

    if (s == JOB_STATE(RUNNING))
        return j->has_start_us && j->start_us < to && e > from;
    if (s == JOB_STATE(PENDING))
        return (j->has_eligible_us ? MAX(j->eligible_us, run_begun(j)) : run_begun(j)) < to &&
               (j->has_start_us ? j->start_us : e) > from;
    return shown(j) == s && over && e >= from && e < to;
}

static bool matches(const struct ref_run *run, const Pst__AcctFilter *f)
{
    const Pst__JobRecord *j = run->rec;
    bool over = job_is_ended(j), found = f->n_states == 0;

    if ((f->n_uids && f->uids[0] != run->uid) || (f->n_job_ids && f->job_ids[0] != j->job_id) ||
        !in_words(f->partitions, f->n_partitions, j->partition) ||
        !in_words(f->names, f->n_names, j->name) || !on_nodes(j, f->nodes))
        return false;
    if (!f->has_start_us) {
        for (size_t i = 0; i < f->n_states; i++)
            found = found || f->states[i] == shown(j);
        return found;
    }
    if (!f->n_job_ids && !j->has_eligible_us && !over)
        return false;
    for (size_t i = 0; i < f->n_states; i++)
        found = found || state_matches(j, f->states[i], f->start_us, f->end_us);
    if (!f->n_states)
        found =
            (j->has_eligible_us ? MAX(j->eligible_us, run_begun(j)) : run_begun(j)) < f->end_us &&
            (!over || j->end_us > f->start_us);
    return found;
}

static int by_order(const void *a, const void *b)
{
    const struct ref_run *x = *(const struct ref_run *const *)a;
    const struct ref_run *y = *(const struct ref_run *const *)b;

    if (run_begun(x->rec) != run_begun(y->rec))
        return run_begun(x->rec) < run_begun(y->rec) ? -1 : 1;
    if (x->rec->job_id != y->rec->job_id)
        return x->rec->job_id < y->rec->job_id ? -1 : 1;
    return x->rec->db_id < y->rec->db_id ? -1 : 1;
}

static void check_query(struct ref *r, const char *db, const Pst__AcctFilter *f)
{
    const struct ref_run **want = calloc(r->nruns + 1, sizeof(struct ref_run *));
    struct answer a = ask(db, f, r->now + 1000 * SEC);
    bool *seen = calloc(r->next_job + 1, sizeof(bool));
    size_t n = 0;

    assert_true(want && seen);
    for (size_t i = r->nruns; i-- > 0;) {
        uint32_t id = r->runs[i].rec->job_id;

        if (!matches(&r->runs[i], f) || (seen[id] && !f->duplicates))
            continue;
        seen[id] = true;
        want[n++] = &r->runs[i];
    }
    qsort(want, n, sizeof(want[0]), by_order);
    assert_int_equal(a.n, n);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        assert_true(pb_equal(&a.jobs[i]->job->base, &want[i]->rec->base));
        for (size_t s = 0; s < 3; s++)
            if (want[i]->steps[s] && !f->allocations_only)
                assert_true(pb_equal(&a.jobs[i]->steps[k++]->base, &want[i]->steps[s]->base));
        assert_int_equal(a.jobs[i]->n_steps, k);
    }
    answer_done(&a);
    free(want);
    free(seen);
}

static void random_query(struct ref *r, const char *db)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    uint32_t uid = 1000 + rnd(r, USERS), job = 1 + rnd(r, r->next_job), states[2];
    char partition[] = "gpu", name[] = "b", node[8];
    char *partitions[] = { partition }, *names[] = { name };
    int64_t span = r->now - T0;

    f.uids = &uid;
    f.n_uids = rnd(r, 2);
    f.job_ids = &job;
    f.n_job_ids = rnd(r, 8) == 0;
    f.partitions = partitions;
    f.n_partitions = rnd(r, 4) == 0;
    f.names = names;
    f.n_names = rnd(r, 4) == 0;
    f.states = states;
    f.n_states = rnd(r, 2) + rnd(r, 2);
    for (size_t i = 0; i < 2; i++)
        states[i] = (uint32_t[]){ 0, 1, 3, 4, 5, 6, ACCT_STATE_REQUEUED }[rnd(r, 7)];
    if (rnd(r, 4) == 0) {
        (void)snprintf(node, sizeof(node), "n%u", rnd(r, 40));
        f.nodes = node;
    }
    if (rnd(r, 4)) {
        SET(&f, start_us, T0 + span / 1000 * rnd(r, 1000));
        SET(&f, end_us, f.start_us + 1 + span / 1000 * rnd(r, 300));
    }
    SET(&f, duplicates, rnd(r, 2));
    SET(&f, allocations_only, rnd(r, 2));
    check_query(r, db, &f);
}

static void ref_free(struct ref *r)
{
    for (size_t i = 0; i < r->nruns; i++) {
        pst__job_record__free_unpacked(r->runs[i].rec, NULL);
        for (size_t s = 0; s < 3; s++)
            if (r->runs[i].steps[s])
                pst__step_record__free_unpacked(r->runs[i].steps[s], NULL);
    }
    free(r->runs);
    free(r);
}

static void test_random(void **state)
{
    struct ref *r = calloc(1, sizeof(*r));
    Pst__AcctFilter all = PST__ACCT_FILTER__INIT;
    struct err err = { .text = "" };
    struct world *w = *state;

    assert_non_null(r);
    r->runs = calloc(RUNS_MAX, sizeof(*r->runs));
    assert_non_null(r->runs);
    *r = (struct ref){ .runs = r->runs, .next_job = 1, .now = T0, .rng = 20261120 };
    SET(&all, duplicates, true);
    w->acct = open_db(w->db);
    assert_int_equal(acct_begin(w->acct), 0);
    for (uint64_t lsn = 1; lsn <= TXS; lsn++) {
        Pst__Transaction *tx;

        r->now += rnd(r, 20000);
        tx = tx_new(r->now);
        if (r->nlive < 10 || (r->nlive < LIVE_MAX && rnd(r, 3) == 0))
            ref_submit(r, tx);
        else
            ref_change(r, tx);
        assert_int_equal(acct_apply(w->acct, lsn, tx, &err), 0);
        tx_free(tx);
        if (rnd(r, 500) == 0 || lsn == TXS) {
            assert_int_equal(acct_commit(w->acct), 0);
            if (rnd(r, 10) == 0) {
                acct_close(w->acct);
                w->acct = open_db(w->db);
                assert_int_equal(acct_cursor(w->acct), lsn);
            }
            if (rnd(r, 4) == 0)
                random_query(r, w->db);
            assert_int_equal(acct_begin(w->acct), 0);
        }
    }
    assert_int_equal(acct_commit(w->acct), 0);
    check_query(r, w->db, &all);
    for (int i = 0; i < 60; i++)
        random_query(r, w->db);
    print_message("# %zu runs, %zu live\n", r->nruns, r->nlive);
    ref_free(r);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_cases),
        TEST(test_requeued_state),
        TEST(test_cursor),
        TEST(test_random),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
