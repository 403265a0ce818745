/* opreach.h - can a daemon that runs elsewhere be reached?
 *
 * slurmctld and slurmdbd with spec.external are asked for /readyz at spec.externalConfig, every
 * OPREACH_US, whether anything else of ours talks to them or not.  The answer is the condition
 * Reachable: True, False, or Unknown where connections are taken by somebody who speaks no HTTP
 * (TLSType, disable_http).  One thread: the loop's. */
#pragma once

#include "kube/operator/operator_impl.h"

#define OPREACH_US (INT64_C(10) * 1000000)
#define OPREACH_DOUBT_US (INT64_C(2) * 1000000)
#define OPREACH_MISSES 2u /* so many failures in turn are believed */
#define OPREACH_UNREACHABLE "Unreachable"

/* Say in the conditions how it is; who: "slurmctld".  The first call begins the asking, and the
 * custom resource is woken when the answer is another one. */
void opreach_say(struct opwork *w, const char *who);
/* The custom resource is gone, or its daemon is ours now. */
void opreach_forget(struct operator_ *op, const char *uid);
void opreach_stop(struct operator_ *op);

/* http://HOST:PORT/ without its end; false: the host is no name and no address. */
bool opreach_write_url(const char *host, int port, char *buf, size_t size);
