/* httpaccess.h - who asks: the token that a request carries
 *
 * A token stands in the header X-SLURM-USER-TOKEN, or behind "Bearer " in Authorization.
 * X-SLURM-USER-NAME names the user to act for: root and SlurmUser may name others.  Tokens speak
 * for their users only where AuthAltTypes names auth/jwt. */
#pragma once

#include <sys/types.h>

#include "http/http.h"
#include "wire/auth/tokens.h"

struct httpaccess;

int httpaccess_new(struct httpaccess **ret);              /* -ENOMEM */
struct httpaccess *httpaccess_free(struct httpaccess *a); /* always NULL */
/* What the configuration says now; a reference to tokens (NULL: none are taken) is held.  Any
 * thread. */
void httpaccess_set(struct httpaccess *a, struct auth_tokens *tokens, uid_t slurm_uid);
/* The user that the request acts for; the caller frees *ret_user.  0, or HTTP_UNAUTHORIZED with
 * the reason. */
unsigned httpaccess_user(struct httpaccess *a, const struct http_request *r, char **ret_user,
                         struct err *err);
/* Is that root or SlurmUser?  0, HTTP_UNAUTHORIZED or HTTP_FORBIDDEN. */
unsigned httpaccess_admin(struct httpaccess *a, const struct http_request *r, struct err *err);
/* Is this the name of root or SlurmUser? */
bool httpaccess_is_admin(struct httpaccess *a, const char *user);
