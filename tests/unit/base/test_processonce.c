/* test_processonce.c - objects that a process makes once, asked for by many threads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/processonce.h"

static atomic_int slow_made, nothing_made, outer_made;

static void *make_slow(void)
{
    static const int object = 7;

    (void)usleep(20000); /* the others come meanwhile */
    atomic_fetch_add(&slow_made, 1);
    return (void *)(uintptr_t)&object;
}

static void *make_nothing(void)
{
    atomic_fetch_add(&nothing_made, 1);
    return NULL;
}

static void *make_outer(void)
{
    atomic_fetch_add(&outer_made, 1);
    return (void *)(uintptr_t)processonce(make_slow); /* one that asks for another */
}

static void *ask_slow(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)processonce(make_slow);
}

static void test_threads_share_one(void **state)
{
    pthread_t threads[8];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_slow, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *object = NULL;

        assert_int_equal(pthread_join(threads[i], &object), 0);
        assert_non_null(object);
        assert_int_equal(*(const int *)object, 7);
    }
    assert_int_equal(atomic_load(&slow_made), 1);
}

/* What cannot be made is not tried again. */
static void test_nothing_stays(void **state)
{
    (void)state;
    assert_null(processonce(make_nothing));
    assert_null(processonce(make_nothing));
    assert_int_equal(atomic_load(&nothing_made), 1);
}

static void test_one_in_another(void **state)
{
    (void)state;
    assert_ptr_equal(processonce(make_outer), processonce(make_slow));
    assert_ptr_equal(processonce(make_outer), processonce(make_slow));
    assert_int_equal(atomic_load(&outer_made), 1);
    assert_int_equal(atomic_load(&slow_made), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_one),
        cmocka_unit_test(test_nothing_stays),
        cmocka_unit_test(test_one_in_another),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
