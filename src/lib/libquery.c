/* libquery.c - lists read record by record in constant memory; see libpenstock.h
 *
 * A list has a connection of its own while it is read, so that other calls may come between.  When
 * the connection is lost before the first record was given the list is asked for again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/out_query.h"
#include "lib/libhandle.h"
#include "lib/libfilter.h"
#include "lib/librow.h"
#include "session/dial.h"

enum query_state { QUERY_NEW, QUERY_GOING, QUERY_OVER };

struct penstock_query {
    struct penstock *p;
    const struct librow_kind *kind;
    enum query_state state;
    struct pb_fieldset wanted, needed;
    struct libfilter filter;
    char *names; /* of nodes or partitions; NULL: all */
    struct client *client;
    uint32_t request;
    bool last_frame;
    int64_t deadline_mono_us;
    struct pb_arena *frame_arena, *arena;
    const Pst__RecordBatch *batch;
    size_t next; /* of the batch */
    struct penstock_row row;
    bool given; /* a record has been handed out */
};

int penstock_query_new(penstock *p, const char *what, penstock_query **ret)
{
    const struct librow_kind *kind = librow_kind(what);
    penstock_query *q;

    if (!kind)
        return lib_fail(p, -ENOENT, 0, "there is no list of %.100s", what);
    q = calloc(1, sizeof(*q));
    if (!q || pb_arena_new(&q->frame_arena) < 0 || pb_arena_new(&q->arena) < 0) {
        penstock_query_free(q);
        return lib_nomem(p);
    }
    q->p = p;
    q->kind = kind;
    q->row.kind = kind;
    q->row.wanted = &q->wanted;
    libfilter_init(&q->filter);
    *ret = q;
    return 0;
}

void penstock_query_free(penstock_query *q)
{
    if (!q)
        return;
    q->client = client_free(q->client);
    libfilter_done(&q->filter);
    (void)pb_arena_free(q->frame_arena); /* always NULL, as below */
    (void)pb_arena_free(q->arena);
    strbuf_done(&q->row.texts);
    free(q->names);
    free(q);
}

int penstock_query_fields(penstock_query *q, const char *names)
{
    char name[64];

    for (const char *word = names; *(word += strspn(word, ", ")); word += strcspn(word, ", ")) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, ", "), word);
        if (librow_want(q->kind, name, &q->wanted, &q->needed, &q->row.made) < 0)
            return lib_fail(q->p, -ENOENT, 0, "%s have no field named %s", q->kind->what, name);
        q->row.chosen = true;
    }
    return 0;
}

int penstock_query_filter(penstock_query *q, const char *name, const char *value)
{
    if (strcmp(q->kind->what, "jobs") == 0)
        return libfilter_set(&q->filter, q->p, name, value);
    if (strcmp(name, "name") != 0)
        return lib_fail(q->p, -ENOENT, 0, "%s are not filtered by %.100s", q->kind->what, name);
    free(q->names);
    q->names = strdup(value);
    return q->names ? 0 : lib_nomem(q->p);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int send_query(penstock_query *q)
{
    _cleanup_free_ uint32_t *fields = NULL;
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    bool jobs = strcmp(q->kind->what, "jobs") == 0;
    int r = lib_take_client(q->p, false, &q->client);

    if (r < 0)
        return r;
    if (q->row.chosen && jobs)
        query_need_names(LIBFILTER_NEEDS, q->kind->desc, &q->needed);
    if (q->row.chosen && query_fields(&q->needed, &fields, &req.n_fields) < 0)
        return lib_nomem(q->p);
    req.fields = fields;
    req.jobs = jobs ? &q->filter.jobs : NULL;
    req.names = q->names;
    q->request = client_next_id(q->client);
    r = client_send(q->client, q->kind->op, 0, q->request, &req.base);
    if (r == 0)
        q->state = QUERY_GOING;
    return r < 0 ? lib_fail_client(q->p, q->client, r) : 0;
}

/* The connection is of no use any more: 0 the list is asked for again, else the error. */
static int lose_client(penstock_query *q, int r)
{
    bool again = !q->given && (dial_may_come_back(r) || lib_code_is_passing(q->p->code)) &&
                 now_mono_us() < q->deadline_mono_us;

    q->client = client_free(q->client);
    q->batch = NULL;
    q->state = again ? QUERY_NEW : QUERY_OVER;
    if (again)
        return 0;
    if (r == -ECONNRESET)
        return lib_fail(q->p, r, 0, "The connection to the controller was lost amid the list");
    return r;
}

static int take_frame(penstock_query *q, const struct frame *frame)
{
    if (frame->flags & FRAME_ERROR)
        return lib_fail_frame(q->p, frame);
    pb_arena_reset(q->frame_arena);
    q->batch = (const Pst__RecordBatch *)protobuf_c_message_unpack(
        &pst__record_batch__descriptor, pb_arena_allocator(q->frame_arena), frame->len,
        frame->body);
    q->next = 0;
    q->last_frame = !(frame->flags & FRAME_MORE);
    return q->batch ? 0 : lib_fail(q->p, -EPROTO, 0, "The controller's answer cannot be read");
}

/* Wait for the next batch. */
static int read_batch(penstock_query *q)
{
    struct frame frame;
    int r;

    do {
        r = client_recv(q->client, lib_timeout_ms(q->p), &frame);
    } while (r > 0 && (frame.id != q->request || !(frame.flags & FRAME_REPLY)));
    if (r > 0)
        return take_frame(q, &frame);
    return lib_fail_client(q->p, q->client, r == 0 ? -ETIMEDOUT : r);
}

static int end_list(penstock_query *q)
{
    lib_give_client(q->p, TAKE_PTR(q->client));
    q->state = QUERY_OVER;
    return 0;
}

/* The next record of the batch: 1, 0 there are no more. */
static int next_record(penstock_query *q)
{
    while (q->batch && q->next < q->batch->n_records) {
        const ProtobufCBinaryData *data = &q->batch->records[q->next++];

        pb_arena_reset(q->arena);
        q->row.record = protobuf_c_message_unpack(q->kind->desc, pb_arena_allocator(q->arena),
                                                  data->len, data->data);
        if (!q->row.record)
            return lib_fail(q->p, -EPROTO, 0, "The controller's answer cannot be read");
        if (q->kind->desc != &pst__job_record__descriptor ||
            libfilter_match(&q->filter, (const Pst__JobRecord *)q->row.record))
            return 1;
    }
    return 0;
}

int penstock_query_next(penstock_query *q, penstock_row **ret)
{
    int r = 0;

    if (q->state == QUERY_NEW)
        r = lib_deadline(q->p, &q->deadline_mono_us);
    while (r >= 0 && q->state != QUERY_OVER) {
        r = q->state == QUERY_NEW ? send_query(q) : next_record(q);
        if (r > 0) {
            q->given = true;
            *ret = &q->row;
            return 1;
        }
        if (r == 0 && q->batch && q->last_frame)
            return end_list(q);
        if (r == 0 && q->state == QUERY_GOING)
            r = read_batch(q);
        if (r < 0)
            r = lose_client(q, r);
    }
    return r;
}
