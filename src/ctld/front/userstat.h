/* userstat.h - how many requests each user made, and how long they took; any thread */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.pb-c.h"

/* That many users: as many as an answer may name.  Requests of others are not counted. */
#define USERSTAT_MAX 65536u

struct userstat;

int userstat_new(struct userstat **ret);             /* -ENOMEM */
struct userstat *userstat_free(struct userstat *us); /* always NULL */
/* One more request of uid, which took elapsed_us.  Out of memory: not counted. */
void userstat_count(struct userstat *us, uid_t uid, int64_t elapsed_us);
/* Those who asked for something, in no order and without names; reset: and from now on nobody.
 * *ret_list (free() it; NULL where there is nobody) points to records of the same allocation.
 * Gives their number, or -ENOMEM: then nothing is reset. */
ssize_t userstat_fill(struct userstat *us, Pst__UserStat ***ret_list, bool reset);
