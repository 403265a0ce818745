/* fuzz_pbcodec.c - a record of the log by tables: whatever the bytes are, it is the message that
 * protobuf-c makes of them, and packs to the same bytes */
#include <assert.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbcodec.h"
#include "base/pb/pbutil.h"
#include "event.pb-c.h"

static const uint32_t lent[] = { 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Records of jobs are made for somebody who takes them, as at the start of slurmctld. */
static struct pb_codec *new_codec(bool owning)
{
    struct pb_codec *codec = NULL;

    assert(pb_codec_new(&pst__transaction__descriptor, &codec) == 0);
    if (owning) {
        pb_codec_own(codec, &pst__event__descriptor, PST__EVENT__BODY_JOB_PUT);
        pb_codec_lend(codec, &pst__job_record__descriptor, lent, ARRAY_SIZE(lent));
    }
    return codec;
}

static void free_jobs(const struct pb_codec *codec, const Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_JOB_PUT)
            pb_codec_disown(codec, &tx->events[i]->job_put->base);
}

static void compare_packed(struct pb_codec *codec, const ProtobufCMessage *msg)
{
    size_t len = protobuf_c_message_get_packed_size(msg), got_len, before;
    _cleanup_free_ uint8_t *packed = malloc(len + 1);
    const uint8_t *got = pb_codec_pack(codec, msg, &got_len, &before);

    assert(packed && got);
    assert(protobuf_c_message_pack(msg, packed) == len);
    assert(got_len == len && memcmp(got, packed, len) == 0);
}

static void compare_unpacked(const uint8_t *data, size_t size, bool owning)
{
    _cleanup_(pb_codec_free) struct pb_codec *codec = new_codec(owning);
    ProtobufCMessage *want =
        protobuf_c_message_unpack(&pst__transaction__descriptor, NULL, size, data);
    struct pb_arena *arena = NULL;
    ProtobufCMessage *got;
    bool owned;

    assert(pb_arena_new(&arena) == 0);
    got = pb_codec_unpack(codec, pb_arena_allocator(arena), data, size, &owned);
    assert(!want == !got);
    if (want) {
        assert(pb_equal(want, got));
        compare_packed(codec, want);
        protobuf_c_message_free_unpacked(want, NULL);
    }
    if (owning && owned)
        free_jobs(codec, (Pst__Transaction *)got);
    (void)pb_arena_free(arena); /* always NULL */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    compare_unpacked(data, size, false);
    compare_unpacked(data, size, true);
    return 0;
}
