/* test_rollup.c - usage summed up by hour, day and month: cases by hand, and random lives against a
 * plain count */
#include "rollup_util.h"

#include <time.h>

#include "acct/accttres.h"

static void test_hours(void **state)
{
    struct world *w = *state;

    make_nodes(w);
    queue_job(w, 1, HOUR / 2, "chem", 7, "cpu=4,mem=400M,node=1");
    start_job(w, 1, HOUR, "cpu=4,mem=400M,node=1,gres/gpu=2,gres/gpu:a100=2");
    end_job(w, 1, 2 * HOUR + 600, 2 * HOUR + 600);
    queue_job(w, 2, 2 * HOUR, "phys", 8, "cpu=100,node=1"); /* waits for more than there is */
    set_node(w, 1, 2 * HOUR + 1800, PST__NODE_STATE__NODE_DOWN, 0);
    set_node(w, 1, 3 * HOUR, PST__NODE_STATE__NODE_IDLE, 0);
    fed(w, 3 * HOUR + 10);
    assert_int_equal(used(w, "chem", 7, "cpu", 0, 3 * HOUR), 4 * (HOUR + 600));
    assert_int_equal(used(w, "chem", 7, "cpu", HOUR, 2 * HOUR), 4 * HOUR);
    assert_int_equal(used(w, "chem", 7, "mem", HOUR, 2 * HOUR), 400 * HOUR);
    assert_int_equal(used(w, "chem", 7, "gres/gpu:a100", 0, 3 * HOUR), 2 * (HOUR + 600));
    assert_int_equal(used(w, "phys", 0, "cpu", 0, DAY), 0);
    assert_cluster(w, 0, HOUR, "cpu", 0, 0, 0, 4 * 1800, 16 * HOUR - 4 * 1800, 0);
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 4 * HOUR, 0, 0, 0, 12 * HOUR, 0);
    assert_cluster(w, 2 * HOUR, 3 * HOUR, "cpu", 4 * 600, 8 * 1800, 0,
                   16 * HOUR - 4 * 600 - 8 * 1800, 0, 0);
    assert_cluster(w, 0, 3 * HOUR, "node", 3600 + 600, 1800, 0, 1800 + 3600, 5400 + 3600 + 1200, 0);
    roll(w); /* nothing is due: nothing changes */
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 4 * HOUR, 0, 0, 0, 12 * HOUR, 0);
}

/* Partial hours are not shown; what comes late is counted when it comes. */
static void test_late(void **state)
{
    struct world *w = *state;

    make_nodes(w);
    queue_job(w, 1, 0, "a", 1, "cpu=1");
    start_job(w, 1, 0, "cpu=1,node=1");
    fed(w, 5 * HOUR);
    assert_int_equal(used(w, "a", 1, "cpu", 0, DAY), 5 * HOUR);
    fed(w, 5 * HOUR + 1800);
    assert_int_equal(used(w, "a", 1, "cpu", 0, DAY), 5 * HOUR);
    end_job(w, 1, 2 * HOUR + 60, 6 * HOUR); /* its node was away, and knew */
    fed(w, 6 * HOUR + 1);
    assert_int_equal(used(w, "a", 1, "cpu", 0, DAY), 2 * HOUR + 60);
    assert_int_equal(used(w, "a", 1, "cpu", 3 * HOUR, DAY), 0);
}

/* Who asks for steps is told when their job stood still. */
static void assert_suspensions(struct world *w, bool allocations_only, const int64_t *want,
                               size_t n)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct answer a;

    SET(&f, allocations_only, allocations_only);
    a = ask(w->db, &f, (MONTH + DAY) * SEC);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.jobs[0]->n_suspensions, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(a.jobs[0]->suspensions[i],
                         want[i] == INT64_MAX ? INT64_MAX : (MONTH + want[i]) * SEC);
    answer_done(&a);
}

static void test_suspended(void **state)
{
    struct world *w = *state;
    const int64_t periods[] = { 600, HOUR + 600, HOUR + 1000, INT64_MAX };

    make_nodes(w);
    queue_job(w, 1, 0, "a", 1, "cpu=2");
    start_job(w, 1, 0, "cpu=2");
    change_state(w, 1, 600, JOB_STATE(SUSPENDED));
    change_state(w, 1, HOUR + 600, JOB_STATE(RUNNING));
    change_state(w, 1, HOUR + 1000, JOB_STATE(SUSPENDED));
    fed(w, HOUR + 1000);
    assert_suspensions(w, false, periods, 4);
    assert_suspensions(w, true, NULL, 0);
    change_state(w, 1, HOUR + 1000, JOB_STATE(RUNNING));
    end_job(w, 1, 2 * HOUR, 2 * HOUR);
    fed(w, 2 * HOUR + 1);
    assert_int_equal(used(w, "a", 1, "cpu", 0, HOUR), 2 * 600);
    assert_int_equal(used(w, "a", 1, "cpu", HOUR, 2 * HOUR), 2 * 3000);
    assert_cluster(w, 0, HOUR, "cpu", 2 * 600, 0, 0, 0, 16 * HOUR - 2 * 600, 0);
}

/* A job that gives CPUs back is counted with what it held at each time, and has not waited
 * since. */
static void test_new_size(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    make_nodes(w);
    queue_job(w, 1, HOUR / 2, "a", 1, "cpu=8");
    start_job(w, 1, HOUR, "cpu=8");
    tx = tx_new((MONTH + HOUR + 1800) * SEC);
    set = tx_job_patch(tx, EV(JOB_UPDATE), 1);
    (void)pb_set_str(&set->alloc_tres, "cpu=4");
    SET(set, part_id, 2);
    SET(set, resize_us, tx->time_us);
    feed(w, tx);
    end_job(w, 1, 2 * HOUR, 2 * HOUR);
    fed(w, 2 * HOUR + 1);
    assert_int_equal(used(w, "a", 1, "cpu", 0, 2 * HOUR), 12 * 1800);
    assert_cluster(w, 0, HOUR, "cpu", 0, 0, 0, 8 * 1800, 16 * HOUR - 8 * 1800, 0);
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 12 * 1800, 0, 0, 0, 16 * HOUR - 12 * 1800, 0);
}

static void test_nodes(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx;

    make_nodes(w);
    set_node(w, 0, HOUR, PST__NODE_STATE__NODE_IDLE, 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN);
    w->acct = acct_close(w->acct); /* what nodes there are is in the database */
    set_node(w, 0, 2 * HOUR, PST__NODE_STATE__NODE_DOWN, 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN);
    set_node(w, 0, 3 * HOUR, PST__NODE_STATE__NODE_DOWN,
             1u << PST__NODE_FLAG__NODE_FLAG_POWERED_DOWN);
    set_node(w, 0, 4 * HOUR, PST__NODE_STATE__NODE_IDLE, 0);
    queue_job(w, 1, 4 * HOUR, "a", 1, "cpu=99"); /* more than there is, as an overcommitted one */
    start_job(w, 1, 4 * HOUR, "cpu=20");
    end_job(w, 1, 5 * HOUR, 5 * HOUR);
    tx = tx_new((MONTH + 6 * HOUR) * SEC);
    tx_node_remove(tx, 1);
    feed(w, tx);
    fed(w, 8 * HOUR);
    assert_cluster(w, 0, HOUR, "cpu", 0, 0, 0, 0, 16 * HOUR, 0);
    assert_cluster(w, HOUR, 3 * HOUR, "cpu", 0, 16 * HOUR, 0, 0, 16 * HOUR, 0);
    assert_cluster(w, 3 * HOUR, 4 * HOUR, "cpu", 0, 0, 8 * HOUR, 0, 8 * HOUR, 0);
    assert_cluster(w, 4 * HOUR, 5 * HOUR, "cpu", 20 * HOUR, 0, 0, 0, 0, 4 * HOUR);
    assert_cluster(w, 6 * HOUR, 8 * HOUR, "cpu", 0, 0, 0, 0, 16 * HOUR, 0);
}

/* Without a controller what was idle is down, what was allocated is not. */
static void test_no_controller(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    struct sql *db = NULL;
    char text[300];

    make_nodes(w);
    queue_job(w, 1, 0, "a", 1, "cpu=4");
    start_job(w, 1, 0, "cpu=4");
    (void)snprintf(
        text, sizeof(text),
        "INSERT INTO events SELECT source, '', %lld, %lld, 1, 'x', NULL, tres, nodes FROM events WHERE node=''",
        (long long)(MONTH + HOUR + 1800) * SEC, (long long)(MONTH + 3 * HOUR) * SEC);
    assert_int_equal(acct_db_open(w->db, &db, &err), 0);
    assert_int_equal(sql_exec(db, text), 0);
    assert_null(sql_close(db));
    end_job(w, 1, 2 * HOUR + 900, 4 * HOUR); /* while nobody looked */
    fed(w, 5 * HOUR);
    assert_cluster(w, 0, HOUR, "cpu", 4 * HOUR, 0, 0, 0, 12 * HOUR, 0);
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 4 * HOUR, 6 * HOUR, 0, 0, 6 * HOUR, 0);
    assert_cluster(w, 2 * HOUR, 3 * HOUR, "cpu", HOUR, 15 * HOUR, 0, 0, 0, 0);
    assert_cluster(w, 3 * HOUR, 4 * HOUR, "cpu", 0, 0, 0, 0, 16 * HOUR, 0);
}

static void test_sizes(void **state)
{
    struct world *w = *state;
    Pst__UsageReply *reply;

    make_nodes(w);
    for (uint32_t id = 1; id <= 3; id++) {
        queue_job(w, id, 0, id == 3 ? "b" : "a", 1, "cpu=4");
        start_job(w, id, 10, "cpu=4");
        end_job(w, id, 110, 110);
    }
    reply = ask_usage(w, PST__USAGE_KIND__USAGE_SIZES, 0, HOUR);
    assert_int_equal(reply->n_sizes, 2);
    assert_string_equal(reply->sizes[0]->account, "a");
    assert_int_equal(reply->sizes[0]->n_sizes, 1);
    assert_int_equal(reply->sizes[0]->sizes[0]->bound, 4);
    assert_int_equal(reply->sizes[0]->sizes[0]->jobs, 2);
    assert_int_equal(reply->sizes[0]->sizes[0]->cpu_s, 2 * 4 * 100);
    pst__usage_reply__free_unpacked(reply, NULL);
}

/* Accounts as the part that keeps them stores them: sub below chem below root. */
static void test_parents(void **state)
{
    static const struct an_assoc assocs[] = {
        { 1, 0, "root", NULL }, { 2, 1, "chem", NULL }, { 3, 2, "sub", NULL }, { 4, 3, "sub", "u" }
    };
    struct world *w = *state;
    Pst__UsageReply *reply;

    make_nodes(w);
    make_assocs(w, assocs, ARRAY_SIZE(assocs));
    reply = ask_usage(w, PST__USAGE_KIND__USAGE_WHO, 0, HOUR);
    assert_int_equal(reply->n_parents, 2);
    assert_string_equal(reply->parents[0]->account, "chem");
    assert_string_equal(reply->parents[0]->parent, "root");
    assert_string_equal(reply->parents[1]->account, "sub");
    assert_string_equal(reply->parents[1]->parent, "chem");
    pst__usage_reply__free_unpacked(reply, NULL);
}

/* ---- random lives ---------------------------------------------------------------------------- */

struct life {
    int64_t start, end;
    uint32_t uid, cpus;
};

static uint64_t overlap(const struct life *l, int64_t from, int64_t to)
{
    int64_t a = MAX(l->start, from), b = MIN(l->end, to);

    return b > a ? (uint64_t)(b - a) * l->cpus : 0;
}

static void test_random(void **state)
{
    enum { LIVES = 300, DAYS = 70 };
    static struct life lives[LIVES];
    struct world *w = *state;
    char tres[32];

    srandom(4711);
    make_nodes(w);
    for (uint32_t i = 0; i < LIVES; i++) {
        struct life *l = &lives[i];

        l->start = (int64_t)i * DAYS * DAY / LIVES + random() % 7200;
        l->end = l->start + random() % (i % 50 ? 9000 : 5 * DAY);
        l->uid = 1 + (uint32_t)random() % 5;
        l->cpus = 1 + (uint32_t)random() % 9;
        (void)snprintf(tres, sizeof(tres), "cpu=%u", l->cpus);
        queue_job(w, i + 1, l->start, "acc", l->uid, tres);
        start_job(w, i + 1, l->start, tres);
        end_job(w, i + 1, l->end, l->end);
        if (i % 60 == 59)
            fed(w, l->start); /* in between: what is known then */
    }
    fed(w, (DAYS + 20) * (int64_t)DAY);
    for (int i = 0; i < 60; i++) {
        int64_t from = random() % (DAYS * 24) * HOUR,
                to = from + (1 + random() % (i % 2 ? 24 * 60 : 50)) * HOUR;
        uint32_t uid = 1 + (uint32_t)random() % 5;
        uint64_t want = 0;

        if (i % 10 == 0)
            from = from / DAY * DAY;
        for (size_t k = 0; k < LIVES; k++)
            want += lives[k].uid == uid ? overlap(&lives[k], from, to) : 0;
        assert_int_equal(used(w, "acc", uid, "cpu", from, to), want);
    }
}

/* ---- archive --------------------------------------------------------------------------------- */

static void test_archive(void **state)
{
    _cleanup_val_(answer_done) struct answer before = { 0 }, after = { 0 };
    _cleanup_val_(strbuf_done) struct strbuf files = STRBUF_INIT;
    struct err err = { .text = "" };
    struct world *w = *state;
    char *copy, *save = NULL;
    size_t loaded = 0;
    uint64_t rows;

    make_nodes(w);
    set_node(w, 0, 60, PST__NODE_STATE__NODE_DOWN, 0);
    set_node(w, 0, 120, PST__NODE_STATE__NODE_IDLE, 0);
    for (uint32_t id = 1; id <= 40; id++) {
        Pst__Transaction *tx = tx_new((MONTH + id * 60) * SEC);

        queue_job(w, id, id * 60, id % 2 ? "a" : "b'\\", id, "cpu=1");
        start_job(w, id, id * 60, "cpu=1");
        put_batch_step(tx, id, id);
        feed(w, tx);
        if (id != 5) /* it runs for long */
            end_job(w, id, id * 60 + 30, id * 60 + 30);
    }
    fed(w, 10 * HOUR);
    before = ask_all(w->db);
    purge(w, (struct archive_what){ .job_h = 1, .event_h = 1, .usage_h = 1 }, 30,
          &files); /* nothing is as old */
    assert_int_equal(rows_of(w, "jobs"), 40);
    assert_int_equal(files.len, 0);
    purge(w,
          (struct archive_what){
              .job_h = 5, .jobs = true, .event_h = 5, .events = true, .usage_h = 5, .usage = true },
          10 * HOUR + 60, &files);
    assert_int_equal(rows_of(w, "jobs"), 1);
    assert_int_equal(rows_of(w, "steps"), 1);
    assert_int_equal(used(w, "a", 7, "cpu", 0, HOUR), 0);
    copy = strdup(strbuf_str(&files));
    assert_non_null(copy);
    for (int pass = 0; pass < 2; pass++) { /* the second time changes nothing */
        char *text = strdup(strbuf_str(&files));

        for (char *f = strtok_r(text, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
            assert_non_null(strstr(f, "/test_"));
            assert_int_equal(load_file(w, f, &rows, &err), 0);
            loaded++;
        }
        free(text);
    }
    assert_int_equal(loaded, 2 * 5);
    after = ask_all(w->db);
    assert_same(&before, &after);
    assert_int_equal(used(w, "a", 7, "cpu", 0, HOUR), 30);
    purge(w, (struct archive_what){ .step_h = 5 }, 10 * HOUR + 60, NULL); /* without a trace */
    assert_int_equal(rows_of(w, "jobs"), 40);
    assert_int_equal(rows_of(w, "steps"), 1);
    /* what is no archive, or one with its end missing, changes nothing */
    assert_int_equal(truncate(strtok_r(copy, "\n", &save), 200), 0);
    assert_int_equal(load_file(w, copy, &rows, &err), -EINVAL);
    assert_non_null(strstr(err.text, "damaged"));
    assert_int_equal(rows_of(w, "steps"), 1);
    assert_int_equal(load_file(w, "/nonexistent", &rows, &err), -ENOENT);
    free(copy);
}

static void test_text(void **state)
{
    const char *text = "cpu=4,mem=2G,billing=7,x,=3,gres/gpu:a100=2,mem=512K,license/a=1K";
    static const struct tres_item want[] = { { "cpu", 4 },     { "mem", 2048 },
                                             { "billing", 7 }, { "gres/gpu:a100", 2 },
                                             { "mem", 0 },     { "license/a", 1024 } };
    struct tres_item item, items[8];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        assert_true(tres_next(&text, &item));
        assert_string_equal(item.name, want[i].name);
        assert_int_equal(item.count, want[i].count);
    }
    assert_false(tres_next(&text, &item));
    assert_int_equal(tres_of_gres("gpu:a100:2,gpu:v100:1(S:0),shard:8,fpga", items, 8), 5);
    assert_string_equal(items[0].name, "gres/gpu");
    assert_int_equal(items[0].count, 3);
    assert_string_equal(items[2].name, "gres/gpu:v100");
    assert_int_equal(items[4].count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text), TEST(test_hours),    TEST(test_late),
        TEST(test_suspended),        TEST(test_nodes),    TEST(test_sizes),
        TEST(test_random),           TEST(test_archive),  TEST(test_parents),
        TEST(test_no_controller),    TEST(test_new_size),
    };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
