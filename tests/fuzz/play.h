/* play.h - frames from connections of every role, as a script says
 *
 * For targets that include fakeconn.h.  Samples are requests that do something, written as JSON
 * with single quotes; the script adds fields to them. */
#pragma once

#include <stdio.h>

#include "base/pb/pbutil.h"

#include "fakeconn.h"
#include "script.h"

#define ROLES_MAX 16u

struct role {
    uid_t uid;
    const char *program;
};

struct sample {
    unsigned op;
    const char *json;
    struct strbuf body; /* the same, encoded; by play_encode() */
};

struct play {
    const struct role *roles;
    size_t n_roles;
    struct sample *samples;
    size_t n_samples;
    struct conn *conns[ROLES_MAX];
    struct script script;
    uint32_t last_frame;
    /* Changes a request that would reach beyond the daemon; may be NULL. */
    void (*edit)(unsigned op, struct strbuf *body);
};

SCRIPT_FN void play_encode(struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *text = strdup(samples[i].json);
        ProtobufCMessage *msg = NULL;
        struct err err = { .text = "" };
        size_t len;

        assert(text);
        for (char *p = text; (p = strchr(p, '\'')); p++)
            *p = '"';
        if (pb_json_read(text, strlen(text), wire_op_info(samples[i].op)->request, &msg, &err) < 0)
            fprintf(stderr, "%s: %s\n", text, err.text);
        assert(msg);
        len = protobuf_c_message_get_packed_size(msg);
        (void)protobuf_c_message_pack(msg, (uint8_t *)strbuf_room(&samples[i].body, len + 1));
        strbuf_grew(&samples[i].body, len);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

SCRIPT_FN void play_connect(struct play *p)
{
    for (size_t i = 0; i < p->n_roles; i++)
        p->conns[i] =
            fake_conn_new(p->roles[i].uid, p->roles[i].uid, "localhost", p->roles[i].program);
}

SCRIPT_FN void play_close(struct play *p)
{
    for (size_t i = 0; i < p->n_roles; i++)
        fake_close(p->conns[i]);
}

SCRIPT_FN void play_forget(struct play *p)
{
    while (fake_turn())
        ;
    for (size_t i = 0; i < p->n_roles; i++)
        p->conns[i] = conn_unref(p->conns[i]);
    assert(fake_conns == 0);
}

SCRIPT_FN void play_arrive(struct play *p, struct conn *conn, unsigned op, uint32_t flags,
                           struct strbuf *body)
{
    struct frame f = {
        .version = WIRE_VERSION, .op = (uint16_t)op, .flags = flags, .id = ++p->last_frame
    };
    uint8_t *copy;

    if (p->edit)
        p->edit(op, body);
    copy = malloc(body->len + 1); /* of its own, so that reading past it is seen */
    assert(copy);
    memcpy(copy, strbuf_str(body), body->len);
    f.body = copy;
    f.len = (uint32_t)body->len;
    fake_arrives(conn, &f);
    free(copy);
}

/* One of the samples as it is. */
SCRIPT_FN void play_one(struct play *p, struct conn *conn, const struct sample *sample)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_addn(&body, strbuf_str(&sample->body), sample->body.len);
    play_arrive(p, conn, sample->op, 0, &body);
}

SCRIPT_FN void play_any(struct play *p)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct script *s = &p->script;
    struct conn *conn = p->conns[script_u8(s) % p->n_roles];
    unsigned op = script_op(s);
    uint32_t flags = script_flags(s);
    const struct wire_op_info *info = wire_op_info(op);

    script_message(s,
                   !info                 ? NULL
                   : flags & FRAME_REPLY ? info->reply
                                         : info->request,
                   NULL, &body);
    play_arrive(p, conn, op, flags, &body);
}

/* From one of the roles behind the first ones, who are the daemons. */
SCRIPT_FN void play_sample(struct play *p, size_t first)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct script *s = &p->script;
    struct conn *conn = p->conns[first + script_u8(s) % (p->n_roles - first)];
    const struct sample *sample = &p->samples[script_u8(s) % p->n_samples];

    strbuf_addn(&body, strbuf_str(&sample->body), sample->body.len);
    script_fields(s, wire_op_info(sample->op)->request, 0, &body);
    play_arrive(p, conn, sample->op, 0, &body);
}

/* msg, and fields that the script adds. */
SCRIPT_FN void play_message(struct play *p, struct conn *conn, unsigned op,
                            const ProtobufCMessage *msg)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    size_t len = protobuf_c_message_get_packed_size(msg);

    (void)protobuf_c_message_pack(msg, (uint8_t *)strbuf_room(&body, len + 1));
    strbuf_grew(&body, len);
    script_fields(&p->script, wire_op_info(op)->request, 0, &body);
    play_arrive(p, conn, op, 0, &body);
}

/* Somebody goes, and comes again. */
SCRIPT_FN void play_reconnect(struct play *p)
{
    size_t i = script_u8(&p->script) % p->n_roles;

    fake_close(p->conns[i]);
    (void)conn_unref(p->conns[i]);
    p->conns[i] = fake_conn_new(p->roles[i].uid, p->roles[i].uid, "localhost", p->roles[i].program);
}

SCRIPT_FN void play_time(struct play *p, int64_t *clock)
{
    static const int64_t spans_ms[] = { 1,     100,    1000,   10000,   31000,
                                        61000, 310000, 601000, 3601000, 86400000 };

    *clock += spans_ms[script_u8(&p->script) % ARRAY_SIZE(spans_ms)] * 1000;
}
