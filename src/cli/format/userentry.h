/* userentry.h - a job's user and his groups as lines of passwd and group, as slurmd takes them
 *
 * As AuthInfo=use_client_ids told them, else as this host's name service has them, which is asked
 * for the names of groups, too, and may block. */
#pragma once

#include "api.pb-c.h"

#include "base/strbuf.h"

/* "User:", his line, "Groups:", a line for each of his groups with him as the only member, and an
 * empty line.  on->job has uid and gid.  -ENOMEM, -E2BIG: more groups than a process can have. */
int userentry_put(struct strbuf *sb, const Pst__JobOnNode *on);

/* "JobId=12.0:" and the above for each step that has not ended in a node's spool folder
 * (stepd/shared/spool.h), ordered by number; *ret_steps: how many there were.  -EACCES: root alone
 * looks into it, as what a user's host told of him is secret.  -ENOENT, -EBADMSG, -EFBIG, and those
 * above. */
int userentry_spool(struct strbuf *sb, const char *spool, size_t *ret_steps);
