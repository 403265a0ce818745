/* iterate.h - --iterate: a listing again and again
 *
 * Each listing is a process of its own: what ends it (a controller that restarts, a node that is
 * away) is told there, and the next listing is tried all the same. */
#pragma once

#include <stdint.h>

#define ITERATE_AGAIN 75 /* exit status of a listing that failed and may work the next time */

/* Returns in a child once for every listing, which the caller makes and exits.  The next one begins
 * `seconds` after its end, below an empty line; never returns in the parent, which ends with a
 * listing that exits with neither 0 nor ITERATE_AGAIN, with its status, or of the signal that ended
 * it.  seconds 0: returns at once.  For a process without threads. */
void iterate_begin(uint32_t seconds);
