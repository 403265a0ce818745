/* pact.c - see pact.h.  Pure. */
#include "stream/pact.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Faults that a test plants (struct pact). */
enum { FAULT_WAITS_NOT = 1, FAULT_ADDS_EARLY, FAULT_FORGETS, FAULT_LEAVES_EARLY };

/* ---- sets ------------------------------------------------------------------------------------ */

static bool is_same(const struct pact_member *a, const struct pact_member *b)
{
    return a->id == b->id && strcasecmp(a->host, b->host) == 0;
}

/* A member that an administrator named by its host alone stands for any log of that host. */
static bool stands_for(const struct pact_member *entry, const struct pact_member *m)
{
    return is_same(entry, m) || (entry->id == 0 && strcasecmp(entry->host, m->host) == 0);
}

bool pact_set_has(const struct pact_set *set, const struct pact_member *m)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (stands_for(&set->v[i], m))
            return true;
    return false;
}

/* ---- the witness ----------------------------------------------------------------------------- */

static int apply_claim(struct pact_record *record, const struct pact_change *c)
{
    if (c->term <= record->term)
        return -EINVAL;
    if (!pact_set_has(&record->in_sync, &c->by))
        return -EPERM;
    *record = (struct pact_record){ .version = record->version + 1,
                                    .term = c->term,
                                    .holder = c->by,
                                    .in_sync = { .n = 1, .v = { c->by } } };
    return 0;
}

static int apply_set(struct pact_record *record, const struct pact_change *c)
{
    if (!record->term || c->term != record->term || !is_same(&c->by, &record->holder))
        return -EPERM;
    if (!c->in_sync.n || c->in_sync.n > PACT_SET_MAX || !pact_set_has(&c->in_sync, &c->by))
        return -EINVAL; /* its holder is always in the set */
    record->in_sync = c->in_sync;
    record->version++;
    return 0;
}

int pact_witness_apply(struct pact_record *record, const struct pact_change *change)
{
    if (!change->by.host[0] || !change->by.id)
        return -EINVAL;
    for (uint32_t i = 0; !change->claim && i < MIN(change->in_sync.n, PACT_SET_MAX); i++)
        if (!change->in_sync.v[i].host[0] || !change->in_sync.v[i].id)
            return -EINVAL;
    if (change->version != record->version)
        return -ESTALE;
    return change->claim ? apply_claim(record, change) : apply_set(record, change);
}

/* ---- histories ------------------------------------------------------------------------------- */

int pact_history_add(struct pact_history *h, uint32_t term, uint64_t first)
{
    const struct pact_run *end = h->n ? &h->v[h->n - 1] : NULL;

    if (!first || (end && (first < end->first || term < end->term)))
        return -EINVAL;
    if (end && term == end->term)
        return 0;
    if (end && first == end->first)
        h->n--; /* that run had no record */
    if (h->n == PACT_HISTORY_MAX)
        memmove(h->v, h->v + 1, --h->n * sizeof(h->v[0]));
    h->v[h->n++] = (struct pact_run){ .term = term, .first = first };
    return 0;
}

uint32_t pact_history_term(const struct pact_history *h, uint64_t lsn)
{
    for (uint32_t i = h->n; i-- > 0;)
        if (lsn >= h->v[i].first)
            return h->v[i].term;
    return 0;
}

/* Where run i ends; the newest ends with `last`. */
static uint64_t run_end(const struct pact_history *h, uint32_t i, uint64_t last)
{
    return i + 1 < h->n ? h->v[i + 1].first - 1 : last;
}

/* The newest record up to `end` of the run of that term, if it reaches back to `first`. */
static bool find_common(const struct pact_history *active, const struct pact_run *run, uint64_t end,
                        uint64_t *ret)
{
    for (uint32_t i = 0; i < active->n; i++) {
        uint64_t to = MIN(run_end(active, i, UINT64_MAX), end);

        if (active->v[i].term != run->term || to < run->first || to < active->v[i].first)
            continue;
        *ret = to;
        return true;
    }
    return false;
}

bool pact_history_match(const struct pact_history *active, const struct pact_history *ours,
                        uint64_t last, uint64_t *ret_lsn)
{
    for (uint32_t i = ours->n; i-- > 0;)
        if (find_common(active, &ours->v[i], run_end(ours, i, last), ret_lsn))
            return true;
    if (!active->n || active->v[0].first != 1)
        return false;
    if (last && (!ours->n || ours->v[0].first != 1))
        return false;
    *ret_lsn = 0; /* both go back to the first record */
    return true;
}

/* ---- the active controller ------------------------------------------------------------------- */

void pact_begin(struct pact *p, const struct pact_record *record, uint64_t last)
{
    int fault = p->fault;

    *p = (struct pact){ .version = record->version,
                        .term = record->term,
                        .self = record->holder,
                        .synced = last,
                        .committed = last,
                        .fault = fault };
}

static struct pact_peer *find_peer(struct pact *p, const struct pact_member *who)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (is_same(&p->v[i].who, who))
            return &p->v[i];
    return NULL;
}

/* A place of one that nothing depends on. */
static struct pact_peer *find_room(struct pact *p)
{
    if (p->n < PACT_PEERS_MAX)
        return &p->v[p->n++];
    for (uint32_t i = 0; i < p->n; i++)
        if (!p->v[i].matched && !p->v[i].in_sync && !p->v[i].maybe)
            return &p->v[i];
    return NULL;
}

int pact_matched(struct pact *p, const struct pact_member *who, uint64_t acked, int64_t now_us)
{
    struct pact_peer *peer = find_peer(p, who);

    if (!peer) {
        peer = find_room(p);
        if (!peer)
            return -ENOSPC;
        *peer = (struct pact_peer){ .who = *who };
    }
    peer->matched = true;
    peer->joining = false;
    /* Less than it had said already: its disk has lost what it promised to keep.  Then it must
     * leave the set, which pact_want() sees by heard_us. */
    if (acked >= peer->acked)
        peer->heard_us = now_us;
    peer->acked = acked;
    return (int)(peer - p->v);
}

void pact_lost(struct pact *p, uint32_t peer)
{
    p->v[peer].matched = false;
    p->v[peer].joining = false;
}

void pact_acked(struct pact *p, uint32_t peer, uint64_t lsn, int64_t now_us)
{
    struct pact_peer *v = &p->v[peer];

    if (!v->matched)
        return; /* of a connection that has ended */
    if (lsn > v->acked || v->acked >= p->synced)
        v->heard_us = now_us;
    v->acked = MAX(v->acked, lsn);
}

void pact_heard(struct pact *p, uint32_t peer, int64_t now_us)
{
    if (p->v[peer].matched)
        p->v[peer].heard_us = now_us;
}

void pact_synced(struct pact *p, uint64_t lsn)
{
    p->synced = MAX(p->synced, lsn);
}

void pact_near(struct pact *p, uint32_t peer)
{
    if (p->v[peer].matched)
        p->v[peer].joining = true;
}

bool pact_requires(const struct pact *p, uint32_t peer)
{
    const struct pact_peer *v = &p->v[peer];

    return v->in_sync || v->maybe || v->joining;
}

uint64_t pact_commit(struct pact *p)
{
    uint64_t lsn = p->synced;

    if (p->over && p->fault != FAULT_WAITS_NOT)
        return p->committed;
    for (uint32_t i = 0; i < p->n && p->fault != FAULT_WAITS_NOT; i++)
        if (pact_requires(p, i))
            lsn = MIN(lsn, p->v[i].acked);
    p->committed = MAX(p->committed, lsn);
    return p->committed;
}

static bool is_silent(const struct pact_peer *v, int64_t now_us, int64_t patience_us)
{
    return now_us - v->heard_us > patience_us;
}

/* It has everything that was acknowledged, and batches wait for it from this moment on. */
static bool may_join(const struct pact *p, const struct pact_peer *v)
{
    return v->matched && !v->in_sync && !v->maybe &&
           (v->acked >= p->committed || p->fault == FAULT_ADDS_EARLY);
}

bool pact_want(struct pact *p, int64_t now_us, int64_t patience_us, struct pact_change *ret)
{
    struct pact_change c = { .version = p->version, .term = p->term, .by = p->self };
    bool want = false;

    if (p->over)
        return false;
    c.in_sync.v[c.in_sync.n++] = p->self;
    for (uint32_t i = 0; i < p->n; i++) {
        struct pact_peer *v = &p->v[i];
        bool silent = is_silent(v, now_us, patience_us), in = false;

        if (silent)
            v->joining = false;
        if (v->in_sync || v->maybe) {
            in = !silent;
            want = want || silent || !v->in_sync;
        } else if (may_join(p, v) && !silent && c.in_sync.n < PACT_SET_MAX) {
            in = want = true;
        }
        if (in && c.in_sync.n < PACT_SET_MAX)
            c.in_sync.v[c.in_sync.n++] = v->who;
    }
    if (!want)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->v[i].in_sync && pact_set_has(&c.in_sync, &p->v[i].who))
            p->v[i].maybe = true;
        else if (p->fault == FAULT_LEAVES_EARLY && !pact_set_has(&c.in_sync, &p->v[i].who))
            p->v[i].in_sync = false;
    }
    *ret = c;
    return true;
}

void pact_learn(struct pact *p, const struct pact_record *record)
{
    if (record->term > p->term || (record->term == p->term && !is_same(&record->holder, &p->self)))
        p->over = true;
    /* An older version is an answer that was under way for long.  Of the same version a change that
     * was sent may yet arrive, so nothing is forgotten. */
    if (p->over || record->term < p->term || record->version < p->version ||
        (record->version == p->version && p->fault != FAULT_FORGETS))
        return;
    p->version = record->version;
    for (uint32_t i = 0; i < p->n; i++) {
        struct pact_peer *v = &p->v[i];

        v->in_sync = pact_set_has(&record->in_sync, &v->who);
        v->maybe = false;
        if (v->in_sync)
            v->joining = false;
    }
}

/* ---- a standby ------------------------------------------------------------------------------- */

int pact_tail_hello(struct pact_tail *t, uint32_t term, const struct pact_history *active,
                    const struct pact_history *ours, uint64_t *ret_lsn)
{
    uint64_t lsn;

    if (t->claiming || !term || term < t->promised)
        return -ESTALE;
    t->promised = term;
    t->stream = 0; /* until both are agreed */
    t->wanting = !pact_history_match(active, ours, t->last, &lsn);
    if (t->wanting)
        return -ENODATA;
    if (lsn < t->committed)
        return -EUCLEAN;
    t->last = lsn;
    t->stream = term;
    *ret_lsn = lsn;
    return 0;
}

int pact_tail_copied(struct pact_tail *t, uint32_t term, uint64_t lsn)
{
    if (t->claiming || !t->wanting || term != t->promised)
        return -ESTALE;
    t->wanting = false;
    t->stream = term;
    t->last = t->committed = lsn;
    return 0;
}

int pact_tail_append(const struct pact_tail *t, uint32_t term, uint64_t first, uint64_t last)
{
    if (t->claiming || !t->stream || term != t->stream || term != t->promised)
        return -ESTALE;
    return first != t->last + 1 || last < first ? -EBADMSG : 0;
}

void pact_tail_synced(struct pact_tail *t, uint64_t last)
{
    t->last = MAX(t->last, last);
}

void pact_tail_committed(struct pact_tail *t, uint64_t lsn)
{
    t->committed = MAX(t->committed, MIN(lsn, t->last));
}
