/* corefull_util.h - the core of coreask_util.h with all services that neither listen nor keep
 * files of their own: what users and administrators ask, nodes and jobs */
#pragma once

#include "coreask_util.h"

#define COREFULL(X)                                                                                \
    X(topology)                                                                                    \
    X(asking)                                                                                      \
    X(feedlimits)                                                                                  \
    X(completewait)                                                                                \
    X(schedfeed)                                                                                   \
    X(nodesback)                                                                                   \
    X(shares)                                                                                      \
    X(licenses)                                                                                    \
    X(feasible)                                                                                    \
    X(passnotes)                                                                                   \
    X(views)                                                                                       \
    X(programs)                                                                                    \
    X(hooks)                                                                                       \
    X(prologs)                                                                                     \
    X(owners)                                                                                      \
    X(cleaning)                                                                                    \
    X(imex)                                                                                        \
    X(stepvnis)                                                                                    \
    X(mail)                                                                                        \
    X(wait)                                                                                        \
    X(plannednodes)                                                                                \
    X(decisions)                                                                                   \
    X(joblimits)                                                                                   \
    X(gang)                                                                                        \
    X(nodeids)                                                                                     \
    X(membership)                                                                                  \
    X(links)                                                                                       \
    X(nodetopology)                                                                                \
    X(nodewatch)                                                                                   \
    X(health)                                                                                      \
    X(reboot)                                                                                      \
    X(powersave)                                                                                   \
    X(steps)                                                                                       \
    X(stepends)                                                                                    \
    X(stepops)                                                                                     \
    X(async)                                                                                       \
    X(siteprologs)                                                                                 \
    X(lifecycle)                                                                                   \
    X(jobrecover)                                                                                  \
    X(nodeloss)                                                                                    \
    X(resv)                                                                                        \
    X(resvlife)                                                                                    \
    X(jobtimes)                                                                                    \
    X(minutes)                                                                                     \
    X(depends)                                                                                     \
    X(jobsubmit)                                                                                   \
    X(submitkeys)                                                                                  \
    X(submit)                                                                                      \
    X(action)                                                                                      \
    X(update)                                                                                      \
    X(assocquery)                                                                                  \
    X(sharequery)                                                                                  \
    X(prioquery)                                                                                   \
    X(explain)                                                                                     \
    X(nodeops)                                                                                     \
    X(nodetable)                                                                                   \
    X(partops)                                                                                     \
    X(configops)                                                                                   \
    X(diagops)                                                                                     \
    X(admin)

#define COREFULL_DECLARE(name) extern const struct ctld_service name##_service;
COREFULL(COREFULL_DECLARE)
#undef COREFULL_DECLARE

static const struct ctld_service *const corefull_services[] = {
#define COREFULL_ROW(name) &name##_service,
    COREFULL(COREFULL_ROW)
#undef COREFULL_ROW
        NULL
};

static struct core core;
static struct conn *root, *ann, *bob; /* users 0, 1000 and 1001 */

/* `nodes` nodes of four CPUs each, which are connected, and services that hear of all that
 * changes.  What is over stays, though it is long ago. */
UTIL void corefull_begin(const char *lines, uint32_t nodes)
{
    Pst__Transaction *tx;
    char text[900];

    (void)snprintf(text, sizeof(text), "MinJobAge=3000000000\nSlurmdTimeout=0\n%s", lines);
    coreask_begin(&core, text, corefull_services);
    observe_init(&core.ctld);
    tx = tx_new(T0);
    SET(tx_cluster(tx), next_job_id, (uint32_t)conf_num(core.ctld.conf, CONF_FIRST_JOB_ID));
    SET(tx_cluster(tx), next_db_id, 1);
    apply_ok(core.ctld.cluster, tx);
    if (nodes)
        core_nodes(&core, nodes, 4);
    for (uint32_t i = 0; i < nodes; i++)
        (void)coreask_link(&core, i);
    root = coreask_connect(0);
    ann = coreask_connect(1000);
    bob = coreask_connect(1001);
}

UTIL void corefull_end(void)
{
    struct conn **all[] = { &root, &ann, &bob };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        *all[i] = coreask_part(&core, *all[i]);
    coreask_end(&core);
}

/* As one of the three; *ret may be NULL. */
UTIL int corefull_ask(struct conn *from, unsigned op, const char *json, ProtobufCMessage **ret)
{
    return coreask(&core, from, from == root ? NULL : from == ann ? "ann" : "bob", op, json, ret);
}

/* A job of user 1000 runs on the first `nodes` nodes. */
UTIL struct job *corefull_run(uint32_t id, uint32_t nodes, void (*with)(Pst__JobRecord *r))
{
    struct job *j = core_job(&core, id, with);
    Pst__Transaction *tx;

    (void)core_start(id, nodes, &tx); /* nothing to add */
    apply_ok(core.ctld.cluster, tx);
    return j;
}
