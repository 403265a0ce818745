/* commit.c - a transaction into the journal and the model; see commit.h */
#include "ctld/core/commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "ctld/core/service.h"

int64_t core_shown_now(const struct ctld *ctld)
{
    return ctld->past_us ? ctld->past_us : core_now();
}

/* Who asked for tx.  The text is borrowed for the packing. */
static void note_origin(const struct ctld *ctld, Pst__Transaction *tx)
{
    const struct peer *peer = ctld->origin.peer;

    if (!peer)
        return;
    SET(tx, uid, peer->uid);
    SET(tx, op, ctld->origin.op);
    if (strcmp(peer->addr, "local") != 0)
        tx->from = (char *)peer->addr; /* not changed by packing */
}

uint64_t core_commit(struct ctld *ctld, Pst__Transaction *tx)
{
    _cleanup_val_(strbuf_done) struct strbuf notes = STRBUF_INIT;
    _cleanup_free_ uint8_t *buf = NULL;
    struct err err = { .text = "" };
    uint64_t lsn = 0;
    size_t len;
    int r;

    note_origin(ctld, tx);
    len = pst__transaction__get_packed_size(tx);
    services_note(ctld, tx, &notes);
    buf = must(malloc(len + notes.len + 1));
    must_do(notes.failed ? -ENOMEM : 0);
    pst__transaction__pack(tx, buf);
    tx->from = NULL; /* never tx's own */
    memcpy(buf + len, strbuf_str(&notes), notes.len);
    len += notes.len;
    r = journal_append(ctld->journal, buf, len, &lsn);
    if (r < 0) {
        log_error("an event could not be journaled: %s", strerror(-r));
        tx_free(tx);
        return 0;
    }
    ctld->applied_lsn = lsn;
    r = cluster_apply(ctld->cluster, tx, &err);
    tx_free(tx);
    if (r < 0) { /* what is journaled must apply, or no restart would work */
        log_fatal("the event just journaled does not apply: %s", err.text);
        abort();
    }
    return lsn;
}
