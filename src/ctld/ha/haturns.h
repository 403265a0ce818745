/* haturns.h - whose turn is it to be the active controller?  Pure
 *
 * Decided from the record of the newest term, from what its lease looked like from here, and from
 * who we are.  Rules, in their order: docs/design/0017-standby.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "journal/term.h"

enum turn {
    TURN_WAIT, /* another is active, or may come back */
    TURN_OURS, /* claim the next term */
    TURN_ASK,  /* another is active, and we are before it: ask for control */
};

struct turn_view {
    bool unknown;   /* nobody can say who leads: the records cannot be reached */
    bool barred;    /* this controller's log may lack what was acknowledged: never its turn */
    bool any;       /* there is a record */
    bool readable;  /* and it can be read; else only its term is known */
    bool lock_free; /* no process of this host holds the journal's lock */
    struct term_record record;
    struct lease_watch watch; /* of the record */
    /* ourselves */
    const char *host;  /* the name of our SlurmctldHost line */
    uint32_t index;    /* its place, from 0 */
    uint32_t lease_ms; /* ours, for a record that cannot be read */
    bool claims;       /* started by somebody, not deposed: the first in the list leads */
};

/* How long the lease of that record lasts for us, who wait for those before us: 0 or less, it has
 * run out. */
int64_t turn_left_us(const struct turn_view *v, int64_t now_us);
enum turn turn_decide(const struct turn_view *v, int64_t now_us);
