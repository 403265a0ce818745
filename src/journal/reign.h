/* reign.h - a term that is ours: its lease, and the thread that renews it
 *
 * A reign begins with a claim and ends with reign_end(), with the process, or when it is lost: the
 * lease ran out before it was renewed (the process slept, the disk hung), or another took the next
 * term.  A lost reign never comes back.  Any thread may ask whether it holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "journal/term.h"

struct reign;

struct reign_config {
    struct term_store store; /* of the terms' records */
    /* Of the term to claim: number, lease and who we are.  renewal and durable are ours to set. */
    struct term_record record;
    /* How far the log is on disk; on the reign's thread. */
    uint64_t (*durable)(void *ctx);
    /* The reign is lost; why is a phrase.  On its thread, once. */
    void (*lost)(void *ctx, const char *why);
    void *ctx;
};

/* Claim the term and begin to renew it.  -EEXIST: somebody else has it. */
int reign_begin(const struct reign_config *config, struct reign **ret_reign);
/* May something be acknowledged now? */
bool reign_holds(struct reign *r);
/* Of the lease, in microseconds; INT64_MAX: it does not run out. */
int64_t reign_left_us(struct reign *r);
/* End the thread and, when the reign holds, release the term: for the controller `successor`, or
 * NULL for whoever comes.  Nothing may be written to the log any more.  Always NULL. */
struct reign *reign_end(struct reign *r, const char *successor);
