/* recordhash.c - see recordhash.h */
#include "model/recordhash.h"

#include <stdlib.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/cluster.h"

uint64_t model_record_hash(const ProtobufCMessage *msg, uint64_t kind)
{
    struct pb_fieldset durable = { 0 };
    size_t len = protobuf_c_message_get_packed_size(msg);
    _cleanup_free_ uint8_t *packed = malloc(len ? len : 1);
    _cleanup_free_ uint8_t *kept = malloc(len ? len : 1);
    long n;

    if (!packed || !kept)
        abort(); /* a hash cannot fail halfway */
    protobuf_c_message_pack(msg, packed);
    for (uint32_t f = 1; f < PB_FIELDSET_NUMBERS; f++)
        if (!field_is_volatile(f))
            pb_fieldset_add(&durable, f);
    n = pb_project(packed, len, &durable, kept);
    return XXH3_64bits_withSeed(kept, n < 0 ? 0 : (size_t)n, kind);
}
