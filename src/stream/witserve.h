/* witserve.h - the witness: a server that keeps one record, and changes it one after the other
 *
 * It decides nothing: pact_witness_apply() does.  A change is on the disk before it is answered.
 * The lease of the term is kept in memory, and with each claim. */
#pragma once

#include "base/err.h"
#include "stream/pactwire.h"
#include "wire/server/server.h"

struct witserve;

struct witserve_config {
    const char *dir; /* of the record; borrowed, as is cluster */
    const char *cluster;
    struct server_config server; /* port, address and proofs; hooks are set here */
};

/* Load the record and listen.  -ENOENT: there is none. */
int witserve_new(const struct witserve_config *config, struct witserve **ret, struct err *err);
int witserve_start(struct witserve *w); /* answer, on a thread */
uint16_t witserve_port(const struct witserve *w);
struct witserve *witserve_free(struct witserve *w); /* always NULL */

/* What a request leads to: *reply is what the record is now, and has parts in *parts and *state.
 * 0, also when it was refused (reply->done false); -EINVAL the request makes no sense; others: the
 * record cannot be written, and nothing may be answered any more.  For tests as well. */
struct witserve_reply {
    Pst__WitnessReply reply;
    Pst__StreamMember holder;
    struct pactwire_set set;
    struct witness_state state;
};
typedef int witserve_store_fn(void *ctx, const struct witness_state *s);
int witserve_carry_out(struct witness_state *state, const Pst__WitnessRequest *req,
                       witserve_store_fn *store, void *ctx, struct witserve_reply *ret);
