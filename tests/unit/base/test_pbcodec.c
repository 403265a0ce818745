/* test_pbcodec.c - a codec gives what protobuf-c gives, for messages of the real schema filled at
 * random and for bytes that were damaged */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbcodec.h"
#include "base/pb/pbutil_impl.h"
#include "event.pb-c.h"
#include "job.pb-c.h"

#define ROUNDS 300
#define SECRETS 2

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *desc, uint64_t *seed,
                                        unsigned depth);

/* Numbers of all lengths, negative ones among them. */
static void fill_value(const ProtobufCFieldDescriptor *f, void *at, uint64_t *seed, unsigned depth)
{
    uint64_t v = next_random(seed) >> next_random(seed) % 64;
    uint32_t w = (uint32_t)(next_random(seed) >> (32 + next_random(seed) % 32));
    size_t len = next_random(seed) % 8 ? next_random(seed) % 9 : 200;

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING: {
        char *text = calloc(1, len + 1);

        assert_non_null(text);
        memset(text, 'x', len);
        *(char **)at = text;
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *bytes = at;

        bytes->len = len;
        bytes->data = len ? calloc(1, len) : NULL;
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = random_message(f->descriptor, seed, depth + 1);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        w &= 1;
        memcpy(at, &w, sizeof(w));
        break;
    default:
        if (pb_value_size(f->type) == sizeof(v))
            memcpy(at, &v, sizeof(v));
        else
            memcpy(at, &w, sizeof(w));
        break;
    }
}

static void fill_field(ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f, uint64_t *seed,
                       unsigned depth)
{
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t n = 1 + next_random(seed) % 3, size = pb_value_size(f->type);
        char *array = calloc(n, size);

        assert_non_null(array);
        for (size_t i = 0; i < n; i++)
            fill_value(f, array + i * size, seed, depth);
        *(char **)pb_member(msg, f) = array;
        *pb_count(msg, f) = n;
        return;
    }
    if (pb_is_oneof(f)) {
        if (*pb_quantifier(msg, f))
            return;
        *pb_quantifier(msg, f) = f->id;
    } else if (!pb_is_pointer(f)) {
        *pb_quantifier(msg, f) = 1;
    }
    fill_value(f, pb_member(msg, f), seed, depth);
}

/* A few fields of it. */
static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *desc, uint64_t *seed,
                                        unsigned depth)
{
    ProtobufCMessage *msg = malloc(desc->sizeof_message);

    assert_non_null(msg);
    desc->message_init(msg);
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (next_random(seed) % 4 == 0 && (f->type != PROTOBUF_C_TYPE_MESSAGE || depth < 4))
            fill_field(msg, f, seed, depth);
    }
    return msg;
}

static uint8_t *pack(const ProtobufCMessage *msg, size_t *ret_len)
{
    uint8_t *data = malloc(protobuf_c_message_get_packed_size(msg) + 1);

    assert_non_null(data);
    *ret_len = protobuf_c_message_pack(msg, data);
    return data;
}

static void test_pack_is_the_same(void **state)
{
    const ProtobufCMessageDescriptor *types[] = { &pst__job_record__descriptor,
                                                  &pst__transaction__descriptor };
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % ARRAY_SIZE(types)];
        _cleanup_(pb_codec_free) struct pb_codec *codec = NULL;
        ProtobufCMessage *msg = random_message(desc, &seed, 0);
        size_t want_len, len, before;
        _cleanup_free_ uint8_t *want = pack(msg, &want_len);
        const uint8_t *got;

        assert_int_equal(pb_codec_new(desc, &codec), 0);
        got = pb_codec_pack(codec, msg, &len, &before);
        assert_non_null(got);
        assert_int_equal(len, want_len);
        assert_int_equal(before, len);
        assert_memory_equal(got, want, len);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

/* Fields that are last are cut off with the end. */
static void test_pack_last(void **state)
{
    static const uint32_t last[SECRETS] = { 3, 5 };
    _cleanup_(pb_codec_free) struct pb_codec *codec = NULL;
    const ProtobufCMessageDescriptor *desc = &pst__job_record__descriptor;
    uint64_t seed = 7;

    (void)state;
    assert_int_equal(pb_codec_new(desc, &codec), 0);
    pb_codec_last(codec, desc, last, SECRETS);
    for (size_t i = 0; i < ROUNDS; i++) {
        ProtobufCMessage *msg = random_message(desc, &seed, 0), *whole, *shown;
        size_t len, before;
        const uint8_t *got = pb_codec_pack(codec, msg, &len, &before);

        assert_non_null(got);
        whole = protobuf_c_message_unpack(desc, NULL, len, got);
        shown = protobuf_c_message_unpack(desc, NULL, before, got);
        assert_non_null(whole);
        assert_non_null(shown);
        assert_true(pb_equal(whole, msg));
        assert_int_equal(len == before, !pb_has(msg, last[0]) && !pb_has(msg, last[1]));
        for (size_t k = 0; k < SECRETS; k++)
            (void)pb_clear(msg, last[k]);
        assert_true(pb_equal(shown, msg));
        protobuf_c_message_free_unpacked(whole, NULL);
        protobuf_c_message_free_unpacked(shown, NULL);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

static struct pb_codec *owning_codec(void)
{
    static const uint32_t lent[] = { 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    struct pb_codec *codec = NULL;

    assert_int_equal(pb_codec_new(&pst__transaction__descriptor, &codec), 0);
    for (unsigned i = 0; i < pst__event__descriptor.n_fields; i++)
        if (strcmp(pst__event__descriptor.fields[i].name, "job_put") == 0)
            pb_codec_own(codec, &pst__event__descriptor, pst__event__descriptor.fields[i].id);
    pb_codec_lend(codec, &pst__job_record__descriptor, lent, ARRAY_SIZE(lent));
    return codec;
}

static void disown_jobs(const struct pb_codec *codec, Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_JOB_PUT)
            pb_codec_disown(codec, &tx->events[i]->job_put->base);
}

/* Whatever the bytes are, both decode them to the same, or none does. */
static unsigned compare_unpacked(struct pb_codec *codec, struct pb_arena *arena,
                                 const uint8_t *data, size_t len)
{
    ProtobufCMessage *want =
        protobuf_c_message_unpack(&pst__transaction__descriptor, NULL, len, data);
    bool owned = false;
    ProtobufCMessage *got = pb_codec_unpack(codec, pb_arena_allocator(arena), data, len, &owned);

    assert_int_equal(!want, !got);
    assert_true(got || !owned);
    if (want) {
        assert_true(pb_equal(want, got));
        protobuf_c_message_free_unpacked(want, NULL);
    }
    if (owned)
        disown_jobs(codec, (Pst__Transaction *)got);
    pb_arena_reset(arena);
    return owned;
}

static void test_unpack_is_the_same(void **state)
{
    _cleanup_(pb_codec_free) struct pb_codec *codec = owning_codec();
    struct pb_arena *arena = NULL;
    unsigned damaged_owned = 0;
    uint64_t seed = 99;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    for (size_t i = 0; i < ROUNDS; i++) {
        ProtobufCMessage *msg = random_message(&pst__transaction__descriptor, &seed, 0);
        size_t len;
        _cleanup_free_ uint8_t *data = pack(msg, &len);

        assert_int_equal(compare_unpacked(codec, arena, data, len), 1);
        for (size_t k = 0; len && k < 30; k++) {
            size_t at = next_random(&seed) % len;
            uint8_t was = data[at];

            (void)compare_unpacked(codec, arena, data, at);
            data[at] = (uint8_t)next_random(&seed);
            damaged_owned += compare_unpacked(codec, arena, data, len);
            data[at] = was;
        }
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    assert_in_range(damaged_owned, 1, ROUNDS * 30 - 1);
    pb_arena_free(arena);
}

/* The record is its taker's, and outlives the arena once its lent fields have other values. */
static void test_taken(void **state)
{
    _cleanup_(pb_codec_free) struct pb_codec *codec = owning_codec();
    Pst__Transaction tx = PST__TRANSACTION__INIT, *got;
    Pst__Event ev = PST__EVENT__INIT, *events = &ev;
    Pst__JobRecord job = PST__JOB_RECORD__INIT, *taken;
    struct pb_arena *arena = NULL;
    bool owned = false;
    size_t len;

    (void)state;
    job.has_job_id = true;
    job.job_id = 17;
    job.name = (char *)(uintptr_t) "lent";
    job.work_dir = (char *)(uintptr_t) "its own";
    ev.body_case = PST__EVENT__BODY_JOB_PUT;
    ev.job_put = &job;
    tx.events = &events;
    tx.n_events = 1;
    assert_int_equal(pb_arena_new(&arena), 0);
    {
        _cleanup_free_ uint8_t *data = pack(&tx.base, &len);

        got = (Pst__Transaction *)pb_codec_unpack(codec, pb_arena_allocator(arena), data, len,
                                                  &owned);
    }
    assert_non_null(got);
    assert_true(owned);
    taken = got->events[0]->job_put;
    assert_string_equal(taken->name, "lent");
    pb_arena_free(arena);
    taken->name = NULL;
    assert_int_equal(taken->job_id, 17);
    assert_string_equal(taken->work_dir, "its own");
    pst__job_record__free_unpacked(taken, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack_is_the_same),
        cmocka_unit_test(test_pack_last),
        cmocka_unit_test(test_unpack_is_the_same),
        cmocka_unit_test(test_taken),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
