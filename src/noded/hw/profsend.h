/* profsend.h - samples of running steps, sent on to InfluxDB (acct_gather_profile/influxdb)
 *
 * Step daemons leave lines at a socket in the spool, which only slurmd's own user can write to; the
 * main loop takes them into memory, and a thread posts what came together every
 * ProfileInfluxDBFrequency seconds.  A server that is away or slow costs samples, never a step: at
 * most PROFSEND_WAIT_MAX bytes wait, and as many are under way. */
#pragma once

#include "noded/noded.h"

#define PROFSEND_WAIT_MAX (1u << 20)

struct profsend;

/* Begin to take samples below `dir`.  influx is copied; the server may be away.  Errors: -ENOSYS,
 * -ENOENT no libcurl; those of the socket. */
int profsend_new(uv_loop_t *loop, const char *dir, const struct conf_influx *influx,
                 struct profsend **ret, struct err *err);
/* What waits is tried once more, for no longer than a second or two.  NULL: nothing.  Always
 * NULL. */
struct profsend *profsend_close(struct profsend *p);
/* Is it the server, and the way to it, of `influx`? */
bool profsend_is(const struct profsend *p, const struct conf_influx *influx);

/* As d->conf says, at the start and when it was read again.  A failure is logged. */
void profsend_configure(struct noded *d);
