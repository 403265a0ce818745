/* payers.h - memory that users' jobs take beyond what any job takes
 *
 * Equal scripts and environments are kept once.  The user of the first job that named one pays for
 * it, until no job names it.  What is smaller than PAYERS_FREE costs nothing: each job may have so
 * much, and the number of jobs has a limit of its own (MaxJobCount). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/cluster.h"

#define PAYERS_FREE 16384u /* bytes of a record, a script or an environment */

size_t payers_bytes(const struct cluster *c, uint32_t uid);
/* What costs so many bytes is there, or gone. */
void payers_add(struct cluster *c, uint32_t uid, size_t bytes);
void payers_sub(struct cluster *c, uint32_t uid, size_t bytes);
/* By the size of a thing. */
static inline size_t payers_cost(size_t bytes)
{
    return bytes > PAYERS_FREE ? bytes : 0;
}
