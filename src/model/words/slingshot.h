/* slingshot.h - SwitchType=switch/hpe_slingshot: SwitchParameters and the words of --network
 *
 * SwitchParameters is a list of words with commas between them:
 *
 *     vnis=1024-65535            numbers of virtual networks (VNIs) that are given away
 *     single_node_vni[=all|user|none]   steps on one node get one, too
 *     job_vni[=all|user|none]    all steps of a job share one beside their own
 *     tcs=LOW_LATENCY:BULK_DATA  traffic classes
 *     def_R, res_R, max_R=N      of a resource R of the NIC: reserved for each CPU; reserved on a
 *                                node; at most on a node
 *     [no_]adjust_limits         reserve no more than the services of the system leave
 *     destroy_retries=N          attempts, a second apart, to take the services of a step away
 *
 * A word alone means all; without the word users may ask.  --network of a job or step has
 * job_vni, single_node_vni, no_vni, tcs, def_, res_, max_, [no_]adjust_limits and depth=N (CPUs
 * that def_ counts, in place of the step's).  A user's max_ lowers the site's and never raises it.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum slingshot_tc { /* bits of SLINGSHOT_TCS */
                    SLINGSHOT_DEDICATED_ACCESS = 1,
                    SLINGSHOT_LOW_LATENCY = 2,
                    SLINGSHOT_BULK_DATA = 4,
                    SLINGSHOT_BEST_EFFORT = 8,
};

enum slingshot_when { SLINGSHOT_USER, SLINGSHOT_NONE, SLINGSHOT_ALL };

enum slingshot_resource { /* in the order of libcxi's limits */
                          SLINGSHOT_PTES,
                          SLINGSHOT_TXQS,
                          SLINGSHOT_TGQS,
                          SLINGSHOT_EQS,
                          SLINGSHOT_CTS,
                          SLINGSHOT_LES,
                          SLINGSHOT_TLES,
                          SLINGSHOT_ACS,
                          SLINGSHOT_RESOURCES
};

struct slingshot_limit {
    uint32_t per_cpu, per_node, max; /* per_node counts where has_per_node */
    bool has_per_node;
};

struct slingshot {
    uint32_t vni_first, vni_last;
    enum slingshot_when single_node, job;
    bool job_vni, single_node_vni, no_vni; /* what --network asks for */
    unsigned tcs;                          /* enum slingshot_tc */
    uint32_t depth;                        /* 0 = the CPUs of the step */
    uint32_t destroy_retries;
    bool adjust;
    struct slingshot_limit limits[SLINGSHOT_RESOURCES];
};

/* What the two texts say together; either may be NULL.  Words of `params` that are not of VNIs and
 * limits are passed over: conf_load() knows them.  -EINVAL with a sentence that names the word. */
int slingshot_read(const char *params, const char *network, struct slingshot *ret, struct err *err);

/* VNIs of a step on so many nodes: 0, 1, or 2 with its job's. */
uint32_t slingshot_vnis(const struct slingshot *s, uint32_t nodes);

/* Reserved for a step with so many CPUs on a node, of one resource: at most max. */
uint32_t slingshot_reserved(const struct slingshot *s, enum slingshot_resource r, uint32_t cpus);
