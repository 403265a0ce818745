/* tally.h - counts by user, association, and user in a partition */
#pragma once

#include <stdint.h>

enum tally_kind { TALLY_USER, TALLY_ASSOC, TALLY_USER_PART, TALLY_ARRAY };

struct tally_slot {
    uint64_t key;
    uint32_t count; /* 0 = empty */
};
struct tally {
    struct tally_slot *slots;
    uint32_t nslots, n;
};

void tally_done(struct tally *t);
void tally_reset(struct tally *t);
/* Count one more; *ret is how many now.  b < 2^30 (a partition; 0 where none is meant).
 * -ENOMEM. */
int tally_count(struct tally *t, enum tally_kind kind, uint32_t a, uint32_t b, uint32_t *ret);
