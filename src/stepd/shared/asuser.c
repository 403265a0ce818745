/* asuser.c - see asuser.h */
#include "stepd/shared/asuser.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

int become_user(uint32_t uid, uint32_t gid, const uint32_t *gids, size_t n_gids)
{
    /* it starts nothing that needs more than the user has */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    if (geteuid() != 0)
        return uid == geteuid() ? 0 : -EPERM;
    if (setgroups(n_gids, gids) < 0 || setgid(gid) < 0 || setuid(uid) < 0)
        return -errno;
    return 0;
}
