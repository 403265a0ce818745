/* restauth.h - whose request it is
 *
 * rest_auth/jwt: the token in X-SLURM-USER-TOKEN, or behind "Bearer " in Authorization, and
 * X-SLURM-USER-NAME, whom the daemon that answers lets root and SlurmUser name.  The token is not
 * verified here.  rest_auth/local: the user at the other end of a UNIX socket, whom the kernel
 * names; ours, or root, unless we may become others. */
#pragma once

#include <stdbool.h>

#include "rest/rest_impl.h"

/* False: nobody is known to ask.  Strings in the caller are borrowed from the request. */
bool restauth_caller(struct rest *rest, struct MHD_Connection *conn, struct rest_caller *caller);
/* Of a row that is open to anybody: no token is read, and no name. */
void restauth_nobody(struct MHD_Connection *conn, struct rest_caller *caller);
