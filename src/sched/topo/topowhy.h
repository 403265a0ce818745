/* topowhy.h - why a topology has no place for a job */
#pragma once

/* In the order of their numbers in Slurm, from 7201 on. */
enum topo_why {
    TOPO_WHY_NONE,
    TOPO_WHY_REQ_RESOURCES, /* a required node is not among the candidates */
    TOPO_WHY_REQ_UNITS,     /* required nodes lie in different units, or in none */
    TOPO_WHY_NO_UNIT,       /* no unit has enough free nodes */
    TOPO_WHY_NO_SEGMENT,    /* ... for a segment */
    TOPO_WHY_FEW_RESOURCES, /* the free nodes of the unit hold too little of the job */
    TOPO_WHY_WEIGHTS,       /* the nodes of lower weight lie in too many units */
    TOPO_WHY_NODE_LIMIT,    /* more nodes would be needed than the job may have */
    TOPO_WHY_NO_NODES,      /* no candidate at all */
    TOPO_WHY_NEVER,         /* whatever is free: a segment that does not divide the job, a shape
                                that is not configured */
};

/* As users are told it: "No suitable topology unit found".  NULL for TOPO_WHY_NONE. */
const char *topo_why_text(enum topo_why why);
