/* test_tailaside.c - how many logs that were put aside stay, and which */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder_util.h"
#include "stream/tailaside.h"

struct dir {
    char path[64];
    int fd;
};

static struct dir make_dir(void)
{
    struct dir d = { .path = "/tmp/penstock-aside-XXXXXX" };

    assert_non_null(mkdtemp(d.path));
    d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(d.fd >= 0);
    return d;
}

static void end_dir(struct dir *d)
{
    assert_int_equal(close(d->fd), 0);
    folder_remove(d->path);
}

static void add_folder(const struct dir *d, const char *name, off_t bytes)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/x.log", name);
    assert_int_equal(mkdirat(d->fd, name, 0700), 0);
    fd = openat(d->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (bytes)
        assert_int_equal(posix_fallocate(fd, 0, bytes), 0);
    assert_int_equal(close(fd), 0);
}

static bool has(const struct dir *d, const char *name)
{
    return faccessat(d->fd, name, F_OK, 0) == 0;
}

static void test_number(void **state)
{
    struct dir d = make_dir();
    struct aside a;
    char name[64];

    for (unsigned i = 0; i < 12; i++) { /* of one second: 2 is older than 10 */
        (void)snprintf(name, sizeof(name), i ? "%s-20261129T170000Z-%u" : "%s-20261129T170000Z",
                       ASIDE_CUT, i);
        add_folder(&d, name, 4096);
    }
    add_folder(&d, ASIDE_REPLACED "-20200101T000000Z", 0);
    add_folder(&d, "damaged-20200101T000000Z", 4096); /* another's, as the next ones */
    add_folder(&d, "newer-20200101T000000Z", 4096);
    add_folder(&d, "unacknowledged-mine", 4096);
    aside_trim(d.fd, &a);
    assert_int_equal(a.folders, ASIDE_FOLDERS_MAX + 1);
    assert_int_equal(a.bytes, 4096 * ASIDE_FOLDERS_MAX);
    assert_false(has(&d, ASIDE_CUT "-20261129T170000Z"));
    assert_false(has(&d, ASIDE_CUT "-20261129T170000Z-3"));
    assert_true(has(&d, ASIDE_CUT "-20261129T170000Z-4"));
    assert_true(has(&d, ASIDE_CUT "-20261129T170000Z-11"));
    assert_true(has(&d, ASIDE_REPLACED "-20200101T000000Z"));
    assert_true(has(&d, "damaged-20200101T000000Z"));
    assert_true(has(&d, "newer-20200101T000000Z"));
    assert_true(has(&d, "unacknowledged-mine"));
    end_dir(&d);
    (void)state;
}

static void test_bytes(void **state)
{
    struct dir d = make_dir();
    struct aside a;

    add_folder(&d, ASIDE_REPLACED "-20261129T170000Z", 600 << 20);
    add_folder(&d, ASIDE_REPLACED "-20261129T170001Z", 600 << 20);
    add_folder(&d, ASIDE_REPLACED "-20261129T170002Z", 1 << 20);
    aside_trim(d.fd, &a);
    assert_int_equal(a.folders, 2);
    assert_false(has(&d, ASIDE_REPLACED "-20261129T170000Z"));
    assert_true(has(&d, ASIDE_REPLACED "-20261129T170001Z"));
    end_dir(&d);
    (void)state;
}

/* The newest stays, however long it is; and what cannot be removed is told. */
static void test_stays(void **state)
{
    struct dir d = make_dir();
    struct aside a;

    add_folder(&d, ASIDE_REPLACED "-20261129T170000Z", 4096);
    assert_int_equal(mkdirat(d.fd, ASIDE_REPLACED "-20261129T170000Z/mine", 0700), 0);
    add_folder(&d, ASIDE_REPLACED "-20261129T170001Z", (1 << 30) + 4096);
    aside_trim(d.fd, &a);
    assert_int_equal(a.folders, 2);
    assert_true(a.bytes >= ASIDE_BYTES_MAX);
    assert_true(has(&d, ASIDE_REPLACED "-20261129T170001Z/x.log"));
    end_dir(&d);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_stays),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
