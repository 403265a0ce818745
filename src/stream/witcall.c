/* witcall.c - see witcall.h */
#include "stream/witcall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/tx.h"

struct witcall {
    const struct streamlink *link;
    const struct stream_config *config;
    int try_ms;
    struct client *client; /* NULL: not connected */
};

int witcall_new(const struct streamlink *link, const struct stream_config *config, int try_ms,
                struct witcall **ret)
{
    struct witcall *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->link = link;
    w->config = config;
    w->try_ms = try_ms;
    *ret = w;
    return 0;
}

struct witcall *witcall_free(struct witcall *w)
{
    if (w) {
        w->client = client_free(w->client);
        free(w);
    }
    return NULL;
}

static int send_request(struct witcall *w, const Pst__WitnessRequest *req,
                        struct witness_state *ret, struct err *err)
{
    ProtobufCMessage *msg = NULL;
    const Pst__WitnessReply *reply;
    int r = client_call(w->client, OP_WITNESS, &req->base, &msg);

    if (r < 0)
        (void)err_set(err, r, "the witness at %s: %s", w->config->witness,
                      client_strerror(w->client, r));
    if (r < 0) {
        w->client = client_free(w->client); /* also when it refuses: it may have been replaced */
        return r;
    }
    reply = PB_AS(witness_reply, msg);
    r = pactwire_state(reply, ret) < 0 ? -EPROTO : reply->has_done && reply->done;
    protobuf_c_message_free_unpacked(msg, NULL);
    return r < 0 ? err_set(err, r, "the witness at %s answers nonsense", w->config->witness) : r;
}

/* A kept connection may have ended with the witness that it went to; then the request is sent once
 * more over another one, if it may be carried out twice. */
static int ask_witness(struct witcall *w, const Pst__WitnessRequest *req, bool again,
                       struct witness_state *ret, struct err *err)
{
    bool kept = w->client != NULL;
    int r = 0;

    if (!kept)
        r = streamlink_open(w->link, w->config->witness, w->config->port, "witness", w->try_ms,
                            &w->client, err);
    if (r < 0)
        return err_set(err, r, "the witness at %s cannot be reached: %s", w->config->witness,
                       strerrordesc_np(-r));
    r = send_request(w, req, ret, err);
    if (r >= 0 || !kept || !again || r == -ETIMEDOUT)
        return r;
    if (err)
        err->text[0] = '\0';
    return ask_witness(w, req, false, ret, err);
}

int witcall_read(struct witcall *w, struct witness_state *ret, struct err *err)
{
    Pst__WitnessRequest req = PST__WITNESS_REQUEST__INIT;
    int r = ask_witness(w, &req, true, ret, err);

    return MIN(r, 0);
}

int witcall_change(struct witcall *w, const struct pact_change *c, const uint8_t *lease,
                   struct witness_state *ret, struct err *err)
{
    Pst__WitnessRequest req = PST__WITNESS_REQUEST__INIT;
    Pst__StreamMember by;
    struct pactwire_set set;

    pactwire_tell_member(&c->by, &by);
    SET(&req, version, c->version);
    SET(&req, term, c->term);
    req.by = &by;
    if (c->claim)
        SET(&req, claim, true);
    else
        SET(&req, change, true);
    req.n_in_sync = pactwire_tell_set(&c->in_sync, &set);
    req.in_sync = set.list;
    if (lease) {
        req.has_lease = true;
        req.lease = (ProtobufCBinaryData){ TERM_BYTES, (uint8_t *)lease }; /* packed at once */
    }
    return ask_witness(w, &req, false, ret, err);
}

int witcall_renew(struct witcall *w, const struct pact_member *by, uint32_t term,
                  const uint8_t lease[TERM_BYTES], struct witness_state *ret, struct err *err)
{
    Pst__WitnessRequest req = PST__WITNESS_REQUEST__INIT;
    Pst__StreamMember who;

    pactwire_tell_member(by, &who);
    SET(&req, term, term);
    req.by = &who;
    req.has_lease = true;
    req.lease = (ProtobufCBinaryData){ TERM_BYTES, (uint8_t *)lease }; /* packed at once */
    return ask_witness(w, &req, true, ret, err);
}
