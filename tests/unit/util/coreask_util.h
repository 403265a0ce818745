/* coreask_util.h - the core of core_util.h, and connections that are played: what its services are
 * asked, what they answer, and what nodes are told
 *
 * Requests go through the core's loop, one a turn.  Single quotes stand for double ones in JSON.
 * Needs ctld_dep base_json_dep; nothing of the program may use a real connection. */
#pragma once

#include "core_util.h"
#include "json_util.h"

#include <unistd.h>

#include "base/timefmt.h"
#include "ctld/core/contents.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/effects.h"
#include "ctld/core/loop.h"
#include "ctld/core/observe.h"
#include "wire/errors.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../../fuzz/fakeconn.h"
#pragma GCC diagnostic pop

extern const struct ctld_service asking_service, cleaning_service, feasible_service, hooks_service,
    lifecycle_service, links_service, owners_service, prologs_service, stepvnis_service,
    topology_service, views_service, wait_service;

struct told { /* a frame that was sent */
    struct conn *conn;
    unsigned op;
    uint32_t flags;
    ProtobufCMessage *msg; /* NULL: it has no body that its operation says */
};

static struct told tolds[512]; /* in their order; taken ones have no conn */
static size_t n_tolds;

static void keep_told(struct conn *conn, const struct frame *f)
{
    const struct wire_op_info *info = wire_op_info(f->op);
    const ProtobufCMessageDescriptor *desc = f->flags & FRAME_ERROR   ? &pst__error__descriptor
                                             : f->flags & FRAME_REPLY ? info->reply
                                                                      : info->request;
    ProtobufCMessage *msg = desc ? protobuf_c_message_unpack(desc, NULL, f->len, f->body) : NULL;

    if (!msg && f->op == OP_JOB_SUBMIT) /* a client that waits: the states of its job */
        msg = protobuf_c_message_unpack(&pst__job_status__descriptor, NULL, f->len, f->body);
    assert_true(n_tolds < ARRAY_SIZE(tolds));
    tolds[n_tolds++] = (struct told){ .conn = conn, .op = f->op, .flags = f->flags, .msg = msg };
}

static void drop_told(struct told *t)
{
    if (t->msg)
        protobuf_c_message_free_unpacked(t->msg, NULL);
    *t = (struct told){ .conn = NULL };
}

/* list: services in the order of services.def, ended by NULL. */
UTIL void coreask_begin(struct core *c, const char *lines, const struct ctld_service *const *list)
{
    struct err err = { .text = "" };
    char key[160];

    *c = (struct core){ .services = { NULL } };
    for (size_t i = 0; list[i]; i++) {
        assert_true(i + 1 < ARRAY_SIZE(c->services));
        c->services[i] = list[i];
    }
    fake_on_sent = keep_told;
    c->ctld.conf = conf_with_lines(lines);
    assert_int_equal(core_queue_new(&c->ctld.queue), 0);
    assert_int_equal(effects_new(&c->ctld.effects), 0);
    core_open(c);
    (void)snprintf(key, sizeof(key), "%s/key", c->dir);
    assert_int_equal(auth_keys_create(key, &err), 0);
    assert_int_equal(auth_keys_load(key, &c->ctld.keys, &err), 0);
    core_learn_admin(&c->ctld);
    assert_true(core_commit(&c->ctld, tx_new(T0)) > 0); /* as every boot does */
}

/* What was sent leaves, as if it were durable. */
UTIL void coreask_settle(struct core *c)
{
    effects_release(c->ctld.effects, UINT64_MAX / 2);
    while (fake_turn())
        ;
}

/* Run what the core has to do now. */
UTIL void coreask_turn(struct core *c)
{
    core_post_kind(&c->ctld, CMD_STOP);
    core_run(&c->ctld);
    coreask_settle(c);
}

UTIL void coreask_forget(void)
{
    for (size_t i = 0; i < n_tolds; i++)
        drop_told(&tolds[i]);
    n_tolds = 0;
}

UTIL void coreask_end(struct core *c)
{
    coreask_settle(c);
    c->ctld.queue = core_queue_free(c->ctld.queue);
    c->ctld.effects = effects_free(c->ctld.effects);
    c->ctld.keys = auth_keys_free(c->ctld.keys);
    core_end(c);
    coreask_forget();
}

/* A connection of this user; conn_unref(). */
UTIL struct conn *coreask_connect(uid_t uid)
{
    return fake_conn_new(uid, uid, "login1", "test");
}

/* The connection is gone, and the core hears of it. */
UTIL void coreask_hang_up(struct core *c, struct conn *conn)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    conn->gone = true;
    cmd->kind = CMD_CLOSED;
    cmd->conn = conn_ref(conn);
    (void)core_post(&c->ctld, cmd);
    coreask_turn(c);
}

/* A caller of coreask_connect() goes for good; always NULL. */
UTIL struct conn *coreask_part(struct core *c, struct conn *conn)
{
    coreask_hang_up(c, conn);
    return conn_unref(conn);
}

/* Node `id` is connected from now on; its connection, which the core holds. */
UTIL struct conn *coreask_link(struct core *c, uint32_t id)
{
    struct conn *conn = fake_conn_new(0, 0, c->ctld.cluster->nodes[id]->rec->name, "slurmd");

    node_link_set(&c->ctld, c->ctld.cluster->nodes[id], conn);
    assert(conn->refs > 1); /* the link has it, too, and it stays as long as that */
    (void)conn_unref(conn);
    return conn;
}

/* The next frame of this kind that was sent there, NULL: none.  The caller frees its msg. */
UTIL struct told coreask_take(const struct conn *conn, unsigned op)
{
    for (size_t i = 0; i < n_tolds; i++)
        if (tolds[i].conn == conn && tolds[i].op == op) {
            struct told t = tolds[i];

            tolds[i] = (struct told){ .conn = NULL };
            return t;
        }
    return (struct told){ .conn = NULL };
}

/* How many frames of this kind were sent there and are not taken. */
UTIL size_t coreask_count(const struct conn *conn, unsigned op)
{
    size_t n = 0;

    for (size_t i = 0; i < n_tolds; i++)
        n += tolds[i].conn == conn && tolds[i].op == op;
    return n;
}

/* What the thread of a connection makes of a submission. */
UTIL void read_contents(struct cmd *cmd)
{
    size_t len = protobuf_c_message_get_packed_size(cmd->msg);
    _cleanup_free_ uint8_t *body = malloc(len + 1);

    assert_non_null(body);
    (void)protobuf_c_message_pack(cmd->msg, body);
    assert_int_equal(contents_of_request(cmd->msg, &cmd->contents, &cmd->n_contents), 0);
    assert_int_equal(contents_digest(cmd->msg, body, len), 0);
}

/* Send a request as this connection's user, whom the host calls `name` (NULL: root). */
UTIL void coreask_send(struct core *c, struct conn *from, const char *name, unsigned op,
                       const char *json)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    cmd->kind = CMD_REQUEST;
    cmd->conn = conn_ref(from);
    cmd->op = (uint16_t)op;
    cmd->id = ++from->last_id;
    cmd->msg = from_json(wire_op_info(op)->request, json);
    cmd->caller = name ? strdup(name) : NULL;
    cmd->user_name = strdup(name ? name : "root");
    cmd->group_name = strdup(name ? "users,video" : "root");
    if (op == OP_JOB_SUBMIT)
        read_contents(cmd);
    cmd->uid = from->peer.uid;
    cmd->gid = from->peer.gid;
    assert_true(core_post(&c->ctld, cmd));
    coreask_turn(c);
}

static char coreask_text[1024]; /* of the last refusal */

/* The code of what was answered, -1: nothing yet.  *ret (may be NULL) is the caller's. */
UTIL int coreask_answer(struct conn *from, unsigned op, ProtobufCMessage **ret)
{
    struct told t = coreask_take(from, op);
    int code = 0;

    coreask_text[0] = '\0';
    if (!t.conn)
        return -1;
    assert_true(t.flags & FRAME_REPLY);
    if (t.flags & FRAME_ERROR) {
        const Pst__Error *e = (const Pst__Error *)t.msg;

        code = e->code;
        (void)snprintf(coreask_text, sizeof(coreask_text), "%s", e->text ? e->text : "");
    }
    if (ret && code == 0)
        *ret = t.msg;
    else if (t.msg)
        protobuf_c_message_free_unpacked(t.msg, NULL);
    return code;
}

UTIL int coreask(struct core *c, struct conn *from, const char *name, unsigned op, const char *json,
                 ProtobufCMessage **ret)
{
    coreask_send(c, from, name, op, json);
    return coreask_answer(from, op, ret);
}
