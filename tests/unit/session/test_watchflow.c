/* test_watchflow.c - places in the stream of changes: nothing missed, nothing told twice */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "session/watchflow.h"
#include "wire/ops.h"

struct told {
    uint64_t lsn[16];
    uint32_t index[16];
    size_t n;
    int ready;
    char name[16];
};

static int on_change(void *ctx, const Pst__WatchChange *c, const ProtobufCMessage *before,
                     const ProtobufCMessage *after)
{
    struct told *t = ctx;
    const Pst__JobRecord *job = (const Pst__JobRecord *)after;

    assert_ptr_equal(before->descriptor, &pst__job_record__descriptor);
    t->lsn[t->n] = c->lsn;
    t->index[t->n++] = c->index;
    (void)snprintf(t->name, sizeof(t->name), "%s", job->name ? job->name : "");
    return 0;
}

static void on_ready(void *ctx)
{
    struct told *t = ctx;

    assert_int_equal(t->n, 0); /* before the frame's changes */
    t->ready++;
}

static ProtobufCBinaryData pack_message(const ProtobufCMessage *msg)
{
    ProtobufCBinaryData d = { protobuf_c_message_get_packed_size(msg), NULL };

    d.data = malloc(d.len + 1);
    (void)protobuf_c_message_pack(msg, d.data);
    return d;
}

static ProtobufCBinaryData change_at(uint64_t lsn, uint32_t index, const char *name)
{
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    _cleanup_free_ uint8_t *after = NULL;
    ProtobufCBinaryData packed;

    job.name = (char *)(uintptr_t)name;
    packed = pack_message(&job.base);
    after = packed.data;
    c.has_lsn = c.has_index = c.has_entity = c.has_after = true;
    c.lsn = lsn;
    c.index = index;
    c.entity = PST__WATCH_ENTITY__WATCH_JOB;
    c.after = packed;
    return pack_message(&c.base);
}

/* A batch of changes of job records; count 0: none. */
static int take_batch(struct watchflow *w, bool ready, uint64_t cursor,
                      const struct watchflow_place *places, size_t count)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    Pst__WatchBatch b = PST__WATCH_BATCH__INIT;
    struct frame frame = { .op = OP_WATCH };
    ProtobufCBinaryData changes[8], body;
    int r;

    assert_int_equal(pb_arena_new(&arena), 0);
    b.changes = changes;
    for (; b.n_changes < count; b.n_changes++)
        changes[b.n_changes] =
            change_at(places[b.n_changes].lsn, places[b.n_changes].index, "a\033b");
    b.has_ready = b.ready = ready;
    b.has_cursor_lsn = cursor != 0;
    b.cursor_lsn = cursor;
    body = pack_message(&b.base);
    frame.body = body.data;
    frame.len = (uint32_t)body.len;
    r = watchflow_take(w, arena, &frame);
    for (size_t i = 0; i < count; i++)
        free(changes[i].data);
    free(body.data);
    return r;
}

static void test_resume(void **state)
{
    static const struct watchflow_place first[] = { { 11, 0 }, { 11, 1 } };
    static const struct watchflow_place again[] = { { 11, 0 }, { 11, 1 }, { 11, 2 }, { 12, 0 } };
    struct told t = { 0 };
    struct watchflow w = { .on_change = on_change, .on_ready = on_ready, .ctx = &t };

    (void)state;
    assert_int_equal(take_batch(&w, true, 10, first, 2), 0);
    assert_int_equal(t.ready, 1);
    assert_int_equal(t.n, 2);
    assert_int_equal(w.at.lsn, 11);
    assert_int_equal(w.at.index, 1);
    assert_string_not_equal(t.name, "a\033b"); /* a terminal would obey it */
    /* the connection goes; the next one tells the record's events again */
    assert_int_equal(take_batch(&w, true, 11, NULL, 0), 0);
    assert_int_equal(t.ready, 1);
    assert_int_equal(w.at.lsn, 11); /* within the record: its later events have not been told */
    assert_int_equal(w.at.index, 1);
    w.keep_text = true;
    assert_int_equal(take_batch(&w, false, 12, again, 4), 0);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.lsn[2], 11);
    assert_int_equal(t.index[2], 2);
    assert_int_equal(t.lsn[3], 12);
    assert_string_equal(t.name, "a\033b");
    assert_int_equal(w.at.index, WATCHFLOW_WHOLE);
}

static void test_bad(void **state)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    uint8_t junk[] = { 0xff, 0xff, 0xff };
    struct frame frame = { .op = OP_WATCH, .body = junk, .len = sizeof(junk) };
    struct watchflow w = { .on_change = on_change };
    struct watchflow_place place;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    assert_int_equal(watchflow_take(&w, arena, &frame), -EBADMSG);
    assert_int_equal(watchflow_place_parse("57.3", &place), 0);
    assert_int_equal(place.lsn, 57);
    assert_int_equal(place.index, 3);
    assert_int_equal(watchflow_place_parse("57", &place), 0);
    assert_int_equal(place.index, WATCHFLOW_WHOLE);
    assert_int_equal(watchflow_place_parse("57.", &place), -EINVAL);
    assert_int_equal(watchflow_place_parse("x", &place), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_resume), cmocka_unit_test(test_bad) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
