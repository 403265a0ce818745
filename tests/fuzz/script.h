/* script.h - a fuzzer's bytes read as a script: numbers, choices, and messages by their descriptors
 *
 * Whatever the bytes are, they mean something; where they end, zeros follow.  A message is encoded
 * field by field as its descriptor says, so that it is well formed and its values come from the
 * words and numbers below as often as from nowhere.  Or it is bytes as they stand, or both: fields
 * that follow replace those before them or join them, by the rules of the encoding. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "wire/frame.h"

#define SCRIPT_FN static __attribute__((unused))
#define SCRIPT_MESSAGE_MAX 32768u /* bytes of one message */
#define SCRIPT_DEPTH_MAX 6u

struct script {
    const uint8_t *at;
    size_t left;
    int64_t (*now_us)(void);                      /* NULL: times are small numbers */
    uint64_t (*live)(void *ctx, unsigned choice); /* a number that means something now; or NULL */
    void *ctx;
};

SCRIPT_FN unsigned script_u8(struct script *s)
{
    if (!s->left)
        return 0;
    s->left--;
    return *s->at++;
}

SCRIPT_FN unsigned script_u16(struct script *s)
{
    unsigned low = script_u8(s);

    return low | script_u8(s) << 8;
}

SCRIPT_FN uint64_t script_u64(struct script *s)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)script_u8(s) << 8 * i;
    return v;
}

/* At most n bytes, borrowed. */
SCRIPT_FN const uint8_t *script_bytes(struct script *s, size_t n, size_t *ret_len)
{
    const uint8_t *at = s->at;

    *ret_len = MIN(n, s->left);
    s->at += *ret_len;
    s->left -= *ret_len;
    return at;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const script_words[] = {
    "",
    "n0",
    "n1",
    "n2",
    "n3",
    "n[0-2]",
    "n[0-3]",
    "n[3,1]",
    "n[0-",
    "n[0-99999]",
    "ALL",
    "p",
    "q",
    "p,q",
    "debug",
    "1",
    "2",
    "3",
    "4",
    "1_1",
    "1_2",
    "1_[0-3]",
    "1_[1,3]",
    "2_*",
    "1+0",
    "2+1",
    "1,2,3",
    "0-3",
    "0-3%2",
    "1-9:2",
    "0-1000000",
    "0-4000000000",
    "1.0",
    "1.batch",
    "1.extern",
    "2.1",
    "root",
    "daemon",
    "bin",
    "nobody",
    "sys",
    "sync",
    "acct",
    "sub",
    "acct,sub",
    "normal",
    "high",
    "fast",
    "big",
    "fast&big",
    "fast|big",
    "[fast|big]",
    "[fast*1&big*1]",
    "gpu:1",
    "gpu:a100:2",
    "gres/gpu:1",
    "shard:2",
    "gpu",
    "cpu=1",
    "cpu=2,mem=100M,gres/gpu=1",
    "cpu=1,billing=5,node=2",
    "lic",
    "lic:1",
    "lic:2,other",
    "lic|other",
    "afterok:1",
    "afterany:1:2",
    "after:1+5",
    "aftercorr:1",
    "afternotok:2?afterok:3",
    "singleton",
    "afterok:1_1,afterany:2",
    "expand:1",
    "kill",
    "requeue",
    "ALL,TIME_LIMIT_80",
    "END",
    "--exec=x",
    "-x",
    "a\nb",
    "a\001b",
    "%j-%A_%a",
    "%",
    "/tmp/x",
    "/",
    "..",
    "/tmp/../etc/passwd",
    "INFINITE",
    "UNLIMITED",
    "-1",
    "+1",
    "+5",
    "-=1",
    "0",
    "1-00:00:00",
    "00:01:00",
    "now",
    "now+60",
    "2026-11-22T10:00:00",
    "noon",
    "MAINT",
    "MAINT,FLEX,IGNORE_JOBS",
    "DAILY,REPLACE",
    "WEEKLY,OVERLAP",
    "TIME_FLOAT",
    "ANY_NODES",
    "r1",
    "r2",
    "r1,r2",
    "root_1",
    "CORE",
    "SPEC_NODES",
    "PURGE_COMP=60",
    "*",
    "?",
    "=",
    ",",
    ":",
    "a=b",
    "A=1",
    "PATH=/bin",
    "SLURM_JOB_ID=7",
    "LD_PRELOAD=/tmp/x",
    "x",
    "xy",
    "0x3",
    "0x",
    "ff",
    "map_cpu:0,1",
    "mask_cpu:0x1",
    "cyclic",
    "block:cyclic:fcyclic",
    "plane=2",
    "pmi2",
    "pmix",
    "none",
    "exclusive",
    "user",
    "mcs",
    "YES:4",
    "FORCE",
    "SUSPEND",
    "CANCEL",
    "DOWN",
    "DRAIN",
    "RESUME",
    "IDLE",
    "0 * * * * true",
    "@hourly x",
    "*/5 1-3 * * 0 a",
    "up",
    "time",
    "step-0",
    "eth0",
    "127.0.0.1",
    "host",
    "::1",
    "tmp",
    "\xff\xfe",
    "\xc3\xa9",
    "#!/bin/sh\n",
    "TRUE",
    "yes",
    "no",
    "NONE",
    "SPREAD",
    "leaf0",
    "2:1:1",
    "1-2",
    "4-1",
    "1-4294967295",
    "1,1,1",
    "99999999999999999999",
};

static const uint64_t script_numbers[] = {
    100,
    255,
    256,
    1000,
    4096,
    65535,
    65536,
    86400,
    999999,
    1u << 20,
    INT32_MAX,
    1u << 31,
    UINT32_MAX,
    UINT32_MAX - 1,
    UINT32_MAX - 2,
    4294967290u,
    4294967291u,
    4294967292u,
    4294967293u,
    1ull << 32,
    1ull << 40,
    1ull << 48,
    1ull << 62,
    INT64_MAX,
    1ull << 63,
    UINT64_MAX,
    12345,
    64,
    128,
    3600,
    1441,
    65,
};

SCRIPT_FN uint64_t script_number(struct script *s)
{
    unsigned k = script_u8(s);

    if (k < 128)
        return k & 15;
    if (k < 160)
        return s->live ? s->live(s->ctx, k - 128) : k;
    if (k < 192)
        return script_numbers[(k - 160) % ARRAY_SIZE(script_numbers)];
    if (k < 224) { /* a time within a day and a half of now */
        int64_t off = (int64_t)(int16_t)script_u16(s) * (k & 1 ? 4 : 1);

        return (uint64_t)((s->now_us ? s->now_us() : 0) + off * 1000000);
    }
    if (k < 240)
        return script_u16(s);
    return script_u64(s);
}

/* A word, two words, or bytes; written behind sb. */
SCRIPT_FN void script_text(struct script *s, struct strbuf *sb)
{
    unsigned k = script_u8(s);
    size_t len;

    if (k < 224) {
        strbuf_add(sb, script_words[k % ARRAY_SIZE(script_words)]);
    } else if (k < 236) {
        strbuf_add(sb, script_words[script_u8(s) % ARRAY_SIZE(script_words)]);
        strbuf_addc(sb, ",:&=\n _-@.%|"[k - 224]);
        strbuf_add(sb, script_words[script_u8(s) % ARRAY_SIZE(script_words)]);
    } else if (k < 238) {
        strbuf_pad(sb, k & 1 ? 'x' : '1', script_u8(s) * 8u);
    } else if (k < 244) {
        strbuf_addf(sb, "%llu", (unsigned long long)script_number(s));
    } else {
        unsigned n = script_u8(s);
        const uint8_t *bytes = script_bytes(s, n & 127, &len);

        strbuf_addn(sb, bytes, len);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

SCRIPT_FN void script_varint(struct strbuf *sb, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        strbuf_addc(sb, (char)(v | 0x80));
    strbuf_addc(sb, (char)v);
}

SCRIPT_FN void script_fixed(struct strbuf *sb, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        strbuf_addc(sb, (char)(v >> 8 * i));
}

SCRIPT_FN void script_fields(struct script *s, const ProtobufCMessageDescriptor *desc,
                             unsigned depth, struct strbuf *sb);

SCRIPT_FN void script_delimited(struct strbuf *sb, uint32_t id, const struct strbuf *inner)
{
    script_varint(sb, (uint64_t)id << 3 | 2);
    script_varint(sb, inner->len);
    strbuf_addn(sb, strbuf_str(inner), inner->len);
}

SCRIPT_FN void script_field(struct script *s, const ProtobufCFieldDescriptor *f, unsigned depth,
                            struct strbuf *sb)
{
    _cleanup_val_(strbuf_done) struct strbuf inner = STRBUF_INIT;
    const ProtobufCEnumDescriptor *en = f->descriptor;
    uint64_t v;

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        script_text(s, &inner);
        script_delimited(sb, f->id, &inner);
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        if (depth < SCRIPT_DEPTH_MAX)
            script_fields(s, f->descriptor, depth + 1, &inner);
        script_delimited(sb, f->id, &inner);
        return;
    case PROTOBUF_C_TYPE_ENUM:
        v = script_u8(s);
        v = v < 240 ? (uint64_t)(int64_t)en->values[v % en->n_values].value : script_number(s);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        v = script_u8(s) & 1;
        break;
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SINT64:
        v = script_number(s);
        v = v << 1 ^ (uint64_t)((int64_t)v >> 63);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: {
        double d = (double)(int64_t)script_number(s);

        v = script_number(s);
        if (f->type == PROTOBUF_C_TYPE_DOUBLE && !(v & 1))
            memcpy(&v, &d, sizeof(v));
        script_varint(sb, (uint64_t)f->id << 3 | 1);
        script_fixed(sb, v, 8);
        return;
    }
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        script_varint(sb, (uint64_t)f->id << 3 | 5);
        script_fixed(sb, script_number(s), 4);
        return;
    default:
        v = script_number(s);
        break;
    }
    script_varint(sb, (uint64_t)f->id << 3);
    script_varint(sb, v);
}

/* Some fields of a message, encoded behind sb. */
SCRIPT_FN void script_fields(struct script *s, const ProtobufCMessageDescriptor *desc,
                             unsigned depth, struct strbuf *sb)
{
    unsigned n = script_u8(s) & 15;

    for (unsigned i = 0; i < n && desc->n_fields && sb->len < SCRIPT_MESSAGE_MAX && s->left; i++) {
        unsigned k = desc->n_fields > 256 ? script_u16(s) : script_u8(s);

        script_field(s, &desc->fields[k % desc->n_fields], depth, sb);
    }
}

enum script_body {
    BODY_RAW = 1u << 0,    /* bytes of the script */
    BODY_SAMPLE = 1u << 1, /* what the caller gives: a message of the kind that works */
    BODY_FIELDS = 1u << 2, /* fields by the descriptor */
};

/* The body of a message of this kind (desc may be NULL); sample: encoded, may be NULL. */
SCRIPT_FN void script_message(struct script *s, const ProtobufCMessageDescriptor *desc,
                              const struct strbuf *sample, struct strbuf *sb)
{
    unsigned how = script_u8(s);

    if ((how & BODY_SAMPLE) && sample)
        strbuf_addn(sb, strbuf_str(sample), sample->len);
    if (how & BODY_RAW) {
        size_t len;
        const uint8_t *bytes = script_bytes(s, script_u16(s), &len);

        strbuf_addn(sb, bytes, len);
    }
    if ((how & BODY_FIELDS) && desc)
        script_fields(s, desc, 0, sb);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Mostly an operation there is. */
SCRIPT_FN unsigned script_op(struct script *s)
{
    static const uint16_t ops[] = {
#define X(sym, num, name, req, rep, max) num,
        WIRE_OPS(X)
#undef X
    };
    unsigned k = script_u8(s);

    return k < 250 ? ops[k % ARRAY_SIZE(ops)] : script_u16(s);
}

/* Mostly none. */
SCRIPT_FN uint32_t script_flags(struct script *s)
{
    unsigned k = script_u8(s);

    return k < 224 ? 0 : k < 240 ? FRAME_ONEWAY : k < 254 ? k & 15 : (uint32_t)script_u64(s);
}
