/* asuser.h - a process that serves one user becomes that user, for good */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* With all of the groups, or not at all.  -EPERM when we are neither root nor that user. */
int become_user(uint32_t uid, uint32_t gid, const uint32_t *gids, size_t n_gids);
