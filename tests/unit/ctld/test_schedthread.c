/* test_schedthread.c - the scheduler's thread: questions of threads that live longer than it */
#include "conf_util.h"

#include "ctld/ctld.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"

struct asked {
    int answered, dropped;
};

static void answer_asked(void *arg, struct sched *s, const struct sched_params *params)
{
    struct asked *a = arg;

    (void)s;
    (void)params;
    a->answered++;
}

static void drop_asked(void *arg)
{
    struct asked *a = arg;

    a->dropped++;
}

static void ask_now(struct ctld *ctld, struct asked *a)
{
    feed_ask_now(ctld, &(struct feed_ask){ .arg = a, .run = answer_asked, .drop = drop_asked });
}

/* Threads of connections end behind it: a question that comes too late is dropped, not lost. */
static void test_late(void **state)
{
    struct ctld ctld = { .conf = conf_with_lines("") };
    struct asked early = { 0 }, late = { 0 };

    (void)state;
    assert_int_equal(schedthread_start(&ctld, &ctld.sched), 0);
    ask_now(&ctld, &early);
    schedthread_catch_up(ctld.sched, 0);
    assert_int_equal(early.answered, 1);
    schedthread_stop(ctld.sched);
    ask_now(&ctld, &late);
    schedthread_catch_up(ctld.sched, 0); /* waits for nobody */
    assert_int_equal(late.answered, 0);
    assert_int_equal(late.dropped, 1);
    assert_int_equal(early.dropped, 0);
    ctld.sched = schedthread_free(ctld.sched);
    assert_null(schedthread_free(NULL));
    schedthread_stop(NULL);
    ctld.conf = conf_free(ctld.conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_late) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("schedthread", tests, NULL, NULL);
}
