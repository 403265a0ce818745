/* resvkeys.h - KEY=VALUE words of scontrol create, update and delete reservation
 *
 * A table of keys; the result is the request the controller gets.  Pure: the clock is an
 * argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "resv.pb-c.h"

/* Strings in the request are owned; free with resvkeys_done(). */
struct resvkeys {
    Pst__ResvRequest req;
    Pst__ReservationRecord set;
    const char *bad_time; /* of the word refused last: it is no time */
    bool nodes_given;     /* Nodes=, not empty */
    bool creating;        /* the caller's: a new one has no nodes to edit */
    bool any;             /* something to change */
};
void resvkeys_init(struct resvkeys *k);
void resvkeys_done(struct resvkeys *k);

/* Take one word: KEY=VALUE, KEY+=VALUE, KEY-=VALUE, or Skip.  Keys in any case, shortened as far
 * as they stay clear.  Errors: -ENOENT no such key, -EINVAL a bad value, -EEXIST a list given
 * twice; err has the sentence. */
int resvkeys_take(struct resvkeys *k, const char *word, int64_t now_us, struct err *err);

/* What a new reservation must have and must not: 0, or -EINVAL with the sentence. */
int resvkeys_check_create(struct resvkeys *k, struct err *err);

/* Rows, for --help-interface: the i-th key, NULL past the end. */
const char *resvkeys_name(size_t i);
