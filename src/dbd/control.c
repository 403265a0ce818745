/* control.c - questions about slurmdbd itself, and its end; on the I/O threads
 *
 * A new configuration and the end are the main thread's work, which waits for signals: it gets one.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acctd/serve.h"
#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "dbd/dbd.h"
#include "wire/errors.h"
#include "wire/server/server.h"

static bool is_admin(const struct dbd *d, struct conn *c)
{
    return conn_peer(c)->uid == 0 || conn_peer(c)->uid == d->slurm_uid;
}

/* A peer that is gone needs no answer. */
static void answer_message(struct conn *c, const struct frame *frame, const ProtobufCMessage *msg)
{
    (void)conn_reply(c, frame->op, frame->id, 0, msg);
}

static void answer_ping(struct dbd *d, struct conn *c, const struct frame *frame)
{
    Pst__PingReply r = PST__PING_REPLY__INIT;
    char host[256] = "";

    (void)gethostname(host, sizeof(host) - 1); /* empty then */
    r.host = host;
    r.mode = (char *)(uintptr_t)(d->second ? "backup" : "primary"); /* only packed */
    r.has_now_us = r.has_boot_us = r.has_pid = true;
    r.now_us = now_us();
    r.boot_us = atomic_load(&d->since_us);
    r.pid = (uint32_t)getpid();
    answer_message(c, frame, &r.base);
}

static void answer_statistics(struct dbd *d, struct conn *c, const struct frame *frame)
{
    Pst__DiagReply r = PST__DIAG_REPLY__INIT;
    Pst__RpcStat stats[OP_MAX_], *list[OP_MAX_];
    Pst__DiagRequest *req;
    struct err err = { .text = "" };
    bool reset;

    if (FRAME_UNPACK(diag_request, frame, &req, &err) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text); /* it may be gone */
        return;
    }
    reset = req->has_reset && req->reset;
    pst__diag_request__free_unpacked(req, NULL);
    if (reset && !is_admin(d, c)) {
        (void)conn_error(c, frame->op, frame->id, ESLURM_ACCESS_DENIED, NULL); /* likewise */
        return;
    }
    r.has_now_us = r.has_since_us = r.has_connections = true;
    r.now_us = now_us();
    r.since_us = reset ? atomic_exchange(&d->since_us, r.now_us) : atomic_load(&d->since_us);
    r.connections = server_connections(d->server);
    r.n_rpcs = rpc_fill(d->rpcs, stats, list, reset);
    r.rpcs = list;
    serve_stats(d->serve, &r, reset);
    answer_message(c, frame, &r.base);
}

struct entries {
    Pst__KeyValue items[CONF_DBD_MAX_], *list[CONF_DBD_MAX_];
    size_t n;
};

static void add_entry(void *ctx, const char *name, const char *value)
{
    struct entries *e = ctx;
    Pst__KeyValue *kv = &e->items[e->n];

    pst__key_value__init(kv);
    kv->key = (char *)(uintptr_t)name; /* only packed, as is the value */
    kv->value = (char *)(uintptr_t)value;
    e->list[e->n++] = kv;
}

static void answer_configuration(struct dbd *d, struct conn *c, const struct frame *frame)
{
    Pst__ConfigReply r = PST__CONFIG_REPLY__INIT;
    struct entries e = { .n = 0 };

    pthread_mutex_lock(&d->conf_lock);
    conf_dbd_each(d->conf, add_entry, &e);
    r.entries = e.list;
    r.n_entries = e.n;
    r.conf_path = d->conf_path;
    r.has_now_us = true;
    r.now_us = now_us();
    answer_message(c, frame, &r.base);
    pthread_mutex_unlock(&d->conf_lock);
}

static void ask_main(struct conn *c, const struct frame *frame, int sig)
{
    static const Pst__Empty nothing = PST__EMPTY__INIT;

    answer_message(c, frame, &nothing.base);
    (void)kill(getpid(), sig); /* ourselves: cannot fail */
}

bool control_request(struct dbd *d, struct conn *c, const struct frame *frame)
{
    int64_t start = now_mono_us();

    switch (frame->op) {
    case OP_PING:
        answer_ping(d, c, frame);
        break;
    case OP_QUERY_DIAG:
        answer_statistics(d, c, frame);
        break;
    case OP_QUERY_CONFIG:
        answer_configuration(d, c, frame);
        break;
    case OP_RECONFIGURE:
        ask_main(c, frame, SIGHUP);
        break;
    case OP_SHUTDOWN:
        ask_main(c, frame, SIGTERM);
        break;
    default:
        return false;
    }
    rpc_count(d->rpcs, frame->op, now_mono_us() - start);
    return true;
}
