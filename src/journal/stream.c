/* stream.c - sequential reading of journal files; see stream.h.
 *
 * Owns the read window of a struct stream.  A length found in the file is believed only up to
 * JOURNAL_MAX_RECORD.  Torn write or damage is decided here: a batch is written only after the one
 * before it was synced, so a sound record whose batch starts beyond the bad place proves that the
 * bad place had once been good.  Design note 0001, "Recovery". */
#include "journal/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WINDOW_BYTES (256u << 10)
/* A reader that follows the log finds a few records at a time, and behind them zeros that were laid
 * out ahead: it begins with little, and takes twice as much whenever all of it was there. */
#define WINDOW_FIRST (8u << 10)
/* Bytes hashed in search of a sound record behind a bad one, beyond which we take it for damage:
 * a tail made to cost quadratic time must not hold up a start. */
#define TAIL_HASH_BUDGET (1u << 30)

void stream_init(struct stream *s, int fd, uint64_t offset)
{
    *s = (struct stream){ .fd = fd, .offset = offset, .ahead = WINDOW_FIRST };
}

void stream_done(struct stream *s)
{
    free(s->buf);
    *s = (struct stream){ .fd = -1 };
}

void stream_refresh(struct stream *s)
{
    s->buf_len = 0;
    s->ahead = WINDOW_FIRST;
}

long pread_full(int fd, void *buf, size_t n, uint64_t offset)
{
    size_t got = 0;

    while (got < n) {
        ssize_t r = pread(fd, (char *)buf + got, n - got, (off_t)(offset + got));

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (long)got;
}

/* Make `want` bytes from s->offset available at *ret, fewer at the end of the file; the count. */
static long map_window(struct stream *s, size_t want, const uint8_t **ret)
{
    uint64_t skip = s->offset - s->buf_offset;
    size_t more = MAX(want, s->ahead);
    long n;

    if (s->offset < s->buf_offset || skip > s->buf_len || s->buf_len - skip < want) {
        if (more > s->cap) {
            uint8_t *p = realloc(s->buf, more);

            if (!p)
                return -ENOMEM;
            s->buf = p;
            s->cap = more;
        }
        s->buf_len = 0;
        n = pread_full(s->fd, s->buf, more, s->offset);
        if (n < 0)
            return n;
        if ((size_t)n == more)
            s->ahead = MIN(MAX(2 * s->ahead, (size_t)WINDOW_FIRST), (size_t)WINDOW_BYTES);
        s->buf_offset = s->offset;
        s->buf_len = (size_t)n;
        skip = 0;
    }
    *ret = s->buf + skip;
    return (long)MIN(want, s->buf_len - (size_t)skip);
}

static bool all_zero(const uint8_t *p, size_t n)
{
    while (n && !*p) {
        p++;
        n--;
    }
    return n == 0;
}

int stream_next(struct stream *s, struct record_header *ret_header, const uint8_t **ret_data)
{
    struct record_header h;
    const uint8_t *p = NULL;
    long n = map_window(s, RECORD_HEADER_BYTES, &p);

    if (n < 0)
        return (int)n;
    if (all_zero(p, (size_t)n))
        return 0;
    if (n < (long)RECORD_HEADER_BYTES || !record_header_decode(p, &h))
        return -EBADMSG;
    n = map_window(s, record_bytes(h.len), &p);
    if (n < 0)
        return (int)n;
    if ((size_t)n < record_bytes(h.len) || !record_check(p, &h))
        return -EBADMSG;
    s->offset += record_bytes(h.len);
    *ret_header = h;
    *ret_data = p + RECORD_HEADER_BYTES;
    return 1;
}

int stream_next_lsn(struct stream *s, uint64_t lsn, const uint8_t **ret_data, size_t *ret_len,
                    bool *marked)
{
    for (;;) {
        uint64_t at = s->offset;
        struct record_header h;
        int r = stream_next(s, &h, ret_data);

        if (r <= 0)
            return r;
        if (h.kind == RECORD_MARK && h.len == 0 && h.lsn + 1 == lsn) {
            if (marked)
                *marked = true;
            continue;
        }
        if (h.kind != RECORD_DATA || h.lsn != lsn) {
            s->offset = at;
            return -EBADMSG;
        }
        if (marked)
            *marked = false;
        *ret_len = h.len;
        return 1;
    }
}

/* Does a sound record at `at` prove that the missing record `lsn` had been synced?  1, 0, or a
 * negative errno; *hashed grows by what the question cost. */
static int proves_synced(struct stream *s, uint64_t at, uint64_t lsn, uint64_t *hashed,
                         uint64_t *ret_proof)
{
    struct record_header h;
    const uint8_t *data;
    int r;

    s->offset = at;
    r = stream_next(s, &h, &data);
    if (r == -EBADMSG)
        *hashed +=
            WINDOW_BYTES; /* a bound on the usual cost; long ones are charged by the caller */
    if (r <= 0)
        return r == -EBADMSG ? 0 : r;
    *ret_proof = h.lsn;
    if (h.kind == RECORD_MARK)
        return h.lsn >= lsn;
    return h.kind == RECORD_DATA && h.lsn > h.ordinal && h.lsn - h.ordinal > lsn;
}

/* Could these bytes be the header of a record that matters to the question?  Cheap and sharp: the
 * lsn must lie just above the missing one. */
static bool is_plausible(const uint8_t *p, uint64_t lsn, uint64_t file_left,
                         struct record_header *h)
{
    return record_header_decode(p, h) && (h->kind == RECORD_DATA || h->kind == RECORD_MARK) &&
           h->lsn >= lsn && h->lsn - lsn <= file_left / RECORD_HEADER_BYTES + BATCH_MAX_RECORDS &&
           record_bytes(h->len) <= file_left;
}

/* Where the search for a sound record stands. */
struct search {
    struct stream probe;
    uint64_t lsn, end, hashed;
    struct tail tail;
};

static void search_done(struct search *q)
{
    stream_done(&q->probe);
}

/* Look at every aligned place of a window of n bytes that begins at base. */
static int search_window(struct search *q, const uint8_t *buf, size_t n, uint64_t base,
                         uint64_t offset)
{
    for (size_t i = 0; i < n; i += 8) {
        size_t left = n - i;
        uint64_t word = 0;
        struct record_header h;

        memcpy(&word, buf + i, MIN(left, sizeof(word)));
        if (!word)
            continue;
        q->tail.dirty = base + i + MIN(left, sizeof(word)) - offset;
        if (left < RECORD_HEADER_BYTES || base + i <= offset ||
            !is_plausible(buf + i, q->lsn, q->end - base - i, &h))
            continue;
        q->hashed += h.len;
        int r = proves_synced(&q->probe, base + i, q->lsn, &q->hashed, &q->tail.proof_lsn);
        if (r < 0)
            return r;
        if (r > 0 || q->hashed > TAIL_HASH_BUDGET) {
            q->tail.synced = true;
            return 0;
        }
    }
    return 0;
}

int stream_judge_tail(int fd, uint64_t offset, uint64_t lsn, struct tail *ret_tail)
{
    _cleanup_val_(search_done) struct search q = { .lsn = lsn };
    _cleanup_free_ uint8_t *buf = malloc(WINDOW_BYTES);
    off_t end = lseek(fd, 0, SEEK_END);

    if (!buf)
        return -ENOMEM;
    if (end < 0)
        return -errno;
    q.end = (uint64_t)end;
    stream_init(&q.probe, fd, offset);
    for (uint64_t at = offset; at < q.end && !q.tail.synced;) {
        long n = pread_full(fd, buf, WINDOW_BYTES, at);
        int r = n < 0 ? (int)n : search_window(&q, buf, (size_t)n, at, offset);

        if (r < 0)
            return r;
        if (n < (long)WINDOW_BYTES)
            break;
        at +=
            WINDOW_BYTES - RECORD_HEADER_BYTES; /* headers may straddle; both are multiples of 8 */
    }
    *ret_tail = q.tail;
    return 0;
}

int stream_read_header(int fd, uint32_t magic, struct file_header *ret, const char **ret_reason)
{
    uint8_t head[FILE_HEADER_BYTES];
    long n = pread_full(fd, head, sizeof(head), 0);

    if (n < 0) {
        *ret_reason = strerrordesc_np((int)-n);
        return (int)n;
    }
    if ((size_t)n < sizeof(head)) {
        *ret_reason = "the file header is cut short";
        return -EBADMSG;
    }
    return file_header_decode(head, magic, ret, ret_reason);
}
