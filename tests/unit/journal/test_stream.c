/* test_stream.c - reading the records of a file, and telling a torn write from damage */
#include "journal_util.h"

#include "journal/stream.h"

struct place {
    char *dir;
    int fd;
};

static int place_setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->dir = tmp_make();
    p->fd = -1;
    *state = p;
    return 0;
}

static int place_teardown(void **state)
{
    struct place *p = *state;

    if (p->fd >= 0)
        (void)close(p->fd);
    tmp_remove(p->dir);
    free(p);
    return 0;
}

/* The bytes become the file that is read. */
static int open_bytes(struct place *p, const uint8_t *data, size_t n)
{
    char path[600];

    if (p->fd >= 0)
        (void)close(p->fd);
    (void)snprintf(path, sizeof(path), "%s/bytes", p->dir);
    p->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(p->fd >= 0);
    assert_int_equal(pwrite(p->fd, data, n, 0), (ssize_t)n);
    return p->fd;
}

static int open_image(struct place *p, const struct image *im)
{
    return open_bytes(p, im->data, im->len);
}

static void expect_lsn(struct stream *s, uint64_t lsn)
{
    const uint8_t *data = NULL;
    bool marked = false;
    size_t len = 0;

    assert_int_equal(stream_next_lsn(s, lsn, &data, &len, &marked), 1);
    assert_true(payload_is(lsn, data, len));
    assert_false(marked); /* a record clears it */
}

static void test_in_order(void **state)
{
    struct place *p = *state;
    struct image *im = calloc(1, sizeof(*im));
    const uint8_t *data;
    struct stream s;
    bool marked = false;
    size_t len;

    assert_non_null(im);
    image_begin(im, 7);
    image_batch(im, 3);
    image_mark(im);
    image_batch(im, 2);
    image_mark(im);
    stream_init(&s, open_image(p, im), FILE_HEADER_BYTES);
    for (uint64_t lsn = 7; lsn <= 11; lsn++)
        expect_lsn(&s, lsn);
    assert_int_equal(stream_next_lsn(&s, 12, &data, &len, &marked), 0); /* the mark, then the end */
    assert_true(marked);
    assert_int_equal(s.offset, im->len);

    /* The file grows behind the reader. */
    image_batch(im, 1);
    assert_int_equal(pwrite(p->fd, im->data, im->len, 0), (ssize_t)im->len);
    stream_refresh(&s);
    expect_lsn(&s, 12);
    assert_int_equal(stream_next_lsn(&s, 13, &data, &len, &marked), 0);
    assert_int_equal(s.offset, im->len);
    stream_done(&s);
    free(im);
}

/* A sound record that is not the one wanted stands where it stood. */
static void test_other_record(void **state)
{
    struct place *p = *state;
    struct image *im = calloc(1, sizeof(*im));
    const uint8_t *data;
    struct stream s;
    size_t len;

    assert_non_null(im);
    image_begin(im, 7);
    image_batch(im, 2);
    stream_init(&s, open_image(p, im), FILE_HEADER_BYTES);
    assert_int_equal(stream_next_lsn(&s, 8, &data, &len, NULL), -EBADMSG);
    assert_int_equal(s.offset, FILE_HEADER_BYTES);
    expect_lsn(&s, 7);
    assert_int_equal(stream_next_lsn(&s, 7, &data, &len, NULL), -EBADMSG);
    expect_lsn(&s, 8);
    stream_done(&s);

    /* A mark of another place is no mark, and a snapshot's record none of a log. */
    image_begin(im, 7);
    image_batch(im, 1);
    record_encode(im->data + im->len, RECORD_MARK, 0, 9, NULL, 0);
    im->len += RECORD_HEADER_BYTES;
    stream_init(&s, open_image(p, im), FILE_HEADER_BYTES);
    expect_lsn(&s, 7);
    assert_int_equal(stream_next_lsn(&s, 8, &data, &len, NULL), -EBADMSG);
    stream_done(&s);
    image_begin(im, 7);
    record_encode(im->data + im->len, RECORD_PUT, 0, 7, NULL, 0);
    im->len += RECORD_HEADER_BYTES;
    stream_init(&s, open_image(p, im), FILE_HEADER_BYTES);
    assert_int_equal(stream_next_lsn(&s, 7, &data, &len, NULL), -EBADMSG);
    stream_done(&s);
    free(im);
}

/* Each byte of a record is of use: with one changed, or the file cut there, nothing is given. */
static void test_no_byte_is_believed(void **state)
{
    struct place *p = *state;
    struct image *im = calloc(1, sizeof(*im)), *bad = calloc(1, sizeof(*bad));
    const uint8_t *data = NULL;
    struct record_header h;
    struct stream s;

    assert_non_null(im);
    assert_non_null(bad);
    image_begin(im, 3); /* 111 bytes of payload, so there is padding too */
    image_batch(im, 1);
    for (size_t at = FILE_HEADER_BYTES; at < im->len; at++) {
        *bad = *im;
        bad->data[at] ^= 0x40;
        stream_init(&s, open_image(p, bad), FILE_HEADER_BYTES);
        assert_int_equal(stream_next(&s, &h, &data), -EBADMSG);
        assert_int_equal(s.offset, FILE_HEADER_BYTES);
        stream_done(&s);
    }
    for (size_t len = FILE_HEADER_BYTES; len <= im->len; len++) {
        int want = len == FILE_HEADER_BYTES ? 0 : len == im->len ? 1 : -EBADMSG;

        stream_init(&s, open_bytes(p, im->data, len), FILE_HEADER_BYTES);
        assert_int_equal(stream_next(&s, &h, &data), want);
        stream_done(&s);
    }
    assert_int_equal(h.lsn, 3);
    free(im);
    free(bad);
}

/* Zeros that were written ahead are the end. */
static void test_zeros(void **state)
{
    struct place *p = *state;
    static uint8_t zeros[FILE_HEADER_BYTES + 4096];
    const uint8_t *data;
    struct record_header h;
    struct stream s;
    struct tail tail;

    stream_init(&s, open_bytes(p, zeros, sizeof(zeros)), FILE_HEADER_BYTES);
    assert_int_equal(stream_next(&s, &h, &data), 0);
    assert_int_equal(s.offset, FILE_HEADER_BYTES);
    stream_done(&s);
    assert_int_equal(stream_judge_tail(p->fd, FILE_HEADER_BYTES, 5, &tail), 0);
    assert_false(tail.synced);
    assert_int_equal(tail.dirty, 0);
}

static struct tail judge(struct place *p, const struct image *im, size_t record)
{
    struct tail tail;

    assert_int_equal(stream_judge_tail(open_image(p, im), im->at[record], 10 + record, &tail), 0);
    return tail;
}

/* Batches are synced one after the other: what a later batch holds proves that the one before was
 * whole.  A record of the same batch proves nothing. */
static void test_tail(void **state)
{
    struct place *p = *state;
    struct image *im = calloc(1, sizeof(*im));
    struct tail tail;

    assert_non_null(im);
    image_begin(im, 10); /* 10 11 12 in one batch, 13 14 in the next */
    image_batch(im, 3);
    im->data[im->at[1] + 3] ^= 1;
    tail = judge(p, im, 1);
    assert_false(tail.synced);
    /* up to the end of record 12, but for zeros at its end */
    assert_true(tail.dirty > im->at[2] - im->at[1]);
    assert_true(tail.dirty <= im->len - im->at[1]);

    image_batch(im, 2);
    tail = judge(p, im, 1);
    assert_true(tail.synced);
    assert_int_equal(tail.proof_lsn, 13);

    image_begin(im, 10);
    image_batch(im, 3);
    image_mark(im); /* 12 and all before it was synced */
    im->data[im->at[1] + 3] ^= 1;
    tail = judge(p, im, 1);
    assert_true(tail.synced);
    assert_int_equal(tail.proof_lsn, 12);

    im->data[im->len - 1] ^= 1; /* a mark that is not sound proves nothing */
    assert_false(judge(p, im, 1).synced);
    free(im);
}

static void test_header(void **state)
{
    struct place *p = *state;
    uint8_t head[FILE_HEADER_BYTES];
    struct file_header h = { 0 };
    const char *reason = NULL;

    file_header_encode(SEGMENT_MAGIC, TEST_CLUSTER, 77, head);
    assert_int_equal(
        stream_read_header(open_bytes(p, head, sizeof(head)), SEGMENT_MAGIC, &h, &reason), 0);
    assert_true(h.cluster_id == TEST_CLUSTER);
    assert_int_equal(h.lsn, 77);
    assert_int_equal(h.level, LOG_LEVEL);
    assert_int_equal(stream_read_header(p->fd, SNAPSHOT_MAGIC, &h, &reason), -EBADMSG);
    assert_non_null(reason);
    assert_int_equal(
        stream_read_header(open_bytes(p, head, sizeof(head) - 1), SEGMENT_MAGIC, &h, &reason),
        -EBADMSG);
    assert_string_equal(reason, "the file header is cut short");
    assert_int_equal(stream_read_header(-1, SEGMENT_MAGIC, &h, &reason), -EBADF);
}

static void test_pread(void **state)
{
    struct place *p = *state;
    const uint8_t bytes[] = "0123456789";
    char got[16] = "";

    (void)open_bytes(p, bytes, 10);
    assert_int_equal(pread_full(p->fd, got, 4, 3), 4);
    assert_memory_equal(got, "3456", 4);
    assert_int_equal(pread_full(p->fd, got, sizeof(got), 8), 2);
    assert_int_equal(pread_full(p->fd, got, 1, 10), 0);
    assert_int_equal(pread_full(-1, got, 1, 0), -EBADF);
}

/* Who follows a log whose file is laid out ahead reads little of it each time; who reads a long one
 * has it in large pieces. */
static void test_window(void **state)
{
    struct place *p = *state;
    struct image *im = calloc(1, sizeof(*im));
    uint64_t next = 1, end;
    struct stream s;

    assert_non_null(im);
    image_begin(im, next);
    stream_init(&s, open_image(p, im), FILE_HEADER_BYTES);
    assert_int_equal(ftruncate(p->fd, 1 << 20), 0);
    for (unsigned round = 0; round < 20; round++) {
        image_batch(im, 1);
        assert_int_equal(pwrite(p->fd, im->data, im->len, 0), (ssize_t)im->len);
        stream_refresh(&s);
        expect_lsn(&s, next++);
        assert_true(s.cap <= 16u << 10);
    }
    end = im->len;
    while (end < 200u << 10) {
        size_t n;

        image_begin(im, im->next);
        while (im->n < 200)
            image_batch(im, 20);
        n = im->len - FILE_HEADER_BYTES;
        assert_int_equal(pwrite(p->fd, im->data + FILE_HEADER_BYTES, n, (off_t)end), (ssize_t)n);
        end += n;
    }
    stream_refresh(&s);
    while (s.offset < end)
        expect_lsn(&s, next++);
    assert_true(s.cap >= 64u << 10 && s.cap <= 256u << 10);
    stream_done(&s);
    free(im);
}

int main(void)
{
#define PLACED(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        PLACED(test_in_order), PLACED(test_other_record), PLACED(test_no_byte_is_believed),
        PLACED(test_zeros),    PLACED(test_tail),         PLACED(test_header),
        PLACED(test_pread),    PLACED(test_window),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
