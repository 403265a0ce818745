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

/* Connect over the local socket, when the identity allows it and the controller behind it is the
 * active one: as client_connect(), with -EACCES when it is neither root, nor server_uid, nor we. */
int client_connect_local(const struct client_target *target, const struct client_hosts *hosts,
                         uid_t server_uid, struct client **ret_client, struct err *err);
/* Connect to the active controller over TCP: as client_connect(), target->host does not count.
 * When those that answer all stand by it is -ECONNREFUSED with Slurm's sentence for that: soon one
 * of them leads. */
int client_connect_active(const struct client_target *target, struct client_hosts *hosts,
                          uid_t slurm_uid, struct client **ret_client, struct err *err);
