/* keyindex.h - which idempotency keys are remembered, whose, and which of them is the oldest
 *
 * Numbers only: what a key stands for is the cluster's record of that number.  A key is found in
 * O(1), and so is the oldest of a user and of all.  Pure data, one thread at a time; running out
 * of memory ends the process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

struct keyindex;

/* At most per_user keys of a user and total of all; errors: -ENOMEM. */
int keyindex_new(uint32_t per_user, uint32_t total, struct keyindex **ret);
struct keyindex *keyindex_free(struct keyindex *x); /* always NULL */

struct keyindex_entry {
    struct digest key;
    uint32_t number, uid;
    int64_t time_us;
};

/* Numbers may come in any order; one that is there already is replaced. */
void keyindex_put(struct keyindex *x, const struct keyindex_entry *e);
void keyindex_remove(struct keyindex *x, uint32_t number); /* unknown ones do not matter */
/* All borrowed until the next change; NULL: none. */
const struct keyindex_entry *keyindex_find(const struct keyindex *x, const struct digest *key);
const struct keyindex_entry *keyindex_oldest(struct keyindex *x);
/* The one that goes so that another of this user has room. */
const struct keyindex_entry *keyindex_in_the_way(struct keyindex *x, uint32_t uid);
uint32_t keyindex_next(struct keyindex *x); /* the number for another; never 0 */
size_t keyindex_count(const struct keyindex *x);
