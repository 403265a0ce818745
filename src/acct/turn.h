/* turn.h - of two slurmdbd one alone works on a store; whose turn it is
 *
 * The database knows, by two locks that end with the connection which has them: `here`, which
 * the first daemon has as long as it lives, and `work`, which the daemon that works has.  The
 * second works only while the first is not here.  On a server a connection that is silent for
 * TURN_SILENCE_S is ended by it, with its locks, so that a host without power does not keep
 * them; with SQLite the locks are of a file beside the database, and end with the process.  One
 * thread. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"

#define TURN_SILENCE_S 15

struct turn;

int turn_new(const char *location, bool first, struct turn **ret); /* -ENOMEM */
struct turn *turn_free(struct turn *t); /* lets go of both locks; always NULL */
DEFINE_CLEANUP(struct turn *, turn_free)

/* Ask the database, every second or so.  1: our turn, go on working or begin to. 0: another's: stop
 * working and call turn_yield(). Negative: it cannot be asked (errors of sql_open()); the locks we
 * had may be gone. */
int turn_ask(struct turn *t, struct err *err);
/* Nothing of us works any more: another may. */
void turn_yield(struct turn *t);
