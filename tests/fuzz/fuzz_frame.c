/* fuzz_frame.c - header and body of a frame from an unknown peer: every op, requests and replies */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ProtobufCMessage *msg = NULL;
    struct err err;
    struct frame f;
    uint8_t *body;

    if (size < FRAME_HEADER_SIZE || frame_read_header(data, &f) < 0)
        return 0;
    /* The receiver has the body whole before it unpacks: take what there is as the body. */
    f.len = (uint32_t)(size - FRAME_HEADER_SIZE);
    body = malloc(f.len + 1); /* of its own, so that reading past it is seen */
    if (!body)
        return 0;
    memcpy(body, data + FRAME_HEADER_SIZE, f.len);
    f.body = body;
    if (frame_unpack(&f, frame_message(&f), &msg, &err) == 0) {
        size_t len = protobuf_c_message_get_packed_size(msg);
        uint8_t *again = malloc(len + 1);

        if (again)
            (void)protobuf_c_message_pack(msg, again);
        free(again);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    free(body);
    return 0;
}
