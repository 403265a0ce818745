/* topowhy.c - texts for why a topology has no place for a job; see topowhy.h */
#include "sched/topo/topowhy.h"

#include "base/cleanup.h"

static const char *const texts[] = {
    [TOPO_WHY_REQ_RESOURCES] = "Required nodes lack available resources",
    [TOPO_WHY_REQ_UNITS] = "Required nodes do not fit topology",
    [TOPO_WHY_NO_UNIT] = "No suitable topology unit found",
    [TOPO_WHY_NO_SEGMENT] = "No suitable topology unit found for segment",
    [TOPO_WHY_FEW_RESOURCES] = "Insufficient resources in topology unit",
    [TOPO_WHY_WEIGHTS] = "Weight-based selection could not satisfy request within topology unit",
    [TOPO_WHY_NODE_LIMIT] = "Exceeded maximum node limit during topology allocation",
    [TOPO_WHY_NO_NODES] = "No available nodes in topology",
    [TOPO_WHY_NEVER] = "Requested topology configuration is not available",
};

const char *topo_why_text(enum topo_why why)
{
    return (unsigned)why < ARRAY_SIZE(texts) ? texts[why] : NULL;
}
