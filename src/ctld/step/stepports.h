/* stepports.h - ports that are kept for the MPI library of a step: srun --resv-ports
 *
 * They are those of MpiParams=ports=A-B that no running step has which shares a node.  What is
 * kept is in the records of running steps and nowhere else.  Pure. */
#pragma once

#include "api.pb-c.h"
#include "model/cluster.h"

#define STEPPORTS_AUTO UINT32_MAX /* as many as the step has tasks on a node at most */

/* "12000-12999" into *ret_lo and *ret_hi.  -EINVAL. */
int stepports_range(const char *text, size_t len, uint32_t *ret_lo, uint32_t *ret_hi);
/* The lowest `count` ports of lo..hi that are free on all nodes of alloc, as text the caller
 * frees; NULL for none. Gives 0, ESLURM_NODES_BUSY (once steps end there are enough) or
 * ESLURM_PORTS_INVALID (there never are). */
int stepports_pick(const struct cluster *c, uint32_t lo, uint32_t hi, const Pst__Alloc *alloc,
                   uint32_t count, char **ret_text);
