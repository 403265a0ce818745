/* pactworld.h - controllers, a witness and a network that is against them, for test_pactmodel.c */
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stream/pact.h"

#define HOSTS 3u
#define LOG_MAX 400u
#define NET_MAX 64u
#define FRAME_MAX_RECORDS 4u
#define PATIENCE_US 40

struct entry {
    uint32_t term, value;
};

/* What a controller has on its disk, and behind `synced` in its memory alone. */
struct disk {
    struct entry log[LOG_MAX + 1]; /* by lsn, from 1 */
    uint64_t last, synced, kept;   /* kept: the oldest record whose term is known */
    uint64_t id;
    uint32_t promised;
};

struct host {
    struct pact_member who;
    struct disk disk;
    bool up, leads;
    struct pact pact;
    struct pact_tail tail;
    uint64_t session[HOSTS]; /* of each other, as the active one; 0: none */
    int peer[HOSTS];
    uint64_t next[HOSTS];    /* record to send */
    struct pact_record seen; /* of the witness */
    uint64_t taken[HOSTS];   /* the session that is followed, of each */
    bool asked;              /* a claim is under way, of this term: */
    uint32_t claimed;
};

enum kind { NET_CHANGE, NET_READ, NET_RECORD, NET_HELLO, NET_MATCH, NET_APPEND, NET_ACK, NET_COPY };

struct packet {
    enum kind kind;
    uint32_t from, to; /* HOSTS: the witness */
    uint64_t session, id, lsn, committed;
    uint32_t term, n;
    struct pact_change change;
    struct pact_record record;
    struct pact_history history;
    struct entry records[FRAME_MAX_RECORDS];
    struct pact_member who;
};

struct world {
    uint64_t seed;
    int64_t now_us;
    struct host h[HOSTS];
    struct pact_record witness;
    bool witness_up;
    struct packet net[NET_MAX];
    uint32_t n_net;
    struct entry acked[LOG_MAX + 1]; /* term 0: not acknowledged */
    uint64_t acked_last, sessions, ids;
    uint32_t values;
    const char *broken; /* what must not happen has happened */
    /* what happened */
    unsigned claims, acks, cuts, copies, adds, drops, crashes, wipes;
};

static inline uint32_t draw(struct world *w, uint32_t below)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->seed >> 33) % below;
}

static inline void send_packet(struct world *w, const struct packet *p)
{
    if (w->n_net == NET_MAX || draw(w, 12) == 0)
        return; /* lost */
    w->net[w->n_net++] = *p;
}

static inline struct pact_history history_of(const struct disk *d, uint64_t last)
{
    struct pact_history h = { .n = 0 };

    for (uint64_t lsn = d->kept; lsn <= last; lsn++)
        (void)pact_history_add(&h, d->log[lsn].term, lsn);
    return h;
}

/* ---- what must hold ---------------------------------------------------------------------- */

static inline bool has_entry(const struct disk *d, uint64_t lsn, const struct entry *e)
{
    return lsn <= d->synced && d->log[lsn].term == e->term && d->log[lsn].value == e->value;
}

static inline void note_acked(struct world *w, const struct host *h, uint64_t from, uint64_t to)
{
    for (uint64_t lsn = from; lsn <= to && lsn <= LOG_MAX; lsn++) {
        const struct entry *e = &h->disk.log[lsn];

        if (w->acked[lsn].term &&
            (w->acked[lsn].term != e->term || w->acked[lsn].value != e->value))
            w->broken = "two contents were acknowledged for one record";
        w->acked[lsn] = *e;
        w->acked_last = w->acked_last > lsn ? w->acked_last : lsn;
        w->acks++;
    }
}

static inline void check_world(struct world *w)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        const struct host *h = &w->h[i];
        bool member = pact_set_has(&w->witness.in_sync, &h->who);
        uint64_t shown = h->leads ? h->pact.committed : h->tail.committed;

        for (uint64_t lsn = 1; member && lsn <= w->acked_last; lsn++)
            if (!has_entry(&h->disk, lsn, &w->acked[lsn]))
                w->broken = "a member lacks what was acknowledged";
        for (uint64_t lsn = 1; h->up && lsn <= shown; lsn++)
            if (!w->acked[lsn].term || !has_entry(&h->disk, lsn, &w->acked[lsn]))
                w->broken = "what is shown was not acknowledged";
    }
}
