/* test_cache.c - records between the journal and their rows: which one is found, which are dirty
 * in what order, which are forgotten first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "acct/cache.h"
#include "job.pb-c.h"

static struct entry *add(struct cache *c, uint64_t id, int64_t step, int64_t run)
{
    Pst__JobRecord *rec = malloc(sizeof(*rec));
    struct entry *e = NULL;

    assert_non_null(rec);
    pst__job_record__init(rec);
    assert_int_equal(cache_add(c, id, step, run, &rec->base, &e), 0);
    assert_ptr_equal(e->rec, rec);
    return e;
}

static void test_find(void **state)
{
    struct entry *job, *step;
    struct cache c;

    (void)state;
    assert_int_equal(cache_init(&c, 1), 0); /* all in one chain */
    assert_null(cache_get(&c, 7, CACHE_JOB));
    job = add(&c, 7, CACHE_JOB, 70);
    step = add(&c, 7, 0, 70); /* the run of this number has a step 0 */
    assert_ptr_equal(cache_get(&c, 7, CACHE_JOB), job);
    assert_ptr_equal(cache_get(&c, 7, 0), step);
    assert_null(cache_get(&c, 7, 1));
    assert_null(cache_get(&c, 8, CACHE_JOB));
    cache_drop(&c, job);
    assert_null(cache_get(&c, 7, CACHE_JOB));
    assert_ptr_equal(cache_get(&c, 7, 0), step);
    assert_int_equal(c.n, 1);
    cache_done(&c);
    cache_done(&c); /* once more is nothing */
}

/* The least used go first; finding one uses it, also the oldest and one in the middle. */
static void test_evict(void **state)
{
    struct cache c;

    (void)state;
    assert_int_equal(cache_init(&c, 4), 0);
    for (uint64_t id = 1; id <= 5; id++)
        add(&c, id, CACHE_JOB, 0);
    assert_non_null(cache_get(&c, 1, CACHE_JOB));
    assert_non_null(cache_get(&c, 3, CACHE_JOB));
    assert_non_null(cache_get(&c, 3, CACHE_JOB)); /* the newest already */
    cache_evict(&c, 5);                           /* there is room */
    assert_int_equal(c.n, 5);
    cache_evict(&c, 2);
    assert_int_equal(c.n, 2);
    assert_null(cache_get(&c, 5, CACHE_JOB));
    assert_non_null(cache_get(&c, 1, CACHE_JOB));
    cache_evict(&c, 1);
    assert_non_null(cache_get(&c, 1, CACHE_JOB));
    cache_clear(&c);
    assert_int_equal(c.n, 0);
    assert_null(c.newest);
    assert_null(c.oldest);
    cache_done(&c);
}

/* Dirty entries come in the order in which they became so, each once; one that becomes dirty again
 * comes behind the others. */
static void test_dirty(void **state)
{
    struct entry *a, *b;
    struct cache c;

    (void)state;
    assert_int_equal(cache_init(&c, 4), 0);
    a = add(&c, 1, CACHE_JOB, 0);
    b = add(&c, 2, CACHE_JOB, 0);
    assert_null(cache_next_dirty(&c));
    cache_mark(&c, b);
    cache_mark(&c, a);
    cache_mark(&c, b);
    assert_ptr_equal(cache_next_dirty(&c), b);
    assert_false(b->dirty);
    cache_mark(&c, b);
    assert_ptr_equal(cache_next_dirty(&c), a);
    assert_ptr_equal(cache_next_dirty(&c), b);
    assert_null(cache_next_dirty(&c));
    cache_mark(&c, a); /* the list was empty */
    assert_ptr_equal(cache_next_dirty(&c), a);
    cache_mark(&c, a);
    cache_clear(&c); /* dirty or not */
    assert_null(cache_next_dirty(&c));
    cache_done(&c);
}

/* The steps of a run go, the job of that run and the steps of others stay. */
static void test_drop_steps(void **state)
{
    struct cache c;

    (void)state;
    assert_int_equal(cache_init(&c, 4), 0);
    add(&c, 1, CACHE_JOB, 10);
    add(&c, 10, 0, 10);
    add(&c, 11, 0, 11);
    add(&c, 10, 1, 10);
    cache_drop_steps(&c, 10);
    assert_int_equal(c.n, 2);
    assert_non_null(cache_get(&c, 1, CACHE_JOB));
    assert_non_null(cache_get(&c, 11, 0));
    cache_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_evict),
                                        cmocka_unit_test(test_dirty),
                                        cmocka_unit_test(test_drop_steps) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
