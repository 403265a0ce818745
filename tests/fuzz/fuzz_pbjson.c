/* fuzz_pbjson.c - JSON in: what is accepted must write and read back as the same message */
#include <assert.h>
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "event.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_json(const ProtobufCMessage *msg, size_t *ret_len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, ret_len);

    assert(f);
    assert(pb_json_write(f, msg, -1) == 0);
    assert(fclose(f) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = NULL;
    ProtobufCMessage *msg, *again, *copy;
    struct err err = { .text = "" };
    size_t len;

    if (pb_json_read((const char *)data, size, &pst__transaction__descriptor, &msg, &err) < 0) {
        assert(err.text[0]);
        return 0;
    }
    text = write_json(msg, &len);
    assert(pb_json_read(text, len, &pst__transaction__descriptor, &again, NULL) == 0);
    assert(pb_equal(msg, again));
    assert(pb_dup(msg, &copy) == 0);
    assert(pb_merge(copy, again) == 0);
    assert(pb_equal(msg, copy));
    protobuf_c_message_free_unpacked(msg, NULL);
    protobuf_c_message_free_unpacked(again, NULL);
    protobuf_c_message_free_unpacked(copy, NULL);
    return 0;
}
