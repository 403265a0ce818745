/* streamtail.h - a standby's log: taken from the active controller, on a disk of its own
 *
 * The folder is an ordinary journal that other parts read.  One thread of its own writes; requests
 * come to it by streamtail_take() from any thread, and are answered when what they brought is on
 * the disk.  What must hold is in pact.h (struct pact_tail). */
#pragma once

#include "api.pb-c.h"

#include "base/err.h"
#include "stream/pact.h"

struct streamtail;

/* How an answer goes away; on the tail's thread.  conn is what streamtail_take() was given. */
typedef void streamtail_answer_fn(void *conn, uint32_t id, const Pst__StreamReply *reply);

struct streamtail_config {
    const char *dir;  /* StateSaveLocation */
    const char *host; /* our SlurmctldHost line */
    streamtail_answer_fn *answer;
    /* The public key that all controllers have, 32 bytes: who has another one is not followed.
     * NULL: none. */
    const uint8_t *identity;
};

/* Open <dir>/journal, making it first, lock it, read the log, and start the thread.  A log that is
 * damaged is put aside: it counts as another, empty one.  -EBUSY: another process has it; -ENOTSUP:
 * a newer release wrote it. */
int streamtail_open(const struct streamtail_config *config, struct streamtail **ret,
                    struct err *err);
/* Ends the thread and gives the lock back; requests that wait are answered.  Always NULL. */
struct streamtail *streamtail_close(struct streamtail *t);

/* Take a request, which is ours from now on.  False: too many wait; nothing was taken. */
bool streamtail_take(struct streamtail *t, void *conn, uint32_t id, Pst__StreamRequest *req);

/* A claim of ours is about to be sent: no stream is taken from now on.  What was taken is on the
 * disk when this returns. */
void streamtail_claim(struct streamtail *t);
void streamtail_unclaim(struct streamtail *t); /* it was refused */

struct streamtail_view {
    struct pact_member who;
    uint32_t term;   /* whose stream is taken; 0: none */
    uint32_t newest; /* the highest term that the log knows of, or has promised to */
    uint64_t last, committed;
    int64_t heard_us; /* term_clock_us() of the last request of that term; 0: none */
    bool made_anew;   /* a copy took the place of the log since this was asked before */
};
void streamtail_look(struct streamtail *t, struct streamtail_view *ret);
