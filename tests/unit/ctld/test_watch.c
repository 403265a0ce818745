/* test_watch.c - differences of records, filters of watchers, and what of a batch each of them
 * gets */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbdiff.h"
#include "ctld/watch/watch_impl.h"
#include "fields.h"

static void test_diff(void **state)
{
    static const uint32_t fields[] = { JOB_F_NAME, JOB_F_PARTITION, JOB_F_STATE, JOB_F_PRIORITY,
                                       JOB_F_NICE };
    Pst__JobRecord a = PST__JOB_RECORD__INIT, b = a, before = a, after = a, merged = a;

    (void)state;
    a.name = b.name = (char *)"same";
    a.partition = (char *)"p";
    b.partition = (char *)"q";
    a.has_priority = b.has_priority = true; /* 0 and absent are two things */
    b.has_nice = true;
    b.has_exit_status = true; /* not listed */
    assert_int_equal(
        pb_diff(&a.base, &b.base, fields, ARRAY_SIZE(fields), &before.base, &after.base), 2);
    assert_string_equal(before.partition, "p");
    assert_string_equal(after.partition, "q");
    assert_null(before.name);
    assert_false(before.has_nice);
    assert_true(after.has_nice && !after.has_priority && !after.has_exit_status);
    pb_borrow(&merged.base, &a.base, fields, ARRAY_SIZE(fields));
    pb_borrow(&merged.base, &b.base, fields + 1, 1);
    assert_string_equal(merged.partition, "q");
    pb_forget(&merged.base, fields, 2);
    assert_null(merged.name);
    assert_null(merged.partition);
    assert_true(merged.has_priority);
}

static void add(struct watch_batch *b, uint64_t lsn, uint32_t index, uint32_t job, uint32_t uid,
                const char *partition, uint32_t states)
{
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;

    c.has_lsn = c.has_index = c.has_entity = c.has_id = c.has_uid = true;
    c.lsn = lsn;
    c.index = index;
    c.entity = PST__WATCH_ENTITY__WATCH_JOB;
    c.id = job;
    c.uid = uid;
    c.name = (char *)"n";
    c.partition = (char *)partition;
    assert_int_equal(watch_batch_add(b, &c, states), 0);
}

/* The changes that a watcher behind (lsn, index) with this request gets, as a number each: lsn * 10
 * + index. */
static void expect(struct watch_batch *b, const Pst__WatchRequest *req, uint64_t lsn,
                   uint32_t index, const unsigned *want, size_t n)
{
    struct watch_filter *f;
    struct shared_bytes *out;
    Pst__WatchBatch *got;

    assert_int_equal(watch_filter_new(req, &f, NULL), 0);
    assert_int_equal(watch_batch_cut(b, f, (struct watch_pos){ lsn, index }, &out), 0);
    assert_int_equal(out != NULL, n > 0);
    if (out) {
        got = pst__watch_batch__unpack(NULL, out->len, out->data);
        assert_non_null(got);
        assert_int_equal(got->n_changes, n);
        assert_int_equal(got->cursor_lsn, 7);
        for (size_t i = 0; i < n; i++) {
            Pst__WatchChange *c =
                pst__watch_change__unpack(NULL, got->changes[i].len, got->changes[i].data);

            assert_int_equal(c->lsn * 10 + c->index, want[i]);
            pst__watch_change__free_unpacked(c, NULL);
        }
        pst__watch_batch__free_unpacked(got, NULL);
        shared_unref(out);
    }
    watch_filter_free(f);
}

static void test_cut(void **state)
{
    struct watch_batch *b = watch_batch_new(5);
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    Pst__JobFilter jobs = PST__JOB_FILTER__INIT;
    uint32_t every[] = { 1, 2, 3 }, uid = 8, running = 1, job = 3, wrong = 9;
    char *partition = (char *)"q";

    (void)state;
    add(b, 5, 0, 1, 8, "p", 1u << 0);
    add(b, 5, 1, 2, 9, "p,q", 1u << 0 | 1u << 1);
    add(b, 7, 0, 3, 8, "q", 1u << 1);
    assert_int_equal(watch_batch_seal(b, 7), 0);
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 50, 51, 70 }, 3);
    expect(b, &req, 5, 0, (unsigned[]){ 51, 70 }, 2);
    expect(b, &req, 5, UINT32_MAX, (unsigned[]){ 70 }, 1);
    expect(b, &req, 7, 0, NULL, 0);
    req.jobs = &jobs;
    jobs.uids = &uid;
    jobs.n_uids = 1;
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 50, 70 }, 2);
    jobs.n_uids = 0;
    jobs.states = &running;
    jobs.n_states = 1;
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 51, 70 }, 2);
    jobs.n_states = 0;
    jobs.partitions = &partition;
    jobs.n_partitions = 1;
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 51, 70 }, 2);
    jobs.n_partitions = 0;
    jobs.job_ids = &job;
    jobs.n_job_ids = 1;
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 70 }, 1);
    jobs.n_job_ids = 0;
    req.entities = every + 1; /* nodes and partitions alone */
    req.n_entities = 2;
    expect(b, &req, 4, UINT32_MAX, NULL, 0);
    req.entities = every;
    req.n_entities = 3;
    expect(b, &req, 4, UINT32_MAX, (unsigned[]){ 50, 51, 70 }, 3);
    req.entities = &wrong;
    req.n_entities = 1;
    struct watch_filter *f = NULL;
    struct err err = { .text = "" };

    assert_int_equal(watch_filter_new(&req, &f, &err), -EINVAL);
    assert_non_null(strstr(err.text, "number 9"));
    assert_null(f);
    watch_batch_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_diff), cmocka_unit_test(test_cut) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
