/* streamrec.c - see streamrec.h.  Pure. */
#include "stream/streamrec.h"

#include <errno.h>

#include "journal/format.h"

/* Bytes of the record at `data`, 0: there is none. */
static size_t record_at(const uint8_t *data, size_t len, struct record_header *ret)
{
    size_t n;

    if (len < RECORD_HEADER_BYTES || !record_header_decode(data, ret))
        return 0;
    n = record_bytes(ret->len);
    return n <= len ? n : 0;
}

int streamrec_check(const uint8_t *data, size_t len, uint64_t first, uint64_t *ret_last)
{
    uint64_t lsn = first;

    if (!first || !len || len > STREAM_BATCH_MAX)
        return -EBADMSG;
    for (size_t at = 0; at < len;) {
        struct record_header h;
        size_t n = record_at(data + at, len - at, &h);

        if (!n || h.kind != RECORD_DATA || h.lsn != lsn || !record_check(data + at, &h) ||
            lsn == UINT64_MAX || h.ordinal > lsn - 1)
            return -EBADMSG;
        at += n;
        lsn++;
    }
    *ret_last = lsn - 1;
    return 0;
}

size_t streamrec_cut(const uint8_t *data, size_t len, size_t max, uint64_t *ret_records)
{
    uint64_t records = 0;
    size_t at = 0;

    while (at < len) {
        struct record_header h;
        size_t n = record_at(data + at, len - at, &h);

        if (!n || (records && at + n > max))
            break;
        at += n;
        records++;
    }
    *ret_records = records;
    return at;
}

size_t streamrec_offset(const uint8_t *data, size_t len, uint64_t first, uint64_t lsn)
{
    size_t at = 0;

    for (uint64_t i = first; i < lsn && at < len; i++) {
        struct record_header h;
        size_t n = record_at(data + at, len - at, &h);

        if (!n)
            break;
        at += n;
    }
    return at;
}
