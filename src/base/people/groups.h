/* groups.h - all groups of a user, however many
 *
 * Asks the name service, so it may block.  A group that is left out can take a right away, and give
 * one too: files may be closed to a group.  So there are all groups or an error. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Groups of user by the name service, gid among them; the caller frees *ret_gids.  Errors: -E2BIG
 * more than a process can have (NGROUPS_MAX), -ENOMEM; err has the sentence. */
int groups_of(const char *user, gid_t gid, gid_t **ret_gids, size_t *ret_n, struct err *err);
/* Name of a group, which the caller frees; however many members it has.  -ENOENT: it has none.
 * -ENOMEM. */
int groups_name(gid_t gid, char **ret_name);
