/* Arrays whose waiting tasks are in several records have one line. */
#include "cli/squeue/squeue_arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

static char name_a[] = "a", name_b[] = "b", part[] = "debug";

static Pst__JobRecord record(uint32_t id, char *tasks, uint32_t task, char *name)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    j.job_id = id;
    j.array_job_id = 7;
    j.array_tasks = tasks;
    j.has_array_task_id = !tasks;
    j.array_task_id = task;
    j.name = name;
    j.partition = part;
    j.state = PST__JOB_STATE__JOB_PENDING;
    return j;
}

static int take(struct job_arrays *a, const Pst__JobRecord *j)
{
    const struct job_row row = { .job = j };

    return job_arrays_take(a, &row);
}

static void put_line(void *ctx, struct job_row *row)
{
    job_put_id(ctx, row);
    strbuf_addf(ctx, " %s%s;", job_reason(row), row->more_reasons ? row->more_reasons : "");
}

static void expect(struct job_arrays *a, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(job_arrays_end(a, put_line, &sb), 0);
    assert_string_equal(strbuf_str(&sb), want);
}

/* What was changed or held is told with the rest; the limit on running tasks is not told then. */
static void test_one_line(void **state)
{
    static char rest[] = "1,5-6,9%2", two[] = "3-4%2", evens[] = "0,4,12";
    Pst__JobRecord own = record(7, rest, 0, name_a), held = record(8, NULL, 2, name_a),
                   set = record(9, two, 0, name_a), again = record(10, NULL, 7, name_a);
    struct job_arrays a = { 0 };

    (void)state;
    held.has_priority = again.has_priority = held.held_by_user = again.held_by_user = true;
    held.has_held_by_user = again.has_held_by_user = true;
    assert_int_equal(take(&a, &own), 1);
    assert_int_equal(take(&a, &held), 1);
    assert_int_equal(take(&a, &set), 1);
    assert_int_equal(take(&a, &again), 1);
    expect(&a, "7_[1-7,9] None,JobHeldUser;");
    assert_int_equal(take(&a, &own), 1);
    expect(&a, "7_[1,5-6,9%2] None;");
    own = record(7, evens, 0, name_a);
    held = record(8, NULL, 8, name_a);
    assert_int_equal(take(&a, &own), 1);
    assert_int_equal(take(&a, &held), 1);
    expect(&a, "7_[0-12:4] None;");
}

/* Another name or partition, a task that runs or is still being cleaned up: lines of their own. */
static void test_lines_of_their_own(void **state)
{
    static char rest[] = "1,5", elsewhere[] = "gpu", two[] = "3-4";
    Pst__JobRecord own = record(7, rest, 0, name_a), named = record(8, NULL, 2, name_b),
                   runs = record(9, NULL, 3, name_a), moved = record(10, NULL, 4, name_a),
                   ends = record(11, NULL, 6, name_a), set = record(12, two, 0, name_a);
    struct job_arrays a = { 0 };

    (void)state;
    runs.state = PST__JOB_STATE__JOB_RUNNING;
    moved.partition = elsewhere;
    ends.state_flags = 1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING;
    assert_int_equal(take(&a, &set), 0); /* no line to stand in */
    assert_true(job_is_split_set(&set));
    assert_int_equal(take(&a, &own), 1);
    assert_false(job_is_split_set(&own));
    assert_int_equal(take(&a, &named), 0);
    assert_int_equal(take(&a, &runs), 0);
    assert_int_equal(take(&a, &moved), 0);
    assert_int_equal(take(&a, &ends), 0);
    expect(&a, "7_[1,5] None;");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_lines_of_their_own),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
