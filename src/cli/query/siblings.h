/* siblings.h - take a job of a federation away from one of its clusters: scancel --sibling
 *
 * For commands. */
#pragma once

#include "cli/base/cli.h"

/* The clusters of a list ("aa,bb") but one, names without regard to case; NULL: it is not among
 * them.  The caller frees. */
char *siblings_without(const char *list, const char *cluster);

/* The waiting job is not to run in that cluster; its other clusters keep it.  Asks through client,
 * and the cluster that decides about the job.  0, or a number for slurm_err_text(); a sentence that
 * says more stands in err. */
int siblings_leave(struct cli *c, struct client *client, uint32_t job_id, const char *cluster,
                   struct err *err);
