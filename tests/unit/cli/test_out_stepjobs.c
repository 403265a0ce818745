/* test_out_stepjobs.c - the jobs of listed steps, and the order in which steps of a stream are
 * told */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/query/out_stepjobs.h"
#include "model/tx.h"
#include "model/words/names.h"

struct told {
    struct strbuf text; /* "job.step " for each */
    unsigned most;      /* after so many the output is gone */
};

static int tell(void *ctx, const ProtobufCMessage *rec, const struct query_info *info)
{
    const Pst__StepRecord *s = (const Pst__StepRecord *)rec;
    struct told *told = ctx;

    (void)info;
    if (told->most == 0)
        return -EPIPE;
    told->most--;
    if (s->step_id == NAMES_STEP_BATCH)
        strbuf_addf(&told->text, "%u.b ", s->job_id);
    else if (s->step_id == NAMES_STEP_EXTERN)
        strbuf_addf(&told->text, "%u.e ", s->job_id);
    else
        strbuf_addf(&told->text, "%u.%u ", s->job_id, s->step_id);
    return 0;
}

static int put_step(struct step_jobs *t, struct told *told, uint32_t job, uint32_t step)
{
    Pst__StepRecord rec = PST__STEP_RECORD__INIT;

    SET(&rec, job_id, job);
    SET(&rec, step_id, step);
    return step_jobs_in_order(t, &rec, NULL, tell, told);
}

static void test_order(void **state)
{
    struct step_jobs t = { .n = 0 };
    struct told told = { .most = 100 };

    (void)state;
    assert_int_equal(put_step(&t, &told, 1, NAMES_STEP_BATCH), 0);
    assert_int_equal(put_step(&t, &told, 1, NAMES_STEP_EXTERN), 0);
    assert_int_equal(put_step(&t, &told, 1, 0), 0);
    assert_int_equal(put_step(&t, &told, 2, NAMES_STEP_BATCH), 0); /* has no extern step */
    assert_int_equal(put_step(&t, &told, 2, 0), 0);
    assert_int_equal(put_step(&t, &told, 3, NAMES_STEP_BATCH), 0);
    assert_int_equal(put_step(&t, &told, 4, NAMES_STEP_EXTERN), 0); /* of another job */
    assert_int_equal(put_step(&t, &told, 5, NAMES_STEP_BATCH), 0);
    assert_int_equal(put_step(&t, &told, 6, NAMES_STEP_BATCH), 0);
    assert_string_equal(strbuf_str(&told.text), "1.e 1.b 1.0 2.b 2.0 3.b 4.e 5.b ");
    assert_int_equal(step_jobs_last(&t, NULL, tell, &told), 0);
    assert_int_equal(step_jobs_last(&t, NULL, tell, &told), 0); /* once */
    assert_string_equal(strbuf_str(&told.text), "1.e 1.b 1.0 2.b 2.0 3.b 4.e 5.b 6.b ");
    strbuf_done(&told.text);
    step_jobs_done(&t);
}

/* A reader that is gone ends the stream, whichever of the two steps he did not take. */
static void test_broken_off(void **state)
{
    struct step_jobs t = { .n = 0 };
    struct told told = { .most = 0 };

    (void)state;
    assert_int_equal(put_step(&t, &told, 1, NAMES_STEP_BATCH), 0);
    assert_int_equal(put_step(&t, &told, 1, 0), -EPIPE);
    assert_int_equal(put_step(&t, &told, 2, NAMES_STEP_BATCH), 0);
    assert_int_equal(put_step(&t, &told, 2, NAMES_STEP_EXTERN), -EPIPE);
    told.most = 1;
    (void)step_jobs_last(&t, NULL, tell, &told);
    assert_int_equal(put_step(&t, &told, 3, NAMES_STEP_BATCH), 0);
    told.most = 1;
    assert_int_equal(put_step(&t, &told, 3, NAMES_STEP_EXTERN), -EPIPE); /* the batch step's turn */
    strbuf_done(&told.text);
    step_jobs_done(&t);
}

static void test_find(void **state)
{
    struct step_jobs t = { .n = 0 };
    const struct step_job *j;

    (void)state;
    assert_null(step_jobs_find(&t, 1));
    step_jobs_sort(&t);
    for (uint32_t i = 0; i < 600; i++) { /* in no order, and more than fit at first */
        Pst__JobRecord rec = PST__JOB_RECORD__INIT;
        char name[16];

        (void)snprintf(name, sizeof(name), "u%u", i * 7 % 600);
        SET(&rec, job_id, 1000 + i * 7 % 600);
        rec.user_name = name;
        if (i % 2)
            SET(&rec, array_task_id, i);
        step_jobs_add(&t, &rec);
    }
    step_jobs_sort(&t);
    for (uint32_t id = 1000; id < 1600; id++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "u%u", id - 1000);
        j = step_jobs_find(&t, id);
        assert_non_null(j);
        assert_string_equal(j->user, name);
        assert_null(j->partition);
    }
    assert_true(step_jobs_find(&t, 1007)->has_task);
    assert_false(step_jobs_find(&t, 1000)->has_task);
    assert_null(step_jobs_find(&t, 999));
    assert_null(step_jobs_find(&t, 1600));
    step_jobs_done(&t);
    assert_null(step_jobs_find(&t, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_find),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
