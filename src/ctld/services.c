/* services.c - the services of the controller
 *
 * One word a service; the row is NAME_service, in the service's own file.  A service stands behind
 * those that it needs: its hooks are called after theirs, and at the end it is the first to stop.
 *
 * What else the order keeps: accounting has what is durable before any answer (effects) leaves, as
 * the caller may ask accounting at once; the scheduler's feed is flushed before the views are worked
 * off; a job's waiting requests hear of a change before its steps, and those before the jobs that
 * depend on it. */
#include "ctld/services.h"

#include <stddef.h>

#include "ctld/core/service.h"

#define SERVICES(X)                                                                                \
    X(acct)                                                                                        \
    X(effects)                                                                                     \
    X(acctsync)                                                                                    \
    X(acctadmin)                                                                                   \
    X(asking)                                                                                      \
    X(schedfeed)                                                                                   \
    X(schedthread)                                                                                 \
    X(feedlimits)                                                                                  \
    X(shares) X(licenses) X(feasible) X(passnotes) X(views) X(programs) X(hooks) X(prologs)        \
        X(owners) X(cleaning) X(jobcomp) X(watch) X(mail) X(wait) X(query) X(decisions)            \
            X(joblimits) X(gang) X(links) X(nodewatch) X(health) X(reboot) X(steps) X(async)       \
                X(stepaccess) X(lifecycle) X(jobrecover) X(triggers) X(resv) X(resvlife)           \
                    X(resvops) X(jobtimes) X(minutes) X(depends) X(cron) X(jobsubmit) X(submit)    \
                        X(action) X(update) X(assocquery) X(sharequery) X(prioquery) X(explain)    \
                            X(admin) X(front) X(snapshot)

#define X(name) extern const struct ctld_service name##_service;
SERVICES(X)
#undef X

#define X(name) &name##_service,
const struct ctld_service *const ctld_services[] = { SERVICES(X) NULL };
#undef X
