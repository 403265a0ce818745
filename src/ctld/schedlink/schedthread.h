/* schedthread.h - the scheduler's thread: tells the scheduler of changes, lets it plan, and posts
 * its proposals to the core */
#pragma once

#include "base/histogram.h"
#include "ctld/schedlink/schedfeed.h"
#include "sched/explain/sched_explain.h"

struct schedthread;

#define PASS_NOTES_MAX 8192u

/* What a replay needs to run a pass again.  It is written to the journal with a start. */
struct pass_note {
    uint64_t number, seen_lsn;
    int64_t now_us;
    uint32_t pieces;   /* of PASS_PIECE jobs of a backfill; 0 = a quick pass */
    struct pass_told { /* was told since the last pass; us 0: was not told */
        int64_t us;
        uint64_t lsn;
    } usage, shares;
    uint64_t refused; /* proposals, since the start */
};

/* Forget the first `first` of n notes; gives how many are left. */
size_t pass_notes_forget(struct pass_note *notes, size_t n, size_t first);

/* The result of a pass, or the answer to a question.  The service that has the hook on_decisions
 * gets it, and frees it with decisions_msg_free(). */
struct decisions_msg {
    struct ctld *ctld;
    struct sched_decisions d;
    struct pass_note *notes; /* of this pass and those before it that proposed nothing; owned */
    size_t nnotes;
    uint64_t elapsed_us;
    uint64_t seen_batch; /* the last batch of changes that the pass knew */
    bool when;           /* answer to FEED_WHEN: one decision */
    bool explain;        /* answer to FEED_EXPLAIN: see `explained` */
    bool planned;        /* answer to FEED_WHEN: `explained` says what keeps the job waiting */
    struct sched_explanation explained;
    int when_result;
    uint64_t ticket;
};
void decisions_msg_free(struct decisions_msg *m);

int schedthread_start(struct ctld *ctld, struct schedthread **ret);
/* Figures for sdiag, since start or reset; any thread. */
struct sched_stats {
    uint64_t cycles, cycle_total_us, cycle_last_us, cycle_max_us, depth_total;
    uint64_t bf_cycles, bf_total_us, bf_last_us, bf_max_us, bf_depth_total, bf_queue_total;
    uint64_t bf_started, bf_started_ever; /* the latter since the start alone */
    uint64_t bf_het_ever;                 /* components of heterogeneous jobs, likewise */
    bool bf_active;                       /* a plan is being made now */
    uint64_t exits[SCHED_EXITS], bf_exits[SCHED_EXITS];
    uint32_t bf_depth, queue_len, bf_queue_len;
    uint32_t spares; /* idle nodes that are kept for expedited jobs */
    int64_t bf_when_us;
    /* Of a block topology; no samples: there is none, or nothing was looked at since the reset.  A
     * sample is taken once a second at most, behind a pass. */
    struct sched_blocks blocks;
    uint64_t block_samples, block_score_total, block_score_max;
};
/* How long each pass took: of the main scheduler, of the plan (backfill).  Borrowed, any
 * thread. */
const struct histogram *schedthread_histogram(const struct schedthread *t, bool plan);
void schedthread_stats(struct schedthread *t, struct sched_stats *ret, bool reset);
void feed_free(struct feed *f); /* also frees the question in f */
/* Hand over a list of changes, which is taken.  Any thread, until schedthread_free().  After
 * schedthread_stop() the list is dropped, because threads that serve connections end later than the
 * scheduler's thread. */
void schedthread_feed(struct schedthread *t, struct feed *list, struct feed *last);
/* Wait until at most `lists` of the lists handed over are still to be applied.  For a caller that
 * hands over much at once, while passes are held; without that the call would wait for a pass,
 * too. */
void schedthread_catch_up(struct schedthread *t, unsigned lists);
void schedthread_stop(struct schedthread *t);
struct schedthread *schedthread_free(struct schedthread *t);
