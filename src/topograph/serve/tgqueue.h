/* tgqueue.h - requests that wait, the one that runs, and what came of the last hundred
 *
 * A request that comes again before its run has begun takes the place of the first and starts the
 * delay anew, so that a burst becomes one run.  Pure: times are told by the caller; one thread at a
 * time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topograph/run/tgrequest.h"

#define TGQUEUE_RESULTS_MAX 100u
#define TGQUEUE_WAITING_MAX 100u
#define TGQUEUE_WAITING_BYTES (64u << 20)
#define TGQUEUE_RESULT_BYTES (256u << 20)

enum tgqueue_state { TGQUEUE_UNKNOWN, TGQUEUE_WAITS, TGQUEUE_DONE };

struct tgqueue;

int tgqueue_new(int64_t delay_us, struct tgqueue **ret_queue);
struct tgqueue *tgqueue_free(struct tgqueue *q); /* always NULL */
DEFINE_CLEANUP(struct tgqueue *, tgqueue_free)

/* text is taken on success.  Errors: -EBUSY too many wait, -ENOMEM. */
int tgqueue_put(struct tgqueue *q, const char *id, char *text, size_t len, int64_t now_us);
/* The request that is due, which now runs; the caller frees *ret_text.  1: there is one, 0: none
 * is; *ret_due_us then says when one will be, INT64_MAX = not as far as is known. */
int tgqueue_take(struct tgqueue *q, int64_t now_us, char id[TGREQUEST_ID_SIZE], char **ret_text,
                 size_t *ret_len, int64_t *ret_due_us);
/* What came of the running one; body is taken, in any case.  The oldest results go. */
void tgqueue_finish(struct tgqueue *q, unsigned status, char *body, size_t len);
/* status and body (borrowed until the next call) of what is done. */
enum tgqueue_state tgqueue_find(const struct tgqueue *q, const char *id, unsigned *ret_status,
                                const char **ret_body, size_t *ret_len);
