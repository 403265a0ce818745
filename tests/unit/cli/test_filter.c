/* test_filter.c - lists on command lines: words, states, ids, task sets */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "cli/query/out_filter.h"
#include "model/words/names.h"

static int count_bad;

static void on_bad(const char *word)
{
    (void)word;
    count_bad++;
}

static void test_words(void **state)
{
    char **words = NULL;
    size_t n = 0;

    (void)state;
    argwords_add(&words, &n, "a,,bc,");
    argwords_add(&words, &n, "");
    assert_int_equal(n, 2);
    assert_string_equal(words[1], "bc");
    argwords_free(words, n);
    words = NULL;
    n = 0;
    filter_add_ids(&words, &n, "1_[1,3-5],7 8.batch");
    assert_int_equal(n, 3);
    assert_string_equal(words[0], "1_[1,3-5]");
    assert_string_equal(words[2], "8.batch");
    argwords_free(words, n);
}

static void test_users(void **state)
{
    uint32_t *uids = NULL;
    size_t n = 0;

    (void)state;
    filter_add_users(&uids, &n, "root,1234,no such user", on_bad);
    assert_int_equal(n, 3);
    assert_int_equal(uids[0], 0);
    assert_int_equal(uids[1], 1234);
    assert_int_equal(uids[2], FILTER_NO_UID);
    assert_int_equal(count_bad, 1);
    free(uids);
}

static void test_states(void **state)
{
    struct filter_states s;
    _cleanup_free_ char *bad = NULL;

    (void)state;
    assert_int_equal(filter_parse_states("pd,Running,CG", &s, &bad), 0);
    assert_true(filter_state_match(&s, PST__JOB_STATE__JOB_PENDING, 0));
    assert_true(filter_state_match(&s, PST__JOB_STATE__JOB_FAILED,
                                   1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING));
    assert_false(filter_state_match(&s, PST__JOB_STATE__JOB_FAILED, 0));
    assert_false(filter_state_match(&s, 77, 0));
    assert_int_equal(filter_parse_states("RV", &s, &bad), 0);
    assert_true(filter_state_match(&s, PST__JOB_STATE__JOB_COMPLETED,
                                   1u << PST__JOB_FLAG__JOB_FLAG_REVOKED));
    assert_false(filter_state_match(&s, PST__JOB_STATE__JOB_COMPLETED, 0));
    assert_int_equal(filter_parse_states("stage_out,RF", &s, &bad), 0); /* of no job here */
    assert_false(filter_state_match(&s, PST__JOB_STATE__JOB_COMPLETED, 0xffff));
    assert_int_equal(filter_parse_states("ALL", &s, &bad), 0);
    assert_true(filter_state_match(&s, PST__JOB_STATE__JOB_FAILED, 0));
    assert_int_equal(filter_parse_states("R,nosuch", &s, &bad), -EINVAL);
    assert_string_equal(bad, "nosuch");
}

static void test_ids(void **state)
{
    struct filter_ids f, more;
    struct err err = { .text = "" };
    uint32_t *numbers = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(filter_parse_ids("12,20_3", &f, &err), 0);
    assert_int_equal(filter_parse_ids("30_[1-2],40.0", &more, &err), 0);
    filter_ids_join(&f, &more);
    assert_int_equal(more.n, 0);
    filter_ids_join(&f, &more);
    assert_int_equal(f.n, 4);
    assert_true(filter_ids_match(&f, 12, 0, false, 0));
    assert_true(filter_ids_match(&f, 99, 12, true, 5));
    assert_true(filter_ids_match(&f, 25, 20, true, 3));
    assert_false(filter_ids_match(&f, 26, 20, true, 4));
    assert_false(filter_ids_match_whole(&f, 20, 20));
    assert_true(filter_ids_match(&f, 31, 30, true, 2));
    assert_false(filter_ids_match(&f, 31, 30, true, 3));
    assert_true(filter_ids_match_step(&f, 40, 0, false, 0, 0));
    assert_false(filter_ids_match_step(&f, 40, 0, false, 0, 1));
    filter_ids_numbers(&f, &numbers, &n);
    assert_int_equal(n, 4);
    assert_int_equal(numbers[2], 30);
    free(numbers);
    filter_ids_done(&f);
    assert_true(filter_ids_match(&f, 1, 0, false, 0));
    assert_true(filter_parse_ids("12,abc", &f, &err) < 0);
    assert_string_equal(err.text, "Invalid job id: abc");
}

/* A component is asked for: an array's task of that number is none. */
static void test_component(void **state)
{
    struct filter_ids f = { 0 };
    struct err err;

    (void)state;
    assert_int_equal(filter_parse_ids("50+1", &f, &err), 0);
    assert_true(filter_ids_match(&f, 51, 50, false, 0));
    assert_false(filter_ids_match(&f, 50, 50, false, 0));
    assert_false(filter_ids_match(&f, 51, 50, true, 1));
    filter_ids_done(&f);
}

static void test_ids_only(void **state)
{
    Pst__JobFilter f = PST__JOB_FILTER__INIT;
    uint32_t number = 7;

    (void)state;
    f.job_ids = &number;
    f.n_job_ids = 1;
    assert_true(filter_by_ids_only(&f));
    f.uids = &number;
    f.n_uids = 1;
    assert_false(filter_by_ids_only(&f));
}

struct seen {
    uint32_t tasks[16];
    size_t n;
};

static int on_task(void *ctx, uint32_t task)
{
    struct seen *s = ctx;

    if (s->n == ARRAY_SIZE(s->tasks))
        return -ENOSPC;
    s->tasks[s->n++] = task;
    return 0;
}

static void test_tasks(void **state)
{
    static const uint32_t want[] = { 1, 3, 5, 7, 9, 20 };
    struct seen s = { .n = 0 };

    (void)state;
    assert_int_equal(filter_each_task("1,3,5-9:2,20%4", on_task, &s), 0);
    assert_int_equal(s.n, ARRAY_SIZE(want));
    assert_memory_equal(s.tasks, want, sizeof(want));
    assert_int_equal(filter_each_task("0-4294967295", on_task, &s), -ENOSPC);
    assert_int_equal(filter_each_task("5-9:0", on_task, &(struct seen){ .n = 0 }), 0);
    assert_int_equal(filter_each_task("", on_task, &s), 0);
    assert_int_equal(filter_each_task("x", on_task, &s), 0);
}

static void test_list_has(void **state)
{
    (void)state;
    assert_true(wordlist_has("a,bc,d", "bc"));
    assert_false(wordlist_has("a,bcd", "bc"));
    assert_false(wordlist_has(NULL, "bc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),     cmocka_unit_test(test_users),
        cmocka_unit_test(test_states),    cmocka_unit_test(test_ids),
        cmocka_unit_test(test_component), cmocka_unit_test(test_ids_only),
        cmocka_unit_test(test_tasks),     cmocka_unit_test(test_list_has),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
