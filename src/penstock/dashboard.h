/* dashboard.h - the private cluster's dashboard: a slurmrestd on a port of the loopback address */
#pragma once

#include "penstock/penstock.h"

/* Start it unless it runs, and give the address at which a browser is signed in: a token of
 * DASHBOARD_TOKEN_S seconds stands behind its '#', which browsers send nobody.  Caller frees.
 * Errors: -ENOENT not installed; -EADDRINUSE; -ETIMEDOUT, -EREMOTEIO it did not start;
 * -ENOTSUP the cluster's slurm.conf has no AuthAltTypes=auth/jwt; as client_call(): no token. */
#define DASHBOARD_TOKEN_S 3600u
int dashboard_up(const struct instance *in, const struct conf *conf, char **ret_address,
                 struct err *err);
/* Tell it to end, when it is among these: the controller's orders are not for it. */
void dashboard_end(const struct procs *running);
