/* plannednodes.h - nodes that the plan keeps for jobs that wait
 *
 * They show the flag PLANNED: an idle one as `planned`, a mixed one with a minus.  Nothing of it is
 * journaled: the next controller's scheduler plans anew.  Core thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ctld/ctld.h"

struct plannednodes;

/* The nodes that the waiting job j is to have, in place of those of the plan before; n 0: it is not
 * planned. */
void plannednodes_note(struct ctld *ctld, const struct job *j, const uint32_t *nodes, size_t n);
