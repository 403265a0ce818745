/* fedview.h - --federation, --local and --sibling: the clusters of the federation seen as one
 *
 * For commands that show jobs and nodes.  The controller of slurm.conf says who is in its
 * federation; slurmdbd is not asked. */
#pragma once

#include <stdbool.h>

#include "cli/base/cli.h"
#include "cli/base/clusters.h"

struct fedview {
    bool federation, local, sibling; /* of the command line or the environment */
};

#define FEDVIEW_FEDERATION                                                                         \
    OPT("federation", 0, OPT_NONE, OPT_FLAG(view.federation), "@FEDERATION", NULL, NULL,           \
        "all clusters of the federation")
#define FEDVIEW_LOCAL                                                                              \
    OPT("local", 0, OPT_NONE, OPT_FLAG(view.local), "@LOCAL", NULL, NULL,                          \
        "this cluster alone, also where FederationParameters=fed_display")

/* The clusters to be asked as one, this cluster first; FederationParameters=fed_display asks for
 * them where no option does.  False: this cluster alone is asked; *ret is empty. */
bool fedview_find(struct cli *c, const struct fedview *view, struct clusters *ret);

/* Connect to the i-th of them, once.  False: it cannot be asked, which was told by its name. */
bool fedview_connect(struct cli *c, const struct clusters *cl, size_t i,
                     struct client **ret_client);

/* For commands that ask slurmdbd: the names of these clusters are added to the list, or nothing
 * where this cluster alone is meant. */
void fedview_add_names(struct cli *c, const struct fedview *view, char ***list, size_t *n);
