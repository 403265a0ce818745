/* streamlog.h - the active controller's log, sent to those that stand by: a struct journal_remote
 *
 * A thread for each other controller sends, one asks the witness for another set.  A batch is
 * settled when our disk and those of all of the set have it (pact.h). */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "journal/journal.h"
#include "journal/term.h"
#include "stream/pact.h"
#include "stream/streamconf.h"
#include "stream/streamlink.h"
#include "stream/tailaside.h"

#define STREAM_IDENTITY_BYTES 32u
#define STREAMLOG_WHY_BYTES 128u

struct streamlog;

struct streamlog_config {
    const char *dir;               /* StateSaveLocation */
    const struct streamlink *link; /* borrowed, as the next two */
    const struct stream_config *stream;
    atomic_uint *newest; /* the newest term that was heard of: raised here too */
    uint32_t lease_ms;
    struct pact_record record;               /* of our term */
    uint8_t identity[STREAM_IDENTITY_BYTES]; /* public key that all controllers have; zeros: none */
};

/* -ENOMEM; err has the sentence. */
int streamlog_new(const struct streamlog_config *config, struct streamlog **ret, struct err *err);
/* Another controller, before the start: its SlurmctldHost line. */
int streamlog_add(struct streamlog *l, const char *host, const char *addr);
/* The log of our term is open, and ends with `last`: begin to send. */
int streamlog_start(struct streamlog *l, uint64_t last, struct err *err);
struct streamlog *streamlog_free(struct streamlog *l);                    /* always NULL */
const struct journal_remote *streamlog_remote(const struct streamlog *l); /* lives as long as l */

/* Any thread: */

/* What the witness said. */
void streamlog_learn(struct streamlog *l, const struct pact_record *record);
/* Did all of the set answer, within wait_us, something that was asked after since_us
 * (term_clock_us())?  Then none of them had taken another term by then.  Also when nobody else is
 * in the set. */
bool streamlog_confirm(struct streamlog *l, int64_t since_us, int64_t wait_us);
/* Is this controller in the set, as the witness said last? */
bool streamlog_in_sync(struct streamlog *l, const char *host);

struct streamlog_peer {
    char host[PACT_HOST_BYTES];
    bool in_sync, follows;
    uint64_t lag_bytes, lag_us;
    struct aside aside;            /* as it told last */
    char why[STREAMLOG_WHY_BYTES]; /* it does not follow */
};
struct streamlog_stats {
    uint64_t witness_errors;
    bool witness_answers;
    struct aside aside; /* on our disk */
    size_t n;
    struct streamlog_peer peers[PACT_SET_MAX];
};
void streamlog_get_stats(struct streamlog *l, struct streamlog_stats *ret);
