/* haturns.h - decides whether this controller takes over, waits, or asks for control.  Pure
 *
 * The decision follows from the record of the newest term, from how its lease was renewed as seen
 * from this host, and from the place of this controller in the list of controllers.  The rules and
 * their order: docs/design/0017-standby.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "journal/term.h"

enum turn {
    TURN_WAIT, /* another controller is active, or may come back */
    TURN_OURS, /* this controller claims the next term */
    TURN_ASK,  /* a controller behind us in the list is active: ask it for control */
};

struct turn_view {
    bool unknown;   /* the records cannot be reached, so nobody can say which controller leads */
    bool barred;    /* our log may lack acknowledged records: we must not lead */
    bool any;       /* there is a record */
    bool readable;  /* the record can be read; else only the number of its term is known */
    bool lock_free; /* no process of this host holds the journal's lock */
    struct term_record record;
    struct lease_watch watch; /* of the record */
    /* ourselves */
    const char *host;  /* the name of our SlurmctldHost line */
    uint32_t index;    /* the place of that line, from 0 */
    uint32_t lease_ms; /* our own setting, used for a record that cannot be read */
    bool claims; /* an administrator started us, and no other deposed us since: then we may ask
                          a controller behind us in the list for control */
};

/* How long the lease of the record still lasts.  A controller further behind in the list counts a
 * longer time, so that those before it come first.  0 or less: the lease has run out. */
int64_t turn_left_us(const struct turn_view *v, int64_t now_us);
enum turn turn_decide(const struct turn_view *v, int64_t now_us);
