/* test_schedthread.c - the scheduler's thread: questions of threads that live longer than it */
#include "conf_util.h"

#include "ctld/ctld.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "feed/feedmem.h"

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

static void tell(struct ctld *ctld, enum feed_kind kind)
{
    struct feed *f = feed_new(kind);

    schedthread_feed(ctld->sched, f, f);
    schedthread_catch_up(ctld->sched, 0);
}

static void ask_applied(struct ctld *ctld, struct asked *a)
{
    struct feed *f = feed_new(FEED_APPLIED);

    f->ask = (struct feed_ask){ .arg = a, .run = answer_asked, .drop = drop_asked };
    schedthread_feed(ctld->sched, f, f);
    schedthread_catch_up(ctld->sched, 0);
}

/* While jobs are still to come nothing is answered but that what came is applied; then all is, in
 * its order.  A question that waits when the thread ends is dropped. */
static void test_partial(void **state)
{
    struct ctld ctld = { .conf = conf_with_lines("") };
    struct asked first = { 0 }, applied = { 0 }, left = { 0 };

    (void)state;
    assert_int_equal(schedthread_start(&ctld, &ctld.sched), 0);
    tell(&ctld, FEED_PARTIAL);
    ask_now(&ctld, &first);
    ask_applied(&ctld, &applied);
    assert_int_equal(first.answered, 0);
    assert_int_equal(applied.answered, 1);
    tell(&ctld, FEED_WHOLE);
    tell(&ctld, FEED_WHOLE); /* one of each chain */
    assert_int_equal(first.answered, 1);
    tell(&ctld, FEED_PARTIAL);
    ask_now(&ctld, &left);
    schedthread_stop(ctld.sched);
    assert_int_equal(left.answered, 0);
    assert_int_equal(left.dropped, 1);
    assert_int_equal(first.dropped + applied.dropped, 0);
    ctld.sched = schedthread_free(ctld.sched);
    ctld.conf = conf_free(ctld.conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_late),
                                        cmocka_unit_test(test_partial) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("schedthread", tests, NULL, NULL);
}
