/* topos.c - the topologies of the cluster, and which one a partition uses.
 */
#include "sched/state/topos.h"

#include <stdlib.h>
#include <string.h>

#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/topo/topo.h"

void topo_of_part(struct sched *s, struct part *p)
{
    p->topo = s->ntopos ? s->topos[0] : NULL;
    for (uint32_t i = 0; p->topology && i < s->ntopos; i++)
        if (strcmp(topo_get_spec(s->topos[i])->name, p->topology) == 0)
            p->topo = s->topos[i];
    if (p->topo && !topo_get_spec(p->topo)->nunits)
        p->topo = NULL; /* flat, or as good as that */
}

void topos_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->ntopos; i++)
        topo_free(s->topos[i]);
    free(s->topos);
    s->topos = NULL;
    s->ntopos = 0;
}
