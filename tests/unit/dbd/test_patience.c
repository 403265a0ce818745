/* test_patience.c - an end that the database holds up lasts so long and no longer; what hangs up is
 * of this test */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "acct/sql/sql.h"
#include "dbd/patience.h"

#define EARLY_US (PATIENCE_US / 2)
#define LATE_US (PATIENCE_US + 30 * USEC_PER_SEC) /* a loaded machine */

static _Atomic int64_t hung_up_us; /* 0: connections may be opened */
static atomic_uint times;

void sql_hang_up(bool on)
{
    hung_up_us = on ? now_mono_us() : 0;
    times++;
}

static int64_t wait_hang_up(int64_t since_us)
{
    const struct timespec some = { .tv_nsec = 20000000 };

    while (!hung_up_us) {
        assert_true(now_mono_us() - since_us < LATE_US);
        (void)nanosleep(&some, NULL);
    }
    return hung_up_us - since_us;
}

static sigset_t end_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    return set;
}

static int begin_test(void **state)
{
    struct patience *p = NULL;
    sigset_t set = end_signal();

    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    hung_up_us = 0;
    times = 0;
    assert_int_equal(patience_new(&p), 0);
    *state = p;
    return 0;
}

static int end_test(void **state)
{
    assert_null(patience_free(*state));
    return 0;
}

static void test_end_that_lasts(void **state)
{
    int64_t began = now_mono_us();

    patience_begin(*state);
    assert_true(wait_hang_up(began) >= PATIENCE_US);
    assert_int_equal(times, 1);
    patience_end(*state);
    assert_int_equal(hung_up_us, 0);
}

/* A signal that nobody takes; it stays for who is to take it. */
static void test_signal_that_waits(void **state)
{
    int64_t began = now_mono_us();
    const struct timespec now = { 0 };
    sigset_t set = end_signal();

    (void)state;
    (void)kill(getpid(), SIGTERM);
    assert_true(wait_hang_up(began) >= PATIENCE_US);
    assert_int_equal(sigtimedwait(&set, NULL, &now), SIGTERM);
    assert_int_equal(times, 1);
}

/* Two ends in less time than one may last are none that lasts. */
static void test_ends_that_do_not(void **state)
{
    const struct timespec some = { .tv_sec = EARLY_US / USEC_PER_SEC,
                                   .tv_nsec = EARLY_US % USEC_PER_SEC * 1000 };

    for (int i = 0; i < 3; i++) {
        int64_t began = now_mono_us();

        patience_begin(*state);
        (void)nanosleep(&some, NULL);
        patience_end(*state);
        if (now_mono_us() - began > PATIENCE_US - USEC_PER_SEC)
            skip(); /* the machine was too slow to tell */
        (void)nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL); /* it looks around */
    }
    assert_int_equal(times, 0);
    patience_begin(NULL); /* the database is a file */
    patience_end(NULL);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        CASE(test_end_that_lasts),
        CASE(test_signal_that_waits),
        CASE(test_ends_that_do_not),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
