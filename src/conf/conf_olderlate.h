/* conf_olderlate.h - keys of earlier releases that mean a part of another key
 *
 * The order of the keys of slurm.conf is free, so these wait for its last line. */
#pragma once

#include "conf/conf_priv.h"

/* A controller, "name" or "name(addr)"; value lives as long as l->c.  A mistake is told.
 * -ENOMEM. */
typedef int conf_host_fn(struct conf_loader *l, const struct conf_row *row, const char *value);

/* What conf_older_key() kept.  -ENOMEM. */
int conf_olderlate(struct conf_loader *l, conf_host_fn *add);
