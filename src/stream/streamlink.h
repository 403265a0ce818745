/* streamlink.h - connections of a controller to the others and to the witness
 *
 * Has copies of what the configuration says, which may be read again meanwhile; any thread may open
 * a connection. */
#pragma once

#include "conf/conf.h"
#include "wire/client.h"

struct streamlink;

int streamlink_new(const struct conf *conf, struct streamlink **ret); /* -ENOMEM */
struct streamlink *streamlink_free(struct streamlink *l);             /* always NULL */
uint16_t streamlink_port(const struct streamlink *l);                 /* of controllers */
/* service: "slurmctld" or "witness".  Errors: those of client_connect(). */
int streamlink_open(const struct streamlink *l, const char *host, uint16_t port,
                    const char *service, int timeout_ms, struct client **ret, struct err *err);
