/* test_logfollow.c - a consumer of the durable log: nothing is lost, nothing comes before it is
 * durable, and its place survives */
#include "journal_util.h"

#include <pthread.h>
#include <time.h>

#include "base/readfile.h"
#include "ctld/notify/logfollow.h"

#define SEEN_MAX 64u

/* What arrived, and whether the far side is there. */
struct receiver {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t taken[SEEN_MAX], arrived[SEEN_MAX]; /* of a batch; of all */
    size_t n_taken, n_arrived;
    unsigned refused;
    bool away;
    uint64_t half; /* a flush that fails says that it came this far */
};

struct room {
    char *dir, cursor[600];
    struct journal *j;
    struct receiver rc;
    struct follow *f;
};

static int take_record(void *ctx, uint64_t lsn, const uint8_t *data, size_t len, struct err *err)
{
    struct receiver *rc = ctx;

    (void)err;
    if (!payload_is(lsn, data, len) || rc->n_taken == SEEN_MAX)
        return -EBADMSG;
    if (lsn % 2)
        return 0; /* nothing in it */
    rc->taken[rc->n_taken++] = lsn;
    return 1;
}

static int flush_taken(void *ctx, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct receiver *rc = ctx;
    int r = 0;

    (void)stop;
    pthread_mutex_lock(&rc->lock);
    for (size_t i = 0; i < rc->n_taken; i++)
        if (!rc->away || rc->taken[i] <= rc->half)
            rc->arrived[rc->n_arrived++ % SEEN_MAX] = rc->taken[i];
    if (rc->away && rc->n_taken) {
        *ret_done = rc->half;
        rc->refused++;
        r = err_set(err, -EHOSTUNREACH, "the far side is away");
    }
    rc->n_taken = 0;
    pthread_cond_broadcast(&rc->wake);
    pthread_mutex_unlock(&rc->lock);
    return r;
}

static const struct follow_ops ops = {
    .what = "test", .batch = 3, .retry_ms = 1, .record = take_record, .flush = flush_taken
};

static int setup_room(void **state)
{
    struct room *r = calloc(1, sizeof(*r));
    struct journal_config c = { 0 };
    struct err err = { .text = "" };

    assert_non_null(r);
    r->dir = tmp_make();
    (void)snprintf(r->cursor, sizeof(r->cursor), "%s/cursor", r->dir);
    c.dir = r->dir;
    assert_int_equal(journal_open(&c, NULL, NULL, &r->j, &err), 0);
    assert_int_equal(journal_start(r->j), 0);
    pthread_mutex_init(&r->rc.lock, NULL);
    pthread_cond_init(&r->rc.wake, NULL);
    *state = r;
    return 0;
}

static int teardown_room(void **state)
{
    struct room *r = *state;

    r->f = follow_stop(r->f);
    r->j = journal_close(r->j);
    pthread_cond_destroy(&r->rc.wake);
    pthread_mutex_destroy(&r->rc.lock);
    tmp_remove(r->dir);
    free(r);
    return 0;
}

/* Records up to `last` are on disk; the follower hears of it. */
static void append_to(struct room *r, uint64_t last)
{
    uint8_t data[PAYLOAD_MAX];
    uint64_t lsn = journal_last(r->j);

    while (lsn < last)
        assert_int_equal(journal_append(r->j, data, payload(lsn + 1, data), &lsn), 0);
    journal_commit(r->j);
    assert_int_equal(journal_wait_durable(r->j, last), 0);
    if (r->f)
        follow_durable(r->f, last);
}

static int start_follower(struct room *r, uint64_t from)
{
    struct err err = { .text = "" };
    int code =
        follow_start(r->dir, r->cursor, from, journal_durable(r->j), &ops, &r->rc, &r->f, &err);

    if (code < 0)
        assert_true(err.text[0]);
    return code;
}

/* Wait until a condition that the receiver's fields make is true. */
#define AWAIT(r, condition)                                                                        \
    do {                                                                                           \
        struct timespec until_;                                                                    \
                                                                                                   \
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &until_), 0);                               \
        until_.tv_sec += 60;                                                                       \
        pthread_mutex_lock(&(r)->rc.lock);                                                         \
        while (!(condition))                                                                       \
            assert_int_equal(pthread_cond_timedwait(&(r)->rc.wake, &(r)->rc.lock, &until_), 0);    \
        pthread_mutex_unlock(&(r)->rc.lock);                                                       \
    } while (0)

static void assert_place(struct room *r, const char *text)
{
    _cleanup_free_ char *found = NULL;
    size_t len;

    assert_int_equal(readfile(r->cursor, 64, &found, &len), 0);
    assert_string_equal(found, text);
}

static void test_all_in_order(void **state)
{
    struct room *r = *state;

    append_to(r, 4);
    assert_int_equal(start_follower(r, 0), 0);
    append_to(r, 20);
    AWAIT(r, r->rc.n_arrived == 10);
    r->f = follow_stop(r->f);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(r->rc.arrived[i], 2 * (i + 1));
    assert_place(r, "20\n");
    /* Another follower goes on there, whatever it is told to begin with. */
    assert_int_equal(start_follower(r, 0), 0);
    append_to(r, 22);
    AWAIT(r, r->rc.n_arrived == 11);
    assert_int_equal(r->rc.arrived[10], 22);
}

/* It starts where it is told, and looks at nothing that is not durable. */
static void test_from(void **state)
{
    struct room *r = *state;
    struct err err = { .text = "" };

    append_to(r, 10);
    assert_int_equal(follow_start(r->dir, r->cursor, 5, 8, &ops, &r->rc, &r->f, &err), 0);
    AWAIT(r, r->rc.n_arrived == 2);
    assert_int_equal(r->rc.arrived[0], 6);
    assert_int_equal(r->rc.arrived[1], 8);
    follow_durable(r->f, 7); /* old news */
    follow_durable(r->f, 10);
    AWAIT(r, r->rc.n_arrived == 3);
    r->f = follow_stop(r->f);
    assert_place(r, "10\n");
}

/* The far side is away: from the last that arrived everything comes again. */
static void test_away(void **state)
{
    struct room *r = *state;

    r->rc.away = true;
    r->rc.half = 2;
    append_to(r, 6);
    assert_int_equal(start_follower(r, 0), 0);
    AWAIT(r, r->rc.refused >= 3);
    assert_int_equal(follow_cursor(r->f), 2);
    assert_int_equal(follow_lag(r->f), 4);
    assert_int_equal(follow_keep(r->f), 3);
    pthread_mutex_lock(&r->rc.lock);
    r->rc.away = false;
    pthread_mutex_unlock(&r->rc.lock);
    AWAIT(r, r->rc.n_arrived == 3);
    r->f = follow_stop(r->f);
    assert_int_equal(r->rc.arrived[0], 2);
    assert_int_equal(r->rc.arrived[1], 4);
    assert_int_equal(r->rc.arrived[2], 6);
    assert_place(r, "6\n");
}

static void write_place(struct room *r, const char *text)
{
    FILE *f = fopen(r->cursor, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A file that is no place is refused; a place behind the log's end becomes that end. */
static void test_places(void **state)
{
    struct room *r = *state;

    append_to(r, 4);
    write_place(r, "");
    assert_int_equal(start_follower(r, 0), -EUCLEAN);
    write_place(r, "nine\n");
    assert_int_equal(start_follower(r, 0), -EUCLEAN);
    write_place(r, "900\n");
    assert_int_equal(start_follower(r, 0), 0);
    assert_int_equal(follow_cursor(r->f), 4);
    append_to(r, 6);
    AWAIT(r, r->rc.n_arrived == 1);
    assert_int_equal(r->rc.arrived[0], 6);
    r->f = follow_stop(r->f);
    (void)snprintf(r->cursor, sizeof(r->cursor), "%s/no/cursor", r->dir);
    assert_int_equal(start_follower(r, 0), -ENOENT);
    assert_null(r->f);
}

/* A consumer that is away for weeks holds no more of the log than FOLLOW_KEEP records. */
static void test_keeps(void **state)
{
    struct room *r = *state;
    struct err err = { .text = "" };

    write_place(r, "3\n");
    r->rc.away = true;
    assert_int_equal(
        follow_start(r->dir, r->cursor, 0, FOLLOW_KEEP + 10, &ops, &r->rc, &r->f, &err), 0);
    assert_int_equal(follow_keep(r->f), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_in_order, setup_room, teardown_room),
        cmocka_unit_test_setup_teardown(test_from, setup_room, teardown_room),
        cmocka_unit_test_setup_teardown(test_away, setup_room, teardown_room),
        cmocka_unit_test_setup_teardown(test_places, setup_room, teardown_room),
        cmocka_unit_test_setup_teardown(test_keeps, setup_room, teardown_room),
    };

    log_set_level(LOG_FATAL);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
