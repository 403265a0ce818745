/* imexwords.c - see imexwords.h */
#include "model/words/imexwords.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/hostlist.h"

static bool list_has(const char *nodes, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    return hostlist_parse(nodes, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0;
}

uint32_t job_imex_channel(const Pst__JobRecord *r, const char *node)
{
    for (size_t i = 0; i < r->n_imex_channels; i++) {
        const Pst__SwitchChannel *c = r->imex_channels[i];

        if (!c->nodes || (node && list_has(c->nodes, node)))
            return c->channel;
    }
    return 0;
}
