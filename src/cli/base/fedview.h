/* fedview.h - --federation, --local and --sibling: the clusters of the federation seen as one
 *
 * For commands that show jobs and nodes.  The controller of slurm.conf says who is in its
 * federation; slurmdbd is not asked. */
#pragma once

#include <stdbool.h>

#include "cli/base/clusters.h"

struct fedview {
    bool federation, local, sibling; /* of the command line or the environment */
};

/* The clusters to be asked as one, this cluster first; FederationParameters=fed_display asks for
 * them where no option does.  False: this cluster alone is asked; *ret is empty. */
bool fedview_find(struct cli *c, const struct fedview *view, struct clusters *ret);
