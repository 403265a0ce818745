/* resv_impl.h - what the files about reservations share; not for others */
#pragma once

#include "base/bitmap.h"
#include "ctld/resv/resv.h"

struct resv_live {
    struct bitmap *nodes; /* by node id */
    bool stale;
    uint64_t ground; /* resvs.ground at which its nodes were last looked at */
};

struct resvs {
    struct idmap live; /* resv_id -> struct resv_live */
    bool marks_stale;  /* flags of nodes are to be made anew */
    bool refeed;       /* node ids are others: tell the scheduler all of them */
    uint64_t ground;   /* counts changes of nodes, partitions and what runs */
    int64_t changed_us;
    uint32_t *node_flags; /* by node id: RESERVED, MAINTENANCE, as the node shows them */
    uint32_t nnode_flags;
    unsigned ticks;
};

struct resv_live *resv_live(struct ctld *ctld, uint32_t resv_id);
