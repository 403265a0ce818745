/* test_backup.c - backups: the list of what is in one, copies with checksums, what is refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/journal.h"
#include "journal/copyparts.h"
#include "penstock/past/backup.h"
#include "penstock/past/filecopy.h"
#include "penstock/past/manifest.h"
#include "penstock/past/restore.h"
#include "penstock/penstock.h"

#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* of nothing */
#define HEAD "penstock-backup 1\ncluster c\nrecord 5\ntime 9\n"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/test_backup.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    filecopy_remove(dir);
    return access(dir, F_OK) == 0 ? -1 : 0;
}

static void test_paths(void **state)
{
    static const struct {
        const char *path;
        bool good;
    } cases[] = {
        { "state/a", true },         { "state/journal/0000000000000001-00000002.log", true },
        { "keys/slurm.key", true },  { "state/", false },
        { "state", false },          { "state/../a", false },
        { "state/.a", false },       { "state//a", false },
        { "state/a/b/c", false },    { "/state/a", false },
        { "etc/passwd", false },     { "state/a b", false },
        { "state/journal/", false }, { "", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (manifest_path_good(cases[i].path) != cases[i].good)
            fail_msg("%s", cases[i].path);
}

static void test_manifest(void **state)
{
    static const struct {
        const char *text;
        int rc;
        size_t n;
    } cases[] = {
        { HEAD "end 0\n", 0, 0 },
        { HEAD "file 0600 7 " SUM " state/a\nend 1\n", 0, 1 },
        { HEAD "file 0600 7 " SUM " state/a\nend 2\n", -EINVAL, 0 },
        { HEAD "file 0600 7 " SUM " state/a\n", -EINVAL, 0 },
        { HEAD "file 0600 7 " SUM " state/a\nfile 0600 7 " SUM " state/a\nend 2\n", -EINVAL, 0 },
        { HEAD "file 4755 7 " SUM " state/a\nend 1\n", -EINVAL, 0 },
        { HEAD "file 0600 -7 " SUM " state/a\nend 1\n", -EINVAL, 0 },
        { HEAD "file 0600 7 abc state/a\nend 1\n", -EINVAL, 0 },
        { HEAD "file 0600 7 " SUM " ../a\nend 1\n", -EINVAL, 0 },
        { HEAD "file 0600 7 " SUM " state/a b\nend 1\n", -EINVAL, 0 },
        { HEAD "end 0\nmore\n", -EINVAL, 0 },
        { HEAD "hello\nend 0\n", -EINVAL, 0 },
        { "penstock-backup 2\n", -EINVAL, 0 },
        { "penstock-backup 1\ncluster c\nrecord 0\ntime 9\nend 0\n", -EINVAL, 0 },
        { "", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct manifest m = { .n = 0 };
        struct err err = { .text = "" };

        if (manifest_parse(cases[i].text, strlen(cases[i].text), &m, &err) != cases[i].rc)
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(m.n, cases[i].n);
        assert_int_equal(cases[i].rc != 0, err.text[0] != '\0');
        if (cases[i].rc == 0) {
            struct strbuf out = STRBUF_INIT;

            manifest_write(&m, &out);
            assert_string_equal(strbuf_str(&out), cases[i].text);
            strbuf_done(&out);
        }
        manifest_done(&m);
    }
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_copies(void **state)
{
    struct digest one, other;
    struct err err = { .text = "" };
    char from[128], to[128], link[128];
    struct stat st;
    uint64_t n;

    (void)state;
    (void)snprintf(from, sizeof(from), "%s/from", dir);
    (void)snprintf(to, sizeof(to), "%s/to", dir);
    (void)snprintf(link, sizeof(link), "%s/link", dir);
    write_text(from, "hello");
    assert_int_equal(filecopy(from, to, 4, 0600, &n, &one, &err), 0);
    assert_int_equal(n, 4);
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(filecopy_digest(to, &n, &other, &err), 0);
    assert_true(digest_equal(&one, &other));
    assert_int_equal(filecopy(from, to, 4, 0600, &n, &one, &err), -EEXIST);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(filecopy(from, to, 6, 0600, &n, &one, &err), -EIO); /* it is shorter */
    assert_int_equal(symlink(from, link), 0);
    assert_int_equal(filecopy_digest(link, &n, &other, &err), -ELOOP);
    assert_int_equal(filecopy_digest(dir, &n, &other, &err), -EINVAL);
    assert_int_equal(filecopy_sync_folder(dir, &err), 0);
    assert_int_equal(filecopy_sync_folder("/nonexistent", &err), -ENOENT);
}

/* ---- a journal that goes on ------------------------------------------------------------------ */

static int count_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)snapshot;
    (void)data;
    (void)len;
    *(uint64_t *)ctx = lsn;
    return 0;
}

/* What is written behind the listing is not part of the copy. */
static void test_parts(void **state)
{
    struct journal_parts parts;
    struct journal_config config = { .dir = dir };
    struct journal *j = NULL;
    struct err err = { .text = "" };
    uint64_t lsn = 0, last = 0;
    char from[256], to[256];
    struct digest d;

    (void)state;
    assert_int_equal(journal_open(&config, count_record, &lsn, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(journal_append(j, (const uint8_t *)"record", 6, &lsn), 0);
    journal_commit(j);
    assert_int_equal(journal_wait_durable(j, lsn), 0);
    assert_int_equal(journal_parts_list(dir, &parts, &err), 0);
    assert_int_equal(parts.last, 100);
    assert_int_equal(parts.n, 1);
    assert_int_equal(journal_append(j, (const uint8_t *)"more", 4, &lsn), 0);
    journal_commit(j);
    assert_int_equal(journal_wait_durable(j, lsn), 0);
    (void)snprintf(to, sizeof(to), "%s/copy", dir);
    assert_int_equal(mkdir(to, 0700), 0);
    (void)snprintf(to, sizeof(to), "%s/copy/journal", dir);
    assert_int_equal(mkdir(to, 0700), 0);
    (void)snprintf(from, sizeof(from), "%s/journal/%s", dir, parts.items[0].name);
    (void)snprintf(to, sizeof(to), "%s/copy/journal/%s", dir, parts.items[0].name);
    assert_int_equal(filecopy(from, to, parts.items[0].bytes, 0600, &lsn, &d, &err), 0);
    journal_parts_done(&parts);
    (void)journal_close(j);
    (void)snprintf(to, sizeof(to), "%s/copy", dir);
    config = (struct journal_config){ .dir = to };
    if (journal_open(&config, count_record, &last, &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(last, 100);
    (void)journal_close(j);
    assert_true(journal_parts_list("/nonexistent", &parts, &err) < 0);
}

static void test_refused(void **state)
{
    char path[128], target[128];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/MANIFEST", dir);
    (void)snprintf(target, sizeof(target), "%s/target", dir);
    assert_int_equal(restore_make("/nonexistent", target, NULL, getuid()), STATUS_FAILED);
    write_text(path, HEAD "file 0600 5 " SUM " state/from\nend 1\n");
    (void)snprintf(path, sizeof(path), "%s/state", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/state/from", dir);
    write_text(path, "hello"); /* its checksum differs */
    assert_int_equal(restore_make(dir, target, NULL, getuid()), STATUS_FAILED);
    assert_int_equal(access(target, F_OK), -1);
    write_text(path, "");
    assert_int_equal(restore_make(dir, dir, NULL, getuid()), STATUS_FAILED); /* not empty */
    assert_int_equal(backup_make("/nonexistent", dir, target), STATUS_FAILED);
    assert_int_equal(access(target, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_manifest),
        cmocka_unit_test(test_copies),  cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
