/* watchflow.c - see watchflow.h */
#include "session/watchflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "base/timefmt.h"
#include "wire/ops.h"
#include "wire/watchfields.h"

int watchflow_place_parse(const char *text, struct watchflow_place *ret)
{
    _cleanup_free_ char *lsn = strndup(text, strcspn(text, "."));
    const char *dot = strchr(text, '.');
    uint64_t number, index = WATCHFLOW_WHOLE;

    if (!lsn || parse_u64(lsn, 0, UINT64_MAX / 2, &number) < 0 ||
        (dot && parse_u64(dot + 1, 0, UINT32_MAX, &index) < 0))
        return -EINVAL;
    *ret = (struct watchflow_place){ .lsn = number, .index = (uint32_t)index };
    return 0;
}

int watchflow_ask(const struct watchflow *w, struct client *c, bool since)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    uint32_t entities[WATCHFLOW_ENTITIES];

    req.entities = entities;
    for (unsigned e = 1; e < WATCHFLOW_ENTITIES; e++)
        if (w->entities >> e & 1)
            entities[req.n_entities++] = e;
    req.jobs = (Pst__JobFilter *)(uintptr_t)w->jobs; /* only read */
    req.nodes = (char *)(uintptr_t)w->nodes;         /* likewise */
    req.partitions = w->partitions;
    req.n_partitions = w->n_partitions;
    req.has_since_lsn = since;
    req.since_lsn = w->at.lsn;
    req.has_since_index = since && w->at.index != WATCHFLOW_WHOLE;
    req.since_index = w->at.index;
    return client_send(c, OP_WATCH, 0, client_next_id(c), &req.base);
}

static ProtobufCMessage *unpack_part(const struct watchflow *w, struct pb_arena *arena,
                                     const ProtobufCMessageDescriptor *desc,
                                     const ProtobufCBinaryData *data)
{
    ProtobufCMessage *msg =
        protobuf_c_message_unpack(desc, pb_arena_allocator(arena), data->len, data->data);

    if (msg && !w->keep_text)
        pbsafe_clean(msg);
    return msg;
}

static bool is_behind(const struct watchflow *w, const Pst__WatchChange *c)
{
    return c->lsn < w->at.lsn || (c->lsn == w->at.lsn && c->index <= w->at.index);
}

static int take_change(struct watchflow *w, struct pb_arena *arena, const ProtobufCBinaryData *data)
{
    const Pst__WatchChange *c =
        (const Pst__WatchChange *)unpack_part(w, arena, &pst__watch_change__descriptor, data);
    const struct watch_fields *fields = c ? watch_fields(c->entity) : NULL;
    const ProtobufCMessage *before, *after;
    int r;

    if (!c)
        return -EBADMSG;
    if (!fields || is_behind(w, c))
        return 0; /* of a later release, or told */
    before = unpack_part(w, arena, fields->desc, &c->before);
    after = unpack_part(w, arena, fields->desc, &c->after);
    if (!before || !after)
        return -EBADMSG;
    r = w->on_change(w->ctx, c, before, after);
    if (r >= 0)
        w->at = (struct watchflow_place){ .lsn = c->lsn, .index = c->index };
    return MIN(r, 0);
}

static void agree_place(struct watchflow *w, uint64_t lsn)
{
    w->at = (struct watchflow_place){ .lsn = lsn, .index = WATCHFLOW_WHOLE };
    w->have_at = true;
    if (w->on_ready)
        w->on_ready(w->ctx);
}

int watchflow_take(struct watchflow *w, struct pb_arena *arena, const struct frame *frame)
{
    const ProtobufCBinaryData body = { frame->len, (uint8_t *)(uintptr_t)frame->body };
    const Pst__WatchBatch *b;
    int r = 0;

    pb_arena_reset(arena);
    b = (const Pst__WatchBatch *)unpack_part(w, arena, &pst__watch_batch__descriptor, &body);
    if (!b)
        return -EBADMSG;
    if (b->has_reset && b->reset)
        return 1;
    if (b->has_ready && b->ready && w->have_at)
        return 0; /* we know better where we are within that record */
    if (b->has_ready && b->ready)
        agree_place(w, b->cursor_lsn);
    for (size_t i = 0; r >= 0 && i < b->n_changes; i++)
        r = take_change(w, arena, &b->changes[i]);
    if (r >= 0 && b->has_cursor_lsn && b->cursor_lsn >= w->at.lsn)
        w->at = (struct watchflow_place){ .lsn = b->cursor_lsn, .index = WATCHFLOW_WHOLE };
    return r;
}
