/* bridgedrain.h - nodes that are drained in Slurm, and what is said of them
 *
 * They are a JSON object: the name in Slurm to {"reason", "partitions"}.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* What slurmrestd says of a node now: have NULL: slurmctld has no such node, which says nothing.
 * In drains it is changed.  True: it is drained, or is not any more, or for another reason; out: a
 * sentence of that, "" where nothing is to be said. */
bool bridgedrain_note(json_t *drains, const char *name, const json_t *have, struct strbuf *out);
/* Forget the nodes that are not members of seen.  True: there were some. */
bool bridgedrain_keep(json_t *drains, const json_t *seen);
/* Of a job that waits: the nodes that it could have if they were not drained, "; drained in Slurm:
 * a (disk), b (fan) and 3 more", or nothing.  excluded: the nodes that it must not have, as
 * slurmrestd writes them; partitions: of the job, with commas; "": not known. */
void bridgedrain_write(const json_t *drains, const char *excluded, const char *partitions,
                       struct strbuf *out);
