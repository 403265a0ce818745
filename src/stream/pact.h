/* pact.h - the rules by which controllers with logs of their own agree on one log.  Pure
 *
 * One controller is active in a term; it sends its log to the others.  The witness keeps one
 * record: the term, its holder, and the set `in_sync` of controllers that have every acknowledged
 * record.  The rules, which need no clock:
 *
 * 1. A batch is acknowledged when its writer and every controller of the writer's set have it on
 *    the disk.  The writer's set is never smaller than the witness's set of the same term.
 * 2. Who takes a term must be in the witness's set, which is then that controller alone.
 * 3. The witness's record changes only from the version that the sender has seen.
 *
 * No I/O, no clock, no locks, no memory: the caller brings the time, and calls one at a time for
 * each object.  Design: docs/design/0060-stream.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACT_HOST_BYTES 64u
#define PACT_SET_MAX 8u
#define PACT_PEERS_MAX 16u
#define PACT_HISTORY_MAX 128u

/* A controller together with its log: a disk that was replaced, or a log that was repaired, is
 * another member.  id 0: any log of that host, in a record that an administrator began. */
struct pact_member {
    char host[PACT_HOST_BYTES];
    uint64_t id;
};

struct pact_set {
    uint32_t n;
    struct pact_member v[PACT_SET_MAX];
};

bool pact_set_has(const struct pact_set *set, const struct pact_member *m);

/* ---- the witness ----------------------------------------------------------------------------- */

struct pact_record {
    uint64_t version; /* from 1 */
    uint32_t term;    /* 0: nobody has led yet */
    struct pact_member holder;
    struct pact_set in_sync;
};

/* What a controller asks of the witness: to be the holder of `term` (claim), or, as its holder, for
 * another set. */
struct pact_change {
    bool claim;
    uint64_t version; /* that the sender has seen */
    uint32_t term;
    struct pact_member by;
    struct pact_set in_sync; /* without claim */
};

/* Carry it out, or change nothing: -ESTALE the record is another one by now, -EPERM the sender is
 * not in the set or does not hold the term, -EINVAL. */
int pact_witness_apply(struct pact_record *record, const struct pact_change *change);

/* ---- which records two logs have in common --------------------------------------------------- */

/* The terms of a log's records: record `first` and those behind it, up to the next run, are of
 * `term`.  Ascending in both. */
struct pact_run {
    uint32_t term;
    uint64_t first;
};

struct pact_history {
    uint32_t n;
    struct pact_run v[PACT_HISTORY_MAX];
};

/* Add a run behind the others; the oldest is forgotten when there are too many.  A run that had no
 * record is replaced.  -EINVAL: it goes back. */
int pact_history_add(struct pact_history *h, uint32_t term, uint64_t first);
/* The term of record lsn, 0 where that is not known. */
uint32_t pact_history_term(const struct pact_history *h, uint64_t lsn);
/* The newest record that the log `ours`, which ends with `last`, has in common with that of the
 * active controller, whose newest run is open.  False: none is known. */
bool pact_history_match(const struct pact_history *active, const struct pact_history *ours,
                        uint64_t last, uint64_t *ret_lsn);

/* ---- the active controller ------------------------------------------------------------------- */

struct pact_peer {
    struct pact_member who;
    bool matched;     /* it follows at present, from what it has in common with us */
    bool joining;     /* batches wait for it already, so that it gets into the set */
    bool in_sync;     /* as the witness said last */
    bool maybe;       /* a change that puts it into the set was sent, and may yet come true */
    uint64_t acked;   /* it has our log up to here on its disk */
    int64_t heard_us; /* when it last did what was asked of it */
};

struct pact {
    uint64_t version;
    uint32_t term;
    struct pact_member self;
    uint32_t n;
    struct pact_peer v[PACT_PEERS_MAX];
    uint64_t synced;    /* the log is on our disk up to here */
    uint64_t committed; /* and on those of all of the set */
    bool over;          /* another has a later term: nothing may be acknowledged */
    /* A test plants a fault: 1 batches wait for nobody, and the end of the term is not seen, 2 a
     * member is added before it has all, 3 a change whose answer was lost is forgotten, 4 who is to
     * leave is not waited for any more. */
    int fault;
};

/* A term has begun with this record, in which self alone is in the set; the log ends with last. */
void pact_begin(struct pact *p, const struct pact_record *record, uint64_t last);
/* A standby follows from record acked on, which it has in common with us.  Its place, or
 * -ENOSPC. */
int pact_matched(struct pact *p, const struct pact_member *who, uint64_t acked, int64_t now_us);
void pact_lost(struct pact *p, uint32_t peer); /* it does not follow at present */
void pact_acked(struct pact *p, uint32_t peer, uint64_t lsn, int64_t now_us);
/* It has taken a part of what it has yet to have on its disk. */
void pact_heard(struct pact *p, uint32_t peer, int64_t now_us);
void pact_synced(struct pact *p, uint64_t lsn);
/* It gets the newest batches: it may be waited for from now on, to get into the set. */
void pact_near(struct pact *p, uint32_t peer);
/* Must batches wait for it? */
bool pact_requires(const struct pact *p, uint32_t peer);
/* Move `committed` as far as it goes, and give it. */
uint64_t pact_commit(struct pact *p);
/* Does the active one want another set?  Then the change to send, which is noted as sent.  Who has
 * not done what was asked for patience_us is to leave. */
bool pact_want(struct pact *p, int64_t now_us, int64_t patience_us, struct pact_change *ret);
/* What the witness has, read after a change was sent or at any other time. */
void pact_learn(struct pact *p, const struct pact_record *record);

/* ---- a standby ------------------------------------------------------------------------------- */

struct pact_tail {
    uint32_t promised;  /* no stream of an earlier term is taken; kept on the disk */
    bool claiming;      /* a claim of ours is under way: no stream is taken at all */
    uint64_t last;      /* the log on our disk */
    uint64_t committed; /* known to be acknowledged, or in a snapshot */
    uint32_t stream;    /* the term whose stream is taken; 0: none */
    bool wanting;       /* a snapshot of the active controller's takes the place of our log */
};

/* A controller of that term wants to send.  0: from *ret_lsn + 1 on, and what is behind *ret_lsn in
 * our log is to be cut.  Before it is answered `promised`, which has changed, is to be on the disk,
 * as is the cut.  Errors: -ESTALE its term is over, -ENODATA the logs have nothing in common, a
 * snapshot is needed, -EUCLEAN it lacks what was acknowledged. */
int pact_tail_hello(struct pact_tail *t, uint32_t term, const struct pact_history *active,
                    const struct pact_history *ours, uint64_t *ret_lsn);
/* The log was replaced by a snapshot of record lsn, under another id.  -ESTALE: none was asked for,
 * or by another. */
int pact_tail_copied(struct pact_tail *t, uint32_t term, uint64_t lsn);
/* Records first .. last of its stream.  Negative as above, and -EBADMSG they are not the next. */
int pact_tail_append(const struct pact_tail *t, uint32_t term, uint64_t first, uint64_t last);
/* They are on the disk. */
void pact_tail_synced(struct pact_tail *t, uint64_t last);
/* The active one tells what is acknowledged. */
void pact_tail_committed(struct pact_tail *t, uint64_t lsn);
