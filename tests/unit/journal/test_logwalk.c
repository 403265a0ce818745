/* test_logwalk.c - reading a part of the log, and the verdict on what ends it */
#include "journal_util.h"

#include "journal/logwalk.h"

#define ANY_START 1

struct log_on_disk {
    char *dir;
    int fd;
    struct file_list list;
};

static void open_log(struct log_on_disk *log)
{
    log->fd = open_sub(log->dir);
    assert_int_equal(file_list_read(log->fd, &log->list), 0);
}

static void close_log(struct log_on_disk *log)
{
    file_list_done(&log->list);
    (void)close(log->fd);
}

static void forget_log(struct log_on_disk *log)
{
    close_log(log);
    tmp_remove(log->dir);
}

/* Records 1 to 4, 5 to 7 and 8 to 10 in three files. */
static void make_log(struct log_on_disk *log)
{
    static const unsigned records[] = { 4, 3, 3 };
    uint64_t first = 1;

    *log = (struct log_on_disk){ .dir = tmp_make() };
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        struct image im;

        image_begin(&im, first);
        image_batch(&im, 1);
        image_batch(&im, records[i] - 1);
        image_mark(&im);
        image_write(&im, log->dir, 0);
        first += records[i];
    }
    open_log(log);
    assert_int_equal(log->list.segments.n, 3);
}

static struct walk walk_from(const struct log_on_disk *log, uint64_t start,
                             const struct walk_opts *opts, struct seen *seen)
{
    struct walk w;

    *seen = (struct seen){ 0 };
    assert_int_equal(walk_log(log->fd, &log->list, start, opts, see, seen, &w), 0);
    assert_false(seen->wrong);
    return w;
}

/* Wherever the reader begins, it is given what is behind that place, and no more. */
static void test_from_every_record(void **state)
{
    const struct walk_opts opts = { .cluster_id = TEST_CLUSTER };
    struct log_on_disk log;

    (void)state;
    make_log(&log);
    for (uint64_t start = 1; start <= 11; start++) {
        struct seen seen;
        struct walk w = walk_from(&log, start, &opts, &seen);
        uint64_t bytes = 0;

        for (uint64_t lsn = start; lsn <= 10; lsn++) {
            uint8_t data[PAYLOAD_MAX];

            bytes += record_bytes(payload(lsn, data));
        }
        assert_int_equal(w.state, WALK_END);
        assert_int_equal(w.lsn, 11);
        assert_int_equal(w.segment, 8);
        assert_true(w.marked);
        assert_int_equal(seen.count, 11 - start);
        assert_int_equal(w.records, seen.count);
        assert_int_equal(w.bytes, bytes);
        if (seen.count) {
            assert_int_equal(seen.first, start);
            assert_int_equal(seen.last, 10);
        }
    }
    forget_log(&log);
}

/* One file alone: it ends where the next one begins. */
static void test_one_segment(void **state)
{
    const struct walk_opts opts = { 0 };
    struct seen seen = { 0 };
    struct log_on_disk log;
    struct walk w = { 0 };

    (void)state;
    make_log(&log);
    assert_int_equal(walk_segment(log.fd, &log.list, 1, 6, &opts, see, &seen, &w), 0);
    assert_int_equal(w.state, WALK_END);
    assert_int_equal(w.lsn, 8);
    assert_int_equal(seen.first, 6);
    assert_int_equal(seen.last, 7);
    forget_log(&log);
}

/* What the caller says ends the walk, and is told apart from damage by `failed`. */
static void test_caller_stops(void **state)
{
    const struct walk_opts opts = { 0 };
    struct seen seen = { .stop_at = 6, .stop_at_errno = -EBADMSG };
    struct log_on_disk log;
    struct walk w;

    (void)state;
    make_log(&log);
    assert_int_equal(walk_log(log.fd, &log.list, 2, &opts, see, &seen, &w), -EBADMSG);
    assert_int_equal(w.failed, -EBADMSG);
    assert_int_equal(seen.first, 2);
    assert_int_equal(seen.last, 5);
    forget_log(&log);
}

/* The last file once more, `cut` bytes shorter. */
static void shorten_last(struct log_on_disk *log, size_t cut)
{
    char name[FILE_NAME_BYTES];
    _cleanup_free_ uint8_t *data = NULL;
    size_t len;

    segment_name(8, 0, name);
    len = read_all(log->dir, name, &data);
    assert_true(len > cut);
    write_all_bytes(log->dir, name, data, len - cut);
}

/* An unfinished last write is no damage, unless somebody knows that the record was on the disk. */
static void test_torn_end(void **state)
{
    struct walk_opts opts = { .cluster_id = TEST_CLUSTER };
    struct log_on_disk log;
    struct seen seen;
    struct walk w;

    (void)state;
    make_log(&log);
    shorten_last(&log, RECORD_HEADER_BYTES + 8); /* the mark, and the end of record 10 */
    w = walk_from(&log, ANY_START, &opts, &seen);
    assert_int_equal(w.state, WALK_TORN);
    assert_int_equal(w.lsn, 10);
    assert_true(w.torn > 0);
    assert_int_equal(seen.last, 9);
    opts.proven_lsn = 9;
    w = walk_from(&log, ANY_START, &opts, &seen);
    assert_int_equal(w.state, WALK_TORN);
    opts.proven_lsn = 10;
    w = walk_from(&log, ANY_START, &opts, &seen);
    assert_int_equal(w.state, WALK_DAMAGE);
    assert_non_null(strstr(w.reason, "a snapshot stands for record 10"));
    forget_log(&log);
}

/* A record that is missing before a later file was on the disk once, also where the reader begins
 * behind it in the same file. */
static void test_hole_before_a_file(void **state)
{
    const struct walk_opts opts = { 0 };
    struct log_on_disk log;
    char name[FILE_NAME_BYTES];
    uint8_t *data;
    size_t len;
    struct seen seen;
    struct walk w;

    (void)state;
    make_log(&log);
    segment_name(5, 0, name);
    len = read_all(log.dir, name, &data);
    data[FILE_HEADER_BYTES + RECORD_HEADER_BYTES] ^= 1; /* the payload of record 5 */
    write_all_bytes(log.dir, name, data, len);
    free(data);
    w = walk_from(&log, 7, &opts, &seen);
    assert_int_equal(w.state, WALK_DAMAGE);
    assert_int_equal(w.segment, 5);
    assert_int_equal(w.lsn, 5);
    assert_int_equal(w.offset, FILE_HEADER_BYTES);
    assert_non_null(
        strstr(w.reason, "the record is damaged, and the next file begins at record 8"));
    assert_int_equal(seen.count, 0);
    w = walk_from(&log, 8, &opts, &seen); /* that file is not read */
    assert_int_equal(w.state, WALK_END);
    assert_int_equal(seen.count, 3);
    forget_log(&log);
}

static void test_other_cluster(void **state)
{
    const struct walk_opts opts = { .cluster_id = TEST_CLUSTER + 1 };
    struct log_on_disk log;
    struct seen seen;
    struct walk w;

    (void)state;
    make_log(&log);
    w = walk_from(&log, ANY_START, &opts, &seen);
    assert_int_equal(w.state, WALK_DAMAGE);
    assert_string_equal(w.reason, "the file belongs to another cluster");
    assert_int_equal(seen.count, 0);
    forget_log(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_every_record),  cmocka_unit_test(test_one_segment),
        cmocka_unit_test(test_caller_stops),       cmocka_unit_test(test_torn_end),
        cmocka_unit_test(test_hole_before_a_file), cmocka_unit_test(test_other_cluster),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("logwalk", tests, NULL, NULL);
}
