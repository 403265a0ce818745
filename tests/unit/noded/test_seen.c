/* test_seen.c - what a node must not take again, kept over the end of slurmd */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "noded/jobs/seen.h"

static char dir[] = "/tmp/penstock-seen-XXXXXX", path[64];

static struct seen *open_at(int64_t now, bool fresh)
{
    struct err err = { .text = "" };
    struct seen *s = NULL;
    bool was_fresh = !fresh;

    assert_int_equal(seen_open(path, now, &s, &was_fresh, &err), 0);
    assert_int_equal(was_fresh, fresh);
    return s;
}

static const uint8_t *key(unsigned i)
{
    static uint8_t k[SEEN_KEY];

    memset(k, 7, sizeof(k));
    memcpy(k + SEEN_KEY - sizeof(i), &i, sizeof(i)); /* keys that differ in their last bytes only */
    return k;
}

static off_t size(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void test_kept(void **state)
{
    struct seen *s = open_at(1000, true);

    (void)state;
    assert_int_equal(seen_count(s, SEEN_USED, key(1), 1000), 0);
    assert_int_equal(seen_note(s, SEEN_USED, key(1), 2000, 1000), 0);
    assert_int_equal(seen_note(s, SEEN_RELAYED, key(1), 3000, 1000), 0);
    assert_int_equal(seen_note(s, SEEN_RELAYED, key(1), 3000, 1000), 0);
    assert_int_equal(seen_count(s, SEEN_USED, key(1), 1000), 1);
    assert_int_equal(seen_count(s, SEEN_USED, key(2), 1000), 0); /* all of the key counts */
    assert_int_equal(seen_count(s, SEEN_OVER, key(1), 1000), 0);
    /* Not closed: as after a kill. */
    struct seen *again = open_at(1500, false);

    assert_int_equal(seen_count(again, SEEN_USED, key(1), 1500), 1);
    assert_int_equal(seen_count(again, SEEN_RELAYED, key(1), 1500), 2);
    assert_int_equal(seen_count(again, SEEN_USED, key(1), 2001), 0);
    seen_free(again);
    seen_free(s);
    s = open_at(2500, false);
    assert_int_equal(seen_count(s, SEEN_USED, key(1), 2500), 0);
    assert_int_equal(seen_count(s, SEEN_RELAYED, key(1), 2500), 2);
    assert_int_equal(size(), 16 + 2 * 48);
    seen_free(s);
}

/* A file that was cut, or changed: what is whole before that counts. */
static void test_damaged(void **state)
{
    struct seen *s = open_at(1000, false);
    _cleanup_close_ int fd = -1;

    (void)state;
    for (unsigned i = 10; i < 13; i++)
        assert_int_equal(seen_note(s, SEEN_OVER, key(i), 9000, 3001), 0);
    seen_free(s);
    assert_int_equal(truncate(path, size() - 5), 0);
    s = open_at(3001, false);
    assert_int_equal(seen_count(s, SEEN_OVER, key(11), 3001), 1);
    assert_int_equal(seen_count(s, SEEN_OVER, key(12), 3001), 0);
    seen_free(s);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 16 + 48 + 20), 1);
    s = open_at(3001, false);
    assert_int_equal(
        seen_count(s, SEEN_OVER, key(10), 3001) + seen_count(s, SEEN_OVER, key(11), 3001), 1);
    seen_free(s);
}

/* Its size follows what is alive, and there is an end to what is kept. */
static void test_bounded(void **state)
{
    struct seen *s = open_at(10000, false);
    unsigned i = 0;
    int r;

    (void)state;
    for (; i < 5000; i++)
        assert_int_equal(seen_note(s, SEEN_USED, key(i), 10000 + i + 10, 10000 + i), 0);
    assert_true(size() < 16 + 48 * 4000);
    while ((r = seen_note(s, SEEN_USED, key(i++), 99999, 20000)) == 0)
        ;
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(seen_note(s, SEEN_OVER, key(1), 99999, 20000),
                     0); /* kinds do not crowd each other out */
    assert_int_equal(seen_note(s, SEEN_USED, key(1), 999999, 100000), 0);
    seen_free(s);
}

/* One user leaves room for others, and has his share again when what he used has expired. */
static void test_shares(void **state)
{
    struct seen *s = open_at(200000, false);
    unsigned i = 0;
    int r;

    (void)state;
    while ((r = seen_note_of(s, SEEN_USED, key(i), 1000, 300000, 200000)) == 0)
        i++;
    assert_int_equal(r, -EDQUOT);
    assert_int_equal(i, SEEN_USER_MAX);
    assert_int_equal(seen_note_of(s, SEEN_USED, key(i++), 1001, 300000, 200000), 0);
    assert_int_equal(seen_note_of(s, SEEN_RELAYED, key(1), 1000, 300000, 200000), 0);
    assert_int_equal(seen_note_of(s, SEEN_USED, key(i), 1000, 400000, 299999), -EDQUOT);
    assert_int_equal(seen_note_of(s, SEEN_USED, key(i), 1000, 400000, 300001), 0);
    while ((r = seen_note(s, SEEN_USED, key(i++), 400000, 300001)) == 0)
        ;
    assert_int_equal(r, -ENOSPC);
    seen_free(s);
}

static void test_refused(void **state)
{
    struct err err = { .text = "" };
    struct seen *s = NULL;
    bool fresh;

    (void)state;
    assert_int_equal(seen_open("/nowhere/credentials", 0, &s, &fresh, &err), -ENOENT);
    assert_null(s);
    assert_non_null(strstr(err.text, "/nowhere/credentials"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bounded), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_refused),
    };
    int r;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(path, sizeof(path), "%s/credentials", dir);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    (void)rmdir(dir);
    return r;
}
