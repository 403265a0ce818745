/* played_dbd.h - a slurmdbd that is played: what a controller registers, feeds and follows */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/timefmt.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#include "acct.pb-c.h"
#include "acctop.pb-c.h"

#define DBD_WAIT_US (20 * SEC)

struct played_dbd {
    struct server *server;
    pthread_mutex_t lock; /* of what follows */
    uint64_t cursor;      /* told to whoever registers; then where the last feed came to */
    uint32_t commit_delay_s;
    int refuse;    /* code for the next feed, 0: it is taken */
    bool hangs_up; /* at the next feed */
    unsigned registered, fed;
    Pst__DbdRegister *last_register;
    Pst__DbdFeed *last_feed;
    unsigned followed;
    Pst__AcctFollowRequest *last_follow;
    struct conn *follower; /* held; NULL: nobody follows */
    uint32_t follower_id;
};

UTIL void dbd_answer(struct played_dbd *d, struct conn *c, const struct frame *frame)
{
    Pst__DbdCursor reply = PST__DBD_CURSOR__INIT;

    reply.has_cursor = true;
    reply.cursor = d->cursor;
    reply.has_commit_delay_s = d->commit_delay_s > 0;
    reply.commit_delay_s = d->commit_delay_s;
    (void)conn_reply(c, frame->op, frame->id, 0, &reply.base);
}

UTIL void dbd_take_feed(struct played_dbd *d, struct conn *c, const struct frame *frame)
{
    if (d->last_feed)
        pst__dbd_feed__free_unpacked(d->last_feed, NULL);
    d->last_feed = pst__dbd_feed__unpack(NULL, frame->len, frame->body);
    d->fed++;
    if (d->hangs_up) {
        d->hangs_up = false;
        conn_close(c);
        return;
    }
    if (d->refuse) {
        (void)conn_error(c, frame->op, frame->id, d->refuse, "no room");
        d->refuse = 0;
        return;
    }
    d->cursor = d->last_feed->upto;
    dbd_answer(d, c, frame);
}

UTIL void dbd_take_follower(struct played_dbd *d, struct conn *c, const struct frame *frame)
{
    if (d->last_follow)
        pst__acct_follow_request__free_unpacked(d->last_follow, NULL);
    d->last_follow = pst__acct_follow_request__unpack(NULL, frame->len, frame->body);
    d->followed++;
    conn_unref(d->follower);
    d->follower = conn_ref(c);
    d->follower_id = frame->id;
}

UTIL void dbd_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct played_dbd *d = ctx;

    (void)pthread_mutex_lock(&d->lock);
    if (frame->op == OP_DBD_REGISTER) {
        if (d->last_register)
            pst__dbd_register__free_unpacked(d->last_register, NULL);
        d->last_register = pst__dbd_register__unpack(NULL, frame->len, frame->body);
        d->registered++;
        dbd_answer(d, c, frame);
    } else if (frame->op == OP_DBD_FEED) {
        dbd_take_feed(d, c, frame);
    } else if (frame->op == OP_ACCT_FOLLOW) {
        dbd_take_follower(d, c, frame);
    }
    (void)pthread_mutex_unlock(&d->lock);
}

UTIL void dbd_closed(void *ctx, struct conn *c)
{
    (void)ctx, (void)c;
}

UTIL void dbd_begin(struct played_dbd *d)
{
    const struct server_config config = { .any_port = true,
                                          .bind_addr = "127.0.0.1",
                                          .local_socket = true,
                                          .threads = 1,
                                          .cluster = "c",
                                          .service = "slurmdbd",
                                          .serves = ACCESS_AT(ACCESS_DBD),
                                          .slurm_uid = geteuid(),
                                          .hooks = { .on_request = dbd_request,
                                                     .on_close = dbd_closed },
                                          .ctx = d };
    struct err err = { .text = "" };

    *d = (struct played_dbd){ .lock = PTHREAD_MUTEX_INITIALIZER };
    if (server_new(&config, &d->server, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(server_start(d->server), 0);
}

/* Nobody listens there any more. */
UTIL void dbd_stop(struct played_dbd *d)
{
    if (!d->server)
        return;
    server_stop(d->server);
    d->follower = conn_unref(d->follower);
    d->server = server_free(d->server);
}

UTIL void dbd_end(struct played_dbd *d)
{
    dbd_stop(d);
    if (d->last_register)
        pst__dbd_register__free_unpacked(d->last_register, NULL);
    if (d->last_feed)
        pst__dbd_feed__free_unpacked(d->last_feed, NULL);
    if (d->last_follow)
        pst__acct_follow_request__free_unpacked(d->last_follow, NULL);
}

/* slurm.conf's lines for it. */
UTIL const char *dbd_lines(const struct played_dbd *d)
{
    static char lines[256];

    (void)snprintf(lines, sizeof(lines),
                   "AccountingStorageType=accounting_storage/slurmdbd\n"
                   "AccountingStorageHost=127.0.0.1\nAccountingStoragePort=%u\n"
                   "AccountingStorageTRES=gres/gpu\n",
                   server_port(d->server));
    return lines;
}
