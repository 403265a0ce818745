/* test_effects.c - frames that wait for durability: order, release, what is dropped; and a
 * releasing thread
 *
 * The connection is played here: it notes what is sent on it. */
#include "model_util.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ctld/core/effects.h"
#include "wire/server/server.h"

struct conn {
    atomic_int refs;
    pthread_mutex_t lock;
    uint32_t sent[4096];
    size_t n;
    struct effects *late; /* what the core says while the first frame leaves */
};

static void add(struct effects *e, struct conn *c, uint64_t lsn, uint32_t number);

struct conn *conn_ref(struct conn *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

struct conn *conn_unref(struct conn *c)
{
    atomic_fetch_sub(&c->refs, 1);
    return NULL;
}

void conn_send_take(struct conn *c, uint8_t *buf, size_t len)
{
    assert_int_equal(len, sizeof(c->sent[0]));
    (void)pthread_mutex_lock(&c->lock);
    assert_true(c->n < ARRAY_SIZE(c->sent));
    memcpy(&c->sent[c->n++], buf, len);
    (void)pthread_mutex_unlock(&c->lock);
    free(buf);
    if (c->late)
        add(TAKE_PTR(c->late), c, 5, 2);
}

static struct conn conn_new(void)
{
    return (struct conn){ .refs = 1, .lock = PTHREAD_MUTEX_INITIALIZER };
}

static void add(struct effects *e, struct conn *c, uint64_t lsn, uint32_t number)
{
    uint8_t *buf = malloc(sizeof(number));

    assert_non_null(buf);
    memcpy(buf, &number, sizeof(number));
    effects_add(e, lsn, c, buf, sizeof(number));
}

static void expect(const struct conn *c, size_t n)
{
    assert_int_equal(c->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(c->sent[i], i);
}

static void test_waits(void **state)
{
    struct conn c = conn_new();
    struct effects *e;

    (void)state;
    assert_int_equal(effects_new(&e), 0);
    add(e, &c, 0, 0); /* needs nothing */
    expect(&c, 1);
    add(e, &c, 5, 1);
    add(e, &c, 5, 2);
    add(e, &c, 7, 3);
    expect(&c, 1);
    assert_int_equal(effects_pending(e), 3);
    effects_release(e, 4);
    expect(&c, 1);
    effects_release(e, 5);
    expect(&c, 3);
    effects_release(e, 3); /* late news */
    expect(&c, 3);
    effects_release(e, 100);
    expect(&c, 4);
    assert_int_equal(effects_pending(e), 0);
    add(e, &c, 60, 4); /* durable already */
    expect(&c, 5);
    effects_free(e);
    assert_int_equal(c.refs, 1);
}

/* What needs no durability does not overtake what was said before it. */
static void test_order(void **state)
{
    struct conn c = conn_new();
    struct effects *e;

    (void)state;
    assert_int_equal(effects_new(&e), 0);
    add(e, &c, 5, 0);
    add(e, &c, 0, 1);
    add(e, &c, 3, 2);
    expect(&c, 0);
    effects_release(e, 4);
    expect(&c, 0);
    effects_release(e, 5);
    expect(&c, 3);
    effects_free(e);
}

/* ... nor what is being sent: a signal must not come before the launch that it is about. */
static void test_not_overtaken(void **state)
{
    struct conn c = conn_new();
    struct effects *e;

    (void)state;
    assert_int_equal(effects_new(&e), 0);
    add(e, &c, 5, 0);
    add(e, &c, 5, 1);
    c.late = e;
    effects_release(e, 5);
    expect(&c, 3);
    assert_int_equal(effects_pending(e), 0);
    add(e, &c, 5, 3);
    expect(&c, 4);
    effects_free(e);
    assert_int_equal(c.refs, 1);
}

static void test_dropped(void **state)
{
    struct conn c = conn_new();
    struct effects *e;

    (void)state;
    assert_int_equal(effects_new(&e), 0);
    add(e, &c, 5, 0);
    add(e, &c, 6, 1);
    assert_int_equal(c.refs, 3);
    assert_null(effects_free(e));
    assert_int_equal(c.refs, 1);
    expect(&c, 0);
    assert_null(effects_free(NULL));
}

struct releaser {
    struct effects *e;
    atomic_uint_fast64_t applied;
    atomic_bool stop;
};

/* The journal's writer: everything applied so far is durable a little later. */
static void *release(void *arg)
{
    struct releaser *r = arg;

    while (!atomic_load(&r->stop))
        effects_release(r->e, atomic_load(&r->applied));
    effects_release(r->e, atomic_load(&r->applied));
    return NULL;
}

static void test_two_threads(void **state)
{
    struct conn c = conn_new();
    struct releaser r = { 0 };
    pthread_t thread;
    uint64_t seed = 7;

    (void)state;
    assert_int_equal(effects_new(&r.e), 0);
    assert_int_equal(pthread_create(&thread, NULL, release, &r), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(c.sent); i++) {
        add(r.e, &c, rnd_below(&seed, 4) ? i : 0, i);
        atomic_store(&r.applied, i);
    }
    atomic_store(&r.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(&c, ARRAY_SIZE(c.sent)); /* in order, from whichever thread they left */
    assert_int_equal(effects_pending(r.e), 0);
    effects_free(r.e);
    assert_int_equal(c.refs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_not_overtaken), cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_two_threads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
