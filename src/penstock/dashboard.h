/* dashboard.h - the private cluster's dashboard, which its slurmctld serves */
#pragma once

#include "penstock/penstock.h"

#define DASHBOARD_TOKEN_S 3600u

/* The address at which a browser is signed in: a token of DASHBOARD_TOKEN_S seconds stands behind
 * its '#', which browsers send nobody.  The cluster runs.  Caller frees.  Errors: -ENOTSUP the
 * cluster's slurm.conf has no AuthAltTypes=auth/jwt or enable_rest; -ETIMEDOUT it is not served; as
 * client_call(): no token. */
int dashboard_up(const struct conf *conf, char **ret_address, struct err *err);
