/* nssched.h - ScheduledUpdate: workers are replaced while a reservation has their nodes
 *
 * The reservation is made ahead of its time, with the nodes of the set's workers; an old worker
 * goes when its node is in maintenance by it.  A finalizer of the NodeSet says that the reservation
 * may be there.  Pure. */
#pragma once

#include <stddef.h>

#include "kube/nodeset/nsdecide.h"

#define NSSCHED_FINALIZER "nodeset.slinky.slurm.net/reservation"
#define NSSCHED_NAME 300u

/* Does the NodeSet want a reservation? */
bool nssched_is_wanted(const json_t *nodeset);
void nssched_name(const json_t *nodeset, char ret[static NSSCHED_NAME]);
/* Is the node of a worker in maintenance by the set's reservation?  node: of Slurm. */
bool nssched_has_node(const json_t *nodeset, const json_t *node);
/* Seconds until the next look; 0: none is needed. */
int64_t nssched_wake_s(const json_t *nodeset, int64_t now_s);
/* The names of workers' nodes that slurmctld has, folded; "": none, or none of them works.  The
 * caller's; NULL: no memory. */
char *nssched_nodes(const struct nsview *v);

enum nssched_act {
    NSSCHED_REST,
    NSSCHED_HOLD,   /* note the finalizer first */
    NSSCHED_MAKE,   /* the reservation, or its times */
    NSSCHED_NODES,  /* its nodes alone */
    NSSCHED_DROP,   /* delete it */
    NSSCHED_LET_GO, /* take the finalizer away */
};
/* raw: the NodeSet as the server has it.  wanted: nssched_is_wanted(), and it is not being deleted.
 * have: the reservation as slurmrestd writes it; NULL: slurmctld has none. */
enum nssched_act nssched_decide(const json_t *raw, bool wanted, const json_t *have,
                                const char *nodes, int64_t now_s);
/* The body of a reservation: POST reservation. */
json_t *nssched_body(enum nssched_act act, const json_t *nodeset, const char *nodes,
                     const char *user);
