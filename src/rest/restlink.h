/* restlink.h - connections to slurmctld and slurmdbd, made as callers and kept for their next
 * request
 *
 * A connection speaks for one caller: the token and the name to act for, or a user of the local
 * socket.  After a request it waits here for that caller's next one, for a few seconds and among
 * few others; a caller whose token ends or is taken back is asked for it again soon. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/client.h"

struct conf;
struct rest_links;
struct rest_link;

enum rest_service { REST_CTLD, REST_ACCT };

/* Whom a connection speaks for; strings borrowed for the call. */
struct rest_identity {
    const char *token; /* NULL: our own user, over the local socket */
    const char *name;  /* to act for another; NULL or empty: none */
};

int rest_links_new(const struct conf *conf, struct rest_links **ret); /* -ENOMEM */
struct rest_links *rest_links_free(struct rest_links *links);         /* always NULL */

/* A connection of the caller's, kept or new.  Errors: as client_connect(); -ENOENT no
 * accounting. */
int rest_links_take(struct rest_links *links, enum rest_service service,
                    const struct rest_identity *who, struct rest_link **ret, struct err *err);
/* Is this error the caller's (a bad token), not the network's? */
bool rest_link_refused(int r);
/* Has the time of this token come?  (Who signed it is slurmctld's to judge.) */
bool rest_link_run_out(const char *token);
struct client *rest_link_client(struct rest_link *link);
struct rest_link *rest_link_free(struct rest_link *link); /* closes; always NULL */
/* Keep it for the next request; a connection that broke is closed. */
void rest_links_give(struct rest_links *links, struct rest_link *link);
