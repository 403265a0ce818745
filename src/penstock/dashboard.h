/* dashboard.h - the private cluster's dashboard, which its slurmctld serves */
#pragma once

#include "penstock/penstock.h"

#define DASHBOARD_SESSION_S 28800u /* of the token that the page gets */

/* The address at which a browser is signed in as the user at our end of slurmctld's local socket: a
 * word stands behind its '#', which browsers send nobody.  It is good once, for a minute, and the
 * page changes it for a token that nobody else sees.  Caller frees.  Errors: -ENOTSUP the
 * cluster's slurm.conf has no AuthAltTypes=auth/jwt or enable_rest; -ETIMEDOUT it is not served; as
 * client_call(): no word. */
int dashboard_up(const struct conf *conf, char **ret_address, struct err *err);
