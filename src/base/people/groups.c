/* groups.c - see groups.h */
#include "base/people/groups.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GIDS_FIRST 64
#define ENTRY_BYTES (16u << 10)
#define ENTRY_BYTES_MAX (16u << 20) /* of a group's line: a million members */

static int refuse_many(const char *user, struct err *err)
{
    return err_set(err, -E2BIG, "user %s is in more than %d groups, which no process can be", user,
                   NGROUPS_MAX);
}

int groups_of(const char *user, gid_t gid, gid_t **ret_gids, size_t *ret_n, struct err *err)
{
    int room = GIDS_FIRST, n;

    for (;;) {
        _cleanup_free_ gid_t *gids = calloc((size_t)room, sizeof(*gids));

        if (!gids)
            return err_nomem_of(err, user);
        n = room;
        if (getgrouplist(user, gid, gids, &n) >= 0) {
            if (n > NGROUPS_MAX)
                return refuse_many(user, err);
            *ret_gids = TAKE_PTR(gids);
            *ret_n = (size_t)n;
            return 0;
        }
        if (room > NGROUPS_MAX)
            return refuse_many(user, err);
        room =
            MIN(MAX(n, room * 2), NGROUPS_MAX + 1); /* n: what it would take, by most C libraries */
    }
}

int groups_name(gid_t gid, char **ret_name)
{
    for (size_t size = ENTRY_BYTES; size <= ENTRY_BYTES_MAX; size *= 4) {
        _cleanup_free_ char *buf = malloc(size);
        struct group gr, *found = NULL;
        int r = buf ? getgrgid_r(gid, &gr, buf, size, &found) : ENOMEM;

        if (r == ERANGE)
            continue;
        if (r != 0 || !found)
            return r == ENOMEM ? -ENOMEM : -ENOENT;
        *ret_name = strdup(gr.gr_name);
        return *ret_name ? 0 : -ENOMEM;
    }
    return -ENOMEM;
}
