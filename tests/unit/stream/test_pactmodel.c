/* test_pactmodel.c - the rules of pact.h against crashes, lost disks, and a network that loses,
 * delays, repeats and reorders; a planted fault must be found */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"

#include "pactworld.h"

/* ---- life and death ---------------------------------------------------------------------- */

static void start_host(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];
    struct disk *d = &h->disk;

    h->up = true;
    h->leads = h->asked = false;
    d->last = d->synced; /* what was not synced is gone */
    h->who.id = d->id;
    h->tail = (struct pact_tail){ .promised = d->promised, .last = d->synced };
    memset(h->session, 0, sizeof(h->session));
    memset(h->taken, 0, sizeof(h->taken));
    h->seen = (struct pact_record){ .version = 0 };
}

static void crash_host(struct world *w, uint32_t i)
{
    w->crashes++;
    if (draw(w, 40) == 0) { /* with its disk */
        w->wipes++;
        w->h[i].disk = (struct disk){ .kept = 1, .id = ++w->ids };
        w->h[i].who.id = w->ids;
    }
    w->h[i].up = w->h[i].leads = false;
}

/* ---- asking the witness ------------------------------------------------------------------ */

static void ask_witness(struct world *w, uint32_t i, const struct pact_change *c)
{
    struct packet p = { .kind = c ? NET_CHANGE : NET_READ, .from = i, .to = HOSTS };

    if (c)
        p.change = *c;
    send_packet(w, &p);
}

static void try_claim(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];
    uint32_t term = h->seen.term;
    struct pact_change c = { .claim = true, .version = h->seen.version, .by = h->who };

    if (!h->seen.version || !pact_set_has(&h->seen.in_sync, &h->who))
        return;
    for (uint64_t lsn = 1; lsn <= h->disk.synced; lsn++)
        term = term > h->disk.log[lsn].term ? term : h->disk.log[lsn].term;
    c.term = h->claimed = term + 1;
    h->tail.claiming = h->asked = true;
    ask_witness(w, i, &c);
}

static void begin_reign(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];

    h->leads = true;
    h->tail.claiming = h->asked = false;
    h->pact = (struct pact){ .fault = h->pact.fault };
    pact_begin(&h->pact, &h->seen, h->disk.synced);
    h->disk.promised = h->tail.promised = h->seen.term;
    memset(h->session, 0, sizeof(h->session));
    note_acked(w, h, 1, h->disk.synced);
    for (uint64_t lsn = h->disk.synced + 1; lsn <= w->acked_last; lsn++)
        w->broken = "the new active controller lacks what was acknowledged";
    w->claims++;
}

static void take_record(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];
    bool ours = p->record.term && p->record.holder.id == h->who.id &&
                strcmp(p->record.holder.host, h->who.host) == 0;

    if (p->record.version < h->seen.version)
        return;
    h->seen = p->record;
    if (h->leads) {
        pact_learn(&h->pact, &p->record);
        if (h->pact.over)
            start_host(w, i); /* a process that stands by */
    } else if (h->asked && ours && p->record.term == h->claimed) {
        begin_reign(w, i); /* the answer to its own claim */
    } else if (h->asked) {
        h->asked = h->tail.claiming = false; /* refused, or not known: it asks again some day */
    }
}

/* ---- the stream -------------------------------------------------------------------------- */

static void say_hello(struct world *w, uint32_t i, uint32_t to)
{
    struct host *h = &w->h[i];
    struct packet p = { .kind = NET_HELLO, .from = i, .to = to, .term = h->pact.term };

    p.session = h->session[to] = ++w->sessions;
    h->next[to] = 0;
    h->peer[to] = -1;
    p.history = history_of(&h->disk, h->disk.last);
    (void)pact_history_add(&p.history, h->pact.term, h->disk.last + 1);
    send_packet(w, &p);
}

static void take_hello(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];
    struct pact_history ours = history_of(&h->disk, h->disk.synced);
    struct packet reply = { .kind = NET_MATCH, .from = i, .to = p->from, .session = p->session };
    uint64_t lsn = 0;
    int r = pact_tail_hello(&h->tail, p->term, &p->history, &ours, &lsn);

    if (r == -ESTALE)
        return;
    assert_true(r == 0 || r == -ENODATA || w->broken || h->pact.fault);
    h->disk.promised = h->tail.promised;
    h->taken[p->from] = p->session;
    if (r == 0 && lsn < h->disk.synced)
        w->cuts++;
    if (r == 0)
        h->disk.synced = h->disk.last = lsn;
    reply.who = h->who;
    reply.lsn = lsn;
    reply.n = r == 0;
    send_packet(w, &reply);
}

static void take_match(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];
    int peer;

    if (!h->leads || p->session != h->session[p->from])
        return;
    if (!p->n) { /* it needs a copy: everything that is acknowledged, as another member */
        struct packet copy = { .kind = NET_COPY, .from = i, .to = p->from, .session = p->session };

        copy.lsn = h->pact.committed;
        copy.term = h->pact.term;
        send_packet(w, &copy);
        return;
    }
    peer = pact_matched(&h->pact, &p->who, p->lsn, w->now_us);
    if (peer < 0)
        return;
    h->peer[p->from] = peer;
    h->next[p->from] = p->lsn + 1;
}

/* The snapshot is on its way as a whole; what it has cannot change any more. */
static void take_copy(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];
    const struct host *from = &w->h[p->from];
    struct packet reply = { .kind = NET_MATCH, .from = i, .to = p->from, .session = p->session };

    if (h->taken[p->from] != p->session || !from->leads || from->pact.term != p->term ||
        from->session[i] != p->session || pact_tail_copied(&h->tail, p->term, p->lsn) < 0)
        return; /* the sender is gone, or it has one already */
    w->copies++;
    memcpy(h->disk.log, from->disk.log, sizeof(h->disk.log));
    h->disk.last = h->disk.synced = p->lsn;
    h->disk.kept = p->lsn + 1; /* a snapshot does not tell the terms of what is in it */
    h->who.id = h->disk.id = ++w->ids;
    reply.who = h->who;
    reply.lsn = p->lsn;
    reply.n = 1;
    send_packet(w, &reply);
}

static void send_records(struct world *w, uint32_t i, uint32_t to)
{
    struct host *h = &w->h[i];
    struct packet p = { .kind = NET_APPEND, .from = i, .to = to, .term = h->pact.term };

    p.session = h->session[to];
    p.lsn = h->next[to];
    p.committed = h->pact.committed;
    while (p.n < FRAME_MAX_RECORDS && h->next[to] <= h->disk.last)
        p.records[p.n++] = h->disk.log[h->next[to]++];
    if (h->next[to] > h->pact.committed && draw(w, 2))
        pact_near(&h->pact, (uint32_t)h->peer[to]);
    send_packet(w, &p);
}

static void take_append(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];
    struct packet reply = { .kind = NET_ACK, .from = i, .to = p->from, .session = p->session };

    if (p->n && pact_tail_append(&h->tail, p->term, p->lsn, p->lsn + p->n - 1) < 0)
        return;
    if (!p->n && (h->tail.claiming || h->tail.stream != p->term))
        return;
    if (h->taken[p->from] != p->session)
        return; /* of a connection that has ended: what came before it may not be here */
    for (uint32_t k = 0; k < p->n; k++)
        h->disk.log[p->lsn + k] = p->records[k];
    if (p->n)
        h->disk.last = h->disk.synced = p->lsn + p->n - 1;
    pact_tail_synced(&h->tail, h->disk.synced);
    pact_tail_committed(&h->tail, p->committed);
    reply.lsn = h->disk.synced;
    send_packet(w, &reply);
}

static void commit_more(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];
    uint64_t before = h->pact.committed;

    note_acked(w, h, before + 1, pact_commit(&h->pact));
}

static void take_ack(struct world *w, uint32_t i, const struct packet *p)
{
    struct host *h = &w->h[i];

    if (!h->leads || p->session != h->session[p->from] || h->peer[p->from] < 0)
        return;
    pact_acked(&h->pact, (uint32_t)h->peer[p->from], p->lsn, w->now_us);
    commit_more(w, i);
}

/* ---- steps ------------------------------------------------------------------------------- */

static void serve_witness(struct world *w, const struct packet *p)
{
    struct packet reply = { .kind = NET_RECORD, .from = HOSTS, .to = p->from };
    uint32_t before = w->witness.in_sync.n;

    if (!w->witness_up)
        return;
    if (p->kind == NET_CHANGE)
        reply.id = pact_witness_apply(&w->witness, &p->change) == 0;
    if (reply.id && !p->change.claim) {
        w->adds += w->witness.in_sync.n > before;
        w->drops += w->witness.in_sync.n < before;
    }
    reply.record = w->witness;
    send_packet(w, &reply);
}

static void deliver_packet(struct world *w)
{
    uint32_t at = draw(w, w->n_net); /* any: they overtake one another */
    struct packet p = w->net[at];

    if (draw(w, 10)) /* else it comes again */
        w->net[at] = w->net[--w->n_net];
    if (p.to == HOSTS) {
        serve_witness(w, &p);
        return;
    }
    if (!w->h[p.to].up ||
        (w->h[p.to].leads && (p.kind == NET_HELLO || p.kind == NET_APPEND || p.kind == NET_COPY)))
        return;
    switch (p.kind) {
    case NET_RECORD:
        take_record(w, p.to, &p);
        break;
    case NET_HELLO:
        take_hello(w, p.to, &p);
        break;
    case NET_MATCH:
        take_match(w, p.to, &p);
        break;
    case NET_APPEND:
        take_append(w, p.to, &p);
        break;
    case NET_ACK:
        take_ack(w, p.to, &p);
        break;
    case NET_COPY:
        take_copy(w, p.to, &p);
        break;
    case NET_CHANGE:
    case NET_READ:
        break;
    }
}

static void act_leading(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];
    uint32_t to = (i + 1 + draw(w, HOSTS - 1)) % HOSTS;
    struct pact_change c;

    switch (draw(w, 8)) {
    case 0:
    case 1:
        if (h->disk.last < LOG_MAX)
            h->disk.log[++h->disk.last] = (struct entry){ h->pact.term, ++w->values };
        break;
    case 2:
        h->disk.synced = h->disk.last;
        pact_synced(&h->pact, h->disk.synced);
        commit_more(w, i);
        break;
    case 3:
        if (pact_want(&h->pact, w->now_us, PATIENCE_US, &c))
            ask_witness(w, i, &c);
        break;
    case 4:
        if (!h->session[to] || draw(w, 20) == 0) {
            if (h->session[to] && h->peer[to] >= 0)
                pact_lost(&h->pact, (uint32_t)h->peer[to]);
            say_hello(w, i, to);
        }
        break;
    case 5:
        if (draw(w, 40) == 0) /* a snapshot lets the log before it go */
            h->disk.kept = MAX(h->disk.kept, h->pact.committed);
        break;
    default:
        if (h->session[to] && h->next[to])
            send_records(w, i, to);
        break;
    }
}

static void act_host(struct world *w, uint32_t i)
{
    struct host *h = &w->h[i];

    if (!h->up) {
        if (draw(w, 6) == 0)
            start_host(w, i);
    } else if (draw(w, 150) == 0) {
        crash_host(w, i);
    } else if (draw(w, 4) == 0) {
        ask_witness(w, i, NULL);
    } else if (h->leads) {
        act_leading(w, i);
    } else if (!h->asked && draw(w, 30) == 0) {
        try_claim(w, i); /* no lease is asked: safety must not need one */
    } else if (h->asked && draw(w, 30) == 0) {
        h->asked = h->tail.claiming = false; /* no answer: it goes on as a standby */
    }
}

static void step_world(struct world *w)
{
    w->now_us++;
    if (draw(w, 300) == 0)
        w->witness_up = !w->witness_up;
    if (!w->witness_up && draw(w, 60) == 0)
        w->witness_up = true;
    if (w->n_net && draw(w, 2))
        deliver_packet(w);
    else
        act_host(w, draw(w, HOSTS));
    check_world(w);
}

static void begin_world(struct world *w, uint64_t seed, int fault)
{
    memset(w, 0, sizeof(*w));
    w->seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w->witness_up = true;
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct host *h = &w->h[i];

        (void)snprintf(h->who.host, sizeof(h->who.host), "ctl%u", i);
        h->disk = (struct disk){ .kept = 1, .id = ++w->ids };
        h->pact.fault = fault;
        start_host(w, i);
    }
    w->witness = (struct pact_record){ .version = 1, .in_sync = { .n = 1 } };
    w->witness.in_sync.v[0] = (struct pact_member){ .host = "ctl0" };
}

static const char *play_worlds(struct world *total, unsigned worlds, unsigned steps, int fault)
{
    struct world *w = calloc(1, sizeof(*w));
    const char *broken = NULL;

    assert_non_null(w);
    memset(total, 0, sizeof(*total));
    for (unsigned seed = 1; seed <= worlds && !broken; seed++) {
        begin_world(w, seed, fault);
        for (unsigned i = 0; i < steps && !w->broken; i++)
            step_world(w);
        broken = w->broken;
        if (broken)
            print_message("# world %u, step %lld: %s\n", seed, (long long)w->now_us, broken);
        total->claims += w->claims;
        total->acks += w->acks;
        total->cuts += w->cuts;
        total->copies += w->copies;
        total->adds += w->adds;
        total->drops += w->drops;
        total->crashes += w->crashes;
        total->wipes += w->wipes;
    }
    free(w);
    return broken;
}

static void test_nothing_is_lost(void **state)
{
    struct world *t = calloc(1, sizeof(*t));
    const char *broken;

    assert_non_null(t);
    broken = play_worlds(t, 400, 6000, 0);
    print_message("# %u terms, %u acknowledged, %u cuts, %u copies, %u joined, %u left, "
                  "%u crashes, %u lost disks\n",
                  t->claims, t->acks, t->cuts, t->copies, t->adds, t->drops, t->crashes, t->wipes);
    assert_null(broken);
    assert_true(t->claims > 400 && t->cuts > 50 && t->copies > 20 && t->adds > 400);
    assert_true(t->drops > 50 && t->acks > 10000 && t->wipes > 20);
    free(t);
    (void)state;
}

static void test_planted_faults_are_found(void **state)
{
    struct world *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    for (int fault = 1; fault <= 4; fault++)
        assert_non_null(play_worlds(t, 4000, 6000, fault));
    free(t);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_planted_faults_are_found),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
