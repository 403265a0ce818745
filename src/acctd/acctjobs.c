/* acctjobs.c - the answer to OP_QUERY_ACCT, frame by frame; see acctjobs.h.
 *
 * A frame is full at FRAME_BYTES of records; a record that no longer fits begins the next one.  One
 * thread at a time. */
#include "acctd/acctjobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/frame.h"

#define FRAME_BYTES (256u << 10)

struct jobs_stream {
    struct acct_rows *rows;
    uint64_t lsn;
    bool any_sent, waiting; /* waiting: a record that did not fit is with rows still */
    const uint8_t *data;    /* that one */
    size_t data_len;
    uint8_t *buf; /* records of the frame being made */
    size_t len, cap;
    size_t *ends; /* where each ends */
    size_t n, ends_cap;
};

struct jobs_stream *jobs_stream_free(struct jobs_stream *s)
{
    if (!s)
        return NULL;
    acct_rows_close(s->rows);
    free(s->buf);
    free(s->ends);
    free(s);
    return NULL;
}

int jobs_stream_open(const char *location, const Pst__AcctFilter *filter, uint64_t lsn,
                     const atomic_bool *cancel, struct jobs_stream **ret, struct err *err)
{
    struct jobs_stream *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return -ENOMEM;
    s->lsn = lsn;
    r = acct_rows_open(location, filter, now_us(), cancel, &s->rows, err);
    if (r < 0)
        s = jobs_stream_free(s);
    else
        *ret = s;
    return r;
}

static int add_record(struct jobs_stream *s, const uint8_t *data, size_t len)
{
    if (s->len + len > s->cap) {
        size_t cap = MAX(s->len + len, FRAME_BYTES);
        uint8_t *bigger = realloc(s->buf, cap);

        if (!bigger)
            return -ENOMEM;
        s->buf = bigger;
        s->cap = cap;
    }
    if (s->n == s->ends_cap) {
        size_t cap = s->ends_cap ? s->ends_cap * 2 : 256;
        size_t *bigger = reallocarray(s->ends, cap, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        s->ends = bigger;
        s->ends_cap = cap;
    }
    memcpy(s->buf + s->len, data, len);
    s->len += len;
    s->ends[s->n++] = s->len;
    return 0;
}

static int pack_batch(struct jobs_stream *s, uint32_t id, bool more, uint8_t **ret_buf,
                      size_t *ret_len)
{
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    _cleanup_free_ ProtobufCBinaryData *records = calloc(s->n + 1, sizeof(*records));
    size_t from = 0;
    int r;

    if (!records)
        return -ENOMEM;
    for (size_t i = 0; i < s->n; from = s->ends[i++])
        records[i] = (ProtobufCBinaryData){ .data = s->buf + from, .len = s->ends[i] - from };
    batch.records = records;
    batch.n_records = s->n;
    batch.has_now_us = batch.has_lsn = !s->any_sent;
    batch.now_us = now_us();
    batch.lsn = s->lsn;
    r = frame_pack(OP_QUERY_ACCT, FRAME_REPLY | (more ? FRAME_MORE : 0), id, 0, &batch.base,
                   ret_buf, ret_len);
    s->len = s->n = 0;
    s->any_sent = true;
    return r < 0 ? r : more;
}

int jobs_stream_frame(struct jobs_stream *s, uint32_t id, uint8_t **ret_buf, size_t *ret_len,
                      struct err *err)
{
    for (;;) {
        int r = s->waiting ? 1 : acct_rows_next(s->rows, &s->data, &s->data_len, err);

        if (r < 0)
            return r;
        if (r == 0)
            return pack_batch(s, id, false, ret_buf, ret_len);
        s->waiting = s->n && s->len + s->data_len > FRAME_BYTES;
        if (s->waiting)
            return pack_batch(s, id, true, ret_buf, ret_len);
        r = add_record(s, s->data, s->data_len);
        if (r < 0)
            return r;
    }
}
