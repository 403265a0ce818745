/* test_journal_damage.c - torn tails and damage, everywhere: told apart, never silently wrong */
#include "journal_util.h"

#define ZEROS 8192

static void expect_clean(const char *dir, uint64_t count)
{
    struct err err = { .text = "" };
    struct seen seen;
    int r = recover_read_only(dir, &seen, &err);

    if (r < 0)
        fail_msg("%s", err.text);
    assert_false(seen.wrong);
    assert_int_equal(seen.count, count);
}

static void expect_damage(const char *dir, const char *file, size_t offset, uint64_t lsn)
{
    struct err err = { .text = "" };
    struct seen seen;
    char place[64];

    assert_int_equal(recover_read_only(dir, &seen, &err), -EUCLEAN);
    assert_false(seen.wrong);
    (void)snprintf(place, sizeof(place), "offset %zu, record %" PRIu64 ":", offset, lsn);
    if (!strstr(err.text, file) || !strstr(err.text, place) ||
        !strstr(err.text, "`penstock journal repair "))
        fail_msg("unexpected sentence: %s (wanted %s %s)", err.text, file, place);
}

/* The last record cut at every byte, and overwritten with zeros from every byte on. */
static void test_torn_everywhere(void **state)
{
    char *dir = tmp_make();
    struct image im, cut;
    size_t last;

    image_begin(&im, 1);
    image_batch(&im, 3);
    image_batch(&im, 2);
    image_batch(&im, 1);
    last = im.at[5];
    for (size_t to = last; to <= im.len; to++) {
        uint64_t want = to == im.len ? 6 : 5;
        struct seen seen;

        cut = im;
        cut.len = to;
        image_write(&cut, dir, 0);
        expect_clean(dir, want);
        image_write(&cut, dir, ZEROS); /* what a crash leaves in preallocated space */
        assert_int_equal(recover_read_only(dir, &seen, NULL), 0);
        assert_false(seen.wrong);
        /* A record that ends in zeros is whole before its last byte was written. */
        assert_true(seen.count == want || (seen.count == 6 && to > last + RECORD_HEADER_BYTES));
    }
    cut = im;
    cut.len = last + 20;
    image_write(&cut, dir, ZEROS);
    {
        struct seen seen;
        struct journal_config c = config_for(dir);
        struct journal *j = NULL;

        seen = (struct seen){ 0 };
        assert_int_equal(journal_open(&c, see, &seen, &j, NULL), 0); /* cuts */
        assert_int_equal(journal_start(j), 0);
        append_batch(j, 6, 8);
        journal_close(j);
        expect_clean(dir, 8);
    }
    tmp_remove(dir);
}

/* A batch of several records whose pages reached the disk in another order: torn, not damaged. */
static void test_hole_in_last_batch(void **state)
{
    char *dir = tmp_make();
    struct image im, bad;

    image_begin(&im, 1);
    image_batch(&im, 3);
    image_batch(&im, 6);
    for (size_t hole = 3; hole < 9; hole++) {
        bad = im;
        memset(bad.data + bad.at[hole], 0, (hole == 8 ? bad.len : bad.at[hole + 1]) - bad.at[hole]);
        image_write(&bad, dir, ZEROS);
        expect_clean(dir, hole);
        bad = im;
        bad.data[bad.at[hole] + 8] ^= 1;
        image_write(&bad, dir, ZEROS);
        expect_clean(dir, hole);
    }
    /* The same hole with one more batch behind it had been on disk. */
    image_batch(&im, 1);
    for (size_t hole = 0; hole < 9; hole++) {
        bad = im;
        memset(bad.data + bad.at[hole], 0, bad.at[hole + 1] - bad.at[hole]);
        image_write(&bad, dir, ZEROS);
        expect_damage(dir, "0000000000000001.log", bad.at[hole], hole + 1);
    }
    tmp_remove(dir);
}

/* Every bit of a log that was closed properly: each flip is reported, or harmless. */
static void test_bit_flips(void **state)
{
    char *dir = tmp_make();
    struct image im;
    size_t harmless = 0;

    image_begin(&im, 1);
    image_batch(&im, 2);
    image_batch(&im, 3);
    image_batch(&im, 1);
    image_mark(&im);
    for (size_t bit = 0; bit < (im.len + 64) * 8; bit++) {
        struct err err = { .text = "" };
        struct seen seen;
        int r;

        im.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        image_write(&im, dir, ZEROS);
        im.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        r = recover_read_only(dir, &seen, &err);
        assert_false(seen.wrong);
        assert_true(r == -EUCLEAN || r == -EPROTONOSUPPORT || (r == 0 && seen.count == 6));
        harmless += r == 0;
        /* Only the mark itself, and what follows it, may be hit without notice. */
        assert_true(r < 0 || bit / 8 >= im.len - RECORD_HEADER_BYTES);
    }
    assert_true(harmless > 0);
    tmp_remove(dir);
}

/* The same for a log that crashed: a flip in the last batch looks like a torn write, all others are
 * reported. */
static void test_bit_flips_after_crash(void **state)
{
    char *dir = tmp_make();
    struct image im;

    image_begin(&im, 1);
    image_batch(&im, 2);
    image_batch(&im, 3);
    image_batch(&im, 2);
    for (size_t at = 0; at < im.len; at++) {
        struct seen seen;
        int r;

        im.data[at] ^= 0x04;
        image_write(&im, dir, ZEROS);
        im.data[at] ^= 0x04;
        r = recover_read_only(dir, &seen, NULL);
        assert_false(seen.wrong);
        if (at < im.at[5])
            assert_true(r < 0);
        else
            assert_true(r == 0 && seen.count == (at < im.at[6] ? 5 : 6));
    }
    tmp_remove(dir);
}

/* A log of three files: 1-5, 6-10, 11-15. */
static void three_segments(const char *dir, struct image im[3])
{
    for (unsigned i = 0; i < 3; i++) {
        image_begin(&im[i], i * 5 + 1);
        image_batch(&im[i], 2);
        image_batch(&im[i], 3);
        image_write(&im[i], dir, i == 2 ? ZEROS : 0);
    }
}

static void remove_file(const char *dir, const char *name)
{
    _cleanup_close_ int sub = open_sub(dir);

    assert_int_equal(unlinkat(sub, name, 0), 0);
}

static void test_gaps(void **state)
{
    char *dir = tmp_make();
    struct journal_reader *r = NULL;
    struct err err = { .text = "" };
    struct image im[3], bad;
    const uint8_t *data;
    uint64_t lsn;
    size_t len;

    three_segments(dir, im);
    expect_clean(dir, 15);
    remove_file(dir, "0000000000000006.log");
    expect_damage(dir, "0000000000000001.log", im[0].len, 6);
    assert_int_equal(journal_reader_open(dir, 4, &r, &err), 0);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, &err), 1);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, &err), 1);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, &err), -EUCLEAN);
    assert_non_null(strstr(err.text, "record 6"));
    journal_reader_close(r);
    image_write(&im[1], dir, 0);
    remove_file(dir, "0000000000000001.log");
    expect_damage(dir, "0000000000000006.log", 0, 1);
    /* A torn end is torn only in the last file. */
    image_write(&im[0], dir, 0);
    bad = im[1];
    bad.len -= 8;
    image_write(&bad, dir, 0);
    expect_damage(dir, "0000000000000006.log", bad.at[4], 10);
    /* What a failed sync left behind the beginning of the next file is not read. */
    bad = im[1];
    image_batch(&bad, 2);
    bad.next -= 2;
    bad.n -= 2;
    bad.data[bad.len - 30] ^= 1;
    image_write(&bad, dir, 0);
    expect_clean(dir, 15);
    tmp_remove(dir);
}

/* A reader tells damage in the middle of the last file from its end. */
static void test_reader_damage(void **state)
{
    char *dir = tmp_make();
    struct err err = { .text = "" };
    struct image im, bad;
    struct seen seen = { 0 };

    image_begin(&im, 1);
    image_batch(&im, 2);
    image_batch(&im, 2);
    image_batch(&im, 2);
    bad = im;
    memset(bad.data + bad.at[2], 0, 24); /* zeros: looks like the end */
    image_write(&bad, dir, ZEROS);
    assert_int_equal(journal_dump(dir, 0, UINT64_MAX, see, &seen, &err), -EUCLEAN);
    assert_int_equal(seen.count, 2);
    bad = im;
    bad.data[bad.at[3] + 30] ^= 1;
    image_write(&bad, dir, ZEROS);
    seen = (struct seen){ 0 };
    assert_int_equal(journal_dump(dir, 0, UINT64_MAX, see, &seen, &err), -EUCLEAN);
    assert_int_equal(seen.count, 3);
    bad = im;
    bad.data[bad.at[5] + 8] ^= 1; /* the tail of the last batch: the end */
    image_write(&bad, dir, ZEROS);
    seen = (struct seen){ 0 };
    assert_int_equal(journal_dump(dir, 0, UINT64_MAX, see, &seen, &err), 0);
    assert_int_equal(seen.count, 5);
    { /* unless the caller knows that it is on disk */
        struct journal_reader *r = NULL;
        const uint8_t *data;
        uint64_t lsn;
        size_t len;

        assert_int_equal(journal_reader_open(dir, 6, &r, &err), 0);
        assert_int_equal(journal_reader_next(r, 6, &lsn, &data, &len, &err), -EUCLEAN);
        journal_reader_close(r);
    }
    tmp_remove(dir);
}

/* Write a complete snapshot for lsn by hand. */
static void write_snapshot(const char *dir, uint64_t lsn)
{
    uint8_t buf[4096], data[PAYLOAD_MAX];
    char name[FILE_NAME_BYTES];
    size_t n = FILE_HEADER_BYTES;

    file_header_encode(SNAPSHOT_MAGIC, TEST_CLUSTER, lsn, buf);
    for (uint64_t i = 1; i <= 3; i++) {
        size_t len = payload(i, data);

        record_encode(buf + n, RECORD_PUT, 0, i, data, (uint32_t)len);
        n += record_bytes(len);
    }
    record_encode(buf + n, RECORD_TRAILER, 0, 4, NULL, 0);
    n += RECORD_HEADER_BYTES;
    snapshot_name(lsn, name);
    write_all_bytes(dir, name, buf, n);
}

/* The log was cut below what a snapshot proves to have been on disk. */
static void test_snapshot_proves(void **state)
{
    char *dir = tmp_make();
    struct image im;

    image_begin(&im, 1);
    image_batch(&im, 4);
    image_write(&im, dir, 0);
    write_snapshot(dir, 4);
    expect_clean(dir, 0);
    im.data[im.at[3] + 9] ^= 1;
    image_write(&im, dir, ZEROS);
    expect_damage(dir, "0000000000000001.log", im.at[3], 4);
    remove_file(dir, "0000000000000001.log");
    expect_damage(dir, "0000000000000004.snap", 0, 5);
    tmp_remove(dir);
}

/* Run verify and repair; afterwards the journal must open, hold what it should, and take
 * records. */
static void expect_repair(const char *dir, uint64_t snapshot, uint64_t last, const char *said)
{
    struct journal_config c = config_for(dir);
    struct lines lines = { .len = 0 }, clean = { .len = 0 };
    struct err err = { .text = "" };
    struct journal *j = NULL;
    struct seen seen = { 0 };

    assert_int_equal(journal_verify(dir, add_line, &clean), 1);
    if (journal_repair(dir, add_line, &lines, &err) < 0)
        fail_msg("%s\n%s", err.text, lines.text);
    if (!strstr(lines.text, said))
        fail_msg("wanted '%s' in: %s", said, lines.text);
    clean.len = 0;
    if (journal_verify(dir, add_line, &clean) != 0)
        fail_msg("after %s: %s", lines.text, clean.text);
    if (journal_open(&c, see, &seen, &j, &err) < 0)
        fail_msg("%s\n%s", err.text, lines.text);
    assert_false(seen.wrong);
    assert_int_equal(seen.snapshot_lsn, snapshot);
    assert_int_equal(journal_last(j), last);
    assert_int_equal(journal_start(j), 0);
    append_batch(j, last + 1, last + 2);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, &err), 0);
    assert_int_equal(seen.snapshot_lsn + seen.count, last + 2);
    lines.len = 0;
    assert_int_equal(journal_repair(dir, add_line, &lines, &err), 0);
    assert_non_null(strstr(lines.text, "nothing to repair"));
}

static void test_repair_cut(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    im[1].data[im[1].at[2] + 3] ^= 0x40; /* record 8 */
    image_write(&im[1], dir, 0);
    expect_repair(dir, 0, 7, "record 8 and all later ones are lost");
    assert_false(exists(dir, "000000000000000b.log"));
    tmp_remove(dir);
}

static void test_repair_header(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    im[1].data[5] ^= 1;
    image_write(&im[1], dir, 0);
    expect_repair(dir, 0, 15, "wrote the damaged file header again"); /* nothing is lost */
    tmp_remove(dir);
}

static void test_repair_headless(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    memset(im[1].data, 0xff, 64);
    image_write(&im[1], dir, 0);
    expect_repair(dir, 0, 5, "record 6 and all later ones are lost");
    tmp_remove(dir);
}

/* Damage before the newest snapshot, in the file that continues it and in an older one. */
static void test_repair_history(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    write_snapshot(dir, 9);
    im[1].data[im[1].at[1] + 25] ^= 1; /* record 7 */
    image_write(&im[1], dir, 0);
    expect_repair(dir, 9, 15, "kept the records from 8 on");
    assert_true(exists(dir, "0000000000000008.log"));
    tmp_remove(dir);

    dir = tmp_make();
    three_segments(dir, im);
    write_snapshot(dir, 9);
    im[0].data[im[0].at[1] + 25] ^= 1;
    image_write(&im[0], dir, 0);
    expect_repair(dir, 9, 15, "history is damaged at record 2");
    tmp_remove(dir);
}

/* Nothing sound joins the snapshot to the log. */
static void test_repair_after_snapshot(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    write_snapshot(dir, 9);
    remove_file(dir, "0000000000000001.log");
    remove_file(dir, "0000000000000006.log");
    expect_repair(dir, 9, 9, "records 10 to 10 are missing");
    tmp_remove(dir);

    dir = tmp_make();
    write_snapshot(dir, 9);
    expect_repair(dir, 9, 9, "begins anew at record 10");
    tmp_remove(dir);

    dir = tmp_make();
    image_begin(&im[0], 1);
    image_batch(&im[0], 5); /* cut short below what the snapshot proves */
    image_write(&im[0], dir, 0);
    write_snapshot(dir, 9);
    expect_repair(dir, 9, 9, "begins anew at record 10");
    tmp_remove(dir);
}

static void test_repair_snapshot(void **state)
{
    char *dir = tmp_make();
    struct image im[3];

    three_segments(dir, im);
    write_snapshot(dir, 4);
    write_all_bytes(dir, "0000000000000009.snap", (const uint8_t *)"junk", 4);
    expect_repair(dir, 4, 15, "0000000000000009.snap is damaged");
    tmp_remove(dir);
}

static void test_repair_impossible(void **state)
{
    char *dir = tmp_make();
    struct lines lines = { .len = 0 };
    struct err err = { .text = "" };
    struct image im[3];

    assert_int_equal(journal_verify(dir, add_line, &lines), -ENOENT);
    (void)close(open_sub(dir));
    assert_int_equal(journal_verify(dir, add_line, &lines), 0);
    assert_int_equal(journal_repair(dir, add_line, &lines, &err), 0);
    three_segments(dir, im);
    remove_file(dir, "0000000000000001.log");
    assert_int_equal(journal_repair(dir, add_line, &lines, &err), -EUCLEAN);
    assert_non_null(strstr(err.text, "backup"));
    assert_true(exists(dir, "0000000000000006.log")); /* untouched */
    assert_int_equal(journal_verify(dir, add_line, &lines), 1);
    assert_non_null(strstr(lines.text, "cannot be rebuilt"));
    tmp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torn_everywhere),
        cmocka_unit_test(test_hole_in_last_batch),
        cmocka_unit_test(test_bit_flips),
        cmocka_unit_test(test_bit_flips_after_crash),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_reader_damage),
        cmocka_unit_test(test_snapshot_proves),
        cmocka_unit_test(test_repair_cut),
        cmocka_unit_test(test_repair_header),
        cmocka_unit_test(test_repair_headless),
        cmocka_unit_test(test_repair_history),
        cmocka_unit_test(test_repair_after_snapshot),
        cmocka_unit_test(test_repair_snapshot),
        cmocka_unit_test(test_repair_impossible),
    };

    log_set_level(LOG_QUIET); /* what is found damaged is checked, not shown */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
