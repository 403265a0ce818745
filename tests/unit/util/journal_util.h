/* journal_util.h - what the journal's tests share: a temporary directory, known payloads, a
 * checking recovery, and segments written byte by byte. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "journal/files.h"
#include "journal/format.h"
#include "journal/journal.h"

#include "tree_util.h"

#define UTIL __attribute__((unused)) static
#define PAYLOAD_MAX 400
#define TEST_CLUSTER UINT64_C(0x1234567890abcdef)

/* The payload of record lsn: its length and bytes depend on the number alone.  Zeros included. */
UTIL size_t payload(uint64_t lsn, uint8_t out[static PAYLOAD_MAX])
{
    size_t len = (size_t)(lsn * 37 % 291);

    for (size_t i = 0; i < len; i++)
        out[i] = i % 5 == 4 ? 0 : (uint8_t)(lsn * 131 + i * 7);
    return len;
}

UTIL bool payload_is(uint64_t lsn, const uint8_t *data, size_t len)
{
    uint8_t want[PAYLOAD_MAX];

    return payload(lsn, want) == len && (len == 0 || memcmp(want, data, len) == 0);
}

/* A fresh directory; the caller passes it to tmp_remove(). */
UTIL char *tmp_make(void)
{
    const char *base = getenv("TMPDIR");
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/penstock-journal-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return strdup(path);
}

UTIL void tmp_remove(char *dir)
{
    remove_tree(AT_FDCWD, dir);
    free(dir);
}

UTIL int open_sub(const char *dir)
{
    int fd = -1;

    assert_int_equal(journal_dir_open(dir, true, &fd, NULL), 0);
    return fd;
}

UTIL size_t read_all(const char *dir, const char *name, uint8_t **ret)
{
    _cleanup_close_ int sub = open_sub(dir);
    _cleanup_close_ int fd = openat(sub, name, O_RDONLY | O_CLOEXEC);
    struct stat st;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    *ret = malloc((size_t)st.st_size + 1);
    assert_non_null(*ret);
    assert_int_equal(pread(fd, *ret, (size_t)st.st_size, 0), st.st_size);
    return (size_t)st.st_size;
}

UTIL void write_all_bytes(const char *dir, const char *name, const uint8_t *data, size_t n)
{
    _cleanup_close_ int sub = open_sub(dir);
    _cleanup_close_ int fd = openat(sub, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, n, 0), (ssize_t)n);
}

UTIL bool exists(const char *dir, const char *name)
{
    _cleanup_close_ int sub = open_sub(dir);

    return faccessat(sub, name, F_OK, 0) == 0;
}

/* A recovery that checks what it is given. */
struct seen {
    uint64_t puts, snapshot_lsn, first, last, count;
    bool wrong; /* a record out of order or with other bytes */
    int stop_at_errno;
    uint64_t stop_at;
};

UTIL int see(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct seen *s = ctx;

    if (snapshot) {
        s->puts++;
        s->snapshot_lsn = lsn;
        s->wrong |= s->count > 0 || !payload_is(s->puts, data, len);
        return 0;
    }
    if (s->stop_at && lsn == s->stop_at)
        return s->stop_at_errno;
    if (!s->count)
        s->first = lsn;
    s->wrong |= !payload_is(lsn, data, len) ||
                (s->count ? lsn != s->last + 1 : s->snapshot_lsn && lsn != s->snapshot_lsn + 1);
    s->last = lsn;
    s->count++;
    return 0;
}

UTIL struct journal_config config_for(const char *dir)
{
    return (struct journal_config){ .dir = dir, .cluster_id = TEST_CLUSTER };
}

/* Open, replay, close without touching the files.  The result of the open. */
UTIL int recover_read_only(const char *dir, struct seen *seen, struct err *err)
{
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    int r;

    c.read_only = true;
    *seen = (struct seen){ 0 };
    r = journal_open(&c, see, seen, &j, err);
    (void)journal_close(j);
    return r;
}

UTIL int recover_for_real(const char *dir, struct seen *seen, struct err *err)
{
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    int r;

    *seen = (struct seen){ 0 };
    r = journal_open(&c, see, seen, &j, err);
    (void)journal_close(j);
    return r;
}

UTIL void append_one(struct journal *j, uint64_t want)
{
    uint8_t data[PAYLOAD_MAX];
    uint64_t lsn = 0;
    size_t len = payload(want, data);

    assert_int_equal(journal_append(j, data, len, &lsn), 0);
    assert_int_equal(lsn, want);
}

/* Append from .. to, one batch, and wait for it. */
UTIL void append_batch(struct journal *j, uint64_t from, uint64_t to)
{
    for (uint64_t lsn = from; lsn <= to; lsn++)
        append_one(j, lsn);
    journal_commit(j);
    assert_int_equal(journal_wait_durable(j, to), 0);
}

UTIL int take_snapshot(struct journal *j, uint64_t lsn, uint64_t puts, uint64_t keep_lsn)
{
    struct journal_snapshot *s = NULL;
    uint8_t data[PAYLOAD_MAX];
    int r = journal_snapshot_begin(j, lsn, &s);

    if (r < 0)
        return r;
    for (uint64_t i = 1; i <= puts; i++)
        (void)journal_snapshot_put(s, data, payload(i, data)); /* commit reports it */
    return journal_snapshot_commit(s, keep_lsn);
}

/* Bytes of a segment put together by hand. */
struct image {
    uint8_t data[64 << 10];
    size_t len;
    uint64_t next;  /* lsn */
    size_t at[256]; /* offset of the n-th record, from the segment's first */
    size_t n;
};

UTIL void image_begin(struct image *im, uint64_t first)
{
    *im = (struct image){ .len = FILE_HEADER_BYTES, .next = first };
    file_header_encode(SEGMENT_MAGIC, TEST_CLUSTER, first, im->data);
}

UTIL void image_batch(struct image *im, unsigned records)
{
    for (unsigned k = 0; k < records; k++) {
        uint8_t data[PAYLOAD_MAX];
        size_t len = payload(im->next, data);

        im->at[im->n++] = im->len;
        record_encode(im->data + im->len, RECORD_DATA, k, im->next++, data, (uint32_t)len);
        im->len += record_bytes(len);
    }
}

UTIL void image_mark(struct image *im)
{
    record_encode(im->data + im->len, RECORD_MARK, 0, im->next - 1, NULL, 0);
    im->len += RECORD_HEADER_BYTES;
}

/* Write the image as the segment of its first record, with `zeros` preallocated behind. */
UTIL void image_write(const struct image *im, const char *dir, size_t zeros)
{
    _cleanup_free_ uint8_t *all = calloc(1, im->len + zeros);
    char name[FILE_NAME_BYTES];

    assert_non_null(all);
    memcpy(all, im->data, im->len);
    segment_name(im->next - im->n, 0, name);
    write_all_bytes(dir, name, all, im->len + zeros);
}

/* Lines of a report, one behind another. */
struct lines {
    char text[8192];
    size_t len;
};

UTIL void add_line(void *ctx, const char *line)
{
    struct lines *l = ctx;
    int n = snprintf(l->text + l->len, sizeof(l->text) - l->len, "%s\n", line);

    if (n > 0 && l->len + (size_t)n < sizeof(l->text))
        l->len += (size_t)n;
}
