/* client_active.c - finding the active one of several controllers; see client_active.h */
#include "wire/client_active.h"

#include <errno.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "wire/hello.h"
#include "wire/errors.h"

#define TRY_MS                                                                                     \
    2000 /* a host that is away, or a process that stands still, costs no more than this */

/* The connection's end answers and is active? */
static int ask_state(struct client *c, struct err *err)
{
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const Pst__PingReply *told;
    int r = client_call(c, OP_PING, &req.base, &reply);

    if (r < 0)
        return err_set(err, r, "%s", client_strerror(c, r));
    told = PB_AS(ping_reply, reply);
    r = 0;
    if (told->has_standby && told->standby)
        r = told->standby_why && *told->standby_why
                ? err_set(err, -EREMOTEIO, "%s: %.300s", slurm_err_text(ESLURM_IN_STANDBY_MODE),
                          told->standby_why)
                : err_set(err, -EREMOTEIO, "%s", slurm_err_text(ESLURM_IN_STANDBY_MODE));
    protobuf_c_message_free_unpacked(reply, NULL);
    return r;
}

static int try_one(const struct client_target *target, uid_t slurm_uid, bool alone,
                   struct client **ret_client, struct err *err)
{
    struct client_target once = *target;
    struct client *c = NULL;
    int r;

    if (alone)
        return client_connect(target, slurm_uid, ret_client, err);
    if (once.timeout_ms <= 0 || once.timeout_ms > TRY_MS)
        once.timeout_ms = TRY_MS;
    r = client_connect(&once, slurm_uid, &c, err);
    if (r == 0)
        r = ask_state(c, err);
    if (r < 0) {
        client_free(c);
        return r;
    }
    client_set_timeout(c, target->timeout_ms);
    *ret_client = c;
    return 0;
}

int client_connect_local(const struct client_target *target, const struct client_hosts *hosts,
                         uid_t server_uid, struct client **ret_client, struct err *err)
{
    struct client_target t = *target;

    if (!hello_may_local(target)) /* an identity that the socket has not */
        return -ECONNREFUSED;
    t.host = NULL;
    t.try_local = true;
    return try_one(&t, server_uid, hosts->n <= 1, ret_client, err);
}

int client_connect_active(const struct client_target *target, struct client_hosts *hosts,
                          uid_t slurm_uid, struct client **ret_client, struct err *err)
{
    struct client_target t = *target;
    bool alone = hosts->n <= 1, standby = false;
    struct err why = { .text = "" };
    int r = -ECONNREFUSED;

    for (size_t k = 0; r < 0 && k < hosts->n; k++) {
        size_t i = (hosts->last + k) % hosts->n;

        if (err)
            err->text[0] = '\0';
        t.host = hosts->addr[i];
        r = try_one(&t, slurm_uid, alone, ret_client, err);
        standby |= r == -EREMOTEIO;
        if (r == -EREMOTEIO && err)
            why = *err;
        if (r == 0)
            hosts->last = i;
    }
    if (r < 0 && standby)
        return err_set(err, -ECONNREFUSED, "%s",
                       why.text[0] ? why.text : slurm_err_text(ESLURM_IN_STANDBY_MODE));
    return r;
}
