/* test_watchfilter.c - batches of changes, and what of them a watcher wants */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/watch/watch_impl.h"

static const uint32_t all[] = { PST__WATCH_ENTITY__WATCH_JOB, PST__WATCH_ENTITY__WATCH_NODE,
                                PST__WATCH_ENTITY__WATCH_PARTITION };

static struct watch_filter *filter_of(const Pst__WatchRequest *req)
{
    struct err err = { .text = "" };
    struct watch_filter *f = NULL;

    if (watch_filter_new(req, &f, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

/* A job of user 1000 called "sim" in partitions p and q, task of array 40, now running. */
static const char text[] = "sim\0p,q";

static struct watch_item job_item(void)
{
    return (struct watch_item){ .entity = PST__WATCH_ENTITY__WATCH_JOB,
                                .id = 42,
                                .array_id = 40,
                                .uid = 1000,
                                .states = 1u << 1 | 1u << 0,
                                .name = 0,
                                .partition = 4 };
}

static bool wants(const Pst__JobFilter *jobs)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    struct watch_item it = job_item();
    struct watch_filter *f;
    bool match;

    req.jobs = (Pst__JobFilter *)jobs;
    f = filter_of(&req);
    match = watch_filter_match(f, &it, text);
    assert_false(watch_filter_all(f));
    assert_null(watch_filter_free(f));
    return match;
}

static void test_jobs(void **state)
{
    Pst__JobFilter j = PST__JOB_FILTER__INIT;
    uint32_t numbers[] = { 41, 42 }, array[] = { 40 }, root[] = { 0 }, user[] = { 0, 1000 },
             states[] = { 1 }, ended[] = { 3 };
    char *names[] = { (char *)"sim" }, *other[] = { (char *)"si" }, *parts[] = { (char *)"q" };

    (void)state;
    assert_true(wants(&j)); /* nothing is asked: all jobs */
    j.job_ids = numbers;
    j.n_job_ids = 2;
    assert_true(wants(&j));
    j.n_job_ids = 1;
    assert_false(wants(&j));
    j.job_ids = array; /* the number of its array */
    assert_true(wants(&j));
    j.uids = root;
    j.n_uids = 1;
    assert_false(wants(&j)); /* every condition has to hold */
    j.uids = user;
    j.n_uids = 2;
    assert_true(wants(&j));
    j.states = states;
    j.n_states = 1;
    assert_true(wants(&j)); /* in one of the states before or after */
    j.states = ended;
    assert_false(wants(&j));
    j.n_states = 0;
    j.names = other;
    j.n_names = 1;
    assert_false(wants(&j));
    j.names = names;
    assert_true(wants(&j));
    j.partitions = other;
    j.n_partitions = 1;
    assert_false(wants(&j));
    j.partitions = parts; /* any word of the list */
    assert_true(wants(&j));
}

static void test_entities(void **state)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    const uint32_t nodes_only[] = { PST__WATCH_ENTITY__WATCH_NODE };
    struct watch_item job = job_item(), node = { .entity = PST__WATCH_ENTITY__WATCH_NODE },
                      part = { .entity = PST__WATCH_ENTITY__WATCH_PARTITION };
    char *parts[] = { (char *)"debug" };
    struct watch_filter *f = filter_of(&req);

    (void)state;
    assert_true(watch_filter_match(f, &job, text)); /* without a word: jobs */
    assert_false(watch_filter_match(f, &node, "n1"));
    watch_filter_free(f);
    req.entities = (uint32_t *)nodes_only;
    req.n_entities = 1;
    req.nodes = (char *)"n[1-3]";
    f = filter_of(&req);
    assert_false(watch_filter_match(f, &job, text));
    assert_true(watch_filter_match(f, &node, "n3"));
    assert_false(watch_filter_match(f, &node, "n4"));
    watch_filter_free(f);
    req.entities = (uint32_t *)all;
    req.n_entities = 3;
    req.partitions = parts;
    req.n_partitions = 1;
    f = filter_of(&req);
    assert_true(watch_filter_match(f, &job, text));
    assert_true(watch_filter_match(f, &part, "debug"));
    assert_false(watch_filter_match(f, &part, "p"));
    assert_false(watch_filter_all(f));
    watch_filter_free(f);
    req.n_partitions = 0;
    req.nodes = NULL;
    f = filter_of(&req);
    assert_true(watch_filter_all(f));
    watch_filter_free(f);
}

static void refused(const Pst__WatchRequest *req, const char *sentence)
{
    struct err err = { .text = "" };
    struct watch_filter *f = NULL;

    assert_true(watch_filter_new(req, &f, &err) < 0);
    assert_null(f);
    if (sentence)
        assert_string_equal(err.text, sentence);
    assert_string_not_equal(err.text, "");
}

static void test_refused(void **state)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    Pst__JobFilter j = PST__JOB_FILTER__INIT;
    uint32_t none[] = { 0 }, high[] = { 77 }, odd[] = { 1, 32 };

    (void)state;
    req.entities = none;
    req.n_entities = 1;
    refused(&req, "watch: there is no kind of record with number 0");
    req.entities = high;
    refused(&req, "watch: there is no kind of record with number 77");
    req.n_entities = 0;
    req.nodes = (char *)"n[1-";
    refused(&req, NULL);
    req.nodes = NULL;
    j.states = odd; /* of what no job can be in nothing is told, and not all */
    j.n_states = 2;
    req.jobs = &j;
    refused(&req, "watch: there is no state of jobs with number 32");
}

/* ---- batches --------------------------------------------------------------------------------- */

static void add_change(struct watch_batch *b, uint64_t lsn, uint32_t index, uint32_t id)
{
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;

    c.has_lsn = c.has_index = c.has_entity = c.has_id = true;
    c.lsn = lsn;
    c.index = index;
    c.entity = PST__WATCH_ENTITY__WATCH_JOB;
    c.id = id;
    c.name = (char *)"sim";
    c.partition = (char *)"p";
    assert_int_equal(watch_batch_add(b, &c, 1), 0);
}

/* The ids of the changes behind the place that the filter lets through, as digits; *ret_cursor
 * where the watcher stands then.  0: nothing is sent. */
static uint32_t cut(struct watch_batch *b, const struct watch_filter *f, struct watch_pos pos,
                    uint64_t *ret_cursor)
{
    struct shared_bytes *bytes = NULL;
    Pst__WatchBatch *got;
    uint32_t digits = 0;

    *ret_cursor = 0;
    assert_int_equal(watch_batch_cut(b, f, pos, &bytes), 0);
    if (!bytes)
        return 0;
    got = pst__watch_batch__unpack(NULL, bytes->len, bytes->data);
    assert_non_null(got);
    for (size_t i = 0; i < got->n_changes; i++) {
        Pst__WatchChange *c =
            pst__watch_change__unpack(NULL, got->changes[i].len, got->changes[i].data);

        assert_non_null(c);
        digits = digits * 10 + c->id;
        pst__watch_change__free_unpacked(c, NULL);
    }
    *ret_cursor = got->cursor_lsn;
    pst__watch_batch__free_unpacked(got, NULL);
    shared_unref(bytes);
    return digits;
}

static void test_batch(void **state)
{
    Pst__WatchRequest everything = PST__WATCH_REQUEST__INIT, some = PST__WATCH_REQUEST__INIT;
    Pst__JobFilter j = PST__JOB_FILTER__INIT;
    uint32_t two[] = { 2, 5 };
    struct watch_batch *b = watch_batch_new(100);
    struct watch_filter *f, *g;
    uint64_t cursor;

    (void)state;
    for (uint32_t id = 1; id <= 5; id++)
        add_change(b, 100 + id / 3, id % 3, id); /* 1 2 | 3 4 5 */
    assert_int_equal(watch_batch_seal(b, 110), 0);
    assert_true(watch_batch_size(b) >= sizeof(*b) + 5 * sizeof(struct watch_item));
    everything.entities = (uint32_t *)all;
    everything.n_entities = 3;
    j.job_ids = two;
    j.n_job_ids = 2;
    some.jobs = &j;
    f = filter_of(&everything);
    g = filter_of(&some);
    assert_int_equal(cut(b, f, (struct watch_pos){ 99, 0 }, &cursor), 12345);
    assert_int_equal(cursor, 110);
    assert_int_equal(cut(b, f, (struct watch_pos){ 100, 2 }, &cursor), 345);
    assert_int_equal(cut(b, f, (struct watch_pos){ 101, 1 }, &cursor), 5);
    assert_int_equal(cut(b, f, (struct watch_pos){ 101, 2 }, &cursor), 0);
    assert_int_equal(cursor, 0); /* nothing to send */
    assert_int_equal(cut(b, g, (struct watch_pos){ 99, 0 }, &cursor), 25);
    assert_int_equal(cursor, 110);
    assert_int_equal(cut(b, g, (struct watch_pos){ 100, 2 }, &cursor), 5);
    watch_batch_unref(b);
    b = watch_batch_new(111); /* an empty one says to everybody where we are */
    assert_int_equal(watch_batch_seal(b, 120), 0);
    assert_int_equal(cut(b, g, (struct watch_pos){ 110, 0 }, &cursor), 0);
    assert_int_equal(cursor, 120);
    watch_batch_unref(b);
    watch_batch_unref(NULL);
    watch_filter_free(f);
    watch_filter_free(g);
}

static void test_behind(void **state)
{
    (void)state;
    assert_true(watch_behind((struct watch_pos){ 1, 9 }, (struct watch_pos){ 2, 0 }));
    assert_true(watch_behind((struct watch_pos){ 2, 0 }, (struct watch_pos){ 2, 1 }));
    assert_false(watch_behind((struct watch_pos){ 2, 1 }, (struct watch_pos){ 2, 1 }));
    assert_false(watch_behind((struct watch_pos){ 3, 0 }, (struct watch_pos){ 2, 1 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),    cmocka_unit_test(test_entities),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_batch),
        cmocka_unit_test(test_behind),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
