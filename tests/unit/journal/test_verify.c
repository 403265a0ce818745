/* test_verify.c - what an operator is told of a log: each finding in one line, a verdict at the
 * end, and no file is touched */
#include "journal_util.h"

/* The lines of a verification, with its result. */
static int verify(const char *dir, struct lines *l)
{
    *l = (struct lines){ 0 };
    return journal_verify(dir, add_line, l);
}

static void expect_line(const struct lines *l, const char *line)
{
    if (!strstr(l->text, line))
        fail_msg("'%s' is not in:\n%s", line, l->text);
}

static void remove_logs(const char *dir, uint64_t first)
{
    _cleanup_close_ int sub = open_sub(dir);
    char name[FILE_NAME_BYTES];

    segment_name(first, 0, name);
    assert_int_equal(unlinkat(sub, name, 0), 0);
}

static void make_log(const char *dir, uint64_t first, unsigned records)
{
    static struct image im;

    image_begin(&im, first);
    image_batch(&im, records);
    image_write(&im, dir, 0);
}

static void test_nothing(void **state)
{
    char *dir = tmp_make();
    struct lines l;

    (void)state;
    assert_int_equal(verify(dir, &l), -ENOENT); /* and makes nothing */
    assert_true(l.len > 0);
    assert_int_equal(verify(dir, &l), -ENOENT);
    (void)close(open_sub(dir));
    assert_int_equal(verify(dir, &l), 0);
    expect_line(&l, "the journal is empty");
    expect_line(&l, "clean: 0 segments, 0 records, 0 snapshots");
    tmp_remove(dir);
}

static void test_clean(void **state)
{
    char *dir = tmp_make();
    struct lines l;

    (void)state;
    (void)close(open_sub(dir));
    make_log(dir, 1, 3);
    assert_int_equal(verify(dir, &l), 0);
    expect_line(&l, "clean: 1 segments, 3 records, 0 snapshots");
    tmp_remove(dir);
}

/* From the records that are there no state can be made. */
static void test_without_beginning(void **state)
{
    char *dir = tmp_make();
    struct lines l;

    (void)state;
    (void)close(open_sub(dir));
    make_log(dir, 5, 2);
    assert_int_equal(verify(dir, &l), 1);
    expect_line(&l, "the log begins at record 5 and no snapshot is complete");
    expect_line(&l, "1 damaged places; `penstock journal repair ");
    tmp_remove(dir);
}

static void test_snapshots(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    struct seen seen = { 0 };
    struct lines l;

    (void)state;
    assert_int_equal(journal_open(&c, see, &seen, &j, NULL), 0);
    assert_int_equal(journal_start(j), 0);
    append_batch(j, 1, 4);
    assert_int_equal(take_snapshot(j, 2, 3, 0), 0);
    (void)journal_close(j);
    assert_int_equal(verify(dir, &l), 0);
    expect_line(&l, "4 records, 1 snapshots");
    remove_logs(dir, 1);
    assert_int_equal(verify(dir, &l), 1);
    expect_line(&l, "there are snapshots but no log files");
    make_log(dir, 9, 2); /* somebody put back the wrong file */
    assert_int_equal(verify(dir, &l), 1);
    expect_line(&l, "records 3 to 8 between the newest snapshot and the log are missing");
    remove_logs(dir, 9);
    make_log(dir, 3, 2); /* the right one */
    assert_int_equal(verify(dir, &l), 0);
    tmp_remove(dir);
}

/* A byte anywhere in a record that is not the last is found, whatever it was. */
static void test_changed_byte(void **state)
{
    char *dir = tmp_make(), name[FILE_NAME_BYTES];
    _cleanup_free_ uint8_t *bytes = NULL, *after = NULL;
    static struct image im;
    struct lines l;

    (void)state;
    (void)close(open_sub(dir));
    image_begin(&im, 1);
    image_batch(&im, 1);
    image_batch(&im, 1);
    image_batch(&im, 1);
    image_write(&im, dir, 0);
    segment_name(1, 0, name);
    (void)read_all(dir, name, &bytes);
    for (size_t at = im.at[0]; at < im.at[1]; at++) {
        bytes[at] ^= 0x10;
        write_all_bytes(dir, name, bytes, im.len);
        if (verify(dir, &l) != 1)
            fail_msg("byte %zu: %s", at, l.text);
        expect_line(&l, name);
        assert_int_equal(read_all(dir, name, &after), im.len);
        assert_memory_equal(after, bytes, im.len); /* only looked at */
        free(after);
        after = NULL;
        bytes[at] ^= 0x10;
    }
    tmp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),           cmocka_unit_test(test_clean),
        cmocka_unit_test(test_without_beginning), cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_changed_byte),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
