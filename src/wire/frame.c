/* frame.c - encoding and decoding of frames; layout in frame.h
 *
 * Owns nothing; pure functions, any thread.  Invariants: nothing is read past what the caller says
 * is there, and no length from outside is believed before it passed its op's cap. */
#include "wire/frame.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "wire/access.h"
#include "wire/auth/seal.h"
#include "wire/caps.h"
#include "wire/errors.h"

_Static_assert(SEAL_HEADER_SIZE == FRAME_HEADER_SIZE, "a tag covers the whole header");

enum offset {
    OFF_VERSION = 4,
    OFF_OP = 6,
    OFF_FLAGS = 8,
    OFF_ID = 12,
    OFF_DEADLINE = 16,
    OFF_LENGTH = 20,
};

static uint16_t read_u16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return le16toh(v);
}

static uint32_t read_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static void write_u16(uint8_t *p, uint16_t v)
{
    v = htole16(v);
    memcpy(p, &v, sizeof(v));
}

static void write_u32(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
}

static uint32_t body_cap(unsigned op, uint32_t flags)
{
    const struct wire_op_info *info = wire_op_info(op);

    if (flags & FRAME_REPLY)
        return FRAME_MAX_BODY;
    return info ? info->max_request : FRAME_UNKNOWN_OP_MAX;
}

void frame_peek_header(const uint8_t *buf, struct frame *ret_frame)
{
    *ret_frame = (struct frame){
        .version = read_u16(buf + OFF_VERSION),
        .op = read_u16(buf + OFF_OP),
        .flags = read_u32(buf + OFF_FLAGS),
        .id = read_u32(buf + OFF_ID),
        .deadline_ms = read_u32(buf + OFF_DEADLINE),
        .len = read_u32(buf + OFF_LENGTH),
    };
}

bool frame_flags_ok(uint32_t flags)
{
    return flags == 0 || flags == FRAME_ONEWAY || flags == FRAME_REPLY ||
           flags == (FRAME_REPLY | FRAME_MORE) || flags == (FRAME_REPLY | FRAME_ERROR);
}

int frame_read_header(const uint8_t *buf, struct frame *ret_frame)
{
    struct frame f;

    frame_peek_header(buf, &f);
    if (memcmp(buf, FRAME_MAGIC, FRAME_MAGIC_SIZE) != 0 || !frame_flags_ok(f.flags) ||
        !access_frame_ok(f.op, f.flags))
        return -EBADMSG;
    if (f.len > body_cap(f.op, f.flags))
        return -EMSGSIZE;
    *ret_frame = f;
    return 0;
}

int frame_decode_header(const uint8_t *buf, struct frame *ret_frame)
{
    struct frame f;
    int r = frame_read_header(buf, &f);

    if (r < 0)
        return r;
    if (f.op != OP_CHALLENGE && f.op != OP_HELLO &&
        (f.version < WIRE_VERSION_MIN || f.version > WIRE_VERSION))
        return -EPROTO;
    *ret_frame = f;
    return 0;
}

void frame_encode_header(const struct frame *frame, uint8_t *buf)
{
    memcpy(buf, FRAME_MAGIC, FRAME_MAGIC_SIZE);
    write_u16(buf + OFF_VERSION, frame->version);
    write_u16(buf + OFF_OP, frame->op);
    write_u32(buf + OFF_FLAGS, frame->flags);
    write_u32(buf + OFF_ID, frame->id);
    write_u32(buf + OFF_DEADLINE, frame->deadline_ms);
    write_u32(buf + OFF_LENGTH, frame->len);
}

void frame_set_version(uint8_t *buf, uint16_t version)
{
    write_u16(buf + OFF_VERSION, version);
}

int frame_pack(unsigned op, uint32_t flags, uint32_t id, uint32_t deadline_ms,
               const ProtobufCMessage *msg, uint8_t **ret_buf, size_t *ret_len)
{
    size_t body = msg ? protobuf_c_message_get_packed_size(msg) : 0;
    struct frame f = {
        .version = WIRE_VERSION,
        .op = (uint16_t)op,
        .flags = flags,
        .id = id,
        .deadline_ms = deadline_ms,
        .len = (uint32_t)body,
    };
    uint8_t *buf;

    if (body > body_cap(op, flags))
        return -EMSGSIZE;
    buf = malloc(FRAME_HEADER_SIZE + body);
    if (!buf)
        return -ENOMEM;
    frame_encode_header(&f, buf);
    if (msg)
        (void)protobuf_c_message_pack(msg,
                                      buf + FRAME_HEADER_SIZE); /* fills exactly `body` bytes */
    *ret_buf = buf;
    *ret_len = FRAME_HEADER_SIZE + body;
    return 0;
}

int frame_pack_error(unsigned op, uint32_t id, int code, const char *text, uint8_t **ret_buf,
                     size_t *ret_len)
{
    Pst__Error e = PST__ERROR__INIT;

    e.has_code = true;
    e.code = code;
    e.text = (char *)text; /* only read; absent = the code's standard text */
    return frame_pack(op, FRAME_REPLY | FRAME_ERROR, id, 0, &e.base, ret_buf, ret_len);
}

const ProtobufCMessageDescriptor *frame_message(const struct frame *frame)
{
    const struct wire_op_info *info = wire_op_info(frame->op);

    if (frame->flags & FRAME_ERROR)
        return &pst__error__descriptor;
    if (!info)
        return NULL;
    return (frame->flags & FRAME_REPLY) ? info->reply : info->request;
}

static int unpack_as(const struct frame *frame, const ProtobufCMessageDescriptor *desc,
                     ProtobufCMessage **ret_msg, struct err *err)
{
    const struct pb_caps *caps =
        desc == &pst__record_batch__descriptor ? &wire_batch_caps : &wire_caps;
    int r = pb_check_caps(desc, frame->body, frame->len, caps, err);
    ProtobufCMessage *msg;

    if (r < 0)
        return r;
    msg = protobuf_c_message_unpack(desc, NULL, frame->len, frame->body);
    if (!msg)
        return err_set(err, -EBADMSG, "malformed %s message", desc->name);
    *ret_msg = msg;
    return 0;
}

int frame_unpack(const struct frame *frame, const ProtobufCMessageDescriptor *expected,
                 ProtobufCMessage **ret_msg, struct err *err)
{
    const ProtobufCMessageDescriptor *desc = frame_message(frame);

    if (!desc)
        return err_set(err, -ENOENT, "operation %u is unknown to this release", frame->op);
    if (desc != expected)
        return err_set(err, -EPROTO, "%s came where %s is expected", desc->name, expected->name);
    return unpack_as(frame, desc, ret_msg, err);
}

int frame_unpack_request(const struct frame *frame, ProtobufCMessage **ret_msg, struct err *err)
{
    const struct wire_op_info *info = wire_op_info(frame->op);

    if (!info)
        return err_set(err, -ENOENT, "operation %u is unknown to this release", frame->op);
    if (frame->flags & FRAME_REPLY)
        return err_set(err, -EPROTO, "a reply came where a request is expected");
    return frame_unpack(frame, info->request, ret_msg, err);
}

int frame_unpack_body(const struct frame *frame, const ProtobufCMessageDescriptor *expected,
                      ProtobufCMessage **ret_msg, struct err *err)
{
    if (frame->flags & FRAME_ERROR)
        return err_set(err, -EPROTO, "an error came where %s is expected", expected->name);
    return unpack_as(frame, expected, ret_msg, err);
}
