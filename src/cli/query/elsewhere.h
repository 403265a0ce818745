/* elsewhere.h - jobs of a federation that another cluster has: it is asked, too
 *
 * A controller that does not decide about a job answers EPST_OTHER_CLUSTER and names the cluster
 * that does.  For commands: mistakes are told and end the process. */
#pragma once

#include "api.pb-c.h"
#include "cli/base/cli.h"

/* Ask the clusters that the reply names about their jobs, with op and the rest of the request,
 * whose `ids` are changed for the time of the call.  What they answer takes the place of these
 * results, which keep the id as it was asked for. */
void elsewhere_act(struct cli *c, Pst__JobActionRequest *request, Pst__JobActionReply *reply);
void elsewhere_update(struct cli *c, Pst__JobUpdateRequest *request, Pst__JobActionReply *reply);
