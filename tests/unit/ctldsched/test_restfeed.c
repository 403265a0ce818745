/* test_restfeed.c - jobs that only wait are told in pieces behind the start: the service alone,
 * with a scheduler and a core that the test plays */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctld/core/service.h"
#include "ctld/schedlink/restfeed.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/feedmem.h"

extern const struct ctld_service restfeed_service;

/* What the service did, in order: P partial, W whole, a asks when all is applied. */
static char told[64];
static struct feed *waiting[8];
static size_t n_told, n_waiting, left;
static bool putting_off;

void feed_put_off(struct ctld *ctld, bool on)
{
    (void)ctld;
    putting_off = on;
}

bool feed_some_put_off(struct ctld *ctld, size_t n)
{
    (void)ctld;
    assert_false(putting_off);
    left -= left < n ? left : n;
    return left > 0;
}

void feed_add(struct ctld *ctld, struct feed *f)
{
    (void)ctld;
    told[n_told++] = f->kind == FEED_PARTIAL ? 'P' : f->kind == FEED_WHOLE ? 'W' : 'a';
    if (f->kind == FEED_APPLIED)
        waiting[n_waiting++] = f;
    else
        feed_release(f);
}

static struct cmd *posted[8];
static size_t n_posted;

bool core_post(struct ctld *ctld, struct cmd *cmd)
{
    (void)ctld;
    posted[n_posted++] = cmd;
    return true;
}

/* The scheduler has applied all it was told; then the core runs what was posted. */
static void apply_all(void)
{
    size_t n = n_waiting;

    n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        waiting[i]->ask.run(waiting[i]->ask.arg, NULL, NULL);
        feed_release(waiting[i]);
    }
    n = n_posted;
    n_posted = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(posted[i]->kind, CMD_CALL);
        posted[i]->fn(posted[i]->arg);
        free(posted[i]);
    }
}

static void begin_start(struct ctld *ctld, size_t jobs)
{
    memset(told, 0, sizeof(told));
    n_told = n_waiting = n_posted = 0;
    left = jobs;
    assert_int_equal(restfeed_service.observe(ctld, NULL), 0);
    assert_true(putting_off);
    assert_string_equal(told, "P"); /* before the first job */
    restfeed_service.recovered(ctld);
    assert_false(putting_off);
    assert_string_equal(told, "Paa"); /* nothing is told before the scheduler has time */
    assert_int_equal(left, jobs);
}

/* Two chains: the core is never more than two pieces ahead of the scheduler. */
static void test_pieces(void **state)
{
    char *ctld = calloc(1, 1); /* only handed through */

    (void)state;
    begin_start((struct ctld *)ctld, 3000);
    apply_all();
    assert_int_equal(left, 3000 - 2 * 1024);
    assert_string_equal(told, "Paaaa");
    apply_all();
    assert_int_equal(left, 0);
    assert_string_equal(told, "PaaaaWW");
    assert_int_equal(n_waiting, 0);
    free(ctld);
}

/* A start without jobs that wait ends, too: the scheduler would never answer else. */
static void test_nothing_waits(void **state)
{
    char *ctld = calloc(1, 1);

    (void)state;
    begin_start((struct ctld *)ctld, 0);
    apply_all();
    assert_string_equal(told, "PaaWW");
    free(ctld);
}

/* The scheduler's thread ends before it has come so far. */
static void test_dropped(void **state)
{
    char *ctld = calloc(1, 1);

    (void)state;
    begin_start((struct ctld *)ctld, 5000);
    for (size_t i = 0; i < n_waiting; i++) {
        waiting[i]->ask.drop(waiting[i]->ask.arg);
        feed_release(waiting[i]);
    }
    assert_int_equal(n_posted, 0);
    assert_int_equal(left, 5000);
    free(ctld);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces),
                                        cmocka_unit_test(test_nothing_waits),
                                        cmocka_unit_test(test_dropped) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("restfeed", tests, NULL, NULL);
}
