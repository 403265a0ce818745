/* client_active.h - the calling side where several controllers are configured
 *
 * All of them accept connections, and one of them is active; the others answer a ping and say that
 * they stand by.  With one controller nothing is asked. */
#pragma once

#include "wire/client.h"

#define CLIENT_HOSTS_MAX 16 /* lines of SlurmctldHost that are tried */

struct client_hosts {
    const char *addr[CLIENT_HOSTS_MAX];
    size_t n;
    size_t last; /* the one that was active: tried first */
};

/* Connect to the active controller: as client_connect(), target->host does not count.  local: the
 * local socket first, if the identity allows it.  When those that
 * answer all stand by it is -ECONNREFUSED with Slurm's sentence for that: soon one of them leads. */
int client_connect_active(const struct client_target *target, struct client_hosts *hosts,
                          bool local, uid_t slurm_uid, struct client **ret_client, struct err *err);
