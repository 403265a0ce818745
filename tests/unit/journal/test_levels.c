/* test_levels.c - logs of older and newer releases: levels of files, and the way back */
#include "journal_util.h"

#include <xxhash.h>

#include "journal/downgrade.h"
#include "journal/format.h"
#include "journal/lebytes.h"

#define FIRST "0000000000000001.log"
#define SECOND "0000000000000005.log"
#define SNAP "0000000000000004.snap"
#define TEXT_BYTES 2048u
#define NEWER (LOG_LEVEL + 1)

/* As a release of that level would have written the file. */
static void set_level(const char *dir, const char *name, uint32_t level)
{
    _cleanup_free_ uint8_t *data = NULL;
    size_t n = read_all(dir, name, &data);

    put_u32(data + 4, FORMAT_VERSION | level << 16);
    put_u64(data + 24, XXH3_64bits(data, 24));
    write_all_bytes(dir, name, data, n);
}

static uint32_t level_of(const char *dir, const char *name)
{
    _cleanup_free_ uint8_t *data = NULL;

    assert_true(read_all(dir, name, &data) >= FILE_HEADER_BYTES);
    return get_u32(data + 4) >> 16;
}

static struct journal *open_journal(const char *dir)
{
    struct journal_config c = config_for(dir);
    struct seen seen = { 0 };
    struct journal *j = NULL;
    struct err err = { .text = "" };

    assert_int_equal(journal_open(&c, see, &seen, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    return j;
}

/* Records 1 to 4, a snapshot of them, and 5 to 6 in a file of their own. */
static char *make_log(void)
{
    char *dir = tmp_make();
    struct journal *j = open_journal(dir);

    append_batch(j, 1, 4);
    assert_int_equal(take_snapshot(j, 4, 3, 1), 0);
    (void)journal_close(j);
    set_level(dir, FIRST, 0);
    j = open_journal(dir);
    append_batch(j, 5, 6);
    (void)journal_close(j);
    return dir;
}

static void test_older_log_goes_on_in_a_new_file(void **state)
{
    char *dir = make_log();
    struct seen seen;
    struct err err = { .text = "" };

    assert_int_equal(level_of(dir, FIRST), 0);
    assert_int_equal(level_of(dir, SECOND), LOG_LEVEL);
    assert_int_equal(recover_for_real(dir, &seen, &err), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.snapshot_lsn, 4);
    assert_int_equal(seen.last, 6);
    tmp_remove(dir);
    (void)state;
}

/* An older log that ends without a record: its file is the one that goes on. */
static void test_older_log_without_records(void **state)
{
    char *dir = tmp_make();
    struct journal *j = open_journal(dir);

    (void)journal_close(j);
    set_level(dir, FIRST, 0);
    j = open_journal(dir);
    append_batch(j, 1, 2);
    (void)journal_close(j);
    assert_int_equal(level_of(dir, FIRST), LOG_LEVEL);
    tmp_remove(dir);
    (void)state;
}

static void hear_line(void *ctx, const char *line)
{
    char *text = ctx;
    size_t n = strlen(text);

    (void)snprintf(text + n, TEXT_BYTES - n, "%s\n", line);
}

static void expect_refused(const char *dir)
{
    char text[TEXT_BYTES] = "";
    struct err err = { .text = "" };
    struct journal_reader *reader = NULL;
    struct seen seen;
    uint64_t lsn;
    const uint8_t *data;
    size_t len;
    int r;

    assert_int_equal(recover_for_real(dir, &seen, &err), -ENOTSUP);
    assert_non_null(strstr(err.text, "a newer release wrote it"));
    assert_int_equal(seen.count + seen.puts, 0);
    assert_int_equal(journal_repair(dir, hear_line, text, &err), -ENOTSUP);
    assert_non_null(strstr(err.text, "repair it with that release"));
    assert_int_equal(journal_verify(dir, hear_line, text), 1);
    assert_non_null(strstr(text, "a newer release wrote it"));
    r = journal_reader_open(dir, 5, &reader, &err);
    if (r == 0)
        r = journal_reader_next(reader, UINT64_MAX, &lsn, &data, &len, &err);
    assert_int_equal(r, -ENOTSUP);
    (void)journal_reader_close(reader);
}

static void test_newer_is_refused_and_kept(void **state)
{
    char *dir = make_log();
    _cleanup_free_ uint8_t *before = NULL, *after = NULL;
    size_t n;

    set_level(dir, SNAP, NEWER);
    set_level(dir, SECOND, NEWER);
    n = read_all(dir, SECOND, &before);
    expect_refused(dir);
    assert_int_equal(read_all(dir, SECOND, &after), n);
    assert_memory_equal(before, after, n);
    assert_int_equal(level_of(dir, SNAP), NEWER);
    tmp_remove(dir);
    (void)state;
}

/* Records with an even length lose their last byte. */
static int cut_even(void *ctx, const uint8_t *data, size_t len, const uint8_t **ret_data,
                    size_t *ret_len)
{
    uint64_t *calls = ctx;

    (*calls)++;
    *ret_data = data;
    *ret_len = len && len % 2 == 0 ? len - 1 : len;
    return *ret_len != len;
}

static int see_cut(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    uint64_t *seen = ctx;
    uint8_t want[PAYLOAD_MAX];
    size_t n = payload(snapshot ? seen[0] + 1 : lsn, want);

    seen[snapshot ? 0 : 1]++;
    if (n && n % 2 == 0)
        n--;
    assert_int_equal(len, n);
    assert_memory_equal(data, want, n);
    return 0;
}

static void expect_cut(const char *dir)
{
    struct journal_config c = config_for(dir);
    uint64_t seen[2] = { 0, 0 };
    struct journal *j = NULL;
    struct err err = { .text = "" };

    assert_int_equal(journal_open(&c, see_cut, seen, &j, &err), 0);
    assert_int_equal(journal_last(j), 6);
    (void)journal_close(j);
    assert_int_equal(seen[0], 3);
    assert_int_equal(seen[1], 2);
}

static void test_downgrade(void **state)
{
    char *dir = make_log(), text[TEXT_BYTES] = "";
    struct err err = { .text = "" };
    uint64_t calls = 0;

    set_level(dir, SNAP, NEWER);
    set_level(dir, SECOND, NEWER);
    assert_int_equal(journal_downgrade(dir, cut_even, &calls, hear_line, text, &err), 0);
    assert_int_equal(calls, 5);
    assert_non_null(strstr(text, SNAP " is written again; the old one is in newer-"));
    assert_non_null(strstr(text, SECOND " is written again"));
    assert_null(strstr(text, FIRST));
    assert_int_equal(level_of(dir, FIRST), 0);
    assert_int_equal(level_of(dir, SNAP), LOG_LEVEL);
    assert_int_equal(level_of(dir, SECOND), LOG_LEVEL);
    expect_cut(dir);
    text[0] = '\0';
    assert_int_equal(journal_downgrade(dir, cut_even, &calls, hear_line, text, &err), 0);
    assert_string_equal(text, "");
    assert_int_equal(calls, 5);
    tmp_remove(dir);
    (void)state;
}

static int refuse_record(void *ctx, const uint8_t *data, size_t len, const uint8_t **ret_data,
                         size_t *ret_len)
{
    uint64_t *calls = ctx;

    (void)data, (void)len, (void)ret_data, (void)ret_len;
    return ++*calls == 4 ? -EUCLEAN : 0;
}

/* Stopped on the way: nothing has changed places yet, and the next call does all of it. */
static void test_downgrade_goes_on(void **state)
{
    char *dir = make_log(), text[TEXT_BYTES] = "";
    struct err err = { .text = "" };
    uint64_t calls = 0;

    set_level(dir, SNAP, NEWER);
    set_level(dir, SECOND, NEWER);
    assert_int_equal(journal_downgrade(dir, refuse_record, &calls, hear_line, text, &err),
                     -EUCLEAN);
    assert_int_equal(level_of(dir, SNAP), NEWER);
    assert_int_equal(level_of(dir, SECOND), NEWER);
    expect_refused(dir);
    calls = 0;
    err = (struct err){ .text = "" };
    assert_int_equal(journal_downgrade(dir, cut_even, &calls, hear_line, text, &err), 0);
    expect_cut(dir);
    tmp_remove(dir);
    (void)state;
}

static void test_damage_is_for_the_newer_release(void **state)
{
    char *dir = make_log(), text[TEXT_BYTES] = "";
    _cleanup_free_ uint8_t *data = NULL;
    struct err err = { .text = "" };
    uint64_t calls = 0;
    size_t n;

    set_level(dir, SECOND, NEWER);
    n = read_all(dir, SECOND, &data);
    data[FILE_HEADER_BYTES + RECORD_HEADER_BYTES] ^= 1;
    write_all_bytes(dir, SECOND, data, n);
    assert_int_equal(journal_downgrade(dir, cut_even, &calls, hear_line, text, &err), -EUCLEAN);
    assert_non_null(strstr(err.text, SECOND));
    assert_int_equal(level_of(dir, SECOND), NEWER);
    tmp_remove(dir);
    (void)state;
}

static void test_other_format_stays_unknown(void **state)
{
    char *dir = make_log();
    _cleanup_free_ uint8_t *data = NULL;
    struct file_header head;
    const char *why = "";

    assert_true(read_all(dir, SECOND, &data) >= FILE_HEADER_BYTES);
    put_u32(data + 4, (FORMAT_VERSION + 1) | LOG_LEVEL << 16);
    put_u64(data + 24, XXH3_64bits(data, 24));
    assert_int_equal(file_header_decode(data, SEGMENT_MAGIC, &head, &why), -EPROTONOSUPPORT);
    assert_non_null(strstr(why, "format version"));
    tmp_remove(dir);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_log_goes_on_in_a_new_file),
        cmocka_unit_test(test_older_log_without_records),
        cmocka_unit_test(test_newer_is_refused_and_kept),
        cmocka_unit_test(test_downgrade),
        cmocka_unit_test(test_downgrade_goes_on),
        cmocka_unit_test(test_damage_is_for_the_newer_release),
        cmocka_unit_test(test_other_format_stays_unknown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
