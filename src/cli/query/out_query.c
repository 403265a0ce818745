/* out_query.c - streams of records from the controller; see out_query.h.
 *
 * One arena per frame for the batch and one per record; neither grows with the number of records.
 */
#include "cli/query/out_query.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbcodec.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/query/out_filter.h"
#include "wire/ops.h"

#define LONG_ANSWER 1000u /* records */
#define MANY_RECORDS 200u
#define NICE_STEP 5

struct stream {
    const ProtobufCMessageDescriptor *desc;
    query_fn *fn;
    void *ctx;
    struct query_info info;
    bool yielded;
    bool keeps_text; /* client_keeps_text() */
    struct pb_arena *frame_arena;
    struct pb_arena *arena;
    struct pb_codec *codec; /* of desc, when there are many records */
    struct strbuf *later;   /* records, each with its length before it; NULL: given as they come */
};

ProtobufCMessage *query_unpack(struct pb_arena *arena, const ProtobufCMessageDescriptor *desc,
                               const uint8_t *data, size_t len)
{
    return protobuf_c_message_unpack(desc, pb_arena_allocator(arena), len, data);
}

Pst__QueryRequest query_to_print(void)
{
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;

    request.has_keeps_turn = request.keeps_turn = true;
    return request;
}

/* A long list takes a moment anyway.  Lower our priority, so that it does not delay the srun of
 * another user on this host. */
static void yield_to_others(struct stream *s)
{
    if (s->yielded || s->info.records < LONG_ANSWER)
        return;
    s->yielded = true;
    errno = 0;
    if (nice(NICE_STEP) == -1 && errno)
        return; /* goes on as it is */
}

/* The library looks at every field that a record could have; a table of those that it has pays from
 * some records on. */
static ProtobufCMessage *unpack_record(struct stream *s, const uint8_t *data, size_t len)
{
    ProtobufCMessage *msg;
    bool owned; /* no part of it is asked for */

    if (!s->codec && s->info.records == MANY_RECORDS)
        (void)pb_codec_new(s->desc, &s->codec); /* no memory: without */
    msg = s->codec ? pb_codec_unpack(s->codec, pb_arena_allocator(s->arena), data, len, &owned)
                   : query_unpack(s->arena, s->desc, data, len);
    if (msg && !s->keeps_text)
        pbsafe_clean(msg);
    return msg;
}

static int give_record(struct stream *s, const uint8_t *data, size_t len)
{
    const ProtobufCMessage *msg;

    pb_arena_reset(s->arena);
    msg = unpack_record(s, data, len);
    if (!msg)
        return -EBADMSG;
    s->info.records++;
    return s->fn(s->ctx, msg, &s->info);
}

static int keep_record(struct stream *s, const ProtobufCBinaryData *record)
{
    strbuf_addn(s->later, &record->len, sizeof(record->len));
    strbuf_addn(s->later, record->data, record->len);
    return s->later->failed ? -ENOMEM : 0;
}

static int on_frame(void *ctx, const struct frame *frame)
{
    struct stream *s = ctx;
    const Pst__RecordBatch *batch;
    int r = 0;

    pb_arena_reset(s->frame_arena);
    batch = (const Pst__RecordBatch *)query_unpack(s->frame_arena, &pst__record_batch__descriptor,
                                                   frame->body, frame->len);
    if (!batch)
        return -EBADMSG;
    if (batch->has_now_us)
        s->info.now_us = batch->now_us;
    if (batch->has_lsn)
        s->info.lsn = batch->lsn;
    if (batch->has_version)
        s->info.version = batch->version;
    s->info.sees_hidden = s->info.sees_hidden || (batch->has_sees_hidden && batch->sees_hidden);
    if (batch->has_planned_us)
        s->info.planned_us = batch->planned_us;
    if (batch->has_next_at)
        s->info.next_at = batch->next_at;
    s->info.unchanged = s->info.unchanged || (batch->has_unchanged && batch->unchanged);
    for (size_t i = 0; i < batch->n_records && r >= 0; i++)
        r = s->later ? keep_record(s, &batch->records[i])
                     : give_record(s, batch->records[i].data, batch->records[i].len);
    yield_to_others(s);
    return r < 0 ? r : 0;
}

/* What was kept for the end of the answer. */
static int give_kept(struct stream *s)
{
    size_t len;
    int r = 0;

    for (size_t at = 0; r >= 0 && at < s->later->len; at += len) {
        memcpy(&len, s->later->buf + at, sizeof(len));
        at += sizeof(len);
        r = give_record(s, (const uint8_t *)s->later->buf + at, len);
    }
    return r < 0 ? r : 0;
}

static int run_stream(struct client *c, unsigned op, const ProtobufCMessage *request,
                      struct stream *s, struct query_info *ret_info)
{
    _cleanup_(pb_arena_free) struct pb_arena *frame_arena = NULL;
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    int r = pb_arena_new(&frame_arena);

    if (r >= 0)
        r = pb_arena_new(&arena);
    if (r < 0)
        return r;
    s->frame_arena = frame_arena;
    s->arena = arena;
    s->keeps_text = client_keeps_text(c);
    r = client_stream(c, op, request, on_frame, s);
    if (r == 0 && s->later)
        r = give_kept(s);
    s->codec = pb_codec_free(s->codec);
    if (ret_info)
        *ret_info = s->info;
    return r;
}

int query_run(struct client *c, unsigned op, const ProtobufCMessage *request,
              const ProtobufCMessageDescriptor *desc, query_fn *fn, void *ctx,
              struct query_info *ret_info)
{
    struct stream s = { .desc = desc, .fn = fn, .ctx = ctx, .info.now_us = now_us() };

    return run_stream(c, op, request, &s, ret_info);
}

int query_run_later(struct client *c, unsigned op, const ProtobufCMessage *request,
                    const ProtobufCMessageDescriptor *desc, query_fn *fn, void *ctx,
                    struct query_info *ret_info)
{
    _cleanup_val_(strbuf_done) struct strbuf later = STRBUF_INIT;
    struct stream s = {
        .desc = desc, .fn = fn, .ctx = ctx, .info.now_us = now_us(), .later = &later
    };

    return run_stream(c, op, request, &s, ret_info);
}

void query_need_names(const char *names, const ProtobufCMessageDescriptor *desc,
                      struct pb_fieldset *set)
{
    char word[64];

    for (const char *p = names; p && *p;) {
        size_t len = strcspn(p, " ");
        const ProtobufCFieldDescriptor *field;

        assert(len < sizeof(word));
        memcpy(word, p, len);
        word[len] = '\0';
        field = protobuf_c_message_descriptor_get_field_by_name(desc, word);
        assert(field);
        pb_fieldset_add(set, field->id);
        p += len;
        p += strspn(p, " ");
    }
}

int query_fields(const struct pb_fieldset *set, uint32_t **ret_fields, size_t *ret_n)
{
    uint32_t *fields;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
        n += (size_t)__builtin_popcountll(set->bits[i]);
    fields = calloc(n ? n : 1, sizeof(*fields));
    if (!fields)
        return -ENOMEM;
    n = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(set->bits); i++)
        for (uint64_t left = set->bits[i]; left; left &= left - 1)
            fields[n++] = i * 64 + (uint32_t)__builtin_ctzll(left);
    *ret_fields = fields;
    *ret_n = n;
    return 0;
}

int query_job(struct client *c, uint32_t job_id, const char *names, query_fn *fn, void *ctx)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct pb_fieldset set = { 0 };
    int r;

    filter.job_ids = &job_id;
    filter.n_job_ids = 1;
    request.jobs = &filter;
    if (names) {
        query_need_names(names, &pst__job_record__descriptor, &set);
        check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    }
    r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, fn, ctx, NULL);
    free(request.fields);
    return r;
}
