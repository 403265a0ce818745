/* bridgeconf.h - the bridge's configuration file, YAML
 *
 * | key | |
 * | schedulerName | of the pods; slurm-bridge-scheduler |
 * | slurmRestApi | http://HOST:PORT of slurmrestd |
 * | partition, mcsLabel | of the jobs |
 *
 * Pure. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct bridgeconf {
    char *scheduler, *rest, *partition, *mcs; /* the last two NULL: none */
};

/* Errors: -EINVAL (err says what; an unknown key too), -ENOMEM. */
int bridgeconf_parse(const char *text, size_t len, struct bridgeconf *ret, struct err *err);
void bridgeconf_done(struct bridgeconf *c);
