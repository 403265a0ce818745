/* logstrip.h - what this release knows of a newer one's transaction, and what is lost by that */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event.pb-c.h"

#define LOSSES_MAX 256u /* kinds that are told one by one */

/* A field that is dropped; of an Event: a kind of event. */
struct loss {
    const char *message; /* of a descriptor */
    uint32_t field;
    uint64_t times, first_lsn;
};

/* Zero-initialised: nothing is lost yet. */
struct losses {
    struct loss items[LOSSES_MAX];
    size_t n;
    uint64_t untold; /* beyond these */
    uint64_t lsn;    /* of the transaction that is being stripped */
};

/* Drop what is unknown from tx, also events of kinds that are; losses may be NULL.  Gives how many
 * fields there were: 0 leaves tx as it is. */
size_t logstrip(Pst__Transaction *tx, uint64_t lsn, struct losses *losses);
/* A line for each kind. */
void losses_print(FILE *out, const struct losses *losses);
